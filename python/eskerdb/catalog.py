# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The catalog: its entries, and what a new table's spec says in C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from eskerdb._esker import ffi, lib
from eskerdb.errors import error, schema_error
from eskerdb.schema import (
    INDEX_KINDS,
    MODE_NAMES,
    MODES,
    STORES,
    TYPE_NAMES,
    Column,
    Index,
    decode_number,
    encode_number,
)
from eskerdb.structs import fill

FullPolicy = Literal["drop_oldest", "refuse"]
FULL = {
    "drop_oldest": lib.ESK_FULL_DROP_OLDEST,
    "refuse": lib.ESK_FULL_REFUSE,
}
KINDS = {
    lib.ESK_TABLE_SERIES: "series",
    lib.ESK_TABLE_TREE: "tree",
    lib.ESK_TABLE_KV: "kv",
}
EDGES_BYTES = lib.ESK_EDGE_COUNT_MAX * 8
_INDEX_FAULTS = {
    lib.ESK_FAULT_INDEX_COLUMN,
    lib.ESK_FAULT_INDEX_BITMAP,
    lib.ESK_FAULT_INDEX_EDGES,
    lib.ESK_FAULT_INDEX_DUPLICATE,
    lib.ESK_FAULT_INDEX_TOO_WIDE,
    lib.ESK_FAULT_INDEX_SORTED,
}
_WIDTH_MAX = 1024  # of a column of bytes
_COLUMN_FAULTS = {
    lib.ESK_FAULT_COLUMN_NAME,
    lib.ESK_FAULT_COLUMN_DUPLICATE,
    lib.ESK_FAULT_COLUMN_TYPE,
    lib.ESK_FAULT_UNIT,
    lib.ESK_FAULT_KEY_TYPE,
    lib.ESK_FAULT_VAR_COUNT,
    lib.ESK_FAULT_MISSING,
    lib.ESK_FAULT_MODE,
}
# What to do about a fault.
_REMEDIES = {
    lib.ESK_FAULT_TABLE_NAME: "choose a name of 1 to 31 bytes",
    lib.ESK_FAULT_COLUMN_NAME: "choose a name of 1 to 31 bytes",
    lib.ESK_FAULT_MISSING: "leave it out: a key is always there",
    lib.ESK_FAULT_UNIT: "choose a unit of at most 31 bytes",
    lib.ESK_FAULT_NO_COLUMNS: "give it 1 to 64 columns",
    lib.ESK_FAULT_KEY_TYPE: (
        "make an integer column the key: of times with fractions, count "
        "milliseconds"
    ),
    lib.ESK_FAULT_VAR_COUNT: (
        "give all but one a width: bytes:N or text:N in the command"
    ),
    lib.ESK_FAULT_ROW_TOO_WIDE: "use larger pages, or narrower columns",
    lib.ESK_FAULT_INDEX_COLUMN: "index a column of numbers, not the key",
    lib.ESK_FAULT_INDEX_DUPLICATE: "index it once",
    lib.ESK_FAULT_INDEX_TOO_WIDE: "use larger pages, or fewer indexes",
    lib.ESK_FAULT_REGION: "ask for more blocks",
    lib.ESK_FAULT_MODE: (
        "delta and linear are of integers, float and decimal of f32, raw of "
        "all but the key, and all of packed series"
    ),
    lib.ESK_FAULT_CODEC: (
        "take cells of 64 bytes up to a page, a power of two, with room for a "
        "row and a byte a column"
    ),
}


Codec = Literal["raw", "packed"]
Store = Literal["inplace", "journaled", "wandering", "mu", "tnc"]
STORE_NAMES = {number: name for name, number in STORES.items()}
MOVING_STORES = ("wandering", "mu", "tnc")  # a change gives nodes new pages


@dataclass(frozen=True)
class VolumeReport:
    """What check() found in the catalog.

    pages         of the catalog
    pages_single  of these valid in only one of the two copies
    pages_lost    of these valid in neither: their tables are lost
    halves_lost   copies without a valid superblock of the newest commit
    """

    pages: int
    pages_single: int
    pages_lost: int
    halves_lost: int

    @property
    def ok(self) -> bool:
        """Whether both copies are whole."""
        return not (self.pages_single or self.pages_lost or self.halves_lost)


@dataclass(frozen=True)
class Table:
    """One catalog entry.

    kind         "series", "tree" or "kv"
    key          the key column's name
    columns      in row order
    offsets      of the columns, in the row's bytes
    indexes      value indexes
    row_bytes    bytes of a row
    full         what happens when a series' region is full
    keys_repeat  whether rows in a row of a series may have the same key
    store        of a tree: where its nodes live; else ""
    k_percent    of a mu tree: a leaf's share of a page; else 0
    live_percent of a kv table: the share of its blocks that values may take
    index_keys   of a kv table with an index: most keys; else 0
    blocks       block counts of its data, index, variable and sync regions,
                 and of the two of a sorted index
    first_block  the regions' first blocks
    version      of the schema, as its creator numbered it
    problem      why this version cannot open the table; "": it can
    fingerprint  of its kind, key and columns (esk_table_fingerprint); 0 with a
                 problem
    codec        how pages of a series hold rows: "raw" or "packed"
    cell_bytes   of a packed series: what a get decodes at most; else 0
    """

    name: str
    kind: str
    key: str
    columns: tuple[Column, ...]
    offsets: tuple[int, ...]
    indexes: tuple[Index, ...]
    row_bytes: int
    full: str
    blocks: tuple[int, ...]
    first_block: tuple[int, ...]
    store: str = ""
    k_percent: int = 0
    keys_repeat: bool = False
    version: int = 0
    problem: str = ""
    live_percent: int = 0
    index_keys: int = 0
    fingerprint: int = 0
    codec: str = "raw"
    cell_bytes: int = 0


