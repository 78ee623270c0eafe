// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The free pages of a tree in place: those that no node names. Merges, power
/// cuts and failures leave them, and whatever happens to the list of pages for
/// new nodes, each free page gets a node before the region is full.
#include "base/bytes.h"
#include "index/btree/btree_format.h"
#include "table/tree/inplace/inplace.h"
#include "test/harness/tree_fixture.h"

static const struct esk_geometry card = ESK_CARD(160, 8, 128);

static void list_start(struct esk_model_tree *model, uint8_t store,
                       uint8_t checksum, uint32_t blocks) {
    struct esk_model_tree_table table = {.store = store,
                                         .key_type = ESK_TYPE_U32,
                                         .pad_bytes = 14,
                                         .key_range = 1200,
                                         .blocks = blocks,
                                         .checksum = checksum,
                                         .merges = true};
    ESK_CONTEXT("store %u, %u blocks", store, blocks);
    ESK_CHECK_INT(esk_model_tree_make(model, &table, &card, 7), ESK_OK);
}

static void verify(struct esk_model_tree *model) {
    ESK_CHECK_HELD(esk_model_tree_verify(model), model->why);
}

/// Puts random keys until the table refuses one or has `rows`.
static void grow(struct esk_model_tree *model, uint32_t rows) {
    int status = ESK_OK;
    while (status == ESK_OK && model->expected.rows < rows) {
        status = esk_model_tree_put(model,
                                    esk_model_tree_random(model, model->range));
    }
    ESK_CHECK(status == ESK_OK || status == ESK_FULL);
}

/// Deletes random rows until `rows` are left.
static void shrink(struct esk_model_tree *model, uint32_t rows) {
    while (model->expected.rows > rows) {
        uint32_t number = esk_model_tree_random(model, model->range);
        bool there = model->expected.version[number] != 0;
        ESK_CHECK_INT(esk_model_tree_delete(model, number),
                      there ? ESK_OK : ESK_NOT_FOUND);
    }
}

/// Fills the region. A page stays without a node only if a change that may
/// split every level would not find a page for each.
static void every_page_has_a_node(struct esk_model_tree *model) {
    struct esk_tree_report report;
    struct esk_tree_stats stats;
    grow(model, 1200);
    ESK_CHECK(model->expected.rows < 1200);
    ESK_CHECK_INT(esk_tree_check(model->tree, &report), ESK_OK);
    esk_tree_stats(model->tree, &stats);
    ESK_CHECK_INT(stats.nodes, stats.nodes_max);
    ESK_CHECK(report.pages_free <= stats.height);
    verify(model);
}

static void list_lose(struct esk_model_tree *model, bool open) {
    if (!open) {
        esk_tree_close(model->tree);
    }
    model_tree_damage(model, ESK_INPLACE_LIST);
    if (!open) {
        struct esk_tree_stats stats;
        ESK_CHECK_INT(esk_model_tree_open(model), ESK_OK);
        verify(model);
        esk_tree_stats(model->tree, &stats);
        ESK_CHECK(stats.pages_damaged > 0);
    }
}

ESK_TEST(lost_list_loses_no_page) {
    for (uint8_t run = 0; run < 12; run++) {
        struct esk_model_tree model;
        list_start(&model, (uint8_t)(ESK_STORE_INPLACE + run / 6), 0, 14);
        grow(&model, run % 3 == 0 ? 100 : 5000);
        shrink(&model, model.expected.rows / (1u + run % 3));
        list_lose(&model, run / 3 % 2 == 1);
        shrink(&model, model.expected.rows * 3u / 4u);
        verify(&model);
        ESK_CHECK(esk_model_tree_remount(&model));
        every_page_has_a_node(&model);
        esk_model_tree_free(&model);
    }
}

/// After each remount it is unknown whether some pages were used.
ESK_TEST(remounts_between_splits_lose_no_page) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        struct esk_model_tree model;
        list_start(&model, store, 0, 14);
        for (uint32_t i = 0; i < 80; i++) {
            grow(&model, model.expected.rows + 3);
            ESK_CHECK(esk_model_tree_remount(&model));
        }
        verify(&model);
        every_page_has_a_node(&model);
        shrink(&model, 100);
        every_page_has_a_node(&model);
        esk_model_tree_free(&model);
    }
}

/// A program that makes every change in a batch, and aborts many.
ESK_TEST(batches_alone_use_every_page_again) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        struct esk_model_tree model;
        uint32_t committed = 0;
        list_start(&model, store, 0, 14);
        for (uint32_t i = 0; i < 600; i++) {
            uint32_t number = esk_model_tree_random(&model, 100);
            model.before = model.expected;
            int status = esk_tree_begin(model.tree, 0);
            ESK_CHECK_INT(status, ESK_OK);
            model.in_batch = true;
            status = model.expected.version[number] == 0
                         ? esk_model_tree_put(&model, number)
                         : esk_model_tree_delete(&model, number);
            ESK_CHECK_INT(status, ESK_OK);
            if (i % 3 == 0) {
                ESK_CHECK_INT(esk_tree_abort(model.tree), ESK_OK);
                model.expected = model.before;
            } else {
                ESK_CHECK_INT(esk_tree_commit(model.tree), ESK_OK);
                committed++;
            }
            model.in_batch = false;
        }
        ESK_CHECK(committed > 300);
        verify(&model);
        ESK_CHECK(esk_model_tree_remount(&model));
        every_page_has_a_node(&model);
        esk_model_tree_free(&model);
    }
}

