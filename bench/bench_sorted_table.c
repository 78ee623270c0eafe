// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A series with a sorted index, on the load of bench_sorted.c: a ring that
/// holds the set about once is written twice, and queries are asked at 20
/// moments of the second time. What the index adds is the difference to the
/// same series without one. docs/results/sorted.md has the figures.
#include "base/order.h"
#include "bench/sorted_bench.h"
#include "port/sim/sim.h"
#include "table/series/series.h"

static const char bench[] = "sorted_table";

enum {
    BLOCK_PAGES = 8,
    META_BLOCKS = 8,
    KEY_INDEX_BYTES = 2048,
    READS_MAX = BENCH_SORTED_QUERIES * BENCH_SORTED_MOMENTS,
};

struct settings {
    const char *name;
    uint16_t entries; ///< 0: no sorted index
    bool summary;     ///< a page index of the column, too
};

struct table {
    const struct bench_data *data;
    struct esk_sim *sim;
    struct esk_volume volume;
    struct esk_series *series;
    void *arena;
    uint32_t arena_bytes;
    uint32_t index_blocks;
    uint32_t rows; ///< appended
    uint32_t programs_max;
    uint64_t page[BENCH_PAGE_BYTES / sizeof(uint64_t)];
};

/// What a run has measured.
struct measured {
    struct bench_tally reads;
    uint32_t each[READS_MAX]; ///< of the queries
    double programs;          ///< an append, in the second time
    uint32_t programs_max;
    uint32_t mount_reads;
    uint32_t first_reads; ///< of the first query after a mount
    uint32_t index_blocks;
    uint32_t arena_bytes;
    uint32_t lost; ///< data pages that a full ring left without a run
};

/// The least number that 99.9 % of the queries do not exceed.
static uint32_t most_of(struct measured *measured) {
    uint32_t count = measured->reads.count;
    qsort(measured->each, count, sizeof *measured->each, bench_order_compare);
    return measured->each[(count * UINT32_C(999) + 999) / 1000 - 1];
}

static uint32_t reads_of(const struct table *table) {
    struct esk_series_stats stats;
    esk_series_stats(table->series, &stats);
    return stats.page_reads;
}

static uint32_t programs_of(const struct table *table) {
    struct esk_series_stats stats;
    esk_series_stats(table->series, &stats);
    return stats.page_programs;
}

static void table_open(struct table *table) {
    struct esk_series_config config = {.key_index_bytes = KEY_INDEX_BYTES};
    struct esk_table_info info;
    BENCH_DO(esk_volume_mount(&table->volume, esk_sim_device(table->sim), 0,
                              table->page, sizeof table->page));
    BENCH_DO(esk_volume_find(&table->volume, "log", &info));
    table->arena_bytes = esk_series_arena_bytes(&table->volume, &info, &config);
    table->arena = bench_memory(table->arena_bytes);
    BENCH_DO(
        esk_volume_arena_set(&table->volume, table->arena, table->arena_bytes));
    BENCH_DO(esk_series_open(&table->series, &table->volume, "log", &config));
}

static void table_close(struct table *table) {
    esk_series_close(table->series);
    esk_volume_unmount(&table->volume);
    free(table->arena);
}

