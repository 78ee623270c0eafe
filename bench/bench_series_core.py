# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What the core asks of a chip: RAM on the ATmega2560, library, floats.

The RAM is the compiler's own sizeof, summed as esk_series_open carves the
arena, with the volume beside it; the stack is not in it.
"""

import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "build/release/libesker.a"
ALLOCATORS = r"malloc|calloc|realloc|free|aligned_alloc"
FLOATS = r"__\w*[sd]f\w*"
PRINTERS = r"v?(?:f|s|sn|d)?printf(?:_chk)?|puts|putchar|fwrite"

# Each array's size is a figure; avr-nm reads it.
SOURCE = """
#include "esker/esker.h"
#include "table/series/series.h"
enum { PAGE = 512, KNOTS = %d, GROUP = 16, ENTRY = 4 + 4 + 2 };
char ram_2[sizeof(struct esk_volume) + sizeof(struct esk_series) +
           ESK_POOL_BYTES(PAGE, 2, 1) + KNOTS];
char ram_3[sizeof(struct esk_volume) + sizeof(struct esk_series) +
           ESK_POOL_BYTES(PAGE, 3, 1) + KNOTS +
           sizeof(struct esk_summary_column) + (GROUP - 1) * ENTRY];
char ram_4[sizeof(struct esk_volume) + sizeof(struct esk_series) +
           ESK_POOL_BYTES(PAGE, 4, 1) + KNOTS +
           sizeof(struct esk_summary_column) + (GROUP - 1) * ENTRY];
char ram_state[sizeof(struct esk_volume) + sizeof(struct esk_series)];
"""


def figure(metric, config, value, unit):
    row = {
        "bench": "series_core",
        "metric": metric,
        "dataset": "-",
        "config": config,
        "value": value,
        "unit": unit,
    }
    print(json.dumps(row), flush=True)


def avr_compile(arguments, unit, source=None):
    options = ["-mmcu=atmega2560", "-std=c11", "-Os", "-DESK_KEY_BITS=32"]
    command = ["avr-gcc", *options, "-fno-common", "-Iinclude", "-Isrc"]
    subprocess.run(
        [*command, *arguments, "-o", str(unit)],
        cwd=ROOT,
        input=source,
        text=True,
        check=True,
    )


def nm(program, option, path):
    return subprocess.run(
        [program, option, str(path)],
        text=True,
        check=True,
        stdout=subprocess.PIPE,
    ).stdout


def undefined(said, pattern):
    """How many undefined symbols have a name of the pattern."""
    names = re.findall(r"^\s+U (\w+)$", said, re.MULTILINE)
    return sum(bool(re.fullmatch(pattern, name)) for name in names)


def avr_sizes(knots):
    """{symbol: bytes} of SOURCE, compiled for the ATmega2560."""
    with tempfile.TemporaryDirectory() as folder:
        unit = Path(folder) / "unit.o"
        avr_compile(["-xc", "-c", "-"], unit, SOURCE % knots)
        said = nm("avr-nm", "-S", unit)
    rows = re.findall(r"^\w+ (\w+) \w (ram_\w+)$", said, re.MULTILINE)
    return {name: int(size, 16) for size, name in rows}


def measure_ram():
    for knots in (128, 256):
        sizes = avr_sizes(knots)
        tail = f"key index {knots} B, 512 B pages, 32-bit keys; no stack"
        for symbol, shape in (
            ("ram_2", "2 frames, no value index"),
            ("ram_3", "3 frames, 1 value index"),
            ("ram_4", "4 frames, 1 value index"),
        ):
            figure("RAM, ATmega2560", f"{shape}, {tail}", sizes[symbol], "B")
    figure(
        "RAM, ATmega2560, state",
        "volume and table handle, without pages and index",
        sizes["ram_state"],
        "B",
    )


def measure_calls():
    said = nm("nm", "-u", LIBRARY)
    for metric, pattern in (
        ("malloc and free called by the core", ALLOCATORS),
        ("printf called by the core", PRINTERS),
    ):
        figure(
            metric,
            "undefined symbols of libesker.a",
            undefined(said, pattern),
            "calls",
        )


def measure_floats():
    """Floating-point routines that the core calls on a chip without them."""
    calls = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(ROOT.glob("src/**/*.c")):
            if path.name.endswith("_test.c"):
                continue
            unit = Path(folder) / (path.stem + ".o")
            avr_compile(["-c", str(path)], unit)
            calls += undefined(nm("avr-nm", "-u", unit), FLOATS)
    figure(
        "floating-point routines called by the core",
        "undefined symbols, ATmega2560",
        calls,
        "calls",
    )


if __name__ == "__main__":
    measure_calls()
    if shutil.which("avr-gcc") is None:
        print("skipped RAM and floats on the ATmega2560: no avr-gcc")
    else:
        measure_ram()
        measure_floats()
