# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Parses statements: one function a clause."""

from __future__ import annotations

from typing import Any

from eskerdb.sql import syntax as s
from eskerdb.sql.pratt import ExpressionParser
from eskerdb.sql.source import Source, Span, listed, nearest

STATEMENTS = ("SELECT", "CREATE", "INSERT", "UPDATE", "DELETE")
_CLAUSES = "FROM WHERE GROUP HAVING ORDER LIMIT UNION JOIN ON OFFSET"
_JOINS_REFUSED = {
    "RIGHT": "RIGHT JOIN is not supported: swap the tables, use LEFT JOIN",
    "FULL": "FULL JOIN is not supported",
    "NATURAL": "NATURAL JOIN is not supported: write JOIN .. ON",
}
_COMPOUNDS_REFUSED = ("EXCEPT", "INTERSECT")
KINDS = ("series", "tree", "kv")
INDEX_KINDS = ("summary", "sorted")


def parse(source: Source) -> list[s.Statement]:
    """Returns the statements of a text. Raises Refusal."""
    parser = _Parser(source)
    statements = []
    while True:
        while parser.accept_op(";"):
            pass
        if parser.next.kind == "end":
            return statements
        with source.nesting(parser.next.span):
            statements.append(parser.statement())
        if parser.next.kind != "end":
            parser.end_of_statement()


