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
/// behind it; one from a lap ago may have failed to erase. No single answer
/// is trusted. On the way a first page that is erased, or of another lap,
/// speaks for its block. Then ESK_RING_GAP_MAX blocks after the edge that was
/// found are asked page by page, and the search goes on from any that
/// continues the count: fewer damaged or failed blocks than that in a row
/// never hide what follows them.
///
/// A page that proves itself was read right. One that does not may have been
/// read wrong, and then it is right the next time: so what says that there is
/// nothing more is read until two looks agree. Steps of the binary searches
/// read once; what they find is asked again.
///
/// A read whose transfer fails, twice, ends the mount with ESK_E_IO: a bus
/// that is down for a while must not look like a run of erased blocks.
#include "flash/ring.h"

#include "flash/device_page.h"

enum {
    NEIGHBOURS = 1,       ///< blocks passed over that may have failed, where
                          ///< those that did are marked
    NEIGHBOURS_QUICK = 1, ///< blocks asked after an odd one while searching
    NEIGHBOURS_ODD = 5,   ///< and at the edge: as many can have failed
    PAGES_AFTER = 4,      ///< pages asked after one that proves nothing
    PROBES_KEPT = 8,      ///< pages remembered
};

/// What a page of the run turned out to be.
struct probe {
    esk_page_id page;  ///< on the device; UINT32_MAX: no probe
    uint32_t position; ///< what it says; UINT32_MAX: it proves nothing there
    uint8_t erased;    ///< times it was read as erased
    uint8_t torn;      ///< times it was read as neither
};

/// How much an answer is worth.
enum trust {
    QUICK, ///< an erased first page speaks for its block
    ONCE,  ///< other pages may speak for it; each is read once
    SURE,  ///< the same; what proves nothing is asked again
};

/// The state of a search. Blocks and pages are named by positions: any that
/// falls on them, in whatever lap.
struct ring_scan {
    struct esk_ring *ring;
    uint8_t *page;      ///< scratch
    uint16_t pages;     ///< a block
    uint32_t blocks;    ///< of the run
    uint8_t neighbours; ///< blocks in a row that may have failed unmarked
    uint8_t stale;   ///< first pages asked where one is of a lap ago, at most
    uint32_t origin; ///< first position of the block the count starts from
    bool erased;     ///< what page_at looked at last
    bool failed;     ///< a transfer did: no answer is worth anything
    uint8_t next;    ///< of `known`: the one to give up first
    struct probe known[PROBES_KEPT]; ///< the last pages read
};

/// Reads the page of `probe`, once more if the transfer failed. Returns
/// whether there is something to look at.
static bool page_read(struct ring_scan *scan, const struct probe *probe) {
    const struct esk_device *device = scan->ring->volume->device;
    int status = ESK_E_IO;
    if (!scan->failed) {
        scan->ring->stats->reads++;
        status = esk_device_read_page_surely(device, probe->page, scan->page);
    }
    scan->failed = status == ESK_E_IO;
    return status == ESK_OK;
}

/// Looks at the page of `probe`, another time if need be.
static void page_look(struct ring_scan *scan, struct probe *probe) {
    const struct esk_ring *ring = scan->ring;
    const struct esk_envelope *envelope = &ring->envelope;

    bool is_read = page_read(scan, probe);
    if (is_read && esk_envelope_check(envelope, scan->page, false) > 0) {
        uint32_t position = esk_page_sequence(scan->page);
        if (position <= esk_ring_position_max(ring) &&
            esk_ring_page(ring, position) == probe->page) {
            probe->position = position;
        }
        probe->torn++;
    } else if (is_read && esk_bytes_are(scan->page, envelope->page_bytes,
                                        envelope->erased_value)) {
        probe->erased++;
    } else {
        probe->torn++;
    }
}

