// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Batches where nodes keep their page: a journal of many pages.
///
///     page 0     ... nodes ...   head        first          end of region
///     | record | 1 2 3 4 5 6 ... | new ..  ... | slot | slot | ... |
///
/// A page that there was before the batch is changed in a *slot*, one of the
/// pages at the region's end that were never used: there it stands with its
/// own page's number. A page that is new in the batch is written to its place
/// as ever: nobody finds it there yet. So until the commit nothing of the tree
/// was touched: a batch that is aborted or cut short leaves new pages that
/// nobody names, and a mount takes those back.
///
/// The commit is the record in page 0, between two syncs: it says how many
/// slots are to be written to their places, as often as it takes, and goes
/// when they were. A record that was torn is none. An empty table is given a
/// root, without rows, before its first batch.
///
/// Costs: RAM of 4 bytes a slot, as many compares a page read; two writes a
/// page changed, however often, and two for the batch.
#include "flash/device_page.h"
#include "table/tree/inplace/inplace.h"

/// The slot that has page `at`; `used` when there is none.
static uint16_t slot_find(const struct esk_tree_batch *batch, uint32_t at) {
    uint16_t slot = 0;
    while (slot < batch->used && batch->home[slot] != at) {
        slot++;
    }
    return slot;
}

static uint32_t batch_find(const struct esk_tree *tree, uint32_t at) {
    const struct esk_tree_batch *batch = tree->batch;
    uint16_t slot = slot_find(batch, at);
    return slot < batch->used ? batch->first + slot : at;
}

static int batch_write(struct esk_tree *tree, uint32_t at,
                       const uint8_t *page) {
    struct esk_tree_batch *batch = tree->batch;
    uint16_t slot = slot_find(batch, at);
    if (slot == batch->slots) {
        return ESK_E_NO_MEMORY;
    }
    int status = esk_inplace_program(tree, batch->first + slot, page);
    if (status != ESK_OK) {
        /* What was in the slot before may be gone. */
        batch->doubted = batch->doubted || slot < batch->used;
        return status;
    }
    if (slot == batch->used) {
        batch->home[slot] = at;
        batch->used++;
    }
    return ESK_OK;
}

/// Slots that a change may take. It writes a path; with merging also a
/// neighbour a level, spares that become nodes, and the free list.
static uint16_t change_slots(const struct esk_tree *tree) {
    uint16_t height = tree->now.height;
    return (uint16_t)(tree->free != NULL ? 3u * height + 4u : height);
}

/// Writes the record of `pages` slots, durably.
static int record_write(struct esk_tree *tree, uint8_t *page, uint16_t pages,
                        uint32_t first) {
    struct esk_envelope *envelope = &tree->ring.region.envelope;
    memset(page, 0, envelope->page_bytes);
    envelope->kind = ESK_PAGE_NODE + ESK_INPLACE_BATCH;
    esk_envelope_open(page, ESK_INPLACE_JOURNAL, first);
    esk_envelope_close(envelope, page, pages);
    ESK_TRY(esk_inplace_sync(tree));
    ESK_TRY(esk_inplace_program(tree, ESK_INPLACE_JOURNAL, page));
    return esk_inplace_sync(tree);
}

/// Goes over `pages` slots from `first` on, which have to prove themselves.
/// home     writes them to their places.
static int slots_read(struct esk_tree *tree, uint32_t first, uint32_t pages,
                      uint8_t *page, bool home) {
    const struct esk_device *device = tree->volume->device;
    for (uint32_t slot = first; slot < first + pages; slot++) {
        tree->stats.reads++;
        ESK_TRY(esk_device_read_page(
            device, tree->ring.region.first_page + slot, page));
        uint32_t at = esk_page_sequence(page);
        tree->ring.region.envelope.kind = page[ESK_ENVELOPE_KIND];
        if (at == ESK_INPLACE_JOURNAL || at >= first ||
            !esk_envelope_check(&tree->ring.region.envelope, page, false)) {
            return ESK_E_CORRUPT;
        }
        if (home) {
            ESK_TRY(esk_inplace_program(tree, at, page));
        }
    }
    return ESK_OK;
}

