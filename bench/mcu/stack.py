# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The deepest stack that a call can take, from the linked program.

    program --objdump--> functions, frames, calls      (stack_isa.py)
    pointers --line of the call--> whom they may mean  (stack_calls.py)

The program is disassembled, so routines of the compiler's library are seen
as well. Where a frame is not certain the larger is taken: the figure is a
bound, and what was painted in a run is to lie below it. Recursion, which has
no bound, is refused, and so is a call that nothing explains.
"""

import bisect
import functools
import re

import platforms
import stack_calls
from stack_isa import CALL, ISAS, POINTER

# The compiler's shared prologue of the ATmega2560.
SAVES, RESTORES = "__prologue_saves__", "__epilogue_restores__"
SAVED_MAX = 18

# The firmware has keys of 32 bits: esker/schema.h.
MOUNT = "esk_volume_mount_with_32_bit_keys"
# Which calls the groups of the firmware measure.
SERIES = {
    "append": ["esk_series_append"],
    "get": ["esk_series_get"],
    "sync": ["esk_series_sync"],
    "value query": ["esk_series_cursor_open", "esk_series_cursor_next"],
    "open": [MOUNT, "esk_series_open_with"],
}
TREE = {
    "tree insert": ["esk_tree_insert"],
    "tree get": ["esk_tree_get"],
    "tree iteration": ["esk_tree_cursor_open", "esk_tree_cursor_next"],
    "tree open": [MOUNT, "esk_tree_open"],
}

HEAD = re.compile(r"^([0-9a-f]+) <([^>]+)>:$")
LINE = re.compile(r"^\s*([0-9a-f]+):\t([\w.]+)[ \t]*([^;@#]*(?:#-?\d[^;@#]*)*)")

# Read once, by whoever asks first.
sources = functools.cache(stack_calls.Sources)


class Function:
    """Its instructions, then what they say of the stack."""

    def __init__(self, name, address):
        self.name = name
        self.address = address
        self.lines = []
        self.frame = 0
        self.calls = set()
        self.jumps = set()


def disassemble(program, prefix):
    """[Function] in order of address."""
    tool = [f"{prefix}objdump", "-d", "--no-show-raw-insn", program]
    found = []
    for line in platforms.must(tool).splitlines():
        head = HEAD.match(line)
        if head:
            found.append(Function(head.group(2), int(head.group(1), 16)))
            continue
        part = LINE.match(line)
        if part and found and not part.group(2).startswith("."):
            address, operation, operands = part.groups()
            instruction = (int(address, 16), operation, operands.strip())
            found[-1].lines.append(instruction)
    return found


def immediate(operands):
    return int(operands.split(",")[1], 0)


def frame_of(isa, function):
    """Bytes that the function takes: what it pushes, and its locals."""
    own = function.lines
    frame = sum(isa.takes(line) for line in own)
    if isa.PREFIX != "avr-":
        return frame
    if function.name.startswith("__"):
        frame = library_frame(isa, own)
    for i, (_, operation, operands) in enumerate(own):
        if operation == "in" and operands == "r29, 0x3e":
            return frame + local_of(own[i + 1 : i + 3])
    return frame


def library_frame(isa, lines):
    """A library's routine may hold several, each with its own end."""
    depth = deepest = 0
    for line in lines:
        depth = 0 if line[1] == "ret" else depth + isa.takes(line)
        deepest = max(deepest, depth)
    return deepest


def local_of(following):
    """Bytes of an AVR's locals from what follows the copy of the stack
    pointer."""
    if not following:
        return 0
    _, operation, operands = following[0]
    if operation == "sbiw" and operands.startswith("r28"):
        return immediate(operands)
    if operation == "subi" and operands.startswith("r28"):
        high = following[1][2].endswith(", r1")  # which is zero
        high = 0 if high else immediate(following[1][2])
        return high << 8 | immediate(operands)
    return 0


