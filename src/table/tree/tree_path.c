// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Paths: from the root down, and from leaf to leaf.
///
/// There is one descent, and in a fast build a second one for keys that are
/// words. A descent pins the root's frame until its end, so that with
/// two frames the root is still in RAM when the next descent begins. (A reader
/// may have one frame only.) No loop runs longer than the tree is high: levels
/// only fall, whatever the bytes on flash are.
#include "base/inline.h"
#include "table/tree/tree.h"

/// Pins the page of the node of `level` at `address`.
static inline int page_pin(struct esk_tree *tree, esk_address address,
                           uint8_t level, struct esk_tree_work *work) {
    uint8_t class_ = esk_tree_is_lru_n(tree) ? (uint8_t)(level - 1u) : 0;
    if (address == ESK_ADDRESS_NONE) {
        return ESK_E_CORRUPT; /* the tag of an empty frame */
    }
    struct esk_tree_load load = {tree, level};
    work->address = address;
    work->level = level;
    ESK_TRY(esk_pool_pin(&tree->pool, address, class_,
                         esk_tree_store(tree)->load, &load, &work->page,
                         &work->frame));
    work->pinned = true;
    return ESK_OK;
}

/// The same for the root, in whatever frame.
static ESK_OUT_OF_LINE_WHERE_FAST int root_search(struct esk_tree *tree,
                                                  esk_address address,
                                                  struct esk_tree_work *work) {
    ESK_TRY(page_pin(tree, address, tree->now.height, work));
    tree->root_frame = work->frame;
    return ESK_OK;
}

/// The same: mostly it is in the same frame as last time.
static inline int root_pin(struct esk_tree *tree, esk_address address,
                           struct esk_tree_work *work) {
    uint8_t frame = tree->root_frame;
    if (ESK_SHAPED_TREE(ESK_SMALL, false) || esk_tree_is_lru_n(tree) ||
        !esk_pool_pin_frame(&tree->pool, frame, address, &work->page)) {
        return root_search(tree, address, work);
    }
    work->frame = frame;
    work->address = address;
    work->level = tree->now.height;
    work->pinned = true;
    return ESK_OK;
}

/// Views the node in the pinned page; unpins the page if it has no such node.
static inline int node_view(struct esk_tree *tree, struct esk_tree_work *work,
                            struct esk_btree_node *node) {
    esk_btree_view_often(esk_tree_layout_given(tree), work->page, work->level,
                         tree->now.height, node);
    uint16_t count = esk_btree_count(node);
    if (count > node->capacity || (count == 0 && work->level > 1)) {
        esk_tree_unpin(tree, work);
        return ESK_E_CORRUPT;
    }
    return ESK_OK;
}

ESK_OUT_OF_LINE int esk_tree_pin(struct esk_tree *tree, esk_address address,
                                 uint8_t level, struct esk_tree_work *work,
                                 struct esk_btree_node *node) {
    ESK_TRY(page_pin(tree, address, level, work));
    return node_view(tree, work, node);
}

void esk_tree_unpin(struct esk_tree *tree, struct esk_tree_work *work) {
    if (work->pinned) {
        esk_pool_unpin(&tree->pool, work->frame);
        work->pinned = false;
    }
}

esk_address esk_tree_child(const struct esk_tree *tree,
                           const struct esk_btree_node *node, uint16_t index,
                           esk_address address) {
    esk_address child = esk_address_load(esk_btree_child(node, index));
    return child == ESK_BTREE_SELF && esk_tree_shares(tree) ? address : child;
}

/// The entry of `node` where the path continues, or ends.
static uint16_t entry_choose(const struct esk_tree *tree,
                             const struct esk_btree_node *node, uint8_t level,
                             const uint8_t *key, enum esk_tree_side side,
                             bool *found) {
    uint16_t count = esk_btree_count(node);
    *found = false;
    if (key == NULL) {
        uint16_t last = level > 1 ? (uint16_t)(count - 1u) : count;
        return side == ESK_TREE_FIRST ? 0 : last;
    }
    return level > 1 ? esk_btree_descend(esk_tree_layout_given(tree), node, key)
                     : esk_btree_search(esk_tree_layout_given(tree), node, 0,
                                        key, found);
}

