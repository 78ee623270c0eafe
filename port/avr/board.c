// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The ATmega2560 under bench/mcu/simavr_*: eight registers that the chip
/// leaves free are the door to the host.
///
///     0xE0  command; writing it runs the request     (enum avr_command)
///     0xE1  1: counting begins, 0: it ends
///     0xE2  address of the request, low byte         (struct avr_request)
///     0xE3  its high byte
///     0xE4  status of the last request: 0 or 255
///
/// A request takes the chip about forty cycles; the copy itself takes none.
#include <avr/io.h>

#include "port/board.h"

#define REGISTER(address) (*(volatile uint8_t *)(address))

enum avr_command {
    COMMAND_READ = 1,
    COMMAND_PROGRAM,
    COMMAND_ERASE,
    COMMAND_INPUT,
    COMMAND_PUT,
    COMMAND_NOTE,
    COMMAND_NOTED,
    COMMAND_EXIT,
};

/// Little-endian and without padding: as the host reads it from SRAM.
struct avr_request {
    uint32_t address;
    uint32_t bytes;
    const void *buffer;
};

static int avr_call(uint8_t command, uint32_t address, const void *buffer,
                    uint32_t bytes) {
    struct avr_request request = {address, bytes, buffer};
    uintptr_t where = (uintptr_t)&request;
    REGISTER(0xE2) = (uint8_t)where;
    REGISTER(0xE3) = (uint8_t)(where >> 8);
    /* The host reads the request from memory. */
    __asm__ volatile("" ::"r"(&request) : "memory");
    REGISTER(0xE0) = command;
    __asm__ volatile("" ::: "memory");
    return REGISTER(0xE4) == 0 ? 0 : -1;
}

int esk_board_read(uint32_t address, void *buffer, uint16_t bytes) {
    return avr_call(COMMAND_READ, address, buffer, bytes);
}

int esk_board_program(uint32_t address, const void *buffer, uint16_t bytes) {
    return avr_call(COMMAND_PROGRAM, address, buffer, bytes);
}

int esk_board_erase(uint32_t address, uint32_t bytes) {
    return avr_call(COMMAND_ERASE, address, 0, bytes);
}

int esk_board_input(uint32_t address, void *buffer, uint16_t bytes) {
    return avr_call(COMMAND_INPUT, address, buffer, bytes);
}

void esk_board_put(char character) {
    avr_call(COMMAND_PUT, (uint8_t)character, 0, 0);
}

void esk_board_note(uint8_t slot, uint32_t number) {
    avr_call(COMMAND_NOTE, number, 0, slot);
}

uint32_t esk_board_noted(uint8_t slot) {
    uint32_t number = 0;
    avr_call(COMMAND_NOTED, 0, &number, slot);
    return number;
}

_Noreturn void esk_board_exit(int status) {
    avr_call(COMMAND_EXIT, (uint32_t)status, 0, 0);
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
