// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Copy-on-write stores: every change appends pages to the table's ring.
///
///     wandering   | leaf | inner | root |  | leaf | inner | root |
///     mu          | leaf inner root |  | leaf inner root |
///
/// The page with the root is the last one of a change and has the commit flag.
/// Each page's aux is the root that was committed before. So a mount reads the
/// newest valid page: it has a committed root, or names one. To roll back an
/// incomplete change or batch is one step.
///
/// mu: a page has a node and some of its ancestors, in levels without a gap
/// (the descendant-ancestor relationship, mutree-2007 section 3.3). A child in
/// the same page is named SELF, so a page that fails to program is written to
/// the next position without a change.
#include "table/tree/moving/cow.h"
#include "base/counter.h"
#include "base/inline.h"
#include "table/tree/plan/collector.h"

enum { UNREAD_MAX = 255 / ESK_TREE_PAGE_UNREAD };

int esk_tree_page_write(struct esk_tree *tree, uint8_t *page, bool root,
                        esk_address *address) {
    bool commit = root && !tree->in_batch;
    uint16_t bytes = esk_envelope_page_bytes(&tree->ring.region.envelope);
    page[ESK_TREE_PAGE_FLAGS] = tree->sweeping ? ESK_TREE_PAGE_MOVED : 0;
    if (commit) {
        page[ESK_TREE_PAGE_FLAGS] =
            (uint8_t)(ESK_TREE_PAGE_COMMIT +
                      tree->unread * ESK_TREE_PAGE_UNREAD);
        /* This page commits, so the pages below it must be durable first. */
        ESK_TRY(esk_region_barrier(&tree->ring.region));
    }
    uint32_t position = 0;
    ESK_TRY(esk_ring_append(&tree->ring, page,
                            (uint16_t)(bytes - ESK_ENVELOPE_BYTES),
                            tree->committed, &position));
    *address = position;
    if (root) {
        tree->now.root = position;
    }
    if (commit) {
        tree->committed = position;
    }
    return ESK_OK;
}

/// Fills in the head of the page in `frame` and appends or caches the page.
static int page_append(struct esk_tree *tree, uint8_t frame, uint8_t low,
                       uint8_t top, bool root, esk_address *address) {
    uint8_t *page = esk_pool_page(&tree->pool, frame);
    page[ESK_TREE_PAGE_LOW] = low;
    page[ESK_TREE_PAGE_TOP] = top;
    page[ESK_TREE_PAGE_HEIGHT] = tree->now.height;
    esk_store_u32(page + ESK_TREE_PAGE_ROWS, tree->now.rows);
    esk_store_u32(page + ESK_TREE_PAGE_NODES, tree->now.nodes);
    if (esk_tree_cached(tree) == NULL || esk_tree_cached(tree)->through) {
        return esk_tree_page_write(tree, page, root, address);
    }
    ESK_TRY(esk_tree_write_cache(tree)->keep(tree, frame, root, address));
    if (root) {
        tree->now.root = *address;
    }
    return ESK_OK;
}

static int cow_load(void *context, esk_tag tag, uint8_t *page) {
    const struct esk_tree_load *load = context;
    struct esk_tree *tree = load->tree;
    bool verify =
        (esk_volume_flags(tree->table.volume) & ESK_MOUNT_TRUST_LOADS) == 0;
    int status = esk_ring_read(&tree->ring, tag, page, verify);
    if (status == ESK_NOT_FOUND ||
        (status == ESK_OK && (load->level < page[ESK_TREE_PAGE_LOW] ||
                              load->level > page[ESK_TREE_PAGE_TOP]))) {
        esk_count(&tree->stats.damaged);
        return ESK_E_CORRUPT;
    }
    return status;
}

static void unread_add(struct esk_tree *tree, uint8_t pages) {
    uint8_t sum = (uint8_t)(tree->unread + pages);
    tree->unread = sum < UNREAD_MAX ? sum : UNREAD_MAX;
}

