// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Merging where nodes keep their page, and the pages that it frees.
///
///     root's aux -> list | free | free | ... | in doubt .. |  aux -> free
///
/// Right into left is three writes: the list, which names the right node's
/// page in doubt; the left node with the entries of both; the parent without
/// the right one. After a cut the next mount looks at the pages in doubt, as
/// it does at those that were made last. Such a page is
///
///     below a parent whose child before it reaches into it: the parent was
///         not written, and is now;
///     below a parent, else: in use;
///     named by its left neighbour alone: a split, and the parent is told;
///     named by nobody: free.
///
/// Merges are completed before any page is found free, the highest first.
///
/// So it may be taken again without a write: a page in doubt that a split
/// takes is in use as soon as its parent says so. When no page is left that
/// was never used, as many as a split can take are put in doubt at once.
///
/// Invariant: a node's aux is the node to its right, or none. A joined node
/// has the aux of the right one, so no aux leads to a page that is free.
///
/// A list that is full goes on in a page of its own; the first page of it
/// stays where it is, so the root names it once.
///
/// A page of the list that is lost takes along what it and those behind it
/// named, and no row: the list goes on without, on the same first page.
#include "table/tree/inplace/inplace.h"
#include "table/tree/tree_merge.h"

/// Pages that a list's page names for sure, at most.
static uint16_t listed_max(const struct esk_tree *tree) {
    uint16_t bytes = tree->ring.region.envelope.page_bytes;
    return (uint16_t)((bytes - ESK_TREE_FREE_BODY) / 4u - ESK_TREE_SPARES_MAX);
}

static uint8_t *entry_at(uint8_t *page, uint16_t index) {
    return page + ESK_TREE_FREE_BODY + (size_t)index * 4u;
}

/// Whether `at` can be a page that was a node.
static bool page_is_node(const struct esk_tree *tree, uint32_t at) {
    return at >= ESK_INPLACE_FIRST && at < tree->ring.head &&
           at != tree->free->list;
}

/// Reads the list's page at `at`. listed, doubts: out, its entries.
/// Returns ESK_OK; ESK_E_CORRUPT; ESK_E_IO.
static int list_read(struct esk_tree *tree, uint32_t at, uint8_t *page,
                     uint16_t *listed, uint16_t *doubts) {
    uint8_t level = 0;
    ESK_TRY(esk_inplace_read(tree, at, page, true, &level));
    uint16_t count = esk_page_count(page);
    *doubts = esk_load_u16(page + ESK_TREE_FREE_DOUBTS);
    *listed = (uint16_t)(count - *doubts);
    return level != 0 || *doubts > count || *doubts > ESK_TREE_SPARES_MAX ||
                   *listed > listed_max(tree)
               ? ESK_E_CORRUPT
               : ESK_OK;
}

/// Writes the list: what `page` names for sure, and what is in doubt.
static int list_write(struct esk_tree *tree, uint8_t *page, uint16_t listed,
                      uint32_t link) {
    struct esk_tree_free *free = tree->free;
    uint8_t doubts = (uint8_t)(free->spares + free->leaving);
    for (uint8_t i = 0; i < doubts; i++) {
        esk_store_u32(entry_at(page, (uint16_t)(listed + i)), free->page[i]);
    }
    esk_store_u32(page + ESK_TREE_FREE_BEHIND, free->behind);
    free->made = tree->ring.head + (tree->ring.head == free->list ? 1u : 0u);
    esk_store_u32(page + ESK_TREE_FREE_MADE, free->made);
    esk_store_u32(page + ESK_TREE_FREE_DOUBTS, doubts);
    esk_store_u16(page + ESK_ENVELOPE_COUNT, (uint16_t)(listed + doubts));
    free->listed = listed;
    /* What it says of pages that were taken is so before it says it, and what
       it puts in doubt is there before that changes. */
    ESK_TRY(esk_inplace_settle(tree));
    ESK_TRY(esk_inplace_write(tree, free->list, page, 0, link));
    return esk_inplace_settle(tree);
}

