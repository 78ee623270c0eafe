# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Writes docs/results/series.md and its plots from measured results.

    make bench-series OUT=series.json
    .venv/bin/python bench/report_series.py series.json [--size size.json]
        [--powercut LOG] [--coverage LOG] [--fuzz LOG]

The logs are what `make powercut`, `make coverage` and `make fuzz` print;
build/check/*.log, which `make check` leaves, is taken where none is named.
Nothing is typed in: a figure that no file holds is said to be missing, with
the command that prints it. bench/notes.json has the sentences that say why a
figure is as it is.
"""

import argparse
import fnmatch
import json
import re
from pathlib import Path

from report_plots import draw_all
from report_tables import HOST, PAPER, TABLES

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "results"
SETS = ("uwa", "ethylene", "watch", "sea", "sea_surface_temp")
EMPTY = "-"


def meets(row):
    """Whether the value is within the target; None without one."""
    if row["target"] is None:
        return None
    relation, bound = row["target"].split()
    if relation == ">=":
        return row["value"] >= float(bound)
    return row["value"] <= float(bound)


def number(value):
    if value is None:
        return EMPTY
    if isinstance(value, str):
        return value
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:.4g}" if value < 1000 else f"{value:,.0f}"


def verdict(rows):
    """`yes`, `no` or which sets miss, over rows that have a target."""
    judged = [(row["dataset"], meets(row)) for row in rows]
    missed = [name for name, met in judged if met is False]
    if all(met is None for _, met in judged):
        return EMPTY
    if not missed:
        return "yes"
    if all(met is not True for _, met in judged):
        return "**no**"
    return "**no**: " + ", ".join(missed)


def gather(rows, form):
    """`a` when every row has it, else `set: a` for each that has one."""
    found = [(row["dataset"], form(row)) for row in rows]
    values = {value for _, value in found}
    if len(values) == 1:
        return values.pop()
    parts = {}
    for name, value in found:
        if value != EMPTY:
            parts.setdefault(value, []).append(name)
    return "; ".join(
        f"{', '.join(names)}: {value}" for value, names in parts.items()
    )


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |"]
    lines.append("|" + "---|" * len(header))
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


class Report:
    def __init__(self, rows, notes):
        self.rows = rows
        self.notes = notes
        self.sets = [
            name for name in SETS if any(r["dataset"] == name for r in rows)
        ]
        self.parts = []
        self.sources = []

    def find(self, metric, config="*", dataset="*"):
        return [
            row
            for row in self.rows
            if row["metric"] == metric
            and fnmatch.fnmatchcase(row["config"], config)
            and fnmatch.fnmatchcase(row["dataset"], dataset)
        ]

    def add(self, text):
        self.parts.append(text.rstrip("\n") + "\n")

    def add_list(self, lines):
        self.add("\n".join(lines) + "\n")

    def source(self, row):
        """The reference with the number of its source."""
        if row["reference"] is None:
            return EMPTY
        source = row["reference_source"]
        if source not in self.sources:
            self.sources.append(source)
        mark = self.sources.index(source) + 1
        return f"{number(row['reference'])} [{mark}]"

    def pivot(self, wanted):
        """A table with a column for each data set."""
        lines = []
        for label, metric, config in wanted:
            rows = self.find(metric, config)
            if not rows:
                continue
            by_set = {row["dataset"]: number(row["value"]) for row in rows}
            lines.append(
                [label]
                + [by_set.get(name, EMPTY) for name in self.sets]
                + [
                    gather(rows, lambda row: row["target"] or EMPTY),
                    gather(rows, self.source),
                    verdict(rows),
                ]
            )
        header = ["measured", *self.sets, "target", "reference", "met?"]
        return table(header, lines)

    def reason(self, metric):
        """Why the metric misses its target: "missed targets" of notes.json."""
        reasons = self.notes.get("missed targets", {})
        return reasons.get(metric, "**no reason is given**")

    def explain(self, title):
        """The sentences of bench/notes.json for this table."""
        self.add_list(f"- {text}" for text in self.notes.get(title, ()))


def add_counts(report):
    for title, wanted in TABLES:
        if not any(report.find(metric, c) for _, metric, c in wanted):
            continue
        report.add(f"## {title}\n")
        report.add(report.pivot(wanted))
        report.explain(title)
        for plot, of in (
            ("series_get.svg", "Page reads per random get"),
            ("series_value.svg", "Page reads of value queries"),
            ("series_mount.svg", "Page reads to mount"),
        ):
            if title == of:
                report.add(f"![{of}]({plot})\n")
        if title == "Page reads of value queries":
            add_queries(report)


def add_queries(report):
    report.add("The queries, each with its rows:\n")
    tails = report.find("page reads, value range in the tail")
    report.add_list(
        f"- {row['dataset']}, tail: {row['config']}" for row in tails
    )


def add_host(report):
    """The contests against SQLite: a row a comparison."""
    title = "Host time beside SQLite"
    wanted = []
    for metric in HOST:
        configs = []
        for row in report.find(metric):
            if row["config"] not in configs:
                configs.append(row["config"])
        wanted += [
            (f"{metric.removeprefix('host, ')}; {config}", metric, config)
            for config in configs
        ]
    for side in ("EskerDB", "SQLite"):
        metric = f"host, cache bytes, {side}"
        configs = sorted({row["config"] for row in report.find(metric)})
        wanted += [
            (f"cache bytes of {side}; {config}", metric, config)
            for config in configs
        ]
    if not any(report.find(metric) for metric in HOST):
        return
    report.add(f"## {title}\n")
    report.add(
        "SQLite's processor time divided by EskerDB's, the kernel's "
        "included; medians of nine alternating rounds, two digits. Above 1 "
        "EskerDB is faster. The times are not stored, because they depend on "
        "the machine.\n"
    )
    for row in report.find("host, load average at the start"):
        report.add(
            f"Load average as the rounds began: {number(row['value'])}, on "
            f"{row['config']}. If it is well above the number of processors "
            "the ratios vary, because both programs share the processors' "
            "caches.\n"
        )
    report.add(report.pivot(wanted))
    report.explain(title)


def add_paper(report):
    title = "embeddb-2024, sections 4.1 and 4.2"
    wanted = []
    for metric in PAPER:
        parts = []
        for row in report.find(metric):
            part = row["config"].split(",")[0]
            if part not in parts:
                parts.append(part)
        wanted += [(f"{metric}: {part}", metric, f"{part}*") for part in parts]
    if not wanted:
        return
    report.add(f"## {title}\n")
    report.add(
        "On the media of the paper's Table 1, in the simulator. Simulated "
        "time of I/O only, without the CPU; the paper's figures include it. "
        "The limits are the paper's: rows' bytes at the sequential write "
        "rate; one random read a get; rows' bytes at the average of the "
        "sequential and the random read rate; a full scan. The sets are "
        "the first 100K rows; the paper had 500K, 4.1M and 2.9M.\n"
    )
    report.add(report.pivot(wanted))
    report.explain(title)
    report.add(f"![{title}](series_paper.svg)\n")


def judged(label, row, report):
    return [
        label,
        number(row["value"]),
        row["target"] or EMPTY,
        report.source(row),
        {None: EMPTY, True: "yes", False: "**no**"}[meets(row)],
    ]


def add_core(report, size):
    """What does not depend on a data set: RAM and code on chips, calls."""
    title = "Chips and the core"
    header = ["measured", "value", "target", "reference", "met?"]
    lines = [
        judged(f"{row['metric']}: {row['config']}", row, report)
        for row in report.rows
        if row["bench"] == "series_core"
    ]
    lines += [
        judged(f"{row['metric']}: {row['config']}", row, report) for row in size
    ]
    if not size:
        lines.append(missing("AVR and Cortex-M0+ code", "make size"))
    report.add(f"## {title}\n")
    report.add(table(header, lines))
    report.explain(title)


def missing(what, command):
    return [what, f"not given; `{command}` prints it", EMPTY, EMPTY, EMPTY]


def last(pattern, log):
    found = re.findall(pattern, log, re.MULTILINE)
    return found[-1] if found else None


def add_reliability(report, logs):
    title = "Reliability"
    lines = []
    # The campaign of series is the first; that of trees comes after it.
    cuts = re.findall(
        r"^(\d+) cuts, seed (\d+)\n\d+ passed, (\d+) failed$",
        logs["powercut"],
        re.MULTILINE,
    )
    for table_kind, (count, seed, failed) in zip(
        ("series", "trees"), cuts, strict=False
    ):
        met = int(count) >= 100000 and failed == "0"
        what = f"{table_kind}, seed {seed}, {failed} failed"
        lines.append(
            [
                f"power cuts in one campaign, {what}",
                number(int(count)),
                ">= 100000, none failed",
                "28,794 in 586 s (littlefs); EmbedDB, FlashDB: none",
                "yes" if met else "**no**",
            ]
        )
    if not cuts:
        lines.append(missing("power cuts in one campaign", "make powercut"))
    total = last(
        r"^\s*([\d.]+) % of\s+\d+\s+([\d.]+) % of\s+\d+\s+total$",
        logs["coverage"],
    )
    for index, (name, floor) in enumerate((("line", 100), ("branch", 95))):
        label = f"{name} coverage of src/, %"
        if total is None:
            lines.append(missing(label, "make coverage"))
            continue
        met = "yes" if float(total[index]) >= floor else "**no**"
        lines.append(
            [label, total[index], f">= {floor}", "100 % branch (SQLite)", met]
        )
    targets = re.findall(
        r"^(ok|FAIL)\s+(fuzz_\w+):(?: (\d+) inputs)?",
        logs["fuzz"],
        re.MULTILINE,
    )
    for state, name, inputs in targets:
        tried = f", {int(inputs):,} inputs" if inputs else ""
        lines.append(
            [
                f"fuzzing, {name}{tried}",
                "no crash" if state == "ok" else "crash",
                "no crash",
                "27 x 30 s (ekv)",
                "yes" if state == "ok" else "**no**",
            ]
        )
    if not targets:
        lines.append(missing("fuzzing hostile images", "make fuzz"))
    report.add(f"## {title}\n")
    report.add(
        table(["measured", "value", "target", "best known", "met?"], lines)
    )
    report.explain(title)


def add_mounts(report):
    """Mount and open on every part: a row a part, a column a state."""
    states = ("empty", "half full", "full", "wrapped")
    cells = {}
    for row in report.rows:
        if row["bench"] == "series_mount":
            place = cells.setdefault(row["dataset"], {})
            place[row["config"], row["metric"]] = row["value"]

    def cell(found, state):
        kib = found[state, "mount, bytes"] / 1024
        ms = found.get((state, "mount, simulated time"))
        return (
            f"{number(found[state, 'mount, page reads'])} + "
            f"{number(found[state, 'mount, reads of a few bytes'])}, "
            f"{kib:.3g} KiB, " + (f"{ms:.3g} ms" if ms else "no read time")
        )

    if not cells:
        return
    report.add("## Mount and open, every part\n")
    report.add(
        "Page reads + reads of a few bytes, the bytes read, and simulated "
        "time if the part's read time is known. Rows of 16 bytes with a "
        "value index, on the whole chip or its first 64 MiB: empty, half "
        "full, full, and after a lap and a quarter.\n"
    )
    lines = [
        [name] + [cell(found, state) for state in states]
        for name, found in cells.items()
    ]
    report.add(table(["part", *states], lines))


def add_pieces(report):
    """Syncs of single rows and values in pieces: a row a figure."""
    rows = [row for row in report.rows if row["bench"] == "series_pieces"]
    if not rows:
        return
    report.add("## Syncs of single rows, values in pieces\n")
    report.add(
        "Rows: the least that a scan returns once the ring drops, with a sync "
        "after each row of 12 bytes, 64 pages of 512 bytes. Where a page is "
        "programmed once, a sync journal keeps these rows; on NOR each sync "
        "leaves a seal in the page. Values: 496 of a page's 512 bytes are the "
        "value's, so 202 pages hold it.\n"
    )
    lines = [
        [
            row["metric"],
            row["dataset"],
            row["config"],
            number(row["value"])
            if meets(row) is not False
            else f"**{number(row['value'])}**",
            row["target"] or EMPTY,
            report.source(row),
        ]
        for row in rows
    ]
    report.add(
        table(["figure", "medium", "of", "value", "target", "EmbedDB"], lines)
    )


def add_steps(report):
    """How long a call blocks on every part: a row a part, a column a call."""
    columns = {
        "append": ("an append, at most", "with steps"),
        "sync": ("a sync, at most", "with steps"),
        "step": ("a step, at most", "with steps"),
        "append, no steps": ("an append, at most", "without"),
        "sync, no steps": ("a sync, at most", "without"),
    }
    parts = {}
    for row in report.rows:
        if row["bench"] == "series_steps":
            found = parts.setdefault(row["dataset"], {})
            found[row["metric"], row["config"]] = row["value"]
    if not parts:
        return
    report.add("## The longest call, every part\n")
    report.add(
        "Milliseconds of simulated time, by the maximum times of the data "
        "sheet. Rows of 16 bytes with a value index, a sync each 16 rows, two "
        "laps of a table on 256 KiB or 48 blocks; with `esk_volume_step` "
        "between the calls until nothing is due, and without.\n"
    )
    lines = [
        [name] + [f"{found[key]:,.2f}" for key in columns.values()]
        for name, found in parts.items()
    ]
    report.add(table(["part", *columns], lines))


def add_summary(report, size):
    rows = report.rows + size
    judged_rows = [row for row in rows if row["target"] is not None]
    missed = [row for row in judged_rows if meets(row) is False]
    counts = {}
    for row in missed:
        counts.setdefault(row["metric"], set()).add(row["dataset"])
    report.add(
        f"Of {len(rows)} figures {len(judged_rows)} have a target; "
        f"{len(judged_rows) - len(missed)} meet it, {len(missed)} miss it"
        + (":" if missed else ".")
    )
    lines = []
    for metric, sets in counts.items():
        names = [name for name in SETS if name in sets]
        where = f" ({', '.join(names)})" if names else ""
        lines.append(f"- {metric}{where}: {report.reason(metric)}")
    report.add_list(lines)


def write(rows, size, logs, notes):
    report = Report(rows, notes)
    report.add("# The series table, measured\n")
    report.add(
        "Made by `make bench-series OUT=file.json` and `bench/report_series"
        ".py file.json`; the figures are in `series.json`. Rows of 16 bytes "
        "with a 4-byte key and three i32, pages of 512 bytes, CRC-32C on, one "
        "value index with a 16-bit bitmap unless a row says otherwise, "
        "100,000 rows, raw codec; `sea_surface_temp` ships with the project: "
        "19,225 rows of 12 bytes. The other sets' licences are not stated, "
        "so they are read from `ESK_DATA`. Page reads and programs are "
        "device calls that the simulator counted: exact, the same on every "
        "machine. Value queries: column v1 (ethylene: v3; "
        "sea_surface_temp: temp).\n"
    )
    add_summary(report, size)
    add_counts(report)
    add_host(report)
    add_mounts(report)
    add_steps(report)
    add_pieces(report)
    add_paper(report)
    add_core(report, size)
    add_reliability(report, logs)
    report.add("## Sources of the references\n")
    report.add_list(
        f"{index}. {source}" for index, source in enumerate(report.sources, 1)
    )
    text = "\n".join(report.parts)
    return re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n"


def log_of(path, name):
    path = Path(path) if path else ROOT / "build" / "check" / f"{name}.log"
    return path.read_text("utf-8", "replace") if path.exists() else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", help="what make bench-series wrote")
    parser.add_argument("--size", help="what make size OUT=... wrote")
    for name in ("powercut", "coverage", "fuzz"):
        parser.add_argument(f"--{name}", help=f"what make {name} printed")
    options = parser.parse_args()
    rows = json.loads(Path(options.results).read_text("utf-8"))
    notes = json.loads((ROOT / "bench" / "notes.json").read_text("utf-8"))
    size = []
    if options.size:
        size = json.loads(Path(options.size).read_text("utf-8"))
        # Those of trees and parts are in mcu.md.
        size = [
            row
            for row in size
            if row["bench"] == "size"
            and not row["metric"].startswith("tree ")
            and not re.search(", plain, ", row["config"])
        ]
    logs = {
        name: log_of(getattr(options, name), name)
        for name in ("powercut", "coverage", "fuzz")
    }
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "series.md").write_text(write(rows, size, logs, notes), "utf-8")
    (OUT / "series.json").write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    draw_all(rows, OUT)


if __name__ == "__main__":
    main()
