# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Writes docs/results/tnc.md, its plots and tnc.json from measured results.

make bench-tnc OUT=tnc.json
.venv/bin/python bench/report_tnc.py tnc.json
"""

import argparse
import json
from pathlib import Path

import matplotlib.pyplot as plt
from report_plots import SETTINGS, save
from report_series import EMPTY, meets, number, table

OUT = Path(__file__).resolve().parent.parent / "docs" / "results"
SIZES = (5000, 10000, 15000, 20000, 25000)
SHRINKS = (25, 50, 75)
FANOUTS = (4, 8, 16, 32, 64, 128, 256)
FILES_MB = (50, 100, 200, 400, 600, 800)
RAM_KB = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
COLOURS = ("#1b6ca8", "#d1495b", "#2e8b57", "#8a5a9e")
RATIO = "with TNC / without TNC"
RATIO_UBIFS = "with TNC / without TNC and UBIFS's split"

HEAD = """# The tree node cache, measured

Made by `make bench-tnc OUT=file.json` and `bench/report_tnc.py file.json`; the
figures are in `tnc.json`. The code is `src/table/tree/tnc`, the data the trace
linux61_untar_rm: a tree of Linux 6.1 is unpacked and removed, 1,311,585 changes
of up to 530,197 keys. The paper unpacks and removes Linux 2.6.31.4, a smaller
tree, so ratios can be compared and counts cannot. Counts are exact. In brackets
is the paper's figure; a bold figure misses its target.

Three ways to run a TNC:

- paper: UBIFS's split rule, and a full buffer is always committed
- right edge: a split at the right edge of the tree leaves the left node full;
  commits as the paper
- EskerDB, the default: right edge, and a full buffer is committed only when
  dropping clean nodes makes too little room

"""
TABLE1 = """## Table 1 and Fig. 3: node writes

With TNC in percent of without. Without TNC every change writes its path, as a
wandering tree does. Fanout 8. Equal share: the buffer has the same share of the
tree as the paper's buffer has of the paper's tree.

Target: at most 1.0 % in the paper's way, at most 0.9 % with the right edge
full.

"""
AFTER1 = """
![Fig. 3](tnc_writes.svg)

What misses its target, and why:

- A buffer of 5,000 nodes is a twentieth of the tree. Whatever does not stay in
  the buffer until it is removed is written once, so about as many nodes are
  written as the tree has: {paper_nodes} with UBIFS's split rule, 1.02 % of the
  writes without TNC, and {edge_nodes} with the right edge full, 0.93 %. A ratio
  below these is possible only as far as the buffer keeps nodes until the end.
- Writes come in whole buffers, so the ratio jumps by one buffer: with 20,000
  nodes by 0.2 %.
- The right edge makes the tree lower, so there is less to write without TNC,
  too. In percent of UBIFS's writes without TNC, EskerDB's way is at most
  {own_most} %: see the last columns.
- With a buffer as large as the tree nothing is written but the last root. The
  paper's 0.57 % for 25,000 nodes, which hold its whole tree, can only come from
  commits that UBIFS's journal asks for.

"""
TABLE2 = """## Table 2: fanout

The paper's way. A node takes 48 + 32 x fanout bytes, as the paper's, in RAM and
on flash. No limit: a commit each 20,000 changes. Entries: bytes of the entries
in use, 12 each, and of counts. The paper prints 2.35, 3.35 and 4.35 MB for
fanouts 64, 128 and 256; its nodes times its sizes are 6.84, 4.92 and 12.9,
which stand in the brackets.

"""
TABLE3 = """## Table 3 and Fig. 4: most nodes in RAM, no limit

The files that are unpacked have this many MB, 4 KB a data key. The paper takes
samples of its kernel. Here one file of the trace in so many is taken, evenly.

"""
BYTES = """## Index bytes a change

EskerDB's way, by all RAM of the TNC. An entry has 12 bytes, key and position.
Written are a node's count and the entries in use; in brackets is the figure for
whole nodes. Both are before nodes are packed in pages. Target: at most 12 bytes
from 64 KB on, at most 9.5 from 256 KB on.

"""

FLASH = """
## On flash

`esk_store_tnc` on simulated NAND with pages of 2 KiB: the store of tree tables,
with the default way to clean up and to split. RAM is the arena, at most; a
frame has a node, and there are at most 255. Programmed are whole pages, with
commits and the sweep. Targets are those of index bytes a change. The trace is
run in a region that is not filled. Where there are syncs, each makes the
changes before it durable; with fanout 16, 255 frames are 60 KB, so 256 KB give
no more. The target is of index bytes without syncs, which all sizes of nodes
meet. A sync each 1000 changes adds 3.4 bytes a change at fanout 16 from 64 KB
on: 1.7 pages of 2 KiB a sync. Half a page of it, on average, is the rest of the
page that the sync closes, which no medium that programs a page once can fill
later; the others are nodes that would have changed again: those from the
leaves that files are added to up to the root. Larger nodes make these longer:
with fanout 33 a sync adds 4.5 to 5.1 bytes a change.

