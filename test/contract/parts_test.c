// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Every subset of the series' parts on tables of every kind: what a subset
/// supports is right, also after power cuts, and leaves the table usable for
/// any other subset; everything else is refused.
#include <stdlib.h>

#include "table/series/series.h"
#include "test/harness/arena.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_series.h"

enum { SUBSETS = 128, ROUNDS = 6, STEPS = 120 };

static const struct esk_model_series_table tables[] = {
    {.pad_bytes = 36},
    {.pad_bytes = 28, .index_count = 2},
    {.has_var = true, .value_bytes = 60},
    {.has_var = true, .value_bytes = 60, .index_count = 1},
    {.has_var = true, .value_bytes = 60, .full_policy = ESK_FULL_REFUSE},
    {.packed = true, .pad_bytes = 28, .index_count = 2},
};

enum { TABLES = sizeof tables / sizeof tables[0] };

static struct esk_series_parts subset(unsigned bits) {
    return (struct esk_series_parts){
        .keys = (bits & 1) != 0    ? &esk_series_part_keys
                : (bits & 64) != 0 ? &esk_series_part_samples
                                   : NULL,
        .values = (bits & 2) != 0 ? &esk_series_part_values : NULL,
        .var = (bits & 4) != 0 ? &esk_series_part_var : NULL,
        .back = (bits & 8) != 0 ? &esk_series_part_back : NULL,
        .log = (bits & 32) != 0 ? &esk_series_part_log : NULL,
        .ranges = (bits & 16) != 0 ? &esk_series_part_ranges : NULL,
        .packed = &esk_series_part_packed,
    };
}

static bool serves(const struct esk_series_parts *parts,
                   const struct esk_model_series_table *table) {
    bool values = parts->values != NULL && parts->log != NULL;
    return (parts->log == NULL || parts->keys == &esk_series_part_keys) &&
           (table->index_count == 0 || values) &&
           (!table->has_var || parts->var != NULL);
}

static void model_series_make(struct esk_model_series *model,
                              const struct esk_model_series_table *plain) {
    struct esk_model_series_table table = *plain;
    struct esk_sim_config config = {.geometry = ESK_NOR(80, 8, 256), .seed = 7};
    table.run_pages = 3;
    table.group_pages = 4;
    table.data_blocks = 10;
    table.index_blocks = 6;
    table.var_blocks = table.has_var ? 12 : 0;
    table.key_index_bytes = 48;
    ESK_CHECK_INT(esk_model_series_make(model, &table, &config, 3), ESK_OK);
}

static void work(struct esk_model_series *model) {
    for (uint32_t i = 0; i < STEPS; i++) {
        uint32_t what = esk_model_series_random(model, 24);
        int status = what < 20    ? esk_model_series_append(model)
                     : what < 22  ? esk_model_series_sync(model)
                     : what == 22 ? esk_model_series_step(model, 1)
                                  : esk_model_series_erase_before(model, 2);
        ESK_CHECK(status == ESK_OK || status == ESK_FULL);
    }
}

static void verify(struct esk_model_series *model) {
    ESK_CHECK_HELD(esk_model_series_verify(model, true), model->why);
}

static void reopen(struct esk_model_series *model,
                   const struct esk_series_parts *parts) {
    esk_model_series_crash(model);
    model->table.parts = parts;
    ESK_CHECK_HELD(esk_model_series_recover(model) == ESK_OK, model->why);
    verify(model);
}

ESK_TEST(parts_serve_their_tables_and_leave_them_to_others) {
    uint32_t step = esk_test_rounds(3, 1);
    for (unsigned bits = 0; bits < SUBSETS; bits += step) {
        struct esk_series_parts parts = subset(bits);
        for (uint32_t i = 0; i < TABLES; i++) {
            struct esk_model_series model;
            if (!serves(&parts, &tables[i])) {
                continue;
            }
            ESK_CONTEXT("parts %u, table %u", bits, (unsigned)i);
            model_series_make(&model, &tables[i]);
            for (uint32_t round = 0; round < ROUNDS; round++) {
                reopen(&model, &parts);
                work(&model);
                verify(&model);
                reopen(&model, &parts);
                reopen(&model, &esk_series_parts_all);
                work(&model);
            }
            ESK_CHECK(model.found_count > 0);
            ESK_CHECK_INT(esk_sim_violations(model.sim), 0);
            esk_model_series_free(&model);
        }
    }
}

ESK_TEST(parts_that_a_table_needs_are_asked_for) {
    for (unsigned bits = 0; bits < SUBSETS; bits++) {
        struct esk_series_parts parts = subset(bits);
        for (uint32_t i = 0; i < TABLES; i++) {
            struct esk_model_series model;
            if (serves(&parts, &tables[i])) {
                continue;
            }
            ESK_CONTEXT("parts %u, table %u", bits, (unsigned)i);
            model_series_make(&model, &tables[i]);
            esk_model_series_crash(&model);
            model.table.parts = &parts;
            ESK_CHECK_INT(esk_model_series_recover(&model), ESK_E_UNSUPPORTED);
            esk_model_series_free(&model);
        }
    }
}

