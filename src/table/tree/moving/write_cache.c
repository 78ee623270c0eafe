// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The write cache of copy-on-write trees: pages that a change would append
/// wait in their frames, pinned (mutree-2007, section 5.3).
///
///     put a    | leaf 1 | inner 1 | root |
///     put b    | leaf 1 | inner 1 |        | leaf 2 | inner 2 | root' |
///     flush    leaf 1, inner 1, leaf 2, inner 2, root'   --> ring's head
///
/// A cached page has the number of its frame as its address, which no position
/// has. So the pool finds it as it finds every page. A change works on copies,
/// as on the medium: so a change that fails has changed nothing, and a replaced
/// page leaves the cache unwritten.
///
/// Invariants
///  1. Pages are in the order in which they were made. A page refers only to
///     older pages, so they can be written in this order: each gets its
///     position, and the references in later pages are updated.
///  2. The youngest page has the root. Only this page commits, so after power
///     loss the tree is that of a complete flush.
///  3. Between changes at most `most` pages are cached, and a frame or two are
///     left for reads. A change that finds too few frames is repeated without
///     the cache, after a flush.
#include "table/tree/moving/cow.h"

static uint8_t *page_of(const struct esk_tree *tree, uint8_t frame) {
    return esk_pool_page(&tree->pool, frame);
}

static uint32_t address_of(uint8_t frame) {
    return ESK_TREE_CACHED_FIRST + frame;
}

/// Releases the page at `at` of the list; the caller closes the gap.
static void page_drop(struct esk_tree *tree, uint8_t at) {
    uint8_t frame = esk_tree_cached(tree)->pages[at].frame;
    esk_pool_forget(&tree->pool, address_of(frame));
    esk_pool_unpin(&tree->pool, frame);
}

void esk_tree_cache_written(struct esk_tree *tree, uint8_t at, uint32_t to) {
    uint8_t frame = esk_tree_cached(tree)->pages[at].frame;
    uint32_t from = address_of(frame);
    esk_pool_rename(&tree->pool, frame, from, to);
    esk_pool_unpin(&tree->pool, frame);
    tree->changes++; /* no path is valid any more */
    while (++at < esk_tree_cached(tree)->count) {
        uint8_t *page = page_of(tree, esk_tree_cached(tree)->pages[at].frame);
        uint8_t level = page[ESK_TREE_PAGE_LOW];
        level = level == 1 ? 2 : level;
        for (; level <= page[ESK_TREE_PAGE_TOP]; level++) {
            struct esk_btree_node node;
            esk_btree_view(esk_tree_layout(tree), page, level,
                           page[ESK_TREE_PAGE_HEIGHT], &node);
            for (uint16_t i = 0; i < esk_btree_count(&node); i++) {
                uint8_t *child = esk_btree_child(&node, i);
                if (esk_load_u32(child) == from) {
                    esk_store_u32(child, to);
                }
            }
        }
    }
}

void esk_tree_cache_shorten(struct esk_tree *tree, uint8_t done) {
    struct esk_tree_cached *cached = esk_tree_cached(tree);
    cached->count = (uint8_t)(cached->count - done);
    memmove(cached->pages, cached->pages + done,
            cached->count * sizeof *cached->pages);
}

static int cache_flush(struct esk_tree *tree) {
    struct esk_tree_cached *cached = esk_tree_cached(tree);
    uint8_t done = 0;
    int status = ESK_OK;
    while (done < cached->count && status == ESK_OK) {
        uint8_t frame = cached->pages[done].frame;
        esk_address to = 0;
        status = esk_tree_page_write(tree, page_of(tree, frame),
                                     tree->now.root == address_of(frame), &to);
        if (status == ESK_OK) {
            esk_tree_cache_written(tree, done, to);
            done++;
        }
    }
    esk_tree_cache_shorten(tree, done);
    return status;
}

