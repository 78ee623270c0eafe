# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""`esker shell IMAGE`: SQL statements one after another, with history."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import typer

import eskerdb
from eskerdb.cli.answer import run, warn_of_names
from eskerdb.cli.arguments import Image
from eskerdb.cli.output import complain, count
from eskerdb.errors import EskerError
from eskerdb.kv import Kv
from eskerdb.schema import Column
from eskerdb.sql.duck import Database, names_of
from eskerdb.sql.parse import STATEMENTS
from eskerdb.sql.source import nearest

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

_ROWS = 40
_HELP = {
    ".tables": "the tables, their kinds and keys",
    ".schema": ".schema [TABLE]: the SQL that creates them",
    ".timer": ".timer on|off: the time of each statement",
    ".reads": ".reads on|off: the page reads of each statement",
    ".help": "this list",
    ".quit": "the end; so does Ctrl-D",
}
_WORDS = (
    "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "OFFSET",
    "JOIN", "LEFT JOIN", "ON", "AND", "OR", "NOT", "IN", "BETWEEN", "LIKE",
    "IS NULL", "CASE", "WHEN", "THEN", "ELSE", "END", "CAST", "AS", "DISTINCT",
    "UNION ALL", "DESC", "count(*)", "sum", "min", "max", "avg", "abs",
    "round", "coalesce",
)  # fmt: skip


def shell(
    image: Image,
    as_csv: bool = typer.Option(False, "--csv", help="Print CSV."),
    as_json: bool = typer.Option(
        False, "--json", help="Print a JSON object a line."
    ),
) -> None:
    """Answer SQL statements from an image, which is opened read-only.

    A statement ends with a semicolon and may take several lines. `.help` lists
    the other commands. Statements can be piped in: `esker shell IMAGE < FILE`;
    the exit status is then 1 if one of them failed.
    """
    if as_csv and as_json:
        raise typer.BadParameter("choose one of --csv and --json")
    form = "csv" if as_csv else "json" if as_json else ""
    with eskerdb.open(image) as volume, Database(volume) as database:
        warn_of_names(database)
        talk = _Shell(database, form, sys.stdin.isatty())
        talk.run(_typed(database) if sys.stdin.isatty() else _piped(sys.stdin))
    raise typer.Exit(1 if talk.has_failed and not sys.stdin.isatty() else 0)


def is_complete(text: str) -> bool:
    """Whether a text is a command, or SQL that ends with a semicolon."""
    if text.lstrip().startswith(".") or not text.strip():
        return True
    data = text.encode()  # tokens have places in bytes
    tokens = duckdb.tokenize(text)
    while tokens and tokens[-1][1] == duckdb.token_type.comment:
        tokens.pop()
    if not tokens:
        return False
    start, kind = tokens[-1]
    is_end = data[start : start + 1] == b";"
    return kind == duckdb.token_type.operator and is_end


def create_text(table: Any) -> str:
    """Returns the SQL that creates a table."""
    name = _name(table.name)
    columns = ", ".join(
        _column_text(column, column.name == table.key)
        for column in table.columns
    )
    made = f"CREATE TABLE {name}"
    if table.kind != "kv":
        made += f" ({columns})"
    if table.kind != "series":
        made += f" USING {table.kind}"
    lines = [made + ";"]
    lines += [
        f"CREATE INDEX ON {name} ({_name(index.column)}) "
        f"WITH (bitmap = {index.bitmap});"
        for index in table.indexes
    ]
    return "\n".join(lines)


def _column_text(column: Column, is_key: bool) -> str:
    width = f"({column.bytes})" if column.bytes else ""
    text = f"{_name(column.name)} {column.type}{width}"
    if is_key:
        text += " PRIMARY KEY"
    if column.unit:
        unit = column.unit.replace("'", "''")
        text += f" UNIT '{unit}'"
    if column.missing is not None:
        text += f" MISSING {column.missing}"
    return text


def _name(name: str) -> str:
    """Returns a name as SQL writes it."""
    if name.isidentifier() and name.isascii() and name.upper() not in _KEPT:
        return name
    return '"' + name.replace('"', '""') + '"'


_KEPT = {word for words in (*_WORDS, *STATEMENTS) for word in words.split()}


