// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Two programs as a start: a logger, less than 25 lines from reset to the
/// first row, and settings, 10 lines to the first value. short_test.c runs
/// them, and counts their lines.
#ifndef EXAMPLES_SHORT_SHORT_H
#define EXAMPLES_SHORT_SHORT_H

#include <stdint.h>

#include "esker/esker.h"

enum { SHORT_PAGE_BYTES = 256 };

/// The main of a logger: opens the log, and appends a row.
int short_logger(const struct esk_device *flash, uint32_t time);

/// Opens the settings, of a device with 12 KiB, and reads the first one. If it
/// was never set, `baud` stays as it is: ESK_NOT_FOUND.
int short_settings(const struct esk_device *flash, uint32_t *baud);
/// Sets one durably.
int short_setting_set(const char *name, uint32_t value);

#endif
