// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The write cache: what it saves, and the effect of cuts and failures.
#include "test/harness/arena.h"
#include "test/harness/tree_fixture.h"

static const uint8_t stores[] = {ESK_STORE_WANDERING, ESK_STORE_MU};

enum { FRAMES = 10, ROWS = 200 };

/// 200 rows on the medium, and a device in front that can fail.
static void cached_start(struct esk_model_tree *model, uint8_t store,
                         uint8_t policy) {
    struct esk_model_tree_table table = model_tree_plain(store);
    ESK_CONTEXT("store %u, policy %u", store, policy);
    table.frames = FRAMES;
    table.write_frames = FRAMES - 1;
    table.policy = policy;
    model_tree_start(model, &table);
    model_tree_front(model);
    for (uint32_t number = 0; number < ROWS; number++) {
        ESK_CHECK_INT(esk_model_tree_put(model, number), ESK_OK);
    }
    ESK_CHECK_INT(esk_tree_sync(model->tree), ESK_OK);
}

static uint32_t programs(const struct esk_model_tree *model) {
    return (uint32_t)esk_sim_counters(model->sim)->programs;
}

static uint8_t height_of(const struct esk_model_tree *model) {
    struct esk_tree_stats stats;
    esk_tree_stats(model->tree, &stats);
    return stats.height;
}

/// Mounts the table after a cut, and compares it with `model`.
static void cut_verify(struct esk_model_tree *model,
                       const struct esk_model_tree_expected *expected) {
    model->in_batch = false;
    ESK_CHECK_INT(
        esk_volume_mount(&model->volume, model->device, 0, TEST_SCRATCH),
        ESK_OK);
    ESK_CHECK_INT(esk_model_tree_open(model), ESK_OK);
    model->expected = *expected;
    ESK_CHECK_HELD(esk_model_tree_verify(model), model->why);
}

