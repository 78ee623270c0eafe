// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Checking a series: reads every page and compares it with the others.
#include "table/series/series_rows.h"

enum {
    ENTRY_BYTES_MAX = ESK_INDEX_COUNT_MAX * (8 + 8 + 8),
    AHEAD_MAX = 9, ///< most blocks that steps, and a step under way, have
                   ///< erased
};

struct check {
    struct esk_series_report *report;
    esk_key last;
    uint32_t ordinal;  ///< expected ordinal of the next page's first row
    uint32_t most;     ///< the highest one that shows no loss
    uint32_t kept;     ///< data positions below may be erased already
    uint32_t due;      ///< data positions from here on have to be there
    uint32_t values;   ///< value positions below may be erased already
    uint32_t previous; ///< the last valid one
    uint32_t unread;   ///< pages since then with bytes that are not valid
    bool known;        ///< `ordinal` is set
    bool started;      ///< `last` is set
    bool wrong;
    bool failed; ///< a read failed
};

/// Pins a page that was read before. Records a read that fails now.
static bool pinned(struct esk_series *series, struct esk_ring *ring,
                   uint32_t position, uint8_t **page, uint8_t *frame,
                   struct check *check) {
    int status = esk_series_pin(series, ring, position, page, frame);
    check->failed = check->failed || status == ESK_E_IO;
    return status == ESK_OK;
}

/// Finds the position below which values may be erased: a ring that dropped
/// values may begin with blocks whose erase failed or was cut.
static void values_begin(struct esk_series *series, struct check *check) {
    struct esk_ring *ring = esk_var_ring(series);
    uint32_t at = ring->tail;
    bool found = at == 0;
    while (!found && at < ring->head) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        found = pinned(series, ring, at, &page, &frame, check);
        if (found) {
            esk_pool_unpin(&series->pool, frame);
        } else {
            at = esk_ring_skip(ring, at);
        }
    }
    uint32_t kept = esk_series_kept_from(ring);
    check->values = at > kept ? at : kept;
}

/// Counts the values that cannot be read completely, of a page's rows from
/// `first` on. Earlier rows were erased, so their values may be gone.
static void values_check(struct esk_series *series, uint32_t position,
                         uint16_t first, uint16_t count, struct check *check) {
    const struct esk_series_var *var = esk_parts(series)->var;
    for (uint16_t i = first; i < count; i++) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        uint8_t reference[ESK_VAR_REF_BYTES];
        struct esk_series_value value;
        uint32_t got = 0;
        if (!pinned(series, &series->data, position, &page, &frame, check)) {
            return;
        }
        const uint8_t *row = esk_rows_read(series, page, i);
        esk_key key = esk_row_key(series, row);
        memcpy(reference, row + esk_shape(series)->var_offset,
               sizeof reference);
        esk_pool_unpin(&series->pool, frame);
        int status = var->open(series, reference, key, &value);
        if (status == ESK_OK) {
            status = var->read(series, &value, NULL, UINT32_MAX, &got);
        }
        check->failed = check->failed || status == ESK_E_IO;
        /* A value that the ring dropped for room is not missing. */
        if (status != ESK_OK && status != ESK_NOT_FOUND &&
            esk_load_u32(reference) >= check->values) {
            check->report->values_missing++;
        }
    }
}

/// Counts the rows from the floor on, of a page or of RAM, whose first row has
/// ordinal `first`. Rows that were counted are skipped. A row that belongs
/// before the last one is out of order, unless the page repeats rows (`again`).
static void rows_check(struct esk_series *series, uint8_t *page, uint16_t count,
                       uint32_t first, bool again, struct check *check) {
    uint32_t seen = check->known ? esk_ordinals(first, check->ordinal) : 0;
    for (uint32_t at = seen; at < count; at++) {
        uint16_t i = (uint16_t)at;
        esk_key key = esk_rows_key(series, page, i);
        if (!check->started || key > check->last ||
            (esk_keys_repeat(series) != 0 && key == check->last)) {
            check->report->rows += key >= esk_floor(series) ? 1u : 0u;
            check->last = key;
            check->started = true;
        } else if (!again) {
            check->wrong = true;
        }
    }
}

