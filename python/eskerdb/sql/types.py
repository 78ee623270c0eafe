# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The types of SQL values: what a value can be, and whether it can be NULL.

An integer's type is the interval that holds it, so that a back end knows how
wide it is, and where a sum can overflow. A boolean is 0 or 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

INT_MIN, INT_MAX = -(1 << 63), (1 << 63) - 1

Kind = Literal["int", "f64", "text", "bool", "blob", "null"]


@dataclass(frozen=True)
class Type:
    """What a value can be.

    kind      "int", "f64" (f32 columns are widened), "text", "bool"; "blob":
              bytes, or a text of any length, which is only tested for NULL
              and counted; "null" only of a bare NULL, which takes the type of
              its place
    nullable  whether it can be NULL
    lo, hi    of an int: the least and greatest value
    bytes     of a text: its most bytes; 0: any length
    single    of an f64: it is the value of an f32 column
    """

    kind: Kind
    nullable: bool = True
    lo: int = INT_MIN
    hi: int = INT_MAX
    bytes: int = 0
    single: bool = False

    @property
    def is_number(self) -> bool:
        return self.kind in ("int", "f64", "bool", "null")

    @property
    def is_whole(self) -> bool:
        """Whether it is kept as an integer: int, and bool as 0 or 1."""
        return self.kind in ("int", "bool", "null")

    @property
    def fits_32_bits(self) -> bool:
        """Whether a slot of 32 bits, signed, holds every value."""
        return self.kind != "f64" and -(1 << 31) <= self.lo <= self.hi < 1 << 31

    def maybe(self, nullable: bool = True) -> Type:
        """Returns the type with another NULL-ability."""
        return replace(self, nullable=nullable)

    def __str__(self) -> str:
        null = " or NULL" if self.nullable else ""
        if self.kind == "int" and (self.lo, self.hi) != (INT_MIN, INT_MAX):
            return f"int [{self.lo}, {self.hi}]{null}"
        width = f"({self.bytes})" if self.bytes else ""
        return f"{self.kind}{width}{null}"


def integer(lo: int, hi: int, nullable: bool = False) -> Type:
    """Returns the type of integers from `lo` to `hi`."""
    return Type("int", nullable, lo, hi)


FLOAT = Type("f64", False)
BOOL = Type("bool", False, 0, 1)
NULL = Type("null", True, 0, 0)


def text(width: int = 0) -> Type:
    """Returns the type of texts of at most `width` bytes."""
    return Type("text", False, bytes=width)
