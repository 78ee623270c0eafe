# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Kv tables in Python: a mapping, its types, its limits, its damage."""

import math

import pytest

import eskerdb
from conftest import NOR
from eskerdb import (
    Closed,
    Corrupt,
    Full,
    Limit,
    NotFound,
    ReadOnly,
    SchemaError,
    Simulator,
    Unsupported,
    Volume,
)

VALUES = {
    "bytes": b"\x00\xff",
    "no bytes": b"",
    "text": "Esk\u00e9r\n",
    "no text": "",
    "true": True,
    "false": False,
    "zero": 0,
    "most": 2**64 - 1,
    "minus one": -1,
    "least": -(2**63),
    "float": 0.1,
    "infinite": -math.inf,
    "wifi/ssid": "home",
}


@pytest.fixture
def kv(volume):
    volume.create_kv("settings", blocks=8)
    with volume.open_kv("settings") as made:
        yield made


@pytest.fixture
def image(tmp_path):
    """An image with VALUES in table settings; on request with a page of its
    log damaged."""

    def make(damaged_page=None):
        path = tmp_path / "kv.img"
        with Simulator(geometry=NOR, seed=1) as chip:
            with Volume.format(chip) as volume:
                volume.create_kv("settings", blocks=8)
                with volume.open_kv("settings") as kv:
                    kv.update(VALUES)
                    for i in range(100):
                        kv[f"key {i:03}"] = "v" * 20
                first = volume.table("settings").first_block[0]
            if damaged_page is not None:
                page = first * NOR.block_pages + damaged_page
                chip.poke(page, 60, b"damage")
            chip.save(path)
        return path

    return make


def same(found, wanted):
    return found == wanted and type(found) is type(wanted)


@pytest.mark.parametrize("key", VALUES)
def test_a_value_comes_back_with_its_type(kv, key):
    kv[key] = VALUES[key]
    assert same(kv[key], VALUES[key])
    kv.close()
    with kv.volume.open_kv("settings") as again:
        assert same(again[key], VALUES[key])


def test_nan_comes_back(kv):
    kv["nan"] = math.nan
    assert math.isnan(kv["nan"])


def test_put_stores_the_type_that_firmware_reads(kv):
    for kind, value, size in (
        ("int", 5, 1),
        ("signed", 5, 1),
        ("signed", -5, 1),
        ("float32", 0.5, 4),
        ("float", 0.5, 8),
        ("text", "a", 1),
    ):
        kv.put("key", value, kind)
        assert kv["key"] == value
        assert len(kv.stored("key").raw) == size
    kv.put("key", 5, "signed")
    assert kv.stored("key").type_name == "signed"
    kv["key"] = 5
    assert kv.stored("key").type_name == "int"


def test_it_is_a_mapping(kv):
    kv.update({"b": 1, b"\xff": 2, "a": 3, "\u00e9": 4})
    assert list(kv) == ["a", "b", "\u00e9", b"\xff"]
    assert dict(kv.items()) == {"b": 1, b"\xff": 2, "a": 3, "\u00e9": 4}
    assert "a" in kv and b"a" in kv and "c" not in kv
    assert len(kv) == 4
    assert kv.get("c", 7) == 7
    del kv["a"]
    assert "a" not in kv and len(kv) == 3
    with pytest.raises(NotFound, match="table 'settings': delete key 'a'"):
        del kv["a"]
    with pytest.raises(KeyError):
        kv["a"]


def test_a_batch_changes_all_keys_or_none(kv):
    kv.update({"old": 1, "mode": "a"})
    kv.change_many({"ssid": "home", "mode": "b", "empty": b""}, ["old"])
    assert dict(kv) == {"ssid": "home", "mode": "b", "empty": b""}
    before = dict(kv)
    refused = [
        (NotFound, "'old'", {"ssid": "x"}, ["old"]),
        (SchemaError, "key", {"ssid": "x", "": 1}, []),
        (SchemaError, "value", {"ssid": "x", "y": None}, []),
        (Limit, "'b'", {"ssid": "x", "b": bytes(10**6)}, []),
        (Limit, "at once", {str(i): 1 for i in range(70000)}, []),
        (eskerdb.EskerError, "'mode'", {"mode": 1}, ["mode"]),
    ]
    for kind, message, values, deletes in refused:
        with pytest.raises(kind, match=message):
            kv.change_many(values, deletes)
        assert dict(kv) == before
    kv.change_many({})
    assert dict(kv) == before


