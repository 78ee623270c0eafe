# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Compiled queries: programs of bytes that the core's machine runs.

The format is in src/query/README.md. A device that is deployed runs the same
program and gives the same rows.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from eskerdb._esker import ffi, lib
from eskerdb.errors import Limit, check
from eskerdb.handle import TableHandle
from eskerdb.kv import Kv
from eskerdb.kv_value import Stored

_HEAD = struct.Struct("<2sBBHBBBBBB")
HEAD_BYTES = _HEAD.size
_FETCH_ROWS = 512
_LEAST = -(1 << 63)

INT, FLOAT, AVG, ROW, ROW_TEXT, TEXT = range(1, 7)
RUNS = 4  # a kind of helper


def float_slot(value: float) -> int:
    """Returns the slot of a float: its bits, of which all but the sign are
    inverted when it is negative, so that slots order as floats do."""
    (bits,) = struct.unpack("<q", struct.pack("<d", value + 0.0))
    return bits ^ (_LEAST ^ -1) if bits < 0 else bits


def slot_float(slot: int) -> float:
    """Returns the float of a slot."""
    bits = slot ^ (_LEAST ^ -1) if slot < 0 else slot
    (value,) = struct.unpack("<d", struct.pack("<q", bits))
    return value


def text_slots(text: bytes, count: int) -> list[int]:
    """Returns the `count` slots that hold a text, zeros after it."""
    padded = text.ljust(8 * count, b"\0")
    words = struct.unpack(f">{count}Q", padded[: 8 * count])
    return [word + _LEAST for word in words]


class RunsPlan(NamedTuple):
    """What a sort by runs makes of its memory.

    held        rows that it sorts in memory
    page_rows   in a page of the scratch
    inputs      runs that it merges at a time
    page_bytes  of the scratch
    """

    held: int
    page_rows: int
    inputs: int
    page_bytes: int


def runs_plan(slots: int, capacity: bytes) -> RunsPlan:
    """Returns what a sort makes of the memory of so many records, u16."""
    plan = ffi.new("uint32_t[4]")
    check(lib.esk_py_runs_plan(slots, *struct.unpack("<H", capacity), plan), "")
    return RunsPlan(*plan)


KV_VALUE_BYTES = 1024  # of a row that has values; longer ones are cut
_KV_CURSOR_BYTES = 60_000
_KV_HEAD = 13  # of a row, between its key and its value


def kv_shape(value_bytes: int) -> tuple[int, int]:
    """Returns the fingerprint and the bytes of a row with keys of any length."""
    key = lib.ESK_KV_KEY_BYTES_MAX
    return key | value_bytes << 8, key + _KV_HEAD + value_bytes


class KvRows:
    """A kv table as rows of a program: of the columns key (text of `key_bytes`
    bytes), type, bytes, number, value (`value_bytes` bytes, if not 0).

    ordered   in the order of the keys, with bounds of them
    """

    def __init__(
        self, kv: Kv, key_bytes: int, value_bytes: int, ordered: bool = False
    ) -> None:
        self.kv = kv
        self.key_bytes = key_bytes
        self.value_bytes = value_bytes
        self.memory_bytes = _KV_CURSOR_BYTES if ordered else 0

    def stored(self, row: bytes) -> Stored:
        """Returns the value of a row. One that is longer is read."""
        head = row[self.key_bytes :]
        size = int.from_bytes(head[1:5], "little")
        if size > self.value_bytes:
            return self.kv.stored(row[: self.key_bytes].rstrip(b"\0"))
        return Stored(head[0], head[_KV_HEAD : _KV_HEAD + size])

    @property
    def fingerprint(self) -> int:
        return self.key_bytes | self.value_bytes << 8

    @property
    def row_bytes(self) -> int:
        return self.key_bytes + 13 + self.value_bytes


