# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Columns, value indexes, and rows as Python values.

A row's bytes are its columns one after another, little-endian and unpadded,
as include/esker/schema.h says; the offsets come from the catalog.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eskerdb._esker import lib
from eskerdb.errors import schema_error

TYPES: dict[str, int] = {
    "i8": lib.ESK_TYPE_I8,
    "i16": lib.ESK_TYPE_I16,
    "i32": lib.ESK_TYPE_I32,
    "i64": lib.ESK_TYPE_I64,
    "u8": lib.ESK_TYPE_U8,
    "u16": lib.ESK_TYPE_U16,
    "u32": lib.ESK_TYPE_U32,
    "u64": lib.ESK_TYPE_U64,
    "f32": lib.ESK_TYPE_F32,
    "f64": lib.ESK_TYPE_F64,
    "bytes": lib.ESK_TYPE_BYTES,
    "var": lib.ESK_TYPE_VAR,
    "text": lib.ESK_TYPE_VAR,  # and ESK_COLUMN_TEXT
}
STORES: dict[str, int] = {
    "inplace": lib.ESK_STORE_INPLACE,
    "journaled": lib.ESK_STORE_JOURNALED,
    "wandering": lib.ESK_STORE_WANDERING,
    "mu": lib.ESK_STORE_MU,
    "tnc": lib.ESK_STORE_TNC,
}
# How a packed series packs a column.
MODES: dict[str, int] = {
    "": lib.ESK_PACK_DEFAULT,
    "delta": lib.ESK_PACK_DELTA,
    "linear": lib.ESK_PACK_LINEAR,
    "float": lib.ESK_PACK_FLOAT,
    "decimal:0": lib.ESK_PACK_DECIMAL,
    "decimal:1": lib.ESK_PACK_DECIMAL + 1,
    "decimal:2": lib.ESK_PACK_DECIMAL + 2,
    "decimal:3": lib.ESK_PACK_DECIMAL + 3,
    "raw": lib.ESK_PACK_RAW,
}
# What a value index is.
INDEX_KINDS: dict[str, int] = {
    "summary": lib.ESK_INDEX_SUMMARY,
    "sorted": lib.ESK_INDEX_SORTED,
}
CODECS: dict[str, int] = {
    "raw": lib.ESK_CODEC_RAW,
    "packed": lib.ESK_CODEC_PACKED,
}
MODE_NAMES = {number: name for name, number in MODES.items()}
CODEC_NAMES = {number: name for name, number in CODECS.items()}
TYPE_NAMES = {number: name for name, number in TYPES.items() if name != "text"}
_LETTERS = {
    "i8": "b",
    "i16": "h",
    "i32": "i",
    "i64": "q",
    "u8": "B",
    "u16": "H",
    "u32": "I",
    "u64": "Q",
    "f32": "f",
    "f64": "d",
}
VAR_REF_BYTES = lib.ESK_VAR_REF_BYTES
# Buckets of a value index for which none are chosen: noisy data needs as many,
# and data that changes slowly pays little for them.
BITMAP = lib.ESK_BITMAP_DEFAULT


