// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The kv table: what a program sees, on every kind of medium.
#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_kv.h"

static struct esk_model_kv model;

/// Media, and tables that fill them several times over.
static const struct esk_model_kv_run runs[] = {
    {"NOR, 4 blocks",
     {.geometry = ESK_NOR(12, 16, 256)},
     {.blocks = 4, .keys = 60, .value_max = 200, .key_max = 16}},
    {"NOR, 3 blocks",
     {.geometry = ESK_NOR(12, 16, 256)},
     {.blocks = 3, .keys = 60, .value_max = 100, .key_max = 12}},
    {"NOR, pages of 128",
     {.geometry = ESK_NOR(16, 8, 128)},
     {.blocks = 8, .keys = 40, .value_max = 150, .key_max = 60}},
    {"words of 8",
     {.geometry = ESK_FLASH(16, 8, 256, 8, 0)},
     {.blocks = 8, .keys = 60, .value_max = 150, .key_max = 30}},
    {"words of 16 with ECC",
     {.geometry = ESK_FLASH(16, 8, 512, 16, 1)},
     {.blocks = 6, .keys = 60, .value_max = 150, .key_max = 30}},
    {"NAND",
     {.geometry = ESK_NAND(24, 8, 512)},
     {.blocks = 12, .keys = 100, .value_max = 900, .key_max = 253}},
    {"NAND with bad blocks",
     {.geometry = ESK_NAND(40, 8, 512), .bad_blocks = 4},
     {.blocks = 24, .keys = 100, .value_max = 900, .key_max = 30}},
    {"card",
     {.geometry = ESK_CARD(24, 8, 512)},
     {.blocks = 12, .keys = 100, .value_max = 1500, .key_max = 30}},
    {"card that caches",
     {.geometry = ESK_CARD(24, 8, 512),
      .cache_programs = 24,
      .erase_keeps = true},
     {.blocks = 12, .keys = 100, .value_max = 400, .key_max = 30}},
    {"EEPROM",
     {.geometry = ESK_OVERWRITTEN(16, 8, 128, 1)},
     {.blocks = 8, .keys = 60, .value_max = 60, .key_max = 12}},
    {"EEPROM with old bytes",
     {.geometry = ESK_OVERWRITTEN(16, 8, 128, 1), .erase_keeps = true},
     {.blocks = 8, .keys = 60, .value_max = 60, .key_max = 12}},
    {"long values",
     {.geometry = ESK_NOR(20, 16, 256)},
     {.blocks = 12, .keys = 60, .value_max = 3700, .key_max = 16}},
    {"long values, NAND",
     {.geometry = ESK_NAND(24, 8, 512)},
     {.blocks = 6, .keys = 60, .value_max = 3600, .key_max = 16}},
    {"many keys",
     {.geometry = ESK_NOR(64, 16, 256)},
     {.blocks = 48, .keys = 512, .value_max = 100, .key_max = 20}},
    {"wide hashes",
     {.geometry = ESK_NOR(140, 16, 256)},
     {.blocks = 128, .keys = 512, .value_max = 1000, .key_max = 20}},
    {"a page a block",
     {.geometry = ESK_NAND(60, 1, 512)},
     {.blocks = 40, .keys = 40, .value_max = 300, .key_max = 20}},
    {"bare, 3 sectors",
     {.geometry = ESK_NOR(3, 16, 256)},
     {.keys = 50, .value_max = 60, .key_max = 12, .bare = true}},
    {"bare, 4 sectors, pages of 128",
     {.geometry = ESK_NOR(4, 32, 128)},
     {.keys = 60, .value_max = 200, .key_max = 16, .bare = true}},
    {"bare, words of 16 with ECC",
     {.geometry = ESK_FLASH(4, 8, 512, 16, 1)},
     {.keys = 60, .value_max = 100, .key_max = 16, .bare = true}},
    {"bare, 20 blocks",
     {.geometry = ESK_NOR(20, 8, 256)},
     {.keys = 100, .value_max = 300, .key_max = 40, .bare = true}},
    {"bare, EEPROM",
     {.geometry = ESK_OVERWRITTEN(4, 8, 128, 1), .erase_keeps = true},
     {.keys = 20, .value_max = 30, .key_max = 8, .bare = true}},
    {"bare, a page a block",
     {.geometry = ESK_NAND(30, 1, 512)},
     {.keys = 40, .value_max = 300, .key_max = 20, .bare = true}},
    {"index, NOR",
     {.geometry = ESK_NOR(60, 16, 256)},
     {.blocks = 40,
      .keys = 1000,
      .value_max = 100,
      .key_max = 16,
      .pending = 200}},
    {"index, pages of 128, few pending",
     {.geometry = ESK_NOR(80, 16, 128)},
     {.blocks = 30,
      .keys = 500,
      .value_max = 60,
      .key_max = 12,
      .pending = 30}},
    {"index, short replays",
     {.geometry = ESK_NOR(60, 16, 256)},
     {.blocks = 30,
      .keys = 800,
      .value_max = 60,
      .key_max = 16,
      .pending = 300,
      .replay_pages = 60}},
    {"index, NAND with bad blocks",
     {.geometry = ESK_NAND(60, 8, 512), .bad_blocks = 4},
     {.blocks = 30,
      .keys = 600,
      .value_max = 200,
      .key_max = 30,
      .pending = 150}},
    {"index, card that caches",
     {.geometry = ESK_CARD(60, 8, 512),
      .cache_programs = 24,
      .erase_keeps = true},
     {.blocks = 30,
      .keys = 600,
      .value_max = 200,
      .key_max = 30,
      .pending = 150}},
    {"index, words of 16 with ECC",
     {.geometry = ESK_FLASH(60, 8, 512, 16, 1)},
     {.blocks = 30,
      .keys = 600,
      .value_max = 150,
      .key_max = 30,
      .pending = 130}},
    {"index, one leaf",
     {.geometry = ESK_NOR(30, 16, 256)},
     {.blocks = 8, .keys = 30, .value_max = 100, .key_max = 16, .pending = 20}},
    {"CRC-16",
     {.geometry = ESK_NOR(12, 16, 256)},
     {.blocks = 4,
      .keys = 60,
      .value_max = 100,
      .key_max = 16,
      .checksum = ESK_CHECKSUM_CRC16}},
};

