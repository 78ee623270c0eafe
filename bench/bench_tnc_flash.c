// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The store tnc on simulated NAND: bytes programmed a change, with whole
/// pages, commits and the sweep; reads, erases, the reads of a mount.
///
///     linux61_untar_rm   the trace of bench_tnc_paper.c, in a region that is
///                        not filled
///     uniform            updates of random keys, in regions that nodes fill to
///                        a share
#include "bench/tnc_bench.h"
#include "port/sim/sim.h"
#include "volume/volume.h"

static const char bench[] = "tnc_flash";

enum {
    PAGE_BYTES = 2048,
    BLOCK_PAGES = 16,
    META_BLOCKS = 8,
    TRACE_BLOCKS = 4096,
    SYNC_CHANGES = 1000, ///< between syncs, where there are syncs
    KEYS = 20000,
    UPDATES = 200000,
};

/// A node's share of a page, and the entries that it has.
struct node_size {
    uint8_t k_percent;
    uint8_t fanout;
};

static const struct node_size sizes[] = {{10, 16}, {20, 33}, {40, 66}};
static const struct trace uniform = {"uniform", NULL, 0};

struct flash {
    struct esk_sim *sim;
    struct esk_volume volume;
    struct esk_tree *tree;
    struct esk_tree_config config;
    void *memory;
    uint32_t bytes; ///< of the arena
    uint32_t blocks;
    uint16_t kilobytes;
    uint32_t sync_every; ///< changes; 0: never
    uint64_t page[PAGE_BYTES / sizeof(uint64_t)];
};

static void flash_open(struct flash *flash) {
    BENCH_DO(esk_volume_mount(&flash->volume, esk_sim_device(flash->sim), 0,
                              flash->page, sizeof flash->page));
    BENCH_DO(esk_volume_arena_set(&flash->volume, flash->memory, flash->bytes));
    BENCH_DO(
        esk_tree_open(&flash->tree, &flash->volume, "map", &flash->config));
}

/// Sets the frames that fit the RAM, and allocates the arena.
static void arena_make(struct flash *flash) {
    struct esk_table_info info;
    flash->config = (struct esk_tree_config){.store = &esk_store_tnc,
                                             .merge = &esk_merge_moving,
                                             .frames = UINT8_MAX};
    BENCH_DO(esk_volume_mount(&flash->volume, esk_sim_device(flash->sim), 0,
                              flash->page, sizeof flash->page));
    BENCH_DO(esk_volume_find(&flash->volume, "map", &info));
    do {
        flash->bytes =
            esk_tree_arena_bytes(&flash->volume, &info, &flash->config);
    } while (flash->bytes > flash->kilobytes * 1024u &&
             --flash->config.frames > 0);
    flash->memory = bench_memory(flash->bytes);
}

static void flash_make(struct flash *flash, uint8_t k_percent) {
    static const struct esk_column columns[] = {
        {"key", "", ESK_TYPE_BYTES, KEY_BYTES, 0, NULL, 0},
        {"place", "", ESK_TYPE_U32, 0, 0, NULL, 0},
    };
    const struct esk_sim_config config = {
        .geometry = {.block_count = META_BLOCKS + flash->blocks,
                     .block_pages = BLOCK_PAGES,
                     .page_bytes = PAGE_BYTES,
                     .program_bytes = PAGE_BYTES,
                     .programs_per_page_max = 1,
                     .erased_value = 0xFF},
        .seed = 1};
    const struct esk_volume_config volume = {.tables_max = 1};
    const struct esk_tree_spec spec = {.table = {.name = "map",
                                                 .columns = columns,
                                                 .column_count = 2,
                                                 .row_bytes = ROW_BYTES},
                                       .store = ESK_STORE_TNC,
                                       .k_percent = k_percent,
                                       .blocks = flash->blocks};
    BENCH_DO(esk_sim_create(&flash->sim, &config));
    BENCH_DO(esk_volume_format(esk_sim_device(flash->sim), &volume, flash->page,
                               sizeof flash->page));
    BENCH_DO(esk_volume_mount(&flash->volume, esk_sim_device(flash->sim), 0,
                              flash->page, sizeof flash->page));
    BENCH_DO(esk_tree_create(&flash->volume, &spec, NULL));
    arena_make(flash);
    flash_open(flash);
}

