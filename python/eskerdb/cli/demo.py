# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""`esker demo`: a chip, a power cut in the middle of a load, and answers.

Everything is checked against the data file: a row lost, invented or changed
ends the demo with status 1.
"""

from __future__ import annotations

import os
import shlex
import struct
import sys
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.rule import Rule

import eskerdb
from eskerdb.cli.answer import print_table
from eskerdb.cli.output import (
    complain,
    console,
    duration,
    grid,
    instant,
    sheet,
    size,
)
from eskerdb.device import Counters, Simulator
from eskerdb.errors import DeviceError
from eskerdb.schema import Column, Index
from eskerdb.series import Series
from eskerdb.sql.duck import Database
from eskerdb.volume import Volume

PART = "w25q128jv"
TABLE = "sea_surface_temp"
FILE = "sea_surface_temp.rec"
COLUMNS = (Column("t", "i64", "ms"), Column("temp_c", "f32", "degC"))
SYNC_ROWS = 48  # one day of half-hourly readings
DAY_MS = 86_400_000
SEED = 42
UUID = b"esker demo chip!"
QUANTILE = 0.999
# Between double quotes a shell changes nothing of it.
SQL = (
    "SELECT strftime(epoch_ms(t), '%Y-%m') AS month, count(*) AS readings,\n"
    "       min(temp_c) AS coldest, round(avg(temp_c), 2) AS mean,"
    " max(temp_c) AS warmest\n"
    f"FROM {TABLE} WHERE t >= 1467331200000 GROUP BY month ORDER BY month"
)

Row = tuple[int, float]


class Difference(Exception):
    """The rows of the database are not those of the file."""


@dataclass
class Question:
    """A question, its answer, and what it cost."""

    text: str
    rows: list[Row]
    cost: Counters


@dataclass
class Story:
    """What happened, for the tables and the picture."""

    rows: list[Row]
    synced: int = 0
    accepted: int = 0
    survived: int = 0
    mount: Counters | None = None
    opened: Counters | None = None
    questions: list[Question] = field(default_factory=list)


def demo(
    out: Annotated[
        Path, typer.Option("--out", help="Folder for image and picture.")
    ] = Path("build/demo"),
    data: Annotated[
        Path | None,
        typer.Option(
            help="Rows to load, t i64 and temp_c f32 [sea_surface_temp.rec]."
        ),
    ] = None,
) -> None:
    """Load sensor data, cut the power, recover, and answer questions."""
    try:
        Demo(console(), out, read_rows(data)).run()
    except Difference as difference:
        complain(f"the database and the file differ: {difference}")
        raise typer.Exit(1) from None


def command() -> str:
    """Returns the words of a shell that run `esker` as this run was started."""
    if Path(sys.argv[0]).stem == "esker":
        return shlex.quote(sys.argv[0])
    return f"{shlex.quote(sys.executable)} -m eskerdb"


def find_data() -> Path | None:
    """Returns the data file: in the package, or in the source tree."""
    here = Path(__file__).resolve()
    places = [here.parents[1] / "data", here.parents[3] / "data"]
    if "ESK_DATA" in os.environ:
        places.append(Path(os.environ["ESK_DATA"]) / "sensors")
    return next((p / FILE for p in places if (p / FILE).exists()), None)


def read_rows(path: Path | None) -> list[Row]:
    """Reads packed rows, 12 bytes each. Raises BadParameter."""
    path = path or find_data()
    if path is None:
        raise typer.BadParameter(
            f"{FILE} is not installed; name it with --data"
        )
    try:
        packed = path.read_bytes()
    except OSError as cause:
        raise typer.BadParameter(f"{path}: {cause.strerror}") from None
    if not packed or len(packed) % 12:
        raise typer.BadParameter(f"{path}: not whole rows of 12 bytes")
    rows = list(struct.iter_unpack("<qf", packed))
    if len(rows) < 1000:
        raise typer.BadParameter(f"{path}: fewer than 1,000 rows")
    return rows


class Demo:
    """The demo's steps, in order."""

    def __init__(self, out: Console, folder: Path, rows: list[Row]) -> None:
        self.out = out
        self.folder = folder
        self.rows = rows
        self.story = Story(rows)
        self.image = folder / f"{TABLE}.img"
        self.cut_image = folder / f"{TABLE}_after_cut.img"

    def run(self) -> None:
        """Runs every step. Raises Difference."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with Simulator(PART, seed=SEED) as chip:
            self._title(chip)
            self._load_until_cut(chip)
            chip.save(self.cut_image)
        # A new handle on the chip after the cut: no state is carried over.
        with Simulator.load(self.cut_image) as chip:
            chip.power_on()
            with self._mount(chip) as volume, volume.open(TABLE) as series:
                self._recover(chip, series)
                self._finish(series)
                self._ask(chip, series)
                self._show_questions(volume, series)
            self._show_chip(chip)
            chip.save(self.image)
        self._show_picture()
        self._show_sql()

    # Load and cut -----------------------------------------------------------

    def _title(self, chip: Simulator) -> None:
        geometry = chip.geometry
        label = Simulator.parts()[PART]
        self.out.print(Rule("[bold]EskerDB demo", style="cyan"))
        facts = grid()
        facts.add_row(
            "chip",
            f"{label}, simulated: {size(geometry.bytes)} NOR, "
            f"{geometry.page_bytes}-byte pages, "
            f"{size(geometry.block_bytes)} blocks",
        )
        facts.add_row(
            "data",
            f"{len(self.rows):,} sea surface temperatures, NERACOOS buoy "
            f"B01, {instant(self.rows[0][0], 'ms')} to "
            f"{instant(self.rows[-1][0], 'ms')}",
        )
        facts.add_row(
            "table", f"{TABLE}: {', '.join(map(str, COLUMNS))}; t is the key"
        )
        self.out.print(facts)

    def _load_until_cut(self, chip: Simulator) -> None:
        """Loads half of the rows, then goes on until the power fails."""
        volume = Volume.format(chip, uuid=UUID)
        volume.create(
            TABLE, COLUMNS, key="t", indexes=[Index("temp_c", bitmap=16)]
        )
        series = volume.open(TABLE)
        half = len(self.rows) // 2
        try:
            for number, row in enumerate(self.rows):
                if number == half:
                    chip.cut_at(chip.ops + 8, "subset")
                series.append(row)
                self.story.accepted = number + 1
                if (number + 1) % SYNC_ROWS == 0:
                    series.sync()
                    self.story.synced = number + 1
        except DeviceError:
            pass
        if chip.is_on:
            raise Difference("the power did not fail during the load")
        series.close(sync=False)
        volume.close()

    def _mount(self, chip: Simulator) -> Volume:
        before = chip.counters
        volume = Volume.mount(chip)
        self.story.mount = chip.counters - before
        before = chip.counters
        with volume.open(TABLE):
            self.story.opened = chip.counters - before
        return volume

    def _recover(self, chip: Simulator, series: Series) -> None:
        """Checks that the cut left synced rows and a prefix of the rest."""
        story = self.story
        story.survived = len(self._compare(series, "after the cut"))
        if not story.synced <= story.survived <= story.accepted + 1:
            raise Difference(
                f"{story.survived} rows after the cut, {story.synced} were "
                f"synced and {story.accepted} accepted"
            )
        assert story.mount is not None and story.opened is not None
        facts = grid("\nThe power fails inside a page program")
        facts.add_row("accepted", f"{story.accepted:,} rows")
        facts.add_row(
            "synced", f"{story.synced:,} rows, every {SYNC_ROWS} rows"
        )
        facts.add_row(
            "mounted again",
            f"{story.mount.reads + story.opened.reads} page reads, "
            f"{duration(story.mount.time_ns + story.opened.time_ns)} "
            "simulated",
        )
        facts.add_row(
            "survived",
            f"[bold green]{story.survived:,} rows[/]: all "
            f"{story.synced:,} synced and "
            f"{story.survived - story.synced:,} more, in order",
        )
        facts.add_row(
            "lost / invented", "[bold green]0 / 0[/], each row compared"
        )
        self.out.print(facts)

    def _finish(self, series: Series) -> None:
        """Goes on from the newest key and checks every row."""
        newest = series.newest()
        start = 0
        if newest is not None:
            start = bisect_right(self.rows, newest["t"], key=lambda r: r[0])
        series.append_many(self.rows[start:])
        series.sync()
        found = self._compare(series, "at the end")
        if len(found) != len(self.rows):
            raise Difference(f"{len(found)} rows, {len(self.rows)} loaded")
        report = series.check()
        if not report.ok:
            raise Difference(f"check: {report}")
        facts = grid("\nThe load goes on from the newest key")
        facts.add_row(
            "appended", f"{len(self.rows) - start:,} rows from row {start:,}"
        )
        facts.add_row(
            "verified",
            f"[bold green]{len(found):,} of {len(self.rows):,} rows[/] equal "
            f"the file; {report.pages:,} data and {report.index_pages:,} "
            f"index pages are valid, {report.pages_torn} torn by the cut",
        )
        self.out.print(facts)

    def _compare(self, series: Series, when: str) -> list[Row]:
        """Returns all rows, which must be the file's first ones."""
        found = [(row["t"], row["temp_c"]) for row in series]
        for number, row in enumerate(found):
            if number >= len(self.rows) or row != self.rows[number]:
                raise Difference(f"row {number} {when}: {row}")
        return found

    # Questions --------------------------------------------------------------

    def _ask(self, chip: Simulator, series: Series) -> None:
        rows = self.rows
        middle = rows[len(rows) // 3][0]
        between = rows[len(rows) * 3 // 4][0] + 17 * 60_000
        week = (middle, middle + 7 * DAY_MS)
        self.week = week
        values = sorted(value for _, value in rows)
        self.high = round(values[int(QUANTILE * len(values))], 2)
        first = bisect_left(rows, week[0], key=lambda r: r[0])
        last = bisect_right(rows, week[1], key=lambda r: r[0])
        floor = bisect_right(rows, between, key=lambda r: r[0]) - 1
        high = [row for row in rows if row[1] >= self.high]
        stamp = instant(middle, "ms")
        asked: list[tuple[str, Any, list[Row]]] = [
            (f"at {stamp}", lambda: [series.get(middle)], [rows[first]]),
            (
                f"at or before {instant(between, 'ms')}",
                lambda: [series.floor(between)],
                [rows[floor]],
            ),
            (
                "the 7 days from then",
                lambda: series.scan(*week),
                rows[first:last],
            ),
            (
                f"temp_c >= {self.high} (top {1 - QUANTILE:.1%})",
                lambda: series.scan(where={"temp_c": (self.high, None)}),
                high,
            ),
            ("every row", lambda: series.scan(), rows),
        ]
        for text, answer, expected in asked:
            before = chip.counters
            found = [
                (row["t"], row["temp_c"]) for row in answer() if row is not None
            ]
            cost = chip.counters - before
            if found != expected:
                raise Difference(
                    f"{text}: {len(found)} rows, {len(expected)} expected"
                )
            self.story.questions.append(Question(text, found, cost))

    def _show_questions(self, volume: Volume, series: Series) -> None:
        self.out.print("\n[bold]Questions")
        table = sheet(
            "question",
            "rows",
            "page reads",
            "time",
            "answer",
            right=("rows", "page reads", "time"),
        )
        for question in self.story.questions:
            values = [value for _, value in question.rows]
            answer = f"{values[0]:.2f} degC"
            if len(values) > 1:
                answer = f"{min(values):.2f} to {max(values):.2f} degC"
            table.add_row(
                question.text,
                f"{len(question.rows):,}",
                f"{question.cost.reads:,}",
                duration(question.cost.time_ns),
                answer,
            )
        self.out.print(table)
        facts = grid()
        facts.add_row(
            "RAM",
            f"{series.arena_bytes + volume.struct_bytes:,} B: table and page "
            f"frames {series.arena_bytes:,}, volume {volume.struct_bytes:,} "
            "(64-bit host)",
        )
        stats = series.stats()
        facts.add_row(
            "storage",
            f"{stats.pages:,} data pages, "
            f"{stats.pages * volume.geometry.page_bytes / len(self.rows):.2f} B "
            f"a {series.table.row_bytes}-byte row",
        )
        self.out.print(facts)

    def _show_chip(self, chip: Simulator) -> None:
        counters = chip.counters
        violations = chip.violations
        if violations:
            raise Difference(f"the device contract was broken: {violations[0]}")
        facts = grid()
        facts.add_row(
            "chip in all",
            f"{counters.reads:,} reads, {counters.programs:,} programs, "
            f"{counters.erases:,} erases, {duration(counters.time_ns)} "
            "simulated",
        )
        self.out.print(facts)

    # Picture and SQL --------------------------------------------------------

    def _show_picture(self) -> None:
        from eskerdb.plot import Picture, save

        high = next(
            q for q in self.story.questions if q.text.startswith("temp_c")
        )
        cut = self.rows[self.story.survived]
        svg = self.folder / f"{TABLE}.svg"
        png = svg.with_suffix(".png")
        save(
            Picture(
                title="Sea surface temperature, NERACOOS buoy B01",
                label="temp_c, degC",
                times_ms=[t for t, _ in self.rows],
                values=[value for _, value in self.rows],
                found=high.rows,
                found_label=f"temp_c >= {self.high}: {len(high.rows)} rows, "
                f"{high.cost.reads} page reads",
                span_ms=self.week,
                span_label="the 7 days asked for",
                cut_ms=cut[0],
                cut_label=f"power cut after {self.story.survived:,} rows",
            ),
            svg,
            png,
        )
        facts = grid("\nFiles")
        facts.add_row("image", str(self.image))
        facts.add_row("after the cut", str(self.cut_image))
        facts.add_row("picture", f"{svg}, {png.name}")
        self.out.print(facts)

    def _show_sql(self) -> None:
        self.out.print("\n[bold]SQL[/], to be pasted into a shell\n")
        # Whole lines, as they are: a wrapped one would be another command.
        self.out.print(
            f'{command()} query {shlex.quote(str(self.image))} "{SQL}"',
            style="cyan",
            markup=False,
            soft_wrap=True,
        )
        with (
            eskerdb.open(self.image) as volume,
            Database(volume) as database,
        ):
            print_table(self.out, database.execute(SQL), 0)
            reads = database.page_reads
            total = database.execute(f"SELECT count(*) FROM {TABLE}")
            count = total.fetchone()
        if count != (len(self.rows),):
            raise Difference(f"SQL counts {count} rows")
        self.out.print(
            f"{reads:,} page reads: the key index uses the bound on t"
        )
