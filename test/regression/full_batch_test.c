// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A batch in which the tree grew a level, and which used all of its room,
/// could not be committed, because the collector's share of the ring had grown,
/// too.
#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_tree.h"

ESK_TEST(batch_that_used_up_its_room_is_committed) {
    static const struct esk_geometry nand = ESK_NAND(60, 4, 256);
    for (uint8_t store = ESK_STORE_WANDERING; store <= ESK_STORE_TNC; store++) {
        uint32_t full = 0;
        uint32_t grown = 0;
        for (uint32_t rows = 1; rows < 60; rows++) {
            struct esk_model_tree model;
            struct esk_tree_stats before;
            struct esk_tree_stats after;
            struct esk_model_tree_table table = {.store = store,
                                                 .key_type = ESK_TYPE_BYTES,
                                                 .key_bytes = 20,
                                                 .pad_bytes = 15,
                                                 .key_range = 200,
                                                 .blocks = 24};
            if (store == ESK_STORE_MU) {
                table.key_bytes = 4;
            }
            ESK_CONTEXT("store %u, %u rows", store, rows);
            ESK_CHECK_INT(esk_model_tree_make(&model, &table, &nand, rows),
                          ESK_OK);
            for (uint32_t i = 0; i < rows; i++) {
                int status = esk_model_tree_put(&model, i * 3 % 200);
                ESK_CHECK(status == ESK_OK || status == ESK_FULL);
            }
            esk_tree_stats(model.tree, &before);
            int status = esk_tree_begin(model.tree, 0);
            ESK_CHECK(status == ESK_OK || status == ESK_FULL);
            if (status == ESK_OK) {
                for (uint32_t i = 0; status == ESK_OK && i < 200; i++) {
                    status = esk_model_tree_put(&model, i * 7 % 200);
                }
                full += status == ESK_FULL ? 1 : 0;
                esk_tree_stats(model.tree, &after);
                grown += after.height > before.height ? 1 : 0;
                ESK_CHECK_INT(esk_tree_commit(model.tree), ESK_OK);
            }
            ESK_CHECK_HELD(esk_model_tree_verify(&model) &&
                               esk_model_tree_remount(&model) &&
                               esk_model_tree_verify(&model),
                           model.why);
            /* Existing rows can be changed afterwards. */
            for (uint32_t i = 0; i < 200; i++) {
                bool there = model.expected.version[i] != 0;
                status = esk_model_tree_put(&model, i);
                ESK_CHECK(status == ESK_OK || (status == ESK_FULL && !there));
            }
            esk_model_tree_free(&model);
        }
        ESK_CHECK(full > 40);
        ESK_CHECK(grown > 4);
    }
}

ESK_TEST_MAIN()
