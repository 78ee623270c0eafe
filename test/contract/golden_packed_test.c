// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The frozen image of a packed series of format version 1: today's code writes
/// the same bytes, and reads them. `ESK_GOLDEN_WRITE=1` writes the image again,
/// which is right only together with a new format version.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "esker/esker.h"
#include "port/ram/ram.h"
#include "test/harness/arena.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"

#define GOLDEN_PATH "test/golden/v1_packed.img"

enum {
    IMAGE_BYTES = 24 * 8 * 256,
    ROWS = 700,
    TIME = 0,
    LEVEL = 4,
    TEMP = 6,
    WIND = 10,
    GATE = 14,
    FIXED_BYTES = 15,
    ROW_BYTES = FIXED_BYTES + ESK_VAR_REF_BYTES,
    NOTE_BYTES_MAX = 32,
};

static const struct esk_geometry geometry = ESK_NOR(24, 8, 256);

static uint8_t made[IMAGE_BYTES];
static uint8_t golden[IMAGE_BYTES];
static uint64_t arena[2048];

static void bytes_put(uint8_t *to, uint32_t value, uint8_t bytes) {
    for (uint8_t b = 0; b < bytes; b++) {
        to[b] = (uint8_t)(value >> (8 * b));
    }
}

/// Row `i` byte by byte, independent of the machine. Returns the length of its
/// note. The clock is set 13 s forward every 97 rows, the level jumps every
/// 150, and every 41st temperature is no decimal.
static uint32_t row_make(uint32_t i, uint8_t *row, char *note) {
    float temp = (float)(200 + i * 7 % 40) / 10.0f;
    uint32_t bits;
    memcpy(&bits, &temp, sizeof bits);
    bits = i % 41 == 7 ? 0x41A06666u : bits;
    uint32_t jump = i / 150 % 2 * 20000u;

    memset(row, 0, ROW_BYTES);
    bytes_put(row + TIME, 1000000u + 60u * i + i / 97u * 13u, 4);
    bytes_put(row + LEVEL, jump + i * 37u % 100u - 50u, 2);
    bytes_put(row + TEMP, bits, 4);
    bytes_put(row + WIND, 0x40A00000u + i % 64u * 0x1000u, 4);
    bytes_put(row + GATE, i / 90, 1);
    int bytes = snprintf(note, NOTE_BYTES_MAX, "row %u", (unsigned)i);
    return i % 25 == 0 ? (uint32_t)bytes : 0;
}

static void table_make(struct esk_volume *volume) {
    const struct esk_column columns[] = {
        {.name = "time", .unit = "s", .type = ESK_TYPE_U32},
        {.name = "level", .unit = "mm", .type = ESK_TYPE_I16},
        {.name = "temp",
         .unit = "degC",
         .type = ESK_TYPE_F32,
         .mode = ESK_PACK_DECIMAL + 1},
        {.name = "wind", .unit = "m/s", .type = ESK_TYPE_F32},
        {.name = "gate", .type = ESK_TYPE_U8, .mode = ESK_PACK_RAW},
        {.name = "note", .type = ESK_TYPE_VAR},
    };
    const struct esk_index_spec indexes[] = {
        {.column = 1, .bitmap_bits = 8},
    };
    const struct esk_series_spec spec = {
        .table = {.name = "golden",
                  .columns = columns,
                  .column_count = 6,
                  .row_bytes = ROW_BYTES},
        .indexes = indexes,
        .index_count = 1,
        .codec = ESK_CODEC_PACKED,
        .cell_bytes = 128,
    };
    ESK_CHECK_INT(esk_series_create(volume, &spec, NULL), ESK_OK);
}

static void image_make(const struct esk_device *device) {
    const struct esk_volume_config config = {.uuid = {0x65, 0x73, 0x6B}};
    struct esk_volume volume;
    struct esk_series *series = NULL;
    uint8_t row[ROW_BYTES];
    char note[NOTE_BYTES_MAX];

    ESK_CHECK_INT(esk_volume_format(device, &config, TEST_SCRATCH), ESK_OK);
    ESK_CHECK_INT(esk_volume_mount(&volume, device, 0, TEST_SCRATCH), ESK_OK);
    table_make(&volume);
    ESK_CHECK_INT(
        test_series_open(&series, &volume, "golden", NULL, arena, sizeof arena),
        ESK_OK);
    for (uint32_t i = 0; i < ROWS; i++) {
        uint32_t bytes = row_make(i, row, note);
        ESK_CHECK_INT(esk_series_append_var(series, row, note, bytes), ESK_OK);
        if (i % 101 == 100 || i == ROWS - 1) {
            ESK_CHECK_INT(esk_series_sync(series), ESK_OK);
        }
    }
    esk_series_close(series);
}

