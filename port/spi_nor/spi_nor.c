// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// SPI NOR: every program and erase is write-enable, status, command, wait.
///
/// Reading the status register after write-enable costs two bytes, and tells
/// apart a protected chip, a missing one and a ready one. Where the chip has no
/// fail bits, WEL shows whether the chip accepted the command: the chip clears
/// it at the end.
///
/// Invariant: a call returns ESK_OK only when the chip is idle again.
#include <stddef.h>
#include <string.h>

#include "port/driver.h"
#include "port/spi_nor/spi_nor.h"

enum nor_opcode {
    NOR_PROGRAM = 0x02,
    NOR_READ = 0x03,
    NOR_STATUS = 0x05,
    NOR_WRITE_ENABLE = 0x06,
    NOR_PROGRAM_4 = 0x12,
    NOR_READ_4 = 0x13,
    NOR_SECURITY = 0x2B, ///< Macronix: fail bits
    NOR_ERASE = 0x20,    ///< 4 KB; others by the chip's table
    NOR_SFDP = 0x5A,
    NOR_ID = 0x9F,
    NOR_WAKE = 0xAB,
    NOR_SLEEP = 0xB9,
    NOR_ENTER_4 = 0xB7,
};

enum nor_status {
    NOR_BUSY = 0x01,
    NOR_ENABLED = 0x02,
    NOR_PROTECT_3 = 0x1C,   ///< BP0 .. BP2
    NOR_PROTECT_4 = 0x3C,   ///< BP0 .. BP3
    NOR_FAILED_BITS = 0x60, ///< P_FAIL, E_FAIL in the security register
};

enum nor_bound {
    NOR_WAKE_US = 50,
    NOR_PROGRAM_US = 20000, ///< MX25R: 10 ms
};
#define NOR_ERASE_US 4000000u ///< 64 KB units take seconds

/// Offsets in the basic flash parameter table: 4 * (DWORD - 1).
enum nor_table {
    NOR_TABLE_MODES = 2,
    NOR_TABLE_DENSITY = 4,
    NOR_TABLE_ERASE = 28, ///< four times: log2 of bytes, instruction
    NOR_TABLE_PAGE = 40,
    NOR_TABLE_ENTER_4 = 63,
    NOR_TABLE_BYTES = 64,
    NOR_TABLE_BYTES_MIN = 36,
};

enum { NOR_MACRONIX = 0xC2, NOR_WINBOND = 0xEF };
enum { NOR_PLAIN = ESK_SPI_NOR_PLAIN };
_Static_assert(ESK_SPI_NOR_PLAIN_PAGE == 128 || ESK_SPI_NOR_PLAIN_PAGE == 256,
               "a program within a page stays within the chip's");
enum {
    NOR_PLAIN_PAGE = ESK_SPI_NOR_PLAIN_PAGE,
    NOR_PLAIN_BLOCK_PAGES = 4096 / NOR_PLAIN_PAGE,
};
#define NOR_SMALL_BYTES 0x1000000u ///< what three address bytes reach

static const struct esk_spi_ready nor_ready = {
    .header = {NOR_STATUS},
    .header_bytes = 1,
    .mask = NOR_BUSY,
};

/// Properties of a plain chip, as constants.

static uint8_t nor_address_bytes(const struct esk_spi_nor *nor) {
    return NOR_PLAIN ? 3 : nor->address_bytes;
}

static uint8_t nor_opcode(uint8_t plain, const uint8_t *learned) {
    return NOR_PLAIN ? plain : *learned;
}

static uint16_t nor_page_bytes(const struct esk_device *device) {
    return NOR_PLAIN ? NOR_PLAIN_PAGE : device->geometry.page_bytes;
}

static uint16_t nor_block_pages(const struct esk_device *device) {
    return NOR_PLAIN ? NOR_PLAIN_BLOCK_PAGES : device->geometry.block_pages;
}

static int nor_simple(const struct esk_spi_nor *nor, uint8_t opcode) {
    return esk_spi_command(nor->spi, &opcode, 1, NULL, NULL, 0);
}

static int nor_register(const struct esk_spi_nor *nor, uint8_t opcode,
                        uint8_t *value) {
    return esk_spi_command(nor->spi, &opcode, 1, NULL, value, 1);
}

/// An instruction with an address, then `bytes` bytes out or in.
static int nor_at(const struct esk_spi_nor *nor, uint8_t opcode,
                  uint32_t address, const uint8_t *send, uint8_t *receive,
                  uint16_t bytes) {
    uint8_t header[5] = {opcode};
    uint8_t at = 1;
    if (nor_address_bytes(nor) == 4) {
        header[at++] = (uint8_t)(address >> 24);
    }
    header[at++] = (uint8_t)(address >> 16);
    header[at++] = (uint8_t)(address >> 8);
    header[at++] = (uint8_t)address;
    return esk_spi_command(nor->spi, header, at, send, receive, bytes);
}

