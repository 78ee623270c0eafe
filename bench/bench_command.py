# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What the command esker costs: an import of 1,000,000 rows, and a query of
a small image from start to end; SQLite and DuckDB beside it.

Wall time, the least of several runs: on an idle machine it repeats.
"""

import json
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROWS = 1_000_000
ESKER = str(Path(sys.executable).parent / "esker")
TYPES = ("--type", "temp_c=f32", "--type", "humidity=u8", "--type", "n=u8")
COLUMNS = "t, temp_c, humidity, n"


def figure(metric, config, value):
    row = {
        "bench": "command",
        "metric": metric,
        "dataset": f"{ROWS:,} rows" if "import" in metric else "1 row",
        "config": config,
        "value": round(value, 3),
        "unit": "s",
    }
    print(json.dumps(row), flush=True)


def write_csv(path, rows):
    draw = random.Random(1)
    with path.open("w", encoding="utf-8") as file:
        file.write(COLUMNS.replace(" ", "") + "\n")
        for i in range(rows):
            file.write(
                f"{1_700_000_000_000 + 1000 * i},{draw.uniform(20, 25):.2f},"
                f"{draw.randrange(30, 70)},{draw.randrange(4)}\n"
            )


def least(runs, call, *arguments):
    """The least time of `runs` calls."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        call(*arguments)
        times.append(time.perf_counter() - start)
    return min(times)


def esker(*arguments):
    subprocess.run(
        [ESKER, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL
    )


def import_esker(path, image, options):
    image.unlink(missing_ok=True)
    esker("import", image, "log", path, "--create", *options)


def import_sqlite(path, base):
    """Row by row in one transaction, as the sqlite3 module reads a file."""
    base.unlink(missing_ok=True)
    with sqlite3.connect(base) as made, path.open(encoding="utf-8") as file:
        made.execute(f"CREATE TABLE log ({COLUMNS})")
        next(file)
        made.executemany(
            "INSERT INTO log VALUES (?, ?, ?, ?)",
            (line.rstrip("\n").split(",") for line in file),
        )
    made.close()


def import_duckdb(path, base):
    base.unlink(missing_ok=True)
    code = (
        f"import duckdb; duckdb.connect('{base}').execute("
        f"\"CREATE TABLE log AS FROM read_csv('{path}')\")"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, image = folder / "log.csv", folder / "log.img"
        write_csv(path, ROWS)
        figure(
            "import of a CSV file",
            "esker, types stated",
            least(3, import_esker, path, image, (*TYPES, "--size", "32M")),
        )
        figure(
            "import of a CSV file",
            "esker, types by every row",
            least(3, import_esker, path, image, ("--size", "64M")),
        )
        for config, call in (
            ("sqlite3 of Python", import_sqlite),
            ("DuckDB", import_duckdb),
        ):
            figure(
                "import of a CSV file",
                config,
                least(2, call, path, folder / "base"),
            )
        write_csv(path, 1)
        import_esker(path, image, (*TYPES, "--size", "1M"))
        for config, options in (("--csv", ("--csv",)), ("a table", ())):
            sql = "SELECT * FROM log WHERE t > 0"
            seconds = least(10, esker, "query", image, sql, *options)
            figure("query, start to end", f"esker, {config}", seconds)


if __name__ == "__main__":
    main()
