// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A copy-on-write tree counted the room of bad blocks: when it was full, it
/// refused a change of an existing row.
#include "test/harness/tree_fixture.h"

static const struct esk_geometry media[] = {
    ESK_NAND(60, 4, 256), ESK_NAND(60, 8, 512), ESK_NAND(60, 16, 512)};

static struct esk_model_tree_table table_of(uint8_t store) {
    struct esk_model_tree_table table = {.store = store,
                                         .key_type = ESK_TYPE_U32,
                                         .pad_bytes = 40,
                                         .key_range = 4000,
                                         .blocks = 24};
    return table;
}

ESK_TEST(full_tree_takes_changes_however_many_blocks_were_bad) {
    for (uint8_t store = ESK_STORE_WANDERING; store <= ESK_STORE_TNC; store++) {
        for (uint8_t medium = 0; medium < 3; medium++) {
            for (uint32_t bad = 0; bad <= 12; bad++) {
                struct esk_model_tree model;
                struct esk_model_tree_table table = table_of(store);
                struct esk_sim_config config = {
                    .geometry = media[medium], .seed = bad, .bad_blocks = bad};
                ESK_CONTEXT("store %u, medium %u, %u bad", store, medium, bad);
                ESK_CHECK_INT(
                    esk_model_tree_make_on(&model, &table, &config, bad),
                    ESK_OK);
                model_tree_fill(&model);
                model_tree_changes(&model, 400);
                ESK_CHECK_HELD(esk_model_tree_remount(&model), model.why);
                model_tree_changes(&model, 400);
                model_tree_verify(&model);
                esk_model_tree_free(&model);
            }
        }
    }
}

ESK_TEST(full_tree_takes_changes_when_a_block_goes_bad) {
    for (uint8_t store = ESK_STORE_WANDERING; store <= ESK_STORE_TNC; store++) {
        for (uint8_t run = 0; run < 24; run++) {
            struct esk_model_tree model;
            struct esk_model_tree_table table = table_of(store);
            struct esk_table_info info;
            ESK_CONTEXT("store %u, run %u", store, run);
            ESK_CHECK_INT(
                esk_model_tree_make(&model, &table, &media[run % 3], run),
                ESK_OK);
            model_tree_fill(&model);
            model_tree_changes(&model, 20u + run * 7u);
            ESK_CHECK_INT(esk_volume_find(&model.volume, "model", &info),
                          ESK_OK);
            esk_sim_block_fail(model.sim, info.block[0] + run);
            model_tree_changes(&model, 600);
            ESK_CHECK_HELD(esk_model_tree_remount(&model), model.why);
            model_tree_changes(&model, 600);
            model_tree_verify(&model);
            esk_model_tree_free(&model);
        }
    }
}

ESK_TEST_MAIN()
