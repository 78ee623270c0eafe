# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Which keys of a kv table a condition can be true of."""

from __future__ import annotations

from dataclasses import dataclass

from eskerdb.sql import expr as e
from eskerdb.sql import rules
from eskerdb.sql.access import conjuncts

KEY = 0  # the column


@dataclass(frozen=True)
class KeyBounds:
    """Which keys a condition can be true of.

    keys    these; None: any
    prefix  what they begin with
    """

    keys: tuple[str, ...] | None = None
    prefix: str = ""

    def __str__(self) -> str:
        if self.keys is not None:
            count = len(self.keys)
            return f"{count} key{'s' * (count != 1)} looked up"
        if self.prefix:
            return f"keys that begin with '{self.prefix}'"
        return "all keys"


def key_bounds(where: e.Expr | None) -> KeyBounds:
    """Returns bounds of the keys for which a condition is true."""
    keys: tuple[str, ...] | None = None
    prefix = ""
    for part in conjuncts(where):
        options = [part]
        if isinstance(part, e.Logic) and part.op == "or":
            options = list(part.items)
        found = [_equal_key(option) for option in options]
        if keys is None and all(key is not None for key in found):
            keys = tuple(dict.fromkeys(str(key) for key in found))
        if isinstance(part, e.Like) and is_key(part.operand):
            plain = rules.plain_prefix(part.pattern, part.escape)
            prefix = plain[0] if plain and len(plain[0]) else prefix
    return KeyBounds(keys, prefix)


def _equal_key(part: e.Expr) -> str | None:
    """Returns the key that a condition is equal with, or None."""
    if (
        isinstance(part, e.Compare)
        and part.op == "="
        and is_key(part.left)
        and isinstance(part.right, e.Constant)
    ):
        return part.right.value
    return None


def is_key(value: e.Expr) -> bool:
    return isinstance(value, e.Field) and value.index == KEY
