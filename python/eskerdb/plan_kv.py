# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What a kv table will cost, before it is made.

The log is a ring that is emptied in the order in which it was written: when
the collector comes to a block, a record of it is moved if its key was not
changed since. So the share that is moved follows from how many updates a block
has, and the updates of a block from what is moved: the plan solves that for
the mean, then lays the records of some blocks out in pages, as the core does,
and counts. Room, RAM and index are the core's own answers (kv_plan.c).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, expm1, lgamma, log, log1p
from typing import Any

from eskerdb._esker import ffi, lib
from eskerdb.device import Geometry
from eskerdb.errors import check, unsigned

Rates = Sequence[tuple[int, float]]
"""Keys, and the share of the updates that each of them gets."""

KEY_BYTES_MAX = 253
LIVE_DEFAULT, LIVE_MAX = 75, 95
_ENVELOPE_BYTES, _OPENING_BYTES, _SEAL_BYTES = 16, 8, 8
_HEAD_BYTES, _LONG_BYTES, _LONG_VALUE = 3, 4, 2047
_TAIL_BYTES = 19
_REST_MIN = 24  # of a sealed page: less is not used
_EARLY_BLOCKS, _EARLY_PAGES = 8, 4  # of the collector
_LEAVES_A_STEP = 8
_DUE = 0.75  # of the pending table: then steps are made
_LEAF_BYTES = _ENVELOPE_BYTES + 10  # without entries
_NODES_BYTES = 2 * _ENVELOPE_BYTES + 93  # inner node, root
_SEGMENT = 1 + 1 / 32  # of a round: a sixteenth, begun
_LOOKUP = 2.5  # page reads
_SAMPLE_RECORDS = 3000  # that are laid out


@dataclass(frozen=True)
class KvPlan:
    """What follows from a need. An update is a put of a key that is there.

    record_bytes  of a key and its value in the log
    live_percent  as the table is made with
    live_bytes    of all newest records; live_most: what they may take
    blocks        of the log; index_blocks: beside them
    ram_keys      keys in RAM, as in open_kv(); arena_bytes: RAM of an open
                  table, on this processor
    bytes         programmed an update; erases: of blocks
    programs      program calls an update; programs_most: of one update
    open_reads    page reads of an open, about
    get_reads     page reads of a get, mean
    life_years    until the most worn block is; None: not asked for
    """

    record_bytes: int
    live_percent: int
    live_bytes: int
    live_most: int
    blocks: int
    index_blocks: int
    ram_keys: int
    arena_bytes: int
    bytes: float
    erases: float
    programs: float
    programs_most: int
    open_reads: float
    get_reads: float
    life_years: float | None


def uniform(keys: int) -> Rates:
    """Every key is changed as often."""
    return ((keys, 1 / keys),)


def hot(keys: int, few: int = 4) -> Rates:
    """Only `few` keys are changed."""
    few = min(few, keys)
    return ((few, 1 / few), (keys - few, 0.0))


def kv_arena_bytes(
    geometry: Geometry, blocks: int, keys: int, *, is_bare: bool = False
) -> int:
    """Returns the RAM of an open table without an index, with room for `keys`
    keys, on this processor: what a firmware gives ESK_KV_ARENA_BYTES, or
    ESK_KV_BARE_ARENA_BYTES, for."""
    shape = ffi.new("struct esk_geometry *")
    geometry.fill(shape)
    return int(lib.esk_py_kv_arena_bytes(shape, blocks, keys, is_bare))


