// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The firmware: start, then turn after turn.
#include "examples/logger/board.h"
#include "examples/logger/logger.h"

#ifndef LOGGER_PERIOD_S
#define LOGGER_PERIOD_S 1
#endif
#ifndef LOGGER_SYNC_ROWS
#define LOGGER_SYNC_ROWS 8
#endif

static const struct logger_config config = {.period_s = LOGGER_PERIOD_S,
                                            .sync_rows = LOGGER_SYNC_ROWS};
static struct logger logger;

static void say(const char *text) {
    while (*text != '\0') {
        board_put(*text++);
    }
}

int main(void) {
    int status = board_start();
    if (status == ESK_OK) {
        status = logger_start(&logger, &config);
    }
    if (status != ESK_OK) {
        say("logger: no storage\n");
        return 1;
    }
    say("logger: ready\n");
    do {
        // A failure is counted and shown by `stats`; the logger continues.
        (void)logger_poll(&logger);
    } while (logger_is_busy(&logger) || board_idle());
    return logger_sync(&logger) == ESK_OK ? 0 : 1;
}
