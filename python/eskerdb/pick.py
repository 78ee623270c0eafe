# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Which store to pick for a table, and the figures that this rests on: those
of the plan, and those of docs/results/stores.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eskerdb.device import Geometry
    from eskerdb.plan import TreePlan
    from eskerdb.plan_kv import KvPlan

NOR = "NOR, pages of 256"
NAND = "NAND, pages of 2048"
SD = "SD card, pages of 512"
MEASURED_ROWS = 7400  # the most that a load has at a time
_RECORD_BYTES_MAX = 16  # a program unit that suits a record of its own


@dataclass(frozen=True)
class Measured:
    """The mean time of a change, least and most over the loads.

    medium, store, kilobytes  as docs/results/stores.md names them
    each      ms, a sync after every change
    together  ms, a sync after every 100
    """

    medium: str
    store: str
    kilobytes: int
    each: tuple[float, float]
    together: tuple[float, float]


# Two digits each; the tests compare them with docs/results/stores.json.
MEASURED = (
    Measured(NOR, "wandering", 16, (15, 16), (0.61, 4.3)),
    Measured(NOR, "tnc", 16, (7.5, 10), (0.33, 2.4)),
    Measured(NOR, "kv", 64, (1.1, 1.1), (0.3, 0.33)),
    Measured(NOR, "kv with index", 16, (1.4, 1.5), (0.59, 0.64)),
    Measured("NOR, pages of 1024", "mu", 16, (16, 16), (0.76, 8.1)),
    Measured(NAND, "wandering", 16, (0.67, 0.74), (0.015, 0.22)),
    Measured(NAND, "mu", 16, (0.39, 0.41), (0.0088, 0.19)),
    Measured(NAND, "tnc", 16, (0.32, 0.38), (0.0065, 0.072)),
    Measured(NAND, "kv", 64, (0.39, 0.4), (0.0065, 0.015)),
    Measured(SD, "inplace", 16, (6.8, 7.7), (6.8, 7.7)),
    Measured(SD, "wandering", 16, (20, 22), (0.59, 6.8)),
    Measured(SD, "tnc", 16, (7.7, 11), (0.44, 3.6)),
    Measured(SD, "kv", 64, (9.6, 10), (0.6, 0.97)),
)


def medium_of(geometry: Geometry) -> str:
    """Returns the medium of the measurements that is most like `geometry`."""
    if geometry.overwrite:
        return SD
    return NOR if geometry.program_bytes <= _RECORD_BYTES_MAX else NAND


def pick(plans: list[TreePlan], geometry: Geometry) -> TreePlan | None:
    """Returns the plan of the store to pick: in place where pages can be
    overwritten, else tnc if its region has the room, else the one with the
    fewest programs; None: no plan suits."""
    in_place = [made for made in plans if made.store == "inplace"]
    if geometry.overwrite and in_place:
        return in_place[0]
    for made in plans:
        if made.store == "tnc" and made.programs_most is not None:
            return made
    return smaller(plans)


def smaller(plans: list[TreePlan]) -> TreePlan | None:
    """Returns the plan that does with less room and RAM than tnc."""
    moving = [made for made in plans if made.store in ("wandering", "mu")]
    return min(moving, key=_programs, default=None)


def measured(medium: str, store: str) -> Measured | None:
    """Returns what was measured of a store on a medium."""
    for one in MEASURED:
        if (one.medium, one.store) == (medium, store):
            return one
    return None


def is_kv_best(kv: KvPlan, best: TreePlan, geometry: Geometry) -> bool:
    """Whether a kv table programs fewer bytes an update than the tree to pick,
    which programs pages."""
    return kv.bytes < _programs(best) * geometry.page_bytes


def _programs(made: TreePlan) -> float:
    return float("inf") if made.programs_gc is None else made.programs_gc


def span(ends: tuple[float, float]) -> str:
    """Returns two times as text, one if they are the same."""
    least, most = ends
    return f"{least:g}" if least == most else f"{least:g} to {most:g}"


__all__ = [
    "MEASURED",
    "MEASURED_ROWS",
    "Measured",
    "is_kv_best",
    "measured",
    "medium_of",
    "pick",
    "smaller",
    "span",
]
