# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""FORMAT.md is enough to read every row of every golden image."""

import struct
from pathlib import Path

import pytest

from catalog import CATALOG, SERIES, TREE, geometry_of, volume_of
from image import FormatError, crc16, crc32c, number
from series import Values, data_pages, series_rows
from tree import tree_rows

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "test/golden"
STORES = ("inplace", "mu", "tnc", "wandering")
TREES = [f"v1_tree_{store}.img" for store in STORES]
KV_IMAGES = [
    "v1_kv.img",
    "v1_kv_index.img",
    "v1_kv_bare.img",
]  # test_kv_images.py
PACKED = "v1_packed.img"
JOURNAL = "v1_packed_journal.img"  # pages are programmed once; two breaks
UNIT = "v1_packed_unit.img"  # units of 4 bytes; one break
SORTED = ["v1_sorted.img", "v1_sorted_packed.img"]  # test_sorted_runs.py
PAGE = 256


def image_of(name):
    return bytearray((GOLDEN / name).read_bytes())


def expected_series():
    for i in range(450):
        time = 1000000 + 60 * i + (13 if i % 97 == 0 else 0)
        level = i * 37 % 1000 - 500
        bits = struct.pack("<I", 0x41A00000 + i % 64 * 0x1000)
        note = f"row {i}".encode() if i % 5 == 0 else b""
        yield struct.pack("<Ih", time, level) + bits, note


