# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What the writers of scans, groups, records and outputs ask of the emitter,
which stands above them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from eskerdb.sql import expr as e
from eskerdb.sql.types import Type
from eskerdb.sqlc.cexpr import C
from eskerdb.sqlc.code import Item
from eskerdb.sqlc.names import Names
from eskerdb.sqlc.values import Place, Values


class Writer(Place, Protocol):
    """The query that is being written.

    is_single   it reads one table
    step_pages  after so many pages without a row a call returns ESK_AGAIN
    tables      C's names, by SQL's
    places      names of scans, and of labels
    marks       statements first in the open function
    needs       what the file has to define
    text_limits most bytes of parameters that are texts, by their index
    """

    is_single: bool
    step_pages: int
    tables: dict[str, str]
    places: Names
    marks: list[Item]
    needs: set[str]
    text_limits: dict[int, int]
    values: Values

    def member(
        self, ctype: str, name: str, bytes: int = 0, array: str = ""
    ) -> C:
        """Adds a member to the query's struct."""

    def text_member(self, type: Type, name: str) -> C:
        """Adds a member for a text."""

    def locals(self) -> set[str]:
        """Returns the names of the columns that are locals here."""

    def column_kind(self, column: e.Column) -> str:
        """Returns the kind of a column of a scan's table."""

    def read_stored(
        self, scan: int, anys: Sequence[str], types: Sequence[str]
    ) -> None:
        """Reads the value of a kv table's row into the row's members, and
        its type into others."""

    def average(self, output: e.Expr) -> tuple[str, str] | None:
        """Returns the struct of an average of integers, and its value; None
        for any other output."""

    def otherwise(self) -> AbstractContextManager[None]:
        """Writes the else of the condition that was written last."""

    def place(self, name: str) -> str:
        """Makes a place that a later call may go on with."""

    def step_runs(self, store: object, label: str, onward: str) -> None:
        """Makes a step of runs, and goes on with `onward` or at a label."""

    def fail_full(self, records: str) -> None:
        """Ends the query: these have no room for another record."""

    def stop_unless_ok(self) -> None:
        """Ends the query unless the status is ESK_OK."""