@dataclass(frozen=True)
class Column:
    """One column.

    name   1 to 31 bytes of UTF-8, unique in its table
    type   a key of TYPES: i8 .. i64, u8 .. u64, f32, f64, bytes, var, text
    unit   "degC", "ms"; "" for none
    bytes  width of a "bytes" column, or of a "text" column whose values have
           at most that many bytes of UTF-8, 1 .. 1024; else 0
    missing  of a number of at most 4 bytes, not the key: the value that
           stands for "no value", which no range has; None: there is none
    mode   of a packed series, how its values are packed: "delta" or "linear"
           (integers), "float" or "decimal:0" to "decimal:3" (f32), "raw" (not
           the key); "": linear for the key, delta, float, or raw
    """

    name: str
    type: str
    unit: str = ""
    bytes: int = 0
    missing: int | float | None = None
    mode: str = ""

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise schema_error(
                f"column '{self.name}': no mode '{self.mode}'; choose one of "
                f"{', '.join(name for name in MODES if name)}",
                self.name,
            )
        if self.type not in TYPES:
            raise schema_error(
                f"column '{self.name}': no type '{self.type}'; "
                f"choose one of {', '.join(TYPES)}",
                self.name,
            )
        wide = not self.is_numeric or self.type[1:] == "64"
        if self.missing is not None and wide:
            raise schema_error(
                f"column '{self.name}': a missing value is of a number of at "
                f"most 32 bits, not of {self.type}",
                self.name,
            )

    @property
    def is_var(self) -> bool:
        """Whether its values have any length: var, or text without a width."""
        return self.type == "var" or (self.type == "text" and not self.bytes)

    @property
    def type_number(self) -> int:
        """Its enum esk_type."""
        has_width = self.type == "text" and self.bytes
        return lib.ESK_TYPE_BYTES if has_width else TYPES[self.type]

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer column, which the key of a series is."""
        return self.type[0] in "iu"

    @property
    def is_float(self) -> bool:
        """Whether it is f32 or f64."""
        return self.type in ("f32", "f64")

    @property
    def is_numeric(self) -> bool:
        """Whether it can be compared by value and indexed."""
        return self.is_integer or self.is_float

    @property
    def limits(self) -> tuple[int, int]:
        """Least and greatest value of an integer column."""
        bits = int(self.type[1:])
        if self.type[0] == "u":
            return 0, (1 << bits) - 1
        return -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def __str__(self) -> str:
        kind = f"{self.type}[{self.bytes}]" if self.bytes else self.type
        return f"{self.name} {kind}" + (f" {self.unit}" if self.unit else "")


@dataclass(frozen=True)
class Index:
    """One value index.

    A summary has the least and the greatest value of a page, and a bitmap. A
    sorted index has the values in their order: it finds few rows in the middle
    of noisy data. A column can have both.

    column  the name of a numeric column, not the key; sorted: of at most 32
            bits
    bitmap  buckets: 0 for none, 8, 16, 32 or 64
    edges   given bucket edges, rising; None: learned from the rows
    kind    "summary" or "sorted"; a series has at most one sorted index
    entries of a sorted index: values in memory, 256 to 65,280; 0: 4,608
    fan     of a sorted index: runs that are merged at a time, 2 to 8; 0: 5
    """

    column: str
    bitmap: int = BITMAP
    edges: tuple[float, ...] | None = None
    kind: str = "summary"
    entries: int = 0
    fan: int = 0

    def __post_init__(self) -> None:
        if self.kind not in INDEX_KINDS:
            raise schema_error(
                f"index on '{self.column}': no kind '{self.kind}'; choose one "
                f"of {', '.join(INDEX_KINDS)}",
                self.column,
            )


def encode_number(column: Column, value: Any) -> bytes:
    """Encodes a number as the column stores it.

    Raises SchemaError when it is not of the column's type.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        # numpy's and Arrow's scalars count as the number they hold.
        for convert in ("__index__", "__float__"):
            if hasattr(value, convert) and not isinstance(value, (bool, str)):
                value = getattr(value, convert)()
                break
        else:
            raise schema_error(
                f"column '{column.name}' ({column.type}): {value!r} is not a "
                "number",
                column.name,
            )
    if column.is_integer and isinstance(value, float):
        raise schema_error(
            f"column '{column.name}' ({column.type}): {value!r} is not a whole "
            "number",
            column.name,
        )
    try:
        return struct.pack("<" + _LETTERS[column.type], value)
    except (struct.error, OverflowError):
        raise schema_error(
            f"column '{column.name}' ({column.type}): {value!r} is out of "
            "range",
            column.name,
        ) from None


def decode_number(column: Column, stored: bytes) -> int | float:
    """The number that the column stores as `stored`."""
    return struct.unpack("<" + _LETTERS[column.type], stored)[0]


def encode_fixed(column: Column, value: Any) -> bytes:
    """Encodes a value of any fixed-width type as a row holds it.

    Raises SchemaError when it is not of the column's type.
    """
    if column.is_numeric:
        return encode_number(column, value)
    encode = encode_text if column.type == "text" else encode_bytes
    return encode(column, value)


