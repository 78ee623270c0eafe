# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Aggregates as members of the query's struct.

Aggregates of one argument share its members. The count of values that are
not NULL says whether sum, min, max and avg are NULL.

A sum of integers is exact. One table has less than 2^32 rows; so the sum of
values of 32 bits needs no check, and only wider ones take 128 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eskerdb.sql import expr as e
from eskerdb.sql import plan as p
from eskerdb.sql.types import INT_MAX, Type
from eskerdb.sqlc import ctype
from eskerdb.sqlc.cexpr import (
    FALSE,
    RELATION,
    TRUE,
    C,
    any_of,
    negated,
    relation,
)
from eskerdb.sqlc.value import (
    Refused,
    TextValue,
    Value,
    cast,
    integers_compared,
)

if TYPE_CHECKING:
    from eskerdb.sqlc.writer import Writer

_ROW_BITS = 32
_KNOWN = ("count", "sum", "min", "max", "avg", "first", "last")


@dataclass
class _Cell:
    """What is kept of one argument."""

    argument: e.Expr | None
    type: Type
    name: str
    members: dict[str, C] = field(default_factory=dict)
    sum_kind: str = ""

    @property
    def count(self) -> C:
        return self.members["count"]


class Cells:
    """The members of some aggregates that are computed together."""

    def __init__(
        self, emitter: Writer, aggregates: Sequence[p.Aggregate]
    ) -> None:
        self.aggregates = aggregates
        self.count_type = "uint32_t" if emitter.is_single else "int64_t"
        self.cells: list[_Cell] = []
        self.of: list[_Cell] = []
        for aggregate in aggregates:
            if aggregate.function not in _KNOWN or aggregate.distinct:
                text = f"{aggregate.function}()"
                if aggregate.distinct:
                    text = f"{aggregate.function}(DISTINCT)"
                raise Refused(f"{text} is not compiled to C")
            self.of.append(self._cell(emitter, aggregate))

    def _cell(self, emitter: Writer, aggregate: p.Aggregate) -> _Cell:
        argument = aggregate.argument
        if aggregate.function == "count" and (
            argument is not None and not argument.type.nullable
        ):
            argument = None
        for cell in self.cells:
            if cell.argument == argument:
                break
        else:
            type = argument.type if argument is not None else Type("null")
            name = getattr(argument, "name", "") or (
                "value" if argument is not None else ""
            )
            cell = _Cell(argument, type, name)
            self.cells.append(cell)
            self._counted(emitter, cell)
        function = aggregate.function
        if function == "avg":
            function = "sum"
        if function not in cell.members:
            self._add(emitter, cell, function)
        return cell

    def _counted(self, emitter: Writer, cell: _Cell) -> None:
        """An argument that is never NULL is counted with the rows."""
        if not cell.type.nullable or cell.argument is None:
            for other in self.cells[:-1]:
                if not other.type.nullable or other.argument is None:
                    cell.members["count"] = other.count
                    return
        cell.members["count"] = emitter.member(
            self.count_type,
            f"count_{cell.name}"
            if cell.type.nullable and cell.name
            else "count",
        )

    def _add(self, emitter: Writer, cell: _Cell, function: str) -> None:
        if cell.type.kind == "text":
            name = f"{function}_{cell.name}".rstrip("_")
            cell.members[function] = emitter.text_member(cell.type, name)
            return
        kind = ctype.stored(cell.type)
        if cell.type.kind == "null":
            kind = "uint8_t"
        if function == "sum":
            cell.sum_kind = self._sum_kind(emitter, cell.type)
            kind = cell.sum_kind
        wide = 16 if kind.startswith("struct") else 0
        name = f"{function}_{cell.name}".rstrip("_")
        cell.members[function] = emitter.member(kind, name, wide)

    def _sum_kind(self, emitter: Writer, type: Type) -> str:
        if type.kind == "f64":
            return "struct esk_f64_sum"
        rows = 1 << _ROW_BITS
        if emitter.is_single:
            if -type.lo <= INT_MAX // rows + 1 and type.hi <= INT_MAX // rows:
                return "int64_t"
            if type.lo >= 0 and type.hi < rows:
                return "uint64_t"
        return "struct esk_wide_sum"

    # ------------------------------------------------------------ statements

    def clear(self) -> list[str]:
        """Returns the statements that start again, as of no value."""
        lines, seen = [], set()
        for cell in self.cells:
            for function, c in cell.members.items():
                if c in seen:
                    continue
                seen.add(c)
                if cell.type.kind == "text" and function != "count":
                    continue  # the count says that it is none
                lines.append(f"{c} = {self._start(cell, function)};")
        return lines

    def _start(self, cell: _Cell, function: str) -> str:
        if function == "sum" and cell.sum_kind.startswith("struct"):
            return f"({cell.sum_kind}){{0}}"
        if cell.type.kind != "f64" and function in ("min", "max"):
            # Any value replaces it.
            lo, hi = _extremes(cell.type)
            return lo if function == "max" else hi
        return "0"

    def add(self, emitter: Writer, values: Sequence[e.Expr | None]) -> None:
        """Adds values; the count of rows is last: it says which was first."""
        rows = None
        for cell in self.cells:
            if cell.argument is None or not cell.type.nullable:
                rows = cell.count
            if cell.argument is None:
                continue
            argument = values[self.of.index(cell)]
            assert argument is not None
            if argument.type.kind == "text":
                self._add_text(emitter, cell, emitter.values.text(argument))
                continue
            value = emitter.values.value(argument)
            if value.null != TRUE:
                self._add_value(emitter, cell, value)
        if rows is not None:
            emitter.line(f"{rows}++;")

    def _add_text(self, emitter: Writer, cell: _Cell, text: TextValue) -> None:
        if text.null == TRUE:
            return
        with emitter.under(negated(text.null)):
            first = relation(cell.count, "==", C("0"))
            for function, member in cell.members.items():
                if function == "count":
                    continue
                when = TRUE if function == "last" else first
                if function in ("min", "max"):
                    call = (
                        f"esk_text_compare({text.c}, {text.bytes}, {member}, "
                        f"{cell.type.bytes})"
                    )
                    op = "<" if function == "min" else ">"
                    when = any_of(first, relation(C(call), op, C("0")))
                with emitter.under(when):
                    emitter.line(
                        f"esk_text_copy({member}, sizeof {member}, {text.c}, "
                        f"{text.bytes});"
                    )
            if cell.type.nullable:
                emitter.line(f"{cell.count}++;")

    def _add_value(self, emitter: Writer, cell: _Cell, value: Value) -> None:
        with emitter.under(negated(value.null)):
            if value.c.binds and len(cell.members) > 1:
                c = emitter.local(value.ctype, "value", str(value.c))
                value = Value(c, FALSE, value.ctype, value.lo, value.hi)
            first = relation(cell.count, "==", C("0"))
            for function in ("min", "max", "first", "last", "sum"):
                if function in cell.members:
                    self._add_to(emitter, cell, function, value, first)
            if cell.type.nullable:
                emitter.line(f"{cell.count}++;")

    def _add_to(
        self,
        emitter: Writer,
        cell: _Cell,
        function: str,
        value: Value,
        first: C,
    ) -> None:
        member = cell.members[function]
        if function == "sum":
            self._add_to_sum(emitter, cell, member, value)
            return
        kept = cast(value, ctype.stored(cell.type))
        condition = TRUE if function == "last" else first
        if function in ("min", "max"):
            op = "<" if function == "min" else ">"
            if cell.type.kind == "f64":
                condition = any_of(first, relation(kept, op, member))
            else:
                condition = integers_compared(
                    value, op, _any_value(member, cell.type)
                )
        with emitter.under(condition):
            emitter.line(f"{member} = {kept};")

    def _add_to_sum(
        self, emitter: Writer, cell: _Cell, member: C, value: Value
    ) -> None:
        if cell.sum_kind == "struct esk_f64_sum":
            emitter.line(
                f"esk_f64_sum_add(&{member}, {cast(value, 'double')});"
            )
        elif cell.sum_kind == "struct esk_wide_sum":
            emitter.line(
                f"esk_wide_sum_add(&{member}, {cast(value, 'int64_t')});"
            )
        elif cell.sum_kind == "uint64_t" or value.ctype in (
            "uint32_t",
            "bool",
        ):
            emitter.line(f"{member} += {_unsigned(value, cell.sum_kind)};")
        else:
            emitter.line(f"{member} += {value.c};")

    # --------------------------------------------------------------- results

    def text(self, index: int) -> TextValue:
        aggregate, cell = self.aggregates[index], self.of[index]
        null = FALSE
        if aggregate.type.nullable:
            null = relation(cell.count, "==", C("0"))
        member = cell.members[aggregate.function]
        return TextValue(str(member), str(cell.type.bytes), null)

    def result(self, emitter: Writer, index: int) -> Value:
        aggregate, cell = self.aggregates[index], self.of[index]
        function, type = aggregate.function, aggregate.type
        if function == "count":
            hi = (1 << 32) - 1 if emitter.is_single else INT_MAX
            return Value(cell.count, FALSE, self.count_type, 0, hi)
        null = FALSE
        if type.nullable:
            null = relation(cell.count, "==", C("0"))
        if function == "avg":
            return self._mean(emitter, cell, null)
        if function == "sum":
            return self._sum(emitter, cell, null, type)
        kept = ctype.stored(cell.type)
        if kept == "double":
            return Value(cell.members[function], null, kept)
        lo, hi = cell.type.lo, cell.type.hi
        return Value(cell.members[function], null, kept, lo, hi)

    def _sum(self, emitter: Writer, cell: _Cell, null: C, type: Type) -> Value:
        member = cell.members["sum"]
        kind = cell.sum_kind
        if kind == "struct esk_f64_sum":
            value = emitter.local(
                "double", "sum", f"esk_f64_sum_value(&{member})"
            )
            nan = C(f"{value} != {value}", RELATION, f"{value} == {value}")
            return Value(value, any_of(null, nan), "double")
        if kind == "int64_t":
            return Value(member, null, kind, type.lo, type.hi)
        if kind == "uint64_t":
            with emitter.under(C(f"{member} > INT64_MAX", RELATION)):
                emitter.fail("ESK_E_LIMIT")
            c = C(f"(int64_t){member}", 1)
            return Value(c, null, "int64_t", type.lo, type.hi)
        value = emitter.local("int64_t", "sum")
        with emitter.under(C(f"!esk_wide_sum_fits(&{member}, &{value})", 1)):
            emitter.fail("ESK_E_LIMIT")
        return Value(value, null, "int64_t", type.lo, type.hi)

    def _mean(self, emitter: Writer, cell: _Cell, null: C) -> Value:
        member, kind = cell.members["sum"], cell.sum_kind
        name = {
            "int64_t": "esk_i64_mean",
            "uint64_t": "esk_u64_mean",
            "struct esk_f64_sum": "esk_f64_sum_mean",
            "struct esk_wide_sum": "esk_wide_sum_mean",
        }[kind]
        by = "&" if kind.startswith("struct") else ""
        c = C(f"{name}({by}{member}, {self._divisor(emitter, cell)})")
        if kind == "struct esk_f64_sum":
            nan = C(f"{c} != {c}", RELATION, f"{c} == {c}")
            null = any_of(null, nan)
        return Value(c, null, "double")

    def _divisor(self, emitter: Writer, cell: _Cell) -> str:
        """Returns the count of a mean, of 32 bits; more end the query."""
        if self.count_type == "uint32_t":
            return str(cell.count)
        with emitter.under(C(f"{cell.count} > UINT32_MAX", RELATION)):
            emitter.fail("ESK_E_LIMIT")
        return f"(uint32_t){cell.count}"

    def average(self, emitter: Writer, index: int) -> tuple[str, str] | None:
        """Returns the struct of an average of integers, and its value."""
        cell = self.of[index]
        sum = cell.members["sum"]
        name = {
            "int64_t": "struct esk_avg",
            "uint64_t": "struct esk_avg_u64",
            "struct esk_wide_sum": "struct esk_avg_wide",
        }.get(cell.sum_kind)
        if not name:
            return None
        return name, f"{{{sum}, {self._divisor(emitter, cell)}}}"


def _any_value(member: C, type: Type) -> Value:
    """A member that may also be an end of its C type."""
    kept = ctype.stored(type)
    lo, hi = (0, 1) if kept == "bool" else ctype.limits(kept)
    return Value(member, FALSE, kept, lo, hi)


def _extremes(type: Type) -> tuple[str, str]:
    kept = ctype.stored(type)
    if kept == "bool":
        return "false", "true"
    name = kept.removesuffix("_t").upper()
    lo = "0" if name.startswith("U") else f"{name}_MIN"
    return lo, f"{name}_MAX"


def _unsigned(value: Value, kind: str) -> C:
    if value.ctype.startswith("uint") and kind == "uint64_t":
        return value.c
    return cast(value, kind)
