// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A node that is split by a key below its first one: its left half was named
/// by the old first key, which can be in the right half. The tree's rows were
/// right, but its check reported a node that no search for its own keys finds.
#include "test/harness/tree_fixture.h"

enum { KEYS = 400, PUTS = 300 };

/// Leaves and inner nodes of these hold two or three entries.
static const struct {
    uint8_t store;
    uint16_t page_bytes;
    uint16_t key_bytes;
    uint16_t pad_bytes;
} shapes[] = {
    {ESK_STORE_WANDERING, 256, 76, 0}, {ESK_STORE_WANDERING, 256, 76, 26},
    {ESK_STORE_WANDERING, 256, 98, 4}, {ESK_STORE_MU, 512, 20, 96},
    {ESK_STORE_MU, 512, 28, 84},       {ESK_STORE_MU, 512, 48, 60},
    {ESK_STORE_MU, 512, 44, 40},
};

ESK_TEST(node_is_named_by_its_first_key_however_few_entries_it_holds) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct esk_model_tree model;
        struct esk_tree_report report;
        struct esk_tree_stats stats;
        struct esk_geometry nand =
            ESK_NAND(200, 8, (uint16_t)shapes[i].page_bytes);
        struct esk_model_tree_table table = {.store = shapes[i].store,
                                             .key_type = ESK_TYPE_BYTES,
                                             .key_bytes = shapes[i].key_bytes,
                                             .pad_bytes = shapes[i].pad_bytes,
                                             .key_range = KEYS};
        ESK_CONTEXT("store %u, keys of %u bytes", table.store, table.key_bytes);
        ESK_CHECK_INT(esk_model_tree_make(&model, &table, &nand, 1), ESK_OK);
        int status = ESK_OK;
        for (uint32_t put = 0; put < PUTS && status == ESK_OK; put++) {
            status =
                esk_model_tree_put(&model, esk_model_tree_random(&model, KEYS));
            ESK_CHECK_INT(esk_tree_check(model.tree, &report), ESK_OK);
        }
        esk_tree_stats(model.tree, &stats);
        ESK_CHECK(stats.height >= 3);
        esk_model_tree_free(&model);
    }
}

ESK_TEST_MAIN()
