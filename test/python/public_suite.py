# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Runs the queries of others' sqllogictest files on the machine.

    python test/python/public_suite.py [--list] [--out FILE.json] FOLDER

Their tables have no key, and NULLs: DuckDB runs what makes and fills them,
and before a query each becomes a tree with a last column that numbers its
rows. A column whose values a tree does not hold is left out. Prints how many
queries there are, are of the subset, give the rows of the file, and are
refused, each with its place. Dialects differ in what they leave open, as the
place of NULL in an order: rows that are not the file's are compared with
SQLite's over the same tables. Those that are not SQLite's either are wrong.
"""

import argparse
import json
import math
import re
import sqlite3
import sys
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

import logic
from eskerdb import EskerError, Geometry, Simulator, Volume
from eskerdb.schema import Column
from eskerdb.sql.engine import Engine
from eskerdb.sql.source import Refusal
from eskerdb.sqlc import compile_text

NUMBER = "number_of_row"  # the key
ROWS_MAX = 3000
GEOMETRY = Geometry(block_count=512, block_pages=16, page_bytes=1024)
TYPES = {
    "TINYINT": "i8", "SMALLINT": "i16", "INTEGER": "i32", "BIGINT": "i64",
    "UTINYINT": "u8", "USMALLINT": "u16", "UINTEGER": "u32",
    "UBIGINT": "u64", "FLOAT": "f32", "DOUBLE": "f64", "VARCHAR": "text",
}  # fmt: skip
FAULTS = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError),
    *(RuntimeError, TypeError),
)
# How their dialects say what DuckDB says otherwise.
SPELT = (
    (r"\bINT UNSIGNED\b", "UINTEGER"),
    (r"\bBIGINT UNSIGNED\b", "UBIGINT"),
    (r"\bSTRING\b", "VARCHAR"),
)
_AS_VALUES = re.compile(
    r"(CREATE TABLE (?:IF NOT EXISTS )?)(\w+)\s*(\(.*?\))\s*AS\s+"
    r"(VALUES.*|SELECT.*)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass
class Counts:
    """How the queries of files are.

    queries   that a file gives rows for
    accepted  of these, by the compiler
    passed    with the file's rows
    otherwise with SQLite's, which are not the file's
    in_c      accepted ones that are compiled to C, too
    not_in_c  why not, and how many
    refused   the same of the machine's compiler
    wrong     where, and how
    """

    queries: int = 0
    accepted: int = 0
    passed: int = 0
    otherwise: int = 0
    in_c: int = 0
    not_in_c: Counter = field(default_factory=Counter)
    refused: Counter = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def results(self, suite: str) -> list[dict]:
        """Returns the figures as bench/report_query.py reads them."""
        counts = {
            "queries": self.queries,
            "of the subset": self.accepted,
            "with the file's rows": self.passed,
            "with SQLite's, not the file's": self.otherwise,
            "wrong": len(self.wrong),
            "refused, each with its place": sum(self.refused.values()),
            "compiled to C": self.in_c,
        }
        return [
            {
                "bench": "query_suites",
                "metric": metric,
                "dataset": suite,
                "value": value,
                "unit": "",
                **({"target": "0"} if metric == "wrong" else {}),
            }
            for metric, value in counts.items()
        ]

    def shown(self) -> str:
        return (
            f"{self.queries} queries, {self.accepted} of the subset: "
            f"{self.passed} with the file's rows, {self.otherwise} with "
            f"SQLite's and not the file's, {len(self.wrong)} wrong; "
            f"{sum(self.refused.values())} refused with their place; "
            f"{self.in_c} are compiled to C"
        )


class Tables:
    """DuckDB's tables as trees and in SQLite."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self.database = database
        self.stack = ExitStack()
        chip = self.stack.enter_context(Simulator(geometry=GEOMETRY))
        volume = self.stack.enter_context(Volume.format(chip))
        self.lite = sqlite3.connect(":memory:")
        self.lite.execute("PRAGMA case_sensitive_like = ON")
        self.stack.callback(self.lite.close)
        self.partial: set[str] = set()
        self.schema = ""
        self.opened: dict[str, object] = {}
        names = database.execute(
            "SELECT table_name FROM duckdb_tables()"
        ).fetchall()
        for (name,) in names:
            with suppress(EskerError, ValueError, duckdb.Error):
                self._make(volume, name)
        self.engine = Engine(self.opened)

    def _make(self, volume: Volume, name: str) -> None:
        described = self.database.execute(f'DESCRIBE "{name}"').fetchall()
        cursor = self.database.execute(f'SELECT * FROM "{name}"')
        rows = cursor.fetchmany(ROWS_MAX + 1)
        if len(rows) > ROWS_MAX or not re.fullmatch(r"\w{1,31}", name):
            return
        columns, kept = [], []
        for at, (column, type, *_) in enumerate(described):
            made = column_of(column, type, [row[at] for row in rows])
            if made is None:
                self.partial.add(name.casefold())
            else:
                columns.append(made)
                kept.append(at)
        columns.append(Column(NUMBER, "u32"))
        volume.create_tree(name, columns, key=NUMBER, blocks=20)
        table = self.stack.enter_context(volume.open_table(name))
        table.put_many(
            {
                **{
                    column.name: stored(column, row[at])
                    for column, at in zip(columns, kept, strict=False)
                },
                NUMBER: number,
            }
            for number, row in enumerate(rows)
        )
        self.opened[name] = table
        self.schema += create_of(name, columns)
        names = ", ".join(f'"{column.name}"' for column in columns)
        self.lite.execute(f'CREATE TABLE "{name}" ({names})')
        marks = ", ".join("?" * len(columns))
        self.lite.executemany(
            f'INSERT INTO "{name}" VALUES ({marks})',
            [(*(row[at] for at in kept), n) for n, row in enumerate(rows)],
        )


