# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Writes docs/results/tree.md and its plots from measured results.

    make bench-tree OUT=tree.json
    .venv/bin/python bench/report_tree.py tree.json

Nothing is typed in: a cell is a figure of the file, with the reference that
it was measured beside in brackets, bold when it misses its target.
bench/notes.json has the sentences that say why a figure is as it is.
"""

import argparse
import json
import re
from pathlib import Path

from report_series import EMPTY, OUT, ROOT, Report, meets, number, table
from report_tree_plots import draw_all

TITLES = {
    "tree_sd": "btree-2022: 10,000 records in two buffers",
    "tree_mutree": "mutree-2007: wandering and mu trees on MLC NAND",
    "tree_kmutree": "lrun-kmutree-2012: LRU-N and k",
    "tree_calls": "What one call costs at most",
    "tree_wear": "Regaining space, wear, coming back",
    "tree_file": "In a file, beside SQLite and LMDB",
}
OPERATIONS = ("retrieval", "insertion", "deletion")


def cell(row):
    """`1.08 (1.08)`, `**1.3** (1.08)` when it misses its target."""
    text = number(row["value"])
    if meets(row) is False:
        text = f"**{text}**"
    if row["reference"] is not None:
        text += f" ({number(row['reference'])})"
    return text


def grid(rows, down, across, corner):
    """A table: `down` and `across` give a row's labels, None leaves it out.
    Labels stand in the order of their first row."""
    lines, heads, cells = [], [], {}
    for row in rows:
        line, head = down(row), across(row)
        if line is None or head is None:
            continue
        if line not in lines:
            lines.append(line)
        if head not in heads:
            heads.append(head)
        if (line, head) in cells:
            raise SystemExit(f"two figures in one place: {line}, {head}")
        cells[line, head] = cell(row)
    return table(
        [corner, *heads],
        [
            [line, *(cells.get((line, h), EMPTY) for h in heads)]
            for line in lines
        ],
    )


def of(report, bench, *metrics):
    """The bench's rows of some metrics, of all without one."""
    return [
        row
        for row in report.rows
        if row["bench"] == bench and (not metrics or row["metric"] in metrics)
    ]


def part(index, separator=", "):
    """Says a row's label by one part of its config."""
    return lambda row: row["config"].split(separator)[index]


def metric_of(row):
    unit = f", {row['unit']}" if row["unit"] else ""
    return row["metric"] + unit


def sources(report, rows):
    """Names the sources of the references of `rows`."""
    names = []
    for row in rows:
        if row["reference"] is not None:
            source = row["reference_source"]
            if source not in names:
                names.append(source)
    if names:
        report.add("In brackets: " + "; ".join(names) + ".\n")


def add_sd(report):
    rows = of(report, "tree_sd")
    courses = [row for row in rows if row["config"].startswith("M = 2, ")]
    courses = [
        r for r in courses if re.search(r"\d (records|gets)$", r["config"])
    ]
    courses = [r for r in courses if "height" not in r["config"]]
    buffers = [row for row in rows if row not in courses]
    report.add(
        "The paper's card in the simulator: 345 page reads and 175 page "
        "writes a second, no CPU time. Means of twenty data sets; the paper "
        "has three.\n"
    )
    report.add("Fig. 5 to 8, M = 2:\n")
    report.add(
        grid(
            courses,
            lambda row: re.sub(r"\D*2, (\d+) .*", r"\1", row["config"]),
            metric_of,
            "records",
        )
    )
    report.add("Fig. 9 and 10, sections 4.2 and 4.3:\n")
    report.add(grid(buffers, metric_of, part(0), "M"))
    sources(report, rows)
    report.add("![btree-2022](tree_sd.svg)\n")


def add_mutree(report):
    rows = of(report, "tree_mutree")
    report.add("Table 5, a million records and ten thousand operations each:\n")
    for operation in OPERATIONS:
        wanted = [row for row in rows if row["metric"].endswith(operation)]
        report.add(f"{operation}:\n")
        report.add(
            grid(
                wanted,
                lambda row: row["config"],
                lambda row: (
                    metric_of(row).split(" per ")[0]
                    + (", ms" if row["unit"] else "")
                ),
                "tree, read + write cache",
            )
        )
    more = of(
        report, "tree_mutree", "height", "nodes", "RAM, host, arena and volume"
    )
    report.add(grid(more, lambda row: row["config"], metric_of, "tree"))
    report.add("Fig. 7, heights of full trees by `esk_tree_plan`:\n")
    heights = of(report, "tree_mutree", "planned height")
    report.add(grid(heights, part(1), part(0), "rows"))
    report.add(
        "Fig. 8 and 9, synthetic traces with the counts of Table 4; their "
        "order is a model, the paper's own traces were not available:\n"
    )
    traces = [row for row in rows if row["metric"].startswith("trace, ")]
    single = [row for row in traces if row["config"].startswith(("mu", "wan"))]
    ratios = [row for row in traces if row not in single]

    def trace_and_config(row):
        return f"{row['dataset']}, {', '.join(row['config'].split(', ')[:2])}"

    def short(row):
        return metric_of(row).removeprefix("trace, ")

    report.add(grid(single, trace_and_config, short, "trace"))
    report.add(
        grid(
            ratios,
            lambda row: f"{row['dataset']}, {row['config']}",
            short,
            "trace",
        )
    )
    sources(report, rows)
    report.add("![mutree-2007](tree_mutree.svg)\n")


