// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The series table on a chip: every operation is measured, and every answer is
/// compared with the input and added to a digest.
///
///     input:  struct input, then rows of 16 bytes in rising key order
///     -DSERIES_CHECKSUM   enum esk_checksum
///     -DSERIES_INDEXES    0 or 1 value index, on the first value
///     -DSERIES_FLAGS      enum esk_mount_flags
///     -DSERIES_FRAMES     page frames; 0: as few as the table needs
///     -DSERIES_PACKED     0 or 1: pages are packed
///     -DSERIES_GETS       how many of random keys
///
/// The stack of a group is that of its calls below `measure_*`, without the
/// frame of `measure_*`, which is the application's.
#include <stddef.h>
#include <string.h>

#include "bench/mcu/firmware.h"
#include "bench/mcu/medium.h"
#include "esker/esker.h"

#ifndef SERIES_CHECKSUM
#define SERIES_CHECKSUM ESK_CHECKSUM_CRC32C
#endif
#ifndef SERIES_INDEXES
#define SERIES_INDEXES 1
#endif
#ifndef SERIES_FLAGS
#define SERIES_FLAGS 0
#endif
#ifndef SERIES_FRAMES
#define SERIES_FRAMES 0
#endif
#ifndef SERIES_PACKED
#define SERIES_PACKED 0
#endif
#ifndef SERIES_GETS
#define SERIES_GETS 1000
#endif

enum {
    PAGE_BYTES = 512,
    ARENA_BYTES = SERIES_PACKED ? 4608 : 3072,
    GETS = SERIES_GETS,
    SYNC_ROWS = 3,   ///< appended before each sync
    RANGE_PART = 20, ///< one in this many rows is in the range
    COLUMNS = 4,
    BITMAP_BITS = 16,
};

struct row {
    uint32_t key;
    int32_t value[3];
};

/// Head of the input.
struct input {
    uint32_t rows;       ///< to append; syncs * SYNC_ROWS more follow
    int32_t value_min;   ///< the query is for rows with value[0] from here on
    uint32_t value_rows; ///< how many of `rows` these are
    uint32_t syncs;      ///< measured at the end
};

static struct input input;
static struct esk_volume volume;
static struct esk_series *series;
static struct esk_series_cursor cursor;
static uint64_t arena[ARENA_BYTES / sizeof(uint64_t)];

static const struct esk_series_config config = {.key_index_bytes = 256,
                                                .frames = SERIES_FRAMES};

/// Parts of the program: without a value index as few as possible.
#if SERIES_INDEXES == 0
static const struct esk_series_parts parts = {
    .keys = &esk_series_part_keys,
    .ranges = &esk_series_part_ranges,
    .packed = SERIES_PACKED ? &esk_series_part_packed : NULL};
#else
#define parts esk_series_parts_all
#endif

static void input_row(uint32_t index, struct row *row) {
    FIRMWARE_DO(esk_board_input((uint32_t)(sizeof input + index * sizeof *row),
                                row, sizeof *row));
}

static void create(void) {
    static const struct esk_column columns[COLUMNS] = {
        {"key", "s", ESK_TYPE_U32, 0, 0, NULL, 0},
        {"v1", "", ESK_TYPE_I32, 0, 0, NULL, 0},
        {"v2", "", ESK_TYPE_I32, 0, 0, NULL, 0},
        {"v3", "", ESK_TYPE_I32, 0, 0, NULL, 0},
    };
    static const struct esk_index_spec index = {.column = 1,
                                                .bitmap_bits = BITMAP_BITS};
    static const struct esk_series_spec spec = {
        .table = {.name = "log",
                  .columns = columns,
                  .column_count = COLUMNS,
                  .row_bytes = sizeof(struct row)},
        .indexes = &index,
        .index_count = SERIES_INDEXES,
        .codec = SERIES_PACKED ? ESK_CODEC_PACKED : ESK_CODEC_RAW,
    };
    static const struct esk_volume_config format = {
        .uuid = {0xE5, 0xCE}, .checksum = SERIES_CHECKSUM};
    struct esk_fault fault;
    int status;

    firmware_group_begin("create");
    FIRMWARE_MEASURE(status, esk_volume_format(&medium_device, &format, arena,
                                               sizeof arena));
    FIRMWARE_DO(status);
    FIRMWARE_MEASURE(status, esk_volume_mount(&volume, &medium_device, 0, arena,
                                              sizeof arena));
    FIRMWARE_DO(status);
    FIRMWARE_MEASURE(status, esk_series_create(&volume, &spec, &fault));
    FIRMWARE_DO(status);
    firmware_group_end(1);
    esk_volume_unmount(&volume);
}

static void measure_open(const char *name) {
    int status;
    firmware_group_begin(name);
    FIRMWARE_MEASURE(status,
                     esk_volume_mount(&volume, &medium_device, SERIES_FLAGS,
                                      arena, sizeof arena));
    FIRMWARE_DO(status);
    FIRMWARE_MEASURE(
        status, esk_series_open_with(&series, &parts, &volume, "log", &config));
    FIRMWARE_DO(status);
    firmware_group_end(1);
}

