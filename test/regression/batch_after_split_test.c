// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A batch in place after a split, on a card that caches writes: power loss
/// lost the parent that names the new leaf, and left pages of the batch after
/// it. The mount searched for an interrupted split among the last new pages,
/// found those of the batch, and half of a leaf was lost, with rows that a sync
/// had acknowledged.
#include "test/harness/arena.h"
#include "test/harness/tree_fixture.h"

enum { ROWS = 60, CUTS = 60 };

static const struct esk_geometry card = ESK_CARD(160, 8, 128);

/// Puts rows of a range of keys, in a batch.
static void batch_make(struct esk_model_tree *model) {
    ESK_CHECK_INT(esk_tree_begin(model->tree, 0), ESK_OK);
    for (uint32_t number = 1; number < 8 * ROWS; number += 8) {
        uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
        esk_model_tree_row(model, number, 1, row);
        if (esk_tree_put(model->tree, row) != ESK_OK) {
            return;
        }
    }
}

/// Syncs rows of every fourth number, puts until a leaf is split, and continues
/// in a batch until the cut. The synced rows are there.
static uint32_t cut_try(uint8_t store, uint32_t seed, uint16_t cache) {
    struct esk_model_tree model;
    struct esk_tree_stats stats;
    struct esk_model_tree_table table = {.store = store,
                                         .key_type = ESK_TYPE_U32,
                                         .pad_bytes = 20,
                                         .key_range = 8 * ROWS,
                                         .batch_pages = 200};
    struct esk_sim_config medium = {.geometry = card,
                                    .seed = seed,
                                    .cache_programs = cache,
                                    .whole_writes = store == ESK_STORE_INPLACE,
                                    .erase_keeps = true};
    uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
    uint8_t key[32];
    uint32_t lost = 0;
    ESK_CONTEXT("store %u, seed %u, cache %u", store, seed, cache);
    ESK_CHECK_INT(esk_model_tree_make_on(&model, &table, &medium, seed),
                  ESK_OK);
    for (uint32_t i = 0; i < ROWS; i++) {
        ESK_CHECK_INT(esk_model_tree_put(&model, 8 * (i * 7 % ROWS)), ESK_OK);
    }
    ESK_CHECK_INT(esk_tree_sync(model.tree), ESK_OK);
    esk_tree_stats(model.tree, &stats);
    uint32_t splits = stats.splits;
    for (uint32_t i = seed; stats.splits == splits; i++) {
        esk_model_tree_row(&model, 8 * (i % ROWS) + 4, 1, row);
        ESK_CHECK_INT(esk_tree_put(model.tree, row), ESK_OK);
        esk_tree_stats(model.tree, &stats);
    }
    esk_sim_cut_at(model.sim, esk_sim_op_count(model.sim) + 5 + seed % 70,
                   ESK_SIM_CUT_DRAWN);
    batch_make(&model);
    if (esk_sim_is_on(model.sim)) {
        esk_sim_power_off(model.sim);
    }
    esk_sim_cut_at(model.sim, 0, ESK_SIM_CUT_NONE);
    esk_sim_power_on(model.sim);
    ESK_CHECK_INT(
        esk_volume_mount(&model.volume, model.device, 0, TEST_SCRATCH), ESK_OK);
    ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
    for (uint32_t i = 0; i < ROWS; i++) {
        esk_model_tree_key(&model, 8 * i, key);
        lost += esk_tree_get(model.tree, key, row) != ESK_OK ? 1 : 0;
    }
    esk_model_tree_free(&model);
    return lost;
}

ESK_TEST(batch_after_a_split_that_was_not_synced_loses_no_row) {
    static const uint16_t caches[] = {2, 24, 200};
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        for (uint32_t seed = 0; seed < 3 * CUTS; seed++) {
            ESK_CHECK_INT(cut_try(store, seed, caches[seed % 3]), 0);
        }
    }
}

ESK_TEST_MAIN()
