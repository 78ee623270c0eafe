# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Image files opened without a geometry, and files that are no images."""

import struct

import pytest

import eskerdb
from conftest import NOR, SD, TEMP, rows
from eskerdb import (
    Corrupt,
    EskerError,
    GeometryError,
    ImageFile,
    NotFound,
    Simulator,
    VersionError,
    Volume,
)

# FORMAT.md, "Superblock".
MAGIC = b"EskerDB\0"
MAGIC_AT, VERSION_AT, PAGE_BYTES_AT = 16, 24, 62


def supers(data: bytes) -> list[int]:
    """Where the image's superblock pages start."""
    found, at = [], data.find(MAGIC)
    while at >= 0:
        found.append(at - MAGIC_AT)
        at = data.find(MAGIC, at + 1)
    return found


def crc32c(data: bytes, crc: int = 0) -> int:
    crc = ~crc & 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return ~crc & 0xFFFFFFFF


def reseal(data: bytearray, page: int, page_bytes: int) -> None:
    """Gives a changed superblock a valid checksum again."""
    whole = data[page + 4 : page + page_bytes]
    struct.pack_into("<I", data, page, crc32c(bytes(whole)))


def test_the_geometry_is_read_from_the_image(image):
    geometry = eskerdb.probe(image)
    assert geometry == NOR
    with eskerdb.open(image) as volume, volume.open("temp") as series:
        assert series.count() == 500


@pytest.mark.parametrize("part", ["w25q16bv", "at45db161d", "w25n01gv"])
def test_images_of_parts_say_what_they_are(tmp_path, part):
    path = tmp_path / "part.img"
    with Simulator(part, seed=2) as whole:
        block_bytes = whole.geometry.block_bytes
    with Simulator(part, bytes=64 * block_bytes, seed=2) as chip:
        with Volume.format(chip) as volume:
            volume.create("temp", TEMP, data_blocks=16)
            with volume.open("temp") as series:
                series.append_many(rows(100))
        chip.save(path)
        geometry = chip.geometry
    assert eskerdb.probe(path) == geometry
    with eskerdb.open(path) as volume, volume.open("temp") as series:
        assert [(r["t"], r["temp_c"]) for r in series] == rows(100)


def test_an_image_file_can_be_made_and_written(tmp_path):
    path = tmp_path / "new.img"
    with (
        ImageFile(path, SD, create=True) as device,
        Volume.format(device) as volume,
    ):
        volume.create("temp", TEMP)
        with volume.open("temp") as series:
            series.append_many(rows(300))
    with (
        eskerdb.open(path, read_only=False) as volume,
        volume.open("temp") as series,
    ):
        series.append_many(rows(300, start=300))
    with eskerdb.open(path) as volume, volume.open("temp") as series:
        assert [(r["t"], r["temp_c"]) for r in series] == rows(600)


def test_a_read_only_image_is_never_written(image):
    before = image.read_bytes()
    with eskerdb.open(image) as volume:
        assert volume.read_only
        with volume.open("temp") as series:
            list(series)
            for change in (
                lambda: series.append(t=10**9, temp_c=1.0),
                lambda: series.erase_before(2000),
                lambda: volume.create("other", TEMP),
                lambda: volume.drop("temp"),
                lambda: volume.step(),
            ):
                with pytest.raises(EskerError):
                    change()
    assert image.read_bytes() == before


@pytest.mark.parametrize("size", [0, 1, 255, 4096, 100_000])
def test_a_truncated_image_is_refused(image, tmp_path, size):
    short = tmp_path / "short.img"
    short.write_bytes(image.read_bytes()[:size])
    with pytest.raises((GeometryError, NotFound)) as refused:
        eskerdb.open(short)
    assert str(short) in str(refused.value)


