// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The rule of esk_volume_step: a program that calls it after an open and
/// between its other calls, until `done` is below the budget, waits for no
/// erase in an append, a sync, a put or a delete. Prints the cost of the
/// longest call, with steps and without.
#include <stdio.h>

#include "test/harness/model_series.h"
#include "test/harness/tree_fixture.h"

enum { ROWS = 6000, SYNC_EVERY = 7, KEYS = 400, CHANGES = 3000, REOPEN = 500 };

/// The most that a call of each kind did.
struct most {
    uint64_t reads;
    uint64_t programs;
    uint64_t erases;
};

static void most_take(struct most *most, const struct esk_sim *sim,
                      const struct esk_sim_counters *before) {
    const struct esk_sim_counters *now = esk_sim_counters(sim);
    uint64_t reads = now->reads - before->reads;
    uint64_t programs = now->programs - before->programs;
    uint64_t erases = now->erases - before->erases;
    most->reads = reads > most->reads ? reads : most->reads;
    most->programs = programs > most->programs ? programs : most->programs;
    most->erases = erases > most->erases ? erases : most->erases;
}

static void most_print(const char *name, const struct most *most) {
    printf("  %-12s %3u reads, %2u programs, %2u erases\n", name,
           (unsigned)most->reads, (unsigned)most->programs,
           (unsigned)most->erases);
}

/// Steps one at a time until nothing is due; each does one thing.
static void steps_do(struct esk_volume *volume, const struct esk_sim *sim,
                     struct most *most) {
    uint16_t done = 1;
    while (done != 0) {
        struct esk_sim_counters before = *esk_sim_counters(sim);
        ESK_CHECK_INT(esk_volume_step(volume, 1, &done), ESK_OK);
        most_take(most, sim, &before);
    }
}

struct series_case {
    const char *name;
    struct esk_geometry geometry;
    struct esk_model_series_table table;
    uint8_t sync_every; ///< rows; 0: SYNC_EVERY
};

static const struct series_case series_cases[] = {
    {"NOR, two value indexes",
     ESK_NOR(0, 8, 256),
     {.index_count = 2,
      .group_pages = 4,
      .run_pages = 16,
      .data_blocks = 24,
      .index_blocks = 6},
     0},
    {"NAND, a sync journal",
     ESK_NAND(0, 8, 512),
     {.index_count = 1, .data_blocks = 14, .sync_blocks = 3},
     0},
    {"NAND, the least journal",
     ESK_NAND(0, 8, 512),
     {.index_count = 1, .data_blocks = 14, .index_blocks = 6},
     0},
    {"NOR, seals until the page takes no more",
     ESK_NOR(0, 8, 256),
     {.index_count = 2,
      .group_pages = 4,
      .run_pages = 2,
      .data_blocks = 24,
      .index_blocks = 12,
      .pad_bytes = 1},
     1},
    {"NOR, values",
     ESK_NOR(0, 16, 256),
     {.has_var = true,
      .value_bytes = 300,
      .data_blocks = 8,
      .index_blocks = 3,
      .var_blocks = 32},
     0},
};

