// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Opening a tree: stores, forged catalogs, small regions.
#include <math.h>

#include "table/tree/tree.h"
#include "test/harness/arena.h"
#include "test/harness/tree_fixture.h"
#include "volume/volume_format.h"

ESK_TEST(tree_is_not_opened_with_a_store_it_was_not_made_with) {
    struct esk_model_tree model;
    struct esk_model_tree_table table = model_tree_plain(ESK_STORE_MU);
    struct esk_table_info info;
    struct esk_tree *tree = NULL;
    model_tree_start(&model, &table);
    esk_tree_close(model.tree);
    ESK_CHECK_INT(esk_volume_find(&model.volume, "model", &info), ESK_OK);
    const struct esk_node_store *const wrong[] = {
        NULL, &esk_store_inplace, &esk_store_journaled, &esk_store_wandering};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct esk_tree_config config = {.store = wrong[i]};
        ESK_CHECK_INT(esk_tree_arena_bytes(&model.volume, &info, &config), 0);
        ESK_CHECK_INT(test_tree_open(&tree, &model.volume, "model", &config,
                                     model.arena, model.arena_bytes),
                      ESK_E_UNSUPPORTED);
    }
    ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
    esk_model_tree_free(&model);
}

ESK_TEST(catalog_with_wrong_rows_or_shares_makes_no_layout) {
    struct esk_model_tree model;
    struct esk_model_tree_table table = model_tree_plain(ESK_STORE_MU);
    struct esk_table_info sound;
    model_tree_start(&model, &table);
    ESK_CHECK_INT(esk_volume_find(&model.volume, "model", &sound), ESK_OK);
    struct esk_table_info lies[6];
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        lies[i] = sound;
    }
    lies[0].row_bytes = 0;
    lies[1].row_bytes = 513;
    lies[2].row_bytes = 7;                    /* the key is at 4 */
    lies[3].options[ESK_OPTION_HEAD + 1] = 0; /* k in percent */
    lies[4].options[ESK_OPTION_HEAD + 1] = 100;
    lies[5].row_bytes = 400; /* two do not fit a leaf */
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        ESK_CONTEXT("lie %u", (unsigned)i);
        ESK_CHECK_INT(
            esk_tree_arena_bytes(&model.volume, &lies[i], &model.config), 0);
    }
    esk_model_tree_free(&model);
}

ESK_TEST(tree_keeps_as_many_blocks_erased_as_it_is_asked_to) {
    static const struct {
        uint8_t asked;
        uint8_t kept;
    } cases[] = {{0, 1}, {3, 3}, {200, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct esk_model_tree model;
        struct esk_tree_stats stats;
        struct esk_model_tree_table table = model_tree_plain(ESK_STORE_MU);
        ESK_CONTEXT("%u blocks ahead", cases[i].asked);
        model_tree_start(&model, &table);
        ESK_CHECK_INT(esk_model_tree_put(&model, 1), ESK_OK);
        model.config.erase_ahead = cases[i].asked;
        ESK_CHECK(esk_model_tree_remount(&model));
        for (uint32_t step = 0; step < 20; step++) {
            ESK_CHECK_INT(esk_volume_step(&model.volume, 20, NULL), ESK_OK);
        }
        esk_tree_stats(model.tree, &stats);
        ESK_CHECK_INT(stats.block_erases, cases[i].kept);
        esk_model_tree_free(&model);
    }
}

/// A full tree refuses new nodes only, however small its region is.
ESK_TEST(tree_of_few_blocks_is_full_early_and_still_reads) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_TNC; store++) {
        static const uint8_t least_of[] = {2, 2, 7, 5, 13};
        uint32_t least = least_of[store - ESK_STORE_INPLACE];
        for (uint32_t blocks = least; blocks <= least + 4; blocks++) {
            struct esk_model_tree model;
            struct esk_model_tree_table table = model_tree_plain(store);
            uint32_t full = 0;
            table.blocks = blocks;
            ESK_CONTEXT("store %u, %u blocks", store, blocks);
            model_tree_start(&model, &table);
            for (uint32_t i = 0; i < 600; i++) {
                int status = esk_model_tree_put(
                    &model, esk_model_tree_random(&model, model.range));
                ESK_CHECK(status == ESK_OK || status == ESK_FULL);
                full += status == ESK_FULL ? 1 : 0;
            }
            ESK_CHECK(full > 0 || blocks > 2);
            model_tree_verify_again(&model);
            esk_model_tree_free(&model);
        }
    }
}

