# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Plans a join of two inputs, the left one of which may be a join, too.

The outer input gives the rows; the inner one is best a table whose key is a
value of the outer row. A merge moves both on together; a lookup searches each
inner row, which pays where the outer rows are few or in no order. Without a
key a table is read once more for each outer row; the rows of a SELECT are
kept in memory instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from eskerdb.sql import access, fold, rules
from eskerdb.sql import expr as e
from eskerdb.sql import logical as lo
from eskerdb.sql import plan as p
from eskerdb.sql.base import Base, Leaf, Planning, fields, width_of

_JOINS = (p.MergeJoin, p.LookupJoin, p.NestedJoin)


@dataclass(frozen=True)
class _Side:
    """An input: its source, and conditions on it alone."""

    source: lo.Source
    conditions: tuple[e.Expr, ...]
    leaf: Leaf | None


def join(planner: Planning, node: lo.FromJoin, where: Sequence[e.Expr]) -> Base:
    """Plans a join under the conditions of WHERE."""
    on = _untrue(access.conjuncts(node.condition))
    where = _untrue(where)
    widths = [_width(node.left), _width(node.right)]
    inner = node.kind == "inner"
    late: list[e.Expr] = []
    if inner:
        on += where
    else:
        late = [c for c in where if _side_of(c, widths[0]) != 0]
    sides = []
    for at, source in enumerate((node.left, node.right)):
        tests = [c for c in on if inner and _side_of(c, widths[0]) == at]
        if at == 0 and not inner:
            tests = [c for c in where if _side_of(c, widths[0]) == 0]
        moved = tuple(_moved(c, -widths[0] * at) for c in tests)
        leaf = planner.leaf(source)
        if leaf is not None:
            leaf = planner.within(leaf, moved)
        sides.append(_Side(source, moved, leaf))
    pairs = [c for c in on if not inner or _side_of(c, widths[0]) is None]
    choices = [False, True] if inner else [False]
    if inner and _is_bounded(sides[1]) and not _is_bounded(sides[0]):
        choices.reverse()
    joins = [_Join(planner, node.kind, sides, pairs, by) for by in choices]
    for one in joins:
        made = one.made()
        if made is not None:
            return _filtered(made, late)
    for one in joins:
        made = one.nested()
        if made is not None:
            return _filtered(made, late)
    kept = next(one for one in joins if not one.swapped).kept()
    if kept is None:
        raise planner.source.refuse(
            node.right.span,
            "a kv table is not the right one of a LEFT JOIN",
        )
    return _filtered(kept, late)


def _untrue(conditions: Sequence[e.Expr]) -> list[e.Expr]:
    return [c for c in conditions if c != rules.truth(True)]


def _filtered(made: Base, late: Sequence[e.Expr]) -> Base:
    """Returns the pairs that meet conditions which come after the join."""
    if not late:
        return made
    test = rules.logic(
        "and", [fold.simplified(e.replaced(c, made.row)) for c in late]
    )
    return replace(made, plan=p.Filter(made.plan, test))


def _width(source: lo.Source) -> int:
    if isinstance(source, lo.FromTable):
        return len(source.table.columns)
    if isinstance(source, lo.FromJoin):
        return _width(source.left) + _width(source.right)
    return len(source.select.outputs)


def _side_of(condition: e.Expr, width: int) -> int | None:
    """Returns 0 or 1 for a condition on one side alone, else None. One on none,
    as 1 = 2, is on the left one."""
    sides = {
        int(node.index >= width)
        for node in e.walk(condition)
        if isinstance(node, e.Field)
    }
    return None if len(sides) == 2 else max(sides, default=0)


def _moved(value: e.Expr, by: int) -> e.Expr:
    """Returns an expression whose Fields are `by` further on."""
    if isinstance(value, e.Field):
        return replace(value, index=value.index + by)
    return e.rebuilt(value, lambda child: _moved(child, by))


def _is_bounded(side: _Side) -> bool:
    """Whether the key of a side has bounds."""
    if side.leaf is None:
        return False
    found = (access.comparison(c) for c in side.leaf.conditions)
    return any(f is not None and f[0] == side.leaf.table.key for f in found)