/// A page of the list cannot be read: what it and those behind it named is
/// lost. listed, link: out, the list without.
static void list_lose(struct esk_tree *tree, uint16_t *listed, uint32_t *link) {
    tree->stats.damaged++;
    tree->free->behind = 0;
    *listed = 0;
    *link = ESK_PAGE_NONE;
}

/// Reads the list's first page. One that is lost is empty.
/// Returns ESK_OK; ESK_E_IO.
static int list_open(struct esk_tree *tree, uint8_t *page, uint16_t *listed,
                     uint16_t *doubts, uint32_t *link) {
    struct esk_tree_free *free = tree->free;
    int status = list_read(tree, free->list, page, listed, doubts);
    if (status == ESK_E_CORRUPT) {
        list_lose(tree, listed, link);
        *doubts = 0;
        free->made = free->list + 1u;
        return ESK_OK;
    }
    *link = esk_page_aux(page);
    free->behind = esk_load_u32(page + ESK_TREE_FREE_BEHIND);
    free->made = esk_load_u32(page + ESK_TREE_FREE_MADE);
    return status;
}

/// Puts one page more on the list for sure, in `page`. A full list first
/// moves to that page.
static int list_add(struct esk_tree *tree, uint8_t *page, uint16_t *listed,
                    uint32_t *link, uint32_t added) {
    struct esk_tree_free *free = tree->free;
    if (*listed == listed_max(tree)) {
        esk_store_u32(page + ESK_TREE_FREE_BEHIND, free->behind);
        esk_store_u32(page + ESK_TREE_FREE_DOUBTS, 0);
        esk_store_u16(page + ESK_ENVELOPE_COUNT, *listed);
        ESK_TRY(esk_inplace_write(tree, added, page, 0, *link));
        free->behind += *listed + 1u;
        *link = added;
        *listed = 0;
        return ESK_OK;
    }
    esk_store_u32(entry_at(page, *listed), added);
    *listed = (uint16_t)(*listed + 1u);
    return ESK_OK;
}

/// Puts the spares that no split needs on the list for sure: the fewer are in
/// doubt, the fewer a mount looks at.
static int spares_drop(struct esk_tree *tree, uint8_t *page, uint16_t *listed,
                       uint32_t *link) {
    struct esk_tree_free *free = tree->free;
    uint8_t kept = (uint8_t)(free->used ? tree->now.height + 1u : 0);
    while (free->spares > kept) {
        ESK_TRY(list_add(tree, page, listed, link, free->page[0]));
        free->spares--;
        memmove(free->page, free->page + 1,
                (ESK_TREE_SPARES_MAX - 1u) * sizeof *free->page);
    }
    return ESK_OK;
}

/// The root says where the list is.
static int list_name(struct esk_tree *tree, uint8_t *page) {
    uint8_t level = 0;
    ESK_TRY(esk_inplace_read(tree, ESK_INPLACE_ROOT, page, true, &level));
    return esk_inplace_write(tree, ESK_INPLACE_ROOT, page, level,
                             tree->free->list);
}

/// Names `page_freed` in doubt; `page` is scratch.
static int page_doubt(struct esk_tree *tree, uint32_t page_freed,
                      uint8_t *page) {
    struct esk_tree_free *free = tree->free;
    bool is_new = free->list == ESK_PAGE_NONE;
    uint16_t listed = 0;
    uint16_t doubts = 0;
    uint32_t link = ESK_PAGE_NONE;
    if (is_new) {
        free->list = tree->ring.head;
    } else {
        ESK_TRY(list_open(tree, page, &listed, &doubts, &link));
    }
    ESK_TRY(spares_drop(tree, page, &listed, &link));
    free->page[free->spares + free->leaving] = page_freed;
    free->leaving++;
    ESK_TRY(list_write(tree, page, listed, link));
    if (!is_new) {
        return ESK_OK;
    }
    tree->ring.head++;
    return list_name(tree, page);
}

