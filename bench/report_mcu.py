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

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench" / "mcu"))

from platforms import script
from report_mcu_missed import section
from report_series import meets, number, table

SIZE = script("size")
OUT = ROOT / "docs" / "results"
AVR, SMALL = "atmega2560-fast", "atmega2560-small"
CHIP = "atmega2560"
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
TREE_OPERATIONS = ("tree insert", "tree get", "tree iteration", "tree open")
CORES = (AVR, "cortex-m0", "cortex-m3", "rv32imc")
RANDOM = "random keys"
CHIPS = (CHIP, "cortex-m0plus", "rv32imc", "wasm32")
BUILDS = ("small", "fast", "plain")


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

    def tree(self, metric, config):
        return self.text(metric, config, RANDOM)

    def text(self, *found, **where):
        return bold(self.get(*found, **where))


def target(row):
    return "-" if row is None or row["target"] is None else row["target"]


def reference(row):
    if row is None or row["reference"] is None:
        return "-"
    return number(row["reference"])


def bold(row):
    """A figure, in bold when it misses its target."""
    if row is None:
        return "-"
    value = number(row["value"])
    return f"**{value}**" if meets(row) is False else value


def build_lines(results):
    """(what, metric, config without the platform, dataset) of the table of
    the two builds."""
    for variant in ("none", "none, no value index"):
        metric = "append, mean"
        yield f"series append, {variant}", metric, variant, results.main
    for metric in ("append, max", "get, mean", "scan, per record"):
        yield f"series {metric}, none", metric, "none", results.main
    for metric in ("append", "get", "scan"):
        share = f"{metric}, of it the medium"
        yield f"series {share}", share, "none", results.main
    for metric in ("append, mean", "get, mean", "scan, per record"):
        yield f"series {metric}, CRC-32C", metric, "crc32c", results.main
    for frames in (2, 3):
        tree = f"tree inplace M={frames}, none"
        for metric in ("insert", "get", "iteration"):
            last = "per record" if metric == "iteration" else "mean"
            what = f"tree {metric}, M={frames}"
            yield what, f"tree {metric}, {last}", tree, RANDOM
            share = f"tree {metric}, of it the medium"
            yield f"{what}, of it the medium", share, tree, RANDOM
    yield "medium, a read", "medium, a read", "none", results.main
    yield "medium, a program", "medium, a program", "none", results.main


