// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Trees on every part of data/parts, on full media, on failing ones and on
/// damaged ones.
#include <stdio.h>

#include "test/harness/arena.h"
#include "test/harness/tree_fixture.h"

static const struct esk_geometry nand = ESK_NAND(60, 16, 512);

static const struct esk_geometry sd = ESK_CARD(100, 8, 512);

static void calls_run(struct esk_model_tree *model, uint32_t calls) {
    for (uint32_t i = 0; i < calls; i++) {
        ESK_CHECK_HELD(esk_model_tree_call(model), model->why);
    }
    model_tree_verify(model);
}

/// Random calls on the part, reduced to a few blocks, with key type `key`.
/// Every second key type has pages of twice the part's size.
static void part_run(const struct esk_sim_part *part, uint8_t store,
                     uint32_t key) {
    const struct esk_model_tree_key_type *type = &esk_model_tree_key_types[key];
    struct esk_model_tree model;
    struct esk_sim_config config = {.part = part->name, .seed = 5};
    uint32_t pages = part->geometry.block_pages;
    uint16_t page_bytes = part->geometry.page_bytes;
    if (key % 2 == 1 && pages > 1 && page_bytes <= 4096) {
        pages /= 2;
        page_bytes = (uint16_t)(2 * page_bytes);
        config.geometry.page_bytes = page_bytes;
    }
    struct esk_model_tree_table table = {
        .store = store,
        .checksum = (uint8_t)((key + store) % 3),
        .key_type = type->type,
        .key_bytes = type->bytes,
        .pad_bytes = (uint16_t)(page_bytes / 20),
        .blocks = (160 + pages - 1) / pages + 8,
        .key_range = 400};
    config.geometry.block_count = table.blocks + 80 / pages + 14;
    if (part->medium == ESK_SIM_NAND_SLC || part->medium == ESK_SIM_NAND_MLC) {
        config.bad_blocks = 2;
        table.blocks += 2;
        config.geometry.block_count += 4;
    }
    ESK_CONTEXT("part %s, store %u, key type %u of %u bytes, pages of %u",
                part->name, store, type->type, type->bytes, page_bytes);
    ESK_CHECK_INT(esk_model_tree_make_on(&model, &table, &config, 11), ESK_OK);
    calls_run(&model, 900);
    ESK_CHECK_INT(esk_sim_violations(model.sim), 0);
    esk_model_tree_free(&model);
}

ESK_TEST(tree_is_a_sorted_array_on_every_part_with_every_store_and_key) {
    uint32_t used = 0;
    for (size_t i = 0; esk_sim_part_at(i) != NULL; i++) {
        const struct esk_sim_part *part = esk_sim_part_at(i);
        if (esk_geometry_check(&part->geometry) != ESK_OK) {
            printf("skipped: %s has %u-byte pages, which a volume cannot use\n",
                   part->name, part->geometry.page_bytes);
            continue;
        }
        bool overwrites = (part->geometry.flags & ESK_MEDIUM_OVERWRITE) != 0;
        uint8_t store = overwrites ? ESK_STORE_INPLACE : ESK_STORE_WANDERING;
        for (; store <= ESK_STORE_TNC; store++) {
            uint32_t step = esk_test_is_deep() ? 1 : 7;
            uint32_t key = (uint32_t)(i + store) % step;
            for (; key < ESK_MODEL_TREE_KEY_TYPES; key += step) {
                part_run(part, store, key);
            }
        }
        used++;
    }
    ESK_CHECK(used > 20);
}

/// Puts up to 20 rows whose keys are there, from key `number` on, in one call.
static void there_put_many(struct esk_model_tree *model, uint32_t number) {
    enum { MANY = 20 };
    uint8_t rows[MANY * ESK_MODEL_TREE_ROW_BYTES_MAX];
    uint32_t count = 0;
    uint32_t done = 0;
    for (uint32_t at = number; at < model->range && count < MANY; at++) {
        if (model->expected.version[at] != 0) {
            model->expected.version[at] = ++model->version;
            esk_model_tree_row(model, at, model->version,
                               rows + count * model->row_bytes);
            count++;
        }
    }
    ESK_CHECK_INT(esk_tree_put_many(model->tree, rows, count, &done), ESK_OK);
    ESK_CHECK_INT(done, count);
}

