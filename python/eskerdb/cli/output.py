# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""How the commands print: in the same form with and without a terminal."""

from __future__ import annotations

import re
import sys
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
PLAIN_WIDTH = 100
_SPECIAL = re.compile(r'[",\r\n\0]')


def quoted(text: str) -> str:
    """Returns a cell of CSV: quoted if it is empty or cannot be read back
    without quotes."""
    if text and text == text.strip() and not _SPECIAL.search(text):
        return text
    return '"' + text.replace('"', '""') + '"'


def console() -> Console:
    """Returns a console on stdout; of fixed width where it is no terminal."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else PLAIN_WIDTH
    return Console(width=width, highlight=False)


def complain(message: str) -> None:
    """Prints an error on stderr, as one line that is not wrapped."""
    _say("error: ", "bold red", message)


def warn(message: str) -> None:
    """Prints a warning on stderr."""
    _say("warning: ", "bold yellow", message)


def _say(kind: str, style: str, message: str) -> None:
    from rich.console import Console
    from rich.text import Text

    out = Console(stderr=True, highlight=False, soft_wrap=True)
    out.print(Text.assemble((kind, style), message))


def grid(title: str | None = None) -> Table:
    """Returns a table of names and values, without a head."""
    from rich.table import Table

    table = Table(
        title=title, title_justify="left", show_header=False, box=None
    )
    table.title_style = "bold"
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def sheet(*heads: str, right: tuple[str, ...] = ()) -> Table:
    """Returns a table with a head; columns named in `right` hold numbers."""
    from rich.table import Table

    table = Table(header_style="bold", box=_box(), pad_edge=False)
    for head in heads:
        justify: Any = "right" if head in right else "left"
        table.add_column(head, justify=justify, overflow="fold")
    return table


def _box() -> Any:
    from rich import box

    return box.SIMPLE_HEAD


def count(number: int, noun: str) -> str:
    """Returns "1 row", "2,000 rows"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def size(bytes: int) -> str:
    """Returns a size in bytes for a reader: "16 MiB", "4,096 B"."""
    for bits, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if bytes >= 1 << bits and bytes % (1 << bits) == 0:
            return f"{bytes >> bits:,} {unit}"
    return f"{bytes:,} B"


def instant(value: int, unit: str) -> str:
    """Returns a key for a reader: as a time when its unit is s or ms."""
    factor = {"s": 1000, "ms": 1}.get(unit)
    if factor is None:
        return f"{value:,} {unit}".rstrip()
    try:
        time = _EPOCH + timedelta(milliseconds=value * factor)
    except OverflowError:
        return f"{value:,} {unit}"
    return f"{time:%Y-%m-%d %H:%M:%S}"


def duration(ns: int) -> str:
    """Returns a simulated time for a reader."""
    for factor, unit in ((10**9, "s"), (10**6, "ms"), (10**3, "us")):
        if ns >= factor:
            return f"{ns / factor:,.2f} {unit}"
    return f"{ns} ns"


def key_text(table: Any, row: dict[str, Any]) -> str:
    """Returns the key of a row for a reader; bytes in hexadecimal."""
    value = row[table.key.name]
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, int):
        return instant(value, table.key.unit)
    return f"{value:g} {table.key.unit}".rstrip()


def store_text(tree: Any) -> str:
    """Returns where a tree's nodes live: "mu, k = 50 %"."""
    k = tree.table.k_percent
    return f"{tree.store}, k = {k} %" if k else tree.store