/// Says on flash that the node on `freed` may be about to go.
static int page_leaves(struct esk_tree *tree, uint32_t freed) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    esk_pool_forget(&tree->pool, freed);
    ESK_TRY(esk_pool_take(&tree->pool, &page, &frame));
    int status = page_doubt(tree, freed, page);
    esk_pool_give(&tree->pool, frame);
    return status;
}

/// Takes a level off a root whose two children were joined: the entries of
/// the one that is left come up. It has two of them, or is a leaf.
static int root_shrink(struct esk_tree *tree, struct esk_tree_work *work,
                       struct esk_btree_node *node) {
    struct esk_tree_work below;
    struct esk_btree_node from;
    uint8_t level = (uint8_t)(work->level - 1u);
    if (level == 0 || esk_btree_count(node) > 1) {
        return ESK_OK;
    }
    uint32_t child = esk_load_u32(esk_btree_child(node, 0));
    ESK_TRY(esk_tree_pin(tree, child, level, &below, &from));
    tree->now.height = level;
    work->level = level;
    esk_btree_view(&tree->layout, work->page, level, level, node);
    esk_store_u16(node->count, 0);
    esk_btree_join(node, 0, &from);
    esk_tree_unpin(tree, &below);
    return page_leaves(tree, child);
}

static int inplace_join(struct esk_tree *tree, struct esk_tree_work *work,
                        struct esk_btree_node *node,
                        struct esk_tree_edit *edit) {
    struct esk_tree_free *free = tree->free;
    struct esk_tree_joined joined;
    if (free->repairs || free->leaving == ESK_BTREE_HEIGHT_MAX - 1u) {
        return ESK_OK;
    }
    if (work->level == tree->now.height) {
        return root_shrink(tree, work, node);
    }
    bool room = free->list != ESK_PAGE_NONE ||
                tree->ring.head < esk_ring_pages(&tree->ring);
    if (!room || !esk_tree_join(tree, work, node, &joined)) {
        return ESK_OK;
    }
    edit->right_gone = true;
    if (joined.right) {
        esk_store_u32(work->page + ESK_ENVELOPE_AUX, joined.link);
        return page_leaves(tree, joined.address);
    }
    /* The left one's page is the node's now. */
    uint32_t freed = work->address;
    work->address = joined.address;
    tree->path.address[work->level - 1] = joined.address;
    return page_leaves(tree, freed);
}

/// Puts `wanted` pages in doubt that were free for sure.
static int spares_fetch(struct esk_tree *tree, uint8_t wanted, uint8_t *page) {
    struct esk_tree_free *free = tree->free;
    uint16_t listed = 0;
    uint16_t doubts = 0;
    uint32_t link = ESK_PAGE_NONE;
    int status = list_open(tree, page, &listed, &doubts, &link);
    while (status == ESK_OK && free->spares < wanted) {
        uint32_t at = link;
        if (listed > 0) {
            listed--;
            at = esk_load_u32(entry_at(page, listed));
        } else if (link == ESK_PAGE_NONE) {
            break;
        } else {
            status = list_read(tree, at, page, &listed, &doubts);
            link = esk_page_aux(page);
            free->behind = esk_load_u32(page + ESK_TREE_FREE_BEHIND);
        }
        if (status == ESK_OK && !page_is_node(tree, at)) {
            status = ESK_E_CORRUPT;
        }
        if (status == ESK_OK) {
            free->page[free->spares] = at;
            free->spares++;
        }
    }
    if (status == ESK_E_CORRUPT) {
        list_lose(tree, &listed, &link);
        status = ESK_OK;
    }
    /* Also when some was lost: what was taken is not on it for sure. */
    ESK_TRY(status);
    return list_write(tree, page, listed, link);
}

