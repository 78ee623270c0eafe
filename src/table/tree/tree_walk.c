// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Walking a tree: its nodes one by one, parents before children.
///
///     last node -> its first child, or the next child of the nearest parent
///                  that has one
///
/// The index of a level is the child that the walk is below; UINT16_MAX: none
/// yet, so that the next one is child 0.
#include "table/tree/tree.h"

int esk_tree_walk_open(struct esk_tree *tree, struct esk_tree_walk *walk) {
    ESK_ASSERT(walk != NULL);
    memset(walk, 0, sizeof *walk);
    ESK_TRY(esk_tree_ready(tree));
    ESK_TRY(esk_tree_flush(tree));
    walk->pages = tree->ring.head;
    if (!esk_tree_overwrites(tree)) {
        walk->pages -= tree->ring.tail;
    }
    walk->pages_max = esk_ring_pages(&tree->ring);
    walk->tree = tree;
    walk->changes = tree->changes;
    if (tree->now.root != ESK_ADDRESS_NONE) {
        walk->level = tree->now.height;
        walk->path.address[walk->level - 1] = tree->now.root;
    }
    return ESK_OK;
}

/// Moves on from the last node. level 0: there is no other.
static int walk_move(struct esk_tree *tree, struct esk_tree_walk *walk) {
    /* The next node after an inner node is its first child. */
    bool passed = walk->level == 1 || walk->damaged;
    uint8_t level = (uint8_t)(walk->level - (passed ? 0u : 1u));
    int status = esk_tree_turn(tree, &walk->path, &level, true, NULL, NULL);
    if (status == ESK_OK || status == ESK_END) {
        walk->level = status == ESK_OK ? level : 0;
        return ESK_OK;
    }
    return status;
}

int esk_tree_walk_next(struct esk_tree *tree, struct esk_tree_walk *walk,
                       struct esk_tree_node *node) {
    ESK_ASSERT(walk != NULL && node != NULL);
    struct esk_tree_work work;
    struct esk_btree_node view;
    ESK_TRY(esk_tree_ready(tree));
    if (walk->tree != tree) {
        return ESK_E_INVALID;
    }
    if (walk->changes != tree->changes) {
        return ESK_E_STALE;
    }
    if (walk->told) {
        ESK_TRY(walk_move(tree, walk));
        walk->told = false;
    }
    if (walk->level == 0) {
        return ESK_END;
    }
    esk_address address = walk->path.address[walk->level - 1];
    int status = esk_tree_pin(tree, address, walk->level, &work, &view);
    walk->damaged = status == ESK_E_CORRUPT;
    if (status != ESK_OK && !walk->damaged) {
        return status;
    }
    memset(node, 0, sizeof *node);
    node->address = address;
    if (esk_tree_packs(tree)) {
        node->address = address >> ESK_TREE_PACKED_NUMBER_BITS;
    }
    node->level = walk->level;
    node->damaged = walk->damaged;
    if (!walk->damaged) {
        node->count = esk_btree_count(&view);
        node->capacity = view.capacity;
        esk_tree_unpin(tree, &work);
    }
    walk->path.index[walk->level - 1] = UINT16_MAX;
    walk->told = true;
    return ESK_OK;
}
