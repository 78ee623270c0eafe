# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""`esker create IMAGE TABLE COL=TYPE ...`: a table without rows; of kind kv
without columns, too."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eskerdb.cli.arguments import Image
from eskerdb.cli.make import (
    Bare,
    Block,
    Blocks,
    Cell,
    Create,
    Indexes,
    IndexKeys,
    IsPacked,
    K,
    Key,
    Kind,
    KindOf,
    Live,
    Missing,
    Modes,
    Page,
    Part,
    Repeat,
    SchemaVersion,
    Shape,
    Size,
    Store,
    StoreOf,
    Units,
    check_kind,
    check_kv,
    check_no_columns,
    kept_if_made,
    make_bare,
    make_table,
    mount,
    open_image,
    packed_options,
    pairs,
    refuse_existing,
)
from eskerdb.cli.output import console, count


def create(
    image: Image,
    table: Annotated[str, typer.Argument(metavar="TABLE")],
    columns: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="COL=TYPE...",
            help="Columns in order: i8..i64, u8..u64, f32, f64, text, "
            "text:N, bytes:N, var. A kv table has none.",
        ),
    ] = None,
    key: Key = None,
    units: Units = None,
    missing: Missing = None,
    indexes: Indexes = None,
    kind: KindOf = None,
    store: StoreOf = None,
    k: K = None,
    blocks: Blocks = None,
    keys_repeat: Repeat = False,
    schema_version: SchemaVersion = 0,
    size: Size = None,
    page: Page = None,
    block: Block = None,
    part: Part = None,
    packed: IsPacked = False,
    modes: Modes = None,
    cell: Cell = None,
    live: Live = 0,
    index_keys: IndexKeys = 0,
    bare: Bare = False,
) -> None:
    """Make an empty table, and the image if there is none."""
    check_kind(kind or Kind.series, store, k, indexes, keys_repeat)
    check_kv(kind or Kind.series, blocks, live, index_keys)
    check_no_columns(kind or Kind.series, columns, key, units, missing)
    types = pairs("column", columns)
    if not types and kind is not Kind.kv:
        raise typer.BadParameter("give the table's columns as COL=TYPE")
    if len(types) < len(columns or ()):
        raise typer.BadParameter(
            "a column is named twice; name each column once"
        )
    wanted = Create(
        kind or Kind.series,
        store or Store.mu,
        k or 0,
        blocks or 0,
        key,
        types,
        pairs("--unit", units),
        indexes or [],
        keys_repeat,
        schema_version,
        pairs("--missing", missing),
        packed_options(kind or Kind.series, packed, modes, cell),
        live_percent=live,
        index_keys=index_keys,
    )
    _check_names(wanted)
    shape = Shape(size, page, block, part)
    if bare:
        make_bare(image, table, wanted, shape)
    else:
        _make(image, table, kind, wanted, shape)
    what = f" of {count(len(types), 'column')}" if types else ""
    console().print(f"table {table}{what} made in {image}")


def _make(
    image: Path, table: str, kind: Kind | None, wanted: Create, shape: Shape
) -> None:
    """Makes the table in a volume, and the image if there is none."""
    new = not image.exists()
    with (
        open_image(image, True, kind, shape) as device,
        kept_if_made(image, new),
    ):
        volume = mount(device, True)
        refuse_existing(volume, table)
        make_table(volume, table, wanted.types, wanted)


def _check_names(wanted: Create) -> None:
    """Raises BadParameter for an option of a column that is not there."""
    stated = {"unit": wanted.units, "missing": wanted.missing}
    stated["mode"] = wanted.packing.modes if wanted.packing else {}
    for option, names in stated.items():
        for name in names:
            if name not in wanted.types:
                raise typer.BadParameter(
                    f"--{option} {name}: the table has no such column; name "
                    "one of it"
                )
