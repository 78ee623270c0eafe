// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Packed nodes in the pages of a ring: reading, writing, commit, mount. See
/// tnc_pages.h for the picture, tnc_sweep.c for how room is made.
///
/// The page that is filled stays in RAM until it is programmed, also when a
/// commit fails: nodes in it have their addresses, and the next commit goes on
/// with it.
#include "table/tree/tnc/tnc_pages.h"

#include "base/arena.h"
#include "esker/assert.h"
#include "table/tree/tnc/tnc_format.h"
#include "volume/volume.h"

enum {
    LEVEL_BYTES = 1,
    NODES_MAX = 1u << ESK_TNC_CHILD_SLOT_BITS, ///< of a page
};

static uint32_t child_page(uint32_t child) {
    return child >> ESK_TNC_CHILD_SLOT_BITS;
}

static uint32_t child_make(uint32_t page, uint8_t node) {
    return page << ESK_TNC_CHILD_SLOT_BITS | node;
}

/// `child`, with page `to` instead of page `from`.
static uint32_t child_move(uint32_t child, uint32_t from, uint32_t to) {
    return child_page(child) == from
               ? child_make(to, (uint8_t)(child % NODES_MAX))
               : child;
}

static uint16_t page_bytes(const struct esk_tnc_pages *store) {
    return esk_envelope_page_bytes(&store->ring.region.envelope);
}

static uint16_t entry_bytes(const struct esk_tnc_pages *store, uint8_t level) {
    const struct esk_tnc_config *config = &store->tnc.config;
    return level == 1 ? config->row_bytes
                      : (uint16_t)(config->key_bytes + ESK_TREE_CHILD_BYTES);
}

static uint16_t commit_bytes(const struct esk_tnc_config *config) {
    return (uint16_t)(ESK_TNC_COMMIT_KEY + config->key_bytes);
}

/// Renames the children in page `from` of a node to children in page `to`.
static void children_move(const struct esk_tnc_pages *store, uint8_t *node,
                          uint8_t level, uint32_t from, uint32_t to) {
    uint16_t count = level > 1 ? esk_load_u16(node) : 0;
    uint16_t bytes = entry_bytes(store, level);
    uint8_t *child = node + ESK_TREE_NODE_HEAD - ESK_TREE_CHILD_BYTES;
    for (uint16_t i = 0; i < count; i++) {
        child += bytes;
        esk_store_u32(child, child_move(esk_load_u32(child), from, to));
    }
}

/* ----------------------------------------------------------------- reading */

/// The youngest position that page `at` of the region can have.
/// Returns  ESK_OK; ESK_E_CORRUPT when there is none.
static int position_find(const struct esk_ring *ring, uint32_t at,
                         uint32_t *position) {
    uint32_t pages = esk_ring_pages(ring);
    if (at >= pages || ring->head == 0) {
        return ESK_E_CORRUPT;
    }
    uint32_t last = ring->head - 1u;
    uint32_t back = (last % pages + pages - at) % pages;
    if (back > last || last - back < ring->tail) {
        return ESK_E_CORRUPT;
    }
    *position = last - back;
    return ESK_OK;
}

/// Finds node `number`, of `level`, in a page of nodes. The bytes may be
/// anything.
/// Returns  its bytes; 0: there is no such node.
static uint16_t node_find(const struct esk_tnc_pages *store,
                          const uint8_t *page, uint16_t end, uint8_t number,
                          uint8_t level, uint16_t *offset) {
    uint32_t at = ESK_TNC_PAGE_BODY;
    for (;;) {
        uint32_t body = at + LEVEL_BYTES;
        if (body + ESK_TREE_NODE_HEAD > end || page[at] == 0) {
            return 0;
        }
        uint32_t bytes =
            ESK_TREE_NODE_HEAD +
            (uint32_t)esk_load_u16(page + body) * entry_bytes(store, page[at]);
        if (bytes > end - body) {
            return 0;
        }
        if (number == 0) {
            *offset = (uint16_t)body;
            return page[at] == level ? (uint16_t)bytes : 0;
        }
        number--;
        at = body + bytes;
    }
}

