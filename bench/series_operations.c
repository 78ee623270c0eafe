// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Operations on a series in RAM, each kind in a function of its own, for
/// bench_series_instructions.py to count under callgrind:
///
///     series_operations NAME     a data set of series_bench.h
///
/// 100,000 rows in pages of 512 bytes, 4 frames, 256 B of key index, one value
/// index; the medium is port/ram. Prints how many operations each function did:
/// "count_get 20000". Every returned row is compared with the appended rows,
/// outside of the counted functions.
#include "bench/series_bench.h"
#include "port/ram/ram.h"

enum {
    BLOCK_PAGES = 8,
    BLOCKS = 1024,
    GETS = 20000,
    RANGES = 5,
    TAILS = 4,
    ROW_BYTES_MAX = 16,
    FRAMES = 4,
    KEY_INDEX_BYTES = 256,
};

#define COUNTED __attribute__((noinline, noclone)) static

/// The state of the counted functions, made before.
struct operations {
    struct bench_table table;
    struct bench_data data;
    esk_key keys[GETS];
    uint32_t indexes[GETS];
    uint8_t rows[GETS][ROW_BYTES_MAX];
};

static struct operations ops;

COUNTED uint32_t count_append(struct operations *all) {
    const uint8_t *row = all->data.rows;
    for (uint32_t i = 0; i < all->data.count; i++) {
        BENCH_DO(esk_series_append(all->table.series, row));
        row += all->data.row_bytes;
    }
    return all->data.count;
}

COUNTED uint32_t count_get(struct operations *all) {
    for (uint32_t i = 0; i < GETS; i++) {
        BENCH_DO(esk_series_get(all->table.series, all->keys[i], all->rows[i]));
    }
    return GETS;
}

/// Runs `query` `times` times. Returns the rows.
static inline __attribute__((always_inline)) uint32_t
query_rows(struct operations *all, const struct esk_series_query *query,
           uint32_t times) {
    uint32_t rows = 0;
    for (uint32_t i = 0; i < times; i++) {
        struct esk_series_cursor cursor;
        uint8_t row[ROW_BYTES_MAX];
        BENCH_DO(esk_series_cursor_open(all->table.series, &cursor, query));
        while (esk_series_cursor_next(all->table.series, &cursor, row) ==
               ESK_OK) {
            rows++;
        }
    }
    return rows;
}

COUNTED uint32_t count_scan(struct operations *all) {
    struct esk_series_query query = {.range_count = 0};
    return query_rows(all, &query, 1);
}

COUNTED uint32_t count_range(struct operations *all,
                             const struct esk_series_query *query) {
    return query_rows(all, query, RANGES);
}

COUNTED uint32_t count_tail(struct operations *all,
                            const struct esk_series_query *query) {
    return query_rows(all, query, TAILS);
}

static void gets_draw(struct operations *all) {
    uint64_t seed = 1;
    for (uint32_t i = 0; i < GETS; i++) {
        all->indexes[i] = bench_random(&seed, all->data.count);
        all->keys[i] = bench_key(&all->data, all->indexes[i]);
    }
}

static void gets_verify(const struct operations *all) {
    for (uint32_t i = 0; i < GETS; i++) {
        BENCH_HOLDS(memcmp(all->rows[i], bench_row(&all->data, all->indexes[i]),
                           all->data.row_bytes) == 0);
    }
}

static void queries_run(struct operations *all) {
    const struct bench_data *data = &all->data;
    uint32_t part = data->count / 20;
    uint32_t first = data->count / 3;
    struct esk_series_query range = {
        .has_key_min = true,
        .has_key_max = true,
        .key_min = bench_key(data, first),
        .key_max = bench_key(data, first + part - 1),
    };
    uint32_t rows = count_range(all, &range);
    BENCH_HOLDS(rows == RANGES * part);
    printf("count_range %u\n", rows);

    struct bench_span span =
        bench_tail(data, bench_page_rows(data, BENCH_PAGE_BYTES));
    struct esk_series_range value = {
        .column = data->value_column,
        .has_lo = true,
        .has_hi = true,
        .lo = bench_number(data, span.lo),
        .hi = bench_number(data, span.hi),
    };
    struct esk_series_query tail = {.range_count = 1, .ranges = &value};
    BENCH_HOLDS(count_tail(all, &tail) == TAILS * span.rows);
    printf("count_tail %d\n", TAILS);
}

static bool data_named(struct bench_data *data, const char *name) {
    for (uint32_t i = 0; i < BENCH_DATA_COUNT; i++) {
        if (strcmp(bench_sets[i].name, name) == 0) {
            return bench_data_load(data, i);
        }
    }
    return false;
}

int main(int argc, char **argv) {
    const struct bench_shape shape = {.frames = FRAMES,
                                      .index_count = 1,
                                      .bitmap_bits = BENCH_BITMAP_BITS,
                                      .key_index_bytes = KEY_INDEX_BYTES};
    const struct esk_geometry geometry = {.block_count = BLOCKS,
                                          .block_pages = BLOCK_PAGES,
                                          .page_bytes = BENCH_PAGE_BYTES,
                                          .program_bytes = 1,
                                          .erased_value = 0xFF};
    size_t bytes = (size_t)BLOCKS * BLOCK_PAGES * BENCH_PAGE_BYTES;
    struct esk_ram_device ram;
    void *memory = bench_memory(bytes);
    if (argc < 2 || !data_named(&ops.data, argv[1])) {
        return 2;
    }
    memset(memory, geometry.erased_value, bytes);
    BENCH_DO(esk_ram_device_init(&ram, &geometry, memory, bytes));
    bench_create(&ops.table, &ram.device, &ops.data, &shape);
    BENCH_DO(bench_open(&ops.table, &ram.device, &ops.data, &shape, 0));
    gets_draw(&ops);
    printf("count_append %u\n", count_append(&ops));
    BENCH_DO(esk_series_sync(ops.table.series));
    printf("count_get %u\n", count_get(&ops));
    gets_verify(&ops);
    uint32_t rows = count_scan(&ops);
    BENCH_HOLDS(rows == ops.data.count);
    printf("count_scan %u\n", rows);
    queries_run(&ops);
    bench_close(&ops.table);
    bench_data_free(&ops.data);
    free(memory);
    return 0;
}
