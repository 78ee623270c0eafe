// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The collector of copy-on-write trees: every change also empties a part of
/// the ring's oldest blocks.
///
///     tail                              head
///     | dead | dead | LIVE | ... | live ...| erased ...
///       skipped       | written again     ^
///                     |___________________|
///
/// The collector searches the oldest page in the tree, by the first key of its
/// lowest node: a page is live as long as this node is (mutree-2007, section
/// 5.1). A page that no path leads to is dead and is skipped; any other page is
/// written again, with its path. So there is no record of live pages in RAM or
/// on flash, and after a mount the collector continues at the tail. The oldest
/// block comes first, in a circle, so wear is even.
///
/// mu: a path is one program, so a page is moved when it is the oldest. Room is
/// reserved for the changes that come while live pages are in a row.
///
/// wandering: a path is one page for each level. So leaves are moved many at a
/// time, in key order (sweep.c), each once a lap: a step is due whenever the
/// head has gone on by the step's share of a lap. So no leaf's page is older
/// than a lap, and the tail, a lap behind, finds only dead pages. Leaves that
/// changes write are younger, so changes need not be recorded. A leaf that is
/// live at the tail all the same, after failures, is moved there, as for mu.
///
/// A call programs at most two blocks for this (a block of less than 16 pages
/// counts as 16). It programs more only if a change has no room, or the sweep
/// is late after power loss.
#include "base/inline.h"
#include "table/tree/moving/cow.h"
#include "table/tree/plan/collector.h"

static ESK_OUT_OF_LINE uint32_t block_pages(const struct esk_tree *tree) {
    return esk_volume_geometry(tree->table.volume)->block_pages;
}

static uint32_t call_pages(const struct esk_tree *tree) {
    return esk_collector_call(block_pages(tree));
}

/// Whether leaves are moved in key order: not for mu, nor for a tree of one
/// node.
static bool sweeps(const struct esk_tree *tree) {
    return esk_tree_store(tree)->sweep != NULL && tree->now.height > 1;
}

/// Most pages that a step of the sweep programs.
static ESK_OUT_OF_LINE uint32_t step_pages(struct esk_tree *tree) {
    uint8_t height = tree->now.height;
    if (tree->step_height != height) {
        tree->step_height = height;
        tree->step = (uint16_t)esk_collector_step(esk_tree_sure_pages(tree),
                                                  block_pages(tree), height);
    }
    return tree->step;
}

uint32_t esk_tree_nodes_max(const struct esk_tree *tree, uint8_t height) {
    uint32_t all = esk_tree_sure_pages(tree);
    uint32_t kept =
        2u * block_pages(tree) + 2u * height + 3u + all / call_pages(tree);
    if (esk_tree_store(tree)->sweep != NULL) {
        return esk_collector_swept(all, block_pages(tree), height);
    }
    return all > kept ? all - kept : 0;
}

/// Whether a step of the sweep is due.
static bool step_is_due(struct esk_tree *tree) {
    uint32_t head = tree->ring.head;
    if (!sweeps(tree)) {
        return false;
    }
    esk_tree_sweep_pace(tree);
    uint32_t lap = esk_ring_pages(&tree->ring);
    if (head > lap && tree->now.due < head - lap) {
        tree->now.due = head - lap;
    }
    return tree->now.due <= head;
}

/// Searches the page at `at` in the tree; sets tree->low to its first key.
/// level    out: of its lowest node; 0: the page is dead.
static int page_look(struct esk_tree *tree, uint32_t at, uint8_t *level) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    bool named = false;
    *level = 0;
    ESK_TRY(esk_pool_take(&tree->pool, &page, &frame));
    int status = esk_ring_read(&tree->ring, at, page, true);
    uint8_t low = page[ESK_TREE_PAGE_LOW];
    uint8_t height = page[ESK_TREE_PAGE_HEIGHT];
    if (status == ESK_OK && low > 0 && low <= height &&
        height <= esk_tree_layout(tree)->height_max &&
        low <= tree->now.height) {
        struct esk_btree_node node;
        esk_btree_view(esk_tree_layout(tree), page, low, height, &node);
        uint16_t count = esk_btree_count(&node);
        named = count > 0 && count <= node.capacity;
        if (named) {
            memcpy(tree->low, esk_btree_key(&node, 0),
                   esk_tree_layout(tree)->key_bytes);
        }
    }
    esk_pool_give(&tree->pool, frame);
    if (status == ESK_E_IO) {
        return status;
    }
    if (at == tree->now.root && (low == tree->now.height || !named)) {
        *level = tree->now.height;
        return ESK_OK;
    }
    if (!named || low > 1 || tree->now.height == 1) {
        /* Children are older than their parent: none are left. */
        return ESK_OK;
    }
    struct esk_tree_spot spot;
    status =
        esk_tree_find(tree, &tree->path, tree->low, ESK_TREE_FIRST, 2, &spot);
    if (status == ESK_OK && spot.child == at) {
        *level = 1;
    }
    esk_tree_unpin(tree, &spot.work);
    /* Nodes below a lost node are lost. */
    return status == ESK_E_CORRUPT ? ESK_OK : status;
}

