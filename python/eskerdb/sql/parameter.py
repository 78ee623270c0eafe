# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The values of parameters, checked by the types that their places have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eskerdb.sql.plan import ParameterInfo

TEXT_MOST = 255  # bytes of a text


def parameter_values(
    infos: Sequence[ParameterInfo], given: Mapping[str, Any]
) -> list[Any]:
    """Returns values by index. Raises ValueError, TypeError."""
    left = dict(given)
    values = [
        parameter_value(info, left.pop(info.name, None)) for info in infos
    ]
    if left:
        raise ValueError(f"no parameter :{next(iter(left))}")
    return values


def read_parameter(info: ParameterInfo, text: str) -> Any:
    """Returns the value that a text means. Raises TypeError."""
    kind = info.type.kind
    if kind == "text":
        return text
    try:
        if "_" in text:
            raise ValueError
        if kind == "bool" and text.lower() in ("true", "false"):
            return int(text.lower() == "true")
        return float(text) if kind == "f64" else int(text)
    except ValueError:
        what = "a number" if kind == "f64" else "a whole number"
        raise TypeError(f":{info.name} is {what}, not {text!r}") from None


def text_fits(info: ParameterInfo, value: Any) -> bool:
    """Whether a value is no text, or one that a program's parameter takes:
    not longer than its place, and without a zero byte."""
    if not isinstance(value, str):
        return True
    size = len(value.encode())
    return size <= (info.type.bytes or TEXT_MOST) and "\0" not in value


def parameter_value(info: ParameterInfo, value: Any) -> Any:
    """Returns a parameter's value as the program takes it."""
    if value is None:
        raise ValueError(f"parameter :{info.name} has no value")
    if info.type.kind == "text":
        if not isinstance(value, str):
            raise TypeError(f":{info.name} is a text, not {value!r}")
        return value
    if info.type.kind == "f64":
        if isinstance(value, (bool, str)):
            raise TypeError(f":{info.name} is a number, not {value!r}")
        return float(value)
    if info.type.kind == "bool":
        value = int(value) if isinstance(value, bool) else value
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f":{info.name} is a whole number, not {value!r}")
    if not info.type.lo <= value <= info.type.hi:
        raise ValueError(
            f":{info.name} is {info.type.lo} to {info.type.hi}, not {value}"
        )
    return value
