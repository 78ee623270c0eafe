// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A data logger whose rows survive resets. It answers commands over Serial:
///
///     last  range A B  value LO HI  count  stats
///
/// logger.h explains the commands. Change board_arduino.cpp for another
/// sensor, storage_eeprom.cpp for another storage. Rows go to the chip's
/// EEPROM if it has 4 KB (about 100 rows on a Mega 2560), otherwise to RAM.
#include "board.h"
#include "logger.h"

/* A row a minute: EEPROM wears out after about 100,000 writes of a byte. */
static const logger_config config = {60, 1};
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
