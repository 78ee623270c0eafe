// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Keys that repeat: which of several rows a lookup returns, and that no way to
/// read loses a row of a key with rows on several pages.
#include "table/series/series.h"

#include "test/harness/fixture.h"
#include "test/harness/media.h"

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "number", .type = ESK_TYPE_U32},
};

enum { ROW_BYTES = 8, KEYS = 40, FIRST_KEY = 100 };

/// Rows of key i, counted from FIRST_KEY: some keys have rows on several pages.
static uint32_t rows_of(uint32_t i) {
    return i % 8 == 3 ? 150 : i % 3;
}

static void start(struct esk_fixture *fixture,
                  const struct esk_geometry *geometry, bool keys_repeat) {
    const struct esk_series_spec spec = {
        .table = {.name = "log",
                  .columns = columns,
                  .column_count = 2,
                  .row_bytes = 8},
        .keys_repeat = keys_repeat,
        .data_blocks = 16,
        .index_blocks = 4,
    };
    fixture_start(fixture, geometry, NULL);
    fixture_create(fixture, &spec);
    fixture_open(fixture, "log", NULL);
}

static int append(struct esk_fixture *fixture, uint32_t key, uint32_t number) {
    uint8_t row[ROW_BYTES];
    esk_store_u32(row, key);
    esk_store_u32(row + 4, number);
    return esk_series_append(fixture->series, row);
}

/// Appends rows_of rows of each key, numbered from 0. Returns how many.
static uint32_t fill(struct esk_fixture *fixture) {
    uint32_t number = 0;
    for (uint32_t i = 0; i < KEYS; i++) {
        for (uint32_t row = 0; row < rows_of(i); row++) {
            ESK_CHECK_INT(append(fixture, FIRST_KEY + i, number), ESK_OK);
            number++;
        }
    }
    return number;
}

typedef int find_call(struct esk_series *series, esk_key key, void *row);

/// The number of the row that `find` returns; -1 for none.
static int64_t found(struct esk_fixture *fixture, find_call *find,
                     uint32_t key) {
    uint8_t row[ROW_BYTES];
    int status = find(fixture->series, key, row);
    ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND);
    return status == ESK_OK ? (int64_t)esk_load_u32(row + 4) : -1;
}

static void lookups_check(struct esk_fixture *fixture) {
    uint32_t number = 0;
    for (uint32_t i = 0; i < KEYS; i++) {
        uint32_t key = FIRST_KEY + i;
        int64_t end = (int64_t)(number + rows_of(i));
        ESK_CONTEXT("key %u", (unsigned)key);
        ESK_CHECK_INT(found(fixture, esk_series_get, key),
                      rows_of(i) > 0 ? end - 1 : -1);
        ESK_CHECK_INT(found(fixture, esk_series_floor, key), end - 1);
        ESK_CHECK_INT(found(fixture, esk_series_ceiling, key),
                      i < KEYS - 1 || rows_of(i) > 0 ? (int64_t)number : -1);
        number += rows_of(i);
    }
}

/// Reads the rows of keys `from` .. `to`: each once, in order.
static void range_check(struct esk_fixture *fixture, uint32_t from, uint32_t to,
                        bool backward) {
    struct esk_series_query query = {.has_key_min = true,
                                     .has_key_max = true,
                                     .backward = backward,
                                     .key_min = from,
                                     .key_max = to};
    struct esk_series_cursor cursor;
    uint8_t row[ROW_BYTES];
    uint32_t first = 0;
    uint32_t rows = 0;
    for (uint32_t i = 0; i < KEYS; i++) {
        first += FIRST_KEY + i < from ? rows_of(i) : 0;
        rows += FIRST_KEY + i >= from && FIRST_KEY + i <= to ? rows_of(i) : 0;
    }
    ESK_CONTEXT("%u to %u%s", (unsigned)from, (unsigned)to,
                backward ? ", backward" : "");
    ESK_CHECK_INT(esk_series_cursor_open(fixture->series, &cursor, &query),
                  ESK_OK);
    for (uint32_t i = 0; i < rows; i++) {
        ESK_CHECK_INT(esk_series_cursor_next(fixture->series, &cursor, row),
                      ESK_OK);
        ESK_CHECK_INT(esk_load_u32(row + 4),
                      backward ? first + rows - 1 - i : first + i);
    }
    ESK_CHECK_INT(esk_series_cursor_next(fixture->series, &cursor, row),
                  ESK_END);
    ESK_CHECK_INT(esk_series_cursor_damaged(&cursor), 0);
}

