// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Cursors of a tree whose calls are bounded: with step_leaves a cursor returns
/// what a cursor without a limit returns, and no call reads more pages than it
/// may, by the simulator's counters. Most leaves of these trees are empty.
#include "test/harness/tree_fixture.h"

enum { KEYS = 3000, WIDE = ESK_TREE_CURSOR_KEY_BYTES + 1 };

struct step_case {
    uint8_t store;
    uint8_t key_type;
    uint16_t key_bytes;
};

static const struct step_case cases[] = {
    {.store = ESK_STORE_INPLACE, .key_type = ESK_TYPE_U32},
    {.store = ESK_STORE_JOURNALED, .key_type = ESK_TYPE_I16},
    {.store = ESK_STORE_INPLACE, .key_type = ESK_TYPE_BYTES, .key_bytes = WIDE},
    {.store = ESK_STORE_MU, .key_type = ESK_TYPE_U32},
};

enum { CASES = sizeof cases / sizeof cases[0] };

/// Makes a tree of three levels with rows in a few of its leaves.
static void start(struct esk_model_tree *model, const struct step_case *given) {
    struct esk_model_tree_table table = model_tree_plain(given->store);
    table.key_type = given->key_type;
    table.key_bytes = given->key_bytes;
    table.pad_bytes = 40;
    table.key_range = KEYS;
    model_tree_start(model, &table);
    for (uint32_t i = 0; i < KEYS; i++) {
        ESK_CHECK_INT(esk_model_tree_put(model, i), ESK_OK);
    }
    for (uint32_t i = 0; i < KEYS; i++) {
        if (i % 700 > 9) {
            ESK_CHECK_INT(esk_model_tree_delete(model, i), ESK_OK);
        }
    }
}

/// Calls until the outcome is not ESK_AGAIN.
static int next(struct esk_model_tree *model, struct esk_tree_cursor *cursor,
                uint8_t *row, uint32_t *again) {
    struct esk_tree_stats stats;
    int status = ESK_AGAIN;
    esk_tree_stats(model->tree, &stats);
    uint64_t most = cursor->step_leaves == 0
                        ? UINT32_MAX
                        : stats.height * (1u + 2u * cursor->step_leaves);
    for (uint32_t calls = 0; status == ESK_AGAIN; calls++) {
        uint64_t before = esk_sim_counters(model->sim)->reads;
        status = esk_tree_cursor_next(model->tree, cursor, row);
        ESK_CHECK(esk_sim_counters(model->sim)->reads - before <= most);
        ESK_CHECK(status != ESK_AGAIN || cursor->step_leaves > 0);
        ESK_CHECK(calls < KEYS);
        *again += status == ESK_AGAIN;
    }
    return status;
}

static void query_compare(struct esk_model_tree *model,
                          struct esk_tree_query *query, uint32_t leaves,
                          uint32_t *again) {
    struct esk_tree_cursor all;
    struct esk_tree_cursor steps;
    uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
    uint8_t other[ESK_MODEL_TREE_ROW_BYTES_MAX];
    int status = ESK_OK;
    query->step_leaves = 0;
    ESK_CHECK_INT(esk_tree_cursor_open(model->tree, &all, query), ESK_OK);
    query->step_leaves = leaves;
    ESK_CHECK_INT(esk_tree_cursor_open(model->tree, &steps, query), ESK_OK);
    while (status == ESK_OK) {
        status = next(model, &all, row, again);
        ESK_CHECK_INT(next(model, &steps, other, again), status);
        ESK_CHECK_BYTES(other, row, status == ESK_OK ? model->row_bytes : 0);
    }
    ESK_CHECK_INT(status, ESK_END);
    ESK_CHECK_INT(next(model, &steps, other, again), ESK_END);
}

ESK_TEST(tree_cursor_in_steps_returns_the_same_rows_and_reads_no_more) {
    static const uint32_t steps[] = {1, 2, 3, 20, 1000};
    for (unsigned i = 0; i < CASES; i++) {
        struct esk_model_tree model;
        uint8_t min[32];
        uint8_t max[32];
        uint32_t again = 0;
        start(&model, &cases[i]);
        for (unsigned j = 0; j < 40; j++) {
            struct esk_tree_query query = {.backward = j % 2 == 1};
            uint32_t from = esk_model_tree_random(&model, KEYS);
            uint32_t to = from + esk_model_tree_random(&model, KEYS - from);
            ESK_CONTEXT("case %u, query %u", i, j);
            esk_model_tree_key(&model, from, min);
            esk_model_tree_key(&model, to, max);
            query.key_min = j % 3 != 0 ? min : NULL;
            query.key_max = j % 5 != 0 ? max : NULL;
            query_compare(&model, &query, steps[j % 5], &again);
        }
        ESK_CHECK(again > 0);
        esk_model_tree_free(&model);
    }
}

/// Rows that stay are returned once, in order, while others come and go.
ESK_TEST(tree_cursor_in_steps_goes_on_while_the_tree_is_changed) {
    for (unsigned i = 0; i < 40; i++) {
        struct esk_model_tree model;
        struct esk_tree_cursor cursor;
        uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
        bool backward = i % 2 == 1;
        struct esk_tree_query query = {.backward = backward,
                                       .step_leaves = 1 + i % 3};
        uint32_t rows = 0;
        uint32_t calls = 0;
        int64_t last = backward ? KEYS : -1;
        ESK_CONTEXT("run %u", i);
        start(&model, &cases[0]);
        ESK_CHECK_INT(esk_tree_cursor_open(model.tree, &cursor, &query),
                      ESK_OK);
        int status = ESK_OK;
        while (status != ESK_END) {
            status = esk_tree_cursor_next(model.tree, &cursor, row);
            ESK_CHECK(status == ESK_OK || status == ESK_AGAIN ||
                      status == ESK_END);
            ESK_CHECK(calls++ < 3 * KEYS);
            if (status == ESK_OK) {
                uint8_t key[32];
                uint32_t number = 0;
                for (; number < KEYS; number++) {
                    esk_model_tree_key(&model, number, key);
                    if (memcmp(key, row + 4, 4) == 0) {
                        break;
                    }
                }
                ESK_CHECK(backward ? number < last : number > last);
                last = number;
                rows += number % 700 <= 9;
            }
            uint32_t changed = esk_model_tree_random(&model, KEYS);
            if (changed % 700 > 9 && changed % 2 == 0) {
                ESK_CHECK_INT(esk_model_tree_put(&model, changed), ESK_OK);
            } else if (changed % 700 > 9) {
                (void)esk_model_tree_delete(&model, changed);
            }
        }
        ESK_CHECK_INT(rows, 50);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(tree_cursor_of_wide_keys_is_stale_when_the_tree_is_changed) {
    struct esk_model_tree model;
    struct esk_tree_cursor cursor;
    struct esk_tree_query query = {.step_leaves = 1};
    uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
    int status = ESK_OK;
    start(&model, &cases[2]);
    ESK_CHECK_INT(esk_tree_cursor_open(model.tree, &cursor, &query), ESK_OK);
    while (status == ESK_OK) {
        status = esk_tree_cursor_next(model.tree, &cursor, row);
    }
    ESK_CHECK_INT(status, ESK_AGAIN);
    ESK_CHECK_INT(esk_model_tree_put(&model, 5), ESK_OK);
    ESK_CHECK_INT(esk_tree_cursor_next(model.tree, &cursor, row), ESK_E_STALE);
    esk_model_tree_free(&model);
}

ESK_TEST_MAIN()