def builds(results):
    """Both builds, size and cycles: a column each."""
    lines = []
    for metric in SIZE.BY_PART:
        found = [
            results.get(metric, SIZE.config_of(CHIP, build), "minimal", "size")
            for build in ("small", "fast")
        ]
        lines.append(
            [
                f"{SIZE.named(metric)}: code, B",
                *map(bold, found),
                f"small {target(found[0])}",
                reference(found[0]),
            ]
        )
    whole = "RAM, all: arena, volume, cursor and stack"
    for config, dataset, kind, deepest in (
        ("crc32c", results.main, "", OPERATIONS),
        ("tree inplace M=2, none", RANDOM, "tree ", TREE_OPERATIONS),
    ):
        name = kind.strip() or "series"
        found = [
            results.get(f"{kind}{whole}", f"{chip}, {config}", dataset)
            for chip in (SMALL, AVR)
        ]
        lines.append(
            [
                f"{name}: RAM in all, B",
                *map(bold, found),
                target(found[1]),
                reference(found[1]),
            ]
        )
        stacks_of = [
            max(
                (
                    row["value"]
                    for what in deepest
                    if (
                        row := results.get(
                            f"stack, {what}", f"{chip}, {config}", dataset
                        )
                    )
                ),
                default="-",
            )
            for chip in (SMALL, AVR)
        ]
        lines.append(
            [f"{name}: of it the stack", *map(str, stacks_of), "-", "-"]
        )
    for what, metric, config, dataset in build_lines(results):
        found = [
            results.get(metric, f"{chip}, {config}", dataset)
            for chip in (SMALL, AVR)
        ]
        lines.append(
            [
                f"{what}, cycles",
                *map(bold, found),
                f"fast {target(found[1])}" if target(found[1]) != "-" else "-",
                reference(found[1]),
            ]
        )
    return table(["", "small", "fast", "target", "peer"], lines)


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
    """The painted stack beside the bound from the code, a core a column."""
    configs = [f"{core}, crc32c" for core in CORES]
    lines = []
    for name in OPERATIONS:
        lines.append([name])
        for config in configs:
            used = results.text(f"stack, {name}", config)
            bound = results.text(f"stack, {name}, worst case", config)
            lines[-1].append(f"{used} / {bound}")
    tree = "tree inplace M=2, none"
    for name in TREE_OPERATIONS:
        lines.append([f"{name}, inplace M=2"])
        for core in CORES:
            config = f"{core}, {tree}"
            used = results.tree(f"stack, {name}", config)
            bound = results.tree(f"stack, {name}, worst case", config)
            lines[-1].append(f"{used} / {bound}")
    return table(["bytes, painted / worst case", *CORES], lines)


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
    """Every program of scripts/size but that with every call, a chip a
    table."""
    parts = []
    for chip in CHIPS:
        builds_of = {SIZE.config_of(chip, build): build for build in BUILDS}
        index = {
            (row["metric"], builds_of[row["config"]]): row
            for row in results.rows
            if row["bench"] == "size" and row["config"] in builds_of
        }
        metrics = dict.fromkeys(
            metric
            for metric, _ in index
            if "code bytes" in metric and "every call" not in metric
        )
        builds = [b for b in BUILDS if any(b == have for _, have in index)]
        lines = []
        for metric in metrics:
            found = [index.get((metric, build)) for build in builds]
            ram = metric.replace("code bytes", "static RAM")
            lines.append(
                [
                    SIZE.named(metric),
                    *(bold(row) for row in found),
                    bold(index.get((ram, builds[0]))),
                    target(found[0]),
                    reference(found[0]),
                ]
            )
        header = [f"{chip}, bytes", *builds, "static RAM", "target", "peer"]
        parts.append(table(header, lines))
    return "\n".join(parts)


def sizes_by_part(results):
    """The plain build's code by part, beside what docs/results/size.json
    has."""
    was = SIZE.before()
    figures = {(r["bench"], r["metric"], r["config"]): r for r in results.rows}
    now = {key: row["value"] for key, row in figures.items()}
    parts = []
    for chip in (CHIP, "cortex-m0plus"):
        config = SIZE.config_of(chip, "plain")
        for metric in SIZE.BY_PART:
            new = SIZE.pieces(now, metric, config)
            old = SIZE.pieces(was, metric, config)
            lines = [
                [part, f"{new.get(part, 0):,}", f"{old.get(part, 0):,}"]
                for part in {**new, **old}
            ]
            both = (sum(new.values()), sum(old.values()))
            lines.append(["in all", *(f"{total:,}" for total in both)])
            title = f"{chip}, {SIZE.named(metric)}"
            parts.append(table([title, "now", "was"], lines))
    return "\n".join(parts)


def board(results, card):
    """A card's figures, a column a data set: checksum off / CRC-32C."""
    rows = [
        row
        for row in results.rows
        if row["bench"] == "mcu_paper" and row["config"] == f"{card}, none"
    ]
    sets = list(dict.fromkeys(row["dataset"] for row in rows))
    lines = {}
    for row in rows:
        unit = f", {row['unit']}" if row["unit"] else ""
        line = lines.setdefault(row["metric"], [row["metric"] + unit])
        about = {"dataset": row["dataset"], "bench": "mcu_paper"}
        off = results.text(row["metric"], f"{card}, none", **about)
        on = results.text(row["metric"], f"{card}, crc32c", **about)
        line.append(f"{off} / {on}")
        if row["dataset"] == sets[-1]:
            line += [target(row), reference(row)]
    header = ["checksum off / CRC-32C", *sets, "target", "paper"]
    return table(header, list(lines.values()))


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
    """A column a node store; target and peer are those of the first."""
    rows = [
        row
        for row in results.rows
        if row["bench"] == "mcu"
        and row["dataset"] == RANDOM
        and row["config"].startswith(f"{AVR}, tree")
    ]
    configs = list(dict.fromkeys(row["config"] for row in rows))
    metrics = dict.fromkeys((row["metric"], row["unit"]) for row in rows)
    lines = []
    for metric, unit in metrics:
        first = results.get(metric, configs[0], RANDOM)
        cells = [results.tree(metric, config) for config in configs]
        ends = [target(first), reference(first)]
        lines.append([f"{metric}, {unit}", *cells, *ends])
    names = [config.removeprefix(f"{AVR}, tree ") for config in configs]
    return table(["measured", *names, "target", "ubco btree"], lines)


