// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The chip's EEPROM if it has 4 KB, otherwise RAM.
#include <Arduino.h>

#include "logger.h"
#include "storage.h"

enum { PAGE_BYTES = 128, BLOCKS = 32 };

static_assert((int)PAGE_BYTES <= (int)LOGGER_PAGE_BYTES_MAX, "arena");

static esk_device made;

static esk_geometry geometry() {
    esk_geometry shape = {};
    shape.block_count = BLOCKS;
    shape.block_pages = 1;
    shape.page_bytes = PAGE_BYTES;
    shape.program_bytes = 1;
    shape.erased_value = 0xFF;
    return shape;
}

#if defined(__AVR__) && E2END >= 4095
#include <avr/eeprom.h>

/// Bytes that already have the right value are not written again: this saves
/// time and wear.
static int eeprom_read(const esk_device *, esk_page_id page, uint16_t offset,
                       void *buffer, uint16_t bytes) {
    uint16_t at = (uint16_t)(page * PAGE_BYTES + offset);
    eeprom_read_block(buffer, (const void *)at, bytes);
    return ESK_OK;
}

static int eeprom_program(const esk_device *, esk_page_id page, uint16_t offset,
                          const void *buffer, uint16_t bytes) {
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

static int start() {
    ops.read = eeprom_read;
    ops.program = eeprom_program;
    ops.erase = eeprom_erase;
    ops.sync = eeprom_sync;
    made.ops = &ops;
    made.geometry = geometry();
    return ESK_OK;
}
#else
static uint8_t memory[PAGE_BYTES * BLOCKS];

static int start() {
    static esk_ram_device ram;
    esk_geometry shape = geometry();
    memset(memory, 0xFF, sizeof memory);
    ESK_TRY(esk_ram_device_init(&ram, &shape, memory, sizeof memory));
    made = ram.device;
    return ESK_OK;
}
#endif

int storage_start(const struct esk_device **device) {
    *device = &made;
    return start();
}
