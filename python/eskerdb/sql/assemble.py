# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Assembles programs for the machine of src/query: instructions, labels and
the header. The format is that of src/query/README.md.

A jump of one byte that its target is too far for becomes one of two bytes:
the opposite jump over a JMP16.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from eskerdb.sql.tables import crc32c

VERSION = 1
BYTES_MAX = 8192
REGISTERS_MAX = 64
TABLES_MAX = HELPERS_MAX = LOOPS_MAX = 8
OUTPUTS_MAX = 64

WIDE, FLOATS, TEXT, JOINS, HELPED, RANGED = 1, 2, 4, 8, 16, 32

NAMES = (
    "HALT EMIT NULL MOV LDI8 LDI16 LDI32 LDI64 LD NULLIF CLEAR AGG AGGC SUM "
    "ADD SUB MUL DIV REM IF IFC JMP JMP16 FOR NEXT COUNT ADVANCE GET PUSH "
    "GROUP FORH NEXTH QUANTILE LDT TEXT LENGTH SUBSTR LDR FADD FSUB FMUL FDIV "
    "FLOAT TRUNC FCMP ROUND FSUM FAVG FAGG"
)
OPS = {name: number for number, name in enumerate(NAMES.split())}
# When IF and IFC jump: bits of their last operand but one.
LESS, EQUAL, GREATER, NULL = 1, 2, 4, 8
_EVER = LESS | EQUAL | GREATER | NULL
_RELATIONS = {
    "LT": LESS,
    "LE": LESS | EQUAL,
    "EQ": EQUAL,
    "NE": LESS | GREATER,
}
# Names of what IF is written for; one register is compared with itself.
_JUMPS = {
    **{f"IF_{name}": when for name, when in _RELATIONS.items()},
    **{f"UNLESS_{name}": when ^ _EVER for name, when in _RELATIONS.items()},
    "JNULL": NULL,
    "JVALUE": NULL ^ _EVER,
}
_TEXT_IF = 4  # of TEXT's first operand
TEXT_REFERRED = 16
# Operand bytes before a jump of one byte.
_SHORT = {
    "IF": 3,
    "IFC": 6,
    "JMP": 0,
    "ADVANCE": 2,
    "GET": 2,
    "TEXT": 9,
}


def _swapped(when: int) -> int:
    """Returns when an IF jumps whose operands are exchanged."""
    return (
        when & (EQUAL | NULL)
        | (GREATER if when & LESS else 0)
        | (LESS if when & GREATER else 0)
    )


@dataclass(eq=False)
class Label:
    """A place in the code."""

    at: int = -1


@dataclass(eq=False)
class _Op:
    """An instruction: its bytes, of which a jump or a loop's place is added.

    target  of a jump
    body    of a NEXT: where it goes back to
    """

    name: str
    operands: bytes
    target: Label | None = None
    body: Label | None = None
    tail: bytes = b""
    is_far: bool = False

    def size(self) -> int:
        size = 1 + len(self.operands) + len(self.tail)
        if self.target is not None and self.name not in _SHORT:
            return size + 2  # FOR, FORH
        if self.target is not None:
            return size + 1 + (self._far_bytes() if self.is_far else 0)
        return size + (2 if self.body is not None else 0)

    def _far_bytes(self) -> int:
        if self.name == "JMP":
            return 1
        return 5 if self.name in ("ADVANCE", "GET") else 3

    def code(self, at: int, start: int) -> bytes:
        """Returns its bytes; it stands at `at`, and code begins at `start`."""
        head = bytes([OPS[self.name]]) + self.operands
        if self.body is not None:
            return head + struct.pack("<H", start + self.body.at)
        if self.target is None:
            return head
        distance = self.target.at - at - self.size()
        assert distance >= 0, "a jump goes forward"
        if self.name not in _SHORT:
            return head + struct.pack("<H", distance) + (self.tail)
        if not self.is_far:
            return head + bytes([distance])
        far = bytes([OPS["JMP16"]]) + struct.pack("<H", distance)
        if self.name == "JMP":
            return far
        if self.name in ("ADVANCE", "GET"):
            over = bytes([OPS["JMP"], len(far)])
            return head + bytes([len(over)]) + over + far
        if self.name == "TEXT":
            how = bytes([self.operands[0] ^ _TEXT_IF])
            head = head[:1] + how + self.operands[1:]
        else:
            when = bytes([self.operands[-1] ^ _EVER])
            head = head[:-1] + when
        return head + bytes([len(far)]) + far


