# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What the catalog says of a table, as a catalog entry of Python."""

from __future__ import annotations

from typing import Any

from eskerdb._esker import ffi, lib
from eskerdb.catalog import (
    EDGES_BYTES,
    FULL,
    KINDS,
    STORE_NAMES,
    Table,
    column_of,
    string,
)
from eskerdb.errors import Corrupt, Unsupported, error
from eskerdb.handle import Mount
from eskerdb.schema import CODEC_NAMES, Column, Index


def table_of(mount: Mount, info: Any) -> Table:
    """Describes a table; `problem` says why it cannot be opened."""
    try:
        return _described(mount, info)
    except (Unsupported, Corrupt) as failure:
        return _without_columns(info, problem=str(failure))


def _described(mount: Mount, info: Any) -> Table:
    options = _options(mount, info)
    if info.kind == lib.ESK_TABLE_KV:
        return _without_columns(
            info,
            full="refuse",
            live_percent=options.live_percent,
            index_keys=options.keys,
            fingerprint=_fingerprint(mount, info),
        )
    columns, offsets = [], []
    for index in range(info.column_count):
        column = ffi.new("struct esk_column_info *")
        mount._check(
            lib.esk_py_volume_column(
                mount._handle, mount._mount, info, index, column
            ),
            f"column {index}",
        )
        columns.append(column_of(column))
        offsets.append(column.offset)
    indexes = [
        _index(mount, info, index, columns) for index in range(info.index_count)
    ]
    if info.key_column >= len(columns):
        raise error(lib.ESK_E_CORRUPT, "the key column's number")
    full = {value: name for name, value in FULL.items()}
    tree = info.kind == lib.ESK_TABLE_TREE
    sized = (lib.ESK_STORE_MU, lib.ESK_STORE_TNC)
    has_k = tree and options.store in sized
    return Table(
        name=string(info.name),
        kind=KINDS.get(info.kind, f"kind {info.kind}"),
        key=columns[info.key_column].name,
        columns=tuple(columns),
        offsets=tuple(offsets),
        indexes=tuple(indexes),
        row_bytes=info.row_bytes,
        full="refuse" if tree else full[options.full_policy],
        blocks=tuple(info.blocks),
        first_block=tuple(info.block),
        store=STORE_NAMES[options.store] if tree else "",
        k_percent=options.k_percent if has_k else 0,
        keys_repeat=not tree and options.keys_repeat,
        version=info.version,
        fingerprint=_fingerprint(mount, info),
        codec=CODEC_NAMES[info.codec],
        cell_bytes=0 if tree else options.cell_bytes,
    )


def _fingerprint(mount: Mount, info: Any) -> int:
    number = ffi.new("uint32_t *")
    mount._check(
        lib.esk_py_volume_fingerprint(
            mount._handle, mount._mount, info, number
        ),
        "its columns",
    )
    return number[0]


def _options(mount: Mount, info: Any) -> Any:
    """The options that the catalog has for the table's kind.

    Raises Unsupported when a newer version made it; Corrupt.
    """
    known = [lib.ESK_CODEC_RAW]
    if info.kind == lib.ESK_TABLE_SERIES:
        known.append(lib.ESK_CODEC_PACKED)
    newer = info.incompatible_features or info.codec not in known
    if info.kind == lib.ESK_TABLE_TREE and not newer:
        tree = ffi.new("struct esk_tree_options *")
        mount._check(lib.esk_tree_options(info, tree), "its options")
        return tree
    if info.kind == lib.ESK_TABLE_SERIES and not newer:
        series = ffi.new("struct esk_series_options *")
        mount._check(lib.esk_series_options(info, series), "its options")
        mount._check(lib.esk_series_cells(info, series), "its cells")
        return series
    if info.kind == lib.ESK_TABLE_KV and not newer:
        kv = ffi.new("struct esk_kv_options *")
        mount._check(lib.esk_kv_options(info, kv), "its options")
        return kv
    raise error(
        lib.ESK_E_UNSUPPORTED,
        f"table '{string(info.name)}'",
        "read it with a newer EskerDB",
        f"kind {info.kind}, codec {info.codec}, features "
        f"0x{info.incompatible_features:04X}: a newer version made it",
    )


def _index(mount: Mount, info: Any, index: int, columns: list[Column]) -> Index:
    spec = ffi.new("struct esk_index_spec *")
    edges = ffi.new("uint8_t[]", EDGES_BYTES)
    mount._check(
        lib.esk_py_volume_index(
            mount._handle, mount._mount, info, index, spec, edges,
            EDGES_BYTES,
        ),
        f"index {index}",
    )  # fmt: skip
    column = columns[spec.column]
    if spec.kind == lib.ESK_INDEX_SORTED:
        return Index(column.name, 0, None, "sorted", spec.entries, spec.fan)
    given = None
    if spec.edge_count:
        kinds = {"f32": "float", "f64": "double"}
        kind = kinds.get(
            column.type,
            f"{'u' if column.type[0] == 'u' else ''}int{column.type[1:]}_t",
        )
        typed = ffi.cast(f"{kind} *", edges)
        given = tuple(typed[i] for i in range(spec.edge_count))
    none = spec.bitmap_bits == lib.ESK_BITMAP_NONE
    return Index(column.name, 0 if none else spec.bitmap_bits, given)


def _without_columns(
    info: Any,
    full: str = "",
    problem: str = "",
    live_percent: int = 0,
    index_keys: int = 0,
    fingerprint: int = 0,
) -> Table:
    """Describes a table of which no columns are known."""
    return Table(
        name=string(info.name),
        kind=KINDS.get(info.kind, f"kind {info.kind}"),
        key="",
        columns=(),
        offsets=(),
        indexes=(),
        row_bytes=info.row_bytes,
        full=full,
        blocks=tuple(info.blocks),
        first_block=tuple(info.block),
        version=info.version,
        problem=problem,
        live_percent=live_percent,
        index_keys=index_keys,
        fingerprint=fingerprint,
    )
