# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Plans a bound SELECT: which operators, in which order.

A SELECT in FROM that only filters and computes is no operator: its outputs
are put into the expressions around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

from eskerdb.sql import access, fold, ordered, rules
from eskerdb.sql import expr as e
from eskerdb.sql import logical as lo
from eskerdb.sql import plan as p
from eskerdb.sql.access import Limits
from eskerdb.sql.base import Base, Leaf, fields, table_fields
from eskerdb.sql.joins import join
from eskerdb.sql.needed import needed
from eskerdb.sql.ordered import Order
from eskerdb.sql.source import Source
from eskerdb.sql.types import Type


def plan(
    source: Source, bound: lo.BoundQuery, limits: Limits | None = None
) -> p.Query:
    """Returns the plan of a query. Raises Refusal."""
    planner = Planner(source, limits or Limits())
    made = needed(source, planner.select(bound.select))
    outputs = bound.select.outputs
    return p.Query(
        bound.name,
        made,
        tuple(output.name for output in outputs),
        tuple(types_of(bound.select)),
        bound.parameters,
        tuple(planner.tables),
    )


def types_of(select: lo.Select) -> list[Type]:
    """Returns the types of a SELECT's outputs, which hold those of each part
    of UNION ALL."""
    parts = [select, *select.union]
    return [
        rules.common([part.outputs[i].value.type for part in parts])
        for i in range(len(select.outputs))
    ]


