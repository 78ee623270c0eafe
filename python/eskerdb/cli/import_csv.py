# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""`esker import IMAGE TABLE CSV`: rows of a CSV file into a table.

Rows are written one by one in the file's order; a tree takes keys in any order.
A wandering or mu tree is written through a write cache. Kv tables are written
by import_kv.py, of JSON, too. The first line that cannot be imported ends the
import: the rows before it are synced, and the message names file, line and
column, the text, and what to do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from eskerdb._esker import ffi
from eskerdb.catalog import MOVING_STORES
from eskerdb.cli.arguments import Image
from eskerdb.cli.bitmaps import chosen_bitmaps
from eskerdb.cli.csv_file import Batch, CsvFile, Fault, Refused
from eskerdb.cli.import_kv import check_header, import_kv
from eskerdb.cli.json_file import SUFFIXES, JsonFile
from eskerdb.cli.make import (
    Block,
    Blocks,
    Cell,
    Create,
    Indexes,
    IsPacked,
    K,
    Key,
    Kind,
    KindOf,
    Modes,
    Page,
    Part,
    Repeat,
    SchemaVersion,
    Shape,
    Size,
    Store,
    StoreOf,
    Types,
    Units,
    check_kind,
    check_no_columns,
    kept_if_made,
    make_table,
    mount,
    open_image,
    packed_options,
    pairs,
    refuse_existing,
)
from eskerdb.cli.output import complain, console, count
from eskerdb.cli.packing import chosen_modes, packing_advice
from eskerdb.errors import EskerError, Exists, Invalid, NotFound, OutOfOrder
from eskerdb.kv import Kv
from eskerdb.series import Series
from eskerdb.tree import Tree
from eskerdb.volume import Volume

_FRAMES = 255  # of a moving tree: the most there can be


class Duplicates(str, Enum):
    """What happens with a row whose key is already in the tree."""

    update = "update"
    refuse = "refuse"


