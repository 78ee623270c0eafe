// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Mounting a ring: head and tail follow from valid pages alone.
///
/// Starting at a block that has a page, the positions of the next blocks
/// continue without a break, up to the head's block. After that come erased
/// blocks, then blocks of a lap ago:
///
///     origin   1    2    3   head's   -    -    6    7
///       40    44   48   52     56               40-  44-    4 pages a block
///
/// So "block i continues the count" is true up to the head's block and false
/// after it. A binary search over page headers finds that edge; a header is a
/// guide, never evidence. Then a window of blocks after the edge is read, page
/// by page, and verified. A block that continues the count moves the edge, and
/// the search goes on from there; a block that is newer than the count becomes
/// the origin. The search ends at blocks of a lap ago, or with the window. So
/// a window of consecutive blocks without a valid page, for whatever reason,
/// hides nothing after it.
///
/// A valid page is conclusive. Where a page may be the newest, an invalid one
/// is read until two reads agree. A transfer that fails twice ends the mount: a
/// bus that is down must not look like erased blocks.
#include "base/inline.h"
#include "flash/ring.h"

enum {
    QUICK_BLOCKS = 3, ///< oldest blocks that are read at more pages; most
                      ///< blank blocks in a step of the binary search; a ring
                      ///< of not more has no block that is read at its ends
    OLDER_MARKED = 2, ///< blocks of a lap ago that end a search; a block whose
                      ///< erase failed has its old pages, and its mark may have
                      ///< failed, too
};

#define POSITION_NONE UINT32_MAX

/// How many of the first pages of a block are read, besides the last.
enum look {
    /// Enough for a block that is full, or erased. Of one that begins with
    /// other bytes a mount reads the pages that an append reads before it
    /// erases the block: a page that only the append finds would stop it for
    /// good.
    LOOK_ENDS = 1,
    LOOK_FEW = ESK_RING_PROBES - 2, ///< some that follow may be damaged, too
    /// The first one twice; all of the block if the first is not valid and the
    /// others have no page: the newest may be between them.
    LOOK_WHOLE = ESK_RING_PROBES - 1,
    /// The same, and all pages up to the first valid one.
    LOOK_ALL = ESK_RING_PROBES,
};

/// What a search accepts as evidence.
enum trust {
    HEADER, ///< the first header that names a position
    VALID,  ///< a valid page
};

/// A search. A position stands for the block or page that it is on, in any lap.
struct search {
    struct esk_ring *ring;
    uint8_t *page;   ///< scratch
    uint32_t origin; ///< first position of the block where the count starts
    bool failed;     ///< a transfer failed: no result may be used
    bool odd; ///< a page that block_position read is neither valid nor blank
};

static ESK_APART_OR_INLINE uint16_t block_pages(const struct search *search) {
    return esk_region_geometry(&search->ring->region)->block_pages;
}

static ESK_APART uint32_t blocks(const struct search *search) {
    return esk_ring_pages(search->ring) / block_pages(search);
}

/// Whether a block can have pages of two laps.
static ESK_APART_OR_INLINE bool overwrites(const struct search *search) {
    return esk_region_overwrites(&search->ring->region);
}

/// The header of the page at `at`. ESK_HEADER_OTHER on failure.
static enum esk_header header_at(struct search *search, uint32_t at,
                                 uint32_t *position) {
    enum esk_header header = ESK_HEADER_OTHER;
    if (!search->failed &&
        esk_ring_header(search->ring, at, &header, position) != ESK_OK) {
        search->failed = true;
        header = ESK_HEADER_OTHER;
    }
    return header;
}

/// Reads the page at `at`. Returns as esk_region_read.
/// position  out: the page's; POSITION_NONE unless it is valid there.
static int page_at(struct search *search, uint32_t at, uint32_t *position) {
    const struct esk_ring *ring = search->ring;
    *position = POSITION_NONE;
    if (search->failed) {
        return ESK_E_IO;
    }
    esk_address page = esk_ring_page(ring, at);
    int status = esk_region_read(&ring->region, page, ESK_SEQUENCE_ANY,
                                 search->page, true);
    search->failed = status == ESK_E_IO;
    if (status == ESK_OK) {
        uint32_t sequence = esk_page_sequence(search->page);
        if (sequence <= esk_ring_position_max(ring) &&
            esk_ring_page(ring, sequence) == page) {
            *position = sequence;
        }
    }
    return status;
}

