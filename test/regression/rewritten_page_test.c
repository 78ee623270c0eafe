// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A backward value query with a key_max missed rows: a page was sealed, its
/// completion failed, and its rows were written again on the next page. The
/// search by key began at the first copy, the value index told of the second.
#include "table/series/series.h"

#include "test/harness/rig.h"

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "level", .type = ESK_TYPE_I16},
};

static const struct esk_index_spec indexes[] = {
    {.column = 1, .bitmap_bits = 16}};

static const struct esk_table_spec spec = {.name = "log",
                                           .columns = columns,
                                           .indexes = indexes,
                                           .column_count = 2,
                                           .index_count = 1,
                                           .data_blocks = 8,
                                           .index_blocks = 4};

enum { ROW_BYTES = 6, ROWS = 400 };

static int level_of(uint32_t number) {
    return (int)(number * 7919 % 50);
}

/// Keys that no straight line fits, so that searches go astray.
static uint32_t key_of(uint32_t number) {
    return number * number;
}

/// Rows of `level` up to `key_max`, newest first.
static uint32_t count_level(struct esk_rig *rig, int level, uint32_t key_max) {
    struct esk_range range = {.column = 1, .has_lo = true, .has_hi = true};
    struct esk_query query = {.ranges = &range,
                              .range_count = 1,
                              .backward = true,
                              .has_key_max = true,
                              .key_max = key_max};
    struct esk_series_cursor cursor;
    uint8_t row[ROW_BYTES];
    uint32_t rows = 0;
    range.lo.i = level;
    range.hi.i = level;
    ESK_CHECK_INT(esk_series_cursor_open(rig->series, &cursor, &query), ESK_OK);
    while (esk_series_cursor_next(rig->series, &cursor, row) == ESK_OK) {
        rows++;
    }
    return rows;
}

/// Appends rows; the page that row `rewritten` is on is written twice.
static void fill(struct esk_rig *rig, uint32_t rewritten) {
    /* The second program of the page's completion. */
    const struct esk_sim_failures failures = {
        .transfer = {.burst_start = 1, .burst_length = 1}};
    for (uint32_t number = 1; number <= ROWS; number++) {
        uint8_t row[ROW_BYTES];
        esk_store_u32(row, key_of(number));
        esk_store_u16(row + 4, (uint16_t)level_of(number));
        ESK_CHECK_INT(esk_series_append(rig->series, row), ESK_OK);
        if (number == rewritten) {
            ESK_CHECK_INT(esk_series_sync(rig->series), ESK_OK);
            esk_sim_failures_set(rig->sim, &failures);
        }
    }
    ESK_CHECK_INT(esk_series_sync(rig->series), ESK_OK);
    ESK_CHECK_INT(rig->series->stats.program_failures, 1);
}

ESK_TEST(backward_value_query_finds_rows_of_a_page_written_twice) {
    static const struct esk_series_config config = {.key_index_bytes = 48,
                                                    .key_error_16ths = 16};
    for (uint32_t rewritten = 50; rewritten < ROWS - 60; rewritten += 7) {
        struct esk_rig rig;
        rig_start(&rig, &rig_nor, NULL);
        rig_create(&rig, &spec);
        rig_open(&rig, "log", &config);
        fill(&rig, rewritten);
        int level = level_of(rewritten);
        uint32_t expected = 0;
        for (uint32_t number = 1; number <= ROWS; number++) {
            expected += level_of(number) == level ? 1 : 0;
            ESK_CONTEXT("row %u sealed, rows to %u", rewritten, number);
            ESK_CHECK_INT(count_level(&rig, level, key_of(number)), expected);
        }
        rig_end(&rig);
    }
}

ESK_TEST_MAIN()
