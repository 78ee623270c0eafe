# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Binds statements: FROM makes a scope, the other clauses are bound in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from eskerdb.sql import expr as e
from eskerdb.sql import logical as lo
from eskerdb.sql import rules
from eskerdb.sql import syntax as s
from eskerdb.sql.bind_expr import AggregateCall, ExpressionBinder, Parameters
from eskerdb.sql.names import Scope, ScopeColumn, pick, table_named
from eskerdb.sql.plan import Aggregate, TableInfo
from eskerdb.sql.rules import Fault
from eskerdb.sql.source import Source, Span
from eskerdb.sql.stored import stored
from eskerdb.sql.types import INT_MAX, INT_MIN, integer, text

_IN_WHERE = "an aggregate is of groups: use HAVING"
_IN_GROUP = "an aggregate is not in GROUP BY"
_IN_ON = "an aggregate is not in ON"
_IN_VALUES = "an aggregate is not in a change"
_COUNT = integer(INT_MIN, INT_MAX)

Bound = lo.BoundQuery | lo.Change


def bind(
    source: Source,
    statement: s.Query | s.Insert | s.Update | s.Delete,
    tables: Mapping[str, TableInfo],
    values: Mapping[str, Any] | None = None,
) -> Bound:
    """Returns what a statement means. Raises Refusal.

    values  of parameters that become constants
    """
    parameters = Parameters(values)
    for _ in range(2):  # the second time with the parameters' types
        binder = _Binder(source, tables, parameters)
        if isinstance(statement, s.Query):
            select = binder.select(statement.select)
            bound: Bound = lo.BoundQuery(
                statement.name, select, parameters.infos()
            )
        elif isinstance(statement, s.Insert):
            bound = binder.insert(statement)
        elif isinstance(statement, s.Update):
            bound = binder.update(statement)
        else:
            bound = binder.delete(statement)
    return bound


