# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Writes docs/results/mcu.md and mcu.json from measured results.

    make mcu OUT=mcu.json
    .venv/bin/python bench/report_mcu.py mcu.json

Nothing is typed in but the sentences; a figure the file lacks is a dash.
"""

import json
import sys
from pathlib import Path

from report_series import meets, number, table

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "results"
AVR = "atmega2560"
CARDS = {
    "embeddb_sd_mega": "embeddb-2024, Table 1: reads 381 to 409 KiB/s",
    "btree2022_sd_mega": "btree-2022, section 4: 345 reads/s, 175 writes/s",
}
COSTS = (
    "append, mean",
    "append, max",
    "sync, mean",
    "get, mean",
    "get, max",
    "scan, per record",
    "range, per record",
    "value query",
    "open, empty",
    "reopen after 10,000 rows",
    "format and create",
)
PAGES = (
    "programs an append",
    "programs a sync",
    "reads a get",
    "reads of the value query",
    "rows of the value query",
    "reads of the reopen",
)
OPERATIONS = ("append", "sync", "get", "value query", "open")


class Results:
    def __init__(self, rows):
        self.rows = rows
        self.index = {
            (row["bench"], row["metric"], row["dataset"], row["config"]): row
            for row in rows
        }
        sets = {row["dataset"] for row in rows}
        self.main = "uwa" if "uwa" in sets else "sea_surface_temp"

    def get(self, metric, config, dataset=None, bench="mcu"):
        return self.index.get((bench, metric, dataset or self.main, config))

    def text(self, *found, **where):
        row = self.get(*found, **where)
        if row is None:
            return "-"
        value = number(row["value"])
        return f"**{value}**" if meets(row) is False else value


def target(row):
    return "-" if row is None or row["target"] is None else row["target"]


def reference(row):
    if row is None or row["reference"] is None:
        return "-"
    return number(row["reference"])


def avr_costs(results):
    """Cycles beside targets and the peer, a column a checksum."""
    variants = ("none", "crc32c", "crc16", "crc32c, trusted loads")
    header = ["cycles", "checksum off", "target"]
    header += ["CRC-32C", "target", "CRC-16", "trusted loads", "EmbedDB"]
    lines = []
    for metric in COSTS:
        found = [results.get(metric, f"{AVR}, {v}") for v in variants]
        cells = [results.text(metric, f"{AVR}, {v}") for v in variants]
        lines.append(
            [
                metric,
                cells[0],
                target(found[0]),
                cells[1],
                target(found[1]),
                cells[2],
                cells[3],
                reference(found[0]),
            ]
        )
    return table(header, lines)


def pages(results):
    header = ["pages", "measured", "target", "EmbedDB"]
    config = f"{AVR}, crc32c"
    rows = [(metric, results.get(metric, config)) for metric in PAGES]
    return table(
        header,
        [
            [metric, results.text(metric, config), target(row), reference(row)]
            for metric, row in rows
        ],
    )


def stacks(results):
    """The painted stack beside the bound from the code."""
    config = f"{AVR}, crc32c"
    lines = [
        [
            name,
            results.text(f"stack, {name}", config),
            results.text(f"stack, {name}, worst case", config),
        ]
        for name in OPERATIONS
    ]
    return table(["bytes", "painted", "worst case, from the code"], lines)


def rams(results):
    lines = []
    for variant in ("crc32c", "crc32c, no value index"):
        config = f"{AVR}, {variant}"
        whole = results.get("RAM, all: arena, volume, cursor and stack", config)
        lines.append(
            [
                "no value index" if "no" in variant else "one value index",
                results.text("RAM, arena", config),
                results.text("RAM, volume and cursor", config),
                results.text(
                    "RAM, all: arena, volume, cursor and stack", config
                ),
                target(whole),
                reference(whole),
            ]
        )
    header = ["bytes", "arena", "volume, cursor"]
    header += ["all, with the painted stack", "target", "EmbedDB"]
    return table(header, lines)


def others(results):
    names = ("cortex-m0", "cortex-m3", "rv32imc")
    header = ["instructions"]
    header += [f"{name}, {v}" for name in names for v in ("none", "crc32c")]
    lines = [
        [metric]
        + [
            results.text(metric, f"{name}, {variant}")
            for name in names
            for variant in ("none", "crc32c")
        ]
        for metric in (*COSTS, "RAM, all: arena, volume, cursor and stack")
    ]
    return table(header, lines)


def sizes(results):
    lines = []
    for row in results.rows:
        if row["bench"] != "size" or row["metric"] != "code bytes":
            continue
        ram = results.get("static RAM", row["config"], "minimal", "size")
        arena = results.get("of it the arena", row["config"], "minimal", "size")
        code = results.text("code bytes", row["config"], "minimal", "size")
        lines.append(
            [
                row["config"].split(",")[0],
                code,
                target(row),
                reference(row),
                number(ram["value"]),
                number(arena["value"]),
            ]
        )
    header = ["bytes", "code", "target", "EmbedDB", "static RAM", "its arena"]
    return table(header, lines)


def board(results, card):
    rows = [
        row
        for row in results.rows
        if row["bench"] == "mcu_paper"
        and row["config"] == f"{card}, none"
        and row["dataset"] == results.main
    ]
    lines = []
    for row in rows:
        bench = {"bench": "mcu_paper"}
        off = results.text(row["metric"], f"{card}, none", **bench)
        on = results.text(row["metric"], f"{card}, crc32c", **bench)
        unit = f", {row['unit']}" if row["unit"] else ""
        lines.append(
            [row["metric"] + unit, off, on, target(row), reference(row)]
        )
    return table(
        ["measured", "checksum off", "CRC-32C", "target", "paper"], lines
    )


def chips(results):
    """A series on chips over SPI, bus and busy times included."""
    names = ("MX25R6435F", "SDHC")
    header = ["cycles", "no chip", *names]
    rows = [
        [metric]
        + [
            results.text(metric, f"{AVR}, {config}", "sea_surface_temp")
            for config in (
                "crc32c",
                *(f"{name} over SPI, crc32c" for name in names),
            )
        ]
        for metric in (
            *COSTS,
            "stack, append",
            "stack, get",
            "stack, value query",
            "stack, open",
        )
    ]
    return table(header, rows)


def trees(results):
    """Trees by node store; the peer's figures are those of inplace."""
    rows = [
        row
        for row in results.rows
        if row["dataset"] == "random keys"
        and row["config"].startswith(f"{AVR}, tree")
    ]
    lines = [
        [
            row["config"].removeprefix(f"{AVR}, tree "),
            f"{row['metric']}, {row['unit']}",
            f"**{number(row['value'])}**"
            if meets(row) is False
            else number(row["value"]),
            target(row),
            reference(row),
        ]
        for row in rows
    ]
    return table(["store", "measured", "", "target", "ubco btree"], lines)


