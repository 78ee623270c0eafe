// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A TNC on simulated NAND: bytes programmed a change, with whole pages,
/// commits and the sweep; reads, erases, the reads of a mount.
///
///     linux61_untar_rm   the trace of bench_tnc_paper.c, in a region that is
///                        not filled
///     uniform            updates of random keys, in regions that nodes fill to
///                        a share
#include "bench/tnc_bench.h"
#include "port/sim/sim.h"
#include "table/tree/tnc/tnc_pages.h"
#include "volume/volume.h"

static const char bench[] = "tnc_flash";

enum {
    PAGE_BYTES = 2048,
    BLOCK_PAGES = 16,
    FIRST_BLOCK = 2,
    TRACE_BLOCKS = 4096,
    SYNC_CHANGES = 1000, ///< between syncs, where there are syncs
    KEYS = 20000,
    UPDATES = 200000,
};

static const struct trace uniform = {"uniform", NULL, 0};

struct flash {
    struct esk_sim *sim;
    struct esk_volume volume;
    struct esk_ring_config region;
    struct esk_tnc_config config;
    struct esk_tnc_pages store;
    void *memory;
    uint32_t bytes;
    uint32_t blocks;
    uint16_t kilobytes;
    uint32_t sync_every; ///< changes; 0: never
};

static void flash_mount(struct flash *flash) {
    BENCH_DO(esk_tnc_pages_mount(&flash->store, &flash->volume, &flash->region,
                                 &flash->config, flash->memory, flash->bytes));
}

static void flash_make(struct flash *flash, uint16_t fanout) {
    const struct esk_sim_config config = {
        .geometry = {.block_count = FIRST_BLOCK + flash->blocks,
                     .block_pages = BLOCK_PAGES,
                     .page_bytes = PAGE_BYTES,
                     .program_bytes = PAGE_BYTES,
                     .programs_per_page_max = 1,
                     .erased_value = 0xFF},
        .seed = 1};
    BENCH_DO(esk_sim_create(&flash->sim, &config));
    memset(&flash->volume, 0, sizeof flash->volume);
    flash->volume.device = esk_sim_device(flash->sim);
    flash->region = (struct esk_ring_config){.block = FIRST_BLOCK,
                                             .blocks = flash->blocks,
                                             .seed = 1,
                                             .unit = 1,
                                             .kind = ESK_PAGE_TREE,
                                             .table = 1,
                                             .ahead = 1,
                                             .refuse = true};
    flash->config = (struct esk_tnc_config){.row_bytes = ROW_BYTES,
                                            .key_bytes = KEY_BYTES,
                                            .fanout = fanout,
                                            .key_type = ESK_TYPE_BYTES};
    flash->bytes = flash->kilobytes * 1024u - (uint32_t)sizeof flash->store;
    flash->memory = bench_memory(flash->bytes);
    flash_mount(flash);
}

static void change(struct flash *flash, bool deletes, uint64_t key,
                   uint32_t number) {
    uint8_t row[ROW_BYTES];
    key_store(row, key);
    esk_store_u32(row + KEY_BYTES, number);
    BENCH_DO(deletes ? esk_tnc_pages_delete(&flash->store, row)
                     : esk_tnc_pages_put(&flash->store, row));
    if (flash->sync_every > 0 && number % flash->sync_every == 0) {
        BENCH_DO(esk_tnc_pages_sync(&flash->store));
    }
}

/// Prints what `changes` changes cost, and what a mount costs.
static void flash_print(struct flash *flash, const struct trace *data,
                        double changes, uint64_t entries, const char *config) {
    const struct esk_sim_counters *done = esk_sim_counters(flash->sim);
    BENCH_DO(esk_tnc_pages_sync(&flash->store));
    entries = flash->store.tnc.stats.write_bytes - entries;
    bench_print(bench, "bytes programmed a change", data,
                (double)done->bytes_programmed / changes, "B", "%s", config);
    bench_print(bench, "entries written a change", data,
                (double)entries / changes, "B", "%s", config);
    bench_print(bench, "page reads a change", data,
                (double)done->reads / changes, "", "%s", config);
    bench_print(bench, "erases a thousand changes", data,
                1000 * (double)done->erases / changes, "", "%s", config);
    esk_sim_counters_reset(flash->sim);
    flash_mount(flash);
    bench_print(bench, "bytes read by a mount", data, done->bytes_read, "B",
                "%s", config);
    esk_sim_destroy(flash->sim);
    free(flash->memory);
}

