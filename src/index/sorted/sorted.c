// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The buffer, and runs of level 0.
///
///     values, pages:  [ frozen: becomes a run | the rest ]
///
/// When the buffer is nearly full, its entries are frozen. Each step writes a
/// page of them, and new entries go behind: there is room for a data page of
/// them for each page of the run. If that is too little, as where programs
/// fail, the newer entries are lost: their data pages count as matches.
#include "index/sorted/sorted.h"

#include "base/bytes.h"
#include "base/order.h"

enum {
    BATCH = 32,      ///< values that are sorted into the buffer at a time
    WINDOW = 256,    ///< entries by which a page's shift is chosen
    DENSE = 32,      ///< of these, the densest part decides
    HALF = 2,        ///< a group of fewer than half of them is no evidence
    ENTRY_BYTES = 2, ///< of a run, at most in most data
    PAGES_MORE = 3,  ///< of a run: its last one, its closing page, one to spare
    GAP_FIRST = 3,   ///< shell sort: gaps 1, 4, 13, ...
};

static void level_carve(struct esk_sorted_level *level, struct esk_arena *arena,
                        const struct esk_sorted_config *config,
                        uint16_t page_bytes, uint16_t lists) {
    void *fences =
        esk_arena_take(arena, config->fences * (uint32_t)sizeof *level->fences);
    void *page = esk_arena_take(arena, page_bytes);
    void *values =
        esk_arena_take(arena, lists * (uint32_t)sizeof *level->draft.values);
    void *blurs = esk_arena_take(arena, lists);
    if (level != NULL) {
        level->fences_max = config->fences;
        level->fences = fences;
        level->draft.page = page;
        level->draft.values = values;
        level->draft.blurs = blurs;
        level->closing = ESK_SORTED_NONE;
    }
}

void esk_sorted_carve(struct esk_sorted *sorted, struct esk_arena *arena,
                      const struct esk_sorted_config *config,
                      uint16_t page_bytes) {
    uint32_t entries = config->entries;
    uint16_t lists =
        (uint16_t)((page_bytes - ESK_SORTED_LISTS) / ESK_SORTED_LIST_ENTRY);
    /* Into variables first: a whole struct is too much for a small stack. */
    void *values = esk_arena_take(arena, entries * sizeof *sorted->values);
    void *pages = esk_arena_take(arena, entries * sizeof *sorted->pages);
    void *read_page = esk_arena_take(arena, page_bytes);
    void *bits = esk_arena_take(arena, config->window_bytes);
    if (sorted != NULL) {
        memset(sorted, 0, sizeof *sorted);
        sorted->config = *config;
        sorted->page_bytes = page_bytes;
        sorted->draft_pages_max = lists;
        sorted->values = values;
        sorted->pages = pages;
        sorted->read_page = read_page;
        sorted->window.bits = bits;
        sorted->window.lo = 1; /* no answer */
    }
    for (uint8_t i = 0; i < config->fan; i++) {
        void *page = esk_arena_take(arena, page_bytes);
        if (sorted != NULL) {
            sorted->streams[i].page = page;
        }
    }
    for (uint8_t i = 0; i < ESK_SORTED_LEVELS; i++) {
        struct esk_sorted_level *level =
            sorted == NULL ? NULL : &sorted->levels[i];
        level_carve(level, arena, config, page_bytes, lists);
    }
}

/* ------------------------------------------------------------- the buffer */

/// Whether entry `i` comes after the value and page.
static bool is_after(const struct esk_sorted *sorted, uint16_t i,
                     uint32_t value, uint16_t page, uint8_t shift) {
    uint32_t other = sorted->values[i] >> shift;
    value >>= shift;
    return other != value ? other > value : sorted->pages[i] > page;
}

/// Sorts the entries first .. end - 1 by value >> shift, then by data page.
static void entries_sort(struct esk_sorted *sorted, uint16_t first,
                         uint16_t end, uint8_t shift) {
    uint32_t gap = 1;
    while (gap < (uint32_t)(end - first) / GAP_FIRST) {
        gap = gap * GAP_FIRST + 1;
    }
    for (; gap > 0; gap /= GAP_FIRST) {
        for (uint32_t i = first + gap; i < end; i++) {
            uint32_t value = sorted->values[i];
            uint16_t page = sorted->pages[i];
            uint32_t at = i;
            while (at >= first + gap &&
                   is_after(sorted, (uint16_t)(at - gap), value, page, shift)) {
                sorted->values[at] = sorted->values[at - gap];
                sorted->pages[at] = sorted->pages[at - gap];
                at -= gap;
            }
            sorted->values[at] = value;
            sorted->pages[at] = page;
        }
    }
}

