// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The file in two arrays: the program's view and the medium's.
#include "card_fake.h"

#include <string.h>

enum { FAKE_CALL_NS = 20000, FAKE_SECTOR_NS = 700000 };

struct card_fake card_fake;

static uint8_t *fake_kept(uint32_t sector) {
    return card_fake.kept + (size_t)sector * CARD_FAKE_SECTOR;
}

static const uint8_t *fake_seen(uint32_t sector) {
    return card_fake.bytes + (size_t)sector * CARD_FAKE_SECTOR;
}

/// Writes all cached sectors to the medium.
static void fake_put_all(void) {
    memcpy(card_fake.kept, card_fake.bytes, sizeof card_fake.kept);
    memset(card_fake.waits, 0, sizeof card_fake.waits);
    card_fake.size_kept = card_fake.size;
}

static void fake_finish(struct esk_chip *chip, uint32_t permille) {
    uint32_t sector = card_fake.busy;
    if (sector < CARD_FAKE_SECTORS) {
        esk_chip_tear(chip, fake_kept(sector), fake_seen(sector),
                      CARD_FAKE_SECTOR, permille);
        card_fake.waits[sector] = false;
    } else if (permille >= 1000) {
        fake_put_all();
    }
}

/// After a power cut any of the cached sectors may be on the medium.
static void fake_power_on(struct esk_chip *chip) {
    for (uint32_t i = 0; i < CARD_FAKE_SECTORS; i++) {
        if (card_fake.waits[i] && !card_fake.copies &&
            esk_chip_random(chip, 2) == 0) {
            memcpy(fake_kept(i), fake_seen(i), CARD_FAKE_SECTOR);
        }
        card_fake.waits[i] = false;
    }
    memcpy(card_fake.bytes, card_fake.kept, sizeof card_fake.bytes);
    card_fake.size = card_fake.size_kept;
    card_fake.position = 0;
}

static const struct esk_chip_ops fake_ops = {.finish = fake_finish,
                                             .power_on = fake_power_on};

void card_fake_reset(uint64_t seed) {
    memset(&card_fake, 0, sizeof card_fake);
    card_fake.room = CARD_FAKE_BYTES;
    card_fake.chip.ops = &fake_ops;
    card_fake.chip.random = seed;
    esk_chip_power_on(&card_fake.chip);
}

/// Takes the time of a call. Returns whether the call has an effect: the power
/// is on, and this transfer does not fail.
static bool fake_call(size_t bytes) {
    struct esk_chip *chip = &card_fake.chip;
    uint64_t error_at = chip->faults.bus_error_at;
    bool fails = error_at != 0 && chip->bytes >= error_at;
    chip->bytes += bytes;
    chip->faults.bus_error_at = fails ? 0 : error_at;
    esk_chip_advance(chip, FAKE_CALL_NS);
    return chip->on && !fails;
}

bool card_fake_open(void) {
    return !card_fake.absent;
}

bool card_fake_seek(uint64_t position) {
    if (!fake_call(1) || esk_chip_fails(&card_fake.fail_seek) ||
        position > card_fake.size) {
        return false;
    }
    card_fake.position = (uint32_t)position;
    return true;
}

int card_fake_read(void *buffer, size_t bytes) {
    size_t left = card_fake.size - card_fake.position;
    if (!fake_call(bytes)) {
        return -1;
    }
    bytes = bytes < left ? bytes : left;
    bytes -= esk_chip_fails(&card_fake.fail_read) ? 1 : 0;
    memcpy(buffer, card_fake.bytes + card_fake.position, bytes);
    card_fake.position += (uint32_t)bytes;
    return (int)bytes;
}

size_t card_fake_write(const void *buffer, size_t bytes) {
    uint32_t at = card_fake.append ? card_fake.size : card_fake.position;
    if (!fake_call(bytes) || bytes > card_fake.room - at) {
        return 0;
    }
    bytes -= card_fake.short_by;
    card_fake.short_by = 0;
    memcpy(card_fake.bytes + at, buffer, bytes);
    card_fake.position = at + (uint32_t)bytes;
    if (card_fake.position > card_fake.size) {
        card_fake.size = card_fake.position;
    }
    for (uint32_t i = at; i < card_fake.position; i++) {
        card_fake.waits[i / CARD_FAKE_SECTOR] = true;
    }
    /* A write that failed may have moved the position. */
    if (esk_chip_fails(&card_fake.chip.faults.fail_program)) {
        return 0;
    }
    return bytes;
}

/// Writes `sector`, or all, to the medium.
static void fake_put(uint32_t sector) {
    struct esk_chip *chip = &card_fake.chip;
    card_fake.busy = sector;
    esk_chip_begin(chip, FAKE_SECTOR_NS, true);
    if (chip->on) {
        esk_chip_advance(chip, FAKE_SECTOR_NS);
    }
}

bool card_fake_sync(void) {
    struct esk_chip *chip = &card_fake.chip;
    if (!fake_call(1) || esk_chip_fails(&card_fake.fail_sync)) {
        return false;
    }
    uint32_t first = esk_chip_random(chip, CARD_FAKE_SECTORS);
    for (uint32_t i = 0; i < CARD_FAKE_SECTORS && !card_fake.copies; i++) {
        uint32_t sector = (first + i) % CARD_FAKE_SECTORS;
        if (chip->on && card_fake.waits[sector]) {
            fake_put(sector);
        }
    }
    if (chip->on &&
        (card_fake.copies || card_fake.size != card_fake.size_kept)) {
        fake_put(CARD_FAKE_SECTORS);
    }
    return chip->on;
}
