# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What series and trees have in common: rows out, rows in, a lifetime."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from eskerdb import arrow
from eskerdb._esker import ffi, lib
from eskerdb.errors import EskerError, error, schema_error
from eskerdb.handle import TableHandle, WritableHandle
from eskerdb.scan import Scan
from eskerdb.structs import counts_of

# What a table's regions are for, by their roles on flash.
REGIONS = ("rows", "indexes", "values", "syncs", "sorted", "merged")
_BATCH_ROWS = 4096


@dataclass(frozen=True)
class Space:
    """What a region of a table has room for, and how worn its blocks are.

    pages_used  pages from the oldest to the newest; of a tree its nodes
    pages_free  pages that can be written before the region is full or its
                oldest block is dropped; of a tree the nodes it can still get
    erases      of its blocks since the table was created
    erases_max  of the block that was erased most often
    """

    pages: int
    pages_used: int
    pages_free: int
    erases: int
    erases_max: int


class OpenTable(TableHandle, ABC):
    """What reads: an open table, or a reader on one.

    Rows are dicts by column name. A kind of table owes get() and scan().
    """

    # What a kind of table owes -----------------------------------------------

    @abstractmethod
    def get(self, key: Any) -> dict[str, Any] | None:
        """Returns the row with that key, None when there is none."""

    @abstractmethod
    def scan(self) -> Scan:
        """Asks for rows in key order."""

    # What they share ---------------------------------------------------------

    def count(self) -> int:
        """Returns the number of rows readable now.

        Costs at most 2 page reads; on a tree in place one a leaf, once.
        """
        count = ffi.new("uint32_t *")
        self._check(lib.esk_py_table_count(self._handle, count), "count")
        return count[0]

    def space(self, region: str = "rows") -> Space:
        """Returns the room and the wear of one of the table's regions.

        region  "rows", "indexes", "values" or "syncs"; zeros: there is none. A
                tree has one, whatever is asked for.
        """
        if region not in REGIONS:
            raise ValueError(f"region '{region}': one of {', '.join(REGIONS)}")
        space = ffi.new("struct esk_space *")
        role = REGIONS.index(region)
        self._check(lib.esk_py_table_space(self._handle, role, space), "space")
        return counts_of(Space, space)

    def __getitem__(self, key: Any) -> dict[str, Any]:
        row = self.get(key)
        if row is None:
            raise error(
                lib.ESK_NOT_FOUND,
                f"table '{self.name}': {self.key.name} = {key!r}",
            )
        return row

    def __len__(self) -> int:
        return self.count()

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.scan())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.scan().__arrow_c_stream__(requested_schema)

    # Inside ------------------------------------------------------------------

    def _row(self, row: Any) -> dict[str, Any] | None:
        """Makes a dict of a row's bytes."""
        return None if row is None else self.codec.unpack(ffi.buffer(row))


class WritableTable(WritableHandle, OpenTable):
    """An open table that takes rows. A kind of table owes _write() too."""

    @abstractmethod
    def _write(
        self, packed: Any, count: int, values: Any, ends: Any, before: int
    ) -> int:
        """Writes packed rows; `before` is how many went ahead of them."""

    # Inside ------------------------------------------------------------------

    def _write_many(self, rows: Any) -> int:
        """Writes packed rows, Arrow, or an iterable of rows."""
        if isinstance(rows, (bytes, bytearray, memoryview)):
            return self._write_packed(rows)
        done = 0
        try:
            if arrow.is_arrow(rows):
                batches: Iterable[Any] = arrow.batches(rows)
                pack = self._pack_batch
            else:
                batches = _chunks(rows, _BATCH_ROWS)
                pack = self._pack_rows
            for batch in batches:
                packed, count, values, ends, failure = pack(batch, done)
                done += self._write(packed, count, values, ends, done)
                if failure is not None:
                    raise failure
        except EskerError as failure:
            failure.appended = done + failure.appended
            raise
        return done

    def _write_packed(self, rows: Any) -> int:
        size = memoryview(rows).nbytes
        width = self.table.row_bytes
        if self.codec.var_index is not None:
            raise schema_error(
                f"table '{self.name}': packed rows cannot carry column "
                f"'{self.codec.names[self.codec.var_index]}' (var); "
                "pass rows or Arrow",
                self.codec.names[self.codec.var_index],
            )
        if size % width:
            raise schema_error(
                f"table '{self.name}': {size} bytes are not whole rows of "
                f"{width} bytes"
            )
        return self._write(rows, size // width, b"", [], 0)

    def _pack_rows(self, rows: list[Any], before: int) -> tuple[Any, ...]:
        """Packs rows up to the first that does not fit the table."""
        packed, values, ends = bytearray(), bytearray(), []
        failure = None
        for number, row in enumerate(rows):
            try:
                fixed, value = self.codec.pack(row)
            except EskerError as fault:
                failure = schema_error(
                    f"table '{self.name}': row {before + number}: {fault}",
                    getattr(fault, "column", None),
                )
                break
            packed += fixed
            values += value
            ends.append(len(values))
        count = len(ends)
        return packed, count, values, ends, failure

    def _pack_batch(self, batch: Any, before: int) -> tuple[Any, ...]:
        return (*arrow.pack(self.codec, batch, self.name, before), None)


def _chunks(rows: Iterable[Any], size: int) -> Iterator[list[Any]]:
    if isinstance(rows, Mapping):
        raise schema_error("pass one row alone, or several rows in a list")
    iterator = iter(rows)
    while chunk := list(itertools.islice(iterator, size)):
        yield chunk
