// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A kv table on media that fail: each read, programs, erases and transfers.
/// What is refused is not stored, what was accepted is there, and the handle
/// works on.
#include "test/harness/esk_test.h"
#include "test/harness/failing_device.h"
#include "test/harness/media.h"
#include "test/harness/model_kv.h"

#include "table/kv/kv.h"

static struct esk_model_kv model;
static struct esk_device front;

enum { BATCH_MAX = 6 };

static const struct esk_model_kv_run runs[] = {
    {"NOR",
     {.geometry = ESK_NOR(20, 8, 256)},
     {.blocks = 12, .keys = 60, .value_max = 200, .key_max = 40}},
    {"NAND",
     {.geometry = ESK_NAND(30, 8, 512)},
     {.blocks = 20, .keys = 60, .value_max = 800, .key_max = 40}},
    {"NAND, batches",
     {.geometry = ESK_NAND(30, 8, 512)},
     {.blocks = 20,
      .keys = 60,
      .value_max = 400,
      .key_max = 40,
      .batch_max = BATCH_MAX}},
    {"bare",
     {.geometry = ESK_NOR(8, 8, 256)},
     {.keys = 40, .value_max = 150, .key_max = 20, .bare = true}},
    {"bare, batches",
     {.geometry = ESK_NOR(8, 8, 256)},
     {.keys = 40,
      .value_max = 100,
      .key_max = 20,
      .batch_max = BATCH_MAX,
      .bare = true}},
    {"card",
     {.geometry = ESK_CARD(20, 8, 512)},
     {.blocks = 10, .keys = 60, .value_max = 600, .key_max = 40}},
    {"index, NOR",
     {.geometry = ESK_NOR(60, 8, 256)},
     {.blocks = 24,
      .keys = 300,
      .value_max = 60,
      .key_max = 20,
      .pending = 130}},
    {"index, NOR, batches",
     {.geometry = ESK_NOR(60, 8, 256)},
     {.blocks = 24,
      .keys = 300,
      .value_max = 60,
      .key_max = 20,
      .batch_max = BATCH_MAX,
      .pending = 130}},
    {"index, NAND",
     {.geometry = ESK_NAND(60, 8, 512)},
     {.blocks = 24,
      .keys = 300,
      .value_max = 150,
      .key_max = 20,
      .pending = 130}},
    {"index, card",
     {.geometry = ESK_CARD(60, 8, 512)},
     {.blocks = 20,
      .keys = 300,
      .value_max = 100,
      .key_max = 20,
      .pending = 130}},
};

enum { RUNS = sizeof runs / sizeof runs[0] };

static void start(unsigned run, uint64_t seed) {
    ESK_CONTEXT("%s, seed %lu", runs[run].name, (unsigned long)seed);
    ESK_CHECK_INT(esk_model_kv_make(&model, &runs[run], seed), ESK_OK);
}

/// The changes that were accepted are there, before and after a reset.
static void table_check(void) {
    ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
    ESK_CHECK_INT(esk_model_kv_sync(&model), ESK_OK);
    ESK_CHECK_HELD(esk_model_kv_recover(&model), model.why);
    ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
}

/// Transfers do not fail while the table is verified; setting failures counts a
/// burst anew.
/// Returns how many calls failed.
static unsigned failures_run(const struct esk_sim_failures *failures,
                             unsigned steps) {
    bool are_transfers = failures->transfer.per_million > 0;
    unsigned failed = 0;
    esk_sim_failures_set(model.sim, failures);
    for (unsigned i = 0; i < steps; i++) {
        int status = esk_model_kv_step(&model);
        ESK_CHECK(status == ESK_OK || status == ESK_E_IO ||
                  status == ESK_E_WORN || status == ESK_FULL);
        failed += status != ESK_OK ? 1 : 0;
        if (status == ESK_E_WORN) {
            break;
        }
        if (i % 50 == 0) {
            if (are_transfers) {
                esk_sim_failures_set(model.sim, NULL);
            }
            ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
            if (are_transfers) {
                esk_sim_failures_set(model.sim, failures);
            }
        }
    }
    esk_sim_failures_set(model.sim, NULL);
    return failed;
}

ESK_TEST(a_kv_table_survives_transfers_that_fail) {
    uint32_t more = 70000 * esk_test_stride(2);
    for (unsigned run = 0; run < RUNS; run++) {
        for (uint32_t rate = 20000; rate <= 300000; rate += more) {
            const struct esk_sim_failures failures = {
                .transfer = {.per_million = rate}};
            start(run, rate);
            unsigned failed = failures_run(&failures, 1500);
            ESK_CHECK(rate < 200000 || failed > 0);
            table_check();
        }
    }
}

