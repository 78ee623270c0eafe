// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// SPI NAND: pages go through the chip's buffer, and its status has the result.
///
///     read      page to buffer, wait, ECC status, buffer to host
///     program   write-enable, host to buffer, execute, wait, P_FAIL
///     erase     write-enable, erase, wait, E_FAIL
///
/// Invariant: every command starts with an idle chip, because each call waits
/// for its end, and first waits again if the call before failed.
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "port/driver.h"
#include "port/spi_nand/spi_nand.h"

enum nand_opcode {
    NAND_LOAD = 0x02, ///< host to buffer; the rest of it becomes 0xFF
    NAND_BUFFER_READ = 0x03,
    NAND_WRITE_ENABLE = 0x06,
    NAND_REGISTER_READ = 0x0F,
    NAND_EXECUTE = 0x10,
    NAND_PAGE_READ = 0x13,
    NAND_REGISTER_WRITE = 0x1F,
    NAND_ID = 0x9F,
    NAND_ERASE = 0xD8,
    NAND_RESET = 0xFF,
};

enum nand_register {
    NAND_PROTECT = 0xA0,
    NAND_CONFIG = 0xB0,
    NAND_STATUS = 0xC0,
    NAND_PROTECT_BLOCKS = 0x7C, ///< BP3 .. BP0, TB
    NAND_BUFFER = 0x08,         ///< reads end at the page: no continuous mode
    NAND_CORRECTS = 0x10,       ///< ECC-E
    NAND_BUSY = 0x01,
    NAND_ENABLED = 0x02,
    NAND_ERASE_FAILED = 0x04,
    NAND_PROGRAM_FAILED = 0x08,
    NAND_ECC = 0x30,
    NAND_ECC_CORRECTED = 0x10,
};

enum nand_geometry {
    NAND_BLOCKS = 1024,
    NAND_BLOCK_PAGES = 64,
    NAND_PAGE_BYTES = 2048,
    NAND_SPARE_BYTES = 64,
    NAND_READY_US = 20000, ///< an erase takes 10 ms, all else less
    NAND_RESET_US = 500,
};

static int nand_wait(const struct esk_spi_nand *nand, uint8_t *status) {
    static const struct esk_spi_ready ready = {
        .header = {NAND_REGISTER_READ, NAND_STATUS},
        .header_bytes = 2,
        .mask = NAND_BUSY,
    };
    return esk_spi_wait(nand->spi, &ready, NAND_READY_US, status);
}

static int nand_register(const struct esk_spi_nand *nand, uint8_t address,
                         uint8_t *value) {
    uint8_t header[2] = {NAND_REGISTER_READ, address};
    return esk_spi_command(nand->spi, header, 2, NULL, value, 1);
}

static int nand_register_set(const struct esk_spi_nand *nand, uint8_t address,
                             uint8_t value) {
    uint8_t header[3] = {NAND_REGISTER_WRITE, address, value};
    return esk_spi_command(nand->spi, header, 3, NULL, NULL, 0);
}

/// Turns ECC on or off, and checks that it is.
static int nand_ecc_set(const struct esk_spi_nand *nand, bool on) {
    uint8_t value;
    uint8_t wanted = on ? NAND_BUFFER | NAND_CORRECTS : NAND_BUFFER;
    ESK_TRY(nand_wait(nand, &value));
    ESK_TRY(nand_register_set(nand, NAND_CONFIG, wanted));
    ESK_TRY(nand_register(nand, NAND_CONFIG, &value));
    return (value & (NAND_BUFFER | NAND_CORRECTS)) == wanted ? ESK_OK
                                                             : ESK_E_IO;
}

/// A command on a page of the array; then waits until it is done.
static int nand_page(const struct esk_spi_nand *nand, uint8_t opcode,
                     esk_page_id page, uint8_t *status) {
    uint16_t row = (uint16_t)(nand->page_first + page);
    uint8_t header[4] = {opcode, 0, (uint8_t)(row >> 8), (uint8_t)row};
    int sent = esk_spi_command(nand->spi, header, 4, NULL, NULL, 0);
    int done = nand_wait(nand, status);
    return sent != ESK_OK ? sent : done;
}

