# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""How a table is read: which conditions become bounds of a scan.

Conditions on the key become where the scan begins and ends; those on other
columns of a series become ranges, which its value indexes use. What is no
bound stays a filter. A bound never gives a row that its condition does not.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from eskerdb.schema import Column as SchemaColumn
from eskerdb.schema import float_ceiling, float_floor, float_next
from eskerdb.sql import expr as e
from eskerdb.sql import plan as p
from eskerdb.sql import rules
from eskerdb.sql.tables import KV_COLUMNS
from eskerdb.sql.types import INT_MAX, INT_MIN, integer

UNION_MAX = 4  # scans of a SeekUnion: each has the query's code once more
_TEXT_BYTES_MAX = 64  # of a key, whose bounds are in registers
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


@dataclass(frozen=True)
class Limits:
    """What a query may use.

    ranges   of a scan: ESK_SERIES_RANGES_MAX of the device
    groups   of GROUP BY that is not in the order of the rows, and DISTINCT
    sorted   rows of ORDER BY without LIMIT
    texts    whether a scan takes bounds of a tree's keys that are texts
    scratch  whether ORDER BY goes on with more rows, through a scratch;
             `sorted` is then those that memory has room for
    """

    ranges: int = 8
    groups: int = 64
    sorted: int = 256
    texts: bool = False
    scratch: bool = False


@dataclass
class _Ends:
    """The bounds of a column that have been found."""

    lo: p.Bound | None = None
    hi: p.Bound | None = None

    def narrow(self, op: str, value: e.Expr) -> bool:
        """Adds a comparison; False when a bound cannot say it."""
        if (op, _constant(value)) in ((">", INT_MAX), ("<", INT_MIN)):
            self.lo = p.Bound(rules.constant(1))
            self.hi = p.Bound(rules.constant(0))
            return True
        lo, hi = op in (">", ">=", "="), op in ("<", "<=", "=")
        both = _bound(value, ">" if op == ">" else "<" if op == "<" else "=")
        new_lo = _tighter(self.lo, both, max) if lo else self.lo
        new_hi = _tighter(self.hi, both, min) if hi else self.hi
        if (lo and new_lo is None) or (hi and new_hi is None):
            return False
        self.lo, self.hi = new_lo, new_hi
        return True

    @property
    def is_empty(self) -> bool:
        lo, hi = _number(self.lo), _number(self.hi)
        return lo is not None and hi is not None and lo > hi

    @property
    def is_exact(self) -> bool:
        """Whether its ends are constants, or there is none."""
        return all(
            end is None or isinstance(end.value, e.Constant)
            for end in (self.lo, self.hi)
        )


def _bound(value: e.Expr, side: str) -> p.Bound:
    """Returns a bound; a constant integer is made inclusive."""
    if side == "=":
        return p.Bound(value)
    if isinstance(value, e.Constant) and isinstance(value.value, int):
        return p.Bound(rules.constant(value.value + (1 if side == ">" else -1)))
    return p.Bound(value, False)


def _tighter(
    old: p.Bound | None, new: p.Bound, choose: Callable
) -> p.Bound | None:
    """Returns the tighter of two bounds; None when that is not known."""
    if old is None:
        return new
    a, b = _number(old), _number(new)
    if a is None or b is None:
        return None
    return old if choose(a, b) == a else new


def _number(end: p.Bound | None) -> float | None:
    return None if end is None else _constant(end.value)


def _constant(value: e.Expr) -> float | None:
    return value.value if isinstance(value, e.Constant) else None


def conjuncts(condition: e.Expr | None) -> list[e.Expr]:
    """Returns the conditions that AND joins."""
    if condition is None:
        return []
    if isinstance(condition, e.Logic) and condition.op == "and":
        return list(condition.items)
    return [condition]


def joined(conditions: Sequence[e.Expr]) -> e.Expr | None:
    """Returns the AND of conditions; None: there is none."""
    return rules.logic("and", conditions) if conditions else None