/// Whether the table still has its first row, so that ordinals count from 0: no
/// row was erased, and no block can have been dropped.
static bool begins_at_first(const struct esk_series *series) {
    const struct esk_ring *ring = &series->data;
    uint32_t pages = esk_volume_geometry(ring->region.volume)->block_pages;
    return esk_floor(series) == 0 &&
           (esk_ring_refuses(ring) ||
            ring->ready + AHEAD_MAX * pages <= esk_ring_pages(ring));
}

/// Continues at a page whose first row has ordinal `first`, or at the rows in
/// RAM: classifies the invalid pages before it.
///
/// Pages torn by power loss and pages damaged later look alike; the ordinals
/// tell them apart. If no row is missing, nothing that was acknowledged is
/// lost. If the ring begins with such pages and earlier rows were dropped, the
/// ordinal is unknown: nothing on the medium says where the remaining rows
/// began. Then the pages count as torn: a failed program is far more likely
/// than decay of the one page that is the oldest. The same after a page of the
/// block that is dropped next, for as many rows as the rest of that block can
/// have had: they may be erased.
static void ordinal_check(struct check *check, uint32_t first) {
    if (check->known && esk_ordinals(check->most, first) > 0) {
        check->report->pages_damaged += check->unread;
        check->report->rows_missing += esk_ordinals(check->ordinal, first);
    } else {
        check->report->pages_torn += check->unread;
    }
    check->unread = 0;
}

/// The position from which on the ring has to have pages: at most a lap back,
/// less the blocks erased ahead, for which a ring that does not refuse drops
/// others; and not below the tail that the catalog has.
static uint32_t kept_by_rule(struct esk_series *series, struct check *check) {
    const struct esk_ring *ring = &series->data;
    uint32_t pages = esk_volume_geometry(ring->region.volume)->block_pages;
    uint32_t ahead = esk_ring_refuses(ring) ? 0 : AHEAD_MAX * pages;
    uint32_t due = esk_ring_block_from(ring, ring->head) + ahead;
    uint8_t *page = NULL;
    uint8_t frame = 0;
    struct esk_table_info info;
    struct esk_series_options options = {.tail = 0};
    due = due > esk_ring_pages(ring) ? due - esk_ring_pages(ring) : 0;
    if (esk_floor(series) == 0) {
        return due;
    }
    int status = esk_pool_take(&series->pool, &page, &frame);
    if (status == ESK_OK) {
        status = esk_catalog_find(series->table.volume, series->table.id, &info,
                                  page);
        esk_pool_give(&series->pool, frame);
    }
    if (status == ESK_OK) {
        status = esk_series_options(&info, &options);
    }
    if (status != ESK_OK) { /* then nothing is known to be missing */
        check->failed = check->failed || status == ESK_E_IO;
        return UINT32_MAX;
    }
    return due > options.tail ? due : esk_ring_block_from(ring, options.tail);
}

/// Counts blocks that are missing before the page at `oldest`, of a ring that
/// drops them: the first after the block that may be half erased. A few in a
/// row may have failed without a mark. How many rows they had is unknown.
static void oldest_check(const struct esk_series *series, uint32_t oldest,
                         struct check *check) {
    const struct esk_ring *ring = &series->data;
    uint32_t pages = esk_volume_geometry(ring->region.volume)->block_pages;
    uint32_t lost = 0;
    for (uint32_t due = check->due; due < oldest && due + pages <= oldest;
         due += pages) {
        lost += esk_ring_block_is_bad(ring, due) ||
                        esk_ring_gap(ring, due + pages - 1u) != NULL
                    ? 0
                    : 1;
    }
    if (lost >= ESK_RING_WORN_MAX) {
        check->report->pages_damaged += lost * pages;
        check->unread = 0;
    }
}

/// Checks a data page, pinned.
static void page_check(struct esk_series *series, uint8_t *page,
                       struct check *check) {
    uint32_t first = esk_page_aux(page);
    uint16_t count = esk_page_count(page);
    bool again = check->known && first != check->ordinal;

    uint32_t at = esk_page_sequence(page);
    if (at >= check->kept &&
        (check->report->pages == 0 || check->previous < check->kept)) {
        oldest_check(series, at, check);
    }
    ordinal_check(check, first);
    if (esk_packed(series) != NULL) {
        uint16_t rows = esk_packed(series)->rows(series, page, count);
        check->wrong = check->wrong || rows < count;
        count = rows;
    }
    rows_check(series, page, count, first, again, check);
    check->ordinal = first + count;
    check->most = check->ordinal;
    if (at < check->kept) {
        uint32_t room =
            (uint32_t)esk_pool_page_bytes(&series->pool) - ESK_ENVELOPE_BYTES;
        check->most = first + (check->kept - at) *
                                  (room / (esk_packed(series) != NULL
                                               ? 1u
                                               : esk_rows_width(series, page)));
    }
    check->previous = at;
    check->known = true;
    check->report->pages++;
}

