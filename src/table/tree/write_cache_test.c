// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The write cache: what it saves, what a cut leaves, what failures change.
#include "test/harness/bush_rig.h"

static const uint8_t stores[] = {ESK_STORE_WANDERING, ESK_STORE_MU};

enum { FRAMES = 10, ROWS = 200 };

/// 200 rows on the medium, and a front that can fail.
static void cached_start(struct esk_bush *bush, uint8_t store, uint8_t policy) {
    struct esk_bush_table table = bush_plain(store);
    ESK_CONTEXT("store %u, policy %u", store, policy);
    table.frames = FRAMES;
    table.write_frames = FRAMES - 1;
    table.policy = policy;
    bush_start(bush, &table);
    bush_front(bush);
    for (uint32_t number = 0; number < ROWS; number++) {
        ESK_CHECK_INT(esk_bush_put(bush, number), ESK_OK);
    }
    ESK_CHECK_INT(esk_tree_sync(bush->tree), ESK_OK);
}

static uint32_t programs(const struct esk_bush *bush) {
    return (uint32_t)esk_sim_counters(bush->sim)->programs;
}

static uint8_t height_of(const struct esk_bush *bush) {
    struct esk_tree_stats stats;
    esk_tree_stats(bush->tree, &stats);
    return stats.height;
}

/// Takes the table up as after a cut, and holds it against `model`.
static void cut_verify(struct esk_bush *bush,
                       const struct esk_bush_model *model) {
    bush->in_batch = false;
    ESK_CHECK_INT(esk_volume_mount(&bush->volume, bush->device, 0, bush->page),
                  ESK_OK);
    ESK_CHECK_INT(esk_bush_open(bush), ESK_OK);
    bush->model = *model;
    ESK_CHECK_HELD(esk_bush_verify(bush), bush->why);
}

ESK_TEST(changes_of_one_leaf_are_programmed_once) {
    for (size_t s = 0; s < 2; s++) {
        struct esk_bush bush;
        cached_start(&bush, stores[s], ESK_TREE_LRU_P);
        uint32_t before = programs(&bush);
        uint32_t path = stores[s] == ESK_STORE_MU ? 1 : height_of(&bush);
        ESK_CHECK(height_of(&bush) >= 2);
        for (uint32_t i = 0; i < 100; i++) {
            ESK_CHECK_INT(esk_bush_put(&bush, 77), ESK_OK);
        }
        ESK_CHECK_INT(programs(&bush), before);
        ESK_CHECK_INT(esk_tree_sync(bush.tree), ESK_OK);
        ESK_CHECK_INT(programs(&bush), before + path);
        ESK_CHECK_INT(esk_tree_sync(bush.tree), ESK_OK);
        ESK_CHECK_INT(programs(&bush), before + path);
        bush_verify_again(&bush);
        esk_bush_free(&bush);
    }
}

ESK_TEST(cut_leaves_what_was_synced_and_no_half_of_the_rest) {
    for (size_t s = 0; s < 2; s++) {
        struct esk_bush bush;
        cached_start(&bush, stores[s], ESK_TREE_LRU_P);
        struct esk_bush_model synced = bush.model;
        ESK_CHECK_INT(esk_bush_put(&bush, 3), ESK_OK);
        ESK_CHECK_INT(esk_bush_delete(&bush, 190), ESK_OK);
        cut_verify(&bush, &synced);
        esk_bush_free(&bush);
    }
}

ESK_TEST(close_writes_what_waits) {
    struct esk_bush bush;
    cached_start(&bush, ESK_STORE_WANDERING, ESK_TREE_LRU_P);
    uint32_t before = programs(&bush);
    ESK_CHECK_INT(esk_bush_put(&bush, 3), ESK_OK);
    ESK_CHECK_INT(programs(&bush), before);
    ESK_CHECK_HELD(esk_bush_remount(&bush) && esk_bush_verify(&bush), bush.why);
    ESK_CHECK(programs(&bush) > before);
    esk_bush_free(&bush);
}

/// The flush fails at each of its programs; what waits is read and written
/// later.
ESK_TEST(flush_that_fails_loses_nothing_and_is_done_again) {
    uint32_t failed = 0;
    for (uint32_t variant = 0; variant < 24; variant++) {
        struct esk_bush bush;
        cached_start(&bush, stores[variant % 2],
                     variant % 4 == 3 ? ESK_TREE_LRU_N : ESK_TREE_LRU_P);
        struct esk_sim_failures failures = {
            .transfer = {.burst_start = variant / 4, .burst_length = 4}};
        ESK_CHECK_INT(esk_bush_put(&bush, 3), ESK_OK);
        ESK_CHECK_INT(esk_bush_put(&bush, 150), ESK_OK);
        struct esk_bush_model changed = bush.model;
        esk_sim_failures_set(bush.sim, &failures);
        int status = esk_tree_sync(bush.tree);
        ESK_CHECK(status == ESK_E_IO || (status == ESK_OK && variant >= 4));
        failed += status == ESK_E_IO ? 1 : 0;
        esk_sim_failures_set(bush.sim, NULL);
        uint8_t row[ESK_BUSH_ROW_BYTES_MAX];
        uint8_t key[8];
        esk_bush_key(&bush, 150, key);
        ESK_CHECK_INT(esk_tree_get(bush.tree, key, row), ESK_OK);
        ESK_CHECK_INT(esk_tree_sync(bush.tree), ESK_OK);
        ESK_CHECK_HELD(esk_bush_verify(&bush), bush.why);
        cut_verify(&bush, &changed);
        esk_bush_free(&bush);
    }
    ESK_CHECK(failed > 4); /* later programs, too */
}

