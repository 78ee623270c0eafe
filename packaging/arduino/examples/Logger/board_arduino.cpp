// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The logger's board where there is Arduino: Serial, millis, analogRead,
/// and as storage the EEPROM, or RAM where a chip has none.
#include "board.h"

#include <Arduino.h>

#include "logger.h"

enum { PAGE_BYTES = 128, BLOCKS = 32 };

static_assert((int)PAGE_BYTES <= (int)LOGGER_PAGE_BYTES_MAX, "arena");

static esk_device device;

static esk_geometry geometry() {
    esk_geometry made = {};
    made.block_count = BLOCKS;
    made.block_pages = 1;
    made.page_bytes = PAGE_BYTES;
    made.program_bytes = 1;
    made.erased_value = 0xFF;
    return made;
}

#if defined(__AVR__) && E2END >= 4095
#include <avr/eeprom.h>

/// Bytes that are as they should be are not written again: it saves time and
/// wear.
static int eeprom_read(const esk_device *, esk_page_id page, uint16_t offset,
                       void *buffer, uint16_t bytes) {
    uint16_t at = (uint16_t)(page * PAGE_BYTES + offset);
    eeprom_read_block(buffer, (const void *)at, bytes);
    return ESK_OK;
}

static int eeprom_program(const esk_device *, esk_page_id page,
                          uint16_t offset, const void *buffer,
                          uint16_t bytes) {
    uint16_t at = (uint16_t)(page * PAGE_BYTES + offset);
    eeprom_update_block(buffer, (void *)at, bytes);
    return ESK_OK;
}

static int eeprom_erase(const esk_device *, uint32_t block) {
    uint8_t *at = (uint8_t *)(uint16_t)(block * PAGE_BYTES);
    for (uint8_t i = 0; i < PAGE_BYTES; i++) {
        eeprom_update_byte(at + i, 0xFF);
    }
    return ESK_OK;
}

static int eeprom_sync(const esk_device *) {
    eeprom_busy_wait();
    return ESK_OK;
}

static esk_device_ops ops;

static int storage_start() {
    ops.read = eeprom_read;
    ops.program = eeprom_program;
    ops.erase = eeprom_erase;
    ops.sync = eeprom_sync;
    device.ops = &ops;
    device.geometry = geometry();
    return ESK_OK;
}
#else
static uint8_t memory[PAGE_BYTES * BLOCKS];

static int storage_start() {
    static esk_ram_device ram;
    esk_geometry shape = geometry();
    memset(memory, 0xFF, sizeof memory);
    ESK_TRY(esk_ram_device_init(&ram, &shape, memory, sizeof memory));
    device = ram.device;
    return ESK_OK;
}
#endif

int board_start(void) {
    Serial.begin(115200);
    return storage_start();
}

const esk_device *board_device(void) {
    return &device;
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
