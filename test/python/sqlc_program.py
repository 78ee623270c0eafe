# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Compiles SQL to C, runs it over an image, and asks SQLite the same."""

import functools
import math
import os
import re
import shutil
import sqlite3
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from eskerdb import Simulator, Volume
from eskerdb.kv_value import Stored
from eskerdb.sql import parse, tables
from eskerdb.sql.access import Limits
from eskerdb.sql.plan import Query
from eskerdb.sqlc import unit
from eskerdb.sqlc.kv import KvRoom

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
AVR = [
    "-mmcu=atmega2560",
    "-Os",
    "-Wsign-conversion",
    "-DESK_SERIES_RANGES_MAX=8",
]
COMPILERS = {
    "gcc": ["gcc", "-O2"],
    "clang-19": ["clang-19", "-O2"],
    "avr-gcc": ["avr-gcc", *AVR],
    "arm-none-eabi-gcc": ["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-Os"],
    "riscv64-unknown-elf-gcc": [
        "riscv64-unknown-elf-gcc",
        "--specs=picolibc.specs",
        "-march=rv32imc",
        "-mabi=ilp32",
        "-Os",
    ],
}
# As parameters of a test: the host's alone, unless the run is deep.
EACH_COMPILER = [
    pytest.param(name, marks=[] if name == "gcc" else pytest.mark.deep)
    for name in COMPILERS
]
END, LIMIT = 2, -14  # ESK_END, ESK_E_LIMIT
# The core below a program with sanitizers: it has them, too, in deep tests.
CORE_OF = {"asan": "test", "test": "test"}
_PRINT = {
    "bool": ('"%d"', "(int)({})"),
    "double": ('"%.17g"', "{}"),
    "char": ("\"'%s'\"", "{}"),
}
_CONFIGS = {
    "series": "{0};",
    "tree": "{.store = &esk_store_mu};",
    "kv": "{.keys = 300};",
}
_MAIN = r"""
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app.h"
#include "esker/runs.h"
#include "port/ram/ram.h"
#include "port/posix_file/posix_file.h"

static uint64_t arena[65536];
static struct esk_posix_file file;
static struct esk_volume volume;
static const struct esk_geometry geometry = %(geometry)s;
static const struct esk_geometry pages = {.block_count = 64,
    .block_pages = 8, .page_bytes = 256, .program_bytes = 1,
    .erased_value = 0xff};
static uint8_t memory[64 * 8 * 256];
static struct esk_ram_device ram;
static struct esk_scratch scratch;

static void must(int status, const char *what) {
    if (status != ESK_OK) {
        printf("FAILED %%s %%d\n", what, status);
        exit(1);
    }
}

static int ended(const char *name, int status) {
    printf("END %%s %%d\n", name, status);
    return status;
}

static bool is_open(int status) {
    return status == ESK_OK || status == ESK_AGAIN;
}
%(functions)s
int main(int count, char **argument) {
    (void)count;
    must(esk_ram_device_init(&ram, &pages, memory, sizeof memory), "ram");
    must(esk_scratch_init(&scratch, &ram.device, 0, 64), "scratch");
    must(esk_posix_file_open(&file, argument[1], &geometry,
                             ESK_POSIX_FILE_READ_ONLY), "file");
    must(esk_volume_mount(&volume, &file.device, ESK_MOUNT_READ_ONLY, arena,
                          sizeof arena), "mount");
%(calls)s
    return 0;
}
"""


