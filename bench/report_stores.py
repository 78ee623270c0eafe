# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Writes docs/results/stores.md and stores.json from measured results.

make bench-stores OUT=stores.json
.venv/bin/python bench/report_stores.py stores.json
"""

import argparse
import json
from pathlib import Path

from report_series import EMPTY, meets, number, table

OUT = Path(__file__).resolve().parent.parent / "docs" / "results"
REFUSED = "cannot run: "
SYNCS = ("a sync every 1", "a sync every 100")
TIME = "time a change, mean"
READS = "page reads a get"
ARENA = "RAM, arena"
RATIO = "programs, mu over wandering"
COSTS = (
    ("programs", "programs a change"),
    ("bytes", "program bytes a change"),
    ("erases", "erases a thousand changes"),
    ("ms, mean", TIME),
    ("p99.9", "time a change, p99.9"),
    ("max", "time a change, max"),
)
HEAD = """# The stores, side by side

Made by `make bench-stores OUT=file.json` and `bench/report_stores.py
file.json`; the figures are in `stores.json`. Every store gets the same changes
of a file system's index in the same order, on the same simulated medium, with
the same RAM and the same syncs. A change puts or deletes a key of 8 bytes
(inode, kind, block or hash of a name) with a value of 16 bytes.

- Media: a NOR W25Q128JV with its pages of 256 bytes, and with pages of 1024 for
  stores that need larger ones (4 programs of the part each); the SLC NAND of
  mutree-2007, Table 1; the SD card of btree-2022. Times are typical ones, CPU
  time is not in them.
- Region: 12 times the bytes of the rows that there are at most. It is that
  large for `tnc`, whose nodes, counted as full ones, may take a third of it. A
  fuller region costs the others more: see `tree.md` and `kv.md`.
- A load begins and ends with an empty store. It is repeated until the store has
  programmed as many bytes as its region has; then it is measured once.
- RAM: the arena that the store takes, at most 4, 16 or 64 KB, on the 64-bit
  host. Trees get as many frames as fit, at most 255, kv tables with an index as
  large a pending table. A frame of `tnc` is a node, a quarter to half of a page,
  and it has a page beside them.
- Syncs: after every change, or after every 100. Where they are rare, trees that
  copy on write have the write cache; `inplace` writes each change at once. A
  time is that of a change with its sync, if there is one.
- `tnc` has no journal, so each sync is a commit. It has `esk_tree_create`'s
  default k, and the frames that `esk_tree_plan` asks for or more.

Loads made by the benchmark: `kernel_compile`, `postmark`, `mp3`, after what
mutree-2007, Table 4, says of them, with fewer files; their order is a model,
not the paper's traces. `linux61_untar_rm` is the beginning of a real trace, to
7,400 keys, and their removal; without `../shared` it is skipped.

"""
READING = """
What the figures say:

- NOR, every change synced: a kv table programs the record alone, about 30 bytes
  and 1.1 ms; with an index and 16 KB 1.4 ms. The others program pages. With
  pages of 256 `tnc` takes 7.5 to 11 ms, half as long as `wandering`. `mu` needs
  larger pages; with 1024 it takes as long as `tnc`, and `wandering` more than
  twice that.
- NAND, every change synced: a sync is a page in every store. `tnc` takes 0.31
  to 0.38 ms, `kv` and `mu` 0.4 ms; `wandering`, which programs the path, 0.7 ms.
- SD card, every change synced: `inplace` writes one page, 7 to 8 ms; `tnc` takes
  8 to 11 ms, `kv` 10 ms, `wandering` 20 ms or more.
- 100 changes a sync: `kv` and `tnc` cost least, and `tnc` less than `kv` where
  keys come in order (`mp3`) on NAND and the SD card. Random names (`postmark`)
  cost `wandering`, `mu` and `tnc` 6 to 22 times as much as `mp3`, with 16 KB or
  more, and `kv` at most 2.4 times. `inplace` gains nothing.
- A kv table with an index, on NAND and the SD card: the collector looks records
  up in the index, so a change reads many pages, and its longest calls are the
  longest of all. There every other store that runs is better.
- RAM: with 4 KB `tnc`, `wandering` and a kv table with an index run on NOR with
  pages of 256, `tnc` is best among trees, and no store runs on NAND. There `tnc`
  needs a page, and 9 frames for its height: 7.5 KB. A kv table without an index
  takes 7 to 8 bytes a key, and an eighth more.
- With 16 KB or more a get of a tree reads at most 1.5 pages; one of a kv table
  with an index 1 to 3.
- Room: `tnc` counts each node as a full one and keeps room for its sweep, most
  with few frames. So it refuses rows of `postmark` on the SD card with 4 KB.