def expected_packed():
    for i in range(700):
        time = 1000000 + 60 * i + i // 97 * 13
        level = (i // 150 % 2 * 20000 + i * 37 % 100 - 50) & 0xFFFF
        temp = struct.pack("<f", (200 + i * 7 % 40) / 10)
        if i % 41 == 7:  # no decimal
            temp = struct.pack("<I", 0x41A06666)
        wind = 0x40A00000 + i % 64 * 0x1000
        note = f"row {i}".encode() if i % 25 == 0 else b""
        row = struct.pack("<IH4sIB", time, level, temp, wind, i // 90)
        yield row, note


def expected_wider():
    """The rows of a table that has got a column, with the older rows' value."""
    for i, (row, note) in enumerate(expected_packed()):
        rain = 9 if i < 505 else i * i % 700
        yield row, struct.pack("<H", rain), note


def expected_tree():
    for i in range(120):
        if i % 7 != 3:
            yield struct.pack("<h8s", i - 60, f"row {i}".encode())


def read_series(data, fixed=10):
    volume = volume_of(bytes(data))
    (table,) = volume.tables
    assert (table.name, table.kind, table.why_not) == ("golden", SERIES, "")
    values = Values(volume, table)
    rows = series_rows(volume, table)
    return [(row[:fixed], values.of(row)) for row in rows]


def read_wider(data):
    volume = volume_of(bytes(data))
    (table,) = volume.tables
    values = Values(volume, table)
    rows = series_rows(volume, table)
    return [(row[:15], row[21:23], values.of(row)) for row in rows]


def read_tree(data):
    volume = volume_of(bytes(data))
    (table,) = volume.tables
    assert (table.name, table.kind, table.why_not) == ("golden", TREE, "")
    return tree_rows(volume, table)


def test_checksums_give_the_values_of_the_document():
    text = b"123456789"
    assert crc32c(0, text) == 0xE3069283
    assert crc32c(0x12345678, text) == 0x27D87B6A
    assert crc16(0, text) == 0xD64E29B1
    assert crc16(0x12345678, text) == 0xF21F0DE0


def test_every_golden_image_is_read():
    names = {path.name for path in GOLDEN.glob("*.img")}
    others = {*KV_IMAGES, *SORTED, *TREES}
    assert names == {"v1_series.img", PACKED, JOURNAL, UNIT, *others}


def test_series_is_read_row_by_row():
    assert read_series(image_of("v1_series.img")) == list(expected_series())


def test_packed_series_is_read_row_by_row():
    assert read_series(image_of(PACKED), 15) == list(expected_packed())


@pytest.mark.parametrize("name", [JOURNAL, UNIT])
def test_packed_series_with_breaks_is_read_row_by_row(name):
    assert read_wider(image_of(name)) == list(expected_wider())


def test_a_sync_journal_of_packed_rows_has_the_newest():
    """Without its pages the image ends before the last row."""
    data = image_of(JOURNAL)
    (table,) = volume_of(bytes(data)).tables
    assert table.packed() == (128, 1)
    assert [b.row_bytes for b in table.breaks()] == [21, 21]
    assert table.journal_start() > 0
    for at in pages_of(data, 0x57):
        data[at + 40] ^= 1
    rows, whole = read_wider(data), list(expected_wider())
    assert 505 < len(rows) < len(whole)
    assert rows == whole[: len(rows)]


def test_rows_of_a_unit_begin_at_its_multiples():
    """Read with a unit of 1, rows behind a sync are others."""
    data = image_of(UNIT)
    volume = volume_of(bytes(data))
    (table,) = volume.tables
    assert table.packed() == (128, 4)
    assert [b.row_bytes for b in table.breaks()] == [21]
    pages = data_pages(volume, table).values()
    assert any(page.sealed for page in pages)
    table.options[6] = bytes([table.options[6][0] & 0x0F])
    try:
        read = len(series_rows(volume, table))
    except FormatError:
        read = 0
    assert read != len(list(expected_wider()))


def test_a_packed_series_has_modes_cells_and_a_sealed_page():
    volume = volume_of(bytes(image_of(PACKED)))
    (table,) = volume.tables
    assert [column.mode for column in table.columns] == [2, 1, 5, 3, 0, 0]
    assert table.packed() == (128, 1)
    pages = data_pages(volume, table)
    assert {page.kind for page in pages.values()} == {0x58}
    assert [at for at, page in pages.items() if page.sealed] == [max(pages)]


@pytest.mark.deep
def test_a_flipped_byte_of_a_packed_page_costs_its_rows():
    whole = read_series(image_of(PACKED), 15)
    for at in pages_of(image_of(PACKED), 0x58):
        data = image_of(PACKED)
        count = number(data, at + 4, 2)
        data[at + 20] ^= 0x10
        rows = read_series(data, 15)
        # of a page that has a seal, its rows are left
        assert len(whole) - count <= len(rows) < len(whole)
        assert set(rows) < set(whole)


def test_series_columns_are_as_declared():
    volume = volume_of(bytes(image_of("v1_series.img")))
    columns = [(c.name, c.unit, c.type) for c in volume.tables[0].columns]
    assert columns == [
        ("time", "s", 7),
        ("level", "mm", 2),
        ("temp", "degC", 9),
        ("note", "", 12),
    ]
    assert not volume.tables[0].keys_repeat()


@pytest.mark.parametrize("name", TREES)
def test_tree_is_read_row_by_row(name):
    assert read_tree(image_of(name)) == list(expected_tree())


@pytest.mark.parametrize("first_is_lost", [True, False])
def test_either_half_of_the_catalog_is_enough(first_is_lost):
    data = image_of("v1_series.img")
    page_bytes, block_pages, _ = geometry_of(bytes(data))
    volume = volume_of(bytes(data))
    half = number(superblock_of(data), 76, 4) * block_pages * page_bytes
    start = 0 if first_is_lost else len(data) - half
    data[start : start + half] = bytes(half)
    assert read_series(data) == list(expected_series())
    assert volume_of(bytes(data)).commit == volume.commit


def superblock_of(data):
    at = data.find(b"EskerDB\0") - 16
    return data[at : at + PAGE]


def pages_of(data, kind):
    return [at for at in range(0, len(data), PAGE) if data[at + 6] == kind]


def test_a_catalog_page_that_flipped_is_read_from_the_other_half():
    data = image_of("v1_series.img")
    data[pages_of(data, CATALOG)[-1] + 40] ^= 1
    assert read_series(data) == list(expected_series())


def test_a_flipped_byte_of_a_data_page_costs_its_rows():
    """Whole pages: a page with seals has the rows that the seals count."""
    whole = read_series(image_of("v1_series.img"))
    for at in pages_of(image_of("v1_series.img"), 0x53)[:4]:
        data = image_of("v1_series.img")
        count = number(data, at + 4, 2)
        data[at + 20] ^= 0x10
        rows = read_series(data)
        assert len(rows) == len(whole) - count
        assert set(rows) < set(whole)


@pytest.mark.parametrize("name", TREES)
@pytest.mark.deep
def test_a_flipped_byte_of_any_used_page_is_noticed(name):
    """Each page of the tree's region: other rows, or none at all."""
    volume = volume_of(bytes(image_of(name)))
    region = volume.tables[0].regions[0]
    noticed = 0
    for at in range(volume.image.region_pages(region)):
        data = image_of(name)
        page = region.first_block * volume.image.block_pages + at
        data[page * PAGE + 60] ^= 0x10
        try:
            noticed += read_tree(data) != list(expected_tree())
        except (FormatError, KeyError):
            noticed += 1
    assert noticed >= 3


@pytest.mark.parametrize("name", ["v1_series.img", KV_IMAGES[0], *TREES])
def test_an_image_of_an_unknown_version_is_refused(name):
    data = image_of(name)
    at = data.find(b"EskerDB\0") - 16
    while at >= 0:
        data[at + 24] = 2
        fresh = crc32c(0, bytes(data[at + 4 : at + PAGE]))
        data[at : at + 4] = fresh.to_bytes(4, "little")
        at = data.find(b"EskerDB\0", at + 17) - 16
    with pytest.raises(FormatError, match="version"):
        volume_of(bytes(data))
