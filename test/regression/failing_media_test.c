// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Media that fail at the wrong moment: rows were programmed over others, lost
/// at a mount, or counted wrong; a catalog was lost.
#include "table/series/series.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_series.h"

static const struct esk_geometry nor = ESK_NOR(70, 8, 256);

static const struct esk_geometry tiny = ESK_NOR(110, 4, 128);

static const struct esk_geometry nand = ESK_NAND(70, 8, 512);

static const struct esk_geometry card = ESK_CARD(70, 8, 512);

static void make(struct esk_model_series *model,
                 const struct esk_geometry *geometry,
                 const struct esk_model_series_table *table, uint64_t seed) {
    struct esk_sim_config config = {.geometry = *geometry, .seed = seed};
    config.erase_keeps = geometry->flags != 0;
    ESK_CHECK_INT(esk_model_series_make(model, table, &config, seed), ESK_OK);
}

static void fail(struct esk_model_series *model,
                 const struct esk_sim_failures *what) {
    esk_sim_failures_set(model->sim, what);
}

static void verify(struct esk_model_series *model) {
    ESK_CHECK_HELD(esk_model_series_verify(model, true), model->why);
    ESK_CHECK_TEXT(esk_sim_violation(model->sim), "");
}

static void mount_verify(struct esk_model_series *model) {
    fail(model, NULL);
    esk_model_series_crash(model);
    ESK_CHECK_HELD(esk_model_series_recover(model) == ESK_OK, model->why);
    verify(model);
}

/// Appends rows until the next page is number `index` of its block.
static void fill_to(struct esk_model_series *model, uint32_t index) {
    do {
        ESK_CHECK_INT(esk_model_series_append(model), ESK_OK);
    } while (model->series->data.head % model->device->geometry.block_pages !=
                 index ||
             model->series->write_count != 1);
}

ESK_TEST(early_erase_that_fails_without_a_mark_is_not_programmed_over) {
    const struct esk_model_series_table table = {
        .no_marks = true, .data_blocks = 8, .index_blocks = 6};
    const struct esk_sim_failures once = {.erase.burst_length = 1};
    for (uint32_t lead = 0; lead < 8; lead++) {
        struct esk_model_series model;
        bool done = false;
        ESK_CONTEXT("page %u of a block", lead);
        make(&model, &nor, &table, 1);
        for (uint32_t block = 0; block < 10; block++) {
            fill_to(&model, lead);
        }
        fail(&model, &once);
        model.expected->ahead = 1;
        ESK_CHECK_INT(esk_ring_step(&model.series->data, &done), ESK_OK);
        ESK_CHECK_INT(model.series->stats.erase_failures, 1);
        for (uint32_t block = 0; block < 3; block++) {
            fill_to(&model, lead);
            ESK_CHECK_INT(esk_model_series_sync(&model), ESK_OK);
        }
        verify(&model);
        mount_verify(&model);
        esk_model_series_free(&model);
    }
}

ESK_TEST(mount_finds_pages_after_three_failed_blocks_that_look_erased) {
    const struct esk_model_series_table table = {
        .no_marks = true, .data_blocks = 8, .index_blocks = 6};
    for (uint32_t seed = 0; seed < 40; seed++) {
        struct esk_model_series model;
        ESK_CONTEXT("seed %u", seed);
        make(&model, &nor, &table, seed);
        for (uint32_t block = 0; block < seed % 12; block++) {
            fill_to(&model, 0);
        }
        uint32_t failing = model.series->data.ready / 8;
        for (uint32_t i = 0; i < 3; i++) {
            esk_sim_block_fail(model.sim, model.data_block + (failing + i) % 8);
        }
        ESK_CHECK_INT(esk_model_series_append_many(&model, 300), ESK_OK);
        ESK_CHECK_INT(esk_model_series_sync(&model), ESK_OK);
        verify(&model);
        mount_verify(&model);
        esk_model_series_free(&model);
    }
}

ESK_TEST(mount_finds_pages_after_two_pages_of_a_lap_ago) {
    const struct esk_model_series_table table = {.data_blocks = 6,
                                                 .index_blocks = 6};
    for (uint32_t seed = 0; seed < 40; seed++) {
        struct esk_sim_failures two = {
            .transfer = {.burst_start = 1, .burst_length = 2}};
        struct esk_model_series model;
        ESK_CONTEXT("seed %u", seed);
        make(&model, &card, &table, seed);
        for (uint32_t block = 0; block < 7; block++) {
            fill_to(&model, 0);
        }
        fail(&model, &two); /* the erase succeeds, then two programs fail */
        ESK_CHECK_INT(esk_model_series_sync(&model), ESK_OK);
        mount_verify(&model);
        esk_model_series_free(&model);
    }
}

ESK_TEST(count_reads_on_in_a_block_that_went_bad_after_its_first_page) {
    const struct esk_model_series_table table = {
        .full_policy = ESK_FULL_REFUSE, .data_blocks = 6, .index_blocks = 6};
    const struct esk_sim_failures once = {.program.burst_length = 1};
    struct esk_model_series model;
    make(&model, &nand, &table, 1);
    fill_to(&model, 7);
    ESK_CHECK_INT(esk_model_series_append_many(&model, 15), ESK_OK);
    ESK_CHECK_INT(esk_model_series_erase_before(&model, 8), ESK_OK);
    fail(&model, &once); /* erased rows go to the next block's first page */
    ESK_CHECK_INT(esk_model_series_sync(&model), ESK_OK);
    fill_to(&model, 6);
    fail(&model, &once); /* and that block goes bad, too */
    ESK_CHECK_INT(esk_model_series_sync(&model), ESK_OK);
    ESK_CHECK_INT(model.series->stats.program_failures, 2);
    verify(&model);
    mount_verify(&model);
    esk_model_series_free(&model);
}

ESK_TEST(bad_block_whose_first_page_was_spoiled_keeps_the_rows_after_it) {
    const struct esk_model_series_table table = {.data_blocks = 6,
                                                 .index_blocks = 6};
    const struct esk_sim_failures lost = {.transfer = {.burst_length = 1}};
    const struct esk_sim_failures worn = {.program.burst_length = 1};
    for (uint32_t seed = 0; seed < 40; seed++) {
        struct esk_model_series model;
        ESK_CONTEXT("seed %u", seed);
        make(&model, &nor, &table, seed);
        fill_to(&model, 0);
        ESK_CHECK_INT(esk_model_series_step(&model, 8),
                      ESK_OK); /* erased already */
        fail(&model, &lost);
        ESK_CHECK_INT(esk_model_series_sync(&model), ESK_OK);
        fill_to(&model, 4);
        fail(&model, &worn);
        ESK_CHECK_INT(esk_model_series_sync(&model), ESK_OK);
        verify(&model);
        mount_verify(&model);
        esk_model_series_free(&model);
    }
}

ESK_TEST(catalog_survives_a_commit_that_failed_and_was_half_erased_again) {
    const struct esk_model_series_table table = {.data_blocks = 6,
                                                 .index_blocks = 6};
    for (uint32_t seed = 0; seed < 300; seed++) {
        struct esk_sim_failures dead = {
            .transfer = {.burst_start = seed % 30, .burst_length = 2000}};
        struct esk_model_series model;
        ESK_CONTEXT("seed %u", seed);
        make(&model, &tiny, &table, seed);
        fill_to(&model, 1);
        fail(&model, &dead);
        (void)esk_model_series_erase_before(&model, 4);
        mount_verify(&model);
        esk_model_series_free(&model);
    }
}

ESK_TEST_MAIN()
