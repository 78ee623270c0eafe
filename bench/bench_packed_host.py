# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Scans of packed images into Arrow on the host, beside raw ones: rows a second
of the process's time, the best of five."""

import json
import tempfile
import time
from pathlib import Path

from bench_packed_general import path_of

from eskerdb import Column, Geometry, ImageFile, Volume

ROUNDS = 5
SHAPE = Geometry(block_count=2048, block_pages=8, page_bytes=512)
FOUR = [Column("t", "u32"), *(Column(f"v{i}", "i32") for i in (1, 2, 3))]
SETS = {
    "uwa": FOUR,
    "sea": FOUR,
    "ethylene": FOUR,
    "watch": FOUR,
    "sea_surface_temp": [
        Column("t", "i64"),
        Column("temp", "f32", mode="decimal:3"),
    ],
}


def raw_of(columns):
    return [Column(column.name, column.type) for column in columns]


def rows_a_second(log, count):
    best = 0.0
    for _ in range(ROUNDS):
        start = time.process_time()
        rows = log.scan().arrow().num_rows
        best = max(best, rows / (time.process_time() - start))
        assert rows == count
    return best


def measure(name, columns, folder):
    data = path_of(name).read_bytes()
    for codec in ("raw", "packed"):
        path = Path(folder) / f"{name}-{codec}.img"
        made = columns if codec == "packed" else raw_of(columns)
        with (
            ImageFile(path, SHAPE, create=True, read_only=False) as device,
            Volume.format(device) as volume,
        ):
            volume.create("log", made, codec=codec)
            with volume.open("log") as log:
                count = log.append_many(data)
                log.sync()
                rate = rows_a_second(log, count)
        row = {
            "bench": "packed_host",
            "metric": "rows a second of a scan into Arrow",
            "dataset": name,
            "config": codec,
            "value": round(rate / 1e6, 2),
            "unit": "M rows/s",
        }
        print(json.dumps(row), flush=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name, columns in SETS.items():
            if path_of(name).exists():
                measure(name, columns, folder)
            else:
                print(f"skipped {name}: no file {path_of(name)}")


if __name__ == "__main__":
    main()