ESK_TEST(put_many_stops_before_a_key_that_is_no_number) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_TNC; store++) {
        struct esk_model_tree model;
        uint8_t rows[10 * 32];
        float nan = NAN;
        uint32_t done = 0;
        uint32_t count = 0;
        struct esk_model_tree_table table = model_tree_plain(store);
        table.key_type = ESK_TYPE_F32;
        ESK_CONTEXT("store %u", store);
        model_tree_start(&model, &table);
        for (uint32_t i = 0; i < 10; i++) {
            esk_model_tree_row(&model, i, 1, rows + (size_t)i * 32);
        }
        memcpy(rows + 6 * 32 + 4, &nan, sizeof nan);
        ESK_CHECK_INT(esk_tree_put_many(model.tree, rows, 10, &done),
                      ESK_E_INVALID);
        ESK_CHECK_INT(done, 6);
        ESK_CHECK_INT(esk_tree_count(model.tree, &count), ESK_OK);
        ESK_CHECK_INT(count, 6);
        esk_model_tree_free(&model);
    }
}

/// Newest pages that a check reports after the next open.
static uint32_t unread_after_open(struct esk_model_tree *model) {
    struct esk_tree_report report;
    esk_tree_close(model->tree);
    ESK_CHECK_INT(esk_model_tree_open(model), ESK_OK);
    ESK_CHECK_INT(esk_tree_check(model->tree, &report), ESK_OK);
    return report.newest_unread;
}

/// Makes a tree of `puts` puts and more, until its root is not the first page
/// of a block, and damages a bit or all of the root's page.
static void newest_damage(struct esk_model_tree *model, uint8_t store,
                          const struct esk_geometry *geometry, uint32_t puts,
                          bool whole) {
    struct esk_model_tree_table table = model_tree_plain(store);
    ESK_CHECK_INT(esk_model_tree_make(model, &table, geometry, 1), ESK_OK);
    model_tree_puts(model, puts);
    do {
        model_tree_puts(model, 1);
    } while (model->tree->now.root % 8 == 0);
    ESK_CHECK_INT(esk_tree_sync(model->tree), ESK_OK);
    ESK_CHECK_INT(unread_after_open(model), 0);
    uint32_t page = esk_ring_page(&model->tree->ring, model->tree->now.root);
    if (whole) {
        memset(model->page, 0x5A, 512);
        ESK_CHECK_INT(esk_sim_poke(model->sim, page, 0, model->page, 512),
                      ESK_OK);
    } else {
        ESK_CHECK_INT(esk_sim_flip(model->sim, page, 2345), ESK_OK);
    }
}

/// check reports a newest page that cannot be read, also after more changes.
ESK_TEST(tree_that_moves_never_forgets_a_newest_page_that_was_damaged) {
    static const struct esk_geometry media[] = {ESK_NAND(160, 8, 512),
                                                ESK_CARD(160, 8, 512)};
    for (uint32_t i = 0; i < 16; i++) {
        struct esk_model_tree model;
        uint8_t store = i % 2 == 0 ? ESK_STORE_WANDERING : ESK_STORE_MU;
        uint32_t puts = i / 2 % 2 == 0 ? 60 : 1500;
        ESK_CONTEXT("store %u, %u puts, medium %u, whole %u", store, puts,
                    i / 4 % 2, i / 8);
        newest_damage(&model, store, &media[i / 4 % 2], puts, i / 8 > 0);
        for (uint32_t opens = 0; opens < 4; opens++) {
            ESK_CHECK_INT(unread_after_open(&model), 1);
            for (uint32_t number = 0; number < opens * 40; number++) {
                int status = esk_model_tree_put(&model, number);
                ESK_CHECK_INT(status, ESK_OK);
            }
        }
        ESK_CHECK_INT(unread_after_open(&model), 1);
        esk_model_tree_free(&model);
    }
}

ESK_TEST_MAIN()
