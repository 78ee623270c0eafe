// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// From reset to main on QEMU's `virt`, which loads the program into RAM.
#include <stdint.h>
#include <string.h>

#include "port/board.h"

extern uint8_t esk_board_zero_begin, esk_board_static_end;

int main(void);
_Noreturn void esk_board_start(void);
_Noreturn void esk_board_trap(void);

/* The stack pointer, a trap handler, then C. */
__asm__(".section .vectors, \"ax\"\n"
        ".globl esk_board_reset\n"
        "esk_board_reset:\n"
        ".option arch, +zicsr\n"
        "la sp, esk_board_stack_top\n"
        "la t0, esk_board_trap\n"
        "csrw mtvec, t0\n"
        "j esk_board_start\n");

_Noreturn void esk_board_start(void) {
    uintptr_t bytes =
        (uintptr_t)&esk_board_static_end - (uintptr_t)&esk_board_zero_begin;
    memset(&esk_board_zero_begin, 0, bytes);
    esk_board_exit(main());
}

/// Any fault ends the run.
__attribute__((aligned(4))) _Noreturn void esk_board_trap(void) {
    esk_board_exit(99);
}