static void change(struct flash *flash, bool deletes, uint64_t key,
                   uint32_t number) {
    uint8_t row[ROW_BYTES];
    key_store(row, key);
    esk_store_u32(row + KEY_BYTES, number);
    BENCH_DO(deletes ? esk_tree_delete(flash->tree, row)
                     : esk_tree_put(flash->tree, row));
    if (flash->sync_every > 0 && number % flash->sync_every == 0) {
        BENCH_DO(esk_tree_sync(flash->tree));
    }
}

/// Prints what `changes` changes cost, and what a mount costs.
static void flash_print(struct flash *flash, const struct trace *data,
                        double changes, const char *config) {
    const struct esk_sim_counters *done = esk_sim_counters(flash->sim);
    BENCH_DO(esk_tree_sync(flash->tree));
    bench_print(bench, "bytes programmed a change", data,
                (double)done->bytes_programmed / changes, "B", "%s", config);
    bench_print(bench, "page reads a change", data,
                (double)done->reads / changes, "", "%s", config);
    bench_print(bench, "erases a thousand changes", data,
                1000 * (double)done->erases / changes, "", "%s", config);
    bench_print(bench, "RAM, arena", data, flash->bytes, "B", "%s", config);
    esk_tree_close(flash->tree);
    esk_sim_counters_reset(flash->sim);
    flash_open(flash);
    bench_print(bench, "bytes read by a mount", data, done->bytes_read, "B",
                "%s", config);
    BENCH_HOLDS(esk_sim_violations(flash->sim) == 0);
    esk_sim_destroy(flash->sim);
    free(flash->memory);
}

static void trace_measure(const struct trace *trace, uint16_t kilobytes,
                          const struct node_size *size, uint32_t sync_every) {
    static struct flash flash;
    char config[BENCH_TEXT_BYTES];
    uint32_t changes = 0;
    flash = (struct flash){.kilobytes = kilobytes,
                           .blocks = TRACE_BLOCKS,
                           .sync_every = sync_every};
    flash_make(&flash, size->k_percent);
    for (uint32_t i = 0; i < trace->count; i++) {
        uint64_t op = trace->ops[i];
        if (op >> 60 == TRACE_LOOKUP) {
            uint8_t key[KEY_BYTES];
            uint8_t row[ROW_BYTES];
            key_store(key, op & TRACE_KEY_MASK);
            int status = esk_tree_get(flash.tree, key, row);
            BENCH_HOLDS(status == ESK_OK || status == ESK_NOT_FOUND);
        } else {
            changes++;
            change(&flash, op >> 60 == TRACE_DELETE, op & TRACE_KEY_MASK,
                   changes);
        }
    }
    snprintf(config, sizeof config, "%u KB of RAM, fanout %u%s", kilobytes,
             size->fanout, sync_every > 0 ? ", a sync each 1000 changes" : "");
    flash_print(&flash, trace, changes, config);
}

/// Updates keys in a region, after as many updates as make it go round.
static void uniform_measure(uint16_t kilobytes, uint32_t blocks) {
    static struct flash flash;
    char config[BENCH_TEXT_BYTES];
    struct esk_tree_stats stats;
    uint64_t random = 88172645463325252u;
    flash = (struct flash){.kilobytes = kilobytes, .blocks = blocks};
    flash_make(&flash, sizes[0].k_percent);
    for (uint32_t key = 0; key < KEYS; key++) {
        change(&flash, false, key, key);
    }
    for (uint32_t i = 0; i < UPDATES; i++) {
        change(&flash, false, bench_random(&random, KEYS), i);
    }
    BENCH_HOLDS(esk_sim_counters(flash.sim)->programs > blocks * BLOCK_PAGES);
    esk_sim_counters_reset(flash.sim);
    for (uint32_t i = 0; i < UPDATES; i++) {
        change(&flash, false, bench_random(&random, KEYS), i);
    }
    esk_tree_stats(flash.tree, &stats);
    uint64_t live = ESK_TREE_NODE_HEAD * (uint64_t)stats.nodes +
                    ROW_BYTES * (uint64_t)(stats.nodes + KEYS);
    snprintf(config, sizeof config, "%u KB of RAM, fanout 16, %.0f %% live",
             kilobytes,
             100 * (double)live / ((double)blocks * BLOCK_PAGES * PAGE_BYTES));
    flash_print(&flash, &uniform, UPDATES, config);
}

int main(void) {
    static const uint16_t kilobytes[] = {16, 64, 256};
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
            trace_measure(&trace, kilobytes[i], &sizes[f], 0);
        }
        for (unsigned f = 0; f < 2; f++) {
            trace_measure(&trace, kilobytes[i], &sizes[f], SYNC_CHANGES);
        }
    }
    free(trace.ops);
    return 0;
}
