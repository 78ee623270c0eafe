// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Mounting a ring by reading every block: less code than the search of
/// esk_ring_mount, for media that erase blocks before they are programmed and
/// whose driver stores no marks.
///
///     origin   1    2    3   newest    -    -    6    7
///       40    44   48   52     56                40-  44-   4 pages a block
///
/// The newest block has the page with the largest position. The blocks are read
/// from the last one down: then at most two blocks have a page that is newer
/// than those before, and only such pages are verified.
///
/// A block's first and last page tell what it holds if both are blank, or of
/// one lap. If not, all its pages are read, and those of the block behind the
/// newest: its first pages may be lost. So no run of damaged blocks hides a
/// page, however long it is, and an append need not read a block before it
/// erases it.
///
/// Blocks are named by their first page on the device: for an 8-bit chip an
/// address can be narrower than a position.
#include "base/inline.h"
#include "flash/ring.h"

#define POSITION_NONE UINT32_MAX

struct survey {
    struct esk_ring *ring;
    uint8_t *page; ///< scratch
    bool failed;   ///< a transfer failed: no result may be used
    bool odd;      ///< block_start read a page that is neither valid nor blank
};

static uint16_t block_pages(const struct survey *survey) {
    return esk_region_geometry(&survey->ring->region)->block_pages;
}

/// Reads the header of page `page` into the scratch page. ESK_HEADER_OTHER on
/// failure. Its position may be anything: it is only a guide.
static ESK_OUT_OF_LINE enum esk_header header_at(struct survey *survey,
                                                 esk_address page) {
    const struct esk_ring *ring = survey->ring;
    int header = esk_region_look(&ring->region, page, survey->page);
    if (header < 0) {
        survey->failed = true;
        return ESK_HEADER_OTHER;
    }
    if (header == ESK_HEADER_BLANK &&
        esk_envelope_erased(&ring->region.envelope) == 0 &&
        page == esk_ring_first(ring)) {
        return ESK_HEADER_PAGE; /* position 0, begun */
    }
    return (enum esk_header)header;
}

/// Reads page `page`. Returns as esk_region_read; a valid page of another place
/// is ESK_E_CORRUPT.
static int page_at(struct survey *survey, esk_address page) {
    const struct esk_ring *ring = survey->ring;
    int status = esk_region_read(&ring->region, page, ESK_SEQUENCE_ANY,
                                 survey->page, true);
    uint32_t position = esk_page_sequence(survey->page);
    if (status == ESK_E_IO) {
        survey->failed = true;
    }
    if (status == ESK_OK && (position > esk_ring_position_max(ring) ||
                             esk_ring_page(ring, position) != page)) {
        status = ESK_E_CORRUPT;
    }
    return status;
}

/// The position after the block at page `block`, by a valid page, if it is
/// above `from`; else 0.
/// all      reads all pages up to a valid one
static uint32_t block_end(struct survey *survey, esk_address block,
                          uint32_t from, bool all) {
    uint16_t pages = block_pages(survey);
    uint32_t before = 0;
    survey->odd = false;
    for (uint16_t i = 0; i < pages && (i < 2 || all); i++) {
        uint16_t index = i == 0   ? 0
                         : i == 1 ? (uint16_t)(pages - 1u)
                                  : (uint16_t)(i - 1u);
        esk_address page = (esk_address)(block + index);
        uint16_t rest = (uint16_t)(pages - index);
        uint32_t found = 0;
        enum esk_header looks = header_at(survey, page);
        if (looks == ESK_HEADER_PAGE) {
            found = esk_page_sequence(survey->page) + rest;
            if (found > from) {
                int status = page_at(survey, page);
                found = status == ESK_OK
                            ? esk_page_sequence(survey->page) + rest
                            : 0;
                if (found > from) { /* or its header was read wrong */
                    return found;
                }
                /* An erased page reads as position 0 where that is its
                   value. */
                if (status != ESK_OK) {
                    looks = status == ESK_NOT_FOUND ? ESK_HEADER_BLANK
                                                    : ESK_HEADER_OTHER;
                }
            }
        }
        if (looks == ESK_HEADER_OTHER) {
            survey->odd = true;
            all = true;
        }
        if (i > 0 && found != before) {
            all = true;
        }
        before = found;
    }
    return 0;
}

