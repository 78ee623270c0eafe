// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Runs of a level: the list of those in use, and the one that is written.
///
/// The pages of a run are at consecutive positions. So its directory has no
/// positions, only a *fence* for each page: the page's first value, not below
/// the fence before it, and how many low bits its values may lack. Where a
/// program fails, the run begins anew behind the failed page.
#include "base/bytes.h"
#include "index/sorted/sorted.h"

enum { FENCE_VALUE_BITS = 32 - ESK_SORTED_BLUR_BITS };

int esk_sorted_read(const struct esk_sorted_level *level, uint32_t position,
                    uint8_t *page) {
    int status = esk_ring_read(&level->ring, position, page, true);
    return status == ESK_NOT_FOUND ? ESK_E_CORRUPT : status;
}

const uint8_t *esk_sorted_fences(const uint8_t *page) {
    return page + ESK_SORTED_LISTS +
           (size_t)page[ESK_SORTED_OTHERS] * ESK_SORTED_LIST_ENTRY;
}

bool esk_sorted_run_load(const struct esk_sorted *sorted, const uint8_t *page,
                         uint32_t position, uint32_t head,
                         struct esk_sorted_run *run) {
    uint32_t lists = page[ESK_SORTED_OTHERS];
    run->pages = esk_load_u16(page + ESK_SORTED_PAGES);
    run->span.count = esk_load_u16(page + ESK_SORTED_SPAN);
    run->span.first = esk_load_u32(page + ESK_SORTED_DATA_FIRST);
    run->base = esk_load_u32(page + ESK_SORTED_FENCE_BASE);
    run->shift = page[ESK_SORTED_FENCE_SHIFT];
    run->first = position - run->pages;
    run->fence = ESK_SORTED_NONE;
    lists += run->pages;
    return page[ESK_SORTED_ROLE] == ESK_SORTED_CLOSING && run->pages > 0 &&
           run->pages <= position &&
           page[ESK_SORTED_OTHERS] < ESK_SORTED_RUNS_MAX &&
           ESK_SORTED_LISTS + lists * ESK_SORTED_LIST_ENTRY <=
               sorted->page_bytes &&
           run->shift <= ESK_SORTED_SHIFT_MAX && run->span.count > 0 &&
           run->span.first <= head && run->span.count <= head - run->span.first;
}

void esk_sorted_run_remove(struct esk_sorted_level *level, uint8_t number) {
    struct esk_sorted_run *run = &level->runs[number];
    uint16_t fences = run->fence == ESK_SORTED_NONE ? 0 : run->pages;
    if (fences > 0) {
        uint32_t *to = level->fences + run->fence;
        uint32_t *end = level->fences + level->fence_count;
        size_t behind = (size_t)(end - to) - fences;
        memmove(to, to + fences, behind * sizeof *to);
        level->fence_count = (uint16_t)(level->fence_count - fences);
    }
    level->count--;
    memmove(run, run + 1, (size_t)(level->count - number) * sizeof *run);
    for (uint8_t i = number; i < level->count; i++) {
        if (level->runs[i].fence != ESK_SORTED_NONE) {
            level->runs[i].fence -= fences;
        }
    }
}

void esk_sorted_run_add(struct esk_sorted_level *level,
                        const struct esk_sorted_run *run, const uint8_t *page) {
    struct esk_sorted_run *made = &level->runs[level->count];
    const uint8_t *fences = esk_sorted_fences(page);
    level->count++;
    *made = *run;
    if (run->pages > level->fences_max - level->fence_count) {
        return;
    }
    made->fence = level->fence_count;
    for (uint16_t i = 0; i < run->pages; i++) {
        level->fences[level->fence_count + i] =
            esk_load_u32(fences + (size_t)i * ESK_SORTED_LIST_ENTRY);
    }
    level->fence_count = (uint16_t)(level->fence_count + run->pages);
}

/* ----------------------------------------------------------------- writing */

uint16_t esk_sorted_draft_pages_max(const struct esk_sorted *sorted,
                                    const struct esk_sorted_level *level) {
    uint16_t room = (uint16_t)(sorted->page_bytes - ESK_SORTED_LISTS);
    return (uint16_t)(room / ESK_SORTED_LIST_ENTRY - level->count);
}

