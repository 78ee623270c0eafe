# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Instructions per operation of a packed series on the host, counted by
callgrind: appends, the appends that complete a page, scans both ways.

bench/packed_operations.c does each kind of operation in a function of its own.
-O2, pages of 512 bytes, the medium is RAM.
"""

from bench_series_instructions import BENCHES, SETS, counted, has_valgrind, show

METRICS = {
    "count_append": "instructions of an append",
    "count_complete": "instructions of an append that completes a page",
    "count_scan": "instructions of a row, scan",
    "count_back": "instructions of a row, backward scan",
}
CONFIGS = {
    "cells of 256": ["0"],
    "cells of 512": ["512"],
    "cells of 256, given buckets": ["0", "given"],
}


def main():
    for dataset in SETS if has_valgrind() else ():
        for config, arguments in CONFIGS.items():
            found = counted(BENCHES / "packed_operations", dataset, *arguments)
            show("packed_instructions", METRICS, dataset, config, found)


if __name__ == "__main__":
    main()
