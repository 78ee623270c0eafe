// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Pages for new nodes, and the repair of an interrupted split.
///
/// A page is free when no inner node names it. There is no other record, so no
/// page can leak, and a stale list cannot give away a page in use.
///
///     list   head | asked: 9 8 7 | later: 41 52 60 ..
///
/// The *list* has the pages that splits may have taken since it was written:
/// the first ESK_TREE_SPARES that were never used, or, when there are none,
/// pages that a walk over all inner nodes found free. It is written before the
/// pages are taken: one write for that many nodes. No page from `head` on was
/// ever used.
///
/// A mount reads the pages asked for, and no others. A page that its left
/// neighbour names (aux) but no parent does is an interrupted split: the mount
/// adds it to the parent. There is at most one such change; of its levels the
/// highest is linked, which makes the nodes below reachable. The pages after it
/// in the order of taking were not in use. Other pages that no node names, or
/// that cannot be read, are left to the next walk.
///
/// Cost: a mount reads the list, and a path for each page asked for. A walk
/// reads every inner node; its window covers 4 pages for each byte of a page.
#include "base/counter.h"
#include "base/inline.h"
#include "table/tree/inplace/inplace.h"

enum { LOOK_PAGES = 8 };

/// Most entries of the list; those for later are in its first half, because a
/// walk uses the other half.
static uint16_t entries_max(const struct esk_tree *tree) {
    uint16_t bytes = esk_envelope_page_bytes(&tree->ring.region.envelope);
    return (uint16_t)((bytes - ESK_TREE_LIST_BODY) / 4u);
}

static uint8_t *entry_at(uint8_t *page, uint16_t index) {
    return page + ESK_TREE_LIST_BODY + (size_t)index * 4u;
}

/// Whether page `at`, below `end`, can have a node.
static bool page_may_be_node(esk_address at, esk_address end) {
    return at >= ESK_INPLACE_FIRST && at < end;
}

/// Fields of the list's page; asked: the first ones of `count` entries.
struct list {
    esk_address head;
    uint16_t count;
    uint16_t asked;
};

/// Returns ESK_OK; ESK_E_CORRUPT; ESK_E_IO.
static int list_read(struct esk_tree *tree, uint8_t *page, struct list *list) {
    uint8_t level = 0;
    ESK_TRY(esk_inplace_read(tree, ESK_INPLACE_LIST, page, &level));
    list->head = esk_address_load(page + ESK_TREE_LIST_HEAD);
    list->asked = esk_load_u16(page + ESK_TREE_LIST_ASKED);
    list->count = esk_page_count(page);
    return level != 0 || list->count > entries_max(tree) ||
                   list->asked > list->count || list->asked > ESK_TREE_SPARES ||
                   list->head < ESK_INPLACE_FIRST ||
                   list->head > esk_inplace_end(tree)
               ? ESK_E_CORRUPT
               : ESK_OK;
}

/// Writes the list: the spares as asked for, then `later` entries of `page`,
/// from `from` on.
static int list_write(struct esk_tree *tree, uint8_t *page, uint16_t from,
                      uint16_t later) {
    const struct esk_tree_spares *spares = tree->spares;
    memmove(entry_at(page, spares->count), entry_at(page, from),
            (size_t)later * 4u);
    for (uint8_t i = 0; i < spares->count; i++) {
        esk_store_u32(entry_at(page, i), spares->page[i]);
    }
    esk_store_u32(page + ESK_TREE_LIST_HEAD, tree->ring.head);
    esk_store_u16(page + ESK_TREE_LIST_ASKED, spares->count);
    esk_store_u16(page + ESK_ENVELOPE_COUNT, (uint16_t)(spares->count + later));
    /* Splits that took earlier pages are complete before later ones begin. */
    ESK_TRY(esk_inplace_barrier(tree));
    esk_inplace_link(page, ESK_PAGE_NONE);
    ESK_TRY(esk_inplace_write(tree, ESK_INPLACE_LIST, page, 0, false));
    return esk_inplace_barrier(tree);
}

