# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Volumes: one device, its catalog of tables."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from eskerdb._esker import ffi, lib
from eskerdb.catalog import (
    FULL,
    MOVING_STORES,
    FullPolicy,
    Store,
    Table,
    VolumeReport,
    columns_of,
    count_blocks,
    fault_error,
    indexes_of,
    position_of,
    text_of,
)
from eskerdb.descriptor import table_of
from eskerdb.device import Device, Geometry, ImageFile
from eskerdb.errors import (
    NotFound,
    check,
    error,
    schema_error,
)
from eskerdb.handle import Mount
from eskerdb.kv import Kv
from eskerdb.schema import STORES, Column, Index, RowCodec, bytes_of
from eskerdb.series import Series
from eskerdb.structs import counts_of, fill
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


class Volume(Mount):
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

    def create(
        self,
        name: str,
        columns: Sequence[Column],
        *,
        key: str | None = None,
        indexes: Sequence[Index | str] = (),
        full: FullPolicy = "drop_oldest",
        group_pages: int = 0,
        run_pages: int = 0,
        data_blocks: int = 0,
        index_blocks: int = 0,
        var_blocks: int = 0,
        keys_repeat: bool = False,
        version: int = 0,
    ) -> Table:
        """Creates a series table and returns its catalog entry.

        key       the key column's name; None: the first column
        indexes   value indexes; a plain name takes Index's defaults
        full      "drop_oldest": drops the oldest block; "refuse": raises Full
        keys_repeat
                  consecutive rows may have the same key
        version   of the schema: your own number for it

        The sizes are in pages and blocks; 0: the core's default. Raises
        SchemaError naming the column, Exists, NoSpace, ReadOnly, DeviceError.
        Costs two meta halves erased and programmed.
        """
        kept: list[Any] = []
        wanted = [Index(i) if isinstance(i, str) else i for i in indexes]
        spec = ffi.new("struct esk_series_spec *")
        _fill_table(spec.table, kept, name, columns, key, version)
        spec.indexes = indexes_of(kept, columns, wanted)
        fill(
            spec,
            index_count=len(wanted),
            full_policy=FULL[full],
            group_pages=group_pages,
            run_pages=run_pages,
            data_blocks=data_blocks,
            index_blocks=index_blocks,
            var_blocks=var_blocks,
            keys_repeat=keys_repeat,
        )
        return self._create(
            lib.esk_py_volume_create, spec, name, columns, wanted
        )

    def add_columns(
        self,
        name: str,
        columns: Sequence[Column],
        older: Mapping[str, Any] | None = None,
        *,
        version: int = 0,
    ) -> Table:
        """Adds columns to a series, after its own; returns its new entry.

        older     their values in the existing rows; None: zeros
        version   of the schema: your own number for it

        No row is rewritten. Raises SchemaError naming the column, Busy when
        the table is open, Limit after four such changes, NoSpace, ReadOnly,
        DeviceError. Costs an open and a catalog write.
        """
        table = self._table_of_kind(name, "series")
        every = [*table.columns, *columns]
        kept: list[Any] = []
        spec = ffi.new("struct esk_table_spec *")
        _fill_table(spec, kept, name, every, table.key, version)
        row = _row_of(every, columns, older)
        fault = ffi.new("struct esk_fault *")
        status = lib.esk_py_series_add_columns(
            self._handle, self._mount, spec, row, fault
        )
        doing = f"add columns to table '{name}'"
        if status == lib.ESK_E_SCHEMA:
            raise fault_error(doing, every, (), fault)
        _check_fault(status, f"{self.device.name}: {doing}", fault)
        return self.table(name)

    def create_tree(
        self,
        name: str,
        columns: Sequence[Column],
        *,
        key: str | None = None,
        store: Store = "mu",
        k_percent: int = 0,
        blocks: int = 0,
        version: int = 0,
    ) -> Table:
        """Creates a tree table and returns its catalog entry.

        key        the key column's name, of any fixed-width type; None: the
                   first column
        store      where nodes live: "inplace" and "journaled" overwrite
                   pages, "wandering" and "mu" work on any medium
        k_percent  mu: share of a page its leaf gets, 10 .. 90; 0: 50
        blocks     of its region; 0: what is left of the device
        version    of the schema: your own number for it

        Raises SchemaError naming the column, Unsupported when the medium is
        not one for the store, Exists, NoSpace, ReadOnly, DeviceError.
        """
        if store not in STORES:
            raise schema_error(
                f"create table '{name}': no store '{store}'; choose one of "
                f"{', '.join(STORES)}"
            )
        if k_percent and store != "mu":
            raise schema_error(
                f"create table '{name}': k is of the store mu, not of {store}; "
                "leave it out"
            )
        kept: list[Any] = []
        spec = ffi.new("struct esk_tree_spec *")
        _fill_table(spec.table, kept, name, columns, key, version)
        fill(spec, store=STORES[store], k_percent=k_percent, blocks=blocks)
        return self._create(
            lib.esk_py_tree_create,
            spec,
            name,
            columns,
            (),
            "the medium cannot overwrite pages: use the store wandering or mu",
        )

    def create_kv(
        self,
        name: str,
        blocks: int = 0,
        live_percent: int = 0,
        version: int = 0,
        index_keys: int = 0,
    ) -> Table:
        """Creates a kv table and returns its catalog entry.

        blocks        at least 3; 0: the longest free run
        live_percent  most bytes that the newest values may take, in percent of
                      all blocks but one, at most 95; 0: 75. Above 75 each
                      update moves many others
        version       your own number for what the keys mean
        index_keys    0: an open table has all its keys in RAM. Else it gets an
                      index, in blocks beside `blocks`, and has at most so many

        Raises SchemaError, Exists, NoSpace, ReadOnly, DeviceError.
        """
        if 0 < blocks < lib.ESK_KV_BLOCKS_MIN:
            raise schema_error(
                f"create table '{name}': a kv table of {count_blocks(blocks)}; "
                f"ask for at least {lib.ESK_KV_BLOCKS_MIN}"
            )
        kept: list[Any] = []
        spec = ffi.new("struct esk_kv_spec *")
        spec.name = text_of(kept, name)
        fill(
            spec,
            blocks=blocks,
            live_percent=live_percent,
            version=version,
            index_keys=index_keys,
        )
        return self._create(lib.esk_py_kv_create, spec, name, (), ())

    def drop(self, name: str) -> None:
        """Drops a table; its blocks can be used again at once.

        Raises NotFound, Busy when it is open, ReadOnly, Unsupported for a bare
        store, DeviceError.
        """
        self._check_catalog(f"drop table '{name}'")
        self._check_name(
            lib.esk_py_volume_drop(self._handle, self._mount, name.encode()),
            name,
        )

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

        frames  page frames; 0: 2
        lru_n   mu: caches nodes by level, rather than pages
        merge   joins nodes that deletes leave at half or less
        write_frames
                wandering and mu: how many of the frames may hold pages that
                are not yet written. Changes then wait until Tree.sync() or
                close(), and pages that they replace are never programmed. At
                most all frames but 1 (mu: 2); fewer than the height (mu: 1)
                have no effect. None, 0: a change is written when its call
                returns

        Raises NotFound, Busy, Corrupt, Unsupported (write_frames in place,
        too), Invalid for more write_frames than the frames leave, NoMemory,
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
        self._check_name(
            lib.esk_py_tree_open(
                self._handle, self._mount, name.encode(), config, out
            ),
            name,
        )
        return Tree(self, table, out[0])

    def open_kv(self, name: str, keys: int = 0) -> Kv:
        """Opens a kv table; a mapping.

        keys   that it gets room for, 4 to 8 bytes of RAM each; 0: as many as
               fit the table's blocks, or 2^20 if that is less; always for
               those that it has. Of a table with an index: changes in RAM;
               0: 1024

        Raises NotFound, Busy, Limit when the table has more keys, Corrupt,
        Unsupported, NoMemory, DeviceError. Costs a read of its log.
        """
        table = self._table_of_kind(name, "kv")
        config = ffi.new("struct esk_kv_config *")
        fill(config, keys=keys)
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

    def tables(self) -> list[Table]:
        """Lists the tables, also those of a newer version that this version
        cannot open. A lost descriptor is left out: check() reports it.

        Raises DeviceError.
        """
        cursor = ffi.new("uint16_t *")
        result = []
        while True:
            info = ffi.new("struct esk_table_info *")
            status = lib.esk_py_volume_list(
                self._handle, self._mount, cursor, info
            )
            if status == lib.ESK_END:
                return result
            if status == lib.ESK_E_CORRUPT:
                continue
            self._check(status, "list tables")
            result.append(table_of(self, info))

    def check(self) -> VolumeReport:
        """Reads both copies of the catalog.

        Returns what was found, damage included; raises DeviceError.
        """
        found = ffi.new("struct esk_volume_report *")
        status = lib.esk_py_volume_check(self._handle, self._mount, found)
        if status != lib.ESK_E_CORRUPT:
            self._check(status, "check the catalog")
        return counts_of(VolumeReport, found)

    def table(self, name: str) -> Table:
        """Finds a table's catalog entry. Raises NotFound, DeviceError."""
        info = ffi.new("struct esk_table_info *")
        self._check_name(
            lib.esk_py_volume_find(
                self._handle, self._mount, name.encode(), info
            ),
            name,
        )
        return table_of(self, info)

    def __contains__(self, name: object) -> bool:
        try:
            self.table(str(name))
        except NotFound:
            return False
        return True

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

    def _create(
        self,
        create: Any,
        spec: Any,
        name: str,
        columns: Sequence[Column],
        indexes: Sequence[Index],
        unsupported: str = "",
    ) -> Table:
        """Creates a table by `create`, a call of the core.

        unsupported  what to do about ESK_E_UNSUPPORTED
        """
        self._check_catalog(f"create table '{name}'")
        if name in self:
            raise error(
                lib.ESK_E_EXISTS, f"{self.device.name}: create table '{name}'"
            )
        fault = ffi.new("struct esk_fault *")
        status = create(self._handle, self._mount, spec, fault)
        if status == lib.ESK_E_SCHEMA:
            raise fault_error(
                f"{self.device.name}: create table '{name}'",
                columns,
                indexes,
                fault,
            )
        if status == lib.ESK_E_UNSUPPORTED and unsupported:
            raise error(
                status,
                f"{self.device.name}: create table '{name}'",
                unsupported,
            )
        doing = f"{self.device.name}: create table '{name}'"
        if fault.kind == lib.ESK_FAULT_NO_ROOM:
            wanted = count_blocks(fault.wanted)
            raise error(
                status,
                doing,
                text=f"no free run of blocks is long enough: the table wants "
                f"{wanted}, the longest free run has "
                f"{count_blocks(fault.found)} of {self.geometry.block_count:,}",
            )
        _check_fault(status, doing, fault)
        return self.table(name)

    def _check_catalog(self, doing: str) -> None:
        """Raises Unsupported when there is none: on a bare kv store."""
        if self.is_bare:
            raise error(
                lib.ESK_E_UNSUPPORTED,
                f"{self.device.name}: {doing}",
                "make a volume on another device",
                "it is a bare kv store, whose one table has all blocks",
            )

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

    def _check_name(self, status: int, name: str) -> None:
        """Checks a call that searched for table `name`."""
        if status == lib.ESK_NOT_FOUND:
            names = [table.name for table in self.tables()]
            have = (
                f"the image has {', '.join(names)}" if names else "it has none"
            )
            raise error(
                status,
                self.device.name,
                have,
                f"no table '{name}'",
            )
        self._check(status, f"table '{name}'")


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


