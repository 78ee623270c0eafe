# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The five queries of embeddb-2024, Table 3, on an ATmega2560: the machine and
generated C beside a hand-written loop, in cycles of libsimavr.

The rows are those of the committed series; bench/query/chips.sql has the
queries in its terms, and bench/query/chip_sides.c the sides, which are compiled
as the core is, in the fast and the small build of bench/mcu. All sides' answers
must be the same, and those of the host. Page reads are of the build: a fast one
leaves a page that a cursor has returned without reading it again.
"""

import json
import sys
from pathlib import Path

import bench_query

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "bench/query"
sys.path.insert(0, str(ROOT / "bench" / "mcu"))

import figures
import inputs
import platforms

FIRMWARE = "bench/mcu/query_firmware.c"
ROWS = 4800
BUILDS = {"fast": "atmega2560-fast", "small": "atmega2560-small"}
SIDES = ("hand", "generated", "machine")
DATASET = "sea_surface_temp"


def show(metric, config, value, unit):
    row = {
        "bench": "query_chips",
        "metric": metric,
        "dataset": DATASET,
        "config": f"ATmega2560, {config}",
        "value": value,
        "unit": unit,
    }
    print(json.dumps(row), flush=True)


def run(name, made):
    """The firmware's run. Its sides are part of the core."""
    folder = platforms.BUILD / name / "query"
    flags = [*platforms.PLATFORMS[name].get("core", []), f"-I{made}"]
    core = platforms.build_core(name)
    for source in ("bench/query/chip_sides.c", made / "app.c"):
        output = folder / (Path(source).stem + ".o")
        core.append(platforms.compile_one(name, str(source), output, flags))
    defines = [f"-I{made}", f"-DQUERY_ROWS={ROWS}u"]
    program = platforms.build(name, core, FIRMWARE, "query", defines)
    return platforms.run(name, program, inputs.make(DATASET))


def told(ran):
    """The digest of the rows of each side, and how many there were."""
    groups = figures.groups(ran)
    return {
        name: (group["operations"], group["digest"])
        for name, group in groups.items()
        if "digest" in group
    }


def measure(config, found, sizes):
    for query, size in sizes.items():
        groups = {side: found[f"{query}_{side}"] for side in (*SIDES, "check")}
        cost = {side: group["cost"][0] for side, group in groups.items()}
        show(f"{query}, rows", config, groups["hand"]["operations"], "")
        for side in SIDES:
            show(f"{query}, cycles, {side}", config, cost[side], "cycles")
        show(f"{query}, cycles, check", config, cost["check"], "cycles")
        for side in SIDES:
            show(
                f"{query}, page reads, {side}",
                config,
                groups[side]["reads"],
                "",
            )
            show(f"{query}, stack, {side}", config, groups[side]["stack"], "B")
        show(f"{query}, program", config, size, "B")
        for top in SIDES[1:]:
            ratio = cost[top] / cost["hand"]
            show(f"{query}, cycles, {top} / hand", config, round(ratio, 3), "")


def main():
    platforms.build_hosts()
    lacks = platforms.missing(platforms.AVR)
    if lacks:
        print(f"skipped query_chips: no {lacks}")
        return 0
    made = platforms.BUILD / "query"
    _, _, sizes = bench_query.written(
        (HERE / "chips_schema.sql").read_text(),
        (HERE / "chips.sql").read_text(),
        made,
    )
    wanted = told(run("host", made))
    for config, name in BUILDS.items():
        ran = run(name, made)
        if told(ran) != wanted:
            print(f"query_chips: {config}: not the answers of the host")
            return 1
        measure(config, figures.groups(ran), sizes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
