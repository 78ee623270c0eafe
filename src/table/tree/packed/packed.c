// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The tnc store: small nodes in RAM, packed into pages by a commit
/// (tnc-ubifs-2010, section 6).
///
///     frames  | root, changed | inner, changed | leaf, changed | leaf |
///     commit  | head | leaf | inner | root | key |   --> ring's head
///
/// A frame has one node, and a page has several. The write cache is the set of
/// the changed nodes: oldest first, so children come before their parents, and
/// the root is the last. A commit packs them in this order. Its last page has
/// the root and commits, as in every copy-on-write tree.
///
/// An address is the page of the region and the number of the node in it. A
/// child in the page of its parent is named SELF, because nobody knows where a
/// page will be until it is programmed.
///
/// Invariants
///  1. The parent of a changed node is changed, so a changed node has all nodes
///     above it in RAM.
///  2. No frame has an address that another node has now: a node that gets an
///     address empties the frame of the node that had it a lap ago
///     (esk_pool_rename).
///  3. A tree is never higher than its frames allow: then every change fits the
///     cache after a commit.
#include "table/tree/packed/packed.h"
#include "base/counter.h"
#include "table/tree/plan/collector.h"

enum {
    PAGE_NODES_MAX = 255,
    /* A mount must find the pages behind the blocks that were erased ahead,
       also where others failed. */
    ERASE_AHEAD_MAX = ESK_RING_WINDOW_BLOCKS / 2,
};

/// A child from here on is not an address.
#define CHILD_END UINT32_C(0x80000000)

static uint16_t page_bytes(const struct esk_tree *tree) {
    return esk_envelope_page_bytes(&tree->ring.region.envelope);
}

static uint32_t address_make(uint32_t page, uint8_t number) {
    return page << ESK_TREE_PACKED_NUMBER_BITS | number;
}

/// Bytes of a packed node: level, count, entries.
static uint16_t packed_bytes(const struct esk_btree_node *node) {
    uint16_t entries = (uint16_t)(esk_btree_count(node) * node->bytes);
    return (uint16_t)(ESK_TREE_PACKED_LEVEL_BYTES + ESK_TREE_NODE_HEAD +
                      entries);
}

/* ----------------------------------------------------------------- reading */

/// Finds node `number` of the page, of `level`; NULL: there is none. The bytes
/// may be anything.
static const uint8_t *node_find(const struct esk_tree *tree, uint8_t number,
                                uint8_t level, uint16_t *bytes) {
    const uint8_t *page = tree->packed->page;
    uint32_t end = page_bytes(tree);
    uint32_t at = ESK_TREE_PACKED_BODY;
    if (number >= page[ESK_TREE_PACKED_COUNT]) {
        return NULL;
    }
    for (;;) {
        uint32_t body = at + ESK_TREE_PACKED_LEVEL_BYTES;
        if (body + ESK_TREE_NODE_HEAD > end || page[at] == 0) {
            return NULL;
        }
        uint32_t size =
            ESK_TREE_NODE_HEAD +
            (uint32_t)esk_load_u16(page + body) *
                esk_btree_entry_bytes(esk_tree_layout(tree), page[at]);
        if (size > end - body) {
            return NULL;
        }
        if (number == 0) {
            *bytes = (uint16_t)size;
            return page[at] == level ? page + body : NULL;
        }
        number--;
        at = body + size;
    }
}

/// Names the children of the node by address. False: one is no address.
static bool children_name(const struct esk_btree_node *node, uint32_t page) {
    for (uint16_t i = 0; i < esk_btree_count(node); i++) {
        uint8_t *child = esk_btree_child(node, i);
        uint32_t address = esk_load_u32(child);
        if (address >= CHILD_END) {
            return false;
        }
        if (address >> ESK_TREE_PACKED_NUMBER_BITS == ESK_TREE_PACKED_SELF) {
            esk_store_u32(child, address_make(page, (uint8_t)address));
        }
    }
    return true;
}

/// Reads the page at `position`, unless it was read last. Readers share the
/// page with their tree.
static int page_read(const struct esk_tree *tree, uint32_t position) {
    struct esk_tree_packed *packed = tree->packed;
    bool verify = packed->verifies || (esk_volume_flags(tree->table.volume) &
                                       ESK_MOUNT_TRUST_LOADS) == 0;
    if (packed->read_at == position) {
        return ESK_OK;
    }
    packed->read_at = ESK_PAGE_NONE;
    int status = esk_ring_read(&tree->ring, position, packed->page, verify);
    if (status == ESK_OK) {
        packed->read_at = position;
    }
    return status;
}

