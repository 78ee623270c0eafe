// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The stores of the benchmark of all stores, behind one interface: made on a
/// medium with a budget of RAM, then put, get, delete, sync.
///
///     inplace, wandering, mu   esk_tree, with as many frames as fit; where
///                              syncs are rare, with the write cache
///     tnc                      the same: it always has a write cache
///     kv                       all keys in RAM
///     kv, index                a pending table in RAM, as large as fits
///
/// A row is a key of 8 bytes and a value of 16.
#ifndef ESK_BENCH_STORES_KINDS_H
#define ESK_BENCH_STORES_KINDS_H

#include "bench/bench.h"
#include "esker/arena.h"
#include "esker/tree_plan.h"
#include "port/sim/sim.h"
#include "volume/volume.h"

enum {
    STORE_KEY_BYTES = 8,
    STORE_ROW_BYTES = 24,
    STORE_VALUE_BYTES = STORE_ROW_BYTES - STORE_KEY_BYTES,
    STORE_META_BLOCKS = 4, ///< at each end: superblocks, catalog
    STORE_FRAMES_MAX = 255,
};

struct store_kind;

/// A store under measurement.
struct store {
    const struct store_kind *kind;
    struct esk_sim *sim;
    uint32_t blocks;    ///< of its region
    uint32_t keys_most; ///< at a time
    uint32_t budget;    ///< bytes of RAM
    bool rare_syncs;
    /* Made by the store. */
    uint32_t arena_bytes; ///< of the budget, in use
    const char *why;      ///< it cannot run; NULL: it can
    uint32_t lacks;       ///< bytes of RAM that it needs for that; 0: others
    struct esk_volume volume;
    void *memory;
    struct esk_tree *tree;
    struct esk_kv *kv;
    uint64_t page[4096 / sizeof(uint64_t)];
};

struct store_kind {
    const char *name;
    const struct esk_node_store *nodes; ///< of a tree
    uint8_t store_id;
    bool has_index; ///< of a kv table
    /// Makes and opens it, or sets `why`.
    void (*open)(struct store *store);
    int (*put)(struct store *store, const uint8_t *row);
    int (*get)(struct store *store, uint8_t *row);
    int (*remove)(struct store *store, const uint8_t *row);
    int (*sync)(struct store *store);
};

static inline const struct esk_geometry *
store_geometry(const struct store *store) {
    return &esk_sim_device(store->sim)->geometry;
}

static inline void store_refuse(struct store *store, const char *why,
                                uint32_t lacks) {
    store->why = why;
    store->lacks = lacks;
}

/// An empty volume, mounted with a page of RAM.
static inline void store_volume(struct store *store) {
    const struct esk_volume_config config = {.uuid = {0xE5, 0xCE},
                                             .tables_max = 1};
    const struct esk_device *device = esk_sim_device(store->sim);
    BENCH_DO(
        esk_volume_format(device, &config, store->page, sizeof store->page));
    BENCH_DO(esk_volume_mount(&store->volume, device, 0, store->page,
                              sizeof store->page));
}

static inline void store_arena(struct store *store, uint32_t bytes) {
    BENCH_HOLDS(bytes <= store->budget);
    store->arena_bytes = bytes;
    store->memory = bench_memory(bytes);
    BENCH_DO(esk_volume_arena_set(&store->volume, store->memory, bytes));
}

/* ---------------------------------------------------------------- trees */

static inline struct esk_tree_need store_need(const struct store *store) {
    const struct esk_geometry *geometry = store_geometry(store);
    struct esk_tree_need need = {
        .rows = store->keys_most,
        .blocks = store->blocks,
        .block_pages = geometry->block_pages,
        .page_bytes = geometry->page_bytes,
        .leaf_entry_bytes = STORE_ROW_BYTES,
        .index_entry_bytes = STORE_KEY_BYTES + 4,
        .store = store->kind->store_id,
    };
    esk_tree_plan_headers(&need);
    return need;
}

/// The k of a mu tree; 0: no page is large enough.
static inline uint8_t store_k(const struct store *store) {
    const struct esk_tree_need need = store_need(store);
    uint8_t k = 0;
    return esk_tree_plan_best_k(&need, &k) == ESK_OK ? k : 0;
}

/// Fewest frames with which a tree holds its keys.
static inline uint8_t store_frames_least(const struct store *store) {
    const struct esk_tree_need need = store_need(store);
    struct esk_tree_plan plan;
    BENCH_DO(esk_tree_plan(&need, &plan));
    return plan.frames_least;
}

/// Returns whether there is a tree.
static inline bool store_tree_create(struct store *store) {
    static const struct esk_column columns[] = {
        {"key", "", ESK_TYPE_U64, 0, 0, NULL, 0},
        {"value", "", ESK_TYPE_BYTES, STORE_VALUE_BYTES, 0, NULL, 0},
    };
    bool is_mu = store->kind->store_id == ESK_STORE_MU;
    struct esk_tree_spec spec = {
        .table = {.name = "tree",
                  .columns = columns,
                  .column_count = 2,
                  .row_bytes = STORE_ROW_BYTES},
        .store = store->kind->store_id,
        .k_percent = is_mu ? store_k(store) : 0,
        .blocks = store->blocks,
    };
    if (is_mu && spec.k_percent == 0) {
        store_refuse(store, "pages too small for so many rows", 0);
        return false;
    }
    int status = esk_tree_create(&store->volume, &spec, NULL);
    if (status == ESK_E_UNSUPPORTED) {
        store_refuse(store, "the medium does not overwrite pages", 0);
        return false;
    }
    BENCH_DO(status);
    return true;
}

