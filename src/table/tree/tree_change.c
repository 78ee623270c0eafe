// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Changing a tree: one loop from the leaf up, for every store.
///
///     level   node            reported to the level above
///       1     row in          child_moved: the node has another address
///       2     child 3 moved   has_right:   it was split, `pending` names the
///       3     ...                          new right node
///                             child_gone:  it became empty
///                             right_gone:  its neighbour was joined to it
///
/// The node is changed in RAM and given to the store: in its pool frame, or,
/// where a path shares a page, in the page that the descent filled. In place,
/// the loop ends when a level has nothing to report. Copy-on-write, the loop
/// goes up to the root, whose page commits the change.
///
/// btree-2022, Fig. 1 and 2; mu-Tree, Algorithms 3 to 5 (mutree-2007).
#include "base/counter.h"
#include "base/inline.h"
#include "table/tree/tree.h"

#define HALF_NODE (esk_shape_tree.node_entries[1] / UINT32_C(2))

int esk_tree_work_open(struct esk_tree *tree, uint8_t level,
                       struct esk_tree_work *work,
                       struct esk_btree_node *node) {
    esk_address address = tree->path.address[level - 1];
    work->level = level;
    work->address = address;
    work->pinned = false;
    if (esk_tree_gathers(tree)) {
        work->page = tree->page;
        work->frame = tree->frame;
    } else if (address != ESK_ADDRESS_NONE) {
        return esk_tree_pin(tree, address, level, work, node);
    } else {
        ESK_TRY(esk_pool_take(&tree->pool, &work->page, &work->frame));
        work->pinned = true;
    }
    esk_btree_view(esk_tree_layout_given(tree), work->page, level,
                   tree->now.height, node);
    if (address == ESK_ADDRESS_NONE) {
        esk_store_u16(node->count, 0);
    }
    return ESK_OK;
}

void esk_tree_work_drop(struct esk_tree *tree, struct esk_tree_work *work) {
    if (work->pinned) {
        esk_tree_unpin(tree, work);
        if (work->address != ESK_ADDRESS_NONE &&
            !esk_tree_is_cached(work->address)) {
            esk_pool_forget(&tree->pool, work->address);
        }
    }
}

/// Moves the upper half of `left` to a new node and inserts `entry` in one of
/// the two. At the tree's right edge with `keeps`, the left node stays full and
/// the new node gets only `entry`: rising keys fill every node.
/// in_right out: `entry` is in the right node, at `index`.
static int node_divide(struct esk_tree *tree, bool keeps,
                       const struct esk_btree_node *left,
                       struct esk_tree_work *right_work,
                       struct esk_btree_node *right, const uint8_t *entry,
                       uint16_t *index, bool *in_right) {
    uint8_t level = right_work->level;
    uint16_t count = esk_btree_count(left);
    uint16_t half = (uint16_t)((count + 1u) / 2u);
    ESK_TRY(esk_pool_take(&tree->pool, &right_work->page, &right_work->frame));
    right_work->pinned = true;
    right_work->address = ESK_ADDRESS_NONE;
    esk_btree_view(esk_tree_layout_given(tree), right_work->page, level,
                   tree->now.height, right);
    *in_right = true;
    if (keeps) {
        esk_btree_split(left, count, right);
        *index = 0;
    } else if (*index < half) {
        esk_btree_split(left, (uint16_t)(half - 1u), right);
        *in_right = false;
    } else {
        esk_btree_split(left, half, right);
        *index = (uint16_t)(*index - half);
    }
    esk_btree_insert(*in_right ? right : left, *index, entry);
    esk_tree_key_copy(tree, tree->low, esk_btree_key(left, 0));
    return ESK_OK;
}

static void rows_add(struct esk_tree *tree, uint32_t rows) {
    if (tree->now.rows != UINT32_MAX) {
        tree->now.rows += rows;
    }
}