def test_an_image_has_one_writer_and_any_readers(esker, image):
    with eskerdb.open(image, read_only=False):
        with pytest.raises(eskerdb.Busy, match="open it read-only"):
            eskerdb.open(image, read_only=False)
        said = esker("query", image, "DELETE FROM temp")
        assert said.status != 0
        assert "open for writing elsewhere" in said.err
        with eskerdb.open(image) as reader:
            assert reader.tables()
    with eskerdb.open(image, read_only=False) as volume:
        assert volume.tables()


def test_a_truncated_image_says_by_how_much(image, tmp_path):
    short = tmp_path / "short.img"
    short.write_bytes(image.read_bytes()[:100_000])
    with pytest.raises(GeometryError, match="truncated: it has 100,000 bytes"):
        eskerdb.open(short)


def test_a_longer_file_is_refused(image):
    with image.open("ab") as file:
        file.write(b"\xff" * 10)
    with pytest.raises(GeometryError, match="too long"):
        eskerdb.open(image)


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff" * 65536, b"\0" * 65536, bytes(range(256)) * 256],
    ids=["empty", "erased", "zeros", "garbage"],
)
def test_a_file_without_a_volume_is_refused(tmp_path, content):
    path = tmp_path / "none.img"
    path.write_bytes(content)
    with pytest.raises(NotFound, match="no EskerDB volume in this file"):
        eskerdb.open(path)


def test_another_format_version_is_refused(image):
    data = bytearray(image.read_bytes())
    for page in supers(data):
        struct.pack_into("<H", data, page + VERSION_AT, 77)
        reseal(data, page, NOR.page_bytes)
    image.write_bytes(data)
    with pytest.raises(VersionError, match="version"):
        eskerdb.open(image)


def test_superblocks_that_are_not_valid_are_refused(image):
    data = bytearray(image.read_bytes())
    for page in supers(data):
        data[page + PAGE_BYTES_AT + 20] ^= 1
    image.write_bytes(data)
    with pytest.raises(Corrupt, match="no valid one"):
        eskerdb.open(image)


def test_a_forged_geometry_is_refused(image):
    data = bytearray(image.read_bytes())
    for page in supers(data):
        struct.pack_into("<H", data, page + PAGE_BYTES_AT, 8)
        reseal(data, page, NOR.page_bytes)
    image.write_bytes(data)
    with pytest.raises(Corrupt):
        eskerdb.open(image)


def test_one_superblock_is_enough(image):
    data = bytearray(image.read_bytes())
    pages = supers(data)
    assert len(pages) == 2
    for page in pages:
        broken = bytearray(data)
        broken[page : page + NOR.page_bytes] = b"\0" * NOR.page_bytes
        image.write_bytes(broken)
        with eskerdb.open(image) as volume, volume.open("temp") as series:
            assert volume.halves_whole == 1
            assert volume.check().halves_lost == 1
            assert series.count() == 500


def test_another_geometry_does_not_mount(image):
    other = eskerdb.Geometry(block_count=32, block_pages=16, page_bytes=512)
    assert other.bytes == NOR.bytes
    with pytest.raises(EskerError):
        eskerdb.open(image, geometry=other)


def test_damage_costs_the_rows_of_its_page_and_is_counted(image):
    data = bytearray(image.read_bytes())
    first_row = struct.pack("<q", rows(1, start=250)[0][0])
    at = data.find(first_row)
    data[at] ^= 0x40
    image.write_bytes(data)
    with eskerdb.open(image) as volume, volume.open("temp") as series:
        scan = series.scan()
        found = [(row["t"], row["temp_c"]) for row in scan]
        assert scan.damaged == 1
        lost = set(rows(500)) - set(found)
        assert set(found) < set(rows(500))
        assert 0 < len(lost) <= 20
        report = series.check()
        assert not report.ok
        assert report.rows_missing == len(lost)


def catalog_pages(image):
    """Offsets of the pages of both copies that name the table temp."""
    data = image.read_bytes()
    size = NOR.page_bytes
    return [
        at
        for at in range(0, len(data), size)
        if b"temp_c" in data[at : at + size]
    ]


