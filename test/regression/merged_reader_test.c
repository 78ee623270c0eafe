// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A reader of a tree in place did not have the tree's free pages after merges:
/// its check reported them lost, and its statistics counted them as nodes.
#include <stdlib.h>

#include "test/harness/arena.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_tree.h"

static const struct esk_geometry sd = ESK_CARD(160, 8, 256);

/// Compares the reader's pages with the tree's.
static void pages_compare(struct esk_tree *tree, struct esk_tree *reader) {
    struct esk_tree_report of_tree;
    struct esk_tree_report of_reader;
    struct esk_tree_stats tree_stats;
    struct esk_tree_stats reader_stats;
    ESK_CHECK_INT(esk_tree_check(tree, &of_tree), ESK_OK);
    ESK_CHECK_INT(esk_tree_check(reader, &of_reader), ESK_OK);
    ESK_CHECK_INT(of_reader.nodes, of_tree.nodes);
    ESK_CHECK_INT(of_reader.pages_free, of_tree.pages_free);
    esk_tree_stats(tree, &tree_stats);
    esk_tree_stats(reader, &reader_stats);
    ESK_CHECK_INT(reader_stats.nodes, tree_stats.nodes);
}

ESK_TEST(reader_of_a_tree_that_merged_knows_the_free_pages) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        struct esk_model_tree model;
        struct esk_tree *reader = NULL;
        struct esk_model_tree_table table = {.store = store,
                                             .key_type = ESK_TYPE_U32,
                                             .pad_bytes = 11,
                                             .key_range = 1000,
                                             .merges = true};
        ESK_CONTEXT("store %u", store);
        ESK_CHECK_INT(esk_model_tree_make(&model, &table, &sd, 1), ESK_OK);
        for (uint32_t i = 0; i < 1000; i++) {
            ESK_CHECK_INT(esk_model_tree_put(&model, i), ESK_OK);
        }
        uint32_t bytes = esk_tree_reader_arena_bytes(model.tree, NULL);
        void *arena = malloc(bytes);
        ESK_CHECK_INT(test_tree_reader_open(&model.volume, &reader, model.tree,
                                            NULL, arena, bytes),
                      ESK_OK);
        pages_compare(model.tree, reader);
        for (uint32_t i = 0; i < 1000; i += i % 10 == 8 ? 2 : 1) {
            ESK_CHECK_INT(esk_model_tree_delete(&model, i), ESK_OK);
        }
        struct esk_tree_stats stats;
        esk_tree_stats(model.tree, &stats);
        ESK_CHECK(stats.merges > 10);
        pages_compare(model.tree, reader);
        esk_tree_close(reader);
        free(arena);
        esk_model_tree_free(&model);
    }
}

ESK_TEST_MAIN()