/// Sets the tree's state from the page of a root.
static int root_decode(struct esk_tree *tree, uint8_t *page) {
    uint8_t height = page[ESK_TREE_PAGE_HEIGHT];
    if (height == 0 || height > esk_tree_layout(tree)->height_max) {
        return ESK_E_CORRUPT;
    }
    tree->now.height = height;
    tree->now.rows = esk_load_u32(page + ESK_TREE_PAGE_ROWS);
    tree->now.nodes = esk_load_u32(page + ESK_TREE_PAGE_NODES);
    tree->now.paced = tree->now.nodes;
    if (esk_tree_store(tree)->sweep != NULL) {
        tree->now.swept = esk_load_u32(page + ESK_TREE_PAGE_SWEPT);
        tree->now.due = esk_load_u32(page + ESK_TREE_PAGE_DUE);
        tree->now.order = esk_load_u32(page + ESK_TREE_PAGE_ORDER);
        uint32_t most = tree->ring.head + esk_ring_pages(&tree->ring);
        if (tree->now.due > most) {
            tree->now.due = most; /* no lap is longer */
        }
    }
    unread_add(tree, page[ESK_TREE_PAGE_FLAGS] / ESK_TREE_PAGE_UNREAD);
    return ESK_OK;
}

/// How many of the newest pages may be of an earlier life of the ring. A medium
/// that caches writes may lose the first pages of an uncommitted batch and keep
/// later ones. If a mount does not see these, changes go on before them, in
/// their block; and where erases leave old bytes in place, they are still there
/// at the next mount. They are not committed, and the root that they name is
/// not the newest.
static uint32_t stale_pages(const struct esk_tree *tree) {
    const struct esk_geometry *geometry =
        esk_volume_geometry(tree->table.volume);
    return (geometry->flags & ESK_MEDIUM_OVERWRITE) != 0 ? geometry->block_pages
                                                         : 0;
}

/// Finds the newest committed root. A page that cannot be read is skipped, and
/// with it its changes. These pages are counted, and every later root stores
/// the count, because a change torn by power loss looks the same. A page of a
/// lap ago does not count.
int esk_tree_cow_mount(struct esk_tree *tree,
                       const struct esk_ring_config *region, uint8_t *page) {
    struct esk_ring *ring = &tree->ring;
    ESK_TRY(
        esk_ring_mount(ring, tree->table.volume, region, &tree->stats, page));
    ring->collect = esk_tree_store(tree)->collect;
    ring->owner = tree;
    uint32_t at = ring->head;
    uint32_t stale = stale_pages(tree);
    tree->now.height = 1;
    tree->now.rows = 0;
    tree->now.nodes = 0;
    tree->now.swept = ESK_PAGE_NONE;
    tree->now.due = 0;
    tree->now.order = 0;
    tree->now.paced = 0;
    tree->now.root = ESK_ADDRESS_NONE;
    while (at > ring->tail && tree->now.root == ESK_ADDRESS_NONE) {
        at--;
        page[ESK_ENVELOPE_KIND] = 0; /* a failed read is no page */
        int status = esk_ring_read(ring, at, page, true);
        if (status == ESK_E_IO) {
            return status;
        }
        if (status != ESK_OK) {
            bool unread =
                status == ESK_E_CORRUPT &&
                esk_envelope_check(&ring->region.envelope, page, false) == 0;
            unread_add(tree, unread ? 1 : 0);
            continue;
        }
        uint32_t root = esk_page_aux(page);
        if ((page[ESK_TREE_PAGE_FLAGS] & ESK_TREE_PAGE_COMMIT) != 0) {
            ESK_TRY(root_decode(tree, page));
            tree->now.root = at;
        } else if (ring->head - at > stale) {
            if (root == ESK_PAGE_NONE) {
                break;
            }
            at = root < at ? root + 1 : at;
        }
    }
    tree->committed = tree->now.root;
    return ESK_OK;
}

/// Takes levels off while the root has one child, which becomes the root.
/// (mu-Tree, Algorithm 5.) After a merge the child may already be in
/// tree->page.
static int root_shrink(struct esk_tree *tree, struct esk_tree_work *work,
                       struct esk_btree_node *node) {
    while (tree->now.height > 1 && esk_btree_count(node) <= 1) {
        uint32_t child = esk_load_u32(esk_btree_child(node, 0));
        uint8_t level = (uint8_t)(tree->now.height - 1u);
        bool here = tree->page != NULL && child == ESK_BTREE_SELF;
        esk_tree_replace(tree, work->address, work->level);
        esk_tree_work_drop(tree, work);
        if (child == ESK_BTREE_SELF && !here) {
            return ESK_E_CORRUPT;
        }
        tree->now.nodes--;
        tree->now.height = level;
        if (!here) {
            tree->page_low = level;
            tree->path.address[level - 1] = child;
        }
        if (tree->page != NULL && !here) {
            struct esk_tree_path path;
            tree->now.root = child;
            ESK_TRY(esk_tree_descend(tree, &path, NULL, ESK_TREE_FIRST, level));
        }
        ESK_TRY(esk_tree_work_open(tree, level, work, node));
        ESK_TRY(esk_tree_work_own(tree, work, node));
    }
    return ESK_OK;
}

