// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Room for packed nodes: the sweep. A step writes leaves in key order again,
/// in one commit, so they and all nodes above them are at the ring's head. When
/// a pass has written all leaves, every node is younger than the beginning of
/// the pass, so all pages before that can be erased. How far the pass is stands
/// in every commit, so a mount goes on there.
///
/// A node that cannot be read is lost when its page is erased. Another node
/// will have its address, so its parent names LOST instead.
///
/// Invariants, between changes outside of batches
///  1. There is room for `reserve`: what a change commits, and the sync after
///     it.
///  2. Beside that there is room for one and a half times what the pass has
///     still to write. So for each page of changes the sweep writes two, and
///     the pass ends before room does.
#include "table/tree/packed/packed.h"
#include "table/tree/plan/collector.h"

static uint32_t block_pages(const struct esk_tree *tree) {
    return esk_volume_geometry(tree->table.volume)->block_pages;
}

/// Most nodes that a step writes.
static uint32_t step_most(const struct esk_tree *tree) {
    return esk_packed_step(block_pages(tree), tree->packed->page_nodes,
                           tree->packed->most);
}

static uint32_t reserve_pages(const struct esk_tree *tree) {
    return esk_packed_reserve(block_pages(tree), tree->packed->page_nodes,
                              tree->packed->most);
}

/// What a pass has still to write.
static uint32_t left_pages(const struct esk_tree *tree) {
    uint32_t nodes = tree->now.nodes;
    uint32_t done = esk_tree_packed_sweeps(tree) ? tree->now.order : 0;
    uint8_t height = tree->now.height;
    return esk_packed_pass(
        nodes > done ? nodes - done : 0, tree->packed->page_nodes,
        esk_packed_step_nodes(step_most(tree), height), height);
}

/// A third of the room, at most: see invariant 2.
uint32_t esk_tree_packed_nodes_max(const struct esk_tree *tree,
                                   uint8_t height) {
    const struct esk_tree_packed *packed = tree->packed;
    return esk_packed_frames(height) > packed->frames
               ? 0
               : esk_packed_nodes_max(esk_tree_sure_pages(tree),
                                      block_pages(tree), packed->page_nodes,
                                      packed->most, height);
}

void esk_tree_packed_count(struct esk_tree *tree) {
    struct esk_tree_state *now = &tree->now;
    uint32_t gone = now->nodes < now->paced ? now->paced - now->nodes : 0;
    now->order -= gone < now->order ? gone : now->order;
    now->paced = now->nodes;
}

/// Whether `status` says that tree->path ends at a node that is known to be
/// lost.
static bool is_lost(const struct esk_tree *tree, int status) {
    uint32_t address = tree->path.address[tree->path.lost - 1];
    return status == ESK_E_CORRUPT && address == ESK_TREE_PACKED_LOST;
}

/// Moves tree->path to the leaf after the path's node of `level`, past nodes
/// that are known to be lost.
static int path_turn(struct esk_tree *tree, uint8_t level) {
    bool again = true;
    int status = ESK_END;
    while (again) {
        status = esk_tree_turn(tree, &tree->path, &level, true, NULL, NULL);
        if (status == ESK_OK) {
            status = esk_tree_reach(tree, &tree->path, level, true);
        }
        again = is_lost(tree, status);
        level = tree->path.lost;
    }
    return status;
}

/// Moves tree->path to the leaf with the smallest key above the pass's last.
/// Returns  ESK_OK; ESK_END; ESK_E_CORRUPT: the node of level path->lost cannot
///          be read; ESK_E_IO.
static int leaf_find(struct esk_tree *tree) {
    struct esk_tree_spot spot;
    const uint8_t *key =
        esk_tree_packed_sweeps(tree) ? tree->packed->key : NULL;
    bool here = key == NULL;
    int status =
        esk_tree_find(tree, &tree->path, key, ESK_TREE_FIRST, 1, &spot);
    uint8_t level = 1;
    if (status == ESK_OK) {
        uint16_t index = (uint16_t)(tree->path.index[0] + (spot.found ? 1 : 0));
        here = here || index < esk_btree_count(&spot.node);
        esk_tree_unpin(tree, &spot.work);
    } else if (is_lost(tree, status)) {
        level = tree->path.lost;
        here = false;
    } else {
        return status == ESK_NOT_FOUND ? ESK_END : status;
    }
    return here ? ESK_OK : path_turn(tree, level);
}

