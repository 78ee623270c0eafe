// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The index log as a part; here, its zone pages.
///
/// Every data page adds an entry to the run in RAM and a point to the spline. A
/// full run is programmed, and its union is added to the group in RAM. Entries
/// that the spline has no room for go to nodes (series_nodes.c).
///
/// A failed program of an index page fails no call: readers scan the run's
/// pages.
#include "table/series/series_open.h"
#include "table/series/series_rows.h"

enum { HOLE_ENTRIES_MAX = 4 };

static uint16_t page_bytes(const struct esk_series *series) {
    return esk_pool_page_bytes(&series->pool);
}

uint16_t esk_series_index_finish(const struct esk_series *series, uint8_t *page,
                                 uint8_t role, uint8_t *section,
                                 uint16_t knots) {
    uint8_t knot = esk_series_knot_bytes(series);
    uint8_t *end = section + (uint16_t)(knots * knot);
    esk_key key = 0;
    uint32_t position = 0;

    page[ESK_INDEX_ROLE] = role;
    page[ESK_INDEX_ERROR] = series->spline.error_16ths;
    esk_store_u16(page + ESK_INDEX_KNOTS, knots);
    if (role != ESK_INDEX_NODE_PAGE &&
        esk_spline_last(&series->spline, &key, &position)) {
        uint8_t wide[8];
        esk_store_u64(wide, key);
        memcpy(end, wide, esk_shape(series)->key_bytes);
        esk_store_u32(end + esk_shape(series)->key_bytes, position);
        page[ESK_INDEX_FLAGS] |= ESK_INDEX_LAST;
        end += knot;
    }
    return (uint16_t)(end - page - ESK_ENVELOPE_BYTES);
}

int esk_series_index_append(struct esk_series *series, uint8_t *page,
                            uint16_t bytes, uint32_t *position) {
    ESK_TRY(esk_series_order(series, ESK_SERIES_DATA | ESK_SERIES_INDEX,
                             ESK_SERIES_INDEX));
    return esk_ring_append(&series->log.ring, page, bytes,
                           series->log.run_first, position);
}

static int run_write(struct esk_series *series) {
    uint8_t *page = series->log.zone_page;
    uint8_t frame = 0;
    uint32_t position = 0;
    uint16_t bytes =
        (uint16_t)(series->log.run_count * esk_shape(series)->entry_bytes);
    uint8_t knot = esk_series_knot_bytes(series);

    ESK_TRY(esk_series_slot_prepare(series));
    if (page == NULL) {
        ESK_TRY(esk_pool_take(&series->pool, &page, &frame));
    }
    memset(page, 0, ESK_INDEX_ZONE_BODY);
    esk_store_u32(page + ESK_INDEX_START, series->log.run_start);
    esk_store_u16(page + ESK_INDEX_ENTRIES, series->log.run_count);
    page[ESK_INDEX_FLAGS] = series->log.gap_unknown ? 0 : ESK_INDEX_GAP_EMPTY;
    uint8_t *section = page + ESK_INDEX_ZONE_BODY + bytes;
    uint16_t room = (uint16_t)((unsigned)(page_bytes(series) -
                                          ESK_INDEX_ZONE_BODY - bytes) /
                                   knot -
                               1);
    uint16_t knots = esk_spline_take_new(&series->spline, section, room);
    uint16_t used = esk_series_index_finish(series, page, ESK_INDEX_ZONE_PAGE,
                                            section, knots);
    int status = esk_series_index_append(series, page, used, &position);
    if (series->log.zone_page == NULL) {
        esk_pool_give(&series->pool, frame);
    } else if (status == ESK_OK) {
        esk_parts(series)->values->group(series, position, series->log.group, 1,
                                         series->log.gap_unknown &&
                                             series->log.run_first <
                                                 series->log.run_start);
    }
    return status;
}

/// Ends the run in RAM; programs it if possible.
static void run_flush(struct esk_series *series) {
    uint32_t end = series->log.run_start + series->log.run_count;
    if (series->log.run_unread > 0) {
        esk_series_run_complete(series, series->log.run_unread);
    }
    if (run_write(series) == ESK_OK) {
        series->log.run_first = end;
        series->log.gap_unknown = false;
        series->log.is_joined = false;
    } else {
        series->log.failures++;
        series->log.gap_unknown = true;
    }
    series->log.run_start = end;
    series->log.run_count = 0;
    series->log.failures += esk_series_nodes_flush(series) != ESK_OK;
}