static int packed_load(void *context, esk_tag tag, uint8_t *frame) {
    const struct esk_tree_load *load = context;
    struct esk_tree *tree = load->tree;
    const struct esk_btree_layout *layout = esk_tree_layout(tree);
    struct esk_btree_node node;
    uint16_t bytes = 0;
    uint32_t position = esk_tree_packed_at(tree, tag);
    int status =
        position < tree->ring.head ? page_read(tree, position) : ESK_NOT_FOUND;
    if (status == ESK_OK) {
        const uint8_t *from =
            node_find(tree, (uint8_t)tag, load->level, &bytes);
        esk_btree_view(layout, frame, load->level, tree->now.height, &node);
        status = ESK_NOT_FOUND;
        if (from != NULL &&
            bytes <= layout->offset[layout->height_max] - layout->offset[0]) {
            memcpy(node.count, from, bytes);
            frame[ESK_TREE_PAGE_LOW] = load->level;
            if (load->level == 1 ||
                children_name(&node, tag >> ESK_TREE_PACKED_NUMBER_BITS)) {
                return ESK_OK;
            }
        }
    }
    if (status == ESK_NOT_FOUND) {
        esk_count(&tree->stats.damaged);
        return ESK_E_CORRUPT;
    }
    return status;
}

/// Finds the root in the page of the commit, and what the commit says of the
/// sweep.
static int root_take(struct esk_tree *tree) {
    struct esk_tree_packed *packed = tree->packed;
    const uint8_t *page = packed->page;
    uint32_t position = tree->committed;
    uint32_t tail = esk_load_u32(page + ESK_TREE_PACKED_TAIL);
    uint16_t key_bytes = esk_tree_layout(tree)->key_bytes;
    uint8_t last = (uint8_t)(page[ESK_TREE_PACKED_COUNT] - 1u);
    uint16_t bytes = 0;
    const uint8_t *root = node_find(tree, last, tree->now.height, &bytes);
    tree->now.root = address_make(position % esk_ring_pages(&tree->ring), last);
    tree->now.due = esk_load_u32(page + ESK_TREE_PACKED_BEGUN);
    tree->now.order = esk_load_u32(page + ESK_TREE_PACKED_DONE);
    if (page[ESK_TREE_PACKED_PASS] == 1 && root != NULL &&
        root + bytes + key_bytes <= page + page_bytes(tree) &&
        tree->now.due <= position) {
        memcpy(packed->key, root + bytes, key_bytes);
        tree->now.swept = 0;
    }
    if (tail > tree->ring.tail && tail <= position) {
        esk_ring_drop(&tree->ring, tail);
    }
    return esk_packed_frames(tree->now.height) <= esk_pool_frames(&tree->pool)
               ? ESK_OK
               : ESK_E_NO_MEMORY;
}

/// Fills in what the tree has beside its frames.
static void packed_make(struct esk_tree *tree) {
    struct esk_tree_packed *packed = tree->packed;
    const struct esk_btree_layout *layout = esk_tree_layout(tree);
    uint16_t page = esk_volume_geometry(tree->table.volume)->page_bytes;
    uint16_t bytes =
        (uint16_t)(layout->offset[layout->height_max] - layout->offset[0] +
                   ESK_TREE_PACKED_LEVEL_BYTES);
    memset(packed, 0, sizeof *packed);
    packed->page = (uint8_t *)(packed + 1);
    packed->key = packed->page + page;
    packed->read_at = ESK_PAGE_NONE;
    packed->idle = ESK_PAGE_NONE;
    packed->frames = esk_pool_frames(&tree->pool);
    packed->page_nodes =
        (uint16_t)((unsigned)(page - ESK_TREE_PACKED_BODY) / bytes);
}