def encode_text(column: Column, value: Any) -> bytes:
    """Encodes the value of a "text" column; with a width, zeros follow it.

    Bytes of the whole width are taken as they are: a firmware may have left
    others behind the text. Raises SchemaError when a value is not UTF-8, too
    long, or has a zero byte.
    """
    if column.bytes and not isinstance(value, str):
        piece = _bytes_of(column, value)
        if len(piece) == column.bytes:
            return piece
    try:
        piece = (
            value.encode()
            if isinstance(value, str)
            else _bytes_of(column, value)
        )
        piece.decode()
    except UnicodeError:
        raise schema_error(
            f"column '{column.name}' (text): {value!r} is not UTF-8",
            column.name,
        ) from None
    if column.bytes and (len(piece) > column.bytes or b"\0" in piece):
        raise schema_error(
            f"column '{column.name}' takes at most {column.bytes} bytes of "
            f"UTF-8, and no zero byte: {value!r} has {len(piece)} bytes",
            column.name,
        )
    return piece.ljust(column.bytes, b"\0")


def decode_text(value: bytes) -> str:
    """Returns a text value; a byte that is not UTF-8 as \\xNN."""
    return value.decode(errors="backslashreplace")


def decode_fixed_text(value: bytes) -> str:
    """Returns the text of a column with a width: up to its first zero byte."""
    return decode_text(value.partition(b"\0")[0])


def _bytes_of(column: Column, value: Any) -> bytes:
    """Returns the bytes of a bytes-like value. Raises SchemaError."""
    if not isinstance(value, (bytes, bytearray, memoryview)):
        advice = ", encode text first" if isinstance(value, str) else ""
        raise schema_error(
            f"column '{column.name}' ({column.type}): {value!r} is not "
            f"bytes{advice}",
            column.name,
        )
    return bytes(value)


def encode_bytes(column: Column, value: Any) -> bytes:
    """Checks the value of a "bytes" or "var" column.

    Raises SchemaError when it is not bytes, or not as wide as the column.
    """
    piece = _bytes_of(column, value)
    if column.bytes and len(piece) != column.bytes:
        raise schema_error(
            f"column '{column.name}' takes exactly {column.bytes} bytes, "
            f"not {len(piece)}",
            column.name,
        )
    return piece


def bytes_of(columns: Sequence[Column]) -> int:
    """Returns the bytes of these columns in a row."""
    return struct.calcsize("<" + "".join(map(_letter, columns)))


