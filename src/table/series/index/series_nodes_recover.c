// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Nodes at mount: restores spline and group without a scan.
///
///  1. The newest summary page, at most one group back from the index head
///     (further if damaged), and the newest node after it.
///  2. The zone pages since then: their unions rebuild the group in RAM, their
///     knots the spline.
///
/// A lost zone page leaves a gap that readers scan, a lost node costs a binary
/// search.
#include "table/series/series.h"

enum {
    GROUPS_BACK_MAX = 3, ///< most damaged summary pages that are skipped
    NODES_BACK_MAX = 64, ///< most closed nodes that are read back
};

struct recovery {
    uint32_t group; ///< start of the group in RAM
    uint32_t least; ///< knots of pages below are of dropped rows
    uint32_t knots; ///< zone pages from here on have knots that are on no node
    uint32_t run_end; ///< data position after the newest zone page's last
    uint32_t last_at; ///< index position of the newest last point
    bool has_run;
    bool has_last;
};

/// Restores one node from its page.
/// previous out: the closed node before it.
static bool node_restore(struct esk_series *series, uint32_t position,
                         uint8_t level, bool open, uint32_t *previous) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    bool taken = false;

    if (esk_series_pin(series, &series->log.ring, position, &page, &frame) !=
        ESK_OK) {
        return false;
    }
    const uint8_t *knots = esk_series_node_knots(series, page, level);
    if (knots != NULL) {
        *previous = esk_load_u32(page + ESK_INDEX_NODE_PREV);
        taken = esk_spline_restore_node(&series->spline, level, knots,
                                        esk_load_u16(page + ESK_INDEX_KNOTS),
                                        position, open);
    }
    esk_pool_unpin(&series->pool, frame);
    return taken;
}

/// Reads the chain of closed nodes from `position`, newest to oldest.
static void nodes_restore(struct esk_series *series, uint32_t position,
                          uint8_t level) {
    for (uint8_t i = 0; i < NODES_BACK_MAX; i++) {
        uint32_t previous = ESK_SPLINE_NONE;
        if (position == ESK_SPLINE_NONE ||
            !node_restore(series, position, level, false, &previous) ||
            previous >= position) {
            return;
        }
        position = previous;
    }
}

/// Restores the nodes that the page at `position`, level 0's open node, leads
/// to. Returns whether it is an open node.
static bool spline_restore(struct esk_series *series, uint32_t position) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    uint32_t closed = ESK_SPLINE_NONE;
    uint32_t closed_above = ESK_SPLINE_NONE;

    if (esk_series_pin(series, &series->log.ring, position, &page, &frame) !=
        ESK_OK) {
        return false;
    }
    bool node = esk_series_node_knots(series, page, 0) != NULL;
    uint32_t above = esk_load_u32(page + ESK_INDEX_NODE_OPEN_1);
    if (node) {
        esk_spline_restore_error(&series->spline, page[ESK_INDEX_ERROR]);
    }
    esk_pool_unpin(&series->pool, frame);
    if (!node) {
        return false;
    }
    (void)node_restore(series, position, 0, true, &closed);
    if (above != ESK_SPLINE_NONE && above < position) {
        (void)node_restore(series, above, 1, true, &closed_above);
    }
    nodes_restore(series, closed, 0);
    nodes_restore(series, closed_above, 1);
    return true;
}

/// Restores the nodes that the newest node of level 0 from `start` on leads to;
/// reads a few bytes of each page to find it. Returns the position after it;
/// `start` without one.
static uint32_t newest_node_restore(struct esk_series *series, uint32_t start) {
    const struct esk_ring *ring = &series->log.ring;
    for (uint32_t at = ring->head; at > start; at--) {
        uint8_t bytes[2] = {ESK_INDEX_ZONE_PAGE}; /* role, level */
        (void)esk_region_peek(&ring->region, esk_ring_page(ring, at - 1),
                              ESK_INDEX_ROLE, bytes, sizeof bytes);
        if (bytes[0] != ESK_INDEX_ZONE_PAGE && bytes[1] == 0 &&
            spline_restore(series, at - 1)) {
            return at;
        }
    }
    return start;
}

