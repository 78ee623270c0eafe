# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""`esker drop IMAGE TABLE` and `esker delete IMAGE TABLE`: remove a table, or
rows, or keys of a kv table."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import eskerdb
from eskerdb.cli.arguments import Image
from eskerdb.cli.output import complain, console, count
from eskerdb.errors import NotFound
from eskerdb.kv import Kv
from eskerdb.kv_value import read_key
from eskerdb.schema import Column
from eskerdb.series import Series
from eskerdb.tree import Tree

Table = Annotated[str, typer.Argument(metavar="TABLE")]


def drop(image: Image, table: Table) -> None:
    """Drop a table with all its rows; its blocks can be used at once."""
    with eskerdb.open(image, read_only=False) as volume:
        volume.drop(table)
    console().print(f"table {table} dropped from {image}")


def delete(
    image: Image,
    table: Table,
    keys: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY...]",
            help="Keys of a tree's rows, or of a kv table; write -- before keys "
            "below zero.",
        ),
    ] = None,
    before: Annotated[
        str | None,
        typer.Option(
            metavar="KEY", help="Of a series: delete the rows below this key."
        ),
    ] = None,
    after: Annotated[
        str | None,
        typer.Option(
            metavar="KEY", help="Of a series: delete the rows above this key."
        ),
    ] = None,
) -> None:
    """Delete rows: of a tree or a kv table by keys, of a series at one end.

    Status 1 when there is no row with one of the keys; the others are
    deleted.
    """
    given = [bool(keys), before is not None, after is not None]
    if sum(given) != 1:
        raise typer.BadParameter(
            "give the keys of a tree or a kv table, or --before KEY or "
            "--after KEY"
        )
    with (
        eskerdb.open(image, read_only=False) as volume,
        volume.open_table(table) as opened,
    ):
        missing: list[str] = []
        if isinstance(opened, Series):
            if keys:
                raise typer.BadParameter(
                    f"'{table}' is a series, which loses rows only at its "
                    "ends: use --before KEY or --after KEY"
                )
            gone = _delete_end(opened, before, after)
        else:
            if not keys:
                raise typer.BadParameter(
                    f"'{table}' is a {opened.table.kind}: give the keys to "
                    "delete"
                )
            gone, missing = (
                _delete_of_kv(opened, keys)
                if isinstance(opened, Kv)
                else _delete_keys(opened, keys)
            )
    console().print(f"{count(gone, 'row')} deleted from {image}, table {table}")
    for key in missing:
        complain(f"table '{table}': no row with key '{key}'")
    if missing:
        raise typer.Exit(1)


def _delete_end(series: Series, before: str | None, after: str | None) -> int:
    rows = series.count()
    if before is not None:
        series.erase_before(_key(series.key, before))
    if after is not None:
        series.erase_after(_key(series.key, after))
    return rows - series.count()


def _delete_keys(tree: Tree, keys: list[str]) -> tuple[int, list[str]]:
    """Deletes rows; returns how many, and the keys without a row."""
    wanted = [(text, _key(tree.key, text)) for text in keys]
    missing = [text for text, key in wanted if not tree.delete(key)]
    return len(keys) - len(missing), missing


def _delete_of_kv(kv: Kv, keys: list[str]) -> tuple[int, list[str]]:
    """As _delete_keys; a damaged value can be deleted, too."""
    missing = []
    for text in keys:
        try:
            del kv[read_key(text)]
        except NotFound:
            missing.append(text)
    return len(keys) - len(missing), missing


def _key(column: Column, text: str) -> Any:
    """Reads a key as in CSV. Raises BadParameter."""
    try:
        if column.type == "text":
            digits = text.removeprefix("\\x")
            whole = digits != text and len(digits) == 2 * column.bytes
            return bytes.fromhex(digits) if whole else text
        if column.is_integer:
            return int(text)
        if column.is_float:
            return float(text)
        return bytes.fromhex(text.removeprefix("\\x"))
    except ValueError:
        kind = "hexadecimal digits" if column.type == "bytes" else "number"
        raise typer.BadParameter(
            f"key '{text}': column '{column.name}' ({column.type}) needs "
            f"{'' if column.type == 'bytes' else 'a '}{kind}"
        ) from None
