# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Writes docs/results/kv_host.md and kv_host.json from measured results.

make bench-kv-host OUT=kv_host.json
.venv/bin/python bench/report_kv_host.py kv_host.json
"""

import argparse
import json
from pathlib import Path

from report_series import number, table

OUT = Path(__file__).resolve().parent.parent / "docs" / "results"
HEAD = """# Kv tables in a file, beside LMDB and SQLite

Made by `make bench-kv-host OUT=file.json` and `bench/report_kv_host.py
file.json`; the figures are in `kv_host.json`. One process, one file system,
the same changes in the same order; keys of 16 bytes.

- EskerDB: a kv table with an index, in an image file (`port/posix_file`) that
  pages are overwritten in. Pages of 4 KiB, 4,096 keys in the pending table, no
  page cache. The newest records are 60 % of the log. Other forms: pages of
  16 KiB; a page cache, with 2,000 KiB of RAM in all; all keys in RAM and no
  index.
- LMDB: default flags but `MDB_NOSUBDIR` and `MDB_NOLOCK`.
- SQLite: `CREATE TABLE kv(key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID`, or
  "rowid" without these two words; journal mode WAL or DELETE; synchronous =
  FULL; its default cache of 2,000 KiB, or the RAM that EskerDB has, 84 KiB.

Changes are durable one by one ("each"), in transactions of 100
(`esk_kv_change_many` and a sync), or once behind the last change ("at the
end": a transaction for the peers, for EskerDB puts and one sync, of which
power loss leaves a prefix). All sides sync: fsync, fdatasync, or for LMDB's
second sync a write with O_DSYNC. The program counts these calls of every
library; strace counted the same: 3,309 for EskerDB, 1,707 for LMDB, 924 for
SQLite WAL and 3,420 for SQLite DELETE in one run of 10,000 keys, its setup
included.

Bytes are those passed to write calls, equal to `wchar` of /proc/self/io, and
those of the 4 KiB blocks that the file system has to write for them: a block
that is written twice between two syncs counts once. `write_bytes` of
/proc/self/io is not used: with large folios a write of a byte counts up to
64 KiB there. Bytes and syncs are the same in each run.

Rates are medians of 3 rounds with the spread (largest minus smallest) in
percent. A sync on the disk of these figures took 0.1 or 4 ms, by what others
did there, so a rate by the wall clock says more of the moment than of a side.
The program therefore also takes the time of all syncs off ("beside syncs"),
and from this and the syncs a change reckons the rate on a disk whose sync
takes 1 ms. Gets and scans are by the processor's time; the system has all
pages cached. Files are new in each round. Unmeasured changes, without syncs,
first fill the base and then update it, 4 for each 5 keys.

In a round 30 changes of each load are durable one by one, 334 of the uniform
updates of the first four sides on the first set; 400 are in transactions of
100; 2,000 end in one sync, or 1,000 of 1,000 bytes. A step of EskerDB's index
or a checkpoint of SQLite that falls among 30 changes weighs much: quote these
334.

"""
TAIL = """
## Where EskerDB loses, and why

- **At the end, and batches.** On a medium that reorders writes no page of the
  log is programmed before the one that it follows is durable
  (`ESK_MEDIUM_OVERWRITE`). So each page of 4 KiB costs a sync, though the
  program asks for one: see "syncs a change". Pages of 16 KiB need fewer. The
  peers write pages in any order and sync once.
- **Gets.** An index costs a read of an inner node, a leaf and the record, each
  by a system call and with its checksum verified. LMDB reads its map and
  verifies nothing. With all keys in RAM a get is one read.
- **Ordered scans.** A kv table has no order: a cursor selects the next keys
  that its memory has room for, here 65,535 bytes, in a pass over the log, then
  gets each value. Passes grow with the keys, so a scan of 100,000 keys is
  slower for each key than one of 10,000.
- **Size.** The file has its full size from the start: the log with 40 % for
  garbage, and the index, with five spare blocks.
- **Latency.** A step of the index writes about 10 pages, and a block's end
  moves records: the longest changes.

