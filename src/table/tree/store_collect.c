// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The collector of moving stores: it empties the ring's oldest block.
///
///     tail           collected               head
///     | dead | live | ?  ?  ?  | ...  | live  | erased ...
///               |_______ moved by rewriting its path _____^
///
/// A page is live if its lowest node is, and that is live if a search for its
/// first key, at its level, ends at this page (mutree-2007, section 5.1).
/// Oldest first is a circle, so wear is even, and nothing about pages is kept
/// in RAM or on flash.
///
/// Room. The collector itself appends: at most the pages of a block (mu) or
/// height times that (wandering). So much is kept free, and the tree refuses
/// nodes beyond what leaves a lap some gain.
#include "table/tree/store_cow.h"

static uint32_t block_pages(const struct esk_tree *tree) {
    return tree->volume->device->geometry.block_pages;
}

/// Appends that moving one live page costs.
static uint8_t move_cost(const struct esk_tree *tree) {
    return esk_tree_shares(tree) ? 1 : tree->now.height;
}

/// Pages kept free for the collector. A wandering tree that grew in height,
/// or splits often, moves more pages than it frees for a while.
static uint32_t reserve(const struct esk_tree *tree) {
    uint32_t pages = block_pages(tree) * (move_cost(tree) + 1u);
    return esk_tree_shares(tree) ? pages
                                 : pages + esk_ring_pages(&tree->ring) / 32u;
}

uint32_t esk_tree_nodes_max(const struct esk_tree *tree) {
    uint32_t all = esk_ring_pages(&tree->ring);
    uint32_t kept = reserve(tree) + block_pages(tree);
    uint32_t room = all > kept ? all - kept : 0;
    return (room - room / 16u) / move_cost(tree);
}

/// Reads the page at `position`: what its lowest node is, and a key of it.
/// Returns ESK_OK; ESK_NOT_FOUND when nothing there can be live; ESK_E_IO.
static int page_survey(struct esk_tree *tree, uint32_t position, uint8_t *low,
                       bool *has_key) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    ESK_TRY(esk_pool_take(&tree->pool, &page, &frame));
    int status = esk_ring_read(&tree->ring, position, page, true);
    if (status == ESK_E_CORRUPT) {
        status = ESK_NOT_FOUND;
    }
    *low = page[ESK_TREE_PAGE_LOW];
    if (status == ESK_OK && (*low == 0 || *low > tree->now.height)) {
        status = ESK_NOT_FOUND;
    }
    if (status == ESK_OK) {
        struct esk_btree_node node;
        esk_btree_view(&tree->layout, page, *low, tree->now.height, &node);
        *has_key = esk_btree_count(&node) > 0;
        if (*has_key) {
            memcpy(tree->probe, esk_btree_key(&node, 0),
                   tree->layout.key_bytes);
        }
        esk_pool_tag(&tree->pool, frame, position);
    }
    esk_pool_give(&tree->pool, frame);
    return status;
}

/// Makes tree->path down to the page at `position`, whose lowest node is at
/// edit->level. The parent's entry tells whether it is live; the node itself
/// is read only if it is.
/// Returns  ESK_OK; ESK_NOT_FOUND when it is dead, or below a lost node.
static int path_find(struct esk_tree *tree, uint32_t position,
                     const uint8_t *key, struct esk_tree_edit *edit) {
    uint8_t level = edit->level;
    uint32_t address = tree->now.root;
    int status = ESK_OK;
    if (level < tree->now.height) {
        uint8_t above = (uint8_t)(level + 1u);
        status = esk_tree_descend(tree, &tree->path, key, ESK_TREE_FIRST, above,
                                  edit);
        address = edit->child;
    }
    if (status == ESK_OK && address == position) {
        return esk_tree_extend(tree, &tree->path, address, level, edit);
    }
    return status == ESK_OK || status == ESK_E_CORRUPT ? ESK_NOT_FOUND : status;
}

/// Moves the page at `position` if it is live.
static int page_collect(struct esk_tree *tree, uint32_t position) {
    struct esk_tree_edit edit = {.kind = ESK_TREE_EDIT_MOVE};
    bool has_key = false;
    int status = page_survey(tree, position, &edit.level, &has_key);
    if (status != ESK_OK ||
        (edit.level == tree->now.height && position != tree->now.root)) {
        return status == ESK_NOT_FOUND ? ESK_OK : status;
    }
    if (tree->store->take != NULL) {
        ESK_TRY(tree->store->take(tree));
    }
    struct esk_tree_state before = tree->now;
    status = path_find(tree, position, has_key ? tree->probe : NULL, &edit);
    if (status == ESK_OK) {
        status = esk_tree_change(tree, &edit);
        tree->moved++;
    }
    esk_tree_change_end(tree, status, &before);
    return status == ESK_NOT_FOUND ? ESK_OK : status;
}

/// Collects the next page, and gives the block back after its last one.
/// done     out: there was one.
static int collect_next(struct esk_tree *tree, bool *done) {
    const struct esk_device *device = tree->volume->device;
    struct esk_ring *ring = &tree->ring;
    uint32_t pages = block_pages(tree);
    uint32_t at = tree->collected;
    uint32_t end = at - at % pages + pages;
    *done = false;
    if (tree->in_batch || end > ring->head) {
        return ESK_OK;
    }
    ESK_TRY(page_collect(tree, at));
    tree->collected = at + 1;
    if (tree->collected == end) {
        /* What was moved must not be in a cache when its source is erased. */
        int status = device->ops->sync(device);
        if (status != ESK_OK) {
            tree->collected = at;
            return status;
        }
        esk_ring_drop(ring, end);
    }
    *done = true;
    return ESK_OK;
}

int esk_tree_collect_for(struct esk_tree *tree, uint32_t pages) {
    if (pages > esk_ring_pages(&tree->ring)) {
        return ESK_FULL;
    }
    uint32_t steps = 2u * (esk_ring_pages(&tree->ring) + block_pages(tree));
    while (!esk_ring_has_room(&tree->ring, pages + reserve(tree))) {
        bool done = false;
        ESK_TRY(collect_next(tree, &done));
        if (!done || steps == 0) {
            return ESK_FULL;
        }
        steps--;
    }
    return ESK_OK;
}

int esk_tree_collect_step(void *context, bool *done) {
    struct esk_tree *tree = context;
    uint32_t ahead = block_pages(tree) * (tree->ring.ahead + 1u);
    *done = false;
    if (esk_ring_has_room(&tree->ring, ahead + reserve(tree))) {
        return ESK_OK;
    }
    return collect_next(tree, done);
}
