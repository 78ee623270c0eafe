// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Trees that merge, compared with a sorted array: filled, deleted down to a
/// tenth and to nothing, filled again, in every store.
#include <stdio.h>

#include "test/harness/arena.h"
#include "test/harness/tree_fixture.h"

static const struct esk_geometry nand = ESK_NAND(120, 16, 1024);
static const struct esk_geometry sd = ESK_CARD(160, 8, 256);

static const uint8_t stores[] = {ESK_STORE_INPLACE, ESK_STORE_JOURNALED,
                                 ESK_STORE_WANDERING, ESK_STORE_MU,
                                 ESK_STORE_TNC};

static struct esk_model_tree_table merging(uint8_t store, uint16_t pad) {
    struct esk_model_tree_table table = {.store = store,
                                         .key_type = ESK_TYPE_U32,
                                         .pad_bytes = pad,
                                         .key_range = 1500,
                                         .merges = true};
    return table;
}

static void model_tree_make(struct esk_model_tree *model,
                            const struct esk_model_tree_table *table) {
    ESK_CHECK_INT(esk_model_tree_make(
                      model, table,
                      esk_model_tree_overwrites(table->store) ? &sd : &nand, 1),
                  ESK_OK);
}

/// Puts random keys until there are `rows` rows.
static void rows_grow(struct esk_model_tree *model, uint32_t rows) {
    while (model->expected.rows < rows) {
        ESK_CHECK_INT(esk_model_tree_put(
                          model, esk_model_tree_random(model, model->range)),
                      ESK_OK);
    }
}

/// Deletes random rows until `rows` are left.
static void rows_shrink(struct esk_model_tree *model, uint32_t rows) {
    while (model->expected.rows > rows) {
        uint32_t number = esk_model_tree_random(model, model->range);
        bool there = model->expected.version[number] != 0;
        ESK_CHECK_INT(esk_model_tree_delete(model, number),
                      there ? ESK_OK : ESK_NOT_FOUND);
    }
}

static struct esk_tree_report report_of(struct esk_model_tree *model) {
    struct esk_tree_report report;
    ESK_CHECK_INT(esk_tree_check(model->tree, &report), ESK_OK);
    return report;
}

ESK_TEST(merging_tree_follows_its_rows_down_and_up) {
    for (size_t s = 0; s < sizeof stores; s++) {
        for (uint16_t pad = 1; pad <= 60; pad = (uint16_t)(pad * 2 + 5)) {
            struct esk_model_tree model;
            struct esk_model_tree_table table = merging(stores[s], pad);
            ESK_CONTEXT("store %u, pad %u", stores[s], pad);
            model_tree_make(&model, &table);
            for (uint32_t round = 0; round < 3; round++) {
                rows_grow(&model, 1000);
                struct esk_tree_report full = report_of(&model);
                rows_shrink(&model, 100);
                model_tree_verify(&model);
                /* Two neighbours are never both a quarter full. */
                struct esk_tree_report tenth = report_of(&model);
                ESK_CHECK(tenth.leaves * 4 < full.leaves);
                ESK_CHECK(esk_model_tree_remount(&model));
                rows_shrink(&model, round == 1 ? 0 : 3);
                model_tree_verify(&model);
                struct esk_tree_report none = report_of(&model);
                ESK_CHECK(none.nodes <= 3);
            }
            ESK_CHECK_INT(esk_sim_violations(model.sim), 0);
            esk_model_tree_free(&model);
        }
    }
}

