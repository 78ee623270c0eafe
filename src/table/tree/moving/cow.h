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

/* room.c */

/// Counts the bad blocks, at first and when more may be; first takes back what
/// a cut left.
/// Costs    a look at the mark of every block.
void esk_tree_bad_count(struct esk_tree *tree);

/// Pages kept for blocks that go bad: whole ones. Media that overwrite replace
/// theirs themselves.
uint32_t esk_tree_spare_pages(const struct esk_tree *tree);

/// Pages of the region's good blocks.
static inline uint32_t esk_tree_good_pages(const struct esk_tree *tree) {
    return esk_ring_pages(&tree->ring) - tree->bad_pages;
}

/// Pages that are to be appended before any other.
static inline uint32_t esk_tree_kept_pages(const struct esk_tree *tree) {
    return esk_tree_kept(tree) != NULL ? esk_tree_kept(tree)->count : 0;
}

/* tail.c: mu */

/// Nodes that the region can hold with room left for the collector.
uint32_t esk_tree_tail_nodes_max(const struct esk_tree *tree);

/// Makes room for `pages` appends, moving live pages away from the tail.
/// Returns ESK_OK; ESK_FULL; ESK_E_IO and what appending returns.
/// Costs    at most two blocks of programs, while there is room for `pages`;
///          for each page at the tail a read and height reads.
int esk_tree_tail_for(struct esk_tree *tree, uint32_t pages);

/// Collects ahead of need, if that is due: for esk_volume_step.
int esk_tree_tail_step(void *tree, bool *done);

/* collect.c, sweep.c: wandering */

/// The same.
uint32_t esk_tree_nodes_max(const struct esk_tree *tree);
int esk_tree_collect_for(struct esk_tree *tree, uint32_t pages);

/// Does the next step of the sweep of the window below tree->sweep_end, and
/// gives the window back after the last one.
/// Returns ESK_OK; ESK_E_IO and what appending returns: call again.
/// Cost    as many lowest inner nodes as ESK_COLLECTOR_PARENTS and what is
///         above them, a read each; a read and a program for each leaf it
///         moves, up to 32, after a cut to 16 and a block's pages; a program
///         for each such node, and what is above them.
int esk_tree_sweep(struct esk_tree *tree);

/// Reads the page at `address` for moving it. It is verified even where other
/// loads are trusted, since it gets a new checksum.
int esk_tree_page_verify(struct esk_tree *tree, uint32_t address);

/// Gives the window back. Returns ESK_OK; ESK_E_IO: nothing was given back.
int esk_tree_sweep_end(struct esk_tree *tree);

/// Counts the inner nodes: reads those above level 2.
int esk_tree_inner_count(struct esk_tree *tree);

/// Collects ahead of need, if that is due: for esk_volume_step.
int esk_tree_collect_step(void *tree, bool *done);

#endif