What EskerDB wins: bytes. A change that is synced writes its record and a seal,
in one block of 4 KiB, where LMDB writes its path and a meta page, and SQLite a
page to the log and later to the base. And RAM.
"""
LOADS = ("load", "update, uniform", "update, zipf", "delete")
COMMITS = ("each", "each 100", "at the end")
RATE = "changes a second"
BESIDE = "changes a second beside syncs"
SYNC_S = 1e-3  # of the disk that rates are reckoned for


def reckoned(rows, config):
    """Changes a second on a disk whose sync takes SYNC_S."""
    syncs = rows[config, "syncs a change"]
    return number(digits(1 / (1 / rows[config, BESIDE] + syncs * SYNC_S)))


def rate(rows, side, metric):
    """The median with its spread."""
    value = rows[side, metric]
    return f"{number(digits(value))} ({rows[side, metric + ', spread']:.0f} %)"


def digits(value):
    """Three digits: times are no more exact than that."""
    return float(f"{value:.3g}")


def changes(sides, cell):
    """A table of loads and durabilities by sides."""
    lines = [
        [load, commit] + [cell(f"{side}; {load}; {commit}") for side in sides]
        for load in LOADS
        for commit in COMMITS
    ]
    return table(["", "durable", *sides], lines) + "\n"


def reads(sides, rows):
    """The table of gets, scans, files and RAM."""
    lines = (
        ("gets a second", lambda s: rate(rows, s, "gets a second")),
        (
            "keys a second of a scan",
            lambda s: rate(rows, s, "keys a second of a scan"),
        ),
        ("file, loaded, B", lambda s: number(rows[s, "file, loaded"])),
        ("file, updated, B", lambda s: number(rows[s, "file, updated"])),
        (
            "updated file over keys and values",
            lambda s: number(digits(rows[s, "file over keys and values"])),
        ),
        (
            "RAM, B",
            lambda s: (
                number(rows[s, "RAM"])
                if (s, "RAM") in rows
                else "maps the file"
            ),
        ),
    )
    return table(["", *sides], [[n, *map(cell, sides)] for n, cell in lines])


def section(name, rows):
    """The tables of a set. rows: values by (side or config, metric)."""
    sides = [side for side, metric in rows if metric == "gets a second"]
    disk = rows["before the rounds", "write and fsync of a block"]

    def pair(config):
        written = rows[config, "bytes written a change"]
        blocks = rows[config, "bytes of blocks written a change"]
        return f"{number(round(written))} / {number(round(blocks))}"

    def latency(config):
        tail, most = (
            rows[config, "latency, p99.9"],
            rows[config, "latency, max"],
        )
        return f"{number(digits(tail))} / {number(digits(most))}"

    parts = [
        f"## {name}\n\n",
        (
            f"A write and an fsync of a block took {number(digits(disk))} ms "
            "before the rounds.\n\n"
        ),
        "Changes a second, reckoned for syncs of 1 ms:\n\n",
        changes(sides, lambda config: reckoned(rows, config)),
        "Changes a second beside syncs, with the spread:\n\n",
        changes(sides, lambda config: rate(rows, config, BESIDE)),
        "Changes a second by the wall clock, with the spread:\n\n",
        changes(sides, lambda config: rate(rows, config, RATE)),
        "Bytes a change: passed to write calls / of 4 KiB blocks:\n\n",
        changes(sides, pair),
        "Syncs a change:\n\n",
        changes(
            sides,
            lambda config: number(digits(rows[config, "syncs a change"])),
        ),
    ]
    if len(sides) > 4:
        parts += [
            (
                "Latency, p99.9 / maximum of all rounds, in ms: of a change with "
                "its sync, a transaction of 100, a change without the sync. Only "
                "uniform updates of the first four sides have 1,002 changes with a sync each.\n\n"
            ),
            changes(sides, latency),
        ]
    parts.append(reads(sides, rows))
    return "".join(parts)


def text(rows):
    load = next(row for row in rows if row["metric"].startswith("load av"))
    parts = [
        HEAD,
        f"Load average as it began: {load['value']}, on {load['config']}.\n\n",
    ]
    sets = {}
    for row in rows:
        if row["dataset"] != "-":
            of_set = sets.setdefault(row["dataset"], {})
            of_set[row["config"], row["metric"]] = row["value"]
    parts += [section(name, of_set) + "\n" for name, of_set in sets.items()]
    return "".join(parts).rstrip() + "\n" + TAIL


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", help="what make bench-kv-host wrote")
    options = parser.parse_args()
    rows = json.loads(Path(options.results).read_text("utf-8"))
    (OUT / "kv_host.md").write_text(text(rows), "utf-8")
    lines = ",\n".join(
        json.dumps({k: v for k, v in row.items() if v is not None})
        for row in rows
    )
    (OUT / "kv_host.json").write_text(f"[\n{lines}\n]\n", "utf-8")


if __name__ == "__main__":
    main()
