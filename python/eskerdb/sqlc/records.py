# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Records in the query's memory: an order, or groups (esker/compute.h).

A record is slots: of an order its columns, of groups the key and then what
the aggregates keep. Its current one is in `NAME_values` and `NAME_nulls`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from eskerdb.sql import expr as e
from eskerdb.sql.types import Type
from eskerdb.sqlc import ctype
from eskerdb.sqlc.cexpr import ATOM, FALSE, RELATION, TRUE, UNARY, C, negated
from eskerdb.sqlc.groups import Cells
from eskerdb.sqlc.value import Refused, TextValue, Value, cast

if TYPE_CHECKING:
    from eskerdb.sqlc.writer import Writer

_SLOTS_MAX = 64
_SLOT_BYTES = 8


class Store:
    """The records of an order or of groups.

    kept  the types of the columns, or of the keys
    row   these as values of the current record
    """

    def __init__(
        self,
        emitter: Writer,
        name: str,
        kept: Sequence[Type],
        capacity: int,
        cells: Cells | None = None,
        down: Sequence[bool] = (),
        scratch: C | None = None,
    ) -> None:
        self.emitter, self.kept, self.cells = emitter, kept, cells
        self.members = _slots_of(cells) if cells else []
        self.places = _places([_slots_in(type) for type in kept])
        self.first = self.places.pop()  # of the members
        slots = self.first + sum(
            part.slots for _, parts in self.members for part in parts
        )
        if slots > _SLOTS_MAX:
            raise Refused(
                f"records of {slots} values; {_SLOTS_MAX} are the most"
            )
        if any(not _is_narrow(type) for type in kept) or self.members:
            emitter.needs.add("wide slots")
        emitter.needs.add("runs" if scratch else "compute")
        kind = "struct esk_runs" if scratch else "struct esk_records"
        self.records = emitter.member(kind, name, 16)
        self.is_runs = scratch is not None
        self.name = self.records.text[3:]
        self.values = emitter.member(
            "esk_slot", f"{self.name}_values", 8, f"[{max(slots, 1)}]"
        )
        self.nulls = emitter.member(
            "uint8_t", f"{self.name}_nulls", 1, f"[{max(slots, 1)}]"
        )
        memory = emitter.member(
            "esk_slot",
            f"{self.name}_memory",
            8,
            f"[({capacity} * ESK_RECORD_BYTES({slots}) + sizeof(esk_slot) - 1) "
            "/ sizeof(esk_slot)]",
        )
        falls = [
            fall
            for type, fall in zip(kept, down, strict=False)
            for _ in range(_slots_in(type))
        ]
        keys = self.first if cells is not None else len(falls)
        mask = sum(1 << i for i, fall in enumerate(falls) if fall)
        if keys > 16:
            raise Refused(
                "a group or an order by more than 16 values; a text is one for "
                "each 8 bytes"
            )
        if capacity > 0xFFFF:
            raise Refused(f"{capacity} records; 65535 are the most")
        self.row = [
            self._value(i, type)
            for i, type in zip(self.places, kept, strict=True)
        ]
        self._begin((slots, keys, mask), str(memory), capacity, scratch)

    def _begin(
        self,
        order: tuple[int, int, int],
        memory: str,
        capacity: int,
        scratch: C | None,
    ) -> None:
        """Writes what begins the records."""
        emitter = self.emitter
        slots, keys, mask = order
        if scratch is not None:
            emitter.line(
                f"status = esk_runs_begin(&{self.records}, "
                f"&(const struct esk_order){{{slots}, {keys}, {mask}}}, "
                f"{memory}, sizeof {memory}, {scratch});"
            )
            emitter.stop_unless_ok()
            return
        for line in (
            f"{self.records}.by.slots = {slots};",
            f"{self.records}.by.keys = {keys};",
            f"{self.records}.by.down = {mask};",
            f"{self.records}.capacity = {capacity};",
            f"{self.records}.memory = (uint8_t *){memory};",
            f"{self.records}.values = {self.values};",
            f"{self.records}.nulls = {self.nulls};",
            f"esk_records_clear(&{self.records});",
        ):
            emitter.line(line)

    def _value(
        self, index: int, type: Type
    ) -> tuple[Value | TextValue, C | None]:
        slot = C(f"{self.values}[{index}]")
        has = None
        if type.nullable:
            null = f"{self.nulls}[{index}]"
            has = C(f"{null} == 0", RELATION, f"{null} != 0")
        if type.kind == "text":
            c = f"({self.values} + {index})" if index else str(self.values)
            return TextValue(c, str(type.bytes), FALSE), has
        if type.kind == "f64":
            return Value(C(f"esk_f64_of_slot({slot})"), FALSE, "double"), has
        kept = ctype.stored(type)
        if kept == "bool":
            c = C(f"{slot} != 0", RELATION, f"{slot} == 0")
        elif kept == "int64_t":
            c = slot
        else:
            c = C(f"({kept}){slot}", UNARY)
        return Value(c, FALSE, kept, type.lo, type.hi), has

    def put(self, values: Sequence[e.Expr]) -> None:
        """Sets the first slots."""
        emitter = self.emitter
        for index, expr, type in zip(
            self.places, values, self.kept, strict=True
        ):
            if type.kind == "text":
                self._put_text(index, expr, type)
                continue
            value = emitter.values.value(expr)
            if type.nullable:
                null = value.null
                text = {TRUE: "1", FALSE: "0"}.get(null, str(null))
                emitter.line(f"{self.nulls}[{index}] = {text};")
            slot = f"{self.values}[{index}]"
            if value.null == TRUE:
                emitter.line(f"{slot} = 0;")
                continue
            with emitter.under(
                TRUE if value.c.binds == ATOM else negated(value.null)
            ):
                emitter.line(f"{slot} = {to_slot(value)};")

    def _put_text(self, index: int, expr: e.Expr, type: Type) -> None:
        emitter, count = self.emitter, _slots_in(type)
        text = emitter.values.text(expr)
        if type.nullable:
            emitter.line(
                f"memset({self.nulls} + {index}, {text.null}, {count});"
            )
        with emitter.under(negated(text.null)):
            emitter.line(
                f"esk_text_to_slots({self.values} + {index}, {count}, "
                f"{text.c}, {text.bytes});"
            )

    # --------------------------------------------------------------- orders

    def push(self, values: Sequence[e.Expr], refuses: bool) -> None:
        if self.is_runs:
            label = self.emitter.place(f"push_{self.name}")
            self.put(values)
            self.emitter.line(
                f"status = esk_runs_push(&{self.records}, {self.values}, "
                f"{self.nulls});"
            )
            with self.emitter.under(C("status == ESK_AGAIN", RELATION)):
                self.emitter.step_runs(self, label, f"goto {label};")
            with self.emitter.under(C("status != ESK_OK", RELATION)):
                self._fail()
            return
        self.put(values)
        call = f"esk_topk_push(&{self.records})"
        if not refuses:
            self.emitter.line(f"(void){call};")
            return
        with self.emitter.under(C(f"{call} != ESK_OK", RELATION)):
            self._fail()

    def _fail(self) -> None:
        """Ends the query: there is no room for a record."""
        records = f"{self.records}.records" if self.is_runs else self.records
        self.emitter.fail_full(str(records))

    # --------------------------------------------------------------- groups

    def find(self, keys: Sequence[e.Expr]) -> None:
        """Goes to the group of a key: its members are the struct's."""
        emitter = self.emitter
        self.put(keys)
        emitter.line(f"status = esk_groups_find(&{self.records});")
        with emitter.under(C("status < 0", RELATION)):
            self._fail()
        if not self.members:
            return
        with emitter.under(C("status == ESK_NOT_FOUND", RELATION)):
            assert self.cells is not None
            for line in self.cells.clear():
                emitter.line(line)
        with emitter.otherwise():
            emitter.line(f"esk_records_get(&{self.records});")
            self._load()

    def load(self) -> None:
        """Sets the members to what the slots say."""
        self.read_texts()
        self._load()

    def read_texts(self) -> None:
        """Makes bytes of the texts of the current record."""
        for index, type in zip(self.places, self.kept, strict=True):
            if type.kind == "text":
                self._to_bytes(index, _slots_in(type))

    def _to_bytes(self, index: int, count: int) -> str:
        place = f"{self.values} + {index}"
        self.emitter.line(f"esk_text_of_slots({place}, {count});")
        return place

    def _load(self) -> None:
        index = self.first
        for member, parts in self.members:
            for piece in parts:
                part, kind = piece.name, piece.kind
                if kind == "char":
                    place = self._to_bytes(index, piece.slots)
                    self.emitter.line(
                        f"esk_text_copy({member}, sizeof {member}, {place}, "
                        f"sizeof {member} - 1u);"
                    )
                    index += piece.slots
                    continue
                slot = f"{self.values}[{index}]"
                text = (
                    f"esk_f64_of_slot({slot})"
                    if kind == "double"
                    else slot
                    if kind == "int64_t"
                    else f"{slot} != 0"
                    if kind == "bool"
                    else f"({kind}){slot}"
                )
                self.emitter.line(f"{member}{part} = {text};")
                index += 1

    def save(self) -> None:
        """Writes the members back to the group."""
        emitter = self.emitter
        if not self.members:
            return
        index = self.first
        for member, parts in self.members:
            for piece in parts:
                part, kind = piece.name, piece.kind
                if kind == "char":
                    emitter.line(
                        f"esk_text_to_slots({self.values} + {index}, "
                        f"{piece.slots}, {member}, sizeof {member} - 1u);"
                    )
                    emitter.line(
                        f"memset({self.nulls} + {index}, 0, {piece.slots});"
                    )
                    index += piece.slots
                    continue
                c = f"{member}{part}"
                text = (
                    f"esk_f64_slot({c})"
                    if kind == "double"
                    else f"(esk_slot){c}"
                )
                emitter.line(f"{self.values}[{index}] = {text};")
                emitter.line(f"{self.nulls}[{index}] = 0;")
                index += 1
        emitter.line(f"esk_records_set(&{self.records});")


