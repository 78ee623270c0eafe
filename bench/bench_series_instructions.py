# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Instructions per operation on the host, counted by callgrind: exact, the
same in every run of one compiler's program.

bench/series_operations.c does each kind of operation in a function of its
own; a figure is what callgrind says of that function and all that it calls,
over the operations it did. -O2, and -O2 -flto: EmbedDB is one file, whose
functions the compiler can inline without it. The medium is RAM.
"""

import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BENCHES = ROOT / "build/release/bench"
PROGRAM = BENCHES / "series_operations"
WITH_LTO = "build/lto/bench/series_operations"
SETS = ("uwa", "ethylene", "watch", "sea", "sea_surface_temp")
METRICS = {
    "count_append": "instructions, append",
    "count_get": "instructions, random get",
    "count_scan": "instructions, scan, a row",
    "count_range": "instructions, 5 % key range, a row",
    "count_tail": "instructions, tail value query",
}
CONFIG = "RAM device, 4 frames, 256 B of key index, 1 value index, CRC-32C"


def called(command):
    """What the command prints; None when it ends with a failure."""
    done = subprocess.run(
        command, cwd=ROOT, text=True, capture_output=True, check=False
    )
    return done.stdout if done.returncode == 0 else None


def counted(program, *arguments):
    """{function: (instructions, operations)}; None without the data set."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        valgrind = ["valgrind", "--tool=callgrind", "--quiet"]
        said = called(
            [*valgrind, f"--callgrind-out-file={out}", program, *arguments]
        )
        if said is None:
            return None
        annotate = ["callgrind_annotate", "--inclusive=yes", "--threshold=100"]
        listed = called([*annotate, str(out)])
    costs = re.findall(r"^\s*([\d,]+) .*?:(count_\w+)", listed, re.MULTILINE)
    spent = {}
    for cost, name in costs:
        spent.setdefault(name, int(cost.replace(",", "")))
    operations = re.findall(r"^(count_\w+) (\d+)$", said, re.MULTILINE)
    return {name: (spent[name], int(times)) for name, times in operations}


def show(bench, metrics, dataset, config, found):
    """Prints a row for each metric. found: of counted()."""
    if found is None:
        print(f"skipped instructions of {dataset}: no data, or it failed")
        return
    for name, metric in metrics.items():
        cost, times = found[name]
        row = {
            "bench": bench,
            "metric": metric,
            "dataset": dataset,
            "config": config,
            "value": round(cost / times),
            "unit": "instr",
        }
        print(json.dumps(row), flush=True)


def has_valgrind():
    found = shutil.which("valgrind") is not None
    if not found:
        print("skipped instructions: no valgrind")
    return found


def main():
    if not has_valgrind():
        return
    made = called(["make", "FLAVOUR=lto", WITH_LTO])
    for dataset in SETS:
        found = counted(PROGRAM, dataset)
        show("series_instructions", METRICS, dataset, CONFIG, found)
        found = made and counted(str(ROOT / WITH_LTO), dataset)
        show("series_instructions", METRICS, dataset, CONFIG + ", -flto", found)


if __name__ == "__main__":
    main()
