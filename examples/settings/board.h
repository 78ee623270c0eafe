// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The board of the settings. One board_<name>.c implements it.
///
///     board_host.c   this machine: a table of a volume in an image file
///     board_avr.c    ATmega2560: a bare store in its EEPROM, UART 0
#ifndef ESK_EXAMPLE_SETTINGS_BOARD_H
#define ESK_EXAMPLE_SETTINGS_BOARD_H

#include "examples/settings/settings.h"

/// Starts the board and opens the settings of `set`.
/// Returns as settings_open; ESK_E_IO when the storage does not respond.
int board_start(struct settings *settings, const struct settings_set *set);

/// Whether the last reset was no power-on: a watchdog, a brown-out.
bool board_had_fault(void);

/// The next character from the serial line; -1 at its end, which a board with a
/// UART never returns.
int board_get(void);

/// Sends one character; waits while the line is busy.
void board_put(char character);

#endif
