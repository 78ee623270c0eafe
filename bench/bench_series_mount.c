// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Cost of a mount and an open of a series on every part of parts.csv: empty,
/// half full, full, and wrapped.
///
/// A table of rows of 16 bytes with a value index takes the whole chip, or the
/// first CAPACITY_MAX bytes of a larger one. Its volume is mounted read-only,
/// with an arena of constant size, as in firmware. The dataset of a figure is
/// the part.
#include "bench/series_bench.h"
#include "port/sim/sim.h"

static const char bench[] = "series_mount";

enum {
    CAPACITY_MAX = 64 << 20,
    BLOCKS_MIN = 32, ///< volume, data, index: a smaller chip is skipped
    SECONDS = 60,    ///< from row to row
    STATES = 4,
};

static const struct {
    const char *name;
    uint8_t quarters; ///< of a lap of the data region
} states[STATES] = {
    {"empty", 0}, {"half full", 2}, {"full", 4}, {"wrapped", 5}};

static const struct bench_shape shape = {
    .frames = 4, .index_count = 1, .bitmap_bits = BENCH_BITMAP_BITS};

/// A device in front of the simulator that counts reads by their size.
struct probe {
    struct esk_device device;
    const struct esk_device *under;
    uint32_t pages;
    uint32_t pieces; ///< less than a page
};

static int probe_read(const struct esk_device *device, esk_page_id page,
                      uint16_t offset, void *buffer, uint16_t bytes) {
    struct probe *probe = device->context;
    if (bytes == device->geometry.page_bytes) {
        probe->pages++;
    } else {
        probe->pieces++;
    }
    return probe->under->ops->read(probe->under, page, offset, buffer, bytes);
}

static int probe_block_is_bad(const struct esk_device *device, uint32_t block,
                              bool *bad) {
    const struct probe *probe = device->context;
    return probe->under->ops->block_is_bad(probe->under, block, bad);
}

/// Mounts and opens what is on the medium, and prints the cost.
static void measure(const struct bench_table *table, struct esk_sim *sim,
                    const struct esk_sim_part *part, const char *state) {
    struct probe probe = {.under = esk_sim_device(sim)};
    struct esk_device_ops ops = {.read = probe_read};
    struct bench_data of = {.name = part->name};
    struct esk_series_config config = bench_config(&shape);
    struct esk_volume volume;
    struct esk_series *series = NULL;
    void *arena = bench_memory(table->arena_bytes);

    if (probe.under->ops->block_is_bad != NULL) {
        ops.block_is_bad = probe_block_is_bad;
    }
    probe.device = (struct esk_device){
        .ops = &ops, .context = &probe, .geometry = probe.under->geometry};
    struct esk_sim_counters before = *esk_sim_counters(sim);
    BENCH_DO(esk_volume_mount(&volume, &probe.device, ESK_MOUNT_READ_ONLY,
                              arena, table->arena_bytes));
    BENCH_DO(esk_series_open(&series, &volume, "series", &config));
    struct esk_sim_counters after = *esk_sim_counters(sim);
    esk_series_close(series);
    esk_volume_unmount(&volume);
    free(arena);
    bench_print(bench, "mount, page reads", &of, probe.pages, "reads", "%s",
                state);
    bench_print(bench, "mount, reads of a few bytes", &of, probe.pieces,
                "reads", "%s", state);
    bench_print(bench, "mount, bytes", &of,
                after.bytes_read - before.bytes_read, "B", "%s", state);
    if ((part->unknown & ESK_SIM_UNKNOWN_READ) == 0) {
        bench_print(bench, "mount, simulated time", &of,
                    (double)(after.time_ns - before.time_ns) / 1e6, "ms", "%s",
                    state);
    }
}

static void append(struct bench_table *table, uint32_t row) {
    uint32_t words[4] = {SECONDS * (row + 1), row % 1000, row % 77, 0};
    BENCH_DO(esk_series_append(table->series, words));
}

static void measure_part(const struct esk_sim_part *part) {
    static struct bench_table table;
    static const struct bench_data data = {.name = "steady",
                                           .row_bytes = 16,
                                           .key_type = ESK_TYPE_U32,
                                           .value_type = ESK_TYPE_I32,
                                           .value_column = 1};
    const struct esk_geometry *geometry = &part->geometry;
    uint32_t block = (uint32_t)geometry->block_pages * geometry->page_bytes;
    struct esk_sim_config config = {.part = part->name, .seed = 1};
    struct esk_sim *sim = NULL;
    uint32_t rows = 0;

    if (geometry->block_count > CAPACITY_MAX / block) {
        config.geometry.block_count = CAPACITY_MAX / block;
    }
    BENCH_DO(esk_sim_create(&sim, &config));
    const struct esk_device *device = esk_sim_device(sim);
    bench_create(&table, device, &data, &shape);
    for (int i = 0; i < STATES; i++) {
        BENCH_DO(bench_open(&table, device, &data, &shape, 0));
        uint64_t lap = (uint64_t)table.info.blocks[0] * geometry->block_pages *
                       bench_page_rows(&data, geometry->page_bytes);
        while (rows < lap * states[i].quarters / 4) {
            append(&table, rows++);
        }
        BENCH_DO(esk_series_sync(table.series));
        bench_close(&table);
        measure(&table, sim, part, states[i].name);
    }
    BENCH_HOLDS(esk_sim_violations(sim) == 0);
    esk_sim_destroy(sim);
}

int main(void) {
    const struct esk_sim_part *part = NULL;
    for (size_t i = 0; (part = esk_sim_part_at(i)) != NULL; i++) {
        if (part->geometry.block_count >= BLOCKS_MIN &&
            part->geometry.page_bytes <= BENCH_PAGE_BYTES_MAX) {
            measure_part(part);
        } else {
            printf("skipped %s: few blocks, or large pages\n", part->name);
        }
    }
    return 0;
}
