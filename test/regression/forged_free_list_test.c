// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A free list that names an inner node as free: the split of a leaf below it
/// wrote the new leaf over it, and then put the entry that leads there behind
/// the last row of that leaf, outside the page.
#include "table/tree/tree.h"
#include "test/harness/bush_rig.h"

/// Makes every entry of the list name page `at`.
static void list_forge(struct esk_bush *bush, uint32_t at) {
    uint32_t list = bush->tree->free->list;
    uint32_t count = bush_peek(bush, list, ESK_ENVELOPE_COUNT) & 0xFFFFu;
    ESK_CHECK(count > 0);
    for (uint16_t i = 0; i < count; i++) {
        bush_poke(bush, list, (uint16_t)(ESK_TREE_FREE_BODY + 4 * i), at);
    }
    ESK_CHECK_HELD(esk_bush_remount(bush), bush->why);
}

/// Puts every number that has no row, from `first` on. Returns how many puts
/// say that the table is corrupt.
static uint32_t numbers_put(struct esk_bush *bush, uint32_t first) {
    uint32_t corrupt = 0;
    for (uint32_t i = 0; i < bush->range; i++) {
        uint32_t number = (first + i) % bush->range;
        int status = ESK_OK;
        if (bush->model.version[number] == 0) {
            status = esk_bush_put(bush, number);
        }
        ESK_CHECK(status == ESK_OK || status == ESK_FULL ||
                  status == ESK_E_CORRUPT);
        corrupt += status == ESK_E_CORRUPT ? 1 : 0;
    }
    return corrupt;
}

ESK_TEST(list_that_names_a_page_in_use_writes_outside_no_page) {
    static const struct esk_geometry card = ESK_CARD(160, 8, 128);
    struct esk_bush_table table = {.store = ESK_STORE_INPLACE,
                                   .key_type = ESK_TYPE_U32,
                                   .pad_bytes = 14,
                                   .key_range = 1200,
                                   .blocks = 14,
                                   .checksum = ESK_CHECKSUM_NONE,
                                   .merges = true};
    for (uint32_t number = 0; number < 1200; number += 50) {
        struct esk_bush bush;
        uint8_t key[8];
        ESK_CONTEXT("the parent of number %u", number);
        ESK_CHECK_INT(esk_bush_make(&bush, &table, &card, 7), ESK_OK);
        bush_fill(&bush);
        for (uint32_t i = 0; i < 200; i++) {
            (void)esk_bush_delete(&bush, esk_bush_random(&bush, 1200));
        }
        esk_bush_key(&bush, number, key);
        ESK_CHECK_INT(esk_tree_descend(bush.tree, &bush.tree->path, key,
                                       ESK_TREE_FIRST, 1, NULL),
                      ESK_OK);
        list_forge(&bush, bush.tree->path.address[1]);
        ESK_CHECK(numbers_put(&bush, number) > 0);
        esk_bush_free(&bush);
    }
}

ESK_TEST_MAIN()
