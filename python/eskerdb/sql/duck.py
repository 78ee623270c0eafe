# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Any SQL over a volume's tables, by DuckDB over Arrow.

DuckDB asks each table for the columns and the filter of a query. EskerDB's
indexes use the bounds of integer columns in that filter (of a tree: the
bounds of its key). A filter that is more than bounds is applied to the rows
that EskerDB returns. So a bound that was not understood costs reads, and
never a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import duckdb

from eskerdb._esker import lib
from eskerdb.errors import (
    Corrupt,
    EskerError,
    NotFound,
    SchemaError,
    error,
)
from eskerdb.kv import Kv, KvEntry
from eskerdb.kv_value import COLUMNS, encode_key, read_key
from eskerdb.scan import Scan
from eskerdb.series import Series
from eskerdb.sql.key_bounds import KeyBounds
from eskerdb.tree import OpenTree
from eskerdb.volume import Volume

if TYPE_CHECKING:
    from typing_extensions import Self

    from eskerdb.tree import Tree

_RELATIONS = (">", ">=", "<", "<=", "=")
_LEAF = re.compile(r"([A-Za-z_]\w*) (>=|<=|>|<|==) (-?\d+)\Z")


def bounds(text: str, columns: set[str]) -> dict[str, tuple[Any, Any]]:
    """Returns the bounds that an Arrow filter puts on integer columns.

    text   str(expression): "((t >= 5) and (t <= 7))"

    Only conjunctions of plain comparisons are read; anything else gives no
    bound. Both ends of a bound are included.
    """
    result: dict[str, tuple[Any, Any]] = {}
    if '"' in text or "'" in text:
        return result  # a text constant could look like a comparison
    for part in _conjuncts(text):
        found = _LEAF.match(part)
        if found is None or found.group(1) not in columns:
            continue
        name, relation, number = found.groups()
        _bound(result, name, relation.replace("==", "="), int(number))
    return result


def _bound(
    result: dict[str, tuple[Any, Any]], name: str, relation: str, value: int
) -> None:
    """Narrows the bounds of a column by a comparison."""
    least, most = result.get(name, (None, None))
    if relation in (">", ">=", "="):
        low = value + (relation == ">")
        least = low if least is None else max(least, low)
    if relation in ("<", "<=", "="):
        high = value - (relation == "<")
        most = high if most is None else min(most, high)
    result[name] = (least, most)


def _conjuncts(text: str) -> list[str]:
    """Splits nested "(a and b)" into its parts, without recursion."""
    todo, done = [text], []
    while todo:
        part = _stripped(todo.pop())
        halves = _split_and(part)
        if halves:
            todo.extend(halves)
        else:
            done.append(part)
    return done


def _stripped(text: str) -> str:
    """Takes off parentheses that enclose the whole text."""
    while text.startswith("(") and _closing(text) == len(text) - 1:
        text = text[1:-1]
    return text


