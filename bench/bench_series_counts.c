// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Page reads, programs, bytes and RAM of the series table, exactly.
///
/// The table is the one that EmbedDB was measured with: rows of 16 bytes with
/// a 4-byte key, pages of 512 bytes; CRC-32C on.
#include "bench/series_medium.h"

static const char bench[] = "series_counts";

enum {
    GETS = 100000,
    RANGES = 20,    ///< of 5 % each, end to end
    QUANTILES = 10, ///< 5 %, 15 %, ... 95 %
    SPARSE = 50,    ///< ranges of 10 .. SPARSE_ROWS_MAX rows
    SPARSE_ROWS_MAX = 20,
    MOMENTS = 100, ///< of the last tenth, to mount at
};

/* ------------------------------------------------------------- by key */

static void measure_gets(struct bench_table *table, const struct esk_sim *sim,
                         const char *config) {
    struct bench_tally tally = {0};
    uint64_t random = 88172645463325252u;
    for (uint32_t i = 0; i < GETS; i++) {
        uint64_t before = medium_reads(sim);
        bench_get(table, bench_random(&random, table->data->count));
        bench_tally_add(&tally, medium_reads(sim) - before);
    }
    bench_print(bench, "page reads per random get, mean", table->data,
                bench_tally_mean(&tally), "reads", "%s", config);
    bench_print(bench, "page reads per random get, max", table->data, tally.max,
                "reads", "%s", config);
}

/// Gets with key indexes of several sizes, each also after a mount, with the
/// spline from the medium.
static void measure_key_indexes(const struct bench_data *data) {
    static const uint16_t sizes[] = {128, 256, 512, 1024, 2560, 0};
    static struct bench_table table;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct bench_shape shape = {.frames = 4,
                                    .index_count = 1,
                                    .bitmap_bits = BENCH_BITMAP_BITS,
                                    .key_index_bytes = sizes[i]};
        char config[64] = "key index default";
        if (sizes[i] > 0) {
            snprintf(config, sizeof config, "key index %u B", sizes[i]);
        }
        struct esk_sim *sim = medium_make();
        bench_build(&table, esk_sim_device(sim), data, &shape);
        measure_gets(&table, sim, config);
        bench_close(&table);
        BENCH_DO(bench_open(&table, esk_sim_device(sim), data, &shape, 0));
        strcat(config, ", after a mount");
        measure_gets(&table, sim, config);
        bench_close(&table);
        BENCH_HOLDS(esk_sim_violations(sim) == 0);
        esk_sim_destroy(sim);
    }
}

static void measure_key_ranges(struct bench_table *table,
                               const struct esk_sim *sim) {
    struct bench_tally tally = {0};
    uint32_t rows = table->data->count / RANGES;
    for (uint32_t i = 0; i < RANGES; i++) {
        uint64_t before = medium_reads(sim);
        bench_key_range(table, i * rows, rows);
        bench_tally_add(&tally, medium_reads(sim) - before);
    }
    bench_print(bench, "page reads, 5 % key range, mean", table->data,
                bench_tally_mean(&tally), "reads",
                "%u rows, 20 ranges end to end", rows);
    bench_print(bench, "page reads, 5 % key range, max", table->data, tally.max,
                "reads", "%u rows, 20 ranges end to end", rows);
    uint64_t before = medium_reads(sim);
    BENCH_HOLDS(bench_query(table, NULL) == table->data->count);
    bench_print(bench, "page reads, full scan", table->data,
                medium_reads(sim) - before, "reads", "%u rows",
                table->data->count);
}

/* ------------------------------------------------------------ by value */

static void measure_tail(struct bench_table *table, const struct esk_sim *sim) {
    const struct bench_data *data = table->data;
    struct bench_span span =
        bench_tail(data, bench_page_rows(data, BENCH_PAGE_BYTES));
    char config[BENCH_TEXT_BYTES];
    snprintf(config, sizeof config, "%s in %.10g..%.10g, %u rows", data->column,
             span.lo, span.hi, span.rows);
    uint64_t before = medium_reads(sim);
    bench_value_range(table, &span);
    bench_print(bench, "page reads, value range in the tail", data,
                medium_reads(sim) - before, "reads", "%s", config);
    bench_print(bench, "pages that hold a match, tail", data, span.pages,
                "pages", "%s", config);
}

