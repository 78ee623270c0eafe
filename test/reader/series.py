# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The rows of a series: data pages, the sync journal, variable values."""

from itertools import pairwise

from catalog import OPTION_TAIL, VARIABLE
from image import ENVELOPE_BYTES, FormatError, number
from packed import DELTA, Field, packed_rows
from ring import ring_pages
from row import order_form

DATA, VAR, JOURNAL = 0, 2, 3
DATA_KIND, VAR_KIND, JOURNAL_KIND, PACKED_KIND = 0x53, 0x55, 0x57, 0x58
VAR_HEAD = 6
WRAP = 1 << 32


def break_behind(table, position):
    """The first break behind a data position, or None."""
    behind = (b for b in table.breaks() if position < b.start)
    return next(behind, None)


def row_bytes_at(table, position):
    behind = break_behind(table, position)
    return behind.row_bytes if behind else table.row_bytes


def packed_fields(table, size):
    """The fields of a packed row of `size` bytes, the key's first."""
    key = table.key_column()
    others = [c for c in table.columns if c is not key]
    fields = []
    for column in (key, *others):
        if column.offset + column.bytes > size:
            continue
        if column.type == VARIABLE:
            fields.append(Field(column.offset, 4, DELTA))
            fields.append(Field(column.offset + 4, 2, DELTA))
        else:
            fields.append(Field(column.offset, column.bytes, column.mode))
    return fields


def rows_of_packed(table, page, size):
    cell, unit = table.packed()
    limit = ENVELOPE_BYTES + page.count if page.sealed else None
    fields = packed_fields(table, size)
    rows = list(packed_rows(page.data, fields, cell, unit, limit))
    if not page.sealed and len(rows) != page.count:
        raise FormatError("a packed page counts other rows than it has")
    return rows


def page_rows(table, page, size):
    """The rows of a page, with every column."""
    older = b"".join(column.older for column in table.columns)
    if table.packed():
        rows = rows_of_packed(table, page, size)
    else:
        data = page.payload(size)
        rows = [data[at * size :][:size] for at in range(page.count)]
    return [row + older[size:] for row in rows]


def data_pages(volume, table):
    """What a seal counts: bytes of a packed page, else rows."""
    packed = table.packed()
    return ring_pages(
        volume,
        table,
        DATA,
        PACKED_KIND if packed else DATA_KIND,
        lambda at: 1 if packed else row_bytes_at(table, at),
    )


def kept_pages(volume, table):
    """Data pages that count, with the rows of each that do, in order."""
    tail = number(table.options[OPTION_TAIL], 1, 4)
    by_ordinal = {}
    for position, page in data_pages(volume, table).items():
        behind = break_behind(table, position)
        if position < tail or (behind and position >= behind.end):
            continue
        rows = page_rows(table, page, row_bytes_at(table, position))
        if behind and position == behind.end - 1:
            rows = rows[: behind.count]
        by_ordinal[page.aux] = page, rows
    return [by_ordinal[first] for first in sorted(by_ordinal)]


def data_rows(volume, table):
    """The rows of the data ring, and the ordinal behind them."""
    rows, end = [], 0
    for page, more in kept_pages(volume, table):
        rows += more
        end = page.aux + len(more)
    return rows, end


def series_rows(volume, table):
    """Rows in the order of their keys, as bytes."""
    rows, end = data_rows(volume, table)
    size = table.row_bytes
    journal = ring_pages(volume, table, JOURNAL, JOURNAL_KIND, lambda _: size)
    newest = journal[max(journal)] if journal else None
    counts = newest and newest.sequence >= table.journal_start()
    if counts and newest.aux >= end:
        rows += page_rows(table, newest, size)
    floor = table.options[OPTION_TAIL]
    if floor[0] & 1:
        least = number(floor, 5, 8)
        rows = [row for row in rows if order_form(table, row) >= least]
    keys = [order_form(table, row) for row in rows]
    gap = 0 if table.keys_repeat() else 1
    for before, after in pairwise(keys):
        if after < before + gap:
            raise FormatError(f"{table.name}: keys do not rise")
    return rows


def rows_of_torn_block(volume, table):
    """How many rows the oldest block has, if its erase was cut; else 0.

    Then some pages of it are valid, and others are neither that nor blank.
    """
    image, region = volume.image, table.regions[DATA]
    pages = data_pages(volume, table)
    if not pages:
        return 0
    first = min(pages) // image.block_pages * image.block_pages
    block = range(first, first + image.block_pages)
    size = image.region_pages(region)
    blank = bytes([image.erased]) * image.page_bytes
    torn = any(
        image.region_page(region, at % size) != blank
        for at in block
        if at not in pages
    )
    if not torn:
        return 0
    counted = (
        page_rows(table, pages[at], row_bytes_at(table, at))
        for at in block
        if at in pages
    )
    return sum(map(len, counted))


class Values:
    """The variable values of a table."""

    def __init__(self, volume, table):
        self.checksum, self.table = volume.checksum, table
        pages = ring_pages(volume, table, VAR, VAR_KIND, lambda _: 1)
        self.pages = list(pages.items())

    def _stream(self, position, low):
        """(offset, bytes) of the stream from a reference on."""
        offset, parts, expected = None, b"", None
        for at, page in self.pages:
            if at < position:
                continue
            if expected is None:
                offset = page.aux + (low - page.aux) % 0x10000
                start = offset - page.aux
                if start > page.count:
                    raise FormatError("a value is not on its page")
                parts = page.payload(1)[start:]
            elif page.aux == expected:
                parts += page.payload(1)
            else:
                break
            expected = (page.aux + page.count) % WRAP
        return offset, parts

    def of(self, row):
        """The value of the row's variable column."""
        column = next(c for c in self.table.columns if c.type == VARIABLE)
        reference = row[column.offset : column.offset + 6]
        if reference == bytes(6):
            return b""
        position, low = number(reference, 0, 4), number(reference, 4, 2)
        offset, stream = self._stream(position, low)
        length = number(stream, 0, 4)
        key = self.table.key_column()
        covered = stream[:4]
        covered += order_form(self.table, row).to_bytes(8, "little")
        covered += (offset % WRAP).to_bytes(4, "little")
        check = self.checksum(self.table.seed, covered) & 0xFFFF
        if check != number(stream, 4, 2):
            raise FormatError(f"the check of a value at {key.name}")
        value = stream[VAR_HEAD : VAR_HEAD + length]
        if len(value) != length:
            raise FormatError("a value ends before its length")
        return value
