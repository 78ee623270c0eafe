// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Answers: a bit for each data position of one run, or of what no run covers.
///
/// Data positions rise from run to run (sorted.h, invariant 1). So a query that
/// goes through the data in order asks one run after another, and reads the
/// pages of each run once if its data pages fit the window.
///
/// A page that cannot be read may have named any data page of its run.
#include "base/bytes.h"
#include "index/sorted/sorted.h"

/// What covers a part of the data positions: a run, or a part of the buffer.
struct segment {
    uint32_t first;
    uint32_t end;
    const struct esk_sorted_run *run; ///< NULL: the buffer
    const struct esk_sorted_level *level;
};

/// The first segment that ends after `from`. False: there is none.
static bool segment_find(const struct esk_sorted *sorted, uint32_t from,
                         struct segment *segment) {
    for (uint8_t i = ESK_SORTED_LEVELS; i > 0; i--) {
        const struct esk_sorted_level *level = &sorted->levels[i - 1];
        for (uint8_t j = 0; j < level->count; j++) {
            const struct esk_sorted_span *span = &level->runs[j].span;
            if (span->first + span->count > from) {
                *segment =
                    (struct segment){span->first, span->first + span->count,
                                     &level->runs[j], level};
                return true;
            }
        }
    }
    const struct esk_sorted_span *span = &sorted->frozen_span;
    *segment =
        (struct segment){span->first, span->first + span->count, NULL, NULL};
    if (span->count == 0 || segment->end <= from) {
        *segment = (struct segment){sorted->first, sorted->end, NULL, NULL};
    }
    return segment->end > from;
}

bool esk_sorted_window_has(const struct esk_sorted_window *window,
                           uint32_t position) {
    uint32_t at = position - window->first;
    return window->all ||
           (window->bits[at / 8] & esk_bit((uint8_t)(at % 8))) != 0;
}

/// Marks data position `position`, if it is in the window.
static void window_mark(struct esk_sorted_window *window, uint32_t position) {
    if (position >= window->first && position < window->end) {
        uint32_t at = position - window->first;
        window->bits[at / 8] =
            (uint8_t)(window->bits[at / 8] | esk_bit((uint8_t)(at % 8)));
    }
}

/// Marks the matches of the buffer.
static void buffer_mark(struct esk_sorted *sorted) {
    struct esk_sorted_window *window = &sorted->window;
    for (uint16_t i = 0; i < sorted->count; i++) {
        uint32_t first =
            i < sorted->frozen ? sorted->frozen_span.first : sorted->first;
        if (sorted->values[i] >= window->lo &&
            sorted->values[i] <= window->hi) {
            window_mark(window, first + sorted->pages[i]);
        }
    }
}

/// Marks the matches of a run's page. Returns false if it cannot be read.
static bool page_mark(struct esk_sorted *sorted, const struct segment *segment,
                      uint16_t number) {
    struct esk_sorted_window *window = &sorted->window;
    const struct esk_sorted_run *run = segment->run;
    const uint8_t *page = sorted->read_page;
    struct esk_sorted_place place;
    struct esk_sorted_entry entry;
    int status = ESK_OK;
    if (esk_sorted_read(segment->level, run->first + number,
                        sorted->read_page) != ESK_OK ||
        !esk_sorted_page_open(&place, page, sorted->page_bytes, &run->span)) {
        return false;
    }
    while ((status = esk_sorted_page_next(&place, page, &entry)) == ESK_OK) {
        uint32_t value = entry.value >> entry.blur;
        if (value > window->hi >> entry.blur) {
            return true;
        }
        if (value >= window->lo >> entry.blur) {
            window_mark(window, segment->first + entry.page);
        }
    }
    return status == ESK_END;
}

/// Whether page `number` of a run can have values of the window's range.
/// fence    of the page; next: of the one after it, if there is one
static bool page_matches(const struct esk_sorted_window *window,
                         const struct esk_sorted_run *run, uint32_t fence,
                         uint32_t next) {
    uint8_t blur = (uint8_t)(fence & ESK_SORTED_SHIFT_MAX);
    uint64_t first =
        run->base + ((uint64_t)(fence >> ESK_SORTED_BLUR_BITS) << run->shift);
    uint64_t last = UINT32_MAX;
    if (next != ESK_SORTED_NONE) {
        /* Values of this page are at most what the next one's first may be. */
        uint8_t lost = (uint8_t)(next & ESK_SORTED_SHIFT_MAX);
        last = (uint64_t)(next >> ESK_SORTED_BLUR_BITS) + 1u;
        last = (run->base + (last << run->shift) - 1u) >> lost;
        last = ((last + 1u) << lost) - 1u;
    }
    return first >> blur <= window->hi >> blur &&
           last >> blur >= window->lo >> blur;
}

/// Fence `number` of a run; ESK_SORTED_NONE behind the last one.
/// page     the run's closing page; NULL: fences are in RAM
static uint32_t fence_at(const struct segment *segment, const uint8_t *page,
                         uint16_t number) {
    const struct esk_sorted_run *run = segment->run;
    if (number >= run->pages) {
        return ESK_SORTED_NONE;
    }
    return page == NULL ? segment->level->fences[run->fence + number]
                        : esk_load_u32(esk_sorted_fences(page) +
                                       (size_t)number * ESK_SORTED_LIST_ENTRY);
}

