// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The SPI master of the ATmega2560 at F_CPU / 2, one chip selected by PB0.
#ifndef ESK_PORT_AVR_SPI_H
#define ESK_PORT_AVR_SPI_H

#include <stdint.h>

/// Sets the pins and the clock; the chip is deselected.
void esk_avr_spi_init(void);

void esk_avr_spi_select(void);
void esk_avr_spi_deselect(void);

/// Sends `bytes` bytes of `out` (NULL: 0xFF each) and puts what comes back
/// into `in` (NULL: nowhere). A byte costs about 40 cycles, of which the bus
/// takes 16.
void esk_avr_spi_transfer(const uint8_t *out, uint8_t *in, uint16_t bytes);

#endif
