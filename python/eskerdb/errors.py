# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What can go wrong, one class an outcome of the C core.

A message reads "<what was being done>: <the core's text>; <what to do>".
`status` keeps the core's number, so a report can be matched with firmware's.
"""

from __future__ import annotations

from typing import NoReturn

from eskerdb._esker import ffi, lib


class EskerError(Exception):
    """Anything EskerDB refuses or cannot do.

    status   the C core's status, 0 when the host package itself refused
    advice   what the caller can do about it, "" when nothing is known
    appended rows that append_many() or put_many() took before it was raised
    """

    status = 0
    advice = ""
    appended = 0
    __str__ = Exception.__str__  # a KeyError's would be quoted


class NotFound(EskerError, KeyError):
    """No such row, table or volume."""


class OutOfOrder(EskerError):
    """A key is below the newest, or the same where keys do not repeat; nothing
    of that row was stored."""


class Full(EskerError):
    """No room is left: a tree, a kv table, or a series that refuses."""


class Invalid(EskerError, ValueError):
    """An argument breaks the call's contract."""


class DeviceError(EskerError, OSError):
    """The medium failed to read, program or erase, or has no power."""


class Corrupt(EskerError):
    """Bytes on the medium are not valid."""


class NoMemory(EskerError, MemoryError):
    """The arena is too small, or the host has no memory left."""


class NoSpace(EskerError):
    """No free run of blocks for a table's region."""


class Unsupported(EskerError):
    """Valid, but not in this build or on this medium."""


class VersionError(EskerError):
    """Another format version wrote this volume."""


class GeometryError(EskerError, ValueError):
    """The geometry is not usable, or not the volume's."""


class Exists(EskerError):
    """A table of that name, or a row with that key, is already there."""


class Stale(EskerError):
    """What a scan or a snapshot reads was dropped while it ran."""


class ReadOnly(EskerError):
    """The volume was mounted read-only."""


class Worn(DeviceError):
    """No block of the region can be programmed: all bad, or no power."""


class Limit(EskerError):
    """A limit of a type, a table or this build is exceeded."""


class Busy(EskerError):
    """The device or table is already open."""


class Foreign(EskerError):
    """The medium is not blank, and holds no volume."""


class Closed(EskerError, ValueError):
    """The handle was closed, or its table, volume or device was."""


class SchemaError(EskerError, ValueError):
    """A schema cannot be stored, or a row does not fit its table.

    column   the name of the wrong column; None: the fault is the table's
    """

    column: str | None = None


_KINDS: dict[int, tuple[type[EskerError], str]] = {
    lib.ESK_NOT_FOUND: (NotFound, ""),
    lib.ESK_END: (EskerError, ""),
    lib.ESK_OUT_OF_ORDER: (
        OutOfOrder,
        (
            "append rows with rising keys; only a table made with keys_repeat "
            "takes a key twice"
        ),
    ),
    lib.ESK_FULL: (
        Full,
        (
            "drop old rows with erase_before(), or create the table with "
            "full='drop_oldest'"
        ),
    ),
    lib.ESK_EXISTS: (Exists, ""),
    lib.ESK_AGAIN: (EskerError, ""),
    lib.ESK_E_INVALID: (Invalid, ""),
    lib.ESK_E_IO: (
        DeviceError,
        "synced rows are safe; try again when the bus works",
    ),
    lib.ESK_E_CORRUPT: (Corrupt, "call check() to see what is damaged"),
    lib.ESK_E_NO_MEMORY: (NoMemory, "give the table a larger arena"),
    lib.ESK_E_NO_SPACE: (
        NoSpace,
        "drop a table, ask for fewer blocks, or use a larger device",
    ),
    lib.ESK_E_UNSUPPORTED: (Unsupported, ""),
    lib.ESK_E_VERSION: (
        VersionError,
        "read it with the EskerDB version that wrote it",
    ),
    lib.ESK_E_GEOMETRY: (GeometryError, "use the geometry it was made with"),
    lib.ESK_E_EXISTS: (Exists, "choose another name, or drop it first"),
    lib.ESK_E_STALE: (Stale, "start a new scan"),
    lib.ESK_E_READ_ONLY: (ReadOnly, "mount it without read_only"),
    lib.ESK_E_WORN: (
        Worn,
        "check the supply and mount again, or copy the rows to another device",
    ),
    lib.ESK_E_SCHEMA: (SchemaError, ""),
    lib.ESK_E_LIMIT: (Limit, ""),
    lib.ESK_E_BUSY: (Busy, "close the other handle first"),
    lib.ESK_E_FOREIGN: (
        Foreign,
        (
            "check what is on it; Volume.format(device, overwrite=True) "
            "overwrites it"
        ),
    ),
    lib.ESK_PY_CLOSED: (Closed, "open it again"),
    lib.ESK_PY_BUSY: (Busy, "close the mounted volume first"),
    lib.ESK_PY_NO_HEAP: (NoMemory, ""),
    lib.ESK_PY_OS: (DeviceError, ""),
    lib.ESK_PY_TABLE_OPEN: (Busy, "close the other handle first"),
    lib.ESK_PY_NO_PART: (NotFound, "Simulator.parts() lists the parts"),
}


def status_text(status: int) -> str:
    """Returns the C core's sentence for `status`."""
    return ffi.string(lib.esk_py_status_text(status)).decode()


def error(
    status: int, doing: str, advice: str | None = None, text: str | None = None
) -> EskerError:
    """Makes the exception for `status`.

    doing    what was being done and to what: "image a.img: mount"
    advice   replaces the class's own; "" for none
    text     replaces the core's sentence
    """
    kind, usual = _KINDS.get(status, (EskerError, ""))
    advice = usual if advice is None else advice
    message = f"{doing}: {text or status_text(status)}"
    if advice:
        message += f"; {advice}"
    made = kind(message)
    made.status = status
    made.advice = advice
    return made


def schema_error(message: str, column: str | None = None) -> SchemaError:
    """Makes a SchemaError that names its column."""
    made = SchemaError(message)
    made.column = column
    made.status = lib.ESK_E_SCHEMA
    return made


def unsigned(name: str, value: int, bits: int = 32) -> int:
    """Returns `value`. Raises Invalid when it does not fit `bits` bits."""
    most = (1 << bits) - 1
    if not 0 <= value <= most:
        raise error(
            lib.ESK_E_INVALID,
            "argument",
            f"use 0 to {most:,}",
            f"{name} = {value} is out of range",
        )
    return value


def fail(status: int, doing: str, advice: str | None = None) -> NoReturn:
    """Raises the exception for `status`."""
    raise error(status, doing, advice)


def check(status: int, doing: str, advice: str | None = None) -> None:
    """Raises unless `status` is ESK_OK."""
    if status != lib.ESK_OK:
        fail(status, doing, advice)
