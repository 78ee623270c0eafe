# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The order in which a plan's rows come, and what it spares.

Rows of a scan come in key order; so do values that rise with the key, as
key / 86400 does. Then groups follow one another, and ORDER BY needs no sort.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from eskerdb.sql import expr as e
from eskerdb.sql import plan as p
from eskerdb.sql.logical import OrderBy


@dataclass(frozen=True)
class Order:
    """Rows come by a column of theirs.

    key     the column, a Field of the row
    unique  no two rows have the same value of it
    down    it falls
    turns   the plan can give them the other way round
    """

    key: e.Field
    unique: bool
    down: bool = False
    turns: bool = True


def direction(value: e.Expr, key: e.Field) -> int:
    """Returns 1 when a value never falls while `key` rises, -1 when it never
    rises, 0 when neither is known."""
    if value == key:
        return 1
    if isinstance(value, e.Negate):
        return -direction(value.operand, key)
    if isinstance(value, (e.Bucket, e.ToFloat, e.ToInt, e.Round)):
        return direction(value.operand, key)
    if not isinstance(value, e.Arithmetic):
        return 0
    left, right, op = value.left, value.right, value.op
    if isinstance(right, e.Constant) and right.value is not None:
        found = direction(left, key)
        if op in "+-":
            return found
        if op in "*/" and right.value:
            return found if right.value > 0 else -found
    if isinstance(left, e.Constant) and left.value is not None:
        found = direction(right, key)
        if op == "+":
            return found
        if op == "-":
            return -found
        if op == "*" and left.value:
            return found if left.value > 0 else -found
    return 0


def adjacent(keys: Sequence[e.Expr], order: Order | None) -> bool:
    """Whether rows with equal keys follow one another."""
    if order is None:
        return False
    if order.unique and order.key in keys:
        return True
    return all(direction(key, order.key) for key in keys)


def monotone(key: e.Expr, order: Order) -> p.Monotone | None:
    """Returns how the end of a group's bucket is told by one comparison."""
    if isinstance(key, e.Bucket):
        value, width, floors = key.operand, key.width, True
    elif (
        isinstance(key, e.Arithmetic)
        and key.op == "/"
        and key.type.kind == "int"
        and isinstance(key.right, e.Constant)
        and key.right.value > 0
    ):
        value, width, floors = key.left, key.right.value, False
    else:
        return None
    found = direction(value, order.key)
    if not found or value.type.nullable:
        return None
    return p.Monotone(value, width, floors, (found < 0) != order.down)


def sorted_by(wanted: Sequence[OrderBy], order: Order | None) -> int:
    """Returns 1 when rows in that order are as wanted, -1 when they would be
    the other way round, 0 when they must be sorted."""
    if not wanted:
        return 1
    if order is None:
        return 0
    first = wanted[0]
    found = direction(first.value, order.key)
    if not found:
        return 0
    if len(wanted) > 1 and not (order.unique and first.value == order.key):
        return 0
    return 1 if (found > 0) == (first.down == order.down) else -1


def turned(plan: p.Plan) -> p.Plan:
    """Returns a plan whose rows come the other way round."""
    if isinstance(plan, p.Scan):
        return replace(plan, backward=not plan.backward)
    if isinstance(plan, p.SeekUnion):
        scans = tuple(turned(scan) for scan in reversed(plan.scans))
        return replace(plan, scans=scans)
    if isinstance(plan, p.LookupJoin):
        return replace(plan, left=turned(plan.left))
    if isinstance(plan, p.StreamAggregate):
        other = {"first": "last", "last": "first"}
        aggregates = tuple(
            replace(a, function=other.get(a.function, a.function))
            for a in plan.aggregates
        )
        rising = plan.monotone and replace(
            plan.monotone, falls=not plan.monotone.falls
        )
        return replace(
            plan,
            input=turned(plan.input),
            aggregates=aggregates,
            monotone=rising,
        )
    assert isinstance(plan, (p.Filter, p.Project))
    return replace(plan, input=turned(plan.input))