@pytest.mark.parametrize("command", [("verify",), ("info", "--check")])
def test_damage_of_the_catalog_is_reported(esker, image, command):
    whole = image.read_bytes()
    name, *options = command
    assert esker(name, image, *options).status == 0
    pages = catalog_pages(image)
    assert len(pages) == 2
    for at, text in (
        *((page, "1 of 1 page valid in one copy only") for page in pages),
        *(
            (page, "the last change of the catalog is")
            for page in supers(whole)
        ),
    ):
        data = bytearray(whole)
        data[at + 100] ^= 4
        image.write_bytes(data)
        done = esker(name, image, *options)
        assert done.status == 1, done
        assert text in " ".join(done.err.split())
        assert "nothing is wrong" not in done.out
    data = bytearray(whole)
    for at in pages:
        data[at + 100] ^= 4
    image.write_bytes(data)
    done = esker(name, image, *options)
    assert done.status == 1, done
    assert "1 of 1 page not valid in either copy" in done.err
    assert "Traceback" not in done.err
    done = esker("info", image)
    assert done.status == 1, done
    assert "no table can be read" in done.err
    assert "import --create" not in done.out


def forge_first(path, offset, value):
    """Makes an image of two tables, and sets a byte of the first's entry."""
    with Simulator(geometry=NOR, seed=1) as chip:
        with Volume.format(chip, uuid=bytes(16)) as volume:
            volume.create("temp", TEMP, data_blocks=8)
            volume.create("other", TEMP, data_blocks=8)
            with volume.open("other") as log:
                log.append_many(rows(10))
        chip.save(path)
    data = bytearray(path.read_bytes())
    seed = crc32c(bytes(16))
    for page in catalog_pages(path):
        if data[page + 16] == 1:  # the first table's
            data[page + 16 + offset] = value
            whole = bytes(data[page + 4 : page + NOR.page_bytes])
            struct.pack_into("<I", data, page, crc32c(whole, seed))
    path.write_bytes(data)


def test_flags_that_a_column_s_type_does_not_have_are_skipped(esker, tmp_path):
    path = tmp_path / "flags.img"
    forge_first(path, 0, 1)  # as it is
    at = path.read_bytes().index(b"temp_c") - 6  # the column's flags
    first = catalog_pages(path)[0] + 16
    for flags in (1, 5, 253):  # all but 2, which an f32 has
        forge_first(path, at - first, flags)
        assert path.read_bytes()[at] == flags
        with eskerdb.open(path) as volume:
            assert volume.table("temp").columns == TEMP
            assert volume.table("temp").problem == ""
        done = esker("query", path, "SELECT count(*) AS n FROM temp", "--csv")
        assert (done.status, done.out) == (0, "n\n0\n"), done
        assert esker("verify", path).status == 0


@pytest.mark.parametrize(
    ("offset", "value", "message"),
    [
        (1, 77, "kind 77"),
        (2, 2, "codec 2"),
        (14, 1, "features 0x0001"),
        (26 + 4 + 2 + 2, 7, "its options"),
    ],
    ids=["kind", "codec", "feature", "policy"],
)
def test_a_table_of_a_newer_version_hides_no_other(
    esker, tmp_path, offset, value, message
):
    path = tmp_path / "two.img"
    forge_first(path, offset, value)
    with eskerdb.open(path) as volume:
        first, second = volume.tables()
        assert first.name == "temp"
        assert message in first.problem
        assert second.problem == ""
        with pytest.raises(EskerError):
            volume.open_table("temp")
        with volume.open("other") as log:
            assert log.count() == 10
    done = esker("query", path, "SELECT count(*) AS n FROM other", "--csv")
    assert (done.status, done.out) == (0, "n\n10\n"), done
    done = esker("info", path)
    assert done.status == 1
    assert message in " ".join(done.err.split())
    assert "other" in done.out
    done = esker("verify", path)
    assert done.status == 1
    assert "other" in done.out