def comparison(condition: e.Expr) -> tuple[int, str, e.Expr] | None:
    """Takes `column op value` apart: (column, op, value); None: it is more.

    The value has constants and parameters only. A sum that cannot overflow is
    brought to the other side: key + 5 >= 12 is key >= 7.
    """
    if not isinstance(condition, e.Compare) or condition.op == "<>":
        return None
    left, op, right = condition.left, condition.op, condition.right
    if not _is_known(right):
        left, op, right = right, _MIRRORED[op], left
    if not _is_known(right):
        return None
    column, shift = linear(left)
    if column is None:
        return None
    if shift:
        if not isinstance(right, e.Constant):
            return None
        number = right.value - shift
        if not INT_MIN <= number <= INT_MAX:
            return None
        right = rules.constant(number)
    return column.index, op, right


def linear(
    value: e.Expr, overflows: bool = False
) -> tuple[e.Field | None, int]:
    """Returns (column, n) of an integer column + n that never overflows.

    overflows  it may: where a value beyond 64 bits is equal to none
    """
    shift = 0
    while isinstance(value, e.Arithmetic) and value.op in "+-":
        if (value.checked and not overflows) or value.type.kind != "int":
            return None, 0
        left, right = value.left, value.right
        if value.op == "+" and isinstance(left, e.Constant):
            left, right = right, left
        if not isinstance(right, e.Constant):
            return None, 0
        shift += right.value if value.op == "+" else -right.value
        value = left
    return (value, shift) if isinstance(value, e.Field) else (None, 0)


def _is_known(value: e.Expr) -> bool:
    """Whether a value is known before the first row."""
    return all(
        not isinstance(node, (e.Field, e.Column)) for node in e.walk(value)
    ) and isinstance(value, (e.Constant, e.Parameter))


def empty(table: p.TableInfo, number: int) -> p.Plan:
    """Returns a scan without rows."""
    if table.kind == "kv" or table.columns[table.key].kind[0] not in "iu":
        return p.Filter(p.Scan(number, table), rules.truth(False))
    none = p.Bound(rules.constant(1)), p.Bound(rules.constant(0))
    return p.Scan(number, table, False, *none)


def read(
    table: p.TableInfo,
    conditions: Sequence[e.Expr],
    numbers: Callable[[], int],
    limits: Limits,
) -> p.Plan:
    """Returns the rows of a table that meet all conditions, in key order.

    numbers   gives each scan its number
    """
    rest: list[e.Expr] = []
    key, ends = _Ends(), {}
    unions: list[tuple[e.Expr, list[_Ends]]] = []
    of_keys, keys = None, None
    for condition in conditions:
        if isinstance(condition, e.Constant):
            if not condition.value:
                return empty(table, numbers())
            continue
        if limits.texts and _narrow_text(table, condition, key):
            continue
        if not _narrow(table, condition, key, ends):
            parts = _key_ranges(table, condition)
            texts = None
            if limits.texts and table.kind == "kv" and parts is None:
                texts = _key_texts(table, condition)
            if texts is not None and keys is None:
                of_keys, keys = condition, texts
            elif parts is not None:
                unions.append((condition, parts))
            else:
                rest.append(condition)
    if key.is_empty or any(end.is_empty for end in ends.values()):
        return empty(table, numbers())
    ranges, tests = _ranges(table, ends, limits)
    rest += tests
    parts = [key]
    if keys is not None and key.lo is None and key.hi is None:
        parts = keys
        unions.append((of_keys, keys))  # a filter where they are too many
    elif keys is not None:
        rest.append(of_keys)
    for condition, found in unions:
        if found is keys:
            continue
        if len(parts) == 1 and key.is_exact:
            parts = _intersected(found, key)
        else:
            rest.append(condition)
    if len(parts) > UNION_MAX:
        # One scan from the least to the greatest, and a filter.
        rest += [condition for condition, _ in unions]
        parts = [_Ends(parts[0].lo, parts[-1].hi)]
    scans = tuple(
        p.Scan(numbers(), table, False, part.lo, part.hi, ranges)
        for part in parts
    )
    if not scans:
        return empty(table, numbers())
    plan: p.Plan = scans[0] if len(scans) == 1 else p.SeekUnion(scans)
    test = joined(list(dict.fromkeys(rest)))
    return plan if test is None else p.Filter(plan, test)