@dataclass
class Program:
    """A program that is being written.

    ops      instructions and labels, in order; `first` come before all others
    outputs  2 bytes each
    is_beyond
             a number of an operand is above 255
    depth    loops that are open, and at most were
    """

    flags: int = 0
    registers: int = 0
    parameters: int = 0
    tables: list[tuple[int, int, int]] = field(default_factory=list)
    helpers: list[bytes] = field(default_factory=list)
    outputs: list[tuple[int, int]] = field(default_factory=list)
    ranges: int = 0
    depth: int = 0
    depth_most: int = 0
    first: list[_Op] = field(default_factory=list)
    ops: list[_Op | Label] = field(default_factory=list)
    constants: bytearray = field(default_factory=bytearray)
    texts: list[tuple[_Op, int]] = field(default_factory=list)
    references: list[tuple[_Op, int, int]] = field(default_factory=list)
    is_beyond: bool = False

    def _bytes(self, *numbers: int) -> bytes:
        """Returns operands. A register or scan above 255 has no byte: the
        caller refuses such a program by how many it has."""
        self.is_beyond |= any(number > 255 for number in numbers)
        return bytes(min(number, 255) for number in numbers)

    def op(self, name: str, *operands: int, target: Label | None = None) -> _Op:
        """Adds an instruction whose operands are bytes, or an IF."""
        if name in _JUMPS:
            assert target is not None
            return self._jump(_JUMPS[name], operands[0], operands[-1], target)
        self._flag(name)
        made = _Op(name, self._bytes(*operands), target)
        self.ops.append(made)
        return made

    def _jump(self, when: int, a: int, b: int, target: Label) -> _Op:
        """Adds an IF: a jump where a and b compare as `when` says."""
        last = self.ops[-1] if self.ops else None
        name, column = "IF", b""
        if (
            isinstance(last, _Op)
            and last.name == "LD"
            and last.operands[0] in (a, b)
        ):
            # The column that was just loaded is compared.
            self.ops.pop()
            name, column = "IFC", last.operands[1:]
            if last.operands[0] != a:
                a, b, when = b, a, _swapped(when)
        made = _Op(name, self._bytes(a, b, *column, when), target)
        self.ops.append(made)
        return made

    def _flag(self, name: str) -> None:
        number = OPS[name]
        for least, flag in (
            (OPS["FADD"], FLOATS),
            (OPS["LDT"], TEXT),
            (OPS["PUSH"], HELPED),
            (OPS["ADVANCE"], JOINS),
            (OPS["COUNT"], RANGED),
        ):
            if number >= least:
                self.flags |= flag
                return
        if name == "LDI64":
            self.flags |= WIDE

    def place(self, label: Label) -> None:
        self.ops.append(label)

    def load(self, register: int, value: int) -> None:
        """Loads a constant, before all other instructions."""
        for name, form in (
            ("LDI8", "<b"),
            ("LDI16", "<h"),
            ("LDI32", "<i"),
            ("LDI64", "<q"),
        ):
            try:
                data = struct.pack(form, value)
            except struct.error:
                continue
            self._flag(name)
            made = _Op(name, self._bytes(register) + data)
            self.first.append(made)
            return
        raise AssertionError(value)

    def loop(self, name: str, operand: int, tail: bytes, exit: Label) -> Label:
        """Adds a FOR or FORH, its operands behind the exit in `tail`; returns
        where its body begins."""
        self._flag(name)
        self.depth += 1
        self.depth_most = max(self.depth_most, self.depth)
        self.ops.append(_Op(name, self._bytes(operand), exit, tail=tail))
        body = Label()
        self.place(body)
        return body

    def next(self, name: str, operand: int, body: Label) -> None:
        """Adds a NEXT or NEXTH."""
        self._flag(name)
        self.depth -= 1
        self.ops.append(_Op(name, self._bytes(operand), body=body))

    def text(
        self,
        how: int,
        table: int,
        offset: int,
        width: int,
        constant: bytes,
        target: Label,
    ) -> None:
        """Adds a TEXT; the constant is put behind the instructions."""
        at = self._constant(constant)
        operands = struct.pack(
            "<BBHHHB",
            how,
            *self._bytes(table),
            offset,
            width,
            0,
            len(constant),
        )
        self._flag("TEXT")
        made = _Op("TEXT", operands, target)
        self.ops.append(made)
        self.texts.append((made, at))

    def _constant(self, data: bytes) -> int:
        """Returns where a text is behind the instructions."""
        at = bytes(self.constants).find(data)
        if at < 0:
            at = len(self.constants)
            self.constants += data
        return at

    def refer(self, register: int, data: bytes) -> None:
        """Loads a reference to a text, before all other instructions."""
        at = self._constant(data)
        made = _Op("LDI32", self._bytes(register) + bytes(4))
        self.first.append(made)
        self.references.append((made, at, len(data)))

    def text_of(
        self,
        how: int,
        table: int,
        offset: int,
        width: int,
        register: int,
        target: Label,
    ) -> None:
        """Adds a TEXT that compares with what a register refers to."""
        operands = struct.pack(
            "<BBHHHB",
            how | TEXT_REFERRED,
            *self._bytes(table),
            offset,
            width,
            register,
            0,
        )
        self.op("TEXT", *operands, target=target)

    def assembled(self) -> bytes:
        """Returns the program; it may be longer than BYTES_MAX."""
        assert not self.is_beyond
        code: list[_Op | Label] = [*self.first, *self.ops]
        halt = _Op("HALT", b"")
        code.append(halt)
        start = (
            12
            + 8 * (len(self.tables) + len(self.helpers))
            + 2 * len(self.outputs)
        )
        size = self._laid_out(code)
        for made, at in self.texts:
            where = struct.pack("<H", (start + size + at) & 0xFFFF)
            made.operands = made.operands[:6] + where + made.operands[8:]
        for made, at, count in self.references:
            slot = ((start + size + at) << 8 | count) & 0x7FFFFFFF
            made.operands = made.operands[:1] + struct.pack("<i", slot)
        body, at = b"", 0
        for item in code:
            if isinstance(item, _Op):
                piece = item.code(at, start)
                assert len(piece) == item.size()
                body += piece
                at += len(piece)
        at = 0
        while at < len(self.outputs):
            kind = self.outputs[at][0]
            self.flags |= TEXT if kind >= 5 else 0
            at += {5: 3, 6: 2}.get(kind, 1)
        self.flags |= RANGED if self.ranges else 0
        tables = b"".join(struct.pack("<IHBx", *t) for t in self.tables)
        outputs = b"".join(struct.pack("<BB", *o) for o in self.outputs)
        rest = tables + b"".join(self.helpers) + outputs + body
        rest += bytes(self.constants)
        head = struct.pack(
            "<2sBBHBBBBBB",
            b"Eq",
            VERSION,
            self.flags,
            min(16 + len(rest), 0xFFFF),
            self.registers,
            self.parameters,
            len(self.tables),
            len(self.outputs),
            len(self.helpers),
            self.ranges,
        )
        return head + rest + struct.pack("<I", crc32c(head + rest))

    @staticmethod
    def _laid_out(code: list[_Op | Label]) -> int:
        """Places the labels and finds the far jumps; returns the bytes."""
        while True:
            at = 0
            for item in code:
                if isinstance(item, Label):
                    item.at = at
                else:
                    at += item.size()
            size, at, grown = at, 0, False
            for item in code:
                if isinstance(item, Label):
                    continue
                at += item.size()
                if (
                    item.target is not None
                    and item.name in _SHORT
                    and not item.is_far
                    and item.target.at - at > 255
                ):
                    item.is_far = grown = True
            if not grown:
                return size


def listing(program: bytes) -> list[str]:
    """Returns the instructions of a program as text, for tests and people."""
    tables, outputs, helpers = program[8], program[9], program[10]
    at = 12 + 8 * (tables + helpers) + 2 * outputs
    names = NAMES.split()
    lines = []
    while True:
        name = names[program[at]]
        size = _SIZES[name]
        if name == "FOR":
            size += 4 * (program[at + 4] >> 4)
        operands = program[at + 1 : at + size]
        lines.append(f"{at} {name} {operands.hex(' ')}".rstrip())
        at += size
        if name == "HALT":
            return lines


_SIZES = dict(
    zip(
        NAMES.split(),
        [1, 1, 2, 3, 3, 4, 6, 10, 5, 3, 2, 4, 6, 3, 4, 4, 4, 4, 4, 5, 8, 2, 3]
        + [7, 4, 3, 4, 4, 2, 2, 4, 4, 4, 6, 11, 4, 9, 4, 4, 4, 4, 4, 3, 3, 4]
        + [4, 3, 3, 4],
        strict=True,
    )
)
