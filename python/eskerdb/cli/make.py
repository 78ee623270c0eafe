# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Making a table, and the image for it: what create and import --create
share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from eskerdb._esker import lib
from eskerdb.cli.arguments import geometry_of, part_geometry
from eskerdb.cli.output import size as size_text
from eskerdb.device import Geometry, ImageFile
from eskerdb.errors import error, schema_error
from eskerdb.plan_kv import LIVE_MAX
from eskerdb.schema import BITMAP, TYPES, Column, Index
from eskerdb.volume import Volume

BARE_NAME = "kv"  # of the table of a bare store
_BARE_BLOCKS = 4


class Kind(str, Enum):
    """Kinds of tables."""

    series = "series"
    tree = "tree"
    kv = "kv"


class Store(str, Enum):
    """Where a tree's nodes live."""

    inplace = "inplace"
    journaled = "journaled"
    wandering = "wandering"
    mu = "mu"
    tnc = "tnc"


@dataclass
class Packed:
    """What is stated of packed pages.

    modes   of columns, as COL=MODE
    cell    bytes of a cell; 0: the default
    """

    modes: dict[str, str]
    cell: int


@dataclass
class Create:
    """The options of a new table.

    types   the stated types of columns, as COL=TYPE
    missing the missing values of columns, as COL=VALUE
    packing the options of packed pages; None: pages are raw
    bitmaps the buckets of value indexes, by the column; 64 if left out
    live_percent, index_keys  of a kv table, as in create_kv()
    """

    kind: Kind
    store: Store
    k_percent: int
    blocks: int
    key: str | None
    types: dict[str, str]
    units: dict[str, str]
    indexes: list[str]
    keys_repeat: bool
    version: int
    missing: dict[str, str] = field(default_factory=dict)
    packing: Packed | None = None
    bitmaps: dict[str, int] = field(default_factory=dict)
    live_percent: int = 0
    index_keys: int = 0


Key = Annotated[
    str | None,
    typer.Option(metavar="COL", help="Key column. Default: the first."),
]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        metavar="COL=TYPE",
        help="i8..i64, u8..u64, f32, f64, text, text:N, bytes:N (hex), var "
        "(\\x and hex, or text). Default: i64, u64 or f64, whichever fits all "
        "rows.",
    ),
]
Units = Annotated[
    list[str] | None,
    typer.Option("--unit", metavar="COL=UNIT", help="A column's unit."),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        metavar="COL=VALUE",
        help='The value of a column that stands for "no value".',
    ),
]
Indexes = Annotated[
    list[str] | None,
    typer.Option(
        "--index",
        metavar="COL",
        help="Index values of COL. Import chooses the bitmap from the rows; "
        "create takes 64 buckets.",
    ),
]
KindOf = Annotated[
    Kind | None,
    typer.Option(
        "--kind",
        help="series: keys rise; tree: any order, each key once; kv: values "
        "by keys of text, no columns. Default: series.",
    ),
]
StoreOf = Annotated[
    Store | None,
    typer.Option(
        "--store",
        help="How a tree stores its nodes; inplace and journaled need a medium "
        "that can overwrite pages. Default: mu.",
    ),
]
K = Annotated[
    int | None,
    typer.Option(
        "--k",
        metavar="PERCENT",
        min=10,
        max=90,
        help="mu: a leaf's share of a page, default 50. tnc: a full node's, at "
        "most 50, default 25.",
    ),
]
Blocks = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Erase blocks for the table's rows. Default: all free blocks.",
    ),
]
Repeat = Annotated[
    bool,
    typer.Option(
        "--keys-repeat", help="Consecutive rows may have the same key."
    ),
]
SchemaVersion = Annotated[
    int,
    typer.Option(
        "--schema-version",
        metavar="N",
        min=0,
        max=2**32 - 1,
        help="Your own number for these columns.",
    ),
]
IsPacked = Annotated[
    bool,
    typer.Option(
        "--packed",
        help="Store differences of rows, in bits: a page holds 1.6 to 10 times "
        "the rows (docs/packed.md).",
    ),
]
Modes = Annotated[
    list[str] | None,
    typer.Option(
        "--mode",
        metavar="COL=MODE",
        help="How --packed packs a column: delta, linear, float, decimal:0 to "
        "decimal:3, or raw.",
    ),
]
Cell = Annotated[
    int | None,
    typer.Option(
        "--cell",
        metavar="BYTES",
        help="What a get decodes at most of a packed page. Default: 256, or "
        "512 for rows above 20 bytes.",
    ),
]
Live = Annotated[
    int,
    typer.Option(
        "--live",
        metavar="PERCENT",
        min=0,
        max=LIVE_MAX,
        help="kv: of all blocks but one, what the newest values may take. 0: "
        "75; esker plan says what more costs.",
    ),
]
IndexKeys = Annotated[
    int,
    typer.Option(
        "--index-keys",
        metavar="N",
        min=0,
        max=2**32 - 1,
        help="kv: the table gets an index, in blocks beside --blocks, and has "
        "at most N keys; only the newest changes are in RAM. 0: an open table "
        "has all keys in RAM.",
    ),
]
Bare = Annotated[
    bool,
    typer.Option(
        "--bare",
        help="kv: a new image that is one store without a catalog, for "
        "esk_kv_open_bare: of --blocks or --size, 3 to 64 blocks; default: 4. "
        "Its table is named kv.",
    ),
]
Size = Annotated[
    str | None, typer.Option(help="Size of a new image. Default: 16M.")
]
Page = Annotated[
    int | None,
    typer.Option(
        help="Bytes a page of a new image. Default: 256, for a tree 2048."
    ),
]
Block = Annotated[
    str | None,
    typer.Option(
        help="Bytes an erase block of a new image. Default: 4K, for a tree 64K."
    ),
]
Part = Annotated[
    str | None,
    typer.Option(
        help="Use the pages and blocks of this part for a new image, and its "
        "size, unless there is --size."
    ),
]


