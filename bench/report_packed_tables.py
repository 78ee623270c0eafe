# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The part of docs/results/packed.md on tables: counts, simulated time, what an
append takes with the CPU's share, and the plot of the break-even."""

import matplotlib.pyplot as plt
from report_plots import COLOURS, SETTINGS, save
from report_series import number, table

from eskerdb.device import Simulator
from eskerdb.plan import plan_syncs

PAGES = (512, 256, 1024, 2048, 4096)
PARTS = {
    "embeddb_sd_due": "SD card, EmbedDB's (33,000 raw rows of 16 B a second)",
    "btree2022_sd_mega": "SD card, the B-tree paper's (5,400)",
    "w25q128jv": "W25Q128JV, NOR",
    "mt29f2g08aac": "MT29F2G08AAC, NAND",
}
# Clock, the chip in packed_appends, unit of its figures, milliwatts at work.
CHIPS = {
    "ATmega2560, 16 MHz": (16, "atmega2560-small", "cycles", 50),
    "Cortex-M0+, 48 M instructions/s": (48, "cortex-m0", "instructions", 20),
}
FLASH_MILLIWATT = 66
INDEX, NO_INDEX = "value index", "no value index"
RATES = {"uwa": 3, "watch": 1.1}
EVERY = (1, 3, 10, 31, 100, 316, 1000)
ROWS_A_SECOND, SYNC_ROWS, ENDURANCE = 100, 1000, 100_000
ROW_BYTES = {"sea_surface_temp": 12, "cycling": 36}


class Figures:
    """What was measured, by metric, data set and config."""

    def __init__(self, rows):
        self.values = {
            (row["metric"], row["dataset"], row["config"]): row["value"]
            for row in rows
        }
        self.sets = list(
            dict.fromkeys(
                row["dataset"]
                for row in rows
                if row["bench"] == "packed_tables"
            )
        )

    def get(self, metric, dataset, config):
        return self.values.get((metric, dataset, config))

    def pair(self, metric, dataset, config):
        """Raw and packed, as text."""
        found = [
            self.get(metric, dataset, config.format(codec))
            for codec in ("raw", "packed")
        ]
        if None in found:
            return "-"
        return " → ".join(number(value) for value in found)

    def append_us(self, part, codec, dataset, every=None):
        """Device's time of an append; every: rows a sync, None: at the end."""
        for (metric, name, config), value in self.values.items():
            head = f"{part}, {codec}; a sync every "
            if (
                metric == "device's time of an append"
                and name == dataset
                and config.startswith(head)
            ):
                rows = int(config.removeprefix(head))
                if rows == every or (every is None and rows > EVERY[-1]):
                    return value
        return None


def counts(figures):
    """A table of counts for each size of pages."""
    metrics = list(
        dict.fromkeys(
            metric
            for metric, _, config in figures.values
            if config == "512 B pages, raw"
        )
    )
    parts = []
    for page in PAGES:
        lines = [
            [
                metric,
                *(
                    figures.pair(metric, name, f"{page} B pages, {{}}")
                    for name in figures.sets
                ),
            ]
            for metric in metrics
        ]
        head = table(["raw → packed", *figures.sets], lines)
        parts.append(f"### Pages of {page:,} bytes\n\n{head}")
    return "\n".join(parts)


def times(figures):
    """A table of simulated time for each medium."""
    metrics = (
        ("us a get", "device's time of a get"),
        ("us a row of a scan", "device's time of a row of a scan"),
        ("rows until 16 MiB drop", "rows until 16 MiB drop their oldest"),
    )
    parts = []
    for part, label in PARTS.items():
        lines = []
        for name in figures.sets:
            appends = [
                " → ".join(
                    number(figures.append_us(part, codec, name, every))
                    for codec in ("raw", "packed")
                )
                for every in (None, 1, 31)
            ]
            config = f"{part}, {{}}"
            others = [
                figures.pair(metric, name, config) for _, metric in metrics
            ]
            lines.append([name, *appends, *others])
        head = [
            "raw → packed",
            "us an append",
            "each synced",
            "31 a sync",
            *(text for text, _ in metrics),
        ]
        parts.append(f"### {label}\n\n{table(head, lines)}")
    return "\n".join(parts)


def work(figures, chip, dataset, index=INDEX):
    """Cycles, or instructions, of a raw append and of a packed one, as measured;
    None: not measured."""
    found = [
        figures.get("append, mean", dataset, f"{chip}, {codec}, {index}")
        for codec in ("raw", "packed")
    ]
    return None if None in found else found


