# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Queries on a device that is deployed, over its serial line.

The protocol is that of examples/logger/README.md: this side asks and the
device answers. A request without an answer is repeated, which changes nothing.
"""

from __future__ import annotations

import re
import secrets
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eskerdb._esker import lib
from eskerdb.errors import EskerError, Limit, error, status_text
from eskerdb.program import (
    AVG,
    FLOAT,
    HEAD_BYTES,
    INT,
    ROW_TEXT,
    bound_text,
    slot_float,
)
from eskerdb.sql.tables import crc32c

if TYPE_CHECKING:
    from typing_extensions import Self

BAUD = 38400
VERSION = 1
_PIECE_BYTES = 20  # of a program: the line then fits a UART's buffer of 64
_ANSWER_S = 1.0  # after which a request is repeated
_FRAME = re.compile(rb":((?:[0-9A-F]{2}){6,})\r?\n?$")
_NULL = 0xFF
_PARTS = {
    2: "floats",
    4: "text",
    8: "joins",
    16: "groups and orders",
    32: "ranges",
}


class NoAnswer(EskerError):
    """The device does not answer, or cannot be reached."""


class Refused(EskerError):
    """The device refused a program.

    status       why
    arena_bytes  that the program takes, if it was checked so far; else 0
    """

    arena_bytes = 0


class Bounded(Limit):
    """A program came to more groups or rows in order than it has room for."""


@dataclass(frozen=True)
class Device:
    """What a device says of itself.

    slot_bits      of a value in a program
    parts          of the machine, as the flags of a program
    program_bytes  most bytes of a program
    arena_bytes    RAM of a running program
    fingerprints   of its tables' schemas
    """

    slot_bits: int
    parts: int
    program_bytes: int
    arena_bytes: int
    fingerprints: tuple[int, ...]

    def lacks(self, program: bytes) -> str:
        """Returns what a program needs and the device lacks; "": nothing."""
        flags = program[3]
        wanted = [
            name
            for flag, name in _PARTS.items()
            if flags & flag and not self.parts & flag
        ]
        if flags & 3 and self.slot_bits < 64:
            wanted.append("values of 64 bits")
        return ", ".join(wanted)


def frame(kind: str, body: bytes = b"") -> bytes:
    """Returns the line of a frame."""
    data = kind.encode() + bytes([len(body)]) + body
    data += struct.pack("<I", crc32c(data))
    return b":" + data.hex().upper().encode() + b"\n"


def unframed(line: bytes) -> tuple[str, bytes] | None:
    """Returns kind and body of a line that is a whole frame; else None."""
    found = _FRAME.search(line)
    if found is None:
        return None
    data = bytes.fromhex(found[1].decode())
    body, crc = data[2:-4], struct.unpack("<I", data[-4:])[0]
    if len(body) != data[1] or crc32c(data[:-4]) != crc:
        return None
    return chr(data[0]), body


class Line:
    """A serial line to a device.

    port      of pyserial: /dev/ttyUSB0, COM3, or a URL
    wait_s    how long a device may take to answer
    """

    def __init__(self, port: str, baud: int = BAUD, wait_s: float = 10) -> None:
        import serial

        self.port = port
        self._tries = max(1, round(wait_s / _ANSWER_S))
        try:
            self._serial = serial.serial_for_url(port, baud, timeout=0.05)
        except (serial.SerialException, ValueError, OSError) as fault:
            reason = getattr(fault, "strerror", None) or str(fault)
            raise NoAnswer(f"{port}: cannot be opened: {reason}") from None
        self._rest = b""
        self._slot_bits = 64

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        self._serial.close()

    def hello(self) -> Device:
        """Returns what the device says of itself."""
        body = self._ask(b"H", b"", b"h", lambda body: len(body) >= 12)
        version, bits, parts, count, most, arena = struct.unpack_from(
            "<BBBBII", body
        )
        if version != VERSION:
            raise NoAnswer(
                f"{self.port}: the device has version {version} of the "
                f"protocol, not {VERSION}; update esker"
            )
        prints = struct.unpack_from(f"<{count}I", body, 12)
        self._slot_bits = bits
        return Device(bits, parts, most, arena, prints)

    def schema(self) -> str:
        """Returns the SQL that creates the device's tables."""
        for _ in range(self._tries):
            self._write(b"\nschema\n")
            lines: list[str] = []
            for line in self._lines(_ANSWER_S):
                text = line.decode("utf-8", "replace").strip()
                if text.startswith("CREATE "):
                    lines.append(text)
                elif text == f"ok {len(lines)}" and lines:
                    return "\n".join(lines)
        raise self._silent("its schema")

    def run(self, program: bytes) -> Iterator[tuple[Any, ...]]:
        """Sends a program, has it checked, and yields its rows.

        Raises Refused; Limit, Stale and others when the query fails.
        """
        query = self._start(program)
        decoder = _Decoder(program, self._slot_bits)
        status, number = lib.ESK_OK, 0
        while status == lib.ESK_OK:
            body = self._block(query, number)
            status = struct.unpack_from("<b", body, 5)[0]
            yield from decoder.rows(body[6:])
            number = (number + 1) % 256
        if status == lib.ESK_E_LIMIT:
            self._check_bound(query)
        if status != lib.ESK_END:
            raise error(status, f"{self.port}: the query ended")

    def _check_bound(self, query: int) -> None:
        """Raises Bounded if a bound of the program ended the query."""
        wanted = struct.pack("<I", query)
        body = self._ask(
            b"L", wanted, b"l", lambda b: len(b) == 9 and b[:4] == wanted
        )
        kind, most, reached = struct.unpack_from("<BHH", body, 4)
        if kind != lib.ESK_BOUND_NONE:
            raise Bounded(f"{self.port}: {bound_text(kind, most, reached)}")

    def _start(self, program: bytes) -> int:
        """Uploads a program and starts it; returns the number of the query."""
        at = 0
        while at < len(program):
            piece = program[at : at + _PIECE_BYTES]
            body = self._ask(b"P", struct.pack("<H", at) + piece, b"p", _of(2))
            reached = struct.unpack("<H", body)[0]
            # A device that has started again has nothing.
            at = reached if reached <= at + len(piece) else 0
        query = secrets.randbits(32)
        wanted = struct.pack("<I", query)
        body = self._ask(
            b"R",
            struct.pack("<IH", query, len(program)),
            b"r",
            lambda body: len(body) == 11 and body[:4] == wanted,
        )
        status, at, arena = struct.unpack_from("<bHI", body, 4)
        if status != lib.ESK_OK:
            refused = Refused(
                f"{self.port}: the device refused the program: "
                f"{status_text(status)} (status {status}, at byte {at} of "
                f"{len(program)})"
            )
            refused.status, refused.arena_bytes = status, arena
            raise refused
        return query

    def _block(self, query: int, number: int) -> bytes:
        asked = struct.pack("<IB", query, number)
        while True:
            body = self._ask(b"B", asked, b"bw", lambda body: body[:5] == asked)
            if len(body) > 5:
                return body  # else it works on it

    def _ask(
        self,
        kind: bytes,
        body: bytes,
        kinds: bytes,
        fits: Callable[[bytes], bool],
    ) -> bytes:
        """Sends a request until its answer comes; returns its body."""
        line = frame(kind.decode(), body)
        for tried in range(self._tries):
            self._write((b"\n" if tried or kind == b"H" else b"") + line)
            for said in self._lines(_ANSWER_S):
                answer = unframed(said)
                if answer is None:
                    continue
                if answer[0].encode() in kinds and fits(answer[1]):
                    return answer[1]
                if answer[0] == "e" and len(answer[1]) == 1:
                    status = struct.unpack("<b", answer[1])[0]
                    if status == lib.ESK_E_CORRUPT:
                        break  # the line changed the request
                    self._refused(kind, status)
        raise self._silent(f"request {kind.decode()}")

    def _refused(self, kind: bytes, status: int) -> None:
        if kind in b"BL" and status == lib.ESK_NOT_FOUND:
            raise NoAnswer(
                f"{self.port}: the device forgot the query: it was reset, or "
                "another host sent it one; run it again"
            )
        if kind == b"B" and status == lib.ESK_E_INVALID:
            return  # a late copy of an earlier request
        raise error(status, f"{self.port}: request {kind.decode()}")

    def _silent(self, what: str) -> NoAnswer:
        return NoAnswer(
            f"{self.port}: no answer to {what} for "
            f"{self._tries * _ANSWER_S:g} s; is it a logger with queries, on "
            "this port, at this --baud?"
        )

    def _write(self, data: bytes) -> None:
        with _reached(self.port):
            self._serial.write(data)
            self._serial.flush()

    def _lines(self, seconds: float) -> Iterator[bytes]:
        """Yields lines that come within so many seconds."""
        end = time.monotonic() + seconds
        while True:
            while b"\n" in self._rest:
                line, self._rest = self._rest.split(b"\n", 1)
                yield line
            if time.monotonic() >= end:
                return
            with _reached(self.port):
                self._rest += self._serial.read(max(1, self._serial.in_waiting))


