// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Backward cursors: newest row first, page by page down to the tail.
///
/// As series_cursor.c, but the last key decides; where keys repeat, the last
/// ordinal.
#include "table/series/series_rows.h"

/// Row number for "the page's last": where the cursor enters a page.
enum { ROW_FROM_END = UINT16_MAX };

/// How many rows of the page are still wanted. `first` is the ordinal of its
/// row 0.
static uint16_t last_wanted(const struct esk_series *series,
                            const struct esk_series_cursor *cursor,
                            uint8_t *page, uint16_t count, uint32_t first) {
    if (cursor->has_last && esk_keys_repeat(series) != 0) {
        uint32_t left = esk_ordinals(first, cursor->before);
        count = left < count ? (uint16_t)left : count;
    } else if (cursor->has_last && cursor->last <= cursor->key_hi) {
        return esk_rows_below(series, page, count, cursor->last);
    }
    return esk_rows_to(series, page, count, cursor->key_hi);
}

/// Copies the wanted row before `cursor->row` of a page into `row`. `first` is
/// the ordinal of the page's row 0.
/// Returns ESK_OK; ESK_END past the first key; ESK_NOT_FOUND when the page has
/// no further wanted row.
static int page_previous(const struct esk_series *series,
                         struct esk_series_cursor *cursor, uint8_t *page,
                         uint32_t first, void *row) {
    while (cursor->row > 0) {
        cursor->row--;
        const uint8_t *bytes = esk_rows_read(series, page, cursor->row);
        esk_key key = esk_row_key(series, bytes);
        if (key < cursor->key_lo) {
            return ESK_END;
        }
        if (cursor->has_last && key >= cursor->last &&
            esk_keys_repeat(series) == 0) {
            continue; /* of a forged page, whose keys do not rise */
        }
        bytes = esk_row_whole(series, bytes, esk_rows_width(series, page), row);
        if (cursor->matches == NULL || cursor->matches(cursor, bytes)) {
            esk_row_copy(series, row, bytes);
            cursor->last = key;
            cursor->before = first + cursor->row;
            cursor->has_last = true;
            return ESK_OK;
        }
    }
    return ESK_NOT_FOUND;
}

/// The last of the pages that begin with the same row as the page at
/// `position`. When a program fails, rows are written again on the next page,
/// and the value index covers them there.
static uint32_t last_copy(struct esk_series *series, uint32_t position,
                          esk_key key) {
    bool above = false;
    for (uint32_t at = position + 1; at < series->data.head && !above; at++) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        if (esk_series_pin(series, &series->data, at, &page, &frame) ==
            ESK_OK) {
            above = esk_rows_key_first(series, page) > key;
            position = above ? position : at;
            esk_pool_unpin(&series->pool, frame);
        }
    }
    return position;
}

/// Moves a new cursor to its first page. Returns ESK_OK; ESK_AGAIN: a seek was
/// all that the step may read; as esk_series_cursor_next.
static int backward_start(struct esk_series *series,
                          struct esk_series_cursor *cursor) {
    struct esk_series_place place;
    esk_key key = cursor->key_hi;

    cursor->row = ROW_FROM_END;
    cursor->position = series->data.head;
    if (key == esk_order_key_max(esk_shape(series)->key_type) ||
        esk_series_write_page_from(series, key)) {
        cursor->in_write = true;
        return ESK_OK;
    }
    int status = esk_series_seek(series, key, &place, NULL);
    if (status == ESK_NOT_FOUND) {
        cursor->impossible = true;
        return ESK_OK;
    }
    if (status != ESK_OK && status != ESK_E_CORRUPT) {
        return status;
    }
    cursor->position = place.position;
    if (status == ESK_OK) {
        esk_pool_unpin(&series->pool, place.frame);
    }
    if (cursor->by_value) {
        cursor->position = last_copy(series, place.position, key);
    }
    return cursor->step_pages != 0 ? ESK_AGAIN : ESK_OK;
}

