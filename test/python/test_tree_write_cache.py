# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Trees with a write cache: what waits, until when, and how it fails."""

import sys

import pytest

from conftest import NAND, SD
from eskerdb import (
    Closed,
    Column,
    DeviceError,
    Failure,
    Invalid,
    Simulator,
    Unsupported,
    Volume,
)

COLUMNS = (Column("k", "i32"), Column("v", "i32"))
CACHE = {"frames": 12, "write_frames": 10}
ROWS = [{"k": i, "v": 2 * i} for i in range(100)]


@pytest.fixture(params=["wandering", "mu"])
def volume(request):
    """100 rows, in tree "map"."""
    with Simulator(geometry=NAND, seed=1) as chip, Volume.format(chip) as made:
        made.create_tree("map", COLUMNS, store=request.param, blocks=20)
        with made.open_tree("map") as tree:
            tree.put_many(ROWS)
        yield made


def again(volume):
    """Cuts the power, and returns what is there then."""
    volume.device.power_off()
    volume.close()
    volume.device.power_on()
    with (
        Volume.mount(volume.device) as mounted,
        mounted.open_tree("map") as tree,
    ):
        assert tree.check().ok
        return list(tree)


def test_changes_wait_for_a_sync(volume):
    chip, tree = volume.device, volume.open_tree("map", **CACHE)
    chip.counters_reset()
    tree.put(k=1000, v=1)
    tree.delete(0)
    tree.update(k=5, v=5)
    assert chip.counters.programs == 0
    wanted = [*ROWS[1:5], {"k": 5, "v": 5}, *ROWS[6:], {"k": 1000, "v": 1}]
    assert list(tree) == wanted and len(tree) == 100
    tree.sync()
    assert chip.counters.programs > 0
    tree.put(k=2000, v=2)
    assert again(volume) == wanted


def test_a_power_cut_loses_waiting_changes(volume):
    tree = volume.open_tree("map", **CACHE)
    tree.put(k=1000, v=1)
    assert again(volume) == ROWS


@pytest.mark.parametrize("frames", [None, 0])
def test_no_frames_are_no_write_cache(volume, frames):
    tree = volume.open_tree("map", frames=9, write_frames=frames)
    tree.put(k=1000, v=1)
    assert again(volume)[-1] == {"k": 1000, "v": 1}


def test_many_changes_of_a_leaf_are_few_programs(volume):
    programs = []
    for options in ({"frames": 12}, CACHE):
        volume.device.counters_reset()
        with volume.open_tree("map", **options) as tree:
            for i in range(500):
                tree.update(k=i % 20, v=i)
        programs.append(volume.device.counters.programs)
    assert programs[0] >= 500 and programs[1] < 10


def test_close_writes_what_waits(volume):
    tree = volume.open_tree("map", **CACHE)
    tree.delete(0)
    tree.close()
    with volume.open_tree("map", **CACHE) as tree:
        assert 0 not in tree
        tree.delete(1)
    assert again(volume) == ROWS[2:]


def test_close_raises_when_waiting_changes_cannot_be_written(volume):
    tree = volume.open_tree("map", **CACHE)
    tree.put(k=1000, v=1)
    volume.device.power_off()
    with pytest.raises(DeviceError, match="table 'map': sync"):
        tree.close()
    with pytest.raises(Closed):
        tree.first()
    tree.close()
    volume.device.power_on()
    volume.open_tree("map").close()


def test_the_end_of_a_block_raises_it_too(volume):
    with (
        pytest.raises(DeviceError, match="sync"),
        volume.open_tree("map", **CACHE) as tree,
    ):
        tree.put(k=1000, v=1)
        volume.device.power_off()
    volume.device.power_on()
    with (
        pytest.raises(ZeroDivisionError) as raised,
        volume.open_tree("map", **CACHE) as tree,
    ):
        tree.put(k=1000, v=1)
        volume.device.power_off()
        raise ZeroDivisionError
    if sys.version_info >= (3, 11):
        assert "and then table 'map': sync" in raised.value.__notes__[0]
    assert again(volume) == ROWS


def test_a_sync_that_failed_may_be_called_again(volume):
    chip, tree = volume.device, volume.open_tree("map", **CACHE)
    tree.put(k=1000, v=1)
    chip.fail(transfer=Failure(every=1))
    with pytest.raises(DeviceError):
        tree.sync()
    assert 1000 in tree
    chip.fail()
    tree.sync()
    assert again(volume) == [*ROWS, {"k": 1000, "v": 1}]


def test_check_shape_and_batch_write_first(volume):
    tree = volume.open_tree("map", **CACHE)
    tree.delete(0)
    assert tree.check().ok and tree.check().rows == 99
    tree.delete(1)
    assert sum(leaf.count for leaf in tree.shape().level(1)) == 98
    tree.delete(2)
    with tree.batch():
        tree.delete(3)
    with pytest.raises(ZeroDivisionError), tree.batch():
        tree.delete(4)
        raise ZeroDivisionError
    assert list(tree) == ROWS[4:]
    assert again(volume) == ROWS[4:]


def test_a_reader_shows_what_waits_to_be_written(volume):
    with volume.open_tree("map", **CACHE) as tree, tree.reader() as reader:
        assert list(reader) == ROWS
        tree.delete(0)
        reader.renew()
        assert 0 not in reader and len(reader) == 99
        assert list(reader) == list(tree) == ROWS[1:]


def test_more_write_frames_than_there_are_is_refused(volume):
    least = 2 if volume.table("map").store == "mu" else 1
    for frames, asked in ((0, 2), (12, 13 - least), (12, -1), (255, 300)):
        with pytest.raises(Invalid, match=rf"1 \.\. frames - {least}"):
            volume.open_tree("map", frames=frames, write_frames=asked)
    volume.open_tree("map", frames=12, write_frames=12 - least).close()


@pytest.mark.parametrize("store", ["inplace", "journaled"])
def test_in_place_trees_have_no_write_cache(store):
    with Simulator(geometry=SD, seed=1) as chip, Volume.format(chip) as made:
        made.create_tree("map", COLUMNS, store=store)
        with pytest.raises(
            Unsupported, match=f"{store}.*no write cache; leave"
        ):
            made.open_tree("map", **CACHE)
        made.open_tree("map", frames=12, write_frames=0).close()
