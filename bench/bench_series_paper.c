// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// embeddb-2024, sections 4.1 and 4.2, on the media of its Table 1.
///
/// Simulated time of I/O only: the CPU's share is in the cycle counts of the
/// microcontrollers. So a fraction here is an upper bound for a device, and the
/// paper's own fractions, CPU included, are lower for this reason, too. The
/// limits are the paper's:
///
///     Fig. 5   inserts      bytes of the rows at the sequential write rate
///     Fig. 7   gets         one random page read a get
///     Fig. 9   5 % ranges   bytes of the rows at the average of the
///                           sequential and the random read rate
///     Fig. 11  0.01 % of the values: no limit, a full scan to compare with
///
/// Table 1 has no erase time: its write rates are assumed to include it.
#include "bench/series_bench.h"
#include "port/sim/sim.h"

static const char bench[] = "series_paper";

enum {
    GETS = 100000,
    RANGES = 20,
    PART_COUNT = 4,
};

static const char *const parts[PART_COUNT] = {
    "embeddb_sd_samd21",
    "embeddb_dataflash_samd21",
    "embeddb_sd_due",
    "embeddb_sd_mega",
};

/// A table on one of the media.
struct subject {
    const struct esk_sim_part *part;
    struct esk_sim *sim;
    struct bench_table table;
};

static double now_ns(const struct subject *subject) {
    return (double)esk_sim_counters(subject->sim)->time_ns;
}

static double bytes_ns(const struct subject *subject, double bytes,
                       uint32_t page_ns) {
    return bytes / subject->part->geometry.page_bytes * page_ns;
}

static void measure_inserts(struct subject *subject) {
    struct bench_table *table = &subject->table;
    double bytes = (double)table->data->count * table->data->row_bytes;
    double limit =
        bytes_ns(subject, bytes, subject->part->typical.program_sequential_ns);
    double before = now_ns(subject);
    bench_append(table, 0, table->data->count);
    BENCH_DO(esk_series_sync(table->series));
    bench_print(bench, "inserts, fraction of the medium's limit", table->data,
                limit / (now_ns(subject) - before), "", "%s",
                subject->part->name);
}

static void measure_gets(struct subject *subject) {
    struct bench_table *table = &subject->table;
    uint64_t random = 88172645463325252u;
    uint64_t reads = esk_sim_counters(subject->sim)->reads;
    double limit = (double)GETS * subject->part->typical.read_ns;
    double before = now_ns(subject);
    for (uint32_t i = 0; i < GETS; i++) {
        bench_get(table, bench_random(&random, table->data->count));
    }
    reads = esk_sim_counters(subject->sim)->reads - reads;
    bench_print(bench, "gets, fraction of the medium's limit", table->data,
                limit / (now_ns(subject) - before), "", "%s, %.4g reads a get",
                subject->part->name, (double)reads / GETS);
}

static void measure_ranges(struct subject *subject) {
    struct bench_table *table = &subject->table;
    const struct esk_sim_timing *timing = &subject->part->typical;
    uint32_t rows = table->data->count / RANGES;
    double bytes = (double)rows * RANGES * table->data->row_bytes;
    /* Rates are averaged, so times by their harmonic mean. */
    double page_ns =
        2.0 / (1.0 / timing->read_ns + 1.0 / timing->read_sequential_ns);
    double limit = bytes / subject->part->geometry.page_bytes * page_ns;
    double before = now_ns(subject);
    for (uint32_t i = 0; i < RANGES; i++) {
        bench_key_range(table, i * rows, rows);
    }
    bench_print(bench, "5 % key ranges, fraction of the medium's limit",
                table->data, limit / (now_ns(subject) - before), "", "%s",
                subject->part->name);
}

static void measure_values(struct subject *subject) {
    struct bench_table *table = &subject->table;
    const struct bench_data *data = table->data;
    struct bench_span span =
        bench_tail(data, bench_page_rows(data, BENCH_PAGE_BYTES));
    struct esk_series_stats stats;
    double start = now_ns(subject);
    BENCH_HOLDS(bench_query(table, NULL) == data->count);
    double scan = now_ns(subject) - start;
    uint64_t reads = esk_sim_counters(subject->sim)->reads;
    start = now_ns(subject);
    bench_value_range(table, &span);
    double query = now_ns(subject) - start;
    reads = esk_sim_counters(subject->sim)->reads - reads;
    esk_series_stats(table->series, &stats);
    bench_print(bench, "0.01 % value range, times faster than a scan", data,
                scan / query, "times", "%s, %u rows", subject->part->name,
                span.rows);
    bench_print(bench, "0.01 % value range, pages read", data,
                100.0 * (double)reads / stats.pages, "% of the data pages",
                "%s, %u rows", subject->part->name, span.rows);
}

static void measure(const struct bench_data *data, const char *part) {
    static struct subject subject;
    static const struct bench_shape shape = {
        .frames = 4, .index_count = 1, .bitmap_bits = BENCH_BITMAP_BITS};
    struct esk_sim_config config = {.part = part, .seed = 1};
    subject.part = esk_sim_part_find(part);
    BENCH_HOLDS(subject.part != NULL);
    BENCH_HOLDS(subject.part->geometry.page_bytes == BENCH_PAGE_BYTES);
    BENCH_DO(esk_sim_create(&subject.sim, &config));
    const struct esk_device *device = esk_sim_device(subject.sim);
    bench_create(&subject.table, device, data, &shape);
    BENCH_DO(bench_open(&subject.table, device, data, &shape, 0));
    measure_inserts(&subject);
    measure_gets(&subject);
    measure_ranges(&subject);
    measure_values(&subject);
    bench_close(&subject.table);
    BENCH_HOLDS(esk_sim_violations(subject.sim) == 0);
    esk_sim_destroy(subject.sim);
}

int main(void) {
    for (uint32_t i = 0; i < BENCH_DATA_COUNT; i++) {
        struct bench_data data;
        if (bench_data_load(&data, i)) {
            for (uint32_t k = 0; k < PART_COUNT; k++) {
                measure(&data, parts[k]);
            }
            bench_data_free(&data);
        }
    }
    return 0;
}
