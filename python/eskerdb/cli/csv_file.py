# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""A CSV file with a header, read so that every fault names its line."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from eskerdb._esker import lib
from eskerdb.errors import SchemaError
from eskerdb.schema import Column, RowCodec, encode_number

_TEXT_MAX = 60
_DIGITS_MAX = 40  # of a whole number; more are out of range of any type


class Fault(Exception):
    """What is wrong with a file, with place, text and what to do."""


class CsvFile:
    """A CSV file: UTF-8, comma separated, quoted as RFC 4180 says.

    header     the column names of the first line
    position   bytes read so far
    size       bytes of the file

    A pipe is kept in memory: a file is read more than once.
    Raises Fault when it cannot be read or its header cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        self.position = 0
        self._piped: bytes | None = None
        try:
            if path.exists() and not path.is_file() and not path.is_dir():
                self._piped = path.read_bytes()
                self.size = len(self._piped)
            else:
                self.size = path.stat().st_size
            header = next(self._records(), None)
        except OSError as cause:
            raise Fault(
                f"{path}: {cause.strerror}; name a CSV file that can be read"
            ) from None
        if header is None:
            raise self.fault(1, "no header; its first line names the columns")
        self.header = [name.strip() for name in header[1]]
        if len(self.header) > lib.ESK_COLUMN_COUNT_MAX:
            raise self.fault(
                1,
                f"{len(self.header):,} columns, a table has at most "
                f"{lib.ESK_COLUMN_COUNT_MAX}; split the file",
            )
        for position, name in enumerate(self.header):
            if not name:
                raise self.fault(
                    1, f"column {position + 1} has no name; name it"
                )
            if "\0" in name:
                raise self.fault(
                    1, f"{_shown(name)} has a zero byte; rename it"
                )
            if name in self.header[:position]:
                raise self.fault(
                    1,
                    "is there twice; name every column once",
                    name,
                )

    def fault(self, line: int, what: str, column: str | None = None) -> Fault:
        """Makes a Fault at `line`, counted from 1."""
        where = f"column '{column}': " if column else ""
        return Fault(f"{self.path}:{line}: {where}{what}")

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yields line numbers and fields; blank lines are left out."""
        records = self._records()
        next(records)
        for line, fields in records:
            if len(fields) != len(self.header):
                raise self.fault(
                    line,
                    f"{len(fields)} fields, the header has "
                    f"{len(self.header)}; write one field a column",
                )
            yield line, fields

    def match(self, codec: RowCodec) -> list[tuple[Column, int]]:
        """Pairs the table's columns with the header's places.

        Raises Fault naming a column that is missing or unknown.
        """
        for name in self.header:
            if name not in codec.by_name:
                raise self.fault(
                    1,
                    f"the table has no such column, it has "
                    f"{', '.join(codec.names)}; rename or remove it",
                    name,
                )
        for name in codec.names:
            if name not in self.header:
                raise self.fault(
                    1,
                    "missing; every column of the table is needed, add it",
                    name,
                )
        return [(c, self.header.index(c.name)) for c in codec.columns]

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Yields records with the number of their last line."""
        reader = csv.reader(self._lines(), strict=True)
        self.position = 0
        while True:
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error as cause:
                raise self.fault(reader.line_num, _csv_text(cause)) from None
            if fields:
                yield reader.line_num, fields

    def _open(self) -> IO[bytes]:
        """Opens the file from its first byte."""
        if self._piped is not None:
            return io.BytesIO(self._piped)
        return self.path.open("rb")

    def _lines(self) -> Iterator[str]:
        with self._open() as file:
            for number, line in enumerate(file, 1):
                self.position += len(line)
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                try:
                    yield line.decode("utf-8")
                except UnicodeDecodeError as cause:
                    raise self.fault(
                        number,
                        f"not UTF-8 at byte {cause.start + 1} of the line "
                        f"(0x{line[cause.start]:02x}); save the file as UTF-8",
                    ) from None


def _csv_text(cause: csv.Error) -> str:
    """Says what csv found, and what to do."""
    text = str(cause)
    if text.startswith("new-line character"):
        return "a line ends in CR alone; save the file with LF or CR LF"
    return f"{text}; check its quotes"


def _shown(text: str) -> str:
    return repr(text if len(text) <= _TEXT_MAX else text[:_TEXT_MAX] + "...")


def _integer(text: str) -> int | None:
    digits = text[1:] if text[:1] in "+-" else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    digits = digits.lstrip("0") or "0"
    if len(digits) > _DIGITS_MAX:
        return 10**_DIGITS_MAX
    return -int(digits) if text[0] == "-" else int(digits)


def _float(text: str) -> float | None:
    if "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def _overflows(text: str, value: Any) -> bool:
    """Whether a number that is written out became an infinity."""
    return (
        isinstance(value, float)
        and math.isinf(value)
        and "inf" not in text.lower()
    )


def parse(source: CsvFile, line: int, column: Column, text: str) -> Any:
    """Reads one field as its column's type. Raises Fault."""
    if column.type == "var":
        return text.encode()
    text = text.strip()
    value: Any
    if column.type == "bytes":
        try:
            value = bytes.fromhex(text)
        except ValueError:
            value = None
        if value is None or len(value) != column.bytes:
            raise source.fault(
                line,
                f"{_shown(text)} is not {2 * column.bytes} hexadecimal "
                "digits; correct the line",
                column.name,
            )
        return value
    if not text:
        raise source.fault(
            line,
            "empty; every column has a value in every row, fill it in or "
            "leave the line out",
            column.name,
        )
    value = _integer(text) if column.is_integer else _float(text)
    if value is None:
        kind = "whole number" if column.is_integer else "number"
        raise source.fault(
            line,
            f"{_shown(text)} is no {kind} ({column.type}); correct the line",
            column.name,
        )
    try:
        if _overflows(text, value):
            raise SchemaError
        encode_number(column, value)
    except SchemaError:
        raise source.fault(
            line,
            f"{_shown(text)} is out of range for {column.type}; correct the "
            "line",
            column.name,
        ) from None
    return value


def infer(source: CsvFile, position: int, text_type: str) -> str:
    """Returns the type that the first row's field looks like.

    text_type  how to state that it is text, or bytes

    Raises Fault when there is no row or the field is no number.
    """
    name = source.header[position]
    for line, fields in source.rows():
        text = fields[position].strip()
        if _integer(text) is not None:
            return "i64"
        if _float(text) is not None:
            return "f64"
        raise source.fault(
            line,
            f"{_shown(text)} is no number; state the type, {text_type}",
            name,
        )
    raise source.fault(
        1, f"no row to see its type by; state it with --type {name}=i64", name
    )
