# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Kv tables: values of several types by keys of text or bytes."""

from __future__ import annotations

from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
)
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eskerdb._esker import ffi, lib
from eskerdb.errors import EskerError, check, error, schema_error
from eskerdb.handle import WritableHandle
from eskerdb.kv_value import (
    Stored,
    ValueType,
    decode_key,
    encode,
    encode_key,
    key_text,
)
from eskerdb.opened import Space
from eskerdb.structs import counts_of

if TYPE_CHECKING:
    from typing_extensions import Self

_ROOM = 512  # of a first read
_CHANGES_MAX = 0xFFFF  # of a batch
Key = str | bytes


@dataclass(frozen=True)
class KvStats:
    """What a kv table holds, and what happened since it was opened.

    keys_max      that this handle has room for; with an index, of the table
    live_bytes    of the newest records
    live_max      that they may take
    pages_lost    damaged pages that the open met: their records are lost, and
                  older values may be back
    newest_unread newest pages that the open could not read, or not to their
                  end: torn by a power cut, or damaged
    records_lost  of keys, that could not be read
    pages_moved   by the collector
    """

    keys: int
    keys_max: int
    live_bytes: int
    live_max: int
    pages_lost: int
    newest_unread: int
    records_lost: int
    page_reads: int
    programs: int
    erases: int
    pages_moved: int


@dataclass(frozen=True)
class KvReport:
    """What check() found; `ok`: nothing is wrong.

    pages         of the log; pages_lost: those whose records are lost
    newest_unread as in KvStats
    records       complete ones, replaced ones included
    records_torn  that do not go on where they should
    keys          whose newest record is readable; keys_lost: whose is not
    index_lost    pages of the index that cannot be read: nothing is lost, their
                  keys are found in the log, slowly
    """

    ok: bool
    pages: int
    pages_lost: int
    newest_unread: int
    records: int
    records_torn: int
    keys: int
    keys_lost: int
    index_lost: int


@dataclass(frozen=True)
class KvEntry:
    """A key and its value, for tools: as text, and as Python has it."""

    raw_key: bytes
    stored: Stored

    @property
    def key(self) -> Key:
        return decode_key(self.raw_key)

    def texts(self) -> tuple[str, str, str]:
        """Key, value and type as `esker import` reads them."""
        return key_text(self.raw_key), *self.stored.written()


