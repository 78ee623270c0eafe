# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Trees: rows in key order, each key once, put, changed and deleted.

OpenTable <-- OpenTree       <-- Reader     what reads
    ^             ^
    +-- WritableTable <-- Tree              what writes, too
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from eskerdb._esker import ffi, lib
from eskerdb.errors import (
    EskerError,
    Full,
    SchemaError,
    check,
    error,
    schema_error,
    unsigned,
)
from eskerdb.opened import OpenTable, WritableTable
from eskerdb.scan import KeyRange, Scan
from eskerdb.schema import encode_fixed
from eskerdb.structs import counts_of, fill

_REFUSED = {
    lib.ESK_EXISTS: "update() it, or put() to do either",
    lib.ESK_NOT_FOUND: "insert() it, or put() to do either",
    lib.ESK_E_INVALID: "a key is a number, not NaN",
}
_READER_ADVICE = {
    lib.ESK_E_STALE: "the tree was changed since: renew() it, and read again",
    lib.ESK_PY_CLOSED: "open the tree, and a reader() on it",
}


@dataclass(frozen=True)
class TreeStats:
    """What has happened since a tree was opened; counts.

    nodes      of the tree now; in place: pages that are or were in use
    nodes_max  that the region, and the height, can hold
    height     levels; 1: the root is a leaf
    """

    page_reads: int
    page_programs: int
    block_erases: int
    pages_moved: int
    splits: int
    merges: int
    hits: int
    misses: int
    pages_damaged: int
    program_failures: int
    erase_failures: int
    nodes: int
    nodes_max: int
    height: int


@dataclass(frozen=True)
class TreeReport:
    """What check() found; `ok`: nothing is wrong.

    pages_free  in-place stores: pages once used for nodes, now without one
    newest_unread
                copy-on-write stores: newest pages that earlier opens could not
                read, torn by a power cut or damaged; they do not change `ok`
    """

    ok: bool
    rows: int
    nodes: int
    leaves: int
    pages_damaged: int
    order_wrong: int
    nodes_wrong: int
    pages_free: int
    newest_unread: int


@dataclass(frozen=True)
class Node:
    """One node of a tree.

    page      where it is: a page of the table's region
    level     1: a leaf
    count     rows, or children; capacity: as many fit
    damaged   it cannot be read; count and capacity are 0
    """

    page: int
    level: int
    count: int
    capacity: int
    damaged: bool

    @property
    def fill(self) -> float:
        """Its share of what fits, 0 to 1."""
        return self.count / self.capacity if self.capacity else 0.0


@dataclass(frozen=True)
class Shape:
    """Every node of a tree, and the region they are in.

    nodes          the root first, each before its children, in key order
    pages_written  pages of the region programmed and not yet to be erased
    pages          pages of the region
    """

    nodes: tuple[Node, ...]
    pages_written: int
    pages: int

    @property
    def height(self) -> int:
        """Levels; 0: no node yet."""
        return self.nodes[0].level if self.nodes else 0

    @property
    def pages_live(self) -> int:
        """Pages that hold at least one node."""
        return len({node.page for node in self.nodes})

    @property
    def pages_dead(self) -> int:
        """Written pages without a node, which a collector can free."""
        return max(0, self.pages_written - self.pages_live)

    def level(self, level: int) -> list[Node]:
        """The nodes of a level, in key order; 1: the leaves."""
        return [node for node in self.nodes if node.level == level]


