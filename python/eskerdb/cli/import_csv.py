# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""`esker import IMAGE TABLE CSV`: rows of a CSV file into a table.

Rows go in one by one in the file's order; into a tree in any order of keys.
Into a wandering or mu tree they go through a write cache. The first line that
cannot be taken ends the import: the rows before it are synced, and the message
names file, line and column, the text, and what to do.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
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

from eskerdb._esker import lib
from eskerdb.catalog import MOVING_STORES
from eskerdb.cli.arguments import Image, geometry_of
from eskerdb.cli.csv_file import CsvFile, Fault, infer, parse
from eskerdb.cli.output import complain, console, count
from eskerdb.cli.output import size as size_text
from eskerdb.device import Geometry, ImageFile, Simulator
from eskerdb.errors import EskerError, Exists, Invalid, OutOfOrder, error
from eskerdb.schema import TYPES, Column, Index
from eskerdb.series import Series
from eskerdb.tree import Tree
from eskerdb.volume import Volume

_BATCH_ROWS = 2048
_FRAMES = 255  # of a moving tree: the most there can be


class Kind(str, Enum):
    """Kinds of tables."""

    series = "series"
    tree = "tree"


class Store(str, Enum):
    """Where a tree's nodes live."""

    inplace = "inplace"
    journaled = "journaled"
    wandering = "wandering"
    mu = "mu"


class Duplicates(str, Enum):
    """What a row does whose key is in the tree already."""

    update = "update"
    refuse = "refuse"


@dataclass
class Create:
    """What --create was told."""

    kind: Kind
    store: Store
    k_percent: int

    key: str | None
    types: dict[str, str]
    units: dict[str, str]
    indexes: list[str]


