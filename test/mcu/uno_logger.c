// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The user of LoggerUno: when it has started, the newest rows are requested;
/// in the last life all.
#include <stdlib.h>

#include "test/mcu/uno_host.h"

enum { RECENT = 40 }; /* far fewer than the table holds */

static void line_came(struct host *host, bool last) {
    char asks[40];
    if (host->line[0] == '@') {
        unsigned long next = strtoul(host->line + 1, NULL, 10);
        unsigned long from = next > RECENT && !last ? next - RECENT : 0;
        snprintf(asks, sizeof asks, "%lu 4294967295\n", from);
        uno_type(host, asks);
    }
}

const struct uno_user uno_logger = {"LoggerUno", line_came};
