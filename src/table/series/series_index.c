// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The index log, writing: run pages, group pages and tiles of the spline.
///
///     index ring:  run run run ... run GROUP run run tile run ... GROUP
///                  |---- group_pages positions ---|
///
/// Every data page adds an entry to the run in RAM and a point to the spline.
/// A full run is programmed; its union goes to the group in RAM. The last
/// position of each group is for the group page, wherever bad blocks and
/// failed programs let it be; a reader that finds no group page there looks
/// at each page of the group instead.
///
/// Failing to write an index page fails nothing else: the run's pages become
/// a gap that readers scan.
#include "table/series/series.h"

enum { HOLE_ENTRIES_MAX = 4 };

static uint16_t page_bytes(const struct esk_series *series) {
    return series->pool.page_bytes;
}

/// Writes the fields that every index page has, and the tip after `knots`
/// entries of `section`. Returns the payload bytes in use.
static uint16_t page_finish(const struct esk_series *series, uint8_t *page,
                            uint8_t role, uint8_t *section, uint16_t knots) {
    uint8_t knot = esk_series_knot_bytes(series);
    uint8_t *end = section + (uint16_t)(knots * knot);
    esk_key key = 0;
    uint32_t position = 0;

    page[ESK_INDEX_ROLE] = role;
    page[ESK_INDEX_ERROR] = series->spline.error_16ths;
    esk_store_u16(page + ESK_INDEX_KNOTS, knots);
    if (role != ESK_INDEX_TILE &&
        esk_spline_tip(&series->spline, &key, &position)) {
        uint8_t wide[8];
        esk_store_u64(wide, key);
        memcpy(end, wide, series->key_bytes);
        esk_store_u32(end + series->key_bytes, position);
        page[ESK_INDEX_FLAGS] |= ESK_INDEX_TIP;
        end += knot;
    }
    return (uint16_t)(end - page - ESK_ENVELOPE_BYTES);
}

