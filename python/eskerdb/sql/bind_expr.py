# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Binds expressions: finds names, types each node, refuses what has none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from eskerdb.sql import expr as e
from eskerdb.sql import rules
from eskerdb.sql import syntax as s
from eskerdb.sql.names import Scope
from eskerdb.sql.plan import PART_WHOLE, RECORDS_MAX, ParameterInfo
from eskerdb.sql.rules import Fault
from eskerdb.sql.source import Source, Span, nearest
from eskerdb.sql.types import (
    FLOAT,
    INT_MAX,
    INT_MIN,
    NULL,
    Type,
    integer,
    text,
)

AGGREGATES = (
    *("count", "sum", "min", "max", "avg", "first", "last"),
    "quantile",
)
FUNCTIONS = ("abs", "round", "length", "substr", "bucket", "coalesce")
_OF_DISTINCT = ("count", "sum", "avg", "min", "max")
_INT64 = integer(INT_MIN, INT_MAX)
TYPES: dict[str, Type] = {
    **{
        f"{sign}{bits}": integer(
            -(1 << (bits - 1)) if sign == "i" else 0,
            min((1 << (bits - (sign == "i"))) - 1, INT_MAX),
        )
        for sign in "iu"
        for bits in (8, 16, 32, 64)
    },
    "integer": _INT64,
    "int": _INT64,
    "bigint": _INT64,
    "f64": FLOAT,
    "real": FLOAT,
    "double": FLOAT,
    "text": text(),
}
_ADVICE = {
    "ifnull": "write coalesce(a, b)",
    "nullif": "write CASE WHEN a = b THEN NULL ELSE a END",
    "iif": "write CASE WHEN .. THEN .. ELSE .. END",
    "mod": "write a % b",
    "substring": "write substr(text, start, count)",
    "total": "write coalesce(sum(x), 0)",
    "time_bucket": "write bucket(key, width)",
}


@dataclass(frozen=True)
class AggregateCall(e.Expr):
    """An aggregate function in an expression; bind.py replaces it."""

    function: str = ""
    argument: e.Expr | None = None
    part: int = 0
    bound: int = 0
    distinct: bool = False


class Parameters:
    """The parameters of a statement and their types.

    A statement is bound twice: the first time finds the types, as the hull of
    what the places of each parameter say.
    """

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        """Takes the values of parameters that become constants: texts, because
        a program's parameters are numbers, and all of a program for a
        device."""
        self.names: list[str] = []
        self.types: dict[str, Type] = {}
        self.values = dict(values or {})

    def use(self, name: str, wanted: Type, span: Span) -> e.Expr:
        """Returns a parameter in a place of some type. Raises Fault."""
        if name not in self.names:
            self.names.append(name)
        known = self.types.get(name)
        if known is None:
            known = wanted.maybe(False)
        elif known.kind != wanted.kind:
            raise Fault(
                f":{name} is {known.kind} at one place and {wanted.kind} here; "
                "use two parameters"
            )
        else:
            known = rules.common([known, wanted.maybe(False)])
        self.types[name] = known
        if name in self.values:
            return replace(rules.constant(self.values[name]), span=span)
        index = self.names.index(name)
        return e.Parameter(known, index=index, name=name, span=span)

    def infos(self) -> tuple[ParameterInfo, ...]:
        return tuple(ParameterInfo(n, self.types[n]) for n in self.names)


