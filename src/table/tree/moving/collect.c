// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The collector of moving stores: when the ring's oldest blocks are emptied,
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
/// Room. A mu sweep writes a page a live page; the fuller the tree, the smaller
/// its windows. A wandering one writes those
/// and, for each lowest inner node with children in the window, that node and
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

enum {
    WINDOWS_SHARED = 16, ///< mu: windows in what a full tree would take
};

static ESK_OUT_OF_LINE uint32_t block_pages(const struct esk_tree *tree) {
    return tree->volume->device->geometry.block_pages;
}

/// Takes back what a cut, or a batch that was not committed, left behind the
/// root in effect.
static void torn_take_back(struct esk_tree *tree) {
    struct esk_ring *ring = &tree->ring;
    uint32_t from = tree->committed + 1u; /* 0: there is no root */
    uint8_t *page = NULL;
    uint8_t frame = 0;
    tree->was_cut = from != 0 && ring->head > from;
    if (tree->was_cut && esk_pool_take(&tree->pool, &page, &frame) == ESK_OK) {
        esk_ring_take_back(ring, from, page);
        esk_pool_give(&tree->pool, frame);
    }
}

/// Counts the bad blocks, at first and when more may be.
/// Costs    a look at the mark of every block.
static void bad_count(struct esk_tree *tree) {
    struct esk_ring *ring = &tree->ring;
    uint32_t seen =
        tree->stats.program_failures + tree->stats.erase_failures + 1u;
    if (tree->bad_seen == seen) {
        return;
    }
    if (tree->bad_seen == 0) {
        torn_take_back(tree);
    }
    tree->bad_seen = seen;
    tree->bad_pages = 0;
    for (uint32_t at = 0; at < esk_ring_pages(ring); at += block_pages(tree)) {
        if (esk_ring_block_is_bad(ring, at)) {
            tree->bad_pages += block_pages(tree);
        }
    }
}

/// Pages of the region's good blocks.
static ESK_OUT_OF_LINE uint32_t good_pages(const struct esk_tree *tree) {
    return esk_ring_pages(&tree->ring) - tree->bad_pages;
}

/// Pages kept for blocks that go bad: whole ones. Media that overwrite replace
/// theirs themselves.
static uint32_t spare_pages(const struct esk_tree *tree) {
    const struct esk_geometry *geometry = &tree->volume->device->geometry;
    uint32_t block = block_pages(tree);
    if ((geometry->flags & ESK_MEDIUM_OVERWRITE) != 0) {
        return 0;
    }
    uint32_t pages = good_pages(tree) / ESK_COLLECTOR_SPARE + block;
    return pages - esk_ring_rest(&tree->ring, pages);
}

/// Windows that a lap of a wandering tree is divided into.
static uint8_t windows(const struct esk_tree *tree) {
    return esk_collector_windows(tree->layout.node_entries[1]);
}

/// Pages that a change, and one after the tree grew, can take; or what of a
/// block is not yet collected.
static uint32_t change_pages(const struct esk_tree *tree) {
    uint32_t pages = 2u * tree->now.height + 3u;
    return pages < block_pages(tree) ? block_pages(tree) : pages;
}

/// Nodes of a mu tree that leave the collector windows of one block.
static uint32_t shared_nodes_max(const struct esk_tree *tree) {
    uint32_t all = good_pages(tree);
    uint32_t kept =
        2u * block_pages(tree) + all / ESK_COLLECTOR_SLACK + change_pages(tree);
    kept += spare_pages(tree);
    return all > kept ? all - kept : 0;
}

/// Pages that a window of a wandering tree is to have.
static uint32_t window_moving(const struct esk_tree *tree) {
    uint32_t all = good_pages(tree);
    uint8_t count = windows(tree);
    uint32_t least = (uint32_t)ESK_COLLECTOR_PATHS * tree->now.height;
    /* A wide division takes a small chip three times as long. */
    uint32_t pages =
        all <= UINT16_MAX ? (uint32_t)((unsigned)all / count) : all / count;
    return pages < least ? least : pages;
}

/// Pages that one of a mu tree is to have.
static uint32_t window_shared(const struct esk_tree *tree) {
    uint32_t all = good_pages(tree);
    uint32_t most = shared_nodes_max(tree);
    uint32_t spare = most > tree->now.nodes ? most - tree->now.nodes : 0;
    uint32_t pages = (spare < all ? spare : all) / WINDOWS_SHARED;
    return pages < 1 ? 1 : pages;
}

/// Pages that a sweep empties: whole blocks.
static uint32_t window_pages(const struct esk_tree *tree) {
    uint32_t pages = block_pages(tree) - 1u;
    pages += esk_tree_shares(tree) ? window_shared(tree) : window_moving(tree);
    return pages - esk_ring_rest(&tree->ring, pages);
}

/// Pages kept free for the collector: what a sweep of `window` pages writes
/// before it frees.
static uint32_t sweep_pages(const struct esk_tree *tree, uint32_t window) {
    return window + block_pages(tree) + good_pages(tree) / ESK_COLLECTOR_SLACK;
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
        inner = 2u * tree->now.nodes / tree->layout.node_entries[1];
    }
    return windows(tree) *
           (inner + above + inner * (above - 1u) / ESK_COLLECTOR_PARENTS);
}

uint32_t esk_tree_nodes_max(const struct esk_tree *tree) {
    if (esk_tree_shares(tree)) {
        return shared_nodes_max(tree);
    }
    uint32_t all = good_pages(tree);
    uint32_t kept =
        reserve(tree) + paths_pages(tree) + all / ESK_COLLECTOR_GAIN;
    kept += change_pages(tree) + spare_pages(tree);
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
    if (tree->now.root == ESK_PAGE_NONE) {
        return esk_tree_sweep_end(tree);
    }
    if (tree->kept == NULL) {
        return tree->store->sweep(tree);
    }
    bool through = tree->kept->through;
    tree->kept->through = true;
    int status = tree->store->sweep(tree);
    tree->kept->through = through;
    return status;
}

/// Pages that are to be appended before any other.
static uint32_t kept_pages(const struct esk_tree *tree) {
    return tree->kept != NULL ? tree->kept->count : 0;
}

int esk_tree_collect_for(struct esk_tree *tree, uint32_t pages) {
    uint32_t all = esk_ring_pages(&tree->ring);
    uint32_t tail = tree->ring.tail;
    bad_count(tree);
    if (pages > good_pages(tree)) {
        return ESK_FULL;
    }
    if (tree->now.inner == UINT32_MAX && !esk_tree_shares(tree)) {
        ESK_TRY(esk_tree_inner_count(tree));
    }
    while (!esk_ring_has_room(&tree->ring,
                              pages + kept_pages(tree) + reserve(tree))) {
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
    bad_count(tree);
    uint32_t ahead = block_pages(tree) * (tree->ring.ahead + 1u);
    *done = false;
    if (tree->sweep_end == 0 &&
        esk_ring_has_room(&tree->ring,
                          ahead + kept_pages(tree) + reserve(tree))) {
        return ESK_OK;
    }
    return collect_next(tree, done);
}
