# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The back end that writes C: one function for each query of a file.

ctype.py   which C type holds a value
code.py    statements, and the places where a function goes on
value.py   a value as C
values.py  expressions as C
shared.py  values that are needed more than once
groups.py  aggregates
scans.py   how a table's cursor is opened and read
kv.py      the same of a kv table
statements.py  statements, one behind the other
outputs.py the row that a query returns
loops.py   the calls of eskerdb.sql.emit that read tables
emitter.py the others
stack.py   a bound of the stack
table.py   a table's columns as constants
unit.py    app.h and app.c
"""

from __future__ import annotations

from dataclasses import replace

from eskerdb.sql import bind, parse, planner, tables
from eskerdb.sql import syntax as s
from eskerdb.sql.access import Limits
from eskerdb.sql.explain import explained
from eskerdb.sql.plan import Query
from eskerdb.sql.source import Source
from eskerdb.sqlc.kv import KvRoom
from eskerdb.sqlc.table import check_names
from eskerdb.sqlc.unit import Statement, unit
from eskerdb.sqlc.value import Refused

_ROOM = KvRoom()


def compile_text(
    schema: str,
    queries: str,
    name: str,
    step_pages: int = 0,
    limits: Limits | None = None,
    schema_file: str = "schema.sql",
    queries_file: str = "queries.sql",
    room: KvRoom = _ROOM,
) -> tuple[tuple[str, str], list[Query]]:
    """Compiles queries over the tables of a schema.

    Returns the text of NAME.h and NAME.c, and the queries. Raises Refusal.
    """
    limits = replace(limits or Limits(), texts=True)
    source = Source(schema, schema_file)
    nodes = parse.parse(source)
    created = tables.create(source, nodes)
    for node in nodes:
        if isinstance(node, s.CreateTable) and node.kind != "kv":
            spans = {column.name: column.span for column in node.columns}
            try:
                check_names(created[node.name].info, spans)
            except Refused as refused:
                raise source.refuse(refused.span, str(refused)) from None
    infos = {made.info.name: made.info for made in created.values()}
    source = Source(queries, queries_file)
    statements, made = [], []
    for node in parse.parse(source):
        if not isinstance(node, s.Query):
            raise source.refuse(node.span, "only SELECT is compiled to C")
        with source.nesting(node.span):
            bound = bind.bind(source, node, infos)
            query = planner.plan(source, bound, limits)
        if not query.name:
            raise source.refuse(
                node.span, "give the query a name: `-- name: x` before it"
            )
        made.append(query)
        with source.nesting(node.span):
            notes = tuple(explained(query))
        text = source.slice(node.span)
        statements.append(Statement(query, text, notes, node.span))
    try:
        texts = unit(name, list(infos.values()), statements, step_pages, room)
        return texts, made
    except Refused as refused:
        raise source.refuse(refused.span, str(refused)) from None
