# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Which C type holds a value, and how its constants are written.

`int` may have 16 bits, so that no arithmetic is left to it: it is done in
int32_t, uint32_t or int64_t, the first that holds both operands and the
result.
"""

from __future__ import annotations

from eskerdb.sql.types import INT_MAX, INT_MIN, Type

_RANGES = {
    "int8_t": (-(1 << 7), (1 << 7) - 1),
    "uint8_t": (0, (1 << 8) - 1),
    "int16_t": (-(1 << 15), (1 << 15) - 1),
    "uint16_t": (0, (1 << 16) - 1),
    "int32_t": (-(1 << 31), (1 << 31) - 1),
    "uint32_t": (0, (1 << 32) - 1),
    "int64_t": (INT_MIN, INT_MAX),
}
COLUMNS = {
    "i8": "int8_t",
    "i16": "int16_t",
    "i32": "int32_t",
    "i64": "int64_t",
    "u8": "uint8_t",
    "u16": "uint16_t",
    "u32": "uint32_t",
    "u64": "uint64_t",
    "f32": "float",
    "f64": "double",
}
BYTES = {
    "bool": 1,
    "int8_t": 1,
    "uint8_t": 1,
    "int16_t": 2,
    "uint16_t": 2,
    "int32_t": 4,
    "uint32_t": 4,
    "float": 4,
    "int64_t": 8,
    "uint64_t": 8,
    "double": 8,
    "const char *": 8,
}


def limits(name: str) -> tuple[int, int]:
    """Returns the least and greatest value of a C integer type."""
    return _RANGES[name]


def holds(name: str, lo: int, hi: int) -> bool:
    least, most = _RANGES[name]
    return least <= lo and hi <= most


def computing(*spans: tuple[int, int]) -> str:
    """Returns the type in which values of all these intervals are computed
    with."""
    lo = min(span[0] for span in spans)
    hi = max(span[1] for span in spans)
    for name in ("int32_t", "uint32_t"):
        if holds(name, lo, hi):
            return name
    return "int64_t"


def stored(type: Type) -> str:
    """Returns the type in which a value is kept."""
    if type.kind == "f64":
        return "double"
    if type.kind == "bool":
        return "bool"
    for name in ("uint8_t", "int8_t", "uint16_t", "int16_t"):
        if holds(name, type.lo, type.hi):
            return name
    return computing((type.lo, type.hi))


def result(type: Type) -> str:
    """Returns the type of a column of a row: no less than 32 bits, so that it
    does not change with a constant in the SQL."""
    if type.kind == "int":
        return computing((type.lo, type.hi))
    return stored(type)


def literal(value: int, name: str = "int32_t") -> str:
    """Writes an integer constant of a computing type."""
    if value == INT_MIN:
        return "INT64_MIN"
    if value == -(1 << 31):
        return "INT32_MIN"
    if name == "uint32_t":
        return f"{value}u"
    if name == "int64_t" and abs(value) > (1 << 31) - 1:
        return f"INT64_C({value})" if value > 0 else f"-INT64_C({-value})"
    return str(value)
