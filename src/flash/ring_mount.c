// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Mounting a ring: finding head and tail from sequence numbers alone.
///
/// Going round the run from the block of the tail hint, the written blocks
/// carry positions that continue without a break up to the head; after it
/// come erased blocks, then blocks from a lap ago. So "block i continues the
/// count" is true up to the head's block and false after it, and a binary
/// search finds the edge.
///
/// A block that proves nothing may be erased, or damaged with live blocks
/// behind it. No single answer is trusted: a block says no only if the
/// NEIGHBOURS after it say no as well, so that fewer than that many damaged
/// blocks, or pages, never hide what follows them. On the way a first page
/// that is erased speaks for its block; the blocks after the edge that was
/// found are then asked page by page.
#include "flash/ring.h"

#include "flash/device_page.h"

enum {
    NEIGHBOURS = 2,      ///< blocks asked after one that proves nothing
    NEIGHBOURS_QUICK = 1, ///< while searching
    PAGES_AFTER = 4,     ///< pages asked after one that proves nothing
    GAP_BLOCKS_MAX = 12, ///< erased blocks between head and tail, at most
};

struct ring_scan {
    struct esk_ring *ring;
    uint8_t *page;      ///< scratch
    uint16_t pages;     ///< a block
    uint32_t start;     ///< block the count starts from, within the run
    uint32_t origin;    ///< position of that block's first page
};

/// Reads page `index` of block `block` of the run.
/// Sets `position` and returns true when it proves itself and belongs there.
static bool page_position(const struct ring_scan *scan, uint32_t block,
                          uint16_t index, uint32_t *position, bool *erased) {
    const struct esk_ring *ring = scan->ring;
    const struct esk_envelope *envelope = &ring->envelope;
    uint32_t offset = block * scan->pages + index;

    *erased = false;
    ring->stats->reads++;
    if (esk_device_read_page(ring->volume->device, ring->first_page + offset,
                             scan->page) != ESK_OK) {
        return false;
    }
    if (esk_envelope_check(envelope, scan->page, false)) {
        *position = esk_page_sequence(scan->page);
        uint32_t pages = ring->block_count * scan->pages;
        return *position % pages == offset &&
               *position <= esk_ring_position_max(ring);
    }
    *erased = esk_bytes_are(scan->page, envelope->page_bytes,
                            envelope->erased_value);
    return false;
}

/// Finds the position of the first page of `block` from any page of it that
/// proves itself: the first ones, then the last. `quick` takes an erased
/// first page for an erased block.
static bool block_position(const struct ring_scan *scan, uint32_t block,
                           bool quick, uint32_t *first) {
    uint16_t tries = scan->pages < PAGES_AFTER ? scan->pages : PAGES_AFTER;
    uint32_t position = 0;
    bool erased = false;

    for (uint16_t index = 0; index < tries; index++) {
        if (page_position(scan, block, index, &position, &erased)) {
            *first = position - index;
            return true;
        }
        if (erased && (quick || index > 0)) {
            return false;
        }
    }
    uint16_t last = (uint16_t)(scan->pages - 1);
    if (last >= tries &&
        page_position(scan, block, last, &position, &erased)) {
        *first = position - last;
        return true;
    }
    return false;
}

/// The block of the run that is `steps` after the scan's start.
static uint32_t block_after(const struct ring_scan *scan, uint32_t steps) {
    uint32_t block = scan->start + steps;
    uint32_t count = scan->ring->block_count;
    return block >= count ? block - count : block;
}

static bool block_is_bad(const struct ring_scan *scan, uint32_t block) {
    const struct esk_ring *ring = scan->ring;
    return esk_device_block_is_bad(ring->volume->device,
                                   ring->first_page / scan->pages + block);
}

/// Whether the block `steps` after the start, or one of the next good ones,
/// continues the count. Sets `found` to the one that does.
static bool block_continues(const struct ring_scan *scan, uint32_t steps,
                            bool quick, uint32_t *found) {
    uint8_t most = quick ? NEIGHBOURS_QUICK : NEIGHBOURS;
    uint8_t asked = 0;
    for (uint32_t at = steps; at < scan->ring->block_count; at++) {
        uint32_t block = block_after(scan, at);
        uint32_t first = 0;
        if (block_position(scan, block, quick, &first)) {
            if (first == scan->origin + at * scan->pages) {
                *found = at;
                return true;
            }
            return false;
        }
        if (!block_is_bad(scan, block) && ++asked > most) {
            return false;
        }
    }
    return false;
}

/// Finds a first block that proves itself, from the tail hint on.
static bool scan_start(struct ring_scan *scan, uint32_t hint) {
    const struct esk_ring *ring = scan->ring;
    uint32_t block = hint / scan->pages % ring->block_count;
    uint8_t asked = 0;

    for (uint32_t i = 0; i < ring->block_count; i++) {
        if (block_position(scan, block, false, &scan->origin)) {
            scan->start = block;
            return true;
        }
        if (!block_is_bad(scan, block) && ++asked > GAP_BLOCKS_MAX) {
            return false;
        }
        block = block + 1 == ring->block_count ? 0 : block + 1;
    }
    return false;
}

