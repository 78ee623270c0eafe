// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The sorted index of a column, as a part (src/index/sorted).
///
///     append -> data page -> buffer in RAM -> runs, on two rings of their own
///
/// A data page is added when it is programmed, and a step follows. After a
/// mount the pages that no run covers are read and added again: by the first
/// query of the column, or two with each data page that is programmed. Until
/// then, and where a page cannot be read, a query reads these pages.
///
/// A run is evidence of the data pages that it covers: where a mount does not
/// find them, their positions are not used again (series_recover.c).
#include "table/series/series_open.h"
#include "table/series/series_rows.h"

enum {
    EXTRA_BITS = 1,
    WINDOW_BYTES_MIN = 32,
    WINDOW_BYTES_MAX = 512,
    SPAN_MAX = 2048,
    FEED_PAGES = 2, ///< data pages read with each that is programmed
    BATCH = 16,     ///< values of a packed page that are added at a time
    VALUE_BYTES = 4,
    STEP_ROW_BYTES = 6, ///< of three copies of a row's entry
};

_Static_assert(SPAN_MAX <= UINT16_MAX, "a run's data pages are 16 bits");

static struct esk_sorted_config config_of(uint16_t entries, uint8_t fan) {
    uint16_t bits = (uint16_t)(entries / 8u);
    bits = bits < WINDOW_BYTES_MIN ? WINDOW_BYTES_MIN : bits;
    struct esk_sorted_config config = {
        .entries = entries,
        .fences = (uint16_t)(entries / 9u),
        .window_bytes = bits < WINDOW_BYTES_MAX ? bits : WINDOW_BYTES_MAX,
        .span_max = SPAN_MAX,
        .fan = fan,
        .extra = EXTRA_BITS,
    };
    return config;
}

/// A page of a run must not be durable before the data pages that it names.
static int pages_order(void *owner) {
    struct esk_series *series = owner;
    return esk_series_order(series, ESK_SERIES_DATA | ESK_SERIES_INDEX,
                            ESK_SERIES_INDEX);
}

static struct esk_series_sorting *
sorted_carve(struct esk_arena *arena, const struct esk_series_layout *layout,
             uint16_t page_bytes, bool made) {
    struct esk_sorted_config config =
        config_of(layout->sorted_entries, layout->sorted_fan);
    struct esk_series_sorting *sorting = esk_arena_take(arena, sizeof *sorting);
    if (made) {
        memset(sorting, 0, sizeof *sorting);
    }
    esk_sorted_carve(made ? &sorting->index : NULL, arena, &config, page_bytes);
    if (made) {
        sorting->index.before = pages_order;
    }
    return sorting;
}

static int sorted_mount(struct esk_series *series,
                        struct esk_ring_config *config,
                        const struct esk_table_info *info, uint8_t *page) {
    struct esk_series_sorting *sorting = series->sorting;
    struct esk_volume *volume = series->table.volume;
    struct esk_sorted_blocks blocks[ESK_SORTED_LEVELS];
    (void)page; /* the index has one of its own */
    for (uint8_t i = 0; i < ESK_SORTED_LEVELS; i++) {
        blocks[i].block = info->block[ESK_REGION_SORTED + i];
        blocks[i].blocks = info->blocks[ESK_REGION_SORTED + i];
        if (!esk_region_fits(esk_volume_geometry(volume), blocks[i].block,
                             blocks[i].blocks, 2)) {
            return ESK_E_CORRUPT;
        }
    }
    ESK_TRY(esk_sorted_mount(&sorting->index, volume, config, blocks,
                             series->data.tail, ESK_SORTED_NONE,
                             &series->stats));
    for (uint8_t i = 0; i < ESK_SORTED_LEVELS; i++) {
        esk_table_ring_add(&series->table, &sorting->index.levels[i].ring);
    }
    return ESK_OK;
}

static void sorted_recover(struct esk_series *series) {
    struct esk_series_sorting *sorting = series->sorting;
    esk_sorted_limit(&sorting->index, series->data.head);
    sorting->next = esk_sorted_next(&sorting->index);
}

/* ----------------------------------------------------------------- feeding */

/// Adds the values of a packed page's rows.
static void packed_add(struct esk_series *series, uint32_t position,
                       uint8_t *page, uint16_t rows) {
    struct esk_series_sorting *sorting = series->sorting;
    uint8_t values[BATCH * VALUE_BYTES];
    uint16_t count = 0;
    for (uint16_t i = 0; i < rows; i++) {
        memcpy(values + (size_t)(count * sorting->width),
               esk_rows_read(series, page, i) + sorting->offset,
               sorting->width);
        count++;
        if (count == BATCH || i + 1u == rows) {
            esk_sorted_add(&sorting->index, position, sorting->type, values,
                           sorting->width, count);
            count = 0;
        }
    }
}

