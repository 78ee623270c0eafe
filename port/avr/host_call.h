// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The ATmega2560 under bench/mcu/simavr_*: eight registers that the chip does
/// not use call the host.
///
///     0xE0  command; writing it runs the request     (enum esk_avr_command)
///     0xE1  1: counting begins, 0: it ends
///     0xE2  address of the request, low byte         (struct avr_request)
///     0xE3  its high byte
///     0xE4  status of the last request: 0 or 255
///
/// A request costs the chip about forty cycles; the copy costs none.
#ifndef ESK_PORT_AVR_HOST_CALL_H
#define ESK_PORT_AVR_HOST_CALL_H

#include <stdint.h>

enum esk_avr_command {
    ESK_AVR_READ = 1,
    ESK_AVR_PROGRAM,
    ESK_AVR_ERASE,
    ESK_AVR_INPUT,
    ESK_AVR_PUT,
    ESK_AVR_NOTE,
    ESK_AVR_NOTED,
    ESK_AVR_EXIT,
};

/// Runs a request. Returns 0, or -1 when the host refuses it.
int esk_avr_call(uint8_t command, uint32_t address, const void *buffer,
                 uint32_t bytes);

#endif
