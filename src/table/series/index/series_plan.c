// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Which data pages a value query has to read.
///
/// The cursor walks the index ring beside the data ring. A group page's entries
/// say which index pages of the group can match, a run page's entries which
/// data pages can match. Data pages that no readable run page covers are read.
///
///     run_first      run_start          run_end            above
///     | read each one | as the entries say | read each one |
///
/// (run_end .. above matters to backward cursors only.)
///
/// Run pages in ring order cover data positions in rising order, without
/// overlap, and each says where the one before it ended. So run pages may be
/// skipped; and after one that cannot be read, the next readable one bounds the
/// scan.
#include "table/series/series.h"

enum { WINDOW_ENTRIES = 64 };

/// Bit i of the result is set if entry i, of up to 64, may match all of the
/// plan's ranges; one of them has a value index.
static uint64_t entries_match(const struct esk_series *series,
                              const struct esk_series_plan *plan,
                              const uint8_t *entries, uint16_t count) {
    uint64_t mask = UINT64_MAX;
    count = count < WINDOW_ENTRIES ? count : WINDOW_ENTRIES;
    for (uint8_t i = 0; i < plan->range_count && mask != 0; i++) {
        const struct esk_series_bounds *range = &plan->ranges[i];
        if (range->index != ESK_SERIES_NO_INDEX) {
            struct esk_summary_range wanted = {
                .index = range->index, .lo = range->lo, .hi = range->hi};
            mask &= esk_summary_matches(series->columns, entries,
                                        esk_shape(series)->entry_bytes, count,
                                        &wanted);
        }
    }
    return mask;
}

/// What an index page is.
enum page_kind {
    KIND_RUN,   ///< the run is in the plan now
    KIND_OTHER, ///< a group or tile page
    KIND_LOST,  ///< cannot be read
};

/// Sets the window to the part of a run that begins at entry `base`.
static void window_set(struct esk_series *series, struct esk_series_plan *plan,
                       uint8_t *entries, uint16_t count, uint32_t base) {
    uint32_t offset = base - plan->run_start;
    plan->window_base = base;
    plan->window = entries_match(
        series, plan, entries + offset * esk_shape(series)->entry_bytes,
        (uint16_t)(count - offset));
}

/// Makes the run page at `position` the plan's run, with the window that
/// contains data position `data` (clamped into the run).
static enum page_kind run_enter(struct esk_series *series,
                                struct esk_series_plan *plan, uint32_t position,
                                uint32_t data) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    if (esk_series_pin(series, &series->log.ring, position, &page, &frame) !=
        ESK_OK) {
        return KIND_LOST;
    }
    enum page_kind kind = KIND_OTHER;
    uint16_t count = esk_load_u16(page + ESK_INDEX_ENTRIES);
    uint32_t start = esk_load_u32(page + ESK_INDEX_START);
    if (esk_series_index_knots(series, page) == NULL ||
        start > UINT32_MAX - count) {
        kind = KIND_LOST;
    } else if (page[ESK_INDEX_ROLE] == ESK_INDEX_RUN) {
        kind = KIND_RUN;
        bool empty = (page[ESK_INDEX_FLAGS] & ESK_INDEX_GAP_EMPTY) != 0;
        uint32_t first = esk_page_aux(page);
        plan->run_first = empty || first > start ? start : first;
        plan->index_position = position;
        plan->run_start = start;
        plan->run_end = start + count;
        plan->open_run = false;
        if (data >= plan->run_end && count > 0) {
            data = plan->run_end - 1;
        }
        if (data < start) {
            data = start;
        }
        uint32_t base =
            start + (data - start) / WINDOW_ENTRIES * WINDOW_ENTRIES;
        window_set(series, plan, esk_series_index_entries(page), count, base);
    }
    esk_pool_unpin(&series->pool, frame);
    return kind;
}

/// Makes the run in RAM the plan's run.
static void open_run_enter(struct esk_series *series,
                           struct esk_series_plan *plan, uint32_t data) {
    uint32_t end = series->log.run_start + series->log.run_count;
    if (series->log.run_owed > 0) {
        esk_series_run_settle(series);
    }
    plan->index_position = series->log.ring.head;
    plan->run_start = series->log.run_start;
    plan->run_end = end;
    plan->run_first =
        series->log.gap_unknown ? series->log.run_first : series->log.run_start;
    plan->open_run = true;
    if (data < series->log.run_start || data >= end) {
        data = series->log.run_start;
    }
    uint32_t base = series->log.run_start + (data - series->log.run_start) /
                                                WINDOW_ENTRIES * WINDOW_ENTRIES;
    window_set(series, plan, series->log.run_page + ESK_INDEX_RUN_BODY,
               series->log.run_count, base);
}

