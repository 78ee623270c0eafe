// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Cursors: one row a call, no frame kept between calls.
///
/// A cursor knows the page it is on, its next row there, and the key it
/// returned last. The last key decides: rows on its wrong side are passed
/// over, so a row that was rewritten after a failed program, or that moved
/// from RAM to the medium meanwhile, is returned once.
///
/// Going forward without ranges, a page on the medium is entered once: how
/// many of its rows are wanted is known then, and as long as the page stays in
/// its frame they are copied one after another. The last key is that of the
/// page's last wanted row from the start. Should the page leave its frame and
/// not be readable again, its rows may stand once more: `end`, the ordinal of
/// the next one, tells where.
///
/// When the table's floor has risen above key_lo, key_lo rises as well, and the
/// cursor looks where its next row is.
///
/// Ordinals tell of rows that are gone though the page that had them reads as
/// if it never had: one that fell back to an earlier seal, or that was erased.
#include "base/inline.h"
#include "table/series/series.h"

/// Whether `order`, made of `key`, had to be clamped: no row has the key.
static bool key_is_outside(const struct esk_series *series, esk_key key,
                           esk_key order) {
    return esk_key_from_order(esk_shape(series)->key_type, order) != key;
}

void esk_series_cursor_floor(const struct esk_series *series,
                             struct esk_series_cursor *cursor) {
    if (cursor->key_lo < series->floor) {
        cursor->key_lo = series->floor;
    }
}

static void key_bounds(const struct esk_series *series,
                       struct esk_series_cursor *cursor,
                       const struct esk_query *query) {
    uint8_t type = esk_shape(series)->key_type;
    cursor->key_hi = esk_order_key_max(type);
    if (query != NULL && query->has_key_min) {
        cursor->key_lo = esk_order_from_key(type, query->key_min);
        cursor->impossible =
            cursor->key_lo != 0 &&
            key_is_outside(series, query->key_min, cursor->key_lo);
    }
    if (query != NULL && query->has_key_max) {
        cursor->key_hi = esk_order_from_key(type, query->key_max);
        cursor->impossible =
            cursor->impossible ||
            (cursor->key_hi == 0 &&
             key_is_outside(series, query->key_max, cursor->key_hi));
    }
    esk_series_cursor_floor(series, cursor);
    cursor->impossible = cursor->impossible || cursor->key_lo > cursor->key_hi;
}

int esk_series_cursor_open(struct esk_series *series,
                           struct esk_series_cursor *cursor,
                           const struct esk_query *query) {
    ESK_ASSERT(query == NULL || query->range_count == 0 ||
               query->ranges != NULL);
    memset(cursor, 0, sizeof *cursor);
    cursor->plan.group = UINT32_MAX;
    cursor->plan.index_position = UINT32_MAX;
    key_bounds(series, cursor, query);
    if (query == NULL) {
        return ESK_OK;
    }
    cursor->backward = query->backward;
    if (query->backward && esk_parts(series)->back == NULL) {
        return ESK_E_UNSUPPORTED;
    }
    cursor->plan.ranges = query->ranges;
    cursor->plan.range_count = query->range_count;
    if (query->range_count == 0) {
        return ESK_OK;
    }
    if (esk_parts(series)->ranges == NULL) {
        return ESK_E_UNSUPPORTED;
    }
    return esk_parts(series)->ranges->open(series, cursor);
}

void esk_series_cursor_gap(const struct esk_series *series,
                           struct esk_series_cursor *cursor, uint32_t missing,
                           uint32_t position) {
    if (missing - 1u < UINT32_MAX / 2u &&
        position >= esk_series_kept_from(&series->data)) {
        cursor->damaged++;
    }
    cursor->follows = false;
}

/// Where a page whose first row has ordinal `first` begins to be wanted: at
/// the row that a lost page ended before; else by key_lo and the last key.
static uint16_t first_wanted(const struct esk_series *series,
                             const struct esk_series_cursor *cursor,
                             uint8_t *page, uint16_t count, uint32_t first) {
    if (cursor->resumes && cursor->end - first < count) {
        return (uint16_t)(cursor->end - first);
    }
    if (cursor->has_last && cursor->last >= cursor->key_lo) {
        return esk_series_rows_below(series, page, count, cursor->last, true);
    }
    return esk_series_rows_below(series, page, count, cursor->key_lo, false);
}

