// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A data logger whose rows survive resets. It answers commands over Serial:
///
///     last  range A B  value LO HI  count  stats
///
/// logger.h explains the commands. Change board_arduino.cpp for another
/// sensor. Rows go to a file on an SD card: storage_file.cpp has the pin.
#include "board.h"
#include "logger.h"

/* A row a second, a sync each ten rows. */
static const logger_config config = {1, 10};
static logger log_;
static int status;

void setup() {
    status = board_start();
    if (status == ESK_OK) {
        status = logger_start(&log_, &config);
    }
    Serial.print("status ");
    Serial.println(status);
}

void loop() {
    if (status == ESK_OK) {
        /* A failure is counted and shown by `stats`; the logger goes on. */
        (void)logger_poll(&log_);
    }
}
