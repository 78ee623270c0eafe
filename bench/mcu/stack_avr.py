# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The deepest stack that a call can take on the ATmega2560, from the code.

The linked program is disassembled, so routines of the compiler's library are
seen as well. A function's frame is what it pushes and subtracts from the
stack pointer; a call adds three bytes of return address. Where a frame is
not certain the larger is taken: the figure is a bound, and what was painted
in a run is to lie below it.

The core calls through pointers into the driver, and the pool its loader:
INDIRECT says who may call whom, and a caller it does not name is refused, as
is recursion, which has no bound.
"""

import bisect
import re

import platforms

RETURN_BYTES = 3
DRIVER = ("medium_read", "medium_program", "medium_erase", "medium_sync")
# Of pools with slots, which a series links none of.
SLOTS = ("pool_leave", "pool_spread")
# A part of the series, called by its descriptor.
ENTRY, GROUP = ("entry_set",), ("group_note",)
INDIRECT = {
    "backward_next": ("esk_series_plan_backward", "row_matches"),
    "block_is_bad": DRIVER,
    "block_take": DRIVER,
    "cursor_go": (
        "backward_next",
        "esk_series_plan_forward",
        "row_matches",
    ),
    "esk_catalog_read": DRIVER,
    "esk_device_block_is_bad": DRIVER,
    "esk_half_erase": DRIVER,
    "esk_half_program": DRIVER,
    "esk_half_seal": DRIVER,
    "esk_pool_pin": ("page_load", *SLOTS),
    "esk_ring_read": DRIVER,
    "esk_ring_skip": DRIVER,
    "esk_series_cursor_open": ("ranges_open",),
    "esk_series_index_add": ENTRY,
    "esk_series_index_note": ENTRY,
    "esk_series_open_with": ("keys_recover", "var_recover", "var_trim"),
    "esk_series_recover": ENTRY,
    "esk_series_seek": ("spline_guess",),
    "esk_series_sync": (*DRIVER, "var_flush"),
    "esk_series_tiles_recover": GROUP,
    "layout_read": ("columns_read",),
    "page_at": DRIVER,
    "page_next": ("row_matches",),
    "page_previous": ("row_matches",),
    "page_is_erased": DRIVER,
    "page_program": DRIVER,
    "page_write": DRIVER,
    "pool_evict": SLOTS,
    "row_append": ("var_write",),
    "run_flush": GROUP,
    "series_make": ("spline_init",),
    "spline_guess": ("esk_series_tiles_find",),
    "super_take": DRIVER,
    "tile_page_write": GROUP,
    "keys_add": ("esk_series_index_add",),
    "keys_recover": ("esk_series_recover",),
    "write_page_flush": ("keys_add", "var_flush"),
}
SAVES, RESTORES = "__prologue_saves__", "__epilogue_restores__"
SAVED_MAX = 18

# Which calls a group of the series firmware measures.
CALLS = {
    "append": ["esk_series_append"],
    "get": ["esk_series_get"],
    "sync": ["esk_series_sync"],
    "value query": ["esk_series_cursor_open", "esk_series_cursor_next"],
    "open": ["esk_volume_mount", "esk_series_open"],
}

HEAD = re.compile(r"^([0-9a-f]+) <([^>]+)>:$")
LINE = re.compile(r"^\s*([0-9a-f]+):\t(\w+)[ \t]*([^;]*?)[ \t]*(?:;.*)?$")


class Function:
    """Its instructions, then what they say of the stack."""

    def __init__(self, name, address):
        self.name = name
        self.address = address
        self.lines = []
        self.frame = 0
        self.calls = set()
        self.jumps = set()


def disassemble(program):
    """[Function] in order of address."""
    said = platforms.must(["avr-objdump", "-d", "--no-show-raw-insn", program])
    found = []
    for line in said.splitlines():
        head = HEAD.match(line)
        if head:
            found.append(Function(head.group(2), int(head.group(1), 16)))
            continue
        part = LINE.match(line)
        if part and found:
            address = int(part.group(1), 16)
            found[-1].lines.append((address, part.group(2), part.group(3)))
    return found


def target_of(address, operation, operands):
    """Where a jump, call or branch goes; None for anything else."""
    if operation in ("call", "jmp"):
        return int(operands, 16)
    if operation in ("rcall", "rjmp") or operation.startswith("br"):
        relative = re.search(r"\.([+-]\d+)", operands)
        return address + 2 + int(relative.group(1)) if relative else None
    return None


def immediate(operands):
    return int(operands.split(",")[1], 0)


def frame_of(function):
    """Bytes that the function takes: pushes at their deepest, and locals."""
    depth = deepest = local = 0
    own = function.lines
    for i, (_, operation, operands) in enumerate(own):
        if operation == "push":
            depth += 1
        elif operation == "rcall" and operands.startswith(".+0"):
            depth += RETURN_BYTES
        elif operation == "in" and operands == "r29, 0x3e" and local == 0:
            local = local_of(own[i + 1 : i + 3])
        elif operation == "ret":
            depth = 0 if function.name.startswith("__") else depth
        deepest = max(deepest, depth)
    return deepest + local


def local_of(following):
    """Bytes of locals from what follows the copy of the stack pointer."""
    if not following:
        return 0
    _, operation, operands = following[0]
    if operation == "sbiw" and operands.startswith("r28"):
        return immediate(operands)
    if operation == "subi" and operands.startswith("r28"):
        low = immediate(operands)
        high = immediate(following[1][2])
        return high << 8 | low
    return 0


def saved_by(function, address, target):
    """Frame of a function that begins by __prologue_saves__: locals come in
    r26 and r27, and where it enters says how many registers are saved."""
    loaded = {}
    for at, operation, operands in function.lines:
        if at >= address:
            break
        if operation == "ldi":
            loaded[operands.split(",")[0]] = immediate(operands)
    local = loaded.get("r26", 0) | loaded.get("r27", 0) << 8
    return local + SAVED_MAX - (target // 2)


class Program:
    """Functions by where they begin: statics of two files share a name."""

    def __init__(self, program):
        self.functions = disassemble(program)
        self.starts = [function.address for function in self.functions]
        self.saves = self.named(SAVES)
        self.path = []
        self.known = {}
        for index, function in enumerate(self.functions):
            function.frame = frame_of(function)
            for line in function.lines:
                self.follow(function, *line)
            self.fall(function, index)

    def named(self, name):
        return [one for one in self.functions if one.name == name]

    def owner(self, address):
        return self.functions[bisect.bisect_right(self.starts, address) - 1]

    def follow(self, function, address, operation, operands):
        """Adds what one instruction calls or jumps to."""
        if operation in ("icall", "eicall"):
            if function.name not in INDIRECT:
                raise platforms.Failed(
                    f"stack_avr: say in INDIRECT whom {function.name} calls"
                )
            for name in INDIRECT[function.name]:
                function.calls.update(self.named(name))
            return
        target = target_of(address, operation, operands)
        if target is None or (operation == "rcall" and operands == ".+0"):
            return
        other = self.owner(target)
        if other in self.saves:
            if function not in self.saves:
                entry = target - other.address
                function.frame += saved_by(function, address, entry)
        elif other is not function and other.name != RESTORES:
            kind = function.calls if "call" in operation else function.jumps
            kind.add(other)

    def fall(self, function, index):
        """Code without an end goes on in the next function."""
        ends = ("ret", "reti", "jmp", "rjmp", "eijmp", "ijmp")
        last = function.lines[-1][1] if function.lines else "ret"
        if last not in ends and index + 1 < len(self.functions):
            function.jumps.add(self.functions[index + 1])

    def depth(self, function):
        """The deepest stack below a call of `function`."""
        if function in self.known:
            return self.known[function]
        if function in self.path:
            raise platforms.Failed(f"stack_avr: {function.name} calls itself")
        self.path.append(function)
        deepest = function.frame
        for callee in function.calls:
            below = RETURN_BYTES + self.depth(callee)
            deepest = max(deepest, function.frame + below)
        for other in function.jumps:
            # Labels within library routines jump back and forth.
            if other not in self.path:
                deepest = max(deepest, function.frame + self.depth(other))
        self.path.pop()
        self.known[function] = deepest
        return deepest


def worst(program):
    """{what: bytes} for each entry of CALLS, return address included."""
    code = Program(program)
    found = {}
    for what, names in CALLS.items():
        entries = [one for name in names for one in code.named(name)]
        found[what] = RETURN_BYTES + max(map(code.depth, entries))
    return found