"""
UNIFORM = """
Updates of random keys, 20,000 rows of 12 bytes, fanout 16, without syncs, in
regions of which the nodes take the share that is live. Nearly every update
needs a leaf that no other update needs before the commit: a write of a whole
leaf for 12 bytes. Such keys are no work for a TNC.

"""


class Figures:
    """The measured rows by metric and config."""

    def __init__(self, rows):
        self.rows = {(row["metric"], row["config"]): row for row in rows}

    def value(self, metric, config):
        row = self.rows.get((metric, config))
        return None if row is None else row["value"]

    def cell(self, metric, config, reference=True):
        """The value, bold when it misses, the paper's in brackets."""
        row = self.rows.get((metric, config))
        if row is None:
            return EMPTY
        value = row["value"]
        shown = f"{value:.2f}" if row["unit"] == "%" else number(value)
        if row["unit"] == "%" and 0 < value < 0.005:
            shown = "0"
        if meets(row) is False:
            shown = f"**{shown}**"
        if reference and row["reference"] is not None:
            shown += f" ({number(row['reference'])})"
        return shown


def table1(figures):
    rows = []
    for shrink in SHRINKS:
        for size in SIZES:
            tail = f"{size} nodes, shrink {shrink} %"
            rows.append(
                [f"{size:,}", str(shrink)]
                + [
                    figures.cell("node writes without TNC", f"paper, {tail}"),
                    figures.cell("node writes with TNC", f"paper, {tail}"),
                    figures.cell(RATIO, f"paper, {tail}"),
                    figures.cell(RATIO, f"paper, equal share of {tail}"),
                    figures.cell(RATIO, f"right edge, {tail}", False),
                    figures.cell(RATIO, f"EskerDB, {tail}", False),
                    figures.cell(
                        RATIO, f"EskerDB, equal share of {tail}", False
                    ),
                    figures.cell(RATIO_UBIFS, f"EskerDB, {tail}", False),
                ]
            )
    header = [
        "max TNC size",
        "shrink, %",
        "without TNC",
        "with TNC, paper's way",
        "%, paper's way",
        "%, equal share",
        "%, right edge",
        "%, EskerDB",
        "%, EskerDB, equal share",
        "%, EskerDB, of UBIFS's without",
    ]
    most = max(
        figures.value(RATIO_UBIFS, f"EskerDB, {size} nodes, shrink {shrink} %")
        for size in SIZES
        for shrink in SHRINKS
    )
    nodes = "nodes of the tree, most"
    after = AFTER1.format(
        paper_nodes=number(figures.value(nodes, "paper, fanout 8")),
        edge_nodes=number(figures.value(nodes, "right edge, fanout 8")),
        own_most=f"{most:.2f}",
    )
    return TABLE1 + table(header, rows) + after


def table2(figures):
    metrics = (
        ("without TNC, nodes", "fanout, nodes written without TNC"),
        ("with TNC, nodes", "fanout, nodes written"),
        ("max TNC, nodes", "fanout, most nodes in RAM"),
        ("max TNC, MiB", "fanout, most RAM"),
        ("written, MiB", "fanout, written"),
        ("entries written, MiB", "fanout, entries written"),
    )
    first = [
        [str(fanout)]
        + [
            figures.cell(metric, f"paper, no limit, fanout {fanout}")
            for _, metric in metrics
        ]
        for fanout in FANOUTS
    ]
    parts = [TABLE2, table(["fanout", *(name for name, _ in metrics)], first)]
    lines = []
    for room in ("no limit", "4096 KiB", "256 KiB", "32 KiB"):
        for way in ("paper", "EskerDB"):
            configs = {f: f"{way}, {room}, fanout {f}" for f in FANOUTS}
            values = {
                f: figures.value("fanout, written", configs[f]) for f in FANOUTS
            }
            least = min(
                (f for f in FANOUTS if values[f] is not None),
                key=lambda f, values=values: values[f],
            )
            lines.append(
                [room, way]
                + [
                    EMPTY if values[f] is None else f"{values[f]:.1f}"
                    for f in FANOUTS
                ]
                + [str(least)]
            )
    header = ["RAM", "way", *(str(f) for f in FANOUTS), "fewest at"]
    parts += ["\nMiB written by fanout in four sizes of RAM:\n\n"]
    parts += [table(header, lines)]
    parts += [
        "\nWhere there is a -, the buffer has no room for a path.",
        " The best fanout moves with\nthe buffer: about 100 nodes",
        " have to fit.\n\n",
    ]
    return "".join(parts)


def table3(figures):
    fanouts = (8, 16, 32, 64)
    rows = []
    for size in FILES_MB:
        rows.append(
            [str(size)]
            + [
                figures.cell(
                    "most nodes in RAM, no limit",
                    f"{way}, fanout {fanout}, {size} MB",
                    way == "paper",
                )
                for way in ("paper", "right edge")
                for fanout in fanouts
            ]
        )
    header = ["MB of files"]
    header += [f"{f}, paper's way" for f in fanouts]
    header += [f"{f}, right edge" for f in fanouts]
    return TABLE3 + table(header, rows) + "\n![Fig. 4](tnc_size.svg)\n\n"


