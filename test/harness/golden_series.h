// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The frozen image of one series with a variable column: written to the same
/// bytes by today's code, and read by it row by row. Its log may have two
/// breaks: newest rows that were dropped, and columns that were added.
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
    GOLDEN_AHEAD_ROWS = 40,
};

struct golden_series {
    const char *path;
    const struct esk_series_spec *spec;
    const struct esk_geometry *geometry; ///< NULL: golden_geometry
    uint32_t rows;
    /// Before this row GOLDEN_AHEAD_ROWS rows of larger keys are appended, and
    /// dropped; 0: never. Keys are u32 and first in a row.
    uint32_t ahead_at;
    /// The specification from this row on; 0: it stays.
    uint32_t wider_at;
    const struct esk_series_spec *wider;
    uint16_t note_offset; ///< of the variable column; 0: last in the row
    /// Makes row `i` byte by byte, independent of the machine, and the note
    /// that is its value. Returns the note's length.
    uint32_t (*row_make)(uint32_t i, uint8_t *row, char *note);
};

static const struct esk_geometry golden_geometry = ESK_NOR(24, 8, 256);
static uint8_t golden_made[GOLDEN_BYTES];
static uint8_t golden_image[GOLDEN_BYTES];
static uint64_t golden_arena[4096];
static struct esk_volume golden_volume;
static struct esk_ram_device golden_ram;

static const struct esk_geometry *
golden_geometry_of(const struct golden_series *golden) {
    return golden->geometry != NULL ? golden->geometry : &golden_geometry;
}

static void golden_reopen(const struct golden_series *golden,
                          struct esk_series **series) {
    ESK_CHECK_INT(test_series_open(series, &golden_volume,
                                   golden->spec->table.name, NULL, golden_arena,
                                   sizeof golden_arena),
                  ESK_OK);
}

/// Mounts `image` and opens its series; makes it first if `is_new`.
static struct esk_series *golden_mount(const struct golden_series *golden,
                                       uint8_t *image, bool is_new) {
    const struct esk_volume_config config = {.uuid = {0x65, 0x73, 0x6B}};
    const struct esk_device *device = &golden_ram.device;
    struct esk_series *series = NULL;
    ESK_CHECK_INT(esk_ram_device_init(&golden_ram, golden_geometry_of(golden),
                                      image, GOLDEN_BYTES),
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
    golden_reopen(golden, &series);
    return series;
}

/// Opens the series of the frozen image.
static inline struct esk_series *
golden_open(const struct golden_series *golden) {
    golden_file(golden->path, "rb", golden_image, GOLDEN_BYTES);
    return golden_mount(golden, golden_image, false);
}

static void golden_append(const struct golden_series *golden,
                          struct esk_series *series, uint32_t i) {
    uint8_t row[GOLDEN_ROW_MAX];
    char note[GOLDEN_NOTE_MAX];
    uint32_t bytes = golden->row_make(i, row, note);
    ESK_CHECK_INT(esk_series_append_var(series, row, note, bytes), ESK_OK);
}

/// The key of row `i`.
static esk_key golden_key(const struct golden_series *golden, uint32_t i) {
    uint8_t row[GOLDEN_ROW_MAX];
    char note[GOLDEN_NOTE_MAX];
    (void)golden->row_make(i, row, note);
    return (esk_key)(row[0] | (uint32_t)row[1] << 8 | (uint32_t)row[2] << 16 |
                     (uint32_t)row[3] << 24);
}

/// Drops rows, or adds columns, if row `i` is the one behind the break.
static void golden_break(const struct golden_series *golden,
                         struct esk_series **series, uint32_t i) {
    if (i > 0 && i == golden->ahead_at) {
        for (uint32_t more = 0; more < GOLDEN_AHEAD_ROWS; more++) {
            golden_append(golden, *series, golden->rows + more);
        }
        ESK_CHECK_INT(esk_series_sync(*series), ESK_OK);
        ESK_CHECK_INT(
            esk_series_erase_after(*series, golden_key(golden, i - 1)), ESK_OK);
    }
    if (i > 0 && i == golden->wider_at) {
        uint8_t older[GOLDEN_ROW_MAX];
        char note[GOLDEN_NOTE_MAX];
        (void)golden->row_make(0, older, note);
        esk_series_close(*series);
        ESK_CHECK_INT(
            TEST_IN_ARENA(
                &golden_volume, golden_arena, sizeof golden_arena,
                esk_series_add_columns(&golden_volume, &esk_series_parts_all,
                                       &golden->wider->table, older, NULL)),
            ESK_OK);
        golden_reopen(golden, series);
    }
}

/// Checks that today's code writes the frozen bytes.
static inline void golden_write_check(const struct golden_series *golden) {
    memset(golden_made, 0xFF, sizeof golden_made);
    struct esk_series *series = golden_mount(golden, golden_made, true);
    for (uint32_t i = 0; i < golden->rows; i++) {
        golden_break(golden, &series, i);
        golden_append(golden, series, i);
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
    const struct esk_series_spec *spec =
        golden->wider != NULL ? golden->wider : golden->spec;
    uint16_t bytes_whole = spec->table.row_bytes;
    uint16_t at = golden->note_offset > 0
                      ? golden->note_offset
                      : (uint16_t)(bytes_whole - ESK_VAR_REF_BYTES);
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
        memcpy(expected + at, row + at, ESK_VAR_REF_BYTES);
        ESK_CHECK_BYTES(row, expected, bytes_whole);
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