/// The position that the page of `at` has, UINT32_MAX when it proves none, and
/// whether it is erased; the last few pages are remembered, for the search
/// comes back to them. `sure`: what proves nothing did so in two looks alike.
static uint32_t page_at(struct ring_scan *scan, uint32_t at, bool sure) {
    esk_page_id page = esk_ring_page(scan->ring, at);
    struct probe *probe = NULL;
    for (uint8_t i = 0; i < PROBES_KEPT && probe == NULL; i++) {
        if (scan->known[i].page == page) {
            probe = &scan->known[i];
        }
    }
    if (probe == NULL) {
        probe = &scan->known[scan->next];
        scan->next = (uint8_t)((scan->next + 1u) % PROBES_KEPT);
        *probe = (struct probe){.page = page, .position = UINT32_MAX};
    }
    uint8_t looks = sure ? 2 : 1;
    while (probe->position == UINT32_MAX && probe->erased < looks &&
           probe->torn < looks) {
        page_look(scan, probe);
    }
    scan->erased = probe->erased > probe->torn;
    return probe->position;
}

/// Finds the first position that the block beginning at `at` has, from any
/// page of it that proves itself: the first ones, then the last. Once a page
/// is surely erased the next one only confirms it.
/// blank    out: the block looks erased.
/// Returns the position; UINT32_MAX when none does.
static uint32_t block_position(struct ring_scan *scan, uint32_t at,
                               enum trust trust, bool *blank) {
    uint16_t tries = scan->pages < PAGES_AFTER ? scan->pages : PAGES_AFTER;
    uint16_t last = (uint16_t)(scan->pages - 1);

    *blank = false;
    for (uint16_t index = 0; index < tries; index++) {
        uint32_t position = page_at(scan, at + index, trust == SURE && !*blank);
        if (position != UINT32_MAX) {
            *blank = false;
            return position - index;
        }
        *blank = scan->erased && (index == 0 || *blank);
        if (scan->erased && (trust == QUICK || index > 0)) {
            return UINT32_MAX;
        }
    }
    uint32_t position = UINT32_MAX;
    if (last >= tries) {
        position = page_at(scan, at + last, trust == SURE);
    }
    return position != UINT32_MAX ? position - last : UINT32_MAX;
}

/// Whether the block of position `at` holds the pages from there on. QUICK
/// asks its first page; else the next ones may speak for it as well, so that
/// pages from a lap ago (their programs were lost) do not hide the block.
static bool block_holds(struct ring_scan *scan, uint32_t at, enum trust trust,
                        bool *proven, bool *blank) {
    uint32_t position = block_position(scan, at, trust, blank);
    bool holds = position == at;
    *proven = position != UINT32_MAX;
    bool asks = *proven && trust != QUICK;
    for (uint16_t i = 1; asks && !holds && i < scan->stale; i++) {
        holds = page_at(scan, at + i, true) == at + i;
    }
    return holds;
}

/// Whether the block `steps` after the origin, or one of the next good ones,
/// continues the count. Sets `found` to the one that does.
static bool block_continues(struct ring_scan *scan, uint32_t steps,
                            enum trust trust, uint32_t *found) {
    uint8_t most = trust == QUICK ? NEIGHBOURS_QUICK : NEIGHBOURS_ODD;
    uint8_t asked = 0;
    uint8_t blanks = 0;
    uint32_t at = scan->origin + steps * scan->pages;
    for (; steps < scan->blocks; steps++, at += scan->pages) {
        bool proven = false;
        bool blank = false;
        if (block_holds(scan, at, trust, &proven, &blank)) {
            *found = steps;
            return true;
        }
        /* An old lap: the edge, or a block that failed to erase. */
        if (proven && trust == QUICK) {
            return false;
        }
        if (esk_ring_block_is_bad(scan->ring, at)) {
            continue;
        }
        blanks = blank ? (uint8_t)(blanks + 1) : 0;
        if (blank && trust == SURE) {
            trust = ONCE; /* those after it confirm it */
        }
        if (++asked > most || blanks > scan->neighbours) {
            return false;
        }
    }
    return false;
}

/// Corrects an origin whose first pages are from a lap ago, and moves it on
/// when one of the blocks after it is of a newer lap: then it failed to erase.
static void origin_confirm(struct ring_scan *scan) {
    uint8_t asked = 0;
    uint32_t at = scan->origin;
    for (uint16_t i = 1; i < scan->stale; i++) {
        uint32_t position = page_at(scan, at + i, true);
        if (position != UINT32_MAX && position - i > scan->origin) {
            scan->origin = position - i;
        }
    }
    at = scan->origin;
    for (uint32_t i = 1; asked <= scan->neighbours && i < scan->blocks; i++) {
        bool blank = false;
        at += scan->pages;
        if (esk_ring_block_is_bad(scan->ring, at)) {
            continue;
        }
        asked++;
        uint32_t first = block_position(scan, at, ONCE, &blank);
        if (first != UINT32_MAX && first > at) {
            scan->origin = first;
            at = first;
        }
    }
}

