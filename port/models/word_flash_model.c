// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The internal flash model: the processor waits during the operation on a word
/// or an erase page.
#include "port/models/word_flash_model.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_TORN = 2 };

const struct esk_word_flash_part esk_word_flash_nrf52840 = {
    .name = "nRF52840",
    .bytes = 1u << 20,
    .program_us = 41,
    .erase_us = 85000,
    .erase_bytes = 4096,
    .word_bytes = 4,
};

const struct esk_word_flash_part esk_word_flash_stm32l476 = {
    .name = "STM32L476",
    .start = 0x08000000,
    .bytes = 1u << 20,
    .program_us = 90,
    .erase_us = 25000,
    .erase_bytes = 2048,
    .word_bytes = 8,
};

const struct esk_word_flash_part esk_word_flash_stm32u575 = {
    .name = "STM32U575",
    .start = 0x08000000,
    .bytes = 1u << 20,
    .program_us = 118,
    .erase_us = 1500,
    .erase_bytes = 8192,
    .word_bytes = 16,
};

const struct esk_word_flash_part esk_word_flash_stm32h743 = {
    .name = "STM32H743",
    .start = 0x08000000,
    .bytes = 1u << 21,
    .program_us = 290,
    .erase_us = 2000000,
    .erase_bytes = 131072,
    .word_bytes = 32,
};

static bool word_has_ecc(const struct esk_word_flash_part *part) {
    return part->word_bytes >= 8;
}

static struct esk_word_flash_model *word_of(struct esk_chip *chip) {
    return (struct esk_word_flash_model *)chip;
}

/// Begins an operation and waits for its end, or for the power cut.
static int word_wait(struct esk_word_flash_model *flash, uint32_t us) {
    struct esk_chip *chip = &flash->chip;
    esk_chip_begin(chip, us * 1000ull, true);
    if (chip->on) {
        esk_chip_advance(chip, us * 1000ull);
    }
    return chip->on && !chip->busy ? ESK_OK : ESK_E_IO;
}

static int word_program(const struct esk_word_flash *port, uint32_t address,
                        const uint8_t *word) {
    struct esk_word_flash_model *flash = port->context;
    uint32_t at = address - flash->part->start;
    uint32_t bytes = flash->part->word_bytes;
    if (!flash->chip.on) {
        return ESK_E_IO;
    }
    const char *why = NULL;
    why = at % bytes != 0 ? "word not aligned" : why;
    why = at >= flash->part->bytes ? "word outside the flash" : why;
    if (why == NULL && flash->written[at / bytes] != 0) {
        why = "word programmed before";
    }
    if (why != NULL) {
        esk_chip_refuse(&flash->chip, why);
        return ESK_E_IO;
    }
    if (flash->is_protected) {
        return ESK_E_READ_ONLY;
    }
    memcpy(flash->word, word, bytes);
    flash->erasing = false;
    flash->busy_at = at;
    flash->failing = esk_chip_fails(&flash->chip.faults.fail_program);
    return word_wait(flash, flash->part->program_us);
}

static int word_erase(const struct esk_word_flash *port, uint32_t address) {
    struct esk_word_flash_model *flash = port->context;
    uint32_t at = address - flash->part->start;
    if (!flash->chip.on) {
        return ESK_E_IO;
    }
    if (at % flash->part->erase_bytes != 0 || at >= flash->part->bytes) {
        esk_chip_refuse(&flash->chip, "erase address not of an erase page");
        return ESK_E_IO;
    }
    if (flash->is_protected) {
        return ESK_E_READ_ONLY;
    }
    flash->erasing = true;
    flash->busy_at = at;
    bool failing = esk_chip_fails(&flash->chip.faults.fail_erase);
    flash->failing = failing;
    int status = word_wait(flash, flash->part->erase_us);
    return status == ESK_OK && failing ? ESK_E_MEDIUM : status;
}

