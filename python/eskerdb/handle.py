# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""A mounted volume and handles of open tables, which the other modules use.
None knows what is read through it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar

from eskerdb._esker import ffi, lib
from eskerdb.catalog import Table
from eskerdb.device import Device, Geometry
from eskerdb.errors import Closed, EskerError, check
from eskerdb.schema import RowCodec
from eskerdb.structs import counts_of

if TYPE_CHECKING:
    from typing_extensions import Self

_T = TypeVar("_T")


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


class Handle:
    """A handle of a table; a context manager.

    volume, table   where it is, and its catalog entry
    """

    def __init__(self, volume: Mount, table: Table, handle: Any) -> None:
        self.volume = volume
        self.table = table
        self.name = table.name
        self._handle = ffi.gc(handle, lib.esk_py_table_release)

    @property
    def arena_bytes(self) -> int:
        """Bytes of RAM it holds on this host: page frames, a kv table's keys,
        and all else."""
        return lib.esk_py_table_arena_bytes(self._handle)

    def close(self) -> None:
        """Closes; a second close does nothing."""
        lib.esk_py_table_close(self._handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        *rest: object,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        kind = type(self).__name__
        return f"<{kind} '{self.name}' on {self.volume.device.name}>"

    def _check(self, status: int, doing: str) -> None:
        check(status, f"table '{self.name}': {doing}")

    def _report(self, kind: type[_T], report: Any, status: int) -> _T:
        """Makes what check() returns; raises what is not damage."""
        if status not in (lib.ESK_OK, lib.ESK_E_CORRUPT):
            self._check(status, "check")
        return counts_of(kind, report, ok=status == lib.ESK_OK)


class WritableHandle(Handle):
    """A handle of a table that is changed: it is synced before it closes."""

    def __init__(self, volume: Mount, table: Table, handle: Any) -> None:
        super().__init__(volume, table, handle)
        self._read_only = volume.read_only

    def sync(self) -> None:
        """Makes every accepted change survive any later power cut.

        Raises DeviceError, Worn: call again. Costs the driver's sync, and of
        a series at most 2 programs, of a kv table mostly 1, of a tree what
        waits in its write cache.
        """
        self._check(lib.esk_py_table_sync(self._handle), "sync")

    def close(self, *, sync: bool = True) -> None:
        """Syncs and closes; a second close does nothing.

        sync   False: rows of a series that are not synced are lost; what
               waits in a tree's write cache is written, but a failure is
               not reported

        Raises what sync() raises; the handle is closed in any case. The end
        of a `with` block does the same; an exception that ended the block is
        raised instead, with a note about the failed sync (Python 3.11).
        """
        try:
            if sync and not self._read_only:
                self.sync()
        except Closed:
            pass
        finally:
            lib.esk_py_table_close(self._handle)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        *rest: object,
    ) -> None:
        try:
            self.close()
        except EskerError as failure:
            if value is None:
                raise
            if sys.version_info >= (3, 11):  # what ended the block goes on
                value.add_note(f"and then {failure}")


class TableHandle(Handle):
    """A handle of a table with columns, through which scans and values read.

    key             the key's column
    codec           rows between Python values and bytes
    """

    def __init__(self, volume: Mount, table: Table, handle: Any) -> None:
        super().__init__(volume, table, handle)
        self.columns = table.columns
        self.codec = RowCodec(table.columns, table.offsets, table.row_bytes)
        self.key = self.codec.by_name[table.key]
        self._key_offset = table.offsets[table.columns.index(self.key)]
