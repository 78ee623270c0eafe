# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The tables of a mounted volume: listed, made, changed and dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eskerdb._esker import ffi, lib
from eskerdb.catalog import (
    FULL,
    Codec,
    FullPolicy,
    Store,
    Table,
    columns_of,
    count_blocks,
    fault_error,
    indexes_of,
    position_of,
    text_of,
)
from eskerdb.descriptor import table_of
from eskerdb.errors import NotFound, check, error, schema_error
from eskerdb.handle import Mount
from eskerdb.schema import (
    CODECS,
    STORES,
    Column,
    Index,
    RowCodec,
    bytes_of,
)
from eskerdb.structs import fill


class Tables(Mount):
    """The catalog of a volume.

    is_bare   there is none: the device is a bare kv store
    """

    is_bare: bool

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
        codec: Codec = "raw",
        cell_bytes: int = 0,
    ) -> Table:
        """Creates a series table and returns its catalog entry.

        key       the key column's name; None: the first column
        indexes   value indexes; a plain name takes Index's defaults
        full      "drop_oldest": drops the oldest block; "refuse": raises Full
        keys_repeat
                  consecutive rows may have the same key
        version   of the schema: your own number for it
        codec     "packed": pages hold differences of rows; docs/packed.md
        cell_bytes
                  of a packed series: what a get decodes at most, a power of
                  two from 64 to a page; 0: 256, or 512 for rows above 20 bytes

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
            codec=_codec_of(name, codec),
            cell_bytes=cell_bytes,
        )
        return self._create(
            lib.esk_py_volume_create, spec, name, columns, wanted
        )

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
        if k_percent and store not in ("mu", "tnc"):
            raise schema_error(
                f"create table '{name}': k is of the stores mu and tnc, not of "
                f"{store}; leave it out"
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


def _codec_of(name: str, codec: str) -> int:
    """Returns the number of a codec. Raises SchemaError."""
    if codec not in CODECS:
        raise schema_error(
            f"create table '{name}': no codec '{codec}'; choose one of "
            f"{', '.join(CODECS)}"
        )
    return CODECS[codec]


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
