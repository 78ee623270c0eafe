# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Open tables as a program reads them, and its outputs of kv tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from eskerdb._esker import lib
from eskerdb.kv_value import key_text
from eskerdb.program import KV_VALUE_BYTES, KvRows
from eskerdb.sql.plan import TableInfo


def of_program(
    tables: Iterable[TableInfo], opened: Mapping[str, Any]
) -> list[Any]:
    """Returns the tables of a program; a kv table with and without values."""
    handles: list[Any] = []
    for table in tables:
        handle = opened[table.name]
        if table.kind == "kv":
            most = lib.ESK_KV_KEY_BYTES_MAX
            handles += [
                KvRows(handle, most, room, True) for room in (KV_VALUE_BYTES, 0)
            ]
        else:
            handles.append(handle)
    return handles


def of_kv(role: str, value: Any, kv: KvRows) -> Any:
    """Returns an output as a kv table's columns are written.

    role    as of Code.roles
    value   of a program that was run with errors="surrogateescape"
    """
    if not isinstance(value, (str, bytes)):
        return value
    if role in ("value", "type"):
        return kv.stored(bytes(value)).written()[role == "type"]
    raw = str(value).encode(errors="surrogateescape")
    return key_text(raw) if role == "key" else raw.decode(errors="replace")