def bytes_table(figures):
    fanouts = (8, 16, 32, 64)
    rows = []
    for size in RAM_KB:
        cells = []
        for fanout in fanouts:
            config = f"{size} KB of RAM, fanout {fanout}"
            used = figures.cell("index bytes a change", config)
            whole = figures.cell("index bytes a change, whole nodes", config)
            cells.append(EMPTY if used == EMPTY else f"{used} ({whole})")
        rows.append([f"{size} KB", *cells])
    header = ["RAM", *(f"fanout {fanout}" for fanout in fanouts)]
    return BYTES + table(header, rows)


def flash_table(figures):
    configs = ("fanout 16", "fanout 33", "fanout 66")
    synced = [f"fanout {n}, a sync each 1000 changes" for n in (16, 33)]
    metric = "bytes programmed a change"
    rows = []
    for size in (16, 64, 256):
        head = f"{size} KB of RAM"
        rows.append(
            [f"{size} KB"]
            + [
                figures.cell(metric, f"{head}, {config}")
                for config in (*configs, *synced)
            ]
            + [
                figures.cell(name, f"{head}, fanout 33")
                for name in (
                    "RAM, arena",
                    "page reads a change",
                    "bytes read by a mount",
                )
            ]
        )
    header = ["RAM", *configs, *synced, "arena, fanout 33"]
    header += ["page reads a change", "bytes read by a mount"]
    live = sorted(
        {
            config.split(", ", 1)[1]
            for name, config in figures.rows
            if name == metric and "live" in config
        },
        key=lambda text: int(text.split(", ")[1].split()[0]),
    )
    lines = [
        [text.split(", ")[1]]
        + [
            figures.cell(metric, f"{size} KB of RAM, {text}")
            for size in (32, 64)
        ]
        for text in live
    ]
    uniform = ["", "32 KB of RAM", "64 KB of RAM"]
    return FLASH + table(header, rows) + UNIFORM + table(uniform, lines)


def draw_writes(figures, path):
    """Fig. 3: ratio by buffer size, a line a shrink ratio."""
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), sharey=True)
    for axis, title, form in (
        (axes[0], "Linux 2.6.31.4, the paper", None),
        (axes[1], "Linux 6.1, equal share", "paper, equal share of {}"),
        (
            axes[2],
            "Linux 6.1, EskerDB, equal share",
            "EskerDB, equal share of {}",
        ),
    ):
        for shrink, colour in zip(SHRINKS, COLOURS, strict=False):
            tails = [f"{size} nodes, shrink {shrink} %" for size in SIZES]
            if form is None:
                points = [
                    figures.rows[RATIO, f"paper, {tail}"]["reference"]
                    for tail in tails
                ]
            else:
                points = [figures.value(RATIO, form.format(t)) for t in tails]
            axis.plot(
                SIZES,
                points,
                "o-",
                ms=4,
                color=colour,
                label=f"shrink {shrink} %",
            )
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("max TNC size, nodes of 23,158")
        axis.set_ylim(bottom=0)
    axes[0].set_ylabel("with TNC / without TNC, %")
    axes[0].legend(frameon=False, fontsize=8)
    save(figure, path)


def draw_sizes(figures, path):
    """Fig. 4: most nodes by the bytes of files, a line a fanout."""
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True)
    metric = "most nodes in RAM, no limit"
    for fanout, colour in zip((8, 16, 32, 64), COLOURS, strict=True):
        rows = [
            figures.rows[metric, f"paper, fanout {fanout}, {size} MB"]
            for size in FILES_MB
        ]
        for axis, field in ((axes[0], "reference"), (axes[1], "value")):
            axis.plot(
                FILES_MB,
                [row[field] for row in rows],
                "o-",
                ms=4,
                color=colour,
                label=f"fanout {fanout}",
            )
    for axis, title in (
        (axes[0], "Linux 2.6.31.4, the paper"),
        (axes[1], "Linux 6.1"),
    ):
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("MB of files")
        axis.set_ylim(bottom=0)
    axes[0].set_ylabel("most nodes in RAM")
    axes[0].legend(frameon=False, fontsize=8)
    save(figure, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", help="what make bench-tnc wrote")
    options = parser.parse_args()
    rows = json.loads(Path(options.results).read_text("utf-8"))
    if not any(row["bench"] == "tnc_paper" for row in rows):
        print("skipped docs/results/tnc.md: the trace was missing")
        return
    figures = Figures(rows)
    parts = (table1, table2, table3, bytes_table, flash_table)
    text = HEAD + "".join(part(figures) for part in parts)
    (OUT / "tnc.md").write_text(text, "utf-8")
    (OUT / "tnc.json").write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    plt.rcParams.update(SETTINGS)
    draw_writes(figures, OUT / "tnc_writes.svg")
    draw_sizes(figures, OUT / "tnc_size.svg")


if __name__ == "__main__":
    main()
