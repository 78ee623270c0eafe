# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""`esker info IMAGE`: what an image holds."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

import eskerdb
from eskerdb.catalog import Table
from eskerdb.cli.arguments import Image
from eskerdb.cli.output import (
    console,
    count,
    grid,
    instant,
    key_text,
    sheet,
    size,
    store_text,
    warn,
)
from eskerdb.cli.verify import catalog_verdict, verdict
from eskerdb.errors import EskerError
from eskerdb.kv import Kv
from eskerdb.opened import REGIONS, OpenTable, Space
from eskerdb.plan_kv import kv_arena_bytes
from eskerdb.series import Series
from eskerdb.tree import Tree
from eskerdb.volume import Volume

_PAGE_HEAD = 16
_YEAR = 365.25 * 24 * 3600


def info(
    image: Image,
    check: Annotated[
        bool, typer.Option("--check", help="Verify every page.")
    ] = False,
    endurance: Annotated[
        int, typer.Option(min=1, help="Erases that a block endures.")
    ] = 100_000,
) -> None:
    """Show an image's volume, geometry, tables, columns and counts."""
    out = console()
    healthy = True
    with eskerdb.open(image) as volume:
        _volume(out, image, volume)
        if check:
            catalog = volume.check()
            healthy = catalog.ok
            if not healthy:
                warn(catalog_verdict(catalog))
        tables = volume.tables()
        if not tables and volume.check().ok:
            out.print("\nno tables; `esker import --create` makes one")
        elif not tables:
            warn("no table can be read; `esker salvage` reads damaged images")
            healthy = False
        for table in tables:
            healthy &= _table(out, volume, table, check, endurance)
    if not healthy:
        raise typer.Exit(1)


def _volume(out: Console, image: Path, volume: Volume) -> None:
    geometry = volume.geometry
    what = "bare kv store" if volume.is_bare else "volume"
    table = grid(f"{what} {image}")
    table.add_row(
        "size",
        f"{size(geometry.bytes)}: {geometry.block_count:,} blocks of "
        f"{geometry.block_pages} pages of {geometry.page_bytes:,} bytes",
    )
    if volume.is_bare:  # it has neither how pages are programmed nor a catalog
        table.add_row("checksum", volume.checksum)
        out.print(table)
        return
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
        f"commit {volume.commit}, superblock valid in {volume.halves_whole} of 2 copies",
    )
    out.print(table)


def _table(
    out: Console, volume: Volume, table: Table, check: bool, endurance: int
) -> bool:
    """Prints one table; returns whether it could be read."""
    facts = grid(f"\n{table.kind} {table.name}")
    healthy = True
    if table.problem:
        warn(table.problem)
        return False
    try:
        with volume.open_table(table.name) as opened:
            if not isinstance(opened, Kv):
                facts.add_row("rows", f"{opened.count():,}")
            if isinstance(opened, Kv):
                _kv_facts(facts, opened)
            elif isinstance(opened, Tree):
                _tree_facts(facts, opened)
            else:
                _series_facts(facts, opened)
                page = volume.geometry.page_bytes
                rows = _page_rows(facts, opened, page)
                _room_facts(facts, table, rows, opened.space())
            _wear_facts(facts, opened, endurance)
            facts.add_row("RAM to open", _ram(volume, opened))
            if check:
                report = opened.check()
                healthy = report.ok
                facts.add_row("check", verdict(report))
    except EskerError as failure:
        warn(str(failure))
        healthy = False
    if table.kind != "kv":
        facts.add_row("row", f"{table.row_bytes} bytes")
    facts.add_row(
        "blocks",
        ", ".join(
            f"{count:,} for {what}"
            for count, what in zip(
                table.blocks,
                REGIONS,
                strict=True,
            )
            if count
        ),
    )
    new = {"tree": "new rows", "kv": "new values"}.get(table.kind, "appends")
    full = {
        "drop_oldest": "the oldest block is dropped",
        "refuse": f"{new} are refused",
    }
    facts.add_row("when full", full.get(table.full, table.full))
    if table.keys_repeat:
        facts.add_row("keys", "may repeat")
    if table.version:
        facts.add_row("schema version", str(table.version))
    facts.add_row("fingerprint", f"{table.fingerprint:08x}")
    out.print(facts)
    if table.kind != "kv":
        out.print(_columns(table))
    return healthy


def _ram(volume: Volume, opened: OpenTable | Kv) -> str:
    """What the handle has taken; of a kv table, what its keys would take."""
    text = f"{opened.arena_bytes:,} B here"
    if not isinstance(opened, Kv):
        return text
    stats = opened.stats()
    if opened.table.index_keys:
        return f"{text}, with an index"
    least = kv_arena_bytes(
        volume.geometry,
        opened.table.blocks[0],
        max(stats.keys, 1),
        is_bare=volume.is_bare,
    )
    macro = (
        "ESK_KV_BARE_ARENA_BYTES" if volume.is_bare else "ESK_KV_ARENA_BYTES"
    )
    return (
        f"{text}, with room for {count(stats.keys_max, 'key')}; {macro} of "
        f"{count(max(stats.keys, 1), 'key')}: {least:,} B"
    )


