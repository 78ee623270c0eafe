// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A log of levels for a fixture: a key, and an indexed level of 50 levels that
/// is computed from the row's number.
#ifndef ESK_TEST_LEVEL_LOG_H
#define ESK_TEST_LEVEL_LOG_H

#include "test/harness/fixture.h"

enum { LEVEL_ROW_BYTES = 6 };

static const struct esk_column level_columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "level", .type = ESK_TYPE_I16},
};

static const struct esk_index_spec level_indexes[] = {
    {.column = 1, .bitmap_bits = 16}};

static const struct esk_series_spec level_spec = {
    .table = {.name = "log",
              .columns = level_columns,
              .column_count = 2,
              .row_bytes = 6},
    .indexes = level_indexes,
    .index_count = 1,
    .data_blocks = 20,
    .index_blocks = 6};

static inline int16_t level_of(uint32_t number) {
    return (int16_t)(number * 7919 % 50);
}

/// Appends row `number` under `key`.
static inline int level_append(struct esk_fixture *fixture, uint32_t key,
                               uint32_t number) {
    uint8_t row[LEVEL_ROW_BYTES];
    esk_store_u32(row, key);
    esk_store_u16(row + 4, (uint16_t)level_of(number));
    return esk_series_append(fixture->series, row);
}

/// Makes the medium and the table, and opens it.
static inline void level_start(struct esk_fixture *fixture,
                               const struct esk_geometry *geometry,
                               const struct esk_series_spec *spec,
                               const struct esk_series_config *config) {
    fixture_start(fixture, geometry, NULL);
    fixture_create(fixture, spec);
    fixture_open(fixture, "log", config);
}

/// Counts the rows of `level` of a cursor over `query`, and compares each with
/// the number that `number_of` returns for its key.
static inline uint32_t level_count(struct esk_fixture *fixture, int16_t level,
                                   const struct esk_series_query *query,
                                   uint32_t (*number_of)(uint32_t key)) {
    struct esk_series_range range = {
        .column = 1, .has_lo = true, .has_hi = true};
    struct esk_series_query of = *query;
    struct esk_series_cursor cursor;
    uint8_t row[LEVEL_ROW_BYTES];
    uint32_t rows = 0;
    range.lo.i = level;
    range.hi.i = level;
    of.ranges = &range;
    of.range_count = 1;
    ESK_CHECK_INT(esk_series_cursor_open(fixture->series, &cursor, &of),
                  ESK_OK);
    int status = esk_series_cursor_next(fixture->series, &cursor, row);
    for (; status == ESK_OK; rows++) {
        ESK_CHECK_INT((int16_t)esk_load_u16(row + 4), level);
        ESK_CHECK_INT(level_of(number_of(esk_load_u32(row))), level);
        status = esk_series_cursor_next(fixture->series, &cursor, row);
    }
    ESK_CHECK_INT(status, ESK_END);
    return rows;
}

#endif
