# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Writes docs/results/leaves.md and leaves.json from measured results.

make bench-leaves OUT=leaves.json
.venv/bin/python bench/report_leaves.py leaves.json
"""

import argparse
import json
from pathlib import Path

from report_series import number, table

OUT = Path(__file__).resolve().parent.parent / "docs" / "results"
PAGES = (256, 512, 2048, 4096)
VALUES = (4, 8, 16)
MORE, LESS = 1.5, 2  # what the issue asks: entries a page, cycles of a search
ENTRIES = "entries a page"
CYCLES = "cycles of a search, ATmega2560"
INSTRUCTIONS = "instructions of a search"
HASHES = "kv index, hashes"
HEAD = """# Packed leaves of trees, a study

Made by `make bench-leaves OUT=file.json` and `bench/report_leaves.py
file.json`; the figures are in `leaves.json`. The question: do packed leaves
of copy-on-write trees hold at least 1.5 times the entries a page at less than
2 times the cycles of a search? **No tree has packed leaves**: encoders and
searches are in `bench/leaves`, whose `leaf.h` has the formats.

- Each set has 3,000 keys, inserted in the order of the set: rising, shuffled,
  or as its file has them. A leaf that is full is split as a tree splits it.
  Entries a page are those of all leaves but the last, on average while the
  number of keys doubles. A page's first 42 bytes are those of a wandering
  tree.
- Values are raw. Every leaf is encoded, and every key of it is found with its
  value; keys that a leaf lacks are not found.
- Cycles are of an ATmega2560 in simavr, small build: 16 keys of each of 8
  leaves. Instructions are of the host, by callgrind: every key. Values of 4
  bytes.
- raw is the core's own search. Its leaf of kv keys has the bytes of the set's
  longest key for each; `slots` has each key's own.
- A number behind a format is the spacing of whole keys.

## Where it holds

The format with the most entries that meets both, with its entries and cycles
as multiples of raw's; -: none does. Cycles with values of 8 and 16 bytes are
those with 4.

"""
SHOWS = """
- **Texts that share their beginnings: yes.** `front` holds 1.7 to 5.7 times
  the entries of raw pages of 512 bytes with values of 4 bytes, at 0.8 to 1.4
  times the cycles; with values of 16 bytes only settings, numbered keys and
  paths do.
- raw is slow with texts: it compares through a call for each key, and goes on
  after an equal one. `slots`, a plain loop, takes 0.5 to 0.7 times its
  cycles. Beside `slots`, `front` with a spacing of 8 takes 0.9 to 1.7 times
  for such texts, so it holds there, too; with 16 and 32 not on all pages.
- **Integers: hardly.** Dense u32 with values of 4 bytes on pages of 256 and
  512 (`base`, 1.6 times), and u64 times with values of 4 bytes (`delta`, 1.5
  to 1.6). With values of 8 bytes no integer reaches 1.5: of an entry of 12
  bytes a u32 key is a third, so 1.5 is what a key of no bytes would give.
  Times in seconds, the keys of watch and of a file system miss one of the two
  even with values of 4.
- Random keys hold 0.9 to 1.2 times the entries, whatever the format.
- Rice codes hold the most integers, 1.8 times, at 4 to 7 times the cycles.

## What follows

**The trees stay as they are.** The common case is a tree whose keys are names
with the same beginnings. There a put mostly programs as many pages as before:
one a level, or one in all. Packed leaves save room, and with it collection.
But text keys have a kv table, and a page of 512 bytes of its index has 97
entries, where the best leaf has 50 of numbered keys, 26 of settings and 23 of
paths.

If it is wanted, it is `front` with a spacing of 8 or 16, chosen at create for
a tree whose key is of fixed bytes. It would need: a node's room in bytes
instead of entries, in `src/index/btree` and in each place that asks
`esk_btree_capacity` (split, merge, bulk load, the plan of rooms); an insert
that codes the key behind it anew and moves places; a decode of a run for a
cursor that goes backward; a check that reads a hostile leaf within bounds; a
bit in a tree's option, FORMAT.md, the reader, golden images, salvage. A
search is 534 bytes of code, beside 384 of raw's. What an insert costs was not
measured.

What pays without a new format: a search of texts in a loop of its own, as
`slots` and `base` have it, in about half the cycles.

## kv tables

A kv table's index has no keys: an entry is two or three bytes of a hash, and
an address. Its most entries a page, and those of the same entries packed,
with addresses of 3 bytes:

"""
CODE = """
Packing gains at most 1.23 times (Rice codes, whole keys 32 apart). No.

## Code

Of a search with the functions that only it calls, compiled alone. raw serves
all integers and texts.

"""
SETS = """
## All figures

