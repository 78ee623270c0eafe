// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// DataFlash: fill the chip's buffer 1, then program it into an erased page.
///
/// An E part has a bit for a failed program or erase. A D part has none: the
/// chip compares the page with the buffer.
///
/// Invariant: every command starts with an idle chip, because each call waits
/// for its end, and first waits again if the call before failed.
#include <stddef.h>
#include <string.h>

#include "port/dataflash/dataflash.h"
#include "port/driver.h"

enum dataflash_opcode {
    DATAFLASH_READ = 0x0B,
    DATAFLASH_BLOCK_ERASE = 0x50,
    DATAFLASH_COMPARE = 0x60, ///< page with buffer 1
    DATAFLASH_BUFFER = 0x84,  ///< host to buffer 1
    DATAFLASH_PROGRAM = 0x88, ///< buffer 1 to page, no erase
    DATAFLASH_ID = 0x9F,
    DATAFLASH_WAKE = 0xAB,
    DATAFLASH_STATUS = 0xD7,
};

enum dataflash_status {
    DATAFLASH_BINARY = 0x01, ///< pages of a power of two
    DATAFLASH_PROTECTED = 0x02,
    DATAFLASH_DENSITY_SHIFT = 2, ///< 4 bits
    DATAFLASH_DIFFERS = 0x40,
    DATAFLASH_READY = 0x80,
    DATAFLASH_FAILED = 0x20, ///< in the second byte
};

enum dataflash_bound {
    DATAFLASH_BLOCK_PAGES = 8,
    DATAFLASH_WAKE_US = 50,
};
#define DATAFLASH_READY_US 500000u ///< an erase: 200 ms

static int dataflash_wait(const struct esk_dataflash *flash, uint8_t *status) {
    static const struct esk_spi_ready ready = {
        .header = {DATAFLASH_STATUS},
        .header_bytes = 1,
        .mask = DATAFLASH_READY,
        .value = DATAFLASH_READY,
    };
    return esk_spi_wait(flash->spi, &ready, DATAFLASH_READY_US, status);
}

/// An opcode with an address, then `bytes` bytes out or in.
static int dataflash_at(const struct esk_dataflash *flash, uint8_t opcode,
                        esk_page_id page, uint16_t offset, const uint8_t *send,
                        uint8_t *receive, uint16_t bytes) {
    uint32_t address = (page << flash->page_shift) | offset;
    uint8_t header[5] = {opcode, (uint8_t)(address >> 16),
                         (uint8_t)(address >> 8), (uint8_t)address, 0};
    return esk_spi_command(flash->spi, header, opcode == DATAFLASH_READ ? 5 : 4,
                           send, receive, bytes);
}

/// A command on a page; then waits until it is done.
static int dataflash_do(const struct esk_dataflash *flash, uint8_t opcode,
                        esk_page_id page, uint8_t *status) {
    int sent = dataflash_at(flash, opcode, page, 0, NULL, NULL, 0);
    int done = dataflash_wait(flash, status);
    return sent != ESK_OK ? sent : done;
}

/// The result of an E part's last program or erase.
static int dataflash_result(const struct esk_dataflash *flash) {
    uint8_t opcode = DATAFLASH_STATUS;
    uint8_t status[2];
    ESK_TRY(esk_spi_command(flash->spi, &opcode, 1, NULL, status, 2));
    return (status[1] & DATAFLASH_FAILED) != 0 ? ESK_E_MEDIUM : ESK_OK;
}

/// Waits until the chip is idle, and checks whether it is protected.
static int dataflash_enter(const struct esk_dataflash *flash) {
    uint8_t status;
    ESK_TRY(dataflash_wait(flash, &status));
    return (status & DATAFLASH_PROTECTED) != 0 ? ESK_E_READ_ONLY : ESK_OK;
}

static int dataflash_read(const struct esk_device *device, esk_page_id page,
                          uint16_t offset, void *buffer, uint16_t bytes) {
    const struct esk_dataflash *flash = device->context;
    uint8_t status;
    ESK_TRY(esk_driver_check(device, page, offset, bytes));
    ESK_TRY(dataflash_wait(flash, &status));
    return dataflash_at(flash, DATAFLASH_READ, flash->page_first + page, offset,
                        NULL, buffer, bytes);
}

static int dataflash_program(const struct esk_device *device, esk_page_id page,
                             uint16_t offset, const void *buffer,
                             uint16_t bytes) {
    const struct esk_dataflash *flash = device->context;
    uint8_t status;
    ESK_TRY(esk_driver_check(device, page, offset, bytes));
    if (bytes != device->geometry.page_bytes) {
        return ESK_E_INVALID;
    }
    page += flash->page_first;
    ESK_TRY(dataflash_enter(flash));
    ESK_TRY(dataflash_at(flash, DATAFLASH_BUFFER, 0, 0, buffer, NULL, bytes));
    ESK_TRY(dataflash_do(flash, DATAFLASH_PROGRAM, page, &status));
    if (flash->extended) {
        return dataflash_result(flash);
    }
    ESK_TRY(dataflash_do(flash, DATAFLASH_COMPARE, page, &status));
    return (status & DATAFLASH_DIFFERS) != 0 ? ESK_E_MEDIUM : ESK_OK;
}

