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
/// speaks for its block. Then GAP_BLOCKS_MAX blocks after the edge that was
/// found are asked page by page, and the search goes on from any that
/// continues the count: fewer damaged or failed blocks than that in a row
/// never hide what follows them.
#include "flash/ring.h"

#include "flash/device_page.h"

enum {
    NEIGHBOURS = 1,       ///< blocks passed over that may have failed, where
                          ///< those that did are marked
    NEIGHBOURS_QUICK = 1, ///< blocks asked after an odd one while searching
    NEIGHBOURS_ODD = 5,   ///< and at the edge: as many can have failed
    PAGES_AFTER = 4,      ///< pages asked after one that proves nothing
    PROBES_KEPT = 6,      ///< pages remembered
    GAP_BLOCKS_MAX = 12,  ///< erased blocks between head and tail, at most
};

/// What a page of the run turned out to be.
struct probe {
    uint32_t offset;   ///< of the page in the run
    uint32_t position; ///< what it says, when it proves itself there
    bool proven;
    bool erased;
};

struct ring_scan {
    struct esk_ring *ring;
    uint8_t *page;      ///< scratch
    uint16_t pages;     ///< a block
    uint32_t blocks;    ///< of the run
    uint8_t neighbours; ///< blocks in a row that may have failed unmarked
    uint8_t stale;   ///< first pages asked where one is of a lap ago, at most
    uint32_t start;  ///< block the count starts from, within the run
    uint32_t origin; ///< position of that block's first page
    struct probe known[PROBES_KEPT]; ///< the last pages read
    uint8_t next;                    ///< the one of these to give up first
};

/// Reads the page at `offset` of the run.
static struct probe page_probe(struct ring_scan *scan, uint32_t offset) {
    const struct esk_ring *ring = scan->ring;
    const struct esk_envelope *envelope = &ring->envelope;
    struct probe probe = {.offset = offset};

    ring->stats->reads++;
    if (esk_device_read_page(ring->volume->device, ring->first_page + offset,
                             scan->page) != ESK_OK) {
        return probe;
    }
    if (esk_envelope_check(envelope, scan->page, false)) {
        probe.position = esk_page_sequence(scan->page);
        probe.proven = probe.position % ring->pages == offset &&
                       probe.position <= esk_ring_position_max(ring);
    } else {
        probe.erased = esk_bytes_are(scan->page, envelope->page_bytes,
                                     envelope->erased_value);
    }
    return probe;
}

/// Looks at page `index` of block `block` of the run; the last few pages are
/// remembered, for the search comes back to them.
/// Sets `position` and returns true when it proves itself and belongs there.
static bool page_position(struct ring_scan *scan, uint32_t block,
                          uint16_t index, uint32_t *position, bool *erased) {
    uint32_t offset = block * scan->pages + index;
    struct probe *probe = NULL;
    for (uint8_t i = 0; i < PROBES_KEPT && probe == NULL; i++) {
        if (scan->known[i].offset == offset) {
            probe = &scan->known[i];
        }
    }
    if (probe == NULL) {
        probe = &scan->known[scan->next];
        scan->next = (uint8_t)((scan->next + 1u) % PROBES_KEPT);
        *probe = page_probe(scan, offset);
    }
    *erased = probe->erased;
    if (probe->proven) {
        *position = probe->position;
    }
    return probe->proven;
}

/// Finds the position of the first page of `block` from any page of it that
/// proves itself: the first ones, then the last. `quick` takes an erased
/// first page for an erased block.
/// blank    out: the block looks erased.
static bool block_position(struct ring_scan *scan, uint32_t block, bool quick,
                           uint32_t *first, bool *blank) {
    uint16_t tries = scan->pages < PAGES_AFTER ? scan->pages : PAGES_AFTER;
    uint32_t position = 0;
    bool erased = false;

    *blank = false;
    for (uint16_t index = 0; index < tries; index++) {
        if (page_position(scan, block, index, &position, &erased)) {
            *first = position - index;
            *blank = false;
            return true;
        }
        *blank = erased && (index == 0 || *blank);
        if (erased && (quick || index > 0)) {
            return false;
        }
    }
    uint16_t last = (uint16_t)(scan->pages - 1);
    if (last >= tries && page_position(scan, block, last, &position, &erased)) {
        *first = position - last;
        return true;
    }
    return false;
}

/// The block of the run that is `steps` after the scan's start.
static uint32_t block_after(struct ring_scan *scan, uint32_t steps) {
    uint32_t block = scan->start + steps;
    uint32_t count = scan->blocks;
    return block >= count ? block - count : block;
}

