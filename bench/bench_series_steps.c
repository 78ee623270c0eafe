// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The longest time that a call of a series blocks on every part of parts.csv,
/// by the maximum times of its data sheet: with esk_volume_step between the
/// calls until nothing is due, and without.
///
/// A table of rows of 16 bytes with a value index takes the part's first BYTES,
/// or BLOCKS blocks if they are more. It is written for LAPS laps, with a sync
/// each SYNC_ROWS rows. The dataset of a figure is the part.
#include "bench/series_bench.h"
#include "port/sim/sim.h"

static const char bench[] = "series_steps";

enum { BLOCKS = 48, BYTES = 256 << 10, LAPS = 2, SYNC_ROWS = 16 };

static const struct bench_shape shape = {
    .frames = 4, .index_count = 1, .bitmap_bits = BENCH_BITMAP_BITS};

static const struct bench_data data = {.name = "steady",
                                       .row_bytes = 16,
                                       .key_type = ESK_TYPE_U32,
                                       .value_type = ESK_TYPE_I32,
                                       .value_column = 1};

/// The longest call of each kind, in simulated nanoseconds.
struct longest {
    uint64_t append;
    uint64_t sync;
    uint64_t step;
};

static uint64_t now(const struct esk_sim *sim) {
    return esk_sim_counters(sim)->time_ns;
}

static void longest_take(uint64_t *longest, uint64_t ns) {
    *longest = ns > *longest ? ns : *longest;
}

static void steps_do(struct bench_table *table, const struct esk_sim *sim,
                     struct longest *longest) {
    uint16_t done = 1;
    while (done != 0) {
        uint64_t begun = now(sim);
        BENCH_DO(esk_volume_step(&table->volume, 1, &done));
        longest_take(&longest->step, now(sim) - begun);
    }
}

static void row_write(struct bench_table *table, const struct esk_sim *sim,
                      uint32_t row, struct longest *longest) {
    uint32_t words[4] = {60 * (row + 1), row % 1000, row % 77, 0};
    uint64_t begun = now(sim);
    BENCH_DO(esk_series_append(table->series, words));
    longest_take(&longest->append, now(sim) - begun);
    if (row % SYNC_ROWS == SYNC_ROWS - 1) {
        begun = now(sim);
        BENCH_DO(esk_series_sync(table->series));
        longest_take(&longest->sync, now(sim) - begun);
    }
}

static uint32_t blocks_of(const struct esk_sim_part *part) {
    const struct esk_geometry *geometry = &part->geometry;
    uint32_t block = (uint32_t)geometry->block_pages * geometry->page_bytes;
    uint32_t blocks = BYTES / block;
    return blocks > BLOCKS ? blocks : BLOCKS;
}

static void measure(const struct esk_sim_part *part, bool steps) {
    static struct bench_table table;
    const char *config = steps ? "with steps" : "without";
    struct esk_sim_config medium = {
        .part = part->name,
        .geometry = {.block_count = blocks_of(part)},
        .seed = 1,
        .worst_case = true};
    struct bench_data of = {.name = part->name};
    struct longest longest = {0};
    struct esk_sim *sim = NULL;
    BENCH_DO(esk_sim_create(&sim, &medium));
    bench_create(&table, esk_sim_device(sim), &data, &shape);
    BENCH_DO(bench_open(&table, esk_sim_device(sim), &data, &shape, 0));
    uint32_t rows = LAPS * table.info.blocks[0] * part->geometry.block_pages *
                    bench_page_rows(&data, part->geometry.page_bytes);
    for (uint32_t row = 0; row < rows; row++) {
        if (steps) {
            steps_do(&table, sim, &longest);
        }
        row_write(&table, sim, row, &longest);
    }
    bench_print(bench, "an append, at most", &of, (double)longest.append / 1e6,
                "ms", "%s", config);
    bench_print(bench, "a sync, at most", &of, (double)longest.sync / 1e6, "ms",
                "%s", config);
    if (steps) {
        bench_print(bench, "a step, at most", &of, (double)longest.step / 1e6,
                    "ms", "%s", config);
    }
    BENCH_HOLDS(esk_sim_violations(sim) == 0);
    bench_close(&table);
    esk_sim_destroy(sim);
}

int main(void) {
    const struct esk_sim_part *part = NULL;
    for (size_t i = 0; (part = esk_sim_part_at(i)) != NULL; i++) {
        const uint8_t needed = ESK_SIM_UNKNOWN_PROGRAM | ESK_SIM_UNKNOWN_ERASE;
        if (part->geometry.block_count < blocks_of(part) ||
            part->geometry.page_bytes > BENCH_PAGE_BYTES_MAX) {
            printf("skipped %s: few blocks, or large pages\n", part->name);
        } else if ((part->unknown & needed) == needed) {
            printf("skipped %s: its times are not known\n", part->name);
        } else {
            measure(part, true);
            measure(part, false);
        }
    }
    return 0;
}
