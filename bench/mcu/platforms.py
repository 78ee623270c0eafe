# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Builds a firmware for a platform and runs it: seven platforms, one way.

    host          this machine: the answers the others must give
    atmega2560-fast, atmega2560-small    libsimavr, in cycles
    cortex-m0     QEMU, in instructions
    cortex-m3     QEMU, in instructions
    rv32imc       QEMU, in instructions
    wasm32        Node, answers only: it has no exact count

The builds are those of scripts/size, so what is measured here is the code whose
size is stated there: the ATmega2560 in both, the others in the small one. What
a build says is of the core alone. The firmware and the board are the same in
both and not optimized as one with it, so that calls of the library stay calls,
and a driver's loop over the bus is the smaller one, which is faster.
"""

import array
import concurrent.futures
import dataclasses
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "mcu"
STORAGE_BYTES = 2 * 1024 * 1024
SECONDS_MAX = 3600  # a program that hangs; a busy machine takes many minutes
COMMON = ["bench/mcu/medium.c", "bench/mcu/firmware.c"]
SPI_NOR = "port/spi_nor/spi_nor.c"
SD_SPI = "port/sd_spi/sd_spi.c"
SEMIHOSTING = "port/semihosting/board.c"
HOST_WARNINGS = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Wconversion"]
HOST_FLAGS = [*HOST_WARNINGS, "-Wshadow", "-Werror", "-Iinclude", "-I."]


def script(name):
    """A program of scripts/ as a module."""
    path = str(ROOT / "scripts" / name)
    loader = importlib.machinery.SourceFileLoader(name, path)
    spec = importlib.util.spec_from_loader(name, loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


SIZE = script("size")
AVR = "atmega2560-fast"  # whose figures the targets are of
QEMU = [
    "-display",
    "none",
    "-monitor",
    "none",
    "-serial",
    "none",
    "-semihosting-config",
    "enable=on,target=native",
]


def arm(core, machine):
    return {
        "compiler": "arm-none-eabi-gcc",
        "flags": [f"-mcpu={core}", "-mthumb"],
        "core": SIZE.BUILDS["small"],
        "link": [
            *SIZE.BUILDS["small"],
            "-nostartfiles",
            "-Tport/cortex_m/board.ld",
        ],
        "board": [SEMIHOSTING, "port/cortex_m/start.c"],
        "run": ["qemu-system-arm", "-M", machine, *QEMU],
        "unit": "instructions",
    }


def avr(build):
    chip = SIZE.TARGETS["atmega2560"]
    small = [] if build == "fast" else chip["small"]
    core = [*small, *SIZE.BUILDS[build]]
    return {
        "compiler": "avr-gcc",
        "flags": chip["flags"],
        "core": core,
        "link": [*core, "-gdwarf-2"],
        "board": [
            "port/avr/board.c",
            "port/avr/host_call.c",
            "port/avr/storage.c",
        ],
        "run": [str(BUILD / "simavr_host")],
        "unit": "cycles",
    }


PLATFORMS = {
    "host": {
        "compiler": "gcc",
        "flags": [],
        "link": [],
        "board": ["port/host/board.c"],
        "run": [],
        "unit": None,
    },
    AVR: avr("fast"),
    "atmega2560-small": avr("small"),
    "cortex-m0": arm("cortex-m0", "microbit"),
    "cortex-m3": arm("cortex-m3", "mps2-an385"),
    "rv32imc": {
        "compiler": "riscv64-unknown-elf-gcc",
        "flags": SIZE.TARGETS["rv32imc"]["flags"],
        "core": SIZE.BUILDS["small"],
        "link": [
            *SIZE.BUILDS["small"],
            "-nostartfiles",
            "-Tport/riscv/board.ld",
        ],
        "board": [SEMIHOSTING, "port/riscv/start.c"],
        "run": ["qemu-system-riscv32", "-M", "virt", "-bios", "none", *QEMU],
        "unit": "instructions",
    },
    "wasm32": {
        "compiler": "clang-19",
        "flags": SIZE.TARGETS["wasm32"]["flags"],
        "link": [
            *SIZE.TARGETS["wasm32"]["link"],
            "-Wl,--allow-undefined",
            "-Wl,--stack-first",
            "-Wl,-z,stack-size=8192",
        ],
        "board": ["port/wasm/board.c", SIZE.MEMORY],
        "run": ["node", str(ROOT / "port/wasm/run.mjs")],
        "unit": None,
    },
}


class Failed(Exception):
    """A firmware that did not build or did not end well."""


@dataclasses.dataclass
class Run:
    """What a firmware said, and its samples in order."""

    answers: list
    figures: list
    samples: list
    said: str


def call(command, **options):
    done = subprocess.run(
        [str(part) for part in command],
        cwd=options.pop("cwd", ROOT),
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=SECONDS_MAX,
        **options,
    )
    return done.returncode, done.stdout


def must(command, **options):
    status, said = call(command, **options)
    if status != 0:
        raise Failed(" ".join(map(str, command[:2])) + "\n" + said)
    return said


def missing(name):
    """What the platform lacks on this machine, or None. A board and its chips
    are not named after a build: they have the fast one."""
    platform = PLATFORMS.get(name, PLATFORMS[AVR])
    tools = [platform["compiler"], *platform["run"][:1]]
    for tool in tools:
        if not tool.startswith(str(BUILD)) and shutil.which(tool) is None:
            return tool
    return None


def version(name):
    """The compiler and its version: budgets hold for one."""
    compiler = PLATFORMS.get(name, PLATFORMS[AVR])["compiler"]
    said = must([compiler, "--version"]).splitlines()[0]
    found = re.search(r"\d+\.\d+\.\d+", said)
    return f"{compiler} {found.group(0) if found else said}"


def build_hosts():
    """The simavr host and QEMU's counter."""
    BUILD.mkdir(parents=True, exist_ok=True)
    posix = "-D_POSIX_C_SOURCE=200809L"
    sources = sorted(ROOT.glob("bench/mcu/simavr_*.c"))
    sources += [f"port/models/{name}_model.c" for name in ("nor", "sd")]
    sources.append("port/models/chip.c")
    out = ["-o", BUILD / "simavr_host", "-lsimavr", "-lelf"]
    must(["gcc", *HOST_FLAGS, posix, *sources, *out])
    out = ["-o", BUILD / "libqemu_count.so"]
    shared = ["-shared", "-fPIC", "bench/mcu/qemu_count.c"]
    must(["gcc", *HOST_FLAGS, *shared, *out])


