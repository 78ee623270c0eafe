// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A sweep: what is live in the window is written at the head, in key order.
///
///     level 3                 | P  ...                  |
///     level 2      | N1     |    | N2     |    | N3     |      probe: N3
///     leaves     in   out  out      out       in  in  out
///
///     1. leaf of N1, 2. N1', 3. leaves of N3, 4. N3', 5. P', ... root'
///
/// The lowest inner nodes name their children's places, so what is live in
/// the window is known without reading it, and what is dead is never read. A
/// step looks at some of these nodes, writes their children that are in the
/// window, the nodes, and once for all what is above them: that takes effect
/// with the root, as every change does. Behind the key in `probe` nothing is
/// in the window: changes between the steps write at the head, too. When the
/// keys end the window is given back.
///
/// A node that cannot be read is passed over with all that is below it.
#include "base/inline.h"
#include "table/tree/moving/cow.h"
#include "table/tree/plan/collector.h"

enum {
    MOVES_MAX = 32,   ///< leaves that one step moves
    MOVES_LEAST = 16, ///< after a cut, before it ends with a block
};

static ESK_OUT_OF_LINE bool in_window(const struct esk_tree *tree,
                                      uint32_t address) {
    return address >= tree->ring.tail && address < tree->sweep_end;
}

/// Makes the path to where the sweep goes on: down to level *bottom, or to
/// the node above one that is lost.
static int path_make(struct esk_tree *tree, struct esk_tree_edit *edit,
                     const uint8_t *key, uint8_t *bottom) {
    struct esk_tree_path *path = &tree->path;
    memset(path->address, 0xFF, sizeof path->address);
    int status =
        esk_tree_descend(tree, path, key, ESK_TREE_FIRST, *bottom, edit);
    while (status == ESK_E_CORRUPT && *bottom < tree->now.height) {
        (*bottom)++;
        if (path->address[*bottom - 1] != ESK_PAGE_NONE) {
            status = ESK_OK;
        }
    }
    return status;
}

/// Copies to tree->low the key where the path's next entry begins, of the
/// lowest node from `level` up that has one.
/// Returns  ESK_OK; ESK_END when there is none; ESK_E_CORRUPT when it does
///          not lie behind `key`.
static int next_find(struct esk_tree *tree, uint8_t level, const uint8_t *key) {
    for (; level <= tree->now.height; level++) {
        struct esk_tree_work work;
        struct esk_btree_node node;
        uint32_t address = tree->path.address[level - 1];
        uint16_t index = (uint16_t)(tree->path.index[level - 1] + 1u);
        ESK_TRY(esk_tree_pin(tree, address, level, &work, &node));
        bool found = index < esk_btree_count(&node);
        if (found) {
            memcpy(tree->low, esk_btree_key(&node, index),
                   esk_tree_layout(tree)->key_bytes);
        }
        esk_tree_unpin(tree, &work);
        if (found) {
            return key != NULL && esk_btree_compare(esk_tree_layout(tree),
                                                    tree->low, key) <= 0
                       ? ESK_E_CORRUPT
                       : ESK_OK;
        }
    }
    return ESK_END;
}

/// The first child of `node` from `from` on that is in the window; the count
/// when none is.
static uint16_t child_due(const struct esk_tree *tree,
                          const struct esk_btree_node *node, uint16_t from,
                          uint32_t address) {
    while (from < esk_btree_count(node) &&
           !in_window(tree, esk_tree_child(node, from, address))) {
        from++;
    }
    return from;
}

/// The lowest level from `level` up whose node on the path is in the window;
/// 0: none is.
static uint8_t path_due(const struct esk_tree *tree, uint8_t level) {
    while (level <= tree->now.height &&
           !in_window(tree, tree->path.address[level - 1])) {
        level++;
    }
    return level <= tree->now.height ? level : 0;
}

int esk_tree_sweep_end(struct esk_tree *tree) {
    /* What was moved must not be in a cache when its source is erased. */
    ESK_TRY(esk_region_sync(&tree->ring.region));
    esk_ring_drop(&tree->ring, tree->sweep_end);
    tree->sweep_end = 0;
    return ESK_OK;
}

