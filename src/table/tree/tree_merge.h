// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Shared by merging in all stores.
#ifndef ESK_TABLE_TREE_TREE_MERGE_H
#define ESK_TABLE_TREE_TREE_MERGE_H

#include "flash/envelope.h"
#include "table/tree/tree.h"

/// A neighbour that was joined to a node.
struct esk_tree_joined {
    esk_address address; ///< of the neighbour
    uint32_t link;       ///< its page's aux
    bool right;          ///< it is to the right of the node
};

/// Joins the node with a neighbour below the same parent, in RAM, if the node
/// is half full or less and both fit one node. Then the path's index above is
/// that of the left one of the two. Nothing but the node may be pinned.
bool esk_tree_join(struct esk_tree *tree, struct esk_tree_work *work,
                   struct esk_btree_node *node, struct esk_tree_joined *joined);

#endif
