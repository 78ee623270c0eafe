// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A query's ranges: what a cursor copies when it is opened, and how many it
/// has room for.
#include "table/series/series.h"

#include <math.h>

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

static const struct esk_series_spec narrow = {
    .table = {.name = "narrow",
              .columns = narrow_columns,
              .column_count = 2,
              .row_bytes = 6},
    .data_blocks = 12};

static const struct esk_series_spec wide = {.table = {.name = "wide",
                                                      .columns = wide_columns,
                                                      .column_count = 3,
                                                      .row_bytes = 13},
                                            .indexes = &by_level,
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

/// Makes both tables with rows in them; `wide` stays open.
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

/// The next row's key must be the next one after `key` with a level from 20 to
/// 29.
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
   without a cast, and with a cast would crash here. */
static const struct esk_series_range levels[] = {
    {.column = 1, .has_lo = true, .lo.u = 20},
    {.column = 1, .has_hi = true, .hi.u = 29},
};

ESK_TEST(ranges_are_constant_and_serve_cursors_of_two_tables_at_once) {
    static const struct esk_series_query query = {.ranges = levels,
                                                  .range_count = 2};
    static uint64_t arena[4096 / sizeof(uint64_t)];
    struct esk_fixture fixture;
    struct esk_series *other = NULL;
    struct esk_series_cursor of_wide;
    struct esk_series_cursor of_narrow;
    uint8_t row[ROW_BYTES_MAX];
    start(&fixture);
    ESK_CHECK_INT(test_series_open(&other, &fixture.volume, "narrow", NULL,
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
        struct esk_series_range range = {.column = 1,
                                         .has_lo = true,
                                         .has_hi = true,
                                         .lo.u = 20,
                                         .hi.u = 29};
        struct esk_series_query query = {
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
    struct esk_series_range ranges[MAX + 1];
    struct esk_series_query query = {.ranges = ranges, .range_count = MAX};
    uint8_t row[ROW_BYTES_MAX];
    uint32_t rows = 0;
    memset(ranges, 0, sizeof ranges);
    start(&fixture);
    for (uint8_t i = 0; i <= MAX; i++) {
        /* Each excludes one level more: 0 .. MAX - 1 in the end. */
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

/* Columns 1 and 2 have the same value: runs of rows longer than a page, so
   that there are pages of each value alone. */

static const struct esk_column float_columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "single", .type = ESK_TYPE_F32},
    {.name = "wide", .type = ESK_TYPE_F64},
};

enum { VALUES = 10, RUN_ROWS = 40, FLOAT_ROWS = VALUES * RUN_ROWS };

static float value_of(uint32_t key) {
    static const float values[VALUES] = {-INFINITY, 0.0f,    -1.5f, NAN,
                                         -0.0f,     1.5f,    -NAN,  1e-44f,
                                         -1e-44f,   INFINITY};
    return values[key / RUN_ROWS % VALUES];
}

/// Appends a row of value_of(key) for each key.
static void floats_fill(struct esk_fixture *fixture) {
    for (uint32_t key = 0; key < FLOAT_ROWS; key++) {
        uint8_t row[16];
        float single = value_of(key);
        double wide_value = (double)single;
        esk_store_u32(row, key);
        memcpy(row + 4, &single, sizeof single);
        memcpy(row + 8, &wide_value, sizeof wide_value);
        ESK_CHECK_INT(esk_series_append(fixture->series, row), ESK_OK);
    }
}

/// A cursor of `query` must return the rows with lo <= value <= hi, as C
/// compares them.
static void floats_check(struct esk_fixture *fixture,
                         const struct esk_series_query *query, float lo,
                         float hi) {
    struct esk_series_cursor cursor;
    uint8_t row[16];
    ESK_CHECK_INT(esk_series_cursor_open(fixture->series, &cursor, query),
                  ESK_OK);
    for (uint32_t i = 0; i < FLOAT_ROWS; i++) {
        uint32_t key = query->backward ? FLOAT_ROWS - 1 - i : i;
        if (value_of(key) >= lo && value_of(key) <= hi) {
            ESK_CHECK_INT(esk_series_cursor_next(fixture->series, &cursor, row),
                          ESK_OK);
            ESK_CHECK_INT(esk_load_u32(row), key);
        }
    }
    ESK_CHECK_INT(esk_series_cursor_next(fixture->series, &cursor, row),
                  ESK_END);
}

/// Queries the rows between each two of the values, in either order.
static void floats_ask(struct esk_fixture *fixture, uint8_t column) {
    for (uint32_t i = 0; i < 2 * VALUES * VALUES; i++) {
        float lo = value_of(i / 2 % VALUES * RUN_ROWS);
        float hi = value_of(i / 2 / VALUES * RUN_ROWS);
        struct esk_series_range range = {
            .column = column, .has_lo = true, .has_hi = true};
        const struct esk_series_query query = {
            .backward = i % 2 != 0, .ranges = &range, .range_count = 1};
        ESK_CONTEXT("column %u, %g to %g, backward %u", column, (double)lo,
                    (double)hi, query.backward);
        if (column == 1) {
            range.lo.f32 = lo;
            range.hi.f32 = hi;
        } else {
            range.lo.f64 = (double)lo;
            range.hi.f64 = (double)hi;
        }
        floats_check(fixture, &query, lo, hi);
    }
}

ESK_TEST(ranges_of_floats_compare_as_C_does) {
    /* No index, zone maps, learned buckets. */
    for (int how = 0; how < 3; how++) {
        const uint8_t bits = how == 2 ? 16 : ESK_BITMAP_NONE;
        const struct esk_index_spec indexes[] = {
            {.column = 1, .bitmap_bits = bits},
            {.column = 2, .bitmap_bits = bits},
        };
        const struct esk_series_spec spec = {.table = {.name = "floats",
                                                       .columns = float_columns,
                                                       .column_count = 3,
                                                       .row_bytes = 16},
                                             .indexes = indexes,
                                             .index_count = how > 0 ? 2 : 0,
                                             .data_blocks = 12,
                                             .index_blocks = how > 0 ? 4 : 0};
        struct esk_fixture fixture;
        fixture_start(&fixture, &fixture_nor, NULL);
        fixture_create(&fixture, &spec);
        fixture_open(&fixture, "floats", NULL);
        floats_fill(&fixture);
        floats_ask(&fixture, 1);
        floats_ask(&fixture, 2);
        fixture_end(&fixture);
    }
}

ESK_TEST(ranges_of_doubles_are_as_well_given_by_their_bits) {
    struct esk_series_range range = {.column = 2, .has_lo = true};
    const struct esk_series_query query = {.ranges = &range, .range_count = 1};
    const struct esk_series_spec spec = {.table = {.name = "floats",
                                                   .columns = float_columns,
                                                   .column_count = 3,
                                                   .row_bytes = 16},
                                         .data_blocks = 12};
    struct esk_fixture fixture;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    fixture_open(&fixture, "floats", NULL);
    floats_fill(&fixture);
    range.lo.f64_bits = UINT64_C(0x3FF8000000000000); /* 1.5 */
    floats_check(&fixture, &query, 1.5f, INFINITY);
    fixture_end(&fixture);
}

enum { LATER_ROWS = 2000, RARE = 47, AHEAD = 2 };

static void rare_append(struct esk_series *series, uint32_t key) {
    uint8_t row[ROW_BYTES_MAX] = {0};
    esk_store_u32(row, key);
    esk_store_u32(row + 4, key % RARE == 0 ? 7 : 200);
    ESK_CHECK_INT(esk_series_append(series, row), ESK_OK);
}

ESK_TEST(a_cursor_by_value_finds_rows_that_come_while_it_is_on_its_way) {
    static const struct esk_series_range rare = {
        .column = 1, .has_lo = true, .lo.u = 7, .has_hi = true, .hi.u = 7};
    static const struct esk_series_query query = {.ranges = &rare,
                                                  .range_count = 1};
    struct esk_series_spec spec = wide;
    struct esk_fixture fixture;
    struct esk_series_cursor cursor;
    uint8_t row[ROW_BYTES_MAX];
    uint32_t key = 0;
    uint32_t found = 0;
    spec.run_pages = 2;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    fixture_open(&fixture, "wide", NULL);
    for (; key < AHEAD * RARE; key++) {
        rare_append(fixture.series, key);
    }
    ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, &query),
                  ESK_OK);
    /* It stays behind the head, in runs whose group is not complete. */
    for (; key < LATER_ROWS; key++) {
        if (key % RARE == 0) {
            ESK_CHECK_INT(esk_series_cursor_next(fixture.series, &cursor, row),
                          ESK_OK);
            ESK_CHECK_INT(esk_load_u32(row), found);
            found += RARE;
        }
        rare_append(fixture.series, key);
    }
    while (esk_series_cursor_next(fixture.series, &cursor, row) == ESK_OK) {
        ESK_CHECK_INT(esk_load_u32(row), found);
        found += RARE;
    }
    ESK_CHECK_INT(found, (LATER_ROWS + RARE - 1) / RARE * RARE);
    fixture_end(&fixture);
}

ESK_TEST_MAIN()
