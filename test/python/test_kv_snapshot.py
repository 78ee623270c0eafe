# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Snapshots of kv tables, and readers beside a writer."""

import random

import pytest

import eskerdb
from conftest import NOR
from eskerdb import Closed, Invalid, NotFound, Stale


@pytest.fixture
def kv(volume):
    volume.create_kv("settings", blocks=8)
    with volume.open_kv("settings") as made:
        yield made


def test_a_snapshot_is_the_table_as_it_was(kv):
    rng = random.Random(5)
    for i in range(40):
        kv[f"key {i}"] = "v" * i
    then = dict(kv)
    with kv.snapshot() as snapshot:
        for i in range(150):
            kv[f"key {rng.randrange(60)}"] = i
            if i % 5 == 0:
                kv.pop(f"key {rng.randrange(60)}", None)
        assert dict(snapshot) == then
        assert list(snapshot) == sorted(then)
        assert len(snapshot) == 40
        assert "key 50" not in snapshot
        with pytest.raises(NotFound):
            snapshot["key 50"]
    assert dict(kv) != then


def test_a_snapshot_says_what_the_collector_passed(kv):
    kv["same"], kv["changed"] = 1, "then"
    with kv.snapshot() as snapshot:
        for i in range(2000):
            kv["changed"] = f"{i:050}"
        assert snapshot["same"] == 1
        with pytest.raises(Stale, match="open a new snapshot"):
            snapshot["changed"]
        with pytest.raises(Stale):
            dict(snapshot)


def test_a_snapshot_of_few_changes_is_stale_after_more(kv):
    kv["a"] = 1
    with kv.snapshot(changes=2) as snapshot:
        kv["b"] = kv["c"] = 2
        assert dict(snapshot) == {"a": 1}
        kv["d"] = 3
        with pytest.raises(Stale):
            snapshot["a"]


def test_a_snapshot_ends_with_its_table(volume):
    volume.create_kv("settings", blocks=8)
    kv = volume.open_kv("settings")
    kv["a"] = 1
    snapshot, other = kv.snapshot(), kv.snapshot()
    other.close()
    with pytest.raises(Invalid):
        other["a"]
    kv.close()
    with pytest.raises(Closed):
        snapshot["a"]
    snapshot.close()


def test_a_reader_says_that_the_writer_went_on(tmp_path):
    path = tmp_path / "kv.img"
    with (
        eskerdb.ImageFile(path, NOR, create=True) as device,
        eskerdb.Volume.format(device) as volume,
    ):
        volume.create_kv("settings", blocks=4)
        with volume.open_kv("settings") as kv:
            kv["a"] = kv["b"] = 2
            with pytest.raises(Invalid):
                kv.check_reader()
            kv.sync()
            reader = eskerdb.open(path)
            seen = reader.open_kv("settings")
            seen.check_reader()
            for i in range(3000):
                kv["b"] = i
            kv.sync()
            with pytest.raises(Stale, match="open it again"):
                seen.check_reader()
            seen.close()
            reader.close()
