# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""A bound SELECT: what it means, before how it is done.

The base row of a SELECT is the row of its source; of one with groups the
keys, then the aggregates. Its outputs, HAVING and order see the base row as
Fields.
"""

from __future__ import annotations

from dataclasses import dataclass

from eskerdb.sql.expr import Expr
from eskerdb.sql.plan import Aggregate, JoinKind, ParameterInfo, TableInfo
from eskerdb.sql.source import Span


@dataclass(frozen=True)
class Output:
    """A column of a result."""

    name: str
    value: Expr


@dataclass(frozen=True)
class FromTable:
    table: TableInfo
    span: Span


@dataclass(frozen=True)
class FromSelect:
    select: Select
    span: Span


@dataclass(frozen=True)
class FromJoin:
    """`condition` sees the left row, then the right."""

    kind: JoinKind
    left: Source
    right: Source
    condition: Expr
    span: Span


Source = FromTable | FromSelect | FromJoin


@dataclass(frozen=True)
class OrderBy:
    value: Expr
    down: bool


@dataclass(frozen=True)
class Select:
    """
    source      None: one row without columns
    where       sees the row of the source
    keys        see the row of the source; None: there are no groups
    aggregates  the same
    order       of one with `union`: Fields of the outputs
    union       other SELECTs whose outputs are of the same kinds
    """

    source: Source | None
    where: Expr | None
    keys: tuple[Expr, ...] | None
    aggregates: tuple[Aggregate, ...]
    having: Expr | None
    outputs: tuple[Output, ...]
    distinct: bool
    order: tuple[OrderBy, ...]
    limit: Expr | None
    offset: Expr | None
    union: tuple[Select, ...]
    span: Span


@dataclass(frozen=True)
class BoundQuery:
    """A named SELECT with its parameters."""

    name: str
    select: Select
    parameters: tuple[ParameterInfo, ...]


@dataclass(frozen=True)
class BoundInsert:
    """Rows of values, one for each column of the table; or a SELECT whose
    outputs are those of the columns `places`.

    places   in the order of the statement's values
    """

    name: str
    table: TableInfo
    places: tuple[int, ...]
    rows: tuple[tuple[Expr, ...], ...]
    select: Select | None
    parameters: tuple[ParameterInfo, ...]
    span: Span


@dataclass(frozen=True)
class BoundUpdate:
    """changes: (column, value); values and `where` see the table's row."""

    name: str
    table: TableInfo
    changes: tuple[tuple[int, Expr], ...]
    where: Expr | None
    parameters: tuple[ParameterInfo, ...]
    span: Span


@dataclass(frozen=True)
class BoundDelete:
    """where: sees the table's row."""

    name: str
    table: TableInfo
    where: Expr | None
    parameters: tuple[ParameterInfo, ...]
    span: Span


Change = BoundInsert | BoundUpdate | BoundDelete
