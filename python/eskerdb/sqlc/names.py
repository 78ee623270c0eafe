# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Names in C: valid, and each only once."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Of C, and of C++, which may include the header.
_WORDS = """auto break case char const continue default do double else enum
    extern float for goto if inline int long register restrict return short
    signed sizeof static struct switch typedef union unsigned void volatile
    while bool true false asm typeof alignas alignof constexpr nullptr
    static_assert thread_local and catch class delete explicit export friend
    mutable namespace new not operator or private protected public template
    this throw try typeid typename using virtual xor NULL"""
_KEYWORDS = frozenset(_WORDS.split())
# Of the functions that are written.
LOCALS = ("q", "row", "status", "at", "rows", "ranges", "none")


def clean(name: str) -> str:
    """Returns a name that C accepts, in small letters."""
    text = re.sub(r"\W+", "_", name.lower(), flags=re.ASCII).strip("_")
    if not text or text[0].isdigit():
        text = f"c{text}" if not text else f"c_{text}"
    return text


class Names:
    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)

    def new(self, name: str) -> str:
        """Returns the name, with a number behind it if it is taken."""
        base = text = clean(name)
        number = 1
        while text in self.taken or text in _KEYWORDS:
            number += 1
            text = f"{base}_{number}"
        self.taken.add(text)
        return text

    def all(self, names: Iterable[str]) -> list[str]:
        return [self.new(name) for name in names]
