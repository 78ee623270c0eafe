// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Snapshots of kv tables: what they return is what the table had when they
/// were opened, or they say that it is gone.
#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_kv.h"

#include "table/kv/kv.h"

enum { KEPT = ESK_MODEL_KV_KEYS_MAX };

static struct esk_model_kv model;

/// A snapshot beside what it should return.
struct view {
    struct esk_kv_snapshot snapshot;
    struct esk_kv_kept kept[KEPT];
    uint32_t then[ESK_MODEL_KV_KEYS_MAX]; ///< versions
};

static struct view views[2];
static uint32_t values_then; ///< that changed keys had, and were returned
static uint32_t stale;       ///< reads of single keys

static const struct esk_model_kv_run runs[] = {
    {"NOR, 4 blocks",
     {.geometry = ESK_NOR(12, 16, 256)},
     {.blocks = 4,
      .keys = 60,
      .value_max = 100,
      .key_max = 16,
      .batch_max = 4}},
    {"bare, 3 sectors",
     {.geometry = ESK_NOR(3, 16, 256)},
     {.keys = 50, .value_max = 60, .key_max = 12, .bare = true}},
    {"NAND with bad blocks",
     {.geometry = ESK_NAND(40, 8, 512), .bad_blocks = 4},
     {.blocks = 24,
      .keys = 100,
      .value_max = 900,
      .key_max = 30,
      .batch_max = 5}},
    {"card that caches",
     {.geometry = ESK_CARD(24, 8, 512),
      .cache_programs = 24,
      .erase_keeps = true},
     {.blocks = 12, .keys = 100, .value_max = 400, .key_max = 30}},
    {"wide hashes",
     {.geometry = ESK_NOR(140, 16, 256)},
     {.blocks = 128, .keys = 512, .value_max = 200, .key_max = 20}},
    {"index, NOR",
     {.geometry = ESK_NOR(60, 16, 256)},
     {.blocks = 30,
      .keys = 600,
      .value_max = 100,
      .key_max = 16,
      .batch_max = 6,
      .pending = 150}},
};

enum { RUNS = sizeof runs / sizeof runs[0] };

static void view_open(struct view *view, uint16_t room) {
    ESK_CHECK_INT(
        esk_kv_snapshot_open(model.kv, &view->snapshot, view->kept, room),
        ESK_OK);
    memcpy(view->then, model.now, sizeof view->then);
}

/// Reads each key: its value of then; or it is stale, if it was changed.
static void values_check(struct view *view) {
    for (uint16_t key = 0; key < model.table.keys; key++) {
        int status = ESK_OK;
        uint32_t version = view->then[key];
        bool is_same = version == model.now[key];
        bool is_right = esk_model_kv_value_is(&model, &view->snapshot, key,
                                              version, &status);
        ESK_CHECK(is_right || status == ESK_E_STALE);
        ESK_CHECK(is_right || view->snapshot.is_stale || !is_same ||
                  version == 0);
        values_then += is_right && !is_same && version != 0 ? 1 : 0;
        stale += is_right || view->snapshot.is_stale ? 0 : 1;
    }
}

/// Walks over the keys: each one is returned once, or is stale.
static void keys_check(struct view *view) {
    static bool seen[ESK_MODEL_KV_KEYS_MAX];
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint8_t bytes = 0;
    uint32_t cursor = 0;
    uint32_t found = 0;
    uint32_t gone = 0;
    uint32_t wanted = 0;
    int status = ESK_OK;
    memset(seen, 0, sizeof seen);
    while (status == ESK_OK || status == ESK_E_STALE || status == ESK_AGAIN) {
        status = esk_kv_snapshot_next(&view->snapshot, &cursor, key, &bytes);
        gone += status == ESK_E_STALE ? 1 : 0;
        if (status == ESK_OK) {
            unsigned number = key[0] | (unsigned)key[1] << 8;
            ESK_CHECK(number < model.table.keys && !seen[number]);
            ESK_CHECK(view->then[number] != 0);
            seen[number] = true;
            found++;
        }
    }
    ESK_CHECK_INT(status, ESK_END);
    for (uint16_t i = 0; i < model.table.keys; i++) {
        wanted += view->then[i] != 0 ? 1 : 0;
    }
    if (view->snapshot.is_stale) {
        ESK_CHECK(found == 0 && gone == 1);
    } else {
        ESK_CHECK(found <= wanted && found + gone >= wanted);
        ESK_CHECK(gone > 0 || found == wanted);
    }
}

