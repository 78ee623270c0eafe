# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What `esker query` prints; loads no library for command lines."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

import duckdb

import eskerdb
from eskerdb.cli.output import complain, console, count, quoted, sheet, warn
from eskerdb.cli.statements import (
    changes,
    in_place,
    only_creates,
    with_values,
)
from eskerdb.errors import Corrupt, Limit, Unsupported
from eskerdb.kv_value import shortest
from eskerdb.sql.batches import USE
from eskerdb.sql.duck import Database, names_of
from eskerdb.sql.engine import Change, Engine, Refusal, Select
from eskerdb.sql.key_bounds import KeyBounds
from eskerdb.sql.source import nearest

if TYPE_CHECKING:
    from rich.console import Console

_FETCH_ROWS = 4096
_OVERFLOW = (
    "query: a value is beyond 64 bits, or beyond the type of a CAST; "
    "CAST(x AS f64) computes with floats"
)
# Types that DuckDB prints and Python lacks: infinite times, years above 9999,
# zones, months of an interval.
_TIMES = re.compile(
    r"\b(DATE|TIMESTAMP(_\w+)?( WITH TIME ZONE)?|TIME( WITH TIME ZONE)?"
    r"|INTERVAL)\b"
)
_PLACE = re.compile(r"^LINE (\d+): .*\n( *)\^", re.MULTILINE)
_CHANGE = re.compile(r"\s*(drop|alter|truncate)\b", re.IGNORECASE)


def answer(
    image: str | os.PathLike[str],
    sql: str,
    form: str,
    rows: int,
    explain: bool = False,
    values: Mapping[str, str] | None = None,
    file: str = "sql",
    in_batches: bool = False,
) -> int:
    """Answers SQL from an image and prints it; returns the exit status.

    form     "csv", "json", or "" for tables
    rows     most rows of a printed table; 0: all
    explain  print the plans instead
    values   of parameters, as written
    file     that the SQL is from, for messages
    in_batches
             a change of too many rows is made in several batches
    """
    try:
        sql.encode()
    except UnicodeEncodeError:
        complain("query: the SQL is not valid UTF-8")
        return 1
    if only_creates(sql) and not explain:
        complain(
            "query: CREATE does not run on an image; `esker create` and `esker "
            "import --create` make tables there"
        )
        return 1
    read_only = explain or not changes(sql)
    with (
        _interruptible(),
        eskerdb.open(image, read_only=read_only) as volume,
        Database(volume) as database,
    ):
        warn_of_names(database)
        return run(database, sql, form, rows, explain, values, file, in_batches)


def run(
    database: Database,
    sql: str,
    form: str,
    rows: int,
    explain: bool = False,
    values: Mapping[str, str] | None = None,
    file: str = "sql",
    in_batches: bool = False,
) -> int:
    """Answers SQL over open tables and prints it; as answer()."""
    given = dict(values or {})
    made, refusal = _prepared(database, sql, explain, given, file)
    if refusal is not None and (given or changes(sql)):
        if not given and len(parts := in_place(sql)) > 1:
            return _one_by_one(
                database, parts, form, rows, explain, file, in_batches
            )
        complain(f"query: {refusal}")
        return 1
    if not _has_values(made, given, explain):
        return 1
    reason = ""
    if refusal is not None:
        reason = f"{refusal.line}:{refusal.column}: {refusal.message}"
    damaged = 0
    try:
        if explain:
            return _explain(database, sql, made, reason)
        lost = _by_machine(made, form, rows, in_batches)
        if lost is None:
            if made:  # DuckDB meets them again
                damaged = database.pages_damaged
            if given:
                sql = with_values(sql, _typed(made))
            found = Engine(database.tables).kv_bounds(sql)
            if found is not None:
                database.bound_keys(*found)
            try:
                lost = _by_duckdb(database, sql, form, rows, reason)
            finally:
                if found is not None:
                    database.bound_keys(found[0], KeyBounds())
    except Refusal as refused:  # of a change's values
        complain(f"query: {refused}")
        return 1
    except _NoStatement:
        complain("query: there is no SQL statement; write one")
        return 1
    except duckdb.Error as failure:
        ours = refusal is not None and _is_ours(refusal, failure)
        if reason and not ours:
            print(f"DuckDB was asked: {reason}", file=sys.stderr)
        complain(f"query: {refusal if ours else failure}")
        _hint(database, failure, sql)
        return 1
    if lost:
        warn(
            f"{count(lost, 'value')} NaN or infinite: JSON has no such "
            "numbers, they are printed as null; --csv prints them"
        )
    damaged = database.pages_damaged - damaged
    if damaged:
        warn(
            f"{count(damaged, 'page')} left out: torn by "
            "power loss, or damaged; `esker info --check` shows whether "
            "rows are missing"
        )
    return 0


