// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What a tree does where reads, programs, syncs and the power fail.
#include "test/harness/bush_rig.h"

/// Takes into the model what became of row `number` in a change that failed:
/// in place it may have taken effect.
static void failed_note(struct esk_bush *bush, uint32_t number, bool put) {
    uint8_t key[8];
    uint8_t row[ESK_BUSH_ROW_BYTES_MAX];
    uint8_t made[ESK_BUSH_ROW_BYTES_MAX];
    uint32_t *version = &bush->model.version[number];
    esk_bush_key(bush, number, key);
    esk_bush_row(bush, number, bush->version, made);
    int status = esk_tree_get(bush->tree, key, row);
    if (put && status == ESK_OK && memcmp(row, made, bush->row_bytes) == 0) {
        bush->model.rows += *version == 0 ? 1 : 0;
        *version = bush->version;
    }
    if (!put && status == ESK_NOT_FOUND) {
        bush->model.rows -= *version != 0 ? 1 : 0;
        *version = 0;
    }
}

/// A call of some kind, one of whose first reads fails.
/// Returns  whether it failed for that.
static bool call_failing(struct esk_bush *bush) {
    uint32_t number = esk_bush_random(bush, bush->range);
    uint32_t kind = esk_bush_random(bush, 8);
    uint8_t key[8];
    uint8_t row[ESK_BUSH_ROW_BYTES_MAX];
    uint32_t count = 0;
    struct esk_tree_report report;
    esk_bush_key(bush, number, key);
    read_fails = 1 + esk_bush_random(bush, 12);
    int status = kind < 2   ? esk_bush_put(bush, number)
                 : kind < 4 ? esk_bush_delete(bush, number)
                 : kind < 5 ? esk_tree_floor(bush->tree, key, row)
                 : kind < 6 ? esk_tree_ceiling(bush->tree, key, row)
                 : kind < 7 ? esk_tree_count(bush->tree, &count)
                            : esk_tree_check(bush->tree, &report);
    bool fell = read_fails == 0;
    read_fails = 0;
    ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND ||
              status == ESK_FULL || (fell && status == ESK_E_IO));
    if (status == ESK_E_IO && kind < 4 &&
        esk_bush_overwrites(bush->table.store)) {
        failed_note(bush, number, kind < 2);
    }
    return status == ESK_E_IO;
}

/// Every read fails once, at every place in a call.
ESK_TEST(tree_call_whose_read_fails_says_so_and_is_done_whole_or_not) {
    for (uint8_t run = 0; run < 24; run++) {
        uint8_t store = (uint8_t)(ESK_STORE_INPLACE + run % 4);
        struct esk_bush bush;
        struct esk_bush_table table = bush_plain(store);
        uint32_t failed = 0;
        table.frames = (uint8_t)(2 + run / 4 % 3 * 3);
        table.merges = run >= 12;
        if (!esk_bush_overwrites(store) && table.frames == 8) {
            table.write_frames = 6;
        }
        /* In place one that merges runs out of pages never used. */
        table.blocks = !esk_bush_overwrites(store) ? 26 : table.merges ? 5 : 0;
        table.no_batches = true;
        bush_start(&bush, &table);
        bush_front(&bush);
        bush_puts(&bush, 250);
        for (uint32_t i = 0; i < 1500; i++) {
            ESK_CONTEXT("store %u, frames %u, merges %u, call %u", store,
                        table.frames, table.merges, i);
            failed += call_failing(&bush) ? 1 : 0;
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
            if (status == ESK_E_IO) {
                ESK_CHECK_INT(esk_bush_open(&bush), ESK_OK);
            }
        }
        ESK_CHECK_HELD(esk_bush_verify(&bush), bush.why);
        esk_bush_free(&bush);
    }
}

/// The device's cache, if it has one, may keep back anything then.
ESK_TEST(inplace_change_whose_sync_fails_is_done_whole_or_not) {
    for (uint8_t run = 0; run < 4; run++) {
        struct esk_bush bush;
        struct esk_bush_table table =
            bush_plain((uint8_t)(ESK_STORE_INPLACE + run / 2));
        uint32_t failed = 0;
        table.merges = run % 2 == 1;
        table.pad_bytes = 100;
        bush_start(&bush, &table);
        bush_front(&bush);
        for (uint32_t i = 0; i < 3000; i++) {
            uint32_t number = esk_bush_random(&bush, bush.range);
            bool puts = i / 500 % 2 == 0;
            ESK_CONTEXT("store %u, merges %u, call %u", table.store,
                        table.merges, i);
            syncs_pass = esk_bush_random(&bush, 3);
            sync_fails = true;
            int status = puts ? esk_bush_put(&bush, number)
                              : esk_bush_delete(&bush, number);
            sync_fails = false;
            syncs_pass = 0;
            ESK_CHECK(status >= 0 || status == ESK_E_IO);
            if (status == ESK_E_IO) {
                failed_note(&bush, number, puts);
                failed++;
            }
            if (i % 100 == 0) {
                ESK_CHECK_HELD(esk_bush_verify(&bush), bush.why);
            }
        }
        ESK_CHECK(failed > 5);
        ESK_CHECK_HELD(esk_bush_remount(&bush) && esk_bush_verify(&bush),
                       bush.why);
        esk_bush_free(&bush);
    }
}