def test_a_long_value_comes_back(kv):
    value = bytes(range(256)) * 12
    kv["long"] = value
    assert kv["long"] == value
    with pytest.raises(Limit, match="do not fit a block of 4,096 bytes"):
        kv["long"] = bytes(4096)
    assert kv["long"] == value


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("", 1, "key '' has 0 bytes; use a key of 1 to 253 bytes"),
        ("k" * 255, 1, "has 255 bytes; use a key of 1 to 253"),
        (7, 1, "key 7: a key is text or bytes"),
        ("\ud800", 1, "cannot be written as UTF-8"),
        ("k", 2**64, "does not fit 64 bits"),
        ("k", -(2**63) - 1, "does not fit 64 bits"),
        ("k", None, "value None has no type of a kv table"),
        ("k", [1], "has no type of a kv table"),
    ],
)
def test_what_is_no_key_or_value_is_refused(kv, key, value, message):
    with pytest.raises(SchemaError) as why:
        kv[key] = value
    assert message in str(why.value) and "table 'settings'" in str(why.value)
    assert len(kv) == 0


def test_put_refuses_a_value_of_another_type(kv):
    with pytest.raises(SchemaError, match="'5' is not of type int"):
        kv.put("k", "5", "int")
    with pytest.raises(SchemaError, match="True is not of type int"):
        kv.put("k", True, "int")
    with pytest.raises(SchemaError, match="no type 'u8'; choose one of"):
        kv.put("k", 5, "u8")
    with pytest.raises(SchemaError, match="out of range for float32"):
        kv.put("k", 1e300, "float32")


def test_a_full_table_says_so_and_keeps_what_it_has(kv):
    done = 0
    with pytest.raises(Full, match="table 'settings': set key 'key ") as why:
        for done in range(100_000):
            kv[f"key {done}"] = b"v" * 50
    assert "more blocks" in str(why.value)
    assert len(kv) == done
    assert kv["key 0"] == kv[f"key {done - 1}"] == b"v" * 50


def test_a_table_opened_for_few_keys_says_so(volume, kv):
    kv.update({"a": 1, "b": 2})
    kv.close()
    with pytest.raises(Limit, match="more than 1 keys; open it with more"):
        volume.open_kv("settings", keys=1)
    with volume.open_kv("settings", keys=2) as few:
        with pytest.raises(Full, match=r"keys=4") as why:
            few["c"] = 3
        assert "opened for 2 keys" in str(why.value)
    with volume.open_kv("settings") as many:
        many["c"] = 3
        assert many.stats().keys_max > 1000


def test_a_new_table_has_at_least_three_blocks(volume):
    with pytest.raises(SchemaError, match="2 blocks; ask for at least 3"):
        volume.create_kv("settings", blocks=2)
    assert "settings" not in volume


def test_changes_are_in_the_image_file(image):
    path = image()
    with (
        eskerdb.open(path, read_only=False) as volume,
        volume.open_kv("settings") as kv,
    ):
        assert {key: kv[key] for key in VALUES} == VALUES
        kv["new"] = 1
        del kv["true"]
    with eskerdb.open(path) as volume, volume.open_kv("settings") as kv:
        assert kv["new"] == 1 and "true" not in kv
        assert kv.check().ok
        with pytest.raises(ReadOnly):
            kv["new"] = 2


def test_synced_changes_survive_a_power_cut():
    with Simulator(geometry=NOR, seed=1) as chip:
        with Volume.format(chip) as volume:
            volume.create_kv("settings", blocks=8)
            with volume.open_kv("settings") as kv:
                kv["synced"] = 1
                kv.sync()
                kv["not synced"] = 2
                chip.power_off()
                kv.close(sync=False)
        chip.power_on()
        with Volume.mount(chip) as volume, volume.open_kv("settings") as kv:
            assert dict(kv) == {"synced": 1}


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({}, ["a", "a/1", "a/2", "b", "b/1", "ü"]),
        ({"prefix": "a/"}, ["a/1", "a/2"]),
        ({"prefix": "c"}, []),
        ({"start": "a/2"}, ["a/2", "b", "b/1", "ü"]),
        ({"start": "a0", "stop": b"b/1"}, ["b"]),
        ({"stop": "a/2", "reverse": True}, ["a/1", "a"]),
        ({"prefix": "b", "start": "b/", "reverse": True}, ["b/1"]),
        ({"stop": ""}, []),
    ],
)
def test_a_scan_returns_the_keys_between_its_bounds(kv, bounds, expected):
    kv.update({key: key for key in ("b", "ü", "a/2", "a", "b/1", "a/1")})
    entries, lost = kv.scan(**bounds)
    assert [entry.key for entry in entries] == expected
    assert [entry.stored.value for entry in entries] == expected
    assert lost == 0


