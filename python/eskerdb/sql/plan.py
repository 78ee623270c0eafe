# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The plan of a query: a tree of operators, each of which gives rows.

An operator's row is a tuple of values. The expressions of an operator see the
row of its input as Fields; those of a join see the left row, then the right.
A plan says what is done, in which order and with how much memory; push.py
walks it, and a back end writes the code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from eskerdb.sql.expr import Expr
from eskerdb.sql.source import Span
from eskerdb.sql.types import Type

RECORDS_MAX = 65535  # of groups, an order, a quantile
PART_WHOLE = 10_000  # of a quantile: all values

# Tables ---------------------------------------------------------------------


@dataclass(frozen=True)
class TableColumn:
    """A column of a table.

    kind      its type on flash: "i8" .. "u64", "f32", "f64", "bytes", "var",
              "text"
    type      its type in SQL
    offset    of its bytes in a row
    bytes     how many it has there
    missing   the value that stands for NULL; None: there is none
    indexed   whether it has a value index
    in_order  whether it has a sorted one
    sample    then, rising, values that some of its rows have; empty: not known
    """

    name: str
    kind: str
    type: Type
    offset: int
    bytes: int
    missing: int | float | None = None
    indexed: bool = False
    in_order: bool = False
    sample: tuple[float, ...] = ()


@dataclass(frozen=True)
class TableInfo:
    """A table, as a statement sees it.

    kind         "series", "tree" or "kv"
    key          which column is the key; rows are in its order
    row_bytes    bytes of a row
    fingerprint  esk_table_fingerprint of it; 0: not known
    keys_repeat  rows may have equal keys
    pages        how many it has, about; 0: not known
    height       of a tree: levels, the root's included
    frames       that it is opened with: pages that stay in RAM
    page_rows    rows on a page, about; 0: not known
    run_pages    that a query by the sorted index reads of it, about
    oldest, newest
                 the least and greatest key; None: not known
    cells        of a kv table: how a value is stored. Columns of the row
                 behind the others, which no statement names
    """

    name: str
    kind: Literal["series", "tree", "kv"]
    columns: tuple[TableColumn, ...]
    key: int
    row_bytes: int
    fingerprint: int = 0
    keys_repeat: bool = False
    pages: int = 0
    height: int = 0
    frames: int = 0
    page_rows: int = 0
    run_pages: float = 0
    oldest: int | None = None
    newest: int | None = None
    cells: tuple[TableColumn, ...] = ()

    def column(self, index: int) -> TableColumn:
        """Returns a column, or a cell behind them."""
        count = len(self.columns)
        return (
            self.columns[index] if index < count else self.cells[index - count]
        )


# Sources --------------------------------------------------------------------


@dataclass(frozen=True)
class Bound:
    """An end of a range. `value` has only constants and parameters (and in
    the lookup of a join, Fields of the left row). NULL: no row is in it.

    inclusive   whether the value itself is in it. Only a value that is not
                known yet is exclusive: constants are made inclusive
    """

    value: Expr
    inclusive: bool = True


@dataclass(frozen=True)
class Range:
    """Bounds of one column; a series leaves its missing value out of them."""

    column: int
    lo: Bound | None = None
    hi: Bound | None = None


@dataclass(frozen=True)
class Scan:
    """The rows of a table in key order; its row is the table's columns.

    number    of the scan in the query, from 0: expr.Column.scan
    backward  the largest key first
    lo, hi    bounds of the key, None: none; lo equal to hi is a lookup
    ranges    bounds of other columns, exact: a row not in them is not given
    """

    number: int
    table: TableInfo
    backward: bool = False
    lo: Bound | None = None
    hi: Bound | None = None
    ranges: tuple[Range, ...] = ()


@dataclass(frozen=True)
class SeekUnion:
    """The rows of several scans of one table that have no row in common, in
    key order: key IN (..), key < 1 OR key > 5. One is open at a time."""

    scans: tuple[Scan, ...]


@dataclass(frozen=True)
class Values:
    """One row without a table: SELECT 1."""


# One input ------------------------------------------------------------------


@dataclass(frozen=True)
class Filter:
    """The rows where `condition` is TRUE."""

    input: Plan
    condition: Expr


@dataclass(frozen=True)
class Project:
    """The row of `outputs`."""

    input: Plan
    outputs: tuple[Expr, ...]


@dataclass(frozen=True)
class Aggregate:
    """An aggregate function.

    function  "count", "sum", "min", "max", "avg", "first", "last": the
              first and last value in the order of the rows that is not NULL;
              "quantile": only of a StreamAggregate
    argument  None: count(*)
    distinct  only different values; back ends may refuse it
    type      of its value; of a sum of ints: beyond 64 bits it is ESK_E_LIMIT
    part      of a quantile, of PART_WHOLE: the value at place n * part of n
              values in order, rounded up, at least the first
    bound     of a quantile: most values; more end the query with ESK_E_LIMIT
    """

    function: str
    argument: Expr | None
    type: Type
    distinct: bool = False
    part: int = 0
    bound: int = 0