static bool block_is_bad(struct ring_scan *scan, uint32_t block) {
    const struct esk_ring *ring = scan->ring;
    return esk_device_block_is_bad(ring->volume->device,
                                   ring->first_page / scan->pages + block);
}

/// Whether `block` holds the pages from position `start` on. `quick` asks its
/// first page; else the next ones may speak for it as well, so that pages from
/// a lap ago (their programs were lost) do not hide the block.
static bool block_holds(struct ring_scan *scan, uint32_t block, bool quick,
                        uint32_t start, bool *proven, bool *blank) {
    uint32_t position = 0;
    bool erased = false;
    *proven = block_position(scan, block, quick, &position, blank);
    bool holds = *proven && position == start;
    for (uint16_t i = 1; *proven && !quick && !holds && i < scan->stale; i++) {
        holds = page_position(scan, block, i, &position, &erased) &&
                position == start + i;
    }
    return holds;
}

/// Whether the block `steps` after the start, or one of the next good ones,
/// continues the count. Sets `found` to the one that does.
static bool block_continues(struct ring_scan *scan, uint32_t steps, bool quick,
                            uint32_t *found) {
    uint8_t most = quick ? NEIGHBOURS_QUICK : NEIGHBOURS_ODD;
    uint8_t asked = 0;
    uint8_t blanks = 0;
    for (uint32_t at = steps; at < scan->blocks; at++) {
        uint32_t block = block_after(scan, at);
        bool proven = false;
        bool blank = false;
        if (block_holds(scan, block, quick, scan->origin + at * scan->pages,
                        &proven, &blank)) {
            *found = at;
            return true;
        }
        /* An old lap: the edge, or a block that failed to erase. */
        if (proven && quick) {
            return false;
        }
        if (block_is_bad(scan, block)) {
            continue;
        }
        blanks = blank ? (uint8_t)(blanks + 1) : 0;
        if (++asked > most || blanks > scan->neighbours) {
            return false;
        }
    }
    return false;
}

/// Corrects a start whose first pages are from a lap ago, and moves it on when
/// one of the blocks after it is of a newer lap: then it failed to erase.
static void start_confirm(struct ring_scan *scan) {
    uint32_t start = scan->start;
    uint32_t position = 0;
    bool erased = false;
    for (uint16_t i = 1; i < scan->stale; i++) {
        if (page_position(scan, start, i, &position, &erased) &&
            position - i > scan->origin) {
            scan->origin = position - i;
        }
    }
    uint32_t base = scan->origin;
    uint8_t asked = 0;
    for (uint32_t i = 1; asked <= scan->neighbours && i < scan->blocks; i++) {
        uint32_t block = start + i;
        uint32_t first = 0;
        if (block >= scan->blocks) {
            block -= scan->blocks;
        }
        if (block_is_bad(scan, block)) {
            continue;
        }
        asked++;
        if (block_position(scan, block, false, &first, &erased) &&
            first >= i * scan->pages && first - i * scan->pages > base) {
            base = first - i * scan->pages;
            scan->start = block;
            scan->origin = first;
        }
    }
}

/// Finds a first block that proves itself, from the tail hint on: a good one,
/// for a bad one may be from any lap; else a bad one.
static bool scan_start(struct ring_scan *scan, uint32_t hint) {
    uint32_t first = hint / scan->pages % scan->blocks;
    bool blank = false;

    for (uint8_t bad = 0; bad < 2; bad++) {
        uint32_t block = first;
        uint8_t asked = 0;
        for (uint32_t i = 0; i < scan->blocks && asked <= GAP_BLOCKS_MAX; i++) {
            if (block_is_bad(scan, block) == (bad != 0)) {
                if (block_position(scan, block, false, &scan->origin, &blank)) {
                    scan->start = block;
                    start_confirm(scan);
                    return true;
                }
                asked++;
            }
            block = block + 1 == scan->blocks ? 0 : block + 1;
        }
    }
    return false;
}

