# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""A mounted volume and an open table's handle, which the other modules use.
Neither knows what is read through it.
"""

from __future__ import annotations

from typing import Any

from eskerdb._esker import ffi, lib
from eskerdb.catalog import Table
from eskerdb.device import Device, Geometry
from eskerdb.errors import check
from eskerdb.schema import RowCodec


class Mount:
    """A mounted volume, without its tables.

    device     the device that it is on
    geometry   of that device
    """

    def __init__(self, device: Device, mount: int, geometry: Geometry) -> None:
        self.device = device
        self.geometry = geometry
        self._mount = mount
        self._handle = device._handle

    @property
    def read_only(self) -> bool:
        """Whether it was mounted read-only."""
        return bool(self._state().flags & lib.ESK_MOUNT_READ_ONLY)

    def _state(self) -> Any:
        state = ffi.new("struct esk_volume *")
        self._check(
            lib.esk_py_volume_state(self._handle, self._mount, state), "state"
        )
        return state

    def _check(self, status: int, doing: str) -> None:
        check(status, f"{self.device.name}: {doing}")


class TableHandle:
    """An open table's handle, through which scans and values read.

    volume, table   where it is, and its catalog entry
    key             the key's column
    codec           rows between Python values and bytes
    """

    def __init__(self, volume: Mount, table: Table, handle: Any) -> None:
        self.volume = volume
        self.table = table
        self.name = table.name
        self.columns = table.columns
        self.codec = RowCodec(table.columns, table.offsets, table.row_bytes)
        self.key = self.codec.by_name[table.key]
        self._key_offset = table.offsets[table.columns.index(self.key)]
        self._handle = ffi.gc(handle, lib.esk_py_table_release)

    def _check(self, status: int, doing: str) -> None:
        check(status, f"table '{self.name}': {doing}")