static int word_read(const struct esk_word_flash *port, uint32_t address,
                     void *buffer, uint16_t bytes) {
    struct esk_word_flash_model *flash = port->context;
    uint32_t at = address - flash->part->start;
    uint8_t *to = buffer;
    uint32_t word = flash->part->word_bytes;
    /* A read takes time. */
    esk_chip_advance(&flash->chip, bytes * 20u);
    if (!flash->chip.on || at + bytes > flash->part->bytes) {
        return ESK_E_IO;
    }
    for (uint32_t i = 0; i < bytes; i++) {
        if (word_has_ecc(flash->part) &&
            flash->written[(at + i) / word] == WORD_TORN) {
            return ESK_E_CORRUPT;
        }
        to[i] = (uint8_t)~flash->array[at + i];
    }
    return ESK_OK;
}

/// Records the state of each word from `at` on. Without ECC a word is its bits;
/// with ECC a word that is not as wanted is torn.
static void word_note(struct esk_word_flash_model *flash, uint32_t at,
                      uint32_t bytes, bool whole) {
    uint32_t word = flash->part->word_bytes;
    for (uint32_t i = at; i < at + bytes; i += word) {
        static const uint8_t zeros[ESK_WORD_FLASH_MODEL_WORD_MAX];
        bool empty = memcmp(flash->array + i, zeros, word) == 0;
        uint8_t full = whole || !word_has_ecc(flash->part) ? 1 : WORD_TORN;
        flash->written[i / word] = empty ? 0 : full;
    }
}

static void word_finish(struct esk_chip *chip, uint32_t permille) {
    struct esk_word_flash_model *flash = word_of(chip);
    uint8_t *at = flash->array + flash->busy_at;
    uint32_t word = flash->part->word_bytes;
    uint8_t target[ESK_WORD_FLASH_MODEL_WORD_MAX];
    permille = flash->failing ? permille / 2 : permille;
    if (permille == 0) {
        return;
    }
    if (flash->erasing) {
        esk_chip_tear(chip, at, NULL, flash->part->erase_bytes, permille);
        word_note(flash, flash->busy_at, flash->part->erase_bytes, false);
        return;
    }
    for (uint32_t i = 0; i < word; i++) {
        target[i] = (uint8_t)(at[i] | (uint8_t)~flash->word[i]);
    }
    esk_chip_tear(chip, at, target, word, permille);
    word_note(flash, flash->busy_at, word, memcmp(at, target, word) == 0);
}

static void word_power_on(struct esk_chip *chip) {
    word_of(chip)->failing = false;
}

static void word_free(struct esk_chip *chip) {
    free(word_of(chip)->array);
    free(word_of(chip)->written);
    free(chip);
}

static const struct esk_chip_ops word_chip_ops = {
    .finish = word_finish,
    .power_on = word_power_on,
    .free = word_free,
};

struct esk_word_flash_model *
esk_word_flash_model_make(const struct esk_word_flash_part *part,
                          uint64_t seed) {
    struct esk_word_flash_model *flash = esk_chip_allocate(sizeof *flash);
    flash->chip.ops = &word_chip_ops;
    flash->chip.random = seed;
    flash->part = part;
    flash->array = esk_chip_allocate(part->bytes);
    flash->written = esk_chip_allocate(part->bytes / part->word_bytes);
    esk_chip_power_on(&flash->chip);
    return flash;
}

void esk_word_flash_model_port(struct esk_word_flash_model *flash,
                               struct esk_word_flash *port) {
    *port = (struct esk_word_flash){
        .program = word_program,
        .erase = word_erase,
        .read = word_read,
        .context = flash,
        .flash_start = flash->part->start,
        .flash_bytes = flash->part->bytes,
        .erase_bytes = flash->part->erase_bytes,
        .word_bytes = flash->part->word_bytes,
        .has_ecc = word_has_ecc(flash->part),
    };
}
