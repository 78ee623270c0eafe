# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Pictures of a series, the same bytes each time they are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure

_INK = "#22313f"
_LINE = "#4a7ba6"
_SPAN = "#f2c14e"
_FOUND = "#d1495b"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass
class Picture:
    """What to draw: a series over time and what was found in it.

    times_ms   keys, milliseconds since 1970-01-01 UTC
    values     one a key, in `unit`
    found      the rows of a value query: (time, value)
    span_ms    the time range of a query, None for none
    cut_ms     when the power was cut, None for never
    """

    title: str
    label: str
    times_ms: Sequence[int]
    values: Sequence[float]
    found: Sequence[tuple[int, float]] = field(default_factory=list)
    found_label: str = ""
    span_ms: tuple[int, int] | None = None
    span_label: str = ""
    cut_ms: int | None = None
    cut_label: str = ""


def _time(ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=ms)


def _draw(picture: Picture) -> Figure:
    figure = Figure(figsize=(10, 4.6), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    axes.plot(
        [_time(t) for t in picture.times_ms],
        picture.values,
        color=_LINE,
        linewidth=0.7,
        label=f"{len(picture.times_ms):,} rows",
    )
    if picture.span_ms is not None:
        axes.axvspan(
            _time(picture.span_ms[0]),
            _time(picture.span_ms[1]),
            color=_SPAN,
            alpha=0.6,
            linewidth=0,
            label=picture.span_label,
        )
    if picture.found:
        axes.scatter(
            [_time(t) for t, _ in picture.found],
            [value for _, value in picture.found],
            s=18,
            color=_FOUND,
            zorder=3,
            label=picture.found_label,
        )
    if picture.cut_ms is not None:
        axes.axvline(
            _time(picture.cut_ms),
            color=_INK,
            linestyle=(0, (4, 3)),
            linewidth=1.2,
            label=picture.cut_label,
        )
    locator = AutoDateLocator()
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    axes.set_ylabel(picture.label, color=_INK)
    axes.set_title(picture.title, loc="left", color=_INK)
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.margins(x=0.01)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(loc="upper left", frameon=False, fontsize="small")
    return figure


def save(picture: Picture, svg: Path, png: Path) -> None:
    """Writes the picture as SVG and PNG. Raises OSError."""
    with mpl.rc_context({"svg.hashsalt": "eskerdb", "svg.fonttype": "path"}):
        figure = _draw(picture)
        FigureCanvasSVG(figure).print_svg(
            str(svg), metadata={"Date": None, "Creator": "EskerDB"}
        )
        FigureCanvasAgg(figure).print_png(
            str(png), metadata={"Software": "EskerDB"}
        )