/// Adds the rows of data page `page`. Returns false where a step has to come
/// first.
static bool page_take(struct esk_series *series, uint32_t position,
                      uint8_t *page) {
    struct esk_series_sorting *sorting = series->sorting;
    struct esk_sorted *index = &sorting->index;
    uint16_t rows = esk_page_count(page);
    if (esk_packed(series) != NULL) {
        rows = esk_packed(series)->rows(series, page, rows);
    }
    if (!esk_sorted_admit(index, position, rows)) {
        (void)esk_sorted_skip(index, position);
        if (!esk_sorted_admit(index, position, rows)) {
            /* A page of more rows than the buffer has room for stays out. */
            return index->count == 0 && esk_sorted_skip(index, position + 1);
        }
    }
    if (esk_packed(series) != NULL) {
        packed_add(series, position, page, rows);
    } else {
        esk_sorted_add(index, position, sorting->type,
                       esk_rows_at(series, page, 0) + sorting->offset,
                       esk_rows_width(series, page), rows);
    }
    return true;
}

/// Adds the next data page. A page that cannot be read may have any value, as
/// in series_recover.c. Returns false where a step has to come first.
static bool page_feed(struct esk_series *series) {
    struct esk_series_sorting *sorting = series->sorting;
    uint32_t at = sorting->next;
    uint8_t *page = NULL;
    uint8_t frame = 0;
    bool taken = true;
    if (at < series->data.tail) {
        at = series->data.tail;
        taken = esk_sorted_skip(&sorting->index, at);
    }
    const struct esk_break *gap = esk_ring_gap(&series->data, at);
    if (taken && gap != NULL) {
        sorting->next = gap->start;
        return true;
    }
    int status = esk_series_pin(series, &series->data, at, &page, &frame);
    if (status == ESK_OK) {
        taken = taken && page_take(series, at, page);
        esk_pool_unpin(&series->pool, frame);
    } else if (status != ESK_NOT_FOUND ||
               at < esk_series_kept_from(&series->data)) {
        taken = taken && esk_sorted_skip(&sorting->index, at + 1);
    }
    sorting->next = taken ? at + 1 : sorting->next;
    sorting->is_full = !taken;
    return taken;
}

static void sorted_add(struct esk_series *series, uint32_t position,
                       uint8_t *page) {
    struct esk_series_sorting *sorting = series->sorting;
    esk_sorted_drop(&sorting->index, series->data.tail);
    if (esk_packed(series) == NULL && sorting->next == position) {
        sorting->next += page_take(series, position, page) ? 1u : 0u;
    } else {
        for (uint8_t i = 0;
             i < FEED_PAGES && sorting->next <= position && page_feed(series);
             i++) {
        }
    }
    /* A raw page takes one. */
    uint16_t steps =
        (uint16_t)(1u + (uint32_t)esk_page_count(page) * STEP_ROW_BYTES /
                            esk_pool_page_bytes(&series->pool));
    int status = ESK_OK;
    for (; steps > 0 && status == ESK_OK; steps--) {
        status = esk_sorted_step(&sorting->index);
    }
    sorting->is_full = false;
    series->log.failures += status < ESK_OK ? 1u : 0u;
}

/* ----------------------------------------------------------------- answers */

/// What a query asks of the index.
struct question {
    uint32_t lo;
    uint32_t hi;
    bool others; ///< a summary has another column with a range
    bool same;   ///< a summary has this one
};

/// Combines the ranges of the cursor. Returns false where no value is in all.
static bool question_make(const struct esk_series *series,
                          const struct esk_series_cursor *cursor,
                          struct question *question) {
    const struct esk_series_plan *plan = &cursor->plan;
    uint64_t lo = 0;
    uint64_t hi = UINT32_MAX;
    question->others = false;
    question->same = false;
    for (uint8_t i = 0; i < plan->range_count; i++) {
        const struct esk_series_bounds *range = &plan->ranges[i];
        bool has_summary = range->index != ESK_SERIES_NO_INDEX;
        if (esk_is_sorted(series, range)) {
            lo = range->lo > lo ? range->lo : lo;
            hi = range->hi < hi ? range->hi : hi;
            question->same = question->same || has_summary;
        } else {
            question->others = question->others || has_summary;
        }
    }
    question->lo = (uint32_t)lo;
    question->hi = (uint32_t)hi;
    return lo <= hi;
}

/// Adds the data pages that no run covers, as far as there is room. Returns
/// ESK_OK; ESK_AGAIN.
static int pages_feed(struct esk_series *series,
                      struct esk_series_cursor *cursor) {
    struct esk_series_sorting *sorting = series->sorting;
    while (sorting->next < series->data.head && !sorting->is_full) {
        if (!esk_series_cursor_reads(cursor)) {
            return ESK_AGAIN;
        }
        (void)page_feed(series);
    }
    return ESK_OK;
}

