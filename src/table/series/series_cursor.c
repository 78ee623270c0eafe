// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Cursors: one row a call, no frame pinned between calls.
///
/// A cursor has the position of its page and the ordinal of its next row. An
/// ordinal is used once. So ordinals decide which of a page's rows are left,
/// also when the row moved from RAM to the medium, was programmed again after a
/// failure, or the page has to be read again.
///
/// Forward, a page is entered once. Then the number of wanted rows is known,
/// and they are returned one after another while the page stays in its frame.
///
/// When the table's floor rises above key_lo, key_lo rises as well, and the
/// cursor searches for its next row.
///
/// Ordinals also show that rows are lost although their page is valid: a page
/// that is valid only up to an earlier seal, or a page that was erased.
#include "base/inline.h"
#include "table/series/series_forward.h"

void esk_series_cursor_floor(const struct esk_series *series,
                             struct esk_series_cursor *cursor) {
    if (cursor->key_lo < esk_floor(series)) {
        cursor->key_lo = esk_floor(series);
        cursor->rose = true;
    }
}

static void key_bounds(const struct esk_series *series,
                       struct esk_series_cursor *cursor,
                       const struct esk_series_query *query) {
    uint8_t type = esk_shape(series)->key_type;
    cursor->key_hi = esk_order_key_max(type);
    if (query != NULL && query->has_key_min) {
        cursor->key_lo = query->key_min;
        cursor->impossible =
            !esk_order_is_key(type, &cursor->key_lo) && cursor->key_lo != 0;
    }
    if (query != NULL && query->has_key_max) {
        cursor->key_hi = query->key_max;
        cursor->impossible =
            (!esk_order_is_key(type, &cursor->key_hi) && cursor->key_hi == 0) ||
            cursor->impossible;
    }
    esk_series_cursor_floor(series, cursor);
    if (cursor->key_lo > cursor->key_hi) {
        cursor->impossible = true;
    }
}

/// Moves a new cursor to its first page.
static int forward_start(struct esk_series *series,
                         struct esk_series_cursor *cursor) {
    struct esk_series_place place;
    if (cursor->key_lo == 0) {
        return ESK_OK;
    }
    /* If keys repeat, rows with key_lo may be at the end of the page before. */
    esk_key key = (esk_key)(cursor->key_lo - esk_keys_repeat(series));
    if (esk_series_write_page_from(series, key)) {
        cursor->position = series->data.head;
        return ESK_OK;
    }
    int status = esk_series_seek(series, key, &place, NULL);
    if (status == ESK_OK) {
        esk_pool_unpin(&series->pool, place.frame);
    }
    if (status == ESK_OK || status == ESK_E_CORRUPT) {
        cursor->position = place.position;
    }
    return status == ESK_E_IO ? ESK_E_IO : ESK_OK;
}

/// Copies the query's conditions. As esk_series_cursor_open.
static int query_take(struct esk_series *series,
                      struct esk_series_cursor *cursor,
                      const struct esk_series_query *query) {
    ESK_ASSERT(query->range_count == 0 || query->ranges != NULL);
    cursor->backward = query->backward;
    cursor->has_last = query->has_ordinal_end && esk_keys_repeat(series) != 0;
    cursor->before = query->ordinal_end;
    cursor->step_pages =
        query->step_pages < UINT8_MAX ? (uint8_t)query->step_pages : UINT8_MAX;
    if (query->backward && esk_parts(series)->back == NULL) {
        return ESK_E_UNSUPPORTED;
    }
    if (query->range_count == 0) {
        return ESK_OK;
    }
    cursor->plan.group = UINT32_MAX;
    cursor->plan.index_position = UINT32_MAX;
    return esk_parts(series)->ranges == NULL
               ? ESK_E_UNSUPPORTED
               : esk_parts(series)->ranges->open(series, cursor, query);
}

int esk_series_cursor_open(struct esk_series *series,
                           struct esk_series_cursor *cursor,
                           const struct esk_series_query *query) {
    ESK_ASSERT(cursor != NULL);
    memset(cursor, 0, sizeof *cursor);
    ESK_TRY(esk_table_live(series));
    ESK_TRY(query == NULL || esk_has_queries() ? ESK_OK : ESK_E_UNSUPPORTED);
    ESK_ASSERT(esk_series_is_idle(series));
    if (esk_has_queries()) {
        key_bounds(series, cursor, query);
    }
    cursor->position = series->data.tail;
    if (query != NULL) {
        ESK_TRY(query_take(series, cursor, query));
        if (!cursor->backward && !cursor->impossible) {
            ESK_TRY(forward_start(series, cursor));
        }
    }
    cursor->series = series;
    return ESK_OK;
}

