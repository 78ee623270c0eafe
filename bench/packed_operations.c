// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Operations on a packed series in RAM, each kind in a function of its own,
/// for bench_packed_instructions.py to count under callgrind:
///
///     packed_operations NAME CELL [given]     a data set; bytes of a cell, 0:
///                                             the default; buckets given
///
/// Pages of 512 bytes, 4 frames, one value index, its buckets learned; the
/// medium is port/ram. Appends that complete a page are counted apart: they are
/// known from a table that was filled with the same rows before. Every returned
/// row is compared with the appended rows, outside of the counted functions.
#include "bench/packed_bench.h"
#include "port/ram/ram.h"

enum { BLOCK_PAGES = 8, BLOCKS = 1024, FRAMES = 4, BACK_ROWS = 20000 };

#define COUNTED __attribute__((noinline, noclone)) static

static struct bench_table table;
static struct bench_data data;
static bool completes[BENCH_ROWS_MAX]; ///< the row's append ends a page
static uint8_t rows[BENCH_ROWS_MAX][BENCH_ROW_BYTES_MAX];

COUNTED void count_append(const uint8_t *row) {
    BENCH_DO(esk_series_append(table.series, row));
}

COUNTED void count_complete(const uint8_t *row) {
    BENCH_DO(esk_series_append(table.series, row));
}

static inline __attribute__((always_inline)) uint32_t
rows_read(const struct esk_series_query *query, uint32_t most) {
    struct esk_series_cursor cursor;
    uint32_t count = 0;
    BENCH_DO(esk_series_cursor_open(table.series, &cursor, query));
    while (count < most && esk_series_cursor_next(table.series, &cursor,
                                                  rows[count]) == ESK_OK) {
        count++;
    }
    return count;
}

COUNTED uint32_t count_scan(const struct esk_series_query *query) {
    return rows_read(query, data.count);
}

COUNTED uint32_t count_back(const struct esk_series_query *query) {
    return rows_read(query, BACK_ROWS);
}

static void fill(uint32_t *counts) {
    for (uint32_t i = 0; i < data.count; i++) {
        if (completes[i]) {
            count_complete(bench_row(&data, i));
        } else {
            count_append(bench_row(&data, i));
        }
        counts[completes[i]]++;
    }
}

/// Notes which rows complete a page.
static void completes_find(void) {
    struct esk_series_stats stats;
    uint32_t pages = 0;
    for (uint32_t i = 0; i < data.count; i++) {
        BENCH_DO(esk_series_append(table.series, bench_row(&data, i)));
        esk_series_stats(table.series, &stats);
        completes[i] = stats.pages != pages;
        pages = stats.pages;
    }
}

static void reads(void) {
    struct esk_series_query query = {.range_count = 0};
    uint32_t count = count_scan(&query);
    BENCH_HOLDS(count == data.count);
    for (uint32_t i = 0; i < count; i++) {
        BENCH_HOLDS(memcmp(rows[i], bench_row(&data, i), data.row_bytes) == 0);
    }
    printf("count_scan %u\n", count);
    query.backward = true;
    count = count_back(&query);
    for (uint32_t i = 0; i < count; i++) {
        BENCH_HOLDS(memcmp(rows[i], bench_row(&data, data.count - 1 - i),
                           data.row_bytes) == 0);
    }
    printf("count_back %u\n", count);
}

static bool data_named(const char *name) {
    for (uint32_t i = 0; i < BENCH_DATA_COUNT; i++) {
        if (strcmp(bench_sets[i].name, name) == 0) {
            return bench_data_load(&data, i);
        }
    }
    return false;
}

int main(int argc, char **argv) {
    const struct bench_shape shape = {.frames = FRAMES,
                                      .index_count = 1,
                                      .bitmap_bits = BENCH_BITMAP_BITS,
                                      .given = argc > 3};
    const struct esk_geometry geometry = {.block_count = BLOCKS,
                                          .block_pages = BLOCK_PAGES,
                                          .page_bytes = BENCH_PAGE_BYTES,
                                          .program_bytes = 1,
                                          .erased_value = 0xFF};
    size_t bytes = (size_t)BLOCKS * BLOCK_PAGES * BENCH_PAGE_BYTES;
    struct esk_ram_device ram;
    uint32_t counts[2] = {0, 0};
    void *memory = bench_memory(bytes);
    if (argc < 3 || !data_named(argv[1])) {
        return 2;
    }
    for (int pass = 0; pass < 2; pass++) {
        memset(memory, geometry.erased_value, bytes);
        BENCH_DO(esk_ram_device_init(&ram, &geometry, memory, bytes));
        packed_make(&table, &ram.device, &data, &shape, true,
                    (uint16_t)atoi(argv[2]));
        if (pass == 0) {
            completes_find();
            bench_close(&table);
        }
    }
    fill(counts);
    printf("count_append %u\ncount_complete %u\n", counts[0], counts[1]);
    BENCH_DO(esk_series_sync(table.series));
    reads();
    bench_close(&table);
    bench_data_free(&data);
    free(memory);
    return 0;
}
