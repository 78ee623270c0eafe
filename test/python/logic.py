# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Reads and runs test files in the form of sqllogictest.

    statement ok            query IRT rowsort       statement error
    SQL                     SQL                     SQL
                            ----                    ----
                            rows                    part of the message

Values are one a line, or a row a line with tabs between, or "30 values
hashing to" and their MD5. skipif and onlyif name an engine: series, tree,
machine, c, duckdb, sqlite. A blank line ends a record, # begins a comment.
A comment `# :name = value` gives a parameter of the statement a value, a whole
number or a text; others' files have none.
"""

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path

_HASHED = re.compile(r"(\d+) values hashing to ([0-9a-f]{32})")
_PARAMETER = re.compile(r"# :(\w+) = (.*)")
_CONTROL = re.compile("[^ -~]")


class Refused(Exception):
    """What an engine says of a statement that it does not run."""


@dataclass
class Record:
    """One statement.

    line    of its SQL in the file
    types   of a query's columns: I, R, T; None: it is no query
    sort    nosort, rowsort or valuesort
    error   it is to be refused; `expected` is a part of the message
    values  of its parameters
    """

    line: int
    sql: str = ""
    types: str | None = None
    sort: str = "nosort"
    error: bool = False
    expected: list[str] = field(default_factory=list)
    skipped: set[str] = field(default_factory=set)
    only: set[str] = field(default_factory=set)
    values: dict[str, object] = field(default_factory=dict)

    def is_for(self, *engines: str) -> bool:
        """Whether engines run it."""
        return not self.skipped & {*engines} and (
            not self.only or bool(self.only & {*engines})
        )


def records(path: Path) -> list[Record]:
    """Returns the records of a file, up to a `halt`."""
    found = []
    lines = path.read_text(encoding="utf-8").splitlines()
    at = 0
    while at < len(lines):
        begin = at
        while at < len(lines) and lines[at].strip():
            at += 1
        block = [
            (number, text)
            for number, text in enumerate(lines[begin:at], begin + 1)
            if not text.startswith("#")
        ]
        at += 1
        if block and block[0][1].split()[0] == "halt":
            break
        record = _record(block)
        if record is not None:
            record.values = _values(lines[begin : at - 1])
            found.append(record)
    return found


def _values(lines: list[str]) -> dict[str, object]:
    found = map(_PARAMETER.fullmatch, lines)
    pairs = [match.groups() for match in found if match]
    return {
        name: int(text) if text.lstrip("-").isdigit() else text
        for name, text in pairs
    }


def _record(block: list[tuple[int, str]]) -> Record | None:
    skipped, only = set(), set()
    while block and block[0][1].startswith(("skipif ", "onlyif ")):
        word, engine = block[0][1].split()[:2]
        (skipped if word == "skipif" else only).add(engine)
        block = block[1:]
    if not block:
        return None
    words = block[0][1].split()
    if words[0] not in ("statement", "query"):
        return None  # hash-threshold
    texts = [text for _, text in block[1:]]
    cut = texts.index("----") if "----" in texts else len(texts)
    record = Record(
        block[0][0] + 1,
        "\n".join(texts[:cut]),
        expected=texts[cut + 1 :],
        skipped=skipped,
        only=only,
    )
    if words[1] == "error":
        record.error = True
    elif words[0] == "query":
        record.types = words[1]
        record.sort = words[2] if len(words) > 2 else "nosort"
    return record


def shown(types: str, rows: list[tuple], sort: str) -> list[str]:
    """Returns the values of rows as a file has them."""
    cells = [
        [_shown(kind, value) for kind, value in zip(types, row, strict=True)]
        for row in rows
    ]
    if sort == "rowsort":
        cells.sort()
    values = [cell for row in cells for cell in row]
    return sorted(values) if sort == "valuesort" else values


def _shown(kind: str, value) -> str:
    if value is None:
        return "NULL"
    if kind == "I":
        return str(int(value))
    if kind == "R":
        return f"{float(value):.3f}".replace("-0.000", "0.000")
    text = value.decode() if isinstance(value, bytes) else str(value)
    return _CONTROL.sub("@", text) or "(empty)"


def differs(record: Record, rows: list[tuple]) -> str:
    """Returns how rows differ from those that a query is to give, or ""."""
    if any(len(row) != len(record.types) for row in rows):
        return f"rows of {len(rows[0])} values"
    values = shown(record.types, rows, record.sort)
    expected = record.expected
    hashed = _HASHED.fullmatch(expected[0]) if len(expected) == 1 else None
    if hashed:
        text = "".join(value + "\n" for value in values)
        found = hashlib.md5(text.encode()).hexdigest()
        same = (str(len(values)), found) == hashed.groups()
        return "" if same else f"{len(values)} values hashing to {found}"
    if any("\t" in line for line in expected):
        expected = [cell for line in expected for cell in line.split("\t")]
    if values == expected:
        return ""
    return f"{values[:12]}, not {expected[:12]}"


def wrong(record: Record, execute) -> str:
    """Runs a record; returns what is wrong, or "".

    execute   returns the rows of SQL, and of the values of its parameters if
              it has some; raises Refused
    """
    given = (record.values,) if record.values else ()
    try:
        rows = execute(record.sql, *given)
    except Refused as refused:
        if not record.error:
            return f"refused: {refused}"
        part = "\n".join(record.expected)
        return "" if part in str(refused) else f"{refused}, not {part}"
    if record.error:
        return "not refused"
    return differs(record, rows) if record.types else ""