static void ranges_check(struct esk_fixture *fixture) {
    for (uint32_t i = 0; i < KEYS; i += 3) {
        for (uint32_t wide = 0; wide < 12; wide += 4) {
            range_check(fixture, FIRST_KEY + i, FIRST_KEY + i + wide, false);
            range_check(fixture, FIRST_KEY + i, FIRST_KEY + i + wide, true);
        }
    }
}

static void counts_check(struct esk_fixture *fixture, uint32_t rows) {
    struct esk_series_report report;
    uint32_t count = 0;
    ESK_CHECK_INT(esk_series_count(fixture->series, &count), ESK_OK);
    ESK_CHECK_INT(count, rows);
    ESK_CHECK_INT(esk_series_check(fixture->series, &report), ESK_OK);
    ESK_CHECK_INT(report.rows, rows);
}

ESK_TEST(repeated_keys_are_all_read) {
    static const struct esk_geometry media[] = {
        ESK_NOR(64, 16, 256), ESK_NAND(64, 8, 512), ESK_CARD(64, 8, 512)};
    for (size_t i = 0; i < sizeof media / sizeof media[0]; i++) {
        struct esk_fixture fixture;
        start(&fixture, &media[i], true);
        uint32_t rows = fill(&fixture);
        lookups_check(&fixture);
        ranges_check(&fixture);
        counts_check(&fixture, rows);
        ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
        fixture_mount(&fixture);
        fixture_open(&fixture, "log", NULL);
        lookups_check(&fixture);
        ranges_check(&fixture);
        counts_check(&fixture, rows);
        fixture_end(&fixture);
    }
}

/// Rows of the newest key that are in RAM, and synced in a journal.
ESK_TEST(repeated_keys_go_on_after_a_reopen) {
    static const struct esk_geometry media[] = {ESK_NOR(64, 16, 256),
                                                ESK_NAND(64, 8, 512)};
    for (size_t i = 0; i < sizeof media / sizeof media[0]; i++) {
        struct esk_fixture fixture;
        start(&fixture, &media[i], true);
        for (uint32_t row = 0; row < 300; row++) {
            ESK_CHECK_INT(append(&fixture, 7, row), ESK_OK);
            ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
            if (row % 16 == 5) {
                fixture_mount(&fixture);
                fixture_open(&fixture, "log", NULL);
            }
        }
        counts_check(&fixture, 300);
        ESK_CHECK_INT(found(&fixture, esk_series_get, 7), 299);
        ESK_CHECK_INT(found(&fixture, esk_series_ceiling, 7), 0);
        ESK_CHECK_INT(append(&fixture, 6, 0), ESK_OUT_OF_ORDER);
        fixture_end(&fixture);
    }
}

ESK_TEST(repeated_keys_at_the_floor_of_erase_before_stay) {
    static const struct esk_geometry nor = ESK_NOR(64, 16, 256);
    struct esk_fixture fixture;
    uint8_t row[ROW_BYTES];
    start(&fixture, &nor, true);
    uint32_t rows = fill(&fixture);
    uint32_t before = 0;
    for (uint32_t i = 0; i < 11; i++) {
        before += rows_of(i);
    }
    /* Key 11 has rows on several pages, and begins on one with key 10. */
    ESK_CHECK_INT(esk_series_erase_before(fixture.series, FIRST_KEY + 11),
                  ESK_OK);
    counts_check(&fixture, rows - before);
    ESK_CHECK_INT(esk_series_oldest(fixture.series, row), ESK_OK);
    ESK_CHECK_INT(esk_load_u32(row + 4), before);
    fixture_end(&fixture);
}