Table = Annotated[
    str, typer.Argument(metavar="TABLE", help="Table to write to.")
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
KindOf = Annotated[
    Kind | None,
    typer.Option(
        "--kind",
        help="series: keys rise; tree: any order, each key once. Without it "
        "series.",
    ),
]
StoreOf = Annotated[
    Store | None,
    typer.Option(
        "--store",
        help="Where a tree's nodes live; inplace and journaled need a medium "
        "that overwrites. Without it mu.",
    ),
]
K = Annotated[
    int | None,
    typer.Option(
        "--k",
        metavar="PERCENT",
        min=10,
        max=90,
        help="mu: a leaf's share of a page; without it 50.",
    ),
]
OnDuplicates = Annotated[
    Duplicates | None,
    typer.Option(
        "--duplicates",
        help="A row whose key is in the tree: it replaces the row there, or "
        "ends the import. Without it update.",
    ),
]
Size = Annotated[
    str | None, typer.Option(help="Size of a new image; without it 16M.")
]
Page = Annotated[
    int | None,
    typer.Option(
        help="Bytes a page of a new image; without it 256, for a tree 2048."
    ),
]
Block = Annotated[
    str | None,
    typer.Option(
        help="Bytes an erase block of a new image; without it 4K, for a tree "
        "64K."
    ),
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
    size: Size = None,
    page: Page = None,
    block: Block = None,
    part: Part = None,
    resume: Resume = False,
    kind: KindOf = None,
    store: StoreOf = None,
    k: K = None,
    duplicates: OnDuplicates = None,
) -> None:
    """Put the rows of a CSV file into a table of an image."""
    given = key is not None or types or units or indexes or kind or store or k
    if given and not create:
        raise typer.BadParameter(
            "--kind, --store, --k, --key, --type, --unit and --index need "
            "--create"
        )
    _check_kind(kind or Kind.series, store, k, indexes)
    wanted = Create(
        kind or Kind.series,
        store or Store.mu,
        k or 0,
        key,
        _pairs("--type", types),
        _pairs("--unit", units),
        indexes or [],
    )
    try:
        source = CsvFile(file)
        shape = _Shape(size, page, block, part)
        new = create and not image.exists()
        with _device(image, create, kind, shape) as device:
            with _kept_if_made(image, new):
                volume = _mount(device, create)
                if create:
                    _create(volume, table, source, wanted)
            with _open(volume, table) as opened:
                _check_options(opened, resume, duplicates)
                refuse = duplicates is Duplicates.refuse
                done = _Import(opened, source, resume, refuse).run(console())
    except Fault as fault:
        complain(str(fault))
        raise typer.Exit(1) from None
    console().print(
        f"{count(done, 'row')} imported into {image}, table {table}"
    )


def _check_kind(
    kind: Kind, store: Store | None, k: int | None, indexes: list[str] | None
) -> None:
    """Raises BadParameter when options of one kind are given for another."""
    if kind is Kind.series and (store or k):
        raise typer.BadParameter("--store and --k need --kind tree")
    if kind is Kind.tree and indexes:
        raise typer.BadParameter("--index is for series; a tree has its key")
    if k and store not in (None, Store.mu):
        raise typer.BadParameter("--k is for --store mu")


def _check_options(
    table: Series | Tree, resume: bool, duplicates: Duplicates | None
) -> None:
    """Raises BadParameter when the table is of the other kind."""
    if isinstance(table, Tree) and resume:
        raise typer.BadParameter(
            f"--resume is for series; tree '{table.name}' takes rows again"
        )
    if isinstance(table, Series) and duplicates:
        raise typer.BadParameter(
            f"--duplicates is for trees; '{table.name}' is a series"
        )


def _open(volume: Volume, table: str) -> Series | Tree:
    """Opens a table to write many rows: what later ones replace waits in RAM,
    where the store lets it."""
    if volume.table(table).store not in MOVING_STORES:
        return volume.open_table(table)
    return volume.open_tree(table, frames=_FRAMES, write_frames=_FRAMES - 2)


# The image ------------------------------------------------------------------


@dataclass
class _Shape:
    """What a new image was asked to be like; None: not said."""

    size: str | None
    page: int | None
    block: str | None
    part: str | None

    def geometry(self, kind: Kind | None) -> Geometry:
        """Returns the geometry. Raises BadParameter, NotFound."""
        if self.part is not None:
            with Simulator(self.part) as chip:
                return chip.geometry
        # A page holds a node, or in a mu tree a whole path of them.
        tree = kind is Kind.tree
        page = (2048 if tree else 256) if self.page is None else self.page
        block = self.block or ("64K" if tree else "4K")
        return geometry_of(page, block, self.size or "16M")

    def check(self, image: ImageFile, kind: Kind | None) -> None:
        """Raises GeometryError where an image is not as it was asked to be."""
        there, asked = image.geometry, self.geometry(kind)
        differs = (
            (self.part is not None and there != asked)
            or (self.size is not None and there.bytes != asked.bytes)
            or (self.page is not None and there.page_bytes != asked.page_bytes)
            or (
                self.block is not None
                and there.block_bytes != asked.block_bytes
            )
        )
        if differs:
            raise error(
                lib.ESK_E_GEOMETRY,
                image.name,
                "leave --size, --page, --block and --part out, or name "
                "another file",
                f"it is there already: {size_text(there.bytes)} in blocks of "
                f"{size_text(there.block_bytes)} and pages of "
                f"{size_text(there.page_bytes)}",
            )


def _device(
    image: Path, create: bool, kind: Kind | None, shape: _Shape
) -> ImageFile:
    """Opens the image, or makes a new one under --create."""
    if not image.exists() and create:
        return ImageFile(image, shape.geometry(kind), create=True)
    device = ImageFile(image)
    if create:
        shape.check(device, kind)
    return device


@contextmanager
def _kept_if_made(image: Path, new: bool) -> Iterator[None]:
    """Removes a new image whose table could not be made."""
    try:
        yield
    except BaseException:
        if new:
            image.unlink(missing_ok=True)
        raise


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
    if wanted.kind is Kind.tree:
        volume.create_tree(
            table,
            columns,
            key=wanted.key,
            store=wanted.store.value,
            k_percent=wanted.k_percent,
        )
        return
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
    text = f"for text with --type {name}=var"
    if wanted.kind is Kind.tree:
        text = (
            f"for hexadecimal digits with --type {name}=bytes:N; a tree "
            "has no column for text"
        )
    if not kind:
        kind = infer(source, position, text)
    if kind == "var" and wanted.kind is Kind.tree:
        raise source.fault(
            1,
            "a tree has no column for text; take bytes:N in hexadecimal, "
            "leave it out, or make a series",
            name,
        )
    if kind not in TYPES or (
        width and not (kind == "bytes" and width.isascii() and width.isdigit())
    ):
        raise typer.BadParameter(
            f"--type {name}={wanted.types.get(name, kind)}: choose one of "
            f"{', '.join(TYPES)}; bytes takes its width: bytes:6"
        )
    return Column(name, kind, wanted.units.get(name, ""), int(width or 0))


# The rows -------------------------------------------------------------------


class _Import:
    """One run: rows are parsed, gathered, and written in batches.

    resume   series: skip rows up to the newest key
    refuse   trees: a key that is there already ends the import
    """

    def __init__(
        self,
        table: Series | Tree,
        source: CsvFile,
        resume: bool,
        refuse: bool,
    ) -> None:
        self.table = table
        self.source = source
        self.refuse = refuse
        self.order = source.match(table.codec)
        self.done = 0
        self.above = None
        if isinstance(table, Tree):
            self.write = table.insert_many if refuse else table.put_many
        else:
            self.write = table.append_many
            newest = table.newest() if resume else None
            self.above = None if newest is None else newest[table.key.name]

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
                    self._write(rows, lines)
                    progress.update(task, completed=self.source.position)
            except Fault as fault:
                raise self._stopped(fault) from None
            except KeyboardInterrupt:
                fault = Fault(f"{self.source.path}: interrupted")
                raise self._stopped(fault) from None
        self.table.sync()
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
        return row[self.table.columns.index(self.table.key)] <= self.above

    def _write(self, rows: list[Any], lines: list[int]) -> None:
        """Writes a batch. Raises Fault at the line that was refused."""
        try:
            self.done += self.write(rows)
            return
        except EskerError as failure:
            cause = failure
        accepted = cause.appended
        self.done += accepted
        at = min(accepted, len(lines) - 1)
        key = self.table.key
        value = rows[at][self.table.columns.index(key)]
        if isinstance(value, bytes):
            value = value.hex()
        column: str | None = key.name
        if isinstance(cause, OutOfOrder):
            what = self._out_of_order(value)
        elif isinstance(cause, Exists):
            what = (
                f"key '{value}' is there already; leave each key once, or "
                "let --duplicates update replace it"
            )
        elif isinstance(cause, Invalid):
            what = f"key '{value}' cannot be sorted; correct the line"
        else:
            what, column = str(cause), getattr(cause, "column", None)
        raise self.source.fault(lines[at], what, column)

    def _out_of_order(self, value: Any) -> str:
        name = self.table.key.name
        newest = self.table.newest()
        last = newest[name] if newest else None
        return (
            f"key '{value}' is not above the newest, {last}; sort the file "
            f"by '{name}' and leave each key once"
            + ("" if self.done else ", or --resume after the newest key")
        )

    def _stopped(self, fault: Fault) -> Fault:
        """Syncs what went in and adds that to the message."""
        try:
            self.table.sync()
        except EskerError as failure:
            return Fault(f"{fault}; and then {failure}")
        again = "then import again"
        if self.done and isinstance(self.table, Series):
            again += " with --resume"
        elif self.done and self.refuse:
            again = "then import the lines from there on"
        return Fault(
            f"{fault}; {again}\n"
            f"{count(self.done, 'row')} before it imported and synced"
        )
