# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The parser: SQLite's precedence, and refusals that say where."""

import random
import sqlite3

import pytest

from eskerdb.sql import syntax as s
from eskerdb.sql.parse import parse
from eskerdb.sql.source import Refusal, Source, nearest

EXPRESSIONS = 6000
OPERATORS = "+ - * / % < <= > >= = == <> != AND OR IS".split()  # noqa: SIM905


def expression(text):
    (query,) = parse(Source(f"SELECT {text}"))
    return query.select.outputs[0].value


def emitted(node):
    """Writes an expression with parentheses around every part."""
    match node:
        case s.Literal(value=None):
            return "NULL"
        case s.Literal(value=value):
            return f"({value!r})"
        case s.Name(column=column):
            return column
        case s.Unary(op=op, operand=operand):
            return f"({op} {emitted(operand)})"
        case s.Binary(op=op, left=left, right=right):
            return f"({emitted(left)} {op} {emitted(right)})"
        case s.Is(left=left, right=right, negated=negated):
            word = "IS NOT" if negated else "IS"
            return f"({emitted(left)} {word} {emitted(right)})"
        case s.Between(operand=operand, lo=lo, hi=hi, negated=negated):
            parts = f"BETWEEN {emitted(lo)} AND {emitted(hi)}"
            return f"({emitted(operand)} {'NOT ' * negated}{parts})"
        case s.In(operand=operand, items=items, negated=negated):
            values = ", ".join(map(emitted, items))
            return f"({emitted(operand)} {'NOT ' * negated}IN ({values}))"
        case s.CaseNode(subject=subject, whens=whens, otherwise=otherwise):
            head = emitted(subject) if subject else ""
            body = " ".join(
                f"WHEN {emitted(c)} THEN {emitted(v)}" for c, v in whens
            )
            last = f"ELSE {emitted(otherwise)}" if otherwise else ""
            return f"(CASE {head} {body} {last} END)"
    raise AssertionError(node)


def generated(dice, depth):
    """Makes an expression with few parentheses."""
    if depth == 0:
        return dice.choice(["a", "b", "c", "n", "1", "2", "0", "-3", "NULL"])
    kind = dice.randrange(12)
    left, right = (generated(dice, depth - 1) for _ in range(2))
    no = dice.choice(["", "NOT "])
    if kind < 6:
        return f"{left} {dice.choice(OPERATORS)} {right}"
    if kind == 6:
        return f"{dice.choice(['NOT', '-', '+'])} {left}"
    if kind == 7:
        return f"({left})"
    if kind == 8:
        return f"{left} {no}IN ({right}, 2)"
    if kind == 9:
        return f"{left} {no}BETWEEN {right} AND {generated(dice, depth - 1)}"
    if kind == 10:
        return f"{left} {dice.choice(['IS NULL', 'NOT NULL', 'ISNULL'])}"
    return f"CASE WHEN {left} THEN {right} ELSE a END"