static int batch_replay(struct esk_tree *tree, uint8_t *page) {
    uint32_t pages = esk_page_count(page);
    uint32_t first = esk_page_aux(page);
    uint32_t end = esk_ring_pages(&tree->ring);
    if (first > end || pages > end - first) {
        return ESK_E_CORRUPT;
    }
    if (esk_tree_is_read_only(tree)) {
        return ESK_E_READ_ONLY;
    }
    ESK_TRY(slots_read(tree, first, pages, page, true));
    return record_write(tree, page, 0, first);
}

/// Takes back the record of a commit that failed: it may be on the medium.
static int record_clear(struct esk_tree *tree) {
    struct esk_tree_batch *batch = tree->batch;
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
    return pages == 0 ||
                   tree->batch->used + change_slots(tree) <= tree->batch->slots
               ? ESK_OK
               : ESK_FULL;
}

/// Writes an empty root: pages without one would be those of a lost tree, if
/// the batch is cut short.
static int root_make(struct esk_tree *tree) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    ESK_TRY(esk_pool_take(&tree->pool, &page, &frame));
    memset(page, 0, tree->ring.region.envelope.page_bytes);
    int status =
        esk_inplace_write(tree, ESK_INPLACE_ROOT, page, 1, ESK_PAGE_NONE);
    esk_pool_give(&tree->pool, frame);
    ESK_TRY(status);
    ESK_TRY(esk_inplace_settle(tree));
    tree->now.root = ESK_INPLACE_ROOT;
    return ESK_OK;
}

static int batch_begin(struct esk_tree *tree, uint32_t pages) {
    struct esk_tree_batch *batch = tree->batch;
    ESK_TRY(tree->store->begin(tree, 0));
    if (tree->now.root == ESK_PAGE_NONE) {
        ESK_TRY(root_make(tree));
    }
    uint32_t end = esk_ring_pages(&tree->ring);
    uint32_t unused = end - tree->ring.head;
    uint32_t slots = pages;
    if (slots == 0) {
        /* As many stay for new nodes. */
        slots = unused / 2u < batch->pages ? unused / 2u : batch->pages;
    }
    if (slots < change_slots(tree) || slots > batch->pages || slots > unused) {
        return ESK_FULL;
    }
    batch->slots = (uint16_t)slots;
    batch->used = 0;
    batch->doubted = false;
    batch->first = end - slots;
    batch->head = tree->ring.head;
    tree->before = tree->now;
    tree->in_batch = true;
    return ESK_OK;
}

static int batch_commit(struct esk_tree *tree) {
    struct esk_tree_batch *batch = tree->batch;
    uint8_t *page = NULL;
    uint8_t frame = 0;
    ESK_TRY(tree->store->begin(tree, 0));
    if (batch->used == 0) {
        tree->in_batch = false;
        return ESK_OK;
    }
    ESK_TRY(esk_pool_take(&tree->pool, &page, &frame));
    int status = ESK_OK;
    if (batch->doubted) {
        /* A record of a slot that is lost could never be completed. */
        status = slots_read(tree, batch->first, batch->used, page, false);
    }
    if (status == ESK_OK) {
        batch->recorded = true;
        status = record_write(tree, page, batch->used, batch->first);
    }
    if (status == ESK_OK) {
        /* It is in effect. What fails from here on is done again. */
        tree->in_batch = false;
        batch->recorded = false;
        tree->changes++; /* readers have pages from before it */
        tree->broken = batch_replay(tree, page) != ESK_OK;
    }
    esk_pool_give(&tree->pool, frame);
    return status;
}

static int batch_abort(struct esk_tree *tree) {
    ESK_TRY(record_clear(tree));
    tree->ring.head = tree->batch->head;
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
