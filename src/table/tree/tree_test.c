// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What trees refuse, what calls cost, and what happens when reads fail.
#include <math.h>

#include "test/harness/bush.h"
#include "test/harness/esk_test.h"
#include "test/harness/failing_device.h"
#include "test/harness/media.h"

static const struct esk_geometry nand = ESK_NAND(160, 8, 512);

static const struct esk_geometry sd = ESK_CARD(160, 8, 512);

static void bush_make(struct esk_bush *bush,
                      const struct esk_bush_table *table) {
    bool overwrites = table->store <= ESK_STORE_JOURNALED;
    ESK_CHECK_INT(esk_bush_make(bush, table, overwrites ? &sd : &nand, 1),
                  ESK_OK);
}

static struct esk_bush_table plain(uint8_t store) {
    struct esk_bush_table table = {.store = store,
                                   .key_type = ESK_TYPE_U32,
                                   .pad_bytes = 24,
                                   .key_range = 300};
    return table;
}

/// Puts a device that can fail in front of the bush's.
static void device_wrap(struct esk_bush *bush) {
    static struct esk_device front;
    failing_device_make(&front, bush->device);
    bush->device = &front;
    ESK_CHECK(esk_bush_remount(bush));
}

static void rows_put(struct esk_bush *bush, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = esk_bush_random(bush, bush->range);
        ESK_CHECK_INT(esk_bush_put(bush, number), ESK_OK);
    }
}

ESK_TEST(tree_create_refuses_what_a_tree_cannot_be) {
    struct esk_bush bush;
    struct esk_bush_table table = plain(ESK_STORE_MU);
    struct esk_fault fault = {0, 0};
    bush_make(&bush, &table);
    struct esk_column columns[] = {
        {.name = "k", .type = ESK_TYPE_F32},
        {.name = "v", .type = ESK_TYPE_BYTES, .bytes = 16},
        {.name = "x", .type = ESK_TYPE_VAR},
    };
    struct esk_index_spec index = {.column = 1};
    struct esk_table_spec spec = {.name = "t",
                                  .columns = columns,
                                  .column_count = 2,
                                  .store = ESK_STORE_MU};
    struct esk_table_spec bad = spec;
    bad.column_count = 3;
    ESK_CHECK_INT(esk_tree_create(&bush.volume, &bad, &fault, bush.page),
                  ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_COLUMN_TYPE);
    ESK_CHECK_INT(fault.column, 2);
    bad.key_column = 2;
    ESK_CHECK_INT(esk_tree_create(&bush.volume, &bad, &fault, bush.page),
                  ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_KEY_TYPE);
    bad = spec;
    bad.indexes = &index;
    bad.index_count = 1;
    ESK_CHECK_INT(esk_tree_create(&bush.volume, &bad, &fault, bush.page),
                  ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_INDEX_COLUMN);
    static const uint8_t stores[][2] = {
        {0, 0}, {ESK_STORE_MU + 1, 0}, {ESK_STORE_MU, 9}, {ESK_STORE_MU, 91}};
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++) {
        bad = spec;
        bad.store = stores[i][0];
        bad.k_percent = stores[i][1];
        ESK_CHECK_INT(esk_tree_create(&bush.volume, &bad, &fault, bush.page),
                      ESK_E_SCHEMA);
        ESK_CHECK_INT(fault.kind, ESK_FAULT_STORE);
    }
    columns[1].bytes = 250;
    ESK_CHECK_INT(esk_tree_create(&bush.volume, &spec, NULL, bush.page),
                  ESK_E_SCHEMA);
    ESK_CHECK_INT(esk_tree_create(&bush.volume, &spec, &fault, bush.page),
                  ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_ROW_TOO_WIDE);
    columns[1].bytes = 16;
    spec.store = ESK_STORE_INPLACE;
    ESK_CHECK_INT(esk_tree_create(&bush.volume, &spec, &fault, bush.page),
                  ESK_E_UNSUPPORTED);
    spec.store = ESK_STORE_MU;
    spec.name = "bush";
    ESK_CHECK_INT(esk_tree_create(&bush.volume, &spec, &fault, bush.page),
                  ESK_E_EXISTS);
    esk_bush_free(&bush);
}