/// Brings the open tile of `level` into `page` with its knots at `section`,
/// when it can still grow to `room` knots. Returns how many it has, or 0.
static uint16_t tile_load(struct esk_series *series, uint8_t level,
                          uint8_t *page, uint8_t *section, uint16_t room) {
    const struct esk_spline_tile *open = &series->spline.tile[level];
    uint16_t count = open->open_count;
    if (count == 0 || count >= room ||
        esk_ring_read(&series->index, open->open_position, page, true) !=
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

/// Writes what only pages with a tile have. A tile that continues none
/// (`merged` 0) closes the one that is open.
static void tile_head(const struct esk_series *series, uint8_t *page,
                      uint8_t level, uint16_t merged) {
    const struct esk_spline_tile *levels = series->spline.tile;
    uint32_t previous = merged == 0 ? levels[level].open_position
                                    : levels[level].closed_position;
    page[ESK_INDEX_LEVEL] = level;
    esk_store_u32(page + ESK_INDEX_TILE_PREV, previous);
    esk_store_u32(page + ESK_INDEX_TILE_OPEN_0, levels[0].open_position);
    esk_store_u32(page + ESK_INDEX_TILE_OPEN_1, levels[1].open_position);
}

/// Programs a page that holds a tile of `level`: a group page or a tile page.
static int tile_page_write(struct esk_series *series, uint8_t role,
                           uint8_t level) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    uint32_t position = 0;
    uint16_t entries =
        role == ESK_INDEX_GROUP ? (uint16_t)(series->group_pages - 1u) : 0;
    uint16_t bytes = (uint16_t)(entries * series->entry_bytes);
    uint8_t knot = esk_series_knot_bytes(series);
    uint16_t room =
        (uint16_t)((page_bytes(series) - ESK_INDEX_TILE_BODY - bytes) / knot -
                   1);

    ESK_TRY(esk_pool_take(&series->pool, &page, &frame));
    uint8_t *section = page + ESK_INDEX_TILE_BODY + bytes;
    uint16_t merged = tile_load(series, level, page, section, room);
    uint16_t count =
        esk_spline_save(&series->spline, level, section, merged, room);
    memset(page, 0, ESK_INDEX_TILE_BODY);
    /* Where run pages ended: recovery rolls forward from there. */
    esk_store_u32(page + ESK_INDEX_START, series->run_first);
    esk_store_u16(page + ESK_INDEX_ENTRIES, entries);
    if (bytes > 0) {
        /* A group of which no page was written matches nothing. */
        series->parts->values->group(series, series->index.head, NULL, 0,
                                     false);
        memcpy(page + ESK_INDEX_TILE_BODY, series->group, bytes);
    }
    tile_head(series, page, level, merged);
    uint16_t used = page_finish(series, page, role, section, count);
    int status = esk_ring_append(&series->index, page, used, series->run_first,
                                 &position);
    esk_pool_give(&series->pool, frame);
    if (status == ESK_OK && count > 0) {
        esk_spline_saved(&series->spline, level, count, position);
    }
    return status;
}

/// Makes the index ring's head programmable for a page that is no group page,
/// writing the group page when head is its place.
static int slot_prepare(struct esk_series *series) {
    ESK_TRY(esk_ring_reserve(&series->index));
    while ((series->index.head + 1) % series->group_pages == 0) {
        ESK_TRY(tile_page_write(series, ESK_INDEX_GROUP, 0));
        series->save_due = true;
        ESK_TRY(esk_ring_reserve(&series->index));
    }
    return ESK_OK;
}

/// Saves unsaved entries of `level` on a tile page.
static int spline_save(struct esk_series *series, uint8_t level) {
    ESK_TRY(slot_prepare(series));
    if (esk_spline_unsaved(&series->spline, level) == 0) {
        return ESK_OK;
    }
    return tile_page_write(series, ESK_INDEX_TILE, level);
}

/// What a group page had no room for is saved at once: recovery reads run
/// pages back to the last group page only.
static int leftover_save(struct esk_series *series) {
    uint16_t before = UINT16_MAX;
    uint16_t unsaved = esk_spline_unsaved(&series->spline, 0);
    while (series->save_due && unsaved > 0 && unsaved < before) {
        ESK_TRY(spline_save(series, 0));
        before = unsaved;
        unsaved = esk_spline_unsaved(&series->spline, 0);
    }
    series->save_due = false;
    return ESK_OK;
}

static int run_write(struct esk_series *series) {
    uint8_t *page = series->run_page;
    uint8_t frame = 0;
    uint32_t position = 0;
    uint16_t bytes = (uint16_t)(series->run_count * series->entry_bytes);
    uint8_t knot = esk_series_knot_bytes(series);

    ESK_TRY(slot_prepare(series));
    if (page == NULL) {
        ESK_TRY(esk_pool_take(&series->pool, &page, &frame));
    }
    memset(page, 0, ESK_INDEX_RUN_BODY);
    esk_store_u32(page + ESK_INDEX_START, series->run_start);
    esk_store_u16(page + ESK_INDEX_ENTRIES, series->run_count);
    page[ESK_INDEX_FLAGS] = series->gap_unknown ? 0 : ESK_INDEX_GAP_EMPTY;
    uint8_t *section = page + ESK_INDEX_RUN_BODY + bytes;
    uint16_t room =
        (uint16_t)((page_bytes(series) - ESK_INDEX_RUN_BODY - bytes) / knot -
                   1);
    uint16_t knots = esk_spline_take_new(&series->spline, section, room);
    uint16_t used = page_finish(series, page, ESK_INDEX_RUN, section, knots);
    int status = esk_ring_append(&series->index, page, used, series->run_first,
                                 &position);
    if (series->run_page == NULL) {
        esk_pool_give(&series->pool, frame);
    } else if (status == ESK_OK) {
        series->parts->values->group(
            series, position, page + ESK_INDEX_RUN_BODY, series->run_count,
            series->gap_unknown && series->run_first < series->run_start);
    }
    return status;
}

/// Ends the run in RAM, on the medium if it can be.
static void run_flush(struct esk_series *series) {
    uint32_t end = series->run_start + series->run_count;
    if (run_write(series) == ESK_OK) {
        series->run_first = end;
        series->gap_unknown = false;
    } else {
        series->index_failures++;
        series->gap_unknown = true;
    }
    series->run_start = end;
    series->run_count = 0;
    series->index_failures += leftover_save(series) != ESK_OK ? 1u : 0u;
}

bool esk_series_run_is_full(const struct esk_series *series) {
    uint32_t entries = series->run_count + 1u;
    uint32_t knots = series->spline.fresh + 2u;
    return series->run_count >= series->run_pages ||
           ESK_INDEX_RUN_BODY + entries * series->entry_bytes +
                   knots * esk_series_knot_bytes(series) >
               page_bytes(series);
}

/// Enters into the run the data pages it passes over, which hold no rows.
/// Returns false when they are too many: the run has to end before them.
static bool run_pass_holes(struct esk_series *series, uint32_t position) {
    uint32_t expected = series->run_start + series->run_count;
    if (series->run_count == 0) {
        series->run_start = position;
        return true;
    }
    if (position - expected > HOLE_ENTRIES_MAX) {
        return false;
    }
    for (; expected < position; expected++) {
        if (esk_series_run_is_full(series)) {
            return false;
        }
        if (series->run_page != NULL) {
            series->parts->values->entry(series, NULL, false);
        }
        series->run_count++;
    }
    return !esk_series_run_is_full(series);
}

int esk_series_index_note(struct esk_series *series, uint32_t position,
                          uint8_t *page) {
    if (esk_page_count(page) > 0) {
        esk_key key =
            esk_series_row_key(series, esk_series_page_row(series, page, 0));
        ESK_TRY(esk_spline_add(&series->spline, key, position));
    }
    if (series->run_page != NULL) {
        series->parts->values->entry(series, page, false);
    }
    series->run_count++;
    return ESK_OK;
}

void esk_series_index_add(struct esk_series *series, uint32_t position,
                          uint8_t *page) {
    if (series->run_count > 0 && esk_series_run_is_full(series)) {
        run_flush(series);
    }
    if (!run_pass_holes(series, position)) {
        run_flush(series);
        series->run_start = position;
    }
    while (esk_series_index_note(series, position, page) == ESK_FULL) {
        uint8_t level = esk_spline_full_level(&series->spline);
        uint16_t before = esk_spline_unsaved(&series->spline, level);
        if (spline_save(series, level) != ESK_OK ||
            esk_spline_unsaved(&series->spline, level) >= before) {
            series->index_failures++;
            esk_spline_drop(&series->spline);
        }
    }
    esk_spline_trim(&series->spline, series->data.tail, series->index.tail);
}
