// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The sync journal, as a part: a sync of a page that is not full, where the
/// medium programs a page once.
///
/// A sync programs the unfinished write page at the head of a small ring. The
/// page is written to the data ring once, when it is full. Only the newest
/// journal page counts, until the data page with its rows is durable:
///
///     journal ring   .. | rows 1-1 | rows 1-2 | rows 1-3 | head
///     data ring      .. | page before row 1 | head
///
/// The ring refuses when it is full, and its tail is the needed page. So a
/// block is erased only when that page is in another one. If no such block is
/// left (one is bad), the unfinished page is written to the data ring.
#include "table/series/series_open.h"
#include "table/series/series_rows.h"

static int sync_write(struct esk_series *series) {
    struct esk_ring *ring = esk_sync_ring(series);
    uint32_t position = 0;
    ESK_TRY(esk_series_order(series, ESK_SERIES_DATA | ESK_SERIES_VAR,
                             ESK_SERIES_DATA));
    if (series->sealed_count == 0) {
        /* All its rows are in the data ring. */
        esk_ring_drop(ring, ring->head);
    }
    uint16_t end =
        esk_packed(series) != NULL ? esk_packed(series)->end(series) : 0;
    ESK_TRY(esk_ring_append_to(ring, series->write_page, series->write_count,
                               end, series->ordinal, &position));
    esk_ring_drop(ring, position);
    return ESK_OK;
}

/// Makes the journal page `page` the write page, if it is ahead of the data
/// ring: rows may be missing between the two. Its first rows may be in the data
/// ring: a program that was reported as failed may have succeeded.
static void page_take(struct esk_series *series, uint8_t *page) {
    uint16_t count = esk_page_count(page);
    uint32_t first = esk_page_aux(page);
    uint32_t known = esk_ordinals(first, series->ordinal);
    if (known >= count) {
        return;
    }
    if (esk_packed(series) != NULL) {
        /* Rows that are in the data ring are there twice: ordinals show it. */
        series->ordinal = first;
        series->write_count = esk_packed(series)->resume(series, page);
        series->sealed_count = series->write_count;
        return;
    }
    uint16_t taken = (uint16_t)(count - known);
    memcpy(esk_rows_at(series, series->write_page, 0),
           esk_rows_at(series, page, (uint16_t)known),
           (size_t)(esk_rows_at(series, page, count) -
                    esk_rows_at(series, page, (uint16_t)known)));
    series->ordinal = first + known;
    series->write_count = taken;
    series->sealed_count = taken;
    series->newest = esk_rows_key(series, page, (uint16_t)(count - 1));
    series->has_newest = true;
}

static int sync_mount(struct esk_series *series, struct esk_ring_config *config,
                      const struct esk_table_info *info, uint8_t *page) {
    config->tail_hint = esk_is_broken(series) ? series->breaks->journal : 0;
    config->unit =
        esk_packed(series) != NULL ? 1 : esk_shape(series)->row_bytes;
    config->kind = ESK_PAGE_SYNC;
    config->refuse = true;
    return esk_series_ring_mount(series, esk_sync_ring(series), config, info,
                                 ESK_REGION_SYNC, page);
}

/// Whether no other block of the journal is good than the one of head. Such a
/// block is erased while it has the newest page: after power loss its pages may
/// still be valid, and it must not be continued.
static bool is_only_block(const struct esk_ring *ring) {
    uint16_t pages = esk_region_geometry(&ring->region)->block_pages;
    uint32_t at = esk_ring_block_from(ring, ring->head);
    uint32_t end = at + esk_ring_pages(ring) - pages;
    while (at < end && esk_ring_block_is_bad(ring, at)) {
        at += pages;
    }
    return at >= end;
}

static int sync_recover(struct esk_series *series) {
    struct esk_ring *ring = esk_sync_ring(series);
    uint32_t at = ring->head;
    int status = ESK_NOT_FOUND;
    while (at > ring->tail && status != ESK_OK) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        status = esk_series_pin(series, ring, at - 1, &page, &frame);
        if (status == ESK_E_IO) {
            return status;
        }
        if (status == ESK_OK) {
            page_take(series, page);
            esk_pool_unpin(&series->pool, frame);
        } else if (status == ESK_E_CORRUPT) {
            esk_series_unread(series);
        }
        at--;
    }
    esk_ring_drop(ring, at);
    if (is_only_block(ring)) {
        esk_ring_leave(ring);
    }
    return ESK_OK;
}

const struct esk_series_sync esk_series_part_sync = {
    .mount = sync_mount,
    .recover = sync_recover,
    .write = sync_write,
};
