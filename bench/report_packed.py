# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Writes docs/results/packed.md and packed.json from measured results.

make bench-packed OUT=packed.json
.venv/bin/python bench/report_packed.py packed.json
"""

import argparse
import json
from pathlib import Path

from report_packed_tables import tables_text
from report_series import meets, number, table

OUT = Path(__file__).resolve().parent.parent / "docs" / "results"
HEAD = """# Packed pages, measured

Made by `make bench-packed OUT=file.json` and `bench/report_packed.py
file.json`; the figures are in `packed.json`. First tables whose pages are packed
beside raw ones, then the codec by itself (`src/table/series/codec`), every row of
a set packed, read back and compared. `docs/packed.md` says when packed pages pay.

Modes are those that a user would declare: keys linear, integers delta, floats
with their decimals. Sets of the papers are read from `ESK_DATA`. General
compressors get the payload of one page (10,000 rows from a third into the set),
or the whole file at once; no device with a few KB of RAM could run them. Times of
the host depend on the machine; all other figures do not. "Code" is the sum of all
functions that the codec adds to a program that has nothing else of the core.

"""
VERDICTS = {None: "", True: "yes", False: "**no**"}
PARTS = {
    "packed_instructions": "## Instructions on the host, by callgrind",
    "packed_host": "## Scans into Arrow on the host",
    "packed_sizes": "## The codec: size, RAM, and the host's time",
    "packed_general": "## General compressors on the same rows",
    "packed_chips": "## On chips",
}

MISSED = """The targets of the code are of a model codec: 4,114 and 2,324 bytes. It had no
cells and pages whose rest is whole rows, which bound the loss where rows do not
shrink, and no units above a byte, to which a sync on NOR with such units aligns.
Bytes less if what stands here is taken out by hand:

| without | ATmega2560 | Cortex-M0 |
|---|---|---|
| rests of whole rows | 354 | 394 |
| units above a byte | 76 | 68 |
| both: a codec with what the model had | 400 | 428 |
| raw columns | 192 | 152 |
| f32 in order form, and the calls to the decimals' part | 288 | 276 |
| quiet columns | 276 | 282 |
| all of these but quiet columns | 858 | 848 |

With the model's abilities it has 3,697 bytes on an ATmega2560 and 2,866 on a
Cortex-M0. Writer and reader go through the fields of a row by the same code.
"""


def part(rows, bench):
    lines = [
        [
            row["metric"],
            row["dataset"],
            row["config"],
            number(row["value"]),
            row["unit"],
            row["target"] or "",
            VERDICTS[meets(row)],
        ]
        for row in rows
        if row["bench"] == bench
    ]
    head = ["", "of", "with", "value", "unit", "target", "met"]
    text = f"{PARTS[bench]}\n\n{table(head, lines)}\n"
    return text + f"\n{MISSED}" if bench == "packed_chips" else text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", help="what make bench-packed wrote")
    options = parser.parse_args()
    rows = json.loads(Path(options.results).read_text("utf-8"))
    parts = [part(rows, bench) for bench in PARTS]
    text = HEAD + "\n".join([tables_text(rows, OUT), *parts])
    (OUT / "packed.md").write_text(text, "utf-8")
    (OUT / "packed.json").write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
