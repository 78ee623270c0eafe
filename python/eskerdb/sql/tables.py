# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The tables that statements name: of a volume, or of CREATE statements."""

from __future__ import annotations

import math
import struct
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from eskerdb import schema
from eskerdb._esker import lib
from eskerdb.kv_value import TYPES
from eskerdb.plan import plan_sorted
from eskerdb.program import KV_VALUE_BYTES
from eskerdb.sql import syntax as s
from eskerdb.sql.names import table_named
from eskerdb.sql.plan import TableColumn, TableInfo
from eskerdb.sql.source import Source, listed, nearest
from eskerdb.sql.types import FLOAT, INT_MAX, INT_MIN, Type, integer, text

_NAME_BYTES_MAX = 31  # ESK_NAME_BYTES_MAX
_DECIMALS_MAX = 3
_FRAME_BYTES = 6  # of RAM, beside a page's
_ENVELOPE_BYTES = 16  # of a page, about
_PLACES = 48  # of a series, whose rows are the sample of a column
_SORTED_BYTES = 4  # of a column with a sorted index, at most
_WIDE = ("bytes", "text")
_KEYS_REPEAT = 0x80  # bit of the kind in a fingerprint
# enum esk_table_kind, by the words of USING
KIND_NUMBERS = {
    "series": lib.ESK_TABLE_SERIES,
    "tree": lib.ESK_TABLE_TREE,
    "kv": lib.ESK_TABLE_KV,
}
_COUNT = range(1 << 32)
# What an option is: words or numbers, numbers of a range, or a list. 0 stands
# for the default, also where it is outside of the range.
OPTIONS: dict[str, dict[str, type | range | tuple[str | int, ...]]] = {
    "series": {
        "full": ("drop_oldest", "refuse"),
        "group_pages": _COUNT,
        "run_pages": _COUNT,
        "data_blocks": _COUNT,
        "index_blocks": _COUNT,
        "var_blocks": _COUNT,
        "keys_repeat": ("true", "false"),
        "version": _COUNT,
        "codec": tuple(schema.CODECS),
        "cell_bytes": (0, 64, 128, 256, 512, 1024, 2048, 4096),
    },
    "tree": {
        "store": tuple(schema.STORES),
        "k_percent": range(10, 91),
        "blocks": _COUNT,
        "version": _COUNT,
    },
    "kv": {
        "blocks": range(3, 1 << 32),
        "live_percent": range(1, 96),
        "index_keys": _COUNT,
        "version": _COUNT,
    },
    "index": {"bitmap": (0, 8, 16, 32, 64), "edges": list},
    "sorted index": {"entries": range(256, 65281), "fan": range(2, 9)},
}
_OTHER_TYPES = {
    "int": "i32", "integer": "i32", "bigint": "i64", "smallint": "i16",
    "tinyint": "i8", "real": "f64", "double": "f64", "float": "f32",
    "blob": "bytes", "varchar": "text", "char": "text", "string": "text",
    "bool": "u8", "boolean": "u8", "timestamp": "i64",
}  # fmt: skip


# Of a kv table; a value has a type of its own.
KV_COLUMNS = (
    TableColumn(
        "key",
        "text",
        text(lib.ESK_KV_KEY_BYTES_MAX),
        0,
        lib.ESK_KV_KEY_BYTES_MAX,
    ),
    TableColumn("value", "any", text(), 0, 0),
    TableColumn("type", "type", text(max(map(len, TYPES))), 0, 0),
)
KV_VALUE_AT = lib.ESK_KV_KEY_BYTES_MAX + 13
# How a value is stored, in a row of the machine (esk_source_kv): the last ones
# are its bytes, as numbers and as a text with zeros behind it.
KV_CELLS = (
    TableColumn("tag", "u8", integer(0, 255), lib.ESK_KV_KEY_BYTES_MAX, 1),
    TableColumn(
        "size",
        "u32",
        integer(0, (1 << 32) - 1),
        lib.ESK_KV_KEY_BYTES_MAX + 1,
        4,
    ),
    TableColumn(
        "number",
        "i64",
        integer(INT_MIN, INT_MAX),
        lib.ESK_KV_KEY_BYTES_MAX + 5,
        8,
    ),
    TableColumn("bits", "i64", integer(INT_MIN, INT_MAX), KV_VALUE_AT, 8),
    TableColumn("bits32", "u32", integer(0, (1 << 32) - 1), KV_VALUE_AT, 4),
    TableColumn("real", "f64", FLOAT.maybe(), KV_VALUE_AT, 8),
    TableColumn("single", "f32", FLOAT.maybe(), KV_VALUE_AT, 4),
    TableColumn(
        "text", "text", text(KV_VALUE_BYTES), KV_VALUE_AT, KV_VALUE_BYTES
    ),
)


