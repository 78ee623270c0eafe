// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Trees compared with a sorted array on every part of data/parts, with every
/// store that the part can have, in a full region:
///
///     filled in random order until a put is refused
///     full          reads, changes and deletes succeed
///     nine tenths   changes for two laps of the region, so that the blocks of
///                   each lap are collected in the next
///     emptied       and filled again, copy-on-write
///
/// Each run has its own key type and page size, so that all of them occur;
/// ESK_KEYS=all gives every run all of them.
#include <stdio.h>

#include "test/harness/tree_fixture.h"

enum { LAPS = 2, META_PAGES = 80, SYNC_CHANGES = 64 };

/// Wide enough for more keys than a region has room for.
enum { KEY_TYPES = ESK_MODEL_TREE_KEY_TYPES - ESK_MODEL_TREE_KEY_TYPES_SHORT };

static const struct esk_model_tree_key_type *const keys =
    esk_model_tree_key_types + ESK_MODEL_TREE_KEY_TYPES_SHORT;

/// A table that refused a row: its rows are read, changed and deleted.
static void full_check(struct esk_model_tree *model) {
    uint32_t refused = model->expected.rows;
    model_tree_verify(model);
    model_tree_changes(model, 60);
    ESK_CHECK_HELD(esk_model_tree_remount(model), model->why);
    model_tree_verify(model);
    while (model->expected.rows > refused * 9 / 10) {
        ESK_CHECK_INT(esk_model_tree_delete(model, model_tree_key_there(model)),
                      ESK_OK);
    }
    model_tree_verify(model);
}

/// Changes of every kind at nine tenths of the rows, for laps of the region.
static void pressure_run(struct esk_model_tree *model, uint32_t pages) {
    const struct esk_sim_counters *counters = esk_sim_counters(model->sim);
    uint64_t end = counters->programs + (uint64_t)LAPS * pages;
    uint32_t rows = model->expected.rows;
    for (uint32_t change = 1; counters->programs < end; change++) {
        if (change % SYNC_CHANGES == 0) {
            /* A write cache may hold the whole tree: only this programs. */
            ESK_CHECK_INT(esk_tree_sync(model->tree), ESK_OK);
        }
        model_tree_changes(model, 1);
        if (model->expected.rows >= rows) {
            ESK_CHECK_INT(
                esk_model_tree_delete(model, model_tree_key_there(model)),
                ESK_OK);
            continue;
        }
        int status = esk_model_tree_put(
            model, esk_model_tree_random(model, model->range));
        ESK_CHECK(status == ESK_OK || status == ESK_FULL);
    }
    model_tree_verify(model);
    ESK_CHECK_HELD(esk_model_tree_remount(model), model->why);
    model_tree_verify(model);
}

/// Deletes every row; a copy-on-write tree takes as many again.
static void empty_check(struct esk_model_tree *model) {
    uint32_t rows = model->expected.rows;
    for (uint32_t number = 0; number < model->range; number++) {
        if (model->expected.version[number] != 0) {
            ESK_CHECK_INT(esk_model_tree_delete(model, number), ESK_OK);
        }
    }
    model_tree_verify(model);
    if (!esk_model_tree_overwrites(model->table.store)) {
        model_tree_fill(model);
        ESK_CHECK(model->expected.rows > rows / 2);
        model_tree_verify(model);
    }
}

/// A pad that leaves room for about three rows in a leaf, four in a long one.
static uint16_t pad_fit(uint8_t store, uint16_t page_bytes) {
    uint16_t leaf = store == ESK_STORE_MU ? page_bytes / 2 : page_bytes;
    leaf = store == ESK_STORE_TNC ? page_bytes / 4 : leaf;
    uint16_t pad = page_bytes < 512 ? leaf / 4 : leaf / 3;
    return page_bytes < 256 ? 4 : pad > 1000 ? 1000 : pad;
}

/// write_frames  of a write cache; 0: none.
static void part_run(const struct esk_sim_part *part, uint8_t store,
                     uint32_t key, uint16_t page_bytes, uint8_t write_frames) {
    struct esk_model_tree model;
    uint32_t unit = part->geometry.block_pages * part->geometry.page_bytes;
    uint32_t pages = unit / page_bytes;
    struct esk_model_tree_table table = {
        .store = store,
        .checksum = (uint8_t)((key + store) % 3),
        .key_type = keys[key].type,
        .key_bytes = keys[key].bytes,
        .pad_bytes = pad_fit(store, page_bytes),
        .frames = (uint8_t)(2u + write_frames),
        .write_frames = write_frames,
        .blocks = (pages >= 64 ? 5 : 96 / pages + 8),
        .key_range = ESK_MODEL_TREE_KEYS_MAX};
    if (store == ESK_STORE_TNC) {
        table.frames = (uint8_t)(19u + write_frames);
        table.blocks += 80 / pages;
    }
    struct esk_sim_config config = {.part = part->name, .seed = 5};
    config.geometry.page_bytes = page_bytes;
    config.geometry.block_count = table.blocks + META_PAGES / pages + 14;
    if (part->medium == ESK_SIM_NAND_SLC || part->medium == ESK_SIM_NAND_MLC) {
        config.bad_blocks = 2;
        table.blocks += 2;
        config.geometry.block_count += 4;
    }
    ESK_CONTEXT("part %s, store %u, key type %u of %u bytes, pages of %u, %u "
                "write frames",
                part->name, store, keys[key].type, keys[key].bytes, page_bytes,
                write_frames);
    int status = esk_model_tree_make_on(&model, &table, &config, 11);
    if (status == ESK_E_SCHEMA && store == ESK_STORE_MU && page_bytes < 256) {
        esk_model_tree_free(&model); /* no room for a path of such keys */
        return;
    }
    ESK_CHECK_INT(status, ESK_OK);
    model_tree_fill(&model);
    full_check(&model);
    pressure_run(&model, table.blocks * pages);
    empty_check(&model);
    ESK_CHECK_TEXT(esk_sim_violation(model.sim), "");
    esk_model_tree_free(&model);
}