void esk_sorted_draft_begin(struct esk_sorted_level *level,
                            const struct esk_sorted_span *span) {
    memset(&level->draft.place, 0, sizeof level->draft.place);
    level->draft.span = *span;
    level->draft.pages = 0;
}

/// Programs the draft's page, whose bytes end at `end`. As esk_ring_append.
static int page_append(const struct esk_sorted *sorted,
                       struct esk_sorted_level *level, uint16_t end,
                       uint32_t *position) {
    if (sorted->before != NULL) {
        ESK_TRY(sorted->before(sorted->owner));
    }
    return esk_ring_append_to(&level->ring, level->draft.page,
                              (uint16_t)(end - ESK_ENVELOPE_BYTES), end,
                              level->closing, position);
}

int esk_sorted_draft_program(const struct esk_sorted *sorted,
                             struct esk_sorted_level *level) {
    struct esk_sorted_draft *draft = &level->draft;
    uint32_t position = 0;
    uint16_t end = esk_sorted_page_end(&draft->place, draft->page);
    uint32_t value = esk_load_u32(draft->page + ESK_SORTED_VALUE)
                     << draft->place.shift;
    if (draft->pages > 0 && value < draft->values[draft->pages - 1]) {
        value = draft->values[draft->pages - 1]; /* its low bits are lost */
    }
    draft->values[draft->pages] = value;
    draft->blurs[draft->pages] = draft->place.blur;
    ESK_TRY(page_append(sorted, level, end, &position));
    if (draft->pages == 0) {
        draft->first = position;
    }
    if (position - draft->first != draft->pages) {
        return ESK_E_MEDIUM;
    }
    draft->pages++;
    draft->place.count = 0;
    return ESK_OK;
}

/// Fills a closing page. Returns its bytes in use.
static uint16_t closing_fill(const struct esk_sorted *sorted,
                             const struct esk_sorted_level *level) {
    const struct esk_sorted_draft *draft = &level->draft;
    uint8_t *page = draft->page;
    uint8_t *at = page + ESK_SORTED_LISTS;
    uint32_t base = draft->values[0];
    uint8_t shift = 0;
    while ((draft->values[draft->pages - 1] - base) >> shift >>
               FENCE_VALUE_BITS !=
           0) {
        shift++;
    }
    memset(page, 0, sorted->page_bytes);
    page[ESK_SORTED_ROLE] = ESK_SORTED_CLOSING;
    page[ESK_SORTED_FENCE_SHIFT] = shift;
    page[ESK_SORTED_OTHERS] = level->count;
    esk_store_u16(page + ESK_SORTED_PAGES, draft->pages);
    esk_store_u16(page + ESK_SORTED_SPAN, draft->span.count);
    esk_store_u32(page + ESK_SORTED_DATA_FIRST, draft->span.first);
    esk_store_u32(page + ESK_SORTED_FENCE_BASE, base);
    for (uint8_t i = 0; i < level->count; i++) {
        esk_store_u32(at, level->runs[i].first + level->runs[i].pages);
        at += ESK_SORTED_LIST_ENTRY;
    }
    for (uint16_t i = 0; i < draft->pages; i++) {
        uint32_t value = (draft->values[i] - base) >> shift;
        esk_store_u32(at, value << ESK_SORTED_BLUR_BITS | draft->blurs[i]);
        at += ESK_SORTED_LIST_ENTRY;
    }
    return (uint16_t)(at - page);
}

int esk_sorted_draft_close(struct esk_sorted *sorted,
                           struct esk_sorted_level *level) {
    struct esk_sorted_draft *draft = &level->draft;
    struct esk_sorted_run run;
    uint32_t position = 0;
    if (level->count == ESK_SORTED_RUNS_MAX) {
        sorted->lost += level->runs[0].span.count;
        esk_sorted_run_remove(level, 0);
    }
    uint16_t end = closing_fill(sorted, level);
    ESK_TRY(page_append(sorted, level, end, &position));
    if (position - draft->first != draft->pages) {
        return ESK_E_MEDIUM;
    }
    level->closing = position;
    bool holds = esk_sorted_run_load(sorted, draft->page, position,
                                     ESK_SORTED_NONE, &run);
    ESK_ASSERT(holds);
    (void)holds;
    esk_sorted_run_add(level, &run, draft->page);
    return ESK_OK;
}
