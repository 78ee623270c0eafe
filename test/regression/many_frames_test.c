// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A series with a value index or a variable column, on small pages and with
/// many frames: what the open had read of the catalog was where the frames'
/// tags are. The open failed, or took floor and tail from tags and the table
/// had no rows.
#include "base/bytes.h"
#include "test/harness/fixture.h"

enum { ROW_BYTES = 14, ROWS = 200 };

static const struct esk_column columns[] = {
    {.name = "time", .type = ESK_TYPE_U32},
    {.name = "level", .type = ESK_TYPE_I32},
    {.name = "note", .type = ESK_TYPE_VAR},
};

static const struct esk_index_spec level = {.column = 1,
                                            .bitmap_bits = ESK_BITMAP_NONE};

static void rows_check(struct esk_fixture *fixture) {
    struct esk_series_report report;
    uint32_t count = 0;
    ESK_CHECK_INT(esk_series_count(fixture->series, &count), ESK_OK);
    ESK_CHECK_INT(count, ROWS);
    ESK_CHECK_INT(esk_series_check(fixture->series, &report), ESK_OK);
    ESK_CHECK_INT(report.rows, ROWS);
}

/// A table with or without either, opened with each number of frames.
static void frames_check(uint16_t page_bytes, bool has_index, bool has_var) {
    const struct esk_geometry geometry = ESK_NOR(48, 8, page_bytes);
    struct esk_series_config config = {.frames = 4};
    struct esk_series_spec spec = {
        .table = {.name = "log",
                  .columns = columns,
                  .column_count = has_var ? 3 : 2,
                  .row_bytes = has_var ? ROW_BYTES : 8},
        .indexes = &level,
        .index_count = has_index ? 1 : 0};
    struct esk_fixture fixture;
    uint8_t row[ROW_BYTES] = {0};
    fixture_start(&fixture, &geometry, NULL);
    fixture_create(&fixture, &spec);
    fixture_open(&fixture, "log", &config);
    for (uint32_t i = 0; i < ROWS; i++) {
        esk_store_u32(row, 10 + i);
        esk_store_u32(row + 4, i % 7);
        ESK_CHECK_INT(esk_series_append(fixture.series, row), ESK_OK);
    }
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    for (config.frames = 4; config.frames < 140; config.frames++) {
        ESK_CONTEXT("pages of %u, index %d, var %d, %u frames", page_bytes,
                    has_index, has_var, config.frames);
        fixture_reboot(&fixture);
        rows_check(&fixture);
    }
    fixture_end(&fixture);
}

ESK_TEST(series_opens_with_any_number_of_frames) {
    static const uint16_t pages[] = {128, 136, 256, 512};
    for (uint32_t i = 0; i < 4 * sizeof pages / sizeof pages[0]; i++) {
        frames_check(pages[i / 4], i % 2 == 1, i / 2 % 2 == 1);
    }
}

ESK_TEST_MAIN()