/// Adds a page, to be taken after the others.
static ESK_APART void spare_add(struct esk_tree_spares *spares,
                                esk_address at) {
    memmove(spares->page + 1, spares->page,
            spares->count * sizeof *spares->page);
    spares->page[0] = at;
    spares->count++;
}

static bool page_is_spare(const struct esk_tree_spares *spares,
                          esk_address at) {
    uint8_t i = 0;
    while (i < spares->count && spares->page[i] != at) {
        i++;
    }
    return i < spares->count;
}

/// Pages that a walk marks, a bit each.
struct window {
    uint8_t *bits;
    esk_address first;
    esk_address pages;
};

/// Marks the children of the path's node at `level`.
static int children_mark(struct esk_tree *tree, uint8_t level,
                         struct window *window) {
    struct esk_tree_work work;
    struct esk_btree_node node;
    ESK_TRY(esk_tree_work_open(tree, level, &work, &node));
    const uint8_t *child = esk_btree_child(&node, 0);
    for (uint16_t left = esk_btree_count(&node); left > 0; left--) {
        esk_address at = esk_address_load(child);
        at -= window->first;
        if (at < window->pages) {
            uint8_t *bits = window->bits + at / 8u;
            *bits = (uint8_t)(*bits | 1u << (at % 8u));
        }
        child += node.bytes;
    }
    esk_tree_unpin(tree, &work);
    return ESK_OK;
}

/// Marks every page that an inner node names. Returns ESK_OK; ESK_E_CORRUPT: a
/// node that cannot be read may name any page; ESK_E_IO.
static int nodes_mark(struct esk_tree *tree, struct window *window) {
    struct esk_tree_path *path = &tree->path;
    uint8_t level = tree->now.height;
    int status = ESK_OK;
    path->turns = 0;
    path->address[level - 1] = ESK_INPLACE_ROOT;
    while (status == ESK_OK && level > 1) {
        ESK_TRY(children_mark(tree, level, window));
        if (level > 2) {
            path->index[level - 1] = UINT16_MAX;
            level--;
        }
        status = esk_tree_turn(tree, path, &level, true, NULL, NULL);
    }
    return status == ESK_END ? ESK_OK : status;
}

/// Whether the list has entries for later: not without merging and batches,
/// where few pages that were in use become free.
static inline bool lists_later(const struct esk_tree *tree) {
    return esk_tree_batches(tree) != NULL;
}

/// Adds the free pages of the window below `end` to the spares, and those for
/// which there is no room to the `count` entries in `page`, up to `most`.
/// Returns how many pages it checked.
static esk_address window_take(const struct esk_tree *tree, uint8_t *page,
                               const struct window *window, esk_address end,
                               uint16_t most, uint16_t *count) {
    struct esk_tree_spares *spares = tree->spares;
    esk_address i = 0;
    for (; i < window->pages && window->first + i < end; i++) {
        esk_address at = window->first + i;
        bool has_room = spares->count < ESK_TREE_SPARES;
        if (!has_room && (!lists_later(tree) || *count == most)) {
            break;
        }
        if ((window->bits[i / 8u] & (1u << (i % 8u))) != 0 ||
            page_is_spare(spares, at)) {
            continue;
        }
        if (has_room) {
            spare_add(spares, at);
        } else {
            esk_store_u32(entry_at(page, *count), at);
            *count = (uint16_t)(*count + 1u);
        }
    }
    return i;
}

/// Checks every page once, or until enough free pages are found, and makes
/// these spares, and the `count` entries in `page`. Ends at a node that cannot
/// be read: it may name any page.
static int pages_search(struct esk_tree *tree, uint8_t *page, uint16_t *count) {
    struct esk_tree_spares *spares = tree->spares;
    uint16_t half =
        (uint16_t)(esk_envelope_page_bytes(&tree->ring.region.envelope) / 2u);
    uint16_t most = (uint16_t)((half - ESK_TREE_LIST_BODY) / 4u);
    uint32_t bits = half * 8u;
    esk_address pages = (esk_address)bits;
    struct window window = {.bits = page + half,
                            .pages = pages == bits ? pages : ESK_ADDRESS_NONE};
    esk_address end = tree->ring.head;
    esk_address left = end - ESK_INPLACE_FIRST; /* not checked yet */
    *count = 0;
    while (left > 0 && spares->count <= tree->now.height) {
        window.first = spares->from;
        memset(window.bits, 0, half);
        int status = nodes_mark(tree, &window);
        if (status != ESK_OK) {
            return status == ESK_E_CORRUPT ? ESK_OK : status;
        }
        esk_address looked = window_take(tree, page, &window, end, most, count);
        left -= looked < left ? looked : left;
        spares->from += looked;
        if (spares->from >= end) {
            spares->from = ESK_INPLACE_FIRST;
        }
    }
    return ESK_OK;
}

