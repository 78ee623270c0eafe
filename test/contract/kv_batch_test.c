// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Batches of a kv table: after power loss all changes of a batch are there, or
/// none; and a batch that is refused or fails leaves the table as it was.
#include "test/harness/esk_test.h"
#include "test/harness/failing_device.h"
#include "test/harness/media.h"
#include "test/harness/model_kv.h"

#include "table/kv/kv.h"

static struct esk_model_kv model;

/// Batches of a page and longer; tables that fill several times over.
static const struct esk_model_kv_run runs[] = {
    {"NOR, 3 blocks",
     {.geometry = ESK_NOR(12, 16, 256)},
     {.blocks = 3,
      .keys = 60,
      .value_max = 60,
      .key_max = 12,
      .batch_max = 20}},
    {"NOR, pages of 128",
     {.geometry = ESK_NOR(20, 16, 128)},
     {.blocks = 8,
      .keys = 100,
      .value_max = 100,
      .key_max = 20,
      .batch_max = 30}},
    {"words of 8",
     {.geometry = ESK_FLASH(16, 8, 256, 8, 0)},
     {.blocks = 8,
      .keys = 60,
      .value_max = 100,
      .key_max = 30,
      .batch_max = 12}},
    {"words of 16 with ECC",
     {.geometry = ESK_FLASH(16, 8, 512, 16, 1)},
     {.blocks = 6,
      .keys = 60,
      .value_max = 100,
      .key_max = 30,
      .batch_max = 20}},
    {"NAND with bad blocks",
     {.geometry = ESK_NAND(40, 8, 512), .bad_blocks = 4},
     {.blocks = 24,
      .keys = 100,
      .value_max = 600,
      .key_max = 30,
      .batch_max = 16}},
    {"card that caches",
     {.geometry = ESK_CARD(24, 8, 512),
      .cache_programs = 24,
      .erase_keeps = true},
     {.blocks = 12,
      .keys = 100,
      .value_max = 300,
      .key_max = 30,
      .batch_max = 16}},
    {"EEPROM with old bytes",
     {.geometry = ESK_OVERWRITTEN(16, 8, 128, 1), .erase_keeps = true},
     {.blocks = 8,
      .keys = 60,
      .value_max = 40,
      .key_max = 12,
      .batch_max = 10}},
    {"a page a block",
     {.geometry = ESK_NAND(60, 1, 512)},
     {.blocks = 40,
      .keys = 60,
      .value_max = 100,
      .key_max = 20,
      .batch_max = 8}},
    {"wide hashes",
     {.geometry = ESK_NOR(140, 16, 256)},
     {.blocks = 128,
      .keys = 512,
      .value_max = 200,
      .key_max = 20,
      .batch_max = 40}},
    {"bare, 3 sectors",
     {.geometry = ESK_NOR(3, 16, 256)},
     {.keys = 50,
      .value_max = 60,
      .key_max = 12,
      .batch_max = 12,
      .bare = true}},
    {"bare, words of 16 with ECC",
     {.geometry = ESK_FLASH(4, 8, 512, 16, 1)},
     {.keys = 60,
      .value_max = 60,
      .key_max = 16,
      .batch_max = 12,
      .bare = true}},
    {"index, NOR",
     {.geometry = ESK_NOR(60, 16, 256)},
     {.blocks = 40,
      .keys = 1000,
      .value_max = 100,
      .key_max = 16,
      .batch_max = 30,
      .pending = 100}},
    {"index, few pending",
     {.geometry = ESK_NOR(80, 16, 128)},
     {.blocks = 30,
      .keys = 500,
      .value_max = 40,
      .key_max = 12,
      .batch_max = 40,
      .pending = 30}},
    {"index, NAND",
     {.geometry = ESK_NAND(60, 8, 512), .bad_blocks = 4},
     {.blocks = 30,
      .keys = 600,
      .value_max = 200,
      .key_max = 30,
      .batch_max = 20,
      .pending = 130,
      .replay_pages = 60}},
    {"index, card that caches",
     {.geometry = ESK_CARD(60, 8, 512),
      .cache_programs = 24,
      .erase_keeps = true},
     {.blocks = 30,
      .keys = 600,
      .value_max = 200,
      .key_max = 30,
      .batch_max = 20,
      .pending = 130}},
};

enum { RUNS = sizeof runs / sizeof runs[0] };

