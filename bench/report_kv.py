# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Writes docs/results/kv.md, its plots and kv.json from measured results.

make bench-kv OUT=kv.json
.venv/bin/python bench/report_kv.py kv.json
"""

import argparse
import json
from pathlib import Path

import matplotlib.pyplot as plt
from report_plots import SETTINGS, save
from report_series import EMPTY, meets, number, table

OUT = Path(__file__).resolve().parent.parent / "docs" / "results"
HEAD = """# The kv table, measured

Made by `make bench-kv OUT=file.json` and `bench/report_kv.py file.json`; the
figures are in `kv.json`. A simulated W25Q128, NOR flash with sectors of 4 KB,
one table in a volume. Every update is synced. First all keys are put, then as
many updates as make the log go round several times, then the updates that are
counted. Counts are exact; times are the part's typical ones; RAM is the arena
on the 64-bit host, where pointers are longer than on a chip.

- settings: 60 keys of 10 characters, in 3 or 4 sectors, beside those of the
  volume
- settings, bare: the same by `esk_kv_open_bare`: the store has nothing but these
  3 or 4 sectors
- store: 10,000 keys of 8 characters with 32 bytes, in 214, 154 or 128 sectors:
  50, 70 and 85 % of the log are live. All keys are in RAM, or the table has an
  index beside the log and a pending table of 16 KB or 4 KB; "short opens" asks
  for replays of 384 pages

p99.9 and max are of calls of one kind: 5,000 updates (20,000 of a store), 1,000
gets, then, in the same table, 2,000 deletes (the key is put again), 2,000
batches of four changes, 2,000 calls of a cursor that reads at most 8 keys a
call, and 2,000 updates with esk_volume_step(1) before each until none is due.
Deletes and batches are synced. Last come 1,000 opens of the table, 100 of a
store, with up to 15 or 63 updates between them, and as many readers: read-only
mounts with RAM for all keys, which check after four updates whether the writer
has passed them. Wear is that of the log's blocks after more than 25 rounds,
before these opens.

*Page reads* are the table's own count, `page_reads` of `esk_kv_stats`: reads of
whole pages. All other reads are what the medium was asked for: by the mount of
the volume, too, and parts of pages, as the 16 bytes of a page's head and the
first 3 of a record.

Reference: FlashDB 2.2 in as many sectors of a simulated NOR, measured apart; no
command here runs it.

"""
SHARES = {214: 50, 154: 70, 128: 85}  # blocks: % of the log that is live
TABLES = {
    "store": "all keys",
    "store, 16 KB": "16 KB",
    "store, 16 KB, short opens": "16 KB, short",
    "store, 4 KB": "4 KB",
}
MOUNTS = {
    "page reads to open": "page reads to open",
    "time a mount and open, max": "ms to mount and open, at most",
}
COLOURS = ("#1b6ca8", "#d1495b", "#2e8b57")
PLOTS = """
## Mount against journal, RAM against size

An open reads the journal: what the pending table, of so many bytes, or of all
keys, has a place for. A longer one costs fewer bytes an update. The time is that
of a mount and an open of a W25Q128: the largest of 100. With all keys in RAM
an open also reads 3 bytes of each key's record.

![Mount](kv_mount.svg)

RAM is the arena of a table of 43-byte records in a log of twice their bytes.

![RAM](kv_ram.svg)

"""
TAIL = """
What misses its target, and why:

- page reads a get: a record that goes on in a second page costs a second read.
  Records that begin in the next page where less than 48 bytes are left were
  tried. With 32 B values a get takes 0.96 reads then, but a thousand updates
  take 16.8 erases in 4 sectors and 21 in 3, where 16 and 19 were asked; with
  64 B values 1.11 reads, and 54.6 erases in 3 sectors, where 53 were asked.
  So were all records that a page has no room for, up to a length: of 32 B
  values a get takes 0.96 reads, an update 61.7 and 77.8 bytes and 17 and 21
  erases a thousand (asked 64, 76, 16, 19); of 64 B values 0.97 reads, 142 and
  276 bytes, 44 and 77 erases (asked 125, 210, 31, 53). Neither is built in.
  Four sealed records of 54 bytes, or two of 86, and a rest fill a page. There
  is nothing between: with 32 B values 24 bytes are left behind four, so any
  bound from 25 to 48 moves every fifth record (28, 32: 0.956 reads, 17 erases
  in 4 sectors; 36, 40, 44: 0.958, 16.8; in 3 sectors 20.6 to 20.8).
  With an index a get reads an inner node, a leaf and the record.
- settings, bare, programs an update: 18 at most, with 64 B values in 3 sectors
  and 4 hot keys. The cold keys fill the oldest sector. A put that
  has to free it moves its 16 pages, behind what the head's page has: 2 programs
  complete that page, which was synced before, and 12 are whole pages. One makes
  the moved records durable, so that the sector is free; where they nearly fill a
  page, the put completes it by 2 more, and its sync is the 18th. In a volume a
  sector has no head of 32 bytes, and the records end elsewhere in a page. It
  would be 16 if the put's sync made the moved records durable, too: then a sector
  would count as free before it is, and each step of the head would have to look.
- settings, bare, reads to mount and open: the table reads 43 to 77 whole pages,
  within what was asked; the medium is also asked for the heads of 21 to 35
  pages, 16 bytes each, and 3 bytes of 60 records. All of that together is as many
  bytes as 48 to 81 pages.
- settings, bare, RAM: 32 bytes more than in a volume are the head. On a
  Cortex-M0+ it is 1,056 bytes, where 1,100 were asked, 800 with pages of 128; in
  a volume 1,024 and 768.