/// Writes the page at the tail again, whose lowest node is of `level`, with the
/// nodes above it.
static int path_move(struct esk_tree *tree, uint8_t level) {
    struct esk_tree_edit edit = {.level = level};
    struct esk_tree_state before = tree->now;
    uint32_t at = tree->ring.tail;
    int status = ESK_OK;
    ESK_TRY(esk_tree_take(tree));
    if (level < tree->now.height) {
        status = esk_tree_descend(tree, &tree->path, tree->low, ESK_TREE_FIRST,
                                  (uint8_t)(level + 1u));
    }
    if (status == ESK_OK) {
        status = esk_tree_page_verify(tree, at);
    }
    if (status == ESK_OK) {
        tree->path.address[level - 1] = at;
        status =
            esk_tree_extend(tree, &tree->path, ESK_TREE_FIRST, level, level);
    }
    if (status == ESK_OK) {
        status = esk_tree_change(tree, &edit);
        tree->moved++;
    }
    esk_tree_change_end(tree, status, &before);
    return status == ESK_E_CORRUPT ? ESK_OK : status;
}

/// The most pages up to `most` of a step whose root is the last page of a
/// block, if possible: torn pages in later blocks can be erased, so power loss
/// then costs no room.
static uint32_t whole_pages(const struct esk_tree *tree, uint32_t most) {
    uint32_t block = block_pages(tree);
    uint32_t whole = block - esk_ring_rest(&tree->ring, tree->ring.head);
    if (whole > most) {
        return most;
    }
    whole = most - (most - whole) % block;
    uint32_t least = ESK_COLLECTOR_STEP_LEAST;
    return whole < tree->now.height + least ? most : whole;
}

/// Does a step of the sweep of at most `pages` pages, fewer if a change would
/// have no room after it.
/// tail     as esk_tree_sweep.
static int sweep_move(struct esk_tree *tree, uint32_t pages,
                      const struct esk_tree_path *tail) {
    uint8_t height = tree->now.height;
    uint32_t most = step_pages(tree);
    pages = pages < most ? pages : most;
    while (
        pages > height &&
        !esk_ring_has_room(&tree->ring, pages + esk_tree_change_pages(tree))) {
        pages--;
    }
    return pages <= height
               ? ESK_NOT_FOUND
               : esk_tree_sweep(tree, (uint16_t)whole_pages(tree, pages), tail);
}

int esk_tree_tail_drop(struct esk_tree *tree, uint32_t position) {
    struct esk_ring *ring = &tree->ring;
    if (esk_ring_block_from(ring, ring->tail + 1u) <= position) {
        /* Moved pages must be durable before their source is erased. */
        ESK_TRY(esk_region_sync(&ring->region));
    }
    esk_ring_drop(ring, position);
    return ESK_OK;
}

/// Skips the page at the tail, or moves it, by `pages` programs at most.
/// Returns  ESK_OK; ESK_END: the page is live, and `pages` is 0.
static int tail_step(struct esk_tree *tree, uint32_t pages) {
    struct esk_ring *ring = &tree->ring;
    uint8_t level = 0;
    ESK_TRY(page_look(tree, ring->tail, &level));
    if (level > 0 && pages == 0) {
        return ESK_END;
    }
    if (level == 1 && sweeps(tree)) {
        struct esk_tree_path tail = tree->path;
        int status = sweep_move(tree, pages, &tail);
        if (status != ESK_NOT_FOUND) {
            return status;
        }
    }
    if (level > 0) {
        ESK_TRY(path_move(tree, level));
    }
    return esk_tree_tail_drop(tree, esk_ring_skip(ring, ring->tail));
}

