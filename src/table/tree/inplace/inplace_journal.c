// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The journal: changes of several pages that take effect together. Batches
/// are such changes, and so is a delete that merges nodes.
///
///     page 0     1 2 3 4 5 ...   head        first          end of region
///     | record | root, nodes ... | new ..  ... | slot | slot | ... |
///
/// A page that existed before is changed in a *slot*, one of the pages at the
/// region's end, which has its own page's number. A page that is new in a
/// batch is written to its place, because nothing refers to it yet. So until
/// the commit the tree on the medium does not change, and after an abort or
/// power loss the new pages are free: no node names them.
///
/// The commit is the record in page 0, between two barriers. The record says
/// how many slots are to be copied to their places, as often as needed, and is
/// cleared after that. A torn record is no record. A mount completes it; a
/// read-only mount reads the slots instead. An empty table gets a root without
/// rows before its first batch.
///
/// The last ESK_INPLACE_SLOTS pages (or fewer, in a small region) are only for
/// slots; a batch also uses pages that were never used.
///
/// Cost: RAM of 4 bytes a slot, as many compares a page read; two writes for
/// each changed page, however often it changed, and two for the record.
#include "table/tree/inplace/inplace.h"

/// The slot that has page `at`; `used` when there is none.
static uint16_t slot_find(const struct esk_tree_batch *batch, esk_address at) {
    uint16_t slot = 0;
    while (slot < batch->used && batch->home[slot] != at) {
        slot++;
    }
    return slot;
}

static esk_address batch_find(const struct esk_tree *tree, esk_address at) {
    const struct esk_tree_batch *batch = esk_tree_batch(tree);
    uint16_t slot = slot_find(batch, at);
    return slot < batch->used ? batch->first + slot : at;
}

static int batch_write(struct esk_tree *tree, esk_address at,
                       const uint8_t *page) {
    struct esk_tree_batch *batch = esk_tree_batch(tree);
    uint16_t slot = slot_find(batch, at);
    if (slot == batch->slots) {
        return ESK_E_NO_MEMORY;
    }
    int status = esk_inplace_program(tree, batch->first + slot, page);
    if (status != ESK_OK) {
        /* The old contents of the slot may be lost. */
        batch->doubted = batch->doubted || slot < batch->used;
        return status;
    }
    if (slot == batch->used) {
        batch->home[slot] = at;
        batch->used++;
    }
    return ESK_OK;
}

/// Most slots of a change: a path, and the list.
static uint32_t change_slots(const struct esk_tree *tree) {
    return tree->now.height + 1u;
}

/// Writes the record of `pages` slots, durably.
static int record_write(struct esk_tree *tree, uint8_t *page, uint16_t pages,
                        esk_address first) {
    struct esk_region *region = &tree->ring.region;
    memset(page, 0, esk_envelope_page_bytes(&region->envelope));
    esk_envelope_open(page, ESK_INPLACE_JOURNAL, first);
    esk_envelope_close_as(&region->envelope, ESK_PAGE_NODE + ESK_INPLACE_RECORD,
                          page, pages);
    ESK_TRY(esk_region_barrier(region));
    ESK_TRY(esk_inplace_program(tree, ESK_INPLACE_JOURNAL, page));
    return esk_region_barrier(region);
}

/// Reads `pages` slots from `first` on, which must be valid, and writes them to
/// their places.
static int slots_home(struct esk_tree *tree, esk_address first, uint32_t pages,
                      uint8_t *page) {
    for (uint32_t slot = first; slot < first + pages; slot++) {
        esk_address home = 0;
        ESK_TRY(esk_inplace_slot_read(tree, slot, page, &home));
        ESK_TRY(esk_inplace_program(tree, home, page));
    }
    return ESK_OK;
}

/// Makes reads of the pages of a record read their slots.
static int slots_redirect(struct esk_tree *tree, esk_address first,
                          uint32_t pages, uint8_t *page) {
    struct esk_tree_batch *batch = esk_tree_batch(tree);
    ESK_TRY(pages > batch->pages ? ESK_E_NO_MEMORY : ESK_OK);
    for (uint16_t slot = 0; slot < pages; slot++) {
        ESK_TRY(esk_inplace_slot_read(tree, first + slot, page,
                                      &batch->home[slot]));
    }
    batch->first = first;
    batch->used = (uint16_t)pages;
    tree->redirects = true;
    return ESK_OK;
}

static int batch_replay(struct esk_tree *tree, uint8_t *page) {
    uint32_t pages = esk_page_count(page);
    esk_address first = esk_address_load(page + ESK_ENVELOPE_AUX);
    uint32_t end = esk_ring_pages(&tree->ring);
    if (first > end || pages > end - first) {
        return ESK_E_CORRUPT;
    }
    if (esk_tree_is_read_only(tree)) {
        return slots_redirect(tree, first, pages, page);
    }
    ESK_TRY(slots_home(tree, first, pages, page));
    return record_write(tree, page, 0, first);
}

