// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Packed series tables beside raw ones: counts on pages of 256 to 4096 bytes,
/// and simulated time on an SD card, a NOR chip and a NAND chip.
///
/// Every row is appended, and what is read is compared with the rows. Columns
/// are packed as a user would declare them: bench_packed_sizes.c.
#include "bench/packed_bench.h"
#include "port/sim/sim.h"

static const char bench[] = "packed_tables";

enum {
    SETS = BENCH_DATA_COUNT + 1,
    GETS = 10000,
    RANGES = 20,
    VALUES = 25,        ///< value ranges, evenly over the ranks
    TIMED_ROWS = 20000, ///< appended for a figure of time
    TIMED_GETS = 1000,
    REGION_BYTES = 8 << 20,
    BLOCK_BYTES_MIN = 4096,
    BLOCK_PAGES_MIN = 8,
};

static const struct bench_data cycling = {
    .name = "cycling",
    .column = "speed",
    .row_bytes = 36,
    .value_offset = 20,
    .value_column = 4,
    .key_type = ESK_TYPE_I64,
    .value_type = ESK_TYPE_F32,
};

/* --------------------------------------------------------------- tables */

static bool cycling_load(struct bench_data *data) {
    char path[1024];
    const char *folder = getenv("ESK_DATA");
    *data = cycling;
    snprintf(path, sizeof path, "%s/sensors/cycling_gps.rec",
             folder != NULL ? folder : "../shared/data");
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        printf("skipped %s: no file %s\n", data->name, path);
        return false;
    }
    bench_data_read(data, file);
    return true;
}

static const struct bench_shape shape = {
    .frames = 4, .index_count = 1, .bitmap_bits = BENCH_BITMAP_BITS};

/* --------------------------------------------------------------- counts */

/// What is measured, and how its figures are named.
struct run {
    struct bench_table *table;
    struct esk_sim *sim;
    char config[64];
};

static void show(const struct run *run, const char *metric, double value,
                 const char *unit) {
    bench_print(bench, metric, run->table->data, value, unit, "%s",
                run->config);
}

static uint64_t reads(const struct run *run) {
    return esk_sim_counters(run->sim)->reads;
}

static void count_writes(const struct run *run, uint64_t programs_before) {
    const struct bench_data *data = run->table->data;
    uint64_t programs = esk_sim_counters(run->sim)->programs - programs_before;
    struct esk_series_stats stats;
    struct esk_space space;
    uint16_t page_bytes = esk_sim_device(run->sim)->geometry.page_bytes;
    esk_series_stats(run->table->series, &stats);
    esk_series_space(run->table->series, ESK_REGION_DATA, &space);
    show(run, "programs an append", (double)programs / data->count, "pages");
    show(run, "flash bytes a row",
         (double)page_bytes * (stats.pages + stats.index_pages) / data->count,
         "B");
    show(run, "rows a page", (double)data->count / stats.pages, "rows");
    show(run, "knots of the key index", stats.knots, "knots");
}

static void count_gets(const struct run *run) {
    uint64_t random = 88172645463325252u;
    uint64_t most = 0;
    uint64_t start = reads(run);
    for (uint32_t i = 0; i < GETS; i++) {
        uint64_t before = reads(run);
        bench_get(run->table, bench_random(&random, run->table->data->count));
        most = reads(run) - before > most ? reads(run) - before : most;
    }
    show(run, "reads of a get, mean", (double)(reads(run) - start) / GETS,
         "reads");
    show(run, "reads of a get, max", (double)most, "reads");
}

static void count_ranges(const struct run *run) {
    uint32_t rows = run->table->data->count / RANGES;
    uint64_t before = reads(run);
    for (uint32_t i = 0; i < RANGES; i++) {
        bench_key_range(run->table, i * rows, rows);
    }
    show(run, "reads of a 5 % key range, mean",
         (double)(reads(run) - before) / RANGES, "reads");
    before = reads(run);
    BENCH_HOLDS(bench_query(run->table, NULL) == run->table->data->count);
    show(run, "reads of a scan", (double)(reads(run) - before), "reads");
}

static void count_values(const struct run *run) {
    const struct bench_data *data = run->table->data;
    struct bench_span span = bench_tail(data, 1);
    uint64_t before = reads(run);
    bench_value_range(run->table, &span);
    show(run, "reads of the ten highest values", (double)(reads(run) - before),
         "reads");
    uint32_t rows = 0;
    before = reads(run);
    for (uint32_t i = 0; i < VALUES; i++) {
        uint64_t rank = (uint64_t)data->count * (2 * i + 1) / (2 * VALUES);
        span = bench_span_at(data, (uint32_t)rank - BENCH_TAIL_ROWS, 1);
        bench_value_range(run->table, &span);
        rows += span.rows;
    }
    show(run, "reads of a value range anywhere, mean",
         (double)(reads(run) - before) / VALUES, "reads");
    show(run, "rows of a value range anywhere, mean", (double)rows / VALUES,
         "rows");
}

static void count_mount(const struct run *run) {
    const struct bench_data *data = run->table->data;
    bench_close(run->table);
    uint64_t before = reads(run);
    BENCH_DO(bench_open(run->table, esk_sim_device(run->sim), data, &shape, 0));
    show(run, "reads of a mount", (double)(reads(run) - before), "reads");
}