def _one_by_one(
    database: Database,
    parts: list[str],
    form: str,
    rows: int,
    explain: bool,
    file: str,
    in_batches: bool,
) -> int:
    """Answers statements of which some are changes, and some only DuckDB's."""
    for part in parts:
        if changes(part):  # nothing is changed if one of them is wrong
            _, refusal = _prepared(database, part, explain, {}, file)
            if refusal is not None:
                complain(f"query: {refusal}")
                return 1
    for part in parts:
        status = run(
            database,
            part,
            form,
            rows,
            explain,
            file=file,
            in_batches=in_batches,
        )
        if status:
            return status
    return 0


def _has_values(
    made: Sequence[Select | Change], given: Mapping[str, str], explain: bool
) -> bool:
    """Whether each parameter has a value, and each value a parameter."""
    names = {info.name for one in made for info in one.parameters}
    for name in given:
        if name not in names:
            complain(
                f"query: the SQL has no parameter :{name}{nearest(name, names)}"
            )
            return False
    for name in sorted(names):
        if name not in given and not explain:
            complain(
                f"query: :{name} has no value; give it one: "
                f"--param {name}=VALUE"
            )
            return False
    return True


def _typed(made: Sequence[Select | Change]) -> dict[str, Any]:
    """Returns the values of all parameters."""
    return {name: v for one in made for name, v in one.values.items()}


class _NoStatement(Exception):
    """The SQL has no statement."""


class _Rows:
    """Rows of the machine, as DuckDB gives its own."""

    def __init__(self, select: Select) -> None:
        query = select.query
        self.description = [
            (name, "FLOAT" if kind.single else kind.kind)
            for name, kind in zip(query.names, query.types, strict=True)
        ]
        self._rows = select.rows()
        # A damaged tree ends a program: know it before a row is printed.
        has_tree = any(table.kind != "series" for table in query.tables)
        most = None if has_tree else _FETCH_ROWS
        self._first = list(islice(self._rows, most))

    def fetchmany(self, most: int) -> list[tuple[Any, ...]]:
        """Returns the next rows, at most `most`."""
        rows, self._first = self._first, []
        return rows or list(islice(self._rows, most))


def _prepared(
    database: Database,
    sql: str,
    measured: bool,
    values: Mapping[str, str],
    file: str,
) -> tuple[list[Select | Change], Refusal | None]:
    """Compiles all statements for the machine; or says why it cannot."""
    try:
        engine = Engine(database.tables, measured)
        return engine.prepare(sql, file, values, written=True), None
    except Refusal as refusal:
        return [], refusal


def _explain(
    database: Database, sql: str, made: Sequence[Select | Change], reason: str
) -> int:
    """Prints plans, or why DuckDB has to answer, if it can."""
    for one in made:
        print("\n".join(one.explain()))
    if reason:
        for statement in database.statements(sql):
            if statement.type == duckdb.StatementType.SELECT:
                query = _before_semicolon(statement.query)
                try:
                    database.execute(f"EXPLAIN {query}")
                except duckdb.Error:
                    database.execute(statement)  # says its place
        print(f"DuckDB: {reason}")
    return 0