def type_of(column: schema.Column, missing: Any = None) -> Type:
    """Returns the SQL type of a column's values."""
    if column.is_integer:
        lo, hi = column.limits
        return integer(lo, min(hi, INT_MAX), missing is not None)
    if column.is_float:
        # A NaN is NULL.
        return replace(FLOAT, nullable=True, single=column.type == "f32")
    if column.type == "text" and column.bytes:
        return text(column.bytes)
    return Type("blob", False, bytes=column.bytes)


def columns_of(
    columns: Iterable[schema.Column],
    offsets: Iterable[int],
    indexed: set[str],
    in_order: Collection[str] = (),
) -> tuple[TableColumn, ...]:
    """Returns columns as statements see them."""
    result = []
    for column, offset in zip(columns, offsets, strict=True):
        missing = column.missing
        if missing is not None:  # an f32 is rounded
            stored = schema.encode_number(column, missing)
            missing = schema.decode_number(column, stored)
        result.append(
            TableColumn(
                column.name,
                column.type,
                type_of(column, missing),
                offset,
                schema.bytes_of([column]),
                missing,
                column.name in indexed,
                column.name in in_order,
            )
        )
    return tuple(result)


def of_volume(table: Any, handle: Any = None) -> TableInfo:
    """Returns a table of a volume.

    table   its catalog entry
    handle  the open table: says how many pages it has; None: not known
    """
    if table.kind == "kv":
        return TableInfo(
            table.name, "kv", KV_COLUMNS, 0, table.row_bytes, cells=KV_CELLS
        )
    columns = columns_of(
        table.columns,
        table.offsets,
        {index.column for index in table.indexes},
        {index.column for index in table.indexes if index.kind == "sorted"},
    )
    key = [c.name for c in table.columns].index(table.key) if columns else 0
    info = TableInfo(
        table.name,
        table.kind,
        columns,
        key,
        table.row_bytes,
        getattr(table, "fingerprint", 0),
        bool(getattr(table, "keys_repeat", False)),
    )
    info = replace(info, fingerprint=info.fingerprint or fingerprint(info))
    return info if handle is None else _measured(info, table, handle)


