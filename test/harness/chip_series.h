// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A series table, end to end, on a driver and the model of its chip:
/// format, more than two laps of the ring, mount, then power cuts inside
/// programs, erases and transfers, each with a restart of the driver, a
/// mount and a check of every row; then transfers that fail.
///
///     struct chip_series run = {.name = "W25Q64JV", .chip = &nor->chip,
///                               .device = &driver.device, .start = start};
///     chip_series_run(&run, 7);
#ifndef ESK_TEST_CHIP_SERIES_H
#define ESK_TEST_CHIP_SERIES_H

#include <stdio.h>

#include "port/models/chip.h"
#include "test/harness/esk_test.h"
#include "test/harness/model_series.h"

enum {
    CHIP_LAP_TENTHS = 22, ///< length of the run before the cuts
    CHIP_STEPS_MAX = 4000,
    CHIP_CUT_OPS = 12,
    CHIP_BUS_ERRORS = 40,
    CHIP_BUS_STEPS = 30,
};

struct chip_series {
    const char *name;
    struct esk_chip *chip;
    const struct esk_device *device;
    int (*start)(void); ///< what firmware does after power-on
    uint32_t cuts;
    uint32_t cut_ops; ///< a cut comes within so many operations; 0: 12
    struct esk_model_series model;
};

/// Rows wide enough that a page has about five; rings of a few blocks.
static inline void chip_table_fit(const struct esk_geometry *geometry,
                                  struct esk_model_series_table *table) {
    uint32_t page = geometry->page_bytes;
    uint32_t pages = geometry->block_pages;
    uint32_t pad = (page - 16) / 5 - 12;
    table->index_count = page >= 256 ? 2 : 1;
    table->pad_bytes = (uint16_t)(pad > 1000 ? 1000 : pad);
    table->run_pages = 3;
    table->group_pages = 4;
    table->data_blocks = pages >= 16 ? 4 : (32 + pages - 1) / pages + 2;
    table->index_blocks = pages >= 16 ? 3 : (12 + pages - 1) / pages + 2;
}

static inline void chip_verify(struct chip_series *run, bool full) {
    ESK_CHECK_HELD(esk_model_series_verify(&run->model, full), run->model.why);
}

/// Power-on, driver, mount, check.
static inline void chip_recover(struct chip_series *run, bool full) {
    esk_chip_power_on(run->chip);
    ESK_CHECK_INT(run->start(), ESK_OK);
    esk_model_series_crash(&run->model);
    ESK_CHECK_HELD(esk_model_series_recover(&run->model) == ESK_OK,
                   run->model.why);
    chip_verify(run, full);
}

static inline int chip_step(struct chip_series *run) {
    return esk_model_series_random(&run->model, 6) == 0
               ? esk_model_series_sync(&run->model)
               : esk_model_series_append(&run->model);
}

/// Appends until every page of the ring was overwritten.
static inline void chip_fill(struct chip_series *run) {
    uint32_t pages = run->model.table.data_blocks *
                     run->device->geometry.block_pages * CHIP_LAP_TENTHS / 10;
    while (run->model.expected->data_head < pages) {
        ESK_CHECK_INT(chip_step(run), ESK_OK);
    }
    chip_verify(run, true);
    ESK_CHECK_INT(esk_model_series_sync(&run->model), ESK_OK);
    esk_chip_power_off(run->chip);
    chip_recover(run, true);
}

/// Works until the power is cut: inside an operation, or at some byte.
static inline void chip_cut(struct chip_series *run, uint32_t number) {
    struct esk_model_series *model = &run->model;
    struct esk_chip *chip = run->chip;
    uint32_t ahead = run->cut_ops != 0 ? run->cut_ops : CHIP_CUT_OPS;
    uint32_t permille = esk_model_series_random(model, 1001);
    if (number % 4 == 3) {
        chip->faults.cut_ns =
            chip->now_ns + 1 +
            (uint64_t)esk_model_series_random(model, 100000) * 1000;
    } else {
        chip->faults.cut_op =
            chip->ops_begun + 1 + esk_model_series_random(model, ahead);
        chip->faults.cut_permille =
            number % 4 == 0 ? permille / 1000 * 1000 : permille;
    }
    for (uint32_t i = 0; chip->on && i < CHIP_STEPS_MAX; i++) {
        int status = chip_step(run);
        if (chip->on) {
            ESK_CHECK_INT(status, ESK_OK);
        }
    }
    ESK_CHECK(!chip->on);
}

/// Fails transfers while the table works: a call may fail, but no acknowledged
/// row may be lost.
static inline void chip_bus_errors(struct chip_series *run) {
    struct esk_chip *chip = run->chip;
    for (uint32_t i = 0; i < CHIP_BUS_ERRORS; i++) {
        chip->faults.bus_error_at =
            chip->bytes + 1 + esk_model_series_random(&run->model, 20000);
        for (uint32_t j = 0; j < CHIP_BUS_STEPS; j++) {
            int status = chip_step(run);
            ESK_CHECK(status == ESK_OK || status == ESK_E_IO);
            esk_model_series_note_heads(&run->model);
            /* The chip received half a command, or no data after a command
               whose answer was lost, and no other wrong command. */
            ESK_CONTEXT("violation: %s", chip->violation);
            ESK_CHECK(chip->violations == 0 ||
                      strstr(chip->violation, "cut short") != NULL ||
                      strstr(chip->violation, "unknown token") != NULL);
            chip->violations = 0;
        }
    }
    chip->faults.bus_error_at = 0;
    ESK_CHECK_INT(esk_model_series_sync(&run->model), ESK_OK);
    esk_chip_power_off(chip);
    chip_recover(run, true);
}

static inline void chip_series_run(struct chip_series *run, uint64_t seed) {
    struct esk_model_series_table table = {0};
    esk_test_context_("%s, seed %llu", run->name, (unsigned long long)seed);
    chip_table_fit(&run->device->geometry, &table);
    ESK_CHECK_INT(esk_model_series_make_on(&run->model, &table, run->device,
                                           &run->chip->on, seed),
                  ESK_OK);
    chip_fill(run);
    uint32_t cuts = run->cuts / esk_test_stride(2);
    for (uint32_t i = 0; i < cuts; i++) {
        esk_test_context_("%s, seed %llu, cut %lu", run->name,
                          (unsigned long long)seed, (unsigned long)i);
        chip_cut(run, i);
        chip_recover(run, i % 4 == 0);
    }
    ESK_CHECK_TEXT(run->chip->violation, "");
    ESK_CHECK_INT(run->chip->violations, 0);
    chip_bus_errors(run);
    esk_model_series_free(&run->model);
}

#endif
