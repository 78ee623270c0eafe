# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Compiles expressions for the machine: values in registers, conditions as
jumps.

A condition is never a value unless it is asked for: IF and UNLESS jump where
it is TRUE, or unless it is TRUE, which is all that three-valued AND, OR and
NOT need. A value that a row has computed is kept in its register, and used
again where the code before it has surely run.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from eskerdb.program import float_slot, text_slots
from eskerdb.schema import TYPES
from eskerdb.sql import assemble as asm
from eskerdb.sql import expr as e
from eskerdb.sql import rules
from eskerdb.sql.assemble import Label, Program
from eskerdb.sql.emit import Unsupported
from eskerdb.sql.plan import TableColumn, TableInfo
from eskerdb.sql.tables import KV_CELLS, KV_VALUE_AT
from eskerdb.sql.types import INT_MAX, INT_MIN, Type

SLOT = 8  # bytes of text in a register
_TEXT_MOST = 255  # of LENGTH, SUBSTR and TEXT
# Compare.op: relation of the machine, operands swapped.
_RELATIONS = {
    "<": ("LT", False),
    "<=": ("LE", False),
    ">": ("LT", True),
    ">=": ("LE", True),
    "=": ("EQ", False),
    "<>": ("NE", False),
}
_TEXT_RELATIONS = {"<": 0, "<=": 1, "=": 2, "<>": 3}
_NOT_RELATIONS = {">": 1, ">=": 0}  # not <=, not <
_TEXT_IF, _TEXT_LIKE = 4, 8
_PLAIN = b"\xff"  # in a pattern: the next byte is no wildcard
_OPS = {"+": "ADD", "-": "SUB", "*": "MUL", "/": "DIV", "%": "REM"}


