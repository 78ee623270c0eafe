// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The SPI master of the ATmega2560, one chip selected by PB0.
///
///     esk_avr_spi_init(false);                      SD cards begin slowly
///     esk_sd_spi_init(&sd, &esk_avr_spi, NULL);
///     esk_avr_spi_init(true);
///
/// F_CPU, in Hz, is the clock that delays are counted by; 16 MHz if not set.
#ifndef ESK_PORT_AVR_SPI_H
#define ESK_PORT_AVR_SPI_H

#include <stdbool.h>

#include "port/spi/spi.h"

/// The bus. A byte costs 21 cycles, of which the bus takes 16.
extern const struct esk_spi esk_avr_spi;

/// Sets the pins and the clock; the chip is deselected.
///
/// fast     F_CPU / 2; else F_CPU / 64, 250 kHz at 16 MHz.
void esk_avr_spi_init(bool fast);

#endif
