// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A cursor from a key on that had read rows of the packed page in RAM skipped
/// the page's other rows, if the page was programmed before the next call.
#include <string.h>

#include "base/bytes.h"
#include "esker/esker.h"
#include "port/ram/ram.h"
#include "test/harness/arena.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"

enum { IMAGE_BYTES = 24 * 8 * 256, ROWS = 300, ROW_BYTES = 6 };

static const struct esk_geometry medium = ESK_FLASH(24, 8, 256, 1, 0);

static uint8_t image[IMAGE_BYTES];
static uint64_t arena[1024];

static void row_make(uint32_t i, uint8_t *row) {
    esk_store_u32(row, 1000 + i * 10);
    esk_store_u16(row + 4, (uint16_t)(i * i % 601));
}

static struct esk_series *table_make(struct esk_ram_device *ram,
                                     struct esk_volume *volume, bool repeat) {
    static const struct esk_column columns[] = {
        {.name = "at", .type = ESK_TYPE_U32},
        {.name = "level", .type = ESK_TYPE_U16}};
    const struct esk_series_spec spec = {
        .table = {.name = "log",
                  .columns = columns,
                  .column_count = 2,
                  .row_bytes = ROW_BYTES},
        .codec = ESK_CODEC_PACKED,
        .keys_repeat = repeat,
        .data_blocks = 16,
    };
    static const struct esk_volume_config config = {.tables_max = 1};
    struct esk_series *series = NULL;
    memset(image, 0xFF, sizeof image);
    ESK_CHECK_INT(esk_ram_device_init(ram, &medium, image, IMAGE_BYTES),
                  ESK_OK);
    ESK_CHECK_INT(esk_volume_format(&ram->device, &config, TEST_SCRATCH),
                  ESK_OK);
    ESK_CHECK_INT(esk_volume_mount(volume, &ram->device, 0, TEST_SCRATCH),
                  ESK_OK);
    ESK_CHECK_INT(esk_series_create(volume, &spec, NULL), ESK_OK);
    ESK_CHECK_INT(
        test_series_open(&series, volume, "log", NULL, arena, sizeof arena),
        ESK_OK);
    return series;
}

static void row_check(struct esk_series *series,
                      struct esk_series_cursor *cursor, uint32_t i) {
    uint8_t row[ROW_BYTES];
    uint8_t wanted[ROW_BYTES];
    row_make(i, wanted);
    ESK_CHECK_INT(esk_series_cursor_next(series, cursor, row), ESK_OK);
    ESK_CHECK_BYTES(row, wanted, ROW_BYTES);
}

static void rows_append(struct esk_series *series, uint32_t from, uint32_t to) {
    uint8_t row[ROW_BYTES];
    for (uint32_t i = from; i < to; i++) {
        row_make(i, row);
        ESK_CHECK_INT(esk_series_append(series, row), ESK_OK);
    }
}

/// Appends `before` rows, reads `read` of them, then appends and reads the
/// others.
static void cursor_check(bool repeat, uint32_t before, uint32_t read) {
    struct esk_ram_device ram;
    struct esk_volume volume;
    struct esk_series_cursor cursor;
    struct esk_series *series = table_make(&ram, &volume, repeat);
    uint8_t row[ROW_BYTES];
    const struct esk_series_query query = {.has_key_min = true,
                                           .key_min = 1000};
    ESK_CHECK_INT(esk_series_cursor_open(series, &cursor, &query), ESK_OK);
    rows_append(series, 0, before);
    for (uint32_t i = 0; i < ROWS; i++) {
        if (i == read) {
            rows_append(series, before, ROWS);
        }
        row_check(series, &cursor, i);
    }
    ESK_CHECK_INT(esk_series_cursor_next(series, &cursor, row), ESK_END);
    ESK_CHECK_INT(esk_series_cursor_damaged(&cursor), 0);
}

ESK_TEST(packed_cursor_goes_on_in_a_page_that_was_programmed_meanwhile) {
    for (uint32_t before = 1; before < 40; before += 3) {
        for (uint32_t read = 1; read <= before; read += 2) {
            ESK_CONTEXT("%u rows, %u read", (unsigned)before, (unsigned)read);
            cursor_check(false, before, read);
            cursor_check(true, before, read);
        }
    }
}

ESK_TEST_MAIN()
