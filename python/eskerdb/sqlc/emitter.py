# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The calls of eskerdb.sql.emit as statements of C.

What lives across rows is in `struct NAME`, to which `q` points: cursors, row
bytes, variables, accumulators. Columns are locals of the loop's body, loaded
where they are first used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from eskerdb.sql import expr as e
from eskerdb.sql import plan as p
from eskerdb.sql.emit import Accumulators, Emitter, Records, Room
from eskerdb.sql.types import INT_MAX, Type
from eskerdb.sqlc import ctype
from eskerdb.sqlc.cexpr import (
    FALSE,
    RELATION,
    TRUE,
    UNARY,
    C,
    all_of,
    any_of,
    negated,
    relation,
)
from eskerdb.sqlc.code import Body, Load, Row, Text
from eskerdb.sqlc.groups import Cells
from eskerdb.sqlc.kv import KvRoom, KvSource
from eskerdb.sqlc.loops import Loops
from eskerdb.sqlc.outputs import Outputs
from eskerdb.sqlc.records import Store
from eskerdb.sqlc.scans import Source
from eskerdb.sqlc.shared import Shared
from eskerdb.sqlc.statements import (
    Field,
    Scope,
)
from eskerdb.sqlc.value import Refused, TextValue, Value, cast
from eskerdb.sqlc.values import Values


