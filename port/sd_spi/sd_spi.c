// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// SD in SPI mode: each call is one transaction, select to deselect.
///
///     command    six bytes with CRC7; the answer comes within 8 bytes
///     read       token FE, 512 bytes, CRC16; or an error token
///     write      token, 512 bytes, CRC16; data response; busy; CMD13
///
/// Invariants: every path ends in sd_end, which gives the card the clocks that
/// it needs to release the line. A program is acknowledged only after the card
/// is no longer busy and CMD13 reports no error.
#include <stddef.h>
#include <string.h>

#include "port/driver.h"
#include "port/sd_spi/sd_spi.h"

enum sd_command {
    SD_GO_IDLE = 0,
    SD_IF_COND = 8,
    SD_SEND_CSD = 9,
    SD_STOP = 12,
    SD_SEND_STATUS = 13,
    SD_BLOCK_LENGTH = 16,
    SD_READ_ONE = 17,
    SD_READ_MANY = 18,
    SD_WRITE_ONE = 24,
    SD_WRITE_MANY = 25,
    SD_OP_COND = 41, ///< after SD_APP
    SD_APP = 55,
    SD_READ_OCR = 58,
    SD_CRC_ON = 59,
};

enum sd_byte {
    SD_IDLE = 0x01,
    SD_ILLEGAL = 0x04,
    SD_TOKEN_DATA = 0xFE,
    SD_TOKEN_WRITE_MANY = 0xFC,
    SD_TOKEN_STOP = 0xFD,
    SD_TOKEN_ECC = 0x04, ///< in an error token
    SD_RESPONSE = 0x1F,  ///< of the data response: the bits that matter
    SD_ACCEPTED = 0x05,
    SD_WRITE_ERROR = 0x0D,
    SD_STATUS_PROTECTED = 0x22, ///< CMD13's second byte
};

enum sd_bound {
    SD_SECTOR = 512,
    SD_ANSWER_BYTES = 10,
    SD_TRIES = 10,
    SD_STEP_US = 50,
    SD_OP_COND_MS = 1000,
    SD_CHUNK = 16,
};
#define SD_READY_US 500000u ///< a write: 250 ms, 500 on SDXC

static int sd_in(const struct esk_sd_spi *sd, uint8_t *bytes, uint16_t count) {
    return sd->spi->transfer(sd->spi, NULL, bytes, count);
}

static int sd_out(const struct esk_sd_spi *sd, const uint8_t *bytes,
                  uint16_t count) {
    return sd->spi->transfer(sd->spi, bytes, NULL, count);
}

/// Deselects, and clocks until the card releases the line.
static void sd_end(const struct esk_sd_spi *sd) {
    sd->spi->deselect(sd->spi);
    (void)sd_in(sd, NULL, 1);
}

/// CRC-16-CCITT, start value 0, a byte at a time without a table.
static uint16_t sd_crc16(uint16_t crc, const uint8_t *bytes, uint16_t count) {
    for (uint16_t i = 0; i < count; i++) {
        crc = (uint16_t)(crc >> 8 | crc << 8);
        crc ^= bytes[i];
        crc ^= (uint16_t)((crc & 0xFF) >> 4);
        crc ^= (uint16_t)(crc << 12);
        crc ^= (uint16_t)((crc & 0xFF) << 5);
    }
    return crc;
}

/// CRC7 in the high bits and the end bit below it.
static uint8_t sd_crc7(const uint8_t *bytes, uint8_t count) {
    uint8_t crc = 0;
    for (uint8_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (uint8_t bit = 0; bit < 8; bit++) {
            crc = (uint8_t)((crc & 0x80) != 0 ? (crc << 1) ^ (0x09 << 1)
                                              : crc << 1);
        }
    }
    return crc | 1;
}

/// Waits while the line has the byte `value` (`same`), or until it has it.
static int sd_wait(const struct esk_sd_spi *sd, uint8_t value, bool same,
                   uint8_t *byte) {
    for (uint32_t waited = 0; waited <= SD_READY_US; waited += SD_STEP_US) {
        ESK_TRY(sd_in(sd, byte, 1));
        if ((*byte == value) != same) {
            return ESK_OK;
        }
        sd->spi->delay_us(sd->spi, SD_STEP_US);
    }
    return ESK_E_IO;
}

/// Waits until the card no longer holds the line low.
static int sd_ready(const struct esk_sd_spi *sd) {
    uint8_t byte;
    return sd_wait(sd, 0xFF, false, &byte);
}

