# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Writes a query as a program of bytes for the machine of src/query.

A program has one list of outputs, but may make rows at several places. So it
is written again as long as some output is not in the same register everywhere:
then that one is moved to a register of its own.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from eskerdb.program import KV_VALUE_BYTES, kv_shape
from eskerdb.sql import assemble as asm
from eskerdb.sql import expr as e
from eskerdb.sql import push
from eskerdb.sql.assemble import Label
from eskerdb.sql.bytes_expr import (
    SLOT,
    slots_of,
)
from eskerdb.sql.bytes_records import RecordSets
from eskerdb.sql.bytes_scans import Scans
from eskerdb.sql.emit import Emitter, Unsupported
from eskerdb.sql.explain import inputs
from eskerdb.sql.plan import (
    Plan,
    Query,
    SeekUnion,
)
from eskerdb.sql.tables import KIND_NUMBERS
from eskerdb.sql.types import Type

_INT, _FLOAT, _AVG, _ROW, _ROW_TEXT, _TEXT = range(1, 7)


@dataclass(frozen=True)
class Code:
    """A program, and the query that it is of: names are not in the program.

    roles   of the outputs: "key", "value", "type" of a kv table; else ""
    cuts    a text of a kv table that is longer than its row's may end it with
            ESK_E_LIMIT
    """

    bytes: bytes
    query: Query
    roles: tuple[str, ...] = ()
    cuts: bool = False


def compiled(query: Query) -> Code:
    """Returns the program of a query. Raises Unsupported."""
    try:
        return _written(query, False)
    except Unsupported:
        if not _looked_up(query.plan):
            raise
    return _written(query, True)


def _looked_up(plan: Plan) -> dict[int, int]:
    """Returns the scans that each look up one of several keys of a kv table:
    their numbers, and that of the first one beside."""
    if isinstance(plan, SeekUnion):
        first = plan.scans[0]
        if first.table.kind != "kv":
            return {}
        return {s.number: first.number for s in plan.scans if s.lo == s.hi}
    found: dict[int, int] = {}
    for child in inputs(plan):
        found |= _looked_up(child)
    return found


def _written(query: Query, gets: bool) -> Code:
    """gets  keys of kv tables are looked up by one cursor, whose row has all
    values. The key takes half of the registers."""
    separate: frozenset[int] = frozenset()
    while True:
        writer = _Writer(separate, gets)
        push.write(query, writer)
        moved = writer.moved
        if writer.registers.count > asm.REGISTERS_MAX:
            # What an output computes on the way is then not kept for others.
            moved = set(range(len(query.names)))
        if moved <= separate:
            roles = tuple(
                writer.roles.get(i, "") for i in range(len(query.names))
            )
            return Code(writer.finished(), query, roles, writer.cuts_values)
        separate |= moved