def count_blocks(blocks: int) -> str:
    """Returns "1 block", "2,000 blocks"."""
    return f"{blocks:,} block" + ("" if blocks == 1 else "s")


def string(array: Any) -> str:
    return ffi.string(array).decode("utf-8", errors="replace")


def text_of(kept: list[Any], text: str) -> Any:
    """Makes a C string that lives as long as `kept`."""
    if "\0" in text:
        raise schema_error(f"{text!r}: a name must not have a zero byte")
    made = ffi.new("char[]", text.encode())
    kept.append(made)
    return made


def column_of(info: Any) -> Column:
    """Makes a Column of a struct esk_column_info. Raises Unsupported."""
    kind = TYPE_NAMES.get(info.type)
    name, unit = string(info.name), string(info.unit)
    if kind is None:
        raise error(lib.ESK_E_UNSUPPORTED, f"column '{name}': its type")
    width = info.bytes if kind == "bytes" else 0
    if kind in ("bytes", "var") and info.flags & lib.ESK_COLUMN_TEXT:
        kind = "text"
    mode = MODE_NAMES.get(info.mode)
    if mode is None:
        raise error(lib.ESK_E_UNSUPPORTED, f"column '{name}': its mode")
    value = None
    if info.flags & lib.ESK_COLUMN_MISSING:
        stored = bytes(ffi.buffer(info.missing))[: info.bytes]
        value = decode_number(Column(name, kind), stored)
    return Column(name, kind, unit, width, value, mode)


def columns_of(kept: list[Any], columns: Sequence[Column]) -> Any:
    array = ffi.new("struct esk_column[]", max(len(columns), 1))
    kept.append(array)
    for target, column in zip(array, columns, strict=False):
        target.name = text_of(kept, column.name)
        target.unit = text_of(kept, column.unit)
        if not 0 <= column.bytes <= _WIDTH_MAX:
            raise schema_error(
                f"column '{column.name}': {column.bytes} bytes; a column of "
                f"bytes has 1 to {_WIDTH_MAX:,}",
                column.name,
            )
        flags = lib.ESK_COLUMN_TEXT if column.type == "text" else 0
        fill(
            target,
            type=column.type_number,
            bytes=column.bytes,
            flags=flags,
            mode=MODES[column.mode],
        )
        if column.missing is not None:
            missing = ffi.new(
                "uint8_t[]", encode_number(column, column.missing)
            )
            kept.append(missing)
            target.missing = missing
    return array


def position_of(columns: Sequence[Column], name: str, what: str) -> int:
    for position, column in enumerate(columns):
        if column.name == name:
            return position
    raise schema_error(
        f"{what}: no column '{name}'; the table has "
        f"{', '.join(column.name for column in columns)}",
        name,
    )


def indexes_of(
    kept: list[Any], columns: Sequence[Column], indexes: Sequence[Index]
) -> Any:
    array = ffi.new("struct esk_index_spec[]", max(len(indexes), 1))
    kept.append(array)
    for target, index in zip(array, indexes, strict=False):
        position = position_of(columns, index.column, f"index {index.column}")
        is_sorted = index.kind == "sorted"
        fill(
            target,
            column=position,
            bitmap_bits=(
                0 if is_sorted else index.bitmap or lib.ESK_BITMAP_NONE
            ),
            kind=INDEX_KINDS[index.kind],
            entries=index.entries,
            fan=index.fan,
        )
        if index.edges is not None:
            column = columns[position]
            if not column.is_numeric:
                raise schema_error(
                    f"index on '{column.name}': not a numeric column",
                    column.name,
                )
            edges = b"".join(encode_number(column, e) for e in index.edges)
            buffer = ffi.new("uint8_t[]", edges)
            kept.append(buffer)
            target.edges = buffer
            fill(target, edge_count=len(index.edges))
    return array


def fault_error(
    doing: str, columns: Sequence[Column], indexes: Sequence[Index], fault: Any
) -> Exception:
    """Makes the SchemaError for what a call of the core found."""
    text = ffi.string(lib.esk_fault_text(fault.kind)).decode()
    at = None
    if fault.kind in _INDEX_FAULTS and fault.column < len(indexes):
        at = indexes[fault.column].column
        where = f"index on '{at}'"
    elif fault.kind in _COLUMN_FAULTS and fault.column < len(columns):
        at = columns[fault.column].name
        where = f"column '{at}'"
    else:
        where = ""
    told = ": ".join(part for part in (doing, where, text) if part)
    remedy = _REMEDIES.get(fault.kind, "")
    return schema_error(f"{told}; {remedy}" if remedy else told, at)
