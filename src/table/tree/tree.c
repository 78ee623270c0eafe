// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Opening a tree: reads its descriptor, carves memory, mounts the store.
#include "table/tree/tree.h"

#include <stddef.h>

#include "base/arena.h"
#include "base/inline.h"
#include "table/tree/plan/collector.h"
#include "volume/volume.h"
#include "volume/volume_format.h"

enum {
    ERASE_AHEAD_MAX = 8,
    BATCH_PAGES = 16,
};

/* The constants of esker/arena.h. */
_Static_assert(
    offsetof(struct esk_tree, before) + sizeof(struct esk_tree_spares) <=
            ESK_TREE_INPLACE_BYTES &&
        offsetof(struct esk_tree, committed) + sizeof(struct esk_tree_spares) +
                sizeof(struct esk_tree_batch) <=
            ESK_TREE_BATCHES_BYTES(0) &&
        offsetof(struct esk_tree, pool_offsets) <= ESK_TREE_MOVING_BYTES &&
        sizeof(struct esk_tree) <=
            ESK_TREE_MOVING_BYTES + ESK_TREE_LRU_N_BYTES(0) &&
        sizeof(struct esk_tree_cached) <= ESK_TREE_WRITE_CACHE_BYTES(0) &&
        ESK_TREE_MOVING_BYTES + ESK_TREE_WRITE_CACHE_BYTES(0) +
                sizeof(struct esk_tree_packed) <=
            ESK_TREE_TNC_BYTES(0, 0, 0) &&
        ESK_TREE_TNC_FRAME_BYTES(ESK_TREE_PACKED_BODY, 0) ==
            ESK_TREE_PACKED_NODE - ESK_TREE_PACKED_LEVEL_BYTES,
    "constants of a tree's memory");

static bool store_packs(const struct esk_node_store *store) {
    return ESK_SHAPED_CONFIG(false, (store->flags & ESK_STORE_PACKS) != 0);
}

/// Whether addresses have enough bits for the store: positions of a ring, which
/// only rise, take 32.
static bool addresses_suit(const struct esk_node_store *store) {
    return ESK_ADDRESS_BITS == 32 || (store->flags & ESK_STORE_OVERWRITES) != 0;
}

/// Whether the program has what the store needs: one that names parts of trees
/// has no packed nodes, one that names parts of series alone has no trees.
static bool store_suits(const struct esk_node_store *store) {
    return !ESK_SHAPE_ALL_SERIES && addresses_suit(store) &&
           store_packs(store) == ((store->flags & ESK_STORE_PACKS) != 0);
}

static uint8_t frames_of(const struct esk_tree_config *config) {
    uint8_t asked = config->frames;
    return ESK_SHAPED_FRAMES(ESK_SHAPE_POOL_FRAMES,
                             asked == 0 ? config->store->frames : asked);
}

/// The write cache of the store, else of `config`.
static const struct esk_tree_write_cache *
cache_of(const struct esk_tree_config *config) {
    return config->store->cache != NULL ? config->store->cache
                                        : config->write_cache;
}

static uint16_t batch_pages(const struct esk_tree_config *config) {
    return config->batch_pages != 0 ? config->batch_pages : BATCH_PAGES;
}

/// Frames for the write cache. A read needs one more frame, a path that is
/// gathered in a page two more.
static uint8_t write_frames(const struct esk_tree_config *config,
                            const struct esk_btree_layout *layout,
                            uint8_t frames) {
    uint8_t most = (uint8_t)(frames - (layout->shares ? 2u : 1u));
    uint8_t asked = config->write_frames;
    return asked != 0 && asked < most ? asked : most;
}

int esk_tree_options(const struct esk_table_info *info,
                     struct esk_tree_options *options) {
    ESK_ASSERT(info != NULL && options != NULL);
    if (info->options_bytes > sizeof info->options) {
        return ESK_E_UNSUPPORTED;
    }
    const uint8_t *own =
        esk_option_find(info->options, info->options_bytes, ESK_OPTION_TREE, 2);
    if (own == NULL) {
        return ESK_E_CORRUPT;
    }
    options->store = own[0];
    options->k_percent = own[1];
    return options->store > ESK_STORE_TNC ? ESK_E_UNSUPPORTED : ESK_OK;
}