ESK_TEST(a_kv_table_survives_programs_that_fail) {
    uint32_t stride = esk_test_stride(3);
    for (unsigned run = 0; run < RUNS; run++) {
        for (uint32_t seed = run % stride; seed < 12; seed += stride) {
            const struct esk_sim_failures failures = {
                .program = {.burst_start = 30 + seed * 9, .burst_length = 1}};
            start(run, seed);
            (void)failures_run(&failures, 900);
            ESK_CHECK_INT(esk_sim_counters(model.sim)->programs_failed, 1);
            table_check();
        }
    }
}

ESK_TEST(a_kv_table_survives_erases_that_fail) {
    uint32_t stride = esk_test_stride(2);
    for (unsigned run = 0; run < RUNS; run++) {
        for (uint32_t seed = run % stride; seed < 6; seed += stride) {
            const struct esk_sim_failures failures = {
                .erase = {.burst_start = 5 + seed, .burst_length = 1}};
            start(run, 50 + seed);
            (void)failures_run(&failures, 900);
            ESK_CHECK_INT(esk_sim_counters(model.sim)->erases_failed, 1);
            table_check();
        }
    }
}

/// A page whose program seemed to fail is followed by a copy, in which a tail
/// mark may come before keys that the page before had, too.
ESK_TEST(an_open_counts_the_keys_of_copied_pages_once) {
    static const struct esk_model_kv_run small = {
        "index",
        {.geometry = ESK_NOR(60, 16, 128)},
        {.blocks = 16,
         .keys = 300,
         .value_max = 60,
         .key_max = 20,
         .pending = 60}};
    for (uint32_t seed = 20; seed < 40; seed += esk_test_stride(4)) {
        const struct esk_sim_failures failures = {
            .transfer = {.per_million = 20000 + seed % 5 * 70000}};
        ESK_CHECK_INT(esk_model_kv_make(&model, &small, seed), ESK_OK);
        for (uint32_t open = 0; open < 4; open++) {
            struct esk_kv_report report;
            ESK_CONTEXT("seed %lu, open %lu", (unsigned long)seed,
                        (unsigned long)open);
            (void)failures_run(&failures, 300);
            ESK_CHECK_INT(esk_model_kv_sync(&model), ESK_OK);
            ESK_CHECK_HELD(esk_model_kv_recover(&model), model.why);
            ESK_CHECK_INT(esk_kv_check(model.kv, &report), ESK_OK);
            ESK_CHECK_INT(report.keys, model.kv->keys);
        }
    }
}

/// Calls whose reads fail one after another.
enum call {
    OPEN,
    GET,
    NEXT,
    CHECK,
    CURSOR,
    SNAPSHOT,
    PUT, ///< from here on calls that change the table
    DELETE,
    BATCH,
    SYNC,
    STEP,
    CALLS
};

/// Puts a key while no read fails. Returns as esk_model_kv_put.
static int put_quietly(uint16_t key) {
    uint32_t read = read_fails;
    read_fails = 0;
    broken_page = ESK_PAGE_NONE;
    int status = esk_model_kv_put(&model, key);
    read_fails = read;
    return status;
}

/// A cursor over all keys: after a read that failed it goes on, and it returns
/// each key once.
static int cursor_run(void) {
    static uint8_t memory[512];
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint8_t key_bytes = 0;
    struct esk_kv_cursor cursor;
    uint32_t found = 0;
    uint32_t corrupt = 0;
    int worst = ESK_OK;
    int status =
        esk_kv_cursor_open(model.kv, &cursor, NULL, memory, sizeof memory);
    for (uint32_t i = 0; i < 3000 && status != ESK_END; i++) {
        status = esk_kv_cursor_next(model.kv, &cursor, key, &key_bytes);
        found += status == ESK_OK ? 1 : 0;
        corrupt += status == ESK_E_CORRUPT ? 1 : 0;
        worst = status < worst ? status : worst;
    }
    ESK_CHECK_INT(status, ESK_END);
    ESK_CHECK(found <= model.kv->keys);
    ESK_CHECK(corrupt > 0 || found == model.kv->keys);
    return worst;
}

/// A snapshot, and a put of one of its keys: it has the value before.
static int snapshot_run(uint16_t key) {
    struct esk_kv_snapshot snapshot;
    struct esk_kv_kept kept[4];
    uint32_t before = model.now[key];
    int status = ESK_OK;
    ESK_CHECK_INT(esk_kv_snapshot_open(model.kv, &snapshot, kept, 4), ESK_OK);
    ESK_CHECK_INT(put_quietly(key), ESK_OK);
    bool is_right =
        esk_model_kv_value_is(&model, &snapshot, key, before, &status);
    ESK_CHECK(is_right || status < 0);
    esk_kv_snapshot_close(&snapshot);
    return status == ESK_E_STALE ? ESK_OK : status;
}

