// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The SDK's flash calls on an array: each takes the chip's time, in which a
/// power cut can come.
#include "rp2_fake.h"

#include <string.h>

#include <hardware/flash.h>
#include <hardware/regs/addressmap.h>
#include <pico/error.h>
#include <pico/flash.h>

enum { FAKE_PROGRAM_US = 400, FAKE_ERASE_US = 45000 };

uint8_t fake_rp2_xip[PICO_FLASH_SIZE_BYTES];
struct rp2_fake rp2_fake;

static void fake_finish(struct esk_chip *chip, uint32_t permille) {
    uint8_t target[FLASH_SECTOR_SIZE];
    uint8_t *at = fake_rp2_xip + rp2_fake.busy_at;
    size_t bytes = rp2_fake.erasing ? FLASH_SECTOR_SIZE : FLASH_PAGE_SIZE;
    memset(target, 0xFF, sizeof target);
    for (size_t i = 0; !rp2_fake.erasing && i < bytes; i++) {
        target[i] = at[i] & rp2_fake.page[i];
    }
    permille = rp2_fake.failing ? permille / 2 : permille;
    esk_chip_tear(chip, at, target, bytes, permille);
}

static void fake_power_on(struct esk_chip *chip) {
    (void)chip;
    rp2_fake.safe = false;
}

static const struct esk_chip_ops fake_ops = {.finish = fake_finish,
                                             .power_on = fake_power_on};

void rp2_fake_reset(uint64_t seed) {
    memset(&rp2_fake, 0, sizeof rp2_fake);
    memset(fake_rp2_xip, 0xFF, sizeof fake_rp2_xip);
    rp2_fake.chip.ops = &fake_ops;
    rp2_fake.chip.random = seed;
    esk_chip_power_on(&rp2_fake.chip);
}

int flash_safe_execute(void (*func)(void *), void *param,
                       uint32_t enter_exit_timeout_ms) {
    struct esk_chip *chip = &rp2_fake.chip;
    bool once = chip->faults.bus_error_at != 0 &&
                chip->bytes >= chip->faults.bus_error_at;
    int error = once ? PICO_ERROR_TIMEOUT : rp2_fake.core_1;
    chip->bytes += FLASH_PAGE_SIZE;
    chip->faults.bus_error_at = once ? 0 : chip->faults.bus_error_at;
    rp2_fake.timeout = enter_exit_timeout_ms;
    /* The other core stopped in time, or will start too late. */
    if (error == PICO_OK || rp2_fake.late || (once && chip->bytes % 3 == 0)) {
        rp2_fake.safe = true;
        func(param);
        rp2_fake.safe = false;
    }
    return chip->on ? error : PICO_ERROR_TIMEOUT;
}

/// Whether the SDK would do it: otherwise it asserts, or the core crashes.
static bool fake_takes(uint32_t offset, size_t count, size_t unit) {
    const char *why = NULL;
    why = offset % unit != 0 || count % unit != 0 ? "not aligned" : why;
    why = offset > sizeof fake_rp2_xip || count > sizeof fake_rp2_xip - offset
              ? "past the flash"
              : why;
    why = !rp2_fake.safe ? "a core may be running from the flash" : why;
    if (why != NULL) {
        esk_chip_refuse(&rp2_fake.chip, why);
    }
    return why == NULL && rp2_fake.chip.on;
}

static void fake_work(uint32_t offset, uint32_t us) {
    rp2_fake.busy_at = offset;
    esk_chip_begin(&rp2_fake.chip, us * 1000ull, true);
    if (rp2_fake.chip.on) {
        esk_chip_advance(&rp2_fake.chip, us * 1000ull);
    }
}

void flash_range_erase(uint32_t flash_offs, size_t count) {
    if (!fake_takes(flash_offs, count, FLASH_SECTOR_SIZE)) {
        return;
    }
    rp2_fake.erasing = true;
    for (size_t at = 0; at < count; at += FLASH_SECTOR_SIZE) {
        rp2_fake.failing = esk_chip_fails(&rp2_fake.chip.faults.fail_erase);
        fake_work(flash_offs + (uint32_t)at, FAKE_ERASE_US);
    }
}

void flash_range_program(uint32_t flash_offs, const uint8_t *data,
                         size_t count) {
    if ((uintptr_t)data - XIP_BASE < sizeof fake_rp2_xip) {
        esk_chip_refuse(&rp2_fake.chip, "the data is in the flash");
        return;
    }
    if (!fake_takes(flash_offs, count, FLASH_PAGE_SIZE)) {
        return;
    }
    rp2_fake.erasing = false;
    for (size_t at = 0; at < count; at += FLASH_PAGE_SIZE) {
        memcpy(rp2_fake.page, data + at, FLASH_PAGE_SIZE);
        rp2_fake.failing = esk_chip_fails(&rp2_fake.chip.faults.fail_program);
        fake_work(flash_offs + (uint32_t)at, FAKE_PROGRAM_US);
    }
}
