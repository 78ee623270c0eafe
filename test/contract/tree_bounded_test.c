// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Bounded work: no call of a copy-on-write tree programs more than twice its
/// height in pages and two blocks (of at least 16 pages), however full the
/// region is, whatever the order of the rows and the changes, collector
/// included. For each page of the two blocks it reads at most twice its height
/// and three pages.
#include <stdio.h>

#include "test/harness/tree_fixture.h"

enum { KEYS = 4000 };

/// Which rows are changed; MOUNTED: any, each after a mount.
enum changes { RANDOM, FEW_OFTEN, IN_ORDER, ONE, MOUNTED, CHANGES };

static uint32_t most;
static uint32_t reads;  ///< most of a call
static uint32_t erases; ///< most of a call
static uint64_t programs;
static uint32_t calls;
static uint32_t sync_every; ///< puts; 0: none is synced

/// Records what a call cost since `before`.
static void call_count(const struct esk_model_tree *model,
                       const struct esk_sim_counters *before) {
    const struct esk_sim_counters *after = esk_sim_counters(model->sim);
    uint64_t made = after->programs - before->programs;
    uint64_t read = after->reads - before->reads;
    uint64_t erased = after->erases - before->erases;
    most = made > most ? (uint32_t)made : most;
    reads = read > reads ? (uint32_t)read : reads;
    erases = erased > erases ? (uint32_t)erased : erases;
    programs += made;
}

/// Puts key `number`, and syncs some times.
static int put(struct esk_model_tree *model, uint32_t number) {
    struct esk_sim_counters before = *esk_sim_counters(model->sim);
    int status = esk_model_tree_put(model, number);
    call_count(model, &before);
    calls++;
    if (status == ESK_OK && sync_every != 0 && calls % sync_every == 0) {
        before = *esk_sim_counters(model->sim);
        status = esk_tree_sync(model->tree);
        call_count(model, &before);
    }
    return status;
}

static void fill_run(struct esk_model_tree *model, bool rises, uint32_t rows) {
    int status = ESK_OK;
    for (uint32_t i = 0; status == ESK_OK && model->expected.rows < rows; i++) {
        status = put(model, rises ? i : esk_model_tree_random(model, KEYS));
    }
    ESK_CHECK(status == ESK_OK || status == ESK_FULL);
}

/// The row that is changed after row `last`.
static uint32_t key_next(struct esk_model_tree *model, enum changes changes,
                         uint32_t last) {
    if (changes == RANDOM || changes == MOUNTED ||
        (changes == FEW_OFTEN && esk_model_tree_random(model, 8) == 0)) {
        return model_tree_key_there(model);
    }
    if (changes == FEW_OFTEN) {
        last = esk_model_tree_random(model, KEYS / 16u);
    }
    last += changes == IN_ORDER ? 1 : 0;
    while (model->expected.version[last % KEYS] == 0) {
        last++;
    }
    return last % KEYS;
}

static void changes_run(struct esk_model_tree *model, enum changes changes,
                        uint32_t pages) {
    uint32_t number = 0;
    uint64_t end = esk_sim_counters(model->sim)->programs +
                   (uint64_t)esk_test_rounds(1, 4) * pages;
    programs = 0;
    calls = 0;
    while (esk_sim_counters(model->sim)->programs < end) {
        number = key_next(model, changes, number);
        ESK_CHECK_INT(put(model, number), ESK_OK);
        if (changes == MOUNTED) {
            ESK_CHECK_HELD(esk_model_tree_remount(model), model->why);
        }
    }
    printf(" %.2f", (double)programs / calls);
}

/// frames   of the pool; 0: the default
/// commit   pages that a commit takes beside the two paths
static void store_run(uint8_t store, uint8_t frames, uint32_t commit) {
    static const struct esk_geometry geometries[] = {
        ESK_NAND(80, 16, 2048), ESK_NAND(80, 64, 2048), ESK_NAND(200, 4, 2048)};
    static const uint16_t blocks[] = {40, 12, 120};
    uint8_t gap = store == ESK_STORE_TNC && !esk_test_is_deep() ? 5 : 1;
    for (uint8_t run = 0; run < 12; run = (uint8_t)(run + gap)) {
        struct esk_model_tree model;
        struct esk_tree_stats stats;
        const struct esk_geometry *geometry = &geometries[run % 3u];
        struct esk_model_tree_table table = {.store = store,
                                             .key_type = ESK_TYPE_U32,
                                             .pad_bytes = 320,
                                             .key_range = KEYS,
                                             .frames = frames,
                                             .blocks = blocks[run % 3u]};
        uint32_t pages = (uint32_t)table.blocks * geometry->block_pages;
        uint32_t block =
            geometry->block_pages < 16 ? 16 : geometry->block_pages;
        bool rises = run / 3u % 2u == 1;
        most = 0;
        reads = 0;
        erases = 0;
        ESK_CONTEXT("store %u, blocks of %u pages, run %u", store,
                    geometry->block_pages, run);
        ESK_CHECK_INT(esk_model_tree_make(&model, &table, geometry, 9), ESK_OK);
        fill_run(&model, rises, run < 6 ? pages : KEYS);
        esk_tree_stats(model.tree, &stats);
        printf("store %u, blocks of %2u pages, %u of %u pages live, %s:", store,
               geometry->block_pages, (unsigned)stats.nodes, (unsigned)pages,
               rises ? "rising" : "random");
        uint32_t bound = 2u * stats.height + 2u * block + commit;
        ESK_CHECK(most <= bound);
        for (uint8_t changes = 0; changes < CHANGES; changes++) {
            changes_run(&model, (enum changes)changes, pages);
        }
        printf(" programs a call; at most %u, %u reads, %u erases\n",
               (unsigned)most, (unsigned)reads, (unsigned)erases);
        ESK_CHECK(most <= bound);
        ESK_CHECK(erases <= (2u * block + commit) / geometry->block_pages + 1u);
        ESK_CHECK(reads <= (2u * block + commit) * (2u * stats.height + 3u));
        ESK_CHECK(stats.nodes <= stats.nodes_max);
        model_tree_verify(&model);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(call_of_a_mu_tree_programs_two_blocks_and_two_paths_at_most) {
    store_run(ESK_STORE_MU, 0, 0);
}

ESK_TEST(call_of_a_wandering_tree_programs_two_blocks_and_two_paths_at_most) {
    store_run(ESK_STORE_WANDERING, 0, 0);
}

/// More frames, and rare syncs, make a call commit more.
ESK_TEST(call_of_a_tnc_tree_programs_two_blocks_and_two_paths_or_a_commit) {
    sync_every = 3;
    store_run(ESK_STORE_TNC, 0, 0);
    store_run(ESK_STORE_TNC, 80, 40);
    sync_every = 300;
    store_run(ESK_STORE_TNC, 0, 0);
    store_run(ESK_STORE_TNC, 80, 40);
}

ESK_TEST_MAIN()
