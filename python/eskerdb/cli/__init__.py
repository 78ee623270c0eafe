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

import typer

from eskerdb import __version__
from eskerdb.cli import (
    create,
    delete,
    demo,
    header,
    import_csv,
    info,
    inspect,
    plan,
    query,
    verify,
)
from eskerdb.cli.output import complain
from eskerdb.errors import EskerError

app = typer.Typer(
    name="esker",
    help="EskerDB: the database for flash memory, on the host.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.command("create")(create.create)
app.command("import")(import_csv.import_csv)
app.command("delete")(delete.delete)
app.command("drop")(delete.drop)
app.command("query")(query.query)
app.command("info")(info.info)
app.command("verify")(verify.verify)
app.command("inspect")(inspect.inspect)
app.command("plan")(plan.plan)
app.command("header")(header.header)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"esker {__version__}")
        raise typer.Exit()


@app.callback()
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
        app()
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