/// Finds a first block that proves itself, from position `at` on: a good one,
/// for a bad one may be from any lap; else a bad one.
static bool origin_find(struct ring_scan *scan, uint32_t at) {
    bool blank = false;
    at -= at % scan->pages;
    for (uint8_t bad = 0; bad < 2; bad++) {
        uint8_t asked = 0;
        for (uint32_t i = 0; i < scan->blocks && asked <= ESK_RING_GAP_MAX;
             i++) {
            uint32_t block = at + i * scan->pages;
            if (esk_ring_block_is_bad(scan->ring, block) != (bad != 0)) {
                continue;
            }
            enum trust trust = blank ? ONCE : SURE;
            scan->origin = block_position(scan, block, trust, &blank);
            if (scan->origin != UINT32_MAX) {
                origin_confirm(scan);
                return true;
            }
            asked++;
        }
    }
    return false;
}

/// Position after the newest page of the block that starts at `start`.
static uint32_t block_end(struct ring_scan *scan, uint32_t start) {
    uint16_t low = 0;            /* pages before `low` are written */
    uint16_t high = scan->pages; /* no page from `high` on was found */

    while (low < high) {
        uint16_t middle = (uint16_t)(low + (high - low) / 2);
        uint16_t limit = (uint16_t)(middle + PAGES_AFTER);
        uint16_t index = middle;
        bool written = false;
        uint8_t blank = 0; /* two erased pages in a row end the look ahead */
        while (index < limit && index < high && !written && blank < 2) {
            written = page_at(scan, start + index, false) == start + index;
            blank = scan->erased ? (uint8_t)(blank + 1) : 0;
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

/// Passes over pages at head that a cut or a failed program tore: not erased,
/// proving nothing. A failed program may also leave its page erased, and tear
/// the next one, so the page after an erased one is asked as well. A block
/// that was marked bad is passed over to its end. And passes over a page that
/// the search read wrong.
/// end      of the block that the search ended in
static void head_pass_torn(struct ring_scan *scan, uint32_t end) {
    struct esk_ring *ring = scan->ring;
    uint8_t flags = ring->volume->device->geometry.flags;
    bool overwrites = (flags & ESK_MEDIUM_OVERWRITE) != 0;
    uint32_t at = ring->head;

    if (end < at) {
        end = esk_ring_block_from(scan->ring, at);
    }
    if (at < end && esk_ring_block_is_bad(scan->ring, at)) {
        ring->head = end;
        return;
    }
    for (; at < end && at <= ring->head + 1; at++) {
        bool is_next = page_at(scan, at, at == ring->head) == at;
        if (!scan->erased) {
            is_next = page_at(scan, at, true) == at;
        }
        if (is_next || !(overwrites || scan->erased)) {
            ring->head = at + 1;
        }
    }
}

/// Where the next block begins: past the head's block and, where the oldest
/// block gives way, past bad ones. A ring that refuses keeps what a block
/// held before it failed.
static uint32_t next_block(const struct ring_scan *scan) {
    uint32_t next = esk_ring_block_from(scan->ring, scan->ring->head);
    for (uint32_t i = 1; i < scan->blocks && !scan->ring->refuse; i++) {
        if (!esk_ring_block_is_bad(scan->ring, next)) {
            break;
        }
        next += scan->pages;
    }
    return next;
}

/// Whether one of the first pages of the block of position `start` is as it
/// was.
static bool block_begins(struct ring_scan *scan, uint32_t start) {
    for (uint16_t i = 0; i < PAGES_AFTER && i < scan->pages; i++) {
        if (page_at(scan, start + i, true) == start + i) {
            return true;
        }
    }
    return false;
}

/// Oldest position that can still be there, past the erased gap.
///
/// A cut may have hit the block that is next to go, in its erase or while it
/// was overwritten. It is dropped unless one of its first pages is as it was:
/// pages that happen to be left of it would look like damage. So is a bad
/// block after one that was: it went with it, and may lie between gaps.
static uint32_t tail_find(struct ring_scan *scan, uint32_t hint) {
    const struct esk_ring *ring = scan->ring;
    uint32_t next = next_block(scan);
    uint32_t oldest = next > ring->pages ? next - ring->pages : 0;
    bool may_be_begun = next >= ring->pages && oldest >= hint && !ring->refuse;
    uint8_t asked = 0;

    if (oldest < hint) {
        oldest = hint;
    }
    uint32_t at = oldest - oldest % scan->pages;
    for (uint32_t i = 0;
         i < scan->blocks && at < ring->head && asked <= ESK_RING_GAP_MAX;
         i++) {
        bool blank = false;
        bool proven = false;
        bool is_bad = esk_ring_block_is_bad(scan->ring, at);
        if (!(is_bad && may_be_begun && i > 0) &&
            block_holds(scan, at, SURE, &proven, &blank)) {
            if (may_be_begun && !block_begins(scan, at)) {
                at += scan->pages;
            }
            return at > oldest ? at : oldest;
        }
        if (!is_bad) {
            asked++;
        }
        at += scan->pages;
    }
    return oldest;
}

/// The last block that continues the count, by a binary search from block
/// `last` after the origin on, which does.
static uint32_t edge_find(struct ring_scan *scan, uint32_t last) {
    uint32_t high = scan->blocks;
    while (last + 1 < high) {
        uint32_t middle = last + (high - last) / 2;
        if (!block_continues(scan, middle, QUICK, &last)) {
            high = middle;
        }
    }
    return last;
}

static void ring_find(struct ring_scan *scan, uint32_t hint) {
    struct esk_ring *ring = scan->ring;
    uint32_t last = 0;

    /* A block that was never begun is never begun in the middle. */
    ring->head = esk_ring_block_from(scan->ring, hint);
    ring->tail = ring->head;
    if (origin_find(scan, hint)) {
        bool more = true;
        while (more) {
            last = edge_find(scan, last);
            more = block_continues(scan, last + 1, SURE, &last);
        }
        uint32_t start = scan->origin + last * scan->pages;
        ring->head = block_end(scan, start);
        if (ring->head < hint) {
            ring->head = hint;
        }
        head_pass_torn(scan, start + scan->pages);
        ring->tail = tail_find(scan, hint);
    }
    ring->ready = esk_ring_block_from(scan->ring, ring->head);
    ring->lap = ring->head - ring->head % ring->pages;
}

void esk_ring_init(struct esk_ring *ring, struct esk_volume *volume,
                   const struct esk_ring_config *config,
                   struct esk_ring_stats *stats) {
    const struct esk_geometry *geometry = &volume->device->geometry;

    memset(ring, 0, sizeof *ring);
    ring->volume = volume;
    ring->stats = stats;
    ring->first_page = config->block * geometry->block_pages;
    ring->pages = config->blocks * geometry->block_pages;
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
    ring->next = volume->rings;
    volume->rings = ring;
}

int esk_ring_mount(struct esk_ring *ring, struct esk_volume *volume,
                   const struct esk_ring_config *config,
                   struct esk_ring_stats *stats, uint8_t *page) {
    const struct esk_geometry *geometry = &volume->device->geometry;
    struct ring_scan scan = {.ring = ring,
                             .page = page,
                             .pages = geometry->block_pages,
                             .blocks = config->blocks};

    esk_ring_init(ring, volume, config, stats);
    scan.neighbours = volume->device->ops->block_is_bad != NULL
                          ? NEIGHBOURS
                          : ESK_RING_WORN_MAX - 1;
    bool keeps = (geometry->flags & ESK_MEDIUM_OVERWRITE) != 0;
    scan.stale = keeps ? ESK_RING_TORN_MAX : ESK_RING_TORN_MAX - 1;
    if (scan.stale > scan.pages) {
        scan.stale = (uint8_t)scan.pages;
    }
    for (uint8_t i = 0; i < PROBES_KEPT; i++) {
        scan.known[i].page = UINT32_MAX;
    }
    ring_find(&scan, config->tail_hint);
    if (scan.failed) {
        return ESK_E_IO;
    }
    esk_ring_open_none(ring);
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
