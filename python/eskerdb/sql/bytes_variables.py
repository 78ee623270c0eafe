# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Variables of a program of bytes: registers that a query names."""

from __future__ import annotations

from dataclasses import replace

from eskerdb.sql import expr as e
from eskerdb.sql.bytes_expr import Expressions, slots_of
from eskerdb.sql.types import INT_MAX, INT_MIN, Type


class Variables(Expressions):
    """Compiles variables."""

    def __init__(self) -> None:
        super().__init__()
        self._variable_count = 0

    def variable(self, type: Type, name: str) -> e.Variable:
        index = self._variable_count
        self._variable_count += 1
        self.variables[index] = self.registers.take(slots_of(type))
        return e.Variable(type, index=index, name=name)

    def kept(self, type: Type) -> Type:
        """Slots have 64 bits, or 32 on a device that runs small values."""
        if type.fits_32_bits:
            return replace(type, lo=-(1 << 31), hi=(1 << 31) - 1)
        return replace(type, lo=INT_MIN, hi=INT_MAX)

    def assign(self, variable: e.Variable, value: e.Expr) -> None:
        first = self.variables[variable.index]
        with self.scope():
            self.slots(value, first, variable.type.bytes)
