# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Trees: what the host's calls give, refuse, and say."""

import math
from dataclasses import replace

import pyarrow
import pytest

from conftest import NAND, NOR, SD, TEMP
from eskerdb import (
    Busy,
    Closed,
    Column,
    Corrupt,
    Exists,
    Full,
    Invalid,
    NoMemory,
    NotFound,
    ReadOnly,
    SchemaError,
    Simulator,
    Stale,
    Unsupported,
    Volume,
)

COLUMNS = (
    Column("k", "i32"),
    Column("v", "f32"),
    Column("tag", "bytes", "", 4),
)
LARGE = replace(SD, block_count=256)
STORES = ["inplace", "journaled", "wandering", "mu", "tnc"]


def row(number: int) -> dict:
    return {"k": number, "v": number / 4, "tag": number.to_bytes(4, "big")}


@pytest.fixture(params=STORES)
def tree(request):
    """200 rows, put in no order, over every store."""
    with (
        Simulator(geometry=LARGE, seed=1) as chip,
        Volume.format(chip) as volume,
    ):
        volume.create_tree("map", COLUMNS, store=request.param, blocks=200)
        frames = 20 if request.param == "tnc" else 4
        with volume.open_tree("map", frames=frames) as made:
            assert made.put_many(row(i * 37 % 200) for i in range(200)) == 200
            yield made


def test_the_catalog_says_what_a_tree_is(tree):
    table = tree.volume.table("map")
    assert (table.kind, table.key, table.full) == ("tree", "k", "refuse")
    assert table.store == tree.store
    assert table.k_percent == {"mu": 50, "tnc": 25}.get(tree.store, 0)
    assert table.columns == COLUMNS
    assert repr(tree).startswith("<Tree 'map' on ")


def test_rows_are_found_by_key_and_in_order(tree):
    assert len(tree) == 200
    assert list(tree) == [row(i) for i in range(200)]
    assert tree[7] == tree.get(7) == row(7)
    assert 7 in tree and 200 not in tree
    assert tree.get(200) is None
    with pytest.raises(NotFound, match="table 'map': k = 200"):
        tree[200]
    assert (tree.first(), tree.last()) == (row(0), row(199))
    assert tree.delete(7) is True
    assert tree.delete(7) is False
    assert (tree.floor(7), tree.ceiling(7)) == (row(6), row(8))
    assert tree.floor(-1) is None and tree.ceiling(200) is None


def test_a_range_includes_its_ends_and_rounds_inwards(tree):
    def keys(*bounds, **options):
        return [found["k"] for found in tree.scan(*bounds, **options)]

    assert keys(3, 6) == [3, 4, 5, 6]
    assert keys(3, 6, backward=True) == [6, 5, 4, 3]
    assert keys(2.5, 6.5) == [3, 4, 5, 6]
    assert keys(None, 1) == [0, 1]
    assert keys(math.inf) == keys(6, 3) == keys(1 << 40) == []
    assert keys(-(1 << 40), 0) == [0]
    assert tree.scan(3, 6).count() == 4
    assert next(iter(tree.scan(5, columns=["tag"]))) == {"tag": row(5)["tag"]}
    for bound in ("3", math.nan, True):
        with pytest.raises(SchemaError, match="column 'k'"):
            tree.scan(bound)


def test_arrow_goes_out_and_comes_in(tree):
    table = pyarrow.table(tree)
    assert table.schema.metadata[b"esker.key"] == b"k"
    assert table.to_pylist() == [row(i) for i in range(200)]
    some = tree.scan(10, 19, columns=["v", "k"], batch_rows=3).arrow()
    assert some.to_pylist() == [{"v": i / 4, "k": i} for i in range(10, 20)]
    more = pyarrow.table({
        "tag": [b"aaaa", b"bbbb"], "k": [500, 3], "v": [1.0, 2.0],
    })  # fmt: skip
    assert tree.put_many(more) == 2
    assert tree[3] == {"k": 3, "v": 2.0, "tag": b"bbbb"}
    assert len(tree) == 201


def test_insert_and_update_refuse_the_other_s_rows(tree):
    with pytest.raises(Exists, match=r"\(k = 5\).*update\(\) it, or put\(\)"):
        tree.insert(row(5))
    with pytest.raises(NotFound, match=r"\(k = 300\).*insert\(\) it"):
        tree.update(row(300))
    tree.insert(row(300))
    tree.update(k=300, v=1.5, tag=b"abcd")
    assert tree[300]["v"] == 1.5
    with pytest.raises(Exists) as refused:
        tree.insert_many([row(400), row(401), row(5), row(402)])
    assert refused.value.appended == 2
    assert 401 in tree and 402 not in tree


