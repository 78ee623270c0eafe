// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A run in RAM whose first pages were dropped before their entries were made:
/// the entries said that these pages have no rows. Where an erase keeps the
/// bytes, the next mount found the pages again: a scan returned their rows, and
/// a query by value did not.
#include "table/series/series.h"
#include "test/harness/fixture.h"

enum { ROW = 40, ROUNDS = 60 };

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "value", .type = ESK_TYPE_U32},
    {.name = "pad", .type = ESK_TYPE_BYTES, .bytes = ROW - 8},
};

static const struct esk_index_spec value_index[] = {
    {.column = 1, .bitmap_bits = ESK_BITMAP_NONE}};

static const struct esk_series_spec spec = {.table = {.name = "log",
                                                      .columns = columns,
                                                      .column_count = 3,
                                                      .row_bytes = ROW},
                                            .indexes = value_index,
                                            .index_count = 1,
                                            .data_blocks = 4,
                                            .index_blocks = 3};

static uint32_t rows;

static void append(struct esk_series *series, uint32_t count) {
    for (; count > 0; count--) {
        uint8_t row[ROW] = {0};
        esk_store_u32(row, rows);
        esk_store_u32(row + 4, rows / 10);
        ESK_CHECK_INT(esk_series_append(series, row), ESK_OK);
        rows++;
    }
    ESK_CHECK_INT(esk_series_sync(series), ESK_OK);
}

static uint32_t rows_of(struct esk_series *series,
                        const struct esk_series_query *query) {
    struct esk_series_cursor cursor;
    uint8_t row[ROW];
    uint32_t count = 0;
    ESK_CHECK_INT(esk_series_cursor_open(series, &cursor, query), ESK_OK);
    while (esk_series_cursor_next(series, &cursor, row) == ESK_OK) {
        count++;
    }
    return count;
}

ESK_TEST(a_query_by_value_finds_the_rows_that_a_scan_finds) {
    static const struct esk_geometry media[] = {ESK_CARD(64, 4, 256),
                                                ESK_OVERWRITTEN(64, 8, 256, 1)};
    const struct esk_series_range any = {
        .column = 1, .has_lo = true, .has_hi = true, .hi.u = UINT32_MAX};
    const struct esk_series_query query = {.ranges = &any, .range_count = 1};
    const struct esk_series_config ahead = {.erase_ahead = 2};
    for (uint32_t run = 0; run < sizeof media / sizeof media[0]; run++) {
        struct esk_fixture fixture;
        fixture_start(&fixture, &media[run], NULL);
        fixture_create(&fixture, &spec);
        fixture_open(&fixture, "log", &ahead);
        rows = 0;
        for (uint32_t round = 0; round < ROUNDS; round++) {
            uint16_t done = 0;
            ESK_CONTEXT("medium %u, round %u", (unsigned)run, (unsigned)round);
            append(fixture.series, 13 + round);
            fixture_reboot(&fixture);
            ESK_CHECK_INT(esk_volume_step(&fixture.volume, 2, &done), ESK_OK);
            append(fixture.series, 7 * (1 + round % 24));
            fixture_reboot(&fixture);
            ESK_CHECK_INT(rows_of(fixture.series, &query),
                          rows_of(fixture.series, NULL));
        }
        fixture_end(&fixture);
    }
}

ESK_TEST_MAIN()
