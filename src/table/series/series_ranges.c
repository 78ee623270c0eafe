// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Conditions on columns, as a part: a query's ranges in order form, and the
/// test of a row.
///
/// A range is resolved once, when the cursor is opened: offset and type of its
/// column, and its bounds as unsigned numbers. A bound outside the type's
/// values is clamped, or means that no row can match. The cursor stores the
/// result and does not need the caller's range again. The catalog is read for a
/// column without a value index, and for one with a missing value.
#include "table/series/series_rows.h"
#include "volume/volume.h"

/// Notes the type and offset of a column.
static void column_set(struct esk_series_bounds *bounds, uint8_t type,
                       uint16_t offset) {
    bounds->type = type & 0x7Fu;
    bounds->offset = offset;
}

/// Reads column `number` from the catalog.
static int column_read(struct esk_series *series, uint8_t number,
                       struct esk_series_bounds *bounds) {
    struct esk_table_info info;
    struct esk_column_place column;
    uint8_t missing[ESK_MISSING_BYTES_MAX];
    uint8_t *page = NULL;
    uint8_t frame = 0;
    ESK_TRY(esk_pool_take(&series->pool, &page, &frame));
    int status =
        esk_catalog_find(series->table.volume, series->table.id, &info, page);
    if (status == ESK_OK) {
        status = esk_catalog_column(series->table.volume, &info, number,
                                    &column, NULL, NULL, missing, page);
    }
    esk_pool_give(&series->pool, frame);
    if (status != ESK_OK) {
        return status == ESK_NOT_FOUND ? ESK_E_INVALID : status;
    }
    column_set(bounds, column.type, column.offset);
    if ((column.flags & ESK_COLUMN_MISSING) != 0) {
        bounds->has_missing = 1;
        bounds->missing = esk_order_load32(column.type, missing);
    }
    return esk_order_width(column.type) == 0 ? ESK_E_INVALID : ESK_OK;
}

/// Finds column `number`, and its value index.
static int column_resolve(struct esk_series *series, uint8_t number,
                          struct esk_series_bounds *bounds) {
    bounds->index = ESK_SERIES_NO_INDEX;
    for (uint8_t i = 0; i < esk_shape(series)->column_count; i++) {
        if (series->column_numbers[i] == number) {
            bounds->index = i;
            column_set(bounds, series->columns[i].type,
                       series->columns[i].offset);
            return series->columns[i].has_missing
                       ? column_read(series, number, bounds)
                       : ESK_OK;
        }
    }
    return column_read(series, number, bounds);
}

/// Converts a range's bounds to order form.
/// impossible out: set when no value of the type is in the range.
static void bounds_set(struct esk_series_bounds *bounds,
                       const struct esk_series_range *range, bool *impossible) {
    bool below = false;
    bool above = false;
    bounds->lo = 0;
    bounds->hi = UINT64_MAX;
    if (range->has_lo) {
        bounds->lo = esk_order_number(bounds->type, range->lo, &below, &above);
        *impossible = *impossible || above;
    }
    if (range->has_hi) {
        bounds->hi = esk_order_number(bounds->type, range->hi, &below, &above);
        *impossible = *impossible || below;
    }
    *impossible = *impossible || bounds->lo > bounds->hi;
}

/// Whether `row` meets every range. The cursor checks keys.
static bool row_matches(const struct esk_series_cursor *cursor,
                        const uint8_t *row) {
    for (uint8_t i = 0; i < cursor->plan.range_count; i++) {
        const struct esk_series_bounds *bounds = &cursor->plan.ranges[i];
        if (!esk_bounds_have(bounds, row + bounds->offset)) {
            return false;
        }
    }
    return true;
}

static int ranges_open(struct esk_series *series,
                       struct esk_series_cursor *cursor,
                       const struct esk_series_query *query) {
    if (query->range_count > ESK_SERIES_RANGES_MAX) {
        return ESK_E_LIMIT;
    }
    cursor->plan.range_count = query->range_count;
    for (uint8_t i = 0; i < query->range_count; i++) {
        const struct esk_series_range *range = &query->ranges[i];
        struct esk_series_bounds *bounds = &cursor->plan.ranges[i];
        ESK_TRY(column_resolve(series, range->column, bounds));
        bounds_set(bounds, range, &cursor->impossible);
        cursor->by_value = cursor->by_value ||
                           bounds->index != ESK_SERIES_NO_INDEX ||
                           esk_is_sorted(series, bounds);
    }
    cursor->matches = row_matches;
    return ESK_OK;
}

const struct esk_series_ranges esk_series_part_ranges = {.open = ranges_open};
