# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Bare kv stores: images without a catalog, in Python and by the command."""

import pytest

import eskerdb
from conftest import NOR
from eskerdb import (
    Busy,
    Corrupt,
    Foreign,
    Geometry,
    GeometryError,
    ImageFile,
    Invalid,
    Limit,
    NotFound,
    ReadOnly,
    Simulator,
    Unsupported,
    VersionError,
    Volume,
)

SMALL = Geometry(block_count=4, block_pages=8, page_bytes=256)
SD = Geometry(
    block_count=5,
    block_pages=4,
    page_bytes=512,
    program_bytes=512,
    programs_per_page_max=1,
    erased_value=0,
)
VALUES = {"boots": 7, "ssid": "home", "key": b"\x00\xff", "on": True}
MAGIC = b"EskerKV\0"
PAGE_BYTES_AT = 14  # in the head


def fill(device, laps=1, **options):
    """Puts VALUES into a new store on `device`, and other keys before."""
    with (
        Volume.make_bare(device, **options) as volume,
        volume.open_kv("kv") as kv,
    ):
        for i in range(100 * laps):
            kv["counter"] = i
            if i % 10 == 0:
                kv.sync()
        del kv["counter"]
        kv.update(VALUES)


@pytest.fixture(params=["small", "sd", "crc16", "none"])
def image(request, tmp_path):
    """An image with VALUES, of stores with different geometry, checksum."""
    path = tmp_path / "bare.img"
    geometry = SD if request.param == "sd" else SMALL
    checksum = request.param if request.param in ("crc16", "none") else "crc32c"
    with Simulator(geometry=geometry, seed=1) as chip:
        fill(chip, laps=3, id=77, checksum=checksum)
        chip.save(path)
    return path


def entries(image):
    with eskerdb.open(image) as volume, volume.open_kv("kv") as kv:
        return dict(kv.items())


def test_an_image_is_read_without_its_geometry(image):
    geometry = eskerdb.probe(image)
    assert geometry.bytes == image.stat().st_size
    assert geometry.programs_per_page_max == 1
    with eskerdb.open(image) as volume:
        assert volume.is_bare and volume.read_only and volume.check().ok
        (table,) = volume.tables()
        assert (table.name, table.kind) == ("kv", "kv")
        assert table.blocks[0] == geometry.block_count
        with volume.open_table("kv") as kv:
            assert dict(kv.items()) == VALUES
            assert kv.check().ok
            with pytest.raises(Busy):
                volume.open_kv("kv")
            with pytest.raises(ReadOnly):
                kv["boots"] = 8
        with pytest.raises(NotFound, match="the image has kv"):
            volume.open_kv("settings")
        with pytest.raises(Limit):
            volume.open_kv("kv", keys=3)
        with volume.open_kv("kv", keys=4) as kv:
            assert len(kv) == 4
    with eskerdb.open(image) as volume:
        assert volume.table("kv").name == "kv"


def test_what_a_host_writes_the_device_reads(image):
    """The device programs pages as its geometry says, and goes on behind what
    the host wrote."""
    for geometry in (SMALL, SD):
        if geometry.bytes == image.stat().st_size:
            break
    for boot in range(40):
        with eskerdb.open(image, read_only=False) as volume:
            assert not volume.read_only
            with volume.open_kv("kv") as kv:
                kv["host"] = boot
                assert kv.get("device", -1) == boot - 1
        with (
            ImageFile(image, geometry) as device,
            Volume.mount(device) as volume,
        ):
            assert volume.is_bare and volume.geometry == geometry
            with volume.open_kv("kv") as kv:
                kv["device"] = boot
                assert kv["host"] == boot
                kv.sync()
                kv["device"] = boot
    assert entries(image) == VALUES | {"host": 39, "device": 39}


def test_a_store_has_one_table(image):
    with eskerdb.open(image, read_only=False) as volume:
        for change in (
            lambda: volume.create_kv("other"),
            lambda: volume.create("other", []),
            lambda: volume.drop("kv"),
        ):
            with pytest.raises(Unsupported, match="it is a bare kv store"):
                change()
    assert entries(image) == VALUES


