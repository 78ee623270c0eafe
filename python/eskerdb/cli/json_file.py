# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""A file of JSON objects, one a line, each with a key of a kv table: what
`esker list --json` prints.

    {"key": "boots", "value": 3, "type": "int"}

Without a type the value has that of its JSON type.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eskerdb.cli.csv_file import Fault, NamedFile
from eskerdb.kv_value import COLUMNS

SUFFIXES = (".json", ".jsonl", ".ndjson")


class JsonFile(NamedFile):
    """The file's keys as records of a CSV file with COLUMNS as its header.

    Raises Fault when the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.header = list(COLUMNS)
        try:
            self._bytes = path.read_bytes()
        except OSError as cause:
            raise Fault(
                f"{path}: {cause.strerror}; name a JSON file that can be read"
            ) from None
        self.size = len(self._bytes)

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Yields each line's number, and key, value and type as texts. Raises
        Fault."""
        for line, text in enumerate(self._bytes.splitlines(), 1):
            if text.strip():
                yield line, self._record(line, text)

    def _record(self, line: int, text: bytes) -> list[str]:
        try:
            found = json.loads(text.decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise self.fault(line, "not UTF-8; save the file so") from None
        except (ValueError, RecursionError) as cause:
            raise self.fault(
                line, f"not JSON: {cause}; write one object a line"
            ) from None
        if not isinstance(found, dict):
            raise self.fault(
                line, "no object; write one with key, value and type a line"
            )
        for name in found:
            if name not in COLUMNS:
                raise self.fault(
                    line,
                    "a kv table has no such column, only "
                    f"{', '.join(COLUMNS)}; rename or remove it",
                    name,
                )
        key, kind = found.get("key"), found.get("type")
        if not isinstance(key, str):
            raise self.fault(line, "missing, or not a text; add it", "key")
        if "value" not in found:
            raise self.fault(line, "missing; add it", "value")
        value, own = self._value(line, found["value"])
        if not isinstance(kind, (str, type(None))):
            raise self.fault(line, "not a text; correct it", "type")
        return [key, value, kind or own]

    def _value(self, line: int, value: Any) -> tuple[str, str]:
        """Its text, and the type of one that names none."""
        if isinstance(value, bool):
            return str(value).lower(), "bool"
        if isinstance(value, (int, float)):
            return repr(value), "float" if isinstance(value, float) else "int"
        if isinstance(value, str):
            return value, "text"
        raise self.fault(
            line,
            f"{json.dumps(value)[:40]} is no value of a key; write a text, a "
            "number, true or false (CSV has NaN and infinities)",
            "value",
        )