/// Sends a command to the selected card.
/// answer   out: R1; 0xFF when there was none.
static int sd_send(const struct esk_sd_spi *sd, uint8_t command,
                   uint32_t argument, uint8_t *answer) {
    uint8_t frame[6] = {(uint8_t)(0x40 | command), (uint8_t)(argument >> 24),
                        (uint8_t)(argument >> 16), (uint8_t)(argument >> 8),
                        (uint8_t)argument,         0};
    frame[5] = sd_crc7(frame, 5);
    ESK_TRY(sd_out(sd, frame, sizeof frame));
    if (command == SD_STOP) {
        ESK_TRY(sd_in(sd, answer, 1)); // a data byte that was still to come
    }
    *answer = 0xFF;
    for (uint8_t i = 0; i < SD_ANSWER_BYTES && (*answer & 0x80) != 0; i++) {
        ESK_TRY(sd_in(sd, answer, 1));
    }
    return ESK_OK;
}

/// Selects the card and sends a command. `tail` bytes follow R1.
static int sd_begin(const struct esk_sd_spi *sd, uint8_t command,
                    uint32_t argument, uint8_t *answer, uint8_t *tail,
                    uint8_t tail_bytes) {
    sd->spi->select(sd->spi);
    ESK_TRY(sd_ready(sd));
    ESK_TRY(sd_send(sd, command, argument, answer));
    return tail_bytes > 0 ? sd_in(sd, tail, tail_bytes) : ESK_OK;
}

/// A command and its answer, a transaction of its own.
static int sd_ask(const struct esk_sd_spi *sd, uint8_t command,
                  uint32_t argument, uint8_t *answer, uint8_t *tail,
                  uint8_t tail_bytes) {
    int status = sd_begin(sd, command, argument, answer, tail, tail_bytes);
    sd_end(sd);
    return status;
}

/// Begins a transaction whose command the card must accept.
static int sd_open(const struct esk_sd_spi *sd, uint8_t command,
                   uint32_t argument) {
    uint8_t answer;
    ESK_TRY(sd_begin(sd, command, argument, &answer, NULL, 0));
    return answer == 0 ? ESK_OK : ESK_E_IO;
}

/// Reads a data block of `count` bytes: those from `skip` on go to `*to`, which
/// moves on, at most `*left` of them. The checksum covers all.
static int sd_take(const struct esk_sd_spi *sd, uint16_t count, uint16_t skip,
                   uint8_t **to, uint16_t *left) {
    uint8_t chunk[SD_CHUNK];
    uint8_t token;
    uint16_t crc = 0;
    ESK_TRY(sd_wait(sd, 0xFF, true, &token));
    if (token != SD_TOKEN_DATA) {
        return (token & 0xF0) == 0 && (token & SD_TOKEN_ECC) != 0
                   ? ESK_E_CORRUPT
                   : ESK_E_IO;
    }
    for (uint16_t at = 0; at < count; at = (uint16_t)(at + SD_CHUNK)) {
        ESK_TRY(sd_in(sd, chunk, SD_CHUNK));
        crc = sd_crc16(crc, chunk, SD_CHUNK);
        for (uint8_t i = 0; i < SD_CHUNK; i++) {
            if (skip > 0) {
                skip--;
            } else if (*left > 0) {
                *(*to)++ = chunk[i];
                (*left)--;
            }
        }
    }
    ESK_TRY(sd_in(sd, chunk, 2));
    return crc == (uint16_t)(chunk[0] << 8 | chunk[1]) ? ESK_OK : ESK_E_IO;
}

/// The argument of a command on a sector.
static uint32_t sd_address(const struct esk_device *device, esk_page_id page,
                           uint16_t offset) {
    const struct esk_sd_spi *sd = device->context;
    uint32_t sector = sd->sector_first +
                      page * (device->geometry.page_bytes / SD_SECTOR) +
                      offset / SD_SECTOR;
    return sd->byte_addressed ? sector * SD_SECTOR : sector;
}

/// Ends a transfer of many sectors.
static int sd_stop(const struct esk_sd_spi *sd) {
    uint8_t answer;
    ESK_TRY(sd_send(sd, SD_STOP, 0, &answer));
    return sd_ready(sd);
}

static int sd_read(const struct esk_device *device, esk_page_id page,
                   uint16_t offset, void *buffer, uint16_t bytes) {
    const struct esk_sd_spi *sd = device->context;
    uint16_t skip = offset % SD_SECTOR;
    uint8_t *to = buffer;
    uint16_t left = bytes;
    ESK_TRY(esk_driver_check(device, page, offset, bytes));
    bool many = skip + (uint32_t)bytes > SD_SECTOR;
    int status = sd_open(sd, many ? SD_READ_MANY : SD_READ_ONE,
                         sd_address(device, page, offset));
    bool opened = status == ESK_OK;
    while (status == ESK_OK && left > 0) {
        status = sd_take(sd, SD_SECTOR, skip, &to, &left);
        skip = 0;
    }
    if (many && opened) {
        int stopped = sd_stop(sd);
        status = status != ESK_OK ? status : stopped;
    }
    sd_end(sd);
    return status;
}

