# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""`esker import` into a kv table: CSV with the columns key, value and, if the
file has it, type; or JSON, one object a line.

The whole file is read before anything is written: a line that cannot be read
changes nothing. A value without a type is text, or has that of its JSON type.
"""

from __future__ import annotations

from typing import Any

from eskerdb.cli.csv_file import CsvFile, Refused
from eskerdb.cli.json_file import JsonFile
from eskerdb.cli.output import count
from eskerdb.errors import EskerError, SchemaError
from eskerdb.kv import Kv
from eskerdb.kv_value import (
    COLUMNS,
    TYPES,
    encode,
    encode_key,
    read_key,
    read_text,
)


def import_kv(kv: Kv, source: CsvFile | JsonFile) -> int:
    """Sets every key of the file; returns how many lines. Raises Fault."""
    check_header(source)
    places = {name: at for at, name in enumerate(source.header)}
    lines = [
        (line, *_parsed(source, line, places, fields))
        for line, fields in source.records()
    ]
    done = 0
    for line, key, value, kind in lines:
        try:
            kv.put(key, value, kind)
        except EskerError as failure:
            raise _stopped(kv, source.fault(line, str(failure)), done) from None
        done += 1
    kv.sync()
    return done


def check_header(source: CsvFile | JsonFile) -> None:
    """Raises Fault when the file's columns are not those of a kv table."""
    if source.header[0].startswith("{"):
        raise source.fault(
            1, "JSON; give the file a name that ends in .json or .jsonl"
        )
    for name in source.header:
        if name not in COLUMNS:
            raise source.fault(
                1,
                "a kv table has no such column, only "
                f"{', '.join(COLUMNS)}; rename or remove it",
                name,
            )
    for name in COLUMNS[:2]:
        if name not in source.header:
            raise source.fault(1, "missing; a kv table needs it, add it", name)


def _parsed(
    source: CsvFile | JsonFile,
    line: int,
    places: dict[str, int],
    fields: list[str],
) -> tuple[Any, Any, str]:
    """Reads one line: key, value, type. Raises Fault."""
    kind = "text"
    if "type" in places:
        kind = fields[places["type"]].strip() or "text"
    if kind not in TYPES:
        raise source.fault(
            line, f"no type '{kind}'; use one of {', '.join(TYPES)}", "type"
        )
    column = "key"
    try:
        key = read_key(fields[places["key"]])
        encode_key(key)
        column = "value"
        value = read_text(fields[places["value"]], kind)
        encode(value, kind)
    except SchemaError as fault:
        raise source.fault(line, f"{fault}; correct the line", column) from None
    return key, value, kind


def _stopped(kv: Kv, fault: Exception, done: int) -> Refused:
    """Syncs what was set, and adds its number to the message."""
    try:
        kv.sync()
    except EskerError as failure:
        return Refused(f"{fault}; and then {failure}")
    return Refused(
        f"{fault}\n{count(done, 'row')} before it imported and synced"
    )
