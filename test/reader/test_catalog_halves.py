# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Which half of the catalog counts, when the two hold different commits.

The package writes the images and tells what it reads in them. The reader
shares no code with it.
"""

import pytest

import eskerdb
from catalog import CATALOG, SUPERBLOCK, volume_of
from eskerdb import Column, Geometry, Simulator, Volume
from image import number

GEOMETRY = Geometry(
    block_count=64, block_pages=16, page_bytes=256, program_bytes=1
)
PAGE = GEOMETRY.page_bytes


def pages_of(data, kind):
    return [at for at in range(0, len(data), PAGE) if data[at + 6] == kind]


def both_commits(tmp_path):
    """An image with table `old`, and the same with table `new` as well."""
    with Simulator(geometry=GEOMETRY) as chip:
        with Volume.format(chip) as volume:
            volume.create("old", (Column("at", "u32"),), data_blocks=4)
        chip.save(tmp_path / "old")
        with Volume.mount(chip) as volume:
            volume.create("new", (Column("at", "u32"),), data_blocks=4)
        chip.save(tmp_path / "new")
    return (tmp_path / "old").read_bytes(), (tmp_path / "new").read_bytes()


def names_by_the_package(path):
    with eskerdb.open(path) as volume:
        return [table.name for table in volume.tables()]


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("newer_first", [False, True])
def test_a_newer_commit_counts_unless_only_the_older_is_complete(
    damaged, newer_first, tmp_path
):
    old, new = both_commits(tmp_path)
    half = number(new, pages_of(new, SUPERBLOCK)[0] + 76, 4)
    half *= GEOMETRY.block_pages * PAGE
    first, last = (new, old) if newer_first else (old, new)
    data = bytearray(first[:-half] + last[-half:])
    if damaged:
        begin = 0 if newer_first else len(data) - half
        page = next(at for at in pages_of(data, CATALOG) if at >= begin)
        data[page + 30] ^= 0xFF
    path = tmp_path / "image"
    path.write_bytes(data)
    expected = ["old"] if damaged else ["old", "new"]
    assert [table.name for table in volume_of(data).tables] == expected
    assert names_by_the_package(path) == expected