/// The first position of the block at `at`, by the newest of the pages read;
/// POSITION_NONE when none has a position. A page of a lap ago may come before
/// newer ones.
static uint32_t block_position(struct search *search, uint32_t at,
                               enum trust trust, enum look look) {
    uint32_t best = POSITION_NONE;
    const uint16_t last = (uint16_t)(block_pages(search) - 1u);
    bool torn = look == LOOK_ALL;
    search->odd = false;
    for (uint16_t index = 0; index <= last; index++) {
        uint32_t found = 0;
        bool alone = false;
        if (index == (search->odd && trust == VALID ? LOOK_WHOLE : look) &&
            !torn) {
            index = last;
            alone = best == POSITION_NONE && last > look;
        }
        enum esk_header header = header_at(search, at + index, &found);
        if (look >= LOOK_WHOLE && index == 0 && header != ESK_HEADER_PAGE) {
            header = header_at(search, at, &found);
            torn = torn || header == ESK_HEADER_OTHER;
        }
        search->odd = search->odd || header == ESK_HEADER_OTHER;
        found -= index;
        if (header != ESK_HEADER_PAGE ||
            (best != POSITION_NONE && found <= best)) {
            continue;
        }
        if (trust == VALID) {
            int status = page_at(search, at + index, &found);
            if (status == ESK_E_CORRUPT) {
                search->odd = true;
                torn = torn || (look >= LOOK_WHOLE && index == 0);
            }
            if (found == POSITION_NONE) {
                continue;
            }
            found -= index;
        }
        best = found;
        torn = alone && overwrites(search);
        if (best == at || (best > at && !overwrites(search))) {
            break;
        }
        if (torn) {
            /* This page of a lap ago comes after pages that were lost: there
               may be newer ones between them. */
            index = (uint16_t)(look - 1u);
        }
    }
    return best;
}

/// The number of the last block, counted from the origin, that continues the
/// count; by a binary search.
static uint32_t edge_find(struct search *search, enum trust trust) {
    uint32_t last = 0;
    uint32_t high = blocks(search);
    while (last + 1 < high) {
        uint32_t middle = last + (high - last) / 2;
        uint32_t block = middle;
        uint32_t found = POSITION_NONE;
        uint8_t blanks = 0;
        uint32_t at = 0;
        while (block < high && blanks < QUICK_BLOCKS) {
            at = search->origin + block * block_pages(search);
            found = block_position(search, at, trust, LOOK_ENDS);
            if (found == at) {
                break;
            }
            /* A bad block may have pages of some laps ago. */
            if (!esk_ring_block_is_bad(search->ring, at)) {
                if (found != POSITION_NONE) {
                    break;
                }
                blanks++;
            }
            block++;
        }
        if (block < high && found == at) {
            last = block;
        } else {
            high = middle;
        }
    }
    return last;
}

