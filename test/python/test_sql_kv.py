# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""SQL over kv tables: changes, as in SQLite, and which keys a query reads."""

import random
import sqlite3

import pytest

from conftest import NOR
from eskerdb import Limit, Simulator, Volume
from eskerdb.kv import Kv
from eskerdb.sql.duck import Database
from eskerdb.sql.engine import Engine, Refusal
from test_sql_kv_select import ENTRIES, value_where_of

STATEMENTS = 150
VALUES = ["'a'", "''", "5", "-7", "2 + 3", "0.5", "1 / 4.0", "'it''s'"]


@pytest.fixture
def kv():
    with Simulator(geometry=NOR) as chip, Volume.format(chip) as volume:
        volume.create_kv("conf", blocks=16)
        volume.create("log", _columns(), data_blocks=8)
        with volume.open_kv("conf") as made, volume.open("log") as log:
            log.append_many([(1, 5, "one"), (2, 6, "two")])
            made.engine = Engine({"conf": made, "log": log})
            yield made


def _columns():
    from eskerdb import Column

    return [
        Column("k", "u32"),
        Column("a", "i16"),
        Column("s", "text", bytes=4),
    ]


def changed(kv, sql, **values):
    (change,) = kv.engine.prepare(sql, values=values)
    return change.run()


def test_random_changes_are_those_of_sqlite(kv):
    dice = random.Random(5)
    sqlite = sqlite3.connect(":memory:")
    sqlite.execute("PRAGMA case_sensitive_like = ON")
    sqlite.execute("CREATE TABLE conf (key PRIMARY KEY, value)")

    def key():
        return f"'{dice.choice(['net', 'n', 'disk'])}/{dice.randrange(6)}'"

    def where():
        op = dice.choice(["<", "<=", "=", ">", ">=", "<>"])
        return dice.choice(
            [
                f"key {op} {key()}",
                f"key IN ({key()}, {key()})",
                "key LIKE 'net/%'",
                f"key LIKE 'n%' AND NOT key {op} {key()}",
                f"key NOT LIKE 'n%' OR key = {key()}",
                f"key BETWEEN {key()} AND {key()}",
            ]
        )

    done = 0
    for _ in range(STATEMENTS):
        rows = ", ".join(
            f"({key()}, {dice.choice(VALUES)})"
            for _ in range(dice.choice([1, 1, 3]))
        )
        sql = dice.choice(
            [
                f"INSERT INTO conf VALUES {rows}",
                f"INSERT INTO conf (key, value) VALUES {rows}",
                f"UPDATE conf SET value = {dice.choice(VALUES)} WHERE {where()}",
                f"DELETE FROM conf WHERE {where()}",
            ]
        ).replace("conf VALUES", "conf (key, value) VALUES")
        try:
            count = changed(kv, sql)
        except Refusal as refusal:
            assert "row " in str(refusal), sql
            with pytest.raises(sqlite3.IntegrityError):
                sqlite.execute(sql)
            continue
        assert sqlite.execute(sql).rowcount == count, sql
        done += 1
        theirs = dict(sqlite.execute("SELECT key, value FROM conf"))
        assert dict(kv) == theirs, sql
    assert done > STATEMENTS / 2
    sqlite.close()


def test_a_change_is_of_the_rows_that_select_gives(kv):
    dice = random.Random(9)
    with Database(kv.volume, [kv]) as database:
        for _ in range(STATEMENTS):
            for key, value in ENTRIES.items():
                kv[key] = value
            where = value_where_of(dice)
            if where.startswith("CASE"):
                continue
            if dice.random() < 0.5:
                where = f"({where}) AND key LIKE '%{dice.choice('etx')}%'"
            rows = f"SELECT key FROM conf WHERE {where}"
            wanted = {key for (key,) in database.execute(rows).fetchall()}
            before = set(kv)
            if dice.random() < 0.5:
                assert changed(kv, f"DELETE FROM conf WHERE {where}") == len(
                    wanted
                )
                assert before - set(kv) == wanted, where
            else:
                sql = f"UPDATE conf SET value = 'set' WHERE {where}"
                assert changed(kv, sql) == len(wanted)
                now = {k for k, v in kv.items() if v == "set"}
                assert now == wanted, where
            for key in before:
                kv.pop(key, None)


