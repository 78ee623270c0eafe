# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The text of SQL, and a refusal that says where and why.

log.sql:3:8: no column 'tmep' in log; did you mean 'temp'?
SELECT tmep FROM log
       ^~~~
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

Span = tuple[int, int]  # [start, end) in the text
_SHOWN = 160  # characters of a line
TOO_DEEP = (
    "the statement nests too deep, or has too many operators in a row: "
    "use IN (..), or parentheses around the halves"
)


@dataclass(frozen=True)
class Source:
    """SQL, and the name of the file that it is from."""

    text: str
    file: str = "sql"

    def refuse(self, span: Span, message: str) -> Refusal:
        """Returns what to raise for a part of the text."""
        return Refusal(self, span, message)

    @contextmanager
    def nesting(self, span: Span) -> Iterator[None]:
        """Refuses a part of the text that nests deeper than Python's stack."""
        try:
            yield
        except RecursionError:
            raise self.refuse(span, TOO_DEEP) from None

    def slice(self, span: Span) -> str:
        return self.text[span[0] : span[1]]


class Refusal(Exception):
    """SQL that is not run.

    message       what is wrong, and what was expected
    line, column  where, from 1; a column is a character
    """

    def __init__(self, source: Source, span: Span, message: str) -> None:
        start = min(span[0], len(source.text))
        begin = source.text.rfind("\n", 0, start) + 1
        end = source.text.find("\n", start)
        line = source.text[begin : end if end >= 0 else None]
        self.column = start - begin + 1
        if len(line) > _SHOWN:
            begin = max(begin, start - _SHOWN // 2)
            line = source.text[begin : begin + _SHOWN].partition("\n")[0]
        self.message = message
        self.span = span
        self.line = source.text.count("\n", 0, start) + 1
        width = max(1, min(span[1], begin + len(line)) - start)
        pad = "".join("\t" if c == "\t" else " " for c in line[: start - begin])
        super().__init__(
            f"{source.file}:{self.line}:{self.column}: {message}\n"
            f"{line}\n{pad}^{'~' * (width - 1)}"
        )


def nearest(name: str, names: Iterable[str]) -> str:
    """Returns "; did you mean 'x'?" for a name like one of `names`, or ""."""
    folded = {other.casefold(): other for other in names}
    word = name.casefold()
    close = difflib.get_close_matches(word, folded, 3, 0.6)
    if not close:
        return ""
    # Of those that are equally near, one with the same letters.
    best = max(close, key=lambda other: sorted(other) == sorted(word))
    return f"; did you mean '{folded[best]}'?"


def listed(names: Iterable[str]) -> str:
    """Returns "a, b or c"."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last
