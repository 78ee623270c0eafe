// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Which data pages a value query has to read.
///
/// The cursor walks the index ring beside the data ring. A summary page's
/// entries say which index pages of the group can match, a zone page's which
/// data pages can match. Data pages that no readable zone page covers are read.
///
///     run_first      run_start          run_end            above
///     | read each one | as the entries say | read each one |
///
/// (run_end .. above matters to backward cursors only.)
///
/// Zone pages in ring order cover data positions in rising order, without
/// overlap, and each says where the one before it ended. So zone pages may be
/// skipped; and after one that cannot be read, the next readable one bounds the
/// scan.
///
/// A step of the cursor may end before any read of an index page. Then the plan
/// has how far its walk to the next run came, and the next call goes on there.
#include "base/inline.h"
#include "table/series/series.h"

enum { WINDOW_ENTRIES = 64 };

/// esk_series_plan.walk
enum {
    WALK_NONE, ///< the plan has a run, or none yet
    WALK_SEEK, ///< searching the index: the result is in [run_start, run_end)
    WALK_ON,   ///< walking, past index_position
    WALK_LOST, ///< the same, and a page on the way could not be read
};

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

/// Pins index position `position`. As esk_series_pin; ESK_AGAIN.
static int index_pin(struct esk_series *series,
                     struct esk_series_cursor *cursor, uint32_t position,
                     uint8_t **page, uint8_t *frame) {
    return esk_series_cursor_reads(cursor)
               ? esk_series_pin(series, &series->log.ring, position, page,
                                frame)
               : ESK_AGAIN;
}

