# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""A bound of the stack that the functions of a query take themselves.

A frame has the registers of the caller, and the function's locals. Compilers
keep most of them in registers or let several share a place, so the sum of all
is a bound: of next or open, and of one function that it calls.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from eskerdb.sqlc.ctype import BYTES

_LOCAL = re.compile(
    r"(?:const )?((?:struct )?[a-z]\w*) (\*)?\w+(?:\[(\d+)\])?(?: = .*)?;"
)
_WORDS = ("return", "goto")  # no types
_REGISTER = 4  # bytes that a smaller local may take


def bound(
    functions: Sequence[Sequence[str]], called: Sequence[Sequence[str]]
) -> str:
    """Returns a constant of C, from the lines of functions.

    called   those that one of the first calls, one at a time
    """
    parts = _most(functions) + _most(called)
    items = ["2 * ESK_QUERY_FRAME" if called else "ESK_QUERY_FRAME"]
    for name, count in sorted(parts.items()):
        if name:
            items.append(f"{count} * sizeof({name})".removeprefix("1 * "))
    return " + ".join([*items, str(parts[""])])


def _most(functions: Sequence[Sequence[str]]) -> Counter[str]:
    """Returns what is enough for the locals of each function."""
    result: Counter[str] = Counter()
    for lines in functions:
        result |= _locals(lines)
    return result


def _locals(lines: Sequence[str]) -> Counter[str]:
    """Returns how many locals there are of each type that has no size of its
    own here, and at "" the bytes of the others."""
    result: Counter[str] = Counter()
    for line in lines:
        found = _LOCAL.fullmatch(line.strip())
        if found is None or found[1] in _WORDS:
            continue
        if found[2]:
            result["void *"] += 1
        elif found[1].startswith("struct "):
            result[found[1]] += int(found[3] or 1)
        else:
            result[""] += max(BYTES.get(found[1], 8), _REGISTER)
    return result