static void measure_append(void) {
    struct row row;
    int status;
    firmware_group_begin("append");
    for (uint32_t i = 0; i < input.rows; i++) {
        input_row(i, &row);
        FIRMWARE_MEASURE(status, esk_series_append(series, &row));
        FIRMWARE_DO(status);
    }
    firmware_group_end(input.rows);
}

static void measure_get(const char *name) {
    struct row wanted;
    struct row row;
    int status;
    firmware_group_begin(name);
    for (uint16_t i = 0; i < GETS; i++) {
        input_row(firmware_random(input.rows), &wanted);
        FIRMWARE_MEASURE(status, esk_series_get(series, wanted.key, &row));
        FIRMWARE_DO(status);
        FIRMWARE_HOLDS(memcmp(&row, &wanted, sizeof row) == 0);
        firmware_digest(&row, sizeof row);
    }
    firmware_group_end(GETS);
}

/// Runs `query`; with `first`, its rows must be those of the input from it on.
static void measure_query(const char *name,
                          const struct esk_series_query *query, int32_t first,
                          uint32_t rows_wanted) {
    struct row wanted;
    struct row row;
    uint32_t rows = 0;
    int status;
    firmware_group_begin(name);
    FIRMWARE_MEASURE(status, esk_series_cursor_open(series, &cursor, query));
    FIRMWARE_DO(status);
    for (;;) {
        FIRMWARE_MEASURE(status, esk_series_cursor_next(series, &cursor, &row));
        if (status != ESK_OK) {
            break;
        }
        if (first >= 0) {
            input_row((uint32_t)first + rows, &wanted);
            FIRMWARE_HOLDS(memcmp(&row, &wanted, sizeof row) == 0);
        } else {
            FIRMWARE_HOLDS(row.value[0] >= input.value_min);
        }
        firmware_digest(&row, sizeof row);
        rows++;
    }
    FIRMWARE_WANT(ESK_END, status);
    FIRMWARE_HOLDS(rows == rows_wanted);
    FIRMWARE_HOLDS(esk_series_cursor_damaged(&cursor) == 0);
    firmware_group_end(rows);
}

static void measure_range(void) {
    uint32_t rows = input.rows / RANGE_PART;
    uint32_t first = input.rows / 2;
    struct esk_series_query query = {.has_key_min = true, .has_key_max = true};
    struct row row;
    input_row(first, &row);
    query.key_min = row.key;
    input_row(first + rows - 1, &row);
    query.key_max = row.key;
    measure_query("range", &query, (int32_t)first, rows);
}

static void measure_value(void) {
    struct esk_series_range range = {.column = 1, .has_lo = true};
    struct esk_series_query query = {.range_count = 1, .ranges = &range};
    range.lo.i = input.value_min;
    measure_query("value", &query, -1, input.value_rows);
}

static void measure_sync(void) {
    struct row row;
    int status;
    uint32_t at = input.rows;
    firmware_group_begin("sync");
    for (uint32_t i = 0; i < input.syncs; i++) {
        for (uint8_t k = 0; k < SYNC_ROWS; k++) {
            input_row(at++, &row);
            FIRMWARE_DO(esk_series_append(series, &row));
        }
        FIRMWARE_MEASURE(status, esk_series_sync(series));
        FIRMWARE_DO(status);
    }
    firmware_group_end(input.syncs);
}

/// RAM of the table here, with pointers.
static void print_ram(void) {
    struct esk_table_info info;
    FIRMWARE_DO(
        esk_volume_mount(&volume, &medium_device, 0, arena, sizeof arena));
    FIRMWARE_DO(esk_volume_find(&volume, "log", &info));
    firmware_text("# ram");
    firmware_pair("arena",
                  esk_series_arena_bytes_with(&volume, &parts, &info, &config));
    firmware_pair("volume", (uint32_t)sizeof volume);
    firmware_pair("cursor", (uint32_t)sizeof cursor);
    firmware_line();
    esk_volume_unmount(&volume);
}

static void leave(void) {
    esk_series_close(series);
    esk_volume_unmount(&volume);
}

int main(void) {
    FIRMWARE_DO(esk_board_input(0, &input, sizeof input));
    firmware_measure_nothing();
    create();
    print_ram();
    measure_open("open");
    measure_append();
    int status;
    firmware_group_begin("last_sync");
    FIRMWARE_MEASURE(status, esk_series_sync(series));
    FIRMWARE_DO(status);
    firmware_group_end(1);
    measure_get("get");
    measure_query("scan", NULL, 0, input.rows);
    measure_range();
    measure_value();
    leave();
    measure_open("reopen");
    measure_get("get_reopened");
    measure_sync();
    leave();
    firmware_measure_medium((uint8_t *)arena);
    esk_board_exit(0);
}
