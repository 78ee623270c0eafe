# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Typed expressions: what the binder makes of SQL, and back ends compile.

Nodes are frozen and compare by meaning: two of the same value are equal
wherever they stand in the text. BETWEEN, IN and COALESCE are not here: the
binder makes comparisons and a Case of them, which mean the same.

Rules that hold for each node, unless it says otherwise: an operand that is
NULL gives NULL; a condition is TRUE, FALSE or NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from eskerdb.sql.source import Span
from eskerdb.sql.types import Type

NOWHERE: Span = (0, 0)


@dataclass(frozen=True)
class Expr:
    """A value.

    type   what it can be
    span   where it stands in the SQL
    """

    type: Type
    span: Span = field(default=NOWHERE, compare=False, kw_only=True)


# Leaves ---------------------------------------------------------------------


@dataclass(frozen=True)
class Constant(Expr):
    """value: int, float, str, bytes, bool, or None."""

    value: Any = None


@dataclass(frozen=True)
class Parameter(Expr):
    """`:name`; `index` counts the parameters of the query."""

    index: int = 0
    name: str = ""


@dataclass(frozen=True)
class Field(Expr):
    """Column `index` of the row that an operator is given by its input: of a
    join, the columns of the left row, then those of the right."""

    index: int = 0
    name: str = ""


@dataclass(frozen=True)
class Column(Expr):
    """Column `index` of the current row of a scan. push.py puts it in the
    place of a Field; a value that is the column's `missing` one is NULL.

    scan   the scan's number in the plan
    """

    scan: int = 0
    index: int = 0
    name: str = ""


@dataclass(frozen=True)
class Variable(Expr):
    """What a back end keeps between rows. push.py makes them.

    index   from 0, unique in a query
    """

    index: int = 0
    name: str = ""


@dataclass(frozen=True)
class Result(Expr):
    """The value of an accumulator. push.py makes them.

    index   of the accumulator, from 0, unique in a query
    """

    index: int = 0
    function: str = ""


@dataclass(frozen=True)
class RowBytes(Expr):
    """The bytes of the whole current row of the scan that `operand`, a Field
    of it, is of: what a change rewrites. Only an output."""

    operand: Expr = None  # type: ignore[assignment]


# Numbers --------------------------------------------------------------------


@dataclass(frozen=True)
class Arithmetic(Expr):
    """left op right, both int or both f64. Integers: / truncates, % has the
    sign of the left; by zero: NULL.

    checked   an int result may be beyond 64 bits: then the query ends with
              ESK_E_LIMIT. False: it cannot be
    """

    op: Literal["+", "-", "*", "/", "%"] = "+"
    left: Expr = None  # type: ignore[assignment]
    right: Expr = None  # type: ignore[assignment]
    checked: bool = True


@dataclass(frozen=True)
class Negate(Expr):
    """-operand, as 0 - operand; of a float: with its sign bit turned."""

    operand: Expr = None  # type: ignore[assignment]
    checked: bool = True


@dataclass(frozen=True)
class Abs(Expr):
    operand: Expr = None  # type: ignore[assignment]
    checked: bool = True


@dataclass(frozen=True)
class ToFloat(Expr):
    """An int as the nearest f64."""

    operand: Expr = None  # type: ignore[assignment]


@dataclass(frozen=True)
class ToInt(Expr):
    """CAST: of an f64 toward 0; ESK_E_LIMIT when not in [type.lo, type.hi].

    checked   False: it is always in there
    """

    operand: Expr = None  # type: ignore[assignment]
    checked: bool = True


@dataclass(frozen=True)
class Round(Expr):
    """An f64, half away from zero, to `digits` (0 .. 15) after the point."""

    operand: Expr = None  # type: ignore[assignment]
    digits: int = 0


@dataclass(frozen=True)
class Bucket(Expr):
    """The largest multiple of `width` (> 0) that is <= operand, an int."""

    operand: Expr = None  # type: ignore[assignment]
    width: int = 1
    checked: bool = True


@dataclass(frozen=True)
class StoredNumber(Expr):
    """CAST of a kv table's value, a Field, to an int or an f64.
    kv_conditions.py has what it is of what is stored."""

    operand: Expr = None  # type: ignore[assignment]


