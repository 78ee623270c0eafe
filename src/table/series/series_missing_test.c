// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Missing values: what the catalog stores of them, and that no range has them.
#include "base/crc.h"
#include "table/series/series.h"
#include "volume/volume.h"
#include "volume/volume_format.h"

#include "test/harness/fixture.h"
#include "test/harness/forge.h"

enum { ROWS = 600, ROW_BYTES = 17, COLUMNS = 6 };

static const uint8_t minus_990[] = {0x22, 0xFC};     /* i16 */
static const uint8_t most[] = {0xFF};                /* u8 */
static const uint8_t minus_1[] = {0, 0, 0x80, 0xBF}; /* f32 */
static const uint8_t nothing[] = {0, 0, 0, 0};       /* i32 */

static const struct esk_column columns[COLUMNS] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "level", .type = ESK_TYPE_I16, .missing = minus_990},
    {.name = "gate", .type = ESK_TYPE_U8, .missing = most},
    {.name = "heat", .unit = "K", .type = ESK_TYPE_F32, .missing = minus_1},
    {.name = "load", .type = ESK_TYPE_I32, .missing = nothing},
    {.name = "x", .type = ESK_TYPE_I16},
};

/* level and heat have an index. */
static const struct esk_index_spec indexes[] = {
    {.column = 1, .bitmap_bits = 8},
    {.column = 3, .bitmap_bits = ESK_BITMAP_NONE}};

static const struct esk_series_spec spec = {
    .table = {.name = "log",
              .columns = columns,
              .column_count = COLUMNS,
              .row_bytes = ROW_BYTES},
    .indexes = indexes,
    .index_count = 2,
    .run_pages = 4,
    .data_blocks = 12,
    .index_blocks = 6,
};

static void row_make(uint32_t number, uint8_t *row) {
    float heat = number % 4 == 0 ? -1.0f : (float)number - 50.0f;
    esk_store_u32(row, number);
    esk_store_u16(row + 4,
                  (uint16_t)(number % 5 == 0 ? -990 : (int)number - 300));
    row[6] = (uint8_t)(number % 3 == 0 ? 255 : number % 250);
    memcpy(row + 7, &heat, 4);
    esk_store_u32(row + 11, number % 7 == 0 ? 0 : number - 300);
    esk_store_u16(row + 15, (uint16_t)number);
}

static void start(struct esk_fixture *fixture) {
    uint8_t row[ROW_BYTES];
    fixture_start(fixture, &fixture_nor, NULL);
    fixture_create(fixture, &spec);
    fixture_open(fixture, "log", NULL);
    for (uint32_t i = 0; i < ROWS; i++) {
        row_make(i, row);
        ESK_CHECK_INT(esk_series_append(fixture->series, row), ESK_OK);
    }
}

/// Whether a row is in a range of column `column` by the rules of a number.
static bool is_wanted(const uint8_t *row,
                      const struct esk_series_range *range) {
    int64_t value = 0;
    float heat = 0;
    switch (range->column) {
    case 1:
        value = esk_load_i16(row + 4);
        return value != -990 && (!range->has_lo || value >= range->lo.i) &&
               (!range->has_hi || value <= range->hi.i);
    case 2:
        value = row[6];
        return value != 255 && (!range->has_lo || value >= range->lo.i) &&
               (!range->has_hi || value <= range->hi.i);
    case 3:
        heat = esk_load_f32(row + 7);
        return heat != -1.0f && (!range->has_lo || heat >= range->lo.f32) &&
               (!range->has_hi || heat <= range->hi.f32);
    default:
        value = esk_load_i32(row + 11);
        return value != 0 && (!range->has_lo || value >= range->lo.i) &&
               (!range->has_hi || value <= range->hi.i);
    }
}

static void query_check(struct esk_fixture *fixture,
                        const struct esk_series_query *query) {
    struct esk_series_cursor cursor;
    uint8_t row[ROW_BYTES];
    uint8_t found[ROW_BYTES];
    uint32_t wanted = 0;
    uint32_t count = 0;
    ESK_CHECK_INT(esk_series_cursor_open(fixture->series, &cursor, query),
                  ESK_OK);
    for (uint32_t i = 0; i < ROWS; i++) {
        row_make(query->backward ? ROWS - 1 - i : i, row);
        if (is_wanted(row, query->ranges)) {
            ESK_CHECK_INT(
                esk_series_cursor_next(fixture->series, &cursor, found),
                ESK_OK);
            ESK_CHECK_BYTES(found, row, ROW_BYTES);
            wanted++;
        }
    }
    ESK_CHECK_INT(esk_series_cursor_next(fixture->series, &cursor, found),
                  ESK_END);
    if (!query->backward) {
        ESK_CHECK_INT(esk_series_cursor_open(fixture->series, &cursor, query),
                      ESK_OK);
        ESK_CHECK_INT(esk_series_cursor_count(fixture->series, &cursor, &count),
                      ESK_OK);
        ESK_CHECK_INT(count, wanted);
    }
}

