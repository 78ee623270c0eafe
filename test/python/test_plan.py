# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The planner through the binding and the command."""

import json
from pathlib import Path

import pytest

import eskerdb
from eskerdb.pick import (
    MEASURED,
    MEASURED_ROWS,
    measured,
    medium_of,
    pick,
    span,
)
from eskerdb.plan import part_endurance, plan_sorted, plan_syncs

ROOT = Path(__file__).resolve().parents[2]
NAND = eskerdb.Geometry(block_count=128, block_pages=128, page_bytes=4096)


def test_plan_is_the_c_core_s():
    made = eskerdb.plan(1_000_000, 8, 4, NAND, "mu", k_percent=50, blocks=128)
    assert made.height == 3
    assert made.k_percent == 50
    assert made.programs_gc == pytest.approx(1.08, abs=0.01)
    assert made.life_years is None


def test_plan_gives_years():
    made = eskerdb.plan(
        10_000, 16, 4, NAND, "mu", blocks=16,
        updates_a_day=86_400, endurance=100_000,
    )  # fmt: skip
    days = 16 * 128 * 100_000 / (86_400 * made.programs_most)
    assert made.life_years == pytest.approx(days / 365.25, rel=1e-3)


def test_plan_refuses_what_no_tree_holds():
    small = eskerdb.Geometry(block_count=4, block_pages=4, page_bytes=128)
    with pytest.raises(eskerdb.NotFound, match="larger pages"):
        eskerdb.plan(1000, 100, 4, small, "mu")
    with pytest.raises(eskerdb.Invalid):
        eskerdb.plan(0, 16, 4, NAND)
    with pytest.raises(eskerdb.Invalid):
        eskerdb.plan(1 << 40, 16, 4, NAND)
    with pytest.raises(ValueError, match="no such|not one of"):
        eskerdb.plan(1, 16, 4, NAND, "heap")


def test_plan_knows_a_part_s_endurance():
    assert part_endurance("k9f4g08u0a") == 100_000
    assert part_endurance("no such part") == 0


def test_plan_of_tnc_says_what_ram_it_takes():
    made = eskerdb.plan(7000, 24, 8, NAND, "tnc")
    assert made.frames == 19 >= made.frames_least
    assert made.k_percent == 25
    more = eskerdb.plan(7000, 24, 8, NAND, "tnc", frames=60)
    assert more.arena_bytes > made.arena_bytes
    assert more.call_pages > made.call_pages
    with pytest.raises(eskerdb.NotFound):
        eskerdb.plan(7000, 24, 8, NAND, "tnc", frames=5)


def test_plan_command_compares_the_stores(esker):
    done = esker("plan", "100000", "--part", "k9f4g08u0a", "--size", "16M",
                 "--updates-a-day", "86400")  # fmt: skip
    assert done.status == 0, done
    for word in ("inplace", "wandering", "mu", "tnc", "rows a leaf", "years",
                 "frames: RAM", "programs a call"):  # fmt: skip
        assert word in done.out


def test_plan_command_says_when_no_tree_is_so_large(esker):
    done = esker("plan", "4000000000", "--row", "1000", "--store", "mu",
                 "--page", "2048")  # fmt: skip
    assert done.status == 1
    assert "larger pages" in done.err
    assert esker("plan", "1", "--store", "heap").status == 2


CARD = eskerdb.Geometry(
    block_count=64, block_pages=4, page_bytes=512, program_bytes=512,
    overwrite=True,
)  # fmt: skip


def test_plan_computes_the_cost_of_a_sync_a_row():
    made = plan_syncs(12, CARD, 16, rows_a_day=86_400, endurance=100_000)
    assert made.journal_blocks == 2
    assert made.page_rows == 41
    assert made.rows_kept >= 1_900
    assert made.programs == pytest.approx(1 + 1 / 41)
    days = 2 * 4 * 100_000 / 86_400
    assert made.life_years == pytest.approx(days / 365.25, rel=1e-3)
    sealed = plan_syncs(12, NAND, 16)
    assert sealed.journal_blocks == 0
    assert sealed.programs == 2
    with pytest.raises(ValueError, match="16 blocks"):
        plan_syncs(4000, CARD, 16)


