// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The last page of a block failed, and was written as the first one of the
/// next: so a record went over from block to block, which no record does
/// otherwise. In a small kv table the collector then took the rest of that
/// block for too short, skipped it, ran out of room, and took its copies back:
/// the block was erased, and so was the end of a copy that began in the block
/// before. Its key was lost, or had bytes of a later record as its value.
#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_kv.h"

static struct esk_model_kv model;

enum { SEEDS = 60, STEPS = 1200 };

static const struct esk_model_kv_run runs[] = {
    {"NOR",
     {.geometry = ESK_NOR(16, 8, 512)},
     {.blocks = 3, .keys = 240, .value_max = 16, .key_max = 12}},
    {"NOR, index",
     {.geometry = ESK_NOR(40, 16, 128)},
     {.blocks = 4, .keys = 97, .value_max = 60, .key_max = 12, .pending = 90}},
    {"card, bare",
     {.geometry = ESK_CARD(4, 16, 256)},
     {.keys = 100, .value_max = 100, .key_max = 12, .bare = true}},
};

ESK_TEST(a_small_kv_table_keeps_records_that_go_over_into_the_next_block) {
    for (unsigned run = 0; run < sizeof runs / sizeof *runs; run++) {
        for (uint32_t seed = 1; seed <= SEEDS; seed++) {
            const struct esk_sim_failures failures = {
                .transfer = {.per_million = 5000 + seed % 8 * 7000}};
            ESK_CONTEXT("%s, seed %u", runs[run].name, (unsigned)seed);
            ESK_CHECK_INT(esk_model_kv_make(&model, &runs[run], seed), ESK_OK);
            for (uint32_t i = 0; i < STEPS; i++) {
                esk_sim_failures_set(model.sim, &failures);
                int status = esk_model_kv_step(&model);
                ESK_CHECK(status == ESK_OK || status == ESK_E_IO);
                esk_sim_failures_set(model.sim, NULL);
                if (i % 100 == 99) {
                    ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
                }
            }
            ESK_CHECK_INT(esk_model_kv_sync(&model), ESK_OK);
            ESK_CHECK_HELD(esk_model_kv_recover(&model), model.why);
            ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
        }
    }
    esk_model_kv_free(&model);
}

ESK_TEST_MAIN()
