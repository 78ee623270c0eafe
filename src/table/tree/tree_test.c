// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What trees refuse, the cost of calls, and the ends of cursors and batches.
#include <math.h>

#include "test/harness/arena.h"
#include "test/harness/table_columns.h"
#include "test/harness/tree_fixture.h"
#include "volume/volume_format.h"

ESK_TEST(tree_create_refuses_what_a_tree_cannot_be) {
    struct esk_model_tree model;
    struct esk_model_tree_table table = model_tree_plain(ESK_STORE_MU);
    struct esk_fault fault = {.kind = 0};
    model_tree_start(&model, &table);
    struct esk_column columns[] = {
        {.name = "k", .type = ESK_TYPE_F32},
        {.name = "v", .type = ESK_TYPE_BYTES, .bytes = 16},
        {.name = "x", .type = ESK_TYPE_VAR},
    };
    struct esk_tree_spec spec = {.table = {.name = "t",
                                           .columns = columns,
                                           .column_count = 2,
                                           .row_bytes = 20},
                                 .store = ESK_STORE_MU};
    struct esk_tree_spec bad = spec;
    table_columns(&bad.table, 3);
    ESK_CHECK_INT(esk_tree_create(&model.volume, &bad, &fault), ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_COLUMN_TYPE);
    ESK_CHECK_INT(fault.column, 2);
    bad.table.key_column = 2;
    ESK_CHECK_INT(esk_tree_create(&model.volume, &bad, &fault), ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_KEY_TYPE);
    static const uint8_t stores[][2] = {{0, 0},
                                        {ESK_STORE_TNC + 1, 0},
                                        {ESK_STORE_TNC, 51},
                                        {ESK_STORE_MU, 9},
                                        {ESK_STORE_MU, 91}};
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++) {
        bad = spec;
        bad.store = stores[i][0];
        bad.k_percent = stores[i][1];
        ESK_CHECK_INT(esk_tree_create(&model.volume, &bad, &fault),
                      ESK_E_SCHEMA);
        ESK_CHECK_INT(fault.kind, ESK_FAULT_STORE);
    }
    columns[1].bytes = 250;
    table_columns(&spec.table, 2);
    ESK_CHECK_INT(esk_tree_create(&model.volume, &spec, NULL), ESK_E_SCHEMA);
    ESK_CHECK_INT(esk_tree_create(&model.volume, &spec, &fault), ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_ROW_TOO_WIDE);
    columns[1].bytes = 16;
    table_columns(&spec.table, 2);
    spec.store = ESK_STORE_INPLACE;
    ESK_CHECK_INT(esk_tree_create(&model.volume, &spec, &fault),
                  ESK_E_UNSUPPORTED);
    spec.store = ESK_STORE_MU;
    spec.table.name = "model";
    ESK_CHECK_INT(esk_tree_create(&model.volume, &spec, &fault), ESK_E_EXISTS);
    esk_model_tree_free(&model);
}

