// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What small pieces cost: a sync after each row where a page is programmed
/// once, and a long variable value that is read in pieces.
///
/// Syncs: 64 pages of 512 bytes, rows of 12 bytes, the oldest block is dropped.
/// A figure is the least that a scan returns of any moment after 4,000 rows.
/// Values: 100,000 bytes on pages of 512 bytes, with the fewest frames, opened
/// anew for each size of the pieces. The dataset of a figure is the medium.
#include "bench/series_bench.h"
#include "port/sim/sim.h"

static const char bench[] = "series_pieces";

enum {
    REGION_PAGES = 64,
    ROWS = 9000,
    ROWS_FILL = 4000,
    ROWS_SCAN = 31, ///< rows between two scans
    VALUE_BYTES = 100000,
    PIECE_BYTES_MAX = 4096,
};

/// A volume with one table.
struct piece_table {
    struct esk_sim *sim;
    struct esk_volume volume;
    struct esk_series *series;
    uint64_t arena[2048];
    uint8_t page[512];
};

static void table_open(struct piece_table *table) {
    BENCH_DO(esk_volume_mount(&table->volume, esk_sim_device(table->sim), 0,
                              table->page, sizeof table->page));
    BENCH_DO(esk_volume_arena_set(&table->volume, table->arena,
                                  sizeof table->arena));
    BENCH_DO(esk_series_open(&table->series, &table->volume, "log", NULL));
}

static void table_make(struct piece_table *table,
                       const struct esk_geometry *geometry,
                       const struct esk_series_spec *spec) {
    struct esk_sim_config config = {.geometry = *geometry, .seed = 1};
    BENCH_DO(esk_sim_create(&table->sim, &config));
    const struct esk_device *device = esk_sim_device(table->sim);
    const struct esk_volume_config volume = {.tables_max = 1};
    BENCH_DO(
        esk_volume_format(device, &volume, table->page, sizeof table->page));
    BENCH_DO(esk_volume_mount(&table->volume, device, 0, table->page,
                              sizeof table->page));
    BENCH_DO(esk_volume_arena_set(&table->volume, table->arena,
                                  sizeof table->arena));
    BENCH_DO(esk_series_create(&table->volume, spec, NULL));
    BENCH_DO(esk_volume_unmount(&table->volume));
    table_open(table);
}

static void table_end(struct piece_table *table) {
    BENCH_HOLDS(esk_sim_violations(table->sim) == 0);
    esk_series_close(table->series);
    BENCH_DO(esk_volume_unmount(&table->volume));
    esk_sim_destroy(table->sim);
}

static uint32_t rows_of(struct piece_table *table) {
    struct esk_series_cursor cursor;
    uint8_t row[16];
    uint32_t rows = 0;
    BENCH_DO(esk_series_cursor_open(table->series, &cursor, NULL));
    while (esk_series_cursor_next(table->series, &cursor, row) == ESK_OK) {
        rows++;
    }
    return rows;
}

static void measure_syncs(const char *medium,
                          const struct esk_geometry *geometry) {
    static const struct esk_column columns[] = {
        {.name = "at", .type = ESK_TYPE_U32},
        {.name = "level", .type = ESK_TYPE_U64},
    };
    static struct piece_table table;
    const struct bench_data data = {.name = medium};
    const struct esk_series_spec spec = {
        .table = {.name = "log",
                  .columns = columns,
                  .column_count = 2,
                  .row_bytes = 12},
        .data_blocks = (uint32_t)(REGION_PAGES / geometry->block_pages),
        .index_blocks = 4,
    };
    uint32_t least = UINT32_MAX;
    table_make(&table, geometry, &spec);
    for (uint32_t key = 1; key <= ROWS; key++) {
        uint32_t row[3] = {key, key * 77u, key % 5u};
        BENCH_DO(esk_series_append(table.series, row));
        BENCH_DO(esk_series_sync(table.series));
        if (key > ROWS_FILL && key % ROWS_SCAN == 0) {
            uint32_t rows = rows_of(&table);
            least = rows < least ? rows : least;
        }
    }
    bench_print(bench, "rows kept, a sync a row", &data, least, "",
                "64 pages, %u a block", (unsigned)geometry->block_pages);
    table_end(&table);
}

static void measure_value(void) {
    static const struct esk_geometry geometry = {.block_count = 64,
                                                 .block_pages = 8,
                                                 .page_bytes = 512,
                                                 .program_bytes = 1,
                                                 .erased_value = 0xFF};
    static const struct esk_column columns[] = {
        {.name = "at", .type = ESK_TYPE_U32},
        {.name = "text", .type = ESK_TYPE_VAR},
    };
    static const struct bench_data data = {.name = "NOR"};
    static struct piece_table table;
    static uint8_t value[VALUE_BYTES];
    uint8_t row[16] = {1};
    const struct esk_series_spec spec = {
        .table = {.name = "log",
                  .columns = columns,
                  .column_count = 2,
                  .row_bytes = 4 + ESK_VAR_REF_BYTES},
        .var_blocks = 40,
    };
    table_make(&table, &geometry, &spec);
    BENCH_DO(esk_series_append_var(table.series, row, value, sizeof value));
    BENCH_DO(esk_series_sync(table.series));
    BENCH_DO(esk_series_newest(table.series, row));
    bench_print(bench, "bytes of a row's reference to its value", &data,
                ESK_VAR_REF_BYTES, "B", "%s", "row");
    for (uint32_t piece = 1; piece <= PIECE_BYTES_MAX; piece *= 16) {
        struct esk_series_value reader;
        uint8_t bytes[PIECE_BYTES_MAX];
        uint32_t got = 1;
        esk_series_close(table.series);
        BENCH_DO(esk_volume_unmount(&table.volume));
        table_open(&table);
        uint64_t before = esk_sim_counters(table.sim)->reads;
        BENCH_DO(esk_series_value_open(table.series, row, &reader));
        while (got > 0) {
            BENCH_DO(esk_series_value_read(table.series, &reader, bytes, piece,
                                           &got));
        }
        bench_print(bench, "page reads, a value of 100,000 bytes", &data,
                    (double)(esk_sim_counters(table.sim)->reads - before),
                    "reads", "pieces of %u bytes", (unsigned)piece);
    }
    table_end(&table);
}

int main(void) {
    static const struct esk_geometry nor = {.block_count = 160,
                                            .block_pages = 4,
                                            .page_bytes = 512,
                                            .program_bytes = 1,
                                            .erased_value = 0xFF};
    for (uint16_t pages = 1; pages <= 4; pages = (uint16_t)(pages * 2)) {
        struct esk_geometry once = nor;
        once.block_count = 192u / pages;
        once.block_pages = pages;
        once.program_bytes = 512;
        once.programs_per_page_max = 1;
        measure_syncs("SPI NAND, DataFlash", &once);
        once.programs_per_page_max = 0;
        once.flags = ESK_MEDIUM_OVERWRITE;
        measure_syncs("SD card", &once);
    }
    measure_syncs("NOR", &nor);
    measure_value();
    return 0;
}
