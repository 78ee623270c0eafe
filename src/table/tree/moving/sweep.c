// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A step of the sweep: leaves are written at the head in key order.
///
///     level 3                 | P  ...                  |
///     level 2      | N1     |    | N2     |    | N3     |
///     leaves        ...  key ->  all of them,  as many as fit
///
///     1. leaves of N1, 2. N1', 3. leaves of N2, 4. N2', ... P', ... root'
///
/// A step writes the leaves that follow the last one it wrote, whatever their
/// age, then the nodes of level 2 above them, and once the nodes above those.
/// The root commits all of it, as for every change. The root stores which leaf
/// was the last, and when the next step is due, so a mount continues there.
///
/// If the step finds a leaf that the last pass wrote and that was not changed
/// since, the age of all other leaves is bounded: leaves after it in key order
/// were written later, by that pass or by changes, and those before it by this
/// pass. So the tail moves to this leaf's position, without reading the pages
/// in between.
///
/// A node that cannot be read is skipped, with all nodes below it.
#include "base/inline.h"
#include "base/scale.h"
#include "table/tree/moving/cow.h"
#include "table/tree/plan/collector.h"

enum { NODES_MAX = 8 }; ///< lowest inner nodes of one step

/// An entry of a node, and the new address of its child.
struct moved {
    uint32_t address;
    uint16_t index;
};

/// Progress of a step.
struct step {
    struct moved moved[NODES_MAX];
    uint32_t near;  ///< the step ends at a leaf after this position
    uint32_t below; ///< no page below is live any more
    uint16_t most;  ///< pages
    uint16_t pages; ///< leaves, and nodes of level 2
    uint16_t nodes; ///< the same, but only the completed nodes of level 2
    uint8_t above;  ///< pages to write after a leaf
    uint8_t count;  ///< entries of `moved`
    bool ended;     ///< it ended at `near`
};

/// Positions of a lap that changes and the sweep share: all but those of bad
/// blocks.
static ESK_OUT_OF_LINE uint32_t lap_pages(const struct esk_tree *tree) {
    uint32_t good = esk_tree_good_pages(tree);
    uint32_t rest = 0;
    uint32_t lap = esk_collector_lap(
        esk_tree_sure_pages(tree),
        esk_volume_geometry(tree->table.volume)->block_pages, tree->now.height);
    return lap < good ? esk_scale(esk_ring_pages(&tree->ring), lap, good, &rest)
                      : 1u;
}

/// By how many pages the head goes on while `nodes` nodes are swept.
static uint32_t lag_of(const struct esk_tree *tree, uint32_t nodes) {
    /* The root's number of nodes, which may be forged, only sets the pace. */
    uint32_t all = tree->now.paced > 0 ? tree->now.paced : 1u;
    uint32_t lap = lap_pages(tree);
    uint32_t rest = 0;
    if (tree->now.due < lap) {
        lap /= 2u; /* the first pass ends with the first lap */
    }
    return nodes * (lap / all) + esk_scale(nodes, lap % all, all, &rest);
}

void esk_tree_sweep_pace(struct esk_tree *tree) {
    struct esk_tree_state *now = &tree->now;
    uint32_t more = now->nodes - now->paced;
    if (now->due == 0) {
        now->due = lap_pages(tree) / 2u;
    }
    if (now->nodes > now->paced) {
        now->paced = now->nodes;
        if (now->swept != ESK_PAGE_NONE) {
            uint32_t lag = lag_of(tree, more);
            now->due -= lag < now->due ? lag : now->due - 1u;
        }
    }
}

/// Postpones the next step by the nodes that this one moved.
static void due_put_off(struct esk_tree *tree, const struct step *step) {
    if (step->near == ESK_PAGE_NONE) {
        tree->now.due += lag_of(tree, step->nodes);
    }
}

static ESK_OUT_OF_LINE bool step_goes_on(const struct step *step) {
    return !step->ended &&
           (step->pages == 0 || step->pages + step->above < step->most);
}

/// Whether the last pass of the sweep wrote the leaf, so that the leaves after
/// it in key order are younger.
static bool is_in_order(const struct esk_tree *tree, const uint8_t *page,
                        uint32_t address) {
    return (page[ESK_TREE_PAGE_FLAGS] &
            (ESK_TREE_PAGE_COMMIT | ESK_TREE_PAGE_MOVED)) ==
               ESK_TREE_PAGE_MOVED &&
           address >= tree->now.order;
}

