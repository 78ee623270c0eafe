# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The five queries of embeddb-2024, Table 3: generated C and the machine
beside a hand-written loop, operators composed by hand, SQLite and DuckDB.

bench/query/sides.c runs them. Instructions are callgrind's, inclusive, of the
function that runs one query; times are processor time, best of 7. SQLite reads
a file with its default cache and an index on the value column; so does DuckDB,
once without the index. Every side must give the same rows.
"""

import json
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import time
from pathlib import Path

from eskerdb.sql import engine, tables
from eskerdb.sql.parse import parse
from eskerdb.sql.source import Source
from eskerdb.sqlc import compile_text

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "bench/query"
OUT = ROOT / "build/bench/query"
DATA = Path(os.environ.get("ESK_DATA", ROOT.parent / "shared/data")) / "sensors"
SETS = ("uwa", "sea", "ethylene", "watch")
SIDES = ("hand", "composed", "generated", "machine", "sqlite")
QUERIES = {
    "q1": "uwa",
    "q2": "uwa",
    "q3": "ethylene",
    "q4": "sea",
    "q5": "watch",
}
CONFIG = "RAM device, 512 B pages, 4 frames, 1 value index, CRC-32C"
ROUNDS = 7


def show(metric, query, value, unit, config=CONFIG):
    print(
        json.dumps(
            {
                "bench": "query",
                "metric": f"{query}, {metric}",
                "dataset": QUERIES[query],
                "config": config,
                "value": value,
                "unit": unit,
            }
        ),
        flush=True,
    )


def written(schema, queries, out=None):
    """Writes app.h, app.c and programs.h; returns each query's text, the
    tables, and the bytes of the programs."""
    out = out or OUT
    out.mkdir(parents=True, exist_ok=True)
    (header, source), made = compile_text(schema, queries, "app")
    (out / "app.h").write_text(header)
    (out / "app.c").write_text(source)
    infos = {
        name: created.info
        for name, created in tables.create(
            Source(schema), parse(Source(schema))
        ).items()
    }
    texts, lines, sizes = {}, [], {}
    text = Source(queries)
    for node in parse(text):
        code = engine.compile_select(text, node, infos)
        sizes[node.name] = len(code.bytes)
        texts[node.name] = text.slice(node.span)
        body = ", ".join(map(str, code.bytes))
        lines.append(
            f"static const uint8_t {node.name}_program[] = {{{body}}};"
        )
    assert [query.name for query in made] == list(texts)
    names = list(texts)
    lines.append(
        "static const uint8_t *const query_programs[] = {"
        + ", ".join(f"{n}_program" for n in names)
        + "};"
    )
    lines.append(
        "static const uint32_t query_bytes[] = {"
        + ", ".join(f"sizeof {n}_program" for n in names)
        + "};"
    )
    quoted = ", ".join(json.dumps(" ".join(t.split())) for t in texts.values())
    lines.append(f"static const char *const query_texts[] = {{{quoted}}};")
    (out / "programs.h").write_text("\n".join(lines) + "\n")
    return texts, infos, sizes


def rows_of(name):
    return struct.iter_unpack("<Iiii", (DATA / f"{name}.i32x4").read_bytes())


def base_made(path, infos):
    path.unlink(missing_ok=True)
    base = sqlite3.connect(path)
    for name, info in infos.items():
        columns = [f"{c.name} INTEGER" for c in info.columns]
        columns[0] += " PRIMARY KEY"
        base.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
        base.executemany(f"INSERT INTO {name} VALUES (?,?,?,?)", rows_of(name))
        for column in info.columns:
            if column.indexed:
                base.execute(f"CREATE INDEX {name}_v ON {name} ({column.name})")
    base.commit()
    base.close()


def compiled():
    libraries = [
        ROOT / f"build/release/{n}.a" for n in ("libesker_port", "libesker")
    ]
    command = [
        "gcc", "-std=c11", "-O2", "-g", "-Wall", "-Wextra", "-Wconversion",
        "-Wshadow", "-Werror", "-D_POSIX_C_SOURCE=200809L", f"-I{ROOT}",
        f"-I{ROOT}/include", f"-I{OUT}", HERE / "sides.c",
        HERE / "composed.c", OUT / "app.c", *libraries, "-lsqlite3", "-o", OUT / "sides",
    ]  # fmt: skip
    subprocess.run(list(map(str, command)), check=True)


def said(*before, how):
    command = [*before, OUT / "sides", DATA, OUT / "base.db", how]
    return subprocess.run(
        list(map(str, command)), check=True, text=True, capture_output=True
    ).stdout


def instructions():
    out = OUT / "callgrind.out"
    said(
        "valgrind", "--tool=callgrind", "--quiet",
        f"--callgrind-out-file={out}", how="count",
    )  # fmt: skip
    listed = subprocess.run(
        ["callgrind_annotate", "--inclusive=yes", "--threshold=100", str(out)],
        check=True, text=True, capture_output=True,
    ).stdout  # fmt: skip
    costs = re.findall(
        r"^\s*([\d,]+) .*?:count_(\w+)_(q\d)", listed, re.MULTILINE
    )
    spent = {}
    for cost, side, query in costs:
        spent.setdefault((query, side), int(cost.replace(",", "")))
    return spent


def small():
    """Bytes of code, RAM and stack of each query on ATmega2560, by query."""
    if shutil.which("avr-gcc") is None:
        print("bench_query: no avr-gcc: its sizes are skipped")
        return {}
    source = OUT / "avr.c"
    lines = [f"struct {q} ram_{q};" for q in QUERIES]
    source.write_text('#include "app.c"\n' + "\n".join(lines) + "\n")
    subprocess.run(
        [
            "avr-gcc", "-mmcu=atmega2560", "-std=c11", "-Os", "-mcall-prologues",
            "-fstack-usage", f"-I{ROOT}/include", "-c", str(source),
            "-o", str(OUT / "avr.o"),
        ],
        check=True, cwd=OUT,
    )  # fmt: skip
    listed = subprocess.run(
        ["avr-nm", "-S", str(OUT / "avr.o")],
        check=True, text=True, capture_output=True,
    ).stdout  # fmt: skip
    sizes = {
        name: int(size, 16)
        for size, name in re.findall(
            r"^\w+ (\w+) \w (\w+)$", listed, re.MULTILINE
        )
    }
    frames = {
        name: int(size)
        for name, size in re.findall(
            r":(\w+)\t(\d+)\t", (OUT / "avr.su").read_text()
        )
    }

    def of(query, found):
        return [v for n, v in found.items() if n.startswith(f"{query}_")]

    return {
        query: (
            sum(of(query, sizes)),
            sizes[f"ram_{query}"],
            max(of(query, frames)),
        )
        for query in QUERIES
    }


def duck_base(infos, indexed):
    """A file of DuckDB with the tables; indexed: as base_made."""
    import duckdb
    import pyarrow

    path = OUT / "base.duckdb"
    path.unlink(missing_ok=True)
    base = duckdb.connect(str(path), config={"threads": 1})
    base.execute("SET integer_division = true")
    for name in SETS:
        made = list(zip(*rows_of(name), strict=True))
        given = pyarrow.table(
            [pyarrow.array(column, "int64") for column in made],
            names=[column.name for column in infos[name].columns],
        )
        base.register("given", given)
        base.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
        base.unregister("given")
        for column in infos[name].columns:
            if indexed and column.indexed:
                base.execute(f"CREATE INDEX {name}_v ON {name} ({column.name})")
    base.execute("CHECKPOINT")
    return base


def duck_times(texts, infos, indexed):
    """Milliseconds of DuckDB's processor time, on one thread, and the number
    of rows."""
    base = duck_base(infos, indexed)
    result = {}
    for query, text in texts.items():
        best = None
        for _ in range(ROUNDS):
            start = time.process_time()
            rows = base.execute(text).fetchall()
            spent = time.process_time() - start
            best = spent if best is None else min(best, spent)
        result[query] = best * 1e3, len(rows)
    base.close()
    return result


def main():
    missing = [n for n in SETS if not (DATA / f"{n}.i32x4").exists()]
    if missing:
        print(f"bench_query: no {DATA}/{missing[0]}.i32x4: skipped")
        return 0
    schema = (HERE / "schema.sql").read_text()
    queries = (HERE / "queries.sql").read_text()
    texts, infos, sizes = written(schema, queries)
    base_made(OUT / "base.db", infos)
    compiled()
    answers, ram = {}, {}
    for line in said(how="time").splitlines():
        words = line.split()
        if words[1] == "ram":
            ram[words[0]] = words[2:]
        else:
            answers[words[0], words[1]] = words[2:]
    spent = instructions()
    ducks = {
        "duckdb": duck_times(texts, infos, False),
        "duckdb, index": duck_times(texts, infos, True),
    }
    avr = small()
    wrong = 0
    for query in QUERIES:
        found = {side: answers[query, side][:2] for side in SIDES}
        if len({tuple(answer) for answer in found.values()}) != 1:
            print(f"bench_query: {query}: answers differ: {found}")
            wrong = 1
        for name, times in ducks.items():
            if times[query][1] != int(found["sqlite"][0]):
                print(f"bench_query: {query}: {name}: {times[query][1]} rows")
                wrong = 1
        show("rows", query, int(found["sqlite"][0]), "")
        for side in SIDES:
            show(f"instructions, {side}", query, spent[query, side], "")
        for side in SIDES:
            milliseconds = float(answers[query, side][3])
            show(f"time, {side}", query, round(milliseconds, 3), "ms")
        for name, times in ducks.items():
            spent_ms = round(times[query][0], 3)
            show(f"time, {name}", query, spent_ms, "ms", "1 thread")
        for side in SIDES[:-1]:
            show(f"page reads, {side}", query, int(answers[query, side][2]), "")
        show("RAM, generated", query, int(ram[query][0]), "B")
        show("RAM, machine", query, int(ram[query][1]), "B")
        show("program", query, sizes[query], "B")
        for metric, value in zip(
            ("code, AVR", "RAM, AVR", "stack, AVR"),
            avr.get(query, ()),
            strict=False,
        ):
            show(metric, query, value, "B", "ATmega2560, -Os")
        for name, top, below in (
            ("composed / hand", "composed", "hand"),
            ("generated / hand", "generated", "hand"),
            ("machine / hand", "machine", "hand"),
            ("SQLite / generated", "sqlite", "generated"),
            ("SQLite / machine", "sqlite", "machine"),
        ):
            ratio = spent[query, top] / spent[query, below]
            show(f"instructions, {name}", query, round(ratio, 3), "")
    show_sqlite = int(ram["sqlite"][0])
    show("RAM, SQLite, all queries", "q1", show_sqlite, "B", "default cache")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
