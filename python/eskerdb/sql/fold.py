# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Folds an expression again after others were put into it."""

from __future__ import annotations

from dataclasses import replace

from eskerdb.sql import expr as e
from eskerdb.sql import rules


def simplified(value: e.Expr) -> e.Expr:
    """Returns an expression of the same value, with constants folded and
    narrower types where its parts have them."""
    value = e.rebuilt(value, simplified)
    try:
        made = _made(value)
    except rules.Fault:
        return value  # an overflow is an error of the row that has it
    return replace(made, span=value.span)


def _made(value: e.Expr) -> e.Expr:
    match value:
        case e.Arithmetic(op=op, left=left, right=right):
            return rules.arithmetic(op, left, right)
        case e.Negate(operand=operand):
            return rules.negative(operand)
        case e.Abs(operand=operand):
            return rules.absolute(operand)
        case e.ToFloat(operand=operand):
            return rules.as_float(operand)
        case e.Like(operand=operand, pattern=pattern, escape=escape):
            return rules.like(operand, pattern, escape)
        case e.Compare(op=op, left=left, right=right):
            return rules.compare(op, left, right)
        case e.Logic(op=op, items=items):
            return rules.logic(op, items)
        case e.Not(operand=operand):
            return rules.inverse(operand)
        case e.IsNull(operand=operand):
            return rules.is_null(operand)
        case e.Same(left=left, right=right):
            return rules.same(left, right)
        case e.Case(whens=whens, otherwise=otherwise):
            return rules.case(whens, otherwise)
        case e.Extreme(items=items):
            return rules.extreme(items, value.is_greatest)
    return value