def test_changes_by_values_of_bytes_and_patterns(kv):
    kv["a"], kv["b"], kv["c"] = b"\0\xff", "\\x00ff", float("nan")
    assert changed(kv, "DELETE FROM conf WHERE value = '\\x00ff'") == 2
    assert changed(kv, "DELETE FROM conf WHERE value LIKE '_a_'") == 1
    assert not len(kv)


def test_values_have_the_types_that_they_have_in_sql(kv):
    assert changed(
        kv,
        "INSERT INTO conf (key, value) VALUES ('t', 'x'), ('i', 5), ('f', 1.5), "
        "('b', TRUE), ('c', 1 > 2), ('r', x'00ff'), ('\\x00ff', -1)",
    ) == 7  # fmt: skip
    assert dict(kv) == {
        "t": "x", "i": 5, "f": 1.5, "b": True, "c": False, "r": b"\0\xff",
        b"\0\xff": -1,
    }  # fmt: skip
    changed(
        kv, "INSERT INTO conf VALUES ('s', 5, 'signed'), ('g', 1, 'float32')"
    )
    assert [kv.stored(k).type_name for k in "sg"] == ["signed", "float32"]
    assert changed(kv, "UPDATE conf SET value = FALSE WHERE key = 'i'") == 1
    assert kv["i"] is False
    assert changed(kv, "UPDATE conf SET type = 'int' WHERE key = 's'") == 1
    assert kv.stored("s").type_name == "int"
    assert changed(kv, "UPDATE conf SET value = 7, type = 'signed' "
                       "WHERE key LIKE 's%'") == 1  # fmt: skip
    assert kv.stored("s").type_name == "signed" and kv["s"] == 7
    assert changed(kv, "DELETE FROM conf WHERE key = '\\x00ff'") == 1
    assert changed(kv, "DELETE FROM conf WHERE key IN ('zz', '')") == 0
    insert = "INSERT INTO conf (key, value) SELECT s, a > 5 FROM log"
    assert changed(kv, insert) == 2
    assert kv["one"] is False and kv["two"] is True
    assert changed(kv, "UPDATE conf SET value = :v WHERE key = :k",
                   v="new", k="one") == 1  # fmt: skip
    assert kv["one"] == "new"
    assert changed(kv, "DELETE FROM conf") == len(VALUES) + 2
    assert not len(kv)


@pytest.mark.parametrize(
    ("sql", "place", "message"),
    [
        ("INSERT INTO conf (key, value) VALUES ('a', 2)", 39, "'a' is there"),
        (
            "INSERT INTO conf (key, value) VALUES ('b', 2), ('b', 3)",
            49,
            "row 2: key = 'b' is that of row 1",
        ),
        ("INSERT INTO conf (key, value) VALUES ('', 2)", 39, "1 to 253 bytes"),
        (
            f"INSERT INTO conf (key, value) VALUES ('{'x' * 254}', 2)",
            39,
            "at most 253 bytes",
        ),
        ("INSERT INTO conf (key, value) VALUES (5, 2)", 39, "takes a text"),
        ("INSERT INTO conf (key, value) VALUES ('b', NULL)", 44, "no NULL"),
        ("INSERT INTO conf (key) VALUES ('b')", 1, "'value' gets no value"),
        ("INSERT INTO conf VALUES ('b', 1, 'text')", 31, "not of type text"),
        ("INSERT INTO conf VALUES ('b', 1, 'txt')", 34, "type is one of"),
        (
            "INSERT INTO conf VALUES ('b', 1e300, 'float32')",
            31,
            "out of range for float32",
        ),
        ("UPDATE conf SET key = 'b'", 17, "the key is not changed"),
        (
            "UPDATE conf SET type = 'bool' WHERE key = 'a'",
            24,
            "not of type bool",
        ),
        ("UPDATE conf SET value = key", 25, "of constants"),
        ("DELETE FROM conf WHERE length(key) = 5", 24, "compares its key"),
        ("DELETE FROM conf WHERE key = value", 24, "compares its key"),
        (
            "DELETE FROM conf WHERE CAST(value AS i64) > 5",
            24,
            "stands where type is 'int' or 'signed'",
        ),
        ("SELECT * FROM conff", 15, "did you mean 'conf'"),
    ],
)
def test_what_a_kv_table_does_not_store_is_refused(kv, sql, place, message):
    kv["a"] = 1
    with pytest.raises(Refusal) as refused:
        changed(kv, sql)
    assert f"sql:1:{place}: " in str(refused.value)
    assert message in str(refused.value)
    assert dict(kv) == {"a": 1}