ESK_TEST(merging_tree_is_a_sorted_array_under_random_calls) {
    for (size_t s = 0; s < sizeof stores; s++) {
        for (uint8_t frames = 2; frames <= 4; frames++) {
            struct esk_model_tree model;
            struct esk_model_tree_table table = merging(stores[s], 30);
            table.frames = frames;
            table.policy = frames == 4 ? ESK_TREE_LRU_N : ESK_TREE_LRU_P;
            table.k_percent = (uint8_t)(20 * frames);
            if (stores[s] == ESK_STORE_TNC) {
                table.frames = (uint8_t)(9u + 2u * frames);
                table.k_percent = 50;
            }
            table.key_range = 500;
            ESK_CONTEXT("store %u, frames %u", stores[s], frames);
            model_tree_make(&model, &table);
            for (uint32_t i = 0; i < 8000; i++) {
                ESK_CHECK_HELD(esk_model_tree_call(&model), model.why);
            }
            model_tree_verify(&model);
            struct esk_tree_stats stats;
            esk_tree_stats(model.tree, &stats);
            ESK_CHECK(stats.merges > 0);
            esk_model_tree_free(&model);
        }
    }
}

ESK_TEST(queue_on_a_merging_tree_takes_no_more_pages_with_time) {
    for (size_t s = 0; s < sizeof stores; s++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = merging(stores[s], 20);
        struct esk_tree_report first = {0};
        ESK_CONTEXT("store %u", stores[s]);
        model_tree_make(&model, &table);
        for (uint32_t i = 0; i < 12000; i++) {
            uint32_t head = i % model.range;
            uint32_t tail = (i + model.range - 200) % model.range;
            ESK_CHECK_INT(esk_model_tree_put(&model, head), ESK_OK);
            if (i >= 200) {
                ESK_CHECK_INT(esk_model_tree_delete(&model, tail), ESK_OK);
            }
            if (i == 400) {
                first = report_of(&model);
            }
        }
        model_tree_verify(&model);
        struct esk_tree_report last = report_of(&model);
        ESK_CHECK(last.nodes <= first.nodes * 3 / 2 + 2);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(merged_pages_of_a_full_tree_are_used_again) {
    for (size_t s = 0; s < sizeof stores; s++) {
        for (uint16_t pad = 10; pad <= 90; pad = (uint16_t)(pad + 40)) {
            struct esk_model_tree model;
            struct esk_model_tree_table table = merging(stores[s], pad);
            table.key_range = 4000;
            table.blocks = esk_model_tree_overwrites(stores[s])
                               ? (uint32_t)pad / 2 + 2
                               : 11;
            ESK_CONTEXT("store %u, pad %u", stores[s], pad);
            model_tree_make(&model, &table);
            model_tree_fill(&model);
            uint32_t rows = model.expected.rows;
            for (uint32_t round = 0; round < 5; round++) {
                rows_shrink(&model, rows / 10);
                if (round % 2 == 1) {
                    ESK_CHECK(esk_model_tree_remount(&model));
                }
                model_tree_fill(&model);
                ESK_CHECK(model.expected.rows * 10 > rows * 9);
                model_tree_verify(&model);
            }
            esk_model_tree_free(&model);
        }
    }
}

ESK_TEST(merged_tree_in_place_is_opened_without_merging) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = merging(store, 20);
        ESK_CONTEXT("store %u", store);
        model_tree_make(&model, &table);
        rows_grow(&model, 300);
        rows_shrink(&model, 30);
        esk_tree_close(model.tree);
        model.table.merges = false;
        ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
        model_tree_verify(&model);
        rows_grow(&model, 300);
        rows_shrink(&model, 30);
        model.table.merges = true;
        ESK_CHECK(esk_model_tree_remount(&model));
        model_tree_verify(&model);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(tree_refuses_merging_of_the_other_kind) {
    for (size_t s = 0; s < sizeof stores; s++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = merging(stores[s], 20);
        model_tree_make(&model, &table);
        esk_tree_close(model.tree);
        model.config.merge = esk_model_tree_overwrites(stores[s])
                                 ? &esk_merge_moving
                                 : &esk_merge_inplace;
        ESK_CHECK_INT(test_tree_open(&model.tree, &model.volume, "model",
                                     &model.config, model.arena,
                                     model.arena_bytes),
                      ESK_E_UNSUPPORTED);
        esk_model_tree_free(&model);
    }
}

ESK_TEST_MAIN()
