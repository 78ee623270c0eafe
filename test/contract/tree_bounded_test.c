// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Bounded work: no call of a mu tree programs more than its height's pages
/// twice and two blocks (of at least 16 pages), however full the region is and
/// in whatever order rows came, collector included.
#include <stdio.h>

#include "test/harness/tree_fixture.h"

enum { KEYS = 4000, LAPS = 4 };

static uint32_t most;
static uint64_t programs;
static uint32_t calls;

/// Puts key `number` and takes note of what that programmed.
static int put(struct esk_model_tree *model, uint32_t number) {
    uint64_t before = esk_sim_counters(model->sim)->programs;
    int status = esk_model_tree_put(model, number);
    uint64_t made = esk_sim_counters(model->sim)->programs - before;
    most = made > most ? (uint32_t)made : most;
    programs += made;
    calls++;
    return status;
}

static void fill_run(struct esk_model_tree *model, bool rises, uint32_t rows) {
    int status = ESK_OK;
    for (uint32_t i = 0; status == ESK_OK && model->expected.rows < rows; i++) {
        status = put(model, rises ? i : esk_model_tree_random(model, KEYS));
    }
    ESK_CHECK(status == ESK_OK || status == ESK_FULL);
}

ESK_TEST(call_of_a_mu_tree_programs_two_blocks_and_two_paths_at_most) {
    static const struct esk_geometry geometries[] = {
        ESK_NAND(80, 16, 2048), ESK_NAND(80, 64, 2048), ESK_NAND(200, 4, 2048)};
    static const uint16_t blocks[] = {40, 12, 120};
    for (uint8_t run = 0; run < 12; run++) {
        struct esk_model_tree model;
        struct esk_tree_stats stats;
        const struct esk_geometry *geometry = &geometries[run % 3u];
        struct esk_model_tree_table table = {.store = ESK_STORE_MU,
                                             .key_type = ESK_TYPE_U32,
                                             .pad_bytes = 320,
                                             .key_range = KEYS,
                                             .blocks = blocks[run % 3u]};
        uint32_t pages = (uint32_t)table.blocks * geometry->block_pages;
        uint32_t block =
            geometry->block_pages < 16 ? 16 : geometry->block_pages;
        bool rises = run / 3u % 2u == 1;
        most = 0;
        programs = 0;
        calls = 0;
        ESK_CONTEXT("blocks of %u pages, run %u", geometry->block_pages, run);
        ESK_CHECK_INT(esk_model_tree_make(&model, &table, geometry, 9), ESK_OK);
        fill_run(&model, rises, run < 6 ? KEYS : pages);
        uint64_t end =
            esk_sim_counters(model.sim)->programs + (uint64_t)LAPS * pages;
        programs = 0;
        calls = 0;
        while (esk_sim_counters(model.sim)->programs < end) {
            ESK_CHECK_INT(put(&model, model_tree_key_there(&model)), ESK_OK);
        }
        esk_tree_stats(model.tree, &stats);
        printf("blocks of %2u pages, %u of %u pages live, %s: %u programs a "
               "call at most, %.2f on average\n",
               geometry->block_pages, (unsigned)stats.nodes, (unsigned)pages,
               rises ? "rising" : "random", (unsigned)most,
               (double)programs / calls);
        ESK_CHECK(most <= 2u * stats.height + 2u * block);
        model_tree_verify(&model);
        esk_model_tree_free(&model);
    }
}

ESK_TEST_MAIN()
