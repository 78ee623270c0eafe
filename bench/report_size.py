# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Writes docs/results/size.md, size.json and size_parts.json from results.

make size OUT=size.json
scripts/size_parts --out size_parts.json
.venv/bin/python bench/report_size.py size.json size_parts.json
"""

import argparse
import importlib.machinery
import importlib.util
import json
from pathlib import Path

from report_series import EMPTY, meets, number, table

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "results"
AVR, ARM = "atmega2560", "cortex-m0plus"
CONFIG = ", small, 32-bit keys, 512 B pages, 2 frames"
PROGRAMS = (
    ("series, spline, general core", "code bytes"),
    ("the same, constant parts", "code bytes, constant parts"),
    ("the same, constant device", "code bytes, constant device"),
    (
        "series, samples, constant device",
        "code bytes, constant device, samples",
    ),
    ("tree in place, general core", "tree code bytes, inplace"),
    ("the same, constant parts", "tree code bytes, constant parts, inplace"),
    ("the same, constant device", "tree code bytes, constant device, inplace"),
    ("constant shape: logger", "code bytes, constant shape, logger"),
    (
        "constant shape: get, range, key index",
        "code bytes, constant shape, key index",
    ),
    (
        "constant shape: tree in place",
        "tree code bytes, constant shape, inplace",
    ),
    ("kv, general core", "kv code bytes"),
    ("constant shape: kv in a volume", "kv code bytes, constant shape"),
    (
        "constant shape: kv, order and batches",
        "kv code bytes, constant shape, order and batches",
    ),
    (
        "constant shape: kv, with an index",
        "kv code bytes, constant shape, index",
    ),
    (
        "constant shape: kv, bare store",
        "kv code bytes, constant shape, bare",
    ),
)
HEAD = """# What small programs are made of

Made by `make size OUT=size.json`, `scripts/size_parts --out size_parts.json`
and `bench/report_size.py size.json size_parts.json`.

Linked programs, `-Os -flto`, CRC-32C; bold misses the target. *Constant
parts*, *device* and *shape* say what the core knows when it is compiled
(`esker/shape.h`); of a device also the frames of its pools, of the logger
that it has no queries (`ESK_SHAPE_QUERIES` 0). These are without counters. On a
Cortex-M0+ `port/memory` stands for newlib's memory functions: without it a
logger is 268 B larger, a program with a key index 270, a tree 402.

"""
PARTS = """
## By part

Each instruction counts for the source file of its line. Debug information
changes a few bytes.

"""
REASONS = """## What is above the targets

- On the ATmega2560 the catalog of a constant device costs a series
  {catalog} B for the descriptor, {found} more than an attach for finding
  superblocks (two halves, each searched from its end of the device, and a
  choice between them), and most of the {opened} more of the open (options,
  columns, checks of what a catalog says, the arena).
- The rest above the constant shape with a key index are the spline instead of
  samples ({spline}), and rows, rings and cursors that read widths, key types
  and the ring's bounds from RAM.
- A logger's largest part is the mount, {mount} B: it finds the newest block,
  its head and its tail past damaged and torn pages.
- Of a tree in place {pages} B find pages for new nodes and repair an
  interrupted split; a peer of 7,556 B has neither. A change of several levels
  has {change} B, paths {path}, the cursor and get {read}, the pool {pool}.
- Inlining is not the cause: of the tree's functions, each kept out of line
  alone, four save bytes, 82 in all.
- Of a bare kv store on a Cortex-M0+ {records} B read and write records,
  {copies} collect them and take copies back after power cuts, {walk} walk the
  log at an open, {table} are the pending table, {bare} tell a bare store's
  first page from a blank medium, another's, and one whose first program was
  cut; the ring's mount and writes are {ring}, the region {region}.
"""
LINES = """
## Source lines