Table = Annotated[
    str, typer.Argument(metavar="TABLE", help="Table to write to.")
]
Csv = Annotated[
    Path,
    typer.Argument(
        metavar="CSV",
        help="CSV file with a header; - is standard input. For a kv table "
        "also JSON, an object a line, in a file named .json or .jsonl.",
    ),
]
MakeIt = Annotated[
    bool,
    typer.Option(
        "--create", help="Make the table, and the image if there is none."
    ),
]
OnDuplicates = Annotated[
    Duplicates | None,
    typer.Option(
        "--duplicates",
        help="A row whose key is in the tree: update replaces the row there, "
        "refuse ends the import. Default: update.",
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
    keys_repeat: Repeat = False,
    schema_version: SchemaVersion = 0,
    packed: IsPacked = False,
    modes: Modes = None,
    cell: Cell = None,
) -> None:
    """Put the rows of a CSV file into a table of an image.

    Of a kv table: key, value and type (bytes, text, int, signed, float,
    float32, bool); without a type a value of a CSV file is text.
    """
    if not create:
        given = types, units, indexes, blocks, keys_repeat, schema_version
        _check_no_create(key is not None, kind, store, k, packed, *given)
    check_kind(kind or Kind.series, store, k, indexes, keys_repeat)
    check_no_columns(kind or Kind.series, key, types, units)
    wanted = Create(
        kind or Kind.series,
        store or Store.mu,
        k or 0,
        blocks or 0,
        key,
        pairs("--type", types),
        pairs("--unit", units),
        indexes or [],
        keys_repeat,
        schema_version,
        packing=packed_options(kind or Kind.series, packed, modes, cell),
    )
    try:
        source = JsonFile(file) if _is_json(file) else CsvFile(file)
        shape = Shape(size, page, block, part)
        new = create and not image.exists()
        with open_image(image, create, kind, shape) as device:
            with kept_if_made(image, new):
                volume = mount(device, create)
                if create:
                    _make(volume, table, source, wanted)
            made = _Made(volume, table, create, image if new else None)
            with made.or_nothing(), _open(volume, table) as opened:
                done = _fill(opened, source, resume, duplicates, create)
                advice = packing_advice(opened, source) if create else ""
    except Fault as fault:
        complain(str(fault))
        raise typer.Exit(1) from None
    console().print(
        f"{count(done, 'row')} imported into {image}, table {table}"
    )
    if advice:
        console().print(advice, soft_wrap=True)


def _check_no_create(*given: object) -> None:
    """Raises BadParameter if there is an option of --create."""
    if any(given):
        raise typer.BadParameter(
            "--kind, --store, --k, --key, --type, --unit, --index, --blocks, "
            "--keys-repeat, --schema-version and --packed need --create"
        )


def _fill(
    opened: Series | Tree | Kv,
    source: CsvFile | JsonFile,
    resume: bool,
    duplicates: Duplicates | None,
    made: bool,
) -> int:
    """Imports into an open table; returns the rows imported. Raises Fault."""
    _check_options(opened, resume, duplicates)
    if isinstance(opened, Kv):
        return import_kv(opened, source)
    refuse = duplicates is Duplicates.refuse
    return _Import(opened, _csv(source), resume, refuse, made).run()


def _is_json(file: Path) -> bool:
    return file.suffix.lower() in SUFFIXES


def _csv(source: CsvFile | JsonFile) -> CsvFile:
    """Raises Fault for JSON, which only kv tables take."""
    if isinstance(source, JsonFile):
        raise source.fault(1, "JSON is for kv tables; write the rows as CSV")
    return source


def _check_options(
    table: Series | Tree | Kv, resume: bool, duplicates: Duplicates | None
) -> None:
    """Raises BadParameter when the table is of the other kind."""
    if isinstance(table, Tree) and resume:
        raise typer.BadParameter(
            f"--resume is for series; import the rows into tree "
            f"'{table.name}' again without it"
        )
    if isinstance(table, Kv) and (resume or duplicates):
        raise typer.BadParameter(
            f"'{table.name}' is a kv table, whose keys are replaced; leave "
            "--resume and --duplicates out"
        )
    if isinstance(table, Series) and duplicates:
        raise typer.BadParameter(
            f"--duplicates is for trees, but '{table.name}' is a series; leave "
            "it out"
        )


def _open(volume: Volume, table: str) -> Series | Tree | Kv:
    """Opens a table to write many rows: with a write cache, if the store has
    one."""
    try:
        found = volume.table(table)
    except NotFound as failure:
        raise Refused(f"{failure}; --create makes the table") from None
    if found.store not in MOVING_STORES:
        return volume.open_table(table)
    return volume.open_tree(table, frames=_FRAMES, write_frames=_FRAMES - 2)


@dataclass
class _Made:
    """A table; whether this import made it; the image, if that is new."""

    volume: Volume
    table: str
    made: bool
    image: Path | None

    @contextmanager
    def or_nothing(self) -> Iterator[None]:
        """Drops a new table when a line of the file does not fit it."""
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


# The table ------------------------------------------------------------------


def _make(
    volume: Volume, table: str, source: CsvFile | JsonFile, wanted: Create
) -> None:
    """Creates the table that the header and the options describe."""
    refuse_existing(volume, table)
    if wanted.kind is Kind.kv:
        check_header(source)
        make_table(volume, table, {}, wanted)
        return
    source = _csv(source)
    packing = wanted.packing
    named = [*wanted.types, *wanted.units, *wanted.indexes]
    named += packing.modes if packing else []
    for name in named + ([wanted.key] if wanted.key else []):
        if name not in source.header:
            raise source.fault(
                1,
                f"no column '{name}'; the header has "
                f"{', '.join(source.header)}",
            )
    text = "for text with --type {0}=text"
    if wanted.kind is Kind.tree:
        text = "for text of at most N bytes with --type {0}=text:N"
    types = source.kinds(wanted.types, text) | wanted.types
    ordered = {name: types[name] for name in source.header}
    if packing:
        key = wanted.key or source.header[0]
        modes = chosen_modes(source, ordered, key, volume.geometry, packing)
        wanted = replace(wanted, packing=replace(packing, modes=modes))
    page = volume.geometry.page_bytes
    bitmaps = chosen_bitmaps(source, ordered, wanted.indexes, page)
    wanted = replace(wanted, bitmaps=bitmaps)
    make_table(volume, table, ordered, wanted)


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


class OutOfPlace(Refused):
    """A row of a series whose key is not above the newest."""


class _Import:
    """One run: rows are parsed, gathered, and written in batches.

    resume   series: skip rows up to the newest key
    refuse   trees: a key that is there already ends the import
    made     this import made the table: a line that does not fit it removes
             the table
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
        self.newest = None  # key before the import
        if isinstance(table, Tree):
            self.write = table._insert if refuse else table._write
        else:
            self.write = table._write
            newest = table.newest()
            self.newest = None if newest is None else newest[table.key.name]
            self.above = self.newest if resume else None

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
        kind: type[Fault] = Refused
        if isinstance(cause, OutOfOrder):
            what = self._out_of_order(value)
            kind = Fault if self.made else OutOfPlace
        elif isinstance(cause, Exists):
            what = (
                f"key '{value}' is there already; remove one of the rows, or "
                "use --duplicates update"
            )
        elif isinstance(cause, Invalid):
            what = f"key '{value}' has no place in an order; correct the line"
        else:
            what, column = str(cause), getattr(cause, "column", None)
        raise self.source.fault(batch.lines[at], what, column, kind)

    def _out_of_order(self, value: Any) -> str:
        name = self.table.key.name
        newest = self.table.newest()
        last = newest[name] if newest else None
        what = "not above"
        once = " and keep one row of each key, or --create with --keys-repeat"
        if self.table.table.keys_repeat:
            what, once = "below", ""
        return (
            f"key '{value}' is {what} the newest, {last}; sort the file "
            f"by '{name}'{once}"
            + ("" if self.done else ", or --resume after the newest key")
        )

    def _stopped(self, fault: Fault) -> Fault:
        """Syncs the imported rows, and adds their number to the message."""
        try:
            self.table.sync()
        except EskerError as failure:
            return Refused(f"{fault}; and then {failure}")
        again = "then import again"
        repeat = isinstance(self.table, Series) and self.table.table.keys_repeat
        if self.done and repeat:
            # A key may have rows before this line and from it on.
            again = "then import the lines from this one on"
        elif self.done and isinstance(fault, OutOfPlace):
            # Sorted, the file has rows below those that were imported.
            which = "all rows (esker drop, then import --create)"
            if self.newest is not None:
                which = f"the rows above {self.newest} (esker delete --after)"
            again = f"delete {which}, {again}"
        elif self.done and isinstance(self.table, Series):
            again += " with --resume"
        elif self.done and self.refuse:
            again = "then import the lines from this one on"
        return Refused(
            f"{fault}; {again}\n"
            f"{count(self.done, 'row')} before it imported and synced"
        )