/// Changes rows until the power is cut, and records the row that may or may not
/// be there.
static void cut_make(struct esk_model_tree *model, uint32_t operations,
                     bool whole) {
    esk_sim_cut_at(model->sim, esk_sim_op_count(model->sim) + operations,
                   whole ? ESK_SIM_CUT_AFTER : ESK_SIM_CUT_DRAWN);
    uint32_t number = 0;
    bool puts = false;
    int status = ESK_OK;
    while (status != ESK_E_IO) {
        number = esk_model_tree_random(model, model->range);
        puts = esk_model_tree_random(model, 2) == 0;
        status = puts ? esk_model_tree_put(model, number)
                      : esk_model_tree_delete(model, number);
        ESK_CHECK(status >= ESK_OK || status == ESK_E_IO);
    }
    esk_sim_cut_at(model->sim, 0, ESK_SIM_CUT_NONE);
    esk_sim_power_on(model->sim);
    ESK_CHECK_HELD(esk_model_tree_remount(model), model->why);
    uint8_t key[32];
    uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
    esk_model_tree_key(model, number, key);
    status = esk_tree_get(model->tree, key, row);
    ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND);
    uint32_t version = status == ESK_OK ? esk_load_u32(row) : 0;
    uint32_t *was = &model->expected.version[number];
    model->expected.rows += version != 0 && *was == 0 ? 1 : 0;
    model->expected.rows -= version == 0 && *was != 0 ? 1 : 0;
    *was = version;
}

ESK_TEST(cuts_lose_no_page) {
    for (uint8_t run = 0; run < 8; run++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = {
            .store = (uint8_t)(ESK_STORE_INPLACE + run % 2),
            .key_type = ESK_TYPE_U32,
            .pad_bytes = 14,
            .key_range = 1200,
            .blocks = 14,
            .merges = run / 2 % 2 == 0};
        struct esk_sim_config medium = {.geometry = card,
                                        .seed = run,
                                        .whole_writes = run % 2 == 0,
                                        .erase_keeps = true};
        ESK_CONTEXT("run %u", run);
        ESK_CHECK_INT(esk_model_tree_make_on(&model, &table, &medium, run),
                      ESK_OK);
        grow(&model, 60);
        for (uint32_t cut = 0; cut < 200; cut++) {
            cut_make(&model, esk_model_tree_random(&model, 25),
                     medium.whole_writes);
        }
        verify(&model);
        every_page_has_a_node(&model);
        esk_model_tree_free(&model);
    }
}

/// Changes rows until the power is cut, some in batches, with a sync now and
/// then: records the rows that were changed since the last sync.
static void cached_changes(struct esk_model_tree *model, bool *changed) {
    int status = ESK_OK;
    bool batch = false;
    while (status != ESK_E_IO) {
        uint32_t number = esk_model_tree_random(model, model->range);
        uint32_t choice = esk_model_tree_random(model, 30);
        if (choice == 0 && !batch) {
            status = esk_tree_sync(model->tree);
            if (status == ESK_OK) {
                memset(changed, 0, ESK_MODEL_TREE_KEYS_MAX);
            }
        } else if (choice < 3 && model->table.batch_pages > 0) {
            status = batch ? esk_tree_commit(model->tree)
                           : esk_tree_begin(model->tree, 0);
            batch = !batch;
        } else {
            changed[number] = true;
            status = choice < 16 ? esk_model_tree_put(model, number)
                                 : esk_model_tree_delete(model, number);
        }
        ESK_CHECK(status >= ESK_OK || status == ESK_E_IO);
    }
}

/// Opens the tree after a cut. A row that was not changed since the last sync
/// is unchanged; of the others the medium's cache may have lost any.
static void cached_resolve(struct esk_model_tree *model, const bool *changed) {
    static uint32_t versions[ESK_MODEL_TREE_KEYS_MAX];
    esk_sim_cut_at(model->sim, 0, ESK_SIM_CUT_NONE);
    esk_sim_power_on(model->sim);
    ESK_CHECK_HELD(esk_model_tree_remount(model), model->why);
    ESK_CHECK_HELD(esk_model_tree_read_all(model, versions), model->why);
    for (uint32_t number = 0; number < model->range; number++) {
        ESK_CHECK(changed[number] ||
                  versions[number] == model->expected.version[number]);
    }
    esk_model_tree_model_set(model, versions);
}

