// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Mounting a ring: head and tail follow from valid pages alone.
///
/// Seen from a block that has a page, the blocks that follow carry positions
/// that continue without a break up to the head's block. Behind it come
/// erased blocks, then blocks of a lap ago:
///
///     origin   1    2    3   head's   -    -    6    7
///       40    44   48   52     56               40-  44-    4 pages a block
///
/// So "block i continues the count" holds up to the head's block and not
/// behind it. A binary search over page headers finds that edge; a header is
/// a guide, never evidence. Then the blocks behind the edge are looked at, as
/// many as a window has, page by page and verified. One that continues the
/// count moves the edge, and the search goes on from it; one that is newer
/// than the count becomes the origin. The look ends at blocks of a lap ago,
/// which prove the end, or with the window. So a window of neighbouring blocks
/// that hold no valid page, for whatever reason, hides nothing behind it.
///
/// A valid page is conclusive. What says that there is no page where one could
/// be the newest is read until two reads agree. A transfer that fails ends the
/// mount: a bus that is down must not look like erased blocks.
#include "flash/ring.h"

enum {
    QUICK_BLOCKS = 3, ///< looked at from one of which the search knows nothing
    OLDER_MARKED = 2, ///< blocks of a lap ago that prove the end; a block that
                      ///< failed to erase keeps what it had, and its mark can
                      ///< have failed as well
};

#define POSITION_NONE UINT32_MAX

/// How many of the first pages of a block are looked at, beside the last.
enum look {
    LOOK_ENDS = 1, ///< enough for a block that is full, or erased
    /// The very first twice; all of the block, if that one is not valid and
    /// the others have no page: the newest may be between them.
    LOOK_WHOLE = ESK_RING_PROBES - 1,
};

/// How much an answer is worth.
enum trust {
    HEADER, ///< the first header that names a position
    VALID,  ///< a valid page
};

/// A search. Blocks and pages are named by positions: any that falls on them,
/// of whatever lap.
struct search {
    struct esk_ring *ring;
    uint8_t *page;   ///< scratch
    uint32_t origin; ///< first position of the block the count starts from
    bool failed;     ///< a transfer did: no answer is worth anything
};

static inline uint16_t block_pages(const struct search *search) {
    return esk_region_geometry(&search->ring->region)->block_pages;
}

static uint32_t blocks(const struct search *search) {
    return esk_ring_pages(search->ring) / block_pages(search);
}

/// Whether pages of two laps can stand in one block.
static inline bool overwrites(const struct search *search) {
    return esk_region_overwrites(&search->ring->region);
}

/// The header of the page that `at` falls on. ESK_HEADER_OTHER on failure.
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

