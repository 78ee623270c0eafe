# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""An image is read without the marks of its bad blocks.

The package writes the images. The reader shares no code with it.
"""

import struct

import pytest

from catalog import volume_of
from eskerdb import Column, Geometry, Simulator, Volume
from series import series_rows

COLUMNS = (Column("number", "i32"), Column("level", "u16"))
NAND = Geometry(
    block_count=160,
    block_pages=2,
    page_bytes=512,
    program_bytes=512,
    programs_per_page_max=1,
)
NAMES = ["one", "two", "three", "four", "five", "six"]


def rows_of(name):
    return [(number, number * len(name)) for number in range(150)]


@pytest.mark.parametrize("seed", range(12))
def test_an_image_with_bad_blocks_is_read(seed, tmp_path):
    with Simulator(geometry=NAND, seed=seed, bad_blocks=12) as chip:
        with Volume.format(chip) as volume:
            for name in NAMES:
                volume.create(name, COLUMNS, data_blocks=8, index_blocks=5)
                with volume.open(name) as table:
                    table.append_many(rows_of(name))
        chip.save(tmp_path / "image")
    volume = volume_of((tmp_path / "image").read_bytes())
    assert [table.name for table in volume.tables] == NAMES
    for table in volume.tables:
        found = series_rows(volume, table)
        found = [struct.unpack("<iH", row) for row in found]
        assert found == rows_of(table.name)