/// As esk_tree_layout_read.
/// descriptor  at its first column.
static int layout_read(struct esk_descriptor *descriptor,
                       const struct esk_table_info *info,
                       const struct esk_node_store *store,
                       struct esk_btree_layout *layout) {
    struct esk_column_place column;
    uint16_t page_bytes = esk_volume_geometry(descriptor->volume)->page_bytes;
    struct esk_tree_options options;
    ESK_TRY(esk_tree_options(info, &options));
    if (options.store != store->id) {
        return ESK_E_UNSUPPORTED;
    }
    if (info->key_column >= info->column_count) {
        return ESK_E_CORRUPT;
    }
    for (uint8_t i = 0; i <= info->key_column; i++) {
        ESK_TRY(esk_descriptor_column(descriptor, &column, NULL, NULL));
    }
    memset(layout, 0, sizeof *layout);
    layout->row_bytes = info->row_bytes;
    layout->key_offset = column.offset;
    layout->key_bytes = column.bytes;
    layout->key_type = column.type;
    if (column.type == ESK_TYPE_VAR || info->row_bytes > page_bytes ||
        options.k_percent == 0 || options.k_percent >= 100) {
        return ESK_E_CORRUPT;
    }
    store->layout(layout, page_bytes, options.k_percent);
    return esk_btree_layout_is_sound(layout) ? ESK_OK : ESK_E_CORRUPT;
}

int esk_tree_layout_read(struct esk_volume *volume,
                         const struct esk_table_info *info,
                         const struct esk_node_store *store,
                         struct esk_btree_layout *layout) {
    ESK_ASSERT(info != NULL && store != NULL && layout != NULL);
    struct esk_descriptor descriptor;
    uint8_t *page = NULL;
    ESK_TRY(esk_volume_page(volume, &page));
    ESK_TRY(esk_descriptor_open(&descriptor, volume, info, page));
    return layout_read(&descriptor, info, store, layout);
}

/// The parts of the arena, in order.
struct tree_memory {
    struct esk_tree *tree;
    void *pool;
    struct esk_tree_batch *batch;
    struct esk_tree_cached *cached;
    void *own;        ///< tree->spares or tree->packed
    uint8_t *pending; ///< then tree->low and tree->probe
    uint16_t tree_bytes;
    uint8_t frames;
};

static bool is_lru_n(const struct esk_btree_layout *layout,
                     const struct esk_tree_config *config) {
    return layout->shares && config->policy == ESK_TREE_LRU_N;
}

/// Bytes of the handle that the tree uses.
static uint16_t handle_bytes(const struct esk_btree_layout *layout,
                             const struct esk_tree_config *config) {
    if ((config->store->flags & ESK_STORE_OVERWRITES) == 0) {
        return is_lru_n(layout, config)
                   ? sizeof(struct esk_tree)
                   : offsetof(struct esk_tree, pool_offsets);
    }
    return ESK_TREE_BATCHES_OF(*config) != NULL
               ? offsetof(struct esk_tree, committed)
               : offsetof(struct esk_tree, before);
}

/// A page, or a node's share of one.
static uint16_t frame_bytes(const struct esk_btree_layout *layout) {
    return esk_btree_layout_of(layout)->offset[layout->height_max];
}

/// Bytes of what only this kind of store has.
static uint16_t own_bytes(uint16_t page_bytes,
                          const struct esk_btree_layout *layout,
                          const struct esk_node_store *store) {
    return (store->flags & ESK_STORE_OVERWRITES) != 0
               ? sizeof(struct esk_tree_spares)
           : store_packs(store) ? (uint16_t)(sizeof(struct esk_tree_packed) +
                                             page_bytes + layout->key_bytes)
                                : 0;
}

