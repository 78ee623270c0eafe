# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Makes the input of the series firmware: a head and rows of 16 bytes.

sea_surface_temp   the committed series: key seconds, then the temperature
                   in 1/100 degC, the row's number, and the difference to
                   the row before. Budgets are of this one.
uwa                of ESK_DATA or ../shared/data, the targets' series
"""

import os
import struct

from platforms import BUILD, ROOT

ROWS = 10000
MORE = 60  # for syncs after the measured rows
VALUE_ROWS = 45  # the value query has so many rows, or the next above


def sea_surface_temp():
    raw = (ROOT / "data/sea_surface_temp.rec").read_bytes()
    before = 0
    rows = []
    for i in range(ROWS + MORE):
        milliseconds, degrees = struct.unpack_from("<qf", raw, 12 * i)
        value = round(degrees * 100)
        rows.append((milliseconds // 1000, value, i, value - before))
        before = value
    return rows


def uwa():
    folder = os.environ.get("ESK_DATA", ROOT / "../shared/data")
    try:
        with open(f"{folder}/sensors/uwa.i32x4", "rb") as file:
            raw = file.read(16 * (ROWS + MORE))
    except OSError:
        return None
    return list(struct.iter_unpack("<Iiii", raw))


SETS = {"sea_surface_temp": sea_surface_temp, "uwa": uwa}


def make(name, rows_wanted=ROWS):
    """Writes the input and returns its path; None when the data are not
    here."""
    rows = SETS[name]()
    if rows is None:
        return None
    values = sorted((row[1] for row in rows[:rows_wanted]), reverse=True)
    least = values[VALUE_ROWS - 1]
    matching = sum(value >= least for value in values)
    head = struct.pack("<IiII", rows_wanted, least, matching, 0)
    path = BUILD / f"{name}.rows"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(head + b"".join(struct.pack("<Iiii", *r) for r in rows))
    return path
