# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Conditions on the values of kv tables, as conditions on what is stored.

SELECT shows a value as a text, whatever its type is, and so a condition
compares that text. No back end writes it: `value = '80'` becomes "an integer
that is 80, or a text of the bytes 80". An order, LIKE and a parameter are of
texts alone, and CAST is of numbers alone: the condition around has to say the
type, `type = 'text' AND value LIKE 'a%'`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from eskerdb._esker import lib
from eskerdb.kv_value import TYPES, shortest
from eskerdb.sql import expr as e
from eskerdb.sql import rules
from eskerdb.sql.emit import Room, Unsupported
from eskerdb.sql.tables import KV_CELLS, KV_COLUMNS
from eskerdb.sql.types import BOOL, INT_MAX, INT_MIN, integer
from eskerdb.sql.types import text as width

Names = frozenset[str]  # of types that a value can have
ALL: Names = frozenset(TYPES)
_TEXT = frozenset({"text"})
_WHOLE = frozenset({"int", "signed"})
_NUMBER = _WHOLE | {"float"}
_TYPE = 2  # the column
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_FORMS = {4: ("<f", "<I", "bits32"), 8: ("<d", "<q", "bits")}


def matches(pattern: str, escape: str, text: str) -> bool:
    """Whether a text matches a pattern of LIKE."""
    made, letters = "", iter(pattern)
    for letter in letters:
        if letter == escape:
            made += re.escape(next(letters, letter))
        else:
            made += {"%": ".*", "_": "."}.get(letter, re.escape(letter))
    return re.fullmatch(made, text, re.DOTALL) is not None


# Types ----------------------------------------------------------------------


def _both(parts: Iterable[Mapping[int, Names]]) -> dict[int, Names]:
    found: dict[int, Names] = {}
    for part in parts:
        for scan, names in part.items():
            found[scan] = found.get(scan, ALL) & names
    return found


def _either(parts: list[dict[int, Names]]) -> dict[int, Names]:
    scans = set.intersection(*(set(part) for part in parts))
    return {s: frozenset().union(*(part[s] for part in parts)) for s in scans}


# Cells ----------------------------------------------------------------------


