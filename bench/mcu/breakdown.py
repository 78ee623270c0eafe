# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What the figures are made of: cycles by function and part, code by file,
RAM by what lies in it, stack by function. All measured: from profiles of the
simulator, linker maps, debug information and disassembly.

Rows are of the benchmark form; `metric` is "whole: piece", the pieces in
falling order. bench/report_mcu.py shows those of missed targets.
"""

import re
from pathlib import Path

import figures
import platforms
import profile_avr
import stack
import stack_calls

LISTED = 10
REST = "the rest"

# Metrics of the series and the tree: the group of samples they are of, and
# whether they are of its dearest sample alone.
SERIES = {
    "append, mean": ("append", False),
    "append, max": ("append", True),
    "sync, mean": ("sync", False),
    "get, mean": ("get", False),
    "scan, per record": ("scan", False),
    "value query": ("value", False),
    "reopen after 10,000 rows": ("reopen", False),
}
TREE = {
    "tree insert, mean": ("insert", False),
    "tree get, mean": ("get", False),
    "tree iteration, per record": ("iteration", False),
}
WHOLE = ("value query", "append, max", "reopen after 10,000 rows")
HANDLES = {"series": "esk_series", "tree": "esk_tree"}


def row(bench, config, dataset, metric, value, unit):
    made = figures.row(metric, dataset, config, value, unit)
    return {**made, "value": round(value, 1), "bench": bench}


def parts_of(program, table):
    """{function: the folder its source stands in} of a program's symbols, by
    debug information: statics of two files share a name."""
    found = {}
    places = stack_calls.frames(program, [address for address, _ in table])
    for address, name in table:
        source = Path(places[address][-1][1])
        if source.is_relative_to(platforms.ROOT):
            found[name] = str(source.parent.relative_to(platforms.ROOT))
        elif name.startswith("__"):
            found[name] = "the compiler's helpers"
        else:
            found[name] = "C library"
    return found


def plain(name):
    """A function's name in the source, whatever was cut or copied of it."""
    return name.split(".")[0] or name


def dearest_sample(run, group):
    """Number of the group's dearest sample in the run, from 1."""
    at = 0
    for line in run.figures:
        name, numbers = figures.words(line)
        if name == group:
            cost = run.samples[at : at + numbers["samples"]]
            return at + 1 + cost.index(max(cost))
        at += numbers.get("samples", 0)
    raise platforms.Failed(f"no group {group}")


def cycles(firmware, metrics, config, dataset):
    """Cycles of each metric by function, its callees apart, and by part.
    `firmware` is its program, input, options and a run of it."""
    program, inputs, options, run = firmware
    table = profile_avr.symbols(program)
    parts = parts_of(program, table)
    whole = profile_avr.take(program, inputs, options)
    for metric, (group, dearest) in metrics.items():
        counts, operations = whole[group]
        if dearest:
            sample = dearest_sample(run, group)
            profile = profile_avr.take(program, inputs, options, sample)
            counts = profile[group][0]
        each = 1 if metric in WHOLE else operations
        functions, folders = {}, {}
        for name, total in profile_avr.by_function(counts, table):
            folder, share = parts[name], total / each
            function = (plain(name), folder)
            functions[function] = functions.get(function, 0) + share
            folders[folder] = folders.get(folder, 0) + share
        shares = [(name, share) for (name, _), share in functions.items()]
        for bench, found in (
            ("mcu_cycles", shares),
            ("mcu_parts", folders.items()),
        ):
            ranked = sorted(found, key=lambda item: -item[1])
            yield from pieces(bench, config, dataset, metric, ranked)


def pieces(bench, config, dataset, metric, shares, unit="cycles"):
    """The largest pieces of a metric, and what is left in one."""
    for name, share in shares[:LISTED]:
        yield row(bench, config, dataset, f"{metric}: {name}", share, unit)
    rest = sum(share for _, share in shares[LISTED:])
    if rest:
        yield row(bench, config, dataset, f"{metric}: {REST}", rest, unit)


def code(elf, config, metric):
    """Bytes of a linked program by file."""
    files = {
        file: sum(size for size, _ in found)
        for file, found in platforms.SIZE.kept_sections(elf).items()
    }
    ranked = sorted(files.items(), key=lambda item: -item[1])
    yield from pieces("mcu_code", config, "minimal", metric, ranked, "B")


def members(program, name):
    """[(member, bytes)] of a struct, by debug information; bytes that align
    the next one count for the one before."""
    tool = ["llvm-dwarfdump-19", f"--name={name}", "-c", program]
    said = platforms.must(tool)
    whole = re.search(
        rf'structure_type\s+DW_AT_name\s+\("{name}"\)\s+'
        rf"DW_AT_byte_size\s+\(0x(\w+)\)(.*)",
        said,
        re.DOTALL,
    )
    end = int(whole.group(1), 16)
    found = re.findall(
        r'TAG_member\s+DW_AT_name\s+\("(\w+)"\)'
        r".*?data_member_location\s+\((?:DW_OP_plus_uconst )?0x(\w+)\)",
        whole.group(2).split("DW_TAG_structure_type")[0],
        re.DOTALL,
    )
    starts = [int(at, 16) for _, at in found] + [end]
    return [
        (member, starts[i + 1] - starts[i])
        for i, (member, _) in enumerate(found)
    ]


def ram(kind, program, run, config, dataset, stacked):
    """RAM of a run by what lies in it; `stacked` bytes of it are stack."""
    found = figures.groups(run)["ram"]
    handle = members(program, HANDLES[kind])
    handle_bytes = sum(size for _, size in handle)
    page_bytes, key_index = 512, 256 if kind == "series" else 0
    frames = round((found["arena"] - handle_bytes - key_index) / page_bytes)
    room = found["arena"] - key_index - frames * page_bytes
    while handle_bytes > room:  # what its parts do not need is not there
        handle_bytes -= handle.pop()[1]
    other = found["arena"] - handle_bytes - key_index - frames * page_bytes
    small = sum(size for _, size in handle if size < 16)
    shares = [
        (f"{frames} frames of a page", frames * page_bytes),
        ("stack, as painted", stacked),
        ("key index", key_index),
        ("struct esk_volume", found["volume"]),
        ("cursor", found["cursor"]),
        ("pool, summaries and columns", other),
        ("members of the handle below 16 bytes", small),
        *((f"handle: {member}", n) for member, n in handle if n >= 16),
    ]
    ranked = sorted((s for s in shares if s[1]), key=lambda item: -item[1])
    for name, size in ranked:
        yield row("mcu_ram", config, dataset, f"RAM: {name}", size, "B")


def stacks(program, config, dataset, calls):
    """The deepest path of each call, function by function."""
    for what, (_, path) in stack.worst(platforms.AVR, program, calls).items():
        for depth, (name, frame) in enumerate(path, 1):
            metric = f"stack, {what}: {depth:02} {plain(name)}"
            yield row("mcu_stack", config, dataset, metric, frame, "B")