static int packed_mount(struct esk_tree *tree,
                        const struct esk_ring_config *region, uint8_t *page) {
    struct esk_tree_packed *packed = tree->packed;
    struct esk_ring_config wide = *region;
    uint32_t block = esk_volume_geometry(tree->table.volume)->block_pages;
    uint32_t pages = wide.blocks * block;
    (void)page; /* a frame, which is no page */
    packed_make(tree);
    packed->most = esk_packed_most(pages, packed->page_nodes, packed->frames,
                                   tree->cached->most);
    tree->cached->most = packed->most;
    /* As many as a commit begins, so that after steps no call erases. */
    uint32_t ahead =
        esk_packed_commit(packed->page_nodes, packed->most) / block + 1u;
    ahead = ahead < ERASE_AHEAD_MAX ? ahead : (uint32_t)ERASE_AHEAD_MAX;
    wide.ahead = wide.ahead < ahead ? (uint8_t)ahead : wide.ahead;
    ESK_TRY(esk_tree_cow_mount(tree, &wide, packed->page));
    return pages >= ESK_TREE_PACKED_LOST >> ESK_TREE_PACKED_NUMBER_BITS
               ? ESK_E_UNSUPPORTED
           : tree->now.root != ESK_ADDRESS_NONE ? root_take(tree)
                                                : ESK_OK;
}

/* ----------------------------------------------------------------- writing */

static uint32_t cached_address(const struct esk_tree *tree, uint8_t at) {
    return ESK_TREE_CACHED_FIRST + tree->cached->pages[at].frame;
}

static void cached_view(const struct esk_tree *tree, uint8_t at,
                        struct esk_btree_node *node) {
    uint8_t *frame = esk_pool_page(&tree->pool, tree->cached->pages[at].frame);
    esk_btree_view(esk_tree_layout(tree), frame, frame[ESK_TREE_PAGE_LOW],
                   tree->now.height, node);
}

/// Packs the cached node `at` at `to`. Children among the cached nodes from
/// `first` on are in the same page.
static void node_pack(const struct esk_tree *tree, uint8_t at, uint8_t first,
                      uint8_t *to) {
    struct esk_btree_node node;
    cached_view(tree, at, &node);
    uint8_t level = esk_pool_page(
        &tree->pool, tree->cached->pages[at].frame)[ESK_TREE_PAGE_LOW];
    uint16_t bytes = packed_bytes(&node);
    to[0] = level;
    memcpy(to + ESK_TREE_PACKED_LEVEL_BYTES, node.count,
           bytes - (size_t)ESK_TREE_PACKED_LEVEL_BYTES);
    node.entries = to + ESK_TREE_PACKED_LEVEL_BYTES + ESK_TREE_NODE_HEAD;
    for (uint16_t i = 0; level > 1 && i < esk_btree_count(&node); i++) {
        uint8_t *child = esk_btree_child(&node, i);
        uint32_t address = esk_load_u32(child);
        for (uint8_t j = first; esk_tree_is_cached(address) && j < at; j++) {
            if (cached_address(tree, j) == address) {
                address =
                    address_make(ESK_TREE_PACKED_SELF, (uint8_t)(j - first));
                esk_store_u32(child, address);
            }
        }
    }
}

/// Fills a page with the cached nodes from `first` on.
/// root     out: the last of them is the root.
/// Returns  how many.
static uint8_t page_fill(struct esk_tree *tree, uint8_t first, bool *root) {
    struct esk_tree_packed *packed = tree->packed;
    const struct esk_tree_cached *cached = tree->cached;
    uint16_t key_bytes = esk_tree_layout(tree)->key_bytes;
    uint8_t *page = packed->page;
    uint8_t at = first;
    uint32_t used = ESK_TREE_PACKED_BODY;
    packed->read_at = ESK_PAGE_NONE;
    *root = false;
    memset(page, 0, page_bytes(tree));
    while (at < cached->count && at - first < PAGE_NODES_MAX) {
        struct esk_btree_node node;
        cached_view(tree, at, &node);
        bool last = at + 1u == cached->count;
        uint32_t bytes = packed_bytes(&node);
        if (used + bytes + (last ? key_bytes : 0) > page_bytes(tree)) {
            break;
        }
        node_pack(tree, at, first, page + used);
        used += bytes;
        at++;
        *root = last;
    }
    page[ESK_TREE_PACKED_COUNT] = (uint8_t)(at - first);
    page[ESK_TREE_PAGE_HEIGHT] = tree->now.height;
    esk_store_u32(page + ESK_TREE_PAGE_ROWS, tree->now.rows);
    esk_store_u32(page + ESK_TREE_PAGE_NODES, tree->now.nodes);
    esk_store_u32(page + ESK_TREE_PACKED_TAIL, tree->ring.tail);
    esk_store_u32(page + ESK_TREE_PACKED_BEGUN, tree->now.due);
    esk_store_u32(page + ESK_TREE_PACKED_DONE, tree->now.order);
    if (*root && esk_tree_packed_sweeps(tree)) {
        page[ESK_TREE_PACKED_PASS] = 1;
        memcpy(page + used, packed->key, key_bytes);
    }
    return (uint8_t)(at - first);
}

