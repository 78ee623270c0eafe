// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A board that is a module: what it asks for is imported from run.mjs, all
/// but the stack, which the linker is told to put first in memory.
#include "port/board.h"

uintptr_t esk_board_stack_pointer(void) {
    return (uintptr_t)__builtin_frame_address(0);
}

/// Above null: address 0 is where nothing is known.
uintptr_t esk_board_stack_limit(void) {
    return 16;
}
