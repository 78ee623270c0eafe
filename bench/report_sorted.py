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
CHOSEN = "4600 entries, 512 fences, fan 5, 1 bits more"
NO_FENCES = "4600 entries, 0 fences, fan 5, 1 bits more"
IN_SERIES = "4608 entries, in a series"
MODELLED = "buffer 16 pages, fan 6, 2 levels, 1 bits more"
ANYWHERE = "page reads, value range anywhere, mean"
PLAIN = "v1 where 10 to 20 rows match, "
HEAD = """# A sorted value index

Made by `make bench-sorted OUT=file.json` and `bench/report_sorted.py
file.json`; the figures are in `sorted.json`. The index is that of
`src/index/sorted`, whose README has the idea and the promises.
`bench/bench_sorted_table.c` measures a series with it. `bench/bench_sorted.c`
measures it alone: feeds it with values and a simulator of two rings, programs
its pages, and counts what is read. The sizes were chosen with a model,
`bench/bench_sorted_model.c`, whose figures follow.

The table is the one of `series.md`: 100,000 rows of 16 bytes, pages of 512
bytes, 31 rows a page; `sea_surface_temp` has 19,225 rows of 12. It is a ring
that holds the set once and is written twice, so it drops a data page for each
new one. Queries are 50 ranges of 10 to 20 rows, evenly over the column's
values, at each of 20 moments of the second time. A page read is one of a data
page that the answer names, or of an index page.

"""
SUMMARY = """## What it shows

- **The three targets {hold} for the mean of watch**, through a series, with
  {ram_kb:.0f} KB of RAM: {mean:.4g} page reads, {programs:.3g} programs an append
  and {bytes:.3g} bytes a row. Without the index such a query reads {without:.0f}
  pages on average (`series.md`).
- **They do not hold for each query**: the rows of one are on up to {match:.0f} data
  pages, so the index would have one read for all of its runs. At most one query
  in a thousand reads more than {p999:.0f} pages.
- The model's buffer is packed. The real one has 6 bytes for an entry, of which
  13 to 14 bits reach the medium, so 16 pages of the model are 28 KB.
- Fences of all pages are in RAM here. With none a query reads {fences:.2g} pages more:
  the closing page of each run.
- A merged entry is longer than the model's, because its data page is coded in
  more bits and the Rice code of small steps saves less than these: {alone:.2g}
  programs an append instead of {model:.2g}.
- Bytes of the index alone are those of rings that hold exactly what is in use
  and a block to erase. No page of a run was lost to a ring that wrapped.
- A data page that closes programs at most one index page, also while runs are
  merged. A mount reads two pages for each run, and about ten to find the rings.

"""
SERIES = """## Through a series

`bench/bench_sorted_table.c`: the default sizes (4,608 entries, fan 5), blocks by
`esk_series_sorted_blocks`, which leave no data page without a run. Each ring has
a block to erase, and room for data that packs worse. Programs and RAM are those
of the series with the index less those of the series without it; the first query
after a mount adds the data pages that no run covers. Where values repeat or rows
are few, the blocks are more than such data needs.

"""
OPEN = """## What is not there

Columns of 8 bytes are not covered, and a table has one sorted index.

"""
MODEL = """## The model

RAM decides. Where a run of a lower level saves bits, because it names fewer
data pages, its values take more: they must be as sharp as the last level's. So
an entry costs about the same at each level, and 0.01 programs an append pay for
three copies of it: one from RAM, two from merges. An entry names a data page,
not a row, and has of its value what tells ten rows apart. Packed pages of 50
rows change little: entries name fewer pages, which saves programs. Where values
repeat on a page (uwa, sea), an entry stands for many rows.

"""


def rows_of(rows, dataset, config):
    """Rows by metric: a metric has one row a data set and config."""
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


def sizes(config):
    """The numbers of a config."""
    return [int(word) for word in config.split() if word.isdigit()]


ALONE = (
    "page reads, mean",
    "page reads, max",
    "runs, mean",
    "runs, max",
    "programs an append",
    "reads of merges an append",
    "bytes a row",
)
THROUGH = (
    "page reads, mean",
    "page reads, p99.9",
    "page reads, max",
    "programs an append",
    "programs of an append, max",
    "page reads of a mount",
    "bytes a row",
    "RAM",
)


def settings(rows, wanted):
    """One line for each setting on watch."""
    configs = list(dict.fromkeys(row["config"] for row in rows))
    columns = {config: rows_of(rows, "watch", config) for config in configs}
    return table(
        ["watch", *wanted],
        [
            [config, *(cell(columns[config][metric]) for metric in wanted)]
            for config in sorted(configs, key=sizes)
            if columns[config]
        ],
    )


def value_of(rows, metric, config):
    """A figure of watch."""
    return rows_of(rows, "watch", config)[metric]["value"]


def without_index():
    """Page reads of such a query in docs/results/series.md."""
    rows = json.loads((OUT / "series.json").read_text("utf-8"))
    return next(
        row["value"]
        for row in rows
        if (row["metric"], row["dataset"]) == (ANYWHERE, "watch")
        and row["config"].startswith(PLAIN)
    )


def summary(real, model, series):
    """What the figures show, with the figures."""
    targets = ("page reads, mean", "programs an append", "bytes a row")
    found = rows_of(series, "watch", IN_SERIES)
    hold = all(meets(found[metric]) for metric in targets)
    mean, programs, size = (found[metric]["value"] for metric in targets)
    reads = "page reads, mean"
    return SUMMARY.format(
        hold="hold" if hold else "do not all hold",
        ram_kb=found["RAM"]["value"] / 1000,
        mean=mean,
        programs=programs,
        bytes=size,
        p999=found["page reads, p99.9"]["value"],
        without=without_index(),
        match=value_of(model, "pages with a match, max", MODELLED),
        fences=value_of(real, reads, NO_FENCES) - value_of(real, reads, CHOSEN),
        alone=value_of(real, "programs an append", CHOSEN),
        model=value_of(model, "programs an append", MODELLED),
    )


def text(rows):
    real, model, series = (
        [row for row in rows if row["bench"] == bench]
        for bench in ("sorted", "sorted_model", "sorted_table")
    )
    sets = list(dict.fromkeys(row["dataset"] for row in real))
    in_series = figures(
        series, [(name, IN_SERIES) for name in sets], "measured"
    )
    chosen = figures(real, [(name, CHOSEN) for name in sets], "measured")
    modelled = figures(model, [("watch", MODELLED)], "modelled")
    return (
        HEAD
        + summary(real, model, series)
        + f"{SERIES}{in_series}\n{settings(series, THROUGH)}\n"
        + f"## The index alone: {CHOSEN}\n\n{chosen}\n"
        + f"## Others\n\n{settings(real, (*ALONE, 'RAM'))}\n"
        + OPEN
        + MODEL
        + f"{modelled}\n{settings(model, ALONE)}"
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
