// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// After a reopen more bytes of key index cost more reads: with 8 KB the nodes
/// of old keys had no node above them, and an open followed 64 of them back; a
/// get of an older key was a binary search.
#include "table/series/series.h"

#include "test/harness/fixture.h"
#include "test/harness/media.h"

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "level", .type = ESK_TYPE_U64},
};

static const struct esk_series_spec spec = {.table = {.name = "log",
                                                      .columns = columns,
                                                      .column_count = 2,
                                                      .row_bytes = 12},
                                            .data_blocks = 1000};

static const struct esk_geometry medium = ESK_NOR(1400, 16, 256);

enum { ROW_BYTES = 12, ROWS = 300000, GETS = 3000 };

/// Keys in bursts: steps of 1, with gaps of any length between.
static uint32_t key_next(uint32_t key, uint32_t *random) {
    *random = *random * 1664525u + 1013904223u;
    uint32_t draw = *random >> 8;
    return key + (draw % 200 == 0 ? 1 + (draw >> 4) % 9000 : 1);
}

static uint32_t keys[ROWS];

/// Mean page reads a get, in hundredths.
static uint32_t reads_a_get(struct esk_fixture *fixture) {
    struct esk_series_stats before;
    struct esk_series_stats after;
    uint8_t row[ROW_BYTES];
    uint32_t random = 7;
    esk_series_stats(fixture->series, &before);
    for (uint32_t i = 0; i < GETS; i++) {
        random = random * 1664525u + 1013904223u;
        uint32_t key = keys[(random >> 8) % ROWS];
        ESK_CHECK_INT(esk_series_get(fixture->series, key, row), ESK_OK);
        ESK_CHECK_INT(esk_load_u32(row), key);
    }
    esk_series_stats(fixture->series, &after);
    return (after.page_reads - before.page_reads) * 100 / GETS;
}

ESK_TEST(series_reopened_with_more_key_index_reads_no_more_pages) {
    static const uint16_t bytes[] = {256, 1024, 2560, 8192, 32768};
    uint32_t less = UINT32_MAX;
    for (uint32_t b = 0; b < sizeof bytes / sizeof bytes[0]; b++) {
        const struct esk_series_config config = {.key_index_bytes = bytes[b]};
        struct esk_fixture fixture;
        uint32_t random = 1;
        uint32_t key = 0;
        fixture_start(&fixture, &medium, NULL);
        fixture_create(&fixture, &spec);
        fixture_open(&fixture, "log", &config);
        for (uint32_t i = 0; i < ROWS; i++) {
            uint8_t row[ROW_BYTES] = {0};
            key = key_next(key, &random);
            keys[i] = key;
            esk_store_u32(row, key);
            ESK_CHECK_INT(esk_series_append(fixture.series, row), ESK_OK);
        }
        ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
        uint32_t before = reads_a_get(&fixture);
        fixture_reboot(&fixture);
        struct esk_series_stats stats;
        esk_series_stats(fixture.series, &stats);
        uint32_t open = stats.page_reads;
        uint32_t after = reads_a_get(&fixture);
        printf("    %5u bytes: %u.%02u reads a get, %u.%02u after an open of "
               "%u reads\n",
               bytes[b], before / 100, before % 100, after / 100, after % 100,
               open);
        ESK_CONTEXT("%u bytes", bytes[b]);
        ESK_CHECK(after <= before + 100);
        ESK_CHECK(after <= less);
        less = after;
        fixture_end(&fixture);
    }
}

ESK_TEST_MAIN()