class CEmitter(Loops, Emitter):
    """Writes one query.

    outputs  the row that it returns
    shared   the values that are needed more than once
    """

    def __init__(
        self,
        query: p.Query,
        name: str,
        step_pages: int,
        room: KvRoom,
        wanted: frozenset[e.Expr] = frozenset(),
    ) -> None:
        super().__init__(query, name, step_pages, room)
        self.shared = Shared(self, wanted)
        self.query = query
        self.tables: dict[str, str] = {}
        self.needs: set[str] = set()
        self.is_single = _sources(query.plan) == 1
        self.values = Values(self)
        self.outputs = Outputs(self, query)
        self.cells: dict[int, Cells] = {}
        self._stores: list[Store] = []
        self._refuses: dict[int, bool] = {}
        self._grouped: dict[int, Store] = {}
        self._results: dict[int, tuple[Cells, int]] = {}
        self._variables: list[tuple[Value | TextValue, C | None]] = []
        self._blocks = 0
        self.scratch = ""  # the name of what orders go through
        for table in query.tables:
            self.tables[table.name] = self.names.new(table.name)
        self.parameters = [
            self.names.new(parameter.name) for parameter in query.parameters
        ]
        self.kv_room = Room(
            room.value_bytes, parameters=True, advice=": --value-bytes"
        )
        self.text_limits = {  # a place without a width is beside a value
            index: parameter.type.bytes or room.value_bytes - 1
            for index, parameter in enumerate(query.parameters)
            if parameter.type.kind == "text"
        }
        for parameter, c in zip(query.parameters, self.parameters, strict=True):
            kept = parameter_type(parameter.type)
            self.members.append(Field(kept, c, bytes=ctype.BYTES[kept]))

    # -------------------------------------------------------------- leaves

    def leaf(self, expr: e.Expr) -> Value:
        if isinstance(expr, e.Column):
            return self._column(expr)
        if isinstance(expr, e.Variable):
            value = self._variable(expr)
            assert isinstance(value, Value)
            return value
        if isinstance(expr, e.Result):
            cells, index = self._results[expr.index]
            return cells.result(self, index)
        assert isinstance(expr, e.Parameter)
        type = self.query.parameters[expr.index].type
        return Value(
            C(f"q->{self.parameters[expr.index]}"),
            FALSE,
            ctype.result(type),
            type.lo,
            type.hi,
        )

    def _variable(self, expr: e.Variable) -> Value | TextValue:
        value, has = self._variables[expr.index]
        if has is None or any(has in scope.known for scope in self._scopes):
            return value
        return replace(value, null=negated(has))

    def text_leaf(self, expr: e.Expr) -> TextValue:
        if isinstance(expr, e.Variable):
            value = self._variable(expr)
            assert isinstance(value, TextValue)
            return value
        if isinstance(expr, e.Result):
            cells, index = self._results[expr.index]
            return cells.text(index)
        if isinstance(expr, e.Parameter):
            c = f"q->{self.parameters[expr.index]}"
            return TextValue(c, f"(uint16_t)strlen({c})", FALSE)
        assert isinstance(expr, e.Column)
        source = self.sources[expr.scan]
        column = source.scan.table.column(expr.index)
        if isinstance(source, KvSource):
            return source.text(column, expr.span)
        if column.kind not in ("text", "bytes") or column.missing is not None:
            raise Refused(
                f"column '{column.name}' of type {column.kind} is not "
                "compiled to C",
                expr.span,
            )
        null = self._outer.get(expr.scan, FALSE)
        return TextValue(source.place(expr.index), str(column.bytes), null)

    def _column(self, expr: e.Column) -> Value:
        source = self.sources[expr.scan]
        if isinstance(source, KvSource):
            return source.cell(source.scan.table.column(expr.index), expr.span)
        key = (expr.scan, expr.index)
        for scope in reversed(self._scopes):
            if key in scope.columns:
                value = scope.columns[key]
                break
        else:
            scope = self.row_scope
            value = self._load(source, expr, scope)
            scope.columns[key] = value
        return replace(
            value, null=any_of(self._outer.get(expr.scan, FALSE), value.null)
        )

    def _load(self, source: Source, expr: e.Column, scope: Scope) -> Value:
        column = source.scan.table.column(expr.index)
        if column.kind not in ctype.COLUMNS:
            raise Refused(
                f"column '{column.name}' of type {column.kind} is not "
                "compiled to C here",
                expr.span,
            )
        kept = ctype.COLUMNS[column.kind]
        text = source.load(expr.index)
        if kept == "float":
            kept, text = "double", f"(double){text}"
        if kept == "uint64_t":
            kept, text = "int64_t", f"(int64_t){text}"
        name = self.names.new(column.name)
        scope.body.items.append(Load(kept, name, text))
        c = C(name)
        null = self._missing(column, c)
        if column.kind == "u64":
            beyond = all_of(negated(null), relation(c, "<", C("0")))
            scope.body.items.append(
                Body(
                    f"if ({beyond})",
                    [
                        Text(
                            "return esk_query_stop(&q->at, ESK_QUERY_FAILED, "
                            "ESK_E_LIMIT);"
                        )
                    ],
                )
            )
        if kept == "double":
            return Value(c, null, kept)
        lo, hi = ctype.limits(kept)
        limits = max(lo, expr.type.lo), min(hi, expr.type.hi)
        return Value(c, null, kept, *source.span(expr.index, limits))

    def _missing(self, column: p.TableColumn, c: C) -> C:
        missing = column.missing
        if column.kind in ("f32", "f64"):
            nan = C(f"{c} != {c}", RELATION, f"{c} == {c}")
            if missing is None:
                return nan
            return any_of(nan, relation(c, "==", C(repr(float(missing)))))
        if missing is None:
            return FALSE
        value = int(missing)  # type: ignore[arg-type]
        if value > INT_MAX:
            value -= 1 << 64
        kept = ctype.COLUMNS[column.kind]
        name = kept if kept in ("uint32_t", "int64_t") else "int32_t"
        text = ctype.literal(value, name)
        return relation(c, "==", C(text, UNARY))

    # --------------------------------------------------------------- values

    def variable(self, type: Type, name: str) -> e.Variable:
        made: Value | TextValue
        if type.kind == "text":
            c = self.text_member(type, name)
            made = TextValue(str(c), str(type.bytes), FALSE)
        else:
            kept = ctype.stored(type)
            c = self.member(kept, name)
            made = Value(c, FALSE, kept, type.lo, type.hi)
        has = (
            self.member("bool", f"has_{c.text[3:]}") if type.nullable else None
        )
        self._variables.append((made, has))
        return e.Variable(type, index=len(self._variables) - 1, name=name)

    def assign(self, variable: e.Variable, value: e.Expr) -> None:
        kept, has = self._variables[variable.index]
        if isinstance(kept, TextValue):
            text = self.values.text(value)
            copy = f"esk_text_copy({kept.c}, sizeof {kept.c}, {text.c}, "
            self._assign(text.null, has, f"{copy}{text.bytes});")
            return
        if _is_increment(variable, value):
            self.line(f"{kept.c}++;")
            return
        new = self.values.value(value)
        self._assign(new.null, has, f"{kept.c} = {cast(new, kept.ctype)};")

    def _assign(self, null: C, has: C | None, line: str) -> None:
        """Writes an assignment, and whether the variable has a value."""
        if has is None or null == FALSE:
            self.line(line)
            if has is not None:
                self.line(f"{has} = true;")
                self._scopes[-1].known.add(has)
            return
        for scope in self._scopes:
            scope.known.discard(has)
        if null != TRUE:
            with self.under(negated(null)):
                self.line(line)
        self.line(f"{has} = {negated(null)};")

    # -------------------------------------------------------------- control

    @contextmanager
    def when(self, condition: e.Expr) -> Iterator[None]:
        with self.under(self.values.truth(condition)):
            yield

    @contextmanager
    def block(self) -> Iterator[Body]:
        self._blocks += 1
        body = Body(end=f"done_{self._blocks}")
        # Without braces: what it loads is in the scope around.
        self._items.append(body)
        self._scopes.append(Scope(body))
        yield body
        self._scopes.pop()

    def leave(self, block: object) -> None:
        assert isinstance(block, Body)
        self.line(f"goto {block.end};")

    # ----------------------------------------------------------- aggregates

    def accumulators(self, aggregates: Sequence[p.Aggregate]) -> Accumulators:
        number = len(self.cells)
        cells = Cells(self, aggregates)
        self.cells[number] = cells
        results = []
        for index, aggregate in enumerate(aggregates):
            self._results[len(self._results)] = (cells, index)
            results.append(
                e.Result(
                    aggregate.type,
                    index=len(self._results) - 1,
                    function=aggregate.function,
                )
            )
        made = Accumulators(number, tuple(aggregates), tuple(results))
        self.clear(made)
        return made

    def clear(self, accumulators: Accumulators) -> None:
        for line in self.cells[accumulators.number].clear():
            self.line(line)

    def accumulate(
        self, accumulators: Accumulators, values: Sequence[e.Expr | None]
    ) -> None:
        self.cells[accumulators.number].add(self, values)
        if accumulators.number in self._grouped:
            self._grouped[accumulators.number].save()

    # -------------------------------------------------------------- records

    def groups(
        self, keys: Sequence[Type], accumulators: Accumulators, bound: int
    ) -> Records:
        cells = self.cells[accumulators.number]
        store = Store(self, "groups", keys, bound, cells)
        records = self._records(store, keys, "key")
        self._grouped[accumulators.number] = store
        return records

    def _records(
        self, store: Store, types: Sequence[Type], name: str
    ) -> Records:
        row = []
        for index, (type, value) in enumerate(
            zip(types, store.row, strict=True)
        ):
            self._variables.append(value)
            number = len(self._variables) - 1
            row.append(e.Variable(type, index=number, name=f"{name}{index}"))
        self._stores.append(store)
        return Records(len(self._stores) - 1, tuple(row))

    def group(self, groups: Records, keys: Sequence[e.Expr]) -> None:
        self._stores[groups.number].find(keys)

    def order(
        self,
        columns: Sequence[Type],
        down: Sequence[bool],
        count: int,
        refuses: bool,
        scratch: bool = False,
    ) -> Records:
        given = None
        if scratch:
            self.scratch = self.scratch or self.names.new("scratch")
            given = C(f"q->{self.scratch}")
        store = Store(self, "order", columns, count, None, down, given)
        self._refuses[len(self._stores)] = refuses
        return self._records(store, columns, "column")

    def push(self, records: Records, values: Sequence[e.Expr]) -> None:
        store = self._stores[records.number]
        store.push(values, self._refuses[records.number])

    @contextmanager
    def each(self, records: Records) -> Iterator[None]:
        store = self._stores[records.number]
        if store.is_runs:
            with self._each_of_runs(store):
                yield
            return
        self.line(f"{store.records}.at = 0;")
        head = f"while (esk_records_next(&{store.records}) == ESK_OK)"
        with self._inside(
            Body(
                head, loop=True, resume=self.places.new(f"next_of_{store.name}")
            )
        ):
            store.load()
            yield

    @contextmanager
    def _each_of_runs(self, store: Store) -> Iterator[None]:
        label = self.places.new(f"next_of_{store.name}")
        call = f"esk_runs_next(&{store.records}, {store.values}, {store.nulls})"
        head = f"while ((status = {call}) == ESK_OK || status == ESK_AGAIN)"
        with self._inside(Body(head, loop=True, resume=label)):
            with self.under(C("status == ESK_AGAIN", RELATION)):
                self.step_runs(store, label, "continue;")
            store.read_texts()
            yield
        with self.under(C("status != ESK_END", RELATION)):
            self.fail("status")

    def step_runs(self, store: Store, label: str, onward: str) -> None:
        """Makes a step of runs, and goes on with `onward`; if calls have pages
        to count, a later call goes on at a label."""
        self.line(f"status = esk_runs_step(&{store.records});")
        self.stop_unless_ok()
        self.line(
            f"return esk_query_stop(&q->at, {{at:{label}}}, ESK_AGAIN);"
            if self.step_pages
            else onward
        )

    def quantiles(
        self, records: Records, wanted: Sequence[tuple[e.Variable, int]]
    ) -> None:
        store = self._stores[records.number]
        for variable, part in wanted:
            self.line(f"(void)esk_topk_quantile(&{store.records}, {part});")
            self.assign(variable, records.row[0])
        self.line(f"esk_records_clear(&{store.records});")

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        with self._inside(Body("else")):
            yield

    # ----------------------------------------------------------------- rows

    def emit(self, outputs: Sequence[e.Expr]) -> None:
        self.outputs.emit(outputs)
        self._items.append(Row())
        self.rows += 1

    def column_kind(self, column: e.Column) -> str:
        table = self.sources[column.scan].scan.table
        return table.column(column.index).kind

    def read_stored(
        self, scan: int, anys: Sequence[str], types: Sequence[str]
    ) -> None:
        source = self.sources[scan]
        assert isinstance(source, KvSource)
        source.read(anys, types)

    def average(self, output: e.Expr) -> tuple[str, str] | None:
        """Returns the struct of an average of integers, and its value;
        None for any other output."""
        if not isinstance(output, e.Result) or output.function != "avg":
            return None
        cells, index = self._results[output.index]
        return cells.average(self, index)


def parameter_type(type: Type) -> str:
    return "const char *" if type.kind == "text" else ctype.result(type)


def _sources(plan: p.Plan) -> int:
    """Returns how many scans give rows of the plan."""
    if isinstance(plan, p.Scan | p.CountRows | p.SeekUnion | p.Values):
        return 1
    if isinstance(plan, p.UnionAll):
        return sum(_sources(part) for part in plan.inputs)
    if isinstance(plan, p.NestedJoin):
        return _sources(plan.left) + _sources(plan.right)
    if isinstance(plan, p.MergeJoin | p.LookupJoin):
        return _sources(plan.left)
    return _sources(plan.input)


def _is_increment(variable: e.Variable, value: e.Expr) -> bool:
    return (
        isinstance(value, e.Arithmetic)
        and value.op == "+"
        and not value.checked
        and isinstance(value.left, e.Variable)
        and value.left.index == variable.index
        and isinstance(value.right, e.Constant)
        and value.right.value == 1
    )
