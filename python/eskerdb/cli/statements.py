# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""SQL as it is typed: taken apart into statements, of which some are changes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import duckdb

from eskerdb.sql.source import Source
from eskerdb.sql.tokens import tokens

_COMMENTS = r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*"
_CHANGE = re.compile(
    _COMMENTS + r"(?:INSERT\s+INTO|UPDATE|DELETE\s+FROM)\b\s*"
    r'("(?:[^"]|"")*"|[^\W\d]\w*)?',
    re.IGNORECASE | re.DOTALL,
)
_CREATE = re.compile(_COMMENTS + r"CREATE\b", re.IGNORECASE | re.DOTALL)
_NO_NEWLINE = re.compile(r"[^\n]")


def places(text: str) -> list[tuple[int, int]]:
    """Returns where the statements of a text are, each with its semicolon."""
    found, begin, has_words = [], 0, False
    for place, is_end in words(text):
        if is_end and has_words:
            found.append((begin, place + 1))
        if is_end:
            begin = place + 1
        has_words = not is_end
    return [*found, (begin, len(text))] if has_words else found


def split(text: str) -> list[str]:
    """Returns the statements of a text."""
    return [text[begin:end].strip() for begin, end in places(text)]


def in_place(text: str) -> list[str]:
    """Returns the statements, each behind as many lines and spaces as are
    before it, so that its parts have their places."""
    return [
        _NO_NEWLINE.sub(" ", text[:begin]) + text[begin:end]
        for begin, end in places(text)
    ]


def words(text: str) -> list[tuple[int, bool]]:
    """Returns where tokens begin, and whether each is a semicolon; comments
    are none."""
    # A byte that is not UTF-8 is a letter here: the statement is refused later.
    data = text.encode(errors="replace")
    found = []
    for start, kind in duckdb.tokenize(data.decode()):  # places in bytes
        if kind != duckdb.token_type.comment:
            is_end = data[start : start + 1] == b";"
            is_end = is_end and kind == duckdb.token_type.operator
            found.append((len(data[:start].decode()), is_end))
    return found


def changed_table(statement: str) -> str | None:
    """Returns the table that an INSERT, UPDATE or DELETE changes, "" when the
    name is missing; None: it is another statement."""
    found = _CHANGE.match(statement)
    if found is None:
        return None
    name = found.group(1) or ""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def changes(text: str) -> bool:
    """Whether a text changes a table that it does not create itself, which
    only DuckDB does."""
    for statement in split(text):
        name = changed_table(statement)
        if name is None:
            continue
        made = rf'\bCREATE\b[^;]*\bTABLE\b[^;]*["\s]{re.escape(name)}["\s(]'
        if not name or not re.search(made, text, re.IGNORECASE):
            return True
    return False


def only_creates(text: str) -> bool:
    """Whether a text makes tables, or indexes, and does nothing with them."""
    found = split(text)
    return bool(found) and all(map(_CREATE.match, found))


def with_values(text: str, values: Mapping[str, Any]) -> str:
    """Returns SQL with values in the place of its parameters, for DuckDB."""
    made, at = "", 0
    for token in tokens(Source(text)):
        if token.kind == "param" and token.value in values:
            value = values[token.value]
            if isinstance(value, str):
                value = "'" + value.replace("'", "''") + "'"
            made += f"{text[at : token.span[0]]}({value})"
            at = token.span[1]
    return made + text[at:]
