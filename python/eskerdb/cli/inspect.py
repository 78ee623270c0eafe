# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""`esker inspect IMAGE TABLE`: a tree drawn, level by level.

A strip shows a level's nodes in key order, or the region's pages in theirs;
where there are more than columns, a column shows the mean of its share.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

import eskerdb
from eskerdb.cli.arguments import Image
from eskerdb.cli.output import (
    complain,
    console,
    count,
    grid,
    sheet,
    store_text,
    warn,
)
from eskerdb.tree import Node, Shape, Tree

_BARS = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
_DAMAGED = "x"
_STRIP_MAX = 56


def inspect(
    image: Image,
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="A tree table.")
    ],
    svg: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw it to an SVG file too."),
    ] = None,
) -> None:
    """Draw a tree: levels, nodes, how full they are, dead space."""
    with eskerdb.open(image) as volume:
        if volume.table(table).kind != "tree":
            complain(f"table '{table}' is not a tree; use `esker info`")
            raise typer.Exit(1)
        with volume.open_table(table) as tree:
            shape = tree.shape()
            rows = sum(node.count for node in shape.level(1))
            _print(console(), tree, shape, rows)
            if svg is not None:
                _save(tree, shape, svg)
    damaged = sum(node.damaged for node in shape.nodes)
    if damaged:
        warn(
            f"{count(damaged, 'node')} cannot be read, and the nodes below are "
            "not shown; `esker verify` shows the damage"
        )
        raise typer.Exit(1)


def _print(out: Console, tree: Tree, shape: Shape, rows: int) -> None:
    facts = grid(f"tree {tree.name}")
    facts.add_row("store", store_text(tree))
    facts.add_row(
        "holds",
        f"{count(rows, 'row')} of {tree.table.row_bytes} bytes in "
        f"{count(len(shape.nodes), 'node')}, {count(shape.height, 'level')}",
    )
    facts.add_row(
        "region",
        f"{count(shape.pages, 'page')}: {shape.pages_live:,} live, "
        f"{shape.pages_dead:,} dead, "
        f"{shape.pages - shape.pages_live - shape.pages_dead:,} free",
    )
    out.print(facts)
    if not shape.nodes:
        return
    levels = sheet(
        "level", "nodes", "entries", "fill", "least", "",
        right=("level", "nodes", "entries", "fill", "least"),
    )  # fmt: skip
    for level in range(shape.height, 0, -1):
        nodes = shape.level(level)
        whole = [node for node in nodes if not node.damaged]
        fills = [node.fill for node in whole] or [0.0]
        levels.add_row(
            str(level),
            f"{len(nodes):,}",
            f"{sum(node.count for node in whole):,}",
            f"{sum(fills) / len(fills):.0%}",
            f"{min(fills):.0%}",
            _strip(nodes),
        )
    out.print(levels)
    out.print(Text.assemble("region  ", _region(shape)))
    out.print(
        "a bar shows how full a node is; in the region the share of live pages"
    )


def shares(count: int, most: int) -> list[tuple[int, int]]:
    """Cuts 0 .. count into at most `most` runs of about the same length."""
    columns = min(count, most)
    return [
        (i * count // columns, (i + 1) * count // columns)
        for i in range(columns)
    ]


def bar(fill: float) -> str:
    """Returns the bar for a share of 0 to 1."""
    return _BARS[max(0, min(len(_BARS) - 1, round(fill * len(_BARS)) - 1))]


def _strip(nodes: Sequence[Node]) -> Text:
    text = Text(no_wrap=True)
    for start, end in shares(len(nodes), _STRIP_MAX):
        part = nodes[start:end]
        if any(node.damaged for node in part):
            text.append(_DAMAGED, "bold red")
            continue
        text.append(bar(sum(n.fill for n in part) / len(part)), "green")
    return text


def _region(shape: Shape) -> Text:
    live = {node.page for node in shape.nodes}
    text = Text(no_wrap=True)
    for start, end in shares(shape.pages, _STRIP_MAX):
        held = sum(page in live for page in range(start, end))
        if held:
            text.append(bar(held / (end - start)), "blue")
        else:
            text.append(".", "dim")
    return text


def _save(tree: Tree, shape: Shape, svg: Path) -> None:
    from eskerdb.plot_tree import save

    try:
        save(shape, f"tree {tree.name}, {store_text(tree)}", svg)
    except OSError as failure:
        complain(f"{svg}: {failure.strerror}; name a file that can be written")
        raise typer.Exit(1) from None
