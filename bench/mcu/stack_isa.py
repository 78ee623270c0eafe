# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What a disassembled instruction does to the stack and where it goes, on
the ATmega2560, Thumb and RISC-V.

An instruction is (address, operation, operands). Of a function only what it
takes is asked: what it gives back is not followed, so a frame is a bound.
"""

import re

import platforms

CALL, JUMP, POINTER, TABLE = "call", "jump", "pointer", "table"
DESTINATION = re.compile(r"(?:^|[, ])([0-9a-f]+) <")


def destination(operands):
    """Where a branch goes; None when it is in a register."""
    found = DESTINATION.search(operands)
    return int(found.group(1), 16) if found else None


def refuse(what, line):
    address, operation, operands = line
    raise platforms.Failed(
        f"stack: {what} at {address:x}: {operation} {operands}"
    )


class Thumb:
    """Cortex-M: the return address is among the registers pushed."""

    RETURN_BYTES = 0
    PREFIX = "arm-none-eabi-"
    ENDS = ("b", "b.n", "b.w", "bx", "pop", "pop.w", "ldmia.w", "ldr.w")
    WORD_BYTES = 4

    @staticmethod
    def goes(line):
        """(kind, address or None) of a branch; None of anything else."""
        _, operation, operands = line
        if operation in ("bl", "blx", "bl.w"):
            to = destination(operands)
            return (POINTER, None) if to is None else (CALL, to)
        if operation == "bx":
            return None if operands.startswith("lr") else (POINTER, None)
        if operation == "mov" and operands.startswith("pc,"):
            return None if operands.endswith("lr") else (TABLE, None)
        if re.match(r"(b|cb)n?[a-z]{0,2}(\.[nw])?$", operation):
            to = destination(operands)
            return None if to is None else (JUMP, to)
        return None

    @classmethod
    def takes(cls, line):
        """Bytes by which an instruction lowers the stack pointer."""
        _, operation, operands = line
        name = operation.split(".")[0]
        if name == "push" or (name == "stmdb" and operands.startswith("sp!")):
            listed = re.search(r"\{(.*)\}", operands).group(1)
            if "-" in listed:
                refuse("a range of registers", line)
            return cls.WORD_BYTES * (1 + listed.count(","))
        if name in ("str", "strd"):
            moved = re.search(r"\[sp, #-(\d+)\]!", operands)
            return int(moved.group(1)) if moved else 0
        if name in ("sub", "subw") and operands.startswith("sp"):
            moved = re.search(r"#(\d+)$", operands)
            return int(moved.group(1)) if moved else refuse("a frame", line)
        if name == "add" and re.match(r"sp, (?!sp, #)[a-z]", operands):
            refuse("a frame", line)
        return 0


class RiscV:
    """RV32: a frame is one subtraction."""

    RETURN_BYTES = 0
    PREFIX = "riscv64-unknown-elf-"
    ENDS = ("ret", "j", "jr", "tail")

    @staticmethod
    def goes(line):
        _, operation, operands = line
        to = destination(operands)
        if operation == "jal":
            if operands.startswith("t0,"):
                refuse("a shared prologue", line)
            return CALL, to
        if operation in ("jalr", "jr"):
            return POINTER, None
        if operation == "j" or operation.startswith("b"):
            return None if to is None else (JUMP, to)
        return None

    @staticmethod
    def takes(line):
        _, operation, operands = line
        moved = re.match(r"sp,sp,(-?\d+)$", operands)
        if moved and operation in ("add", "addi"):
            return max(0, -int(moved.group(1)))
        if operation in ("add", "sub") and operands.startswith("sp,"):
            refuse("a frame", line)
        return 0


class Avr:
    """ATmega2560: a call pushes three bytes; see stack.py for the prologues
    that functions share."""

    RETURN_BYTES = 3
    PREFIX = "avr-"
    ENDS = ("ret", "reti", "jmp", "rjmp", "eijmp", "ijmp")

    @staticmethod
    def goes(line):
        address, operation, operands = line
        if operation in ("icall", "eicall", "ijmp", "eijmp"):
            return POINTER, None
        if operation == "rcall" and operands == ".+0":
            return None
        if operation in ("call", "jmp"):
            return (CALL if operation == "call" else JUMP), int(operands, 16)
        if operation in ("rcall", "rjmp") or operation.startswith("br"):
            relative = re.search(r"\.([+-]\d+)", operands)
            if relative is None:
                return None
            kind = CALL if operation == "rcall" else JUMP
            return kind, address + 2 + int(relative.group(1))
        return None

    @staticmethod
    def takes(line):
        _, operation, operands = line
        if operation == "push":
            return 1
        three = operation == "rcall" and operands.startswith(".+0")
        return Avr.RETURN_BYTES if three else 0


ISAS = {"rv32imc": RiscV}
ISAS |= {name: Avr for name in ("atmega2560-fast", "atmega2560-small")}
ISAS |= {name: Thumb for name in ("cortex-m0", "cortex-m3", "cortex-m0plus")}
