// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Tiles at mount: spline and group come back without a scan.
///
///  1. The newest group page, at most one group back from the index head
///     (further if damaged), and the newest tile after it.
///  2. The run pages since: their unions rebuild the group in RAM, their
///     knots the spline.
///
/// A run page that is lost leaves a gap that readers scan, a lost tile a
/// binary search.
#include "table/series/series.h"

enum {
    GROUPS_BACK_MAX = 3, ///< damaged group pages passed over
    TILES_BACK_MAX = 64, ///< closed tiles read back
};

struct recovery {
    uint32_t tile;    ///< newest index position with a tile of level 0
    uint32_t run_end; ///< data position after the newest run page's last
    uint32_t tip_at;  ///< index position of the newest tip
    bool has_tile;
    bool has_run;
    bool has_tip;
};

/// Restores one tile from its page.
/// previous out: the closed tile before it.
static bool tile_restore(struct esk_series *series, uint32_t position,
                         uint8_t level, bool open, uint32_t *previous) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    bool taken = false;

    if (esk_series_pin(series, &series->log.ring, position, &page, &frame) !=
        ESK_OK) {
        return false;
    }
    const uint8_t *knots = esk_series_tile_knots(series, page, level);
    if (knots != NULL) {
        *previous = esk_load_u32(page + ESK_INDEX_TILE_PREV);
        taken = esk_spline_restore_tile(&series->spline, level, knots,
                                        esk_load_u16(page + ESK_INDEX_KNOTS),
                                        position, open);
    }
    esk_pool_unpin(&series->pool, frame);
    return taken;
}

/// Follows the chain of closed tiles from `position`, newest to oldest.
static void tiles_restore(struct esk_series *series, uint32_t position,
                          uint8_t level) {
    for (uint8_t i = 0; i < TILES_BACK_MAX; i++) {
        uint32_t previous = ESK_SPLINE_NONE;
        if (position == ESK_SPLINE_NONE ||
            !tile_restore(series, position, level, false, &previous) ||
            previous >= position) {
            return;
        }
        position = previous;
    }
}

/// Restores the tiles that the page at `position`, level 0's open tile,
/// leads to.
static void spline_restore(struct esk_series *series, uint32_t position) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    uint32_t closed = ESK_SPLINE_NONE;
    uint32_t closed_above = ESK_SPLINE_NONE;

    if (esk_series_pin(series, &series->log.ring, position, &page, &frame) !=
        ESK_OK) {
        return;
    }
    uint32_t above = esk_load_u32(page + ESK_INDEX_TILE_OPEN_1);
    esk_spline_restore_error(&series->spline, page[ESK_INDEX_ERROR]);
    esk_pool_unpin(&series->pool, frame);
    (void)tile_restore(series, position, 0, true, &closed);
    if (above != ESK_SPLINE_NONE && above < position) {
        (void)tile_restore(series, above, 1, true, &closed_above);
    }
    tiles_restore(series, closed, 0);
    tiles_restore(series, closed_above, 1);
}

/// Brings back the knots of the run page at `position`, and its tip when
/// `tip` says so.
static void knots_restore(struct esk_series *series, uint32_t position,
                          bool tip) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    struct esk_spline_entry knot;

    if (esk_series_pin(series, &series->log.ring, position, &page, &frame) !=
        ESK_OK) {
        return;
    }
    const uint8_t *knots = esk_series_index_knots(series, page);
    uint16_t count = knots != NULL ? esk_load_u16(page + ESK_INDEX_KNOTS) : 0;
    if (page[ESK_INDEX_ROLE] == ESK_INDEX_RUN && knots != NULL) {
        esk_spline_restore_error(&series->spline, page[ESK_INDEX_ERROR]);
        for (uint16_t i = 0; i < count; i++) {
            esk_spline_section_get(&series->spline, knots, i, &knot);
            esk_spline_restore_knot(&series->spline, &knot);
        }
    }
    if (tip && knots != NULL && (page[ESK_INDEX_FLAGS] & ESK_INDEX_TIP) != 0) {
        esk_spline_section_get(&series->spline, knots, count, &knot);
        esk_spline_restore_tip(&series->spline, &knot);
    }
    esk_pool_unpin(&series->pool, frame);
}

