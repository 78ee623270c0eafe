# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""How many buckets the bitmap of a value index is best given, from rows.

A bitmap lets fewer pages of rows through, and makes entries longer, so that
there are more index pages. Both are counted, with the core's own entries, for
queries of about ten rows anywhere in the distribution.
"""

from __future__ import annotations

import math
from typing import Any

from eskerdb._esker import ffi, lib
from eskerdb.schema import BITMAP, RowCodec, decode_number

BITS = (0, 8, 16, 32, 64)
_QUERIES = 25
_QUERY_ROWS = 10
_ROWS_LEAST = 1000  # fewer do not show it
_LEAST = 0.97  # of the reads so far: what more bits take
_HEAD_BYTES = 40  # of an index page: envelope and head
_ROWS_MAX = 65535  # that an entry is made of


def choose(
    codec: RowCodec, name: str, rows: Any, page_bytes: int, page_rows: float
) -> int:
    """Returns the buckets with which queries of the column read the fewest
    pages; BITMAP for fewer than 1,000 rows.

    rows       as the table stores them, one after another
    page_rows  of a page of the table
    """
    count = len(rows) // codec.row_bytes
    if count < _ROWS_LEAST:
        return BITMAP
    column = codec.column(name)
    at = codec.names.index(name)
    ends = (*codec.offsets[1:], codec.row_bytes)
    values = ffi.new("struct esk_py_summary *")
    values.rows = kept = ffi.from_buffer(rows)
    values.row_count, values.row_bytes = count, codec.row_bytes
    values.offset, values.bytes = (
        codec.offsets[at],
        ends[at] - codec.offsets[at],
    )
    values.type = column.type_number
    ranges = _ranges(codec, name, kept, count)
    best, least = 0, None
    for bits in BITS:
        entry = 2 * values.bytes + bits // 8
        entries = max(1, (page_bytes - _HEAD_BYTES) // entry)
        in_page = max(1, int(page_rows))
        reads = _pages(values, in_page, bits, ranges)
        reads += _pages(values, min(entries * in_page, _ROWS_MAX), 0, ranges)
        if least is None or reads < _LEAST * least:
            best, least = bits, reads
    return best


def _pages(values: Any, page_rows: int, bits: int, ranges: Any) -> int:
    out = ffi.new("uint64_t *")
    lib.esk_py_summary_pages(
        values, page_rows, bits, ranges, len(ranges) // 2, out
    )
    return out[0]


def _ranges(codec: RowCodec, name: str, rows: Any, count: int) -> Any:
    """Ranges of about ten rows, evenly over the different values, as the
    numbers of the rows at their ends."""
    column, at = codec.column(name), codec.names.index(name)
    start = codec.offsets[at]
    width = ((*codec.offsets[1:], codec.row_bytes)[at]) - start
    data = ffi.buffer(rows)
    found = []
    for row in range(count):
        place = row * codec.row_bytes + start
        value = decode_number(column, data[place : place + width])
        if not math.isnan(value):  # it is in no range
            found.append((value, row))
    found.sort()
    firsts = [
        i for i in range(len(found)) if i == 0 or found[i][0] != found[i - 1][0]
    ]
    chosen = [
        firsts[len(firsts) * (2 * i + 1) // (2 * _QUERIES)]
        for i in range(_QUERIES)
        if firsts
    ]
    ends = []
    for i in chosen:
        last = min(i + _QUERY_ROWS, len(found)) - 1
        ends += [found[i][1], found[last][1]]
    return ffi.new("uint32_t[]", ends)