void esk_tree_rows_follow(struct esk_tree *tree, struct esk_tree_edit *edit,
                          const struct esk_btree_node *node, uint16_t index,
                          bool rightmost) {
    const struct esk_btree_layout *layout = esk_tree_layout(tree);
    while (edit->rows.done < edit->rows.count) {
        const uint8_t *row = edit->rows.next;
        const uint8_t *key = row + layout->key_offset;
        uint16_t count = esk_btree_count(node);
        bool found = false;
        if (esk_order_is_nan(layout->key_type, key) ||
            esk_btree_compare(layout, key, esk_btree_key(node, index)) <= 0 ||
            (!rightmost &&
             esk_btree_compare(layout, key,
                               esk_btree_key(node, (uint16_t)(count - 1u))) >
                 0)) {
            return;
        }
        index = esk_btree_search(layout, node, index, key, &found);
        if (found) {
            memcpy(esk_btree_entry(node, index), row, layout->row_bytes);
        } else if (count < node->capacity) {
            esk_btree_insert(node, index, row);
            rows_add(tree, 1);
        } else {
            return;
        }
        edit->rows.next += layout->row_bytes;
        edit->rows.done++;
    }
}

/// As esk_tree_rows.follow, if there are more rows.
static inline void rows_follow(struct esk_tree *tree,
                               struct esk_tree_edit *edit,
                               const struct esk_btree_node *node,
                               uint16_t index, bool rightmost) {
    if (edit->rows.follow != NULL) {
        edit->rows.follow(tree, edit, node, index, rightmost);
    }
}

/// Result of a level's change, beside the edit.
struct change {
    struct esk_tree_work right; ///< pinned: there is one
    bool split;
    bool left_changed;
};

/// Whether a tree of `height` has room for `count` more nodes.
static bool nodes_fit(const struct esk_tree *tree, uint8_t count,
                      uint8_t height) {
    if (esk_tree_overwrites(tree)) {
        return tree->spares->count >= count;
    }
    return tree->now.nodes + count <=
           esk_tree_store(tree)->nodes_max(tree, height);
}

/// Whether a tree may reach its greatest height. In place, all inner nodes but
/// those at the right edge are half full: with a shape, constants show that a
/// tree of five levels has more nodes than pages.
static inline bool height_binds(void) {
    return ESK_SHAPED_TREE(
        (esk_shape_config.store->flags & ESK_STORE_OVERWRITES) == 0 ||
            esk_shape_tree.height_max < 5 ||
            HALF_NODE * HALF_NODE * HALF_NODE <=
                ESK_SHAPE_BLOCKS * esk_shape_geometry.block_pages,
        true);
}

/// Whether the node of `level` can be split: with a new root if all nodes above
/// it are full, else without. Asked before the first split, because lower
/// levels are written before a higher one splits.
static int split_fits(struct esk_tree *tree, uint8_t level, bool *fits) {
    uint8_t height = tree->now.height;
    uint8_t count = (uint8_t)(height + 2u - level);
    *fits = height < esk_tree_layout(tree)->height_max &&
            nodes_fit(tree, count, (uint8_t)(height + 1u));
    bool is_each = !esk_tree_overwrites(tree); /* level's one counted */
    count = is_each ? 0 : count;
    while (!*fits && height_binds() && level < height) {
        struct esk_tree_work work;
        struct esk_btree_node node;
        level++;
        count = (uint8_t)(count + is_each);
        if (!nodes_fit(tree, count, height)) {
            break;
        }
        ESK_TRY(esk_tree_work_open(tree, level, &work, &node));
        *fits = esk_btree_count(&node) < node.capacity;
        esk_tree_unpin(tree, &work);
    }
    return ESK_OK;
}

