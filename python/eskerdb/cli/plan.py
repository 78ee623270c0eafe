# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""`esker plan ROWS`: what a tree table will need of a part, and how long the
part lasts; or a series with a sync after each row, or a kv table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eskerdb.cli.arguments import geometry_of, size_bytes
from eskerdb.cli.output import complain, console, sheet, size, warn
from eskerdb.cli.plan_kv import KvNeed, beside_trees, print_kv
from eskerdb.device import Geometry, Simulator
from eskerdb.errors import EskerError
from eskerdb.pick import (
    MEASURED_ROWS,
    is_kv_best,
    measured,
    medium_of,
    pick,
    smaller,
    span,
)
from eskerdb.plan import (
    BLOCKS_LEAST,
    STORES,
    SortedPlan,
    SyncPlan,
    TreePlan,
    part_endurance,
    plan_sorted,
    plan_syncs,
)
from eskerdb.plan import plan as plan_tree
from eskerdb.plan_kv import LIVE_MAX, KvPlan

if TYPE_CHECKING:
    from rich.table import Table

_SHARED = ("mu", "tnc")  # a page of theirs has several nodes

Rows = Annotated[
    int,
    typer.Argument(
        metavar="ROWS",
        min=1,
        help="The most rows that the table will have; kv: keys.",
    ),
]
RowBytes = Annotated[
    int, typer.Option("--row", min=2, help="Bytes a row, key included.")
]
KeyBytes = Annotated[int, typer.Option("--key", min=1, help="Bytes a key.")]
Store = Annotated[
    str | None,
    typer.Option(
        help="inplace, journaled, wandering, mu or tnc; without it all. "
        "series: rows that are synced one by one. kv: values by keys."
    ),
]
K = Annotated[
    int,
    typer.Option(
        "--k",
        min=0,
        max=99,
        help="mu: a leaf's share of a page, in percent; tnc: a full node's, "
        "up to 50; 0: the best.",
    ),
]
Frames = Annotated[
    int,
    typer.Option(
        min=0, max=255, help="Frames of the pool; 0: the store's default."
    ),
]
HeightMost = Annotated[
    int, typer.Option(min=0, help="Most levels for the best k; 0: any.")
]
Part = Annotated[
    str | None, typer.Option(help="Geometry and endurance of this part.")
]
Size = Annotated[str, typer.Option(help="Bytes of the table's region.")]
Page = Annotated[int, typer.Option(min=128, help="Bytes a page.")]
Block = Annotated[str, typer.Option(help="Bytes an erase block.")]
Packed = Annotated[
    float,
    typer.Option(
        "--packed",
        metavar="BYTES",
        min=0,
        help="series: bytes that a row takes in packed pages, as esker import "
        "says; 0: compare nothing.",
    ),
]
RowsASync = Annotated[
    int,
    typer.Option(
        "--rows-a-sync", min=1, help="series: rows a sync; kv: updates."
    ),
]
Sorted = Annotated[
    bool,
    typer.Option(
        "--sorted",
        help="series: what a sorted index adds where values are noise, and "
        "what a query of ten rows reads.",
    ),
]
ValueBytes = Annotated[
    int | None,
    typer.Option(
        "--value", min=0, help="kv: bytes a value. Default: --row less --key."
    ),
]
Live = Annotated[
    int,
    typer.Option(
        min=0,
        max=LIVE_MAX,
        metavar="PERCENT",
        help="kv: of all blocks but one, what newest records may take; 0: 75, "
        "and what more costs.",
    ),
]
Pending = Annotated[
    str,
    typer.Option(
        "--table",
        metavar="BYTES",
        help="kv: an index on flash, and so many bytes of RAM for the newest "
        "changes; 0: all keys in RAM.",
    ),
]
Replay = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="PAGES",
        help="kv, with --table: most pages of the log that an open reads, "
        "about; 0: three quarters of the keys in RAM.",
    ),
]
Updates = Annotated[
    int, typer.Option("--updates-a-day", min=0, help="Puts and deletes.")
]
Endurance = Annotated[
    int, typer.Option(min=0, help="Erases that a block endures; 0: the part's.")
]