static void trace_measure(const struct trace *trace, uint16_t kilobytes,
                          uint16_t fanout, uint32_t sync_every) {
    struct flash flash = {.kilobytes = kilobytes,
                          .blocks = TRACE_BLOCKS,
                          .sync_every = sync_every};
    char config[BENCH_TEXT_BYTES];
    uint32_t changes = 0;
    flash_make(&flash, fanout);
    for (uint32_t i = 0; i < trace->count; i++) {
        uint64_t op = trace->ops[i];
        if (op >> 60 == TRACE_LOOKUP) {
            uint8_t key[KEY_BYTES];
            uint8_t row[ROW_BYTES];
            key_store(key, op & TRACE_KEY_MASK);
            int status = esk_tnc_get(&flash.store.tnc, key, row);
            BENCH_HOLDS(status == ESK_OK || status == ESK_NOT_FOUND);
        } else {
            changes++;
            change(&flash, op >> 60 == TRACE_DELETE, op & TRACE_KEY_MASK,
                   changes);
        }
    }
    snprintf(config, sizeof config, "%u KB of RAM, fanout %u%s", kilobytes,
             fanout, sync_every > 0 ? ", a sync each 1000 changes" : "");
    flash_print(&flash, trace, changes, 0, config);
}

/// Updates keys in a region, after as many updates as make it go round.
static void uniform_measure(uint16_t kilobytes, uint32_t blocks) {
    struct flash flash = {.kilobytes = kilobytes, .blocks = blocks};
    char config[BENCH_TEXT_BYTES];
    uint64_t random = 88172645463325252u;
    flash_make(&flash, 16);
    for (uint32_t key = 0; key < KEYS; key++) {
        change(&flash, false, key, key);
    }
    for (uint32_t i = 0; i < UPDATES; i++) {
        change(&flash, false, bench_random(&random, KEYS), i);
    }
    uint64_t entries = flash.store.tnc.stats.write_bytes;
    esk_sim_counters_reset(flash.sim);
    for (uint32_t i = 0; i < UPDATES; i++) {
        change(&flash, false, bench_random(&random, KEYS), i);
    }
    BENCH_HOLDS(flash.store.ring.head > blocks * BLOCK_PAGES);
    uint64_t live = ESK_TREE_NODE_HEAD * (uint64_t)flash.store.tnc.root.nodes +
                    ROW_BYTES * (uint64_t)(flash.store.tnc.root.nodes + KEYS);
    snprintf(config, sizeof config, "%u KB of RAM, fanout 16, %.0f %% live",
             kilobytes,
             100 * (double)live / ((double)blocks * BLOCK_PAGES * PAGE_BYTES));
    flash_print(&flash, &uniform, UPDATES, entries, config);
}

int main(void) {
    static const uint16_t kilobytes[] = {64, 256, 1024};
    static const uint16_t fanouts[] = {8, 16, 32};
    static const uint32_t blocks[] = {56, 80, 160};
    struct trace trace;
    for (unsigned i = 0; i < 3; i++) {
        uniform_measure(32, blocks[i]);
        uniform_measure(64, blocks[i]);
    }
    if (!trace_read(&trace)) {
        return 0;
    }
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned f = 0; f < 3; f++) {
            trace_measure(&trace, kilobytes[i], fanouts[f], 0);
        }
        trace_measure(&trace, kilobytes[i], 16, SYNC_CHANGES);
    }
    free(trace.ops);
    return 0;
}