/// Enables the next program or erase.
static int nand_enable(const struct esk_spi_nand *nand) {
    uint8_t opcode = NAND_WRITE_ENABLE;
    uint8_t status;
    ESK_TRY(nand_wait(nand, &status));
    ESK_TRY(esk_spi_command(nand->spi, &opcode, 1, NULL, NULL, 0));
    ESK_TRY(nand_register(nand, NAND_STATUS, &status));
    return (status & NAND_ENABLED) != 0 ? ESK_OK : ESK_E_READ_ONLY;
}

/// Reads from `column` on, spare bytes included.
static int nand_columns(struct esk_spi_nand *nand, esk_page_id page,
                        uint16_t column, uint8_t *buffer, uint16_t bytes,
                        uint8_t *status) {
    uint8_t header[4] = {NAND_BUFFER_READ, (uint8_t)(column >> 8),
                         (uint8_t)column, 0};
    ESK_TRY(nand_wait(nand, status));
    ESK_TRY(nand_page(nand, NAND_PAGE_READ, page, status));
    return esk_spi_command(nand->spi, header, 4, NULL, buffer, bytes);
}

static int nand_read(const struct esk_device *device, esk_page_id page,
                     uint16_t offset, void *buffer, uint16_t bytes) {
    struct esk_spi_nand *nand = device->context;
    uint8_t status;
    ESK_TRY(esk_driver_check(device, page, offset, bytes));
    ESK_TRY(nand_columns(nand, page, offset, buffer, bytes, &status));
    if ((status & NAND_ECC) == NAND_ECC_CORRECTED) {
        nand->pages_corrected++;
    } else if ((status & NAND_ECC) != 0) {
        nand->pages_lost++;
        return ESK_E_CORRUPT;
    }
    return ESK_OK;
}

/// Programs `bytes` bytes from `column` on; the other bytes do not change.
static int nand_put(const struct esk_spi_nand *nand, esk_page_id page,
                    uint16_t column, const uint8_t *bytes, uint16_t count) {
    uint8_t header[3] = {NAND_LOAD, (uint8_t)(column >> 8), (uint8_t)column};
    uint8_t status;
    ESK_TRY(nand_enable(nand));
    ESK_TRY(esk_spi_command(nand->spi, header, 3, bytes, NULL, count));
    ESK_TRY(nand_page(nand, NAND_EXECUTE, page, &status));
    if ((status & NAND_PROGRAM_FAILED) != 0) {
        return ESK_E_MEDIUM;
    }
    return (status & NAND_ENABLED) != 0 ? ESK_E_IO : ESK_OK;
}

static int nand_program(const struct esk_device *device, esk_page_id page,
                        uint16_t offset, const void *buffer, uint16_t bytes) {
    ESK_TRY(esk_driver_check(device, page, offset, bytes));
    return nand_put(device->context, page, offset, buffer, bytes);
}

/// The device page of a block's first page.
static int nand_block(const struct esk_device *device, uint32_t block,
                      esk_page_id *page) {
    *page = block * NAND_BLOCK_PAGES;
    return block < device->geometry.block_count ? ESK_OK : ESK_E_IO;
}

static int nand_erase(const struct esk_device *device, uint32_t block) {
    const struct esk_spi_nand *nand = device->context;
    esk_page_id page;
    uint8_t status;
    ESK_TRY(nand_block(device, block, &page));
    ESK_TRY(nand_enable(nand));
    ESK_TRY(nand_page(nand, NAND_ERASE, page, &status));
    if ((status & NAND_ERASE_FAILED) != 0) {
        return ESK_E_MEDIUM;
    }
    return (status & NAND_ENABLED) != 0 ? ESK_E_IO : ESK_OK;
}

/// Nothing to do: a call that returned ESK_OK is on the medium.
static int nand_sync(const struct esk_device *device) {
    (void)device;
    return ESK_OK;
}