@dataclass(frozen=True)
class Monotone:
    """That the only key of a StreamAggregate is `value` / `width`, or with
    `floors` Bucket(value, width), and `value` never falls (or never rises):
    the next group begins where a row is beyond the end of this one's bucket,
    which one comparison tells. push.py computes the end.

    value   an int of the input
    width   > 0
    falls   it never rises: the rows come backward
    """

    value: Expr
    width: int
    floors: bool = False
    falls: bool = False


@dataclass(frozen=True)
class StreamAggregate:
    """One row a group, of rows that come group after group; its row is the
    keys, then the aggregates.

    keys      () : one row, also when there is no input
    monotone  a cheaper test for the next group than to compute the key
    """

    input: Plan
    keys: tuple[Expr, ...]
    aggregates: tuple[Aggregate, ...]
    monotone: Monotone | None = None


@dataclass(frozen=True)
class GroupAggregate:
    """As StreamAggregate, of rows in any order; groups come in any order.

    bound   most groups; more end the query with ESK_E_LIMIT
    """

    input: Plan
    keys: tuple[Expr, ...]
    aggregates: tuple[Aggregate, ...]
    bound: int


@dataclass(frozen=True)
class CountRows:
    """One row, count(*) of a scan whose key bounds and ranges are all there
    is to test; a back end need not visit rows."""

    scan: Scan


@dataclass(frozen=True)
class Order:
    """One key of an order. NULL is the least value."""

    value: Expr
    down: bool = False


@dataclass(frozen=True)
class TopK:
    """The first `count` rows of an order; equal rows stay as they came.

    fields   the input's row, as Fields
    """

    input: Plan
    fields: tuple[Expr, ...]
    order: tuple[Order, ...]
    count: int


@dataclass(frozen=True)
class Sort:
    """All rows in an order.

    fields   the input's row, as Fields
    bound    most rows; more end the query with ESK_E_LIMIT
    scratch  more go through a scratch; memory has room for `bound`
    """

    input: Plan
    fields: tuple[Expr, ...]
    order: tuple[Order, ...]
    bound: int
    scratch: bool = False


@dataclass(frozen=True)
class Distinct:
    """Each different row once; NULL is equal to NULL.

    fields  the input's row, as Fields
    bound   most different rows; 0: equal rows follow one another
    """

    input: Plan
    fields: tuple[Expr, ...]
    bound: int


@dataclass(frozen=True)
class Limit:
    """`count` rows after the first `offset`; count None: all.

    Both are Constants or Parameters of ints; a negative one counts as 0."""

    input: Plan
    count: Expr | None
    offset: Expr | None = None


# Two inputs -----------------------------------------------------------------

JoinKind = Literal["inner", "left"]


@dataclass(frozen=True)
class MergeJoin:
    """The pairs of rows with left key + shift = right key, both rising.

    left    the outer input; `key` is a Field of its row that never falls
    right   a scan of keys that do not repeat, bounded by the planner as the
            left is
    kind    "left": a left row without partner has a right row of NULLs
    rest    what else must be TRUE of a pair
    """

    left: Plan
    right: Scan
    key: Expr
    shift: int
    kind: JoinKind = "inner"
    rest: Expr | None = None


@dataclass(frozen=True)
class LookupJoin:
    """As MergeJoin; each right row is looked up, so the left may have any
    order.

    key   an int of the left row: the right row's key
    """

    left: Plan
    right: Scan
    key: Expr
    kind: JoinKind = "inner"
    rest: Expr | None = None


@dataclass(frozen=True)
class NestedJoin:
    """The pairs of rows of which `rest` is TRUE. For each left row the right
    ones are read once more.

    right   the rows of a table, filtered; or rows that are kept
    kind    as of MergeJoin
    """

    left: Plan
    right: Plan
    kind: JoinKind = "inner"
    rest: Expr | None = None


@dataclass(frozen=True)
class Keep:
    """Rows that are made once and kept in memory: those of a SELECT are read
    again for each left row of a NestedJoin.

    fields  the input's row, as Fields
    bound   most rows; more end the query with ESK_E_LIMIT
    span    of what the rows are joined with
    places  of the columns that are read, the only ones that memory has
            (needed.py)
    """

    input: Plan
    fields: tuple[Expr, ...]
    bound: int
    span: Span
    places: tuple[int, ...] = ()


@dataclass(frozen=True)
class UnionAll:
    """The rows of the first input, then those of the next. Rows are alike."""

    inputs: tuple[Plan, ...]


Plan = (
    Scan
    | SeekUnion
    | Values
    | Filter
    | Project
    | StreamAggregate
    | GroupAggregate
    | CountRows
    | TopK
    | Sort
    | Distinct
    | Limit
    | MergeJoin
    | LookupJoin
    | NestedJoin
    | Keep
    | UnionAll
)


@dataclass(frozen=True)
class ParameterInfo:
    """`:name` and the type that its place gave it."""

    name: str
    type: Type


@dataclass(frozen=True)
class Query:
    """A named statement, ready for a back end.

    plan        its rows are what is printed
    names       of the columns of these rows
    types       of the same
    parameters  by index
    tables      those that it reads, each once
    """

    name: str
    plan: Plan
    names: tuple[str, ...]
    types: tuple[Type, ...]
    parameters: tuple[ParameterInfo, ...]
    tables: tuple[TableInfo, ...]