static int call_make(enum call call) {
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint8_t key_bytes = 0;
    uint8_t value[1024];
    uint32_t cursor = 0;
    struct esk_kv_report report;
    uint16_t number = 0;
    if (call == SNAPSHOT || call >= PUT) {
        number = (uint16_t)esk_model_kv_random(&model, model.table.keys);
    }
    switch (call) {
    case OPEN: {
        const struct esk_kv_config config = {.keys = model.table.pending != 0
                                                         ? model.table.pending
                                                         : model.table.keys,
                                             .part = &esk_kv_part_index};
        static const struct esk_kv_bare bare = {.id = 0x6B76};
        if (model.table.bare) {
            return esk_kv_open_bare(&model.kv, &model.volume, &front, 0, &bare,
                                    &config, model.arena, sizeof model.arena);
        }
        ESK_TRY(esk_volume_mount(&model.volume, &front, 0, model.arena,
                                 sizeof model.arena));
        return esk_kv_open(&model.kv, &model.volume, "kv", &config);
    }
    case NEXT:
        return esk_kv_next(model.kv, &cursor, key, &key_bytes);
    case CHECK:
        return esk_kv_check(model.kv, &report);
    case CURSOR:
        return cursor_run();
    case SNAPSHOT:
        return snapshot_run(number);
    case PUT:
        return esk_model_kv_put(&model, number);
    case DELETE:
        return esk_model_kv_delete(&model, number);
    case BATCH:
        return esk_model_kv_batch(&model, BATCH_MAX);
    case SYNC:
        ESK_CHECK_INT(put_quietly(number), ESK_OK);
        return esk_model_kv_sync(&model);
    case STEP:
        ESK_CHECK_INT(put_quietly(number), ESK_OK);
        return esk_volume_step(&model.volume, 4, NULL);
    default:
        break;
    }
    int status = esk_kv_next(model.kv, &cursor, key, &key_bytes);
    return status != ESK_OK ? status
                            : esk_kv_get(model.kv, key, key_bytes, value,
                                         sizeof value, NULL, NULL);
}

/// A table after 700 changes, and its medium.
static struct esk_model_kv filled;
static struct esk_sim *filled_medium;

static void fill(unsigned run) {
    start(run, 7);
    for (unsigned i = 0; i < 700; i++) {
        ESK_CHECK_INT(esk_model_kv_step(&model), ESK_OK);
    }
    ESK_CHECK_INT(esk_model_kv_sync(&model), ESK_OK);
    esk_sim_destroy(filled_medium);
    ESK_CHECK_INT(esk_sim_clone(&filled_medium, model.sim), ESK_OK);
    filled = model;
}

/// Sets the model, which is where it was, to the state that was filled.
static void fill_again(void) {
    esk_sim_restore(model.sim, filled_medium);
    model = filled;
}

static void reads_fail(unsigned run, enum call call, enum read_failure how) {
    /* An open reads the most pages, for many reasons. */
    uint32_t step = call == OPEN ? 2 : esk_test_rounds(3, 1);
    step *= esk_test_stride(2);
    uint32_t most = call == OPEN ? 300 : 120;
    for (uint32_t read = 1 + call % step; read < most; read += step) {
        fill_again();
        failing_device_make(&front, model.device);
        model.device = &front;
        ESK_CHECK_INT(call_make(OPEN), ESK_OK);
        ESK_CONTEXT("%s, call %d, read %lu, how %d", runs[run].name, call,
                    (unsigned long)read, how);
        fail_from(read, 3, how);
        int status = ESK_OK;
        for (unsigned i = 0; i < 40 && reads_failed == 0; i++) {
            status = call_make(call);
            ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND ||
                      status == ESK_E_IO || status == ESK_E_CORRUPT ||
                      (call == PUT && status == ESK_FULL));
        }
        if (!fail_end()) {
            return;
        }
        if (call == OPEN) {
            ESK_CHECK_INT(call_make(OPEN), ESK_OK);
        }
        if (how == READ_BROKEN || call != PUT) {
            ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
        }
    }
}

ESK_TEST(reads_that_fail_in_a_call_lose_nothing) {
    for (unsigned run = 0; run < RUNS; run++) {
        fill(run);
        for (enum call call = 0; call < CALLS; call++) {
            reads_fail(run, call, READ_BROKEN);
        }
    }
}

ESK_TEST(pages_that_cannot_be_read_for_a_while_do_not_end_a_call_badly) {
    for (unsigned run = 0; run < RUNS; run++) {
        fill(run);
        for (enum call call = OPEN + 1; call < PUT; call++) {
            reads_fail(run, call, READ_CORRUPT);
        }
    }
}

/// An open counts again what lives after it has given up keys.
ESK_TEST(a_read_that_fails_while_records_are_counted_is_an_error) {
    fill(1);
    failing_device_make(&front, model.device);
    ESK_CHECK_INT(call_make(OPEN), ESK_OK);
    uint32_t live = model.kv->live;
    fail_from(1, 3, READ_BROKEN);
    ESK_CHECK_INT(esk_kv_live_count(model.kv), ESK_E_IO);
    ESK_CHECK(fail_end());
    ESK_CHECK_INT(esk_kv_live_count(model.kv), ESK_OK);
    ESK_CHECK_INT(model.kv->live, live);
}

ESK_TEST_MAIN()