class ExpressionBinder:
    """Binds expressions in a scope.

    aggregates  what to do about aggregate functions: "" binds them, else the
                message that refuses them
    """

    def __init__(
        self,
        source: Source,
        scope: Scope,
        parameters: Parameters,
        aggregates: str = "no aggregate functions here",
        aliases: dict[str, e.Expr] | None = None,
    ) -> None:
        self.source = source
        self.scope = scope
        self.parameters = parameters
        self.aggregates = aggregates
        self.aliases = aliases or {}

    def bind(self, node: s.Node, wanted: Type | None = None) -> e.Expr:
        """Returns a typed expression. Raises Refusal.

        wanted  the type of a parameter that stands there
        """
        method: Callable = getattr(self, f"_{type(node).__name__.lower()}")
        try:
            if isinstance(node, s.Param):
                found: e.Expr = self._param(node, wanted)
            else:
                found = method(node)
        except Fault as fault:
            raise self.source.refuse(node.span, str(fault)) from None
        return replace(found, span=node.span)

    def condition(self, node: s.Node) -> e.Expr:
        """Binds an expression of which only the truth is of interest."""
        value = self.bind(node, _INT64)
        try:
            return replace(rules.condition(value), span=node.span)
        except Fault as fault:
            raise self.source.refuse(node.span, str(fault)) from None

    def together(
        self, nodes: list[s.Node], widen: bool = False
    ) -> list[e.Expr]:
        """Binds operands that are of one kind: a parameter has the type of
        the others.

        widen  of an int: any of 64 bits
        """
        bound: list[e.Expr | None] = [
            None if isinstance(node, s.Param) else self.bind(node)
            for node in nodes
        ]
        wanted = _wanted([item for item in bound if item is not None], widen)
        return [
            self.bind(node, wanted) if item is None else item
            for node, item in zip(nodes, bound, strict=True)
        ]

    # Leaves -----------------------------------------------------------------

    def _literal(self, node: s.Literal) -> e.Expr:
        return rules.constant(node.value)

    def _name(self, node: s.Name) -> e.Expr:
        if not node.table and not node.quoted:
            word = node.column.casefold()
            names = [column.name.casefold() for column in self.scope.columns]
            if word in ("true", "false") and word not in names:
                return rules.truth(word == "true")
        if not node.table:
            for alias, value in self.aliases.items():
                if alias.casefold() == node.column.casefold():
                    return value
        return self.scope.find(node).value

    def _param(self, node: s.Param, wanted: Type | None) -> e.Expr:
        if wanted is None:
            raise Fault(
                f"the type of :{node.name} is not known: write "
                f"CAST(:{node.name} AS i64)"
            )
        return self.parameters.use(node.name, wanted, node.span)

    # Operators --------------------------------------------------------------

    def _unary(self, node: s.Unary) -> e.Expr:
        if node.op == "NOT":
            return rules.inverse(self.condition(node.operand))
        operand = self.bind(node.operand)
        if node.op == "-":
            return rules.negative(operand)
        if not operand.type.is_number:
            raise Fault("+ takes a number, not a text")
        return operand

    def _binary(self, node: s.Binary) -> e.Expr:
        if node.op in ("AND", "OR"):
            sides = [self.condition(node.left), self.condition(node.right)]
            return rules.logic(node.op.lower(), sides)
        is_arithmetic = node.op in "+-*/%"
        left, right = self.together([node.left, node.right], is_arithmetic)
        if is_arithmetic:
            return rules.arithmetic(node.op, left, right)
        return rules.compare(node.op, left, right)

    def _is(self, node: s.Is) -> e.Expr:
        right = node.right
        if isinstance(right, s.Name) and not right.table and not right.quoted:
            word = right.column.casefold()
            if word in ("true", "false"):
                found = self.condition(node.left)
                if word == "false":
                    found = rules.inverse(found)
                found = rules.is_true(found)
                return rules.inverse(found) if node.negated else found
        left, other = self.together([node.left, node.right])
        found = rules.same(left, other)
        return rules.inverse(found) if node.negated else found

    def _between(self, node: s.Between) -> e.Expr:
        operand, lo, hi = self.together([node.operand, node.lo, node.hi])
        found = rules.logic(
            "and",
            [
                rules.compare(">=", operand, lo),
                rules.compare("<=", operand, hi),
            ],
        )
        return rules.inverse(found) if node.negated else found

    def _in(self, node: s.In) -> e.Expr:
        operand, *items = self.together([node.operand, *node.items])
        tests = [rules.compare("=", operand, item) for item in items]
        found = rules.logic("or", tests)
        return rules.inverse(found) if node.negated else found

    def _likenode(self, node: s.LikeNode) -> e.Expr:
        operand = self.bind(node.operand, text())
        pattern, escape = node.pattern, node.escape
        if operand.type.kind != "text":
            raise Fault("LIKE takes a text on its left")
        if not isinstance(pattern, s.Literal) or not isinstance(
            pattern.value, str
        ):
            raise self.source.refuse(
                pattern.span, "the pattern of LIKE is a text in 'quotes'"
            )
        letter = ""
        if escape is not None:
            if not isinstance(escape, s.Literal) or not (
                isinstance(escape.value, str) and len(escape.value) == 1
            ):
                raise self.source.refuse(
                    escape.span, "ESCAPE takes one character in 'quotes'"
                )
            letter = escape.value
        if letter and pattern.value.endswith(letter):
            body = pattern.value[: -len(letter)]
            trailing = len(pattern.value) - len(body.rstrip(letter))
            if trailing % 2:
                raise self.source.refuse(
                    pattern.span, "the pattern ends with its escape character"
                )
        found = rules.like(operand, pattern.value, letter)
        return rules.inverse(found) if node.negated else found

    def _casenode(self, node: s.CaseNode) -> e.Expr:
        tests: list[e.Expr] = []
        if node.subject is None:
            tests = [self.condition(test) for test, _ in node.whens]
        else:
            for test, _ in node.whens:
                pair = self.together([node.subject, test])
                tests.append(rules.compare("=", *pair))
        values = [value for _, value in node.whens]
        if node.otherwise is not None:
            values.append(node.otherwise)
        bound = self.together(values)
        last = bound.pop() if node.otherwise else rules.constant(None)
        return rules.case(list(zip(tests, bound, strict=True)), last)

    def _cast(self, node: s.Cast) -> e.Expr:
        name = node.type.name
        if name not in TYPES or node.type.width is not None:
            raise self.source.refuse(
                node.type.span,
                f"no type '{self.source.slice(node.type.span)}' for CAST"
                + (nearest(name, TYPES) or f"; there is {', '.join(TYPES)}"),
            )
        wanted = TYPES[name]
        return rules.cast(self.bind(node.operand, wanted), wanted)

    # Functions --------------------------------------------------------------

    def _call(self, node: s.Call) -> e.Expr:
        if node.function in ("min", "max") and len(node.arguments) > 1:
            return self._extreme(node)
        if node.function in AGGREGATES:
            return self._aggregate(node)
        if node.function not in FUNCTIONS:
            advice = _ADVICE.get(node.function)
            raise Fault(
                f"no function {node.function}()"
                + (
                    f": {advice}"
                    if advice
                    else nearest(node.function, AGGREGATES + FUNCTIONS)
                    or f"; there is {', '.join(AGGREGATES + FUNCTIONS)}"
                )
            )
        if node.star or node.distinct:
            raise Fault(f"{node.function}() takes values")
        return getattr(self, f"_{node.function}")(node)

    def _arguments(self, node: s.Call, least: int, most: int) -> list[e.Expr]:
        count = len(node.arguments)
        if not least <= count <= most:
            wanted = f"{least}" if least == most else f"{least} or {most}"
            raise Fault(
                f"{node.function}() takes {wanted} argument"
                + ("s" if most > 1 else "")
                + f", not {count}"
            )
        return [self.bind(argument) for argument in node.arguments]

    def _abs(self, node: s.Call) -> e.Expr:
        return rules.absolute(*self._arguments(node, 1, 1))

    def _bucket(self, node: s.Call) -> e.Expr:
        return rules.bucket(*self._arguments(node, 2, 2))

    def _round(self, node: s.Call) -> e.Expr:
        item, *rest = self._arguments(node, 1, 2)
        digits = rest[0] if rest else rules.constant(0)
        if not isinstance(digits, e.Constant) or digits.type.kind != "int":
            raise Fault("the digits of round() are a number: 0 to 15")
        return rules.rounded(item, digits.value)

    def _length(self, node: s.Call) -> e.Expr:
        return rules.length(*self._arguments(node, 1, 1))

    def _substr(self, node: s.Call) -> e.Expr:
        return rules.substr(*self._arguments(node, 2, 3))

    def _coalesce(self, node: s.Call) -> e.Expr:
        if len(node.arguments) < 2:
            raise Fault("coalesce() takes at least 2 arguments")
        *items, last = self.together(list(node.arguments))
        return rules.case(
            [(rules.inverse(rules.is_null(item)), item) for item in items],
            last,
        )

    def _extreme(self, node: s.Call) -> e.Expr:
        if node.distinct:
            raise Fault(f"{node.function}(DISTINCT ..) takes one value")
        items = self.together(list(node.arguments))
        return rules.extreme(items, node.function == "max")

    def _aggregate(self, node: s.Call) -> e.Expr:
        name = node.function
        if self.aggregates:
            raise Fault(f"{name}(): {self.aggregates}")
        if node.distinct and name not in _OF_DISTINCT:
            raise Fault(f"{name}(DISTINCT ..) is not supported")
        if node.star or not node.arguments:
            if name != "count":
                raise Fault(f"{name}() takes a value")
            return AggregateCall(integer(0, INT_MAX), function="count")
        if name == "quantile":
            return self._quantile(node)
        if len(node.arguments) > 1:
            raise Fault(f"{name}() takes one value")
        argument = self._aggregated(node)
        return AggregateCall(
            _type_of_aggregate(name, argument.type),
            function=name,
            argument=argument,
            distinct=node.distinct and name not in ("min", "max"),
        )

    def _aggregated(self, node: s.Call) -> e.Expr:
        """Binds the argument of an aggregate function."""
        self.aggregates = f"not in the argument of {node.function}()"
        argument = self.bind(node.arguments[0])
        self.aggregates = ""
        return argument

    def _quantile(self, node: s.Call) -> e.Expr:
        if not 2 <= len(node.arguments) <= 3:
            raise Fault(
                "quantile() takes a value, a part of 0 to 1, and the most "
                "values of a group, if you like"
            )
        argument = self._aggregated(node)
        if not argument.type.is_number:
            raise self.source.refuse(
                node.arguments[0].span, "quantile() takes numbers"
            )
        part, *rest = (self.bind(item) for item in node.arguments[1:])
        bound = rest[0].value if rest and _is_known(rest[0], "int") else 0
        if rest and not 1 <= bound <= RECORDS_MAX:
            raise self.source.refuse(
                node.arguments[2].span,
                "the most values of quantile() are a number: 1 to "
                f"{RECORDS_MAX:,}",
            )
        return AggregateCall(
            argument.type.maybe(),
            function="quantile",
            argument=argument,
            part=self._ten_thousandths(part, node.arguments[1].span),
            bound=bound,
        )

    def _ten_thousandths(self, part: e.Expr, span: Span) -> int:
        """Returns the part of a quantile. Raises Refusal."""
        if _is_known(part, "int", "f64"):
            exact = Decimal(repr(part.value)) * PART_WHOLE
            if 0 <= exact <= PART_WHOLE and exact == int(exact):
                return int(exact)
        raise self.source.refuse(
            span,
            "the part of quantile() is a number: 0 to 1, with at most 4 "
            "digits after the point",
        )