class _Binder:
    def __init__(
        self,
        source: Source,
        tables: Mapping[str, TableInfo],
        parameters: Parameters,
    ) -> None:
        self.source = source
        self.tables = tables
        self.parameters = parameters

    def _in(self, scope: Scope, message: str) -> ExpressionBinder:
        """Returns a binder of expressions without aggregates."""
        return ExpressionBinder(self.source, scope, self.parameters, message)

    # SELECT -----------------------------------------------------------------

    def select(self, node: s.Select) -> lo.Select:
        """Binds a SELECT with what UNION ALL adds."""
        if not node.union:
            return _Core(self, node).bind()
        plain = replace(node, order=(), limit=None, offset=None, union=())
        parts = self._alike(
            node,
            [self.select(plain)] + [self.select(part) for part in node.union],
        )
        first = parts[0]
        scope = Scope(
            self.source,
            [
                ScopeColumn("", o.name, _field(i, o))
                for i, o in enumerate(_joined_types(parts))
            ],
        )
        order = []
        for item in node.order:
            value = self._position(item.value, len(first.outputs))
            if value is not None:
                found = scope.columns[value].value
            elif isinstance(item.value, s.Name) and not item.value.table:
                found = scope.find(item.value).value
            else:
                raise self.source.refuse(
                    item.span,
                    "the order of UNION ALL is by name or number of an output",
                )
            order.append(lo.OrderBy(found, item.down))
        limit, offset = self.limits(node)
        return replace(
            first,
            order=tuple(order),
            limit=limit,
            offset=offset,
            union=tuple(parts[1:]),
            span=node.span,
        )

    def _alike(self, node: s.Select, parts: list[lo.Select]) -> list[lo.Select]:
        """Returns the SELECTs of a UNION ALL with outputs of one kind."""
        count = len(parts[0].outputs)
        for part in parts:
            if len(part.outputs) != count:
                raise self.source.refuse(
                    part.span,
                    f"UNION ALL of {count} and {len(part.outputs)} columns",
                )
        columns = []
        for index in range(count):
            try:
                columns.append(
                    rules.alike([p.outputs[index].value for p in parts])
                )
            except Fault as fault:
                raise self.source.refuse(
                    node.span, f"UNION ALL, column {index + 1}: {fault}"
                ) from None
        return [
            replace(
                part,
                outputs=tuple(
                    replace(output, value=columns[i][at])
                    for i, output in enumerate(part.outputs)
                ),
            )
            for at, part in enumerate(parts)
        ]

    def _position(self, node: s.Node, count: int) -> int | None:
        """Returns which output a number means; None: it is no number."""
        if not isinstance(node, s.Literal) or not isinstance(node.value, int):
            return None
        if not 1 <= node.value <= count:
            raise self.source.refuse(
                node.span, f"there are outputs 1 to {count}"
            )
        return node.value - 1

    def limits(self, node: s.Select) -> tuple[e.Expr | None, e.Expr | None]:
        """Binds LIMIT and OFFSET: whole numbers or parameters."""
        bound = []
        binder = self._in(Scope(self.source, ()), "not in LIMIT")
        for part in (node.limit, node.offset):
            if part is None:
                bound.append(None)
                continue
            value = binder.bind(part, _COUNT)
            if not (
                isinstance(value, (e.Constant, e.Parameter))
                and value.type.kind == "int"
            ):
                raise self.source.refuse(
                    part.span, "LIMIT takes a whole number or a parameter"
                )
            if isinstance(value, e.Constant) and value.value < 0:
                raise self.source.refuse(
                    part.span, "LIMIT and OFFSET are at least 0"
                )
            bound.append(value)
        return bound[0], bound[1]

    # FROM -------------------------------------------------------------------

    def scope(self, node: s.Node | None) -> tuple[lo.Source | None, Scope]:
        """Binds a FROM clause."""
        if node is None:
            return None, Scope(self.source, ())
        source, columns = self._from(node)
        return source, Scope(self.source, columns)

    def _from(self, node: s.Node) -> tuple[lo.Source, list[ScopeColumn]]:
        if isinstance(node, s.TableRef):
            table = table_named(self.source, self.tables, node.name, node.span)
            return (
                lo.FromTable(table, node.span),
                _columns_of(table, node.alias or table.name),
            )
        if isinstance(node, s.SubQuery):
            select = self.select(node.query)
            return (
                lo.FromSelect(select, node.span),
                [
                    ScopeColumn(node.alias, o.name, _field(i, o))
                    for i, o in enumerate(_outputs_of(select))
                ],
            )
        assert isinstance(node, s.Join)
        return self._join(node)

    def _join(self, node: s.Join) -> tuple[lo.Source, list[ScopeColumn]]:
        left, columns = self._from(node.left)
        right, added = self._from(node.right)
        if added[0].table in {column.table for column in columns}:
            raise self.source.refuse(
                node.right.span,
                f"both are called '{added[0].table}': give one an alias",
            )
        width = len(columns)
        shifted = [
            replace(c, value=replace(c.value, index=c.value.index + width))
            for c in added
        ]
        scope = Scope(self.source, columns + shifted)
        condition: e.Expr = rules.truth(True)
        if node.condition is not None:
            condition = self._in(scope, _IN_ON).condition(node.condition)
        if node.kind == "left":
            shifted = [
                replace(c, value=replace(c.value, type=c.value.type.maybe()))
                for c in shifted
            ]
        return (
            lo.FromJoin(node.kind, left, right, condition, node.span),
            columns + shifted,
        )

    # Changes ----------------------------------------------------------------

    def _table(self, name: str, span: Span) -> tuple[TableInfo, Scope]:
        table = table_named(self.source, self.tables, name, span)
        return table, Scope(self.source, _columns_of(table, table.name))

    def _column(self, table: TableInfo, name: str, span: Span) -> int:
        node = s.Name(span, "", name)
        scope = Scope(self.source, _columns_of(table, table.name))
        return scope.find(node).value.index

    def insert(self, node: s.Insert) -> lo.BoundInsert:
        table, _ = self._table(node.table, node.table_span)
        places = self._places(table, node)
        select, rows = None, []
        if node.select is not None:
            select = self.select(node.select)
            self._check_outputs(table, places, select)
        binder = self._in(Scope(self.source, ()), _IN_VALUES)
        for row in node.rows:
            self._check_count(
                len(row), places, (row[0].span[0], row[-1].span[1])
            )
            values: list[e.Expr] = [rules.constant(None)] * len(table.columns)
            for place, value in zip(places, row, strict=True):
                values[place] = self._stored(binder, table, place, value)
            rows.append(tuple(values))
        return lo.BoundInsert(
            node.name,
            table,
            tuple(places),
            tuple(rows),
            select,
            self.parameters.infos(),
            node.span,
        )

    def _places(self, table: TableInfo, node: s.Insert) -> list[int]:
        """Returns the columns that an INSERT gives values."""
        places = [self._column(table, *c) for c in node.columns]
        for at, place in enumerate(places):
            if place in places[:at]:
                raise self.source.refuse(
                    node.columns[at][1], "the column is named twice"
                )
        for i, column in enumerate(table.columns):
            if not places or i in places:
                continue
            try:
                stored(column, None, i == table.key)
            except Fault:
                raise self.source.refuse(
                    node.span, f"column '{column.name}' gets no value"
                ) from None
        return places or list(range(len(table.columns)))

    def _check_count(self, count: int, places: list[int], span: Span) -> None:
        if count != len(places):
            raise self.source.refuse(
                span, f"{count} values for {len(places)} columns"
            )

    def _check_outputs(
        self, table: TableInfo, places: list[int], select: lo.Select
    ) -> None:
        """Refuses outputs of a SELECT that a column never stores."""
        self._check_count(len(select.outputs), places, select.span)
        for place, output in zip(places, _outputs_of(select), strict=True):
            span = select.outputs[places.index(place)].value.span
            if span == e.NOWHERE:  # of *
                span = select.span
            self._check_kind(table, place, output.value, span)

    def update(self, node: s.Update) -> lo.BoundUpdate:
        table, scope = self._table(node.table, node.table_span)
        if table.kind == "series":
            raise self.source.refuse(
                node.span,
                f"'{table.name}' is a series: its rows are never changed",
            )
        binder = self._in(scope, _IN_VALUES)
        changes = []
        for name, span, value in node.changes:
            place = self._column(table, name, span)
            if place == table.key:
                raise self.source.refuse(
                    span, "the key is not changed: delete and insert the row"
                )
            if place in [column for column, _ in changes]:
                raise self.source.refuse(span, "the column is set twice")
            changes.append((place, self._stored(binder, table, place, value)))
        where = node.where and self._in(scope, _IN_WHERE).condition(node.where)
        return lo.BoundUpdate(
            node.name,
            table,
            tuple(changes),
            where,
            self.parameters.infos(),
            node.span,
        )

    def delete(self, node: s.Delete) -> lo.BoundDelete:
        table, scope = self._table(node.table, node.table_span)
        where = node.where and self._in(scope, _IN_WHERE).condition(node.where)
        return lo.BoundDelete(
            node.name, table, where, self.parameters.infos(), node.span
        )

    def _stored(
        self,
        binder: ExpressionBinder,
        table: TableInfo,
        place: int,
        node: s.Node,
    ) -> e.Expr:
        """Binds a value that a column is to store."""
        wanted = table.columns[place].type
        if wanted.kind == "blob":
            wanted = text()
        value = binder.bind(node, wanted.maybe())
        self._check_kind(table, place, value, node.span)
        return value

    def _check_kind(
        self, table: TableInfo, place: int, value: e.Expr, span: Span
    ) -> None:
        """Refuses a value that a column never stores."""
        column, kind = table.columns[place], value.type.kind
        is_text = column.kind in ("text", "type")
        try:
            if isinstance(value, e.Constant):
                stored(column, value.value, place == table.key)
            elif column.kind == "any" and kind != "blob":
                return
            elif kind == "blob" or column.kind in ("bytes", "var"):
                raise Fault(
                    f"column '{column.name}' takes only constants, because it "
                    "has bytes"
                    if column.kind in ("bytes", "var")
                    else "bytes and texts of any length are not values"
                )
            elif kind != "null" and (kind == "text") != is_text:
                what = "a text" if is_text else "a number"
                raise Fault(f"column '{column.name}' takes {what}")
        except Fault as fault:
            raise self.source.refuse(span, str(fault)) from None