ESK_TEST(tree_open_refuses_the_wrong_table_store_and_arena) {
    struct esk_bush bush;
    struct esk_bush_table table = plain(ESK_STORE_MU);
    struct esk_tree *tree = NULL;
    table.blocks = 30;
    bush_make(&bush, &table);
    ESK_CHECK_INT(esk_tree_row_bytes(bush.tree), 32);
    esk_tree_close(bush.tree);
    struct esk_tree_config config = {.store = &esk_store_mu};
    uint32_t bytes = bush.arena_bytes;
    ESK_CHECK_INT(
        esk_tree_open(&tree, &bush.volume, "bush", &config, bush.arena, 511),
        ESK_E_NO_MEMORY);
    ESK_CHECK_INT(esk_tree_open(&tree, &bush.volume, "bush", &config,
                                bush.arena, bytes - 1),
                  ESK_E_NO_MEMORY);
    ESK_CHECK_INT(
        esk_tree_open(&tree, &bush.volume, "none", &config, bush.arena, bytes),
        ESK_NOT_FOUND);
    config.store = &esk_store_wandering;
    ESK_CHECK_INT(
        esk_tree_open(&tree, &bush.volume, "bush", &config, bush.arena, bytes),
        ESK_E_UNSUPPORTED);
    config.store = NULL;
    ESK_CHECK_INT(
        esk_tree_open(&tree, &bush.volume, "bush", &config, bush.arena, bytes),
        ESK_E_UNSUPPORTED);
    struct esk_column column = {.name = "k", .type = ESK_TYPE_U32};
    struct esk_table_spec series = {
        .name = "log", .columns = &column, .column_count = 1};
    ESK_CHECK_INT(esk_volume_create(&bush.volume, ESK_TABLE_SERIES, &series,
                                    NULL, bush.page),
                  ESK_OK);
    config.store = &esk_store_mu;
    ESK_CHECK_INT(
        esk_tree_open(&tree, &bush.volume, "log", &config, bush.arena, bytes),
        ESK_E_UNSUPPORTED);
    config.erase_ahead = 200;
    config.policy = ESK_TREE_LRU_N;
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&bush.volume, "bush", &info, bush.page),
                  ESK_OK);
    uint32_t more =
        esk_tree_arena_bytes(&bush.volume, &info, &config, bush.page);
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
        info.group_pages = wrong[i].k_percent;
        ESK_CONTEXT("catalog %zu", i);
        ESK_CHECK_INT(
            esk_tree_arena_bytes(&bush.volume, &info, &config, bush.page), 0);
    }
    esk_bush_free(&bush);
}

ESK_TEST(tree_refuses_a_nan_and_calls_out_of_turn) {
    struct esk_bush bush;
    struct esk_bush_table table = plain(ESK_STORE_WANDERING);
    uint8_t row[ESK_BUSH_ROW_BYTES_MAX] = {0};
    float nan = NAN;
    table.key_type = ESK_TYPE_F32;
    bush_make(&bush, &table);
    rows_put(&bush, 40);
    memcpy(row + 4, &nan, sizeof nan);
    ESK_CHECK_INT(esk_tree_put(bush.tree, row), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_delete(bush.tree, &nan), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_get(bush.tree, &nan, row), ESK_NOT_FOUND);
    uint8_t rows[3][ESK_BUSH_ROW_BYTES_MAX / 64];
    uint32_t done = 0;
    esk_bush_row(&bush, 7, 90, rows[0]);
    memcpy(row, rows[0], bush.row_bytes);
    esk_bush_row(&bush, 8, 90, row + bush.row_bytes);
    memcpy(row + bush.row_bytes + 4, &nan, sizeof nan);
    ESK_CHECK_INT(esk_tree_put_many(bush.tree, row, 2, &done), ESK_E_INVALID);
    ESK_CHECK_INT(done, 1);
    ESK_CHECK_INT(esk_tree_commit(bush.tree), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_abort(bush.tree), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_begin(bush.tree, 0), ESK_OK);
    ESK_CHECK_INT(esk_tree_begin(bush.tree, 0), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_commit(bush.tree), ESK_OK);
    ESK_CHECK_INT(esk_tree_put_many(bush.tree, row, 0, NULL), ESK_OK);
    esk_bush_free(&bush);
}

