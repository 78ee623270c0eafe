# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Salvage: the readable rows of a damaged image, in a new one.

The image is copied first and never changed. What is missing at its end is
filled up with erased bytes. Where no superblock is left, the catalog's own
pages are looked for: the checksum of such a page gives the volume's seed, and
with it a superblock is made for the copy. Then the copy is read as any volume,
read-only, and what it gives is written to the new image.
"""

from __future__ import annotations

import os
import shutil
import struct
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eskerdb._esker import ffi, lib
from eskerdb.catalog import Table
from eskerdb.device import Geometry, ImageFile
from eskerdb.errors import Corrupt, EskerError, Foreign, NotFound, error
from eskerdb.series import Series
from eskerdb.volume import Volume

_POLYNOMIAL = 0x82F63B78  # CRC-32C, reflected
_MASK = 0xFFFFFFFF
_CATALOG_KIND, _SUPER_KIND = 0x52, 0x51
_ENVELOPE, _SUPER_BYTES = 16, 72  # of an envelope, and a superblock behind it
_CHECKSUMS = range(3)
_BATCH_ROWS = 4096


@dataclass(frozen=True)
class SalvagedTable:
    """What became of one table.

    rows            in the new image
    rows_missing    that were written and are not readable, at least; 0 also
                    where nobody can know, as of a tree
    pages_damaged   that are not valid where rows should be
    values_missing  variable values that are lost: empty in the new image
    problem         why nothing, or not all that is there, was taken; "": no
    """

    name: str
    kind: str
    rows: int = 0
    rows_missing: int = 0
    pages_damaged: int = 0
    values_missing: int = 0
    problem: str = ""


@dataclass(frozen=True)
class Salvage:
    """What salvage() found.

    bytes_missing   at the end of the image
    catalog         "whole", "one copy", or "from its pages" where there is
                    no superblock
    """

    tables: tuple[SalvagedTable, ...]
    bytes_missing: int
    catalog: str


def salvage(
    image: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    geometry: Geometry | None = None,
) -> Salvage:
    """Writes the readable rows of `image` to the new image `out`.

    geometry   the device's; needed where no superblock is left

    Raises NotFound when there is no trace of a catalog, Exists when `out` is
    there, and what opening an image raises.
    """
    found = geometry or _geometry(os.fspath(image))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.img"
        shutil.copyfile(image, copy)
        missing = _fill_up(copy, found)
        try:
            volume = _mount(copy, found)
            whole = volume.halves_whole
            catalog = "whole" if whole == 2 else "one copy"
        except (NotFound, Corrupt, Foreign):
            if not _make_superblock(copy, found):
                raise
            volume = _mount(copy, found)
            catalog = "from its pages"
        with volume:
            tables = _copy_tables(volume, os.fspath(out), found)
    return Salvage(tables, missing, catalog)


def _geometry(image: str) -> Geometry:
    """Reads the geometry from a superblock, however long the file is."""
    found = ffi.new("struct esk_geometry *")
    status = lib.esk_image_probe(os.fsencode(image), found)
    if status != lib.ESK_OK:
        raise error(
            status,
            f"image {image}",
            "say the device's geometry",
            "no superblock is left to read it from",
        )
    return Geometry.take(found)


def _fill_up(copy: Path, geometry: Geometry) -> int:
    """Makes the copy as long as the device; returns the bytes it lacked."""
    size = copy.stat().st_size
    lacking = max(geometry.bytes - size, 0)
    with copy.open("r+b") as file:
        file.truncate(min(size, geometry.bytes))
        file.seek(0, os.SEEK_END)
        for at in range(0, lacking, 1 << 20):
            length = min(1 << 20, lacking - at)
            file.write(bytes([geometry.erased_value]) * length)
    return lacking


def _mount(copy: Path, geometry: Geometry) -> Volume:
    device = ImageFile(copy, geometry, read_only=True)
    try:
        return Volume.mount(device, read_only=True, owns=True)
    except BaseException:
        device.close()
        raise


# A superblock from catalog pages ---------------------------------------------


def _crc_forward(register: int, data: bytes) -> int:
    for byte in data:
        register ^= byte
        for _ in range(8):
            odd = register & 1
            register = (register >> 1) ^ (_POLYNOMIAL if odd else 0)
    return register


def _crc_backward(register: int, data: bytes) -> int:
    """The register before `data` went through it."""
    for byte in reversed(data):
        for _ in range(8):
            odd = register >> 31
            register ^= _POLYNOMIAL if odd else 0
            register = (register << 1 | odd) & _MASK
        register ^= byte
    return register


def _catalog_seed(page: bytes) -> int:
    """The seed with which the page's checksum is right."""
    (stored,) = struct.unpack_from("<I", page)
    return ~_crc_backward(~stored & _MASK, page[4:]) & _MASK


