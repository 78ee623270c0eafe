// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Two programs in under 25 lines each from reset to the first row: what to
/// begin with. short_test.c runs them, and counts their lines.
#ifndef EXAMPLES_SHORT_SHORT_H
#define EXAMPLES_SHORT_SHORT_H

#include <stdint.h>

#include "esker/esker.h"

enum { SHORT_PAGE_BYTES = 256 };

/// What a logger's main does: opens the log, and appends a row.
int short_logger(const struct esk_device *flash, uint32_t time);

/// Opens the settings.
int short_settings_start(const struct esk_device *flash);
/// The value of a name of 12 bytes; `otherwise` where it was never set.
uint32_t short_setting(const char name[12], uint32_t otherwise);
/// Sets it durably.
int short_setting_set(const char name[12], uint32_t value);

#endif
