# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Columns of text: in Python, in Arrow, in SQL."""

import pyarrow
import pytest

import eskerdb
from eskerdb import Column, SchemaError
from eskerdb.sql.duck import Database

COLUMNS = (Column("t", "i64", "s"), Column("who", "text"))
ODD = (
    b"\xff",
    b"a\xe2\x82",
    b"\xed\xa0\x80",
    b"\xc0\xafx",
    b"\xf4\x90\x80\x80",
)
WHOLE = ("", "Ann", "Zo\u00eb", "two\nlines", "\U0001f600\0")


@pytest.fixture
def log(volume):
    volume.create("log", COLUMNS, data_blocks=8, var_blocks=8)
    with volume.open("log") as made:
        yield made


def test_text_is_str_in_python(log):
    log.append_many(enumerate(WHOLE))
    assert [row["who"] for row in log] == list(WHOLE)
    assert log.get(1) == {"t": 1, "who": "Ann"}
    assert log.value(2).read() == "Zo\u00eb".encode()
    for wrong in (5, b"\xff", "\ud800"):
        with pytest.raises(SchemaError, match="column 'who'"):
            log.append(t=9, who=wrong)


def test_text_is_a_string_of_arrow(log):
    table = pyarrow.table({"t": range(len(WHOLE)), "who": list(WHOLE)})
    log.append_many(table)
    found = log.scan().arrow()
    assert found.schema.field("who").type == pyarrow.string()
    assert found.schema.field("who").metadata is None
    assert found.column("who").to_pylist() == list(WHOLE)


def test_the_catalog_keeps_that_a_column_is_text(volume):
    volume.create("log", COLUMNS, data_blocks=8, var_blocks=8)
    assert volume.table("log").columns == COLUMNS
    assert str(volume.table("log").columns[1]) == "who text"
    noted = (Column("t", "i64"), Column("who", "text", "English"))
    volume.create("noted", noted, data_blocks=8, var_blocks=8)
    assert volume.table("noted").columns == noted


def test_sql_compares_text_as_text(volume, log):
    log.append_many(enumerate(WHOLE))
    with Database(volume, [log]) as database:
        for condition, expected in (
            ("who LIKE 'A%'", [1]),
            ("who ILIKE '%N%'", [1, 3]),
            ("who = 'Zo\u00eb'", [2]),
            ("upper(who) = 'ANN'", [1]),
        ):
            found = database.execute(
                f"SELECT t FROM log WHERE {condition} ORDER BY t"
            ).fetchall()
            assert [t for (t,) in found] == expected, condition


def test_bytes_that_are_not_utf_8_are_shown_as_escapes(volume):
    # As a firmware writes them: it only knows variable bytes.
    volume.create(
        "log",
        [Column("t", "i64"), Column("who", "text")],
        data_blocks=8,
        var_blocks=8,
    )
    with volume.open("log") as log:
        assert log.columns[1].type == "text"
        for t, value in enumerate(ODD):
            packed, _ = log.codec.pack((t, ""))
            log._write(packed, 1, value, [len(value)], 0)
        expected = [value.decode(errors="backslashreplace") for value in ODD]
        assert [row["who"] for row in log] == expected
        assert log.scan().arrow().column("who").to_pylist() == expected
        assert log.value(0).read() == b"\xff"