def _closing(text: str) -> int:
    """Returns where the parenthesis that opens the text closes, or -1."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return at
    return -1


def _split_and(text: str) -> tuple[str, str] | None:
    """Splits at an "and" outside all parentheses, when nothing but "and"
    stands there."""
    depth, at = 0, -1
    for position, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0 and text.startswith(" or ", position):
            return None
        if depth == 0 and at < 0 and text.startswith(" and ", position):
            at = position
    return (text[:at], text[at + 5 :]) if at >= 0 else None


def _bounded(table: Series | OpenTree) -> set[str]:
    """Returns the columns whose bounds a scan takes."""
    columns = [table.key] if isinstance(table, OpenTree) else table.columns
    return {column.name for column in columns if column.is_integer}


def _scan(
    table: Series | OpenTree, names: list[str], where: dict[str, Any]
) -> Scan:
    """Scans columns under bounds of integer columns."""
    where = dict(where)
    key = where.pop(table.key.name, (None, None))
    rest = {} if isinstance(table, OpenTree) else {"where": where}
    return table.scan(*key, columns=names, **rest)


def _source(table: Series | OpenTree) -> Any:
    """Returns a table that DuckDB scans by columns and bounds."""
    try:
        # Of DuckDB 2: spares the import of pyarrow, 0.2 s.
        from duckdb._sources import ArrowScanSource
    except ImportError:
        return _dataset(table)
    integers = _bounded(table)
    names = list(table.codec.names)

    class Source(ArrowScanSource):
        def __arrow_c_stream__(self, schema: Any = None) -> object:
            return table.scan().__arrow_c_stream__(schema)

        def accepts(self, predicate: Any) -> bool:
            return _accepts(predicate, integers)

        def stream(self, columns: Any, filters: Any) -> tuple[object, bool]:
            where: dict[str, Any] = {}
            for predicate in filters:
                _narrow(where, predicate)
            wanted = names if columns is None else [names[c] for c in columns]
            scan = _scan(table, wanted, where)
            return scan.__arrow_c_stream__(), columns is not None

    return Source(table)


class _KvRows:
    """A kv table's keys, values and types as texts, read anew by each query.

    lost    keys that the last query could not read
    bounds  which keys the next query asks for
    """

    def __init__(self, kv: Kv) -> None:
        self.kv = kv
        self.lost = 0
        self.bounds = KeyBounds()

    def _batches(self, schema: Any) -> Iterator[Any]:
        import pyarrow

        entries, self.lost = self._entries()
        columns = zip(*(entry.texts() for entry in entries), strict=True)
        arrays = list(columns) if entries else [()] * len(COLUMNS)
        yield pyarrow.record_batch(
            [pyarrow.array(a, pyarrow.string()) for a in arrays], schema=schema
        )

    def _entries(self) -> tuple[list[KvEntry], int]:
        if self.bounds.keys is None:
            return self.kv.scan(prefix=self.bounds.prefix)
        found, lost = [], 0
        for key in self.bounds.keys:
            try:
                raw = encode_key(read_key(key))
                found.append(KvEntry(raw, self.kv.stored(raw)))
            except (NotFound, SchemaError):
                continue
            except Corrupt:
                lost += 1
        return found, lost

    def __arrow_c_stream__(self, requested_schema: Any = None) -> object:
        """Returns a stream that reads the table when its first batch is asked
        for: DuckDB opens one more only for the schema."""
        import pyarrow

        schema = pyarrow.schema([(n, pyarrow.string()) for n in COLUMNS])
        reader = pyarrow.RecordBatchReader.from_batches(
            schema, self._batches(schema)
        )
        return reader.__arrow_c_stream__(requested_schema)


def names_of(table: Series | OpenTree | Kv) -> tuple[str, ...]:
    """Returns the columns that a table has in SQL."""
    return COLUMNS if isinstance(table, Kv) else table.codec.names


def _leaves(predicate: Any) -> list[Any]:
    """Takes a predicate of DuckDB apart at its ANDs."""
    todo, leaves = [predicate], []
    while todo:
        node = todo.pop()
        if getattr(node, "op", None) == "AND":
            todo += [node.left, node.right]
        else:
            leaves.append(node)
    return leaves


def _accepts(predicate: Any, columns: set[str]) -> bool:
    """Whether a predicate is bounds of integer columns and nothing else."""
    return all(
        getattr(leaf, "op", None) in _RELATIONS
        and len(getattr(leaf.left, "parts", ())) == 1
        and leaf.left.parts[0] in columns
        and type(getattr(leaf.right, "value", None)) is int
        for leaf in _leaves(predicate)
    )


def _narrow(where: dict[str, Any], predicate: Any) -> None:
    """Adds the bounds of a predicate that was accepted."""
    for leaf in _leaves(predicate):
        _bound(where, leaf.left.parts[0], leaf.op, leaf.right.value)


def _dataset(table: Series | OpenTree) -> Any:
    """Returns a table as an older DuckDB scans it, by pyarrow."""
    import pyarrow.dataset

    from eskerdb import arrow

    integers = _bounded(table)
    names = list(table.codec.names)

    class Dataset(pyarrow.dataset.Dataset):
        """A schema, and scanners made on demand."""

        def __init__(self) -> None:
            # The base's own constructor wants a C++ dataset; only what is
            # overridden here is ever called.
            self._schema = arrow.schema(
                table.columns, table.name, table.key.name
            )

        @property
        def schema(self) -> Any:
            return self._schema

        def scanner(
            self, columns: Any = None, filter: Any = None, **options: Any
        ) -> Any:
            """Starts a scan of `columns` under `filter`."""
            where, wanted = {}, names
            if filter is not None:
                where = bounds(str(filter), integers)
            elif columns is not None:
                wanted = columns
            return pyarrow.dataset.Scanner.from_batches(
                _scan(table, wanted, where).reader(),
                columns=columns,
                filter=filter,
            )

    return Dataset()


# What makes DuckDB's SQL that of docs/sql.md, where it has a setting.
_SETTINGS = (
    "integer_division = true",
    "error_on_division_by_zero = false",
    "default_null_order = 'nulls_first_on_asc_last_on_desc'",
)


def speak(connection: duckdb.DuckDBPyConnection) -> None:
    """Sets how integers divide and NULLs sort, as the machine does it."""
    for setting in _SETTINGS:
        try:
            connection.execute(f"SET {setting}")
        except duckdb.CatalogException:
            pass  # an older DuckDB divides by zero like that anyway


class Database:
    """A DuckDB connection with every table of a volume.

    connection   the DuckDB connection, to be used as such
    skipped      tables that could not be opened: name to error

    A context manager; closing it closes the tables, not the volume.
    """

    def __init__(
        self, volume: Volume, opened: Iterable[Series | OpenTree | Kv] = ()
    ) -> None:
        """Opens the tables of `volume`.

        opened   tables that are already open, or readers on them: they are
                 queried as they are, and stay open
        """
        self.skipped: dict[str, EskerError] = {}
        self.tables: dict[str, Series | OpenTree | Kv] = {}
        self.connection = duckdb.connect()
        speak(self.connection)
        self._own: list[Series | Tree | Kv] = []
        self._kv_rows: list[_KvRows] = []
        given = {table.name: table for table in opened}
        folded: dict[str, str] = {}
        for entry in volume.tables():
            other = folded.setdefault(entry.name.casefold(), entry.name)
            if other != entry.name:
                self.skipped[entry.name] = error(
                    lib.ESK_E_UNSUPPORTED,
                    f"table '{entry.name}'",
                    "drop one, or read it with eskerdb.open()",
                    f"SQL ignores case: it has the name of '{other}'",
                )
                continue
            table = given.get(entry.name)
            if table is None:
                try:
                    table = volume.open_table(entry.name)
                except EskerError as failure:
                    self.skipped[entry.name] = failure
                    continue
                self._own.append(table)
            self.tables[entry.name] = table
            self.connection.register(entry.name, self._source(table))

    def _source(self, table: Series | OpenTree | Kv) -> Any:
        if not isinstance(table, Kv):
            return _source(table)
        rows = _KvRows(table)
        self._kv_rows.append(rows)
        return rows

    def bound_keys(self, name: str, bounds: KeyBounds) -> None:
        """Lets queries of a kv table read only these keys."""
        for rows in self._kv_rows:
            if rows.kv.name == name:
                rows.bounds = bounds

    def execute(self, sql: str | duckdb.Statement) -> duckdb.DuckDBPyConnection:
        """Runs SQL; None when there is no statement. Raises duckdb.Error.

        Of several statements the last one's result is returned; statements()
        takes them apart.
        """
        return self.connection.execute(sql)

    def statements(self, sql: str) -> list[duckdb.Statement]:
        """Takes SQL apart for execute(). Raises duckdb.Error."""
        return self.connection.extract_statements(sql)

    @staticmethod
    def answers(statement: duckdb.Statement) -> bool:
        """Whether a statement has rows to show, as SET has none."""
        kinds = statement.expected_result_type
        return duckdb.ExpectedResultType.NOTHING not in kinds or len(kinds) > 1

    @property
    def page_reads(self) -> int:
        """Pages loaded by all its tables since it was opened."""
        return sum(t.stats().page_reads for t in self.tables.values())

    @property
    def pages_damaged(self) -> int:
        """Pages that were not valid, whose rows are missing; and keys of kv
        tables that the last query of each could not read."""
        return sum(rows.lost for rows in self._kv_rows) + sum(
            t.stats().pages_lost
            if isinstance(t, Kv)
            else t.stats().pages_damaged
            for t in self.tables.values()
        )

    def close(self) -> None:
        """Closes the connection, and the tables that it opened."""
        self.connection.close()
        for table in self._own:
            table.close(sync=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
