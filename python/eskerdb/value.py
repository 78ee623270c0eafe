# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Variable-length values, read from the medium in pieces."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from eskerdb._esker import ffi, lib
from eskerdb.errors import error

if TYPE_CHECKING:
    from eskerdb.series import Series


class Value(io.RawIOBase):
    """One variable-length value as a readable, seekable file.

    Reads go to the medium piece by piece; nothing is buffered.
    """

    def __init__(self, series: Series, row: Any) -> None:
        super().__init__()
        self._series = series
        self._row = ffi.new("uint8_t[]", series.table.row_bytes)
        ffi.memmove(self._row, row, series.table.row_bytes)
        self._at = 0
        size = ffi.new("uint32_t *")
        series._check(
            lib.esk_py_series_var_bytes(series._handle, self._row, size),
            "value",
        )
        self.size = size[0]

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
        data = ffi.new("uint8_t[]", size)
        got = ffi.new("uint32_t *")
        self._series._check(
            lib.esk_py_series_var_read(
                self._series._handle, self._row, self._at, data, size, got
            ),
            "value",
        )
        self._at += got[0]
        return bytes(ffi.buffer(data, got[0]))