/// Clears the record of a commit that failed: it may be on the medium.
static int record_clear(struct esk_tree *tree) {
    struct esk_tree_batch *batch = esk_tree_batch(tree);
    uint8_t *page = NULL;
    uint8_t frame = 0;
    if (!batch->recorded) {
        return ESK_OK;
    }
    ESK_TRY(esk_pool_take(&tree->pool, &page, &frame));
    int status = record_write(tree, page, 0, batch->first);
    esk_pool_give(&tree->pool, frame);
    batch->recorded = status != ESK_OK;
    return status;
}

static int batch_ready(struct esk_tree *tree, uint32_t pages) {
    if (pages > 0 || tree->broken) {
        ESK_TRY(record_clear(tree));
    }
    return pages == 0 || esk_tree_batch(tree)->used + change_slots(tree) <=
                             esk_tree_batch(tree)->slots
               ? ESK_OK
               : ESK_FULL;
}

/// Writes an empty root: without it, power loss in the batch would leave pages
/// like those of a tree whose root is lost.
static int root_make(struct esk_tree *tree) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    ESK_TRY(esk_pool_take(&tree->pool, &page, &frame));
    memset(page, 0, esk_envelope_page_bytes(&tree->ring.region.envelope));
    esk_inplace_link(page, ESK_PAGE_NONE);
    int status = esk_inplace_write(tree, ESK_INPLACE_ROOT, page, 1, true);
    esk_pool_give(&tree->pool, frame);
    ESK_TRY(status);
    ESK_TRY(esk_region_barrier(&tree->ring.region));
    tree->now.root = ESK_INPLACE_ROOT;
    return ESK_OK;
}

int esk_inplace_journal_open(struct esk_tree *tree, uint32_t slots) {
    struct esk_tree_batch *batch = esk_tree_batch(tree);
    esk_address end = esk_ring_pages(&tree->ring);
    if (slots > batch->pages || slots > end - tree->ring.head) {
        return ESK_FULL;
    }
    batch->slots = (uint16_t)slots;
    batch->used = 0;
    batch->doubted = false;
    batch->joining = false;
    batch->first = end - slots;
    batch->head = tree->ring.head;
    tree->redirects = true;
    return ESK_OK;
}

static int batch_begin(struct esk_tree *tree, uint32_t pages) {
    ESK_TRY(esk_tree_store(tree)->begin(tree, 0));
    if (tree->now.root == ESK_ADDRESS_NONE) {
        ESK_TRY(root_make(tree));
    }
    esk_address end = esk_inplace_end(tree);
    uint32_t slots = pages;
    if (tree->ring.head + 2u * ESK_TREE_SPARES >= end) {
        /* Slots may take unused pages, and a batch does not search for free
           ones. */
        int status = esk_inplace_refill(tree);
        ESK_TRY(status == ESK_FULL ? ESK_OK : status);
    }
    if (slots == 0) {
        /* As many unused pages are left for new nodes. */
        slots = esk_ring_pages(&tree->ring) - end;
        slots += (end - tree->ring.head) / 2u;
        slots = slots < esk_tree_batch(tree)->pages
                    ? slots
                    : esk_tree_batch(tree)->pages;
    }
    if (slots < change_slots(tree)) {
        return ESK_FULL;
    }
    ESK_TRY(esk_inplace_journal_open(tree, slots));
    tree->before = tree->now;
    tree->in_batch = true;
    return ESK_OK;
}

int esk_inplace_journal_commit(struct esk_tree *tree) {
    struct esk_tree_batch *batch = esk_tree_batch(tree);
    uint8_t *page = NULL;
    uint8_t frame = 0;
    esk_address home = 0;
    int status = ESK_OK;
    ESK_TRY(esk_pool_take(&tree->pool, &page, &frame));
    tree->redirects = false; /* slots are read by their own numbers */
    for (uint16_t i = 0; batch->doubted && i < batch->used && status == ESK_OK;
         i++) {
        /* A record with a lost slot could never be completed. */
        status = esk_inplace_slot_read(tree, batch->first + i, page, &home);
    }
    if (status == ESK_OK) {
        batch->recorded = true;
        status = record_write(tree, page, batch->used, batch->first);
    }
    tree->redirects = status != ESK_OK;
    if (status == ESK_OK) {
        /* The batch is committed. What fails from here on is repeated. */
        batch->recorded = false;
        tree->broken = batch_replay(tree, page) != ESK_OK;
    }
    esk_pool_give(&tree->pool, frame);
    return status;
}

static int batch_commit(struct esk_tree *tree) {
    ESK_TRY(esk_tree_store(tree)->begin(tree, 0));
    if (esk_tree_batch(tree)->used == 0) {
        ESK_TRY(esk_region_barrier(&tree->ring.region));
    } else {
        ESK_TRY(esk_inplace_journal_commit(tree));
        tree->changes++; /* readers have older pages */
    }
    tree->redirects = false;
    tree->in_batch = false;
    return ESK_OK;
}

static int batch_abort(struct esk_tree *tree) {
    ESK_TRY(record_clear(tree));
    esk_tree_batch(tree)->joining = false;
    tree->broken = true;
    return ESK_OK;
}

const struct esk_tree_batches esk_batches_inplace = {
    .begin = batch_begin,
    .commit = batch_commit,
    .abort = batch_abort,
    .ready = batch_ready,
    .find = batch_find,
    .write = batch_write,
    .replay = batch_replay,
};
