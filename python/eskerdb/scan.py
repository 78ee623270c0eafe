# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Scans: a query of one table, and its rows as dicts or Arrow.

Bounds are rounded inwards to the column's type, so that `temp_c >= 20.1` on
an f32 column means what it says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from eskerdb import arrow
from eskerdb._esker import ffi, lib
from eskerdb.errors import schema_error, unsigned
from eskerdb.handle import TableHandle
from eskerdb.schema import Column, encode_fixed, float_ceiling, float_floor
from eskerdb.value import read_value

if TYPE_CHECKING:
    import pyarrow


KEY_MASK = (1 << 64) - 1
_FETCH_ROWS = 512

Bounds = tuple[Any, Any]


class Query:
    """A query of a series: a C struct esk_series_query and its ranges."""

    def __init__(
        self,
        series: TableHandle,
        key_min: int | None,
        key_max: int | None,
        where: Mapping[str, Bounds],
        backward: bool,
    ) -> None:
        self.c = ffi.new("struct esk_series_query *")
        self.c.backward = backward
        bounds = dict(where)
        key = series.key
        if key.name in bounds:
            low, high = bounds.pop(key.name)
            key_min = low if key_min is None else _most(max, key_min, low)
            key_max = high if key_max is None else _most(min, key_max, high)
        self._ranges = ffi.new("struct esk_series_range[]", len(bounds) + 1)
        self.c.ranges = self._ranges
        self.c.range_count = len(bounds)
        low, high = _integer_bounds(key, key_min, key_max)
        if low is not None:
            self.c.has_key_min, self.c.key_min = True, low & KEY_MASK
        if high is not None:
            self.c.has_key_max, self.c.key_max = True, high & KEY_MASK
        for target, (name, (least, most)) in zip(
            self._ranges, bounds.items(), strict=False
        ):
            column = series.codec.column(name)
            if not column.is_numeric:
                raise schema_error(
                    f"column '{name}' ({column.type}) cannot be queried by "
                    "value: it is not numeric",
                    name,
                )
            target.column = series.codec.names.index(name)
            _fill_range(target, column, least, most)

    def open(self, handle: Any, out: Any) -> int:
        """Opens a cursor; returns a status."""
        return lib.esk_py_cursor_open(handle, self.c, out)


class KeyRange:
    """A query of a tree: the bounds of its keys, as bytes of a row."""

    def __init__(
        self, tree: TableHandle, key_min: Any, key_max: Any, backward: bool
    ) -> None:
        self._backward = backward
        self._keys = _key_bounds(tree.key, key_min, key_max)

    def open(self, handle: Any, out: Any) -> int:
        """Opens a cursor; returns a status."""
        low, high = (ffi.NULL if k is None else k for k in self._keys)
        return lib.esk_py_tree_cursor_open(
            handle, low, high, self._backward, out
        )


def _key_bounds(
    column: Column, least: Any, most: Any
) -> tuple[bytes | None, bytes | None]:
    """Encodes bounds, rounded inwards, of a key of any type."""
    if column.is_integer:
        bounds: tuple[Any, Any] = _integer_bounds(column, least, most)
    elif column.is_float:
        for bound in (least, most):
            if bound is not None:
                _number(column, bound)
        bounds = (
            None if least is None else float_ceiling(column, least),
            None if most is None else float_floor(column, most),
        )
    else:
        bounds = (least, most)
    low, high = (None if b is None else encode_fixed(column, b) for b in bounds)
    return low, high


def _most(choose: Any, a: Any, b: Any) -> Any:
    return a if b is None else choose(a, b)


def _integer_bounds(
    column: Column, least: Any, most: Any
) -> tuple[int | None, int | None]:
    """Rounds bounds inwards to the column's type; (1, 0) when empty."""
    low, high = column.limits
    lo = None if least is None else _whole(column, least, up=True)
    hi = None if most is None else _whole(column, most, up=False)
    if (lo is not None and lo > high) or (hi is not None and hi < low):
        return 1, 0
    return (
        None if lo is None else max(lo, low),
        None if hi is None else min(hi, high),
    )