static int pages_read(void *context, uint32_t address, uint8_t level,
                      uint8_t *node, uint16_t bytes) {
    struct esk_tnc_pages *store = context;
    uint32_t at = child_page(address);
    const uint8_t *page = store->fill;
    uint16_t end = store->fill_bytes;
    if (store->fill_bytes == 0 || at != store->fill_at) {
        uint32_t position = 0;
        ESK_TRY(position_find(&store->ring, at, &position));
        if (position != store->read_at) {
            store->read_at = ESK_PAGE_NONE;
            int status =
                esk_ring_read(&store->ring, position, store->read, true);
            if (status != ESK_OK) {
                return status == ESK_NOT_FOUND ? ESK_E_CORRUPT : status;
            }
            store->read_at = position;
        }
        page = store->read;
        end = page_bytes(store);
    }
    uint16_t offset = 0;
    uint16_t found = node_find(store, page, end, (uint8_t)(address % NODES_MAX),
                               level, &offset);
    if (found == 0 || found > bytes) {
        return ESK_E_CORRUPT;
    }
    memcpy(node, page + offset, found);
    children_move(store, node, level, ESK_TNC_CHILD_SELF, at);
    return ESK_OK;
}

/* ----------------------------------------------------------------- writing */

/// Renames the children in page `from` in all of the TNC.
static void nodes_move(struct esk_tnc_pages *store, uint32_t from,
                       uint32_t to) {
    struct esk_tnc *tnc = &store->tnc;
    tnc->root.address = child_move(tnc->root.address, from, to);
    for (uint32_t i = 0; i < tnc->slots; i++) {
        struct esk_tnc_slot *slot = &tnc->slot[i];
        struct esk_btree_node node;
        if (slot->level > 0) {
            esk_tnc_view(tnc, i, &node);
            slot->address = child_move(slot->address, from, to);
            children_move(store, node.count, slot->level, from, to);
        }
    }
}

/// Programs the page. If it is not where it was expected, the TNC is told.
/// position  out.
static int page_program(struct esk_tnc_pages *store, uint32_t *position) {
    ESK_TRY(esk_ring_append(&store->ring, store->fill,
                            (uint16_t)(page_bytes(store) - ESK_ENVELOPE_BYTES),
                            store->committed, position));
    uint32_t at = *position % esk_ring_pages(&store->ring);
    if (at != store->fill_at) {
        nodes_move(store, store->fill_at, at);
    }
    store->fill_bytes = 0;
    return ESK_OK;
}

/// Begins a page if there is none with room for `bytes` bytes and one more
/// node. Programs the one before.
/// last     out: page of the region where children in store->fill_at are now.
static int page_begin(struct esk_tnc_pages *store, uint32_t bytes,
                      uint32_t *last) {
    *last = store->fill_at;
    if (store->fill_bytes != 0 &&
        (store->fill_bytes + bytes > page_bytes(store) ||
         store->fill_nodes == NODES_MAX - 1)) {
        uint32_t position = 0;
        ESK_TRY(page_program(store, &position));
        *last = position % esk_ring_pages(&store->ring);
    }
    if (store->fill_bytes == 0) {
        ESK_TRY(esk_ring_reserve(&store->ring));
        memset(store->fill, 0, page_bytes(store));
        store->fill_at = store->ring.head % esk_ring_pages(&store->ring);
        store->fill_bytes = ESK_TNC_PAGE_BODY;
        store->fill_nodes = 0;
    }
    return ESK_OK;
}

static int pages_write(void *context, const uint8_t *node, uint16_t bytes,
                       uint8_t level, uint32_t *address) {
    struct esk_tnc_pages *store = context;
    uint32_t before = store->fill_at;
    uint32_t last = 0;
    ESK_TRY(page_begin(store, (uint32_t)bytes + LEVEL_BYTES, &last));
    uint8_t *to = store->fill + store->fill_bytes;
    to[0] = level;
    memcpy(to + LEVEL_BYTES, node, bytes);
    children_move(store, to + LEVEL_BYTES, level, before, last);
    children_move(store, to + LEVEL_BYTES, level, store->fill_at,
                  ESK_TNC_CHILD_SELF);
    *address = child_make(store->fill_at, store->fill_nodes);
    store->fill_nodes++;
    store->fill_bytes = (uint16_t)(store->fill_bytes + bytes + LEVEL_BYTES);
    return ESK_OK;
}

