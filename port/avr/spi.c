// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "port/avr/spi.h"

#include <avr/io.h>
#include <stddef.h>

/// Pins of port B.
enum { SELECT = 0, CLOCK = 1, OUT = 2, IN = 3 };

void esk_avr_spi_init(void) {
    PORTB |= 1 << SELECT;
    DDRB |= 1 << SELECT | 1 << CLOCK | 1 << OUT;
    DDRB &= (uint8_t)~(1 << IN);
    SPCR = 1 << SPE | 1 << MSTR;
    SPSR = 1 << SPI2X;
}

void esk_avr_spi_select(void) {
    PORTB &= (uint8_t)~(1 << SELECT);
}

void esk_avr_spi_deselect(void) {
    PORTB |= 1 << SELECT;
}

void esk_avr_spi_transfer(const uint8_t *out, uint8_t *in, uint16_t bytes) {
    while (bytes-- != 0) {
        SPDR = out != NULL ? *out++ : 0xFF;
        while ((SPSR & 1 << SPIF) == 0) {
        }
        uint8_t byte = SPDR;
        if (in != NULL) {
            *in++ = byte;
        }
    }
}
