// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What the stores whose nodes move share with their collector.
#ifndef ESK_TABLE_TREE_STORE_COW_H
#define ESK_TABLE_TREE_STORE_COW_H

#include "table/tree/tree.h"

/// Nodes that the region can hold with room left for the collector.
uint32_t esk_tree_nodes_max(const struct esk_tree *tree);

/// Makes room for `pages` appends, moving live nodes away from the tail.
/// Returns ESK_OK; ESK_FULL; ESK_E_IO and what appending returns.
int esk_tree_collect_for(struct esk_tree *tree, uint32_t pages);

/// Collects one page ahead of need, if that is due: for esk_volume_step.
int esk_tree_collect_step(void *tree, bool *done);

#endif
