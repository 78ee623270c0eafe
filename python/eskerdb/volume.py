# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Volumes: formatted, mounted, closed; and their tables, opened."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from eskerdb._esker import ffi, lib
from eskerdb.catalog import (
    MOVING_STORES,
    Table,
    VolumeReport,
)
from eskerdb.device import Device, Geometry, ImageFile
from eskerdb.errors import (
    check,
    error,
)
from eskerdb.kv import Kv
from eskerdb.series import Series
from eskerdb.structs import counts_of, fill
from eskerdb.tables import Tables
from eskerdb.tree import Tree

if TYPE_CHECKING:
    from typing_extensions import Self

Checksum = Literal["crc32c", "crc16", "none"]
_CHECKSUMS = {
    "crc32c": lib.ESK_CHECKSUM_CRC32C,
    "crc16": lib.ESK_CHECKSUM_CRC16,
    "none": lib.ESK_CHECKSUM_NONE,
}
_NO_VOLUME = (lib.ESK_NOT_FOUND, lib.ESK_E_FOREIGN)
_TOOL_FRAMES = 64  # of a tree that a tool opens


class Volume(Tables):
    """A mounted volume. Made by format() or mount(); a context manager.

    Closing it closes its tables. Close the tables first: their close() syncs
    and reports failures. Otherwise rows of a series that are not synced are
    lost, and a failure to write a tree's write cache is not reported.

    is_bare   it is a bare kv store: a kv table that has the whole device,
              without a catalog. It is one table here, named "kv"
    """

    def __init__(
        self,
        device: Device,
        mount: int,
        geometry: Geometry,
        owns: bool,
        is_bare: bool = False,
    ) -> None:
        super().__init__(device, mount, geometry)
        self._owns = owns
        self.is_bare = is_bare

    @classmethod
    def format(
        cls,
        device: Device,
        *,
        uuid: bytes | None = None,
        checksum: Checksum = "crc32c",
        tables_max: int = 0,
        overwrite: bool = False,
    ) -> Volume:
        """Makes an empty volume on `device` and mounts it.

        uuid        16 bytes that identify the volume; None: drawn
        checksum    of pages: "crc32c", "crc16" or "none"
        tables_max  tables it can hold at once; 0: 8
        overwrite   also formats a medium that is not blank

        Raises Foreign when the medium is not blank, GeometryError, NoSpace,
        DeviceError, Busy.
        Costs two meta halves erased, 2 programs, and the mount's reads.
        """
        from uuid import uuid4

        config = ffi.new("struct esk_volume_config *")
        given = uuid4().bytes if uuid is None else bytes(uuid)
        if len(given) != 16:
            raise ValueError(f"a uuid has 16 bytes, not {len(given)}")
        ffi.memmove(config.uuid, given, 16)
        fill(
            config,
            checksum=_checksum_of(device, checksum, "format"),
            tables_max=tables_max,
            overwrite=overwrite,
        )
        status = lib.esk_py_volume_format(device._handle, config)
        if status == lib.ESK_E_NO_SPACE:
            raise error(
                status,
                f"{device.name}: format",
                "use a larger device, or a volume for fewer tables",
                "too few blocks: the catalog takes some at both ends, and at "
                f"least 4 are for tables; there are "
                f"{device.geometry.block_count}",
            )
        check(status, f"{device.name}: format")
        return cls.mount(device)

    @classmethod
    def mount(
        cls,
        device: Device,
        *,
        read_only: bool = False,
        trust_loads: bool = False,
        owns: bool = False,
    ) -> Volume:
        """Mounts the volume, or the bare kv store, on `device`. It never
        formats.

        read_only    nothing is ever programmed or erased
        trust_loads  page loads after mount are not verified
        owns         closing the volume closes the device too

        Raises NotFound on a blank medium, Foreign, Corrupt, VersionError,
        GeometryError, DeviceError, Busy.
        Costs 2 page reads; on damage at most one a block of the first 64. Of
        a bare store a read of each page.
        """
        flags = lib.ESK_MOUNT_READ_ONLY if read_only else 0
        flags |= lib.ESK_MOUNT_TRUST_LOADS if trust_loads else 0
        number = ffi.new("uint32_t *")
        status = lib.esk_py_volume_mount(device._handle, flags, number)
        few = device.geometry.block_count <= lib.ESK_KV_BARE_BLOCKS_MAX
        if status in _NO_VOLUME and few:
            bare = lib.esk_py_bare_mount(
                device._handle, flags, ffi.NULL, number
            )
            if bare not in _NO_VOLUME:
                check(bare, f"{device.name}: mount a bare kv store")
                return cls(device, number[0], device.geometry, owns, True)
        if status == lib.ESK_NOT_FOUND:
            raise error(
                status,
                f"{device.name}: mount",
                "format it first: Volume.format(device)",
                "no volume on this medium",
            )
        check(status, f"{device.name}: mount")
        return cls(device, number[0], device.geometry, owns)

    @classmethod
    def make_bare(
        cls,
        device: Device,
        *,
        id: int = 0,
        checksum: Checksum = "crc32c",
        live_percent: int = 0,
    ) -> Volume:
        """Makes a blank device a bare kv store, and mounts it; mounts the one
        that is there. Nothing is on the medium before the first sync.

        id            any number: its checksums start from it
        live_percent  as in create_kv()

        Raises Foreign when the medium has other data, Invalid, Corrupt,
        VersionError, GeometryError for a device of less than 3 or more than 64
        blocks, DeviceError, Busy. Costs a read of each page.
        """
        bare = ffi.new("struct esk_kv_bare *")
        fill(
            bare,
            id=id,
            checksum=_checksum_of(device, checksum, "make a bare kv store"),
            live_percent=live_percent,
        )
        number = ffi.new("uint32_t *")
        status = lib.esk_py_bare_mount(device._handle, 0, bare, number)
        check(status, f"{device.name}: make a bare kv store")
        return cls(device, number[0], device.geometry, False, True)

    @classmethod
    def salvage(cls, device: Device, *, owns: bool = False) -> Volume:
        """Mounts, read-only, a volume of which no superblock is left, from the
        pages of its catalog.

        owns  closing the volume closes the device too

        Raises NotFound when there is no catalog, DeviceError, Busy.
        Costs a short read a page of the first and last 32 blocks.
        """
        number = ffi.new("uint32_t *")
        status = lib.esk_py_volume_salvage(device._handle, number)
        if status == lib.ESK_NOT_FOUND:
            raise error(
                status,
                f"{device.name}: salvage",
                "check the geometry: --page, --block and --size of the device",
                "no page of a catalog is left",
            )
        check(status, f"{device.name}: salvage")
        return cls(device, number[0], device.geometry, owns)

    # Tables -----------------------------------------------------------------

    def open(
        self,
        name: str,
        *,
        frames: int = 0,
        erase_ahead: int = 0,
        key_index_bytes: int = 0,
        key_error_16ths: int = 0,
    ) -> Series:
        """Opens a series, and recovers it after a power cut.

        The options are those of struct esk_series_config; 0: the default.
        Raises NotFound, Busy, Corrupt, Unsupported, NoMemory, DeviceError.
        """
        table = self._table_of_kind(name, "series")
        config = ffi.new("struct esk_series_config *")
        fill(
            config,
            frames=frames,
            erase_ahead=erase_ahead,
            key_index_bytes=key_index_bytes,
            key_error_16ths=key_error_16ths,
        )
        out = ffi.new("struct esk_py_table **")
        self._check_name(
            lib.esk_py_series_open(
                self._handle, self._mount, name.encode(), config, out
            ),
            name,
        )
        return Series(self, table, out[0])

    def open_tree(
        self,
        name: str,
        *,
        frames: int = 0,
        lru_n: bool = False,
        erase_ahead: int = 0,
        merge: bool = False,
        write_frames: int | None = None,
    ) -> Tree:
        """Opens a tree. After a power cut, undoes or completes the change that
        was interrupted.

        frames  page frames; 0: 2. tnc: node frames; 0: 19
        lru_n   mu: caches nodes by level, rather than pages
        merge   joins nodes that deletes leave at half or less
        write_frames
                wandering, mu and tnc: how many of the frames may hold pages that
                are not yet written. Changes then wait until Tree.sync() or
                close(), and pages that they replace are never programmed. At
                most all frames but 1 (mu: 2); fewer than the height (mu: 1)
                have no effect. None, 0: a change is written when its call
                returns

        Raises NotFound, Busy, Corrupt, Unsupported (write_frames in place,
        too), Invalid for too few frames and for more write_frames than the
        frames leave, NoMemory for too few frames of a tall tnc tree,
        ReadOnly when a split has to be completed, DeviceError.
        """
        table = self._table_of_kind(name, "tree")
        config = ffi.new("struct esk_tree_config *")
        if write_frames:
            self._check_write_frames(table, frames, write_frames)
            fill(config, write_frames=write_frames)
            lib.esk_py_tree_caches_writes(config)
        fill(
            config,
            frames=frames,
            policy=lib.ESK_TREE_LRU_N if lru_n else lib.ESK_TREE_LRU_P,
            erase_ahead=erase_ahead,
        )
        if merge:
            lib.esk_py_tree_merges(config)
        out = ffi.new("struct esk_py_table **")
        status = lib.esk_py_tree_open(
            self._handle, self._mount, name.encode(), config, out
        )
        if status in (lib.ESK_E_INVALID, lib.ESK_E_NO_MEMORY) and frames:
            raise error(
                status,
                f"{self.device.name}: open tree '{name}'",
                "leave frames out, or ask for more: tnc takes 5, and 2 for each "
                "level above the first; others take 2",
                f"frames = {frames} are too few",
            )
        self._check_name(status, name)
        return Tree(self, table, out[0])

    def open_kv(self, name: str, keys: int = 0, replay_pages: int = 0) -> Kv:
        """Opens a kv table; a mapping.

        keys   that it gets room for, 4 to 8 bytes of RAM each; 0: as many as
               fit the table's blocks, or 2^20 if that is less; always for
               those that it has. Of a table with an index: changes in RAM;
               0: 1024
        replay_pages  with an index: most pages of the log that a later open
               has to read, about; 0: three quarters of `keys`. Fewer cost
               more programs

        Raises NotFound, Busy, Limit when the table has more keys, Corrupt,
        Unsupported, NoMemory, DeviceError. Costs a read of its log.
        """
        table = self._table_of_kind(name, "kv")
        config = ffi.new("struct esk_kv_config *")
        fill(config, keys=keys, replay_pages=replay_pages)
        out = ffi.new("struct esk_py_table **")
        status = lib.esk_py_kv_open(
            self._handle, self._mount, name.encode(), config, out
        )
        if status == lib.ESK_E_LIMIT:
            raise error(
                status,
                f"{self.device.name}: table '{name}'",
                "open it with more keys, or with keys=0",
                f"it has more than {keys:,} keys",
            )
        self._check_name(status, name)
        return Kv(self, table, out[0])

    def open_table(self, name: str) -> Series | Tree | Kv:
        """Opens a table of any kind. Raises as open(), open_tree() and
        open_kv()."""
        kind = self.table(name).kind
        if kind == "tree":
            return self.open_tree(name, frames=_TOOL_FRAMES)
        return self.open_kv(name) if kind == "kv" else self.open(name)

    def check(self) -> VolumeReport:
        """Reads both copies of the catalog.

        Returns what was found, damage included; raises DeviceError.
        """
        found = ffi.new("struct esk_volume_report *")
        status = lib.esk_py_volume_check(self._handle, self._mount, found)
        if status != lib.ESK_E_CORRUPT:
            self._check(status, "check the catalog")
        return counts_of(VolumeReport, found)

    def step(self, budget: int = 1) -> int:
        """Does up to `budget` block erases ahead; returns how many.

        Raises DeviceError, ReadOnly.
        """
        done = ffi.new("uint16_t *")
        self._check(
            lib.esk_py_volume_step(self._handle, self._mount, budget, done),
            "step",
        )
        return done[0]

    # State ------------------------------------------------------------------

    @property
    def checksum(self) -> str:
        """The checksum of a page: "crc32c", "crc16" or "none"."""
        number = self._state().checksum
        names = {value: name for name, value in _CHECKSUMS.items()}
        return names.get(number, f"unknown ({number})")

    @property
    def bare_id(self) -> int:
        """The number that the checksums of a bare store start from."""
        bare = ffi.new("struct esk_kv_bare *")
        self._check(
            lib.esk_py_bare_state(self._handle, self._mount, bare), "state"
        )
        return bare.id

    @property
    def commit(self) -> int:
        """Number of the newest catalog."""
        return self._state().commit

    @property
    def halves_whole(self) -> int:
        """How many of the two copies of the catalog are whole."""
        return self._state().half_valid.bit_count()

    @property
    def struct_bytes(self) -> int:
        """Bytes of RAM of a mounted volume, on this host."""
        return ffi.sizeof("struct esk_volume")

    def close(self) -> None:
        """Unmounts; a second close does nothing."""
        status = lib.esk_py_volume_unmount(self._handle, self._mount)
        if status != lib.ESK_PY_CLOSED:
            self._check(status, "unmount")
        if self._owns:
            self.device.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Volume on {self.device.name}>"

    # Inside -----------------------------------------------------------------

    def _table_of_kind(self, name: str, kind: str) -> Table:
        """Finds a table, and says how to open it when it is of another."""
        table = self.table(name)
        if table.kind != kind:
            calls = {
                "series": "open()",
                "tree": "open_tree()",
                "kv": "open_kv()",
            }
            call = calls.get(table.kind)
            raise error(
                lib.ESK_E_UNSUPPORTED,
                f"{self.device.name}: table '{name}'",
                f"use {call}" if call else "this build cannot open it",
                f"it is a {table.kind}, not a {kind}",
            )
        return table

    def _check_write_frames(
        self, table: Table, frames: int, write_frames: int
    ) -> None:
        """Raises what open_tree() raises for write_frames."""
        doing = f"{self.device.name}: open tree '{table.name}'"
        if table.store not in MOVING_STORES:
            raise error(
                lib.ESK_E_UNSUPPORTED,
                doing,
                "leave write_frames out",
                f"the store {table.store} writes each node in place, and has "
                "no write cache",
            )
        others = 2 if table.store == "mu" else 1
        if not 0 < write_frames <= max(frames, 2) - others:
            raise error(
                lib.ESK_E_INVALID,
                doing,
                f"ask for 1 .. frames - {others}, so that reads have frames",
                f"write_frames = {write_frames} of {max(frames, 2)} frames",
            )


def open(
    path: str | os.PathLike[str],
    *,
    read_only: bool = True,
    geometry: Geometry | None = None,
) -> Volume:
    """Opens an image file and mounts its volume, or its bare kv store, which
    is a volume of one kv table named "kv"; closing closes both.

    read_only   the default: the file is never written
    geometry    None: read from the image itself

    Raises NotFound when the file holds no volume, VersionError,
    GeometryError, Corrupt, DeviceError.
    """
    device = ImageFile(path, geometry, read_only=read_only)
    try:
        return Volume.mount(device, read_only=read_only, owns=True)
    except BaseException:
        device.close()
        raise


def _checksum_of(device: Device, name: str, doing: str) -> int:
    """Returns the core's number of a checksum. Raises Invalid."""
    if name not in _CHECKSUMS:
        raise error(
            lib.ESK_E_INVALID,
            f"{device.name}: {doing}",
            f"choose one of {', '.join(_CHECKSUMS)}",
            f"unknown checksum '{name}'",
        )
    return _CHECKSUMS[name]
