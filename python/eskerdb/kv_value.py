# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Keys and values of kv tables: as Python has them, as the core stores them,
and as text, which the command and SQL use.

| type    | Python        | stored                   | text          |
|---------|---------------|--------------------------|---------------|
| bytes   | bytes         | as it is                 | \\x and digits |
| text    | str           | UTF-8                    | as it is      |
| int     | int           | unsigned; below 0 signed | 12, -5        |
| signed  | int           | signed                   | 12, -5        |
| float   | float         | 8 bytes                  | 0.1           |
| float32 | float         | 4 bytes                  | 0.1           |
| bool    | bool          | 1 byte                   | true, false   |

A key is text; one that is not UTF-8 is bytes.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass
from typing import Any, Literal

from eskerdb._esker import lib
from eskerdb.errors import error, schema_error
from eskerdb.schema import decode_text

ValueType = Literal[
    "bytes", "text", "int", "signed", "float", "float32", "bool"
]
COLUMNS = ("key", "value", "type")  # of a table as text
TYPES = ("bytes", "text", "int", "signed", "float", "float32", "bool")
_INT_BITS = 64
_DIGITS_MAX = 40  # of a whole number; more are out of range
_MARKED_HEX = re.compile(r"\\x((?:[0-9a-fA-F]{2})*)")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_BOOLS = {"true": True, "1": True, "false": False, "0": False}
_FLOATS = {4: struct.Struct("<f"), 8: struct.Struct("<d")}


@dataclass(frozen=True)
class Stored:
    """A value as the table stores it; type: enum esk_kv_type."""

    type: int
    raw: bytes

    @property
    def value(self) -> Any:
        """As Python has it. Raises Corrupt, Unsupported."""
        if self.type == lib.ESK_KV_BYTES:
            return self.raw
        if self.type == lib.ESK_KV_TEXT:
            return decode_text(self.raw)
        if self.type == lib.ESK_KV_UNSIGNED:
            return int.from_bytes(self.raw, "little")
        if self.type == lib.ESK_KV_SIGNED:
            folded = int.from_bytes(self.raw, "little")
            return -(folded >> 1) - 1 if folded & 1 else folded >> 1
        if self.type == lib.ESK_KV_FLOAT and len(self.raw) in _FLOATS:
            return _FLOATS[len(self.raw)].unpack(self.raw)[0]
        if self.type == lib.ESK_KV_BOOL and len(self.raw) == 1:
            return self.raw != b"\0"
        raise error(
            lib.ESK_E_UNSUPPORTED,
            f"a value of type {self.type} and {len(self.raw)} bytes",
            "read it with a newer EskerDB",
        )

    @property
    def type_name(self) -> str:
        """One of TYPES: the type with which put() stores the same."""
        if self.type == lib.ESK_KV_FLOAT:
            return "float32" if len(self.raw) == 4 else "float"
        if self.type == lib.ESK_KV_SIGNED:
            return "int" if self.value < 0 else "signed"
        names = {
            lib.ESK_KV_BYTES: "bytes",
            lib.ESK_KV_TEXT: "text",
            lib.ESK_KV_UNSIGNED: "int",
            lib.ESK_KV_BOOL: "bool",
        }
        return names.get(self.type, f"type {self.type}")

    def written(self) -> tuple[str, str]:
        """Its text and type, of which read_text() makes the same bytes.

        A text that is not UTF-8 is written as bytes. Raises as `value`.
        """
        value, name = self.value, self.type_name
        if name == "text" and value.encode() != self.raw:
            value, name = self.raw, "bytes"
        if isinstance(value, bytes):
            return "\\x" + value.hex(), name
        if isinstance(value, bool):
            return str(value).lower(), name
        if name == "float32":
            return repr(shortest(value)), name
        return str(value), name


def shortest(value: float) -> float:
    """Returns the shortest number that rounds to the 4-byte float `value`."""
    pack = _FLOATS[4].pack
    if not math.isfinite(value):
        return value
    for digits in range(6, 10):
        number = float(f"{value:.{digits}g}")
        try:
            if pack(number) == pack(value):
                return number
        except OverflowError:
            continue
    return value


# Keys -----------------------------------------------------------------------


def encode_key(key: Any) -> bytes:
    """Returns a key's bytes. Raises SchemaError for what is no key."""
    if isinstance(key, str):
        raw = _utf8(key, "key")
    elif isinstance(key, (bytes, bytearray, memoryview)):
        raw = bytes(key)
    else:
        raise schema_error(
            f"key {key!r}: a key is text or bytes; convert it with str()"
        )
    most = lib.ESK_KV_KEY_BYTES_MAX
    if not 1 <= len(raw) <= most:
        shown = repr(key if len(key) <= 40 else key[:40]) + "..." * (
            len(key) > 40
        )
        raise schema_error(
            f"key {shown} has {len(raw)} bytes; use a key of 1 to {most} bytes"
        )
    return raw