/// The rows in RAM, newest first. If they were programmed since the last call,
/// the search goes on from the head, by the last key.
static int backward_in_write(struct esk_series *series,
                             struct esk_series_cursor *cursor, void *row) {
    cursor->row = last_wanted(series, cursor, series->write_page,
                              series->write_count, series->ordinal);
    int status =
        page_previous(series, cursor, series->write_page, series->ordinal, row);
    if (status == ESK_NOT_FOUND) {
        cursor->in_write = false;
        cursor->end = series->ordinal;
        cursor->follows = true;
        cursor->position = series->data.head;
        cursor->row = 0;
    }
    return status;
}

/// Moves to the page below. Returns false when there is none.
static bool backward_step(struct esk_series *series,
                          struct esk_series_cursor *cursor) {
    uint32_t above = esk_ring_above(&series->data, cursor->position);
    if (above <= series->data.tail) {
        return false;
    }
    cursor->position = above - 1u;
    cursor->row = ROW_FROM_END;
    return true;
}

/// Enters a page from its end. `end` becomes the ordinal of its first row.
static void page_enter(const struct esk_series *series,
                       struct esk_series_cursor *cursor, uint8_t *page) {
    uint16_t count = esk_page_count(page);
    uint32_t first = esk_page_aux(page);
    if (cursor->follows) {
        esk_series_cursor_gap(series, cursor, first + count, cursor->end,
                              cursor->position);
    }
    if (esk_packed(series) != NULL) {
        uint16_t rows = esk_packed(series)->rows(series, page, count);
        cursor->damaged += rows < count ? 1u : 0u;
        count = rows;
    }
    cursor->row = last_wanted(series, cursor, page, count, first);
    cursor->end = first;
}

/// Moves down to the next page that can have a wanted row.
/// Returns ESK_OK; ESK_END when there is none; ESK_AGAIN.
static int position_find(struct esk_series *series,
                         struct esk_series_cursor *cursor) {
    uint32_t at = cursor->position;
    if (at < series->data.tail) {
        return ESK_END;
    }
    if (!cursor->by_value) {
        return ESK_OK;
    }
    int status = esk_parts(series)->values->backward(series, cursor, &at);
    if (at != cursor->position) {
        cursor->position = at;
        cursor->row = ROW_FROM_END;
        cursor->follows = false;
    }
    return status;
}

static int backward_next(struct esk_series *series,
                         struct esk_series_cursor *cursor, void *row) {
    if (!cursor->started) {
        int status = backward_start(series, cursor);
        cursor->started = status >= ESK_OK;
        ESK_TRY(status);
    }
    esk_series_cursor_floor(series, cursor);
    if (cursor->impossible) {
        return ESK_END;
    }
    if (cursor->in_write) {
        int status = backward_in_write(series, cursor, row);
        if (status != ESK_NOT_FOUND) {
            return status;
        }
    }
    if (cursor->position >= series->data.head &&
        !backward_step(series, cursor)) {
        return ESK_END;
    }
    for (;;) {
        ESK_TRY(position_find(series, cursor));
        if (!esk_series_cursor_reads(cursor)) {
            return ESK_AGAIN;
        }
        uint8_t *page = NULL;
        uint8_t frame = 0;
        int status = esk_series_pin(series, &series->data, cursor->position,
                                    &page, &frame);
        if (status != ESK_OK) {
            if (status != ESK_NOT_FOUND) {
                cursor->damaged++;
                cursor->follows = false;
            }
            cursor->row = ROW_FROM_END;
            bool more = backward_step(series, cursor);
            if (status == ESK_E_IO) {
                return status;
            }
            if (!more) {
                return ESK_END;
            }
            continue;
        }
        if (cursor->row == ROW_FROM_END) {
            page_enter(series, cursor, page);
        }
        status = page_previous(series, cursor, page, esk_page_aux(page), row);
        esk_pool_unpin(&series->pool, frame);
        if (status != ESK_NOT_FOUND) {
            return status;
        }
        cursor->follows = true;
        if (!backward_step(series, cursor)) {
            return ESK_END;
        }
    }
}

const struct esk_series_back esk_series_part_back = {.next = backward_next};
