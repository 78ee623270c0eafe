// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The rows of a data page. Only this file depends on their layout, and of
/// packed pages series_packed.c:
///
///     | envelope | row 0 | row 1 | ... | row count - 1 | free ... seals |
///     | envelope | row 0 | bits of rows 1, 2, ...      | free ... seals |
///
/// A page is pinned, or the write page. esk_page_count is the number of rows of
/// a pinned page. A row's bytes are valid as long as the page.
#ifndef ESK_TABLE_SERIES_SERIES_ROWS_H
#define ESK_TABLE_SERIES_SERIES_ROWS_H

#include "table/series/series.h"

/// The key of the row at `row`, in order form.
static inline esk_key esk_row_key(const struct esk_series *series,
                                  const uint8_t *row) {
    const uint8_t *bytes = row + esk_shape(series)->key_offset;
    if (esk_shape(series)->key_type == ESK_TYPE_U32) {
        return esk_load_u32(bytes);
    }
    if (ESK_KEY_BITS <= 32 || esk_shape(series)->key_bytes <= 4) {
        return (esk_key)esk_order_load32(esk_shape(series)->key_type, bytes);
    }
    return (esk_key)esk_order_load(esk_shape(series)->key_type, bytes);
}

/// Copies the row at `row` to the caller's `to`, unless it is there already.
static inline void esk_row_copy(const struct esk_series *series, void *to,
                                const uint8_t *row) {
    if (to != row) {
        esk_bytes_copy(to, row, esk_shape(series)->row_bytes);
    }
}

/// esk_rows_width for a log with pages of different widths.
uint16_t esk_rows_width_of(const struct esk_series *series,
                           const uint8_t *page);

/// Bytes of a row of `page`.
static inline uint16_t esk_rows_width(const struct esk_series *series,
                                      const uint8_t *page) {
    return ESK_SHAPED_SERIES(esk_shape_series.row_bytes,
                             ESK_FAST && !esk_is_broken(series)
                                 ? esk_shape(series)->row_bytes
                                 : esk_rows_width_of(series, page));
}

/// The row of `width` bytes at `bytes` with all columns: the same bytes, or a
/// copy made in `row`.
static inline const uint8_t *esk_row_whole(const struct esk_series *series,
                                           const uint8_t *bytes, uint16_t width,
                                           void *row) {
    if (!esk_is_broken(series) || width == esk_shape(series)->row_bytes) {
        return bytes;
    }
    esk_parts(series)->breaks->widen(series, row, bytes, width);
    return row;
}

/// Row `index`.
static inline uint8_t *esk_rows_at(const struct esk_series *series,
                                   uint8_t *page, uint16_t index) {
    return page + ESK_ENVELOPE_BYTES +
           (uint16_t)((uint16_t)index * esk_rows_width(series, page));
}

/// esk_rows_read, where a call is less code than the row's address.
const uint8_t *esk_rows_read_any(const struct esk_series *series, uint8_t *page,
                                 uint16_t index);

/// Row `index`, to be read: in the page, or if it is packed until another row
/// is read.
static inline const uint8_t *esk_rows_read(const struct esk_series *series,
                                           uint8_t *page, uint16_t index) {
    bool is_plain = esk_packed(series) == NULL && !esk_is_broken(series);
    return ESK_FAST && is_plain ? esk_rows_at(series, page, index)
                                : esk_rows_read_any(series, page, index);
}

/// Row 0, whose offset does not depend on the width of rows.
static inline uint8_t *esk_rows_first(uint8_t *page) {
    return page + ESK_ENVELOPE_BYTES;
}

/// Place of the next row in the write page.
static inline uint8_t *esk_rows_slot(const struct esk_series *series) {
    return esk_rows_first(series->write_page) +
           (uint16_t)(series->write_count * esk_shape(series)->row_bytes);
}

/// Offset of row 0's key in a page, to read only that key.
static inline uint16_t esk_rows_key_offset(const struct esk_series *series) {
    return (uint16_t)(ESK_ENVELOPE_BYTES + esk_shape(series)->key_offset);
}

/// The key of row `index`, in order form.
static inline esk_key esk_rows_key(const struct esk_series *series,
                                   uint8_t *page, uint16_t index) {
    return esk_row_key(series, esk_rows_read(series, page, index));
}

/// The key of row 0, in order form.
static inline esk_key esk_rows_key_first(const struct esk_series *series,
                                         uint8_t *page) {
    return esk_row_key(series, esk_rows_first(page));
}

/// Whether the value at `bytes` is in a range.
static inline bool esk_bounds_have(const struct esk_series_bounds *bounds,
                                   const uint8_t *bytes) {
    uint64_t order = esk_order_load(bounds->type, bytes);
    if (order < bounds->lo || order > bounds->hi) {
        return false;
    }
    return !esk_order_is_nan(bounds->type, bytes) &&
           (bounds->has_missing == 0 || order != bounds->missing);
}

/// How many of the page's `count` rows have keys below `key`.
uint16_t esk_rows_below(const struct esk_series *series, uint8_t *page,
                        uint16_t count, esk_key key);

/// How many of the page's `count` rows have keys not above `key`. Compares the
/// last row first: mostly it is all of them.
uint16_t esk_rows_to(const struct esk_series *series, uint8_t *page,
                     uint16_t count, esk_key key);

/// Copies the row with key `key`, among the page's first `count`, into `row`;
/// if there are several, the last.
/// Returns ESK_OK; ESK_NOT_FOUND.
int esk_rows_find(const struct esk_series *series, uint8_t *page,
                  uint16_t count, esk_key key, void *row);

#endif
