# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The buckets of a value index, chosen from rows, and what they read."""

import random
import struct

import pytest

import eskerdb
from eskerdb import Column, Geometry, Index, Simulator, Volume
from eskerdb.bitmap import BITS, choose
from eskerdb.schema import BITMAP, RowCodec, bytes_of

COLUMNS = (Column("t", "u32"), Column("v", "i32"))
CODEC = RowCodec(
    COLUMNS, [bytes_of(COLUMNS[:i]) for i in range(2)], bytes_of(COLUMNS)
)
SHAPE = Geometry(block_count=256, block_pages=8, page_bytes=512)
PAGE_ROWS = (512 - 16) // 8


def noise(count=16_000):
    """Each page has values from nearly everywhere, so zones decide little."""
    draw = random.Random(1)
    values = [draw.randrange(1 << 30) for _ in range(count)]
    return list(enumerate(values))


def slope(count=16_000):
    """A page's values are close together: its zone decides alone."""
    return [(i, 50 * i) for i in range(count)]


def packed(rows):
    return b"".join(struct.pack("<Ii", *row) for row in rows)


def reads_of(rows, index, ranges):
    """Page reads of queries of a table with this index."""
    with (
        Simulator(geometry=SHAPE, seed=1) as chip,
        Volume.format(chip) as volume,
    ):
        volume.create("log", COLUMNS, indexes=[index])
        with volume.open("log") as log:
            log.append_many(packed(rows))
            log.sync()
            before = chip.counters.reads
            for lo, hi in ranges:
                found = log.scan(where={"v": (lo, hi)})
                wanted = [row for row in rows if lo <= row[1] <= hi]
                assert [tuple(r.values()) for r in found] == wanted
            return chip.counters.reads - before


@pytest.mark.parametrize("rows", [noise(), slope()], ids=["noise", "slope"])
def test_chosen_and_default_bitmaps_read_as_little_as_64_given_buckets(rows):
    # Uniform noise is the worst case: buckets of equally many rows fit it best.
    values = sorted(row[1] for row in rows)
    ranges = [(values[i], values[i + 9]) for i in range(300, len(values), 1600)]
    edges = tuple(values[len(values) * i // 64] for i in range(1, 64))
    given = reads_of(rows, Index("v", 64, edges), ranges)
    bits = choose(CODEC, "v", packed(rows), 512, PAGE_ROWS)
    assert reads_of(rows, Index("v", bits), ranges) <= 1.05 * given
    assert reads_of(rows, Index("v"), ranges) <= 1.05 * given


def test_noise_gets_many_buckets_and_a_slope_none():
    assert choose(CODEC, "v", packed(noise()), 512, PAGE_ROWS) == BITS[-1]
    assert choose(CODEC, "v", packed(slope()), 512, PAGE_ROWS) == 0


def test_few_rows_and_values_without_a_number_get_what_works():
    few = packed(noise(999))
    assert choose(CODEC, "v", few, 512, PAGE_ROWS) == BITMAP
    columns = (Column("t", "u32"), Column("f", "f32"))
    codec = RowCodec(columns, [0, 4], 8)
    lost = struct.pack("<If", 1, float("nan")) * 2000
    assert choose(codec, "f", lost, 512, PAGE_ROWS) == 0


def test_import_chooses_the_bitmap_of_an_index(esker, tmp_path):
    for name, rows, bits in (("noise", noise(), 64), ("slope", slope(), 0)):
        path, image = tmp_path / f"{name}.csv", tmp_path / f"{name}.img"
        path.write_text("t,v\n" + "".join(f"{t},{v}\n" for t, v in rows[:5000]))
        done = esker("import", image, "log", path, "--create", "--size", "1M",
                     "--index", "v", "--type", "v=i32")  # fmt: skip
        assert done.status == 0, done
        with eskerdb.open(image) as volume:
            assert volume.table("log").indexes == (Index("v", bits),)