/// Whether the index page at `position` can lead to a match, by its group page;
/// true when that is unknown.
static bool group_admits(struct esk_series *series,
                         struct esk_series_plan *plan, uint32_t position) {
    uint32_t group = position / esk_shape(series)->group_pages;
    uint8_t slot = (uint8_t)(position % esk_shape(series)->group_pages);
    uint8_t last = (uint8_t)(esk_shape(series)->group_pages - 1);

    if (group != plan->group) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        uint32_t place = group * esk_shape(series)->group_pages + last;
        plan->group = group;
        plan->group_mask = UINT64_MAX;
        if (place >= series->log.ring.head) {
            if (group == series->log.group_number) {
                plan->group_mask =
                    entries_match(series, plan, series->log.group, last);
            }
            /* It grows: read it again next time. */
            plan->group = UINT32_MAX;
        } else if (esk_series_pin(series, &series->log.ring, place, &page,
                                  &frame) == ESK_OK) {
            if (page[ESK_INDEX_ROLE] == ESK_INDEX_GROUP &&
                esk_load_u16(page + ESK_INDEX_ENTRIES) == last &&
                esk_series_index_knots(series, page) != NULL) {
                plan->group_mask =
                    entries_match(series, plan, esk_series_index_entries(page),
                                  last) &
                    ~((uint64_t)1 << (last & 63u));
            }
            esk_pool_unpin(&series->pool, frame);
        }
    }
    return (plan->group_mask >> (slot & 63u) & 1u) != 0;
}

/// First data position of the run page at or after `position`.
/// Returns false when there is none before the index head.
static bool run_start_from(struct esk_series *series, uint32_t position,
                           uint32_t *start, uint32_t *at) {
    for (; position < series->log.ring.head; position++) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        if (esk_series_pin(series, &series->log.ring, position, &page,
                           &frame) != ESK_OK) {
            continue;
        }
        bool run = page[ESK_INDEX_ROLE] == ESK_INDEX_RUN;
        *start = esk_load_u32(page + ESK_INDEX_START);
        esk_pool_unpin(&series->pool, frame);
        if (run) {
            *at = position;
            return true;
        }
    }
    return false;
}

/// Index position of the last run page that starts at or below `data`; the
/// index tail when there is none, the index head for the run in RAM.
static uint32_t index_seek(struct esk_series *series, uint32_t data) {
    uint32_t low = series->log.ring.tail;
    uint32_t high = series->log.ring.head;
    uint32_t start = 0;
    uint32_t at = 0;

    if (data >= series->log.run_start) {
        return high;
    }
    if (!run_start_from(series, low, &start, &at) || start > data) {
        return low;
    }
    if (data - start < esk_shape(series)->run_pages) {
        return at;
    }
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (run_start_from(series, middle, &start, &at) && at < high &&
            start <= data) {
            low = at;
        } else {
            high = middle;
        }
    }
    return low;
}

/// Moves up to the next run page, or the run in RAM, that may match at or above
/// `data`. Pages that no run covers in between are scanned.
static void forward_advance(struct esk_series *series,
                            struct esk_series_plan *plan, uint32_t data) {
    bool lost = plan->index_position == UINT32_MAX;
    uint32_t at = lost ? index_seek(series, data) : plan->index_position + 1;
    enum page_kind kind = KIND_OTHER;

    for (; at < series->log.ring.head && kind != KIND_RUN; at++) {
        if (lost || group_admits(series, plan, at)) {
            kind = run_enter(series, plan, at, data);
            lost = lost || kind == KIND_LOST;
        }
    }
    if (kind != KIND_RUN) {
        open_run_enter(series, plan, data);
    }
    if (lost && plan->run_first > data) {
        plan->run_first = data;
    }
}