class _Join:
    """Tries a join with one of the sides as the outer one: the right one, if
    they are swapped."""

    def __init__(
        self,
        planner: Planning,
        kind: p.JoinKind,
        sides: list[_Side],
        pairs: Sequence[e.Expr],
        swapped: bool,
    ) -> None:
        self.planner = planner
        self.kind = kind
        self.outer, self.inner = reversed(sides) if swapped else sides
        self.swapped = swapped
        self.pairs = pairs
        self._read = cache(planner.read)

    def made(self) -> Base | None:
        """Returns the join; None when the inner side's key is not given."""
        leaf = self.inner.leaf
        if leaf is None or leaf.table.keys_repeat or leaf.table.kind == "kv":
            return None
        key_column = leaf.table.columns[leaf.table.key]
        if key_column.kind[0] not in "iu":
            return None
        outer = self._read(self.outer.source, self.outer.conditions)
        width = width_of(outer.plan)
        row = self._row(outer, leaf, width)
        pairs = [fold.simplified(e.replaced(c, row)) for c in self.pairs]
        for at, pair in enumerate(pairs):
            key = self._key(pair, leaf.table, width)
            if key is not None:
                rest = pairs[:at] + pairs[at + 1 :]
                rest += [_moved(c, width) for c in leaf.conditions]
                return self._joined(outer, leaf, row, key, rest)
        return None

    def nested(self) -> Base | None:
        """Returns a join that reads the inner table for each outer row; None
        where that is no table."""
        leaf = self.inner.leaf
        if leaf is None or (self.kind == "left" and leaf.table.kind == "kv"):
            return None
        outer = self._read(self.outer.source, self.outer.conditions)
        row = self._row(outer, leaf, width_of(outer.plan))
        return self._nested(outer, self.planner.scan(leaf).plan, row)

    def kept(self) -> Base | None:
        """Returns a join with the rows of a SELECT, which are kept; None where
        the inner one is a table."""
        if self.inner.leaf is not None:
            return None
        inner = self.planner.read(self.inner.source, self.inner.conditions)
        outer = self._read(self.outer.source, self.outer.conditions)
        if _places(outer.plan) > 1:
            outer = self._outer_kept(outer)
        types = [value.type for value in inner.row]
        keep = self._keep(inner.plan, inner.row)
        if self.kind == "left":
            types = [type.maybe() for type in types]
        row = outer.row + fields(types, width_of(outer.plan))
        return self._nested(outer, keep, row)

    def _outer_kept(self, outer: Base) -> Base:
        """Returns an outer input that gives its rows at one place of the code:
        the loop over kept rows can be at one only."""
        row = fields([value.type for value in outer.row])
        made = p.Project(outer.plan, outer.row)
        return Base(self._keep(made, row), row, None)

    def _keep(self, made: p.Plan, row: tuple[e.Expr, ...]) -> p.Keep:
        bound = self.planner.limits.sorted
        return p.Keep(made, row, bound, self.inner.source.span)

    def _nested(
        self, outer: Base, inner: p.Plan, row: tuple[e.Expr, ...]
    ) -> Base:
        pairs = [fold.simplified(e.replaced(c, row)) for c in self.pairs]
        test = access.joined(_untrue(pairs))
        order = outer.order and replace(outer.order, unique=False, turns=False)
        plan = p.NestedJoin(outer.plan, inner, self.kind, test)
        return Base(plan, row, order)

    def _row(self, outer: Base, leaf: Leaf, width: int) -> tuple[e.Expr, ...]:
        """Returns the logical row, left then right, over the joined one."""
        inner = tuple(_moved(value, width) for value in leaf.row)
        if self.kind == "left":
            key = inner_key(leaf.table, width)
            inner = tuple(_with_partner(value, key) for value in inner)
        return inner + outer.row if self.swapped else outer.row + inner

    def _key(
        self, pair: e.Expr, table: p.TableInfo, width: int
    ) -> e.Expr | None:
        """Returns the value of the outer row that is the inner key, from a
        condition that says so."""
        if not isinstance(pair, e.Compare) or pair.op != "=":
            return None
        for inner, outer in (
            (pair.left, pair.right),
            (pair.right, pair.left),
        ):
            column, shift = access.linear(inner, overflows=True)
            if (
                column is None
                or column.index != width + table.key
                or not outer.type.is_whole
                or any(
                    isinstance(node, e.Field) and node.index >= width
                    for node in e.walk(outer)
                )
            ):
                continue
            if not shift:
                return outer
            return rules.arithmetic("-", outer, rules.constant(shift))
        return None

    def _joined(
        self,
        outer: Base,
        leaf: Leaf,
        row: tuple[e.Expr, ...],
        key: e.Expr,
        rest: list[e.Expr],
    ) -> Base:
        planner, order = self.planner, outer.order
        planner.use(leaf.table)
        scan = p.Scan(planner.number(), leaf.table)
        test = access.joined(_untrue(rest))
        field, shift = _outermost(outer.plan, key)
        merges = (
            order is not None and field == order.key and _merges(outer.plan)
        )
        if not merges:
            made: p.Plan = p.LookupJoin(outer.plan, scan, key, self.kind, test)
            return Base(made, row, order)
        bounds = _scan_of(outer.plan)
        assert field is not None and bounds is not None
        scan = replace(
            scan,
            lo=access.shifted(bounds.lo, shift),
            hi=access.shifted(bounds.hi, shift),
        )
        made = p.MergeJoin(outer.plan, scan, field, shift, self.kind, test)
        return Base(made, row, replace(order, turns=False))


