// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "table/series/series_rows.h"

uint16_t esk_rows_below(const struct esk_series *series, uint8_t *page,
                        uint16_t count, esk_key key) {
    uint8_t type = esk_shape(series)->key_type;
    uint16_t low = 0;
    if (esk_order_is_word(type)) {
        return esk_order_rank_even(
            type, esk_rows_at(series, page, 0) + esk_shape(series)->key_offset,
            esk_shape(series)->row_bytes, count, (uint32_t)key);
    }
    while (low < count) {
        uint16_t middle = (uint16_t)(low + (count - low) / 2);
        if (esk_rows_key(series, page, middle) < key) {
            low = (uint16_t)(middle + 1);
        } else {
            count = middle;
        }
    }
    return low;
}

uint16_t esk_rows_to(const struct esk_series *series, uint8_t *page,
                     uint16_t count, esk_key key) {
    if (count == 0 ||
        esk_rows_key(series, page, (uint16_t)(count - 1)) <= key) {
        return count;
    }
    return esk_rows_below(series, page, count, (esk_key)(key + 1u));
}

int esk_rows_find(const struct esk_series *series, uint8_t *page,
                  uint16_t count, esk_key key, void *row) {
    uint16_t at = esk_rows_below(series, page, count, key);
    const uint8_t *found = esk_rows_at(series, page, at);
    if (at == count || esk_row_key(series, found) != key) {
        return ESK_NOT_FOUND;
    }
    esk_row_copy(series, row, found);
    return ESK_OK;
}
