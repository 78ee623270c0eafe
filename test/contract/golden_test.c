// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The frozen image of format version 1: today's code writes the same bytes,
/// and reads them. `ESK_GOLDEN_WRITE=1` writes the image again, which is right
/// only together with a new format version.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "esker/esker.h"
#include "port/ram/ram.h"
#include "test/harness/arena.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"

#define GOLDEN_PATH "test/golden/v1_series.img"

enum {
    IMAGE_BYTES = 24 * 8 * 256,
    ROWS = 450,
    FIXED_BYTES = 4 + 2 + 4,
    ROW_BYTES = FIXED_BYTES + ESK_VAR_REF_BYTES,
};

static const struct esk_geometry geometry = ESK_NOR(24, 8, 256);

static uint8_t made[IMAGE_BYTES];
static uint8_t golden[IMAGE_BYTES];
static uint64_t arena[1024];

/// Row `i` byte by byte, independent of the machine. Returns the length of its
/// note.
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
    int bytes = snprintf(note, 32, "row %u", (unsigned)i);
    return i % 5 == 0 ? (uint32_t)bytes : 0;
}

static void table_make(struct esk_volume *volume) {
    static const uint8_t edges[] = {0x0C, 0xFE, 0x00, 0x00, 0xF4, 0x01};
    const struct esk_column columns[] = {
        {"time", "s", ESK_TYPE_U32, 0, 0, NULL, 0},
        {"level", "mm", ESK_TYPE_I16, 0, 0, NULL, 0},
        {"temp", "degC", ESK_TYPE_F32, 0, 0, NULL, 0},
        {"note", "", ESK_TYPE_VAR, 0, 0, NULL, 0},
    };
    const struct esk_index_spec indexes[] = {
        {.column = 1, .bitmap_bits = 8, .edges = edges, .edge_count = 3},
        {.column = 2, .bitmap_bits = 8},
    };
    const struct esk_series_spec spec = {
        .table = {.name = "golden",
                  .columns = columns,
                  .column_count = 4,
                  .row_bytes = 10 + ESK_VAR_REF_BYTES},
        .indexes = indexes,
        .index_count = 2,
    };
    ESK_CHECK_INT(esk_series_create(volume, &spec, NULL), ESK_OK);
}

static void image_make(const struct esk_device *device) {
    const struct esk_volume_config config = {.uuid = {0x65, 0x73, 0x6B}};
    struct esk_volume volume;
    struct esk_series *series = NULL;
    uint8_t row[ROW_BYTES];
    char note[32];

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

ESK_TEST(golden_image_is_what_this_code_writes) {
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

ESK_TEST(golden_image_is_read_row_by_row) {
    struct esk_ram_device ram;
    struct esk_volume volume;
    struct esk_series *series = NULL;
    struct esk_series_cursor cursor;
    struct esk_series_report report;
    uint8_t row[ROW_BYTES];
    uint8_t expected[ROW_BYTES];
    char note[32];
    char text[32];

    golden_load();
    device_make(&ram, golden);
    ESK_CHECK_INT(esk_volume_mount(&volume, &ram.device, ESK_MOUNT_READ_ONLY,
                                   TEST_SCRATCH),
                  ESK_OK);
    ESK_CHECK_INT(
        test_series_open(&series, &volume, "golden", NULL, arena, sizeof arena),
        ESK_OK);
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

ESK_TEST_MAIN()
