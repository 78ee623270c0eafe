// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A tree table under measurement, on a simulated medium.
///
///     medium -> format, create -> open -> put, get, delete -> counters
///
/// Reads, programs, erases and time are the simulator's: all calls of the
/// device, with checks and GC. Each get is compared with the value of the key's
/// put.
#ifndef ESK_BENCH_TREE_BENCH_H
#define ESK_BENCH_TREE_BENCH_H

#include "bench/bench.h"
#include "bench/tree_load.h"
#include "port/sim/sim.h"

enum { TREE_PAGE_BYTES_MAX = 4096, TREE_ROW_BYTES_MAX = 64 };

/// Dataset of bench_print.
struct tree_set {
    const char *name;
};

/// How a table is made and opened.
struct tree_shape {
    const struct esk_node_store *store;
    uint8_t store_id; ///< enum esk_tree_store
    uint8_t k_percent;
    uint8_t frames;
    uint8_t policy;       ///< enum esk_tree_policy
    uint8_t write_frames; ///< of a write cache; 0: none
    uint16_t batch_pages; ///< in place: of a batch; 0: no batches
    uint16_t row_bytes;   ///< a key and other bytes
    uint8_t key_bytes;    ///< of fixed bytes, big-endian; 0: a u32
};

/// A table, its volume and its medium.
struct tree_table {
    const struct tree_shape *shape;
    const struct esk_device *device;
    struct esk_volume volume;
    struct esk_table_info info;
    struct esk_tree *tree;
    void *arena;
    uint32_t arena_bytes;
    uint64_t page[TREE_PAGE_BYTES_MAX / sizeof(uint64_t)];
};

/// The row of `key`: the key, then bytes computed from it.
static inline void tree_row(uint8_t *row, uint32_t key, uint16_t row_bytes) {
    uint32_t value = key * 2654435761u + 12345u;
    memcpy(row, &key, sizeof key);
    for (uint16_t i = sizeof key; i < row_bytes; i++) {
        row[i] = (uint8_t)(value >> (8u * (i % 4u)));
    }
}

/// The key's bytes in a row.
static inline void tree_key(const struct tree_shape *shape, uint32_t key,
                            uint8_t *bytes) {
    if (shape->key_bytes == 0) {
        memcpy(bytes, &key, sizeof key);
        return;
    }
    memset(bytes, 0, shape->key_bytes);
    for (uint8_t i = 1; i <= sizeof key; i++) {
        bytes[shape->key_bytes - i] = (uint8_t)(key >> (8u * (i - 1u)));
    }
}

/// The row of `key` in a table of `shape`.
static inline void tree_row_make(const struct tree_shape *shape, uint32_t key,
                                 uint8_t *row) {
    tree_row(row, key, shape->row_bytes);
    tree_key(shape, key, row);
}

static inline void tree_create(struct tree_table *table,
                               const struct esk_device *device,
                               const struct tree_shape *shape) {
    bool is_wide = shape->key_bytes != 0;
    uint16_t key_bytes = is_wide ? shape->key_bytes : 4;
    const struct esk_column columns[] = {
        {.name = "key",
         .type = is_wide ? ESK_TYPE_BYTES : ESK_TYPE_U32,
         .bytes = shape->key_bytes},
        {.name = "value",
         .type = ESK_TYPE_BYTES,
         .bytes = (uint16_t)(shape->row_bytes - key_bytes)},
    };
    struct esk_tree_spec spec = {
        .table = {.name = "tree",
                  .columns = columns,
                  .column_count = 2,
                  .row_bytes = shape->row_bytes},
        .store = shape->store_id,
        .k_percent = shape->k_percent,
    };
    struct esk_volume_config config = {.uuid = {0xE5, 0xCE}, .tables_max = 1};
    struct esk_fault fault;
    BENCH_HOLDS(device->geometry.page_bytes <= TREE_PAGE_BYTES_MAX);
    BENCH_DO(
        esk_volume_format(device, &config, table->page, sizeof table->page));
    BENCH_DO(esk_volume_mount(&table->volume, device, 0, table->page,
                              sizeof table->page));
    BENCH_DO(esk_tree_create(&table->volume, &spec, &fault));
    esk_volume_unmount(&table->volume);
}