static void table_make(struct table *table, const struct bench_data *data,
                       const struct settings *settings) {
    struct esk_column columns[] = {
        {.name = "key", .type = data->key_type},
        {.name = "a", .type = ESK_TYPE_I32},
        {.name = "b", .type = ESK_TYPE_I32},
        {.name = "c", .type = ESK_TYPE_I32},
    };
    struct esk_index_spec indexes[2] = {
        {.kind = ESK_INDEX_SORTED,
         .column = data->value_column,
         .entries = settings->entries},
        {.column = data->value_column, .bitmap_bits = 64}};
    uint32_t pages = data->count / bench_page_rows(data, BENCH_PAGE_BYTES);
    columns[data->value_column].type = data->value_type;
    struct esk_series_spec spec = {
        .table = {.name = "log",
                  .columns = columns,
                  .column_count = data->key_type == ESK_TYPE_I64 ? 2 : 4,
                  .row_bytes = data->row_bytes},
        .indexes = settings->entries > 0 ? indexes : indexes + 1,
        .index_count = (uint8_t)((settings->entries > 0) + settings->summary),
        .data_blocks = pages / BLOCK_PAGES + 2,
        .index_blocks = 40,
    };
    struct esk_sim_config sim = {.geometry = {.block_pages = BLOCK_PAGES,
                                              .page_bytes = BENCH_PAGE_BYTES,
                                              .program_bytes = 1,
                                              .erased_value = 0xFF}};
    struct esk_volume_config volume = {.tables_max = 1};
    memset(table, 0, sizeof *table);
    table->data = data;
    sim.geometry.block_count = 1024; /* for the check of the geometry */
    esk_series_sorted_blocks(&sim.geometry, &spec, spec.data_blocks);
    table->index_blocks = spec.sorted_blocks + spec.merged_blocks;
    spec.data_blocks += table->index_blocks;
    sim.geometry.block_count =
        META_BLOCKS + spec.data_blocks + spec.index_blocks;
    BENCH_DO(esk_sim_create(&table->sim, &sim));
    BENCH_DO(esk_volume_mount_or_format(&table->volume,
                                        esk_sim_device(table->sim), 0, &volume,
                                        table->page, sizeof table->page));
    BENCH_DO(esk_series_create(&table->volume, &spec, NULL));
    esk_volume_unmount(&table->volume);
    table_open(table);
}

/// The key of a row is its number, so that the set can be written twice.
static void row_append(struct table *table) {
    const struct bench_data *data = table->data;
    uint8_t row[BENCH_ROW_BYTES_MAX];
    uint64_t key = table->rows;
    uint32_t before = programs_of(table);
    memcpy(row, bench_row(data, table->rows % data->count), data->row_bytes);
    memcpy(row, &key, data->key_type == ESK_TYPE_I64 ? 8 : 4);
    BENCH_DO(esk_series_append(table->series, row));
    table->rows++;
    uint32_t done = programs_of(table) - before;
    table->programs_max =
        done > table->programs_max ? done : table->programs_max;
}

/// The number that has the order form `order`.
static union esk_number number_of(const struct bench_data *data,
                                  uint32_t order) {
    const uint32_t sign = UINT32_C(1) << 31;
    union esk_number number = {.u = 0};
    if (data->value_type == ESK_TYPE_F32) {
        uint32_t bits = (order & sign) != 0 ? order ^ sign : ~order;
        memcpy(&number.f32, &bits, sizeof bits);
    } else {
        number.i = (int32_t)(order ^ sign);
    }
    return number;
}

/// Asks for a span; checks the number of rows. Returns the page reads.
static uint32_t query(struct table *table, const uint32_t *orders,
                      const struct bench_sorted_span *span) {
    const struct bench_data *data = table->data;
    uint8_t row[BENCH_ROW_BYTES_MAX];
    struct esk_series_range range = {.column = data->value_column,
                                     .has_lo = true,
                                     .has_hi = true,
                                     .lo = number_of(data, span->lo),
                                     .hi = number_of(data, span->hi)};
    struct esk_series_query asked = {.ranges = &range, .range_count = 1};
    struct esk_series_cursor cursor;
    uint32_t found = 0;
    uint32_t expected = 0;
    uint32_t oldest = 0;
    BENCH_DO(esk_series_oldest(table->series, row));
    memcpy(&oldest, row, sizeof oldest);
    for (uint32_t i = oldest; i < table->rows; i++) {
        uint32_t order = orders[i % data->count];
        expected += order >= span->lo && order <= span->hi;
    }
    uint32_t before = reads_of(table);
    BENCH_DO(esk_series_cursor_open(table->series, &cursor, &asked));
    while (esk_series_cursor_next(table->series, &cursor, row) == ESK_OK) {
        found++;
    }
    BENCH_HOLDS(found == expected);
    return reads_of(table) - before;
}

