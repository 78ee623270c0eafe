// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Breaks of the log, as a part: newest rows are dropped, or columns added, and
/// the log goes on in the next block.
///
///     data ring .. | rows 0-20 | rows 21-40 | rows 41-60 | - | rows 31-50 | ..
///                                     ^ row 30              ^ start
///                                       is the last: end is behind its page
///
/// The catalog stores it (FORMAT.md, option 4): so one commit makes the break,
/// and nothing is erased. Pages from `end` to `start` are never read; of the
/// page before `end` only the first `count` rows count. Rows before the break
/// may be narrower: they lack the last columns. Ordinals continue after the
/// last row that is left. Knots of dropped rows would be above later keys, so
/// the key index starts again. The value entries of index pages stay valid.
#include "table/series/series_open.h"
#include "table/series/series_rows.h"
#include "volume/volume_format.h"

static const struct esk_break *breaks_behind(const struct esk_breaks *breaks,
                                             uint32_t position) {
    const struct esk_break *at = breaks->at;
    for (uint8_t i = breaks->count; i > 0; i--) {
        if (position < at->start) {
            return at;
        }
        at++;
    }
    return NULL;
}

static void page_shorten(const struct esk_breaks *breaks, uint32_t position,
                         uint8_t *page) {
    const struct esk_break *after = breaks_behind(breaks, position);
    if (after != NULL && position + 1u == after->end &&
        esk_page_count(page) > after->count) {
        esk_store_u16(page + ESK_ENVELOPE_COUNT, after->count);
    }
}

void esk_series_breaks_init(struct esk_series_break_list *list) {
    memset(list, 0, sizeof *list);
    list->log.behind = breaks_behind;
    list->log.shorten = page_shorten;
}

int esk_series_breaks_load(const uint8_t *option, uint16_t bytes,
                           uint16_t row_bytes,
                           struct esk_series_break_list *list) {
    if (bytes < ESK_OPTION_BREAKS_HEAD) {
        return ESK_E_CORRUPT;
    }
    esk_series_breaks_init(list);
    uint8_t count = (uint8_t)((unsigned)(bytes - ESK_OPTION_BREAKS_HEAD) /
                              ESK_OPTION_BREAK_BYTES);
    list->journal = esk_load_u32(option + ESK_OPTION_BREAKS_SYNC);
    list->index = esk_load_u32(option + ESK_OPTION_BREAKS_INDEX);
    list->ordinal = esk_load_u32(option + ESK_OPTION_BREAKS_ORDINAL);
    list->log.count = count;
    uint32_t start = 0;
    uint16_t unit = 1;
    for (uint8_t i = 0; i < count; i++) {
        const uint8_t *from =
            option + ESK_OPTION_BREAKS_HEAD + i * ESK_OPTION_BREAK_BYTES;
        struct esk_break *at = &list->log.at[i];
        at->end = esk_load_u32(from + ESK_OPTION_BREAK_END);
        at->start = esk_load_u32(from + ESK_OPTION_BREAK_START);
        at->count = esk_load_u16(from + ESK_OPTION_BREAK_COUNT);
        at->unit = esk_load_u16(from + ESK_OPTION_BREAK_ROW_BYTES);
        if (at->end < start || at->start < at->end || at->unit < unit ||
            at->unit > row_bytes) {
            return ESK_E_CORRUPT;
        }
        start = at->start;
        unit = at->unit;
    }
    return ESK_OK;
}

/// Whether rows of `narrow` bytes have all columns that every row needs.
static bool narrow_fits(const struct esk_series *series, uint16_t narrow) {
    const struct esk_series_shape *shape = esk_shape(series);
    bool fits = shape->key_offset + shape->key_bytes <= narrow &&
                (shape->var_offset == ESK_SERIES_NO_VAR ||
                 shape->var_offset + ESK_VAR_REF_BYTES <= narrow);
    for (uint8_t i = 0; i < shape->column_count; i++) {
        const struct esk_summary_column *column = &series->columns[i];
        fits = fits && column->offset + column->width <= narrow;
    }
    return fits && (esk_sorted(series) == NULL ||
                    series->sorting->offset + series->sorting->width <= narrow);
}

/// Makes `row` a row with the value of each new column, and 0 in the others.
static int defaults_read(struct esk_volume *volume,
                         const struct esk_table_info *info, uint8_t *row,
                         uint8_t *page) {
    struct esk_descriptor descriptor;
    ESK_TRY(esk_descriptor_open(&descriptor, volume, info, page));
    for (uint8_t i = 0; i < info->column_count; i++) {
        struct esk_column_place column;
        ESK_TRY(esk_descriptor_column(&descriptor, &column, NULL, NULL));
        ESK_TRY(esk_descriptor_default(&descriptor, row + column.offset,
                                       column.bytes));
    }
    return ESK_OK;
}

static int breaks_open(struct esk_series *series,
                       const struct esk_table_info *info, uint8_t *page) {
    struct esk_series_break_list *list = series->breaks;
    struct esk_volume *volume = series->table.volume;
    uint8_t option[ESK_OPTION_BREAKS_HEAD +
                   ESK_SERIES_BREAKS_MAX * ESK_OPTION_BREAK_BYTES];
    uint16_t bytes = 0;
    ESK_TRY(defaults_read(volume, info, esk_break_row(list), page));
    ESK_TRY(esk_catalog_option(volume, info, ESK_OPTION_BREAKS, option,
                               sizeof option, &bytes, page));
    if (bytes == 0) {
        return ESK_OK; /* the rest is not needed */
    }
    ESK_TRY(esk_series_breaks_load(option, (uint16_t)(bytes - ESK_OPTION_HEAD),
                                   info->row_bytes, list));
    return list->log.count == 0 || narrow_fits(series, list->log.at[0].unit)
               ? ESK_OK
               : ESK_E_CORRUPT;
}

_Static_assert((int)ESK_BREAKS_MAX == (int)ESK_SERIES_BREAKS_MAX,
               "one limit of breaks");

static uint32_t last_start(const struct esk_series_break_list *list) {
    return list->log.at[list->log.count - 1].start;
}

static void newest_found(struct esk_series *series, uint32_t end) {
    if (end <= last_start(series->breaks)) {
        series->ordinal = series->breaks->ordinal;
    }
}

void esk_series_breaks_trim(struct esk_series *series) {
    const struct esk_break *gap =
        esk_ring_gap(&series->data, series->data.tail);
    if (gap != NULL) {
        esk_ring_drop(&series->data, gap->start);
    }
}

static int breaks_mounted(struct esk_series *series, uint8_t *page) {
    uint32_t start = last_start(series->breaks);
    ESK_TRY(esk_ring_reached(&series->data, start, true, page));
    if (series->data.head < start) {
        return ESK_E_CORRUPT;
    }
    esk_series_breaks_trim(series);
    return ESK_OK;
}

static void row_widen(const struct esk_series *series, uint8_t *row,
                      const uint8_t *bytes, uint16_t width) {
    memcpy(row, bytes, width);
    memcpy(row + width, esk_break_row(series->breaks) + width,
           (size_t)(esk_shape(series)->row_bytes - width));
}

const struct esk_series_breaks esk_series_part_breaks = {
    .open = breaks_open,
    .mounted = breaks_mounted,
    .found = newest_found,
    .widen = row_widen,
};
