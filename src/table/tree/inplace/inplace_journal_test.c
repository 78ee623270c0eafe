// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Batches in place whose slots are damaged, forged, or used up.
#include "table/tree/inplace/inplace.h"
#include "test/harness/arena.h"
#include "test/harness/tree_fixture.h"

enum { KEY_STEP = 40 }; ///< one key in each of several leaves

static void batched_start(struct esk_model_tree *model, uint8_t store,
                          uint8_t checksum) {
    struct esk_model_tree_table table = model_tree_plain(store);
    table.checksum = checksum;
    table.batch_pages = 40;
    table.blocks = 40;
    ESK_CONTEXT("store %u, checksum %u", store, checksum);
    model_tree_start(model, &table);
    model_tree_puts(model, 400);
}

static void verify(struct esk_model_tree *model) {
    ESK_CHECK_HELD(esk_model_tree_verify(model), model->why);
}

static void batch_begin(struct esk_model_tree *model, uint32_t pages) {
    ESK_CHECK_INT(esk_tree_begin(model->tree, pages), ESK_OK);
    model->before = model->expected;
    model->in_batch = true;
}

static void batch_abort(struct esk_model_tree *model) {
    ESK_CHECK_INT(esk_tree_abort(model->tree), ESK_OK);
    model->expected = model->before;
    model->in_batch = false;
}

/// Puts one row in each of several leaves.
static void leaves_put(struct esk_model_tree *model) {
    for (uint32_t number = 0; number < model->range; number += KEY_STEP) {
        ESK_CHECK_INT(esk_model_tree_put(model, number), ESK_OK);
    }
}

/// Commits a batch with a cut after its record: all slots are still to be
/// copied to their places. The table is closed then.
/// first    out: the first slot's page. Returns how many there are.
static uint32_t commit_cut(struct esk_model_tree *model, uint32_t *first) {
    batch_begin(model, 0);
    leaves_put(model);
    esk_sim_cut_at(model->sim, esk_sim_op_count(model->sim), ESK_SIM_CUT_AFTER);
    ESK_CHECK_INT(esk_tree_commit(model->tree), ESK_E_IO);
    model->in_batch = false;
    esk_sim_power_on(model->sim);
    esk_tree_close(model->tree);
    ESK_CHECK_INT(
        esk_volume_mount(&model->volume, model->device, 0, TEST_SCRATCH),
        ESK_OK);
    *first = model_tree_peek(model, ESK_INPLACE_JOURNAL, ESK_ENVELOPE_AUX);
    uint32_t slots =
        model_tree_peek(model, ESK_INPLACE_JOURNAL, ESK_ENVELOPE_COUNT) &
        0xFFFFu;
    ESK_CHECK(slots > 4);
    return slots;
}

/// Opens a table whose batch cannot be completed, twice.
static void open_refused(struct esk_model_tree *model) {
    ESK_CHECK_INT(esk_model_tree_open(model), ESK_E_CORRUPT);
    ESK_CHECK_INT(esk_model_tree_open(model), ESK_E_CORRUPT);
    ESK_CHECK_INT(esk_sim_violations(model->sim), 0);
}