/// Writes the node's children from `index` on. A lost child is skipped.
static int children_move(struct esk_tree *tree,
                         const struct esk_btree_node *node, uint16_t index,
                         struct step *step) {
    for (; index < esk_btree_count(node) && step_goes_on(step); index++) {
        struct esk_tree_work work;
        struct esk_btree_node leaf;
        esk_address address = esk_address_load(esk_btree_child(node, index));
        if (address > step->near) {
            step->ended = true;
            break;
        }
        int status = esk_tree_page_verify(tree, address);
        if (status == ESK_OK) {
            status = esk_tree_pin(tree, address, 1, &work, &leaf);
        }
        if (status == ESK_E_CORRUPT) {
            continue;
        }
        ESK_TRY(status);
        if (is_in_order(tree, work.page, address)) {
            step->below = address;
        }
        tree->sweeping = step->near == ESK_PAGE_NONE;
        status = esk_tree_store(tree)->place(tree, &work, false, &address);
        tree->sweeping = false;
        if (status != ESK_OK) {
            esk_tree_work_drop(tree, &work);
            return status;
        }
        esk_store_u32(esk_btree_child(node, index), address);
        if (step->near == ESK_PAGE_NONE) {
            tree->now.swept = address;
        }
        tree->moved++;
        step->pages++;
        step->nodes++;
    }
    if (index == esk_btree_count(node)) {
        step->nodes++;
    }
    return ESK_OK;
}

/// Moves the children of the node of level 2 at *address from `index` on, and
/// the node, and sets *address.
/// Returns  ESK_OK; ESK_NOT_FOUND: none was moved.
static int node_move(struct esk_tree *tree, esk_address *address,
                     uint16_t index, struct step *step) {
    struct esk_tree_work work;
    struct esk_btree_node node;
    bool root = tree->now.height == 2;
    uint16_t pages = step->pages;
    int status = esk_tree_pin(tree, *address, 2, &work, &node);
    if (status != ESK_OK) {
        return status == ESK_E_CORRUPT ? ESK_NOT_FOUND : status;
    }
    status = children_move(tree, &node, index, step);
    if (status == ESK_OK && step->pages == pages) {
        esk_tree_unpin(tree, &work);
        return ESK_NOT_FOUND;
    }
    if (status == ESK_OK) {
        step->pages++;
        if (root) {
            due_put_off(tree, step);
        }
        status = esk_tree_store(tree)->place(tree, &work, root, address);
    }
    if (status != ESK_OK) {
        esk_tree_work_drop(tree, &work);
    }
    return status;
}

/// Writes the path's node of level 3, and the nodes above it, with the
/// addresses of the moved children.
static int parent_move(struct esk_tree *tree, const struct step *step) {
    struct esk_tree_edit edit = {.level = 3};
    struct esk_tree_spot *spot = &edit.spot;
    ESK_TRY(esk_tree_work_open(tree, 3, &spot->work, &spot->node));
    for (uint8_t i = 0; i < step->count; i++) {
        esk_store_u32(esk_btree_child(&spot->node, step->moved[i].index),
                      step->moved[i].address);
    }
    return esk_tree_change(tree, &edit);
}

/// Moves some of the nodes below the path's node of level 3, from its entry on,
/// and writes the nodes above them.
/// Returns  ESK_OK; ESK_NOT_FOUND: nothing was moved.
static int nodes_move(struct esk_tree *tree, struct step *step) {
    uint16_t from = tree->path.index[1];
    uint16_t index = tree->path.index[2];
    uint16_t last = (uint16_t)(index + NODES_MAX);
    uint16_t count = 0;
    do {
        struct esk_tree_work work;
        struct esk_btree_node parent;
        ESK_TRY(esk_tree_pin(tree, tree->path.address[2], 3, &work, &parent));
        count = esk_btree_count(&parent);
        esk_address address = esk_address_load(esk_btree_child(&parent, index));
        esk_tree_unpin(tree, &work);
        int status = node_move(tree, &address, from, step);
        if (status == ESK_OK) {
            step->moved[step->count].index = index;
            step->moved[step->count].address = address;
            step->count++;
        } else if (status != ESK_NOT_FOUND) {
            return status;
        }
        from = 0;
        tree->path.index[2] = index;
        index++;
    } while (index < count && index < last && step_goes_on(step));
    if (step->count == 0) {
        return ESK_NOT_FOUND;
    }
    due_put_off(tree, step);
    return parent_move(tree, step);
}

/// Moves tree->path to a leaf after the path's node of `level`, past nodes that
/// cannot be read.
/// Returns  ESK_OK; ESK_END; ESK_E_CORRUPT: the root cannot be read; ESK_E_IO.
static int path_turn(struct esk_tree *tree, uint8_t level) {
    int status = ESK_E_CORRUPT;
    while (status == ESK_E_CORRUPT && level < tree->now.height) {
        status = esk_tree_turn(tree, &tree->path, &level, true, NULL, NULL);
        if (status == ESK_OK && level > 1) {
            status = esk_tree_reach(tree, &tree->path, level, true);
        }
        if (status == ESK_E_CORRUPT) {
            level = tree->path.lost;
            status = level == 1 ? ESK_OK : status;
        }
    }
    return status;
}

