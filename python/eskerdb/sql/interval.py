# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Arithmetic of integer intervals, and of integers as a query does it.

Each function returns the least and the greatest value that is possible, not
cut to 64 bits: what is beyond can overflow.
"""

from __future__ import annotations

from eskerdb.sql.types import INT_MAX, INT_MIN

Interval = tuple[int, int]


def divide(a: int, b: int) -> int:
    """Returns a / b toward 0; b is not 0."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def remainder(a: int, b: int) -> int:
    """Returns a - a / b * b, with the sign of a; b is not 0."""
    return a - divide(a, b) * b


def _corners(a: Interval, b: Interval, function) -> Interval:
    values = [function(x, y) for x in a for y in b]
    return min(values), max(values)


def combined(op: str, a: Interval, b: Interval) -> Interval:
    """Returns the interval of a op b."""
    if op == "+":
        return a[0] + b[0], a[1] + b[1]
    if op == "-":
        return a[0] - b[1], a[1] - b[0]
    if op == "*":
        return _corners(a, b, lambda x, y: x * y)
    if op == "/":
        return _quotient(a, b)
    most = max(abs(b[0]), abs(b[1])) - 1
    lo = 0 if a[0] >= 0 else max(a[0], -most)
    return min(lo, 0), 0 if a[1] <= 0 else max(0, min(a[1], most))


def _quotient(a: Interval, b: Interval) -> Interval:
    """Returns the interval of a / b: the ends nearest to 0 divide most."""
    parts = []
    if b[0] < 0:
        parts.append(_corners(a, (b[0], min(b[1], -1)), divide))
    if b[1] > 0:
        parts.append(_corners(a, (max(b[0], 1), b[1]), divide))
    if not parts:
        return 0, 0
    return min(p[0] for p in parts), max(p[1] for p in parts)


def fits(interval: Interval) -> bool:
    """Whether 64 bits, signed, hold every value."""
    return INT_MIN <= interval[0] and interval[1] <= INT_MAX


def cut(interval: Interval) -> Interval:
    """Returns the part that 64 bits hold."""
    lo, hi = interval
    return min(max(lo, INT_MIN), INT_MAX), max(min(hi, INT_MAX), INT_MIN)