def test_bad_rows_and_keys_are_named(tree):
    with pytest.raises(SchemaError, match="column 'tag' takes exactly 4"):
        tree.put(k=1, v=1.0, tag=b"abc")
    with pytest.raises(SchemaError, match="column 'k'.*out of range"):
        tree.get(1 << 31)
    with pytest.raises(SchemaError, match="column 'k'.*not a number"):
        tree.delete("five")
    with pytest.raises(SchemaError, match="row 1: column 'v' is missing"):
        tree.put_many([row(900), {"k": 901, "tag": b"abcd"}])
    assert 900 in tree
    with pytest.raises(SchemaError, match="not whole rows of 12 bytes"):
        tree.put_many(b"\0" * 13)


def test_a_batch_is_all_or_nothing(tree):
    with tree.batch() as same:
        same.put(row(1000))
        same.delete(0)
        assert 1000 in same and 0 not in same
    assert 1000 in tree and 0 not in tree
    with pytest.raises(ZeroDivisionError), tree.batch():
        tree.put(row(2000))
        raise ZeroDivisionError
    assert 2000 not in tree
    with tree.batch(), pytest.raises(Invalid), tree.batch():
        pass
    pages = 4 if tree.store in ("inplace", "journaled") else 0
    with pytest.raises(Full, match="end the batch"), tree.batch(pages):
        tree.put_many(row(i * 37 % 5000) for i in range(5000))
    assert len(tree) == 200 and tree.check().ok


def test_merging_tree_follows_its_rows_down(tree):
    volume, keys = tree.volume, [r["k"] for r in tree]
    tree.close()
    with volume.open_tree("map", merge=True) as merging:
        before = merging.check()
        for key in keys[20:]:
            merging.delete(key)
        after = merging.check()
        assert after.ok and after.leaves * 3 < before.leaves
        assert merging.stats().merges > 0
    with volume.open_tree("map") as again:
        assert [r["k"] for r in again] == keys[:20]


def test_shape_adds_up_to_what_check_finds(tree):
    report, shape, stats = tree.check(), tree.shape(), tree.stats()
    assert report.ok and report.rows == 200
    assert report.nodes == len(shape.nodes)
    assert report.leaves == len(shape.level(1))
    assert shape.height == stats.height > 1
    assert sum(node.count for node in shape.level(1)) == 200
    assert all(0 < node.fill <= 1 for node in shape.nodes)
    assert all(0 <= node.page < shape.pages for node in shape.nodes)
    assert shape.pages_dead == shape.pages_written - shape.pages_live
    assert stats.splits > 0


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("f64", [-math.inf, -1.5, -0.25, 0.0, 1e-300, 2.5, math.inf]),
        ("bytes", [b"\0\0\0", b"\0\0\1", b"a\0\0", b"ab\xff", b"\xff\0\0"]),
        ("u64", [0, 1, 255, 256, (1 << 63) + 1, (1 << 64) - 1]),
        ("i8", [-128, -1, 0, 1, 127]),
    ],
)
def test_keys_of_every_type_sort_by_value(kind, keys):
    with (
        Simulator(geometry=NAND, seed=1) as chip,
        Volume.format(chip) as volume,
    ):
        width = 3 if kind == "bytes" else 0
        columns = [Column("n", "u8"), Column("k", kind, bytes=width)]
        volume.create_tree("map", columns, key="k")
        with volume.open_tree("map") as tree:
            tree.put_many([(i, k) for i, k in reversed([*enumerate(keys)])])
            assert [found["k"] for found in tree] == keys
            inner = [r["k"] for r in tree.scan(keys[1], keys[-2])]
            assert inner == keys[1:-1]
            assert tree.get(keys[2]) == {"n": 2, "k": keys[2]}
            if kind == "f64":
                with pytest.raises(Invalid, match="k = nan.*not NaN"):
                    tree.put(n=1, k=math.nan)
                assert tree.get(-0.0) == {"n": 3, "k": 0.0}
            if kind == "bytes":
                with pytest.raises(SchemaError, match="exactly 3 bytes"):
                    tree.scan(b"a")


def test_what_a_tree_cannot_be_is_refused(volume):
    var = (*COLUMNS, Column("note", "var"))
    with pytest.raises(SchemaError, match="column 'note'"):
        volume.create_tree("map", var)
    with pytest.raises(SchemaError, match="no store 'tree'; choose one of"):
        volume.create_tree("map", COLUMNS, store="tree")
    with pytest.raises(SchemaError, match="k is of the stores mu and tnc"):
        volume.create_tree("map", COLUMNS, store="wandering", k_percent=50)
    with pytest.raises(SchemaError, match="store"):
        volume.create_tree("map", COLUMNS, k_percent=95)
    with pytest.raises(
        Unsupported, match="cannot overwrite pages: use the store"
    ):
        volume.create_tree("map", COLUMNS, store="inplace")
    assert volume.tables() == []


