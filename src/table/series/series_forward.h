// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// How a forward cursor moves from page to page, for the two calls that do: one
/// returns rows, the other counts them, and a program that only has one of them
/// pays for one.
#ifndef ESK_TABLE_SERIES_SERIES_FORWARD_H
#define ESK_TABLE_SERIES_SERIES_FORWARD_H

#include "base/inline.h"
#include "table/series/series_rows.h"

/// Moves to the next page that can have a wanted row: skips pages that were
/// dropped or that cannot match. Returns ESK_OK; ESK_AGAIN; ESK_E_STALE.
static inline int esk_forward_find(struct esk_series *series,
                                   struct esk_series_cursor *cursor) {
    uint32_t at = cursor->position;
    int status = ESK_OK;
    if (at < series->data.tail) {
        at = series->data.tail;
        cursor->rose = false;
        status = cursor->has_end ? ESK_E_STALE : ESK_OK;
    } else if (esk_parts(series)->values != NULL && cursor->by_value &&
               at < series->data.head) {
        status = esk_parts(series)->values->forward(series, cursor, &at);
    }
    if (at != cursor->position) {
        cursor->position = at;
        cursor->follows = false;
    }
    return status;
}

/// Skips a page that cannot be used. Returns ESK_OK, or ESK_E_IO if the call
/// has to fail.
static inline int esk_forward_pass(const struct esk_series *series,
                                   struct esk_series_cursor *cursor,
                                   int status) {
    if (status != ESK_NOT_FOUND) {
        cursor->damaged++;
        cursor->follows = false;
    } else if (cursor->position <= esk_series_kept_from(&series->data)) {
        cursor->follows = false;
    }
    cursor->position = esk_ring_skip(&series->data, cursor->position);
    return status == ESK_E_IO ? ESK_E_IO : ESK_OK;
}

/// The first wanted row of the page whose row 0 has ordinal `first`. Records
/// when rows from the cursor's next row on were dropped.
static inline uint16_t esk_forward_wanted(const struct esk_series *series,
                                          struct esk_series_cursor *cursor,
                                          uint8_t *page, uint16_t count,
                                          uint32_t first) {
    uint32_t done = cursor->has_end ? esk_ordinals(first, cursor->end) : 0;
    if (done >= count) {
        return count;
    }
    uint16_t row = (uint16_t)done;
    /* One by one: only the first page of a query has many rows to skip. */
    while (row < count && esk_rows_key(series, page, row) < cursor->key_lo) {
        if (ESK_SHAPED_SERIES(false, cursor->rose)) {
            cursor->stale = cursor->has_end;
        }
        row++;
    }
    cursor->rose = false;
    return row;
}

/// Makes the cursor enter its page again for the next row.
static ESK_APART_OR_INLINE void
esk_forward_again(struct esk_series_cursor *cursor) {
    cursor->end -= cursor->left;
    cursor->left = 0;
}

/// Raises the cursor's lower bound to the page's last key. If more blocks are
/// damaged than a mount searches past, older rows can come after newer ones:
/// ordinals start again there, keys do not.
static inline void esk_forward_raise(const struct esk_series *series,
                                     struct esk_series_cursor *cursor,
                                     uint8_t *page, uint16_t count) {
    esk_key next = esk_rows_key(series, page, (uint16_t)(count - 1u));
    next = (esk_key)(next + 1u - esk_keys_repeat(series));
    if (next > cursor->key_lo) {
        cursor->key_lo = next;
    }
}

/// Enters a page of `count` rows, the first with ordinal `first`: from then on
/// the cursor has the wanted ones, or is stale.
/// Returns whether rows above the cursor's last key follow them.
static inline bool esk_forward_enter(const struct esk_series *series,
                                     struct esk_series_cursor *cursor,
                                     uint8_t *page, uint16_t count,
                                     uint32_t first) {
    /* Each row of a packed page is compared when it is read. */
    uint16_t end = count;
    while (esk_has_queries() && esk_packed(series) == NULL && end > 0 &&
           esk_rows_key(series, page, (uint16_t)(end - 1u)) > cursor->key_hi) {
        end--;
    }
    if (esk_keys_repeat(series) != 0 && cursor->has_last) {
        uint32_t rest = esk_ordinals(first, cursor->before);
        end = rest < end ? (uint16_t)rest : end;
    }
    if (cursor->follows) {
        esk_series_cursor_gap(series, cursor, cursor->end, first,
                              cursor->position - 1u);
    }
    uint16_t at = esk_forward_wanted(series, cursor, page, count, first);
    at = at < end ? at : end;
    if (esk_packed(series) != NULL) {
        cursor->next = page;
        cursor->row = at;
    } else {
        cursor->next = esk_rows_at(series, page, at);
    }
    cursor->left = (uint16_t)(end - at);
    cursor->end = first + end;
    cursor->has_end = true;
    cursor->follows = true;
    return end < count;
}

/// Pins the cursor's page, or skips it.
/// Returns ESK_OK; ESK_NOT_FOUND: it was skipped; ESK_AGAIN; ESK_E_IO.
static inline int esk_forward_pin(struct esk_series *series,
                                  struct esk_series_cursor *cursor,
                                  uint8_t **page, uint8_t *frame) {
    if (!esk_series_cursor_reads(cursor)) {
        return ESK_AGAIN;
    }
    int status =
        esk_series_pin(series, &series->data, cursor->position, page, frame);
    if (status == ESK_OK) {
        return ESK_OK;
    }
    ESK_TRY(esk_forward_pass(series, cursor, status));
    return ESK_NOT_FOUND;
}

#endif
