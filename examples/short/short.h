// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Two programs of less than 25 lines each from reset to the first row, as a
/// start. short_test.c runs them, and counts their lines.
#ifndef EXAMPLES_SHORT_SHORT_H
#define EXAMPLES_SHORT_SHORT_H

#include <stdint.h>

#include "esker/esker.h"

enum { SHORT_PAGE_BYTES = 256 };

/// The main of a logger: opens the log, and appends a row.
int short_logger(const struct esk_device *flash, uint32_t time);

/// Opens the settings.
int short_settings_start(const struct esk_device *flash);
/// The value of a name; `otherwise` if it was never set.
uint32_t short_setting(const char *name, uint32_t otherwise);
/// Sets it durably.
int short_setting_set(const char *name, uint32_t value);

#endif