/// Sets `row` to the page's first wanted row; a cursor that is on the page has
/// it already, unless it was dropped since. Returns ESK_OK; ESK_E_STALE.
static int row_find(const struct esk_series *series,
                    struct esk_series_cursor *cursor, uint8_t *page,
                    uint16_t count, uint32_t first) {
    if (cursor->row == 0) {
        cursor->row = first_wanted(series, cursor, page, count, first);
    } else if (cursor->row < count &&
               esk_series_row_key(
                   series, esk_series_page_row(series, page, cursor->row)) <
                   cursor->key_lo) {
        cursor->row =
            esk_series_rows_below(series, page, count, cursor->key_lo, false);
        return ESK_E_STALE;
    }
    return ESK_OK;
}

/// Takes the next wanted row of a page into `row`.
/// Returns ESK_OK; ESK_END past the key bound; ESK_NOT_FOUND when the page has
/// no further wanted row.
static int page_next(const struct esk_series *series,
                     struct esk_series_cursor *cursor, uint8_t *page,
                     uint16_t count, void *row) {
    while (cursor->row < count) {
        const uint8_t *bytes = esk_series_page_row(series, page, cursor->row);
        esk_key key = esk_series_row_key(series, bytes);
        if (key > cursor->key_hi) {
            return ESK_END;
        }
        cursor->row++;
        if (cursor->matches == NULL || cursor->matches(cursor, bytes)) {
            esk_bytes_copy(row, bytes, esk_shape(series)->row_bytes);
            cursor->last = key;
            cursor->has_last = true;
            return ESK_OK;
        }
    }
    return ESK_NOT_FOUND;
}

/// Puts a fresh cursor on its first page.
static int forward_start(struct esk_series *series,
                         struct esk_series_cursor *cursor) {
    struct esk_series_place place;
    cursor->position = series->data.head;
    if (esk_series_write_page_from(series, cursor->key_lo)) {
        return ESK_OK;
    }
    cursor->position = series->data.tail;
    if (cursor->key_lo == 0) {
        return ESK_OK;
    }
    int status = esk_series_seek(series, cursor->key_lo, &place, NULL);
    if (status == ESK_OK) {
        cursor->position = place.position;
        esk_pool_unpin(&series->pool, place.frame);
    }
    return status == ESK_NOT_FOUND ? ESK_OK : status;
}

/// Passes over a page that cannot be used. Returns ESK_OK, or ESK_E_IO when
/// the caller has to hear of it.
static int page_pass(const struct esk_series *series,
                     struct esk_series_cursor *cursor, int status) {
    cursor->damaged += status != ESK_NOT_FOUND ? 1u : 0u;
    if (status != ESK_NOT_FOUND ||
        cursor->position <= esk_series_kept_from(&series->data)) {
        cursor->follows = false;
    }
    cursor->position = esk_ring_skip(&series->data, cursor->position);
    cursor->row = 0;
    return status == ESK_E_IO ? ESK_E_IO : ESK_OK;
}

/// The next row from the page the last one came from, when that page is
/// still in its frame: the usual case, without a look at pool and plan.
static int forward_same_page(struct esk_series *series,
                             struct esk_series_cursor *cursor, void *row) {
    if (cursor->row == 0 || cursor->plan.range_count == 0 ||
        cursor->key_lo < series->floor ||
        cursor->position < series->data.tail ||
        cursor->position >= series->data.head) {
        return ESK_NOT_FOUND;
    }
    uint8_t *page = esk_pool_peek(&series->pool, cursor->frame, cursor->tag);
    if (page == NULL || !esk_ring_owns(&series->data, page, cursor->position)) {
        return ESK_NOT_FOUND;
    }
    return page_next(series, cursor, page, esk_page_count(page), row);
}

/// Takes the row at `next`.
static int row_take(const struct esk_series *series,
                    struct esk_series_cursor *cursor, void *row) {
    const uint8_t *bytes = cursor->next;
    cursor->left--;
    cursor->next = bytes + esk_shape(series)->row_bytes;
    esk_bytes_copy(row, bytes, esk_shape(series)->row_bytes);
    return ESK_OK;
}

