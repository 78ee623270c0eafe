// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Effects of damage on a series: wrong data, crashes, lost writes.
///
/// The medium has no ECC, so every flipped bit is visible. Each trial starts
/// from the same table of 30,000 rows, with random choices from one seed.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/series_medium.h"

static const char bench[] = "series_faults";

enum {
    ROWS = 30000,
    FLIPS = 1000,
    HEADER_FLIPS = 150,
    HEADER_BITS = 128,
    HEADER_STEP = 61,   ///< step of the gets of a header trial
    TRIAL_SECONDS = 20, ///< after which a trial hangs
    WRITE_TRIALS = 50,
    WRITE_ROWS = 1860,
    WRITE_ROWS_SYNC = 310,
    MARGIN = 40, ///< rows scanned before and after a damaged page
};

static const struct bench_shape shape = {
    .frames = 4, .index_count = 1, .bitmap_bits = BENCH_BITMAP_BITS};

/* ------------------------------------------------- flips in data pages */

/// Result of the trials.
struct found {
    uint32_t wrong;    ///< trials that returned a row that was not stored
    uint32_t vanished; ///< trials in which a row was missing, unreported
    uint32_t reported; ///< trials in which damage was reported
};

/// Whether `row` is the stored row of its key, searched from `*next` on.
static bool row_is_stored(const struct bench_data *data, const uint8_t *row,
                          uint32_t *next, uint32_t end) {
    for (; *next < end; (*next)++) {
        if (memcmp(row, bench_row(data, *next), data->row_bytes) == 0) {
            (*next)++;
            return true;
        }
    }
    return false;
}

/// Gets every `step`-th of the rows first .. end - 1, then scans them all.
static void rows_try(struct bench_table *table, uint32_t first, uint32_t end,
                     uint32_t step, struct found *trial) {
    const struct bench_data *data = table->data;
    struct esk_series_cursor cursor;
    struct esk_series_query query = {.has_key_min = true,
                                     .has_key_max = true,
                                     .key_min = bench_key(data, first),
                                     .key_max = bench_key(data, end - 1)};
    uint8_t row[16];
    uint32_t rows = 0;
    uint32_t next = first;
    int status = ESK_OK;

    for (uint32_t i = first; i < end; i += step) {
        status = esk_series_get(table->series, bench_key(data, i), row);
        trial->wrong += status == ESK_OK &&
                        memcmp(row, bench_row(data, i), data->row_bytes) != 0;
        trial->vanished += status > ESK_OK;
        trial->reported += status < ESK_OK;
    }
    BENCH_DO(esk_series_cursor_open(table->series, &cursor, &query));
    while ((status = esk_series_cursor_next(table->series, &cursor, row)) ==
           ESK_OK) {
        trial->wrong += !row_is_stored(data, row, &next, end);
        rows++;
    }
    bool told = status < ESK_OK || esk_series_cursor_damaged(&cursor) > 0;
    trial->vanished += rows < end - first && !told;
    trial->reported += told;
}

/// Whether the table reports that its newest page cannot be read, so that a
/// scan may end early.
static bool newest_is_told(struct bench_table *table) {
    struct esk_series_stats stats;
    esk_series_stats(table->series, &stats);
    return stats.newest_unread > 0;
}

static void flip_trial(struct esk_sim *sim, const struct bench_data *data,
                       const struct esk_table_info *info, uint32_t position,
                       uint32_t bit, struct found *found) {
    static struct bench_table table;
    struct found trial = {0};
    uint32_t page_rows = bench_page_rows(data, BENCH_PAGE_BYTES);
    uint32_t first = position * page_rows;
    uint32_t end = first + page_rows + MARGIN;

    BENCH_DO(
        esk_sim_flip(sim, info->block[0] * MEDIUM_BLOCK_PAGES + position, bit));
    first = first < MARGIN ? 0 : first - MARGIN;
    end = end > data->count ? data->count : end;
    BENCH_HOLDS(first < end);
    if (bench_open(&table, esk_sim_device(sim), data, &shape,
                   ESK_MOUNT_READ_ONLY) != ESK_OK) {
        found->reported++;
        return;
    }
    rows_try(&table, first, end, 1, &trial);
    if (newest_is_told(&table)) {
        /* No reader can know whether the rows after it were ever written. */
        trial.vanished = 0;
        trial.reported++;
    }
    bench_close(&table);
    found->wrong += trial.wrong > 0;
    found->vanished += trial.vanished > 0;
    found->reported += trial.reported > 0;
}

