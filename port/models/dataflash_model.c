// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The DataFlash model: buffer 1 and the array.
#include "port/models/dataflash_model.h"

#include <stdlib.h>
#include <string.h>

enum { DATAFLASH_PROGRAM_US = 6000, DATAFLASH_ERASE_US = 100000 };
enum { DATAFLASH_COMPARE_US = 400, DATAFLASH_BLOCK = 8 };

const struct esk_dataflash_part esk_dataflash_parts[] = {
    {"AT45DB011D", 0x22, 3, false, false, 264, 9, 512},
    {"AT45DB041D, 256", 0x24, 7, false, true, 256, 8, 2048},
    {"AT45DB081E", 0x25, 9, true, false, 264, 9, 4096},
    {"AT45DB161D", 0x26, 11, false, false, 528, 10, 4096},
    {"AT45DB161E, 512", 0x26, 11, true, true, 512, 9, 4096},
    {"AT45DB321D, 512", 0x27, 13, false, true, 512, 9, 8192},
    {"AT45DB642D", 0x28, 15, false, false, 1056, 11, 8192},
    {"AT45DB641E", 0x28, 15, true, false, 264, 9, 32768},
};
const size_t esk_dataflash_part_count =
    sizeof esk_dataflash_parts / sizeof esk_dataflash_parts[0];

static struct esk_dataflash_model *flash_of(struct esk_chip *chip) {
    return (struct esk_dataflash_model *)chip;
}

static uint8_t *flash_page(struct esk_dataflash_model *flash, uint32_t page) {
    return flash->array + (size_t)page * flash->part->page;
}

static void flash_select(struct esk_chip *chip) {
    flash_of(chip)->count = 0;
}

static uint32_t flash_address(const struct esk_dataflash_model *flash) {
    return (uint32_t)flash->head[0] << 16 | (uint32_t)flash->head[1] << 8 |
           flash->head[2];
}

static uint8_t flash_status(const struct esk_dataflash_model *flash,
                            uint32_t byte) {
    const struct esk_dataflash_part *part = flash->part;
    uint8_t ready = flash->chip.busy ? 0 : 0x80;
    if (byte % 2 == 1 && part->extended) {
        return (uint8_t)(ready | (flash->failed ? 0x20 : 0));
    }
    return (uint8_t)(ready | (flash->differs ? 0x40 : 0) | part->density << 2 |
                     (flash->is_protected ? 2 : 0) | (part->binary ? 1 : 0));
}

static void flash_opcode_check(struct esk_dataflash_model *flash) {
    static const uint8_t known[] = {0x0B, 0x50, 0x60, 0x84, 0x88,
                                    0x9F, 0xAB, 0xB9, 0xD7};
    const char *why = NULL;
    if (memchr(known, flash->opcode, sizeof known) == NULL) {
        why = "unknown opcode";
    } else if (flash->asleep && flash->opcode != 0xAB) {
        why = "command in deep power-down";
    } else if (flash->chip.busy && flash->opcode != 0xD7) {
        why = "command while busy";
    }
    /* Waking a busy chip is allowed: after a reset the host cannot know. */
    if (why != NULL && !(flash->chip.busy && flash->opcode == 0xAB)) {
        esk_chip_refuse(&flash->chip, why);
    }
    flash->opcode = why != NULL ? 0 : flash->opcode;
}

/// The byte of the array at a continuous read's position.
static uint8_t flash_out(struct esk_dataflash_model *flash, uint32_t n) {
    const struct esk_dataflash_part *part = flash->part;
    uint32_t address = flash_address(flash);
    uint32_t page = address >> part->shift;
    uint32_t offset = address & ((1u << part->shift) - 1);
    uint64_t at = (uint64_t)page * part->page + offset + n;
    if (offset >= part->page || at >= (uint64_t)part->pages * part->page) {
        esk_chip_refuse(&flash->chip, "read past the page or the chip");
        return 0xFF;
    }
    return (uint8_t)~flash->array[at];
}

static uint8_t flash_transfer(struct esk_chip *chip, uint8_t in) {
    struct esk_dataflash_model *flash = flash_of(chip);
    const uint8_t id[5] = {flash->maker, flash->part->id, 0,
                           flash->part->extended, 0};
    uint32_t n = flash->count++;
    if (n == 0) {
        flash->opcode = in;
        flash_opcode_check(flash);
        return 0xFF;
    }
    switch (flash->opcode) {
    case 0x9F:
        return n <= 5 ? id[n - 1] : 0xFF;
    case 0xD7:
        return flash_status(flash, n - 1);
    case 0x0B:
        if (n >= 5) {
            return flash_out(flash, n - 5);
        }
        break;
    case 0x84:
        if (n >= 4) {
            uint32_t at = (flash_address(flash) + n - 4) &
                          ((1u << flash->part->shift) - 1);
            if (at >= flash->part->page) {
                esk_chip_refuse(chip, "write past the buffer");
                at %= flash->part->page;
            }
            flash->buffer[at] = in;
        }
        break;
    default:
        break;
    }
    if (n <= sizeof flash->head) {
        flash->head[n - 1] = in;
    }
    return 0xFF;
}