class OpenTree(OpenTable):
    """What reads a tree: an open tree, or a reader on one.

    A key is an int, a float or bytes, like its column.
    """

    # Reading ----------------------------------------------------------------

    def get(self, key: Any) -> dict[str, Any] | None:
        """Returns the row with that key, None when there is none.

        Raises Corrupt, DeviceError. Costs at most height reads.
        """
        return self._find(lib.ESK_PY_GET, self._key(key))

    def floor(self, key: Any) -> dict[str, Any] | None:
        """Returns the row with the largest key <= `key`, or None."""
        return self._find(lib.ESK_PY_FLOOR, self._key(key))

    def ceiling(self, key: Any) -> dict[str, Any] | None:
        """Returns the row with the smallest key >= `key`, or None."""
        return self._find(lib.ESK_PY_CEILING, self._key(key))

    def first(self) -> dict[str, Any] | None:
        """Returns the row with the smallest key, None when empty."""
        return self._find(lib.ESK_PY_OLDEST, ffi.NULL)

    def last(self) -> dict[str, Any] | None:
        """Returns the row with the largest key, None when empty."""
        return self._find(lib.ESK_PY_NEWEST, ffi.NULL)

    def __contains__(self, key: Any) -> bool:
        return self.get(key) is not None

    def scan(
        self,
        key_min: Any = None,
        key_max: Any = None,
        *,
        backward: bool = False,
        columns: Iterable[str] | None = None,
        batch_rows: int = 4096,
    ) -> Scan:
        """Returns a scan in key order; both ends of the bounds are included.

        backward    from key_max down
        columns     which columns, in which order; None: all
        batch_rows  rows an Arrow batch

        Raises SchemaError for a bound that is no key. Costs nothing until it
        is read: then 1 page read for each leaf and each parent of leaves.
        """
        return Scan(
            self,
            KeyRange(self, key_min, key_max, backward),
            self.codec.names if columns is None else tuple(columns),
            batch_rows,
        )

    # State ------------------------------------------------------------------

    @property
    def store(self) -> str:
        """Where nodes live: "inplace", "journaled", "wandering", "mu"."""
        return self.table.store

    def stats(self) -> TreeStats:
        """Returns counts since the tree was opened. Costs nothing."""
        stats = ffi.new("struct esk_tree_stats *")
        self._check(lib.esk_py_tree_stats(self._handle, stats), "stats")
        return counts_of(TreeStats, stats)

    def check(self) -> TreeReport:
        """Reads and verifies every node.

        Returns what was found, damage included; raises DeviceError.
        """
        report = ffi.new("struct esk_tree_report *")
        status = lib.esk_py_tree_check(self._handle, report)
        return self._report(TreeReport, report, status)

    def shape(self) -> Shape:
        """Returns every node, damaged ones included. Costs 1 read a node.

        Raises Stale when the tree is changed in between, DeviceError.
        """
        walk = ffi.new("struct esk_tree_walk *")
        node = ffi.new("struct esk_tree_node *")
        nodes = []
        self._check(lib.esk_py_tree_walk_open(self._handle, walk), "walk")
        while True:
            status = lib.esk_py_tree_walk_next(self._handle, walk, node)
            if status == lib.ESK_END:
                return Shape(tuple(nodes), walk.pages, walk.pages_max)
            self._check(status, "walk")
            nodes.append(
                Node(
                    node.address % walk.pages_max,
                    node.level,
                    node.count,
                    node.capacity,
                    bool(node.damaged),
                )
            )

    # Inside -----------------------------------------------------------------

    def _key(self, key: Any) -> bytes:
        return encode_fixed(self.key, key)

    def _find(self, which: int, key: Any) -> dict[str, Any] | None:
        row = ffi.new("uint8_t[]", self.table.row_bytes)
        status = lib.esk_py_tree_find(self._handle, which, key, row)
        if status == lib.ESK_NOT_FOUND:
            return None
        self._check(status, "read")
        return self._row(row)


