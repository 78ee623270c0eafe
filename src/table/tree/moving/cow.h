// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What the stores whose nodes move share with their collector.
#ifndef ESK_TABLE_TREE_MOVING_COW_H
#define ESK_TABLE_TREE_MOVING_COW_H

#include "table/tree/tree.h"

/// Appends a page of the tree. root: the root is on it; outside of batches it
/// takes effect.
int esk_tree_page_write(struct esk_tree *tree, uint8_t *page, bool root,
                        uint32_t *address);

/// Nodes that the region can hold with room left for the collector.
uint32_t esk_tree_nodes_max(const struct esk_tree *tree);

/// Makes room for `pages` appends, moving live nodes away from the tail.
/// Returns ESK_OK; ESK_FULL; ESK_E_IO and what appending returns.
int esk_tree_collect_for(struct esk_tree *tree, uint32_t pages);

/// Do the next step of the sweep of the window below tree->sweep_end, and
/// give the window back after the last one.
/// Returns ESK_OK; ESK_E_IO and what appending returns: call again.
/// Cost    mu: height reads, 1 program; wandering: as many lowest inner nodes
///         as ESK_COLLECTOR_PARENTS and what is above them, a read each; a read
///         and a program for each leaf it moves, up to 32, after a cut to 16
///         and a block's pages; a program for each such node, and what is
///         above them.
int esk_tree_sweep_mu(struct esk_tree *tree);
int esk_tree_sweep_wandering(struct esk_tree *tree);

/// Gives the window back. Returns ESK_OK; ESK_E_IO: nothing was given back.
int esk_tree_sweep_end(struct esk_tree *tree);

/// Counts the inner nodes: reads those above level 2.
int esk_tree_inner_count(struct esk_tree *tree);

/// Collects ahead of need, if that is due: for esk_volume_step.
int esk_tree_collect_step(void *tree, bool *done);

#endif
