// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The host's memory as the board's storage. A chip's driver can replace this
/// file: bench/mcu/chip_board.c.
#include "port/avr/host_call.h"
#include "port/board.h"

int esk_board_read(uint32_t address, void *buffer, uint16_t bytes) {
    return esk_avr_call(ESK_AVR_READ, address, buffer, bytes);
}

int esk_board_program(uint32_t address, const void *buffer, uint16_t bytes) {
    return esk_avr_call(ESK_AVR_PROGRAM, address, buffer, bytes);
}

int esk_board_erase(uint32_t address, uint32_t bytes) {
    return esk_avr_call(ESK_AVR_ERASE, address, 0, bytes);
}
