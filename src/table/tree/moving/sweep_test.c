// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The collector in rare cases: trees of one leaf, old roots, reads that fail,
/// bad blocks.
#include "table/tree/tree.h"
#include "test/harness/tree_fixture.h"

static void verify(struct esk_model_tree *model) {
    ESK_CHECK_HELD(esk_model_tree_verify(model), model->why);
    ESK_CHECK_INT(esk_sim_violations(model->sim), 0);
}

/// A root gets old during batches that are aborted: their pages move the head
/// on, and the tree does not move until the collector reaches it.
ESK_TEST(root_that_is_as_old_as_the_ring_is_moved) {
    for (uint8_t run = 0; run < 6; run++) {
        struct esk_model_tree model;
        struct esk_tree_stats stats;
        struct esk_model_tree_table table =
            model_tree_plain(run % 2 == 0 ? ESK_STORE_WANDERING : ESK_STORE_MU);
        uint16_t ranges[] = {4, 30, 150};
        uint32_t moved = 0;
        table.key_range = ranges[run / 2];
        table.blocks = 24;
        model_tree_start(&model, &table);
        model_tree_puts(&model, 2u * table.key_range);
        ESK_CONTEXT("store %u, %u keys", table.store, table.key_range);
        for (uint32_t batch = 0; batch < 160; batch++) {
            model.before = model.expected;
            ESK_CHECK_INT(esk_tree_begin(model.tree, 30), ESK_OK);
            model_tree_puts(&model, 3);
            ESK_CHECK_INT(esk_tree_abort(model.tree), ESK_OK);
            model.expected = model.before;
            if (batch % 80 == 79) {
                esk_tree_stats(model.tree, &stats);
                moved += stats.pages_moved;
                verify(&model);
                ESK_CHECK(esk_model_tree_remount(&model));
            }
        }
        verify(&model);
        model_tree_puts(&model, 300);
        verify(&model);
        esk_tree_stats(model.tree, &stats);
        ESK_CHECK(moved > 0);
        ESK_CHECK_INT(stats.height == 1, run / 2 == 0);
        esk_model_tree_free(&model);
    }
}

/// A wandering tree of four levels.
static void high_start(struct esk_model_tree *model) {
    struct esk_model_tree_table table = {.store = ESK_STORE_WANDERING,
                                         .key_type = ESK_TYPE_BYTES,
                                         .key_bytes = 60,
                                         .pad_bytes = 60,
                                         .checksum = ESK_CHECKSUM_NONE,
                                         .key_range = 600};
    struct esk_tree_stats stats;
    model_tree_start(model, &table);
    model_tree_puts(model, 1200);
    esk_tree_stats(model->tree, &stats);
    ESK_CHECK(stats.height > 3);
}

ESK_TEST(wandering_tree_reports_its_room_before_its_first_change) {
    struct esk_model_tree model;
    struct esk_tree_stats before;
    struct esk_tree_stats after;
    high_start(&model);
    ESK_CHECK(esk_model_tree_remount(&model));
    esk_tree_stats(model.tree, &before);
    model_tree_puts(&model, 1);
    esk_tree_stats(model.tree, &after);
    ESK_CHECK_INT(before.nodes_max, after.nodes_max);
    esk_model_tree_free(&model);
}

/// Kind of damage to a node.
enum wrong {
    UNREADABLE, ///< it does not verify
    EMPTY,      ///< it verifies and has no entry
    CHILDLESS,  ///< its children have addresses that no page has
    WRONGS
};

/// Damages the node at `address`, in the region of a tree without checksums.
static void node_damage(struct esk_model_tree *model, enum wrong wrong,
                        uint8_t level, uint32_t address) {
    static const uint8_t bytes[4] = {0xFF, 0xFF, 0xFF, 0xFF};
    static const uint8_t junk[4] = {1, 2, 3, 4};
    static const uint8_t zero[2] = {0, 0};
    uint32_t page =
        model_tree_page(model, address % esk_ring_pages(&model->tree->ring));
    struct esk_btree_node node;
    ESK_CHECK_INT(esk_sim_peek(model->sim, page, model->page), ESK_OK);
    esk_btree_view(esk_tree_layout(model->tree), model->page, level,
                   model->tree->now.height, &node);
    if (wrong == UNREADABLE) {
        ESK_CHECK_INT(esk_sim_poke(model->sim, page, 4, junk, 4), ESK_OK);
    } else if (wrong == EMPTY || level == 1) {
        uint16_t at = (uint16_t)(node.count - model->page);
        ESK_CHECK_INT(esk_sim_poke(model->sim, page, at, zero, 2), ESK_OK);
    } else {
        for (uint16_t i = 0; i < esk_btree_count(&node); i++) {
            uint16_t at = (uint16_t)(esk_btree_child(&node, i) - model->page);
            ESK_CHECK_INT(esk_sim_poke(model->sim, page, at, bytes, 4), ESK_OK);
        }
    }
}