def _fill_table(
    spec: Any,
    kept: list[Any],
    name: str,
    columns: Sequence[Column],
    key: str | None,
    version: int,
) -> None:
    """Fills what tables of every kind say; `kept` holds what it points to."""
    spec.name = text_of(kept, name)
    spec.columns = columns_of(kept, columns)
    fill(
        spec,
        column_count=len(columns),
        key_column=position_of(columns, key, f"key of '{name}'") if key else 0,
        version=version,
    )
    spec.row_bytes = lib.esk_row_bytes(spec.columns, spec.column_count)


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


def _row_of(
    every: Sequence[Column],
    added: Sequence[Column],
    values: Mapping[str, Any] | None,
) -> Any:
    """Packs a row of `every` column that has `values` in those added."""
    if values is None:
        return ffi.NULL
    offsets = [bytes_of(added[:i]) for i in range(len(added))]
    width = bytes_of(added)
    packed, _ = RowCodec(added, offsets, width).pack(values)
    return bytes(bytes_of(every) - width) + packed


def _check_fault(status: int, doing: str, fault: Any) -> None:
    """As check(), with a message of its own for a full catalog."""
    if fault.kind == lib.ESK_FAULT_TOO_LARGE:
        text = ffi.string(lib.esk_fault_text(fault.kind)).decode()
        raise error(status, doing, "", text)
    check(status, doing)