def measured(figures):
    """Tables of what a raw table and a packed one cost the chips."""
    parts = []
    for label, (_, chip, unit, _) in CHIPS.items():
        sets = [name for name in figures.sets if work(figures, chip, name)]
        for index in (INDEX, NO_INDEX):
            tail = f"{chip}, {{}}, {index}"
            metrics = dict.fromkeys(
                metric
                for metric, _, config in figures.values
                if config == tail.format("raw")
            )
            lines = [
                [metric, *(figures.pair(metric, n, tail) for n in sets)]
                for metric in metrics
            ]
            if not lines:
                continue
            name = label.split(",")[0]
            parts.append(table([f"{name}, {index}: {unit}", *sets], lines))
    return "\n".join(parts)


def device(figures, part, dataset, every=None):
    """Device's microseconds of a raw append and of a packed one."""
    return [
        figures.append_us(part, codec, dataset, every)
        for codec in ("raw", "packed")
    ]


def break_even(figures, part, chip, dataset, every=None):
    """Cycles, or instructions, a microsecond from which on a packed append takes
    less time than a raw one; None: not measured, or never."""
    raw, packed = device(figures, part, dataset, every)
    cycles = work(figures, chip, dataset)
    if raw is None or cycles is None or raw <= packed:
        return None
    return max(cycles[1] - cycles[0], 0) / (raw - packed)


def faster(figures, part, chip, dataset, clock, index=INDEX):
    """Time of a raw append divided by that of a packed one."""
    raw, packed = device(figures, part, dataset)
    cycles = work(figures, chip, dataset, index)
    if cycles is None:
        return "-"
    less, more = cycles
    return f"{(raw + less / clock) / (packed + more / clock):.2f}x"


def faster_alone(figures, part, chip, dataset, clock):
    """The same of tables without a value index."""
    return faster(figures, part, chip, dataset, clock, NO_INDEX)


def rate_of(figures, part, chip, dataset, clock):
    """Rate of packed appends, in times that of the medium alone with raw ones."""
    raw, packed = device(figures, part, dataset)
    more = work(figures, chip, dataset)[1]
    return raw / (packed + more / clock)


def rate(figures, part, chip, dataset, clock):
    return f"{rate_of(figures, part, chip, dataset, clock):.2f}x"


def rates_met(figures):
    """On which media the targets of the rate are met, and what misses one."""
    clock, chip = next(c[:2] for c in CHIPS.values() if c[1] == "cortex-m0")
    met, missed = [], []
    for part in PARTS:
        found = {
            name: rate_of(figures, part, chip, name, clock)
            for name in RATES
            if work(figures, chip, name) is not None
        }
        below = [
            f"{name} {value:.2f}x"
            for name, value in found.items()
            if value < RATES[name]
        ]
        if below:
            missed.append(f"{part} ({', '.join(below)})")
        elif found:
            met.append(part)
    bounds = ", ".join(f"{name} >= {bound}x" for name, bound in RATES.items())
    yes, no = (", ".join(parts) or "none" for parts in (met, missed))
    return (
        f"Target of the rate on the Cortex-M0+, {bounds}: met on {yes}; "
        f"missed on {no}."
    )


def energy(figures, part, chip, dataset, clock):
    """Microjoules of an append, raw and packed."""
    (raw, packed), (less, more) = (
        device(figures, part, dataset),
        work(figures, chip, dataset),
    )
    watt = next(each[3] for each in CHIPS.values() if each[1] == chip)
    return " → ".join(
        f"{(us * FLASH_MILLIWATT + cycles / clock * watt) / 1000:.2g}"
        for us, cycles in ((raw, less), (packed, more))
    )


def speed(figures, part, chip, dataset, clock):
    found = break_even(figures, part, chip, dataset)
    return "-" if found is None else number(round(found, 1))


def appends(figures):
    """What an append takes with the CPU's share, a table for each question."""
    questions = (
        ("times faster", faster),
        ("times faster, no value index", faster_alone),
        ("rate, times the medium's for raw rows", rate),
        ("uJ, raw → packed", energy),
        ("faster from {} a us", speed),
    )
    parts = []
    for label, (clock, chip, unit, _) in CHIPS.items():
        for title, answer in questions:
            lines = [
                [
                    name,
                    *(
                        answer(figures, part, chip, name, clock)
                        for part in PARTS
                    ),
                ]
                for name in figures.sets
                if work(figures, chip, name) is not None
            ]
            if all(set(line[1:]) == {"-"} for line in lines):
                continue
            head = [f"{label}: {title.format(unit)}", *PARTS]
            parts.append(table(head, lines))
    return "\n".join(parts)