def saved_by(function, address, entry):
    """Frame of a function that begins by __prologue_saves__: locals come in
    r26 and r27, and where it enters says how many registers are saved."""
    loaded = {}
    for at, operation, operands in function.lines:
        if at >= address:
            break
        if operation == "ldi":
            loaded[operands.split(",")[0]] = immediate(operands)
    local = loaded.get("r26", 0) | loaded.get("r27", 0) << 8
    return local + SAVED_MAX - (entry // 2)


def left_by(function, other):
    """Bytes of a frame that a jump to another function leaves there: none
    after the compiler's own tail call."""
    library = function.name.startswith("__") or other.name.startswith("__")
    return function.frame if library else 0


class Program:
    """Functions by where they begin: statics of two files share a name."""

    def __init__(self, platform, program):
        self.isa = ISAS[platform]
        self.functions = disassemble(program, self.isa.PREFIX)
        self.starts = [function.address for function in self.functions]
        self.saves = self.named(SAVES)
        self.path = []
        self.known = {}
        pointers = []
        for index, function in enumerate(self.functions):
            function.frame = frame_of(self.isa, function)
            for line in function.lines:
                if self.follow(function, line):
                    pointers.append((function, line[0]))
            self.fall(function, index)
        self.resolve(program, pointers)

    def named(self, name):
        """The functions of a name; the compiler may have cut one in parts."""
        return [one for one in self.functions if one.name.split(".")[0] == name]

    def owner(self, address):
        return self.functions[bisect.bisect_right(self.starts, address) - 1]

    def follow(self, function, line):
        """Adds what one instruction calls or jumps to. Returns whether it
        calls through a pointer."""
        went = self.isa.goes(line)
        if went is None:
            return False
        kind, target = went
        if target is None:
            # The compiler's own routines jump into a switch.
            return kind == POINTER and not function.name.startswith("__")
        other = self.owner(target)
        if other in self.saves:
            if function not in self.saves:
                entry = target - other.address
                function.frame += saved_by(function, line[0], entry)
        elif other is not function and other.name != RESTORES:
            kinds = function.calls if kind == CALL else function.jumps
            kinds.add(other)
        return False

    def resolve(self, program, pointers):
        """Adds whom calls through pointers may call."""
        at = [address for _, address in pointers]
        places = stack_calls.sites(program, at)
        for function, address in pointers:
            place = places[address]
            names = sources().callees(place)
            if names is None:
                raise platforms.Failed(
                    f"stack: whom does {function.name} call at {address:x}, "
                    f"{place[1]}:{place[2]}?"
                )
            for name in names:
                function.calls.update(self.named(name))

    def fall(self, function, index):
        """Code without an end goes on in the next function."""
        filler = ("nop", "unimp")
        lines = [line for line in function.lines if line[1] not in filler]
        last = lines[-1][1] if lines else self.isa.ENDS[0]
        calls = lines and self.isa.goes(lines[-1])
        if self.isa.PREFIX != "avr-" and calls and calls[0] == CALL:
            return
        if last not in self.isa.ENDS and index + 1 < len(self.functions):
            function.jumps.add(self.functions[index + 1])

    def depth(self, function):
        """The deepest stack below a call of `function`."""
        if function in self.known:
            return self.known[function]
        if function in self.path:
            names = " > ".join(one.name for one in self.path)
            raise platforms.Failed(f"stack: {names} > {function.name}")
        self.path.append(function)
        deepest = function.frame
        for callee in function.calls:
            below = self.isa.RETURN_BYTES + self.depth(callee)
            deepest = max(deepest, function.frame + below)
        for other in function.jumps:
            # Labels within library routines jump back and forth.
            if other not in self.path:
                below = self.depth(other)
                deepest = max(deepest, left_by(function, other) + below)
        self.path.pop()
        self.known[function] = deepest
        return deepest

    def chain(self, function):
        """[(name, frame)] down the deepest path from `function`."""
        listed = [(function.name, function.frame)]
        size = self.depth(function)
        if size == function.frame:
            return listed
        for other in sorted(function.calls, key=lambda one: one.address):
            below = self.isa.RETURN_BYTES + self.depth(other)
            if function.frame + below == size:
                return listed + self.chain(other)
        for other in sorted(function.jumps, key=lambda one: one.address):
            if left_by(function, other) + self.known.get(other, 0) == size:
                return listed + self.chain(other)
        return listed


def worst(platform, program, calls):
    """{what: (bytes, path)} for each of `calls`; its return address is
    included."""
    code = Program(platform, program)
    found = {}
    for what, names in calls.items():
        entries = [one for name in names for one in code.named(name)]
        deepest = max(entries, key=code.depth)
        size = code.isa.RETURN_BYTES + code.depth(deepest)
        found[what] = (size, code.chain(deepest))
    return found
