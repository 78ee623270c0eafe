// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What generated C calls: how a query ends, and what it may see of a table.
///
/// A query is at a place: 0 at first, or where its last call returned. A call
/// that can be made again goes on there; all others end the query for good, so
/// that no aggregate of a part of the rows is returned.
#include "esker/generated.h"

int esk_query_stop(uint8_t *at, uint8_t here, int status) {
    if (status == ESK_AGAIN || status == ESK_E_IO) {
        *at = here;
    } else if (status == ESK_END) {
        *at = ESK_QUERY_ENDED;
    } else {
        *at = ESK_QUERY_FAILED;
    }
    return status;
}

int esk_query_over(uint8_t at) {
    return at == ESK_QUERY_ENDED ? ESK_END : ESK_E_INVALID;
}

/// Whether key a comes before key b.
static bool key_is_before(esk_key a, esk_key b, bool is_signed) {
    const esk_key sign = (esk_key)1 << (ESK_KEY_BITS - 1);
    return is_signed ? (a ^ sign) < (b ^ sign) : a < b;
}

void esk_query_bound(struct esk_series_query *query,
                     const struct esk_source_mark *mark, bool is_signed,
                     bool none) {
    query->has_ordinal_end = true;
    query->ordinal_end = mark->ordinal_end;
    if (none || mark->is_empty) {
        /* No key is at least 1 and at most 0. */
        query->has_key_min = true;
        query->has_key_max = true;
        query->key_min = 1;
        query->key_max = 0;
    } else if (!query->has_key_max ||
               key_is_before(mark->newest, query->key_max, is_signed)) {
        query->has_key_max = true;
        query->key_max = mark->newest;
    }
}

void esk_query_newest(const struct esk_series *series, int64_t *newest) {
    esk_key key = 0;
    *newest = INT64_MIN;
    if (esk_series_newest_key(series, &key) == ESK_OK) {
        *newest = (int64_t)key;
    }
}

const void *esk_query_key(uint8_t *bytes, esk_key key, uint8_t count) {
    for (uint8_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)key;
        key >>= 8;
    }
    return bytes;
}

void esk_wide_sum_add(struct esk_wide_sum *sum, int64_t value) {
    uint64_t low = sum->low + (uint64_t)value;
    sum->high += (low < sum->low ? 1 : 0) - (value < 0 ? 1 : 0);
    sum->low = low;
}

bool esk_wide_sum_fits(const struct esk_wide_sum *sum, int64_t *value) {
    *value = (int64_t)sum->low;
    return sum->high == (*value < 0 ? -1 : 0);
}
