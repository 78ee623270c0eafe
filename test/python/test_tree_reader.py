# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Readers of trees: snapshots during changes, and their lifetimes."""

import gc
import itertools
import threading
from dataclasses import replace

import pyarrow
import pytest
from eskerdb._esker import ffi, lib

from conftest import NOR, SD
from eskerdb import (
    Busy,
    Closed,
    Column,
    EskerError,
    ReadOnly,
    Simulator,
    Stale,
    Unsupported,
    Volume,
)
from eskerdb.sql.duck import Database

COLUMNS = (Column("k", "i32"), Column("v", "i32"))
LARGE = replace(SD, block_count=256)
MOVING = ("wandering", "mu")
ROWS = [{"k": i, "v": 2 * i} for i in range(200)]


@pytest.fixture(params=["inplace", "journaled", *MOVING])
def tree(request):
    """200 rows over every store, and room for changes."""
    with Simulator(geometry=LARGE, seed=1) as chip, Volume.format(chip) as made:
        made.create_tree("map", COLUMNS, store=request.param, blocks=200)
        with made.open_tree("map", frames=4) as opened:
            opened.put_many(ROWS)
            yield opened


@pytest.fixture(params=MOVING)
def small(request):
    """The same on a region that is soon collected."""
    with Simulator(geometry=NOR, seed=1) as chip, Volume.format(chip) as made:
        made.create_tree("map", COLUMNS, store=request.param, blocks=10)
        with made.open_tree("map", frames=4) as opened:
            opened.put_many(ROWS)
            yield opened


def collect(tree, changes=2000):
    """Changes the tree until its old pages are gone."""
    for i in range(changes):
        tree.update(k=i % 200, v=-i)


def test_a_reader_reads_all_that_a_tree_reads(tree):
    with tree.reader(frames=3) as reader:
        assert len(reader) == 200 and list(reader) == ROWS
        assert reader[7] == reader.get(7) == ROWS[7]
        assert 7 in reader and 200 not in reader
        assert (reader.first(), reader.last()) == (ROWS[0], ROWS[-1])
        assert (reader.floor(900), reader.ceiling(900)) == (ROWS[-1], None)
        assert list(reader.scan(3, 5, backward=True)) == ROWS[5:2:-1]
        assert pyarrow.table(reader).to_pylist() == ROWS
        assert reader.scan(columns=["v"]).arrow()["v"][9].as_py() == 18
        assert reader.check() == tree.check()
        assert reader.shape() == tree.shape()
        assert reader.store == tree.store
        assert reader.stats().page_reads > 0
        assert 0 < reader.arena_bytes < tree.arena_bytes
        assert repr(reader).startswith("<Reader 'map' on ")


def test_a_reader_of_a_copy_on_write_tree_is_a_snapshot(tree):
    reader, moving = tree.reader(), tree.store in MOVING
    scan = iter(reader.scan())
    assert next(scan) == ROWS[0]
    tree.delete(7)
    tree.put(k=1000, v=1)
    now = [row for row in ROWS if row["k"] != 7] + [{"k": 1000, "v": 1}]
    assert list(reader) == (ROWS if moving else now)
    assert len(reader) == (200 if moving else len(now))
    assert (7 in reader) is moving
    reader.renew()
    assert list(reader) == now and 7 not in reader
    reader.close()
    assert list(tree) == now


def test_a_reader_shows_nothing_of_a_batch_that_is_open(tree):
    before = tree.reader()
    with tree.batch():
        tree.put(k=1000, v=1)
        with tree.reader() as meanwhile:
            assert list(before) == list(meanwhile) == ROWS
    before.renew()
    assert 1000 in before


def test_a_reader_without_pages_is_stale_until_renewed(small):
    reader = small.reader()
    collect(small)
    for read in (lambda: reader.get(100), lambda: list(reader), reader.check):
        with pytest.raises(Stale, match=r"reader on table 'map'.*renew\(\) it"):
            read()
    with pytest.raises(OSError, match=r"renew\(\) the reader"):
        reader.scan().arrow()
    reader.renew()
    assert list(reader) == list(small)
    assert reader.scan().arrow().num_rows == 200


def test_a_scan_goes_on_in_a_renewed_reader(volume):
    volume.create_tree("map", COLUMNS, store="wandering", blocks=30)
    with volume.open_tree("map") as tree:
        tree.put_many((i, 0) for i in range(700))
        reader = tree.reader()
        scan = iter(reader.scan())
        seen = [next(scan)["k"]]
        tree.put_many((i, 1) for i in range(1000))
        tree.put(k=2000, v=1)
        reader.renew()
        rest = list(scan)
        assert seen + [row["k"] for row in rest] == [*range(1000), 2000]
        assert (rest[0]["v"], rest[-1]["v"]) == (0, 1)


def test_a_reader_takes_no_change(tree):
    reader = tree.reader()
    for change in (
        lambda: reader.put(k=1, v=2),
        lambda: reader.insert({"k": 900, "v": 2}),
        lambda: reader.update(k=1, v=2),
        lambda: reader.put_many([(1, 2)]),
        lambda: reader.insert_many([(1, 2)]),
        lambda: reader.delete(1),
        lambda: reader.batch(),
    ):
        with pytest.raises(ReadOnly, match="change the tree that it reads"):
            change()
    row = ffi.new("uint8_t[8]")
    done = ffi.new("uint32_t *")
    refused = lib.esk_py_tree_put(reader._handle, 0, row, 1, done)
    assert refused == lib.ESK_E_READ_ONLY
    assert list(tree) == ROWS


