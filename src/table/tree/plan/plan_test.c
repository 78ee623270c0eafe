// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Compares the planner with the papers' figures, and with their formulas in
/// floating point.
#include <math.h>

#include "esker/status.h"
#include "esker/tree_plan.h"
#include "test/harness/esk_test.h"

/// A page with only entries of 8 bytes, as in the papers.
static struct esk_tree_need paper(uint16_t page_bytes, uint32_t rows,
                                  uint8_t k_percent) {
    return (struct esk_tree_need){
        .rows = rows,
        .block_pages = 64,
        .page_bytes = page_bytes,
        .leaf_entry_bytes = 8,
        .index_entry_bytes = 8,
        .store = ESK_STORE_MU,
        .k_percent = k_percent,
    };
}

ESK_TEST(plan_divides_a_page_as_figure_4_of_mutree_does) {
    static const uint16_t entries[4][4] = {
        {512}, {256, 256}, {256, 128, 128}, {256, 128, 64, 64}};
    struct esk_tree_need need = paper(4096, 1, 50);
    for (uint8_t height = 1; height <= 4; height++) {
        for (uint8_t level = 1; level <= height; level++) {
            ESK_CONTEXT("height %u, level %u", height, level);
            ESK_CHECK_INT(esk_tree_plan_entries(&need, 50, level, height),
                          entries[height - 1][level - 1]);
        }
    }
}

/// mutree-2007, Fig. 7, by equations (3) and (6); f = 512.
static uint8_t figure_7(uint8_t store, double rows) {
    double f = 512;
    double height = log(rows) / log(f);
    if (store == ESK_STORE_MU) {
        double a = log2(sqrt(2) / f);
        height = -a - sqrt(a * a - 2 * log2(rows / 2));
    }
    return (uint8_t)ceil(height - 1e-9);
}

ESK_TEST(plan_has_the_heights_of_figure_7_of_mutree) {
    for (uint8_t store = ESK_STORE_WANDERING; store <= ESK_STORE_MU; store++) {
        struct esk_tree_need need = paper(4096, 1, 50);
        need.store = store;
        /* mu's equation gives 0.99.. for a height of one. */
        for (double rows = 600; rows <= 1e9; rows *= 1.07) {
            struct esk_tree_plan plan;
            need.rows = (uint32_t)rows;
            (void)esk_tree_plan(&need, &plan);
            ESK_CONTEXT("store %u, rows %u", store, need.rows);
            ESK_CHECK_INT(plan.height_least, figure_7(store, need.rows));
        }
    }
}

ESK_TEST(plan_holds_mu_at_most_one_level_above_the_btree) {
    struct esk_tree_need need = paper(4096, 1, 50);
    for (uint32_t rows = 1; rows < 500000000; rows = rows * 2 + 1) {
        struct esk_tree_plan mu;
        struct esk_tree_plan btree;
        need.rows = rows;
        need.store = ESK_STORE_MU;
        (void)esk_tree_plan(&need, &mu);
        need.store = ESK_STORE_WANDERING;
        (void)esk_tree_plan(&need, &btree);
        ESK_CONTEXT("rows %u", rows);
        ESK_CHECK(mu.height_least >= btree.height_least);
        ESK_CHECK(mu.height_least <= btree.height_least + 1);
    }
}

ESK_TEST(plan_has_the_leaves_of_equations_9_and_10_of_mutree) {
    struct esk_tree_need need = paper(4096, 1000000, 50);
    struct esk_tree_plan plan;
    ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_OK);
    ESK_CHECK_INT(plan.pages_least, 3907); /* n / (f / 2) */
    need.store = ESK_STORE_WANDERING;
    ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_OK);
    ESK_CHECK_INT(plan.pages_least, 1954 + 4 + 1); /* equation (8) */
}