ESK_TEST(batch_of_which_a_slot_is_lost_is_not_half_there) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        struct esk_model_tree model;
        struct esk_sim *cut = NULL;
        uint32_t first = 0;
        batched_start(&model, store, ESK_CHECKSUM_CRC32C);
        uint32_t slots = commit_cut(&model, &first);
        ESK_CHECK_INT(esk_sim_clone(&cut, model.sim), ESK_OK);
        for (uint32_t slot = first; slot < first + slots; slot++) {
            uint32_t was = model_tree_peek(&model, slot, 20);
            model_tree_damage(&model, slot);
            open_refused(&model);
            /* The record stays: with its slot the batch is complete. */
            model_tree_poke(&model, slot, 20, was);
            ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
            verify(&model);
            esk_tree_close(model.tree);
            esk_sim_restore(model.sim, cut);
        }
        ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
        verify(&model);
        esk_sim_destroy(cut);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(batch_with_a_wrong_record_or_slot_writes_no_other_page) {
    struct lie {
        bool record;     ///< else the first slot
        uint16_t offset; ///< of the forged bytes
        uint32_t value;
    };
    static const struct lie lies[] = {
        {true, ESK_ENVELOPE_AUX, 0x7F000000}, /* slots outside the region */
        {true, ESK_ENVELOPE_AUX, 318},        /* more than its end has */
        {true, ESK_ENVELOPE_AUX, ESK_INPLACE_JOURNAL},
        {true, ESK_ENVELOPE_AUX, ESK_INPLACE_FIRST},
        {false, ESK_ENVELOPE_SEQUENCE, ESK_INPLACE_JOURNAL}, /* its home */
        {false, ESK_ENVELOPE_SEQUENCE, 319},
        {false, ESK_ENVELOPE_SEQUENCE, 0x7F000000},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct esk_model_tree model;
        uint32_t first = 0;
        batched_start(&model, ESK_STORE_INPLACE, ESK_CHECKSUM_NONE);
        ESK_CONTEXT("lie %u", (unsigned)i);
        (void)commit_cut(&model, &first);
        uint32_t at = lies[i].record ? ESK_INPLACE_JOURNAL : first;
        uint32_t was = model_tree_peek(&model, at, lies[i].offset);
        uint64_t programs = esk_sim_counters(model.sim)->programs;
        model_tree_poke(&model, at, lies[i].offset, lies[i].value);
        open_refused(&model);
        ESK_CHECK_INT(esk_sim_counters(model.sim)->programs, programs);
        model_tree_poke(&model, at, lies[i].offset, was);
        ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
        verify(&model);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(batch_in_place_has_no_slot_beyond_its_last) {
    enum { SLOTS = 5 };
    struct esk_model_tree model;
    uint8_t page[512] = {0};
    batched_start(&model, ESK_STORE_INPLACE, ESK_CHECKSUM_CRC32C);
    batch_begin(&model, SLOTS);
    uint32_t at = ESK_INPLACE_ROOT;
    for (uint32_t i = 0; i < SLOTS; i++) {
        ESK_CHECK_INT(esk_batches_inplace.write(model.tree, at + i, page),
                      ESK_OK);
    }
    uint64_t programs = esk_sim_counters(model.sim)->programs;
    ESK_CHECK_INT(esk_batches_inplace.write(model.tree, at + SLOTS, page),
                  ESK_E_NO_MEMORY);
    ESK_CHECK_INT(esk_sim_counters(model.sim)->programs, programs);
    ESK_CHECK_INT(esk_batches_inplace.find(model.tree, at + SLOTS), at + SLOTS);
    /* A page with a slot is written again. */
    ESK_CHECK_INT(esk_batches_inplace.write(model.tree, at + 2, page), ESK_OK);
    batch_abort(&model);
    verify(&model);
    esk_model_tree_free(&model);
}

/// The next put repairs a put that failed half way.
ESK_TEST(batch_with_slots_for_one_change_never_runs_out_of_them) {
    uint32_t failed = 0;
    uint32_t refused = 0;
    for (uint32_t run = 0; run < 400; run++) {
        struct esk_model_tree model;
        struct esk_tree_stats stats;
        struct esk_model_tree_table table = model_tree_plain(ESK_STORE_INPLACE);
        table.batch_pages = 60;
        table.blocks = 80;
        table.key_type = ESK_TYPE_BYTES; /* wide, for a high tree */
        table.key_bytes = 100;
        table.merges = run % 4 == 3;
        model_tree_start(&model, &table);
        model.random = run;
        /* Rising keys fill every node: one between them splits a path. */
        for (uint32_t number = 0; number < model.range; number += 2) {
            ESK_CHECK_INT(esk_model_tree_put(&model, number), ESK_OK);
        }
        esk_tree_stats(model.tree, &stats);
        uint32_t least = stats.height + 1u;
        batch_begin(&model, least + run / 4 % 4);
        ESK_CONTEXT("run %u, height %u", run, stats.height);
        for (uint32_t call = 0; call < 12; call++) {
            uint32_t number = esk_model_tree_random(&model, model.range) | 1u;
            esk_sim_cut_at(
                model.sim,
                esk_sim_op_count(model.sim) + esk_model_tree_random(&model, 8),
                call % 2 == 0 ? ESK_SIM_CUT_BEFORE : ESK_SIM_CUT_NONE);
            int status = call % 6 == 5 ? esk_model_tree_delete(&model, number)
                                       : esk_model_tree_put(&model, number);
            esk_sim_power_on(model.sim);
            esk_sim_cut_at(model.sim, 0, ESK_SIM_CUT_NONE);
            failed += status == ESK_E_IO ? 1 : 0;
            refused += status == ESK_FULL ? 1 : 0;
            ESK_CHECK(status >= ESK_OK || status == ESK_E_IO);
        }
        batch_abort(&model);
        verify(&model);
        esk_model_tree_free(&model);
    }
    ESK_CHECK(failed > 200 && refused > 200);
}

ESK_TEST(batch_whose_syncs_fail_stays_open) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        for (uint8_t commits = 0; commits < 2; commits++) {
            struct esk_model_tree model;
            batched_start(&model, store, ESK_CHECKSUM_CRC32C);
            model_tree_front(&model);
            batch_begin(&model, 0);
            leaves_put(&model);
            sync_fails = true;
            ESK_CHECK_INT(esk_tree_commit(model.tree), ESK_E_IO);
            /* The record may be there: it must be cleared first. */
            ESK_CHECK_INT(esk_model_tree_put(&model, 1), ESK_E_IO);
            ESK_CHECK_INT(esk_tree_abort(model.tree), ESK_E_IO);
            sync_fails = false;
            verify(&model);
            if (commits == 1) {
                ESK_CHECK_INT(esk_model_tree_put(&model, 1), ESK_OK);
                ESK_CHECK_INT(esk_tree_commit(model.tree), ESK_OK);
                model.in_batch = false;
            } else {
                batch_abort(&model);
            }
            verify(&model);
            ESK_CHECK(esk_model_tree_remount(&model));
            verify(&model);
            esk_model_tree_free(&model);
        }
    }
}

