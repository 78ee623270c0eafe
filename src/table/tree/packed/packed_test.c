// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The tnc store: what it refuses, and pages whose bytes are anything.
#include "index/btree/btree_format.h"
#include "test/harness/arena.h"
#include "test/harness/tree_fixture.h"

static struct esk_model_tree_table tnc_table(uint8_t frames) {
    struct esk_model_tree_table table = model_tree_plain(ESK_STORE_TNC);
    table.blocks = 40;
    table.frames = frames;
    return table;
}

ESK_TEST(tnc_tree_is_never_higher_than_its_frames_allow) {
    for (uint8_t frames = 5; frames <= 9; frames = (uint8_t)(frames + 2)) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = tnc_table(frames);
        struct esk_tree_stats stats;
        ESK_CONTEXT("%u frames", frames);
        model_tree_start(&model, &table);
        model_tree_fill(&model);
        esk_tree_stats(model.tree, &stats);
        ESK_CHECK_INT(stats.height, (frames - 3) / 2);
        model_tree_verify(&model);
        esk_tree_close(model.tree);
        model.table.frames = (uint8_t)(frames - 1);
        ESK_CHECK_INT(esk_model_tree_open(&model),
                      frames == 5 ? ESK_E_INVALID : ESK_E_NO_MEMORY);
        model.table.frames = frames;
        ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
        model_tree_verify(&model);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(tnc_tree_refuses_a_batch_larger_than_its_region) {
    struct esk_model_tree model;
    struct esk_model_tree_table table = tnc_table(19);
    model_tree_start(&model, &table);
    model_tree_puts(&model, 60);
    ESK_CHECK_INT(esk_tree_begin(model.tree, 100000), ESK_FULL);
    ESK_CHECK_INT(esk_tree_begin(model.tree, 300), ESK_FULL);
    ESK_CHECK_INT(esk_tree_begin(model.tree, 20), ESK_OK);
    ESK_CHECK_INT(esk_tree_commit(model.tree), ESK_OK);
    model_tree_verify(&model);
    esk_model_tree_free(&model);
}

ESK_TEST(tnc_tree_never_reads_a_node_that_was_there_a_lap_ago) {
    struct esk_model_tree model;
    struct esk_model_tree_table table = tnc_table(250);
    table.blocks = 20;
    table.merges = true;
    table.key_range = 100;
    model_tree_start(&model, &table);
    for (uint32_t round = 0; round < 4; round++) {
        for (uint32_t i = 0; i < 100; i++) {
            ESK_CHECK_INT(esk_model_tree_put(&model, i), ESK_OK);
        }
        ESK_CHECK_INT(esk_tree_sync(model.tree), ESK_OK);
        /* Merging leaves frames with nodes that are in no tree. */
        for (uint32_t i = 0; i < 100; i++) {
            if (i % 8 != round) {
                ESK_CHECK_INT(esk_model_tree_delete(&model, i), ESK_OK);
            }
        }
        for (uint32_t i = 0; i < 200; i++) {
            ESK_CHECK_INT(esk_model_tree_put(&model, round), ESK_OK);
            ESK_CHECK_INT(esk_tree_sync(model.tree), ESK_OK);
        }
        model_tree_verify(&model);
    }
    esk_model_tree_free(&model);
}

/// Reads everything, changes a little, and mounts again.
static uint32_t everything_do(struct esk_model_tree *model) {
    struct esk_tree_cursor cursor;
    struct esk_tree_report report;
    uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
    uint32_t damaged = 0;
    ESK_CHECK_INT(esk_tree_cursor_open(model->tree, &cursor, NULL), ESK_OK);
    int status = ESK_OK;
    for (uint32_t i = 0; i < 2000 && status != ESK_END; i++) {
        status = esk_tree_cursor_next(model->tree, &cursor, row);
        damaged += status == ESK_E_CORRUPT ? 1 : 0;
    }
    ESK_CHECK_INT(status, ESK_END);
    damaged += esk_tree_check(model->tree, &report) == ESK_E_CORRUPT ? 1 : 0;
    for (uint32_t i = 0; i < 40; i++) {
        (void)esk_model_tree_put(model, i * 7u % model->range);
        (void)esk_tree_sync(model->tree);
    }
    return damaged;
}

ESK_TEST(tnc_tree_takes_any_bytes_of_a_page) {
    struct esk_model_tree model;
    struct esk_model_tree_table table = tnc_table(19);
    struct esk_sim *saved = NULL;
    struct esk_table_info info;
    struct esk_tree_walk walk;
    struct esk_tree_node root;
    uint32_t damaged = 0;
    table.checksum = ESK_CHECKSUM_NONE;
    model_tree_start(&model, &table);
    model_tree_puts(&model, 80);
    ESK_CHECK_INT(esk_tree_walk_open(model.tree, &walk), ESK_OK);
    ESK_CHECK_INT(esk_tree_walk_next(model.tree, &walk, &root), ESK_OK);
    ESK_CHECK_INT(esk_volume_find(&model.volume, "model", &info), ESK_OK);
    esk_tree_close(model.tree);
    ESK_CHECK_INT(esk_sim_clone(&saved, model.sim), ESK_OK);
    const struct esk_geometry *geometry = &model.device->geometry;
    uint32_t page = info.block[0] * geometry->block_pages + root.address;
    for (uint16_t at = ESK_TREE_PAGE_LOW; at < geometry->page_bytes; at++) {
        static const uint8_t values[] = {0x00, 0x7F, 0xFF};
        for (size_t i = 0; i < sizeof values; i++) {
            ESK_CONTEXT("byte %u is %u", at, values[i]);
            esk_sim_restore(model.sim, saved);
            ESK_CHECK_INT(esk_sim_poke(model.sim, page, at, &values[i], 1),
                          ESK_OK);
            ESK_CHECK_INT(
                esk_volume_mount(&model.volume, model.device, 0, TEST_SCRATCH),
                ESK_OK);
            int status = esk_model_tree_open(&model);
            ESK_CHECK(status == ESK_OK || status == ESK_E_CORRUPT);
            if (status == ESK_OK) {
                damaged += everything_do(&model);
                esk_tree_close(model.tree);
            }
        }
    }
    ESK_CHECK(damaged > 20);
    esk_sim_destroy(saved);
    esk_model_tree_free(&model);
}

ESK_TEST_MAIN()
