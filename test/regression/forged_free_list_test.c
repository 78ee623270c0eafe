// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A free list that names an inner node as free: the split of a leaf below it
/// wrote the new leaf over it, and then put the entry that leads there behind
/// the last row of that leaf, outside the page.
#include "table/tree/tree.h"
#include "test/harness/tree_fixture.h"

/// Makes every entry of the list name page `at`.
static void list_forge(struct esk_model_tree *model, uint32_t at) {
    uint32_t list = model->tree->free->list;
    uint32_t count = model_tree_peek(model, list, ESK_ENVELOPE_COUNT) & 0xFFFFu;
    ESK_CHECK(count > 0);
    for (uint16_t i = 0; i < count; i++) {
        model_tree_poke(model, list, (uint16_t)(ESK_TREE_FREE_BODY + 4 * i),
                        at);
    }
    ESK_CHECK_HELD(esk_model_tree_remount(model), model->why);
}

/// Puts every number that has no row, from `first` on. Returns how many puts
/// say that the table is corrupt.
static uint32_t numbers_put(struct esk_model_tree *model, uint32_t first) {
    uint32_t corrupt = 0;
    for (uint32_t i = 0; i < model->range; i++) {
        uint32_t number = (first + i) % model->range;
        int status = ESK_OK;
        if (model->expected.version[number] == 0) {
            status = esk_model_tree_put(model, number);
        }
        ESK_CHECK(status == ESK_OK || status == ESK_FULL ||
                  status == ESK_E_CORRUPT);
        corrupt += status == ESK_E_CORRUPT ? 1 : 0;
    }
    return corrupt;
}

ESK_TEST(list_that_names_a_page_in_use_writes_outside_no_page) {
    static const struct esk_geometry card = ESK_CARD(160, 8, 128);
    struct esk_model_tree_table table = {.store = ESK_STORE_INPLACE,
                                         .key_type = ESK_TYPE_U32,
                                         .pad_bytes = 14,
                                         .key_range = 1200,
                                         .blocks = 14,
                                         .checksum = ESK_CHECKSUM_NONE,
                                         .merges = true};
    for (uint32_t number = 0; number < 1200; number += 50) {
        struct esk_model_tree model;
        uint8_t key[8];
        ESK_CONTEXT("the parent of number %u", number);
        ESK_CHECK_INT(esk_model_tree_make(&model, &table, &card, 7), ESK_OK);
        model_tree_fill(&model);
        for (uint32_t i = 0; i < 200; i++) {
            (void)esk_model_tree_delete(&model,
                                        esk_model_tree_random(&model, 1200));
        }
        esk_model_tree_key(&model, number, key);
        ESK_CHECK_INT(esk_tree_descend(model.tree, &model.tree->path, key,
                                       ESK_TREE_FIRST, 1, NULL),
                      ESK_OK);
        list_forge(&model, model.tree->path.address[1]);
        ESK_CHECK(numbers_put(&model, number) > 0);
        esk_model_tree_free(&model);
    }
}

ESK_TEST_MAIN()