/// A change that has to flush first, and cannot, changes nothing.
ESK_TEST(change_whose_flush_fails_is_refused_and_can_be_called_again) {
    for (size_t s = 0; s < 2; s++) {
        struct esk_bush bush;
        uint32_t refused = 0;
        cached_start(&bush, stores[s], ESK_TREE_LRU_P);
        struct esk_sim_failures failures = {
            .transfer = {.burst_start = 0, .burst_length = UINT32_MAX}};
        esk_sim_failures_set(bush.sim, &failures);
        for (uint32_t number = 0; number < ROWS; number += 10) {
            int status = esk_bush_put(&bush, number);
            ESK_CHECK(status == ESK_OK || status == ESK_E_IO);
            refused += status == ESK_E_IO ? 1 : 0;
        }
        ESK_CHECK(refused > 0 && refused < ROWS / 10);
        esk_sim_failures_set(bush.sim, NULL);
        ESK_CHECK_INT(esk_tree_sync(bush.tree), ESK_OK);
        bush_verify_again(&bush);
        esk_bush_free(&bush);
    }
}

/// A reader shows what is on the medium: the tree of the last flush.
ESK_TEST(reader_shows_the_tree_of_the_last_flush) {
    for (size_t s = 0; s < 2; s++) {
        struct esk_bush bush;
        struct esk_tree_config config = {.frames = 3};
        struct esk_tree *reader = NULL;
        uint8_t row[ESK_BUSH_ROW_BYTES_MAX];
        uint8_t key[8];
        cached_start(&bush, stores[s], ESK_TREE_LRU_P);
        ESK_CHECK_INT(esk_bush_delete(&bush, 5), ESK_OK);
        uint32_t bytes = esk_tree_reader_arena_bytes(bush.tree, &config);
        void *arena = malloc(bytes);
        ESK_CHECK_INT(
            esk_tree_reader_open(&reader, bush.tree, &config, arena, bytes),
            ESK_OK);
        esk_bush_key(&bush, 5, key);
        ESK_CHECK_INT(esk_tree_get(bush.tree, key, row), ESK_NOT_FOUND);
        ESK_CHECK_INT(esk_tree_get(reader, key, row), ESK_OK);
        ESK_CHECK_INT(esk_tree_sync(bush.tree), ESK_OK);
        ESK_CHECK_INT(esk_tree_get(reader, key, row), ESK_OK);
        ESK_CHECK_INT(esk_tree_reader_renew(reader), ESK_OK);
        ESK_CHECK_INT(esk_tree_get(reader, key, row), ESK_NOT_FOUND);
        free(arena);
        esk_bush_free(&bush);
    }
}

/// Batches: their pages wait as others do; abort forgets them, commit writes.
ESK_TEST(batch_waits_and_is_whole_or_nothing) {
    for (uint32_t variant = 0; variant < 12; variant++) {
        struct esk_bush bush;
        cached_start(&bush, stores[variant % 2], ESK_TREE_LRU_P);
        bool syncs = variant % 4 >= 2;
        uint32_t rows = variant < 4 ? 1 : 40;
        ESK_CHECK_INT(esk_bush_put(&bush, 250), ESK_OK);
        struct esk_bush_model before = bush.model;
        for (uint32_t turn = 0; turn < 3; turn++) {
            ESK_CHECK_INT(esk_tree_begin(bush.tree, 150), ESK_OK);
            for (uint32_t i = 0; i < rows; i++) {
                ESK_CHECK_INT(esk_bush_put(&bush, (i * 37 + turn) % 300),
                              ESK_OK);
            }
            ESK_CHECK(!syncs || esk_tree_sync(bush.tree) == ESK_OK);
            if (turn == 0) {
                ESK_CHECK_INT(esk_tree_abort(bush.tree), ESK_OK);
                bush.model = before;
                ESK_CHECK_HELD(esk_bush_verify(&bush), bush.why);
            } else if (turn == 1) {
                ESK_CHECK_INT(esk_tree_commit(bush.tree), ESK_OK);
                before = bush.model;
            }
        }
        cut_verify(&bush, &before);
        esk_bush_free(&bush);
    }
}

