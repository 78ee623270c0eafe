# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Expressions of SQL as C.

A value is an expression that may be evaluated only where the value is not
NULL, and a condition for NULL. So `a + b` of columns that may be NULL is no
overflow of what stands for NULL. What can end the query is statements before
the expression: they are under the conditions under which SQL evaluates it.
AND and OR go from left to right and stop where the answer is known; as a
condition, also where it cannot be TRUE.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from eskerdb.sql import expr as e
from eskerdb.sql import interval
from eskerdb.sql.types import INT_MAX, INT_MIN, Type
from eskerdb.sqlc import ctype
from eskerdb.sqlc.cexpr import (
    ATOM,
    FALSE,
    PLUS,
    RELATION,
    TIMES,
    TRUE,
    UNARY,
    C,
    all_of,
    any_of,
    choice,
    negated,
    relation,
)
from eskerdb.sqlc.shared import Shared
from eskerdb.sqlc.value import (
    Refused,
    TextValue,
    Value,
    cast,
    integers_compared,
    quoted,
    zero,
)

_RELATIONS = {"=": "==", "<>": "!="}
# gcc warns of (int64_t)(a - (uint32_t)b) where b is one of these.
_SHORT = {"int8_t", "int16_t"}
_BUILTINS = {"+": "add", "-": "sub", "*": "mul"}


class Place(Protocol):
    """Where expressions stand: what they need of the emitter."""

    shared: Shared

    def leaf(self, expr: e.Expr) -> Value: ...

    def text_leaf(self, expr: e.Expr) -> TextValue: ...

    def line(self, text: str) -> None: ...

    def under(self, condition: C) -> AbstractContextManager[None]: ...

    def aside(self) -> AbstractContextManager[list]: ...

    def splice(self, items: list) -> None: ...

    def local(self, ctype: str, name: str, value: str = "0") -> C: ...

    def fail(self, status: str) -> None: ...