/// Ends the run before the newest page: a zone page is evidence that the page
/// after its run existed. Readers scan that page.
static void log_end(struct esk_series *series) {
    struct esk_series_index_log *log = &series->log;
    if (log->run_count > 1) {
        log->run_count--;
        if (log->run_unread > log->run_count) {
            log->run_unread = log->run_count;
        }
        run_flush(series);
    }
    log->run_start = series->data.head;
    log->run_count = 0;
    log->run_unread = 0;
    log->gap_unknown = true;
}

bool esk_series_run_is_full(const struct esk_series *series) {
    uint32_t entries = series->log.run_count + 1u;
    uint32_t knots = series->spline.fresh + 2u;
    return series->log.run_count >= esk_shape(series)->run_pages ||
           ESK_INDEX_ZONE_BODY + entries * esk_shape(series)->entry_bytes +
                   knots * esk_series_knot_bytes(series) >
               page_bytes(series);
}

/// Adds the data positions without rows before `position` to the run. Returns
/// false when they are too many: then the run must end before them.
static bool run_pass_holes(struct esk_series *series, uint32_t position) {
    uint32_t expected = series->log.run_start + series->log.run_count;
    if (series->log.run_count == 0) {
        series->log.run_start = position;
        return true;
    }
    if (position - expected > HOLE_ENTRIES_MAX) {
        return false;
    }
    for (; expected < position; expected++) {
        if (esk_series_run_is_full(series)) {
            return false;
        }
        if (series->log.zone_page != NULL) {
            esk_parts(series)->values->entry(series, NULL, false);
        }
        series->log.run_count++;
    }
    return !esk_series_run_is_full(series);
}

void esk_series_index_add(struct esk_series *series, uint32_t position,
                          uint8_t *page) {
    if (series->log.run_count > 0 && esk_series_run_is_full(series)) {
        run_flush(series);
    }
    if (!run_pass_holes(series, position)) {
        run_flush(series);
        series->log.run_start = position;
    }
    esk_key key = esk_rows_key_first(series, page);
    while (esk_spline_add(&series->spline, key, position) == ESK_FULL) {
        if (!esk_spline_evict(&series->spline) &&
            !esk_series_nodes_save(series)) {
            series->log.failures++;
            esk_spline_drop(&series->spline);
        }
    }
    if (series->log.zone_page != NULL) {
        esk_parts(series)->values->entry(series, page, false);
    }
    series->log.run_count++;
    esk_spline_trim_nodes(&series->spline, series->log.ring.tail);
    if (esk_sorted(series) != NULL) {
        esk_sorted(series)->add(series, position, page);
    }
}

static bool pages_fit(const struct esk_series_shape *shape,
                      uint16_t page_bytes) {
    uint32_t knots = 2u * ESK_SPLINE_SECTION_ENTRY_BYTES(shape->key_bytes);
    uint32_t entries = (shape->group_pages - 1u) * shape->entry_bytes;
    return shape->run_pages > 0 && shape->group_pages <= 64 &&
           ESK_INDEX_ZONE_BODY + shape->entry_bytes + knots <= page_bytes &&
           ESK_INDEX_NODE_BODY + entries + knots <= page_bytes;
}

static void nodes_init(struct esk_series *series) {
    esk_spline_nodes_init(&series->spline);
}

static int log_mount(struct esk_series *series, struct esk_ring_config *config,
                     const struct esk_table_info *info, uint8_t *page) {
    config->tail_hint = 0;
    config->unit = 1;
    config->kind = ESK_PAGE_INDEX;
    config->refuse = false;
    ESK_TRY(esk_series_ring_mount(series, &series->log.ring, config, info,
                                  ESK_REGION_INDEX, page));
    return esk_sorted(series) == NULL
               ? ESK_OK
               : esk_sorted(series)->mount(series, config, info, page);
}

const struct esk_series_log esk_series_part_log = {
    .fits = pages_fit,
    .nodes_init = nodes_init,
    .mount = log_mount,
    .recover = esk_series_recover,
    .end = log_end,
    .add = esk_series_index_add,
    .find = esk_series_nodes_find,
};
