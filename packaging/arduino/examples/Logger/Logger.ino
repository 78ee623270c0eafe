// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A data logger that keeps its rows through resets and answers over Serial.
///
///     last  range A B  value LO HI  count  stats
///
/// logger.h tells what they mean; board_arduino.cpp is what to change for
/// another sensor, storage_eeprom.cpp for another storage. As it stands rows
/// go to the chip's EEPROM where it has 4 KB of it (a Mega 2560 keeps about
/// 100), else to RAM.
#include "board.h"
#include "logger.h"

/* A row a minute: EEPROM wears out after some 100,000 writes a byte. */
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