/// What the change before gave back may be taken now.
static int inplace_merge_begin(struct esk_tree *tree) {
    struct esk_tree_free *free = tree->free;
    uint8_t *page = NULL;
    uint8_t frame = 0;
    uint8_t wanted = (uint8_t)(tree->now.height + 1u);
    free->spares = (uint8_t)(free->spares + free->leaving);
    free->leaving = 0;
    free->repairs = false;
    /* A page stays for the list. */
    free->used =
        tree->ring.head + wanted + (free->list == ESK_PAGE_NONE ? 1u : 0u) >
        esk_ring_pages(&tree->ring);
    if (!free->used || free->spares >= wanted ||
        (free->listed == 0 && free->behind == 0)) {
        return ESK_OK;
    }
    ESK_TRY(esk_pool_take(&tree->pool, &page, &frame));
    int status = spares_fetch(tree, wanted, page);
    esk_pool_give(&tree->pool, frame);
    tree->broken = status != ESK_OK;
    return status;
}

/// Removes the path's node at `level` from its parent if the node before it
/// has its entries.
static int join_complete(struct esk_tree *tree, uint8_t level) {
    struct esk_tree_work work;
    struct esk_btree_node node;
    struct esk_tree_edit edit = {.kind = ESK_TREE_EDIT_LINK,
                                 .level = (uint8_t)(level + 1u),
                                 .right_gone = true};
    uint16_t index = tree->path.index[level];
    if (index == 0) {
        return ESK_OK;
    }
    uint32_t parent = tree->path.address[level];
    ESK_TRY(esk_tree_pin(tree, parent, edit.level, &work, &node));
    memcpy(tree->low, esk_btree_key(&node, index), tree->layout.key_bytes);
    uint32_t left = esk_tree_child(&node, (uint16_t)(index - 1u), parent);
    esk_tree_unpin(tree, &work);
    int status = esk_tree_pin(tree, left, level, &work, &node);
    if (status != ESK_OK) {
        return status == ESK_E_CORRUPT ? ESK_OK : status;
    }
    uint16_t count = esk_btree_count(&node);
    bool joined = count > 0 && esk_btree_compare(
                                   &tree->layout,
                                   esk_btree_key(&node, (uint16_t)(count - 1u)),
                                   tree->low) >= 0;
    esk_tree_unpin(tree, &work);
    if (!joined) {
        return ESK_OK;
    }
    if (esk_tree_is_read_only(tree)) {
        return ESK_E_READ_ONLY;
    }
    tree->path.index[level] = (uint16_t)(index - 1u);
    return esk_tree_change(tree, &edit);
}

/// Frees a page in doubt that nobody names, or completes its split.
static int doubt_settle(struct esk_tree *tree, uint32_t at) {
    struct esk_tree_free *free = tree->free;
    enum esk_inplace_name name;
    uint8_t level = 0;
    ESK_TRY(esk_inplace_named(tree, at, &level, &name));
    if (name == ESK_INPLACE_LEFT) {
        return esk_inplace_link(tree, level, at);
    }
    if (name == ESK_INPLACE_NOBODY) {
        esk_pool_forget(&tree->pool, at);
        free->page[free->spares] = at;
        free->spares++;
    }
    return ESK_OK;
}

/// What the list has in doubt, in the order in which merges left it. Splits
/// take the last first. So of an interrupted merge the highest is the last,
/// and of an interrupted split the first.
struct doubts {
    uint32_t page[ESK_TREE_SPARES_MAX];
    uint16_t count;
};

/// Reads the list.
static int doubts_read(struct esk_tree *tree, struct doubts *doubts,
                       uint8_t *page) {
    struct esk_tree_free *free = tree->free;
    uint16_t listed = 0;
    uint16_t count = 0;
    uint32_t link = ESK_PAGE_NONE;
    ESK_TRY(list_open(tree, page, &listed, &count, &link));
    free->listed = listed;
    /* Free pages at the end have no parent: damaged, they look as if they were
       never used. */
    if (free->made > tree->ring.head &&
        free->made <= esk_ring_pages(&tree->ring)) {
        tree->ring.head = free->made;
    }
    for (uint16_t i = 0; i < count; i++) {
        uint32_t at = esk_load_u32(entry_at(page, (uint16_t)(listed + i)));
        if (page_is_node(tree, at)) {
            doubts->page[doubts->count] = at;
            doubts->count++;
        }
    }
    return ESK_OK;
}

