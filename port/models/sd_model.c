// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The SD model: frames in, a queue of bytes out.
#include "port/models/sd_model.h"

#include <stdlib.h>
#include <string.h>

enum { SD_READ_NS = 500000, SD_WRITE_NS = 850000, SD_SECTOR = 512 };
enum { SD_IDLE = 1, SD_ILLEGAL = 4, SD_CRC = 8, SD_ADDRESS = 0x20 };

const struct esk_sd_part esk_sd_parts[] = {
    {"SDSC, version 1", 8192, false, false},
    {"SDSC, version 2", 8192, true, false},
    {"SDHC", 8192, true, true},
};
const size_t esk_sd_part_count = sizeof esk_sd_parts / sizeof esk_sd_parts[0];

static struct esk_sd_model *sd_of(struct esk_chip *chip) {
    return (struct esk_sd_model *)chip;
}

/// Bit by bit, as in the specification.
uint16_t esk_sd_model_crc16(const uint8_t *bytes, size_t count) {
    uint32_t crc = 0;
    for (size_t i = 0; i < count * 8; i++) {
        uint32_t bit = (uint32_t)bytes[i / 8] >> (7 - i % 8) & 1;
        bool divides = (crc >> 15 ^ bit) != 0;
        crc = (crc << 1 & 0xFFFF) ^ (divides ? 0x1021 : 0);
    }
    return (uint16_t)crc;
}

static uint8_t sd_crc7(const uint8_t *bytes, size_t count) {
    uint32_t crc = 0;
    for (size_t i = 0; i < count * 8; i++) {
        uint32_t bit = (uint32_t)bytes[i / 8] >> (7 - i % 8) & 1;
        bool divides = (crc >> 6 ^ bit) != 0;
        crc = (crc << 1 & 0x7F) ^ (divides ? 0x09 : 0);
    }
    return (uint8_t)(crc << 1 | 1);
}

static void sd_push(struct esk_sd_model *sd, uint8_t byte) {
    sd->queue[sd->queue_tail++ % sizeof sd->queue] = byte;
}

/// A data block: token, bytes, checksum.
static void sd_push_block(struct esk_sd_model *sd, const uint8_t *bytes,
                          uint32_t count) {
    uint16_t crc = esk_sd_model_crc16(bytes, count);
    bool spoilt = esk_chip_fails(&sd->spoil_read);
    sd_push(sd, 0xFE);
    for (uint32_t i = 0; i < count; i++) {
        sd_push(sd, (uint8_t)(bytes[i] ^ (spoilt && i == count / 3 ? 8 : 0)));
    }
    sd_push(sd, (uint8_t)(crc >> 8));
    sd_push(sd, (uint8_t)crc);
}

static void sd_select(struct esk_chip *chip) {
    struct esk_sd_model *sd = sd_of(chip);
    sd->frame_count = 0;
}

/// A deselect in the middle of something ends it.
static void sd_deselect(struct esk_chip *chip) {
    struct esk_sd_model *sd = sd_of(chip);
    sd->state = ESK_SD_COMMANDS;
    sd->reading = false;
    sd->many = false;
    sd->queue_head = sd->queue_tail;
}

/// Sets the sector of a command. False: it is not on the card.
static bool sd_seek(struct esk_sd_model *sd, uint32_t argument) {
    sd->sector = sd->part->high ? argument : argument / SD_SECTOR;
    if (sd->sector >= sd->part->sectors ||
        (!sd->part->high && argument % SD_SECTOR != 0)) {
        esk_chip_refuse(&sd->chip, "sector past the card");
        return false;
    }
    return true;
}

/// Commands that a card accepts before it is ready.
static uint8_t sd_early(struct esk_sd_model *sd, uint8_t command,
                        uint32_t argument) {
    bool app = sd->app;
    sd->app = command == 55;
    switch (command) {
    case 0:
        sd->idle = true;
        return SD_IDLE;
    case 8:
        if (!sd->part->second) {
            return SD_IDLE | SD_ILLEGAL;
        }
        sd_push(sd, SD_IDLE);
        sd_push(sd, 0);
        sd_push(sd, 0);
        sd_push(sd, sd->voltage);
        sd_push(sd, (uint8_t)argument);
        return 0xFF;
    case 41:
        if (!app || sd->multimedia) {
            return SD_IDLE | SD_ILLEGAL;
        }
        if (sd->part->high && (argument & 0x40000000u) == 0) {
            return SD_IDLE; /* waits for a host that supports it */
        }
        sd->idle = sd->wait_polls > 0;
        sd->wait_polls -= sd->wait_polls > 0 ? 1 : 0;
        return sd->idle ? SD_IDLE : 0;
    case 55:
        return sd->idle ? SD_IDLE : 0;
    case 58:
        sd_push(sd, sd->idle ? SD_IDLE : 0);
        sd_push(sd, (uint8_t)(sd->idle ? 0 : sd->part->high ? 0xC0 : 0x80));
        sd_push(sd, 0xFF);
        sd_push(sd, 0x80);
        sd_push(sd, 0);
        return 0xFF;
    case 59:
        sd->crc_on = (argument & 1) != 0;
        return sd->idle ? SD_IDLE : 0;
    default:
        esk_chip_refuse(&sd->chip, "command before the card is ready");
        return SD_IDLE | SD_ILLEGAL;
    }
}

