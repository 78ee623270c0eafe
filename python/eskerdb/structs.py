# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""C structs of the core, to and from Python."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

from eskerdb._esker import ffi
from eskerdb.errors import unsigned

_T = TypeVar("_T")


def counts_of(kind: type[_T], struct: Any, **given: Any) -> _T:
    """Makes a dataclass of a C struct's fields of the same names."""
    names = (field.name for field in fields(kind))
    found = {n: getattr(struct, n) for n in names if n not in given}
    return kind(**found, **given)


def fill(target: Any, **values: int) -> None:
    """Sets a C struct's fields, naming the one whose value does not fit."""
    kind = ffi.typeof(target)
    members = dict((kind.item if kind.kind == "pointer" else kind).fields)
    for name, value in values.items():
        bits = 8 * ffi.sizeof(members[name].type)
        setattr(target, name, unsigned(name, value, bits))
