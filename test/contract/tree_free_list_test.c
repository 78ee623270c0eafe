// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The free list of a tree in place that merges, lost in part or whole: it
/// costs the pages that it named, and no row, and the tree goes on merging.
#include "test/harness/bush_rig.h"

enum { AUX = 12, BEHIND = 16, DOUBTS = 24, LIST_BODY = 28 };

/// On pages of 128 bytes the list's pages have 9 entries each.
static void list_start(struct esk_bush *bush, uint8_t store, uint8_t checksum,
                       uint32_t blocks) {
    static const struct esk_geometry card = ESK_CARD(160, 8, 128);
    struct esk_bush_table table = {.store = store,
                                   .key_type = ESK_TYPE_U32,
                                   .pad_bytes = 14,
                                   .key_range = 1200,
                                   .blocks = blocks,
                                   .checksum = checksum,
                                   .merges = true};
    ESK_CONTEXT("store %u, %u blocks", store, blocks);
    ESK_CHECK_INT(esk_bush_make(bush, &table, &card, 7), ESK_OK);
}

static void verify(struct esk_bush *bush) {
    ESK_CHECK_HELD(esk_bush_verify(bush), bush->why);
}

/// Puts random keys until the table refuses one or has `rows`.
static void grow(struct esk_bush *bush, uint32_t rows) {
    int status = ESK_OK;
    while (status == ESK_OK && bush->model.rows < rows) {
        status = esk_bush_put(bush, esk_bush_random(bush, bush->range));
    }
    ESK_CHECK(status == ESK_OK || status == ESK_FULL);
}

/// Deletes random rows until `rows` are left.
static void shrink(struct esk_bush *bush, uint32_t rows) {
    while (bush->model.rows > rows) {
        uint32_t number = esk_bush_random(bush, bush->range);
        bool there = bush->model.version[number] != 0;
        ESK_CHECK_INT(esk_bush_delete(bush, number),
                      there ? ESK_OK : ESK_NOT_FOUND);
    }
}

static uint32_t pages_lost(struct esk_bush *bush) {
    struct esk_tree_report report;
    ESK_CHECK_INT(esk_tree_check(bush->tree, &report), ESK_OK);
    return report.pages_lost;
}

static uint32_t merges(struct esk_bush *bush) {
    struct esk_tree_stats stats;
    esk_tree_stats(bush->tree, &stats);
    return stats.merges;
}

/// The free list's first page, which the root names.
static uint32_t list_at(struct esk_bush *bush) {
    return bush_peek(bush, 1, AUX);
}

/// Damages the list, the table open or closed, and goes on.
static void list_lose(struct esk_bush *bush, bool open) {
    if (!open) {
        esk_tree_close(bush->tree);
    }
    bush_damage(bush, list_at(bush));
    if (!open) {
        struct esk_tree_stats stats;
        ESK_CHECK_INT(esk_bush_open(bush), ESK_OK);
        verify(bush);
        esk_tree_stats(bush->tree, &stats);
        ESK_CHECK(stats.pages_damaged > 0);
    }
}

ESK_TEST(lost_free_list_begins_anew_on_its_page) {
    for (uint8_t run = 0; run < 4; run++) {
        struct esk_bush bush;
        list_start(&bush, (uint8_t)(ESK_STORE_INPLACE + run / 2), 0, 0);
        grow(&bush, 600);
        shrink(&bush, 400);
        ESK_CHECK_INT(pages_lost(&bush), 0);
        uint32_t list = list_at(&bush);
        ESK_CHECK(bush_peek(&bush, list, BEHIND) > 0);
        list_lose(&bush, run % 2 == 1);
        uint32_t before = merges(&bush);
        shrink(&bush, 300);
        ESK_CHECK(merges(&bush) > before + 5);
        verify(&bush);
        /* What it named is lost, and what it names now is not. */
        uint32_t lost = pages_lost(&bush);
        ESK_CHECK(lost > 9);
        ESK_CHECK_INT(list_at(&bush), list);
        ESK_CHECK(esk_bush_remount(&bush));
        ESK_CHECK(pages_lost(&bush) <= lost);
        grow(&bush, 700);
        shrink(&bush, 0);
        verify(&bush);
        esk_bush_free(&bush);
    }
}

ESK_TEST(lost_free_list_of_a_full_region_hinders_no_delete) {
    for (uint8_t run = 0; run < 4; run++) {
        struct esk_bush bush;
        list_start(&bush, (uint8_t)(ESK_STORE_INPLACE + run / 2), 0, 14);
        grow(&bush, 5000);
        shrink(&bush, bush.model.rows - 60);
        list_lose(&bush, run % 2 == 1);
        uint32_t before = merges(&bush);
        uint32_t rows = bush.model.rows;
        shrink(&bush, rows / 2);
        ESK_CHECK(merges(&bush) > before + 5);
        verify(&bush);
        ESK_CHECK(esk_bush_remount(&bush));
        verify(&bush);
        grow(&bush, 5000);
        ESK_CHECK(bush.model.rows > rows / 2);
        verify(&bush);
        ESK_CHECK(esk_bush_remount(&bush));
        verify(&bush);
        esk_bush_free(&bush);
    }
}

