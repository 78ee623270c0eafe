# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""SQL that is cut, joined and garbled: a compiler gives a program, C, or a
refusal with a place, and never another exception.

ESK_SQL_MUTANTS=n compiles n statements, ESK_SEED=n chooses others.
"""

import os
import random
import re
from functools import cache

import pytest

from eskerdb.sql import tables
from eskerdb.sql.engine import compile_select
from eskerdb.sql.parse import parse
from eskerdb.sql.source import Refusal, Source
from eskerdb.sql.tables import TableInfo
from eskerdb.sqlc import compile_text
from test_sql_subset import SCHEMA, points

MUTANTS = int(os.environ.get("ESK_SQL_MUTANTS", "400"))
SEED = int(os.environ.get("ESK_SEED", "1"))
TOKEN = re.compile(r"\s+|\w+|'[^']*'|.", re.DOTALL)
OTHERS = [
    "NULL", "''", "'", '"', "(", ")", ",", ";", "--", "/*", ":p", "?", "1e999",
    "9223372036854775808", "-9223372036854775808", "0x7F", "1.", ".5", "k",
    "t.k", "*", "NOT", "CASE", "WHEN", "END", "SELECT", "FROM", "JOIN t ON",
    "UNION ALL", "ORDER BY", "GROUP BY", "LIMIT", "OVER ()", "DISTINCT",
    "quantile(k, 0.5, 0, 9)", "bucket(k, 0)", "CAST(k AS text(3))", "\0",
    "\u00fc", "\u2028", "%", "IN ()", "BETWEEN", "IS NULL", "COLLATE",
]  # fmt: skip


def seeds() -> list[list[str]]:
    """Returns statements of the subset, as tokens."""
    return [TOKEN.findall(sql) for _, sql in points()]


def mutant(draw: random.Random, statements: list[list[str]]) -> str:
    tokens = list(draw.choice(statements))
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(tokens) + 1)
        end = min(len(tokens), at + draw.randint(0, 6))
        way = draw.randrange(6)
        if way == 0:
            del tokens[at:end]
        elif way == 1:
            tokens[at:at] = [" ", draw.choice(OTHERS), " "]
        elif way == 2:
            tokens[at:end] = [draw.choice(OTHERS)]
        elif way == 3:
            other = draw.choice(statements)
            begin = draw.randrange(len(other))
            tokens[at:end] = other[begin : begin + draw.randint(1, 12)]
        elif way == 4:
            tokens[at:at] = tokens[at:end]
        elif at < len(tokens):
            other = draw.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
    return "".join(tokens)


@cache
def infos() -> dict[str, TableInfo]:
    source = Source(SCHEMA)
    made = tables.create(source, parse(source))
    return {name: one.info for name, one in made.items()}


def on_the_machine(sql: str) -> None:
    source = Source(sql)
    for statement in parse(source):
        compile_select(source, statement, infos())


def in_c(sql: str) -> None:
    compile_text(SCHEMA, f"-- name: query_of\n{sql};", "app")


@pytest.mark.parametrize("compiled", [on_the_machine, in_c])
def test_garbled_statements_are_compiled_or_refused_with_a_place(compiled):
    draw = random.Random(SEED)
    statements = seeds()
    refused = 0
    for number in range(MUTANTS):
        sql = mutant(draw, statements)
        try:
            compiled(sql)
        except Refusal as refusal:
            refused += 1
            assert re.match(r".+:\d+:\d+: .", str(refusal)), (sql, refusal)
        except Exception as failure:
            raise AssertionError(f"statement {number}: {sql!r}") from failure
    assert 0 < refused < MUTANTS
