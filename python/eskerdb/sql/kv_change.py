# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""INSERT, UPDATE and DELETE of kv tables: of the columns key, value, type.

A value has the type that it has in SQL: text, whole number, float, TRUE or
FALSE, x'..'; the column `type` says another one, such as float32. Conditions
compare the texts that SELECT shows, or numbers. All changes of a statement
are made at once, so they have to fit a block, or are made in batches.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from eskerdb._esker import lib
from eskerdb.errors import Corrupt, Limit, NotFound, SchemaError, error
from eskerdb.kv import Kv
from eskerdb.kv_value import Stored, encode, encode_key, key_text, read_key
from eskerdb.sql import batches
from eskerdb.sql import expr as e
from eskerdb.sql import logical as lo
from eskerdb.sql.access import Limits
from eskerdb.sql.emit import Room, Unsupported
from eskerdb.sql.key_bounds import KEY, key_bounds
from eskerdb.sql.kv_conditions import Conditions, matches
from eskerdb.sql.rules import HOLDS
from eskerdb.sql.source import Source
from eskerdb.sql.table_change import (
    Computed,
    Handles,
    Insert,
    Reading,
    Values,
    of_row,
    reading,
    rewrite_text,
)
from eskerdb.sql.tables import KV_COLUMNS

_VALUE, _TYPE = 1, 2
_ON_TEXTS = (
    "a condition of a change of a kv table compares its key, value or type "
    "with a text, or CAST(value AS ..) with a number"
)


class Row:
    """A key, and its value when it is asked for."""

    def __init__(self, kv: Kv, raw: bytes) -> None:
        self._kv, self._raw = kv, raw

    @cached_property
    def stored(self) -> Stored:
        return self._kv.stored(self._raw)

    def text(self, column: int) -> str:
        """Returns a column as SELECT shows it."""
        if column == KEY:
            return key_text(self._raw)
        return self.stored.written()[column == _TYPE]

    def number(self) -> int | float | None:
        """Returns a value as a number; None: it is none, or no number."""
        value = self.stored.value
        if not isinstance(value, (int, float)) or math.isnan(value):
            return None
        return value


def _check(where: e.Expr | None) -> None:
    """Raises Unsupported for a condition that holds() does not know."""
    if where is None:
        return
    columns = (
        e.Column(c.type, index=i, name=c.name) for i, c in enumerate(KV_COLUMNS)
    )
    rules_of = Conditions(Room(0, written=True))
    rules_of.scans.add(0)
    rules_of.made(e.replaced(where, tuple(columns)))
    _check_part(where)


def _check_part(where: e.Expr) -> None:
    match where:
        case e.Constant():
            return
        case e.Logic() | e.Not():
            for child in e.children(where):
                _check_part(child)
            return
        case e.Compare(left=left, right=e.Constant()):
            if isinstance(left, (e.Field, e.StoredNumber)):
                return
        case e.Like(operand=e.Field()):
            return
    raise Unsupported(_ON_TEXTS, where.span)


def holds(where: e.Expr | None, row: Row) -> bool | None:
    """Returns whether a condition is true of a row."""
    match where:
        case None:
            return True
        case e.Constant(value=value):
            return None if value is None else bool(value)
        case e.Not(operand=operand):
            found = holds(operand, row)
            return None if found is None else not found
        case e.Logic(op=op, items=items):
            decides = op == "or"
            parts = [holds(item, row) for item in items]
            if decides in parts:
                return decides
            return None if None in parts else not decides
        case e.Compare(op=op, left=e.Field(index=column)):
            text, other = row.text(column), where.right.value
            return HOLDS[op](text.encode(), other.encode())
        case e.Compare(op=op, left=e.StoredNumber()):
            number = row.number()
            return (
                None if number is None else HOLDS[op](number, where.right.value)
            )
        case e.Like(operand=e.Field(index=column)):
            return matches(where.pattern, where.escape, row.text(column))
    raise AssertionError(where)


class KvInsert(Insert):
    """INSERT INTO a kv table."""

    def run(self, handles: Handles, values: Values) -> int:
        """Inserts all keys, or none. Raises Refusal, and as writing does."""
        kv = handles[self.table.name]
        made: dict[bytes, Stored] = {}
        places: dict[bytes, int] = {}
        for number, (key, value, kind) in enumerate(
            self._rows(handles, values)
        ):
            try:
                raw = encode_key(read_key(key))
            except SchemaError as fault:
                raise self._refuse(number, str(fault)) from None
            first = places.setdefault(raw, number)
            if first != number:
                what = f"{self._key_text(key)} is that of row {first + 1}"
                raise self._refuse(number, what)
            if _has(kv, raw):
                raise self._refuse(number, f"{self._key_text(key)} is there")
            try:
                made[raw] = encode(self._typed(number, value), kind)
            except SchemaError as fault:
                raise self._refuse(number, str(fault), _VALUE) from None
        _change(kv, made)
        return len(made)

    def explain(self) -> list[str]:
        first, *rest = super().explain()
        return [first.removesuffix(":") + ", at once" + ":" * bool(rest), *rest]

    def _typed(self, number: int, value: Any) -> Any:
        """Returns a value, a condition as a bool."""
        if self.bound.select is None:
            kind = self.bound.rows[number][_VALUE].type.kind
        else:
            at = self.bound.places.index(_VALUE)
            kind = self.bound.select.outputs[at].value.type.kind
        return bool(value) if kind == "bool" else value


