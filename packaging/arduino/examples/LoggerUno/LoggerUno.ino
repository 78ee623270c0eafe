// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A data logger for an Arduino Uno: 2 KB of RAM, 32 KB of flash.
///
/// Ten rows a second, a sync each eight, on SPI NOR flash (a W25Q64 or any
/// other that describes itself) with its select line at pin 10. Over Serial,
/// 115200 baud:
///
///     + TIME,TEMP,LIGHT    a row was sampled
///     = TIME               rows up to this one survive a power cut
///     @ TIME               started; the next row is of this time
///     A B (and Enter)      requests the rows with A <= time <= B: each is
///                          printed as TIME,TEMP,LIGHT, and after the last
///                          row `# COUNT`
///     ! STATUS             a call failed: esker.h has the numbers
///
/// The Uno has no clock: time is counted in tenths of a second of sampling,
/// and goes on after a reset from the newest row.
///
/// The library is compiled for this one table: log.c. log_shape.h is of an
/// empty image of the first 128 KB of the chip. It was made by
///
///     esker create factory.img log time=u32 temp=i16 light=u16
///         --unit time=ds --size 128K
///     esker header factory.img log -o log_shape.h
///
/// For more of the chip, or other columns, make it again.
#include <SPI.h>
#include <esker.h>

#include "log.h"
#include "uno_board.h"

enum { PERIOD_MS = 100, SYNC_ROWS = 8 };

static uint32_t now;
static unsigned long sampled_ms;
static uint8_t unsynced;

static int16_t rows; ///< shown since it was last set to 0

static void show(const log_sample *sample) {
    put((int32_t)sample->time, ',');
    put(sample->temp, ',');
    put(sample->light, '\n');
    rows++;
}

/// Reads typed characters: two numbers and an end of line.
static void listen() {
    static uint32_t number[2];
    static uint8_t at;
    while (Serial.available() > 0) {
        char typed = (char)Serial.read();
        if (typed >= '0' && typed <= '9') {
            number[at] = number[at] * 10 + (uint8_t)(typed - '0');
        } else if (typed == ' ') {
            at = 1;
        } else if (typed == '\n') {
            rows = 0;
            int status = log_range(number[0], number[1], show);
            say(status == ESK_OK ? '#' : '!', status == ESK_OK ? rows : status);
            number[0] = number[1] = 0;
            at = 0;
        }
    }
}

static void sample() {
    log_sample row;
    row.time = now;
    row.temp = (int16_t)analogRead(A0);
    row.light = (uint16_t)analogRead(A1);
    Serial.write('+');
    Serial.write(' ');
    show(&row);
    /* A row is reported before it is appended. */
    Serial.flush();
    int status = log_append(&row);
    if (status == ESK_OK) {
        now++;
        unsynced++;
    }
    if (status == ESK_OK && unsynced >= SYNC_ROWS) {
        status = log_sync();
        if (status == ESK_OK) {
            unsynced = 0;
            say('=', (int32_t)row.time);
        }
    }
    if (status != ESK_OK) {
        say('!', status);
    }
}

void setup() {
    boardBegin();
    int status;
    while ((status = log_start(&bus, &now)) != ESK_OK) {
        say('!', status);
    }
    say('@', (int32_t)now);
}

void loop() {
    listen();
    if (millis() - sampled_ms >= PERIOD_MS) {
        sampled_ms += PERIOD_MS;
        sample();
    }
}
