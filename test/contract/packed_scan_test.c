// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Cursors over a packed table, both ways and several at a time: they share the
/// table's readers, so each disturbs the others' places and checkpoints.
#include <string.h>

#include "base/bytes.h"
#include "esker/esker.h"
#include "port/ram/ram.h"
#include "table/series/series_packed.h"
#include "test/harness/arena.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"

enum { IMAGE_BYTES = 256 << 10, ROWS = 600, ROW_BYTES = 8, CURSORS = 4 };

static uint8_t image[IMAGE_BYTES];
static uint64_t arena[40000 / 8];
static struct esk_ram_device ram;
static struct esk_volume volume;
static struct esk_series *series;

/// Most rows take a few bits; some are whole.
static void row_make(uint32_t i, uint8_t *row) {
    uint32_t value = i % 97 == 0 ? i * UINT32_C(2654435761) : i * i % 31;
    esk_store_u32(row, 1000 + i * 10 + i % 3);
    esk_store_u32(row + 4, value);
}

static void table_make(uint16_t page_bytes, uint16_t cell_bytes,
                       uint8_t readers) {
    static const struct esk_column columns[] = {
        {.name = "at", .type = ESK_TYPE_U32},
        {.name = "level", .type = ESK_TYPE_I32}};
    struct esk_geometry geometry =
        ESK_NOR((uint32_t)IMAGE_BYTES / page_bytes / 4u, 4, page_bytes);
    struct esk_series_spec spec = {
        .table = {.name = "log",
                  .columns = columns,
                  .column_count = 2,
                  .row_bytes = ROW_BYTES},
        .codec = ESK_CODEC_PACKED,
        .cell_bytes = cell_bytes,
    };
    static const struct esk_volume_config once = {.tables_max = 1};
    struct esk_series_config config = {.frames = 4, .readers = readers};
    uint8_t row[ROW_BYTES];
    memset(image, 0xFF, sizeof image);
    ESK_CHECK_INT(esk_ram_device_init(&ram, &geometry, image, IMAGE_BYTES),
                  ESK_OK);
    ESK_CHECK_INT(esk_volume_format(&ram.device, &once, TEST_SCRATCH), ESK_OK);
    ESK_CHECK_INT(esk_volume_mount(&volume, &ram.device, 0, TEST_SCRATCH),
                  ESK_OK);
    ESK_CHECK_INT(esk_series_create(&volume, &spec, NULL), ESK_OK);
    ESK_CHECK_INT(
        test_series_open(&series, &volume, "log", &config, arena, sizeof arena),
        ESK_OK);
    for (uint32_t i = 0; i < ROWS; i++) {
        row_make(i, row);
        ESK_CHECK_INT(esk_series_append(series, row), ESK_OK);
    }
}

/// Reads the next row of a cursor, and checks that it is row `index`.
static void next_check(struct esk_series_cursor *cursor, uint32_t index) {
    uint8_t row[ROW_BYTES];
    uint8_t wanted[ROW_BYTES];
    row_make(index, wanted);
    ESK_CHECK_INT(esk_series_cursor_next(series, cursor, row), ESK_OK);
    ESK_CHECK_BYTES(row, wanted, ROW_BYTES);
}

/// Scans with `count` cursors in turn, every other one backward. Cursor i
/// begins i * 7 rows before the others.
static void scan_check(uint8_t count) {
    struct esk_series_cursor cursors[CURSORS];
    struct esk_series_query forward = {.backward = false};
    struct esk_series_query backward = {.backward = true};
    for (uint8_t c = 0; c < count; c++) {
        bool is_back = c % 2 == 0;
        ESK_CHECK_INT(esk_series_cursor_open(series, &cursors[c],
                                             is_back ? &backward : &forward),
                      ESK_OK);
        for (uint32_t i = 0; i < 7u * c; i++) {
            next_check(&cursors[c], is_back ? ROWS - 1 - i : i);
        }
    }
    for (uint32_t i = 0; i < ROWS; i++) {
        for (uint8_t c = 0; c < count; c++) {
            uint32_t at = i + 7u * c;
            if (at < ROWS) {
                next_check(&cursors[c], c % 2 == 0 ? ROWS - 1 - at : at);
            }
        }
    }
    for (uint8_t c = 0; c < count; c++) {
        uint8_t row[ROW_BYTES];
        ESK_CHECK_INT(esk_series_cursor_next(series, &cursors[c], row),
                      ESK_END);
    }
}