ESK_TEST(tree_on_a_read_only_volume_reads_and_refuses_changes) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_MU; store++) {
        struct esk_bush bush;
        struct esk_bush_table table = plain(store);
        uint8_t row[ESK_BUSH_ROW_BYTES_MAX];
        bush_make(&bush, &table);
        rows_put(&bush, 200);
        esk_tree_close(bush.tree);
        uint64_t ops = esk_sim_op_count(bush.sim);
        ESK_CHECK_INT(
            esk_volume_mount(&bush.volume, bush.device,
                             ESK_MOUNT_READ_ONLY | ESK_MOUNT_TRUST_LOADS,
                             bush.page),
            ESK_OK);
        ESK_CHECK_INT(esk_bush_open(&bush), ESK_OK);
        esk_bush_row(&bush, 3, 9, row);
        ESK_CHECK_INT(esk_tree_put(bush.tree, row), ESK_E_READ_ONLY);
        ESK_CHECK_INT(esk_tree_delete(bush.tree, row + 4), ESK_E_READ_ONLY);
        ESK_CHECK_INT(esk_tree_begin(bush.tree, 0), store <= ESK_STORE_JOURNALED
                                                        ? ESK_E_UNSUPPORTED
                                                        : ESK_E_READ_ONLY);
        ESK_CHECK_INT(esk_tree_sync(bush.tree), ESK_OK);
        ESK_CHECK_HELD(esk_bush_verify(&bush), bush.why);
        ESK_CHECK_INT(esk_sim_op_count(bush.sim), ops);
        esk_bush_free(&bush);
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
        struct esk_bush bush;
        struct esk_bush_table table = plain(costs[i].store);
        bush_make(&bush, &table);
        for (uint32_t n = 0; n < 250; n++) {
            struct esk_tree_stats before;
            struct esk_tree_stats after;
            esk_tree_stats(bush.tree, &before);
            rows_put(&bush, 1);
            esk_tree_stats(bush.tree, &after);
            uint32_t programs = after.page_programs - before.page_programs;
            uint32_t grown = (uint32_t)(after.height - before.height);
            uint32_t splits = after.splits - before.splits;
            ESK_CONTEXT("store %u, put %u", costs[i].store, n);
            ESK_CHECK(after.pages_moved == 0);
            ESK_CHECK(programs <=
                      costs[i].once +
                          (uint32_t)(costs[i].per_level * after.height) +
                          costs[i].a_split * splits + grown);
            ESK_CHECK(programs >= costs[i].once);
        }
        esk_bush_free(&bush);
    }
}

ESK_TEST(tree_get_reads_a_node_a_level_and_keeps_the_root) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_MU; store++) {
        struct esk_bush bush;
        struct esk_bush_table table = plain(store);
        struct esk_tree_stats before;
        struct esk_tree_stats after;
        uint8_t row[ESK_BUSH_ROW_BYTES_MAX];
        uint8_t key[8];
        bush_make(&bush, &table);
        rows_put(&bush, 400);
        esk_bush_key(&bush, 1, key);
        (void)esk_tree_get(bush.tree, key, row);
        for (uint32_t i = 0; i < 100; i++) {
            esk_bush_key(&bush, esk_bush_random(&bush, 300), key);
            esk_tree_stats(bush.tree, &before);
            (void)esk_tree_get(bush.tree, key, row);
            esk_tree_stats(bush.tree, &after);
            ESK_CHECK(after.height >= 2);
            ESK_CHECK(after.page_reads - before.page_reads < after.height);
        }
        esk_bush_free(&bush);
    }
}