/// Searches a window of blocks, from position `at` on, for the origin of the
/// count: the first block with a valid page. A bad block, which may be from any
/// lap, is taken only if there is no other. Of a run of damaged blocks the last
/// one is read whole: the damage may end in it, before newer pages. In a ring
/// of few blocks each may be the head's, and is read whole.
/// behind   the blocks are behind the edge: takes one that continues the count
///          or is newer. Searches past the origin as well, whose erase may have
///          failed.
/// Returns  whether there is one.
static bool origin_find(struct search *search, uint32_t at, bool behind) {
    const struct esk_ring *ring = search->ring;
    uint16_t window = (uint16_t)(esk_ring_window(ring) + 1u);
    uint32_t bad = POSITION_NONE;
    uint32_t run = POSITION_NONE; /* its last block, unless read whole */
    bool was_odd = false;
    enum look look = LOOK_ALL; /* the head's block may be the first one */
    uint8_t proof = esk_volume_keeps_marks(ring->region.volume)
                        ? OLDER_MARKED
                        : ESK_RING_WORN_MAX;
    at -= esk_ring_rest(ring, at);
    if (window > blocks(search)) {
        window = (uint16_t)blocks(search);
    }
    uint32_t end = at + (uint32_t)window * block_pages(search);
    for (; at != end; at += block_pages(search)) {
        uint32_t found = block_position(search, at, VALID, look);
        bool is_older = behind && found < at;
        if (esk_ring_block_is_bad(ring, at)) {
            if (found != POSITION_NONE && !is_older) {
                bad = found;
            }
            continue;
        }
        if (found != POSITION_NONE && !is_older) {
            search->origin = found;
            return true;
        }
        bool is_end = is_older || (was_odd && !search->odd);
        was_odd = search->odd;
        if (is_end && run != POSITION_NONE) {
            found = block_position(search, run, VALID, LOOK_ALL);
            if (found != POSITION_NONE && !(behind && found < run)) {
                search->origin = found;
                return true;
            }
        }
        run = look == LOOK_ALL || is_older ? POSITION_NONE : at;
        look = blocks(search) <= QUICK_BLOCKS ? LOOK_ALL : LOOK_ENDS;
        if (is_older && --proof == 0) {
            break;
        }
    }
    if (bad != POSITION_NONE) {
        search->origin = bad;
    }
    return bad != POSITION_NONE;
}

/// The position after the last page that was written in the block at `start`:
/// where pages are overwritten, the last page of the count, else the last one
/// that is not blank. A torn or damaged page is a hole.
static uint32_t block_end(struct search *search, uint32_t start) {
    uint16_t index = block_pages(search);
    while (index > 0) {
        uint32_t at = start + index - 1u;
        uint32_t position = 0;
        enum esk_header header = header_at(search, at, &position);
        bool written = header == ESK_HEADER_PAGE && position == at;
        if (written || (!overwrites(search) && header != ESK_HEADER_BLANK)) {
            break;
        }
        index--;
    }
    return start + index;
}

bool esk_ring_claims(const struct esk_ring *ring, const uint8_t *page,
                     uint32_t at) {
    const struct esk_region *region = &ring->region;
    uint32_t sequence = esk_page_sequence(page);
    uint32_t differs = sequence ^ at;
    uint32_t older = at - esk_ring_pages(ring);
    uint32_t erased =
        esk_envelope_erased(&region->envelope) == 0 ? 0 : UINT32_MAX;
    bool is_older = esk_region_overwrites(region)
                        ? sequence == older
                        : ((sequence ^ erased) & ~(older ^ erased)) == 0;
    bool is_zeros = erased != 0 && page[ESK_ENVELOPE_KIND] == 0;
    if (differs == 0) {
        return at != 0 || !is_zeros;
    }
    return (differs & (differs - 1u)) == 0 && !is_older && !is_zeros;
}

/// Whether the page at `at`, which does not claim to be `at`, may be old, on a
/// medium whose erase leaves old bytes: a page of a lap ago, or in the first
/// lap bytes of a medium that was not blank. Anything else was programmed as
/// `at`, and is torn or damaged.
static bool was_there(struct search *search, uint32_t at) {
    uint32_t pages = esk_ring_pages(search->ring);
    uint32_t position = 0;
    return header_at(search, at, &position) == ESK_HEADER_PAGE ||
           (at < pages &&
            header_at(search, pages - 1u, &position) != ESK_HEADER_BLANK);
}

/// Moves head past the pages after it in its block that are valid but have a
/// damaged header, or are neither valid nor erased. Reads two pages: a failed
/// program may leave its page erased and tear the next one.
static void head_advance(struct search *search, uint32_t end) {
    struct esk_ring *ring = search->ring;
    if (ring->head < end && esk_ring_block_is_bad(ring, ring->head)) {
        ring->head = end;
    }
    for (uint32_t at = ring->head; at < end && at <= ring->head + 1; at++) {
        uint32_t position = POSITION_NONE;
        int status = page_at(search, at, &position);
        bool is_older = status == ESK_OK && position < at;
        bool is_left = overwrites(search) &&
                       (is_older || (!esk_ring_claims(ring, search->page, at) &&
                                     was_there(search, at)));
        if (status != ESK_NOT_FOUND && !is_left) {
            ring->head = at + 1;
        }
    }
}