/// Records a page that cannot be read. In the block that is dropped next it
/// counts as torn.
static void page_unread(struct check *check, uint32_t at, int status) {
    check->failed = check->failed || status == ESK_E_IO;
    if (status == ESK_NOT_FOUND) {
        return;
    }
    if (at < check->kept) {
        check->report->pages_torn++;
    } else {
        check->unread++;
    }
}

static void data_check(struct esk_series *series, struct check *check) {
    uint32_t at = series->data.tail;
    esk_pool_forget_all(&series->pool); /* so that each page is read from the
                                           medium */
    while (at < series->data.head) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        uint16_t partial = series->stats.partial;
        int status = esk_series_pin(series, &series->data, at, &page, &frame);
        check->report->pages_torn +=
            (uint16_t)(series->stats.partial - partial);
        if (status != ESK_OK) {
            page_unread(check, at, status);
            at = esk_ring_skip(&series->data, at);
            continue;
        }
        uint16_t count = esk_page_count(page);
        uint16_t first = esk_rows_below(series, page, count, esk_floor(series));
        page_check(series, page, check);
        esk_pool_unpin(&series->pool, frame);
        if (esk_var_ring(series) != NULL) {
            values_check(series, at, first, count, check);
        }
        at++;
    }
    if (check->report->pages == 0) {
        oldest_check(series, series->data.head, check);
    }
    ordinal_check(check, series->ordinal);
    rows_check(series, series->write_page, series->write_count, series->ordinal,
               true, check);
}

/// Whether the `count` rows from ordinal `first` on, of the data page at
/// `position`, were written again on the next readable page: a program failed
/// after a seal.
static bool rows_are_again(struct esk_series *series, uint32_t position,
                           uint32_t first, uint16_t count,
                           struct check *check) {
    bool found = false;
    bool again = false;
    for (uint32_t at = position + 1; at < series->data.head && !found; at++) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        found = pinned(series, &series->data, at, &page, &frame, check);
        if (found) {
            again =
                esk_page_aux(page) == first && esk_page_count(page) >= count;
            esk_pool_unpin(&series->pool, frame);
        }
    }
    return again;
}

/// Whether `entry` covers every row of the data page at `position`: a query for
/// the exact value of a row's column must not skip the page, unless the rows
/// are on the next page as well.
static bool entry_covers(struct esk_series *series, uint32_t position,
                         const uint8_t *entry, struct check *check) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    bool covers = true;
    if (!pinned(series, &series->data, position, &page, &frame, check)) {
        return true;
    }
    for (uint16_t row = 0; row < esk_page_count(page); row++) {
        const uint8_t *bytes = esk_rows_read(series, page, row);
        for (uint8_t i = 0; i < esk_shape(series)->column_count; i++) {
            const struct esk_summary_column *column = &series->columns[i];
            const uint8_t *value = bytes + column->offset;
            uint64_t order = esk_order_load(column->type, value);
            covers = covers && (esk_order_is_nan(column->type, value) ||
                                esk_parts(series)->values->admits(series, entry,
                                                                  i, order));
        }
    }
    uint32_t first = esk_page_aux(page);
    uint16_t count = esk_page_count(page);
    esk_pool_unpin(&series->pool, frame);
    return covers || rows_are_again(series, position, first, count, check);
}

