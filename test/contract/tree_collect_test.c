// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Garbage collection of copy-on-write trees: how full they get, the cost of a
/// change then, and the effect of a lost page.
#include "test/harness/arena.h"
#include "test/harness/tree_fixture.h"

static const struct esk_geometry large = ESK_NAND(80, 16, 2048);

static const struct esk_geometry small = ESK_NAND(100, 8, 256);

static void model_tree_make(struct esk_model_tree *model,
                            const struct esk_model_tree_table *table,
                            const struct esk_geometry *geometry) {
    ESK_CHECK_INT(esk_model_tree_make(model, table, geometry, 9), ESK_OK);
}

static void sound_verify(struct esk_model_tree *model) {
    model_tree_verify(model);
    ESK_CHECK_INT(esk_sim_violations(model->sim), 0);
}

/// Changes existing rows until `programs` pages were programmed.
/// Returns the most that one change programmed.
static uint32_t update(struct esk_model_tree *model, uint64_t programs) {
    uint64_t first = esk_sim_counters(model->sim)->programs;
    uint32_t most = 0;
    while (esk_sim_counters(model->sim)->programs - first < programs) {
        uint64_t before = esk_sim_counters(model->sim)->programs;
        uint32_t number = esk_model_tree_random(model, model->range);
        if (model->expected.version[number] != 0) {
            ESK_CHECK_INT(esk_model_tree_put(model, number), ESK_OK);
        }
        uint64_t done = esk_sim_counters(model->sim)->programs - before;
        most = done > most ? (uint32_t)done : most;
    }
    return most;
}

