# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Makes typed nodes: the rules of docs/sql.md about types and constants.

Each function returns a node whose operands have the types that expr.py says,
with constants folded; a Fault says why there is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from eskerdb.sql import expr as e
from eskerdb.sql import interval
from eskerdb.sql.types import (
    BOOL,
    FLOAT,
    INT_MAX,
    INT_MIN,
    NULL,
    Type,
    integer,
    text,
)

_INVERSE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "<>", "<>": "="}
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}
HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


class Fault(Exception):
    """Operands that an operator does not take: what is wrong."""


# Constants ------------------------------------------------------------------


def constant(value: float | str | bytes | None) -> e.Constant:
    """Returns a constant with its narrowest type."""
    if value is None:
        return e.Constant(NULL, value=None)
    if isinstance(value, str):
        width = max(1, len(value.encode()))
        return e.Constant(text(width), value=value)
    if isinstance(value, bytes):
        return e.Constant(Type("blob", False, bytes=len(value)), value=value)
    if isinstance(value, float):
        if math.isnan(value):
            return e.Constant(FLOAT.maybe(), value=None)
        return e.Constant(FLOAT, value=value + 0.0)  # no -0.0
    return e.Constant(integer(int(value), int(value)), value=int(value))


def truth(value: bool | None) -> e.Constant:
    """Returns a condition that is known."""
    number = None if value is None else int(value)
    return e.Constant(BOOL.maybe(value is None), value=number)


def _is_constant(*items: e.Expr) -> bool:
    return all(isinstance(item, e.Constant) for item in items)


def _is_null(item: e.Expr) -> bool:
    return isinstance(item, e.Constant) and item.value is None


# Numbers --------------------------------------------------------------------


def as_float(item: e.Expr) -> e.Expr:
    """Returns a number as an f64."""
    if item.type.kind == "f64":
        return item
    if _is_null(item):
        return e.Constant(FLOAT.maybe(), value=None)
    if isinstance(item, e.Constant):
        return constant(float(item.value))
    return e.ToFloat(FLOAT.maybe(item.type.nullable), operand=item)


def arithmetic(op: str, left: e.Expr, right: e.Expr) -> e.Expr:
    """left op right."""
    for side in (left, right):
        if not side.type.is_number:
            raise Fault(f"{op} takes numbers, not a text")
    if "f64" in (left.type.kind, right.type.kind):
        return _float_arithmetic(op, as_float(left), as_float(right))
    if _is_null(left) or _is_null(right):
        return constant(None)
    a, b = (left.type.lo, left.type.hi), (right.type.lo, right.type.hi)
    by_zero = op in "/%" and b[0] <= 0 <= b[1]
    if _is_constant(left, right):
        return _folded(op, left.value, right.value)
    bounds = interval.combined(op, a, b)
    nullable = left.type.nullable or right.type.nullable or by_zero
    return e.Arithmetic(
        integer(*interval.cut(bounds), nullable),
        op=op,
        left=left,
        right=right,
        checked=not interval.fits(bounds),
    )


def _folded(op: str, a: int, b: int) -> e.Expr:
    if op in "/%" and b == 0:
        return constant(None)
    value = {
        "+": lambda: a + b,
        "-": lambda: a - b,
        "*": lambda: a * b,
        "/": lambda: interval.divide(a, b),
        "%": lambda: interval.remainder(a, b),
    }[op]()
    if not INT_MIN <= value <= INT_MAX:
        raise Fault(f"{a} {op} {b} is beyond 64 bits, signed")
    return constant(value)


def _float_arithmetic(op: str, left: e.Expr, right: e.Expr) -> e.Expr:
    if op == "%":
        raise Fault("% takes integers: CAST(.. AS i64) makes one")
    if _is_null(left) or _is_null(right):
        return e.Constant(FLOAT.maybe(), value=None)
    if _is_constant(left, right):
        return constant(_float_folded(op, left.value, right.value))
    # infinity - infinity is a NaN, which is NULL
    return e.Arithmetic(
        FLOAT.maybe(), op=op, left=left, right=right, checked=False
    )


def _float_folded(op: str, a: float, b: float) -> float:
    if op == "/":
        return a / b if b else math.nan
    return {"+": a + b, "-": a - b, "*": a * b}[op]


def negative(item: e.Expr) -> e.Expr:
    """-item."""
    if not item.type.is_number:
        raise Fault("- takes a number, not a text")
    if _is_null(item):
        return item
    if isinstance(item, e.Constant):
        if item.value == INT_MIN:
            raise Fault(f"-({INT_MIN}) is beyond 64 bits, signed")
        return constant(-item.value)
    if item.type.kind == "f64":
        return e.Negate(item.type, operand=item, checked=False)
    bounds = -item.type.hi, -item.type.lo
    return e.Negate(
        integer(*interval.cut(bounds), item.type.nullable),
        operand=item,
        checked=not interval.fits(bounds),
    )


