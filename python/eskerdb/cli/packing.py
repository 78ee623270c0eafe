# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Packed pages of an import: the modes of columns, chosen from the rows of the
file, and what packed pages would save a series that has raw ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eskerdb.cli.csv_file import CsvFile, Fault
from eskerdb.cli.make import Packed
from eskerdb.device import Geometry
from eskerdb.errors import Invalid
from eskerdb.packing import (
    Packing,
    modes_of,
    narrowed,
    propose,
)
from eskerdb.plan import ENVELOPE_BYTES
from eskerdb.schema import TYPES, Column, RowCodec, bytes_of
from eskerdb.series import Series

_ROWS_LEAST = 1000  # fewer do not show how a series packs
_TIMES_LEAST = 1.5  # the rows of a raw page: less is not worth the work


def packing_advice(opened: Any, source: object) -> str:
    """Says what packed pages would save a raw series; "": too little, too few
    rows to say, or no series and no CsvFile."""
    if not (isinstance(opened, Series) and isinstance(source, CsvFile)):
        return ""
    if opened.table.codec != "raw":
        return ""
    codec = opened.codec
    rows = first_rows(source, codec)
    if len(rows) < _ROWS_LEAST * codec.row_bytes:
        return ""
    page = opened.volume.geometry.page_bytes
    made, rows = narrowed(codec, rows)
    try:
        packing = propose(made, opened.key.name, rows, page)
    except Invalid:
        return ""  # a cell has no room for a row and its fields
    raw = page / ((page - ENVELOPE_BYTES) // codec.row_bytes)
    if raw < _TIMES_LEAST * packing.bytes:
        return ""
    options = " ".join(["--packed", *_options(codec, made, packing)])
    return (
        f"{options}: {packing.bytes:.1f} bytes of flash a row instead of "
        f"{raw:.1f}, counted with the file's first rows"
    )


def chosen_modes(
    source: CsvFile,
    types: Mapping[str, str],
    key: str,
    geometry: Geometry,
    packing: Packed,
) -> dict[str, str]:
    """Returns the stated modes, and the best ones of the other columns."""
    codec = codec_of(types)
    if codec is None or not _fits(codec, key, packing.modes):
        return packing.modes  # the core says what is wrong
    rows = first_rows(source, codec)
    if not rows:
        return packing.modes
    try:
        found = propose(
            codec, key, rows, geometry.page_bytes, packing.cell, packing.modes
        )
    except Invalid:
        return packing.modes
    return {**{n: found.modes[n] for n in found.changed}, **packing.modes}


def _fits(codec: RowCodec, key: str, modes: Mapping[str, str]) -> bool:
    """Whether the columns may have these modes."""
    return key in codec.by_name and all(
        mode in modes_of(codec.by_name[name], name == key)
        for name, mode in modes.items()
    )


def codec_of(types: Mapping[str, str]) -> RowCodec | None:
    """Rows of columns of these types; None: the core will refuse one."""
    columns = []
    for name, text in types.items():
        kind, _, width = text.partition(":")
        if kind not in TYPES or (width and not width.isdecimal()):
            return None
        columns.append(Column(name, kind, bytes=int(width or 0)))
    offsets = [bytes_of(columns[:i]) for i in range(len(columns))]
    return RowCodec(columns, offsets, bytes_of(columns))


def first_rows(source: CsvFile, codec: RowCodec) -> bytes:
    """The rows of the file's first batch."""
    try:
        batch = next(source.batches(codec), None)
    except Fault:
        return b""  # the import says so
    return b"" if batch is None else bytes(batch.rows)


def _options(old: RowCodec, new: RowCodec, packing: Packing) -> list[str]:
    """The options that go with --packed."""
    types = [
        f"--type {column.name}={column.type}"
        for column, before in zip(new.columns, old.columns, strict=True)
        if column.type != before.type
    ]
    modes = [f"--mode {name}={packing.modes[name]}" for name in packing.changed]
    return [*types, *modes]
