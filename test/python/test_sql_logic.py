# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The statements of test/sql/logic on series and trees: by the machine, by
DuckDB, by SQLite, and compiled to C."""

import os
import re
import sqlite3
from contextlib import ExitStack
from pathlib import Path

import duckdb
import pytest

import logic
import sqlc_program as sp
from eskerdb import EskerError, Geometry, Simulator, Volume
from eskerdb.cli.statements import with_values
from eskerdb.sql import tables
from eskerdb.sql.access import Limits
from eskerdb.sql.duck import Database
from eskerdb.sql.engine import Engine
from eskerdb.sql.parse import parse
from eskerdb.sql.source import Refusal, Source
from eskerdb.sqlc import compile_text
from sql_turned import turned
from sql_worlds import (
    Quantile,
    as_floats,
    bucket,
    in_duckdb,
    same_rows,
    unformatted,
)

LOGIC = Path(__file__).resolve().parents[1] / "sql" / "logic"
FILES = sorted(path.stem for path in LOGIC.glob("*.test"))
GEOMETRY = Geometry(block_count=96, block_pages=16, page_bytes=256)
_OF_COLUMNS = re.compile(r" MISSING -?[\d.]+| UNIT '[^']*'", re.IGNORECASE)
_TYPES = re.compile(r"\b[iu](8|16|32|64)\b|\bf(32|64)\b|\btext(\(\d+\))?")


class Machine:
    """A volume whose tables are of one kind, if CREATE does not say it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.stack = ExitStack()
        self.chip = self.stack.enter_context(Simulator(geometry=GEOMETRY))
        self.volume = self.stack.enter_context(Volume.format(self.chip))
        self.created: list[str] = []
        self.engine = Engine({})
        self.prepared: dict[str, object] = {}

    def execute(self, sql: str, values: dict | None = None) -> list[tuple]:
        """values   of parameters: a statement is compiled once for all"""
        if sql.startswith("CREATE TABLE"):
            return self._create(sql)
        try:
            made = self.prepared.get(sql) if values else None
            if made is None:
                (made,) = self.engine.prepare(sql, values=values)
            if values:
                self.prepared[sql] = made
            if hasattr(made, "rows"):
                return list(made.rows(values))
            return [(made.run(values),)]
        except ValueError as fault:
            raise logic.Refused(str(fault)) from None
        except Refusal as refusal:
            raise logic.Refused(
                f"{refusal.line}:{refusal.column}: {refusal.message}"
            ) from None
        except EskerError as failure:
            raise logic.Refused(str(failure)) from None

    def _create(self, sql: str) -> list[tuple]:
        if not re.search(" (USING|WITH) ", sql):
            sql += f" USING {self.kind}"
        source = Source(sql)
        try:
            ((name, made),) = tables.create(source, parse(source)).items()
        except Refusal as refusal:
            raise logic.Refused(
                f"{refusal.line}:{refusal.column}: {refusal.message}"
            ) from None
        if made.info.kind == "kv":
            self.volume.create_kv(name, blocks=8)
            return self._opened(name, sql)
        key = made.columns[made.info.key].name
        if made.info.kind == "series":
            self.volume.create(
                name, made.columns, key=key, indexes=made.indexes, data_blocks=8
            )
        else:
            self.volume.create_tree(name, made.columns, key=key, blocks=10)
        return self._opened(name, sql)

    def _opened(self, name: str, sql: str) -> list[tuple]:
        table = self.stack.enter_context(self.volume.open_table(name))
        self.created.append(sql)
        self.engine = Engine({**self.engine.opened, name: table})
        return []


@pytest.fixture(params=["series", "tree"])
def machine(request):
    made = Machine(request.param)
    with made.stack:
        yield made


def sqlite() -> sqlite3.Connection:
    made = sqlite3.connect(":memory:", isolation_level=None)
    made.execute("PRAGMA case_sensitive_like = ON")
    made.create_function("bucket", 2, bucket, deterministic=True)
    made.create_aggregate("quantile", 2, Quantile)
    return made


def in_sqlite(sql: str) -> str:
    """Returns a statement with SQLite's types of columns."""
    if not sql.startswith("CREATE TABLE"):
        return sql
    if sql.endswith(" USING kv"):
        columns = "(key TEXT, value TEXT, type TEXT)"
        return sql.replace("USING kv", columns)
    sql = _OF_COLUMNS.sub("", sql.partition(" USING ")[0])
    return _TYPES.sub(
        lambda found: (
            {"f": "REAL", "t": "TEXT"}.get(found[0][0], "INTEGER")
        ),
        sql,
    )  # fmt: skip


def failures(path: str, engines: set[str], execute) -> tuple[list[str], int]:
    """Runs a file; returns what is wrong, and how many records were run."""
    bad, done = [], 0
    for record in logic.records(LOGIC / f"{path}.test"):
        if not record.is_for(*engines):
            continue
        what = logic.wrong(record, execute)
        done += 1
        if what:
            bad.append(f"{path}.test:{record.line}: {record.sql}\n  {what}")
    return bad, done


@pytest.mark.parametrize("path", FILES)
def test_the_machine_gives_the_rows(machine, path):
    engines = {machine.kind, "machine"}
    bad, done = failures(path, engines, machine.execute)
    assert not bad, "\n".join(bad)
    assert done


@pytest.mark.parametrize("kind", ["series", "tree"])
@pytest.mark.parametrize("path", FILES)
def test_sqlite_gives_the_same_rows(kind, path):
    """Statements that are refused are not asked: it runs many of them."""
    database = sqlite()
    bad = []
    for record in logic.records(LOGIC / f"{path}.test"):
        if record.error or not record.is_for(kind, "sqlite"):
            continue
        what = logic.wrong(
            record,
            lambda sql, *given: database.execute(
                in_sqlite(sql), *given
            ).fetchall(),
        )
        if what:
            bad.append(f"{path}.test:{record.line}: {record.sql}\n  {what}")
    database.close()
    assert not bad, "\n".join(bad)


