// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Summary pages and nodes: knots that the spline has no room for, on index
/// pages.
///
///     index ring:  zone zone ... zone SUMMARY zone zone node zone ... SUMMARY
///                  |--- group_pages positions ---|
///
/// The last position of each group is for the summary page, unless it is in a
/// bad block or the program failed; then a reader reads each page of the group.
/// The summary page has one entry for each index page before it in its group,
/// and a node. Nodes that fill up in between get pages of their own.
#include "table/series/series.h"

enum {
    LEVELS_MAX = 4,
    NODES_UNSAVED_MAX = 16, ///< nodes that an open reads back one by one
};

/// Reads the open node of `level` into `page` with its knots at `section`, if
/// it has less than `room` knots. Returns how many it has, or 0.
static uint16_t node_load(struct esk_series *series, uint8_t level,
                          uint8_t *page, uint8_t *section, uint16_t room) {
    const struct esk_spline_node *open = &series->spline.nodes.node[level];
    uint16_t count = open->open_count;
    if (count == 0 || count >= room ||
        esk_ring_read(&series->log.ring, open->open_position, page, true) !=
            ESK_OK) {
        return 0;
    }
    uint8_t *knots = esk_series_index_knots(series, page);
    if (knots == NULL || esk_load_u16(page + ESK_INDEX_KNOTS) != count) {
        return 0;
    }
    memmove(section, knots, (size_t)count * esk_series_knot_bytes(series));
    return count;
}

/// Writes the fields that only pages with a node have. A node that continues
/// none (`merged` 0) closes the open one.
static void node_head(const struct esk_series *series, uint8_t *page,
                      uint8_t level, uint16_t merged) {
    const struct esk_spline_node *levels = series->spline.nodes.node;
    uint32_t previous = merged == 0 ? levels[level].open_position
                                    : levels[level].closed_position;
    page[ESK_INDEX_LEVEL] = level;
    esk_store_u32(page + ESK_INDEX_NODE_PREV, previous);
    esk_store_u32(page + ESK_INDEX_NODE_OPEN_0, levels[0].open_position);
    esk_store_u32(page + ESK_INDEX_NODE_OPEN_1, levels[1].open_position);
}

/// Programs a page with a node of `level`: a summary page or a node page.
static int node_page_write(struct esk_series *series, uint8_t role,
                           uint8_t level) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    uint32_t position = 0;
    uint16_t entries = role == ESK_INDEX_SUMMARY_PAGE
                           ? (uint16_t)(esk_shape(series)->group_pages - 1u)
                           : 0;
    uint16_t bytes = (uint16_t)(entries * esk_shape(series)->entry_bytes);
    uint8_t knot = esk_series_knot_bytes(series);
    uint16_t room = (uint16_t)((unsigned)(esk_pool_page_bytes(&series->pool) -
                                          ESK_INDEX_NODE_BODY - bytes) /
                                   knot -
                               1);

    ESK_TRY(esk_pool_take(&series->pool, &page, &frame));
    uint8_t *section = page + ESK_INDEX_NODE_BODY + bytes;
    uint16_t merged = node_load(series, level, page, section, room);
    uint16_t count =
        esk_spline_save(&series->spline, level, section, merged, room);
    memset(page, 0, ESK_INDEX_NODE_BODY);
    /* The end of the zone pages: recovery rolls forward from there. */
    esk_store_u32(page + ESK_INDEX_START, series->log.run_first);
    esk_store_u16(page + ESK_INDEX_ENTRIES, entries);
    if (bytes > 0) {
        /* A group without a written page matches nothing. */
        esk_parts(series)->values->group(series, series->log.ring.head, NULL, 0,
                                         false);
        memcpy(page + ESK_INDEX_NODE_BODY,
               series->log.group + esk_shape(series)->entry_bytes, bytes);
    }
    node_head(series, page, level, merged);
    uint16_t used = esk_series_index_finish(series, page, role, section, count);
    int status = esk_series_index_append(series, page, used, &position);
    esk_pool_give(&series->pool, frame);
    if (status == ESK_OK && count > 0) {
        esk_spline_saved(&series->spline, level, count, position);
    }
    return status;
}

int esk_series_slot_prepare(struct esk_series *series) {
    ESK_TRY(esk_ring_reserve(&series->log.ring));
    while (esk_series_group_slot(series, series->log.ring.head + 1) == 0) {
        ESK_TRY(node_page_write(series, ESK_INDEX_SUMMARY_PAGE, 0));
        series->log.save_due = true;
        ESK_TRY(esk_ring_reserve(&series->log.ring));
    }
    return ESK_OK;
}

/// Saves unsaved entries of `level` on a node page.
static int spline_save(struct esk_series *series, uint8_t level) {
    ESK_TRY(esk_series_slot_prepare(series));
    if (esk_spline_unsaved(&series->spline, level) == 0) {
        return ESK_OK;
    }
    return node_page_write(series, ESK_INDEX_NODE_PAGE, level);
}

int esk_series_nodes_flush(struct esk_series *series) {
    uint16_t before = UINT16_MAX;
    uint16_t unsaved = esk_spline_unsaved(&series->spline, 0);
    while (series->log.save_due && unsaved > 0 && unsaved < before) {
        ESK_TRY(spline_save(series, 0));
        before = unsaved;
        unsaved = esk_spline_unsaved(&series->spline, 0);
    }
    series->log.save_due = false;
    /* If RAM had room for more of them, an open would have to read them all. */
    return esk_spline_unsaved(&series->spline, 1) >= NODES_UNSAVED_MAX
               ? spline_save(series, 1)
               : ESK_OK;
}

bool esk_series_nodes_save(struct esk_series *series) {
    uint8_t level = esk_spline_full_level(&series->spline);
    uint16_t before = esk_spline_unsaved(&series->spline, level);
    return spline_save(series, level) == ESK_OK &&
           esk_spline_unsaved(&series->spline, level) < before;
}

void esk_series_nodes_find(struct esk_series *series, esk_key key,
                           uint32_t *position) {
    struct esk_spline_hit hit;
    int status = esk_spline_find_node(&series->spline, key, &hit);
    for (uint8_t i = 0; i < LEVELS_MAX && status == ESK_OK; i++) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        uint8_t level = (uint8_t)(hit.level - 1);
        if (esk_series_pin(series, &series->log.ring, hit.position, &page,
                           &frame) != ESK_OK) {
            return;
        }
        const uint8_t *knots = esk_series_node_knots(series, page, level);
        status = ESK_NOT_FOUND;
        if (knots != NULL) {
            status = esk_spline_find_in(&series->spline, knots,
                                        esk_load_u16(page + ESK_INDEX_KNOTS),
                                        level, key, &hit);
        }
        esk_pool_unpin(&series->pool, frame);
        if (status == ESK_OK && level == 0) {
            *position = hit.position;
            return;
        }
    }
}
