// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Batches in place whose slots are damaged, lie, or run out.
#include "table/tree/store_inplace.h"
#include "test/harness/bush_rig.h"

enum { KEY_STEP = 40 }; ///< one key in each of several leaves

static void batched_start(struct esk_bush *bush, uint8_t store,
                          uint8_t checksum) {
    struct esk_bush_table table = bush_plain(store);
    table.checksum = checksum;
    table.batch_pages = 40;
    table.blocks = 40;
    ESK_CONTEXT("store %u, checksum %u", store, checksum);
    bush_start(bush, &table);
    bush_puts(bush, 400);
}

static void verify(struct esk_bush *bush) {
    ESK_CHECK_HELD(esk_bush_verify(bush), bush->why);
}

static void batch_begin(struct esk_bush *bush, uint32_t pages) {
    ESK_CHECK_INT(esk_tree_begin(bush->tree, pages), ESK_OK);
    bush->before = bush->model;
    bush->in_batch = true;
}

static void batch_abort(struct esk_bush *bush) {
    ESK_CHECK_INT(esk_tree_abort(bush->tree), ESK_OK);
    bush->model = bush->before;
    bush->in_batch = false;
}

/// Puts one row in each of several leaves.
static void leaves_put(struct esk_bush *bush) {
    for (uint32_t number = 0; number < bush->range; number += KEY_STEP) {
        ESK_CHECK_INT(esk_bush_put(bush, number), ESK_OK);
    }
}

/// Commits a batch and cuts after its record: all slots are still to be
/// written home. The table is closed then.
/// first    out: the first slot's page. Returns how many there are.
static uint32_t commit_cut(struct esk_bush *bush, uint32_t *first) {
    batch_begin(bush, 0);
    leaves_put(bush);
    esk_sim_cut_at(bush->sim, esk_sim_op_count(bush->sim), ESK_SIM_CUT_AFTER);
    ESK_CHECK_INT(esk_tree_commit(bush->tree), ESK_E_IO);
    bush->in_batch = false;
    esk_sim_power_on(bush->sim);
    esk_tree_close(bush->tree);
    ESK_CHECK_INT(esk_volume_mount(&bush->volume, bush->device, 0, bush->page),
                  ESK_OK);
    *first = bush_peek(bush, ESK_INPLACE_JOURNAL, ESK_ENVELOPE_AUX);
    uint32_t slots =
        bush_peek(bush, ESK_INPLACE_JOURNAL, ESK_ENVELOPE_COUNT) & 0xFFFFu;
    ESK_CHECK(slots > 4);
    return slots;
}

/// Opens a table whose batch cannot be completed, twice.
static void open_refused(struct esk_bush *bush) {
    ESK_CHECK_INT(esk_bush_open(bush), ESK_E_CORRUPT);
    ESK_CHECK_INT(esk_bush_open(bush), ESK_E_CORRUPT);
    ESK_CHECK_INT(esk_sim_violations(bush->sim), 0);
}

ESK_TEST(batch_of_which_a_slot_is_lost_is_not_half_there) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        struct esk_bush bush;
        struct esk_sim *cut = NULL;
        uint32_t first = 0;
        batched_start(&bush, store, ESK_CHECKSUM_CRC32C);
        uint32_t slots = commit_cut(&bush, &first);
        ESK_CHECK_INT(esk_sim_clone(&cut, bush.sim), ESK_OK);
        for (uint32_t slot = first; slot < first + slots; slot++) {
            uint32_t was = bush_peek(&bush, slot, 20);
            bush_damage(&bush, slot);
            open_refused(&bush);
            /* The record stays: with the slot back the batch is whole. */
            bush_poke(&bush, slot, 20, was);
            ESK_CHECK_INT(esk_bush_open(&bush), ESK_OK);
            verify(&bush);
            esk_tree_close(bush.tree);
            esk_sim_restore(bush.sim, cut);
        }
        ESK_CHECK_INT(esk_bush_open(&bush), ESK_OK);
        verify(&bush);
        esk_sim_destroy(cut);
        esk_bush_free(&bush);
    }
}

ESK_TEST(batch_whose_record_or_slot_lies_writes_nothing_where_it_must_not) {
    struct lie {
        bool record;     ///< else the first slot
        uint16_t offset; ///< of what is forged
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
        struct esk_bush bush;
        uint32_t first = 0;
        batched_start(&bush, ESK_STORE_INPLACE, ESK_CHECKSUM_NONE);
        ESK_CONTEXT("lie %u", (unsigned)i);
        (void)commit_cut(&bush, &first);
        uint32_t at = lies[i].record ? ESK_INPLACE_JOURNAL : first;
        uint32_t was = bush_peek(&bush, at, lies[i].offset);
        uint64_t programs = esk_sim_counters(bush.sim)->programs;
        bush_poke(&bush, at, lies[i].offset, lies[i].value);
        open_refused(&bush);
        ESK_CHECK_INT(esk_sim_counters(bush.sim)->programs, programs);
        bush_poke(&bush, at, lies[i].offset, was);
        ESK_CHECK_INT(esk_bush_open(&bush), ESK_OK);
        verify(&bush);
        esk_bush_free(&bush);
    }
}

