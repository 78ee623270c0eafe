// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A run of damaged pages misled the binary search for the first unused page:
/// new nodes were written over pages in use. Now the list says which pages were
/// never used, and the inner nodes say which of the others are free.
#include "table/tree/tree.h"
#include "test/harness/tree_fixture.h"

enum { ROWS = 250, RUN = 6, PAGE_BYTES = 512 };

static void rows_delete(struct esk_model_tree *model, uint32_t from,
                        uint32_t to) {
    for (uint32_t i = from; i < to; i++) {
        ESK_CHECK_INT(esk_model_tree_delete(model, 2 * i), ESK_OK);
    }
}

static void tree_make(struct esk_model_tree *model, uint8_t store) {
    struct esk_model_tree_table table = model_tree_plain(store);
    table.key_range = 2 * ROWS;
    table.pad_bytes = 100;
    table.blocks = 20;
    table.merges = true;
    model_tree_start(model, &table);
    for (uint32_t i = 0; i < ROWS; i++) {
        ESK_CHECK_INT(esk_model_tree_put(model, 2 * i), ESK_OK);
        if (i == 60 || i == ROWS - 1) {
            rows_delete(model, i / 4, i / 4 + 20);
        }
    }
    ESK_CHECK(model->tree->merges > 0);
}

static void run_damage(struct esk_model_tree *model, uint32_t first,
                       uint32_t pages) {
    static const uint8_t rot[PAGE_BYTES] = {0x5A};
    for (uint32_t i = 0; i < pages; i++) {
        ESK_CHECK_INT(
            esk_sim_poke(model->sim,
                         model->tree->ring.region.first_page + first + i, 0,
                         rot, PAGE_BYTES),
            ESK_OK);
    }
}

static int row_get(struct esk_model_tree *model, uint32_t number) {
    uint8_t key[32];
    uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
    esk_model_tree_key(model, number, key);
    return esk_tree_get(model->tree, key, row);
}

/// Damages a run at `at`: rows with undamaged paths are there, also after
/// splits.
static void run_try(uint8_t store, uint32_t at) {
    struct esk_model_tree model;
    int found[ROWS];
    ESK_CONTEXT("store %u, damage at %u", store, at);
    tree_make(&model, store);
    uint32_t head = model.tree->ring.head;
    run_damage(&model, at, RUN);
    ESK_CHECK_HELD(esk_model_tree_remount(&model), model.why);
    for (uint32_t i = 0; i < ROWS; i++) {
        found[i] = row_get(&model, 2 * i);
    }
    ESK_CHECK_INT(model.tree->ring.head, head);
    uint32_t splits = model.tree->splits;
    for (uint32_t i = 1; i < 2 * ROWS; i += 6) {
        /* The path may contain damaged pages. */
        int status = esk_model_tree_put(&model, i);
        ESK_CHECK(status == ESK_OK || status == ESK_E_CORRUPT);
    }
    ESK_CHECK(model.tree->splits > splits);
    for (uint32_t i = 0; i < ROWS; i++) {
        ESK_CHECK_INT(row_get(&model, 2 * i), found[i]);
    }
    esk_model_tree_free(&model);
}

ESK_TEST(damage_where_the_head_is_searched_reuses_no_page_in_use) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        struct esk_model_tree model;
        uint32_t tries = 0;
        ESK_CONTEXT("store %u", store);
        tree_make(&model, store);
        uint32_t head = model.tree->ring.head;
        uint32_t low = 3;
        uint32_t high = esk_ring_pages(&model.tree->ring);
        esk_model_tree_free(&model);
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (middle + RUN <= head) {
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
static uint32_t node_last(struct esk_model_tree *model) {
    struct esk_tree_walk walk;
    struct esk_tree_node node;
    uint32_t last = 0;
    ESK_CHECK_INT(esk_tree_walk_open(model->tree, &walk), ESK_OK);
    while (esk_tree_walk_next(model->tree, &walk, &node) == ESK_OK) {
        last = node.address > last ? node.address : last;
    }
    return last;
}

/// Damaged pages at the end look as if they had never been used.
ESK_TEST(damaged_pages_at_the_end_are_not_reused_while_in_use) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        struct esk_model_tree model;
        struct esk_tree_report report;
        ESK_CONTEXT("store %u", store);
        tree_make(&model, store);
        uint32_t head = model.tree->ring.head;
        uint32_t last = node_last(&model);
        run_damage(&model, last, head - last);
        ESK_CHECK_HELD(esk_model_tree_remount(&model), model.why);
        ESK_CHECK_INT(model.tree->ring.head, head);
        uint32_t lost = model_tree_lost(&model, 0);
        ESK_CHECK(lost > 0);
        int status = ESK_OK;
        for (uint32_t i = 1; i < 2 * ROWS && status != ESK_FULL; i += 2) {
            status = esk_model_tree_put(&model, i);
            ESK_CHECK(status == ESK_OK || status == ESK_FULL ||
                      status == ESK_E_CORRUPT);
        }
        ESK_CHECK_INT(esk_tree_check(model.tree, &report), ESK_E_CORRUPT);
        ESK_CHECK_INT(report.pages_damaged, 1);
        ESK_CHECK_INT(report.order_wrong, 0);
        esk_model_tree_free(&model);
    }
}

ESK_TEST_MAIN()
