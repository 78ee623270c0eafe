// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Stores in place: the medium overwrites pages.
///
/// A change writes its leaf in place. A split writes the right node to a new
/// page, then the left one with a link to it (in the page's aux), then the
/// parent. The root's page never changes: when the root splits, its halves are
/// written to new pages, and the root last. Power loss in between loses
/// nothing: the list names the new page. If the left node names it too, the
/// mount adds it to the parent; else nothing refers to it (inplace_pages.c).
///
/// After power loss a page is the old one or the new one: the medium writes
/// pages atomically, or (esk_store_journaled) each page is first written to
/// page 0, a journal of one page that is its own record. The mount writes a
/// valid page from there to its place again; a read-only mount reads it there.
///
/// Nodes are not merged and empty leaves stay, as in btree-2022, unless the
/// program names merging: inplace_merge.c.
#include "table/tree/inplace/inplace.h"

#include "base/counter.h"
#include "base/inline.h"
#include "table/tree/plan/collector.h"

static bool has_journal(const struct esk_tree *tree) {
    return esk_tree_store(tree)->id == ESK_STORE_JOURNALED;
}

/// The device page to read for region page `at`: its own, a slot, or page 0.
static inline esk_address page_from(struct esk_tree *tree, esk_address at) {
    esk_address from = at;
    if (esk_tree_redirects(tree)) {
        from = esk_tree_batches(tree)->find(tree, at);
    }
    if (has_journal(tree) && at == tree->redo) {
        from = ESK_INPLACE_JOURNAL;
    }
    return esk_ring_first(&tree->ring) + from;
}

/// Reads region page `at`, of any kind. As esk_region_read, but an erased page
/// is ESK_E_CORRUPT.
static int page_read(struct esk_tree *tree, esk_address at, uint32_t sequence,
                     uint8_t *page) {
    struct esk_region *region = &tree->ring.region;
    int status =
        esk_region_read(region, page_from(tree, at), sequence, page, true);
    return status == ESK_NOT_FOUND ? ESK_E_CORRUPT : status;
}

int esk_inplace_read(struct esk_tree *tree, esk_address at, uint8_t *page,
                     uint8_t *level) {
    bool journal = at == ESK_INPLACE_JOURNAL;
    ESK_TRY(page_read(tree, at, journal ? ESK_SEQUENCE_ANY : at, page));
    *level = (uint8_t)(page[ESK_ENVELOPE_KIND] - ESK_PAGE_NODE);
    return *level > (journal ? ESK_INPLACE_RECORD : ESK_TREE_HEIGHT_MAX)
               ? ESK_E_CORRUPT
               : ESK_OK;
}

int esk_inplace_slot_read(struct esk_tree *tree, esk_address at, uint8_t *page,
                          esk_address *home) {
    ESK_TRY(page_read(tree, at, ESK_SEQUENCE_ANY, page));
    *home = esk_address_load(page + ESK_ENVELOPE_SEQUENCE);
    return *home == ESK_INPLACE_JOURNAL || *home >= at ? ESK_E_CORRUPT : ESK_OK;
}

static bool load_verifies(const struct esk_tree *tree) {
    return (esk_volume_flags(tree->table.volume) & ESK_MOUNT_TRUST_LOADS) == 0;
}

/// Whether `page` has a node of the wanted level.
static bool load_is_of(const struct esk_tree_load *load, const uint8_t *page) {
    return page[ESK_ENVELOPE_KIND] == ESK_PAGE_NODE + load->level;
}

/// inplace_load. status: as for esk_region_read_from.
static ESK_OUT_OF_LINE_WHERE_FAST int
load_from(const struct esk_tree_load *load, esk_tag tag, uint8_t *page,
          int status) {
    struct esk_tree *tree = load->tree;
    struct esk_region *region = &tree->ring.region;
    bool verify = load_verifies(tree);
    if (tag >= esk_ring_pages(&tree->ring)) {
        status = ESK_E_CORRUPT;
    } else {
        status = esk_region_read_from(region, page_from(tree, tag), tag, page,
                                      verify, status);
    }
    if (status == ESK_OK && load_is_of(load, page)) {
        return ESK_OK;
    }
    esk_count(&tree->stats.damaged);
    return status == ESK_E_IO ? status : ESK_E_CORRUPT;
}

static int inplace_load(void *context, esk_tag tag, uint8_t *page) {
    const struct esk_tree_load *load = context;
    struct esk_tree *tree = load->tree;
    int status = ESK_AGAIN;
    if (ESK_FAST && tag < esk_ring_pages(&tree->ring)) {
        const struct esk_region *region = &tree->ring.region;
        status = esk_region_read_once(region, page_from(tree, tag), page);
        if (status == ESK_OK && load_is_of(load, page) &&
            esk_region_is_valid(region, tag, page, load_verifies(tree))) {
            return ESK_OK;
        }
    }
    return load_from(load, tag, page, status);
}