ESK_TEST(cuts_lose_no_page_of_a_medium_with_a_cache) {
    static const uint16_t caches[] = {2, 24, 200};
    for (uint8_t run = 0; run < 12; run++) {
        struct esk_model_tree model;
        bool changed[ESK_MODEL_TREE_KEYS_MAX] = {false};
        struct esk_model_tree_table table = {
            .store = (uint8_t)(ESK_STORE_INPLACE + run % 2),
            .key_type = ESK_TYPE_U32,
            .pad_bytes = 14,
            .key_range = 1200,
            .blocks = 14,
            .merges = run / 6 == 0,
            .batch_pages = run / 6 == 0 ? 0 : 16};
        struct esk_sim_config medium = {.geometry = card,
                                        .seed = run,
                                        .cache_programs = caches[run / 2 % 3],
                                        .whole_writes = run % 2 == 0,
                                        .erase_keeps = true};
        ESK_CONTEXT("run %u", run);
        ESK_CHECK_INT(esk_model_tree_make_on(&model, &table, &medium, run),
                      ESK_OK);
        grow(&model, 60);
        ESK_CHECK_INT(esk_tree_sync(model.tree), ESK_OK);
        for (uint32_t cut = 0; cut < 200; cut++) {
            uint32_t after = esk_model_tree_random(&model, 60);
            memset(changed, 0, sizeof changed);
            esk_sim_cut_at(model.sim, esk_sim_op_count(model.sim) + after,
                           medium.whole_writes ? ESK_SIM_CUT_AFTER
                                               : ESK_SIM_CUT_DRAWN);
            cached_changes(&model, changed);
            cached_resolve(&model, changed);
            ESK_CHECK_INT(esk_tree_sync(model.tree), ESK_OK);
        }
        verify(&model);
        every_page_has_a_node(&model);
        esk_model_tree_free(&model);
    }
}

/// An inner node that cannot be read may name any page: then none is free.
ESK_TEST(lost_inner_node_makes_no_page_in_use_free) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        struct esk_model_tree model;
        struct esk_tree_report report;
        list_start(&model, store, 0, 14);
        grow(&model, 1200);
        uint32_t inner = model_tree_peek(&model, ESK_INPLACE_ROOT, 16 + 4);
        esk_tree_close(model.tree);
        model_tree_damage(&model, inner);
        ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
        uint32_t lost = model_tree_lost(&model, 0);
        ESK_CHECK(lost > 0);
        for (uint32_t number = 0; number < 1200; number++) {
            if (model.expected.version[number] == 0) {
                int status = esk_model_tree_put(&model, number);
                ESK_CHECK(status == ESK_OK || status == ESK_FULL ||
                          status == ESK_E_CORRUPT);
            }
        }
        ESK_CHECK_INT(esk_tree_check(model.tree, &report), ESK_E_CORRUPT);
        ESK_CHECK_INT(report.order_wrong + report.nodes_wrong, 0);
        ESK_CHECK_INT(model_tree_lost(&model, 0), lost);
        esk_model_tree_free(&model);
    }
}

/// Puts every missing number, from `first` on.
static void numbers_put(struct esk_model_tree *model, uint32_t first) {
    for (uint32_t i = 0; i < model->range; i++) {
        uint32_t number = (first + i) % model->range;
        if (model->expected.version[number] == 0) {
            int status = esk_model_tree_put(model, number);
            ESK_CHECK(status == ESK_OK || status == ESK_FULL ||
                      status == ESK_E_CORRUPT);
        }
    }
}

/// A corrupt list with an inner node as free, or no list at all: nothing is
/// written outside a page.
ESK_TEST(corrupt_free_list_writes_outside_no_page) {
    for (uint32_t run = 0; run < 48; run++) {
        struct esk_model_tree model;
        uint32_t head = run % 5 == 0 ? run * 3u : 14 * 8;
        ESK_CONTEXT("run %u", run);
        list_start(&model, ESK_STORE_INPLACE, ESK_CHECKSUM_NONE, 14);
        grow(&model, 5000);
        shrink(&model, model.expected.rows - 100);
        uint32_t inner = model_tree_peek(&model, ESK_INPLACE_ROOT,
                                         (uint16_t)(16 + 4 + run % 2 * 8));
        uint32_t asked = run % 7;
        esk_tree_close(model.tree);
        model_tree_poke(&model, ESK_INPLACE_LIST, ESK_TREE_LIST_HEAD, head);
        model_tree_poke(&model, ESK_INPLACE_LIST, ESK_TREE_LIST_ASKED,
                        run % 11 == 10 ? 0xFFFF : asked);
        for (uint16_t i = 0; i < 24; i++) {
            model_tree_poke(&model, ESK_INPLACE_LIST,
                            (uint16_t)(ESK_TREE_LIST_BODY + 4 * i),
                            run % 3 == 0 ? inner + i : inner);
        }
        static const uint8_t many[2] = {24, 0};
        esk_sim_poke(model.sim, model_tree_page(&model, ESK_INPLACE_LIST),
                     ESK_ENVELOPE_COUNT, many, 2);
        ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
        numbers_put(&model, run * 25);
        ESK_CHECK_INT(esk_sim_violations(model.sim), 0);
        esk_model_tree_free(&model);
    }
}

ESK_TEST_MAIN()