def slots_of(kind: Type, span: e.Span = e.NOWHERE) -> int:
    """Returns how many registers a value takes."""
    if kind.kind == "blob" or (kind.kind == "text" and not kind.bytes):
        raise Unsupported("a text of any length is no value of a program", span)
    return -(-kind.bytes // SLOT) if kind.kind == "text" else 1


class Registers:
    """Hands out registers: for good, or until the code that uses them ends."""

    def __init__(self) -> None:
        self.count = 0
        self._free: list[int] = []

    def take(self, count: int = 1) -> int:
        """Takes registers in a row, for good."""
        first = self.count
        self.count += count
        return first

    def borrow(self) -> int:
        return self._free.pop() if self._free else self.take()

    def borrow_row(self, count: int) -> int:
        """Returns the first of some registers in a row."""
        free = set(self._free)
        for first in sorted(free):
            row = range(first, first + count)
            if free.issuperset(row):
                self._free = [r for r in self._free if r not in row]
                return first
        return self.take(count)

    def give_back(self, registers: Sequence[int]) -> None:
        self._free.extend(registers)


class Expressions:
    """Compiles expressions.

    program   that is written
    places    the cursor and the table of each scan
    valued    cursors of kv tables whose rows have values
    """

    def __init__(self) -> None:
        self.program = Program()
        self.registers = Registers()
        self.places: dict[int, tuple[int, TableInfo]] = {}
        self.variables: dict[int, int] = {}
        self.results: dict[int, int] = {}
        self.valued: set[int] = set()
        self._constants: dict[int, int] = {}
        self._null: int | None = None
        # Of the enclosing code, the innermost last: what registers hold, and
        # those to give back.
        self._known: list[dict[e.Expr, int]] = [{}]
        self._borrowed: list[list[int]] = [[]]

    # Registers --------------------------------------------------------------

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Encloses code that may be jumped over."""
        self._known.append({})
        self._borrowed.append([])
        yield
        self._known.pop()
        self.registers.give_back(self._borrowed.pop())

    def temporary(self) -> int:
        register = self.registers.borrow()
        self._borrowed[-1].append(register)
        return register

    def temporaries(self, count: int) -> int:
        """Returns the first of some registers in a row."""
        first = self.registers.borrow_row(count)
        self._borrowed[-1].extend(range(first, first + count))
        return first

    def number(self, value: int) -> int:
        """Returns the register of a constant."""
        if value not in self._constants:
            register = self.registers.take()
            self._constants[value] = register
            self.program.load(register, value)
        return self._constants[value]

    def null(self) -> int:
        if self._null is None:
            self._null = self.registers.take()  # NULL from the start
        return self._null

    # Values -----------------------------------------------------------------

    def value(self, expr: e.Expr, into: int | None = None) -> int:
        """Computes a value that takes one register; returns which."""
        if slots_of(expr.type, expr.span) > 1:
            raise Unsupported("a text is no number", expr.span)
        fixed = self._fixed(expr)
        if fixed is None:
            for known in reversed(self._known):
                fixed = known.get(expr, fixed)
        if fixed is not None:
            if into is not None and into != fixed:
                self.program.op("MOV", into, fixed)
            return fixed if into is None else into
        register = self.temporary() if into is None else into
        self._compute(expr, register)
        if into is None and _is_pure(expr):
            self._known[-1][expr] = register
        return register

    def _fixed(self, expr: e.Expr) -> int | None:
        """Returns the register that always has a value, or None."""
        if isinstance(expr, e.Constant):
            if expr.value is None:
                return self.null()
            if expr.type.kind == "f64":
                self.program.flags |= asm.FLOATS
                return self.number(float_slot(expr.value))
            if expr.type.kind == "text":
                data = expr.value.encode()
                return self.number(text_slots(data, 1)[0])
            return self.number(int(expr.value))
        if isinstance(expr, e.Parameter):
            if expr.type.kind == "text":
                raise Unsupported(f":{expr.name} is a text", expr.span)
            return expr.index
        if isinstance(expr, e.Variable):
            return self.variables[expr.index]
        if isinstance(expr, e.Result):
            return self.results.get(expr.index)
        return None

    def _compute(self, expr: e.Expr, r: int) -> None:
        """Computes a value into register r, which it does not read before it
        is written."""
        if expr.type.kind == "f64":
            self.program.flags |= asm.FLOATS
        elif not expr.type.fits_32_bits and not isinstance(expr, e.Result):
            self.program.flags |= asm.WIDE
        method = getattr(self, f"_{type(expr).__name__.lower()}", None)
        if method is None:
            raise Unsupported(
                f"the machine has no {type(expr).__name__.lower()}()",
                expr.span,
            )
        method(expr, r)

    def _column(self, expr: e.Column, r: int) -> None:
        cursor, table = self.places[expr.scan]
        column = table.column(expr.index)
        if expr.type.kind == "text":
            self._load_text(cursor, column, 0, r)
            return
        self._load(r, cursor, column)
        if column.missing is not None:
            kind = rules.constant(column.missing)
            if column.kind in ("f32", "f64"):
                kind = rules.as_float(kind)
            self.program.op("NULLIF", r, self.value(kind))

    def _use(self, cursor: int, column: TableColumn) -> None:
        """Notes which cursors' rows have values of a kv table."""
        if column in KV_CELLS and column.offset >= KV_VALUE_AT:
            self.valued.add(cursor)

    def _load(self, r: int, cursor: int, column: TableColumn) -> None:
        self._use(cursor, column)
        place = cursor * 16 + TYPES[column.kind]
        offset = column.offset.to_bytes(2, "little")
        self.program.op("LD", r, place, *offset)

    def _arithmetic(self, expr: e.Arithmetic, r: int) -> None:
        op = _OPS[expr.op]
        left = self.value(expr.left)
        opposite = self._opposite(expr)
        if opposite is not None:
            self.program.op("SUB" if op == "ADD" else "ADD", r, left, opposite)
            return
        right = self.value(expr.right)
        if expr.type.kind == "f64":
            op = "F" + op
        self.program.op(op, r, left, right)

    def _opposite(self, expr: e.Arithmetic) -> int | None:
        """Returns the register of -c where a constant c is added or
        subtracted, and only -c is in a register; else None."""
        if (
            expr.op not in "+-"
            or expr.type.kind == "f64"
            or not isinstance(expr.right, e.Constant)
            or expr.right.value is None
            or int(expr.right.value) in self._constants
        ):
            return None
        return self._constants.get(-int(expr.right.value))

    def _negate(self, expr: e.Negate, r: int) -> None:
        value = self.value(expr.operand)
        op = "FSUB" if expr.type.kind == "f64" else "SUB"
        self.program.op(op, r, self.number(0), value)

    def _abs(self, expr: e.Abs, r: int) -> None:
        value, zero, done = self.value(expr.operand), self.number(0), Label()
        op = "FSUB" if expr.type.kind == "f64" else "SUB"
        self.program.op("MOV", r, value)
        self.program.op("UNLESS_LT", r, zero, target=done)
        self.program.op(op, r, zero, r)
        self.program.place(done)

    def _tofloat(self, expr: e.ToFloat, r: int) -> None:
        self.program.op("FLOAT", r, self.value(expr.operand))

    def _toint(self, expr: e.ToInt, r: int) -> None:
        value = self.value(expr.operand)
        is_float = expr.operand.type.kind == "f64"
        self.program.op("TRUNC" if is_float else "MOV", r, value)
        lo, hi = expr.type.lo, expr.type.hi
        if (lo, hi) == (INT_MIN, INT_MAX):
            return
        done, beyond = Label(), Label()
        self.program.op("JNULL", r, target=done)
        self.program.op("UNLESS_LE", self.number(lo), r, target=beyond)
        self.program.op("IF_LE", r, self.number(hi), target=done)
        self.program.place(beyond)
        most = self.number(INT_MAX)
        self.program.op("ADD", r, most, most)  # ESK_E_LIMIT
        self.program.place(done)

    def _round(self, expr: e.Round, r: int) -> None:
        self.program.op("ROUND", r, self.value(expr.operand), expr.digits)

    def _bucket(self, expr: e.Bucket, r: int) -> None:
        value, width = self.value(expr.operand), self.number(expr.width)
        with self.scope():
            rest = self.temporary()
            self.program.op("REM", rest, value, width)
            if expr.operand.type.lo < 0:
                done = Label()
                self.program.op("UNLESS_LT", rest, self.number(0), target=done)
                self.program.op("ADD", rest, rest, width)
                self.program.place(done)
            self.program.op("SUB", r, value, rest)

    def _case(self, expr: e.Case, r: int, width: int = 0) -> None:
        """width  of texts: the bytes that the value is to have."""
        done = Label()
        for test, value in expr.whens:
            following = Label()
            with self.scope():
                self.jump_unless(test, following)
                self.slots(value, r, width)
                self.program.op("JMP", target=done)
            self.program.place(following)
        with self.scope():
            self.slots(expr.otherwise, r, width)
        self.program.place(done)

    def _extreme(self, expr: e.Extreme, r: int, width: int = SLOT) -> None:
        """width  of texts: the bytes that the value is to have."""
        count = -(-width // SLOT)
        items = [
            self.slots(item, None, width)
            if item.type.kind == expr.type.kind or count == 1
            else [self.null()] * count
            for item in expr.items
        ]
        done = Label()
        for place, slots in enumerate(items):
            following = Label()
            if place > 0:
                row = list(range(r, r + len(slots)))
                a, b = (slots, row) if expr.is_greatest else (row, slots)
                self._jump_ordered(a, b, "LE", following, True)
            for offset, slot in enumerate(slots):
                self.program.op("MOV", r + offset, slot)
            if expr.items[place].type.nullable and place < len(items) - 1:
                self.program.op("JNULL", r, target=done)
            self.program.place(following)
        self.program.place(done)

    def _length(self, expr: e.Length, r: int) -> None:
        first, width = self._text_row(expr.operand)
        self.program.op("LENGTH", r, first, width)

    # Conditions as values ---------------------------------------------------

    def _condition(self, expr: e.Expr, r: int) -> None:
        """Computes 0, 1 or NULL."""
        done, other = Label(), Label()
        with self.scope():
            self.jump_unless(expr, other)
        self.program.op("MOV", r, self.number(1))
        self.program.op("JMP", target=done)
        self.program.place(other)
        if not expr.type.nullable:
            self.program.op("MOV", r, self.number(0))
        else:
            unknown = Label()
            with self.scope():
                self.jump_unless(rules.inverse(expr), unknown)
            self.program.op("MOV", r, self.number(0))
            self.program.op("JMP", target=done)
            self.program.place(unknown)
            self.program.op("NULL", r)
        self.program.place(done)

    _compare = _logic = _not = _isnull = _istrue = _same = _like = _condition

    # Conditions as jumps ----------------------------------------------------

    def jump_unless(self, expr: e.Expr, label: Label) -> None:
        """Jumps unless a condition is TRUE."""
        self._jump(expr, label, False)

    def _jump(self, expr: e.Expr, label: Label, when: bool) -> None:
        match expr:
            case e.Constant(value=value):
                if bool(value) == when:
                    self.program.op("JMP", target=label)
            case e.Logic():
                self._jump_logic(expr, label, when)
            case e.Compare():
                self._jump_compare(expr, label, when)
            case e.IsNull(operand=operand):
                op = "JNULL" if when else "JVALUE"
                self.program.op(op, self._slot(operand), target=label)
            case e.IsTrue(operand=operand):
                self._jump(operand, label, when)
            case e.Same():
                self._jump_same(expr, label, when)
            case e.Like():
                self._jump_like(expr, label, when, False)
            case e.Not(operand=e.Like() as like):
                self._jump_like(like, label, when, True)
            case e.Not(operand=e.IsNull() | e.IsTrue() | e.Same() as inner):
                self._jump(inner, label, not when)
            case e.Not(operand=inner):
                op = "IF_EQ" if when else "UNLESS_EQ"
                value = self.value(inner)
                self.program.op(op, value, self.number(0), target=label)
            case _:
                op = "IF_NE" if when else "UNLESS_NE"
                value = self.value(expr)
                self.program.op(op, value, self.number(0), target=label)

    def _jump_logic(self, expr: e.Logic, label: Label, when: bool) -> None:
        first, *others = _flat(expr)
        # AND jumps at its first item that is not TRUE, OR at one that is.
        if (expr.op == "and") != when:
            self._jump(first, label, when)
            if when:
                with self.scope():
                    for item in others:
                        self._jump(item, label, when)
            else:
                for item in others:
                    self._jump(item, label, when)
            return
        over = Label()
        *most, last = others
        self._jump(first, over, not when)
        with self.scope():
            for item in most:
                self._jump(item, over, not when)
            self._jump(last, label, when)
        self.program.place(over)

    def _jump_compare(self, expr: e.Compare, label: Label, when: bool) -> None:
        left, right = expr.left, expr.right
        if left.type.kind == "text":
            self._jump_text(expr, label, when)
            return
        relation, swaps = _RELATIONS[expr.op]
        kinds = left.type.kind == "f64", right.type.kind == "f64"
        if kinds[0] != kinds[1]:
            a, b = self.value(left), self.value(right)
            order = self.temporary()
            if kinds[0]:
                a, b, swaps = b, a, not swaps
            self.program.op("FCMP", order, a, b)
            a, b = order, self.number(0)
        else:
            a, b = self.value(left), self.value(right)
        if swaps:
            a, b = b, a
        op = f"{'IF' if when else 'UNLESS'}_{relation}"
        self.program.op(op, a, b, target=label)

    def _jump_same(self, expr: e.Same, label: Label, when: bool) -> None:
        a, b = self.slots(expr.left), self.slots(expr.right)
        other, done = Label(), Label()
        self.program.op("JNULL", a[0], target=other)
        self._jump_equal(a, b, label, when)
        self.program.op("JMP", target=done)
        self.program.place(other)
        op = "JNULL" if when else "JVALUE"
        self.program.op(op, b[0], target=label)
        self.program.place(done)

    def _jump_equal(
        self, a: list[int], b: list[int], label: Label, when: bool
    ) -> None:
        """Jumps by whether all slots are equal."""
        over = Label()
        for left, right in zip(a[:-1], b[:-1], strict=True):
            self.program.op(
                "UNLESS_EQ", left, right, target=over if when else label
            )
        op = "IF_EQ" if when else "UNLESS_EQ"
        self.program.op(op, a[-1], b[-1], target=label)
        self.program.place(over)

    # Texts ------------------------------------------------------------------

    def _slot(self, expr: e.Expr) -> int:
        """Returns a register that is NULL where a value is."""
        if expr.type.kind == "text":
            return self.slots(expr)[0]
        return self.value(expr)

    def slots(
        self, expr: e.Expr, into: int | None = None, width: int = 0
    ) -> list[int]:
        """Computes a value in as many registers as it takes, in a row when
        `into` says where.

        width  of a text: the bytes that it is to have; 0: its own
        """
        if expr.type.kind not in ("text", "blob"):
            count = -(-width // SLOT) if width else 1
            first = self.value(expr, into)
            if count > 1:  # a NULL in the place of a text
                assert into is not None
                for i in range(1, count):
                    self.program.op("NULL", into + i)
                return list(range(into, into + count))
            return [first]
        if isinstance(expr, e.Parameter):
            return self._referred(expr, into, width)
        count = -(-width // SLOT) if width else slots_of(expr.type, expr.span)
        own = slots_of(expr.type, expr.span)
        if isinstance(expr, (e.Case, e.Extreme, e.Substr)):
            first = self.temporaries(count) if into is None else into
            if isinstance(expr, e.Case):
                self._case(expr, first, count * SLOT)
            elif isinstance(expr, e.Extreme):
                self._extreme(expr, first, count * SLOT)
            else:
                self._substr(expr, first, count * SLOT)
            return list(range(first, first + count))
        places = None if into is None else range(into, into + count)
        found = []
        for i in range(count):
            if places is not None and isinstance(expr, e.Column) and i < own:
                cursor, table = self.places[expr.scan]
                column = table.column(expr.index)
                self._load_text(cursor, column, i, places[i])
                found.append(places[i])
                continue
            piece = self._text_slot(expr, i, i < own)
            if places is not None and places[i] != piece:
                self.program.op("MOV", places[i], piece)
            found.append(piece if places is None else places[i])
        return found

    def _referred(
        self, expr: e.Parameter, into: int | None, width: int
    ) -> list[int]:
        """Loads the text that a parameter refers to."""
        own = slots_of(expr.type, expr.span)
        count = max(own, -(-width // SLOT))
        if expr.type.bytes > _TEXT_MOST:
            raise Unsupported(
                f":{expr.name} is a text of more than {_TEXT_MOST} bytes",
                expr.span,
            )
        first = self.temporaries(count) if into is None else into
        self.program.op("LDR", first, expr.type.bytes, expr.index)
        for i in range(own, count):
            zeros = self.number(text_slots(b"", 1)[0])
            self.program.op("MOV", first + i, zeros)
        return list(range(first, first + count))

    def _text_row(self, expr: e.Expr) -> tuple[int, int]:
        """Returns the first of the registers, in a row, of a text, and its
        bytes."""
        width = expr.type.bytes
        count = slots_of(expr.type, expr.span)
        if width > _TEXT_MOST:
            raise Unsupported(
                f"length() and substr() of more than {_TEXT_MOST} bytes",
                expr.span,
            )
        if width > SLOT // 2:
            self.program.flags |= asm.WIDE
        if count == 1 or isinstance(
            expr, (e.Variable, e.Result, e.Case, e.Extreme, e.Parameter)
        ):
            return self.slots(expr)[0], width
        return self.slots(expr, self.temporaries(count))[0], width

    def _substr(self, expr: e.Substr, r: int, width: int = SLOT) -> None:
        first, given = self._text_row(expr.operand)
        skip = min(expr.start - 1, 0xFFFF)
        count = 0xFFFF if expr.count is None else min(expr.count, 0xFFFF)
        operands = struct.pack(
            "<BBBBHH", r, min(width, _TEXT_MOST), first, given, skip, count
        )
        self.program.op("SUBSTR", *operands)

    def _text_slot(self, expr: e.Expr, i: int, has: bool) -> int:
        """Returns the register of a text's i-th slot."""
        if not has:
            return self.number(text_slots(b"", 1)[0])
        if isinstance(expr, e.Constant):
            data = expr.value.encode()
            return self.number(
                text_slots(data, slots_of(expr.type, expr.span))[i]
            )
        if isinstance(expr, e.Variable):
            return self.variables[expr.index] + i
        if isinstance(expr, e.Result):
            return self.results[expr.index] + i
        if isinstance(expr, e.Column):
            cursor, table = self.places[expr.scan]
            register = self.temporary()
            self._load_text(cursor, table.column(expr.index), i, register)
            return register
        raise Unsupported(
            f"{type(expr).__name__.lower()} of a text is not in programs of "
            "bytes",
            expr.span,
        )

    def _load_text(
        self, cursor: int, column: TableColumn, i: int, r: int
    ) -> None:
        width = min(SLOT, _of_bytes(column).bytes - i * SLOT)
        offset = (column.offset + i * SLOT).to_bytes(2, "little")
        self.program.op("LDT", r, cursor, width, *offset)

    def _jump_text(self, expr: e.Compare, label: Label, when: bool) -> None:
        left, right, op = expr.left, expr.right, expr.op
        if (
            isinstance(left, e.Column)
            and isinstance(right, (e.Constant, e.Parameter))
            and not (op in _NOT_RELATIONS and left.type.nullable)
        ):
            self._text(left, self._text_given(right), op, label, when)
            return
        width = max(left.type.bytes, right.type.bytes)
        a, b = (self.slots(x, None, width) for x in (left, right))
        if op in ("=", "<>"):
            self._jump_unequal(a, b, label, when, op == "<>")
            return
        relation, swaps = _RELATIONS[op]
        if swaps:
            a, b = b, a
        self._jump_ordered(a, b, relation, label, when)

    def _jump_ordered(
        self,
        a: list[int],
        b: list[int],
        relation: str,
        label: Label,
        when: bool,
    ) -> None:
        """Jumps by the order of slots: the first ones that differ decide."""
        over = Label()
        yes, no = (label, over) if when else (over, label)
        for x, y in zip(a[:-1], b[:-1], strict=True):
            self.program.op("IF_LT", x, y, target=yes)
            self.program.op("UNLESS_EQ", x, y, target=no)
        name = f"{'IF' if when else 'UNLESS'}_{relation}"
        self.program.op(name, a[-1], b[-1], target=label)
        self.program.place(over)

    def _jump_unequal(
        self,
        a: list[int],
        b: list[int],
        label: Label,
        when: bool,
        differs: bool,
    ) -> None:
        if not differs:
            self._jump_equal(a, b, label, when)
            return
        over = Label()
        for x, y in zip(a[:-1], b[:-1], strict=True):
            self.program.op("IF_NE", x, y, target=label if when else over)
        op = "IF_NE" if when else "UNLESS_NE"
        self.program.op(op, a[-1], b[-1], target=label)
        self.program.place(over)

    @staticmethod
    def _text_given(value: e.Constant | e.Parameter) -> bytes | int:
        """Returns a text, or the register of a parameter."""
        if isinstance(value, e.Parameter):
            return value.index
        return value.value.encode()

    def _text(
        self,
        column: e.Column,
        given: bytes | int,
        op: str,
        label: Label,
        when: bool,
        flags: int = 0,
    ) -> None:
        """Compares a column with a text, or with one that a register refers
        to."""
        cursor, table = self.places[column.scan]
        place = _of_bytes(table.column(column.index), column.span)
        self._use(cursor, place)
        if op in _NOT_RELATIONS:
            # TRUE where the other relation is not: the column is not NULL.
            relation, when = _NOT_RELATIONS[op], not when
        else:
            relation = _TEXT_RELATIONS[op]
        how = relation | _TEXT_IF * when | flags
        where = how, cursor, place.offset, place.bytes
        if isinstance(given, int):
            self.program.text_of(*where, given, label)
            return
        if len(given) > _TEXT_MOST:
            raise Unsupported(
                f"a text of more than {_TEXT_MOST} bytes", column.span
            )
        self.program.text(*where, given, label)

    def _jump_like(
        self, like: e.Like, label: Label, when: bool, negated: bool
    ) -> None:
        if not isinstance(like.operand, e.Column):
            raise Unsupported("LIKE of a program is of a column", like.span)
        op = "<>" if negated else "="
        pattern = _pattern(like)
        self._text(like.operand, pattern, op, label, when, _TEXT_LIKE)


def _pattern(like: e.Like) -> bytes:
    """Returns a pattern as TEXT has it."""
    found = b""
    letters = iter(like.pattern)
    for letter in letters:
        is_plain = letter == like.escape
        letter = next(letters, letter) if is_plain else letter
        found += _PLAIN if is_plain and letter in "%_" else b""
        found += letter.encode()
    return found


def _of_bytes(column: TableColumn, span: e.Span = e.NOWHERE) -> TableColumn:
    """Returns a column whose bytes are a text."""
    if column.kind in ("any", "type"):
        raise Unsupported(
            f"'{column.name}' of a kv table is only an output: values differ "
            "in type",
            span,
        )
    return column


def _flat(expr: e.Logic) -> Iterator[e.Expr]:
    """Yields what AND or OR joins. None of it is the same again: of that the
    first one would be taken as done where it was left."""
    for item in expr.items:
        if isinstance(item, e.Logic) and item.op == expr.op:
            yield from _flat(item)
        else:
            yield item


def _is_pure(expr: e.Expr) -> bool:
    """Whether a value stays the same for the rest of a row's code."""
    return not any(
        isinstance(node, (e.Variable, e.Result)) for node in e.walk(expr)
    )