def absolute(item: e.Expr) -> e.Expr:
    """abs(item)."""
    if not item.type.is_number:
        raise Fault("abs() takes a number, not a text")
    if item.type.kind == "f64":
        return e.Abs(item.type, operand=item, checked=False)
    if item.type.lo >= 0:
        return item
    if isinstance(item, e.Constant):
        return negative(item)
    hi = max(abs(item.type.lo), abs(item.type.hi))
    lo = max(0, -item.type.hi)
    return e.Abs(
        integer(*interval.cut((lo, hi)), item.type.nullable),
        operand=item,
        checked=hi > INT_MAX,
    )


def bucket(item: e.Expr, width: e.Expr) -> e.Expr:
    """bucket(item, width)."""
    if not isinstance(width, e.Constant) or not (
        width.type.kind == "int" and width.value > 0
    ):
        raise Fault("the width of bucket() is a whole number above 0")
    if not item.type.is_whole:
        raise Fault("bucket() takes an integer")
    w = width.value
    bounds = item.type.lo // w * w, item.type.hi // w * w
    if isinstance(item, e.Constant):
        if item.value is None:
            return item
        if bounds[0] < INT_MIN:
            raise Fault("the bucket begins beyond 64 bits, signed")
        return constant(bounds[0])
    return e.Bucket(
        integer(*interval.cut(bounds), item.type.nullable),
        operand=item,
        width=w,
        checked=not interval.fits(bounds),
    )


def rounded(item: e.Expr, digits: int) -> e.Expr:
    """round(item, digits): an f64."""
    if not item.type.is_number:
        raise Fault("round() takes a number, not a text")
    if not 0 <= digits <= 15:
        raise Fault("round() has 0 to 15 digits")
    return e.Round(
        FLOAT.maybe(item.type.nullable), operand=as_float(item), digits=digits
    )


def cast(item: e.Expr, wanted: Type) -> e.Expr:
    """CAST(item AS wanted)."""
    if not item.type.is_number or wanted.kind == "text":
        if item.type.kind == wanted.kind:
            return item
        if isinstance(item, e.Field) and item.type.maybe(False) == text():
            # A NaN is NULL.
            kind = wanted.maybe(wanted.kind == "f64" or item.type.nullable)
            return e.StoredNumber(kind, operand=item)
        raise Fault("CAST between text and number is not supported")
    if wanted.kind == "f64":
        return as_float(item)
    if _is_null(item):
        return e.Constant(wanted.maybe(), value=None)
    kind = item.type
    if isinstance(item, e.Constant):
        value = item.value
        if not math.isfinite(value) or not wanted.lo <= int(value) <= wanted.hi:
            raise Fault(f"{value} is not in {wanted.lo} to {wanted.hi}")
        return constant(int(value))
    if kind.is_whole and wanted.lo <= kind.lo and kind.hi <= wanted.hi:
        return item
    lo, hi = wanted.lo, wanted.hi
    if kind.is_whole:  # what is outside ends the query
        lo, hi = max(lo, kind.lo), min(hi, kind.hi)
        if lo > hi:
            lo, hi = wanted.lo, wanted.hi
    return e.ToInt(integer(lo, hi, kind.nullable), operand=item)


# Conditions -----------------------------------------------------------------


def compare(op: str, left: e.Expr, right: e.Expr) -> e.Expr:
    """left op right: constants on the right."""
    kinds = {left.type.kind, right.type.kind} - {"null"}
    if "blob" in kinds:
        raise Fault("columns of bytes, or texts of any length, do not compare")
    if "text" in kinds and len(kinds) > 1:
        raise Fault("a text and a number do not compare")
    if _is_null(left) or _is_null(right):
        return truth(None)
    if _is_constant(left, right):
        return truth(HOLDS[op](*_comparable(left.value, right.value)))
    if isinstance(left, e.Constant):
        op, left, right = MIRRORED[op], right, left
    if isinstance(right, e.Constant) and kinds != {"text"}:
        known = _against_constant(op, left, right)
        if known is not None:
            return known
    nullable = left.type.nullable or right.type.nullable
    return e.Compare(BOOL.maybe(nullable), op=op, left=left, right=right)


def _comparable(a, b):
    """Returns two constants as values that Python compares as SQL does."""
    if isinstance(a, str):
        return a.encode(), b.encode()
    return a, b  # Python compares int with float exactly


