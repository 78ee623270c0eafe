# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""`esker import IMAGE TABLE CSV`: rows of a CSV file into a table.

Rows go in one by one in the file's order. The first line that cannot be
taken ends the import: the rows before it are synced, and the message names
file, line and column, the text, and what to do.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from eskerdb.cli.arguments import Image, size_bytes
from eskerdb.cli.csv_file import CsvFile, Fault, infer, parse
from eskerdb.cli.output import complain, console, count
from eskerdb.device import Geometry, ImageFile, Simulator
from eskerdb.errors import EskerError, OutOfOrder
from eskerdb.schema import TYPES, Column, Index
from eskerdb.series import Series
from eskerdb.volume import Volume

_BATCH_ROWS = 2048


@dataclass
class Create:
    """What --create was told."""

    key: str | None
    types: dict[str, str]
    units: dict[str, str]
    indexes: list[str]


Table = Annotated[
    str, typer.Argument(metavar="TABLE", help="Table to append to.")
]
Csv = Annotated[
    Path, typer.Argument(metavar="CSV", help="CSV file with a header.")
]
MakeIt = Annotated[
    bool,
    typer.Option(
        "--create", help="Make the table, and the image if there is none."
    ),
]
Key = Annotated[
    str | None,
    typer.Option(metavar="COL", help="Key column; without it the first."),
]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        metavar="COL=TYPE",
        help="i8..i64, u8..u64, f32, f64, bytes:N (hex), var; without it i64 "
        "or f64, as line 2 looks.",
    ),
]
Units = Annotated[
    list[str] | None,
    typer.Option("--unit", metavar="COL=UNIT", help="A column's unit."),
]
Indexes = Annotated[
    list[str] | None,
    typer.Option("--index", metavar="COL", help="Index values of COL."),
]
Size = Annotated[str, typer.Option(help="Size of a new image.")]
Page = Annotated[int, typer.Option(help="Bytes a page of a new image.")]
Block = Annotated[
    str, typer.Option(help="Bytes an erase block of a new image.")
]
Part = Annotated[
    str | None,
    typer.Option(help="Take a new image's geometry from this part."),
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Skip rows up to the newest key.")
]


def import_csv(
    image: Image,
    table: Table,
    file: Csv,
    create: MakeIt = False,
    key: Key = None,
    types: Types = None,
    units: Units = None,
    indexes: Indexes = None,
    size: Size = "16M",
    page: Page = 256,
    block: Block = "4K",
    part: Part = None,
    resume: Resume = False,
) -> None:
    """Append the rows of a CSV file to a table of an image."""
    given = key is not None or types or units or indexes
    if given and not create:
        raise typer.BadParameter(
            "--key, --type, --unit and --index need --create"
        )
    wanted = Create(
        key, _pairs("--type", types), _pairs("--unit", units), indexes or []
    )
    try:
        source = CsvFile(file)
        with _device(image, create, size, page, block, part) as device:
            volume = _mount(device, create)
            if create:
                _create(volume, table, source, wanted)
            with volume.open(table) as series:
                done = _Import(series, source, resume).run(console())
    except Fault as fault:
        complain(str(fault))
        raise typer.Exit(1) from None
    console().print(
        f"{count(done, 'row')} imported into {image}, table {table}"
    )


# The image ------------------------------------------------------------------


def _device(
    image: Path,
    create: bool,
    size: str,
    page: int,
    block: str,
    part: str | None,
) -> ImageFile:
    """Opens the image, or makes a new one under --create."""
    if image.exists() or not create:
        return ImageFile(image)
    if part is not None:
        with Simulator(part) as chip:
            return ImageFile(image, chip.geometry, create=True)
    block_bytes = size_bytes(block)
    if page < 1 or block_bytes < page or block_bytes % page:
        raise typer.BadParameter(f"--block {block}: not whole pages of {page}")
    geometry = Geometry(
        block_count=size_bytes(size) // block_bytes,
        block_pages=block_bytes // page,
        page_bytes=page,
    )
    return ImageFile(image, geometry, create=True)


def _mount(device: ImageFile, create: bool) -> Volume:
    """Mounts; a new image is all erased and is formatted first."""
    if create and _is_blank(device):
        return Volume.format(device)
    return Volume.mount(device)


def _is_blank(device: ImageFile) -> bool:
    geometry = device.geometry
    erased = bytes([geometry.erased_value]) * geometry.page_bytes
    pages = min(geometry.pages, 64 * geometry.block_pages)
    return all(device.read_page(number) == erased for number in range(pages))


# The table ------------------------------------------------------------------