/// Checks entry `index` of the zone page at `position`, unless its data page is
/// in the block that is dropped next: if that page was written again, the entry
/// has no rows, and the second page may be gone.
/// Returns false when there is no such entry.
static bool run_entry_check(struct esk_series *series, uint32_t position,
                            uint16_t index, struct check *check) {
    uint8_t entry[ENTRY_BYTES_MAX];
    uint8_t *page = NULL;
    uint8_t frame = 0;
    if (!pinned(series, &series->log.ring, position, &page, &frame, check)) {
        return false;
    }
    bool there = page[ESK_INDEX_ROLE] == ESK_INDEX_ZONE_PAGE &&
                 index < esk_load_u16(page + ESK_INDEX_ENTRIES) &&
                 esk_series_index_knots(series, page) != NULL;
    uint32_t data = esk_load_u32(page + ESK_INDEX_START) + index;
    if (there) {
        memcpy(entry,
               esk_series_index_entries(page) +
                   (uint32_t)index * esk_shape(series)->entry_bytes,
               esk_shape(series)->entry_bytes);
    }
    esk_pool_unpin(&series->pool, frame);
    if (there && data >= check->kept &&
        !entry_covers(series, data, entry, check)) {
        check->report->index_wrong++;
    }
    return there;
}

static void index_check(struct esk_series *series, struct check *check) {
    for (uint32_t at = series->log.ring.tail; at < series->log.ring.head;
         at++) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        int status =
            esk_series_pin(series, &series->log.ring, at, &page, &frame);
        if (status != ESK_OK) {
            check->failed = check->failed || status == ESK_E_IO;
            check->report->index_damaged += status != ESK_NOT_FOUND ? 1 : 0;
            continue;
        }
        esk_pool_unpin(&series->pool, frame);
        check->report->index_pages++;
        uint16_t index = 0;
        while (esk_shape(series)->entry_bytes > 0 &&
               run_entry_check(series, at, index, check)) {
            index++;
        }
    }
}

/// Whether the sorted index names the data page at `position` for each of its
/// rows, unless these are on the next page as well.
static bool sorted_covers(struct esk_series *series, uint32_t position,
                          struct check *check) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    bool covers = true;
    if (!pinned(series, &series->data, position, &page, &frame, check)) {
        return true;
    }
    uint32_t first = esk_page_aux(page);
    uint16_t count = esk_page_count(page);
    for (uint16_t row = 0; row < count && covers; row++) {
        covers = esk_sorted(series)->admits(series, position,
                                            esk_rows_read(series, page, row) +
                                                series->sorting->offset);
    }
    esk_pool_unpin(&series->pool, frame);
    return covers || rows_are_again(series, position, first, count, check);
}

/// Checks the sorted index: the pages of its rings, and what it says of each
/// data page.
static void sorted_check(struct esk_series *series, struct check *check) {
    struct esk_sorted *index = &series->sorting->index;
    for (uint8_t i = 0; i < ESK_SORTED_LEVELS; i++) {
        const struct esk_ring *ring = &index->levels[i].ring;
        for (uint32_t at = ring->tail; at < ring->head; at++) {
            int status = esk_ring_read(ring, at, index->read_page, true);
            check->failed = check->failed || status == ESK_E_IO;
            check->report->index_pages += status == ESK_OK ? 1u : 0u;
            check->report->index_damaged += status < ESK_OK ? 1u : 0u;
        }
    }
    uint32_t at =
        series->data.tail > check->kept ? series->data.tail : check->kept;
    for (; at < series->data.head; at++) {
        check->report->index_wrong += sorted_covers(series, at, check) ? 0 : 1;
    }
}

int esk_series_check(struct esk_series *series,
                     struct esk_series_report *report) {
    ESK_ASSERT(report != NULL);
    memset(report, 0, sizeof *report);
    ESK_TRY(esk_table_live(series));
    struct check check = {.report = report,
                          .kept = esk_series_kept_from(&series->data),
                          .known = begins_at_first(series)};
    report->newest_unread = series->unread;
    if (esk_var_ring(series) != NULL) {
        values_begin(series, &check);
    }
    check.due = kept_by_rule(series, &check);
    data_check(series, &check);
    if (esk_parts(series)->log != NULL) {
        index_check(series, &check);
    }
    if (esk_sorted(series) != NULL) {
        sorted_check(series, &check);
    }
    if (check.failed) {
        return ESK_E_IO; /* what was not read may not be damaged */
    }
    if (check.wrong || report->rows_missing > 0 || report->pages_damaged > 0 ||
        report->index_wrong > 0 || report->values_missing > 0) {
        return ESK_E_CORRUPT;
    }
    return ESK_OK;
}
