// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "port/avr/spi.h"

#include <avr/io.h>
#include <stddef.h>
#include <util/delay_basic.h>

#ifndef F_CPU
#define F_CPU 16000000UL
#endif

/// Pins of port B.
enum { SELECT = 0, CLOCK = 1, OUT = 2, IN = 3 };
/// Turns of _delay_loop_2, four cycles each, in a microsecond; at least one.
enum { TURNS_US = (F_CPU + 3999999) / 4000000, DELAY_US_MAX = 1000 };

void esk_avr_spi_init(bool fast) {
    PORTB |= 1 << SELECT;
    DDRB |= 1 << SELECT | 1 << CLOCK | 1 << OUT;
    DDRB &= (uint8_t)~(1 << IN);
    SPCR = fast ? 1 << SPE | 1 << MSTR : 1 << SPE | 1 << MSTR | 1 << SPR1;
    SPSR = fast ? 1 << SPI2X : 0;
}

static void spi_select(const struct esk_spi *spi) {
    (void)spi;
    PORTB &= (uint8_t)~(1 << SELECT);
}

static void spi_deselect(const struct esk_spi *spi) {
    (void)spi;
    PORTB |= 1 << SELECT;
}

static uint8_t spi_byte(void) {
    while ((SPSR & 1 << SPIF) == 0) {
    }
    return SPDR;
}

/// The loops load and store one byte while the bus moves another.
static int spi_transfer(const struct esk_spi *spi, const uint8_t *send,
                        uint8_t *receive, uint16_t bytes) {
    (void)spi;
    if (bytes == 0) {
        return ESK_OK;
    }
    SPDR = send != NULL ? *send++ : 0xFF;
    if (send == NULL && receive != NULL) {
        while (--bytes != 0) {
            uint8_t byte = spi_byte();
            SPDR = 0xFF;
            *receive++ = byte;
        }
    } else {
        while (--bytes != 0) {
            uint8_t next = send != NULL ? *send++ : 0xFF;
            uint8_t byte = spi_byte();
            SPDR = next;
            if (receive != NULL) {
                *receive++ = byte;
            }
        }
    }
    uint8_t last = spi_byte();
    if (receive != NULL) {
        *receive = last;
    }
    return ESK_OK;
}

static void spi_delay_us(const struct esk_spi *spi, uint32_t us) {
    (void)spi;
    for (; us > DELAY_US_MAX; us -= DELAY_US_MAX) {
        _delay_loop_2(DELAY_US_MAX * TURNS_US);
    }
    if (us != 0) {
        _delay_loop_2((uint16_t)((uint16_t)us * TURNS_US));
    }
}

const struct esk_spi esk_avr_spi = {
    .select = spi_select,
    .deselect = spi_deselect,
    .transfer = spi_transfer,
    .delay_us = spi_delay_us,
};
