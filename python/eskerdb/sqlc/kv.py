# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""How a kv table is read, in C.

A scan is a cursor over keys in order, bounds of one key are a lookup, and
where no order is asked for it is an unordered walk, which takes no memory. A
key is in the query's struct. A value that is only returned is read into the
row, once: so the query has no room for one. A value that is compared, or
computed with, is read into the query as soon as there is a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eskerdb.sql import expr as e
from eskerdb.sql import plan as p
from eskerdb.sql.tables import KV_CELLS, KV_COLUMNS
from eskerdb.sqlc import ctype
from eskerdb.sqlc.cexpr import FALSE, RELATION, TRUE, UNARY, C
from eskerdb.sqlc.code import Item, Text
from eskerdb.sqlc.value import Refused, TextValue, Value, quoted

if TYPE_CHECKING:
    from eskerdb.sqlc.writer import Writer

_KEY_BYTES_MAX = KV_COLUMNS[0].bytes
_VALUE_BYTES_MIN = 8  # ESK_QUERY_VALUE_BYTES_MIN


@dataclass(frozen=True)
class KvRoom:
    """What a query has room for.

    value_bytes   of a row's value: of a longer one its beginning
    cursor_bytes  of keys: a cursor reads all keys once for each so many
    """

    value_bytes: int = 64
    cursor_bytes: int = 640


class KvSource:
    """One scan of a kv table; what scans.Source is of the other kinds."""

    is_series = False

    def __init__(
        self, emitter: Writer, scan: p.Scan, room: KvRoom, ordered: bool
    ) -> None:
        self.emitter, self.scan = emitter, scan
        self.name = emitter.places.new(scan.table.name)
        self.table = f"q->{emitter.tables[scan.table.name]}"
        self.is_lookup = scan.lo is not None and scan.lo == scan.hi
        self.is_walk = not ordered and scan.lo is None and scan.hi is None
        self._get = Text("")
        self._room = max(room.value_bytes, _VALUE_BYTES_MIN)
        self._value = self._stored = C("")  # where the query has a value
        self.body: list[Item] = []  # of its loop
        if self.is_lookup:
            assert scan.lo is not None
            self.key = emitter.values.text(scan.lo.value)
            return
        self._key_room = emitter.member(
            "uint8_t", f"{self.name}_key", 1, "[ESK_KV_KEY_BYTES_MAX]"
        )
        self._key_bytes = emitter.member("uint8_t", f"{self.name}_key_bytes", 1)
        self.key = TextValue(str(self._key_room), str(self._key_bytes), FALSE)
        if self.is_walk:
            self.cursor = emitter.member("uint32_t", f"{self.name}_walk", 4)
            return
        self.cursor = emitter.member(
            "struct esk_kv_cursor", f"{self.name}_cursor", 200
        )
        self.memory = emitter.member(
            "uint8_t", f"{self.name}_memory", 1, f"[{room.cursor_bytes}]"
        )

    def keep_mark(self) -> None:
        """Notes nothing: it sees the keys that there are."""

    def next(self) -> str:
        call = "esk_kv_next" if self.is_walk else "esk_kv_cursor_next"
        return (
            f"{call}({self.table}, &{self.cursor}, {self._key_room}, "
            f"&{self._key_bytes})"
        )

    def text(self, column: p.TableColumn, span: e.Span) -> TextValue:
        """Returns a text of the current row: the key, or the value's."""
        if column.name == "text" and column in KV_CELLS:
            self._have()
            return TextValue(str(self._value), f"{self._stored}.bytes", FALSE)
        if column != KV_COLUMNS[0]:
            raise Refused(
                f"'{column.name}' of a kv table is only an output: values "
                "differ in type",
                span,
            )
        return self.key

    def cell(self, column: p.TableColumn, span: e.Span) -> Value:
        """Returns a number of how the current row's value is stored."""
        if column not in KV_CELLS:
            self.text(column, span)  # refuses
        self._have()
        name, kind = column.name, column.kind
        c = f"{self._stored}.{name}"
        if name not in ("tag", "size", "number"):
            c = f"esk_load_{kind}({self._value})"
        if kind[0] == "f":
            c = c if kind == "f64" else f"(double){c}"
            nan = C(f"{c} != {c}", RELATION, f"{c} == {c}")
            return Value(C(c, UNARY), nan, "double")
        kept = ctype.COLUMNS[kind]
        return Value(C(c), FALSE, kept, column.type.lo, column.type.hi)

    def _have(self) -> None:
        """Reads the value at the beginning of each row, once."""
        if self._value.text:
            return
        emitter = self.emitter
        self._value = emitter.member(
            "uint8_t", f"{self.name}_value", 1, f"[{self._room}]"
        )
        self._stored = emitter.member(
            "struct esk_query_value", f"{self.name}_stored", 16
        )
        call = (
            f"status = esk_query_kv({self.table}, {self.key.c}, "
            f"{self._length}, {self._value}, sizeof {self._value}, "
            f"&{self._stored});"
        )
        if self.is_lookup:
            self._get.text = call
            return
        with emitter.aside() as items:
            self._checked(call)
        self.body[:0] = items

    def _checked(self, call: str) -> None:
        """Reads a value; a key that is gone is no row."""
        emitter = self.emitter
        label = emitter.place(f"value_of_{self.name}")
        emitter.line(call)
        with emitter.under(C("status == ESK_NOT_FOUND", RELATION)):
            emitter.line("continue;")
        with emitter.under(C("status != ESK_OK", RELATION)):
            emitter.line(
                f"return esk_query_stop(&q->at, {{at:{label}}}, status);"
            )

    # ----------------------------------------------------------------- opens

    def open(self) -> None:
        """Writes what opens the cursor, as the end of a function."""
        emitter, scan = self.emitter, self.scan
        if self.is_walk:
            emitter.line(f"{self.cursor} = 0;")
            emitter.line("return ESK_OK;")
            return
        emitter.line("struct esk_kv_query rows = {0};")
        if scan.backward:
            emitter.line("rows.backward = true;")
        if emitter.step_pages:
            emitter.line(f"rows.step_keys = {emitter.step_pages};")
        if scan.lo:
            self._bound("from", *self._text_of(scan.lo))
        if scan.hi:
            self._bound("below", *self._next_of(scan.hi))
        emitter.line(
            f"return esk_kv_cursor_open({self.table}, &{self.cursor}, &rows, "
            f"{self.memory}, sizeof {self.memory});"
        )

    def _bound(self, end: str, c: str, bytes: str) -> None:
        self.emitter.line(f"rows.{end} = {c};")
        self.emitter.line(f"rows.{end}_bytes = {bytes};")

    def _text_of(self, bound: p.Bound) -> tuple[str, str]:
        text = self.emitter.values.text(bound.value)
        if isinstance(bound.value, e.Constant):
            return text.c, text.bytes
        return text.c, f"(uint8_t)strlen({text.c})"

    def _next_of(self, bound: p.Bound) -> tuple[str, str]:
        """Returns the key that follows one: the one and a zero, with which
        strings of C end."""
        c, _ = self._text_of(bound)
        if isinstance(bound.value, e.Parameter):
            most = self.emitter.text_limits
            most[bound.value.index] = _KEY_BYTES_MAX - 1
            return c, f"(uint8_t)(strlen({c}) + 1u)"
        assert isinstance(bound.value, e.Constant)
        data = bound.value.value.encode()
        if len(data) < _KEY_BYTES_MAX:
            return c, str(len(data) + 1)
        data = data[:-1] + bytes([data[-1] + 1])  # UTF-8 has no byte 255
        return quoted(data), str(len(data))

    # ---------------------------------------------------------------- lookups

    def may_be(self) -> C:
        """Returns whether a key can be the one that is looked up."""
        assert self.scan.lo is not None
        value = self.scan.lo.value
        if isinstance(value, e.Constant):
            return TRUE if value.value else FALSE
        return C(f"{self.key.c}[0] != 0", RELATION, f"{self.key.c}[0] == 0")

    def get(self) -> Text:
        """Returns the statement that looks the key up. If the row has its
        value, the same call reads it."""
        key = f"{self.table}, {self.key.c}, {self._length}"
        self._get = Text(f"status = esk_kv_exists({key});")
        return self._get

    @property
    def _length(self) -> str:
        if "strlen" in self.key.bytes:
            return f"(uint8_t)strlen({self.key.c})"
        return self.key.bytes

    # ---------------------------------------------------------------- outputs

    def read(self, values: Sequence[str], types: Sequence[str]) -> None:
        """Reads what outputs of the row are: its value, its type."""
        if len(values) > 1 or len(types) > 1:
            raise Refused("'value' and 'type' of a kv table are output once")
        if self._value.text:
            self._copy(values, types)
            return
        into = "NULL, 0, NULL"
        type = f"&row->{types[0]}" if types else "NULL"
        if values:
            (name,) = values
            into = f"row->{name}, sizeof row->{name}, &row->{name}_bytes"
            type = f"&row->{name}_type"
        call = (
            f"status = esk_kv_get({self.table}, {self.key.c}, {self._length}, "
            f"{into}, {type});"
        )
        if self.is_lookup:
            self._get.text = call
        else:
            self._checked(call)
        if values and types:
            self.emitter.line(f"row->{types[0]} = row->{values[0]}_type;")

    def _copy(self, values: Sequence[str], types: Sequence[str]) -> None:
        """Fills the row with the value that the query has."""
        line = self.emitter.line
        for name in values:
            line(f"memcpy(row->{name}, {self._value}, sizeof row->{name});")
            line(f"row->{name}_bytes = {self._stored}.size;")
            line(f"row->{name}_type = {self._stored}.tag;")
        for name in types:
            line(f"row->{name} = {self._stored}.tag;")