ESK_TEST(tree_fills_leaves_to_the_brim_where_keys_rise) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_MU; store++) {
        struct esk_bush bush;
        struct esk_bush_table table = plain(store);
        struct esk_tree_report report;
        uint8_t rows[300 * 32];
        uint32_t done = 0;
        for (uint32_t many = 1; many <= 300; many += 299) {
            ESK_CONTEXT("store %u, %u rows a call", store, many);
            bush_make(&bush, &table);
            for (uint32_t n = 0; n < 300; n++) {
                esk_bush_row(&bush, n, 1, rows + n * bush.row_bytes);
                bush.model.version[n] = 1;
            }
            bush.model.rows = 300;
            for (uint32_t n = 0; n < 300; n += many) {
                ESK_CHECK_INT(esk_tree_put_many(bush.tree,
                                                rows + n * bush.row_bytes, many,
                                                &done),
                              ESK_OK);
                ESK_CHECK_INT(done, many);
            }
            ESK_CHECK_INT(esk_tree_check(bush.tree, &report), ESK_OK);
            uint32_t fill = store == ESK_STORE_MU ? 7 : 15;
            ESK_CHECK(report.leaves <= (300 + fill - 1) / fill + 1);
            struct esk_tree_stats stats;
            esk_tree_stats(bush.tree, &stats);
            uint32_t a_leaf = store == ESK_STORE_JOURNALED   ? 6
                              : store == ESK_STORE_WANDERING ? stats.height + 1u
                                                             : 3;
            ESK_CHECK(many == 1 ||
                      stats.page_programs <= report.leaves * a_leaf);
            ESK_CHECK_HELD(esk_bush_verify(&bush), bush.why);
            esk_bush_free(&bush);
        }
    }
}

ESK_TEST(cursor_goes_on_after_changes_or_says_that_it_is_stale) {
    for (uint16_t bytes = 3; bytes <= 20; bytes = (uint16_t)(bytes + 17)) {
        struct esk_bush bush;
        struct esk_bush_table table = plain(ESK_STORE_WANDERING);
        struct esk_tree_cursor cursor;
        uint8_t row[ESK_BUSH_ROW_BYTES_MAX];
        uint8_t expected[ESK_BUSH_ROW_BYTES_MAX];
        table.key_type = ESK_TYPE_BYTES;
        table.key_bytes = bytes;
        table.pad_bytes = 8;
        bush_make(&bush, &table);
        for (uint32_t n = 0; n < 300; n += 3) {
            ESK_CHECK_INT(esk_bush_put(&bush, n), ESK_OK);
        }
        for (uint32_t backward = 0; backward < 2; backward++) {
            struct esk_tree_query query = {.backward = backward != 0};
            esk_tree_cursor_open(bush.tree, &cursor, &query);
            for (uint32_t n = 0; n < 100; n++) {
                uint32_t number = backward != 0 ? 297 - 3 * n : 3 * n;
                int status = esk_tree_cursor_next(bush.tree, &cursor, row);
                if (n == 51 && bytes > ESK_TREE_CURSOR_KEY_BYTES) {
                    ESK_CHECK_INT(status, ESK_E_STALE);
                    break;
                }
                ESK_CHECK_INT(status, ESK_OK);
                esk_bush_row(&bush, number, bush.model.version[number],
                             expected);
                ESK_CHECK_BYTES(row, expected, bush.row_bytes);
                if (n == 50) {
                    /* The row it is at goes, and one behind it comes. */
                    ESK_CHECK_INT(esk_bush_delete(&bush, number), ESK_OK);
                    number = backward != 0 ? number + 1 : number - 1;
                    ESK_CHECK_INT(esk_bush_put(&bush, number), ESK_OK);
                }
                ESK_CHECK(n != 99 || bytes < 16);
            }
            if (bytes < 16) {
                ESK_CHECK_INT(esk_tree_cursor_next(bush.tree, &cursor, row),
                              ESK_END);
                ESK_CHECK_INT(esk_tree_cursor_next(bush.tree, &cursor, row),
                              ESK_END);
            }
            ESK_CHECK_INT(esk_bush_put(&bush, 150), ESK_OK);
            ESK_CHECK_INT(esk_bush_put(&bush, 147), ESK_OK);
            (void)esk_bush_delete(&bush, 148);
            (void)esk_bush_delete(&bush, 149);
        }
        esk_bush_free(&bush);
    }
}

