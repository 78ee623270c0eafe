# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What `esker plan KEYS --store kv` prints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import typer

from eskerdb.cli.output import complain, console, sheet, size
from eskerdb.device import Geometry
from eskerdb.errors import EskerError
from eskerdb.plan_kv import LIVE_DEFAULT, KvPlan, Rates, hot, plan_kv

_LIVES = (LIVE_DEFAULT, 85, 95)  # that are priced where none is asked for
_HOT_KEYS = 4


@dataclass(frozen=True)
class KvNeed:
    """What is asked of a kv table; the fields are plan_kv()'s arguments."""

    keys: int
    key_bytes: int
    value_bytes: int
    geometry: Geometry
    blocks: int = 0
    live_percent: int = 0
    table_bytes: int = 0
    replay_pages: int = 0
    updates_a_sync: int = 1
    updates_a_day: int = 0
    endurance: int = 0

    def planned(self, live_percent: int = 0, rates: Rates = ()) -> KvPlan:
        return plan_kv(
            self.keys,
            self.key_bytes,
            self.value_bytes,
            self.geometry,
            blocks=self.blocks,
            live_percent=live_percent or self.live_percent,
            table_bytes=self.table_bytes,
            replay_pages=self.replay_pages,
            updates_a_sync=self.updates_a_sync,
            rates=rates,
            updates_a_day=self.updates_a_day,
            endurance=self.endurance,
        )


def print_kv(need: KvNeed) -> None:
    """Prints what a kv table costs: keys that are changed alike, and, where
    this costs more, four hot keys. Ends with status 1 when there is none."""
    try:
        plans = _plans(need)
        hots = [
            need.planned(made.live_percent, hot(need.keys, _HOT_KEYS))
            for made in plans
        ]
    except (EskerError, ValueError) as failure:
        complain(str(failure))
        raise typer.Exit(1) from None
    out = console()
    syncs = need.updates_a_sync
    out.print(
        f"{need.keys:,} keys of {need.key_bytes} bytes, values of "
        f"{need.value_bytes:,}; pages of {need.geometry.page_bytes:,} bytes, "
        f"{need.geometry.block_pages} a block; a sync "
        + ("an update" if syncs == 1 else f"every {syncs:,} updates")
    )
    table = sheet("", *(f"{made.live_percent} % live" for made in plans))
    block = need.geometry.block_bytes
    rows: list[tuple[str, list[str]]] = [
        ("blocks", _texts(plans, lambda p: _region(p.blocks, block))),
        ("newest records", _texts(plans, _live)),
        ("RAM: arena here", _texts(plans, lambda p: f"{p.arena_bytes:,} B")),
        ("keys in RAM", _texts(plans, lambda p: f"{p.ram_keys:,}")),
        *_costs("", plans),
        *_costs(f", {_HOT_KEYS} hot keys", hots),
        ("programs, at most", _texts(hots, lambda p: f"{p.programs_most:,}")),
        ("reads of an open", _texts(plans, lambda p: f"{p.open_reads:,.0f}")),
        ("reads of a get", _texts(plans, lambda p: f"{p.get_reads:.2f}")),
    ]
    if need.table_bytes:
        texts = _texts(plans, lambda p: _region(p.index_blocks, block))
        rows.insert(1, ("index, beside them", texts))
    if hots[0].life_years is not None:
        rows.append(("lasts at least", _texts(hots, years)))
    for label, texts in rows:
        table.add_row(label, *texts)
    out.print(table)
    out.print(
        "An update is a put of a key that is there; the others are of keys "
        "that are changed alike. At most: of a put and its sync, as "
        "include/esker/kv.h bounds them. An open reads about so many pages, "
        "with an index up to half of them more or less."
    )


def _plans(need: KvNeed) -> list[KvPlan]:
    """The plan; where no share of live bytes is asked for, those of more
    shares that need fewer blocks."""
    plans = [need.planned(need.live_percent or LIVE_DEFAULT)]
    if not need.live_percent and not need.blocks:
        for live in _LIVES[1:]:
            made = need.planned(live)
            if made.blocks < plans[-1].blocks:
                plans.append(made)
    return plans


def _costs(what: str, plans: list[KvPlan]) -> list[tuple[str, list[str]]]:
    return [
        (f"bytes an update{what}", _texts(plans, lambda p: f"{p.bytes:,.1f}")),
        (f"programs{what}", _texts(plans, lambda p: f"{p.programs:.2f}")),
        (
            f"erases a 1,000{what}",
            _texts(plans, lambda p: f"{1000 * p.erases:.1f}"),
        ),
    ]


def _texts(plans: list[KvPlan], text: Callable[[KvPlan], str]) -> list[str]:
    return [text(made) for made in plans]


def _region(blocks: int, block: int) -> str:
    return f"{blocks:,}: {size(blocks * block)}"


def _live(made: KvPlan) -> str:
    return f"{made.live_bytes:,} of {made.live_most:,} B"


def years(made: KvPlan) -> str:
    if made.life_years is None:
        return "-"
    if made.life_years >= 1000:
        return "over 1,000 years"
    return f"{made.life_years:,.1f} years"


def beside_trees(need: KvNeed) -> KvPlan | None:
    """Returns the plan of a kv table with all keys in RAM; None: the keys do
    not fit one."""
    try:
        return need.planned()
    except (EskerError, ValueError):
        return None