enum { RUNS = sizeof runs / sizeof runs[0] };

static void run_make(unsigned run, uint64_t seed) {
    ESK_CONTEXT("%s, seed %lu", runs[run].name, (unsigned long)seed);
    ESK_CHECK_INT(esk_model_kv_make(&model, &runs[run], seed), ESK_OK);
}

ESK_TEST(a_kv_table_returns_what_was_put) {
    for (unsigned run = 0; run < RUNS; run++) {
        run_make(run, run + 1);
        for (unsigned i = 0; i < 6000; i++) {
            int status = esk_model_kv_step(&model);
            ESK_CHECK_INT(status, ESK_OK);
            if (i % 500 == 0) {
                ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
            }
            if (i % 1500 == 1499) {
                esk_kv_close(model.kv);
                memcpy(model.synced, model.now, sizeof model.synced);
                model.ops = 0;
                ESK_CHECK_INT(esk_volume_unmount(&model.volume), ESK_OK);
                ESK_CHECK_HELD(esk_model_kv_recover(&model), model.why);
                ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
            }
        }
        struct esk_kv_stats stats;
        esk_kv_stats(model.kv, &stats);
        ESK_CHECK_INT(stats.records_lost, 0);
        ESK_CHECK_INT(stats.pages_lost, 0);
        ESK_CHECK_TEXT(esk_sim_violation(model.sim), "");
        esk_model_kv_free(&model);
    }
}

ESK_TEST(a_kv_table_has_what_was_synced_after_every_power_cut) {
    unsigned cuts = esk_test_draws(30, 600);
    const char *given = getenv("ESK_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : 100;
    for (unsigned run = 0; run < RUNS; run++) {
        run_make(run, seed + run);
        for (unsigned i = 0; i < 400; i++) {
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
            ESK_CHECK_HELD(esk_model_kv_recover(&model), model.why);
        }
        ESK_CHECK_TEXT(esk_sim_violation(model.sim), "");
        esk_model_kv_free(&model);
    }
}

ESK_TEST_MAIN()
