// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// From cycles to the chip's nanoseconds and back.
///
/// Invariant: the chip's clock is never ahead of the end of the byte on the
/// bus, and moves only forward: so the model acts in bus order.
#include "bench/mcu/simavr_chip.h"

#include <string.h>

#include "bench/mcu/simavr_spi.h"
#include "port/models/nor_model.h"
#include "port/models/sd_model.h"

enum { NS_PER_S = 1000000000, SD_PART = 2 };

static struct {
    struct esk_chip *chip;
    struct host *host;
    uint64_t started_ns; ///< the chip's time at power-on
} used;

/// The cycle of the present life at which the chip's time is `ns`.
static uint64_t cycle_of(uint64_t ns) {
    return (ns - used.started_ns) / 1000 * (HOST_HZ / 1000000) + 1;
}

static void chip_clock(void *context, uint64_t cycle) {
    struct esk_chip *chip = context;
    uint64_t to =
        used.started_ns + cycle * (NS_PER_S / 1000) / (HOST_HZ / 1000);
    if (to > chip->now_ns) {
        esk_chip_advance(chip, to - chip->now_ns);
    }
}

static void chip_select(void *context) {
    struct esk_chip *chip = context;
    if (!chip->selected) {
        esk_chip_select(chip);
    }
}

/// An operation at which the cut is aimed begins here or on a byte.
static void chip_aim(struct esk_chip *chip) {
    struct host *host = used.host;
    if (chip->faults.cut_ns != 0 && host->cut_call != 0) {
        uint64_t at = cycle_of(chip->faults.cut_ns);
        host->cut_call = 0;
        host_cut_in(host, at > host->avr->cycle ? at - host->avr->cycle : 1);
    }
}

static void chip_deselect(void *context) {
    struct esk_chip *chip = context;
    if (chip->selected) { /* The pin rises once at the start, too. */
        esk_chip_deselect(chip);
        chip_aim(chip);
    }
}

static uint8_t chip_transfer(void *context, uint8_t byte) {
    uint8_t in = esk_chip_transfer(context, byte);
    chip_aim(context);
    return in;
}

static struct spi_slave slave = {
    .select = chip_select,
    .deselect = chip_deselect,
    .transfer = chip_transfer,
    .clock = chip_clock,
};

void host_chip_use(const char *name, uint64_t seed) {
    static const struct esk_nor_part *const nors[] = {&esk_nor_w25q64jv,
                                                      &esk_nor_mx25r6435f};
    for (size_t i = 0; i < sizeof nors / sizeof nors[0]; i++) {
        if (strcmp(name, nors[i]->name) == 0) {
            used.chip = &esk_nor_model_make(nors[i], seed)->chip;
        }
    }
    if (strcmp(name, "SDHC") == 0) {
        struct esk_sd_model *card =
            esk_sd_model_make(&esk_sd_parts[SD_PART], seed);
        /* Erased, as the storage of the reference host is. */
        memset(card->array, 0xFF, (size_t)card->part->sectors * 512);
        used.chip = &card->chip;
    }
    if (used.chip == NULL) {
        host_die("no model of chip", name);
    }
    esk_chip_power_off(used.chip);
    slave.context = used.chip;
    host_spi_slave_set(&slave);
}

void host_chip_power_on(struct host *host) {
    struct esk_chip *chip = used.chip;
    if (chip == NULL) {
        return;
    }
    used.host = host;
    used.started_ns = chip->now_ns;
    esk_chip_power_on(chip);
    if (host->cut_call != 0) {
        chip->faults.cut_op = chip->ops_begun + host->cut_call;
        chip->faults.cut_permille = host_random(host, 1000);
    }
}

void host_chip_power_off(struct host *host) {
    struct esk_chip *chip = used.chip;
    if (chip == NULL) {
        return;
    }
    uint64_t busy_ns = chip->busy_until_ns - chip->busy_from_ns;
    bool was_on = chip->on;
    bool was_busy = chip->busy;
    chip_clock(chip, host->avr->cycle);
    if (host->cut && (chip->busy || (was_busy && was_on && !chip->on))) {
        /* Only erases are that slow: no program takes 5 ms. */
        host->torn_erases += busy_ns > 5000000;
        host->torn_programs += busy_ns <= 5000000;
    }
    esk_chip_power_off(chip);
    chip->selected = false;
}

void host_chip_judge(void) {
    if (used.chip != NULL && used.chip->violations != 0) {
        host_die("the chip refused:", used.chip->violation);
    }
}
