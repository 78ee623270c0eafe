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
    this throw try typeid typename using virtual xor NULL and_eq bitand
    bitor char8_t char16_t char32_t co_await co_return co_yield compl concept
    consteval constinit const_cast decltype dynamic_cast noexcept not_eq or_eq
    reinterpret_cast requires static_cast typeof_unqual wchar_t xor_eq"""
# Macros, types and functions of what a program includes, and of compilers.
_SYSTEM = """complex errno i386 imaginary linux noreturn stderr stdin stdout
    unix int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t
    intptr_t uintptr_t intmax_t uintmax_t ptrdiff_t size_t ssize_t max_align_t
    dbm_open mq_open sem_open shm_open esk"""
_KEYWORDS = frozenset([*_WORDS.split(), *_SYSTEM.split()])
_OURS = "esk_"
_LIMIT = re.compile(
    r"(U?INT(_LEAST|_FAST)?(8|16|32|64)|U?INTPTR|U?INTMAX|SIZE|SSIZE|PTRDIFF|"
    r"WCHAR|WINT|SIG_ATOMIC|CHAR|SCHAR|UCHAR|SHRT|USHRT|LONG|ULONG)"
    r"_(MAX|MIN|WIDTH|BIT)"
)
# Of the functions that are written.
LOCALS = (
    *("q", "row", "status", "at", "rows", "ranges", "none"),
    *("memcmp", "memcpy", "memset", "strlen"),
)


def is_taken(name: str) -> bool:
    """Whether a name is a word of C or C++, of a header, or EskerDB's."""
    return name in _KEYWORDS or name.startswith(_OURS)


def is_limit(name: str) -> bool:
    """Whether a constant has the name of a macro of C's headers."""
    return _LIMIT.fullmatch(name) is not None


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
        if text.startswith(_OURS):
            base = text = f"c_{text}"
        while text in self.taken or is_taken(text):
            number += 1
            text = f"{base}_{number}"
        self.taken.add(text)
        return text

    def all(self, names: Iterable[str]) -> list[str]:
        return [self.new(name) for name in names]
