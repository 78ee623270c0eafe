// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A run of damaged pages where a binary search for the first page never used
/// looked made it stop short: new nodes were then written over pages in use.
/// The inner nodes say which those are, and the free list the others.
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

static void run_damage(struct esk_bush *bush, uint32_t first, uint32_t pages) {
    static const uint8_t rot[PAGE_BYTES] = {0x5A};
    for (uint32_t i = 0; i < pages; i++) {
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
    run_damage(&bush, at, RUN);
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

/// The last page that has a node.
static uint32_t node_last(struct esk_bush *bush) {
    struct esk_tree_walk walk;
    struct esk_tree_node node;
    uint32_t last = 0;
    ESK_CHECK_INT(esk_tree_walk_open(bush->tree, &walk), ESK_OK);
    while (esk_tree_walk_next(bush->tree, &walk, &node) == ESK_OK) {
        last = node.address > last ? node.address : last;
    }
    return last;
}

/// Free pages have no parent, and damaged ones look as if never used.
ESK_TEST(damaged_free_pages_at_the_end_are_not_given_out_twice) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        struct esk_bush bush;
        struct esk_tree_report report;
        ESK_CONTEXT("store %u", store);
        tree_make(&bush, store);
        rows_delete(&bush, ROWS / 2, ROWS);
        uint32_t head = bush.tree->ring.head;
        uint32_t last = node_last(&bush);
        ESK_CHECK(last + 3 < head && bush.tree->free->list < last);
        run_damage(&bush, last + 1, head - last - 1);
        ESK_CHECK_HELD(esk_bush_remount(&bush), bush.why);
        ESK_CHECK_INT(bush.tree->ring.head, head);
        int status = ESK_OK;
        for (uint32_t i = 0; i < 2 * ROWS && status == ESK_OK; i++) {
            status = esk_bush_put(&bush, i);
        }
        /* Then splits take the pages of the list. */
        ESK_CHECK_INT(status, ESK_FULL);
        bush_verify_again(&bush);
        ESK_CHECK_INT(esk_tree_check(bush.tree, &report), ESK_OK);
        /* Damaged ones may have been in doubt: nobody knows whose they are. */
        ESK_CHECK(report.pages_lost < head - last);
        esk_bush_free(&bush);
    }
}

ESK_TEST_MAIN()