/// Ends a step that made the change, or found nothing due (ESK_NOT_FOUND).
/// next     of next_find: where the sweep goes on. stays: where it is.
static int step_end(struct esk_tree *tree, int status, int next, bool stays,
                    const struct esk_tree_state *before) {
    esk_tree_change_end(tree, status, before);
    if (stays || (status != ESK_OK && status != ESK_NOT_FOUND)) {
        return status;
    }
    if (next == ESK_OK) {
        memcpy(tree->probe, tree->low, esk_tree_layout(tree)->key_bytes);
        tree->swept = true;
        return ESK_OK;
    }
    return esk_tree_sweep_end(tree);
}

/// What a step has written so far.
struct batch {
    struct esk_tree_moved moved[ESK_COLLECTOR_PARENTS];
    uint16_t moves; ///< leaves
    uint8_t count;  ///< of `moved`
    bool stays;     ///< leaves are left at the last node
};

/// Whether the step may move a leaf more. After a cut its root is to be the
/// last page of a block, so that the next cut costs none: what is torn in
/// blocks behind it is taken back.
/// above    pages that are to be written all the same.
/// spare    pages of the block that may be left.
static ESK_OUT_OF_LINE bool step_goes_on(const struct esk_tree *tree,
                                         const struct batch *batch,
                                         uint8_t above, uint8_t spare) {
    const struct esk_ring *ring = &tree->ring;
    uint16_t block = esk_volume_geometry(tree->volume)->block_pages;
    uint16_t left = (uint16_t)(block - esk_ring_rest(ring, ring->head) - above);
    if (!tree->was_cut) {
        return batch->moves < MOVES_MAX;
    }
    return batch->moves < MOVES_LEAST ||
           (left > spare && batch->moves < block + MOVES_LEAST);
}

/// Writes the node's children that are in the window, until the step has
/// moved its share. A lost one stays where it is.
static int children_move(struct esk_tree *tree,
                         const struct esk_btree_node *node,
                         struct batch *batch) {
    uint16_t index = child_due(tree, node, 0, 0);
    while (index < esk_btree_count(node) &&
           step_goes_on(tree, batch, (uint8_t)(tree->now.height - 1u), 0)) {
        struct esk_tree_work work;
        struct esk_btree_node leaf;
        uint32_t address = esk_load_u32(esk_btree_child(node, index));
        int status = esk_tree_page_verify(tree, address);
        if (status == ESK_OK) {
            status = esk_tree_pin(tree, address, 1, &work, &leaf);
        }
        if (status == ESK_OK) {
            status = esk_tree_store(tree)->place(tree, &work, false, &address);
            if (status != ESK_OK) {
                esk_tree_work_drop(tree, &work);
                return status;
            }
            esk_store_u32(esk_btree_child(node, index), address);
            batch->moves++;
            tree->moved++;
        } else if (status != ESK_E_CORRUPT) {
            return status;
        }
        index = child_due(tree, node, (uint16_t)(index + 1u), 0);
    }
    batch->stays = index < esk_btree_count(node);
    return ESK_OK;
}

/// Moves what is due at the node of level 2 at *address and sets *address.
/// root     the change takes effect with it.
/// Returns  ESK_OK; ESK_NOT_FOUND: nothing is due.
static int node_move(struct esk_tree *tree, bool root, uint32_t *address,
                     struct batch *batch) {
    struct esk_tree_work work;
    struct esk_btree_node node;
    int status = esk_tree_pin(tree, *address, 2, &work, &node);
    if (status != ESK_OK) {
        return status == ESK_E_CORRUPT ? ESK_NOT_FOUND : status;
    }
    if (!in_window(tree, *address) &&
        child_due(tree, &node, 0, 0) == esk_btree_count(&node)) {
        esk_tree_unpin(tree, &work);
        return ESK_NOT_FOUND;
    }
    status = children_move(tree, &node, batch);
    if (status == ESK_OK) {
        status = esk_tree_store(tree)->place(tree, &work, root, address);
    }
    if (status != ESK_OK) {
        esk_tree_work_drop(tree, &work);
    }
    return status;
}

