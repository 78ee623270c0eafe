// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The board on an ATmega2560 at 16 MHz, with nothing but a serial line:
///
///     storage   the chip's EEPROM, 4 KB: 8 blocks of 4 pages of 128 bytes
///     line      UART 0, 38,400 baud, polled: a command waits for the answer
///               to the one before
///
/// A batch has to fit a block, so a block here has four pages. EEPROM lasts
/// some 100,000 writes a byte, and the log goes round all of it. For SPI NOR
/// put the device of port/spi_nor in the place of `eeprom`; nothing else
/// changes.
#include <avr/eeprom.h>
#include <avr/io.h>

#include "examples/settings/board.h"

enum {
    PAGE_BYTES = 128,
    BLOCK_PAGES = 4,
    BLOCKS = 8,
    BLOCK_BYTES = PAGE_BYTES * BLOCK_PAGES,
    BAUD = 38400,
};

#define CLOCK_HZ 16000000ul

static uint8_t reset_cause;
static struct esk_volume volume;
static uint64_t arena[SETTINGS_ARENA_BYTES(PAGE_BYTES, BLOCKS *BLOCK_BYTES) /
                      sizeof(uint64_t)];

/// An EEPROM address, a pointer for avr-libc.
static uint16_t eeprom_at(esk_page_id page, uint16_t offset) {
    return (uint16_t)((uint16_t)page * PAGE_BYTES + offset);
}

static int eeprom_read(const struct esk_device *device, esk_page_id page,
                       uint16_t offset, void *buffer, uint16_t bytes) {
    (void)device;
    eeprom_read_block(buffer, (const void *)eeprom_at(page, offset), bytes);
    return ESK_OK;
}

/// Bytes that do not change are not written: no time, no wear.
static int eeprom_program(const struct esk_device *device, esk_page_id page,
                          uint16_t offset, const void *buffer, uint16_t bytes) {
    (void)device;
    eeprom_update_block(buffer, (void *)eeprom_at(page, offset), bytes);
    return ESK_OK;
}

static int eeprom_erase(const struct esk_device *device, uint32_t block) {
    uint16_t first = eeprom_at(block * BLOCK_PAGES, 0);
    (void)device;
    for (uint16_t i = 0; i < BLOCK_BYTES; i++) {
        eeprom_update_byte((uint8_t *)(first + i), 0xFF);
    }
    return ESK_OK;
}

static int eeprom_sync(const struct esk_device *device) {
    (void)device;
    eeprom_busy_wait();
    return ESK_OK;
}

static const struct esk_device_ops eeprom_ops = {
    .read = eeprom_read,
    .program = eeprom_program,
    .erase = eeprom_erase,
    .sync = eeprom_sync,
};

static const struct esk_device eeprom = {
    .ops = &eeprom_ops,
    .geometry = {.block_count = BLOCKS,
                 .block_pages = BLOCK_PAGES,
                 .page_bytes = PAGE_BYTES,
                 .program_bytes = 1,
                 .erased_value = 0xFF},
};

int board_start(struct settings *settings, const struct settings_set *set) {
    reset_cause = MCUSR;
    MCUSR = 0;
    UBRR0 = (uint16_t)(CLOCK_HZ / 16 / BAUD - 1);
    UCSR0B = _BV(RXEN0) | _BV(TXEN0);
    UCSR0C = _BV(UCSZ01) | _BV(UCSZ00);
    return settings_open_bare(settings, set, &volume, &eeprom, arena,
                              sizeof arena);
}

bool board_had_fault(void) {
    return (reset_cause & (_BV(WDRF) | _BV(BORF))) != 0 &&
           (reset_cause & _BV(PORF)) == 0;
}

int board_get(void) {
    while ((UCSR0A & _BV(RXC0)) == 0) {
    }
    return UDR0;
}

void board_put(char character) {
    while ((UCSR0A & _BV(UDRE0)) == 0) {
    }
    UDR0 = (uint8_t)character;
}