static int nor_sfdp(const struct esk_spi_nor *nor, uint32_t address,
                    uint8_t *bytes, uint8_t count) {
    uint8_t header[5] = {NOR_SFDP, (uint8_t)(address >> 16),
                         (uint8_t)(address >> 8), (uint8_t)address, 0};
    return esk_spi_command(nor->spi, header, 5, NULL, bytes, count);
}

/// Enables the next program or erase.
static int nor_enable(const struct esk_spi_nor *nor) {
    uint8_t status;
    ESK_TRY(nor_simple(nor, NOR_WRITE_ENABLE));
    ESK_TRY(nor_register(nor, NOR_STATUS, &status));
    if ((status & (NOR_BUSY | NOR_ENABLED)) != NOR_ENABLED) {
        return ESK_E_IO;
    }
    return (status & nor->protect_mask) != 0 ? ESK_E_READ_ONLY : ESK_OK;
}

/// Waits for a program or erase, and reads its result.
static int nor_finish(const struct esk_spi_nor *nor, uint32_t bound_us) {
    uint8_t status;
    ESK_TRY(esk_spi_wait(nor->spi, &nor_ready, bound_us, &status));
    if ((status & NOR_ENABLED) != 0) {
        return ESK_E_IO;
    }
    if (nor->jedec_id >> 16 != NOR_MACRONIX) {
        return ESK_OK;
    }
    ESK_TRY(nor_register(nor, NOR_SECURITY, &status));
    return (status & NOR_FAILED_BITS) != 0 ? ESK_E_MEDIUM : ESK_OK;
}

/// Programs `bytes` bytes, or erases when there are none.
static int nor_change(const struct esk_spi_nor *nor, uint8_t opcode,
                      uint32_t address, const uint8_t *send, uint16_t bytes,
                      uint32_t bound_us) {
    ESK_TRY(nor_enable(nor));
    int sent = nor_at(nor, opcode, address, send, NULL, bytes);
    // A command sent in part may have made the chip busy.
    int done = nor_finish(nor, bound_us);
    return sent != ESK_OK ? sent : done;
}

static uint32_t nor_address(const struct esk_device *device, esk_page_id page,
                            uint16_t offset) {
    const struct esk_spi_nor *nor = device->context;
    return nor->address + page * nor_page_bytes(device) + offset;
}

static int nor_read(const struct esk_device *device, esk_page_id page,
                    uint16_t offset, void *buffer, uint16_t bytes) {
    const struct esk_spi_nor *nor = device->context;
    uint8_t status;
    ESK_TRY(esk_driver_check(device, page, offset, bytes));
    // A busy or missing chip would read as erased.
    ESK_TRY(esk_spi_wait(nor->spi, &nor_ready, NOR_ERASE_US, &status));
    return nor_at(nor, nor_opcode(NOR_READ, &nor->read_opcode),
                  nor_address(device, page, offset), NULL, buffer, bytes);
}

static int nor_verify(const struct esk_spi_nor *nor, uint32_t address,
                      const uint8_t *bytes, uint16_t count) {
    uint8_t chunk[16];
    while (count > 0) {
        uint8_t some = (uint8_t)(count < sizeof chunk ? count : sizeof chunk);
        ESK_TRY(nor_at(nor, nor_opcode(NOR_READ, &nor->read_opcode), address,
                       NULL, chunk, some));
        if (memcmp(chunk, bytes, some) != 0) {
            return ESK_E_MEDIUM;
        }
        address += some;
        bytes += some;
        count = (uint16_t)(count - some);
    }
    return ESK_OK;
}

static int nor_program(const struct esk_device *device, esk_page_id page,
                       uint16_t offset, const void *buffer, uint16_t bytes) {
    const struct esk_spi_nor *nor = device->context;
    uint32_t address = nor_address(device, page, offset);
    const uint8_t *from = buffer;
    ESK_TRY(esk_driver_check(device, page, offset, bytes));
    if (NOR_PLAIN) {
        return nor_change(nor, NOR_PROGRAM, address, from, bytes,
                          NOR_PROGRAM_US);
    }
    while (bytes > 0) {
        // A program command wraps round at the end of the chip's page.
        uint16_t room =
            (uint16_t)(nor->chip_page -
                       ((uint16_t)address & (uint16_t)(nor->chip_page - 1u)));
        uint16_t some = bytes < room ? bytes : room;
        ESK_TRY(nor_change(nor, nor->program_opcode, address, from, some,
                           NOR_PROGRAM_US));
        if (nor->verify) {
            ESK_TRY(nor_verify(nor, address, from, some));
        }
        address += some;
        from += some;
        bytes = (uint16_t)(bytes - some);
    }
    return ESK_OK;
}

