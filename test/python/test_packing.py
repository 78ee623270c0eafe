# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The modes that are proposed for a packed series, from its rows."""

import math
import random
import struct
from pathlib import Path

import pytest

from eskerdb import Column, Invalid
from eskerdb.packing import (
    decimals_of,
    default_mode,
    measure,
    modes_of,
    narrowed,
    propose,
)
from eskerdb.schema import RowCodec, bytes_of

DATA = Path(__file__).resolve().parents[2] / "data"


def codec_of(*columns):
    offsets = [bytes_of(columns[:i]) for i in range(len(columns))]
    return RowCodec(columns, offsets, bytes_of(columns))


def defaults(codec, key):
    return {c.name: default_mode(c, c.name == key) for c in codec.columns}


def rows_of(codec, rows):
    return b"".join(codec.pack(row)[0] for row in rows)


def test_measure_gives_a_page_at_most_a_row_a_byte():
    # Keys at an even pace and one value take a bit a row.
    codec = codec_of(Column("t", "u32"), Column("v", "i16"))
    rows = rows_of(codec, [(60 * i, 7) for i in range(496 * 200)])
    bytes_a_row = measure(codec, "t", defaults(codec, "t"), rows, 512, 512)
    assert 1.02 < bytes_a_row <= 512 / 496


def test_measure_of_noise_is_that_of_raw_pages():
    codec = codec_of(Column("t", "u64"), Column("v", "u64"))
    draw = random.Random(5)
    keys = sorted(draw.randrange(1 << 60) for _ in range(5000))
    rows = rows_of(codec, [(key, draw.getrandbits(64)) for key in keys])
    bytes_a_row = measure(codec, "t", defaults(codec, "t"), rows, 512, 512)
    assert 16 < bytes_a_row < 512 / 30


def test_measure_refuses_rows_that_fit_no_cell():
    codec = codec_of(Column("t", "u32"), Column("v", "bytes", bytes=240))
    rows = rows_of(codec, [(1, b"x" * 240)])
    with pytest.raises(Invalid, match="use larger cells or smaller rows"):
        measure(codec, "t", defaults(codec, "t"), rows, 512, 256)
    assert measure(codec, "t", defaults(codec, "t"), rows, 512, 512) > 244


def test_decimals_are_proposed_for_the_sea_surface_temperatures():
    codec = codec_of(Column("t", "i64"), Column("temp", "f32"))
    rows = (DATA / "sea_surface_temp.rec").read_bytes()[: 12 * 16384]
    packing = propose(codec, "t", rows, 512, 512)
    assert packing.modes == {"t": "linear", "temp": "decimal:3"}
    assert packing.changed == ("temp",)
    assert packing.bytes <= 1.25
    assert packing.times > 9
    assert packing.bytes == measure(codec, "t", packing.modes, rows, 512, 512)


@pytest.mark.parametrize("decimals", [0, 1, 2, 3])
def test_each_number_of_decimals_is_found(decimals):
    codec = codec_of(Column("t", "u32"), Column("v", "f32"))
    draw, level, rows = random.Random(decimals), 10**decimals * 20, []
    for i in range(4000):
        level += draw.choice((-3, -1, 0, 1, 2))
        rows.append((10 * i, level / 10**decimals))
    packing = propose(codec, "t", rows_of(codec, rows))
    assert packing.modes["v"] == f"decimal:{decimals}"


def test_a_default_stays_where_no_other_mode_saves_a_hundredth():
    codec = codec_of(Column("t", "u32"), Column("a", "i32"), Column("b", "f32"))
    draw, rows = random.Random(3), []
    for i in range(4000):
        rows.append((i, draw.randrange(100), draw.gauss(0, 1)))
    packing = propose(codec, "t", rows_of(codec, rows))
    assert packing.changed == ()
    assert packing.modes == {"t": "linear", "a": "delta", "b": "float"}


def test_a_slope_is_linear_and_a_table_of_words_is_raw():
    codec = codec_of(
        Column("t", "u32"), Column("slope", "i32"), Column("word", "i32")
    )
    draw, words, slope, rows = random.Random(4), [], 0, []
    words = [draw.getrandbits(31) for _ in range(3)]
    for i in range(4000):
        slope += 1_000_000 + draw.randrange(3)
        rows.append((i, slope % (1 << 31), words[i // 50 % 3]))
    packing = propose(codec, "t", rows_of(codec, rows))
    assert packing.modes["slope"] == "linear"
    assert packing.modes["word"] in ("raw", "delta")
    assert packing.times > 3


def test_the_key_comes_first_wherever_its_column_is():
    first = codec_of(Column("t", "u32"), Column("v", "i16"))
    last = codec_of(Column("v", "i16"), Column("t", "u32"))
    draw = random.Random(6)
    rows = [(7 * i + draw.randrange(3), i % 5) for i in range(3000)]
    turned = [(v, t) for t, v in rows]
    sizes = [
        measure(codec, "t", defaults(codec, "t"), rows_of(codec, part))
        for codec, part in ((first, rows), (last, turned))
    ]
    assert sizes[0] == sizes[1]


def test_modes_of_the_key_are_those_of_integers_but_raw():
    assert modes_of(Column("t", "u32"), True) == ["delta", "linear"]
    assert "raw" in modes_of(Column("v", "u32"), False)
    assert modes_of(Column("v", "f64"), False) == ["raw"]
    assert modes_of(Column("v", "text", bytes=8), False) == ["raw"]


@pytest.mark.parametrize(
    "values, decimals",
    [
        ([1.0, 2.0, -7.0], 0),
        ([0.1, 20.5, math.nan], 1),
        ([0.25, -3.75], 2),
        ([21.125], 3),
        ([0.0001], None),
        ([math.inf], None),
        ([16777216.0], None),
        ([16777215.0], 0),
        ([123456.25], 2),
        ([1234567.25], None),
    ],
)
def test_decimals_of_values(values, decimals):
    assert decimals_of(values) == decimals


def test_narrowed_f64_are_those_whose_text_an_f32_keeps():
    codec = codec_of(
        Column("t", "u32"), Column("temp", "f64"), Column("wide", "f64")
    )
    rows = [(i, round(20 + i / 100, 2), math.pi * i) for i in range(1, 500)]
    made, narrow = narrowed(codec, rows_of(codec, rows))
    assert [c.type for c in made.columns] == ["u32", "f32", "f64"]
    for i, row in enumerate(rows):
        got = struct.unpack_from("<Ifd", narrow, i * made.row_bytes)
        assert (got[0], round(got[1], 2), got[2]) == row
    same, unchanged = narrowed(codec, rows_of(codec, [(1, math.e, math.pi)]))
    assert same is codec and unchanged == rows_of(codec, [(1, math.e, math.pi)])


def test_a_variable_column_is_two_fields():
    codec = codec_of(Column("t", "u32"), Column("note", "var"))
    rows = b"".join(struct.pack("<IIH", i, 20 * i, 20) for i in range(3000))
    packing = propose(codec, "t", rows)
    assert packing.modes == {"t": "linear", "note": "raw"}
    assert packing.times > 9