class Tree(OpenTree, WritableTable):
    """An open tree. Made by Volume.open_tree(); a context manager.

    A change is on the medium when its call returns; sync() also flushes the
    driver's caches. In a tree opened with write_frames, changes wait in RAM
    until sync(), close(), the end of its `with` block, or until there are too
    few frames. After a power cut the tree has all synced changes, and of the
    later ones a prefix in order. Reads see waiting changes; batch(), check()
    and shape() write them first. A batch takes effect as a whole, or not.
    """

    _in_batch = False

    # Changes ----------------------------------------------------------------

    def put(self, row: Any = None, /, **columns: Any) -> None:
        """Puts one row: a mapping, a sequence, or the columns by name.

        The row with its key is replaced. Raises SchemaError naming the
        column, Full, Invalid (a NaN key), ReadOnly, DeviceError, Worn.
        Costs height reads and the store's programs; with write_frames no
        program, unless there are too few frames: then the waiting pages are
        programmed.
        """
        self._put(columns if row is None else row, lib.ESK_PY_PUT)

    def insert(self, row: Any = None, /, **columns: Any) -> None:
        """Puts a row with a new key. Raises Exists as well."""
        self._put(columns if row is None else row, lib.ESK_PY_INSERT)

    def update(self, row: Any = None, /, **columns: Any) -> None:
        """Replaces the row with the key. Raises NotFound as well."""
        self._put(columns if row is None else row, lib.ESK_PY_UPDATE)

    def put_many(self, rows: Any) -> int:
        """Puts rows and returns how many.

        rows   packed rows as bytes; anything with an Arrow stream or array;
               or an iterable of mappings or sequences. In key order it is
               fastest: neighbours share the write of their leaf.

        Raises as put(); the exception's `appended` says how many rows were
        put before the refused one.
        """
        return self._write_many(rows)

    def insert_many(self, rows: Iterable[Any]) -> int:
        """Inserts rows one by one. Raises as insert(), with `appended`."""
        done = 0
        try:
            for row in rows:
                try:
                    self._put(row, lib.ESK_PY_INSERT, done)
                except SchemaError as fault:
                    raise schema_error(
                        f"table '{self.name}': row {done}: {fault}",
                        fault.column,
                    ) from None
                done += 1
        except EskerError as failure:
            failure.appended = done
            raise
        return done

    def delete(self, key: Any) -> bool:
        """Deletes the row with that key; returns whether there was one."""
        status = lib.esk_py_tree_delete(self._handle, self._key(key))
        if status != lib.ESK_NOT_FOUND:
            self._check(status, f"delete {self.key.name} = {key!r}")
        return status == lib.ESK_OK

    def change_many(
        self,
        *,
        inserts: bytes = b"",
        puts: bytes = b"",
        deletes: Sequence[bytes] = (),
    ) -> None:
        """Makes changes in one batch: all of them take effect, or none.

        inserts, puts   packed rows; deletes: keys as rows hold them

        Raises Exists with `appended`, the place of the refused row; Limit
        when the tree has no room for so many at once; and as put().
        """
        width = self.table.row_bytes
        count = (len(inserts) + len(puts)) // width + len(deletes)
        pages, has_begun = self._batch_pages(count), False
        while True:
            try:
                with self.batch(pages):
                    has_begun = True
                    self._change(lib.ESK_PY_INSERT, inserts)
                    self._change(lib.ESK_PY_PUT, puts)
                    self._delete_keys(deletes)
                return
            except Full:
                if pages and not has_begun:
                    pages //= 2  # the count is of the worst case
                    continue
                raise error(
                    lib.ESK_E_LIMIT,
                    f"table '{self.name}': change {count:,} rows at once",
                    "change fewer rows at a time, or make it with more blocks",
                    "the tree has no room for so many",
                ) from None

    def _batch_pages(self, count: int) -> int:
        """Returns the most pages that changes of `count` rows may program;
        0: the store's default."""
        if self.store in ("inplace", "journaled"):
            return 0
        return count * (1 + max(1, self.stats().height)) + 2

    def _change(self, how: int, rows: bytes) -> None:
        if rows:
            self._write_as(how, rows, len(rows) // self.table.row_bytes, 0)

    def _delete_keys(self, keys: Iterable[bytes]) -> None:
        for key in keys:
            status = lib.esk_py_tree_delete(self._handle, key)
            if status != lib.ESK_NOT_FOUND:
                self._check(status, "delete")

    @contextmanager
    def batch(self, pages: int = 0) -> Iterator[Tree]:
        """Makes the changes of a `with` block take effect together.

        pages   copy-on-write stores: programs that it may need, for which room
                is made now: mu about one a row and one a split, wandering
                height times that; 0: a block. In-place stores: existing pages
                that it may change; 0: half of the pages never used

        Reads see the changes at once. An exception in the block undoes them.
        Raises Full when the region cannot have that much room.
        """
        unsigned("pages", pages)
        self._check(lib.esk_py_tree_begin(self._handle, pages), "batch")
        self._in_batch = True
        try:
            yield self
            self._check(lib.esk_py_tree_commit(self._handle), "commit")
        except BaseException:
            lib.esk_py_tree_abort(self._handle)
            raise
        finally:
            self._in_batch = False

    # Readers ----------------------------------------------------------------

    def reader(self, *, frames: int = 2) -> Reader:
        """Opens a reader on the tree, with `frames` page frames of its own.

        Raises DeviceError when an unfinished change in place must first be
        completed and that fails. Costs no page reads.
        """
        config = ffi.new("struct esk_tree_config *")
        fill(config, frames=frames)
        out = ffi.new("struct esk_py_table **")
        self._check(
            lib.esk_py_tree_reader_open(self._handle, config, out), "reader"
        )
        return Reader(self.volume, self.table, out[0])

    # Inside -----------------------------------------------------------------

    def _check(self, status: int, doing: str) -> None:
        advice = self._full_advice() if status == lib.ESK_FULL else None
        check(status, f"table '{self.name}': {doing}", advice)

    def _put(self, row: Any, how: int, before: int = 0) -> None:
        packed, _ = self.codec.pack(row)
        self._write_as(how, packed, 1, before)

    def _write(
        self, packed: Any, count: int, values: Any, ends: Any, before: int
    ) -> int:
        return self._write_as(lib.ESK_PY_PUT, packed, count, before)

    def _insert(
        self, packed: Any, count: int, values: Any, ends: Any, before: int
    ) -> int:
        """As _write, for rows with new keys."""
        return self._write_as(lib.ESK_PY_INSERT, packed, count, before)

    def _full_advice(self) -> str:
        """Returns the advice for a full batch, a full region, or a tree that
        cannot grow higher."""
        if self._in_batch:
            return "end the batch: it has to fit the free space"
        stats = self.stats()
        pages = self.table.blocks[0] * self.volume.geometry.block_pages
        if self.store == "mu" and stats.nodes_max < pages // 2:
            return (
                f"on pages of {self.volume.geometry.page_bytes} bytes a mu "
                f"tree of these rows has at most {stats.height} levels: use "
                "larger pages, or the store wandering"
            )
        return "delete rows, or make the table with more blocks"

    def _write_as(self, how: int, packed: Any, count: int, before: int) -> int:
        done = ffi.new("uint32_t *")
        status = lib.esk_py_tree_put(
            self._handle, how, ffi.from_buffer(packed), count, done
        )
        if status == lib.ESK_OK:
            return count
        at = done[0]
        width = self.table.row_bytes
        row = self.codec.unpack(bytes(packed[at * width : (at + 1) * width]))
        failure = error(
            status,
            f"table '{self.name}': row {before + at} "
            f"({self.key.name} = {row[self.key.name]!r})",
            self._full_advice()
            if status == lib.ESK_FULL
            else _REFUSED.get(status),
        )
        failure.appended = at
        raise failure


class Reader(OpenTree):
    """Reads a tree while it is changed. Made by Tree.reader().

    In wandering and mu trees it is a snapshot: the tree as it was when the
    reader was opened or last renewed, without the changes of an open batch or
    of the write cache. A read that needs a page which was collected since
    then raises Stale: renew() it. In place it shows the tree as it is now,
    without the changes of an open batch.

    A call that would change the tree raises ReadOnly. Closing the tree or its
    volume closes its readers: a later call raises Closed.
    """

    def renew(self) -> None:
        """Shows the tree as it is now. Raises as Tree.reader().

        A scan that has begun goes on from the key that it had reached.
        """
        self._check(lib.esk_py_tree_reader_renew(self._handle), "renew")

    def _refuse(self, *rows: Any, **columns: Any) -> NoReturn:
        """Raises ReadOnly: change the tree that it reads."""
        raise error(
            lib.ESK_E_READ_ONLY,
            f"reader on table '{self.name}': change",
            "change the tree that it reads",
            "a reader cannot change its tree",
        )

    put = insert = update = _refuse
    put_many = insert_many = _refuse
    delete = batch = _refuse

    # Inside -----------------------------------------------------------------

    def _check(self, status: int, doing: str) -> None:
        check(
            status,
            f"reader on table '{self.name}': {doing}",
            _READER_ADVICE.get(status),
        )
