# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Kv tables and bare stores: the golden images, key by key, and images after
power cuts, of which the reader and the core find the same keys and values.

ESK_IMAGES=n is for n images, of which a third is read, and all in deep tests.
A failure names the number of its image.
"""

import os
import random
import struct
from contextlib import suppress
from pathlib import Path

import pytest

from catalog import KV, volume_of
from eskerdb import DeviceError, Full, Geometry, Limit, Simulator, Volume
from image import FormatError, number
from kv import DELETED, LONG, SALTED, bare_of, kv_items, parts_of, value_of
from kv_index import index_items
from test_cuts import MEDIA, MODES, numbers

GOLDEN = Path(__file__).resolve().parents[2] / "test/golden"
ROUNDS = {"v1_kv.img": 600, "v1_kv_index.img": 600, "v1_kv_bare.img": 120}
IMAGES = int(os.environ.get("ESK_IMAGES", "120"))
PAGE = 256
SMALL = {
    "nor": Geometry(block_count=4, block_pages=4, page_bytes=256),
    "words": Geometry(
        block_count=5, block_pages=4, page_bytes=128, program_bytes=4
    ),
    "nand": Geometry(
        block_count=5,
        block_pages=4,
        page_bytes=512,
        program_bytes=512,
        programs_per_page_max=1,
    ),
    "erased to 0": Geometry(
        block_count=4,
        block_pages=8,
        page_bytes=256,
        program_bytes=8,
        programs_per_page_max=4,
        erased_value=0,
    ),
}


def store_of(name, data):
    return bare_of(data) if "bare" in name else volume_of(data)


def read(name, data):
    """The keys and values of the one table of an image."""
    volume = store_of(name, bytes(data))
    (table,) = volume.tables
    assert (table.kind, table.why_not) == (KV, "")
    return kv_items(volume, table)


def expected(rounds):
    """As test/contract/golden_kv_test.c."""
    found = {}
    for i in range(rounds):
        found[b"counter"] = 2, i * 1000
        found[b"key %02d" % (i % 16)] = 1, f"value {i}"
        if i % 16 == 5:
            del found[b"key 03"]
    return found | {
        b"long": (0, bytes(i * 7 & 0xFF for i in range(2100))),
        b"\xff": (0, b""),
        b"minus": (3, -5),
        b"ratio": (4, struct.pack("<f", 1.5)),
        b"on": (5, True),
        b"salt 383": (1, "first"),
        b"salt 404": (1, "second"),
    }


@pytest.mark.parametrize("name", ROUNDS)
def test_golden_table_is_read_key_by_key(name):
    found = read(name, (GOLDEN / name).read_bytes())
    values = {
        k: (kind, value_of(kind, raw)) for k, (kind, raw) in found.items()
    }
    assert values == expected(ROUNDS[name])


def test_the_index_says_what_the_log_says(tmp_path):
    """Leaves with all bits of a hash, and with the low ones."""
    golden = volume_of((GOLDEN / "v1_kv_index.img").read_bytes())
    by_index = index_items(golden, golden.tables[0])
    assert by_index == kv_items(golden, golden.tables[0])
    for keys in (300, 9000):
        chip = Simulator(
            geometry=Geometry(block_count=300, block_pages=16, page_bytes=256),
            seed=3,
        )
        with Volume.format(chip) as volume:
            volume.create_kv("kv", blocks=40, index_keys=keys)
            draw = random.Random(keys)
            with volume.open_kv("kv", keys=100) as kv:
                for i in range(4000):
                    kv[f"key {draw.randrange(300)}"] = i
                    kv.pop(f"key {draw.randrange(300)}", None)
        chip.save(tmp_path / "kv.img")
        image = volume_of((tmp_path / "kv.img").read_bytes())
        (table,) = image.tables
        assert index_items(image, table) == kv_items(image, table)


@pytest.mark.parametrize("name", ROUNDS)
def test_golden_tables_have_all_that_the_document_names(name):
    """A salt, a long length, a delete, a record over several pages; and where
    blocks were erased tail marks, else heads."""
    volume = store_of(name, (GOLDEN / name).read_bytes())
    parts = parts_of(volume, volume.tables[0])
    stream = b"".join(part.payload[part.start :] for part in parts)
    long, deleted, salted = (
        number(stream, stream.rfind(key) - 2 - salt_bytes, 2)
        for key, salt_bytes in ((b"long", 0), (b"key 03", 0), (b"salt 404", 1))
    )
    assert long & LONG == LONG
    assert deleted >> 11 & 7 == DELETED
    assert salted & SALTED or "index" in name  # hashes of 24 bits differ
    assert any(part.first == 0x3FFF for part in parts)
    if "bare" not in name:
        assert parts[0].position > 0 and bytes([254]) in stream
    else:
        heads = [part.position for part in parts if part.start]
        assert heads == sorted({p.position // 16 * 16 for p in parts})


@pytest.mark.parametrize("name", ROUNDS)
@pytest.mark.deep
def test_a_flipped_byte_costs_no_more_than_records(name):
    """What is read is a value that a key had at some time."""
    whole = (GOLDEN / name).read_bytes()
    volume = store_of(name, whole)
    first = volume.tables[0].regions[0].first_block * 16
    had = {b"counter": range(0, 600_000, 1000)}
    odd = 0
    for part in parts_of(volume, volume.tables[0])[:40]:
        page = first + part.position % volume.image.region_pages(
            volume.tables[0].regions[0]
        )
        data = bytearray(whole)
        data[page * PAGE + 60] ^= 0x10
        found = read(name, data)
        odd += found != read(name, whole)
        for key, (kind, raw) in found.items():
            value = value_of(kind, raw)
            if key in had:
                assert value in had[key]
            elif key.startswith(b"key "):
                assert value.startswith("value ")
            else:
                assert (kind, value) == expected(ROUNDS[name])[key]
    assert odd > 2


def test_a_store_of_an_unknown_version_is_refused():
    data = bytearray((GOLDEN / "v1_kv_bare.img").read_bytes())
    with pytest.raises(FormatError, match="no head"):
        bare_of(bytes(data.replace(b"EskerKV\0", bytes(8))))
    with pytest.raises(FormatError, match="not as long"):
        bare_of(bytes(data[:-PAGE]))
    with pytest.raises(FormatError, match="no superblock"):
        volume_of(bytes(data))


class KvWork:
    """A kv table whose keys are put, changed and deleted."""

    def __init__(self, draw, volume):
        self.draw, self.volume = draw, volume
        self.long_max = draw.choice([20, 200, 700])
        self.keys = draw.choice([3, 20, 60])
        if not volume.is_bare:
            percent = draw.choice([0, 40, 90])
            blocks = draw.choice([4, 6, 12])
            volume.create_kv("kv", blocks, live_percent=percent)
        self.open()

    def open(self):
        self.table = self.volume.open_kv("kv")

    def key(self):
        number = self.draw.randrange(self.keys)
        return b"k%d" % number * (1 + number % 3)

    def step(self):
        choice = self.draw.random()
        if choice < 0.7:
            size = self.draw.randrange(self.draw.choice([9, self.long_max]))
            with suppress(Limit):
                self.table[self.key()] = self.draw.randbytes(size)
        elif choice < 0.75:
            self.table.pop(self.key(), None)
        elif choice < 0.85:
            sizes = range(self.draw.randrange(1, 8))
            values = {self.key(): self.draw.randbytes(9) for _ in sizes}
            gone = [k for k in (self.key(),) if k in self.table]
            with suppress(Limit):
                self.table.change_many(
                    {k: v for k, v in values.items() if k not in gone}, gone
                )
        elif choice < 0.97:
            self.table.sync()
        else:
            self.volume.step(2)

    def core(self):
        self.open()
        return {
            entry.raw_key: entry.stored.raw for entry in self.table.scan()[0]
        }

    def reader(self, data):
        volume = bare_of(data) if self.volume.is_bare else volume_of(data)
        (table,) = volume.tables
        found = kv_items(volume, table)
        return {key: raw for key, (_, raw) in found.items()}


def work_until_cut(draw, chip, work):
    """Works until the power is cut, at any operation."""
    chip.cut_at(chip.ops + draw.randrange(1, 900), draw.choice(MODES))
    while chip.is_on:
        with suppress(DeviceError, Full):
            work.step()


def mount(chip, work):
    """Mounts what the cut left; a new store if there is no page yet."""
    if work.volume.is_bare:
        return Volume.make_bare(chip, id=5)
    return Volume.mount(chip)


@pytest.mark.parametrize("number", numbers(IMAGES // 2))
def test_reader_finds_the_keys_that_the_core_finds(number, tmp_path):
    draw = random.Random(number)
    checksum = draw.choice(["crc32c", "crc16"])
    if number % 2:
        chip = Simulator(
            geometry=SMALL[draw.choice(sorted(SMALL))], seed=number
        )
        volume = Volume.make_bare(chip, id=5, checksum=checksum)
    else:
        chip = Simulator(
            geometry=MEDIA[draw.choice(sorted(MEDIA))], seed=number
        )
        volume = Volume.format(chip, checksum=checksum)
    work = KvWork(draw, volume)
    for _ in range(draw.choice([1, 1, 2, 4, 8])):
        work_until_cut(draw, chip, work)
        work.table.close(sync=False)
        work.volume.close()
        chip.power_on()
        chip.save(tmp_path / "cut.img")
        work.volume = mount(chip, work)
        keys = work.core()
        if keys or not work.volume.is_bare:
            assert work.reader((tmp_path / "cut.img").read_bytes()) == keys
    work.volume.close()
    chip.close()
