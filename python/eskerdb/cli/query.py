# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""`esker query IMAGE 'SQL'`: any SQL over an image's tables."""

from __future__ import annotations

from typing import Annotated

import typer

from eskerdb.cli.answer import answer
from eskerdb.cli.arguments import Image


def query(
    image: Image,
    sql: Annotated[
        str,
        typer.Argument(metavar="SQL", help="SQL statements; each is answered."),
    ],
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
) -> None:
    """Answer SQL from an image, which is opened read-only.

    Every table of the image is a table of the query. The machine that a
    device has answers what docs/sql.md describes, and DuckDB the rest; a line
    on stderr says which.
    """
    if as_csv and as_json:
        raise typer.BadParameter("choose one of --csv and --json")
    form = "csv" if as_csv else "json" if as_json else ""
    raise typer.Exit(answer(image, sql, form, rows, explain))