static inline void store_tree_open(struct store *store) {
    bool moves = store->kind->store_id != ESK_STORE_INPLACE;
    struct esk_tree_config config = {.store = store->kind->nodes,
                                     .merge = moves ? &esk_merge_moving
                                                    : &esk_merge_inplace,
                                     .frames = STORE_FRAMES_MAX};
    struct esk_table_info info;
    store_volume(store);
    if (!store_tree_create(store)) {
        return;
    }
    if (moves && store->rare_syncs) {
        config.write_cache = &esk_write_cache;
    }
    BENCH_DO(esk_volume_find(&store->volume, "tree", &info));
    uint8_t least = store_frames_least(store);
    uint32_t bytes = esk_tree_arena_bytes(&store->volume, &info, &config);
    while (bytes > store->budget && config.frames > least) {
        config.frames--;
        bytes = esk_tree_arena_bytes(&store->volume, &info, &config);
    }
    if (bytes > store->budget) {
        static char why[32];
        snprintf(why, sizeof why, "RAM for %u frames", least);
        store_refuse(store, why, bytes);
        return;
    }
    store_arena(store, bytes);
    BENCH_DO(esk_tree_open(&store->tree, &store->volume, "tree", &config));
}

static inline int store_tree_put(struct store *store, const uint8_t *row) {
    return esk_tree_put(store->tree, row);
}

static inline int store_tree_get(struct store *store, uint8_t *row) {
    return esk_tree_get(store->tree, row, row);
}

static inline int store_tree_remove(struct store *store, const uint8_t *row) {
    return esk_tree_delete(store->tree, row);
}

static inline int store_tree_sync(struct store *store) {
    return esk_tree_sync(store->tree);
}

/* ------------------------------------------------------------------- kv */

static inline uint32_t store_kv_bytes(const struct store *store,
                                      uint32_t keys) {
    const struct esk_geometry *geometry = store_geometry(store);
    uint32_t region =
        store->blocks * geometry->block_pages * geometry->page_bytes;
    return store->kind->has_index
               ? ESK_KV_INDEX_ARENA_BYTES(geometry->page_bytes, keys, region,
                                          store->keys_most)
               : ESK_KV_ARENA_BYTES(geometry->page_bytes, keys, region);
}

/// Keys for its RAM; 0: it has too little.
static inline uint32_t store_kv_keys(struct store *store) {
    bool has_index = store->kind->has_index;
    /* With an index, at least a quarter of a page's bytes. */
    uint32_t keys =
        has_index ? store_geometry(store)->page_bytes / 4u : store->keys_most;
    uint32_t bytes = store_kv_bytes(store, keys);
    if (bytes > store->budget) {
        store_refuse(store,
                     has_index ? "RAM for a pending table" : "RAM for its keys",
                     bytes);
        return 0;
    }
    while (has_index && keys < store->keys_most &&
           store_kv_bytes(store, keys + 1) <= store->budget) {
        keys++;
    }
    return keys;
}

static inline void store_kv_open(struct store *store) {
    struct esk_kv_spec spec = {
        .name = "kv",
        .blocks = store->blocks,
        .index_keys = store->kind->has_index ? store->keys_most : 0};
    struct esk_kv_config config = {
        .keys = store_kv_keys(store),
        .part = store->kind->has_index ? &esk_kv_part_index : NULL};
    if (config.keys == 0) {
        return;
    }
    store_volume(store);
    /* The index has blocks of its own: log and index share the region. */
    int status = esk_kv_create(&store->volume, &spec, NULL);
    while (status == ESK_E_NO_SPACE && spec.blocks > ESK_KV_BLOCKS_MIN) {
        spec.blocks--;
        status = esk_kv_create(&store->volume, &spec, NULL);
    }
    BENCH_DO(status);
    store_arena(store, store_kv_bytes(store, config.keys));
    BENCH_DO(esk_kv_open(&store->kv, &store->volume, "kv", &config));
}

static inline int store_kv_put(struct store *store, const uint8_t *row) {
    return esk_kv_put(store->kv, row, STORE_KEY_BYTES, row + STORE_KEY_BYTES,
                      STORE_VALUE_BYTES, ESK_KV_BYTES);
}

static inline int store_kv_get(struct store *store, uint8_t *row) {
    return esk_kv_get(store->kv, row, STORE_KEY_BYTES, row + STORE_KEY_BYTES,
                      STORE_VALUE_BYTES, NULL, NULL);
}

static inline int store_kv_remove(struct store *store, const uint8_t *row) {
    return esk_kv_delete(store->kv, row, STORE_KEY_BYTES);
}

static inline int store_kv_sync(struct store *store) {
    return esk_kv_sync(store->kv);
}

/* ------------------------------------------------------------- all of them */

#define STORE_TREE                                                             \
    .open = store_tree_open, .put = store_tree_put, .get = store_tree_get,     \
    .remove = store_tree_remove, .sync = store_tree_sync
#define STORE_KV                                                               \
    .open = store_kv_open, .put = store_kv_put, .get = store_kv_get,           \
    .remove = store_kv_remove, .sync = store_kv_sync

enum { STORE_KINDS = 6 };

static const struct store_kind store_kinds[STORE_KINDS] = {
    {.name = "inplace",
     .nodes = &esk_store_inplace,
     .store_id = ESK_STORE_INPLACE,
     STORE_TREE},
    {.name = "wandering",
     .nodes = &esk_store_wandering,
     .store_id = ESK_STORE_WANDERING,
     STORE_TREE},
    {.name = "mu",
     .nodes = &esk_store_mu,
     .store_id = ESK_STORE_MU,
     STORE_TREE},
    {.name = "tnc",
     .nodes = &esk_store_tnc,
     .store_id = ESK_STORE_TNC,
     STORE_TREE},
    {.name = "kv", STORE_KV},
    {.name = "kv with index", .has_index = true, STORE_KV},
};

#endif
