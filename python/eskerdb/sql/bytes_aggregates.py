# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Aggregates of a program of bytes, and the registers that they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eskerdb.schema import TYPES
from eskerdb.sql import assemble as asm
from eskerdb.sql import expr as e
from eskerdb.sql.assemble import Label
from eskerdb.sql.bytes_expr import slots_of
from eskerdb.sql.bytes_variables import Variables
from eskerdb.sql.emit import Accumulators, Unsupported
from eskerdb.sql.plan import Aggregate

_COUNT, _SUM, _LEAST, _MOST = 1, 2, 4, 8
_WINDOW = 5
_MASKS = {
    "count": _COUNT,
    "sum": _SUM,
    "avg": _COUNT | _SUM,
    "min": _LEAST,
    "max": _MOST,
}
_SLOT_OF = {"count": 0, "min": 3, "max": 4}


@dataclass
class Layout:
    """The registers of accumulators.

    counters  those that only count: register, what; None: rows
    windows   first register, mask, what
    singles   of first and last, and of min and max of texts: register,
              function, what
    grouped   they begin as NULL, not as clear() leaves them
    """

    counters: list[tuple[int, int | None]]
    windows: list[tuple[int, int, int]]
    singles: list[tuple[int, str, int]]
    first: int
    count: int
    grouped: bool = False