ESK_TEST(full_copy_on_write_tree_is_mostly_live_and_wears_evenly) {
    static const struct {
        uint8_t store;
        uint8_t frames;
        uint8_t live; ///< percent of the pages, at least
    } cases[] = {{ESK_STORE_WANDERING, 2, 66},
                 {ESK_STORE_WANDERING, 6, 66},
                 {ESK_STORE_MU, 2, 85},
                 {ESK_STORE_MU, 6, 85}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = {.store = cases[i].store,
                                             .frames = cases[i].frames,
                                             .key_type = ESK_TYPE_U32,
                                             .pad_bytes = 320,
                                             .key_range = 4000,
                                             .blocks = 40};
        uint32_t pages = 40 * 16;
        struct esk_tree_report report;
        ESK_CONTEXT("store %u, %u frames", table.store, table.frames);
        model_tree_make(&model, &table, &large);
        model_tree_fill(&model);
        ESK_CHECK_INT(esk_tree_check(model.tree, &report), ESK_OK);
        uint32_t live =
            table.store == ESK_STORE_MU ? report.leaves : report.nodes;
        ESK_CHECK(live * 100 >= cases[i].live * pages);
        uint32_t most = update(&model, 30u * pages);
        ESK_CHECK(most <= 2u * 3u + 2u * 16u);
        struct esk_table_info info;
        struct esk_sim_wear wear;
        ESK_CHECK_INT(esk_volume_find(&model.volume, "model", &info), ESK_OK);
        esk_sim_wear(model.sim, info.block[0], info.blocks[0], &wear);
        ESK_CHECK(wear.min > 20);
        ESK_CHECK(wear.max * 1000u <= wear.mean_milli * 5 / 4);
        sound_verify(&model);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(full_wandering_tree_with_inner_nodes_of_one_child_takes_changes) {
    struct esk_model_tree model;
    struct esk_model_tree_table table = {.store = ESK_STORE_WANDERING,
                                         .key_type = ESK_TYPE_BYTES,
                                         .key_bytes = 24,
                                         .pad_bytes = 30,
                                         .key_range = 4000,
                                         .blocks = 75};
    enum { PHASE = 400, RUN = 24 }; /* keys: 3 a leaf, 8 leaves a node */
    struct esk_tree_stats stats;
    model_tree_make(&model, &table, &small);
    /* Of each run of keys one stays: its leaf, and the node above it. */
    int status = ESK_OK;
    for (uint32_t first = 0; first < model.range && status == ESK_OK;
         first += PHASE) {
        uint32_t put = 0;
        for (; put < PHASE && status == ESK_OK; put++) {
            status = esk_model_tree_put(&model, first + put);
        }
        put -= status == ESK_OK ? 0 : 1;
        for (uint32_t i = 0; i < put; i++) {
            if (i % RUN != 0) {
                ESK_CHECK_INT(esk_model_tree_delete(&model, first + i), ESK_OK);
            }
        }
    }
    ESK_CHECK(status == ESK_OK || status == ESK_FULL);
    model_tree_fill(&model);
    esk_tree_stats(model.tree, &stats);
    ESK_CHECK(stats.height >= 4);
    (void)update(&model, 3000);
    ESK_CHECK(esk_model_tree_remount(&model));
    (void)update(&model, 3000);
    sound_verify(&model);
    esk_model_tree_free(&model);
}

/// Puts existing rows, from random ones on, at most `most` a call, at most 10.
static void many_put(struct esk_model_tree *model, uint32_t calls,
                     uint32_t most) {
    uint8_t rows[10 * 600];
    for (uint32_t i = 0; i < calls; i++) {
        uint32_t number = model_tree_key_there(model);
        uint32_t done = 0;
        uint32_t put = 0;
        for (; put < most && number < model->range; number++) {
            if (model->expected.version[number] != 0) {
                model->version++;
                esk_model_tree_row(model, number, model->version,
                                   rows + put * model->row_bytes);
                model->expected.version[number] = model->version;
                put++;
            }
        }
        ESK_CHECK_INT(esk_tree_put_many(model->tree, rows, put, &done), ESK_OK);
        ESK_CHECK_INT(done, put);
    }
}

ESK_TEST(batch_takes_the_changes_that_it_has_room_for_at_any_fill) {
    enum { PAGES = 30 };
    for (uint8_t store = ESK_STORE_WANDERING; store <= ESK_STORE_TNC; store++) {
        struct esk_model_tree model;
        struct esk_tree_stats stats;
        struct esk_model_tree_table table = {.store = store,
                                             .key_type = ESK_TYPE_U32,
                                             .pad_bytes = 320,
                                             .key_range = 4000,
                                             .blocks = 40};
        ESK_CONTEXT("store %u", store);
        model_tree_make(&model, &table, &large);
        model_tree_fill(&model);
        many_put(&model, 200, 10);
        esk_tree_stats(model.tree, &stats);
        while (stats.nodes + PAGES > stats.nodes_max) {
            ESK_CHECK_INT(
                esk_model_tree_delete(&model, model_tree_key_there(&model)),
                ESK_OK);
            esk_tree_stats(model.tree, &stats);
        }
        uint32_t path = store == ESK_STORE_MU ? 1 : stats.height;
        for (uint32_t batch = 0; batch < 300; batch++) {
            ESK_CHECK_INT(esk_tree_begin(model.tree, PAGES), ESK_OK);
            model.before = model.expected;
            many_put(&model, PAGES / path, 1);
            if (batch % 3 == 2) {
                ESK_CHECK_INT(esk_tree_abort(model.tree), ESK_OK);
                model.expected = model.before;
            } else {
                ESK_CHECK_INT(esk_tree_commit(model.tree), ESK_OK);
            }
        }
        sound_verify(&model);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(nodes_max_is_what_a_tree_of_the_last_height_can_hold) {
    for (uint8_t order = 0; order < 2; order++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = {.store = ESK_STORE_MU,
                                             .key_type = ESK_TYPE_BYTES,
                                             .key_bytes = 20,
                                             .key_range = 4000,
                                             .blocks = 60};
        struct esk_tree_stats stats;
        int status = ESK_OK;
        ESK_CONTEXT("order %u", order);
        model_tree_make(&model, &table, &small);
        for (uint32_t i = 0; status == ESK_OK; i++) {
            uint32_t random = esk_model_tree_random(&model, model.range);
            status = esk_model_tree_put(&model, order == 0 ? i : random);
        }
        ESK_CHECK_INT(status, ESK_FULL);
        esk_tree_stats(model.tree, &stats);
        /* Full by its height, three levels, not by its 480 pages. */
        ESK_CHECK_INT(stats.height, 3);
        ESK_CHECK_INT(stats.nodes, 7);
        ESK_CHECK_INT(stats.nodes_max, 7);
        sound_verify(&model);
        esk_model_tree_free(&model);
    }
}

/* ---------------------------------------------------------------- damage */

/// Walks to the first node of `level` after `skip` others. False: there is
/// none, or its page also has a node above it.
static bool node_find(struct esk_model_tree *model, uint8_t level,
                      uint32_t skip, struct esk_tree_node *node,
                      uint32_t *pages) {
    struct esk_tree_walk walk;
    struct esk_tree_node other;
    ESK_CHECK_INT(esk_tree_walk_open(model->tree, &walk), ESK_OK);
    *pages = walk.pages_max;
    do {
        if (esk_tree_walk_next(model->tree, &walk, node) != ESK_OK) {
            return false;
        }
    } while (node->level != level || skip-- > 0);
    ESK_CHECK_INT(esk_tree_walk_open(model->tree, &walk), ESK_OK);
    while (esk_tree_walk_next(model->tree, &walk, &other) == ESK_OK) {
        if (other.level > level && other.address == node->address) {
            return false;
        }
    }
    return true;
}

/// The device page of an early node of `level` that has no node above it.
static uint32_t node_page(struct esk_model_tree *model, uint8_t level) {
    struct esk_table_info info;
    struct esk_tree_node node;
    uint32_t pages = 0;
    uint32_t skip = 1;
    while (!node_find(model, level, skip, &node, &pages)) {
        skip++;
        ESK_CHECK(skip < 20);
    }
    ESK_CHECK_INT(esk_volume_find(&model->volume, "model", &info), ESK_OK);
    return info.block[0] * model->device->geometry.block_pages +
           node.address % pages;
}

/// Mounts with `flags` and opens.
static void remount(struct esk_model_tree *model, uint8_t flags) {
    esk_tree_close(model->tree);
    esk_volume_unmount(&model->volume);
    ESK_CHECK_INT(
        esk_volume_mount(&model->volume, model->device, flags, TEST_SCRATCH),
        ESK_OK);
    ESK_CHECK_INT(esk_model_tree_open(model), ESK_OK);
}

/// Keys of a tree that fits 40 blocks.
static uint16_t keys_of(uint8_t store) {
    static const uint16_t keys[] = {[ESK_STORE_WANDERING] = 600,
                                    [ESK_STORE_MU] = 300,
                                    [ESK_STORE_TNC] = 150};
    return keys[store];
}

/// Loses a node near the first keys, then fills the ring by changes of the last
/// rows.
static void lost_run(uint8_t store, uint8_t level, uint8_t flags) {
    struct esk_model_tree model;
    struct esk_model_tree_table table = {.store = store,
                                         .key_type = ESK_TYPE_I16,
                                         .pad_bytes = 24,
                                         .key_range = keys_of(store),
                                         .blocks = 40};
    model_tree_make(&model, &table, &small);
    for (uint32_t number = 0; number < model.range; number++) {
        ESK_CHECK_INT(esk_model_tree_put(&model, number), ESK_OK);
    }
    ESK_CHECK_INT(model_tree_lost(&model, 0), 0);
    uint32_t last = model.range - 1u;
    ESK_CHECK_INT(esk_model_tree_put(&model, last), ESK_OK);
    uint32_t page = node_page(&model, level);
    remount(&model, flags);
    ESK_CHECK_INT(esk_sim_flip_random(model.sim, page, 3), ESK_OK);
    for (uint32_t i = 0; i < 2000; i++) {
        ESK_CHECK_INT(esk_model_tree_put(&model, last - i % 2), ESK_OK);
        ESK_CHECK_INT(esk_tree_sync(model.tree), ESK_OK);
    }
    remount(&model, 0);
    uint32_t lost = model_tree_lost(&model, 0);
    ESK_CHECK(lost > 1);
    ESK_CHECK(lost < model.range / 2u);
    ESK_CHECK_INT(esk_sim_violations(model.sim), 0);
    esk_model_tree_free(&model);
}

ESK_TEST(collector_skips_a_lost_node_and_keeps_the_others) {
    for (uint8_t store = ESK_STORE_WANDERING; store <= ESK_STORE_TNC; store++) {
        for (uint8_t level = 1; level <= 2; level++) {
            ESK_CONTEXT("store %u, level %u", store, level);
            lost_run(store, level, 0);
        }
    }
}

ESK_TEST(collector_gives_no_damaged_leaf_a_new_checksum) {
    for (uint8_t store = ESK_STORE_WANDERING; store <= ESK_STORE_TNC; store++) {
        ESK_CONTEXT("store %u", store);
        lost_run(store, 1, ESK_MOUNT_TRUST_LOADS);
    }
}

ESK_TEST_MAIN()
