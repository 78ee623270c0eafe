// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Readers: separate frames beside the tree that writes.
///
///     tree     frames | root | ring head, tail    changes ---> medium
///                        |          |
///     reader   frames | root | ring head, tail    <-- reads -- medium
///
/// A reader is a tree handle whose store is the tree's with two calls of its
/// own: `load`, which checks whether a page was collected, and `begin`, which
/// runs before every read (`broken` is always set) and refuses every change. So
/// all read calls take a reader, and a program without readers links none of
/// this.
///
/// Copy-on-write, the root is a snapshot. A position names one page for ever,
/// so each node that is still on the medium, or in a frame, belongs to the
/// snapshot: a read is exact, or returns ESK_E_STALE. In place, the reader
/// follows the tree: a change drops its frames.
#include "table/tree/tree.h"

struct tree_reader {
    struct esk_tree tree; ///< first, so that either can be cast to the other
    struct esk_node_store store;
    struct esk_tree *writer;
    uint32_t changes; ///< changes of the writer when its state was copied
    uint32_t tail;    ///< oldest position of the snapshot's pages
};

_Static_assert(sizeof(struct tree_reader) <=
                   ESK_TREE_READER_ARENA_BYTES(0, 0, 0, 0),
               "esker/arena.h says so");

static int reader_load(void *context, esk_tag tag, uint8_t *page) {
    const struct esk_tree_load *load = context;
    struct tree_reader *reader = (struct tree_reader *)load->tree;
    uint32_t at = tag;
    if (esk_tree_packs(&reader->tree)) {
        at = esk_tree_packed_position(&reader->tree, reader->tail, tag);
    }
    if (at >= reader->tail && at < reader->tree.ring.tail) {
        return ESK_E_STALE;
    }
    return reader->writer->store->load(context, tag, page);
}

/// Copies the members of the writer's ring that change.
static void ring_follow(struct tree_reader *reader) {
    const struct esk_ring *from = &reader->writer->ring;
    struct esk_ring *ring = &reader->tree.ring;
    ring->lap = from->lap;
    ring->head = from->head;
    ring->tail = from->tail;
}

/// Copies the committed state: in a batch the one before it.
static void state_take(struct tree_reader *reader) {
    const struct esk_tree *writer = reader->writer;
    struct esk_tree *tree = &reader->tree;
    uint8_t height = tree->now.height;
    tree->now = writer->now;
    if (writer->in_batch) {
        tree->now = writer->before;
    }
    /* The page that a read-only mount reads from page 0. */
    tree->redo = writer->redo;
    tree->redirects = writer->redirects && !writer->in_batch;
    reader->changes = writer->changes;
    reader->tail = writer->ring.tail;
    if (esk_tree_packs(tree)) {
        /* An address may be of another node now. */
        esk_pool_forget_all(&tree->pool);
    }
    tree->changes++;
    if (height != tree->now.height) {
        esk_tree_height_changed(tree);
    }
}

static int reader_begin(struct esk_tree *tree, uint32_t pages) {
    struct tree_reader *reader = (struct tree_reader *)tree;
    ESK_TRY(esk_table_live(reader->writer));
    if (pages > 0) {
        return ESK_E_READ_ONLY;
    }
    if (esk_tree_overwrites(tree)) {
        ESK_TRY(esk_tree_ready(reader->writer));
        if (reader->changes != reader->writer->changes) {
            esk_pool_forget_all(&tree->pool);
            state_take(reader);
        }
    }
    ring_follow(reader);
    return ESK_OK;
}

/// Copies the writer's state.
static int reader_follow(struct tree_reader *reader) {
    struct esk_tree *tree = &reader->tree;
    if (!esk_tree_overwrites(tree)) {
        if (!reader->writer->in_batch) {
            ESK_TRY(esk_tree_flush(reader->writer));
        }
        state_take(reader);
    }
    return reader_begin(tree, 0);
}

static bool is_reader(const struct esk_tree *tree) {
    return (esk_tree_store(tree)->flags & ESK_STORE_READS) != 0;
}

