// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The index log at mount. series_nodes_recover.c restores the spline from
/// index pages; the data pages after the last zone page, at most one run,
/// rebuild the run in RAM. At mount only their first keys are read, for the
/// spline. The run's entries need whole pages, and are made when a value query
/// or the program of the run needs them. A page that cannot be read costs later
/// reads, never a row.
#include "table/series/series_rows.h"

/// Reads the first row's key of the data page at `position`, unverified: the
/// spline is a guide, and accepts only keys that rise. Returns false when the
/// bytes cannot be a key.
static bool first_key(const struct esk_series *series, uint32_t position,
                      esk_key *key) {
    const struct esk_ring *ring = &series->data;
    uint8_t bytes[sizeof(uint64_t)];
    if (esk_region_peek(&ring->region, esk_ring_page(ring, position),
                        esk_rows_key_offset(series), bytes,
                        esk_shape(series)->key_bytes) != ESK_OK) {
        return false;
    }
    *key = (esk_key)esk_order_load(esk_shape(series)->key_type, bytes);
    return series->has_newest && *key <= series->newest;
}

/// Rebuilds the run in RAM from the data pages after the last zone page. If
/// they are more than one run, zone pages are missing: the earlier pages become
/// a gap.
static void roll_forward(struct esk_series *series) {
    uint32_t head = series->data.head;
    uint32_t position = series->log.run_first;
    if (head - position > esk_shape(series)->run_pages) {
        position = head - esk_shape(series)->run_pages;
        series->log.gap_unknown = true;
    }
    series->log.run_start = position;
    for (; position < head; position++) {
        esk_key key = 0;
        if (esk_series_run_is_full(series)) {
            series->log.gap_unknown = true;
            series->log.run_start = position;
            series->log.run_count = 0;
        }
        if (esk_ring_gap(&series->data, position) == NULL &&
            first_key(series, position, &key)) {
            while (esk_spline_add(&series->spline, key, position) == ESK_FULL) {
                /* A mount programs nothing: older keys cost a search. */
                if (!esk_spline_evict(&series->spline)) {
                    esk_spline_drop(&series->spline);
                }
            }
        }
        series->log.run_count++;
    }
    series->log.run_unread =
        series->log.zone_page != NULL ? series->log.run_count : 0;
}

/// A page that cannot be read may have any rows, because a later read may
/// succeed. An erased page has none, but after the next mount a page that was
/// dropped may be there again: an erase was cut, or keeps the bytes.
void esk_series_run_complete(struct esk_series *series, uint16_t count) {
    uint16_t entries = series->log.run_count;
    uint32_t kept = esk_series_kept_from(&series->data);
    for (; count > 0; count--) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        uint16_t i = --series->log.run_unread;
        uint32_t position = series->log.run_start + i;
        int status =
            esk_series_pin(series, &series->data, position, &page, &frame);
        series->log.run_count = i;
        esk_parts(series)->values->entry(series, status == ESK_OK ? page : NULL,
                                         status != ESK_NOT_FOUND ||
                                             position < kept);
        if (status == ESK_OK) {
            esk_pool_unpin(&series->pool, frame);
        }
    }
    series->log.run_count = entries;
}

/// Moves the data ring's head to `end`, from index pages: the medium has them,
/// and lost the newest data pages that they cover.
static int data_reached(struct esk_series *series, uint32_t end) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    ESK_TRY(esk_pool_take(&series->pool, &page, &frame));
    int status = esk_ring_reached(&series->data, end, false, page);
    esk_pool_give(&series->pool, frame);
    return status;
}

/// Searches the newest row again, after data.head rose from `head`: there were
/// data pages up to `reached`. If those that were not found are lost, the next
/// ordinal skips a row for each, so every reader sees that rows are missing.
static int newest_again(struct esk_series *series, uint32_t head,
                        uint32_t reached) {
    uint32_t end = 0;
    ESK_TRY(esk_series_newest_find(series, &end));
    if (end <= head) {
        uint32_t lost = reached - head;
        series->ordinal += lost;
        series->unread = (uint8_t)(lost < UINT8_MAX ? lost : UINT8_MAX);
    }
    return ESK_OK;
}

int esk_series_recover(struct esk_series *series) {
    uint32_t head = series->data.head;
    uint32_t reached = head;
    uint32_t end = esk_series_nodes_recover(series);
    if (end == UINT32_MAX || end < series->data.tail) {
        end = series->data.tail;
    } else if (end >= reached) {
        /* It was written when the page after its run existed. */
        reached = end + 1;
    }
    if (esk_sorted(series) != NULL && series->sorting->index.end > reached) {
        reached = series->sorting->index.end;
    }
    if (reached > head) {
        ESK_TRY(data_reached(series, reached));
    }
    end = end < series->data.head ? end : series->data.head;
    series->log.run_first = end;
    if (series->data.head > head) {
        ESK_TRY(newest_again(series, head, reached));
    }
    if (esk_sorted(series) != NULL) {
        esk_sorted(series)->recover(series);
    }
    roll_forward(series);
    esk_spline_trim_nodes(&series->spline, series->log.ring.tail);
    return ESK_OK;
}
