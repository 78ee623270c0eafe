# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""`esker salvage IMAGE OUT`: the readable rows and keys of a damaged image."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eskerdb.cli.arguments import Image, geometry_of
from eskerdb.cli.output import console, count, sheet, warn
from eskerdb.salvage import Gap, SalvagedTable
from eskerdb.salvage import salvage as salvage_image

_GAPS_SHOWN = 10  # of a table


def salvage(
    image: Image,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The new image.")],
    page: Annotated[
        int | None, typer.Option(help="Bytes a page of the device.")
    ] = None,
    block: Annotated[
        str | None, typer.Option(help="Bytes an erase block of the device.")
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(help="Size of the device. Default: the file's."),
    ] = None,
) -> None:
    """Write the readable rows and keys of a damaged or truncated image to a new
    one.

    If the image has no superblock, give --page and --block of the device, and
    also --size if the image is too short. Status 1 when something was lost.
    """
    geometry = None
    if page is not None and block is not None:
        length = size or str(image.stat().st_size)
        geometry = geometry_of(page, block, length)
    elif page is not None or block is not None or size is not None:
        raise typer.BadParameter(
            "give --page and --block, or neither and no --size"
        )
    found = salvage_image(image, out, geometry=geometry)
    if found.bytes_missing:
        warn(f"the image ends {found.bytes_missing:,} bytes early")
    if found.pages_lost:
        pages = count(found.pages_lost, "catalog page")
        warn(f"{pages} lost: tables may be missing")
    if found.catalog not in ("whole", "none"):
        warn(f"catalog: {found.catalog}")
    lines = sheet("table", "kind", "rows", "lost", right=("rows",))
    for table in found.tables:
        lines.add_row(
            table.name,
            table.kind,
            f"{table.rows:,}",
            _lost(table) or "nothing",
        )
    out_console = console()
    out_console.print(lines)
    out_console.print(f"{count(len(found.tables), 'table')} written to {out}")
    for table in found.tables:
        for gap in table.gaps[:_GAPS_SHOWN]:
            warn(f"table '{table.name}': rows are lost {_where(gap)}")
        if len(table.gaps) > _GAPS_SHOWN:
            rest = len(table.gaps) - _GAPS_SHOWN
            warn(f"table '{table.name}': and in {count(rest, 'more place')}")
        for key in table.keys_missing[:_GAPS_SHOWN]:
            warn(f"table '{table.name}': key {key!r} is lost")
        if len(table.keys_missing) > _GAPS_SHOWN:
            rest = len(table.keys_missing) - _GAPS_SHOWN
            warn(f"table '{table.name}': and {count(rest, 'more key')}")
    lost = found.bytes_missing or found.pages_lost
    if lost or any(_lost(table) for table in found.tables):
        raise typer.Exit(1)


def _where(gap: Gap) -> str:
    """Says between which keys."""
    if gap.after is None and gap.before is None:
        return "from its first to its last"
    if gap.after is None:
        return f"before key {gap.before}"
    if gap.before is None:
        return f"after key {gap.after}"
    return f"between key {gap.after} and key {gap.before}"


def _lost(table: SalvagedTable) -> str:
    """Says what a table lost; "" when nothing."""
    parts = [
        f"{number:,} {what}"
        for number, what in (
            (table.rows_missing, "keys" if table.kind == "kv" else "rows"),
            (table.pages_damaged, "pages"),
            (table.values_missing, "values"),
        )
        if number
    ]
    if not parts and table.gaps:  # of pages that may be torn: at its end
        parts = ["rows"]
    return ", ".join(parts + ([table.problem] if table.problem else []))
