# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Values as a column stores them, or why it does not."""

from __future__ import annotations

import math
from typing import Any

from eskerdb import schema
from eskerdb.errors import SchemaError
from eskerdb.kv_value import TYPES
from eskerdb.sql.plan import TableColumn
from eskerdb.sql.rules import Fault


def catalog_column(column: TableColumn) -> schema.Column:
    """Returns a column as the catalog has it."""
    return schema.Column(column.name, column.kind, bytes=column.type.bytes)


def stored(column: TableColumn, value: Any, is_key: bool = False) -> Any:
    """Returns what a row has for a value of SQL. Raises Fault.

    is_key   the column is the key, which is never NULL
    """
    name, kind = column.name, column.kind
    if kind == "type":
        return _type(value)
    if value is None:
        return _null(column, is_key)
    if kind == "any":
        return value
    if kind in ("bytes", "var"):
        return _bytes(column, value)
    if kind == "text":
        return _text(column, value)
    if isinstance(value, (str, bytes)):
        raise Fault(f"column '{name}' takes a number, not {_what(value)}")
    if kind in ("f32", "f64"):
        made: Any = _float(column, value)
    else:
        made = _integer(column, value)
    if made == column.missing:
        raise Fault(f"{value} stands for NULL in column '{name}': write NULL")
    return made


def _type(value: Any) -> str | None:
    """Checks the type of a kv table's value; None: that of the value."""
    if value is not None and value not in TYPES:
        raise Fault(f"a value's type is one of {', '.join(TYPES)}")
    return value


def _null(column: TableColumn, is_key: bool) -> int | float:
    if is_key:
        raise Fault(f"the key '{column.name}' is never NULL")
    if column.missing is not None:
        return column.missing
    if column.kind in ("f32", "f64"):
        return math.nan
    raise Fault(f"column '{column.name}' takes no NULL")


def _integer(column: TableColumn, value: float) -> int:
    if isinstance(value, float) and not value.is_integer():
        raise Fault(
            f"column '{column.name}' takes whole numbers, not {value!r}"
        )
    lo, hi = catalog_column(column).limits
    if not lo <= value <= hi:
        raise Fault(
            f"column '{column.name}' ({column.kind}) takes {lo} to {hi}, not "
            f"{int(value)}"
        )
    return int(value)


def _float(column: TableColumn, value: float) -> float:
    catalog = catalog_column(column)
    try:
        piece = schema.encode_number(catalog, float(value))
    except SchemaError:
        raise Fault(
            f"column '{column.name}' ({column.kind}) has no {value!r}: it is "
            "beyond the type"
        ) from None
    return schema.decode_number(catalog, piece)


def _text(column: TableColumn, value: Any) -> str:
    if not isinstance(value, str):
        raise Fault(f"column '{column.name}' takes a text, not {_what(value)}")
    size, most = len(value.encode()), column.type.bytes
    if most and size > most:
        raise Fault(
            f"column '{column.name}' takes at most {most} bytes of UTF-8; the "
            f"text has {size}"
        )
    if most and "\0" in value:
        raise Fault(f"column '{column.name}' takes no text with a zero byte")
    return value


def _bytes(column: TableColumn, value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise Fault(
            f"column '{column.name}' takes bytes, x'..', not {_what(value)}"
        )
    width = column.type.bytes
    if width and len(value) != width:
        raise Fault(
            f"column '{column.name}' takes exactly {width} bytes, not "
            f"{len(value)}"
        )
    return value


def _what(value: Any) -> str:
    if isinstance(value, str):
        return "a text"
    return "bytes" if isinstance(value, bytes) else "a number"
