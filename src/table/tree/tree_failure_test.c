// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Trees when reads, programs, syncs and the power fail.
#include "test/harness/arena.h"
#include "test/harness/tree_fixture.h"

/// Updates the model's row `number` after a change that failed: in place it may
/// have taken effect.
static void failed_note(struct esk_model_tree *model, uint32_t number,
                        bool put) {
    uint8_t key[8];
    uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
    uint8_t made[ESK_MODEL_TREE_ROW_BYTES_MAX];
    uint32_t *version = &model->expected.version[number];
    esk_model_tree_key(model, number, key);
    esk_model_tree_row(model, number, model->version, made);
    int status = esk_tree_get(model->tree, key, row);
    if (put && status == ESK_OK && memcmp(row, made, model->row_bytes) == 0) {
        model->expected.rows += *version == 0 ? 1 : 0;
        *version = model->version;
    }
    if (!put && status == ESK_NOT_FOUND) {
        model->expected.rows -= *version != 0 ? 1 : 0;
        *version = 0;
    }
}

/// A call of some kind, one of whose first reads fails.
/// Returns  whether it failed because of that.
static bool call_failing(struct esk_model_tree *model) {
    uint32_t number = esk_model_tree_random(model, model->range);
    uint32_t kind = esk_model_tree_random(model, 8);
    uint8_t key[8];
    uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
    uint32_t count = 0;
    struct esk_tree_report report;
    esk_model_tree_key(model, number, key);
    read_fails = 1 + esk_model_tree_random(model, 12);
    int status = kind < 2   ? esk_model_tree_put(model, number)
                 : kind < 4 ? esk_model_tree_delete(model, number)
                 : kind < 5 ? esk_tree_floor(model->tree, key, row)
                 : kind < 6 ? esk_tree_ceiling(model->tree, key, row)
                 : kind < 7 ? esk_tree_count(model->tree, &count)
                            : esk_tree_check(model->tree, &report);
    bool fell = read_fails == 0;
    (void)fail_end();
    ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND ||
              status == ESK_FULL || (fell && status == ESK_E_IO));
    if (status == ESK_E_IO && kind < 4 &&
        esk_model_tree_overwrites(model->table.store)) {
        failed_note(model, number, kind < 2);
    }
    return status == ESK_E_IO;
}

/// Every read fails once, at every place in a call.
ESK_TEST(tree_call_whose_read_fails_returns_it_and_is_atomic) {
    for (uint8_t run = 0; run < 24; run++) {
        uint8_t store = (uint8_t)(ESK_STORE_INPLACE + run % 4);
        struct esk_model_tree model;
        struct esk_model_tree_table table = model_tree_plain(store);
        uint32_t failed = 0;
        table.frames = (uint8_t)(2 + run / 4 % 3 * 3);
        table.merges = run >= 12;
        if (!esk_model_tree_overwrites(store) && table.frames == 8) {
            table.write_frames = 6;
        }
        /* In place, one that merges runs out of unused pages. */
        table.blocks = !esk_model_tree_overwrites(store) ? 26
                       : table.merges                    ? 5
                                                         : 0;
        table.no_batches = true;
        model_tree_start(&model, &table);
        model_tree_front(&model);
        model_tree_puts(&model, 250);
        for (uint32_t i = 0; i < 1500; i++) {
            ESK_CONTEXT("store %u, frames %u, merges %u, call %u", store,
                        table.frames, table.merges, i);
            failed += call_failing(&model) ? 1 : 0;
            if (i % 40 == 0) {
                ESK_CHECK_HELD(esk_model_tree_verify(&model), model.why);
            }
        }
        ESK_CHECK(failed > 50);
        for (uint32_t i = 1; i < 60; i++) {
            esk_tree_close(model.tree);
            read_fails = i;
            int status = esk_model_tree_open(&model);
            (void)fail_end();
            ESK_CHECK(status == ESK_OK || status == ESK_E_IO);
            if (status == ESK_E_IO) {
                ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
            }
        }
        ESK_CHECK_HELD(esk_model_tree_verify(&model), model.why);
        esk_model_tree_free(&model);
    }
}

