// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The ATmega2560 under bench/mcu/simavr_*, but for its storage.
#include <avr/io.h>

#include "port/avr/host_call.h"
#include "port/board.h"

int esk_board_input(uint32_t address, void *buffer, uint16_t bytes) {
    return esk_avr_call(ESK_AVR_INPUT, address, buffer, bytes);
}

void esk_board_put(char character) {
    esk_avr_call(ESK_AVR_PUT, (uint8_t)character, 0, 0);
}

void esk_board_note(uint8_t slot, uint32_t number) {
    esk_avr_call(ESK_AVR_NOTE, number, 0, slot);
}

uint32_t esk_board_noted(uint8_t slot) {
    uint32_t number = 0;
    esk_avr_call(ESK_AVR_NOTED, 0, &number, slot);
    return number;
}

_Noreturn void esk_board_exit(int status) {
    esk_avr_call(ESK_AVR_EXIT, (uint32_t)status, 0, 0);
    for (;;) {
    }
}

uintptr_t esk_board_stack_pointer(void) {
    return SP + 3u; /* above this call's return address */
}

/// The linker's: the end of static data, where a heap would begin.
extern uint8_t __heap_start;

uintptr_t esk_board_stack_limit(void) {
    return (uintptr_t)&__heap_start;
}
