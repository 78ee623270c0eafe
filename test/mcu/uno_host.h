// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Who types what to a sketch that uno_host runs.
#ifndef ESK_TEST_MCU_UNO_HOST_H
#define ESK_TEST_MCU_UNO_HOST_H

#include "bench/mcu/simavr_host.h"

/// A sketch's user.
struct uno_user {
    const char *sketch;
    /// A whole line came, which is in host->line. last: this life is not cut.
    void (*line_came)(struct host *host, bool last);
};

extern const struct uno_user uno_logger;
extern const struct uno_user uno_settings;

/// Types a text that ends a line; prints it as `< TEXT`.
void uno_type(struct host *host, const char *text);

#endif
