# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Devices: an image file, or a simulated chip that can break on demand."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from eskerdb._esker import ffi, lib
from eskerdb.errors import DeviceError, check, error, unsigned

if TYPE_CHECKING:
    from typing_extensions import Self

_OS_ADVICE = {
    errno.ENOENT: "check the path",
    errno.EISDIR: "name a file",
    errno.ENOSPC: "free some space, or make a smaller image",
    errno.EACCES: "check the file's permissions",
    errno.EROFS: "copy it to a disk that can be written",
}
CutMode = Literal[
    "none", "before", "after", "prefix", "subset", "all_but_one", "drawn"
]
_CUT_MODES = (
    "none",
    "before",
    "after",
    "prefix",
    "subset",
    "all_but_one",
    "drawn",
)


@dataclass(frozen=True)
class Geometry:
    """The shape of a medium; see include/esker/device.h.

    block_count            erase units
    block_pages            pages an erase unit
    page_bytes             bytes a page
    spare_bytes            spare area a page, not used
    program_bytes          program unit
    programs_per_page_max  programs a page between erases; 0: no limit
    erased_value           what an erased byte reads as
    overwrite              pages may be programmed again without an erase
    """

    block_count: int
    block_pages: int
    page_bytes: int
    spare_bytes: int = 0
    program_bytes: int = 1
    programs_per_page_max: int = 0
    erased_value: int = 0xFF
    overwrite: bool = False

    @property
    def pages(self) -> int:
        """Pages of the whole device."""
        return self.block_count * self.block_pages

    @property
    def block_bytes(self) -> int:
        """Bytes of an erase unit."""
        return self.block_pages * self.page_bytes

    @property
    def bytes(self) -> int:
        """Bytes of the whole device."""
        return self.pages * self.page_bytes

    def fill(self, target: Any) -> None:
        """Writes the fields to a C struct esk_geometry."""
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "overwrite":
                target.flags = lib.ESK_MEDIUM_OVERWRITE if value else 0
                continue
            try:
                setattr(target, field.name, value)
            except OverflowError:
                raise error(
                    lib.ESK_E_GEOMETRY, f"geometry: {field.name} = {value}"
                ) from None

    @staticmethod
    def take(source: Any) -> Geometry:
        """Makes a Geometry from a C struct esk_geometry."""
        values = {
            field.name: getattr(source, field.name)
            for field in fields(Geometry)
            if field.name != "overwrite"
        }
        overwrite = bool(source.flags & lib.ESK_MEDIUM_OVERWRITE)
        return Geometry(**values, overwrite=overwrite)


class Device:
    """An open medium. Base of ImageFile and Simulator; a context manager.

    A device carries one mounted volume at a time. Closing it unmounts: rows
    not synced are lost, and handles on it raise Closed from then on.
    """

    def __init__(self, handle: Any, name: str) -> None:
        self._handle = ffi.gc(handle, lib.esk_py_device_release)
        self.name = name

    @property
    def geometry(self) -> Geometry:
        """The geometry. Raises Closed."""
        geometry = ffi.new("struct esk_geometry *")
        self._check(
            lib.esk_py_device_geometry(self._handle, geometry), "geometry"
        )
        return Geometry.take(geometry)

    def read_page(self, page: int) -> bytes:
        """Reads one page from the medium. Raises DeviceError, Corrupt."""
        buffer = ffi.new("uint8_t[]", self.geometry.page_bytes)
        self._check(
            lib.esk_py_device_read(
                self._handle, unsigned("page", page), buffer
            ),
            f"read page {page}",
        )
        return bytes(ffi.buffer(buffer))

    def close(self) -> None:
        """Unmounts and closes; a second close does nothing."""
        status = lib.esk_py_device_close(self._handle)
        if status != lib.ESK_PY_CLOSED:
            self._check(status, "close")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def _check(self, status: int, doing: str) -> None:
        check(status, f"{self.name}: {doing}")


def probe(path: str | os.PathLike[str]) -> Geometry:
    """Reads an image's geometry from its own superblock, or from a head of the
    bare kv store that it has. A head does not say how pages are programmed: of
    a bare store each is programmed once, which is read on every medium.

    Raises NotFound when the file holds neither, VersionError, Corrupt
    when no superblock or head is valid, GeometryError when the file is
    shorter or longer than they say, DeviceError when it cannot be read.
    """
    path = os.fspath(path)
    _check_file(path)
    status, found, has = probe_any(path)
    if status == lib.ESK_NOT_FOUND:
        raise error(
            status,
            f"image {path}",
            "check that it is an image of an EskerDB device and begins with "
            "the device's first page",
            "no EskerDB volume in this file",
        )
    if status == lib.ESK_E_CORRUPT:
        raise error(
            status,
            f"image {path}",
            "read the whole device again, from its first page on; or take "
            "what is left with `esker salvage`",
            f"it has {has}, but no valid one",
        )
    check(status, f"image {path}")
    return _check_size(path, Geometry.take(found))


