// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Counting the rows of a cursor.
///
/// Every page that may have a wanted row is read, as a cursor reads it, so a
/// page that cannot be read is counted as it is returned: not at all. But rows
/// are looked at only where the page does not decide for all of them:
///
///     without ranges             rows of the page, less those that key bounds
///                                and ordinals exclude
///     zones within all ranges    the same
///     else                       each row is compared
///
/// The zone is the page's entry in the value index. A float column's zone does
/// not decide: it has no trace of NaN, which no range has. Nor does a page's
/// entry that may have the column's missing value.
#include "table/series/series_forward.h"

enum { WINDOW_ENTRIES = 64 };

/// Entries of the value index from `base` on whose rows are in every range.
struct count_window {
    uint32_t base;
    uint32_t start; ///< of the run
    uint64_t inside;
    bool is_set;
};

/// Whether the value index has the zones of all columns with ranges.
static bool zones_decide(const struct esk_series_cursor *cursor) {
    const struct esk_series_plan *plan = &cursor->plan;
    uint8_t i = 0;
    while (i < plan->range_count &&
           plan->ranges[i].index != ESK_SERIES_NO_INDEX &&
           plan->ranges[i].type <= ESK_TYPE_U64) {
        i++;
    }
    return i == plan->range_count;
}

/// Sets the window from the entries of the plan's run, of which `entries` is
/// the first.
static void window_set(const struct esk_series *series,
                       const struct esk_series_plan *plan,
                       const uint8_t *entries, struct count_window *window) {
    uint16_t bytes = esk_shape(series)->entry_bytes;
    uint32_t count = plan->run_end - plan->window_base;
    uint16_t rest = (uint16_t)(count < WINDOW_ENTRIES ? count : WINDOW_ENTRIES);
    window->inside = UINT64_MAX;
    entries += (plan->window_base - plan->run_start) * bytes;
    for (uint8_t i = 0; i < plan->range_count; i++) {
        const struct esk_series_bounds *range = &plan->ranges[i];
        struct esk_summary_range wanted = {
            .index = range->index, .lo = range->lo, .hi = range->hi};
        window->inside &=
            esk_summary_within(series->columns, entries, bytes, rest, &wanted);
        if (range->has_missing) {
            wanted.lo = range->missing;
            wanted.hi = range->missing;
            window->inside &= ~esk_summary_matches(series->columns, entries,
                                                   bytes, rest, &wanted);
        }
    }
}

/// Sets the window to that of the plan, if the step may read its index page and
/// then a data page.
static void window_load(struct esk_series *series,
                        struct esk_series_cursor *cursor,
                        struct count_window *window) {
    const struct esk_series_plan *plan = &cursor->plan;
    uint8_t *page = NULL;
    uint8_t frame = 0;
    window->base = plan->window_base;
    window->start = plan->run_start;
    window->inside = 0;
    window->is_set =
        plan->open_run || cursor->step_pages == 0 || cursor->budget > 1;
    if (plan->open_run) {
        window_set(series, plan, series->log.zone_page + ESK_INDEX_ZONE_BODY,
                   window);
        return;
    }
    if (window->is_set && esk_series_cursor_reads(cursor) &&
        esk_series_pin(series, &series->log.ring, plan->index_position, &page,
                       &frame) == ESK_OK) {
        window_set(series, plan, esk_series_index_entries(page), window);
        esk_pool_unpin(&series->pool, frame);
    }
}

/// Whether all rows of the cursor's page are in every range. Before the page is
/// pinned: there may be one frame.
static bool page_is_inside(struct esk_series *series,
                           struct esk_series_cursor *cursor,
                           struct count_window *window) {
    const struct esk_series_plan *plan = &cursor->plan;
    uint32_t at = cursor->position;
    if (cursor->matches == NULL) {
        return true;
    }
    /* A sorted index may have found the page without the summary. */
    if (!cursor->by_value || at < plan->run_start || at >= plan->run_end ||
        at < plan->window_base || at - plan->window_base >= WINDOW_ENTRIES ||
        !zones_decide(cursor)) {
        return false;
    }
    if (!window->is_set || window->base != plan->window_base ||
        window->start != plan->run_start) {
        window_load(series, cursor, window);
    }
    return (window->inside >> (at - plan->window_base) & 1u) != 0;
}

