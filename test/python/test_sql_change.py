# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""INSERT, UPDATE and DELETE: random ones against SQLite, and what is refused."""

import random
import sqlite3
import struct

import pytest
from eskerdb._esker import lib

import eskerdb
from conftest import NAND, NOR, SD
from eskerdb import (
    Column,
    DeviceError,
    EskerError,
    Limit,
    ReadOnly,
    Simulator,
    Volume,
)
from eskerdb.errors import error
from eskerdb.sql.engine import Engine, Refusal
from eskerdb.tree import Tree

STATEMENTS = 120
WORDS = ("", "a", "ab", "b", "\u00fc", "zz")
VALUES = [
    Column("v", "i16", missing=-9),
    Column("f", "f32"),
    Column("s", "text", bytes=5),
]
KEYS = {
    "i32": Column("id", "i32"),
    "u8": Column("id", "u8"),
    "f32": Column("id", "f32"),
    "f64": Column("id", "f64"),
    "text": Column("id", "text", bytes=6),
}
STORES = {"mu": NOR, "wandering": NAND, "inplace": SD, "journaled": SD}


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def made_of(table, name="t"):
    """Returns an engine over one open table, and a SQLite with its like."""
    sqlite = sqlite3.connect(":memory:")
    sqlite.execute(f"CREATE TABLE {name} (id PRIMARY KEY, v, f REAL, s)")
    return Engine({name: table}), sqlite


def changed(engine, sql, **values):
    (change,) = engine.prepare(sql, values=values)
    return change.run()


def both(engine, sqlite, sql):
    """Runs a change in both; whether ours did it. They agree on its rows."""
    try:
        count = changed(engine, sql)
    except (Refusal, EskerError) as failure:
        assert "row " in str(failure), sql
        return False
    assert sqlite.execute(sql).rowcount == count, sql
    return True


def rows_of(engine, sqlite):
    (select,) = engine.prepare("SELECT id, v, f, s FROM t")
    ours = [(*row[:2], row[2], row[3]) for row in select.rows()]
    theirs = sqlite.execute("SELECT id, v, f, s FROM t ORDER BY id").fetchall()
    return ours, [
        (i, v, f if f is None else f32(f), s) for i, v, f, s in theirs
    ]


