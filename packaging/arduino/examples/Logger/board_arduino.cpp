// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The logger's board for Arduino: Serial, millis, analogRead.
/// storage_*.cpp has the storage.
#include "board.h"

#include <Arduino.h>

#include "logger.h"
#include "storage.h"

static const esk_device *device;

int board_start(void) {
    Serial.begin(115200);
    return storage_start(&device);
}

const esk_device *board_device(void) {
    return device;
}

/// millis() wraps after 49 days; seconds do not.
uint32_t board_seconds(void) {
    static uint32_t last_ms;
    static uint32_t seconds;
    static uint16_t rest_ms;
    uint32_t now = millis();
    uint32_t passed = now - last_ms + rest_ms;
    last_ms = now;
    seconds += passed / 1000u;
    rest_ms = (uint16_t)(passed % 1000u);
    return seconds;
}

/// A TMP36 on A0 and a light sensor on A1, at a 5 V reference.
void board_sample(struct logger_row *row) {
    int32_t millivolts = (int32_t)analogRead(A0) * 5000 / 1024;
    row->temp_centi = (int16_t)((millivolts - 500) * 10);
    row->light = (uint16_t)analogRead(A1);
    row->supply_mv = 5000;
}

int board_get(void) {
    return Serial.available() > 0 ? Serial.read() : -1;
}

void board_put(char character) {
    Serial.write((uint8_t)character);
}

bool board_idle(void) {
    return true;
}
