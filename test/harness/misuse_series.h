// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Two series that a program makes mistakes with: one with values and an index,
/// and a plain one. For the tests of misuse_series*_test.c.
#ifndef ESK_TEST_MISUSE_SERIES_H
#define ESK_TEST_MISUSE_SERIES_H

#include "test/harness/misuse.h"

enum { ROWS = 60, NOTE = 4, ROW_BYTES = 22 };

/// u32 at | i32 level | f32 ratio | u16 pad | note | u16 more
static const struct esk_column columns[] = {
    {.name = "at", .unit = "s", .type = ESK_TYPE_U32},
    {.name = "level", .type = ESK_TYPE_I32},
    {.name = "ratio", .type = ESK_TYPE_F32},
    {.name = "pad", .type = ESK_TYPE_BYTES, .bytes = 2},
    {.name = "note", .type = ESK_TYPE_VAR},
    {.name = "more", .type = ESK_TYPE_U16},
};
enum { COLUMNS = sizeof columns / sizeof columns[0] };
static const struct esk_index_spec by_level = {.column = 1, .bitmap_bits = 16};

static struct esk_series *series;
static struct esk_series *plain; ///< another one, without values and indexes
static uint8_t row[ROW_BYTES];
static uint32_t key;

static inline struct esk_series_spec spec_of(const char *name) {
    struct esk_series_spec spec = {.table = {.name = name,
                                             .columns = columns,
                                             .column_count = COLUMNS,
                                             .row_bytes = ROW_BYTES},
                                   .indexes = &by_level,
                                   .index_count = 1,
                                   .data_blocks = 12,
                                   .index_blocks = 6,
                                   .var_blocks = 8};
    return spec;
}

static inline struct esk_series_spec plain_spec(void) {
    struct esk_series_spec spec = spec_of("plain");
    table_columns(&spec.table, 4);
    spec.index_count = 0;
    return spec;
}

static inline void row_make(uint32_t number) {
    float ratio = (float)number / 2;
    memset(row, 0, sizeof row);
    misuse_u32(row, number);
    misuse_u32(row + 4, number % 7);
    memcpy(row + 8, &ratio, sizeof ratio);
}

/// Both tables take a row and have it.
static inline void tables_work(void) {
    uint8_t got[ROW_BYTES];
    struct esk_series_value value;
    uint32_t read = 0;
    key++;
    row_make(key);
    ESK_CHECK_INT(esk_series_append(plain, row), ESK_OK);
    ESK_CHECK_INT(esk_series_get(plain, key, got), ESK_OK);
    ESK_CHECK_INT(esk_series_append_var(series, row, "note", NOTE), ESK_OK);
    ESK_CHECK_INT(esk_series_sync(series), ESK_OK);
    ESK_CHECK_INT(esk_series_get(series, key, got), ESK_OK);
    ESK_CHECK_BYTES(got, row, 12);
    ESK_CHECK_INT(esk_series_value_open(series, got, &value), ESK_OK);
    ESK_CHECK_INT(esk_series_value_read(series, &value, got, NOTE, &read),
                  ESK_OK);
    ESK_CHECK_BYTES(got, "note", NOTE);
}

/// The table is sound, and none of its first rows is missing.
static inline void tables_verify(void) {
    struct esk_series_report report;
    ESK_CHECK_INT(esk_series_check(series, &report), ESK_OK);
    ESK_CHECK_INT(report.rows, key);
    ESK_CHECK_INT(esk_series_check(plain, &report), ESK_OK);
    ESK_CHECK_INT(report.rows, key);
}

static inline void tables_open(void) {
    ESK_CHECK_INT(esk_series_open(&series, &misuse_volume, "log", NULL),
                  ESK_OK);
    ESK_CHECK_INT(esk_series_open(&plain, &misuse_volume, "plain", NULL),
                  ESK_OK);
}

static inline void start(const struct esk_geometry *geometry) {
    struct esk_series_spec spec = spec_of("log");
    misuse_start(geometry);
    ESK_CHECK_INT(esk_series_create(&misuse_volume, &spec, NULL), ESK_OK);
    spec = plain_spec();
    ESK_CHECK_INT(esk_series_create(&misuse_volume, &spec, NULL), ESK_OK);
    tables_open();
    key = 0;
    for (uint8_t i = 0; i < ROWS; i++) {
        tables_work();
    }
}

#endif
