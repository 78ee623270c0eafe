// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The frozen image of one series with a variable column: written to the same
/// bytes by today's code, and read by it row by row.
#ifndef ESK_TEST_HARNESS_GOLDEN_SERIES_H
#define ESK_TEST_HARNESS_GOLDEN_SERIES_H

#include "esker/esker.h"
#include "port/ram/ram.h"
#include "test/harness/arena.h"
#include "test/harness/golden.h"
#include "test/harness/media.h"

enum {
    GOLDEN_BYTES = 24 * 8 * 256,
    GOLDEN_ROW_MAX = 32,
    GOLDEN_NOTE_MAX = 32,
};

struct golden_series {
    const char *path;
    const struct esk_series_spec *spec;
    uint32_t rows;
    /// Makes row `i` byte by byte, independent of the machine, and the note
    /// that is its value. Returns the note's length.
    uint32_t (*row_make)(uint32_t i, uint8_t *row, char *note);
};

static const struct esk_geometry golden_geometry = ESK_NOR(24, 8, 256);
static uint8_t golden_made[GOLDEN_BYTES];
static uint8_t golden_image[GOLDEN_BYTES];
static uint64_t golden_arena[2048];
static struct esk_volume golden_volume;
static struct esk_ram_device golden_ram;

/// Mounts `image` and opens its series; makes it first if `is_new`.
static struct esk_series *golden_mount(const struct golden_series *golden,
                                       uint8_t *image, bool is_new) {
    const struct esk_volume_config config = {.uuid = {0x65, 0x73, 0x6B}};
    const struct esk_device *device = &golden_ram.device;
    struct esk_series *series = NULL;
    ESK_CHECK_INT(
        esk_ram_device_init(&golden_ram, &golden_geometry, image, GOLDEN_BYTES),
        ESK_OK);
    if (is_new) {
        ESK_CHECK_INT(esk_volume_format(device, &config, TEST_SCRATCH), ESK_OK);
    }
    ESK_CHECK_INT(esk_volume_mount(&golden_volume, device,
                                   is_new ? 0 : ESK_MOUNT_READ_ONLY,
                                   TEST_SCRATCH),
                  ESK_OK);
    if (is_new) {
        ESK_CHECK_INT(esk_series_create(&golden_volume, golden->spec, NULL),
                      ESK_OK);
    }
    ESK_CHECK_INT(test_series_open(&series, &golden_volume,
                                   golden->spec->table.name, NULL, golden_arena,
                                   sizeof golden_arena),
                  ESK_OK);
    return series;
}

/// Opens the series of the frozen image.
static inline struct esk_series *
golden_open(const struct golden_series *golden) {
    golden_file(golden->path, "rb", golden_image, GOLDEN_BYTES);
    return golden_mount(golden, golden_image, false);
}

/// Checks that today's code writes the frozen bytes.
static inline void golden_write_check(const struct golden_series *golden) {
    uint8_t row[GOLDEN_ROW_MAX];
    char note[GOLDEN_NOTE_MAX];
    memset(golden_made, 0xFF, sizeof golden_made);
    struct esk_series *series = golden_mount(golden, golden_made, true);
    for (uint32_t i = 0; i < golden->rows; i++) {
        uint32_t bytes = golden->row_make(i, row, note);
        ESK_CHECK_INT(esk_series_append_var(series, row, note, bytes), ESK_OK);
        if (i % 101 == 100 || i == golden->rows - 1) {
            ESK_CHECK_INT(esk_series_sync(series), ESK_OK);
        }
    }
    esk_series_close(series);
    if (golden_is_written()) {
        golden_file(golden->path, "wb", golden_made, GOLDEN_BYTES);
    }
    golden_file(golden->path, "rb", golden_image, GOLDEN_BYTES);
    ESK_CHECK_BYTES(golden_made, golden_image, GOLDEN_BYTES);
}

/// Checks every row of the frozen image, and its value.
static inline void golden_read_check(const struct golden_series *golden) {
    struct esk_series *series = golden_open(golden);
    uint16_t fixed =
        (uint16_t)(golden->spec->table.row_bytes - ESK_VAR_REF_BYTES);
    struct esk_series_cursor cursor;
    struct esk_series_report report;
    uint8_t row[GOLDEN_ROW_MAX];
    uint8_t expected[GOLDEN_ROW_MAX];
    char note[GOLDEN_NOTE_MAX];
    char text[GOLDEN_NOTE_MAX];
    ESK_CHECK_INT(esk_series_cursor_open(series, &cursor, NULL), ESK_OK);
    for (uint32_t i = 0; i < golden->rows; i++) {
        struct esk_series_value value;
        uint32_t got = 0;
        uint32_t bytes = golden->row_make(i, expected, note);
        ESK_CHECK_INT(esk_series_cursor_next(series, &cursor, row), ESK_OK);
        ESK_CHECK_BYTES(row, expected, fixed);
        ESK_CHECK_INT(esk_series_value_open(series, row, &value), ESK_OK);
        ESK_CHECK_INT(
            esk_series_value_read(series, &value, text, sizeof text, &got),
            ESK_OK);
        ESK_CHECK_INT(got, bytes);
        ESK_CHECK_BYTES(text, note, got);
    }
    ESK_CHECK_INT(esk_series_cursor_next(series, &cursor, row), ESK_END);
    ESK_CHECK_INT(esk_series_check(series, &report), ESK_OK);
    ESK_CHECK_INT(report.rows, golden->rows);
}

#endif