def decode_key(raw: bytes) -> str | bytes:
    """Returns a key as text, or as bytes where it is not UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def key_text(raw: bytes) -> str:
    """Returns a key's text, of which read_key() makes the same bytes. A key
    that ends in a zero byte is digits, too: the machine's texts do not."""
    key = decode_key(raw)
    if (
        isinstance(key, bytes)
        or raw.endswith(b"\0")
        or _MARKED_HEX.fullmatch(key)
    ):
        return "\\x" + raw.hex()
    return key


def read_key(text: str) -> str | bytes:
    """Reads a key: text, or \\x and hexadecimal digits."""
    found = _MARKED_HEX.fullmatch(text)
    return bytes.fromhex(found[1]) if found else text


# Values ---------------------------------------------------------------------


def encode(value: Any, type: str | None = None) -> Stored:
    """Returns a value as the table stores it.

    type   one of TYPES; None: that of the Python type

    Raises SchemaError for a value that has no such type, or is out of range.
    """
    value = _plain(value)
    wanted = _type_of(value) if type is None else type
    if wanted not in TYPES:
        raise schema_error(
            f"no type '{wanted}'; choose one of {', '.join(TYPES)}"
        )
    if wanted == "bytes" and isinstance(value, bytes):
        return Stored(lib.ESK_KV_BYTES, value)
    if wanted == "text" and isinstance(value, str):
        return Stored(lib.ESK_KV_TEXT, _utf8(value, "value"))
    if wanted == "bool" and isinstance(value, bool):
        return Stored(lib.ESK_KV_BOOL, b"\1" if value else b"\0")
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if wanted in ("int", "signed") and is_number and isinstance(value, int):
        return _integer(value, wanted)
    if wanted.startswith("float") and is_number:
        return _float(value, wanted)
    raise schema_error(f"value {value!r} is not of type {wanted}")


def read_text(text: str, type: str) -> Any:
    """Reads a value as its type writes it. Raises SchemaError."""
    if type == "text":
        return text
    text = text.strip()
    value: Any = None
    what = type
    try:
        if type == "bytes":
            what = "hexadecimal digits"
            value = bytes.fromhex(text.removeprefix("\\x"))
        elif type == "bool":
            what = "true or false"
            value = _BOOLS.get(text.lower())
        elif type.startswith("float"):
            what = "a number"
            value = None if "_" in text else float(text)
        elif _INTEGER.fullmatch(text):
            sign = -1 if text[0] == "-" else 1
            digits = text.lstrip("+-").lstrip("0") or "0"
            is_short = len(digits) <= _DIGITS_MAX
            value = sign * (int(digits) if is_short else 10**_DIGITS_MAX)
        else:
            what = "a whole number"
    except ValueError:
        value = None
    if value is None:
        raise schema_error(f"{text!r} is not {what} ({type})")
    if (
        isinstance(value, float)
        and math.isinf(value)
        and "inf" not in text.lower()
    ):
        raise schema_error(f"{text!r} is out of range for {type}")
    return value


# Inside ---------------------------------------------------------------------


def _plain(value: Any) -> Any:
    """Returns numpy's and Arrow's scalars as the number that they hold."""
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (bytes, str, int, float)):
        return value
    for convert in ("__index__", "__float__"):
        if hasattr(value, convert):
            return getattr(value, convert)()
    return value


def _type_of(value: Any) -> str:
    for kind, name in (
        (bytes, "bytes"),
        (str, "text"),
        (bool, "bool"),
        (int, "int"),
        (float, "float"),
    ):
        if isinstance(value, kind):
            return name
    raise schema_error(
        f"value {value!r} has no type of a kv table; use bytes, str, int, "
        "float or bool"
    )


def _utf8(text: str, what: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise schema_error(
            f"{what} {text!r} cannot be written as UTF-8; use bytes, in "
            "text \\x and hexadecimal digits"
        ) from None


def _integer(value: int, name: str) -> Stored:
    """Stores an integer in as few bytes as it needs."""
    number, folded = lib.ESK_KV_UNSIGNED, value
    if name == "signed" or value < 0:
        number = lib.ESK_KV_SIGNED
        folded = -2 * value - 1 if value < 0 else 2 * value
    if folded >> _INT_BITS:
        least, most = -(1 << (_INT_BITS - 1)), (1 << _INT_BITS) - 1
        if name == "signed":
            most >>= 1
        raise schema_error(
            f"value {value} does not fit {_INT_BITS} bits; use {least} to "
            f"{most}, or store it as text"
        )
    size = (folded.bit_length() + 7) // 8
    return Stored(number, folded.to_bytes(size, "little"))


def _float(value: float, name: str) -> Stored:
    size = 4 if name == "float32" else 8
    try:
        return Stored(lib.ESK_KV_FLOAT, _FLOATS[size].pack(value))
    except OverflowError:
        raise schema_error(
            f"value {value!r} is out of range for {name}"
        ) from None