def column_of(name: str, type: str, values: list) -> Column | None:
    """Returns a column that holds values of a type of DuckDB, or None."""
    kind = TYPES.get(type)
    has_null = any(value is None for value in values)
    if kind is None or not re.fullmatch(r"\w{1,31}", name):
        return None
    if kind == "text":
        longest = max((len(v.encode()) for v in values if v), default=1)
        if has_null or longest > 250 or any("\0" in v for v in values):
            return None
        return Column(name, "text", bytes=max(longest, 4))
    if kind[0] == "f" or not has_null:
        return Column(name, kind)
    if kind[1:] == "64":
        return None
    lo, hi = Column(name, kind).limits
    free = next((x for x in (lo, hi, lo + 1) if x not in values), None)
    return None if free is None else Column(name, kind, missing=free)


def stored(column: Column, value):
    if value is not None:
        return value
    return math.nan if column.type[0] == "f" else column.missing


def create_of(name: str, columns: list[Column]) -> str:
    """Returns the CREATE TABLE of columns, the last of which is the key."""
    parts = [
        f'"{c.name}" {c.type}'
        + (f"({c.bytes})" if c.type == "text" else "")
        + (f" MISSING {c.missing}" if c.missing is not None else "")
        for c in columns
    ]
    return (
        f'CREATE TABLE "{name}" ({", ".join(parts)} PRIMARY KEY) USING tree;\n'
    )


# Rows ------------------------------------------------------------------------


def tokens_of(types: str, row: tuple) -> list[str]:
    result = []
    for kind, value in zip(types, row, strict=True):
        if value is None:
            text = "NULL"
        elif kind == "B" and value in (0, 1):
            text = str(bool(value)).lower()
        elif isinstance(value, float):
            text = repr(value)
        else:
            text = str(value) or "(empty)"
        result += text.split() or ["(empty)"]
    return result


def same(a: str, b: str) -> bool:
    """Whether tokens are equal, numbers as their digits say."""
    if a == b:
        return True
    try:
        x, y = float(a), float(b)
    except ValueError:
        return False
    digits = len(b.partition(".")[2])
    near = 0.5 * 10.0**-digits * 1.001 if digits and "e" not in b else 0
    return math.isclose(x, y, rel_tol=1e-9, abs_tol=near)


def as_in_file(record: logic.Record, rows: list[tuple]) -> bool:
    """Whether rows are those of the file."""
    if (
        len(record.expected) == 1
        and " values hashing to " in (record.expected[0])
    ):
        return not logic.differs(record, rows)
    ours = [tokens_of(record.types, row) for row in rows]
    theirs = [line.split() for line in record.expected]
    width = len(record.types)
    if width > 1 and len(theirs) == len(rows) * width:  # a value a line
        theirs = [
            [token for line in theirs[i : i + width] for token in line]
            for i in range(0, len(theirs), width)
        ]
    if record.sort == "valuesort":
        ours = [[token] for row in ours for token in row]
        theirs = [[token] for row in theirs for token in row]
    return are_rows(ours, theirs, record.sort == "nosort")