As multiples of raw's in the same page, whose counts are in the first row.
Columns: entries with values of 4 bytes by bytes of a page; entries of a page
of 512 with larger values; cycles of an ATmega2560; instructions of the host.

"""


class Figures:
    """Values by metric, set, page, bytes of a value, format."""

    def __init__(self, rows):
        self.of = {}
        self.sets, self.forms = [], {}
        for row in rows:
            if row["metric"] not in (ENTRIES, CYCLES, INSTRUCTIONS):
                continue
            page, value, form = row["config"].split(", ")
            name = row["dataset"]
            key = (int(page.split()[1]), int(value.split()[1]), form)
            self.of[(row["metric"], name, *key)] = row["value"]
            if name not in self.sets:
                self.sets.append(name)
            self.forms.setdefault(name, [])
            if form not in self.forms[name]:
                self.forms[name].append(form)

    def ratio(self, metric, name, page, value, form):
        """To the raw leaf of the same page and values."""
        raw = self.of.get((metric, name, page, value, "raw"))
        found = self.of.get((metric, name, page, value, form))
        return found / raw if raw and found else None

    def holds(self, name, page, value, form):
        entries = self.ratio(ENTRIES, name, page, value, form)
        cycles = self.ratio(CYCLES, name, page, 4, form)
        return bool(entries and cycles and entries >= MORE and cycles < LESS)


def text(value):
    return "-" if value is None else f"{value:.2f}"


def set_text(figures, name):
    head = ["raw is 1"]
    head += [f"entries, {page}" for page in PAGES]
    head += [f"512, values {value}" for value in VALUES[1:]]
    head += [f"cycles, {page}" for page in PAGES]
    head += ["host, 512"]
    lines = []
    for form in figures.forms[name]:
        cells = [figures.ratio(ENTRIES, name, page, 4, form) for page in PAGES]
        cells += [
            figures.ratio(ENTRIES, name, 512, value, form)
            for value in VALUES[1:]
        ]
        cells += [figures.ratio(CYCLES, name, page, 4, form) for page in PAGES]
        cells += [figures.ratio(INSTRUCTIONS, name, 512, 4, form)]
        if form == "raw":
            lines.append(
                [
                    "raw: counts",
                    *(
                        number(figures.of.get(key))
                        for key in (
                            *((ENTRIES, name, p, 4, form) for p in PAGES),
                            *((ENTRIES, name, 512, v, form) for v in (8, 16)),
                            *((CYCLES, name, p, 4, form) for p in PAGES),
                            (INSTRUCTIONS, name, 512, 4, form),
                        )
                    ),
                ]
            )
        else:
            lines.append([form, *map(text, cells)])
    return f"### {name}\n\n{table(head, lines)}\n"


def verdict(figures, name, page, value):
    """The format with most entries of those that hold; none: -."""
    held = [
        (figures.ratio(ENTRIES, name, page, value, form), form)
        for form in figures.forms[name]
        if form != "raw" and figures.holds(name, page, value, form)
    ]
    if not held:
        return "-"
    entries, form = max(held)
    cycles = figures.ratio(CYCLES, name, page, 4, form)
    return f"{form}: {entries:.2f} at {cycles:.2f}"


def verdicts(figures):
    cases = [(page, 4) for page in PAGES]
    cases += [(512, value) for value in VALUES[1:]]
    head = ["best"] + [f"page {p}, values {v}" for p, v in cases]
    lines = [
        [name, *(verdict(figures, name, *case) for case in cases)]
        for name in figures.sets
    ]
    return table(head, lines)


def code(rows):
    lines = [
        [row["config"], number(row["value"])]
        for row in rows
        if row["metric"] == "code of a search"
    ]
    return table(["a search", "bytes, ATmega2560"], lines)


def hashes(rows):
    found = {
        tuple(row["config"].removeprefix("page ").split(", ")): row["value"]
        for row in rows
        if row["dataset"] == HASHES
    }
    forms = list(dict.fromkeys(form for _, form in found))
    lines = [
        [form, *(number(found.get((str(page), form))) for page in PAGES)]
        for form in forms
    ]
    return table(["most entries", *(f"page {page}" for page in PAGES)], lines)


def document(rows):
    figures = Figures(rows)
    sets = [set_text(figures, name) for name in figures.sets]
    parts = [HEAD, verdicts(figures), SHOWS, hashes(rows), CODE, code(rows)]
    return "".join([*parts, SETS, *sets]).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", help="what make bench-leaves wrote")
    options = parser.parse_args()
    rows = json.loads(Path(options.results).read_text("utf-8"))
    (OUT / "leaves.md").write_text(document(rows), "utf-8")
    (OUT / "leaves.json").write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