ESK_TEST(series_range_never_has_a_missing_value) {
    static const int bounds[] = {-1000, -990, -400, -1, 0, 1, 100, 255, 900};
    struct esk_fixture fixture;
    start(&fixture);
    for (unsigned i = 0; i < 4 * 9 * 9 * 4; i++) {
        struct esk_series_range range = {.column = (uint8_t)(1 + i % 4),
                                         .has_lo = i / 324 % 2 == 0,
                                         .has_hi = i / 648 == 0};
        struct esk_series_query query = {
            .ranges = &range, .range_count = 1, .backward = i % 5 == 0};
        int lo = bounds[i / 4 % 9];
        int hi = bounds[i / 36 % 9];
        bool is_unsigned = range.column == 2;
        ESK_CONTEXT("query %u: column %u, %d to %d", i, range.column, lo, hi);
        range.lo.i = is_unsigned && lo < 0 ? 0 : lo;
        range.hi.i = is_unsigned && hi < 0 ? 0 : hi;
        if (range.column == 3) {
            range.lo.f32 = (float)lo;
            range.hi.f32 = (float)hi;
        }
        query_check(&fixture, &query);
        if (i == 700) {
            ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
            fixture_reboot(&fixture);
        }
    }
    fixture_end(&fixture);
}

static void column_of(struct esk_fixture *fixture, uint8_t number,
                      struct esk_column_info *column) {
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&fixture->volume, "log", &info), ESK_OK);
    ESK_CHECK_INT(esk_volume_column(&fixture->volume, &info, number, column),
                  ESK_OK);
}

ESK_TEST(catalog_gives_back_missing_values) {
    struct esk_fixture fixture;
    struct esk_column_info column;
    start(&fixture);
    for (uint8_t i = 0; i < COLUMNS; i++) {
        uint8_t expected[ESK_MISSING_BYTES_MAX] = {0};
        ESK_CONTEXT("column %u", i);
        column_of(&fixture, i, &column);
        ESK_CHECK_INT(column.flags,
                      columns[i].missing != NULL ? ESK_COLUMN_MISSING : 0);
        if (columns[i].missing != NULL) {
            memcpy(expected, columns[i].missing, column.bytes);
        }
        ESK_CHECK_BYTES(column.missing, expected, sizeof expected);
        ESK_CHECK_TEXT(column.unit,
                       columns[i].unit != NULL ? columns[i].unit : "");
    }
    fixture_end(&fixture);
}

ESK_TEST(missing_values_are_of_narrow_numbers_that_are_no_key) {
    static const uint8_t nan[] = {0, 0, 0xC0, 0x7F};
    static const uint64_t wide = 0;
    static const struct esk_column bad[] = {
        {.name = "level", .type = ESK_TYPE_I64, .missing = &wide},
        {.name = "level", .type = ESK_TYPE_F64, .missing = &wide},
        {.name = "level", .type = ESK_TYPE_BYTES, .bytes = 2, .missing = &wide},
        {.name = "level", .type = ESK_TYPE_VAR, .missing = &wide},
        {.name = "level", .type = ESK_TYPE_F32, .missing = nan},
    };
    struct esk_fixture fixture;
    struct esk_column made[2] = {columns[0]};
    struct esk_series_spec wanted = {.table = {.name = "log", .columns = made}};
    struct esk_fault fault;
    fixture_start(&fixture, &fixture_nor, NULL);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ESK_CONTEXT("column %u", (unsigned)i);
        made[1] = bad[i];
        table_columns(&wanted.table, 2);
        ESK_CHECK_INT(esk_series_create(&fixture.volume, &wanted, &fault),
                      ESK_E_SCHEMA);
        ESK_CHECK_INT(fault.kind, ESK_FAULT_MISSING);
        ESK_CHECK_INT(fault.column, 1);
    }
    made[0].missing = nothing;
    made[1] = columns[1];
    table_columns(&wanted.table, 2);
    ESK_CHECK_INT(esk_series_create(&fixture.volume, &wanted, &fault),
                  ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_MISSING);
    ESK_CHECK_INT(fault.column, 0);
    fixture_end(&fixture);
}

ESK_TEST(table_with_another_missing_value_is_another_table) {
    struct esk_fixture fixture;
    struct esk_column made[COLUMNS];
    struct esk_series_spec wanted = spec;
    struct esk_series *series = NULL;
    struct esk_fault fault;
    uint64_t arena[1024];
    start(&fixture);
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    esk_series_close(fixture.series);
    wanted.table.columns = made;
    for (int change = 0; change < 4; change++) {
        ESK_CONTEXT("change %d", change);
        memcpy(made, columns, sizeof made);
        made[1].missing = change == 1 ? nothing : made[1].missing;
        made[1].missing = change == 2 ? NULL : made[1].missing;
        made[5].missing = change == 3 ? minus_990 : NULL;
        int status = test_series_open_or_create(&series, &esk_series_parts_all,
                                                &fixture.volume, &wanted, NULL,
                                                arena, sizeof arena, &fault);
        ESK_CHECK_INT(status, change == 0 ? ESK_OK : ESK_E_SCHEMA);
        if (change > 0) {
            ESK_CHECK_INT(fault.kind, ESK_FAULT_OTHER_MISSING);
            ESK_CHECK_INT(fault.column, change == 3 ? 5 : 1);
        }
        esk_series_close(series);
    }
    fixture_end(&fixture);
}