/// Drops a node that became empty, or takes levels off a root.
int esk_tree_cow_shrink(struct esk_tree *tree, struct esk_tree_work *work,
                        struct esk_btree_node *node,
                        struct esk_tree_outcome *outcome) {
    if (work->level == tree->now.height) {
        return root_shrink(tree, work, node);
    }
    if (esk_btree_count(node) == 0) {
        esk_tree_replace(tree, work->address, work->level);
        esk_tree_work_drop(tree, work);
        outcome->child_gone = true;
        outcome->has_right = false;
        tree->now.nodes--;
        tree->page_low = (uint8_t)(work->level + 1u);
    }
    return ESK_OK;
}

/// Releases a node that is now at `address`.
static void work_placed(struct esk_tree *tree, struct esk_tree_work *work,
                        esk_address address) {
    esk_pool_tag(&tree->pool, work->frame, address);
    esk_tree_unpin(tree, work);
}

static int wandering_place(struct esk_tree *tree, struct esk_tree_work *work,
                           bool root, esk_address *address) {
    esk_tree_replace(tree, work->address, work->level);
    if (root) {
        esk_tree_sweep_pace(tree);
    }
    esk_store_u32(work->page + ESK_TREE_PAGE_SWEPT, tree->now.swept);
    esk_store_u32(work->page + ESK_TREE_PAGE_DUE, tree->now.due);
    esk_store_u32(work->page + ESK_TREE_PAGE_ORDER, tree->now.order);
    ESK_TRY(page_append(tree, work->frame, work->level, work->level, root,
                        address));
    work_placed(tree, work, *address);
    return ESK_OK;
}

static int wandering_split(struct esk_tree *tree, struct esk_tree_work *left,
                           struct esk_tree_work *right, bool changed,
                           esk_address *left_address,
                           esk_address *right_address) {
    ESK_TRY(wandering_place(tree, right, false, right_address));
    if (changed) {
        return wandering_place(tree, left, false, left_address);
    }
    *left_address = left->address;
    esk_tree_unpin(tree, left);
    return ESK_OK;
}

static int mu_place(struct esk_tree *tree, struct esk_tree_work *work,
                    bool root, esk_address *address) {
    *address = ESK_BTREE_SELF;
    esk_tree_replace(tree, work->address, work->level);
    if (!root) {
        return ESK_OK;
    }
    ESK_TRY(page_append(tree, tree->frame, tree->page_low, work->level, true,
                        address));
    esk_pool_tag(&tree->pool, tree->frame, *address);
    return ESK_OK;
}

/// Whether the node of `level` in `page` has a child in its own page.
static bool has_self(const struct esk_tree *tree, uint8_t *page,
                     uint8_t level) {
    struct esk_btree_node node;
    if (level == 1) {
        return false;
    }
    esk_btree_view(esk_tree_layout(tree), page, level, tree->now.height, &node);
    uint16_t index = esk_btree_count(&node);
    while (index > 0) {
        index--;
        if (esk_load_u32(esk_btree_child(&node, index)) == ESK_BTREE_SELF) {
            return true;
        }
    }
    return false;
}

