# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""`esker get`, `esker set` and `esker list`: keys and values of a kv table."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

import eskerdb
from eskerdb.cli.arguments import Image
from eskerdb.cli.output import (
    complain,
    console,
    count,
    quoted,
    sheet,
    warn,
)
from eskerdb.errors import SchemaError
from eskerdb.kv import Kv, KvEntry
from eskerdb.kv_value import COLUMNS, read_key, read_text

Table = Annotated[
    str, typer.Argument(metavar="TABLE", help="A kv table of the image.")
]
Key = Annotated[
    str,
    typer.Argument(
        metavar="KEY", help="Text; of bytes \\x and hexadecimal digits."
    ),
]


class Type(str, Enum):
    """Types of values."""

    text = "text"
    bytes = "bytes"
    int = "int"
    signed = "signed"
    float = "float"
    float32 = "float32"
    bool = "bool"


@contextmanager
def open_kv(image: Path, table: str, *, write: bool = False) -> Iterator[Kv]:
    """Opens a kv table of an image; status 1 when it is of another kind."""
    with eskerdb.open(image, read_only=not write) as volume:
        kind = volume.table(table).kind
        if kind != "kv":
            complain(
                f"table '{table}' is a {kind}, not a kv table; use `esker "
                "query` and `esker import`"
            )
            raise typer.Exit(1)
        with volume.open_kv(table) as kv:
            yield kv


def get(image: Image, table: Table, key: Key) -> None:
    """Print the value of a key of a kv table; status 1 if it is not there, or
    if the table has damaged pages, which may have had a newer one.

    Bytes are printed as \\x and hexadecimal digits.
    """
    with open_kv(image, table) as kv:
        damage = _damage(kv)
        if damage:
            warn(damage)
        value, _ = kv.stored(read_key(key)).written()
    typer.echo(value)
    if damage:
        raise typer.Exit(1)


def set(
    image: Image,
    table: Table,
    key: Key,
    value: Annotated[
        str,
        typer.Argument(
            metavar="VALUE",
            help="Of type bool: true, false; of bytes: hexadecimal digits.",
        ),
    ],
    type: Annotated[
        Type,
        typer.Option(
            "--type",
            help="What the value is; the table's present type is not looked "
            "at. int is unsigned, or signed if below zero; firmware reads "
            "signed with esk_kv_get_i32, float32 with esk_kv_get_f32.",
        ),
    ] = Type.text,
) -> None:
    """Set the value of a key of a kv table: a text, unless --type says what.

    The change is on the medium when the command ends.
    """
    wanted = read_key(key)
    try:
        parsed = read_text(value, type.value)
    except SchemaError as fault:
        complain(f"key '{key}': {fault}; correct the value, or use --type")
        raise typer.Exit(1) from None
    with open_kv(image, table, write=True) as kv:
        damage = _damage(kv)
        if damage:
            warn(damage)
        before = kv.stored(wanted).type_name if wanted in kv else None
        kv.put(wanted, parsed, type.value)
        now = kv.stored(wanted).type_name
    if before is not None and before != now:
        warn(
            f"key '{key}' was of type {before} and is {now} now; --type "
            f"{before} sets it as it was"
        )


def list(
    image: Image,
    table: Table,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object a line.")
    ] = False,
    as_csv: Annotated[
        bool,
        typer.Option("--csv", help="Print CSV that `esker import` reads."),
    ] = False,
    prefix: Annotated[
        str,
        typer.Option("--prefix", help="Only keys that begin so; as KEY."),
    ] = "",
) -> None:
    """List the keys of a kv table in their order, with values and types.

    Status 1 when some cannot be read; the others are printed.
    """
    if as_csv and as_json:
        raise typer.BadParameter("choose one of --csv and --json")
    with open_kv(image, table) as kv:
        entries, lost = kv.scan(read_key(prefix))
        damage = _damage(kv, lost)
    if as_json:
        _print_json(entries)
    elif as_csv:
        _print_csv(entries)
    else:
        lines = sheet(*COLUMNS)
        for entry in entries:
            lines.add_row(*map(_cell, entry.texts()))
        out = console()
        out.print(lines)
        out.print(count(len(entries), "key"))
    if damage:
        warn(damage)
        raise typer.Exit(1)


def _damage(kv: Kv, lost: int = 0) -> str:
    """Says what cannot be read: pages, and `lost` keys; "" if all can."""
    pages = kv.stats().pages_lost
    if not (lost or pages):
        return ""
    keys = f"{count(lost, 'key')} and " if lost else ""
    return (
        f"table '{kv.name}': {keys}{count(pages, 'page')} cannot be read: "
        "damaged, or torn by a power cut; newer values may have been there, "
        "and `esker verify` shows the damage"
    )


def _cell(text: str) -> Text:
    """Returns a cell; quoted where it has letters that cannot be printed."""
    return Text(text if text.isprintable() else json.dumps(text))


def _print_csv(entries: Any) -> None:
    sys.stdout.write(",".join(COLUMNS) + "\n")
    for entry in entries:
        sys.stdout.write(",".join(map(quoted, entry.texts())) + "\n")
        if entry.stored.type_name == "text" and entry.texts()[2] != "text":
            warn(f"key {entry.key!r}: its text is not UTF-8; printed as bytes")


def _print_json(entries: Any) -> None:
    odd = 0
    for entry in entries:
        value = _json(entry)
        odd += value is None
        key, _, kind = entry.texts()
        line = dict(zip(COLUMNS, (key, value, kind), strict=True))
        print(json.dumps(line, ensure_ascii=False))
    if odd:
        warn(
            f"{count(odd, 'value')} NaN or infinite: JSON has no such numbers, "
            "they are printed as null; --csv prints them"
        )


def _json(entry: KvEntry) -> Any:
    value = entry.stored.value
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return float(entry.texts()[1])  # of 4 bytes: the shortest
    return value if isinstance(value, (int, bool)) else entry.texts()[1]
