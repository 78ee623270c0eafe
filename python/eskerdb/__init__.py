# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""EskerDB on the host: images of flash chips as tables, Arrow and SQL.

    import eskerdb

    with eskerdb.open("log.img") as volume, volume.open("temp") as series:
        series.get(1_455_494_400_000)           # a row as a dict
        series.scan(where={"temp_c": (20, None)}).arrow()

The C core of the firmware does the work; none of it is written again in
Python. Names: Device (ImageFile, Simulator), Volume, Series, Tree, Kv, Scan,
and the exceptions, all of which are an EskerError.
"""

from eskerdb.catalog import Table, VolumeReport
from eskerdb.device import (
    Counters,
    Device,
    Failure,
    Geometry,
    ImageFile,
    Simulator,
    Wear,
    probe,
)
from eskerdb.errors import (
    Busy,
    Closed,
    Corrupt,
    DeviceError,
    EskerError,
    Exists,
    Foreign,
    Full,
    GeometryError,
    Invalid,
    Limit,
    NoMemory,
    NoSpace,
    NotFound,
    OutOfOrder,
    ReadOnly,
    SchemaError,
    Stale,
    Unsupported,
    VersionError,
    Worn,
)
from eskerdb.kv import Kv, KvReport, KvSnapshot, KvStats
from eskerdb.opened import Space
from eskerdb.plan import TreePlan, plan
from eskerdb.scan import Scan
from eskerdb.schema import Column, Index
from eskerdb.series import Report, Series, Stats
from eskerdb.tree import Node, Reader, Shape, Tree, TreeReport, TreeStats
from eskerdb.value import Value
from eskerdb.volume import Volume, open


def __getattr__(name: str) -> str:
    """Finds __version__ on its first use: the search takes long."""
    if name != "__version__":
        raise AttributeError(f"module 'eskerdb' has no attribute '{name}'")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("eskerdb")
    except PackageNotFoundError:  # run from the source tree
        return "0"


__all__ = [
    "Busy",
    "Closed",
    "Column",
    "Corrupt",
    "Counters",
    "Device",
    "DeviceError",
    "EskerError",
    "Exists",
    "Failure",
    "Foreign",
    "Full",
    "Geometry",
    "GeometryError",
    "ImageFile",
    "Index",
    "Invalid",
    "Kv",
    "KvReport",
    "KvSnapshot",
    "KvStats",
    "Limit",
    "NoMemory",
    "NoSpace",
    "Node",
    "NotFound",
    "OutOfOrder",
    "ReadOnly",
    "Reader",
    "Report",
    "Scan",
    "SchemaError",
    "Series",
    "Shape",
    "Simulator",
    "Space",
    "Stale",
    "Stats",
    "Table",
    "Tree",
    "TreePlan",
    "TreeReport",
    "TreeStats",
    "Unsupported",
    "Value",
    "VersionError",
    "Volume",
    "VolumeReport",
    "Wear",
    "Worn",
    "open",
    "plan",
    "probe",
]