ESK_TEST(free_pages_before_a_lost_part_of_the_list_are_used_once) {
    for (uint8_t run = 0; run < 4; run++) {
        for (uint8_t part = 1; part < 4; part++) {
            struct esk_bush bush;
            list_start(&bush, (uint8_t)(ESK_STORE_INPLACE + run / 2), 0, 14);
            grow(&bush, 5000);
            uint32_t full = bush.model.rows;
            shrink(&bush, full / 8);
            uint32_t list = list_at(&bush);
            uint32_t behind = bush_peek(&bush, list, BEHIND);
            for (uint8_t i = 0; i < part; i++) {
                list = bush_peek(&bush, list, AUX);
                ESK_CHECK(list != UINT32_MAX);
            }
            bush_damage(&bush, list);
            uint32_t step = run % 2 == 0 ? 1 : 5;
            uint32_t refused = 0;
            /* Mounted again in any state of what was fetched. */
            while (refused < 3) {
                uint32_t rows = bush.model.rows;
                grow(&bush, rows + step);
                refused += bush.model.rows < rows + step ? 1 : 0;
                ESK_CHECK(esk_bush_remount(&bush));
                verify(&bush);
            }
            ESK_CHECK(bush.model.rows > full / 8 && bush.model.rows < full);
            /* The parts before it have served: 9 pages and their own. */
            ESK_CHECK_INT(pages_lost(&bush), behind - 10u * (part - 1u));
            shrink(&bush, 20);
            verify(&bush);
            ESK_CHECK(esk_bush_remount(&bush));
            verify(&bush);
            esk_bush_free(&bush);
        }
    }
}

/// Filled to its last page by a program that does not merge.
ESK_TEST(tree_without_a_page_for_its_free_list_deletes_all_the_same) {
    static const struct esk_geometry card = ESK_CARD(160, 2, 128);
    uint32_t full = 0;
    for (uint32_t run = 0; run < 60; run++) {
        struct esk_bush bush;
        struct esk_tree_stats stats;
        struct esk_bush_table table = {.store = ESK_STORE_INPLACE,
                                       .key_type = ESK_TYPE_BYTES,
                                       .key_bytes = (uint16_t)(10 + run % 12),
                                       .pad_bytes = 14,
                                       .key_range = 1200,
                                       .blocks = 4 + run / 12};
        ESK_CONTEXT("run %u", run);
        ESK_CHECK_INT(esk_bush_make(&bush, &table, &card, run), ESK_OK);
        /* Rising keys fill every node: in some regions the row that splits
           all of a path takes the last pages. */
        for (uint32_t n = 0; esk_bush_put(&bush, n) == ESK_OK; n++) {
        }
        esk_tree_stats(bush.tree, &stats);
        bool no_page = stats.nodes == stats.nodes_max;
        esk_tree_close(bush.tree);
        bush.table.merges = true;
        free(bush.arena);
        bush.arena = NULL;
        ESK_CHECK_INT(esk_bush_open(&bush), ESK_OK);
        shrink(&bush, 2);
        verify(&bush);
        ESK_CHECK_INT(merges(&bush) == 0, no_page);
        ESK_CHECK(esk_bush_remount(&bush));
        grow(&bush, 1200);
        verify(&bush);
        full += no_page ? 1 : 0;
        esk_bush_free(&bush);
    }
    ESK_CHECK(full > 0 && full < 60);
}

/// A list that is lost as the newest page, where nothing after it proves that
/// there was one.
ESK_TEST(lost_free_list_keeps_its_page_at_the_head) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        struct esk_bush bush;
        struct esk_tree_stats stats;
        list_start(&bush, store, 0, 0);
        grow(&bush, 300);
        esk_tree_stats(bush.tree, &stats);
        uint32_t merged = stats.merges;
        while (stats.merges == merged) {
            shrink(&bush, bush.model.rows - 1);
            esk_tree_stats(bush.tree, &stats);
        }
        uint32_t list = list_at(&bush);
        ESK_CHECK(bush_peek(&bush, list + 1, 8) != list + 1);
        list_lose(&bush, false);
        grow(&bush, 600);
        shrink(&bush, 100);
        verify(&bush);
        ESK_CHECK_INT(list_at(&bush), list);
        ESK_CHECK(esk_bush_remount(&bush));
        verify(&bush);
        esk_bush_free(&bush);
    }
}

