# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""SQL on the machine: from the text to the rows of open tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import repeat
from typing import Any

from eskerdb.program import HEAD_BYTES, RUNS, KvRows, Program, runs_plan
from eskerdb.sql import plan as p
from eskerdb.sql import planner, tables
from eskerdb.sql import syntax as s
from eskerdb.sql.access import Limits
from eskerdb.sql.bind import bind
from eskerdb.sql.bytes_backend import Code, compiled
from eskerdb.sql.change import Change
from eskerdb.sql.emit import Unsupported
from eskerdb.sql.explain import explained, pages
from eskerdb.sql.handles import of_kv, of_program
from eskerdb.sql.key_bounds import KeyBounds, key_bounds
from eskerdb.sql.logical import BoundQuery, FromTable
from eskerdb.sql.parameter import (
    TEXT_MOST,
    parameter_value,
    parameter_values,
    read_parameter,
    text_fits,
)
from eskerdb.sql.parse import parse
from eskerdb.sql.source import Refusal, Source
from eskerdb.sql.tokens import tokens

# What a host has room for.
HOST = Limits(ranges=8, groups=65535, sorted=65535, texts=True, scratch=True)


def compile_select(
    source: Source,
    statement: s.Query,
    infos: Mapping[str, p.TableInfo],
    limits: Limits = HOST,
    values: Mapping[str, str] | None = None,
) -> Code:
    """Returns the program of a SELECT. Raises Refusal.

    values  of parameters, as written: they become constants of the program
    """
    with source.nesting(statement.span), unsupported(source, statement):
        bound = bind(source, statement, infos)
        known = _known(source, bound.parameters, values or {}, True)
        if known:
            bound = bind(source, statement, infos, known)
        assert isinstance(bound, BoundQuery)
        return compiled(planner.plan(source, bound, limits))


class Engine:
    """The open tables of a volume, and the statements that run on them.

    infos   the tables, by name
    """

    def __init__(
        self, opened: Mapping[str, Any], measured: bool = False
    ) -> None:
        """Takes open tables by name: series, trees and readers.

        measured  find out how many pages they have, for explain()
        """
        self.opened = dict(opened)
        self.infos = {
            name: tables.of_volume(handle.table, handle if measured else None)
            for name, handle in self.opened.items()
        }

    def prepare(
        self,
        sql: str,
        file: str = "sql",
        values: Mapping[str, Any] | None = None,
        written: bool = False,
    ) -> list[Select | Change]:
        """Compiles SELECT, INSERT, UPDATE and DELETE. Raises Refusal.

        values   of parameters, by name: a parameter that is a text needs its
                 value here
        written  the values are texts, to be read by the parameters' types
        """
        source = Source(sql, file)
        given = dict(values or {})
        return [
            self._prepared(source, statement, given, written)
            for statement in parse(source)
        ]

    def kv_bounds(self, sql: str) -> tuple[str, KeyBounds] | None:
        """Returns the kv table that one SELECT is of, and which keys it can
        give; None: it is another statement."""
        source = Source(sql)
        try:
            (statement,) = parse(source)
            assert isinstance(statement, s.Query)
            with source.nesting(statement.span):
                bound = bind(source, statement, self.infos)
        except (Refusal, ValueError, AssertionError):
            return None
        assert isinstance(bound, BoundQuery)
        found = bound.select.source
        if bound.select.union or not isinstance(found, FromTable):
            return None
        if found.table.kind != "kv":
            return None
        return found.table.name, key_bounds(bound.select.where)

    def _prepared(
        self,
        source: Source,
        statement: s.Statement,
        given: dict[str, Any],
        written: bool,
    ) -> Select | Change:
        if isinstance(statement, (s.CreateTable, s.CreateIndex)):
            raise source.refuse(
                statement.span,
                "CREATE does not run on an image; `esker create` makes tables",
            )
        with source.nesting(statement.span), unsupported(source, statement):
            bound = bind(source, statement, self.infos)
            known = _known(source, bound.parameters, given, written)
            if isinstance(bound, BoundQuery):
                return self._select(source, statement, bound, known)
            texts = _texts(known)
            if texts:
                bound = bind(source, statement, self.infos, texts)
            assert not isinstance(bound, BoundQuery)
            return Change(self.opened, source, bound, HOST, known)

    def _select(
        self,
        source: Source,
        statement: s.Query,
        bound: BoundQuery,
        known: dict[str, Any],
    ) -> Select:
        """Compiles a SELECT; texts that its program takes no parameters for
        become constants."""
        texts = _texts(known)
        baked = {
            info.name: texts[info.name]
            for info in bound.parameters
            if info.name in texts and not text_fits(info, texts[info.name])
        }
        for constants in (baked, texts):
            try:
                if constants:
                    made = bind(source, statement, self.infos, constants)
                    assert isinstance(made, BoundQuery)
                    bound = made
                query = planner.plan(source, bound, HOST)
                if any(t.kind == "kv" for t in query.tables):
                    _check_keys(source.slice(statement.span), known)
                code = compiled(query)
                return Select(self, code, known, constants)
            except Unsupported:
                if constants == texts:
                    raise
        raise AssertionError(statement)


