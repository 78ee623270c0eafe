// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The board of the logger. One board_<name>.c implements it; another board is
/// another such file.
///
///     board_host.c   this machine: an image file, stdin and stdout
///     board_avr.c    ATmega2560: its EEPROM, UART 0, timer 1 and ADC
#ifndef ESK_EXAMPLE_LOGGER_BOARD_H
#define ESK_EXAMPLE_LOGGER_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "esker/device.h"

#ifdef __cplusplus
extern "C" {
#endif

struct logger_row;

/// Starts the board: clock, serial line, sensor, storage.
/// Returns  ESK_OK; ESK_E_IO when the storage does not respond.
int board_start(void);

/// The storage. Valid after board_start; pages of at most
/// LOGGER_PAGE_BYTES_MAX.
const struct esk_device *board_device(void);

/// Seconds, which never fall while the power is on. After a reset they may
/// start at any value: the logger continues from its newest row.
uint32_t board_seconds(void);

/// Fills in what the sensor measures: temp, light, supply.
void board_sample(struct logger_row *row);

/// The next character from the serial line, or -1 when none waits.
int board_get(void);

/// Sends one character; waits while the line is busy.
void board_put(char character);

/// Waits until a second has passed or a character waits, or less. False: time
/// to stop.
bool board_idle(void);

#ifdef __cplusplus
}
#endif

#endif