static void run_make(unsigned run, uint64_t seed) {
    ESK_CONTEXT("%s, seed %lu", runs[run].name, (unsigned long)seed);
    ESK_CHECK_INT(esk_model_kv_make(&model, &runs[run], seed), ESK_OK);
}

/* Tables that are made for one test, beside the model. */

enum { PAGE = 256, BLOCK_PAGES = 8, ROOM = BLOCK_PAGES * (PAGE - 16) };

static struct esk_sim *sim;
static struct esk_volume volume;
static struct esk_kv *kv;
static uint64_t arena[4096];
static uint8_t bytes[ROOM + 300];

static int reopen(uint32_t keys, uint8_t flags) {
    const struct esk_kv_config config = {.keys = keys,
                                         .part = &esk_kv_part_index};
    ESK_CHECK_INT(esk_volume_mount(&volume, esk_sim_device(sim), flags, arena,
                                   sizeof arena),
                  ESK_OK);
    return esk_kv_open(&kv, &volume, "kv", &config);
}

static void start(uint32_t blocks, uint32_t keys, uint32_t index_keys) {
    static const struct esk_volume_config format = {.uuid = {3},
                                                    .tables_max = 1};
    const struct esk_sim_config config = {
        .geometry = ESK_NOR(40, BLOCK_PAGES, PAGE), .seed = 5};
    const struct esk_kv_spec spec = {
        .name = "kv", .blocks = blocks, .index_keys = index_keys};
    esk_sim_destroy(sim);
    ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_OK);
    ESK_CHECK_INT(
        esk_volume_format(esk_sim_device(sim), &format, arena, sizeof arena),
        ESK_OK);
    ESK_CHECK_INT(
        esk_volume_mount(&volume, esk_sim_device(sim), 0, arena, sizeof arena),
        ESK_OK);
    ESK_CHECK_INT(esk_kv_create(&volume, &spec, NULL), ESK_OK);
    ESK_CHECK_INT(reopen(keys, 0), ESK_OK);
}

static struct esk_kv_change change_of(const char *key, uint32_t count) {
    struct esk_kv_change change = {.key = key,
                                   .key_bytes = (uint8_t)strlen(key),
                                   .value = bytes,
                                   .bytes = count};
    return change;
}

static struct esk_kv_change delete_of(const char *key) {
    struct esk_kv_change change = change_of(key, 0);
    change.type = ESK_KV_DELETED;
    return change;
}

/// Bytes of a key's value; -1: it is not there.
static int length_of(const char *key) {
    uint32_t count = 0;
    int status =
        esk_kv_get(kv, key, (uint8_t)strlen(key), NULL, 0, &count, NULL);
    ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND);
    return status == ESK_OK ? (int)count : -1;
}

/// A refused batch: nothing is written, and the table is as it was.
static void refused(struct esk_kv_change *changes, uint16_t count, int status,
                    uint16_t which) {
    uint16_t found = UINT16_MAX;
    uint32_t used = kv->used;
    struct esk_kv_stats before;
    struct esk_kv_stats after;
    esk_kv_stats(kv, &before);
    ESK_CHECK_INT(esk_kv_change_many(kv, changes, count, &found), status);
    ESK_CHECK_INT(found, which);
    ESK_CHECK_INT(esk_kv_change_many(kv, changes, count, NULL), status);
    esk_kv_stats(kv, &after);
    ESK_CHECK_INT(kv->used, used);
    ESK_CHECK_INT(after.keys, before.keys);
    ESK_CHECK_INT(after.live_bytes, before.live_bytes);
    ESK_CHECK_INT(after.programs, before.programs);
}

static void table_verify(void) {
    ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
}

static void table_recover(void) {
    ESK_CHECK_HELD(esk_model_kv_recover(&model), model.why);
}

ESK_TEST(batches_change_what_their_puts_and_deletes_would) {
    for (unsigned run = 0; run < RUNS; run++) {
        run_make(run, run + 1);
        for (unsigned i = 0; i < 2000; i++) {
            ESK_CHECK_INT(esk_model_kv_step(&model), ESK_OK);
            if (i % 250 == 0) {
                table_verify();
            }
            if (i % 500 == 499) {
                ESK_CHECK_INT(esk_model_kv_sync(&model), ESK_OK);
                table_recover();
                table_verify();
            }
        }
        ESK_CHECK(model.batches > 500);
        struct esk_kv_stats stats;
        esk_kv_stats(model.kv, &stats);
        ESK_CHECK_INT(stats.records_lost, 0);
        ESK_CHECK_TEXT(esk_sim_violation(model.sim), "");
        esk_model_kv_free(&model);
    }
}