static struct esk_sim *medium_make(uint16_t page_bytes) {
    uint32_t block = BLOCK_PAGES_MIN * page_bytes;
    struct esk_sim *sim = NULL;
    block = block < BLOCK_BYTES_MIN ? BLOCK_BYTES_MIN : block;
    struct esk_sim_config config = {
        .geometry = {.block_count = REGION_BYTES / block,
                     .block_pages = (uint16_t)(block / page_bytes),
                     .page_bytes = page_bytes,
                     .program_bytes = 1,
                     .erased_value = 0xFF},
        .seed = 1,
    };
    BENCH_DO(esk_sim_create(&sim, &config));
    return sim;
}

static void count(const struct bench_data *data) {
    static const uint16_t pages[] = {256, 512, 1024, 2048, 4096};
    static struct bench_table table;
    for (size_t i = 0; i < 2 * sizeof pages / sizeof *pages; i++) {
        bool packed = i % 2 == 1;
        struct run run = {.table = &table, .sim = medium_make(pages[i / 2])};
        snprintf(run.config, sizeof run.config, "%u B pages, %s", pages[i / 2],
                 packed ? "packed" : "raw");
        packed_make(&table, esk_sim_device(run.sim), data, &shape, packed, 0);
        uint64_t programs = esk_sim_counters(run.sim)->programs;
        bench_append(&table, 0, data->count);
        BENCH_DO(esk_series_sync(table.series));
        count_writes(&run, programs);
        count_gets(&run);
        count_ranges(&run);
        count_values(&run);
        count_mount(&run);
        bench_close(&table);
        BENCH_HOLDS(esk_sim_violations(run.sim) == 0);
        esk_sim_destroy(run.sim);
    }
}

/* ----------------------------------------------------------------- time */

static double now_us(const struct run *run) {
    return (double)esk_sim_counters(run->sim)->time_ns / 1000;
}

/// Appends TIMED_ROWS rows, or all, with a sync every `every`; 0: at the end.
static void time_appends(const struct run *run, uint32_t every) {
    const struct bench_data *data = run->table->data;
    uint32_t count = data->count < TIMED_ROWS ? data->count : TIMED_ROWS;
    double before = now_us(run);
    for (uint32_t i = 0; i < count; i++) {
        bench_append(run->table, i, i + 1);
        if (every != 0 && (i + 1) % every == 0) {
            BENCH_DO(esk_series_sync(run->table->series));
        }
    }
    BENCH_DO(esk_series_sync(run->table->series));
    bench_print(bench, "device's time of an append", data,
                (now_us(run) - before) / count, "us", "%s; a sync every %u",
                run->config, every == 0 ? count : every);
}

static void time_reads(const struct run *run) {
    uint64_t random = 88172645463325252u;
    struct esk_series_stats stats;
    uint32_t count = 0;
    double before = now_us(run);
    BENCH_DO(esk_series_count(run->table->series, &count));
    for (uint32_t i = 0; i < TIMED_GETS; i++) {
        bench_get(run->table, bench_random(&random, count));
    }
    show(run, "device's time of a get", (now_us(run) - before) / TIMED_GETS,
         "us");
    before = now_us(run);
    BENCH_HOLDS(bench_query(run->table, NULL) == count);
    show(run, "device's time of a row of a scan",
         (now_us(run) - before) / count, "us");
    struct esk_space space;
    esk_series_space(run->table->series, ESK_REGION_DATA, &space);
    esk_series_stats(run->table->series, &stats);
    show(run, "rows until 16 MiB drop their oldest",
         (double)count / stats.pages * space.pages * (16 << 20) /
             ((double)esk_sim_device(run->sim)->geometry.block_count *
              esk_sim_device(run->sim)->geometry.block_pages *
              esk_sim_device(run->sim)->geometry.page_bytes),
         "rows");
}

static void measure_times(const struct bench_data *data) {
    static const char *const parts[] = {"embeddb_sd_due", "btree2022_sd_mega",
                                        "w25q128jv", "mt29f2g08aac"};
    static const uint32_t every[] = {0, 1, 3, 10, 31, 100, 316, 1000};
    static struct bench_table table;
    for (size_t i = 0; i < 2 * sizeof parts / sizeof *parts; i++) {
        bool packed = i % 2 == 1;
        for (size_t k = 0; k < sizeof every / sizeof *every; k++) {
            struct esk_sim_config config = {.part = parts[i / 2], .seed = 1};
            struct run run = {.table = &table};
            BENCH_DO(esk_sim_create(&run.sim, &config));
            snprintf(run.config, sizeof run.config, "%s, %s", parts[i / 2],
                     packed ? "packed" : "raw");
            packed_make(&table, esk_sim_device(run.sim), data, &shape, packed,
                        0);
            time_appends(&run, every[k]);
            if (every[k] == 0) {
                time_reads(&run);
            }
            bench_close(&table);
            BENCH_HOLDS(esk_sim_violations(run.sim) == 0);
            esk_sim_destroy(run.sim);
        }
    }
}

int main(void) {
    for (uint32_t i = 0; i < SETS; i++) {
        struct bench_data data;
        if (i < BENCH_DATA_COUNT ? bench_data_load(&data, i)
                                 : cycling_load(&data)) {
            count(&data);
            measure_times(&data);
            bench_data_free(&data);
        }
    }
    return 0;
}