def test_plan_of_syncs_finds_the_least_region(esker):
    done = esker("plan", "2000", "--store", "series", "--row", "12",
                 "--part", "at45db161d", "--updates-a-day", "1000")  # fmt: skip
    assert "sync journal" in done.out
    assert "lasts at least" in done.out


def test_plan_of_packed_rows_on_flash_that_takes_seals():
    raw = plan_syncs(16, NAND, 16, rows_a_sync=31, rows_a_day=86_400,
                     endurance=100_000)  # fmt: skip
    packed = plan_syncs(16, NAND, 16, rows_a_sync=31, packed_bytes=2,
                        rows_a_day=86_400, endurance=100_000)  # fmt: skip
    # 4080 bytes of rows, and each sync has a seal of 8 bytes, packed with
    # 2.5 more.
    assert raw.page_rows == int(4080 / (16 + 8 / 31))
    assert packed.page_rows == int(4080 / (2 + 10.5 / 31))
    assert raw.programs == pytest.approx(2 / 31 + 1 / raw.page_rows)
    times = packed.page_rows / raw.page_rows
    assert packed.life_years == pytest.approx(times * raw.life_years)
    assert plan_syncs(16, NAND, 16, packed_bytes=0.01).page_rows < 4080
    most = plan_syncs(16, NAND, 16, rows_a_sync=10**6, packed_bytes=0.01)
    assert most.page_rows == 4080


SORTED = json.loads((ROOT / "docs/results/sorted.json").read_text("utf-8"))
NOR = eskerdb.Geometry(block_count=1024, block_pages=8, page_bytes=512)


def sorted_figures(dataset, entries):
    """What was measured of a series with a sorted index, by metric."""
    return {
        row["metric"]: row["value"]
        for row in SORTED
        if row["bench"] == "sorted_table"
        and row["dataset"] == dataset
        and row["config"] == f"{entries} entries, in a series"
    }


@pytest.mark.parametrize("entries", [2560, 4608, 8192])
def test_plan_of_a_sorted_index_is_near_what_noise_costs(entries):
    found = sorted_figures("watch", entries)
    made = plan_sorted(
        16, NOR, 100_000 // 31 // 8 + 2, rows=100_000, entries=entries
    )
    assert made.row_bytes == pytest.approx(found["bytes a row"])
    assert made.programs == pytest.approx(found["programs an append"], rel=0.1)
    assert made.ram_bytes == found["RAM"]
    # A query there has 11.24 rows on average.
    reads = found["page reads, mean"]
    assert made.reads(11.24) == pytest.approx(reads, rel=0.05)
    assert found["page reads, max"] <= made.reads(20) + made.runs_most
    assert made.rows_most > 100_000


def test_plan_of_a_sorted_index_is_a_bound_where_values_repeat():
    made = plan_sorted(16, NOR, 405, rows=100_000)
    for dataset in ("uwa", "ethylene", "sea"):
        found = sorted_figures(dataset, 4608)
        assert found["programs an append"] < made.programs
        assert found["page reads, mean"] < made.reads(11.24)


def test_plan_of_a_sorted_index_needs_a_series(esker):
    done = esker("plan", "100000", "--store", "series", "--sorted",
                 "--packed", "4", "--part", "w25q128jv")  # fmt: skip
    assert "sorted index: region" in done.out
    assert "reads of ten rows" in done.out
    refused = esker("plan", "1000", "--sorted")
    assert refused.status == 2
    assert "--sorted" in refused.err


def test_plan_of_packed_rows_where_a_sync_closes_the_page():
    # Too few blocks for a journal, and each page is programmed once.
    small = eskerdb.Geometry(
        block_count=64, block_pages=4, page_bytes=512, program_bytes=512,
        programs_per_page_max=1,
    )  # fmt: skip
    for every, gain in ((1, 1), (31, 1), (62, 2), (1000, 8)):
        raw, packed = (
            plan_syncs(16, small, 4, rows_a_sync=every, packed_bytes=bytes_)
            for bytes_ in (0, 2)
        )
        assert raw.journal_blocks == packed.journal_blocks == 0
        assert packed.page_rows // raw.page_rows == gain, every