class _Shell:
    """What the shell is set to, and what it does with a text."""

    def __init__(
        self, database: Database, form: str, is_interactive: bool
    ) -> None:
        self._database = database
        self._form = form
        self._has_timer = self._has_reads = is_interactive
        self.has_failed = False

    def run(self, texts: Iterator[str]) -> None:
        for text in texts:
            if text.strip().startswith("."):
                if not self._command(*text.split()):
                    return
            elif text.strip():
                self._statement(text)

    def _statement(self, sql: str) -> None:
        reads, start = self._database.page_reads, time.perf_counter()
        try:
            self.has_failed |= run(self._database, sql, self._form, _ROWS) != 0
        except EskerError as failure:
            self._complain(str(failure))
        except KeyboardInterrupt:
            self._complain("interrupted")
        sys.stdout.flush()
        took = []
        if self._has_reads:
            reads = self._database.page_reads - reads
            took.append(count(reads, "page read"))
        if self._has_timer:
            took.append(f"{time.perf_counter() - start:.3f} s")
        if took:
            print(", ".join(took), file=sys.stderr)

    def _complain(self, message: str) -> None:
        self.has_failed = True
        complain(message)

    def _command(self, name: str, *words: str) -> bool:
        """Carries out a command; returns False at the end."""
        if name in (".quit", ".exit"):
            return False
        if name == ".help":
            for command, what in _HELP.items():
                print(f"{command:10}{what}")
        elif name == ".tables":
            for table in self._database.tables.values():
                entry = table.table
                key = f", key {entry.key}" if entry.key else ""
                print(f"{entry.name}: {entry.kind}{key}")
        elif name == ".schema":
            self._schema(words)
        elif name in (".timer", ".reads"):
            self._switch(name, words)
        else:
            self._complain(
                f"no command '{name}'{nearest(name, _HELP)}; .help lists them"
            )
        return True

    def _schema(self, words: tuple[str, ...]) -> None:
        tables = self._database.tables
        for name in words:
            if name not in tables:
                self._complain(f"no table '{name}'{nearest(name, tables)}")
        for name, table in tables.items():
            if not words or name in words:
                print(create_text(table.table))

    def _switch(self, name: str, words: tuple[str, ...]) -> None:
        if words not in (("on",), ("off",)):
            self._complain(f"write {name} on, or {name} off")
            return
        setattr(self, f"_has_{name[1:]}", words == ("on",))


def _piped(lines: Any) -> Iterator[str]:
    """Yields the statements and commands of a text."""
    text = ""
    for line in lines:
        text += line
        if is_complete(text):
            yield text
            text = ""
    if text:
        yield text


def _typed(database: Database) -> Iterator[str]:
    """Yields what is typed at the terminal."""
    session = _session(database)
    while True:
        try:
            yield session.prompt("esker> ")
        except KeyboardInterrupt:
            continue  # drops the line
        except EOFError:
            return


def _session(database: Database) -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.history import FileHistory, InMemoryHistory
    from prompt_toolkit.key_binding import KeyBindings

    words = completions(database)

    class Words(Completer):
        def get_completions(self, document: Any, event: Any) -> Any:
            begun, found = matching(words, document.text_before_cursor)
            for word in found:
                yield Completion(word, -len(begun))

    keys = KeyBindings()

    @keys.add("enter")
    def _(event: Any) -> None:
        buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    path = _history_path()
    return PromptSession(
        history=FileHistory(str(path)) if path else InMemoryHistory(),
        completer=Words(),
        complete_while_typing=False,
        multiline=True,
        key_bindings=keys,
        prompt_continuation=lambda width, line, wrapped: "...> ".rjust(width),
    )


def completions(database: Database) -> list[str]:
    """Returns the words that Tab completes."""
    words = [*_HELP, *STATEMENTS, *_WORDS]
    for name, table in database.tables.items():
        words.append(_name(name))
        if not isinstance(table, Kv):
            words += map(_name, names_of(table))
    return sorted(set(words), key=str.lower)


def matching(words: list[str], text: str) -> tuple[str, list[str]]:
    """Returns the word that a text ends with, and the words that begin so."""
    is_command = text.startswith(".")
    begun = text if is_command else re.search(r"\w*\Z", text)[0]  # type: ignore[index]
    return begun, [
        word for word in words if word.lower().startswith(begun.lower())
    ]


def _history_path() -> Path | None:
    """Returns the file of the history; None: it cannot be written."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
    folder = Path(state) / "esker"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "history"
        path.touch(mode=0o600)
    except OSError:
        return None
    return path