/// Position after the newest page of the block that starts at `start`.
static uint32_t block_end(struct ring_scan *scan, uint32_t start) {
    uint32_t block = start / scan->pages % scan->blocks;
    uint16_t low = 0;            /* pages before `low` are written */
    uint16_t high = scan->pages; /* no page from `high` on was found */
    uint32_t position = 0;
    bool erased = false;

    while (low < high) {
        uint16_t middle = (uint16_t)(low + (high - low) / 2);
        uint16_t limit = (uint16_t)(middle + PAGES_AFTER);
        uint16_t index = middle;
        bool written = false;
        uint8_t blank = 0; /* two erased pages in a row end the look ahead */
        while (index < limit && index < high && !written && blank < 2) {
            written = page_position(scan, block, index, &position, &erased) &&
                      position == start + index;
            blank = erased ? (uint8_t)(blank + 1) : 0;
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
/// that was marked bad is passed over to its end.
static void head_pass_torn(struct ring_scan *scan) {
    struct esk_ring *ring = scan->ring;
    const struct esk_geometry *geometry = &ring->volume->device->geometry;
    uint32_t position = 0;
    bool erased = false;
    uint32_t block = ring->head / scan->pages % scan->blocks;
    uint32_t at = ring->head;
    uint32_t end = (at + scan->pages - 1) / scan->pages * scan->pages;

    if (at < end && block_is_bad(scan, block)) {
        ring->head = end;
        return;
    }
    if ((geometry->flags & ESK_MEDIUM_OVERWRITE) != 0) {
        return;
    }
    for (; at < end && at <= ring->head + 1; at++) {
        (void)page_position(scan, block, (uint16_t)(at % scan->pages),
                            &position, &erased);
        if (!erased) {
            ring->head = at + 1;
        }
    }
}

/// Where the next block begins: past the head's block and, where the oldest
/// block gives way, past bad ones. A ring that refuses keeps what a block
/// held before it failed.
static uint32_t next_block(struct ring_scan *scan) {
    const struct esk_ring *ring = scan->ring;
    uint32_t next = (ring->head + scan->pages - 1) / scan->pages * scan->pages;
    for (uint32_t i = 1; i < scan->blocks && !ring->refuse; i++) {
        if (!block_is_bad(scan, next / scan->pages % scan->blocks)) {
            break;
        }
        next += scan->pages;
    }
    return next;
}

/// Whether one of the first pages of `block` is as position `start` was.
static bool block_begins(struct ring_scan *scan, uint32_t block,
                         uint32_t start) {
    uint32_t position = 0;
    bool erased = false;
    for (uint16_t i = 0; i < PAGES_AFTER && i < scan->pages; i++) {
        if (page_position(scan, block, i, &position, &erased) &&
            position == start + i) {
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
    uint32_t pages = ring->pages;
    uint32_t next = next_block(scan);
    uint32_t oldest = next > pages ? next - pages : 0;
    bool may_be_begun = next >= pages && oldest >= hint && !ring->refuse;
    uint8_t asked = 0;

    if (oldest < hint) {
        oldest = hint;
    }
    uint32_t at = oldest - oldest % scan->pages;
    for (uint32_t i = 0;
         i < scan->blocks && at < ring->head && asked <= GAP_BLOCKS_MAX; i++) {
        uint32_t block = at / scan->pages % scan->blocks;
        bool erased = false;
        bool proven = false;
        bool is_bad = block_is_bad(scan, block);
        if (!(is_bad && may_be_begun && i > 0) &&
            block_holds(scan, block, false, at, &proven, &erased)) {
            if (may_be_begun && !block_begins(scan, block, at)) {
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
/// `last` on, which does.
static uint32_t edge_find(struct ring_scan *scan, uint32_t last) {
    uint32_t high = scan->blocks;
    while (last + 1 < high) {
        uint32_t middle = last + (high - last) / 2;
        if (!block_continues(scan, middle, true, &last)) {
            high = middle;
        }
    }
    return last;
}

static void ring_find(struct ring_scan *scan, uint32_t hint) {
    struct esk_ring *ring = scan->ring;
    uint32_t last = 0;

    /* A block that was never begun is never begun in the middle. */
    ring->head = (hint + scan->pages - 1) / scan->pages * scan->pages;
    ring->tail = ring->head;
    if (scan_start(scan, hint)) {
        bool more = true;
        while (more) {
            last = edge_find(scan, last);
            more = block_continues(scan, last + 1, false, &last);
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
    struct ring_scan scan = {.ring = ring,
                             .page = page,
                             .pages = geometry->block_pages,
                             .blocks = config->blocks};

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

    scan.neighbours = volume->device->ops->block_is_bad != NULL
                          ? NEIGHBOURS
                          : ESK_RING_WORN_MAX - 1;
    bool keeps = (geometry->flags & ESK_MEDIUM_OVERWRITE) != 0;
    scan.stale = keeps ? ESK_RING_TORN_MAX : ESK_RING_TORN_MAX - 1;
    if (scan.stale > scan.pages) {
        scan.stale = (uint8_t)scan.pages;
    }
    for (uint8_t i = 0; i < PROBES_KEPT; i++) {
        scan.known[i].offset = UINT32_MAX;
    }
    ring_find(&scan, config->tail_hint);
    ring->lap = ring->head - ring->head % ring->pages;
    esk_ring_open_none(ring);
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