static void sd_read_start(struct esk_sd_model *sd, uint8_t command) {
    sd->many = command == 18;
    sd->many_reads += sd->many ? 1 : 0;
    sd->reading = true;
    sd->data_at = sd->chip.now_ns + SD_READ_NS;
}

/// Commands of a card that is ready. Returns R1; 0xFF: R1 is in the queue.
static uint8_t sd_late(struct esk_sd_model *sd, uint8_t command,
                       uint32_t argument) {
    switch (command) {
    case 9:
        sd_push(sd, 0);
        sd_push(sd, 0xFF);
        sd_push_block(sd, sd->csd, sizeof sd->csd);
        return 0xFF;
    case 12:
        if (!sd->many) {
            esk_chip_refuse(&sd->chip, "stop without a transfer");
        }
        sd->queue_head = sd->queue_tail;
        sd->reading = false;
        sd->many = false;
        sd_push(sd, 0x3F); /* a data byte that was still to come */
        return 0;
    case 13:
        sd_push(sd, 0);
        sd_push(sd, sd->status);
        sd->status = 0;
        return 0xFF;
    case 16:
        if (argument != SD_SECTOR) {
            esk_chip_refuse(&sd->chip, "block length not 512");
        }
        return 0;
    case 17:
    case 18:
        if (!sd_seek(sd, argument)) {
            return SD_ADDRESS;
        }
        sd_read_start(sd, command);
        return 0;
    case 24:
    case 25:
        if (!sd_seek(sd, argument)) {
            return SD_ADDRESS;
        }
        if (!sd->crc_on) {
            esk_chip_refuse(&sd->chip, "write without checksums");
        }
        sd->many = command == 25;
        sd->many_writes += sd->many ? 1 : 0;
        sd->state = ESK_SD_TOKEN;
        return 0;
    default:
        return sd_early(sd, command, argument);
    }
}

static void sd_execute(struct esk_sd_model *sd) {
    const uint8_t *frame = sd->frame;
    uint8_t command = frame[0] & 0x3F;
    uint32_t argument = (uint32_t)frame[1] << 24 | (uint32_t)frame[2] << 16 |
                        (uint32_t)frame[3] << 8 | frame[4];
    uint8_t crc = sd_crc7(frame, 5);
    if (!sd->spi && (command != 0 || sd->clocks < 10 || frame[5] != 0x95)) {
        esk_chip_refuse(&sd->chip, "no CMD0 after 74 clocks");
        return;
    }
    if (sd->chip.busy && command != 0) {
        esk_chip_refuse(&sd->chip, "command while busy");
        return;
    }
    sd->spi = true;
    uint8_t answer = SD_CRC;
    if (frame[5] == crc || (!sd->crc_on && command != 0 && command != 8)) {
        bool early = sd->idle || command == 0;
        answer = early ? sd_early(sd, command, argument)
                       : sd_late(sd, command, argument);
    }
    if (answer != 0xFF) {
        sd_push(sd, 0xFF); /* the card's response time, a byte */
        sd_push(sd, answer);
    }
}

/// Receives a byte of a sector to write. Answers nothing yet: the data response
/// follows the checksum.
static void sd_data(struct esk_sd_model *sd, uint8_t in) {
    struct esk_chip *chip = &sd->chip;
    sd->block[sd->block_count++] = in;
    if (sd->block_count < sizeof sd->block) {
        return;
    }
    sd->block[100] ^= esk_chip_fails(&sd->spoil_write) ? 0x10 : 0;
    uint16_t crc = (uint16_t)(sd->block[512] << 8 | sd->block[513]);
    sd->state = sd->many ? ESK_SD_TOKEN : ESK_SD_COMMANDS;
    if (sd->crc_on && crc != esk_sd_model_crc16(sd->block, SD_SECTOR)) {
        sd_push(sd, 0xEB);
        return;
    }
    if (sd->sector >= sd->part->sectors) {
        esk_chip_refuse(chip, "write past the card");
        sd_push(sd, 0xED);
        return;
    }
    sd->failing = esk_chip_fails(&chip->faults.fail_program);
    if (sd->sector + 1 == sd->protect_sector) {
        sd->status |= 0x20;
        sd_push(sd, 0xED);
        return;
    }
    if (sd->failing) {
        sd->status |= 0x04;
    }
    sd_push(sd, sd->failing ? 0xED : 0xE5);
    sd->busy_at = sd->sector++;
    memcpy(sd->written, sd->block, SD_SECTOR);
    esk_chip_begin(chip, SD_WRITE_NS, true);
}