/// Damages `count` nodes of `level` that follow one another, of all from
/// number `from` on. Returns how many there were.
static uint32_t nodes_damage(struct esk_model_tree *model, enum wrong wrong,
                             uint8_t level, uint32_t from, uint32_t count) {
    uint32_t address[64];
    struct esk_tree_walk walk;
    struct esk_tree_node node;
    uint32_t found = 0;
    ESK_CHECK_INT(esk_tree_walk_open(model->tree, &walk), ESK_OK);
    while (esk_tree_walk_next(model->tree, &walk, &node) == ESK_OK) {
        if (node.level == level && from > 0) {
            from--;
        } else if (node.level == level && found < count) {
            address[found] = node.address;
            found++;
        }
    }
    for (uint32_t i = 0; i < found; i++) {
        node_damage(model, wrong, level, address[i]);
    }
    return found;
}

/// Whether the row of key `number` can be read; sets the model's row to it.
static bool key_is_there(struct esk_model_tree *model, uint32_t number) {
    uint8_t key[64];
    uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
    uint8_t expected[ESK_MODEL_TREE_ROW_BYTES_MAX];
    esk_model_tree_key(model, number, key);
    int status = esk_tree_get(model->tree, key, row);
    if (status == ESK_OK) {
        esk_model_tree_row(model, number, model->expected.version[number],
                           expected);
        ESK_CHECK_BYTES(row, expected, model->row_bytes);
    }
    return status == ESK_OK;
}

/// Changes readable rows for some laps: none is refused, and no further row is
/// lost.
static void laps_run(struct esk_model_tree *model) {
    static bool there[600];
    struct esk_tree_stats stats;
    uint32_t rows = 0;
    for (uint32_t number = 0; number < model->range; number++) {
        there[number] =
            model->expected.version[number] != 0 && key_is_there(model, number);
        rows += there[number] ? 1 : 0;
    }
    ESK_CHECK(rows > 0 && rows < model->expected.rows);
    for (uint32_t i = 0; i < 600; i++) {
        uint32_t number = esk_model_tree_random(model, model->range);
        while (!there[number]) {
            number = (number + 1) % model->range;
        }
        ESK_CHECK_INT(esk_model_tree_put(model, number), ESK_OK);
    }
    esk_tree_stats(model->tree, &stats);
    ESK_CHECK(stats.pages_moved > rows / 8);
    for (uint32_t number = 0; number < model->range; number++) {
        ESK_CHECK(!there[number] || key_is_there(model, number));
    }
}

ESK_TEST(sweep_skips_nodes_that_cannot_be_read) {
    struct esk_model_tree model;
    struct esk_sim *whole = NULL;
    static struct esk_model_tree before;
    high_start(&model);
    before = model;
    ESK_CHECK_INT(esk_sim_clone(&whole, model.sim), ESK_OK);
    for (uint32_t run = 0; run < WRONGS * 3u * 12u; run++) {
        uint8_t level = (uint8_t)(1u + run / WRONGS % 3u);
        uint32_t from = run / WRONGS / 3u % 4u * 5u;
        uint32_t count = 1u << 2u * (run / WRONGS / 3u / 4u);
        ESK_CONTEXT("wrong %u, level %u, %u from %u on", run % WRONGS, level,
                    count, from);
        esk_sim_restore(model.sim, whole);
        model.expected = before.expected;
        model.version = before.version;
        ESK_CHECK(esk_model_tree_remount(&model));
        if (nodes_damage(&model, run % WRONGS, level, from, count) == count) {
            ESK_CHECK(esk_model_tree_remount(&model));
            laps_run(&model);
        }
    }
    esk_sim_destroy(whole);
    esk_model_tree_free(&model);
}

