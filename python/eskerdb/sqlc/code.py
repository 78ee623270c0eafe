# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Statements of a function that gives a row and later goes on behind it.

A function is a tree of statements. It returns at a Row; the next call goes on
there. So each such place has a label and a number, which the function keeps
in `q->at` between calls. What a loop has in locals is loaded again at a label
if it is used after it. A Row with nothing behind it in its loop needs no
label: the next call goes on with the loop.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

FIRST, ENDED = 0, "ESK_QUERY_ENDED"


@dataclass
class Text:
    """A line, or several."""

    text: str


@dataclass
class Load:
    """A local that is set from what stays between calls."""

    ctype: str
    name: str
    value: str


@dataclass
class Row:
    """The row is filled in: return it."""


@dataclass
class Label:
    """A place that a later call may go on with: in a Text `{at:NAME}` is its
    number."""

    name: str


@dataclass
class Body:
    """`head {` ... `}`; head "" for statements without braces.

    tail   after the closing brace, on its line
    end    the label behind it: `goto` leads there
    loop   its end leads to its head
    resume the label of the head, of a loop
    """

    head: str = ""
    items: list[Item] = field(default_factory=list)
    end: str = ""
    loop: bool = False
    resume: str = ""
    tail: str = ""


Item = Text | Load | Row | Label | Body


class Function:
    """Writes a function's statements, and numbers the places in it.

    first   the loop with which the first call begins; None: it begins at the
            first statement
    """

    def __init__(self, items: list[Item], first: Body | None) -> None:
        self.first = first
        self.lines: list[str] = []
        self._numbers: dict[str, int] = {}
        self._loop: Body | None = None
        self._live: list[list[Load]] = []
        # Of each loop around: how many of `_live` are outside of it, and
        # what may follow there, of which the loop itself is a part.
        self._around: list[tuple[int, list[list[Item]]]] = []
        if first is not None:
            self._numbers[first.resume] = FIRST
        self._items(items, [])
        self.lines = used(self.lines)

    @property
    def places(self) -> list[tuple[int, str]]:
        """The places that a later call may go on with, but for the first."""
        return [(n, label) for label, n in self._numbers.items() if n != FIRST]

    def _number(self, label: str) -> int:
        following = max(self._numbers.values(), default=FIRST) + 1
        return self._numbers.setdefault(label, following)

    def _numbered(self, text: str) -> str:
        return re.sub(
            r"\{at:(\w+)\}", lambda m: str(self._number(m.group(1))), text
        )

    def _items(self, items: Sequence[Item], after: list[list[Item]]) -> None:
        """after   what follows, from the outside in, up to the loop's end."""
        self._live.append([])
        for index, item in enumerate(items):
            rest = [*after, list(items[index + 1 :])]
            if isinstance(item, Text):
                self.lines += self._numbered(item.text).splitlines()
            elif isinstance(item, Load):
                self.lines.append(f"{item.ctype} {item.name} = {item.value};")
                self._live[-1].append(item)
            elif isinstance(item, Row):
                self._row(rest)
            elif isinstance(item, Label):
                self._resume(item.name, rest)
            else:
                self._body(item, rest)
        self._live.pop()

    def _body(self, body: Body, after: list[list[Item]]) -> None:
        if body.loop:
            rest = [*after, [body]]
            if body is not self.first:
                self._number(body.resume)
                if any(self._live):
                    # In another loop, whose locals it may use.
                    self._resume(body.resume, rest)
                else:
                    self.lines.append(f"{body.resume}:")
            outer, self._loop = self._loop, body
            self.lines.append(f"{body.head} {{")
            self._around.append((len(self._live), rest))
            self._items(body.items, [])
            self._around.pop()
            self.lines.append("}")
            self._loop = outer
        elif body.head:
            self.lines.append(f"{body.head} {{")
            self._items(body.items, after)
            self.lines.append(f"}}{body.tail}")
        else:
            self._items(body.items, after)
        if body.end and f"goto {body.end};" in self.lines:
            self.lines.append(f"{body.end}:;")

    def _row(self, after: list[list[Item]]) -> None:
        if any(after):
            label = f"after_row_{len(self._numbers)}"
            self.lines += [f"q->at = {self._number(label)};", "return ESK_OK;"]
            self._resume(label, after)
            return
        loop = self._loop
        at = ENDED if loop is None else str(self._number(loop.resume))
        self.lines += [f"q->at = {at};", "return ESK_OK;"]

    def _resume(self, label: str, after: list[list[Item]]) -> None:
        """Writes a label, and loads again what is used after it."""
        self._number(label)
        self.lines.append(f"{label}:;")
        loads: list[str] = []
        inner: set[str] = set()  # what loads in the scopes inside use
        for depth, scope in reversed(list(enumerate(self._live))):
            used = _names(_text(after)) | inner
            for outside, rest in self._around:
                if depth < outside:
                    used |= _names(_text(rest))
            for load in reversed(scope):
                if load.name in used:
                    used |= _names(load.value)
                    inner |= _names(load.value)
                    loads.insert(0, f"{load.name} = {load.value};")
        self.lines += loads


_WORDS = re.compile(r"(?<![>.\w])[A-Za-z_]\w*")  # no members
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"')
_LOCAL = re.compile(r"(?:const )?[a-z]\w* (?:\* )?([a-z]\w*) = .*;")
_SET = re.compile(r"([a-z]\w*) = .*;")  # of a local: values have no effects


def used(lines: list[str]) -> list[str]:
    """Leaves out locals that nothing uses, and conditions of nothing."""
    declared = {
        found.group(1) for found in map(_LOCAL.fullmatch, lines) if found
    }
    while True:
        words: Counter[str] = Counter()
        sets: list[str] = []
        for line in lines:
            words.update(_WORDS.findall(_STRINGS.sub('""', line)))
            found = _LOCAL.fullmatch(line) or _SET.fullmatch(line)
            name = found.group(1) if found else ""
            sets.append(name if name in declared else "")
            words[name] -= 1
        kept: list[str] = []
        for line, name in zip(lines, sets, strict=True):
            if name and words[name] == 0:
                continue
            if line == "}" and kept and re.fullmatch(r"if \(.*\) {", kept[-1]):
                kept.pop()
                continue
            kept.append(line)
        if len(kept) == len(lines):
            return lines
        lines = kept


def _names(text: str) -> set[str]:
    return set(_WORDS.findall(text))


def _text(after: Sequence[Sequence[Item]]) -> str:
    parts = []
    for items in after:
        for item in _walk(items):
            if isinstance(item, Text):
                parts.append(item.text)
            elif isinstance(item, Load):
                parts.append(item.value)
            elif isinstance(item, Body):
                parts.append(f"{item.head} {item.tail}")
    return " ".join(parts)


def _walk(items: Sequence[Item]) -> Iterator[Item]:
    todo = list(items)
    while todo:
        item = todo.pop()
        yield item
        if isinstance(item, Body):
            todo += item.items