static void device_make(struct esk_ram_device *ram, uint8_t *memory) {
    ESK_CHECK_INT(esk_ram_device_init(ram, &geometry, memory, IMAGE_BYTES),
                  ESK_OK);
}

static void golden_load(void) {
    FILE *file = fopen(GOLDEN_PATH, "rb");
    ESK_CHECK(file != NULL);
    size_t bytes = fread(golden, 1, IMAGE_BYTES, file);
    (void)fclose(file);
    ESK_CHECK_INT(bytes, IMAGE_BYTES);
}

static struct esk_volume volume_golden;

/// Opens the table of the golden image.
static struct esk_series *golden_open(struct esk_ram_device *ram) {
    struct esk_series *series = NULL;
    golden_load();
    device_make(ram, golden);
    ESK_CHECK_INT(esk_volume_mount(&volume_golden, &ram->device,
                                   ESK_MOUNT_READ_ONLY, TEST_SCRATCH),
                  ESK_OK);
    ESK_CHECK_INT(test_series_open(&series, &volume_golden, "golden", NULL,
                                   arena, sizeof arena),
                  ESK_OK);
    return series;
}

ESK_TEST(golden_packed_image_is_what_this_code_writes) {
    struct esk_ram_device ram;
    memset(made, 0xFF, sizeof made);
    device_make(&ram, made);
    image_make(&ram.device);
    if (getenv("ESK_GOLDEN_WRITE") != NULL) {
        FILE *file = fopen(GOLDEN_PATH, "wb");
        ESK_CHECK(file != NULL);
        ESK_CHECK_INT(fwrite(made, 1, IMAGE_BYTES, file), IMAGE_BYTES);
        (void)fclose(file);
    }
    golden_load();
    ESK_CHECK_BYTES(made, golden, IMAGE_BYTES);
}

ESK_TEST(golden_packed_image_is_read_row_by_row) {
    struct esk_ram_device ram;
    struct esk_series *series = golden_open(&ram);
    struct esk_series_cursor cursor;
    struct esk_series_report report;
    uint8_t row[ROW_BYTES];
    uint8_t expected[ROW_BYTES];
    char note[NOTE_BYTES_MAX];
    char text[NOTE_BYTES_MAX];

    ESK_CHECK_INT(esk_series_cursor_open(series, &cursor, NULL), ESK_OK);
    for (uint32_t i = 0; i < ROWS; i++) {
        struct esk_series_value value;
        uint32_t got = 0;
        uint32_t bytes = row_make(i, expected, note);
        ESK_CHECK_INT(esk_series_cursor_next(series, &cursor, row), ESK_OK);
        ESK_CHECK_BYTES(row, expected, FIXED_BYTES);
        ESK_CHECK_INT(esk_series_value_open(series, row, &value), ESK_OK);
        ESK_CHECK_INT(
            esk_series_value_read(series, &value, text, sizeof text, &got),
            ESK_OK);
        ESK_CHECK_INT(got, bytes);
        ESK_CHECK_BYTES(text, note, got);
    }
    ESK_CHECK_INT(esk_series_cursor_next(series, &cursor, row), ESK_END);
    ESK_CHECK_INT(esk_series_check(series, &report), ESK_OK);
    ESK_CHECK_INT(report.rows, ROWS);
}

ESK_TEST(golden_packed_image_is_found_by_key) {
    struct esk_ram_device ram;
    struct esk_series *series = golden_open(&ram);
    uint8_t row[ROW_BYTES];
    uint8_t expected[ROW_BYTES];
    char note[NOTE_BYTES_MAX];

    for (uint32_t i = 0; i < ROWS; i += 23) {
        (void)row_make(i, expected, note);
        esk_key key = 1000000 + 60 * (esk_key)i + i / 97u * 13;
        ESK_CHECK_INT(esk_series_get(series, key, row), ESK_OK);
        ESK_CHECK_BYTES(row, expected, FIXED_BYTES);
        ESK_CHECK_INT(esk_series_get(series, key - 1, row), ESK_NOT_FOUND);
    }
}

ESK_TEST_MAIN()