def test_changes_that_do_not_fit_a_block_change_nothing(kv):
    rows = ", ".join(f"('{i:03}', '{'v' * 90}')" for i in range(60))
    with pytest.raises(Limit, match="change fewer keys at a time"):
        changed(kv, f"INSERT INTO conf (key, value) VALUES {rows}")
    assert not len(kv)


def test_plans_of_changes_say_which_keys_are_read(kv):
    def plan(sql):
        (change,) = kv.engine.prepare(sql)
        return change.explain()

    assert plan("INSERT INTO conf (key, value) VALUES ('a', 1)") == [
        "Insert into conf: 1 row, at once"
    ]
    assert plan("UPDATE conf SET value = 1 WHERE key = 'a'") == [
        "Update conf: value = 1, at once: 1 key looked up"
    ]
    assert plan("DELETE FROM conf WHERE key LIKE 'ab%' AND key > 'abc'") == [
        "Delete from conf, at once: keys that begin with 'ab'"
    ]
    assert plan("DELETE FROM conf WHERE key > 'a'") == [
        "Delete from conf, at once: all keys"
    ]


def test_a_query_reads_only_the_keys_that_it_asks_for(kv, monkeypatch):
    kv.change_many({f"{a}/{i}": i for a in ("net", "disk") for i in range(9)})
    read = []
    really = Kv.stored

    def stored(self, key):
        read.append(key)
        return really(self, key)

    monkeypatch.setattr(Kv, "stored", stored)
    with Database(kv.volume, [kv]) as database:
        for where, keys, found in (
            ("key = 'net/3'", 1, ["3"]),
            ("key IN ('net/3', 'net/4', 'none')", 3, ["3", "4"]),
            ("key LIKE 'net/%' AND value > '6'", 9, ["7", "8"]),
            ("key = 'net/3' AND key = 'net/4'", 0, []),
            ("value = '8'", 18, ["8", "8"]),
        ):
            sql = f"SELECT value FROM conf WHERE {where} ORDER BY value"
            bounds = kv.engine.kv_bounds(sql)
            assert bounds is not None or "value >" in sql
            if bounds is not None:
                database.bound_keys(*bounds)
            read.clear()
            rows = database.execute(sql).fetchall()
            assert [value for (value,) in rows] == found
            assert len(read) == keys, where
    for sql in ("SELECT 1", "DELETE FROM conf", "SELECT k FROM log", "x"):
        assert kv.engine.kv_bounds(sql) is None


def test_changes_that_do_not_fit_a_block_are_made_in_batches(kv):
    for i in range(60):
        kv[f"{i:03}"] = "v" * 90
    (update,) = kv.engine.prepare(
        "UPDATE conf SET value = :v WHERE key < '059'", values={"v": "w" * 80}
    )
    with pytest.raises(Limit, match="change fewer keys at a time"):
        update.run()
    assert set(kv.values()) == {"v" * 90}
    assert update.run(in_batches=True) == 59
    assert sum(value == "w" * 80 for value in kv.values()) == 59
    (delete,) = kv.engine.prepare("DELETE FROM conf")
    assert delete.run(in_batches=True) == 60
    assert not len(kv)