def plan(
    rows: Rows,
    row: RowBytes = 16,
    key: KeyBytes = 4,
    store: Store = None,
    k: K = 0,
    height_most: HeightMost = 0,
    frames: Frames = 0,
    part: Part = None,
    size: Size = "0",
    page: Page = 2048,
    block: Block = "128K",
    updates_a_day: Updates = 0,
    endurance: Endurance = 0,
    packed: Packed = 0,
    rows_a_sync: RowsASync = 1,
    is_sorted: Sorted = False,
    value: ValueBytes = None,
    live: Live = 0,
    pending: Pending = "0",
    replay: Replay = 0,
) -> None:
    """Plan a table: height, pages, programs an update or a sync, years."""
    table_bytes = size_bytes(pending)
    of_series = bool(packed or is_sorted)
    of_kv = value is not None or bool(live or table_bytes or replay)
    _check(store, of_series, of_kv, rows_a_sync, replay and not table_bytes)
    geometry = _geometry(part, page, block)
    blocks = size_bytes(size) // geometry.block_bytes
    endurance = endurance or part_endurance(part or "")
    if store == "kv":
        print_kv(
            KvNeed(
                rows,
                key,
                _value_bytes(value, row, key),
                geometry,
                -(-size_bytes(size) // geometry.block_bytes),
                live,
                table_bytes,
                replay,
                rows_a_sync,
                updates_a_day,
                endurance,
            )
        )
    elif store == "series":
        need = _SeriesNeed(
            rows, row, geometry, blocks, rows_a_sync, updates_a_day, endurance
        )
        _series(need, packed, is_sorted)
    else:
        plans = _trees(
            STORES if store is None else (store,),
            k,
            rows=rows,
            row_bytes=row,
            key_bytes=key,
            geometry=geometry,
            height_most=height_most,
            frames=frames,
            blocks=blocks,
            updates_a_day=updates_a_day,
            endurance=endurance,
        )
        _print(plans, geometry, rows, row, key)
        if store is None:
            kv = beside_trees(KvNeed(rows, key, max(row - key, 0), geometry))
            _advise(plans, kv, geometry, named=part is not None)


def _check(
    store: str | None,
    of_series: bool,
    of_kv: bool,
    rows_a_sync: int,
    replays_all: bool,
) -> None:
    """Raises BadParameter for an option of another store."""
    if store not in (None, "series", "kv", *STORES):
        raise typer.BadParameter(
            f"--store {store}: {', '.join(STORES)}, series, kv"
        )
    if of_series and store != "series":
        raise typer.BadParameter("--packed and --sorted need --store series")
    if rows_a_sync > 1 and store not in ("series", "kv"):
        raise typer.BadParameter("--rows-a-sync needs --store series or kv")
    if of_kv and store != "kv":
        raise typer.BadParameter(
            "--value, --live, --table and --replay need --store kv"
        )
    if replays_all:
        raise typer.BadParameter(
            "--replay needs --table: without an index an open reads the log"
        )


def _trees(stores: Iterable[str], k: int, **need: Any) -> list[TreePlan]:
    """Plans trees, and prints why some cannot be; ends with status 1 if none
    can."""
    plans: list[TreePlan] = []
    refused: list[str] = []
    for name in stores:
        percent = k if name in _SHARED else 0
        try:
            plans.append(plan_tree(store=name, k_percent=percent, **need))
        except EskerError as failure:
            if str(failure) not in refused:
                refused.append(str(failure))
    for text in refused:
        (warn if plans else complain)(text)
    if not plans:
        raise typer.Exit(1)
    return plans


def _value_bytes(value: int | None, row: int, key: int) -> int:
    if value is None and row < key:
        raise typer.BadParameter(f"--row {row}: less than --key {key}")
    return row - key if value is None else value


@dataclass(frozen=True)
class _SeriesNeed:
    """What is asked of a series. blocks 0: the fewest that hold the rows."""

    rows: int
    row_bytes: int
    geometry: Geometry
    blocks: int
    rows_a_sync: int
    rows_a_day: int
    endurance: int

    def planned(self, blocks: int, packed: float) -> SyncPlan:
        return plan_syncs(
            self.row_bytes,
            self.geometry,
            blocks,
            rows_a_sync=self.rows_a_sync,
            packed_bytes=packed,
            rows_a_day=self.rows_a_day,
            endurance=self.endurance,
        )

    def indexed(self, made: SyncPlan, packed: float) -> SortedPlan:
        """What a sorted index adds to it."""
        return plan_sorted(
            self.row_bytes,
            self.geometry,
            -(-self.rows // (made.page_rows * self.geometry.block_pages)) + 2,
            rows=self.rows,
            page_rows=made.page_rows if packed else 0,
        )

    def fewest(self, packed: float) -> int:
        """The fewest blocks that hold the rows."""
        large = self.planned(1 << 20, packed)
        each = large.page_rows * self.geometry.block_pages
        blocks = -(-self.rows // each) + 2 + large.journal_blocks
        return max(blocks, BLOCKS_LEAST, 4 * large.journal_blocks)


def _series(need: _SeriesNeed, packed: float, is_sorted: bool) -> None:
    """Prints what a series costs, raw and, if asked for, packed."""
    try:
        # Both get the same region: what a raw series needs, or what is given.
        blocks = need.blocks or need.fewest(0)
        kinds = [0.0, packed] if packed else [0.0]
        plans = [need.planned(blocks, each) for each in kinds]
        fewest = [need.fewest(each) for each in kinds]
    except ValueError as failure:
        complain(str(failure))
        raise typer.Exit(1) from None
    if plans[-1].rows_kept < need.rows:
        warn(f"{need.rows:,} rows need a larger region: use a larger --size")
    block = need.geometry.block_bytes
    every = need.rows_a_sync
    head = "a sync a row" if every == 1 else f"a sync every {every:,} rows"
    table = sheet("", *([f"{head}: raw", "packed"] if packed else [head]))
    for label, texts in (
        ("rows a page", [f"{plan.page_rows:,}" for plan in plans]),
        ("least region", [size(count * block) for count in fewest]),
        ("region", [size(blocks * block) for _ in plans]),
        (
            "sync journal in it",
            [size(plan.journal_blocks * block) for plan in plans],
        ),
        ("rows kept at least", [f"{plan.rows_kept:,}" for plan in plans]),
        ("programs a row", [_number(plan.programs, 3) for plan in plans]),
        ("erases a row", [_number(plan.erases, 4) for plan in plans]),
        ("lasts at least", [_years(plan) for plan in plans]),
    ):
        table.add_row(label, *texts)
    if is_sorted:
        pairs = zip(plans, kinds, strict=True)
        _sorted(table, [need.indexed(*pair) for pair in pairs], block)
    console().print(table)


def _sorted(table: Table, plans: list[SortedPlan], block: int) -> None:
    """Adds what a sorted index costs, and what it gives."""
    for label, texts in (
        ("sorted index: region", [size(p.blocks * block) for p in plans]),
        ("its bytes a row", [f"{p.row_bytes:.2f}" for p in plans]),
        ("its programs a row", [_number(p.programs, 3) for p in plans]),
        ("its RAM", [size(p.ram_bytes) for p in plans]),
        ("reads of ten rows", [f"{p.reads(10):.0f}" for p in plans]),
        ("rows it covers", [f"{p.rows_most:,}" for p in plans]),
    ):
        table.add_row(label, *texts)


def _number(value: float, digits: int) -> str:
    """With so many decimals; of a smaller number its first two digits."""
    return f"{value:.{digits}f}" if value >= 0.01 else f"{value:.2g}"


def _geometry(part: str | None, page: int, block: str) -> Geometry:
    if part is not None:
        with Simulator(part) as chip:
            return chip.geometry
    return geometry_of(page, block)


def _print(
    plans: list[TreePlan], geometry: Geometry, rows: int, row: int, key: int
) -> None:
    out = console()
    out.print(
        f"{rows:,} rows of {row} bytes, keys of {key}; pages of "
        f"{geometry.page_bytes:,} bytes, {geometry.block_pages} a block"
    )
    table = sheet("", *(made.store for made in plans))
    for label, text in (
        ("k", lambda p: f"{p.k_percent} %" if p.store in _SHARED else "-"),
        ("rows a leaf", lambda p: f"{p.leaf_entries:,}"),
        ("height: reads a get", lambda p: f"{p.height}"),
        (
            "least, most height",
            lambda p: f"{p.height_least}, {p.height_most}",
        ),
        ("live pages", lambda p: f"{p.pages:,}"),
        ("all nodes full", lambda p: f"{p.pages_least:,}"),
        (
            "least region",
            lambda p: size(p.blocks_least * geometry.block_bytes),
        ),
        ("frames: RAM", lambda p: f"{p.frames}: {size(p.arena_bytes)}"),
        ("programs a call", lambda p: f"{p.call_pages:,}"),
        ("programs an update", lambda p: f"{p.programs:.3f}"),
        ("with collection", lambda p: _programs(p.programs_gc)),
        ("at most", lambda p: _programs(p.programs_most)),
        ("lasts at least", _years),
    ):
        table.add_row(label, *(text(made) for made in plans))
    out.print(table)
    out.print(
        "Random keys fill nodes to 69 %. For inplace and journaled the years "
        "assume a translation layer that wears blocks evenly."
    )


def _advise(
    plans: list[TreePlan],
    kv: KvPlan | None,
    geometry: Geometry,
    *,
    named: bool,
) -> None:
    """Prints which store to pick and why. named: the part is known, so its
    kind of medium is."""
    out = console()
    best = pick(plans, geometry)
    if best is None:
        return
    others = [
        f"{made.store} {_programs(made.programs_gc)}"
        for made in plans
        if made.store in ("wandering", "mu", "tnc") and made is not best
    ]
    kv_best = kv is not None and is_kv_best(kv, best, geometry)
    if kv is not None and kv_best:
        out.print(f"Pick kv: {_kv(kv, geometry)}.")
    before = "For rows with columns, in key order, pick" if kv_best else "Pick"
    out.print(
        f"{before} {best.store}: {_programs(best.programs_gc)} programs an update "
        f"with collection{' (' + ', '.join(others) + ')' if others else ''}."
    )
    other = smaller(plans)
    if best.store == "tnc" and other is not None:
        region = size(best.blocks_least * geometry.block_bytes)
        out.print(
            f"In less than {region}, or with less than "
            f"{size(best.arena_bytes)} of RAM: {other.store}."
        )
    if kv is not None and not kv_best:
        out.print(f"Or kv: {_kv(kv, geometry)}.")
    if not named:
        out.print("Where pages can be overwritten (SD card, EEPROM): inplace.")
        return
    found = [
        one
        for store in dict.fromkeys(
            (best.store, (other or best).store, "kv", "kv with index")
        )
        if (one := measured(medium_of(geometry), store)) is not None
    ]
    table = sheet("ms a change", "each synced", "100 a sync", "RAM")
    for one in found:
        table.add_row(
            one.store,
            span(one.each),
            span(one.together),
            f"{one.kilobytes} KB",
        )
    if found:
        out.print(
            f"Measured with up to {MEASURED_ROWS:,} rows of 24 bytes on "
            f"{found[0].medium}:"
        )
        out.print(table)


def _kv(kv: KvPlan, geometry: Geometry) -> str:
    """What a kv table needs and costs, in a line."""
    return (
        f"{kv.programs:.3f} programs and {kv.bytes:,.0f} bytes an update, "
        f"{kv.blocks:,} blocks ({size(kv.blocks * geometry.block_bytes)}), "
        f"{size(kv.arena_bytes)} of RAM for all keys (less with an index: "
        "--store kv --table)"
    )


def _programs(number: float | None) -> str:
    return "no bound: region too small" if number is None else f"{number:.3f}"


def _years(plan: TreePlan | SyncPlan) -> str:
    if plan.life_years is None:
        return "-"
    if plan.life_years >= 1000:
        return "over 1,000 years"
    return f"{plan.life_years:,.1f} years"
