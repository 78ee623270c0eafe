# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""A plan that is being made: an operator, and what its row means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from eskerdb.sql import expr as e
from eskerdb.sql import logical as lo
from eskerdb.sql import plan as p
from eskerdb.sql.access import Limits
from eskerdb.sql.ordered import Order
from eskerdb.sql.source import Source
from eskerdb.sql.types import Type


@dataclass(frozen=True)
class Base:
    """
    plan   gives the rows
    row    the logical row, as expressions over the plan's row
    order  of the plan's rows; None: not known
    """

    plan: p.Plan
    row: tuple[e.Expr, ...]
    order: Order | None


@dataclass(frozen=True)
class Leaf:
    """A table, filtered and computed: what a scan can do alone."""

    table: p.TableInfo
    conditions: tuple[e.Expr, ...]
    row: tuple[e.Expr, ...]


class Planning(Protocol):
    """What the planner of a join asks of the planner of a SELECT."""

    source: Source
    limits: Limits

    def read(
        self, source: lo.Source, conditions: Sequence[e.Expr] = ()
    ) -> Base:
        """Plans a part of FROM under conditions on its row."""

    def leaf(self, source: lo.Source) -> Leaf | None:
        """Returns a table that a SELECT only filters and computes."""

    def within(self, leaf: Leaf, conditions: Sequence[e.Expr]) -> Leaf:
        """Returns a leaf under more conditions on its logical row."""

    def scan(self, leaf: Leaf) -> Base:
        """Plans the scan of a leaf."""

    def number(self) -> int:
        """Returns the number of a new scan."""

    def use(self, table: p.TableInfo) -> None:
        """Notes that a table is read."""


def fields(types: Sequence[Type], first: int = 0) -> tuple[e.Field, ...]:
    """Returns the Fields of a row."""
    return tuple(e.Field(kind, index=first + i) for i, kind in enumerate(types))


def table_fields(table: p.TableInfo, first: int = 0) -> tuple[e.Field, ...]:
    return tuple(
        e.Field(column.type, index=first + i, name=column.name)
        for i, column in enumerate(table.columns)
    )


def width_of(made: p.Plan) -> int:
    """Returns the columns of a plan's row."""
    match made:
        case p.Scan(table=table):
            return len(table.columns)
        case p.SeekUnion(scans=scans):
            return len(scans[0].table.columns)
        case p.Project(outputs=outputs):
            return len(outputs)
        case p.StreamAggregate(keys=keys, aggregates=aggregates):
            return len(keys) + len(aggregates)
        case p.GroupAggregate(keys=keys, aggregates=aggregates):
            return len(keys) + len(aggregates)
        case p.CountRows():
            return 1
        case p.MergeJoin(left=left, right=right):
            return width_of(left) + len(right.table.columns)
        case p.LookupJoin(left=left, right=right):
            return width_of(left) + len(right.table.columns)
        case p.NestedJoin(left=left, right=right):
            return width_of(left) + width_of(right)
        case p.UnionAll(inputs=inputs):
            return width_of(inputs[0]) if inputs else 0
        case p.Values():
            return 0
    return width_of(made.input)