def _narrow(
    table: p.TableInfo,
    condition: e.Expr,
    key: _Ends,
    ends: dict[int, _Ends],
) -> bool:
    """Makes a condition a bound; False when it stays a filter."""
    found = comparison(condition)
    if found is None:
        return False
    index, op, value = found
    column = table.columns[index]
    is_key = index == table.key
    if table.kind == "kv" or (not is_key and table.kind != "series"):
        return False
    if column.kind[0] in "iu":
        if value.type.kind != "int":
            return False
    elif column.kind in ("f32", "f64"):
        if is_key:
            return False  # no cursor of a program takes bounds of float keys
        if not isinstance(value, e.Constant):
            return False  # f32 would round it
        value, op = _float_end(column, op, float(value.value))
        if value is None:
            return False
    else:
        return False
    if is_key:
        return key.narrow(op, value)
    return ends.setdefault(index, _Ends()).narrow(op, value)


def _narrow_text(table: p.TableInfo, condition: e.Expr, key: _Ends) -> bool:
    """Makes a condition on a tree's key, a text, a bound; False when it stays
    a filter, because the bound includes more."""
    column = table.columns[table.key]
    if table.kind == "series" or column.kind != "text":
        return False
    if isinstance(condition, e.Like):
        plain = rules.plain_prefix(condition.pattern, condition.escape)
        operand = condition.operand
        if (
            plain
            and isinstance(operand, e.Field)
            and operand.index == table.key
        ):
            _narrow_prefix(plain[0], column, key)
        return False
    found = comparison(condition)
    if found is None or found[0] != table.key:
        return False
    _, op, value = found
    if not _is_bound(value, column):
        return False
    if op == "=":
        return key.narrow(op, value)
    narrowed = key.narrow(">=" if op[0] == ">" else "<=", value)
    return narrowed and op in (">=", "<=")


def _is_bound(value: e.Expr, column: p.TableColumn) -> bool:
    """Whether a text is a bound of a column: not longer than that."""
    most = column.bytes
    if column.bytes > _TEXT_BYTES_MAX and column != KV_COLUMNS[0]:
        return False  # but those of kv tables, which are referred to
    if isinstance(value, e.Parameter):
        return 1 <= value.type.bytes <= most
    return (
        isinstance(value, e.Constant)
        and isinstance(value.value, str)
        and len(value.value.encode()) <= most
    )


def _narrow_prefix(prefix: str, column: p.TableColumn, key: _Ends) -> None:
    """Bounds a key by what it begins with: up to the next text that does
    not, of which the last letter is the next one."""
    last = ord(prefix[-1]) + 1 if prefix else 0
    if last == 0xD800:
        last = 0xE000  # behind the surrogates, which no text has
    lo = rules.constant(prefix)
    if not prefix or last > sys.maxunicode or not _is_bound(lo, column):
        return
    key.narrow(">=", lo)
    hi = rules.constant(prefix[:-1] + chr(last))
    if _is_bound(hi, column):
        key.narrow("<=", hi)


def _float_end(
    column: p.TableColumn, op: str, number: float
) -> tuple[e.Expr | None, str]:
    """Rounds a bound inwards to the column's type, and makes it inclusive."""
    schema = SchemaColumn(column.name, column.kind)
    if math.isinf(number):
        return None, op
    up, down = float_ceiling(schema, number), float_floor(schema, number)
    if op == "=":
        return (rules.constant(number), op) if up == down else (None, op)
    if op in (">", ">="):
        value = float_next(schema, up, 1) if op == ">" and up == number else up
        op = ">="
    else:
        value = (
            float_next(schema, down, -1)
            if op == "<" and down == number
            else down
        )
        op = "<="
    return (None if math.isinf(value) else rules.constant(value)), op


def _ranges(
    table: p.TableInfo, ends: dict[int, _Ends], limits: Limits
) -> tuple[tuple[p.Range, ...], list[e.Expr]]:
    """Returns ranges, those of indexed columns first, and the conditions that
    must be tested beside them."""
    order = sorted(ends, key=lambda i: (not table.columns[i].indexed, i))
    ranges, tests = [], []
    for place, index in enumerate(order):
        column, end = table.columns[index], ends[index]
        if place >= limits.ranges:
            field = e.Field(column.type, index=index, name=column.name)
            tests += _as_conditions(field, end)
            continue
        ranges.append(p.Range(index, end.lo, end.hi))
    return tuple(ranges), tests