/// Splits the full node, and puts `entry` at `index`.
static ESK_OUT_OF_LINE int entry_split(struct esk_tree *tree,
                                       struct esk_tree_edit *edit,
                                       struct change *change, uint16_t index,
                                       const uint8_t *entry) {
    uint8_t level = edit->spot.work.level;
    bool is_root = level == tree->now.height;
    bool in_right = false;
    struct esk_btree_node *left = &edit->spot.node;
    struct esk_btree_node right;
    uint16_t count = esk_btree_count(left);
    bool fits = false;
    ESK_TRY(split_fits(tree, level, &fits));
    if (!fits) {
        return ESK_FULL;
    }
    bool keeps = edit->spot.rightmost && index == count &&
                 !(is_root && esk_tree_shares(tree));
    change->left_changed =
        !keeps || (esk_tree_moves() && edit->outcome.child_moved);
    change->right.level = level;
    ESK_TRY(node_divide(tree, keeps, left, &change->right, &right, entry,
                        &index, &in_right));
    change->split = true;
    esk_count(&tree->splits);
    if (level == 1) {
        struct esk_btree_node *into = in_right ? &right : left;
        into->capacity =
            esk_btree_capacity(esk_tree_layout(tree), 1, ESK_TREE_HEIGHT_MAX);
        rows_follow(tree, edit, into, index, edit->spot.rightmost && in_right);
    }
    esk_tree_key_copy(tree, tree->pending, esk_btree_key(&right, 0));
    return ESK_OK;
}

/// Puts `entry` at `index` of the node, splitting it when it is full.
static int entry_put(struct esk_tree *tree, struct esk_tree_edit *edit,
                     struct change *change, uint16_t index,
                     const uint8_t *entry) {
    const struct esk_btree_node *node = &edit->spot.node;
    if (esk_btree_count(node) >= node->capacity) {
        return entry_split(tree, edit, change, index, entry);
    }
    esk_btree_insert(node, index, entry);
    if (edit->spot.work.level == 1) {
        rows_follow(tree, edit, node, index, edit->spot.rightmost);
    }
    return ESK_OK;
}

/// Changes the leaf, where the change begins.
static int leaf_change(struct esk_tree *tree, struct esk_tree_edit *edit,
                       struct change *change) {
    const struct esk_btree_node *node = &edit->spot.node;
    uint16_t index = tree->path.index[0];
    if (edit->leaf == ESK_TREE_LEAF_DELETE) {
        edit->remove(node, index);
        rows_add(tree, UINT32_MAX);
        return ESK_OK;
    }
    const uint8_t *row = edit->rows.next;
    edit->rows.next += esk_tree_layout(tree)->row_bytes;
    edit->rows.done++;
    if (!edit->spot.found) {
        rows_add(tree, 1);
        return entry_put(tree, edit, change, index, row);
    }
    memcpy(esk_btree_entry(node, index), row, esk_tree_layout(tree)->row_bytes);
    rows_follow(tree, edit, node, index, edit->spot.rightmost);
    return ESK_OK;
}

/// Changes an inner node as the level below reported.
static int inner_change(struct esk_tree *tree, struct esk_tree_edit *edit,
                        struct change *change) {
    const struct esk_btree_node *node = &edit->spot.node;
    uint16_t index = tree->path.index[edit->spot.work.level - 1];
    if (index >= esk_btree_count(node)) {
        /* Corrupt free list: it handed out a page that is already part of this
           path. */
        return ESK_E_CORRUPT;
    }
    if (esk_tree_drops() && edit->outcome.child_gone) {
        esk_btree_remove(node, index);
        return ESK_OK;
    }
    if (esk_tree_moves() && edit->outcome.child_moved) {
        esk_store_u32(esk_btree_child(node, index), edit->outcome.child);
    }
    if (esk_tree_joins() && edit->outcome.right_gone) {
        esk_btree_remove(node, (uint16_t)(index + 1u));
        return ESK_OK;
    }
    if (edit->outcome.has_right) {
        if (index == 0) {
            /* Key 0 stays below key 1 when smaller keys split child 0. */
            esk_tree_key_copy(tree, esk_btree_key(node, 0), tree->low);
        }
        return entry_put(tree, edit, change, (uint16_t)(index + 1u),
                         tree->pending);
    }
    return ESK_OK;
}