static void measure_flips(struct esk_sim *sim, const struct esk_sim *whole,
                          const struct bench_data *data,
                          const struct esk_table_info *info) {
    uint32_t page_rows = bench_page_rows(data, BENCH_PAGE_BYTES);
    /* The newest page, too, which may not be full. */
    uint32_t pages = (data->count + page_rows - 1) / page_rows;
    uint64_t random = 0x9E3779B97F4A7C15u;
    struct found found = {0};
    for (uint32_t i = 0; i < FLIPS; i++) {
        uint32_t page = bench_random(&random, pages);
        uint32_t bit = bench_random(&random, BENCH_PAGE_BYTES * 8);
        flip_trial(sim, data, info, page, bit, &found);
        esk_sim_restore(sim, whole);
    }
    bench_print(bench, "flips that return wrong data silently", data,
                found.wrong, "flips",
                "of 1000, one bit of a data page each, the newest included");
    bench_print(bench, "flips that hide rows silently", data, found.vanished,
                "flips",
                "of 1000, one bit of a data page each, the newest included");
    bench_print(bench, "flips that are reported", data, found.reported, "flips",
                "of 1000, one bit of a data page each, the newest included");
}

/* ------------------------------------------------------- header flips */

/// Rows of a value query that are not stored, or do not match.
static uint32_t values_try(struct bench_table *table) {
    const struct bench_data *data = table->data;
    double lo = bench_value(data, bench_row(data, data->count / 2));
    struct esk_series_cursor cursor;
    struct esk_series_range range = {.column = data->value_column,
                                     .has_lo = true,
                                     .lo = bench_number(data, lo)};
    struct esk_series_query query = {.range_count = 1, .ranges = &range};
    uint8_t row[16];
    uint32_t wrong = 0;
    uint32_t next = 0;
    BENCH_DO(esk_series_cursor_open(table->series, &cursor, &query));
    while (next < data->count &&
           esk_series_cursor_next(table->series, &cursor, row) == ESK_OK) {
        wrong += !row_is_stored(data, row, &next, data->count) ||
                 bench_value(data, row) < lo;
    }
    return wrong;
}

/// All calls of a program, in a child. Returns whether a row was wrong.
static bool table_use(const struct esk_device *device,
                      const struct bench_data *data) {
    static struct bench_table table;
    struct esk_series_report report;
    struct found trial = {0};
    if (bench_open(&table, device, data, &shape, 0) != ESK_OK) {
        return false;
    }
    rows_try(&table, 0, data->count, HEADER_STEP, &trial);
    trial.wrong += values_try(&table);
    (void)esk_series_check(table.series, &report);
    (void)esk_series_append(table.series, bench_row(data, 0));
    bench_close(&table);
    return trial.wrong > 0;
}

