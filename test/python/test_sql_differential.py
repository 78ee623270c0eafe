# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Random statements give the rows of SQLite and of DuckDB: by the machine and
compiled to C, over series, trees and kv tables, in both orders of their
tables and of ORDER BY.

Deep tests make 1,000 statements, or ESK_STATEMENTS=n; ESK_SEED=n makes others.
With -s it prints how many were run.
"""

import os
import sqlite3
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import sql_worlds as sw
import sqlc_program as sp
from eskerdb.sql.source import Refusal
from sql_statements import Statement, Statements

SEED = int(os.environ.get("ESK_SEED", "1"))
FEW, MANY = 51, int(os.environ.get("ESK_STATEMENTS", "1000"))
PROGRAM = 250  # statements in one file of C
SANITIZED = 60  # of each kind, once more in a program with sanitizers
# Of three statements two are over t, u and r, and one is also over w.
NAMES = [("t", "t", "u", "r")] * 2 + [("w", "w", "w", "t", "u", "r")]
REFUSALS = (
    "a constant groups nothing",
    "a constant orders nothing",
    "there are outputs",
    "an aggregate is not in GROUP BY",
    "a program has",
    "JOIN is by the key",
    "SELECT DISTINCT",
    "% takes integers",
    "a LEFT",
    "LIKE of a program is of a column",
    "16 values",
    "64 are the most",
    "a text of any length",
)


def made(count: int) -> list[Statement]:
    makers = [Statements(SEED + n, names) for n, names in enumerate(NAMES)]
    found = [makers[i % 3].both_orders() for i in range(count)]
    return [statement for pair in found for statement in pair]


@pytest.fixture(scope="module")
def answers(is_deep) -> dict[Statement, list[tuple] | None]:
    """Statements, and SQLite's rows; None: it refuses the statement."""
    found: dict[Statement, list[tuple] | None] = {}
    with sw.sqlite() as lite:
        for statement in made(MANY if is_deep else FEW):
            try:
                found[statement] = lite.execute(statement.sql).fetchall()
            except sqlite3.OperationalError:
                found[statement] = None
    return found


@dataclass
class Run:
    """What a back end did with statements.

    rows   of those that ended; None: with ESK_E_LIMIT
    """

    rows: dict[Statement, list[tuple] | None] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)

    def refuse(self, statement: Statement, refusal: Refusal) -> None:
        known = next((p for p in REFUSALS if p in refusal.message), None)
        assert known, f"{statement.sql}\n{refusal}"
        self.refused[known] += 1

    def wrong(self, answers: dict) -> list[str]:
        """Says which rows are not SQLite's."""
        bad = []
        for statement, rows in self.rows.items():
            theirs = answers[statement]
            if rows is None:
                continue  # beyond 64 bits, or too many groups
            if theirs is None:
                bad.append(f"{statement.sql}\nis nothing for SQLite")
            elif not sw.same_rows(rows, theirs, statement.is_ordered):
                bad.append(
                    f"{statement.sql}\n{len(rows)} {rows[:5]}\n"
                    f"{len(theirs)} {theirs[:5]}"
                )
        return bad


def on_the_machine(statements: list[Statement], image: Path) -> Run:
    run = Run()
    with sw.machine(image) as machine:
        for statement in statements:
            try:
                select = machine.compiled(statement.sql)
            except Refusal as refusal:
                run.refuse(statement, refusal)
                continue
            try:
                run.rows[statement] = machine.rows(select)
            except sw.Ended:
                run.rows[statement] = None
    return run


def in_c(
    kind: str, answers: dict, folder: Path, image: Path, is_deep: bool
) -> Run:
    """Runs statements compiled to C."""
    run, chosen = Run(), []
    with sw.unformatted():
        for statement in answers:
            refusal = sw.c_refuses(kind, statement.sql)
            if refusal is None:
                chosen.append(statement)
            else:
                run.refuse(statement, refusal)
    programs = [
        (chosen[at : at + PROGRAM], "test")
        for at in range(0, len(chosen), PROGRAM)
    ]
    if is_deep:
        programs.append((chosen[:SANITIZED], "asan"))
    for number, (part, flavour) in enumerate(programs):
        found = sw.c_rows(
            kind,
            [statement.sql for statement in part],
            folder / f"{number}",
            image,
            step_pages=(SEED + number) % 2,
            flavour=flavour,
        )
        for statement, rows in zip(part, found, strict=True):
            assert isinstance(rows, list) or rows == sp.LIMIT, statement.sql
            run.rows[statement] = None
            if isinstance(rows, list):
                theirs = answers[statement] or []
                run.rows[statement] = sw.as_floats(rows, theirs)
    return run


@pytest.mark.parametrize("kind", sw.KINDS)
def test_both_back_ends_give_the_rows_of_sqlite(
    answers, tmp_path, kind, is_deep
):
    chosen = {s: a for s, a in answers.items() if kind != "kv" or sw.has_w(s)}
    image = tmp_path / "image"
    sp.image(sw.case(kind), image)
    runs = {
        "machine": on_the_machine(list(chosen), image),
        "C": in_c(kind, chosen, tmp_path, image, is_deep),
    }
    for name, run in runs.items():
        done = sum(rows is not None for rows in run.rows.values())
        print(f"{kind} {name}: {done} of {len(chosen)}, {run.refused}")
        assert done > len(chosen) * 0.6, run.refused
        bad = run.wrong(chosen)
        assert not bad, f"ESK_SEED={SEED}, {name}\n" + "\n".join(bad)
    ends = [
        {s for s, r in run.rows.items() if r is None} for run in runs.values()
    ]
    both = set(runs["machine"].rows) & set(runs["C"].rows)
    assert ends[0] & both == ends[1] & both


@pytest.mark.deep
def test_duckdb_gives_the_rows_of_sqlite(answers, tmp_path):
    image = tmp_path / "image"
    sp.image(sw.case("series"), image)
    bad, same = [], 0
    run = on_the_machine(list(answers), image)
    with sw.duckdb_tables() as duck:
        for statement, rows in run.rows.items():
            if rows is None:
                continue
            theirs = [
                tuple(int(v) if isinstance(v, bool) else v for v in row)
                for row in duck.execute(sw.in_duckdb(statement.sql)).fetchall()
            ]
            if not sw.same_rows(rows, theirs, statement.is_ordered):
                bad.append(f"{statement.sql}\n{rows[:5]}\n{theirs[:5]}")
            same += 1
    print(f"DuckDB: {same} of {len(answers)}")
    assert not bad, f"ESK_SEED={SEED}\n" + "\n".join(bad)
