# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Salvage: the readable rows and keys of a damaged image, in a new one.

The image is only read. Bytes that are missing at its end read as erased.
Where no superblock is left the volume is mounted from the pages of its
catalog; see include/esker/salvage.h.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eskerdb._esker import ffi, lib
from eskerdb.catalog import Table
from eskerdb.device import Geometry, ImageFile, probe_any
from eskerdb.errors import Corrupt, EskerError, Foreign, NotFound, error
from eskerdb.kv import Key, Kv
from eskerdb.kv_value import decode_key
from eskerdb.series import Series
from eskerdb.volume import Volume

_STEP_ROWS = 4096
_FAILED_MOST = 1000  # reads that fail one after another


@dataclass(frozen=True)
class Gap:
    """Where rows of a series are lost: between two keys.

    after   key of the row before the gap; None: it begins with the table
    before  key of the row behind it; None: it ends with the table
    """

    after: int | None
    before: int | None


@dataclass(frozen=True)
class SalvagedTable:
    """What became of one table.

    rows            rows in the new image; of a kv table its keys
    rows_missing    rows known to be lost, at least; 0 also where the number
                    is not known, as for a tree. Of a kv table keys that could
                    not be copied
    pages_damaged   pages of rows that are not valid. Of a kv table older
                    values of the keys there may be back
    values_missing  lost variable values: empty in the new image
    gaps            where rows of a series are lost
    keys_missing    keys of a kv table that are lost, as far as they are known
    problem         why none or not all of the readable rows were copied; "":
                    all were
    """

    name: str
    kind: str
    rows: int = 0
    rows_missing: int = 0
    pages_damaged: int = 0
    values_missing: int = 0
    gaps: tuple[Gap, ...] = ()
    keys_missing: tuple[Key, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class Salvage:
    """What salvage() found.

    bytes_missing   at the end of the image
    catalog         "whole", "one copy", or "from its pages": no superblock;
                    "none": it is a bare kv store
    pages_lost      catalog pages that no copy has: tables may be missing
    """

    tables: tuple[SalvagedTable, ...]
    bytes_missing: int
    catalog: str
    pages_lost: int = 0


def salvage(
    image: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    geometry: Geometry | None = None,
) -> Salvage:
    """Writes the readable rows and keys of `image` to the new image `out`.

    geometry   the device's; needed where no superblock is left, and no head of
               a bare kv store

    Raises NotFound when there is no trace of a catalog, Exists when `out` is
    there, and what opening an image raises.
    """
    found = geometry or _geometry(os.fspath(image))
    missing = max(found.bytes - Path(image).stat().st_size, 0)
    with ImageFile(image, found, salvage=True) as device:
        volume, catalog = _mounted(device)
        with volume:
            lost = volume.check().pages_lost
            tables = _copy_tables(volume, os.fspath(out), found)
    return Salvage(tables, missing, catalog, lost)


def _mounted(device: ImageFile) -> tuple[Volume, str]:
    """Mounts what is left; returns it and what became of its catalog."""
    is_bare = False
    try:
        volume = Volume.mount(device, read_only=True)
        is_bare = volume.is_bare
        if not is_bare:
            return volume, "whole" if volume.halves_whole == 2 else "one copy"
        volume.close()  # it may be older than a catalog without superblock
    except (NotFound, Corrupt, Foreign):
        pass
    try:
        return Volume.salvage(device), "from its pages"
    except NotFound:
        if not is_bare:
            raise
    return Volume.mount(device, read_only=True), "none"


def _reason(image: str) -> str:
    """Returns why a file cannot be read."""
    try:
        with open(image, "rb"):
            return "it cannot be read"
    except OSError as cause:
        return cause.strerror or str(cause)


def _geometry(image: str) -> Geometry:
    """Reads the geometry from a superblock, or from a head of a bare store,
    however long the file is."""
    status, found, has = probe_any(image)
    if status == lib.ESK_E_IO:
        raise error(status, f"image {image}", "", _reason(image))
    if status != lib.ESK_OK:
        raise error(
            status,
            f"image {image}",
            "state the device's geometry with --size, --page and --block; if "
            "the device's first bytes are missing from the file, put as many "
            "zeros in front of it",
            "no superblock is left where it belongs"
            if has == "a superblock" or status == lib.ESK_NOT_FOUND
            else f"it has {has}, but no valid one",
        )
    return Geometry.take(found)


def _copy_tables(
    volume: Volume, out: str, geometry: Geometry
) -> tuple[SalvagedTable, ...]:
    tables = volume.tables()
    if volume.is_bare:
        return _copy_bare(volume, tables[0], out, geometry)
    device = ImageFile(out, geometry, create=True, read_only=False)
    with device, Volume.format(device, tables_max=max(len(tables), 8)) as new:
        return tuple(_copy_table(volume, new, table) for table in tables)


def _copy_bare(
    volume: Volume, table: Table, out: str, geometry: Geometry
) -> tuple[SalvagedTable, ...]:
    """Copies a bare store. Its head does not say how pages are programmed: as
    on NOR flash, which gives values the most room."""
    shape = replace(geometry, program_bytes=1, programs_per_page_max=0)
    device = ImageFile(out, shape, create=True, read_only=False)
    with (
        device,
        Volume.make_bare(
            device,
            id=volume.bare_id,
            checksum=volume.checksum,
            live_percent=table.live_percent,
        ) as new,
    ):
        return (_copy_table(volume, new, table),)


def _copy_table(volume: Volume, new: Volume, table: Table) -> SalvagedTable:
    """Copies the readable rows of one table; returns a failure in `problem`."""
    found: dict[str, Any] = {}
    problem = table.problem
    if not problem:
        try:
            with (
                volume.open_table(table.name) as old,
                _created(new, table) as made,
            ):
                found |= _facts(old)
                copy = _copy_of(old, made)
                try:
                    copy.run()
                    problem = copy.problem()
                finally:
                    found |= copy.facts()
        except EskerError as failure:
            problem = str(failure)
    return SalvagedTable(table.name, table.kind, problem=problem, **found)


def _facts(old: Any) -> dict[str, int]:
    report = old.check()
    if isinstance(old, Kv):
        return {"pages_damaged": report.pages_lost}
    if isinstance(old, Series):
        return {
            "rows_missing": report.rows_missing,
            "pages_damaged": report.pages_damaged,
            "values_missing": report.values_missing,
        }
    return {"pages_damaged": report.pages_damaged}


def _created(new: Volume, table: Table) -> Any:
    data, index, var, sync = table.blocks[:4]
    if table.kind == "kv":
        if not new.is_bare:
            new.create_kv(
                table.name,
                data,
                live_percent=table.live_percent,
                version=table.version,
                index_keys=table.index_keys,
            )
    elif table.kind == "tree":
        new.create_tree(
            table.name,
            table.columns,
            key=table.key,
            store=table.store,
            k_percent=table.k_percent,
            blocks=data,
            version=table.version,
        )
    else:
        new.create(
            table.name,
            table.columns,
            key=table.key,
            indexes=table.indexes,
            full=table.full,
            data_blocks=data + sync,
            index_blocks=index,
            var_blocks=var,
            keys_repeat=table.keys_repeat,
            version=table.version,
            codec=table.codec,
            cell_bytes=table.cell_bytes,
        )
    return new.open_table(table.name)


def _copy_of(old: Any, made: Any) -> _Copy | _KvCopy:
    return _KvCopy(old, made) if isinstance(old, Kv) else _Copy(old, made)


class _KvCopy:
    """The copy of a kv table's keys."""

    def __init__(self, old: Kv, made: Kv) -> None:
        self._old = old
        self._made = made
        self._missing: list[Key] = []
        self._copy = ffi.new("struct esk_kv_copy *")
        self._value = ffi.new("uint8_t[]", old.volume.geometry.block_bytes)

    def run(self) -> None:
        """Copies all keys. Raises what reading and writing raise."""
        status = self._step(begin=True)
        while status != lib.ESK_END:
            # A key that cannot be read is passed after the second try.
            if status == lib.ESK_NOT_FOUND and self._copy.key_bytes:
                raw = ffi.buffer(self._copy.key, self._copy.key_bytes)
                self._missing.append(decode_key(bytes(raw)))
            elif status not in (lib.ESK_OK, lib.ESK_NOT_FOUND, lib.ESK_E_IO):
                raise error(status, f"table '{self._old.name}': copy")
            status = self._step(begin=False)
        self._made.sync()

    def problem(self) -> str:
        return ""

    def facts(self) -> dict[str, Any]:
        """What was copied, for SalvagedTable."""
        return {
            "rows": self._copy.keys,
            "rows_missing": self._copy.keys_lost,
            "keys_missing": tuple(self._missing),
        }

    def _step(self, *, begin: bool) -> int:
        return lib.esk_py_kv_copy(
            self._old._handle, self._made._handle, self._copy, begin,
            self._value, len(self._value), _STEP_ROWS,
        )  # fmt: skip


class _Copy:
    """The copy of one table's rows."""

    def __init__(self, old: Any, made: Any) -> None:
        self._old = old
        self._made = made
        self._gaps: list[Gap] = []
        self._is_series = isinstance(old, Series)
        self._row = ffi.new("uint8_t[]", old.table.row_bytes)
        if self._is_series:
            self._copy = ffi.new("struct esk_series_copy *")
            # No value is longer than the region that it is in.
            region = old.table.blocks[2] * old.volume.geometry.block_bytes
            self._value = ffi.new("uint8_t[]", region)
        else:
            self._copy = ffi.new("struct esk_tree_copy *")

    def run(self) -> None:
        """Copies all rows. Raises what reading and writing raise."""
        status = self._step(begin=True)
        failed = 0
        while status != lib.ESK_END:
            # A page of `old` that cannot be read is passed: a gap.
            failed = failed + 1 if status == lib.ESK_E_IO else 0
            if status == lib.ESK_NOT_FOUND and self._is_series:
                self._gaps.append(self._gap())
            elif status not in (lib.ESK_OK, lib.ESK_NOT_FOUND) and (
                status != lib.ESK_E_IO or failed > _FAILED_MOST
            ):
                raise error(status, f"table '{self._old.name}': copy")
            status = self._step(begin=False)
        self._made.sync()

    def problem(self) -> str:
        """Why not all rows that were copied are in the new table; ""."""
        dropped = self._copy.rows - self._made.count()
        return f"no room for the {dropped:,} oldest rows" if dropped > 0 else ""

    def facts(self) -> dict[str, Any]:
        """What was copied, for SalvagedTable."""
        return {"rows": self._copy.rows, "gaps": tuple(self._gaps)}

    def _step(self, *, begin: bool) -> int:
        old, made = self._old._handle, self._made._handle
        if self._is_series:
            return lib.esk_py_series_copy(
                old, made, self._copy, begin, self._row, self._value,
                len(self._value), _STEP_ROWS,
            )  # fmt: skip
        return lib.esk_py_tree_copy(
            old, made, self._copy, begin, self._row, _STEP_ROWS
        )

    def _gap(self) -> Gap:
        copy = self._copy
        return Gap(
            self._key(copy.after) if copy.has_after else None,
            self._key(copy.before) if copy.has_before else None,
        )

    def _key(self, bits: int) -> int:
        """The key's value: bits are sign-extended where its type is signed."""
        low, _ = self._old.key.limits
        return bits - (1 << 64) if low < 0 and bits >> 63 else bits