class _Writer(Scans, RecordSets, Emitter):
    """Writes the program.

    separate  outputs that have a register of their own
    moved     outputs that need one
    gets      as of _written()
    """

    def __init__(self, separate: frozenset[int], gets: bool) -> None:
        super().__init__()
        self.separate = separate
        self.gets = gets
        self.moved: set[int] = set()
        self._outputs: list[tuple[tuple[int, int], ...]] | None = None
        self._own: dict[int, int] = {}
        self.roles: dict[int, str] = {}

    # The program ------------------------------------------------------------

    @property
    def query(self) -> Query:
        return self._query

    @query.setter
    def query(self, query: Query) -> None:
        self._query = query
        count = len(query.parameters)
        self.program.parameters = count
        self.registers.take(count)
        if self.gets:
            self.seeks = _looked_up(query.plan)

    def finished(self) -> bytes:
        """Returns the program. Raises Unsupported."""
        program = self.program
        program.registers = max(self.registers.count, 1)
        for entries in self._outputs or []:
            program.outputs += entries
        for i, (_, _, kind) in enumerate(program.tables):
            if kind == KIND_NUMBERS["kv"]:
                room = KV_VALUE_BYTES if i in self.valued else 0
                program.tables[i] = (*kv_shape(room), kind)
        self._check_tables()
        for what, count, most in (
            ("registers", program.registers, asm.REGISTERS_MAX),
            ("scans", len(program.tables), asm.TABLES_MAX),
            ("loops in one another", program.depth_most, asm.LOOPS_MAX),
            ("orders and groups", len(program.helpers), asm.HELPERS_MAX),
            ("outputs", len(program.outputs), asm.OUTPUTS_MAX),
        ):
            if count > most:
                raise Unsupported(
                    f"the query takes {count} {what}; a program has {most}"
                )
        made = program.assembled()
        if len(made) > asm.BYTES_MAX:
            raise Unsupported(
                f"the program has {len(made):,} bytes, of {asm.BYTES_MAX:,}"
            )
        return made

    def _check_tables(self) -> None:
        """Raises Unsupported when a program cannot tell two tables apart."""
        found: dict[tuple[int, int], str] = {}
        for table in self.query.tables:
            shape = table.fingerprint, table.row_bytes
            other = found.setdefault(shape, table.name)
            if other != table.name:
                raise Unsupported(
                    f"'{other}' and '{table.name}' have the same columns: a "
                    "program finds tables by their fingerprints"
                )

    # Control ----------------------------------------------------------------

    @contextmanager
    def when(self, condition: e.Expr) -> Iterator[None]:
        end = Label()
        test = condition
        while isinstance(test, (e.Not, e.IsTrue)):
            test = test.operand
        if isinstance(test, e.Compare) and test.left.type.is_number:
            self.value(test.left)  # known also to what follows
            self.value(test.right)
        with self.scope():
            self.jump_unless(condition, end)
            yield
        self.program.place(end)

    @contextmanager
    def block(self) -> Iterator[object]:
        end = Label()
        with self.scope():
            yield end
        self.program.place(end)

    def leave(self, block: object) -> None:
        assert isinstance(block, Label)
        self.program.op("JMP", target=block)

    # Rows -------------------------------------------------------------------

    def emit(self, outputs: Sequence[e.Expr]) -> None:
        with self.scope():
            entries = [
                self._output(i, output, self.query.types[i])
                for i, output in enumerate(outputs)
            ]
            self.program.op("EMIT")
        if self._outputs is None:
            self._outputs = entries
            return
        for i, (old, new) in enumerate(
            zip(self._outputs, entries, strict=True)
        ):
            if old != new:
                self.moved.add(i)

    def _output(
        self, i: int, value: e.Expr, kind: Type
    ) -> tuple[tuple[int, int], ...]:
        """Computes an output; returns its entries."""
        if isinstance(value, e.RowBytes):
            assert isinstance(value.operand, e.Column)
            return ((_ROW, self.places[value.operand.scan][0]),)
        if kind.kind == "blob":
            raise Unsupported("a column of bytes", value.span)
        is_text = kind.kind == "text"
        role = self._role(value)
        if self.roles.setdefault(i, role) != role or (
            role in ("value", "type") and i in self.separate
        ):
            raise Unsupported(
                "values of a kv table are outputs of one scan", value.span
            )
        if role in ("value", "type"):
            assert isinstance(value, e.Column)
            cursor = self.places[value.scan][0]
            self.valued.add(cursor)
            return ((_ROW, cursor),)
        if i in self.separate:
            count = slots_of(kind)
            if i not in self._own:
                self._own[i] = self.registers.take(count)
            first = self._own[i]
            with self.scope():
                self.slots(value, first, kind.bytes)
            return self._entries(kind, first)
        if is_text and isinstance(value, e.Column):
            cursor, table = self.places[value.scan]
            column = table.column(value.index)
            low, high = (
                struct.pack("<H", n) for n in (column.offset, column.bytes)
            )
            return (_ROW_TEXT, cursor), tuple(low), tuple(high)
        if is_text:
            return self._entries(kind, self._in_a_row(value))
        if self._is_plain_mean(value):
            return ((_AVG, self._reads[value.index][1]),)
        return self._entries(kind, self.value(value))

    def _role(self, value: e.Expr) -> str:
        """Returns which column of a kv table an output is."""
        if isinstance(value, e.Column):
            table = self.places[value.scan][1]
            if table.kind == "kv":
                return table.column(value.index).name
        return ""

    def _in_a_row(self, value: e.Expr) -> int:
        """Returns the first register of a text's."""
        if isinstance(value, (e.Variable, e.Result)):
            return self.slots(value)[0]
        first = self.registers.take(slots_of(value.type))
        self.slots(value, first)
        return first

    def _is_plain_mean(self, value: e.Expr) -> bool:
        """Whether an output is the mean of integers, which its reader
        divides."""
        return (
            isinstance(value, e.Result)
            and value.function == "avg"
            and self._reads[value.index][2].argument.type.kind != "f64"
        )

    @staticmethod
    def _entries(kind: Type, first: int) -> tuple[tuple[int, int], ...]:
        if kind.kind == "text":
            count = slots_of(kind) * SLOT
            low, high = struct.pack("<H", min(kind.bytes, count))
            return (_TEXT, first), (low, high)
        return ((_FLOAT if kind.kind == "f64" else _INT, first),)