static void bytes_swap(uint8_t *a, uint8_t *b, uint16_t count) {
    for (uint16_t i = 0; i < count; i++) {
        uint8_t kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

/// The node that has the child in tree->page stays in that page, which is
/// appended. The other node begins the next page, with the rest of the path
/// (Algorithm 4, lines 25 to 33). A left node that did not change is not
/// written, and nothing is appended.
static int mu_split(struct esk_tree *tree, struct esk_tree_work *left,
                    struct esk_tree_work *right, bool changed,
                    esk_address *left_address, esk_address *right_address) {
    uint8_t level = left->level;
    uint16_t at = esk_tree_layout(tree)->offset[level - 1];
    uint16_t bytes = (uint16_t)(esk_tree_layout(tree)->offset[level] - at);
    esk_address address = left->address;
    bool swap = has_self(tree, right->page, level);
    if (changed) {
        if (swap) {
            bytes_swap(left->page + at, right->page + at, bytes);
        }
        esk_tree_replace(tree, left->address, level);
        ESK_TRY(page_append(tree, tree->frame, tree->page_low, level, false,
                            &address));
        tree->page_low = level;
        *left_address = swap ? ESK_BTREE_SELF : address;
        *right_address = swap ? address : ESK_BTREE_SELF;
    } else {
        *left_address = address;
        *right_address = ESK_BTREE_SELF;
    }
    memcpy(left->page + at, right->page + at, bytes);
    esk_tree_unpin(tree, right);
    return ESK_OK;
}

/// Copies a node of the path into tree->page. Its children are named by
/// address, because the page that they shared is another one now.
static void node_gather(struct esk_tree *tree,
                        const struct esk_btree_node *from, uint8_t level,
                        esk_address address) {
    struct esk_btree_node to;
    uint16_t count = esk_btree_count(from);
    esk_btree_view(esk_tree_layout(tree), tree->page, level, tree->now.height,
                   &to);
    esk_bytes_copy(to.count, from->count,
                   (uint16_t)(ESK_TREE_NODE_HEAD + count * from->bytes));
    uint8_t *child = esk_btree_child(&to, 0);
    for (uint16_t i = 0; level > 1 && i < count; i++) {
        if (esk_load_u32(child) == ESK_BTREE_SELF) {
            esk_store_u32(child, address);
        }
        child += to.bytes;
    }
}

/// Takes the page in which the path is gathered; the root stays cached.
static int mu_take(struct esk_tree *tree) {
    struct esk_tree_work root = {.pinned = false};
    struct esk_btree_node node;
    if (tree->now.root != ESK_ADDRESS_NONE) {
        ESK_TRY(
            esk_tree_pin(tree, tree->now.root, tree->now.height, &root, &node));
    }
    int status = esk_pool_take(&tree->pool, &tree->page, &tree->frame);
    esk_tree_unpin(tree, &root);
    return status;
}

/// A class for each level; the root's slot is the rest of a frame.
static void mu_pool_carve(struct esk_tree *tree) {
    struct esk_pool *pool = &tree->pool;
    uint32_t hits = pool->hits;
    uint32_t misses = pool->misses;
    uint8_t classes = tree->now.height;
    for (uint8_t i = 0; i < classes; i++) {
        tree->pool_offsets[i] = esk_tree_layout(tree)->offset[i];
    }
    tree->pool_offsets[classes] = esk_pool_page_bytes(pool);
    esk_pool_init_classes(pool, pool->tags, esk_pool_page_bytes(pool),
                          esk_pool_frames(pool), classes, tree->pool_offsets);
    pool->hits = hits;
    pool->misses = misses;
}

static void wandering_layout(struct esk_btree_layout *layout,
                             uint16_t page_bytes, uint8_t k_percent) {
    (void)k_percent;
    layout->counts_inside = true;
    esk_btree_layout_whole(layout, ESK_TREE_PAGE_NODE, page_bytes);
}

static void mu_layout(struct esk_btree_layout *layout, uint16_t page_bytes,
                      uint8_t k_percent) {
    layout->counts_inside = true;
    esk_btree_layout_shared(layout, page_bytes, k_percent);
}

const struct esk_node_store esk_store_wandering = {
    .layout = wandering_layout,
    .load = cow_load,
    .mount = esk_tree_cow_mount,
    .begin = esk_tree_collect_for,
    .nodes_max = esk_tree_nodes_max,
    .place = wandering_place,
    .split = wandering_split,
    .shrink = esk_tree_cow_shrink,
    .sweep = esk_tree_sweep,
    .collect = esk_tree_collect_step,
    .id = ESK_STORE_WANDERING,
    .frames_min = ESK_TREE_FRAMES_MIN,
    .frames = ESK_TREE_FRAMES_MIN,
};

const struct esk_node_store esk_store_mu = {
    .layout = mu_layout,
    .load = cow_load,
    .mount = esk_tree_cow_mount,
    .begin = esk_tree_collect_for,
    .nodes_max = esk_tree_nodes_max,
    .place = mu_place,
    .split = mu_split,
    .shrink = esk_tree_cow_shrink,
    .take = mu_take,
    .gather = node_gather,
    .pool_carve = mu_pool_carve,
    .collect = esk_tree_collect_step,
    .id = ESK_STORE_MU,
    .flags = ESK_STORE_SHARES,
    .frames_min = ESK_TREE_FRAMES_MIN,
    .frames = ESK_TREE_FRAMES_MIN,
};