/// Moves the list's entries for later, and then pages that were never used, to
/// the spares. Returns the entry after the last one moved.
static uint16_t spares_take(struct esk_tree *tree, uint8_t *page,
                            const struct list *list) {
    struct esk_tree_spares *spares = tree->spares;
    uint16_t next = list->asked;
    esk_address end = esk_inplace_end(tree);
    if (esk_tree_in_batch(tree) && esk_tree_batch(tree)->first < end) {
        end = esk_tree_batch(tree)->first;
    }
    for (; next < list->count && spares->count < ESK_TREE_SPARES; next++) {
        esk_address at = esk_address_load(entry_at(page, next));
        if (page_may_be_node(at, tree->ring.head)) {
            spare_add(spares, at);
        }
    }
    while (tree->ring.head < end && spares->count < ESK_TREE_SPARES) {
        spare_add(spares, tree->ring.head);
        tree->ring.head++;
    }
    return next;
}

/// Fills up the spares and writes the list. `page` is scratch.
static int spares_fill(struct esk_tree *tree, uint8_t *page) {
    struct list list = {.head = 0};
    uint8_t had = tree->spares->count;
    if (lists_later(tree)) {
        int status = list_read(tree, page, &list);
        if (status == ESK_E_CORRUPT) {
            list.asked = 0;
            list.count = 0;
        } else {
            ESK_TRY(status);
        }
    }
    uint16_t next = spares_take(tree, page, &list);
    if (tree->spares->count <= tree->now.height && esk_tree_in_batch(tree)) {
        /* A page that the batch frees is in use until the commit. */
        if (tree->spares->count == had) {
            return ESK_FULL;
        }
    } else if (tree->spares->count <= tree->now.height) {
        ESK_TRY(pages_search(tree, page, &list.count));
        next = 0;
        tree->spares->none = tree->spares->count <= tree->now.height;
    }
    return list_write(tree, page, next, (uint16_t)(list.count - next));
}

int esk_inplace_refill(struct esk_tree *tree) {
    struct esk_tree_spares *spares = tree->spares;
    uint8_t *page = NULL;
    uint8_t frame = 0;
    if (spares->none || spares->count > tree->now.height) {
        return ESK_FULL;
    }
    ESK_TRY(esk_pool_take(&tree->pool, &page, &frame));
    int status = spares_fill(tree, page);
    esk_pool_give(&tree->pool, frame);
    if (status < 0) {
        tree->broken = true;
    }
    ESK_TRY(status);
    return spares->count > tree->now.height ? ESK_OK : ESK_FULL;
}

/// Reads the first key of the node on region page `at` into tree->probe. An
/// empty leaf still has the bytes of its last row.
/// level    out; 0: no node.
static int key_read(struct esk_tree *tree, esk_address at, uint8_t *level) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    struct esk_btree_node node;
    ESK_TRY(esk_pool_take(&tree->pool, &page, &frame));
    int status = esk_inplace_read(tree, at, page, level);
    if (status == ESK_OK && *level > 0) {
        esk_btree_view(esk_tree_layout_given(tree), page, *level,
                       tree->now.height, &node);
        esk_tree_key_copy(tree, tree->probe, esk_btree_key(&node, 0));
    }
    esk_pool_give(&tree->pool, frame);
    return status;
}

