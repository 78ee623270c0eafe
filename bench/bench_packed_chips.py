# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What packed pages cost a chip: code, and work to encode and decode a row.

bench/mcu/packed_firmware.c on the small builds of bench/mcu: ATmega2560 in
libsimavr (cycles) and Cortex-M0 in QEMU (instructions). 2,000 rows from a third
into each set, pages of 512 bytes of one cell; every row read is compared. Code
is the sum of the functions that the codec adds to the same program without it,
whatever other parts of the core use of them (not memcmp, by which the firmware
compares rows); those of src/base and of the C library, which a program with a
raw table has too, are stated. Codes a row, so
bits, decide the work.
"""

import json
import os
import struct
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench" / "mcu"))

import platforms

FIRMWARE = "bench/mcu/packed_firmware.c"
CORE = ("src/table/series/codec/", "src/base/bytes.c", "src/base/order.c")
ROWS = 2000
WORDS = ((0, 4, 2), (4, 4, 1), (8, 4, 1), (12, 4, 1))
SETS = {
    "uwa": (WORDS, "uwa.i32x4"),
    "sea": (WORDS, "sea.i32x4"),
    "ethylene": (WORDS, "ethylene.i32x4"),
    "watch": (WORDS, "watch.i32x4"),
    "sea_surface_temp": (((0, 8, 2), (8, 4, 7)), None),
}
CHIPS = {"atmega2560-small": "avr-nm", "cortex-m0": "arm-none-eabi-nm"}
VARIANTS = {
    "none": ["-DPACKED_PASSES=0", "-DPACKED_DECIMALS=0"],
    "words": ["-DPACKED_DECIMALS=0"],
    "all": [],
}
FIRMWARE_OWN = (
    "main",
    "page_",
    "row_read",
    "head_read",
    "encode",
    "decode",
    "memcmp",
)
SHARED = ("esk_bytes_", "esk_load_", "esk_store_", "esk_bit_", "mem")
DECIMAL_FIRST = 4  # of the modes
LARGE = 100  # bytes of a function that is listed


def show(metric, dataset, config, value, unit):
    row = {
        "bench": "packed_chips",
        "metric": metric,
        "dataset": dataset,
        "config": config,
        "value": value,
        "unit": unit,
    }
    print(json.dumps(row), flush=True)


def rows_file(name):
    """The firmware's input; None when the set is missing."""
    fields, file = SETS[name]
    shared = Path(os.environ.get("ESK_DATA", ROOT.parent / "shared" / "data"))
    path = ROOT / "data" / f"{name}.rec"
    path = path if file is None else shared / "sensors" / file
    if not path.exists():
        print(f"skipped {name}: no file {path}")
        return None
    width = sum(field[1] for field in fields)
    data = path.read_bytes()
    first = len(data) // width // 3 * width
    head = bytes([width, len(fields)]) + b"".join(map(bytes, fields))
    made = platforms.BUILD / f"packed_{name}.rows"
    rows = data[first : first + ROWS * width]
    made.write_bytes(head + struct.pack("<H", ROWS) + rows)
    return made


def symbols(name, program):
    """Bytes of each function and constant in flash. Of several names of one
    place, the first."""
    listed = platforms.must([CHIPS[name], "-S", program])
    lines = [line.split() for line in listed.splitlines()]
    places = {}
    for words in lines:
        if len(words) == 4 and words[2] in "tTrR":
            places.setdefault(words[0], (words[3], int(words[1], 16)))
    return dict(places.values())


def core_objects(name):
    platform = platforms.PLATFORMS[name]
    folder = platforms.BUILD / f"packed-{name}"
    core = [str(path) for path in platforms.SIZE.core_files()]
    sources = [path for path in core if path.startswith(CORE)]
    return [
        platforms.compile_one(
            name,
            source,
            (folder / source).with_suffix(".o"),
            platform.get("core", []) if source.startswith("src/") else [],
        )
        for source in [*sources, *platform["board"]]
    ]


def build(name):
    """{variant: program}, and prints the code that the codec adds."""
    core = core_objects(name)
    programs = {
        variant: platforms.build(
            name, core, FIRMWARE, variant, [*defines, "-Isrc"]
        )
        for variant, defines in VARIANTS.items()
    }
    sizes = {key: symbols(name, path) for key, path in programs.items()}
    added = {
        key: {
            symbol: size
            for symbol, size in sizes[key].items()
            if symbol not in sizes["none"]
            and not symbol.startswith(FIRMWARE_OWN)
        }
        for key in ("words", "all")
    }
    code = {key: sum(added[key].values()) for key in added}
    shared = [
        size
        for symbol, size in added["words"].items()
        if symbol.startswith(SHARED)
    ]
    config = f"{name}, -Os -flto"
    show("code, without decimals", "-", config, code["words"], "B")
    show("of it src/base and C library", "-", config, sum(shared), "B")
    small = code["words"] - sum(shared)
    for symbol, size in sorted(added["words"].items(), key=lambda it: -it[1]):
        if size >= LARGE and not symbol.startswith(SHARED):
            show(f"of it {symbol.split('.')[0]}", "-", config, size, "B")
            small -= size
    show(f"of it functions below {LARGE} B", "-", config, small, "B")
    more = code["all"] - code["words"]
    show("code, decimals", "-", config, more, "B")
    return programs


def measure(name, programs):
    unit = platforms.PLATFORMS[name]["unit"]
    for dataset, (fields, _) in SETS.items():
        rows = rows_file(dataset)
        if rows is None:
            continue
        decimals = any(mode >= DECIMAL_FIRST for _, _, mode in fields)
        program = programs["all" if decimals else "words"]
        run = platforms.run(name, program, rows)
        figures = [line.split() for line in run.figures]
        samples, empty = iter(run.samples), 0
        for _, group, _, count, *_ in figures:
            part = [next(samples) for _ in range(int(count))]
            if group == "empty":
                empty = min(part)
                continue
            mean = sum(part) / len(part) - empty
            worst = max(part) - empty
            show(f"{group} a row", dataset, name, round(mean), unit)
            show(f"{group} a row, most", dataset, name, worst, unit)


def main():
    platforms.build_hosts()
    for name in CHIPS:
        lacks = platforms.missing(name)
        if lacks:
            print(f"skipped {name}: no {lacks}")
            continue
        measure(name, build(name))


if __name__ == "__main__":
    main()
