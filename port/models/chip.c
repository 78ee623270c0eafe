// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Clock, power and faults, the same for every model.
///
/// Invariant: time moves only in advance, which ends operations in order: a
/// power cut before the end of the busy operation tears it.
#include "port/models/chip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *esk_chip_allocate(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (memory == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    return memory;
}

/// SplitMix64.
static uint64_t chip_draw(struct esk_chip *chip) {
    uint64_t z = chip->random += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

uint32_t esk_chip_random(struct esk_chip *chip, uint32_t bound) {
    return (uint32_t)((chip_draw(chip) >> 32) * bound >> 32);
}

void esk_chip_tear(struct esk_chip *chip, uint8_t *array, const uint8_t *target,
                   size_t bytes, uint32_t permille) {
    for (size_t i = 0; i < bytes; i++) {
        uint8_t wanted = target == NULL ? 0 : target[i];
        for (unsigned bit = 1; bit < 0x100 && array[i] != wanted; bit <<= 1) {
            if (permille >= 1000 || esk_chip_random(chip, 1000) < permille) {
                array[i] =
                    (uint8_t)((array[i] & ~bit) | (unsigned)(wanted & bit));
            }
        }
    }
}

void esk_chip_refuse(struct esk_chip *chip, const char *what) {
    chip->violations++;
    snprintf(chip->violation, sizeof chip->violation, "%s", what);
}

bool esk_chip_fails(uint32_t *left) {
    return *left > 0 && --*left == 0;
}

void esk_chip_abort(struct esk_chip *chip) {
    if (chip->on && chip->busy) {
        uint64_t all = chip->busy_until_ns - chip->busy_from_ns;
        uint64_t done = chip->now_ns - chip->busy_from_ns;
        chip->busy = false;
        chip->ops->finish(chip, done < all ? (uint32_t)(done / (all / 1000 + 1))
                                           : 1000);
    }
}

void esk_chip_power_off(struct esk_chip *chip) {
    esk_chip_abort(chip);
    chip->on = false;
}

void esk_chip_power_on(struct esk_chip *chip) {
    chip->on = true;
    chip->busy = false;
    chip->faults.cut_op = 0;
    chip->faults.cut_ns = 0;
    chip->ops->power_on(chip);
}

void esk_chip_advance(struct esk_chip *chip, uint64_t ns) {
    uint64_t to = chip->now_ns + ns;
    uint64_t cut = chip->faults.cut_ns;
    bool dies = chip->on && cut != 0 && cut <= to;
    uint64_t end = dies && cut > chip->now_ns ? cut : to;
    end = dies && cut <= chip->now_ns ? chip->now_ns : end;
    if (chip->on && chip->busy && chip->busy_until_ns <= end) {
        chip->now_ns = chip->busy_until_ns;
        chip->busy = false;
        chip->ops->finish(chip, 1000);
    }
    chip->now_ns = end;
    if (dies) {
        esk_chip_power_off(chip);
    }
    chip->now_ns = to;
}

void esk_chip_begin(struct esk_chip *chip, uint64_t ns, bool counted) {
    chip->busy = true;
    chip->busy_from_ns = chip->now_ns;
    chip->busy_until_ns =
        chip->faults.stuck_busy ? UINT64_MAX : chip->now_ns + ns;
    if (!counted) {
        return;
    }
    chip->ops_begun++;
    if (chip->ops_begun == chip->faults.cut_op) {
        chip->faults.cut_ns =
            chip->now_ns + ns / 1000 * chip->faults.cut_permille;
        esk_chip_advance(chip, 0);
    }
}

static bool chip_answers(const struct esk_chip *chip) {
    return chip->on && chip->faults.absent == ESK_CHIP_PRESENT;
}

void esk_chip_select(struct esk_chip *chip) {
    if (chip->selected) {
        esk_chip_refuse(chip, "selected twice");
    }
    chip->selected = true;
    if (chip_answers(chip)) {
        chip->ops->select(chip);
    }
}

void esk_chip_deselect(struct esk_chip *chip) {
    if (!chip->selected) {
        esk_chip_refuse(chip, "deselected twice");
    }
    chip->selected = false;
    if (chip_answers(chip)) {
        chip->ops->deselect(chip);
    }
}

uint8_t esk_chip_transfer(struct esk_chip *chip, uint8_t in) {
    chip->bytes++;
    if (!chip_answers(chip)) {
        return chip->faults.absent == ESK_CHIP_ABSENT_LOW ? 0x00 : 0xFF;
    }
    return chip->ops->transfer(chip, in);
}

void esk_chip_free(struct esk_chip *chip) {
    chip->ops->free(chip);
}

// ------------------------------------------------------------ a host's bus

static void bus_select(const struct esk_spi *spi) {
    esk_chip_select(spi->context);
}

static void bus_deselect(const struct esk_spi *spi) {
    esk_chip_deselect(spi->context);
}

static int bus_transfer(const struct esk_spi *spi, const uint8_t *send,
                        uint8_t *receive, uint16_t bytes) {
    struct esk_chip *chip = spi->context;
    for (uint16_t i = 0; i < bytes; i++) {
        if (chip->faults.bus_error_at != 0 &&
            chip->bytes + 1 >= chip->faults.bus_error_at) {
            chip->faults.bus_error_at = 0;
            return ESK_E_IO;
        }
        esk_chip_advance(chip, chip->byte_ns ? chip->byte_ns : 1000);
        uint8_t in = esk_chip_transfer(chip, send == NULL ? 0xFF : send[i]);
        if (receive != NULL) {
            receive[i] = in;
        }
    }
    return ESK_OK;
}

static void bus_delay(const struct esk_spi *spi, uint32_t us) {
    esk_chip_advance(spi->context, (uint64_t)us * 1000);
}

void esk_chip_bus(struct esk_chip *chip, struct esk_spi *spi) {
    *spi = (struct esk_spi){
        .select = bus_select,
        .deselect = bus_deselect,
        .transfer = bus_transfer,
        .delay_us = bus_delay,
        .context = chip,
    };
}
