// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Room for packed nodes: the sweep. A step marks leaves in key order as dirty
/// and commits, so they and all nodes above them are written at the head. How
/// far the pass is stands in every commit, so a mount goes on there.
///
/// Invariants, between changes
///  1. There is room for `reserve`: a commit that a full buffer makes at any
///     time, and one of a step of the sweep.
///  2. Beside that there is room for one and a half times what the pass has
///     still to write. So for each page of changes the sweep writes two, and
///     the pass ends before room does.
#include "esker/assert.h"
#include "table/tree/tnc/tnc_pages.h"
#include "volume/volume.h"

static uint32_t block_pages(const struct esk_tnc_pages *store) {
    return esk_region_geometry(&store->ring.region)->block_pages;
}

/// Leaves of a step.
static uint32_t step_leaves(const struct esk_tnc_pages *store) {
    return store->dirty_most / 4u + 1u;
}

/// Two commits, and a block that goes bad or that power loss tore.
static uint32_t reserve_pages(const struct esk_tnc_pages *store) {
    uint32_t nodes = store->dirty_most + 2u * store->tnc.root.height + 1u;
    return 2u * esk_tnc_pages_of(store, nodes) + 2u * block_pages(store);
}

/// Most pages that steps of the sweep take for `nodes` nodes. Each writes the
/// nodes above its leaves, and its last page is not full.
static uint32_t sweep_pages(const struct esk_tnc_pages *store, uint32_t nodes) {
    uint32_t steps = nodes / step_leaves(store) + 1u;
    return nodes / store->page_nodes + 1u +
           steps * esk_tnc_pages_of(store, store->tnc.root.height);
}

/// What a pass has still to write.
static uint32_t left_pages(const struct esk_tnc_pages *store) {
    uint32_t nodes = store->tnc.root.nodes;
    uint32_t swept = store->sweep.swept;
    return sweep_pages(store, swept < nodes ? nodes - swept : 0);
}

bool esk_tnc_pages_is_full(const struct esk_tnc_pages *store) {
    uint32_t reserve = reserve_pages(store);
    uint32_t height = store->tnc.root.height;
    uint32_t room =
        store->good_pages > reserve ? store->good_pages - reserve : 0;
    return sweep_pages(store, store->tnc.root.nodes + height + 1u) > room / 3u;
}

/// Erases what an interrupted commit left. Counts the good pages, and again
/// after failures.
static void store_prepare(struct esk_tnc_pages *store) {
    struct esk_ring *ring = &store->ring;
    uint32_t from = store->committed + 1u; /* 0: there is no commit */
    uint32_t seen =
        store->stats.program_failures + store->stats.erase_failures + 1u;
    if (!store->ready && from != 0 && ring->head > from) {
        store->read_at = ESK_PAGE_NONE;
        esk_ring_take_back(ring, from, store->read);
    }
    store->ready = true;
    if (seen == store->good_seen) {
        return;
    }
    store->good_seen = seen;
    store->good_pages = 0;
    for (uint32_t at = 0; at < esk_ring_pages(ring); at += block_pages(store)) {
        if (!esk_ring_block_is_bad(ring, at)) {
            store->good_pages += block_pages(store);
        }
    }
}

/// Ends a pass: no page from before its beginning is needed.
static int pass_end(struct esk_tnc_pages *store) {
    struct esk_tnc_sweep *sweep = &store->sweep;
    /* The new pages must be durable before the old ones are erased. */
    ESK_TRY(esk_region_sync(&store->ring.region));
    if (sweep->begun > store->ring.tail) {
        esk_ring_drop(&store->ring, sweep->begun);
    }
    sweep->swept = 0;
    sweep->has_key = false;
    return ESK_OK;
}

/// A step of the sweep.
/// ended    out: the pass ended.
static int sweep_step(struct esk_tnc_pages *store, bool *ended) {
    struct esk_tnc *tnc = &store->tnc;
    struct esk_tnc_sweep *sweep = &store->sweep;
    int status = ESK_OK;
    *ended = false;
    if (tnc->dirty > store->dirty_most / 2u) {
        ESK_TRY(esk_tnc_commit(tnc));
    }
    if (!sweep->has_key) {
        sweep->begun = store->ring.head; /* from here on the pass writes */
    }
    uint32_t most = store->dirty_most / 4u * 3u;
    for (uint32_t i = 0; i < step_leaves(store) && status == ESK_OK; i++) {
        if (i > 0 && tnc->dirty > most) {
            break; /* few leaves below many nodes */
        }
        status =
            esk_tnc_touch(tnc, sweep->has_key ? sweep->key : NULL, sweep->key);
        if (status == ESK_OK) {
            sweep->has_key = true;
            sweep->swept++;
        }
    }
    if (status != ESK_OK && status != ESK_NOT_FOUND) {
        return status;
    }
    ESK_TRY(esk_tnc_commit(tnc));
    if (status == ESK_NOT_FOUND) {
        *ended = true;
        return pass_end(store);
    }
    return ESK_OK;
}

int esk_tnc_pages_room(struct esk_tnc_pages *store) {
    struct esk_tnc *tnc = &store->tnc;
    uint32_t passes = 0;
    if ((esk_volume_flags(store->ring.region.volume) & ESK_MOUNT_READ_ONLY) !=
        0) {
        return ESK_E_READ_ONLY;
    }
    store_prepare(store);
    if (tnc->dirty + 2u * tnc->root.height + 1u > store->dirty_most &&
        tnc->dirty > store->dirty_most / 2u) {
        ESK_TRY(esk_tnc_commit(tnc));
    }
    while (passes < 2) {
        uint32_t left = left_pages(store);
        if (esk_ring_has_room(&store->ring,
                              reserve_pages(store) + left + left / 2u)) {
            return ESK_OK;
        }
        bool ended = false;
        ESK_TRY(sweep_step(store, &ended));
        passes += ended ? 1u : 0u;
    }
    return esk_ring_has_room(&store->ring, reserve_pages(store)) ? ESK_OK
                                                                 : ESK_FULL;
}