/// Looks for the node on page `at`: whether the tree has it.
/// left     out: the page of the node of its level before it; 0: none.
/// rows     out: below that one, if it is a leaf.
static bool node_find(struct esk_bush *bush, uint32_t at, uint32_t *left,
                      uint32_t *rows) {
    uint32_t page[ESK_TREE_HEIGHT_MAX + 1] = {0};
    uint32_t count[ESK_TREE_HEIGHT_MAX + 1] = {0};
    struct esk_tree_walk walk;
    struct esk_tree_node node;
    ESK_CHECK_INT(esk_tree_walk_open(bush->tree, &walk), ESK_OK);
    while (esk_tree_walk_next(bush->tree, &walk, &node) == ESK_OK) {
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
static uint32_t doubts_check(struct esk_bush *bush, struct esk_sim *whole) {
    uint32_t list = list_at(bush);
    uint32_t entries = bush_peek(bush, list, 4) & 0xFFFFu;
    uint32_t doubts = bush_peek(bush, list, DOUBTS) & 0xFFFFu;
    uint32_t used = 0;
    for (uint32_t i = entries - doubts; i < entries; i++) {
        struct esk_tree_report report;
        uint32_t left = 0;
        uint32_t rows = 0;
        uint32_t at = bush_peek(bush, list, (uint16_t)(LIST_BODY + 4 * i));
        if (!node_find(bush, at, &left, &rows) || left == 0) {
            continue;
        }
        esk_tree_close(bush->tree);
        bush_damage(bush, left);
        ESK_CHECK_INT(esk_bush_open(bush), ESK_OK);
        ESK_CHECK_INT(esk_tree_check(bush->tree, &report), ESK_E_CORRUPT);
        ESK_CHECK_INT(report.pages_damaged, 1);
        ESK_CHECK_INT(report.order_wrong + report.nodes_wrong, 0);
        ESK_CHECK_INT(report.rows, bush->model.rows - rows);
        used++;
        esk_tree_close(bush->tree);
        esk_sim_restore(bush->sim, whole);
        ESK_CHECK_INT(esk_bush_open(bush), ESK_OK);
    }
    return used;
}

/// Wide keys: few children a node, so a page in doubt is often the first one.
ESK_TEST(leaf_in_doubt_is_in_use_also_beside_a_lost_one) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        static const struct esk_geometry card = ESK_CARD(160, 8, 128);
        struct esk_bush bush;
        struct esk_sim *whole = NULL;
        struct esk_bush_table table = {.store = store,
                                       .key_type = ESK_TYPE_BYTES,
                                       .key_bytes = 20,
                                       .pad_bytes = 4,
                                       .key_range = 600,
                                       .blocks = 20,
                                       .merges = true};
        uint32_t used = 0;
        ESK_CONTEXT("store %u", store);
        ESK_CHECK_INT(esk_bush_make(&bush, &table, &card, 7), ESK_OK);
        ESK_CHECK_INT(esk_sim_clone(&whole, bush.sim), ESK_OK);
        grow(&bush, 600);
        for (uint32_t round = 0; round < 60; round++) {
            shrink(&bush, bush.model.rows - 12);
            for (uint32_t i = 0; i < 5; i++) {
                grow(&bush, bush.model.rows + 2);
                ESK_CHECK(esk_bush_remount(&bush));
                esk_sim_restore(whole, bush.sim);
                used += doubts_check(&bush, whole);
            }
            verify(&bush);
        }
        ESK_CHECK(used > 50);
        esk_sim_destroy(whole);
        esk_bush_free(&bush);
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
        struct esk_bush bush;
        list_start(&bush, ESK_STORE_INPLACE, ESK_CHECKSUM_NONE, 14);
        ESK_CONTEXT("lie %u", lie);
        grow(&bush, 5000);
        shrink(&bush, bush.model.rows / 8);
        uint32_t list = list_at(&bush);
        uint32_t leaf = list;
        esk_tree_close(bush.tree);
        switch (lie) {
        case SELF: /* it goes on in itself */
            bush_poke(&bush, list, AUX, list);
            break;
        case ROOT: /* the next that it names is the root */
        case FAR:  /* ... or outside */
            for (uint16_t i = 0; i < 9; i++) {
                bush_poke(&bush, list, (uint16_t)(LIST_BODY + 4 * i),
                          lie == ROOT ? 1 : 0x7F000000);
            }
            break;
        case COUNTS:
            bush_poke(&bush, list, DOUBTS, 0xFFFF);
            break;
        case DOUBTED: /* more than there are of a kind */
        case LISTED:
            esk_sim_poke(bush.sim, bush_page(&bush, list), 4, twenty, 2);
            bush_poke(&bush, list, DOUBTS, lie == DOUBTED ? 20 : 0);
            break;
        case NODE: /* the root says that it is another's page */
            leaf = bush_peek(&bush, 1, 16 + 4);
            bush_poke(&bush, 1, AUX, leaf);
            break;
        default:
            bush_poke(&bush, 1, AUX, lie == ZERO ? 0 : 0x7F000000);
        }
        ESK_CHECK_INT(esk_bush_open(&bush), ESK_OK);
        verify(&bush);
        grow(&bush, 5000);
        verify(&bush);
        if (lie != NODE) {
            shrink(&bush, 20);
            verify(&bush);
        }
        ESK_CHECK_INT(esk_sim_violations(bush.sim), 0);
        esk_bush_free(&bush);
    }
}

ESK_TEST_MAIN()
