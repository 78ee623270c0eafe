// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Conditions on columns, as a part: a cursor's ranges in order form, and rows
/// held to them.
///
/// A range is resolved once, when the cursor opens: where its column is, its
/// type, and its bounds as unsigned numbers. A bound outside of the type's
/// values is clamped, or says that no row can match.
#include "table/series/series.h"
#include "volume/volume.h"

/// Finds the type and place of a range's column, and its value index.
static int range_resolve(struct esk_series *series, struct esk_range *range) {
    struct esk_table_info info;
    struct esk_column_place column;
    uint8_t *page = NULL;
    uint8_t frame = 0;

    for (uint8_t i = 0; i < esk_shape(series)->column_count; i++) {
        if (series->column_numbers[i] == range->column) {
            range->index = i;
            range->type = series->columns[i].type;
            range->offset = series->columns[i].offset;
            return ESK_OK;
        }
    }
    range->index = ESK_SERIES_NO_INDEX;
    ESK_TRY(esk_pool_take(&series->pool, &page, &frame));
    int status = esk_catalog_find(series->volume, series->id, &info, page);
    if (status == ESK_OK) {
        status = esk_catalog_column(series->volume, &info, range->column,
                                    &column, NULL, NULL, page);
    }
    esk_pool_give(&series->pool, frame);
    if (status != ESK_OK) {
        return status == ESK_NOT_FOUND ? ESK_E_INVALID : status;
    }
    range->type = column.type;
    range->offset = column.offset;
    return esk_order_width(column.type) == 0 ? ESK_E_INVALID : ESK_OK;
}

/// Brings a range's bounds into order form.
/// impossible out: set when no value of the type can lie within.
static void range_bound(struct esk_range *range, bool *impossible) {
    bool below = false;
    bool above = false;
    range->order_lo = 0;
    range->order_hi = UINT64_MAX;
    if (range->has_lo) {
        range->order_lo =
            esk_order_number(range->type, range->lo, &below, &above);
        *impossible = *impossible || above;
    }
    if (range->has_hi) {
        range->order_hi =
            esk_order_number(range->type, range->hi, &below, &above);
        *impossible = *impossible || below;
    }
    *impossible = *impossible || range->order_lo > range->order_hi;
}

/// Whether `row` meets every range. Keys are the cursor's business.
static bool row_matches(const struct esk_series_cursor *cursor,
                        const uint8_t *row) {
    for (uint8_t i = 0; i < cursor->plan.range_count; i++) {
        const struct esk_range *range = &cursor->plan.ranges[i];
        const uint8_t *bytes = row + range->offset;
        uint64_t order = esk_order_load(range->type, bytes);
        if (order < range->order_lo || order > range->order_hi ||
            esk_order_is_nan(range->type, bytes)) {
            return false;
        }
    }
    return true;
}

static int ranges_open(struct esk_series *series,
                       struct esk_series_cursor *cursor) {
    for (uint8_t i = 0; i < cursor->plan.range_count; i++) {
        struct esk_range *range = &cursor->plan.ranges[i];
        ESK_TRY(range_resolve(series, range));
        range_bound(range, &cursor->impossible);
        cursor->by_value =
            cursor->by_value || range->index != ESK_SERIES_NO_INDEX;
    }
    cursor->matches = row_matches;
    return ESK_OK;
}

const struct esk_series_ranges esk_series_part_ranges = {.open = ranges_open};
