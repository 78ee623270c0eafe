# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The tables of random statements, as tables of each kind, and who answers
statements over them: the machine, generated C, SQLite and DuckDB.

Table w has the columns that a kv table has, so that one statement is for all
kinds: as a series and as a tree it has a key of its own behind them.
"""

import math
import re
import sqlite3
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb

import sqlc_program as sp
from eskerdb import Geometry, ImageFile, Limit, Volume
from eskerdb.sql import tables
from eskerdb.sql.duck import speak
from eskerdb.sql.engine import HOST, Engine, Select, compile_select
from eskerdb.sql.parse import parse
from eskerdb.sql.source import Refusal, Source
from eskerdb.sqlc import compile_text
from sql_statements import WORDS, Statement

GEOMETRY = Geometry(block_count=128, block_pages=8, page_bytes=512)
# Both back ends end a query at the same number of records.
LIMITS = replace(HOST, groups=600, sorted=600, scratch=False)
_COLUMNS = {
    "t": "k u32, a i32, b i16 MISSING 2, f f32, g f64, n text(5)",
    "u": "k i64, a i16, f f32 MISSING 10.1",
    "r": "id i16, v i64, s text(9)",
    "w": "at u32, key text(12), value f64, type text(8)",
}
_INDEXES = "CREATE INDEX ON t (a); CREATE INDEX ON t (f);"
KINDS = {
    "series": dict.fromkeys("turw", "series"),
    "tree": dict.fromkeys("turw", "tree"),
    "kv": {"t": "series", "u": "tree", "r": "tree", "w": "kv"},
}
ROWS = 300


def f32(value: float) -> float:
    return struct.unpack("<f", struct.pack("<f", value))[0]


def data() -> dict[str, list[tuple]]:
    """The rows of the tables: see test/sql/README.md."""
    t, u, r = [], [], []
    for i in range(ROWS):
        f = math.nan if i % 11 == 3 else f32((i * 37 % 101 - 50) / 8)
        g = (i * 13 % 29) / 7 - 2
        t.append((4 * i + i % 3, i * 7 % 41 - 20, i % 5, f, g, WORDS[i % 8]))
    for i in range(120):
        f = f32(10.1 if i % 7 == 2 else i / 3)
        u.append((i * 10, i * i % 97 - 30, f))
    for i in range(150):
        r.append((i * 2 - 60, (i * 11) % 23 - 11, WORDS[i * 3 % 8]))
    return {"t": t, "u": u, "r": r}


def entries() -> list[tuple]:
    """The keys, values and types of the kv table."""
    made = []
    for i in range(90):
        key = f"{WORDS[i % 8]}/{i}"
        if i % 3 == 0:
            made.append((key, (i * 13 % 41 - 20) / 8, "float"))
            continue
        value = i * 7 % 61 - 30
        # A number below 0 is an int, however it is stored.
        made.append((key, value, "signed" if value > 9 else "int"))
    return made


def nulled(name: str, row: tuple) -> tuple:
    """Returns a row with NULL for what stands for it."""
    missing = {"t": {2: 2}, "u": {2: f32(10.1)}}.get(name, {})
    return tuple(
        None
        if (isinstance(value, float) and math.isnan(value))
        or missing.get(place, math.nan) == value
        else value
        for place, value in enumerate(row)
    )


def schema(kind: str) -> str:
    made = []
    for name, using in KINDS[kind].items():
        columns = "" if using == "kv" else f"({_COLUMNS[name]}) "
        made.append(f"CREATE TABLE {name} {columns}USING {using};")
    indexed = KINDS[kind]["t"] == "series"
    return "\n".join([*made, _INDEXES] if indexed else made)


def case(kind: str, queries: str = "", step_pages: int = 0) -> sp.Case:
    rows = {
        name: [nulled(name, row) for row in found]
        for name, found in data().items()
    }
    rows["w"] = entries()
    if kind != "kv":
        rows["w"] = [
            (at, key, float(value), type)
            for at, (key, value, type) in enumerate(entries())
        ]
    return sp.Case(
        schema(kind),
        rows,
        queries,
        step_pages=step_pages,
        geometry=GEOMETRY,
        limits=LIMITS,
    )


def has_w(statement: Statement) -> bool:
    """Whether a statement is over the table that may be a kv table."""
    return " w " in f"{statement.sql} "


# Back ends ------------------------------------------------------------------


class Ended(Exception):
    """A query that ends with ESK_E_LIMIT."""


class Machine:
    """The machine over an image."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def compiled(self, sql: str) -> Select:
        """Raises Refusal."""
        source = Source(sql)
        (statement,) = parse(source)
        code = compile_select(source, statement, self.engine.infos, LIMITS)
        return Select(self.engine, code)

    @staticmethod
    def rows(select: Select, budget: int = 0) -> list[tuple]:
        try:
            return list(select.rows(budget=budget))
        except Limit as limit:
            raise Ended from limit


@contextmanager
def machine(path: Path, names: str = "turw") -> Iterator[Machine]:
    with (
        ImageFile(path, GEOMETRY, read_only=True) as device,
        Volume.mount(device, read_only=True) as volume,
    ):
        opened = {name: volume.open_table(name) for name in names}
        yield Machine(Engine(opened))
        for table in opened.values():
            table.close()