static void flash_begin(struct esk_dataflash_model *flash) {
    struct esk_chip *chip = &flash->chip;
    uint32_t page = flash_address(flash) >> flash->part->shift;
    bool erase = flash->opcode == 0x50;
    bool counted = flash->opcode != 0x60;
    const char *why = NULL;
    why = flash->count != 4 ? "command cut short" : why;
    why = page >= flash->part->pages ? "page past the chip" : why;
    why = counted && flash->is_protected ? "change under protection" : why;
    if (why != NULL) {
        esk_chip_refuse(chip, why);
        return;
    }
    flash->busy_op = flash->opcode;
    flash->busy_at = page;
    if (counted) {
        flash->failing = esk_chip_fails(erase ? &chip->faults.fail_erase
                                              : &chip->faults.fail_program);
        flash->failed = false;
        esk_chip_begin(
            chip, 1000u * (erase ? DATAFLASH_ERASE_US : DATAFLASH_PROGRAM_US),
            true);
    } else {
        esk_chip_begin(chip, DATAFLASH_COMPARE_US * 1000u, false);
    }
}

static void flash_deselect(struct esk_chip *chip) {
    struct esk_dataflash_model *flash = flash_of(chip);
    if (flash->count == 0) {
        return;
    }
    switch (flash->opcode) {
    case 0x50:
    case 0x60:
    case 0x88:
        flash_begin(flash);
        break;
    case 0xAB:
        flash->asleep = false;
        break;
    case 0xB9:
        flash->asleep = true;
        break;
    default:
        break;
    }
}

static void flash_program(struct esk_dataflash_model *flash,
                          uint32_t permille) {
    uint8_t *at = flash_page(flash, flash->busy_at);
    uint8_t target[sizeof flash->buffer];
    for (uint32_t i = 0; i < flash->part->page; i++) {
        if (at[i] != 0 && permille > 0) {
            esk_chip_refuse(&flash->chip, "program of a page not erased");
            break;
        }
    }
    for (uint32_t i = 0; i < flash->part->page; i++) {
        target[i] = (uint8_t)(at[i] | (uint8_t)~flash->buffer[i]);
    }
    esk_chip_tear(&flash->chip, at, target, flash->part->page, permille);
}

static void flash_finish(struct esk_chip *chip, uint32_t permille) {
    struct esk_dataflash_model *flash = flash_of(chip);
    uint8_t *at = flash_page(flash, flash->busy_at);
    uint32_t page = flash->part->page;
    if (flash->busy_op == 0x60) {
        flash->differs = false;
        for (uint32_t i = 0; i < page; i++) {
            flash->differs |= (at[i] ^ flash->buffer[i]) != 0xFF;
        }
        return;
    }
    permille = flash->failing ? permille / 2 : permille;
    flash->failed = flash->failing;
    flash->failing = false;
    if (flash->busy_op == 0x50) {
        at = flash_page(flash,
                        flash->busy_at / DATAFLASH_BLOCK * DATAFLASH_BLOCK);
        esk_chip_tear(chip, at, NULL, (size_t)page * DATAFLASH_BLOCK, permille);
    } else {
        flash_program(flash, permille);
    }
}

static void flash_power_on(struct esk_chip *chip) {
    struct esk_dataflash_model *flash = flash_of(chip);
    flash->asleep = false;
    flash->failed = false;
    flash->failing = false;
    flash->count = 0;
    flash->opcode = 0;
    for (uint32_t i = 0; i < sizeof flash->buffer; i++) {
        flash->buffer[i] = (uint8_t)esk_chip_random(chip, 256);
    }
}

static void flash_free(struct esk_chip *chip) {
    free(flash_of(chip)->array);
    free(chip);
}

static const struct esk_chip_ops flash_chip_ops = {
    .select = flash_select,
    .deselect = flash_deselect,
    .transfer = flash_transfer,
    .finish = flash_finish,
    .power_on = flash_power_on,
    .free = flash_free,
};

struct esk_dataflash_model *
esk_dataflash_model_make(const struct esk_dataflash_part *part, uint64_t seed) {
    struct esk_dataflash_model *flash = esk_chip_allocate(sizeof *flash);
    flash->chip.ops = &flash_chip_ops;
    flash->chip.random = seed;
    flash->part = part;
    flash->maker = 0x1F;
    flash->array = esk_chip_allocate((size_t)part->pages * part->page);
    esk_chip_power_on(&flash->chip);
    return flash;
}
