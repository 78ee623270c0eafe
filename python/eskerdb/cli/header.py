# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""`esker header IMAGE TABLE`: a table's shape as constants in C."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import eskerdb
from eskerdb.cli.arguments import Image
from eskerdb.cli.output import complain
from eskerdb.shape import header_text


def header(
    image: Image,
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="A table of the image.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Write it there."),
    ] = None,
    bad_blocks: Annotated[
        bool,
        typer.Option(
            "--bad-blocks", help="The firmware's driver marks bad blocks."
        ),
    ] = False,
) -> None:
    """Print a C header with a table's shape, for -DESK_SHAPE=FILE.

    A firmware that is compiled with it opens only that table, links no
    catalog code, and can write the volume to a blank medium (esker/shape.h).
    """
    flag = " --bad-blocks" if bad_blocks else ""
    command = f"esker header {image.name} {table}{flag}"
    with eskerdb.open(image) as volume:
        text = header_text(volume, table, command, keeps_marks=bad_blocks)
    if out is None:
        typer.echo(text, nl=False)
        return
    try:
        out.write_text(text, "utf-8")
    except OSError as failure:
        complain(f"{out}: {failure.strerror}; name a file that can be written")
        raise typer.Exit(1) from None
