# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""A tree against a dict, under cuts and remounts, over every store.

Invariants:

  1. What the table shows is the dict, in key order, whatever is asked.
  2. A change whose call returned survives any cut. Of the call that was cut a
     prefix of its rows is there; of a batch all or nothing.
     With a write cache what a sync acknowledged survives, and of the later
     changes a prefix.
  3. A call that is refused changes nothing but the rows before the refusal.
  4. A reader shows one state of the tree, whole, until it is renewed, or says
     that it is stale; in place the tree as it is.

The draws repeat themselves; ESK_SEED=n draws others. A failure prints the
steps, and the chip's own line (geometry, seed, operation).
"""

from collections.abc import Callable

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from conftest import NAND, NOR, SD
from eskerdb import (
    Closed,
    Column,
    DeviceError,
    Exists,
    Full,
    NotFound,
    Simulator,
    Stale,
    Volume,
)
from model import ChipModel, run

MEDIA = {"nor": NOR, "nand": NAND, "sd": SD}
WHOLE = ["before", "after"]
TORN = [*WHOLE, "prefix", "subset", "all_but_one", "drawn"]
# Store, medium, and what a cut may do to the page being written.
PLACES = [
    ("inplace", "sd", WHOLE),
    ("journaled", "sd", TORN),
    *((store, medium, TORN)
      for store in ("wandering", "mu", "tnc") for medium in MEDIA),
]  # fmt: skip
KEYS = {
    "i32": lambda number: number - 200,
    "u64": lambda number: number << 40,
    "f64": lambda number: (number - 200) / 4,
    "bytes": lambda number: number.to_bytes(2, "big") * 5,
}
NUMBERS = 400

numbers = st.integers(0, NUMBERS - 1)
values = st.integers(0, 65535)
puts = st.lists(st.tuples(numbers, values), min_size=1, max_size=40)


class Abandon(Exception):
    """Raised in a batch that must not take effect."""


class TreeModel(ChipModel):
    """One chip, one table, one dict of numbers to values, one reader.

    rows    what the table shows
    since   what a cut may leave, oldest first; `rows` last
    shown   what the reader may show
    """

    @initialize(
        place=st.sampled_from(PLACES),
        key=st.sampled_from(sorted(KEYS)),
        chance=st.integers(0, 2**32 - 1),
        k_percent=st.sampled_from([30, 50, 70]),
        frames=st.sampled_from([0, 3, 9]),
        lru_n=st.booleans(),
        merge=st.booleans(),
        blocks=st.sampled_from([0, 12]),
        pad=st.sampled_from([1, 20]),
        cached=st.booleans(),
        reader_frames=st.integers(0, 4),
    )
    def make(
        self, place, key, chance, k_percent, frames, lru_n, merge, blocks, pad,
        cached, reader_frames,
    ):  # fmt: skip
        store, medium, self.modes = place
        self.rows: dict[int, int] = {}
        self.since = [self.rows]
        self.key = KEYS[key]
        self.numbers = {self.key(number): number for number in range(NUMBERS)}
        self.pad = bytes(pad)
        self.reader_frames = reader_frames
        mu, tnc = store == "mu", store == "tnc"
        self.moving = mu or tnc or store == "wandering"
        most = max(frames, 2) - 1 - mu
        writes = self.moving and not tnc and cached and most > 0
        self.cached = writes or tnc
        self.options = {
            "frames": 4 * frames if tnc else frames,
            "lru_n": mu and lru_n,
            "merge": merge,
            "write_frames": most if writes else None,
        }
        self.chip = Simulator(geometry=MEDIA[medium], seed=chance)
        self.volume = Volume.format(self.chip)
        self.volume.create_tree(
            "map",
            [
                Column("v", "u16"),
                Column("k", key, bytes=10 if key == "bytes" else 0),
                Column("pad", "bytes", bytes=pad),
            ],
            key="k",
            store=store,
            k_percent=k_percent if mu else 0,
            blocks=0 if tnc else blocks,
        )
        self.table = self.open_table(self.volume)
        self._open_reader()

    def open_table(self, volume):
        return volume.open_tree("map", **self.options)

    def read_table(self):
        return self._read()

    def row(self, number: int, value: int) -> tuple:
        return value, self.key(number), self.pad

    # Changes ----------------------------------------------------------------

    @rule(changes=puts)
    def put_many(self, changes):
        rows = [self.row(*change) for change in changes]
        self._try(lambda: self.table.put_many(rows), self._after(changes))

    @rule(start=numbers, step=st.sampled_from([-7, -1, 1, 3]), value=values)
    def put_a_run(self, start, step, value):
        """Many rows in rising or falling order: splits at either end."""
        at = range(start, NUMBERS if step > 0 else -1, step)
        changes = [(number, (value + number) % 65536) for number in at]
        rows = [self.row(*change) for change in changes]
        self._try(lambda: self.table.put_many(rows), self._after(changes))

    @rule(number=numbers, value=values)
    def insert(self, number, value):
        row = self.row(number, value)
        if number in self.rows:
            self._refused(Exists, lambda: self.table.insert(row))
        else:
            states = self._after([(number, value)])
            self._try(lambda: self.table.insert(row), states)

    @rule(number=numbers, value=values)
    def update(self, number, value):
        row = self.row(number, value)
        if number in self.rows:
            states = self._after([(number, value)])
            self._try(lambda: self.table.update(row), states)
        else:
            self._refused(NotFound, lambda: self.table.update(row))

    @rule(number=numbers, count=st.integers(1, 120))
    def delete(self, number, count):
        for gone in range(number, min(number + count, NUMBERS)):
            without = {n: v for n, v in self.rows.items() if n != gone}
            states = [self.rows, without]
            self._try(lambda key=gone: self.table.delete(self.key(key)), states)

    @rule(changes=puts, gone=st.lists(numbers, max_size=5), keep=st.booleans())
    def batch(self, changes, gone, keep):
        after = {**self.rows, **dict(changes)}
        for number in gone:
            after.pop(number, None)

        def change():
            with self.table.batch():
                for number, value in changes:
                    self.table.put(self.row(number, value))
                for number in gone:
                    self.table.delete(self.key(number))
                assert self._read() == self._wanted(after)
                self.the_reader_shows_one_state()
                with self.table.reader() as reader:
                    assert self._read(table=reader) == self._wanted(self.rows)
                if not keep:
                    raise Abandon

        try:
            self._try(change, [self.rows, after])
        except Abandon:
            self._after_cut([self.rows])

    @rule()
    def sync(self):
        self._try(self.table.sync, [self.rows])
        self.since = [self.rows]

    @rule(budget=st.integers(1, 4))
    def step(self, budget):
        self._try(lambda: self.volume.step(budget), [self.rows])

    @rule(ahead=st.integers(0, 25), mode=st.integers(0, len(TORN) - 1))
    def cut(self, ahead, mode):
        mode = self.modes[mode % len(self.modes)]
        self.chip.cut_at(self.chip.ops + ahead, mode)

    @rule(sync=st.booleans())
    def remount(self, sync):
        try:
            self.table.close(sync=sync)
        except DeviceError:
            assert not self.chip.is_on, "a close failed with the power on"
        self.close()
        self._mount([self.rows] if self.chip.is_on else self.since)

    def _after(self, changes) -> list[dict[int, int]]:
        """The dict before, and after each change."""
        states = [self.rows]
        for number, value in changes:
            states.append({**states[-1], number: value})
        return states

    def _refused(self, refusal: type[Exception], change: Callable):
        """Makes a change that is refused, but may write what waits."""

        def change_refused():
            with pytest.raises(refusal):
                change()

        self._try(change_refused, [self.rows])

    def _try(self, change: Callable[[], object], states: list[dict]):
        """Makes a change, and finds out what a refusal or cut left of it.

        states   what the table may hold: at first, after each row, at last
        """
        possible = states[-1:]
        try:
            change()
        except Full as refused:
            states = states[: refused.appended + 1]
            possible = states[-1:]
        except DeviceError as failure:
            assert not self.chip.is_on, "a call failed with the power on"
            possible = states[failure.appended :]
        self._after_cut(possible, states)

    def _after_cut(self, possible: list[dict], states: list[dict] = ()):
        """Mounts again when the power is off.

        states   what was put into the write cache, if there is one
        """
        if self.cached:
            self.since = [*self.since, *states]
        if self.chip.is_on:
            (self.rows,) = possible
            if not self.cached:
                self.since = possible
            return
        self.close()
        self.chip.power_on()
        self._mount(self.since if self.cached else possible)

    def _mount(self, possible: list[dict]):
        """Mounts and sees what is left."""
        found = self.mount()
        self.rows = self._one_of(possible, found)
        self.since = [self.rows]
        with pytest.raises(Closed):
            self.reader.first()
        self._open_reader()

    def _one_of(self, possible: list[dict], found: list[tuple]) -> dict:
        """Returns the newest state that is what was found."""
        rows = {self.numbers[key]: value for value, key, _ in found}
        assert rows in possible, "rows lost, invented, or a batch in part"
        assert self._wanted(rows) == found
        return rows

    def _open_reader(self):
        self.reader = self.table.reader(frames=self.reader_frames)
        self.shown = self.since

    # Questions --------------------------------------------------------------

    def _read(self, *bounds, table=None, **options) -> list[tuple]:
        scan = (table or self.table).scan(*bounds, **options)
        return [tuple(row.values()) for row in scan]

    def _wanted(self, rows: dict[int, int]) -> list[tuple]:
        return [self.row(*item) for item in sorted(rows.items())]

    @invariant()
    def the_reader_shows_one_state(self):
        """Which one is learned by reading it, where several may be."""
        if not self.moving:
            self.shown = [self.rows]
        try:
            found = self._read(table=self.reader)
        except Stale:
            assert self.moving, "stale where nodes stay"
            return
        self.shown = [self._one_of(self.shown, found)]
        assert len(self.reader) == len(found)

    @rule()
    def renew(self):
        self._try(self.reader.renew, [self.rows])
        self.shown = self.since
        wanted = self._one_of(self.shown, self._read(table=self.reader))
        assert self.reader.check().rows == len(wanted)

    @rule(number=numbers)
    def ask_the_reader(self, number):
        (shown, *others) = self.shown
        if others:  # it was stale since it was renewed
            return
        try:
            found = self.reader.get(self.key(number))
            assert (found and found["v"]) == shown.get(number)
            down = self._read(table=self.reader, backward=True)
            assert down == self._wanted(shown)[::-1]
        except Stale:
            assert self.moving, "stale where nodes stay"

    @rule()
    def read_all(self):
        wanted = self._wanted(self.rows)
        assert self._read() == wanted
        assert self._read(backward=True) == wanted[::-1]
        assert self.table.count() == len(wanted)
        table = self.table.scan(batch_rows=7).arrow()
        assert table["v"].to_pylist() == [row[0] for row in wanted]

    @rule(number=numbers)
    def look_up(self, number):
        key = self.key(number)
        below = [n for n in self.rows if n <= number]
        above = [n for n in self.rows if n >= number]
        for found, at in (
            (self.table.get(key), number if number in self.rows else None),
            (self.table.floor(key), max(below, default=None)),
            (self.table.ceiling(key), min(above, default=None)),
            (self.table.first(), min(self.rows, default=None)),
            (self.table.last(), max(self.rows, default=None)),
        ):
            wanted = None if at is None else self.row(at, self.rows[at])
            assert (found and tuple(found.values())) == wanted

    @rule(low=st.none() | numbers, high=st.none() | numbers, down=st.booleans())
    def ask(self, low, high, down):
        wanted = [
            self.row(number, value)
            for number, value in sorted(self.rows.items(), reverse=down)
            if (low is None or number >= low)
            and (high is None or number <= high)
        ]
        bounds = (None if b is None else self.key(b) for b in (low, high))
        assert self._read(*bounds, backward=down) == wanted

    @rule()
    def check(self):
        if self.cached:  # they write
            self._try(self.table.sync, [self.rows])
            self.since = [self.rows]
        report, shape = self.table.check(), self.table.shape()
        assert report.ok, report
        assert report.rows == len(self.rows)
        assert report.nodes == len(shape.nodes)
        assert sum(n.count for n in shape.level(1)) == len(self.rows)
        assert shape.pages_live <= shape.pages_written <= shape.pages


@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")
def test_a_tree_is_the_dict_of_its_rows(is_deep):
    run(TreeModel, examples=150, steps=30, is_deep=is_deep)