/// Sends one sector after its token; waits until the card has written it.
static int sd_give(const struct esk_sd_spi *sd, uint8_t token,
                   const uint8_t *from) {
    uint16_t crc = sd_crc16(0, from, SD_SECTOR);
    uint8_t ends[2] = {0xFF, token};
    ESK_TRY(sd_out(sd, ends, 2));
    ESK_TRY(sd_out(sd, from, SD_SECTOR));
    ends[0] = (uint8_t)(crc >> 8);
    ends[1] = (uint8_t)crc;
    ESK_TRY(sd_out(sd, ends, 2));
    ESK_TRY(sd_in(sd, ends, 1));
    int ready = sd_ready(sd);
    if ((ends[0] & SD_RESPONSE) == SD_ACCEPTED) {
        return ready;
    }
    return (ends[0] & SD_RESPONSE) == SD_WRITE_ERROR ? ESK_E_MEDIUM : ESK_E_IO;
}

/// Reads the result of the last write, beyond its data responses.
static int sd_written(const struct esk_sd_spi *sd) {
    uint8_t answer;
    uint8_t more;
    ESK_TRY(sd_ask(sd, SD_SEND_STATUS, 0, &answer, &more, 1));
    if (answer != 0) {
        return ESK_E_IO;
    }
    if ((more & SD_STATUS_PROTECTED) != 0) {
        return ESK_E_READ_ONLY;
    }
    return more != 0 ? ESK_E_MEDIUM : ESK_OK;
}

static int sd_program(const struct esk_device *device, esk_page_id page,
                      uint16_t offset, const void *buffer, uint16_t bytes) {
    const struct esk_sd_spi *sd = device->context;
    const uint8_t *from = buffer;
    bool many = bytes > SD_SECTOR;
    ESK_TRY(esk_driver_check(device, page, offset, bytes));
    if (offset % SD_SECTOR != 0 || bytes % SD_SECTOR != 0 || bytes == 0) {
        return ESK_E_INVALID;
    }
    int status = sd_open(sd, many ? SD_WRITE_MANY : SD_WRITE_ONE,
                         sd_address(device, page, offset));
    bool opened = status == ESK_OK;
    for (uint16_t at = 0; status == ESK_OK && at < bytes;
         at = (uint16_t)(at + SD_SECTOR)) {
        status =
            sd_give(sd, many ? SD_TOKEN_WRITE_MANY : SD_TOKEN_DATA, from + at);
    }
    if (many && opened && status == ESK_OK) {
        // The card is busy from the second byte after the token on.
        static const uint8_t stop[2] = {SD_TOKEN_STOP, 0xFF};
        status = sd_out(sd, stop, sizeof stop);
        int ready = sd_ready(sd);
        status = status != ESK_OK ? status : ready;
    } else if (many && opened && sd_ready(sd) == ESK_OK) {
        (void)sd_stop(sd);
    }
    sd_end(sd);
    int written = sd_written(sd);
    // Only this reports a protected sector.
    return status == ESK_OK || written == ESK_E_READ_ONLY ? written : status;
}

/// Nothing to do: pages are overwritten.
static int sd_erase(const struct esk_device *device, uint32_t block) {
    return block < device->geometry.block_count ? ESK_OK : ESK_E_IO;
}

/// Checks that the card is there and idle: what it acknowledged is on the
/// medium.
static int sd_sync(const struct esk_device *device) {
    const struct esk_sd_spi *sd = device->context;
    uint8_t answer;
    uint8_t more;
    ESK_TRY(sd_ask(sd, SD_SEND_STATUS, 0, &answer, &more, 1));
    return answer == 0 ? ESK_OK : ESK_E_IO;
}

static const struct esk_device_ops sd_ops = {
    .read = sd_read,
    .program = sd_program,
    .erase = sd_erase,
    .sync = sd_sync,
};

/// Puts the card into SPI mode.
static int sd_reset(const struct esk_sd_spi *sd) {
    uint8_t answer = 0xFF;
    bool heard = false;
    for (uint8_t i = 0; i < SD_TRIES; i++) {
        ESK_TRY(sd_in(sd, NULL, 10)); // 74 clocks and more, not selected
        sd->spi->select(sd->spi);
        int status = sd_send(sd, SD_GO_IDLE, 0, &answer);
        sd_end(sd);
        ESK_TRY(status);
        if (answer == SD_IDLE) {
            return ESK_OK;
        }
        heard = heard || (answer != 0xFF && answer != 0);
        sd->spi->delay_us(sd->spi, 10000);
    }
    return heard ? ESK_E_IO : ESK_NOT_FOUND;
}