def test_a_table_is_opened_as_what_it_is(volume):
    volume.create_tree("map", COLUMNS, blocks=10)
    volume.create("log", COLUMNS, data_blocks=10)
    with pytest.raises(Unsupported, match=r"it is a tree.*use open_tree\(\)"):
        volume.open("map")
    with pytest.raises(Unsupported, match=r"it is a series.*use open\(\)"):
        volume.open_tree("log")
    with volume.open_table("map") as tree, volume.open_table("log") as log:
        assert (type(tree).__name__, type(log).__name__) == ("Tree", "Series")
        with pytest.raises(Busy):
            volume.open_tree("map")
        with pytest.raises(Busy):
            volume.drop("map")
    volume.drop("map")
    with pytest.raises(Closed):
        tree.get(1)
    with pytest.raises(Closed):
        list(tree)


def test_a_full_tree_says_what_to_do(volume):
    volume.create_tree("low", COLUMNS, blocks=30)
    volume.create_tree("map", COLUMNS, store="wandering", blocks=8)
    with volume.open_tree("low") as tree:
        with pytest.raises(Full, match="256 bytes a mu tree .* larger pages"):
            tree.put_many(row(i) for i in range(5000))
        assert tree.check().ok
    with volume.open_tree("map") as tree:
        with pytest.raises(Full, match="delete rows, or make") as full:
            tree.put_many(row(i) for i in range(5000))
        assert len(tree) == full.value.appended
        assert tree.delete(0)
        tree.update(row(1))
        assert tree.check().ok


def test_a_read_only_tree_takes_no_change():
    with Simulator(geometry=NOR, seed=1) as chip:
        with Volume.format(chip) as volume:
            volume.create_tree("map", COLUMNS)
            with volume.open_tree("map") as tree:
                tree.put(row(1))
        with Volume.mount(chip, read_only=True) as volume:
            tree = volume.open_tree("map")
            assert list(tree) == [row(1)]
            with pytest.raises(ReadOnly):
                tree.put(row(2))


def test_damage_is_reported_and_the_other_rows_are_read():
    with Simulator(geometry=NOR, seed=1) as chip:
        with Volume.format(chip) as volume:
            volume.create_tree("map", COLUMNS, store="wandering")
            with volume.open_tree("map") as tree:
                tree.put_many(row(i) for i in range(200))
                leaf = tree.shape().level(1)[2]
            first = volume.table("map").first_block[0] * NOR.block_pages
        chip.poke(first + leaf.page, 40, b"damage")
        with Volume.mount(chip) as volume, volume.open_tree("map") as tree:
            report, shape = tree.check(), tree.shape()
            assert (report.ok, report.pages_damaged) == (False, 1)
            (gone,) = (node for node in shape.nodes if node.damaged)
            assert (gone.page, gone.level, gone.fill) == (leaf.page, 1, 0.0)
            lost = range(2 * leaf.count, 3 * leaf.count)
            left = [row(i) for i in range(200) if i not in lost]
            with pytest.raises(Corrupt):
                tree.get(lost[0])
            for backward in (False, True):
                scan = tree.scan(backward=backward)
                assert list(scan) == left[:: -1 if backward else 1]
                assert scan.damaged == 1
            assert tree.scan().arrow().num_rows == len(left)
            scan = tree.scan(lost[-1] + 1, 199)
            assert (scan.count(), scan.damaged) == (199 - lost[-1], 0)
            assert tree.last() == row(199)


def test_a_scan_goes_on_after_a_change():
    with Simulator(geometry=SD, seed=1) as chip, Volume.format(chip) as volume:
        for name, width in (("narrow", 4), ("wide", 20)):
            columns = [Column("k", "bytes", bytes=width), Column("v", "u8")]
            volume.create_tree(name, columns, blocks=20, store="inplace")
            with volume.open_tree(name) as tree:
                for i in range(700):
                    tree.put(k=i.to_bytes(width, "big"), v=i % 256)
                scan = iter(tree.scan())
                next(scan)
                tree.delete((699).to_bytes(width, "big"))
                if name == "narrow":
                    assert len(list(scan)) == 698
                    continue
                with pytest.raises(Stale):
                    list(scan)


@pytest.mark.parametrize(
    ("store", "frames", "rows", "why"),
    [
        ("wandering", 1, 0, Invalid),
        ("tnc", 4, 0, Invalid),
        ("tnc", 9, 600, NoMemory),
    ],
)
def test_too_few_frames_are_named(volume, store, frames, rows, why):
    volume.create_tree("a", TEMP, store=store, blocks=48)
    with volume.open_tree("a") as tree:
        tree.put_many([(i, 0.0) for i in range(rows)])
        tree.sync()
    with pytest.raises(why, match=rf"'a': frames = {frames} are too few; "):
        volume.open_tree("a", frames=frames)
    with volume.open_tree("a") as tree:
        assert len(list(tree)) == rows