def _against_constant(
    op: str, left: e.Expr, right: e.Constant
) -> e.Expr | None:
    """Compares a number with a constant of another kind, or beyond what the
    number can be; None: it is a plain comparison."""
    value = right.value
    if left.type.kind == "f64":
        if isinstance(value, float):
            return None
        if float(value) == value:
            return compare(op, left, constant(float(value)))
        return None  # the back end compares exactly
    if isinstance(value, float):
        if math.isinf(value) or value != int(value):
            return _between_integers(op, left, value)
        right = constant(int(value))
        value = right.value
    if left.type.lo <= value <= left.type.hi:
        if isinstance(right.value, int) and right.type.kind == "int":
            return e.Compare(
                BOOL.maybe(left.type.nullable), op=op, left=left, right=right
            )
        return None
    return _known(op, left, value > left.type.hi)


def _between_integers(op: str, left: e.Expr, value: float) -> e.Expr:
    """Compares an integer with a float that is none."""
    if op in ("=", "<>"):
        return _always(left, op == "<>")
    if math.isinf(value):
        return _known(op, left, value > 0)
    if op in ("<", "<="):
        return compare("<=", left, constant(math.floor(value)))
    return compare(">=", left, constant(math.ceil(value)))


def _known(op: str, left: e.Expr, is_below: bool) -> e.Expr:
    """Compares a value with one that is above, or else below, all it can be."""
    return _always(
        left, op == "<>" or (op in ("<", "<=")) == is_below and op != "="
    )


def _always(value: e.Expr, holds: bool) -> e.Expr:
    """Returns a condition that is NULL where `value` is, else known."""
    if not value.type.nullable:
        return truth(holds)
    whens = ((inverse(is_null(value)), truth(holds)),)
    return e.Case(BOOL.maybe(), whens=whens, otherwise=truth(None))


def condition(item: e.Expr) -> e.Expr:
    """Returns a value as a condition: a number is TRUE where it is not 0."""
    if item.type.kind == "bool":
        return item
    if not item.type.is_number:
        raise Fault("a text is not a condition")
    if _is_null(item):
        return truth(None)
    return compare("<>", item, constant(0))


def inverse(item: e.Expr) -> e.Expr:
    """NOT of a condition."""
    if isinstance(item, e.Constant):
        return truth(None if item.value is None else not item.value)
    if isinstance(item, e.Compare):
        return replace(item, op=_INVERSE[item.op])
    if isinstance(item, e.Not):
        return item.operand
    if isinstance(item, e.Logic):
        op = "or" if item.op == "and" else "and"
        return logic(op, [inverse(part) for part in item.items])
    return e.Not(item.type, operand=item)


def logic(op: str, items: Sequence[e.Expr]) -> e.Expr:
    """AND or OR of conditions; one that decides it, or changes nothing, is
    folded."""
    decides = 0 if op == "and" else 1
    rest: dict[e.Expr, None] = {}
    for item in items:
        parts = [item]
        if isinstance(item, e.Logic) and item.op == op:
            parts = list(item.items)
        for part in parts:
            if isinstance(part, e.Constant) and part.value == decides:
                return truth(bool(decides))
            if isinstance(part, e.Constant) and part.value is not None:
                continue
            rest.setdefault(part)
    if not rest:
        return truth(not decides)
    if len(rest) == 1:
        return next(iter(rest))
    nullable = any(item.type.nullable for item in rest)
    return e.Logic(BOOL.maybe(nullable), op=op, items=tuple(rest))


def is_null(item: e.Expr) -> e.Expr:
    """item IS NULL."""
    if _is_null(item):
        return truth(True)
    if not item.type.nullable:
        return truth(False)
    return e.IsNull(BOOL, operand=item)


def same(left: e.Expr, right: e.Expr) -> e.Expr:
    """left IS right."""
    if _is_null(right):
        return is_null(left)
    if _is_null(left):
        return is_null(right)
    plain = compare("=", left, right)
    if not plain.type.nullable:
        return plain
    left, right = alike([left, right])
    if not left.type.nullable or not right.type.nullable:
        return e.IsTrue(BOOL, operand=plain)
    return e.Same(BOOL, left=left, right=right)


def is_true(item: e.Expr) -> e.Expr:
    """condition IS TRUE."""
    return e.IsTrue(BOOL, operand=item) if item.type.nullable else item


# Choices --------------------------------------------------------------------


