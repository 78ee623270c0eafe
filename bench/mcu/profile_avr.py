# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Where the ATmega2560's cycles go: every cycle of a group, by function.

The host counts the cycles at each address between the marks, so shares are
exact, not sampled. A function's cycles are its own, without its callees'.
"""

import re

import platforms

SHOWN = 30


def symbols(program):
    """[(address, name)] of the program's code, rising."""
    said = platforms.must(["avr-nm", "-n", program])
    found = re.findall(r"^([0-9a-f]+) [tTwW] (\S+)$", said, re.MULTILINE)
    return [(int(address, 16), name) for address, name in found]


def by_group(path):
    """{group: ({address: cycles}, operations)}."""
    found, now = {}, None
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("="):
            parts = line.split()
            now = {}
            found[parts[1]] = (now, int(parts[3]))
        else:
            address, cycles = line.split()
            now[int(address, 16)] = int(cycles)
    return found


def by_function(counts, table):
    totals = {}
    at = 0
    for address in sorted(counts):
        while at + 1 < len(table) and table[at + 1][0] <= address:
            at += 1
        name = table[at][1]
        totals[name] = totals.get(name, 0) + counts[address]
    return sorted(totals.items(), key=lambda item: -item[1])


def take(program, rows, options=(), sample=0):
    """Runs the program for its profile, or that of one sample: by_group."""
    path = program.parent / "profile.txt"
    asked = ["--profile", path, "--profile-sample", sample]
    platforms.run(platforms.AVR, program, rows, [*options, *asked])
    return by_group(path)


def show(program, rows, group):
    """Prints the functions of `group`, dearest first. Returns 0, or 1 when
    there is no such group."""
    found = take(program, rows)
    if group not in found:
        print(f"no group {group}; there are: {', '.join(found)}")
        return 1
    counts, operations = found[group]
    total = sum(counts.values())
    print(f"{group}: {total:,} cycles in {operations:,} operations")
    print("  cycles an operation   share  function")
    listed = by_function(counts, symbols(program))
    for name, cycles in listed[:SHOWN]:
        each = cycles / operations
        print(f"  {each:19,.1f} {100 * cycles / total:6.1f} %  {name}")
    rest = sum(cycles for _, cycles in listed[SHOWN:])
    print(f"  {rest / operations:19,.1f} {100 * rest / total:6.1f} %  the rest")
    return 0
