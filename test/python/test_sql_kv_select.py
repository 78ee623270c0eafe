# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""SELECT over kv tables on the machine: the rows are those of SQLite, and of
DuckDB over the same table."""

import random
import re
import sqlite3

import pytest

from conftest import NOR
from eskerdb import ImageFile, Limit, Simulator, Unsupported, Volume
from eskerdb.kv import Kv
from eskerdb.sql.duck import Database
from eskerdb.sql.engine import Engine, Refusal

STATEMENTS = 150
LONG = "x" * 3000
ENTRIES = {
    "net/name": "esker", "net/port": 80, "net/up": True, "net": b"\0\xff",
    "disk/size": 1 << 40, "disk/low": -5, "disk/rate": 0.5, "disk/": "",
    "long": LONG, "k" * 253: "most", "\u00fc": "\u00fcber", "n": 0.1,
    "net/\U0010ffff": "last", "Net/name": "other",
    "most": (1 << 64) - 1, "zero": 0.0, "-zero": -0.0, "as text": "80",
    "off": False, "word": "true", "half": "0.5", "least": -(1 << 63),
}  # fmt: skip


@pytest.fixture
def both():
    """A kv table, and SQLite with its keys, values and types as texts."""
    with Simulator(geometry=NOR) as chip, Volume.format(chip) as volume:
        volume.create_kv("conf", blocks=16)
        with volume.open_kv("conf") as kv, sqlite3.connect(":memory:") as lite:
            for key, value in ENTRIES.items():
                kv[key] = value
            kv.put("disk/f", 1.5, "float32")
            lite.execute("PRAGMA case_sensitive_like = ON")
            lite.execute("CREATE TABLE conf (key TEXT, value TEXT, type TEXT)")
            entries, lost = kv.scan()
            assert lost == 0
            lite.executemany(
                "INSERT INTO conf VALUES (?, ?, ?)",
                [entry.texts() for entry in entries],
            )
            yield kv, Engine({"conf": kv}), lite


def where_of(dice, keys):
    def key():
        return dice.choice(keys).replace("'", "''")

    op = dice.choice(["<", "<=", "=", ">", ">=", "<>"])
    return dice.choice(
        [
            f"key {op} '{key()}'",
            f"key {op} '{key()}' AND key >= '{key()}'",
            f"key LIKE '{key()[:4]}%'",
            f"key NOT LIKE '{key()[:2]}%'",
            f"key LIKE '%{key()[-1:]}'",
            f"key NOT LIKE '_{key()[1:3]}%'",
            f"key IN ('{key()}', '{key()}', 'none')",
            f"key IN ('{key()}', 'a', 'b', 'c', 'd', '{key()}')",
            f"key BETWEEN '{key()}' AND '{key()}'",
            f"key LIKE 'net%' AND (key = '{key()}' OR key > 'net/p')",
            "1 = 1",
        ]
    )


TYPES = ["int", "signed", "text", "bytes", "float", "float32", "bool", "none"]
TEXTS = [
    *("esker", "80", "-5", "0.5", "1.5", "0.1", "", "true", "false", "0.0"),
    *("-0.0", "x", "over", "other", "most", "18446744073709551615", "1e300"),
    *("-9223372036854775808", "9223372036854775808", "080", "inf", "nan"),
]


def value_where_of(dice):
    """A condition on the value or the type of a row."""

    def text():
        return dice.choice(TEXTS)

    def kind():
        return dice.choice(TYPES)

    op = dice.choice(["<", "<=", "=", ">", ">=", "<>"])
    number = dice.choice([-5, 0, 3, 80, 1 << 40, 0.5, 0.4, 1e300])
    return dice.choice(
        [
            f"value = '{text()}'",
            f"value <> '{text()}'",
            f"'{text()}' = value",
            f"value IN ('{text()}', '{text()}', '{text()}')",
            f"value NOT IN ('{text()}', '{text()}')",
            f"type {op} '{kind()}'",
            f"type IN ('{kind()}', '{kind()}')",
            f"type LIKE '{kind()[:2]}%'",
            f"type NOT LIKE '%{kind()[-1:]}_'",
            f"type = 'text' AND value {op} '{text()}'",
            f"value {op} '{text()}' AND type = 'text'",
            f"type = 'text' AND value BETWEEN '{text()}' AND '{text()}'",
            f"type = 'text' AND value LIKE '{text()[:2]}%'",
            f"type <> 'text' OR value {op} '{text()}'",
            f"NOT (type = 'text' AND value < '{text()}')",
            f"type = 'signed' AND CAST(value AS BIGINT) {op} {number}",
            (
                f"type = 'int' AND key <> 'most' "
                f"AND CAST(value AS BIGINT) {op} {number}"
            ),
            (
                f"type IN ('float', 'signed') "
                f"AND CAST(value AS DOUBLE) {op} {number}"
            ),
            (
                f"CASE WHEN type = 'float' THEN CAST(value AS DOUBLE) {op} "
                f"{number} WHEN type = 'text' THEN value {op} '{text()}' END"
            ),
        ]
    )


def select_of(dice, keys):
    where = where_of(dice, keys)
    if dice.random() < 0.5:
        where = value_where_of(dice)
        if dice.random() < 0.4:
            where = f"({where}) {dice.choice(['AND', 'OR'])} " + dice.choice(
                [f"({value_where_of(dice)})", f"key > '{dice.choice('acnx')}'"]
            )
    down = dice.choice(["", " DESC"])
    return dice.choice(
        [
            (
                f"SELECT key, value, type FROM conf WHERE {where} "
                f"ORDER BY key{down}"
            ),
            (
                f"SELECT value FROM conf WHERE {where} ORDER BY key{down} "
                f"LIMIT {dice.randrange(5)}"
            ),
            (
                f"SELECT type, key FROM conf WHERE {where} ORDER BY key{down} "
                "LIMIT 3 OFFSET 1"
            ),
            f"SELECT count(*), count(value) FROM conf WHERE {where}",
            f"SELECT max(key) FROM conf WHERE {where}",
            (
                f"SELECT type AS kind, count(*) FROM conf WHERE {where} "
                f"GROUP BY kind ORDER BY kind{down} LIMIT 99"
            ),
            f"SELECT min(type), max(type) FROM conf WHERE {where}",
            (
                f"SELECT substr(key, 1, 2) AS k, count(*) FROM conf WHERE "
                f"{where} GROUP BY k ORDER BY k{down} LIMIT 99"
            ),
            (
                f"SELECT key, length(key) FROM conf WHERE {where} "
                f"ORDER BY key{down}"
            ),
        ]
    )


def test_random_queries_give_the_rows_of_sqlite(both):
    _, engine, lite = both
    dice = random.Random(11)
    keys = [*ENTRIES, "a", "m", "zz"]
    refused = 0
    for _ in range(STATEMENTS):
        sql = select_of(dice, keys)
        try:
            (select,) = engine.prepare(sql)
        except Refusal as refusal:  # 32 registers a key, in each scan
            assert re.search("registers|of one scan", refusal.message), sql
            assert re.search(" IN |OR key|max", sql), sql
            refused += 1
            continue
        budget = dice.choice([0, 1])
        found = list(select.rows(budget=budget))
        assert found == lite.execute(sql).fetchall(), sql
    assert refused < STATEMENTS / 4


def test_conditions_on_values_give_the_rows_of_duckdb(both):
    kv, engine, lite = both
    dice = random.Random(3)
    with Database(kv.volume, [kv]) as database:
        for _ in range(STATEMENTS):
            where = value_where_of(dice)
            sql = f"SELECT key, value FROM conf WHERE {where} ORDER BY key"
            (select,) = engine.prepare(sql)
            found = list(select.rows())
            assert found == lite.execute(sql).fetchall(), sql
            assert found == database.execute(sql).fetchall(), sql


def test_a_value_is_computed_with_where_its_type_is_known(both):
    _, engine, lite = both
    whole = "type IN ('int', 'signed') AND key <> 'most'"
    for sql in (
        (
            f"SELECT sum(CAST(value AS i64)), count(*) FROM conf "
            f"WHERE {whole} AND key <> 'least'"
        ),
        f"SELECT key, CAST(value AS BIGINT) / 2 FROM conf WHERE {whole}",
        "SELECT max(CAST(value AS DOUBLE)) FROM conf WHERE type = 'float'",
        "SELECT DISTINCT type FROM conf WHERE type LIKE 'f%' OR type = 'bool'",
        "SELECT key, type FROM conf WHERE length(type) = 3",
        "SELECT DISTINCT 'int' FROM conf WHERE type = 'int' AND type > 'a'",
        "SELECT count(DISTINCT type) FROM conf WHERE key > 'm'",
        "SELECT DISTINCT type FROM conf WHERE type < 'a'",
        "SELECT DISTINCT type FROM conf WHERE type = 'text'",
        (
            "SELECT a.type, count(*) FROM conf AS a JOIN (SELECT DISTINCT type "
            "FROM conf WHERE key > 'n') AS b ON a.type = b.type GROUP BY a.type"
        ),
        (
            "SELECT q.type, q.t FROM conf AS a JOIN (SELECT type, key AS k, "
            "substr(key, 1, 4) AS t FROM conf) AS q ON a.key = 'n' "
            "AND q.type = 'signed'"
        ),
        (
            "SELECT max(v) FROM (SELECT CAST(value AS BIGINT) AS v FROM conf "
            "WHERE type = 'int') WHERE v > 5 AND v IS NULL"
        ),
        (
            "SELECT k FROM (SELECT key AS k, value AS v, type AS t FROM conf) "
            "WHERE t = 'text' AND v > 'f' ORDER BY k"
        ),
        (
            "SELECT a.key, b.key FROM conf AS a JOIN conf AS b "
            "ON a.type = 'text' AND a.value LIKE 'o%' AND b.value = '80'"
        ),
        # The rows of `a` are kept, without the value that nothing reads.
        (
            "SELECT a.type, q.t FROM conf AS a LEFT JOIN (SELECT DISTINCT "
            "type AS t FROM conf WHERE key > 'n') AS q "
            "ON a.type < q.t WHERE a.key IN ('net/name', 'net', 'off')"
        ),
        (
            "SELECT count(*) FROM conf AS a JOIN (SELECT DISTINCT type FROM "
            "conf) AS q ON 1 = 1 WHERE a.key IN ('net', 'off', 'none')"
        ),
    ):
        (select,) = engine.prepare(sql)
        theirs = sql.replace("i64", "BIGINT")
        found = sorted(select.rows())
        assert found == sorted(lite.execute(theirs).fetchall()), sql


def test_values_of_several_keys_are_looked_up(both):
    kv, engine, lite = both
    for where in (
        "key IN ('net/port', 'n', 'none')",
        "key = 'long' OR key = 'disk/f' OR key = ''",
        "key IN ('net/port', 'n', 'disk/', 'zz') AND type <> 'float'",
    ):
        sql = f"SELECT key, value, type FROM conf WHERE {where} ORDER BY key"
        (select,) = engine.prepare(sql)
        assert list(select.rows()) == lite.execute(sql).fetchall(), sql
        assert list(select.rows(budget=1)) == lite.execute(sql).fetchall()
    pairs = (
        "SELECT a.key, b.value FROM conf AS a, conf AS b WHERE a.key IN "
        "('n', 'net/up') AND b.key IN ('word', 'half') AND b.value <> ''"
    )
    (select,) = engine.prepare(pairs)
    assert sorted(select.rows()) == sorted(lite.execute(pairs).fetchall())
    (select,) = engine.prepare(
        "SELECT value FROM conf WHERE key IN ('net/port', 'n')"
    )
    before = kv.stats().page_reads
    assert len(list(select.rows())) == 2
    assert kv.stats().page_reads - before <= 6


def test_a_parameter_beside_a_value_is_a_constant(both):
    _, engine, lite = both
    sql = "SELECT key FROM conf WHERE value = :v ORDER BY key"
    for text in (*TEXTS, "x" * 255):
        (select,) = engine.prepare(sql, values={"v": text})
        assert list(select.rows()) == lite.execute(sql, {"v": text}).fetchall()


def test_an_integer_beyond_64_bits_with_a_sign_ends_the_query(both):
    _, engine, _ = both
    sql = "SELECT key FROM conf WHERE type = 'int' AND CAST(value AS i64) > 0"
    (select,) = engine.prepare(sql)
    with pytest.raises(Limit):
        list(select.rows())


def test_a_number_that_is_none_is_a_text_like_others(both):
    kv, engine, _ = both
    kv["not"], kv["infinite"] = float("nan"), float("-inf")
    kv.put("single", float("nan"), "float32")
    for text, keys in (("nan", ["not", "single"]), ("-inf", ["infinite"])):
        sql = f"SELECT key FROM conf WHERE value = '{text}' ORDER BY key"
        (select,) = engine.prepare(sql)
        assert [key for (key,) in select.rows()] == keys
        with Database(kv.volume, [kv]) as database:
            assert [k for (k,) in database.execute(sql).fetchall()] == keys


def test_a_text_is_compared_with_the_zeros_at_its_end(both):
    kv, engine, _ = both
    kv["z0"], kv["z1"], kv["z2"] = "z", "z\0", "z\0y"
    for op, keys in (
        ("=", ["z0"]), ("<=", ["z0"]), ("<", []), (">", ["z1", "z2"]),
        (">=", ["z0", "z1", "z2"]), ("<>", ["z1", "z2"]),
    ):  # fmt: skip
        sql = (
            f"SELECT key FROM conf WHERE type = 'text' AND value {op} 'z' "
            "AND key LIKE 'z%' AND key <> 'zero' ORDER BY key"
        )
        (select,) = engine.prepare(sql)
        assert [key for (key,) in select.rows()] == keys, sql


def test_a_text_longer_than_a_row_has_is_duckdb_s(tmp_path, esker):
    path = tmp_path / "kv.img"
    with (
        ImageFile(path, NOR, create=True) as device,
        Volume.format(device) as volume,
    ):
        volume.create_kv("conf", blocks=8)
        with volume.open_kv("conf") as kv:
            kv["long"], kv["short"] = "x" * 1025 + "end", "the end"
    for pattern, keys, says in (
        ("%end", ["long", "short"], "DuckDB answers: a long text"),
        ("the%", ["short"], "the machine answers"),
        ("x%", ["long"], "the machine answers"),
    ):
        where = f"type = 'text' AND value LIKE '{pattern}'"
        sql = f"SELECT key FROM conf WHERE {where} ORDER BY key"
        done = esker("query", path, sql, "--csv")
        assert done.out.splitlines() == ["key", *keys]
        assert says in done.err


def test_a_parameter_is_a_bound(both):
    _, engine, lite = both
    sql = "SELECT key, value FROM conf WHERE key = :key"
    (select,) = engine.prepare(sql)
    assert "Scan conf, key = :key" in select.explain()[-2]
    for key in (*ENTRIES, "none", ""):
        found = list(select.rows({"key": key}))
        assert found == lite.execute(sql, {"key": key}).fetchall()


def test_a_lookup_reads_one_value_and_each_value_is_read_once(
    both, monkeypatch
):
    kv, engine, _ = both

    def reads(sql):
        (select,) = engine.prepare(sql)
        before = kv.stats().page_reads
        rows = list(select.rows())
        return rows, kv.stats().page_reads - before

    rows, few = reads("SELECT value FROM conf WHERE key = 'net/port'")
    assert rows == [("80",)]
    assert few <= 3
    _, many = reads("SELECT value FROM conf")
    assert many > few
    again = []
    really = Kv.stored
    monkeypatch.setattr(
        Kv,
        "stored",
        lambda self, key: (again.append(key), really(self, key))[1],
    )
    reads("SELECT key, value FROM conf")
    assert again == [b"long"]  # which a row of the machine cuts


def test_keys_that_are_no_text_are_written_as_bytes(both):
    kv, engine, _ = both
    kv[b"\xff\0\xfe"] = 7
    kv["\\x00"] = 8
    (select,) = engine.prepare("SELECT key FROM conf WHERE key > 'zz'")
    assert list(select.rows())[-1] == ("\\xff00fe",)
    (select,) = engine.prepare("SELECT key, value FROM conf WHERE key < 'a'")
    assert ("\\x5c783030", "8") in list(select.rows())
    with Database(kv.volume, [kv]) as database:
        sql = "SELECT key FROM conf WHERE key = '\\xff00fe'"
        assert database.execute(sql).fetchall() == [("\\xff00fe",)]


@pytest.mark.parametrize(
    ("sql", "column", "message"),
    [
        ("SELECT key FROM conf WHERE value < '5'", 28, "type is 'text'"),
        (
            "SELECT key FROM conf WHERE type <> 'int' AND value LIKE 'a%'",
            46,
            "LIKE of 'value' of a kv table stands where type is 'text'",
        ),
        (
            "SELECT key FROM conf WHERE type = 'text' OR value > 'a'",
            45,
            "an order of 'value'",
        ),
        (
            "SELECT key FROM conf WHERE type LIKE 'f%' AND CAST(value AS i64) > 1",
            47,
            "type is 'int' or 'signed'",
        ),
        (
            "SELECT key FROM conf WHERE CAST(type AS i64) > 1",
            28,
            "between text and number",
        ),
        ("SELECT key FROM conf WHERE value > 5", 28, "text and a number"),
        ("SELECT key FROM conf WHERE value = key", 28, "that is known"),
        ("SELECT key FROM conf WHERE length(value) = 1", 35, "any length"),
        ("SELECT key FROM conf ORDER BY value", 1, "any length"),
        ("SELECT key FROM conf WHERE key = '\\xff'", 1, "not UTF-8"),
        ("SELECT CAST(value AS i64) FROM conf", 8, "CAST to a number of"),
    ],
)
def test_what_a_program_does_not_do_is_refused(both, sql, column, message):
    _, engine, _ = both
    with pytest.raises(Refusal) as refused:
        engine.prepare(sql)
    assert message in refused.value.message
    assert refused.value.column == column


def test_keys_that_end_in_a_zero_byte_are_digits_and_duckdb_s(tmp_path, esker):
    path = tmp_path / "kv.img"
    with (
        ImageFile(path, NOR, create=True) as device,
        Volume.format(device) as volume,
    ):
        volume.create_kv("conf", blocks=8)
        with volume.open_kv("conf") as kv:
            kv["a"], kv["a\0"], kv["b"] = 1, 2, 3
            select = Engine({"conf": kv}).prepare("SELECT key FROM conf")[0]
            with pytest.raises(Unsupported):
                list(select.rows())
    for where, rows, is_met in (
        ("", ["\\x6100,2", "a,1", "b,3"], True),
        ("WHERE key = 'a'", ["a,1"], False),
        ("WHERE key > 'a'", ["b,3"], True),
        ("WHERE key = '\\x6100'", ["\\x6100,2"], False),
    ):
        sql = f"SELECT key, value FROM conf {where} ORDER BY key"
        done = esker("query", path, sql, "--csv")
        assert done.out.splitlines() == ["key,value", *rows]
        assert ("ends in a zero byte" in done.err) is is_met
