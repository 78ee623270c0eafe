// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The collector of mu trees: the ring's oldest blocks are emptied a little
/// with every change.
///
///     tail                              head
///     | dead | dead | LIVE | ... | live ...| erased ...
///       passed        | written anew      ^
///                     |___________________|
///
/// The oldest page is asked for in the tree, by the first key of its lowest
/// node: a page lives as long as that (mutree-2007, section 5.1). A page that
/// no path leads to is dead and passed; any other is written anew with its
/// path, which is one program. So a block is given back on evidence, nothing
/// about pages is kept in RAM or on flash, and after a mount the collector
/// goes on where the tail is. Oldest first is a circle, so wear is even.
///
/// A call programs less than two blocks for that (blocks of less than 16 pages
/// count for 16), as long as there is room for a change; so room is kept for
/// the changes that come while live pages lie in a row. When there is none,
/// after cuts, it goes on until there is.
#include "base/inline.h"
#include "table/tree/moving/cow.h"
#include "table/tree/plan/collector.h"

static ESK_OUT_OF_LINE uint32_t block_pages(const struct esk_tree *tree) {
    return esk_volume_geometry(tree->volume)->block_pages;
}

static uint32_t call_pages(const struct esk_tree *tree) {
    return esk_collector_call(block_pages(tree));
}

uint32_t esk_tree_tail_nodes_max(const struct esk_tree *tree) {
    uint32_t all = esk_tree_good_pages(tree);
    uint32_t kept = 2u * block_pages(tree) + 2u * tree->now.height + 3u +
                    esk_tree_spare_pages(tree) + all / call_pages(tree);
    return all > kept ? all - kept : 0;
}

/// Looks for the page at `at` in the tree: tree->low is its first key.
/// level    out: of its lowest node; 0: it is dead.
static int page_look(struct esk_tree *tree, uint32_t at, uint8_t *level) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    bool named = false;
    *level = 0;
    ESK_TRY(esk_pool_take(&tree->pool, &page, &frame));
    int status = esk_ring_read(&tree->ring, at, page, true);
    uint8_t low = page[ESK_TREE_PAGE_LOW];
    uint8_t height = page[ESK_TREE_PAGE_HEIGHT];
    if (status == ESK_OK && low > 0 && low <= height &&
        height <= esk_tree_layout(tree)->height_max &&
        low <= tree->now.height) {
        struct esk_btree_node node;
        esk_btree_view(esk_tree_layout(tree), page, low, height, &node);
        uint16_t count = esk_btree_count(&node);
        named = count > 0 && count <= node.capacity;
        if (named) {
            memcpy(tree->low, esk_btree_key(&node, 0),
                   esk_tree_layout(tree)->key_bytes);
        }
    }
    esk_pool_give(&tree->pool, frame);
    if (status == ESK_E_IO) {
        return status;
    }
    if (at == tree->now.root && (low == tree->now.height || !named)) {
        *level = tree->now.height;
        return ESK_OK;
    }
    if (!named || low >= tree->now.height || tree->now.root == ESK_PAGE_NONE) {
        return ESK_OK;
    }
    struct esk_tree_edit edit = {.kind = ESK_TREE_EDIT_MOVE};
    status = esk_tree_descend(tree, &tree->path, tree->low, ESK_TREE_FIRST,
                              (uint8_t)(low + 1u), &edit);
    if (status == ESK_OK && edit.child == at) {
        *level = low;
    }
    /* What lies below a node that is lost is lost. */
    return status == ESK_E_CORRUPT ? ESK_OK : status;
}

/// Writes the page at the tail anew, whose lowest node is of `level`.
static int tail_move(struct esk_tree *tree, uint8_t level) {
    struct esk_tree_edit edit = {.kind = ESK_TREE_EDIT_MOVE};
    struct esk_tree_state before = tree->now;
    uint32_t at = tree->ring.tail;
    int status = ESK_OK;
    if (esk_tree_store(tree)->take != NULL) {
        ESK_TRY(esk_tree_store(tree)->take(tree));
    }
    if (level < tree->now.height) {
        status = esk_tree_descend(tree, &tree->path, tree->low, ESK_TREE_FIRST,
                                  (uint8_t)(level + 1u), &edit);
    }
    if (status == ESK_OK) {
        status = esk_tree_page_verify(tree, at);
    }
    if (status == ESK_OK) {
        status = esk_tree_extend(tree, &tree->path, at, level, &edit);
    }
    if (status == ESK_OK) {
        edit.level = level;
        status = esk_tree_change(tree, &edit);
        tree->moved++;
    }
    esk_tree_change_end(tree, status, &before);
    return status == ESK_E_CORRUPT ? ESK_OK : status;
}

/// Passes the page at the tail, or moves it. Nothing may wait in the write
/// cache: a page is given up, so no tree may need it but the one in effect.
static int tail_step(struct esk_tree *tree) {
    struct esk_ring *ring = &tree->ring;
    uint8_t level = 0;
    ESK_TRY(esk_tree_flush(tree));
    ESK_TRY(page_look(tree, ring->tail, &level));
    if (level > 0) {
        bool through =
            esk_tree_kept(tree) != NULL && esk_tree_kept(tree)->through;
        if (esk_tree_kept(tree) != NULL) {
            esk_tree_kept(tree)->through = true;
        }
        int status = tail_move(tree, level);
        if (esk_tree_kept(tree) != NULL) {
            esk_tree_kept(tree)->through = through;
        }
        ESK_TRY(status);
    }
    uint32_t next = esk_ring_skip(ring, ring->tail);
    if (esk_ring_rest(ring, next) == 0) {
        /* What was moved must not be in a cache when its source is erased. */
        ESK_TRY(esk_region_sync(&ring->region));
    }
    esk_ring_drop(ring, next);
    return ESK_OK;
}

/// Pages kept free ahead of need: live pages may all lie in a row.
static uint32_t ahead_pages(const struct esk_tree *tree) {
    return block_pages(tree) / 2u + tree->now.nodes / call_pages(tree);
}

int esk_tree_tail_for(struct esk_tree *tree, uint32_t pages) {
    struct esk_ring *ring = &tree->ring;
    uint32_t first = tree->stats.programs;
    uint32_t looks = 2u * esk_ring_pages(ring);
    esk_tree_bad_count(tree);
    if (pages > esk_tree_good_pages(tree)) {
        return ESK_FULL;
    }
    uint32_t need =
        pages + esk_tree_kept_pages(tree) + block_pages(tree) / 2u + 1u;
    while (!esk_ring_has_room(ring, need + ahead_pages(tree))) {
        bool none = tree->in_batch || looks == 0 || ring->tail == ring->head;
        bool enough = tree->stats.programs - first >= call_pages(tree);
        if ((none || enough) && esk_ring_has_room(ring, need)) {
            break;
        }
        if (none) {
            return ESK_FULL;
        }
        ESK_TRY(tail_step(tree));
        looks--;
    }
    return ESK_OK;
}

int esk_tree_tail_step(void *context, bool *done) {
    struct esk_tree *tree = context;
    struct esk_ring *ring = &tree->ring;
    esk_tree_bad_count(tree);
    uint32_t need =
        esk_tree_kept_pages(tree) + 2u * block_pages(tree) + ahead_pages(tree);
    *done = !tree->in_batch && ring->tail < ring->head &&
            !esk_ring_has_room(ring, need);
    return *done ? tail_step(tree) : ESK_OK;
}
