// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The collector of trees whose nodes move: the ring's oldest blocks are
/// emptied a little with every change.
///
///     tail                              head
///     | dead | dead | LIVE | ... | live ...| erased ...
///       passed        | written anew      ^
///                     |___________________|
///
/// The oldest page is asked for in the tree, by the first key of its lowest
/// node: a page lives as long as that (mutree-2007, section 5.1). A page that
/// no path leads to is dead and passed; any other is written anew with its
/// path. So a block is given back on evidence, nothing about pages is kept in
/// RAM or on flash, and after a mount the collector goes on where the tail is.
/// Oldest first is a circle, so wear is even.
///
/// mu: a path is one program, so a page is moved when its turn comes. For the
/// changes that come while live pages lie in a row room is kept.
///
/// wandering: a path is a page a level, so leaves are moved many at a time, in
/// key order (sweep.c), each once a lap: a step is due whenever the head went
/// as far as its share of a lap. So no leaf's page is older than a lap, and the
/// tail, a lap behind, finds dead pages only. Changes need not be heard of: a
/// leaf that they displaced is younger. What all the same is live at the tail,
/// after failures, is moved there, as of mu.
///
/// A call programs two blocks at most for that (blocks of less than 16 pages
/// count for 16), as long as there is room for a change. When there is none, or
/// the sweep is late after cuts, it goes on until it is made up for.
#include "base/inline.h"
#include "table/tree/moving/cow.h"
#include "table/tree/plan/collector.h"

static ESK_OUT_OF_LINE uint32_t block_pages(const struct esk_tree *tree) {
    return esk_volume_geometry(tree->table.volume)->block_pages;
}

static uint32_t call_pages(const struct esk_tree *tree) {
    return esk_collector_call(block_pages(tree));
}

/// Whether leaves are moved in order: of mu they are not, and a root needs none
/// of it.
static bool sweeps(const struct esk_tree *tree) {
    return esk_tree_store(tree)->sweep != NULL && tree->now.height > 1;
}

/// Pages that a step of a sweep programs at most.
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

/// Looks for the page at `at` in the tree: tree->low is its first key.
/// level    out: of its lowest node; 0: it is dead.
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
        /* Children are older than their parent: there are none any more. */
        return ESK_OK;
    }
    struct esk_tree_spot spot;
    status =
        esk_tree_find(tree, &tree->path, tree->low, ESK_TREE_FIRST, 2, &spot);
    if (status == ESK_OK && spot.child == at) {
        *level = 1;
    }
    esk_tree_unpin(tree, &spot.work);
    /* What lies below a node that is lost is lost. */
    return status == ESK_E_CORRUPT ? ESK_OK : status;
}

/// Writes the page at the tail anew, whose lowest node is of `level`, with what
/// is above it.
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

/// The most pages up to `most` that a step writes so that its root is the last
/// page of a block, if that is possible: then a cut costs none, for what is
/// torn in blocks behind it is taken back.
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

/// Does a step of the sweep of `pages` pages at most, as far as there is room,
/// which is left for a change.
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
        /* What was moved must not be in a cache when its source is erased. */
        ESK_TRY(esk_region_sync(&ring->region));
    }
    esk_ring_drop(ring, position);
    return ESK_OK;
}

/// Passes the page at the tail, or has it moved, by `pages` programs at most.
/// Returns  ESK_OK; ESK_END: it is live, and `pages` is 0.
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

/// Goes on with the sweep, if that is due, or at the tail, by `pages` programs
/// at most. Nothing may wait in the write cache: pages are given up, so no tree
/// may need them but the one in effect.
static int collect_next(struct esk_tree *tree, uint32_t pages, bool due) {
    struct esk_tree_kept *kept = esk_tree_kept(tree);
    ESK_TRY(esk_tree_flush(tree));
    bool through = kept != NULL && kept->through;
    if (kept != NULL) {
        kept->through = true;
    }
    uint32_t step = step_pages(tree) + tree->now.height;
    int status = ESK_NOT_FOUND;
    if (due && pages > 0 && esk_ring_has_room(&tree->ring, step)) {
        status = sweep_move(tree, pages, NULL);
    }
    if (status == ESK_NOT_FOUND) {
        status = tail_step(tree, pages);
    }
    if (kept != NULL) {
        kept->through = through;
    }
    return status;
}

/// Pages that are to be free beside those of a change.
struct kept {
    uint32_t least; ///< always
    uint32_t ahead; ///< and before the collector rests
};

/// Of mu: for live pages, which may all lie in a row. Else: for a step, and a
/// block that goes bad, or that a cut tears.
/// batch    nothing is collected under it, but after it is.
static struct kept room_kept(struct esk_tree *tree, bool batch) {
    uint8_t height = tree->now.height;
    uint32_t block = block_pages(tree);
    struct kept kept = {.least = 0};
    if (esk_tree_store(tree)->sweep == NULL) {
        kept.least = block / 2u + 1u;
        kept.ahead = block / 2u + tree->now.nodes / call_pages(tree);
    } else {
        kept.ahead = step_pages(tree) + height + block;
        kept.least = kept.ahead * 3u / 4u;
        kept.ahead -= kept.least;
    }
    if (batch) {
        kept.least += kept.ahead;
        kept.ahead = 0;
    }
    return kept;
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
        struct kept kept = room_kept(tree, batch);
        uint32_t need = pages + esk_tree_kept_pages(tree) + kept.least;
        bool due = step_is_due(tree);
        bool room = esk_ring_has_room(ring, need + kept.ahead);
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
            left = most; /* first there is to be room, also for a cut more */
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
    struct kept kept = room_kept(tree, false);
    uint32_t pages = esk_tree_store(tree)->sweep != NULL
                         ? esk_tree_change_pages(tree) + kept.least
                         : 2u * block_pages(tree);
    bool due = step_is_due(tree);
    bool room =
        esk_ring_has_room(ring, pages + esk_tree_kept_pages(tree) + kept.ahead);
    *done = !tree->in_batch && ring->tail < ring->head && (!room || due);
    return *done ? collect_next(tree, call_pages(tree), due) : ESK_OK;
}
