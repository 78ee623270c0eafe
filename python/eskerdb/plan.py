# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What a table will cost, before it is made: esk_tree_plan, the syncs of a
series, and its sorted index."""

from __future__ import annotations

from dataclasses import dataclass

from eskerdb._esker import ffi, lib
from eskerdb.device import Geometry
from eskerdb.errors import EskerError, check, error
from eskerdb.schema import STORES

PAGE_NUMBER_BYTES = 4
ENVELOPE_BYTES = 16
SEAL_BYTES = 8
ALIGN_BYTES = 2.5  # of packed rows that a sync ends, mean
BLOCKS_LEAST = 4
_SORTED_ENTRIES, _SORTED_FAN = 4608, 5  # the defaults
_SORTED_RUNS_MAX = 32  # of a level
_ENTRY_BITS = 14  # of a sorted index, in noisy data
_RUN_HEAD_BYTES = 38  # of a page of a run, its share of a closing page included
_FRAME_BYTES = 16  # of RAM, beside a page's
_RUN_PAGES_MOST = 1024  # data pages
_FENCE_ENTRIES = 9  # of the buffer for each fence in RAM
_NAMED = 1.1  # data pages that a sorted index names, for one with a match
_UNBOUNDED = 0xFFFFFFFF


@dataclass(frozen=True)
class TreePlan:
    """What follows from a need; see include/esker/tree_plan.h.

    frames         of the pool, and for height_most at least
    arena_bytes    RAM of an open tree, on this processor
    call_pages     page programs of a put or delete, at most
    programs       page programs an update, splits included; tnc: and a sync
    programs_gc    with garbage collection, updates uniform over the keys
    programs_most  with garbage collection, whatever the updates are; None:
                   the region is too small for a bound
    life_years     at programs_most; None: not asked for, or no bound
    """

    store: str
    k_percent: int
    leaf_entries: int
    height: int
    height_least: int
    height_most: int
    rows_sure: int
    pages_least: int
    pages: int
    blocks_least: int
    frames: int
    frames_least: int
    arena_bytes: int
    call_pages: int
    programs: float
    programs_gc: float | None
    programs_most: float | None
    life_years: float | None


def plan(
    rows: int,
    row_bytes: int,
    key_bytes: int,
    geometry: Geometry,
    store: str = "mu",
    *,
    k_percent: int = 0,
    height_most: int = 0,
    fill_percent: int = 0,
    frames: int = 0,
    blocks: int = 0,
    updates_a_day: int = 0,
    endurance: int = 0,
) -> TreePlan:
    """Returns the plan for a tree of `rows` rows on pages of `geometry`.

    k_percent    of a mu store; 0: the largest that holds the rows. tnc: 0:
                 the default, more if the rows need it
    frames       of the pool; 0: the store's default
    blocks       of the table's region; 0: the fewest
    Raises Invalid when a number is out of range, NotFound when the plan has
    no such tree that holds the rows in every order of arrival.
    """
    if store not in STORES:
        raise ValueError(f"store {store!r} is not one of {list(STORES)}")
    need = ffi.new("struct esk_tree_need *")
    values = {
        "rows": rows,
        "updates_a_day": updates_a_day,
        "endurance": endurance,
        "blocks": blocks,
        "block_pages": geometry.block_pages,
        "page_bytes": geometry.page_bytes,
        "leaf_entry_bytes": row_bytes,
        "index_entry_bytes": key_bytes + PAGE_NUMBER_BYTES,
        "store": STORES[store],
        "k_percent": k_percent,
        "height_most": height_most,
        "fill_percent": fill_percent,
        "frames": frames,
    }
    for name, value in values.items():
        try:
            setattr(need, name, value)
        except OverflowError:
            raise _out_of_range(need, name, value) from None
    if key_bytes > row_bytes:
        raise error(
            lib.ESK_E_INVALID,
            f"plan: rows of {row_bytes} bytes",
            "give the bytes of a row, key included",
            f"a row includes its key of {key_bytes} bytes",
        )
    lib.esk_tree_plan_headers(need)
    out = ffi.new("struct esk_tree_plan *")
    status = lib.esk_tree_plan(need, out)
    check(
        status,
        f"plan: {store}, {rows:,} rows of {row_bytes} bytes, keys of "
        f"{key_bytes}, pages of {geometry.page_bytes}, "
        + (f"k {k_percent} %" if k_percent else "any k"),
        "use larger pages, smaller rows, fewer rows or another k",
    )
    return _taken(store, out)


@dataclass(frozen=True)
class SyncPlan:
    """What rows and their syncs cost a series in its data region.

    journal_blocks  of the region, its sync journal; 0: none
    rows_kept       at least, once the region has gone round
    programs        page programs a row, that of the page included
    erases          of blocks, a row
    life_years      until the most worn block is; None: not asked for
    """

    page_rows: int
    journal_blocks: int
    rows_kept: int
    programs: float
    erases: float
    life_years: float | None


def plan_syncs(
    row_bytes: int,
    geometry: Geometry,
    blocks: int,
    *,
    rows_a_sync: int = 1,
    packed_bytes: float = 0,
    rows_a_day: int = 0,
    endurance: int = 0,
) -> SyncPlan:
    """Returns the plan for a series of rows of `row_bytes` bytes in a data
    region of `blocks` blocks of `geometry`.

    packed_bytes  that a row takes in packed pages without syncs, as `esker
                  import` says; 0: pages are raw

    Raises ValueError when a row does not fit a page, or blocks are too few.
    """
    room = geometry.page_bytes - ENVELOPE_BYTES
    if not 0 < row_bytes <= room or blocks < BLOCKS_LEAST:
        raise ValueError(
            f"rows of {row_bytes} bytes on pages of {geometry.page_bytes}, "
            f"{blocks} blocks: take rows of 1 to {room} bytes and "
            f"{BLOCKS_LEAST} blocks or more"
        )
    shape = ffi.new("struct esk_geometry *")
    geometry.fill(shape)
    journal = lib.esk_series_sync_blocks(shape, row_bytes, blocks)
    pages = geometry.block_pages
    seals = lib.esk_series_sync_blocks(shape, row_bytes, 1 << 24) == 0
    data = blocks - journal
    syncs = 1 / rows_a_sync
    seal = (SEAL_BYTES + (ALIGN_BYTES if packed_bytes else 0)) * syncs
    full = _rows_of(room, row_bytes, packed_bytes, 0)
    journal_erases = 0.0
    if journal:
        page_rows = full
        programs = syncs + 1 / page_rows
        journal_erases = syncs / pages
    elif seals:
        # A sync programs rows and a seal beside them.
        page_rows = _rows_of(room, row_bytes, packed_bytes, seal)
        programs = 2 * syncs + (1 / page_rows if rows_a_sync > 1 else 0)
    else:
        page_rows = min(rows_a_sync, full)
        programs = 1 / page_rows
    data_erases = 1 / (page_rows * pages)
    worn = max(data_erases / data, journal_erases / journal if journal else 0)
    return SyncPlan(
        page_rows=page_rows,
        journal_blocks=journal,
        rows_kept=(data - 2) * pages * page_rows,
        programs=programs,
        erases=data_erases + journal_erases,
        life_years=endurance / (worn * rows_a_day * 365.25)
        if rows_a_day and endurance
        else None,
    )


@dataclass(frozen=True)
class SortedPlan:
    """What a sorted index adds to a series, in noisy data: where values repeat
    on a page it costs less.

    blocks     of its two regions
    row_bytes  of them, a row that is kept
    programs   page programs a row
    ram_bytes  of an open table, on this processor: with the frame that a
               query by value needs
    runs       that a query asks, mean
    runs_most  the same, at most
    closings   page reads of a query for fences that are not in RAM, mean
    rows_most  that it covers well; of more, queries read the oldest pages
    """

    blocks: int
    row_bytes: float
    programs: float
    ram_bytes: int
    runs: float
    runs_most: int
    closings: float
    rows_most: int

    def reads(self, rows: float) -> float:
        """Page reads of a query of so few rows that each is on another page."""
        return _NAMED * rows + self.runs + self.closings


def plan_sorted(
    row_bytes: int,
    geometry: Geometry,
    blocks: int,
    *,
    rows: int = 0,
    entries: int = 0,
    fan: int = 0,
    page_rows: int = 0,
) -> SortedPlan:
    """Returns what a sorted index adds to a series in `blocks` data blocks.

    rows       that the series has; 0: as many as the blocks hold
    entries    of its buffer, a multiple of 256; 0: 4608
    fan        runs that are merged at a time; 0: 5
    page_rows  rows of a packed page; 0: pages are raw
    """
    entries, fan = entries or _SORTED_ENTRIES, fan or _SORTED_FAN
    a_page = page_rows or (geometry.page_bytes - ENVELOPE_BYTES) // row_bytes
    rows = rows or blocks * geometry.block_pages * a_page
    taken = _sorted_blocks(
        row_bytes, geometry, blocks, entries, fan, packed=page_rows > 0
    )
    run = sorted_run_rows(geometry.page_bytes, a_page, entries)
    merged = rows / (fan * run)
    bits = (geometry.page_bytes - _RUN_HEAD_BYTES) * 8
    pages = max(1.0, rows * _ENTRY_BITS / bits)  # of level 1
    missed = max(0.0, 1 - entries / _FENCE_ENTRIES / pages)
    return SortedPlan(
        blocks=taken,
        row_bytes=taken * geometry.block_bytes / rows,
        programs=2 * _ENTRY_BITS / bits + (1 + 1 / fan) / run,
        ram_bytes=lib.esk_py_series_sorted_bytes(
            geometry.page_bytes, entries, fan
        )
        + geometry.page_bytes
        + _FRAME_BYTES,
        runs=merged + (fan - 1) / 2,
        runs_most=int(merged) + 1 + fan + 1,
        closings=merged * missed,
        rows_most=int(_SORTED_RUNS_MAX * fan * run),
    )


def sorted_run_rows(page_bytes: int, page_rows: int, entries: int) -> float:
    """Rows of a run of a sorted index: its buffer is frozen as long as it has
    room for the rows that come while the run is written."""
    run = (entries - 3 * page_rows) / (1 + 2 * page_rows / page_bytes)
    return max(1.0, min(run, _RUN_PAGES_MOST * page_rows))


def _sorted_blocks(
    row_bytes: int,
    geometry: Geometry,
    blocks: int,
    entries: int,
    fan: int,
    packed: bool,
) -> int:
    shape = ffi.new("struct esk_geometry *")
    geometry.fill(shape)
    index = ffi.new("struct esk_index_spec *")
    index.kind, index.entries, index.fan = lib.ESK_INDEX_SORTED, entries, fan
    spec = ffi.new("struct esk_series_spec *")
    spec.table.row_bytes = row_bytes
    spec.indexes, spec.index_count = index, 1
    spec.codec = lib.ESK_CODEC_PACKED if packed else lib.ESK_CODEC_RAW
    lib.esk_series_sorted_blocks(shape, spec, blocks)
    return int(spec.sorted_blocks + spec.merged_blocks)


def _rows_of(room: int, row: int, packed: float, seal: float) -> int:
    """Rows in `room` bytes of a page, each with its share of the seals. A
    packed page has at most a row a byte."""
    return max(1, min(int(room / ((packed or row) + seal)), room))


def _out_of_range(need: object, name: str, value: int) -> EskerError:
    """Makes an Invalid with the allowed range, by the caller's own name."""
    field = dict(ffi.typeof(need).item.fields)[name]
    most = (1 << 8 * ffi.sizeof(field.type)) - 1
    if name == "leaf_entry_bytes":
        name = "row_bytes"
    if name == "index_entry_bytes":
        name = "key_bytes"
        value -= PAGE_NUMBER_BYTES
        most -= PAGE_NUMBER_BYTES
    return error(
        lib.ESK_E_INVALID,
        "plan",
        f"use 0 to {most:,}",
        f"{name} = {value:,} is out of range",
    )