def probe_any(path: str) -> tuple[int, Any, str]:
    """Searches for a superblock, and if there is no valid one for a head.

    Returns the core's status of the search that found more, the C geometry,
    and what was found.
    """
    geometry = ffi.new("struct esk_geometry *")
    name = os.fsencode(path)
    status = lib.esk_image_probe(name, geometry)
    if status != lib.ESK_OK:
        bare = lib.esk_image_probe_bare(name, geometry)
        if bare == lib.ESK_OK or status == lib.ESK_NOT_FOUND:
            return bare, geometry, "a head of a bare kv store"
    return status, geometry, "a superblock"


def _check_size(path: str, geometry: Geometry) -> Geometry:
    """Raises GeometryError unless the file is as long as the device."""
    size = os.stat(path).st_size
    if size == geometry.bytes:
        return geometry
    truncated = (
        "the file is truncated"
        if size < geometry.bytes
        else ("the file is too long")
    )
    raise error(
        lib.ESK_E_GEOMETRY,
        f"image {path}",
        "read the whole device again, without spare areas"
        + (
            "; or take what is there with `esker salvage`"
            if size < geometry.bytes
            else ""
        ),
        f"{truncated}: it has {size:,} bytes, the device {geometry.bytes:,} "
        f"({geometry.block_count} blocks of {geometry.block_pages} pages of "
        f"{geometry.page_bytes} bytes)",
    )


def _check_file(path: str) -> None:
    """Raises DeviceError when `path` is no file that can be read."""
    try:
        if stat.S_ISFIFO(os.stat(path).st_mode):  # whose open() would wait
            raise error(
                lib.ESK_PY_OS,
                f"image {path}",
                "copy it to a file first",
                "it is a pipe",
            )
        with open(path, "rb"):
            return
    except DeviceError:
        raise
    except OSError as cause:
        raise _os_error(path, cause.errno or 0) from None


def _os_error(path: str, number: int) -> DeviceError:
    advice = _OS_ADVICE.get(number, "")
    made = DeviceError(
        f"image {path}: {os.strerror(number)}"
        + (f"; {advice}" if advice else "")
    )
    made.errno = number
    made.status = lib.ESK_PY_OS
    made.advice = advice
    return made


