// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A file or an EEPROM whose erase does nothing, and that programs parts of a
/// page: a sealed page was completed only up to its last row. After that row
/// were the bytes of a lap ago, so the page was not valid, and rows after its
/// last seal were lost without any power loss.
#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_series.h"

enum { ROUNDS = 60, ROWS_MAX = 40 };

static const uint16_t units[] = {1, 2, 4, 8};

/// Fills the rings several times, now and then with a sync, and mounts again
/// after each round.
static void laps_make(struct esk_model_series *model) {
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = esk_model_series_random(model, ROWS_MAX); i > 0;
             i--) {
            ESK_CHECK_INT(esk_model_series_append(model), ESK_OK);
            if (esk_model_series_random(model, 5) == 0) {
                ESK_CHECK_INT(esk_model_series_sync(model), ESK_OK);
            }
        }
        ESK_CHECK_INT(esk_model_series_sync(model), ESK_OK);
        esk_model_series_crash(model);
        ESK_CHECK_INT(esk_model_series_recover(model), ESK_OK);
        ESK_CHECK_HELD(esk_model_series_verify(model, true), model->why);
    }
    ESK_CHECK(model->expected->laps >= 2);
}

ESK_TEST(sealed_pages_are_complete_where_an_erase_keeps_the_bytes) {
    for (uint32_t i = 0; i < 2 * sizeof units / sizeof units[0]; i++) {
        struct esk_model_series model;
        struct esk_model_series_table table = {.has_var = i % 2 == 1,
                                               .pad_bytes = 36,
                                               .value_bytes = 40,
                                               .index_count = 1,
                                               .data_blocks = 4,
                                               .index_blocks = 2,
                                               .var_blocks = 6};
        struct esk_sim_config file = {
            .geometry = ESK_OVERWRITTEN(40, 8, 256, units[i / 2]),
            .erase_keeps = true,
            .seed = i};
        ESK_CONTEXT("unit %u, %s", (unsigned)units[i / 2],
                    table.has_var ? "values" : "rows");
        ESK_CHECK_INT(esk_model_series_make(&model, &table, &file, i), ESK_OK);
        laps_make(&model);
        ESK_CHECK_TEXT(esk_sim_violation(model.sim), "");
        esk_model_series_free(&model);
    }
}

ESK_TEST_MAIN()
