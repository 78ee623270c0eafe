// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A read-only mount of a journaled tree read a torn page, not its valid copy
/// in the journal: rows were lost until a mount for writing. And an open read
/// every inner node of a tree in place.
#include "test/harness/arena.h"
#include "test/harness/tree_fixture.h"

ESK_TEST(journaled_tree_is_read_from_its_journal_read_only) {
    static const struct esk_geometry card = ESK_CARD(60, 8, 256);
    uint32_t torn = 0;
    for (uint32_t cut = 0; cut < 120; cut++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = {.store = ESK_STORE_JOURNALED,
                                             .key_type = ESK_TYPE_U32,
                                             .pad_bytes = 20,
                                             .key_range = 200};
        uint8_t key[32];
        uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
        ESK_CONTEXT("cut %u", cut);
        ESK_CHECK_INT(esk_model_tree_make(&model, &table, &card, cut), ESK_OK);
        model_tree_puts(&model, 100);
        /* The first program of a change is the journal's, the second its
           page's. */
        esk_sim_cut_at(model.sim, esk_sim_op_count(model.sim) + 1,
                       ESK_SIM_CUT_SUBSET);
        uint32_t number = model_tree_key_there(&model);
        ESK_CHECK_INT(esk_model_tree_put(&model, number), ESK_E_IO);
        esk_sim_cut_at(model.sim, 0, ESK_SIM_CUT_NONE);
        esk_sim_power_on(model.sim);
        esk_tree_close(model.tree);
        ESK_CHECK_INT(esk_volume_mount(&model.volume, model.device,
                                       ESK_MOUNT_READ_ONLY, TEST_SCRATCH),
                      ESK_OK);
        uint64_t ops = esk_sim_op_count(model.sim);
        ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
        model.expected.version[number] = model.version;
        model_tree_verify(&model);
        esk_model_tree_key(&model, number, key);
        ESK_CHECK_INT(esk_tree_get(model.tree, key, row), ESK_OK);
        ESK_CHECK_INT(esk_sim_op_count(model.sim), ops);
        torn++;
        esk_model_tree_free(&model);
    }
    ESK_CHECK_INT(torn, 120);
}

/// Page reads of an open of `rows` rows.
static uint32_t open_reads(uint8_t store, uint32_t rows) {
    static const struct esk_geometry card = ESK_CARD(400, 8, 128);
    struct esk_model_tree model;
    struct esk_tree_stats stats;
    struct esk_model_tree_table table = {.store = store,
                                         .key_type = ESK_TYPE_U32,
                                         .pad_bytes = 24,
                                         .key_range = ESK_MODEL_TREE_KEYS_MAX};
    ESK_CHECK_INT(esk_model_tree_make(&model, &table, &card, 1), ESK_OK);
    for (uint32_t i = 0; i < rows; i++) {
        ESK_CHECK_INT(esk_model_tree_put(&model, i), ESK_OK);
    }
    ESK_CHECK(esk_model_tree_remount(&model));
    esk_tree_stats(model.tree, &stats);
    esk_model_tree_free(&model);
    return stats.page_reads;
}

ESK_TEST(open_in_place_reads_no_more_of_a_larger_tree) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        for (uint32_t rows = 100; rows <= 1000; rows += 60) {
            /* Three, and for each of 16 pages a path or three reads. */
            ESK_CONTEXT("store %u, %u rows", store, rows);
            ESK_CHECK(open_reads(store, rows) <= 3u + 16u * 6u);
        }
    }
}

ESK_TEST_MAIN()