def _is_known(value: e.Expr, *kinds: str) -> bool:
    """Whether it is a number of the statement."""
    return isinstance(value, e.Constant) and value.type.kind in kinds


def _wanted(others: list[e.Expr], widen: bool) -> Type | None:
    """Returns the type of a parameter that stands beside other operands."""
    types = [item.type for item in others if item.type.kind != "null"]
    if not types:
        return None
    if any(other.kind == "text" for other in types):
        columns = [
            item.type for item in others if not isinstance(item, e.Constant)
        ]
        known = [other for other in columns if other.kind == "text"]
        return rules.common(known) if known else text()
    if any(other.kind == "f64" for other in types):
        return FLOAT
    varying = [
        item.type
        for item in others
        if item.type.kind == "int" and not isinstance(item, e.Constant)
    ]
    return rules.common(varying) if varying and not widen else _INT64


def _type_of_aggregate(name: str, argument: Type) -> Type:
    if name == "count":
        return integer(0, INT_MAX)
    if name in ("sum", "avg") and not argument.is_number:
        raise Fault(f"{name}() takes numbers, not texts")
    if name == "avg":
        return FLOAT.maybe()
    if name == "sum":
        return (FLOAT if argument.kind == "f64" else _INT64).maybe()
    if argument.kind == "null":
        return NULL
    if argument.kind == "blob":
        raise Fault(f"{name}() takes numbers and texts with a width")
    return argument.maybe()
