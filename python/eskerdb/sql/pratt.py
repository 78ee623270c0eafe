# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Parses expressions, with SQLite's precedence (Pratt 1973, "Top down
operator precedence").

From loose to tight: OR; AND; NOT; = <> IS IN BETWEEN LIKE; < <= > >=; + -;
* / %; unary - +. What people read in two ways is refused and wants
parentheses: a chain of comparisons (a < b < c, a = b IN (..)), an operator
tighter than = right after IN, IS, BETWEEN or LIKE, and NOT as an operand of
anything tighter than NOT.
"""

from __future__ import annotations

from eskerdb.sql import syntax as s
from eskerdb.sql.source import Source, Span, listed
from eskerdb.sql.tokens import BEYOND_64_BITS, Token, tokens
from eskerdb.sql.types import INT_MAX, INT_MIN

_OR, _AND, _NOT, _EQUAL, _LESS, _PLUS, _TIMES, _SIGN = range(1, 9)
_BINARY = {
    "OR": _OR,
    "AND": _AND,
    "=": _EQUAL,
    "==": _EQUAL,
    "<>": _EQUAL,
    "!=": _EQUAL,
    "<": _LESS,
    "<=": _LESS,
    ">": _LESS,
    ">=": _LESS,
    "+": _PLUS,
    "-": _PLUS,
    "*": _TIMES,
    "/": _TIMES,
    "%": _TIMES,
}
_SPELLED = {"==": "=", "!=": "<>"}
_SUFFIXES = ("IS", "IN", "BETWEEN", "LIKE", "ISNULL", "NOTNULL", "NOT")
_REFUSED = {
    "||": "joining texts by || is not supported",
    "&": "bit operators are not supported",
    "|": "bit operators are not supported",
    "<<": "bit operators are not supported",
    ">>": "bit operators are not supported",
    "~": "bit operators are not supported",
    "->": "JSON operators are not supported",
    "->>": "JSON operators are not supported",
    "GLOB": "GLOB is not supported: use LIKE, which tells cases apart",
    "REGEXP": "REGEXP is not supported: use LIKE",
    "MATCH": "MATCH is not supported: use LIKE",
    "COLLATE": "COLLATE is not supported: texts compare by their bytes",
}
_DEPTH_MAX = 100


class Tokens:
    """Tokens, and the one that is next."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._tokens = tokens(source)
        self._at = 0

    @property
    def next(self) -> Token:
        return self._tokens[self._at]

    def peek(self, ahead: int = 1) -> Token:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    @property
    def before(self) -> Token:
        """The token that was taken last."""
        return self._tokens[max(self._at - 1, 0)]

    def take(self) -> Token:
        token = self.next
        if token.kind != "end":
            self._at += 1
        return token

    def is_word(self, *words: str, ahead: int = 0) -> bool:
        """Whether the next token is one of some words, in any case."""
        token = self.peek(ahead)
        return token.kind == "name" and str(token.value).upper() in words

    def is_op(self, *ops: str) -> bool:
        return self.next.kind == "op" and self.next.value in ops

    def accept_word(self, word: str) -> bool:
        return self.is_word(word) and bool(self.take())

    def accept_op(self, op: str) -> bool:
        return self.is_op(op) and bool(self.take())

    def expect_word(self, *words: str) -> Token:
        if not self.is_word(*words):
            raise self.unexpected(listed(words))
        return self.take()

    def expect_op(self, op: str, after: str = "") -> Token:
        if not self.is_op(op):
            raise self.unexpected(f"'{op}'{after}")
        return self.take()

    def unexpected(self, wanted: str) -> Exception:
        """Returns the refusal of the next token."""
        token = self.next
        if token.kind == "end":
            return self.refuse(token.span, f"{wanted} expected, not the end")
        found = self.source.slice(token.span)
        word = "the keyword " if token.is_keyword else ""
        return self.refuse(token.span, f"{wanted} expected, not {word}{found}")

    def refuse(self, span: Span, message: str) -> Exception:
        return self.source.refuse(span, message)

    def since(self, start: int) -> Span:
        """Returns the span from `start` to the end of the last token."""
        return start, self.before.span[1]

    def identifier(self, what: str) -> Token:
        """Takes a name."""
        token = self.next
        if token.kind == "quoted" or (
            token.kind == "name" and not token.is_keyword
        ):
            return self.take()
        raise self.unexpected(what)