/// Every read fails once, at every place in a call.
ESK_TEST(tree_call_whose_read_fails_says_so_and_changes_nothing) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_MU; store++) {
        for (uint8_t frames = 2; frames <= 5; frames = (uint8_t)(frames + 3)) {
            struct esk_bush bush;
            struct esk_bush_table table = plain(store);
            uint32_t failed = 0;
            table.frames = frames;
            table.blocks = store <= ESK_STORE_JOURNALED ? 0 : 26;
            table.no_batches = true;
            bush_make(&bush, &table);
            device_wrap(&bush);
            rows_put(&bush, 300);
            for (uint32_t i = 0; i < 1500; i++) {
                uint32_t number = esk_bush_random(&bush, bush.range);
                uint32_t kind = esk_bush_random(&bush, 8);
                uint8_t key[8];
                uint8_t row[ESK_BUSH_ROW_BYTES_MAX];
                uint32_t count = 0;
                struct esk_tree_report report;
                esk_bush_key(&bush, number, key);
                read_fails = 1 + esk_bush_random(&bush, 12);
                int status = kind < 2   ? esk_bush_put(&bush, number)
                             : kind < 4 ? esk_bush_delete(&bush, number)
                             : kind < 5 ? esk_tree_floor(bush.tree, key, row)
                             : kind < 6 ? esk_tree_ceiling(bush.tree, key, row)
                             : kind < 7 ? esk_tree_count(bush.tree, &count)
                                        : esk_tree_check(bush.tree, &report);
                bool fell = read_fails == 0;
                read_fails = 0;
                ESK_CONTEXT("store %u, frames %u, call %u of kind %u", store,
                            frames, i, kind);
                ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND ||
                          status == ESK_FULL || (fell && status == ESK_E_IO));
                failed += status == ESK_E_IO ? 1 : 0;
                if (i % 40 == 0) {
                    ESK_CHECK_HELD(esk_bush_verify(&bush), bush.why);
                }
            }
            ESK_CHECK(failed > 50);
            for (uint32_t i = 1; i < 60; i++) {
                esk_tree_close(bush.tree);
                read_fails = i;
                int status = esk_bush_open(&bush);
                read_fails = 0;
                ESK_CHECK(status == ESK_OK || status == ESK_E_IO);
                ESK_CHECK_INT(esk_bush_open(&bush), ESK_OK);
            }
            ESK_CHECK_HELD(esk_bush_verify(&bush), bush.why);
            esk_bush_free(&bush);
        }
    }
}

ESK_TEST(collector_keeps_its_block_while_a_sync_fails) {
    struct esk_bush bush;
    struct esk_bush_table table = plain(ESK_STORE_MU);
    uint32_t refused = 0;
    table.blocks = 12;
    bush_make(&bush, &table);
    device_wrap(&bush);
    sync_fails = true;
    ESK_CHECK_INT(esk_tree_sync(bush.tree), ESK_E_IO);
    for (uint32_t i = 0; i < 200; i++) {
        int status = esk_bush_put(&bush, esk_bush_random(&bush, 20));
        ESK_CHECK(status == ESK_OK || status == ESK_E_IO);
        refused += status == ESK_E_IO ? 1 : 0;
    }
    ESK_CHECK(refused > 0);
    sync_fails = false;
    rows_put(&bush, 10);
    ESK_CHECK_HELD(esk_bush_verify(&bush) && esk_bush_remount(&bush) &&
                       esk_bush_verify(&bush),
                   bush.why);
    esk_bush_free(&bush);
}