/// The rows of a cursor, when rows of the newest key are appended in between.
static uint32_t rows_read(struct esk_fixture *fixture,
                          const struct esk_series_query *query,
                          uint32_t appends) {
    struct esk_series_cursor cursor;
    uint8_t row[ROW_BYTES];
    uint32_t rows = 0;
    int status = ESK_OK;
    ESK_CHECK_INT(esk_series_cursor_open(fixture->series, &cursor, query),
                  ESK_OK);
    while (status == ESK_OK) {
        for (uint32_t i = 0; i < appends; i++) {
            ESK_CHECK_INT(append(fixture, FIRST_KEY + KEYS, 9000), ESK_OK);
        }
        appends = appends > 0 && rows < 40 ? 1 : 0;
        status = esk_series_cursor_next(fixture->series, &cursor, row);
        rows += status == ESK_OK;
        ESK_CHECK(status != ESK_OK || esk_load_u32(row + 4) != 9000);
    }
    ESK_CHECK_INT(status, ESK_END);
    return rows;
}

/// With the newest key as key_max a cursor returns rows of that key that are
/// appended later; not with an ordinal.
ESK_TEST(repeated_keys_of_later_rows_are_behind_the_end_of_a_query) {
    for (uint32_t run = 0; run < 12; run++) {
        struct esk_fixture fixture;
        struct esk_series_query query = {.has_ordinal_end = true,
                                         .backward = run % 2 == 1};
        struct esk_series_cursor cursor;
        uint32_t count = 0;
        ESK_CONTEXT("run %u", run);
        start(&fixture, &fixture_nor, true);
        uint32_t filled = fill(&fixture);
        uint32_t rows = filled;
        for (; rows % 29 != run; rows++) {
            ESK_CHECK_INT(append(&fixture, FIRST_KEY + KEYS, rows), ESK_OK);
        }
        ESK_CHECK_INT(
            esk_series_next_ordinal(fixture.series, &query.ordinal_end),
            ESK_OK);
        ESK_CHECK_INT(query.ordinal_end, rows);
        query.has_key_max = run % 4 < 2;
        query.key_max = FIRST_KEY + KEYS;
        ESK_CHECK_INT(rows_read(&fixture, &query, 1 + 8 * run), rows);
        query.has_key_min = true;
        query.key_min = FIRST_KEY + KEYS;
        ESK_CHECK_INT(rows_read(&fixture, &query, 1), rows - filled);
        query.has_key_min = false;
        query.backward = false;
        ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, &query),
                      ESK_OK);
        ESK_CHECK_INT(esk_series_cursor_count(fixture.series, &cursor, &count),
                      ESK_OK);
        ESK_CHECK_INT(count, rows);
        esk_series_close(fixture.series);
        ESK_CHECK_INT(esk_series_next_ordinal(fixture.series, &count),
                      ESK_E_INVALID);
        fixture_end(&fixture);
    }
}

/// Where keys do not repeat, the newest key does it.
ESK_TEST(later_rows_are_behind_the_newest_key_where_keys_do_not_repeat) {
    struct esk_fixture fixture;
    struct esk_series_query query = {.has_key_max = true};
    struct esk_series_cursor cursor;
    uint8_t row[ROW_BYTES];
    start(&fixture, &fixture_nor, false);
    for (int backward = 0; backward < 2; backward++) {
        for (uint32_t i = 0; i < 200; i++) {
            ESK_CHECK_INT(append(&fixture, 200 * (uint32_t)backward + i, i),
                          ESK_OK);
        }
        query.backward = backward == 1;
        ESK_CHECK_INT(esk_series_newest_key(fixture.series, &query.key_max),
                      ESK_OK);
        ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, &query),
                      ESK_OK);
        uint32_t key = (uint32_t)query.key_max;
        uint32_t rows = 0;
        while (esk_series_cursor_next(fixture.series, &cursor, row) == ESK_OK) {
            ESK_CHECK(esk_load_u32(row) <= query.key_max);
            rows++;
            ESK_CHECK_INT(append(&fixture, key + rows, 0), ESK_OK);
        }
        ESK_CHECK_INT(rows, 200);
        fixture_end(&fixture);
        start(&fixture, &fixture_nor, false);
    }
    fixture_end(&fixture);
}

ESK_TEST(repeated_keys_are_refused_unless_the_table_has_them) {
    static const struct esk_geometry nor = ESK_NOR(64, 16, 256);
    struct esk_fixture fixture;
    start(&fixture, &nor, false);
    ESK_CHECK_INT(append(&fixture, 7, 0), ESK_OK);
    ESK_CHECK_INT(append(&fixture, 7, 1), ESK_OUT_OF_ORDER);
    ESK_CHECK_INT(append(&fixture, 8, 1), ESK_OK);
    fixture_end(&fixture);
}

ESK_TEST_MAIN()
