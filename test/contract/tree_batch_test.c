// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Batches of trees in place: all or nothing, whatever fails.
#include "test/harness/arena.h"
#include "test/harness/tree_fixture.h"

static const struct esk_geometry card = ESK_CARD(120, 8, 256);

/// Runs with and without merging, with torn writes and without.
enum { RUNS = 4 };

static struct esk_model_tree_table batched(uint8_t run) {
    struct esk_model_tree_table table = {
        .store = run / 2 == 0 ? ESK_STORE_INPLACE : ESK_STORE_JOURNALED,
        .key_type = ESK_TYPE_U32,
        .pad_bytes = 30,
        .key_range = 600,
        .merges = run % 2 == 1,
        .batch_pages = 40};
    return table;
}

static void model_tree_make(struct esk_model_tree *model,
                            const struct esk_model_tree_table *table) {
    ESK_CONTEXT("store %u, merges %u", table->store, table->merges);
    ESK_CHECK_INT(esk_model_tree_make(model, table, &card, 3), ESK_OK);
}

static void batch_begin(struct esk_model_tree *model) {
    ESK_CHECK_INT(esk_tree_begin(model->tree, 0), ESK_OK);
    model->before = model->expected;
    model->in_batch = true;
}

static void batch_undone(struct esk_model_tree *model) {
    model->expected = model->before;
    model->in_batch = false;
}