/// Restores the knots of zone page `page`.
static void knots_restore(struct esk_series *series, const uint8_t *page,
                          const uint8_t *knots) {
    struct esk_spline_entry knot;
    uint16_t count = esk_load_u16(page + ESK_INDEX_KNOTS);
    esk_spline_restore_error(&series->spline, page[ESK_INDEX_ERROR]);
    for (uint16_t i = 0; i < count; i++) {
        esk_spline_section_get(&series->spline, knots, i, &knot);
        esk_spline_restore_knot(&series->spline, &knot);
    }
}

/// Restores the last point of the index page at `position`, which has one.
static void last_restore(struct esk_series *series, uint32_t position) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    struct esk_spline_entry last;

    if (esk_series_pin(series, &series->log.ring, position, &page, &frame) !=
        ESK_OK) {
        return;
    }
    const uint8_t *knots = esk_series_index_knots(series, page);
    if (knots != NULL) {
        esk_spline_section_get(&series->spline, knots,
                               esk_load_u16(page + ESK_INDEX_KNOTS), &last);
        esk_spline_restore_last(&series->spline, &last);
    }
    esk_pool_unpin(&series->pool, frame);
}

/// Restores the knots, the last point and the group's entry from zone page
/// `page` at `position`.
static void run_restore(struct esk_series *series, uint32_t position,
                        uint8_t *page, const uint8_t *knots,
                        struct recovery *found) {
    uint16_t count = esk_load_u16(page + ESK_INDEX_ENTRIES);
    uint32_t start = esk_load_u32(page + ESK_INDEX_START);
    bool unknown = (page[ESK_INDEX_FLAGS] & ESK_INDEX_GAP_EMPTY) == 0 &&
                   esk_page_aux(page) < start;
    if (position >= found->group && series->log.zone_page != NULL) {
        esk_parts(series)->values->group(
            series, position, esk_series_index_entries(page), count, unknown);
    }
    if (position >= found->knots) {
        knots_restore(series, page, knots);
    }
    found->run_end = start + count;
    found->has_run = true;
}

/// Restores what the index page at `position` has about runs.
static void page_survey(struct esk_series *series, uint32_t position,
                        struct recovery *found) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    if (esk_series_pin(series, &series->log.ring, position, &page, &frame) !=
        ESK_OK) {
        if (position >= found->group && series->log.zone_page != NULL) {
            esk_parts(series)->values->group(series, position, NULL, 0, true);
        }
        return;
    }
    const uint8_t *knots = esk_series_index_knots(series, page);
    if (knots != NULL && page[ESK_INDEX_ROLE] == ESK_INDEX_ZONE_PAGE) {
        run_restore(series, position, page, knots, found);
    } else if (knots != NULL && page[ESK_INDEX_LEVEL] == 0 && !found->has_run) {
        found->run_end = esk_load_u32(page + ESK_INDEX_START);
        found->has_run = true;
    }
    if (knots != NULL && position >= found->least &&
        (page[ESK_INDEX_FLAGS] & ESK_INDEX_LAST) != 0) {
        found->last_at = position;
        found->has_last = true;
    }
    esk_pool_unpin(&series->pool, frame);
}

/// Start of the survey: the newest summary page that can be read.
static uint32_t survey_start(struct esk_series *series) {
    uint32_t head = series->log.ring.head;
    uint32_t start = head - esk_series_group_slot(series, head);
    for (uint8_t i = 0; i < GROUPS_BACK_MAX; i++) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        if (start <= series->log.ring.tail) {
            return series->log.ring.tail;
        }
        if (esk_series_pin(series, &series->log.ring, start - 1, &page,
                           &frame) == ESK_OK) {
            bool group = page[ESK_INDEX_ROLE] == ESK_INDEX_SUMMARY_PAGE;
            esk_pool_unpin(&series->pool, frame);
            if (group) {
                return start - 1;
            }
        }
        start -= esk_shape(series)->group_pages;
    }
    return start > series->log.ring.tail ? start : series->log.ring.tail;
}

uint32_t esk_series_nodes_recover(struct esk_series *series) {
    uint32_t head = series->log.ring.head;
    uint32_t start = survey_start(series);
    uint32_t knots = esk_is_broken(series) ? series->breaks->index : 0;
    struct recovery found = {
        .group = head - esk_series_group_slot(series, head),
        .least = knots,
        .knots = newest_node_restore(series, knots > start ? knots : start),
    };
    for (uint32_t at = start; at < head; at++) {
        page_survey(series, at, &found);
    }
    if (found.has_last) {
        last_restore(series, found.last_at);
    }
    return found.has_run ? found.run_end : UINT32_MAX;
}
