# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Writes docs/results/command.md and command.json from measured results.

make bench-command OUT=command.json
.venv/bin/python bench/report_command.py command.json
"""

import argparse
import json
from pathlib import Path

from report_series import meets, number, table

OUT = Path(__file__).resolve().parent.parent / "docs" / "results"
HEAD = """# The command, measured

Made by `make bench-command OUT=file.json` and `bench/report_command.py
file.json`; the figures are in `command.json`. Wall time of a process, the
least of several runs: it depends on the machine, and on what else runs there.

"""


def text(rows):
    verdicts = {None: "", True: "yes", False: "**no**"}
    return HEAD + table(
        ["", "what", "of", "seconds", "target", "met"],
        [
            [
                row["metric"],
                row["config"],
                row["dataset"],
                number(row["value"]),
                row["target"] or "",
                verdicts[meets(row)],
            ]
            for row in rows
        ],
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", help="what make bench-command wrote")
    options = parser.parse_args()
    rows = json.loads(Path(options.results).read_text("utf-8"))
    (OUT / "command.md").write_text(text(rows), "utf-8")
    (OUT / "command.json").write_text(
        json.dumps(rows, indent=1) + "\n", "utf-8"
    )


if __name__ == "__main__":
    main()
