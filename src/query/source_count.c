// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Counting the rows of a series without returning them, in its own file: a
/// firmware whose queries do not count does not link it.
#include "esker/query.h"

static int series_count(const struct esk_source *source, void *cursor,
                        uint16_t *pages, uint32_t *count) {
    struct esk_series_cursor *counted = cursor;
    uint8_t most = UINT8_MAX;
    if (*pages < most) {
        most = (uint8_t)*pages;
    }
    counted->step_pages = most;
    counted->budget = most;
    int status = esk_series_cursor_count(source->table, counted, count);
    /* One that is to go on took its whole step, whatever it read. */
    uint8_t left = status == ESK_AGAIN ? 0 : counted->budget;
    *pages = (uint16_t)(*pages - (uint8_t)(most - left));
    return status;
}

void esk_source_series_counts(struct esk_source *source) {
    source->count = series_count;
}