class Aggregates(Variables):
    """Compiles aggregates."""

    def __init__(self) -> None:
        super().__init__()
        self._aggregates: dict[int, Layout] = {}
        self._reads: dict[int, tuple[str, int, Aggregate]] = {}

    def accumulators(self, aggregates: Sequence[Aggregate]) -> Accumulators:
        number = len(self._aggregates)
        self._aggregates[number] = self._laid_out(aggregates)
        base = len(self._reads)
        results = []
        for i, aggregate in enumerate(aggregates):
            index = base + i
            self._set_result(number, index, i, aggregate, aggregates)
            results.append(
                e.Result(
                    aggregate.type, index=index, function=aggregate.function
                )
            )
        return Accumulators(number, tuple(aggregates), tuple(results))

    def _laid_out(self, aggregates: Sequence[Aggregate]) -> Layout:
        """Gives each aggregate registers; those of one value share a window."""
        counters: list[tuple[int, int | None]] = []
        singles: list[tuple[int, str, int]] = []
        masks: dict[e.Expr, tuple[int, int]] = {}
        first = at = self.registers.count
        for i, aggregate in enumerate(aggregates):
            argument = aggregate.argument
            if aggregate.distinct:
                raise Unsupported("DISTINCT in an aggregate")
            if aggregate.function in ("first", "last") or (
                aggregate.function in ("min", "max")
                and aggregate.type.kind == "text"
            ):
                singles.append((at, aggregate.function, i))
                at += slots_of(aggregate.type)
            elif aggregate.function == "count" and (
                argument is None or not self._shares(argument, aggregates)
            ):
                what = None
                if argument is not None and argument.type.nullable:
                    what = i
                counters.append((at, what))
                at += 1
            else:
                assert argument is not None
                mask, where = masks.get(argument, (0, i))
                masks[argument] = mask | _MASKS[aggregate.function], where
        windows = []
        for mask, i in masks.values():
            argument = aggregates[i].argument
            assert argument is not None
            if argument.type.kind == "f64" and mask & _SUM:
                mask |= _COUNT
            windows.append((at, mask, i))
            at += _WINDOW
        self.registers.take(at - first)
        return Layout(counters, windows, singles, first, at - first)

    @staticmethod
    def _shares(argument: e.Expr, aggregates: Sequence[Aggregate]) -> bool:
        """Whether another aggregate has a window of the same value."""
        return argument.type.kind != "text" and any(
            other.argument == argument
            and other.function in ("sum", "avg", "min", "max")
            for other in aggregates
        )

    def _set_result(
        self,
        number: int,
        index: int,
        i: int,
        aggregate: Aggregate,
        aggregates: Sequence[Aggregate],
    ) -> None:
        """Notes where an aggregate is read."""
        made = self._aggregates[number]
        self._reads[index] = aggregate.function, -1, aggregate
        for register, what in made.counters:
            same = (what is not None and aggregates[what] == aggregate) or (
                what is None
                and aggregate.function == "count"
                and (
                    aggregate.argument is None
                    or not aggregate.argument.type.nullable
                )
            )
            if same and aggregate.function == "count":
                self.results[index] = register
                return
        for register, _, what in made.singles:
            if what == i:
                self.results[index] = register
                return
        for window, _, what in made.windows:
            if aggregates[what].argument == aggregate.argument:
                self._reads[index] = aggregate.function, window, aggregate
                if aggregate.function in _SLOT_OF:
                    offset = _SLOT_OF[aggregate.function]
                    self.results[index] = window + offset

    def _result(self, expr: e.Result, r: int) -> None:
        """Reads an aggregate that is computed when it is read."""
        function, window, aggregate = self._reads[expr.index]
        argument = aggregate.argument
        assert argument is not None and window >= 0
        is_float = argument.type.kind == "f64"
        if function == "sum":
            self.program.op("FSUM" if is_float else "SUM", r, window)
        elif not is_float:
            self.program.op("FAVG", r, window)
        else:
            with self.scope():
                count = self.temporary()
                self.program.op("FLOAT", count, window)
                self.program.op("FSUM", r, window)
                self.program.op("FDIV", r, r, count)

    def clear(self, accumulators: Accumulators) -> None:
        made = self._aggregates[accumulators.number]
        for register, _ in made.counters:
            self.program.op("MOV", register, self.number(0))
        for window, _, _ in made.windows:
            self.program.op("CLEAR", window)
        for register, _, i in made.singles:
            for slot in range(slots_of(accumulators.aggregates[i].type)):
                self.program.op("NULL", register + slot)

    def accumulate(
        self, accumulators: Accumulators, values: Sequence[e.Expr | None]
    ) -> None:
        made = self._aggregates[accumulators.number]
        for register, what in made.counters:
            self._count(register, None if what is None else values[what], made)
        for window, mask, i in made.windows:
            value = values[i]
            assert value is not None
            self._aggregate(window, mask, value)
        for register, function, i in made.singles:
            value = values[i]
            assert value is not None
            self._single(register, function, value)

    def _count(self, register: int, value: e.Expr | None, made: Layout) -> None:
        if made.grouped:  # a new group's registers are NULL
            has = Label()
            self.program.op("JVALUE", register, target=has)
            self.program.op("MOV", register, self.number(0))
            self.program.place(has)
        skip = Label()
        if value is not None:
            self.program.op("JNULL", self._slot(value), target=skip)
        self.program.op("ADD", register, register, self.number(1))
        self.program.place(skip)

    def _aggregate(self, window: int, mask: int, value: e.Expr) -> None:
        known = any(value in names for names in self._known)
        if isinstance(value, e.Column) and not known:
            cursor, table = self.places[value.scan]
            column = table.column(value.index)
            if column.missing is None and value.type.kind != "f64":
                if not value.type.fits_32_bits:
                    self.program.flags |= asm.WIDE
                place = cursor * 16 + TYPES[column.kind]
                offset = column.offset.to_bytes(2, "little")
                self.program.op("AGGC", mask, window, place, *offset)
                return
        op = "FAGG" if value.type.kind == "f64" else "AGG"
        self.program.op(op, mask, window, self.value(value))

    def _may_end(self, value: e.Expr) -> bool:
        """Whether a value may be beyond 64 bits, or its type."""
        for node in e.walk(value):
            if getattr(node, "checked", False):
                return True
            if isinstance(node, e.Column):
                _, table = self.places[node.scan]
                if table.column(node.index).kind == "u64":
                    return True
        return False

    def _single(self, register: int, function: str, value: e.Expr) -> None:
        done, taken = Label(), Label()
        # A row's error ends the query, also behind the first value.
        ends = function == "first" and self._may_end(value)
        if function == "first" and not ends:
            self.program.op("JVALUE", register, target=done)
        with self.scope():
            found = self.slots(value)
            if ends:
                self.program.op("JVALUE", register, target=done)
            self.program.op("JNULL", found[0], target=done)
            if function in ("min", "max"):
                self.program.op("JNULL", register, target=taken)
                kept = list(range(register, register + len(found)))
                lower, upper = found, kept
                if function == "max":
                    lower, upper = kept, found
                # The first slots that differ decide.
                for a, b in zip(lower[:-1], upper[:-1], strict=True):
                    self.program.op("IF_LT", a, b, target=taken)
                    self.program.op("UNLESS_EQ", a, b, target=done)
                self.program.op("UNLESS_LT", lower[-1], upper[-1], target=done)
            self.program.place(taken)
            for i, slot in enumerate(found):
                self.program.op("MOV", register + i, slot)
        self.program.place(done)