int esk_inplace_program(struct esk_tree *tree, esk_address at,
                        const uint8_t *page) {
    const struct esk_region *region = &tree->ring.region;
    esk_count(&tree->stats.programs);
    int status =
        esk_region_program(region, esk_ring_first(&tree->ring) + at, page, 0,
                           esk_envelope_page_bytes(&region->envelope));
    return status == ESK_E_MEDIUM ? ESK_E_WORN : status;
}

/// Writes the page to the journal: when that is durable, it may be torn in its
/// place.
static ESK_OUT_OF_LINE_WHERE_FAST int journal_write(struct esk_tree *tree,
                                                    const uint8_t *page) {
    const struct esk_region *region = &tree->ring.region;
    /* The page in the journal must be durable in its place first. */
    ESK_TRY(esk_region_barrier(region));
    ESK_TRY(esk_inplace_program(tree, ESK_INPLACE_JOURNAL, page));
    return esk_region_barrier(region);
}

int esk_inplace_write(struct esk_tree *tree, esk_address at, uint8_t *page,
                      uint8_t level, bool fresh) {
    const struct esk_region *region = &tree->ring.region;
    esk_store_u32(page + ESK_ENVELOPE_SEQUENCE, at);
    esk_envelope_close_as(&region->envelope, (uint8_t)(ESK_PAGE_NODE + level),
                          page, esk_page_count(page));
    if (esk_tree_redirects(tree) && !fresh && at < esk_tree_batch(tree)->head) {
        return esk_tree_batches(tree)->write(tree, at, page);
    }
    if (has_journal(tree)) {
        ESK_TRY(journal_write(tree, page));
    }
    return esk_inplace_program(tree, at, page);
}

int esk_inplace_barrier(struct esk_tree *tree) {
    return has_journal(tree) || esk_tree_redirects(tree)
               ? ESK_OK
               : esk_region_barrier(&tree->ring.region);
}

/// Writes the node to region page `at`.
static int node_write(struct esk_tree *tree, struct esk_tree_work *work,
                      esk_address at, bool fresh) {
    ESK_TRY(esk_inplace_write(tree, at, work->page, work->level, fresh));
    if (!esk_pool_holds(&tree->pool, work->frame, at)) {
        esk_pool_tag(&tree->pool, work->frame, at);
    }
    esk_tree_unpin(tree, work);
    return ESK_OK;
}

static ESK_FAST_FLAT int inplace_place(struct esk_tree *tree,
                                       struct esk_tree_work *work, bool root,
                                       esk_address *address) {
    esk_address at = work->address;
    if (root) {
        at = ESK_INPLACE_ROOT;
        esk_inplace_link(work->page, ESK_PAGE_NONE);
    }
    ESK_TRY(node_write(tree, work, at, false));
    if (tree->now.root == ESK_ADDRESS_NONE) {
        /* A page that outlives the first root looks like those of a tree whose
           root is lost. */
        ESK_TRY(esk_region_barrier(&tree->ring.region));
        tree->now.root = ESK_INPLACE_ROOT;
    }
    *address = at;
    return ESK_OK;
}

/// The page of the next new node, which gets it when `spares` is reduced.
static esk_address page_next(const struct esk_tree *tree) {
    return tree->spares->page[tree->spares->count - 1u];
}

static int inplace_split(struct esk_tree *tree, struct esk_tree_work *left,
                         struct esk_tree_work *right, bool changed,
                         esk_address *left_address,
                         esk_address *right_address) {
    bool is_root = left->address == ESK_INPLACE_ROOT;
    *right_address = page_next(tree);
    esk_inplace_link(right->page, esk_page_aux(left->page)); /* a root: none */
    ESK_TRY(node_write(tree, right, *right_address, true));
    ESK_TRY(esk_inplace_barrier(tree));
    tree->spares->count--;
    *left_address = is_root ? page_next(tree) : left->address;
    if (!changed && !is_root) {
        esk_tree_unpin(tree, left);
        return ESK_OK;
    }
    esk_inplace_link(left->page, *right_address);
    ESK_TRY(node_write(tree, left, *left_address, is_root));
    if (is_root) {
        tree->spares->count--;
    }
    return esk_inplace_barrier(tree);
}

static uint32_t inplace_nodes_max(const struct esk_tree *tree, uint8_t height) {
    (void)height;
    return esk_inplace_end(tree);
}

/// Completes what page 0 has: a page to write to its place again, or the record
/// of slots.
static int journal_replay(struct esk_tree *tree, uint8_t *page) {
    uint8_t level = 0;
    tree->redo = ESK_ADDRESS_NONE;
    int status = esk_inplace_read(tree, ESK_INPLACE_JOURNAL, page, &level);
    if (status != ESK_OK) {
        return status == ESK_E_CORRUPT ? ESK_OK : status;
    }
    if (level == ESK_INPLACE_RECORD && esk_page_count(page) > 0) {
        return esk_tree_batches(tree) == NULL
                   ? ESK_E_UNSUPPORTED
                   : esk_tree_batches(tree)->replay(tree, page);
    }
    esk_address at = esk_address_load(page + ESK_ENVELOPE_SEQUENCE);
    if (level == ESK_INPLACE_RECORD || !has_journal(tree) ||
        at == ESK_INPLACE_JOURNAL || at >= esk_ring_pages(&tree->ring)) {
        return ESK_OK;
    }
    if (esk_tree_is_read_only(tree)) {
        tree->redo = at;
        return ESK_OK;
    }
    return esk_inplace_program(tree, at, page);
}