/// Value ranges at the given ranks: how many pages they read and have rows on.
struct spans {
    struct bench_tally reads;
    struct bench_tally pages;
    struct bench_tally rows;
};

static struct bench_span span_measure(struct bench_table *table,
                                      const struct esk_sim *sim, uint32_t rank,
                                      struct spans *spans) {
    const struct bench_data *data = table->data;
    struct bench_span span =
        bench_span_at(data, rank, bench_page_rows(data, BENCH_PAGE_BYTES));
    uint64_t before = medium_reads(sim);
    bench_value_range(table, &span);
    bench_tally_add(&spans->reads, medium_reads(sim) - before);
    bench_tally_add(&spans->pages, span.pages);
    bench_tally_add(&spans->rows, span.rows);
    return span;
}

static void spans_print(const struct spans *spans,
                        const struct bench_data *data, const char *where) {
    char config[BENCH_TEXT_BYTES];
    snprintf(config, sizeof config, "%s %s, %.10g rows on average",
             data->column, where, bench_tally_mean(&spans->rows));
    bench_print(bench, "page reads, value range anywhere, mean", data,
                bench_tally_mean(&spans->reads), "reads", "%s", config);
    bench_print(bench, "page reads, value range anywhere, max", data,
                spans->reads.max, "reads", "%s", config);
    bench_print(bench, "pages that hold a match, anywhere, mean", data,
                bench_tally_mean(&spans->pages), "pages", "%s", config);
}

/// Ranges at quantiles: many rows where values repeat.
static void measure_quantiles(struct bench_table *table,
                              const struct esk_sim *sim) {
    const struct bench_data *data = table->data;
    struct spans spans = {.reads = {0}};
    for (uint32_t i = 0; i < QUANTILES; i++) {
        uint32_t rank = (uint32_t)((uint64_t)data->count * (10 * i + 5) / 100);
        uint64_t before = medium_reads(sim);
        struct bench_span span = span_measure(table, sim, rank, &spans);
        bench_print(bench, "page reads, value range at a quantile", data,
                    medium_reads(sim) - before, "reads",
                    "%u %%: %s in %.10g..%.10g, %u rows on %u pages",
                    10 * i + 5, data->column, span.lo, span.hi, span.rows,
                    span.pages);
    }
    spans_print(&spans, data, "at the 5 %, 15 %, ... 95 % quantile");
}

/// Ranges of about ten rows, evenly over all values of the column.
static void sparse_measure(struct bench_table *table, const struct esk_sim *sim,
                           struct spans *spans) {
    const struct bench_data *data = table->data;
    const double *values = data->values;
    uint32_t *ranks = malloc(data->count * sizeof *ranks);
    uint32_t found = 0;

    BENCH_HOLDS(ranks != NULL);
    /* Where no range has so few rows, ranges of any number. */
    for (int any = 0; any < 2 && found == 0; any++) {
        for (uint32_t i = 0; i + SPARSE_ROWS_MAX < data->count; i++) {
            bool first = i == 0 || values[i] > values[i - 1];
            if (first && (any != 0 || values[i + SPARSE_ROWS_MAX] >
                                          values[i + BENCH_TAIL_ROWS - 1])) {
                ranks[found++] = i;
            }
        }
    }
    BENCH_HOLDS(found > 0);
    for (uint32_t i = 0; i < SPARSE; i++) {
        uint64_t place = (uint64_t)found * (2 * i + 1) / (2 * SPARSE);
        (void)span_measure(table, sim, ranks[place], spans);
    }
    free(ranks);
}

static void measure_sparse(struct bench_table *table,
                           const struct esk_sim *sim) {
    struct spans spans = {.reads = {0}};
    sparse_measure(table, sim, &spans);
    spans_print(&spans, table->data, "where 10 to 20 rows match");
}