# Texts ----------------------------------------------------------------------


@dataclass(frozen=True)
class Length(Expr):
    """Characters (UTF-8) of a text."""

    operand: Expr = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Substr(Expr):
    """`count` characters of a text from the `start`-th, which is 1 or more;
    count None: all that follow."""

    operand: Expr = None  # type: ignore[assignment]
    start: int = 1
    count: int | None = None


@dataclass(frozen=True)
class Like(Expr):
    """Whether a text matches, case and all: % is any text, _ any character,
    `escape` makes the next one plain."""

    operand: Expr = None  # type: ignore[assignment]
    pattern: str = ""
    escape: str = ""


# Conditions -----------------------------------------------------------------


@dataclass(frozen=True)
class Compare(Expr):
    """Both whole, both f64, both text (bytes, as memcmp); or one whole and
    one f64, which are compared exactly."""

    op: Literal["<", "<=", "=", "<>", ">", ">="] = "="
    left: Expr = None  # type: ignore[assignment]
    right: Expr = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Logic(Expr):
    """AND or OR of at least two conditions, three-valued."""

    op: Literal["and", "or"] = "and"
    items: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class Not(Expr):
    operand: Expr = None  # type: ignore[assignment]


@dataclass(frozen=True)
class IsNull(Expr):
    """TRUE or FALSE, never NULL."""

    operand: Expr = None  # type: ignore[assignment]


@dataclass(frozen=True)
class IsTrue(Expr):
    """TRUE where a condition is, else FALSE: also of NULL."""

    operand: Expr = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Same(Expr):
    """Whether two values are equal, NULL and NULL too: TRUE or FALSE."""

    left: Expr = None  # type: ignore[assignment]
    right: Expr = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Case(Expr):
    """The value after the first condition that is TRUE.

    whens       pairs (condition, value)
    otherwise   the value where none is
    """

    whens: tuple[tuple[Expr, Expr], ...] = ()
    otherwise: Expr = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Extreme(Expr):
    """The greatest of at least two values, or the least; NULL where one of
    them is. All int, all f64, or all text; each is computed once."""

    is_greatest: bool = True
    items: tuple[Expr, ...] = ()


# Trees ----------------------------------------------------------------------


def children(expr: Expr) -> Iterator[Expr]:
    """Yields the operands of a node, from left to right."""
    if isinstance(expr, Case):
        for condition, value in expr.whens:
            yield condition
            yield value
        yield expr.otherwise
    elif isinstance(expr, Logic | Extreme):
        yield from expr.items
    else:
        for part in fields(expr):
            value = getattr(expr, part.name)
            if isinstance(value, Expr):
                yield value


def walk(expr: Expr) -> Iterator[Expr]:
    """Yields a node and all below it."""
    yield expr
    for child in children(expr):
        yield from walk(child)


def is_of_a_row(expr: Expr) -> bool:
    """Whether a value is one of the current rows of scans, and stays the same
    for the rest of their code."""
    nodes = list(walk(expr))
    return any(isinstance(node, Column) for node in nodes) and not any(
        isinstance(node, Variable | Result) for node in nodes
    )


def rebuilt(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Returns a node with `change` made to each of its operands."""
    if isinstance(expr, Case):
        whens = tuple((change(c), change(v)) for c, v in expr.whens)
        return replace(expr, whens=whens, otherwise=change(expr.otherwise))
    if isinstance(expr, Logic | Extreme):
        return replace(expr, items=tuple(change(item) for item in expr.items))
    new = {
        part.name: change(value)
        for part in fields(expr)
        if isinstance(value := getattr(expr, part.name), Expr)
    }
    return replace(expr, **new) if new else expr


def replaced(expr: Expr, row: tuple[Expr, ...]) -> Expr:
    """Returns the expression with each Field replaced by that of `row`, which
    stands where the Field does unless it has a place."""
    if isinstance(expr, Field):
        found = row[expr.index]
        return found if found.span[1] else replace(found, span=expr.span)
    return rebuilt(expr, lambda child: replaced(child, row))