def plan_kv(
    keys: int,
    key_bytes: int,
    value_bytes: int,
    geometry: Geometry,
    *,
    blocks: int = 0,
    live_percent: int = 0,
    table_bytes: int = 0,
    replay_pages: int = 0,
    updates_a_sync: int = 1,
    rates: Rates = (),
    updates_a_day: int = 0,
    endurance: int = 0,
) -> KvPlan:
    """Returns the plan for a kv table of `keys` keys on pages of `geometry`.

    blocks        of the log; 0: the fewest that hold the keys
    live_percent  as in create_kv(); 0: 75
    table_bytes   of the pending table of a table with an index; 0: all keys
                  are in RAM
    replay_pages  as in open_kv()
    rates         how often which keys are changed; (): all alike

    Raises ValueError when a number is out of range, or the keys do not fit;
    NotFound when there can be no index.
    """
    if updates_a_sync < 1:
        raise ValueError(f"{updates_a_sync} updates a sync: take 1 or more")
    need = _need(
        keys,
        _record_bytes(keys, key_bytes, value_bytes),
        live_percent or LIVE_DEFAULT,
        geometry,
        table_bytes,
    )
    blocks = need.enough(blocks)
    ram_keys = need.ram_keys(blocks)
    core = need.ask(blocks, ram_keys)
    flow = _Flow(need, blocks, core, updates_a_sync)
    rates = rates or uniform(keys)
    flow.solve(rates)
    index = _Index(need, core, flow, ram_keys, replay_pages, rates)
    worn = max(
        flow.erases / blocks,
        index.erases / core.index_blocks if core.index_blocks else 0,
    )
    return KvPlan(
        record_bytes=need.record,
        live_percent=need.live_percent,
        live_bytes=keys * need.record,
        live_most=core.live_most,
        blocks=blocks,
        index_blocks=core.index_blocks,
        ram_keys=ram_keys,
        arena_bytes=core.arena_bytes,
        bytes=flow.bytes + index.bytes,
        erases=flow.erases + index.erases,
        programs=flow.programs + index.programs,
        programs_most=flow.most() + index.most(),
        open_reads=index.open_reads,
        get_reads=index.get_reads,
        life_years=endurance / (worn * updates_a_day * 365.25)
        if updates_a_day and endurance
        else None,
    )


def _record_bytes(keys: int, key_bytes: int, value_bytes: int) -> int:
    unsigned("keys", keys)
    if keys < 1 or not 0 < key_bytes <= KEY_BYTES_MAX or value_bytes < 0:
        raise ValueError(
            f"{keys:,} keys of {key_bytes} bytes, values of {value_bytes}: "
            f"take keys of 1 to {KEY_BYTES_MAX} bytes, and at least one"
        )
    long = _LONG_BYTES if value_bytes >= _LONG_VALUE else 0
    return _HEAD_BYTES + key_bytes + long + value_bytes


def _need(
    keys: int, record: int, live: int, geometry: Geometry, table_bytes: int
) -> _Need:
    room = geometry.page_bytes - _ENVELOPE_BYTES
    if not 0 < live <= LIVE_MAX:
        raise ValueError(f"live {live} %: take 1 to {LIVE_MAX}")
    if record > geometry.block_pages * room - _TAIL_BYTES - _SEAL_BYTES:
        raise ValueError(
            f"records of {record:,} bytes in blocks of "
            f"{geometry.block_bytes:,}: a record has to fit in a block"
        )
    return _Need(keys, record, live, geometry, table_bytes)


