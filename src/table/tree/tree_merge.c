// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Merging, for a program that names it.
///
///     parent   .. | key 3: left | key 4: right | ..    .. | key 3: left | ..
///     left     a b c                              ->   a b c d e
///     right    d e
///
/// A delete that leaves a node half full or less reads its neighbours below the
/// same parent, the right one first, and joins the first one that fits. The
/// level above then has one entry less, and may be joined in turn, in the same
/// change. Nodes never move entries to one another: that would cost as much as
/// a merge and free nothing.
///
/// An inner node's first key is not compared, and keys below its first child
/// may be smaller. So between two joined nodes the parent's key is inserted.
///
/// Cost: the parent is in RAM or read again, one or two neighbours are read. A
/// neighbour that cannot be read is not joined, and the delete succeeds.
#include "table/tree/tree_merge.h"

#include "base/counter.h"

/// Finds the address of the neighbour of the path's node at `level`, and in
/// tree->low the key between the two. False: there is none on that side.
static bool neighbour_find(struct esk_tree *tree, uint8_t level, bool right,
                           esk_address *address) {
    struct esk_tree_work work;
    struct esk_btree_node parent;
    if (esk_tree_work_open(tree, (uint8_t)(level + 1u), &work, &parent) !=
        ESK_OK) {
        return false;
    }
    uint16_t index = tree->path.index[level];
    uint16_t later = (uint16_t)(right ? index + 1u : index);
    bool there = later > 0 && later < esk_btree_count(&parent);
    if (there) {
        memcpy(tree->low, esk_btree_key(&parent, later),
               esk_tree_layout(tree)->key_bytes);
        *address = esk_tree_child(tree, &parent,
                                  (uint16_t)(right ? later : later - 1u),
                                  work.address);
    }
    esk_tree_unpin(tree, &work);
    return there;
}

/// Adds the entries of `from`, which is at `address`, to those of `node`.
static void entries_join(struct esk_tree *tree, uint8_t level,
                         const struct esk_btree_node *node,
                         const struct esk_btree_node *from, esk_address address,
                         bool right) {
    uint16_t more = esk_btree_count(from);
    uint16_t begin = 0;
    if (right) {
        begin = esk_btree_count(node);
    }
    esk_btree_join(node, begin, from);
    if (level == 1) {
        return;
    }
    memcpy(esk_btree_key(node, right ? begin : more), tree->low,
           esk_tree_layout(tree)->key_bytes);
    for (uint16_t i = 0; i < more; i++) {
        esk_store_u32(esk_btree_child(node, (uint16_t)(begin + i)),
                      esk_tree_child(tree, from, i, address));
    }
}

static bool join_one(struct esk_tree *tree, struct esk_tree_work *work,
                     struct esk_btree_node *node, bool right,
                     struct esk_tree_joined *joined) {
    struct esk_tree_work other;
    struct esk_btree_node from;
    uint8_t level = work->level;
    if (!neighbour_find(tree, level, right, &joined->address) ||
        joined->address == work->address ||
        esk_tree_pin(tree, joined->address, level, &other, &from) != ESK_OK) {
        return false;
    }
    uint32_t entries = (uint32_t)esk_btree_count(node) + esk_btree_count(&from);
    bool fits = entries <= node->capacity;
    if (fits) {
        entries_join(tree, level, node, &from, joined->address, right);
        joined->right = right;
        joined->link = esk_page_aux(other.page);
        if (!right) {
            tree->path.index[level]--;
        }
        esk_count(&tree->merges);
    }
    esk_tree_unpin(tree, &other);
    return fits;
}

bool esk_tree_join(struct esk_tree *tree, struct esk_tree_work *work,
                   struct esk_btree_node *node,
                   struct esk_tree_joined *joined) {
    return esk_btree_count(node) <= node->capacity / 2u &&
           (join_one(tree, work, node, true, joined) ||
            join_one(tree, work, node, false, joined));
}

/// Copy-on-write: the neighbour's page becomes dead, like the node's old page.
/// The store drops a node that became empty.
static int moving_join(struct esk_tree *tree, struct esk_tree_work *work,
                       struct esk_btree_node *node,
                       struct esk_tree_outcome *outcome) {
    struct esk_tree_joined joined;
    if (work->level < tree->now.height && esk_btree_count(node) > 0 &&
        esk_tree_join(tree, work, node, &joined)) {
        esk_tree_replace(tree, joined.address, work->level);
        outcome->right_gone = true;
        tree->now.nodes--;
    }
    return ESK_OK;
}

const struct esk_tree_merge esk_merge_moving = {.join = moving_join};