ESK_TEST(power_loss_leaves_whole_batches) {
    unsigned cuts = esk_test_draws(30, 500);
    const char *given = getenv("ESK_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : 300;
    for (unsigned run = 0; run < RUNS; run++) {
        run_make(run, seed + run);
        for (unsigned i = 0; i < 100; i++) {
            ESK_CHECK_INT(esk_model_kv_step(&model), ESK_OK);
        }
        for (unsigned cut = 0; cut < cuts; cut++) {
            ESK_CONTEXT("%s, cut %u", runs[run].name, cut);
            uint64_t op = esk_sim_op_count(model.sim);
            esk_sim_cut_at(model.sim, op + esk_model_kv_random(&model, 40),
                           ESK_SIM_CUT_DRAWN);
            int status = ESK_OK;
            while (status == ESK_OK) {
                status = esk_model_kv_step(&model);
            }
            ESK_CHECK_INT(status, ESK_E_IO);
            table_recover();
            if (cut % 16 == 0) {
                table_verify();
            }
        }
        ESK_CHECK_TEXT(esk_sim_violation(model.sim), "");
        esk_model_kv_free(&model);
    }
}

/// Syncs and reopens. Returns false if so many transfers failed that the block
/// that is kept free is used up.
static bool table_restart(void) {
    int status = esk_model_kv_sync(&model);
    table_verify();
    if (status == ESK_FULL) {
        return false;
    }
    ESK_CHECK_INT(status, ESK_OK);
    table_recover();
    table_verify();
    return true;
}

/// Media where the page of a batch fails, and its records go elsewhere.
/// Transfers fail in steps only: setting failures counts a burst anew.
/// Returns whether the table was never full of failed pages.
static bool failures_run(const struct esk_sim_failures *failures,
                         unsigned steps) {
    bool are_transfers = failures->transfer.per_million > 0;
    esk_sim_failures_set(model.sim, failures);
    for (unsigned i = 0; i < steps; i++) {
        if (are_transfers) {
            esk_sim_failures_set(model.sim, failures);
        }
        int status = esk_model_kv_step(&model);
        ESK_CHECK(status == ESK_OK || status == ESK_E_IO ||
                  status == ESK_E_WORN || status == ESK_FULL);
        if (are_transfers) {
            esk_sim_failures_set(model.sim, NULL);
        }
        if (status != ESK_OK || i % 50 == 0) {
            table_verify();
        }
        if (status == ESK_E_WORN) {
            break;
        }
        if (status == ESK_E_IO && i % 4 == 0 && !table_restart()) {
            return false;
        }
    }
    esk_sim_failures_set(model.sim, NULL);
    return table_restart();
}

/// Whether the table has a block for failed pages.
static bool has_blocks(unsigned run) {
    return runs[run].table.blocks >= 8;
}

ESK_TEST(a_batch_that_fails_leaves_the_table_as_it_was) {
    unsigned full = 0;
    for (unsigned run = 0; run < RUNS; run++) {
        for (uint32_t rate = 50000; has_blocks(run) && rate <= 240000;
             rate += 90000) {
            const struct esk_sim_failures failures = {
                .transfer = {.per_million = rate}};
            run_make(run, rate);
            full += failures_run(&failures, esk_test_draws(150, 800)) ? 0 : 1;
        }
    }
    ESK_CHECK(full <= 4);
}

ESK_TEST(a_batch_survives_programs_that_fail) {
    for (unsigned run = 0; run < RUNS; run++) {
        for (uint32_t seed = 0; has_blocks(run) && seed < esk_test_rounds(3, 8);
             seed++) {
            const struct esk_sim_failures failures = {
                .program = {.burst_start = 20 + seed * 5, .burst_length = 1}};
            run_make(run, seed);
            ESK_CHECK(failures_run(&failures, 300));
            ESK_CHECK_INT(esk_sim_counters(model.sim)->programs_failed, 1);
        }
    }
}

ESK_TEST(a_batch_survives_erases_that_fail) {
    for (unsigned run = 0; run < RUNS; run++) {
        for (uint32_t seed = 0; has_blocks(run) && seed < esk_test_rounds(3, 8);
             seed++) {
            const struct esk_sim_failures failures = {
                .erase = {.burst_start = 2 + seed, .burst_length = 1}};
            run_make(run, 50 + seed);
            ESK_CHECK(failures_run(&failures, 300));
            ESK_CHECK_INT(esk_sim_counters(model.sim)->erases_failed, 1);
        }
    }
}

/// A cut at each operation of a batch of four pages, of every start in a page.
ESK_TEST(a_batch_is_whole_wherever_its_records_and_the_cut_are) {
    for (uint32_t before = 0; before < PAGE; before += 3) {
        uint64_t ops = 1;
        for (uint64_t cut = 0; cut < ops; cut++) {
            ESK_CONTEXT("%lu bytes before, cut %lu", (unsigned long)before,
                        (unsigned long)cut);
            struct esk_kv_change changes[] = {
                change_of("long", 300), change_of("a", 5), delete_of("old"),
                change_of("b", before), change_of("c", 200)};
            start(6, 8, 0);
            ESK_CHECK_INT(esk_kv_put(kv, "old", 3, bytes, 9, 0), ESK_OK);
            ESK_CHECK_INT(esk_kv_put(kv, "b", 1, bytes, before, 0), ESK_OK);
            ESK_CHECK_INT(esk_kv_sync(kv), ESK_OK);
            uint64_t first = esk_sim_op_count(sim);
            esk_sim_cut_at(sim, cut == 0 ? UINT64_MAX : first + cut - 1,
                           ESK_SIM_CUT_DRAWN);
            int status = esk_kv_change_many(kv, changes, 5, NULL);
            if (status == ESK_OK) {
                status = esk_kv_sync(kv);
            }
            ESK_CHECK_INT(status, cut == 0 ? ESK_OK : ESK_E_IO);
            ops = cut == 0 ? esk_sim_op_count(sim) - first + 1 : ops;
            esk_sim_power_on(sim);
            ESK_CHECK_INT(reopen(8, 0), ESK_OK);
            bool all = length_of("old") == -1;
            ESK_CHECK(all || cut != 0);
            ESK_CHECK_INT(length_of("old"), all ? -1 : 9);
            ESK_CHECK_INT(length_of("long"), all ? 300 : -1);
            ESK_CHECK_INT(length_of("a"), all ? 5 : -1);
            ESK_CHECK_INT(length_of("b"), before);
            ESK_CHECK_INT(length_of("c"), all ? 200 : -1);
        }
    }
}

ESK_TEST(a_batch_may_be_as_long_as_a_block) {
    for (uint32_t other = 0; other < 2 * ROOM; other += 500) {
        /* Two heads of 3 bytes, two keys, a length of 4 bytes. */
        struct esk_kv_change changes[] = {change_of("a", ROOM - 108),
                                          change_of("b", 100)};
        start(8, 8, 0);
        ESK_CHECK_INT(esk_kv_put(kv, "x", 1, bytes, other / 2, 0), ESK_OK);
        ESK_CHECK_INT(esk_kv_change_many(kv, changes, 2, NULL), ESK_OK);
        ESK_CHECK_INT(esk_kv_sync(kv), ESK_OK);
        ESK_CHECK_INT(reopen(8, 0), ESK_OK);
        ESK_CHECK_INT(length_of("a"), ROOM - 108);
        ESK_CHECK_INT(length_of("b"), 100);
        /* As a record of a block: what it may leave of blocks is kept back. */
        ESK_CHECK(kv->longest >= ROOM);
        changes[1].bytes++;
        refused(changes, 2, ESK_E_LIMIT, 1);
        changes[0].bytes = UINT32_MAX;
        refused(changes, 2, ESK_E_LIMIT, 0);
    }
}

ESK_TEST(a_batch_is_refused_as_its_changes_are) {
    struct esk_kv_change none = change_of("none", 0);
    struct esk_kv_change changes[] = {change_of("a", 1), change_of("b", 2),
                                      delete_of("there")};
    start(6, 4, 0);
    ESK_CHECK_INT(esk_kv_put(kv, "there", 5, bytes, 1, 0), ESK_OK);
    none.key = NULL;
    struct esk_kv_change wrong[] = {none,
                                    none,
                                    none,
                                    none,
                                    none,
                                    delete_of("none"),
                                    change_of("b", 2),
                                    delete_of("b")};
    static const int status[] = {ESK_E_INVALID, ESK_E_INVALID, ESK_E_INVALID,
                                 ESK_E_INVALID, ESK_E_INVALID, ESK_NOT_FOUND,
                                 ESK_E_INVALID, ESK_NOT_FOUND};
    wrong[1] = change_of("", 0);
    wrong[2] = change_of("t", 1);
    wrong[2].type = 6;
    wrong[3] = change_of("t", 9);
    wrong[3].type = ESK_KV_UNSIGNED;
    wrong[4] = delete_of("there");
    wrong[4].bytes = 1;
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ESK_CONTEXT("case %u", i);
        struct esk_kv_change four[4] = {changes[0], changes[1], wrong[i],
                                        changes[2]};
        refused(four, 4, status[i], 2);
    }
    ESK_CHECK_INT(esk_kv_change_many(kv, NULL, 0, NULL), ESK_OK);
    ESK_CHECK_INT(esk_kv_change_many(kv, changes, 3, NULL), ESK_OK);
    ESK_CHECK_INT(length_of("there"), -1);
    ESK_CHECK_INT(length_of("b"), 2);
    struct esk_kv *closed = kv;
    esk_kv_close(kv);
    ESK_CHECK_INT(esk_kv_change_many(closed, changes, 3, NULL), ESK_E_INVALID);
    ESK_CHECK_INT(reopen(4, ESK_MOUNT_READ_ONLY), ESK_OK);
    refused(changes, 2, ESK_E_READ_ONLY, 0);
}

