// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Shared by the files of the store that packs nodes.
#ifndef ESK_TABLE_TREE_PACKED_PACKED_H
#define ESK_TABLE_TREE_PACKED_PACKED_H

#include "table/tree/moving/cow.h"

/// Whether a pass of the sweep is under way.
static inline bool esk_tree_packed_sweeps(const struct esk_tree *tree) {
    return tree->now.swept != ESK_PAGE_NONE;
}

/// The position of the page with the node at `address`.
static inline uint32_t esk_tree_packed_at(const struct esk_tree *tree,
                                          uint32_t address) {
    return esk_tree_packed_position(tree, tree->ring.tail, address);
}

/* packed_sweep.c */

/// Counts the nodes that left the tree: each may be one that the pass wrote.
void esk_tree_packed_count(struct esk_tree *tree);

/// The calls of a struct esk_node_store.
int esk_tree_packed_begin(struct esk_tree *tree, uint32_t pages);
uint32_t esk_tree_packed_nodes_max(const struct esk_tree *tree, uint8_t height);
int esk_tree_packed_step(void *tree, bool *done);

#endif