class Select:
    """A compiled SELECT.

    code    its program
    values  of parameters, those that are known
    fixed   names of those that are constants of the program: texts of places
            without a width, or longer than that
    """

    def __init__(
        self,
        engine: Engine,
        code: Code,
        values: Mapping[str, Any] | None = None,
        fixed: Iterable[str] = (),
    ) -> None:
        """Takes the values of parameters; rows() may give others."""
        self._engine = engine
        self.fixed = frozenset(fixed)
        self.values = dict(values or {})
        self.code = code
        self.query = code.query

    @property
    def parameters(self) -> tuple[p.ParameterInfo, ...]:
        return self.query.parameters

    def rows(
        self, values: Mapping[str, Any] | None = None, budget: int = 0
    ) -> Iterator[tuple[Any, ...]]:
        """Runs it; raises Limit at an overflow, and what reading raises.

        values   of the parameters, by name
        budget   rows a step, to test pausing; 0: as many as it takes
        """
        given = {**self.values, **(values or {})}
        parameters = parameter_values(self.query.parameters, given)
        for info, value in zip(self.query.parameters, parameters, strict=True):
            self._check_text(info, value)
        numbers = [
            None if info.name in self.fixed else value
            for info, value in zip(
                self.query.parameters, parameters, strict=True
            )
        ]
        program, handles = Program(self.code.bytes), self._handles()
        if not any(self.code.roles):
            return program.rows(handles, numbers, budget=budget)
        rows = program.rows(
            handles, numbers, budget=budget, errors="surrogateescape"
        )
        kv = next(h for h in handles if isinstance(h, KvRows))
        return (
            tuple(map(of_kv, self.code.roles, row, repeat(kv))) for row in rows
        )

    def _check_text(self, info: p.ParameterInfo, value: Any) -> None:
        """Refuses a text that the program does not take. Raises ValueError."""
        if info.name in self.fixed:
            if value != self.values[info.name]:
                raise ValueError(
                    f":{info.name} is a constant of this program: compile the "
                    "statement again"
                )
        elif not text_fits(info, value):
            most = info.type.bytes or TEXT_MOST
            raise ValueError(
                f":{info.name} takes a text of at most {most} bytes of UTF-8, "
                f"without a zero byte, not {value!r}"
            )

    @property
    def shortages(self) -> list[str]:
        """Of what it may have too many for its RAM: DuckDB answers then."""
        found = []
        if self.code.bytes[10] > 0:
            found.append("too many groups or rows")
        if self.code.cuts:
            found.append("a long text in a kv table")
        return found

    def explain(self) -> list[str]:
        """Returns the lines of its plan, and what it costs."""
        arena = Program(self.code.bytes).arena_bytes(self._handles())
        is_known = all(table.frames for table in self.query.tables)
        reads = f"about {pages(self.query.plan):,}" if is_known else "unknown"
        cost = (
            f"{reads} page reads; "
            f"{arena:,} bytes of RAM; "
            f"a program of {len(self.code.bytes):,} bytes"
        )
        return [*explained(self.query), cost, *self._scratch()]

    def _scratch(self) -> Iterator[str]:
        """Says what an order of many rows takes of a scratch."""
        code = self.code.bytes
        for number in range(code[10]):
            entry = HEAD_BYTES + 8 * (code[8] + number)
            if code[entry] != RUNS:
                continue
            plan = runs_plan(code[entry + 1], code[entry + 6 : entry + 8])
            yield (
                f"an order of {plan.held:,} rows in RAM; of more, a page of "
                f"{plan.page_bytes:,} bytes in a scratch for each "
                f"{plan.page_rows:,}, and the same again beyond "
                f"{plan.held * plan.inputs:,} rows"
            )

    def _handles(self) -> list[Any]:
        return of_program(self.query.tables, self._engine.opened)


def _check_keys(sql: str, known: Mapping[str, Any]) -> None:
    """Refuses what may be a key that is no text. Raises Unsupported."""
    if "\\x" in sql or any("\\x" in v for v in _texts(known).values()):
        raise Unsupported("a key that is not UTF-8 is no text of a program")


def _texts(known: Mapping[str, Any]) -> dict[str, str]:
    return {k: v for k, v in known.items() if isinstance(v, str)}


@contextmanager
def unsupported(source: Source, statement: s.Node) -> Iterator[None]:
    """Refuses what a program cannot do."""
    try:
        yield
    except Unsupported as fault:
        span = fault.span if fault.span[1] else statement.span
        raise source.refuse(span, str(fault)) from None


def _known(
    source: Source,
    infos: Iterable[p.ParameterInfo],
    given: Mapping[str, Any],
    written: bool,
) -> dict[str, Any]:
    """Returns the values of a statement's parameters that are given."""
    known = {}
    for info in infos:
        if info.name not in given:
            continue
        value = given[info.name]
        try:
            if written:
                value = read_parameter(info, value)
            known[info.name] = parameter_value(info, value)
        except (TypeError, ValueError) as fault:
            place = next(
                token.span
                for token in tokens(source)
                if (token.kind, token.value) == ("param", info.name)
            )
            raise source.refuse(place, str(fault)) from None
    return known


__all__ = ["HOST", "Change", "Engine", "Refusal", "Select", "compile_select"]