class _Parser(ExpressionParser):
    def end_of_statement(self) -> None:
        if self.is_op(";"):
            self.take()
            return
        token, hint = self.next, ""
        for near in (self.before, token):  # an alias may be a clause misspelt
            if near.kind == "name" and not near.is_keyword and not hint:
                hint = nearest(near.value, _CLAUSES.split())
                token = near if hint else token
        raise self.refuse(
            token.span,
            f"'{self.source.slice(token.span)}' is not expected here: the "
            f"statement ends with ';'{hint}",
        )

    def statement(self) -> s.Statement:
        name, start = self.next.name, self.next.span[0]
        if self.is_word("SELECT"):
            select = self.select()
            return s.Query(select.span, name, select)
        if self.accept_word("CREATE"):
            if self.accept_word("TABLE"):
                return self._create_table(start)
            if self.accept_word("INDEX"):
                return self._create_index(start)
            raise self.unexpected("TABLE or INDEX")
        if self.accept_word("INSERT"):
            return self._insert(start, name)
        if self.accept_word("UPDATE"):
            return self._update(start, name)
        if self.accept_word("DELETE"):
            return self._delete(start, name)
        token = self.next
        if token.kind == "name":
            word = str(token.value).upper()
            raise self.refuse(
                token.span,
                f"{word} is not a supported statement"
                + (
                    nearest(word, STATEMENTS)
                    or "; expected SELECT, CREATE, INSERT, UPDATE or DELETE"
                ),
            )
        raise self.unexpected("a statement")

    # SELECT -----------------------------------------------------------------

    def select(self) -> s.Select:
        """Parses a SELECT, with its UNION ALLs, order and limit."""
        start = self.next.span[0]
        parts = [self._core()]
        while self.is_word("UNION", *_COMPOUNDS_REFUSED):
            word = self.take()
            if word.value != "UNION" or not self.accept_word("ALL"):
                raise self.refuse(
                    word.span,
                    f"{word.value} is not supported; UNION ALL is",
                )
            if not self.is_word("SELECT"):
                raise self.unexpected("SELECT")
            parts.append(self._core())
        order: list[s.OrderItem] = []
        if self.accept_word("ORDER"):
            self.expect_word("BY")
            order = self.list_of(self._order_item, "a value")
        limit = offset = None
        if self.accept_word("LIMIT"):
            limit = self.expression()
            if self.is_op(","):
                raise self.refuse(
                    self.next.span, "write LIMIT count OFFSET first"
                )
            if self.accept_word("OFFSET"):
                offset = self.expression()
        first = parts[0]
        return s.Select(
            self.since(start),
            first.outputs,
            first.source,
            first.where,
            first.groups,
            first.having,
            tuple(order),
            limit,
            offset,
            first.distinct,
            tuple(parts[1:]),
        )

    def _core(self) -> s.Select:
        start = self.expect_word("SELECT").span[0]
        distinct = self.accept_word("DISTINCT")
        if not distinct:
            self.accept_word("ALL")
        outputs = self.list_of(self._output, "a column")
        source = self._from() if self.accept_word("FROM") else None
        where = self.expression() if self.accept_word("WHERE") else None
        groups: list[s.Node] = []
        if self.accept_word("GROUP"):
            self.expect_word("BY")
            groups = self.list_of(self.expression, "a value")
        having = self.expression() if self.accept_word("HAVING") else None
        if self.is_word("WINDOW"):
            raise self.refuse(self.next.span, "WINDOW is not supported")
        return s.Select(
            self.since(start),
            tuple(outputs),
            source,
            where,
            tuple(groups),
            having,
            (),
            None,
            None,
            distinct,
        )

    def _output(self) -> s.Output:
        start = self.next.span[0]
        if self.accept_op("*"):
            return s.Output(self.since(start), None, "")
        if self.peek(2).value == "*" and self.peek(1).value == ".":
            table = self.identifier("a table").value
            self.take()
            self.take()
            return s.Output(self.since(start), None, "", table)
        value = self.expression()
        alias = self._alias()
        return s.Output(self.since(start), value, alias)

    def _alias(self) -> str:
        if self.accept_word("AS"):
            return self.identifier("a name after AS").value
        token = self.next
        if token.kind == "quoted" or (
            token.kind == "name" and not token.is_keyword
        ):
            return self.take().value
        return ""

    def _from(self) -> s.Node:
        """Parses tables and their joins, from the left to the right: a comma
        is CROSS JOIN."""
        left = self._from_item()
        while True:
            crosses = self.accept_op(",")
            if not crosses and self.accept_word("CROSS"):
                self.expect_word("JOIN")
                crosses = True
            if crosses:
                right = self._from_item()
                left = s.Join(
                    self.since(left.span[0]), "inner", left, right, None
                )
                continue
            if self.is_word(*_JOINS_REFUSED):
                token = self.next
                raise self.refuse(token.span, _JOINS_REFUSED[token.value])
            kind = "inner"
            if self.accept_word("LEFT"):
                self.accept_word("OUTER")
                kind = "left"
                self.expect_word("JOIN")
            elif self.accept_word("INNER"):
                self.expect_word("JOIN")
            elif not self.accept_word("JOIN"):
                return left
            right = self._from_item()
            if self.is_word("USING"):
                raise self.refuse(
                    self.next.span, "USING is not supported: write ON"
                )
            self.expect_word("ON")
            condition = self.expression()
            left = s.Join(
                self.since(left.span[0]), kind, left, right, condition
            )

    def _from_item(self) -> s.Node:
        start = self.next.span[0]
        if self.accept_op("("):
            if not self.is_word("SELECT"):
                raise self.unexpected("SELECT")
            query = self.select()
            self.expect_op(")")
            alias = self._alias()
            return s.SubQuery(self.since(start), query, alias)
        name = self.identifier("a table's name").value
        if self.is_op("(", "."):
            raise self.refuse(
                self.next.span, f"'{name}' is taken as a table: a name alone"
            )
        alias = self._alias()
        if self.is_op("("):
            raise self.refuse(
                self.next.span,
                "names of columns after a table's alias are "
                "not supported: use AS in a SELECT",
            )
        return s.TableRef(self.since(start), name, alias)

    def _order_item(self) -> s.OrderItem:
        start = self.next.span[0]
        value = self.expression()
        down = self.accept_word("DESC")
        if not down:
            self.accept_word("ASC")
        place = self.next.span
        if self.accept_word("NULLS"):
            self._check_nulls(place, "LAST" if down else "FIRST")
        return s.OrderItem(self.since(start), value, down)

    def _check_nulls(self, place: Span, least: str) -> None:
        """Reads where NULLs come; refuses what is not `least`."""
        token = self.identifier("FIRST or LAST")
        if token.value.upper() != least:
            raise self.refuse(
                place,
                f"NULLs come {least} in this order: NULL is the least value",
            )

    # CREATE -----------------------------------------------------------------

    def _create_table(self, start: int) -> s.CreateTable:
        if self.is_word("IF"):
            raise self.refuse(self.next.span, "IF NOT EXISTS is not supported")
        name = self.identifier("a table's name").value
        columns: list[s.ColumnDef] = []
        if self.accept_op("("):
            columns = self.list_of(self._column, "a column")
            self.expect_op(")")
        kind = "series"
        if self.accept_word("USING"):
            token = self.identifier("series, tree or kv")
            kind = str(token.value).lower()
            if kind not in KINDS:
                raise self.refuse(
                    token.span,
                    f"a table is a series, a tree or a kv, not '{kind}'"
                    + nearest(kind, KINDS),
                )
        if not columns and kind != "kv":
            raise self.unexpected(f"the columns of a {kind}, in parentheses,")
        return s.CreateTable(
            self.since(start), name, tuple(columns), kind, self._options()
        )

    def _column(self) -> s.ColumnDef:
        token = self.identifier("a column's name")
        kind = self.type_name()
        is_key, unit, missing, mode = False, "", None, None
        while True:
            if self.accept_word("PRIMARY"):
                self.expect_word("KEY")
                is_key = True
            elif self.accept_word("UNIT"):
                if self.next.kind != "text":
                    raise self.unexpected("a unit in 'quotes'")
                unit = self.take().value
            elif self.accept_word("MISSING"):
                value = self.expression(100)
                if not isinstance(value, s.Literal) or value.value is None:
                    raise self.refuse(
                        value.span, "a missing value is a literal"
                    )
                missing = value
            elif self.accept_word("PACK"):
                mode = self.type_name("how to pack")
            elif self.is_op(",", ")"):
                span = self.since(token.span[0])
                return s.ColumnDef(
                    span, token.value, kind, is_key, unit, missing, mode
                )
            else:
                raise self.unexpected(
                    "PRIMARY KEY, UNIT, MISSING, PACK, ',' or ')'"
                )

    def _create_index(self, start: int) -> s.CreateIndex:
        if not self.is_word("ON"):
            self.identifier("a name or ON")
        self.expect_word("ON")
        table = self.identifier("a table's name").value
        using = ""
        if self.accept_word("USING"):
            kind = self.identifier("summary or sorted")
            using = kind.value.lower()
            if using not in INDEX_KINDS:
                raise self.refuse(
                    kind.span, f"USING takes {listed(INDEX_KINDS)} here"
                )
        self.expect_op("(")
        column = self.identifier("a column's name")
        if self.is_op(","):
            raise self.refuse(
                self.next.span, "an index is of one column: write another index"
            )
        self.expect_op(")")
        options = self._options()
        return s.CreateIndex(
            self.since(start), table, column.value, column.span, options, using
        )

    def _options(self) -> tuple[s.Option, ...]:
        if not self.accept_word("WITH"):
            return ()
        self.expect_op("(")
        options = self.list_of(self._option, "an option")
        self.expect_op(")")
        return tuple(options)

    def _option(self) -> s.Option:
        if self.next.kind != "name":
            raise self.unexpected("an option's name")
        name = self.take()
        self.expect_op("=")
        start = self.next.span[0]
        value = self._option_value()
        return s.Option(
            self.since(name.span[0]),
            str(name.value).lower(),
            value,
            self.since(start),
        )

    def _option_value(self) -> Any:
        if self.accept_op("("):
            values = self.list_of(self._option_value, "a value")
            self.expect_op(")")
            return values
        sign = -1 if self.accept_op("-") else 1
        token = self.next
        if token.kind in ("int", "float"):
            return sign * self.take().value
        if sign == 1 and token.kind in ("name", "text"):
            return str(self.take().value).lower()
        raise self.unexpected("a number or a word")

    # Changes ----------------------------------------------------------------

    def _table_name(self) -> tuple[str, Span]:
        token = self.identifier("a table's name")
        return token.value, token.span

    def _insert(self, start: int, name: str) -> s.Insert:
        self.expect_word("INTO")
        table, span = self._table_name()
        columns: list[tuple[str, Span]] = []
        if self.accept_op("("):
            columns = self.list_of(self._column_name, "a column")
            self.expect_op(")")
        rows, select = [], None
        if self.is_word("SELECT"):
            select = self.select()
        elif self.accept_word("VALUES"):
            rows = self.list_of(self._row, "a row")
        else:
            raise self.unexpected("VALUES or SELECT")
        return s.Insert(
            self.since(start),
            table,
            span,
            tuple(columns),
            tuple(rows),
            name,
            select,
        )

    def _column_name(self) -> tuple[str, Span]:
        token = self.identifier("a column's name")
        return token.value, token.span

    def _row(self) -> tuple[s.Node, ...]:
        self.expect_op("(")
        values = self.list_of(self.expression, "a value")
        self.expect_op(")")
        return tuple(values)

    def _update(self, start: int, name: str) -> s.Update:
        table, span = self._table_name()
        self.expect_word("SET")
        changes = self.list_of(self._change, "a column")
        where = self.expression() if self.accept_word("WHERE") else None
        return s.Update(
            self.since(start), table, span, tuple(changes), where, name
        )

    def _change(self) -> tuple[str, Span, s.Node]:
        column, span = self._column_name()
        self.expect_op("=")
        return column, span, self.expression()

    def _delete(self, start: int, name: str) -> s.Delete:
        self.expect_word("FROM")
        table, span = self._table_name()
        where = self.expression() if self.accept_word("WHERE") else None
        return s.Delete(self.since(start), table, span, where, name)
