# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Makes the input of the series firmware: a head and rows of 16 bytes.

sea_surface_temp   the committed series: key seconds, then the temperature
                   in 1/100 degC, the row's number, and the difference to
                   the row before. Budgets are of this one.
uwa, ethylene,     of ESK_DATA or ../shared/data: the papers' series, the
sea, watch         first of which the targets are of
"""

import os
import struct
import tempfile
from pathlib import Path

from platforms import BUILD, ROOT

ROWS = 10000
SYNCS = 20
SYNC_ROWS = 3  # of the firmware
VALUE_ROWS = 45  # the value query has so many rows, or the next above
PAPER_ROWS = 100000
PAPER_PART = 10000  # the papers' value query: one row in so many
TARGETS_SET = "uwa"
PAPER_SETS = (TARGETS_SET, "ethylene", "sea", "watch")


def sea_surface_temp():
    raw = (ROOT / "data/sea_surface_temp.rec").read_bytes()
    before = 0
    rows = []
    for i, (milliseconds, degrees) in enumerate(struct.iter_unpack("<qf", raw)):
        value = round(degrees * 100)
        rows.append((milliseconds // 1000, value, i, value - before))
        before = value
    return rows


def path_of(name):
    """The file of a series of the papers."""
    folder = Path(os.environ.get("ESK_DATA", ROOT.parent / "shared" / "data"))
    return folder / "sensors" / f"{name}.i32x4"


def papers():
    """Those of the papers' series that are here."""
    return [name for name in PAPER_SETS if path_of(name).exists()]


def sensor(name):
    """The rows of a series of the papers, or None."""
    try:
        with open(path_of(name), "rb") as file:
            raw = file.read()
    except OSError:
        return None
    return list(struct.iter_unpack("<Iiii", raw))


# Measured unless another is named.
SETS = ("sea_surface_temp", TARGETS_SET)
ALL_SETS = ("sea_surface_temp", *PAPER_SETS)


def rows_of(name):
    """The rows of one of ALL_SETS, or None."""
    return sea_surface_temp() if name == "sea_surface_temp" else sensor(name)


def write(path, rows, count, value_rows, syncs):
    """The input: `count` rows to append, and those for the syncs."""
    values = sorted((row[1] for row in rows[:count]), reverse=True)
    least = values[value_rows - 1]
    matching = sum(value >= least for value in values)
    head = struct.pack("<IiII", count, least, matching, syncs)
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = rows[: count + syncs * SYNC_ROWS]
    # Whole at once: a run beside this one may be reading it.
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(head + b"".join(struct.pack("<Iiii", *r) for r in kept))
    os.replace(file.name, path)
    return path


def make(name):
    """Writes the input and returns its path; None when the data are not
    here."""
    rows = rows_of(name)
    if rows is None:
        return None
    return write(BUILD / f"{name}.rows", rows, ROWS, VALUE_ROWS, SYNCS)


def make_paper(name):
    """The same as the papers measured it: as many rows as they had, or as
    there are."""
    rows = rows_of(name)
    if rows is None:
        return None
    count = min(PAPER_ROWS, len(rows))
    matching = count // PAPER_PART
    return write(BUILD / f"{name}-paper.rows", rows, count, matching, 0)