/// Bytes that a checksum would have caught: no call may crash or hang.
ESK_TEST(tree_survives_hostile_pages) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_MU; store++) {
        struct esk_bush bush;
        struct esk_sim *whole = NULL;
        struct esk_table_info info;
        struct esk_bush_table table = plain(store);
        table.checksum = ESK_CHECKSUM_NONE;
        table.blocks = 24;
        table.policy = ESK_TREE_LRU_N;
        table.frames = 4;
        bush_make(&bush, &table);
        rows_put(&bush, 150);
        ESK_CHECK_INT(esk_sim_clone(&whole, bush.sim), ESK_OK);
        ESK_CHECK_INT(esk_volume_find(&bush.volume, "bush", &info, bush.page),
                      ESK_OK);
        for (uint32_t i = 0; i < 1500; i++) {
            struct esk_tree_report report;
            uint32_t changes = 1 + esk_bush_random(&bush, 4);
            ESK_CONTEXT("store %u, image %u", store, i);
            esk_sim_restore(bush.sim, whole);
            esk_tree_close(bush.tree);
            for (uint32_t n = 0; n < changes; n++) {
                uint32_t page = info.block[0] * 8 +
                                esk_bush_random(&bush, info.blocks[0] * 8);
                uint16_t at = (uint16_t)(4 + esk_bush_random(&bush, 64));
                uint8_t bytes[4];
                for (size_t b = 0; b < sizeof bytes; b++) {
                    uint32_t value = esk_bush_random(&bush, 3);
                    bytes[b] =
                        (uint8_t)(value == 0   ? 0xFF
                                  : value == 1 ? 0
                                               : esk_bush_random(&bush, 256));
                }
                esk_sim_poke(bush.sim, page, at, bytes,
                             (uint16_t)(1 + esk_bush_random(&bush, 4)));
            }
            if (esk_bush_open(&bush) != ESK_OK) {
                esk_sim_restore(bush.sim, whole);
                ESK_CHECK_INT(esk_bush_open(&bush), ESK_OK);
                continue;
            }
            for (uint32_t n = 0; n < 30; n++) {
                (void)esk_bush_call(&bush);
                if (bush.in_batch) {
                    (void)esk_tree_abort(bush.tree);
                    bush.in_batch = false;
                }
            }
            (void)esk_bush_verify(&bush);
            (void)esk_tree_check(bush.tree, &report);
            esk_tree_close(bush.tree);
            if (esk_bush_open(&bush) != ESK_OK) {
                esk_sim_restore(bush.sim, whole);
                ESK_CHECK_INT(esk_bush_open(&bush), ESK_OK);
            }
        }
        esk_sim_destroy(whole);
        esk_bush_free(&bush);
    }
}

ESK_TEST(batch_that_a_cut_takes_leaves_an_empty_table_empty) {
    for (uint8_t store = ESK_STORE_WANDERING; store <= ESK_STORE_MU; store++) {
        struct esk_bush bush;
        struct esk_bush_table table = plain(store);
        bush_make(&bush, &table);
        ESK_CHECK_INT(esk_tree_begin(bush.tree, 0), ESK_OK);
        bush.before = bush.model;
        bush.in_batch = true;
        rows_put(&bush, 60);
        ESK_CHECK_HELD(esk_bush_verify(&bush) && esk_bush_remount(&bush) &&
                           esk_bush_verify(&bush),
                       bush.why);
        ESK_CHECK_INT(bush.model.rows, 0);
        rows_put(&bush, 60);
        ESK_CHECK_HELD(esk_bush_verify(&bush), bush.why);
        esk_bush_free(&bush);
    }
}

/// The driver fails at every program of every put, and comes back.
ESK_TEST(tree_put_whose_program_fails_can_be_called_again) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_MU; store++) {
        struct esk_bush bush;
        struct esk_bush_table table = plain(store);
        uint32_t failed = 0;
        bush_make(&bush, &table);
        for (uint32_t n = 0; n < 160; n++) {
            uint32_t number = esk_bush_random(&bush, bush.range);
            int status = ESK_E_IO;
            ESK_CONTEXT("store %u, put %u", store, n);
            for (uint32_t at = 0; status != ESK_OK; at++) {
                esk_sim_cut_at(bush.sim, esk_sim_op_count(bush.sim) + at,
                               ESK_SIM_CUT_BEFORE);
                status = esk_bush_put(&bush, number);
                ESK_CHECK(status == ESK_OK || status == ESK_E_IO);
                failed += status == ESK_OK ? 0 : 1;
                esk_sim_power_on(bush.sim);
                esk_sim_cut_at(bush.sim, 0, ESK_SIM_CUT_NONE);
            }
            if (n % 20 == 0) {
                ESK_CHECK_HELD(esk_bush_verify(&bush), bush.why);
            }
        }
        ESK_CHECK(failed >= 160);
        ESK_CHECK_HELD(esk_bush_remount(&bush) && esk_bush_verify(&bush),
                       bush.why);
        esk_bush_free(&bush);
    }
}

