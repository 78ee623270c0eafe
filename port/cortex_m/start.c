// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// From reset to main on any Cortex-M: vectors, data, zeroed memory.
#include <stdint.h>
#include <string.h>

#include "port/board.h"

extern uint8_t esk_board_data_load, esk_board_data_begin, esk_board_data_end;
extern uint8_t esk_board_static_end, esk_board_stack_top;

int main(void);
_Noreturn void esk_board_reset(void);
_Noreturn void esk_board_trap(void);

_Noreturn void esk_board_reset(void) {
    uintptr_t begin = (uintptr_t)&esk_board_data_begin;
    uintptr_t end = (uintptr_t)&esk_board_data_end;
    memcpy(&esk_board_data_begin, &esk_board_data_load, end - begin);
    memset(&esk_board_data_end, 0, (uintptr_t)&esk_board_static_end - end);
    esk_board_exit(main());
}

/// Any fault ends the run.
_Noreturn void esk_board_trap(void) {
    esk_board_exit(99);
}

/// Initial stack pointer, reset, then the faults.
__attribute__((section(".vectors"),
               used)) static const void *const vectors[] = {
    &esk_board_stack_top,         (const void *)esk_board_reset,
    (const void *)esk_board_trap, (const void *)esk_board_trap,
    (const void *)esk_board_trap, (const void *)esk_board_trap,
    (const void *)esk_board_trap,
};