def _measured(info: TableInfo, table: Any, handle: Any) -> TableInfo:
    """Adds to a table what its pages hold: see TableInfo."""
    page = handle.volume.geometry.page_bytes
    room = (page - _ENVELOPE_BYTES) // info.row_bytes
    frames = handle.arena_bytes // (page + _FRAME_BYTES)
    stats = handle.stats()
    if table.kind == "series":
        ends = handle.oldest(), handle.newest()
        height, pages, frames = 0, stats.pages, frames - 2
    else:
        ends = handle.first(), handle.last()
        height, pages, frames = stats.height, stats.nodes, frames - 1
        share = table.k_percent or 100
        room = max(1, room * share // 100)
        if table.store == "tnc":  # a page has several nodes
            whole = max(1, 100 // share - 1)
            pages, room = -(-pages // whole), room * whole
    oldest, newest = (row and row[table.key] for row in ends)
    is_whole = info.columns[info.key].kind[0] in "iu"
    made = replace(
        info,
        pages=pages,
        height=height,
        frames=max(1, frames),
        page_rows=max(1, room),
        oldest=oldest if is_whole else None,
        newest=newest if is_whole else None,
    )
    return _sampled(made, table, handle) if table.kind == "series" else made


def _sampled(info: TableInfo, table: Any, handle: Any) -> TableInfo:
    """Adds what tells how many rows a range of a sorted index has: a page or
    two of rows from each of a few places."""
    index = next((i for i in table.indexes if i.kind == "sorted"), None)
    if index is None or info.oldest is None or info.newest is None:
        return info
    span, places = info.newest - info.oldest, min(_PLACES, info.pages)
    found: list[float] = []
    for place in range(places):
        key = info.oldest + span * place // places
        end = key + span // info.pages
        rows = handle.scan(key, end, columns=[index.column])
        found += [row[index.column] for row in rows]
    sample = tuple(
        sorted(v for v in found if v is not None and not math.isnan(v))
    )
    plan = plan_sorted(
        info.row_bytes,
        handle.volume.geometry,
        table.blocks[0],
        rows=info.pages * info.page_rows,
        entries=index.entries,
        fan=index.fan,
    )
    columns = tuple(
        replace(c, sample=sample) if c.name == index.column else c
        for c in info.columns
    )
    run_pages = plan.runs + plan.closings
    return replace(info, columns=columns, run_pages=run_pages)


def fingerprint(info: TableInfo) -> int:
    """Computes esk_table_fingerprint of a table that is in no volume."""
    if info.kind == "kv":
        return 0
    repeats = _KEYS_REPEAT if info.keys_repeat else 0
    data = bytes([KIND_NUMBERS[info.kind] | repeats, info.key])
    for column in info.columns:
        made = schema.Column(
            column.name,
            column.kind,
            bytes=column.bytes if column.kind in _WIDE else 0,
        )
        data += struct.pack("<BH", made.type_number, column.bytes)
        data += column.name.encode() + b"\0"
        if column.missing is not None:
            data += schema.encode_number(made, column.missing)
    return crc32c(data)


def crc32c(data: bytes) -> int:
    """Computes the CRC-32C of a few bytes."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


# CREATE ---------------------------------------------------------------------


@dataclass
class Created:
    """What CREATE statements say: a table, and what Volume.create takes.

    columns  for the catalog
    indexes  the same
    options  keyword arguments of create, create_tree or create_kv
    """

    info: TableInfo
    columns: list[schema.Column]
    indexes: list[schema.Index]
    options: dict[str, Any]


def create(
    source: Source, statements: Iterable[s.Statement]
) -> dict[str, Created]:
    """Returns the tables that CREATE statements make. Raises Refusal."""
    made: dict[str, Created] = {}
    for node in statements:
        if isinstance(node, s.CreateTable):
            if node.name.casefold() in (name.casefold() for name in made):
                raise source.refuse(
                    node.span, f"table '{node.name}' is created twice"
                )
            made[node.name] = _table(source, node)
        elif isinstance(node, s.CreateIndex):
            _index(source, node, made)
        else:
            raise source.refuse(node.span, "a schema has only CREATE")
    return made


def _table(source: Source, node: s.CreateTable) -> Created:
    _check_name(source, node, "a table's name")
    if node.kind == "kv" and node.columns:
        raise source.refuse(
            node.columns[0].span, "a kv table has no columns: keys and values"
        )
    columns = []
    for at, column in enumerate(node.columns):
        names = [other.name.casefold() for other in node.columns[:at]]
        if column.name.casefold() in names:
            raise source.refuse(
                column.span, f"column '{column.name}' is there twice"
            )
        columns.append(_column(source, column))
    options = _options(source, node.options, node.kind)
    packed = options.get("codec") == "packed"
    columns = [
        replace(column, mode=_mode(source, of, packed))
        for column, of in zip(columns, node.columns, strict=True)
    ]
    keys = [i for i, column in enumerate(node.columns) if column.is_key]
    if len(keys) > 1:
        raise source.refuse(
            node.columns[keys[1]].span, "a table has one PRIMARY KEY column"
        )
    key = keys[0] if keys else 0
    if node.kind == "series" and not columns[key].is_integer:
        raise source.refuse(
            node.columns[key].span, "the key of a series is an integer column"
        )
    offsets = [schema.bytes_of(columns[:i]) for i in range(len(columns))]
    if node.columns and node.columns[key].missing is not None:
        raise source.refuse(
            node.columns[key].missing.span, "a key is never missing"
        )
    found = columns_of(columns, offsets, set())
    if node.kind == "kv":
        found = KV_COLUMNS
    info = TableInfo(
        node.name,
        node.kind,  # type: ignore[arg-type]
        found,
        key,
        schema.bytes_of(columns),
        keys_repeat=options.get("keys_repeat") == "true",
        cells=KV_CELLS if node.kind == "kv" else (),
    )
    info = replace(info, fingerprint=fingerprint(info))
    return Created(info, columns, [], options)


def _check_name(
    source: Source, node: s.ColumnDef | s.CreateTable, what: str
) -> None:
    """Refuses a name that a catalog does not hold."""
    if not 1 <= len(node.name.encode()) <= _NAME_BYTES_MAX:
        raise source.refuse(
            node.span, f"{what} has 1 to {_NAME_BYTES_MAX} bytes"
        )


def _mode(source: Source, node: s.ColumnDef, packed: bool) -> str:
    """Returns how a column is packed: DECIMAL(n), or PACK."""
    kind = node.type
    if node.mode is None:
        is_decimal = kind.name == "decimal" and packed
        return f"decimal:{kind.width}" if is_decimal else ""
    made, width = node.mode, node.mode.width
    mode = made.name if width is None else f"{made.name}:{width}"
    if not mode or mode not in schema.MODES:
        raise source.refuse(
            made.span, "PACK is delta, linear, float, raw or decimal(0) to (3)"
        )
    if not packed:
        raise source.refuse(
            made.span, "only a series WITH (codec = packed) is packed"
        )
    return mode


def _column(source: Source, node: s.ColumnDef) -> schema.Column:
    name, width = node.type.name, node.type.width
    if name == "decimal":
        if width not in range(_DECIMALS_MAX + 1):
            raise source.refuse(
                node.type.span,
                "decimal takes 0 to 3 decimals: decimal(2) is an f32 with two",
            )
        name, width = "f32", None
        node = replace(node, type=replace(node.type, name=name, width=None))
    if name not in schema.TYPES:
        advice = (
            f"; did you mean '{_OTHER_TYPES[name]}'?"
            if name in _OTHER_TYPES
            else nearest(name, schema.TYPES)
            or f"; there is {', '.join(schema.TYPES)}"
        )
        raise source.refuse(node.type.span, f"no type '{name}'{advice}")
    if width is not None and name not in _WIDE:
        raise source.refuse(node.type.span, f"{name} takes no width")
    if width is None and name == "bytes":
        raise source.refuse(node.type.span, "bytes takes a width: bytes(8)")
    if width is not None and not 1 <= width <= 1024:
        raise source.refuse(node.type.span, "a width is 1 to 1024")
    _check_name(source, node, "a column's name")
    if len(node.unit.encode()) > _NAME_BYTES_MAX:
        raise source.refuse(
            node.span, f"a unit has at most {_NAME_BYTES_MAX} bytes"
        )
    missing = _missing(source, node)
    return schema.Column(node.name, name, node.unit, width or 0, missing)


def _missing(source: Source, node: s.ColumnDef) -> int | float | None:
    """Returns the value that stands for NULL."""
    if node.missing is None:
        return None
    column, value = schema.Column(node.name, node.type.name), node.missing.value
    if not column.is_numeric or node.type.name[1:] == "64":
        raise source.refuse(
            node.missing.span,
            f"'{node.name}' ({node.type.name}) has no missing value: numbers of "
            "at most 32 bits can",
        )
    if isinstance(value, str):
        raise source.refuse(node.missing.span, "the missing value is a number")
    if column.is_integer:
        lo, hi = column.limits
        if not isinstance(value, int) or not lo <= value <= hi:
            raise source.refuse(
                node.missing.span,
                f"the missing value of '{node.name}' is {lo} to {hi}",
            )
    elif math.isinf(schema.float_ceiling(column, abs(value))):
        raise source.refuse(node.missing.span, "the number is beyond f32")
    return value


def _index(
    source: Source, node: s.CreateIndex, made: dict[str, Created]
) -> None:
    infos = {name: created.info for name, created in made.items()}
    info = table_named(source, infos, node.table, node.span)
    created = made[info.name]
    if info.kind != "series":
        raise source.refuse(node.span, f"'{info.name}' is no series")
    names = [column.name for column in info.columns]
    if node.column not in names:
        raise source.refuse(
            node.column_span,
            f"no column '{node.column}' in {info.name}"
            + nearest(node.column, names),
        )
    at = names.index(node.column)
    column = info.columns[at]
    if at == info.key or not column.type.is_number:
        raise source.refuse(
            node.column_span, "an index is of a column of numbers, not the key"
        )
    if node.using == "sorted":
        index = _sorted_index(source, node, created, column)
    else:
        index = _summary(source, node, created)
    created.indexes.append(index)
    columns = list(info.columns)
    columns[at] = replace(
        column,
        indexed=True,
        in_order=column.in_order or node.using == "sorted",
    )
    created.info = replace(info, columns=tuple(columns))


def _summary(
    source: Source, node: s.CreateIndex, made: Created
) -> schema.Index:
    found = [i.column for i in made.indexes if i.kind == "summary"]
    if node.column in found:
        raise source.refuse(node.column_span, "the column is indexed twice")
    options = _options(source, node.options, "index")
    edges = options.get("edges")
    if not all(isinstance(edge, (int, float)) for edge in edges or ()):
        raise source.refuse(node.span, "edges takes a list of numbers")
    if any(a >= b for a, b in pairwise(edges or ())):
        raise source.refuse(node.span, "edges rise")
    return schema.Index(
        node.column,
        options.get("bitmap", schema.BITMAP),
        tuple(edges) if edges else None,
    )


def _sorted_index(
    source: Source, node: s.CreateIndex, made: Created, column: TableColumn
) -> schema.Index:
    if column.bytes > _SORTED_BYTES:
        raise source.refuse(
            node.column_span, "a sorted index is of a column of at most 32 bits"
        )
    if any(index.kind == "sorted" for index in made.indexes):
        raise source.refuse(node.span, "a table has one sorted index at most")
    options = _options(source, node.options, "sorted index")
    return schema.Index(
        node.column,
        0,
        None,
        "sorted",
        options.get("entries", 0),
        options.get("fan", 0),
    )


def _options(
    source: Source, options: Iterable[s.Option], kind: str
) -> dict[str, Any]:
    """Checks the options of WITH (..)."""
    known, result = OPTIONS[kind], {}
    for option in options:
        name, value = option.name, option.value
        if name not in known:
            raise source.refuse(
                option.span,
                f"no option '{name}' of {kind}"
                + (nearest(name, known) or f"; there is {', '.join(known)}"),
            )
        if name in result:
            raise source.refuse(option.span, f"option '{name}' is given twice")
        wanted = known[name]
        if isinstance(wanted, tuple):
            if value not in wanted:
                words = [str(word) for word in wanted]
                raise source.refuse(
                    option.value_span,
                    f"{name} is {listed(words)}" + nearest(str(value), words),
                )
        elif isinstance(wanted, range):
            if type(value) is not int or value and value not in wanted:
                raise source.refuse(
                    option.value_span,
                    f"{name} takes a whole number from {wanted[0]} to "
                    f"{wanted[-1]}",
                )
        elif not isinstance(value, wanted):
            raise source.refuse(
                option.value_span, f"{name} takes a list (1, 2, ..)"
            )
        result[name] = value
    return result