/// Merges `count` rising values of data page `page`, the newest, into the
/// buffer.
static void batch_merge(struct esk_sorted *sorted, const uint32_t *batch,
                        uint8_t count, uint16_t page) {
    uint32_t from = sorted->count;
    uint32_t to = from + count;
    sorted->count = (uint16_t)to;
    while (count > 0) {
        to--;
        if (from > sorted->frozen &&
            sorted->values[from - 1] > batch[count - 1]) {
            from--;
            sorted->values[to] = sorted->values[from];
            sorted->pages[to] = sorted->pages[from];
        } else {
            count--;
            sorted->values[to] = batch[count];
            sorted->pages[to] = page;
        }
    }
}

/// Sorts `value` into a batch, unless it is there.
static uint8_t batch_add(uint32_t *batch, uint8_t count, uint32_t value) {
    uint8_t at = count;
    while (at > 0 && batch[at - 1] > value) {
        at--;
    }
    if (at > 0 && batch[at - 1] == value) {
        return count;
    }
    memmove(batch + at + 1, batch + at, (size_t)(count - at) * sizeof *batch);
    batch[at] = value;
    return (uint8_t)(count + 1);
}

uint32_t esk_sorted_next(const struct esk_sorted *sorted) {
    return sorted->end;
}

/// Forgets what is not frozen: no run will cover it.
static void rest_forget(struct esk_sorted *sorted, uint32_t end) {
    sorted->lost += end - sorted->first;
    sorted->count = sorted->frozen;
    sorted->first = end;
    sorted->end = end;
}

bool esk_sorted_admit(struct esk_sorted *sorted, uint32_t position,
                      uint16_t rows) {
    sorted->rows_max = rows > sorted->rows_max ? rows : sorted->rows_max;
    return (uint32_t)sorted->count + rows <= sorted->config.entries &&
           position - sorted->first < sorted->config.span_max;
}

void esk_sorted_add(struct esk_sorted *sorted, uint32_t position, uint8_t type,
                    const uint8_t *values, uint16_t stride, uint16_t count) {
    uint32_t batch[BATCH];
    uint8_t batched = 0;
    ESK_ASSERT(position >= sorted->end ||
               (position + 1 == sorted->end && position >= sorted->first));
    if (!esk_sorted_admit(sorted, position, count)) {
        rest_forget(sorted, position + 1);
        return;
    }
    uint16_t page = (uint16_t)(position - sorted->first);
    for (; count > 0; count--, values += stride) {
        if (!esk_order_is_nan(type, values)) {
            batched = batch_add(batch, batched, esk_order_load32(type, values));
        }
        if (batched == BATCH || count == 1) {
            batch_merge(sorted, batch, batched, page);
            batched = 0;
        }
    }
    sorted->end = position + 1;
}

/* ---------------------------------------------------- a run of level 0 */

/// Makes the entries of the buffer those of the next run.
static void freeze(struct esk_sorted *sorted) {
    sorted->frozen = sorted->count;
    sorted->frozen_span.first = sorted->first;
    sorted->frozen_span.count = (uint16_t)(sorted->end - sorted->first);
    sorted->first = sorted->end;
    sorted->taken = 0;
    esk_sorted_draft_begin(&sorted->levels[0], &sorted->frozen_span);
}

bool esk_sorted_skip(struct esk_sorted *sorted, uint32_t position) {
    if (sorted->count > sorted->frozen) {
        if (sorted->frozen > 0) {
            return false;
        }
        freeze(sorted);
    }
    sorted->first = position;
    sorted->end = position;
    return true;
}

/// Freezes the buffer if it is nearly full.
static bool freeze_full(struct esk_sorted *sorted) {
    uint32_t covered = sorted->end - sorted->first;
    uint32_t pages =
        sorted->count / (sorted->page_bytes / ENTRY_BYTES) + PAGES_MORE;
    if (sorted->count + pages * sorted->rows_max < sorted->config.entries &&
        covered < sorted->config.span_max / HALF) {
        return false;
    }
    if (sorted->count == 0) {
        /* Data pages without values need no run. */
        rest_forget(sorted, sorted->end);
        return false;
    }
    freeze(sorted);
    return true;
}

/// Takes the frozen entries out of the buffer.
static void thaw(struct esk_sorted *sorted) {
    uint16_t rest = (uint16_t)(sorted->count - sorted->frozen);
    memmove(sorted->values, sorted->values + sorted->frozen,
            rest * sizeof *sorted->values);
    memmove(sorted->pages, sorted->pages + sorted->frozen,
            rest * sizeof *sorted->pages);
    sorted->count = rest;
    sorted->frozen = 0;
    sorted->frozen_span.count = 0;
}

/// Writes the frozen entries again from the first one on.
static int restart(struct esk_sorted *sorted, int status) {
    entries_sort(sorted, 0, sorted->frozen, 0);
    sorted->taken = 0;
    esk_sorted_draft_begin(&sorted->levels[0], &sorted->frozen_span);
    return status;
}

