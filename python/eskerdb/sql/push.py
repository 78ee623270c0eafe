# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Walks a plan and has a back end write it.

Each operator has its input write a loop, and is called back with the row that
the loop has: so a filter is a condition in the loop of its scan, and no row
is copied (HyPer: Neumann 2011, "Efficiently compiling efficient query
plans"). A row is a tuple of expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from eskerdb.sql import plan as p
from eskerdb.sql.emit import Accumulators, Emitter, Records
from eskerdb.sql.expr import (
    Arithmetic,
    Case,
    Column,
    Compare,
    Constant,
    Expr,
    IsNull,
    IsTrue,
    Logic,
    Not,
    Same,
    Variable,
    replaced,
)
from eskerdb.sql.fold import simplified
from eskerdb.sql.kv_conditions import Conditions
from eskerdb.sql.types import BOOL, INT_MAX, INT_MIN, NULL, Type, integer

Row = tuple[Expr, ...]
Consume = Callable[[Row], None]

_NULL = Constant(NULL, value=None)


def write(query: p.Query, emitter: Emitter) -> None:
    """Has `emitter` write a query."""
    emitter.query = query
    walk = _Walk(emitter)
    walk.produce(query.plan, emitter.emit)
    emitter.cuts_values = walk.values.cuts


def constant(value: int) -> Constant:
    return Constant(integer(value, value), value=value)


def scan_row(scan: p.Scan, nullable: bool = False) -> Row:
    """Returns the columns of a scan's current row."""
    return tuple(
        Column(
            column.type.maybe(column.type.nullable or nullable),
            scan=scan.number,
            index=index,
            name=column.name,
        )
        for index, column in enumerate(scan.table.columns)
    )


def _over(value: Expr, row: Row) -> Expr:
    """Returns an expression over a row, folded where the row has a NULL: of a
    left join, whose columns a back end cannot compare or match."""
    made = replaced(value, row)
    if any(isinstance(i, Constant) and i.value is None for i in row):
        made = simplified(made)
    return made


class _Walk:
    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter
        self.values = Conditions(emitter.kv_room)

    def put(self, value: Expr, row: Row) -> Expr:
        """Returns an expression over a row."""
        return self.values.made(_over(value, row))

    @contextmanager
    def when(self, condition: Expr, row: Row) -> Iterator[None]:
        """What it encloses is done where a condition over a row is TRUE."""
        known = self.values.types_where(_over(condition, row))
        made = self.put(condition, row)
        with self.emitter.when(made), self.values.knowing(known):
            yield

    def produce(self, node: p.Plan, consume: Consume) -> None:
        """Writes a node; `consume` writes what is done with each row."""
        name = f"_{type(node).__name__.lower()}"
        getattr(self, name)(node, consume)

    # Sources ----------------------------------------------------------------

    def _scan(self, node: p.Scan, consume: Consume) -> None:
        if node.table.kind == "kv":
            self.values.scans.add(node.number)
        with self.emitter.loop(node):
            consume(scan_row(node))

    def _seekunion(self, node: p.SeekUnion, consume: Consume) -> None:
        for scan in node.scans:
            self._scan(scan, consume)

    def _values(self, node: p.Values, consume: Consume) -> None:
        consume(())

    def _unionall(self, node: p.UnionAll, consume: Consume) -> None:
        for part in node.inputs:
            self.produce(part, consume)

    def _countrows(self, node: p.CountRows, consume: Consume) -> None:
        consume((self.emitter.count(node.scan),))

    # One input --------------------------------------------------------------

    def _filter(self, node: p.Filter, consume: Consume) -> None:
        def each(row: Row) -> None:
            with self.when(node.condition, row):
                consume(row)

        self.produce(node.input, each)

    def _project(self, node: p.Project, consume: Consume) -> None:
        self.produce(
            node.input,
            lambda row: consume(
                tuple(
                    self.values.output(_over(output, row))
                    for output in node.outputs
                )
            ),
        )

    def _limit(self, node: p.Limit, consume: Consume) -> None:
        emitter = self.emitter
        offset = node.offset or constant(0)
        if node.count is not None and not isinstance(node.count, Constant):
            with emitter.when(_compare(">", node.count, constant(0))):
                self._limited(node, offset, consume)
        elif node.count is None or node.count.value > 0:
            self._limited(node, offset, consume)

    def _limited(self, node: p.Limit, offset: Expr, consume: Consume) -> None:
        emitter = self.emitter
        skips = not (isinstance(offset, Constant) and offset.value <= 0)
        if skips:
            skipped = self._counter("skipped")
        if node.count is not None:
            given = self._counter("given")

        def take(row: Row) -> None:
            consume(row)
            if node.count is not None:
                self._count(given)
                with emitter.when(_compare(">=", given, node.count)):
                    emitter.leave(block)

        def each(row: Row) -> None:
            if not skips:
                take(row)
                return
            with emitter.block() as skip:
                with emitter.when(_compare("<", skipped, offset)):
                    self._count(skipped)
                    emitter.leave(skip)
                take(row)

        with emitter.block() as block:
            self.produce(node.input, each)

    def _counter(self, name: str) -> Variable:
        counter = self.emitter.variable(integer(0, INT_MAX), name)
        self.emitter.assign(counter, constant(0))
        return counter

    def _count(self, counter: Variable) -> None:
        self.emitter.assign(counter, _plus(counter, 1, checked=False))

    # Aggregates -------------------------------------------------------------

    def _streamaggregate(
        self, node: p.StreamAggregate, consume: Consume
    ) -> None:
        if not node.keys:
            group = _Group(self, node.aggregates)
            group.clear()
            self.produce(node.input, group.add)
            consume(group.finish())
        elif node.monotone is not None:
            self._buckets(node, node.monotone, consume)
        else:
            self._runs(node, consume)

    def _runs(self, node: p.StreamAggregate, consume: Consume) -> None:
        """Groups whose keys are compared with those of the row before."""
        emitter = self.emitter
        group = _Group(self, node.aggregates)
        keys = self._variables(node.keys, "key")
        begun = emitter.variable(BOOL.maybe(), "begun")

        def each(row: Row) -> None:
            values = [self.put(key, row) for key in node.keys]
            same = _all(
                [_is_set(begun)]
                + [Same(BOOL, left=k, right=v) for k, v in _pairs(keys, values)]
            )
            with emitter.when(Not(BOOL, operand=same)):
                with emitter.when(_is_set(begun)):
                    consume((*keys, *group.finish()))
                for key, value in _pairs(keys, values):
                    emitter.assign(key, value)
                emitter.assign(begun, constant(1))
                group.clear()
            group.add(row)

        self.produce(node.input, each)
        with emitter.when(_is_set(begun)):
            consume((*keys, *group.finish()))

    def _buckets(
        self, node: p.StreamAggregate, rising: p.Monotone, consume: Consume
    ) -> None:
        """Groups that end where a value passes the end of its bucket."""
        emitter = self.emitter
        group = _Group(self, node.aggregates)
        (key,) = self._variables(node.keys, "key")
        ends = emitter.kept(rising.value.type)
        end = emitter.variable(ends.maybe(), "end")

        def each(row: Row) -> None:
            value = self.put(rising.value, row)
            inside = _compare(">=" if rising.falls else "<=", value, end)
            with emitter.when(Not(BOOL, operand=_is_true(inside))):
                with emitter.when(_is_set(key)):
                    consume((key, *group.finish()))
                emitter.assign(key, self.put(node.keys[0], row))
                emitter.assign(end, _bucket_end(rising, key, ends))
                group.clear()
            group.add(row)

        self.produce(node.input, each)
        with emitter.when(_is_set(key)):
            consume((key, *group.finish()))

    def _groupaggregate(self, node: p.GroupAggregate, consume: Consume) -> None:
        emitter = self.emitter
        group = _Group(self, node.aggregates)
        groups = emitter.groups(
            [key.type for key in node.keys], group.accumulators, node.bound
        )

        def each(row: Row) -> None:
            emitter.group(groups, [self.put(key, row) for key in node.keys])
            group.add(row)

        self.produce(node.input, each)
        with emitter.each(groups):
            consume((*groups.row, *group.results))

    def _distinct(self, node: p.Distinct, consume: Consume) -> None:
        if node.bound:
            self._groupaggregate(
                p.GroupAggregate(node.input, node.fields, (), node.bound),
                consume,
            )
        else:
            self._runs(p.StreamAggregate(node.input, node.fields, ()), consume)

    # Orders -----------------------------------------------------------------

    def _topk(self, node: p.TopK, consume: Consume) -> None:
        self._ordered(node, node.count, False, consume)

    def _sort(self, node: p.Sort, consume: Consume) -> None:
        self._ordered(node, node.bound, True, consume, node.scratch)

    def _ordered(
        self,
        node: p.TopK | p.Sort,
        count: int,
        refuses: bool,
        consume: Consume,
        scratch: bool = False,
    ) -> None:
        """Records are the order's values, then the columns that are none."""
        emitter = self.emitter
        values = list(dict.fromkeys(key.value for key in node.order))
        rest = [field for field in node.fields if field not in values]
        down = {key.value: key.down for key in reversed(node.order)}
        stored = values + rest
        records = emitter.order(
            [value.type for value in stored],
            [down[value] for value in values],
            count,
            refuses,
            scratch,
        )
        self.produce(
            node.input,
            lambda row: emitter.push(
                records, [self.put(value, row) for value in stored]
            ),
        )
        row = tuple(records.row[stored.index(f)] for f in node.fields)
        with emitter.each(records):
            consume(row)

    # Joins ------------------------------------------------------------------

    def _mergejoin(self, node: p.MergeJoin, consume: Consume) -> None:
        emitter, outer = self.emitter, node.kind == "left"
        emitter.open(node.right)

        def each(row: Row) -> None:
            key = self.put(node.key, row)
            if node.shift:
                key = _plus(key, node.shift)
            with emitter.advance(node.right, key, outer):
                self._joined(node, row, consume)

        self.produce(node.left, each)

    def _lookupjoin(self, node: p.LookupJoin, consume: Consume) -> None:
        emitter, outer = self.emitter, node.kind == "left"

        def each(row: Row) -> None:
            key = self.put(node.key, row)
            with emitter.lookup(node.right, key, outer):
                self._joined(node, row, consume)

        self.produce(node.left, each)

    def _nestedjoin(self, node: p.NestedJoin, consume: Consume) -> None:
        read = self._reader(node.right)
        if node.kind == "left":
            self._left_nested(node, read, consume)
            return

        def each(left: Row) -> None:
            def pair(right: Row) -> None:
                if node.rest is None:
                    consume(left + right)
                    return
                with self.when(node.rest, left + right):
                    consume(left + right)

            read(pair)

        self.produce(node.left, each)

    def _reader(self, right: p.Plan) -> Callable[[Consume], None]:
        """Returns what writes the loop over the right rows of a NestedJoin;
        rows that are kept are made here."""
        if not isinstance(right, p.Keep):
            return lambda consume: self.produce(right, consume)
        emitter = self.emitter
        places = right.places
        # A record has a value at least.
        types = [right.fields[at].type for at in places] or [BOOL]
        kept = emitter.order(types, [], right.bound, True)

        def push(row: Row) -> None:
            values = [self.values.made(row[at]) for at in places]
            emitter.push(kept, values or [constant(1)])

        self.produce(right.input, push)
        row = [_NULL] * len(right.fields)
        for at, value in zip(places, kept.row, strict=False):
            row[at] = value

        def read(consume: Consume) -> None:
            with emitter.each(kept):
                consume(tuple(row))

        return read

    def _keep(self, node: p.Keep, consume: Consume) -> None:
        self._reader(node)(consume)

    def _left_nested(
        self,
        node: p.NestedJoin,
        read: Callable[[Consume], None],
        consume: Consume,
    ) -> None:
        emitter = self.emitter
        met = emitter.variable(integer(0, 1), "met")

        def each(left: Row) -> None:
            width = 0

            def pair(right: Row) -> None:
                nonlocal width
                width = len(right)
                rest = node.rest or constant(1)
                with self.when(rest, left + right):
                    emitter.assign(met, constant(1))
                    consume(left + right)

            emitter.assign(met, constant(0))
            read(pair)
            with emitter.when(_compare("=", met, constant(0))):
                consume(left + (_NULL,) * width)

        self.produce(node.left, each)

    def _joined(
        self, node: p.MergeJoin | p.LookupJoin, left: Row, consume: Consume
    ) -> None:
        """Tests what else a pair must have."""
        outer = node.kind == "left"
        right = scan_row(node.right, outer)
        if node.rest is None:
            consume(left + right)
            return
        if not outer:
            with self.when(node.rest, left + right):
                consume(left + right)
            return
        rest = self.put(node.rest, left + right)
        hit = self.emitter.variable(BOOL.maybe(), "hit")
        self.emitter.assign(hit, rest)
        consume(
            left
            + tuple(
                Case(
                    column.type,
                    whens=((_is_true(hit), column),),
                    otherwise=_NULL,
                )
                for column in right
            )
        )

    def _variables(self, values: Sequence[Expr], name: str) -> list[Variable]:
        return [
            self.emitter.variable(value.type.maybe(), f"{name}{index}")
            for index, value in enumerate(values)
        ]


class _Group:
    """The aggregates of a group. Those of quantiles are variables, set by
    finish(): their values are kept in an order."""

    def __init__(self, walk: _Walk, aggregates: Sequence[p.Aggregate]) -> None:
        self.put = walk.put
        self.emitter = emitter = walk.emitter
        self.aggregates = [a for a in aggregates if a.function != "quantile"]
        self.accumulators: Accumulators = emitter.accumulators(self.aggregates)
        self.orders: dict[tuple[Expr, int], Records] = {}
        self.quantiles: dict[tuple[Expr, int], list[tuple[Variable, int]]] = {}
        plain = iter(self.accumulators.results)
        self.results: Row = tuple(
            self._quantile(a) if a.function == "quantile" else next(plain)
            for a in aggregates
        )

    def _quantile(self, wanted: p.Aggregate) -> Variable:
        """Makes the variable of a quantile; those of one value share an
        order."""
        assert wanted.argument is not None
        of = wanted.argument, wanted.bound
        if of not in self.orders:
            self.orders[of] = self.emitter.order(
                [wanted.argument.type.maybe()], [False], wanted.bound, True
            )
        made = self.emitter.variable(wanted.type, "quantile")
        self.quantiles.setdefault(of, []).append((made, wanted.part))
        return made

    def clear(self) -> None:
        self.emitter.clear(self.accumulators)

    def add(self, row: Row) -> None:
        self.emitter.accumulate(
            self.accumulators,
            [a.argument and self.put(a.argument, row) for a in self.aggregates],
        )
        for (argument, _), records in self.orders.items():
            value = self.put(argument, row)
            if not value.type.nullable:
                self.emitter.push(records, [value])
                continue
            with self.emitter.when(_is_set(value)):
                self.emitter.push(records, [value])

    def finish(self) -> Row:
        """Ends a group; returns its results."""
        for of, wanted in self.quantiles.items():
            self.emitter.quantiles(self.orders[of], wanted)
        return self.results


def _bucket_end(rising: p.Monotone, key: Variable, ends: Type) -> Expr:
    """Returns the last value, in the direction of the rows, of the bucket
    with `key`. Division rounds toward 0, so the bucket of 0 has both signs.

    An end that no value of `ends` can reach is the type's own end.
    """
    most = rising.width - 1
    if rising.floors:
        return _saturated(key, 0 if rising.falls else most, ends)
    start = Arithmetic(
        integer(*_multiple(key.type, rising.width)),
        op="*",
        left=key,
        right=constant(rising.width),
        checked=False,
    )
    near, far = _saturated(start, 0, ends), None
    if rising.falls and key.type.lo <= 0:
        far, op = _saturated(start, -most, ends), "<="
    elif not rising.falls and key.type.hi >= 0:
        far, op = _saturated(start, most, ends), ">="
    if far is None:
        return near
    if key.type.lo >= 0 and op == ">=":
        return far
    test = _compare(op, key, constant(0))
    kind = integer(
        min(near.type.lo, far.type.lo), max(near.type.hi, far.type.hi)
    )
    return Case(kind, whens=((test, far),), otherwise=near)


def _multiple(kind: Type, width: int) -> tuple[int, int]:
    return (
        max(kind.lo * width, INT_MIN),
        min(kind.hi * width, INT_MAX),
    )


def _saturated(value: Expr, add: int, ends: Type) -> Expr:
    """Returns value + add, or the end of a type that this is beyond."""
    lo, hi = value.type.lo + add, value.type.hi + add
    kind = integer(max(lo, ends.lo), min(hi, ends.hi))
    result = _plus(value, add, checked=False) if add else value
    if hi > ends.hi:
        far = _compare(">", value, constant(ends.hi - add))
        result = Case(kind, whens=((far, constant(ends.hi)),), otherwise=result)
    if lo < ends.lo:
        far = _compare("<", value, constant(ends.lo - add))
        result = Case(kind, whens=((far, constant(ends.lo)),), otherwise=result)
    return result


def _plus(value: Expr, add: int, checked: bool = True) -> Expr:
    lo, hi = value.type.lo + add, value.type.hi + add
    if INT_MIN <= lo and hi <= INT_MAX:
        checked = False
    return Arithmetic(
        integer(max(lo, INT_MIN), min(hi, INT_MAX), value.type.nullable),
        op="+",
        left=value,
        right=constant(add),
        checked=checked,
    )


def _compare(op: str, left: Expr, right: Expr) -> Expr:
    nullable = left.type.nullable or right.type.nullable
    return Compare(BOOL.maybe(nullable), op=op, left=left, right=right)


def _is_set(value: Expr) -> Expr:
    return Not(BOOL, operand=IsNull(BOOL, operand=value))


def _is_true(condition: Expr) -> Expr:
    return IsTrue(BOOL, operand=condition)


def _all(items: list[Expr]) -> Expr:
    if len(items) == 1:
        return items[0]
    return Logic(BOOL, op="and", items=tuple(items))


def _pairs(left: Sequence[Expr], right: Sequence[Expr]) -> zip:
    return zip(left, right, strict=True)
