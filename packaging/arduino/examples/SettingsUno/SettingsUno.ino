// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The settings of a device, on an Arduino Uno: 2 KB of RAM, 32 KB of flash.
///
/// Defaults are in the program. What was set is in a kv table on SPI NOR flash
/// (a W25Q64 or any other that is alike) with its select line at pin 10. Over
/// Serial, 115200 baud, lines are typed:
///
///     NAME=VALUE    sets one; answered by `= NAME`, and from then on the value
///                   survives a power cut
///     list          prints all as NAME=VALUE, and `# COUNT`
///     reset         gives all their defaults again, at once; answered by `=`
///
/// It prints
///
///     @ STARTS      started, for the STARTS-th time
///     ! STATUS      a call failed: esker.h has the numbers
///
/// The library is compiled for this one store: settings.c, which also has the
/// names and the defaults.
#include <SPI.h>
#include <esker.h>

#include "settings.h"
#include "uno_board.h"

enum { LINE_BYTES = SETTING_NAME_BYTES + SETTING_TEXT_BYTES };

static char line[LINE_BYTES];
static uint8_t typed; ///< characters; LINE_BYTES: too many

static void text(const char *from, char end) {
    while (*from != '\0') {
        Serial.write(*from++);
    }
    Serial.write(end);
}

static __attribute__((noinline)) int list() {
    setting copy;
    for (uint8_t i = 0; i < SETTINGS; i++) {
        int status = settings_get(i, &copy);
        if (status != ESK_OK) {
            return status;
        }
        text(copy.name, '=');
        if (copy.is_text) {
            text(copy.text, '\n');
        } else {
            put(copy.number, '\n');
        }
    }
    say('#', SETTINGS);
    return ESK_OK;
}

static int obey() {
    if (typed == LINE_BYTES) {
        return ESK_E_INVALID;
    }
    line[typed] = '\0';
    if (strcmp_P(line, PSTR("list")) == 0) {
        return list();
    }
    int status = ESK_E_INVALID;
    char *value = strchr(line, '=');
    if (value != NULL) {
        *value = '\0';
        status = settings_set(line, value + 1);
    } else if (strcmp_P(line, PSTR("reset")) == 0) {
        line[0] = '\0';
        status = settings_reset();
    }
    if (status == ESK_OK) {
        Serial.write('=');
        Serial.write(' ');
        text(line, '\n');
    }
    return status;
}

void setup() {
    boardBegin();
    uint32_t starts = 0;
    int status;
    while ((status = settings_start(&bus, &starts)) != ESK_OK) {
        say('!', status);
    }
    say('@', (int32_t)starts);
}

void loop() {
    if (Serial.available() == 0) {
        return;
    }
    char next = (char)Serial.read();
    if (next == '\n') {
        int status = obey();
        if (status != ESK_OK) {
            say('!', status);
        }
        typed = 0;
    } else if (typed < LINE_BYTES) {
        line[typed++] = next;
    }
}
