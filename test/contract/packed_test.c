// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Packed tables beside a model: every kind of table on every kind of medium,
/// with few and many syncs, over several lives.
#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_series.h"

static const struct esk_model_series_table tables[] = {
    {.packed = true},
    {.packed = true, .index_count = 2, .readers = 1},
    {.packed = true, .pad_bytes = 20, .index_count = 1, .edges_given = true},
    {.packed = true, .pad_bytes = 5, .keys_repeat = true, .cell_bytes = 64},
    {.packed = true, .wide_key = true, .cell_bytes = 128, .readers = 3},
    {.packed = true, .has_var = true, .value_bytes = 40},
    {.packed = true,
     .has_var = true,
     .value_bytes = 40,
     .index_count = 1,
     .full_policy = ESK_FULL_REFUSE},
    {.packed = true, .full_policy = ESK_FULL_REFUSE, .cell_bytes = 64},
    {.packed = true, .noise = true, .index_count = 1, .cell_bytes = 64},
    {.packed = true, .noise = true, .wide_key = true, .cell_bytes = 128},
};

enum { TABLES = sizeof tables / sizeof tables[0] };

/// Rows a sync.
static const uint32_t cadences[] = {1, 7, 50, 1000};

static const struct esk_geometry media[] = {
    ESK_NOR(60, 8, 256),
    ESK_FLASH(60, 8, 264, 4, 0),
    ESK_NAND(60, 8, 512),
    ESK_CARD(60, 8, 512),
};

enum { MEDIA = sizeof media / sizeof media[0] };

static void model_make(struct esk_model_series *model,
                       const struct esk_model_series_table *plain,
                       const struct esk_geometry *geometry, uint64_t seed) {
    struct esk_model_series_table table = *plain;
    struct esk_sim_config config = {.geometry = *geometry, .seed = seed};
    table.run_pages = 3;
    table.group_pages = 4;
    table.data_blocks = 12;
    table.index_blocks = 6;
    table.var_blocks = table.has_var ? 12 : 0;
    table.key_index_bytes = 48;
    ESK_CHECK_INT(esk_model_series_make(model, &table, &config, seed), ESK_OK);
}

static void verify(struct esk_model_series *model) {
    ESK_CHECK_HELD(esk_model_series_verify(model, true), model->why);
}

ESK_TEST(packed_tables_have_the_rows_of_a_model) {
    uint32_t rows = esk_test_rounds(230, 700);
    uint32_t stride = esk_test_stride(2);
    for (uint32_t i = 0; i < TABLES; i++) {
        for (uint32_t medium = 0; medium < MEDIA; medium++) {
            for (uint32_t c = (i + medium) % stride; c < 4; c += stride) {
                struct esk_model_series model;
                ESK_CONTEXT("table %u, medium %u, sync each %u rows",
                            (unsigned)i, (unsigned)medium,
                            (unsigned)cadences[c]);
                model_make(&model, &tables[i], &media[medium], 7 + c);
                for (uint32_t life = 0; life < 3; life++) {
                    for (uint32_t row = 1; row < rows; row++) {
                        int status = esk_model_series_append(&model);
                        ESK_CHECK(status == ESK_OK || status == ESK_FULL);
                        if (row % cadences[c] == 0) {
                            ESK_CHECK_INT(esk_model_series_sync(&model),
                                          ESK_OK);
                        }
                    }
                    verify(&model);
                    esk_model_series_crash(&model);
                    ESK_CHECK_HELD(esk_model_series_recover(&model) == ESK_OK,
                                   model.why);
                    verify(&model);
                }
                ESK_CHECK_INT(esk_sim_violations(model.sim), 0);
                esk_model_series_free(&model);
            }
        }
    }
}

ESK_TEST_MAIN()
