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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from eskerdb._esker import ffi, lib
from eskerdb.catalog import MOVING_STORES
from eskerdb.cli.arguments import Image, geometry_of, part_geometry
from eskerdb.cli.csv_file import Batch, CsvFile, Fault, Refused
from eskerdb.cli.output import complain, console, count
from eskerdb.cli.output import size as size_text
from eskerdb.device import Geometry, ImageFile
from eskerdb.errors import EskerError, Exists, Invalid, OutOfOrder, error
from eskerdb.schema import TYPES, Column, Index
from eskerdb.series import Series
from eskerdb.tree import Tree
from eskerdb.volume import Volume

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
    blocks: int
    key: str | None
    types: dict[str, str]
    units: dict[str, str]
    indexes: list[str]


Table = Annotated[
    str, typer.Argument(metavar="TABLE", help="Table to write to.")
]
Csv = Annotated[
    Path,
    typer.Argument(
        metavar="CSV", help="CSV file with a header; - is standard input."
    ),
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
        help="i8..i64, u8..u64, f32, f64, text, bytes:N (hex), var (\\x and "
        "hex, or text); without it i64, u64 or f64, as all rows are.",
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
Blocks = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Erase blocks for the table's rows; without it what is free.",
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
    typer.Option(
        help="Take a new image's pages and blocks from this part, and without "
        "--size its size."
    ),
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
    blocks: Blocks = None,
) -> None:
    """Put the rows of a CSV file into a table of an image."""
    given = key is not None or types or units or indexes or kind or store or k
    if (given or blocks) and not create:
        raise typer.BadParameter(
            "--kind, --store, --k, --key, --type, --unit, --index and "
            "--blocks need --create"
        )
    _check_kind(kind or Kind.series, store, k, indexes)
    wanted = Create(
        kind or Kind.series,
        store or Store.mu,
        k or 0,
        blocks or 0,
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
            made = _Made(volume, table, create, image if new else None)
            with made.or_nothing(), _open(volume, table) as opened:
                _check_options(opened, resume, duplicates)
                refuse = duplicates is Duplicates.refuse
                done = _Import(opened, source, resume, refuse, create).run()
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
            return part_geometry(self.part, self.size)
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


@dataclass
class _Made:
    """A table, whether it was made for this import, and a new image."""

    volume: Volume
    table: str
    made: bool
    image: Path | None

    @contextmanager
    def or_nothing(self) -> Iterator[None]:
        """Drops a new table when a line of the file cannot be read by it."""
        try:
            yield
        except Refused:
            raise
        except Fault as fault:
            if not self.made:
                raise
            self.volume.drop(self.table)
            if self.image is not None:
                self.image.unlink(missing_ok=True)
            raise Fault(
                f"{fault}; nothing was imported, and table '{self.table}' was "
                "not made"
            ) from None


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
    if table in volume:
        raise error(
            lib.ESK_E_EXISTS,
            f"{volume.device.name}: create table '{table}'",
            "leave --create out to add rows to it, or drop it first",
        )
    named = [*wanted.types, *wanted.units, *wanted.indexes]
    for name in named + ([wanted.key] if wanted.key else []):
        if name not in source.header:
            raise source.fault(
                1,
                f"no column '{name}'; the header has "
                f"{', '.join(source.header)}",
            )
    text = "for text with --type {0}=text"
    if wanted.kind is Kind.tree:
        text = (
            "for hexadecimal digits with --type {0}=bytes:N; a tree has no "
            "column for text"
        )
    types = source.kinds(wanted.types, text) | wanted.types
    columns = [
        _column(source, name, types[name], wanted) for name in source.header
    ]
    if wanted.kind is Kind.tree:
        volume.create_tree(
            table,
            columns,
            key=wanted.key,
            store=wanted.store.value,
            k_percent=wanted.k_percent,
            blocks=wanted.blocks,
        )
        return
    volume.create(
        table,
        columns,
        key=wanted.key,
        data_blocks=wanted.blocks,
        indexes=[Index(name) for name in wanted.indexes],
    )


def _column(source: CsvFile, name: str, type: str, wanted: Create) -> Column:
    kind, _, width = type.partition(":")
    if kind in ("var", "text") and wanted.kind is Kind.tree:
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
            f"--type {name}={type}: choose one of "
            f"{', '.join(TYPES)}; bytes takes its width: bytes:6"
        )
    return Column(name, kind, wanted.units.get(name, ""), int(width or 0))