ESK_TEST(tree_open_refuses_the_wrong_table_store_and_arena) {
    struct esk_model_tree model;
    struct esk_model_tree_table table = model_tree_plain(ESK_STORE_MU);
    struct esk_tree *tree = NULL;
    table.blocks = 30;
    model_tree_start(&model, &table);
    ESK_CHECK_INT(esk_tree_row_bytes(model.tree), 32);
    esk_tree_close(model.tree);
    struct esk_tree_config config = {.store = &esk_store_mu};
    uint32_t bytes = model.arena_bytes;
    ESK_CHECK_INT(test_tree_open(&tree, &model.volume, "model", &config,
                                 model.arena, 511),
                  ESK_E_NO_MEMORY);
    ESK_CHECK_INT(test_tree_open(&tree, &model.volume, "model", &config,
                                 model.arena, bytes - 1),
                  ESK_E_NO_MEMORY);
    config.frames = 1;
    ESK_CHECK_INT(test_tree_open(&tree, &model.volume, "model", &config,
                                 model.arena, bytes),
                  ESK_E_INVALID);
    config.frames = 0;
    ESK_CHECK_INT(test_tree_open(&tree, &model.volume, "none", &config,
                                 model.arena, bytes),
                  ESK_NOT_FOUND);
    config.store = &esk_store_wandering;
    ESK_CHECK_INT(test_tree_open(&tree, &model.volume, "model", &config,
                                 model.arena, bytes),
                  ESK_E_UNSUPPORTED);
    config.store = NULL;
    ESK_CHECK_INT(test_tree_open(&tree, &model.volume, "model", &config,
                                 model.arena, bytes),
                  ESK_E_UNSUPPORTED);
    struct esk_column column = {.name = "k", .type = ESK_TYPE_U32};
    struct esk_series_spec series = {.table = {.name = "log",
                                               .columns = &column,
                                               .column_count = 1,
                                               .row_bytes = 4}};
    ESK_CHECK_INT(esk_series_create(&model.volume, &series, NULL), ESK_OK);
    config.store = &esk_store_mu;
    ESK_CHECK_INT(test_tree_open(&tree, &model.volume, "log", &config,
                                 model.arena, bytes),
                  ESK_E_UNSUPPORTED);
    config.erase_ahead = 200;
    config.policy = ESK_TREE_LRU_N;
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&model.volume, "model", &info), ESK_OK);
    uint32_t more = esk_tree_arena_bytes(&model.volume, &info, &config);
    ESK_CHECK(more > bytes);
    const struct esk_table_info sound = info;
    static const struct {
        uint16_t row_bytes;
        uint8_t key_column;
        uint8_t k_percent;
    } wrong[] = {{0, 1, 50},  {10000, 1, 50}, {32, 1, 0},  {32, 1, 100},
                 {32, 9, 50}, {7, 1, 50},     {300, 1, 50}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        info = sound;
        info.row_bytes = wrong[i].row_bytes;
        info.key_column = wrong[i].key_column;
        info.options[ESK_OPTION_HEAD + 1] = wrong[i].k_percent;
        ESK_CONTEXT("catalog %zu", i);
        ESK_CHECK_INT(esk_tree_arena_bytes(&model.volume, &info, &config), 0);
    }
    esk_model_tree_free(&model);
}

ESK_TEST(tree_refuses_a_nan_and_calls_out_of_turn) {
    struct esk_model_tree model;
    struct esk_model_tree_table table = model_tree_plain(ESK_STORE_WANDERING);
    uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX] = {0};
    float nan = NAN;
    table.key_type = ESK_TYPE_F32;
    model_tree_start(&model, &table);
    model_tree_puts(&model, 40);
    memcpy(row + 4, &nan, sizeof nan);
    ESK_CHECK_INT(esk_tree_put(model.tree, row), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_delete(model.tree, &nan), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_get(model.tree, &nan, row), ESK_NOT_FOUND);
    uint8_t rows[3][ESK_MODEL_TREE_ROW_BYTES_MAX / 64];
    uint32_t done = 0;
    esk_model_tree_row(&model, 7, 90, rows[0]);
    memcpy(row, rows[0], model.row_bytes);
    esk_model_tree_row(&model, 8, 90, row + model.row_bytes);
    memcpy(row + model.row_bytes + 4, &nan, sizeof nan);
    ESK_CHECK_INT(esk_tree_put_many(model.tree, row, 2, &done), ESK_E_INVALID);
    ESK_CHECK_INT(done, 1);
    ESK_CHECK_INT(esk_tree_commit(model.tree), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_abort(model.tree), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_begin(model.tree, 0), ESK_OK);
    ESK_CHECK_INT(esk_tree_begin(model.tree, 0), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_commit(model.tree), ESK_OK);
    ESK_CHECK_INT(esk_tree_put_many(model.tree, row, 0, NULL), ESK_OK);
    esk_model_tree_free(&model);
}

ESK_TEST(tree_on_a_read_only_volume_reads_and_refuses_changes) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_TNC; store++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = model_tree_plain(store);
        uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
        model_tree_start(&model, &table);
        model_tree_puts(&model, 200);
        esk_tree_close(model.tree);
        uint64_t ops = esk_sim_op_count(model.sim);
        ESK_CHECK_INT(
            esk_volume_mount(&model.volume, model.device,
                             ESK_MOUNT_READ_ONLY | ESK_MOUNT_TRUST_LOADS,
                             TEST_SCRATCH),
            ESK_OK);
        ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
        esk_model_tree_row(&model, 3, 9, row);
        ESK_CHECK_INT(esk_tree_put(model.tree, row), ESK_E_READ_ONLY);
        ESK_CHECK_INT(esk_tree_delete(model.tree, row + 4), ESK_E_READ_ONLY);
        ESK_CHECK_INT(esk_tree_begin(model.tree, 0), ESK_E_READ_ONLY);
        ESK_CHECK_INT(esk_tree_sync(model.tree), ESK_OK);
        ESK_CHECK_HELD(esk_model_tree_verify(&model), model.why);
        ESK_CHECK_INT(esk_sim_op_count(model.sim), ops);
        esk_model_tree_free(&model);
    }
}

