# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""A SELECT with its tables exchanged, and with each order the other way."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from eskerdb.sql import syntax as s
from eskerdb.sql.parse import parse
from eskerdb.sql.source import Source, Span

Edits = dict[Span, tuple[str, Span, str]]  # text, a place, text


def turned(sql: str) -> str:
    """Exchanges the first two inputs of each FROM, and writes ORDER BY x as
    ORDER BY x DESC and the reverse."""
    source = Source(sql)
    (query,) = parse(source)
    edits: Edits = {}
    for node in _nodes(query):
        if isinstance(node, s.OrderItem):
            way = "" if node.down else " DESC"
            edits[node.span] = ("", node.value.span, way)
        elif isinstance(node, s.Join) and not isinstance(node.left, s.Join):
            edits[node.left.span] = ("", node.right.span, "")
            edits[node.right.span] = ("", node.left.span, "")
    return _written(sql, query.span, edits)


def _nodes(node: object) -> Iterator[object]:
    if is_dataclass(node):
        yield node
        for part in fields(node):
            yield from _nodes(getattr(node, part.name))
    elif isinstance(node, tuple):
        for item in node:
            yield from _nodes(item)


def _written(sql: str, span: Span, edits: Edits) -> str:
    """Returns the text of a place with the outermost edits in it made."""
    at, text = span[0], ""
    for place in sorted(edits, key=lambda place: (place[0], -place[1])):
        inside = span[0] <= place[0] and place[1] <= span[1]
        if place[0] < at or not inside or place == span:
            continue
        before, other, behind = edits[place]
        text += sql[at : place[0]] + before
        text += _written(sql, other, edits) + behind
        at = place[1]
    return text + sql[at : span[1]]
