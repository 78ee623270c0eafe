// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The frozen image of format version 1: today's code writes the same bytes,
/// and reads them.
#include <string.h>

#include "test/harness/golden_series.h"

enum {
    ROWS = 450,
    FIXED_BYTES = 4 + 2 + 4,
    ROW_BYTES = FIXED_BYTES + ESK_VAR_REF_BYTES,
};

static uint32_t row_make(uint32_t i, uint8_t *row, char *note) {
    uint32_t time = 1000000u + 60u * i + (i % 97u == 0 ? 13u : 0u);
    uint16_t level = (uint16_t)(i * 37u % 1000u - 500u);
    uint32_t temp = 0x41A00000u + (i % 64u) * 0x1000u;

    memset(row, 0, ROW_BYTES);
    for (uint8_t b = 0; b < 4; b++) {
        row[b] = (uint8_t)(time >> (8 * b));
        row[6 + b] = (uint8_t)(temp >> (8 * b));
    }
    row[4] = (uint8_t)(level & 0xFFu);
    row[5] = (uint8_t)(level >> 8);
    int bytes = snprintf(note, GOLDEN_NOTE_MAX, "row %u", (unsigned)i);
    return i % 5 == 0 ? (uint32_t)bytes : 0;
}

static const uint8_t edges[] = {0x0C, 0xFE, 0x00, 0x00, 0xF4, 0x01};
static const struct esk_column columns[] = {
    {.name = "time", .unit = "s", .type = ESK_TYPE_U32},
    {.name = "level", .unit = "mm", .type = ESK_TYPE_I16},
    {.name = "temp", .unit = "degC", .type = ESK_TYPE_F32},
    {.name = "note", .type = ESK_TYPE_VAR},
};
static const struct esk_index_spec indexes[] = {
    {.column = 1, .bitmap_bits = 8, .edges = edges, .edge_count = 3},
    {.column = 2, .bitmap_bits = 8},
};
static const struct esk_series_spec spec = {
    .table = {.name = "golden",
              .columns = columns,
              .column_count = 4,
              .row_bytes = ROW_BYTES},
    .indexes = indexes,
    .index_count = 2,
};
static const struct golden_series golden = {
    .path = "test/golden/v1_series.img",
    .spec = &spec,
    .rows = ROWS,
    .row_make = row_make,
};

ESK_TEST(golden_image_is_what_this_code_writes) {
    golden_write_check(&golden);
}

ESK_TEST(golden_image_is_read_row_by_row) {
    golden_read_check(&golden);
}

ESK_TEST_MAIN()
