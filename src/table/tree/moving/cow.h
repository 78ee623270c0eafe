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

/// The same without those kept for blocks to go bad, or for what a cut tears:
/// a block at least.
static inline uint32_t esk_tree_sure_pages(const struct esk_tree *tree) {
    uint32_t all = esk_tree_good_pages(tree);
    uint32_t spare = esk_tree_spare_pages(tree);
    uint32_t block = esk_volume_geometry(tree->table.volume)->block_pages;
    spare = spare < block ? block : spare;
    return all > spare ? all - spare : 0;
}

/// Pages that are to be appended before any other.
static inline uint32_t esk_tree_kept_pages(const struct esk_tree *tree) {
    return esk_tree_kept(tree) != NULL ? esk_tree_kept(tree)->count : 0;
}

/* collect.c */

/// Nodes that the region can hold, in `height` levels, with room left for the
/// collector.
uint32_t esk_tree_nodes_max(const struct esk_tree *tree, uint8_t height);

/// Makes room for `pages` appends, moving live pages away from the tail.
/// Returns ESK_OK; ESK_FULL; ESK_E_IO and what appending returns.
/// Costs    at most two blocks of programs, while there is room for `pages`;
///          for each page at the tail a read and height reads.
int esk_tree_collect_for(struct esk_tree *tree, uint32_t pages);

/// Collects ahead of need, if that is due: for esk_volume_step.
int esk_tree_collect_step(void *tree, bool *done);

/// Gives up the pages below `position`: none is live.
/// Returns  ESK_OK; ESK_E_IO: nothing was given up.
int esk_tree_tail_drop(struct esk_tree *tree, uint32_t position);

/* sweep.c: wandering */

/// Does a step of the sweep: writes anew the leaves that follow the last one it
/// wrote, and what is above them, `pages` pages at most.
/// tail     NULL; else if the leaf at the end of that path, which is at the
///          tail, is not near those, it is moved, with what follows it there.
/// Returns  ESK_OK; ESK_NOT_FOUND: nothing was moved; ESK_E_IO and what
///          appending returns.
int esk_tree_sweep(struct esk_tree *tree, uint16_t pages,
                   const struct esk_tree_path *tail);

/// Has the sweep hear of nodes that the tree grew by: each is moved once more,
/// else a pass, which counts nodes, would take more than a lap where they are
/// many. The first pass begins when half of a lap was written.
void esk_tree_sweep_pace(struct esk_tree *tree);

/// Reads the page at `address` for moving it. It is verified even where other
/// loads are trusted, since it gets a new checksum.
int esk_tree_page_verify(struct esk_tree *tree, uint32_t address);

#endif
