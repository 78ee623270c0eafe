# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Random statements, compiled to C, give the rows of SQLite."""

import os

import pytest

import sqlc_program as sp
from eskerdb import Geometry
from eskerdb.sql.access import Limits
from eskerdb.sql.source import Refusal
from sql_statements import Statements
from test_sql_machine import Quantile, bucket, data, nulled, same_rows

SEED = int(os.environ.get("ESK_SEED", "1"))
STATEMENTS = int(os.environ.get("ESK_C_STATEMENTS", "60"))
SCHEMA = """
CREATE TABLE t (k u32 PRIMARY KEY, a i32, b i16 MISSING 2,
    f f32, g f64, n text(5));
CREATE INDEX ON t (a);
CREATE INDEX ON t (f);
CREATE TABLE u (k i64 PRIMARY KEY, a i16, f f32 MISSING 10.1);
CREATE TABLE r (id i16 PRIMARY KEY, v i64, s text(9)) USING tree;
"""
END, LIMIT = 2, -14


def rows():
    return {
        name: [nulled(name, row) for row in found]
        for name, found in data().items()
    }


def case(queries: str, step_pages: int = 0) -> sp.Case:
    return sp.Case(
        SCHEMA,
        rows(),
        queries,
        step_pages=step_pages,
        geometry=Geometry(block_count=128, block_pages=16, page_bytes=256),
        limits=Limits(groups=600, sorted=600),
    )


def accepted(folder) -> tuple[dict[str, str], dict[str, int]]:
    """Statements that are compiled, by name; why others were refused."""
    statements, chosen, refused = Statements(SEED), {}, {}
    for number in range(STATEMENTS):
        sql = statements.statement()
        name = f"s{number}"
        try:
            sp.compiled(case(f"-- name: {name}\n{sql};"), folder)
        except Refusal as refusal:
            why = refusal.message
            refused[why] = refused.get(why, 0) + 1
        else:
            chosen[name] = sql
    return chosen, refused


@pytest.mark.deep
def test_random_statements_give_the_rows_of_sqlite(tmp_path):
    chosen, refused = accepted(tmp_path)
    made = case(
        "\n".join(f"-- name: {n}\n{sql};" for n, sql in chosen.items()),
        step_pages=SEED % 2,
    )
    queries = sp.compiled(made, tmp_path)
    sp.image(made, tmp_path / "image")
    # What is not initialized is a warning only of a compiler that optimizes.
    binary = sp.program(made, tmp_path, queries, optimized="-O1")
    answers = sp.answers(binary, tmp_path / "image")
    theirs = sp.oracle(made)
    theirs.create_function("bucket", 2, bucket, deterministic=True)
    theirs.create_aggregate("quantile", 2, Quantile)
    wrong, compared = [], 0
    for name, sql in chosen.items():
        ours, status = answers[name]
        if status == LIMIT:
            continue  # beyond 64 bits, or too many groups
        expected = theirs.execute(sql).fetchall()
        ordered = " ORDER BY " in sql and "LIMIT" in sql.split(")")[-1]
        if status != END or not same_rows(
            as_floats(ours, expected), expected, ordered
        ):
            wrong.append(f"{name}: {sql}\n{status} {ours[:4]}\n{expected[:4]}")
        compared += 1
    assert not wrong, f"ESK_SEED={SEED}\n" + "\n".join(wrong)
    assert compared > STATEMENTS * 0.6, (compared, refused)


def as_floats(ours, theirs):
    """A float without digits behind the point is printed as an integer."""
    kinds = [
        any(isinstance(row[i], float) for row in theirs)
        for i in range(len(theirs[0]) if theirs else 0)
    ]
    return [
        tuple(
            float(v) if k and isinstance(v, int) else v
            for v, k in zip(row, kinds, strict=True)
        )
        if kinds
        else row
        for row in ours
    ]
