# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""INSERT, UPDATE and DELETE of series and trees.

A change is compiled to programs that only read: which rows it is about, and
what of their new values is computed. All its values are known and checked
before the first is written; then a tree takes them as one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from eskerdb import schema
from eskerdb.errors import Exists, OutOfOrder
from eskerdb.program import Program
from eskerdb.sql import access, batches
from eskerdb.sql import expr as e
from eskerdb.sql import logical as lo
from eskerdb.sql import plan as p
from eskerdb.sql.access import Limits
from eskerdb.sql.base import table_fields
from eskerdb.sql.bytes_backend import Code, compiled
from eskerdb.sql.emit import Unsupported
from eskerdb.sql.explain import explained, text
from eskerdb.sql.handles import of_program
from eskerdb.sql.needed import needed
from eskerdb.sql.planner import Planner, types_of
from eskerdb.sql.planner import plan as planned
from eskerdb.sql.rules import Fault
from eskerdb.sql.source import Refusal, Source, Span
from eskerdb.sql.stored import catalog_column, stored
from eskerdb.tree import Tree

_OLD_END = (
    "a series loses rows only at its old end: "
    "write DELETE FROM {} WHERE {} < .."
)
Values = Sequence[Any]  # of the parameters, by index
Handles = Mapping[str, Any]


@dataclass(frozen=True)
class Reading:
    """Programs whose rows, one after another, are what a change is about."""

    codes: tuple[Code, ...]

    def rows(self, handles: Handles, values: Values) -> Iterator[tuple]:
        for code in self.codes:
            tables = of_program(code.query.tables, handles)
            numbers = [None if isinstance(v, str) else v for v in values]
            yield from Program(code.bytes).rows(tables, numbers, packed=True)

    def explain(self) -> list[str]:
        lines = []
        for code in self.codes:
            lines += ["  " + line for line in explained(code.query)]
        return lines

    @property
    def bytes(self) -> int:
        return sum(len(code.bytes) for code in self.codes)


def reading(
    source: Source,
    select: lo.Select,
    parameters: tuple[p.ParameterInfo, ...],
    limits: Limits,
) -> Reading:
    """Compiles a SELECT whose outputs may be whole rows. Raises Unsupported."""
    planner = Planner(source, limits)
    made = needed(source, planner.select(select))
    query = p.Query(
        "",
        made,
        tuple(output.name for output in select.outputs),
        tuple(types_of(select)),
        parameters,
        tuple(planner.tables),
    )
    parts = _apart(made)
    return Reading(tuple(compiled(replace(query, plan=x)) for x in parts))


def _apart(made: p.Plan) -> list[p.Plan]:
    """Returns plans of one scan each: a program gives whole rows of one."""
    if isinstance(made, p.SeekUnion):
        return list(made.scans)
    if isinstance(made, (p.Filter, p.Project)):
        return [replace(made, input=part) for part in _apart(made.input)]
    return [made]


def of_row(
    table: p.TableInfo | None,
    where: e.Expr | None,
    outputs: Sequence[e.Expr],
    span: Span,
) -> lo.Select:
    """Returns the SELECT of values over a table's rows; None: one row."""
    return lo.Select(
        None if table is None else lo.FromTable(table, span),
        where,
        None,
        (),
        None,
        tuple(lo.Output(str(i), value) for i, value in enumerate(outputs)),
        False,
        (),
        None,
        None,
        (),
        span,
    )


def rewrite_text(
    table: p.TableInfo, changes: Iterable[tuple[int, e.Expr]]
) -> str:
    """Returns what an UPDATE changes, or that there are none: a DELETE."""
    names = [column.name for column in table.columns]
    sets = [f"{names[at]} = {text(value, names)}" for at, value in changes]
    if sets:
        return f"Update {table.name}: {', '.join(sets)}"
    return f"Delete from {table.name}"


def _is_direct(value: e.Expr) -> bool:
    """Whether a value needs no program."""
    return isinstance(value, (e.Constant, e.Parameter))


def _direct(value: e.Expr, values: Values) -> Any:
    if isinstance(value, e.Parameter):
        return values[value.index]
    assert isinstance(value, e.Constant)
    return value.value


class Computed:
    """Expressions, of which some are outputs of a program."""

    def __init__(self, outputs: Sequence[e.Expr]) -> None:
        self.outputs = tuple(outputs)
        self.programmed = tuple(x for x in outputs if not _is_direct(x))

    def row(self, values: Values, found: Sequence[Any]) -> list[Any]:
        """Returns the values; `found`: what the program gave."""
        rest = iter(found)
        return [
            _direct(x, values) if _is_direct(x) else next(rest)
            for x in self.outputs
        ]


