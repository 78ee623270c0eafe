# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""A value as C: its expression and type, casts and comparisons of integers."""

from __future__ import annotations

from dataclasses import dataclass

from eskerdb.sql.emit import Unsupported
from eskerdb.sqlc import ctype
from eskerdb.sqlc.cexpr import ATOM, FALSE, TRUE, UNARY, C, relation

Refused = Unsupported


@dataclass(frozen=True)
class Value:
    """A value.

    c       the value, where it is not NULL
    null    whether it is NULL
    ctype   of c
    lo, hi  of an integer
    """

    c: C
    null: C
    ctype: str
    lo: int = 0
    hi: int = 0

    @property
    def is_float(self) -> bool:
        return self.ctype in ("float", "double")


@dataclass(frozen=True)
class TextValue:
    """A text: where its bytes are, and how many."""

    c: str
    bytes: str
    null: C


@dataclass(frozen=True)
class Kept:
    """A value that has been computed.

    turn   how many places a call may go on with there were then; None: it is
           known behind such places, too
    """

    value: Value | TextValue
    turn: int | None


def quoted(data: bytes) -> str:
    """Writes bytes as a string of C."""
    text = "".join(
        chr(byte)
        if 32 <= byte < 127 and chr(byte) not in '"\\?'
        else f"\\{byte:03o}"
        for byte in data
    )
    return f'"{text}"'


def zero(value: Value) -> C:
    return C("0.0" if value.is_float else "0")


def cast(value: Value, name: str) -> C:
    """Returns the value's expression in another type that holds it."""
    if value.ctype == name or value.null == TRUE:
        return value.c
    if value.lo == value.hi and not value.is_float and name != "bool":
        if name == "double":
            if value.c.text == str(value.lo):
                return C(f"{value.lo}.0", UNARY if value.lo < 0 else ATOM)
        elif value.c.text == ctype.literal(
            value.lo, ctype.computing((value.lo, value.lo))
        ):
            text = ctype.literal(value.lo, name)
            return C(text, UNARY if text.startswith("-") else ATOM)
    if name == "bool":
        return relation(value.c, "!=", zero(value))
    return C(f"({name}){value.c.within(ATOM)}", UNARY)


def integers_compared(left: Value, op: str, right: Value) -> C:
    """Compares integers; a constant where their intervals say the result."""
    if op in (">", ">="):
        return integers_compared(right, op.replace(">", "<"), left)
    below, above = left.hi < right.lo, left.lo > right.hi
    if op == "<" and (below or left.lo >= right.hi):
        return TRUE if below else FALSE
    if op == "<=" and (left.hi <= right.lo or above):
        return FALSE if above else TRUE
    if op in ("==", "!=") and (below or above):
        return TRUE if op == "!=" else FALSE
    return relation(*alike(left, right, op))


def alike(left: Value, right: Value, op: str) -> tuple[C, str, C]:
    """Integers as C compares them without change of a value."""
    spans = (left.lo, left.hi), (right.lo, right.hi)
    if left.ctype == right.ctype:
        return left.c, op, right.c
    name = ctype.computing(*spans)
    for one in (left, right):
        other = right if one is left else left
        kept = _whole(one.ctype)
        is_constant = other.lo == other.hi and other.c.binds <= UNARY
        if is_constant and ctype.holds(kept, other.lo, other.hi):
            # It takes the type of what it is compared with.
            literal = ctype.literal(other.lo, _promoted(kept))
            c = C(literal, UNARY if literal.startswith("-") else ATOM)
            return (one.c, op, c) if one is left else (c, op, one.c)
    signed = [_whole(v.ctype).startswith("int") for v in (left, right)]
    if signed[0] == signed[1]:
        return left.c, op, right.c
    return cast(left, name), op, cast(right, name)


def _whole(name: str) -> str:
    return "uint8_t" if name == "bool" else name


def _promoted(name: str) -> str:
    return name if name in ("uint32_t", "int64_t") else "int32_t"