/// Reads the page that `at` falls on. Returns as esk_region_read.
/// position  out: the one it has; POSITION_NONE unless it is valid there.
static int page_at(struct search *search, uint32_t at, uint32_t *position) {
    const struct esk_ring *ring = search->ring;
    *position = POSITION_NONE;
    if (search->failed) {
        return ESK_E_IO;
    }
    esk_page_id page = esk_ring_page(ring, at);
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

/// The first position of the block at `at`, from the newest of the pages
/// looked at; POSITION_NONE when none names one. A page of a lap ago may stand
/// before newer ones.
static uint32_t block_position(struct search *search, uint32_t at,
                               enum trust trust, enum look look) {
    uint32_t best = POSITION_NONE;
    const uint16_t last = (uint16_t)(block_pages(search) - 1u);
    bool torn = false;
    for (uint16_t index = 0; index <= last; index++) {
        uint32_t found = 0;
        bool alone = false;
        if (index == look && !torn) {
            index = last;
            alone = best == POSITION_NONE && last > look;
        }
        enum esk_header header = header_at(search, at + index, &found);
        if (look == LOOK_WHOLE && index == 0 && header != ESK_HEADER_PAGE) {
            header = header_at(search, at, &found);
            torn = header == ESK_HEADER_OTHER;
        }
        found -= index;
        if (header != ESK_HEADER_PAGE ||
            (best != POSITION_NONE && found <= best)) {
            continue;
        }
        if (trust == VALID) {
            (void)page_at(search, at + index, &found);
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
            /* The page of a lap ago stands behind pages that were lost: newer
               ones may stand between them. */
            index = (uint16_t)(look - 1u);
        }
    }
    return best;
}

/// How block `i` of a window is looked at: the head's block, which can be torn
/// where it begins, is among the first.
static enum look look_at(uint32_t i) {
    return i < QUICK_BLOCKS ? LOOK_WHOLE : LOOK_ENDS;
}

/// How far after the origin the last block is that continues the count, by a
/// binary search.
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
            /* A bad block may keep what it had some laps ago. */
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

/// Looks at a window of blocks, from position `at` on, for the origin of the
/// count: the first one that has a valid page; of a bad one, which may be from
/// any lap, only if there is no other.
/// behind   they are behind the edge: one that continues the count, or is
///          newer. Past the origin as well, for that may have failed to erase.
/// Returns  whether there is one.
static bool origin_find(struct search *search, uint32_t at, bool behind) {
    const struct esk_ring *ring = search->ring;
    uint32_t window = esk_ring_window(ring) + 1u;
    uint32_t bad = POSITION_NONE;
    uint8_t proof = esk_volume_keeps_marks(ring->region.volume)
                        ? OLDER_MARKED
                        : ESK_RING_WORN_MAX;
    at -= esk_ring_rest(ring, at);
    window = window < blocks(search) ? window : blocks(search);
    for (uint32_t i = 0; i < window; i++) {
        uint32_t found = block_position(search, at, VALID, look_at(i));
        if (found != POSITION_NONE) {
            bool is_bad = esk_ring_block_is_bad(ring, at);
            bool is_older = behind && found < at;
            if (is_bad && !is_older) {
                bad = found;
            } else if (!is_older) {
                search->origin = found;
                return true;
            } else if (!is_bad && --proof == 0) {
                break;
            }
        }
        at += block_pages(search);
    }
    if (bad != POSITION_NONE) {
        search->origin = bad;
    }
    return bad != POSITION_NONE;
}

/// The position behind the last page of the block at `start` that was written.
/// Where pages are overwritten that is one of the count, else any that is not
/// blank: a page that was torn or damaged is a hole.
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

/// Whether `byte` is `value`, or not programmed yet.
static bool byte_fits(const struct search *search, uint8_t byte,
                      uint8_t value) {
    return byte == value ||
           byte == esk_envelope_erased(&search->ring->region.envelope);
}

/// Whether the page in scratch was programmed as position `at`, though it may
/// be damaged: its kind, table and sequence say so, all but one, or all but a
/// bit of the sequence. A page of a lap ago has another sequence, of which an
/// erase that was cut leaves some bits.
static bool page_claims(const struct search *search, uint32_t at) {
    const struct esk_region *region = &search->ring->region;
    const uint8_t *page = search->page;
    uint32_t sequence = esk_page_sequence(page);
    uint32_t differs = sequence ^ at;
    uint32_t older = at - esk_ring_pages(search->ring);
    uint32_t erased =
        esk_envelope_erased(&region->envelope) == 0 ? 0 : UINT32_MAX;
    bool is_older = overwrites(search)
                        ? sequence == older
                        : ((sequence ^ erased) & ~(older ^ erased)) == 0;
    bool kind =
        byte_fits(search, page[ESK_ENVELOPE_KIND], region->envelope.kind);
    bool table =
        byte_fits(search, page[ESK_ENVELOPE_TABLE], region->envelope.table);
    if (differs == 0) {
        return kind || table;
    }
    return kind && table && (differs & (differs - 1u)) == 0 && !is_older;
}

/// Whether what `at` falls on, which does not claim to be there, can have been
/// there before, on a medium whose erase keeps it: a page of a lap ago, or what
/// the first lap finds on a medium that was not blank. Anything else was
/// programmed as `at`, and is torn or damaged.
static bool was_there(struct search *search, uint32_t at) {
    uint32_t pages = esk_ring_pages(search->ring);
    uint32_t position = 0;
    return header_at(search, at, &position) == ESK_HEADER_PAGE ||
           (at < pages &&
            header_at(search, pages - 1u, &position) != ESK_HEADER_BLANK);
}

/// Moves head past what its block holds behind it: a page that its header did
/// not show, and pages that are neither valid nor erased. A failed program may
/// leave its page erased and tear the next one: two pages are looked at.
static void head_settle(struct search *search, uint32_t end) {
    struct esk_ring *ring = search->ring;
    if (ring->head < end && esk_ring_block_is_bad(ring, ring->head)) {
        ring->head = end;
    }
    for (uint32_t at = ring->head; at < end && at <= ring->head + 1; at++) {
        uint32_t position = POSITION_NONE;
        int status = page_at(search, at, &position);
        bool is_older = status == ESK_OK && position < at;
        bool is_left =
            overwrites(search) &&
            (is_older || (!page_claims(search, at) && was_there(search, at)));
        if (status != ESK_NOT_FOUND && !is_left) {
            ring->head = at + 1;
        }
    }
}

/// Whether the block at `start` was begun, though none of its pages is valid:
/// its first page was torn or damaged. Where blocks are erased before they are
/// begun, none of its pages is of a lap ago either.
static bool block_is_begun(struct search *search, uint32_t start) {
    uint32_t position = POSITION_NONE;
    return header_at(search, start, &position) != ESK_HEADER_BLANK &&
           page_at(search, start, &position) == ESK_E_CORRUPT &&
           page_claims(search, start) &&
           (overwrites(search) ||
            block_position(search, start, VALID, LOOK_WHOLE) == POSITION_NONE);
}

/// The block that the head is in, seen from the origin.
static uint32_t head_block(struct search *search) {
    uint32_t last = 0;
    uint32_t start = 0;
    do {
        last = edge_find(search, HEADER);
        start = search->origin + last * block_pages(search);
        if (block_position(search, start, VALID, LOOK_WHOLE) != start) {
            /* Headers of a table that was here before. */
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
    head_settle(search, start + block_pages(search));
    ring->ready = esk_ring_block_from(ring, ring->head);
    ring->lap = ring->head - ring->head % esk_ring_pages(ring);
}

/// What the headers of the block at `at` say that it holds of that lap.
/// Returns ESK_HEADER_PAGE, a page; ESK_HEADER_BLANK, nothing or pages of
/// another lap; ESK_HEADER_OTHER, no page, but other bytes.
static enum esk_header block_holds(struct search *search, uint32_t at) {
    enum esk_header holds = ESK_HEADER_BLANK;
    for (uint8_t look = 0; look < ESK_RING_PROBES; look++) {
        uint16_t index = esk_ring_probe(look, block_pages(search));
        uint32_t position = POSITION_NONE;
        if (index == block_pages(search)) {
            break;
        }
        enum esk_header header = header_at(search, at + index, &position);
        if (header == ESK_HEADER_BLANK) {
            header = header_at(search, at + index, &position);
        }
        if (header == ESK_HEADER_PAGE && position == 0 &&
            esk_envelope_erased(&search->ring->region.envelope) == 0) {
            (void)page_at(search, 0, &position); /* or an erased one */
        }
        if (header == ESK_HEADER_PAGE && position == at + index) {
            return header;
        }
        if (header == ESK_HEADER_OTHER) {
            holds = header;
        }
    }
    return holds;
}

/// Oldest position that can still be there: a lap before the end of the block
/// that head is in, past the blocks that were erased ahead. A block of other
/// bytes before an erased one was given up with it: its erase failed, or was
/// cut.
static uint32_t tail_find(struct search *search, uint32_t hint) {
    const struct esk_ring *ring = search->ring;
    uint32_t next = esk_ring_block_from(ring, ring->head);
    uint32_t oldest =
        next > esk_ring_pages(ring) ? next - esk_ring_pages(ring) : 0;
    uint32_t window = esk_ring_window(ring);
    uint32_t other = POSITION_NONE;

    if (oldest < hint) {
        oldest = hint;
    }
    uint32_t at = oldest - esk_ring_rest(ring, oldest);
    for (uint32_t i = 0; i <= window && at < ring->head; i++) {
        enum esk_header holds = block_holds(search, at);
        if (holds == ESK_HEADER_PAGE) {
            at = other != POSITION_NONE ? other : at;
            return at > oldest ? at : oldest;
        }
        if (holds == ESK_HEADER_BLANK || esk_ring_block_is_bad(ring, at)) {
            other = POSITION_NONE;
        } else if (other == POSITION_NONE) {
            other = at;
        }
        at += block_pages(search);
    }
    return oldest;
}

static void search_make(struct search *search, struct esk_ring *ring,
                        uint8_t *page) {
    memset(search, 0, sizeof *search);
    search->ring = ring;
    search->page = page;
}

void esk_ring_init(struct esk_ring *ring, struct esk_volume *volume,
                   const struct esk_ring_config *config,
                   struct esk_region_stats *stats) {
    const struct esk_geometry *geometry = esk_volume_geometry(volume);

    memset(ring, 0, sizeof *ring);
    ring->region.volume = volume;
    ring->region.stats = stats;
    ring->region.first_page = config->block * geometry->block_pages;
    ring->region.pages = config->blocks * geometry->block_pages;
    ring->refuse = config->refuse;
    ring->ahead = config->ahead;
    /* All but head's block, and where pages are dropped for room one more. */
    uint32_t most = config->blocks - 2u + config->refuse;
    if (ring->ahead > most) {
        ring->ahead = (uint8_t)most;
    }
    ring->region.envelope.seed = config->seed;
    ring->region.envelope.page_bytes = geometry->page_bytes;
    ring->region.envelope.unit = config->unit;
    ring->region.envelope.checksum = volume->checksum;
    ring->region.envelope.kind = config->kind;
    ring->region.envelope.table = config->table;
    ring->region.envelope.erased_value = geometry->erased_value;
    if (ESK_SHAPED(false, true)) {
        ring->region.envelope.breaks = config->breaks;
        ring->region.envelope.break_count = config->break_count;
    }
}

/// Empties the ring: it goes on from `position`, but not in the middle of a
/// block, for that may not be erased.
static void ring_empty(struct esk_ring *ring, uint32_t position) {
    ring->head = esk_ring_block_from(ring, position);
    ring->tail = ring->head;
    ring->ready = ring->head;
    ring->lap = ring->head - ring->head % esk_ring_pages(ring);
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
    if (origin_find(&search, hint, false)) {
        head_find(&search, head_block(&search));
        if (ring->head < hint) { /* only dropped pages are left */
            ring_empty(ring, hint);
        } else {
            ring->tail = tail_find(&search, hint);
        }
    } else if (block_is_begun(&search, ring->head)) {
        head_find(&search, ring->head);
    }
    return search.failed ? ESK_E_IO : ESK_OK;
}

/// Whether pages are there that would go if the log had reached `position`.
static bool holds_older(struct search *search, uint32_t position) {
    const struct esk_ring *ring = search->ring;
    uint32_t at = ring->tail - esk_ring_rest(ring, ring->tail);
    while (ring->tail < ring->head && at < ring->head &&
           position - at > esk_ring_pages(ring)) {
        if (block_holds(search, at) == ESK_HEADER_PAGE) {
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
    search.origin = position - esk_ring_rest(ring, position);
    ring->head = esk_ring_block_from(ring, position);
    ring->ready = ring->head;
    if (block_position(&search, search.origin, VALID, LOOK_WHOLE) ==
            search.origin ||
        origin_find(&search, search.origin + block_pages(&search), true)) {
        head_find(&search, head_block(&search));
    } else if (block_is_begun(&search, ring->head)) {
        head_find(&search, ring->head);
    }
    if (ring->head < position) {
        /* A block is not gone on with in the middle. */
        ring->head = esk_ring_block_from(ring, position);
        ring->ready = ring->head;
    }
    ring->tail = tail_find(&search, ring->tail);
    return search.failed ? ESK_E_IO : ESK_OK;
}