/// Counts a new node.
static void node_add(struct esk_tree *tree) {
    tree->now.nodes += esk_tree_overwrites(tree) ? 0 : 1;
}

/// Makes a root above the two halves of the old root.
static int root_grow(struct esk_tree *tree, struct esk_tree_edit *edit) {
    struct esk_tree_work work;
    struct esk_btree_node node;
    uint8_t level = (uint8_t)(tree->now.height + 1u);
    tree->now.height = level;
    node_add(tree);
    tree->path.address[level - 1] = ESK_ADDRESS_NONE;
    ESK_TRY(esk_tree_work_open(tree, level, &work, &node));
    uint8_t *entry = node.entries;
    esk_tree_key_copy(tree, entry, tree->low);
    esk_store_u32(esk_btree_child(&node, 0), edit->outcome.child);
    memcpy(entry + node.bytes, tree->pending, node.bytes);
    esk_store_u16(node.count, 2);
    ESK_ASSERT(esk_tree_pins_only(tree, &work, NULL));
    int status =
        esk_tree_store(tree)->place(tree, &work, true, &edit->outcome.child);
    if (status != ESK_OK) {
        esk_tree_work_drop(tree, &work);
    }
    return status;
}

/// Gives the node or nodes of a level to the store.
static int level_place(struct esk_tree *tree, struct esk_tree_edit *edit,
                       struct change *change) {
    struct esk_tree_work *left = &edit->spot.work;
    esk_address was = left->address;
    esk_address right = 0;
    if (change->split) {
        ESK_ASSERT(esk_tree_pins_only(tree, left, &change->right));
        ESK_TRY(esk_tree_store(tree)->split(tree, left, &change->right,
                                            change->left_changed,
                                            &edit->outcome.child, &right));
        node_add(tree);
        esk_store_u32(tree->pending + esk_tree_layout(tree)->key_bytes, right);
    } else {
        bool root = left->level == tree->now.height;
        ESK_ASSERT(esk_tree_pins_only(tree, left, NULL));
        ESK_TRY(esk_tree_store(tree)->place(tree, left, root,
                                            &edit->outcome.child));
    }
    edit->outcome.child_moved = esk_tree_moves() && edit->outcome.child != was;
    edit->outcome.has_right = change->split;
    return ESK_OK;
}

/// Changes one level. again: the level above has to change, too.
static int level_change(struct esk_tree *tree, struct esk_tree_edit *edit,
                        uint8_t level, bool *again) {
    struct esk_tree_work *work = &edit->spot.work;
    struct esk_btree_node *node = &edit->spot.node;
    struct change change;
    bool at_leaf = level == 1;
    change.right.pinned = false;
    change.split = false;
    change.left_changed = true;
    if (!work->pinned) {
        ESK_TRY(esk_tree_work_open(tree, level, work, node));
    }
    int status = esk_tree_work_own(tree, work, node);
    if (status != ESK_OK) {
        esk_tree_unpin(tree, work);
        return status;
    }
    if (!at_leaf) {
        status = inner_change(tree, edit, &change);
    } else if (edit->leaf != ESK_TREE_LEAF_KEEP) {
        status = leaf_change(tree, edit, &change);
    }
    bool shrinks = edit->outcome.child_gone || edit->outcome.right_gone ||
                   (at_leaf && edit->leaf == ESK_TREE_LEAF_DELETE);
    if (esk_tree_drops()) {
        edit->outcome.child_gone = false;
        edit->outcome.right_gone = false;
    }
    bool is_root = level == tree->now.height;
    if (status == ESK_OK && shrinks && esk_tree_merge(tree) != NULL) {
        status = esk_tree_merge(tree)->join(tree, work, node, &edit->outcome);
    }
    if (status == ESK_OK && !change.split &&
        esk_tree_store(tree)->shrink != NULL) {
        ESK_ASSERT(esk_tree_pins_only(tree, work, NULL));
        status = esk_tree_store(tree)->shrink(tree, work, node, &edit->outcome);
        if (esk_tree_drops() && edit->outcome.child_gone) {
            *again = true;
            return ESK_OK;
        }
    }
    if (status == ESK_OK) {
        status = level_place(tree, edit, &change);
    }
    if (status != ESK_OK) {
        esk_tree_work_drop(tree, work);
        esk_tree_work_drop(tree, &change.right);
        return status;
    }
    if (is_root) {
        *again = false;
        return edit->outcome.has_right ? root_grow(tree, edit) : ESK_OK;
    }
    *again = edit->outcome.has_right ||
             (esk_tree_moves() && edit->outcome.child_moved) ||
             (esk_tree_joins() && edit->outcome.right_gone);
    return ESK_OK;
}

