# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The papers' board end to end: an ATmega2560 at 16 MHz with an SD card.

Time is the chip's cycles plus the card's, page by page, at the rates the
papers measured on their Mega; a driver's part in them is in the rates. The
limits are those of bench/bench_series_paper.c, which has them for the I/O
alone:

    inserts      bytes of the rows at the sequential write rate
    gets         one random page read a get
    5 % ranges   bytes of the rows at the average of the two read rates
    values       no limit: a full scan to compare with

As the papers measured: 100,000 rows, or as many as the data have, and four
page frames. KB/s of embeddb-2024 are taken as 1,024 bytes a second:
btree-2022, by the same authors, calls 345 pages of 512 bytes 172 KB.
"""

import csv

import figures
import platforms

HZ = 16_000_000
PAGE_BYTES = 512
ROW_BYTES = 16
CARDS = ("embeddb_sd_mega", "btree2022_sd_mega")


def script_of_parts():
    """port/sim/parts_gen.py, which makes the simulator's times."""
    return platforms.script("../port/sim/parts_gen.py")


def timing(card):
    """The card's typical times in the simulator's words."""
    path = platforms.ROOT / "data/parts/parts.csv"
    with path.open(newline="", encoding="utf-8") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    parts = script_of_parts()
    row = rows[card]
    return parts.timings(row, parts.assumptions(row), PAGE_BYTES)[0]


def seconds(group, times):
    """(CPU, card) seconds of a group's operations."""
    cpu = sum(group["cost"]) / HZ
    reads, programs = group["reads"], group["programs"]
    reads_next = group["reads sequential"]
    programs_next = group["programs sequential"]
    card = (reads - reads_next) * times["read_ns"]
    card += reads_next * times["read_sequential_ns"]
    card += (programs - programs_next) * times["program_ns"]
    card += programs_next * times["program_sequential_ns"]
    return cpu, card / 1e9


def measures(found, times):
    """(metric, value, unit) of one run on one card."""
    inserted = found["append"]["operations"]
    cpu, card = seconds(found["append"], times)
    cpu_last, card_last = seconds(found["last_sync"], times)
    spent = cpu + card + cpu_last + card_last
    pages = inserted * ROW_BYTES / PAGE_BYTES
    limit = pages * times["program_sequential_ns"] / 1e9
    yield "appends", inserted / spent, "rows/s"
    yield "appends, fraction of the card's limit", limit / spent, ""
    yield "appends, share of the CPU", (cpu + cpu_last) / spent, ""

    gets = found["get"]["operations"]
    cpu, card = seconds(found["get"], times)
    spent = cpu + card
    yield "gets", gets / spent, "rows/s"
    limit = gets * times["read_ns"] / 1e9
    yield "gets, fraction of the card's limit", limit / spent, ""
    yield "gets, share of the CPU", cpu / spent, ""
    yield "gets, page reads each", found["get"]["reads"] / gets, "pages"

    rows = found["range"]["operations"]
    cpu, card = seconds(found["range"], times)
    spent = cpu + card
    page_ns = 2 / (1 / times["read_ns"] + 1 / times["read_sequential_ns"])
    limit = rows * ROW_BYTES / PAGE_BYTES * page_ns / 1e9
    yield "5 % range", rows / spent, "rows/s"
    yield "5 % range, fraction of the card's limit", limit / spent, ""
    yield "5 % range, share of the CPU", cpu / spent, ""

    query = sum(seconds(found["value"], times))
    scan = sum(seconds(found["scan"], times))
    yield "value queries", 1 / query, "queries/s"
    yield "value query, times faster than a scan", scan / query, "times"
    data_pages = found["scan"]["reads"]
    share = 100 * found["value"]["reads"] / data_pages
    yield "value query, pages read", share, "% of the data pages"


def rows_of(variant, dataset, run):
    """Figures of a run on both cards."""
    found = figures.groups(run)
    for card in CARDS:
        for metric, value, unit in measures(found, timing(card)):
            config = f"{card}, {variant}"
            row = figures.row(metric, dataset, config, value, unit)
            yield {**row, "bench": "mcu_paper"}