/// The benefit of a bitmap, and its cost. Returns the mean of the reads
/// anywhere.
static double bitmap_measure(const struct bench_data *data,
                             const struct bench_shape *shape) {
    static struct bench_table table;
    struct esk_sim *sim = medium_make();
    const char *given = shape->given ? " given" : "";
    unsigned bits = shape->bitmap_bits;
    struct esk_series_stats stats;
    struct spans spans = {.reads = {0}};
    bench_build(&table, esk_sim_device(sim), data, shape);
    esk_series_stats(table.series, &stats);
    (void)span_measure(&table, sim, data->count - BENCH_TAIL_ROWS, &spans);
    bench_print(bench, "bitmap, reads of the tail", data, spans.reads.sum,
                "reads", "%u%s bits", bits, given);
    spans = (struct spans){.reads = {0}};
    sparse_measure(&table, sim, &spans);
    bench_print(bench, "bitmap, reads anywhere, mean", data,
                bench_tally_mean(&spans.reads), "reads", "%u%s bits", bits,
                given);
    bench_print(bench, "bitmap, reads anywhere, max", data, spans.reads.max,
                "reads", "%u%s bits", bits, given);
    bench_print(bench, "bitmap, bytes per record", data,
                (double)BENCH_PAGE_BYTES * (stats.pages + stats.index_pages) /
                    data->count,
                "B", "%u%s bits", bits, given);
    bench_close(&table);
    esk_sim_destroy(sim);
    return bench_tally_mean(&spans.reads);
}

/// Bitmaps of every size; the greatest, which is the default, beside buckets
/// that are given.
static void measure_bitmaps(const struct bench_data *data) {
    static const uint8_t bits[] = {0, 8, 16, 32, 64};
    struct bench_shape shape = {.frames = 4, .index_count = 1};
    double learned = 0;
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        shape.bitmap_bits = bits[i];
        learned = bitmap_measure(data, &shape);
    }
    shape.given = true;
    double given = bitmap_measure(data, &shape);
    bench_print(bench, "bitmap, reads anywhere, of 64 given buckets'", data,
                100.0 * learned / given, "%", "default, 64 bits");
}

/// Reads of queries anywhere of a table with this bitmap.
static struct bench_tally column_reads(const struct bench_data *data,
                                       uint8_t bits, bool given) {
    static struct bench_table table;
    const struct bench_shape shape = {
        .frames = 4, .index_count = 1, .bitmap_bits = bits, .given = given};
    struct esk_sim *sim = medium_make();
    struct spans spans = {.reads = {0}};
    bench_build(&table, esk_sim_device(sim), data, &shape);
    sparse_measure(&table, sim, &spans);
    bench_close(&table);
    esk_sim_destroy(sim);
    return spans.reads;
}

/// Prints the reads of a column's learned buckets beside those of given ones.
static void column_measure(const struct bench_data *data, unsigned number) {
    static const char *const metric =
        "bitmap, a column's reads, of 64 given buckets'";
    static const uint8_t sizes[] = {32, 64};
    struct bench_tally given = column_reads(data, 64, true);
    for (size_t i = 0; i < sizeof sizes; i++) {
        struct bench_tally learned = column_reads(data, sizes[i], false);
        bench_print(bench, metric, data,
                    100.0 * bench_tally_mean(&learned) /
                        bench_tally_mean(&given),
                    "%", "column %u, %u bits, mean", number, sizes[i]);
        bench_print(bench, metric, data,
                    100.0 * (double)learned.max / (double)given.max, "%",
                    "column %u, %u bits, worst query", number, sizes[i]);
    }
}

/// Every value column of a set.
static void measure_columns(const struct bench_data *set) {
    struct bench_data data = *set;
    data.values = malloc(set->count * sizeof *data.values);
    BENCH_HOLDS(data.values != NULL);
    for (uint8_t column = 1; column < (set->row_bytes == 16 ? 4 : 2);
         column++) {
        if (set->row_bytes == 16) {
            data.value_column = column;
            data.value_offset = (uint16_t)(4u * column);
        }
        bench_data_sort(&data);
        column_measure(&data, column);
    }
    free(data.values);
}

/* --------------------------------------------------------------- mount */