def _whole(column: Column, value: Any, up: bool) -> int:
    """Rounds a bound to a whole number; infinities pass every limit."""
    low, high = column.limits
    _number(column, value)
    if isinstance(value, float):
        if value in (float("inf"), float("-inf")):
            return high + 1 if value > 0 else low - 1
        return int(value // 1) if not up else -int(-value // 1)
    return int(value)


def _number(column: Column, value: Any) -> None:
    """Raises SchemaError unless `value` can bound the column."""
    if (
        isinstance(value, (bool, str, bytes))
        or not hasattr(value, "__float__")
        or (not isinstance(value, int) and math.isnan(value))
    ):
        raise schema_error(
            f"column '{column.name}' ({column.type}): {value!r} cannot be a bound",
            column.name,
        )


def _fill_range(target: Any, column: Column, least: Any, most: Any) -> None:
    """Sets a struct esk_series_range to what the bounds mean for the column."""
    if column.is_integer:
        lo, hi = _integer_bounds(column, least, most)
        member = "i" if column.type[0] == "i" else "u"
        for name, bound in (("lo", lo), ("hi", hi)):
            if bound is not None:
                setattr(target, f"has_{name}", True)
                setattr(getattr(target, name), member, bound)
        return
    for name, bound, round_in in (
        ("lo", least, float_ceiling),
        ("hi", most, float_floor),
    ):
        if bound is None:
            continue
        _number(column, bound)
        setattr(target, f"has_{name}", True)
        setattr(getattr(target, name), column.type, round_in(column, bound))


class Scan:
    """Rows that meet a query, in key order. Made by a table's scan().

    Iterating gives dicts; `__arrow_c_stream__` gives them to pyarrow,
    polars, pandas and DuckDB. Each use starts again from the first row and
    sees the table as it is then.
    """

    def __init__(
        self,
        table: TableHandle,
        query: Query | KeyRange,
        columns: tuple[str, ...],
        batch_rows: int,
    ) -> None:
        self.table = table
        self.columns = columns
        self._query = query
        self._batch_rows = unsigned("batch_rows", batch_rows)
        self._indexes = bytes(
            table.codec.names.index(table.codec.column(name).name)
            for name in columns
        )
        self.damaged = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yields rows. Raises Stale, Closed, DeviceError.

        `damaged` counts the unreadable pages that the last pass left out; of
        a tree the nodes, each with all nodes below it.
        """
        codec = self.table.codec
        wanted = set(self.columns)
        var_index = codec.var_index
        var = codec.names[var_index] if var_index is not None else None
        names = codec.fixed_names
        whole = self.columns == names
        width = codec.row_bytes
        for rows, count in self._fetch():
            view = ffi.buffer(rows)[: count * width]
            for number, values in enumerate(codec.unpack_many(view)):
                row = dict(zip(names, values, strict=True))
                if whole:
                    yield row
                    continue
                if var is not None and var in wanted:
                    row[var] = read_value(self.table, rows + number * width)
                yield {name: row[name] for name in self.columns}

    def _fetch(self) -> Iterator[tuple[Any, int]]:
        """Yields buffers of rows and how many rows they hold."""
        cursor = ffi.gc(self._open(), lib.esk_py_cursor_release)
        count = ffi.new("uint32_t *")
        pages = ffi.new("uint32_t *")
        status = lib.ESK_OK
        while status == lib.ESK_OK:
            rows = ffi.new(
                "uint8_t[]", _FETCH_ROWS * self.table.codec.row_bytes
            )
            status = lib.esk_py_cursor_fetch(cursor, rows, _FETCH_ROWS, count)
            if lib.esk_py_cursor_damaged(cursor, pages) == lib.ESK_OK:
                self.damaged = pages[0]
            if count[0]:
                yield rows, count[0]
        if status != lib.ESK_END:
            self.table._check(status, "scan")

    def _open(self) -> Any:
        """Returns a new cursor; the caller releases it."""
        out = ffi.new("struct esk_py_cursor **")
        status = self._query.open(self.table._handle, out)
        self.table._check(status, "scan")
        return out[0]

    def count(self) -> int:
        """Returns how many rows there are, by reading them."""
        return sum(count for _, count in self._fetch())

    def first(self) -> dict[str, Any] | None:
        """Returns the first row, or None."""
        return next(iter(self), None)

    def arrow(self) -> pyarrow.Table:
        """Returns the rows as a pyarrow Table."""
        return self.reader().read_all()

    def reader(self) -> pyarrow.RecordBatchReader:
        """Returns the rows as a pyarrow RecordBatchReader."""
        import pyarrow

        return pyarrow.RecordBatchReader.from_stream(self)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Returns a new capsule of an ArrowArrayStream.

        The stream keeps the table's memory alive and reads the table as its
        consumer needs rows. It ends with an error when the table is closed
        in between. A requested schema is ignored.
        """
        out = ffi.new("void **")
        self.table._check(
            lib.esk_py_stream_open(
                self._open(),
                self.table.name.encode(),
                self._indexes,
                len(self._indexes),
                self._batch_rows,
                out,
            ),
            "scan",
        )
        return arrow.capsule(out[0])
