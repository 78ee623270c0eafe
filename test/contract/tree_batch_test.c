// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Batches of trees in place: all or nothing, whatever fails.
#include "test/harness/bush_rig.h"

static const struct esk_geometry card = ESK_CARD(120, 8, 256);

/// Runs with and without merging, torn writes and whole ones.
enum { RUNS = 4 };

static struct esk_bush_table batched(uint8_t run) {
    struct esk_bush_table table = {.store = run / 2 == 0 ? ESK_STORE_INPLACE
                                                         : ESK_STORE_JOURNALED,
                                   .key_type = ESK_TYPE_U32,
                                   .pad_bytes = 30,
                                   .key_range = 600,
                                   .merges = run % 2 == 1,
                                   .batch_pages = 40};
    return table;
}

static void bush_make(struct esk_bush *bush,
                      const struct esk_bush_table *table) {
    ESK_CONTEXT("store %u, merges %u", table->store, table->merges);
    ESK_CHECK_INT(esk_bush_make(bush, table, &card, 3), ESK_OK);
}

static void batch_begin(struct esk_bush *bush) {
    ESK_CHECK_INT(esk_tree_begin(bush->tree, 0), ESK_OK);
    bush->before = bush->model;
    bush->in_batch = true;
}

static void batch_undone(struct esk_bush *bush) {
    bush->model = bush->before;
    bush->in_batch = false;
}

ESK_TEST(tree_in_place_with_batches_is_a_sorted_array) {
    for (uint8_t run = 0; run < RUNS; run++) {
        struct esk_bush bush;
        struct esk_bush_table table = batched(run);
        bush_make(&bush, &table);
        for (uint32_t i = 0; i < 12000; i++) {
            ESK_CHECK_HELD(esk_bush_call(&bush), bush.why);
        }
        bush_verify(&bush);
        ESK_CHECK_INT(esk_sim_violations(bush.sim), 0);
        esk_bush_free(&bush);
    }
}

ESK_TEST(batch_in_place_takes_effect_whole_or_not_at_all) {
    for (uint8_t run = 0; run < RUNS; run++) {
        struct esk_bush bush;
        struct esk_bush_table table = batched(run);
        struct esk_tree_report report;
        bush_make(&bush, &table);
        for (uint8_t end = 0; end < 12; end++) {
            bush_puts(&bush, 40);
            batch_begin(&bush);
            bush_puts(&bush, 8);
            bush_verify(&bush);
            if (end % 3 == 0) {
                ESK_CHECK_INT(esk_tree_commit(bush.tree), ESK_OK);
                bush.in_batch = false;
            } else if (end % 3 == 1) {
                ESK_CHECK_INT(esk_tree_abort(bush.tree), ESK_OK);
                batch_undone(&bush);
            }
            /* Else the remount takes it back. */
            bush_verify(&bush);
            ESK_CHECK(esk_bush_remount(&bush));
            bush_verify(&bush);
            ESK_CHECK_INT(esk_tree_check(bush.tree, &report), ESK_OK);
            ESK_CHECK_INT(report.pages_lost, 0);
        }
        esk_bush_free(&bush);
    }
}

ESK_TEST(batch_in_place_programs_a_page_twice_however_often_it_changes) {
    struct esk_bush bush;
    struct esk_bush_table table = batched(0);
    struct esk_tree_stats before;
    struct esk_tree_stats after;
    bush_make(&bush, &table);
    bush_puts(&bush, 300);
    batch_begin(&bush);
    for (uint32_t i = 0; i < 50; i++) {
        uint32_t number = i % 2;
        ESK_CHECK_INT(esk_bush_put(&bush, number), ESK_OK);
    }
    esk_tree_stats(bush.tree, &before);
    ESK_CHECK_INT(esk_tree_commit(bush.tree), ESK_OK);
    bush.in_batch = false;
    esk_tree_stats(bush.tree, &after);
    /* Two records; the leaf, and its parent if it was split. */
    ESK_CHECK(after.page_programs - before.page_programs <= 4);
    bush_verify(&bush);
    esk_bush_free(&bush);
}