/// Copies the first key of the leaf that was swept last to tree->probe.
static int swept_key(struct esk_tree *tree) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    ESK_TRY(esk_pool_take(&tree->pool, &page, &frame));
    int status = esk_ring_read(&tree->ring, tree->now.swept, page, true);
    struct esk_btree_node leaf;
    esk_btree_view(esk_tree_layout(tree), page, 1, tree->now.height, &leaf);
    memcpy(tree->probe, esk_btree_key(&leaf, 0),
           esk_tree_layout(tree)->key_bytes);
    esk_pool_give(&tree->pool, frame);
    return status;
}

/// Whether the leaf whose range contains `key`, the first key of the leaf that
/// was swept last, is that leaf: its entry in spot->node is not above `key`. If
/// not, that leaf is gone, or smaller keys were put since, and the order of
/// leaves is unknown.
static bool was_swept(struct esk_tree *tree, const struct esk_tree_spot *spot,
                      const uint8_t *key) {
    const uint8_t *first = esk_btree_key(&spot->node, tree->path.index[1]);
    if (spot->child == tree->now.swept ||
        esk_btree_compare(esk_tree_layout(tree), first, key) <= 0) {
        return true;
    }
    tree->now.order = tree->ring.head;
    return false;
}

/// Moves tree->path to the next leaf to move. If the last swept leaf cannot be
/// read, that is the leaf at the end of `tail`.
/// Returns  as path_turn; ESK_NOT_FOUND: unknown.
static int next_find(struct esk_tree *tree, const struct esk_tree_path *tail) {
    struct esk_tree_spot spot;
    const uint8_t *key = NULL;
    if (tree->now.swept != ESK_PAGE_NONE) {
        int status = swept_key(tree);
        if (status != ESK_OK) {
            if (status == ESK_E_IO || tail == NULL) {
                return status == ESK_E_IO ? status : ESK_NOT_FOUND;
            }
            tree->path = *tail;
            tree->now.order = tree->ring.head; /* leaves between are skipped */
            return ESK_OK;
        }
        key = tree->probe;
    }
    for (;;) {
        bool passed = false;
        int status =
            esk_tree_find(tree, &tree->path, key, ESK_TREE_FIRST, 2, &spot);
        if (status == ESK_OK) {
            passed = key != NULL && was_swept(tree, &spot, key);
            esk_tree_unpin(tree, &spot.work);
        }
        if (status == ESK_E_CORRUPT || passed) {
            uint8_t lost = tree->path.lost;
            status = path_turn(tree, status == ESK_OK ? 1 : lost);
        }
        if (status != ESK_END || key == NULL) {
            return status;
        }
        tree->now.swept = ESK_PAGE_NONE; /* the next pass begins */
        tree->now.paced = tree->now.nodes;
        key = NULL;
    }
}

/// Whether the leaf at the end of `tail` is among the next ones.
static bool is_near(const struct esk_tree *tree,
                    const struct esk_tree_path *tail) {
    const struct esk_tree_path *path = &tree->path;
    if (tail->address[1] == path->address[1]) {
        return tail->index[1] >= path->index[1];
    }
    return tree->now.height > 2 && tail->address[2] == path->address[2] &&
           tail->index[2] == path->index[2] + 1u;
}

int esk_tree_sweep(struct esk_tree *tree, uint16_t pages,
                   const struct esk_tree_path *tail) {
    struct esk_tree_state before = tree->now;
    struct step step = {.most = pages,
                        .near = ESK_PAGE_NONE,
                        .above = (uint8_t)(tree->now.height - 1u)};
    int status = next_find(tree, tail);
    if (status == ESK_OK && tail != NULL && !is_near(tree, tail)) {
        tree->now = before;
        tree->path = *tail;
        step.near = tree->ring.tail + pages - 1u;
    } else if (tree->now.due > tree->ring.head) {
        tree->now.due = tree->ring.head; /* so its leaves are due early again */
    }
    if (status == ESK_OK && tree->now.height == 2) {
        esk_address address = tree->now.root;
        status = node_move(tree, &address, tree->path.index[1], &step);
    } else {
        while (status == ESK_OK) {
            status = nodes_move(tree, &step);
            if (status != ESK_NOT_FOUND || step.ended) {
                break;
            }
            status = path_turn(tree, 2);
        }
    }
    esk_tree_change_end(tree, status, &before);
    if (status == ESK_OK && step.near == ESK_PAGE_NONE &&
        step.below > tree->ring.tail) {
        return esk_tree_tail_drop(tree, step.below);
    }
    return status == ESK_END || status == ESK_E_CORRUPT ? ESK_NOT_FOUND
                                                        : status;
}