/// The mark is the first spare byte of the block's first page; ECC does not
/// cover it. The maker's second mark, byte 0 of the page, is data later.
static int nand_is_bad(const struct esk_device *device, uint32_t block,
                       bool *bad) {
    esk_page_id page;
    uint8_t mark;
    uint8_t status;
    ESK_TRY(nand_block(device, block, &page));
    ESK_TRY(nand_columns(device->context, page, NAND_PAGE_BYTES, &mark, 1,
                         &status));
    *bad = mark != 0xFF;
    return ESK_OK;
}

/// Adds the mark to a page that may have rows, which stay readable: with ECC
/// off the chip programs these two bytes and no check bytes with them.
static int nand_mark_bad(const struct esk_device *device, uint32_t block) {
    static const uint8_t mark[2] = {0, 0};
    const struct esk_spi_nand *nand = device->context;
    esk_page_id page;
    ESK_TRY(nand_block(device, block, &page));
    ESK_TRY(nand_ecc_set(nand, false));
    int marked = nand_put(nand, page, NAND_PAGE_BYTES, mark, sizeof mark);
    int ecc = nand_ecc_set(nand, true);
    return marked != ESK_OK ? marked : ecc;
}

static const struct esk_device_ops nand_ops = {
    .read = nand_read,
    .program = nand_program,
    .erase = nand_erase,
    .sync = nand_sync,
    .block_is_bad = nand_is_bad,
    .block_mark_bad = nand_mark_bad,
};

static int nand_identify(const struct esk_spi_nand *nand) {
    uint8_t header[2] = {NAND_ID, 0};
    uint8_t id[3];
    uint8_t status = 0;
    uint8_t reset = NAND_RESET;
    // A reset ends a program or erase that an earlier run began.
    ESK_TRY(esk_spi_command(nand->spi, &reset, 1, NULL, NULL, 0));
    nand->spi->delay_us(nand->spi, NAND_RESET_US);
    int waited = nand_wait(nand, &status);
    if (waited != ESK_OK) {
        return status == 0xFF ? ESK_NOT_FOUND : waited;
    }
    ESK_TRY(esk_spi_command(nand->spi, header, 2, NULL, id, 3));
    if (id[0] == id[1] && id[1] == id[2] && (id[0] == 0 || id[0] == 0xFF)) {
        return ESK_NOT_FOUND;
    }
    return id[0] == 0xEF && id[1] == 0xAA && id[2] == 0x21 ? ESK_OK
                                                           : ESK_E_UNSUPPORTED;
}

int esk_spi_nand_init(struct esk_spi_nand *nand, const struct esk_spi *spi,
                      const struct esk_spi_nand_config *config) {
    static const struct esk_spi_nand_config defaults = {0};
    struct esk_geometry *geometry = &nand->device.geometry;
    uint8_t value;
    config = config == NULL ? &defaults : config;
    memset(nand, 0, sizeof *nand);
    nand->device.ops = &nand_ops;
    nand->device.context = nand;
    nand->spi = spi;
    geometry->block_pages = NAND_BLOCK_PAGES;
    geometry->page_bytes = NAND_PAGE_BYTES;
    geometry->spare_bytes = NAND_SPARE_BYTES;
    geometry->program_bytes = NAND_PAGE_BYTES;
    geometry->programs_per_page_max = 1;
    geometry->erased_value = 0xFF;
    ESK_TRY(nand_identify(nand));
    ESK_TRY(esk_driver_blocks(&nand->device, NAND_BLOCKS, config->block_first,
                              config->block_count));
    nand->page_first = (uint16_t)(config->block_first * NAND_BLOCK_PAGES);
    ESK_TRY(nand_register_set(nand, NAND_PROTECT, 0));
    ESK_TRY(nand_ecc_set(nand, true));
    ESK_TRY(nand_register(nand, NAND_PROTECT, &value));
    return (value & NAND_PROTECT_BLOCKS) != 0 ? ESK_E_READ_ONLY : ESK_OK;
}
