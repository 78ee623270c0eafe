// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The free list of a tree in place that merges, lost in part or whole: it
/// costs the pages that it named, and no row, and the tree goes on merging.
#include "test/harness/tree_fixture.h"

enum { AUX = 12, BEHIND = 16, DOUBTS = 24, LIST_BODY = 28 };

/// On pages of 128 bytes the list's pages have 9 entries each.
static void list_start(struct esk_model_tree *model, uint8_t store,
                       uint8_t checksum, uint32_t blocks) {
    static const struct esk_geometry card = ESK_CARD(160, 8, 128);
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

static uint32_t pages_lost(struct esk_model_tree *model) {
    struct esk_tree_report report;
    ESK_CHECK_INT(esk_tree_check(model->tree, &report), ESK_OK);
    return report.pages_lost;
}

static uint32_t merges(struct esk_model_tree *model) {
    struct esk_tree_stats stats;
    esk_tree_stats(model->tree, &stats);
    return stats.merges;
}

/// The free list's first page, which the root names.
static uint32_t list_at(struct esk_model_tree *model) {
    return model_tree_peek(model, 1, AUX);
}

/// Damages the list, the table open or closed, and goes on.
static void list_lose(struct esk_model_tree *model, bool open) {
    if (!open) {
        esk_tree_close(model->tree);
    }
    model_tree_damage(model, list_at(model));
    if (!open) {
        struct esk_tree_stats stats;
        ESK_CHECK_INT(esk_model_tree_open(model), ESK_OK);
        verify(model);
        esk_tree_stats(model->tree, &stats);
        ESK_CHECK(stats.pages_damaged > 0);
    }
}

ESK_TEST(lost_free_list_begins_anew_on_its_page) {
    for (uint8_t run = 0; run < 4; run++) {
        struct esk_model_tree model;
        list_start(&model, (uint8_t)(ESK_STORE_INPLACE + run / 2), 0, 0);
        grow(&model, 600);
        shrink(&model, 400);
        ESK_CHECK_INT(pages_lost(&model), 0);
        uint32_t list = list_at(&model);
        ESK_CHECK(model_tree_peek(&model, list, BEHIND) > 0);
        list_lose(&model, run % 2 == 1);
        uint32_t before = merges(&model);
        shrink(&model, 300);
        ESK_CHECK(merges(&model) > before + 5);
        verify(&model);
        /* What it named is lost, and what it names now is not. */
        uint32_t lost = pages_lost(&model);
        ESK_CHECK(lost > 9);
        ESK_CHECK_INT(list_at(&model), list);
        ESK_CHECK(esk_model_tree_remount(&model));
        ESK_CHECK(pages_lost(&model) <= lost);
        grow(&model, 700);
        shrink(&model, 0);
        verify(&model);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(lost_free_list_of_a_full_region_hinders_no_delete) {
    for (uint8_t run = 0; run < 4; run++) {
        struct esk_model_tree model;
        list_start(&model, (uint8_t)(ESK_STORE_INPLACE + run / 2), 0, 14);
        grow(&model, 5000);
        shrink(&model, model.expected.rows - 60);
        list_lose(&model, run % 2 == 1);
        uint32_t before = merges(&model);
        uint32_t rows = model.expected.rows;
        shrink(&model, rows / 2);
        ESK_CHECK(merges(&model) > before + 5);
        verify(&model);
        ESK_CHECK(esk_model_tree_remount(&model));
        verify(&model);
        grow(&model, 5000);
        ESK_CHECK(model.expected.rows > rows / 2);
        verify(&model);
        ESK_CHECK(esk_model_tree_remount(&model));
        verify(&model);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(free_pages_before_a_lost_part_of_the_list_are_used_once) {
    for (uint8_t run = 0; run < 4; run++) {
        for (uint8_t part = 1; part < 4; part++) {
            struct esk_model_tree model;
            list_start(&model, (uint8_t)(ESK_STORE_INPLACE + run / 2), 0, 14);
            grow(&model, 5000);
            uint32_t full = model.expected.rows;
            shrink(&model, full / 8);
            uint32_t list = list_at(&model);
            uint32_t behind = model_tree_peek(&model, list, BEHIND);
            for (uint8_t i = 0; i < part; i++) {
                list = model_tree_peek(&model, list, AUX);
                ESK_CHECK(list != UINT32_MAX);
            }
            model_tree_damage(&model, list);
            uint32_t step = run % 2 == 0 ? 1 : 5;
            uint32_t refused = 0;
            /* Mounted again in any state of what was fetched. */
            while (refused < 3) {
                uint32_t rows = model.expected.rows;
                grow(&model, rows + step);
                refused += model.expected.rows < rows + step ? 1 : 0;
                ESK_CHECK(esk_model_tree_remount(&model));
                verify(&model);
            }
            ESK_CHECK(model.expected.rows > full / 8 &&
                      model.expected.rows < full);
            /* The parts before it have served: 9 pages and their own. */
            ESK_CHECK_INT(pages_lost(&model), behind - 10u * (part - 1u));
            shrink(&model, 20);
            verify(&model);
            ESK_CHECK(esk_model_tree_remount(&model));
            verify(&model);
            esk_model_tree_free(&model);
        }
    }
}

/// Filled to its last page by a program that does not merge.
ESK_TEST(tree_without_a_page_for_its_free_list_deletes_all_the_same) {
    static const struct esk_geometry card = ESK_CARD(160, 2, 128);
    uint32_t full = 0;
    for (uint32_t run = 0; run < 60; run++) {
        struct esk_model_tree model;
        struct esk_tree_stats stats;
        struct esk_model_tree_table table = {.store = ESK_STORE_INPLACE,
                                             .key_type = ESK_TYPE_BYTES,
                                             .key_bytes =
                                                 (uint16_t)(10 + run % 12),
                                             .pad_bytes = 14,
                                             .key_range = 1200,
                                             .blocks = 4 + run / 12};
        ESK_CONTEXT("run %u", run);
        ESK_CHECK_INT(esk_model_tree_make(&model, &table, &card, run), ESK_OK);
        /* Rising keys fill every node: in some regions the row that splits
           all of a path takes the last pages. */
        for (uint32_t n = 0; esk_model_tree_put(&model, n) == ESK_OK; n++) {
        }
        esk_tree_stats(model.tree, &stats);
        bool no_page = stats.nodes == stats.nodes_max;
        esk_tree_close(model.tree);
        model.table.merges = true;
        free(model.arena);
        model.arena = NULL;
        ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
        shrink(&model, 2);
        verify(&model);
        ESK_CHECK_INT(merges(&model) == 0, no_page);
        ESK_CHECK(esk_model_tree_remount(&model));
        grow(&model, 1200);
        verify(&model);
        full += no_page ? 1 : 0;
        esk_model_tree_free(&model);
    }
    ESK_CHECK(full > 0 && full < 60);
}

/// A list that is lost as the newest page, where nothing after it proves that
/// there was one.
ESK_TEST(lost_free_list_keeps_its_page_at_the_head) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        struct esk_model_tree model;
        struct esk_tree_stats stats;
        list_start(&model, store, 0, 0);
        grow(&model, 300);
        esk_tree_stats(model.tree, &stats);
        uint32_t merged = stats.merges;
        while (stats.merges == merged) {
            shrink(&model, model.expected.rows - 1);
            esk_tree_stats(model.tree, &stats);
        }
        uint32_t list = list_at(&model);
        ESK_CHECK(model_tree_peek(&model, list + 1, 8) != list + 1);
        list_lose(&model, false);
        grow(&model, 600);
        shrink(&model, 100);
        verify(&model);
        ESK_CHECK_INT(list_at(&model), list);
        ESK_CHECK(esk_model_tree_remount(&model));
        verify(&model);
        esk_model_tree_free(&model);
    }
}

/// Looks for the node on page `at`: whether the tree has it.
/// left     out: the page of the node of its level before it; 0: none.
/// rows     out: below that one, if it is a leaf.
static bool node_find(struct esk_model_tree *model, uint32_t at, uint32_t *left,
                      uint32_t *rows) {
    uint32_t page[ESK_TREE_HEIGHT_MAX + 1] = {0};
    uint32_t count[ESK_TREE_HEIGHT_MAX + 1] = {0};
    struct esk_tree_walk walk;
    struct esk_tree_node node;
    ESK_CHECK_INT(esk_tree_walk_open(model->tree, &walk), ESK_OK);
    while (esk_tree_walk_next(model->tree, &walk, &node) == ESK_OK) {
        *left = page[node.level];
        *rows = count[node.level];
        if (node.address == at) {
            return node.level == 1;
        }
        page[node.level] = node.address;
        count[node.level] = node.count;
    }
    return false;
}

/// Damages the leaf before each one that the list has in doubt: a mount that
/// looks whether the two were joined cannot say, and takes it for in use.
/// Returns  how many there were.
static uint32_t doubts_check(struct esk_model_tree *model,
                             struct esk_sim *whole) {
    uint32_t list = list_at(model);
    uint32_t entries = model_tree_peek(model, list, 4) & 0xFFFFu;
    uint32_t doubts = model_tree_peek(model, list, DOUBTS) & 0xFFFFu;
    uint32_t used = 0;
    for (uint32_t i = entries - doubts; i < entries; i++) {
        struct esk_tree_report report;
        uint32_t left = 0;
        uint32_t rows = 0;
        uint32_t at =
            model_tree_peek(model, list, (uint16_t)(LIST_BODY + 4 * i));
        if (!node_find(model, at, &left, &rows) || left == 0) {
            continue;
        }
        esk_tree_close(model->tree);
        model_tree_damage(model, left);
        ESK_CHECK_INT(esk_model_tree_open(model), ESK_OK);
        ESK_CHECK_INT(esk_tree_check(model->tree, &report), ESK_E_CORRUPT);
        ESK_CHECK_INT(report.pages_damaged, 1);
        ESK_CHECK_INT(report.order_wrong + report.nodes_wrong, 0);
        ESK_CHECK_INT(report.rows, model->expected.rows - rows);
        used++;
        esk_tree_close(model->tree);
        esk_sim_restore(model->sim, whole);
        ESK_CHECK_INT(esk_model_tree_open(model), ESK_OK);
    }
    return used;
}

/// Wide keys: few children a node, so a page in doubt is often the first one.
ESK_TEST(leaf_in_doubt_is_in_use_also_beside_a_lost_one) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        static const struct esk_geometry card = ESK_CARD(160, 8, 128);
        struct esk_model_tree model;
        struct esk_sim *whole = NULL;
        struct esk_model_tree_table table = {.store = store,
                                             .key_type = ESK_TYPE_BYTES,
                                             .key_bytes = 20,
                                             .pad_bytes = 4,
                                             .key_range = 600,
                                             .blocks = 20,
                                             .merges = true};
        uint32_t used = 0;
        ESK_CONTEXT("store %u", store);
        ESK_CHECK_INT(esk_model_tree_make(&model, &table, &card, 7), ESK_OK);
        ESK_CHECK_INT(esk_sim_clone(&whole, model.sim), ESK_OK);
        grow(&model, 600);
        for (uint32_t round = 0; round < 60; round++) {
            shrink(&model, model.expected.rows - 12);
            for (uint32_t i = 0; i < 5; i++) {
                grow(&model, model.expected.rows + 2);
                ESK_CHECK(esk_model_tree_remount(&model));
                esk_sim_restore(whole, model.sim);
                used += doubts_check(&model, whole);
            }
            verify(&model);
        }
        ESK_CHECK(used > 50);
        esk_sim_destroy(whole);
        esk_model_tree_free(&model);
    }
}

/// What a checksum would have caught: lists that name what they cannot.
ESK_TEST(free_list_that_lies_is_lost) {
    enum {
        SELF,
        ROOT,
        FAR,
        COUNTS,
        DOUBTED,
        LISTED,
        NODE,
        ZERO,
        OUTSIDE,
        LIES
    };
    static const uint8_t twenty[2] = {20, 0};
    for (uint8_t lie = 0; lie < LIES; lie++) {
        struct esk_model_tree model;
        list_start(&model, ESK_STORE_INPLACE, ESK_CHECKSUM_NONE, 14);
        ESK_CONTEXT("lie %u", lie);
        grow(&model, 5000);
        shrink(&model, model.expected.rows / 8);
        uint32_t list = list_at(&model);
        uint32_t leaf = list;
        esk_tree_close(model.tree);
        switch (lie) {
        case SELF: /* it goes on in itself */
            model_tree_poke(&model, list, AUX, list);
            break;
        case ROOT: /* the next that it names is the root */
        case FAR:  /* ... or outside */
            for (uint16_t i = 0; i < 9; i++) {
                model_tree_poke(&model, list, (uint16_t)(LIST_BODY + 4 * i),
                                lie == ROOT ? 1 : 0x7F000000);
            }
            break;
        case COUNTS:
            model_tree_poke(&model, list, DOUBTS, 0xFFFF);
            break;
        case DOUBTED: /* more than there are of a kind */
        case LISTED:
            esk_sim_poke(model.sim, model_tree_page(&model, list), 4, twenty,
                         2);
            model_tree_poke(&model, list, DOUBTS, lie == DOUBTED ? 20 : 0);
            break;
        case NODE: /* the root says that it is another's page */
            leaf = model_tree_peek(&model, 1, 16 + 4);
            model_tree_poke(&model, 1, AUX, leaf);
            break;
        default:
            model_tree_poke(&model, 1, AUX, lie == ZERO ? 0 : 0x7F000000);
        }
        ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
        verify(&model);
        grow(&model, 5000);
        verify(&model);
        if (lie != NODE) {
            shrink(&model, 20);
            verify(&model);
        }
        ESK_CHECK_INT(esk_sim_violations(model.sim), 0);
        esk_model_tree_free(&model);
    }
}

ESK_TEST_MAIN()
