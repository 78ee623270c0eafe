// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Checking a tree: reads every node, in key order, and compares it with its
/// neighbours and with the path to it.
#include "table/tree/tree.h"

struct check {
    struct esk_tree_report *report;
    struct esk_tree_path path;
    bool has_last; ///< tree->pending is the last key seen
};

/// Whether a search for the node's keys ends at this node.
static int range_check(struct esk_tree *tree, struct check *check,
                       uint8_t level, uint16_t index, uint16_t count) {
    struct esk_tree_path found;
    esk_address address = check->path.address[level - 1];
    for (uint8_t side = 0; side < 2; side++) {
        struct esk_tree_work work;
        struct esk_btree_node node;
        uint16_t at = side == 0 ? index : (uint16_t)(count - 1u);
        ESK_TRY(esk_tree_pin(tree, address, level, &work, &node));
        memcpy(tree->low, esk_btree_key(&node, at),
               esk_tree_layout(tree)->key_bytes);
        esk_tree_unpin(tree, &work);
        ESK_TRY(
            esk_tree_descend(tree, &found, tree->low, ESK_TREE_FIRST, level));
        if (found.address[level - 1] != address) {
            check->report->order_wrong++;
        }
    }
    return ESK_OK;
}

/// Checks the path's node at `level`.
static int node_check(struct esk_tree *tree, struct check *check,
                      uint8_t level) {
    struct esk_tree_report *report = check->report;
    struct esk_tree_work work;
    struct esk_btree_node node;
    int status =
        esk_tree_pin(tree, check->path.address[level - 1], level, &work, &node);
    if (status != ESK_OK) {
        report->pages_damaged += status == ESK_E_CORRUPT ? 1 : 0;
        return status;
    }
    uint16_t count = esk_btree_count(&node);
    bool leaf = level == 1;
    report->nodes++;
    report->leaves += leaf ? 1 : 0;
    report->rows += leaf ? count : 0;
    bool wrong = !esk_btree_rises(esk_tree_layout(tree), &node, leaf);
    if (leaf && count > 0) {
        uint16_t bytes = esk_tree_layout(tree)->key_bytes;
        wrong = wrong || (check->has_last &&
                          esk_btree_compare(esk_tree_layout_given(tree),
                                            esk_btree_key(&node, 0),
                                            tree->pending) <= 0);
        memcpy(tree->pending, esk_btree_key(&node, (uint16_t)(count - 1u)),
               bytes);
        check->has_last = true;
    }
    bool may_be_empty = level == tree->now.height || esk_tree_overwrites(tree);
    report->nodes_wrong += leaf && count == 0 && !may_be_empty ? 1 : 0;
    report->order_wrong += wrong ? 1 : 0;
    esk_tree_unpin(tree, &work);
    return count > 0 ? range_check(tree, check, level, 0, count) : ESK_OK;
}

/// Moves to the next node: the first child, or the next one in order. level
/// out: of that node; 0: there is none.
static int path_next(struct esk_tree *tree, struct check *check, bool readable,
                     uint8_t *level) {
    struct esk_tree_path *path = &check->path;
    if (readable && *level > 1) {
        path->index[*level - 1] = UINT16_MAX;
        (*level)--;
    }
    int status = esk_tree_turn(tree, path, level, true, NULL, NULL);
    if (status == ESK_END) {
        *level = 0;
        return ESK_OK;
    }
    return status;
}

static int nodes_check(struct esk_tree *tree, struct check *check) {
    uint8_t level = tree->now.height;
    check->path.address[level - 1] = tree->now.root;
    while (level > 0) {
        int status = node_check(tree, check, level);
        if (status != ESK_OK && status != ESK_E_CORRUPT) {
            return status;
        }
        ESK_TRY(path_next(tree, check, status == ESK_OK, &level));
    }
    return ESK_OK;
}

/// Pages in place that had a node and have none. Two pages are the journal and
/// the list.
static uint32_t pages_free(const struct esk_tree *tree, uint32_t nodes) {
    uint32_t known = nodes + 2u;
    return tree->now.root != ESK_ADDRESS_NONE && tree->ring.head > known
               ? tree->ring.head - known
               : 0;
}

int esk_tree_check(struct esk_tree *tree, struct esk_tree_report *report) {
    ESK_ASSERT(report != NULL);
    struct check check = {.report = report};
    memset(report, 0, sizeof *report);
    ESK_TRY(esk_tree_ready(tree));
    ESK_TRY(esk_tree_flush(tree));
    int status = ESK_OK;
    if (tree->now.root != ESK_ADDRESS_NONE) {
        status = nodes_check(tree, &check);
    }
    if (status == ESK_E_CORRUPT) {
        /* More nodes than possible, or one was lost since the check began. */
        report->nodes_wrong++;
    } else {
        ESK_TRY(status);
    }
    bool whole = report->pages_damaged == 0;
    bool overwrites = esk_tree_overwrites(tree);
    if (whole && overwrites) {
        report->pages_free = pages_free(tree, report->nodes);
    }
    if (!overwrites) {
        report->newest_unread = tree->unread;
    }
    if (whole && !overwrites && report->nodes != tree->now.nodes) {
        report->nodes_wrong++;
    }
    if (whole && tree->now.rows != UINT32_MAX &&
        report->rows != tree->now.rows) {
        report->nodes_wrong++;
    }
    return whole && report->order_wrong == 0 && report->nodes_wrong == 0
               ? ESK_OK
               : ESK_E_CORRUPT;
}