/// Programs of one put, by whether it split a leaf.
ESK_TEST(tree_change_costs_what_its_store_promises) {
    static const struct {
        uint8_t store;
        uint8_t per_level;
        uint8_t once;
        uint8_t a_split;
    } costs[] = {{ESK_STORE_INPLACE, 0, 1, 2},
                 {ESK_STORE_JOURNALED, 0, 2, 4},
                 {ESK_STORE_WANDERING, 1, 0, 1},
                 {ESK_STORE_MU, 0, 1, 1}};
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = model_tree_plain(costs[i].store);
        uint32_t beyond = 0;
        uint32_t all = 0;
        model_tree_start(&model, &table);
        for (uint32_t n = 0; n < 250; n++) {
            struct esk_tree_stats before;
            struct esk_tree_stats after;
            esk_tree_stats(model.tree, &before);
            model_tree_puts(&model, 1);
            esk_tree_stats(model.tree, &after);
            uint32_t programs = after.page_programs - before.page_programs;
            uint32_t grown = (uint32_t)(after.height - before.height);
            uint32_t splits = after.splits - before.splits;
            ESK_CONTEXT("store %u, put %u", costs[i].store, n);
            ESK_CHECK(after.pages_moved == 0);
            uint32_t most = costs[i].once +
                            (uint32_t)(costs[i].per_level * after.height) +
                            costs[i].a_split * splits + grown;
            ESK_CHECK(programs <= most + (splits > 0 ? costs[i].once : 0));
            ESK_CHECK(programs >= costs[i].once);
            beyond += programs > most ? 1 : 0;
            all += splits;
        }
        /* In place, one write of the list is for at least 10 nodes. */
        ESK_CHECK(beyond <= 1 + all / 10);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(tree_get_reads_a_node_a_level_and_keeps_the_root) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_MU; store++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = model_tree_plain(store);
        struct esk_tree_stats before;
        struct esk_tree_stats after;
        uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
        uint8_t key[8];
        model_tree_start(&model, &table);
        model_tree_puts(&model, 400);
        esk_model_tree_key(&model, 1, key);
        (void)esk_tree_get(model.tree, key, row);
        for (uint32_t i = 0; i < 100; i++) {
            esk_model_tree_key(&model, esk_model_tree_random(&model, 300), key);
            esk_tree_stats(model.tree, &before);
            (void)esk_tree_get(model.tree, key, row);
            esk_tree_stats(model.tree, &after);
            ESK_CHECK(after.height >= 2);
            ESK_CHECK(after.page_reads - before.page_reads < after.height);
        }
        esk_model_tree_free(&model);
    }
}

ESK_TEST(tree_fills_leaves_to_the_brim_where_keys_rise) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_MU; store++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = model_tree_plain(store);
        struct esk_tree_report report;
        uint8_t rows[300 * 32];
        uint32_t done = 0;
        for (uint32_t many = 1; many <= 300; many += 299) {
            ESK_CONTEXT("store %u, %u rows a call", store, many);
            model_tree_start(&model, &table);
            for (uint32_t n = 0; n < 300; n++) {
                esk_model_tree_row(&model, n, 1, rows + n * model.row_bytes);
                model.expected.version[n] = 1;
            }
            model.expected.rows = 300;
            for (uint32_t n = 0; n < 300; n += many) {
                ESK_CHECK_INT(esk_tree_put_many(model.tree,
                                                rows + n * model.row_bytes,
                                                many, &done),
                              ESK_OK);
                ESK_CHECK_INT(done, many);
            }
            ESK_CHECK_INT(esk_tree_check(model.tree, &report), ESK_OK);
            uint32_t fill = store == ESK_STORE_MU          ? 7
                            : store == ESK_STORE_WANDERING ? 14
                                                           : 15;
            ESK_CHECK(report.leaves <= (300 + fill - 1) / fill + 1);
            struct esk_tree_stats stats;
            esk_tree_stats(model.tree, &stats);
            uint32_t a_leaf = store == ESK_STORE_JOURNALED   ? 6
                              : store == ESK_STORE_WANDERING ? stats.height + 1u
                                                             : 3;
            ESK_CHECK(many == 1 ||
                      stats.page_programs <= report.leaves * a_leaf);
            ESK_CHECK_HELD(esk_model_tree_verify(&model), model.why);
            esk_model_tree_free(&model);
        }
    }
}

