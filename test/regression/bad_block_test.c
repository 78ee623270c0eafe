// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A tree whose nodes move counted on the room of bad blocks: when it was full
/// a change of a row that was there was refused.
#include "test/harness/bush_rig.h"

static const struct esk_geometry media[] = {
    ESK_NAND(60, 4, 256), ESK_NAND(60, 8, 512), ESK_NAND(60, 16, 512)};

static struct esk_bush_table table_of(uint8_t store) {
    struct esk_bush_table table = {.store = store,
                                   .key_type = ESK_TYPE_U32,
                                   .pad_bytes = 40,
                                   .key_range = 4000,
                                   .blocks = 24};
    return table;
}

ESK_TEST(full_tree_takes_changes_however_many_blocks_were_bad) {
    for (uint8_t store = ESK_STORE_WANDERING; store <= ESK_STORE_MU; store++) {
        for (uint8_t medium = 0; medium < 3; medium++) {
            for (uint32_t bad = 0; bad <= 12; bad++) {
                struct esk_bush bush;
                struct esk_bush_table table = table_of(store);
                struct esk_sim_config config = {
                    .geometry = media[medium], .seed = bad, .bad_blocks = bad};
                ESK_CONTEXT("store %u, medium %u, %u bad", store, medium, bad);
                ESK_CHECK_INT(esk_bush_make_on(&bush, &table, &config, bad),
                              ESK_OK);
                bush_fill(&bush);
                bush_changes(&bush, 400);
                ESK_CHECK_HELD(esk_bush_remount(&bush), bush.why);
                bush_changes(&bush, 400);
                bush_verify(&bush);
                esk_bush_free(&bush);
            }
        }
    }
}

ESK_TEST(full_tree_takes_changes_when_a_block_goes_bad) {
    for (uint8_t store = ESK_STORE_WANDERING; store <= ESK_STORE_MU; store++) {
        for (uint8_t run = 0; run < 24; run++) {
            struct esk_bush bush;
            struct esk_bush_table table = table_of(store);
            struct esk_table_info info;
            ESK_CONTEXT("store %u, run %u", store, run);
            ESK_CHECK_INT(esk_bush_make(&bush, &table, &media[run % 3], run),
                          ESK_OK);
            bush_fill(&bush);
            bush_changes(&bush, 20u + run * 7u);
            ESK_CHECK_INT(
                esk_volume_find(&bush.volume, "bush", &info, bush.page),
                ESK_OK);
            esk_sim_block_fail(bush.sim, info.block[0] + run);
            bush_changes(&bush, 600);
            ESK_CHECK_HELD(esk_bush_remount(&bush), bush.why);
            bush_changes(&bush, 600);
            bush_verify(&bush);
            esk_bush_free(&bush);
        }
    }
}

ESK_TEST_MAIN()