ESK_TEST(inplace_split_that_a_cut_left_is_completed_but_not_read_only) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        struct esk_bush bush;
        struct esk_bush_table table = plain(store);
        uint32_t refused = 0;
        bush_make(&bush, &table);
        rows_put(&bush, 60);
        for (uint32_t n = 0; n < 60; n++) {
            uint32_t number = esk_bush_random(&bush, bush.range);
            uint32_t writes = store == ESK_STORE_JOURNALED ? 4 : 2;
            uint32_t rows = bush.model.rows;
            ESK_CONTEXT("store %u, put %u", store, n);
            esk_sim_cut_at(bush.sim, esk_sim_op_count(bush.sim) + writes,
                           ESK_SIM_CUT_BEFORE);
            bool split = esk_bush_put(&bush, number) != ESK_OK;
            esk_sim_power_on(bush.sim);
            esk_sim_cut_at(bush.sim, 0, ESK_SIM_CUT_NONE);
            if (!split) {
                continue;
            }
            esk_tree_close(bush.tree);
            ESK_CHECK_INT(esk_volume_mount(&bush.volume, bush.device,
                                           ESK_MOUNT_READ_ONLY, bush.page),
                          ESK_OK);
            int status = esk_bush_open(&bush);
            refused += status == ESK_E_READ_ONLY ? 1 : 0;
            ESK_CHECK(status == ESK_OK || status == ESK_E_READ_ONLY);
            ESK_CHECK_INT(
                esk_volume_mount(&bush.volume, bush.device, 0, bush.page),
                ESK_OK);
            ESK_CHECK_INT(esk_bush_open(&bush), ESK_OK);
            uint32_t count = 0;
            ESK_CHECK_INT(esk_tree_count(bush.tree, &count), ESK_OK);
            /* The leaf was split with the row in it, or not at all. */
            ESK_CHECK(count == rows || count == rows + 1);
            bush.model.version[number] = count > rows ? bush.version : 0;
            bush.model.rows = count;
            ESK_CHECK_HELD(esk_bush_verify(&bush), bush.why);
        }
        ESK_CHECK(refused > 1);
        esk_bush_free(&bush);
    }
}

/// The region page with the largest sequence number.
static uint32_t newest_page(struct esk_bush *bush,
                            const struct esk_table_info *info) {
    uint32_t pages = bush->device->geometry.block_pages;
    uint32_t newest = 0;
    uint32_t found = 0;
    for (uint32_t at = 0; at < info->blocks[0] * pages; at++) {
        uint32_t page = info->block[0] * pages + at;
        esk_sim_peek(bush->sim, page, bush->page);
        uint32_t sequence =
            (uint32_t)bush->page[8] | (uint32_t)bush->page[9] << 8 |
            (uint32_t)bush->page[10] << 16 | (uint32_t)bush->page[11] << 24;
        if (sequence != UINT32_MAX && sequence >= newest) {
            newest = sequence;
            found = page;
        }
    }
    return found;
}

ESK_TEST(root_that_names_itself_as_its_only_child_is_corrupt) {
    static const uint8_t self[4] = {0xFF, 0xFF, 0xFF, 0xFF};
    struct esk_bush bush;
    struct esk_table_info info;
    struct esk_tree_stats stats;
    struct esk_bush_table table = plain(ESK_STORE_WANDERING);
    table.checksum = ESK_CHECKSUM_NONE;
    bush_make(&bush, &table);
    uint32_t number = 0;
    do {
        ESK_CHECK_INT(esk_bush_put(&bush, number), ESK_OK);
        number++;
        esk_tree_stats(bush.tree, &stats);
    } while (stats.height < 2);
    ESK_CHECK_INT(esk_volume_find(&bush.volume, "bush", &info, bush.page),
                  ESK_OK);
    esk_tree_close(bush.tree);
    esk_sim_poke(bush.sim, newest_page(&bush, &info), 28 + 2 + 4, self, 4);
    ESK_CHECK_INT(esk_bush_open(&bush), ESK_OK);
    ESK_CHECK_INT(esk_bush_delete(&bush, number - 1), ESK_E_CORRUPT);
    esk_bush_free(&bush);
}