def test_expressions_have_the_value_that_sqlite_gives_them():
    dice = random.Random(2611)
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE t (a, b, c, n)")
        database.execute(
            "INSERT INTO t VALUES (1, 2, 3, NULL), (0, -1, 7, NULL), (5, 5, 0, 1)"
        )
        compared = 0
        for _ in range(EXPRESSIONS):
            text = generated(dice, dice.randrange(1, 4))
            try:
                again = emitted(expression(text))
            except Refusal:
                continue
            rows = [
                database.execute(f"SELECT {e} FROM t").fetchall()
                for e in (text, again)
            ]
            assert rows[0] == rows[1], (text, again)
            compared += 1
    assert compared > EXPRESSIONS / 3


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("SELECT a, FROM t", "1:11", "after the comma"),
        ("SELECT a FRM t", "1:10", "did you mean 'FROM'"),
        ("SELEC 1", "1:1", "did you mean 'SELECT'"),
        ("SELECT a < b < c", "1:14", "use parentheses"),
        ("SELECT a = b IN (1)", "1:14", "use parentheses"),
        ("SELECT a IS NULL < 3", "1:18", "use parentheses"),
        ("SELECT a = NOT b", "1:12", "use parentheses"),
        ("SELECT a\nFROM t LIMIT 5, 10", "2:15", "LIMIT count OFFSET"),
        ("SELECT a FROM t AS z(b)", "1:21", "not supported"),
        ("SELECT a FROM t, 1", "1:18", "a table's name"),
        ("SELECT a FROM t FULL JOIN u ON a", "1:17", "FULL JOIN"),
        ("SELECT a FROM t JOIN u USING (a)", "1:24", "write ON"),
        ("SELECT a FROM t UNION SELECT 1", "1:17", "UNION ALL is"),
        ("SELECT a || b", "1:10", "||"),
        ("SELECT a GLOB 'x'", "1:10", "LIKE"),
        ("SELECT x'0'", "1:8", "hexadecimal digits"),
        ("SELECT ?", "1:8", ":name"),
        ("SELECT 12ab", "1:8", "followed by a letter"),
        ("SELECT 'open", "1:8", "closing"),
        ("SELECT 9223372036854775808", "1:8", "64 bits"),
        ("SELECT " + "9" * 5000, "1:8", "64 bits"),
        ("SELECT \u0663", "1:8", "no meaning"),
        ("SELECT '\udcff'", "1:9", "UTF-8"),
        ("SELECT \0", "1:8", "no meaning"),
        ("SELECT (SELECT 1)", "1:9", "put it in FROM"),
        ("SELECT a IN (SELECT 1)", "1:14", "JOIN"),
        ("SELECT sum(a) OVER ()", "1:15", "OVER"),
        ("PRAGMA foo", "1:1", "PRAGMA"),
        ("CREATE VIEW v AS SELECT 1", "1:8", "TABLE or INDEX"),
        ("CREATE TABLE t (a u8) USING tre", "1:29", "did you mean 'tree'"),
        ("INSERT INTO t SET a = 1", "1:15", "VALUES or SELECT"),
        ("SELECT 1 ORDER BY 1 NULLS LAST", "1:21", "least"),
        ("SELECT " + "(" * 200 + "1", "1:108", "deep"),
        ("SELECT 1 /* no end", "1:10", "*/"),
        ("SELECT CASE ELSE 1 END", "1:13", "value"),
    ],
)
def test_what_is_outside_is_refused_with_its_place(text, place, message):
    with pytest.raises(Refusal) as refusal:
        parse(Source(text, "x.sql"))
    assert f"x.sql:{place}: " in str(refusal.value)
    assert message in str(refusal.value)


def test_a_refusal_draws_a_caret_under_the_word():
    with pytest.raises(Refusal) as refusal:
        parse(Source("SELECT a\nFROM t UNION SELECT 1"))
    assert str(refusal.value).splitlines()[1:] == [
        "FROM t UNION SELECT 1",
        "       ^~~~~",
    ]


def test_a_refusal_shows_a_part_of_a_long_line():
    with pytest.raises(Refusal) as refusal:
        parse(Source("SELECT 1, " * 9999 + "?\nFROM t"))
    head, line, caret = str(refusal.value).splitlines()
    assert head.startswith("sql:1:99991:")
    assert len(line) == 81 and line[caret.index("^")] == "?"


def test_every_node_knows_its_text():
    text = "a + (b * 2) BETWEEN 1 AND c"
    node = expression(text)
    source = Source(f"SELECT {text}")
    assert source.slice(node.span) == text
    assert source.slice(node.operand.span) == "a + (b * 2)"
    assert source.slice(node.hi.span) == "c"


def test_the_nearest_name_is_one_of_the_same_letters():
    assert nearest("tmep", ["time", "temp", "note"]) == (
        "; did you mean 'temp'?"
    )
    assert nearest("tine", ["temp", "time"]) == "; did you mean 'time'?"
    assert nearest("pressure", ["temp", "time"]) == ""


def test_a_comment_names_a_query():
    daily, other = parse(Source("-- name: daily\nSELECT 1; SELECT 2;"))
    assert (daily.name, other.name) == ("daily", "")


def test_the_least_number_is_a_literal():
    assert expression("-9223372036854775808").value == -(1 << 63)