"""


def runs(rows):
    """{(medium, load, store, KB, sync): {metric: row}}"""
    found = {}
    for row in rows:
        parts = row["config"].split("; ")
        if len(parts) == 4:
            medium, store, ram, sync = parts
            key = (medium, row["dataset"], store, int(ram.split()[0]), sync)
            found.setdefault(key, {})[row["metric"]] = row
    return found


def refusal(metrics):
    """Why the store cannot run the load; None: it can."""
    for metric, row in metrics.items():
        if not metric.startswith(REFUSED):
            continue
        why = metric.removeprefix(REFUSED)
        if row["unit"] == "B":
            return f"cannot run: needs {number(row['value'])} B, {why}"
        if row["unit"] == "changes":
            return f"cannot run: {why}, after {number(row['value'])} changes"
        return f"cannot run: {why}"
    return None


def names(found, place):
    return list(dict.fromkeys(key[place] for key in found))


def half(metrics):
    """The cells of one kind of sync."""
    why = refusal(metrics)
    if why is not None:
        return [why] + [EMPTY] * (len(COSTS) - 1)
    return [number(metrics[metric]["value"]) for _, metric in COSTS]


def store_lines(found, medium, load, store):
    """A line for each RAM; one for all, where none runs for one reason."""
    lines = []
    for ram in names(found, 3):
        both = [found[(medium, load, store, ram, sync)] for sync in SYNCS]
        rare = both[1]
        ends = [EMPTY, EMPTY]
        if refusal(rare) is None:
            ends = [number(rare[m]["value"]) for m in (READS, ARENA)]
        lines.append(
            [store, f"{ram} KB", *half(both[0]), *half(both[1]), *ends]
        )
    same = all(line[2:] == lines[0][2:] for line in lines)
    if same and lines[0][2].startswith("cannot"):
        return [[store, "any", *lines[0][2:]]]
    return lines


def load_table(found, medium, load):
    header = ["store", "RAM"]
    header += [f"each: {name}" for name, _ in COSTS]
    header += [f"100: {name}" for name, _ in COSTS]
    header += ["reads a get", "arena, B"]
    lines = []
    for store in names(found, 2):
        lines += store_lines(found, medium, load, store)
    return table(header, lines)


def summary(found):
    """Mean times by medium, RAM and store, with a column for each load."""
    loads = names(found, 1)
    lines = []
    for medium in names(found, 0):
        for ram in names(found, 3):
            for store in names(found, 2):
                cells = [
                    EMPTY
                    if refusal(metrics)
                    else number(metrics[TIME]["value"])
                    for sync in SYNCS
                    for load in loads
                    for metrics in (found[(medium, load, store, ram, sync)],)
                ]
                if any(cell != EMPTY for cell in cells):
                    lines.append([medium, f"{ram} KB", store, *cells])
    header = ["medium", "RAM", "store"]
    header += [f"each: {load}" for load in loads]
    header += [f"100: {load}" for load in loads]
    return table(header, lines)


def ratios(rows):
    lines = []
    for row in rows:
        if row["metric"] == RATIO:
            met = meets(row)
            lines.append(
                [row["dataset"], row["config"], number(row["value"])]
                + [row["target"] or EMPTY, number(row["reference"])]
                + [EMPTY if met is None else "yes" if met else "**no**"]
            )
    header = ["load", "medium; RAM", "measured", "target", "paper", "met?"]
    return table(header, lines)


def sizes(rows):
    found = {}
    for row in rows:
        if row["config"] == "load":
            found.setdefault(row["dataset"], {})[row["metric"]] = row
    lines = [
        [name, *(number(row["value"]) for row in metrics.values())]
        for name, metrics in found.items()
    ]
    return table(["load", *next(iter(found.values()))], lines)


def text(rows):
    found = runs(rows)
    parts = [HEAD, sizes(rows) + "\n"]
    parts.append("## Time a change, in milliseconds\n\n")
    parts.append("Mean simulated time. `-`: the store cannot run the load; ")
    parts.append("the tables below say why.\n\n")
    parts.append(summary(found) + READING + "\n")
    parts.append("## Programs of mu for one of wandering\n\n")
    parts.append("Every change synced. The paper (mutree-2007, section 6.3) ")
    parts.append("has its own traces, pages of 4096 bytes and no cache.\n\n")
    parts.append(ratios(rows) + "\n")
    for medium in names(found, 0):
        for load in names(found, 1):
            parts.append(f"## {medium}: {load}\n\n")
            parts.append(load_table(found, medium, load) + "\n")
    return "".join(parts).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", help="what make bench-stores wrote")
    options = parser.parse_args()
    rows = json.loads(Path(options.results).read_text("utf-8"))
    (OUT / "stores.md").write_text(text(rows), "utf-8")
    (OUT / "stores.json").write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
