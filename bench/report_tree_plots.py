# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The plots of docs/results/tree.md. The same results give the same bytes."""

import re

import matplotlib.pyplot as plt
from report_plots import SETTINGS, of_metric, save

BLUE, RED, GREEN, VIOLET, GOLD = (
    "#1b6ca8",
    "#d1495b",
    "#2e8b57",
    "#8a5a9e",
    "#b8860b",
)


def course(rows, metric, word):
    """(count, value) by the number before `word` in the config."""
    points = []
    for row in of_metric(rows, metric):
        found = re.search(rf"(\d+) {word}$", row["config"])
        if found:
            points.append((int(found[1]), row["value"]))
    return sorted(points)


def by_m(rows, metric):
    points = []
    for row in of_metric(rows, metric):
        found = re.match(r"M = (\d+)", row["config"])
        if found:
            points.append((int(found[1]), row["value"]))
    return sorted(points)


def draw_sd(rows, path):
    """btree-2022, Fig. 6, 8 and 10."""
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.2))
    for metric, word, colour, label in (
        ("inserts, page reads", "records", BLUE, "reads"),
        ("inserts, page writes", "records", RED, "writes"),
    ):
        points = course(rows, metric, word)
        if points:
            axes[0].plot(*zip(*points, strict=True), "o-", ms=4, color=colour)
            axes[0].plot([], [], "o-", ms=4, color=colour, label=label)
    points = course(rows, "gets, page reads", "gets")
    if points:
        axes[1].plot(*zip(*points, strict=True), "o-", ms=4, color=BLUE)
    for metric, colour, label in (
        ("reads an insert", RED, "insert"),
        ("reads a get", BLUE, "get"),
    ):
        points = by_m(rows, metric)
        if points:
            axes[2].plot(
                *zip(*points, strict=True),
                "o-",
                ms=4,
                color=colour,
                label=label,
            )
    for axis, title, name in (
        (axes[0], "inserts, M = 2 (Fig. 6)", "records"),
        (axes[1], "gets, M = 2 (Fig. 8)", "gets"),
        (axes[2], "reads an operation (Fig. 10)", "M, page buffers"),
    ):
        axis.set_title(title, fontsize=9)
        axis.set_xlabel(name)
        axis.set_ylim(bottom=0)
    axes[0].legend(frameon=False, fontsize=8)
    axes[2].legend(frameon=False, fontsize=8)
    save(figure, path)


def draw_mutree(rows, path):
    """mutree-2007, Fig. 8 and 9, stacked by what takes the time."""
    parts = (
        ("reads", BLUE),
        ("writes", RED),
        ("erases", GOLD),
    )
    sets, bars = [], []
    for row in of_metric(rows, "trace, simulated time"):
        if row["dataset"] not in sets:
            sets.append(row["dataset"])
        bars.append((row["dataset"], ", ".join(row["config"].split(", ")[:2])))
    if not bars:
        return
    figure, axes = plt.subplots(
        1, len(sets) + 1, figsize=(2.6 * (len(sets) + 1), 3.6)
    )
    for axis, name in zip(axes, sets, strict=False):
        labels = [config for dataset, config in bars if dataset == name]
        below = [0.0] * len(labels)
        for part, colour in parts:
            heights = [
                row["value"]
                for row in of_metric(rows, f"trace, simulated time of {part}")
                if row["dataset"] == name
            ]
            axis.bar(labels, heights, 0.6, below, color=colour, label=part)
            below = [a + b for a, b in zip(below, heights, strict=True)]
        axis.set_title(name, fontsize=9)
        axis.tick_params(axis="x", rotation=60, labelsize=7)
    axes[0].set_ylabel("simulated seconds")
    axes[0].legend(frameon=False, fontsize=7)
    regained = [
        row
        for row in of_metric(rows, "trace, blocks regained")
        if "0+0" in row["config"]
    ]
    labels = [
        f"{row['dataset']}, {row['config'].split(',')[0]}" for row in regained
    ]
    axes[-1].bar(labels, [row["value"] for row in regained], 0.6, color=GREEN)
    axes[-1].set_title("blocks regained, no cache", fontsize=9)
    axes[-1].tick_params(axis="x", rotation=60, labelsize=7)
    save(figure, path)