def _by_machine(
    made: Sequence[Select | Change], form: str, rows: int, in_batches: bool
) -> int | None:
    """Makes changes, and prints what the machine answers; None when DuckDB has
    to.

    Returns how many numbers JSON does not have.
    """
    lost = 0
    for number, select in enumerate(made):
        if isinstance(select, Change):
            try:
                done = count(select.run(in_batches=in_batches), "row")
            except Limit as failure:
                if in_batches or select.word == "inserted":
                    raise
                raise Limit(f"{failure}; {USE}") from None
            print(f"{done} {select.word}: {select.table.name}", file=sys.stderr)
            continue
        try:
            result = _Rows(select)
        except (Limit, Corrupt, Unsupported) as failure:
            is_limit = isinstance(failure, Limit)
            if is_limit and not select.shortages:
                raise Limit(_OVERFLOW) from None
            if number:
                raise
            reason = " or ".join(select.shortages) if is_limit else "damage"
            if isinstance(failure, Unsupported):
                reason = "a key that ends in a zero byte"
            print(f"DuckDB answers: {reason}", file=sys.stderr)
            return None
        size = len(select.code.bytes)
        print(f"the machine answers: {size} bytes", file=sys.stderr)
        lost += print_result(result, form, rows)
    return lost if made else None


def _by_duckdb(
    database: Database, sql: str, form: str, rows: int, reason: str
) -> int:
    """Prints what DuckDB answers, and why it does; as _by_machine()."""
    statements = database.statements(sql)
    if not statements:
        raise _NoStatement
    lost = 0
    for statement in statements:
        result = database.execute(_times_as_text(database, statement))
        if reason:
            print(f"DuckDB answers: {reason}", file=sys.stderr)
            reason = ""
        if database.answers(statement):
            lost += print_result(result, form, rows)
    return lost


def print_result(result: Any, form: str, rows: int) -> int:
    """Prints a result; returns how many numbers JSON does not have."""
    if form == "csv":
        _print_csv(result)
    elif form == "json":
        return _print_json(result)
    else:
        print_table(console(), result, rows)
    return 0


def warn_of_names(database: Database) -> None:
    """Warns of tables that cannot be opened, and of columns that SQL renames,
    because SQL ignores case."""
    for failure in database.skipped.values():
        warn(str(failure))
    for table in database.tables.values():
        seen: set[str] = set()
        for name in names_of(table):
            if name.casefold() in seen:
                warn(
                    f"table '{table.name}': SQL ignores case and renames "
                    f"column '{name}': SELECT * shows its name"
                )
            seen.add(name.casefold())


@contextmanager
def _interruptible() -> Iterator[None]:
    """Lets Ctrl-C end the process at once: nothing is written here, and
    DuckDB would finish first."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _is_ours(refusal: Refusal, failure: duckdb.Error) -> bool:
    """Whether to say what is wrong in our words: they name what was meant, or
    DuckDB found the fault at the same place. Or neither can read the SQL, and
    our parser came as far as DuckDB's."""
    if "did you mean" in refusal.message:
        return True
    is_syntax = isinstance(failure, duckdb.ParserException)
    found = _PLACE.search(str(failure))
    if found is None:
        return is_syntax
    line, spaces = int(found[1]), len(found[2])
    place = line, spaces - len(f"LINE {line}: ") + 1
    ours = refusal.line, refusal.column
    return place == ours or (is_syntax and place < ours)


def _hint(database: Database, failure: duckdb.Error, sql: str) -> None:
    """Names the tables and columns when the query named unknown ones."""
    if not isinstance(
        failure, (duckdb.CatalogException, duckdb.BinderException)
    ):
        return
    if _CHANGE.match(sql):
        warn(
            "`esker drop`, `esker create` and `esker import` change what "
            "tables an image has"
        )
    names = [
        f"{table.name} ({', '.join(names_of(table))})"
        for table in database.tables.values()
    ]
    warn(f"the image has {', '.join(names) if names else 'no tables'}")
    if "BLOB" in str(failure):
        warn(
            "a column of type var has bytes: decode(column) converts them to "
            "text; `esker import --type COL=text` makes a column of text"
        )


def _times_as_text(
    database: Database, statement: duckdb.Statement
) -> duckdb.Statement | str:
    """Returns the statement with its times cast to text."""
    if statement.type != duckdb.StatementType.SELECT:
        return statement
    query = _before_semicolon(statement.query)
    try:
        described = database.execute(f"DESCRIBE {query}").fetchall()
    except duckdb.Error:
        return statement  # which says what is wrong with it
    if not any(_TIMES.search(kind) for _, kind, *_ in described):
        return statement
    names = [f"c{at}" for at in range(len(described))]
    wanted = ", ".join(
        f"{name}::{_TIMES.sub('VARCHAR', kind)} AS {_identifier(head)}"
        if _TIMES.search(kind)
        else f"{name} AS {_identifier(head)}"
        for name, (head, kind, *_) in zip(names, described, strict=True)
    )
    return f"SELECT {wanted} FROM (\n{query}\n) AS answer({', '.join(names)})"