def _taken(store: str, out: object) -> TreePlan:
    days = out.life_days
    return TreePlan(
        store=store,
        k_percent=out.k_percent,
        leaf_entries=out.leaf_entries,
        height=out.height,
        height_least=out.height_least,
        height_most=out.height_most,
        rows_sure=out.rows_sure,
        pages_least=out.pages_least,
        pages=out.pages,
        blocks_least=out.blocks_least,
        frames=out.frames,
        frames_least=out.frames_least,
        arena_bytes=out.arena_bytes,
        call_pages=out.call_pages,
        programs=out.programs_milli / 1000,
        programs_gc=_programs(out.programs_gc_milli),
        programs_most=_programs(out.programs_most_milli),
        life_years=days / 365.25 if days else None,
    )


def _programs(milli: int) -> float | None:
    return None if milli == _UNBOUNDED else milli / 1000


def part_endurance(name: str) -> int:
    """Returns the erases that a block of `name` stands; 0: not known."""
    part = lib.esk_sim_part_find(name.lower().encode())
    return 0 if part == ffi.NULL else part.endurance


__all__ = [
    "STORES",
    "SortedPlan",
    "SyncPlan",
    "TreePlan",
    "part_endurance",
    "plan",
    "plan_sorted",
    "plan_syncs",
]
