# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""`esker shell IMAGE`: SQL statements one after another, with history."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import eskerdb
from eskerdb.cli.answer import run, warn_of_names
from eskerdb.cli.arguments import Image
from eskerdb.cli.output import complain, count
from eskerdb.cli.statements import changes, places, words
from eskerdb.errors import EskerError
from eskerdb.kv import Kv
from eskerdb.schema import Column, Index
from eskerdb.sql.duck import Database, names_of
from eskerdb.sql.parse import STATEMENTS
from eskerdb.sql.source import Refusal, Source, nearest
from eskerdb.sql.tables import OPTIONS
from eskerdb.sql.tokens import NO_UTF8, tokens

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from typing_extensions import Self

_ROWS = 40
_HELP = {
    ".tables": "the tables, their kinds and keys",
    ".schema": ".schema [TABLE]: the SQL that creates them",
    ".param": ".param [NAME [VALUE]]: gives :NAME a value, or takes it away",
    ".timer": ".timer on|off: the time of each statement",
    ".reads": ".reads on|off: the page reads of each statement",
    ".batches": ".batches on|off: changes of too many rows, in several batches",
    ".help": "this list",
    ".quit": "the end; so does Ctrl-D",
}
_WORDS = (
    "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "OFFSET",
    "JOIN", "LEFT JOIN", "CROSS JOIN", "ON", "AND", "OR", "NOT", "IN",
    "BETWEEN", "LIKE", "IS NULL", "CASE", "WHEN", "THEN", "ELSE", "END", "CAST",
    "AS", "DISTINCT", "UNION ALL", "DESC", "NULLS FIRST", "NULLS LAST",
    "count(*)", "sum", "min", "max", "avg", "first", "last", "quantile", "abs",
    "round", "coalesce", "length", "substr", "bucket",
)  # fmt: skip


def shell(
    image: Image,
    as_csv: bool = typer.Option(False, "--csv", help="Print CSV."),
    as_json: bool = typer.Option(
        False, "--json", help="Print a JSON object a line."
    ),
) -> None:
    """Answer SQL statements from an image.

    The image is opened read-only, and again to be written when the first
    INSERT, UPDATE or DELETE comes; what it changed is kept at once. A
    statement ends with a semicolon and may take several lines. `.help` lists
    the other commands. Statements can be piped in: `esker shell IMAGE < FILE`;
    the exit status is then 1 if one of them failed.
    """
    if as_csv and as_json:
        raise typer.BadParameter("choose one of --csv and --json")
    form = "csv" if as_csv else "json" if as_json else ""
    is_typed = sys.stdin.isatty()
    with _Opened(image) as opened:
        warn_of_names(opened.database)
        talk = _Shell(opened, form, is_typed)
        texts = _piped(sys.stdin.buffer)
        talk.run(_typed(opened.database) if is_typed else texts)
    raise typer.Exit(1 if talk.has_failed and not sys.stdin.isatty() else 0)


def is_complete(text: str) -> bool:
    """Whether a text is a command, or SQL that ends with a semicolon."""
    if text.lstrip().startswith(".") or not text.strip():
        return True
    tokens = words(text)
    ends = [place for place, is_end in tokens if is_end]
    if ends and text[ends[-1] + 1 :].lstrip().startswith("."):
        return True
    return bool(tokens) and tokens[-1][1]


def parts(text: str) -> list[str]:
    """Returns the statements of a text, and its commands: a command may follow
    a statement, and takes the rest of its line."""
    found = []
    while text.strip():
        if text.lstrip().startswith("."):
            command, _, text = text.lstrip().partition("\n")
            found.append(command)
            continue
        here = places(text)
        if not here:
            break  # comments
        begin, end = here[0]
        found.append(text[begin:end].strip())
        text = text[end:]
    return found


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
    if options := _options(table):
        made += f" WITH ({', '.join(options)})"
    lines = [made + ";"]
    lines += [_index_text(name, index) for index in table.indexes]
    return "\n".join(lines)


def _options(table: Any) -> list[str]:
    """Returns the options of a table that are not the default, but for the
    sizes of its regions."""
    repeats = "true" if table.keys_repeat else "false"
    found = [
        ("codec", table.codec, "raw"),
        ("cell_bytes", table.cell_bytes, 0),
        ("full", table.full, "drop_oldest"),
        ("keys_repeat", repeats, "false"),
        ("store", table.store, ""),
        ("k_percent", table.k_percent, 0),
        ("live_percent", table.live_percent, 0),
        ("index_keys", table.index_keys, 0),
        ("version", table.version, 0),
    ]
    known = OPTIONS[table.kind]
    return [
        f"{name} = {value}"
        for name, value, default in found
        if name in known and value != default
    ]


