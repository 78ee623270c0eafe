# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Statements of C, written one behind the other into bodies that are open.

What lives across rows is a member of `struct NAME`, to which `q` points.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from eskerdb.sql.expr import Expr
from eskerdb.sql.types import Type
from eskerdb.sqlc.cexpr import FALSE, TRUE, C
from eskerdb.sqlc.code import Body, Item, Label, Text
from eskerdb.sqlc.ctype import BYTES as WIDTHS
from eskerdb.sqlc.names import LOCALS, Names
from eskerdb.sqlc.value import Kept, Refused, Value


@dataclass
class Field:
    """A member of `struct NAME`."""

    ctype: str
    name: str
    array: str = ""
    bytes: int = 8


@dataclass
class Aside(Body):
    """Statements that are not yet in their place."""


@dataclass
class Scope:
    """The columns that are locals of a body, the variables that are known to
    be set, the values that are known (shared.py), and their locals."""

    body: Body
    known: set[C] = field(default_factory=set)
    columns: dict[tuple[int, int], Value] = field(default_factory=dict)
    values: dict[Expr, Kept] = field(default_factory=dict)
    locals: set[str] = field(default_factory=set)


class Statements:
    """The statements of one query.

    members  of its struct
    items    of its next function
    places   names of scans, and of labels
    rows     how many times it returns one
    full     the member that points to the records that had no room; "": none
    """

    def __init__(self) -> None:
        self.names = Names(LOCALS)
        self.places = Names()
        self.rows = 0
        self.members: list[Field] = []
        self.full = ""
        self.items: list[Item] = []
        self._scopes = [Scope(Body(items=self.items))]

    @property
    def _items(self) -> list[Item]:
        return self._scopes[-1].body.items

    def line(self, text: str) -> None:
        self._items.append(Text(text))

    @contextmanager
    def _inside(self, body: Body) -> Iterator[Body]:
        self._items.append(body)
        self._scopes.append(Scope(body))
        yield body
        self._scopes.pop()

    @contextmanager
    def under(self, condition: C) -> Iterator[None]:
        if condition == TRUE:
            yield
        elif condition == FALSE:
            with self.aside():
                yield
        else:
            with self._inside(Body(f"if ({condition})")):
                yield

    @contextmanager
    def aside(self) -> Iterator[list[Item]]:
        body = Aside()
        self._scopes.append(Scope(body))
        yield body.items
        self._scopes.pop()

    def splice(self, items: list[Item]) -> None:
        self._items.extend(items)

    def local(self, ctype: str, name: str, value: str = "0") -> C:
        local = self.names.new(name)
        self.line(f"{ctype} {local} = {value};")
        return C(local)

    def fail(self, status: str) -> None:
        self.line(f"return esk_query_stop(&q->at, ESK_QUERY_FAILED, {status});")

    def fail_full(self, records: str) -> None:
        """Ends the query, and says which records had no room."""
        self.full = self.full or self.names.new("full")
        self.line(f"q->{self.full} = &{records};")
        self.fail("ESK_E_LIMIT")

    def member(
        self, ctype: str, name: str, bytes: int = 0, array: str = ""
    ) -> C:
        made = self.names.new(name)
        self.members.append(
            Field(ctype, made, array, bytes or WIDTHS.get(ctype, 8))
        )
        return C(f"q->{made}")

    def text_member(self, type: Type, name: str) -> C:
        """Makes a member that holds a text, and a zero."""
        if not type.bytes:
            raise Refused("a text of any length is not kept by compiled C")
        return self.member("char", name, 1, f"[{type.bytes + 1}]")

    def stop_unless_ok(self) -> None:
        with self.under(C("status != ESK_OK")):
            self.line(
                "return esk_query_stop(&q->at, ESK_QUERY_FAILED, status);"
            )

    def place(self, name: str) -> str:
        """Makes a place that a later call may go on with."""
        label = self.places.new(name)
        self._items.append(Label(label))
        return label

    def locals(self) -> set[str]:
        """Returns the names of the columns and values that are locals here."""
        columns = {v.c.text for s in self._scopes for v in s.columns.values()}
        return columns.union(*(scope.locals for scope in self._scopes))

    @property
    def scopes(self) -> list[Scope]:
        return self._scopes

    @property
    def row_scope(self) -> Scope:
        """The scope of the columns that are loaded here."""
        return next(s for s in reversed(self._scopes) if not is_aside(s.body))

    @property
    def turn(self) -> int:
        """How many places a call may go on with there are up to here."""
        return len(self.places.taken) + self.rows


def is_aside(body: Body) -> bool:
    return isinstance(body, Aside)


def is_bare(item: Item) -> bool:
    return isinstance(item, Body) and not item.head


def is_simple(item: Item) -> bool:
    if isinstance(item, Body):
        return all(is_simple(i) for i in item.items) and not item.loop
    return isinstance(item, Text)