/// Mounts and opens. `flags` is enum esk_mount_flags.
static inline void tree_open(struct tree_table *table,
                             const struct esk_device *device,
                             const struct tree_shape *shape, uint8_t flags) {
    struct esk_tree_config config = {.store = shape->store,
                                     .frames = shape->frames,
                                     .policy = shape->policy,
                                     .write_frames = shape->write_frames};
    if (shape->batch_pages > 0) {
        config.batches = &esk_batches_inplace;
        config.batch_pages = shape->batch_pages;
    }
    if (shape->write_frames > 0) {
        config.write_cache = &esk_write_cache;
    }
    table->shape = shape;
    table->device = device;
    BENCH_DO(esk_volume_mount(&table->volume, device, flags, table->page,
                              sizeof table->page));
    BENCH_DO(esk_volume_find(&table->volume, "tree", &table->info));
    table->arena_bytes =
        esk_tree_arena_bytes(&table->volume, &table->info, &config);
    table->arena = bench_memory(table->arena_bytes);
    BENCH_DO(
        esk_volume_arena_set(&table->volume, table->arena, table->arena_bytes));
    BENCH_DO(esk_tree_open(&table->tree, &table->volume, "tree", &config));
}

static inline void tree_close(struct tree_table *table) {
    BENCH_DO(esk_tree_sync(table->tree));
    esk_tree_close(table->tree);
    esk_volume_unmount(&table->volume);
    free(table->arena);
    table->arena = NULL;
}

static inline void tree_put(struct tree_table *table, uint32_t key) {
    uint8_t row[TREE_ROW_BYTES_MAX];
    tree_row_make(table->shape, key, row);
    BENCH_DO(esk_tree_put(table->tree, row));
}

static inline void tree_get(struct tree_table *table, uint32_t key) {
    uint8_t row[TREE_ROW_BYTES_MAX];
    uint8_t wanted[TREE_ROW_BYTES_MAX];
    uint8_t bytes[TREE_ROW_BYTES_MAX];
    tree_row_make(table->shape, key, wanted);
    tree_key(table->shape, key, bytes);
    BENCH_DO(esk_tree_get(table->tree, bytes, row));
    BENCH_HOLDS(memcmp(row, wanted, table->shape->row_bytes) == 0);
}

static inline void tree_delete(struct tree_table *table, uint32_t key) {
    uint8_t bytes[TREE_ROW_BYTES_MAX];
    tree_key(table->shape, key, bytes);
    BENCH_DO(esk_tree_delete(table->tree, bytes));
}

static inline uint8_t tree_height(const struct tree_table *table) {
    struct esk_tree_stats stats;
    esk_tree_stats(table->tree, &stats);
    return stats.height;
}

/// Ends the program unless the tree has no fault and `rows` rows.
static inline void tree_verify(struct tree_table *table, uint32_t rows) {
    struct esk_tree_report report;
    BENCH_DO(esk_tree_check(table->tree, &report));
    BENCH_HOLDS(report.rows == rows);
}

/* ---------------------------------------------------------------- medium */

/// A simulator of `part`, of `blocks` blocks (0: the part's).
static inline struct esk_sim *tree_medium(const char *part, uint32_t blocks) {
    struct esk_sim *sim = NULL;
    struct esk_sim_config config = {.part = part, .seed = 1};
    config.geometry.block_count = blocks;
    BENCH_DO(esk_sim_create(&sim, &config));
    return sim;
}

static inline void tree_medium_free(struct esk_sim *sim) {
    BENCH_HOLDS(esk_sim_violations(sim) == 0);
    esk_sim_destroy(sim);
}

/// The differences to `before`, a copy of the counters.
static inline struct esk_sim_counters
tree_since(const struct esk_sim *sim, const struct esk_sim_counters *before) {
    struct esk_sim_counters now = *esk_sim_counters(sim);
    now.reads -= before->reads;
    now.programs -= before->programs;
    now.erases -= before->erases;
    now.bytes_programmed -= before->bytes_programmed;
    now.time_ns -= before->time_ns;
    now.read_time_ns -= before->read_time_ns;
    now.program_time_ns -= before->program_time_ns;
    now.erase_time_ns -= before->erase_time_ns;
    return now;
}

#endif