class Values:
    def __init__(self, place: Place) -> None:
        self.place = place

    # --------------------------------------------------------------- values

    def value(self, expr: e.Expr) -> Value:
        if expr.type.kind == "text":
            raise Refused("text is not compiled to C here", expr.span)
        make: Callable[[e.Expr], Value] | None = getattr(
            self, f"_{type(expr).__name__.lower()}", None
        )
        if make is None:
            raise Refused(
                f"{type(expr).__name__} is not compiled to C", expr.span
            )
        return self.place.shared.once(expr, make)

    def _constant(self, expr: e.Constant) -> Value:
        value = expr.value
        if value is None:
            return Value(C("0"), TRUE, "int32_t")
        if isinstance(value, float):
            text = repr(value)
            if "inf" in text or "nan" in text:
                raise Refused(f"the float {text} has no constant", expr.span)
            return Value(C(text, UNARY if value < 0 else ATOM), FALSE, "double")
        value = int(value)
        name = ctype.computing((value, value))
        text = ctype.literal(value, name)
        binds = UNARY if text.startswith("-") else ATOM
        return Value(C(text, binds), FALSE, name, value, value)

    def _leaf(self, expr: e.Expr) -> Value:
        return self.place.leaf(expr)

    _column = _variable = _parameter = _result = _leaf

    def _arithmetic(self, expr: e.Arithmetic) -> Value:
        left, right = self.value(expr.left), self.value(expr.right)
        null = any_of(left.null, right.null)
        if expr.type.kind == "f64":
            return self._float_arithmetic(expr, left, right, null)
        if expr.op in "/%":
            return self._divided(expr, left, right, null)
        if expr.checked:
            return self._checked(expr, null, _BUILTINS[expr.op], left, right)
        op, right = _turned(expr.op, right)
        spans = (left.lo, left.hi), (right.lo, right.hi)
        # Bounds of a scan may make it narrower than the type says.
        lo, hi = interval.combined(op, *spans)
        span = (max(lo, expr.type.lo), min(hi, expr.type.hi))
        name = ctype.computing(*spans, span)
        if name == "uint32_t" and {left.ctype, right.ctype} & _SHORT:
            name = "int64_t"
        binds = TIMES if op == "*" else PLUS
        a = cast(left, name).within(binds)
        b = cast(right, name).within(TIMES if binds == PLUS else UNARY)
        return Value(C(f"{a} {op} {b}", binds), null, name, *span)

    def _checked(
        self, expr: e.Expr, null: C, builtin: str, left: Value, right: Value
    ) -> Value:
        result = self.place.local("int64_t", "value")
        with self.place.under(negated(null)):
            a, b = cast(left, "int64_t"), cast(right, "int64_t")
            with self.place.under(
                C(f"__builtin_{builtin}_overflow({a}, {b}, &{result})")
            ):
                self.place.fail("ESK_E_LIMIT")
        return Value(result, null, "int64_t", expr.type.lo, expr.type.hi)

    def _divided(
        self, expr: e.Arithmetic, left: Value, right: Value, null: C
    ) -> Value:
        name = ctype.computing((left.lo, left.hi), (right.lo, right.hi))
        if right.lo <= 0 <= right.hi:
            if right.lo == right.hi:
                return Value(C("0"), TRUE, name)
            null = any_of(null, relation(right.c, "==", C("0")))
        a, b = cast(left, name).within(TIMES), cast(right, name).within(UNARY)
        c = C(f"{a} {expr.op} {b}", TIMES)
        lo, hi = expr.type.lo, expr.type.hi
        if left.lo == ctype.limits(name)[0] and right.lo <= -1 <= right.hi:
            # The least value / -1 is undefined in C.
            if expr.op == "%":
                c = choice(relation(right.c, "==", C("-1")), C("0"), c)
            elif name == "int64_t":
                least = all_of(
                    relation(left.c, "==", C("INT64_MIN")),
                    relation(right.c, "==", C("-1")),
                )
                with self.place.under(all_of(negated(null), least)):
                    self.place.fail("ESK_E_LIMIT")
            else:
                a, b = cast(left, "int64_t"), cast(right, "int64_t")
                name = "int64_t"
                c = C(f"{a.within(TIMES)} / {b.within(UNARY)}", TIMES)
        return Value(c, null, name, lo, hi)

    def _float_arithmetic(
        self, expr: e.Arithmetic, left: Value, right: Value, null: C
    ) -> Value:
        a, b = cast(left, "double"), cast(right, "double")
        binds = TIMES if expr.op in "*/" else PLUS
        tight = TIMES if expr.op in "+" else UNARY
        if expr.op == "/":
            null = any_of(null, relation(b, "==", C("0.0")))
        if expr.op == "-":
            tight = TIMES
        text = f"{a.within(binds)} {expr.op} {b.within(tight)}"
        return self._number(C(text, binds), null)

    def _number(self, c: C, null: C) -> Value:
        """A float that was computed: what is no number is NULL."""
        result = self.place.local("double", "value", "0.0")
        with self.place.under(negated(null)):
            self.place.line(f"{result} = {c};")
        nan = C(f"{result} != {result}", RELATION, f"{result} == {result}")
        return Value(result, any_of(null, nan), "double")

    def _negate(self, expr: e.Negate) -> Value:
        value = self.value(expr.operand)
        if value.is_float:
            return Value(
                C(f"-{value.c.within(ATOM)}", UNARY), value.null, value.ctype
            )
        zero = Value(C("0"), FALSE, "int32_t")
        if expr.checked:
            return self._checked(expr, value.null, "sub", zero, value)
        lo, hi = expr.type.lo, expr.type.hi
        name = ctype.computing((value.lo, value.hi), (lo, hi))
        text = f"-{cast(value, name).within(ATOM)}"
        return Value(C(text, UNARY), value.null, name, lo, hi)

    def _abs(self, expr: e.Abs) -> Value:
        value = self.value(expr.operand)
        lo, hi = expr.type.lo, expr.type.hi
        if value.is_float:
            zero, name = C("0.0"), "double"
        else:
            zero, name = C("0"), ctype.computing((value.lo, value.hi), (lo, hi))
            if value.lo >= 0:
                return value
            if expr.checked:
                least = relation(value.c, "==", C("INT64_MIN"))
                with self.place.under(all_of(negated(value.null), least)):
                    self.place.fail("ESK_E_LIMIT")
        c = cast(value, name)
        minus = C(f"-{c.within(ATOM)}", UNARY)
        return Value(
            choice(relation(c, "<", zero), minus, c), value.null, name, lo, hi
        )

    def _tofloat(self, expr: e.ToFloat) -> Value:
        value = self.value(expr.operand)
        return Value(cast(value, "double"), value.null, "double")

    def _toint(self, expr: e.ToInt) -> Value:
        value = self.value(expr.operand)
        lo, hi = expr.type.lo, expr.type.hi
        if not value.is_float:
            if lo <= value.lo and value.hi <= hi:
                return value
            out = []
            if value.lo < lo:
                out.append(relation(value.c, "<", C(ctype.literal(lo))))
            if value.hi > hi:
                out.append(relation(value.c, ">", C(ctype.literal(hi))))
        else:
            # 2^63 is a float; the largest int is none.
            least, beyond = (
                float(lo) - (lo > INT_MIN),
                float(hi) + (hi < INT_MAX),
            )
            above = ">" if lo > INT_MIN else ">="
            out = [
                negated(
                    all_of(
                        relation(value.c, above, C(repr(least), UNARY)),
                        relation(value.c, "<", C(repr(beyond))),
                    )
                )
            ]
        if expr.checked:
            with self.place.under(all_of(negated(value.null), any_of(*out))):
                self.place.fail("ESK_E_LIMIT")
        name = ctype.computing((lo, hi))
        text = f"({name}){value.c.within(ATOM)}"
        return Value(C(text, UNARY), value.null, name, lo, hi)

    def _round(self, expr: e.Round) -> Value:
        value = self.value(expr.operand)
        c = C(f"esk_round_f64({cast(value, 'double')}, {expr.digits})")
        return Value(c, value.null, "double")

    def _bucket(self, expr: e.Bucket) -> Value:
        value, width = self.value(expr.operand), expr.width
        lo, hi = expr.type.lo, expr.type.hi
        name = ctype.computing((value.lo, value.hi), (lo, hi), (0, width))
        c = cast(value, name).within(TIMES)
        by = ctype.literal(width, name)
        rest = C(f"{c} % {by}", TIMES)
        if value.lo < 0:
            rest = C(f"({rest} + {by}) % {by}", TIMES)
            if width > INT_MAX // 2:
                raise Refused("bucket() of such a width", expr.span)
        if expr.checked:
            amount = Value(rest, FALSE, name, 0, width - 1)
            return self._checked(expr, value.null, "sub", value, amount)
        return Value(C(f"{c} - {rest}", PLUS), value.null, name, lo, hi)

    # ----------------------------------------------------------- conditions

    def _condition(self, expr: e.Expr) -> Value:
        """A condition as a value."""
        if not expr.type.nullable:
            return Value(self.truth(expr), FALSE, "bool", 0, 1)
        yes = self.place.local("bool", "is_true", "false")
        no = self.place.local("bool", "is_false", "false")
        self.place.line(f"{yes} = {self.truth(expr)};")
        self.place.line(f"{no} = {self.falsity(expr)};")
        null = all_of(negated(yes), negated(no))
        return Value(yes, null, "bool", 0, 1)

    _compare = _logic = _not = _isnull = _condition
    _istrue = _same = _like = _condition

    def truth(self, expr: e.Expr) -> C:
        """Returns whether a condition is TRUE."""
        return self._known(expr, True)

    def falsity(self, expr: e.Expr) -> C:
        """Returns whether a condition is FALSE."""
        return self._known(expr, False)

    def _known(self, expr: e.Expr, wanted: bool) -> C:
        if isinstance(expr, e.Logic):
            return self._logic_known(expr, wanted)
        if isinstance(expr, e.Not):
            return self._known(expr.operand, not wanted)
        if isinstance(expr, e.Compare):
            c, null = self._compared(expr)
        elif isinstance(expr, e.IsNull):
            is_text = expr.operand.type.kind == "text"
            operand = (self.text if is_text else self.value)(expr.operand)
            c, null = operand.null, FALSE
        elif isinstance(expr, e.Like):
            c, null = self._liked(expr)
        elif isinstance(expr, e.IsTrue):
            c, null = self.truth(expr.operand), FALSE
        elif isinstance(expr, e.Same):
            c, null = self._are_same(expr), FALSE
        else:
            value = self.value(expr)
            null = value.null
            if value.ctype == "bool":
                c = value.c
            else:
                c = relation(value.c, "!=", zero(value))
        return all_of(negated(null), c if wanted else negated(c))

    def _logic_known(self, expr: e.Logic, wanted: bool) -> C:
        every = (expr.op == "and") == wanted
        join = all_of if every else any_of
        result = self._known(expr.items[0], wanted)
        for item in expr.items[1:]:
            with self.place.aside() as items:
                c = self._known(item, wanted)
            if not items:
                result = join(result, c)
                continue
            # It has statements: they are run only where it is evaluated.
            known = self.place.local("bool", "is_met", "false")
            self.place.line(f"{known} = {result};")
            with self.place.under(known if every else negated(known)):
                self.place.splice(items)
                self.place.line(f"{known} = {c};")
            result = known
        return result

    def text(self, expr: e.Expr) -> TextValue:
        """Returns a text: where its bytes are."""
        if isinstance(expr, e.Constant):
            if expr.value is None:
                return TextValue('""', "0", TRUE)
            data = str(expr.value).encode()
            return TextValue(quoted(data), str(len(data)), FALSE)
        if isinstance(expr, e.Column | e.Parameter | e.Variable | e.Result):
            return self.place.text_leaf(expr)
        made: dict[type, Callable] = {
            e.Substr: self._substr,
            e.Case: self._text_case,
            e.Extreme: self._text_extreme,
        }
        make = made.get(type(expr))
        if make is not None:
            return self.place.shared.once(expr, make)
        name = type(expr).__name__.lower()
        raise Refused(f"{name} of text is not compiled to C", expr.span)

    def _length(self, expr: e.Length) -> Value:
        text = self.text(expr.operand)
        call = C(f"esk_text_length({text.c}, {text.bytes})")
        return Value(call, text.null, "int32_t", 0, min(expr.type.hi, 65535))

    def _substr(self, expr: e.Substr) -> TextValue:
        text = self.text(expr.operand)
        made = self._text_local(text.null)
        skip = min(expr.start - 1, 65535)
        count = 65535 if expr.count is None else min(expr.count, 65535)
        with self.place.under(negated(text.null)):
            self.place.line(
                f"{made.c} = esk_text_part({text.c}, {text.bytes}, {skip}, "
                f"{count}, &{made.bytes});"
            )
        return made

    def _text_local(self, null: C) -> TextValue:
        """Declares an empty text."""
        text = self.place.local("const void *", "text", '""')
        return TextValue(
            str(text), str(self.place.local("uint16_t", "text_bytes")), null
        )

    def _text_case(self, expr: e.Case) -> TextValue:
        made = []
        for condition, value in expr.whens:
            with self.place.aside() as first:
                test = self.truth(condition)
            with self.place.aside() as then:
                made.append((first, test, then, self.text(value)))
        with self.place.aside() as last:
            otherwise = self.text(expr.otherwise)
        place, null = self.place, FALSE
        if expr.type.nullable:
            null = place.local("bool", "is_null", "false")
        result = self._text_local(null)

        def assign(value: TextValue) -> None:
            if value.null != FALSE:
                place.line(f"{null} = {value.null};")
            with place.under(negated(value.null)):
                place.line(f"{result.c} = {value.c};")
                place.line(f"{result.bytes} = {value.bytes};")

        self._branches(made, last, otherwise, assign)
        return result

    def _texts_compared(self, expr: e.Compare | e.Same) -> tuple[C, C, C]:
        a, b = self.text(expr.left), self.text(expr.right)
        call = f"esk_text_compare({a.c}, {a.bytes}, {b.c}, {b.bytes})"
        return C(call), a.null, b.null

    def _liked(self, expr: e.Like) -> tuple[C, C]:
        text = self.text(expr.operand)
        data = expr.pattern.encode()
        escape = expr.escape.encode()
        if len(escape) > 1:
            raise Refused("an escape beyond ASCII is not compiled", expr.span)
        mark = str(escape[0]) if escape else "0"
        call = (
            f"esk_text_like({text.c}, {text.bytes}, {quoted(data)}, "
            f"{len(data)}, {mark})"
        )
        return C(call), text.null

    def _compared(self, expr: e.Compare) -> tuple[C, C]:
        if "text" in (expr.left.type.kind, expr.right.type.kind):
            call, *nulls = self._texts_compared(expr)
            op = _RELATIONS.get(expr.op, expr.op)
            return relation(call, op, C("0")), any_of(*nulls)
        left, right = self.value(expr.left), self.value(expr.right)
        null = any_of(left.null, right.null)
        op = _RELATIONS.get(expr.op, expr.op)
        if left.is_float != right.is_float:
            return self._compared_exactly(left, op, right), null
        if left.c == right.c:
            return TRUE if op in ("==", "<=", ">=") else FALSE, null
        if left.is_float:
            return relation(left.c, op, right.c), null
        return integers_compared(left, op, right), null

    def _compared_exactly(self, left: Value, op: str, right: Value) -> C:
        """An int with a float."""
        whole = right if left.is_float else left
        if -(1 << 53) <= whole.lo and whole.hi <= 1 << 53:
            return relation(cast(left, "double"), op, cast(right, "double"))
        if left.is_float:
            swapped = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
            return self._compared_exactly(right, swapped.get(op, op), left)
        call = C(f"esk_compare_int_f64({left.c}, {right.c})")
        return relation(call, op, C("0"))

    def _are_same(self, expr: e.Same) -> C:
        if "text" in (expr.left.type.kind, expr.right.type.kind):
            call, a, b = self._texts_compared(expr)
            equal = relation(call, "==", C("0"))
            return any_of(all_of(negated(a), negated(b), equal), all_of(a, b))
        left, right = self.value(expr.left), self.value(expr.right)
        if left.c == right.c:
            equal = TRUE
        elif left.is_float or right.is_float:
            equal = relation(cast(left, "double"), "==", cast(right, "double"))
        else:
            equal = integers_compared(left, "==", right)
        neither = all_of(negated(left.null), negated(right.null), equal)
        return any_of(neither, all_of(left.null, right.null))

    def _case(self, expr: e.Case) -> Value:
        name = _kept(expr.type)
        lo, hi = expr.type.lo, expr.type.hi
        made = []
        for condition, value in expr.whens:
            with self.place.aside() as first:
                test = self.truth(condition)
            with self.place.aside() as then:
                made.append((first, test, then, self.value(value)))
        with self.place.aside() as last:
            otherwise = self.value(expr.otherwise)
        # What a condition never lets be chosen, by the bounds of a scan.
        made = [one for one in made if one[0] or one[1] != FALSE]
        if not made:
            self.place.splice(last)
            return otherwise
        parts = [part for f, _, t, _ in made for part in (f, t)]
        if not any(parts) and not last and len(made) == 1:
            _, test, _, value = made[0]
            return Value(
                choice(test, cast(value, name), cast(otherwise, name)),
                choice(test, value.null, otherwise.null),
                name,
                lo,
                hi,
            )
        return self._stepped_case(made, last, otherwise, expr.type)

    def _stepped_case(
        self, made: list, last: list, otherwise: Value, type: Type
    ) -> Value:
        name, place = _kept(type), self.place
        result = place.local(name, "value", "false" if name == "bool" else "0")
        null = FALSE
        if any(v.null != FALSE for *_, v in made) or otherwise.null != FALSE:
            null = place.local("bool", "is_null", "false")

        def assign(value: Value) -> None:
            if null != FALSE and value.null != FALSE:
                place.line(f"{null} = {value.null};")
            if value.null != TRUE:
                with place.under(negated(value.null)):
                    place.line(f"{result} = {cast(value, name)};")

        self._branches(made, last, otherwise, assign)
        return Value(result, null, name, type.lo, type.hi)

    def _extreme(self, expr: e.Extreme) -> Value:
        values = [self.value(item) for item in expr.items]
        null = any_of(*(value.null for value in values))
        name = _kept(expr.type)
        if name not in ("bool", "double"):
            name = ctype.computing(*((v.lo, v.hi) for v in values))
        place, op = self.place, "<" if expr.is_greatest else ">"
        result = place.local(name, "value", "0")
        with place.under(negated(null)):
            first, *others = (cast(value, name) for value in values)
            place.line(f"{result} = {first};")
            for c in others:
                if c.binds != ATOM:
                    c = place.local(name, "other", str(c))
                with place.under(relation(result, op, c)):
                    place.line(f"{result} = {c};")
        return Value(result, null, name, expr.type.lo, expr.type.hi)

    def _text_extreme(self, expr: e.Extreme) -> TextValue:
        values = [self.text(item) for item in expr.items]
        result = self._text_local(any_of(*(value.null for value in values)))
        op = "<" if expr.is_greatest else ">"
        with self.place.under(negated(result.null)):
            for place, value in enumerate(values):
                order = C(
                    f"esk_text_compare({result.c}, {result.bytes}, {value.c}, "
                    f"{value.bytes})"
                )
                is_it = relation(order, op, C("0")) if place else TRUE
                with self.place.under(is_it):
                    self.place.line(f"{result.c} = {value.c};")
                    self.place.line(f"{result.bytes} = {value.bytes};")
        return result

    def _branches(
        self, made: list, last: list, otherwise: Any, assign: Callable
    ) -> None:
        """Assigns the value of the first condition that is TRUE."""
        place, open_ones = self.place, []
        for first, test, then, value in made:
            place.splice(first)
            branch = place.under(test)
            branch.__enter__()
            place.splice(then)
            assign(value)
            branch.__exit__(None, None, None)
            other = place.under(negated(test))
            other.__enter__()
            open_ones.append(other)
        place.splice(last)
        assign(otherwise)
        for other in reversed(open_ones):
            other.__exit__(None, None, None)


def _turned(op: str, right: Value) -> tuple[str, Value]:
    """Returns a + -5 as a - 5, and a - -5 as a + 5: numbers without a sign may
    be computed without one."""
    if op not in "+-" or right.hi >= 0 or right.lo != right.hi:
        return op, right
    value = -right.lo
    name = ctype.computing((value, value))
    if value > INT_MAX or right.c.text != ctype.literal(right.lo, right.ctype):
        return op, right
    turned = Value(
        C(ctype.literal(value, name)), right.null, name, value, value
    )
    return "-" if op == "+" else "+", turned


def _kept(type: Type) -> str:
    if type.kind == "f64":
        return "double"
    if type.kind == "bool":
        return "bool"
    return ctype.computing((type.lo, type.hi))