/// Then the device's cache, if it has one, may contain anything.
ESK_TEST(inplace_change_whose_sync_fails_is_done_whole_or_not) {
    for (uint8_t run = 0; run < 4; run++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table =
            model_tree_plain((uint8_t)(ESK_STORE_INPLACE + run / 2));
        uint32_t failed = 0;
        table.merges = run % 2 == 1;
        table.pad_bytes = 100;
        model_tree_start(&model, &table);
        model_tree_front(&model);
        for (uint32_t i = 0; i < 3000; i++) {
            uint32_t number = esk_model_tree_random(&model, model.range);
            bool puts = i / 500 % 2 == 0;
            ESK_CONTEXT("store %u, merges %u, call %u", table.store,
                        table.merges, i);
            syncs_pass = esk_model_tree_random(&model, 3);
            sync_fails = true;
            int status = puts ? esk_model_tree_put(&model, number)
                              : esk_model_tree_delete(&model, number);
            sync_fails = false;
            syncs_pass = 0;
            ESK_CHECK(status >= 0 || status == ESK_E_IO);
            if (status == ESK_E_IO) {
                failed_note(&model, number, puts);
                failed++;
            }
            if (i % 100 == 0) {
                ESK_CHECK_HELD(esk_model_tree_verify(&model), model.why);
            }
        }
        ESK_CHECK(failed > 5);
        ESK_CHECK_HELD(esk_model_tree_remount(&model) &&
                           esk_model_tree_verify(&model),
                       model.why);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(collector_keeps_its_block_while_a_sync_fails) {
    struct esk_model_tree model;
    struct esk_model_tree_table table = model_tree_plain(ESK_STORE_MU);
    uint32_t refused = 0;
    table.blocks = 12;
    model_tree_start(&model, &table);
    model_tree_front(&model);
    sync_fails = true;
    ESK_CHECK_INT(esk_tree_sync(model.tree), ESK_E_IO);
    for (uint32_t i = 0; i < 200; i++) {
        int status =
            esk_model_tree_put(&model, esk_model_tree_random(&model, 20));
        ESK_CHECK(status == ESK_OK || status == ESK_E_IO);
        refused += status == ESK_E_IO ? 1 : 0;
    }
    ESK_CHECK(refused > 0);
    sync_fails = false;
    model_tree_puts(&model, 10);
    model_tree_verify_again(&model);
    esk_model_tree_free(&model);
}

ESK_TEST(batch_that_a_cut_takes_leaves_an_empty_table_empty) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_TNC; store++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = model_tree_plain(store);
        ESK_CONTEXT("store %u", store);
        table.batch_pages = esk_model_tree_overwrites(store) ? 40 : 0;
        model_tree_start(&model, &table);
        ESK_CHECK_INT(esk_tree_begin(model.tree, 0), ESK_OK);
        model.before = model.expected;
        model.in_batch = true;
        model_tree_puts(&model, 60);
        model_tree_verify_again(&model);
        ESK_CHECK_INT(model.expected.rows, 0);
        model_tree_puts(&model, 60);
        ESK_CHECK_HELD(esk_model_tree_verify(&model), model.why);
        esk_model_tree_free(&model);
    }
}

/// The driver fails at every program of every put, and works again after it.
ESK_TEST(tree_put_whose_program_fails_can_be_called_again) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_TNC; store++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = model_tree_plain(store);
        uint32_t failed = 0;
        model_tree_start(&model, &table);
        for (uint32_t n = 0; n < 160; n++) {
            uint32_t number = esk_model_tree_random(&model, model.range);
            int status = ESK_E_IO;
            ESK_CONTEXT("store %u, put %u", store, n);
            for (uint32_t at = 0; status != ESK_OK; at++) {
                esk_sim_cut_at(model.sim, esk_sim_op_count(model.sim) + at,
                               ESK_SIM_CUT_BEFORE);
                status = esk_model_tree_put(&model, number);
                if (status == ESK_OK && store == ESK_STORE_TNC) {
                    status = esk_tree_sync(model.tree); /* the first program */
                }
                ESK_CHECK(status == ESK_OK || status == ESK_E_IO);
                failed += status == ESK_OK ? 0 : 1;
                esk_sim_power_on(model.sim);
                esk_sim_cut_at(model.sim, 0, ESK_SIM_CUT_NONE);
            }
            if (n % 20 == 0) {
                ESK_CHECK_HELD(esk_model_tree_verify(&model), model.why);
            }
        }
        ESK_CHECK(failed >= 160);
        ESK_CHECK_HELD(esk_model_tree_remount(&model) &&
                           esk_model_tree_verify(&model),
                       model.why);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(inplace_split_cut_short_is_completed_but_not_read_only) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = model_tree_plain(store);
        uint32_t refused = 0;
        model_tree_start(&model, &table);
        model_tree_puts(&model, 60);
        for (uint32_t n = 0; n < 60; n++) {
            uint32_t number = esk_model_tree_random(&model, model.range);
            uint32_t writes = store == ESK_STORE_JOURNALED ? 4 : 2;
            uint32_t rows = model.expected.rows;
            ESK_CONTEXT("store %u, put %u", store, n);
            esk_sim_cut_at(model.sim, esk_sim_op_count(model.sim) + writes,
                           ESK_SIM_CUT_BEFORE);
            bool split = esk_model_tree_put(&model, number) != ESK_OK;
            esk_sim_power_on(model.sim);
            esk_sim_cut_at(model.sim, 0, ESK_SIM_CUT_NONE);
            if (!split) {
                continue;
            }
            esk_tree_close(model.tree);
            ESK_CHECK_INT(esk_volume_mount(&model.volume, model.device,
                                           ESK_MOUNT_READ_ONLY, TEST_SCRATCH),
                          ESK_OK);
            int status = esk_model_tree_open(&model);
            refused += status == ESK_E_READ_ONLY ? 1 : 0;
            ESK_CHECK(status == ESK_OK || status == ESK_E_READ_ONLY);
            ESK_CHECK_INT(
                esk_volume_mount(&model.volume, model.device, 0, TEST_SCRATCH),
                ESK_OK);
            ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
            uint32_t count = 0;
            ESK_CHECK_INT(esk_tree_count(model.tree, &count), ESK_OK);
            /* The leaf was split with the row in it, or not at all. */
            ESK_CHECK(count == rows || count == rows + 1);
            model.expected.version[number] = count > rows ? model.version : 0;
            model.expected.rows = count;
            ESK_CHECK_HELD(esk_model_tree_verify(&model), model.why);
        }
        ESK_CHECK(refused > 1);
        esk_model_tree_free(&model);
    }
}