/// Random calls; after each sync and commit the power goes.
ESK_TEST(what_a_sync_or_a_commit_said_is_there_is_there) {
    for (uint32_t variant = 0; variant < 16; variant++) {
        struct esk_bush bush;
        uint32_t cuts = 0;
        cached_start(&bush, stores[variant % 2],
                     variant % 4 == 3 ? ESK_TREE_LRU_N : ESK_TREE_LRU_P);
        for (uint32_t i = 0; i < 4000; i++) {
            uint32_t number = esk_bush_random(&bush, bush.range);
            uint32_t kind = esk_bush_random(&bush, 60);
            ESK_CONTEXT("variant %u, call %u of kind %u", variant, i, kind);
            if (kind < 30) {
                ESK_CHECK_INT(esk_bush_put(&bush, number), ESK_OK);
            } else if (kind < 56) {
                int status = esk_bush_delete(&bush, number);
                ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND);
            } else if (kind < 58 && !bush.in_batch) {
                ESK_CHECK_INT(esk_tree_begin(bush.tree, 300), ESK_OK);
                bush.before = bush.model;
                bush.in_batch = true;
            } else if (kind < 58) {
                ESK_CHECK_INT(esk_tree_commit(bush.tree), ESK_OK);
                cut_verify(&bush, &bush.model);
                cuts++;
            } else if (kind < 59) {
                ESK_CHECK_INT(esk_volume_step(&bush.volume, 3, NULL), ESK_OK);
            } else {
                ESK_CHECK_INT(esk_tree_sync(bush.tree), ESK_OK);
                cut_verify(&bush, bush.in_batch ? &bush.before : &bush.model);
                cuts++;
            }
        }
        ESK_CHECK(cuts > 50);
        esk_bush_free(&bush);
    }
}

/// From nothing to several levels and back, twice.
ESK_TEST(tree_with_a_write_cache_grows_and_shrinks) {
    for (uint32_t variant = 0; variant < 48; variant++) {
        struct esk_bush bush;
        struct esk_bush_table table = bush_plain(stores[variant % 2]);
        table.pad_bytes = table.store == ESK_STORE_MU ? 24 : 100;
        table.policy = variant / 2 % 2;
        table.merges = variant / 4 % 2 != 0;
        table.frames = (uint8_t)(3 + variant / 8);
        table.write_frames = (uint8_t)(table.frames - 1u);
        bush_start(&bush, &table);
        for (uint32_t turn = 0; turn < 2; turn++) {
            uint8_t height = 0;
            for (uint32_t i = 0; i < 2u * bush.range; i++) {
                bool puts = i < bush.range;
                uint32_t number = i * 7u % bush.range;
                ESK_CONTEXT("variant %u, call %u", variant, i);
                ESK_CHECK_INT(puts ? esk_bush_put(&bush, number)
                                   : esk_bush_delete(&bush, number),
                              ESK_OK);
                height = puts ? height_of(&bush) : height;
                ESK_CHECK_HELD(i % 97 != 0 || esk_bush_verify(&bush), bush.why);
            }
            ESK_CHECK(height >= 3);
            ESK_CHECK_INT(height_of(&bush), 1);
            bush_verify_again(&bush);
        }
        esk_bush_free(&bush);
    }
}

ESK_TEST(cursor_goes_on_over_a_flush) {
    struct esk_bush bush;
    struct esk_tree_cursor cursor;
    uint8_t row[ESK_BUSH_ROW_BYTES_MAX];
    cached_start(&bush, ESK_STORE_WANDERING, ESK_TREE_LRU_P);
    ESK_CHECK_INT(esk_bush_put(&bush, 60), ESK_OK);
    ESK_CHECK_INT(esk_tree_cursor_open(bush.tree, &cursor, NULL), ESK_OK);
    for (uint32_t number = 0; number < ROWS; number++) {
        uint8_t key[8];
        esk_bush_key(&bush, number, key);
        ESK_CHECK_INT(esk_tree_cursor_next(bush.tree, &cursor, row), ESK_OK);
        ESK_CHECK(memcmp(row + 4, key, 4) == 0);
        if (number == 61) {
            ESK_CHECK_INT(esk_tree_sync(bush.tree), ESK_OK);
        }
    }
    ESK_CHECK_INT(esk_tree_cursor_next(bush.tree, &cursor, row), ESK_END);
    esk_bush_free(&bush);
}

ESK_TEST(write_cache_is_refused_where_pages_are_overwritten) {
    struct esk_bush bush;
    struct esk_bush_table table = bush_plain(ESK_STORE_INPLACE);
    bush_start(&bush, &table);
    esk_tree_close(bush.tree);
    bush.table.write_frames = 2;
    ESK_CHECK_INT(esk_bush_open(&bush), ESK_E_UNSUPPORTED);
    esk_bush_free(&bush);
}

ESK_TEST_MAIN()
