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

static const struct esk_model_kv_run runs[] = {
    {"NOR",
     {.geometry = ESK_NOR(20, 8, 256)},
     {.blocks = 12, .keys = 60, .value_max = 200, .key_max = 40}},
    {"NAND",
     {.geometry = ESK_NAND(30, 8, 512)},
     {.blocks = 20, .keys = 60, .value_max = 800, .key_max = 40}},
    {"bare",
     {.geometry = ESK_NOR(8, 8, 256)},
     {.keys = 40, .value_max = 150, .key_max = 20, .bare = true}},
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

static void failures_run(const struct esk_sim_failures *failures,
                         unsigned steps) {
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
            esk_sim_failures_set(model.sim, NULL);
            ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
            esk_sim_failures_set(model.sim, failures);
        }
    }
    esk_sim_failures_set(model.sim, NULL);
    ESK_CHECK(failures->transfer.per_million < 300000 || failed > 0);
}

ESK_TEST(a_kv_table_survives_transfers_that_fail) {
    for (unsigned run = 0; run < RUNS; run++) {
        for (uint32_t rate = 20000; rate <= 300000; rate += 70000) {
            const struct esk_sim_failures failures = {
                .transfer = {.per_million = rate}};
            start(run, rate);
            failures_run(&failures, 1500);
            table_check();
        }
    }
}

ESK_TEST(a_kv_table_survives_programs_that_fail) {
    for (unsigned run = 0; run < RUNS; run++) {
        for (uint32_t seed = 0; seed < 12; seed++) {
            const struct esk_sim_failures failures = {
                .program = {.burst_start = 100 + seed * 9, .burst_length = 1}};
            start(run, seed);
            failures_run(&failures, 900);
            table_check();
        }
    }
}

ESK_TEST(a_kv_table_survives_erases_that_fail) {
    for (unsigned run = 0; run < RUNS; run++) {
        for (uint32_t seed = 0; seed < 6; seed++) {
            const struct esk_sim_failures failures = {
                .erase = {.burst_start = 5 + seed, .burst_length = 1}};
            start(run, 50 + seed);
            failures_run(&failures, 900);
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
    for (uint32_t seed = 20; seed < 40; seed++) {
        const struct esk_sim_failures failures = {
            .transfer = {.per_million = 20000 + seed % 5 * 70000}};
        ESK_CHECK_INT(esk_model_kv_make(&model, &small, seed), ESK_OK);
        for (uint32_t open = 0; open < 4; open++) {
            struct esk_kv_report report;
            ESK_CONTEXT("seed %lu, open %lu", (unsigned long)seed,
                        (unsigned long)open);
            failures_run(&failures, 300);
            ESK_CHECK_INT(esk_model_kv_sync(&model), ESK_OK);
            ESK_CHECK_HELD(esk_model_kv_recover(&model), model.why);
            ESK_CHECK_INT(esk_kv_check(model.kv, &report), ESK_OK);
            ESK_CHECK_INT(report.keys, model.kv->keys);
        }
    }
}

/// Calls whose reads fail one after another.
enum call { OPEN, GET, PUT, DELETE, NEXT, CHECK, CALLS };

static int call_make(enum call call) {
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint8_t key_bytes = 0;
    uint8_t value[1024];
    uint32_t cursor = 0;
    struct esk_kv_report report;
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
    default:
        break;
    }
    uint16_t number = (uint16_t)esk_model_kv_random(&model, model.table.keys);
    if (call == PUT) {
        int status = esk_model_kv_put(&model, number);
        return status;
    }
    if (call == DELETE) {
        return esk_model_kv_delete(&model, number);
    }
    int status = esk_kv_next(model.kv, &cursor, key, &key_bytes);
    return status != ESK_OK ? status
                            : esk_kv_get(model.kv, key, key_bytes, value,
                                         sizeof value, NULL, NULL);
}

static void reads_fail(unsigned run, enum call call, enum read_failure how) {
    uint32_t step = esk_test_rounds(3, 1);
    for (uint32_t read = 1 + call % step; read < 120; read += step) {
        start(run, 7);
        for (unsigned i = 0; i < 700; i++) {
            ESK_CHECK_INT(esk_model_kv_step(&model), ESK_OK);
        }
        ESK_CHECK_INT(esk_model_kv_sync(&model), ESK_OK);
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
        for (enum call call = 0; call < CALLS; call++) {
            reads_fail(run, call, READ_BROKEN);
        }
    }
}

ESK_TEST(pages_that_cannot_be_read_for_a_while_do_not_end_a_call_badly) {
    for (enum call call = 0; call < CALLS; call++) {
        if (call != OPEN && call != PUT && call != DELETE) {
            for (unsigned run = 0; run < RUNS; run++) {
                reads_fail(run, call, READ_CORRUPT);
            }
        }
    }
}

/// An open counts again what lives after it has given up keys.
ESK_TEST(a_read_that_fails_while_records_are_counted_is_an_error) {
    start(1, 7);
    for (unsigned i = 0; i < 700; i++) {
        ESK_CHECK_INT(esk_model_kv_step(&model), ESK_OK);
    }
    ESK_CHECK_INT(esk_model_kv_sync(&model), ESK_OK);
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
