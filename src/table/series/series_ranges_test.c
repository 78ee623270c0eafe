// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A query's ranges: what a cursor takes of them when it is opened, and how
/// many it can take.
#include "table/series/series.h"

#include "test/harness/fixture.h"

enum { ROWS = 300, ROW_BYTES_MAX = 13 };

/* Column 1 of both tables has key % 100 in it. Its type, its place and its
   index differ. */

static const struct esk_column narrow_columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "level", .type = ESK_TYPE_I16},
};

static const struct esk_column wide_columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "level", .type = ESK_TYPE_U64},
    {.name = "mark", .type = ESK_TYPE_U8},
};

static const struct esk_index_spec by_level = {.column = 1, .bitmap_bits = 16};

static const struct esk_table_spec narrow = {.name = "narrow",
                                             .columns = narrow_columns,
                                             .column_count = 2,
                                             .data_blocks = 12};

static const struct esk_table_spec wide = {.name = "wide",
                                           .columns = wide_columns,
                                           .indexes = &by_level,
                                           .column_count = 3,
                                           .index_count = 1,
                                           .data_blocks = 12,
                                           .index_blocks = 4};

static uint32_t level_of(uint32_t key) {
    return key % 100;
}

/// Appends rows of keys 0 .. ROWS - 1 to the fixture's table.
static void fill(struct esk_fixture *fixture) {
    for (uint32_t key = 0; key < ROWS; key++) {
        uint8_t row[ROW_BYTES_MAX] = {0};
        esk_store_u32(row, key);
        esk_store_u32(row + 4, level_of(key));
        ESK_CHECK_INT(esk_series_append(fixture->series, row), ESK_OK);
    }
}

/// Makes both tables with rows in them; `wide` is the one left open.
static void start(struct esk_fixture *fixture) {
    fixture_start(fixture, &fixture_nor, NULL);
    fixture_create(fixture, &narrow);
    fixture_create(fixture, &wide);
    fixture_open(fixture, "narrow", NULL);
    fill(fixture);
    ESK_CHECK_INT(esk_series_sync(fixture->series), ESK_OK);
    esk_series_close(fixture->series);
    fixture_open(fixture, "wide", NULL);
    fill(fixture);
}

/// The next row's key has to be the next one after `key` with a level from 20
/// to 29.
static uint32_t next_check(struct esk_series *series,
                           struct esk_series_cursor *cursor, uint32_t key) {
    uint8_t row[ROW_BYTES_MAX];
    do {
        key++;
    } while (level_of(key) < 20 || level_of(key) > 29);
    ESK_CHECK_INT(esk_series_cursor_next(series, cursor, row), ESK_OK);
    ESK_CHECK_INT(esk_load_u32(row), key);
    return key;
}

/* One array for both tables: an open that writes into it would not compile
   without a cast, and with one it would stop here. */
static const struct esk_range levels[] = {
    {.column = 1, .has_lo = true, .lo.u = 20},
    {.column = 1, .has_hi = true, .hi.u = 29},
};

ESK_TEST(ranges_are_constant_and_serve_cursors_of_two_tables_at_once) {
    static const struct esk_query query = {.ranges = levels,

                                           .range_count = 2};
    static uint64_t arena[4096 / sizeof(uint64_t)];
    struct esk_fixture fixture;
    struct esk_series *other = NULL;
    struct esk_series_cursor of_wide;
    struct esk_series_cursor of_narrow;
    uint8_t row[ROW_BYTES_MAX];
    start(&fixture);
    ESK_CHECK_INT(esk_series_open(&other, &fixture.volume, "narrow", NULL,
                                  arena, sizeof arena),
                  ESK_OK);
    ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &of_wide, &query),
                  ESK_OK);
    ESK_CHECK_INT(esk_series_cursor_open(other, &of_narrow, &query), ESK_OK);
    uint32_t key = 0;
    for (int i = 0; i < 30; i++) {
        uint32_t before = key;
        key = next_check(fixture.series, &of_wide, before);
        (void)next_check(other, &of_narrow, before);
    }
    ESK_CHECK_INT(key, 229);
    ESK_CHECK_INT(esk_series_cursor_next(fixture.series, &of_wide, row),
                  ESK_END);
    ESK_CHECK_INT(esk_series_cursor_next(other, &of_narrow, row), ESK_END);
    fixture_end(&fixture);
}

ESK_TEST(ranges_and_query_are_not_read_after_the_open) {
    for (int backward = 0; backward < 2; backward++) {
        struct esk_fixture fixture;
        struct esk_series_cursor cursor;
        struct esk_range range = {.column = 1,
                                  .has_lo = true,
                                  .has_hi = true,
                                  .lo.u = 20,
                                  .hi.u = 29};
        struct esk_query query = {
            .backward = backward == 1, .ranges = &range, .range_count = 1};
        uint8_t row[ROW_BYTES_MAX];
        uint32_t rows = 0;
        start(&fixture);
        ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, &query),
                      ESK_OK);
        memset(&range, 0xFF, sizeof range);
        memset(&query, 0xFF, sizeof query);
        while (esk_series_cursor_next(fixture.series, &cursor, row) == ESK_OK) {
            ESK_CHECK(esk_load_u64(row + 4) >= 20);
            ESK_CHECK(esk_load_u64(row + 4) <= 29);
            rows++;
        }
        ESK_CHECK_INT(rows, 30);
        fixture_end(&fixture);
    }
}

ESK_TEST(ranges_are_at_most_as_many_as_a_cursor_has_room_for) {
    enum { MAX = ESK_SERIES_RANGES_MAX };
    struct esk_fixture fixture;
    struct esk_series_cursor cursor;
    struct esk_range ranges[MAX + 1];
    struct esk_query query = {.ranges = ranges, .range_count = MAX};
    uint8_t row[ROW_BYTES_MAX];
    uint32_t rows = 0;
    memset(ranges, 0, sizeof ranges);
    start(&fixture);
    for (uint8_t i = 0; i <= MAX; i++) {
        /* Each leaves out one level more: 0 .. MAX - 1 in the end. */
        ranges[i].column = 1;
        ranges[i].has_lo = true;
        ranges[i].lo.u = i + 1u;
    }
    ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, &query),
                  ESK_OK);
    while (esk_series_cursor_next(fixture.series, &cursor, row) == ESK_OK) {
        ESK_CHECK(esk_load_u64(row + 4) >= MAX);
        rows++;
    }
    ESK_CHECK_INT(rows, ROWS - 3 * MAX);
    query.range_count = MAX + 1;
    ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, &query),
                  ESK_E_LIMIT);
    query.range_count = UINT8_MAX;
    ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, &query),
                  ESK_E_LIMIT);
    fixture_end(&fixture);
}

ESK_TEST_MAIN()