def ready(machine, path) -> list[logic.Record]:
    """Makes a file's tables; returns its queries behind the last change."""
    queries = []
    for record in logic.records(LOGIC / f"{path}.test"):
        if record.types is not None:
            queries.append(record)
        elif not record.error and record.is_for(machine.kind, "machine"):
            machine.execute(record.sql, record.values)
            queries.clear()
    return queries


@pytest.mark.parametrize("path", FILES)
@pytest.mark.deep
def test_duckdb_gives_the_same_rows(machine, path):
    queries = ready(machine, path)
    opened = machine.engine.opened.values()
    bad = []
    with Database(machine.volume, opened) as database:
        for record in queries:
            if not record.is_for(machine.kind, "duckdb"):
                continue
            try:
                sql = with_values(record.sql, record.values)
                rows = database.execute(in_duckdb(sql)).fetchall()
                what = logic.differs(record, rows)
            except duckdb.Error as failure:
                what = str(failure)
            if what:
                bad.append(f"{path}.test:{record.line}: {record.sql}\n  {what}")
    assert not bad, "\n".join(bad)


def turned_queries(
    kind: str, queries: list[logic.Record], path: str
) -> list[tuple[str, list[tuple]]]:
    """Returns queries with their tables exchanged and each order the other
    way, and SQLite's rows of them."""
    found = []
    database = sqlite()
    for record in logic.records(LOGIC / f"{path}.test"):
        if not record.error and record.is_for(kind, "sqlite"):
            database.execute(in_sqlite(record.sql), record.values or ())
    for record in queries:
        sql = turned(record.sql)
        if sql != record.sql and record.is_for(kind, "sqlite"):
            found.append((sql, database.execute(sql).fetchall()))
    database.close()
    return found


def test_turned_on_the_machine_they_give_the_rows_of_sqlite(machine):
    bad = []
    queries = ready(machine, "select")
    found = turned_queries(machine.kind, queries, "select")
    for sql, theirs in found:
        try:
            ours = machine.execute(sql)
        except logic.Refused as refused:
            bad.append(f"{sql}\n  {refused}")
            continue
        if not same_rows(ours, theirs, "ORDER BY" in sql):
            bad.append(f"{sql}\n  {ours}\n  {theirs}")
    assert not bad, "\n".join(bad)
    assert len(found) > 200


@pytest.mark.parametrize(("path", "step"), [("select", 8), ("kv", 2)])
def test_compiled_to_c_they_give_the_same_rows(
    machine, tmp_path, path, step, is_deep
):
    """Some queries as they are written, and turned; all in deep tests."""
    step = 1 if is_deep else step
    first = ["series", "tree"].index(machine.kind) * step // 2
    records = {
        f"q{record.line}": record
        for record in ready(machine, path)[first::step]
        if record.is_for(machine.kind, "c")
    }
    found = turned_queries(machine.kind, [*records.values()], path)
    theirs = {f"turned{i}": pair for i, pair in enumerate(found)}
    queries = {
        **{name: record.sql for name, record in records.items()},
        **{name: sql for name, (sql, _) in theirs.items()},
    }
    answers = answered_in_c(machine, tmp_path, queries)
    bad = []
    for name, (rows, status) in answers.items():
        if name in records:
            what = logic.differs(records[name], rows)
        else:
            sql, wanted = theirs[name]
            rows = as_floats(rows, wanted)
            same = same_rows(rows, wanted, "ORDER BY" in sql)
            what = "" if same else f"{rows}, not {wanted}"
        if status != sp.END or what:
            bad.append(f"{path}.test: {queries[name]}\n  {what}")
    assert not bad, "\n".join(bad)
    assert len(answers) > 0.75 * len(queries)


def test_compiled_to_c_statements_are_refused_at_the_same_place():
    schema, bad, done = [], [], 0
    for record in logic.records(LOGIC / "errors.test"):
        if record.sql.startswith("CREATE") and not record.error:
            schema.append(record.sql)
        if (
            not record.error
            or not record.sql.startswith("SELECT")
            or not record.is_for("series", "c")
        ):
            continue
        done += 1
        try:
            compile_text(";".join(schema), f"-- name: q\n{record.sql}", "app")
            bad.append(f"not refused: {record.sql}")
        except Refusal as refusal:
            place = f"{refusal.line - 1}:{refusal.column}"
            said = f"{place}: {refusal.message}"
            if "\n".join(record.expected) not in said:
                bad.append(f"{record.sql}\n  {said}")
    assert not bad, "\n".join(bad)
    assert done > 190


def answered_in_c(machine, folder, queries: dict[str, str]) -> dict:
    """Compiles queries to one program; returns the rows of each."""
    case = sp.Case(
        ";\n".join(machine.created),
        {},
        "",
        geometry=GEOMETRY,
        limits=Limits(groups=64, sorted=64),
    )
    chosen = []
    with unformatted():
        for name, sql in queries.items():
            case.queries = f"-- name: {name}\n{sql};\n"
            try:
                sp.compiled(case, folder)
                chosen.append(case.queries)
            except Refusal:
                pass  # keys of a kv table in more records than C has
        case.queries = "".join(chosen)
        made = sp.compiled(case, folder)
    for table in machine.engine.opened.values():
        table.sync()
    machine.chip.save(folder / "image")
    flavour = "asan" if os.environ.get("ESK_DEEP") else "test"
    binary = sp.program(case, folder, made, flavour)
    return sp.answers(binary, folder / "image")