static int memory_carve(struct esk_arena *arena, uint16_t page_bytes,
                        const struct esk_btree_layout *layout,
                        const struct esk_tree_config *config,
                        struct tree_memory *memory) {
    uint8_t classes = is_lru_n(layout, config) ? layout->height_max : 1;
    memory->frames = frames_of(config);
    if (memory->frames < config->store->frames_min) {
        return ESK_E_INVALID;
    }
    memory->tree_bytes = handle_bytes(layout, config);
    memory->tree = esk_arena_take(arena, memory->tree_bytes);
    memory->own =
        esk_arena_take(arena, own_bytes(page_bytes, layout, config->store));
    memory->batch = NULL;
    if (ESK_TREE_BATCHES_OF(*config) != NULL) {
        memory->batch = esk_arena_take(arena, (uint32_t)sizeof *memory->batch +
                                                  (uint32_t)sizeof(uint32_t) *
                                                      batch_pages(config));
    }
    memory->cached = NULL;
    if (cache_of(config) != NULL) {
        uint16_t pages = (uint16_t)(memory->frames *
                                    (uint16_t)sizeof *memory->cached->pages);
        memory->cached =
            esk_arena_take(arena, (uint32_t)sizeof *memory->cached + pages);
    }
    memory->pool = esk_arena_take(
        arena, ESK_POOL_BYTES(frame_bytes(layout), memory->frames, classes));
    memory->pending = esk_arena_take(
        arena, ESK_TREE_CHILD_BYTES + 3u * (uint32_t)layout->key_bytes);
    return esk_arena_fits(arena) ? ESK_OK : ESK_E_NO_MEMORY;
}

uint32_t esk_tree_arena_bytes(struct esk_volume *volume,
                              const struct esk_table_info *info,
                              const struct esk_tree_config *config) {
    ESK_ASSERT(info != NULL && config != NULL);
    struct esk_arena arena = {.bytes = UINT32_MAX};
    struct esk_btree_layout layout;
    struct tree_memory memory;
    if (config->store == NULL ||
        esk_tree_layout_read(volume, info, config->store, &layout) != ESK_OK) {
        return 0;
    }
    return memory_carve(&arena, esk_volume_geometry(volume)->page_bytes,
                        &layout, config, &memory) == ESK_OK
               ? arena.used
               : 0;
}

/// Whether the table's region is on the device.
static bool region_fits(const struct esk_volume *volume,
                        const struct esk_table_info *info) {
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    uint32_t block = info->block[ESK_REGION_DATA];
    uint32_t blocks = info->blocks[ESK_REGION_DATA];
    return esk_region_fits(geometry, block, blocks, 2) &&
           blocks * geometry->block_pages >= ESK_TREE_PAGES_MIN;
}

/// Fills in the ring's parameters from the table's region.
static void region_take(const struct esk_table_info *info,
                        const struct esk_tree_config *config,
                        struct esk_ring_config *region) {
    uint8_t ahead = config->erase_ahead != 0 ? config->erase_ahead : 1;
    memset(region, 0, sizeof *region);
    region->block = info->block[ESK_REGION_DATA];
    region->blocks = info->blocks[ESK_REGION_DATA];
    region->seed = info->seed;
    region->unit = 1;
    region->kind = ESK_PAGE_TREE;
    region->table = info->id;
    region->ahead = ahead > ERASE_AHEAD_MAX ? ERASE_AHEAD_MAX : ahead;
    region->refuse = true;
}

static int tree_mount(struct esk_tree *tree,
                      const struct esk_ring_config *region) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    tree->now.height = 1;
    tree->now.root = ESK_ADDRESS_NONE;
    ESK_TRY(esk_pool_take(&tree->pool, &page, &frame));
    int status = esk_tree_store(tree)->mount(tree, region, page);
    esk_pool_give(&tree->pool, frame);
    ESK_TRY(status);
    esk_table_ring_add(&tree->table, &tree->ring);
    esk_tree_height_changed(tree);
    return ESK_OK;
}

/// Whether the parts of `config` are for its kind of store.
static bool parts_suit(const struct esk_tree_config *config) {
    uint8_t flags = config->store->flags & ESK_STORE_OVERWRITES;
    return store_suits(config->store) &&
           (config->batches == NULL || flags != 0) &&
           (config->write_cache == NULL || flags == 0) &&
           (config->merge == NULL ||
            (config->merge->flags & ESK_STORE_OVERWRITES) == flags);
}