void esk_series_cursor_gap(const struct esk_series *series,
                           struct esk_series_cursor *cursor, uint32_t end,
                           uint32_t first, uint32_t position) {
    if (esk_ordinals(end, first) > 0 &&
        position >= esk_series_kept_from(&series->data)) {
        cursor->damaged++;
    }
    cursor->follows = false;
}

/// Skips the row of `width` bytes at `next`, and returns it.
static ESK_APART_OR_INLINE const uint8_t *
row_pass(struct esk_series_cursor *cursor, uint16_t width) {
    const uint8_t *bytes = cursor->next;
    cursor->left--;
    cursor->next = bytes + width;
    return bytes;
}

/// Whether the row at `bytes` meets every range.
static inline bool row_matches(const struct esk_series *series,
                               const struct esk_series_cursor *cursor,
                               const uint8_t *bytes) {
    return esk_parts(series)->ranges == NULL || cursor->matches == NULL ||
           cursor->matches(cursor, bytes);
}

/// Returns in `row` the next of the page's wanted rows that meets every range.
/// width    bytes of a row of the page
/// Returns  ESK_OK; ESK_NOT_FOUND when none does; ESK_END past the last key.
static ESK_OUT_OF_LINE int row_take(const struct esk_series *series,
                                    struct esk_series_cursor *cursor,
                                    uint16_t width, void *row) {
    if (esk_packed(series) != NULL) {
        return esk_packed(series)->take(series, cursor, row);
    }
    while (cursor->left > 0) {
        const uint8_t *bytes =
            esk_row_whole(series, row_pass(cursor, width), width, row);
        if (row_matches(series, cursor, bytes)) {
            esk_row_copy(series, row, bytes);
            return ESK_OK;
        }
    }
    return ESK_NOT_FOUND;
}

/// Enters a page of `count` rows, the first with ordinal `first`, and returns
/// its first wanted row.
/// Returns ESK_OK; ESK_NOT_FOUND when it has none; ESK_END past the last key;
/// ESK_E_STALE.
static int page_enter(const struct esk_series *series,
                      struct esk_series_cursor *cursor, uint8_t *page,
                      uint16_t count, uint32_t first, void *row) {
    bool beyond = esk_forward_enter(series, cursor, page, count, first);
    uint16_t width = esk_rows_width(series, page);
    int status = ESK_SHAPED_SERIES(false, cursor->stale)
                     ? ESK_E_STALE
                     : row_take(series, cursor, width, row);
    if (width != esk_shape(series)->row_bytes) {
        esk_forward_again(cursor);
    }
    if (status == ESK_NOT_FOUND && beyond) {
        return ESK_END;
    }
    if (status == ESK_NOT_FOUND && count > 0) {
        esk_forward_raise(series, cursor, page, count);
    }
    return status;
}

/// Changes when oldest rows are dropped, by the ring or by a new floor.
static inline uint32_t drops(const struct esk_series *series) {
    return series->data.tail + ESK_SHAPED_SERIES(0, series->drops);
}

/// Whether the pool's tags are positions, and there is one frame: then the
/// cursor's position says what frame it has.
static inline bool frame_is_known(void) {
    return ESK_SHAPED_RING(ESK_SHAPE_POOL_FRAMES == 1, false);
}

/// Notes that the cursor's page is in `frame`.
static inline void frame_note(const struct esk_series *series,
                              struct esk_series_cursor *cursor, uint8_t frame) {
    if (!frame_is_known()) {
        cursor->held = &series->pool.tags[frame];
        cursor->tag = series->pool.tags[frame];
        cursor->drops = drops(series);
    }
}

/// Whether the cursor's page is still there, and none of its rows was dropped.
static inline bool frame_is_noted(const struct esk_series *series,
                                  const struct esk_series_cursor *cursor) {
    uint32_t at = cursor->position;
    const esk_tag *tag = series->pool.tags;
    return frame_is_known()
               ? at >= series->data.tail && *tag == (esk_tag)at
               : cursor->drops == drops(series) && *cursor->held == cursor->tag;
}

