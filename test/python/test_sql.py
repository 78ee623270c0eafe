# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""SQL over an image by DuckDB: test/sql's statements, and push-down."""

from pathlib import Path

import duckdb
import pytest

from conftest import NOR, rows
from eskerdb import Column, Simulator, Volume
from eskerdb.sql import duck
from eskerdb.sql.duck import Database, bounds

CASES = Path(__file__).resolve().parents[1] / "sql"


@pytest.fixture(scope="module")
def database():
    """The tables that test/sql asks about; see test/sql/README.md."""
    with Simulator(geometry=NOR) as chip, Volume.format(chip) as volume:
        volume.create(
            "temp",
            [Column("t", "i64", "ms"), Column("temp_c", "f32", "degC")],
            indexes=["temp_c"],
            data_blocks=10,
        )
        volume.create(
            "door",
            [
                Column("s", "u32", "s"),
                Column("open", "u8"),
                Column("who", "var"),
            ],
            indexes=["open"],
            data_blocks=6,
            var_blocks=6,
        )
        volume.create_tree(
            "part",
            [
                Column("id", "i32"),
                Column("price", "f32"),
                Column("mark", "bytes", bytes=3),
            ],
            store="wandering",
            blocks=12,
        )
        volume.create_tree(
            "tag",
            [Column("n", "u8"), Column("code", "bytes", bytes=2)],
            key="code",
            blocks=8,
        )
        with volume.open_tree("part") as part, volume.open_tree("tag") as tag:
            part.put_many(
                (3 * i - 450, i / 2, b"%03d" % (i % 1000))
                for i in reversed(range(300))
            )
            part.put(id=447, price=-1.0, mark=b"new")
            tag.put_many([(1, b"b\0"), (2, b"a\xff"), (3, b"\xff\0")])
        with volume.open("temp") as temp, volume.open("door") as door:
            temp.append_many(rows(500))
            door.append_many(
                [(i, i % 2, b"guest %d" % (i % 3)) for i in range(1, 7)]
            )
        with Database(volume) as made:
            yield made


def cases() -> list[tuple[str, str, list[str]]]:
    """Reads `-- name`, SQL, `----`, rows from test/sql/*.sql."""
    found = []
    for path in sorted(CASES.glob("*.sql")):
        for block in path.read_text(encoding="utf-8").split("\n\n"):
            lines = [line for line in block.splitlines() if line]
            if "----" not in lines:
                continue
            cut = lines.index("----")
            name = lines[0].removeprefix("-- ")
            sql = "\n".join(lines[1:cut])
            found.append((f"{path.stem}: {name}", sql, lines[cut + 1 :]))
    return found


def as_text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode()
    return "NULL" if value is None else str(value)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [case[1:] for case in cases()],
    ids=[case[0] for case in cases()],
)
def test_sql(database, sql, expected):
    if expected and expected[0].startswith("error: "):
        with pytest.raises(duckdb.Error) as refused:
            database.execute(sql).fetchall()
        assert expected[0].removeprefix("error: ") in str(refused.value)
        return
    found = database.execute(sql).fetchall()
    assert ["|".join(map(as_text, row)) for row in found] == expected


def test_duckdb_without_sources_reads_by_pyarrow(series, monkeypatch):
    """What an older DuckDB has: a pyarrow Dataset, its filters as text."""
    monkeypatch.setattr(duck, "_source", duck._dataset)
    with Database(series.volume, [series]) as database:
        found, some = reads(
            database, "SELECT t FROM temp WHERE t >= 2000 AND t < 2020"
        )
        assert found == [(2000,), (2010,)]
        found, all = reads(database, "SELECT count(*), min(temp_c) FROM temp")
        assert found == [(500, 10.0)]
        assert some <= 5 < all


def reads(database: Database, sql: str) -> tuple[list, int]:
    before = database.page_reads
    found = database.execute(sql).fetchall()
    return found, database.page_reads - before


def test_key_bounds_are_pushed_down(database):
    everything, all_reads = reads(database, "SELECT sum(t) FROM temp")
    some, few_reads = reads(
        database, "SELECT t FROM temp WHERE t >= 2000 AND t < 2050"
    )
    assert everything == [(sum(t for t, _ in rows(500)),)]
    assert some == [(2000,), (2010,), (2020,), (2030,), (2040,)]
    assert few_reads <= 5 < all_reads
    one, one_read = reads(database, "SELECT * FROM temp WHERE t = 3000")
    assert one == [(3000, rows(201)[200][1])]
    assert one_read <= 3


