# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""`esker sqlc SCHEMA QUERIES -o NAME`: queries as functions in C."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from eskerdb.cli.output import complain
from eskerdb.sql.access import Limits
from eskerdb.sql.source import Refusal
from eskerdb.sqlc import compile_text
from eskerdb.sqlc.kv import KvRoom

_LIMITS = Limits()
_ROOM = KvRoom()
_RECORDS_MAX = 65535  # what a group table and an order count
_NAME = re.compile(r"[\w.-]*\w[\w.-]*")

_ValueBytes = Annotated[
    int,
    typer.Option(
        help="Bytes of a kv table's value in a row.", min=1, max=65535
    ),
]
_CursorBytes = Annotated[
    int, typer.Option(help="Memory of a kv table's cursor.", min=512, max=65535)
]


def sqlc(
    schema: Annotated[
        Path, typer.Argument(metavar="SCHEMA", help="CREATE statements.")
    ],
    queries: Annotated[
        Path,
        typer.Argument(
            metavar="QUERIES", help="SELECTs, each after `-- name: NAME`."
        ),
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", help="Write OUT.h and OUT.c.")
    ],
    step_pages: Annotated[
        int,
        typer.Option(
            help="Return ESK_AGAIN after so many pages; 0: never.",
            min=0,
            max=(1 << 32) - 1,
        ),
    ] = 0,
    groups: Annotated[
        int,
        typer.Option(help="Most groups of GROUP BY.", min=1, max=_RECORDS_MAX),
    ] = _LIMITS.groups,
    sorted: Annotated[
        int,
        typer.Option(help="Most rows of ORDER BY.", min=1, max=_RECORDS_MAX),
    ] = _LIMITS.sorted,
    ranges: Annotated[
        int, typer.Option(help="ESK_SERIES_RANGES_MAX of the device.", min=1)
    ] = _LIMITS.ranges,
    value_bytes: _ValueBytes = _ROOM.value_bytes,
    cursor_bytes: _CursorBytes = _ROOM.cursor_bytes,
    scratch: Annotated[
        bool,
        typer.Option(
            "--scratch", help="ORDER BY of more rows goes through a scratch."
        ),
    ] = False,
) -> None:
    """Compile queries to C: a struct, an open and a next for each.

    The C has no interpreter and takes no memory but that struct; it calls
    EskerDB's public functions. An error says file, line and column.
    """
    out = out.with_suffix("") if out.suffix in (".c", ".h") else out
    if not _NAME.fullmatch(out.name):
        raise typer.BadParameter(
            f"'{out}' ends with no name of letters, digits, '_', '-' and '.'"
        )
    try:
        (header, source), _ = compile_text(
            _read(schema),
            _read(queries),
            out.name,
            step_pages,
            Limits(ranges, groups, sorted, scratch=scratch),
            str(schema),
            str(queries),
            KvRoom(value_bytes, cursor_bytes),
        )
        Path(f"{out}.h").write_text(header, "utf-8")
        Path(f"{out}.c").write_text(source, "utf-8")
    except Refusal as refusal:
        typer.echo(str(refusal), err=True)
        raise typer.Exit(1) from None
    except OSError as failure:
        complain(f"{failure.filename}: {failure.strerror}; name another file")
        raise typer.Exit(1) from None


def _read(path: Path) -> str:
    """Returns a file's text, without a byte order mark."""
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as failure:
        complain(
            f"{path}: byte {failure.start} is not UTF-8; save the file as UTF-8"
        )
        raise typer.Exit(1) from None