/// Continues down from `address` at `level`; ends as esk_tree_find.
static ESK_OUT_OF_LINE_WHERE_FAST int
path_extend(struct esk_tree *tree, struct esk_tree_path *path,
            const uint8_t *key, enum esk_tree_side side, esk_address address,
            uint8_t level, uint8_t bottom, struct esk_tree_spot *spot) {
    struct esk_btree_node *node = &spot->node;
    bool gathers = esk_tree_gathers(tree);
    bool from_root = level == tree->now.height;
    bool holds = from_root && level > bottom && !gathers &&
                 esk_pool_frames(&tree->pool) > 1;
    spot->rightmost = true;
    spot->work.pinned = false;
    int status = from_root ? root_pin(tree, address, &spot->work)
                           : page_pin(tree, address, level, &spot->work);
    for (;;) {
        path->address[level - 1] = address;
        if (status == ESK_OK) {
            status = node_view(tree, &spot->work, node);
        }
        if (status != ESK_OK) {
            path->lost = level;
            break;
        }
        uint16_t index =
            entry_choose(tree, node, level, key, side, &spot->found);
        path->index[level - 1] = index;
        if (gathers) {
            esk_tree_store(tree)->gather(tree, node, level, address);
        }
        if (level > 1) {
            if (spot->rightmost) {
                spot->rightmost = index + 1u == esk_btree_count(node);
            }
            address = esk_tree_child(tree, node, index, address);
        }
        if (level == bottom) {
            break;
        }
        spot->work.pinned = false;
        if (level < tree->now.height || !holds) {
            esk_pool_unpin(&tree->pool, spot->work.frame);
        }
        level--;
        status = page_pin(tree, address, level, &spot->work);
    }
    spot->child = address;
    if (holds && level < tree->now.height) {
        esk_pool_unpin(&tree->pool, tree->root_frame);
    }
    if (gathers) {
        esk_tree_unpin(tree, &spot->work);
    }
    return status;
}

/// Whether word_find makes the path for `key`. In a build for size there is
/// one descent.
static inline bool is_word_find(const struct esk_tree *tree, const uint8_t *key,
                                uint8_t bottom) {
    const struct esk_btree_layout *layout = esk_tree_layout(tree);
    return !ESK_SMALL && key != NULL && bottom == 1 && !layout->shares &&
           !layout->counts_inside && esk_order_is_word(layout->key_type);
}

/// esk_tree_find to a leaf, for keys of four bytes in pages of one node: where
/// an inner node's entries are, and how wide, is known without a view of it.
static int word_find(struct esk_tree *tree, struct esk_tree_path *path,
                     const uint8_t *key, struct esk_tree_spot *spot) {
    const struct esk_btree_layout *layout = esk_tree_layout(tree);
    struct esk_tree_load load = {tree, tree->now.height};
    struct esk_tree_work *work = &spot->work;
    esk_address address = tree->now.root;
    uint32_t after = esk_btree_word(layout->key_type, key) + 1u;
    bool rightmost = true;
    int status = root_pin(tree, address, work);
    bool holds =
        status == ESK_OK && load.level > 1 && esk_pool_frames(&tree->pool) > 1;
    bool held = holds; /* the node's frame is the root's */
    while (status == ESK_OK && load.level > 1) {
        const uint8_t *entries = work->page + layout->offset[0];
        uint16_t count = esk_page_count(work->page);
        path->address[load.level - 1] = address;
        /* A node's bytes stay until the next call of the pool. */
        if (!held) {
            esk_pool_unpin(&tree->pool, work->frame);
        }
        held = false;
        if ((uint16_t)(count - 1u) >= layout->node_entries[1]) {
            status = ESK_E_CORRUPT;
            break;
        }
        uint16_t index =
            esk_btree_descend_word(layout->key_type, entries, count, after);
        path->index[load.level - 1] = index;
        rightmost = rightmost && index + 1u == count;
        address = esk_address_load(entries + index * ESK_BTREE_WORD_ENTRY +
                                   ESK_BTREE_WORD);
        load.level--;
        status = address == ESK_ADDRESS_NONE /* the tag of an empty frame */
                     ? ESK_E_CORRUPT
                     : esk_pool_pin(&tree->pool, address, 0,
                                    esk_tree_store(tree)->load, &load,
                                    &work->page, &work->frame);
    }
    if (holds) {
        esk_pool_unpin(&tree->pool, tree->root_frame);
    }
    path->address[load.level - 1] = address;
    work->address = address;
    work->level = load.level;
    work->pinned = status == ESK_OK;
    spot->child = address;
    spot->rightmost = rightmost;
    spot->found = false;
    if (status == ESK_OK) {
        struct esk_btree_node node; /* in registers */
        esk_btree_view_inline(esk_tree_layout_given(tree), work->page, 1,
                              ESK_TREE_HEIGHT_MAX, &node);
        spot->node = node;
        if (esk_btree_count(&node) <= node.capacity) {
            path->index[0] = esk_btree_search_word(layout->key_type, &node, key,
                                                   after - 1u, &spot->found);
            return ESK_OK;
        }
        esk_tree_unpin(tree, work);
        status = ESK_E_CORRUPT;
    }
    path->lost = load.level;
    return status;
}

