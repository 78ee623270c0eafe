# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The reader and the core find the same rows in images after power cuts.

ESK_IMAGES=n is for n images; half are of series, half of trees. A third of
them is read, and all in deep tests. A failure names the number of its image,
which repeats it.
"""

import os
import random
import struct
from contextlib import suppress

import pytest

from catalog import volume_of
from eskerdb import (
    Column,
    Corrupt,
    DeviceError,
    Full,
    Geometry,
    Index,
    Limit,
    Simulator,
    Volume,
)
from image import FormatError
from series import Values, rows_of_torn_block, series_rows
from tree import tree_rows

IMAGES = int(os.environ.get("ESK_IMAGES", "120"))
MEDIA = {
    "nor": Geometry(block_count=64, block_pages=4, page_bytes=256),
    "nand": Geometry(
        block_count=64,
        block_pages=8,
        page_bytes=512,
        program_bytes=512,
        programs_per_page_max=1,
    ),
    "card": Geometry(
        block_count=64,
        block_pages=8,
        page_bytes=512,
        program_bytes=512,
        overwrite=True,
    ),
    "erased to 0": Geometry(
        block_count=64,
        block_pages=8,
        page_bytes=256,
        program_bytes=8,
        programs_per_page_max=4,
        erased_value=0,
    ),
}
STORES = {
    "nor": ["wandering", "mu"],
    "nand": ["wandering", "mu"],
    # Without a journal a cut may tear a node, which is damage: no "inplace".
    "card": ["journaled", "wandering", "mu"],
    "erased to 0": ["wandering", "mu"],
}
MODES = ["before", "after", "prefix", "subset", "all_but_one", "drawn"]
FIXED = (Column("k", "i32"), Column("v", "i16"), Column("f", "f32"))
ADDED = (Column("w", "u32"),)


class SeriesWork:
    """A series that is appended to, synced, and erased at both ends."""

    def __init__(self, draw, volume):
        self.draw, self.volume = draw, volume
        self.key = 0
        self.notes = draw.random() < 0.4
        volume.create(
            "log",
            (*FIXED, Column("note", "var")) if self.notes else FIXED,
            indexes=draw.choice([(), (Index("v", 8),)]),
            full=draw.choice(["drop_oldest", "refuse"]),
            data_blocks=draw.choice([6, 9, 14]),
            keys_repeat=draw.random() < 0.3,
        )
        self.open()

    def open(self):
        self.table = self.volume.open("log")
        self.width = len(self.table.table.columns)

    def row(self):
        self.key += self.draw.choice([1, 3, 60])
        row = [self.key, self.key % 300, self.key / 8, self.key * 7]
        if self.notes:
            row.insert(3, b"%d." % self.key * self.draw.choice([0, 1, 9, 80]))
        return row[: self.width]

    def step(self):
        choice = self.draw.random()
        if choice < 0.5:
            count = self.draw.choice([1, 7, 60, 200])
            self.table.append_many([self.row() for _ in range(count)])
        elif choice < 0.8:
            self.table.sync()
        elif choice < 0.85:
            self.table.erase_before(self.key - self.draw.choice([5, 900]))
        elif choice < 0.9:
            with suppress(Limit):  # four breaks at most
                self.table.erase_after(self.key - self.draw.choice([3, 400]))
        elif choice < 0.92 and self.width == 3 and not self.notes:
            self.table.close()
            with suppress(Limit):
                self.volume.add_columns("log", ADDED, {"w": 99})
            self.open()
        else:
            self.volume.step(self.draw.choice([1, 3]))

    def core(self):
        self.open()
        columns = [c.name for c in self.table.table.columns if not c.is_var]
        scan = self.table.scan(columns=columns)
        return [(*row.values(), self.note(row["k"])) for row in scan]

    def note(self, key):
        """The row's value; None: its block was dropped, or was about to be."""
        try:
            return self.table.get(key)["note"] if self.notes else None
        except Corrupt:
            return None

    def reader(self, data):
        volume = volume_of(data)
        (table,) = volume.tables
        values = Values(volume, table)
        self.more_max = rows_of_torn_block(volume, table)
        columns = 3 if self.notes else len(table.columns)
        return [
            (
                *fixed(row, columns),
                value_of(values, row) if self.notes else None,
            )
            for row in series_rows(volume, table)
        ]

    def same(self, found, rows):
        """Whether the reader found what the core did.

        Where the erase of the oldest block was cut each read gives other bytes:
        of such a block the reader may have rows that the core no longer has,
        and values, if they are the rows' own.
        """
        more = len(found) - len(rows)
        if not 0 <= more <= self.more_max:
            return False
        kept = [
            (*mine[:-1], None) if self.is_lost(mine, row) else mine
            for mine, row in zip(found[more:], rows, strict=True)
        ]
        return kept == rows

    @staticmethod
    def is_lost(mine, row):
        own = b"%d." % mine[0]
        note = mine[-1] or b""
        return row[-1] is None and note == own * (len(note) // len(own))


class TreeWork:
    """A tree whose rows are put, changed and deleted."""

    def __init__(self, draw, volume, store):
        self.draw, self.volume = draw, volume
        volume.create_tree("part", FIXED, store=store, blocks=24)
        self.open()

    def open(self):
        self.table = self.volume.open_tree("part")

    def row(self):
        key = self.draw.randrange(-400, 400)
        return key, self.draw.randrange(1000), key / 4

    def step(self):
        choice = self.draw.random()
        if choice < 0.6:
            for _ in range(self.draw.choice([1, 10, 80])):
                self.table.put(self.row())
        elif choice < 0.7:
            self.table.put_many([self.row() for _ in range(40)])
        elif choice < 0.85:
            for _ in range(30):
                self.table.delete(self.draw.randrange(-400, 400))
        elif choice < 0.95:
            self.table.sync()
        else:
            self.volume.step(3)

    def core(self):
        self.open()
        return [tuple(row.values()) for row in self.table]

    def reader(self, data):
        volume = volume_of(data)
        (table,) = volume.tables
        return [fixed(row, 3) for row in tree_rows(volume, table)]

    def same(self, found, rows):
        return found == rows


def fixed(row, columns):
    layout = struct.Struct("<ihfI"[: columns + 1])
    return layout.unpack(row[: layout.size])


def value_of(values, row):
    """The row's value; None where its pages were dropped."""
    try:
        return values.of(row)
    except (FormatError, IndexError):
        return None


def work_until_cut(draw, chip, work):
    """Works until the power is cut, at any operation."""
    chip.cut_at(chip.ops + draw.randrange(1, 900), draw.choice(MODES))
    try:
        while chip.is_on:
            try:
                work.step()
            except Full:
                return
    except DeviceError:
        return


def numbers(count):
    """Of images; of three the first, of both kinds, and all in deep tests."""
    return [
        pytest.param(number, marks=pytest.mark.deep if number % 3 else [])
        for number in range(count)
    ]


@pytest.mark.parametrize("number", numbers(IMAGES))
def test_reader_finds_the_rows_that_the_core_finds(number, tmp_path):
    draw = random.Random(number)
    medium = draw.choice(sorted(MEDIA))
    chip = Simulator(geometry=MEDIA[medium], seed=number)
    volume = Volume.format(chip, checksum=draw.choice(["crc32c", "crc16"]))
    if number % 2:
        work = TreeWork(draw, volume, draw.choice(STORES[medium]))
    else:
        work = SeriesWork(draw, volume)
    for _ in range(draw.choice([1, 1, 2, 4])):
        work_until_cut(draw, chip, work)
        work.table.close(sync=False)
        work.volume.close()
        chip.power_on()
        chip.save(tmp_path / "cut.img")
        work.volume = Volume.mount(chip)
        rows = work.core()
        found = work.reader((tmp_path / "cut.img").read_bytes())
        assert work.same(found, rows), (len(found), len(rows))
        if number % 2 == 0:
            work.key = max(work.key, rows[-1][0] if rows else 0)
    work.volume.close()
    chip.close()