def fill_of(row):
    """How the tree of an lrun-kmutree-2012 row was filled, after its label."""
    name = ", 16 B at random"
    return name if row["config"].endswith(name) else ""


def tree_of(row):
    return ", ".join(row["config"].split(", ")[3:5])


def add_kmutree(report):
    rows = of(report, "tree_kmutree")
    report.add(
        "Trees of entries of 8 bytes put in falling order and, where a row "
        "says so, of 16 bytes put at random.\n"
    )
    report.add("Fig. 11, page accesses, 4 P, height 3, 10,000 entries:\n")
    accesses = of(report, "tree_kmutree", "page accesses")
    report.add(
        grid(
            accesses,
            lambda row: (
                f"{row['dataset']}, {row['config'].split(', ')[0]}"
                + fill_of(row)
            ),
            lambda row: row["config"].split(", ")[2].removesuffix(" queries"),
            "queries",
        )
    )
    gains = of(report, "tree_kmutree", "fewer page accesses by LRU-N")
    for figure, head, corner in (
        ("Fig. 12", 5, "distribution, buffer"),
        ("Fig. 15", None, "distribution, buffer"),
        ("Fig. 16", 2, "distribution, buffer"),
        ("Fig. 13-18", 2, "trace, buffer"),
    ):
        wanted = [r for r in gains if r["config"].startswith(figure + ",")]
        report.add(f"{figure}, page accesses that LRU-N saves, %:\n")
        report.add(
            grid(
                wanted,
                lambda row: (
                    f"{row['dataset']}, {row['config'].split(', ')[1]}"
                    + fill_of(row)
                ),
                tree_of if head is None else part(head),
                corner,
            )
        )
        if figure == "Fig. 16":
            for row in of(
                report,
                "tree_kmutree",
                "fewer page accesses by LRU-N, at most",
            ):
                report.add(f"At most, {row['config'][9:]}: {cell(row)} %.\n")
    report.add("Fig. 19, pages of an index put in random order:\n")
    sizes = of(report, "tree_kmutree", "pages of the index")
    smaller = of(report, "tree_kmutree", "index smaller than at k 50")
    report.add(
        grid(
            sizes + smaller,
            part(0),
            lambda row: (
                row["config"].split(", ")[1]
                + (" smaller than k 50, %" if row["unit"] else "")
            ),
            "entries",
        )
    )
    report.add("Fig. 8 and 9 by `esk_tree_plan`; 0: no tree of that k:\n")
    plans = of(report, "tree_kmutree", "planned height, at most")
    report.add(grid(plans, part(1), part(2), "most height, F = 512"))
    best = of(report, "tree_kmutree", "best k")
    report.add(grid(best, lambda row: row["config"], metric_of, "entries"))
    sources(report, rows)
    report.add("![lrun-kmutree-2012](tree_kmutree.svg)\n")


def add_calls(report):
    report.add(
        "Rows of 16 bytes, keys in no order, 4 frames, blocks of 8 pages: 512 "
        "bytes, for mu 2 KiB. Every call is counted: the inserts that fill the "
        "tree, then 20,000 updates; on copy-on-write trees after the region "
        "was programmed twice, on regions of which the rows take the given "
        "share. The bound is 2 * height + 2 * pages of a block. A missing "
        "line: a put was refused before. Reads of a mount and open, short "
        "ones included, are counted after the updates.\n"
    )
    rows = of(report, "tree_calls")
    opens = of(report, "tree_calls", "reads of a mount and open")
    live = of(report, "tree_calls", "pages live")
    for call in ("an insert", "an update"):
        wanted = [row for row in rows if f" {call}, " in row["metric"]]
        report.add(
            grid(
                live + wanted,
                lambda row: row["config"].split(", bound")[0],
                lambda row, call=call: metric_of(row).replace(f" {call}", ""),
                f"{call}",
            )
        )
    if opens:
        report.add(grid(opens, lambda row: row["config"], metric_of, "an open"))


def add_shares(report, rows):
    """Programs an update at shares of live pages, beside the model."""
    report.add(
        "Programs an update by the share of pages that are live, in steady "
        "state: filled to it, the region programmed twice, then counted while "
        "it is programmed twice more (58 blocks of 64 pages of 2 KiB). The "
        "model has random updates and a ring that moves each live page at "
        "its tail with one program, and parents at no cost: "
        "W = path + q / (1 - q), "
        "q = exp(-1 / (share * W)), path 1 for mu, the height for wandering. "
        "A missing line: a put was refused before.\n"
    )
    report.add(
        grid(
            rows,
            lambda row: row["config"],
            lambda row: row["metric"].replace(" an update at a share", ""),
            "updates at a share",
        )
    )
    report.add("![programs an update by share](tree_share.svg)\n")


