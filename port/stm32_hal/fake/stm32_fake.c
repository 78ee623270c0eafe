// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The HAL's flash calls over the model: results are 0 to 3, HAL_OK to
/// HAL_TIMEOUT.
#include "stm32_fake.h"

#include <stdlib.h>
#include <string.h>

struct stm32_fake stm32_fake;

static void fake_refuse(const char *why) {
    esk_chip_refuse(&stm32_fake.model->chip, why);
}

void stm32_fake_refresh(void) {
    uint32_t bytes = stm32_fake.model->part->bytes;
    memset(stm32_fake.cached, 0, bytes / 32);
}

void stm32_fake_clear(uint32_t flags) {
    stm32_fake.errors &= ~flags;
}

void stm32_fake_reset(const struct esk_word_flash_part *part, uint64_t seed) {
    if (stm32_fake.model != NULL) {
        esk_chip_free(&stm32_fake.model->chip);
        free(stm32_fake.cache);
        free(stm32_fake.cached);
    }
    memset(&stm32_fake, 0, sizeof stm32_fake);
    stm32_fake.model = esk_word_flash_model_make(part, seed);
    esk_word_flash_model_port(stm32_fake.model, &stm32_fake.port);
    stm32_fake.cache = esk_chip_allocate(part->bytes);
    stm32_fake.cached = esk_chip_allocate(part->bytes / 32);
    stm32_fake.ACR = FAKE_CACHED;
    stm32_fake.CCR = FAKE_CACHED;
    stm32_fake.errors = FAKE_PGS; /* chips have OPTVERR after a reset */
}

/// Whether the HAL begins; if not, *result is its result.
static bool fake_begins(bool known, int *result) {
    struct esk_chip *chip = &stm32_fake.model->chip;
    bool once = chip->faults.bus_error_at != 0 &&
                chip->bytes >= chip->faults.bus_error_at;
    chip->bytes += stm32_fake.model->part->word_bytes;
    chip->faults.bus_error_at = once ? 0 : chip->faults.bus_error_at;
    *result = once ? 3 : stm32_fake.fails;
    stm32_fake.fails = 0;
    stm32_fake.error_code = 0;
    if (*result == 0 && stm32_fake.errors != 0) {
        stm32_fake.error_code = stm32_fake.errors;
        *result = 1;
    }
    if (!stm32_fake.unlocked || !known) {
        fake_refuse(known ? "locked" : "no such operation");
        *result = 1;
    }
    return *result == 0;
}

/// The HAL's result after the model's operation.
static int fake_result(int status) {
    if (status == ESK_E_READ_ONLY || status == ESK_E_MEDIUM) {
        stm32_fake.errors |=
            status == ESK_E_READ_ONLY ? (uint32_t)FAKE_WRP : (uint32_t)FAKE_OP;
        stm32_fake.error_code = stm32_fake.errors;
        return 1;
    }
    return status == ESK_OK ? 0 : 3;
}

int stm32_fake_program(bool known, uint32_t address, const void *word) {
    uint8_t copy[ESK_WORD_FLASH_MODEL_WORD_MAX];
    int result;
    if ((uintptr_t)word % 4 != 0) {
        fake_refuse("data not aligned");
    }
    if (!fake_begins(known, &result)) {
        return result;
    }
    memcpy(copy, word, stm32_fake.model->part->word_bytes);
    return fake_result(
        stm32_fake.port.program(&stm32_fake.port, address, copy));
}

int stm32_fake_erase(bool known, uint32_t bank, uint32_t unit) {
    const struct esk_word_flash_part *part = stm32_fake.model->part;
    uint32_t units = part->bytes / part->erase_bytes / 2;
    int result;
    if (!fake_begins(known && unit < units && (bank - 1) < 2, &result)) {
        return result;
    }
    unit += (bank - 1) * units;
    return fake_result(stm32_fake.port.erase(
        &stm32_fake.port, part->start + unit * part->erase_bytes));
}

/// A load that ECC fails: NMI, or on an H7, without a handler, a bus fault.
static void fake_torn(void) {
    stm32_fake.errors |= FAKE_ECCD;
    if (stm32_fake.model->part->word_bytes < 32) {
        NMI_Handler();
        return;
    }
    if (stm32_fake.faultmask == 0 ||
        (stm32_fake.CCR & FAKE_FAULTS_IGNORED) == 0) {
        fake_refuse("bus fault");
    }
}

/// Reads a line of 32 bytes, and caches it unless ECC failed.
static void fake_line(uint32_t line) {
    bool whole = true;
    for (uint32_t i = line * 32; i < line * 32 + 32; i++) {
        int status = stm32_fake.port.read(&stm32_fake.port,
                                          stm32_fake.model->part->start + i,
                                          stm32_fake.cache + i, 1);
        whole = whole && status == ESK_OK;
    }
    stm32_fake.cached[line] = whole;
    if (!whole && stm32_fake.model->chip.on) {
        fake_torn();
    }
}

void stm32_fake_copy(void *to, uint32_t address, uint16_t bytes) {
    uint32_t at = address - stm32_fake.model->part->start;
    for (uint32_t i = at; i < at + bytes; i++) {
        if (stm32_fake.cached[i / 32] == 0) {
            fake_line(i / 32);
        }
    }
    memcpy(to, stm32_fake.cache + at, bytes);
}