/// What an open has read about the table, at the arena's end. Until the arena
/// is carved this is scratch, where the frames will be, or after them. Any
/// arena that is large enough for the table has room for it and for a page
/// before it.
struct open_scratch {
    struct esk_table_info info;
    struct esk_btree_layout layout;
};
_Static_assert(sizeof(struct open_scratch) <= 256,
               "two frames of the smallest page hold it");

/// Finds the table and reads its catalog entry.
static ESK_APART int table_read(struct esk_volume *volume, const char *name,
                                const struct esk_tree_config *config,
                                uint8_t *page, struct open_scratch *scratch) {
    struct esk_descriptor columns;
    ESK_TRY(esk_table_find(volume, name, ESK_TABLE_TREE, &scratch->info,
                           &columns, page));
    if (config->store == NULL || !parts_suit(config)) {
        return ESK_E_UNSUPPORTED;
    }
    if (!region_fits(volume, &scratch->info)) {
        return ESK_E_CORRUPT;
    }
    return layout_read(&columns, &scratch->info, config->store,
                       &scratch->layout);
}

/// Carves the arena and fills in the handle.
/// tree     out, untouched unless ESK_OK.
/// info, layout  may be in the arena's last part: not needed after the call.
static ESK_OUT_OF_LINE int tree_make(struct esk_tree **tree,
                                     struct esk_volume *volume,
                                     const struct esk_tree_config *config,
                                     struct esk_arena *arena,
                                     const struct esk_table_info *info,
                                     const struct esk_btree_layout *layout,
                                     struct esk_ring_config *region) {
    uint16_t page_bytes = esk_volume_geometry(volume)->page_bytes;
    struct tree_memory memory;
    ESK_TRY(memory_carve(arena, page_bytes, layout, config, &memory));
    region_take(info, config, region);
    struct esk_tree *made = memory.tree;
    memset(made, 0, memory.tree_bytes);
    if (ESK_SHAPED_TREE(false, true)) {
        made->layout = *layout;
    }
    if (ESK_SHAPED_CONFIG(false, true)) {
        made->store = config->store;
        made->merge = config->merge;
        made->batches = ESK_TREE_BATCHES_OF(*config);
        made->write_cache = cache_of(config);
    }
    layout = esk_tree_layout(made);
    esk_table_make(&made->table, volume, info->id, arena);
    made->batch = memory.batch;
    if (made->batch != NULL) {
        memset(made->batch, 0, sizeof *made->batch);
        made->batch->pages = batch_pages(config);
    }
    made->cached = memory.cached;
    if (made->cached != NULL) {
        memset(made->cached, 0, sizeof *made->cached);
        made->cached->most = write_frames(config, layout, memory.frames);
    }
    made->own = memory.own;
    uint16_t key_bytes = layout->key_bytes;
    made->pending = memory.pending;
    made->low = made->pending + ESK_TREE_CHILD_BYTES + key_bytes;
    made->probe = made->low + key_bytes;
    made->lru_n = is_lru_n(layout, config);
    /* Bytes that a node does not use are programmed, too. */
    memset(memory.pool, 0, (size_t)(memory.pending - (uint8_t *)memory.pool));
    esk_pool_init(&made->pool, memory.pool, frame_bytes(layout), memory.frames);
    *tree = made;
    return ESK_OK;
}

/// Opens the table, without completing what power loss interrupted.
/// tree     out: to be closed also when the mount failed; NULL: nothing to
///          close.
static ESK_OUT_OF_LINE int tree_take_up(struct esk_tree **tree,
                                        struct esk_volume *volume,
                                        const char *name,
                                        const struct esk_tree_config *config) {
    struct esk_arena carved;
    struct esk_ring_config region;
    uint8_t *page = NULL;
    ESK_TRY(esk_volume_memory_read(volume, &carved, sizeof(struct open_scratch),
                                   &page));
    struct open_scratch *scratch =
        (void *)(page + esk_volume_geometry(volume)->page_bytes);
    ESK_TRY(table_read(volume, name, config, page, scratch));
    ESK_TRY(tree_make(tree, volume, config, &carved, &scratch->info,
                      &scratch->layout, &region));
    return tree_mount(*tree, &region);
}

