// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Shared by the collectors of copy-on-write trees: how much room there is, and
/// what to erase after power loss. Bad blocks are no room, and some room is
/// reserved for blocks that go bad: their live nodes must be moved.
#include "base/inline.h"
#include "table/tree/moving/cow.h"
#include "table/tree/plan/collector.h"

static ESK_OUT_OF_LINE uint32_t block_pages(const struct esk_tree *tree) {
    return esk_volume_geometry(tree->table.volume)->block_pages;
}

/// Whether a page after the committed root may be a root, too: its program
/// seemed to fail, and the change with it. Only later pages say that it is not
/// the root: they have to stay, also while blocks are erased one by one.
/// page     scratch
static bool has_other_root(const struct esk_tree *tree, uint8_t *page) {
    const struct esk_ring *ring = &tree->ring;
    for (uint32_t at = tree->committed + 1u; at < ring->head; at++) {
        int status = esk_region_read(&ring->region, esk_ring_page(ring, at), at,
                                     page, true);
        bool is_root = status == ESK_OK &&
                       (page[ESK_TREE_PAGE_FLAGS] & ESK_TREE_PAGE_COMMIT) != 0;
        if (is_root || status == ESK_E_IO) {
            return true;
        }
    }
    return false;
}

/// Whether there are pages after the committed root.
static bool is_cut(const struct esk_tree *tree) {
    uint32_t from = tree->committed + 1u; /* 0: there is no root */
    return from != 0 && tree->ring.head > from;
}

/// Erases the pages after the committed root: of a change that power loss cut
/// short, or of an uncommitted batch.
/// page     scratch
static void torn_take_back(struct esk_tree *tree, uint8_t *page) {
    tree->was_cut = is_cut(tree);
    if (tree->was_cut && page != NULL && !has_other_root(tree, page)) {
        esk_ring_take_back(&tree->ring, tree->committed + 1u, page);
    }
}

void esk_tree_bad_count(struct esk_tree *tree) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    bool taken = tree->bad_seen == 0 && is_cut(tree) &&
                 esk_pool_take(&tree->pool, &page, &frame) == ESK_OK;
    esk_tree_bad_count_with(tree, page);
    if (taken) {
        esk_pool_give(&tree->pool, frame);
    }
}

void esk_tree_bad_count_with(struct esk_tree *tree, uint8_t *page) {
    struct esk_ring *ring = &tree->ring;
    uint32_t seen =
        tree->stats.program_failures + tree->stats.erase_failures + 1u;
    if (tree->bad_seen == seen) {
        return;
    }
    if (tree->bad_seen == 0) {
        torn_take_back(tree, page);
    }
    tree->bad_seen = seen;
    tree->bad_pages = 0;
    tree->step_height = 0;
    for (uint32_t at = 0; at < esk_ring_pages(ring); at += block_pages(tree)) {
        if (esk_ring_block_is_bad(ring, at)) {
            tree->bad_pages += block_pages(tree);
        }
    }
}

uint32_t esk_tree_spare_pages(const struct esk_tree *tree) {
    const struct esk_geometry *geometry =
        esk_volume_geometry(tree->table.volume);
    uint32_t block = block_pages(tree);
    if ((geometry->flags & ESK_MEDIUM_OVERWRITE) != 0) {
        return 0;
    }
    uint32_t pages = esk_tree_good_pages(tree) / ESK_COLLECTOR_SPARE + block;
    return pages - esk_ring_rest(&tree->ring, pages);
}

int esk_tree_page_verify(struct esk_tree *tree, uint32_t address) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    if ((esk_volume_flags(tree->table.volume) & ESK_MOUNT_TRUST_LOADS) == 0) {
        return ESK_OK;
    }
    ESK_TRY(esk_pool_take(&tree->pool, &page, &frame));
    int status = esk_ring_read(&tree->ring, address, page, true);
    if (status == ESK_OK) {
        esk_pool_tag(&tree->pool, frame, address);
    }
    esk_pool_give(&tree->pool, frame);
    return status == ESK_NOT_FOUND ? ESK_E_CORRUPT : status;
}