ESK_TEST(full_tree_refuses_growth_and_takes_changes_and_deletes) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_TNC; store++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = {.store = store,
                                             .key_type = ESK_TYPE_U32,
                                             .pad_bytes = 60,
                                             .key_range = 4000,
                                             .blocks = 28};
        bool overwrites = esk_model_tree_overwrites(store);
        ESK_CONTEXT("store %u", store);
        ESK_CHECK_INT(
            esk_model_tree_make(&model, &table, overwrites ? &sd : &nand, 9),
            ESK_OK);
        model_tree_fill(&model);
        ESK_CHECK(model.expected.rows > 100);
        model_tree_verify(&model);
        for (uint32_t i = 0; i < 2000; i++) {
            uint32_t number = esk_model_tree_random(&model, model.range);
            if (model.expected.version[number] != 0) {
                ESK_CHECK_INT(esk_model_tree_put(&model, number), ESK_OK);
            }
        }
        for (uint32_t i = 0; i < 200; i++) {
            there_put_many(&model, esk_model_tree_random(&model, model.range));
        }
        model_tree_verify(&model);
        for (uint32_t number = 0; number < model.range; number++) {
            if (model.expected.version[number] != 0) {
                ESK_CHECK_INT(esk_model_tree_delete(&model, number), ESK_OK);
            }
        }
        model_tree_verify(&model);
        ESK_CHECK_INT(model.expected.rows, 0);
        if (!overwrites) {
            uint32_t rows = 0;
            model_tree_fill(&model);
            ESK_CHECK_INT(esk_tree_count(model.tree, &rows), ESK_OK);
            ESK_CHECK(rows > 100);
        }
        ESK_CHECK_INT(esk_sim_violations(model.sim), 0);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(mu_tree_wears_blocks_evenly_at_nine_tenths_full) {
    struct esk_model_tree model;
    struct esk_tree_stats stats;
    struct esk_model_tree_table table = {.store = ESK_STORE_MU,
                                         .key_type = ESK_TYPE_U32,
                                         .pad_bytes = 60,
                                         .key_range = 4000,
                                         .blocks = 40};
    ESK_CHECK_INT(esk_model_tree_make(&model, &table, &nand, 9), ESK_OK);
    model_tree_fill(&model);
    esk_tree_stats(model.tree, &stats);
    uint32_t pages = 40 * 16;
    ESK_CHECK(stats.nodes >= pages * 85 / 100);
    uint64_t programs = esk_sim_counters(model.sim)->programs;
    while (esk_sim_counters(model.sim)->programs < programs + 30u * pages) {
        uint32_t number = esk_model_tree_random(&model, model.range);
        if (model.expected.version[number] != 0) {
            ESK_CHECK_INT(esk_model_tree_put(&model, number), ESK_OK);
        }
    }
    struct esk_table_info info;
    struct esk_sim_wear wear;
    ESK_CHECK_INT(esk_volume_find(&model.volume, "model", &info), ESK_OK);
    esk_sim_wear(model.sim, info.block[0], info.blocks[0], &wear);
    ESK_CHECK(wear.min > 20);
    ESK_CHECK(wear.max * 1000u <= wear.mean_milli * 5 / 4);
    model_tree_verify(&model);
    esk_model_tree_free(&model);
}

ESK_TEST(moving_trees_lose_nothing_where_programs_and_erases_fail) {
    for (uint8_t store = ESK_STORE_WANDERING; store <= ESK_STORE_TNC; store++) {
        for (uint32_t every = 60; every <= 300; every += 120) {
            struct esk_model_tree model;
            struct esk_model_tree_table table = {.store = store,
                                                 .key_type = ESK_TYPE_I16,
                                                 .pad_bytes = 20,
                                                 .key_range = 300,
                                                 .merges = every > 100};
            struct esk_geometry geometry = nand;
            /* A commit programs the pages of many changes. */
            uint32_t often = store == ESK_STORE_TNC ? every / 4u : every;
            struct esk_sim_failures failures = {.program = {.every = often},
                                                .erase = {.every = 41}};
            geometry.block_count = 400;
            ESK_CONTEXT("store %u, every %u", store, every);
            ESK_CHECK_INT(esk_model_tree_make(&model, &table, &geometry, 2),
                          ESK_OK);
            esk_sim_failures_set(model.sim, &failures);
            calls_run(&model, 3000);
            ESK_CHECK(esk_sim_counters(model.sim)->programs_failed > 5);
            esk_model_tree_free(&model);
        }
    }
}

