# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The bitmaps of the value indexes that an import makes, chosen from the rows
of the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eskerdb.bitmap import choose
from eskerdb.cli.csv_file import CsvFile
from eskerdb.cli.packing import codec_of, first_rows
from eskerdb.plan import ENVELOPE_BYTES


def chosen_bitmaps(
    source: CsvFile,
    types: Mapping[str, str],
    indexes: Sequence[str],
    page_bytes: int,
) -> dict[str, int]:
    """Returns the buckets of each index, by its column. A column that cannot
    have an index is left out: the core says so."""
    codec = codec_of(types)
    if codec is None or not indexes:
        return {}
    rows = first_rows(source, codec)
    page_rows = (page_bytes - ENVELOPE_BYTES) / codec.row_bytes
    return {
        name: choose(codec, name, rows, page_bytes, page_rows)
        for name in indexes
        if codec.by_name[name].is_numeric
    }
