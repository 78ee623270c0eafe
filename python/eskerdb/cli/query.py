# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""`esker query IMAGE 'SQL'`: any SQL over an image's tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from eskerdb.cli.answer import answer
from eskerdb.cli.port import answer as answer_by_port
from eskerdb.line import BAUD
from eskerdb.sql.tokens import NO_UTF8

_Image = Annotated[
    str | None,
    typer.Argument(
        metavar="IMAGE", help="Image of a flash device; none with --port."
    ),
]
_Sql = Annotated[
    str | None,
    typer.Argument(metavar="SQL", help="SQL statements; each is answered."),
]
_Csv = Annotated[bool, typer.Option("--csv", help="Print CSV with a header.")]
_Json = Annotated[
    bool, typer.Option("--json", help="Print a JSON object a line.")
]
_Rows = Annotated[
    int, typer.Option(help="Most rows of a printed table; 0: all.", min=0)
]
_Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        metavar="NAME=VALUE",
        help="Value of the parameter :NAME; may be given again.",
    ),
]
_File = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Take the SQL from a file; -: from stdin."
    ),
]
_Explain = Annotated[
    bool, typer.Option("--explain", help="Print the plans instead.")
]
_Port = Annotated[
    str | None,
    typer.Option(
        metavar="TTY", help="Ask the device on this serial port instead."
    ),
]
_Schema = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Its tables: CREATE statements (.sql) or an image; else the "
        "device says them.",
    ),
]


def query(
    image: _Image = None,
    sql: _Sql = None,
    as_csv: _Csv = False,
    as_json: _Json = False,
    rows: _Rows = 40,
    parameters: _Parameters = None,
    file: _File = None,
    explain: _Explain = False,
    port: _Port = None,
    baud: Annotated[int, typer.Option(help="Of the port.", min=1)] = BAUD,
    wait: Annotated[
        float,
        typer.Option(help="Seconds that the device may be silent.", min=1),
    ] = 10,
    schema: _Schema = None,
    in_batches: Annotated[
        bool,
        typer.Option(
            "--batches",
            help="Make an UPDATE or DELETE of too many rows in several "
            "batches, each of them atomic.",
        ),
    ] = False,
) -> None:
    """Answer SQL from an image, or from a device.

    Every table of the image is a table of the query. The machine that a
    device has answers what docs/sql.md describes, and DuckDB the rest; a line
    on stderr says which. The image is written only by INSERT, UPDATE and
    DELETE. With --port the device itself runs the query while it goes on with
    its work: `esker query --port /dev/ttyUSB0 SQL`.
    """
    if as_csv and as_json:
        raise typer.BadParameter("choose one of --csv and --json")
    form = "csv" if as_csv else "json" if as_json else ""
    if file is not None:
        if sql is not None or (port is not None and image is not None):
            raise typer.BadParameter("give SQL, or --file FILE, not both")
        text = _text_of(file)
        image, sql = (text, None) if port is not None else (image, text)
    if port is not None:
        if sql is not None:
            raise typer.BadParameter(
                "--port takes no image; --schema can name one"
            )
        if image is None:
            raise _missing("SQL")
        values = _values(parameters or [])
        raise typer.Exit(
            answer_by_port(
                port, baud, wait, schema, image, form, rows, explain, values
            )
        )
    if schema is not None:
        raise typer.BadParameter("--schema is for --port")
    if image is None or sql is None:
        raise _missing("IMAGE" if image is None else "SQL")
    values = _values(parameters or [])
    name = "sql" if file is None else str(file)
    raise typer.Exit(
        answer(image, sql, form, rows, explain, values, name, in_batches)
    )


def _values(given: list[str]) -> dict[str, str]:
    """Reads NAME=VALUE. Raises BadParameter."""
    values: dict[str, str] = {}
    for text in given:
        name, is_given, value = text.partition("=")
        name = name.removeprefix(":")
        if not is_given or not name.isidentifier():
            raise typer.BadParameter(f"--param {name}: write NAME=VALUE")
        if name in values:
            raise typer.BadParameter(f"--param {name} is given twice")
        if NO_UTF8.search(value):
            raise typer.BadParameter(f"--param {name}: it is not valid UTF-8")
        values[name] = value
    return values


def _text_of(file: Path) -> str:
    """Returns the text of a file. Raises BadParameter."""
    is_stdin = str(file) == "-"
    try:
        data = sys.stdin.buffer.read() if is_stdin else file.read_bytes()
    except OSError as failure:
        raise typer.BadParameter(f"{file}: {failure.strerror}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
        raise typer.BadParameter(
            f"{file}:{line}: the file is not valid UTF-8"
        ) from None


def _missing(name: str) -> typer.BadParameter:
    return typer.BadParameter(f"missing argument '{name}'")