class Kv(WritableHandle, MutableMapping[Key, Any]):
    """An open kv table, as a mapping. Made by Volume.open_kv(); a context
    manager.

    A key is str (stored as UTF-8) or bytes; "a" and b"a" are the same key.
    Iteration is in the order of the keys' bytes, and has str where a key is
    UTF-8. A value is bytes, str, bool, int of 64 bits, or float. A change is
    durable after sync(), close(), or the end of a `with` block.
    """

    def __init__(self, *opened: Any) -> None:
        super().__init__(*opened)
        self._snapshots: dict[int, KvSnapshot] = {}

    # Reading ----------------------------------------------------------------

    def __getitem__(self, key: Key) -> Any:
        """Returns the value. Raises NotFound, Corrupt, DeviceError."""
        return self.stored(key).value

    def stored(self, key: Key) -> Stored:
        """Returns the value with its type. Raises as kv[key]."""

        def get(raw: bytes, *value: Any) -> None:
            status = lib.esk_py_kv_get(self._handle, raw, len(raw), *value)
            self._check(status, f"key {_shown(raw)}")

        return _read(encode_key(key), get)

    def __iter__(self) -> Iterator[Key]:
        """Yields the keys. Raises Corrupt when one cannot be read: scan()
        returns the others."""
        keys, lost = self._keys()
        if lost:
            raise error(
                lib.ESK_E_CORRUPT,
                f"table '{self.name}': {lost} of its keys",
                "call scan() for the others",
            )
        return map(decode_key, keys)

    def scan(
        self,
        prefix: Key = b"",
        start: Key = b"",
        stop: Key | None = None,
        reverse: bool = False,
    ) -> tuple[list[KvEntry], int]:
        """Returns what can be read, sorted by key, and how many keys have a
        record that cannot be read, whatever they are. Raises DeviceError.

        prefix   what the keys begin with
        start    the first key, included; stop: not included, None: to the last
        reverse  the largest key first
        """
        begin, first = _raw(prefix), _raw(start)
        end = None if stop is None else _raw(stop)
        keys, lost = self._keys()
        entries = []
        for raw in reversed(keys) if reverse else keys:
            if (
                not raw.startswith(begin)
                or raw < first
                or (end is not None and raw >= end)
            ):
                continue
            try:
                entries.append(KvEntry(raw, self.stored(raw)))
            except EskerError as failure:
                if failure.status != lib.ESK_E_CORRUPT:
                    raise
                lost += 1
        return entries, lost

    def __len__(self) -> int:
        return self.stats().keys

    def snapshot(self, changes: int = 0xFFFF) -> KvSnapshot:
        """Opens a snapshot: the table as it is now, for reads while changes
        go on. A context manager.

        changes  most keys that are changed while it is open, up to 65,535;
                 after one more all its reads raise Stale
        """
        return KvSnapshot(self, changes)

    def check_reader(self) -> None:
        """Of a read-only mount beside a writer: raises Stale when the writer
        may have erased records that this table has: close and mount again. To
        be called after the open, and after Corrupt.

        Raises Invalid: the mount is not read-only; DeviceError.
        """
        status = lib.ESK_AGAIN
        while status == lib.ESK_AGAIN:
            status = lib.esk_py_kv_reader_check(self._handle)
        stale = "the writer went on: close the volume, and open it again"
        check(
            status,
            f"table '{self.name}': check the reader",
            stale if status == lib.ESK_E_STALE else None,
        )

    # Changes ----------------------------------------------------------------

    def __setitem__(self, key: Key, value: Any) -> None:
        """Sets a value. Raises as put()."""
        self.put(key, value)

    def put(self, key: Key, value: Any, type: ValueType | None = None) -> None:
        """Sets a value.

        type   "bytes", "text", "int" (unsigned, or signed if below 0),
               "signed", "float" (8 bytes), "float32", "bool"; None: that of
               the value. Firmware reads "signed" with esk_kv_get_i32, "int"
               with esk_kv_get_u32, "float32" with esk_kv_get_f32

        Raises SchemaError for what is no key or no such value, Full, Limit
        for a value longer than a block, ReadOnly, Worn, Corrupt, DeviceError.
        """
        try:
            raw, stored = encode_key(key), encode(value, type)
        except EskerError as fault:
            raise schema_error(f"table '{self.name}': {fault}") from None
        status = lib.esk_py_kv_put(
            self._handle, raw, len(raw), stored.raw, len(stored.raw),
            stored.type,
        )  # fmt: skip
        if status in (lib.ESK_FULL, lib.ESK_E_LIMIT):
            raise self._no_room(status, raw, len(stored.raw))
        self._check(status, f"set key {_shown(raw)}")

    def __delitem__(self, key: Key) -> None:
        """Removes a key. Raises NotFound, and as put()."""
        raw = encode_key(key)
        status = lib.esk_py_kv_delete(self._handle, raw, len(raw))
        self._check(status, f"delete key {_shown(raw)}")

    def change_many(
        self, values: Mapping[Key, Any], deletes: Iterable[Key] = ()
    ) -> None:
        """Sets values and removes keys at once: after a power cut the table has
        all of these changes or none. A value is as put() takes it, or Stored.

        Raises as put(), and NotFound for a delete of a key that is not there;
        then nothing was changed. Limit: together they do not fit a block.
        """
        wanted = []
        try:
            for key in deletes:
                gone = Stored(lib.ESK_KV_DELETED, b"")
                wanted.append((encode_key(key), gone))
            for key, value in values.items():
                made = value if isinstance(value, Stored) else encode(value)
                wanted.append((encode_key(key), made))
        except EskerError as fault:
            raise schema_error(f"table '{self.name}': {fault}") from None
        changes = ffi.new("struct esk_kv_change[]", len(wanted))
        held = []  # what the changes point to
        for change, (raw, stored) in zip(changes, wanted, strict=True):
            held += ffi.from_buffer(raw), ffi.from_buffer(stored.raw)
            change.key, change.value = held[-2:]
            change.key_bytes, change.bytes = len(raw), len(stored.raw)
            change.type = stored.type
        doing = f"change {len(wanted):,} keys at once"
        if len(wanted) > _CHANGES_MAX:
            self._check(lib.ESK_E_LIMIT, doing)
        refused = ffi.new("uint16_t *")
        status = lib.esk_py_kv_change_many(
            self._handle, changes, len(wanted), refused
        )
        if status != lib.ESK_OK and refused[0] < len(wanted):
            doing += f", for key {_shown(wanted[refused[0]][0])}"
        self._check(status, doing)

    # State ------------------------------------------------------------------

    def stats(self) -> KvStats:
        """Returns what it holds, and counts since the open. Costs nothing."""
        stats = ffi.new("struct esk_kv_stats *")
        self._check(lib.esk_py_kv_stats(self._handle, stats), "stats")
        return counts_of(KvStats, stats)

    def space(self) -> Space:
        """Returns the room and the wear of the table's blocks."""
        space = ffi.new("struct esk_space *")
        self._check(lib.esk_py_table_space(self._handle, 0, space), "space")
        return counts_of(Space, space)

    def check(self) -> KvReport:
        """Reads the whole log.

        Returns what was found, damage included; raises DeviceError.
        """
        report = ffi.new("struct esk_kv_report *")
        status = lib.esk_py_kv_check(self._handle, report)
        return self._report(KvReport, report, status)

    # Inside -----------------------------------------------------------------

    def _check(self, status: int, doing: str) -> None:
        full = "make a table with more blocks"
        advice = full if status == lib.ESK_FULL else None
        check(status, f"table '{self.name}': {doing}", advice)

    def _keys(self) -> tuple[list[bytes], int]:
        """Returns the sorted keys, and how many cannot be read."""
        cursor = ffi.new("uint32_t *")
        key = ffi.new("uint8_t[]", lib.ESK_KV_KEY_BYTES_MAX)
        size = ffi.new("uint8_t *")
        keys, lost = [], 0
        while True:
            status = lib.esk_py_kv_next(self._handle, cursor, key, size)
            if status == lib.ESK_END:
                return sorted(keys), lost
            if status == lib.ESK_E_CORRUPT:
                lost += 1
                continue
            self._check(status, "read the keys")
            keys.append(bytes(ffi.buffer(key, size[0])))

    def _no_room(self, status: int, raw: bytes, size: int) -> EskerError:
        """Makes the error for a value that has no room."""
        doing = f"table '{self.name}': set key {_shown(raw)}"
        stats = self.stats()
        if status == lib.ESK_E_LIMIT:
            block = self.volume.geometry.block_bytes
            return error(
                status,
                doing,
                "store it in several keys",
                f"a value of {size:,} bytes and its key do not fit a block of "
                f"{block:,} bytes",
            )
        if stats.keys == stats.keys_max and self.table.index_keys:
            return error(
                status,
                doing,
                "delete keys, or make the table with more index_keys",
                f"it was made for {stats.keys_max:,} keys, and has them",
            )
        if stats.keys == stats.keys_max:
            return error(
                status,
                doing,
                f"open it with more: open_kv('{self.name}', "
                f"keys={2 * stats.keys_max})",
                f"it was opened for {stats.keys_max:,} keys, and has them",
            )
        return error(
            status,
            doing,
            "delete keys, or make the table with more blocks",
            f"no room for a value of {size:,} bytes: the newest values take "
            f"{stats.live_bytes:,} of at most {stats.live_max:,} bytes",
        )


