// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The SPI NOR model: opcode, address, data; an operation begins at deselect,
/// as on the chip.
#include "port/models/nor_model.h"

#include <stdlib.h>
#include <string.h>

enum { NOR_PAGE = 256, NOR_SECTOR = 4096 };

// The tables are from chips: public logs and device trees.
const struct esk_nor_part esk_nor_w25q64jv = {
    .name = "W25Q64JV",
    .jedec_id = 0xEF4017,
    .bytes = 8u << 20,
    .sfdp_head = {0x53, 0x46, 0x44, 0x50, 0x05, 0x01, 0x00, 0xFF, 0x00, 0x05,
                  0x01, 0x10, 0x80, 0x00, 0x00, 0xFF},
    .sfdp_table = {0xE5, 0x20, 0xF9, 0xFF, 0xFF, 0xFF, 0xFF, 0x03, 0x44, 0xEB,
                   0x08, 0x6B, 0x08, 0x3B, 0x42, 0xBB, 0xFE, 0xFF, 0xFF, 0xFF,
                   0xFF, 0xFF, 0x00, 0x00, 0xFF, 0xFF, 0x40, 0xEB, 0x0C, 0x20,
                   0x0F, 0x52, 0x10, 0xD8, 0x00, 0x00, 0x36, 0x02, 0xA6, 0x00,
                   0x82, 0xEA, 0x14, 0xC4, 0xE9, 0x63, 0x76, 0x33, 0x7A, 0x75,
                   0x7A, 0x75, 0xF7, 0xA2, 0xD5, 0x5C, 0x19, 0xF7, 0x4D, 0xFF,
                   0xE9, 0x30, 0xF8, 0x80},
    .program_us = 3000,
    .erase_us = 400000,
};

const struct esk_nor_part esk_nor_mx25r6435f = {
    .name = "MX25R6435F",
    .jedec_id = 0xC22817,
    .bytes = 8u << 20,
    .sfdp_head = {0x53, 0x46, 0x44, 0x50, 0x06, 0x01, 0x02, 0xFF, 0x00, 0x06,
                  0x01, 0x10, 0x30, 0x00, 0x00, 0xFF},
    .sfdp_table = {0xE5, 0x20, 0xF1, 0xFF, 0xFF, 0xFF, 0xFF, 0x03, 0x44, 0xEB,
                   0x08, 0x6B, 0x08, 0x3B, 0x04, 0xBB, 0xEE, 0xFF, 0xFF, 0xFF,
                   0xFF, 0xFF, 0x00, 0xFF, 0xFF, 0xFF, 0x00, 0xFF, 0x0C, 0x20,
                   0x0F, 0x52, 0x10, 0xD8, 0x00, 0xFF, 0x23, 0x72, 0xF5, 0x00,
                   0x82, 0xED, 0x04, 0xCC, 0x44, 0x83, 0x68, 0x44, 0x30, 0xB0,
                   0x30, 0xB0, 0xF7, 0xC4, 0xD5, 0x5C, 0x00, 0xBE, 0x29, 0xFF,
                   0xF0, 0xD0, 0xFF, 0xFF},
    .program_us = 3200,
    .erase_us = 58000,
};

const struct esk_nor_part esk_nor_mx25l25645g = {
    .name = "MX25L25645G",
    .jedec_id = 0xC22019,
    .bytes = 32u << 20,
    .sfdp_head = {0x53, 0x46, 0x44, 0x50, 0x06, 0x01, 0x02, 0xFF, 0x00, 0x06,
                  0x01, 0x10, 0x30, 0x00, 0x00, 0xFF},
    .sfdp_table = {0xE5, 0x20, 0xFB, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0x44, 0xEB,
                   0x08, 0x6B, 0x08, 0x3B, 0x04, 0xBB, 0xFE, 0xFF, 0xFF, 0xFF,
                   0xFF, 0xFF, 0x00, 0xFF, 0xFF, 0xFF, 0x44, 0xEB, 0x0C, 0x20,
                   0x0F, 0x52, 0x10, 0xD8, 0x00, 0xFF, 0xD6, 0x59, 0xDD, 0x00,
                   0x82, 0x9F, 0x03, 0xDB, 0x44, 0x03, 0x67, 0x38, 0x30, 0xB0,
                   0x30, 0xB0, 0xF7, 0xBD, 0xD5, 0x5C, 0x4A, 0x9E, 0x29, 0xFF,
                   0xF0, 0x50, 0xF9, 0x85},
    .program_us = 1000,
    .erase_us = 50000,
};

