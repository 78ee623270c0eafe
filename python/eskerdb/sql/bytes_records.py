# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Groups and orders of a program of bytes: the records of its helpers."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from eskerdb.sql import assemble as asm
from eskerdb.sql import expr as e
from eskerdb.sql.assemble import Label
from eskerdb.sql.bytes_aggregates import Aggregates, Layout
from eskerdb.sql.bytes_expr import slots_of
from eskerdb.sql.emit import Accumulators, Records, Unsupported
from eskerdb.sql.types import Type

_TOP, _SORT, _GROUPS, _RUNS = 1, 2, 3, 4  # kinds of helpers
CAPACITY_MAX = 65535
_EMPTIES = b"\xff\x7f"  # of QUANTILE, in place of a part


class RecordSets(Aggregates):
    """Compiles groups and orders."""

    def __init__(self) -> None:
        super().__init__()
        self._records: list[tuple[int, list[int]]] = []

    def groups(
        self, keys: Sequence[Type], accumulators: Accumulators, bound: int
    ) -> Records:
        made = self._aggregates[accumulators.number]
        made.grouped = True
        # The record is the keys, then the accumulators, in one piece.
        width = sum(map(slots_of, keys))
        first = self.registers.take(width + made.count)
        self._move(accumulators, made, first + width)
        self._check_keys(width)
        return self._helper(
            _GROUPS, keys, first, width + made.count, width, 0, bound
        )

    def _move(
        self, accumulators: Accumulators, made: Layout, first: int
    ) -> None:
        """Puts accumulators that were just made at other registers."""
        by = first - made.first
        made.counters = [(r + by, what) for r, what in made.counters]
        made.windows = [(r + by, mask, i) for r, mask, i in made.windows]
        made.singles = [(r + by, f, i) for r, f, i in made.singles]
        made.first = first
        for result in accumulators.results:
            assert isinstance(result, e.Result)
            function, window, aggregate = self._reads[result.index]
            if window >= 0:
                self._reads[result.index] = function, window + by, aggregate
            if result.index in self.results:
                self.results[result.index] += by

    @staticmethod
    def _check_keys(width: int) -> None:
        if width > 16:
            raise Unsupported(
                f"the keys of groups or an order take {width} registers; a "
                "program has 16 for them"
            )

    def _helper(
        self,
        kind: int,
        types: Sequence[Type],
        first: int,
        slots: int,
        keys: int,
        down: int,
        capacity: int,
    ) -> Records:
        number = len(self._records)
        self.program.helpers.append(
            struct.pack(
                "<BBBBHH",
                kind,
                slots,
                keys,
                first,
                down,
                min(capacity, CAPACITY_MAX),
            )
        )
        row, registers, at = [], [], first
        for i, type in enumerate(types):
            index = self._variable_count
            self._variable_count += 1
            self.variables[index] = at
            registers.append(at)
            row.append(e.Variable(type, index=index, name=f"record{i}"))
            at += slots_of(type)
        self._records.append((number, registers))
        self.program.flags |= asm.HELPED
        return Records(number, tuple(row))

    def group(self, groups: Records, keys: Sequence[e.Expr]) -> None:
        self._fill(groups, keys)
        self.program.op("GROUP", groups.number)

    def order(
        self,
        columns: Sequence[Type],
        down: Sequence[bool],
        count: int,
        refuses: bool,
        scratch: bool = False,
    ) -> Records:
        widths = [slots_of(kind) for kind in columns]
        keys = sum(widths[: len(down)])
        self._check_keys(keys)
        mask = at = 0
        for width, falls in zip(widths, down, strict=False):
            if falls:
                mask |= (1 << width) - 1 << at
            at += width
        first = self.registers.take(sum(widths))
        kind = _RUNS if scratch else _SORT if refuses else _TOP
        return self._helper(
            kind, columns, first, sum(widths), keys, mask, count
        )

    def push(self, records: Records, values: Sequence[e.Expr]) -> None:
        self._fill(records, values)
        self.program.op("PUSH", records.number)

    def _fill(self, records: Records, values: Sequence[e.Expr]) -> None:
        registers = self._records[records.number][1]
        for variable, register, value in zip(
            records.row, registers, values, strict=True
        ):
            with self.scope():
                self.slots(value, register, variable.type.bytes)

    @contextmanager
    def each(self, records: Records) -> Iterator[None]:
        exit = Label()
        body = self.program.loop("FORH", records.number, b"", exit)
        with self.scope():
            yield
        self.program.next("NEXTH", records.number, body)
        self.program.place(exit)

    def quantiles(
        self, records: Records, wanted: Sequence[tuple[e.Variable, int]]
    ) -> None:
        number = self._records[records.number][0]
        for variable, part in wanted:
            self.program.op("QUANTILE", number, *part.to_bytes(2, "little"))
            self.assign(variable, records.row[0])
        self.program.op("QUANTILE", number, *_EMPTIES)