def _make_superblock(copy: Path, geometry: Geometry) -> bool:
    """Writes the newest catalog that its pages give, and a superblock, to the
    copy's first blocks. Returns whether there was one."""
    pages: dict[tuple[int, int], dict[int, bytes]] = {}
    seeds: Counter[int] = Counter()
    with copy.open("rb") as file:
        for number in range(geometry.pages):
            page = file.read(geometry.page_bytes)
            if page[6:8] != bytes([_CATALOG_KIND, 0]):
                continue
            seed = _catalog_seed(page)
            (commit,) = struct.unpack_from("<I", page, 8)
            seeds[seed] += 1
            pages.setdefault((seed, commit), {})[number] = page
    if not pages:
        return False
    seed = seeds.most_common(1)[0][0]
    commit = max(of for at, of in pages if at == seed)
    catalog = _in_order(pages[seed, commit])
    half = -(-(len(catalog) + 1) // geometry.block_pages)
    half_pages = half * geometry.block_pages
    with copy.open("r+b") as file:
        for number, page in enumerate(catalog):
            file.seek(number * geometry.page_bytes)
            file.write(page)
        for checksum in _CHECKSUMS:
            file.seek((half_pages - 1) * geometry.page_bytes)
            file.write(
                _superblock(
                    geometry, seed, commit, half, len(catalog), checksum
                )
            )
            file.flush()
            if _has_rows(copy, geometry):
                return True
    return True


def _in_order(found: dict[int, bytes]) -> list[bytes]:
    """The catalog's pages, one copy of each, in order."""
    catalog: list[bytes] = []
    for number in sorted(found):
        if found[number] not in catalog:
            catalog.append(found[number])
    return catalog


def _superblock(
    geometry: Geometry,
    seed: int,
    commit: int,
    half: int,
    catalog: int,
    checksum: int,
) -> bytes:
    """A superblock's page; FORMAT.md, "Superblock"."""
    body = struct.pack(
        "<8sHBBIII16sIHHHHBBBBIIHHI",
        b"EskerDB\0", 1, checksum, 8, 0, 0, 0, bytes(16),
        geometry.block_count, geometry.block_pages, geometry.page_bytes,
        geometry.spare_bytes, geometry.program_bytes,
        geometry.programs_per_page_max, geometry.erased_value,
        lib.ESK_MEDIUM_OVERWRITE if geometry.overwrite else 0, 1,
        seed, half, half * geometry.block_pages, catalog, 0,
    )  # fmt: skip
    rest = struct.pack("<HBBII", _SUPER_BYTES, _SUPER_KIND, 0, commit, 0)
    page = (rest + body).ljust(
        geometry.page_bytes - 4, bytes([geometry.erased_value])
    )
    return struct.pack("<I", ~_crc_forward(_MASK, page) & _MASK) + page


def _has_rows(copy: Path, geometry: Geometry) -> bool:
    """Whether some table of the copy has a row: its checksum is right."""
    try:
        with _mount(copy, geometry) as volume:
            return any(
                not table.problem and _count(volume, table.name) > 0
                for table in volume.tables()
            )
    except EskerError:
        return False


def _count(volume: Volume, name: str) -> int:
    try:
        with volume.open_table(name) as table:
            return table.count()
    except EskerError:
        return 0


# Rows ---------------------------------------------------------------------


def _copy_tables(
    volume: Volume, out: str, geometry: Geometry
) -> tuple[SalvagedTable, ...]:
    tables = volume.tables()
    device = ImageFile(out, geometry, create=True, read_only=False)
    with device, Volume.format(device, tables_max=max(len(tables), 8)) as new:
        return tuple(_copy_table(volume, new, table) for table in tables)


def _copy_table(volume: Volume, new: Volume, table: Table) -> SalvagedTable:
    """Copies what can be read of one table; a failure is said, not raised."""
    if table.problem:
        return SalvagedTable(table.name, table.kind, problem=table.problem)
    rows = 0
    facts: dict[str, Any] = {}
    try:
        with volume.open_table(table.name) as old, _created(new, table) as made:
            facts = _facts(old)
            for batch in old.scan().reader():
                rows += _take(made, batch)
    except EskerError as failure:
        return SalvagedTable(
            table.name, table.kind, rows, problem=str(failure), **facts
        )
    return SalvagedTable(table.name, table.kind, rows, **facts)


def _facts(old: Any) -> dict[str, int]:
    report = old.check()
    if isinstance(old, Series):
        return {
            "rows_missing": report.rows_missing,
            "pages_damaged": report.pages_damaged,
            "values_missing": report.values_missing,
        }
    return {"pages_damaged": report.pages_damaged}


def _created(new: Volume, table: Table) -> Any:
    data, index, var, sync = table.blocks
    if table.kind == "tree":
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
        )
    return new.open_table(table.name)


def _take(made: Any, batch: Any) -> int:
    """Writes a batch of rows; a value that is lost is empty."""
    import pyarrow

    table = pyarrow.Table.from_batches([batch])
    for at, column in enumerate(table.columns):
        if column.null_count:
            empty = "" if pyarrow.types.is_string(column.type) else b""
            table = table.set_column(
                at, table.schema.field(at), column.fill_null(empty)
            )
    written = made.append_many if isinstance(made, Series) else made.put_many
    written(table)
    return table.num_rows