/// Whether the pass need not write the leaf: it is younger than the pass.
static bool is_young(const struct esk_tree *tree, uint32_t address) {
    return esk_tree_is_cached(address) ||
           esk_tree_packed_at(tree, address) >= tree->now.due;
}

/// Copies the last key of the path's leaf to tree->probe.
static int last_key(struct esk_tree *tree) {
    struct esk_tree_work work;
    struct esk_btree_node leaf;
    tree->path.lost = 1;
    ESK_TRY(esk_tree_pin(tree, tree->path.address[0], 1, &work, &leaf));
    uint16_t count = esk_btree_count(&leaf);
    if (count > 0) {
        memcpy(tree->probe, esk_btree_key(&leaf, (uint16_t)(count - 1u)),
               esk_tree_layout(tree)->key_bytes);
    }
    esk_tree_unpin(tree, &work);
    return count > 0 ? ESK_OK : ESK_END; /* only a root is empty */
}

/// Makes `edit`, of the nodes of tree->path from its level up.
static int path_change(struct esk_tree *tree, struct esk_tree_edit *edit) {
    struct esk_tree_state before = tree->now;
    int status = esk_tree_change(tree, edit);
    esk_tree_unpin(tree, &edit->spot.work);
    esk_tree_change_end(tree, status, &before);
    return status;
}

/// Marks the path's node of path->lost, which cannot be read, as lost.
static int lost_mark(struct esk_tree *tree) {
    struct esk_tree_edit edit = {
        .level = (uint8_t)(tree->path.lost + 1u),
        .outcome = {.child = (esk_address)ESK_TREE_PACKED_LOST,
                    .child_moved = true}};
    return edit.level > tree->now.height ? ESK_E_CORRUPT
                                         : path_change(tree, &edit);
}

/// Changes the next leaf, and the nodes above it, without a change of their
/// bytes: the next commit writes them. Or marks a node that is lost.
static int leaf_touch(struct esk_tree *tree) {
    struct esk_tree_edit edit = {.level = 1, .leaf = ESK_TREE_LEAF_KEEP};
    ESK_TRY(esk_tree_write_cache(tree)->begin(tree, false));
    int status = leaf_find(tree);
    if (status == ESK_OK) {
        status = last_key(tree);
    }
    if (status == ESK_E_CORRUPT) {
        return lost_mark(tree);
    }
    ESK_TRY(status);
    if (!is_young(tree, tree->path.address[0])) {
        ESK_TRY(path_change(tree, &edit));
        tree->moved++;
    }
    memcpy(tree->packed->key, tree->probe, esk_tree_layout(tree)->key_bytes);
    tree->now.swept = 0;
    tree->now.order++;
    return ESK_OK;
}

/// Ends a pass: no page from before its beginning is needed.
static int pass_end(struct esk_tree *tree) {
    tree->now.swept = ESK_PAGE_NONE;
    tree->now.order = 0;
    return tree->now.due > tree->ring.tail
               ? esk_tree_tail_drop(tree, tree->now.due)
               : ESK_OK;
}

/// Nodes that are written get a new checksum, so they are verified also where
/// loads are trusted.
static void nodes_doubt(struct esk_tree *tree) {
    if ((esk_volume_flags(tree->table.volume) & ESK_MOUNT_TRUST_LOADS) != 0) {
        esk_pool_forget_all(&tree->pool);
        tree->packed->read_at = ESK_PAGE_NONE;
        tree->packed->verifies = true;
    }
}