def test_import_makes_text_columns(esker, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("t,who\n1,Ann\n2,Bob\n3,Anna\n")
    image = tmp_path / "new.img"
    done = esker("import", image, "log", path, "--create", "--type", "who=text")
    assert done.status == 0, done
    done = esker(
        "query", image, "SELECT t FROM log WHERE who LIKE 'Ann%'", "--csv"
    )
    assert done.out == "t\n1\n3\n"
    assert "who      text" in esker("info", image).out
    with eskerdb.open(image) as volume, volume.open("log") as log:
        assert log.newest() == {"t": 3, "who": "Anna"}


PLACES = (Column("name", "text", bytes=6), Column("n", "u16"))


@pytest.fixture
def places(volume):
    volume.create_tree("places", PLACES, store="wandering", blocks=20)
    with volume.open_tree("places") as made:
        yield made


def test_text_of_a_width_ends_before_its_zeros(places):
    names = ("Zo\u00eb", "Ann", "", "Bobbie", "B")
    places.put_many((name, at) for at, name in enumerate(names))
    assert [row["name"] for row in places] == sorted(names)
    assert places.get("Bobbie") == {"name": "Bobbie", "n": 3}
    assert places.get("Bob") is None
    assert [r["n"] for r in places.scan(key_min="B", key_max="C")] == [4, 3]
    assert places.delete("Ann")
    assert str(places.columns[0]) == "name text[6]"
    found = places.scan().arrow()
    assert found.schema.field("name").type == pyarrow.string()
    assert found.column("name").to_pylist() == sorted(set(names) - {"Ann"})
    places.put_many(pyarrow.table({"name": ["Zo\u00eb", "Eve"], "n": [9, 8]}))
    assert places.get("Zo\u00eb") == {"name": "Zo\u00eb", "n": 9}
    assert places.get(b"Eve") == {"name": "Eve", "n": 8}


def test_text_that_does_not_fit_its_width_is_refused(places):
    for wrong in ("Bobbies", "Zo\u00eb Zo\u00eb", "a\0b", 5, b"\xff", "\ud800"):
        with pytest.raises(SchemaError, match="column 'name'"):
            places.put(name=wrong, n=1)
        with pytest.raises(SchemaError, match="column 'name'"):
            places.get(wrong)
    long = pyarrow.table({"name": ["Eve", "Bobbies"], "n": [1, 2]})
    with pytest.raises(SchemaError, match="row 1: .*at most 6 bytes"):
        places.put_many(long)
    assert places.count() == 0


def test_fixed_bytes_that_are_not_utf_8_are_shown_as_escapes(places):
    for n, value in enumerate(ODD):
        packed, _ = places.codec.pack(("", n))
        places._write(value.ljust(6, b"\0") + packed[6:], 1, b"", [], 0)
    expected = {value.decode(errors="backslashreplace") for value in ODD}
    assert {row["name"] for row in places} == expected
    assert places.get(b"\xff\0\0\0\0\0")["n"] == 0
    assert places.delete(b"\xff\0\0\0\0\0")
    assert places.count() == len(ODD) - 1
    expected.remove("\\xff")
    assert set(places.scan().arrow().column("name").to_pylist()) == expected


def test_command_takes_and_gives_text_of_a_width(esker, tmp_path):
    path, image = tmp_path / "data.csv", tmp_path / "new.img"
    text = 'name,who,n\n"a ""b""",Zo\u00eb,1\nssid,,2\n" x ",Ann,3\n'
    path.write_text(text)
    types = ("--type", "name=text:9", "--type", "who=text:5")
    made = esker(
        "import", image, "places", path, "--create", "--kind", "tree", *types
    )
    assert made.status == 0, made
    query = ("query", image, "SELECT * FROM places WHERE name LIKE '%s%'")
    assert esker(*query, "--csv").out == 'name,who,n\nssid,"",2\n'
    again = tmp_path / "again.csv"
    again.write_text(esker("query", image, "FROM places", "--csv").out)
    done = esker("import", image, "places", again)
    assert done.status == 0, done
    assert "name     text[9]" in esker("info", image).out
    path.write_text("name,who,n\nlonger than it,x,1\n")
    done = esker("import", image, "places", path)
    assert done.status == 1
    assert "or more than 9 bytes of UTF-8" in flat(done.err)
    assert esker("delete", image, "places", "ssid").status == 0
    raw = "\\x" + b" x \0\0\0\0\0\0".hex()
    assert esker("delete", image, "places", raw).status == 0
    with eskerdb.open(image) as volume, volume.open_tree("places") as places:
        assert [row["name"] for row in places] == ['a "b"']


def test_text_of_a_width_beside_a_text_without_one(volume):
    both = (
        Column("t", "u32"),
        Column("a", "text", bytes=4),
        Column("b", "text"),
    )
    volume.create("log", both, data_blocks=8, var_blocks=8)
    with volume.open("log") as log:
        log.append_many([(1, "abcd", "longer"), (2, "", "")])
        assert [tuple(row.values()) for row in log] == [
            (1, "abcd", "longer"),
            (2, "", ""),
        ]
        table = log.scan().arrow()
        assert table.column("a").to_pylist() == ["abcd", ""]
        assert table.column("b").to_pylist() == ["longer", ""]


def flat(text):
    return " ".join(text.replace("\u2502", " ").split())