/// Moves down to the next run page that may match at or below `data`.
static void backward_advance(struct esk_series *series,
                             struct esk_series_plan *plan, uint32_t data) {
    bool fresh = plan->index_position == UINT32_MAX;
    bool lost = fresh;
    uint32_t above = fresh ? data + 1 : plan->run_first;
    uint32_t at = fresh ? index_seek(series, data) : plan->index_position;
    enum page_kind kind = KIND_OTHER;
    uint32_t start = above;

    if (fresh && at >= series->log.ring.head) {
        open_run_enter(series, plan, data);
        plan->above = plan->run_end;
        return;
    }
    at += fresh ? 1 : 0;
    for (; at > series->log.ring.tail && kind != KIND_RUN; at--) {
        if (lost || group_admits(series, plan, at - 1)) {
            kind = run_enter(series, plan, at - 1, data);
            lost = lost || kind == KIND_LOST;
        }
    }
    if (kind == KIND_RUN) {
        plan->above = lost ? above : plan->run_end;
        return;
    }
    /* No run page covers pages older than the oldest run page. */
    if (!lost) {
        (void)run_start_from(series, series->log.ring.tail, &start, &at);
    }
    plan->exhausted = true;
    plan->open_run = false;
    plan->run_first = 0;
    plan->run_start = start < above ? start : above;
    plan->run_end = plan->run_start;
    plan->above = plan->run_start;
}

static bool window_holds(const struct esk_series_plan *plan, uint32_t data) {
    return data >= plan->window_base &&
           data - plan->window_base < WINDOW_ENTRIES;
}

static bool window_has(const struct esk_series_plan *plan, uint32_t data) {
    return (plan->window >> (data - plan->window_base) & 1u) != 0;
}

/// Moves the window to the entries of the run that contain `data`.
static void window_move(struct esk_series *series, struct esk_series_plan *plan,
                        uint32_t data) {
    if (window_holds(plan, data)) {
        return;
    }
    if (plan->open_run) {
        open_run_enter(series, plan, data);
        return;
    }
    uint32_t first = plan->run_first;
    if (run_enter(series, plan, plan->index_position, data) != KIND_RUN) {
        /* It was readable before: read every page instead. */
        plan->window_base = data / WINDOW_ENTRIES * WINDOW_ENTRIES;
        plan->window = UINT64_MAX;
    }
    plan->run_first = first;
}

/// Drops the plan's place in the index when its run, in RAM, has grown or was
/// programmed.
static void plan_refresh(const struct esk_series *series,
                         struct esk_series_plan *plan) {
    if (plan->open_run &&
        (plan->index_position != series->log.ring.head ||
         plan->run_start != series->log.run_start ||
         plan->run_end != series->log.run_start + series->log.run_count)) {
        plan->open_run = false;
        plan->exhausted = false;
        plan->index_position = UINT32_MAX;
        plan->group = UINT32_MAX;
        plan->run_end = 0;
    }
}

uint32_t esk_series_plan_forward(struct esk_series *series,
                                 struct esk_series_plan *plan,
                                 uint32_t position) {
    plan_refresh(series, plan);
    for (;;) {
        if (position >= plan->run_end) {
            if (plan->open_run) {
                return series->data.head;
            }
            forward_advance(series, plan, position);
            continue;
        }
        if (position < plan->run_first) {
            position = plan->run_first;
        }
        if (position < plan->run_start) {
            return position;
        }
        for (; position < plan->run_end; position++) {
            window_move(series, plan, position);
            if (window_has(plan, position)) {
                return position;
            }
        }
    }
}

bool esk_series_plan_backward(struct esk_series *series,
                              struct esk_series_plan *plan,
                              uint32_t *position) {
    uint32_t at = *position + 1; /* candidates are below it */
    plan_refresh(series, plan);
    while (at > series->data.tail) {
        if (plan->index_position == UINT32_MAX ||
            (at <= plan->run_first && !plan->exhausted)) {
            backward_advance(series, plan, at - 1);
        }
        if (at > plan->run_end && at <= plan->above) {
            *position = at - 1;
            return true;
        }
        if (at > plan->run_end) {
            at = plan->run_end;
        }
        for (; at > plan->run_start; at--) {
            window_move(series, plan, at - 1);
            if (window_has(plan, at - 1)) {
                *position = at - 1;
                return true;
            }
        }
        if (at > plan->run_first) {
            *position = at - 1;
            return at > series->data.tail;
        }
        if (plan->exhausted) {
            return false;
        }
    }
    return false;
}