/// Runs a trial in a child. Returns 0; 1 when it was wrong; 2 when it crashed
/// or hung.
static int header_trial(const struct esk_device *device,
                        const struct bench_data *data) {
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(TRIAL_SECONDS);
        _exit(table_use(device, data) ? 1 : 0);
    }
    BENCH_HOLDS(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

/// A page of the meta halves, the data ring or the index ring, in turn.
static esk_page_id header_page(const struct esk_table_info *info,
                               const struct esk_series_stats *stats,
                               uint32_t trial, uint64_t *random) {
    if (trial % 3 == 0) {
        uint32_t meta =
            info->block[0] < info->block[1] ? info->block[0] : info->block[1];
        return bench_random(random, meta * MEDIUM_BLOCK_PAGES);
    }
    uint8_t region = trial % 3 == 1 ? 0 : 1;
    uint32_t pages = region == 0 ? stats->pages : stats->index_pages;
    return info->block[region] * MEDIUM_BLOCK_PAGES +
           bench_random(random, pages);
}

static void measure_headers(struct esk_sim *sim, const struct esk_sim *whole,
                            const struct bench_data *data,
                            const struct esk_table_info *info,
                            const struct esk_series_stats *stats) {
    uint64_t random = 0xD1B54A32D192ED03u;
    uint32_t results[3] = {0, 0, 0};
    for (uint32_t i = 0; i < HEADER_FLIPS; i++) {
        esk_page_id page = header_page(info, stats, i, &random);
        BENCH_DO(esk_sim_flip(sim, page, bench_random(&random, HEADER_BITS)));
        int result = header_trial(esk_sim_device(sim), data);
        results[result < 2 ? result : 2]++;
        esk_sim_restore(sim, whole);
    }
    bench_print(bench, "header flips that hang or crash", data, results[2],
                "flips", "of 150: meta, data and index pages in turn");
    bench_print(bench, "header flips that return wrong data", data, results[1],
                "flips", "of 150: meta, data and index pages in turn");
}

/* ------------------------------------------------------ failed programs */

/// Whether a program that mounts the medium now finds rows 0 .. durable - 1,
/// and after them a prefix.
static bool rows_are_there(const struct esk_device *device,
                           const struct bench_data *data, uint32_t durable) {
    static struct bench_table table;
    struct esk_series_cursor cursor;
    uint8_t row[16];
    uint32_t rows = 0;
    bool right = true;
    if (bench_open(&table, device, data, &shape, ESK_MOUNT_READ_ONLY) !=
        ESK_OK) {
        return false;
    }
    BENCH_DO(esk_series_cursor_open(table.series, &cursor, NULL));
    while (right &&
           esk_series_cursor_next(table.series, &cursor, row) == ESK_OK) {
        right = rows < data->count &&
                memcmp(row, bench_row(data, rows), data->row_bytes) == 0;
        rows++;
    }
    bench_close(&table);
    return right && rows >= durable;
}

/// Appends with syncs. Returns whether the rows are there after the first sync
/// that returned ESK_OK after a failed program; `durable` out: rows at the last
/// sync.
static bool rows_write(struct bench_table *table, const struct esk_sim *sim,
                       uint32_t *durable) {
    bool truthful = true;
    bool verified = false;
    *durable = 0;
    for (uint32_t i = 1; i <= WRITE_ROWS; i++) {
        if (esk_series_append(table->series, bench_row(table->data, i - 1)) !=
            ESK_OK) {
            break;
        }
        if (i % WRITE_ROWS_SYNC != 0) {
            continue;
        }
        if (esk_series_sync(table->series) != ESK_OK) {
            break;
        }
        *durable = i;
        if (!verified && esk_sim_counters(sim)->programs_failed > 0) {
            verified = true;
            truthful = rows_are_there(esk_sim_device(sim), table->data, i);
        }
    }
    return truthful;
}

struct writes {
    uint64_t failed; ///< programs
    uint32_t untrue; ///< trials where a sync acknowledged rows that are lost
    uint32_t lost;   ///< trials that ended without an acknowledged row
    uint32_t whole;  ///< trials that wrote every row in the end
};

static void write_trial(const struct bench_data *data,
                        const struct esk_sim_failures *failures,
                        struct writes *writes) {
    static struct bench_table table;
    struct esk_sim *sim = medium_make();
    const struct esk_device *device = esk_sim_device(sim);
    uint32_t durable = 0;
    bench_create(&table, device, data, &shape);
    BENCH_DO(bench_open(&table, device, data, &shape, 0));
    esk_sim_failures_set(sim, failures);
    writes->untrue += !rows_write(&table, sim, &durable);
    writes->failed += esk_sim_counters(sim)->programs_failed;
    esk_sim_failures_set(sim, NULL);
    bench_close(&table);
    writes->lost += !rows_are_there(device, data, durable);
    writes->whole += durable == WRITE_ROWS;
    esk_sim_destroy(sim);
}

/// One failing program a trial; then every program from some moment on fails.
static void measure_failed_writes(const struct bench_data *data) {
    static const char *const kinds[] = {
        "50 trials of one failing program",
        "50 trials where every program fails from some moment on",
    };
    uint64_t random = 0x2545F4914F6CDD1Du;
    for (uint32_t kind = 0; kind < 2; kind++) {
        struct writes writes = {0};
        for (uint32_t i = 0; i < WRITE_TRIALS; i++) {
            struct esk_sim_failures failures = {
                .program = {.burst_start = bench_random(&random, 60),
                            .burst_length = kind == 0 ? 1 : UINT32_MAX}};
            write_trial(data, &failures, &writes);
        }
        bench_print(bench, "failed page writes acknowledged", data,
                    writes.untrue, "trials", "%s", kinds[kind]);
        bench_print(bench, "synced rows lost to failing programs", data,
                    writes.lost, "trials", "%s", kinds[kind]);
        bench_print(bench, "every row written in spite of it", data,
                    writes.whole, "trials", "%s", kinds[kind]);
        bench_print(bench, "programs that failed", data, writes.failed,
                    "programs", "%s", kinds[kind]);
    }
}

int main(void) {
    for (uint32_t i = 0; i < BENCH_DATA_COUNT; i++) {
        static struct bench_table table;
        struct bench_data data;
        struct esk_series_stats stats;
        struct esk_sim *whole = NULL;
        if (!bench_data_load(&data, i)) {
            continue;
        }
        data.count = data.count > ROWS ? ROWS : data.count;
        struct esk_sim *sim = medium_make();
        bench_build(&table, esk_sim_device(sim), &data, &shape);
        esk_series_stats(table.series, &stats);
        struct esk_table_info info = table.info;
        bench_close(&table);
        BENCH_DO(esk_sim_clone(&whole, sim));
        measure_flips(sim, whole, &data, &info);
        measure_headers(sim, whole, &data, &info, &stats);
        measure_failed_writes(&data);
        esk_sim_destroy(whole);
        esk_sim_destroy(sim);
        bench_data_free(&data);
    }
    return 0;
}
