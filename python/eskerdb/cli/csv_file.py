# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""A CSV file with a header, read so that every fault names its line."""

from __future__ import annotations

import csv
import io
import math
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from eskerdb._esker import ffi, lib
from eskerdb.errors import SchemaError
from eskerdb.schema import Column, RowCodec, encode_number

_TEXT_MAX = 60
_MARKED_HEX = re.compile(r"\\x((?:[0-9a-fA-F]{2})*)")
_EMPTY = (
    "empty, and the column has no missing value; fill it in or leave the "
    "line out"
)
_CHUNK_BYTES = 1 << 20
_BATCH_ROWS = 1 << 14
_FIELD_BYTES_MAX = 1 << 30
_DIGITS_MAX = 40  # of a whole number; more are out of range of any type


class Fault(Exception):
    """A fault of a file: where, what is wrong, and what to do."""


class Refused(Fault):
    """A row that fits the types of the columns but that the table refuses."""


class NamedFile:
    """A file whose faults name its line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name

    def fault(
        self,
        line: int,
        what: str,
        column: str | None = None,
        kind: type[Fault] = Fault,
    ) -> Fault:
        """Makes a Fault at `line`, counted from 1."""
        where = f"column '{column}': " if column else ""
        return kind(f"{self.path}:{line}: {where}{what}")


@dataclass
class Batch:
    """Rows as the table stores them, and the line of each in the file.

    values  of the variable column, one after another; `ends` has the end of
            each. They are C arrays with `count` entries; the next batch uses
            them again
    """

    rows: Any
    count: int
    values: Any
    ends: Any
    lines: Any


class CsvFile(NamedFile):
    """A CSV file: UTF-8, comma separated, quoted as RFC 4180 says.

    header     the column names of the first line
    position   bytes read so far
    size       bytes of the file

    "-" is the standard input. It and a pipe are stored in memory, because a
    file is read more than once. Raises Fault when the file cannot be read or
    its header cannot be used.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.header: list[str] = []
        self._piped: bytes | None = None
        csv.field_size_limit(_FIELD_BYTES_MAX)
        try:
            if str(path) == "-":
                self._piped = sys.stdin.buffer.read()
                self.path, self.name = Path("stdin"), "stdin"
            elif path.exists() and not path.is_file() and not path.is_dir():
                self._piped = path.read_bytes()
            self.size = (
                path.stat().st_size if self._piped is None else len(self._piped)
            )
            self._start()
            header = self._header()
        except OSError as cause:
            raise Fault(
                f"{path}: {cause.strerror}; name a CSV file that can be read"
            ) from None
        if header is None:
            raise self.fault(1, "no header; its first line names the columns")
        if all(_float(name.strip()) is not None for name in header):
            raise self.fault(
                1,
                "no header, but numbers; write a line with the columns' names "
                "above them",
            )
        self.header = [name.strip() for name in header]
        if len(self.header) > lib.ESK_COLUMN_COUNT_MAX:
            raise self.fault(
                1,
                f"{len(self.header):,} columns, but a table has at most "
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
                    "is named twice; give every column its own name",
                    name,
                )

    def batches(self, codec: RowCodec) -> Iterator[Batch]:
        """Yields the file's rows, packed for a table.

        The C side packs plain records; the others are read here one by one.
        Raises Fault at the first record that cannot be read, after it has
        yielded the rows before.
        """
        order = self._match(codec)
        width = codec.row_bytes
        plan = self._plan(order, codec)
        most = max(1, min(_BATCH_ROWS, _CHUNK_BYTES // width))
        rows = ffi.new("uint8_t[]", most * width)
        ends = ffi.new("uint64_t[]", most)
        lines = ffi.new("uint32_t[]", most)
        values = ffi.new("uint8_t[]", 1)
        plan.rows_max = most
        self._rewind()
        while self._more():
            size = len(self._text) - self._at
            if codec.var_index is not None and size > len(values):
                values = ffi.new("uint8_t[]", 2 * size)
            plan.lines = self._line
            lib.esk_py_csv_pack(
                plan, ffi.from_buffer(self._text) + self._at, size,
                self._is_last, rows, values, ends, lines,
            )  # fmt: skip
            self._at += plan.bytes
            self._line = plan.lines
            if plan.rows:
                yield Batch(
                    ffi.buffer(rows, plan.rows * width), plan.rows,
                    ffi.buffer(values), ends, lines,
                )  # fmt: skip
            if not plan.bytes and self._is_whole():
                fields = self._record()
                if fields:
                    yield self._odd(order, codec, fields)

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Yields each record's line and fields. Raises Fault."""
        self._rewind()
        while (fields := self._record()) is not None:
            if fields:
                yield self._line, fields

    def kinds(self, wanted: Mapping[str, str], advice: str) -> dict[str, str]:
        """Returns the type of each column not in `wanted`, seen in all rows.

        advice  how to state that a column is text, with {} for its name

        Raises Fault where a field of such a column is no number.
        """
        free = [n for n, name in enumerate(self.header) if name not in wanted]
        seen = {n: _Seen() for n in free}
        flags = ffi.new("uint8_t[]", len(self.header))
        fields = ffi.new("struct esk_py_field[]", len(self.header))
        for n in range(len(self.header)):
            fields[n].type = 0 if n in seen else lib.ESK_TYPE_VAR
        plan = ffi.new("struct esk_py_csv *")
        plan.fields, plan.field_count = fields, len(self.header)
        rows = 0
        self._rewind()
        while free and self._more():
            text = ffi.from_buffer(self._text) + self._at
            size = len(self._text) - self._at
            plan.lines = self._line
            lib.esk_py_csv_kinds(plan, text, size, self._is_last, flags)
            rows += plan.rows
            self._at += plan.bytes
            self._line = plan.lines
            if not plan.bytes and self._is_whole():
                record = self._record()
                if not record:
                    continue
                rows += 1
                for n in free:
                    self._see(seen[n], n, record[n], advice)
        result = {}
        for n in free:
            name = self.header[n]
            if not rows:
                raise self.fault(
                    1,
                    f"no row shows its type; state it with --type {name}=i64",
                    name,
                )
            seen[n].is_float |= bool(flags[n] & lib.ESK_PY_KIND_FLOAT)
            if flags[n] & lib.ESK_PY_KIND_NEGATIVE:
                seen[n].least = min(seen[n].least, -1)
            result[name] = seen[n].kind
        return result

    def _see(self, seen: _Seen, position: int, text: str, advice: str) -> None:
        """Takes one more field into account. Raises Fault when it is text."""
        name, text = self.header[position], text.strip()
        whole = _integer(text)
        if whole is not None:
            seen.least = min(seen.least, whole)
            seen.most = max(seen.most, whole)
        elif _float(text) is not None:
            seen.is_float = True
        elif not text:
            raise self.fault(self._line, _EMPTY, name)
        else:
            raise self.fault(
                self._line,
                f"{_shown(text)} is not a number; state the type, "
                f"{advice.format(name)}",
                name,
            )

    # Inside ------------------------------------------------------------------

    def _match(self, codec: RowCodec) -> list[Column]:
        """Returns the table's columns in the order of the header.

        Raises Fault naming a column that is missing or unknown.
        """
        for name in self.header:
            if name not in codec.by_name:
                raise self.fault(
                    1,
                    f"the table has no such column, only "
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
        return [codec.by_name[name] for name in self.header]

    def _plan(self, order: list[Column], codec: RowCodec) -> Any:
        """Makes a struct esk_py_csv; its fields live as long as the file."""
        self._fields = ffi.new("struct esk_py_field[]", len(order))
        for field, column in zip(self._fields, order, strict=True):
            at = codec.names.index(column.name)
            ends = (*codec.offsets[1:], codec.row_bytes)
            field.type = column.type_number
            field.is_text = column.type == "text"
            field.offset = codec.offsets[at]
            field.bytes = ends[at] - codec.offsets[at]
        plan = ffi.new("struct esk_py_csv *")
        plan.fields, plan.field_count = self._fields, len(order)
        plan.row_bytes = codec.row_bytes
        return plan

    def _odd(
        self, order: list[Column], codec: RowCodec, fields: list[str]
    ) -> Batch:
        """Packs a record that the C side did not pack."""
        values = {
            column.name: parse(self, self._line, column, text)
            for column, text in zip(order, fields, strict=True)
        }
        row, value = codec.pack(values)
        return Batch(
            row,
            1,
            value,
            ffi.new("uint64_t[]", [len(value)]),
            ffi.new("uint32_t[]", [self._line]),
        )

    # The bytes of the file ---------------------------------------------------

    @property
    def position(self) -> int:
        """Bytes read so far."""
        return self._passed + self._at

    def _start(self) -> None:
        """Starts at the first byte, before the header."""
        self._file: IO[bytes] = (
            self.path.open("rb", buffering=0)
            if self._piped is None
            else io.BytesIO(self._piped)
        )
        self._text = b""  # read, from position _passed of the file
        self._at = self._passed = self._line = 0
        self._is_last = False
        self._reader = csv.reader(self._lines(), strict=True)

    def _rewind(self) -> None:
        """Starts at the first row."""
        header, self.header = self.header, []
        self._start()
        self._header()
        self.header = header

    def _header(self) -> list[str] | None:
        """Reads the header; None: there is none."""
        while (fields := self._record()) == []:
            pass
        return fields

    def _more(self) -> bool:
        """Reads if nothing is buffered; returns whether there is anything."""
        return self._at < len(self._text) or self._fill()

    def _fill(self) -> bool:
        """Reads more; returns whether there was anything."""
        chunk = self._file.read(_CHUNK_BYTES)
        if chunk:
            self._passed += self._at
            self._text = self._text[self._at :] + chunk
            self._at = 0
        else:
            self._is_last = True
        return bool(chunk)

    def _is_whole(self) -> bool:
        """Whether the record here is to be read in Python; reads more if the
        record may only end after the bytes read so far."""
        return self._text.find(b"\n", self._at) >= 0 or not self._fill()

    def _lines(self) -> Iterator[str]:
        """Yields lines from the current position of the file."""
        while self._more():
            end = self._text.find(b"\n", self._at)
            while end < 0 and self._fill():
                end = self._text.find(b"\n", self._at)
            end = len(self._text) if end < 0 else end + 1
            line = self._text[self._at : end]
            first = self._passed + self._at == 0
            self._at += len(line)
            self._line += 1
            if first:
                line = line.removeprefix(b"\xef\xbb\xbf")
            try:
                yield line.decode("utf-8")
            except UnicodeDecodeError as cause:
                raise self.fault(
                    self._line,
                    f"not UTF-8 at byte {cause.start + 1} of the line "
                    f"(0x{line[cause.start]:02x}); save the file as UTF-8",
                ) from None

    def _record(self) -> list[str] | None:
        """Reads one record by the csv module: [] for a blank line, None when
        the file has ended. Raises Fault."""
        try:
            fields: list[str] | None = next(self._reader, None)
        except csv.Error as cause:
            raise self.fault(self._line, _csv_text(cause)) from None
        if fields and self.header and len(fields) != len(self.header):
            raise self.fault(
                self._line,
                f"{len(fields)} fields, but the header has "
                f"{len(self.header)}; write one field a column",
            )
        return fields


@dataclass
class _Seen:
    """What the fields of a column that the C side left have been so far."""

    least: int = 0
    most: int = 0
    is_float: bool = False

    @property
    def kind(self) -> str:
        """The type that has all these values, if there is one."""
        if self.is_float:
            return "f64"
        if self.least >= 0 and 1 << 63 <= self.most < 1 << 64:
            return "u64"
        return "i64"


def _csv_text(cause: csv.Error) -> str:
    """Returns the fault that the csv module found, and what to do."""
    text = str(cause)
    if text.startswith("new-line character"):
        return "a line ends with CR only; save the file with LF or CR LF"
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
    """Whether a number written in digits became an infinity."""
    return (
        isinstance(value, float)
        and math.isinf(value)
        and "inf" not in text.lower()
    )


def _value(text: str) -> bytes:
    """Reads a value of a column of bytes: text, or \\x and digits."""
    found = _MARKED_HEX.fullmatch(text)
    return bytes.fromhex(found[1]) if found else text.encode()


def parse(source: CsvFile, line: int, column: Column, text: str) -> Any:
    """Reads one field as its column's type. Raises Fault."""
    value: Any
    if column.type == "text":
        if column.bytes and (len(text.encode()) > column.bytes or "\0" in text):
            raise source.fault(
                line,
                f"{_shown(text)} has a zero byte, or more than {column.bytes} "
                "bytes of UTF-8; correct the line, or make the column wider",
                column.name,
            )
        return text
    if column.type == "var":
        return _value(text)
    text = text.strip()
    if column.type == "bytes":
        try:
            value = bytes.fromhex(text.removeprefix("\\x"))
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
    if not text and column.missing is not None:
        return column.missing
    if not text:
        raise source.fault(line, _EMPTY, column.name)
    value = _integer(text) if column.is_integer else _float(text)
    if value is None:
        kind = "whole number" if column.is_integer else "number"
        raise source.fault(
            line,
            f"{_shown(text)} is not a {kind} ({column.type}); correct the line",
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
