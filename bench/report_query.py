# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Writes docs/results/query.md and query.json from measured results.

make bench-query OUT=query.json
.venv/bin/python bench/report_query.py query.json

Of several files the rows of a benchmark that is in a later one are its own.
"""

import argparse
import json
from pathlib import Path

from report_series import meets, number, table

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "results"
ROWS = 100_000  # of each set
CHIP_ROWS = 4800  # of bench_query_chips.py
QUERIES = ("q1", "q2", "q3", "q4", "q5")
SIDES = {
    "hand": "hand",
    "composed": "composed operators",
    "generated": "generated C",
    "machine": "machine",
    "sqlite": "SQLite",
}
RATIOS = (
    "generated / hand",
    "machine / hand",
    "composed / hand",
    "SQLite / generated",
    "SQLite / machine",
)
HEAD = """# Queries: generated C and the machine

Made by `make bench-query OUT=file.json` and `bench/report_query.py file.json`;
the figures are in `query.json`. The five queries are those of embeddb-2024,
Table 3, over the first 100,000 rows of each set:

```sql
{sql}
```

Generated C is what `esker sqlc` writes; the machine runs the same plan as a
program of bytes (src/query). "Hand" is a loop that a programmer wrote for the
query over the same cursor (bench/query/sides.c). "Composed operators" is the
query made by hand of the public operators in C, without SQL: a source with its
bounds and ranges, the rules of arithmetic, groups (bench/query/composed.c).
All four read series of 512-byte pages in RAM with 4 frames and one value index,
and verify the checksum of each page that they load. SQLite reads a file with
its default cache and an index on the value column. DuckDB reads a file with its
default cache, on one thread, without and with an index on the value column
(CREATE INDEX), and parses and plans in its time. All must give the same rows:
the benchmark compares values, of DuckDB the number of rows.

Instructions are callgrind's, of one run of the query, and repeat exactly.
Times are of the processor, best of 7; unlike instructions they grow with what
else the computer does.
"""


SUITES = """## Others' test files, queries

