// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Forged pages that no checksum detects.
#include "test/harness/tree_fixture.h"

/// Bytes that a checksum would have caught: no call may crash or hang.
ESK_TEST(tree_survives_hostile_pages) {
    for (uint8_t run = 0; run < 8; run++) {
        uint8_t store = (uint8_t)(ESK_STORE_INPLACE + run % 4);
        struct esk_model_tree model;
        struct esk_sim *whole = NULL;
        struct esk_table_info info;
        struct esk_model_tree_table table = model_tree_plain(store);
        table.checksum = ESK_CHECKSUM_NONE;
        table.blocks = 24;
        table.policy = ESK_TREE_LRU_N;
        table.frames = 4;
        table.merges = run >= 4;
        table.batch_pages =
            esk_model_tree_overwrites(store) && run >= 4 ? 40 : 0;
        model_tree_start(&model, &table);
        model_tree_puts(&model, 150);
        ESK_CHECK_INT(esk_sim_clone(&whole, model.sim), ESK_OK);
        ESK_CHECK_INT(esk_volume_find(&model.volume, "model", &info), ESK_OK);
        for (uint32_t i = 0; i < 1500; i++) {
            struct esk_tree_report report;
            uint32_t changes = 1 + esk_model_tree_random(&model, 4);
            ESK_CONTEXT("run %u, image %u", run, i);
            esk_sim_restore(model.sim, whole);
            esk_tree_close(model.tree);
            for (uint32_t n = 0; n < changes; n++) {
                uint32_t page =
                    info.block[0] * 8 +
                    esk_model_tree_random(&model, info.blocks[0] * 8);
                uint16_t at = (uint16_t)(4 + esk_model_tree_random(&model, 64));
                uint8_t bytes[4];
                for (size_t b = 0; b < sizeof bytes; b++) {
                    uint32_t value = esk_model_tree_random(&model, 3);
                    bytes[b] =
                        (uint8_t)(value == 0 ? 0xFF
                                  : value == 1
                                      ? 0
                                      : esk_model_tree_random(&model, 256));
                }
                esk_sim_poke(model.sim, page, at, bytes,
                             (uint16_t)(1 + esk_model_tree_random(&model, 4)));
            }
            if (esk_model_tree_open(&model) != ESK_OK) {
                esk_sim_restore(model.sim, whole);
                ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
                continue;
            }
            for (uint32_t n = 0; n < 30; n++) {
                (void)esk_model_tree_call(&model);
                if (model.in_batch) {
                    (void)esk_tree_abort(model.tree);
                    model.in_batch = false;
                }
            }
            (void)esk_model_tree_verify(&model);
            (void)esk_tree_check(model.tree, &report);
            esk_tree_close(model.tree);
            if (esk_model_tree_open(&model) != ESK_OK) {
                esk_sim_restore(model.sim, whole);
                ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
            }
        }
        esk_sim_destroy(whole);
        esk_model_tree_free(&model);
    }
}

/// The region page with the largest sequence number.
static uint32_t newest_page(struct esk_model_tree *model,
                            const struct esk_table_info *info) {
    uint32_t pages = model->device->geometry.block_pages;
    uint32_t newest = 0;
    uint32_t found = 0;
    for (uint32_t at = 0; at < info->blocks[0] * pages; at++) {
        uint32_t page = info->block[0] * pages + at;
        esk_sim_peek(model->sim, page, model->page);
        uint32_t sequence =
            (uint32_t)model->page[8] | (uint32_t)model->page[9] << 8 |
            (uint32_t)model->page[10] << 16 | (uint32_t)model->page[11] << 24;
        if (sequence != UINT32_MAX && sequence >= newest) {
            newest = sequence;
            found = page;
        }
    }
    return found;
}

