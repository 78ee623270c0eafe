# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Instructions of a search in a leaf on the host, counted by callgrind, in each
format of bench/leaves: bench/leaves_operations.c. Values of 4 bytes.
"""

import json
import subprocess

from bench_series_instructions import BENCHES, ROOT, counted, has_valgrind

PROGRAM = BENCHES / "leaves_operations"
PAGES = (256, 512, 2048, 4096)
NO_FILE, NO_SET = 3, 2
SETS_MAX = 100


def show(bench, metric, dataset, config, value, unit):
    row = {
        "bench": bench,
        "metric": metric,
        "dataset": dataset,
        "config": config,
        "value": value,
        "unit": unit,
    }
    print(json.dumps(row), flush=True)


def said(*arguments):
    """What leaves_operations says, and its status."""
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
    )
    return done.stdout.splitlines(), done.returncode


def sets():
    """(index, name) of the sets whose files are there."""
    for index in range(SETS_MAX):
        lines, status = said(index, PAGES[-1])
        if status == NO_SET:
            return
        if status == NO_FILE:
            print(lines[0])
        else:
            yield index, lines[0]


def main():
    for index, name in sets() if has_valgrind() else ():
        for page in PAGES:
            found = counted(PROGRAM, str(index), str(page))
            for function, (cost, times) in found.items():
                form = function.removeprefix("count_").replace("_", " ")
                show(
                    "leaves_instructions",
                    "instructions of a search",
                    name,
                    f"page {page}, values 4, {form}",
                    round(cost / times),
                    "instr",
                )


if __name__ == "__main__":
    main()
