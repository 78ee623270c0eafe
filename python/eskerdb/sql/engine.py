# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""SQL on the machine: from the text to the rows of open tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eskerdb.program import Program
from eskerdb.sql import plan as p
from eskerdb.sql import planner, tables
from eskerdb.sql import syntax as s
from eskerdb.sql.access import Limits
from eskerdb.sql.bind import bind
from eskerdb.sql.bytes_backend import Code, compiled
from eskerdb.sql.bytes_expr import Unsupported
from eskerdb.sql.explain import explained, pages
from eskerdb.sql.logical import BoundQuery
from eskerdb.sql.parse import parse
from eskerdb.sql.source import Refusal, Source

# What a host has room for.
HOST = Limits(ranges=8, groups=65535, sorted=65535)


def compile_select(
    source: Source,
    statement: s.Query,
    infos: Mapping[str, p.TableInfo],
    limits: Limits = HOST,
) -> Code:
    """Returns the program of a SELECT. Raises Refusal."""
    try:
        with source.nesting(statement.span):
            bound = bind(source, statement, infos)
            assert isinstance(bound, BoundQuery)
            return compiled(planner.plan(source, bound, limits))
    except Unsupported as fault:
        span = fault.span if fault.span[1] else statement.span
        raise source.refuse(span, str(fault)) from None


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

    def prepare(self, sql: str, file: str = "sql") -> list[Select]:
        """Compiles SELECT statements. Raises Refusal."""
        source = Source(sql, file)
        made = []
        for statement in parse(source):
            if not isinstance(statement, s.Query):
                raise source.refuse(
                    statement.span, "only SELECT runs on an image"
                )
            made.append(
                Select(self, compile_select(source, statement, self.infos))
            )
        return made


class Select:
    """A compiled SELECT.

    code   its program
    """

    def __init__(self, engine: Engine, code: Code) -> None:
        self._engine = engine
        self.code = code
        self.query = code.query

    def rows(
        self, values: Mapping[str, Any] | None = None, budget: int = 0
    ) -> Iterator[tuple[Any, ...]]:
        """Runs it; raises Limit at an overflow, and what reading raises.

        values   of the parameters, by name
        budget   rows a step, to test pausing; 0: as many as it takes
        """
        given = dict(values or {})
        parameters = [
            _parameter(info, given.pop(info.name, None))
            for info in self.query.parameters
        ]
        if given:
            raise ValueError(f"no parameter :{next(iter(given))}")
        return Program(self.code.bytes).rows(
            self._handles(), parameters, budget=budget
        )

    @property
    def keeps_records(self) -> bool:
        """Whether it keeps groups or an order in RAM, which may be short."""
        return self.code.bytes[10] > 0

    def explain(self) -> list[str]:
        """Returns the lines of its plan, and what it costs."""
        arena = Program(self.code.bytes).arena_bytes(self._handles())
        is_known = all(table.kind == "series" for table in self.query.tables)
        reads = f"about {pages(self.query.plan):,}" if is_known else "unknown"
        cost = (
            f"{reads} page reads; "
            f"{arena:,} bytes of RAM; "
            f"a program of {len(self.code.bytes):,} bytes"
        )
        return [*explained(self.query), cost]

    def _handles(self) -> list[Any]:
        return [self._engine.opened[t.name] for t in self.query.tables]


def _parameter(info: p.ParameterInfo, value: Any) -> Any:
    """Returns a parameter's value as the program takes it."""
    if value is None:
        raise ValueError(f"parameter :{info.name} has no value")
    if info.type.kind == "f64":
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f":{info.name} is a whole number, not {value!r}")
    if not info.type.lo <= value <= info.type.hi:
        raise ValueError(
            f":{info.name} is {info.type.lo} to {info.type.hi}, not {value}"
        )
    return value


__all__ = ["HOST", "Engine", "Refusal", "Select", "compile_select"]