static struct esk_nor_model *nor_of(struct esk_chip *chip) {
    return (struct esk_nor_model *)chip;
}

static bool nor_is_macronix(const struct esk_nor_model *nor) {
    return nor->part->jedec_id >> 16 == 0xC2;
}

static void nor_select(struct esk_chip *chip) {
    struct esk_nor_model *nor = nor_of(chip);
    nor->count = 0;
    nor->data = 0;
    nor->address = 0;
    if (!chip->busy) {
        memset(nor->buffer, 0xFF, sizeof nor->buffer);
    }
}

/// Bytes between the opcode and the data.
static uint32_t nor_head(const struct esk_nor_model *nor) {
    switch (nor->opcode) {
    case 0x02:
    case 0x03:
    case 0x20:
        return nor->four ? 4 : 3;
    case 0x12:
    case 0x13:
    case 0x21:
        return 4;
    case 0x5A:
        return 4; /* three of address, one dummy */
    default:
        return 0;
    }
}

static uint8_t nor_status(const struct esk_nor_model *nor) {
    return (uint8_t)(nor->status | (nor->chip.busy ? 1 : 0) |
                     (nor->enabled ? 2 : 0));
}

/// Data byte number nor->data that the chip sends.
static uint8_t nor_out(struct esk_nor_model *nor) {
    uint32_t at = nor->address + nor->data;
    switch (nor->opcode) {
    case 0x03:
    case 0x13:
        if (at >= nor->part->bytes) {
            esk_chip_refuse(&nor->chip, "read past the chip");
        }
        return (uint8_t)~nor->array[at % nor->part->bytes];
    case 0x05:
        return nor_status(nor);
    case 0x2B:
        return (uint8_t)(nor->failed ? 0x60 : 0);
    case 0x5A:
        return at < sizeof nor->sfdp ? nor->sfdp[at] : 0xFF;
    case 0x9F:
        return (uint8_t)(nor->data < 3
                             ? nor->part->jedec_id >> (16 - 8 * nor->data)
                             : 0xFF);
    default:
        return 0xFF;
    }
}

/// Records an opcode that the chip ignores now. Waking a busy chip is allowed:
/// after a reset the host cannot know.
static void nor_opcode_check(struct esk_nor_model *nor) {
    static const uint8_t known[] = {0x02, 0x03, 0x05, 0x06, 0x12, 0x13, 0x20,
                                    0x21, 0x2B, 0x5A, 0x9F, 0xAB, 0xB7, 0xB9};
    struct esk_chip *chip = &nor->chip;
    if (memchr(known, nor->opcode, sizeof known) == NULL ||
        (nor->opcode == 0x2B && !nor_is_macronix(nor))) {
        esk_chip_refuse(chip, "unknown opcode");
        nor->opcode = 0;
    } else if (nor->asleep && nor->opcode != 0xAB) {
        esk_chip_refuse(chip, "command in deep power-down");
        nor->opcode = 0;
    } else if (chip->busy && nor->opcode != 0x05 && nor->opcode != 0x2B) {
        if (nor->opcode != 0xAB) {
            esk_chip_refuse(chip, "command while busy");
        }
        nor->opcode = 0;
    }
}

static uint8_t nor_transfer(struct esk_chip *chip, uint8_t in) {
    struct esk_nor_model *nor = nor_of(chip);
    uint8_t out = 0xFF;
    if (nor->count == 0) {
        nor->opcode = in;
        nor_opcode_check(nor);
    } else if (nor->count <= nor_head(nor)) {
        if (nor->opcode != 0x5A || nor->count <= 3) {
            nor->address = nor->address << 8 | in;
        }
    } else {
        out = nor_out(nor);
        if (nor->opcode == 0x02 || nor->opcode == 0x12) {
            nor->buffer[(nor->address + nor->data) % NOR_PAGE] = in;
        }
        nor->data++;
    }
    nor->count++;
    return out;
}

