// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Walks return every node once, report damaged ones, and continue after them.
#include "test/harness/tree_fixture.h"

/// A model of `store` with `count` puts of random keys.
static void model_tree_grow(struct esk_model_tree *model, uint8_t store,
                            uint32_t count) {
    struct esk_model_tree_table table = model_tree_plain(store);
    table.key_range = 900;
    model_tree_start(model, &table);
    model_tree_puts(model, count);
}

/// Sums of a walk to its end.
struct sums {
    uint32_t nodes;
    uint32_t leaves;
    uint32_t rows;
    uint32_t children;
    uint32_t damaged;
};

static struct sums walk_all(struct esk_model_tree *model) {
    struct sums sums = {0};
    struct esk_tree_walk walk;
    struct esk_tree_node node;
    struct esk_tree_stats stats;
    uint8_t level = 0;
    int status = esk_tree_walk_open(model->tree, &walk);
    esk_tree_stats(model->tree, &stats);
    while (status == ESK_OK) {
        status = esk_tree_walk_next(model->tree, &walk, &node);
        if (status != ESK_OK) {
            break;
        }
        // A child follows its parent, or a sibling's subtree.
        ESK_CHECK(level == 0 ? node.level == stats.height
                             : node.level + 1 >= level);
        ESK_CHECK(node.level <= stats.height);
        ESK_CHECK(node.count <= node.capacity);
        level = node.level;
        sums.nodes++;
        sums.damaged += node.damaged;
        sums.leaves += level == 1;
        sums.rows += level == 1 ? node.count : 0;
        sums.children += level > 1 ? node.count : 0;
    }
    ESK_CHECK_INT(status, ESK_END);
    ESK_CHECK_INT(esk_tree_walk_next(model->tree, &walk, &node), ESK_END);
    ESK_CHECK(walk.pages <= walk.pages_max);
    return sums;
}

ESK_TEST(tree_walk_returns_every_node_once) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_TNC; store++) {
        struct esk_model_tree model;
        struct esk_tree_report report;
        model_tree_grow(&model, store, 1200);
        struct sums sums = walk_all(&model);
        ESK_CHECK_INT(esk_tree_check(model.tree, &report), ESK_OK);
        ESK_CHECK(report.leaves > 10);
        ESK_CHECK_INT(sums.nodes, report.nodes);
        ESK_CHECK_INT(sums.leaves, report.leaves);
        ESK_CHECK_INT(sums.rows, model.expected.rows);
        ESK_CHECK_INT(sums.children, sums.nodes - 1);
        ESK_CHECK_INT(sums.damaged, 0);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(tree_walk_of_an_empty_tree_ends_at_once) {
    for (uint8_t store = ESK_STORE_WANDERING; store <= ESK_STORE_TNC; store++) {
        struct esk_model_tree model;
        model_tree_grow(&model, store, 0);
        ESK_CHECK_INT(walk_all(&model).nodes, 0);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(tree_walk_is_stale_after_a_change) {
    struct esk_model_tree model;
    struct esk_tree_walk walk;
    struct esk_tree_node node;
    model_tree_grow(&model, ESK_STORE_MU, 300);
    ESK_CHECK_INT(esk_tree_walk_open(model.tree, &walk), ESK_OK);
    ESK_CHECK_INT(esk_tree_walk_next(model.tree, &walk, &node), ESK_OK);
    ESK_CHECK_INT(esk_model_tree_put(&model, 7), ESK_OK);
    ESK_CHECK_INT(esk_tree_walk_next(model.tree, &walk, &node), ESK_E_STALE);
    esk_model_tree_free(&model);
}

/// The device page of node address `address`.
static esk_page_id page_of(struct esk_model_tree *model, uint32_t address) {
    struct esk_table_info info;
    struct esk_tree_walk walk;
    ESK_CHECK_INT(esk_volume_find(&model->volume, "model", &info), ESK_OK);
    ESK_CHECK_INT(esk_tree_walk_open(model->tree, &walk), ESK_OK);
    return info.block[0] * model->device->geometry.block_pages +
           address % walk.pages_max;
}

ESK_TEST(tree_walk_reports_damaged_nodes_and_goes_on) {
    static const uint8_t stores[] = {ESK_STORE_INPLACE, ESK_STORE_WANDERING};
    for (size_t i = 0; i < sizeof stores; i++) {
        struct esk_model_tree model;
        struct esk_tree_walk walk;
        struct esk_tree_node node;
        uint8_t junk[64] = {1, 2, 3};
        model_tree_grow(&model, stores[i], 900);
        struct sums before = walk_all(&model);
        // The last leaf is one of many, and not only below the newest root.
        ESK_CHECK_INT(esk_tree_walk_open(model.tree, &walk), ESK_OK);
        do {
            ESK_CHECK_INT(esk_tree_walk_next(model.tree, &walk, &node), ESK_OK);
        } while (node.level > 1);
        ESK_CHECK_INT(esk_sim_poke(model.sim, page_of(&model, node.address), 16,
                                   junk, sizeof junk),
                      ESK_OK);
        ESK_CHECK(esk_model_tree_remount(&model));
        struct sums after = walk_all(&model);
        ESK_CHECK_INT(after.damaged, 1);
        ESK_CHECK_INT(after.nodes, before.nodes);
        ESK_CHECK_INT(after.rows, before.rows - node.count);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(tree_walk_goes_on_after_a_read_that_failed) {
    struct esk_model_tree model;
    model_tree_grow(&model, ESK_STORE_WANDERING, 900);
    struct sums whole = walk_all(&model);
    struct esk_device front;
    failing_device_make(&front, model.device);
    model.device = &front;
    ESK_CHECK(esk_model_tree_remount(&model));
    struct esk_tree_walk walk;
    struct esk_tree_node node;
    uint32_t failures = 0;
    uint32_t nodes = 0;
    ESK_CHECK_INT(esk_tree_walk_open(model.tree, &walk), ESK_OK);
    int status = ESK_OK;
    while (status != ESK_END) {
        // In every other call the next read fails.
        read_fails = status == ESK_OK ? 1 : 0;
        status = esk_tree_walk_next(model.tree, &walk, &node);
        failures += status == ESK_E_IO;
        nodes += status == ESK_OK;
        ESK_CHECK(status == ESK_OK || status == ESK_E_IO || status == ESK_END);
    }
    ESK_CHECK(failures > whole.leaves / 2);
    ESK_CHECK_INT(nodes, whole.nodes);
    esk_model_tree_free(&model);
}

ESK_TEST_MAIN()