def _pairs(option: str, given: list[str] | None) -> dict[str, str]:
    """Reads COL=VALUE options. Raises BadParameter."""
    result = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{option} {text}: write COL=VALUE")
        result[name] = value
    return result


def _create(
    volume: Volume, table: str, source: CsvFile, wanted: Create
) -> None:
    """Creates the table that the header and the options describe."""
    named = [*wanted.types, *wanted.units, *wanted.indexes]
    for name in named + ([wanted.key] if wanted.key else []):
        if name not in source.header:
            raise source.fault(
                1,
                f"no column '{name}'; the header has "
                f"{', '.join(source.header)}",
            )
    columns = [
        _column(source, position, name, wanted)
        for position, name in enumerate(source.header)
    ]
    volume.create(
        table,
        columns,
        key=wanted.key,
        indexes=[Index(name) for name in wanted.indexes],
    )


def _column(
    source: CsvFile, position: int, name: str, wanted: Create
) -> Column:
    kind, _, width = wanted.types.get(name, "").partition(":")
    if not kind:
        kind = infer(source, position)
    if kind not in TYPES or (width and not width.isdigit()):
        raise typer.BadParameter(
            f"--type {name}={wanted.types.get(name, kind)}: choose one of "
            f"{', '.join(TYPES)}; bytes takes its width: bytes:6"
        )
    return Column(name, kind, wanted.units.get(name, ""), int(width or 0))


# The rows -------------------------------------------------------------------


class _Import:
    """One run: rows are parsed, gathered, and appended in batches."""

    def __init__(self, series: Series, source: CsvFile, resume: bool) -> None:
        self.series = series
        self.source = source
        self.order = source.match(series.codec)
        self.done = 0
        newest = series.newest() if resume else None
        self.above = None if newest is None else newest[series.key.name]

    def run(self, out: Console) -> int:
        """Imports; returns the rows imported. Raises Fault."""
        with Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("bytes"),
            TimeRemainingColumn(),
            console=out,
            transient=True,
            disable=not sys.stdout.isatty(),
        ) as progress:
            task = progress.add_task(
                f"import {self.source.name}", total=self.source.size
            )
            try:
                for rows, lines in self._batches():
                    self._append(rows, lines)
                    progress.update(task, completed=self.source.position)
            except Fault as fault:
                raise self._stopped(fault) from None
        self.series.sync()
        return self.done

    def _batches(self) -> Iterator[tuple[list[Any], list[int]]]:
        """Yields rows and their line numbers, the ones before a fault too."""
        rows: list[Any] = []
        lines: list[int] = []
        try:
            for line, fields in self.source.rows():
                row = [
                    parse(self.source, line, column, fields[position])
                    for column, position in self.order
                ]
                if self._skipped(row):
                    continue
                rows.append(row)
                lines.append(line)
                if len(rows) == _BATCH_ROWS:
                    yield rows, lines
                    rows, lines = [], []
        except Fault as fault:
            yield rows, lines
            raise fault from None
        yield rows, lines

    def _skipped(self, row: list[Any]) -> bool:
        if self.above is None:
            return False
        return row[self.series.columns.index(self.series.key)] <= self.above

    def _append(self, rows: list[Any], lines: list[int]) -> None:
        """Appends a batch. Raises Fault at the line that was refused."""
        try:
            self.done += self.series.append_many(rows)
            return
        except EskerError as failure:
            cause = failure
        accepted = cause.appended
        self.done += accepted
        line = lines[min(accepted, len(lines) - 1)]
        if isinstance(cause, OutOfOrder):
            raise self._out_of_order(rows, accepted, line)
        column = getattr(cause, "column", None)
        raise self.source.fault(line, str(cause), column)

    def _out_of_order(self, rows: list[Any], at: int, line: int) -> Fault:
        key = self.series.key
        position = self.series.columns.index(key)
        value = rows[at][position]
        newest = self.series.newest()
        last = newest[key.name] if newest else None
        return self.source.fault(
            line,
            f"key '{value}' is not above the newest, {last}; sort the file "
            f"by '{key.name}' and leave each key once"
            + ("" if self.done else ", or --resume after the newest key"),
            key.name,
        )

    def _stopped(self, fault: Fault) -> Fault:
        """Syncs what went in and adds that to the message."""
        try:
            self.series.sync()
        except EskerError as failure:
            return Fault(f"{fault}; and then {failure}")
        again = "then import again"
        if self.done:
            again += " with --resume"
        return Fault(
            f"{fault}; {again}\n"
            f"{count(self.done, 'row')} before it imported and synced"
        )