static int nor_erase(const struct esk_device *device, uint32_t block) {
    const struct esk_spi_nor *nor = device->context;
    esk_page_id page = block * nor_block_pages(device);
    ESK_TRY(esk_driver_check(device, page, 0, 0));
    return nor_change(nor, nor_opcode(NOR_ERASE, &nor->erase_opcode),
                      nor_address(device, page, 0), NULL, 0, NOR_ERASE_US);
}

/// Nothing to do: a call that returned ESK_OK is on the medium.
static int nor_sync(const struct esk_device *device) {
    (void)device;
    return ESK_OK;
}

static const struct esk_device_ops nor_ops = {
    .read = nor_read,
    .program = nor_program,
    .erase = nor_erase,
    .sync = nor_sync,
};

/// Wakes the chip and reads its JEDEC ID.
static int nor_identify(struct esk_spi_nor *nor, uint32_t wanted) {
    uint8_t id[3];
    uint8_t opcode = NOR_ID;
    uint8_t status = 0;
    ESK_TRY(nor_simple(nor, NOR_WAKE));
    nor->spi->delay_us(nor->spi, NOR_WAKE_US);
    int waited = esk_spi_wait(nor->spi, &nor_ready, NOR_ERASE_US, &status);
    if (waited != ESK_OK) {
        return status == 0xFF ? ESK_NOT_FOUND : waited;
    }
    ESK_TRY(esk_spi_command(nor->spi, &opcode, 1, NULL, id, 3));
    nor->jedec_id = (uint32_t)id[0] << 16 | (uint32_t)id[1] << 8 | id[2];
    if (nor->jedec_id == 0 || nor->jedec_id == 0xFFFFFF) {
        return ESK_NOT_FOUND;
    }
    return wanted != 0 && wanted != nor->jedec_id ? ESK_E_UNSUPPORTED : ESK_OK;
}

/// Chooses how to send addresses beyond 16 MB. Separate instructions are best:
/// then the chip has no mode that could confuse a boot loader.
static int nor_reach(struct esk_spi_nor *nor, uint32_t chip_bytes,
                     const uint8_t *table) {
    uint8_t modes = table[NOR_TABLE_MODES] >> 1 & 3;
    uint8_t enter = table[NOR_TABLE_ENTER_4];
    nor->address_bytes = 3;
    nor->read_opcode = NOR_READ;
    nor->program_opcode = NOR_PROGRAM;
    if (chip_bytes <= NOR_SMALL_BYTES && modes != 2) {
        return ESK_OK;
    }
    nor->address_bytes = 4;
    if (modes == 2) {
        return ESK_OK;
    }
    if (modes != 1) {
        return ESK_E_UNSUPPORTED;
    }
    if ((enter & 0x20) != 0 && nor->erase_opcode == NOR_ERASE) {
        nor->read_opcode = NOR_READ_4;
        nor->program_opcode = NOR_PROGRAM_4;
        nor->erase_opcode = 0x21;
        return ESK_OK;
    }
    if ((enter & 0x03) == 0) {
        return ESK_E_UNSUPPORTED;
    }
    // With bit 1 alone, the chip needs a write-enable first.
    if ((enter & 0x01) == 0) {
        ESK_TRY(nor_simple(nor, NOR_WRITE_ENABLE));
    }
    return nor_simple(nor, NOR_ENTER_4);
}

/// Reads the basic flash parameter table. Fields that an older, shorter table
/// lacks are 0, except the page size, which is 256 bytes then.
static int nor_table_read(const struct esk_spi_nor *nor, uint8_t *table) {
    uint8_t *head = table;
    ESK_TRY(nor_sfdp(nor, 0, head, 16));
    if (memcmp(head, "SFDP", 4) != 0 || head[8] != 0) {
        return ESK_E_UNSUPPORTED;
    }
    uint8_t bytes = head[11] < NOR_TABLE_BYTES / 4 ? (uint8_t)(head[11] * 4)
                                                   : NOR_TABLE_BYTES;
    uint32_t address =
        (uint32_t)head[14] << 16 | (uint32_t)head[13] << 8 | head[12];
    memset(table, 0, NOR_TABLE_BYTES);
    table[NOR_TABLE_PAGE] = 0x80;
    return bytes < NOR_TABLE_BYTES_MIN ? ESK_E_UNSUPPORTED
                                       : nor_sfdp(nor, address, table, bytes);
}

