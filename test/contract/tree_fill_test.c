// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// How full a sorted load fills the nodes of every store: a level has as many
/// nodes as its entries need, and those on the right edge.
#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_tree.h"

enum { ROWS = 4000, LEVELS = ESK_TREE_HEIGHT_MAX };

struct fill {
    uint32_t nodes[LEVELS];
    uint32_t entries[LEVELS];
    uint32_t capacity[LEVELS]; ///< of a node that is not the root
    uint8_t height;
};

static struct fill fill_of(struct esk_model_tree *model) {
    struct fill fill = {.height = 0};
    struct esk_tree_walk walk;
    struct esk_tree_node node;
    ESK_CHECK_INT(esk_tree_walk_open(model->tree, &walk), ESK_OK);
    int status = esk_tree_walk_next(model->tree, &walk, &node);
    while (status == ESK_OK) {
        uint8_t at = (uint8_t)(node.level - 1u);
        fill.height = node.level > fill.height ? node.level : fill.height;
        fill.nodes[at]++;
        fill.entries[at] += node.count;
        fill.capacity[at] = node.capacity;
        status = esk_tree_walk_next(model->tree, &walk, &node);
    }
    ESK_CHECK_INT(status, ESK_END);
    return fill;
}

/// Puts all rows in key order, `many` a call.
static void load(struct esk_model_tree *model, uint32_t many) {
    uint8_t rows[100 * 32];
    for (uint32_t n = 0; n < ROWS; n += many) {
        uint32_t done = 0;
        for (uint32_t i = 0; i < many; i++) {
            esk_model_tree_row(model, n + i, 1, rows + i * model->row_bytes);
            model->expected.version[n + i] = 1;
        }
        ESK_CHECK_INT(esk_tree_put_many(model->tree, rows, many, &done),
                      ESK_OK);
        ESK_CHECK_INT(done, many);
    }
    model->expected.rows = ROWS;
}

ESK_TEST(sorted_load_fills_every_level_but_for_its_right_edge) {
    static const struct esk_geometry nand = ESK_NAND(200, 16, 512);
    static const struct esk_geometry card = ESK_CARD(200, 16, 512);
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_TNC; store++) {
        for (uint32_t many = 1; many <= 100; many *= 10) {
            struct esk_model_tree model;
            struct esk_model_tree_table table = {.store = store,
                                                 .key_type = ESK_TYPE_U32,
                                                 .pad_bytes = 8,
                                                 .key_range = ROWS};
            ESK_CONTEXT("store %u, %u rows a call", store, many);
            ESK_CHECK_INT(esk_model_tree_make(
                              &model, &table,
                              esk_model_tree_overwrites(store) ? &card : &nand,
                              1),
                          ESK_OK);
            load(&model, many);
            struct fill fill = fill_of(&model);
            ESK_CHECK(fill.height >= 3);
            for (uint8_t i = 0; i + 1 < fill.height; i++) {
                uint32_t needs =
                    (fill.entries[i] + fill.capacity[i] - 1) / fill.capacity[i];
                ESK_CHECK_INT(fill.nodes[i], needs);
            }
            ESK_CHECK_HELD(esk_model_tree_verify(&model), model.why);
            esk_model_tree_free(&model);
        }
    }
}

ESK_TEST_MAIN()
