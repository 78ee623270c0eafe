# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What a search in a leaf costs a chip, in each format of bench/leaves: cycles
of an ATmega2560 in libsimavr, small build, by bench/mcu/leaves_firmware.c, and
bytes of code. 8 leaves of a set, 16 keys of each, spread evenly; values of 4
bytes. Code is a search with the functions that only it calls, compiled alone;
raw is that of the core.
"""

import sys
from pathlib import Path

from bench_leaves_instructions import said, sets, show

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench" / "mcu"))

import platforms

NAME = "atmega2560-small"
FIRMWARE = "bench/mcu/leaves_firmware.c"
SEARCHES = ("bench/leaves/leaf_text.c", "bench/leaves/leaf_integer.c")
CORE = ("src/index/btree/", "src/base/bytes.c", "src/base/order.c")
PAGES = (256, 512, 2048, 4096)
CODE = {
    "raw": ("esk_btree_search", "search_any", "compare_wide"),
    "slots": ("leaf_slots_search", "text_compare"),
    "base, texts": ("leaf_text_base_search",),
    "base, u32": ("leaf_word_base_search", "leaf_word_load"),
    "base, u64": ("leaf_long_base_search", "leaf_long_load"),
    "front": ("leaf_front_search", "front_", "text_compare", "bytes_same"),
    "delta, u32": ("leaf_word_delta", "leaf_word_load"),
    "delta, u64": ("leaf_long_delta", "leaf_long_load"),
    "rice": ("leaf_rice_search", "rice_next", "leaf_word_load"),
}


def objects():
    platform = platforms.PLATFORMS[NAME]
    folder = platforms.BUILD / "leaves"
    core = [str(path) for path in platforms.SIZE.core_files()]
    sources = [path for path in core if path.startswith(CORE)]
    flags = [*platform["core"], "-Isrc"]
    return [
        platforms.compile_one(
            NAME,
            source,
            (folder / source).with_suffix(".o"),
            flags if source.startswith(("src/", "bench/leaves/")) else [],
        )
        for source in [*sources, *SEARCHES, *platform["board"]]
    ]


def code_show():
    """Prints the code of each search, of objects that the linker changes no
    more."""
    sizes = {}
    flags = [
        flag
        for flag in platforms.PLATFORMS[NAME]["core"]
        if not flag.startswith("-flto")
    ]
    for source in [*SEARCHES, "src/index/btree/btree.c"]:
        output = (
            platforms.BUILD / "leaves" / "alone" / (Path(source).stem + ".o")
        )
        platforms.compile_one(NAME, source, output, [*flags, "-Isrc"])
        for line in platforms.must(["avr-nm", "-S", output]).splitlines():
            words = line.split()
            if len(words) == 4 and words[2] in "tT":
                sizes[words[3]] = int(words[1], 16)
    for form, names in CODE.items():
        size = sum(sizes[name] for name in sizes if name.startswith(names))
        show("leaves_chips", "code of a search", "-", form, size, "B")


def measure(program, index, page):
    rows = platforms.BUILD / "leaves.rows"
    (name, *forms), _ = said(index, page, rows)
    run = platforms.run(NAME, program, rows)
    samples, empty, costs = iter(run.samples), 0, []
    for _, group, _, count, *_ in (line.split() for line in run.figures):
        part = [next(samples) for _ in range(int(count))]
        if group == "empty":
            empty = min(part)
        else:
            costs.append(sum(part) / len(part) - empty)
    for form, cost in zip(forms, costs, strict=True):
        config = f"page {page}, values 4, {form}"
        metric = "cycles of a search, ATmega2560"
        show("leaves_chips", metric, name, config, round(cost), "cycles")


def main():
    lacks = platforms.missing(NAME)
    if lacks:
        print(f"skipped leaves_chips: no {lacks}")
        return
    platforms.build_hosts()
    code_show()
    program = platforms.build(NAME, objects(), FIRMWARE, "leaves", ["-Isrc"])
    for index, _ in sets():
        for page in PAGES:
            measure(program, index, page)


if __name__ == "__main__":
    main()