ESK_TEST(batch_in_place_has_no_slot_beyond_its_last) {
    enum { SLOTS = 5 };
    struct esk_bush bush;
    uint8_t page[512] = {0};
    batched_start(&bush, ESK_STORE_INPLACE, ESK_CHECKSUM_CRC32C);
    batch_begin(&bush, SLOTS);
    uint32_t at = ESK_INPLACE_ROOT;
    for (uint32_t i = 0; i < SLOTS; i++) {
        ESK_CHECK_INT(esk_batches_inplace.write(bush.tree, at + i, page),
                      ESK_OK);
    }
    uint64_t programs = esk_sim_counters(bush.sim)->programs;
    ESK_CHECK_INT(esk_batches_inplace.write(bush.tree, at + SLOTS, page),
                  ESK_E_NO_MEMORY);
    ESK_CHECK_INT(esk_sim_counters(bush.sim)->programs, programs);
    ESK_CHECK_INT(esk_batches_inplace.find(bush.tree, at + SLOTS), at + SLOTS);
    /* What has a slot is written again. */
    ESK_CHECK_INT(esk_batches_inplace.write(bush.tree, at + 2, page), ESK_OK);
    batch_abort(&bush);
    verify(&bush);
    esk_bush_free(&bush);
}

/// A put that fails half way leaves its repair to the next one.
ESK_TEST(batch_with_slots_for_one_change_never_runs_out_of_them) {
    uint32_t failed = 0;
    uint32_t refused = 0;
    for (uint32_t run = 0; run < 400; run++) {
        struct esk_bush bush;
        struct esk_tree_stats stats;
        struct esk_bush_table table = bush_plain(ESK_STORE_INPLACE);
        table.batch_pages = 60;
        table.blocks = 80;
        table.key_type = ESK_TYPE_BYTES; /* wide, for a high tree */
        table.key_bytes = 100;
        table.merges = run % 4 == 3;
        bush_start(&bush, &table);
        bush.random = run;
        /* Rising keys fill every node: one between them splits a path. */
        for (uint32_t number = 0; number < bush.range; number += 2) {
            ESK_CHECK_INT(esk_bush_put(&bush, number), ESK_OK);
        }
        esk_tree_stats(bush.tree, &stats);
        uint32_t least = table.merges ? stats.height * 3u + 4u : stats.height;
        batch_begin(&bush, least + run / 4 % 4);
        ESK_CONTEXT("run %u, height %u", run, stats.height);
        for (uint32_t call = 0; call < 12; call++) {
            uint32_t number = esk_bush_random(&bush, bush.range) | 1u;
            esk_sim_cut_at(
                bush.sim,
                esk_sim_op_count(bush.sim) + esk_bush_random(&bush, 8),
                call % 2 == 0 ? ESK_SIM_CUT_BEFORE : ESK_SIM_CUT_NONE);
            int status = call % 6 == 5 ? esk_bush_delete(&bush, number)
                                       : esk_bush_put(&bush, number);
            esk_sim_power_on(bush.sim);
            esk_sim_cut_at(bush.sim, 0, ESK_SIM_CUT_NONE);
            failed += status == ESK_E_IO ? 1 : 0;
            refused += status == ESK_FULL ? 1 : 0;
            ESK_CHECK(status >= ESK_OK || status == ESK_E_IO);
        }
        batch_abort(&bush);
        verify(&bush);
        esk_bush_free(&bush);
    }
    ESK_CHECK(failed > 200 && refused > 200);
}

ESK_TEST(batch_whose_syncs_fail_stays_open) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        for (uint8_t commits = 0; commits < 2; commits++) {
            struct esk_bush bush;
            batched_start(&bush, store, ESK_CHECKSUM_CRC32C);
            bush_front(&bush);
            batch_begin(&bush, 0);
            leaves_put(&bush);
            sync_fails = true;
            ESK_CHECK_INT(esk_tree_commit(bush.tree), ESK_E_IO);
            /* The record may be there: it has to go first. */
            ESK_CHECK_INT(esk_bush_put(&bush, 1), ESK_E_IO);
            ESK_CHECK_INT(esk_tree_abort(bush.tree), ESK_E_IO);
            sync_fails = false;
            verify(&bush);
            if (commits == 1) {
                ESK_CHECK_INT(esk_bush_put(&bush, 1), ESK_OK);
                ESK_CHECK_INT(esk_tree_commit(bush.tree), ESK_OK);
                bush.in_batch = false;
            } else {
                batch_abort(&bush);
            }
            verify(&bush);
            ESK_CHECK(esk_bush_remount(&bush));
            verify(&bush);
            esk_bush_free(&bush);
        }
    }
}