ESK_TEST(a_kv_snapshot_returns_what_the_table_had_or_is_stale) {
    unsigned epochs = esk_test_rounds(8, 60);
    for (unsigned run = 0; run < RUNS; run++) {
        uint32_t whole = 0;
        values_then = 0;
        stale = 0;
        ESK_CHECK_INT(esk_model_kv_make(&model, &runs[run], run + 1), ESK_OK);
        for (unsigned i = 0; i < 1500 + epochs * 300; i++) {
            ESK_CONTEXT("%s, step %u", runs[run].name, i);
            ESK_CHECK_INT(esk_model_kv_step(&model), ESK_OK);
            if (i < 1500) {
                continue;
            }
            unsigned at = (i - 1500) % 300;
            if (at == 0) {
                view_open(&views[0], KEPT);
            } else if (at == 40) {
                view_open(&views[1], 30);
            } else if (at % 21 == 0 && at > 40) {
                values_check(&views[i % 2]);
                keys_check(&views[i % 2]);
            } else if (at == 299) {
                ESK_CHECK(!views[0].snapshot.is_stale);
                whole += views[1].snapshot.is_stale ? 1 : 0;
                /* Either may be the last one of the list. */
                esk_kv_snapshot_close(&views[i / 300 % 2].snapshot);
                esk_kv_snapshot_close(&views[1 - i / 300 % 2].snapshot);
            }
        }
        ESK_CHECK(values_then > 100);
        /* A long log keeps what was replaced. */
        ESK_CHECK(stale > 0 || runs[run].table.blocks > 100);
        ESK_CHECK_INT(whole, epochs);
        ESK_CHECK_TEXT(esk_sim_violation(model.sim), "");
        esk_model_kv_free(&model);
    }
}

/// Each call that fails may leave the change undone or done in part.
ESK_TEST(a_kv_snapshot_never_returns_another_value_when_calls_fail) {
    for (unsigned run = 0; run < RUNS; run++) {
        for (uint32_t seed = 0; seed < esk_test_rounds(3, 40); seed++) {
            const struct esk_sim_failures failures = {
                .program = {.per_million = 4000},
                .transfer = {.per_million = 50000}};
            ESK_CONTEXT("%s, seed %u", runs[run].name, seed);
            ESK_CHECK_INT(esk_model_kv_make(&model, &runs[run], seed), ESK_OK);
            for (unsigned i = 0; i < 300; i++) {
                ESK_CHECK_INT(esk_model_kv_step(&model), ESK_OK);
            }
            view_open(&views[0], KEPT);
            esk_sim_failures_set(model.sim, &failures);
            int status = ESK_OK;
            for (unsigned i = 0; i < 200 && status != ESK_E_WORN; i++) {
                status = esk_model_kv_step(&model);
                if (i % 20 == 0) {
                    esk_sim_failures_set(model.sim, NULL);
                    values_check(&views[0]);
                    keys_check(&views[0]);
                    esk_sim_failures_set(model.sim, &failures);
                }
            }
            esk_model_kv_free(&model);
        }
    }
}

ESK_TEST(a_kv_snapshot_goes_with_the_page_in_ram_to_another_block) {
    struct esk_kv_snapshot snapshot;
    struct esk_kv_kept kept[1];
    uint8_t value[8] = {0};
    uint32_t bytes = 0;
    ESK_CHECK_INT(esk_model_kv_make(&model, &runs[0], 1), ESK_OK);
    ESK_CHECK_INT(esk_kv_put(model.kv, "aa", 2, "one", 3, ESK_KV_TEXT), ESK_OK);
    ESK_CHECK_INT(esk_kv_snapshot_open(model.kv, &snapshot, kept, 1), ESK_OK);
    ESK_CHECK_INT(esk_kv_put(model.kv, "aa", 2, "two", 3, ESK_KV_TEXT), ESK_OK);
    uint32_t page = esk_ring_page(&model.kv->log, model.kv->page_at);
    esk_sim_block_fail(model.sim, page / 16);
    ESK_CHECK_INT(esk_kv_sync(model.kv), ESK_OK);
    ESK_CHECK_INT(esk_kv_snapshot_get(&snapshot, "aa", 2, value, sizeof value,
                                      &bytes, NULL),
                  ESK_OK);
    ESK_CHECK(bytes == 3 && memcmp(value, "one", 3) == 0);
    esk_kv_snapshot_close(&snapshot);
    esk_model_kv_free(&model);
}