def alike(items: Sequence[e.Expr]) -> list[e.Expr]:
    """Returns values of one kind: numbers as f64 where one of them is."""
    kinds = {item.type.kind for item in items} - {"null"}
    if "blob" in kinds:
        raise Fault("columns of bytes, or texts of any length, are not values")
    if "text" in kinds and len(kinds) > 1:
        raise Fault("values are either texts or numbers, not both")
    if "f64" in kinds:
        return [as_float(item) for item in items]
    return list(items)


def common(types: Sequence[Type]) -> Type:
    """Returns the type that holds values of one kind."""
    nullable = any(kind.nullable for kind in types)
    known = [kind for kind in types if kind.kind != "null"]
    if not known:
        return NULL
    kinds = {kind.kind for kind in known}
    if kinds == {"text"}:
        widths = [kind.bytes for kind in known]
        return replace(
            text(max(widths) if all(widths) else 0), nullable=nullable
        )
    if "f64" in kinds:
        single = all(kind.single for kind in known)
        return replace(FLOAT, nullable=nullable, single=single)
    if kinds == {"bool"}:
        return BOOL.maybe(nullable)
    return integer(min(k.lo for k in known), max(k.hi for k in known), nullable)


def case(whens: Sequence[tuple[e.Expr, e.Expr]], otherwise: e.Expr) -> e.Expr:
    """CASE; conditions that are known are folded."""
    kept = []
    for test, value in whens:
        if isinstance(test, e.Constant):
            if not test.value:
                continue
            otherwise = value
            break
        kept.append((test, value))
    values = alike([value for _, value in kept] + [otherwise])
    if not kept:
        return values[0]
    kind = common([value.type for value in values])
    pairs = tuple(
        (test, value)
        for (test, _), value in zip(kept, values[:-1], strict=True)
    )
    return e.Case(kind, whens=pairs, otherwise=values[-1])


def extreme(items: Sequence[e.Expr], is_greatest: bool) -> e.Expr:
    """The greatest of values, or the least; NULL where one of them is."""
    values = alike(items)
    if any(_is_null(value) or value.type.kind == "null" for value in values):
        return constant(None)  # also of a CASE that has no other value
    choose = max if is_greatest else min
    if _is_constant(*values):
        return choose(
            values,
            key=lambda item: _comparable(item.value, item.value)[0],
        )
    types = [value.type for value in values]
    kind = common(types)
    if kind.is_whole:
        kind = integer(
            choose(type.lo for type in types),
            choose(type.hi for type in types),
            kind.nullable,
        )
    return e.Extreme(kind, is_greatest=is_greatest, items=tuple(values))


# Texts ----------------------------------------------------------------------


def like(item: e.Expr, pattern: str, escape: str) -> e.Expr:
    """item LIKE pattern; one without % and _ is a comparison."""
    if _is_null(item):
        return truth(None)
    plain = plain_prefix(pattern, escape)
    if plain is not None and not plain[1]:
        return compare("=", item, constant(plain[0]))
    if plain is not None and isinstance(item, e.Constant):
        return truth(item.value.startswith(plain[0]))
    return e.Like(
        BOOL.maybe(item.type.nullable),
        operand=item,
        pattern=pattern,
        escape=escape,
    )


def plain_prefix(pattern: str, escape: str) -> tuple[str, bool] | None:
    """Returns the text that a pattern is, and whether one % follows it; None
    when the pattern is more than that."""
    plain, at = "", 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == escape:
            at += 1
            plain += pattern[at]
        elif letter == "%":
            return (plain, True) if not pattern[at:].strip("%") else None
        elif letter == "_":
            return None
        else:
            plain += letter
        at += 1
    return plain, False


def length(item: e.Expr) -> e.Expr:
    """length(item)."""
    if item.type.kind != "text":
        raise Fault("length() takes a text")
    if isinstance(item, e.Constant):
        return constant(len(item.value))
    hi = item.type.bytes or INT_MAX
    return e.Length(integer(0, hi, item.type.nullable), operand=item)


def substr(item: e.Expr, start: e.Expr, count: e.Expr | None = None) -> e.Expr:
    """substr(item, start, count)."""
    if item.type.kind != "text":
        raise Fault("substr() takes a text")
    numbers = [start] if count is None else [start, count]
    if not all(
        isinstance(n, e.Constant) and type(n.value) is int for n in numbers
    ):
        raise Fault("start and count of substr() are numbers")
    if start.value < 1:
        raise Fault("substr() starts at 1")
    if count is not None and count.value < 0:
        raise Fault("the count of substr() is at least 0")
    kind = item.type
    if kind.bytes and count is not None:  # a character has up to 4 bytes
        kind = replace(kind, bytes=min(kind.bytes, 4 * count.value) or 1)
    return e.Substr(
        kind,
        operand=item,
        start=start.value,
        count=None if count is None else count.value,
    )