def _index_text(name: str, index: Index) -> str:
    if index.kind == "sorted":
        return (
            f"CREATE INDEX ON {name} USING SORTED ({_name(index.column)}) "
            f"WITH (entries = {index.entries}, fan = {index.fan});"
        )
    edges = ""
    if index.edges is not None:
        edges = f", edges = ({', '.join(map(repr, index.edges))})"
    return (
        f"CREATE INDEX ON {name} ({_name(index.column)}) "
        f"WITH (bitmap = {index.bitmap}{edges});"
    )


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
    if column.mode:
        mode, colon, decimals = column.mode.partition(":")
        text += f" PACK {mode}" + (f"({decimals})" if colon else "")
    return text


def _name(name: str) -> str:
    """Returns a name as SQL writes it."""
    if name.isidentifier() and name.isascii() and name.upper() not in _KEPT:
        return name
    return '"' + name.replace('"', '""') + '"'


_KEPT = {word for words in (*_WORDS, *STATEMENTS) for word in words.split()}


class _Opened:
    """The tables of an image, which is opened again when one is changed."""

    def __init__(self, image: Path) -> None:
        self._image = image
        self._open(True)

    def _open(self, read_only: bool) -> None:
        with ExitStack() as stack:
            volume = eskerdb.open(self._image, read_only=read_only)
            stack.enter_context(volume)
            self.database = stack.enter_context(Database(volume))
            self._stack = stack.pop_all()
        self._is_read_only = read_only

    def to_change(self) -> None:
        """Lets the tables be changed. Raises DeviceError, ReadOnly."""
        if not self._is_read_only:
            return
        self._stack.close()
        try:
            self._open(False)
        except BaseException:
            self._open(True)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()


class _Shell:
    """What the shell is set to, and what it does with a text."""

    def __init__(
        self, opened: _Opened, form: str, is_interactive: bool
    ) -> None:
        self._opened = opened
        self._form = form
        self._has_timer = self._has_reads = is_interactive
        self._has_batches = False
        self.has_failed = False
        self._values: dict[str, str] = {}

    def run(self, texts: Iterator[str]) -> None:
        for text in texts:
            for part in parts(text):
                if not part.startswith("."):
                    self._statement(part)
                elif not self._command(*part.split()):
                    return

    def _statement(self, sql: str) -> None:
        if not sql.isascii() and NO_UTF8.search(sql):
            self._complain("the statement has bytes that are not UTF-8")
            return
        reads, start = 0, time.perf_counter()
        try:
            if changes(sql):
                self._opened.to_change()
            reads = self._database.page_reads
            values = self._given(sql)
            self.has_failed |= (
                run(
                    self._database,
                    sql,
                    self._form,
                    _ROWS,
                    values=values,
                    in_batches=self._has_batches,
                )
                != 0
            )
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

    def _given(self, sql: str) -> dict[str, str]:
        """Returns the values of the statement's parameters."""
        try:
            names = {t.value for t in tokens(Source(sql)) if t.kind == "param"}
        except Refusal:
            return {}
        return {n: v for n, v in self._values.items() if n in names}

    @property
    def _database(self) -> Database:
        return self._opened.database

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
        elif name == ".param":
            self._parameter(words)
        elif name in (".timer", ".reads", ".batches"):
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

    def _parameter(self, words: tuple[str, ...]) -> None:
        name = words[0].removeprefix(":") if words else ""
        if not words:
            for known, value in self._values.items():
                print(f":{known} {value}")
        elif not name.isidentifier():
            self._complain(f"no parameter has the name '{name}'")
        elif len(words) > 1:
            self._values[name] = " ".join(words[1:])
        elif self._values.pop(name, None) is None:
            self._complain(f":{name} has no value{nearest(name, self._values)}")

    def _switch(self, name: str, words: tuple[str, ...]) -> None:
        if words not in (("on",), ("off",)):
            self._complain(f"write {name} on, or {name} off")
            return
        setattr(self, f"_has_{name[1:]}", words == ("on",))


def _piped(lines: Iterable[bytes]) -> Iterator[str]:
    """Yields the statements and commands of a text; what is not UTF-8 has
    surrogates."""
    text = ""
    for line in lines:
        text += line.decode(errors="surrogateescape")
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

    known = completions(database)

    class Words(Completer):
        def get_completions(self, document: Any, event: Any) -> Any:
            begun, found = matching(known, document.text_before_cursor)
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
    known = [*_HELP, *STATEMENTS, *_WORDS]
    for name, table in database.tables.items():
        known.append(_name(name))
        if not isinstance(table, Kv):
            known += map(_name, names_of(table))
    return sorted(set(known), key=str.lower)


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