/// Nor are the changes of a batch that failed kept: the collector moves their
/// records as before.
ESK_TEST(a_kv_snapshot_is_not_stale_by_a_batch_that_failed) {
    static const struct esk_sim_failures failures = {
        .transfer = {.per_million = 1000000}};
    static const uint8_t filler[200];
    static const char *const names[] = {"aa", "bb"};
    struct esk_kv_snapshot snapshot;
    struct esk_kv_kept kept[4];
    struct esk_kv_change changes[2];
    uint8_t value[8] = {0};
    uint32_t bytes = 0;
    ESK_CHECK_INT(esk_model_kv_make(&model, &runs[0], 1), ESK_OK);
    for (unsigned i = 0; i < 2; i++) {
        ESK_CHECK_INT(esk_kv_put(model.kv, names[i], 2, "one", 3, ESK_KV_TEXT),
                      ESK_OK);
        changes[i] = (struct esk_kv_change){
            .key = names[i], .key_bytes = 2, .value = filler, .bytes = 200};
    }
    ESK_CHECK_INT(esk_kv_sync(model.kv), ESK_OK);
    ESK_CHECK_INT(esk_kv_snapshot_open(model.kv, &snapshot, kept, 4), ESK_OK);
    ESK_CHECK_INT(esk_kv_put(model.kv, "bb", 2, "two", 3, ESK_KV_TEXT), ESK_OK);
    esk_sim_failures_set(model.sim, &failures);
    ESK_CHECK_INT(esk_kv_change_many(model.kv, changes, 2, NULL), ESK_E_IO);
    esk_sim_failures_set(model.sim, NULL);
    ESK_CHECK_INT(snapshot.count, 1);
    while (model.kv->log.tail <= kept[0].position) {
        ESK_CHECK_INT(esk_kv_put(model.kv, "cc", 2, filler, 100, ESK_KV_BYTES),
                      ESK_OK);
    }
    ESK_CHECK_INT(esk_kv_snapshot_get(&snapshot, "aa", 2, value, sizeof value,
                                      &bytes, NULL),
                  ESK_OK);
    ESK_CHECK(bytes == 3 && memcmp(value, "one", 3) == 0);
    ESK_CHECK_INT(esk_kv_snapshot_get(&snapshot, "bb", 2, value, sizeof value,
                                      &bytes, NULL),
                  ESK_E_STALE);
    esk_kv_snapshot_close(&snapshot);
    esk_model_kv_free(&model);
}

/// A call passes over a bounded number of keys that were not there.
ESK_TEST(a_kv_snapshot_walk_ends_a_call_after_many_later_keys) {
    struct esk_kv_snapshot snapshot;
    enum { LATER = 3 * ESK_KV_PASSED_MAX };
    static struct esk_kv_kept kept[LATER];
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint8_t bytes = 0;
    uint32_t cursor = 0;
    unsigned counts[2] = {0}; /* of ESK_OK, of ESK_AGAIN */
    int status = ESK_OK;
    static const struct esk_model_kv_run run = {
        "NOR",
        {.geometry = ESK_NOR(12, 16, 256)},
        {.blocks = 6, .keys = LATER + 1, .value_max = 8, .key_max = 4}};
    ESK_CHECK_INT(esk_model_kv_make(&model, &run, 1), ESK_OK);
    ESK_CHECK_INT(esk_model_kv_put(&model, 0), ESK_OK);
    ESK_CHECK_INT(esk_kv_snapshot_open(model.kv, &snapshot, kept, LATER),
                  ESK_OK);
    for (uint16_t i = 1; i <= LATER; i++) {
        ESK_CHECK_INT(esk_model_kv_put(&model, i), ESK_OK);
    }
    while (status == ESK_OK || status == ESK_AGAIN) {
        status = esk_kv_snapshot_next(&snapshot, &cursor, key, &bytes);
        counts[0] += status == ESK_OK ? 1 : 0;
        counts[1] += status == ESK_AGAIN ? 1 : 0;
    }
    ESK_CHECK_INT(status, ESK_END);
    ESK_CHECK_INT(counts[0], 1);
    ESK_CHECK(counts[1] >= LATER / ESK_KV_PASSED_MAX - 1);
    esk_kv_snapshot_close(&snapshot);
    esk_model_kv_free(&model);
}