def test_a_blank_device_becomes_a_store_only_if_asked(tmp_path):
    with Simulator(geometry=SMALL, seed=1) as chip:
        with pytest.raises(NotFound, match="format it first"):
            Volume.mount(chip)
        with Volume.make_bare(chip, id=5), pytest.raises(Busy):
            Volume.make_bare(chip)
        with pytest.raises(NotFound):
            Volume.mount(chip)
        fill(chip)
        with (
            Volume.make_bare(chip, id=6) as volume,
            volume.open_kv("kv") as kv,
        ):
            assert dict(kv.items()) == VALUES
        with pytest.raises(Invalid, match="choose one of"):
            Volume.make_bare(chip, checksum="md5")
        with pytest.raises(Invalid):
            Volume.make_bare(chip, live_percent=96)


def test_other_devices_are_no_stores():
    with Simulator(geometry=NOR, seed=1) as chip:
        Volume.format(chip).close()
        with pytest.raises(Foreign):
            Volume.make_bare(chip)
    large = Geometry(block_count=65, block_pages=8, page_bytes=256)
    with (
        Simulator(geometry=large, seed=1) as chip,
        pytest.raises(GeometryError),
    ):
        Volume.make_bare(chip)
    with (
        Simulator(geometry=SMALL, seed=1, dirty=True) as chip,
        pytest.raises(Foreign),
    ):
        Volume.mount(chip)


def test_damaged_heads_cost_no_more_than_their_pages(image):
    data = bytearray(image.read_bytes())
    heads = [i for i in range(len(data)) if data[i : i + 8] == MAGIC]
    assert len(heads) > 1
    for at in heads[:-1]:
        data[at + 30] ^= 1
    image.write_bytes(data)
    assert eskerdb.probe(image).bytes == len(data)
    eskerdb.open(image).close()


def test_images_that_are_no_stores_are_refused(image, tmp_path):
    whole = image.read_bytes()
    image.write_bytes(whole[:-8])
    with pytest.raises(GeometryError, match="truncated"):
        eskerdb.open(image)
    data = bytearray(whole)
    at = data.find(MAGIC)
    while at >= 0:
        data[at + PAGE_BYTES_AT] ^= 1
        at = data.find(MAGIC, at + 1)
    image.write_bytes(data)
    with pytest.raises(Corrupt, match="a head of a bare kv store, but no"):
        eskerdb.open(image)
    image.write_bytes(whole.replace(MAGIC, b"EskerXX\0"))
    with pytest.raises(NotFound, match="no EskerDB volume in this file"):
        eskerdb.open(image)


def test_a_newer_version_is_refused(tmp_path):
    path = tmp_path / "newer.img"
    with Simulator(geometry=SMALL, seed=1) as chip:
        fill(chip, id=0x01020304, checksum="none")
        chip.save(path)
    data = path.read_bytes()
    path.write_bytes(data.replace(MAGIC + b"\1", MAGIC + b"\2"))
    with pytest.raises(VersionError):
        eskerdb.open(path)
    with ImageFile(path, SMALL) as device, pytest.raises(VersionError):
        Volume.mount(device)


def test_commands(esker, image, tmp_path):
    shown = esker("info", image, "--check")
    assert shown.status == 0, shown
    assert "bare kv store" in shown.out and "catalog" not in shown.out
    assert "pages of the log are valid" in shown.out
    assert esker("get", image, "kv", "ssid").out == "home\n"
    assert esker("set", image, "kv", "ssid", "away").status == 0
    listed = esker("list", image, "kv", "--csv")
    assert listed.status == 0
    assert "ssid,away,text" in listed.out.splitlines()
    file = tmp_path / "keys.csv"
    file.write_text(listed.out.replace("away", "far"))
    assert esker("import", image, "kv", file).status == 0
    sql = "SELECT value FROM kv WHERE key = 'ssid'"
    assert esker("query", image, sql, "--csv").out.split() == ["value", "far"]
    assert esker("delete", image, "kv", "ssid").status == 0
    assert esker("verify", image).status == 0
    assert "ssid" not in entries(image)


def test_commands_for_tables_of_a_volume_refuse(esker, image):
    before = image.read_bytes()
    for command in (
        ("create", image, "other", "--kind", "kv"),
        ("drop", image, "kv"),
        ("get", image, "settings", "ssid"),
        ("inspect", image, "kv"),
        ("header", image, "kv"),
    ):
        refused = esker(*command)
        assert refused.status == 1 and refused.err.startswith("error: "), (
            refused
        )
    assert image.read_bytes() == before
