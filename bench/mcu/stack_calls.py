# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Whom a call through a pointer may call, from the source.

The line of the call names a member: `series->parts->keys->init(`. Whom the
member may name say its initialisers: `.init = spline_init` in a `struct
esk_series_keys`, whose type is that of `keys` in the headers. Where the
caller is given the function as an argument, whom its own callers hand in.
A line that says neither is refused.
"""

import re

import platforms

FOLDERS = ("include", "src", "port", "bench/mcu", "test/mcu")
POINTER_TO = re.compile(r"struct (\w+) \*(?:const )?(\w+);")
TABLE = re.compile(r"struct (\w+) \w+ = \{(.*?)\};", re.DOTALL)
NAMED = re.compile(r"\.(\w+) = &?(\w+)")
ASSIGNED = re.compile(r"(?:->|\.)(\w+) = (\w+)[;,]")
MEMBER_CALL = re.compile(r"(\w+)(?:->|\.)(\w+)\(")
# Asks for a member: esk_tree_store(tree) for tree->store; esk_packed(series).
ACCESSOR = re.compile(r"\besk_(?:envelope_|pool_|tree_)?(\w+)\([^()]*\)(?=->)")
DEFINED = re.compile(r"^\w[\w \*]*?(\w+)\(([^;{}]*)\) \{", re.MULTILINE)
SOURCE_LINES = 3  # of a statement that a call may be on another line of


class Sources:
    """The initialisers of the tree, read once."""

    def __init__(self):
        self.texts = {}
        self.types = {}
        self.named = {}
        self.assigned = {}
        for folder in FOLDERS:
            for path in sorted((platforms.ROOT / folder).rglob("*.[ch]")):
                if not path.name.endswith("_test.c"):
                    self.read(path)

    def read(self, path):
        text = path.read_text("utf-8")
        self.texts[path] = text
        for type_, member in POINTER_TO.findall(text):
            self.types.setdefault(member, set()).add(type_)
        for type_, body in TABLE.findall(text):
            for member, name in NAMED.findall(body):
                self.named.setdefault((type_, member), set()).add(name)
        for member, name in ASSIGNED.findall(text):
            self.assigned.setdefault(member, set()).add(name)

    def of_member(self, owner, member):
        found = set()
        for type_ in self.types.get(owner, ()):
            found |= self.named.get((type_, member), set())
        return found or self.assigned.get(member, set())

    def words_handed(self, caller, seen=()):
        """Every word in the arguments of calls of `caller`; where one is an
        argument of the function that makes the call, of calls of that, too."""
        call = re.compile(rf"\b{caller}\(([^;{{}}]*)\)")
        seen = {caller, *seen}
        words = set()
        for text in self.texts.values():
            defined = list(DEFINED.finditer(text))
            for made in call.finditer(text):
                handed = set(re.findall(r"\w+", made.group(1)))
                words |= handed
                around = [d for d in defined if d.end() <= made.start()]
                if not around or around[-1].group(1) in seen:
                    continue
                name, arguments = around[-1].groups()
                if handed & set(re.findall(r"_load \*(\w+)", arguments)):
                    words |= self.words_handed(name, seen)
        return words

    def of_argument(self, caller):
        """Every function that a call of `caller` hands in, by its name or as
        a member."""
        words = self.words_handed(caller)
        found = set(words)
        for (_, member), names in self.named.items():
            found |= names if member in words else set()
        for member, names in self.assigned.items():
            found |= names if member in words else set()
        return found

    def callees(self, site):
        """Names that the call at `site`, (function, file, line), may mean;
        an empty set for the jump of a switch; None when nothing says."""
        function, file, number = site
        path = (platforms.ROOT / file).resolve()
        text = ACCESSOR.sub(r"\1", self.texts.get(path, ""))
        lines = text.splitlines()[number - 1 :][:SOURCE_LINES]
        if not lines or number == 0:
            return None
        member = MEMBER_CALL.search(lines[0])
        if member:
            return self.of_member(*member.groups()) or None
        if "switch" in lines[0]:
            return set()
        for called in re.findall(r"(\w+)\(", lines[0]):
            if re.search(rf" \*{called}[,)]", text):
                return self.of_argument(function)
        before = text.splitlines()[max(0, number - SOURCE_LINES) : number]
        for statement in (lines, before):
            found = MEMBER_CALL.findall(" ".join(statement))
            if found:
                return self.of_member(*found[-1]) or None
        return None


def frames(program, addresses):
    """{address: [(function, file, line)]} of the source, from what was inlined
    there to the function that it is in. LLVM's reader, for every chip: that of
    avr-binutils takes the line for one of another file when linking made code
    shorter."""
    if not addresses:
        return {}
    tool = ["llvm-addr2line-19", "-a", "-i", "-f", "-e", program]
    said = platforms.must([*tool, *(f"{at:#x}" for at in addresses)])
    found = {}
    for part in re.split(r"^0x", said, flags=re.MULTILINE)[1:]:
        address, *lines = part.splitlines()
        listed = found.setdefault(int(address, 16), [])
        for function, place in zip(lines[::2], lines[1::2], strict=False):
            file, _, line = place.split(" (")[0].rpartition(":")
            number = int(line) if line.isdigit() else 0
            listed.append((function, file, number))
    return found


def sites(program, addresses):
    """{address: (function, file, line)} of the innermost inlined function."""
    found = frames(program, addresses)
    return {address: listed[0] for address, listed in found.items()}
