# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Series: rows in rising key order, appended, read by key and by value."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from eskerdb._esker import ffi, lib
from eskerdb.errors import EskerError, error, schema_error
from eskerdb.opened import WritableTable
from eskerdb.scan import KEY_MASK, Bounds, Query, Scan
from eskerdb.structs import counts_of
from eskerdb.value import Value, read_value


@dataclass(frozen=True)
class Stats:
    """What has happened since a series was opened; counts."""

    pages: int
    index_pages: int
    var_pages: int
    page_reads: int
    page_programs: int
    block_erases: int
    pages_damaged: int
    program_failures: int
    erase_failures: int
    blocks_skipped: int
    index_failures: int
    knots: int
    key_error_16ths: int
    newest_unread: int


@dataclass(frozen=True)
class Report:
    """What check() found.

    ok       no acknowledged row is missing, and reads are exact; pages_torn,
             index_damaged and newest_unread do not change it
    newest_unread
             newest pages that cannot be read: torn by a power cut, or
             damaged, and then synced rows are lost
    """

    ok: bool
    rows: int
    rows_missing: int
    pages: int
    pages_damaged: int
    pages_torn: int
    index_pages: int
    index_damaged: int
    index_wrong: int
    values_missing: int
    newest_unread: int


class Series(WritableTable):
    """An open series. Made by Volume.open(); a context manager.

    Rows are dicts by column name. Leaving the context syncs, then closes.
    """

    # Writing ----------------------------------------------------------------

    def append(self, row: Any = None, /, **columns: Any) -> None:
        """Appends one row: a mapping, a sequence, or the columns by name.

        Accepted means in RAM or on the medium; sync() makes it durable.
        Raises SchemaError naming the column, OutOfOrder, Full, ReadOnly,
        DeviceError, Worn: then nothing of the row was stored.
        """
        packed, value = self.codec.pack(columns if row is None else row)
        self._write(packed, 1, value, [len(value)], 0)

    def append_many(self, rows: Any) -> int:
        """Appends rows and returns how many.

        rows   packed rows as bytes; anything with an Arrow stream or array
               (a pyarrow Table, a polars or pandas frame, a Scan); or an
               iterable of mappings or sequences.

        Raises as append(); the exception's `appended` says how many rows
        were accepted before the refused one.
        """
        return self._write_many(rows)

    def erase_before(self, key: int) -> None:
        """Drops every row with a key below `key`, durably.

        Raises DeviceError, ReadOnly. Costs one catalog write.
        """
        low, high = self.key.limits
        if key > high:
            raise schema_error(
                f"column '{self.key.name}' ({self.key.type}): {key} is out "
                "of range",
                self.key.name,
            )
        self._check(
            lib.esk_py_series_erase_before(
                self._handle, max(key, low) & KEY_MASK
            ),
            f"erase_before {key}",
        )

    def erase_after(self, key: int) -> None:
        """Drops every row with a key above `key`, durably. Use it when a clock
        ran ahead: no later row can have a key above those rows' keys.

        Raises SchemaError when no row can have `key`, Limit when the table
        still has rows from before four such drops, DeviceError, ReadOnly.
        Costs one catalog write.
        """
        low, high = self.key.limits
        if key < low:
            raise schema_error(
                f"column '{self.key.name}' ({self.key.type}): {key} is out "
                "of range",
                self.key.name,
            )
        self._check(
            lib.esk_py_series_erase_after(
                self._handle, min(key, high) & KEY_MASK
            ),
            f"erase_after {key}",
        )

    # Reading ----------------------------------------------------------------

    def get(self, key: int) -> dict[str, Any] | None:
        """Returns the row with that key, None when there is none.

        Raises Corrupt when rows are missing where it would be, DeviceError.
        Costs mean about 1 page read, at most 3 while the spline covers it.
        """
        return self._find(lib.ESK_PY_GET, key)

    def floor(self, key: int) -> dict[str, Any] | None:
        """Returns the newest row with a key <= `key`, or None."""
        return self._find(lib.ESK_PY_FLOOR, key)

    def ceiling(self, key: int) -> dict[str, Any] | None:
        """Returns the oldest row with a key >= `key`, or None."""
        return self._find(lib.ESK_PY_CEILING, key)

    def newest(self) -> dict[str, Any] | None:
        """Returns the newest row, None when the table is empty."""
        return self._row(self._find_bytes(lib.ESK_PY_NEWEST, 0))

    def oldest(self) -> dict[str, Any] | None:
        """Returns the oldest row, None when the table is empty."""
        return self._row(self._find_bytes(lib.ESK_PY_OLDEST, 0))

    def scan(
        self,
        key_min: int | None = None,
        key_max: int | None = None,
        *,
        where: Mapping[str, Bounds] | None = None,
        backward: bool = False,
        columns: Iterable[str] | None = None,
        batch_rows: int = 4096,
    ) -> Scan:
        """Returns a scan in key order; both ends of every bound are included.

        where       column name to (least, greatest), None for an open end;
                    NaN never matches
        backward    newest first
        columns     which columns, in which order; None: all
        batch_rows  rows an Arrow batch

        The key index and the value indexes use the bounds. Raises SchemaError
        for an unknown or non-numeric column. Costs nothing until it is read:
        then 1 page read for each page of rows; with bounds of an indexed
        column the index pages, and the data pages that can match.
        """
        return Scan(
            self,
            Query(self, key_min, key_max, where or {}, backward),
            self.codec.names if columns is None else tuple(columns),
            batch_rows,
        )

    def value(self, key: int) -> Value:
        """Opens the variable-length value of one row, to be read in pieces.

        Raises NotFound without such a row, SchemaError without a variable
        column.
        """
        if self.codec.var_index is None:
            raise schema_error(
                f"table '{self.name}' has no variable-length column"
            )
        row = self._find_bytes(lib.ESK_PY_GET, self._key(key))
        if row is None:
            raise error(
                lib.ESK_NOT_FOUND,
                f"table '{self.name}': {self.key.name} = {key}",
            )
        return Value(self, row)

    # State ------------------------------------------------------------------

    def stats(self) -> Stats:
        """Returns counts since the series was opened. Costs nothing."""
        stats = ffi.new("struct esk_series_stats *")
        self._check(lib.esk_py_series_stats(self._handle, stats), "stats")
        return counts_of(Stats, stats)

    def check(self) -> Report:
        """Reads and verifies every page.

        Returns what was found, damage included; raises DeviceError.
        """
        report = ffi.new("struct esk_series_report *")
        status = lib.esk_py_series_check(self._handle, report)
        return self._report(Report, report, status)

    # Inside -----------------------------------------------------------------

    def _key(self, key: int) -> int:
        """Checks a key and returns its bits. Raises SchemaError."""
        low, high = self.key.limits
        if not isinstance(key, int) and hasattr(key, "__index__"):
            key = key.__index__()
        if not isinstance(key, int) or isinstance(key, bool):
            raise schema_error(
                f"column '{self.key.name}' ({self.key.type}): {key!r} is not a "
                "whole number",
                self.key.name,
            )
        if not low <= key <= high:
            raise schema_error(
                f"column '{self.key.name}' ({self.key.type}): {key} is out "
                "of range",
                self.key.name,
            )
        return key & KEY_MASK

    def _find(self, which: int, key: int) -> dict[str, Any] | None:
        return self._row(self._find_bytes(which, self._key(key)))

    def _find_bytes(self, which: int, key: int) -> Any:
        row = ffi.new("uint8_t[]", self.table.row_bytes)
        status = lib.esk_py_series_find(self._handle, which, key, row)
        if status == lib.ESK_NOT_FOUND:
            return None
        self._check(status, "read")
        return row

    def _row(self, row: Any) -> dict[str, Any] | None:
        """Makes a dict of a row's bytes, its variable value read too."""
        if row is None:
            return None
        values = self.codec.unpack(ffi.buffer(row))
        if self.codec.var_index is None:
            return values
        values[self.codec.names[self.codec.var_index]] = read_value(self, row)
        return {name: values[name] for name in self.codec.names}

    def _write(
        self, packed: Any, count: int, values: Any, ends: Any, before: int
    ) -> int:
        """Appends packed rows; `before` is how many went ahead of them."""
        done = ffi.new("uint32_t *")
        rows = ffi.from_buffer(packed)
        if self.codec.var_index is None:
            status = lib.esk_py_series_append(
                self._handle, rows, count, ffi.NULL, ffi.NULL, done
            )
        else:
            status = lib.esk_py_series_append(
                self._handle,
                rows,
                count,
                ffi.from_buffer(values),
                ends
                if isinstance(ends, ffi.CData)
                else ffi.new("uint64_t[]", ends),
                done,
            )
        if status == lib.ESK_OK:
            return count
        failure = self._append_error(status, packed, done[0], before)
        failure.appended = done[0]
        raise failure

    def _append_error(
        self, status: int, packed: Any, at: int, before: int
    ) -> EskerError:
        """Names the row and the key that were refused."""
        doing = f"table '{self.name}': append row {before + at}"
        if status != lib.ESK_OUT_OF_ORDER:
            return error(status, doing)
        start = at * self.table.row_bytes + self._key_offset
        letter = (
            "<" + {1: "b", 2: "h", 4: "i", 8: "q"}[int(self.key.type[1:]) // 8]
        )
        if self.key.type[0] == "u":
            letter = letter.upper()
        (key,) = struct.unpack_from(letter, packed, start)
        newest = self.newest()
        against = f" after {newest[self.key.name]}" if newest else ""
        return error(status, f"{doing} ({self.key.name} = {key}{against})")
