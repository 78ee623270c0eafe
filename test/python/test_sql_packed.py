# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Query programs over packed pages give the rows that they give over raw ones:
random statements, and queries of which each reads one row or a few."""

import os
from contextlib import ExitStack

import pytest

from conftest import NOR
from eskerdb import Column, Limit, Simulator, Volume
from eskerdb.sql.engine import Engine, Refusal
from sql_statements import Statements
from sql_worlds import data, f32

SEED = int(os.environ.get("ESK_SEED", "1"))
STATEMENTS = 60
COLUMNS = {
    "t": [
        Column("k", "u32"),
        Column("a", "i32"),
        Column("b", "i16", missing=2),
        Column("f", "f32", mode="decimal:3"),
        Column("g", "f64"),
        Column("n", "text", bytes=5),
    ],
    "u": [
        Column("k", "i64"),
        Column("a", "i16"),
        Column("f", "f32", missing=f32(10.1)),
    ],
}


def raw(columns):
    """The same columns, none with a mode."""
    kept = ("name", "type", "bytes", "missing")
    return [
        Column(**{key: getattr(column, key) for key in kept})
        for column in columns
    ]


def opened(stack, codec):
    """Tables of pages as `codec` says, in a volume of their own."""
    chip = stack.enter_context(Simulator(geometry=NOR))
    volume = stack.enter_context(Volume.format(chip))
    found = {}
    for name, columns in COLUMNS.items():
        columns = columns if codec == "packed" else raw(columns)
        volume.create(name, columns, indexes=["a"], data_blocks=10, codec=codec)
        found[name] = stack.enter_context(volume.open(name))
        found[name].append_many(data()[name])
        found[name].sync()
    return found


@pytest.fixture(scope="module")
def engines():
    """The machine over raw pages, and over packed ones with the same rows."""
    with ExitStack() as stack:
        tables = [opened(stack, codec) for codec in ("raw", "packed")]
        pages = [found["t"].stats().pages for found in tables]
        assert 3 <= pages[1] < pages[0]
        yield [Engine(found) for found in tables]


def run(engine, sql, budget=0):
    """The rows, or why there are none. NaN is no number and equals none."""
    try:
        (select,) = engine.prepare(sql)
        return [tuple(map(repr, row)) for row in select.rows(budget=budget)]
    except (Refusal, Limit) as failure:
        return type(failure).__name__


def test_random_statements_give_the_rows_of_raw_pages(engines):
    statements = Statements(SEED + 3, ("t", "t", "u"))
    with_rows = 0
    for number in range(STATEMENTS):
        sql = statements.statement().sql
        wanted, found = (run(engine, sql) for engine in engines)
        assert found == wanted, f"ESK_SEED={SEED}, statement {number}: {sql}"
        with_rows += isinstance(found, list) and len(found) > 0
    assert with_rows > STATEMENTS * 0.4


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM t WHERE k = 605",
        "SELECT * FROM t WHERE k BETWEEN 400 AND 800",
        "SELECT * FROM t WHERE a = 17 ORDER BY k DESC",
        "SELECT * FROM t ORDER BY k DESC LIMIT 50",
        "SELECT b, count(*), min(f), max(g) FROM t GROUP BY b ORDER BY b",
        "SELECT t.k, u.f FROM t JOIN u ON t.k = u.k",
    ],
)
def test_a_query_gives_the_rows_of_raw_pages_when_it_pauses(engines, sql):
    wanted, found = (run(engine, sql, budget=1) for engine in engines)
    assert isinstance(found, list)
    assert len(found) > 0
    assert found == wanted
