// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Search, insertion and deletion in a TNC (tnc-ubifs-2010, section 6.2).
///
/// A change first brings its path into RAM and makes the slots free that its
/// splits need. All that can fail is before the first byte that changes.
#include "table/tree/tnc/tnc.h"

#include "base/order.h"
#include "esker/assert.h"

/// Brings the path to the leaf of `key` into RAM; NULL: to the first leaf. From
/// `level` down, whose node and those above are in the path; the root's: from
/// the start.
static int path_extend(struct esk_tnc *tnc, const uint8_t *key, uint8_t level) {
    struct esk_tnc_path *path = &tnc->path;
    struct esk_btree_node node;
    while (level > 1) {
        uint32_t slot = path->slot[level - 1];
        esk_tnc_view(tnc, slot, &node);
        uint16_t index = path->index[level - 1];
        if (path->edge == level && index + 1u == esk_btree_count(&node)) {
            path->edge--;
        }
        level--;
        ESK_TRY(esk_tnc_child(tnc, slot, index, &path->slot[level - 1]));
        esk_tnc_view(tnc, path->slot[level - 1], &node);
        path->index[level - 1] =
            level == 1 || key == NULL
                ? 0
                : esk_btree_descend(&tnc->layout, &node, key);
    }
    return ESK_OK;
}

/// Brings the path to the leaf of `key` into RAM; NULL: to the first leaf.
/// Returns ESK_NOT_FOUND when the tree is empty.
static int path_find(struct esk_tnc *tnc, const uint8_t *key) {
    struct esk_tnc_path *path = &tnc->path;
    struct esk_btree_node node;
    uint8_t height = tnc->root.height;
    if (tnc->root.address == ESK_PAGE_NONE) {
        return ESK_NOT_FOUND;
    }
    if (height == 0) {
        return ESK_E_CORRUPT;
    }
    path->edge = height;
    ESK_TRY(esk_tnc_child(tnc, ESK_PAGE_NONE, 0, &path->slot[height - 1]));
    esk_tnc_view(tnc, path->slot[height - 1], &node);
    path->index[height - 1] = height == 1 || key == NULL
                                  ? 0
                                  : esk_btree_descend(&tnc->layout, &node, key);
    return path_extend(tnc, key, height);
}

/// Finds `key` in the path's leaf; index[0]: of the first key not below it.
static bool leaf_search(struct esk_tnc *tnc, const uint8_t *key,
                        struct esk_btree_node *leaf) {
    bool found = false;
    esk_tnc_view(tnc, tnc->path.slot[0], leaf);
    tnc->path.index[0] = esk_btree_search(&tnc->layout, leaf, 0, key, &found);
    return found;
}

int esk_tnc_get(struct esk_tnc *tnc, const void *key, void *row) {
    struct esk_btree_node leaf;
    ESK_TRY(path_find(tnc, key));
    if (!leaf_search(tnc, key, &leaf)) {
        return ESK_NOT_FOUND;
    }
    memcpy(row, esk_btree_entry(&leaf, tnc->path.index[0]),
           tnc->config.row_bytes);
    return ESK_OK;
}

/// Goes on to the first row of the next leaf.
static int path_turn(struct esk_tnc *tnc) {
    struct esk_tnc_path *path = &tnc->path;
    for (uint8_t level = 2; level <= tnc->root.height; level++) {
        struct esk_btree_node node;
        esk_tnc_view(tnc, path->slot[level - 1], &node);
        if (path->index[level - 1] + 1u < esk_btree_count(&node)) {
            path->index[level - 1]++;
            return path_extend(tnc, NULL, level);
        }
    }
    return ESK_NOT_FOUND;
}

int esk_tnc_above(struct esk_tnc *tnc, const void *key, void *row) {
    struct esk_btree_node leaf;
    uint16_t *index = &tnc->path.index[0];
    ESK_TRY(path_find(tnc, key));
    if (key != NULL && leaf_search(tnc, key, &leaf)) {
        ++*index;
    }
    esk_tnc_view(tnc, tnc->path.slot[0], &leaf);
    if (*index == esk_btree_count(&leaf)) {
        ESK_TRY(path_turn(tnc));
        esk_tnc_view(tnc, tnc->path.slot[0], &leaf);
    }
    memcpy(row, esk_btree_entry(&leaf, *index), tnc->config.row_bytes);
    return ESK_OK;
}

/* --------------------------------------------------------------- insertion */

