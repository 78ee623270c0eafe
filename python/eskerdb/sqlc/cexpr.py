# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Expressions of C as text, with the parentheses that they need."""

from __future__ import annotations

from dataclasses import dataclass

ATOM, UNARY, TIMES, PLUS, RELATION, AND, OR, CHOICE = range(8)


@dataclass(frozen=True)
class C:
    """An expression of C without effects.

    binds     how tight: ATOM .. CHOICE
    inverse   the text of its negation, if that is more than a `!`
    """

    text: str
    binds: int = ATOM
    inverse: str = ""

    def within(self, binds: int) -> str:
        """Returns its text as an operand of what binds so tight."""
        return self.text if self.binds <= binds else f"({self.text})"

    def __str__(self) -> str:
        return self.text


TRUE, FALSE = C("true"), C("false")

_INVERSES = {
    "<": ">=",
    "<=": ">",
    ">": "<=",
    ">=": "<",
    "==": "!=",
    "!=": "==",
}


def relation(left: C, op: str, right: C) -> C:
    a, b = left.within(PLUS), right.within(PLUS)
    return C(f"{a} {op} {b}", RELATION, f"{a} {_INVERSES[op]} {b}")


def negated(value: C) -> C:
    if value == TRUE:
        return FALSE
    if value == FALSE:
        return TRUE
    if value.inverse:
        binds = value.binds if value.binds == RELATION else ATOM
        return C(value.inverse, binds, value.text)
    text = f"!{value.within(ATOM)}"
    return C(text, UNARY, value.text if value.binds == ATOM else "")


def all_of(*items: C) -> C:
    parts = list(dict.fromkeys(item for item in items if item != TRUE))
    if FALSE in parts:
        return FALSE
    if len(parts) == 1:
        return parts[0]
    joined = " && ".join(
        f"({p})" if p.binds == OR else p.within(AND) for p in parts
    )
    return C(joined, AND) if parts else TRUE


def any_of(*items: C) -> C:
    parts = list(dict.fromkeys(item for item in items if item != FALSE))
    if TRUE in parts:
        return TRUE
    if len(parts) == 1:
        return parts[0]
    joined = " || ".join(
        f"({p})" if p.binds == AND else p.within(OR) for p in parts
    )
    return C(joined, OR) if parts else FALSE


def choice(condition: C, yes: C, no: C) -> C:
    if condition == TRUE or yes == no:
        return yes
    if condition == FALSE:
        return no
    if yes == TRUE and no == FALSE:
        return condition
    if yes == FALSE and no == TRUE:
        return negated(condition)
    return C(
        f"{condition.within(OR)} ? {yes.within(OR)} : {no.within(OR)}", CHOICE
    )