enum region { REGION_META, REGION_DATA, REGION_INDEX, REGION_COUNT };

/// A device in front of the simulator that counts reads by region.
struct probe {
    struct esk_device device;
    const struct esk_device *under;
    const struct esk_table_info *info;
    uint32_t bytes[REGION_COUNT]; ///< read
    uint32_t headers;             ///< reads of less than a page
    uint32_t again;               ///< reads of a whole page read before
    uint8_t seen[MEDIUM_BLOCKS * MEDIUM_BLOCK_PAGES];
};

static int probe_read(const struct esk_device *device, esk_page_id page,
                      uint16_t offset, void *buffer, uint16_t bytes) {
    struct probe *probe = device->context;
    const struct esk_table_info *info = probe->info;
    enum region region = REGION_META;
    uint32_t block = page / MEDIUM_BLOCK_PAGES;
    for (uint8_t i = 0; i < 2; i++) {
        if (block - info->block[i] < info->blocks[i]) {
            region = i == 0 ? REGION_DATA : REGION_INDEX;
        }
    }
    probe->bytes[region] += bytes;
    if (bytes == BENCH_PAGE_BYTES) {
        probe->again += probe->seen[page];
        probe->seen[page] = 1;
    } else {
        probe->headers++;
    }
    return probe->under->ops->read(probe->under, page, offset, buffer, bytes);
}

/// Mounts what is on the medium, read-only, and counts. The arena's size is a
/// constant, as in firmware, so no read is for its size.
static void probe_mount(struct probe *probe, const struct bench_table *table,
                        const struct esk_sim *sim,
                        const struct bench_shape *shape) {
    static const struct esk_device_ops ops = {.read = probe_read};
    struct esk_series_config config = bench_config(shape);
    struct esk_volume volume;
    struct esk_series *series = NULL;
    void *arena = malloc(table->arena_bytes);

    memset(probe, 0, sizeof *probe);
    probe->under = esk_sim_device(sim);
    probe->device = (struct esk_device){
        .ops = &ops, .context = probe, .geometry = probe->under->geometry};
    probe->info = &table->info;
    BENCH_HOLDS(arena != NULL);
    BENCH_DO(esk_volume_mount(&volume, &probe->device, ESK_MOUNT_READ_ONLY,
                              arena, table->arena_bytes));
    BENCH_DO(esk_series_open(&series, &volume, "series", &config));
    esk_series_close(series);
    esk_volume_unmount(&volume);
    free(arena);
}

/// Reads of a region, in pages; a header is 16 bytes of one.
static double probe_pages(const struct probe *probe, enum region region) {
    return (double)probe->bytes[region] / BENCH_PAGE_BYTES;
}

static double probe_total(const struct probe *probe) {
    return probe_pages(probe, REGION_META) + probe_pages(probe, REGION_DATA) +
           probe_pages(probe, REGION_INDEX);
}

static void print_mount(const struct probe *probe,
                        const struct bench_data *data, const char *config) {
    bench_print(bench, "page reads to mount", data, probe_total(probe), "reads",
                "%s", config);
    bench_print(bench, "of the mount, superblocks and catalog", data,
                probe_pages(probe, REGION_META), "reads", "%s", config);
    bench_print(bench, "of the mount, data pages", data,
                probe_pages(probe, REGION_DATA), "reads", "%s", config);
    bench_print(bench, "of the mount, index pages", data,
                probe_pages(probe, REGION_INDEX), "reads", "%s", config);
    bench_print(bench, "of the mount, headers of 16 bytes", data,
                probe->headers, "reads", "%s", config);
    bench_print(bench, "of the mount, pages read before", data, probe->again,
                "reads", "%s", config);
}