def compile_flags(name):
    platform = PLATFORMS[name]
    # Lines, for bench/mcu/stack.py; they change no code.
    flags = [
        "-gdwarf-2",
        *(flag for flag in SIZE.FLAGS if "minimal" not in flag),
    ]
    return [*flags, "-I.", "-DESK_KEY_BITS=32", *platform["flags"]]


def compile_one(name, source, output, defines=()):
    extra = ["-fno-builtin"] if source == SIZE.MEMORY else []
    output.parent.mkdir(parents=True, exist_ok=True)
    command = [PLATFORMS[name]["compiler"], *compile_flags(name), *extra]
    must([*command, *defines, "-c", source, "-o", output])
    return output


def build_core(name):
    """Objects of src/ and of the board, once a platform."""
    folder = BUILD / name
    sources = [*SIZE.core_files(), *PLATFORMS[name]["board"]]
    core = PLATFORMS[name].get("core", [])
    return [
        compile_one(
            name,
            source,
            (folder / source).with_suffix(".o"),
            core if source.startswith("src/") else [],
        )
        for source in sources
    ]


def chip_core(core, driver):
    """The ATmega2560's objects with a chip's driver for its storage:
    "nor" or "sd"."""
    sources = ["bench/mcu/chip_board.c", f"bench/mcu/chip_{driver}.c"]
    sources += ["port/avr/spi.c", "port/spi/spi.c"]
    sources.append({"nor": SPI_NOR, "sd": SD_SPI}[driver])
    folder = BUILD / AVR
    return [path for path in core if path.name != "storage.o"] + [
        compile_one(AVR, source, (folder / source).with_suffix(".o"))
        for source in sources
    ]


def build(name, core, source, variant, defines, more=()):
    """Links firmware `source`, of `more` sources; returns the program's
    path."""
    folder = BUILD / name / f"{Path(source).stem}-{variant.replace(' ', '_')}"
    objects = [
        compile_one(name, part, folder / (Path(part).stem + ".o"), defines)
        for part in [*COMMON, source, *more]
    ]
    program = folder / "firmware.elf"
    platform = PLATFORMS[name]
    flags = ["-Os", *platform["flags"], *platform["link"], "-Wl,--gc-sections"]
    command = [platform["compiler"], *flags, *objects, *core]
    must([*command, "-o", program])
    if "-mrelax" in flags:
        other = program.with_stem("unrelaxed")
        must([*command, "-Wl,--no-relax", "-o", other])
    return program


def unrelaxed(program):
    """The same program for bench/mcu/stack.py: where a linker makes calls
    shorter the lines of the source are lost. Itself when none does."""
    other = program.with_stem("unrelaxed")
    return other if other.exists() else program


def run_command(name, program, rows, options):
    """The command and its environment; runs in the program's folder."""
    run = PLATFORMS[name]["run"]
    if name == "host":
        return [program], {**os.environ, "ESK_BOARD_INPUT": str(rows)}
    if name == "wasm32":
        return [*run, program, rows], None
    if PLATFORMS[name]["unit"] == "cycles":
        files = ["--input", rows, "--samples", "samples.bin"]
        return [*run, *files, *options, program], None
    plugin = f"{BUILD / 'libqemu_count.so'},out=samples.bin"
    return [*run, "-plugin", plugin, "-kernel", program], None


def run(name, program, rows, options=(), folder=None):
    """Runs `program` on blank storage with `rows` as its input.

    Runs side by side each need a `folder`, else the program's own serves.
    The program is not copied there: a file that another thread's child still
    holds open for writing cannot be run.
    """
    folder = folder or program.parent
    folder.mkdir(exist_ok=True)
    samples = folder / "samples.bin"
    samples.unlink(missing_ok=True)
    if "qemu" in str(PLATFORMS[name]["run"][:1]):
        (folder / "storage.img").write_bytes(b"\xff" * STORAGE_BYTES)
        shutil.copyfile(rows, folder / "input.rows")
    command, environment = run_command(name, program, rows, options)
    said = must(command, cwd=folder, env=environment)
    counts = array.array("Q")
    if samples.exists():
        counts.frombytes(samples.read_bytes())
    lines = said.splitlines()
    return Run(
        [line for line in lines if line.startswith("=")],
        [line for line in lines if line.startswith("#")],
        list(counts),
        said,
    )


def two_at_once(work, items):
    """Maps `work` over `items` on two cores, in order."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(work, items))