# The rows -------------------------------------------------------------------


@contextmanager
def _progress(source: CsvFile) -> Iterator[Callable[[int], None]]:
    """Shows on a terminal how many bytes of the file were read."""
    if not sys.stdout.isatty():
        yield lambda position: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("bytes"),
        TimeRemainingColumn(),
        console=console(),
        transient=True,
    ) as progress:
        task = progress.add_task(f"import {source.name}", total=source.size)
        yield lambda position: progress.update(task, completed=position)


class _Import:
    """One run: rows are parsed, gathered, and written in batches.

    resume   series: skip rows up to the newest key
    refuse   trees: a key that is there already ends the import
    made     the table was made for this import: a line that it cannot be
             read by leaves no table
    """

    def __init__(
        self,
        table: Series | Tree,
        source: CsvFile,
        resume: bool,
        refuse: bool,
        made: bool,
    ) -> None:
        self.table = table
        self.source = source
        self.refuse = refuse
        self.made = made
        self.done = 0
        self.above = None
        if isinstance(table, Tree):
            self.write = table._insert if refuse else table._write
        else:
            self.write = table._write
            newest = table.newest() if resume else None
            self.above = None if newest is None else newest[table.key.name]

    def run(self) -> int:
        """Imports; returns the rows imported. Raises Fault."""
        with _progress(self.source) as show:
            try:
                for batch in self.source.batches(self.table.codec):
                    kept = self._kept(batch)
                    if kept.count:
                        self._write(kept)
                    show(self.source.position)
            except Fault as fault:
                if self.made and not isinstance(fault, Refused):
                    raise
                raise self._stopped(fault) from None
            except KeyboardInterrupt:
                fault = Refused(f"{self.source.path}: interrupted")
                raise self._stopped(fault) from None
        self.table.sync()
        return self.done

    def _kept(self, batch: Batch) -> Batch:
        """Returns the rows of a batch that --resume does not skip."""
        if self.above is None:
            return batch
        codec = self.table.codec
        width = codec.row_bytes
        rows, values = batch.rows, batch.values
        packed, kept, ends, lines = bytearray(), bytearray(), [], []
        for i in range(batch.count):
            row = rows[i * width : (i + 1) * width]
            if codec.unpack(row)[self.table.key.name] <= self.above:
                continue
            packed += row
            if codec.var_index is not None:
                start = batch.ends[i - 1] if i else 0
                kept += values[start : batch.ends[i]]
            ends.append(len(kept))
            lines.append(batch.lines[i])
        return Batch(
            packed, len(lines), kept,
            ffi.new("uint64_t[]", ends), ffi.new("uint32_t[]", lines),
        )  # fmt: skip

    def _write(self, batch: Batch) -> None:
        """Writes a batch. Raises Fault at the line that was refused."""
        try:
            self.done += self.write(
                batch.rows, batch.count, batch.values, batch.ends, self.done
            )
            return
        except EskerError as failure:
            cause = failure
        accepted = cause.appended
        self.done += accepted
        at = min(accepted, batch.count - 1)
        key = self.table.key
        width = self.table.codec.row_bytes
        row = batch.rows[at * width : (at + 1) * width]
        value = self.table.codec.unpack(row)[key.name]
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
        raise self.source.fault(batch.lines[at], what, column, Refused)

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
            return Refused(f"{fault}; and then {failure}")
        again = "then import again"
        if self.done and isinstance(self.table, Series):
            again += " with --resume"
        elif self.done and self.refuse:
            again = "then import the lines from there on"
        return Refused(
            f"{fault}; {again}\n"
            f"{count(self.done, 'row')} before it imported and synced"
        )
