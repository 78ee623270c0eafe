// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Packed pages were decoded with the program unit of the device at hand: an
/// image of a chip with another unit had wrong rows on a host.
#include <string.h>

#include "base/bytes.h"
#include "esker/esker.h"
#include "port/ram/ram.h"
#include "test/harness/arena.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"

enum { IMAGE_BYTES = 24 * 8 * 256, ROWS = 400, MORE = 60, ROW_BYTES = 6 };

/// Program units and what else differs where an image is mounted.
static const struct esk_geometry media[] = {
    ESK_FLASH(24, 8, 256, 1, 0), ESK_FLASH(24, 8, 256, 2, 0),
    ESK_FLASH(24, 8, 256, 4, 0), ESK_FLASH(24, 8, 256, 8, 0),
    ESK_FLASH(24, 8, 256, 8, 1), ESK_FLASH(24, 8, 256, 256, 1),
};

enum { MEDIA = sizeof media / sizeof media[0] };

static uint8_t image[IMAGE_BYTES];
static uint64_t arena[1024];
static struct esk_ram_device ram;
static struct esk_volume volume;

static void row_make(uint32_t i, uint8_t *row) {
    esk_store_u32(row, 1000 + i * 10 + i % 3);
    esk_store_u16(row + 4, (uint16_t)(i * i % 601));
}

static void mount_on(const struct esk_geometry *geometry) {
    ESK_CHECK_INT(esk_ram_device_init(&ram, geometry, image, IMAGE_BYTES),
                  ESK_OK);
    ESK_CHECK_INT(esk_volume_mount(&volume, &ram.device, 0, TEST_SCRATCH),
                  ESK_OK);
}

static struct esk_series *series_open(void) {
    struct esk_series *series = NULL;
    ESK_CHECK_INT(
        test_series_open(&series, &volume, "log", NULL, arena, sizeof arena),
        ESK_OK);
    return series;
}

static void rows_append(struct esk_series *series, uint32_t from, uint32_t to) {
    uint8_t row[ROW_BYTES];
    for (uint32_t i = from; i < to; i++) {
        row_make(i, row);
        ESK_CHECK_INT(esk_series_append(series, row), ESK_OK);
        if (i % 3 == 0) {
            ESK_CHECK_INT(esk_series_sync(series), ESK_OK);
        }
    }
    ESK_CHECK_INT(esk_series_sync(series), ESK_OK);
}

static void rows_check(struct esk_series *series, uint32_t count) {
    struct esk_series_cursor cursor;
    uint8_t row[ROW_BYTES];
    uint8_t wanted[ROW_BYTES];
    ESK_CHECK_INT(esk_series_cursor_open(series, &cursor, NULL), ESK_OK);
    for (uint32_t i = 0; i < count; i++) {
        row_make(i, wanted);
        ESK_CHECK_INT(esk_series_cursor_next(series, &cursor, row), ESK_OK);
        ESK_CHECK_BYTES(row, wanted, ROW_BYTES);
    }
    ESK_CHECK_INT(esk_series_cursor_next(series, &cursor, row), ESK_END);
}

static void table_make(const struct esk_geometry *geometry) {
    static const struct esk_column columns[] = {
        {.name = "at", .type = ESK_TYPE_U32},
        {.name = "level", .type = ESK_TYPE_U16}};
    static const struct esk_series_spec spec = {
        .table = {.name = "log",
                  .columns = columns,
                  .column_count = 2,
                  .row_bytes = ROW_BYTES},
        .codec = ESK_CODEC_PACKED,
        .data_blocks = 16,
    };
    static const struct esk_volume_config config = {.tables_max = 1};
    memset(image, 0xFF, sizeof image);
    ESK_CHECK_INT(esk_ram_device_init(&ram, geometry, image, IMAGE_BYTES),
                  ESK_OK);
    ESK_CHECK_INT(esk_volume_format(&ram.device, &config, TEST_SCRATCH),
                  ESK_OK);
    mount_on(geometry);
    ESK_CHECK_INT(esk_series_create(&volume, &spec, NULL), ESK_OK);
}

ESK_TEST(packed_rows_are_read_on_a_medium_with_another_program_unit) {
    for (uint32_t from = 0; from < MEDIA; from++) {
        for (uint32_t to = 0; to < MEDIA; to++) {
            ESK_CONTEXT("from medium %u to %u", (unsigned)from, (unsigned)to);
            table_make(&media[from]);
            struct esk_series *series = series_open();
            rows_append(series, 0, ROWS);
            esk_series_close(series);
            esk_volume_unmount(&volume);

            mount_on(&media[to]);
            series = series_open();
            rows_check(series, ROWS);
            rows_append(series, ROWS, ROWS + MORE);
            esk_series_close(series);
            esk_volume_unmount(&volume);

            mount_on(&media[from]);
            rows_check(series_open(), ROWS + MORE);
        }
    }
}

ESK_TEST_MAIN()
