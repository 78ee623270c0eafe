// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The index log at mount: series_tiles_recover.c says which index pages bring
/// the spline back, and the data pages after the last run page rebuild the run
/// in RAM: the bounded roll-forward, at most one run. What cannot be read
/// costs later reads, never a row.
#include "table/series/series.h"

/// Enters a data page that cannot be read: nothing when it is erased, else
/// anything, for it may be readable another time.
static void note_unreadable(struct esk_series *series, bool erased) {
    if (series->log.run_page != NULL) {
        esk_parts(series)->values->entry(series, NULL, !erased);
    }
    series->log.run_count++;
}

/// Rebuilds the run in RAM from the data pages after the last run page. More
/// than one run of them means that run pages are missing: the earlier ones
/// become a gap.
static void roll_forward(struct esk_series *series) {
    uint32_t head = series->data.head;
    uint32_t position = series->log.run_first;
    if (head - position > esk_shape(series)->run_pages) {
        position = head - esk_shape(series)->run_pages;
        series->log.gap_unknown = true;
    }
    series->log.run_start = position;
    for (; position < head; position++) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        if (esk_series_run_is_full(series)) {
            series->log.gap_unknown = true;
            series->log.run_start = position;
            series->log.run_count = 0;
        }
        int status =
            esk_series_pin(series, &series->data, position, &page, &frame);
        if (status != ESK_OK) {
            note_unreadable(series, status == ESK_NOT_FOUND);
            continue;
        }
        while (esk_series_index_note(series, position, page) == ESK_FULL) {
            /* Nothing is programmed at mount: older keys cost a search. */
            esk_spline_drop(&series->spline);
        }
        esk_pool_unpin(&series->pool, frame);
    }
}

/// Moves the data ring's head to `end`, which index pages name: the medium
/// kept them and lost the newest data pages that they sum up.
static int data_reached(struct esk_series *series, uint32_t end) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    ESK_TRY(esk_pool_take(&series->pool, &page, &frame));
    int status = esk_ring_reached(&series->data, end, page);
    esk_pool_give(&series->pool, frame);
    return status;
}

int esk_series_recover(struct esk_series *series) {
    uint32_t end = esk_series_tiles_recover(series);
    if (end == UINT32_MAX || end < series->data.tail) {
        end = series->data.tail;
    } else if (end >= series->data.head) {
        /* It was written when the page behind its run was there. */
        ESK_TRY(data_reached(series, end + 1));
    }
    end = end < series->data.head ? end : series->data.head;
    series->log.run_first = end;
    roll_forward(series);
    return ESK_OK;
}