/// The chip's size in bytes by its table; 0: more than 2 GB.
static uint32_t nor_density(const uint8_t *table) {
    const uint8_t *at = table + NOR_TABLE_DENSITY;
    uint32_t word = (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 |
                    (uint32_t)at[1] << 8 | at[0];
    if (at[3] < 0x80) {
        return (word >> 3) + 1;
    }
    return at[0] < 3 || at[0] > 34 ? 0 : (uint32_t)1 << (at[0] - 3);
}

/// Sets the driver's fields from the chip's table.
static int nor_learn(struct esk_spi_nor *nor, uint16_t page_bytes) {
    uint8_t table[NOR_TABLE_BYTES];
    struct esk_geometry *geometry = &nor->device.geometry;
    uint8_t smallest = 0xFF;
    ESK_TRY(nor_table_read(nor, table));
    for (unsigned i = NOR_TABLE_ERASE; i < NOR_TABLE_ERASE + 8; i += 2) {
        if (table[i] != 0 && table[i] < smallest) {
            smallest = table[i];
            nor->erase_opcode = table[i + 1];
        }
    }
    uint32_t bytes = nor_density(table);
    uint8_t page_log = table[NOR_TABLE_PAGE] >> 4;
    if (smallest > 24 || bytes == 0 || page_log > smallest) {
        return ESK_E_UNSUPPORTED;
    }
    ESK_TRY(nor_reach(nor, bytes, table));
    nor->chip_page = (uint16_t)(1u << page_log);
    nor->chip_blocks = bytes >> smallest;
    geometry->page_bytes = page_bytes != 0 ? page_bytes : nor->chip_page;
    uint32_t block_bytes = (uint32_t)1 << smallest;
    uint32_t pages = block_bytes / geometry->page_bytes;
    if (pages > UINT16_MAX || pages * geometry->page_bytes != block_bytes) {
        return ESK_E_GEOMETRY;
    }
    geometry->block_pages = (uint16_t)pages;
    return ESK_OK;
}

/// Sets the fields of a plain chip; its size is in the last byte of its JEDEC
/// ID.
static int nor_assume(struct esk_spi_nor *nor,
                      const struct esk_spi_nor_config *config) {
    uint8_t bytes_log = (uint8_t)nor->jedec_id;
    if (bytes_log < 16 || bytes_log > 24 || config->verify ||
        (config->page_bytes != 0 && config->page_bytes != NOR_PLAIN_PAGE)) {
        return ESK_E_UNSUPPORTED;
    }
    nor->chip_blocks = (uint32_t)1 << (bytes_log - 12);
    nor->device.geometry.block_pages = NOR_PLAIN_BLOCK_PAGES;
    nor->device.geometry.page_bytes = NOR_PLAIN_PAGE;
    return ESK_OK;
}

int esk_spi_nor_init(struct esk_spi_nor *nor, const struct esk_spi *spi,
                     const struct esk_spi_nor_config *config) {
    static const struct esk_spi_nor_config defaults = {0};
    struct esk_geometry *geometry = &nor->device.geometry;
    uint8_t status;
    config = config == NULL ? &defaults : config;
    memset(nor, 0, sizeof *nor);
    nor->device.ops = &nor_ops;
    nor->device.context = nor;
    nor->spi = spi;
    nor->verify = config->verify;
    ESK_TRY(nor_identify(nor, config->jedec_id));
    ESK_TRY(NOR_PLAIN ? nor_assume(nor, config)
                      : nor_learn(nor, config->page_bytes));
    geometry->program_bytes = 1;
    geometry->erased_value = 0xFF;
    ESK_TRY(esk_driver_blocks(&nor->device, nor->chip_blocks,
                              config->block_first, config->block_count));
    nor->address = config->block_first * nor_block_pages(&nor->device) *
                   nor_page_bytes(&nor->device);
    // Small Winbond chips have TB in place of BP3.
    nor->protect_mask =
        nor->jedec_id >> 16 == NOR_WINBOND && nor_address_bytes(nor) == 3
            ? NOR_PROTECT_3
            : NOR_PROTECT_4;
    ESK_TRY(nor_register(nor, NOR_STATUS, &status));
    return (status & nor->protect_mask) != 0 ? ESK_E_READ_ONLY : ESK_OK;
}

int esk_spi_nor_sleep(const struct esk_spi_nor *nor) {
    return nor_simple(nor, NOR_SLEEP);
}