/// The commit's page must be the last one, and it must be durable only with all
/// pages before it. If it fails, the page is as before.
static int pages_commit(void *context, const struct esk_tnc_root *root) {
    struct esk_tnc_pages *store = context;
    const struct esk_tnc_sweep *sweep = &store->sweep;
    uint16_t bytes = commit_bytes(&store->tnc.config);
    uint32_t before = store->fill_at;
    uint32_t last = 0;
    ESK_TRY(page_begin(store, bytes, &last));
    uint32_t address = child_move(root->address, before, last);
    ESK_TRY(esk_region_barrier(&store->ring.region));
    uint16_t offset = store->fill_bytes;
    uint8_t *commit = store->fill + offset;
    commit[0] = 0;
    commit[ESK_TNC_COMMIT_HEIGHT] = root->height;
    esk_store_u32(commit + ESK_TNC_COMMIT_ROOT,
                  child_move(address, store->fill_at, ESK_TNC_CHILD_SELF));
    esk_store_u32(commit + ESK_TNC_COMMIT_ROWS, root->rows);
    esk_store_u32(commit + ESK_TNC_COMMIT_NODES, root->nodes);
    esk_store_u32(commit + ESK_TNC_COMMIT_BEGUN, sweep->begun);
    esk_store_u32(commit + ESK_TNC_COMMIT_SWEPT, sweep->swept);
    esk_store_u32(commit + ESK_TNC_COMMIT_TAIL, store->ring.tail);
    commit[ESK_TNC_COMMIT_HAS_KEY] = sweep->has_key;
    memcpy(commit + ESK_TNC_COMMIT_KEY, sweep->key,
           store->tnc.config.key_bytes);
    esk_store_u16(store->fill + ESK_TNC_PAGE_COMMIT, offset);
    int status = page_program(store, &store->committed);
    if (status != ESK_OK) {
        esk_store_u16(store->fill + ESK_TNC_PAGE_COMMIT, 0);
        memset(commit, 0, bytes);
    }
    return status;
}

const struct esk_tnc_io esk_tnc_pages_io = {
    .read = pages_read,
    .write = pages_write,
    .commit = pages_commit,
};

/* ------------------------------------------------------------------- mount */

/// Sets root and sweep from the commit in the page at `position`.
/// Returns  ESK_OK; ESK_NOT_FOUND: it has none; ESK_E_CORRUPT.
static int commit_decode(struct esk_tnc_pages *store, const uint8_t *page,
                         uint32_t position, const struct esk_tnc_config *config,
                         struct esk_tnc_root *root) {
    uint16_t offset = esk_load_u16(page + ESK_TNC_PAGE_COMMIT);
    if (offset == 0) {
        return ESK_NOT_FOUND;
    }
    if (offset < ESK_TNC_PAGE_BODY ||
        (uint32_t)offset + commit_bytes(config) > page_bytes(store)) {
        return ESK_E_CORRUPT;
    }
    const uint8_t *commit = page + offset;
    uint32_t at = position % esk_ring_pages(&store->ring);
    root->height = commit[ESK_TNC_COMMIT_HEIGHT];
    root->rows = esk_load_u32(commit + ESK_TNC_COMMIT_ROWS);
    root->nodes = esk_load_u32(commit + ESK_TNC_COMMIT_NODES);
    root->address = esk_load_u32(commit + ESK_TNC_COMMIT_ROOT);
    if (root->height == 0) {
        root->address = ESK_PAGE_NONE;
    } else if (root->address >= ESK_TNC_IN_RAM) {
        return ESK_E_CORRUPT;
    } else {
        root->address = child_move(root->address, ESK_TNC_CHILD_SELF, at);
    }
    store->sweep.begun = esk_load_u32(commit + ESK_TNC_COMMIT_BEGUN);
    store->sweep.swept = esk_load_u32(commit + ESK_TNC_COMMIT_SWEPT);
    store->sweep.has_key = commit[ESK_TNC_COMMIT_HAS_KEY] == 1;
    memcpy(store->sweep.key, commit + ESK_TNC_COMMIT_KEY, config->key_bytes);
    uint32_t tail = esk_load_u32(commit + ESK_TNC_COMMIT_TAIL);
    if (store->sweep.begun > position || tail > position) {
        return ESK_E_CORRUPT;
    }
    if (tail > store->ring.tail) {
        esk_ring_drop(&store->ring, tail);
    }
    return ESK_OK;
}

/// Finds the newest commit. A page that cannot be read is skipped: a commit
/// that power loss tore looks the same. A page without a commit names the one
/// before it.
static int root_find(struct esk_tnc_pages *store,
                     const struct esk_tnc_config *config,
                     struct esk_tnc_root *root) {
    struct esk_ring *ring = &store->ring;
    uint32_t at = ring->head;
    while (at > ring->tail) {
        at--;
        int status = esk_ring_read(ring, at, store->read, true);
        if (status == ESK_E_IO) {
            return status;
        }
        if (status != ESK_OK) {
            continue;
        }
        status = commit_decode(store, store->read, at, config, root);
        if (status != ESK_NOT_FOUND) {
            store->committed = at;
            return status;
        }
        uint32_t before = esk_page_aux(store->read);
        if (before == ESK_PAGE_NONE) {
            break;
        }
        at = before < at ? before + 1u : at;
    }
    *root = (struct esk_tnc_root){ESK_PAGE_NONE, 0, 0, 0};
    store->sweep.begun = ring->head;
    return ESK_OK;
}