/// Notes what the index page at `position` says of runs and tiles.
static void page_survey(struct esk_series *series, uint32_t position,
                        uint32_t group_start, struct recovery *found,
                        uint64_t *with_knots) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    if (esk_series_pin(series, &series->log.ring, position, &page, &frame) !=
        ESK_OK) {
        if (position >= group_start && series->log.run_page != NULL) {
            esk_parts(series)->values->group(series, position, NULL, 0, true);
        }
        return;
    }
    uint8_t role = page[ESK_INDEX_ROLE];
    uint16_t count = esk_load_u16(page + ESK_INDEX_ENTRIES);
    uint32_t start = esk_load_u32(page + ESK_INDEX_START);
    bool sound = esk_series_index_knots(series, page) != NULL;
    if (role == ESK_INDEX_RUN && sound) {
        bool unknown = (page[ESK_INDEX_FLAGS] & ESK_INDEX_GAP_EMPTY) == 0 &&
                       esk_page_aux(page) < start;
        if (position >= group_start && series->log.run_page != NULL) {
            esk_parts(series)->values->group(series, position,
                                             esk_series_index_entries(page),
                                             count, unknown);
        }
        found->run_end = start + count;
        found->has_run = true;
        if (esk_load_u16(page + ESK_INDEX_KNOTS) > 0) {
            *with_knots |= (uint64_t)1 << (position & 63u);
        }
    } else if (sound && page[ESK_INDEX_LEVEL] == 0) {
        found->tile = position;
        found->has_tile = true;
        if (!found->has_run) {
            found->run_end = start;
            found->has_run = true;
        }
    }
    if (sound && (page[ESK_INDEX_FLAGS] & ESK_INDEX_TIP) != 0) {
        found->tip_at = position;
        found->has_tip = true;
    }
    esk_pool_unpin(&series->pool, frame);
}

/// Where the survey begins: at the newest group page that can be read.
static uint32_t survey_start(struct esk_series *series) {
    uint32_t head = series->log.ring.head;
    uint32_t start = head - head % esk_shape(series)->group_pages;
    for (uint8_t i = 0; i < GROUPS_BACK_MAX; i++) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        if (start <= series->log.ring.tail) {
            return series->log.ring.tail;
        }
        if (esk_series_pin(series, &series->log.ring, start - 1, &page,
                           &frame) == ESK_OK) {
            bool group = page[ESK_INDEX_ROLE] == ESK_INDEX_GROUP;
            esk_pool_unpin(&series->pool, frame);
            if (group) {
                return start - 1;
            }
        }
        start -= esk_shape(series)->group_pages;
    }
    return start > series->log.ring.tail ? start : series->log.ring.tail;
}

uint32_t esk_series_tiles_recover(struct esk_series *series) {
    struct recovery found = {.has_tile = false};
    uint32_t head = series->log.ring.head;
    uint32_t start = survey_start(series);
    uint32_t group_start = head - head % esk_shape(series)->group_pages;
    uint64_t with_knots = 0;

    for (uint32_t at = start; at < head; at++) {
        page_survey(series, at, group_start, &found, &with_knots);
    }
    if (found.has_tile) {
        spline_restore(series, found.tile);
    }
    uint32_t from = found.has_tile ? found.tile + 1 : start;
    for (uint32_t at = from; at < head; at++) {
        bool tip = found.has_tip && at == found.tip_at;
        if (tip || head - at > 64 ||
            (with_knots & ((uint64_t)1 << (at & 63u))) != 0) {
            knots_restore(series, at, tip);
        }
    }
    if (found.has_tip && found.tip_at < from) {
        knots_restore(series, found.tip_at, true);
    }
    return found.has_run ? found.run_end : UINT32_MAX;
}