ESK_TEST(plan_gives_the_index_sizes_of_kmutree) {
    /* lrun-kmutree-2012, section IV: n / (k F) pages, F = 256 at 2 KB. */
    static const uint8_t ks[] = {30, 50, 70};
    static const uint32_t rows[] = {5000, 10000, 20000, 30000};
    static const uint32_t pages[4][3] = {
        {66, 40, 28}, {132, 79, 56}, {264, 157, 112}, {395, 235, 168}};
    for (uint8_t i = 0; i < 4; i++) {
        for (uint8_t j = 0; j < 3; j++) {
            struct esk_tree_need need = paper(2048, rows[i], ks[j]);
            struct esk_tree_plan plan;
            ESK_CONTEXT("rows %u, k %u", rows[i], ks[j]);
            ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_OK);
            ESK_CHECK_INT(plan.pages_least, pages[i][j]);
        }
        /* Fig. 19: 25 to 35 % smaller than mu-Tree. */
        ESK_CHECK(pages[i][2] * 100 <= pages[i][1] * 75);
        ESK_CHECK(pages[i][2] * 100 >= pages[i][1] * 65);
    }
}

/// Formula (1) of lrun-kmutree-2012; 0 where it has no real solution.
static double formula_1(double k, double rows, double fanout) {
    double a = log10(1 - k);
    double b = log10(k * fanout / 2);
    double root =
        (a + 2 * b) * (a + 2 * b) + 8 * a * log10(2 * rows / (k * fanout - 2));
    return root < 0 ? 0 : (3 * a - 2 * b + sqrt(root)) / (2 * a);
}

ESK_TEST(plan_bounds_the_height_as_formula_1_of_kmutree_does) {
    for (uint8_t k = 20; k <= 70; k += 5) {
        for (uint32_t rows = 1000; rows <= 50000; rows += 700) {
            struct esk_tree_need need = paper(4096, rows, k);
            struct esk_tree_plan plan;
            double height = formula_1(k / 100.0, rows, 512);
            if (height <= 0) {
                continue;
            }
            (void)esk_tree_plan(&need, &plan);
            ESK_CONTEXT("k %u, rows %u: formula %f, plan %u", k, rows, height,
                        plan.height_most);
            /* It ignores the root's factor of 2 and whole entries. */
            ESK_CHECK(plan.height_most <= (uint8_t)floor(height) + 1);
            ESK_CHECK(plan.height_most + 1 >= (uint8_t)floor(height));
        }
    }
}

ESK_TEST(plan_chooses_the_largest_k_that_formula_1_solves) {
    for (uint32_t rows = 1000; rows <= 1000000; rows = rows * 3 / 2) {
        struct esk_tree_need need = paper(4096, rows, 0);
        uint8_t best = 0;
        uint8_t largest = 0;
        for (uint8_t k = 5; k <= 95; k++) {
            largest = formula_1(k / 100.0, rows, 512) > 0 ? k : largest;
        }
        ESK_CHECK_INT(esk_tree_plan_best_k(&need, &best), ESK_OK);
        ESK_CONTEXT("rows %u: formula %u, plan %u", rows, largest, best);
        ESK_CHECK(abs((int)best - (int)largest) <= 6);
    }
}

ESK_TEST(plan_best_k_falls_with_rows_and_with_entries) {
    uint8_t before = 100;
    for (uint32_t rows = 1000; rows <= 1000000; rows *= 2) {
        struct esk_tree_need need = paper(4096, rows, 0);
        uint8_t best = 0;
        ESK_CHECK_INT(esk_tree_plan_best_k(&need, &best), ESK_OK);
        ESK_CHECK(best <= before);
        before = best;
    }
    before = 100;
    for (uint16_t bytes = 8; bytes <= 32; bytes += 4) {
        struct esk_tree_need need = paper(4096, 10000, 0);
        uint8_t best = 0;
        need.leaf_entry_bytes = bytes;
        need.index_entry_bytes = bytes;
        ESK_CHECK_INT(esk_tree_plan_best_k(&need, &best), ESK_OK);
        ESK_CHECK(best <= before);
        before = best;
    }
}

ESK_TEST(plan_best_k_keeps_to_a_height) {
    struct esk_tree_need need = paper(4096, 100000, 0);
    uint8_t free_k = 0;
    uint8_t low_k = 0;
    struct esk_tree_plan plan;
    ESK_CHECK_INT(esk_tree_plan_best_k(&need, &free_k), ESK_OK);
    need.height_most = 3;
    ESK_CHECK_INT(esk_tree_plan_best_k(&need, &low_k), ESK_OK);
    ESK_CHECK(low_k < free_k);
    ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_OK);
    ESK_CHECK_INT(plan.k_percent, low_k);
    ESK_CHECK(plan.height_most <= 3);
    need.height_most = 1;
    ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_NOT_FOUND);
}

