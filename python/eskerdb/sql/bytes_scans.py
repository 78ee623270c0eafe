# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Scans and lookups of tables, in a program of bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from eskerdb.schema import TYPES
from eskerdb.sql import assemble as asm
from eskerdb.sql import expr as e
from eskerdb.sql import rules
from eskerdb.sql.assemble import Label
from eskerdb.sql.bytes_expr import SLOT
from eskerdb.sql.bytes_variables import Variables
from eskerdb.sql.plan import Bound, Range, Scan
from eskerdb.sql.tables import KIND_NUMBERS
from eskerdb.sql.types import INT_MAX, INT_MIN

_MIN, _MAX, _BACKWARD, _OPEN = 1, 2, 4, 8  # flags of FOR


class Scans(Variables):
    """Compiles scans.

    seeks   scans that each look up one of several keys, and the first of them
    """

    def __init__(self) -> None:
        super().__init__()
        self.seeks: dict[int, int] = {}
        self._seekers: dict[int, int] = {}  # their cursors, by the first one
        self._key: int | None = None  # first register of a key

    def _cursor(self, scan: Scan) -> int:
        """Adds a table's entry; returns its number."""
        table = scan.table
        cursor = len(self.program.tables)
        self.program.tables.append(
            (table.fingerprint, table.row_bytes, KIND_NUMBERS[table.kind])
        )
        self.places[scan.number] = cursor, table
        return cursor

    def _for(self, scan: Scan, flags: int) -> tuple[int, bytes]:
        """Returns the cursor of a FOR, and its operands behind the exit."""
        cursor = self._cursor(scan)
        key = scan.table.columns[scan.table.key].bytes
        lo = hi = 0
        if scan.table.kind == "kv":
            if scan.lo is not None:
                lo, flags = self._reference(scan.lo.value), flags | _MIN
            if scan.hi is not None:
                hi, flags = self._reference(scan.hi.value), flags | _MAX
        else:
            if scan.lo is not None:
                lo, flags = self._bound(scan.lo, 1, key), flags | _MIN
            if scan.hi is not None:
                hi, flags = self._bound(scan.hi, -1, key), flags | _MAX
        if scan.backward:
            flags |= _BACKWARD
        ranges = b"".join(self._range(scan, r) for r in scan.ranges)
        flags |= len(scan.ranges) << 4
        self.program.ranges = max(self.program.ranges, len(scan.ranges))
        return cursor, bytes([flags, lo, hi]) + ranges

    def _reference(self, value: e.Expr) -> int:
        """Returns the register that refers to a text."""
        self.program.flags |= asm.TEXT
        if isinstance(value, e.Parameter):
            return value.index
        assert isinstance(value, e.Constant)
        register = self.registers.take()
        self.program.refer(register, value.value.encode())
        return register

    def _text_bound(self, value: e.Expr, bytes: int) -> int:
        """Returns the first register of a text that is the bound of a key."""
        self.program.flags |= asm.TEXT
        first = self.registers.take(-(-bytes // SLOT))
        self.slots(value, first, bytes)
        return first

    def _bound(self, bound: Bound, step: int, bytes: int = 0) -> int:
        """Returns the register of an inclusive bound; NULL is no row."""
        value = bound.value
        if value.type.kind == "text":
            return self._text_bound(value, bytes)
        if bound.inclusive:
            return self.value(value)
        limit = INT_MAX if step > 0 else INT_MIN
        next_one = rules.arithmetic("+", value, rules.constant(step))
        if value.type.lo <= limit <= value.type.hi:
            at_end = rules.compare("=", value, rules.constant(limit))
            next_one = rules.case([(at_end, rules.constant(None))], next_one)
        return self.value(next_one)

    def _range(self, scan: Scan, wanted: Range) -> bytes:
        column = scan.table.columns[wanted.column]
        flags, lo, hi = 0, 0, 0
        if wanted.lo is not None:
            flags, lo = flags | 1, self._bound(wanted.lo, 1)
        if wanted.hi is not None:
            flags, hi = flags | 2, self._bound(wanted.hi, -1)
        if column.kind in ("f32", "f64"):
            self.program.flags |= asm.FLOATS
        kind = TYPES[column.kind]
        return bytes([wanted.column, kind * 16 + flags, lo, hi])

    @contextmanager
    def loop(self, scan: Scan) -> Iterator[None]:
        if scan.number in self.seeks:
            with self._one_key(scan):
                yield
            return
        cursor, operands = self._for(scan, 0)
        exit = Label()
        body = self.program.loop("FOR", cursor, operands, exit)
        with self.scope():
            yield
        self.program.next("NEXT", cursor, body)
        self.program.place(exit)

    @contextmanager
    def _one_key(self, scan: Scan) -> Iterator[None]:
        """Looks a key up, by the cursor that the other keys have."""
        assert scan.lo is not None
        first, bytes = self.seeks[scan.number], scan.table.columns[0].bytes
        if first not in self._seekers:
            self._seekers[first] = self._cursor(scan)
        if self._key is None:
            self._key = self.registers.take(-(-bytes // SLOT))
        cursor = self._seekers[first]
        self.places[scan.number] = cursor, scan.table
        miss = Label()
        text = self._reference(scan.lo.value)
        self.program.op("LDR", self._key, bytes, text)
        self.program.op("GET", cursor, self._key, target=miss)
        with self.scope():
            yield
        self.program.place(miss)

    def open(self, scan: Scan) -> None:
        cursor, operands = self._for(scan, _OPEN)
        self.program.op("FOR", cursor, 0, 0, *operands)

    @contextmanager
    def advance(self, scan: Scan, key: e.Expr, outer: bool) -> Iterator[None]:
        cursor, _ = self.places[scan.number]
        with self._found("ADVANCE", cursor, key, outer):
            yield

    @contextmanager
    def lookup(self, scan: Scan, key: e.Expr, outer: bool) -> Iterator[None]:
        cursor = self._cursor(scan)
        with self._found("GET", cursor, key, outer):
            yield

    @contextmanager
    def _found(
        self, op: str, cursor: int, key: e.Expr, outer: bool
    ) -> Iterator[None]:
        miss = Label()
        self.program.op(op, cursor, self.value(key), target=miss)
        if outer:
            self.program.place(miss)
        with self.scope():
            yield
        if not outer:
            self.program.place(miss)

    def count(self, scan: Scan) -> e.Expr:
        kind = rules.constant(0).type
        total = self.variable(replace(kind, hi=INT_MAX), "count")
        register = self.variables[total.index]
        self.open(scan)
        self.program.load(register, 0)
        self.program.op("COUNT", register, self.places[scan.number][0])
        return total
