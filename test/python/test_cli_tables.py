# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The commands create, drop and delete."""

import pytest

import eskerdb


def tables(image):
    with eskerdb.open(image) as volume:
        return {table.name: table for table in volume.tables()}


@pytest.fixture
def two(esker, tmp_path):
    """An image with an empty series log and a tree part of three rows."""
    image = tmp_path / "two.img"
    done = esker(
        "create", image, "log", "t=i64", "who=text", "--unit", "t=s",
        "--blocks", "16", "--size", "1M",
    )  # fmt: skip
    assert done.status == 0, done
    done = esker(
        "create", image, "part", "mac=bytes:2", "n=u8", "--kind", "tree",
        "--store", "wandering", "--blocks", "32",
    )  # fmt: skip
    assert done.status == 0, done
    path = tmp_path / "part.csv"
    path.write_text("mac,n\n0a0b,1\nffff,2\n0000,3\n")
    assert esker("import", image, "part", path).status == 0
    return image


def test_create_makes_image_and_table(two):
    found = tables(two)
    assert [*found] == ["log", "part"]
    log, part = found["log"], found["part"]
    assert [str(c) for c in log.columns] == ["t i64 s", "who text"]
    assert (log.key, log.blocks[0]) == ("t", 16)
    assert (part.kind, part.store, part.blocks[0]) == ("tree", "wandering", 32)
    assert two.stat().st_size == 1 << 20


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("log", "t=i64"), 1, "a table of that name exists"),
        (("new", "t=i64", "t=u8"), 2, "named twice"),
        (("new", "t"), 2, "write COL=VALUE"),
        (("new", "t=int"), 2, "choose one of"),
        (("new", "t=i64", "--key", "k"), 1, "no column 'k'"),
        (("new", "t=i64", "--unit", "x=s"), 2, "no such column"),
        (("new", "t=i64", "--blocks", "999"), 1, "wants 1,026 blocks"),
        (
            ("new", "t=i64", "w=text", "--kind", "tree"),
            1,
            "a column of a tree has a width",
        ),
        (("new", "t=i64", "--size", "4M"), 1, "it exists"),
        (("new", "t=i64", "v=i16", "--missing", "x=1"), 2, "no such column"),
        (("new", "t=i64", "v=i16", "--missing", "v=a"), 2, "not a number"),
        (("new", "t=i64", "v=i64", "--missing", "v=1"), 1, "at most 32 bits"),
        (("new", "t=i32", "--missing", "t=1"), 1, "a key is always there"),
    ],
)
def test_create_says_what_cannot_be(esker, two, arguments, status, message):
    done = esker("create", two, *arguments)
    assert done.status == status, done
    assert message in " ".join(done.err.replace("\u2502", " ").split())
    assert [*tables(two)] == ["log", "part"]


def test_missing_values_are_stored_and_shown(esker, tmp_path):
    image = tmp_path / "log.img"
    done = esker(
        "create", image, "log", "t=u32", "temp=i16", "heat=f32",
        "--missing", "temp=-990", "--missing", "heat=-1.5",
    )  # fmt: skip
    assert done.status == 0, done
    columns = tables(image)["log"].columns
    assert [column.missing for column in columns] == [None, -990, -1.5]
    shown = esker("info", image).out
    assert "missing is -990" in shown and "missing is -1.5" in shown


def test_missing_values_are_empty_in_csv_and_come_back(esker, tmp_path):
    given = ["t,temp", "1,5", "2,", "3,-990"]
    for name in ("log", "copy"):
        image, path = tmp_path / f"{name}.img", tmp_path / f"{name}.csv"
        done = esker(
            "create", image, "log", "t=u32", "temp=i16",
            "--missing", "temp=-990",
        )  # fmt: skip
        assert done.status == 0, done
        path.write_text("\n".join(given) + "\n")
        assert esker("import", image, "log", path).status == 0
        sql = "SELECT * FROM log ORDER BY t"
        given = esker("query", image, sql, "--csv").out.splitlines()
        assert given == ["t,temp", "1,5", "2,", "3,"]
        with eskerdb.open(image) as volume, volume.open("log") as series:
            assert [row["temp"] for row in series] == [5, -990, -990]