def _places(plan: p.Plan) -> int:
    """Returns at how many places of the code a plan gives its rows."""
    match plan:
        case p.SeekUnion(scans=scans):
            return len(scans)
        case p.UnionAll(inputs=found):
            return sum(map(_places, found))
        case p.StreamAggregate(keys=keys):
            return 2 if keys else 1
        case p.Distinct(bound=bound):
            return 1 if bound else 2
        case p.MergeJoin(left=left) | p.LookupJoin(left=left):
            return _places(left)
        case p.NestedJoin(left=left, right=right, kind=kind):
            return _places(left) * (_places(right) + (kind == "left"))
        case p.Filter() | p.Project() | p.Limit():
            return _places(plan.input)
    return 1


def inner_key(table: p.TableInfo, width: int) -> e.Field:
    """Returns the inner key of a LEFT JOIN: NULL without a partner."""
    column = table.columns[table.key]
    return e.Field(
        column.type.maybe(), index=width + table.key, name=column.name
    )


def _with_partner(value: e.Expr, key: e.Field) -> e.Expr:
    """Returns an inner value of a LEFT JOIN: NULL without a partner."""
    if isinstance(value, e.Field):
        return replace(value, type=value.type.maybe())
    found = rules.inverse(rules.is_null(key))
    return rules.case([(found, value)], rules.constant(None))


def _merges(outer: p.Plan) -> bool:
    """Whether moving on is cheaper than a search for each outer row."""
    scan = _scan_of(outer)
    if scan is None or scan.lo is None:
        return scan is not None
    return not (scan.hi is not None and scan.lo.value == scan.hi.value)


def _scan_of(outer: p.Plan) -> p.Scan | None:
    """Returns the scan in whose order the rows of a plan come; None: there
    are several, or none."""
    while not isinstance(outer, p.Scan):
        if isinstance(outer, p.Filter):
            outer = outer.input
        elif isinstance(outer, _JOINS):
            outer = outer.left
        else:
            return None
    return outer


def _outermost(outer: p.Plan, key: e.Expr) -> tuple[e.Field | None, int]:
    """Returns (column, n) of a key that is column + n; the column is of the
    outermost table that an inner join says so of."""
    field, shift = access.linear(key, overflows=True)
    while field is not None:
        if isinstance(outer, p.Filter):
            outer = outer.input
            continue
        if not isinstance(outer, _JOINS):
            break
        width = width_of(outer.left)
        if field.index >= width:
            if (
                isinstance(outer, p.NestedJoin)
                or outer.kind == "left"
                or field.index != width + outer.right.table.key
            ):
                break
            found, by = access.linear(outer.key, overflows=True)
            if found is None:
                break
            field, shift = found, shift + by
            if isinstance(outer, p.MergeJoin):
                shift += outer.shift
        outer = outer.left
    return field, shift