@dataclass(frozen=True)
class _Need:
    """What is asked for; the core's answers to it."""

    keys: int
    record: int
    live_percent: int
    geometry: Geometry
    table_bytes: int

    def ask(self, blocks: int, ram_keys: int) -> Any:
        shape = ffi.new("struct esk_geometry *")
        self.geometry.fill(shape)
        out = ffi.new("struct esk_py_kv_plan *")
        status = lib.esk_py_kv_plan(
            shape,
            blocks,
            self.live_percent,
            ram_keys,
            self.keys if self.table_bytes else 0,
            self.record,
            out,
        )
        check(
            status,
            f"plan: an index of {self.keys:,} keys on pages of "
            f"{self.geometry.page_bytes}",
            "use larger pages, fewer keys, or all keys in RAM",
        )
        return out

    def enough(self, blocks: int) -> int:
        """`blocks` if they hold the keys; 0: the fewest that do."""
        least = self.fewest()
        if 0 < blocks < least:
            raise ValueError(
                f"{blocks:,} blocks: {self.keys:,} records of "
                f"{self.record:,} bytes, {self.live_percent} % live, need "
                f"{least:,}"
            )
        return blocks or least

    def fewest(self) -> int:
        """The fewest blocks of a log that holds the keys."""
        most = 0xFFFFFFFF // self.geometry.block_bytes
        low, high = lib.ESK_KV_BLOCKS_MIN - 1, lib.ESK_KV_BLOCKS_MIN
        while high < most and not self._holds(high):
            low, high = high, min(2 * high, most)
        if high > most or not self._holds(high):
            raise ValueError(
                f"{self.keys:,} records of {self.record:,} bytes: a log has "
                "at most 4 GB"
            )
        while high - low > 1:
            middle = (low + high) // 2
            if self._holds(middle):
                high = middle
            else:
                low = middle
        return high

    def _holds(self, blocks: int) -> bool:
        return self.keys * self.record <= self.ask(blocks, 1).live_most

    def ram_keys(self, blocks: int) -> int:
        """Keys in RAM: all, or those that the pending table has room for."""
        if self.table_bytes == 0:
            return self.keys
        core = self.ask(blocks, 1)
        keys = int((self.table_bytes // core.slot_bytes - 1) * 8 // 9)
        if keys < (1 if core.seals else self.geometry.page_bytes // 4):
            raise ValueError(
                f"a table of {self.table_bytes:,} bytes: too few for what a "
                "page has"
            )
        return keys


class _Pages:
    """Records laid out in pages, as kv_log.c does it; counts programs."""

    def __init__(self, geometry: Geometry, seals: bool) -> None:
        self.room = geometry.page_bytes - _ENVELOPE_BYTES
        self.unit = geometry.program_bytes
        self.block_pages = geometry.block_pages
        self.seals = seals
        self.used = self.sealed = 0
        self.page = self.blocks = 0
        self.programs = self.bytes = 0
        self.begun = self.split = 0  # records; those that take two pages

    def write(self, count: int) -> None:
        """Appends a record of so many bytes."""
        if 0 < self.used == self.sealed and self.used + _REST_MIN > self.room:
            self._close()
        if count > (self.block_pages - self.page) * self.room - self.used:
            if self.used:
                self._close()
            self._leave()
        first = self.blocks, self.page
        while count:
            if self.used == self.room:
                self._close()
            part = min(count, self.room - self.used)
            self.used += part
            count -= part
        self.begun += 1
        self.split += first != (self.blocks, self.page)

    def sync(self) -> None:
        end = self.used + _ENVELOPE_BYTES + self.unit
        end = end // self.unit * self.unit - _ENVELOPE_BYTES + _SEAL_BYTES
        if self.used == self.sealed:
            return
        if not self.seals or end > self.room:
            self._close()
            return
        if self.sealed == 0:
            self.bytes += _OPENING_BYTES
        self.bytes += end - self.sealed
        self.used = self.sealed = end
        self.programs += 1

    def _close(self) -> None:
        if self.sealed == 0:
            self.programs += 1
            self.bytes += self.room + _ENVELOPE_BYTES
        elif self.used > self.sealed:
            self.programs += 2  # the rest, and the page's closing part
            self.bytes += self.used - self.sealed + _OPENING_BYTES
        self.used = self.sealed = 0
        self.page += 1
        if self.page == self.block_pages:
            self._leave()

    def _leave(self) -> None:
        if self.page:
            self.page = 0
            self.blocks += 1


class _Flow:
    """What updates write to the log: `updates` and `moved` records a block."""

    def __init__(
        self, need: _Need, blocks: int, core: Any, updates_a_sync: int
    ) -> None:
        self.need, self.seals, self.every = need, core.seals, updates_a_sync
        self.blocks = blocks
        self.block_pages = need.geometry.block_pages
        room = need.geometry.page_bytes - _ENVELOPE_BYTES
        self.room = self.block_pages * room
        kept = need.keys * need.record + core.rests
        worth = (blocks - 3) * self.room - 2 * room > kept
        self.is_early = blocks >= _EARLY_BLOCKS and worth
        # The collector begins in the last page of the head's block.
        self.ahead = (room + need.record) / (need.record + 1 + _SEAL_BYTES)
        self.updates = self.moved = 0.0
        self.bytes = self.programs = self.erases = 0.0
        self.split = self.page_records = 0.0

    def solve(self, rates: Rates) -> None:
        """Finds the updates of a block, and counts what they cost."""
        few = _SAMPLE_RECORDS * self.need.record // self.room
        sample = max(4, min(64, few))
        low, high = 0.0, self.room / self.need.record
        for _ in range(14):
            middle = (low + high) / 2
            if self._lay(self.moves(rates, middle), sample)[0] > middle:
                low = middle
            else:
                high = middle
        self.moved = self.moves(rates, high)
        self.updates, pages = self._lay(self.moved, 4 * sample)
        count = max(self.updates * pages.blocks, 1)
        self.updates = max(self.updates, 1e-3)
        self.bytes = pages.bytes / count
        self.programs = pages.programs / count
        self.erases = 1 / self.updates
        self.split = pages.split / pages.begun
        self.page_records = pages.begun / (pages.blocks * self.block_pages)

    def moves(self, rates: Rates, updates: float) -> float:
        """Records of a block that are moved, if blocks have `updates`."""
        return sum(keys * self.move_rate(rate, updates) for keys, rate in rates)

    def move_rate(self, rate: float, updates: float) -> float:
        """How often a key's record is moved, a block. A copy stands at the
        beginning of its block, and the updates that follow come before its
        turn; those of the block come in its turn one by one."""
        lap = (self.blocks - (2 if self.is_early else 1)) * updates
        lap = max(lap - min(self.ahead - 0.5, updates), updates)
        if rate * lap < 1e-9:
            return updates / lap
        if rate >= 1:
            return 0.0
        each = log1p(-rate)
        younger = exp(each * (lap - updates))
        return younger * expm1(each * updates) / expm1(each * lap)

    def _lay(self, moved: float, blocks: int) -> tuple[float, _Pages]:
        """Lays out some blocks; returns the updates of one, and the pages."""
        pages = _Pages(self.need.geometry, self.seals)
        record = self.need.record
        calls = -(-self.block_pages // _EARLY_PAGES) if self.is_early else 1
        updates = 0
        due = 0.0
        for block in range(blocks):
            pages.write(_TAIL_BYTES)
            for _ in range(calls):
                due += moved / calls
                while due >= 1 and pages.blocks == block:
                    pages.write(record)
                    due -= 1
                if pages.blocks == block:
                    updates += self._update(pages, updates)
            while pages.blocks == block:
                updates += self._update(pages, updates)
        return updates / pages.blocks, pages

    def _update(self, pages: _Pages, before: int) -> int:
        pages.write(self.need.record)
        if (before + 1) % self.every == 0:
            pages.sync()
        return 1

    def taken(self) -> int:
        """Pages that an update moves at most: few of them, if that keeps up
        with updates; else blocks, until there is room for a record."""
        if self.is_early and self.updates >= self.block_pages / _EARLY_PAGES:
            return _EARLY_PAGES
        return self.block_pages * ceil(1 / self.updates)

    def most(self) -> int:
        """Program calls of an update: kv.h's bound of a put, and its sync. The
        page that was synced, the pages that are moved, the end of a block, and
        the record."""
        page = self.room // self.block_pages
        bytes = min(self.taken() * page, self.need.keys * self.need.record)
        moved = -(-bytes // page)
        closes = 2 if self.seals else 1
        return moved + 2 * closes + 2 + self.need.record // page


class _Index:
    """What an index adds: rounds of steps over its leaves, each as soon as the
    pending table is due, or the replay of an open gets too long."""

    def __init__(
        self,
        need: _Need,
        core: Any,
        flow: _Flow,
        ram_keys: int,
        replay_pages: int,
        rates: Rates,
    ) -> None:
        self.bytes = self.programs = self.erases = 0.0
        self._flow, self._need, self._ram_keys = flow, need, ram_keys
        self._steps = self._step_pages = 0
        log_pages = flow.blocks * flow.block_pages
        self.open_reads = float(log_pages)
        # The page that is filled, half, and the one that was read last.
        near = min(0.5, flow.page_records / need.keys)
        self.get_reads = (1 + flow.split) * (1 - near)
        if core.leaves == 0:
            return
        # How often a key comes into the pending table, an update.
        self._entries = [
            (keys, rate + flow.move_rate(rate, flow.updates) / flow.updates)
            for keys, rate in rates
        ]
        each = flow.block_pages / flow.updates  # pages of the log, an update
        pages = min(replay_pages or ram_keys - ram_keys // 4, log_pages)
        updates = self._round(pages / each)
        self._steps = -(-core.leaves // _LEAVES_A_STEP)
        second = _more(need.keys / core.leaves, core.leaf_entries)
        written = core.leaves * (1 + second) + 2 * self._steps
        self._step_pages = _LEAVES_A_STEP + 2 + round(_LEAVES_A_STEP * second)
        self.programs = written / updates
        # Of a page only what it has is programmed.
        inners = -(-core.leaves // core.inner_leaves)
        heads = core.leaves * _LEAF_BYTES + self._steps * _NODES_BYTES
        refs = core.inner_leaves * core.ref_bytes + inners * core.ref_bytes
        entries = need.keys * core.entry_bytes
        self.bytes = (heads + self._steps * refs + entries) / updates
        self.erases = self.programs / flow.block_pages
        # From the segment that is written next on; and what records behind
        # the last step replaced is looked up.
        lookups = updates / self._steps * (1 + flow.moved / flow.updates)
        self.open_reads = updates * each * _SEGMENT + lookups * _LOOKUP / 2
        # An inner node is in RAM.
        found = 1 - self._pending(updates) / need.keys
        self.get_reads += found * (2 - 1 / inners + second / 2)

    def _pending(self, updates: float) -> float:
        """Keys in the pending table, if a round takes so many updates: of each
        leaf those that came since it was written."""
        count = 0.0
        for keys, entries in self._entries:
            share = entries * updates
            count += keys * (1 + expm1(-share) / share if share > 1e-9 else 0)
        return count

    def _round(self, most: float) -> float:
        """Updates of a round, at most `most`."""
        low, high = 0.0, most
        if self._pending(most) <= _DUE * self._ram_keys:
            return most
        for _ in range(40):
            middle = (low + high) / 2
            if self._pending(middle) < _DUE * self._ram_keys:
                low = middle
            else:
                high = middle
        return high

    def most(self) -> int:
        """Programs of an update: a step, and one more each time the pending
        table is full of what is moved."""
        if self._steps == 0:
            return 0
        page = self._flow.room // self._flow.block_pages
        moved = self._flow.taken() * page // self._need.record + 1
        freed = max(1, self._ram_keys // self._steps)
        return (2 + moved // freed) * self._step_pages


def _more(mean: float, room: int) -> float:
    """How often a leaf with so many entries in the mean has more than `room`,
    as keys are spread by their hashes."""
    below = sum(
        exp(count * log(mean) - mean - lgamma(count + 1))
        for count in range(room + 1)
    )
    return max(0.0, 1 - below)