/// Whether the block at `start` was begun though none of its pages is valid:
/// its first page was torn or damaged. Where blocks are erased before they are
/// begun, it has no pages of a lap ago either.
static bool block_is_begun(struct search *search, uint32_t start) {
    uint32_t position = POSITION_NONE;
    return header_at(search, start, &position) != ESK_HEADER_BLANK &&
           page_at(search, start, &position) == ESK_E_CORRUPT &&
           esk_ring_claims(search->ring, search->page, start) &&
           (overwrites(search) ||
            block_position(search, start, VALID, LOOK_WHOLE) == POSITION_NONE);
}

/// The block of the head, searched from the origin.
static uint32_t head_block(struct search *search) {
    uint32_t last = 0;
    uint32_t start = 0;
    do {
        last = edge_find(search, HEADER);
        start = search->origin + last * block_pages(search);
        if (block_position(search, start, VALID, LOOK_WHOLE) != start) {
            /* These are headers of a table that was here before. */
            last = edge_find(search, VALID);
            start = search->origin + last * block_pages(search);
        }
    } while (origin_find(search, start + block_pages(search), true));
    uint32_t next = start + block_pages(search);
    return block_is_begun(search, next) ? next : start;
}

/// Finds the head in the block at `start`, which was begun.
static void head_find(struct search *search, uint32_t start) {
    struct esk_ring *ring = search->ring;
    ring->head = block_end(search, start);
    head_advance(search, start + block_pages(search));
    ring->ready = esk_ring_block_from(ring, ring->head);
}

/// Finds the head from the origin; without one, in the block at head, if that
/// was begun.
static void head_search(struct search *search, bool has_origin) {
    uint32_t start = search->ring->head;
    if (has_origin) {
        start = head_block(search);
    } else if (!block_is_begun(search, start)) {
        return;
    }
    head_find(search, start);
}

/// What the block at `at` holds of this lap. Returns ESK_HEADER_PAGE, a valid
/// page; ESK_HEADER_BLANK, nothing, or pages of another lap; ESK_HEADER_OTHER,
/// no page, but other bytes.
static enum esk_header block_holds(struct search *search, uint32_t at,
                                   enum look look) {
    if (block_position(search, at, VALID, look) == at) {
        return ESK_HEADER_PAGE;
    }
    return search->odd ? ESK_HEADER_OTHER : ESK_HEADER_BLANK;
}

/// Oldest position that can still have a page: a lap before the end of head's
/// block, past the blocks that were erased ahead. A block of other bytes before
/// an erased block was dropped with it: its erase failed, or was cut. A bad
/// block is skipped before the one behind it is erased, and nothing shows how
/// far that came: where its turn may have come, it is dropped with its pages.
static uint32_t tail_find(struct search *search, uint32_t hint) {
    const struct esk_ring *ring = search->ring;
    uint32_t pages = esk_ring_pages(ring);
    uint32_t at = ring->ready > pages ? ring->ready - pages : 0;
    bool drops =
        !esk_ring_refuses(ring) &&
        ring->ready + (uint32_t)ring->ahead * block_pages(search) > pages;
    uint16_t window = esk_ring_window(ring);
    uint32_t tail = at;
    uint32_t oldest = at;
    uint8_t good = 0;

    for (uint16_t i = 0; i <= window && at < ring->head; i++) {
        bool bad = esk_ring_block_is_bad(ring, at);
        /* The oldest block's first page may be torn. */
        enum esk_header holds = block_holds(
            search, at, good < QUICK_BLOCKS ? LOOK_WHOLE : LOOK_FEW);
        good = (uint8_t)(good + (!bad && good < QUICK_BLOCKS ? 1 : 0));
        if (holds == ESK_HEADER_PAGE && !(bad && drops)) {
            oldest = tail;
            break;
        }
        at += block_pages(search);
        if (holds == ESK_HEADER_BLANK || bad) {
            tail = at;
        }
    }
    return oldest > hint ? oldest : hint;
}

static void search_make(struct search *search, struct esk_ring *ring,
                        uint8_t *page) {
    memset(search, 0, sizeof *search);
    search->ring = ring;
    search->page = page;
}