def to_slot(value: Value) -> str:
    if value.is_float:
        return f"esk_f64_slot({value.c})"
    return (
        str(cast(value, "esk_slot"))
        if value.ctype != "int64_t"
        else str(C(f"(esk_slot){value.c.within(ATOM)}", UNARY))
    )


@dataclass(frozen=True)
class _Part:
    """A part of a member, its C type, and how many slots it takes."""

    name: str
    kind: str
    slots: int = 1


def _slots_in(type: Type) -> int:
    """Returns how many slots a value takes."""
    if type.kind != "text":
        return 1
    if not type.bytes:
        raise Refused("a text of any length is not kept by compiled C")
    return -(-type.bytes // _SLOT_BYTES)


def _places(counts: Sequence[int]) -> list[int]:
    """Returns the first slot of each value, and the one behind them."""
    return [0, *accumulate(counts)]


def _is_narrow(type: Type) -> bool:
    return type.kind != "text" and type.fits_32_bits


def _slots_of(cells: Cells) -> list[tuple[C, list[_Part]]]:
    """Returns each member of the aggregates, and its parts."""
    result, seen = [], set()
    for cell in cells.cells:
        for function, member in cell.members.items():
            if member in seen:
                continue
            seen.add(member)
            if function == "count":
                parts = [_Part("", cells.count_type)]
            elif function != "sum" and cell.type.kind == "text":
                parts = [_Part("", "char", _slots_in(cell.type))]
            elif function != "sum":
                parts = [_Part("", ctype.stored(cell.type))]
            elif cell.sum_kind == "struct esk_wide_sum":
                parts = [_Part(".low", "uint64_t"), _Part(".high", "int64_t")]
            elif cell.sum_kind == "struct esk_f64_sum":
                parts = [_Part(".sum", "double"), _Part(".lost", "double")]
            else:
                parts = [_Part("", cell.sum_kind)]
            result.append((member, parts))
    return result
