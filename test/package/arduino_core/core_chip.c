// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A model of port/models, "nor" or "sd" by TEST_CHIP, on the test's bus; a
/// byte takes a microsecond.
#include "core_chip.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "port/models/nor_model.h"
#include "port/models/sd_model.h"

static struct esk_chip *chip;

/// A card that was wiped.
static struct esk_chip *card_make(void) {
    struct esk_sd_model *sd = esk_sd_model_make(&esk_sd_parts[2], 7);
    memset(sd->array, 0xFF, (size_t)sd->part->sectors * 512);
    return &sd->chip;
}

static struct esk_chip *chip_used(void) {
    const char *name = getenv("TEST_CHIP");
    if (chip == NULL && name != NULL) {
        chip = strcmp(name, "nor") == 0
                   ? &esk_nor_model_make(&esk_nor_mx25r6435f, 7)->chip
                   : card_make();
    }
    return chip;
}

void core_chip_pin(uint8_t level) {
    struct esk_chip *used = chip_used();
    if (used != NULL && used->selected == (level != 0)) {
        (level != 0 ? esk_chip_deselect : esk_chip_select)(used);
    }
}

uint8_t core_chip_transfer(uint8_t byte) {
    struct esk_chip *used = chip_used();
    if (used == NULL) {
        return 0xFF;
    }
    esk_chip_advance(used, 1000);
    return esk_chip_transfer(used, byte);
}

void core_chip_delay(uint32_t us) {
    struct esk_chip *used = chip_used();
    if (used != NULL) {
        esk_chip_advance(used, (uint64_t)us * 1000);
    }
}

int core_chip_status(void) {
    struct esk_chip *used = chip_used();
    if (used == NULL || used->violations == 0) {
        return 0;
    }
    fprintf(stderr, "the chip refused: %s\n", used->violation);
    return 1;
}