static int cache_begin(struct esk_tree *tree, bool through) {
    struct esk_tree_cached *cached = esk_tree_cached(tree);
    uint8_t height = tree->now.height;
    uint8_t pages = height;
    if (through) {
        tree->splits = cached->splits;
        tree->merges = cached->merges;
    }
    cached->splits = tree->splits;
    cached->merges = tree->merges;
    cached->made = 0;
    cached->replaced = 0;
    cached->height = height;
    if (esk_tree_shares(tree)) {
        pages = 1;
    }
    cached->through = through || pages > cached->most;
    if (cached->count > 0) {
        /* The cached root is replaced. */
        uint8_t more = esk_tree_shares(tree) ? 1 : (uint8_t)(height - 1u);
        if (cached->through || cached->count + more > cached->most) {
            ESK_TRY(cache_flush(tree));
        }
    }
    return ESK_OK;
}

int esk_tree_cache_own(struct esk_tree *tree, struct esk_tree_work *work,
                       struct esk_btree_node *node) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    ESK_TRY(esk_pool_take(&tree->pool, &page, &frame));
    memcpy(page, work->page, esk_pool_page_bytes(&tree->pool));
    esk_tree_unpin(tree, work);
    work->page = page;
    work->frame = frame;
    work->pinned = true;
    esk_btree_view(esk_tree_layout(tree), page, work->level, tree->now.height,
                   node);
    return ESK_OK;
}

int esk_tree_cache_keep(struct esk_tree *tree, uint8_t frame, bool root,
                        esk_address *address) {
    struct esk_tree_cached *cached = esk_tree_cached(tree);
    struct esk_pool *pool = &tree->pool;
    if (cached->count - cached->replaced >= cached->most ||
        (esk_tree_is_lru_n(tree) && cached->height != tree->now.height)) {
        /* The pool will be carved again, so no page may be in it. */
        return ESK_E_NO_MEMORY;
    }
    if (tree->page != NULL && !root) {
        /* The page is changed further on the way up: cache a copy. */
        uint8_t *copy = NULL;
        ESK_TRY(esk_pool_take(pool, &copy, &frame));
        memcpy(copy, tree->page, esk_pool_page_bytes(pool));
    } else {
        esk_pool_hold(pool, frame);
    }
    *address = address_of(frame);
    esk_pool_tag(pool, frame, *address);
    cached->pages[cached->count].frame = frame;
    cached->pages[cached->count].replaced = false;
    cached->count++;
    cached->made++;
    return ESK_OK;
}

void esk_tree_cache_replace(struct esk_tree *tree, esk_address address,
                            uint8_t level) {
    struct esk_tree_cached *cached = esk_tree_cached(tree);
    for (uint8_t i = 0; i < cached->count; i++) {
        uint8_t frame = cached->pages[i].frame;
        /* A page is live as long as its lowest node (section 3.3). */
        if (address_of(frame) == address && !cached->pages[i].replaced &&
            page_of(tree, frame)[ESK_TREE_PAGE_LOW] == level) {
            cached->pages[i].replaced = true;
            cached->replaced++;
        }
    }
}

void esk_tree_cache_end(struct esk_tree *tree, bool failed) {
    struct esk_tree_cached *cached = esk_tree_cached(tree);
    uint8_t count = 0;
    uint8_t made_from = (uint8_t)(cached->count - cached->made);
    for (uint8_t i = 0; i < cached->count; i++) {
        bool goes = failed ? i >= made_from : cached->pages[i].replaced;
        if (goes) {
            page_drop(tree, i);
        } else {
            cached->pages[count].frame = cached->pages[i].frame;
            cached->pages[count].replaced = false;
            count++;
        }
    }
    cached->count = count;
    cached->made = 0;
    cached->replaced = 0;
}

void esk_tree_cache_drop(struct esk_tree *tree) {
    esk_tree_cached(tree)->made = esk_tree_cached(tree)->count;
    esk_tree_cache_end(tree, true);
}

const struct esk_tree_write_cache esk_write_cache = {
    .begin = cache_begin,
    .own = esk_tree_cache_own,
    .keep = esk_tree_cache_keep,
    .replace = esk_tree_cache_replace,
    .end = esk_tree_cache_end,
    .flush = cache_flush,
    .drop = esk_tree_cache_drop,
};
