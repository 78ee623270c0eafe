// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A series as a source of rows.
///
/// A query notes the newest key when it begins, and that is an upper bound of
/// each of its reads, and the next row's ordinal is one where keys repeat: rows
/// that are appended while it is paused are in none.
#include "base/order.h"
#include "query/source.h"
#include "table/series/series.h"

static struct esk_series *series_of(const struct esk_source *source) {
    return source->table;
}

static void series_mark(const struct esk_source *source,
                        struct esk_source_mark *mark) {
    esk_source_mark_series(mark, series_of(source));
}

/// Whether `key` is above the newest one of the query.
static bool is_later(const struct esk_source *source,
                     const struct esk_source_mark *mark, esk_key key) {
    uint8_t type = source->key_type;
    return esk_order_from_key(type, key) >
           esk_order_from_key(type, mark->newest);
}

static int series_open(const struct esk_source *source,
                       const struct esk_source_mark *mark, void *cursor,
                       const struct esk_source_bounds *bounds) {
    struct esk_series_query query;
    uint8_t key[ESK_SOURCE_KEY_BYTES];
    memset(&query, 0, sizeof query);
    query.backward = bounds->backward;
    query.range_count = bounds->range_count;
    query.ranges = bounds->ranges;
    query.step_pages = 1;
    query.has_key_max = true;
    query.key_max = mark->newest;
    query.has_ordinal_end = true;
    query.ordinal_end = mark->ordinal_end;
    if (mark->is_empty) {
        return ESK_END;
    }
    if (bounds->min != NULL) {
        int8_t side = esk_source_key(source->key_type, bounds->min, key);
        if (side > 0) {
            return ESK_END;
        }
        query.has_key_min = side == 0;
        query.key_min = (esk_key)esk_load_u64(key);
    }
    if (bounds->max != NULL) {
        int8_t side = esk_source_key(source->key_type, bounds->max, key);
        esk_key max = (esk_key)esk_load_u64(key);
        if (side < 0) {
            return ESK_END;
        }
        if (side == 0 && !is_later(source, mark, max)) {
            query.key_max = max;
        }
    }
    return esk_series_cursor_open(series_of(source), cursor, &query);
}

static int series_next(const struct esk_source *source, void *cursor,
                       uint8_t *row) {
    return esk_series_cursor_next(series_of(source), cursor, row);
}

static int series_get(const struct esk_source *source,
                      const struct esk_source_mark *mark, const esk_slot *slot,
                      uint8_t *row) {
    uint8_t bytes[ESK_SOURCE_KEY_BYTES];
    int8_t side = esk_source_key(source->key_type, slot, bytes);
    esk_key key = (esk_key)esk_load_u64(bytes);
    if (mark->is_empty || side != 0 || is_later(source, mark, key)) {
        return ESK_NOT_FOUND;
    }
    return esk_series_get(series_of(source), key, row);
}

static const struct esk_source_kind kind_series = {
    .kind = ESK_TABLE_SERIES,
    .can = ESK_SOURCE_ORDERED | ESK_SOURCE_RANGES,
    .mark = series_mark,
    .open = series_open,
    .next = series_next,
    .get = series_get,
};

void esk_source_series(struct esk_source *source, struct esk_series *series,
                       uint32_t fingerprint) {
    const struct esk_series_shape *shape = esk_shape(series);
    memset(source, 0, sizeof *source);
    source->kind = &kind_series;
    source->table = series;
    source->fingerprint = fingerprint;
    source->cursor_bytes = sizeof(struct esk_series_cursor);
    source->row_bytes = shape->row_bytes;
    source->key_offset = shape->key_offset;
    source->key_bytes = shape->key_bytes;
    source->key_type = shape->key_type;
}