def _columns_of(table: TableInfo, alias: str) -> list[ScopeColumn]:
    return [
        ScopeColumn(alias, c.name, e.Field(c.type, index=i, name=c.name))
        for i, c in enumerate(table.columns)
    ]


def _field(index: int, output: lo.Output) -> e.Field:
    return e.Field(output.value.type, index=index, name=output.name)


def _joined_types(parts: list[lo.Select]) -> list[lo.Output]:
    """Returns the outputs of the first SELECT with the types of all."""
    return [
        replace(
            output,
            value=replace(
                output.value,
                type=rules.common([p.outputs[i].value.type for p in parts]),
            ),
        )
        for i, output in enumerate(parts[0].outputs)
    ]


def _outputs_of(select: lo.Select) -> list[lo.Output]:
    return _joined_types([select, *select.union])


class _Core:
    """Binds one SELECT."""

    def __init__(self, binder: _Binder, node: s.Select) -> None:
        self.binder = binder
        self.source = binder.source
        self.node = node
        self.aggregates: list[AggregateCall] = []
        self.keys: list[e.Expr] | None = None

    def bind(self) -> lo.Select:
        node, binder = self.node, self.binder
        source, self.scope = binder.scope(node.source)
        where = node.where and binder._in(self.scope, _IN_WHERE).condition(
            node.where
        )
        outputs = [lo.Output(name, value) for name, value, _ in self._bound()]
        self._group(outputs)
        aliases = {
            name: output.value
            for (name, _, is_alias), output in zip(
                self._bound_names, outputs, strict=True
            )
            if is_alias
        }
        having = None
        if node.having is not None:
            having = self._expressions(aliases).condition(node.having)
            if self.keys is None and not _aggregates_in(having):
                raise self.source.refuse(
                    node.having.span, "HAVING is of groups: use WHERE"
                )
        order = self._order(outputs, aliases)
        if self.keys is None and any(
            map(_aggregates_in, [o.value for o in outputs])
        ):
            self.keys = []
        if having is not None and self.keys is None:
            self.keys = []
        outputs = [replace(o, value=self._over(o.value)) for o in outputs]
        having = having and self._over(having)
        order = [replace(o, value=self._over(o.value)) for o in order]
        limit, offset = binder.limits(node)
        self._check_values(
            [o.value for o in outputs] + [o.value for o in order]
        )
        if node.distinct:
            self._check_distinct(outputs, order)
        self._check_distinct_values()
        return lo.Select(
            source,
            where,
            None if self.keys is None else tuple(self.keys),
            tuple(
                Aggregate(
                    a.function, a.argument, a.type, a.distinct, a.part, a.bound
                )
                for a in self.aggregates
            ),
            having,
            tuple(outputs),
            node.distinct,
            tuple(order),
            limit,
            offset,
            (),
            node.span,
        )

    # Outputs ----------------------------------------------------------------

    def _expressions(self, aliases=None) -> ExpressionBinder:
        return ExpressionBinder(
            self.source, self.scope, self.binder.parameters, "", aliases
        )

    def _bound(self) -> list[tuple[str, e.Expr, bool]]:
        """Binds the outputs: (name, value, whether the name is an alias)."""
        result: list[tuple[str, e.Expr, bool]] = []
        for output in self.node.outputs:
            if output.value is None:
                if not self.scope.columns:
                    raise self.source.refuse(output.span, "* without FROM")
                columns = (
                    self.scope.of_table(output.table, output.span)
                    if output.table
                    else self.scope.columns
                )
                for column in columns:
                    value = replace(column.value, span=output.span)
                    result.append((column.name, value, False))
                continue
            value = self._expressions().bind(output.value)
            name = output.alias or self._name(output.value, value)
            result.append((name, value, bool(output.alias)))
        self._bound_names = result
        return result

    def _name(self, node: s.Node, value: e.Expr) -> str:
        if isinstance(node, s.Name) and isinstance(value, e.Field):
            return value.name
        return self.source.slice(node.span)

    # Groups -----------------------------------------------------------------

    def _group(self, outputs: list[lo.Output]) -> None:
        if not self.node.groups:
            return
        self.keys = []
        for node in self.node.groups:
            key = self._key(node, outputs)
            if _aggregates_in(key):
                raise self.source.refuse(node.span, _IN_GROUP)
            if isinstance(key, e.Constant):
                raise self.source.refuse(node.span, "a constant groups nothing")
            if key not in self.keys:
                self.keys.append(key)

    def _key(self, node: s.Node, outputs: list[lo.Output]) -> e.Expr:
        """Binds a key: a number or an alias means an output."""
        place = self.binder._position(node, len(outputs))
        if place is not None:
            return outputs[place].value
        if isinstance(node, s.Name) and not node.table:
            known = pick(node.column, [c.name for c in self.scope.columns])
            names = [
                name if is_alias else "\0"
                for name, _, is_alias in self._bound_names
            ]
            found = [] if known else pick(node.column, names)
            if found:
                return outputs[found[0]].value
        return self.binder._in(self.scope, _IN_GROUP).bind(node)

    # Order ------------------------------------------------------------------

    def _order(
        self, outputs: list[lo.Output], aliases: dict[str, e.Expr]
    ) -> list[lo.OrderBy]:
        result = []
        for item in self.node.order:
            place = self.binder._position(item.value, len(outputs))
            if place is not None:
                value = outputs[place].value
            else:
                value = self._expressions(aliases).bind(item.value)
            if isinstance(value, e.Constant):
                raise self.source.refuse(item.span, "a constant orders nothing")
            result.append(lo.OrderBy(value, item.down))
        return result

    def _check_distinct_values(self) -> None:
        """Refuses DISTINCT of a value beside aggregates of others: a group keeps
        its different values, or all."""
        wanted = [a for a in self.aggregates if a.distinct]
        for other in self.aggregates:
            if wanted and (
                other.argument != wanted[0].argument
                or not (other.distinct or other.function in ("min", "max"))
            ):
                raise self.source.refuse(
                    other.span,
                    "beside an aggregate of DISTINCT values are only those of "
                    "the same values",
                )

    def _check_distinct(
        self, outputs: list[lo.Output], order: list[lo.OrderBy]
    ) -> None:
        values = [output.value for output in outputs]
        for item in order:
            if item.value not in values:
                raise self.source.refuse(
                    item.value.span,
                    "ORDER BY of SELECT DISTINCT is by an output",
                )

    def _check_values(self, values: list[e.Expr]) -> None:
        for value in [*values, *(self.keys or [])]:
            if value.type.kind == "blob":
                raise self.source.refuse(
                    value.span,
                    f"'{value.name}' has bytes, or texts of any length"
                    if isinstance(value, e.Field)
                    else "bytes and texts of any length are not supported",
                )

    # Values over groups -----------------------------------------------------

    def _over(self, value: e.Expr) -> e.Expr:
        """Returns an expression of the source's row as one of the base row."""
        if self.keys is None:
            return value
        if value in self.keys:
            index = self.keys.index(value)
            return e.Field(
                value.type,
                index=index,
                name=self.source.slice(value.span),
                span=value.span,
            )
        if isinstance(value, AggregateCall):
            if value not in self.aggregates:
                self.aggregates.append(value)
            index = len(self.keys) + self.aggregates.index(value)
            return e.Field(
                value.type,
                index=index,
                name=self.source.slice(value.span),
                span=value.span,
            )
        if isinstance(value, e.Field):
            raise self.source.refuse(
                value.span,
                f"column '{value.name}' is neither in GROUP BY nor in an "
                "aggregate function",
            )
        return e.rebuilt(value, self._over)


def _aggregates_in(value: e.Expr) -> bool:
    return any(isinstance(node, AggregateCall) for node in e.walk(value))