ESK_TEST(plan_predicts_the_writes_of_btree_2022) {
    /* 10,000 random inserts, 31 records a page, 62 children: 10,940. */
    struct esk_tree_need need = {
        .rows = 10000,
        .block_pages = 8,
        .page_bytes = 512,
        .page_header_bytes = 16,
        .leaf_entry_bytes = 16,
        .index_entry_bytes = 8,
        .store = ESK_STORE_INPLACE,
    };
    struct esk_tree_plan plan;
    ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_OK);
    ESK_CHECK_INT(plan.leaf_entries, 31);
    ESK_CHECK_INT(plan.height, 3);
    ESK_CHECK_INT(plan.k_percent, 100);
    ESK_CHECK(plan.programs_milli >= 1084 && plan.programs_milli <= 1104);
    ESK_CHECK_INT(plan.programs_most_milli, plan.programs_milli);
    uint32_t once = plan.programs_milli;
    need.store = ESK_STORE_JOURNALED;
    ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_OK);
    ESK_CHECK_INT(plan.programs_milli, 2 * once);
}

ESK_TEST(plan_predicts_the_mu_writes_of_table_5) {
    /* 1M records, 64 MB, 4 KB pages: 1.08 writes an insertion. */
    struct esk_tree_need need = paper(4096, 1000000, 50);
    struct esk_tree_plan plan;
    need.block_pages = 128;
    need.blocks = 128;
    ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_OK);
    ESK_CHECK_INT(plan.height, 3);
    ESK_CHECK(plan.programs_gc_milli >= 1070 && plan.programs_gc_milli <= 1090);
    ESK_CHECK(plan.programs_most_milli > plan.programs_gc_milli);
    ESK_CHECK(plan.programs_milli >= 1005 && plan.programs_milli <= 1007);
    need.store = ESK_STORE_WANDERING;
    ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_OK);
    ESK_CHECK(plan.programs_milli >= 3000 && plan.programs_milli <= 3010);
    /* 3.83 to 3.85 for the wandering tree, whose moves write a path each. Here
       many leaves are moved with one path, but young ones, too. */
    ESK_CHECK(plan.programs_gc_milli >= 3600 && plan.programs_gc_milli <= 3700);
}

ESK_TEST(plan_regains_space_as_a_ring_under_uniform_updates_does) {
    struct esk_tree_need need = paper(4096, 1000000, 50);
    struct esk_tree_plan plan;
    need.block_pages = 1;
    for (need.blocks = 6400; need.blocks < 200000; need.blocks += 500) {
        ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_OK);
        double share = (double)plan.pages / need.blocks;
        double live = 0;
        for (uint32_t i = 0; i < 10000; i++) {
            live = exp((live - 1) / share);
        }
        double wanted = plan.programs_milli / (1 - live);
        ESK_CONTEXT("share %f: %f, plan %u", share, wanted,
                    plan.programs_gc_milli);
        /* Between its steps the table returns a little more. */
        ESK_CHECK(plan.programs_gc_milli >= wanted * 0.997);
        ESK_CHECK(plan.programs_gc_milli <= wanted * 1.03 + 2);
    }
}

ESK_TEST(plan_reckons_a_lifetime) {
    struct esk_tree_need need = paper(2048, 10000, 50);
    struct esk_tree_plan plan;
    need.blocks = 64;
    need.endurance = 100000;
    need.updates_a_day = 86400;
    ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_OK);
    double programs = 64.0 * 64 * 100000;
    double days = programs / (86400 * plan.programs_most_milli / 1000.0);
    ESK_CHECK(fabs(plan.life_days - days) <= 1);
    need.endurance = UINT32_MAX;
    need.updates_a_day = 1;
    ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_OK);
    ESK_CHECK(plan.life_days == ESK_TREE_PLAN_DAYS_MAX);
    need.blocks = 60000;
    need.block_pages = 4096;
    ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_OK);
    ESK_CHECK(plan.life_days == ESK_TREE_PLAN_DAYS_MAX);
    need.updates_a_day = 0;
    ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_OK);
    ESK_CHECK_INT(plan.life_days, 0);
    need.updates_a_day = 1;
    need.endurance = 0;
    ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_OK);
    ESK_CHECK_INT(plan.life_days, 0);
}

