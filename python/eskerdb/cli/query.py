# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""`esker query IMAGE 'SQL'`: any SQL over an image's tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eskerdb.cli.answer import answer
from eskerdb.cli.port import answer as answer_by_port
from eskerdb.line import BAUD


def query(
    image: Annotated[
        str | None,
        typer.Argument(
            metavar="IMAGE",
            help="Image of a flash device; none with --port.",
        ),
    ] = None,
    sql: Annotated[
        str | None,
        typer.Argument(metavar="SQL", help="SQL statements; each is answered."),
    ] = None,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print CSV with a header.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object a line.")
    ] = False,
    rows: Annotated[
        int,
        typer.Option(help="Most rows of a printed table; 0: all.", min=0),
    ] = 40,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print the plans instead.")
    ] = False,
    port: Annotated[
        str | None,
        typer.Option(
            metavar="TTY", help="Ask the device on this serial port instead."
        ),
    ] = None,
    baud: Annotated[int, typer.Option(help="Of the port.", min=1)] = BAUD,
    wait: Annotated[
        float,
        typer.Option(help="Seconds that the device may be silent.", min=1),
    ] = 10,
    schema: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Its tables: CREATE statements (.sql) or an image; else the "
            "device says them.",
        ),
    ] = None,
) -> None:
    """Answer SQL from an image, which is opened read-only, or from a device.

    Every table of the image is a table of the query. The machine that a
    device has answers what docs/sql.md describes, and DuckDB the rest; a line
    on stderr says which. With --port the device itself runs the query while it
    goes on with its work: `esker query --port /dev/ttyUSB0 SQL`.
    """
    if as_csv and as_json:
        raise typer.BadParameter("choose one of --csv and --json")
    form = "csv" if as_csv else "json" if as_json else ""
    if port is not None:
        if sql is not None:
            raise typer.BadParameter(
                "--port takes no image; --schema can name one"
            )
        if image is None:
            raise _missing("SQL")
        raise typer.Exit(
            answer_by_port(port, baud, wait, schema, image, form, rows, explain)
        )
    if schema is not None:
        raise typer.BadParameter("--schema is for --port")
    if image is None or sql is None:
        raise _missing("IMAGE" if image is None else "SQL")
    raise typer.Exit(answer(image, sql, form, rows, explain))


def _missing(name: str) -> typer.BadParameter:
    return typer.BadParameter(f"missing argument '{name}'")
