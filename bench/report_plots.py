# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The plots of docs/results/series.md. The same results give the same bytes."""

import re

import matplotlib.pyplot as plt

COLOURS = {
    "uwa": "#1b6ca8",
    "ethylene": "#d1495b",
    "watch": "#2e8b57",
    "sea": "#8a5a9e",
    "sea_surface_temp": "#b8860b",
}
SETTINGS = {
    "svg.hashsalt": "esker",
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "axes.axisbelow": True,
}


def save(figure, path):
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)


def of_metric(rows, metric):
    return [row for row in rows if row["metric"] == metric]


def bound_of(rows):
    """The bound that most rows have, as a number; None without one."""
    bounds = [float(r["target"].split()[1]) for r in rows if r["target"]]
    return max(bounds, key=bounds.count) if bounds else None


def draw_gets(rows, path):
    """Mean reads per get against the bytes of the key index."""
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True)
    for axis, suffix, title in (
        (axes[0], "", "while writing"),
        (axes[1], ", after a mount", "after a mount"),
    ):
        for name, colour in COLOURS.items():
            points = []
            for row in of_metric(rows, "page reads per random get, mean"):
                found = re.fullmatch(
                    r"key index (\d+) B" + suffix, row["config"]
                )
                if row["dataset"] == name and found:
                    points.append((int(found[1]), row["value"]))
            if points:
                axis.plot(
                    *zip(*sorted(points), strict=True),
                    "o-",
                    ms=4,
                    color=colour,
                    label=name,
                )
        axis.set_xscale("log", base=2)
        axis.set_xticks([128, 256, 512, 1024, 2560])
        axis.set_xticklabels(["128", "256", "512", "1024", "2560"])
        axis.minorticks_off()
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("bytes of key index")
    axes[0].set_ylabel("page reads per random get, mean")
    axes[0].set_ylim(bottom=0.9)
    axes[0].legend(frameon=False, fontsize=8)
    save(figure, path)


def draw_values(rows, path):
    """Reads of value queries beside EmbedDB's, a group a data set."""
    metrics = (
        ("tail", "page reads, value range in the tail", ""),
        ("anywhere, mean", "page reads, value range anywhere, mean", "where"),
        ("anywhere, max", "page reads, value range anywhere, max", "where"),
    )
    figure, axes = plt.subplots(1, 3, figsize=(8, 3.2), sharey=True)
    for axis, (title, metric, word) in zip(axes, metrics, strict=True):
        found = [r for r in of_metric(rows, metric) if word in r["config"]]
        names = [row["dataset"] for row in found]
        own = [row["value"] for row in found]
        peers = [
            (i, row["reference"])
            for i, row in enumerate(found)
            if isinstance(row["reference"], int | float)
        ]
        axis.bar(range(len(own)), own, 0.6, color="#1b6ca8", label="EskerDB")
        if peers:
            axis.plot(
                *zip(*peers, strict=True),
                "D",
                color="black",
                ms=5,
                label="EmbedDB, measured",
            )
        axis.set_yscale("log")
        axis.set_title(f"10 to 20 rows, {title}", fontsize=9)
        axis.set_xticks(range(len(names)), names, rotation=40, ha="right")
    axes[0].set_ylabel("page reads")
    axes[0].legend(frameon=False, fontsize=8, loc="upper left")
    save(figure, path)


def draw_mounts(rows, path):
    """Reads of a mount against the rows in the table."""
    figure, axis = plt.subplots(figsize=(5.2, 3.2))
    for name, colour in COLOURS.items():
        points = []
        for row in of_metric(rows, "page reads to mount"):
            found = re.fullmatch(r"after (\d+) rows", row["config"])
            if row["dataset"] == name and found:
                points.append((int(found[1]), row["value"]))
        if points:
            axis.plot(
                *zip(*sorted(points), strict=True),
                "o-",
                ms=4,
                color=colour,
                label=name,
            )
    bound = bound_of(of_metric(rows, "page reads to mount"))
    if bound is not None:
        axis.axhline(bound, color="black", lw=0.8, ls="--")
        axis.text(1000, bound * 1.02, "target", fontsize=8)
    axis.set_xscale("log")
    axis.set_ylim(bottom=0)
    axis.set_xlabel("rows in the table")
    axis.set_ylabel("page reads to mount")
    axis.legend(frameon=False, fontsize=8)
    save(figure, path)


def span_of(reference):
    """(low, high) of "0.24 to 0.83"; None when it is no such text."""
    found = re.fullmatch(r"([\d.]+) to ([\d.]+)", str(reference))
    return (float(found[1]), float(found[2])) if found else None


def draw_paper(rows, path):
    """Fractions of the medium's limit beside the paper's."""
    metrics = (
        "inserts, fraction of the medium's limit",
        "gets, fraction of the medium's limit",
        "5 % key ranges, fraction of the medium's limit",
    )
    figure, axes = plt.subplots(1, 3, figsize=(8.6, 3.4), sharey=True)
    for axis, metric in zip(axes, metrics, strict=True):
        found = of_metric(rows, metric)
        media = []
        for row in found:
            medium = row["config"].split(",")[0].removeprefix("embeddb_")
            if medium not in media:
                media.append(medium)
            at = media.index(medium)
            shift = (list(COLOURS).index(row["dataset"]) - 2) * 0.14
            axis.bar(
                at + shift, row["value"], 0.13, color=COLOURS[row["dataset"]]
            )
        spans = {span_of(row["reference"]) for row in found} - {None}
        for low, high in sorted(spans):
            axis.axhspan(low, high, color="#999999", alpha=0.3, lw=0)
        axis.set_title(metric.split(",")[0], fontsize=9)
        axis.set_xticks(range(len(media)), media, rotation=40, ha="right")
    axes[0].set_ylabel("fraction of the medium's limit")
    handles = [
        plt.Rectangle((0, 0), 1, 1, color=colour, label=name)
        for name, colour in COLOURS.items()
    ]
    handles.append(
        plt.Rectangle(
            (0, 0), 1, 1, color="#999999", alpha=0.3, label="paper, CPU in it"
        )
    )
    figure.legend(
        handles=handles, ncol=6, frameon=False, fontsize=7, loc="lower center"
    )
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)


def draw_all(rows, folder):
    with plt.rc_context(SETTINGS):
        draw_gets(rows, folder / "series_get.svg")
        draw_values(rows, folder / "series_value.svg")
        draw_mounts(rows, folder / "series_mount.svg")
        draw_paper(rows, folder / "series_paper.svg")