ESK_TEST(plan_reports_a_region_without_room_for_the_collector) {
    struct esk_tree_need need = paper(2048, 100000, 50);
    struct esk_tree_plan plan;
    need.blocks = 8; /* 512 pages for 1,133 */
    need.endurance = 1000;
    need.updates_a_day = 1;
    ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_OK);
    ESK_CHECK(plan.programs_gc_milli == UINT32_MAX);
    ESK_CHECK(plan.programs_most_milli == UINT32_MAX);
    ESK_CHECK_INT(plan.life_days, 0);
    ESK_CHECK(plan.blocks_least > 8);
    need.blocks = plan.blocks_least;
    ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_OK);
    ESK_CHECK(plan.programs_most_milli < UINT32_MAX);
    ESK_CHECK(plan.life_days > 0);
}

ESK_TEST(plan_of_packed_nodes_takes_their_frames_into_account) {
    struct esk_tree_need need = {.rows = 5000,
                                 .block_pages = 16,
                                 .page_bytes = 256,
                                 .leaf_entry_bytes = 24,
                                 .index_entry_bytes = 12,
                                 .store = ESK_STORE_TNC};
    struct esk_tree_plan plan;
    uint8_t k = 0;
    esk_tree_plan_headers(&need);
    ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_OK);
    ESK_CHECK_INT(plan.frames, 19);
    ESK_CHECK_INT(plan.frames_least, 2 * plan.height_most + 3);
    /* Four rows a leaf, as esk_tree_create has by default. */
    ESK_CHECK_INT(esk_tree_plan_entries(&need, plan.k_percent, 1, 2), 4);
    ESK_CHECK_INT(esk_tree_plan_best_k(&need, &k), ESK_OK);
    ESK_CHECK_INT(k, plan.k_percent);
    uint32_t few = plan.blocks_least;
    uint32_t small = plan.arena_bytes;
    need.frames = 60; /* a step of the sweep writes more with a path */
    ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_OK);
    ESK_CHECK(plan.blocks_least < few && plan.arena_bytes > small);
    need.frames = 7; /* two levels */
    ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_NOT_FOUND);
    need.rows = 10;
    ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_OK);
    ESK_CHECK_INT(plan.height_most, 2);
    need.frames = 0;
    need.rows = UINT32_MAX; /* more than addresses can name */
    need.page_bytes = 4096;
    ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_OK);
    ESK_CHECK(plan.programs_most_milli == UINT32_MAX);
}

ESK_TEST(plan_refuses_what_makes_no_sense) {
    struct esk_tree_plan plan;
    struct esk_tree_need good = paper(2048, 1000, 50);
    struct esk_tree_need bad[12];
    for (uint8_t i = 0; i < 12; i++) {
        bad[i] = good;
    }
    bad[0].rows = 0;
    bad[1].block_pages = 0;
    bad[2].page_header_bytes = 2048;
    bad[3].leaf_entry_bytes = 0;
    bad[4].index_entry_bytes = 0;
    bad[5].store = 0;
    bad[6].store = ESK_STORE_TNC + 1;
    bad[7].k_percent = 100;
    bad[8].fill_percent = 101;
    bad[9].fill_percent = 49;
    bad[10].store = ESK_STORE_TNC;
    bad[10].k_percent = 51;
    bad[11].frames = 1;
    for (uint8_t i = 0; i < 12; i++) {
        ESK_CONTEXT("case %u", i);
        ESK_CHECK_INT(esk_tree_plan(&bad[i], &plan), ESK_E_INVALID);
    }
    good.leaf_entry_bytes = 1500; /* not two a leaf */
    ESK_CHECK_INT(esk_tree_plan(&good, &plan), ESK_NOT_FOUND);
    good.k_percent = 0;
    ESK_CHECK_INT(esk_tree_plan(&good, &plan), ESK_NOT_FOUND);
    good.node_header_bytes = 2048;
    ESK_CHECK_INT(esk_tree_plan_entries(&good, 50, 1, 1), 0);
}

ESK_TEST_MAIN()
