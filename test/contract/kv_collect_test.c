// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The collector of a kv table: power cuts that stop it before it has moved a
/// block, and records that it finds damaged.
#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_kv.h"

#include "table/kv/kv.h"

static struct esk_model_kv model;

static const struct esk_model_kv_run runs[] = {
    {"NOR, 3 blocks",
     {.geometry = ESK_NOR(12, 8, 128)},
     {.blocks = 3, .keys = 200, .value_max = 60, .key_max = 12}},
    {"NAND, 4 blocks",
     {.geometry = ESK_NAND(14, 8, 256)},
     {.blocks = 4, .keys = 200, .value_max = 200, .key_max = 12}},
    {"NOR, 10 blocks",
     {.geometry = ESK_NOR(20, 8, 128)},
     {.blocks = 10, .keys = 300, .value_max = 100, .key_max = 12}},
    {"NAND, 12 blocks",
     {.geometry = ESK_NAND(24, 4, 256)},
     {.blocks = 12, .keys = 300, .value_max = 200, .key_max = 12}},
    {"index, 3 blocks",
     {.geometry = ESK_NOR(40, 8, 128)},
     {.blocks = 3, .keys = 200, .value_max = 60, .key_max = 12, .pending = 40}},
    {"index, 10 blocks",
     {.geometry = ESK_NAND(40, 8, 256)},
     {.blocks = 10,
      .keys = 300,
      .value_max = 400,
      .key_max = 12,
      .pending = 70}},
    /* Slots for a third of a block's records. */
    {"index, few slots",
     {.geometry = ESK_NOR(40, 8, 128)},
     {.blocks = 3, .keys = 200, .value_max = 4, .key_max = 6, .pending = 16}},
    {"NOR, 3 blocks, batches",
     {.geometry = ESK_NOR(12, 8, 128)},
     {.blocks = 3,
      .keys = 200,
      .value_max = 40,
      .key_max = 12,
      .batch_max = 12}},
    {"NAND, 4 blocks, batches",
     {.geometry = ESK_NAND(14, 8, 256)},
     {.blocks = 4,
      .keys = 200,
      .value_max = 100,
      .key_max = 12,
      .batch_max = 12}},
    {"bare",
     {.geometry = ESK_NOR(3, 8, 128)},
     {.keys = 200, .value_max = 60, .key_max = 12, .bare = true}},
};

enum { RUNS = sizeof runs / sizeof runs[0] };

static void run_start(unsigned run, uint64_t seed) {
    ESK_CONTEXT("%s, seed %lu", runs[run].name, (unsigned long)seed);
    ESK_CHECK_INT(esk_model_kv_make(&model, &runs[run], seed), ESK_OK);
}

/// Puts until the table has refused some keys.
static void fill(void) {
    while (model.full < 20) {
        uint16_t key = (uint16_t)esk_model_kv_random(&model, model.table.keys);
        ESK_CHECK_INT(esk_model_kv_put(&model, key), ESK_OK);
        ESK_CHECK_INT(esk_model_kv_sync(&model), ESK_OK);
    }
}

/// Cuts the power in one of the next operations, if there are so many in 1,000
/// steps, and recovers.
static void power_cut(unsigned cut) {
    uint64_t next = esk_sim_op_count(model.sim);
    uint64_t ops = 1 + esk_model_kv_random(&model, 24);
    esk_sim_cut_at(model.sim, next + ops,
                   cut % 2 == 0 ? ESK_SIM_CUT_BEFORE : ESK_SIM_CUT_DRAWN);
    for (unsigned i = 0; i < 1000 && esk_sim_is_on(model.sim); i++) {
        (void)esk_model_kv_step(&model);
    }
    esk_sim_cut_at(model.sim, UINT64_MAX, ESK_SIM_CUT_BEFORE);
    ESK_CHECK_HELD(esk_model_kv_recover(&model), model.why);
}

ESK_TEST(power_cuts_do_not_use_up_the_block_that_the_collector_needs) {
    uint32_t seeds = esk_test_repeats(1, 6);
    uint32_t cuts = esk_test_repeats(120, 300);
    for (unsigned run = 0; run < RUNS; run++) {
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            run_start(run, seed);
            fill();
            for (unsigned cut = 0; cut < cuts; cut++) {
                power_cut(cut);
                for (unsigned i = 0; i < 4; i++) {
                    ESK_CHECK_INT(esk_model_kv_step(&model), ESK_OK);
                }
                /* No cut damages a page. */
                ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
            }
        }
    }
}

/// Copies are taken back by an erase, which fails.
ESK_TEST(copies_that_cannot_be_erased_are_kept) {
    static const struct esk_sim_failures failures = {
        .erase = {.burst_start = 0, .burst_length = 1}};
    for (unsigned run = 0; run < RUNS; run++) {
        for (unsigned cuts = 80; cuts < 84; cuts += esk_test_stride(4)) {
            run_start(run, cuts);
            fill();
            for (unsigned cut = 0; cut < cuts; cut++) {
                power_cut(cut);
                (void)esk_model_kv_step(&model);
            }
            esk_sim_failures_set(model.sim, &failures);
            for (unsigned i = 0; i < 4; i++) {
                int status = esk_model_kv_step(&model);
                ESK_CHECK(status == ESK_OK || status == ESK_E_IO ||
                          status == ESK_E_WORN || status == ESK_FULL);
            }
            esk_sim_failures_set(model.sim, NULL);
            ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
        }
    }
}