class _Cells:
    """The cells of the row that a column is of, and conditions on them."""

    def __init__(self, column: e.Column) -> None:
        self.column = column

    def cell(self, name: str) -> e.Column:
        number = next(i for i, c in enumerate(KV_CELLS) if c.name == name)
        return e.Column(
            KV_CELLS[number].type,
            scan=self.column.scan,
            index=len(KV_COLUMNS) + number,
            name=name,
            span=self.column.span,
        )

    def test(self, name: str, op: str, value: int) -> e.Expr:
        right = e.Constant(integer(value, value), value=value)
        return _compare(op, self.cell(name), right)

    def tagged(self, *tags: int) -> e.Expr:
        return _any(self.test("tag", "=", tag) for tag in tags)

    def of_type(self, name: str) -> e.Expr:
        """Whether the value has one of TYPES."""
        if name == "int":
            negative = self.test("number", "<", 0)
            return _any(
                [
                    self.tagged(lib.ESK_KV_UNSIGNED),
                    _all([self.tagged(lib.ESK_KV_SIGNED), negative]),
                ]
            )
        if name == "signed":
            positive = self.test("number", ">=", 0)
            return _all([self.tagged(lib.ESK_KV_SIGNED), positive])
        if name in ("float", "float32"):
            size = 8 if name == "float" else 4
            return _all(
                [self.tagged(lib.ESK_KV_FLOAT), self.test("size", "=", size)]
            )
        tags = {
            "bytes": lib.ESK_KV_BYTES,
            "text": lib.ESK_KV_TEXT,
            "bool": lib.ESK_KV_BOOL,
        }
        return self.tagged(tags[name])

    def of_types(self, names: Names) -> e.Expr:
        if names == ALL:
            return rules.truth(True)
        return _any(self.of_type(name) for name in TYPES if name in names)

    def type_text(self, names: Names) -> e.Expr:
        """The type as a text."""
        *most, last = (
            (self.of_type(n), e.Constant(width(len(n)), value=n))
            for n in TYPES
            if n in names or not names
        )
        if not most:
            return last[1]
        return e.Case(
            KV_COLUMNS[_TYPE].type, whens=tuple(most), otherwise=last[1]
        )

    # Texts ------------------------------------------------------------------

    def is_text(self, text: str) -> e.Expr:
        """Whether the value is written as a text."""
        if text.startswith("\\x") or "\0" in text:
            raise Unsupported("a value of bytes in a condition")
        data = text.encode()
        same = [
            self.tagged(lib.ESK_KV_TEXT),
            self.test("size", "=", len(data)),
        ]
        if data:
            same.append(
                self.order("=", e.Constant(width(len(data)), value=text))
            )
        ways = [_all(same)]
        if _INTEGER.fullmatch(text):
            ways += self._is_integer(int(text))
        if text in ("true", "false"):
            op = "<>" if text == "true" else "="
            number = self.test("number", op, 0)
            ways.append(_all([self.tagged(lib.ESK_KV_BOOL), number]))
        return _any([*ways, *self._is_float(text)])

    def _is_integer(self, number: int) -> list[e.Expr]:
        """Both types, of which a negative number has one."""
        if INT_MAX < number < 1 << 64:
            tagged = self.tagged(lib.ESK_KV_UNSIGNED)
            bits = self.test("bits", "=", number - (1 << 64))
            return [_all([tagged, self.test("size", "=", 8), bits])]
        if not INT_MIN <= number <= INT_MAX:
            return []
        tags = [lib.ESK_KV_SIGNED]
        if number >= 0:
            tags.append(lib.ESK_KV_UNSIGNED)
        return [_all([self.tagged(*tags), self.test("number", "=", number)])]

    def _is_float(self, text: str) -> list[e.Expr]:
        try:
            number = float(text)
        except ValueError:
            return []
        found: list[e.Expr] = []
        for size, (form, bits, name) in _FORMS.items():
            head = [
                self.tagged(lib.ESK_KV_FLOAT),
                self.test("size", "=", size),
            ]
            if text == "nan":
                cell = self.cell("real" if size == 8 else "single")
                found.append(_all([*head, e.IsNull(BOOL, operand=cell)]))
                continue
            try:
                raw = struct.pack(form, number)
            except OverflowError:
                continue
            (stored,) = struct.unpack(form, raw)
            if repr(shortest(stored) if size == 4 else stored) == text:
                (wanted,) = struct.unpack(bits, raw)
                found.append(_all([*head, self.test(name, "=", wanted)]))
        return found

    def order(self, op: str, right: e.Expr) -> e.Expr:
        """Compares the bytes of the value as if zeros followed."""
        return _compare(op, self.cell("text"), right)

    def text_order(self, op: str, right: e.Constant) -> e.Expr:
        """Compares a value that is a text. One that only has zeros behind the
        other text is above it."""
        if op == "<":
            return self.order("<", right)
        if op == ">=":
            return rules.inverse(self.order("<", right))
        size = self.test("size", "<=", len(right.value.encode()))
        most = _any(
            [
                self.order("<", right),
                _all([self.order("=", right), size]),
            ]
        )
        return most if op == "<=" else rules.inverse(most)

    # Numbers ----------------------------------------------------------------

    def whole(self) -> e.Expr:
        """The value of an integer; beyond 64 bits with a sign it ends the
        query."""
        above = [self.tagged(lib.ESK_KV_UNSIGNED), self.test("number", "<", 0)]
        number = self.cell("number")
        return e.Case(
            number.type, whens=((_all(above), _beyond()),), otherwise=number
        )

    def number(self, wanted: e.StoredNumber, names: Names) -> e.Expr:
        """CAST of a value of these types."""
        if wanted.type.kind == "int":
            return rules.cast(self.whole(), wanted.type)
        real = self.cell("real")
        if names <= {"float"}:
            return real
        whole = e.ToFloat(wanted.type.maybe(False), operand=self.whole())
        if names <= _WHOLE:
            return whole
        return e.Case(
            wanted.type,
            whens=((self.tagged(lib.ESK_KV_FLOAT), real),),
            otherwise=whole,
        )

    def held(self, room: Room) -> e.Expr:
        """TRUE; a text that is longer than the back end has ends the query."""
        one = e.Constant(integer(1, 1), value=1)
        size = self.test("size", ">", room.bytes)
        cut = _all([self.tagged(lib.ESK_KV_TEXT), size])
        checked = e.Case(
            integer(INT_MIN, INT_MAX),
            whens=((cut, _beyond()),),
            otherwise=one,
        )
        return _compare("=", checked, one)