def test_keys_repeat_and_versions_are_stored_and_shown(esker, tmp_path):
    image, path = tmp_path / "log.img", tmp_path / "log.csv"
    path.write_text("t,v\n1,10\n1,11\n2,20\n2,21\n2,22\n")
    other = tmp_path / "other.img"
    assert esker("import", other, "log", path, "--create").status == 1
    done = esker(
        "import", image, "log", path, "--create", "--keys-repeat",
        "--schema-version", "7",
    )  # fmt: skip
    assert done.status == 0, done
    assert (tables(image)["log"].keys_repeat, tables(image)["log"].version) == (
        True,
        7,
    )
    shown = esker("info", image).out
    assert "may repeat" in shown and "schema version" in shown
    assert "fingerprint" in shown
    sql = "SELECT * FROM log"
    rows = esker("query", image, sql, "--csv").out.splitlines()
    assert rows == ["t,v", "1,10", "1,11", "2,20", "2,21", "2,22"]
    path.write_text("t,v\n1,10\n")
    again = esker("import", image, "log", path)
    assert again.status == 1 and "below the newest, 2" in again.err
    kind = ("--kind", "tree", "--keys-repeat")
    assert esker("create", image, "map", "t=u8", *kind).status == 2


def test_create_that_makes_no_table_leaves_no_image(esker, tmp_path):
    image = tmp_path / "none.img"
    assert esker("create", image, "log", "v=f32").status == 1
    assert not image.exists()


def test_drop_frees_the_blocks(esker, two):
    done = esker("drop", two, "log")
    assert done.status == 0, done
    assert [*tables(two)] == ["part"]
    assert esker("create", two, "more", "t=i64", "--blocks", "16").status == 0
    done = esker("drop", two, "log")
    assert done.status == 1
    assert "no table 'log'; the image has part, more" in done.err


def test_delete_takes_rows_from_a_tree(esker, two):
    done = esker("delete", two, "part", "0a0b", "\\x0000", "1234")
    assert done.status == 1
    assert "2 rows deleted" in done.out
    assert "no row with key '1234'" in done.err
    with eskerdb.open(two) as volume, volume.open_tree("part") as part:
        assert [row["n"] for row in part] == [2]
    assert esker("delete", two, "part", "ffff").status == 0


def test_delete_takes_the_oldest_rows_of_a_series(esker, image):
    done = esker("delete", image, "temp", "--before", "3000")
    assert done.status == 0, done
    with eskerdb.open(image) as volume, volume.open("temp") as temp:
        assert temp.oldest()["t"] == 3000
        assert f"{500 - temp.count()} rows deleted" in done.out


def test_delete_takes_the_newest_rows_of_a_series(esker, image):
    done = esker("delete", image, "temp", "--after", "3000")
    assert done.status == 0, done
    with eskerdb.open(image, read_only=False) as volume:
        temp = volume.open("temp")
        assert temp.newest()["t"] == 3000
        assert f"{500 - temp.count()} rows deleted" in done.out
        temp.append(t=3001, temp_c=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("part",),
            "give the keys of a tree or a kv table, or --before KEY or",
        ),
        (("log", "--before", "1", "--after", "9"), "or --before KEY or"),
        (("part", "ffff", "--before", "1"), "give the keys of a tree"),
        (("part", "--before", "1"), "is a tree: give the keys"),
        (("log", "1"), "is a series, which loses rows only at its ends"),
        (("log", "--before", "x"), "key 'x': column 't' (i64) needs a number"),
        (("part", "xy"), "needs hexadecimal digits"),
    ],
)
def test_delete_says_what_it_takes(esker, two, arguments, message):
    before = two.read_bytes()
    done = esker("delete", two, *arguments)
    assert done.status == 2, done
    assert message in " ".join(done.err.replace("\u2502", " ").split())
    assert two.read_bytes() == before