def run(*command: object, **options: object) -> subprocess.CompletedProcess:
    done = subprocess.run(
        [str(part) for part in command],
        check=False,
        capture_output=True,
        text=True,
        **options,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done


def library(flavour: str = "asan") -> list[Path]:
    """Returns the core and its drivers for the host, below such a program."""
    return built(CORE_OF[flavour])


@functools.cache
def built(flavour: str) -> list[Path]:
    names = ["libesker_port.a", "libesker.a"]
    paths = [f"build/{flavour}/{name}" for name in names]
    kept = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    run(
        "make", "-s", "-j2", f"FLAVOUR={flavour}", *paths, cwd=ROOT,
        env={**kept, "MFLAGS": ""},
    )  # fmt: skip
    return [ROOT / path for path in paths]


@dataclass
class Case:
    """A schema with rows, and queries over it.

    rows        table -> rows, as tuples
    parameters  query -> values of its parameters
    codec       of its series
    scratch     what orders go through, where --scratch is given
    """

    schema: str
    rows: dict[str, list[tuple]]
    queries: str
    parameters: dict[str, tuple] = field(default_factory=dict)
    step_pages: int = 0
    geometry: object = None
    limits: Limits | None = None
    codec: str = "raw"
    room: KvRoom = field(default_factory=KvRoom)
    scratch: str = "&scratch"


def compiled(case: Case, folder: Path, planned=None) -> list[Query]:
    """Writes app.h and app.c, and returns the queries."""
    from eskerdb.sqlc import compile_text

    made, queries = compile_text(
        case.schema,
        case.queries,
        "app",
        case.step_pages,
        case.limits,
        room=case.room,
    )
    (folder / "app.h").write_text(made[0])
    (folder / "app.c").write_text(made[1])
    return queries


def compile_alone(compiler: str, folder: Path) -> None:
    """Compiles app.c to an object; a warning fails."""
    run(
        *COMPILERS[compiler],
        *FLAGS,
        f"-I{ROOT}/include",
        "-c",
        folder / "app.c",
        "-o",
        folder / "app.o",
    )


def image(case: Case, path: Path) -> None:
    """Writes an image with the tables and their rows."""
    made = tables.create(*_parsed(case.schema))
    with Simulator(geometry=case.geometry, seed=1) as chip:
        with Volume.format(chip) as volume:
            for name, created in made.items():
                rows = case.rows.get(name, [])
                _fill(volume, name, created, rows, case.codec)
        chip.save(path)


def _parsed(text):
    from eskerdb.sql.source import Source

    source = Source(text, "schema.sql")
    return source, parse.parse(source)


def _fill(volume, name, created, rows, codec):
    info = created.info
    if info.kind == "kv":
        volume.create_kv(name, blocks=16)
        with volume.open_kv(name) as kv:
            for row in rows:
                kv.put(*row)
        return
    names = [column.name for column in created.columns]
    key = names[info.key]
    if info.kind == "series":
        volume.create(
            name, created.columns, key=key, indexes=created.indexes,
            data_blocks=10, index_blocks=3 if created.indexes else 0,
            codec=codec, keys_repeat=info.keys_repeat,
        )  # fmt: skip
        with volume.open(name) as table:
            table.append_many([_stored(info, row) for row in rows])
            table.sync()
    else:
        volume.create_tree(name, created.columns, key=key, blocks=10)
        with volume.open_tree(name, frames=4) as table:
            table.put_many([_stored(info, row) for row in rows])


def _stored(info, row):
    """A row with the missing value, or NaN, in the place of None."""
    result = {}
    for column, value in zip(info.columns, row, strict=True):
        if value is None:
            value = math.nan if column.kind[0] == "f" else column.missing
        if column.kind == "bytes":
            value = value.encode().ljust(column.bytes, b"\0")
        result[column.name] = value
    return result


def program(
    case: Case,
    folder: Path,
    queries: list[Query],
    flavour: str = "asan",
    optimized: str = "-O0",
) -> Path:
    """Compiles the queries with a main function that prints their rows."""
    libraries = library(flavour)
    main = _main(case, folder, queries)
    (folder / "main.c").write_text(main)
    how = []
    if flavour == "asan":
        how = [
            "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
        ]  # fmt: skip
    run(
        "gcc", *FLAGS, optimized, *how, f"-I{ROOT}/include", f"-I{ROOT}",
        f"-I{folder}", folder / "app.c", folder / "main.c", *libraries,
        "-o", folder / "run",
    )  # fmt: skip
    return folder / "run"


def _main(case: Case, folder: Path, queries: list[Query]) -> str:
    functions, calls = [], []
    header = (folder / "app.h").read_text()
    infos = {t.name: t for query in queries for t in query.tables}
    for name, info in infos.items():
        functions.append(f"static struct esk_{info.kind} *table_{name};")
        calls.append(
            f"static struct esk_{info.kind}_config config_{name} = "
            + _CONFIGS[info.kind]
        )
        calls.append(
            f"must({name}_open(&table_{name}, &volume, &config_{name}), "
            f'"{name}");'
        )
    for query in queries:
        functions.append(_function(case, query, header))
    calls += _calls(queries, header)
    return _MAIN % {
        "geometry": _geometry(case.geometry),
        "functions": "\n".join(functions),
        "calls": "\n".join(calls),
    }


def _geometry(geometry) -> str:
    flags = "ESK_MEDIUM_OVERWRITE" if geometry.overwrite else "0"
    return (
        f"{{.block_count = {geometry.block_count}, .block_pages = "
        f"{geometry.block_pages}, .page_bytes = {geometry.page_bytes}, "
        f".program_bytes = {geometry.program_bytes}, .erased_value = 0xff, "
        f".programs_per_page_max = {geometry.programs_per_page_max}, "
        f".flags = {flags}}}"
    )


def _function(case: Case, query: Query, header: str) -> str:
    name = query.name
    struct = re.search(rf"struct {name}_row \{{(.*?)\}};", header, re.DOTALL)
    # A member may take two lines, and have a comment.
    plain = re.sub("//.*", "", struct.group(1))
    members = re.findall(r"(\w[\w\s]*?)\s+(\w+)(\[\d+\])?;", plain)
    names = [m for _, m, _ in members]
    nulls = {m for m in names if m.removesuffix("_null") in names} - {
        m for m in names if not m.endswith("_null")
    }
    prints = []
    for kind, member, _ in members:
        if member in nulls and kind.strip() == "bool":
            continue
        stored = member.removesuffix("_bytes").removesuffix("_type")
        if member != stored and {f"{stored}_bytes", f"{stored}_type"} <= {
            *names
        }:
            continue
        if f"{member}_type" in names:
            prints.append(_PRINT_STORED.format(f"row.{member}"))
            continue
        prints.append(_print(kind.strip(), member, f"{member}_null" in nulls))
    given = [f"table_{table.name}" for table in query.tables]
    if _has_scratch(name, header):
        given.append(case.scratch)
    given += [_literal(value) for value in case.parameters.get(name, ())]
    arguments = ", ".join([f"&q_{name}", *given])
    full = ""
    if re.search(rf"struct {name} \{{[^}}]*\*full;", header):
        full = _PRINT_FULL % (name, *[f"q_{name}.full"] * 4)
    return f"""
static struct {name} q_{name};

static int open_{name}(void) {{
    int status = {name}_open({arguments});
    return status == ESK_OK ? ESK_AGAIN : ended("{name}", status);
}}

static int next_{name}(int status) {{
    static struct {name}_row row;
    if (status != ESK_OK && status != ESK_AGAIN) {{
        return status;
    }}
    status = {name}_next(&q_{name}, &row);
    if (status == ESK_OK) {{
        printf("ROW {name}\\t");
        {"".join(prints)}
        printf("\\n");
    }} else if (status != ESK_AGAIN) {{
        {full}
        ended("{name}", status);
        if ({name}_next(&q_{name}, &row) !=
            (status == ESK_END ? ESK_END : ESK_E_INVALID)) {{
            printf("NOT OVER\\n");
        }}
    }}
    return status;
}}
"""


def _calls(queries: list[Query], header: str) -> list[str]:
    """Runs queries row by row in turns, but those with the scratch."""
    lines = []
    together = [q.name for q in queries if not _has_scratch(q.name, header)]
    alone = [[q.name] for q in queries if _has_scratch(q.name, header)]
    for names in [together, *alone]:
        if not names:
            continue
        lines.append("{")
        lines += [f"int s_{name} = open_{name}();" for name in names]
        lines.append("do {")
        lines += [f"s_{name} = next_{name}(s_{name});" for name in names]
        goes_on = " || ".join(f"is_open(s_{name})" for name in names)
        lines.append(f"}} while ({goes_on});")
        lines.append("}")
    return lines


def _has_scratch(name: str, header: str) -> bool:
    given = re.search(rf"int {name}_open\((.*?)\)", header, re.DOTALL)[1]
    return "*scratch" in given


# The records that had no room; -1: none.
_PRINT_FULL = """printf("FULL %s %%d %%d\\n",
            %s == NULL ? -1 : %s->count, %s == NULL ? -1 : %s->capacity);"""

# Its type, its bytes, and those that the row has.
_PRINT_STORED = """printf("K%u:%" PRIu32 ":", {0}_type, {0}_bytes);
            for (uint32_t i = 0; i < {0}_bytes && i < sizeof {0}; i++) {{
                printf("%02x", {0}[i]);
            }}
            printf("\\t");"""


def _literal(value) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return f"INT64_C({value})" if isinstance(value, int) else repr(value)


def _print(kind: str, member: str, nullable: bool) -> str:
    place = f"row.{member}"
    if kind.startswith("struct esk_avg"):
        sum = f"{place}.sum" + (".low" if kind.endswith("wide") else "")
        shown = (
            f'printf("A%" PRId64 "/%" PRIu32 "\\t", (int64_t){sum}, '
            f"{place}.count);"
        )
        return shown
    format, value = _PRINT.get(kind, ('"%" PRId64', "(int64_t){}"))
    shown = f'printf({format} "\\t", {value.format(place)});'
    if not nullable:
        return shown
    return f'if ({place}_null) {{ printf("NULL\\t"); }} else {{ {shown} }}'


def full(binary: Path, image_path: Path) -> dict[str, tuple[int, int]]:
    """Runs the program; returns the count and capacity of the records that had
    no room, of each query that has a bound."""
    lines = re.findall(
        r"^FULL (\w+) (\S+) (\S+)$",
        run(binary, image_path).stdout,
        re.MULTILINE,
    )
    return {name: (int(count), int(most)) for name, count, most in lines}


def answers(binary: Path, image_path: Path) -> dict[str, tuple[list, int]]:
    """Runs the program; returns each query's rows and last status."""
    text = run(binary, image_path).stdout
    rows, result = {}, {}
    for line in text.splitlines():
        if line.startswith("END "):
            _, name, status = line.split()
            result[name] = (rows.get(name, []), int(status))
        elif not line.startswith("FULL "):
            assert line.startswith("ROW "), text
            name, *cells = line[4:].split("\t")[:-1]
            row = tuple(_value(cell) for cell in cells)
            rows.setdefault(name, []).append(row)
    return result


def _value(cell: str):
    if cell == "NULL":
        return None
    if cell.startswith("'"):
        return cell[1:-1]
    if cell.startswith("K"):
        type, count, digits = cell[1:].split(":")
        raw = bytes.fromhex(digits)
        if len(raw) < int(count):
            return int(count), raw
        return Stored(int(type), raw).written()[0]
    if cell.startswith("A"):
        sum, count = map(int, cell[1:].split("/"))
        return sum / count if count else None
    return float(cell) if re.search(r"[.en]", cell) else int(cell)


def oracle(case: Case) -> sqlite3.Connection:
    """Returns SQLite with the same tables."""
    made = tables.create(*_parsed(case.schema))
    connection = sqlite3.connect(":memory:")
    connection.execute("PRAGMA case_sensitive_like = ON")
    for name, created in made.items():
        info = created.info
        columns = ", ".join(
            f'"{c.name}" {_sqlite_type(c.kind)}' for c in info.columns
        )
        connection.execute(f'CREATE TABLE "{name}" ({columns})')
        marks = ", ".join("?" * len(info.columns))
        rows = case.rows.get(name, [])
        connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows)
    return connection


def _sqlite_type(kind: str) -> str:
    if kind[0] == "f":
        return "REAL"
    return "TEXT" if kind in ("text", "bytes") else "INTEGER"


def alike(ours: list, theirs: list, ordered: bool) -> bool:
    """Whether rows are equal, floats to 1e-12."""
    if len(ours) != len(theirs):
        return False
    if not ordered:
        ours, theirs = (
            sorted(ours, key=_sortable),
            sorted(theirs, key=_sortable),
        )
    return all(
        len(a) == len(b) and all(map(_same, a, b))
        for a, b in zip(ours, theirs, strict=True)
    )


def _sortable(row: tuple) -> tuple:
    return tuple(
        (value is not None, isinstance(value, str), value) for value in row
    )


def _same(a, b) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        if a is None or b is None:
            return a is b
        return a == b or math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)
    return a == b


def has(tool: str) -> bool:
    return shutil.which(tool) is not None


__all__ = ["COMPILERS", "Case", "unit"]