class Planner:
    def __init__(self, source: Source, limits: Limits) -> None:
        self.source = source
        self.limits = limits
        self.tables: list[p.TableInfo] = []
        self._numbers: Iterator[int] = count()
        self._scratch = limits.scratch  # one sort can have it

    def select(self, select: lo.Select) -> p.Plan:
        """Plans a SELECT; its rows are the outputs."""
        if not select.union:
            return self._core(select).plan
        alone = replace(select, order=(), limit=None, offset=None, union=())
        made: p.Plan = p.UnionAll(
            tuple(self._core(part).plan for part in (alone, *select.union))
        )
        if select.order:
            row = fields(types_of(select))
            made = self._sort(made, row, select.order, select)
        return self._limit(made, select)

    # One SELECT -------------------------------------------------------------

    def _core(self, select: lo.Select) -> Base:
        base = self._base(select)
        made, row, order = base.plan, base.row, base.order
        if select.keys is not None:
            made, row, order = self._aggregate(select, base)
            if select.having is not None:
                test = fold.simplified(e.replaced(select.having, row))
                made = p.Filter(made, test)
        outputs = tuple(
            fold.simplified(e.replaced(output.value, row))
            for output in select.outputs
        )
        wanted = tuple(
            replace(item, value=fold.simplified(e.replaced(item.value, row)))
            for item in select.order
        )
        if select.distinct:
            return self._distinct(select, made, outputs, wanted, order)
        turn = ordered.sorted_by(wanted, order)
        if turn < 0 and order and order.turns:
            made, turn = ordered.turned(made), 1
            order = replace(order, down=not order.down)
        if turn == 1:
            made = self._project(made, outputs)
            made = self._limit(made, select)
            return Base(made, (), None)
        # Sorted: the order's values that are no outputs are columns, too.
        extra = [i.value for i in wanted if i.value not in outputs]
        every = outputs + tuple(dict.fromkeys(extra))
        made = self._project(made, every)
        row = fields([value.type for value in every])
        by = [replace(i, value=row[every.index(i.value)]) for i in wanted]
        made = self._sort(made, row, by, select)
        if len(every) > len(outputs):
            made = p.Project(made, row[: len(outputs)])
        return Base(self._limit(made, select), (), None)

    @staticmethod
    def _project(made: p.Plan, outputs: tuple[e.Expr, ...]) -> p.Plan:
        return p.Project(made, outputs)

    def _sort(
        self,
        made: p.Plan,
        row: tuple[e.Expr, ...],
        wanted: Sequence[lo.OrderBy],
        select: lo.Select,
    ) -> p.Plan:
        """Sorts, or keeps the first rows where LIMIT is a number."""
        by = tuple(p.Order(item.value, item.down) for item in wanted)
        offset = select.offset or rules.constant(0)
        if isinstance(select.limit, e.Constant) and isinstance(
            offset, e.Constant
        ):
            most = select.limit.value + offset.value
            if 0 < most <= self.limits.sorted:
                return p.TopK(made, row, by, most)
        return self._sorted(made, row, by)

    def _sorted(
        self, made: p.Plan, row: tuple[e.Expr, ...], by: tuple[p.Order, ...]
    ) -> p.Sort:
        scratch, self._scratch = self._scratch, False
        return p.Sort(made, row, by, self.limits.sorted, scratch)

    @staticmethod
    def _limit(made: p.Plan, select: lo.Select) -> p.Plan:
        count, offset = select.limit, select.offset
        if isinstance(offset, e.Constant) and offset.value == 0:
            offset = None
        if count is None and offset is None:
            return made
        if (
            offset is None
            and isinstance(count, e.Constant)
            and isinstance(made, p.TopK)
            and made.count == count.value
        ):
            return made
        return p.Limit(made, count, offset)

    def _distinct(
        self,
        select: lo.Select,
        made: p.Plan,
        outputs: tuple[e.Expr, ...],
        wanted: Sequence[lo.OrderBy],
        order: Order | None,
    ) -> Base:
        runs = ordered.adjacent(outputs, order)
        turn = ordered.sorted_by(wanted, order) if runs else 0
        if turn < 0 and order and order.turns:
            made, turn = ordered.turned(made), 1
        row = fields([value.type for value in outputs])
        bound = 0 if runs else self.limits.groups
        made = p.Distinct(self._project(made, outputs), row, bound)
        if wanted and turn != 1:
            by = [replace(i, value=row[outputs.index(i.value)]) for i in wanted]
            made = self._sort(made, row, by, select)
        return Base(self._limit(made, select), (), None)

    # Groups -----------------------------------------------------------------

    def _aggregate(
        self, select: lo.Select, base: Base
    ) -> tuple[p.Plan, tuple[e.Expr, ...], Order | None]:
        assert select.keys is not None
        made: p.Plan
        keys = tuple(
            fold.simplified(e.replaced(key, base.row)) for key in select.keys
        )
        aggregates = tuple(
            replace(
                a,
                argument=a.argument
                and fold.simplified(e.replaced(a.argument, base.row)),
                bound=a.bound or self.limits.sorted,
            )
            for a in select.aggregates
        )
        row: tuple[e.Expr, ...] = fields(
            [key.type for key in keys] + [a.type for a in aggregates]
        )
        if any(a.distinct for a in aggregates):
            made = self._of_distinct(base, keys, aggregates)
            return made, row, None
        if not keys:
            if self._only_counts(base.plan, aggregates):
                return p.CountRows(base.plan), (row[0],) * len(row), None
            made = p.StreamAggregate(base.plan, (), aggregates)
            return made, row, None
        order = base.order
        if not ordered.adjacent(keys, order):
            if any(a.function == "quantile" for a in aggregates):
                return (
                    self._sorted_groups(base.plan, keys, aggregates),
                    row,
                    None,
                )
            made = p.GroupAggregate(
                base.plan, keys, aggregates, self.limits.groups
            )
            return made, row, None
        assert order is not None
        rising = ordered.monotone(keys[0], order) if len(keys) == 1 else None
        made = p.StreamAggregate(base.plan, keys, aggregates, rising)
        after = None
        found = ordered.direction(keys[0], order.key)
        if found:
            first = row[0]
            assert isinstance(first, e.Field)
            after = Order(
                first,
                unique=len(keys) == 1,
                down=(found < 0) != order.down,
                turns=order.turns,
            )
        return made, row, after

    def _of_distinct(
        self,
        base: Base,
        keys: tuple[e.Expr, ...],
        aggregates: tuple[p.Aggregate, ...],
    ) -> p.Plan:
        """Groups the different rows of the keys and the one argument."""
        argument = aggregates[0].argument
        assert argument is not None
        values = (*keys, argument)
        runs = ordered.adjacent(values, base.order)
        fields_of = fields([value.type for value in values])
        made = p.Distinct(
            self._project(base.plan, values),
            fields_of,
            0 if runs else self.limits.groups,
        )
        of_groups = tuple(
            replace(a, argument=fields_of[-1], distinct=False)
            for a in aggregates
        )
        if not keys:
            return p.StreamAggregate(made, (), of_groups)
        return p.GroupAggregate(
            made, fields_of[:-1], of_groups, self.limits.groups
        )

    def _sorted_groups(
        self,
        made: p.Plan,
        keys: tuple[e.Expr, ...],
        aggregates: tuple[p.Aggregate, ...],
    ) -> p.Plan:
        """Sorts rows by their keys, so that only one group's values are kept
        at a time."""
        values = dict.fromkeys(
            (*keys, *(a.argument for a in aggregates if a.argument))
        )
        columns = tuple(values)
        row = fields([value.type for value in columns])
        found = dict(zip(columns, row, strict=True))
        by = tuple(p.Order(found[key]) for key in keys)
        made = self._sorted(p.Project(made, columns), row, by)
        return p.StreamAggregate(
            made,
            tuple(found[key] for key in keys),
            tuple(
                replace(a, argument=a.argument and found[a.argument])
                for a in aggregates
            ),
        )

    @staticmethod
    def _only_counts(made: p.Plan, aggregates: Sequence[p.Aggregate]) -> bool:
        """Whether all that is asked for is the number of a scan's rows."""
        return (
            isinstance(made, p.Scan)
            and bool(aggregates)
            and all(
                a.function == "count"
                and (a.argument is None or not a.argument.type.nullable)
                for a in aggregates
            )
        )

    # FROM and WHERE ---------------------------------------------------------

    def _base(self, select: lo.Select) -> Base:
        """Plans FROM and WHERE."""
        where = access.conjuncts(select.where)
        if select.source is None:
            made: p.Plan = p.Values()
            if where:
                made = p.Filter(made, rules.logic("and", where))
            return Base(made, (), None)
        return self.read(select.source, where)

    def read(
        self, source: lo.Source, conditions: Sequence[e.Expr] = ()
    ) -> Base:
        """Plans a part of FROM under conditions on its row."""
        if isinstance(source, lo.FromJoin):
            return join(self, source, conditions)
        leaf = self.leaf(source)
        if leaf is not None:
            return self.scan(self.within(leaf, conditions))
        assert isinstance(source, lo.FromSelect)
        made = self.select(source.select)
        types = types_of(source.select)
        if conditions:
            made = p.Filter(made, rules.logic("and", conditions))
        return Base(made, fields(types), None)

    def leaf(self, source: lo.Source) -> Leaf | None:
        """Returns a table that a SELECT only filters and computes."""
        if isinstance(source, lo.FromTable):
            return Leaf(source.table, (), table_fields(source.table))
        if not isinstance(source, lo.FromSelect):
            return None
        select = source.select
        if (
            select.source is None
            or select.keys is not None
            or select.distinct
            or select.order
            or select.union
            or select.limit is not None
            or select.offset is not None
        ):
            return None
        inner = self.leaf(select.source)
        if inner is None:
            return None
        inner = self.within(inner, access.conjuncts(select.where))
        row = tuple(
            fold.simplified(e.replaced(output.value, inner.row))
            for output in select.outputs
        )
        return replace(inner, row=row)

    @staticmethod
    def within(leaf: Leaf, conditions: Sequence[e.Expr]) -> Leaf:
        """Returns a leaf under more conditions on its logical row."""
        added: list[e.Expr] = []
        for condition in conditions:
            test = fold.simplified(e.replaced(condition, leaf.row))
            added += access.conjuncts(test)
        return replace(leaf, conditions=leaf.conditions + tuple(added))

    def number(self) -> int:
        return next(self._numbers)

    def scan(self, leaf: Leaf) -> Base:
        """Plans the scan of a leaf."""
        table = leaf.table
        self.use(table)
        made = access.read(table, leaf.conditions, self.number, self.limits)
        key = table_fields(table)[table.key]
        order = Order(key, unique=not table.keys_repeat)
        if table.kind == "kv" and not self.limits.texts:
            order = None
        return Base(made, leaf.row, order)

    def use(self, table: p.TableInfo) -> None:
        if table not in self.tables:
            self.tables.append(table)
