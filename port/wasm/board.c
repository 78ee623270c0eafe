// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A board that is a module: its functions are imported from run.mjs, except
/// the stack, which the linker puts first in memory.
#include "port/board.h"

uintptr_t esk_board_stack_pointer(void) {
    return (uintptr_t)__builtin_frame_address(0);
}

/// Above null, because address 0 means unknown.
uintptr_t esk_board_stack_limit(void) {
    return 16;
}
