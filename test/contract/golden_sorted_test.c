// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The frozen images of series with a sorted index, of format version 1:
/// today's code writes the same bytes, reads them, and asks the index.
///
///     v1_sorted.img         NOR, raw rows, an f32 with NaN and both zeros;
///                           merged pages whose values lack other bits
///     v1_sorted_packed.img  pages are programmed once, packed rows, an i16;
///                           the ring of level 0 wrapped
#include <string.h>

#include "table/series/series.h"
#include "test/harness/golden_series.h"

enum {
    ROWS = 1100,
    ROWS_PACKED = 4000,
    FLOW_BYTES = 4,
    LEVEL_BYTES = 2,
};

static uint32_t mix(uint32_t i) {
    return (i + 1) * UINT32_C(2654435761) >> 12;
}

static uint32_t head_make(uint32_t i, uint8_t *row, char *note) {
    uint32_t time = 1000000u + 60u * i;
    memset(row, 0, GOLDEN_ROW_MAX);
    for (uint8_t b = 0; b < 4; b++) {
        row[b] = (uint8_t)(time >> (8 * b));
    }
    int bytes = snprintf(note, GOLDEN_NOTE_MAX, "row %u", (unsigned)i);
    return i % 400 == 0 ? (uint32_t)bytes : 0;
}

/// -200.0 .. 200.0; some rows are NaN, some -0.0.
static uint32_t flow_make(uint32_t i, uint8_t *row, char *note) {
    uint32_t bytes = head_make(i, row, note);
    float flow = (float)((int32_t)(mix(i) % 4001u) - 2000) / 10.0f;
    uint32_t bits;
    memcpy(&bits, &flow, sizeof bits);
    bits = i % 53 == 9 ? 0x7FC00000u : bits;
    bits = i % 53 == 20 ? 0x80000000u : bits;
    bits = i % 53 == 31 ? 0 : bits;
    for (uint8_t b = 0; b < FLOW_BYTES; b++) {
        row[4 + b] = (uint8_t)(bits >> (8 * b));
    }
    return bytes;
}

/// -1500 .. 1500, twice in a row the same.
static uint32_t level_make(uint32_t i, uint8_t *row, char *note) {
    uint32_t bytes = head_make(i, row, note);
    uint32_t level = mix(i / 2) % 3001u - 1500u;
    row[4] = (uint8_t)(level & 0xFFu);
    row[5] = (uint8_t)(level >> 8 & 0xFFu);
    return bytes;
}

static const struct esk_column flow_columns[] = {
    {.name = "time", .unit = "s", .type = ESK_TYPE_U32},
    {.name = "flow", .unit = "l/s", .type = ESK_TYPE_F32},
    {.name = "note", .type = ESK_TYPE_VAR},
};
static const struct esk_column level_columns[] = {
    {.name = "time", .unit = "s", .type = ESK_TYPE_U32},
    {.name = "level", .unit = "mm", .type = ESK_TYPE_I16},
    {.name = "note", .type = ESK_TYPE_VAR},
};
static const struct esk_index_spec flow_index = {
    .kind = ESK_INDEX_SORTED, .column = 1, .entries = 256, .fan = 2};
static const struct esk_index_spec level_index = {
    .kind = ESK_INDEX_SORTED, .column = 1, .entries = 512, .fan = 3};
static const struct esk_series_spec flow_spec = {
    .table = {.name = "golden",
              .columns = flow_columns,
              .column_count = 3,
              .row_bytes = 4 + FLOW_BYTES + ESK_VAR_REF_BYTES},
    .indexes = &flow_index,
    .index_count = 1,
    .data_blocks = 18 + 5 + 4,
    .index_blocks = 3,
    .var_blocks = 2,
    .sorted_blocks = 5,
    .merged_blocks = 4,
};
static const struct esk_series_spec level_spec = {
    .table = {.name = "golden",
              .columns = level_columns,
              .column_count = 3,
              .row_bytes = 4 + LEVEL_BYTES + ESK_VAR_REF_BYTES},
    .indexes = &level_index,
    .index_count = 1,
    .data_blocks = 14 + 5 + 6,
    .index_blocks = 3,
    .var_blocks = 4,
    .codec = ESK_CODEC_PACKED,
    .cell_bytes = 256,
    .sorted_blocks = 5,
    .merged_blocks = 6,
};
static const struct esk_geometry nor = ESK_NOR(48, 4, 256);
static const struct golden_series golden_flow = {
    .path = "test/golden/v1_sorted.img",
    .spec = &flow_spec,
    .geometry = &nor,
    .rows = ROWS,
    .row_make = flow_make,
};
static const struct esk_geometry nand = ESK_NAND(48, 4, 256);
static const struct golden_series golden_level = {
    .path = "test/golden/v1_sorted_packed.img",
    .spec = &level_spec,
    .geometry = &nand,
    .rows = ROWS_PACKED,
    .row_make = level_make,
};

