// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Shared by the copy-on-write stores and their collector.
#ifndef ESK_TABLE_TREE_MOVING_COW_H
#define ESK_TABLE_TREE_MOVING_COW_H

#include "table/tree/tree.h"

/// Appends a page of the tree. root: the page has the root, and commits outside
/// of batches.
int esk_tree_page_write(struct esk_tree *tree, uint8_t *page, bool root,
                        esk_address *address);

/// Finds the newest committed root, and sets the tree's state from its page.
/// page     scratch; out: the root's page, unless the tree is empty.
int esk_tree_cow_mount(struct esk_tree *tree,
                       const struct esk_ring_config *region, uint8_t *page);

/// Drops a node that became empty, or takes levels off a root.
int esk_tree_cow_shrink(struct esk_tree *tree, struct esk_tree_work *work,
                        struct esk_btree_node *node,
                        struct esk_tree_outcome *outcome);

/* write_cache.c: esk_write_cache's functions, shared with stores that pack. */

int esk_tree_cache_own(struct esk_tree *tree, struct esk_tree_work *work,
                       struct esk_btree_node *node);
int esk_tree_cache_keep(struct esk_tree *tree, uint8_t frame, bool root,
                        esk_address *address);
void esk_tree_cache_replace(struct esk_tree *tree, esk_address address,
                            uint8_t level);
void esk_tree_cache_end(struct esk_tree *tree, bool failed);

/// The cached page, or node, `at` is now at address `to`, also for the pages
/// behind it.
void esk_tree_cache_written(struct esk_tree *tree, uint8_t at, uint32_t to);

/// The first `done` pages were written: they leave the cache.
void esk_tree_cache_shorten(struct esk_tree *tree, uint8_t done);
void esk_tree_cache_drop(struct esk_tree *tree);

/* room.c */

/// Counts the bad blocks, in the first call and when there may be more. The
/// first call also erases what an interrupted change left.
/// Costs    a read of the mark of every block.
void esk_tree_bad_count(struct esk_tree *tree);

/// The same, with a page as scratch.
void esk_tree_bad_count_with(struct esk_tree *tree, uint8_t *page);

/// Pages reserved for blocks that go bad, whole blocks. Media that overwrite
/// replace bad blocks themselves.
uint32_t esk_tree_spare_pages(const struct esk_tree *tree);

/// Pages of the region's good blocks.
static inline uint32_t esk_tree_good_pages(const struct esk_tree *tree) {
    return esk_ring_pages(&tree->ring) - tree->bad_pages;
}

/// The same without the pages reserved for blocks that go bad or are torn by
/// power loss: at least a block.
static inline uint32_t esk_tree_sure_pages(const struct esk_tree *tree) {
    uint32_t all = esk_tree_good_pages(tree);
    uint32_t spare = esk_tree_spare_pages(tree);
    uint32_t block = esk_volume_geometry(tree->table.volume)->block_pages;
    spare = spare < block ? block : spare;
    return all > spare ? all - spare : 0;
}

/// Pages in the write cache, which are appended before any other.
static inline uint32_t esk_tree_cached_pages(const struct esk_tree *tree) {
    return esk_tree_cached(tree) != NULL ? esk_tree_cached(tree)->count : 0;
}

/* collect.c */

/// Most nodes of the region in `height` levels, with room for the collector.
uint32_t esk_tree_nodes_max(const struct esk_tree *tree, uint8_t height);

/// Makes room for `pages` appends, moving live pages away from the tail.
/// Returns ESK_OK; ESK_FULL; ESK_E_IO and what appending returns.
/// Costs    at most two blocks of programs, while there is room for `pages`;
///          for each page at the tail a read and height reads.
int esk_tree_collect_for(struct esk_tree *tree, uint32_t pages);

/// Collects ahead, if that is due: for esk_volume_step.
int esk_tree_collect_step(void *tree, bool *done);

/// Drops the pages below `position`: none is live.
/// Returns  ESK_OK; ESK_E_IO: nothing was dropped.
int esk_tree_tail_drop(struct esk_tree *tree, uint32_t position);

/* sweep.c: wandering */

/// Does a step of the sweep: writes again the leaves after the last one that it
/// wrote, and the nodes above them, `pages` pages at most.
/// tail     NULL; else a path to a leaf at the tail: if this leaf is not near
///          the next ones, it is moved instead, with those of the leaves after
///          it that are also there.
/// Returns  ESK_OK; ESK_NOT_FOUND: nothing was moved; ESK_E_IO and what
///          appending returns.
int esk_tree_sweep(struct esk_tree *tree, uint16_t pages,
                   const struct esk_tree_path *tail);

/// Reports nodes by which the tree grew to the sweep: each counts as one more
/// to move, because a pass, which counts nodes, would else take more than a
/// lap. The first pass begins after half of a lap.
void esk_tree_sweep_pace(struct esk_tree *tree);

/// Verifies the page at `address` before it is moved, even if other loads are
/// trusted, because it gets a new checksum.
int esk_tree_page_verify(struct esk_tree *tree, uint32_t address);

#endif