def _before_semicolon(query: str) -> str:
    text = query.encode()  # tokens have places in bytes
    for start, kind in duckdb.tokenize(query):
        if (
            kind == duckdb.token_type.operator
            and text[start : start + 1] == b";"
        ):
            return text[:start].decode()
    return query


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _heads(result: duckdb.DuckDBPyConnection) -> list[str]:
    return [column[0] for column in result.description or ()]


def _names(result: duckdb.DuckDBPyConnection) -> list[str]:
    """Returns the heads, each once: the second `a` is `a_1`, as in DuckDB."""
    names: list[str] = []
    for head in _heads(result):
        name, number = head, 1
        while name in names:
            name, number = f"{head}_{number}", number + 1
        names.append(name)
    return names


def _rows(result: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    """Yields rows; an f32 as the shortest number that is the same f32."""
    short = [
        column
        for column, kind in enumerate(result.description or ())
        if str(kind[1]) == "FLOAT"
    ]
    for batch in _batches(result):
        for row in batch:
            if short:
                cells = list(row)
                for column in short:
                    if isinstance(cells[column], float):
                        cells[column] = shortest(cells[column])
                row = tuple(cells)
            yield row


def _batches(
    result: duckdb.DuckDBPyConnection,
) -> Iterator[list[tuple[Any, ...]]]:
    while batch := result.fetchmany(_FETCH_ROWS):
        yield batch


def _text(value: Any) -> str:
    """Returns a cell's text; different bytes have different texts."""
    if value is None:
        return ""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _bytes_text(bytes(value))
    return str(value)


def _bytes_text(value: bytes) -> str:
    try:
        text = value.decode()
        if text.isprintable() and "\\" not in text:
            return text
    except UnicodeDecodeError:
        pass
    return "\\x" + value.hex()


def print_table(
    out: Console, result: duckdb.DuckDBPyConnection, most: int
) -> None:
    """Prints up to `most` rows (0: all) and how many there are."""
    heads = _heads(result)
    shown: list[tuple[Any, ...]] = []
    rows = 0
    for row in _rows(result):
        rows += 1
        if most == 0 or rows <= most:
            shown.append(row)
    numbers = tuple(
        head
        for column, head in enumerate(heads)
        if any(isinstance(row[column], (int, float)) for row in shown)
    )
    table = sheet(*heads, right=numbers)
    for row in shown:
        table.add_row(*(_text(value) for value in row))
    out.print(table)
    rest = f", {len(shown)} shown; --rows 0 shows all"
    out.print(count(rows, "row") + (rest if rows > len(shown) else ""))


def _print_csv(result: duckdb.DuckDBPyConnection) -> None:
    """Prints CSV that `esker import` reads without a change of value."""
    write = sys.stdout.write
    write(",".join(map(quoted, _heads(result))) + "\n")
    for row in _rows(result):
        write(",".join(map(_cell, row)) + "\n")


def _cell(value: Any) -> str:
    """Returns a cell of CSV: bytes as \\x and hexadecimal digits."""
    if value is None:
        return ""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "\\x" + bytes(value).hex()
    return quoted(str(value))


def _json(value: Any) -> Any:
    """Returns a value for JSON; null for one that JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _json(item) for key, item in value.items()}
    return _text(value)


def _print_json(result: duckdb.DuckDBPyConnection) -> int:
    """Prints an object a line; returns how many numbers became null."""
    heads = _names(result)
    lost = 0
    for row in _rows(result):
        lost += sum(map(_odd_numbers, row))
        values = dict(zip(heads, map(_json, row), strict=True))
        print(json.dumps(values, ensure_ascii=False))
    return lost


def _odd_numbers(value: Any) -> int:
    """Counts the NaNs and infinities in a value."""
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return sum(map(_odd_numbers, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(_odd_numbers, value))
    return 0
