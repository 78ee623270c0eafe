# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Conditions on the key of a tree that is a text: bounds of its scan."""

import random
import sqlite3

import pytest

from conftest import NOR
from eskerdb import Column, Simulator, Volume
from eskerdb.sql.engine import Engine

STATEMENTS = 100
WORDS = (
    "a", "ab", "abc", "abd", "b", "\u00fc", "\u00fcb", "zz", "\ud7ff",
    "\U0010ffff", "north", "northern",
)  # fmt: skip
OPERATORS = ("<", "<=", "=", ">", ">=", "<>")


def words(width: int) -> list[str]:
    """Texts of at most `width` bytes, in the order of their bytes."""
    found = {a + b for a in WORDS for b in ("", "a", "x", "yz")}
    fitting = [text for text in found if len(text.encode()) <= width]
    return sorted(fitting, key=str.encode)


@pytest.fixture(params=[4, 8, 12])
def both(request):
    """A tree whose key is a text of some width, and SQLite with its rows."""
    with Simulator(geometry=NOR) as chip, Volume.format(chip) as volume:
        columns = [
            Column("id", "text", bytes=request.param),
            Column("n", "i32"),
        ]
        volume.create_tree("t", columns, blocks=12)
        rows = [(key, n) for n, key in enumerate(words(request.param))]
        with (
            volume.open_tree("t") as tree,
            sqlite3.connect(":memory:") as sqlite,
        ):
            tree.put_many(rows)
            sqlite.execute("PRAGMA case_sensitive_like = ON")
            sqlite.execute("CREATE TABLE t (id, n)")
            sqlite.executemany("INSERT INTO t VALUES (?, ?)", rows)
            yield Engine({"t": tree}), sqlite, words(request.param)


def test_random_conditions_select_the_rows_of_sqlite(both):
    engine, sqlite, keys = both
    dice = random.Random(len(keys))
    bounded = 0

    def key():
        return dice.choice([*WORDS, *keys])

    def compared():
        return f"id {dice.choice(OPERATORS)} '{key()}'"

    for _ in range(STATEMENTS):
        where = dice.choice(
            [
                compared(),
                f"{compared()} AND {compared()}",
                f"id LIKE '{key()}%'",
                f"id LIKE '{key()}%' AND {compared()}",
                f"id BETWEEN '{key()}' AND '{key()}'",
                f"id IN ('{key()}', '{key()}')",
                f"'{key()}' {dice.choice(OPERATORS)} id AND n > 3",
                f"id LIKE '%' AND {compared()}",
            ]
        )
        down = dice.choice(["", " DESC"])
        sql = f"SELECT id, n FROM t WHERE {where} ORDER BY id{down}"
        (select,) = engine.prepare(sql)
        found = list(select.rows())
        assert found == sqlite.execute(sql).fetchall(), sql
        bounded += " id " in select.explain()[-2]
    assert bounded > STATEMENTS / 3


def test_a_plan_shows_the_bounds(both):
    engine, _, _ = both

    def scan(where):
        (select,) = engine.prepare(f"SELECT n FROM t WHERE {where}")
        return [line.strip() for line in select.explain()[1:-1]]

    assert scan("id = 'ab'") == ["Scan t, id = 'ab'"]
    assert scan("id >= 'ab' AND id <= 'b'") == ["Scan t, id >= 'ab', id <= 'b'"]
    assert scan("id > 'ab'") == ["Filter id > 'ab'", "Scan t, id >= 'ab'"]
    assert scan("id LIKE 'ab%'") == [
        "Filter id LIKE 'ab%'",
        "Scan t, id >= 'ab', id <= 'ac'",
    ]
    assert scan("id LIKE '\ud7ff%'")[-1] == (
        "Scan t, id >= '\ud7ff', id <= '\ue000'"
    )
    assert scan("id LIKE '\U0010ffff%'")[-1] == "Scan t"
    assert scan(f"id = '{'x' * 13}'")[-1] == "Scan t"
    assert scan("n = 3 OR id = 'a'")[-1] == "Scan t"


def test_a_lookup_reads_fewer_pages_than_the_tree_has():
    with Simulator(geometry=NOR) as chip, Volume.format(chip) as volume:
        columns = [Column("id", "text", bytes=8), Column("n", "i32")]
        volume.create_tree("t", columns, store="wandering", blocks=32)
        with volume.open_tree("t", frames=2) as tree:
            tree.put_many((f"k{i:05}", i) for i in range(2000))
            engine = Engine({"t": tree})
            for where, count, most in (
                ("id = 'k01234'", 1, 5),
                ("id LIKE 'k0123%'", 10, 9),
                ("id > 'k01994'", 5, 9),
            ):
                before = tree.stats().page_reads
                (select,) = engine.prepare(f"SELECT n FROM t WHERE {where}")
                assert len(list(select.rows())) == count
                assert tree.stats().page_reads - before <= most, where


def test_a_program_is_run_again_with_other_texts(both):
    engine, sqlite, keys = both
    dice = random.Random(len(keys) + 1)
    bounded = 0
    for op in OPERATORS:
        for where in (
            f"id {op} :x",
            f"id {op} :x AND id >= :y",
            f"id {op} 'm' OR id = :x",
            f"CASE WHEN n > 3 THEN :x ELSE id END {op} :y",
        ):
            sql = f"SELECT id, n FROM t WHERE {where} ORDER BY id"
            (select,) = engine.prepare(sql)
            names = [info.name for info in select.parameters]
            bounded += " id " in select.explain()[-2]
            for _ in range(12):
                given = {n: dice.choice(keys) for n in names}
                found = list(select.rows(given))
                assert found == sqlite.execute(sql, given).fetchall(), sql
    assert bounded >= 2 * len(OPERATORS) - 2


def test_a_program_refuses_a_text_that_it_does_not_take(both):
    engine, _, _ = both
    (select,) = engine.prepare("SELECT n FROM t WHERE id = :x")
    for wrong in ("x" * 13, "ä" * 7, "a\0b"):
        with pytest.raises(ValueError, match="bytes of UTF-8, without"):
            select.rows({"x": wrong})
    # Compiled with it, it is a constant.
    (select,) = engine.prepare(
        "SELECT n FROM t WHERE id = :x", values={"x": "x" * 13}
    )
    assert select.fixed == {"x"}
    assert list(select.rows()) == []
    with pytest.raises(ValueError, match="compile the statement again"):
        select.rows({"x": "a"})