def profile(results, variant):
    """The dearest functions, a column an operation."""
    groups = {}
    for row in results.rows:
        if row["bench"] == "mcu_profile" and row["config"].endswith(variant):
            group, name = row["metric"].split(": ")
            groups.setdefault(group, []).append(
                f"`{name}` {number(row['value'])}"
            )
    lines = [[group, ", ".join(listed)] for group, listed in groups.items()]
    return table(["an operation", "cycles by function, callees apart"], lines)


def summary(results):
    judged = [row for row in results.rows if meets(row) is not None]
    missed = [row for row in judged if not meets(row)]
    lines = [
        (
            f"Of {len(judged)} figures with a target "
            f"{len(judged) - len(missed)} meet it; one in bold misses it.\n"
        )
    ]
    cuts = [row for row in results.rows if row["bench"] == "mcu_cuts"]
    lines += [f"- {row['metric']}; losses: {row['value']}" for row in cuts]
    return "\n".join(lines) + "\n"


def write(results):
    data = results.main
    parts = [
        "# On microcontrollers, measured\n",
        (
            "Made by `make mcu OUT=file.json` and `bench/report_mcu.py "
            "file.json`; all figures are in `mcu.json`. One firmware on every "
            "platform, its answers compared with the host's byte for byte: "
            f"10,000 rows of 16 bytes ({data}), pages of 512 bytes, 32-bit keys, "
            "256 B of key index, the least number of frames, one value index. "
            "The storage outside the chip costs it next to nothing, so these are "
            "the library's own cycles and instructions; both repeat exactly. "
            "EmbedDB was measured unmodified on the same data; it has no "
            "checksum.\n"
        ),
        summary(results),
        "## ATmega2560: cycles in simavr\n",
        avr_costs(results),
        pages(results),
        "## ATmega2560: RAM and stack\n",
        rams(results),
        stacks(results),
        (
            "Painted: the deepest byte written below the caller in a run. Worst "
            "case: call graph and frames of the linked program, library routines "
            "included, with the benchmark's driver below.\n"
        ),
        "## Cortex-M and RISC-V: instructions in QEMU\n",
        others(results),
        (
            "Never to be compared with the cycles above. WebAssembly has no "
            "exact count: its module gives the same answers in Node.\n"
        ),
        "## A minimal program, linked\n",
        sizes(results),
    ]
    parts.append("## The papers' board: 16 MHz ATmega2560 and SD card\n")
    parts.append(
        "Cycles and the card's time by page, at the papers' rates; the "
        "limits are those of the figures: rows at the sequential write rate, "
        "one random read a get, rows at the mean of both read rates. The "
        "papers had 100,000 rows and four frames.\n"
    )
    for card, label in CARDS.items():
        parts += [f"### {label}\n", board(results, card)]
    parts.append("## ATmega2560: chips over SPI\n")
    parts.append(
        "Port, driver, bus at F_CPU / 2 (16 cycles a byte) and the chip's own "
        "time: the models of `port/models`, an SPI NOR whose page takes 3.2 "
        "ms and sector 58 ms, and an SD card of 0.5 ms a read and 0.85 ms a "
        "write. CRC-32C, sea_surface_temp; the stack is in bytes, with the "
        "driver's.\n"
    )
    parts.append(chips(results))
    parts.append("## ATmega2560: trees\n")
    parts.append("10,000 rows of 16 bytes, keys in no order.\n")
    parts.append(trees(results))
    parts.append("## Where the ATmega2560's cycles go\n")
    for variant, label in (("none", "Checksum off"), ("crc32c", "CRC-32C")):
        parts += [f"### {label}\n", profile(results, variant)]
    (OUT / "mcu.md").write_text("\n".join(parts), "utf-8")


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    text = Path(sys.argv[1]).read_text("utf-8")
    write(Results(json.loads(text)))
    (OUT / "mcu.json").write_text(text, "utf-8")
    print("docs/results/mcu.md and mcu.json written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