ESK_TEST(packed_rows_are_read_by_cursors_both_ways_at_a_time) {
    static const uint16_t pages[] = {256, 512, 2048};
    static const uint16_t cells[] = {64, 256, 0};
    for (uint32_t i = 0; i < 9; i++) {
        for (uint8_t readers = 1; readers <= 4; readers++) {
            uint16_t cell = cells[i % 3];
            ESK_CONTEXT("page %u, cell %u, %u readers", pages[i / 3], cell,
                        readers);
            table_make(pages[i / 3], cell, readers);
            for (uint8_t count = 1; count <= CURSORS;
                 count = (uint8_t)(2u * count)) {
                scan_check(count);
            }
            esk_series_close(series);
            esk_volume_unmount(&volume);
        }
    }
}

/// How far the reader has read that is behind the others.
static uint32_t least_rows(void) {
    const struct esk_series_packing *packing = esk_packing(series);
    uint32_t first = packed_reader(packing, 0)->rows;
    uint32_t second = packed_reader(packing, 1)->rows;
    return first < second ? first : second;
}

ESK_TEST(packed_backward_scans_decode_a_cell_anew_for_few_rows) {
    struct esk_series_cursor cursor;
    struct esk_series_query backward = {.backward = true};
    uint32_t moves = 0;
    table_make(512, 256, 2);
    ESK_CHECK_INT(esk_series_cursor_open(series, &cursor, &backward), ESK_OK);
    for (uint32_t i = 0; i < ROWS; i++) {
        uint32_t before = least_rows();
        next_check(&cursor, ROWS - 1 - i);
        moves += least_rows() != before ? 1 : 0;
    }
    ESK_CHECK(moves < ROWS / 4);
    esk_series_close(series);
    esk_volume_unmount(&volume);
}

/// Appends rows until the page at `position` is programmed. Returns how many
/// there are then.
static uint32_t append_to(uint32_t rows, uint32_t position) {
    uint8_t row[ROW_BYTES];
    while (series->data.head <= position) {
        row_make(rows, row);
        ESK_CHECK_INT(esk_series_append(series, row), ESK_OK);
        rows++;
    }
    return rows;
}

/* A drop of the newest rows reads the catalog into the write page. Its commit
   number may be the position of a page to come, which has nothing to do with
   what was read of the page before. */
ESK_TEST(rows_read_of_a_dropped_page_are_not_those_of_a_later_one) {
    enum { LEFT = ROWS - 5, COMMITS = 40 };
    uint32_t tested = 0;
    for (uint32_t commits = 0; commits < COMMITS; commits++) {
        struct esk_series_cursor cursor;
        uint8_t row[ROW_BYTES];
        uint8_t wanted[ROW_BYTES];
        ESK_CONTEXT("%u commits", (unsigned)commits);
        table_make(256, 64, 8);
        for (uint32_t i = 0; i < commits; i++) { /* drops no row */
            ESK_CHECK_INT(esk_series_erase_before(series, i + 1), ESK_OK);
        }
        row_make(ROWS - series->write_count, row);
        struct esk_series_query query = {.has_key_min = true,
                                         .key_min = esk_load_u32(row)};
        ESK_CHECK_INT(esk_series_cursor_open(series, &cursor, &query), ESK_OK);
        next_check(&cursor, ROWS - series->write_count);
        row_make(LEFT - 1, row);
        ESK_CHECK_INT(esk_series_erase_after(series, esk_load_u32(row)),
                      ESK_OK);
        uint32_t position = esk_page_sequence(series->write_page);
        if (position >= series->data.head) {
            tested++;
            uint32_t rows = append_to(LEFT, position);
            for (uint32_t i = rows - 10; i < rows; i++) {
                row_make(i, wanted);
                ESK_CHECK_INT(esk_series_get(series, esk_load_u32(wanted), row),
                              ESK_OK);
                ESK_CHECK_BYTES(row, wanted, ROW_BYTES);
            }
        }
        esk_series_close(series);
        esk_volume_unmount(&volume);
    }
    ESK_CHECK(tested > 10);
}

ESK_TEST_MAIN()
