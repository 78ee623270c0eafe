// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A file or an EEPROM whose erase does nothing, and that programs parts of a
/// page. A sealed page began with what the medium had there before:
///
///  - Bytes of something else in the place of the closing part: the page looked
///    like no page, and a mount did not find its synced rows and keys.
///  - A closing part of a lap ago, or seals: without checksums they were valid,
///    and rows of a lap ago were returned.
///  - The bytes behind the last seal: the newest page was reported as damaged.
///    A page that was completed only up to its last row was not valid.
#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_kv.h"
#include "test/harness/model_series.h"

enum { ROUNDS = 60, ROWS_MAX = 40, CHANGES = 20 };

static const struct kept {
    const char *name;
    uint16_t unit;
    uint8_t checksum;
    bool dirty; ///< the medium starts with garbage, else with erased bytes
} kept[] = {
    {"unit 1", 1, ESK_CHECKSUM_CRC32C, false},
    {"unit 2", 2, ESK_CHECKSUM_CRC32C, false},
    {"unit 4", 4, ESK_CHECKSUM_CRC32C, false},
    {"unit 8", 8, ESK_CHECKSUM_CRC32C, false},
    {"garbage", 1, ESK_CHECKSUM_CRC32C, true},
    {"garbage, CRC-16", 1, ESK_CHECKSUM_CRC16, true},
    {"no checksum", 1, ESK_CHECKSUM_NONE, false},
    {"garbage, no checksum", 4, ESK_CHECKSUM_NONE, true},
};

enum { KEPT = sizeof kept / sizeof kept[0] };

static struct esk_sim_config medium(const struct kept *on, uint32_t blocks,
                                    uint16_t page_bytes) {
    return (struct esk_sim_config){
        .geometry = ESK_OVERWRITTEN(blocks, 8, page_bytes, on->unit),
        .erase_keeps = true,
        .dirty = on->dirty,
        .seed = (uint64_t)(on - kept)};
}

/// Fills the rings several times, now and then with a sync, and mounts again
/// after each round.
static void laps_make(struct esk_model_series *model) {
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct esk_series_stats stats;
        for (uint32_t i = esk_model_series_random(model, ROWS_MAX); i > 0;
             i--) {
            ESK_CHECK_INT(esk_model_series_append(model), ESK_OK);
            if (esk_model_series_random(model, 5) == 0) {
                ESK_CHECK_INT(esk_model_series_sync(model), ESK_OK);
            }
        }
        ESK_CHECK_INT(esk_model_series_sync(model), ESK_OK);
        esk_model_series_crash(model);
        ESK_CHECK_INT(esk_model_series_recover(model), ESK_OK);
        ESK_CHECK_HELD(esk_model_series_verify(model, true), model->why);
        esk_series_stats(model->series, &stats);
        ESK_CHECK_INT(stats.newest_unread, 0);
    }
    ESK_CHECK(model->expected->laps >= 2);
}

ESK_TEST(sealed_pages_have_their_rows_where_an_erase_keeps_the_bytes) {
    for (uint32_t i = 0; i < 2 * KEPT; i++) {
        const struct kept *on = &kept[i / 2];
        struct esk_model_series model;
        struct esk_model_series_table table = {.has_var = i % 2 == 1,
                                               .pad_bytes = 36,
                                               .value_bytes = 40,
                                               .index_count = 1,
                                               .checksum = on->checksum,
                                               .data_blocks = 4,
                                               .index_blocks = 2,
                                               .var_blocks = 6};
        struct esk_sim_config file = medium(on, 40, 256);
        ESK_CONTEXT("%s, %s", on->name, table.has_var ? "values" : "rows");
        ESK_CHECK_INT(esk_model_series_make(&model, &table, &file, i), ESK_OK);
        laps_make(&model);
        ESK_CHECK_TEXT(esk_sim_violation(model.sim), "");
        esk_model_series_free(&model);
    }
}

ESK_TEST(sealed_pages_have_their_keys_where_an_erase_keeps_the_bytes) {
    for (uint32_t i = 0; i < KEPT; i++) {
        static struct esk_model_kv model;
        struct esk_model_kv_run run = {.config = medium(&kept[i], 16, 128),
                                       .table = {.blocks = 6,
                                                 .keys = 20,
                                                 .value_max = 60,
                                                 .key_max = 8,
                                                 .sync_one_in = 2,
                                                 .checksum = kept[i].checksum}};
        ESK_CONTEXT("%s", kept[i].name);
        ESK_CHECK_INT(esk_model_kv_make(&model, &run, i), ESK_OK);
        for (uint32_t round = 0; round < ROUNDS; round++) {
            struct esk_kv_stats stats;
            for (uint32_t change = 0; change < CHANGES; change++) {
                ESK_CHECK_INT(esk_model_kv_step(&model), ESK_OK);
            }
            ESK_CHECK_INT(esk_model_kv_sync(&model), ESK_OK);
            ESK_CHECK_HELD(esk_model_kv_recover(&model), model.why);
            ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
            esk_kv_stats(model.kv, &stats);
            /* Garbage in the next block may have been the newest pages. */
            ESK_CHECK(stats.newest_unread == 0 || kept[i].dirty);
        }
        ESK_CHECK_TEXT(esk_sim_violation(model.sim), "");
        esk_model_kv_free(&model);
    }
}

ESK_TEST_MAIN()