def test_plan_command_prices_packed_pages(esker):
    done = esker("plan", "1000000", "--store", "series", "--row", "16",
                 "--packed", "2", "--rows-a-sync", "60", "--part", "w25q128jv",
                 "--updates-a-day", "8640000", "--endurance", "100000",
                 )  # fmt: skip
    assert done.status == 0, done
    lines = {
        line[:18].strip(): line[18:].split() for line in done.out.splitlines()
    }
    assert lines["rows a page"] == ["14", "110"]
    assert float(lines["programs a row"][1]) < float(lines["programs a row"][0])
    years = [float(lines["lasts at least"][i]) for i in (0, 2)]
    assert years[1] > 7 * years[0]
    for option in (("--packed", "2"), ("--rows-a-sync", "2")):
        assert esker("plan", "10", *option).status == 2


RESULTS = json.loads((ROOT / "docs/results/stores.json").read_text("utf-8"))


def times_of(one, every):
    """Least and most mean time over the loads, with two digits."""
    config = f"{one.medium}; {one.store}; {one.kilobytes} KB; a sync every "
    values = [
        row["value"]
        for row in RESULTS
        if row["config"] == config + str(every)
        and row["metric"] == "time a change, mean"
    ]
    assert len(values) >= 3, config
    return float(f"{min(values):.2g}"), float(f"{max(values):.2g}")


@pytest.mark.parametrize("one", MEASURED)
def test_pick_rests_on_published_figures(one):
    assert one.each == times_of(one, 1)
    assert one.together == times_of(one, 100)


def test_pick_names_the_rows_of_the_loads():
    assert MEASURED_ROWS == max(
        row["value"]
        for row in RESULTS
        if row["metric"] == "keys at a time, at most"
    )


def test_readme_has_the_figures_that_the_pick_rests_on():
    readme = (ROOT / "README.md").read_text("utf-8")
    section = readme.split("## Which store")[1].split("\n## ")[0]
    for one in MEASURED:
        times = span(one.each)
        if one.together != one.each:
            times += ", " + span(one.together)
        store = one.store.replace("with index", "with an index")
        ends = (f"| {store} |", f"| tree, `{store}` |")
        (line,) = (
            line
            for line in section.splitlines()
            if any(end in line for end in ends)
        )
        assert f"| {times} |" in line, one


def planned(geometry, rows=7000):
    made = []
    for store in ("inplace", "wandering", "mu", "tnc"):
        try:
            made.append(eskerdb.plan(rows, 24, 8, geometry, store))
        except eskerdb.NotFound:
            continue
    return made


@pytest.mark.parametrize(
    ("part", "store", "medium"),
    [
        ("w25q128jv", "tnc", "NOR, pages of 256"),
        ("mutree_slc", "tnc", "NAND, pages of 2048"),
        ("btree2022_sd_mega", "inplace", "SD card, pages of 512"),
    ],
)
def test_pick_is_the_store_that_costs_least_on_the_part(part, store, medium):
    with eskerdb.Simulator(part) as chip:
        geometry = chip.geometry
    plans = planned(geometry)
    assert medium_of(geometry) == medium
    assert pick(plans, geometry).store == store
    best = measured(medium, store)
    for made in plans:
        other = measured(medium, made.store)
        assert other is None or best.each <= other.each
    assert pick([], geometry) is None


def test_pick_takes_another_store_where_tnc_has_no_room():
    plans = [
        eskerdb.plan(7000, 24, 8, NAND, store, blocks=3)
        for store in ("wandering", "mu", "tnc")
    ]
    assert plans[2].programs_most is None
    assert pick(plans, NAND).store == "mu"
    assert pick(plans[:1], NAND).store == "wandering"


def test_plan_command_says_which_store_to_pick(esker):
    done = esker("plan", "7000", "--row", "24", "--key", "8",
                 "--part", "mutree_slc")  # fmt: skip
    assert done.status == 0, done
    assert "Pick tnc: 1.687" in done.out
    assert "of RAM: mu." in done.out
    assert "0.32 to 0.38" in done.out
    assert "0.39 to 0.41" in done.out
    assert "Or kv: " in done.out
    unnamed = esker("plan", "7000", "--row", "24", "--key", "8")
    assert "in key order, pick tnc" in " ".join(unnamed.out.split())
    assert "overwritten" in unnamed.out
    one = esker("plan", "7000", "--row", "24", "--key", "8", "--store", "mu")
    assert "Pick" not in one.out
