# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Writes docs/results/sorted.md and sorted.json from measured results.

make bench-sorted OUT=sorted.json
.venv/bin/python bench/report_sorted.py sorted.json
"""

import argparse
import json
from pathlib import Path

from report_series import meets, number, table

OUT = Path(__file__).resolve().parent.parent / "docs" / "results"
CHOSEN = "buffer 8 pages, fan 4, 3 levels, 0 bits more"
HEAD = """# A sorted value index, modelled

Made by `make bench-sorted OUT=file.json` and `bench/report_sorted.py
file.json`; the figures are in `sorted.json`. They are of a model,
`bench/bench_sorted_model.c`, whose head describes it: nothing of the index is
in `src/` yet. The model packs real runs of the real values and counts pages.

The table is the one of `series.md`: 100,000 rows of 16 bytes, pages of 512
bytes, 31 rows a page; `sea_surface_temp` has 19,225 rows of 12. It is a ring
that holds the set once and is written twice, so it drops a data page for each
new one. Queries are 50 ranges of 10 to 20 rows, evenly over the column's
values, at each of 20 moments of the second time.

"""
SUMMARY = """## What it shows

- **The three targets hold together for the mean** of watch, with a buffer of
  8 pages of RAM (4 KB). With one page a query reads a third more.
- **They do not hold for each query.** The rows of a query of watch are on up
  to 19 data pages, so the index would have one read for all of its runs.
- RAM decides. Where a run of a lower level saves bits, because it names fewer
  data pages, its values take more: they must be as sharp as the last level's.
  So an entry costs about the same at each level, and 0.01 programs an append
  pay for three copies of it: one from RAM, two from merges.
- An entry names a data page, not a row, and has of its value what tells ten
  rows apart. More bits save up to half a page read and cost programs.
- Two levels with 16 pages of RAM read less and program less than three with
  8, and need one kind of merge.
- Packed pages of 50 rows change little: entries name fewer pages, which
  saves programs.
- Where values repeat on a page (uwa, sea), an entry stands for many rows.
- Merges read little. A pass over the sources fills one page, so `fan` pages
  are read for each that is programmed, with one frame.

"""
REST = """## What an implementation needs

- A part of the series, named at create by the index's kind in the catalog,
  and regions of their own: a ring for each level, so that the oldest pages of
  a level are those of runs that are merged or dropped, and nothing is
  collected.
- The first values of the index pages of level 0 and of the directory's pages
  in RAM, beside the buffer.
- At most one index page for a data page that closes. So an append programs at
  most its data page and one page of the sorted index; on watch one data page
  of three closes with one, so both the maximum and p99.9 are 2 programs.
- A mount finds the newest complete directory, then the runs of level 0, and
  reads again the data pages after the newest run: as many as the buffer had.
  As with the summary, the first query may do so.
- What no readable run covers is read, and each row is compared, so a lost or
  hostile page costs reads, or is checked: shift, k and data pages are bounded
  by the run's.
"""


def rows_of(rows, dataset, config):
    return {
        row["metric"]: row
        for row in rows
        if row["dataset"] == dataset and row["config"] == config
    }


def cell(row):
    if row is None:
        return "-"
    mark = {None: "", True: "", False: " **no**"}[meets(row)]
    return number(row["value"]) + mark


def figures(rows, keys, first):
    """One column for each (data set, config) of `keys`; a line a metric."""
    columns = [rows_of(rows, *key) for key in keys]
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    return table(
        [first, *(key[0] for key in keys), "target"],
        [
            [
                metric,
                *(cell(column.get(metric)) for column in columns),
                next(
                    (
                        "watch: " + row["target"]
                        for row in rows
                        if row["metric"] == metric and row["target"]
                    ),
                    "-",
                ),
            ]
            for metric in metrics
        ],
    )


def settings(rows):
    """One line for each setting on watch."""
    wanted = (
        "page reads, mean",
        "page reads, max",
        "runs, mean",
        "runs, max",
        "programs an append",
        "reads of merges an append",
        "bytes a row",
    )
    configs = list(dict.fromkeys(row["config"] for row in rows))
    columns = {config: rows_of(rows, "watch", config) for config in configs}
    return table(
        ["watch", *wanted],
        [
            [config, *(cell(columns[config][metric]) for metric in wanted)]
            for config in sorted(configs, key=lambda c: int(c.split()[1]))
            if columns[config]
        ],
    )


def text(rows):
    sets = list(dict.fromkeys(row["dataset"] for row in rows))
    chosen = figures(rows, [(name, CHOSEN) for name in sets], "measured")
    return (
        HEAD
        + SUMMARY
        + f"## The chosen sizes: {CHOSEN}\n\n{chosen}\n"
        + f"## Others\n\n{settings(rows)}\n"
        + REST
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", help="what make bench-sorted wrote")
    options = parser.parse_args()
    rows = json.loads(Path(options.results).read_text("utf-8"))
    (OUT / "sorted.md").write_text(text(rows), "utf-8")
    (OUT / "sorted.json").write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