/// Goes over some of the nodes below the path's node of level 3, from its
/// entry on; the entry is then that of the last one.
static int nodes_move(struct esk_tree *tree, struct batch *batch) {
    uint16_t first = tree->path.index[2];
    uint16_t count = 0;
    uint16_t index = first;
    uint8_t above = (uint8_t)(tree->now.height - 2u);
    do {
        struct esk_tree_work work;
        struct esk_btree_node parent;
        ESK_TRY(esk_tree_pin(tree, tree->path.address[2], 3, &work, &parent));
        count = esk_btree_count(&parent);
        uint32_t address = esk_load_u32(esk_btree_child(&parent, index));
        esk_tree_unpin(tree, &work);
        int status = node_move(tree, false, &address, batch);
        if (status == ESK_OK) {
            batch->moved[batch->count].index = index;
            batch->moved[batch->count].address = address;
            batch->count++;
        } else if (status != ESK_NOT_FOUND) {
            return status;
        }
        tree->path.index[2] = index;
        index++;
    } while (!batch->stays && index < count &&
             index - first < ESK_COLLECTOR_PARENTS &&
             step_goes_on(tree, batch, above, 1));
    if (batch->stays && tree->path.index[2] > first) {
        /* The next step begins with that node, so it is its key that counts. */
        tree->path.index[2]--;
        batch->stays = false;
    }
    return ESK_OK;
}

/// The same from the root, which is of level 1 or 2, and takes effect.
static int root_move(struct esk_tree *tree, struct batch *batch) {
    uint32_t address = tree->now.root;
    if (tree->now.height == 2) {
        return node_move(tree, true, &address, batch);
    }
    if (!in_window(tree, address)) {
        return ESK_NOT_FOUND;
    }
    struct esk_tree_edit edit = {.kind = ESK_TREE_EDIT_MOVE, .level = 1};
    tree->path.address[0] = address;
    tree->moved++;
    return esk_tree_change(tree, &edit);
}

int esk_tree_sweep(struct esk_tree *tree) {
    const uint8_t *key = tree->swept ? tree->probe : NULL;
    struct esk_tree_edit edit = {.kind = ESK_TREE_EDIT_MOVE};
    struct esk_tree_state before = tree->now;
    struct batch batch = {.count = 0};
    uint8_t bottom = 3;
    if (tree->now.height < bottom) {
        int status = root_move(tree, &batch);
        return step_end(tree, status, ESK_END, batch.stays, &before);
    }
    int status = path_make(tree, &edit, key, &bottom);
    if (status == ESK_OK && bottom == 3) {
        status = nodes_move(tree, &batch);
    }
    int next = status == ESK_OK ? next_find(tree, bottom, key) : status;
    if (next != ESK_OK && next != ESK_END) {
        status = next;
    }
    if (status == ESK_OK) {
        edit.moved = batch.moved;
        edit.moved_count = batch.count;
        edit.level = batch.count > 0 ? 3 : path_due(tree, bottom);
        status = edit.level == 0 ? ESK_NOT_FOUND : esk_tree_change(tree, &edit);
    }
    return step_end(tree, status, next, batch.stays, &before);
}

int esk_tree_inner_count(struct esk_tree *tree) {
    struct esk_tree_edit edit = {.kind = ESK_TREE_EDIT_MOVE};
    const uint8_t *key = NULL;
    uint32_t inner = 0;
    int next = ESK_OK;
    while (next == ESK_OK) {
        struct esk_tree_work work;
        struct esk_btree_node node;
        uint8_t bottom = 3;
        ESK_TRY(path_make(tree, &edit, key, &bottom));
        if (bottom == 3) {
            ESK_TRY(esk_tree_pin(tree, tree->path.address[2], 3, &work, &node));
            inner += 1u + esk_btree_count(&node);
            esk_tree_unpin(tree, &work);
            bottom++;
        }
        /* A node above is counted with its first child. */
        for (uint8_t level = 4;
             level <= tree->now.height && tree->path.index[level - 1] == 0;
             level++) {
            inner++;
        }
        next = next_find(tree, bottom, key);
        if (next == ESK_OK) {
            memcpy(tree->pending, tree->low, esk_tree_layout(tree)->key_bytes);
            key = tree->pending;
        }
    }
    if (next != ESK_END) {
        return next;
    }
    tree->now.inner = inner;
    return ESK_OK;
}