/// Mounts after a cut in a call that was to change row `number`: first
/// read-only, when the journal is read instead of pages, then for writing.
static void cut_taken_up(struct esk_model_tree *model, uint32_t number) {
    uint32_t rows = model->expected.rows;
    uint32_t count = 0;
    uint32_t seen = 0;
    uint8_t key[8];
    uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
    esk_tree_close(model->tree);
    ESK_CHECK_INT(esk_volume_mount(&model->volume, model->device,
                                   ESK_MOUNT_READ_ONLY, TEST_SCRATCH),
                  ESK_OK);
    uint64_t programs = esk_sim_counters(model->sim)->programs;
    ESK_CHECK_INT(esk_model_tree_open(model), ESK_OK);
    ESK_CHECK_INT(esk_tree_count(model->tree, &seen), ESK_OK);
    ESK_CHECK_INT(esk_sim_counters(model->sim)->programs, programs);
    ESK_CHECK_INT(
        esk_volume_mount(&model->volume, model->device, 0, TEST_SCRATCH),
        ESK_OK);
    ESK_CHECK_INT(esk_model_tree_open(model), ESK_OK);
    ESK_CHECK_INT(esk_tree_count(model->tree, &count), ESK_OK);
    esk_model_tree_key(model, number, key);
    bool gone = esk_tree_get(model->tree, key, row) == ESK_NOT_FOUND;
    ESK_CHECK_INT(count, rows - (gone ? 1 : 0));
    ESK_CHECK_INT(seen, count);
    model->expected.version[number] *= gone ? 0 : 1;
    model->expected.rows = count;
    ESK_CHECK_HELD(esk_model_tree_verify(model), model->why);
}

ESK_TEST(inplace_merge_cut_short_is_read_from_the_journal_read_only) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = model_tree_plain(store);
        uint32_t cuts = 0;
        table.merges = true;
        model_tree_start(&model, &table);
        for (uint32_t n = 0; model.expected.rows > 2 || n == 0; n++) {
            uint32_t number = esk_model_tree_random(&model, model.range);
            uint32_t writes = n % 7;
            ESK_CONTEXT("store %u, delete %u", store, n);
            if (n == 0) {
                model_tree_puts(&model, 500);
            }
            while (model.expected.version[number] == 0) {
                number = (number + 1) % model.range;
            }
            esk_sim_cut_at(model.sim, esk_sim_op_count(model.sim) + writes,
                           ESK_SIM_CUT_BEFORE);
            bool cut = esk_model_tree_delete(&model, number) != ESK_OK;
            esk_sim_power_on(model.sim);
            esk_sim_cut_at(model.sim, 0, ESK_SIM_CUT_NONE);
            if (cut) {
                cut_taken_up(&model, number);
                cuts++;
            }
        }
        ESK_CHECK(cuts > 20);
        esk_model_tree_free(&model);
    }
}

ESK_TEST_MAIN()
