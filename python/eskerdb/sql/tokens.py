# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Takes SQL apart into tokens, each with its place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from eskerdb.sql.source import Source, Span

Kind = Literal[
    "name", "quoted", "text", "blob", "int", "float", "param", "op", "end"
]

# Words that are not names unless in double quotes.
_WORDS = """ALL AND AS ASC BETWEEN BY CASE CAST CREATE CROSS DELETE DESC DISTINCT
    ELSE END ESCAPE EXCEPT EXISTS FROM FULL GROUP HAVING IN INDEX INNER INSERT
    INTERSECT INTO IS ISNULL JOIN LEFT LIKE LIMIT NATURAL NOT NOTNULL NULL
    NULLS OFFSET ON OR ORDER OUTER OVER PRIMARY RIGHT SELECT SET TABLE THEN
    UNION UPDATE USING VALUES WHEN WHERE WITH"""
KEYWORDS = frozenset(_WORDS.split())
BEYOND_64_BITS = "the number is beyond 64 bits, signed"
_DIGITS_MAX = 1000  # of a whole number: zeros may lead
_NAME_COMMENT = re.compile(r"--[ \t]*name:[ \t]*([A-Za-z_]\w*)?[ \t]*$")
NO_UTF8 = re.compile("[\ud800-\udfff]")  # what such a byte is decoded to
_PATTERN = re.compile(
    r"""(?P<space>\s+)
    |(?P<comment>--[^\n]*)
    |(?P<block>/\*.*?\*/)
    |(?P<blob>[xX]'[^']*')
    |(?P<float>(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?
        |[0-9]+[eE][+-]?[0-9]+)
    |(?P<hex>0[xX][0-9a-fA-F]+)
    |(?P<int>[0-9]+)
    |(?P<name>[^\W\d]\w*)
    |(?P<quoted>"(?:[^"]|"")*")
    |(?P<text>'(?:[^']|'')*')
    |(?P<param>:[^\W\d]\w*)
    |(?P<op><=|>=|<>|!=|==|\|\||<<|>>|->>?|/(?!\*)|[-+*%<>=(),.;&|~])""",
    re.VERBOSE | re.DOTALL,
)
_STRAY = {
    "'": "a text without its closing '",
    '"': 'a name without its closing "',
    "?": "parameters have names: write :name",
    "@": "parameters begin with a colon: write :name",
    "$": "parameters begin with a colon: write :name",
    "`": 'names are quoted by "double quotes"',
    "[": 'names are quoted by "double quotes"',
    ":": "a parameter is :name",
}


@dataclass(frozen=True)
class Token:
    """kind, and what it says: a keyword in capitals, a number, a text, bytes.

    name   of a statement's first token: `-- name: x` in the line before it
    """

    kind: Kind
    value: Any
    span: Span
    is_keyword: bool = False
    name: str = ""


def tokens(source: Source) -> list[Token]:
    """Returns the tokens of a text, and one "end". Raises Refusal."""
    broken = NO_UTF8.search(source.text)
    if broken:
        raise source.refuse(broken.span(), "the text is not valid UTF-8")
    result: list[Token] = []
    at, title = 0, ""
    while at < len(source.text):
        found = _PATTERN.match(source.text, at)
        if found is None:
            raise _stray(source, at)
        span, kind = (at, found.end()), found.lastgroup or ""
        if kind == "comment":
            title = _title(source, span) or title
        elif kind not in ("space", "block"):
            result.append(_token(source, kind, found.group(), span, title))
            title = ""
        at = found.end()
    end = len(source.text)
    result.append(Token("end", None, (end, end)))
    return result


def _title(source: Source, span: Span) -> str:
    """Returns the name in a comment `-- name: x`, or ""."""
    found = _NAME_COMMENT.match(source.slice(span))
    if found and not found.group(1):
        raise source.refuse(span, "`-- name:` is followed by a name: a word")
    return found.group(1) if found else ""


def _token(
    source: Source, kind: str, text: str, span: Span, title: str
) -> Token:
    after = source.text[span[1] : span[1] + 1]
    if kind in ("int", "float", "hex") and (after.isalnum() or after == "_"):
        raise source.refuse(
            (span[0], span[1] + 1), "a number is followed by a letter"
        )
    if kind == "blob":
        try:
            return Token("blob", bytes.fromhex(text[2:-1]), span)
        except ValueError:
            raise source.refuse(
                span, "x'..' has two hexadecimal digits a byte"
            ) from None
    if kind == "name":
        word = text.upper()
        if word in KEYWORDS:
            return Token("name", word, span, True, title)
        return Token("name", text, span, False, title)
    if kind == "quoted":
        return Token("quoted", text[1:-1].replace('""', '"'), span)
    if kind == "text":
        return Token("text", text[1:-1].replace("''", "'"), span)
    if kind == "float":
        return Token("float", float(text), span)
    if kind in ("int", "hex"):
        if len(text) > _DIGITS_MAX:
            raise source.refuse(span, BEYOND_64_BITS)
        return Token("int", int(text, 0 if kind == "hex" else 10), span)
    return Token(kind, text[1:] if kind == "param" else text, span, name=title)


def _stray(source: Source, at: int) -> Exception:
    letter = source.text[at]
    if source.text.startswith("/*", at):
        return source.refuse((at, at + 2), "a comment without its closing */")
    message = _STRAY.get(letter, f"the character {letter!r} has no meaning")
    return source.refuse((at, at + 1), message)