def pairs(option: str, given: list[str] | None) -> dict[str, str]:
    """Reads COL=VALUE options. Raises BadParameter."""
    result = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{option} {text}: write COL=VALUE")
        result[name] = value
    return result


def check_kind(
    kind: Kind,
    store: Store | None,
    k: int | None,
    indexes: list[str] | None,
    keys_repeat: bool,
) -> None:
    """Raises BadParameter when options of one kind are given for another."""
    if kind is not Kind.tree and (store or k):
        raise typer.BadParameter("--store and --k need --kind tree")
    if kind is not Kind.series and indexes:
        raise typer.BadParameter(
            f"--index is for series; a {kind.value} has its key"
        )
    if kind is not Kind.series and keys_repeat:
        raise typer.BadParameter("--keys-repeat is for series")
    if k and store not in (None, Store.mu, Store.tnc):
        raise typer.BadParameter("--k is for --store mu and tnc")


def check_kv(
    kind: Kind, blocks: int | None, live: int, index_keys: int
) -> None:
    """Raises BadParameter when options of a kv table are given for another
    kind, or do not go together."""
    if kind is not Kind.kv and (live or index_keys):
        raise typer.BadParameter("--live and --index-keys need --kind kv")
    if index_keys and not blocks:
        raise typer.BadParameter(
            "--index-keys needs --blocks: the index gets blocks beside them"
        )


def packed_options(
    kind: Kind, packed: bool, modes: list[str] | None, cell: int | None
) -> Packed | None:
    """Reads the options of packed pages. Raises BadParameter."""
    if not packed and (modes or cell is not None):
        raise typer.BadParameter("--mode and --cell need --packed")
    if packed and kind is not Kind.series:
        raise typer.BadParameter(f"--packed is for series, not a {kind.value}")
    return Packed(pairs("--mode", modes), cell or 0) if packed else None


# The image ------------------------------------------------------------------


@dataclass
class Shape:
    """The options of a new image; None: not given."""

    size: str | None
    page: int | None
    block: str | None
    part: str | None

    def geometry(self, kind: Kind | None) -> Geometry:
        """Returns the geometry. Raises BadParameter, NotFound."""
        if self.part is not None:
            return part_geometry(self.part, self.size)
        # A page has one node; in a mu tree it has the nodes of a path.
        tree = kind is Kind.tree
        page = (2048 if tree else 256) if self.page is None else self.page
        block = self.block or ("64K" if tree else "4K")
        return geometry_of(page, block, self.size or "16M")

    def check(self, image: ImageFile, kind: Kind | None) -> None:
        """Raises GeometryError if the image differs from the options."""
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
                f"it exists: {size_text(there.bytes)} in blocks of "
                f"{size_text(there.block_bytes)} and pages of "
                f"{size_text(there.page_bytes)}",
            )