ESK_TEST(collector_keeps_its_block_while_a_sync_fails) {
    struct esk_bush bush;
    struct esk_bush_table table = bush_plain(ESK_STORE_MU);
    uint32_t refused = 0;
    table.blocks = 12;
    bush_start(&bush, &table);
    bush_front(&bush);
    sync_fails = true;
    ESK_CHECK_INT(esk_tree_sync(bush.tree), ESK_E_IO);
    for (uint32_t i = 0; i < 200; i++) {
        int status = esk_bush_put(&bush, esk_bush_random(&bush, 20));
        ESK_CHECK(status == ESK_OK || status == ESK_E_IO);
        refused += status == ESK_E_IO ? 1 : 0;
    }
    ESK_CHECK(refused > 0);
    sync_fails = false;
    bush_puts(&bush, 10);
    bush_verify_again(&bush);
    esk_bush_free(&bush);
}

ESK_TEST(batch_that_a_cut_takes_leaves_an_empty_table_empty) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_MU; store++) {
        struct esk_bush bush;
        struct esk_bush_table table = bush_plain(store);
        ESK_CONTEXT("store %u", store);
        table.batch_pages = esk_bush_overwrites(store) ? 40 : 0;
        bush_start(&bush, &table);
        ESK_CHECK_INT(esk_tree_begin(bush.tree, 0), ESK_OK);
        bush.before = bush.model;
        bush.in_batch = true;
        bush_puts(&bush, 60);
        bush_verify_again(&bush);
        ESK_CHECK_INT(bush.model.rows, 0);
        bush_puts(&bush, 60);
        ESK_CHECK_HELD(esk_bush_verify(&bush), bush.why);
        esk_bush_free(&bush);
    }
}

/// The driver fails at every program of every put, and comes back.
ESK_TEST(tree_put_whose_program_fails_can_be_called_again) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_MU; store++) {
        struct esk_bush bush;
        struct esk_bush_table table = bush_plain(store);
        uint32_t failed = 0;
        bush_start(&bush, &table);
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
        struct esk_bush_table table = bush_plain(store);
        uint32_t refused = 0;
        bush_start(&bush, &table);
        bush_puts(&bush, 60);
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

/// Takes up what a cut left in a call that was to change row `number`, once
/// read only, which may be refused, and once for good.
/// Returns  whether it was refused.
static bool cut_taken_up(struct esk_bush *bush, uint32_t number) {
    uint32_t rows = bush->model.rows;
    uint32_t count = 0;
    uint8_t key[8];
    uint8_t row[ESK_BUSH_ROW_BYTES_MAX];
    esk_tree_close(bush->tree);
    ESK_CHECK_INT(esk_volume_mount(&bush->volume, bush->device,
                                   ESK_MOUNT_READ_ONLY, bush->page),
                  ESK_OK);
    uint64_t programs = esk_sim_counters(bush->sim)->programs;
    int status = esk_bush_open(bush);
    ESK_CHECK(status == ESK_OK || status == ESK_E_READ_ONLY);
    ESK_CHECK_INT(esk_sim_counters(bush->sim)->programs, programs);
    ESK_CHECK_INT(esk_volume_mount(&bush->volume, bush->device, 0, bush->page),
                  ESK_OK);
    ESK_CHECK_INT(esk_bush_open(bush), ESK_OK);
    ESK_CHECK_INT(esk_tree_count(bush->tree, &count), ESK_OK);
    esk_bush_key(bush, number, key);
    bool gone = esk_tree_get(bush->tree, key, row) == ESK_NOT_FOUND;
    ESK_CHECK_INT(count, rows - (gone ? 1 : 0));
    bush->model.version[number] *= gone ? 0 : 1;
    bush->model.rows = count;
    ESK_CHECK_HELD(esk_bush_verify(bush), bush->why);
    return status == ESK_E_READ_ONLY;
}

ESK_TEST(inplace_merge_that_a_cut_left_is_completed_but_not_read_only) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        struct esk_bush bush;
        struct esk_bush_table table = bush_plain(store);
        uint32_t refused = 0;
        table.merges = true;
        bush_start(&bush, &table);
        for (uint32_t n = 0; bush.model.rows > 2 || n == 0; n++) {
            uint32_t number = esk_bush_random(&bush, bush.range);
            uint32_t writes =
                (1 + n % 3) * (store == ESK_STORE_JOURNALED ? 2 : 1);
            ESK_CONTEXT("store %u, delete %u", store, n);
            if (n == 0) {
                bush_puts(&bush, 500);
            }
            while (bush.model.version[number] == 0) {
                number = (number + 1) % bush.range;
            }
            esk_sim_cut_at(bush.sim, esk_sim_op_count(bush.sim) + writes,
                           ESK_SIM_CUT_BEFORE);
            bool cut = esk_bush_delete(&bush, number) != ESK_OK;
            esk_sim_power_on(bush.sim);
            esk_sim_cut_at(bush.sim, 0, ESK_SIM_CUT_NONE);
            refused += cut && cut_taken_up(&bush, number) ? 1 : 0;
        }
        ESK_CHECK(refused > 5);
        esk_bush_free(&bush);
    }
}

ESK_TEST_MAIN()
