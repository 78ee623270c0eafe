# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Makes the simulator's part table from data/parts/parts.csv.

    python3 port/sim/parts_gen.py data/parts/parts.csv build/sim_parts.c

The table is made at build time and never committed, so the facts live in one
place. A blank stays unknown: its time is 0 and the part says so. Only the
column `assumed` fills blanks, and the part carries that text.
"""

import csv
import sys
from fractions import Fraction

MEDIA = {
    "nor": "ESK_SIM_NOR",
    "nand_slc": "ESK_SIM_NAND_SLC",
    "nand_mlc": "ESK_SIM_NAND_MLC",
    "dataflash": "ESK_SIM_DATAFLASH",
    "sd": "ESK_SIM_SD",
    "mcu": "ESK_SIM_MCU",
    "eeprom": "ESK_SIM_EEPROM",
}
ASSUMABLE = {
    "capacity_bytes",
    "page_bytes",
    "erase_bytes",
    "nop",
    "clock_mhz",
    "overwrite",
}
# A part's page may be too small, and its limit of programs be for another
# unit or another ECC setting, so these two may stand in place of a fact.
REPLACEABLE = {"page_bytes", "nop"}
# Media whose array is read as fast as the bus: the clock gives the time.
BUS_ONLY = {"nor", "eeprom"}
OVERWRITABLE = {"sd", "eeprom"}
U32_MAX = 2**32 - 1


class BadRow(Exception):
    """A row that makes no part."""


def number(row, column):
    """Returns the cell as a fraction, None when it is blank."""
    text = row[column].strip()
    return Fraction(text) if text else None


def first(*values):
    """Returns the first value that is known, or None."""
    return next((value for value in values if value is not None), None)


def scaled(value, factor):
    """Returns value * factor rounded to an integer that C can hold."""
    result = 0 if value is None else round(value * factor)
    if not 0 <= result <= U32_MAX:
        raise BadRow(f"{value} * {factor} does not fit 32 bits")
    return result


def assumptions(row):
    """Returns the assumed column as a dict, checked against the facts."""
    result = {}
    for item in filter(None, row["assumed"].split(";")):
        key, _, text = item.partition("=")
        if key not in ASSUMABLE:
            raise BadRow(f"cannot assume {key}")
        fact = row.get("clock_mhz_max" if key == "clock_mhz" else key, "")
        if fact and key not in REPLACEABLE:
            raise BadRow(f"{key} is known to be {fact}, not to be assumed")
        result[key] = Fraction(text)
    return result


def geometry(row, assumed):
    """Returns the designated initialisers of struct esk_geometry."""

    def value(key):
        found = first(assumed.get(key), number(row, key))
        if found is None:
            raise BadRow(f"{key} is neither known nor assumed")
        return int(found)

    page = value("page_bytes")
    erase = value("erase_bytes")
    capacity = value("capacity_bytes")
    if erase % page or capacity % erase:
        raise BadRow("pages do not fill erase units, or these the capacity")
    medium = row["medium"]
    overwrite = medium in OVERWRITABLE or assumed.get("overwrite") == 1
    free = overwrite or medium == "nor"
    nop = first(assumed.get("nop"), number(row, "nop"))
    # Unknown: one program of a whole page, which every medium allows.
    programs = int(first(nop, 0 if free else 1))
    return {
        "block_count": capacity // erase,
        "block_pages": erase // page,
        "page_bytes": page,
        "spare_bytes": int(number(row, "spare_bytes") or 0),
        "program_bytes": int(
            number(row, "program_bytes") or page // (programs or 1)
        ),
        "programs_per_page_max": programs,
        "erased_value": "0xFF",
        "flags": "ESK_MEDIUM_OVERWRITE" if overwrite else 0,
    }


def rates_ns(row, page, direction):
    """Returns (random, sequential) ns a page from measured rates."""
    pages = number(row, f"{direction}_pages_s")
    if pages is not None:
        return 10**9 / pages, 10**9 / pages
    random = number(row, f"{direction}_random_kibs")
    sequential = number(row, f"{direction}_seq_kibs")
    if random is None or sequential is None:
        return None, None
    return (page * 10**9 / (rate * 1024) for rate in (random, sequential))


def us(value):
    """Microseconds to nanoseconds, None stays None."""
    return None if value is None else value * 1000


def program_step(row):
    """Returns the bytes that one program time covers; 0: a page."""
    if row["medium"] == "mcu" and not row["page_bytes"]:
        return int(row["program_bytes"])
    return int(row["page_bytes"] or 0)


def timings(row, assumed, page):
    """Returns (typical, worst, unknown flags)."""
    clock = first(number(row, "clock_mhz_max"), assumed.get("clock_mhz"))
    bus_ps = None if clock is None else Fraction(8 * 10**6) / clock
    byte_ns = number(row, "read_byte_ns")
    read_ps = bus_ps if byte_ns is None else byte_ns * 1000
    read = [us(number(row, f"read_us_{end}")) for end in ("typ", "max")]
    fixed = us(number(row, "read_fixed_us"))
    program = [us(number(row, f"program_us_{end}")) for end in ("typ", "max")]
    erase = [number(row, f"erase_ms_{end}") for end in ("typ", "max")]
    read_rate, read_next = rates_ns(row, page, "read")
    write_rate, write_next = rates_ns(row, page, "write")
    result = []
    for order in (0, 1), (1, 0):
        reads = first(read_rate, fixed, *(read[i] for i in order))
        programs = first(write_rate, *(program[i] for i in order))
        erases = first(*(erase[i] for i in order))
        result.append(
            {
                "read_ns": scaled(reads, 1),
                "read_sequential_ns": scaled(first(read_next, reads), 1),
                "read_byte_ps": scaled(read_ps, 1),
                "program_ns": scaled(programs, 1),
                "program_sequential_ns": scaled(first(write_next, programs), 1),
                "program_byte_ps": scaled(bus_ps, 1),
                "program_step_bytes": program_step(row),
                "erase_ns": scaled(erases, 10**6),
            }
        )
    bus_read = row["medium"] in BUS_ONLY and read_ps is not None
    unknown = []
    if reads is None and not bus_read:
        unknown.append("ESK_SIM_UNKNOWN_READ")
    if programs is None:
        unknown.append("ESK_SIM_UNKNOWN_PROGRAM")
    if erases is None and row["medium"] != "eeprom":
        unknown.append("ESK_SIM_UNKNOWN_ERASE")
    return result[0], result[1], " | ".join(unknown) or "0"


def c_string(text):
    """Returns text as a C string literal."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def c_struct(fields):
    """Returns designated initialisers in braces."""
    return "{" + ", ".join(f".{k} = {v}" for k, v in fields.items()) + "}"


