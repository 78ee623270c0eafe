# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The runs of sorted indexes say what the rows do.

test_campaigns.py asks the same of images after power cuts.
"""

import re
import struct
from contextlib import suppress
from pathlib import Path

import pytest

from catalog import SERIES, volume_of
from image import FormatError, crc32c, number
from series import Values, data_pages, series_rows
from sorted_runs import (
    CLOSING,
    RUN,
    SORTED_KIND,
    Bits,
    column_of,
    entries_of,
    run_faults,
    runs_of,
    sorted_faults,
    values_of,
)

ROOT = Path(__file__).resolve().parents[2]
FLOW, LEVEL = "v1_sorted.img", "v1_sorted_packed.img"
IMAGES = [FLOW, LEVEL]
PAGE = 256
DATA_KINDS = {FLOW: 0x53, LEVEL: 0x58}


def image_of(name):
    return bytearray((ROOT / "test/golden" / name).read_bytes())


def mix(i):
    return ((i + 1) * 2654435761 & 0xFFFFFFFF) >> 12


def flow_of(i):
    special = {9: 0x7FC00000, 20: 0x80000000, 31: 0}
    if i % 53 in special:
        return struct.pack("<I", special[i % 53])
    return struct.pack("<f", (mix(i) % 4001 - 2000) / 10)


def level_of(i):
    return struct.pack("<h", mix(i // 2) % 3001 - 1500)


def expected(name):
    """The fixed bytes of each row, and its note."""
    count, value_of = (1100, flow_of) if name == FLOW else (4000, level_of)
    for i in range(count):
        note = f"row {i}".encode() if i % 400 == 0 else b""
        yield struct.pack("<I", 1000000 + 60 * i) + value_of(i), note


def table_of(data):
    volume = volume_of(bytes(data))
    (table,) = volume.tables
    assert (table.name, table.kind, table.why_not) == ("golden", SERIES, "")
    return volume, table


@pytest.mark.parametrize("name", IMAGES)
def test_series_with_a_sorted_index_is_read_row_by_row(name):
    volume, table = table_of(image_of(name))
    values = Values(volume, table)
    size = 4 + column_of(table).bytes
    rows = series_rows(volume, table)
    assert [(row[:size], values.of(row)) for row in rows] == list(
        expected(name)
    )


@pytest.mark.parametrize("name", IMAGES)
def test_runs_name_each_value_of_the_data_pages_that_they_cover(name):
    volume, table = table_of(image_of(name))
    runs, values = runs_of(volume, table), values_of(volume, table)
    covered = {p for run in runs for p in range(run.first, run.end())}
    pairs, faults = sorted_faults(volume, table)
    assert faults == []
    assert pairs == sum(len(values[p][1]) for p in covered) > 900
    # What comes after the last run is in the writer's buffer only.
    assert covered == set(range(len(covered)))
    assert len(values) - 10 < len(covered) <= len(values)


def test_golden_runs_are_of_both_levels_and_lack_bits():
    volume, table = table_of(image_of(FLOW))
    runs = runs_of(volume, table)
    assert [(run.first, run.span) for run in runs] == [
        (0, 24),
        (24, 24),
        (48, 12),
    ]
    heads = {(data[17], data[18]) for run in runs for data in run.pages}
    assert heads == {(14, 14), (14, 15), (15, 15)}
    assert {run.fence_shift for run in runs} == {8}


def test_no_entry_is_of_nan_and_both_zeros_are_one_value():
    volume, table = table_of(image_of(FLOW))
    at_zero, covered = set(), 0
    for run in runs_of(volume, table):
        covered = run.end()
        for data in run.pages:
            for position, value in entries_of(data):
                assert value < 0xFF800000
                if value >> data[18] == 1 << 31 >> data[18]:
                    at_zero.add(position)
    negative, positive = (
        {
            position
            for position, page in data_pages(volume, table).items()
            for i in range(page.aux, page.aux + page.count)
            if i % 53 == rest and position < covered
        }
        for rest in (20, 31)
    )
    assert at_zero >= negative | positive
    assert len(negative - positive) > 10


def test_bits_that_the_document_shows_are_those_of_the_image():
    text = (ROOT / "FORMAT.md").read_text("utf-8")
    start = text.index("bits from 22 on", text.index("v1_sorted.img"))
    lines = text[start:].split("\n\n")[0].splitlines()[1:]
    shown = "".join(re.match(r"([01 ]+)  ", line)[1] for line in lines)
    bits = Bits(bytes(image_of(FLOW)[125 * PAGE : 126 * PAGE]), 0x22)
    shown = shown.replace(" ", "")
    assert len(shown) > 30
    assert [bits.take(1) for _ in shown] == [int(bit) for bit in shown]


def sealed(page):
    """The page with a checksum that is right for what it says."""
    image = volume_of(bytes(image_of(FLOW)))
    seed = image.tables[0].seed
    return struct.pack("<I", crc32c(seed, bytes(page[4:]))) + page[4:]


def pages_of(data, kind, role=None):
    return [
        at
        for at in range(0, len(data), PAGE)
        if data[at + 6] == kind and role in (None, data[at + 16])
    ]


def test_a_value_that_no_run_names_is_noticed():
    noticed = 0
    for at in pages_of(image_of(FLOW), DATA_KINDS[FLOW])[:48:7]:
        data = image_of(FLOW)
        page = bytearray(data[at : at + PAGE])
        page[16 + 7] ^= 2  # exponent of the first row's flow
        data[at : at + PAGE] = sealed(page)
        _, faults = sorted_faults(*table_of(data))
        assert any("is missing" in fault for fault in faults)
        noticed += 1
    assert noticed == 7


def test_a_changed_bit_of_a_run_page_is_noticed():
    """Other pairs, or entries that are none."""
    volume, table = table_of(image_of(FLOW))
    run, values = runs_of(volume, table)[-1], values_of(volume, table)
    whole, unnoticed = bytes(run.pages[-1]), []
    assert run_faults(run, values)[1] == []
    for bit in range(8 * 34, 8 * 60):
        page = bytearray(whole)
        page[bit // 8] ^= 1 << bit % 8
        run.pages[-1] = bytes(page)
        with suppress(FormatError):
            if not run_faults(run, values)[1]:
                unnoticed.append(bit)
    assert unnoticed == []


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.deep
def test_a_run_without_its_closing_page_does_not_count(name):
    whole = [(r.first, r.span) for r in runs_of(*table_of(image_of(name)))]
    for at in pages_of(image_of(name), SORTED_KIND, CLOSING):
        data = image_of(name)
        lost = number(data, at + 24, 4), number(data, at + 22, 2)
        data[at + 40] ^= 1
        volume, table = table_of(data)
        runs = [(run.first, run.span) for run in runs_of(volume, table)]
        assert lost not in runs or lost not in whole
        assert sorted_faults(volume, table)[1] == []


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.deep
def test_a_lost_page_of_a_run_is_known(name):
    counted, known = runs_of(*table_of(image_of(name))), 0
    spans = [(run.first, run.span) for run in counted]
    for at in pages_of(image_of(name), SORTED_KIND, RUN):
        data = image_of(name)
        data[at + 40] ^= 1
        volume, table = table_of(data)
        runs = runs_of(volume, table)
        # Without its last page a run does not count at all.
        known += any(None in run.pages for run in runs) or spans != [
            (run.first, run.span) for run in runs
        ]
        assert sorted_faults(volume, table)[1] == []
    assert known == sum(len(run.pages) for run in counted)
