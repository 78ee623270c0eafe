# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Columns of text: in Python, in Arrow, in SQL."""

import pyarrow
import pytest

import eskerdb
from eskerdb import Column, SchemaError
from eskerdb.sql import Database

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
