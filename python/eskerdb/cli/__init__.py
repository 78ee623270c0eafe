# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The command `esker`, one file a command: demo, create, import, query, info,
verify, inspect, plan, header; drop and delete share one.

Exit status: 0 done, 1 something was refused or failed (said on stderr, with
what to do), 2 the command line is wrong.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

import typer

import eskerdb
from eskerdb.cli.output import complain
from eskerdb.errors import EskerError

_COMMANDS = {  # in the order of the help: the module, and its function
    "demo": ("demo", "demo"),
    "create": ("create", "create"),
    "import": ("import_csv", "import_csv"),
    "delete": ("delete", "delete"),
    "drop": ("delete", "drop"),
    "query": ("query", "query"),
    "info": ("info", "info"),
    "verify": ("verify", "verify"),
    "inspect": ("inspect", "inspect"),
    "plan": ("plan", "plan"),
    "header": ("header", "header"),
}


def _app(first: str) -> typer.Typer:
    """Makes the command line; only the command `first`, where it is one, so
    that nothing else is loaded."""
    app = typer.Typer(
        name="esker",
        help="EskerDB: the database for flash memory, on the host.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(options)
    for name in (first,) if first in _COMMANDS else _COMMANDS:
        module, function = _COMMANDS[name]
        found = import_module(f"eskerdb.cli.{module}")
        app.command(name)(getattr(found, function))
    return app


def _version(show: bool) -> None:
    if show:
        typer.echo(f"esker {eskerdb.__version__}")
        raise typer.Exit()


def options(
    version: bool = typer.Option(
        False,
        "--version",
        callback=_version,
        is_eager=True,
        help="Show the version and exit.",
    ),
) -> None:
    """EskerDB: the database for flash memory, on the host."""


def main() -> None:
    """Runs the command line; what fails becomes one clear line."""
    try:
        _app(sys.argv[1] if len(sys.argv) > 1 else "")()
    except EskerError as failure:
        complain(str(failure))
        sys.exit(1)
    except BrokenPipeError:
        # A reader such as head has gone.
        _drop_output()
        sys.exit(1)
    except OSError as failure:
        what = failure.strerror or str(failure)
        complain(f"{failure.filename or 'the output'}: {what}")
        _drop_output()
        sys.exit(1)


def _drop_output() -> None:
    """Has what was printed and cannot be written go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