/// Mounts at several sizes, and at many moments near the end: the roll-forward
/// depends on the length of the last run.
static void measure_mounts(const struct bench_data *data) {
    static const uint32_t sizes[] = {1000, 10000, 30000, 100000};
    static struct bench_table table;
    static struct probe probe;
    struct bench_shape shape = {
        .frames = 4, .index_count = 1, .bitmap_bits = BENCH_BITMAP_BITS};
    struct esk_sim *sim = medium_make();
    struct probe *worst = calloc(1, sizeof *worst);
    struct bench_tally tally = {0};
    uint32_t rows = 0;

    BENCH_HOLDS(worst != NULL);
    bench_create(&table, esk_sim_device(sim), data, &shape);
    BENCH_DO(bench_open(&table, esk_sim_device(sim), data, &shape, 0));
    for (uint32_t i = 0; i <= MOMENTS; i++) {
        uint32_t moment = (uint32_t)((uint64_t)data->count * (9 * MOMENTS + i) /
                                     (10 * MOMENTS));
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            if (sizes[k] > rows && sizes[k] <= moment) {
                char config[32];
                bench_append(&table, rows, sizes[k]);
                rows = sizes[k];
                probe_mount(&probe, &table, sim, &shape);
                snprintf(config, sizeof config, "after %u rows", rows);
                print_mount(&probe, data, config);
            }
        }
        bench_append(&table, rows, moment);
        rows = moment;
        probe_mount(&probe, &table, sim, &shape);
        bench_tally_add(&tally, (uint64_t)(probe_total(&probe) + 0.5));
        if (probe_total(&probe) > probe_total(worst)) {
            *worst = probe;
        }
    }
    print_mount(worst, data, "the worst of 101 moments in the last tenth");
    bench_print(bench, "page reads to mount, mean", data,
                bench_tally_mean(&tally), "reads",
                "of 101 moments in the last tenth");
    bench_close(&table);
    esk_sim_destroy(sim);
    free(worst);
}

/* -------------------------------------------------- programs, bytes, RAM */

static void measure_append(const struct bench_data *data, uint8_t indexes) {
    static struct bench_table table;
    struct bench_shape shape = {.frames = indexes > 0 ? 4 : 2,
                                .index_count = indexes,
                                .bitmap_bits = BENCH_BITMAP_BITS};
    struct esk_sim *sim = medium_make();
    struct esk_series_stats stats;
    const char *config = indexes > 0 ? "4 frames, 1 value index of 16 bits"
                                     : "2 frames, no value index";

    bench_create(&table, esk_sim_device(sim), data, &shape);
    uint64_t catalog = esk_sim_counters(sim)->bytes_programmed;
    esk_sim_counters_reset(sim);
    BENCH_DO(bench_open(&table, esk_sim_device(sim), data, &shape, 0));
    bench_append(&table, 0, data->count);
    BENCH_DO(esk_series_sync(table.series));
    esk_series_stats(table.series, &stats);
    double rows = data->count;
    uint64_t pages = (uint64_t)stats.pages + stats.index_pages;
    bench_print(bench, "page programs per append", data,
                (double)esk_sim_counters(sim)->programs / rows, "programs",
                "%s", config);
    bench_print(bench, "storage per record", data,
                (double)(pages * BENCH_PAGE_BYTES) / rows, "B",
                "%s; data and index pages", config);
    bench_print(bench, "storage per record", data,
                (double)(pages * BENCH_PAGE_BYTES + catalog) / rows, "B",
                "%s; also what format and create wrote", config);
    bench_print(bench, "RAM, host, arena", data, table.arena_bytes, "B",
                "%s, key index 256 B", config);
    bench_print(bench, "RAM, host, arena and volume", data,
                table.arena_bytes + sizeof(struct esk_volume), "B",
                "%s, key index 256 B", config);
    if (indexes > 0) {
        measure_key_ranges(&table, sim);
        measure_tail(&table, sim);
        measure_quantiles(&table, sim);
        measure_sparse(&table, sim);
    }
    bench_close(&table);
    BENCH_HOLDS(esk_sim_violations(sim) == 0);
    esk_sim_destroy(sim);
}

int main(void) {
    for (uint32_t i = 0; i < BENCH_DATA_COUNT; i++) {
        struct bench_data data;
        if (bench_data_load(&data, i)) {
            measure_append(&data, 1);
            measure_append(&data, 0);
            measure_bitmaps(&data);
            measure_columns(&data);
            measure_mounts(&data);
            measure_key_indexes(&data);
            bench_data_free(&data);
        }
    }
    return 0;
}