/// A step of the sweep.
/// ended    out: the pass ended.
static int sweep_step(struct esk_tree *tree, bool *ended) {
    int status = ESK_OK;
    uint32_t most = step_most(tree);
    uint32_t leaves = most;
    *ended = false;
    ESK_TRY(esk_tree_flush(tree));
    if (!esk_tree_packed_sweeps(tree)) {
        tree->now.due = tree->ring.head; /* from here on the pass writes */
    }
    nodes_doubt(tree);
    do {
        status = leaf_touch(tree);
        leaves--;
    } while (leaves > 0 && status == ESK_OK &&
             tree->cached->count + tree->now.height <= most);
    tree->packed->verifies = false;
    *ended = status == ESK_END;
    if (status != ESK_OK && status != ESK_END && status != ESK_E_NO_MEMORY) {
        return status;
    }
    ESK_TRY(esk_tree_flush(tree));
    return *ended ? pass_end(tree) : ESK_OK;
}

/// Whether there is room for `pages` more pages, beside what the pass needs.
static bool has_room(struct esk_tree *tree, uint32_t pages) {
    uint32_t left = left_pages(tree);
    return esk_ring_has_room(&tree->ring,
                             reserve_pages(tree) + left + left / 2u + pages);
}

/// Whether the rest of the sweep that a large commit asks for can wait for the
/// next calls: this one, which began with the head at `from`, did its share.
static bool can_wait(struct esk_tree *tree, uint32_t from) {
    const struct esk_tree_packed *packed = tree->packed;
    uint32_t share = esk_collector_call(block_pages(tree)) / 2u;
    uint32_t commit = esk_packed_commit(packed->page_nodes, packed->most);
    return tree->ring.head - from >= share &&
           esk_ring_has_room(&tree->ring,
                             reserve_pages(tree) + commit + left_pages(tree));
}

/// Whether a step of the sweep leaves room for the changes in RAM. It does,
/// unless blocks failed.
static bool can_step(struct esk_tree *tree) {
    uint32_t each = tree->packed->page_nodes;
    uint32_t step = esk_packed_commit(each, step_most(tree));
    uint32_t left = left_pages(tree);
    return esk_ring_has_room(&tree->ring,
                             esk_packed_commit(each, tree->cached->count) +
                                 (step < left ? step : left));
}

static void store_prepare(struct esk_tree *tree) {
    if (tree->bad_seen == 0) {
        tree->packed->read_at = ESK_PAGE_NONE;
    }
    esk_tree_bad_count_with(tree, tree->packed->page);
    esk_tree_packed_count(tree);
}

int esk_tree_packed_begin(struct esk_tree *tree, uint32_t pages) {
    struct esk_tree_packed *packed = tree->packed;
    uint32_t passes = 0;
    uint32_t from = tree->ring.head;
    store_prepare(tree);
    pages = pages > esk_tree_change_pages(tree) ? pages : 0;
    if (pages > esk_tree_good_pages(tree)) {
        return ESK_FULL;
    }
    if (pages == 0 && packed->seen == tree->ring.head &&
        packed->nodes >= tree->now.nodes) {
        return ESK_OK;
    }
    while (!has_room(tree, pages)) {
        bool ended = false;
        if (pages == 0 && can_wait(tree, from)) {
            return ESK_OK;
        }
        if (tree->in_batch || passes == 2 ||
            tree->now.root == ESK_ADDRESS_NONE || !can_step(tree)) {
            return !tree->in_batch && pages == 0 &&
                           esk_ring_has_room(&tree->ring, reserve_pages(tree))
                       ? ESK_OK
                       : ESK_FULL;
        }
        ESK_TRY(sweep_step(tree, &ended));
        passes += ended ? 1u : 0u;
    }
    packed->seen = tree->ring.head;
    packed->nodes = tree->now.nodes;
    return ESK_OK;
}

int esk_tree_packed_step(void *context, bool *done) {
    struct esk_tree *tree = context;
    struct esk_tree_packed *packed = tree->packed;
    bool ended = false;
    store_prepare(tree);
    bool sweeps = esk_tree_packed_sweeps(tree);
    uint32_t ahead = 0;
    if (sweeps) {
        ahead = reserve_pages(tree) / 2u;
    }
    *done = !tree->in_batch && tree->now.root != ESK_ADDRESS_NONE &&
            (sweeps || packed->idle != tree->ring.head) &&
            !has_room(tree, ahead) && can_step(tree);
    if (!*done) {
        return ESK_OK;
    }
    ESK_TRY(sweep_step(tree, &ended));
    if (ended) {
        packed->idle = tree->ring.head;
    }
    return ESK_OK;
}
