# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The section of docs/results/mcu.md about missed targets: what each figure
is made of, as measured, and what would get there.

Sentences are those of bench/mcu/notes.json, by metric, and for sizes those of
bench/notes.json; every number is from the results.
"""

import fnmatch
import json
from pathlib import Path

from report_series import meets, number, table

BENCH = Path(__file__).resolve().parent
LISTED = 6
FRACTION, CPU = "fraction of the card's limit", "share of the CPU"


def bound(row):
    return float(row["target"].split()[-1])


def pieces(results, bench, row, metric=None):
    """[(piece, value)] of what a figure is made of, as it was written."""
    prefix = f"{metric or row['metric']}: "
    return [
        (other["metric"].removeprefix(prefix), other["value"])
        for other in results.rows
        if other["bench"] == bench
        and other["config"] == row["config"]
        and other["dataset"] == row["dataset"]
        and other["metric"].startswith(prefix)
    ]


def listing(found, count=LISTED):
    """The first pieces as text, the others as their sum."""
    shown = [f"`{name}` {number(value)}" for name, value in found[:count]]
    rest = sum(value for _, value in found[count:])
    if rest:
        shown.append(f"the rest {number(round(rest, 1))}")
    return ", ".join(shown) or "-"


def judged(row):
    value = number(row["value"])
    return [short(row["config"]), row["metric"], value, row["target"]]


def short(config):
    if config.endswith("2 frames"):
        return ", ".join(config.split(", ")[:2])
    return config.removeprefix("atmega2560-fast, ")


def notes_of(rows):
    """The sentences for these metrics, each once."""
    notes = json.loads((BENCH / "mcu" / "notes.json").read_text("utf-8"))
    sizes = json.loads((BENCH / "notes.json").read_text("utf-8"))
    sizes = {
        metric: f"{note[0].upper()}{note[1:]}"
        for metric, note in sizes["missed targets"].items()
        if "code bytes" in metric
    }
    notes |= sizes
    metrics = {row["metric"] for row in rows}
    lines = [
        f"- *{pattern.rstrip('*')}* {note}"
        for pattern, note in notes.items()
        if fnmatch.filter(metrics, pattern)
    ]
    lines += [
        f"- *{metric}* **no reason is given**"
        for metric in sorted(metrics)
        if not any(fnmatch.fnmatchcase(metric, pattern) for pattern in notes)
    ]
    return "\n".join(lines)


def cycles(results, rows):
    header = ["", "figure", "measured", "target", "cycles by part"]
    header += ["by function, callees apart"]
    lines = [
        [
            *judged(row),
            listing(pieces(results, "mcu_parts", row)),
            listing(pieces(results, "mcu_cycles", row)),
        ]
        for row in rows
    ]
    return table(header, lines)


def ram(results, rows):
    lines = [
        [*judged(row), listing(pieces(results, "mcu_ram", row, "RAM"), 20)]
        for row in rows
    ]
    return table(["", "figure", "measured", "target", "bytes by part"], lines)


def stacks(results, rows):
    """The deepest path of the open, which decides the RAM."""
    lines = []
    for row in rows:
        tree = row["metric"].startswith("tree")
        call = "tree open" if tree else "open"
        found = pieces(results, "mcu_stack", row, f"stack, {call}")
        path = " > ".join(f"`{name[3:]}` {int(size)}" for name, size in found)
        lines.append([short(row["config"]), call, path])
    return table(["", "call", "deepest stack by the code, B a frame"], lines)


def code(results, rows):
    lines = [
        [*judged(row), listing(pieces(results, "mcu_code", row), 20)]
        for row in rows
    ]
    header = ["", "figure", "measured", "target"]
    return table([*header, "the plain build's bytes by file"], lines)


def board(results, rows):
    """What the CPU takes of a missed fraction, and how much less it may."""
    lines = []
    for row in rows:
        metric = row["metric"].replace(FRACTION, CPU)
        cpu = results.get(metric, row["config"], row["dataset"], row["bench"])
        share = cpu["value"]
        # With the limit as 1: the whole takes 1 / fraction.
        whole = 1 / row["value"]
        spare = share * whole - (whole - 1 / bound(row))
        less = "the card alone is slower"
        if spare > 0:
            less = f"{100 * (1 - spare / (share * whole)):.0f} % less"
        lines.append(
            [
                f"{row['config']}, {row['dataset']}",
                row["metric"],
                number(row["value"]),
                row["target"],
                f"{100 * share:.0f} %",
                less,
            ]
        )
    header = ["card, data", "figure", "measured", "target"]
    return table([*header, "of it the CPU", "CPU that would do"], lines)


def kind(row):
    if row["bench"] == "mcu_paper":
        return "board"
    if "RAM" in row["metric"]:
        return "ram"
    if "code bytes" in row["metric"]:
        return "code"
    return "pages" if row["unit"] == "pages" else "cycles"


def pages(_, rows):
    header = ["", "figure", "measured", "target"]
    return table(header, [judged(row) for row in rows])


KINDS = {
    "cycles": ("Cycles", [cycles]),
    "pages": ("Page reads", [pages]),
    "ram": ("RAM", [ram, stacks]),
    "code": ("Code", [code]),
    "board": ("The papers' board", [board]),
}


def section(results):
    """The whole section; nothing when every target is met."""
    missed = [row for row in results.rows if meets(row) is False]
    main = {
        (row["config"], row["metric"])
        for row in missed
        if row["dataset"] == results.main
    }
    missed = [
        row
        for row in missed
        if kind(row) == "board"
        or row["dataset"] == results.main
        or (row["config"], row["metric"]) not in main
    ]
    if not missed:
        return ""
    parts = [
        "## What misses its target, of what it is made, what would get there\n",
        (
            f"Where a figure misses on several data sets, that of {results.main} "
            "is shown. Cycles are from the simulator's profile, which counts "
            "every cycle for the function that spent it; `append, max` is the "
            "profile of only the most expensive append. Bytes of RAM are of the running "
            "program, code of the linker's map.\n"
        ),
    ]
    for name, (title, tables) in KINDS.items():
        rows = [row for row in missed if kind(row) == name]
        if rows:
            parts.append(f"### {title}\n")
            parts += [make(results, rows) for make in tables]
            parts.append(notes_of(rows) + "\n")
    return "\n".join(parts)