/// A record that the collector cannot read costs its key, and nothing else.
ESK_TEST(the_collector_tells_the_keys_that_it_loses) {
    uint32_t lost = 0;
    for (unsigned run = 0; run < RUNS; run++) {
        for (uint64_t seed = 1; seed <= 20; seed++) {
            run_start(run, seed);
            for (unsigned i = 0; i < 300; i++) {
                ESK_CHECK_INT(esk_model_kv_step(&model), ESK_OK);
            }
            ESK_CHECK_INT(esk_model_kv_sync(&model), ESK_OK);
            struct esk_kv *kv = model.kv;
            uint32_t slot = esk_model_kv_random(&model, kv->slot_count);
            while (esk_kv_slot_address(kv, slot) == ESK_KV_NOWHERE) {
                slot = (slot + 1) % kv->slot_count;
            }
            uint32_t position =
                esk_kv_position(kv, esk_kv_slot_address(kv, slot));
            ESK_CHECK_INT(esk_sim_flip_random(
                              model.sim, esk_ring_page(&kv->log, position), 60),
                          ESK_OK);
            kv->frame_at = ESK_KV_NOWHERE;
            bool added[2] = {false, false};
            uint32_t keys = kv->keys;
            for (uint32_t i = 0; i < 1000; i++) {
                uint16_t steps = 2;
                uint32_t key = 1000000 + i % 2; /* not one of the model's */
                int status =
                    esk_kv_put(kv, &key, sizeof key, "", 0, ESK_KV_BYTES);
                ESK_CHECK(status == ESK_OK || status == ESK_FULL);
                added[i % 2] = added[i % 2] || status == ESK_OK;
                ESK_CHECK_INT(esk_kv_sync(kv), ESK_OK);
                ESK_CHECK_INT(esk_volume_step(&model.volume, 2, &steps),
                              ESK_OK);
            }
            struct esk_kv_stats stats;
            struct esk_kv_report report;
            esk_kv_stats(kv, &stats);
            ESK_CHECK_INT(stats.keys + stats.records_lost,
                          keys + added[0] + added[1]);
            lost += stats.records_lost;
            /* The page is collected, or the table has been full ever since. An
               index loses entries in their turn. */
            int status = esk_kv_check(kv, &report);
            ESK_CHECK(status == ESK_OK || stats.records_lost == 0 ||
                      kv->index != NULL);
            ESK_CHECK_INT(report.keys + report.keys_lost, stats.keys);
        }
    }
    ESK_CHECK(lost > 50);
}

/// A block fails while the collector needs it: a delete that is synced stays.
ESK_TEST(deletes_stay_when_the_collector_loses_its_block) {
    static const struct esk_sim_failures failures = {
        .transfer = {.per_million = 300000}};
    uint32_t seeds = esk_test_repeats(10, 40);
    for (unsigned run = 0; run < RUNS; run++) {
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            run_start(run, seed);
            fill();
            for (unsigned i = 0; i < 60; i++) {
                uint16_t key =
                    (uint16_t)esk_model_kv_random(&model, model.table.keys);
                int status = esk_model_kv_random(&model, 2) == 0
                                 ? esk_model_kv_put(&model, key)
                                 : esk_model_kv_delete(&model, key);
                ESK_CHECK(status == ESK_OK || status == ESK_FULL ||
                          status == ESK_E_WORN || status == ESK_E_IO);
                if (status == ESK_OK) {
                    (void)esk_model_kv_sync(&model);
                }
                if (i == 20 + seed % 8) {
                    const struct esk_ring *ring = &model.kv->log;
                    esk_sim_block_fail(
                        model.sim, esk_ring_page(ring, ring->ready) /
                                       runs[run].config.geometry.block_pages);
                }
                if (seed % 2 == 0 && i == 45) {
                    esk_sim_failures_set(model.sim,
                                         &failures); /* erases, too */
                }
            }
            esk_sim_failures_set(model.sim, NULL);
            ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
            ESK_CHECK_HELD(esk_model_kv_recover(&model), model.why);
        }
    }
}

/// Damage where power cuts stopped the collector, too.
ESK_TEST(damage_between_power_cuts_ends_no_call_badly) {
    uint32_t seeds = esk_test_repeats(1, 6);
    uint32_t cuts = esk_test_repeats(50, 100);
    for (unsigned run = 0; run < RUNS; run++) {
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            run_start(run, seed);
            fill();
            for (unsigned cut = 0; cut < cuts; cut++) {
                const struct esk_ring *ring = &model.kv->log;
                esk_page_id page = esk_ring_page(
                    ring, ring->tail + esk_model_kv_random(&model, 8));
                uint64_t next = esk_sim_op_count(model.sim);
                esk_sim_cut_at(model.sim,
                               next + 1 + esk_model_kv_random(&model, 24),
                               ESK_SIM_CUT_DRAWN);
                for (unsigned i = 0; i < 400 && esk_sim_is_on(model.sim); i++) {
                    int status = esk_model_kv_step(&model);
                    model.ops = 0; /* what is lost does not matter here */
                    ESK_CHECK(status == ESK_OK || status == ESK_FULL ||
                              status == ESK_E_CORRUPT || status == ESK_E_IO);
                }
                esk_sim_power_off(model.sim);
                esk_sim_power_on(model.sim);
                if (cut % 8 == 7) {
                    ESK_CHECK_INT(esk_sim_flip_random(model.sim, page, 60),
                                  ESK_OK);
                }
                (void)esk_model_kv_recover(&model);
                ESK_CHECK(model.kv != NULL);
                struct esk_kv_report report;
                int status = esk_kv_check(model.kv, &report);
                ESK_CHECK(status == ESK_OK || status == ESK_E_CORRUPT);
            }
        }
    }
}

ESK_TEST_MAIN()
