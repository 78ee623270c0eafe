# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Salvage of kv tables, of volumes and of bare stores."""

import pytest

import eskerdb
from conftest import NOR, TEMP, rows
from eskerdb import EskerError, Geometry, NotFound, Simulator, Volume
from eskerdb.salvage import salvage

SMALL = Geometry(block_count=6, block_pages=8, page_bytes=256)
NAMES = {"settings": NOR, "kv": SMALL}
LONG = b"\x01\x02" * 300


def fill(kv):
    """Keys of every type, long values that go over pages, old versions."""
    for i in range(40):
        kv["counter"] = i
        kv[f"key {i:02}"] = f"value {i}" * (i % 5)
    for i in range(3):
        kv[f"long {i}"] = LONG + bytes([i])
    kv.update({"on": True, "least": -5, "f": 0.5, b"\xff": b"bytes"})
    kv.put("signed", 7, "signed")
    kv.sync()


@pytest.fixture(params=["crc32c", "crc16", "none"])
def checksum(request):
    return request.param


@pytest.fixture(params=NAMES)
def name(request):
    """The table's name: of a volume, or of a bare store."""
    return request.param


@pytest.fixture
def image(tmp_path, name, checksum):
    path = tmp_path / "old.img"
    with Simulator(geometry=NAMES[name], seed=1) as chip:
        if name == "kv":
            made = Volume.make_bare(chip, id=9, checksum=checksum)
        else:
            made = Volume.format(chip, checksum=checksum)
        with made as volume:
            if name != "kv":
                volume.create("temp", TEMP, data_blocks=8)
                with volume.open("temp") as series:
                    series.append_many(rows(100))
                volume.create_kv(name, blocks=8, live_percent=60, version=3)
            with volume.open_kv(name) as kv:
                fill(kv)
        chip.save(path)
    return path


def contents(path, name):
    """Every key's bytes and type."""
    with eskerdb.open(path) as volume, volume.open_kv(name) as kv:
        return {entry.raw_key: entry.stored for entry in kv.scan()[0]}


def page_of(data, name, text):
    """Where the page of the newest copy of `text` starts."""
    size = NAMES[name].page_bytes
    return data.rfind(text) // size * size


def test_a_whole_table_is_copied(image, name, tmp_path):
    before = image.read_bytes()
    out = tmp_path / "new.img"
    done = salvage(image, out)
    assert image.read_bytes() == before
    assert done.catalog == ("none" if name == "kv" else "whole")
    table = done.tables[-1]
    assert (table.name, table.problem, table.rows_missing) == (name, "", 0)
    assert table.rows == len(contents(image, name))
    assert contents(out, name) == contents(image, name)
    with eskerdb.open(image) as old, eskerdb.open(out) as new:
        assert new.is_bare == old.is_bare
        was, now = old.table(name), new.table(name)
        assert (was.blocks, was.version) == (now.blocks, now.version)
        assert was.live_percent == now.live_percent
        if old.is_bare:
            assert new.bare_id == old.bare_id == 9
            assert new.checksum == old.checksum
        with new.open_kv(name) as kv:
            assert kv.check().ok


@pytest.mark.parametrize("name", ["settings"])
def test_keys_survive_the_loss_of_superblocks(image, name, tmp_path):
    whole = contents(image, name)
    image.write_bytes(image.read_bytes().replace(b"EskerDB\0", bytes(8)))
    done = salvage(image, tmp_path / "new.img", geometry=NOR)
    assert done.catalog == "from its pages"
    assert contents(tmp_path / "new.img", name) == whole


@pytest.mark.parametrize("name", ["kv"])
def test_a_store_of_a_stated_geometry(image, name, tmp_path):
    whole = contents(image, name)
    done = salvage(image, tmp_path / "new.img", geometry=SMALL)
    assert done.catalog == "none"
    assert contents(tmp_path / "new.img", name) == whole


@pytest.mark.parametrize("name", ["kv"])
def test_a_store_without_a_head_is_refused(image, name, esker, tmp_path):
    data = bytearray(image.read_bytes())
    at = data.find(b"EskerKV\0")
    while at >= 0:
        data[at + 14] ^= 1  # the page size
        at = data.find(b"EskerKV\0", at + 1)
    image.write_bytes(data)
    with pytest.raises(EskerError, match="a head of a bare kv store, but no"):
        salvage(image, tmp_path / "new.img")
    image.write_bytes(data.replace(b"EskerKV\0", bytes(8)))
    with pytest.raises(NotFound):
        salvage(image, tmp_path / "new.img", geometry=SMALL)


@pytest.mark.parametrize("checksum", ["crc32c", "crc16"])
def test_a_damaged_page_costs_its_records(image, name, esker, tmp_path):
    """The second page of a long value: the record is not complete, and its key
    not in the table any more."""
    whole = contents(image, name)
    data = bytearray(image.read_bytes())
    at = page_of(data, name, LONG[:100] + LONG[:100])
    data[at + 100] ^= 1
    image.write_bytes(data)
    out = tmp_path / "new.img"
    done = esker("salvage", image, out)
    assert done.status == 1, done
    assert "1 pages" in done.out
    found = contents(out, name)
    lost = whole.keys() - found.keys()
    assert b"long 2" in lost or b"long 1" in lost
    assert len(lost) <= 3
    assert {key: whole[key] for key in found} == found


@pytest.mark.parametrize("name", ["settings"])
@pytest.mark.parametrize("checksum", ["none"])
def test_a_key_that_no_table_takes_is_told(image, name, esker, tmp_path):
    """A forged type: without a checksum the record counts."""
    data = bytearray(image.read_bytes())
    at = data.rfind(b"signed") - 2
    data[at + 1] = data[at + 1] & 0xC7 | 6 << 3
    image.write_bytes(data)
    out = tmp_path / "new.img"
    done = esker("salvage", image, out)
    assert done.status == 1, done
    assert "key 'signed' is lost" in done.err
    assert "1 keys" in done.out
    assert b"signed" not in contents(out, name)


def test_a_file_cut_short_gives_what_it_has(image, name, esker, tmp_path):
    whole = contents(image, name)
    data = image.read_bytes()
    end = page_of(data, name, LONG[:200])
    image.write_bytes(data[:end])
    out = tmp_path / "new.img"
    done = esker("salvage", image, out)
    assert done.status == 1, done
    assert "bytes early" in done.err
    found = contents(out, name)
    assert len(found) > 30
    assert all(found[key] == whole[key] or key == b"counter" for key in found)