/// The parts of the memory that come before the TNC's.
static void memory_carve(struct esk_tnc_pages *store, struct esk_arena *arena,
                         const struct esk_tnc_config *config, uint16_t bytes) {
    store->read = esk_arena_take(arena, bytes);
    store->fill = esk_arena_take(arena, bytes);
    store->sweep.key = esk_arena_take(arena, config->key_bytes);
}

uint32_t esk_tnc_pages_memory_bytes(const struct esk_tnc_config *config,
                                    uint16_t bytes, uint32_t nodes) {
    struct esk_arena arena = {NULL, 0, 0};
    struct esk_tnc_pages store;
    memory_carve(&store, &arena, config, bytes);
    return arena.used + esk_tnc_memory_bytes(config, nodes);
}

/// Sets what follows from the sizes of a node, a page and the region.
static int sizes_set(struct esk_tnc_pages *store) {
    uint32_t pages = esk_ring_pages(&store->ring);
    uint32_t room = (uint32_t)page_bytes(store) - ESK_TNC_PAGE_BODY;
    uint32_t most = (uint32_t)store->tnc.node_bytes + LEVEL_BYTES;
    if (room < most || room < commit_bytes(&store->tnc.config)) {
        return ESK_E_INVALID;
    }
    store->page_nodes = (uint16_t)(room / most);
    store->dirty_most = pages / 8u * store->page_nodes;
    if (store->dirty_most > store->tnc.slots) {
        store->dirty_most = store->tnc.slots;
    }
    store->good_pages = pages;
    return pages > ESK_TNC_CHILD_SELF ? ESK_E_LIMIT : ESK_OK;
}

int esk_tnc_pages_mount(struct esk_tnc_pages *store, struct esk_volume *volume,
                        const struct esk_ring_config *region,
                        const struct esk_tnc_config *config, void *memory,
                        uint32_t bytes) {
    struct esk_arena arena = {memory, 0, bytes};
    struct esk_tnc_config own = *config;
    struct esk_tnc_root root;
    memset(store, 0, sizeof *store);
    memory_carve(store, &arena, config,
                 esk_volume_geometry(volume)->page_bytes);
    if (!esk_arena_fits(&arena)) {
        return ESK_E_NO_MEMORY;
    }
    store->read_at = ESK_PAGE_NONE;
    store->committed = ESK_PAGE_NONE;
    memset(store->sweep.key, 0, config->key_bytes);
    ESK_TRY(esk_ring_mount(&store->ring, volume, region, &store->stats,
                           store->read));
    ESK_TRY(root_find(store, config, &root));
    own.io = &esk_tnc_pages_io;
    own.context = store;
    own.commits_first = false; /* a step of the sweep is one commit */
    ESK_TRY(esk_tnc_init(&store->tnc, &own, &root,
                         (uint8_t *)memory + arena.used, bytes - arena.used));
    return sizes_set(store);
}

/* ----------------------------------------------------------------- changes */

/// Counts nodes that a change at `key` made or took away behind the sweep.
static void swept_count(struct esk_tnc_pages *store, const uint8_t *key,
                        uint32_t nodes) {
    struct esk_tnc_sweep *sweep = &store->sweep;
    if (sweep->has_key &&
        esk_btree_compare(&store->tnc.layout, key, sweep->key) <= 0) {
        sweep->swept += store->tnc.root.nodes - nodes;
    }
}

int esk_tnc_pages_put(struct esk_tnc_pages *store, const void *row) {
    struct esk_tnc *tnc = &store->tnc;
    const uint8_t *key = (const uint8_t *)row + tnc->config.key_offset;
    ESK_TRY(esk_tnc_pages_room(store));
    if (esk_tnc_pages_is_full(store)) {
        int status = esk_tnc_get(tnc, key, tnc->scratch);
        if (status != ESK_OK) {
            return status == ESK_NOT_FOUND ? ESK_FULL : status;
        }
    }
    uint32_t nodes = tnc->root.nodes;
    ESK_TRY(esk_tnc_put(tnc, row));
    swept_count(store, key, nodes);
    return ESK_OK;
}

int esk_tnc_pages_delete(struct esk_tnc_pages *store, const void *key) {
    ESK_TRY(esk_tnc_pages_room(store));
    uint32_t nodes = store->tnc.root.nodes;
    ESK_TRY(esk_tnc_delete(&store->tnc, key));
    swept_count(store, key, nodes);
    return ESK_OK;
}

int esk_tnc_pages_sync(struct esk_tnc_pages *store) {
    ESK_TRY(esk_tnc_commit(&store->tnc));
    return esk_region_sync(&store->ring.region);
}