- store, 16 KB and 4 KB, RAM: the handles of table and index have 512 bytes on
  this host, where pointers have 8 bytes, and 388 on a Cortex-M0+, where 400 were
  asked (`scripts/handles`). There ESK_KV_INDEX_ARENA_BYTES is 17,576 and 5,288
  with the same slots: 24 more than asked, because of the inner nodes'
  references, 40 bytes.
- store, short opens, page reads to open: "replay_pages" bounds an open about. The
  largest of the three took {one} page reads, where 512 were asked; the means of
  100 opens are {means}. The largest of these asks the medium for
  {reads} reads, also of parts of pages.
- store, 4 KB, programs an update: 17 at most at 70 % with zipf, where 16 were
  asked; 999 of 1,000 updates take at most 14. With other draws it was 16.
- keys of 255 bytes: 253 stand. The first byte of an item in the log is a key's
  length; 254 and 255 there are a tail mark and a seal. Longer keys would need a
  feature bit, and code that reads stores with it and without. Two ways to do
  that were built: they took 64 and 104 bytes on a Cortex-M0+, for two bytes of
  a key. A program with longer keys can store their hash.
"""


def tail(rows):
    """The sentences behind the tables, with what the rows say of opens."""

    def values(metric):
        return [
            row["value"]
            for row in rows
            if row["metric"] == metric and "short opens" in row["dataset"]
        ]

    means = values("page reads to open, mean")
    return TAIL.format(
        one=number(max(values("page reads to open"))),
        means=f"{number(round(min(means)))} to {number(round(max(means)))}",
        reads=number(max(values("reads a mount and open, max"))),
    )


def cell(row):
    if row is None:
        return EMPTY
    met = meets(row)
    return number(row["value"]) + (" **miss**" if met is False else "")


def sections(rows):
    """Rows by data set and configuration without the load."""
    found = {}
    for row in rows:
        if row["dataset"] == "RAM":
            continue
        config, load = row["config"].rsplit(", ", 1)
        key = (row["dataset"], config)
        found.setdefault(key, {}).setdefault(row["metric"], {})[load] = row
    return found


def text(rows):
    parts = [HEAD]
    for (dataset, config), metrics in sections(rows).items():
        loads = list(next(iter(metrics.values())))
        lines = []
        for metric, by_load in metrics.items():
            row = by_load[loads[0]]
            lines.append(
                [metric]
                + [cell(by_load.get(load)) for load in loads]
                + [row["unit"] or "", row["target"] or EMPTY]
                + [number(row["reference"])]
            )
        parts.append(f"## {dataset}: {config}\n\n")
        header = ["", *loads, "unit", f"target, {loads[0]}", "reference"]
        parts.append(table(header, lines) + "\n")
    return "".join(parts).rstrip() + "\n" + PLOTS + ram_table(rows) + tail(rows)


def rams(rows):
    """{table: {keys: bytes}} of the arena."""
    found = {}
    for row in rows:
        if row["dataset"] == "RAM":
            keys, name = row["config"].split(" keys, ")
            found.setdefault(name, {})[int(keys)] = row["value"]
    return found


def ram_table(rows):
    found = rams(rows)
    counts = list(next(iter(found.values())))
    lines = [
        [f"{keys:,}"] + [number(by_keys[keys]) for by_keys in found.values()]
        for keys in counts
    ]
    return table(["keys", *(f"{name}, B" for name in found)], lines)


def draw_mount(rows, path):
    """Bytes an update by page reads and by time, a line a share that is live."""
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True)
    for axis, (metric, label) in zip(axes, MOUNTS.items(), strict=True):
        for (blocks, share), colour in zip(
            SHARES.items(), COLOURS, strict=True
        ):
            points = []
            for dataset, name in TABLES.items():
                values = {
                    row["metric"]: row["value"]
                    for row in rows
                    if row["dataset"] == dataset
                    and f" {blocks} blocks" in row["config"]
                    and row["config"].endswith("uniform")
                }
                written = values["bytes programmed an update"]
                points.append((values[metric], written))
                axis.annotate(name, points[-1], fontsize=6, xytext=(3, 3),
                              textcoords="offset points")  # fmt: skip
            axis.plot(
                *zip(*sorted(points), strict=True),
                "o-",
                ms=4,
                color=colour,
                label=f"{share} % live",
            )
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel(label)
    axes[0].set_ylabel("bytes programmed an update")
    axes[0].legend(frameon=False, fontsize=8)
    save(figure, path)


def draw_ram(rows, path):
    """RAM by keys, a line a table."""
    figure, axis = plt.subplots(figsize=(6, 3.2))
    found = rams(rows).items()
    for (name, by_keys), colour in zip(found, COLOURS, strict=True):
        axis.plot(by_keys.keys(), by_keys.values(), "o-", ms=4, color=colour,
                  label=name)  # fmt: skip
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("keys")
    axis.set_ylabel("bytes of RAM, 64-bit host")
    axis.legend(frameon=False, fontsize=8)
    save(figure, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", help="what make bench-kv wrote")
    options = parser.parse_args()
    rows = json.loads(Path(options.results).read_text("utf-8"))
    (OUT / "kv.md").write_text(text(rows), "utf-8")
    (OUT / "kv.json").write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    plt.rcParams.update(SETTINGS)
    draw_mount(rows, OUT / "kv_mount.svg")
    draw_ram(rows, OUT / "kv_ram.svg")


if __name__ == "__main__":
    main()