ESK_TEST(tree_that_is_full_reads_changes_and_deletes_on_every_part) {
    bool every = getenv("ESK_KEYS") != NULL;
    uint32_t run = 0;
    uint32_t used = 0;
    for (size_t i = 0; esk_sim_part_at(i) != NULL; i++) {
        const struct esk_sim_part *part = esk_sim_part_at(i);
        uint16_t page = part->geometry.page_bytes;
        if (esk_geometry_check(&part->geometry) != ESK_OK) {
            printf("skipped: %s has %u-byte pages, which a volume cannot use\n",
                   part->name, page);
            continue;
        }
        bool overwrites = (part->geometry.flags & ESK_MEDIUM_OVERWRITE) != 0;
        uint8_t store = overwrites ? ESK_STORE_INPLACE : ESK_STORE_WANDERING;
        for (; store <= ESK_STORE_TNC; store++) {
            if (!esk_test_is_deep() &&
                (i + store) % (4 * esk_test_stride(2)) != 0) {
                run++;
                continue;
            }
            for (uint32_t k = 0; k < (every ? KEY_TYPES : 1); k++) {
                part_run(part, store, run % KEY_TYPES, page, 0);
                if (!overwrites) {
                    part_run(part, store, run % KEY_TYPES, page,
                             (uint8_t)(4 + run % 9));
                }
                run++;
            }
        }
        used++;
    }
    ESK_CHECK(used > 20);
}

/// The rows are changed again and again, also after a mount.
static void taken_check(struct esk_model_tree *model) {
    for (uint32_t round = 0; round < 12; round++) {
        for (uint32_t number = 0; number < model->range; number++) {
            if (model->expected.version[number] != 0) {
                ESK_CHECK_INT(esk_model_tree_put(model, number), ESK_OK);
            }
        }
        if (round == 6) {
            ESK_CHECK_HELD(esk_model_tree_remount(model), model->why);
        }
    }
    model_tree_verify(model);
}

ESK_TEST(row_that_is_there_is_changed_at_any_fill_of_any_region) {
    static const uint16_t block_pages[4] = {1, 4, 12, 64};
    static const uint8_t mu_least[4] = {13, 6, 4, 4}; /* blocks */
    uint32_t full = 0;
    uint32_t refused = 0;
    uint32_t step = esk_test_is_deep() ? 1 : 3;
    for (uint32_t run = 0; run < 4 * 4 * 13; run += step) {
        uint8_t store = (uint8_t)(ESK_STORE_INPLACE + run % 4);
        uint16_t pages = block_pages[run / 4 % 4];
        bool overwrites = esk_model_tree_overwrites(store);
        struct esk_model_tree model;
        struct esk_model_tree_table table = {.store = store,
                                             .key_type = ESK_TYPE_U16,
                                             .pad_bytes = 30,
                                             .key_range = 300,
                                             .blocks = 2 + run / 16};
        struct esk_geometry geometry = {.block_count = 40u + 80u / pages,
                                        .block_pages = pages,
                                        .page_bytes = 256,
                                        .program_bytes = 256,
                                        .erased_value = 0xFF};
        geometry.flags = overwrites ? ESK_MEDIUM_OVERWRITE : 0;
        ESK_CONTEXT("store %u, %u blocks of %u pages", store, table.blocks,
                    pages);
        int status = esk_model_tree_make(&model, &table, &geometry, run);
        uint32_t wandering_least = 2u + (38u + pages - 1u) / pages;
        if (table.blocks * pages < 8 ||
            (store == ESK_STORE_MU && table.blocks < mu_least[run / 4 % 4]) ||
            (store == ESK_STORE_WANDERING && table.blocks < wandering_least)) {
            ESK_CHECK_INT(status, ESK_E_NO_SPACE);
            refused++;
            esk_model_tree_free(&model);
            continue;
        }
        ESK_CHECK_INT(status, ESK_OK);
        for (uint32_t i = 0; i < 300 && status == ESK_OK; i++) {
            status = esk_model_tree_put(
                &model, esk_model_tree_random(&model, model.range));
            if (i < 10 || i % 60 == 0) {
                taken_check(&model);
            }
        }
        ESK_CHECK(status == ESK_OK || status == ESK_FULL);
        full += status == ESK_FULL ? 1 : 0;
        taken_check(&model);
        esk_model_tree_free(&model);
    }
    ESK_CHECK(full > 20 && full + refused > 40);
}

ESK_TEST_MAIN()
