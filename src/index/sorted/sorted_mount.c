// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The newest complete runs, after a mount.
///
/// Each page of a level names the level's newest closing page before it, and a
/// closing page names those of the older runs in use. So the newest valid page
/// leads to the newest closing page, and this one to all runs. Where a closing
/// page is not valid, the pages of its run lead to the one before it: the run
/// is not used, and the older ones are.
#include "base/bytes.h"
#include "index/sorted/sorted.h"

/// Finds the newest closing page, and reads it.
/// position out; ESK_SORTED_NONE: there is none
/// Returns  ESK_OK; ESK_E_IO.
static int closing_find(struct esk_sorted *sorted,
                        const struct esk_sorted_level *level,
                        uint32_t *position) {
    uint8_t *page = sorted->read_page;
    uint32_t at = level->ring.head;
    *position = ESK_SORTED_NONE;
    for (uint8_t looks = 0; looks < ESK_SORTED_LOOKS && at > level->ring.tail;
         looks++) {
        at--;
        int status = esk_sorted_read(level, at, page);
        if (status == ESK_E_IO) {
            return status;
        }
        if (status == ESK_OK && page[ESK_SORTED_ROLE] == ESK_SORTED_CLOSING) {
            *position = at;
            return ESK_OK;
        }
        if (status == ESK_OK && esk_page_aux(page) < at) {
            at = esk_page_aux(page) + 1u;
        } else if (status == ESK_OK) {
            return ESK_OK;
        }
    }
    return ESK_OK;
}

/// Takes the run of the closing page at `position`, which is in read_page, if
/// it covers data positions from `*from` on. A closing page whose program
/// failed is programmed again behind: what is before it then is no page of a
/// run.
/// from     in, out: where they end
/// Returns  ESK_OK; ESK_E_IO.
static int run_take(struct esk_sorted *sorted, struct esk_sorted_level *level,
                    uint32_t position, uint32_t *from, uint32_t head) {
    struct esk_sorted_run run;
    struct esk_sorted_place place;
    uint8_t *last = sorted->streams[0].page;
    if (level->count == ESK_SORTED_RUNS_MAX ||
        !esk_sorted_run_load(sorted, sorted->read_page, position, head, &run) ||
        run.span.first < *from || run.first < level->ring.tail) {
        return ESK_OK;
    }
    int status = esk_sorted_read(level, position - 1u, last);
    if (status == ESK_OK &&
        esk_sorted_page_open(&place, last, sorted->page_bytes, &run.span)) {
        esk_sorted_run_add(level, &run, sorted->read_page);
        *from = run.span.first + run.span.count;
    }
    return status == ESK_E_IO ? status : ESK_OK;
}

/// Finds the runs of a level that cover data positions from `*from` on.
/// from     in, out
static int level_recover(struct esk_sorted *sorted,
                         struct esk_sorted_level *level, uint32_t *from,
                         uint32_t head) {
    uint32_t others[ESK_SORTED_RUNS_MAX];
    uint8_t *page = sorted->read_page;
    uint32_t position = 0;
    struct esk_sorted_run run;
    uint8_t count = 0;
    ESK_TRY(closing_find(sorted, level, &position));
    level->closing = position;
    if (position == ESK_SORTED_NONE ||
        !esk_sorted_run_load(sorted, page, position, ESK_SORTED_NONE, &run)) {
        return ESK_OK;
    }
    count = page[ESK_SORTED_OTHERS];
    for (uint8_t i = 0; i < count; i++) {
        others[i] = esk_load_u32(page + ESK_SORTED_LISTS +
                                 (size_t)i * ESK_SORTED_LIST_ENTRY);
    }
    others[count] = position;
    for (uint8_t i = 0; i <= count; i++) {
        int status = esk_sorted_read(level, others[i], page);
        if (status == ESK_E_IO) {
            return status;
        }
        if (status == ESK_OK) {
            ESK_TRY(run_take(sorted, level, others[i], from, head));
        }
    }
    return ESK_OK;
}

int esk_sorted_mount(struct esk_sorted *sorted, struct esk_volume *volume,
                     const struct esk_ring_config *config,
                     const struct esk_sorted_blocks blocks[ESK_SORTED_LEVELS],
                     uint32_t tail, uint32_t head,
                     struct esk_region_stats *stats) {
    struct esk_ring_config rings = *config;
    uint32_t end = 0;
    rings.tail_hint = 0;
    rings.unit = 1;
    rings.breaks = NULL;
    rings.seals = NULL;
    rings.kind = ESK_PAGE_SORTED;
    rings.refuse = false;
    for (uint8_t i = 0; i < ESK_SORTED_LEVELS; i++) {
        rings.block = blocks[i].block;
        rings.blocks = blocks[i].blocks;
        ESK_TRY(esk_ring_mount(&sorted->levels[i].ring, volume, &rings, stats,
                               sorted->read_page));
    }
    sorted->tail = tail;
    for (uint8_t i = ESK_SORTED_LEVELS; i > 0; i--) {
        ESK_TRY(level_recover(sorted, &sorted->levels[i - 1], &end, head));
    }
    sorted->first = end > tail ? end : tail;
    sorted->end = sorted->first;
    return ESK_OK;
}

void esk_sorted_limit(struct esk_sorted *sorted, uint32_t head) {
    uint32_t end = sorted->tail;
    for (uint8_t i = ESK_SORTED_LEVELS; i > 0; i--) {
        struct esk_sorted_level *level = &sorted->levels[i - 1];
        uint32_t to = end;
        for (uint8_t j = level->count; j > 0; j--) {
            const struct esk_sorted_span *span = &level->runs[j - 1].span;
            if (span->first + span->count > head) {
                esk_sorted_run_remove(level, (uint8_t)(j - 1));
            } else if (span->first + span->count > to) {
                to = span->first + span->count;
            }
        }
        end = to;
    }
    sorted->first = end;
    sorted->end = end;
}
