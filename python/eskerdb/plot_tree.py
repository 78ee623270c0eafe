# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Pictures of a tree, the same bytes each time they are made.

Above, a row of boxes a level, the root on top, each as wide as its share of
the level and shaded by how full it is. Below, the region's pages.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from eskerdb.tree import Shape

_INK = "#22313f"
_DAMAGED = "#d1495b"
_FILL = LinearSegmentedColormap.from_list("fill", ["#eef3f8", "#2a5f8f"])
_LINE_NODES_MAX = 400  # boxes of a level that still get an outline


def _draw_levels(axes: Axes, shape: Shape) -> None:
    for level in range(1, shape.height + 1):
        nodes = shape.level(level)
        width = 1 / len(nodes)
        axes.bar(
            [i * width for i in range(len(nodes))],
            0.8,
            width,
            bottom=level - 0.4,
            align="edge",
            color=[_DAMAGED if n.damaged else _FILL(n.fill) for n in nodes],
            edgecolor="white",
            linewidth=0.5 if len(nodes) <= _LINE_NODES_MAX else 0,
        )
    axes.set_yticks(
        range(1, shape.height + 1),
        [
            f"level {level}: {len(shape.level(level)):,}"
            for level in range(1, shape.height + 1)
        ],
    )
    axes.set_xlim(0, 1)
    axes.set_xticks([])


def _draw_region(axes: Axes, shape: Shape) -> None:
    pages = sorted({node.page for node in shape.nodes})
    axes.vlines(pages, 0, 1, color=_FILL(1.0), linewidth=0.6)
    axes.set_xlim(0, max(1, shape.pages))
    axes.set_yticks([])
    axes.set_xlabel(
        f"page of {shape.pages:,}: {shape.pages_live:,} live, "
        f"{shape.pages_dead:,} dead",
        color=_INK,
    )


def save(shape: Shape, title: str, svg: Path) -> None:
    """Writes the tree as SVG. Raises OSError."""
    with mpl.rc_context({"svg.hashsalt": "eskerdb", "svg.fonttype": "path"}):
        figure = Figure(figsize=(10, 4.6), layout="constrained")
        levels, region = figure.subplots(2, 1, height_ratios=(5, 1))
        levels.set_title(title, loc="left", color=_INK)
        _draw_levels(levels, shape)
        _draw_region(region, shape)
        for axes in (levels, region):
            for side in ("top", "right", "left"):
                axes.spines[side].set_visible(False)
        figure.colorbar(
            mpl.cm.ScalarMappable(mpl.colors.Normalize(0, 1), _FILL),
            ax=levels,
            label="full",
            format=lambda share, _: f"{share:.0%}",
        )
        FigureCanvasSVG(figure).print_svg(
            str(svg), metadata={"Date": None, "Creator": "EskerDB"}
        )
