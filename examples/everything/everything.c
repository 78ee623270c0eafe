// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A firmware that uses every call of a volume and a series once, so that `make
/// size` can measure all of EskerDB. It is no example of use: examples/minimal
/// is.
#include <stddef.h>
#include <stdint.h>

#include "driver.h"
#include "esker/esker.h"

enum { PAGE_BYTES = 512, ARENA_BYTES = 6 * PAGE_BYTES };

static const struct esk_device device = {
    .ops = &driver_ops,
    .geometry = {.block_count = 512,
                 .block_pages = 8,
                 .page_bytes = PAGE_BYTES,
                 .program_bytes = 1,
                 .erased_value = 0xFF},
};

static const struct esk_column columns[] = {
    {.name = "time", .type = ESK_TYPE_U32},
    {.name = "air", .type = ESK_TYPE_I32},
    {.name = "note", .type = ESK_TYPE_VAR},
};

static const struct esk_index_spec indexes[] = {
    {.column = 1, .bitmap_bits = 16},
};

static struct esk_volume volume;
static struct esk_series *series;
static struct esk_series_cursor cursor;
static const struct esk_series_range range = {.column = 1, .has_lo = true};
static uint64_t arena[ARENA_BYTES / sizeof(uint64_t)];
static uint8_t row[32];

static int make(void) {
    struct esk_volume_config config = {.uuid = {1}};
    struct esk_series_spec spec = {
        .table = {.name = "log",
                  .columns = columns,
                  .column_count = 3,
                  .row_bytes = 8 + ESK_VAR_REF_BYTES},
        .indexes = indexes,
        .index_count = 1,
        .data_blocks = 200,
        .index_blocks = 20,
        .var_blocks = 100,
    };
    ESK_TRY(esk_volume_format(&device, &config, arena, sizeof arena));
    ESK_TRY(esk_volume_mount(&volume, &device, 0, arena, sizeof arena));
    return esk_series_create(&volume, &spec, NULL);
}

static int write_rows(void) {
    static const char note[] = "a note";
    uint16_t done = 0;
    ESK_TRY(esk_series_append(series, row));
    ESK_TRY(esk_series_append_var(series, row, note, sizeof note));
    ESK_TRY(esk_series_append_many(series, row, 1, NULL));
    ESK_TRY(esk_volume_step(&volume, 1, &done));
    ESK_TRY(esk_series_sync(series));
    return esk_series_erase_before(series, 1);
}

static int scan(bool backward) {
    struct esk_series_query query = {
        .backward = backward, .range_count = 1, .ranges = &range};
    struct esk_series_value value;
    uint8_t text[16];
    uint32_t got = 0;
    ESK_TRY(esk_series_cursor_open(series, &cursor, &query));
    ESK_TRY(esk_series_cursor_next(series, &cursor, row));
    ESK_TRY(esk_series_value_open(series, row, &value));
    return esk_series_value_read(series, &value, text, sizeof text, &got);
}

static int read_rows(void) {
    struct esk_series_report report;
    struct esk_series_stats stats;
    uint32_t count = 0;
    ESK_TRY(esk_series_get(series, 1, row));
    ESK_TRY(esk_series_floor(series, 1, row));
    ESK_TRY(esk_series_ceiling(series, 1, row));
    ESK_TRY(esk_series_newest(series, row));
    ESK_TRY(esk_series_oldest(series, row));
    ESK_TRY(esk_series_count(series, &count));
    ESK_TRY(scan(false));
    ESK_TRY(scan(true));
    esk_series_stats(series, &stats);
    return esk_series_check(series, &report);
}

int main(void) {
    ESK_TRY(make());
    ESK_TRY(esk_series_open(&series, &volume, "log", NULL));
    ESK_TRY(write_rows());
    ESK_TRY(read_rows());
    esk_series_close(series);
    return esk_volume_drop(&volume, "log");
}