/// Asks about `at`, in a piece of the data positions from `first` on.
/// is_all   out: each of the piece can match. Then also where a step came back
///          to a position, and another cursor has asked in between: so cursors
///          with steps do not wait for one another.
/// Returns  ESK_OK; ESK_AGAIN.
static int ask(struct esk_series *series, struct esk_series_cursor *cursor,
               const struct question *question, uint32_t first, uint32_t at,
               bool *is_all) {
    struct esk_sorted *index = &series->sorting->index;
    bool has_limit = cursor->step_pages != 0;
    uint16_t reads = has_limit ? cursor->budget : UINT16_MAX;
    *is_all = true;
    if (has_limit && cursor->plan.asked == at + 1u &&
        !esk_sorted_is_asked(index, question->lo, question->hi, at)) {
        return ESK_OK;
    }
    int status =
        esk_sorted_ask(index, question->lo, question->hi, first, at, &reads);
    cursor->plan.asked = at + 1u;
    if (has_limit) {
        cursor->budget = (uint8_t)reads;
    }
    *is_all = index->window.all;
    return status;
}

/// Moves `at` up to a data page that the index names. Returns ESK_OK, also at
/// the head; ESK_AGAIN.
static int name_above(struct esk_series *series,
                      struct esk_series_cursor *cursor,
                      const struct question *question, uint32_t *at,
                      bool *is_all) {
    const struct esk_sorted_window *window = &series->sorting->index.window;
    while (*at < series->data.head) {
        ESK_TRY(ask(series, cursor, question, *at, *at, is_all));
        if (*is_all) {
            return ESK_OK;
        }
        uint32_t end = window->end;
        while (*at < end && !esk_sorted_window_has(window, *at)) {
            (*at)++;
        }
        if (*at < end) {
            cursor->plan.asked = *at + 1u;
            return ESK_OK;
        }
    }
    return ESK_OK;
}

/// The same downwards. Returns ESK_OK; ESK_END; ESK_AGAIN.
static int name_below(struct esk_series *series,
                      struct esk_series_cursor *cursor,
                      const struct question *question, uint32_t *at,
                      bool *is_all) {
    const struct esk_sorted *index = &series->sorting->index;
    const struct esk_sorted_window *window = &index->window;
    for (;;) {
        uint32_t base = esk_sorted_base(index, *at);
        ESK_TRY(ask(series, cursor, question, base, *at, is_all));
        if (*is_all) {
            return ESK_OK;
        }
        uint32_t first = window->first > series->data.tail ? window->first
                                                           : series->data.tail;
        while (*at > first && !esk_sorted_window_has(window, *at)) {
            (*at)--;
        }
        if (esk_sorted_window_has(window, *at)) {
            cursor->plan.asked = *at + 1u;
            return ESK_OK;
        }
        if (*at <= series->data.tail) {
            return ESK_END;
        }
        (*at)--;
    }
}

/// Whether the summaries are to be asked, too: they know more of other columns,
/// and of what the sorted index does not cover.
static bool needs_summary(const struct question *question, bool is_all) {
    return question->others || (question->same && is_all);
}

static int sorted_forward(struct esk_series *series,
                          struct esk_series_cursor *cursor,
                          uint32_t *position) {
    struct question question;
    uint32_t before = 0;
    bool is_all = false;
    if (!question_make(series, cursor, &question)) {
        *position = series->data.head;
        return ESK_OK;
    }
    ESK_TRY(pages_feed(series, cursor));
    do {
        ESK_TRY(name_above(series, cursor, &question, position, &is_all));
        before = *position;
        if (before >= series->data.head) {
            *position = series->data.head;
        } else if (needs_summary(&question, is_all)) {
            ESK_TRY(esk_series_summary_forward(series, cursor, position));
        } else {
            /* A count must not take an earlier window for this page's. */
            cursor->plan.window_base = UINT32_MAX;
        }
    } while (*position > before && *position < series->data.head);
    return ESK_OK;
}

static int sorted_backward(struct esk_series *series,
                           struct esk_series_cursor *cursor,
                           uint32_t *position) {
    struct question question;
    uint32_t before = 0;
    bool is_all = false;
    if (!question_make(series, cursor, &question)) {
        return ESK_END;
    }
    ESK_TRY(pages_feed(series, cursor));
    do {
        ESK_TRY(name_below(series, cursor, &question, position, &is_all));
        before = *position;
        if (needs_summary(&question, is_all)) {
            ESK_TRY(esk_series_summary_backward(series, cursor, position));
        }
    } while (*position < before);
    return ESK_OK;
}

static bool sorted_admits(struct esk_series *series, uint32_t position,
                          const uint8_t *value) {
    struct esk_series_sorting *sorting = series->sorting;
    if (esk_order_is_nan(sorting->type, value)) {
        return true;
    }
    uint32_t order = esk_order_load32(sorting->type, value);
    return esk_sorted_window_has(
        esk_sorted_find(&sorting->index, order, order, position), position);
}

const struct esk_series_sorted esk_series_part_sorted = {
    .carve = sorted_carve,
    .mount = sorted_mount,
    .recover = sorted_recover,
    .add = sorted_add,
    .forward = sorted_forward,
    .backward = sorted_backward,
    .admits = sorted_admits,
};
