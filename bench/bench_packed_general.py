# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""General compressors on the sets of bench_packed_sizes.c: what a page could
hold, and the whole file.

A page: as many rows as zstd -19 or raw LZMA2 -9e gets into the payload of a
page of 512 bytes, page after page; of 10,000 rows from a third into the set.
No device with a few KB of RAM can do this: it is a bound to compare with.
"""

import json
import lzma
import os
from pathlib import Path

import pyarrow

ROOT = Path(__file__).resolve().parent.parent
PAGE = 512
ROOM = PAGE - 16
ROWS = 10000
SETS = {
    "uwa": ("uwa.i32x4", 16),
    "sea": ("sea.i32x4", 16),
    "ethylene": ("ethylene.i32x4", 16),
    "watch": ("watch.i32x4", 16),
    "sea_surface_temp": (None, 12),
    "cycling": ("cycling_gps.rec", 36),
}
ZSTD = pyarrow.Codec("zstd", compression_level=19)
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]
PAGE_FILTERS = [{**FILTERS[0], "dict_size": 1 << 16}]


def zstd(data: bytes) -> int:
    return len(ZSTD.compress(data, asbytes=True))


def raw_lzma(data: bytes) -> int:
    return len(lzma.compress(data, lzma.FORMAT_RAW, filters=PAGE_FILTERS))


def xz(data: bytes) -> int:
    return len(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))


def path_of(name: str) -> Path:
    file, _ = SETS[name]
    if file is None:
        return ROOT / "data" / f"{name}.rec"
    shared = ROOT.parent / "shared" / "data"
    return Path(os.environ.get("ESK_DATA", shared)) / "sensors" / file


def rows_that_fit(compress, data: bytes, width: int, guess: int) -> int:
    """How many of the first rows of `data` fit a page."""
    low, high = 1, len(data) // width + 1
    at = max(1, min(guess, high - 1))
    step = max(1, guess // 8)
    while low + 1 < high:
        if compress(data[: at * width]) <= ROOM:
            low = at
            at = at + step if at + step < high else (low + high) // 2
        else:
            high = at
            at = at - step if at - step > low else (low + high) // 2
        step = max(1, step // 2)
        if not low < at < high:
            at = (low + high) // 2
    return low


def page_bytes_a_row(compress, data: bytes, width: int) -> float:
    at = pages = 0
    fits = ROOM // width
    while True:
        rest = data[at : at + 40 * fits * width]
        fits = rows_that_fit(compress, rest, width, fits)
        if at + fits * width >= len(data):
            return pages * PAGE / (at / width)
        at += fits * width
        pages += 1


def show(name: str, config: str, value: float) -> None:
    row = {
        "bench": "packed_general",
        "metric": "flash bytes a row",
        "dataset": name,
        "config": config,
        "value": round(value, 3),
        "unit": "B",
    }
    print(json.dumps(row), flush=True)


def main() -> None:
    for name, (_, width) in SETS.items():
        path = path_of(name)
        if not path.exists():
            print(f"skipped {name}: no file {path}")
            continue
        data = path.read_bytes()
        data = data[: len(data) // width * width]
        first = len(data) // width // 3 * width
        part = data[first : first + ROWS * width]
        show(name, "512 B pages, zstd -19", page_bytes_a_row(zstd, part, width))
        config = "512 B pages, raw LZMA2 -9e"
        show(name, config, page_bytes_a_row(raw_lzma, part, width))
        show(name, "whole file, zstd -19", zstd(data) / (len(data) / width))
        show(name, "whole file, xz -9e", xz(data) / (len(data) / width))


if __name__ == "__main__":
    main()
