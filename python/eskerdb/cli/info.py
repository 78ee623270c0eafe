# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""`esker info IMAGE`: what an image holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import eskerdb
from eskerdb.cli.arguments import Image
from eskerdb.cli.output import console, grid, instant, sheet, size, warn
from eskerdb.errors import EskerError
from eskerdb.volume import Table, Volume


def info(
    image: Image,
    check: Annotated[
        bool, typer.Option("--check", help="Verify every page.")
    ] = False,
) -> None:
    """Show an image's volume, geometry, tables, columns and counts."""
    out = console()
    healthy = True
    with eskerdb.open(image) as volume:
        _volume(out, image, volume)
        tables = volume.tables()
        if not tables:
            out.print("\nno tables; `esker import --create` makes one")
        for table in tables:
            healthy &= _table(out, volume, table, check)
    if not healthy:
        raise typer.Exit(1)


def _volume(out: Console, image: Path, volume: Volume) -> None:
    geometry = volume.geometry
    table = grid(f"volume {image}")
    table.add_row(
        "size",
        f"{size(geometry.bytes)}: {geometry.block_count:,} blocks of "
        f"{geometry.block_pages} pages of {geometry.page_bytes:,} bytes",
    )
    table.add_row(
        "programs",
        f"{geometry.program_bytes} byte units, "
        + (
            f"at most {geometry.programs_per_page_max} a page"
            if geometry.programs_per_page_max
            else "any number a page"
        )
        + (", overwritable" if geometry.overwrite else ""),
    )
    table.add_row("checksum", volume.checksum)
    table.add_row(
        "catalog",
        f"commit {volume.commit}, {volume.halves_whole} of 2 copies whole",
    )
    out.print(table)


def _table(out: Console, volume: Volume, table: Table, check: bool) -> bool:
    """Prints one table; returns whether it could be read."""
    facts = grid(f"\n{table.kind} {table.name}")
    healthy = True
    try:
        with volume.open(table.name) as series:
            unit = series.key.unit
            facts.add_row("rows", f"{series.count():,}")
            oldest, newest = series.oldest(), series.newest()
            if oldest and newest:
                facts.add_row("oldest", instant(oldest[table.key], unit))
                facts.add_row("newest", instant(newest[table.key], unit))
            facts.add_row("RAM to open", f"{series.arena_bytes:,} B here")
            if check:
                report = series.check()
                healthy = report.ok
                facts.add_row("check", _verdict(report))
    except EskerError as failure:
        warn(str(failure))
        healthy = False
    facts.add_row("row", f"{table.row_bytes} bytes")
    facts.add_row(
        "blocks",
        ", ".join(
            f"{count:,} for {what}"
            for count, what in zip(
                table.blocks, ("rows", "indexes", "values"), strict=True
            )
            if count
        ),
    )
    full = {
        "drop_oldest": "the oldest block goes",
        "refuse": "appends are refused",
    }
    facts.add_row("when full", full.get(table.full, table.full))
    out.print(facts)
    out.print(_columns(table))
    return healthy


def _verdict(report: eskerdb.Report) -> str:
    torn = report.pages_torn + report.index_damaged
    if report.ok and torn == 0:
        return f"all {report.pages:,} data pages prove themselves"
    if report.ok:
        return f"nothing is missing; {torn} pages are torn, as by a power cut"
    return (
        f"damaged: {report.rows_missing:,} rows missing, "
        f"{report.pages_damaged:,} data pages, "
        f"{report.index_damaged + report.index_wrong:,} index faults, "
        f"{report.values_missing:,} values"
    )


def _columns(table: Table) -> object:
    columns = sheet("column", "type", "unit", "role")
    indexes = {index.column: index for index in table.indexes}
    for column in table.columns:
        role = "key" if column.name == table.key else ""
        if column.name in indexes:
            index = indexes[column.name]
            role = "value index"
            if index.bitmap:
                role += f", bitmap of {index.bitmap}"
            if index.edges:
                role += f", {len(index.edges)} given edges"
        kind = f"{column.type}[{column.bytes}]" if column.bytes else column.type
        columns.add_row(column.name, kind, column.unit, role)
    return columns