def draw_kmutree(rows, path):
    """lrun-kmutree-2012: what LRU-N saves, by buffer, on the trees whose
    level 2 has the paper's nodes."""
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), sharey=True)
    colours = {"random": BLUE, "normal": RED, "zipf of 1 / rank": GREEN}
    traces = {
        "arc_OLTP": VIOLET,
        "cloudphysics_vscsi_sector": GOLD,
        "mqsim_wsrch": "black",
    }
    gains = of_metric(rows, "fewer page accesses by LRU-N")

    def line(axis, name, pattern, colour, label):
        points = []
        for row in gains:
            found = re.match(pattern, row["config"])
            like = row["config"].endswith(", 16 B at random")
            if found and like and row["dataset"] == name:
                points.append((int(found[1]), row["value"]))
        if points:
            axis.plot(
                *zip(*sorted(points), strict=True),
                "o-",
                ms=4,
                color=colour,
                label=label,
            )

    for name, colour in colours.items():
        line(
            axes[0],
            name,
            r"Fig. 12, (\d+)P.*1000000 queries",
            colour,
            name,
        )
        line(
            axes[1],
            name,
            r"Fig. 15, (\d+)P, k 50, height 5",
            colour,
            name,
        )
    for name, colour in traces.items():
        line(axes[2], name, r"Fig. 13-18, (\d+)P, k 50", colour, name)
    for axis, title in zip(
        axes,
        ("height 3 (Fig. 12)", "height 5 (Fig. 15)", "traces, height 3"),
        strict=True,
    ):
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("buffer, pages")
        axis.set_xticks([4, 8, 16])
        axis.legend(frameon=False, fontsize=7)
    axes[0].set_ylabel("page accesses saved by LRU-N, %")
    save(figure, path)


def draw_file(rows, path):
    """Bytes written a put, by side and commit interval."""
    figure, axis = plt.subplots(figsize=(6.4, 3.4))
    found = of_metric(rows, "file, bytes written a put")
    sides, intervals = [], []
    for row in found:
        side, interval = row["config"].split("; ")[:2]
        if side not in sides:
            sides.append(side)
        if interval not in intervals:
            intervals.append(interval)
    colours = (BLUE, GREEN, VIOLET, RED, GOLD)
    for index, side in enumerate(sides):
        values = [
            row["value"]
            for row in found
            if row["config"].startswith(side + "; ")
        ]
        places = [i + (index - 2) * 0.16 for i in range(len(values))]
        axis.bar(places, values, 0.15, color=colours[index % 5], label=side)
    axis.set_xticks(range(len(intervals)), intervals)
    axis.set_yscale("log")
    axis.set_ylabel("bytes written a put of 16 bytes")
    axis.legend(frameon=False, fontsize=7)
    save(figure, path)


def draw_share(rows, path):
    """Programs an update by the share of live pages, beside the model."""
    figure, axis = plt.subplots(figsize=(5.2, 3.4))
    for store, colour in (("wandering", RED), ("mu", BLUE)):
        for metric, style, label in (
            ("programs an update at a share, mean", "o-", store),
            ("programs an update at a share, model", "--", f"{store}, model"),
        ):
            points = []
            for row in of_metric(rows, metric):
                found = re.match(rf"{store}, (\d+) % live", row["config"])
                if found:
                    points.append((int(found[1]), row["value"]))
            if points:
                axis.plot(
                    *zip(*sorted(points), strict=True),
                    style,
                    ms=4,
                    color=colour,
                    label=label,
                )
    axis.set_xlabel("pages live, %")
    axis.set_ylabel("programs an update")
    axis.set_yscale("log")
    axis.legend(frameon=False, fontsize=8)
    save(figure, path)


def draw_all(rows, folder):
    with plt.rc_context(SETTINGS):
        draw_sd(rows, folder / "tree_sd.svg")
        draw_mutree(rows, folder / "tree_mutree.svg")
        draw_kmutree(rows, folder / "tree_kmutree.svg")
        draw_share(rows, folder / "tree_share.svg")
        draw_file(rows, folder / "tree_file.svg")