ESK_TEST(first_change_whose_reads_fail_can_be_made_again) {
    static const enum read_failure ways[] = {READ_BROKEN, READ_CORRUPT};
    struct esk_model_tree model;
    uint32_t failed[2] = {0, 0};
    high_start(&model);
    model_tree_front(&model);
    for (uint32_t read = 1; read < 300; read++) {
        ESK_CONTEXT("read %u", read);
        uint8_t way = read % 2;
        ESK_CHECK(esk_model_tree_remount(&model));
        read_fails_as = ways[way];
        read_fails = read / 2 + 1;
        read_fails_more = way; /* invalid bytes are read again */
        int status = esk_model_tree_put(&model, read);
        read_fails = 0;
        read_fails_more = 0;
        ESK_CHECK(status == ESK_OK || status == ESK_E_IO ||
                  (way == 1 && status == ESK_E_CORRUPT));
        failed[way] += status == ESK_OK ? 0 : 1;
        ESK_CHECK_INT(esk_model_tree_put(&model, read), ESK_OK);
        if (read % 50 == 0) {
            verify(&model);
        }
    }
    /* The collector skips what it cannot read. */
    ESK_CHECK(failed[0] > 100);
    verify(&model);
    esk_model_tree_free(&model);
}

/// Changes existing rows until one is refused, 400 at most.
static int changes_until(struct esk_model_tree *model) {
    int status = ESK_OK;
    for (uint32_t i = 0; i < 400 && status == ESK_OK; i++) {
        status = esk_model_tree_put(model, model_tree_key_there(model));
    }
    return status;
}

/// Blocks go bad until there is no room for the nodes.
ESK_TEST(full_tree_whose_blocks_go_bad_is_worn_and_can_be_read) {
    for (uint8_t store = ESK_STORE_WANDERING; store <= ESK_STORE_TNC; store++) {
        struct esk_model_tree model;
        struct esk_table_info info;
        struct esk_model_tree_table table = model_tree_plain(store);
        ESK_CONTEXT("store %u", store);
        table.key_range = 4000;
        table.blocks = 40;
        model_tree_start(&model, &table);
        model_tree_fill(&model);
        ESK_CHECK_INT(esk_volume_find(&model.volume, "model", &info), ESK_OK);
        int status = ESK_OK;
        uint32_t gone = 0;
        uint32_t most = store == ESK_STORE_TNC ? 39 : 20;
        for (; gone < most && status == ESK_OK; gone++) {
            uint32_t block = gone * 2 % 40 + gone / 20;
            esk_sim_block_fail(model.sim, info.block[0] + block);
            status = changes_until(&model);
        }
        ESK_CHECK_INT(status, ESK_E_WORN);
        ESK_CHECK(gone > 1);
        verify(&model);
        /* A mount finds only a little room. */
        ESK_CHECK(esk_model_tree_remount(&model));
        verify(&model);
        ESK_CHECK_INT(changes_until(&model), ESK_E_WORN);
        verify(&model);
        esk_model_tree_free(&model);
    }
}

/// A tree without a row, in a region whose bad blocks leave too little room to
/// change the first one.
ESK_TEST(first_row_is_refused_where_bad_blocks_leave_no_room) {
    for (uint8_t store = ESK_STORE_WANDERING; store <= ESK_STORE_TNC; store++) {
        struct esk_model_tree model;
        struct esk_table_info info;
        struct esk_model_tree_table table = model_tree_plain(store);
        ESK_CONTEXT("store %u", store);
        table.blocks = store == ESK_STORE_TNC ? 13 : 7;
        model_tree_start(&model, &table);
        ESK_CHECK_INT(esk_volume_find(&model.volume, "model", &info), ESK_OK);
        uint32_t bad = store == ESK_STORE_TNC ? 10 : 4;
        for (uint32_t i = 0; i < bad; i++) {
            ESK_CHECK_INT(
                model.device->ops->block_mark_bad(
                    model.device, info.block[0] + 2 * i % table.blocks),
                ESK_OK);
        }
        ESK_CHECK(esk_model_tree_remount(&model));
        int status = esk_model_tree_put(&model, 1);
        ESK_CHECK(status == ESK_FULL || status == ESK_E_WORN);
        verify(&model);
        esk_model_tree_free(&model);
    }
}

ESK_TEST_MAIN()