/// What an index page is.
enum page_kind {
    KIND_RUN,   ///< the run is in the plan now
    KIND_OTHER, ///< a group or node page
    KIND_LOST,  ///< cannot be read
    KIND_AGAIN, ///< is for the next step to read
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

/// Makes the zone page at `position` the plan's run, with the window that
/// contains data position `data` (clamped into the run).
static enum page_kind run_enter(struct esk_series *series,
                                struct esk_series_cursor *cursor,
                                uint32_t position, uint32_t data) {
    struct esk_series_plan *plan = &cursor->plan;
    uint8_t *page = NULL;
    uint8_t frame = 0;
    int status = index_pin(series, cursor, position, &page, &frame);
    if (status != ESK_OK) {
        return status == ESK_AGAIN ? KIND_AGAIN : KIND_LOST;
    }
    enum page_kind kind = KIND_OTHER;
    uint16_t count = esk_load_u16(page + ESK_INDEX_ENTRIES);
    uint32_t start = esk_load_u32(page + ESK_INDEX_START);
    if (esk_series_index_knots(series, page) == NULL ||
        start > UINT32_MAX - count) {
        kind = KIND_LOST;
    } else if (page[ESK_INDEX_ROLE] == ESK_INDEX_ZONE_PAGE) {
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

/// Makes the run in RAM the plan's run. Returns ESK_OK; ESK_AGAIN.
static int open_run_enter(struct esk_series *series,
                          struct esk_series_cursor *cursor, uint32_t data) {
    struct esk_series_plan *plan = &cursor->plan;
    uint32_t end = series->log.run_start + series->log.run_count;
    while (series->log.run_unread > 0) {
        if (!esk_series_cursor_reads(cursor)) {
            return ESK_AGAIN;
        }
        esk_series_run_complete(series, 1);
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
    window_set(series, plan, series->log.zone_page + ESK_INDEX_ZONE_BODY,
               series->log.run_count, base);
    return ESK_OK;
}

/// Reads which index pages of `group` can match; all, when that is unknown, or
/// for the next step to read.
static ESK_OUT_OF_LINE void group_read(struct esk_series *series,
                                       struct esk_series_cursor *cursor,
                                       uint32_t group) {
    struct esk_series_plan *plan = &cursor->plan;
    uint8_t last = (uint8_t)(esk_shape(series)->group_pages - 1);
    uint32_t place = group + last;
    uint8_t *page = NULL;
    uint8_t frame = 0;
    plan->group = group;
    plan->group_mask = UINT64_MAX;
    if (place >= series->log.ring.head) {
        if (group == series->log.group_first) {
            /* It grows: of those to come nothing is known. */
            plan->group_mask = entries_match(series, plan,
                                             series->log.group +
                                                 esk_shape(series)->entry_bytes,
                                             series->log.group_count) |
                               UINT64_MAX << (series->log.group_count & 63u);
        }
        return;
    }
    int status = index_pin(series, cursor, place, &page, &frame);
    if (status != ESK_OK) {
        plan->group = status == ESK_AGAIN ? UINT32_MAX : group;
        return;
    }
    if (page[ESK_INDEX_ROLE] == ESK_INDEX_SUMMARY_PAGE &&
        esk_load_u16(page + ESK_INDEX_ENTRIES) == last &&
        esk_series_index_knots(series, page) != NULL) {
        plan->group_mask =
            entries_match(series, plan, esk_series_index_entries(page), last) &
            ~((uint64_t)1 << (last & 63u));
    }
    esk_pool_unpin(&series->pool, frame);
}

/// Whether the index page at `position` can lead to a match, by its group's
/// summary page.
static bool group_admits(struct esk_series *series,
                         struct esk_series_cursor *cursor, uint32_t position) {
    uint8_t slot = esk_series_group_slot(series, position);
    uint32_t group = position - slot;
    if (group != cursor->plan.group) {
        group_read(series, cursor, group);
    }
    return (cursor->plan.group_mask >> (slot & 63u) & 1u) != 0;
}

/// First data position of the zone page at or after `position`.
/// Returns ESK_OK; ESK_NOT_FOUND when there is none before the index head, or
/// a whole step does not find it; ESK_AGAIN.
static int run_start_from(struct esk_series *series,
                          struct esk_series_cursor *cursor, uint32_t position,
                          uint32_t *start, uint32_t *at) {
    bool is_whole = cursor->budget == cursor->step_pages;
    for (; position < series->log.ring.head; position++) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        int status = index_pin(series, cursor, position, &page, &frame);
        if (status == ESK_AGAIN) {
            return is_whole ? ESK_NOT_FOUND : ESK_AGAIN;
        }
        if (status != ESK_OK) {
            continue;
        }
        bool run = page[ESK_INDEX_ROLE] == ESK_INDEX_ZONE_PAGE;
        *start = esk_load_u32(page + ESK_INDEX_START);
        esk_pool_unpin(&series->pool, frame);
        if (run) {
            *at = position;
            return ESK_OK;
        }
    }
    return ESK_NOT_FOUND;
}

/// Begins a search of the index. Returns ESK_OK: `at` is the result; ESK_AGAIN:
/// nothing began; ESK_NOT_FOUND: the plan has the bounds.
static int seek_begin(struct esk_series *series,
                      struct esk_series_cursor *cursor, uint32_t data,
                      uint32_t *at) {
    struct esk_series_plan *plan = &cursor->plan;
    uint32_t start = 0;
    uint32_t low = series->log.ring.tail;
    int status = run_start_from(series, cursor, low, &start, at);
    if (status == ESK_AGAIN) {
        return ESK_AGAIN;
    }
    if (status != ESK_OK || start > data) {
        *at = low;
        return ESK_OK;
    }
    if (data - start < esk_shape(series)->run_pages) {
        return ESK_OK;
    }
    plan->walk = WALK_SEEK;
    plan->run_start = low;
    plan->run_end = series->log.ring.head;
    return ESK_NOT_FOUND;
}

/// Finds the index position of the last zone page that starts at or below
/// `data`, or one before it; the index tail when there is none, the index head
/// for the run in RAM. Returns ESK_OK; ESK_AGAIN.
static int index_seek(struct esk_series *series,
                      struct esk_series_cursor *cursor, uint32_t data,
                      uint32_t *at) {
    struct esk_series_plan *plan = &cursor->plan;
    uint32_t start = 0;

    *at = series->log.ring.head;
    if (data >= series->log.run_start) {
        plan->walk = WALK_NONE;
        return ESK_OK;
    }
    if (plan->walk == WALK_NONE) {
        int status = seek_begin(series, cursor, data, at);
        if (status != ESK_NOT_FOUND) {
            return status;
        }
    }
    while (plan->run_end - plan->run_start > 1) {
        uint32_t middle =
            plan->run_start + (plan->run_end - plan->run_start) / 2;
        int status = run_start_from(series, cursor, middle, &start, at);
        if (status == ESK_AGAIN) {
            return ESK_AGAIN;
        }
        if (status == ESK_OK && *at < plan->run_end && start <= data) {
            plan->run_start = *at;
        } else {
            plan->run_end = middle;
        }
    }
    plan->walk = WALK_NONE;
    *at = plan->run_start;
    return ESK_OK;
}

/// Ends the step on the way to the next run. Returns ESK_AGAIN.
static int walk_pause(struct esk_series_plan *plan, uint32_t position,
                      bool lost) {
    plan->walk = lost ? WALK_LOST : WALK_ON;
    plan->index_position = position;
    plan->open_run = false;
    return ESK_AGAIN;
}

/// Moves up to the next zone page, or the run in RAM, that may match at or
/// above `data`. Pages that no run covers in between are scanned.
/// Returns ESK_OK; ESK_AGAIN.
static int forward_advance(struct esk_series *series,
                           struct esk_series_cursor *cursor, uint32_t data) {
    struct esk_series_plan *plan = &cursor->plan;
    bool lost = plan->index_position == UINT32_MAX || plan->walk == WALK_LOST;
    uint32_t at = plan->index_position + 1;
    enum page_kind kind = KIND_OTHER;

    if (plan->index_position == UINT32_MAX && plan->walk < WALK_ON) {
        ESK_TRY(index_seek(series, cursor, data, &at));
    }
    for (; at < series->log.ring.head && kind != KIND_RUN; at++) {
        if (lost || group_admits(series, cursor, at)) {
            kind = run_enter(series, cursor, at, data);
            if (kind == KIND_AGAIN) {
                return walk_pause(plan, at - 1u, lost);
            }
            lost = lost || kind == KIND_LOST;
        }
    }
    if (kind != KIND_RUN && open_run_enter(series, cursor, data) != ESK_OK) {
        return walk_pause(plan, at - 1u, lost);
    }
    plan->walk = WALK_NONE;
    if (lost && plan->run_first > data) {
        plan->run_first = data;
    }
    return ESK_OK;
}

/// Moves down to the next zone page that may match at or below `data`.
/// Returns ESK_OK; ESK_AGAIN.
static int backward_advance(struct esk_series *series,
                            struct esk_series_cursor *cursor, uint32_t data) {
    struct esk_series_plan *plan = &cursor->plan;
    bool fresh = plan->index_position == UINT32_MAX;
    bool lost = fresh || plan->walk == WALK_LOST;
    uint32_t above = fresh ? data + 1 : plan->run_first;
    uint32_t at = plan->index_position;
    enum page_kind kind = KIND_OTHER;
    uint32_t start = above;

    if (fresh) {
        ESK_TRY(index_seek(series, cursor, data, &at));
        if (at >= series->log.ring.head) {
            ESK_TRY(open_run_enter(series, cursor, data));
            plan->above = plan->run_end;
            return ESK_OK;
        }
        at++;
        plan->run_first = above;
    }
    for (; at > series->log.ring.tail && kind != KIND_RUN; at--) {
        if (lost || group_admits(series, cursor, at - 1)) {
            kind = run_enter(series, cursor, at - 1, data);
            if (kind == KIND_AGAIN) {
                return walk_pause(plan, at, lost);
            }
            lost = lost || kind == KIND_LOST;
        }
    }
    /* No zone page covers pages older than the oldest zone page. */
    uint32_t oldest = 0;
    if (kind != KIND_RUN && !lost &&
        run_start_from(series, cursor, series->log.ring.tail, &start,
                       &oldest) == ESK_AGAIN) {
        return walk_pause(plan, at, lost);
    }
    plan->walk = WALK_NONE;
    if (kind == KIND_RUN) {
        plan->above = lost ? above : plan->run_end;
        return ESK_OK;
    }
    plan->exhausted = true;
    plan->open_run = false;
    plan->run_first = 0;
    plan->run_start = start < above ? start : above;
    plan->run_end = plan->run_start;
    plan->above = plan->run_start;
    return ESK_OK;
}

static bool window_holds(const struct esk_series_plan *plan, uint32_t data) {
    return data >= plan->window_base &&
           data - plan->window_base < WINDOW_ENTRIES;
}

static bool window_has(const struct esk_series_plan *plan, uint32_t data) {
    return (plan->window >> (data - plan->window_base) & 1u) != 0;
}

/// The first data position at or above `at` that the window has; or the one
/// behind the window.
static uint32_t window_next(const struct esk_series_plan *plan, uint32_t at) {
    uint64_t rest = plan->window >> (at - plan->window_base);
    for (; rest != 0; rest >>= 1, at++) {
        if ((rest & 1u) != 0) {
            return at;
        }
    }
    return plan->window_base + WINDOW_ENTRIES;
}

/// Moves the window to the entries of the run that contain `data`. Returns
/// ESK_OK; ESK_AGAIN.
static int window_move(struct esk_series *series,
                       struct esk_series_cursor *cursor, uint32_t data) {
    struct esk_series_plan *plan = &cursor->plan;
    if (plan->open_run) {
        return open_run_enter(series, cursor, data);
    }
    uint32_t first = plan->run_first;
    enum page_kind kind = run_enter(series, cursor, plan->index_position, data);
    if (kind == KIND_AGAIN) {
        return ESK_AGAIN;
    }
    if (kind != KIND_RUN) {
        /* It was readable before: read every page instead. */
        plan->window_base = data / WINDOW_ENTRIES * WINDOW_ENTRIES;
        plan->window = UINT64_MAX;
    }
    plan->run_first = first;
    return ESK_OK;
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

int esk_series_summary_forward(struct esk_series *series,
                               struct esk_series_cursor *cursor,
                               uint32_t *position) {
    struct esk_series_plan *plan = &cursor->plan;
    plan_refresh(series, plan);
    for (;;) {
        if (plan->walk != WALK_NONE || *position >= plan->run_end) {
            if (plan->open_run) {
                *position = series->data.head;
                return ESK_OK;
            }
            ESK_TRY(forward_advance(series, cursor, *position));
            continue;
        }
        if (*position < plan->run_first) {
            *position = plan->run_first;
        }
        if (*position < plan->run_start) {
            return ESK_OK;
        }
        uint32_t at = *position;
        while (at < plan->run_end) {
            int status = ESK_OK;
            if (!window_holds(plan, at)) {
                status = window_move(series, cursor, at);
            }
            if (status == ESK_OK) {
                at = window_next(plan, at);
            }
            if (status != ESK_OK ||
                (at < plan->run_end && window_holds(plan, at))) {
                *position = at;
                return status;
            }
        }
        *position = plan->run_end;
    }
}

int esk_series_summary_backward(struct esk_series *series,
                                struct esk_series_cursor *cursor,
                                uint32_t *position) {
    struct esk_series_plan *plan = &cursor->plan;
    plan_refresh(series, plan);
    /* Candidates are below it. */
    for (uint32_t at = *position + 1; at > series->data.tail;) {
        *position = at - 1;
        if (!plan->exhausted &&
            (plan->walk != WALK_NONE || plan->index_position == UINT32_MAX ||
             at <= plan->run_first)) {
            ESK_TRY(backward_advance(series, cursor, at - 1));
        }
        if (at > plan->run_end && at <= plan->above) {
            return ESK_OK;
        }
        if (at > plan->run_end) {
            at = plan->run_end;
        }
        for (; at > plan->run_start; at--) {
            *position = at - 1;
            if (!window_holds(plan, at - 1)) {
                ESK_TRY(window_move(series, cursor, at - 1));
            }
            if (window_has(plan, at - 1)) {
                return ESK_OK;
            }
        }
        if (at > plan->run_first) {
            *position = at - 1;
            return at > series->data.tail ? ESK_OK : ESK_END;
        }
        if (plan->exhausted) {
            return ESK_END;
        }
    }
    return ESK_END;
}

/// Whether the cursor is to ask the sorted index first.
static bool asks_sorted(const struct esk_series *series,
                        const struct esk_series_cursor *cursor) {
    uint8_t i = 0;
    while (i < cursor->plan.range_count &&
           !esk_is_sorted(series, &cursor->plan.ranges[i])) {
        i++;
    }
    return i < cursor->plan.range_count;
}

int esk_series_plan_forward(struct esk_series *series,
                            struct esk_series_cursor *cursor,
                            uint32_t *position) {
    return asks_sorted(series, cursor)
               ? esk_sorted(series)->forward(series, cursor, position)
               : esk_series_summary_forward(series, cursor, position);
}

int esk_series_plan_backward(struct esk_series *series,
                             struct esk_series_cursor *cursor,
                             uint32_t *position) {
    return asks_sorted(series, cursor)
               ? esk_sorted(series)->backward(series, cursor, position)
               : esk_series_summary_backward(series, cursor, position);
}