def _as_conditions(field: e.Field, end: _Ends) -> list[e.Expr]:
    tests = []
    if end.lo is not None:
        op = ">=" if end.lo.inclusive else ">"
        tests.append(rules.compare(op, field, end.lo.value))
    if end.hi is not None:
        op = "<=" if end.hi.inclusive else "<"
        tests.append(rules.compare(op, field, end.hi.value))
    return tests


# Unions of key ranges -------------------------------------------------------


def _key_texts(table: p.TableInfo, condition: e.Expr) -> list[_Ends] | None:
    """Returns the keys, texts, that an OR selects, in key order."""
    column = table.columns[table.key]
    if not (isinstance(condition, e.Logic) and condition.op == "or"):
        return None
    found = []
    for item in condition.items:
        known = comparison(item)
        if (
            known is None
            or known[:2] != (table.key, "=")
            or not isinstance(known[2], e.Constant)
            or not _is_bound(known[2], column)
        ):
            return None
        found.append(known[2].value)
    bounds = [p.Bound(rules.constant(x)) for x in sorted(set(found))]
    return [_Ends(bound, bound) for bound in bounds]


def _key_ranges(table: p.TableInfo, condition: e.Expr) -> list[_Ends] | None:
    """Returns the key ranges that an OR selects, in key order and apart."""
    column = table.columns[table.key]
    if column.kind[0] not in "iu" or not (
        isinstance(condition, e.Logic) and condition.op == "or"
    ):
        return None
    found = []
    for item in condition.items:
        ends = _Ends()
        for part in conjuncts(item):
            known = comparison(part)
            if (
                known is None
                or known[0] != table.key
                or not isinstance(known[2], e.Constant)
                or not isinstance(known[2].value, int)
                or not ends.narrow(known[1], known[2])
            ):
                return None
        if not ends.is_empty:
            found.append(_interval(ends))
    return [_ends(*pair) for pair in _apart(found)]


def _interval(ends: _Ends) -> tuple[int, int]:
    lo, hi = _number(ends.lo), _number(ends.hi)
    return (
        INT_MIN if lo is None else int(lo),
        INT_MAX if hi is None else int(hi),
    )


def _ends(lo: int, hi: int) -> _Ends:
    return _Ends(
        None if lo <= INT_MIN else p.Bound(rules.constant(lo)),
        None if hi >= INT_MAX else p.Bound(rules.constant(hi)),
    )


def _apart(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Joins intervals that overlap or touch; sorted."""
    result: list[tuple[int, int]] = []
    for lo, hi in sorted(intervals):
        if result and lo <= result[-1][1] + 1:
            result[-1] = result[-1][0], max(hi, result[-1][1])
        else:
            result.append((lo, hi))
    return result


def _intersected(parts: list[_Ends], key: _Ends) -> list[_Ends]:
    """Returns the parts of key ranges that are within bounds."""
    lo, hi = _interval(key)
    cut = [(max(lo, a), min(hi, b)) for a, b in (_interval(x) for x in parts)]
    return [_ends(a, b) for a, b in cut if a <= b]


def shifted(bound: p.Bound | None, shift: int) -> p.Bound | None:
    """Returns a bound of key + shift, None where that may overflow."""
    if bound is None or not shift:
        return bound
    value = bound.value
    if isinstance(value, e.Constant) and isinstance(value.value, int):
        number = value.value + shift
        if INT_MIN <= number <= INT_MAX:
            return replace(bound, value=rules.constant(number))
    lo, hi = value.type.lo + shift, value.type.hi + shift
    if isinstance(value, e.Parameter) and INT_MIN <= lo and hi <= INT_MAX:
        total = e.Arithmetic(
            integer(lo, hi),
            op="+",
            left=value,
            right=rules.constant(shift),
            checked=False,
        )
        return replace(bound, value=total)
    return None