static uint32_t fingerprint(struct esk_fixture *fixture) {
    struct esk_table_info info;
    uint32_t found = 0;
    ESK_CHECK_INT(esk_volume_find(&fixture->volume, "log", &info), ESK_OK);
    ESK_CHECK_INT(esk_table_fingerprint(&fixture->volume, &info, &found),
                  ESK_OK);
    return found;
}

ESK_TEST(fingerprint_is_of_missing_values_too) {
    static const char words[] = "\x01\x00"
                                "\x07\x04\0at\0"
                                "\x02\x02\0level\0\x22\xFC"
                                "\x05\x01\0gate\0\xFF"
                                "\x09\x04\0heat\0\0\0\x80\xBF"
                                "\x03\x04\0load\0\0\0\0\0"
                                "\x02\x02\0x";
    struct esk_fixture fixture;
    start(&fixture);
    ESK_CHECK_INT(
        fingerprint(&fixture),
        ~esk_crc32c(UINT32_MAX, (const uint8_t *)words, sizeof words));
    fixture_end(&fixture);
}

/// A column that is added has both a value in older rows and a missing value.
ESK_TEST(added_columns_have_missing_values) {
    for (int with_row = 0; with_row < 2; with_row++) {
        struct esk_fixture fixture;
        struct esk_series_spec old = spec;
        struct esk_column_info column;
        uint8_t row[ROW_BYTES];
        struct esk_series_range range = {.column = 4, .has_lo = true};
        struct esk_series_query query = {.ranges = &range, .range_count = 1};
        struct esk_series_cursor cursor;
        uint32_t count = 0;
        ESK_CONTEXT("with row %d", with_row);
        table_columns(&old.table, 4);
        fixture_start(&fixture, &fixture_nor, NULL);
        fixture_create(&fixture, &old);
        fixture_open(&fixture, "log", NULL);
        row_make(1, row);
        ESK_CHECK_INT(esk_series_append(fixture.series, row), ESK_OK);
        ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
        esk_series_close(fixture.series);
        row_make(302, row);
        int status =
            TEST_IN_ARENA(&fixture.volume, fixture.arena, fixture.arena_bytes,
                          esk_series_add_columns(
                              &fixture.volume, &esk_series_parts_all,
                              &spec.table, with_row == 1 ? row : NULL, NULL));
        ESK_CHECK_INT(status, ESK_OK);
        column_of(&fixture, 4, &column);
        ESK_CHECK_INT(column.flags, ESK_COLUMN_MISSING);
        ESK_CHECK_BYTES(column.missing, nothing, 4);
        fixture_open(&fixture, "log", NULL);
        /* Without a row older ones have 0, which is missing. */
        range.lo.i = INT32_MIN;
        ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, &query),
                      ESK_OK);
        ESK_CHECK_INT(esk_series_cursor_count(fixture.series, &cursor, &count),
                      ESK_OK);
        ESK_CHECK_INT(count, with_row);
        ESK_CHECK_INT(esk_series_get(fixture.series, 1, row), ESK_OK);
        ESK_CHECK_INT(esk_load_i32(row + 11), with_row * 2);
        fixture_end(&fixture);
    }
}

/// Sets byte `at` of the entry of column 1 in the descriptor.
static void entry_forge(struct esk_fixture *fixture, uint16_t at,
                        uint8_t byte) {
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&fixture->volume, "log", &info), ESK_OK);
    uint16_t first = ESK_CATALOG_COLUMN_HEAD + 2; /* "at" */
    forge_descriptor(fixture, (uint16_t)(info.columns + first + at), &byte, 1);
}

ESK_TEST(missing_value_that_a_descriptor_lacks_is_zero_or_an_error) {
    struct esk_fixture fixture;
    struct esk_table_info info;
    struct esk_column_info column;
    uint32_t found = 0;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    /* The unit takes the bytes of both values: none is left. */
    entry_forge(&fixture, ESK_CATALOG_COLUMN_UNIT_BYTES, 4);
    column_of(&fixture, 1, &column);
    ESK_CHECK_INT(column.flags, ESK_COLUMN_MISSING);
    ESK_CHECK_BYTES(column.missing, nothing, 4);
    /* A type that can have none. */
    entry_forge(&fixture, ESK_CATALOG_COLUMN_TYPE, ESK_TYPE_BYTES);
    ESK_CHECK_INT(esk_volume_find(&fixture.volume, "log", &info), ESK_OK);
    ESK_CHECK_INT(esk_volume_column(&fixture.volume, &info, 1, &column),
                  ESK_E_CORRUPT);
    ESK_CHECK_INT(esk_table_fingerprint(&fixture.volume, &info, &found),
                  ESK_E_CORRUPT);
    entry_forge(&fixture, ESK_CATALOG_COLUMN_TYPE, ESK_TYPE_I64);
    ESK_CHECK_INT(esk_volume_column(&fixture.volume, &info, 1, &column),
                  ESK_E_CORRUPT);
    fixture_end(&fixture);
}

ESK_TEST_MAIN()