/// Whether the left neighbour names the node on region page `at`, and no parent
/// does. If so, tree->probe and tree->low are its key and its left neighbour's,
/// and tree->path ends at that one.
/// level    out: of the node.
/// named    out.
static ESK_APART int left_names(struct esk_tree *tree, esk_address at,
                                uint8_t *level, bool *named) {
    struct esk_tree_spot spot;
    *named = false;
    ESK_TRY(key_read(tree, at, level));
    if (*level == 0 || *level >= tree->now.height) {
        return ESK_OK;
    }
    ESK_TRY(esk_tree_find(tree, &tree->path, tree->probe, ESK_TREE_FIRST,
                          *level, &spot));
    *named = spot.work.address != at && esk_page_aux(spot.work.page) == at;
    if (*named) {
        esk_tree_key_copy(tree, tree->low, esk_btree_key(&spot.node, 0));
    }
    esk_tree_unpin(tree, &spot.work);
    return ESK_OK;
}

/// Adds the node on page `at` to its parent, after left_names.
static int node_link(struct esk_tree *tree, uint8_t level, esk_address at) {
    struct esk_tree_edit edit = {.level = (uint8_t)(level + 1u),
                                 .outcome = {.has_right = true}};
    if (esk_tree_is_read_only(tree)) {
        return ESK_E_READ_ONLY;
    }
    esk_tree_key_copy(tree, tree->pending, tree->probe);
    esk_store_u32(tree->pending + esk_tree_layout(tree)->key_bytes, at);
    return esk_tree_change(tree, &edit);
}

/// The highest level of a split took its page last.
ESK_APART_IN_ALL int
esk_inplace_split_complete(struct esk_tree *tree,
                           const struct esk_inplace_asked *asked) {
    for (uint8_t i = 0; i < asked->count; i++) {
        esk_address at = asked->page[i];
        uint8_t level = 0;
        bool named = false;
        int status = left_names(tree, at, &level, &named);
        if (status != ESK_OK && status != ESK_E_CORRUPT) {
            return status;
        }
        if (status == ESK_OK && named) {
            tree->spares->count = i;
            memcpy(tree->spares->page, asked->page, i * sizeof at);
            return node_link(tree, level, at);
        }
    }
    return ESK_OK;
}

/// Searches for nodes of a tree without a root: at its first pages, and at
/// distances that grow with them.
/// Returns ESK_OK: there are none; ESK_E_CORRUPT: the root is lost; ESK_E_IO.
static int nodes_look(struct esk_tree *tree, uint8_t *page) {
    uint8_t level = 0;
    esk_address end = esk_inplace_end(tree);
    esk_address at = ESK_INPLACE_LIST;
    while (at < end) {
        int status = esk_inplace_read(tree, at, page, &level);
        if (status != ESK_E_CORRUPT) {
            return status == ESK_OK ? ESK_E_CORRUPT : status;
        }
        esk_address step = at / LOOK_PAGES + 1;
        at = end - at > step ? at + step : end;
    }
    return ESK_OK;
}

ESK_APART int esk_inplace_pages_load(struct esk_tree *tree, uint8_t *page,
                                     struct esk_inplace_asked *asked) {
    struct list list;
    bool has_root = tree->now.root != ESK_ADDRESS_NONE;
    memset(tree->spares, 0, sizeof *tree->spares);
    tree->spares->from = ESK_INPLACE_FIRST;
    ESK_TRY(has_root ? ESK_OK : nodes_look(tree, page));
    int status = list_read(tree, page, &list);
    if (status == ESK_E_CORRUPT) {
        /* It is lost, or no split was begun yet. */
        bool lost = tree->now.height > 1;
        tree->ring.head = lost ? esk_inplace_end(tree) : ESK_INPLACE_FIRST;
        if (lost) {
            esk_count(&tree->stats.damaged);
        }
        return ESK_OK;
    }
    ESK_TRY(status);
    tree->ring.head = list.head;
    for (uint16_t i = 0; has_root && i < list.asked; i++) {
        esk_address at = esk_address_load(entry_at(page, i));
        if (page_may_be_node(at, list.head)) {
            asked->page[asked->count] = at;
            asked->count++;
        }
    }
    return ESK_OK;
}