/// A slot that is not read when it is to go home goes with the next call.
ESK_TEST(commit_whose_reads_fail_is_completed_by_the_next_call) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        struct esk_bush bush;
        uint32_t later = 0;
        batched_start(&bush, store, ESK_CHECKSUM_CRC32C);
        bush_front(&bush);
        for (uint32_t read = 1; read < 12; read++) {
            batch_begin(&bush, 0);
            leaves_put(&bush);
            read_fails = read;
            ESK_CHECK_INT(esk_tree_commit(bush.tree), ESK_OK);
            bush.in_batch = false;
            later += read_fails == 0 ? 1 : 0;
            read_fails = 0;
            if (read % 2 == 0) {
                ESK_CHECK(esk_bush_remount(&bush));
            }
            verify(&bush);
        }
        ESK_CHECK(later > 5);
        esk_bush_free(&bush);
    }
}

/// Puts rows in a batch, until one write fails and leaves a torn page.
static void puts_torn(struct esk_bush *bush, uint32_t operations) {
    bool failed = false;
    esk_sim_cut_at(bush->sim, esk_sim_op_count(bush->sim) + operations,
                   ESK_SIM_CUT_SUBSET);
    for (uint32_t i = 0; i < 60 && !failed; i++) {
        /* Into pages that there were, and into new ones, again and again. */
        uint32_t number =
            operations % 2 * 150 + esk_bush_random(bush, 1 + operations);
        failed = esk_bush_put(bush, number) != ESK_OK;
        if (failed) {
            /* It may have been made: whichever, once more. */
            esk_sim_power_on(bush->sim);
            esk_sim_cut_at(bush->sim, 0, ESK_SIM_CUT_NONE);
            (void)esk_bush_put(bush, number);
        }
    }
    esk_sim_cut_at(bush->sim, 0, ESK_SIM_CUT_NONE);
}

ESK_TEST(batch_with_a_torn_page_is_whole_or_can_only_be_aborted) {
    uint32_t committed = 0;
    uint32_t aborted = 0;
    for (uint8_t merges = 0; merges < 2; merges++) {
        struct esk_bush bush;
        struct esk_bush_table table = bush_plain(ESK_STORE_JOURNALED);
        table.merges = merges != 0;
        table.batch_pages = 60;
        table.blocks = 100;
        table.pad_bytes = 100;
        bush_start(&bush, &table);
        bush_puts(&bush, 60);
        for (uint32_t operations = 0; operations < 90; operations++) {
            ESK_CONTEXT("merges %u, operation %u", merges, operations);
            batch_begin(&bush, 0);
            puts_torn(&bush, operations);
            bool whole = esk_bush_verify(&bush);
            int status = esk_tree_commit(bush.tree);
            ESK_CHECK_INT(status, whole ? ESK_OK : ESK_E_CORRUPT);
            bush.in_batch = !whole;
            if (!whole) {
                batch_abort(&bush);
            }
            committed += whole ? 1 : 0;
            aborted += whole ? 0 : 1;
            verify(&bush);
            ESK_CHECK(esk_bush_remount(&bush));
            verify(&bush);
        }
        esk_bush_free(&bush);
    }
    ESK_CHECK(committed > 50 && aborted > 5);
}

ESK_TEST(first_batch_of_a_table_whose_root_is_not_written_begins_again) {
    for (uint8_t run = 0; run < 4; run++) {
        struct esk_bush bush;
        struct esk_bush_table table =
            bush_plain((uint8_t)(ESK_STORE_INPLACE + run / 2));
        table.batch_pages = 40;
        bush_start(&bush, &table);
        bush_front(&bush);
        if (run % 2 == 0) {
            sync_fails = true;
        } else {
            esk_sim_cut_at(bush.sim, esk_sim_op_count(bush.sim),
                           ESK_SIM_CUT_SUBSET);
        }
        ESK_CONTEXT("run %u", run);
        ESK_CHECK_INT(esk_tree_begin(bush.tree, 0), ESK_E_IO);
        sync_fails = false;
        esk_sim_power_on(bush.sim);
        verify(&bush);
        batch_begin(&bush, 0);
        bush_puts(&bush, 60);
        verify(&bush);
        ESK_CHECK(esk_bush_remount(&bush));
        verify(&bush);
        esk_bush_free(&bush);
    }
}

ESK_TEST(batch_larger_than_what_is_unused_is_refused) {
    struct esk_bush bush;
    struct esk_tree_stats stats;
    batched_start(&bush, ESK_STORE_INPLACE, ESK_CHECKSUM_CRC32C);
    esk_tree_stats(bush.tree, &stats);
    esk_bush_free(&bush);
    struct esk_bush_table table = bush_plain(ESK_STORE_INPLACE);
    table.batch_pages = 40;
    table.blocks = (stats.nodes + 20) / 8;
    bush_start(&bush, &table);
    bush_puts(&bush, 400);
    ESK_CHECK_INT(esk_tree_begin(bush.tree, 1), ESK_FULL);
    ESK_CHECK_INT(esk_tree_begin(bush.tree, 30), ESK_FULL);
    verify(&bush);
    batch_begin(&bush, 10);
    leaves_put(&bush);
    batch_abort(&bush);
    verify(&bush);
    esk_bush_free(&bush);
}

ESK_TEST_MAIN()