def test_key_bounds_of_a_tree_are_pushed_down(database):
    everything, all_reads = reads(database, "SELECT count(id) FROM part")
    some, few_reads = reads(
        database, "SELECT id FROM part WHERE id > 0 AND id <= 6"
    )
    assert everything == [(300,)]
    assert some == [(3,), (6,)]
    # Frames hold the nodes that were read: fewer reads, or none.
    assert few_reads <= 4
    assert few_reads <= all_reads
    database.execute("CREATE OR REPLACE TABLE parts AS SELECT * FROM part")
    for condition in (
        "id = 3", "id <> 3", "id > 440", "id < -440", "id >= 2147483648",
        "id BETWEEN 0 AND 9", "id IN (0, 3, 4)", "id > 5 OR id < -440",
        "price > 148 AND id > 0", "price > 148", "id > 0 AND id < 0",
    ):  # fmt: skip
        found, wanted = (
            database.execute(
                f"SELECT * FROM {table} WHERE {condition} ORDER BY id"
            ).fetchall()
            for table in ("part", "parts")
        )
        assert found == wanted, condition


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(t >= 5)", {"t": (5, None)}),
        ("(t > 5)", {"t": (6, None)}),
        ("(t < -5)", {"t": (None, -6)}),
        ("(t == 7)", {"t": (7, 7)}),
        ("((t >= 5) and (t <= 7))", {"t": (5, 7)}),
        ("(((t >= 5) and (u == 1)) and (t <= 7))", {"t": (5, 7), "u": (1, 1)}),
        ("((t >= 5) and (t >= 9))", {"t": (9, None)}),
        ("((t >= 5) or (t <= 2))", {}),
        ("(((t >= 5) or (t <= 2)) and (u < 3))", {"u": (None, 2)}),
        ("invert((t >= 5))", {}),
        ("((t >= 5) and is_valid(t))", {"t": (5, None)}),
        ("((t >= 5.5) and (f >= 1))", {}),
        ('((t >= 5) and (n == "a and (t <= 2)"))', {}),
        ("(t != 5)", {}),
        ("if_else(is_valid(t), is_in(t, {value_set=int64:[\n  1\n]}), 0)", {}),
        ("", {}),
        ("(((", {}),
    ],
)
def test_bounds_are_read_from_filters(text, expected):
    assert bounds(text, {"t", "u"}) == expected


def test_every_comparison_equals_duckdb_s_own(database):
    """A bound that is misread would lose rows here."""
    database.execute("CREATE OR REPLACE TABLE plain AS SELECT * FROM temp")
    database.execute("CREATE OR REPLACE TABLE doors AS SELECT * FROM door")
    conditions = [
        "t >= 2000", "t > 2000", "t < 2000", "t <= 2000", "t = 2000",
        "t <> 2000", "t BETWEEN 2000 AND 2100", "NOT t > 2000",
        "t IN (2000, 2010, 2011)", "t > 2000 AND t < 1000",
        "t > 2000 OR temp_c > 20", "t > 1e3", "t > 2000.5",
        "t > 9223372036854775807", "t >= -9223372036854775808",
        "temp_c > 20", "temp_c <= 12.5", "temp_c = 10", "temp_c < 11 AND t > 2",
        "temp_c BETWEEN 20 AND 21.125", "temp_c > 1e30", "t IS NULL",
        "t % 20 = 0 AND t < 1100", "t > (SELECT avg(t) FROM temp)",
    ]  # fmt: skip
    for condition in conditions:
        found, wanted = (
            database.execute(
                f"SELECT * FROM {table} WHERE {condition} ORDER BY t"
            ).fetchall()
            for table in ("temp", "plain")
        )
        assert found == wanted, condition
    for condition in (
        "open = 1", "open > 0", "open < 0", "open = 256", "s = 3", "s > -1",
        "who = 'guest 1'", "who = 's >= 5'::BLOB AND s > 1", "open >= 300",
    ):  # fmt: skip
        found, wanted = (
            database.execute(
                f"SELECT * FROM {table} WHERE {condition} ORDER BY s"
            ).fetchall()
            for table in ("door", "doors")
        )
        assert found == wanted, condition


def test_a_table_that_cannot_be_opened_is_skipped(database):
    assert database.skipped == {}
    with Simulator(geometry=NOR) as chip, Volume.format(chip) as volume:
        volume.create("a", [Column("t", "i64")], data_blocks=8)
        volume.create("b", [Column("t", "i64")], data_blocks=8)
        with volume.open("a"), Database(volume) as other:
            assert list(other.skipped) == ["a"]
            assert other.execute("SELECT count(*) FROM b").fetchall() == [(0,)]


def test_duckdb_reads_a_scan_as_it_is(series):
    scan = series.scan(2000, 2090)
    connection = duckdb.connect()
    connection.register("scan", scan)
    for _ in range(2):
        found = connection.execute("SELECT count(*), min(t) FROM scan")
        assert found.fetchall() == [(10, 2000)]