int esk_tree_reader_renew(struct esk_tree *tree) {
    ESK_TRY(esk_tree_ready(tree)); /* neither the reader nor its writer is
                                      closed */
    if (!is_reader(tree)) {
        return ESK_E_INVALID;
    }
    return reader_follow((struct tree_reader *)tree);
}

/// The parts of the arena, in order.
struct reader_memory {
    struct tree_reader *reader;
    void *pool;
    uint8_t *pending; ///< then tree->low
};

static uint8_t frames(const struct esk_tree_config *config) {
    return ESK_SHAPED_FRAMES(
        ESK_SHAPE_POOL_FRAMES,
        config != NULL && config->frames > 0 ? config->frames : 2);
}

static bool is_lru_n(const struct esk_tree *tree,
                     const struct esk_tree_config *config) {
    return config != NULL && config->policy == ESK_TREE_LRU_N &&
           esk_tree_shares(tree);
}

static uint32_t memory_carve(struct esk_arena *arena,
                             const struct esk_tree *tree,
                             const struct esk_tree_config *config,
                             struct reader_memory *memory) {
    const struct esk_btree_layout *layout = esk_tree_layout(tree);
    uint8_t classes = is_lru_n(tree, config) ? layout->height_max : 1;
    memory->reader = esk_arena_take(arena, sizeof *memory->reader);
    memory->pool =
        esk_arena_take(arena, ESK_POOL_BYTES(esk_pool_page_bytes(&tree->pool),
                                             frames(config), classes));
    memory->pending = esk_arena_take(arena, 2u * (uint32_t)layout->key_bytes);
    return arena->used;
}

uint32_t esk_tree_reader_arena_bytes(const struct esk_tree *tree,
                                     const struct esk_tree_config *config) {
    struct esk_arena arena = {.start = NULL};
    struct reader_memory memory;
    if (esk_table_live(tree) != ESK_OK) {
        return 0;
    }
    return memory_carve(&arena, tree, config, &memory);
}

int esk_tree_reader_open(struct esk_tree **reader, struct esk_tree *tree,
                         const struct esk_tree_config *config) {
    ESK_ASSERT(reader != NULL);
    struct esk_arena carved;
    struct reader_memory memory;
    ESK_ASSERT(
        !ESK_SHAPED_CONFIG(true, false)); /* a reader has its own store */
    *reader = NULL;
    ESK_TRY(esk_table_live(tree));
    if (is_reader(tree)) {
        return ESK_E_INVALID;
    }
    ESK_TRY(esk_volume_memory(tree->table.volume, &carved));
    memory_carve(&carved, tree, config, &memory);
    if (!esk_arena_fits(&carved)) {
        return ESK_E_NO_MEMORY;
    }
    struct tree_reader *made = memory.reader;
    memset(made, 0, sizeof *made);
    made->writer = tree;
    made->store = *esk_tree_store(tree);
    made->store.load = reader_load;
    made->store.begin = reader_begin;
    made->store.flags |= ESK_STORE_READS;
    made->tree.store = &made->store;
    made->tree.merge = esk_tree_merge(tree);
    made->tree.spares = tree->spares;
    made->tree.batches = esk_tree_batches(tree);
    made->tree.batch = esk_tree_batch(tree);
    made->tree.layout = tree->layout;
    made->tree.pending = memory.pending;
    made->tree.low = memory.pending + esk_tree_layout(tree)->key_bytes;
    made->tree.lru_n = is_lru_n(tree, config);
    made->tree.broken = true;
    made->tree.ring = tree->ring;
    made->tree.ring.region.stats = &made->tree.stats;
    esk_pool_init(&made->tree.pool, memory.pool,
                  esk_pool_page_bytes(&tree->pool), frames(config));
    made->changes = tree->changes - 1u;
    esk_table_make(&made->tree.table, tree->table.volume, tree->table.id,
                   &carved);
    int status = reader_follow(made);
    *reader = esk_table_opened(made, status);
    return status;
}