ESK_TEST(cursor_goes_on_after_changes_or_is_stale) {
    for (uint16_t bytes = 3; bytes <= 20; bytes = (uint16_t)(bytes + 17)) {
        struct esk_model_tree model;
        struct esk_model_tree_table table =
            model_tree_plain(ESK_STORE_WANDERING);
        struct esk_tree_cursor cursor;
        uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
        uint8_t expected[ESK_MODEL_TREE_ROW_BYTES_MAX];
        table.key_type = ESK_TYPE_BYTES;
        table.key_bytes = bytes;
        table.pad_bytes = 8;
        model_tree_start(&model, &table);
        for (uint32_t n = 0; n < 300; n += 3) {
            ESK_CHECK_INT(esk_model_tree_put(&model, n), ESK_OK);
        }
        for (uint32_t backward = 0; backward < 2; backward++) {
            struct esk_tree_query query = {.backward = backward != 0};
            esk_tree_cursor_open(model.tree, &cursor, &query);
            for (uint32_t n = 0; n < 100; n++) {
                uint32_t number = backward != 0 ? 297 - 3 * n : 3 * n;
                int status = esk_tree_cursor_next(model.tree, &cursor, row);
                if (n == 51 && bytes > ESK_TREE_CURSOR_KEY_BYTES) {
                    ESK_CHECK_INT(status, ESK_E_STALE);
                    break;
                }
                ESK_CHECK_INT(status, ESK_OK);
                esk_model_tree_row(&model, number,
                                   model.expected.version[number], expected);
                ESK_CHECK_BYTES(row, expected, model.row_bytes);
                if (n == 50) {
                    /* The row at the cursor is deleted, and one after it is
                       put. */
                    ESK_CHECK_INT(esk_model_tree_delete(&model, number),
                                  ESK_OK);
                    number = backward != 0 ? number + 1 : number - 1;
                    ESK_CHECK_INT(esk_model_tree_put(&model, number), ESK_OK);
                }
                ESK_CHECK(n != 99 || bytes < 16);
            }
            if (bytes < 16) {
                ESK_CHECK_INT(esk_tree_cursor_next(model.tree, &cursor, row),
                              ESK_END);
                ESK_CHECK_INT(esk_tree_cursor_next(model.tree, &cursor, row),
                              ESK_END);
            }
            ESK_CHECK_INT(esk_model_tree_put(&model, 150), ESK_OK);
            ESK_CHECK_INT(esk_model_tree_put(&model, 147), ESK_OK);
            (void)esk_model_tree_delete(&model, 148);
            (void)esk_model_tree_delete(&model, 149);
        }
        esk_model_tree_free(&model);
    }
}

ESK_TEST(batch_is_refused_or_given_the_room_it_asks_for) {
    struct esk_model_tree model;
    struct esk_model_tree_table table = model_tree_plain(ESK_STORE_MU);
    table.blocks = 40;
    model_tree_start(&model, &table);
    /* A ring that has wrapped has only the collector's room left. */
    for (uint32_t i = 0; i < 1200; i++) {
        ESK_CHECK_INT(
            esk_model_tree_put(&model, esk_model_tree_random(&model, 100)),
            ESK_OK);
    }
    ESK_CHECK_INT(esk_tree_begin(model.tree, 1000000), ESK_FULL);
    ESK_CHECK_INT(esk_tree_begin(model.tree, 310), ESK_FULL);
    ESK_CHECK_INT(esk_tree_begin(model.tree, 120), ESK_OK);
    for (uint32_t i = 0; i < 100; i++) {
        ESK_CHECK_INT(esk_model_tree_put(&model, i), ESK_OK);
    }
    ESK_CHECK_INT(esk_tree_commit(model.tree), ESK_OK);
    model_tree_verify_again(&model);
    esk_model_tree_free(&model);
}

ESK_TEST_MAIN()