static int forward_next(struct esk_series *series,
                        struct esk_series_cursor *cursor, void *row) {
    int status = ESK_NOT_FOUND;
    while (status == ESK_NOT_FOUND) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        ESK_TRY(esk_forward_find(series, cursor));
        if (cursor->position >= series->data.head) {
            cursor->position = series->data.head;
            status = page_enter(series, cursor, series->write_page,
                                series->write_count, series->ordinal, row);
            /* The page in RAM is entered again in each call. */
            esk_forward_again(cursor);
            return status == ESK_NOT_FOUND ? ESK_END : status;
        }
        status = esk_forward_pin(series, cursor, &page, &frame);
        if (status != ESK_OK) {
            continue;
        }
        frame_note(series, cursor, frame);
        status = page_enter(series, cursor, page, esk_page_count(page),
                            esk_page_aux(page), row);
        esk_pool_unpin(&series->pool, frame);
        if (status == ESK_NOT_FOUND) {
            cursor->position++;
        }
    }
    return status;
}

/// Moves a cursor that has returned the last row of a page to the next page,
/// without entering the page again, if it is still in its frame.
static inline void page_leave(const struct esk_series *series,
                              struct esk_series_cursor *cursor) {
    bool known = frame_is_known();
    if (cursor->left > 0 || (!known && cursor->held == NULL) ||
        esk_packed(series) != NULL || esk_is_broken(series) ||
        !frame_is_noted(series, cursor)) {
        return;
    }
    uint8_t frame = (uint8_t)(known ? 0 : cursor->held - series->pool.tags);
    uint8_t *page = esk_pool_page(&series->pool, frame);
    if (!esk_ring_owns(&series->data, page, cursor->position)) {
        return; /* the last row was in RAM */
    }
    uint16_t count = esk_page_count(page);
    if (count > 0 && esk_page_aux(page) + count == cursor->end) {
        esk_forward_raise(series, cursor, page, count);
        cursor->position++;
    }
}

/// The next row, if it is not in the frame of the last one.
static ESK_HOST_FLAT ESK_OUT_OF_LINE int
cursor_go(struct esk_series *series, struct esk_series_cursor *cursor,
          void *row) {
    ESK_TRY(esk_table_live(series));
    if (cursor->series != series) {
        return ESK_E_INVALID;
    }
    ESK_ASSERT(row != NULL && esk_series_is_idle(series));
    if (ESK_FAST && !cursor->backward) {
        page_leave(series, cursor);
    }
    esk_forward_again(cursor);
    if (esk_has_queries() && cursor->impossible) {
        return ESK_END;
    }
    if (esk_has_queries()) {
        cursor->budget = cursor->step_pages;
    }
    if (esk_parts(series)->back != NULL && cursor->backward) {
        return esk_parts(series)->back->next(series, cursor, row);
    }
    esk_series_cursor_floor(series, cursor);
    if (ESK_SHAPED_SERIES(false, true)) {
        cursor->stale = false;
    }
    return forward_next(series, cursor, row);
}

/// Whether the cursor's rows have only to be copied.
static inline bool rows_are_plain(const struct esk_series *series,
                                  const struct esk_series_cursor *cursor) {
    uintptr_t work = (uintptr_t)esk_packed(series);
    if (ESK_FAST || esk_parts(series)->ranges != NULL) {
        work |= (uintptr_t)cursor->matches;
    }
    return work == 0;
}

/// The next row; it may have to meet ranges, or to be unpacked.
static ESK_OUT_OF_LINE_WHERE_FAST int
next_of_any(struct esk_series *series, struct esk_series_cursor *cursor,
            void *row, bool is_there) {
    if (is_there &&
        row_take(series, cursor, esk_shape(series)->row_bytes, row) == ESK_OK) {
        return ESK_OK;
    }
    return cursor_go(series, cursor, row);
}

int esk_series_cursor_next(struct esk_series *series,
                           struct esk_series_cursor *cursor, void *row) {
    bool is_there = false;
    ESK_ASSERT(cursor != NULL && row != NULL);
    /* A cursor that has rows left has a series and a frame. */
    if (cursor->left > 0 && series == cursor->series &&
        frame_is_noted(series, cursor)) {
        if (rows_are_plain(series, cursor)) {
            uint16_t width = esk_shape(series)->row_bytes;
            esk_bytes_copy_here(row, row_pass(cursor, width), width);
            return ESK_OK;
        }
        is_there = true;
    }
    return next_of_any(series, cursor, row, is_there);
}

uint32_t esk_series_cursor_damaged(const struct esk_series_cursor *cursor) {
    ESK_ASSERT(cursor != NULL);
    return cursor->damaged;
}