def summary(results):
    judged = [row for row in results.rows if meets(row) is not None]
    missed = [row for row in judged if not meets(row)]
    lines = [
        (
            f"Of {len(judged)} figures with a target "
            f"{len(judged) - len(missed)} meet it; those in bold miss it.\n"
        )
    ]
    cuts = [row for row in results.rows if row["bench"] == "mcu_cuts"]
    lines += [f"- {row['metric']}; losses: {row['value']}" for row in cuts]
    return "\n".join(lines) + "\n"


def linked(results):
    return [
        "## A minimal program, linked\n",
        (
            "Whole programs, the driver a stub: small is `-Os -flto`, fast "
            "`-O2 -flto -DESK_CRC_TABLE=256`, plain `-Os` file by file. The "
            "target is of the small build; the peer's program makes the same "
            "calls, has no checksum and no catalog, and was linked by the "
            "same compiler, `-Os -flto`.\n"
        ),
        sizes(results),
        (
            "By part, the plain build, beside what `docs/results/size.json` "
            "has:\n"
        ),
        sizes_by_part(results),
    ]


def cards(results):
    parts = ["## The papers' board: 16 MHz ATmega2560 and SD card\n"]
    parts.append(
        "Cycles and the card's time by page, at the papers' rates; the "
        "limits are those of the figures: rows at the sequential write rate, "
        "one random read a get, rows at the mean of both read rates. As in "
        "the papers 100,000 rows (sea_surface_temp has fewer) and four "
        "frames; key index of 256 B. The value query is for 0.01 % of the "
        "rows. embeddb-2024 has the figures as charts of all its boards: "
        "inserts are its figure 5, gets 7, ranges 9, values 11.\n"
    )
    for card, label in CARDS.items():
        parts += [f"### {label}\n", board(results, card)]
    return parts


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
            "The storage outside the chip takes almost no cycles, so these are "
            "the library's own cycles and instructions; both repeat exactly. "
            "Two builds: fast is `-O2 -flto -DESK_CRC_TABLE=256`, small "
            "`-Os -flto`. The ATmega2560 is measured in both, and where no "
            "build is named it is the fast one; the other cores are small. "
            "EmbedDB was measured unmodified on the same data; it has no "
            "checksum.\n"
        ),
        summary(results),
        "## ATmega2560: two builds, size and cycles\n",
        (
            "Code is of the whole linked program (below), with CRC-32C; RAM "
            "and the painted stack of the measured one. *Of it the medium* is "
            "what the benchmark's own device takes (its counters, a call by "
            "pointer, the host call): one read or program of the device "
            "times their number in the operation; the same for a peer on "
            "this device. The peers: EmbedDB with "
            "its own driver, `-Os`; ubco btree on this medium, `-O2 -flto`, "
            "whose reads a get are 3 and 2 at M = 2 and 3.\n"
        ),
        builds(results),
        "## ATmega2560: cycles in simavr, the fast build\n",
        avr_costs(results),
        pages(results),
        "## ATmega2560: RAM and stack\n",
        rams(results),
        stacks(results),
        (
            "Painted: the deepest byte written below the caller in a run. Worst "
            "case: call graph and frames of the linked program, library routines "
            "included, with the benchmark's driver; for a call through a "
            "pointer, the deepest function that it can reach.\n"
        ),
        "## Cortex-M and RISC-V: instructions in QEMU\n",
        others(results),
        (
            "Do not compare these with the cycles above. WebAssembly has no "
            "exact count: its module gives the same answers in Node.\n"
        ),
        *linked(results),
    ]
    parts += cards(results)
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
    parts.append(
        "Rows of 16 bytes, keys in no order; 10,000 rows unless another "
        "number is given. Target and peer are those of the first column; "
        "CRC-16 has its own for inserts, 32,000 cycles.\n"
    )
    parts.append(trees(results))
    parts.append(section(results))
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