def part(row):
    """Returns the C initialiser of one part."""
    assumed = assumptions(row)
    shape = geometry(row, assumed)
    typical, worst, unknown = timings(row, assumed, shape["page_bytes"])
    endurance = min(int(number(row, "endurance") or 0), U32_MAX)
    fields = {
        "name": c_string(row["name"]),
        "label": c_string(row["label"]),
        "medium": MEDIA[row["medium"]],
        "unknown": unknown,
        "geometry": c_struct(shape),
        "endurance": f"{endurance}u",
        "bad_blocks_max": int(number(row, "bad_blocks_max") or 0),
        "typical": c_struct(typical),
        "worst": c_struct(worst),
        "assumed": c_string(row["assumed"]),
        "note": c_string(row["note"]),
    }
    body = "".join(f"        .{k} = {v},\n" for k, v in fields.items())
    return "    {\n" + body + "    },\n"


def main(arguments):
    """Writes the table; returns the process's exit status."""
    if len(arguments) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    source, target = arguments[1:]
    with open(source, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    text = '#include "port/sim/sim_internal.h"\n\n'
    text += "const struct esk_sim_part esk_sim_parts[] = {\n"
    for line, row in enumerate(rows, start=2):
        try:
            text += part(row)
        except (BadRow, KeyError, ValueError) as fault:
            print(f"{source}:{line}: {row['name']}: {fault}", file=sys.stderr)
            return 1
    text += "};\n\nconst size_t esk_sim_part_count =\n"
    text += "    sizeof esk_sim_parts / sizeof esk_sim_parts[0];\n"
    with open(target, "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
