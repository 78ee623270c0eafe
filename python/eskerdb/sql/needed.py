# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Leaves out of rows that are kept in memory the columns that nothing reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from eskerdb.sql import expr as e
from eskerdb.sql import plan as p
from eskerdb.sql import rules
from eskerdb.sql.base import width_of
from eskerdb.sql.explain import inputs
from eskerdb.sql.source import Source

_Columns = frozenset[int]


def needed(source: Source, plan: p.Plan) -> p.Plan:
    """Returns the plan of a SELECT whose kept rows have what is read of them.
    Raises Refusal when they would have bytes, or texts of any length."""
    if not _keeps(plan):
        return plan
    return _Needed(source).of(plan, frozenset(range(width_of(plan))))


def _keeps(plan: p.Plan) -> bool:
    return isinstance(plan, p.Keep) or any(map(_keeps, inputs(plan)))


def _read(values: Iterable[e.Expr | None]) -> _Columns:
    """Returns the columns that expressions over a row read."""
    return frozenset(
        node.index
        for value in values
        if value is not None
        for node in e.walk(value)
        if isinstance(node, e.Field)
    )


class _Needed:
    def __init__(self, source: Source) -> None:
        self.source = source

    def of(self, plan: p.Plan, wanted: _Columns) -> p.Plan:
        """Returns a plan of whose rows the columns `wanted` are read."""
        match plan:
            case p.Keep():
                return self._kept(plan, wanted)
            case p.MergeJoin() | p.LookupJoin() | p.NestedJoin():
                return self._joined(plan, wanted)
            case p.UnionAll(inputs=found):
                return p.UnionAll(tuple(self.of(one, wanted) for one in found))
            case p.Project(outputs=outputs):
                outputs = tuple(
                    value if at in wanted else rules.constant(None)
                    for at, value in enumerate(outputs)
                )
                plan = replace(plan, outputs=outputs)
                wanted = _read(outputs)
            case p.Filter(condition=condition):
                wanted |= _read([condition])
            case p.StreamAggregate() | p.GroupAggregate():
                values = [*plan.keys, *(a.argument for a in plan.aggregates)]
                if isinstance(plan, p.StreamAggregate) and plan.monotone:
                    values.append(plan.monotone.value)
                wanted = _read(values)
            case p.TopK(fields=fields) | p.Sort(fields=fields):
                wanted = _read([*fields, *(key.value for key in plan.order)])
            case p.Distinct(fields=fields):
                wanted = _read(fields)
            case p.Scan() | p.SeekUnion() | p.CountRows() | p.Values():
                return plan
        return replace(plan, input=self.of(plan.input, wanted))

    def _joined(
        self, plan: p.MergeJoin | p.LookupJoin | p.NestedJoin, wanted: _Columns
    ) -> p.Plan:
        width = width_of(plan.left)
        wanted |= _read([plan.rest])
        left = frozenset(at for at in wanted if at < width)
        if not isinstance(plan, p.NestedJoin):
            left |= _read([plan.key])
            return replace(plan, left=self.of(plan.left, left))
        right = frozenset(at - width for at in wanted if at >= width)
        return replace(
            plan,
            left=self.of(plan.left, left),
            right=self.of(plan.right, right),
        )

    def _kept(self, plan: p.Keep, wanted: _Columns) -> p.Plan:
        if any(plan.fields[at].type.kind == "blob" for at in wanted):
            raise self.source.refuse(
                plan.span,
                "the rows of the tables before it are kept in memory, and one "
                "has bytes or texts of any length that are read: leave these "
                "out",
            )
        return replace(
            plan,
            input=self.of(plan.input, _read(plan.fields[at] for at in wanted)),
            places=tuple(sorted(wanted)),
        )