ESK_TEST(root_that_names_itself_as_its_only_child_is_corrupt) {
    static const uint8_t self[4] = {0xFF, 0xFF, 0xFF, 0xFF};
    struct esk_model_tree model;
    struct esk_table_info info;
    struct esk_tree_stats stats;
    struct esk_model_tree_table table = model_tree_plain(ESK_STORE_WANDERING);
    table.checksum = ESK_CHECKSUM_NONE;
    model_tree_start(&model, &table);
    uint32_t number = 0;
    do {
        ESK_CHECK_INT(esk_model_tree_put(&model, number), ESK_OK);
        number++;
        esk_tree_stats(model.tree, &stats);
    } while (stats.height < 2);
    ESK_CHECK_INT(esk_volume_find(&model.volume, "model", &info), ESK_OK);
    esk_tree_close(model.tree);
    esk_sim_poke(model.sim, newest_page(&model, &info), 40 + 2 + 4, self, 4);
    ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
    ESK_CHECK_INT(esk_model_tree_delete(&model, number - 1), ESK_E_CORRUPT);
    esk_model_tree_free(&model);
}

/// Forges a byte of every page of the table and opens it again.
static int byte_forged(struct esk_model_tree *model, uint16_t at,
                       uint8_t value) {
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&model->volume, "model", &info), ESK_OK);
    uint32_t pages = model->device->geometry.block_pages;
    esk_tree_close(model->tree);
    for (uint32_t i = 0; i < info.blocks[0] * pages; i++) {
        uint32_t page = info.block[0] * pages + i;
        esk_sim_peek(model->sim, page, model->page);
        if (model->page[6] != 0xFF && model->page[6] != 0) {
            esk_sim_poke(model->sim, page, at, &value, 1);
        }
    }
    return esk_model_tree_open(model);
}

ESK_TEST(tree_refuses_heights_levels_and_homes_that_cannot_be) {
    struct esk_model_tree model;
    struct esk_model_tree_table table = model_tree_plain(ESK_STORE_MU);
    uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
    uint8_t key[8];
    table.checksum = ESK_CHECKSUM_NONE;
    model_tree_start(&model, &table);
    model_tree_puts(&model, 100);
    ESK_CHECK_INT(byte_forged(&model, 18, 0), ESK_E_CORRUPT); /* height */
    esk_model_tree_free(&model);
    table.store = ESK_STORE_INPLACE;
    model_tree_start(&model, &table);
    model_tree_puts(&model, 100);
    /* Every node has the level of a leaf, or level 2. */
    ESK_CHECK_INT(byte_forged(&model, 6, 0x62), ESK_OK);
    esk_model_tree_key(&model, 3, key);
    ESK_CHECK_INT(esk_tree_get(model.tree, key, row), ESK_E_CORRUPT);
    esk_model_tree_free(&model);
    table.store = ESK_STORE_JOURNALED;
    model_tree_start(&model, &table);
    model_tree_puts(&model, 100);
    /* The page in the journal is for its own place, or one outside the region:
       then it belongs nowhere. */
    struct esk_table_info info;
    uint8_t home[4] = {0};
    ESK_CHECK_INT(esk_volume_find(&model.volume, "model", &info), ESK_OK);
    for (uint8_t value = 0; value < 2; value++) {
        memset(home, value == 0 ? 0 : 0x7F, sizeof home);
        esk_tree_close(model.tree);
        esk_sim_poke(model.sim, info.block[0] * 8, 8, home, 4);
        ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
        ESK_CHECK_HELD(esk_model_tree_verify(&model), model.why);
    }
    esk_model_tree_free(&model);
}

/// Gets that end as corrupt, of the rows of all possible keys.
static uint32_t corrupt_gets(struct esk_model_tree *model) {
    uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
    uint8_t key[8];
    uint32_t corrupt = 0;
    for (uint32_t number = 0; number < model->range; number++) {
        esk_model_tree_key(model, number, key);
        corrupt += esk_tree_get(model->tree, key, row) == ESK_E_CORRUPT;
    }
    return corrupt;
}