ESK_TEST(tree_in_place_with_batches_is_a_sorted_array) {
    for (uint8_t run = 0; run < RUNS; run++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = batched(run);
        model_tree_make(&model, &table);
        for (uint32_t i = 0; i < 12000; i++) {
            ESK_CHECK_HELD(esk_model_tree_call(&model), model.why);
        }
        model_tree_verify(&model);
        ESK_CHECK_INT(esk_sim_violations(model.sim), 0);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(batch_in_place_takes_effect_whole_or_not_at_all) {
    for (uint8_t run = 0; run < RUNS; run++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = batched(run);
        struct esk_tree_report report;
        model_tree_make(&model, &table);
        for (uint8_t end = 0; end < 12; end++) {
            model_tree_puts(&model, 40);
            batch_begin(&model);
            model_tree_puts(&model, 8);
            model_tree_verify(&model);
            if (end % 3 == 0) {
                ESK_CHECK_INT(esk_tree_commit(model.tree), ESK_OK);
                model.in_batch = false;
            } else if (end % 3 == 1) {
                ESK_CHECK_INT(esk_tree_abort(model.tree), ESK_OK);
                batch_undone(&model);
            }
            /* Else the remount aborts it. */
            model_tree_verify(&model);
            ESK_CHECK(esk_model_tree_remount(&model));
            model_tree_verify(&model);
            ESK_CHECK_INT(esk_tree_check(model.tree, &report), ESK_OK);
        }
        esk_model_tree_free(&model);
    }
}

ESK_TEST(batch_in_place_programs_a_page_twice_however_often_it_changes) {
    struct esk_model_tree model;
    struct esk_model_tree_table table = batched(0);
    struct esk_tree_stats before;
    struct esk_tree_stats after;
    model_tree_make(&model, &table);
    model_tree_puts(&model, 300);
    batch_begin(&model);
    for (uint32_t i = 0; i < 50; i++) {
        uint32_t number = i % 2;
        ESK_CHECK_INT(esk_model_tree_put(&model, number), ESK_OK);
    }
    esk_tree_stats(model.tree, &before);
    ESK_CHECK_INT(esk_tree_commit(model.tree), ESK_OK);
    model.in_batch = false;
    esk_tree_stats(model.tree, &after);
    /* Two records; the leaf, and its parent if it was split. */
    ESK_CHECK(after.page_programs - before.page_programs <= 4);
    model_tree_verify(&model);
    esk_model_tree_free(&model);
}

ESK_TEST(batch_in_place_without_room_is_refused_and_can_be_ended) {
    for (uint8_t run = 0; run < RUNS; run++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = batched(run);
        model_tree_make(&model, &table);
        ESK_CHECK_INT(esk_tree_begin(model.tree, 41), ESK_FULL);
        model_tree_puts(&model, 500);
        for (uint8_t commits = 0; commits < 2; commits++) {
            batch_begin(&model);
            int status = ESK_OK;
            for (uint32_t i = 0; i < 600 && status == ESK_OK; i++) {
                status = esk_model_tree_put(&model, i * 7 % 600);
            }
            ESK_CHECK_INT(status, ESK_FULL);
            model_tree_verify(&model);
            if (commits == 1) {
                ESK_CHECK_INT(esk_tree_commit(model.tree), ESK_OK);
                model.in_batch = false;
            } else {
                ESK_CHECK_INT(esk_tree_abort(model.tree), ESK_OK);
                batch_undone(&model);
            }
            model_tree_verify(&model);
        }
        esk_model_tree_free(&model);
    }
}

ESK_TEST(batch_on_a_full_region_has_the_slots_that_are_kept) {
    struct esk_model_tree model;
    struct esk_model_tree_table table = batched(0);
    table.blocks = 8;
    model_tree_make(&model, &table);
    model_tree_fill(&model);
    ESK_CHECK_INT(esk_tree_begin(model.tree, 9), ESK_FULL);
    batch_begin(&model);
    model_tree_changes(&model, 3);
    ESK_CHECK_INT(esk_tree_commit(model.tree), ESK_OK);
    model.in_batch = false;
    model_tree_verify_again(&model);
    esk_model_tree_free(&model);
}

ESK_TEST(batch_where_writes_fail_is_committed_or_still_open) {
    for (uint8_t run = 2; run < RUNS; run++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = batched(run);
        uint32_t failed = 0;
        model_tree_make(&model, &table);
        model_tree_puts(&model, 300);
        for (uint32_t i = 0; i < 400; i++) {
            /* The record, a copy, or the record's end. */
            struct esk_sim_failures failures = {
                .program = {.per_million = 120000}};
            batch_begin(&model);
            model_tree_puts(&model, 1 + i % 5);
            esk_sim_failures_set(model.sim, &failures);
            int status = esk_tree_commit(model.tree);
            esk_sim_failures_set(model.sim, NULL);
            if (status == ESK_OK) {
                model.in_batch = false;
            } else if (i % 2 == 0) {
                ESK_CHECK_INT(esk_tree_commit(model.tree), ESK_OK);
                model.in_batch = false;
                failed++;
            } else {
                ESK_CHECK_INT(esk_tree_abort(model.tree), ESK_OK);
                batch_undone(&model);
                failed++;
            }
            if (i % 20 == 7) {
                ESK_CHECK(esk_model_tree_remount(&model));
            }
            model_tree_verify(&model);
        }
        ESK_CHECK(failed > 10);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(commit_that_was_cut_is_read_only_until_it_is_completed) {
    for (uint8_t run = 0; run < RUNS; run++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = batched(run);
        model_tree_make(&model, &table);
        model_tree_puts(&model, 300);
        batch_begin(&model);
        model_tree_puts(&model, 3);
        /* After the record and one copy. */
        esk_sim_cut_at(model.sim, esk_sim_op_count(model.sim) + 1,
                       ESK_SIM_CUT_AFTER);
        ESK_CHECK_INT(esk_tree_commit(model.tree), ESK_OK);
        model.in_batch = false;
        esk_sim_power_on(model.sim);
        esk_tree_close(model.tree);
        ESK_CHECK_INT(
            esk_volume_mount(&model.volume, model.device, 0, TEST_SCRATCH),
            ESK_OK);
        bool merges = model.table.merges;
        model.table.batch_pages = 0;
        model.table.merges = false;
        ESK_CHECK_INT(esk_model_tree_open(&model), ESK_E_UNSUPPORTED);
        model.table.batch_pages = 40;
        model.table.merges = merges;
        ESK_CHECK_INT(esk_volume_mount(&model.volume, model.device,
                                       ESK_MOUNT_READ_ONLY, TEST_SCRATCH),
                      ESK_OK);
        uint64_t ops = esk_sim_op_count(model.sim);
        ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
        model_tree_verify(&model);
        ESK_CHECK_INT(esk_sim_op_count(model.sim), ops);
        esk_tree_close(model.tree);
        ESK_CHECK_INT(
            esk_volume_mount(&model.volume, model.device, 0, TEST_SCRATCH),
            ESK_OK);
        ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
        model_tree_verify(&model);
        esk_model_tree_free(&model);
    }
}

ESK_TEST_MAIN()
