# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""A series against a plain list, under cuts, failures and remounts.

The list holds every row that was accepted. Invariants:

  1. What the table shows is list[first:]; `first` only moves for rows that
     erase_before or a full ring dropped.
  2. After a cut or an unsynced unmount it is list[first:last], and `last` is
     not before the last sync: every synced row, then a prefix in order.
  3. Rows read back after a mount are on the medium: they count as synced.
  4. Every query gives what a filter over the list gives, both ways.
  5. A row's variable value is the one it was given, or, once the ring of
     values dropped its pages, none: then no older value is there either.

The draws repeat themselves; ESK_SEED=n draws others. A failure prints the
steps, and the chip's own line (geometry, seed, operation).
"""

import struct
from bisect import bisect_left

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    initialize,
    invariant,
    precondition,
    rule,
)

from conftest import NAND, NOR, SD
from eskerdb import (
    Column,
    Corrupt,
    DeviceError,
    Failure,
    Full,
    Geometry,
    Index,
    Simulator,
    Volume,
)
from model import ChipModel, run

TINY = Geometry(block_count=96, block_pages=4, page_bytes=128)
EEPROM = Geometry(
    block_count=40,
    block_pages=8,
    page_bytes=256,
    program_bytes=8,
    programs_per_page_max=4,
    erased_value=0,
)
MEDIA = {"nor": NOR, "nand": NAND, "sd": SD, "tiny": TINY, "eeprom": EEPROM}
MODES = ["before", "after", "prefix", "subset", "all_but_one", "drawn"]
COLUMNS = (Column("k", "i32"), Column("v", "i16"), Column("f", "f32"))
NOTE = Column("note", "var")
PACKED = struct.Struct("<ihf")
FIRST_KEY = -5000

Row = tuple[int, int, float]


def note_of(row: Row) -> bytes:
    """The variable value that goes with a row: none, short, or long."""
    size = (0, 3, 20, 40, 700)[row[1] % 5]
    return (b"%d." % row[0] * size)[:size]


def f32(value: float) -> float:
    return struct.unpack("<f", struct.pack("<f", value))[0]


gaps = st.integers(1, 50)
bound = st.none() | st.floats(0, 1)
values = st.tuples(st.integers(-300, 300), st.integers(-4000, 4000))


class SeriesModel(ChipModel):
    """One chip, one table, one list."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Row] = []
        self.first = 0  # of the rows shown
        self.faults = 0  # programs that will fail
        self.erased = 0  # rows that erase_before dropped for sure
        self.synced = 0  # rows that have to survive
        self.attempted: Row | None = None
        self.erasing: int | None = None
        self.key_above = FIRST_KEY  # keys below an erased one are refused

    @initialize(
        medium=st.sampled_from(sorted(MEDIA)),
        chance=st.integers(0, 2**32 - 1),
        bad_blocks=st.integers(0, 2),
        indexes=st.sampled_from(
            [(), ("v",), (Index("f", 8), Index("v", 0)), (Index("v", 64),)]
        ),
        full=st.sampled_from(["drop_oldest", "refuse"]),
        data_blocks=st.sampled_from([0, 6, 12]),
        checksum=st.sampled_from(["crc32c", "crc16"]),
        key_index_bytes=st.sampled_from([0, 48, 128]),
        notes=st.booleans(),
        codec=st.sampled_from(["raw", "packed"]),
    )
    def make(
        self, medium, chance, bad_blocks, indexes, full, data_blocks,
        checksum, key_index_bytes, notes, codec,
    ):  # fmt: skip
        self.options = {"key_index_bytes": key_index_bytes}
        self.full = full
        self.notes = notes
        bad_blocks = bad_blocks if medium == "nand" else 0
        self.chip = Simulator(
            geometry=MEDIA[medium], seed=chance, bad_blocks=bad_blocks
        )
        self.volume = Volume.format(self.chip, checksum=checksum)
        self.volume.create(
            "log",
            (*COLUMNS, NOTE) if notes else COLUMNS,
            indexes=indexes,
            full=full,
            data_blocks=data_blocks,
            codec=codec,
        )
        self.table = self.open_table(self.volume)

    def open_table(self, volume):
        return volume.open("log", **self.options)

    def read_table(self):
        return self._read()

    @property
    def crowded(self) -> bool:
        """Whether a new bad block may leave no room for accepted values: a
        full ring of values that refuses new rows has no block left."""
        return self.notes and self.full == "refuse"

    # Changes ----------------------------------------------------------------

    @rule(
        gap=st.lists(gaps, min_size=1, max_size=4),
        value=st.lists(values, min_size=1, max_size=6),
        count=st.integers(1, 150),
    )
    def append(self, gap, value, count):
        key = max(self.key_above, self.rows[-1][0] if self.rows else FIRST_KEY)
        batch = []
        for i in range(count):
            key += gap[i % len(gap)]
            v, f = value[i % len(value)]
            batch.append((key, v + i % 3, f32((f + i) / 7)))
        self.attempted = None
        try:
            if self.notes:
                self.table.append_many([(*r, note_of(r)) for r in batch])
            else:
                packed = (PACKED.pack(*row) for row in batch)
                self.table.append_many(b"".join(packed))
            self.rows += batch
        except Full as refused:
            assert self.full == "refuse"
            self.rows += batch[: refused.appended]
        except DeviceError as failure:
            self.rows += batch[: failure.appended]
            self.attempted = batch[failure.appended]
        self._after_cut()
        self._see_dropped()

    @rule()
    def sync(self):
        self._try(
            self.table.sync, lambda: setattr(self, "synced", len(self.rows))
        )
        self._see_dropped()  # a page that was full made room for itself

    @rule(budget=st.integers(1, 4))
    def step(self, budget):
        self._try(lambda: self.volume.step(budget))
        self._see_dropped()

    @rule(part=st.floats(0, 1.1))
    def erase_before(self, part):
        key = self._key(part)
        at = bisect_left(self.rows, key, key=lambda row: row[0])
        self.erasing = at
        self.key_above = max(self.key_above, key)

        def done():
            self.first = max(self.first, at)
            self.erased = max(self.erased, at)

        self._try(lambda: self.table.erase_before(key), done)
        self.erasing = None

    @rule(ahead=st.integers(0, 12), mode=st.sampled_from(MODES))
    def cut(self, ahead, mode):
        self.chip.cut_at(self.chip.ops + ahead, mode)

    @precondition(lambda self: self.faults < 2 and not self.crowded)
    @rule(ahead=st.integers(0, 20))
    def fail_a_program(self, ahead):
        self.faults += 1
        self.chip.fail(program=Failure(burst_start=ahead, burst_length=1))

    @rule(sync=st.booleans())
    def remount(self, sync):
        if sync:
            self.sync()
        self.close()
        self._mount()

    def _try(self, change, done=lambda: None):
        """Makes a change, and finds out what a cut made of it."""
        try:
            change()
        except DeviceError:
            pass
        else:
            done()
        self._after_cut()

    def _after_cut(self):
        """Mounts again when the power is off. A call may be done all the
        same: its own work was durable before the cut hit something else."""
        if self.chip.is_on:
            return
        self.close()
        self.chip.power_on()
        self._mount()

    def _mount(self):
        """Mounts and checks what is left."""
        found = self.mount()
        known = self.rows + ([self.attempted] if self.attempted else [])
        self.attempted = None
        first = self._place(found, known)
        last = first + len(found)
        assert found == known[first:last], "rows lost, changed or invented"
        assert last >= self.synced, f"{self.synced - last} synced rows lost"
        assert first >= self.erased, "erased rows are back"
        self.rows = known[:last]
        self.synced = last
        self._check_dropped(first)

    def _place(self, found: list[Row], known: list[Row]) -> int:
        """Where in the list what was found starts."""
        if found:
            return bisect_left(known, found[0][0], key=lambda row: row[0])
        # An empty table: everything before the sync was erased.
        return max(self.synced, self.erased)

    def _see_dropped(self):
        oldest = self.table.oldest()
        first = len(self.rows)
        if oldest is not None:
            first = bisect_left(self.rows, oldest["k"], key=lambda row: row[0])
        self._check_dropped(first)

    def _check_dropped(self, first: int):
        """Rows go for erase_before, or because the ring was full."""
        allowed = self.full == "drop_oldest" or self.erasing is not None
        if not allowed:
            assert first <= max(self.first, self.erased), "rows were dropped"
        self.first = max(self.first, min(first, len(self.rows)))

    # Questions --------------------------------------------------------------

    def _read(self, **query) -> list[Row]:
        found = [tuple(row.values()) for row in self.table.scan(**query)]
        if not self.notes:
            return found
        gone = [row[3] is None for row in found if note_of(row[:3])]
        if query.get("backward"):
            gone.reverse()
        assert not any(gone) or self.full == "drop_oldest"
        assert gone == sorted(gone, reverse=True), "a newer value is gone"
        for row in found:
            assert row[3] in (None, note_of(row[:3])), "another value"
        return [row[:3] for row in found]

    def _key(self, part: float) -> int:
        """A key in `part` of the list's range, there or not."""
        low = FIRST_KEY
        high = self.rows[-1][0] + 2 if self.rows else low + 100
        return low + round(part * (high - low))

    @property
    def shown(self) -> list[Row]:
        return self.rows[self.first :]

    @invariant()
    @precondition(lambda self: hasattr(self, "chip"))
    def shows_the_list(self):
        newest = self._fixed(self.table.newest())
        assert newest == (self.shown[-1] if self.shown else None)

    @rule()
    def read_all(self):
        assert self._read() == self.shown
        assert self._read(backward=True) == self.shown[::-1]
        assert self.table.count() == len(self.shown)

    @rule(part=st.floats(-0.1, 1.1))
    def look_up(self, part):
        key = self._key(part)
        at = bisect_left(self.shown, key, key=lambda row: row[0])
        there = at < len(self.shown) and self.shown[at][0] == key
        ceiling = self.shown[at] if at < len(self.shown) else None
        floor = ceiling if there else (self.shown[at - 1] if at else None)
        assert self._fixed(self.table.ceiling(key)) == ceiling
        try:
            get = self._fixed(self.table.get(key))
            assert get == (ceiling if there else None)
            assert self._fixed(self.table.floor(key)) == floor
        except Corrupt:
            # The page of this row may be one that is not valid.
            assert at == 0 and not there and self.first > 0

    @staticmethod
    def _fixed(row: dict | None) -> Row | None:
        return row and (row["k"], row["v"], row["f"])

    @rule(
        low=bound,
        high=bound,
        v=st.none() | st.tuples(st.integers(-310, 310), st.integers(0, 90)),
        f=st.none() | st.tuples(st.floats(-600, 600), st.floats(0, 100)),
        backward=st.booleans(),
    )
    def ask(self, low, high, v, f, backward):
        key_min = None if low is None else self._key(low)
        key_max = None if high is None else self._key(high)
        where = {}
        if v is not None:
            where["v"] = (v[0], v[0] + v[1])
        if f is not None:
            where["f"] = (f[0], f[0] + f[1])
        wanted = [
            row
            for row in self.shown
            if (key_min is None or row[0] >= key_min)
            and (key_max is None or row[0] <= key_max)
            and ("v" not in where or where["v"][0] <= row[1] <= where["v"][1])
            and ("f" not in where or where["f"][0] <= row[2] <= where["f"][1])
        ]
        if backward:
            wanted.reverse()
        query = {"where": where, "backward": backward}
        assert self._read(key_min=key_min, key_max=key_max, **query) == wanted

    @rule()
    def check(self):
        report = self.table.check()
        assert report.rows >= len(self.shown)
        assert report.rows_missing == 0
        assert report.pages_damaged == 0
        assert report.index_wrong == 0


@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")
def test_a_series_is_the_list_of_its_rows(is_deep):
    run(SeriesModel, examples=400, steps=40, is_deep=is_deep)