ESK_TEST(inplace_trees_hold_the_old_row_or_the_new_where_writes_fail) {
    for (uint8_t run = 0; run < 4; run++) {
        uint8_t store = (uint8_t)(ESK_STORE_INPLACE + run / 2);
        struct esk_model_tree model;
        struct esk_model_tree_table table = {.store = store,
                                             .key_type = ESK_TYPE_I16,
                                             .pad_bytes = 20,
                                             .key_range = 600,
                                             .merges = run % 2 == 1};
        /* A write that fails and tears needs the journal. */
        struct esk_sim_failures failures = {.program = {.per_million = 150000}};
        uint32_t failed = 0;
        ESK_CONTEXT("store %u, merges %u", store, run % 2);
        ESK_CHECK_INT(esk_model_tree_make(&model, &table, &sd, 2), ESK_OK);
        for (uint32_t i = 0; i < 6000; i++) {
            uint32_t number = esk_model_tree_random(&model, model.range);
            uint32_t old = model.expected.version[number];
            uint8_t key[8];
            uint8_t row[600];
            esk_sim_failures_set(
                model.sim,
                store == ESK_STORE_JOURNALED && i % 3 == 0 ? &failures : NULL);
            bool puts =
                esk_model_tree_random(&model, 8) > (i / 1000 % 2 == 0 ? 1 : 4);
            int status = puts ? esk_model_tree_put(&model, number)
                              : esk_model_tree_delete(&model, number);
            esk_sim_failures_set(model.sim, NULL);
            if (status == ESK_OK || (status == ESK_NOT_FOUND && old == 0)) {
                continue;
            }
            ESK_CHECK_INT(status, ESK_E_WORN);
            failed++;
            esk_model_tree_key(&model, number, key);
            status = esk_tree_get(model.tree, key, row);
            ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND);
            uint32_t now = 0;
            if (status == ESK_OK) {
                now = (uint32_t)row[0] | (uint32_t)row[1] << 8;
            }
            ESK_CHECK(now == old || now == (puts ? model.version : 0));
            model.expected.rows += now != 0 ? 1 : 0;
            model.expected.rows -= old != 0 ? 1 : 0;
            model.expected.version[number] = now;
        }
        ESK_CHECK(store == ESK_STORE_INPLACE || failed > 20);
        model_tree_verify_again(&model);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(tree_reports_a_damaged_page_and_returns_nothing_wrong) {
    for (uint8_t run = 0; run < 8; run++) {
        uint8_t store = (uint8_t)(ESK_STORE_INPLACE + run / 2);
        struct esk_model_tree model;
        struct esk_model_tree_table table = {.store = store,
                                             .key_type = ESK_TYPE_I16,
                                             .pad_bytes = 30,
                                             .key_range = 400,
                                             .no_batches = true,
                                             .merges = run % 2 == 1};
        bool overwrites = esk_model_tree_overwrites(store);
        uint32_t hurt = 0;
        ESK_CHECK_INT(
            esk_model_tree_make(&model, &table, overwrites ? &sd : &nand, 4),
            ESK_OK);
        calls_run(&model, 1500);
        /* The newest change is key 0's: without its page it is lost. */
        ESK_CHECK_INT(esk_model_tree_put(&model, 0), ESK_OK);
        struct esk_sim *whole = NULL;
        struct esk_table_info info;
        ESK_CHECK_INT(esk_sim_clone(&whole, model.sim), ESK_OK);
        ESK_CHECK_INT(esk_volume_find(&model.volume, "model", &info), ESK_OK);
        uint32_t block_pages = model.device->geometry.block_pages;
        for (uint32_t at = 0; at < info.blocks[0] * block_pages; at += 3) {
            uint32_t page = info.block[0] * block_pages + at;
            ESK_CONTEXT("store %u, merges %u, page %u", store, run % 2, at);
            esk_sim_restore(model.sim, whole);
            esk_tree_close(model.tree);
            ESK_CHECK_INT(esk_sim_flip_random(model.sim, page, 1 + at % 5),
                          ESK_OK);
            int status = esk_model_tree_open(&model);
            if (status != ESK_OK) {
                /* The root of a tree in place. */
                ESK_CHECK(overwrites && at <= 2);
                ESK_CHECK_INT(status, ESK_E_CORRUPT);
                esk_sim_restore(model.sim, whole);
                ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
                continue;
            }
            uint32_t lost = model_tree_lost(&model, 1);
            struct esk_tree_report report;
            status = esk_tree_check(model.tree, &report);
            ESK_CHECK_INT(status, lost > 0 || report.pages_damaged > 0
                                      ? ESK_E_CORRUPT
                                      : ESK_OK);
            hurt += lost > 0 ? 1 : 0;
        }
        ESK_CHECK(hurt > 5);
        esk_sim_destroy(whole);
        esk_model_tree_free(&model);
    }
}

ESK_TEST_MAIN()