ESK_OUT_OF_LINE_WHERE_FAST int esk_tree_change(struct esk_tree *tree,
                                               struct esk_tree_edit *edit) {
    bool again = true;
    if (tree->now.root == ESK_ADDRESS_NONE) {
        if (!esk_tree_overwrites(tree) && !nodes_fit(tree, 1, 1)) {
            return ESK_FULL; /* it could not be changed */
        }
        node_add(tree);
    }
    tree->page_low = edit->level;
    for (uint8_t level = edit->level; again; level++) {
        ESK_TRY(level_change(tree, edit, level, &again));
    }
    return esk_tree_merge(tree) != NULL && esk_tree_merge(tree)->end != NULL
               ? esk_tree_merge(tree)->end(tree)
               : ESK_OK;
}

int esk_tree_change_begin(struct esk_tree *tree, bool again) {
    if (esk_tree_is_read_only(tree)) {
        return ESK_E_READ_ONLY;
    }
    ESK_ASSERT(esk_tree_pins_only(tree, NULL, NULL));
    if (!again) {
        uint8_t pages = esk_tree_change_pages(tree);
        ESK_TRY(esk_tree_store(tree)->begin(tree, pages));
    }
    ESK_ASSERT(esk_tree_pins_only(tree, NULL, NULL));
    return esk_tree_take(tree);
}

/// Drops the nodes that the change along tree->path replaced.
static void path_forget(struct esk_tree *tree, uint8_t height) {
    for (uint8_t level = 1; level <= height && esk_tree_is_lru_n(tree);
         level++) {
        esk_address address = tree->path.address[level - 1];
        if (address != tree->now.root && !esk_tree_is_cached(address)) {
            esk_pool_forget_slot(&tree->pool, address, (uint8_t)(level - 1u));
        }
    }
}

ESK_OUT_OF_LINE_WHERE_FAST void
esk_tree_change_end(struct esk_tree *tree, int status,
                    const struct esk_tree_state *before) {
    uint8_t height = before->height;
    ESK_ASSERT(esk_tree_pins_only(tree, NULL, NULL));
    if (esk_tree_cached(tree) != NULL) {
        esk_tree_write_cache(tree)->end(tree, status != ESK_OK);
    }
    if (status != ESK_OK) {
        tree->now = *before;
    }
    if (status == ESK_OK) {
        tree->changes++;
    } else if (status < 0 && esk_tree_overwrites(tree)) {
        /* Part of it may be on the medium: no path is valid any more. */
        tree->changes++;
        tree->broken = true;
        tree->now.rows = UINT32_MAX;
    }
    if (esk_tree_gathers(tree)) {
        esk_pool_give(&tree->pool, tree->frame);
        tree->page = NULL;
    }
    ESK_ASSERT(esk_tree_pins_only(tree, NULL, NULL));
    if (height != tree->now.height) {
        esk_tree_height_changed(tree);
    } else if (status == ESK_OK) {
        path_forget(tree, height);
    }
}
