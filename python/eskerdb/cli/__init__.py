# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The command `esker`, one file a command: demo, create, import, query, shell,
info, verify, salvage, inspect, plan, header, sqlc; drop and delete share one, and
so do get, set and list.

Exit status: 0 done, 1 something was refused or failed (stderr says what, and
what to do), 2 the command line is wrong.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import eskerdb
from eskerdb.cli.output import complain
from eskerdb.errors import EskerError

if TYPE_CHECKING:
    import typer

_ROWS = 40  # of a printed table, as query's --rows
_COMMANDS = {  # in the order of the help: the module, and its function
    "demo": ("demo", "demo"),
    "create": ("create", "create"),
    "import": ("import_csv", "import_csv"),
    "delete": ("delete", "delete"),
    "drop": ("delete", "drop"),
    "get": ("kv", "get"),
    "set": ("kv", "set"),
    "list": ("kv", "list"),
    "query": ("query", "query"),
    "shell": ("shell", "shell"),
    "info": ("info", "info"),
    "verify": ("verify", "verify"),
    "salvage": ("salvage", "salvage"),
    "inspect": ("inspect", "inspect"),
    "plan": ("plan", "plan"),
    "header": ("header", "header"),
    "sqlc": ("sqlc", "sqlc"),
}


def _app(first: str) -> typer.Typer:
    """Makes the command line; only the command `first`, if there is one, so
    that no other module is loaded."""
    import typer

    app = typer.Typer(
        name="esker",
        help="EskerDB: the database for flash memory, on the host.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )

    def show_version(show: bool) -> None:
        if show:
            typer.echo(f"esker {eskerdb.__version__}")
            raise typer.Exit()

    @app.callback()
    def options(
        version: bool = typer.Option(
            False,
            "--version",
            callback=show_version,
            is_eager=True,
            help="Show the version and exit.",
        ),
    ) -> None:
        """EskerDB: the database for flash memory, on the host."""

    for name in (first,) if first in _COMMANDS else _COMMANDS:
        module, function = _COMMANDS[name]
        found = import_module(f"eskerdb.cli.{module}")
        # A value may be a number below zero.
        loose = {"ignore_unknown_options": True} if name == "set" else None
        app.command(name, context_settings=loose)(getattr(found, function))
    return app


def _answer(words: list[str]) -> int | None:
    """Runs `query IMAGE SQL` with --csv, --json or neither, and returns the
    exit status; None: the command is another one. The command line's own
    library takes as long to load as DuckDB."""
    forms = [word for word in words if word in ("--csv", "--json")]
    plain = [
        word for word in words if not word.startswith("-") or _is_comment(word)
    ]
    if len(plain) != 3 or plain[0] != "query" or len(forms) > 1:
        return None
    others = len(forms) + words.count("--")
    if words[0] != "query" or len(words) != len(plain) + others:
        return None
    from eskerdb.cli.answer import answer

    return answer(plain[1], plain[2], "".join(forms).strip("-"), _ROWS)


def _sql_last(words: list[str]) -> list[str]:
    """Returns the words with SQL that begins with a comment, `--`, behind all
    options and a `--`, so that it is taken as none."""
    if words[:1] != ["query"] or "--" in words:
        return words
    texts = [word for word in words if _is_comment(word)]
    rest = [word for word in words if not _is_comment(word)]
    return [*rest, "--", *texts] if texts else words


def _is_comment(word: str) -> bool:
    """Whether a word begins with a comment of SQL: no option has a space
    behind its hyphens, or a line's end before its value."""
    if not word.startswith("--") or word == "--":
        return False
    return not word[2].isalpha() or "\n" in word.partition("=")[0]


def main() -> None:
    """Runs the command line; what fails becomes one clear line."""
    words = _sql_last(sys.argv[1:])
    try:
        status = _answer(words)
        if status is None:
            _app(words[0] if words else "")(words)
        sys.stdout.flush()
        sys.exit(status)
    except EskerError as failure:
        complain(str(failure))
        sys.exit(1)
    except BrokenPipeError:
        # The reader of the pipe, such as head, has ended.
        _drop_output()
        sys.exit(1)
    except OSError as failure:
        what = failure.strerror or str(failure)
        complain(f"{failure.filename or 'the output'}: {what}")
        _drop_output()
        sys.exit(1)


def _drop_output() -> None:
    """Discards the output that cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