static int dataflash_erase(const struct esk_device *device, uint32_t block) {
    const struct esk_dataflash *flash = device->context;
    esk_page_id page = block * DATAFLASH_BLOCK_PAGES;
    uint8_t status;
    ESK_TRY(esk_driver_check(device, page, 0, 0));
    ESK_TRY(dataflash_enter(flash));
    ESK_TRY(dataflash_do(flash, DATAFLASH_BLOCK_ERASE, flash->page_first + page,
                         &status));
    return flash->extended ? dataflash_result(flash) : ESK_OK;
}

/// Nothing to do: a call that returned ESK_OK is on the medium.
static int dataflash_sync(const struct esk_device *device) {
    (void)device;
    return ESK_OK;
}

static const struct esk_device_ops dataflash_ops = {
    .read = dataflash_read,
    .program = dataflash_program,
    .erase = dataflash_erase,
    .sync = dataflash_sync,
};

/// Wakes the chip and reads its status and whether it is an E part.
static int dataflash_identify(struct esk_dataflash *flash, uint8_t *status) {
    uint8_t opcode = DATAFLASH_WAKE;
    uint8_t id[4];
    *status = 0;
    ESK_TRY(esk_spi_command(flash->spi, &opcode, 1, NULL, NULL, 0));
    flash->spi->delay_us(flash->spi, DATAFLASH_WAKE_US);
    int waited = dataflash_wait(flash, status);
    if (waited != ESK_OK) {
        return *status == 0xFF || *status == 0 ? ESK_NOT_FOUND : waited;
    }
    opcode = DATAFLASH_ID;
    ESK_TRY(esk_spi_command(flash->spi, &opcode, 1, NULL, id, 4));
    flash->extended = id[3] != 0;
    return id[0] == 0x1F && (id[1] & 0xE0) == 0x20 ? ESK_OK : ESK_E_UNSUPPORTED;
}

/// Fills in the geometry from the status byte.
///
///     density  3   5   7   9   11  13  15, E  15, D
///     bytes    2^17 .. 2^20    2^21 2^22 2^23 2^23     of 256 a page, ...
///     page     256 256 256 256 512 512 256    1024     or 264, 528, 1056
static int dataflash_learn(struct esk_dataflash *flash, uint8_t status,
                           uint16_t *blocks) {
    struct esk_geometry *geometry = &flash->device.geometry;
    uint8_t density = status >> DATAFLASH_DENSITY_SHIFT & 15;
    uint8_t page_log = density <= 9 ? 8 : 9;
    if (density == 15) {
        page_log = flash->extended ? 8 : 10;
    }
    if (density < 3 || density % 2 == 0) {
        return ESK_E_UNSUPPORTED;
    }
    uint16_t page = (uint16_t)(1u << page_log);
    *blocks = (uint16_t)(1u << ((density + 31) / 2 - page_log - 3));
    flash->page_shift = page_log;
    if ((status & DATAFLASH_BINARY) == 0) {
        page = (uint16_t)(page + page / 32);
        flash->page_shift++;
    }
    geometry->block_pages = DATAFLASH_BLOCK_PAGES;
    geometry->page_bytes = page;
    geometry->program_bytes = page;
    geometry->programs_per_page_max = 1;
    geometry->erased_value = 0xFF;
    return ESK_OK;
}

int esk_dataflash_init(struct esk_dataflash *flash, const struct esk_spi *spi,
                       const struct esk_dataflash_config *config) {
    static const struct esk_dataflash_config defaults = {0};
    uint8_t status;
    uint16_t blocks;
    config = config == NULL ? &defaults : config;
    memset(flash, 0, sizeof *flash);
    flash->device.ops = &dataflash_ops;
    flash->device.context = flash;
    flash->spi = spi;
    ESK_TRY(dataflash_identify(flash, &status));
    ESK_TRY(dataflash_learn(flash, status, &blocks));
    if (config->page_bytes != 0 &&
        config->page_bytes != flash->device.geometry.page_bytes) {
        return ESK_E_GEOMETRY;
    }
    ESK_TRY(esk_driver_blocks(&flash->device, blocks, config->block_first,
                              config->block_count));
    flash->page_first = (uint16_t)(config->block_first * DATAFLASH_BLOCK_PAGES);
    return (status & DATAFLASH_PROTECTED) != 0 ? ESK_E_READ_ONLY : ESK_OK;
}