ESK_TEST(a_batch_may_replace_all_keys_of_a_full_table) {
    static const char *const names[] = {"k0", "k1", "k2", "k3",
                                        "n0", "n1", "n2", "n3"};
    struct esk_kv_change changes[8];
    for (int round = 0; round < 40; round++) {
        if (round == 0) {
            start(4, 4, 0);
        }
        for (int i = 0; i < 4; i++) {
            int is_odd = round % 2;
            changes[i] = change_of(names[i + (is_odd ? 4 : 0)], 100);
            changes[4 + i] = delete_of(names[i + (is_odd ? 0 : 4)]);
        }
        uint16_t count = round == 0 ? 4 : 8;
        ESK_CHECK_INT(esk_kv_change_many(kv, changes, count, NULL), ESK_OK);
    }
    changes[0] = change_of("more", 1);
    changes[1] = delete_of("n0");
    changes[2] = change_of("most", 1);
    refused(changes, 3, ESK_FULL, 3);
    ESK_CHECK_INT(esk_kv_change_many(kv, changes, 2, NULL), ESK_OK);
    /* The deletes are first in the log, so an open has room, too. */
    ESK_CHECK_INT(esk_kv_sync(kv), ESK_OK);
    ESK_CHECK_INT(reopen(4, 0), ESK_OK);
    ESK_CHECK_INT(length_of("more"), 1);
    ESK_CHECK_INT(length_of("n3"), 100);
}