ESK_TEST(parts_that_packed_pages_need_are_asked_for) {
    struct esk_series_parts parts = esk_series_parts_all;
    struct esk_model_series model;
    model_series_make(&model, &tables[TABLES - 1]);
    esk_model_series_crash(&model);
    parts.packed = NULL;
    model.table.parts = &parts;
    ESK_CHECK_INT(esk_model_series_recover(&model), ESK_E_UNSUPPORTED);
    /* No column has decimals. */
    parts.packed = &esk_series_part_packed;
    parts.decimals = NULL;
    ESK_CHECK_INT(esk_model_series_recover(&model), ESK_OK);
    esk_model_series_free(&model);
}

ESK_TEST(parts_without_back_refuse_backward_cursors) {
    struct esk_model_series model;
    struct esk_series_parts parts = subset(7);
    struct esk_series_query query = {.backward = true};
    struct esk_series_cursor cursor;
    uint8_t row[ESK_MODEL_SERIES_ROW_BYTES_MAX];
    model_series_make(&model, &tables[0]);
    reopen(&model, &parts);
    ESK_CHECK_INT(esk_model_series_append_many(&model, 30), ESK_OK);
    ESK_CHECK_INT(esk_series_cursor_open(model.series, &cursor, &query),
                  ESK_E_UNSUPPORTED);
    ESK_CHECK_INT(esk_series_newest(model.series, row), ESK_E_UNSUPPORTED);
    ESK_CHECK_INT(esk_series_floor(model.series, 20, row), ESK_E_UNSUPPORTED);
    ESK_CHECK_INT(esk_series_oldest(model.series, row), ESK_OK);
    esk_model_series_free(&model);
}

ESK_TEST(parts_without_ranges_refuse_conditions) {
    struct esk_model_series model;
    struct esk_series_parts parts = subset(15);
    struct esk_series_range range = {.column = 1, .has_lo = true};
    struct esk_series_query query = {.ranges = &range, .range_count = 1};
    struct esk_series_cursor cursor;
    uint8_t row[ESK_MODEL_SERIES_ROW_BYTES_MAX];
    model_series_make(&model, &tables[0]);
    reopen(&model, &parts);
    ESK_CHECK_INT(esk_model_series_append_many(&model, 30), ESK_OK);
    ESK_CHECK_INT(esk_series_cursor_open(model.series, &cursor, &query),
                  ESK_E_UNSUPPORTED);
    query.range_count = 0;
    ESK_CHECK_INT(esk_series_cursor_open(model.series, &cursor, &query),
                  ESK_OK);
    ESK_CHECK_INT(esk_series_cursor_next(model.series, &cursor, row), ESK_OK);
    esk_model_series_free(&model);
}

/// An open takes exactly esk_series_arena_bytes_with.
ESK_TEST(parts_take_an_arena_of_their_own_size) {
    uint32_t all = 0;
    for (unsigned bits = SUBSETS; bits-- > 0;) {
        struct esk_series_parts parts = subset(bits);
        struct esk_series_config config = {.key_index_bytes = 48};
        struct esk_table_info info;
        struct esk_model_series model;
        if (!serves(&parts, &tables[0])) {
            continue;
        }
        ESK_CONTEXT("parts %u", bits);
        model_series_make(&model, &tables[0]);
        ESK_CHECK_INT(esk_model_series_append_many(&model, 200), ESK_OK);
        ESK_CHECK_INT(esk_model_series_sync(&model), ESK_OK);
        esk_series_close(model.series);
        ESK_CHECK_INT(esk_volume_find(&model.volume, "log", &info), ESK_OK);
        uint32_t bytes =
            esk_series_arena_bytes_with(&model.volume, &parts, &info, &config);
        all = all == 0 ? bytes : all;
        ESK_CHECK(bytes > 0 && bytes <= all);
        ESK_CHECK(parts.log != NULL || bytes + sizeof(struct esk_ring) < all);
        void *arena = malloc(bytes);
        ESK_CHECK_INT(test_series_open_with(&model.series, &parts,
                                            &model.volume, "log", &config,
                                            arena, bytes - 1),
                      ESK_E_NO_MEMORY);
        ESK_CHECK_INT(test_series_open_with(&model.series, &parts,
                                            &model.volume, "log", &config,
                                            arena, bytes),
                      ESK_OK);
        uint32_t count = 0;
        ESK_CHECK_INT(esk_model_series_append_many(&model, 200), ESK_OK);
        ESK_CHECK_INT(esk_model_series_sync(&model), ESK_OK);
        ESK_CHECK_INT(esk_series_count(model.series, &count), ESK_OK);
        ESK_CHECK_INT(count, 400);
        esk_series_close(model.series);
        free(arena);
        esk_model_series_free(&model);
    }
}

/// Without a key index the pages of the index region do not change.
ESK_TEST(parts_without_keys_write_no_index_page) {
    struct esk_model_series model;
    struct esk_series_parts parts = subset(14);
    struct esk_series_stats stats;
    model_series_make(&model, &tables[0]);
    reopen(&model, &parts);
    ESK_CHECK_INT(esk_model_series_append_many(&model, 200), ESK_OK);
    ESK_CHECK_INT(esk_model_series_sync(&model), ESK_OK);
    esk_series_stats(model.series, &stats);
    ESK_CHECK(stats.pages > 0);
    ESK_CHECK_INT(stats.index_pages, 0);
    ESK_CHECK_INT(stats.knots, 0);
    reopen(&model, &esk_series_parts_all);
    esk_series_stats(model.series, &stats);
    ESK_CHECK_INT(stats.index_pages, 0);
    ESK_CHECK(stats.knots > 0);
    esk_model_series_free(&model);
}

ESK_TEST_MAIN()