/// The first call completes the mount as after a failure, with all frames.
static int inplace_mount(struct esk_tree *tree,
                         const struct esk_ring_config *region, uint8_t *page) {
    (void)page;
    esk_ring_init(&tree->ring, tree->table.volume, region, &tree->stats);
    tree->ring.ahead = 0; /* nothing is erased */
    tree->ring.region.in_place = true;
    tree->ring.region.envelope.kind = ESK_KIND_ANY; /* the kind has the level */
    tree->now.rows = UINT32_MAX;
    tree->broken = true;
    return ESK_OK;
}

/// Reads the root again after a failure: the state in RAM may be wrong.
static int root_reload(struct esk_tree *tree, uint8_t *page) {
    uint8_t level = 0;
    ESK_TRY(journal_replay(tree, page));
    int status = esk_inplace_read(tree, ESK_INPLACE_ROOT, page, &level);
    if (status == ESK_OK && level > 0) {
        tree->now.root = ESK_INPLACE_ROOT;
        tree->now.height = level;
        return ESK_OK;
    }
    if (status != ESK_OK && status != ESK_E_CORRUPT) {
        return status;
    }
    if (tree->now.root != ESK_ADDRESS_NONE) {
        return ESK_E_CORRUPT;
    }
    tree->now.rows = 0; /* the first row's page was not written, or is lost */
    return ESK_OK;
}

/// Completes what power loss or a failure left.
static int tree_repair(struct esk_tree *tree) {
    struct esk_inplace_asked asked = {.count = 0};
    uint8_t *page = NULL;
    uint8_t frame = 0;
    /* Slots of an uncommitted change of several pages are dropped. */
    tree->redirects = esk_tree_in_batch(tree);
    if (esk_tree_in_batch(tree)) {
        ESK_TRY(esk_tree_batches(tree)->ready(tree, 0));
    }
    esk_pool_forget_all(&tree->pool);
    ESK_TRY(esk_pool_take(&tree->pool, &page, &frame));
    int status = root_reload(tree, page);
    if (status == ESK_OK) {
        status = esk_inplace_pages_load(tree, page, &asked);
    }
    esk_pool_give(&tree->pool, frame);
    ESK_TRY(status);
    ESK_TRY(esk_inplace_split_complete(tree, &asked));
    tree->broken = false;
    return ESK_OK;
}

/// Prepares a change in a batch or after a failure.
static ESK_OUT_OF_LINE int more_begin(struct esk_tree *tree, uint32_t pages) {
    /* A merge was written in part, so rows are there twice: abort the batch. */
    ESK_TRY(esk_tree_in_batch(tree) && esk_tree_batch(tree)->joining
                ? ESK_E_CORRUPT
                : ESK_OK);
    if (tree->broken) {
        ESK_TRY(tree_repair(tree));
    }
    /* After a repair, which takes slots, too. */
    return esk_tree_in_batch(tree) ? esk_tree_batches(tree)->ready(tree, pages)
                                   : ESK_OK;
}

static int inplace_begin(struct esk_tree *tree, uint32_t pages) {
    return esk_tree_in_batch(tree) || tree->broken ? more_begin(tree, pages)
                                                   : ESK_OK;
}

static void inplace_layout(struct esk_btree_layout *layout, uint16_t page_bytes,
                           uint8_t k_percent) {
    (void)k_percent;
    esk_btree_layout_whole(layout, ESK_ENVELOPE_BYTES, page_bytes);
}

const struct esk_node_store esk_store_inplace = {
    .layout = inplace_layout,
    .load = inplace_load,
    .mount = inplace_mount,
    .begin = inplace_begin,
    .refill = esk_inplace_refill,
    .nodes_max = inplace_nodes_max,
    .place = inplace_place,
    .split = inplace_split,
    .id = ESK_STORE_INPLACE,
    .flags = ESK_STORE_OVERWRITES,
    .frames_min = ESK_TREE_FRAMES_MIN,
    .frames = ESK_TREE_FRAMES_MIN,
};

const struct esk_node_store esk_store_journaled = {
    .layout = inplace_layout,
    .load = inplace_load,
    .mount = inplace_mount,
    .begin = inplace_begin,
    .refill = esk_inplace_refill,
    .nodes_max = inplace_nodes_max,
    .place = inplace_place,
    .split = inplace_split,
    .id = ESK_STORE_JOURNALED,
    .flags = ESK_STORE_OVERWRITES,
    .frames_min = ESK_TREE_FRAMES_MIN,
    .frames = ESK_TREE_FRAMES_MIN,
};