class RowCodec:
    """Rows of one table, between Python values and bytes."""

    def __init__(
        self,
        columns: Sequence[Column],
        offsets: Sequence[int],
        row_bytes: int,
    ) -> None:
        self.columns = tuple(columns)
        self.offsets = tuple(offsets)
        self.row_bytes = row_bytes
        self.names = tuple(column.name for column in columns)
        self.by_name = {column.name: column for column in columns}
        self.var_index = next(
            (i for i, column in enumerate(columns) if column.is_var),
            None,
        )
        self._struct = struct.Struct("<" + "".join(map(_letter, columns)))
        assert self._struct.size == row_bytes
        self._fixed = tuple(
            name for i, name in enumerate(self.names) if i != self.var_index
        )
        self._texts = tuple(
            at
            for at, name in enumerate(self._fixed)
            if self.by_name[name].type == "text"
        )

    def column(self, name: str) -> Column:
        """Returns the column called `name`. Raises SchemaError."""
        try:
            return self.by_name[name]
        except KeyError:
            raise schema_error(
                f"no column '{name}'; there are {', '.join(self.names)}", name
            ) from None

    def pack(self, row: Any) -> tuple[bytes, bytes]:
        """Packs a mapping by name, or a sequence in column order.

        Returns the row's bytes, and the variable column's value. Raises
        SchemaError naming the column that is missing, unknown, or of another
        type.
        """
        values = self._values(row)
        var = b""
        fixed = values
        if self.var_index is not None:
            column = self.columns[self.var_index]
            encode = encode_text if column.type == "text" else encode_bytes
            var = encode(column, values[self.var_index])
            fixed = [v for i, v in enumerate(values) if i != self.var_index]
        try:
            # The common case: exact Python types need no other check.
            if all(map(_is_plain, self._kinds(), fixed)):
                return self._struct.pack(*fixed), var
        except (struct.error, OverflowError):
            pass  # below says which column it was
        return self._pack_slowly(values), var

    def unpack(self, row: Any) -> dict[str, Any]:
        """Returns the fixed columns of one row's bytes."""
        values = self._decoded(self._struct.unpack(row))
        return dict(zip(self._fixed, values, strict=True))

    def unpack_many(self, rows: Any) -> list[tuple[Any, ...]]:
        """Returns the fixed columns' values of rows, one after another."""
        values = self._struct.iter_unpack(rows)
        return list(map(self._decoded, values) if self._texts else values)

    @property
    def fixed_names(self) -> tuple[str, ...]:
        """The columns that unpack_many gives, in its order."""
        return self._fixed

    def _decoded(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Returns the values with those of text columns as text."""
        if not self._texts:
            return values
        out = list(values)
        for at in self._texts:
            out[at] = decode_fixed_text(out[at])
        return tuple(out)

    def _kinds(self) -> list[str]:
        return [c.type for c in self.columns if not c.is_var]

    def _values(self, row: Any) -> list[Any]:
        """Returns one value a column, in column order."""
        if isinstance(row, Mapping):
            if len(row) == len(self.names):
                try:
                    return [row[name] for name in self.names]
                except KeyError:
                    pass
            for name in self.names:
                if name not in row:
                    raise schema_error(f"column '{name}' is missing", name)
            for name in row:
                self.column(name)
        if isinstance(row, Sequence) and not isinstance(row, (str, bytes)):
            if len(row) == len(self.names):
                return list(row)
            raise schema_error(
                f"a row has {len(self.names)} values "
                f"({', '.join(self.names)}), not {len(row)}"
            )
        raise schema_error(f"a row is a dict or a sequence, not {row!r}")

    def _pack_slowly(self, values: list[Any]) -> bytes:
        """Packs value by value, so that a fault names its column."""
        out = bytearray(self.row_bytes)
        for column, offset, value in zip(
            self.columns, self.offsets, values, strict=True
        ):
            if column.is_var:
                continue
            piece = encode_fixed(column, value)
            out[offset : offset + len(piece)] = piece
        return bytes(out)


def _letter(column: Column) -> str:
    """Returns the struct letters of one column; var references are skipped."""
    if column.bytes:
        return f"{column.bytes}s"
    if column.is_var:
        return f"{VAR_REF_BYTES}x"
    return _LETTERS[column.type]


def _is_plain(kind: str, value: Any) -> bool:
    """Whether struct packs `value` as it is, losing nothing unseen."""
    if kind in ("f32", "f64"):
        return type(value) in (float, int)
    return kind != "bytes" and type(value) is int


def float_floor(column: Column, value: float) -> float:
    """Returns the greatest value of the column's type that is <= `value`."""
    return _round(column, value, -1)


def float_ceiling(column: Column, value: float) -> float:
    """Returns the least value of the column's type that is >= `value`."""
    return _round(column, value, 1)


def float_next(column: Column, value: float, direction: int) -> float:
    """Returns the neighbour of a value of the column's type: +1, -1."""
    step = _next64 if column.type == "f64" else _next32
    return step(value, direction)


def _round(column: Column, value: float, direction: int) -> float:
    value = float(value) if not isinstance(value, int) else value
    if column.type == "f64":
        rounded = float(value)
        return rounded if rounded == value else _next64(rounded, direction)
    try:
        rounded = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        rounded = math.copysign(math.inf, value)
    if (direction > 0 and rounded < value) or (
        direction < 0 and rounded > value
    ):
        return _next32(rounded, direction)
    return rounded


def _next64(value: float, direction: int) -> float:
    return math.nextafter(value, direction * math.inf)


def _next32(value: float, direction: int) -> float:
    """Returns the neighbour of an f32 in `direction`."""
    if value == 0.0:
        return direction * struct.unpack("<f", b"\x01\x00\x00\x00")[0]
    bits = struct.unpack("<i", struct.pack("<f", value))[0]
    bits += 1 if (value > 0) == (direction > 0) else -1
    return struct.unpack("<f", struct.pack("<i", bits))[0]
