# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What a table with packed pages costs a chip, beside a raw one.

bench/mcu/series_firmware.c on the small builds of bench/mcu: ATmega2560 in
libsimavr (cycles) and Cortex-M0 in QEMU (instructions). Pages of 512 bytes,
cells of 256, CRC-32C, a value index of 16 learned buckets or none, as few
frames as the table needs; 3,000 rows from a third into each set. The firmware
compares every row that a get, a scan or a query returns with its input.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench" / "mcu"))

import figures
import inputs
import platforms

FIRMWARE = "bench/mcu/series_firmware.c"
ROWS, GETS = 3000, 300
CHIPS = ("cortex-m0", "atmega2560-small")
INDEXES = {"value index": 1, "no value index": 0}
CODECS = ("raw", "packed")
METRICS = (
    "append, mean",
    "append, max",
    "sync, mean",
    "get, mean",
    "get, max",
    "scan, per record",
    "value query",
)


def rows_file(name):
    """The firmware's input; None when the set is missing."""
    rows = inputs.sensor(name)
    if rows is None:
        print(f"skipped {name}: no file {inputs.path_of(name)}")
        return None
    path = platforms.BUILD / f"appends_{name}.rows"
    part = rows[len(rows) // 3 :]
    return inputs.write(path, part, ROWS, inputs.VALUE_ROWS, inputs.SYNCS)


def build(name):
    """{(codec, index): program}."""
    core = platforms.build_core(name)
    return {
        (codec, index): platforms.build(
            name,
            core,
            FIRMWARE,
            f"appends-{codec}-{count}",
            [
                f"-DSERIES_PACKED={CODECS.index(codec)}",
                f"-DSERIES_INDEXES={count}",
                f"-DSERIES_GETS={GETS}",
            ],
        )
        for index, count in INDEXES.items()
        for codec in CODECS
    }


def show(name, dataset, kind, run):
    """Prints the figures of one run."""
    costs = dict(figures.cost_metrics(figures.groups(run)))
    for metric in METRICS:
        row = {
            "bench": "packed_appends",
            "metric": metric,
            "dataset": dataset,
            "config": f"{name}, {', '.join(kind)}",
            "value": round(costs[metric]),
            "unit": platforms.PLATFORMS[name]["unit"],
        }
        print(json.dumps(row), flush=True)


def main():
    paths = {name: rows_file(name) for name in inputs.PAPER_SETS}
    paths = {name: path for name, path in paths.items() if path is not None}
    if not paths:
        return
    platforms.build_hosts()
    for name in CHIPS:
        lacks = platforms.missing(name)
        if lacks:
            print(f"skipped {name}: no {lacks}")
            continue
        programs = build(name)
        jobs = [(kind, data) for data in paths for kind in programs]

        def work(job, name=name, programs=programs):
            kind, data = job
            program = programs[kind]
            folder = program.parent / data
            return platforms.run(name, program, paths[data], folder=folder)

        runs = platforms.two_at_once(work, jobs)
        for (kind, data), run in zip(jobs, runs, strict=True):
            show(name, data, kind, run)


if __name__ == "__main__":
    main()