/// Completes what power loss interrupted. Closes `made` when that fails, or
/// when `status`, of its mount, is a failure.
static int tree_start(struct esk_tree **tree, struct esk_tree *made,
                      int status) {
    if (status == ESK_OK) {
        status = esk_tree_ready(made);
    }
    *tree = esk_table_opened(made, status);
    return status;
}

int esk_tree_open(struct esk_tree **tree, struct esk_volume *volume,
                  const char *name, const struct esk_tree_config *config) {
    ESK_ASSERT(tree != NULL && config != NULL);
    struct esk_tree *made = NULL;
    int status = tree_take_up(&made, volume, name, config);
    return tree_start(tree, made, status);
}

int esk_tree_attach(struct esk_tree **tree, struct esk_volume *volume,
                    const struct esk_table_info *info,
                    const struct esk_btree_layout *layout,
                    const struct esk_tree_config *config) {
    ESK_ASSERT(tree != NULL && volume != NULL && info != NULL &&
               layout != NULL && config != NULL && config->store != NULL);
    ESK_ASSERT(!esk_table_is_open(volume, info->id));
    struct esk_arena carved;
    struct esk_ring_config region;
    struct esk_tree *made = NULL;
    int status = store_suits(config->store) ? ESK_OK : ESK_E_UNSUPPORTED;
    if (status == ESK_OK) {
        status = esk_volume_memory(volume, &carved);
    }
    if (status == ESK_OK) {
        status =
            tree_make(&made, volume, config, &carved, info, layout, &region);
    }
    if (status == ESK_OK) {
        status = tree_mount(made, &region);
    }
    return tree_start(tree, made, status);
}

void esk_tree_close(struct esk_tree *tree) {
    if (esk_table_live(tree) == ESK_OK) {
        if (!esk_tree_in_batch(tree)) {
            (void)esk_tree_flush(tree);
        }
        esk_table_delist(&tree->table);
        tree->broken = true; /* so that a cursor calls esk_tree_ready */
    }
}

int esk_tree_ready(struct esk_tree *tree) {
    ESK_TRY(esk_table_live(tree));
    return tree->broken ? esk_tree_store(tree)->begin(tree, 0) : ESK_OK;
}

uint16_t esk_tree_row_bytes(const struct esk_tree *tree) {
    return esk_table_live(tree) == ESK_OK ? esk_tree_layout(tree)->row_bytes
                                          : 0;
}

/// Nodes of a full tree of the greatest height, at most `most`.
static uint32_t nodes_by_height(const struct esk_tree *tree, uint32_t most) {
    uint32_t nodes = 1;
    uint32_t level_nodes = 1;
    uint8_t top = esk_tree_layout(tree)->height_max;
    for (uint8_t level = top; level > 1 && nodes < most; level--) {
        uint16_t entries =
            esk_btree_capacity(esk_tree_layout(tree), level, top);
        if (level_nodes > most / entries) {
            return most;
        }
        level_nodes *= entries;
        nodes += level_nodes;
    }
    return nodes < most ? nodes : most;
}

void esk_tree_stats(const struct esk_tree *tree, struct esk_tree_stats *stats) {
    ESK_ASSERT(stats != NULL);
    memset(stats, 0, sizeof *stats);
    if (esk_table_live(tree) != ESK_OK) {
        return;
    }
    bool overwrites = esk_tree_overwrites(tree);
    stats->page_reads = tree->stats.reads;
    stats->page_programs = tree->stats.programs;
    stats->block_erases = tree->stats.erases;
    stats->splits = tree->splits;
    stats->merges = tree->merges;
    stats->hits = tree->pool.hits;
    stats->misses = tree->pool.misses;
    stats->pages_damaged = tree->stats.damaged;
    stats->program_failures = tree->stats.program_failures;
    stats->erase_failures = tree->stats.erase_failures;
    stats->nodes = overwrites ? tree->ring.head : tree->now.nodes;
    stats->nodes_max = esk_tree_store(tree)->nodes_max(tree, tree->now.height);
    if (!overwrites) {
        stats->pages_moved = tree->moved;
        stats->nodes_max = nodes_by_height(tree, stats->nodes_max);
    }
    stats->height = tree->now.height;
}
