// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A run of damaged pages where the search for the first page never used
/// looks made it stop short: new nodes were then written over pages in use.
/// The free list says which pages were in use when it was written.
#include "table/tree/tree.h"
#include "test/harness/bush_rig.h"

enum { ROWS = 250, RUN = 6, PAGE_BYTES = 512 };

static void rows_delete(struct esk_bush *bush, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++) {
        ESK_CHECK_INT(esk_bush_delete(bush, 2 * i), ESK_OK);
    }
}

static void tree_make(struct esk_bush *bush, uint8_t store) {
    struct esk_bush_table table = bush_plain(store);
    table.key_range = 2 * ROWS;
    table.pad_bytes = 100;
    table.blocks = 20;
    table.merges = true;
    bush_start(bush, &table);
    /* The first merges make the list, early, and the last ones write it. */
    for (uint32_t i = 0; i < ROWS; i++) {
        ESK_CHECK_INT(esk_bush_put(bush, 2 * i), ESK_OK);
        if (i == 60 || i == ROWS - 1) {
            rows_delete(bush, i / 4, i / 4 + 20);
        }
    }
    ESK_CHECK(bush->tree->merges > 0);
}

static void run_damage(struct esk_bush *bush, uint32_t first) {
    static const uint8_t rot[PAGE_BYTES] = {0x5A};
    for (uint32_t i = 0; i < RUN; i++) {
        ESK_CHECK_INT(esk_sim_poke(bush->sim,
                                   bush->tree->ring.first_page + first + i, 0,
                                   rot, PAGE_BYTES),
                      ESK_OK);
    }
}

static int row_get(struct esk_bush *bush, uint32_t number) {
    uint8_t key[32];
    uint8_t row[ESK_BUSH_ROW_BYTES_MAX];
    esk_bush_key(bush, number, key);
    return esk_tree_get(bush->tree, key, row);
}

/// Damages a run at `at`: what it spares is there, also after splits.
static void run_try(uint8_t store, uint32_t at) {
    struct esk_bush bush;
    int found[ROWS];
    ESK_CONTEXT("store %u, damage at %u", store, at);
    tree_make(&bush, store);
    uint32_t head = bush.tree->ring.head;
    run_damage(&bush, at);
    ESK_CHECK_HELD(esk_bush_remount(&bush), bush.why);
    for (uint32_t i = 0; i < ROWS; i++) {
        found[i] = row_get(&bush, 2 * i);
    }
    ESK_CHECK_INT(bush.tree->ring.head, head);
    uint32_t splits = bush.tree->splits;
    for (uint32_t i = 1; i < 2 * ROWS; i += 6) {
        /* The way there may lead over what is damaged. */
        int status = esk_bush_put(&bush, i);
        ESK_CHECK(status == ESK_OK || status == ESK_E_CORRUPT);
    }
    ESK_CHECK(bush.tree->splits > splits);
    for (uint32_t i = 0; i < ROWS; i++) {
        ESK_CHECK_INT(row_get(&bush, 2 * i), found[i]);
    }
    esk_bush_free(&bush);
}

ESK_TEST(damage_where_the_head_is_searched_gives_out_no_page_in_use) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        struct esk_bush bush;
        uint32_t tries = 0;
        ESK_CONTEXT("store %u", store);
        tree_make(&bush, store);
        uint32_t head = bush.tree->ring.head;
        uint32_t list = bush.tree->free->list;
        uint32_t low = 2;
        uint32_t high = esk_ring_pages(&bush.tree->ring);
        esk_bush_free(&bush);
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            bool spares_list = middle + RUN <= list || middle > list;
            if (middle + RUN <= head && spares_list) {
                run_try(store, middle);
                tries++;
            }
            low = middle < head ? middle + 1 : low;
            high = middle < head ? high : middle;
        }
        ESK_CHECK(tries > 0);
    }
}

ESK_TEST_MAIN()
