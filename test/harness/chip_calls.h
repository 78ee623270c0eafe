// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A driver's calls on the model of its chip, a whole page at a time, and the
/// checks of every driver's tests.
///
///     chip_calls_set(&calls, &model->chip, &flash.device, start, 11);
///     ESK_CHECK_INT(chip_program(&calls, 5), ESK_OK);
#ifndef ESK_TEST_CHIP_CALLS_H
#define ESK_TEST_CHIP_CALLS_H

#include "port/device_check/device_check.h"
#include "port/models/chip.h"
#include "test/harness/esk_test.h"

struct chip_calls {
    struct esk_chip *chip;
    const struct esk_device *device;
    int (*start)(void); ///< what firmware does after power-on
    uint8_t data[4096]; ///< bytes of a page's program
    uint8_t seen[4096]; ///< bytes of the last read
};

/// Fills in the calls; page bytes rise by `stride` each.
static inline void chip_calls_set(struct chip_calls *calls,
                                  struct esk_chip *chip,
                                  const struct esk_device *device,
                                  int (*start)(void), unsigned stride) {
    calls->chip = chip;
    calls->device = device;
    calls->start = start;
    for (unsigned i = 0; i < sizeof calls->data; i++) {
        calls->data[i] = (uint8_t)(i * stride + i / 512 + 3);
    }
}

static inline int chip_program(struct chip_calls *calls, esk_page_id page) {
    return calls->device->ops->program(calls->device, page, 0, calls->data,
                                       calls->device->geometry.page_bytes);
}

/// Reads a page into `seen`.
static inline int chip_read(struct chip_calls *calls, esk_page_id page) {
    memset(calls->seen, 0xEE, sizeof calls->seen);
    return calls->device->ops->read(calls->device, page, 0, calls->seen,
                                    calls->device->geometry.page_bytes);
}

static inline int chip_erase(struct chip_calls *calls, uint32_t block) {
    return calls->device->ops->erase(calls->device, block);
}

/// Checks that the page has the programmed bytes.
static inline void chip_check(struct chip_calls *calls, esk_page_id page) {
    ESK_CHECK_INT(chip_read(calls, page), ESK_OK);
    ESK_CHECK_BYTES(calls->seen, calls->data,
                    calls->device->geometry.page_bytes);
}

/// Checks that the page reads as erased.
static inline void chip_check_erased(struct chip_calls *calls,
                                     esk_page_id page) {
    ESK_CHECK_INT(chip_read(calls, page), ESK_OK);
    for (unsigned i = 0; i < calls->device->geometry.page_bytes; i++) {
        ESK_CHECK_INT(calls->seen[i], 0xFF);
    }
}

/// Checks that the driver keeps the device contract on the device's last
/// blocks.
static inline void chip_check_contract(struct chip_calls *calls,
                                       uint32_t blocks) {
    static uint8_t pages[2 * sizeof calls->seen];
    struct esk_device_fault fault;
    uint32_t first = calls->device->geometry.block_count - blocks;
    int status = esk_device_check(calls->device, first, blocks, pages, &fault);
    ESK_CONTEXT("page %lu, offset %u, status %d", (unsigned long)fault.page,
                fault.offset, fault.status);
    ESK_CHECK_TEXT(esk_device_fault_text(fault.what), "no fault was found");
    ESK_CHECK_INT(status, ESK_OK);
    ESK_CHECK_TEXT(calls->chip->violation, "");
}

/// Checks that a driver reports a missing chip, whatever the line's level is.
static inline void chip_check_absent(struct chip_calls *calls) {
    struct esk_chip_faults *faults = &calls->chip->faults;
    faults->absent = ESK_CHIP_ABSENT_HIGH;
    ESK_CHECK_INT(calls->start(), ESK_NOT_FOUND);
    faults->absent = ESK_CHIP_ABSENT_LOW;
    ESK_CHECK_INT(calls->start(), ESK_NOT_FOUND);
    faults->absent = ESK_CHIP_PRESENT;
}

/// Checks that a program of a chip that stays busy ends within `low` .. `high`
/// ms.
static inline void chip_check_stuck(struct chip_calls *calls, esk_page_id page,
                                    uint32_t low, uint32_t high) {
    uint64_t from = calls->chip->now_ns;
    calls->chip->faults.stuck_busy = true;
    ESK_CHECK_INT(chip_program(calls, page), ESK_E_IO);
    ESK_CHECK(calls->chip->now_ns - from > low * 1000000ull);
    ESK_CHECK(calls->chip->now_ns - from < high * 1000000ull);
}

/// Fails the transfer at each of the `bytes` bytes of a program, in the page's
/// middle at `step` bytes at a time. The driver must release the chip, which
/// accepts the next command, and must not lose an acknowledged program. Returns
/// how many programs failed.
static inline uint32_t chip_bus_error_at_every_byte(struct chip_calls *calls,
                                                    uint32_t bytes,
                                                    uint32_t step) {
    uint32_t failed = 0;
    uint32_t page = 0;
    for (uint32_t i = 0; i < bytes;
         i += i < 32 || i + 60 > bytes ? 1 : step, page++) {
        ESK_CONTEXT("byte %lu", (unsigned long)i);
        calls->chip->faults.bus_error_at = calls->chip->bytes + 1 + i;
        int status = chip_program(calls, page);
        failed += status != ESK_OK ? 1 : 0;
        calls->chip->faults.bus_error_at = 0;
        ESK_CHECK(!calls->chip->selected);
        ESK_CHECK_INT(chip_read(calls, page), ESK_OK);
        if (status == ESK_OK) {
            chip_check(calls, page);
        }
    }
    return failed;
}

#endif
