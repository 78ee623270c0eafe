// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "table/series/series_rows.h"

#include "base/inline.h"

uint16_t esk_rows_width_of(const struct esk_series *series,
                           const uint8_t *page) {
    const struct esk_break *behind = NULL;
    if (esk_is_broken(series) && page != series->write_page &&
        page[ESK_ENVELOPE_KIND] == series->data.region.envelope.kind) {
        behind = esk_envelope_break(&series->data.region.envelope,
                                    esk_page_sequence(page));
    }
    return behind != NULL ? behind->unit : esk_shape(series)->row_bytes;
}

ESK_OUT_OF_LINE const uint8_t *
esk_rows_read_any(const struct esk_series *series, uint8_t *page,
                  uint16_t index) {
    if (esk_packed(series) != NULL) {
        return esk_packed(series)->row(series, page, index);
    }
    return esk_rows_at(series, page, index);
}

/// esk_rows_below for pages that are not packed. Out of line: the call before
/// it then saves no register.
static ESK_OUT_OF_LINE_ON_CHIPS uint16_t
below_raw(const struct esk_series *series, uint8_t *page, uint16_t count,
          esk_key key) {
    const struct esk_series_shape *shape = esk_shape(series);
    uint16_t low = 0;
    if (esk_order_is_word(shape->key_type)) {
        return esk_order_rank_even(
            shape->key_type, esk_rows_first(page) + shape->key_offset,
            esk_rows_width(series, page), count, (uint32_t)key);
    }
    while (low < count) {
        uint16_t middle = (uint16_t)(low + (count - low) / 2);
        if (esk_row_key(series, esk_rows_at(series, page, middle)) < key) {
            low = (uint16_t)(middle + 1);
        } else {
            count = middle;
        }
    }
    return low;
}

uint16_t esk_rows_below(const struct esk_series *series, uint8_t *page,
                        uint16_t count, esk_key key) {
    const struct esk_series_packed *packed = esk_packed(series);
    return packed != NULL ? packed->below(series, page, count, key)
                          : below_raw(series, page, count, key);
}

ESK_APART uint16_t esk_rows_to(const struct esk_series *series, uint8_t *page,
                               uint16_t count, esk_key key) {
    if (count == 0 ||
        esk_rows_key(series, page, (uint16_t)(count - 1)) <= key) {
        return count;
    }
    return esk_rows_below(series, page, count, (esk_key)(key + 1u));
}

ESK_FAST_FLAT int esk_rows_find(const struct esk_series *series, uint8_t *page,
                                uint16_t count, esk_key key, void *row) {
    if (esk_packed(series) != NULL) {
        return esk_packed(series)->find(series, page, count, key, row);
    }
    uint16_t at = esk_rows_below(series, page, count, key);
    while (esk_keys_repeat(series) != 0 && at + 1u < count &&
           esk_rows_key(series, page, (uint16_t)(at + 1u)) == key) {
        at++;
    }
    const uint8_t *found = esk_rows_at(series, page, at);
    if (at == count || esk_row_key(series, found) != key) {
        return ESK_NOT_FOUND;
    }
    found = esk_row_whole(series, found, esk_rows_width(series, page), row);
    esk_row_copy(series, row, found);
    return ESK_OK;
}