/// The shift of a page that begins at entry `first`: values keep what tells
/// rows apart when `fan` runs are merged, by the densest part of what comes.
static uint8_t shift_of(const struct esk_sorted *sorted, uint16_t first) {
    uint32_t end = first + (uint32_t)WINDOW;
    uint32_t gap = UINT32_MAX;
    uint8_t shift = 0;
    end = end < sorted->frozen ? end : sorted->frozen;
    for (uint32_t i = first; i < end; i += DENSE) {
        uint32_t last = i + DENSE < end ? i + DENSE : end;
        uint32_t count = last - i;
        uint32_t rise = sorted->values[last - 1] - sorted->values[i];
        rise = sorted->values[last - 1] < sorted->values[i] ? 0 : rise;
        rise /= count * sorted->config.fan;
        gap = count >= DENSE / HALF && rise < gap ? rise : gap;
    }
    while (gap != UINT32_MAX && gap >> shift >= HALF) {
        shift++;
    }
    return shift > sorted->config.extra
               ? (uint8_t)(shift - sorted->config.extra)
               : 0;
}

/// Entry `i` of the buffer.
static struct esk_sorted_entry entry_at(const struct esk_sorted *sorted,
                                        uint16_t i) {
    return (struct esk_sorted_entry){.value = sorted->values[i],
                                     .page = sorted->pages[i]};
}

/// Fills the draft's page from the frozen entries. Entries of one value >>
/// shift are sorted by data page. Those that the page has no room for are
/// sorted by value again: the next page has another shift.
static void page_fill(struct esk_sorted *sorted) {
    struct esk_sorted_draft *draft = &sorted->levels[0].draft;
    uint16_t from = sorted->taken;
    uint8_t shift = shift_of(sorted, from);
    while (from < sorted->frozen) {
        uint16_t end = from;
        while (end < sorted->frozen &&
               sorted->values[end] >> shift == sorted->values[from] >> shift) {
            end++;
        }
        entries_sort(sorted, from, end, ESK_SORTED_SHIFT_MAX);
        for (; from < end; from++) {
            struct esk_sorted_entry entry = entry_at(sorted, from);
            if (from == sorted->taken) {
                esk_sorted_page_begin(&draft->place, draft->page,
                                      sorted->page_bytes, &draft->span, shift,
                                      &entry);
            } else if (!esk_sorted_page_put(&draft->place, draft->page,
                                            &entry)) {
                entries_sort(sorted, from, end, 0);
                sorted->taken = from;
                return;
            }
        }
    }
    sorted->taken = sorted->frozen;
}

/// Goes on with the run of level 0.
static int run_step(struct esk_sorted *sorted) {
    struct esk_sorted_level *level = &sorted->levels[0];
    if (sorted->taken == sorted->frozen) {
        if (level->count == ESK_SORTED_RUNS_MAX) {
            esk_sorted_merge_stop(sorted);
        }
        int status = esk_sorted_draft_close(sorted, level);
        if (status != ESK_OK) {
            return restart(sorted, status);
        }
        thaw(sorted);
        return ESK_OK;
    }
    if (level->draft.pages == esk_sorted_draft_pages_max(sorted, level)) {
        /* More pages than a closing page has fences: later runs are shorter. */
        sorted->config.entries =
            (uint16_t)(sorted->config.entries - sorted->config.entries / 4);
        sorted->lost += sorted->frozen_span.count;
        thaw(sorted);
        return ESK_OK;
    }
    page_fill(sorted);
    int status = esk_sorted_draft_program(sorted, level);
    return status == ESK_OK ? status : restart(sorted, status);
}

/// Forgets runs without data pages, and those that the ring has dropped.
static void runs_drop(struct esk_sorted *sorted,
                      struct esk_sorted_level *level) {
    const struct esk_sorted_run *oldest = level->runs;
    while (level->count > 0 &&
           (oldest->first < level->ring.tail ||
            oldest->span.first + oldest->span.count <= sorted->tail)) {
        if (oldest->first < level->ring.tail &&
            oldest->span.first + oldest->span.count > sorted->tail) {
            sorted->lost += oldest->span.count;
        }
        esk_sorted_run_remove(level, 0);
    }
}

int esk_sorted_step(struct esk_sorted *sorted) {
    if (sorted->merging == 0) {
        runs_drop(sorted, &sorted->levels[0]);
    }
    runs_drop(sorted, &sorted->levels[1]);
    if (sorted->frozen > 0 || freeze_full(sorted)) {
        return run_step(sorted);
    }
    return esk_sorted_merge_step(sorted);
}

void esk_sorted_drop(struct esk_sorted *sorted, uint32_t tail) {
    sorted->tail = tail;
}