/// Batches that need no more room go as puts do, and others do not.
ESK_TEST(a_full_table_takes_batches_of_values_that_are_not_longer) {
    struct esk_kv_change changes[2] = {change_of("a", 300),
                                       change_of("b", 300)};
    start(4, 100, 0);
    ESK_CHECK_INT(esk_kv_change_many(kv, changes, 2, NULL), ESK_OK);
    uint32_t keys = 0;
    while (esk_kv_put(kv, &keys, sizeof keys, bytes, 100, 0) == ESK_OK) {
        keys++;
    }
    ESK_CHECK(keys > 10 && keys < 98);
    for (unsigned i = 0; i < 300; i++) {
        ESK_CHECK_INT(esk_kv_change_many(kv, changes, 2, NULL), ESK_OK);
        ESK_CHECK_INT(esk_kv_sync(kv), ESK_OK);
    }
    changes[1].bytes = 450;
    refused(changes, 2, ESK_FULL, 2);
    ESK_CHECK_INT(reopen(100, 0), ESK_OK);
    ESK_CHECK_INT(length_of("b"), 300);
    struct esk_kv_report report;
    ESK_CHECK_INT(esk_kv_check(kv, &report), ESK_OK);
}

/// Keys whose hashes of 16 bits are equal: each gets its own salt.
ESK_TEST(new_keys_of_a_batch_with_equal_hashes_get_different_salts) {
    struct esk_kv_change changes[] = {change_of("salt 383", 1),
                                      change_of("salt 404", 2)};
    for (int swapped = 0; swapped < 2; swapped++) {
        start(6, 8, 0);
        ESK_CHECK_INT(esk_kv_change_many(kv, changes, 2, NULL), ESK_OK);
        ESK_CHECK(changes[1].salt == 1 && changes[0].salt == 0);
        ESK_CHECK_INT(esk_kv_sync(kv), ESK_OK);
        ESK_CHECK_INT(reopen(8, 0), ESK_OK);
        ESK_CHECK_INT(length_of("salt 383"), swapped != 0 ? 2 : 1);
        ESK_CHECK_INT(length_of("salt 404"), swapped != 0 ? 1 : 2);
        changes[1].bytes = swapped != 0 ? 2 : 1;
        changes[0] = change_of("salt 404", 1);
        changes[1] = change_of("salt 383", 2);
    }
    /* Once as the first, and once behind the one with its hash. */
    struct esk_kv_change twice[] = {change_of("salt 383", 1),
                                    change_of("salt 404", 2),
                                    change_of("salt 404", 2)};
    start(6, 8, 0);
    refused(twice, 3, ESK_E_INVALID, 2);
    twice[0] = change_of("salt 404", 2);
    refused(twice, 2, ESK_E_INVALID, 1);
}