def _series_facts(facts: Grid, series: Series) -> None:
    name, unit = series.key.name, series.key.unit
    oldest, newest = series.oldest(), series.newest()
    if oldest and newest:
        facts.add_row("oldest", instant(oldest[name], unit))
        facts.add_row("newest", instant(newest[name], unit))


def _page_rows(facts: Grid, series: Series, page: int) -> float:
    """Returns the rows of a page; of a packed series so far, and adds them."""
    table = series.table
    raw = (page - _PAGE_HEAD) // table.row_bytes
    if table.codec == "raw":
        return raw
    pages = series.space().pages_used
    rows = series.count() / pages if pages else 0
    text = f", {rows:.0f} rows a page (raw: {raw})" if rows else ""
    facts.add_row("pages", f"packed, cells of {table.cell_bytes} bytes{text}")
    return rows


def _room_facts(facts: Grid, table: Table, page: float, space: Space) -> None:
    if not page:
        return  # it depends on the rows, and there are none
    rows = int(space.pages_free * page)
    until = "are refused" if table.full == "refuse" else "push out the oldest"
    facts.add_row("room", f"{count(rows, 'row')}, then new ones {until}")


def _kv_facts(facts: Grid, kv: Kv) -> None:
    stats = kv.stats()
    has_index = kv.table.index_keys != 0
    most = f" of at most {stats.keys_max:,}, with an index" if has_index else ""
    facts.add_row("keys", f"{stats.keys:,}{most}")
    facts.add_row(
        "live",
        f"{stats.live_bytes:,} of at most {stats.live_max:,} bytes of keys "
        "and values",
    )
    if stats.pages_lost:
        facts.add_row(
            "lost",
            f"{count(stats.pages_lost, 'page')}; `esker verify` shows the "
            "damage",
        )


def _wear_facts(facts: Grid, opened: OpenTable | Kv, endurance: int) -> None:
    if isinstance(opened, Kv):
        spaces = [opened.space()]
    else:
        spaces = [opened.space(region) for region in _regions(opened)]
    most = max(space.erases_max for space in spaces)
    total = sum(space.erases for space in spaces)
    text = f"{total:,} so far, at most {most:,} of a block"
    seconds = 0 if isinstance(opened, Kv) else _seconds(opened)
    if seconds and total:
        years = min(
            _years_left(spaces[0], s, seconds, endurance) for s in spaces
        )
        text += f"; {years:,.1f} years to {endurance:,} at this rate"
    facts.add_row("erases", text)


def _regions(opened: OpenTable) -> tuple[str, ...]:
    return REGIONS if isinstance(opened, Series) else REGIONS[:1]


def _seconds(opened: OpenTable) -> float:
    """How many seconds the rows cover; 0: their keys are no times."""
    factor = {"s": 1.0, "ms": 1e-3}.get(opened.key.unit)
    if factor is None or not isinstance(opened, Series):
        return 0
    oldest, newest = opened.oldest(), opened.newest()
    if not oldest or not newest:
        return 0
    name = opened.key.name
    return (newest[name] - oldest[name]) * factor


def _years_left(
    rows: Space, space: Space, seconds: float, endurance: int
) -> float:
    """Years until a block of the region is worn out. Assumes that the used pages
    of rows are written again every `seconds`, and that the erases of another
    region stay in the same proportion to those of the rows."""
    laps = rows.pages_used / rows.pages / seconds
    if space.pages and rows.erases:
        laps *= (space.erases / space.pages) / (rows.erases / rows.pages)
    left = max(endurance - space.erases_max, 0)
    return left / laps / _YEAR if laps else math.inf


def _tree_facts(facts: Grid, tree: Tree) -> None:
    stats = tree.stats()
    first, last = tree.first(), tree.last()
    if first and last:
        facts.add_row("first", key_text(tree, first))
        facts.add_row("last", key_text(tree, last))
    facts.add_row("store", store_text(tree))
    facts.add_row(
        "shape",
        f"{count(stats.height, 'level')}, {stats.nodes:,} of at most "
        f"{count(stats.nodes_max, 'node')}",
    )


def _columns(table: Table) -> object:
    columns = sheet("column", "type", "unit", "role")
    indexes = {
        index.column: index
        for index in table.indexes
        if index.kind == "summary"
    }
    in_order = {i.column: i for i in table.indexes if i.kind == "sorted"}
    for column in table.columns:
        role = "key" if column.name == table.key else ""
        if column.name in indexes:
            index = indexes[column.name]
            role = "value index"
            if index.bitmap:
                role += f", bitmap of {index.bitmap}"
            if index.edges:
                role += f", {len(index.edges)} given edges"
        if column.name in in_order:
            role = f"{role}, " if role else ""
            role += f"sorted index of {in_order[column.name].entries:,}"
        if column.missing is not None:
            role = f"{role}, " if role else ""
            role += f"missing is {column.missing}"
        if column.mode:
            role = f"{role}, " if role else ""
            role += f"packed as {column.mode}"
        kind = f"{column.type}[{column.bytes}]" if column.bytes else column.type
        columns.add_row(column.name, kind, column.unit, role)
    return columns