def _beyond() -> e.Expr:
    """A value that ends the query with ESK_E_LIMIT."""
    least = e.Constant(integer(INT_MIN, INT_MIN), value=INT_MIN)
    return e.Negate(integer(INT_MIN, INT_MAX), operand=least)


def _compare(op: str, left: e.Expr, right: e.Expr) -> e.Expr:
    return e.Compare(BOOL, op=op, left=left, right=right)


def _all(items: Iterable[e.Expr]) -> e.Expr:
    return rules.logic("and", list(items))


def _any(items: Iterable[e.Expr]) -> e.Expr:
    return rules.logic("or", list(items))


# Expressions ----------------------------------------------------------------


class Conditions:
    """Makes expressions over rows of kv tables those of their cells.

    room    of the back end
    scans   those of kv tables
    known   the types that the values of a scan's current row can have
    cuts    whether a text that is longer than the room may end the query
    """

    def __init__(self, room: Room) -> None:
        self.room = room
        self.scans: set[int] = set()
        self.known: dict[int, Names] = {}
        self.cuts = False

    def made(self, value: e.Expr) -> e.Expr:
        """Returns an expression. Raises Unsupported."""
        return self._made(value, self.known)

    def output(self, value: e.Expr) -> e.Expr:
        """The same of an output: a type is one as it is."""
        return value if self._is(value, "type") else self.made(value)

    def _is(self, value: e.Expr, kind: str) -> bool:
        """Whether a value is a kv table's column of a kind, "any" or "type"."""
        return (
            isinstance(value, e.Column)
            and value.scan in self.scans
            and value.index < len(KV_COLUMNS)  # no cell
            and KV_COLUMNS[value.index].kind == kind
        )

    def _is_any(self, value: e.Expr) -> bool:
        return self._is(value, "any") or self._is(value, "type")

    def _tested(self, test: e.Expr) -> tuple[int, Names] | None:
        """Returns of which scan's type a comparison is, and of which types it
        is TRUE; None: it is no comparison of a type with a text."""
        match test:
            case e.Compare(left=of, right=e.Constant(value=str(text))):
                holds = rules.HOLDS[test.op]
                found = (n for n in TYPES if holds(n.encode(), text.encode()))
            case e.Like(operand=of):
                found = (
                    n for n in TYPES if matches(test.pattern, test.escape, n)
                )
            case _:
                return None
        return (of.scan, frozenset(found)) if self._is(of, "type") else None

    def types_where(self, test: e.Expr, when: bool = True) -> dict[int, Names]:
        """Returns the types, by scan, that values can have where a condition is
        TRUE, or FALSE; of a scan that is not in it: any."""
        match test:
            case e.Constant(value=value) if value is None or value != when:
                return dict.fromkeys(self.scans, frozenset())  # nowhere
            case e.Not(operand=operand):
                return self.types_where(operand, not when)
            case e.IsTrue(operand=operand) if when:
                return self.types_where(operand, True)
            case e.Logic(op=op, items=items):
                parts = [self.types_where(item, when) for item in items]
                is_and = (op == "and") == when
                return _both(parts) if is_and else _either(parts)
        found = self._tested(test)
        if found is None:
            return {}
        scan, names = found
        return {scan: names if when else ALL - names}

    @contextmanager
    def knowing(self, known: Mapping[int, Names]) -> Iterator[None]:
        """What it encloses stands where values have these types."""
        before = self.known
        self.known = _both([before, known])
        yield
        self.known = before

    def _made(self, value: e.Expr, known: Mapping[int, Names]) -> e.Expr:
        match value:
            case e.Logic():
                return self._logic(value, known)
            case e.Case():
                return self._case(value, known)
            case e.StoredNumber():
                return self._number(value, known)
            case e.Column() if self._is(value, "type"):
                return _Cells(value).type_text(known.get(value.scan, ALL))
            case e.Compare(left=left, right=right):
                for of, other, op in (
                    (left, right, value.op),
                    (right, left, rules.MIRRORED[value.op]),
                ):
                    if self._is_any(of):
                        return self._compared(value, of, op, other, known)
            case e.Same(left=left, right=right):
                for of, other in ((left, right), (right, left)):
                    if self._is_any(of) and isinstance(other, e.Constant):
                        return self._compared(value, of, "=", other, known)
            case e.Like(operand=operand) if self._is_any(operand):
                return self._liked(value, operand, known)
        return e.rebuilt(value, lambda child: self._made(child, known))

    def _logic(self, value: e.Logic, known: Mapping[int, Names]) -> e.Expr:
        """What an item is does not matter where another one decides."""
        goes_on = value.op == "and"
        parts = [self.types_where(item, goes_on) for item in value.items]
        made = [
            self._made(item, _both([known, *parts[:i], *parts[i + 1 :]]))
            for i, item in enumerate(value.items)
        ]
        return rules.logic(value.op, made)

    def _case(self, value: e.Case, known: Mapping[int, Names]) -> e.Expr:
        whens = []
        for test, then in value.whens:
            met = _both([known, self.types_where(test)])
            whens.append((self._made(test, known), self._made(then, met)))
            known = _both([known, self.types_where(test, False)])
        otherwise = self._made(value.otherwise, known)
        return replace(value, whens=tuple(whens), otherwise=otherwise)

    def _compared(
        self,
        value: e.Compare | e.Same,
        of: e.Column,
        op: str,
        other: e.Expr,
        known: Mapping[int, Names],
    ) -> e.Expr:
        """A comparison of a value, or of a type."""
        if self.room.written:
            return value
        cells = _Cells(of)
        is_type = self._is(of, "type")
        text = other.value if isinstance(other, e.Constant) else None
        if is_type and text is not None:
            holds = rules.HOLDS[op]
            return cells.of_types(
                frozenset(n for n in TYPES if holds(n.encode(), text.encode()))
            )
        if text is not None and op in ("=", "<>"):
            self._fits(text, value)
            same = cells.is_text(text)
            return same if op == "=" else rules.inverse(same)
        is_given = isinstance(other, e.Parameter) and self.room.parameters
        if is_type:
            sides = (self._made(x, known) for x in (value.left, value.right))
            left, right = sides
            return replace(value, left=left, right=right)
        if text is None and not is_given:
            raise Unsupported(
                f"'{of.name}' of a kv table is compared with a text that is "
                "known",
                value.span,
            )
        self._need(of, known, _TEXT, value, "an order")
        if is_given:
            return cells.order(op, other)
        assert isinstance(other, e.Constant)
        self._fits(text, value)
        return cells.text_order(op, other)

    def _fits(self, text: str, value: e.Expr) -> None:
        if len(text.encode()) > self.room.bytes:
            raise Unsupported(
                f"a text of {len(text.encode()):,} bytes beside a value, of "
                f"which the query has {self.room.bytes:,}{self.room.advice}",
                value.span,
            )

    def _liked(
        self, like: e.Like, of: e.Column, known: Mapping[int, Names]
    ) -> e.Expr:
        if self.room.written:
            return like
        tested = self._tested(like)
        if tested is not None:
            return _Cells(of).of_types(tested[1])
        self._need(of, known, _TEXT, like, "LIKE")
        cells = _Cells(of)
        plain = rules.plain_prefix(like.pattern, like.escape)
        matched = replace(like, operand=cells.cell("text"), type=BOOL)
        if plain and plain[1] and len(plain[0].encode()) <= self.room.bytes:
            return matched
        self.cuts = True
        return _all([cells.held(self.room), matched])

    def _number(
        self, value: e.StoredNumber, known: Mapping[int, Names]
    ) -> e.Expr:
        of = value.operand
        if not isinstance(of, e.Column) or not self._is(of, "any"):
            raise Unsupported(
                "CAST between text and number is not supported", value.span
            )
        is_whole = value.type.kind == "int"
        allowed = _WHOLE if is_whole else _NUMBER
        names = self._need(of, known, allowed, value, "CAST to a number")
        return _Cells(of).number(value, names)

    @staticmethod
    def _need(
        of: e.Column,
        known: Mapping[int, Names],
        allowed: Names,
        value: e.Expr,
        what: str,
    ) -> Names:
        """Returns the types that a value can have. Raises Unsupported."""
        names = known.get(of.scan, ALL)
        if not names <= allowed:
            types = " or ".join(f"'{n}'" for n in TYPES if n in allowed)
            raise Unsupported(
                f"{what} of '{of.name}' of a kv table stands where type is "
                f"{types}: type = '{min(allowed)}' AND ..",
                value.span,
            )
        return names