def make_bare(image: Path, table: str, wanted: Create, shape: Shape) -> None:
    """Makes the image of a bare kv store.

    Raises BadParameter, Exists, GeometryError.
    """
    if wanted.kind is not Kind.kv or table != BARE_NAME:
        raise typer.BadParameter(
            f"--bare needs --kind kv, and TABLE {BARE_NAME}: a bare store has "
            "no catalog, and so no other name"
        )
    if wanted.index_keys or wanted.version:
        raise typer.BadParameter(
            "a bare store has no index and no --schema-version"
        )
    if wanted.blocks and shape.size:
        raise typer.BadParameter("give --blocks or --size, not both")
    geometry = shape.geometry(Kind.kv)
    count = wanted.blocks or (0 if shape.size else _BARE_BLOCKS)
    if count:
        geometry = replace(geometry, block_count=count)
    with (
        ImageFile(image, geometry, create=True) as device,
        kept_if_made(image, True),
        Volume.make_bare(device, live_percent=wanted.live_percent) as volume,
        volume.open_kv(BARE_NAME) as kv,
    ):
        # A store without a change has no page by which it could be found.
        kv[BARE_NAME] = b""
        del kv[BARE_NAME]


def open_image(
    image: Path, create: bool, kind: Kind | None, shape: Shape
) -> ImageFile:
    """Opens the image, or makes a new one under --create."""
    if not image.exists() and create:
        return ImageFile(image, shape.geometry(kind), create=True)
    device = ImageFile(image)
    if create:
        shape.check(device, kind)
    return device


@contextmanager
def kept_if_made(image: Path, new: bool) -> Iterator[None]:
    """Removes a new image whose table could not be made."""
    try:
        yield
    except BaseException:
        if new:
            image.unlink(missing_ok=True)
        raise


def mount(device: ImageFile, create: bool) -> Volume:
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


def refuse_existing(volume: Volume, table: str) -> None:
    """Raises Exists if there is already such a table."""
    if table in volume:
        raise error(
            lib.ESK_E_EXISTS,
            f"{volume.device.name}: create table '{table}'",
            "add rows to it by import without --create, or drop it first",
        )


def check_no_columns(kind: Kind, *given: object) -> None:
    """Raises BadParameter when a kv table is given columns, or what is of
    columns."""
    if kind is Kind.kv and any(given):
        raise typer.BadParameter(
            "a kv table has no columns: leave them, --key, --type and --unit "
            "out"
        )


def make_table(
    volume: Volume, table: str, types: Mapping[str, str], wanted: Create
) -> None:
    """Creates a table of the columns `types`, in their order.

    Raises SchemaError naming the column, BadParameter, NoSpace.
    """
    columns = [_column(name, kind, wanted) for name, kind in types.items()]
    if wanted.kind is Kind.kv:
        volume.create_kv(
            table,
            wanted.blocks,
            wanted.live_percent,
            wanted.version,
            wanted.index_keys,
        )
        return
    if wanted.kind is Kind.tree:
        volume.create_tree(
            table,
            columns,
            key=wanted.key,
            store=wanted.store.value,
            k_percent=wanted.k_percent,
            blocks=wanted.blocks,
            version=wanted.version,
        )
        return
    volume.create(
        table,
        columns,
        key=wanted.key,
        data_blocks=wanted.blocks,
        indexes=[
            Index(name, wanted.bitmaps.get(name, BITMAP))
            for name in wanted.indexes
        ],
        keys_repeat=wanted.keys_repeat,
        version=wanted.version,
        codec="packed" if wanted.packing else "raw",
        cell_bytes=wanted.packing.cell if wanted.packing else 0,
    )


def _column(name: str, type: str, wanted: Create) -> Column:
    kind, colon, width = type.partition(":")
    if kind in ("var", "text") and not width and wanted.kind is Kind.tree:
        raise schema_error(
            f"column '{name}': a column of a tree has a width; use text:N or "
            "bytes:N, leave it out, or make a series",
            name,
        )
    is_width = width.isascii() and width.isdigit() and int(width) > 0
    if kind not in TYPES or (
        colon and not (kind in ("bytes", "text") and is_width)
    ):
        raise typer.BadParameter(
            f"column {name}={type}: choose one of {', '.join(TYPES)}; bytes "
            "needs a width, text may have one: bytes:6, text:16"
        )
    unit = wanted.units.get(name, "")
    missing = wanted.missing.get(name)
    number = None if missing is None else _number(name, missing)
    mode = wanted.packing.modes.get(name, "") if wanted.packing else ""
    return Column(name, kind, unit, int(width or 0), number, mode)


def _number(name: str, text: str) -> int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise typer.BadParameter(f"--missing {name}={text}: not a number")