def lifetimes(figures):
    """Years by esker plan on a W25Q128JV."""
    with Simulator("w25q128jv") as chip:
        geometry = chip.geometry
    lines = []
    for name in figures.sets:
        bytes_ = [
            figures.get("flash bytes a row", name, f"256 B pages, {codec}")
            for codec in ("raw", "packed")
        ]
        plans = [
            plan_syncs(
                ROW_BYTES.get(name, 16),
                geometry,
                geometry.block_count,
                rows_a_sync=SYNC_ROWS,
                packed_bytes=packed,
                rows_a_day=86_400 * ROWS_A_SECOND,
                endurance=ENDURANCE,
            )
            for packed in (0, bytes_[1])
        ]
        lines.append(
            [
                name,
                *(f"{plan.rows_kept:,}" for plan in plans),
                *(f"{plan.life_years:,.0f}" for plan in plans),
            ]
        )
    head = ["", "rows, raw", "rows, packed", "years, raw", "years, packed"]
    return table(head, lines)


def draw(figures, path):
    """The speed of a CPU at the break-even against rows a sync."""
    with plt.rc_context(SETTINGS):
        figure, axes = plt.subplots(
            len(CHIPS), len(PARTS), figsize=(11, 5.4), sharex=True, sharey="row"
        )
        for row, (label, (clock, chip, unit, _)) in zip(
            axes, CHIPS.items(), strict=True
        ):
            for axis, part in zip(row, PARTS, strict=True):
                for name, colour in COLOURS.items():
                    points = [
                        (every, speed)
                        for every in EVERY
                        if (
                            speed := break_even(
                                figures, part, chip, name, every
                            )
                        )
                    ]
                    if points:
                        axis.plot(
                            *zip(*points, strict=True),
                            "o-",
                            ms=3,
                            color=colour,
                            label=name,
                        )
                axis.axhline(clock, color="black", lw=0.8, ls="--")
                axis.set_xscale("log")
                axis.set_yscale("log")
                axis.set_title(f"{part}\n{label}", fontsize=8)
            row[0].set_ylabel(f"{unit} a us at break-even")
        for axis in axes[-1]:
            axis.set_xlabel("rows a sync")
        axes[0][0].legend(frameon=False, fontsize=7)
        save(figure, path)


TEXT = """## Tables

100,000 rows, one value index with a bitmap of 16, four frames; cells of 256 bytes, or 512 for rows of 36. Each
figure is of a raw table, then of a packed one with the same rows. A sync at the end only.

{counts}
## Simulated time

20,000 rows; only the device's time, without the CPU. NAND has pages of 2,048 bytes, NOR of 256, the cards of 512. Where a page
is programmed once (the cards, NAND) syncs go to the table's sync journal, so packed pages stay whole however often a table is
synced. "Rows until 16 MiB drop" is computed from the rows a page and the table's blocks.

{times}
## With the CPU: when packed appends are faster, and what they take

Measured on the chips' models: `bench/mcu/series_firmware.c` on a raw table and on a packed one, 3,000 rows from a third into each
set, pages of 512 bytes, cells of 256, CRC-32C, as few frames as the table needs, the small build. The value index has 16 learned
buckets; packed pages feed it row by row, raw ones once a page. All rows read are compared. A sync is of 3 rows.

{measured}
The device's time above and the work of an append in these tables together: first the time of a raw append divided by that of a
packed one, with a value index and without; then the rate of packed appends, in times the rate at which the medium alone takes raw
rows; the energy of an append (assumed: flash 66 mW, ATmega2560 50 mW, Cortex-M0+ 20 mW, at work); and the speed of the CPU from
which packed appends are faster. Below 1.00x raw appends are faster. The CPU's work is that with pages of 512 bytes on all media.

{appends}
{rates}

The speed of the CPU from which packed appends are faster, with a value index, by rows a sync, whose work of the CPU is not
counted; dashed is the chip's own. A point below the line means that packed appends are faster there.

![break-even](packed_breakeven.svg)

## Lifetime

By `esker plan` for a W25Q128JV: {rate} rows a second, a sync every {sync} rows, {endurance:,} erases a block; rows that stay at
least, and years until the most worn block.

{lifetimes}"""


def tables_text(rows, out):
    """The text, and the plot beside it."""
    figures = Figures(rows)
    draw(figures, out / "packed_breakeven.svg")
    return TEXT.format(
        counts=counts(figures),
        times=times(figures),
        measured=measured(figures),
        appends=appends(figures),
        rates=rates_met(figures),
        lifetimes=lifetimes(figures),
        rate=ROWS_A_SECOND,
        sync=SYNC_ROWS,
        endurance=ENDURANCE,
    )