/// Starts the card's own initialisation and waits for its end.
static int sd_start(struct esk_sd_spi *sd) {
    uint8_t answer;
    uint8_t tail[4];
    ESK_TRY(sd_ask(sd, SD_CRC_ON, 1, &answer, NULL, 0));
    if (answer != SD_IDLE) {
        return ESK_E_IO;
    }
    ESK_TRY(sd_ask(sd, SD_IF_COND, 0x1AA, &answer, tail, 4));
    bool second = (answer & SD_ILLEGAL) == 0;
    if (second && (answer != SD_IDLE || tail[2] != 0x01 || tail[3] != 0xAA)) {
        return ESK_E_UNSUPPORTED;
    }
    for (uint16_t i = 0; answer != 0; i++) {
        ESK_TRY(sd_ask(sd, SD_APP, 0, &answer, NULL, 0));
        ESK_TRY(
            sd_ask(sd, SD_OP_COND, second ? 0x40000000u : 0, &answer, NULL, 0));
        if ((answer & SD_ILLEGAL) != 0) {
            return ESK_E_UNSUPPORTED;
        }
        if (answer > SD_IDLE || i >= SD_OP_COND_MS) {
            return ESK_E_IO;
        }
        sd->spi->delay_us(sd->spi, 1000);
    }
    ESK_TRY(sd_ask(sd, SD_READ_OCR, 0, &answer, tail, 4));
    sd->byte_addressed = !second || (tail[0] & 0x40) == 0;
    if (answer == 0 && sd->byte_addressed) {
        ESK_TRY(sd_ask(sd, SD_BLOCK_LENGTH, SD_SECTOR, &answer, NULL, 0));
    }
    return answer == 0 ? ESK_OK : ESK_E_IO;
}

/// Reads the card's size and protection from its CSD.
static int sd_describe(struct esk_sd_spi *sd, bool *is_protected) {
    uint8_t csd[16];
    uint8_t *to = csd;
    uint16_t left = sizeof csd;
    int status = sd_open(sd, SD_SEND_CSD, 0);
    if (status == ESK_OK) {
        status = sd_take(sd, sizeof csd, 0, &to, &left);
    }
    sd_end(sd);
    ESK_TRY(status);
    *is_protected = (csd[14] & 0x30) != 0;
    if (csd[0] >> 6 == 1) {
        uint32_t size =
            (uint32_t)(csd[7] & 0x3F) << 16 | (uint32_t)csd[8] << 8 | csd[9];
        sd->sectors = (size + 1) << 10;
        return ESK_OK;
    }
    uint8_t log = csd[5] & 0x0F;
    if (csd[0] >> 6 != 0 || log < 9 || log > 11) {
        return ESK_E_UNSUPPORTED;
    }
    uint16_t size =
        (uint16_t)((csd[6] & 0x03) << 10 | csd[7] << 2 | csd[8] >> 6);
    uint8_t factor = (uint8_t)((csd[9] & 0x03) << 1 | csd[10] >> 7);
    sd->sectors = (uint32_t)(size + 1) << (factor + 2 + log - 9);
    return ESK_OK;
}

int esk_sd_spi_init(struct esk_sd_spi *sd, const struct esk_spi *spi,
                    const struct esk_sd_spi_config *config) {
    static const struct esk_sd_spi_config defaults = {0};
    struct esk_geometry *geometry = &sd->device.geometry;
    bool is_protected = false;
    config = config == NULL ? &defaults : config;
    memset(sd, 0, sizeof *sd);
    sd->device.ops = &sd_ops;
    sd->device.context = sd;
    sd->spi = spi;
    sd->sector_first = config->sector_first;
    geometry->block_pages = config->block_pages != 0 ? config->block_pages : 16;
    geometry->page_bytes =
        config->page_bytes != 0 ? config->page_bytes : SD_SECTOR;
    geometry->program_bytes = geometry->page_bytes;
    geometry->erased_value = 0xFF;
    geometry->flags = ESK_MEDIUM_OVERWRITE;
    if (geometry->page_bytes % SD_SECTOR != 0) {
        return ESK_E_GEOMETRY;
    }
    ESK_TRY(sd_reset(sd));
    ESK_TRY(sd_start(sd));
    ESK_TRY(sd_describe(sd, &is_protected));
    if (sd->sector_first > sd->sectors) {
        return ESK_E_GEOMETRY;
    }
    uint32_t block_sectors =
        (uint32_t)geometry->block_pages * (geometry->page_bytes / SD_SECTOR);
    ESK_TRY(esk_driver_blocks(&sd->device,
                              (sd->sectors - sd->sector_first) / block_sectors,
                              0, config->block_count));
    return is_protected ? ESK_E_READ_ONLY : ESK_OK;
}