class Changes:
    """Makes statements from a seed."""

    def __init__(self, seed, kind):
        self.dice = random.Random(seed)
        self.kind = kind

    def key(self):
        number = self.dice.randrange(40)
        if self.kind == "text":
            return f"'k{number}'"
        return str(number / 2 if self.kind[0] == "f" else number)

    def number(self):
        return self.dice.choice(["NULL", "3", "-7", "100 + 5", "2 * -6"])

    def row(self):
        f = self.dice.choice(["NULL", "1.5", "-0.25", "2", "1 / 4.0"])
        return f"({self.key()}, {self.number()}, {f}, '{self.word()}')"

    def word(self):
        return self.dice.choice(WORDS)

    def where(self):
        op = self.dice.choice(["<", "<=", "=", ">", ">=", "<>"])
        return self.dice.choice(
            [
                f"id {op} {self.key()}",
                f"id {op} {self.key()} AND v {op} {self.dice.randrange(9)}",
                f"id BETWEEN {self.key()} AND {self.key()}",
                f"id IN ({self.key()}, {self.key()}, {self.key()})",
                f"id < {self.key()} OR id > {self.key()}",
                f"s = '{self.word()}'",
                "v IS NULL",
                f"f {op} 1.0 OR v > 90",
            ]
        )

    def statement(self):
        kind = self.dice.randrange(10)
        if kind < 5:
            count = self.dice.choice([1, 1, 2, 5])
            return "INSERT INTO t VALUES " + ", ".join(
                self.row() for _ in range(count)
            )
        if kind < 8:
            value = self.dice.choice(
                ["v + 1", "-v", "v * 3 / 2", "NULL", "7", "coalesce(v, 0)"]
            )
            more = self.dice.choice(
                ["", f", s = '{self.word()}'", ", f = f * 2"]
            )
            return f"UPDATE t SET v = {value}{more} WHERE {self.where()}"
        return f"DELETE FROM t WHERE {self.where()}"


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("store", STORES)
def test_random_changes_of_a_tree_are_those_of_sqlite(kind, store):
    dice = Changes(f"{kind} {store}", kind)
    with Simulator(geometry=STORES[store]) as chip, Volume.format(chip) as made:
        made.create_tree("t", [KEYS[kind], *VALUES], store=store, blocks=24)
        with made.open_tree("t") as tree:
            engine, sqlite = made_of(tree)
            done = 0
            for _ in range(STATEMENTS // 6):
                sql = dice.statement()
                done += both(engine, sqlite, sql)
                ours, theirs = rows_of(engine, sqlite)
                assert ours == theirs, sql
            assert done > STATEMENTS // 12
            assert tree.check().ok
            sqlite.close()


def test_random_changes_of_a_series_are_those_of_sqlite():
    dice = random.Random(12)
    with Simulator(geometry=NOR) as chip, Volume.format(chip) as made:
        made.create("t", [KEYS["i32"], *VALUES], data_blocks=16)
        with made.open("t") as series:
            engine, sqlite = made_of(series)
            key = refused = 0
            for _ in range(STATEMENTS):
                sql = f"DELETE FROM t WHERE id < {key - dice.randrange(30)}"
                if dice.randrange(4):
                    rows = []
                    for _ in range(dice.choice([1, 3])):
                        key += dice.choice([0, 1, 5, 5, 5])
                        rows.append(f"({key}, {key % 5}, 1 / 2.0, 'x')")
                    sql = "INSERT INTO t VALUES " + ", ".join(rows)
                refused += not both(engine, sqlite, sql)
                ours, theirs = rows_of(engine, sqlite)
                assert ours == theirs, sql
            assert 0 < refused < STATEMENTS / 2
            assert changed(engine, "DELETE FROM t") > 0
            assert changed(engine, "DELETE FROM t WHERE id <= 3") == 0
            assert not rows_of(engine, sqlite)[0]
            sqlite.close()


@pytest.fixture
def engine():
    """A tree `t`, a series `log` with every kind of column, `wide` with a
    text of any length and `raw` with bytes."""
    with Simulator(geometry=NOR) as chip, Volume.format(chip) as volume:
        volume.create_tree("t", [KEYS["i32"], *VALUES], blocks=8)
        volume.create_tree(
            "raw", [Column("k", "bytes", bytes=2), Column("n", "u8")], blocks=8
        )
        volume.create("log", [KEYS["u8"], *VALUES], data_blocks=8)
        volume.create(
            "wide",
            [Column("at", "u32"), Column("what", "text")],
            data_blocks=8,
            var_blocks=8,
            keys_repeat=True,
        )
        names = ("t", "raw", "log", "wide")
        made = Engine({n: volume.open_table(n) for n in names})
        changed(made, "INSERT INTO t VALUES (1, 2, 0.5, 'a'), (5, 6, 1, 'b')")
        changed(made, "INSERT INTO log VALUES (1, 2, 0.5, 'a'), (5, 6, 1, 'b')")
        yield made
        for table in made.opened.values():
            table.close()


def rows(engine, sql):
    (select,) = engine.prepare(sql)
    return list(select.rows())


@pytest.mark.parametrize(
    ("sql", "place", "message"),
    [
        ("INSERT INTO t VALUES (5, 1, 1, 'a')", 23, "row 1: id = 5 is there"),
        (
            "INSERT INTO t VALUES (7, 1, 1, ''), (7, 1, 1, '')",
            38,
            "row 2: id = 7 is that of row 1",
        ),
        (
            "INSERT INTO log VALUES (6, 1, 1, ''), (6, 1, 1, '')",
            40,
            "row 2: id = 6 is not above 6, that of row 1",
        ),
        (
            "INSERT INTO log VALUES (5, 1, 1, '')",
            25,
            "row 1: id = 5 is not above 5, the newest",
        ),
        ("INSERT INTO log VALUES (256, 1, 1, '')", 25, "(u8) takes 0 to 255"),
        (
            "INSERT INTO t VALUES (6, 1, 1, 'a\u00fc\u00fc\u00fc')",
            32,
            "at most 5 bytes of UTF-8; the text has 7",
        ),
        ("INSERT INTO t VALUES (6, 1, 1, 'a\0')", 32, "zero byte"),
        ("INSERT INTO t VALUES (6, -9, 1, '')", 26, "-9 stands for NULL"),
        ("INSERT INTO t VALUES (NULL, 1, 1, '')", 23, "'id' is never NULL"),
        ("INSERT INTO t VALUES (6, 1, 1, NULL)", 32, "'s' takes no NULL"),
        ("INSERT INTO t VALUES (6, 1.5, 1, '')", 26, "whole numbers, not 1.5"),
        ("INSERT INTO t VALUES (6, 'x', 1, '')", 26, "a number, not a text"),
        ("INSERT INTO t VALUES (6, 1, 1, 2)", 32, "a text, not a number"),
        ("INSERT INTO t VALUES (6, 1, 1e39, '')", 29, "beyond the type"),
        ("INSERT INTO t VALUES (6, 1, 1, x'00')", 32, "a text, not bytes"),
        ("INSERT INTO raw VALUES ('ab', 1)", 25, "bytes, x'..', not a text"),
        ("INSERT INTO raw VALUES (x'000000', 1)", 25, "exactly 2 bytes, not 3"),
        ("INSERT INTO t (id, s) VALUES (6, '', 1)", 31, "3 values for 2"),
        ("INSERT INTO t (id, v) VALUES (6, 1)", 1, "'s' gets no value"),
        ("INSERT INTO t SELECT id, v, f FROM log", 15, "3 values for 4"),
        ("INSERT INTO t SELECT id, v, s, s FROM log", 29, "'f' takes a number"),
        ("INSERT INTO t SELECT id, v, f, v FROM log", 32, "'s' takes a text"),
        (
            "INSERT INTO t SELECT id, v, f, s FROM log",
            22,
            "row 1: id = 1 is there",
        ),
        (
            "INSERT INTO t SELECT id + 9, v * 9999, f, s FROM log",
            30,
            "row 2: column 'v' (i16) takes",
        ),
        ("INSERT INTO wide SELECT at, what FROM wide", 29, "any length"),
        ("INSERT INTO tt VALUES (1)", 13, "no table 'tt'; did you mean 't'"),
        ("UPDATE t SET v = v * 9999", 18, "row 2 (id = 5): column 'v' (i16)"),
        ("UPDATE t SET v = v - 11", 18, "row 1 (id = 1): -9 stands for NULL"),
        ("UPDATE t SET s = 'abcdef' WHERE id = 1", 18, "the text has 6"),
        ("UPDATE t SET id = 2", 14, "the key is not changed"),
        ("UPDATE t SET v = 1, v = 2", 21, "set twice"),
        ("UPDATE t SET vv = 1", 14, "did you mean 'v'"),
        ("UPDATE log SET v = 1", 1, "its rows are never changed"),
        ("UPDATE t SET v = sum(v)", 18, "an aggregate is not in a change"),
        ("DELETE FROM log WHERE id > 3", 23, "DELETE FROM log WHERE id < .."),
        ("DELETE FROM log WHERE v < 3", 23, "only at its old end"),
        ("DELETE FROM log WHERE id < 3 AND v = 1", 23, "only at its old end"),
        ("CREATE TABLE x (a u8)", 1, "CREATE does not run"),
    ],
)
def test_what_a_table_does_not_store_is_refused_with_its_place(
    engine, sql, place, message
):
    with pytest.raises(Refusal) as refused:
        changed(engine, sql)
    assert f"sql:1:{place}: " in str(refused.value)
    assert message in str(refused.value)
    assert "esk_" not in str(refused.value)
    for name in ("t", "log"):
        assert rows(engine, f"SELECT * FROM {name}") == [
            (1, 2, 0.5, "a"),
            (5, 6, 1.0, "b"),
        ]


def test_insert_select_takes_computed_rows(engine):
    assert changed(
        engine,
        "INSERT INTO t (s, id) SELECT s, id + 100 FROM log WHERE v > 1",
    ) == 2  # fmt: skip
    assert rows(engine, "SELECT id, v, f, s FROM t WHERE id > 99") == [
        (101, None, None, "a"),
        (105, None, None, "b"),
    ]
    assert changed(
        engine, "INSERT INTO log SELECT id + 6, v, f, s FROM log"
    ) == 2  # fmt: skip
    assert [key for (key,) in rows(engine, "SELECT id FROM log")] == [
        1, 5, 7, 11
    ]  # fmt: skip
    assert changed(engine, "INSERT INTO t SELECT * FROM t WHERE id < 0") == 0


def test_bytes_and_texts_of_any_length_are_inserted(engine):
    changed(engine, "INSERT INTO wide VALUES (1, 'one'), (1, '')")
    assert [r["what"] for r in engine.opened["wide"]] == ["one", ""]
    with pytest.raises(Refusal, match="at = 0 is below 1, the newest"):
        changed(engine, "INSERT INTO wide VALUES (0, 'x')")
    changed(engine, "INSERT INTO raw VALUES (x'00FF', 1), (X'0000', 2)")
    assert changed(engine, "UPDATE raw SET n = n * 2 WHERE n = 1") == 1
    raw = engine.opened["raw"]
    assert [tuple(r.values()) for r in raw] == [(b"\0\0", 2), (b"\0\xff", 2)]
    with pytest.raises(Refusal, match=r"row 1 \(k = x'0000'\): .*'n'"):
        changed(engine, "UPDATE raw SET n = n * 200")
    assert changed(engine, "DELETE FROM raw WHERE n = 2") == 2


def test_parameters_have_the_types_of_their_columns(engine):
    sql = "UPDATE t SET s = :s, v = :v, f = :f WHERE s = :old"
    given = {"s": "new", "v": 3, "f": 1, "old": "a"}
    assert changed(engine, sql, **given) == 1
    assert rows(engine, "SELECT * FROM t WHERE id = 1") == [(1, 3, 1.0, "new")]
    for name, value, message in (
        ("s", "toolong", "the text has 7"),
        ("v", 40000, ":v is -32768 to 32767"),
        ("v", 1.5, ":v is a whole number"),
        ("f", "x", ":f is a number"),
        ("s", 4, ":s is a text"),
    ):
        with pytest.raises(Refusal) as refused:
            changed(engine, sql, **{**given, name: value})
        assert message in str(refused.value)
        at = sql.index(f":{name}") + 1
        assert f"sql:1:{at}: " in str(refused.value)
    (change,) = engine.prepare("DELETE FROM log WHERE id <= :k")
    with pytest.raises(ValueError, match=":k has no value"):
        change.run()
    with pytest.raises(ValueError, match="no parameter :x"):
        change.run({"k": 1, "x": 2})
    assert change.run({"k": 1}) == 1
    (insert,) = engine.prepare("INSERT INTO log VALUES (:k, :k + 1, NULL, 'p')")
    assert [insert.run({"k": key}) for key in (6, 7)] == [1, 1]
    assert rows(engine, "SELECT * FROM log WHERE id > 5") == [
        (6, 7, None, "p"),
        (7, 8, None, "p"),
    ]


def test_the_greatest_key_of_a_series_cannot_be_dropped(engine):
    changed(engine, "INSERT INTO log VALUES (255, 1, 1, '')")
    for sql in ("DELETE FROM log", "DELETE FROM log WHERE id <= :k"):
        with pytest.raises(Refusal, match="greatest key, 255, cannot"):
            changed(engine, sql, **({"k": 255} if ":" in sql else {}))
    assert changed(engine, "DELETE FROM log WHERE id < 255") == 2
    assert changed(engine, "DELETE FROM log WHERE id < -1") == 0


def test_plans_of_changes_are_shown(engine):
    def plan(sql):
        (change,) = engine.prepare(sql)
        return change.explain()

    assert plan("INSERT INTO t VALUES (9, 1, 1, ''), (8, 1, 1, '')") == [
        "Insert into t: 2 rows, in one batch"
    ]
    assert plan("INSERT INTO log SELECT id, v, f, s FROM t WHERE id > 2") == [
        "Insert into log:",
        "  Project id, v, f, s",
        "    Scan t, id >= 3",
    ]
    assert plan("UPDATE t SET v = v + 1 WHERE id < 9 AND s = 'a'") == [
        "Update t: v = v + 1, in one batch:",
        "  Project whole row, v + 1",
        "    Filter s = 'a'",
        "      Scan t, id <= 8",
    ]
    assert plan("DELETE FROM t WHERE id IN (1, 9)") == [
        "Delete from t, in one batch:",
        "  Project whole row",
        "    Scan t, id = 1",
        "  Project whole row",
        "    Scan t, id = 9",
    ]
    assert plan("DELETE FROM log WHERE id <= :k") == [
        "Delete from log, at its old end: id <= :k"
    ]
    assert plan("DELETE FROM log") == [
        "Delete from log, at its old end: all rows"
    ]
    assert plan("DELETE FROM log WHERE id < -1") == [
        "Delete from log, at its old end: no rows"
    ]


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_float_keys_take_conditions(kind):
    with Simulator(geometry=NOR) as chip, Volume.format(chip) as volume:
        volume.create_tree("t", [KEYS[kind], *VALUES], blocks=12)
        with volume.open_tree("t") as tree:
            engine = Engine({"t": tree})
            changed(
                engine, "INSERT INTO t VALUES (0.1, 1, 1, ''), (2, 2, 2, '')"
            )
            (change,) = engine.prepare("UPDATE t SET v = 7 WHERE id >= 0.5")
            assert "Scan t" in change.explain()[-1]
            assert change.run() == 1
            assert changed(engine, "DELETE FROM t WHERE id <= 0.5") == 1
            assert rows(engine, "SELECT id, v FROM t WHERE id > -1") == [
                (2.0, 7)
            ]


@pytest.mark.parametrize("store", ["mu", "wandering"])
def test_a_change_that_a_batch_has_no_room_for_changes_nothing(store):
    with Simulator(geometry=NOR) as chip, Volume.format(chip) as volume:
        volume.create_tree("t", [KEYS["i32"], *VALUES], store=store, blocks=12)
        with volume.open_tree("t") as tree:
            engine = Engine({"t": tree})
            tree.put_many((i, 1, 1.0, "x") for i in range(300))
            changes = tree.stats().page_programs
            with pytest.raises(Limit, match="change fewer rows at a time"):
                changed(engine, "DELETE FROM t WHERE id < 299")
            assert tree.stats().page_programs > changes
            sql = "SELECT count(*), sum(v) FROM t"
            assert rows(engine, sql) == [(300, 300)]
            assert changed(engine, "UPDATE t SET v = 2 WHERE id < 9") == 9
            assert rows(engine, sql) == [(300, 309)]


def test_a_read_only_image_is_not_changed(tmp_path):
    path = tmp_path / "t.img"
    with Simulator(geometry=NOR) as chip:
        with Volume.format(chip) as volume:
            volume.create_tree("t", [KEYS["i32"], *VALUES], blocks=8)
        chip.save(path)
    before = path.read_bytes()
    with (
        eskerdb.open(path) as volume,
        volume.open_tree("t") as tree,
        pytest.raises(ReadOnly),
    ):
        changed(Engine({"t": tree}), "DELETE FROM t")
    assert path.read_bytes() == before


def test_a_reader_of_a_tree_is_not_changed(engine):
    with engine.opened["t"].reader() as reader, pytest.raises(ReadOnly):
        changed(Engine({"t": reader}), "DELETE FROM t")


@pytest.mark.parametrize("store", ["mu", "wandering", "inplace"])
def test_a_change_of_too_many_rows_is_made_in_batches(store, monkeypatch):
    made = []
    really = Tree.change_many

    def counted(self, **changes):
        really(self, **changes)
        made.append(len(changes.get("deletes", ())))

    geometry = SD if store == "inplace" else NOR
    with (
        Simulator(geometry=geometry) as chip,
        Volume.format(chip) as volume,
    ):
        volume.create_tree("t", [KEYS["i32"], *VALUES], store=store, blocks=12)
        with volume.open_tree("t") as tree:
            engine = Engine({"t": tree})
            tree.put_many((i, 1, 1.0, "x") for i in range(300))
            sql = "SELECT count(*), sum(v) FROM t"
            (update,) = engine.prepare("UPDATE t SET v = v + 1")
            assert update.run(in_batches=True) == 300
            assert rows(engine, sql) == [(300, 600)]
            monkeypatch.setattr(Tree, "change_many", counted)
            (delete,) = engine.prepare("DELETE FROM t WHERE id < 290")
            assert delete.run(in_batches=True) == 290
            assert rows(engine, sql) == [(10, 20)]
    assert sum(made) == 290
    assert len(made) > 1 or store == "inplace"


def test_batches_that_fail_say_how_many_rows_are_changed(monkeypatch):
    left = [2]
    really = Tree.change_many

    def failing(self, **changes):
        left[0] -= 1
        if left[0] < 0:
            raise error(lib.ESK_E_IO, "device: program")
        really(self, **changes)

    with Simulator(geometry=NOR) as chip, Volume.format(chip) as volume:
        volume.create_tree("t", [KEYS["i32"], *VALUES], blocks=12)
        with volume.open_tree("t") as tree:
            engine = Engine({"t": tree})
            tree.put_many((i, 1, 1.0, "x") for i in range(300))
            monkeypatch.setattr(Tree, "change_many", failing)
            (delete,) = engine.prepare("DELETE FROM t")
            with pytest.raises(DeviceError) as failure:
                delete.run(in_batches=True)
            kept = rows(engine, "SELECT count(*), min(id) FROM t")
            done, first = 300 - kept[0][0], kept[0][1]
            last = f", the last one id = {first - 1}" if done else ""
            assert f"{done} of 300 rows are changed{last}:" in str(
                failure.value
            )
            monkeypatch.undo()
            # The statement goes on where it was.
            assert delete.run(in_batches=True) == 300 - done
            assert rows(engine, "SELECT count(*) FROM t") == [(0,)]
