# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The calls of eskerdb.sql.emit that read tables: loops, lookups, counts.

The first loop is prepared by the query's open function, where nothing comes
before it that takes a pause; cursors that are opened later have a function
each.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from eskerdb.sql import expr as e
from eskerdb.sql import plan as p
from eskerdb.sql.types import Type, integer
from eskerdb.sqlc.cexpr import (
    FALSE,
    RELATION,
    TRUE,
    C,
    all_of,
    any_of,
    negated,
    relation,
)
from eskerdb.sqlc.code import Body, Item, Label
from eskerdb.sqlc.kv import KvRoom, KvSource, unordered
from eskerdb.sqlc.scans import Source
from eskerdb.sqlc.statements import (
    Scope,
    Statements,
    is_aside,
    is_bare,
    is_simple,
)
from eskerdb.sqlc.value import Refused, TextValue, Value, integers_compared
from eskerdb.sqlc.values import Values


class Loops(Statements):
    """The tables that a query reads.

    name        C's name of the query
    marks       first in its open function: what the query may see
    opening     of its open function
    first       the loop that the open function has prepared
    openers     functions that open other cursors: name to statements
    step_pages  after so many pages without a row a call returns ESK_AGAIN
    sources     by the numbers of the scans
    """

    values: Values
    _variables: list[tuple[Value | TextValue, C | None]]

    def __init__(
        self, query: p.Query, name: str, step_pages: int, room: KvRoom
    ) -> None:
        super().__init__()
        self.name = name
        self.step_pages = step_pages
        self.room = room
        self.marks: list[Item] = []
        self.opening: list[Item] = []
        self.first: Body | None = None
        self.openers: dict[str, list[Item]] = {}
        self.sources: dict[int, Source | KvSource] = {}
        self._unordered = unordered(query.plan)
        self._outer: dict[int, C] = {}  # scans whose rows may be none

    @abstractmethod
    def variable(self, type: Type, name: str) -> e.Variable:
        """Makes a variable: see eskerdb.sql.emit."""

    def _source(self, scan: p.Scan, is_lookup: bool = False) -> Source:
        source = Source(self, scan, is_lookup)
        self.sources[scan.number] = source
        return source

    def _open(self, source: Source | KvSource, hoisted: bool) -> None:
        if hoisted:
            source.open()
            return
        source.keep_mark()
        function = f"{self.name}_open_{source.name}"
        items: list[Item] = []
        scopes, self._scopes = self._scopes, [Scope(Body(items=items))]
        source.open()
        self._scopes = scopes
        self.openers[function] = items
        self.line(f"status = {function}(q);")
        self.stop_unless_ok()

    def _kv_source(self, scan: p.Scan) -> KvSource:
        ordered = scan.number not in self._unordered
        source = KvSource(self, scan, self.room, ordered)
        self.sources[scan.number] = source
        return source

    @contextmanager
    def _kv_lookup(self, source: KvSource) -> Iterator[None]:
        label = self.place(f"look_up_{source.name}")
        may_be = source.may_be()
        if may_be != TRUE:
            self.line("status = ESK_NOT_FOUND;")
        with self.under(may_be):
            self._items.append(source.get())
        with self.under(
            C("status != ESK_OK && status != ESK_NOT_FOUND", RELATION)
        ):
            self.line(f"return esk_query_stop(&q->at, {{at:{label}}}, status);")
        with self.under(C("status == ESK_OK", RELATION)):
            yield

    @contextmanager
    def loop(self, scan: p.Scan) -> Iterator[None]:
        source: Source | KvSource
        if scan.table.kind == "kv":
            source = self._kv_source(scan)
            if source.is_lookup:
                with self._kv_lookup(source):
                    yield
                return
        else:
            source = self._source(scan)
        hoisted = self._hoists()
        if not hoisted:
            self._open(source, False)
        body = Body(
            f"while ((status = {source.next()}) == ESK_OK)",
            loop=True,
            resume=self.places.new(f"read_{source.name}"),
        )
        if hoisted:
            self._hoist(source, body)
        with self._inside(body):
            if isinstance(source, KvSource):
                source.body = body.items
            yield
        with self.under(C("status != ESK_END", RELATION)):
            self.line(
                f"return esk_query_stop(&q->at, {{at:{body.resume}}}, status);"
            )

    def _hoists(self) -> bool:
        """Whether the open function can do all that came before."""
        return self.first is None and all(
            not scope.body.head
            and not is_aside(scope.body)
            and all(is_simple(item) for item in scope.body.items)
            for scope in self._scopes
        )

    def _hoist(self, source: Source | KvSource, body: Body) -> None:
        self.first = body
        for scope in self._scopes:
            inner = [i for i in scope.body.items if is_bare(i)]
            self.opening += [i for i in scope.body.items if not is_bare(i)]
            scope.body.items[:] = inner
        scopes, self._scopes = self._scopes, [Scope(Body(items=self.opening))]
        self._open(source, True)
        self._scopes = scopes

    def open(self, scan: p.Scan) -> None:
        source = self._source(scan)
        source.has_state()
        self._open(source, False)

    @contextmanager
    def advance(self, scan: p.Scan, key: e.Expr, outer: bool) -> Iterator[None]:
        source = self.sources[scan.number]
        assert isinstance(source, Source)
        label = self.places.new(f"advance_{source.name}")
        self._items.append(Label(label))
        value = self.values.value(key)
        wanted = value.c
        if value.c.binds:
            wanted = self.local(
                value.ctype,
                "wanted",
                str(value.c) if value.null == FALSE else "0",
            )
            if value.null != FALSE:
                with self.under(negated(value.null)):
                    self.line(f"{wanted} = {value.c};")
        value = replace(value, c=wanted)
        below = self._key_is(source, "<", value)
        is_row = relation(source.state, "==", C("ESK_SIDE_ROW"))
        opened = relation(source.state, "==", C("ESK_SIDE_OPENED"))
        behind = all_of(
            negated(value.null), any_of(opened, all_of(is_row, below))
        )
        with self.under(behind):
            with self._inside(Body("do", tail=f" while ({below});")):
                self.line(f"status = {source.next()};")
                with self.under(C("status != ESK_OK", RELATION)):
                    self.line("break;")
            with self.under(
                C("status != ESK_OK && status != ESK_END", RELATION)
            ):
                self.line(
                    f"return esk_query_stop(&q->at, {{at:{label}}}, status);"
                )
            self.line(
                f"{source.state} = status == ESK_OK ? ESK_SIDE_ROW "
                ": ESK_SIDE_ENDED;"
            )
        ended = relation(source.state, "==", C("ESK_SIDE_ENDED"))
        if not outer and any(scope.body.loop for scope in self._scopes):
            # No later row of the loop has a partner.
            with self.under(ended):
                self.line("status = ESK_END;")
                self.line("break;")
        found = all_of(
            negated(value.null),
            relation(source.state, "==", C("ESK_SIDE_ROW")),
            self._key_is(source, "==", value),
        )
        with self._found(source, found, outer):
            yield

    def _key_is(self, source: Source, op: str, value: Value) -> C:
        return integers_compared(source.key_value(), op, value)

    @contextmanager
    def _found(self, source: Source, found: C, outer: bool) -> Iterator[None]:
        if not outer:
            with self.under(found):
                yield
            return
        flag = self.member("bool", f"found_{source.name}")
        self.line(f"{flag} = {found};")
        self._outer[source.scan.number] = negated(flag)
        yield

    @contextmanager
    def lookup(self, scan: p.Scan, key: e.Expr, outer: bool) -> Iterator[None]:
        if scan.lo or scan.hi or scan.ranges:
            raise Refused(
                f"a lookup in '{scan.table.name}' with bounds is not compiled"
            )
        source = self._source(scan, True)
        source.keep_key()
        label = self.places.new(f"look_up_{source.name}")
        self._items.append(Label(label))
        value = self.values.value(key)
        self.line("status = ESK_NOT_FOUND;")
        with self.under(all_of(negated(value.null), source.key_fits(value))):
            self.line(f"status = {source.get(value)};")
        with self.under(
            C("status != ESK_OK && status != ESK_NOT_FOUND", RELATION)
        ):
            self.line(f"return esk_query_stop(&q->at, {{at:{label}}}, status);")
        found = C("status == ESK_OK", RELATION, "status != ESK_OK")
        with self._found(source, found, outer):
            yield

    def count(self, scan: p.Scan) -> e.Expr:
        rows = self.variable(integer(0, (1 << 32) - 1), "rows")
        c = str(self._variables[rows.index][0].c)
        source: Source | KvSource
        if scan.table.kind == "kv":
            source = self._kv_source(scan)
            if source.is_lookup:
                self.line(f"{c} = 0;")
                with self._kv_lookup(source):
                    self.line(f"{c} = 1;")
                return rows
        else:
            source = self._source(scan)
        self._open(source, False)
        if scan.table.kind != "series":
            self.line(f"{c} = 0;")
            with self._inside(
                Body(
                    f"while ((status = {source.next()}) == ESK_OK)",
                    loop=True,
                    resume=f"count_{source.name}",
                )
            ):
                self.line(f"{c}++;")
            with self.under(C("status != ESK_END", RELATION)):
                self.line(
                    f"return esk_query_stop(&q->at, "
                    f"{{at:count_{source.name}}}, status);"
                )
            return rows
        label = self.places.new(f"count_{source.name}")
        self._items.append(Label(label))
        self.line(
            f"status = esk_series_cursor_count(q->{source.table}, "
            f"&{source.cursor}, &{c});"
        )
        with self.under(C("status != ESK_OK", RELATION)):
            self.line(f"return esk_query_stop(&q->at, {{at:{label}}}, status);")
        return rows