/// Where the collector loses the block that it moves to, copies are erased, and
/// their positions are used again.
ESK_TEST(a_kv_snapshot_is_stale_when_copies_are_erased) {
    static const struct esk_model_kv_run run = {
        "NOR, 3 blocks, full",
        {.geometry = ESK_NOR(12, 8, 128)},
        {.blocks = 3, .keys = 200, .value_max = 60, .key_max = 12}};
    uint32_t erased = 0;
    for (uint32_t seed = 1; seed <= esk_test_rounds(10, 60); seed++) {
        ESK_CONTEXT("seed %u", seed);
        ESK_CHECK_INT(esk_model_kv_make(&model, &run, seed), ESK_OK);
        while (model.full < 20) {
            uint16_t key =
                (uint16_t)esk_model_kv_random(&model, model.table.keys);
            ESK_CHECK_INT(esk_model_kv_put(&model, key), ESK_OK);
            ESK_CHECK_INT(esk_model_kv_sync(&model), ESK_OK);
        }
        for (unsigned i = 0; i < 60; i++) {
            const struct esk_ring *ring = &model.kv->log;
            if (i % 10 == 0) {
                view_open(&views[0], KEPT);
            }
            if (i == 20 + seed % 8) {
                esk_sim_block_fail(model.sim,
                                   esk_ring_page(ring, ring->ready) / 8);
            }
            (void)esk_model_kv_step(&model);
            (void)esk_model_kv_sync(&model);
            values_check(&views[0]);
            keys_check(&views[0]);
            if (i % 10 == 9) {
                erased += views[0].snapshot.is_stale ? 1 : 0;
                esk_kv_snapshot_close(&views[0].snapshot);
            }
        }
        esk_model_kv_free(&model);
    }
    ESK_CHECK(erased > 0);
}

ESK_TEST(a_kv_snapshot_says_when_the_medium_does_not_answer) {
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint8_t bytes = 0;
    uint32_t cursor = 0;
    uint32_t failed = 0;
    int status = ESK_OK;
    for (unsigned run = 0; run < RUNS; run++) {
        ESK_CONTEXT("%s", runs[run].name);
        ESK_CHECK_INT(esk_model_kv_make(&model, &runs[run], 7), ESK_OK);
        for (unsigned i = 0; i < 600; i++) {
            ESK_CHECK_INT(esk_model_kv_step(&model), ESK_OK);
        }
        view_open(&views[0], KEPT);
        for (unsigned i = 0; i < 40; i++) {
            ESK_CHECK_INT(esk_model_kv_step(&model), ESK_OK);
        }
        esk_sim_power_off(model.sim);
        for (uint16_t i = 0; i < model.table.keys; i++) {
            (void)esk_model_kv_value_is(&model, &views[0].snapshot, i,
                                        views[0].then[i], &status);
            failed += status == ESK_E_IO ? 1 : 0;
        }
        ESK_CHECK(failed > 0);
        cursor = 0;
        do {
            status =
                esk_kv_snapshot_next(&views[0].snapshot, &cursor, key, &bytes);
        } while (status == ESK_OK || status == ESK_E_STALE ||
                 status == ESK_AGAIN);
        ESK_CHECK_INT(status, ESK_E_IO);
        esk_model_kv_free(&model);
    }
}

ESK_TEST(a_kv_snapshot_belongs_to_an_open_table) {
    struct esk_kv_snapshot snapshot;
    uint32_t cursor = 0;
    uint8_t key[ESK_KV_KEY_BYTES_MAX] = {'k'};
    uint8_t bytes = 0;
    ESK_CHECK_INT(esk_kv_snapshot_open(NULL, &snapshot, NULL, 0),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_snapshot_next(&snapshot, &cursor, key, &bytes),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_model_kv_make(&model, &runs[0], 1), ESK_OK);
    ESK_CHECK_INT(esk_kv_snapshot_open(model.kv, &snapshot, NULL, 0), ESK_OK);
    ESK_CHECK_INT(esk_kv_snapshot_get(&snapshot, key, 0, NULL, 0, NULL, NULL),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_snapshot_get(&snapshot, key, 1, NULL, 0, NULL, NULL),
                  ESK_NOT_FOUND);
    esk_kv_close(model.kv);
    ESK_CHECK_INT(esk_kv_snapshot_get(&snapshot, key, 1, NULL, 0, NULL, NULL),
                  ESK_E_INVALID);
    esk_kv_snapshot_close(&snapshot);
    ESK_CHECK_INT(esk_volume_unmount(&model.volume), ESK_OK);
    /* The same handle again: the snapshot was the other open's. */
    ESK_CHECK_INT(esk_model_kv_open(&model), ESK_OK);
    ESK_CHECK_INT(esk_kv_snapshot_get(&snapshot, key, 1, NULL, 0, NULL, NULL),
                  ESK_E_INVALID);
    esk_model_kv_free(&model);
}

ESK_TEST_MAIN()
