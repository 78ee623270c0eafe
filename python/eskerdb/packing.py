# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""How the columns of a packed series are best packed, found from its rows.

The core's codec packs the rows in each way that a column may have, and the
pages are counted: no figure here is an estimate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from eskerdb._esker import ffi, lib
from eskerdb.errors import check
from eskerdb.plan import ENVELOPE_BYTES
from eskerdb.schema import MODES, Column, RowCodec, bytes_of

_LEAST = 0.99  # of the bytes so far: what another mode than the default takes
_NUMBER_MAX = 1 << 24  # of a decimal: FORMAT.md, "Packed pages"
_DECIMALS = [name for name in MODES if name.startswith("decimal")]
_STORED = {**MODES, "raw": 0}  # in the catalog


@dataclass(frozen=True)
class Packing:
    """What packed pages are to a series' rows.

    modes      of each column, by its name
    changed    the names of the columns whose mode is not the type's default
    bytes      of flash a row, envelopes included
    raw_bytes  the same in raw pages
    """

    modes: dict[str, str]
    changed: tuple[str, ...]
    bytes: float
    raw_bytes: float

    @property
    def times(self) -> float:
        """How many times the rows of a raw page a packed one has."""
        return self.raw_bytes / self.bytes


def default_mode(column: Column, is_key: bool) -> str:
    """Returns the mode of a column for which none is chosen."""
    if is_key:
        return "linear"
    if column.is_integer:
        return "delta"
    return "float" if column.type == "f32" else "raw"


def modes_of(column: Column, is_key: bool) -> list[str]:
    """Returns the modes that a column may have."""
    if column.is_integer:
        return ["delta", "linear"] + ([] if is_key else ["raw"])
    return ["float", *_DECIMALS, "raw"] if column.type == "f32" else ["raw"]


def default_cell(row_bytes: int, page_bytes: int) -> int:
    """Returns the bytes of a cell for which none are chosen."""
    return min(256 if row_bytes <= 20 else 512, page_bytes)


def measure(
    codec: RowCodec,
    key: str,
    modes: Mapping[str, str],
    rows: Any,
    page_bytes: int = 512,
    cell_bytes: int = 0,
) -> float:
    """Returns the bytes of flash that each of `rows` takes in packed pages.

    rows   as the table stores them, one after another, at least one
    modes  of each column

    Raises Invalid when a row does not fit a cell.
    """
    fields = _fields(codec, key, modes)
    count = len(rows) // codec.row_bytes
    out = ffi.new("uint64_t *")
    check(
        lib.esk_py_packed_bytes(
            fields,
            len(fields),
            codec.row_bytes,
            page_bytes,
            cell_bytes or default_cell(codec.row_bytes, page_bytes),
            ffi.from_buffer(rows),
            count,
            out,
        ),
        f"packed rows of {codec.row_bytes} bytes on pages of {page_bytes}",
        "use larger cells or smaller rows",
    )
    return out[0] / count


def propose(
    codec: RowCodec,
    key: str,
    rows: Any,
    page_bytes: int = 512,
    cell_bytes: int = 0,
    given: Mapping[str, str] | None = None,
) -> Packing:
    """Chooses each column's mode: the one that takes the fewest bytes.

    A column keeps its default unless another mode saves 1 % of all bytes.
    given    modes that stay, by the columns' names
    Other parameters, and what it raises, as of measure().
    """
    given = given or {}
    modes = {
        c.name: given.get(c.name) or default_mode(c, c.name == key)
        for c in codec.columns
    }
    best = measure(codec, key, modes, rows, page_bytes, cell_bytes)
    changed = []
    for column in codec.columns:
        if column.name in given:
            continue
        kept = modes[column.name]
        for mode in modes_of(column, column.name == key):
            tried = {**modes, column.name: mode}
            bytes_ = measure(codec, key, tried, rows, page_bytes, cell_bytes)
            if bytes_ < best * _LEAST:
                best, modes = bytes_, tried
        if modes[column.name] != kept:
            changed.append(column.name)
    in_page = (page_bytes - ENVELOPE_BYTES) // codec.row_bytes
    return Packing(modes, tuple(changed), best, page_bytes / in_page)


def decimals_of(values: Sequence[float]) -> int | None:
    """Returns the least decimals, 0 to 3, with which all of `values` are
    written; None: some have more, or 8 digits and more. NaN is written so, too.

    Such a column is exact to its text as f32, too.
    """
    for decimals in range(len(_DECIMALS)):
        power = 10**decimals
        if all(math.isnan(v) or _is_decimal(v, power) for v in values):
            return decimals
    return None


def _is_decimal(value: float, power: int) -> bool:
    if math.isinf(value) or abs(value) * power >= _NUMBER_MAX:
        return False
    return round(value * power) / power == value


def narrowed(codec: RowCodec, rows: Any) -> tuple[RowCodec, bytes]:
    """Makes f32 of the f64 columns whose values are decimals; see decimals_of.

    Returns the codec and the rows with these types, or those given.
    """
    width = codec.row_bytes
    values = [
        codec.unpack(rows[at : at + width]) for at in range(0, len(rows), width)
    ]
    columns = [
        replace(column, type="f32")
        if column.type == "f64"
        and decimals_of([row[column.name] for row in values]) is not None
        else column
        for column in codec.columns
    ]
    if tuple(columns) == codec.columns or codec.var_index is not None:
        return codec, bytes(rows)
    offsets = [bytes_of(columns[:i]) for i in range(len(columns))]
    made = RowCodec(columns, offsets, bytes_of(columns))
    return made, b"".join(made.pack(row)[0] for row in values)


def _fields(codec: RowCodec, key: str, modes: Mapping[str, str]) -> Any:
    """Returns the fields of a row, the key first; a reference is two."""
    order = sorted(codec.columns, key=lambda column: column.name != key)
    ends = (*codec.offsets[1:], codec.row_bytes)
    made: list[tuple[int, int, int]] = []
    for column in order:
        at = codec.names.index(column.name)
        offset, end = codec.offsets[at], ends[at]
        if column.is_var:
            delta = _STORED["delta"]
            made += [(offset, 4, delta), (offset + 4, 2, delta)]
        else:
            made.append((offset, end - offset, _STORED[modes[column.name]]))
    return ffi.new("struct esk_py_packed_field[]", made)
