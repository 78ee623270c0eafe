# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What names mean: the tables of a catalog, and the columns in a scope.

A name is found as it is spelt, else without regard to case. An unknown name
is an error that names the nearest one; so is a name that two columns have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from eskerdb.sql.expr import Expr
from eskerdb.sql.plan import TableInfo
from eskerdb.sql.source import Source, Span, listed, nearest
from eskerdb.sql.syntax import Name


def pick(name: str, names: Iterable[str]) -> list[int]:
    """Returns which names are meant: spelt so, else without regard to case."""
    known = list(names)
    exact = [i for i, other in enumerate(known) if other == name]
    if exact:
        return exact
    folded = name.casefold()
    return [i for i, other in enumerate(known) if other.casefold() == folded]


@dataclass(frozen=True)
class ScopeColumn:
    """A column that an expression can name."""

    table: str
    name: str
    value: Expr


class Scope:
    """The columns of a FROM clause."""

    def __init__(self, source: Source, columns: Iterable[ScopeColumn]) -> None:
        self.source = source
        self.columns = tuple(columns)

    def tables(self) -> list[str]:
        return list(dict.fromkeys(column.table for column in self.columns))

    def of_table(self, table: str, span: Span) -> list[ScopeColumn]:
        """Returns the columns of a table or alias. Raises Refusal."""
        tables = self.tables()
        found = pick(table, tables)
        if not found:
            raise self.source.refuse(
                span,
                f"no table '{table}' in FROM"
                + (nearest(table, tables) or self._has(tables)),
            )
        name = tables[found[0]]
        return [column for column in self.columns if column.table == name]

    def find(self, name: Name) -> ScopeColumn:
        """Returns the column that a name means. Raises Refusal."""
        columns = (
            self.of_table(name.table, name.span) if name.table else self.columns
        )
        names = [column.name for column in columns]
        found = [columns[i] for i in pick(name.column, names)]
        if len(found) == 1:
            return found[0]
        if found:
            spelt = [f"{c.table or '?'}.{c.name}" for c in found]
            raise self.source.refuse(
                name.span,
                f"'{name.column}' is ambiguous: write {listed(spelt)}",
            )
        raise self.source.refuse(
            name.span,
            f"no column '{name.column}'"
            + (f" in {name.table}" if name.table else "")
            + (nearest(name.column, names) or self._has(names))
            + ("; a text is in 'single quotes'" if name.quoted else ""),
        )

    @staticmethod
    def _has(names: list[str]) -> str:
        if not names:
            return ": there is no FROM"
        shown = list(dict.fromkeys(names))
        more = ", .." if len(shown) > 8 else ""
        return f"; there is {', '.join(shown[:8])}{more}"


def table_named(
    source: Source, tables: Mapping[str, TableInfo], name: str, span: Span
) -> TableInfo:
    """Returns a table of the catalog. Raises Refusal."""
    names = list(tables)
    found = pick(name, names)
    if len(found) == 1:
        return tables[names[found[0]]]
    if found:
        spelt = [names[i] for i in found]
        raise source.refuse(
            span, f"'{name}' is ambiguous: there are {' and '.join(spelt)}"
        )
    have = f"; there is {', '.join(names)}" if names else ": there is none"
    raise source.refuse(
        span, f"no table '{name}'" + (nearest(name, names) or have)
    )
