// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The cost of one call of a series: pages programmed and read by an append and
/// by a sync, mean, 99.9th percentile and maximum.
///
///     append    10,000 rows and all of them, into a region that has room,
///               and into a ring of 128 blocks that drops its oldest
///     sync      one every SYNC_ROWS rows
///
/// Pages of 512 bytes, 8 a block, byte programs, four frames.
#include "bench/calls.h"
#include "bench/series_medium.h"

static const char bench[] = "series_calls";

enum { SYNC_ROWS = 3, FIRST_ROWS = 10000, RING_BLOCKS = 128 };

/// Where the rows are stored, and its name in a figure.
struct place {
    const char *name;
    uint32_t blocks; ///< of the medium
};

static const struct place places[] = {{"room for all", MEDIUM_BLOCKS},
                                      {"ring that drops", RING_BLOCKS}};

static struct esk_sim *medium_of(uint32_t blocks) {
    struct esk_sim *sim = NULL;
    struct esk_sim_config config = {
        .geometry = {.block_count = blocks,
                     .block_pages = MEDIUM_BLOCK_PAGES,
                     .page_bytes = BENCH_PAGE_BYTES,
                     .program_bytes = 1,
                     .erased_value = 0xFF},
        .seed = 1,
    };
    BENCH_DO(esk_sim_create(&sim, &config));
    return sim;
}

/// Appends `rows` rows, with a sync each `sync_rows`; 0: none. Prints the cost
/// of the calls of each kind.
static void measure(const struct bench_data *data, const struct place *place,
                    uint8_t indexes, uint32_t rows, uint32_t sync_rows) {
    static struct bench_table table;
    struct bench_shape shape = {
        .frames = 4, .index_count = indexes, .bitmap_bits = BENCH_BITMAP_BITS};
    struct esk_sim *sim = medium_of(place->blocks);
    struct calls calls = {.sim = sim};
    char config[96];
    bench_create(&table, esk_sim_device(sim), data, &shape);
    BENCH_DO(bench_open(&table, esk_sim_device(sim), data, &shape, 0));
    for (uint32_t i = 0; i < rows; i++) {
        if (sync_rows == 0) {
            calls_begin(&calls);
        }
        BENCH_DO(esk_series_append(table.series, bench_row(data, i)));
        if (sync_rows == 0) {
            calls_end(&calls);
        } else if (i % sync_rows == sync_rows - 1) {
            calls_begin(&calls);
            BENCH_DO(esk_series_sync(table.series));
            calls_end(&calls);
        }
    }
    snprintf(config, sizeof config, "%s, %s rows, %s", place->name,
             rows == FIRST_ROWS ? "10,000" : "all",
             indexes > 0 ? "1 value index" : "no value index");
    calls_print(bench, data->name, sync_rows > 0 ? "a sync" : "an append",
                &calls, config);
    bench_close(&table);
    esk_sim_destroy(sim);
}

int main(void) {
    static const uint32_t sizes[] = {FIRST_ROWS, BENCH_ROWS_MAX};
    for (uint32_t i = 0; i < BENCH_DATA_COUNT; i++) {
        struct bench_data data;
        if (!bench_data_load(&data, i)) {
            continue;
        }
        for (uint32_t p = 0; p < sizeof places / sizeof *places; p++) {
            for (uint32_t k = 0; k < 4; k++) {
                uint32_t rows = sizes[k / 2];
                rows = rows < data.count ? rows : data.count;
                measure(&data, &places[p], k % 2, rows, 0);
            }
            measure(&data, &places[p], 1, data.count, SYNC_ROWS);
        }
        bench_data_free(&data);
    }
    return 0;
}
