// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A tree in place of the greatest height split a leaf before it found its root
/// full: the put was refused, and half of the leaf's rows were lost until the
/// next mount, which could not restore them either.
#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_tree.h"

/// Three keys a node: the height is the limit, not the region.
static const struct esk_geometry card = ESK_CARD(600, 8, 128);
static const struct esk_geometry nand = ESK_NAND(600, 8, 128);

enum order { ORDER_RISING, ORDER_FALLING, ORDER_RANDOM, ORDER_COUNT };

static uint32_t number_at(struct esk_model_tree *model, enum order order,
                          uint32_t i) {
    return order == ORDER_RISING ? i
           : order == ORDER_FALLING
               ? model->range - 1u - i
               : esk_model_tree_random(model, model->range);
}

/// Puts every key: some are refused, and no row is lost.
static uint32_t fill(struct esk_model_tree *model, enum order order) {
    uint32_t refused = 0;
    for (uint32_t i = 0; i < model->range && refused < 30; i++) {
        uint32_t number = number_at(model, order, i);
        bool there = model->expected.version[number] != 0;
        int status = esk_model_tree_put(model, number);
        ESK_CHECK(status == ESK_OK || (status == ESK_FULL && !there));
        if (status == ESK_FULL) {
            refused++;
            ESK_CHECK_HELD(esk_model_tree_verify(model), model->why);
        }
    }
    return refused;
}

ESK_TEST(tree_of_the_last_height_that_refuses_a_row_loses_none) {
    uint8_t stride = (uint8_t)esk_test_stride(3);
    for (uint8_t run = 0; run < 8 * ORDER_COUNT; run += stride) {
        struct esk_model_tree model;
        struct esk_tree_stats stats;
        struct esk_model_tree_table table = {
            .store = (uint8_t)(ESK_STORE_INPLACE + run % 4),
            .key_type = ESK_TYPE_BYTES,
            .key_bytes = 28,
            .key_range = 4000,
            .blocks = 500,
            .merges = run / 4 % 2 == 1};
        bool overwrites = esk_model_tree_overwrites(table.store);
        if (table.store == ESK_STORE_MU) {
            table.key_bytes = 12;
        }
        ESK_CONTEXT("run %u", run);
        ESK_CHECK_INT(esk_model_tree_make(&model, &table,
                                          overwrites ? &card : &nand, run),
                      ESK_OK);
        uint32_t refused = fill(&model, run / 8);
        esk_tree_stats(model.tree, &stats);
        ESK_CHECK(refused > 0 || run / 8 == ORDER_RISING);
        ESK_CHECK(stats.nodes < 500 * 8 * 3 / 4);
        ESK_CHECK_HELD(esk_model_tree_remount(&model), model.why);
        ESK_CHECK_HELD(esk_model_tree_verify(&model), model.why);
        for (uint32_t i = 0; i < model.range; i++) {
            if (model.expected.version[i] != 0) {
                ESK_CHECK_INT(esk_model_tree_put(&model, i), ESK_OK);
            }
        }
        ESK_CHECK_HELD(esk_model_tree_verify(&model), model.why);
        esk_model_tree_free(&model);
    }
}

ESK_TEST_MAIN()