/// Appends rows and syncs; with `steps` steps are done between the calls.
static void series_run(const struct series_case *of, bool steps) {
    static struct esk_model_series model;
    struct esk_sim_config medium = {.geometry = of->geometry, .seed = 3};
    struct most append = {0};
    struct most sync = {0};
    struct most step = {0};
    medium.geometry.block_count = 60;
    ESK_CHECK_INT(esk_model_series_make(&model, &of->table, &medium, 5),
                  ESK_OK);
    for (uint32_t i = 0; i < ROWS; i++) {
        if (i % REOPEN == REOPEN - 1) {
            esk_model_series_crash(&model);
            ESK_CHECK_INT(esk_model_series_recover(&model), ESK_OK);
        }
        if (steps) {
            steps_do(&model.volume, model.sim, &step);
        }
        struct esk_sim_counters before = *esk_sim_counters(model.sim);
        ESK_CHECK_INT(esk_model_series_append(&model), ESK_OK);
        most_take(&append, model.sim, &before);
        if (steps) {
            steps_do(&model.volume, model.sim, &step);
        }
        before = *esk_sim_counters(model.sim);
        if (i % (of->sync_every != 0 ? of->sync_every : SYNC_EVERY) == 0) {
            ESK_CHECK_INT(esk_model_series_sync(&model), ESK_OK);
            most_take(&sync, model.sim, &before);
        }
    }
    ESK_CHECK(model.expected->laps > 0);
    /* What the comments of the calls say. A value begins a page, fills one, and
       may find one sealed. */
    uint32_t values = of->table.has_var ? 2 + 2 + 2 : 0;
    ESK_CHECK(append.programs <= 2u + 3u + values);
    ESK_CHECK(append.erases <= append.programs);
    ESK_CHECK(append.reads <= 2u * append.programs + 64u);
    ESK_CHECK(sync.programs <= 2u + 3u + (of->table.has_var ? 2u : 0u));
    ESK_CHECK(sync.erases <= sync.programs);
    ESK_CHECK(sync.reads <= 2u * sync.programs);
    printf("%s, %s\n", of->name, steps ? "with steps" : "without");
    most_print("append", &append);
    most_print("sync", &sync);
    if (steps) {
        most_print("step", &step);
        ESK_CHECK_INT(append.erases, 0);
        ESK_CHECK_INT(sync.erases, 0);
        ESK_CHECK(step.erases == 1 && step.programs == 0);
    } else {
        ESK_CHECK(append.erases + sync.erases > 0);
    }
    esk_model_series_free(&model);
}

ESK_TEST(append_and_sync_wait_for_no_erase_after_steps) {
    for (size_t i = 0; i < sizeof series_cases / sizeof series_cases[0]; i++) {
        ESK_CONTEXT("%s", series_cases[i].name);
        series_run(&series_cases[i], true);
        series_run(&series_cases[i], false);
    }
}

/// Changes rows of a copy-on-write tree.
static void tree_run(uint8_t store, bool steps) {
    struct esk_geometry geometry = ESK_NAND(120, 8, 512);
    struct esk_model_tree_table table = {.store = store,
                                         .key_type = ESK_TYPE_U32,
                                         .pad_bytes = 60,
                                         .key_range = KEYS,
                                         .blocks =
                                             store == ESK_STORE_TNC ? 100 : 30};
    struct esk_model_tree model;
    struct esk_tree_stats stats;
    struct most change = {0};
    struct most step = {0};
    ESK_CHECK_INT(esk_model_tree_make(&model, &table, &geometry, 9), ESK_OK);
    for (uint32_t i = 0; i < CHANGES; i++) {
        if (i % REOPEN == REOPEN - 1) {
            ESK_CHECK_HELD(esk_model_tree_remount(&model), model.why);
        }
        if (steps) {
            steps_do(&model.volume, model.sim, &step);
        }
        uint32_t number = esk_model_tree_random(&model, KEYS);
        struct esk_sim_counters before = *esk_sim_counters(model.sim);
        int status = i % 5 == 4 ? esk_model_tree_delete(&model, number)
                                : esk_model_tree_put(&model, number);
        ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND);
        most_take(&change, model.sim, &before);
    }
    printf("store %u, %s\n", store, steps ? "with steps" : "without");
    most_print("put, delete", &change);
    if (steps) {
        most_print("step", &step);
        ESK_CHECK_INT(change.erases, 0);
        esk_tree_stats(model.tree, &stats);
        /* A block of less than 16 pages counts as 16 (tree_bounded_test). */
        uint32_t bound = 2u * stats.height + 2u * 16u;
        ESK_CHECK(step.programs <= bound);
        ESK_CHECK(step.erases <= bound / geometry.block_pages + 1u);
    } else {
        ESK_CHECK(change.erases > 0);
    }
    model_tree_verify(&model);
    esk_model_tree_free(&model);
}

ESK_TEST(change_of_a_tree_waits_for_no_erase_after_steps) {
    static const uint8_t stores[] = {ESK_STORE_WANDERING, ESK_STORE_MU,
                                     ESK_STORE_TNC};
    for (size_t i = 0; i < sizeof stores; i++) {
        ESK_CONTEXT("store %u", stores[i]);
        tree_run(stores[i], true);
        tree_run(stores[i], false);
    }
}

ESK_TEST_MAIN()