class ImageFile(Device):
    """A raw image in a file: page after page from page 0, no spare areas.

    geometry    None: read from the image itself
    create      makes the file, all erased; it must not be there yet
    read_only   never writes to the file
    salvage     reads a file of any length, never writes to it; what is missing
                at its end reads as erased

    One that is not read-only is locked: an image has one writer.

    Raises Busy when it has a writer, DeviceError, Exists, GeometryError, and
    what probe() raises.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        geometry: Geometry | None = None,
        *,
        create: bool = False,
        read_only: bool = False,
        salvage: bool = False,
    ) -> None:
        self.path = os.fspath(path)
        if geometry is None:
            if create:
                raise TypeError("create needs a geometry")
            geometry = probe(self.path)
        elif not create:
            _check_file(self.path)
            if not salvage:
                _check_size(self.path, geometry)
        shape = ffi.new("struct esk_geometry *")
        geometry.fill(shape)
        out = ffi.new("struct esk_py_device **")
        number = ffi.new("int *")
        how = (
            lib.ESK_PY_FILE_CREATE if create
            else lib.ESK_PY_FILE_SALVAGE if salvage
            else lib.ESK_PY_FILE_READ if read_only
            else lib.ESK_PY_FILE_WRITE
        )  # fmt: skip
        status = lib.esk_py_file_open(
            os.fsencode(self.path), shape, how, out, number
        )
        if status == lib.ESK_PY_OS:
            raise _os_error(self.path, number[0])
        if status == lib.ESK_E_EXISTS:
            raise error(
                status,
                f"image {self.path}",
                "choose another name, or remove it",
                "the file is there already",
            )
        if status == lib.ESK_E_BUSY:
            raise error(
                status,
                f"image {self.path}",
                "close it there, or open it read-only",
                "it is open for writing elsewhere",
            )
        check(status, f"image {self.path}")
        super().__init__(out[0], f"image {self.path}")


@dataclass(frozen=True)
class Counters:
    """What was done to a simulated medium; times are simulated, in ns."""

    reads: int
    reads_sequential: int
    programs: int
    programs_sequential: int
    erases: int
    syncs: int
    bytes_read: int
    bytes_programmed: int
    time_ns: int
    read_time_ns: int
    program_time_ns: int
    erase_time_ns: int
    bits_corrected: int
    reads_corrupt: int
    programs_failed: int
    erases_failed: int
    transfers_failed: int

    def __sub__(self, other: Counters) -> Counters:
        return Counters(
            *(
                getattr(self, field.name) - getattr(other, field.name)
                for field in fields(self)
            )
        )


@dataclass(frozen=True)
class Wear:
    """Completed erases over the good blocks."""

    total: int
    min: int
    max: int
    blocks: int

    @property
    def mean(self) -> float:
        """Erases a block."""
        return self.total / self.blocks if self.blocks else 0.0


@dataclass(frozen=True)
class Failure:
    """When programs or erases fail; zero fields never do.

    every          each n-th fails
    per_million    each fails with this probability
    burst_start    number of the first to fail in a burst
    burst_length   how many fail then
    """

    every: int = 0
    per_million: int = 0
    burst_start: int = 0
    burst_length: int = 0


class Simulator(Device):
    """A simulated chip: counted, timed, and broken on demand by a seed.

    part        a name of Simulator.parts(), in any case of letters; None:
                geometry alone
    geometry    with a part: changes its fields, as keywords too
    bytes       capacity in bytes, rounded down to blocks; block and page are
                the part's
    seed        of all random choices: same seed and calls, same bytes
    bad_blocks  factory bad blocks, never block 0
    ecc_bits    corrected a page
    worst_case  the part's maximum times, not its typical ones
    dirty       starts with garbage, not erased

    Raises NotFound for an unknown part, GeometryError.
    """

    def __init__(
        self,
        part: str | None = None,
        geometry: Geometry | None = None,
        *,
        bytes: int | None = None,
        seed: int = 0,
        bad_blocks: int = 0,
        ecc_bits: int = 0,
        worst_case: bool = False,
        dirty: bool = False,
    ) -> None:
        config = ffi.new("struct esk_sim_config *")
        known = Simulator.parts()
        part = part if part is None else part.lower()
        if part is not None and part not in known:
            raise error(
                lib.ESK_PY_NO_PART,
                f"simulator {part}",
                f"the parts are {', '.join(known)}",
            )
        name = ffi.new("char[]", part.encode()) if part else ffi.NULL
        config.part = name
        config.seed = unsigned("seed", seed, 64)
        config.bad_blocks = unsigned("bad_blocks", bad_blocks)
        config.ecc_bits = unsigned("ecc_bits", ecc_bits, 16)
        config.worst_case = worst_case
        config.dirty = dirty
        if geometry is not None:
            geometry.fill(config.geometry)
        elif bytes is not None:
            block = Simulator(part).geometry.block_bytes
            if bytes < block:
                raise error(
                    lib.ESK_E_GEOMETRY,
                    f"simulator {part}: {bytes} bytes",
                    f"a block has {block:,}: take one block or more",
                )
            config.geometry.block_count = unsigned("bytes", bytes // block)
        out = ffi.new("struct esk_py_device **")
        check(
            lib.esk_py_sim_create(config, out), f"simulator {part or geometry}"
        )
        super().__init__(out[0], f"simulator {part or 'of a geometry'}")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Simulator:
        """Loads what save() wrote: bytes, wear, counters, faults, power.

        Raises DeviceError, Corrupt when the image and its sidecar
        `<path>.sim` do not fit.
        """
        out = ffi.new("struct esk_py_device **")
        path = os.fspath(path)
        check(lib.esk_py_sim_load(os.fsencode(path), out), f"load {path}")
        made = cls.__new__(cls)
        Device.__init__(made, out[0], f"simulator {path}")
        return made

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the image to `path` and all else to `<path>.sim`."""
        path = os.fspath(path)
        self._check(
            lib.esk_py_sim_save(self._handle, os.fsencode(path)),
            f"save to {path}",
        )

    @staticmethod
    def parts() -> dict[str, str]:
        """Returns the parts known by name, with their makers' names."""
        result = {}
        label = ffi.new("const char **")
        for index in range(1 << 16):
            name = lib.esk_py_sim_part_name(index, label)
            if name == ffi.NULL:
                break
            result[ffi.string(name).decode()] = ffi.string(label[0]).decode()
        return result

    def cut_at(self, op: int, mode: CutMode = "drawn") -> None:
        """Cuts the power at operation `op`, counted as `ops` counts.

        That program or erase and every later call fails with DeviceError
        until power_on(). `mode` says what the operation leaves behind.
        """
        if mode not in _CUT_MODES:
            raise ValueError(f"mode {mode!r} is not one of {_CUT_MODES}")
        unsigned("op", op, 64)
        self._check(
            lib.esk_py_sim_cut_at(self._handle, op, _CUT_MODES.index(mode)),
            "cut_at",
        )

    def power_off(self) -> None:
        """Cuts the power now, between operations."""
        self._check(lib.esk_py_sim_power(self._handle, False), "power_off")

    def power_on(self) -> None:
        """Brings the power back; a cut that has happened is forgotten."""
        self._check(lib.esk_py_sim_power(self._handle, True), "power_on")

    @property
    def is_on(self) -> bool:
        """Whether the power is on."""
        on = ffi.new("bool *")
        self._check(lib.esk_py_sim_is_on(self._handle, on), "is_on")
        return bool(on[0])

    def fail(
        self,
        program: Failure | None = None,
        erase: Failure | None = None,
        transfer: Failure | None = None,
        endurance: int = 0,
    ) -> None:
        """Makes programs and erases fail, counted from this call on.

        transfer    on the way there, programs and erases counted as one
        endurance   erases after which a block fails; 0: never
        """
        failures = ffi.new("struct esk_sim_failures *")
        for target, source in (
            (failures.program, program),
            (failures.erase, erase),
            (failures.transfer, transfer),
        ):
            for field in fields(source) if source else ():
                setattr(target, field.name, getattr(source, field.name))
        failures.endurance = endurance
        self._check(lib.esk_py_sim_failures_set(self._handle, failures), "fail")

    @property
    def counters(self) -> Counters:
        """What was done since creation or counters_reset()."""
        counters = ffi.new("struct esk_sim_counters *")
        self._check(
            lib.esk_py_sim_counters_get(self._handle, counters), "counters"
        )
        return Counters(
            **{f.name: getattr(counters, f.name) for f in fields(Counters)}
        )

    def counters_reset(self) -> None:
        """Sets every counter to 0; wear and ops stay."""
        self._check(
            lib.esk_py_sim_counters_reset(self._handle), "counters_reset"
        )

    @property
    def ops(self) -> int:
        """Programs and erases tried since creation: the next one's number."""
        ops = ffi.new("uint64_t *")
        self._check(lib.esk_py_sim_op_count(self._handle, ops), "ops")
        return ops[0]

    @property
    def wear(self) -> Wear:
        """Completed erases over all good blocks."""
        wear = ffi.new("struct esk_sim_wear *")
        self._check(lib.esk_py_sim_wear_get(self._handle, wear), "wear")
        return Wear(wear.total, wear.min, wear.max, wear.blocks)

    @property
    def violations(self) -> list[str]:
        """Calls that broke the device's contract: none, or count and last."""
        count = ffi.new("uint64_t *")
        text = ffi.new("char[]", 512)
        self._check(
            lib.esk_py_sim_violations(self._handle, count, text, 512),
            "violations",
        )
        last = ffi.string(text).decode(errors="replace")
        return [f"{count[0]} violations, the last: {last}"] if count[0] else []

    def describe(self) -> str:
        """Returns the line that repeats this simulator."""
        text = ffi.new("char[]", 1024)
        self._check(
            lib.esk_py_sim_describe(self._handle, text, 1024), "describe"
        )
        return ffi.string(text).decode(errors="replace")

    def poke(self, page: int, offset: int, data: bytes) -> None:
        """Overwrites bytes of a page against every rule, as a forger would.

        Raises Invalid past the page or the device.
        """
        unsigned("page", page)
        unsigned("offset", offset, 16)
        self._check(
            lib.esk_py_sim_poke(self._handle, page, offset, data, len(data)),
            f"poke page {page}",
        )


__all__ = [
    "Counters",
    "CutMode",
    "Device",
    "Failure",
    "Geometry",
    "ImageFile",
    "Simulator",
    "Wear",
    "probe",
]
