# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Variable-length values, read from the medium in pieces."""

from __future__ import annotations

import io
from typing import Any

from eskerdb._esker import ffi, lib
from eskerdb.errors import NotFound, error
from eskerdb.handle import TableHandle
from eskerdb.schema import decode_text


class Value(io.RawIOBase):
    """One variable-length value as a readable, seekable file.

    Reads go to the medium piece by piece; nothing is buffered. Seeking back
    reads the value again from its start.
    """

    def __init__(self, series: TableHandle, row: Any) -> None:
        super().__init__()
        self._series = series
        self._row = ffi.new("uint8_t[]", series.table.row_bytes)
        ffi.memmove(self._row, row, series.table.row_bytes)
        self._at = 0
        self._value = ffi.new("struct esk_series_value *")
        self._open()
        self.size = self._value.bytes

    def _open(self) -> None:
        self._series._check(
            lib.esk_py_series_value_open(
                self._series._handle, self._row, self._value
            ),
            "value",
        )

    def __len__(self) -> int:
        return self.size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}
        self._at = max(0, base[whence] + offset)
        return self._at

    def readall(self) -> bytes:
        return self._read(max(0, self.size - self._at))

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        data = self._read(min(len(view), max(0, self.size - self._at)))
        view[: len(data)] = data
        return len(data)

    def _read(self, size: int) -> bytes:
        """Reads from the current place. Raises NotFound when its pages were
        dropped, Corrupt, DeviceError."""
        if size == 0:
            return b""
        limit = self._series.volume.geometry.bytes
        if size > limit:
            raise error(
                lib.ESK_E_CORRUPT,
                f"table '{self._series.name}': a value of {self.size} bytes",
            )
        done = self._value.bytes - self._value.left
        if self._at < done:
            self._open()
            done = 0
        self._pass(ffi.NULL, self._at - done)
        data = ffi.new("uint8_t[]", size)
        got = self._pass(data, size)
        self._at += got
        return bytes(ffi.buffer(data, got))

    def _pass(self, buffer: Any, size: int) -> int:
        """Reads on into `buffer`; NULL: skips the bytes."""
        got = ffi.new("uint32_t *")
        self._series._check(
            lib.esk_py_series_value_read(
                self._series._handle, self._value, buffer, size, got
            ),
            "value",
        )
        return got[0]


def read_value(series: TableHandle, row: Any) -> bytes | str | None:
    """Reads the whole value of a row; None when its pages were dropped."""
    try:
        value = Value(series, row).read()
    except NotFound:
        return None
    at = series.codec.var_index
    if at is not None and series.columns[at].type == "text":
        return decode_text(value)
    return value