def add_wear(report):
    rows = of(report, "tree_wear")
    at_share = [row for row in rows if "at a share" in row["metric"]]
    add_shares(report, at_share)
    rows = [row for row in rows if row not in at_share]
    shares = [row for row in rows if "pages live" in row["config"]]
    others = [row for row in rows if row not in shares]
    report.add(
        "Pages of 2 KiB, 64 a block (K9F4G08U0A, 256 and 64 blocks), rows of "
        "16 bytes, 4 frames: filled until a put is refused, updated; deletes down to 80 % "
        "of the pages live, then updates at random until the region was "
        "programmed 100 times; then 100 power cuts.\n"
    )
    report.add(grid(shares, lambda row: row["config"], metric_of, "updates"))
    report.add(
        grid(
            others,
            lambda row: (
                metric_of(row)
                + (
                    ", " + row["config"].split(", ")[1]
                    if "64 pages" in row["config"]
                    else ""
                )
            ),
            part(0),
            "measured",
        )
    )
    details = [r for r in others if "mean " in r["config"]]
    report.add_list(f"- erases of a block: {r['config']}" for r in details)


def add_file(report):
    for row in of(report, "tree_host", "file, load average at the start"):
        report.add(
            f"Load average as the rounds began: {number(row['value'])}, on "
            f"{row['config']}. If it is well above the number of processors "
            "the ratios vary, although they are of processor time, because "
            "the programs share the caches. Bytes are exact.\n"
        )
    report.add(
        "100,000 random rows of 16 bytes, a 4-byte key. Bytes are `wchar` of "
        "/proc/self/io for each program; no run waits for the disk. Times "
        "are processor times, as ratios of medians of alternating rounds; "
        "above 1 EskerDB is faster.\n"
    )
    for metric, corner in (
        ("file, bytes written a put", "bytes written a put"),
        ("file, fewer bytes a put", "times fewer bytes"),
        ("file, put", "put: times faster"),
    ):
        report.add(
            grid(
                of(report, "tree_host", metric),
                part(0, "; "),
                part(1, "; "),
                corner,
            )
        )
    report.add(
        grid(
            of(
                report,
                "tree_host",
                "file, bytes of the base",
                "file, live bytes of a put's page",
            ),
            part(0, "; "),
            lambda row: row["metric"].removeprefix("file, "),
            "the base",
        )
    )
    readings = of(
        report,
        "tree_host",
        "file, random get",
        "file, range of 100",
        "file, full scan",
    )
    report.add(
        grid(
            readings,
            lambda row: row["config"],
            lambda row: row["metric"].removeprefix("file, "),
            "times faster",
        )
    )
    report.add("![bytes written a put](tree_file.svg)\n")


SECTIONS = (
    ("tree_sd", add_sd),
    ("tree_mutree", add_mutree),
    ("tree_kmutree", add_kmutree),
    ("tree_calls", add_calls),
    ("tree_wear", add_wear),
    ("tree_host", add_file),
)


def add_summary(report):
    judged = [row for row in report.rows if row["target"] is not None]
    missed = [row for row in judged if meets(row) is False]
    report.add(
        f"Of {len(report.rows)} figures {len(judged)} have a target; "
        f"{len(judged) - len(missed)} meet it, {len(missed)} miss it"
        + (":" if missed else ".")
    )
    counts = {}
    for row in missed:
        counts[row["metric"]] = counts.get(row["metric"], 0) + 1
    report.add_list(
        f"- {metric}, {n}: {report.reason(metric)}"
        for metric, n in counts.items()
    )


def write(rows, notes):
    report = Report(rows, notes)
    report.add("# The tree table, measured\n")
    report.add(
        "Made by `make bench-tree OUT=file.json` and `bench/report_tree.py "
        "file.json`; the figures are in `tree.json`, with their targets. "
        "Reads, programs and erases are device calls that the simulator "
        "counted: exact, the same on every machine. CRC-32C is on. In "
        "brackets is the reference, a bold figure misses its target.\n"
    )
    add_summary(report)
    for bench, add in SECTIONS:
        title = TITLES.get(bench, TITLES["tree_file"])
        report.add(f"## {title}\n")
        if of(report, bench):
            add(report)
        else:
            report.add("Not measured: the file has no such figures.\n")
        report.explain(title)
    text = "\n".join(report.parts)
    return re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", help="what make bench-tree wrote")
    options = parser.parse_args()
    rows = json.loads(Path(options.results).read_text("utf-8"))
    notes = json.loads((ROOT / "bench" / "notes.json").read_text("utf-8"))
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "tree.md").write_text(write(rows, notes), "utf-8")
    (OUT / "tree.json").write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    draw_all(rows, OUT)


if __name__ == "__main__":
    main()