class Insert:
    """INSERT INTO a series or a tree."""

    def __init__(
        self, source: Source, bound: lo.BoundInsert, limits: Limits
    ) -> None:
        self.source, self.bound, self.table = source, bound, bound.table
        self.select: Code | None = None
        self._made: list[tuple[Computed, Reading | None]] = []
        if bound.select is not None:
            query = lo.BoundQuery("", bound.select, bound.parameters)
            self.select = compiled(planned(source, query, limits))
            if any(role != "key" for role in self.select.roles if role):
                raise Unsupported("a kv table's values have types of their own")
        for row in bound.rows:
            made = Computed(row)
            select = of_row(None, None, made.programmed, bound.span)
            found = None
            if made.programmed:
                found = reading(source, select, bound.parameters, limits)
            self._made.append((made, found))

    def run(self, handles: Handles, values: Values) -> int:
        """Inserts all rows, or none. Raises Refusal, and as writing does."""
        handle = handles[self.table.name]
        rows = list(self._rows(handles, values))
        self._check_keys(handle, [row[self.table.key] for row in rows])
        if not rows:
            return 0
        packed = [handle.codec.pack(row) for row in rows]
        try:
            if isinstance(handle, Tree):
                handle.change_many(
                    inserts=b"".join(row for row, _ in packed),
                )
            else:
                handle.append_many(rows)
        except (Exists, OutOfOrder) as failure:
            at = failure.appended
            key = rows[at][self.table.key]
            raise self._refuse(at, self._key_text(key) + " is there") from None
        handle.sync()
        return len(rows)

    def explain(self) -> list[str]:
        count = len(self.bound.rows)
        how = ", in one batch" * (self.table.kind == "tree")
        if self.select is None:
            rows = f"{count:,} row{'s' * (count != 1)}"
            return [f"Insert into {self.table.name}: {rows}{how}"]
        lines = ["  " + line for line in explained(self.select.query)]
        return [f"Insert into {self.table.name}{how}:", *lines]

    def _rows(self, handles: Handles, values: Values) -> Iterator[list]:
        """Yields rows as the table stores them."""
        for number, row in enumerate(self._given(handles, values)):
            made = []
            for place, value in enumerate(row):
                column, is_key = self.table.columns[place], self._is_key(place)
                try:
                    made.append(stored(column, value, is_key))
                except Fault as fault:
                    raise self._refuse(number, str(fault), place) from None
            yield made

    def _given(self, handles: Handles, values: Values) -> Iterator[list]:
        """Yields rows as the statement gives them."""
        for made, found in self._made:
            computed: tuple = ()
            if found is not None:
                (computed,) = found.rows(handles, values)
            yield made.row(values, computed)
        if self.select is None:
            return
        places, count = self.bound.places, len(self.table.columns)
        for row in Reading((self.select,)).rows(handles, values):
            whole: list[Any] = [None] * count
            for place, value in zip(places, row, strict=True):
                whole[place] = value
            yield whole

    def _check_keys(self, handle: Any, keys: list[Any]) -> None:
        """Refuses a key that is there twice, or that does not rise."""
        if isinstance(handle, Tree):
            seen: dict[Any, int] = {}
            for number, key in enumerate(keys):
                first = seen.setdefault(key, number)
                if first != number:
                    what = f"{self._key_text(key)} is that of row {first + 1}"
                    raise self._refuse(number, what)
            return
        newest = handle.newest()
        last = newest[handle.key.name] if newest else None
        whose = "the newest"
        for number, key in enumerate(keys):
            falls = last is not None and (
                key < last if self.table.keys_repeat else key <= last
            )
            if falls:
                how = "is below" if self.table.keys_repeat else "is not above"
                what = f"{self._key_text(key)} {how} {last}, {whose}"
                raise self._refuse(number, what)
            last, whose = key, f"that of row {number + 1}"

    def _key_text(self, key: Any) -> str:
        return f"{self.table.columns[self.table.key].name} = {key!r}"

    def _is_key(self, place: int) -> bool:
        return place == self.table.key

    def _refuse(
        self, number: int, message: str, place: int | None = None
    ) -> Refusal:
        """Refuses a row, from 0, at the value of a column, else the key."""
        place = self.table.key if place is None else place
        if self.bound.select is None:
            span = self.bound.rows[number][place].span
        elif place in self.bound.places:
            outputs = self.bound.select.outputs
            span = outputs[self.bound.places.index(place)].value.span
        else:
            span = e.NOWHERE
        if span == e.NOWHERE:
            span = self.bound.span
        return self.source.refuse(span, f"row {number + 1}: {message}")