/// Position after the newest page of the block that starts at `start`.
static uint32_t block_end(const struct ring_scan *scan, uint32_t start) {
    uint32_t block = start / scan->pages % scan->ring->block_count;
    uint16_t low = 0;            /* pages before `low` are written */
    uint16_t high = scan->pages; /* no page from `high` on was found */
    uint32_t position = 0;
    bool erased = false;

    while (low < high) {
        uint16_t middle = (uint16_t)(low + (high - low) / 2);
        uint16_t limit = (uint16_t)(middle + PAGES_AFTER);
        uint16_t index = middle;
        bool written = false;
        while (index < limit && index < high && !written) {
            written = page_position(scan, block, index, &position, &erased) &&
                      position == start + index;
            index++;
        }
        if (written) {
            low = index;
        } else {
            high = middle;
        }
    }
    return start + low;
}

/// Passes over pages at head that a cut tore: not erased, proving nothing.
static void head_pass_torn(struct ring_scan *scan) {
    struct esk_ring *ring = scan->ring;
    const struct esk_geometry *geometry = &ring->volume->device->geometry;
    uint32_t position = 0;
    bool erased = false;

    if ((geometry->flags & ESK_MEDIUM_OVERWRITE) != 0) {
        return;
    }
    while (ring->head % scan->pages != 0) {
        uint32_t block = ring->head / scan->pages % ring->block_count;
        uint16_t index = (uint16_t)(ring->head % scan->pages);
        (void)page_position(scan, block, index, &position, &erased);
        if (erased) {
            return;
        }
        ring->head++;
    }
}

/// Oldest position that can still be there, past the erased gap.
static uint32_t tail_find(const struct ring_scan *scan, uint32_t hint) {
    const struct esk_ring *ring = scan->ring;
    uint32_t pages = ring->block_count * scan->pages;
    uint32_t next = (ring->head + scan->pages - 1) / scan->pages * scan->pages;
    uint32_t tail = next > pages ? next - pages : 0;
    uint8_t asked = 0;

    if (tail < hint) {
        tail = hint;
    }
    uint32_t oldest = tail;
    uint32_t at = tail - tail % scan->pages;
    for (uint32_t i = 0; i < ring->block_count && at < ring->head &&
                         asked <= GAP_BLOCKS_MAX;
         i++) {
        uint32_t block = at / scan->pages % ring->block_count;
        uint32_t first = 0;
        if (block_position(scan, block, false, &first) && first == at) {
            return at > oldest ? at : oldest;
        }
        if (!block_is_bad(scan, block)) {
            asked++;
        }
        at += scan->pages;
    }
    return oldest;
}

static void ring_find(struct ring_scan *scan, uint32_t hint) {
    struct esk_ring *ring = scan->ring;
    uint32_t last = 0;
    uint32_t found = 0;
    uint32_t high = ring->block_count;

    /* A block that was never begun is never begun in the middle. */
    ring->head = (hint + scan->pages - 1) / scan->pages * scan->pages;
    ring->tail = ring->head;
    if (scan_start(scan, hint)) {
        while (last + 1 < high) {
            uint32_t middle = last + (high - last) / 2;
            if (block_continues(scan, middle, true, &found)) {
                last = found;
            } else {
                high = middle;
            }
        }
        while (block_continues(scan, last + 1, false, &found)) {
            last = found;
        }
        ring->head = block_end(scan, scan->origin + last * scan->pages);
        if (ring->head < hint) {
            ring->head = hint;
        }
        head_pass_torn(scan);
        ring->tail = tail_find(scan, hint);
    }
    ring->ready = (ring->head + scan->pages - 1) / scan->pages * scan->pages;
}

int esk_ring_mount(struct esk_ring *ring, struct esk_volume *volume,
                   const struct esk_ring_config *config,
                   struct esk_ring_stats *stats, uint8_t *page) {
    const struct esk_geometry *geometry = &volume->device->geometry;
    struct ring_scan scan = {
        .ring = ring, .page = page, .pages = geometry->block_pages};

    memset(ring, 0, sizeof *ring);
    ring->volume = volume;
    ring->stats = stats;
    ring->first_page = config->block * geometry->block_pages;
    ring->block_count = config->blocks;
    ring->refuse = config->refuse;
    ring->ahead = config->ahead;
    if (ring->ahead > config->blocks - 2) {
        ring->ahead = (uint8_t)(config->blocks - 2);
    }
    ring->envelope.seed = config->seed;
    ring->envelope.page_bytes = geometry->page_bytes;
    ring->envelope.unit = config->unit;
    ring->envelope.checksum = volume->checksum;
    ring->envelope.kind = config->kind;
    ring->envelope.table = config->table;
    ring->envelope.erased_value = geometry->erased_value;

    ring_find(&scan, config->tail_hint);
    ring->next = volume->rings;
    volume->rings = ring;
    return ESK_OK;
}

void esk_ring_unmount(struct esk_ring *ring) {
    if (ring->volume == NULL) {
        return;
    }
    struct esk_ring **link = &ring->volume->rings;
    while (*link != NULL && *link != ring) {
        link = &(*link)->next;
    }
    if (*link == ring) {
        *link = ring->next;
    }
}
