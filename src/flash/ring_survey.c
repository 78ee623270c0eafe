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
#include "base/inline.h"
#include "flash/ring.h"

#define POSITION_NONE UINT32_MAX

struct survey {
    struct esk_ring *ring;
    uint8_t *page; ///< scratch
    bool failed;   ///< a transfer failed: no result may be used
    bool all;      ///< block_start reads all pages up to a valid one
    bool odd;      ///< block_start read a page that is neither valid nor blank
};

static uint16_t block_pages(const struct survey *survey) {
    return esk_region_geometry(&survey->ring->region)->block_pages;
}

/// The header of the page at `at`. ESK_HEADER_OTHER on failure.
static ESK_OUT_OF_LINE enum esk_header
header_at(struct survey *survey, uint32_t at, uint32_t *position) {
    enum esk_header header = ESK_HEADER_OTHER;
    if (esk_ring_header(survey->ring, at, &header, position) != ESK_OK) {
        survey->failed = true;
    }
    return header;
}

/// Reads the page at `at`. Returns as esk_region_read.
/// position  out: the page's; POSITION_NONE unless it is valid there.
static int page_at(struct survey *survey, uint32_t at, uint32_t *position) {
    const struct esk_ring *ring = survey->ring;
    esk_address page = esk_ring_page(ring, at);
    int status = esk_region_read(&ring->region, page, ESK_SEQUENCE_ANY,
                                 survey->page, true);
    *position = esk_page_sequence(survey->page);
    survey->failed = survey->failed || status == ESK_E_IO;
    if (status != ESK_OK || *position > esk_ring_position_max(ring) ||
        esk_ring_page(ring, *position) != page) {
        *position = POSITION_NONE;
    }
    return status;
}

/// The first position of the block at `at`, by a valid page, if it is not below
/// `from`; else POSITION_NONE.
static uint32_t block_start(struct survey *survey, uint32_t at, uint32_t from) {
    uint16_t last = (uint16_t)(block_pages(survey) - 1u);
    uint32_t before = POSITION_NONE;
    bool all = survey->all;
    survey->odd = false;
    for (uint16_t i = 0; i <= last && (i < 2 || all); i++) {
        uint16_t index = i == 0 ? 0 : i == 1 ? last : (uint16_t)(i - 1u);
        uint32_t found = POSITION_NONE;
        enum esk_header header = header_at(survey, at + index, &found);
        found = header == ESK_HEADER_PAGE ? found - index : POSITION_NONE;
        if (header == ESK_HEADER_PAGE && found >= from) {
            uint32_t position = POSITION_NONE;
            int status = page_at(survey, at + index, &position);
            if (position != POSITION_NONE) {
                return position - index;
            }
            /* An erased page reads as position 0 where that is its value. */
            found = POSITION_NONE;
            header =
                status == ESK_NOT_FOUND ? ESK_HEADER_BLANK : ESK_HEADER_OTHER;
        }
        survey->odd = survey->odd || header == ESK_HEADER_OTHER;
        all = all || survey->odd || (i > 0 && found != before);
        before = found;
    }
    return POSITION_NONE;
}

/// The first position of the newest block; POSITION_NONE: no page is valid.
static uint32_t newest_block(struct survey *survey) {
    uint32_t at = esk_ring_pages(survey->ring);
    uint32_t newest = POSITION_NONE;
    while (at > 0 && !survey->failed) {
        at -= block_pages(survey);
        uint32_t found = block_start(survey, at, newest + 1u);
        newest = found == POSITION_NONE ? newest : found;
    }
    return newest;
}

/// Whether the block at `start` was begun, though its first page may be torn or
/// damaged. If none of its pages is valid, it has no pages of a lap ago either.
static bool block_is_begun(struct survey *survey, uint32_t start) {
    uint32_t position = POSITION_NONE;
    survey->all = true;
    uint32_t found = block_start(survey, start, 0);
    survey->all = false;
    return found == start ||
           (found == POSITION_NONE &&
            page_at(survey, start, &position) == ESK_E_CORRUPT &&
            esk_ring_claims(survey->ring, survey->page, start));
}

/// Finds the head in the block at `start`, which was begun: after its last page
/// that is not blank, and after two more if they are not erased. A failed
/// program may leave its page erased and tear the next one.
static void head_find(struct survey *survey, uint32_t start) {
    struct esk_ring *ring = survey->ring;
    uint32_t end = start + block_pages(survey);
    uint32_t position = 0;
    ring->ready = end;
    ring->head = end;
    while (ring->head > start &&
           header_at(survey, ring->head - 1u, &position) == ESK_HEADER_BLANK) {
        ring->head--;
    }
    for (uint32_t at = ring->head; at < end && at <= ring->head + 1; at++) {
        if (page_at(survey, at, &position) != ESK_NOT_FOUND) {
            ring->head = at + 1;
        }
    }
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
    while (at < ring->head && block_start(survey, at, 0) != at &&
           block_start(survey, at, 0) != at) {
        at += block_pages(survey);
        tail = survey->odd ? tail : at;
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
    esk_ring_open_none(ring);
    ring_empty(ring, hint);
    uint32_t start = newest_block(&survey);
    uint32_t next =
        start == POSITION_NONE ? ring->head : start + block_pages(&survey);
    bool begun = block_is_begun(&survey, next);
    if (begun || start != POSITION_NONE) {
        head_find(&survey, begun ? next : start);
    }
    if (ring->head < hint) { /* only dropped pages are left */
        ring_empty(ring, hint);
    } else if (start != POSITION_NONE) {
        uint32_t tail = tail_find(&survey);
        ring->tail = tail > hint ? tail : hint;
    }
    esk_ring_lap(ring);
    return survey.failed ? ESK_E_IO : ESK_OK;
}
