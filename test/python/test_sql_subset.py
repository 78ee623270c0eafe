# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Which engine answers each point of the subset: the table of docs/sql.md.

`python test/python/test_sql_subset.py` prints the table.
"""

from pathlib import Path

import duckdb
import pytest

from eskerdb.cli.statements import with_values
from eskerdb.sql import tables
from eskerdb.sql.duck import speak
from eskerdb.sql.engine import compile_select
from eskerdb.sql.parse import parse
from eskerdb.sql.source import Refusal, Source
from eskerdb.sqlc import compile_text

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = """
CREATE TABLE t (k u32 PRIMARY KEY, a i32, b i16 MISSING -1, f f32, n text(8));
CREATE TABLE u (k u32 PRIMARY KEY, v i32);
CREATE TABLE conf USING kv;
"""
DUCKDB = (
    "CREATE TABLE t (k UINTEGER, a INTEGER, b SMALLINT, f FLOAT, n VARCHAR)",
    "CREATE TABLE u (k UINTEGER, v INTEGER)",
    "CREATE TABLE conf (key VARCHAR, value VARCHAR, type VARCHAR)",
    "CREATE MACRO bucket(x, w) AS x // w * w",
    "CREATE MACRO i32(x) AS x",
)
DUCKDB_TYPES = {"AS i32": "AS INTEGER", "AS f64": "AS DOUBLE"}


def points() -> list[tuple[str, str]]:
    """Returns what each statement is of, and the statement."""
    text = (ROOT / "test/sql/subset/points.sql").read_text(encoding="utf-8")
    blocks = [block.strip().split("\n", 1) for block in text.split("\n\n")[1:]]
    return [(name.removeprefix("-- "), sql) for name, sql in blocks]


def on_the_machine(sql: str) -> bool:
    source = Source(SCHEMA)
    made = tables.create(source, parse(source))
    source = Source(sql)
    try:
        (statement,) = parse(source)
        compile_select(
            source, statement, {name: one.info for name, one in made.items()}
        )
    except Refusal:
        return False
    return True


def in_c(sql: str) -> bool:
    try:
        compile_text(SCHEMA, f"-- name: query_of\n{sql};", "app")
    except Refusal:
        return False
    return True


def in_duckdb(sql: str) -> bool:
    for ours, theirs in DUCKDB_TYPES.items():
        sql = sql.replace(ours, theirs)
    with duckdb.connect() as database:
        speak(database)
        for statement in DUCKDB:
            database.execute(statement)
        try:
            database.execute(with_values(sql, {"name": "a", "least": 1}))
        except duckdb.Error:
            return False
    return True


def table() -> list[str]:
    """Returns the lines of docs/sql.md."""
    lines = ["| of the subset | machine | C | DuckDB |", "|---|---|---|---|"]
    for name, sql in points():
        marks = [
            "yes" if found else "-"
            for found in (on_the_machine(sql), in_c(sql), in_duckdb(sql))
        ]
        lines.append(f"| {name} | {' | '.join(marks)} |")
    return lines


@pytest.mark.deep
def test_the_table_of_engines_is_what_they_compile():
    text = (ROOT / "docs/sql.md").read_text(encoding="utf-8")
    missing = [line for line in table() if line not in text]
    assert not missing


if __name__ == "__main__":
    print("\n".join(table()))