class Rewrite:
    """UPDATE and DELETE of a tree's rows."""

    def __init__(
        self,
        source: Source,
        bound: lo.BoundUpdate | lo.BoundDelete,
        limits: Limits,
    ) -> None:
        self.source, self.bound, self.table = source, bound, bound.table
        self.changes = ()
        if isinstance(bound, lo.BoundUpdate):
            self.changes = bound.changes
        self._made = Computed([value for _, value in self.changes])
        key = table_fields(self.table)[self.table.key]
        row = e.RowBytes(p_blob(self.table), operand=key)
        outputs = (row, *self._made.programmed)
        select = of_row(self.table, bound.where, outputs, bound.span)
        self.reading = reading(source, select, bound.parameters, limits)

    def run(
        self, handles: Handles, values: Values, in_batches: bool = False
    ) -> int:
        """Changes all rows, or none; returns how many.

        in_batches   of too many rows: in several batches
        """
        handle = handles[self.table.name]
        found = list(self.reading.rows(handles, values))
        if not found:
            return 0
        key = self.table.columns[self.table.key]
        is_delete = isinstance(self.bound, lo.BoundDelete)
        if is_delete:
            rows = [row[key.offset :][: key.bytes] for row, *_ in found]
        else:
            rows = [
                self._changed(number, row, self._made.row(values, rest))
                for number, (row, *rest) in enumerate(found)
            ]

        def batch(at: int, end: int) -> None:
            if is_delete:
                handle.change_many(deletes=rows[at:end])
            else:
                handle.change_many(puts=b"".join(rows[at:end]))
            handle.sync()

        if in_batches:
            batches.made(
                self.table.name,
                len(rows),
                batch,
                lambda at: self._key_of(key, found[at][0]),
            )
        else:
            batch(0, len(rows))
        return len(found)

    def explain(self) -> list[str]:
        what = rewrite_text(self.table, self.changes)
        return [f"{what}, in one batch:", *self.reading.explain()]

    def _changed(self, number: int, row: bytes, values: list[Any]) -> bytes:
        """Returns a row's bytes with its new values."""
        made = bytearray(row)
        for (place, value), new in zip(self.changes, values, strict=True):
            column = self.table.columns[place]
            try:
                kept = stored(column, new)
            except Fault as fault:
                key = self.table.columns[self.table.key]
                raise self.source.refuse(
                    value.span if value.span != e.NOWHERE else self.bound.span,
                    f"row {number + 1} ({self._key_of(key, row)}): {fault}",
                ) from None
            piece = schema.encode_fixed(catalog_column(column), kept)
            made[column.offset : column.offset + len(piece)] = piece
        return bytes(made)

    @staticmethod
    def _key_of(key: p.TableColumn, row: bytes) -> str:
        piece = row[key.offset :][: key.bytes]
        column = catalog_column(key)
        if column.is_numeric:
            return f"{key.name} = {schema.decode_number(column, piece)}"
        if key.kind == "text":
            return f"{key.name} = {schema.decode_fixed_text(piece)!r}"
        return f"{key.name} = x'{piece.hex()}'"


def p_blob(table: p.TableInfo) -> Any:
    """Returns the type of a whole row."""
    return replace(
        table.columns[table.key].type, kind="blob", bytes=table.row_bytes
    )


class DropOldest:
    """DELETE of a series: the rows below a key."""

    def __init__(self, source: Source, bound: lo.BoundDelete) -> None:
        self.source, self.bound, self.table = source, bound, bound.table
        key = self.table.columns[self.table.key]
        refused = source.refuse(
            bound.where.span if bound.where else bound.span,
            _OLD_END.format(self.table.name, key.name),
        )
        self._below: Callable[[Values], int] | None = None  # None: all rows
        self._text = "all rows"
        self._is_none = False
        match bound.where:
            case None:
                return
            case e.Constant(value=value):
                self._is_none = not value
                return
        found = access.comparison(bound.where)
        if found is None:
            raise refused
        place, op, value = found
        if place != self.table.key or op not in ("<", "<="):
            raise refused
        if value.type.kind != "int":
            raise refused
        more = op == "<="
        self._below = lambda values: _direct(value, values) + more
        self._text = f"{key.name} {op} {text(value, ())}"

    def run(self, handles: Handles, values: Values) -> int:
        """Drops the rows; returns how many."""
        handle = handles[self.table.name]
        newest = handle.newest()
        if newest is None or self._is_none:
            return 0
        _, most = handle.key.limits
        end = newest[handle.key.name] + 1
        below = end if self._below is None else self._below(values)
        if min(below, end) > most:
            raise self.source.refuse(
                self.bound.span,
                f"the row with the greatest key, {most}, cannot be dropped",
            )
        before = handle.count()
        handle.erase_before(min(below, end))
        return before - handle.count()

    def explain(self) -> list[str]:
        what = "no rows" if self._is_none else self._text
        return [f"Delete from {self.table.name}, at its old end: {what}"]