/// As if 255 other keys had all the other hashes of a key.
ESK_TEST(a_batch_without_a_free_salt_is_refused) {
    struct esk_kv_change changes[] = {change_of("salt 383", 1),
                                      change_of("salt 404", 2)};
    uint32_t slot = 0;
    start(6, 300, 0);
    ESK_CHECK_INT(esk_kv_put(kv, "x", 1, bytes, 1, 0), ESK_OK);
    uint32_t address = kv->record_at;
    for (uint16_t salt = 1; salt <= UINT8_MAX; salt++) {
        uint32_t hash = esk_kv_hash_begin((uint8_t)salt);
        hash = esk_kv_hash_add(hash, changes[1].key, changes[1].key_bytes);
        hash = esk_kv_hash_end(kv, hash);
        if (!esk_kv_slot_find(kv, hash, &slot)) {
            esk_kv_slot_set(kv, slot, hash, address, false);
        }
    }
    refused(changes, 2, ESK_E_LIMIT, 1);
}

/// A damaged record may be that of either key.
ESK_TEST(two_keys_with_the_hash_of_a_damaged_record_are_refused) {
    struct esk_kv_change changes[] = {change_of("salt 383", 1),
                                      change_of("salt 404", 2)};
    start(6, 8, 0);
    ESK_CHECK_INT(esk_kv_put(kv, "salt 383", 8, bytes, 400, 0), ESK_OK);
    ESK_CHECK_INT(esk_kv_put(kv, "x", 1, bytes, 400, 0), ESK_OK);
    ESK_CHECK_INT(esk_kv_sync(kv), ESK_OK);
    ESK_CHECK_INT(
        esk_sim_flip_random(sim, esk_ring_page(&kv->log, kv->log.tail), 90),
        ESK_OK);
    kv->frame_at = ESK_KV_NOWHERE;
    refused(changes, 2, ESK_E_CORRUPT, 1);
    ESK_CHECK_INT(esk_kv_change_many(kv, changes, 1, NULL), ESK_OK);
    ESK_CHECK_INT(length_of("salt 383"), 1);
    ESK_CHECK_INT(kv->keys, 2);
}

/// Each read of an open that looks for the end of batches fails once: also
/// those behind copies of a page, whose program only seemed to fail.
ESK_TEST(an_open_whose_reads_fail_among_batches_can_be_repeated) {
    static const struct esk_sim_failures failures = {
        .transfer = {.per_million = 200000}};
    static struct esk_device front;
    const struct esk_kv_config config = {.keys = 100};
    run_make(1, 9);
    esk_sim_failures_set(model.sim, &failures);
    for (unsigned i = 0; i < 200; i++) {
        (void)esk_model_kv_step(&model);
    }
    esk_sim_failures_set(model.sim, NULL);
    ESK_CHECK_INT(esk_model_kv_sync(&model), ESK_OK);
    failing_device_make(&front, model.device);
    bool has_failed = true;
    for (uint32_t read = 1; has_failed; read++) {
        ESK_CONTEXT("read %lu", (unsigned long)read);
        fail_from(read, 3, READ_BROKEN);
        int status = esk_volume_mount(&model.volume, &front, 0, model.arena,
                                      sizeof model.arena);
        if (status == ESK_OK) {
            status = esk_kv_open(&model.kv, &model.volume, "kv", &config);
        }
        has_failed = fail_end();
        ESK_CHECK(status == ESK_OK || (has_failed && status == ESK_E_IO));
        if (has_failed) {
            ESK_CHECK_INT(esk_volume_mount(&model.volume, &front, 0,
                                           model.arena, sizeof model.arena),
                          ESK_OK);
            ESK_CHECK_INT(esk_kv_open(&model.kv, &model.volume, "kv", &config),
                          ESK_OK);
        }
        table_verify();
    }
    esk_model_kv_free(&model);
}