/// Writes the set twice, and asks in the second time.
static void run(const struct bench_data *data, const struct settings *settings,
                const uint32_t *orders, struct measured *measured) {
    static struct table table;
    struct bench_sorted_span spans[BENCH_SORTED_QUERIES];
    table_make(&table, data, settings);
    memset(measured, 0, sizeof *measured);
    struct bench_tally *reads = &measured->reads;
    bench_sorted_spans(orders, data->count, spans);
    while (table.rows < data->count) {
        row_append(&table);
    }
    uint32_t before = programs_of(&table);
    while (table.rows < 2 * data->count) {
        row_append(&table);
        for (uint32_t i = 0; bench_sorted_asks(table.rows, data->count) &&
                             i < BENCH_SORTED_QUERIES;
             i++) {
            measured->each[reads->count] = query(&table, orders, &spans[i]);
            bench_tally_add(reads, measured->each[reads->count]);
        }
    }
    measured->programs =
        (double)(programs_of(&table) - before) / (double)data->count;
    measured->programs_max = table.programs_max;
    measured->index_blocks = table.index_blocks;
    if (settings->entries > 0) {
        measured->lost = table.series->sorting->index.lost;
    }
    BENCH_DO(esk_series_sync(table.series));
    table_close(&table);
    table_open(&table);
    measured->arena_bytes = table.arena_bytes;
    measured->mount_reads = reads_of(&table);
    measured->first_reads = query(&table, orders, &spans[0]);
    table_close(&table);
    esk_sim_destroy(table.sim);
}

static void measure(const struct bench_data *data,
                    const struct settings *settings, const uint32_t *orders,
                    const struct measured *plain) {
    struct measured found;
    run(data, settings, orders, &found);
    double bytes = (double)found.index_blocks * BLOCK_PAGES * BENCH_PAGE_BYTES;
    struct {
        const char *metric;
        double value;
        const char *unit;
    } figures[] = {
        {"page reads, mean", bench_tally_mean(&found.reads), "reads"},
        {"page reads, p99.9", most_of(&found), "reads"},
        {"page reads, max", (double)found.reads.max, "reads"},
        {"programs an append", found.programs - plain->programs, "programs"},
        {"programs of an append, max", found.programs_max, "programs"},
        {"programs of an append, max, without it", plain->programs_max,
         "programs"},
        {"data pages without a run", found.lost, "pages"},
        {"page reads of a mount", found.mount_reads, "reads"},
        {"page reads of the first query", found.first_reads, "reads"},
        {"bytes a row", bytes / (double)data->count, "B"},
        {"RAM", (double)found.arena_bytes - plain->arena_bytes, "B"},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        bench_print(bench, figures[i].metric, data, figures[i].value,
                    figures[i].unit, "%s", settings->name);
    }
}

static const struct settings none = {"no index", 0, false};
static const struct settings chosen = {"4608 entries, in a series", 4608,
                                       false};
static const struct settings others[] = {
    {"2560 entries, in a series", 2560, false},
    {"8192 entries, in a series", 8192, false},
    {"4608 entries, in a series with a summary of 64 buckets", 4608, true},
};

int main(void) {
    for (uint32_t i = 0; i < BENCH_DATA_COUNT; i++) {
        struct bench_data data;
        struct measured plain;
        if (!bench_data_load(&data, i)) {
            continue;
        }
        uint32_t *orders = malloc(data.count * sizeof *orders);
        BENCH_HOLDS(orders != NULL);
        for (uint32_t j = 0; j < data.count; j++) {
            orders[j] = esk_order_load32(
                data.value_type, bench_row(&data, j) + data.value_offset);
        }
        run(&data, &none, orders, &plain);
        measure(&data, &chosen, orders, &plain);
        for (size_t j = 0; j < sizeof others / sizeof *others; j++) {
            if (strcmp(data.name, "watch") == 0) {
                measure(&data, &others[j], orders, &plain);
            }
        }
        free(orders);
        bench_data_free(&data);
    }
    return 0;
}