def test_what_a_reader_cannot_be_is_refused(tree):
    with pytest.raises(ValueError, match="frames = 256 is out of range"):
        tree.reader(frames=256)
    reader, config = tree.reader(), ffi.new("struct esk_tree_config *")
    out = ffi.new("struct esk_py_table **")
    for status in (
        lib.esk_py_tree_reader_open(reader._handle, config, out),
        lib.esk_py_tree_reader_renew(tree._handle),
    ):
        assert status == lib.ESK_E_UNSUPPORTED
    with pytest.raises(Busy):
        tree.volume.open_tree("map")
    tree.close()
    tree.volume.open_tree("map").close()


@pytest.mark.parametrize("closes", ["tree", "volume", "chip"])
def test_a_reader_is_closed_with_its_tree_or_volume(closes):
    chip = Simulator(geometry=NOR, seed=1)
    volume = Volume.format(chip)
    volume.create_tree("map", COLUMNS, blocks=20)
    volume.create_tree("other", COLUMNS, blocks=20)
    tree, other = volume.open_tree("map"), volume.open_tree("other")
    tree.put_many((i, 0) for i in range(700))
    reader, second, kept = tree.reader(), tree.reader(), other.reader()
    scan = iter(reader.scan())
    stream = reader.scan(batch_rows=10).reader()
    assert next(scan)["k"] == 0 and stream.read_next_batch().num_rows == 10
    second.close()
    second.close()
    assert len(reader) == 700
    {"tree": tree, "volume": volume, "chip": chip}[closes].close()
    for read in (
        reader.first,
        reader.renew,
        reader.count,
        reader.check,
        lambda: list(reader),
        lambda: list(scan),
    ):
        with pytest.raises(Closed, match=r"open the tree, and a reader\(\)"):
            read()
    with pytest.raises(pyarrow.ArrowInvalid, match="closed"):
        stream.read_all()
    reader.close()
    if closes == "tree":
        assert len(kept) == 0
    chip.close()


@pytest.fixture(scope="module")
def few_objects():
    """Garbage collection ignores objects made before the test: it is faster."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.parametrize("order", [*itertools.permutations(range(5))])
def test_handles_may_go_in_any_order(order, few_objects):
    chip = Simulator(geometry=NOR, seed=1)
    volume = Volume.format(chip)
    volume.create_tree("map", COLUMNS, blocks=20)
    tree = volume.open_tree("map")
    tree.put_many(ROWS)
    reader = tree.reader()
    scan = iter(reader.scan())
    next(scan)
    stream = reader.scan(batch_rows=10).reader()
    kept = [tree, reader, scan, stream, volume]
    del chip, volume, tree, reader, scan, stream
    for gone in order:
        kept[gone] = None
        gc.collect()
        if kept[1] is not None:
            assert list(kept[1]) == ROWS
        if kept[3] is not None:
            assert kept[3].read_next_batch().num_rows == 10


def test_a_reader_keeps_its_tree_open(volume):
    volume.create_tree("map", COLUMNS)
    with volume.open_tree("map") as tree:
        tree.put_many(ROWS)
    reader = volume.open_tree("map").reader()
    gc.collect()
    assert list(reader) == ROWS
    with pytest.raises(Busy):
        volume.open_tree("map")
    del reader
    gc.collect()
    volume.open_tree("map").close()


def test_sql_asks_a_reader(tree):
    with tree.reader() as reader:
        with Database(tree.volume) as database:
            assert isinstance(database.skipped["map"], Busy)
        with Database(tree.volume, [reader]) as database:
            asked = "SELECT sum(v), count(*) FROM map WHERE k BETWEEN 5 AND 6"
            assert database.execute(asked).fetchall() == [(22, 2)]
            assert database.page_reads == reader.stats().page_reads
        assert reader[5] == ROWS[5]


def test_readers_and_a_writer_share_a_device_between_threads(small):
    """Each state that a batch leaves has one value in all of its rows."""
    stop, failures, seen = threading.Event(), [], set()
    small.put_many((i, 0) for i in range(200))

    def read():
        try:
            with small.reader(frames=1) as reader:
                while not stop.is_set():
                    reader.renew()
                    try:
                        found = {row["v"] for row in reader}
                    except Stale:
                        continue
                    assert len(found) == 1, found
                    seen.update(found)
        except (AssertionError, EskerError) as failure:
            failures.append(failure)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for value in range(1, 60):
        with small.batch(40):
            small.put_many((i, value) for i in range(200))
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(seen) > 1


def test_a_reader_of_a_read_only_volume_reads():
    with Simulator(geometry=NOR, seed=1) as chip:
        with Volume.format(chip) as volume:
            volume.create_tree("map", COLUMNS)
            with volume.open_tree("map") as tree:
                tree.put_many(ROWS)
        with (
            Volume.mount(chip, read_only=True) as volume,
            volume.open_tree("map") as tree,
            tree.reader() as reader,
        ):
            assert list(reader) == ROWS


def test_only_trees_have_readers(volume):
    volume.create("log", COLUMNS)
    with volume.open("log") as log:
        out = ffi.new("struct esk_py_table **")
        config = ffi.new("struct esk_tree_config *")
        status = lib.esk_py_tree_reader_open(log._handle, config, out)
        assert status == lib.ESK_E_UNSUPPORTED
        with pytest.raises(Unsupported):
            volume.open_tree("log")