ESK_TEST(batch_is_refused_or_given_the_room_it_asks_for) {
    struct esk_bush bush;
    struct esk_bush_table table = plain(ESK_STORE_MU);
    table.blocks = 40;
    bush_make(&bush, &table);
    /* A ring that went round has only the collector's room left. */
    for (uint32_t i = 0; i < 1200; i++) {
        ESK_CHECK_INT(esk_bush_put(&bush, esk_bush_random(&bush, 100)), ESK_OK);
    }
    ESK_CHECK_INT(esk_tree_begin(bush.tree, 1000000), ESK_FULL);
    ESK_CHECK_INT(esk_tree_begin(bush.tree, 310), ESK_FULL);
    ESK_CHECK_INT(esk_tree_begin(bush.tree, 120), ESK_OK);
    for (uint32_t i = 0; i < 100; i++) {
        ESK_CHECK_INT(esk_bush_put(&bush, i), ESK_OK);
    }
    ESK_CHECK_INT(esk_tree_commit(bush.tree), ESK_OK);
    ESK_CHECK_HELD(esk_bush_verify(&bush) && esk_bush_remount(&bush) &&
                       esk_bush_verify(&bush),
                   bush.why);
    esk_bush_free(&bush);
}

/// Forges a byte of every page of the table and opens it again.
static int byte_forged(struct esk_bush *bush, uint16_t at, uint8_t value) {
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&bush->volume, "bush", &info, bush->page),
                  ESK_OK);
    uint32_t pages = bush->device->geometry.block_pages;
    esk_tree_close(bush->tree);
    for (uint32_t i = 0; i < info.blocks[0] * pages; i++) {
        uint32_t page = info.block[0] * pages + i;
        esk_sim_peek(bush->sim, page, bush->page);
        if (bush->page[6] != 0xFF && bush->page[6] != 0) {
            esk_sim_poke(bush->sim, page, at, &value, 1);
        }
    }
    return esk_bush_open(bush);
}

ESK_TEST(tree_refuses_heights_levels_and_homes_that_cannot_be) {
    struct esk_bush bush;
    struct esk_bush_table table = plain(ESK_STORE_MU);
    uint8_t row[ESK_BUSH_ROW_BYTES_MAX];
    uint8_t key[8];
    table.checksum = ESK_CHECKSUM_NONE;
    bush_make(&bush, &table);
    rows_put(&bush, 100);
    ESK_CHECK_INT(byte_forged(&bush, 18, 0), ESK_E_CORRUPT); /* height */
    esk_bush_free(&bush);
    table.store = ESK_STORE_INPLACE;
    bush_make(&bush, &table);
    rows_put(&bush, 100);
    /* Every node says that it is a leaf, or one of level 2. */
    ESK_CHECK_INT(byte_forged(&bush, 6, 0x62), ESK_OK);
    esk_bush_key(&bush, 3, key);
    ESK_CHECK_INT(esk_tree_get(bush.tree, key, row), ESK_E_CORRUPT);
    esk_bush_free(&bush);
    table.store = ESK_STORE_JOURNALED;
    bush_make(&bush, &table);
    rows_put(&bush, 100);
    /* The page in the journal says that it is at home there, or outside:
       then it is nobody's. */
    struct esk_table_info info;
    uint8_t home[4] = {0};
    ESK_CHECK_INT(esk_volume_find(&bush.volume, "bush", &info, bush.page),
                  ESK_OK);
    for (uint8_t value = 0; value < 2; value++) {
        memset(home, value == 0 ? 0 : 0x7F, sizeof home);
        esk_tree_close(bush.tree);
        esk_sim_poke(bush.sim, info.block[0] * 8, 8, home, 4);
        ESK_CHECK_INT(esk_bush_open(&bush), ESK_OK);
        ESK_CHECK_HELD(esk_bush_verify(&bush), bush.why);
    }
    esk_bush_free(&bush);
}

ESK_TEST_MAIN()
