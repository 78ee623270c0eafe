// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A series with a sorted index, and questions whose answers are compared with
/// a scan.
#ifndef ESK_TEST_SORTED_LOG_H
#define ESK_TEST_SORTED_LOG_H

#include "table/series/series.h"

#include "test/harness/fixture.h"

enum { ROW_BYTES = 8, ROW_BYTES_MAX = 10, SPREAD = 5000, SCAN_MAX = 20000 };

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "v", .type = ESK_TYPE_I32},
};

static const struct esk_index_spec indexes[] = {
    {.kind = ESK_INDEX_SORTED, .column = 1, .entries = 256, .fan = 2},
    {.column = 1, .bitmap_bits = 16},
};

static const struct esk_series_spec spec = {.table = {.name = "log",
                                                      .columns = columns,
                                                      .column_count = 2,
                                                      .row_bytes = ROW_BYTES},
                                            .indexes = indexes,
                                            .index_count = 1,
                                            .data_blocks = 14 + 6 + 12,
                                            .index_blocks = 4,
                                            .sorted_blocks = 6,
                                            .merged_blocks = 12};

static struct esk_fixture fixture;

/// Twice in a row the same value, on most pages.
static inline int32_t value_of(uint32_t number) {
    uint32_t mixed = (number / 2 + 1) * UINT32_C(2654435761);
    return (int32_t)((mixed >> 12) % SPREAD) - SPREAD / 2;
}

static uint32_t row_count;

static inline int append_one(void) {
    uint8_t row[ROW_BYTES];
    esk_store_u32(row, row_count);
    esk_store_u32(row + 4, (uint32_t)value_of(row_count));
    int status = esk_series_append(fixture.series, row);
    row_count += status == ESK_OK ? 1 : 0;
    return status;
}

static inline void append(uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        ESK_CHECK_INT(append_one(), ESK_OK);
    }
}

static inline void start(const struct esk_geometry *geometry,
                         const struct esk_series_spec *of) {
    row_count = 0;
    fixture_start(&fixture, geometry, NULL);
    fixture_create(&fixture, of);
    fixture_open(&fixture, "log", NULL);
}

/// Tables that the tests are about.
struct table {
    const char *name;
    uint8_t index_count;
    uint8_t codec;
    const struct esk_geometry *geometry;
    uint32_t rows; ///< that are appended: the ring wraps, runs are merged
};

static const struct table tables[] = {
    {"sorted", 1, ESK_CODEC_RAW, &fixture_nor, 5000},
    {"sorted and summary", 2, ESK_CODEC_RAW, &fixture_nor, 5000},
    {"packed", 1, ESK_CODEC_PACKED, &fixture_nor, 9000},
    {"card", 2, ESK_CODEC_RAW, &fixture_sd, 9000},
};

enum { TABLES = sizeof tables / sizeof *tables };

static inline void table_start(const struct table *table) {
    struct esk_series_spec of = spec;
    of.index_count = table->index_count;
    of.codec = table->codec;
    struct esk_index_spec of_index[2] = {indexes[0], indexes[1]};
    if (table->codec == ESK_CODEC_PACKED) {
        of_index[0].entries = 2048; /* some pages of rows */
    }
    of.indexes = of_index;
    ESK_CONTEXT("%s", table->name);
    start(table->geometry, &of);
}

/// How a cursor goes.
struct way {
    bool backward;
    uint32_t step_pages;
};

static const struct way ways[] = {
    {false, 0}, {true, 0}, {false, 1}, {true, 1}, {false, 7}};

enum { WAYS = sizeof ways / sizeof *ways };

/// The next row, after the steps that it takes.
static inline int next_row(struct esk_series_cursor *cursor, uint8_t *row) {
    int status = ESK_AGAIN;
    for (uint32_t steps = 0; status == ESK_AGAIN; steps++) {
        ESK_CHECK(steps < 4000);
        uint32_t before = fixture.series->stats.reads;
        status = esk_series_cursor_next(fixture.series, cursor, row);
        /* A damaged page is read three times. */
        ESK_CHECK(cursor->step_pages == 0 ||
                  fixture.series->stats.reads - before <=
                      3u * cursor->step_pages);
    }
    return status;
}

/// What a scan returns: numbers of rows.
struct scan {
    uint32_t count;
    uint32_t numbers[SCAN_MAX];
};

static struct scan scan;

static inline void scan_make(void) {
    struct esk_series_cursor cursor;
    uint8_t row[ROW_BYTES_MAX];
    int status = ESK_OK;
    scan.count = 0;
    ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, NULL),
                  ESK_OK);
    while ((status = next_row(&cursor, row)) == ESK_OK) {
        ESK_CHECK(scan.count < SCAN_MAX);
        scan.numbers[scan.count] = esk_load_u32(row);
        scan.count++;
    }
    ESK_CHECK_INT(status, ESK_END);
}

/// Asks for lo .. hi: each row of the scan has to be there, and no other.
/// Returns the page reads.
static inline uint32_t ask_one(const struct way *way, int32_t lo, int32_t hi) {
    struct esk_series_range range = {
        .column = 1, .has_lo = true, .has_hi = true, .lo.i = lo, .hi.i = hi};
    struct esk_series_query query = {.backward = way->backward,
                                     .ranges = &range,
                                     .range_count = 1,
                                     .step_pages = way->step_pages};
    struct esk_series_cursor cursor;
    uint8_t row[ROW_BYTES_MAX];
    uint32_t before = fixture.series->stats.reads;
    ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, &query),
                  ESK_OK);
    for (uint32_t i = 0; i < scan.count; i++) {
        uint32_t number = scan.numbers[way->backward ? scan.count - 1 - i : i];
        int32_t value = value_of(number);
        if (value >= lo && value <= hi) {
            ESK_CONTEXT("row %u of %u", number, row_count);
            ESK_CHECK_INT(next_row(&cursor, row), ESK_OK);
            ESK_CHECK_INT(esk_load_u32(row), number);
        }
    }
    ESK_CHECK_INT(next_row(&cursor, row), ESK_END);
    return fixture.series->stats.reads - before;
}

/// Drops all RAM. Goes on with the rows that are there.
static inline void reboot(void) {
    fixture_reboot(&fixture);
    uint32_t newest = 0;
    esk_key key = 0;
    if (esk_series_newest_key(fixture.series, &key) == ESK_OK) {
        newest = (uint32_t)key + 1;
    }
    row_count = newest;
}

/// Asks for `count` narrow ranges in every way. Returns the page reads of an
/// unlimited forward cursor, all together.
static inline uint32_t ask_many(uint32_t count) {
    uint32_t reads = 0;
    scan_make();
    for (uint32_t i = 0; i < count; i++) {
        int32_t lo = (int32_t)(i * 7919u % SPREAD) - SPREAD / 2;
        for (uint32_t j = 0; j < WAYS; j++) {
            uint32_t done = ask_one(&ways[j], lo, lo + (int32_t)i % 3);
            reads += j == 0 ? done : 0;
        }
    }
    return reads;
}

static inline void check(void) {
    struct esk_series_report report;
    ESK_CHECK_INT(esk_series_check(fixture.series, &report), ESK_OK);
    ESK_CHECK_INT(report.index_wrong, 0);
}

#endif