def are_rows(ours: list, theirs: list, ordered: bool) -> bool:
    if not ordered:
        ours, theirs = sorted(ours, key=_order), sorted(theirs, key=_order)
    return len(ours) == len(theirs) and all(
        len(a) == len(b) and all(map(same, a, b))
        for a, b in zip(ours, theirs, strict=True)
    )


def _order(row: list[str]) -> list[tuple]:
    keys = []
    for token in row:
        try:
            keys.append((0, round(float(token), 3), ""))
        except ValueError:
            keys.append((1, 0, token))
    return keys


# Files -----------------------------------------------------------------------


def run_file(path: Path, counts: Counts) -> None:
    with duckdb.connect() as database, ExitStack() as stack:
        made: Tables | None = None
        for record in logic.records(path):
            if record.types is None or not record.is_for("sqlite", "esker"):
                if not record.error:
                    made = None
                    for sql in as_duckdb(record.sql):
                        with suppress(duckdb.Error):
                            database.execute(sql)
                continue
            if record.error or not record.expected:
                continue
            if made is None:
                made = Tables(database)
                stack.enter_context(made.stack)
            counts.queries += 1
            where = f"{path.name}:{record.line}"
            try:
                run_query(made, record, where, counts)
            except FAULTS as fault:  # of the compiler: it is to refuse
                counts.wrong.append(f"{where}: {record.sql}\n  {fault!r}")


def as_duckdb(sql: str) -> list[str]:
    for theirs, ours in SPELT:
        sql = re.sub(theirs, ours, sql, flags=re.IGNORECASE)
    found = _AS_VALUES.fullmatch(sql.strip().rstrip(";"))
    if not found:
        return [sql]
    create, name, columns, values = found.groups()
    return [f"{create}{name} {columns}", f"INSERT INTO {name} {values}"]


def run_query(
    made: Tables, record: logic.Record, where: str, counts: Counts
) -> None:
    sql = record.sql
    try:
        (select,) = made.engine.prepare(sql)
        if not hasattr(select, "query"):
            raise ValueError("a change that is asked for its count")
        words = {*re.findall(r"\w+", sql.casefold())}
        if "*" in sql.replace("(*)", "") and made.partial & words:
            raise ValueError("* of columns that a tree does not hold")
    except Refusal as refusal:
        assert refusal.line >= 1 and refusal.column >= 1, where
        counts.refused[re.sub("'.*?'", "'..'", refusal.message)] += 1
        return
    except ValueError as fault:
        counts.refused[str(fault)] += 1
        return
    names = select.query.names
    shown = [i for i, name in enumerate(names) if name != NUMBER]
    try:
        rows = [tuple(row[i] for i in shown) for row in select.rows()]
    except EskerError as failure:
        counts.refused[f"when it is run: {failure}"] += 1
        return
    counts.accepted += 1
    try:
        compile_text(made.schema, f"-- name: query_of\n{sql};", "app")
        counts.in_c += 1
    except Refusal as refusal:
        counts.not_in_c[re.sub("'.*?'", "'..'", refusal.message)] += 1
    if len(record.types) == len(shown) and as_in_file(record, rows):
        counts.passed += 1
        return
    try:
        theirs = [
            tuple(row[i] for i in shown) for row in made.lite.execute(sql)
        ]
    except (sqlite3.Error, IndexError):
        theirs = None
    kinds = "T" * len(shown)
    if theirs is not None and are_rows(
        [tokens_of(kinds, row) for row in rows],
        [tokens_of(kinds, row) for row in theirs],
        record.sort == "nosort" and "ORDER BY" in sql.upper(),
    ):
        counts.otherwise += 1
        return
    counts.wrong.append(
        f"{where}: {sql}\n  {rows[:6]}\n  {record.expected[:6]}"
    )


def run_folder(folder: Path) -> Counts:
    counts = Counts()
    for pattern in ("*.slt", "*.test"):
        for path in sorted(folder.rglob(pattern)):
            run_file(path, counts)
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="why, and where")
    parser.add_argument("--out", type=Path, help="figures, as JSON")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    if not options.folder.is_dir():
        print(f"skipped: no folder {options.folder}")
        return 0
    counts = run_folder(options.folder)
    print(counts.shown())
    if options.out:
        suite = options.folder.resolve().parent.name
        options.out.write_text(json.dumps(counts.results(suite)))
    if options.list:
        for what, found in (
            ("refused", counts.refused),
            ("not in C", counts.not_in_c),
        ):
            print(f"{what}:")
            for why, count in found.most_common():
                print(f"{count:6} {why}")
    for what in counts.wrong:
        print(f"wrong: {what}")
    return 1 if counts.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