Made by `scripts/lines`: `src/` without its tests, with comments. The target
was set for the abilities that the core had then, {target} lines at most; it
has {core} for them. Since then they gained mounts that look past damage, the
sync journal, collections in bounded steps, constant shapes and assertions.
What came later has {later} lines.

"""


def cells(sizes, metric):
    """The size and target of a program on both chips."""
    for chip in (AVR, ARM):
        row = sizes.get((metric, chip + CONFIG))
        if row is None:
            yield from (EMPTY, EMPTY)
            continue
        value = number(row["value"])
        yield f"**{value}**" if meets(row) is False else value
        yield row["target"] or EMPTY


def reasons(parts):
    """The sentences of what is above the targets, with their numbers."""
    logger, keys = (parts[AVR, name] for name in ("logger", "key index"))
    device, tree = (parts[AVR, name] for name in ("device, series", "tree"))
    bare = parts[ARM, "kv, bare"]
    values = {
        "catalog": device["catalog"],
        "found": device["volume: superblocks"] - keys["volume: superblocks"],
        "opened": device["open, attach"] - keys["open, attach"],
        "spline": device["key index"] - keys["key index"],
        "mount": logger["ring: mount"],
        "pages": tree["in place: pages, repair"],
        "change": tree["append, change"],
        "path": tree["path"],
        "read": tree["cursor, get"],
        "pool": tree["pool"],
        "records": bare["kv: records"] + bare["kv: put, delete"],
        "copies": bare["kv: collection, copies"],
        "walk": bare["kv: open"],
        "table": bare["kv: pending table"],
        "bare": bare["kv: bare"],
        "ring": bare["ring: mount"] + bare["ring: write"],
        "region": bare["region: read, program"],
    }
    return REASONS.format(
        **{name: number(value) for name, value in values.items()}
    )


def source_lines():
    """The section of source lines."""
    loader = importlib.machinery.SourceFileLoader(
        "lines", str(ROOT / "scripts" / "lines")
    )
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("lines", loader)
    )
    loader.exec_module(module)
    found = module.count()
    core, later = (
        sum(lines for (_, of), lines in found.items() if of is counts)
        for counts in (True, False)
    )
    head = LINES.format(
        target=number(module.TARGET),
        core=f"**{number(core)}**" if core > module.TARGET else number(core),
        later=number(later),
    )
    rows = [
        (name, number(lines), "yes" if of_target else "later")
        for (name, of_target), lines in found.items()
    ]
    return head + table(("part", "lines", "in the target"), rows)


def write(sizes, rows):
    sizes = {(row["metric"], row["config"]): row for row in sizes}
    parts, programs = {}, list(dict.fromkeys(row["program"] for row in rows))
    for row in rows:
        of = parts.setdefault((row["chip"], row["program"]), {})
        of[row["part"]] = row["value"]
    header = ("program", "ATmega2560, B", "target", "Cortex-M0+, B", "target")
    text = HEAD + table(
        header,
        [(title, *cells(sizes, metric)) for title, metric in PROGRAMS],
    )
    text += PARTS
    names = list(dict.fromkeys(row["part"] for row in rows))
    names = [name for name in names if name != "in all"] + ["in all"]
    for chip in (AVR, ARM):
        text += table(
            (f"{chip}, B", *programs),
            [
                (
                    name,
                    *(number(parts[chip, p].get(name)) for p in programs),
                )
                for name in names
            ],
        )
        text += "\n"
    return text + reasons(parts) + source_lines()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", help="what make size OUT=... wrote")
    parser.add_argument("parts", help="what scripts/size_parts --out wrote")
    options = parser.parse_args()
    sizes = json.loads(Path(options.sizes).read_text("utf-8"))
    parts = json.loads(Path(options.parts).read_text("utf-8"))
    (OUT / "size.md").write_text(write(sizes, parts), "utf-8")
    for name, rows in (("size.json", sizes), ("size_parts.json", parts)):
        (OUT / name).write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