ESK_TEST(batch_in_place_without_room_is_refused_and_can_be_ended) {
    for (uint8_t run = 0; run < RUNS; run++) {
        struct esk_bush bush;
        struct esk_bush_table table = batched(run);
        bush_make(&bush, &table);
        ESK_CHECK_INT(esk_tree_begin(bush.tree, 41), ESK_FULL);
        bush_puts(&bush, 500);
        for (uint8_t commits = 0; commits < 2; commits++) {
            batch_begin(&bush);
            int status = ESK_OK;
            for (uint32_t i = 0; i < 600 && status == ESK_OK; i++) {
                status = esk_bush_put(&bush, i * 7 % 600);
            }
            ESK_CHECK_INT(status, ESK_FULL);
            bush_verify(&bush);
            if (commits == 1) {
                ESK_CHECK_INT(esk_tree_commit(bush.tree), ESK_OK);
                bush.in_batch = false;
            } else {
                ESK_CHECK_INT(esk_tree_abort(bush.tree), ESK_OK);
                batch_undone(&bush);
            }
            bush_verify(&bush);
        }
        esk_bush_free(&bush);
    }
}

ESK_TEST(batch_on_a_full_region_is_refused) {
    struct esk_bush bush;
    struct esk_bush_table table = batched(0);
    table.blocks = 8;
    bush_make(&bush, &table);
    bush_fill(&bush);
    ESK_CHECK_INT(esk_tree_begin(bush.tree, 0), ESK_FULL);
    bush_verify(&bush);
    esk_bush_free(&bush);
}

ESK_TEST(batch_where_writes_fail_is_committed_or_still_open) {
    for (uint8_t run = 2; run < RUNS; run++) {
        struct esk_bush bush;
        struct esk_bush_table table = batched(run);
        uint32_t failed = 0;
        bush_make(&bush, &table);
        bush_puts(&bush, 300);
        for (uint32_t i = 0; i < 400; i++) {
            /* The record, a copy, or the record's end. */
            struct esk_sim_failures failures = {
                .program = {.per_million = 120000}};
            batch_begin(&bush);
            bush_puts(&bush, 1 + i % 5);
            esk_sim_failures_set(bush.sim, &failures);
            int status = esk_tree_commit(bush.tree);
            esk_sim_failures_set(bush.sim, NULL);
            if (status == ESK_OK) {
                bush.in_batch = false;
            } else if (i % 2 == 0) {
                ESK_CHECK_INT(esk_tree_commit(bush.tree), ESK_OK);
                bush.in_batch = false;
                failed++;
            } else {
                ESK_CHECK_INT(esk_tree_abort(bush.tree), ESK_OK);
                batch_undone(&bush);
                failed++;
            }
            if (i % 20 == 7) {
                ESK_CHECK(esk_bush_remount(&bush));
            }
            bush_verify(&bush);
        }
        ESK_CHECK(failed > 10);
        esk_bush_free(&bush);
    }
}

ESK_TEST(commit_that_was_cut_is_refused_by_who_could_not_complete_it) {
    for (uint8_t run = 0; run < RUNS; run++) {
        struct esk_bush bush;
        struct esk_bush_table table = batched(run);
        bush_make(&bush, &table);
        bush_puts(&bush, 300);
        batch_begin(&bush);
        bush_puts(&bush, 3);
        /* After the record and one copy. */
        esk_sim_cut_at(bush.sim, esk_sim_op_count(bush.sim) + 1,
                       ESK_SIM_CUT_AFTER);
        ESK_CHECK_INT(esk_tree_commit(bush.tree), ESK_OK);
        bush.in_batch = false;
        esk_sim_power_on(bush.sim);
        esk_tree_close(bush.tree);
        ESK_CHECK_INT(esk_volume_mount(&bush.volume, bush.device, 0, bush.page),
                      ESK_OK);
        bush.table.batch_pages = 0;
        ESK_CHECK_INT(esk_bush_open(&bush), ESK_E_UNSUPPORTED);
        bush.table.batch_pages = 40;
        ESK_CHECK_INT(esk_volume_mount(&bush.volume, bush.device,
                                       ESK_MOUNT_READ_ONLY, bush.page),
                      ESK_OK);
        ESK_CHECK_INT(esk_bush_open(&bush), ESK_E_READ_ONLY);
        ESK_CHECK_INT(esk_volume_mount(&bush.volume, bush.device, 0, bush.page),
                      ESK_OK);
        ESK_CHECK_INT(esk_bush_open(&bush), ESK_OK);
        bush_verify(&bush);
        esk_bush_free(&bush);
    }
}

ESK_TEST_MAIN()