static void sd_token(struct esk_sd_model *sd, uint8_t in) {
    uint8_t token = sd->many ? 0xFC : 0xFE;
    if (in == token && !sd->chip.busy) {
        sd->state = ESK_SD_DATA;
        sd->block_count = 0;
    } else if (sd->many && in == 0xFD) {
        sd->state = ESK_SD_COMMANDS;
        sd->many = false;
    } else if (sd->many && (in & 0xC0) == 0x40) {
        sd->state = ESK_SD_COMMANDS; /* CMD12 after a failure */
        sd->frame[0] = in;
        sd->frame_count = 1;
    } else if (in != 0xFF) {
        esk_chip_refuse(&sd->chip, "unknown token");
    }
}

/// Adds the next data block to the queue when it is ready.
static void sd_read_next(struct esk_sd_model *sd) {
    if (!sd->reading || sd->queue_head != sd->queue_tail ||
        sd->chip.now_ns < sd->data_at) {
        return;
    }
    if (sd->sector >= sd->part->sectors || sd->sector + 1 == sd->ecc_sector) {
        sd_push(sd, sd->sector >= sd->part->sectors ? 0x08 : 0x04);
        sd->reading = false;
        return;
    }
    sd_push_block(sd, sd->array + (size_t)sd->sector++ * SD_SECTOR, SD_SECTOR);
    sd->reading = sd->many;
    sd->data_at = sd->chip.now_ns + SD_READ_NS;
}

static uint8_t sd_transfer(struct esk_chip *chip, uint8_t in) {
    struct esk_sd_model *sd = sd_of(chip);
    if (!chip->selected) {
        sd->clocks++;
        return 0xFF;
    }
    sd_read_next(sd);
    uint8_t out = chip->busy ? 0x00 : 0xFF;
    if (sd->queue_head != sd->queue_tail) {
        out = sd->queue[sd->queue_head++ % sizeof sd->queue];
    }
    if (sd->state == ESK_SD_DATA) {
        sd_data(sd, in);
    } else if (sd->state == ESK_SD_TOKEN) {
        sd_token(sd, in);
    } else if (sd->frame_count > 0 || (in & 0xC0) == 0x40) {
        sd->frame[sd->frame_count++] = in;
        if (sd->frame_count == sizeof sd->frame) {
            sd->frame_count = 0;
            sd_execute(sd);
        }
    }
    return out;
}

static void sd_finish(struct esk_chip *chip, uint32_t permille) {
    struct esk_sd_model *sd = sd_of(chip);
    esk_chip_tear(chip, sd->array + (size_t)sd->busy_at * SD_SECTOR,
                  sd->written, SD_SECTOR,
                  sd->failing ? permille / 2 : permille);
    sd->failing = false;
}

static void sd_power_on(struct esk_chip *chip) {
    struct esk_sd_model *sd = sd_of(chip);
    sd->spi = false;
    sd->idle = false;
    sd->crc_on = false;
    sd->app = false;
    sd->clocks = 0;
    sd->status = 0;
    sd->wait_polls = 5;
    sd->frame_count = 0;
    sd_deselect(chip);
}

static void sd_free(struct esk_chip *chip) {
    free(sd_of(chip)->array);
    free(chip);
}

static const struct esk_chip_ops sd_chip_ops = {
    .select = sd_select,
    .deselect = sd_deselect,
    .transfer = sd_transfer,
    .finish = sd_finish,
    .power_on = sd_power_on,
    .free = sd_free,
};

/// The size in either version's fields.
static void sd_csd_make(struct esk_sd_model *sd) {
    uint32_t size = sd->part->sectors / (sd->part->high ? 1024 : 512) - 1;
    uint8_t *csd = sd->csd;
    memset(csd, 0, sizeof sd->csd);
    csd[5] = 0x59;
    if (sd->part->high) {
        csd[0] = 0x40;
        csd[7] = (uint8_t)(size >> 16);
        csd[8] = (uint8_t)(size >> 8);
        csd[9] = (uint8_t)size;
    } else { /* C_SIZE_MULT 7: units of 512 sectors */
        csd[6] = (uint8_t)(size >> 10);
        csd[7] = (uint8_t)(size >> 2);
        csd[8] = (uint8_t)(size << 6);
        csd[9] = 3;
        csd[10] = 0x80;
    }
}

struct esk_sd_model *esk_sd_model_make(const struct esk_sd_part *part,
                                       uint64_t seed) {
    struct esk_sd_model *sd = esk_chip_allocate(sizeof *sd);
    size_t bytes = (size_t)part->sectors * SD_SECTOR;
    sd->chip.ops = &sd_chip_ops;
    sd->chip.random = seed;
    sd->part = part;
    sd->voltage = 1;
    sd->array = esk_chip_allocate(bytes);
    for (size_t i = 0; i < bytes; i++) {
        sd->array[i] = (uint8_t)esk_chip_random(&sd->chip, 256);
    }
    sd_csd_make(sd);
    esk_chip_power_on(&sd->chip);
    return sd;
}