/// The next call copies a slot that could not be read.
ESK_TEST(commit_whose_reads_fail_is_completed_by_the_next_call) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        struct esk_model_tree model;
        uint32_t later = 0;
        batched_start(&model, store, ESK_CHECKSUM_CRC32C);
        model_tree_front(&model);
        for (uint32_t read = 1; read < 12; read++) {
            batch_begin(&model, 0);
            leaves_put(&model);
            read_fails = read;
            ESK_CHECK_INT(esk_tree_commit(model.tree), ESK_OK);
            model.in_batch = false;
            later += read_fails == 0 ? 1 : 0;
            read_fails = 0;
            if (read % 2 == 0) {
                ESK_CHECK(esk_model_tree_remount(&model));
            }
            verify(&model);
        }
        ESK_CHECK(later > 5);
        esk_model_tree_free(&model);
    }
}

/// Puts rows in a batch, until one write fails and leaves a torn page.
static void puts_torn(struct esk_model_tree *model, uint32_t operations) {
    bool failed = false;
    esk_sim_cut_at(model->sim, esk_sim_op_count(model->sim) + operations,
                   ESK_SIM_CUT_SUBSET);
    for (uint32_t i = 0; i < 60 && !failed; i++) {
        /* Existing pages and new ones, again and again. */
        uint32_t number =
            operations % 2 * 150 + esk_model_tree_random(model, 1 + operations);
        failed = esk_model_tree_put(model, number) != ESK_OK;
        if (failed) {
            /* It may have been made: in any case, put it again. */
            esk_sim_power_on(model->sim);
            esk_sim_cut_at(model->sim, 0, ESK_SIM_CUT_NONE);
            (void)esk_model_tree_put(model, number);
        }
    }
    esk_sim_cut_at(model->sim, 0, ESK_SIM_CUT_NONE);
}

ESK_TEST(batch_with_a_torn_page_is_whole_or_can_only_be_aborted) {
    uint32_t committed = 0;
    uint32_t aborted = 0;
    for (uint8_t merges = 0; merges < 2; merges++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table =
            model_tree_plain(ESK_STORE_JOURNALED);
        table.merges = merges != 0;
        table.batch_pages = 60;
        table.blocks = 100;
        table.pad_bytes = 100;
        model_tree_start(&model, &table);
        model_tree_puts(&model, 60);
        for (uint32_t operations = 0; operations < 90; operations++) {
            ESK_CONTEXT("merges %u, operation %u", merges, operations);
            batch_begin(&model, 0);
            puts_torn(&model, operations);
            bool whole = esk_model_tree_verify(&model);
            int status = esk_tree_commit(model.tree);
            ESK_CHECK_INT(status, whole ? ESK_OK : ESK_E_CORRUPT);
            model.in_batch = !whole;
            if (!whole) {
                batch_abort(&model);
            }
            committed += whole ? 1 : 0;
            aborted += whole ? 0 : 1;
            verify(&model);
            ESK_CHECK(esk_model_tree_remount(&model));
            verify(&model);
        }
        esk_model_tree_free(&model);
    }
    ESK_CHECK(committed > 50 && aborted > 5);
}

ESK_TEST(first_batch_of_a_table_whose_root_is_not_written_begins_again) {
    for (uint8_t run = 0; run < 4; run++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table =
            model_tree_plain((uint8_t)(ESK_STORE_INPLACE + run / 2));
        table.batch_pages = 40;
        model_tree_start(&model, &table);
        model_tree_front(&model);
        if (run % 2 == 0) {
            sync_fails = true;
        } else {
            esk_sim_cut_at(model.sim, esk_sim_op_count(model.sim),
                           ESK_SIM_CUT_SUBSET);
        }
        ESK_CONTEXT("run %u", run);
        ESK_CHECK_INT(esk_tree_begin(model.tree, 0), ESK_E_IO);
        sync_fails = false;
        esk_sim_power_on(model.sim);
        verify(&model);
        batch_begin(&model, 0);
        model_tree_puts(&model, 60);
        verify(&model);
        ESK_CHECK(esk_model_tree_remount(&model));
        verify(&model);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(batch_larger_than_what_is_unused_is_refused) {
    struct esk_model_tree model;
    struct esk_tree_stats stats;
    batched_start(&model, ESK_STORE_INPLACE, ESK_CHECKSUM_CRC32C);
    esk_tree_stats(model.tree, &stats);
    esk_model_tree_free(&model);
    struct esk_model_tree_table table = model_tree_plain(ESK_STORE_INPLACE);
    table.batch_pages = 40;
    table.blocks = (stats.nodes + 20) / 8;
    model_tree_start(&model, &table);
    model_tree_puts(&model, 400);
    ESK_CHECK_INT(esk_tree_begin(model.tree, 1), ESK_FULL);
    ESK_CHECK_INT(esk_tree_begin(model.tree, 30), ESK_FULL);
    verify(&model);
    batch_begin(&model, 10);
    leaves_put(&model);
    batch_abort(&model);
    verify(&model);
    esk_model_tree_free(&model);
}

ESK_TEST_MAIN()