/// The collector finds a batch, of which it can read but a part.
ESK_TEST(the_collector_loses_no_more_of_a_batch_than_is_damaged) {
    struct esk_kv_change changes[] = {change_of("a", 200), change_of("b", 200),
                                      change_of("c", 200)};
    start(6, 8, 0);
    ESK_CHECK_INT(esk_kv_change_many(kv, changes, 3, NULL), ESK_OK);
    ESK_CHECK_INT(esk_kv_sync(kv), ESK_OK);
    ESK_CHECK_INT(
        esk_sim_flip_random(sim, esk_ring_page(&kv->log, kv->log.tail + 1), 90),
        ESK_OK);
    kv->frame_at = ESK_KV_NOWHERE;
    for (unsigned i = 0; i < 300; i++) {
        ESK_CHECK_INT(esk_kv_put(kv, "x", 1, bytes, 100, 0), ESK_OK);
    }
    ESK_CHECK_INT(length_of("a"), 200);
    ESK_CHECK_INT(length_of("b"), -1);
    ESK_CHECK_INT(kv->records_lost, 2);
    ESK_CHECK_INT(reopen(8, 0), ESK_OK);
    ESK_CHECK_INT(length_of("a"), 200);
}

/// A key that is lost while room is made for a batch is a new one.
ESK_TEST(a_batch_may_replace_a_key_that_the_collector_just_lost) {
    struct esk_kv_change changes[] = {change_of("x", 100),
                                      change_of("lost", 50)};
    unsigned lost = 0;
    for (unsigned before = 0; before < 80; before++) {
        start(4, 8, 0);
        ESK_CHECK_INT(esk_kv_put(kv, "lost", 4, bytes, 150, 0), ESK_OK);
        ESK_CHECK_INT(esk_kv_put(kv, "x", 1, bytes, 400, 0), ESK_OK);
        ESK_CHECK_INT(esk_sim_flip_random(sim, esk_ring_page(&kv->log, 0), 90),
                      ESK_OK);
        kv->frame_at = ESK_KV_NOWHERE;
        for (unsigned i = 0; i < before; i++) {
            ESK_CHECK_INT(esk_kv_change_many(kv, changes, 1, NULL), ESK_OK);
        }
        uint32_t lost_before = kv->records_lost;
        ESK_CHECK_INT(esk_kv_change_many(kv, changes, 2, NULL), ESK_OK);
        lost += kv->records_lost - lost_before;
        ESK_CHECK_INT(length_of("lost"), 50);
        ESK_CHECK_INT(length_of("x"), 100);
        ESK_CHECK_INT(kv->keys, 2);
        ESK_CHECK_INT(kv->pending, 2);
    }
    ESK_CHECK(lost > 0);
}

ESK_TEST(a_batch_in_a_table_with_an_index_fits_its_pending_table) {
    static char names[12][8];
    struct esk_kv_change changes[12];
    start(8, 10, 200);
    for (unsigned round = 0; round < 30; round++) {
        for (unsigned i = 0; i < 12; i++) {
            snprintf(names[i], sizeof names[i], "%u", (round * 7 + i) % 190);
            changes[i] = change_of(names[i], round);
        }
        refused(changes, 12, ESK_E_LIMIT, 10);
        ESK_CHECK_INT(esk_kv_change_many(kv, changes, 10, NULL), ESK_OK);
        ESK_CHECK(kv->pending <= kv->pending_max);
        if (round % 3 == 2) {
            ESK_CHECK_INT(esk_kv_sync(kv), ESK_OK);
            ESK_CHECK_INT(reopen(10, 0), ESK_OK);
        }
    }
    struct esk_kv_report report;
    ESK_CHECK_INT(esk_kv_check(kv, &report), ESK_OK);
    ESK_CHECK_INT(report.keys, 190);
}

ESK_TEST_MAIN()
