// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A device that failed completely lost synced rows: each append that failed
/// marked blocks as bad and dropped the oldest ones for room. Such a device may
/// work again soon: a loose plug, a bus that another chip holds.
#include "table/series/series.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_series.h"

static const struct esk_geometry nor = ESK_NOR(70, 8, 256);

static const struct esk_geometry nand = ESK_NAND(70, 8, 512);

static const struct esk_geometry file = ESK_OVERWRITTEN(70, 8, 256, 64);

/// Makes all kinds of calls on a dead device.
static void use_dead(struct esk_model_series *model) {
    esk_sim_power_off(model->sim);
    for (uint32_t call = 0; call < 60; call++) {
        (void)esk_model_series_append(model);
        (void)esk_model_series_sync(model);
        (void)esk_model_series_step(model, 3);
        (void)esk_model_series_erase_before(model, 2);
    }
    esk_sim_power_on(model->sim);
    model->expected->floors_maybe_count = 0;
}

static void verify(struct esk_model_series *model) {
    ESK_CHECK_HELD(esk_model_series_verify(model, true), model->why);
}

/// Makes the device fail completely, again and again, while the table fills up.
static void live_and_die(const struct esk_geometry *geometry,
                         const struct esk_model_series_table *table,
                         uint64_t seed) {
    struct esk_sim_config config = {.geometry = *geometry, .seed = seed};
    struct esk_model_series model;
    ESK_CHECK_INT(esk_model_series_make(&model, table, &config, seed), ESK_OK);
    uint32_t rows = model.expected->count;
    for (uint32_t round = 0; round < 60; round++) {
        int status = esk_model_series_append_many(
            &model, 1 + esk_model_series_random(&model, 40));
        ESK_CHECK(status == ESK_OK || status == ESK_FULL);
        rows = model.expected->count;
        if (round % 2 == 0) {
            ESK_CHECK_INT(esk_model_series_sync(&model), ESK_OK);
        }
        uint32_t tail = model.series->data.tail;
        use_dead(&model);
        ESK_CHECK(model.expected->count >= rows);
        ESK_CHECK_INT(model.series->data.tail, tail);
        verify(&model);
        if (round % 5 == 4) {
            esk_model_series_crash(&model);
            ESK_CHECK_HELD(esk_model_series_recover(&model) == ESK_OK,
                           model.why);
            verify(&model);
        }
    }
    ESK_CHECK_INT(esk_sim_violations(model.sim), 0);
    ESK_CHECK_INT(model.bad_blocks + model.var_bad_blocks, 0);
    esk_model_series_free(&model);
}

ESK_TEST(dead_device_loses_no_synced_rows) {
    static const struct esk_geometry *const media[] = {&nor, &nand, &file};
    for (uint32_t i = 0; i < 24; i++) {
        struct esk_model_series_table table = {.index_count = (uint8_t)(i % 2),
                                               .has_var = i % 4 >= 2,
                                               .value_bytes = 40,
                                               .no_marks = i % 3 == 0,
                                               .full_policy = i % 8 >= 4,
                                               .erase_ahead = (uint8_t)(i % 3),
                                               .data_blocks = 10,
                                               .index_blocks = 6,
                                               .var_blocks = 12};
        ESK_CONTEXT("seed %u", i);
        live_and_die(media[i % 3], &table, i);
    }
}

ESK_TEST_MAIN()