/// Raises `highest` to the level of the node at `at` if only its left
/// neighbour names it. level, name: out.
static int split_look(struct esk_tree *tree, uint32_t at, uint8_t *highest,
                      uint8_t *level, enum esk_inplace_name *name) {
    ESK_TRY(esk_inplace_named(tree, at, level, name));
    if (*name == ESK_INPLACE_LEFT && *level > *highest) {
        *highest = *level;
    }
    return ESK_OK;
}

/// Completes the merges of pages in doubt, and looks for splits. A node that
/// goes takes its entries along, so what it names is in use only if it stays:
/// the highest comes first.
static int doubts_join(struct esk_tree *tree, const struct doubts *doubts,
                       uint8_t *highest) {
    for (uint16_t i = doubts->count; i > 0; i--) {
        enum esk_inplace_name name;
        uint8_t level = 0;
        ESK_TRY(split_look(tree, doubts->page[i - 1u], highest, &level, &name));
        if (name == ESK_INPLACE_PARENT) {
            ESK_TRY(join_complete(tree, level));
        }
    }
    return ESK_OK;
}

/// Completes what was interrupted. A node that is below no parent yet hides
/// those below itself: they would be taken for free, or for new. So the set of
/// pages that has the highest such node comes first.
static int interrupted_complete(struct esk_tree *tree,
                                const struct doubts *doubts) {
    struct esk_tree_free *free = tree->free;
    uint8_t wanted = (uint8_t)(tree->now.height + 1u);
    enum esk_inplace_name name;
    uint8_t level = 0;
    uint8_t in_made = 0;
    uint8_t in_doubt = 0;
    uint32_t at = tree->ring.head;
    uint8_t named = 0;
    while (named <= wanted && at > ESK_INPLACE_FIRST && at > free->made) {
        at--;
        ESK_TRY(split_look(tree, at, &in_made, &level, &name));
        named = (uint8_t)(named + (name != ESK_INPLACE_NOBODY ? 1u : 0u));
    }
    ESK_TRY(doubts_join(tree, doubts, &in_doubt));
    if (in_made > in_doubt) {
        ESK_TRY(esk_inplace_repair_made(tree));
    }
    free->used = tree->ring.head + wanted > esk_ring_pages(&tree->ring);
    /* From those that were not taken on to what was taken first. */
    for (uint16_t i = 0; i < doubts->count; i++) {
        ESK_TRY(doubt_settle(tree, doubts->page[i]));
    }
    free->used = false;
    return in_made > in_doubt ? ESK_OK : esk_inplace_repair_made(tree);
}

static int inplace_merge_repair(struct esk_tree *tree) {
    struct esk_tree_free *free = tree->free;
    struct doubts doubts = {.count = 0};
    uint8_t *page = NULL;
    uint8_t frame = 0;
    uint32_t list = free->list;
    memset(free, 0, sizeof *free);
    free->list = ESK_PAGE_NONE;
    if (list >= ESK_INPLACE_FIRST && list < esk_ring_pages(&tree->ring)) {
        free->list = list;
        /* It has no parent either. */
        tree->ring.head = tree->ring.head > list ? tree->ring.head : list + 1u;
        ESK_TRY(esk_pool_take(&tree->pool, &page, &frame));
        int status = doubts_read(tree, &doubts, page);
        esk_pool_give(&tree->pool, frame);
        ESK_TRY(status);
    }
    free->repairs = true;
    ESK_TRY(interrupted_complete(tree, &doubts));
    return esk_tree_is_read_only(tree) ? ESK_OK : esk_inplace_settle(tree);
}

static uint32_t inplace_pages_free(const struct esk_tree *tree) {
    const struct esk_tree_free *free = tree->free;
    return free->behind + free->listed + free->spares + free->leaving +
           (free->list != ESK_PAGE_NONE ? 1u : 0u);
}

const struct esk_tree_merge esk_merge_inplace = {
    .join = inplace_join,
    .begin = inplace_merge_begin,
    .repair = inplace_merge_repair,
    .pages_free = inplace_pages_free,
    .state_bytes = sizeof(struct esk_tree_free),
    .flags = ESK_STORE_OVERWRITES,
};
