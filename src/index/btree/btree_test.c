// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Layout of nodes in a page, and the operations on them.
#include "index/btree/btree.h"

#include "esker/schema.h"
#include "test/harness/esk_test.h"

static struct esk_btree_layout layout_of(uint16_t page_bytes, uint8_t k,
                                         uint16_t row_bytes) {
    struct esk_btree_layout layout = {.row_bytes = row_bytes,
                                      .key_bytes = 4,
                                      .key_type = ESK_TYPE_U32,
                                      .counts_inside = true};
    esk_btree_layout_shared(&layout, page_bytes, k);
    return layout;
}

ESK_TEST(shared_layout_gives_each_level_k_of_what_is_left) {
    /* mutree-2007, Fig. 4: halves of a page of 4,096 bytes. */
    struct esk_btree_layout layout = layout_of(4096, 50, 8);
    static const uint16_t entries[] = {254, 126, 63, 31};
    ESK_CHECK_INT(layout.height_max, 8);
    for (uint8_t level = 1; level <= 4; level++) {
        ESK_CHECK_INT(esk_btree_capacity(&layout, level, 5),
                      entries[level - 1]);
        ESK_CHECK_INT(esk_btree_capacity(&layout, level, level),
                      2 * entries[level - 1] - 1);
    }
    ESK_CHECK(esk_btree_layout_is_sound(&layout));
}

ESK_TEST(root_of_a_shared_page_splits_into_two_nodes_for_any_k) {
    for (uint8_t k = 10; k <= 90; k++) {
        for (uint16_t page = 128; page <= 16384; page = (uint16_t)(page * 2)) {
            struct esk_btree_layout layout = layout_of(page, k, 12);
            ESK_CONTEXT("k %u, page %u", k, page);
            for (uint8_t level = 1; level < layout.height_max; level++) {
                uint16_t root = esk_btree_capacity(&layout, level, level);
                uint16_t node =
                    esk_btree_capacity(&layout, level, (uint8_t)(level + 1));
                ESK_CHECK(node >= 2);
                ESK_CHECK(root < 2 * node);
                ESK_CHECK(layout.offset[level - 1] < layout.offset[level]);
            }
            ESK_CHECK_INT(layout.offset[layout.height_max], page);
        }
    }
}

ESK_TEST(shared_layout_that_has_no_room_for_two_levels_is_not_sound) {
    struct esk_btree_layout layout = layout_of(128, 50, 40);
    ESK_CHECK_INT(layout.height_max, 1);
    ESK_CHECK(!esk_btree_layout_is_sound(&layout));
    layout = layout_of(31, 50, 8);
    ESK_CHECK(!esk_btree_layout_is_sound(&layout));
    layout.counts_inside = false;
    esk_btree_layout_whole(&layout, 16, 40);
    ESK_CHECK(esk_btree_layout_is_sound(&layout));
    layout.row_bytes = 13;
    esk_btree_layout_whole(&layout, 16, 40);
    ESK_CHECK(!esk_btree_layout_is_sound(&layout));
    layout.row_bytes = 8;
    layout.key_bytes = 12;
    esk_btree_layout_whole(&layout, 16, 40);
    ESK_CHECK(!esk_btree_layout_is_sound(&layout));
}

ESK_TEST(node_insert_search_remove_and_split_keep_order) {
    static uint8_t pages[2][512];
    struct esk_btree_layout layout = layout_of(512, 70, 6);
    struct esk_btree_node node;
    struct esk_btree_node right;
    bool found = false;
    esk_btree_view(&layout, pages[0], 1, 3, &node);
    esk_btree_view(&layout, pages[1], 1, 3, &right);
    esk_store_u16(node.count, 0);
    for (uint32_t i = 0; i < node.capacity; i++) {
        uint8_t row[6] = {0};
        uint32_t key = i * 2654435761u;
        esk_store_u32(row, key);
        uint16_t at = esk_btree_search(&layout, &node, 0, row, &found);
        ESK_CHECK(!found);
        esk_btree_insert(&node, at, row);
        ESK_CHECK(esk_btree_rises(&layout, &node, true));
    }
    ESK_CHECK_INT(esk_btree_count(&node), node.capacity);
    uint16_t half = (uint16_t)(node.capacity / 2);
    esk_btree_split(&node, half, &right);
    ESK_CHECK_INT(esk_btree_count(&node), half);
    ESK_CHECK_INT(esk_btree_count(&right), node.capacity - half);
    ESK_CHECK(esk_btree_compare(&layout,
                                esk_btree_key(&node, (uint16_t)(half - 1)),
                                esk_btree_key(&right, 0)) < 0);
    uint8_t key[4];
    memcpy(key, esk_btree_key(&node, 3), 4);
    ESK_CHECK_INT(esk_btree_search(&layout, &node, 0, key, &found), 3);
    ESK_CHECK(found);
    esk_btree_remove(&node, 3);
    ESK_CHECK_INT(esk_btree_search(&layout, &node, 0, key, &found), 3);
    ESK_CHECK(!found);
    memcpy(esk_btree_key(&node, 1), esk_btree_key(&node, 2), 4);
    ESK_CHECK(!esk_btree_rises(&layout, &node, true));
    ESK_CHECK(!esk_btree_rises(&layout, &node, false));
}

ESK_TEST_MAIN()