def test_a_damaged_page_is_reported(image):
    path = image(damaged_page=3)
    with eskerdb.open(path) as volume, volume.open_kv("settings") as kv:
        report = kv.check()
        assert not report.ok and report.pages_lost == 1
        assert kv.stats().pages_lost == 1
        assert report.keys < len(VALUES) + 100
        entries, lost = kv.scan()
        assert len(entries) + lost == len(kv)


def test_damage_of_an_open_table_is_an_error_of_its_keys():
    with (
        Simulator(geometry=NOR, seed=1) as chip,
        Volume.format(chip) as volume,
    ):
        volume.create_kv("settings", blocks=8)
        kv = volume.open_kv("settings")
        kv.update({f"key {i}": b"v" * 20 for i in range(100)})
        kv.sync()
        first = volume.table("settings").first_block[0] * NOR.block_pages
        chip.poke(first + 3, 60, b"damage")
        entries, lost = kv.scan()
        assert lost > 0 and len(entries) + lost == 100
        with pytest.raises(Corrupt, match=f"{lost} of its keys"):
            list(kv)
        report = kv.check()
        assert (report.ok, report.keys_lost) == (False, lost)


def test_space_and_stats_count(kv):
    kv["a"] = 1
    kv.sync()
    assert kv.space().pages == 8 * NOR.block_pages
    stats = kv.stats()
    assert (stats.keys, stats.programs) == (1, 1)
    assert 0 < stats.live_bytes <= stats.live_max
    assert kv.arena_bytes > stats.keys_max


def test_a_closed_table_and_one_of_another_kind_say_so(volume, kv):
    kv.close()
    kv.close()
    with pytest.raises(Closed):
        kv["a"]
    with pytest.raises(Closed):
        len(kv)
    with pytest.raises(Unsupported, match=r"it is a kv, not a series.*open_kv"):
        volume.open("settings")
    assert volume.table("settings").kind == "kv"
    with volume.open_table("settings") as opened:
        assert isinstance(opened, eskerdb.Kv)
    volume.drop("settings")
    assert "settings" not in volume


def test_a_table_with_an_index_keeps_few_keys_in_ram(volume):
    made = volume.create_kv("many", blocks=24, index_keys=2000)
    assert made.index_keys == 2000
    assert made.blocks[1] > 0
    for times in range(3):
        with volume.open_kv("many", keys=200) as kv:
            for i in range(1500):
                kv[f"key {i}"] = i * (times + 1)
            assert len(kv) == 1500
            assert kv["key 1499"] == 1499 * (times + 1)
    with volume.open_kv("many", keys=100) as kv:
        assert len(list(kv)) == 1500
        del kv["key 7"]
        assert "key 7" not in kv
        report = kv.check()
        assert report.ok
        assert (report.keys, report.index_lost) == (1499, 0)


def test_an_open_replays_as_few_pages_as_the_handle_before_was_told(volume):
    volume.create_kv("many", blocks=24, index_keys=2000)
    reads, programs = [], []
    for pages in (0, 8):
        with volume.open_kv("many", keys=1000, replay_pages=pages) as kv:
            for i in range(3000):
                kv[f"key {i % 700}"] = i
            programs.append(kv.stats().programs)
        with volume.open_kv("many", keys=1000) as kv:
            reads.append(kv.stats().page_reads)
    assert reads[1] < reads[0] / 2
    assert programs[1] > programs[0]


def test_a_table_with_an_index_says_that_it_has_its_keys(volume):
    volume.create_kv("few", blocks=8, index_keys=10)
    with volume.open_kv("few") as kv:
        for i in range(10):
            kv[f"{i}"] = i
        with pytest.raises(Full, match="it was made for 10 keys"):
            kv["one more"] = 1
        kv["0"] = 5