/// Enters a page on the medium for a cursor without ranges and takes its first
/// wanted row. Returns as page_next.
static int page_enter(const struct esk_series *series,
                      struct esk_series_cursor *cursor, uint8_t *page,
                      uint16_t count, void *row) {
    uint16_t end = esk_series_rows_to(series, page, count, cursor->key_hi);
    if (cursor->row >= end) {
        return end < count ? ESK_END : ESK_NOT_FOUND;
    }
    cursor->next = esk_series_page_row(series, page, cursor->row);
    cursor->left = (uint16_t)(end - cursor->row);
    cursor->end = esk_page_aux(page) + end;
    cursor->resumes = false;
    cursor->row = end;
    cursor->last = esk_series_row_key(
        series, esk_series_page_row(series, page, (uint16_t)(end - 1)));
    cursor->has_last = true;
    return row_take(series, cursor, row);
}

static int forward_next(struct esk_series *series,
                        struct esk_series_cursor *cursor, void *row) {
    int same = forward_same_page(series, cursor, row);
    if (same != ESK_NOT_FOUND) {
        return same;
    }
    esk_series_cursor_floor(series, cursor);
    for (;;) {
        if (cursor->position < series->data.tail) {
            bool stale = cursor->has_last;
            cursor->follows = false;
            cursor->position = series->data.tail;
            cursor->row = 0;
            if (stale) {
                return ESK_E_STALE;
            }
        }
        if (cursor->by_value && cursor->position < series->data.head) {
            uint32_t at = esk_parts(series)->values->forward(
                series, &cursor->plan, cursor->position);
            if (at != cursor->position) {
                cursor->position = at;
                cursor->row = 0;
                cursor->follows = false;
            }
        }
        bool in_write = cursor->position >= series->data.head;
        uint8_t *page = series->write_page;
        uint16_t count = series->write_count;
        uint32_t first = series->ordinal;
        uint8_t frame = 0;
        if (in_write) {
            cursor->position = series->data.head;
        } else {
            int status = esk_series_pin(series, &series->data, cursor->position,
                                        &page, &frame);
            if (status != ESK_OK) {
                ESK_TRY(page_pass(series, cursor, status));
                continue;
            }
            count = esk_page_count(page);
            first = esk_page_aux(page);
            cursor->frame = frame;
            cursor->tag = series->pool.tags[frame];
        }
        if (cursor->follows && cursor->row == 0) {
            esk_series_cursor_gap(series, cursor, first - cursor->end,
                                  cursor->position - 1u);
        }
        int status = row_find(series, cursor, page, count, first);
        if (status == ESK_OK) {
            status = in_write || cursor->plan.range_count > 0
                         ? page_next(series, cursor, page, count, row)
                         : page_enter(series, cursor, page, count, row);
        }
        if (!in_write) {
            esk_pool_unpin(&series->pool, frame);
        }
        if (status != ESK_NOT_FOUND) {
            return status;
        }
        if (in_write) {
            return ESK_END;
        }
        cursor->position++;
        cursor->row = 0;
        cursor->end = first + count;
        cursor->follows = true;
    }
}

/// The next row when it is not in the frame the last one came from.
static ESK_OUT_OF_LINE int cursor_go(struct esk_series *series,
                                     struct esk_series_cursor *cursor,
                                     void *row) {
    ESK_ASSERT(row != NULL && esk_series_is_idle(series));
    if (cursor->left > 0) {
        cursor->row = (uint16_t)(cursor->row - cursor->left);
        cursor->end -= cursor->left;
        cursor->resumes = true;
        cursor->left = 0;
    }
    if (cursor->impossible) {
        return ESK_END;
    }
    if (cursor->backward) {
        return esk_parts(series)->back->next(series, cursor, row);
    }
    if (!cursor->started) {
        ESK_TRY(forward_start(series, cursor));
        cursor->started = true;
    }
    return forward_next(series, cursor, row);
}

int esk_series_cursor_next(struct esk_series *series,
                           struct esk_series_cursor *cursor, void *row) {
    if (cursor->left > 0 && cursor->position >= series->data.tail &&
        cursor->key_lo >= series->floor &&
        esk_pool_holds(&series->pool, cursor->frame, cursor->tag)) {
        return row_take(series, cursor, row);
    }
    return cursor_go(series, cursor, row);
}

uint32_t esk_series_cursor_damaged(const struct esk_series_cursor *cursor) {
    return cursor->damaged;
}
