// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A cut between the last node of a merge on two levels and the node above it
/// cost a page. The mount read the emptied leaf first, found it below the inner
/// node that was about to be dropped, and took it to be in use; then that inner
/// node was dropped, and no node named the leaf.
///
/// Here each program of all deletes that reduce a tree of three levels to a
/// leaf is the last one before a cut.
#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_tree.h"

enum { ROWS = 330 };

static const struct esk_geometry sd = ESK_CARD(40, 8, 256);

/// The order of the deletes: first some out of each inner node, so that two fit
/// one, then all from one end, or a third of them at a time.
enum order { FROM_THE_LAST, FROM_THE_FIRST, IN_THIRDS, ORDERS };

static bool is_thinned(uint32_t number) {
    return number % 50 >= 20 && number % 50 < 30;
}

static uint32_t number_at(uint8_t order, uint32_t step) {
    static const uint32_t strides[ORDERS] = {ROWS - 1, 1, ROWS / 3 + 3};
    return (ROWS - 1 + (step + 1) * strides[order]) % ROWS;
}

/// Deletes all rows, or until the power is cut. Returns whether all checks
/// held.
static bool rows_delete(struct esk_model_tree *model, uint8_t order) {
    int status = ESK_OK;
    for (uint32_t i = 0; i < ROWS && status == ESK_OK; i++) {
        status = is_thinned(i) ? esk_model_tree_delete(model, i) : ESK_OK;
    }
    for (uint32_t step = 0; step < ROWS && status == ESK_OK; step++) {
        uint32_t number = number_at(order, step);
        status =
            is_thinned(number) ? ESK_OK : esk_model_tree_delete(model, number);
    }
    if (esk_sim_is_on(model->sim)) {
        ESK_CHECK_INT(status, ESK_OK);
        return true;
    }
    return false;
}

/// Cuts the power after `programs` of the deletes, if there are so many, and
/// checks what is lost. Returns whether there were not.
static bool cut_try(uint8_t store, uint8_t order, uint32_t programs) {
    struct esk_model_tree model;
    struct esk_model_tree_table table = {.store = store,
                                         .key_type = ESK_TYPE_U32,
                                         .pad_bytes = 40,
                                         .key_range = ROWS,
                                         .merges = true};
    struct esk_tree_stats stats;
    struct esk_tree_report report;
    ESK_CONTEXT("store %u, order %u, %u programs", store, order, programs);
    ESK_CHECK_INT(esk_model_tree_make(&model, &table, &sd, 1), ESK_OK);
    for (uint32_t i = 0; i < ROWS; i++) {
        ESK_CHECK_INT(esk_model_tree_put(&model, i), ESK_OK);
    }
    esk_tree_stats(model.tree, &stats);
    ESK_CHECK_INT(stats.height, 3);
    esk_sim_cut_at(model.sim, esk_sim_op_count(model.sim) + programs,
                   ESK_SIM_CUT_BEFORE);
    bool held = rows_delete(&model, order);
    esk_sim_cut_at(model.sim, 0, ESK_SIM_CUT_NONE);
    esk_sim_power_on(model.sim);
    ESK_CHECK(esk_model_tree_remount(&model));
    ESK_CHECK_INT(esk_tree_check(model.tree, &report), ESK_OK);
    if (held) {
        esk_tree_stats(model.tree, &stats);
        ESK_CHECK_INT(stats.height, 1);
        ESK_CHECK_INT(report.rows, 0);
    }
    esk_model_tree_free(&model);
    return held;
}

ESK_TEST(merge_that_is_cut_on_any_level_loses_no_page) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        for (uint8_t order = 0; order < ORDERS; order++) {
            uint32_t programs = 0;
            while (!cut_try(store, order, programs)) {
                programs += esk_test_rounds(5, 1);
            }
            ESK_CHECK(programs > ROWS);
        }
    }
}

ESK_TEST_MAIN()