ESK_FAST_FLAT int esk_tree_find(struct esk_tree *tree,
                                struct esk_tree_path *path, const uint8_t *key,
                                enum esk_tree_side side, uint8_t bottom,
                                struct esk_tree_spot *spot) {
    path->turns = 0;
    if (tree->now.root == ESK_ADDRESS_NONE) {
        path->address[0] = ESK_ADDRESS_NONE;
        path->index[0] = 0;
        spot->rightmost = true;
        spot->found = false;
        spot->work.pinned = false;
        return ESK_NOT_FOUND;
    }
    return is_word_find(tree, key, bottom)
               ? word_find(tree, path, key, spot)
               : path_extend(tree, path, key, side, tree->now.root,
                             tree->now.height, bottom, spot);
}

int esk_tree_descend(struct esk_tree *tree, struct esk_tree_path *path,
                     const uint8_t *key, enum esk_tree_side side,
                     uint8_t bottom) {
    struct esk_tree_spot spot;
    int status = esk_tree_find(tree, path, key, side, bottom, &spot);
    esk_tree_unpin(tree, &spot.work);
    return status;
}

int esk_tree_extend(struct esk_tree *tree, struct esk_tree_path *path,
                    enum esk_tree_side side, uint8_t level, uint8_t bottom) {
    struct esk_tree_spot spot;
    int status = path_extend(tree, path, NULL, side, path->address[level - 1],
                             level, bottom, &spot);
    esk_tree_unpin(tree, &spot.work);
    return status;
}

/// Turns at the path's node at `at`, if it has another child in this direction.
/// border   out: the key between that child and the one before it.
static int node_turn(struct esk_tree *tree, struct esk_tree_path *path,
                     uint8_t at, bool forward, const uint8_t *bound,
                     uint8_t *border, bool *turned) {
    struct esk_tree_work work;
    struct esk_btree_node node;
    esk_address address = path->address[at - 1];
    path->lost = at;
    ESK_TRY(esk_tree_pin(tree, address, at, &work, &node));
    /* One before child 0 is no child: an index above all others. */
    uint16_t step = forward ? 1 : UINT16_MAX;
    uint16_t index = (uint16_t)(path->index[at - 1] + step);
    *turned = index < esk_btree_count(&node);
    int status = ESK_OK;
    if (*turned) {
        uint16_t next = forward ? index : (uint16_t)(index + 1u);
        const uint8_t *key = esk_btree_key(&node, next);
        path->index[at - 1] = index;
        path->address[at - 2] = esk_tree_child(tree, &node, index, address);
        if (border != NULL) {
            esk_tree_key_copy(tree, border, key);
        }
        if (bound != NULL) {
            int8_t order =
                esk_btree_compare(esk_tree_layout_given(tree), key, bound);
            bool beyond = forward ? order > 0 : order <= 0;
            status = beyond ? ESK_END : ESK_OK;
        }
    }
    esk_tree_unpin(tree, &work);
    return status;
}

int esk_tree_turn(struct esk_tree *tree, struct esk_tree_path *path,
                  uint8_t *level, bool forward, const uint8_t *bound,
                  uint8_t *border) {
    /* Hostile nodes may name one child many times. */
    path->turns++;
    if (path->turns / ESK_TREE_HEIGHT_MAX > esk_ring_pages(&tree->ring)) {
        path->lost = tree->now.height;
        return ESK_E_CORRUPT;
    }
    bool turned = false;
    uint8_t at = *level;
    while (at < tree->now.height && !turned) {
        at++;
        ESK_TRY(node_turn(tree, path, at, forward, bound, border, &turned));
    }
    *level = (uint8_t)(at - 1u);
    return turned ? ESK_OK : ESK_END;
}