class KvSnapshot(Mapping[Key, Any]):
    """A table as it was when the snapshot was opened, as a mapping. Made by
    Kv.snapshot(); a context manager.

    A key that was changed since, and whose old record the collector has
    passed, raises Stale.
    """

    def __init__(self, table: Kv, changes: int) -> None:
        self.table = table
        self._snapshot = ffi.new("struct esk_kv_snapshot *")
        self._kept = ffi.new("struct esk_kv_kept[]", changes)
        self._call("snapshot", lib.esk_py_kv_snapshot_open, self._kept, changes)
        table._snapshots[id(self)] = self  # its memory stays until the close

    def __getitem__(self, key: Key) -> Any:
        """Returns the value. Raises NotFound, Stale, Corrupt, DeviceError."""
        return self.stored(key).value

    def stored(self, key: Key) -> Stored:
        """Returns the value with its type. Raises as snapshot[key]."""

        def get(raw: bytes, *value: Any) -> None:
            doing = f"snapshot: key {_shown(raw)}"
            call = lib.esk_py_kv_snapshot_get
            self._call(doing, call, raw, len(raw), *value)

        return _read(encode_key(key), get)

    def __iter__(self) -> Iterator[Key]:
        """Yields the keys, sorted. Raises Stale if one of them is gone."""
        cursor = ffi.new("uint32_t *")
        key = ffi.new("uint8_t[]", lib.ESK_KV_KEY_BYTES_MAX)
        size = ffi.new("uint8_t *")
        keys = []
        while True:
            status = lib.esk_py_kv_snapshot_next(
                self.table._handle, self._snapshot, cursor, key, size
            )
            if status == lib.ESK_END:
                return map(decode_key, sorted(keys))
            if status == lib.ESK_AGAIN:
                continue
            self._check(status, "snapshot: read the keys")
            keys.append(bytes(ffi.buffer(key, size[0])))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def close(self) -> None:
        """Ends the snapshot; a second close does nothing."""
        lib.esk_py_kv_snapshot_close(self.table._handle, self._snapshot)
        self.table._snapshots.pop(id(self), None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _call(self, doing: str, function: Any, *values: Any) -> None:
        status = function(self.table._handle, self._snapshot, *values)
        self._check(status, doing)

    def _check(self, status: int, doing: str) -> None:
        gone = "open a new snapshot"
        check(
            status,
            f"table '{self.table.name}': {doing}",
            gone if status == lib.ESK_E_STALE else None,
        )


def _read(raw: bytes, get: Callable[..., None]) -> Stored:
    """Reads a value of any length; get: of a key, as esk_kv_get."""
    room = _ROOM
    size, kind = ffi.new("uint32_t *"), ffi.new("uint8_t *")
    while True:
        buffer = ffi.new("uint8_t[]", room)
        get(raw, buffer, room, size, kind)
        if size[0] <= room:
            return Stored(kind[0], bytes(ffi.buffer(buffer, size[0])))
        room = size[0]


def _raw(key: Key) -> bytes:
    """Returns the bytes of a bound, which may be empty."""
    return encode_key(key) if key else b""


def _shown(raw: bytes) -> str:
    return repr(decode_key(raw))