@contextmanager
def _reached(port: str) -> Iterator[None]:
    """Turns what pyserial raises into NoAnswer."""
    try:
        yield
    except OSError as fault:  # a SerialException is one
        raise NoAnswer(f"{port}: the line is lost: {fault}") from None


def _of(size: int) -> Callable[[bytes], bool]:
    return lambda body: len(body) == size


class _Decoder:
    """Rows from the blocks of an answer."""

    def __init__(self, program: bytes, slot_bits: int) -> None:
        self._bits = slot_bits
        self._kinds = list(_kinds(program))
        self._data = b""
        self._row: list[Any] = []

    def rows(self, data: bytes) -> Iterator[tuple[Any, ...]]:
        """Takes the bytes of a block; yields the rows that are complete."""
        self._data, self._at = self._data + data, 0
        while self._at < len(self._data):
            self._row.append(self._value(self._kinds[len(self._row)]))
            if len(self._row) == len(self._kinds):
                yield tuple(self._row)
                self._row = []
        self._data = b""

    def _value(self, kind: int) -> Any:
        first = self._piece()
        if first is None:
            return None
        if kind == INT:
            return _number(first)
        if kind == FLOAT:
            return slot_float(_number(first))
        if kind == ROW_TEXT:
            return first.rstrip(b"\0").decode("utf-8", "replace")
        low, high = _number(self._piece()), _number(self._piece())
        total = (low & ((1 << self._bits) - 1)) + (high << self._bits)
        return total / _number(first)

    def _piece(self) -> bytes | None:
        count = self._data[self._at]
        self._at += 1
        if count == _NULL:
            return None
        piece = self._data[self._at : self._at + count]
        self._at += count
        return piece


def _number(piece: bytes | None) -> int:
    return int.from_bytes(piece or b"", "little", signed=True)


def _kinds(program: bytes) -> Iterator[int]:
    """The types of a program's outputs, of which a device sends these."""
    at = HEAD_BYTES + 8 * (program[8] + program[10])
    end = at + 2 * program[9]
    while at < end:
        kind = program[at]
        if kind not in (INT, FLOAT, AVG, ROW_TEXT):
            raise EskerError(
                "a device does not send a row or a text: name the columns"
            )
        yield kind
        at += 6 if kind == ROW_TEXT else 2
