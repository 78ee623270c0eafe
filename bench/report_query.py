# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Writes docs/results/query.md and query.json from measured results.

make bench-query OUT=query.json
.venv/bin/python bench/report_query.py query.json
"""

import argparse
import json
from pathlib import Path

from report_series import meets, number, table

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "results"
QUERIES = ("q1", "q2", "q3", "q4", "q5")
HEAD = """# Queries: generated C and the machine

Made by `make bench-query OUT=file.json` and `bench/report_query.py file.json`;
the figures are in `query.json`. The five queries are those of embeddb-2024,
Table 3, over the first 100,000 rows of each set:

```sql
{sql}
```

Generated C is what `esker sqlc` writes; the machine runs the same plan as a
program of bytes (src/query). "Hand" is a loop that a programmer wrote for the
query over the same cursor (bench/query/sides.c). All three read series of
512-byte pages in RAM with 4 frames and one value index, and verify the
checksum of each page that they load. SQLite reads a file with its default
cache and an index on the value column; DuckDB has its tables in RAM, on one
thread, and parses and plans in its time. All but DuckDB must give the same
rows, which the benchmark checks.

Instructions are callgrind's, of one run of the query, and repeat exactly.
Times are of the processor, best of 7.
"""


def bold(row):
    """A ratio, with its target where that is missed."""
    met = meets(row) if row.get("target") else None
    shown = number(row["value"])
    return f"**{shown}** (target {row['target']})" if met is False else shown


def text(rows):
    found = {row["metric"]: row for row in rows}

    def line(name, metric, show=lambda row: number(row["value"])):
        return [name, *(show(found[f"{q}, {metric}"]) for q in QUERIES)]

    def scaled(row):
        return f"{row['value'] / 1e6:.3g}"

    sql = (ROOT / "bench/query/queries.sql").read_text().strip()
    parts = [HEAD.format(sql=sql)]
    names = {"hand": "hand", "generated": "generated C", "machine": "machine"}
    every = {**names, "sqlite": "SQLite"}
    parts.append("## Instructions, millions\n")
    parts.append(
        table(
            ["", *QUERIES],
            [line("rows of the answer", "rows")]
            + [
                line(name, f"instructions, {side}", scaled)
                for side, name in every.items()
            ]
            + [
                line(name, f"instructions, {name}", bold)
                for name in (
                    "generated / hand",
                    "machine / hand",
                    "SQLite / generated",
                    "SQLite / machine",
                )
            ],
        )
    )
    parts.append("A ratio that misses its target is bold.\n")
    parts.append("## Time, ms\n")
    parts.append(
        table(
            ["", *QUERIES],
            [
                line(name, f"time, {side}")
                for side, name in {**every, "duckdb": "DuckDB"}.items()
            ],
        )
    )
    parts.append("## Page reads and memory\n")
    parts.append(
        table(
            ["", *QUERIES],
            [
                line(f"page reads, {name}", f"page reads, {side}")
                for side, name in names.items()
            ]
            + [
                line("RAM of generated C, B", "RAM, generated"),
                line("RAM of the machine, B", "RAM, machine"),
                line("bytes of its program", "program"),
            ],
        )
    )
    most = found["q1, RAM, SQLite, all queries"]["value"]
    parts.append(
        "RAM is of x86-64, with the cursors (a cursor has room for 8 ranges) "
        "and rows, beside\nthe tables' arena. SQLite took at most "
        f"{number(most)} B for all five.\n"
    )
    return "\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", help="what make bench-query wrote")
    options = parser.parse_args()
    rows = json.loads(Path(options.results).read_text("utf-8"))
    (OUT / "query.md").write_text(text(rows), "utf-8")
    lines = ",\n".join(
        json.dumps({k: v for k, v in row.items() if v is not None})
        for row in rows
    )
    (OUT / "query.json").write_text(f"[\n{lines}\n]\n", "utf-8")


if __name__ == "__main__":
    main()
