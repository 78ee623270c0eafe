// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Series on media that cache writes lost rows in the middle, and later rows
/// that a sync had acknowledged: a page reached the medium but not the page
/// before it, or a row but not its value, or an index page but not the pages
/// that it covers. A program that opened the table again took pages in the
/// cache for durable.
#include "table/series/series.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_series.h"

enum { SEEDS = 24, ROUNDS = 40, ROWS_MAX = 120 };

static const struct esk_geometry media[] = {
    ESK_CARD(60, 8, 512),
    ESK_CARD(60, 16, 256),
    ESK_OVERWRITTEN(60, 8, 256, 4),
};

enum { MEDIA = sizeof media / sizeof media[0] };

static void model_series_make(struct esk_model_series *model, uint32_t seed) {
    struct esk_model_series_table table = {.has_var = seed % 2 == 1,
                                           .pad_bytes = 20,
                                           .value_bytes = 60,
                                           .index_count =
                                               (uint8_t)(seed / 2 % 3),
                                           .data_blocks = 4,
                                           .index_blocks = 3,
                                           .var_blocks = 8,
                                           .run_pages = 3,
                                           .group_pages = 4};
    struct esk_sim_config card = {.geometry = media[seed % MEDIA],
                                  .seed = seed,
                                  .erase_keeps = seed % 4 < 2,
                                  .whole_writes = seed % 5 == 0,
                                  .cache_programs = 24};
    ESK_CONTEXT("seed %u", (unsigned)seed);
    ESK_CHECK_INT(esk_model_series_make(model, &table, &card, seed), ESK_OK);
}

static void recover(struct esk_model_series *model) {
    esk_model_series_crash(model);
    ESK_CHECK_HELD(esk_model_series_recover(model) == ESK_OK, model->why);
    ESK_CHECK_HELD(esk_model_series_verify(model, true), model->why);
}

/// Appends rows, a few of them synced, until the power is cut.
static void work(struct esk_model_series *model) {
    int status = ESK_OK;
    esk_sim_cut_at(model->sim,
                   esk_sim_op_count(model->sim) +
                       esk_model_series_random(model, 40),
                   ESK_SIM_CUT_DRAWN);
    while (status == ESK_OK) {
        status = esk_model_series_append_many(
            model, 1 + esk_model_series_random(model, ROWS_MAX));
        if (status == ESK_OK && esk_model_series_random(model, 2) == 0) {
            status = esk_model_series_sync(model);
        }
    }
    ESK_CHECK(!esk_sim_is_on(model->sim));
}

ESK_TEST(series_on_a_card_that_caches_loses_only_its_newest_rows) {
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        struct esk_model_series model;
        model_series_make(&model, seed);
        for (uint32_t round = 0; round < ROUNDS; round++) {
            work(&model);
            recover(&model);
        }
        ESK_CHECK_TEXT(esk_sim_violation(model.sim), "");
        esk_model_series_free(&model);
    }
}

ESK_TEST(series_opened_again_orders_cached_pages) {
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        struct esk_model_series model;
        model_series_make(&model, seed);
        for (uint32_t round = 0; round < ROUNDS; round++) {
            uint32_t rows = esk_model_series_random(&model, ROWS_MAX);
            ESK_CHECK_INT(esk_model_series_append_many(&model, rows), ESK_OK);
            recover(&model); /* the program ended; the power is still on */
            if (round % 2 == 0) {
                work(&model);
                recover(&model);
            }
        }
        esk_model_series_free(&model);
    }
}

/// Syncs of the device for appends of `rows` rows and one sync at the end.
static uint64_t syncs_of(const struct esk_geometry *geometry, uint32_t rows,
                         uint32_t *pages) {
    struct esk_model_series model;
    struct esk_model_series_table table = {.pad_bytes = 100,
                                           .index_count = 1,
                                           .data_blocks = 40,
                                           .index_blocks = 10};
    struct esk_sim_config config = {.geometry = *geometry, .seed = 1};
    ESK_CHECK_INT(esk_model_series_make(&model, &table, &config, 1), ESK_OK);
    uint64_t before = esk_sim_counters(model.sim)->syncs;
    ESK_CHECK_INT(esk_model_series_append_many(&model, rows), ESK_OK);
    ESK_CHECK_INT(esk_model_series_sync(&model), ESK_OK);
    *pages = model.series->data.head;
    uint64_t after = esk_sim_counters(model.sim)->syncs;
    esk_model_series_free(&model);
    return after - before;
}

ESK_TEST(series_syncs_once_a_data_page_where_pages_can_be_cached) {
    static const struct esk_geometry card = ESK_CARD(80, 8, 512);
    static const struct esk_geometry nand = ESK_NAND(80, 8, 512);
    uint32_t pages = 0;
    ESK_CHECK_INT(syncs_of(&nand, 600, &pages), 1);
    /* One more where an index page comes before a block's first page. */
    ESK_CHECK(syncs_of(&card, 600, &pages) <= pages + 1 + pages / 64);
}

ESK_TEST_MAIN()