class _Output:
    """One output of a program: how its bytes become values."""

    def __init__(self, kind: int, operand: int, width: int) -> None:
        self.kind = kind
        self.table = operand
        self.letters = {INT: "q", FLOAT: "q", AVG: "qQq"}.get(kind)
        if self.letters is None:
            self.letters = f"{width}s"
        self.count = 3 if kind == AVG else 1


def bound_text(kind: int, most: int, reached: int) -> str:
    """Returns which bound of a program ended it, and what was reached, of
    struct esk_program_bound."""
    if most == 0:
        return "the rows in order fill the scratch"
    is_groups = kind == lib.ESK_BOUND_GROUPS
    what = "groups" if is_groups else "rows or values in order"
    return (
        f"more than {most:,} {what}: it had {reached:,} of them and came to "
        "another"
    )


class Program:
    """A program of bytes. It is checked when it is run, against the tables.

    code   its bytes
    """

    def __init__(self, code: bytes) -> None:
        self.code = bytes(code)

    def run(
        self,
        tables: Sequence[TableHandle | Kv | KvRows],
        parameters: Sequence[int | float | str | None] = (),
        *,
        budget: int = 0,
    ) -> list[tuple[Any, ...]]:
        """Runs it over open tables of one volume and returns all rows.

        tables      those that the program may use; it finds each by its
                    fingerprint
        parameters  the values of its first registers; a float is stored as a
                    float, a text as a reference to it
        budget      rows a step, to test pausing; 0: as many as it takes

        Raises SchemaError: no table has the schema that it was compiled for;
        Corrupt: no program; Limit: an overflow, or too many groups; and what
        reading the tables raises.
        """
        return list(self.rows(tables, parameters, budget=budget))

    def rows(
        self,
        tables: Sequence[TableHandle | Kv | KvRows],
        parameters: Sequence[int | float | str | None] = (),
        *,
        budget: int = 0,
        packed: bool = False,
        errors: str = "replace",
    ) -> Iterator[tuple[Any, ...]]:
        """The same, as they come.

        packed   a whole row of a table is its bytes
        errors   as of bytes.decode: of texts that are not UTF-8
        """
        handle = self._open(tables)
        texts = self._set(handle, parameters)
        outputs = list(self._outputs())
        record = struct.Struct("<" + "".join("?" + o.letters for o in outputs))
        codecs = {} if packed else self._codecs(tables)
        room = max(1, record.size)
        buffer = ffi.new("uint8_t[]", _FETCH_ROWS * room)
        count = ffi.new("uint32_t *")
        status = lib.ESK_OK
        while status in (lib.ESK_OK, lib.ESK_AGAIN):
            status = lib.esk_py_program_fetch(
                handle, budget, 1 << 16, buffer, _FETCH_ROWS, count
            )
            fetched = bytes(ffi.buffer(buffer, count[0] * record.size))
            for at in range(count[0]):
                values = record.unpack_from(fetched, at * record.size)
                yield tuple(_values(outputs, values, codecs, errors))
        del texts  # borrowed until here
        if status == lib.ESK_E_LIMIT:
            self._check_bound(handle)
        if status != lib.ESK_END:
            self._check(status)

    def _set(self, handle: Any, parameters: Sequence[Any]) -> Any:
        """Sets parameters; returns the texts, which the program borrows."""
        texts = [v.encode() for v in parameters if isinstance(v, str)]
        kept = ffi.new("uint8_t[]", b"".join(texts) + b"\0")
        at = 0
        for number, value in enumerate(parameters):
            if isinstance(value, str):
                size = len(value.encode())
                status = lib.esk_py_program_set_text(
                    handle, number, kept, at, size
                )
                at += size
            elif value is not None:
                slot = float_slot(value) if isinstance(value, float) else value
                status = lib.esk_py_program_set(handle, number, slot)
            else:
                continue
            self._check(status)
        return kept

    def arena_bytes(self, tables: Sequence[TableHandle | Kv | KvRows]) -> int:
        """Returns the bytes of RAM that it takes beside the open tables.

        Raises as run().
        """
        report = ffi.new("struct esk_program_report *")
        self._open(tables, report)
        return report.arena_bytes

    def _open(
        self, tables: Sequence[TableHandle | Kv | KvRows], report: Any = None
    ) -> Any:
        out = ffi.new("struct esk_py_program **")
        report = report or ffi.new("struct esk_program_report *")
        sources = ffi.new("struct esk_py_query_table[]", max(1, len(tables)))
        for source, table in zip(sources, tables, strict=False):
            if isinstance(table, KvRows):
                source.table = table.kv._handle
                source.key_bytes = table.key_bytes
                source.value_bytes = table.value_bytes
                source.memory_bytes = table.memory_bytes
            else:
                source.table = table._handle
                source.key_bytes = 1
        status = lib.esk_py_program_open(
            self.code, len(self.code), sources, len(tables), report, out
        )
        check(status, f"program, at byte {report.at}")
        return ffi.gc(out[0], lib.esk_py_program_release)

    def _check(self, status: int) -> None:
        check(status, "program")

    def _check_bound(self, handle: Any) -> None:
        """Raises Limit when there was no room for a record; it names the bound
        and what was reached."""
        bound = ffi.new("struct esk_program_bound *")
        if lib.esk_py_program_bound(handle, bound) == lib.ESK_OK:
            text = bound_text(bound.kind, bound.most, bound.reached)
            raise Limit(f"program: {text}")

    def _outputs(self) -> Iterator[_Output]:
        """The outputs that its header has; it was checked."""
        _, _, _, _, _, _, tables, entries, helpers, _ = _HEAD.unpack_from(
            self.code
        )
        at = _HEAD.size + 8 * tables + 8 * helpers
        end = at + 2 * entries
        while at < end:
            kind, operand = self.code[at], self.code[at + 1]
            width = 0
            if kind == ROW:
                entry = _HEAD.size + 8 * operand
                (width,) = struct.unpack_from("<H", self.code, entry + 4)
            elif kind == ROW_TEXT:
                (width,) = struct.unpack_from("<H", self.code, at + 4)
                at += 4
            elif kind == TEXT:
                (width,) = struct.unpack_from("<H", self.code, at + 2)
                at += 2
            at += 2
            yield _Output(kind, operand, width)

    def _codecs(
        self, tables: Sequence[TableHandle | Kv | KvRows]
    ) -> dict[int, Any]:
        """The codecs of the rows of its tables, by the number of the entry."""
        codecs = {}
        for number in range(self.code[8]):
            wanted, row_bytes, _ = struct.unpack_from(
                "<IHB", self.code, _HEAD.size + 8 * number
            )
            for table in tables:
                if (
                    isinstance(table, TableHandle)
                    and table.codec.row_bytes == row_bytes
                    and table.table.fingerprint == wanted
                ):
                    codecs[number] = table.codec
                    break
        return codecs


def _values(
    outputs: list[_Output],
    values: tuple[Any, ...],
    codecs: dict[int, Any],
    errors: str,
) -> Iterator[Any]:
    """The Python values of a packed row."""
    at = 0
    for output in outputs:
        null, value = values[at], values[at + 1]
        if output.kind == ROW:
            yield from _row(codecs.get(output.table), null, value)
        elif null:
            yield None
        elif output.kind == FLOAT:
            yield slot_float(value)
        elif output.kind == AVG:
            yield (values[at + 2] + (values[at + 3] << 64)) / value
        elif output.kind == INT:
            yield value
        else:
            yield value.rstrip(b"\0").decode("utf-8", errors)
        at += 1 + output.count


def _row(codec: Any, null: bool, row: bytes) -> Iterator[Any]:
    """The columns of a whole row; of a kv table its bytes."""
    if codec is None:
        yield None if null else row
    elif null:
        yield from (None for _ in codec.fixed_names)
    else:
        yield from codec.unpack_many(row)[0]