/// The position after the newest block; 0: no page is valid.
static uint32_t newest_end(struct survey *survey) {
    esk_address first = esk_ring_first(survey->ring);
    esk_address block = (esk_address)(first + esk_ring_pages(survey->ring));
    uint32_t newest = 0;
    while (block != first && !survey->failed) {
        block -= block_pages(survey);
        uint32_t end = block_end(survey, block, newest, false);
        newest = end != 0 ? end : newest;
    }
    return newest;
}

/// Whether the block at position `start` was begun, though its first page may
/// be torn or damaged. If none of its pages is valid, it has no pages of a lap
/// ago either.
static bool block_is_begun(struct survey *survey, uint32_t start) {
    esk_address block = esk_ring_page(survey->ring, start);
    uint32_t end = block_end(survey, block, 0, true);
    if (end != 0) {
        return end == start + block_pages(survey);
    }
    return page_at(survey, block) == ESK_E_CORRUPT &&
           esk_ring_claims(survey->ring, survey->page, start);
}

/// Finds the head in the block at position `start`, which was begun: after its
/// last page that is not blank, and after two more if they are not erased. A
/// failed program may leave its page erased and tear the next one.
static void head_find(struct survey *survey, uint32_t start) {
    struct esk_ring *ring = survey->ring;
    esk_address block = esk_ring_page(ring, start);
    uint16_t pages = block_pages(survey);
    uint16_t used = pages;
    while (used > 0 && header_at(survey, (esk_address)(block + used - 1u)) ==
                           ESK_HEADER_BLANK) {
        used--;
    }
    for (uint16_t i = used; i < pages && i <= used + 1u; i++) {
        if (page_at(survey, (esk_address)(block + i)) != ESK_NOT_FOUND) {
            used = (uint16_t)(i + 1u);
        }
    }
    ring->head = start + used;
    ring->ready = start + pages;
}

/// Oldest position that can still have a page: a lap before the end of head's
/// block, past the blocks that were erased ahead. A block of other bytes before
/// an erased block was dropped with it: its erase failed, or was cut. One wrong
/// read drops no block.
static uint32_t tail_find(struct survey *survey) {
    const struct esk_ring *ring = survey->ring;
    uint32_t pages = esk_ring_pages(ring);
    uint32_t at = ring->ready > pages ? ring->ready - pages : 0;
    uint32_t tail = at;
    while (at < ring->head) {
        esk_address block = esk_ring_page(ring, at);
        at += block_pages(survey);
        if (block_end(survey, block, 0, false) == at ||
            block_end(survey, block, 0, false) == at) {
            break;
        }
        if (!survey->odd) {
            tail = at;
        }
    }
    return tail;
}

/// Empties the ring: it goes on from `position`, or from the next block.
static void ring_empty(struct esk_ring *ring, uint32_t position) {
    ring->head = esk_ring_block_from(ring, position);
    ring->tail = ring->head;
    ring->ready = ring->head;
}

int esk_ring_survey(struct esk_ring *ring, struct esk_volume *volume,
                    const struct esk_ring_config *config,
                    struct esk_region_stats *stats, uint8_t *page) {
    uint32_t hint = config->tail_hint;
    struct survey survey = {.ring = ring, .page = page};

    esk_ring_init(ring, volume, config, stats);
    if (ESK_SHAPED_RING(false, true)) {
        esk_ring_open_none(ring);
    }
    if (hint != 0) {
        ring_empty(ring, hint);
    }
    uint32_t end = newest_end(&survey);
    uint32_t next = end != 0 ? end : ring->head;
    bool begun = block_is_begun(&survey, next);
    if (begun || end != 0) {
        head_find(&survey, begun ? next : next - block_pages(&survey));
    }
    if (ring->head < hint) { /* only dropped pages are left */
        ring_empty(ring, hint);
    } else if (end != 0) {
        uint32_t tail = tail_find(&survey);
        ring->tail = tail > hint ? tail : hint;
    }
    esk_ring_lap(ring);
    return survey.failed ? ESK_E_IO : ESK_OK;
}
