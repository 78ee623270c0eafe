# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Statements as they are written: what the parser makes, before names and
types are known. Each node has its place in the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from eskerdb.sql.source import Span

# Expressions ----------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    span: Span


@dataclass(frozen=True)
class Literal(Node):
    """value: int, float, str, bytes, or None for NULL."""

    value: Any


@dataclass(frozen=True)
class Name(Node):
    """column, or table.column; `quoted`: in double quotes."""

    table: str
    column: str
    quoted: bool = False


@dataclass(frozen=True)
class Param(Node):
    name: str


@dataclass(frozen=True)
class Unary(Node):
    """op: "-", "+", "NOT"."""

    op: str
    operand: Node


@dataclass(frozen=True)
class Binary(Node):
    """op: + - * / % < <= = <> > >= AND OR."""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Is(Node):
    """left IS [NOT] right; right NULL also of ISNULL and NOTNULL."""

    left: Node
    right: Node
    negated: bool


@dataclass(frozen=True)
class Between(Node):
    operand: Node
    lo: Node
    hi: Node
    negated: bool


@dataclass(frozen=True)
class In(Node):
    operand: Node
    items: tuple[Node, ...]
    negated: bool


@dataclass(frozen=True)
class LikeNode(Node):
    operand: Node
    pattern: Node
    escape: Node | None
    negated: bool


@dataclass(frozen=True)
class CaseNode(Node):
    """subject: of CASE x WHEN .., else None."""

    subject: Node | None
    whens: tuple[tuple[Node, Node], ...]
    otherwise: Node | None


@dataclass(frozen=True)
class Cast(Node):
    operand: Node
    type: TypeName


@dataclass(frozen=True)
class Call(Node):
    """function(arguments); star: count(*)."""

    function: str
    arguments: tuple[Node, ...]
    star: bool = False
    distinct: bool = False


@dataclass(frozen=True)
class TypeName(Node):
    """A type as written: u32, text(16); width None: none was given."""

    name: str
    width: int | None = None


# Queries --------------------------------------------------------------------


@dataclass(frozen=True)
class Output(Node):
    """value None: * or table.*"""

    value: Node | None
    alias: str
    table: str = ""


@dataclass(frozen=True)
class TableRef(Node):
    name: str
    alias: str


@dataclass(frozen=True)
class SubQuery(Node):
    query: Select
    alias: str


@dataclass(frozen=True)
class Join(Node):
    """kind: "inner" or "left"; without a condition it is a cross join."""

    kind: str
    left: Node
    right: Node
    condition: Node | None


@dataclass(frozen=True)
class OrderItem(Node):
    value: Node
    down: bool


@dataclass(frozen=True)
class Select(Node):
    """A SELECT; `union`: those that UNION ALL adds, whose own order and limit
    are empty."""

    outputs: tuple[Output, ...]
    source: Node | None
    where: Node | None
    groups: tuple[Node, ...]
    having: Node | None
    order: tuple[OrderItem, ...]
    limit: Node | None
    offset: Node | None
    distinct: bool
    union: tuple[Select, ...] = ()


# Statements -----------------------------------------------------------------


@dataclass(frozen=True)
class Option(Node):
    """name = value, of a table or an index; value: int, float, str, list."""

    name: str
    value: Any
    value_span: Span


@dataclass(frozen=True)
class ColumnDef(Node):
    name: str
    type: TypeName
    is_key: bool
    unit: str
    missing: Literal | None
    mode: TypeName | None  # PACK linear, PACK decimal(2)


@dataclass(frozen=True)
class CreateTable(Node):
    name: str
    columns: tuple[ColumnDef, ...]
    kind: str
    options: tuple[Option, ...]


@dataclass(frozen=True)
class CreateIndex(Node):
    table: str
    column: str
    column_span: Span
    options: tuple[Option, ...]
    using: str = ""  # the kind of index; "": a summary


@dataclass(frozen=True)
class Query(Node):
    """A SELECT and its name, "" for none."""

    name: str
    select: Select


@dataclass(frozen=True)
class Insert(Node):
    """columns: (name, place); empty: all. select: its rows, or None."""

    table: str
    table_span: Span
    columns: tuple[tuple[str, Span], ...]
    rows: tuple[tuple[Node, ...], ...]
    name: str
    select: Select | None = None


@dataclass(frozen=True)
class Update(Node):
    table: str
    table_span: Span
    changes: tuple[tuple[str, Span, Node], ...]
    where: Node | None
    name: str


@dataclass(frozen=True)
class Delete(Node):
    table: str
    table_span: Span
    where: Node | None
    name: str


Statement = CreateTable | CreateIndex | Query | Insert | Update | Delete