uint16_t esk_tnc_split_half(const struct esk_tnc_full *full) {
    return (uint16_t)((esk_btree_count(full->node) + 1u) / 2u);
}

uint16_t esk_tnc_split_edge(const struct esk_tnc_full *full) {
    uint16_t count = esk_btree_count(full->node);
    return full->rightmost && full->index == count ? count
                                                   : esk_tnc_split_half(full);
}

/// Makes the first node of the tree, an empty leaf.
static int tree_begin(struct esk_tnc *tnc) {
    ESK_TRY(esk_tnc_room(tnc, 1));
    uint32_t slot = esk_tnc_take(tnc, 1);
    tnc->root.address = ESK_TNC_IN_RAM | slot;
    tnc->root.height = 1;
    tnc->path.slot[0] = slot;
    tnc->path.edge = 1;
    return ESK_OK;
}

/// Makes slots free for the nodes that an insertion at the end of the path
/// splits off, and a root above them.
static int splits_prepare(struct esk_tnc *tnc) {
    uint8_t height = tnc->root.height;
    uint8_t level = 1;
    struct esk_btree_node node;
    for (; level <= height; level++) {
        esk_tnc_view(tnc, tnc->path.slot[level - 1], &node);
        if (esk_btree_count(&node) < node.capacity) {
            break;
        }
    }
    if (level > height && height == ESK_TNC_HEIGHT_MAX) {
        return ESK_FULL;
    }
    tnc->held = tnc->path.slot[0];
    /* Nodes split off: level - 1; if the root is one of them, a root. */
    return esk_tnc_room(tnc, level > height ? level : level - 1u);
}

/// Gives the nodes in RAM below the node in `slot` their parent.
static void children_adopt(struct esk_tnc *tnc, uint32_t slot,
                           const struct esk_btree_node *node) {
    uint16_t count = tnc->slot[slot].level > 1 ? esk_btree_count(node) : 0;
    for (uint16_t i = 0; i < count; i++) {
        uint32_t child = esk_load_u32(esk_btree_child(node, i));
        if (esk_tnc_is_slot(child)) {
            struct esk_tnc_slot *below = &tnc->slot[child & ~ESK_TNC_IN_RAM];
            if (below->parent != ESK_PAGE_NONE) {
                tnc->slot[below->parent].children--;
            }
            below->parent = slot;
            tnc->slot[slot].children++;
        }
    }
}

/// Splits the full node of `level` and inserts `entry` in one of the two.
/// Returns the slot of the right one.
static uint32_t node_split(struct esk_tnc *tnc, uint8_t level,
                           struct esk_btree_node *left, const uint8_t *entry,
                           bool *appended) {
    struct esk_btree_node right;
    uint16_t index = tnc->path.index[level - 1];
    uint16_t count = esk_btree_count(left);
    const struct esk_tnc_full full = {
        left,  entry + left->key,       index,
        level, level >= tnc->path.edge, *appended};
    uint16_t stay = tnc->config.split(&full);
    ESK_ASSERT(stay > 0 && stay <= count);
    uint32_t slot = esk_tnc_take(tnc, level);
    esk_tnc_view(tnc, slot, &right);
    *appended = stay == count && index == count;
    if (index < stay) {
        esk_btree_split(left, (uint16_t)(stay - 1u), &right);
        esk_btree_insert(left, index, entry);
    } else {
        esk_btree_split(left, stay, &right);
        esk_btree_insert(&right, (uint16_t)(index - stay), entry);
    }
    return slot;
}

/// Puts a new root above the root and the node in `right`.
static void root_grow(struct esk_tnc *tnc, uint32_t right) {
    struct esk_btree_node node;
    struct esk_btree_node root;
    uint8_t *entry = tnc->entry;
    uint32_t left = tnc->root.address & ~ESK_TNC_IN_RAM;
    uint16_t key_bytes = tnc->config.key_bytes;
    uint32_t children[2] = {left, right};
    tnc->root.height++;
    uint32_t slot = esk_tnc_take(tnc, tnc->root.height);
    esk_tnc_view(tnc, slot, &root);
    for (uint16_t i = 0; i < 2; i++) {
        esk_tnc_view(tnc, children[i], &node);
        memcpy(entry, esk_btree_key(&node, 0), key_bytes);
        esk_store_u32(entry + key_bytes, ESK_TNC_IN_RAM | children[i]);
        esk_btree_insert(&root, i, entry);
    }
    tnc->root.address = ESK_TNC_IN_RAM | slot;
    children_adopt(tnc, slot, &root);
}

