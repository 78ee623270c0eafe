// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The collector of wandering trees: when the ring's oldest blocks are emptied,
/// and how much is kept free for it.
///
///     tail              sweep_end                    head
///     | dead | live | dead | ...    | live | ...     | erased ...
///       window |______ what is live there, again ______^
///
/// A sweep (sweep.c) writes anew what is live in a window at the tail,
/// then the window's blocks are given back. Oldest first is a circle, so wear
/// is even, and nothing about pages is kept in RAM or on flash.
///
/// Room. A sweep writes the live pages and, for each lowest inner node with
/// children in the window, that node and
/// a share of what is above it. So a lap, of `n` windows, writes the live
/// pages and at most n times the inner nodes: that is what a full tree leaves
/// free, and the window. Few large windows cost room for the window, many
/// small ones room for inner nodes; n near the root of the fanout is best.
///
/// Blocks that are bad are no room, and for some to go bad room is kept: the
/// nodes that are there when they do are still to be moved.
#include "base/inline.h"
#include "table/tree/moving/cow.h"
#include "table/tree/plan/collector.h"

static ESK_OUT_OF_LINE uint32_t block_pages(const struct esk_tree *tree) {
    return esk_volume_geometry(tree->volume)->block_pages;
}

/// Windows that a lap of a wandering tree is divided into.
static uint8_t windows(const struct esk_tree *tree) {
    return esk_collector_windows(esk_tree_layout(tree)->node_entries[1]);
}

/// Pages that a change, and one after the tree grew, can take; or what of a
/// block is not yet collected.
static uint32_t change_pages(const struct esk_tree *tree) {
    uint32_t pages = 2u * tree->now.height + 3u;
    return pages < block_pages(tree) ? block_pages(tree) : pages;
}

/// Pages that a window of a wandering tree is to have.
static uint32_t window_moving(const struct esk_tree *tree) {
    uint32_t all = esk_tree_good_pages(tree);
    uint8_t count = windows(tree);
    uint32_t least = (uint32_t)ESK_COLLECTOR_PATHS * tree->now.height;
    /* A wide division takes a small chip three times as long. */
    uint32_t pages =
        all <= UINT16_MAX ? (uint32_t)((unsigned)all / count) : all / count;
    return pages < least ? least : pages;
}

/// Pages that a sweep empties: whole blocks.
static uint32_t window_pages(const struct esk_tree *tree) {
    uint32_t pages = block_pages(tree) - 1u;
    pages += window_moving(tree);
    return pages - esk_ring_rest(&tree->ring, pages);
}

/// Pages kept free for the collector: what a sweep of `window` pages writes
/// before it frees.
static uint32_t sweep_pages(const struct esk_tree *tree, uint32_t window) {
    return window + block_pages(tree) +
           esk_tree_good_pages(tree) / ESK_COLLECTOR_SLACK;
}

static uint32_t reserve(const struct esk_tree *tree) {
    return sweep_pages(tree, window_pages(tree));
}

/// The window that there is room to sweep. After a mount there may be less
/// than is kept: what a cut left of a sweep is dead, and the tail is put as
/// far back as there are pages, so that the first windows hold nothing.
static uint32_t window_fit(struct esk_tree *tree) {
    uint32_t block = block_pages(tree);
    uint32_t window = window_pages(tree);
    while (window > block &&
           !esk_ring_has_room(&tree->ring, sweep_pages(tree, window))) {
        window -= block;
    }
    return window;
}

/// Pages that a lap of sweeps writes beside the live ones.
static uint32_t paths_pages(const struct esk_tree *tree) {
    uint32_t inner = tree->now.inner;
    uint8_t above = (uint8_t)(tree->now.height - 1u);
    if (above == 0) {
        return 0;
    }
    if (inner == UINT32_MAX) {
        inner = 2u * tree->now.nodes / esk_tree_layout(tree)->node_entries[1];
    }
    return windows(tree) *
           (inner + above + inner * (above - 1u) / ESK_COLLECTOR_PARENTS);
}

uint32_t esk_tree_nodes_max(const struct esk_tree *tree) {
    uint32_t all = esk_tree_good_pages(tree);
    uint32_t kept =
        reserve(tree) + paths_pages(tree) + all / ESK_COLLECTOR_GAIN;
    kept += change_pages(tree) + esk_tree_spare_pages(tree);
    return all > kept ? all - kept : 0;
}

/// Goes on with a sweep, or begins one.
/// done     out: there was something to do.
static int collect_next(struct esk_tree *tree, bool *done) {
    struct esk_ring *ring = &tree->ring;
    uint32_t pages = block_pages(tree);
    *done = false;
    if (tree->in_batch) {
        return ESK_OK;
    }
    /* A window is given up: no tree may need it but the one in effect. */
    ESK_TRY(esk_tree_flush(tree));
    if (tree->sweep_end == 0) {
        uint32_t end = ring->tail - ring->tail % pages + window_fit(tree);
        uint32_t last = ring->head - ring->head % pages;
        end = end < last ? end : last;
        if (end <= ring->tail) {
            return ESK_OK;
        }
        tree->sweep_end = end;
        tree->swept = false;
    }
    *done = true;
    if (esk_tree_kept(tree) == NULL || tree->now.root == ESK_PAGE_NONE) {
        return tree->now.root == ESK_PAGE_NONE ? esk_tree_sweep_end(tree)
                                               : esk_tree_sweep(tree);
    }
    bool through = esk_tree_kept(tree)->through;
    esk_tree_kept(tree)->through = true;
    int status = esk_tree_sweep(tree);
    esk_tree_kept(tree)->through = through;
    return status;
}

int esk_tree_collect_for(struct esk_tree *tree, uint32_t pages) {
    uint32_t all = esk_ring_pages(&tree->ring);
    uint32_t tail = tree->ring.tail;
    esk_tree_bad_count(tree);
    ESK_TRY(pages > esk_tree_good_pages(tree) ? ESK_FULL : ESK_OK);
    if (tree->now.inner == UINT32_MAX) {
        ESK_TRY(esk_tree_inner_count(tree));
    }
    while (!esk_ring_has_room(&tree->ring, pages + esk_tree_kept_pages(tree) +
                                               reserve(tree))) {
        bool done = false;
        ESK_TRY(collect_next(tree, &done));
        if (!done || tree->ring.tail - tail > 2u * all) {
            return ESK_FULL;
        }
    }
    return ESK_OK;
}

int esk_tree_collect_step(void *context, bool *done) {
    struct esk_tree *tree = context;
    esk_tree_bad_count(tree);
    uint32_t ahead = block_pages(tree) * (tree->ring.ahead + 1u);
    *done = false;
    if (tree->sweep_end == 0 &&
        esk_ring_has_room(&tree->ring,
                          ahead + esk_tree_kept_pages(tree) + reserve(tree))) {
        return ESK_OK;
    }
    return collect_next(tree, done);
}