/// Continues the sweep if a step is due, else at the tail, by `pages` programs
/// at most. Flushes the write cache first: only the committed tree's pages
/// survive a collection.
static int collect_next(struct esk_tree *tree, uint32_t pages, bool due) {
    struct esk_tree_cached *cached = esk_tree_cached(tree);
    ESK_TRY(esk_tree_flush(tree));
    bool through = cached != NULL && cached->through;
    if (cached != NULL) {
        cached->through = true;
    }
    uint32_t step = step_pages(tree) + tree->now.height;
    int status = ESK_NOT_FOUND;
    if (due && pages > 0 && esk_ring_has_room(&tree->ring, step)) {
        status = sweep_move(tree, pages, NULL);
    }
    if (status == ESK_NOT_FOUND) {
        status = tail_step(tree, pages);
    }
    if (cached != NULL) {
        cached->through = through;
    }
    return status;
}

/// Pages to keep free beside those of a change.
struct reserve {
    uint32_t least; ///< always
    uint32_t ahead; ///< more, before the collector stops
};

/// For mu: room for live pages, which may all be in a row. For wandering: for a
/// step, and for a block that goes bad or is torn by power loss.
/// batch    nothing is collected during a batch, but after it.
static struct reserve room_reserve(struct esk_tree *tree, bool batch) {
    uint8_t height = tree->now.height;
    uint32_t block = block_pages(tree);
    struct reserve reserve = {.least = 0};
    if (esk_tree_store(tree)->sweep == NULL) {
        reserve.least = block / 2u + 1u;
        reserve.ahead = block / 2u + tree->now.nodes / call_pages(tree);
    } else {
        reserve.ahead = step_pages(tree) + height + block;
        reserve.least = reserve.ahead * 3u / 4u;
        reserve.ahead -= reserve.least;
    }
    if (batch) {
        reserve.least += reserve.ahead;
        reserve.ahead = 0;
    }
    return reserve;
}

int esk_tree_collect_for(struct esk_tree *tree, uint32_t pages) {
    struct esk_ring *ring = &tree->ring;
    uint32_t first = tree->stats.programs;
    uint32_t looks = 2u * esk_ring_pages(ring);
    uint32_t most = call_pages(tree);
    uint32_t least = esk_tree_store(tree)->sweep != NULL ? most / 2u : 1u;
    bool batch = tree->in_batch || pages > esk_tree_change_pages(tree);
    esk_tree_bad_count(tree);
    if (pages > esk_tree_good_pages(tree)) {
        return ESK_FULL;
    }
    for (;;) {
        struct reserve reserve = room_reserve(tree, batch);
        uint32_t need = pages + esk_tree_cached_pages(tree) + reserve.least;
        bool due = step_is_due(tree);
        bool room = esk_ring_has_room(ring, need + reserve.ahead);
        if (room && !due) {
            return ESK_OK;
        }
        bool may = esk_ring_has_room(ring, need);
        if (tree->in_batch || looks == 0 || ring->tail == ring->head) {
            return may ? ESK_OK : ESK_FULL;
        }
        uint32_t done = tree->stats.programs - first;
        uint32_t left = done + least <= most ? most - done : 0;
        tree->was_cut = tree->was_cut && due;
        bool late = tree->was_cut && ring->head > tree->now.due + most / 2u;
        if (left == 0 && room && !late) {
            return ESK_OK;
        }
        if (!may || late) {
            left = most; /* first make room, also for another power loss */
        }
        int status = collect_next(tree, left, due && may);
        if (status != ESK_OK) {
            return status == ESK_END ? ESK_OK : status;
        }
        looks--;
    }
}

int esk_tree_collect_step(void *context, bool *done) {
    struct esk_tree *tree = context;
    struct esk_ring *ring = &tree->ring;
    esk_tree_bad_count(tree);
    struct reserve reserve = room_reserve(tree, false);
    uint32_t pages = esk_tree_store(tree)->sweep != NULL
                         ? esk_tree_change_pages(tree) + reserve.least
                         : 2u * block_pages(tree);
    bool due = step_is_due(tree);
    bool room = esk_ring_has_room(ring, pages + esk_tree_cached_pages(tree) +
                                            reserve.ahead);
    *done = !tree->in_batch && ring->tail < ring->head && (!room || due);
    return *done ? collect_next(tree, call_pages(tree), due) : ESK_OK;
}