/// Whether the row of `width` bytes at `bytes`, without the last columns, is
/// in every range. Nothing has room for the whole row.
static bool narrow_matches(const struct esk_series *series,
                           const struct esk_series_cursor *cursor,
                           const uint8_t *bytes, uint16_t width) {
    const uint8_t *later = esk_break_row(series->breaks);
    const struct esk_series_plan *plan = &cursor->plan;
    uint8_t i = 0;
    while (i < plan->range_count &&
           esk_bounds_have(&plan->ranges[i],
                           (plan->ranges[i].offset < width ? bytes : later) +
                               plan->ranges[i].offset)) {
        i++;
    }
    return i == plan->range_count;
}

/// Counts the wanted rows of a packed page that are in every range. Returns as
/// page_count.
static int rows_unpack(const struct esk_series *series,
                       struct esk_series_cursor *cursor, uint32_t *count) {
    int status = ESK_OK;
    while (status == ESK_OK) {
        status = esk_packed(series)->take(series, cursor, NULL);
        *count += status == ESK_OK ? 1u : 0u;
    }
    return status;
}

/// Counts the page's wanted rows, of `width` bytes, that are in every range.
static uint32_t rows_compare(const struct esk_series *series,
                             const struct esk_series_cursor *cursor,
                             uint16_t width) {
    const uint8_t *bytes = cursor->next;
    uint32_t count = 0;
    bool is_narrow = width != esk_shape(series)->row_bytes;
    for (uint16_t left = cursor->left; left > 0; left--, bytes += width) {
        if (is_narrow ? narrow_matches(series, cursor, bytes, width)
                      : cursor->matches(cursor, bytes)) {
            count++;
        }
    }
    return count;
}

/// Counts the wanted rows of a page of `rows` rows, the first with ordinal
/// `first`.
/// Returns ESK_NOT_FOUND; ESK_END past the last key; ESK_E_STALE.
static int page_count(const struct esk_series *series,
                      struct esk_series_cursor *cursor, uint8_t *page,
                      uint16_t rows, uint32_t first, bool inside,
                      uint32_t *count) {
    bool beyond = esk_forward_enter(series, cursor, page, rows, first);
    if (cursor->stale) {
        return ESK_E_STALE;
    }
    if (inside &&
        (!esk_has_queries() || esk_packed(series) == NULL ||
         cursor->key_hi == esk_order_key_max(esk_shape(series)->key_type))) {
        *count += cursor->left;
    } else if (esk_packed(series) != NULL) {
        beyond = rows_unpack(series, cursor, count) == ESK_END;
        cursor->end -= cursor->left;
    } else {
        *count += rows_compare(series, cursor, esk_rows_width(series, page));
    }
    cursor->left = 0;
    if (beyond) {
        return ESK_END;
    }
    if (rows > 0) {
        esk_forward_raise(series, cursor, page, rows);
    }
    return ESK_NOT_FOUND;
}

/// Counts the rows of the pages from the cursor's on.
/// Returns ESK_NOT_FOUND or ESK_END: all; as esk_series_cursor_count.
static int pages_count(struct esk_series *series,
                       struct esk_series_cursor *cursor, uint32_t *count) {
    struct count_window window = {.is_set = false};
    int status = ESK_NOT_FOUND;
    while (status == ESK_NOT_FOUND) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        ESK_TRY(esk_forward_find(series, cursor));
        if (cursor->position >= series->data.head) {
            cursor->position = series->data.head;
            return page_count(series, cursor, series->write_page,
                              series->write_count, series->ordinal,
                              cursor->matches == NULL, count);
        }
        bool inside = page_is_inside(series, cursor, &window);
        status = esk_forward_pin(series, cursor, &page, &frame);
        if (status != ESK_OK) {
            continue;
        }
        status = page_count(series, cursor, page, esk_page_count(page),
                            esk_page_aux(page), inside, count);
        esk_pool_unpin(&series->pool, frame);
        if (status == ESK_NOT_FOUND) {
            cursor->position++;
        }
    }
    return status;
}

int esk_series_cursor_count(struct esk_series *series,
                            struct esk_series_cursor *cursor, uint32_t *count) {
    ESK_ASSERT(cursor != NULL && count != NULL);
    ESK_TRY(esk_table_live(series));
    if (cursor->series != series) {
        return ESK_E_INVALID;
    }
    ESK_ASSERT(esk_series_is_idle(series));
    if (cursor->backward) {
        return ESK_E_UNSUPPORTED;
    }
    esk_forward_again(cursor);
    if (cursor->impossible) {
        return ESK_OK;
    }
    cursor->budget = cursor->step_pages;
    esk_series_cursor_floor(series, cursor);
    cursor->stale = false;
    int status = pages_count(series, cursor, count);
    return status == ESK_NOT_FOUND || status == ESK_END ? ESK_OK : status;
}