/// Reads the closing page of a run. Returns false if it is not valid.
static bool closing_read(struct esk_sorted *sorted,
                         const struct segment *segment) {
    const struct esk_sorted_run *run = segment->run;
    uint32_t position = run->first + run->pages;
    struct esk_sorted_run read;
    return esk_sorted_read(segment->level, position, sorted->read_page) ==
               ESK_OK &&
           esk_sorted_run_load(sorted, sorted->read_page, position,
                               ESK_SORTED_NONE, &read) &&
           read.pages == run->pages;
}

/// Finds which pages of a run match. Returns ESK_OK; ESK_AGAIN; ESK_E_CORRUPT:
/// its closing page cannot be read.
static int run_range(struct esk_sorted *sorted, const struct segment *segment,
                     uint16_t *reads) {
    struct esk_sorted_window *window = &sorted->window;
    const struct esk_sorted_run *run = segment->run;
    const uint8_t *closing = NULL;
    if (run->fence == ESK_SORTED_NONE) {
        if (*reads == 0) {
            return ESK_AGAIN;
        }
        (*reads)--;
        closing = sorted->read_page;
        if (!closing_read(sorted, segment)) {
            return ESK_E_CORRUPT;
        }
    }
    for (uint16_t i = 0; i < run->pages; i++) {
        if (page_matches(window, run, fence_at(segment, closing, i),
                         fence_at(segment, closing, (uint16_t)(i + 1)))) {
            window->next = window->last == 0 ? i : window->next;
            window->last = (uint16_t)(i + 1);
        }
    }
    window->ranged = true;
    return ESK_OK;
}

/// Marks the matches of a run. Returns ESK_OK; ESK_AGAIN; ESK_E_CORRUPT: a page
/// cannot be read, or the run is not there any more.
static int run_mark(struct esk_sorted *sorted, uint16_t *reads) {
    struct esk_sorted_window *window = &sorted->window;
    struct segment segment;
    if (!segment_find(sorted, window->first, &segment) || segment.run == NULL ||
        segment.level != window->level || segment.run->first != window->run) {
        return ESK_E_CORRUPT;
    }
    if (!window->ranged) {
        ESK_TRY(run_range(sorted, &segment, reads));
    }
    for (; window->next < window->last; window->next++) {
        if (*reads == 0) {
            return ESK_AGAIN;
        }
        (*reads)--;
        if (!page_mark(sorted, &segment, window->next)) {
            return ESK_E_CORRUPT;
        }
    }
    return ESK_OK;
}

static uint32_t window_bits(const struct esk_sorted *sorted) {
    return sorted->config.window_bytes * (uint32_t)8;
}

/// Begins the answer about the data positions from `from` on.
static void window_begin(struct esk_sorted *sorted, uint32_t lo, uint32_t hi,
                         uint32_t from) {
    struct esk_sorted_window *window = &sorted->window;
    struct segment segment;
    *window = (struct esk_sorted_window){.lo = lo,
                                         .hi = hi,
                                         .first = from,
                                         .end = UINT32_MAX,
                                         .all = true,
                                         .bits = window->bits};
    if (!segment_find(sorted, from, &segment)) {
        return;
    }
    window->end = segment.first;
    if (from < segment.first) {
        return;
    }
    uint32_t bits = window_bits(sorted);
    window->end = segment.end - from < bits ? segment.end : from + bits;
    window->all = false;
    memset(window->bits, 0, sorted->config.window_bytes);
    if (segment.run == NULL) {
        buffer_mark(sorted);
    } else {
        window->level = segment.level;
        window->run = segment.run->first;
        window->due = true;
    }
}

/// A page cannot be read: it may have named any data page of its run.
static void window_give_up(struct esk_sorted *sorted) {
    struct esk_sorted_window *window = &sorted->window;
    struct segment segment;
    window->all = true;
    if (segment_find(sorted, window->first, &segment) &&
        segment.first <= window->first) {
        window->end = segment.end;
    }
}

bool esk_sorted_is_asked(const struct esk_sorted *sorted, uint32_t lo,
                         uint32_t hi, uint32_t position) {
    const struct esk_sorted_window *window = &sorted->window;
    /* What is behind the last data page is covered later. */
    bool is_open = window->end == UINT32_MAX && window->first < sorted->end;
    return window->lo == lo && window->hi == hi && position >= window->first &&
           position < window->end && !is_open;
}

uint32_t esk_sorted_base(const struct esk_sorted *sorted, uint32_t position) {
    struct segment segment;
    if (!segment_find(sorted, position, &segment) || position < segment.first) {
        return position;
    }
    return position - (position - segment.first) % window_bits(sorted);
}

int esk_sorted_ask(struct esk_sorted *sorted, uint32_t lo, uint32_t hi,
                   uint32_t first, uint32_t position, uint16_t *reads) {
    struct esk_sorted_window *window = &sorted->window;
    if (!esk_sorted_is_asked(sorted, lo, hi, position)) {
        window_begin(sorted, lo, hi, first);
    }
    if (window->due) {
        int status = run_mark(sorted, reads);
        if (status == ESK_AGAIN) {
            return ESK_AGAIN;
        }
        window->due = false;
        if (status != ESK_OK) {
            window_give_up(sorted);
        }
    }
    return ESK_OK;
}

const struct esk_sorted_window *esk_sorted_find(struct esk_sorted *sorted,
                                                uint32_t lo, uint32_t hi,
                                                uint32_t from) {
    uint16_t reads = UINT16_MAX;
    (void)esk_sorted_ask(sorted, lo, hi, from, from, &reads);
    return &sorted->window;
}