class ExpressionParser(Tokens):
    """Parses expressions."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._depth = 0

    def expression(self, level: int = 0) -> s.Node:
        """Parses operators that bind tighter than `level`."""
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise self.refuse(
                self.next.span,
                f"expressions nest at most {_DEPTH_MAX} deep",
            )
        start = self.next.span[0]
        left, last = self._prefix(level), 0
        while True:
            token = self.next
            here = self._level(token)
            if here == 0 or here <= level:
                break
            if last in (_EQUAL, _LESS) and here >= last:
                raise self.refuse(
                    token.span,
                    f"{self.source.slice(token.span)} after a comparison is "
                    "read in two ways: use parentheses",
                )
            left, last = self._suffix(start, left, here), here
        self._depth -= 1
        return left

    def _level(self, token: Token) -> int:
        """Returns how tight an operator binds; 0 for what is none."""
        if token.kind not in ("op", "name"):
            return 0
        value = (
            str(token.value).upper() if token.kind == "name" else token.value
        )
        if value in _REFUSED:
            raise self.refuse(token.span, _REFUSED[value])
        if value in _SUFFIXES:
            return _EQUAL
        return _BINARY.get(value, 0)

    def _prefix(self, level: int) -> s.Node:
        token = self.next
        start = token.span[0]
        if self.is_word("NOT"):
            if level > _NOT:
                raise self.refuse(
                    token.span,
                    "NOT as an operand is read in two ways: use parentheses",
                )
            self.take()
            operand = self.expression(_NOT - 1)
            return s.Unary(self.since(start), "NOT", operand)
        if self.is_op("-", "+"):
            sign = self.take().value
            number = self.next
            if sign == "-" and number.kind == "int":
                self.take()
                return self._whole(-number.value, self.since(start))
            if sign == "-" and number.kind == "float":
                self.take()
                return s.Literal(self.since(start), -number.value)
            operand = self.expression(_SIGN)
            return s.Unary(self.since(start), sign, operand)
        return self._primary()

    def _whole(self, value: int, span: Span) -> s.Node:
        if not INT_MIN <= value <= INT_MAX:
            raise self.refuse(span, BEYOND_64_BITS)
        return s.Literal(span, value)

    def _suffix(self, start: int, left: s.Node, level: int) -> s.Node:
        """Parses an operator and what follows it."""
        token = self.take()
        op = token.value
        if token.kind == "op" or op in ("AND", "OR"):
            right = self.expression(level)
            return s.Binary(
                self.since(start), _SPELLED.get(op, op), left, right
            )
        negated = op == "NOT"
        if negated:
            if self.accept_word("NULL"):
                null = s.Literal(self.before.span, None)
                return s.Is(self.since(start), left, null, True)
            op = self.expect_word("IN", "BETWEEN", "LIKE", "NULL").value
        if op in ("ISNULL", "NOTNULL"):
            null = s.Literal(token.span, None)
            return s.Is(self.since(start), left, null, op == "NOTNULL")
        if op == "IS":
            return self._is(start, left)
        if op == "IN":
            return self._in(start, left, negated)
        if op == "BETWEEN":
            lo = self.expression(_EQUAL)
            self.expect_word("AND")
            hi = self.expression(_EQUAL)
            return s.Between(self.since(start), left, lo, hi, negated)
        return self._like(start, left, negated)

    def _is(self, start: int, left: s.Node) -> s.Node:
        negated = self.accept_word("NOT")
        if self.is_word("DISTINCT"):
            raise self.refuse(self.next.span, "write IS or IS NOT instead")
        if self.is_word("NULL"):
            right: s.Node = s.Literal(self.take().span, None)
        else:
            right = self.expression(_EQUAL)
        return s.Is(self.since(start), left, right, negated)

    def _in(self, start: int, left: s.Node, negated: bool) -> s.Node:
        self.expect_op("(")
        if self.is_word("SELECT"):
            raise self.refuse(
                self.next.span, "IN (SELECT ..) is not supported: use JOIN"
            )
        items = self.list_of(self.expression, "a value")
        self.expect_op(")")
        span = self.since(start)
        return s.In(span, left, tuple(items), negated)

    def _like(self, start: int, left: s.Node, negated: bool) -> s.Node:
        pattern = self.expression(_EQUAL)
        escape = None
        if self.accept_word("ESCAPE"):
            escape = self.expression(_LESS)
        span = self.since(start)
        return s.LikeNode(span, left, pattern, escape, negated)

    def list_of(self, parse, what: str) -> list:
        """Parses one or more, between commas."""
        items = [parse()]
        while self.accept_op(","):
            if self.is_op(")") or self.is_word("FROM") or self.is_op(";"):
                raise self.unexpected(f"{what} after the comma")
            items.append(parse())
        return items

    def _primary(self) -> s.Node:
        token = self.next
        start = token.span[0]
        if token.kind == "int":
            return self._whole(self.take().value, token.span)
        if token.kind in ("float", "text", "blob"):
            return s.Literal(token.span, self.take().value)
        if token.kind == "param":
            return s.Param(token.span, self.take().value)
        if self.accept_op("("):
            if self.is_word("SELECT"):
                raise self.refuse(
                    self.next.span,
                    "a SELECT is not supported as a value: put it in FROM",
                )
            inner = self.expression()
            if self.is_op(","):
                raise self.refuse(self.next.span, "rows are not supported")
            self.expect_op(")")
            return inner
        if self.accept_word("NULL"):
            return s.Literal(token.span, None)
        if self.accept_word("CASE"):
            return self._case(start)
        if self.accept_word("CAST"):
            self.expect_op("(")
            operand = self.expression()
            self.expect_word("AS")
            kind = self.type_name()
            self.expect_op(")")
            return s.Cast(self.since(start), operand, kind)
        if self.is_word("EXISTS"):
            raise self.refuse(token.span, "EXISTS is not supported: use JOIN")
        if self._level(token) and token.kind == "op":
            raise self.unexpected("a value")
        return self._name()

    def _case(self, start: int) -> s.Node:
        subject = None if self.is_word("WHEN") else self.expression()
        whens = []
        while self.accept_word("WHEN"):
            condition = self.expression()
            self.expect_word("THEN")
            whens.append((condition, self.expression()))
        if not whens:
            raise self.unexpected("WHEN")
        otherwise = self.expression() if self.accept_word("ELSE") else None
        self.expect_word("END")
        return s.CaseNode(self.since(start), subject, tuple(whens), otherwise)

    def _name(self) -> s.Node:
        """Parses a column, or a call."""
        token = self.identifier("a value")
        if self.is_op("(") and token.kind == "name":
            return self._call(token)
        if self.accept_op("."):
            column = self.identifier("a column's name")
            return s.Name(
                (token.span[0], column.span[1]),
                token.value,
                column.value,
                column.kind == "quoted",
            )
        return s.Name(token.span, "", token.value, token.kind == "quoted")

    def _call(self, token: Token) -> s.Node:
        self.expect_op("(")
        star = self.accept_op("*")
        distinct = not star and self.accept_word("DISTINCT")
        arguments: list[s.Node] = []
        if not star and (distinct or not self.is_op(")")):
            arguments = self.list_of(self.expression, "an argument")
        if self.is_word("ORDER"):
            raise self.refuse(
                self.next.span, "ORDER BY in a function is not supported"
            )
        self.expect_op(")")
        if self.is_word("OVER", "FILTER"):
            word = str(self.next.value).upper()
            raise self.refuse(self.next.span, f"{word} is not supported")
        span = self.since(token.span[0])
        name = str(token.value).lower()
        return s.Call(span, name, tuple(arguments), star, distinct)

    def type_name(self, what: str = "a type") -> s.TypeName:
        """Parses u32, text(16)."""
        token = self.identifier(what)
        width = None
        if self.accept_op("("):
            width = self.whole("a width")
            self.expect_op(")")
        span = self.since(token.span[0])
        return s.TypeName(span, str(token.value).lower(), width)

    def whole(self, what: str) -> int:
        if self.next.kind != "int":
            raise self.unexpected(f"{what}, a whole number,")
        return self.take().value