@contextmanager
def unformatted() -> Iterator[None]:
    """C of many queries is compiled as it is."""
    unit = sys.modules["eskerdb.sqlc.unit"]
    kept, unit.formatted = unit.formatted, str
    yield
    unit.formatted = kept


def c_refuses(kind: str, sql: str) -> Refusal | None:
    try:
        compile_text(schema(kind), f"-- name: q\n{sql};", "app", limits=LIMITS)
    except Refusal as refusal:
        return refusal
    return None


def c_rows(
    kind: str,
    chosen: list[str],
    folder: Path,
    image: Path,
    step_pages: int = 0,
    flavour: str = "test",
) -> list[list[tuple] | int]:
    """Compiles statements to one program; returns the rows of each, or the
    status that it ended with instead of ESK_END."""
    folder.mkdir()
    text = "\n".join(f"-- name: s{i}\n{sql};" for i, sql in enumerate(chosen))
    made = case(kind, text, step_pages)
    with unformatted():
        queries = sp.compiled(made, folder)
    # What is not initialized is a warning only of a compiler that optimizes.
    level = "-O1" if flavour == "asan" else "-O0"
    binary = sp.program(made, folder, queries, flavour, level)
    found = sp.answers(binary, image)
    pairs = [found[f"s{i}"] for i in range(len(chosen))]
    return [rows if end == sp.END else end for rows, end in pairs]


# Others ---------------------------------------------------------------------


def bucket(value, width):
    return None if value is None else value // width * width


class Quantile:
    """quantile(value, part) for SQLite, which has none."""

    def __init__(self):
        self.values, self.part = [], None

    def step(self, value, part, most=0):
        self.part = Fraction(repr(part))
        if value is not None:
            self.values.append(value)

    def finalize(self):
        place = max(1, math.ceil(len(self.values) * (self.part or 0)))
        return sorted(self.values)[place - 1] if self.values else None


@contextmanager
def sqlite() -> Iterator[sqlite3.Connection]:
    """SQLite with the same rows."""
    connection = sp.oracle(case("series"))
    connection.create_function("bucket", 2, bucket, deterministic=True)
    connection.create_aggregate("quantile", 2, Quantile)
    yield connection
    connection.close()


@contextmanager
def duckdb_tables() -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB with the same rows, and the settings of `esker query`."""
    kinds = {"i": "BIGINT", "u": "BIGINT", "f": "DOUBLE", "t": "VARCHAR"}
    source = Source(schema("series"))
    with duckdb.connect() as duck:
        speak(duck)
        duck.execute("CREATE MACRO bucket(k, w) AS k - ((k % w) + w) % w")
        # Its own ones leave out NULLs.
        for name, own in (("max_of", "greatest"), ("min_of", "least")):
            duck.execute(
                f"CREATE MACRO {name}(a, b) AS CASE WHEN a IS NOT NULL AND "
                f"b IS NOT NULL THEN {own}(a, b) END, (a, b, c) AS CASE WHEN "
                f"a IS NOT NULL AND b IS NOT NULL AND c IS NOT NULL "
                f"THEN {own}(a, b, c) END"
            )
        for name, made in tables.create(source, parse(source)).items():
            columns = ", ".join(
                f'"{c.name}" {kinds[c.kind[0]]}' for c in made.info.columns
            )
            duck.execute(f"CREATE TABLE {name} ({columns})")
            marks = ", ".join("?" * len(made.info.columns))
            duck.executemany(
                f"INSERT INTO {name} VALUES ({marks})",
                case("series").rows[name],
            )
        yield duck


def in_duckdb(sql: str) -> str:
    """Returns a statement in DuckDB's words: it has no IS of numbers, 2.5 is a
    decimal, and max() of two values is another function."""
    sql = sql.replace("MAX(", "max_of(").replace("MIN(", "min_of(")
    sql = re.sub(r"(\d\.\d+)(?![\de])", r"\1e0", sql)
    return re.sub(
        r" IS (NOT )?(-?\d)",
        lambda found: (
            f" IS {'' if found[1] else 'NOT '}DISTINCT FROM {found[2]}"
        ),
        sql,
    )


# Rows -----------------------------------------------------------------------


def sort_key(row):
    return [
        (
            value is not None,
            isinstance(value, str),
            0 if value is None else value,
        )
        for value in row
    ]


def alike(ours, theirs) -> bool:
    if isinstance(ours, float) and isinstance(theirs, (int, float)):
        return math.isclose(ours, theirs, rel_tol=1e-12, abs_tol=1e-9)
    return ours == theirs and isinstance(ours, float) == isinstance(
        theirs, float
    )


def same_rows(ours, theirs, ordered) -> bool:
    if len(ours) != len(theirs):
        return False
    if not ordered:
        ours, theirs = rounded(ours), rounded(theirs)
    return all(all(map(alike, a, b)) for a, b in zip(ours, theirs, strict=True))


def rounded(rows):
    """Sorts rows, by floats of fewer digits than they are compared by."""

    def key(row):
        return sort_key(
            [float(f"{v:.9g}") if isinstance(v, float) else v for v in row]
        )

    return sorted(rows, key=key)


def as_floats(ours, theirs):
    """C prints a float without digits behind the point as an integer."""
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