/// The cached nodes `first` to `end` - 1 are now in the page at `position`.
static void nodes_place(struct esk_tree *tree, uint8_t first, uint8_t end,
                        uint32_t position) {
    uint32_t page = position % esk_ring_pages(&tree->ring);
    for (uint8_t at = first; at < end; at++) {
        esk_tree_cache_written(tree, at,
                               address_make(page, (uint8_t)(at - first)));
    }
    tree->packed->read_at = position;
}

/// The commit: writes the changed nodes (tnc-ubifs-2010, section 6.2).
static int packed_flush(struct esk_tree *tree) {
    struct esk_tree_cached *cached = tree->cached;
    uint8_t done = 0;
    int status = ESK_OK;
    esk_tree_packed_count(tree);
    while (done < cached->count && status == ESK_OK) {
        bool root = false;
        esk_address position = 0;
        esk_address before = tree->now.root;
        uint8_t end = (uint8_t)(done + page_fill(tree, done, &root));
        status = esk_tree_page_write(tree, tree->packed->page, root, &position);
        tree->now.root = before;
        if (status == ESK_OK) {
            nodes_place(tree, done, end, position);
            if (root) {
                tree->now.root =
                    address_make(position % esk_ring_pages(&tree->ring),
                                 (uint8_t)(end - done - 1));
            }
            done = end;
        }
    }
    esk_tree_cache_shorten(tree, done);
    return status;
}

/// As esk_write_cache's, but nothing is written through: a change that finds
/// too few frames is repeated after a commit.
static int packed_cache_begin(struct esk_tree *tree, bool again) {
    struct esk_tree_cached *cached = tree->cached;
    uint8_t more = (uint8_t)(tree->now.height - 1u);
    if (again) {
        tree->splits = cached->splits;
        tree->merges = cached->merges;
    }
    cached->splits = tree->splits;
    cached->merges = tree->merges;
    cached->made = 0;
    cached->replaced = 0;
    cached->height = tree->now.height;
    return again || cached->count + more > cached->most ? packed_flush(tree)
                                                        : ESK_OK;
}

static int packed_place(struct esk_tree *tree, struct esk_tree_work *work,
                        bool root, esk_address *address) {
    esk_tree_replace(tree, work->address, work->level);
    work->page[ESK_TREE_PAGE_LOW] = work->level;
    work->page[ESK_TREE_PAGE_TOP] = work->level;
    work->page[ESK_TREE_PAGE_HEIGHT] = tree->now.height;
    ESK_TRY(esk_tree_cache_keep(tree, work->frame, root, address));
    if (root) {
        tree->now.root = *address;
    }
    esk_tree_unpin(tree, work);
    return ESK_OK;
}

static int packed_split(struct esk_tree *tree, struct esk_tree_work *left,
                        struct esk_tree_work *right, bool changed,
                        esk_address *left_address, esk_address *right_address) {
    ESK_TRY(packed_place(tree, right, false, right_address));
    if (changed) {
        return packed_place(tree, left, false, left_address);
    }
    *left_address = left->address;
    esk_tree_unpin(tree, left);
    return ESK_OK;
}

static void packed_layout(struct esk_btree_layout *layout, uint16_t bytes,
                          uint8_t k_percent) {
    esk_tree_packed_layout(layout, bytes, k_percent);
}

static const struct esk_tree_write_cache packed_cache = {
    .begin = packed_cache_begin,
    .own = esk_tree_cache_own,
    .keep = esk_tree_cache_keep,
    .replace = esk_tree_cache_replace,
    .end = esk_tree_cache_end,
    .flush = packed_flush,
    .drop = esk_tree_cache_drop,
};

const struct esk_node_store esk_store_tnc = {
    .layout = packed_layout,
    .load = packed_load,
    .mount = packed_mount,
    .begin = esk_tree_packed_begin,
    .nodes_max = esk_tree_packed_nodes_max,
    .place = packed_place,
    .split = packed_split,
    .shrink = esk_tree_cow_shrink,
    .collect = esk_tree_packed_step,
    .cache = &packed_cache,
    .id = ESK_STORE_TNC,
    .flags = ESK_STORE_PACKS,
    .frames_min = ESK_TREE_PACKED_FRAMES_MIN,
    .frames = ESK_PACKED_FRAMES,
};
