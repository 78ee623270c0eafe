# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Values that the code of a row needs more than once are computed once.

A query is written twice: the first time finds which values are needed again
where they have been computed, the second time these are locals. So a value
that is needed once stays in its place. A local that needs no statement but
its own is set with the columns of the row, before conditions, and again where
a later call goes on; it cannot end the query, and is 0 where the value is
NULL. Others are known up to the next such place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from eskerdb.sql import expr as e
from eskerdb.sqlc.cexpr import ATOM, FALSE, RELATION, TRUE, C, choice
from eskerdb.sqlc.code import Load
from eskerdb.sqlc.value import Kept, TextValue, Value, zero

if TYPE_CHECKING:
    from eskerdb.sqlc.statements import Statements

# Others are as short as the name of a local.
_KINDS = (
    *(e.Arithmetic, e.Bucket, e.Case, e.Extreme, e.Length, e.Round, e.Substr),
    *(e.Abs, e.StoredNumber),
)
_NAMES = {
    "+": "sum",
    "-": "difference",
    "*": "product",
    "/": "quotient",
    "%": "rest",
}
Either = TypeVar("Either", Value, TextValue)


@dataclass
class Shared:
    """The values of a query.

    wanted    those that are locals
    repeated  those that were needed again
    """

    to: Statements
    wanted: frozenset[e.Expr]
    repeated: set[e.Expr] = field(default_factory=set)
    _is_plain: bool = True  # what is being made: it takes no statements

    def once(self, expr: e.Expr, make: Callable[[e.Expr], Either]) -> Either:
        """Returns a value, which is made unless it is known."""
        if not isinstance(expr, _KINDS) or not e.is_of_a_row(expr):
            return make(expr)
        for scope in reversed(self.to.scopes):
            kept = scope.values.get(expr)
            if kept is not None and kept.turn in (None, self.to.turn):
                self.repeated.add(expr)
                self._is_plain = self._is_plain and kept.turn is None
                return kept.value  # type: ignore[return-value]
        scope = self.to.scopes[-1]
        items, before = scope.body.items, len(scope.body.items)
        around, self._is_plain = self._is_plain, True
        value = make(expr)
        if any(not isinstance(item, Load) for item in items[before:]):
            self._is_plain = False
        is_plain = self._is_plain
        self._is_plain = around and is_plain
        if not is_plain:
            scope.values[expr] = Kept(value, self.to.turn)
            return value
        if expr in self.wanted and isinstance(value, Value):
            value = self._loaded(expr, value)
        self.to.row_scope.values[expr] = Kept(value, None)
        return value

    def _loaded(self, expr: e.Expr, value: Value) -> Value:
        """Makes a local of a value."""
        c, null, scope = value.c, value.null, self.to.row_scope
        if c.binds == ATOM or null == TRUE:
            return value
        name = type(expr).__name__.lower()
        if isinstance(expr, e.Arithmetic):
            name = _NAMES[expr.op]
        local = self.to.names.new(name if name != "case" else "value")
        if null != FALSE and null.binds not in (ATOM, RELATION):
            null = self._load("bool", f"{local}_null", null)
        self._load(value.ctype, local, choice(null, zero(value), c))
        scope.locals.add(local)
        return replace(value, c=C(local), null=null)

    def _load(self, ctype: str, name: str, value: C) -> C:
        scope = self.to.row_scope
        scope.body.items.append(Load(ctype, name, str(value)))
        scope.locals.add(name)
        return C(name)