ESK_TEST(tree_refuses_counts_and_children_that_cannot_be) {
    struct esk_model_tree model;
    struct esk_model_tree_table table = model_tree_plain(ESK_STORE_INPLACE);
    table.checksum = ESK_CHECKSUM_NONE;
    model_tree_start(&model, &table);
    model_tree_puts(&model, 100);
    ESK_CHECK_INT(corrupt_gets(&model), 0);
    /* Every node has 200 entries, or none. */
    ESK_CHECK_INT(byte_forged(&model, 4, 200), ESK_OK);
    ESK_CHECK_INT(corrupt_gets(&model), model.range);
    ESK_CHECK_INT(byte_forged(&model, 4, 0), ESK_OK);
    ESK_CHECK_INT(corrupt_gets(&model), model.range);
    /* The first child of the root is the tag of an empty frame. */
    ESK_CHECK_INT(byte_forged(&model, 4, 2), ESK_OK);
    for (uint16_t at = 20; at < 24; at++) {
        ESK_CHECK_INT(byte_forged(&model, at, 0xFF), ESK_OK);
    }
    ESK_CHECK(corrupt_gets(&model) > 0);
    esk_model_tree_free(&model);
}

/// A child of all ones is in its parent's page, but only where nodes share
/// pages: a walk over the rows, which has no key, ends as corrupt.
ESK_TEST(tree_whose_nodes_share_no_page_refuses_a_child_in_its_own_page) {
    static const uint8_t stores[] = {ESK_STORE_INPLACE, ESK_STORE_WANDERING};
    for (uint8_t i = 0; i < 2; i++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = model_tree_plain(stores[i]);
        struct esk_tree_cursor cursor;
        uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
        uint16_t first = stores[i] == ESK_STORE_INPLACE ? 20 : 46;
        ESK_CONTEXT("store %u", stores[i]);
        table.checksum = ESK_CHECKSUM_NONE;
        model_tree_start(&model, &table);
        model_tree_puts(&model, 100);
        for (uint16_t at = first; at < first + 4; at++) {
            ESK_CHECK_INT(byte_forged(&model, at, 0xFF), ESK_OK);
        }
        ESK_CHECK_INT(esk_tree_cursor_open(model.tree, &cursor, NULL), ESK_OK);
        ESK_CHECK_INT(esk_tree_cursor_next(model.tree, &cursor, row),
                      ESK_E_CORRUPT);
        esk_model_tree_free(&model);
    }
}

/// The number of nodes in a root says how fast the collector goes: a tree whose
/// roots all say 0 still takes changes, and check tells.
ESK_TEST(tree_whose_roots_count_no_nodes_takes_changes) {
    for (uint8_t store = ESK_STORE_WANDERING; store <= ESK_STORE_TNC; store++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = model_tree_plain(store);
        ESK_CONTEXT("store %u", store);
        table.checksum = ESK_CHECKSUM_NONE;
        model_tree_start(&model, &table);
        for (uint32_t i = 0; i < table.key_range; i++) {
            ESK_CHECK_INT(esk_model_tree_put(&model, i), ESK_OK);
        }
        for (uint16_t at = 24; at < 28; at++) {
            ESK_CHECK_INT(byte_forged(&model, at, 0), ESK_OK);
        }
        /* No key is new, so no split makes it more. */
        for (uint32_t i = 0; i < 2000; i++) {
            ESK_CHECK_INT(esk_model_tree_put(&model, i % table.key_range),
                          ESK_OK);
        }
        struct esk_tree_report report;
        ESK_CHECK_INT(esk_tree_check(model.tree, &report), ESK_E_CORRUPT);
        ESK_CHECK_INT(report.nodes_wrong, 1);
        ESK_CHECK_INT(report.pages_damaged + report.order_wrong, 0);
        esk_model_tree_free(&model);
    }
}

ESK_TEST_MAIN()