/// Begins the program or erase of the command.
static void nor_begin(struct esk_nor_model *nor) {
    struct esk_chip *chip = &nor->chip;
    bool erase = nor->opcode == 0x20 || nor->opcode == 0x21;
    bool complete = nor->count > nor_head(nor) && (nor->data > 0) != erase;
    const char *why = NULL;
    why = !complete ? "program or erase cut short" : why;
    why = !nor->enabled ? "program or erase without write-enable" : why;
    why = nor->status != 0 ? "program or erase of protected blocks" : why;
    why = nor->address >= nor->part->bytes ? "change past the chip" : why;
    if (why != NULL) {
        esk_chip_refuse(chip, why);
        return;
    }
    if (!erase && nor->address % NOR_PAGE + nor->data > NOR_PAGE) {
        esk_chip_refuse(chip, "program past the page's end");
    }
    nor->erasing = erase;
    nor->op_address = nor->address;
    nor->op_data = nor->data;
    nor->failed = false;
    nor->failing = esk_chip_fails(erase ? &chip->faults.fail_erase
                                        : &chip->faults.fail_program);
    esk_chip_begin(
        chip, 1000ull * (erase ? nor->part->erase_us : nor->part->program_us),
        true);
}

static void nor_deselect(struct esk_chip *chip) {
    struct esk_nor_model *nor = nor_of(chip);
    switch (nor->count == 0 ? 0 : nor->opcode) {
    case 0x02:
    case 0x12:
    case 0x20:
    case 0x21:
        nor_begin(nor);
        break;
    case 0x06:
        nor->enabled = true;
        break;
    case 0xAB:
        nor->asleep = false;
        break;
    case 0xB7:
        nor->four = true;
        break;
    case 0xB9:
        nor->asleep = true;
        break;
    default:
        break;
    }
}

static void nor_finish(struct esk_chip *chip, uint32_t permille) {
    struct esk_nor_model *nor = nor_of(chip);
    uint32_t unit = nor->erasing ? NOR_SECTOR : NOR_PAGE;
    uint8_t *at = nor->array + nor->op_address / unit * unit;
    uint8_t target[NOR_PAGE];
    if (nor->failing) {
        permille = permille / 2;
    }
    nor->failed = nor->failing;
    nor->enabled = false;
    if (nor->erasing) {
        esk_chip_tear(chip, at, NULL, NOR_SECTOR, permille);
        return;
    }
    for (uint32_t i = 0; i < NOR_PAGE; i++) {
        uint8_t wanted = (uint8_t)~nor->buffer[i];
        bool asked = (i + NOR_PAGE - nor->op_address % NOR_PAGE) % NOR_PAGE <
                     nor->op_data;
        if (asked && (at[i] & ~wanted) != 0) {
            esk_chip_refuse(chip, "program of a 0 to a 1");
        }
        target[i] = (uint8_t)(at[i] | wanted);
    }
    esk_chip_tear(chip, at, target, NOR_PAGE, permille);
}

static void nor_power_on(struct esk_chip *chip) {
    struct esk_nor_model *nor = nor_of(chip);
    nor->asleep = false;
    nor->enabled = false;
    nor->four = false;
    nor->failed = false;
    nor->opcode = 0;
    nor->count = 0;
}

static void nor_free(struct esk_chip *chip) {
    free(nor_of(chip)->array);
    free(chip);
}

static const struct esk_chip_ops nor_chip_ops = {
    .select = nor_select,
    .deselect = nor_deselect,
    .transfer = nor_transfer,
    .finish = nor_finish,
    .power_on = nor_power_on,
    .free = nor_free,
};

struct esk_nor_model *esk_nor_model_make(const struct esk_nor_part *part,
                                         uint64_t seed) {
    struct esk_nor_model *nor = esk_chip_allocate(sizeof *nor);
    nor->chip.ops = &nor_chip_ops;
    nor->chip.random = seed;
    nor->part = part;
    nor->array = esk_chip_allocate(part->bytes);
    memset(nor->sfdp, 0xFF, sizeof nor->sfdp);
    memcpy(nor->sfdp, part->sfdp_head, sizeof part->sfdp_head);
    memcpy(nor->sfdp + part->sfdp_head[12], part->sfdp_table,
           sizeof part->sfdp_table);
    esk_chip_power_on(&nor->chip);
    return nor;
}