class KvRewrite:
    """UPDATE and DELETE of a kv table."""

    def __init__(
        self,
        source: Source,
        bound: lo.BoundUpdate | lo.BoundDelete,
        limits: Limits,
    ) -> None:
        self.source, self.bound, self.table = source, bound, bound.table
        _check(bound.where)
        self.bounds = key_bounds(bound.where)
        self.changes: dict[int, e.Expr] = {}
        if isinstance(bound, lo.BoundUpdate):
            self.changes = dict(bound.changes)
        for value in self.changes.values():
            if any(isinstance(node, e.Field) for node in e.walk(value)):
                raise Unsupported(
                    "a new value of a kv table is computed of constants and "
                    "parameters",
                    value.span,
                )
        self._made = Computed(list(self.changes.values()))
        self._reading: Reading | None = None
        if self._made.programmed:
            select = of_row(None, None, self._made.programmed, bound.span)
            self._reading = reading(source, select, bound.parameters, limits)

    def run(
        self, handles: Handles, values: Values, in_batches: bool = False
    ) -> int:
        """Changes all keys, or none; returns how many.

        in_batches   of too many keys: in several batches
        """
        kv = handles[self.table.name]
        keys = sorted(self._keys(kv))
        if not keys:
            return 0
        made = self._new(kv, keys, handles, values)

        def batch(at: int, end: int) -> None:
            part = keys[at:end]
            if isinstance(self.bound, lo.BoundDelete):
                _change(kv, {}, part)
            else:
                _change(kv, {raw: made[raw] for raw in part})

        if in_batches:
            batches.made(
                kv.name,
                len(keys),
                batch,
                lambda at: f"key = '{key_text(keys[at])}'",
            )
        else:
            batch(0, len(keys))
        return len(keys)

    def _new(
        self, kv: Kv, keys: list[bytes], handles: Handles, values: Values
    ) -> dict[bytes, Stored]:
        """Returns the new values of an UPDATE."""
        if isinstance(self.bound, lo.BoundDelete):
            return {}
        computed: Sequence[Any] = ()
        if self._reading is not None:
            (computed,) = self._reading.rows(handles, values)
        row = self._made.row(values, computed)
        new = dict(zip(self.changes, row, strict=True))
        return {raw: self._stored(kv, raw, new) for raw in keys}

    def explain(self) -> list[str]:
        what = rewrite_text(self.table, self.changes.items())
        return [f"{what}, at once: {self.bounds}"]

    def _keys(self, kv: Kv) -> Iterator[bytes]:
        """Yields the keys that meet the condition. Raises Corrupt."""
        if self.bounds.keys is None:
            found = [encode_key(key) for key in kv]
        else:
            found = [encode_key(read_key(k)) for k in self.bounds.keys if k]
            found = [raw for raw in found if _has(kv, raw)]
        for raw in found:
            if holds(self.bound.where, Row(kv, raw)):
                yield raw

    def _stored(self, kv: Kv, raw: bytes, new: dict[int, Any]) -> Stored:
        """Returns a key's new value."""
        place = _VALUE if _VALUE in new else _TYPE
        value = new[_VALUE] if _VALUE in new else kv.stored(raw).value
        expr = self.changes[place]
        if place == _VALUE and expr.type.kind == "bool":
            value = bool(value)
        try:
            return encode(value, new.get(_TYPE))
        except SchemaError as fault:
            raise self.source.refuse(expr.span, str(fault)) from None


def _has(kv: Kv, raw: bytes) -> bool:
    """Whether there is a key, be its value damaged."""
    try:
        kv.stored(raw)
    except NotFound:
        return False
    except Corrupt:
        return True
    return True


def _change(
    kv: Kv, made: dict[bytes, Stored], deletes: Sequence[bytes] = ()
) -> None:
    """Makes changes at once. Raises Limit, and as Kv.change_many()."""
    if not made and not deletes:
        return
    try:
        kv.change_many(made, deletes)
    except Limit:
        raise error(
            lib.ESK_E_LIMIT,
            f"table '{kv.name}': change {len(made) + len(deletes):,} keys at "
            "once",
            "change fewer keys at a time",
            f"they do not fit a block of {kv.volume.geometry.block_bytes:,} "
            "bytes",
        ) from None
    kv.sync()