/// Inserts `row` at the end of the path, and what it splits off above.
static void row_insert(struct esk_tnc *tnc, const uint8_t *row) {
    struct esk_btree_node node;
    struct esk_btree_node right_node;
    const uint8_t *entry = row;
    uint32_t right = ESK_PAGE_NONE;
    uint8_t level = 1;
    bool appended = false;
    bool split = true;
    while (split && level <= tnc->root.height) {
        uint32_t slot = tnc->path.slot[level - 1];
        uint32_t below = right;
        esk_tnc_view(tnc, slot, &node);
        split = esk_btree_count(&node) == node.capacity;
        if (split) {
            right = node_split(tnc, level, &node, entry, &appended);
            esk_tnc_view(tnc, right, &right_node);
            children_adopt(tnc, right, &right_node);
            memcpy(tnc->entry, esk_btree_key(&right_node, 0),
                   tnc->config.key_bytes);
            esk_store_u32(tnc->entry + tnc->config.key_bytes,
                          ESK_TNC_IN_RAM | right);
            entry = tnc->entry;
        } else {
            esk_btree_insert(&node, tnc->path.index[level - 1], entry);
        }
        /* The node split off below is a child of one of the two now. */
        if (below != ESK_PAGE_NONE &&
            tnc->slot[below].parent == ESK_PAGE_NONE) {
            tnc->slot[below].parent = slot;
            tnc->slot[slot].children++;
        }
        level++;
        if (level <= tnc->root.height) {
            tnc->path.index[level - 1]++; /* the right node comes after */
        }
    }
    if (split) {
        root_grow(tnc, right);
    }
}

int esk_tnc_put(struct esk_tnc *tnc, const void *row) {
    const uint8_t *key = (const uint8_t *)row + tnc->config.key_offset;
    struct esk_btree_node leaf;
    if (esk_order_is_nan(tnc->config.key_type, key)) {
        return ESK_E_INVALID;
    }
    ESK_TRY(tnc->root.address == ESK_PAGE_NONE ? tree_begin(tnc)
                                               : path_find(tnc, key));
    if (leaf_search(tnc, key, &leaf)) {
        memcpy(esk_btree_entry(&leaf, tnc->path.index[0]), row,
               tnc->config.row_bytes);
        esk_tnc_mark(tnc, tnc->path.slot[0]);
        return ESK_OK;
    }
    ESK_TRY(splits_prepare(tnc));
    esk_tnc_mark(tnc, tnc->path.slot[0]);
    row_insert(tnc, row);
    tnc->root.rows++;
    return ESK_OK;
}

/* ---------------------------------------------------------------- deletion */

/// Takes levels off while the root has one child, which becomes the root.
static void root_shrink(struct esk_tnc *tnc) {
    struct esk_btree_node node;
    uint32_t slot = tnc->root.address & ~ESK_TNC_IN_RAM;
    esk_tnc_view(tnc, slot, &node);
    while (tnc->root.height > 1 && esk_btree_count(&node) == 1) {
        uint32_t child = esk_load_u32(esk_btree_child(&node, 0));
        tnc->root.address = child;
        tnc->root.height--;
        if (esk_tnc_is_slot(child)) {
            tnc->slot[child & ~ESK_TNC_IN_RAM].parent = ESK_PAGE_NONE;
        }
        esk_tnc_drop(tnc, slot);
        if (!esk_tnc_is_slot(child)) {
            return;
        }
        slot = child & ~ESK_TNC_IN_RAM;
        esk_tnc_view(tnc, slot, &node);
    }
}

int esk_tnc_delete(struct esk_tnc *tnc, const void *key) {
    struct esk_btree_node node;
    ESK_TRY(path_find(tnc, key));
    if (!leaf_search(tnc, key, &node)) {
        return ESK_NOT_FOUND;
    }
    esk_tnc_mark(tnc, tnc->path.slot[0]);
    tnc->root.rows--;
    for (uint8_t level = 1; level <= tnc->root.height; level++) {
        uint32_t slot = tnc->path.slot[level - 1];
        esk_tnc_view(tnc, slot, &node);
        esk_btree_remove(&node, tnc->path.index[level - 1]);
        if (esk_btree_count(&node) > 0) {
            root_shrink(tnc);
            return ESK_OK;
        }
        esk_tnc_drop(tnc, slot);
    }
    tnc->root = (struct esk_tnc_root){ESK_PAGE_NONE, 0, tnc->root.nodes, 0};
    return ESK_OK;
}