ESK_TEST(changes_of_one_leaf_are_programmed_once) {
    for (size_t s = 0; s < 2; s++) {
        struct esk_model_tree model;
        cached_start(&model, stores[s], ESK_TREE_LRU_P);
        uint32_t before = programs(&model);
        uint32_t path = stores[s] == ESK_STORE_MU ? 1 : height_of(&model);
        ESK_CHECK(height_of(&model) >= 2);
        for (uint32_t i = 0; i < 100; i++) {
            ESK_CHECK_INT(esk_model_tree_put(&model, 77), ESK_OK);
        }
        ESK_CHECK_INT(programs(&model), before);
        ESK_CHECK_INT(esk_tree_sync(model.tree), ESK_OK);
        ESK_CHECK_INT(programs(&model), before + path);
        ESK_CHECK_INT(esk_tree_sync(model.tree), ESK_OK);
        ESK_CHECK_INT(programs(&model), before + path);
        model_tree_verify_again(&model);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(cut_leaves_what_was_synced_and_no_half_of_the_rest) {
    for (size_t s = 0; s < 2; s++) {
        struct esk_model_tree model;
        cached_start(&model, stores[s], ESK_TREE_LRU_P);
        struct esk_model_tree_expected synced = model.expected;
        ESK_CHECK_INT(esk_model_tree_put(&model, 3), ESK_OK);
        ESK_CHECK_INT(esk_model_tree_delete(&model, 190), ESK_OK);
        cut_verify(&model, &synced);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(close_writes_the_write_cache) {
    struct esk_model_tree model;
    cached_start(&model, ESK_STORE_WANDERING, ESK_TREE_LRU_P);
    uint32_t before = programs(&model);
    ESK_CHECK_INT(esk_model_tree_put(&model, 3), ESK_OK);
    ESK_CHECK_INT(programs(&model), before);
    ESK_CHECK_HELD(esk_model_tree_remount(&model) &&
                       esk_model_tree_verify(&model),
                   model.why);
    ESK_CHECK(programs(&model) > before);
    esk_model_tree_free(&model);
}

/// The flush fails at each of its programs; cached pages are read, and written
/// later.
ESK_TEST(flush_that_fails_loses_nothing_and_is_done_again) {
    uint32_t failed = 0;
    for (uint32_t variant = 0; variant < 24; variant++) {
        struct esk_model_tree model;
        cached_start(&model, stores[variant % 2],
                     variant % 4 == 3 ? ESK_TREE_LRU_N : ESK_TREE_LRU_P);
        struct esk_sim_failures failures = {
            .transfer = {.burst_start = variant / 4, .burst_length = 4}};
        ESK_CHECK_INT(esk_model_tree_put(&model, 3), ESK_OK);
        ESK_CHECK_INT(esk_model_tree_put(&model, 150), ESK_OK);
        struct esk_model_tree_expected changed = model.expected;
        esk_sim_failures_set(model.sim, &failures);
        int status = esk_tree_sync(model.tree);
        ESK_CHECK(status == ESK_E_IO || (status == ESK_OK && variant >= 4));
        failed += status == ESK_E_IO ? 1 : 0;
        esk_sim_failures_set(model.sim, NULL);
        uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
        uint8_t key[8];
        esk_model_tree_key(&model, 150, key);
        ESK_CHECK_INT(esk_tree_get(model.tree, key, row), ESK_OK);
        ESK_CHECK_INT(esk_tree_sync(model.tree), ESK_OK);
        ESK_CHECK_HELD(esk_model_tree_verify(&model), model.why);
        cut_verify(&model, &changed);
        esk_model_tree_free(&model);
    }
    ESK_CHECK(failed > 4); /* later programs, too */
}

/// A change that has to flush first, and cannot, changes nothing.
ESK_TEST(change_whose_flush_fails_is_refused_and_can_be_called_again) {
    for (size_t s = 0; s < 2; s++) {
        struct esk_model_tree model;
        uint32_t refused = 0;
        cached_start(&model, stores[s], ESK_TREE_LRU_P);
        struct esk_sim_failures failures = {
            .transfer = {.burst_start = 0, .burst_length = UINT32_MAX}};
        esk_sim_failures_set(model.sim, &failures);
        for (uint32_t number = 0; number < ROWS; number += 10) {
            int status = esk_model_tree_put(&model, number);
            ESK_CHECK(status == ESK_OK || status == ESK_E_IO);
            refused += status == ESK_E_IO ? 1 : 0;
        }
        ESK_CHECK(refused > 0 && refused < ROWS / 10);
        esk_sim_failures_set(model.sim, NULL);
        ESK_CHECK_INT(esk_tree_sync(model.tree), ESK_OK);
        model_tree_verify_again(&model);
        esk_model_tree_free(&model);
    }
}

/// The cache is written when a reader is opened: the reader shows the tree of
/// that moment.
ESK_TEST(reader_shows_the_tree_as_it_was_when_it_was_opened) {
    for (size_t s = 0; s < 2; s++) {
        struct esk_model_tree model;
        struct esk_tree_config config = {.frames = 3};
        struct esk_tree *reader = NULL;
        uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
        uint8_t key[8];
        cached_start(&model, stores[s], ESK_TREE_LRU_P);
        ESK_CHECK_INT(esk_model_tree_delete(&model, 5), ESK_OK);
        uint32_t bytes = esk_tree_reader_arena_bytes(model.tree, &config);
        void *arena = malloc(bytes);
        ESK_CHECK_INT(test_tree_reader_open(&model.volume, &reader, model.tree,
                                            &config, arena, bytes),
                      ESK_OK);
        esk_model_tree_key(&model, 5, key);
        ESK_CHECK_INT(esk_tree_get(model.tree, key, row), ESK_NOT_FOUND);
        ESK_CHECK_INT(esk_tree_get(reader, key, row), ESK_NOT_FOUND);
        ESK_CHECK_INT(esk_model_tree_put(&model, 5), ESK_OK);
        ESK_CHECK_INT(esk_tree_get(reader, key, row), ESK_NOT_FOUND);
        ESK_CHECK_INT(esk_tree_sync(model.tree), ESK_OK);
        ESK_CHECK_INT(esk_tree_get(reader, key, row), ESK_NOT_FOUND);
        ESK_CHECK_INT(esk_tree_reader_renew(reader), ESK_OK);
        ESK_CHECK_INT(esk_tree_get(reader, key, row), ESK_OK);
        free(arena);
        esk_model_tree_free(&model);
    }
}

/// Batches: their pages are cached, too; abort drops them, commit writes them.
ESK_TEST(batch_waits_and_is_whole_or_nothing) {
    for (uint32_t variant = 0; variant < 12; variant++) {
        struct esk_model_tree model;
        cached_start(&model, stores[variant % 2], ESK_TREE_LRU_P);
        bool syncs = variant % 4 >= 2;
        uint32_t rows = variant < 4 ? 1 : 40;
        ESK_CHECK_INT(esk_model_tree_put(&model, 250), ESK_OK);
        struct esk_model_tree_expected before = model.expected;
        for (uint32_t turn = 0; turn < 3; turn++) {
            ESK_CHECK_INT(esk_tree_begin(model.tree, 150), ESK_OK);
            for (uint32_t i = 0; i < rows; i++) {
                ESK_CHECK_INT(esk_model_tree_put(&model, (i * 37 + turn) % 300),
                              ESK_OK);
            }
            ESK_CHECK(!syncs || esk_tree_sync(model.tree) == ESK_OK);
            if (turn == 0) {
                ESK_CHECK_INT(esk_tree_abort(model.tree), ESK_OK);
                model.expected = before;
                ESK_CHECK_HELD(esk_model_tree_verify(&model), model.why);
            } else if (turn == 1) {
                ESK_CHECK_INT(esk_tree_commit(model.tree), ESK_OK);
                before = model.expected;
            }
        }
        cut_verify(&model, &before);
        esk_model_tree_free(&model);
    }
}

/// Random calls; after each sync and commit the power is cut.
ESK_TEST(synced_and_committed_changes_survive_power_loss) {
    for (uint32_t variant = 0; variant < 16; variant++) {
        struct esk_model_tree model;
        uint32_t cuts = 0;
        cached_start(&model, stores[variant % 2],
                     variant % 4 == 3 ? ESK_TREE_LRU_N : ESK_TREE_LRU_P);
        for (uint32_t i = 0; i < 4000; i++) {
            uint32_t number = esk_model_tree_random(&model, model.range);
            uint32_t kind = esk_model_tree_random(&model, 60);
            ESK_CONTEXT("variant %u, call %u of kind %u", variant, i, kind);
            if (kind < 30) {
                ESK_CHECK_INT(esk_model_tree_put(&model, number), ESK_OK);
            } else if (kind < 56) {
                int status = esk_model_tree_delete(&model, number);
                ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND);
            } else if (kind < 58 && !model.in_batch) {
                ESK_CHECK_INT(esk_tree_begin(model.tree, 300), ESK_OK);
                model.before = model.expected;
                model.in_batch = true;
            } else if (kind < 58) {
                ESK_CHECK_INT(esk_tree_commit(model.tree), ESK_OK);
                cut_verify(&model, &model.expected);
                cuts++;
            } else if (kind < 59) {
                ESK_CHECK_INT(esk_volume_step(&model.volume, 3, NULL), ESK_OK);
            } else {
                ESK_CHECK_INT(esk_tree_sync(model.tree), ESK_OK);
                cut_verify(&model,
                           model.in_batch ? &model.before : &model.expected);
                cuts++;
            }
        }
        ESK_CHECK(cuts > 50);
        esk_model_tree_free(&model);
    }
}

/// From nothing to several levels and back, twice.
ESK_TEST(tree_with_a_write_cache_grows_and_shrinks) {
    for (uint32_t variant = 0; variant < 48; variant++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table =
            model_tree_plain(stores[variant % 2]);
        table.pad_bytes = table.store == ESK_STORE_MU ? 24 : 100;
        table.policy = variant / 2 % 2;
        table.merges = variant / 4 % 2 != 0;
        table.frames = (uint8_t)(3 + variant / 8);
        table.write_frames = (uint8_t)(table.frames - 1u);
        model_tree_start(&model, &table);
        for (uint32_t turn = 0; turn < 2; turn++) {
            uint8_t height = 0;
            for (uint32_t i = 0; i < 2u * model.range; i++) {
                bool puts = i < model.range;
                uint32_t number = i * 7u % model.range;
                ESK_CONTEXT("variant %u, call %u", variant, i);
                ESK_CHECK_INT(puts ? esk_model_tree_put(&model, number)
                                   : esk_model_tree_delete(&model, number),
                              ESK_OK);
                height = puts ? height_of(&model) : height;
                ESK_CHECK_HELD(i % 97 != 0 || esk_model_tree_verify(&model),
                               model.why);
            }
            ESK_CHECK(height >= 3);
            ESK_CHECK_INT(height_of(&model), 1);
            model_tree_verify_again(&model);
        }
        esk_model_tree_free(&model);
    }
}

ESK_TEST(cursor_goes_on_over_a_flush) {
    struct esk_model_tree model;
    struct esk_tree_cursor cursor;
    uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
    cached_start(&model, ESK_STORE_WANDERING, ESK_TREE_LRU_P);
    ESK_CHECK_INT(esk_model_tree_put(&model, 60), ESK_OK);
    ESK_CHECK_INT(esk_tree_cursor_open(model.tree, &cursor, NULL), ESK_OK);
    for (uint32_t number = 0; number < ROWS; number++) {
        uint8_t key[8];
        esk_model_tree_key(&model, number, key);
        ESK_CHECK_INT(esk_tree_cursor_next(model.tree, &cursor, row), ESK_OK);
        ESK_CHECK(memcmp(row + 4, key, 4) == 0);
        if (number == 61) {
            ESK_CHECK_INT(esk_tree_sync(model.tree), ESK_OK);
        }
    }
    ESK_CHECK_INT(esk_tree_cursor_next(model.tree, &cursor, row), ESK_END);
    esk_model_tree_free(&model);
}

ESK_TEST(write_cache_is_refused_where_pages_are_overwritten) {
    struct esk_model_tree model;
    struct esk_model_tree_table table = model_tree_plain(ESK_STORE_INPLACE);
    model_tree_start(&model, &table);
    esk_tree_close(model.tree);
    model.table.write_frames = 2;
    ESK_CHECK_INT(esk_model_tree_open(&model), ESK_E_UNSUPPORTED);
    esk_model_tree_free(&model);
}

ESK_TEST_MAIN()