def members(name: str, kind: str, room: KvRoom) -> list[str]:
    """Returns the members of a row that have a value, or a type."""
    if kind == "type":
        return [f"uint8_t {name}; ///< enum esk_kv_type"]
    return [
        f"uint8_t {name}[{room.value_bytes}];",
        f"uint32_t {name}_bytes; ///< of the whole value",
        f"uint8_t {name}_type; ///< enum esk_kv_type",
    ]


def unordered(plan: p.Plan) -> set[int]:
    """Returns the scans of whose rows no order is asked."""
    match plan:
        case p.CountRows(scan=scan):
            return {scan.number}
        case p.StreamAggregate(keys=()) | p.GroupAggregate():
            if any(a.function in ("first", "last") for a in plan.aggregates):
                return set()
            return _in_any_order(plan.input)
        case p.Scan() | p.Values() | p.SeekUnion():
            return set()
        case p.UnionAll(inputs=found):
            return set().union(*map(unordered, found))
        case p.MergeJoin(left=left) | p.LookupJoin(left=left):
            return unordered(left)
        case p.NestedJoin(left=left, right=right):
            return unordered(left) | unordered(right)
    return unordered(plan.input)


def _in_any_order(plan: p.Plan) -> set[int]:
    if isinstance(plan, p.Scan):
        return {plan.number}
    if isinstance(plan, p.Filter | p.Project):
        return _in_any_order(plan.input)
    return unordered(plan)
