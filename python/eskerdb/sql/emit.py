# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What a back end does: the calls by which push.py writes a query.

An expression given to a back end has Constants, Parameters, Columns of scans
that are open, Variables and Results as leaves, never Fields. It is evaluated
where it is given: a Column is of the scan's current row.

A query is written from its first line to its last; `with` encloses what a
loop or a condition holds:

    with emitter.loop(scan):
        with emitter.when(condition):
            emitter.emit(outputs)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from eskerdb.program import KV_VALUE_BYTES
from eskerdb.sql.expr import NOWHERE, Expr, Variable
from eskerdb.sql.plan import Aggregate, Query, Scan
from eskerdb.sql.source import Span
from eskerdb.sql.types import Type


class Unsupported(Exception):
    """What a back end cannot do: what, and where it stands."""

    def __init__(self, message: str, span: Span = NOWHERE) -> None:
        super().__init__(message)
        self.span = span


@dataclass(frozen=True)
class Room:
    """What a back end has of the value of a kv table's row.

    bytes       of a longer one it has the beginning
    parameters  it compares a text with a parameter
    written     it has each value as a text, too
    advice      how it gets more bytes
    """

    bytes: int
    parameters: bool = False
    written: bool = False
    advice: str = ""


@dataclass(frozen=True)
class Accumulators:
    """Aggregates that are computed together.

    number   from 0, unique in a query
    results  their values, for expressions
    """

    number: int
    aggregates: tuple[Aggregate, ...]
    results: tuple[Expr, ...]


@dataclass(frozen=True)
class Records:
    """Records in memory, of groups or of an order.

    number   from 0, unique in a query
    row      the current record in a loop over them: of groups the keys; of an
             order the columns
    """

    number: int
    row: tuple[Variable, ...]


class Emitter(ABC):
    """A back end: it is called in the order of the code that it writes.

    kv_room      what it has of the value of a kv table's row
    cuts_values  whether such a value that is longer ends the query
    """

    query: Query
    kv_room: Room = Room(KV_VALUE_BYTES)
    cuts_values: bool = False

    # Values -----------------------------------------------------------------

    @abstractmethod
    def variable(self, type: Type, name: str) -> Variable:
        """Makes a variable; it lives across rows, and is NULL at first."""

    def kept(self, type: Type) -> Type:
        """Returns the widest type that a variable keeps at no more cost than
        one of the given type of ints."""
        return type

    @abstractmethod
    def assign(self, variable: Variable, value: Expr) -> None:
        """Sets a variable; the value may have the variable itself in it."""

    # Control ----------------------------------------------------------------

    @abstractmethod
    def when(self, condition: Expr) -> AbstractContextManager[None]:
        """What it encloses is done where the condition is TRUE."""

    @abstractmethod
    def block(self) -> AbstractContextManager[object]:
        """What it encloses can be left; gives what leave() takes."""

    @abstractmethod
    def leave(self, block: object) -> None:
        """Goes on behind the block, out of all loops in it."""

    # Tables -----------------------------------------------------------------

    @abstractmethod
    def loop(self, scan: Scan) -> AbstractContextManager[None]:
        """What it encloses is done for each row of the scan."""

    @abstractmethod
    def open(self, scan: Scan) -> None:
        """Opens a scan for advance() or count(), before the loop around."""

    @abstractmethod
    def advance(
        self, scan: Scan, key: Expr, outer: bool
    ) -> AbstractContextManager[None]:
        """Moves an opened scan on to the first row with a key >= `key`, which
        never falls; what it encloses is done where its key is `key`.

        outer  it is done in any case: the columns of a row that was not found
               are NULL
        """

    @abstractmethod
    def lookup(
        self, scan: Scan, key: Expr, outer: bool
    ) -> AbstractContextManager[None]:
        """As advance(), by a search; the scan is not opened before."""

    @abstractmethod
    def count(self, scan: Scan) -> Expr:
        """Counts the rows of a scan, without visiting what need not be."""

    # Aggregates -------------------------------------------------------------

    @abstractmethod
    def accumulators(self, aggregates: Sequence[Aggregate]) -> Accumulators:
        """Makes accumulators, in the state of clear()."""

    @abstractmethod
    def clear(self, accumulators: Accumulators) -> None:
        """Starts them again, as of no value."""

    @abstractmethod
    def accumulate(
        self, accumulators: Accumulators, values: Sequence[Expr | None]
    ) -> None:
        """Adds a value to each; None to count(*)."""

    # Records ----------------------------------------------------------------

    @abstractmethod
    def groups(
        self,
        keys: Sequence[Type],
        accumulators: Accumulators,
        bound: int,
    ) -> Records:
        """Makes a group table: accumulators for each key, at most `bound`."""

    @abstractmethod
    def group(self, groups: Records, keys: Sequence[Expr]) -> None:
        """Goes to the group of a key, a new one if there is none: then its
        accumulators are those that accumulate() changes."""

    @abstractmethod
    def order(
        self,
        columns: Sequence[Type],
        down: Sequence[bool],
        count: int,
        refuses: bool,
        scratch: bool = False,
    ) -> Records:
        """Makes an order of records by their first columns.

        down     for each column of the order, the first ones: whether it falls
        count    how many of the first records are kept
        refuses  more than `count` end the query; else the others are dropped
        scratch  more go through a scratch
        """

    @abstractmethod
    def push(self, records: Records, values: Sequence[Expr]) -> None:
        """Adds a record to an order."""

    @abstractmethod
    def each(self, records: Records) -> AbstractContextManager[None]:
        """What it encloses is done for each record: of an order in order."""

    @abstractmethod
    def quantiles(
        self, records: Records, wanted: Sequence[tuple[Variable, int]]
    ) -> None:
        """Sets variables to the first column of the records at parts of an
        order, as plan.Aggregate says, NULL without records; empties it."""

    # Rows -------------------------------------------------------------------

    @abstractmethod
    def emit(self, outputs: Sequence[Expr]) -> None:
        """Gives a row of the query, and goes on when the next is asked for."""