Files in sqllogictest's form, run by test/python/public_suite.py on the machine
(test/sql/README.md says how their tables become trees; the files are not in
this repository):

    cargo info datafusion-sqllogictest@55.2.0
    .venv/bin/python test/python/public_suite.py --out build/suites.json \\
        ~/.cargo/registry/src/*/datafusion-sqllogictest-55.2.0/test_files
    .venv/bin/python bench/report_query.py docs/results/query.json build/suites.json
"""


def bold(row):
    """A ratio, with its target where that is missed."""
    met = meets(row) if row.get("target") else None
    shown = number(row["value"])
    return f"**{shown}** (target {row['target']})" if met is False else shown


class Page:
    """The tables over the results."""

    def __init__(self, rows):
        self.found = {row["metric"]: row for row in rows}

    def line(self, name, metric, show=lambda row: number(row["value"])):
        return [name, *(show(self.found[f"{q}, {metric}"]) for q in QUERIES)]

    def instructions(self):
        def scaled(row):
            return f"{row['value'] / 1e6:.3g}"

        return (
            [self.line("rows of the answer", "rows")]
            + [
                self.line(name, f"instructions, {side}", scaled)
                for side, name in SIDES.items()
            ]
            + [
                self.line(name, f"instructions, {name}", bold)
                for name in RATIOS
            ]
        )

    def times(self):
        sides = {
            **SIDES,
            "duckdb": "DuckDB",
            "duckdb, index": "DuckDB, value column indexed",
        }
        return [self.line(name, f"time, {s}") for s, name in sides.items()]

    def memory(self):
        return [
            self.line(f"page reads, {name}", f"page reads, {side}")
            for side, name in SIDES.items()
            if side != "sqlite"
        ] + [
            self.line("RAM of generated C, B", "RAM, generated"),
            self.line("RAM of the machine, B", "RAM, machine"),
            self.line("bytes of its program", "program"),
        ]

    def small(self):
        return [
            self.line("code", "code, AVR"),
            self.line("RAM, cursors and rows included", "RAM, AVR"),
            self.line("stack of its own calls", "stack, AVR"),
        ]


def missed(page):
    """Says what the machine's misses are made of."""
    more = [
        (
            page.found[f"{query}, instructions, machine"]["value"]
            - page.found[f"{query}, instructions, hand"]["value"]
        )
        // ROWS
        for query in ("q1", "q2")
    ]
    return (
        "A ratio that misses its target is bold. In q1 and q2 the machine takes\n"
        f"{more[0]} and {more[1]} instructions of the host a row more than the "
        "loop.\nThe machine's sizes are beside their targets in "
        "src/query/README.md; three\nare over them, and it says why.\n"
    )


CHIP = """## On ATmega2560, thousands of cycles

The same queries in the terms of the committed series (bench/query/chips.sql):
{rows} rows, pages of 512 bytes, 4 frames, one value index, every page's checksum
verified. libsimavr counts the cycles of a whole query, from its opening to the
last row; the medium takes about 380 cycles a read. The machine's slots have 64
bits, and its cycles include the check of the program. The sides are compiled as
the core is: fast is `-O2 -flto`, small `-Os -flto` (bench/mcu). Stack is that of
the query's calls, the tables' included.
"""


def chip(rows):
    """The parts on a chip; none without its rows."""
    parts = []
    for build in ("fast", "small"):
        own = [
            row
            for row in rows
            if row["bench"] == "query_chips" and row["config"].endswith(build)
        ]
        if not own:
            return []
        page = Page(own)

        def thousands(row):
            return f"{row['value'] / 1e3:,.0f}"

        lines = [page.line("rows of the answer", "rows")]
        for side in ("hand", "generated", "machine", "check"):
            name = SIDES.get(side, "of it the check of the program")
            lines.append(page.line(name, f"cycles, {side}", thousands))
        lines += [
            page.line(name, f"cycles, {name}", bold) for name in RATIOS[:2]
        ]
        lines += [
            page.line(f"stack, {SIDES[side]}, B", f"stack, {side}")
            for side in ("hand", "generated", "machine")
        ]
        lines += [
            page.line("page reads, hand", "page reads, hand"),
            page.line("page reads, the others", "page reads, machine"),
            page.line("bytes of the program", "program"),
        ]
        parts.append(table([f"{build} build", *QUERIES], lines))
    return [CHIP.format(rows=number(CHIP_ROWS)), *parts]


def suites(rows):
    """Returns the section of others' test files, if there are figures."""
    found = [row for row in rows if row["bench"] == "query_suites"]
    if not found:
        return []
    names = list(dict.fromkeys(row["dataset"] for row in found))
    values = {(row["metric"], row["dataset"]): row["value"] for row in found}
    lines = [
        [metric, *(number(values[metric, name]) for name in names)]
        for metric in dict.fromkeys(row["metric"] for row in found)
    ]
    return [SUITES, table(["", *names], lines)]


def text(rows):
    page = Page([row for row in rows if row["bench"] == "query"])
    head = ["", *QUERIES]
    most = number(page.found["q1, RAM, SQLite, all queries"]["value"])
    sql = (ROOT / "bench/query/queries.sql").read_text().strip()
    parts = [
        HEAD.format(sql=sql),
        "## Instructions, millions\n",
        table(head, page.instructions()),
        missed(page),
        "## Time, ms\n",
        table(head, page.times()),
        "## Page reads and memory\n",
        table(head, page.memory()),
        (
            "RAM is of x86-64, with the cursors (a cursor has room for 8 ranges) "
            "and rows,\nbeside the tables' arena. SQLite took at most "
            f"{most} B for all five.\n"
        ),
    ]
    if "q1, code, AVR" in page.found:
        parts += [
            "## Generated C on ATmega2560, bytes\n",
            table(head, page.small()),
            (
                "By avr-gcc -Os -mcall-prologues. The tables' calls take stack "
                "beside this.\n"
            ),
        ]
    return "\n".join([*parts, *chip(rows), *suites(rows)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "results", nargs="+", help="what make bench-query wrote"
    )
    rows = []
    for path in parser.parse_args().results:
        found = json.loads(Path(path).read_text("utf-8"))
        benches = {row["bench"] for row in found}
        rows = [row for row in rows if row["bench"] not in benches] + found
    for row in rows:
        row.setdefault("target", None)
    (OUT / "query.md").write_text(text(rows), "utf-8")
    lines = ",\n".join(
        json.dumps({k: v for k, v in row.items() if v is not None})
        for row in rows
    )
    (OUT / "query.json").write_text(f"[\n{lines}\n]\n", "utf-8")


if __name__ == "__main__":
    main()
