# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""SQL on the machine: the statements of test/sql/machine, and SQLite with the
same rows."""

import os
import sqlite3
from pathlib import Path

import pytest

from conftest import NOR
from eskerdb import Column, EskerError, Geometry, Limit, Simulator, Volume
from eskerdb.sql.access import Limits
from eskerdb.sql.duck import Database
from eskerdb.sql.engine import Engine, Refusal, Select, compile_select
from eskerdb.sql.parse import parse
from eskerdb.sql.source import Source
from sql_statements import Statements
from sql_worlds import Quantile, bucket, data, f32, nulled, rounded

CASES = Path(__file__).resolve().parents[1] / "sql" / "machine"
SEED = int(os.environ.get("ESK_SEED", "1"))
PAUSED = 60  # random statements
LARGE = Geometry(block_count=120, block_pages=16, page_bytes=512)


@pytest.fixture(scope="module")
def engines():
    """The machine and SQLite, with the same rows."""
    with Simulator(geometry=NOR) as chip, Volume.format(chip) as volume:
        volume.create(
            "t",
            [
                Column("k", "u32"),
                Column("a", "i32"),
                Column("b", "i16", missing=2),
                Column("f", "f32"),
                Column("g", "f64"),
                Column("n", "text", bytes=5),
            ],
            indexes=["a", "f"],
            data_blocks=16,
        )
        volume.create(
            "u",
            [
                Column("k", "i64"),
                Column("a", "i16"),
                Column("f", "f32", missing=f32(10.1)),
            ],
            data_blocks=10,
        )
        volume.create_tree(
            "r",
            [
                Column("id", "i16"),
                Column("v", "i64"),
                Column("s", "text", bytes=9),
            ],
            store="wandering",
            blocks=12,
        )
        rows = data()
        with (
            volume.open("t") as t,
            volume.open("u") as u,
            volume.open_tree("r") as r,
            sqlite3.connect(":memory:") as sqlite,
        ):
            t.append_many(rows["t"])
            u.append_many(rows["u"])
            r.put_many(rows["r"])
            sqlite.execute("PRAGMA case_sensitive_like = ON")
            sqlite.create_function("bucket", 2, bucket, deterministic=True)
            sqlite.create_aggregate("quantile", 2, Quantile)
            sqlite.execute("CREATE TABLE t (k, a, b, f REAL, g REAL, n)")
            sqlite.execute("CREATE TABLE u (k, a, f REAL)")
            sqlite.execute("CREATE TABLE r (id, v, s)")
            for name, found in rows.items():
                marks = ", ".join("?" * len(found[0]))
                sqlite.executemany(
                    f"INSERT INTO {name} VALUES ({marks})",
                    [nulled(name, row) for row in found],
                )
            yield Engine({"t": t, "u": u, "r": r}), sqlite


@pytest.fixture
def both():
    """A table with missing values: the machine's answer, and DuckDB's."""
    with Simulator(geometry=NOR) as chip, Volume.format(chip) as volume:
        volume.create(
            "log",
            [
                Column("k", "u32"),
                Column("a", "i16", missing=-990),
                Column("f", "f32", missing=f32(10.1)),
                Column("z", "f32", missing=0.0),
                Column("n", "text", bytes=5),
                Column("d", "i32"),
            ],
            indexes=["a"],
            data_blocks=16,
        )
        with volume.open("log") as log:
            log.append_many(
                (
                    i,
                    -990 if i % 7 == 1 else i % 13 - 6,
                    f32(10.1) if i % 5 == 2 else i / 4,
                    (-0.0, 0.0, 1.5)[i % 3],
                    ("Ab", "ab", "b%")[i % 3],
                    i % 4 - 2,
                )
                for i in range(300)
            )
            engine = Engine({"log": log})
            with Database(volume, [log]) as database:
                yield engine, database


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k, a, f, z FROM log ORDER BY k",
        "SELECT count(a), count(f), count(z), min(a), max(f) FROM log",
        "SELECT count(*) FROM log WHERE a = -990 OR a IS NULL",
        "SELECT count(*) FROM log WHERE a < 0",
        "SELECT count(*) FROM log WHERE NOT a < 0",
        "SELECT count(*) FROM log WHERE z = 0.0",
        "SELECT count(*) FROM log WHERE f > 10.0",
        "SELECT a, count(*) FROM log GROUP BY a ORDER BY a LIMIT 99",
        "SELECT a, k FROM log ORDER BY a DESC, k LIMIT 300",
        "SELECT coalesce(a, 7), a IS NULL FROM log ORDER BY k",
        "SELECT k FROM log WHERE a NOT IN (1, 2) ORDER BY k",
        "SELECT k FROM log WHERE n LIKE 'a%' ORDER BY k",
        "SELECT a / d, a % d, -7 / d, 7.5 / d FROM log ORDER BY k",
    ],
)
def test_duckdb_answers_as_the_machine(both, sql):
    engine, database = both
    (select,) = engine.prepare(sql)
    assert list(select.rows()) == database.execute(sql).fetchall()


def cases() -> list[tuple[str, str, list[str]]]:
    """Reads `-- name`, SQL, `----`, rows from test/sql/machine/*.sql."""
    found = []
    for path in sorted(CASES.glob("*.sql")):
        for block in path.read_text(encoding="utf-8").split("\n\n"):
            lines = [line for line in block.splitlines() if line]
            if "----" in lines:
                cut = lines.index("----")
                name = f"{path.stem}: {lines[0].removeprefix('-- ')}"
                sql = "\n".join(lines[1:cut])
                found.append((name, sql, lines[cut + 1 :]))
    return found


def as_text(value) -> str:
    return "NULL" if value is None else str(value)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [case[1:] for case in cases()],
    ids=[case[0] for case in cases()],
)
def test_machine(engines, sql, expected):
    engine, sqlite = engines
    if expected and expected[0].startswith("error: "):
        with pytest.raises((Refusal, EskerError)) as refused:
            run(engine, sql)
        assert expected[0].removeprefix("error: ") in str(refused.value)
        return
    assert ["|".join(map(as_text, row)) for row in run(engine, sql)] == expected
    if "not SQLite" not in sql:
        found = sqlite.execute(sql).fetchall()
        assert ["|".join(map(as_text, row)) for row in found] == expected


def run(engine, sql, budget=0):
    (select,) = engine.prepare(sql)
    return list(select.rows(budget=budget))


def test_a_pause_at_each_row_changes_no_answer(engines):
    engine, _ = engines
    statements = Statements(SEED + 1)
    for _ in range(PAUSED):
        sql = statements.statement().sql
        try:
            whole = run(engine, sql)
        except (Refusal, Limit):
            continue
        assert run(engine, sql, budget=1) == whole, sql


@pytest.mark.parametrize("part", ["0.9", "0.3333", "0.05", "0.5"])
def test_quantiles_are_rows_of_sqlites_windows(engines, part):
    engine, sqlite = engines
    whole = round(float(part) * 10_000)
    windows = sqlite.execute(
        "SELECT b, a FROM (SELECT b, a, row_number() OVER g AS r,"
        " count(*) OVER (PARTITION BY b) AS n FROM t"
        " WINDOW g AS (PARTITION BY b ORDER BY a))"
        f" WHERE r = max(1, (n * {whole} + 9999) / 10000)"
    )
    sql = f"SELECT b, quantile(a, {part}) FROM t GROUP BY b"
    assert rounded(run(engine, sql)) == rounded(windows.fetchall())


@pytest.mark.parametrize(
    ("sql", "bound"),
    [
        ("SELECT quantile(a, 0.5, 299) FROM t", "more than 299 rows or values"),
        ("SELECT b, quantile(a, 0.5, 9) FROM t GROUP BY b", "more than 9 "),
    ],
)
def test_a_bound_that_is_passed_is_named(engines, sql, bound):
    engine, _ = engines
    with pytest.raises(Limit, match=bound):
        run(engine, sql)
    assert run(engine, sql.replace("299", "300").replace("9)", "300)"))


def test_groups_beyond_their_bound_are_an_error_that_names_it(engines):
    engine, _ = engines
    made = small(engine, "SELECT a, count(*) FROM t GROUP BY a", groups=40)
    with pytest.raises(Limit, match="more than 40 groups: it had 40 of them"):
        list(made.rows())


def test_rows_that_a_join_keeps_are_bounded(engines):
    engine, _ = engines
    sql = (
        "SELECT count(*) FROM u LEFT JOIN (SELECT a FROM t LIMIT 41) AS q"
        " ON q.a > u.a"
    )
    with pytest.raises(Limit, match="more than 40 rows"):
        list(small(engine, sql, sorted=40).rows())
    assert list(small(engine, sql, sorted=41).rows()) == run(engine, sql)


def small(engine, sql, **limits):
    """A statement as of a device with less memory."""
    source = Source(sql)
    (statement,) = parse(source)
    code = compile_select(source, statement, engine.infos, Limits(**limits))
    return Select(engine, code)


def test_orders_of_more_rows_than_memory_has_go_through_a_scratch():
    with Simulator(geometry=LARGE) as chip, Volume.format(chip) as volume:
        volume.create(
            "big", [Column("k", "u32"), Column("a", "i32")], data_blocks=100
        )
        with volume.open("big") as big:
            rows = [(k, k * 2654435761 % 997 - 400) for k in range(20000)]
            big.append_many(rows)
            engine = Engine({"big": big})
            down = sorted(rows, key=lambda row: -row[1])
            sql = "SELECT k, a FROM big ORDER BY a DESC"
            # Of 900 records of 24 bytes runs of 170 a page are merged by 4.
            made = small(engine, sql, sorted=900, scratch=True)
            (*_, said) = made.explain()
            assert said.startswith("an order of 680 rows in RAM; of more, a ")
            assert list(made.rows()) == down
            assert list(made.rows(budget=7)) == down
            with pytest.raises(Limit, match="more than 900 rows"):
                list(small(engine, sql, sorted=900).rows())
            grouped = "SELECT a, quantile(k, 0.5, 99) FROM big GROUP BY a"
            found = dict(
                small(engine, grouped, sorted=900, scratch=True).rows()
            )
            by = {}
            for k, a in rows:
                by.setdefault(a, []).append(k)
            assert found == {
                a: ks[(len(ks) + 1) // 2 - 1] for a, ks in by.items()
            }


@pytest.mark.parametrize(("first", "second"), [("a", "b"), ("b", "a")])
def test_an_inner_join_ends_with_the_side_that_ends_first(first, second):
    with Simulator(geometry=LARGE) as chip, Volume.format(chip) as volume:
        for name in "ab":
            columns = [Column("k", "u32"), Column(f"{name}v", "i32")]
            volume.create(name, columns, data_blocks=40)
        with volume.open("a") as long, volume.open("b") as short:
            long.append_many([(k, k) for k in range(6000)])
            short.append_many([(k, -k) for k in range(0, 600, 3)])
            engine = Engine({"a": long, "b": short})
            before = long.stats().page_reads
            rows = run(
                engine,
                f"SELECT a.k, bv FROM {first} JOIN {second} ON a.k = b.k",
            )
            assert rows == [(k, -k) for k in range(0, 600, 3)]
            assert long.stats().page_reads - before < 20  # of about 100
            left = "SELECT count(*), count(bv) FROM a LEFT JOIN b ON a.k = b.k"
            assert run(engine, left) == [(6000, 200)]


@pytest.fixture(scope="module")
def three():
    """The machine over three series of few pages, and its page reads."""
    with Simulator(geometry=LARGE) as chip, Volume.format(chip) as volume:
        for name in "abc":
            columns = [Column("k", "u32"), Column(f"{name}v", "i32")]
            volume.create(name, columns, data_blocks=20)
        with (
            volume.open("a") as a,
            volume.open("b") as b,
            volume.open("c") as c,
        ):
            a.append_many([(k, k * 7 % 600) for k in range(2000)])
            b.append_many([(k * 3, k % 50) for k in range(600)])
            c.append_many([(k * 2, k) for k in range(300)])
            for table in (a, b, c):
                table.sync()
            engine = Engine({"a": a, "b": b, "c": c}, measured=True)
            yield engine, lambda: sum(t.stats().page_reads for t in (a, b, c))


@pytest.mark.parametrize(
    ("sql", "rows", "estimated"),
    [
        (
            (
                "SELECT count(av) FROM a JOIN b ON b.k = a.k"
                " LEFT JOIN c ON c.k = b.k"
            ),
            600,
            45,
        ),
        (
            (
                "SELECT count(av) FROM a JOIN b ON b.bv = a.av"
                " JOIN c ON c.k = a.k WHERE a.k < 200"
            ),
            144,
            1806,
        ),
        (
            (
                "SELECT count(r) FROM a LEFT JOIN"
                " (SELECT DISTINCT cv % 3 AS r FROM c) AS q ON av % 50 = r"
            ),
            120,
            36,
        ),
    ],
)
def test_joins_read_about_the_pages_that_are_estimated(
    three, sql, rows, estimated
):
    engine, page_reads = three
    (select,) = engine.prepare(sql)
    assert select.explain()[-1].startswith(f"about {estimated:,} page reads; ")
    before = page_reads()
    assert list(select.rows()) == [(rows,)]
    assert estimated / 2 < page_reads() - before <= estimated


def test_joins_by_equal_keys_end_with_the_table_that_ends_first(three):
    engine, page_reads = three
    (select,) = engine.prepare(
        "SELECT count(*) FROM a JOIN b ON b.k = a.k JOIN c ON c.k = b.k"
    )
    assert [line.split()[0] for line in select.explain()[1:7]] == [
        *("StreamAggregate:", "MergeJoin", "MergeJoin", "Scan", "Scan", "Scan")
    ]
    before = page_reads()
    assert list(select.rows()) == [(100,)]
    assert page_reads() - before < 20  # of 45: c ends at key 598 of 1,999


def test_each_value_of_an_extreme_is_computed_once(engines):
    engine, _ = engines
    value = "(a * 3 + b) / 7 % 5"
    (plain,) = engine.prepare(f"SELECT {value} FROM t")
    (most,) = engine.prepare(f"SELECT max({value}, k) FROM t")
    assert len(most.code.bytes) - len(plain.code.bytes) < 32


def test_an_extreme_of_texts_of_rows_that_never_are_is_compiled(engines):
    engine, _ = engines
    sql = (
        "SELECT max(x.s, x.s) FROM u LEFT JOIN r AS x ON length(x.s) = u.a "
        "WHERE length(x.s) >= 661"
    )
    assert run(engine, sql) == []