ESK_APART void esk_ring_init(struct esk_ring *ring, struct esk_volume *volume,
                             const struct esk_ring_config *config,
                             struct esk_region_stats *stats) {
    const struct esk_geometry *geometry = esk_volume_geometry(volume);

    memset(ring, 0, sizeof *ring);
    ring->region.volume = volume;
    ring->region.stats = stats;
    if ((bool)(ESK_ASSERTS | ESK_SHAPED_RING(false, true))) {
        ring->region.first_page = config->block * geometry->block_pages;
        ring->region.pages = config->blocks * geometry->block_pages;
    }
    if (ESK_SHAPED_RING(false, true)) {
        ring->refuse = config->refuse;
    }
    ring->ahead = config->ahead;
    /* All blocks but head's; where pages are dropped for room, one less. */
    uint32_t most = config->blocks - 2u + config->refuse;
    if (ring->ahead > most) {
        ring->ahead = (uint8_t)most;
    }
    ring->region.envelope.seed = config->seed;
    ring->region.envelope.unit = config->unit;
    ring->region.envelope.checksum = esk_volume_checksum(volume);
    ring->region.envelope.kind = config->kind;
    ring->region.envelope.table = config->table;
    if (ESK_SHAPED_MEDIUM(false, true)) {
        ring->region.envelope.page_bytes = geometry->page_bytes;
        ring->region.envelope.erased_value = geometry->erased_value;
    }
    if (ESK_SHAPED(false, true)) {
        ring->region.envelope.breaks = config->breaks;
    }
    if (ESK_SHAPED(ESK_SHAPE_RUNS, true)) {
        ring->region.envelope.seals = config->seals;
    }
}

/// Empties the ring: it goes on from `position`, or from the next block if
/// `position` is inside a block, which may not be erased.
static ESK_APART void ring_empty(struct esk_ring *ring, uint32_t position) {
    ring->head = esk_ring_block_from(ring, position);
    ring->tail = ring->head;
    ring->ready = ring->head;
}

int esk_ring_mount(struct esk_ring *ring, struct esk_volume *volume,
                   const struct esk_ring_config *config,
                   struct esk_region_stats *stats, uint8_t *page) {
    uint32_t hint = config->tail_hint;
    struct search search;

    esk_ring_init(ring, volume, config, stats);
    esk_ring_open_none(ring);
    search_make(&search, ring, page);
    ring_empty(ring, hint);
    /* A wrong read may hide the only page. */
    bool found =
        origin_find(&search, hint, false) || origin_find(&search, hint, false);
    head_search(&search, found);
    if (ring->head < hint) { /* only dropped pages are left */
        ring_empty(ring, hint);
    } else if (found) {
        ring->tail = tail_find(&search, hint);
    }
    esk_ring_lap(ring);
    return search.failed ? ESK_E_IO : ESK_OK;
}

/// Whether pages exist that a log up to `position` would have dropped.
static bool holds_older(struct search *search, uint32_t position) {
    const struct esk_ring *ring = search->ring;
    uint32_t at = ring->tail - esk_ring_rest(ring, ring->tail);
    while (ring->tail < ring->head && at < ring->head &&
           position - at > esk_ring_pages(ring)) {
        if (block_holds(search, at, LOOK_FEW) == ESK_HEADER_PAGE) {
            return true;
        }
        at += block_pages(search);
    }
    return false;
}

int esk_ring_reached(struct esk_ring *ring, uint32_t position, bool is_sure,
                     uint8_t *page) {
    struct search search;
    search_make(&search, ring, page);
    if (position <= ring->head || position > esk_ring_position_max(ring) ||
        (!is_sure && holds_older(&search, position))) {
        return search.failed ? ESK_E_IO : ESK_OK;
    }
    uint32_t tail = ring->tail;
    search.origin = position - esk_ring_rest(ring, position);
    ring_empty(ring, position);
    head_search(
        &search,
        block_position(&search, search.origin, VALID, LOOK_ALL) ==
                search.origin ||
            origin_find(&search, search.origin + block_pages(&search), true));
    if (ring->head < position) {
        /* The log does not go on inside a block. */
        ring_empty(ring, position);
    }
    ring->tail = tail_find(&search, tail);
    esk_ring_lap(ring);
    return search.failed ? ESK_E_IO : ESK_OK;
}
