// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The frozen images of packed series of format version 1: today's code writes
/// the same bytes, and reads them.
///
///     v1_packed.img          NOR of single bytes: seals
///     v1_packed_journal.img  pages are programmed once: a sync journal; newest
///                            rows were dropped, then a column was added
///     v1_packed_unit.img     NOR of units of 4 bytes: seals, rows and cells at
///                            multiples of 4; a column was added
#include <string.h>

#include "test/harness/golden_series.h"

enum {
    ROWS = 700,
    TIME = 0,
    LEVEL = 4,
    TEMP = 6,
    WIND = 10,
    GATE = 14,
    FIXED_BYTES = 15,
    ROW_BYTES = FIXED_BYTES + ESK_VAR_REF_BYTES,
    RAIN = ROW_BYTES, ///< the column that is added
    WIDER_BYTES = RAIN + 2,
    AHEAD_AT = 310,
    WIDER_AT = 505,
};

static void bytes_put(uint8_t *to, uint32_t value, uint8_t bytes) {
    for (uint8_t b = 0; b < bytes; b++) {
        to[b] = (uint8_t)(value >> (8 * b));
    }
}

static uint32_t time_of(uint32_t i) {
    return 1000000u + 60u * i + i / 97u * 13u;
}

/// The clock is set 13 s forward every 97 rows, the level jumps every 150, and
/// every 41st temperature is no decimal.
static uint32_t row_make(uint32_t i, uint8_t *row, char *note) {
    float temp = (float)(200 + i * 7 % 40) / 10.0f;
    uint32_t bits;
    memcpy(&bits, &temp, sizeof bits);
    bits = i % 41 == 7 ? 0x41A06666u : bits;
    uint32_t jump = i / 150 % 2 * 20000u;

    memset(row, 0, GOLDEN_ROW_MAX);
    bytes_put(row + TIME, time_of(i), 4);
    bytes_put(row + LEVEL, jump + i * 37u % 100u - 50u, 2);
    bytes_put(row + TEMP, bits, 4);
    bytes_put(row + WIND, 0x40A00000u + i % 64u * 0x1000u, 4);
    bytes_put(row + GATE, i / 90, 1);
    bytes_put(row + RAIN, i < WIDER_AT ? 9 : i * i % 700u, 2);
    int bytes = snprintf(note, GOLDEN_NOTE_MAX, "row %u", (unsigned)i);
    return i % 25 == 0 ? (uint32_t)bytes : 0;
}

static const struct esk_column columns[] = {
    {.name = "time", .unit = "s", .type = ESK_TYPE_U32},
    {.name = "level", .unit = "mm", .type = ESK_TYPE_I16},
    {.name = "temp",
     .unit = "degC",
     .type = ESK_TYPE_F32,
     .mode = ESK_PACK_DECIMAL + 1},
    {.name = "wind", .unit = "m/s", .type = ESK_TYPE_F32},
    {.name = "gate", .type = ESK_TYPE_U8, .mode = ESK_PACK_RAW},
    {.name = "note", .type = ESK_TYPE_VAR},
    {.name = "rain", .unit = "um", .type = ESK_TYPE_U16},
};
static const struct esk_index_spec index = {.column = 1, .bitmap_bits = 8};
static const struct esk_series_spec spec = {
    .table = {.name = "golden",
              .columns = columns,
              .column_count = 6,
              .row_bytes = ROW_BYTES},
    .indexes = &index,
    .index_count = 1,
    .codec = ESK_CODEC_PACKED,
    .cell_bytes = 128,
};
static const struct esk_series_spec wider = {
    .table = {.name = "golden",
              .columns = columns,
              .column_count = 7,
              .row_bytes = WIDER_BYTES},
    .indexes = &index,
    .index_count = 1,
    .codec = ESK_CODEC_PACKED,
    .cell_bytes = 128,
};
static const struct golden_series golden = {
    .path = "test/golden/v1_packed.img",
    .spec = &spec,
    .rows = ROWS,
    .row_make = row_make,
};
static const struct esk_geometry nand = ESK_NAND(24, 8, 256);
static const struct golden_series golden_journal = {
    .path = "test/golden/v1_packed_journal.img",
    .spec = &spec,
    .geometry = &nand,
    .rows = ROWS,
    .ahead_at = AHEAD_AT,
    .wider_at = WIDER_AT,
    .wider = &wider,
    .note_offset = FIXED_BYTES,
    .row_make = row_make,
};
static const struct esk_geometry words = ESK_FLASH(24, 8, 256, 4, 0);
static const struct golden_series golden_unit = {
    .path = "test/golden/v1_packed_unit.img",
    .spec = &spec,
    .geometry = &words,
    .rows = ROWS,
    .wider_at = WIDER_AT,
    .wider = &wider,
    .note_offset = FIXED_BYTES,
    .row_make = row_make,
};

ESK_TEST(golden_packed_image_is_what_this_code_writes) {
    golden_write_check(&golden);
}

ESK_TEST(golden_packed_image_is_read_row_by_row) {
    golden_read_check(&golden);
}

ESK_TEST(golden_packed_image_with_a_sync_journal_and_breaks_is_written) {
    golden_write_check(&golden_journal);
}

ESK_TEST(golden_packed_image_with_a_sync_journal_and_breaks_is_read) {
    golden_read_check(&golden_journal);
}

ESK_TEST(golden_packed_image_of_a_unit_of_4_bytes_is_written) {
    golden_write_check(&golden_unit);
}

ESK_TEST(golden_packed_image_of_a_unit_of_4_bytes_is_read) {
    golden_read_check(&golden_unit);
}

ESK_TEST(golden_packed_image_is_found_by_key) {
    struct esk_series *series = golden_open(&golden);
    uint8_t row[GOLDEN_ROW_MAX];
    uint8_t expected[GOLDEN_ROW_MAX];
    char note[GOLDEN_NOTE_MAX];

    for (uint32_t i = 0; i < ROWS; i += 23) {
        (void)row_make(i, expected, note);
        esk_key key = (esk_key)time_of(i);
        ESK_CHECK_INT(esk_series_get(series, key, row), ESK_OK);
        ESK_CHECK_BYTES(row, expected, FIXED_BYTES);
        ESK_CHECK_INT(esk_series_get(series, key - 1, row), ESK_NOT_FOUND);
    }
}

ESK_TEST_MAIN()