ESK_TEST(golden_sorted_image_is_what_this_code_writes) {
    golden_write_check(&golden_flow);
}

ESK_TEST(golden_sorted_image_is_read_row_by_row) {
    golden_read_check(&golden_flow);
}

ESK_TEST(golden_sorted_image_of_packed_rows_is_what_this_code_writes) {
    golden_write_check(&golden_level);
}

ESK_TEST(golden_sorted_image_of_packed_rows_is_read_row_by_row) {
    golden_read_check(&golden_level);
}

/// The value of a row, as a number; `is_float`: of flow.
static double value_of(const uint8_t *row, bool is_float) {
    float flow;
    memcpy(&flow, row + 4, sizeof flow); /* hosts are little-endian */
    return is_float ? (double)flow : (double)(int16_t)(row[4] | row[5] << 8);
}

/// Asks for lo .. hi: the rows that the image is made of, and no others.
/// Returns the page reads.
static uint32_t ask(const struct golden_series *golden,
                    struct esk_series *series, int32_t lo, int32_t hi) {
    bool is_float = golden == &golden_flow;
    struct esk_series_range range = {
        .column = 1, .has_lo = true, .has_hi = true};
    const struct esk_series_query query = {.ranges = &range, .range_count = 1};
    struct esk_series_cursor cursor;
    uint8_t row[GOLDEN_ROW_MAX];
    uint8_t expected[GOLDEN_ROW_MAX];
    char note[GOLDEN_NOTE_MAX];
    uint32_t before = series->stats.reads;
    if (is_float) {
        range.lo.f32 = (float)lo;
        range.hi.f32 = (float)hi;
    } else {
        range.lo.i = lo;
        range.hi.i = hi;
    }
    ESK_CHECK_INT(esk_series_cursor_open(series, &cursor, &query), ESK_OK);
    for (uint32_t i = 0; i < golden->rows; i++) {
        (void)golden->row_make(i, expected, note);
        double value = value_of(expected, is_float);
        if (value >= lo && value <= hi) {
            ESK_CONTEXT("row %u of %d .. %d", i, (int)lo, (int)hi);
            ESK_CHECK_INT(esk_series_cursor_next(series, &cursor, row), ESK_OK);
            ESK_CHECK_BYTES(row, expected, 4 + LEVEL_BYTES);
        }
    }
    ESK_CHECK_INT(esk_series_cursor_next(series, &cursor, row), ESK_END);
    return series->stats.reads - before;
}

/// Each narrow range costs less than half of a scan: runs name the data pages.
static void ask_each(const struct golden_series *golden, int32_t least) {
    struct esk_series *series = golden_open(golden);
    uint32_t whole = ask(golden, series, least, -least);
    uint32_t most = 0;
    int32_t stride = (int32_t)esk_test_stride(5);
    for (int32_t lo = least; lo <= -least; lo += stride) {
        uint32_t reads = ask(golden, series, lo, lo);
        most = reads > most ? reads : most;
    }
    ESK_CHECK(most * 2 < whole);
}

ESK_TEST(golden_sorted_image_is_found_by_value) {
    ask_each(&golden_flow, -200);
}

ESK_TEST(golden_sorted_image_of_packed_rows_is_found_by_value) {
    ask_each(&golden_level, -1500);
}

ESK_TEST_MAIN()
