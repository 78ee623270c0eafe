// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A kv table's value in generated C, which compares what is stored.
#include <string.h>

#include "esker/generated.h"
#include "query/source.h"

int64_t esk_query_kv_number(uint8_t type, const uint8_t *bytes) {
    uint64_t bits = esk_load_u64(bytes);
    switch (type) {
    case ESK_KV_UNSIGNED:
    case ESK_KV_BOOL:
        return bits <= INT64_MAX ? (int64_t)bits : INT64_MIN;
    case ESK_KV_SIGNED:
        return (bits & 1u) != 0 ? -(int64_t)(bits >> 1) - 1
                                : (int64_t)(bits >> 1);
    default:
        return INT64_MIN;
    }
}

int esk_query_kv(struct esk_kv *kv, const void *key, uint8_t key_bytes,
                 void *value, uint16_t room, struct esk_query_value *stored) {
    memset(value, 0, ESK_QUERY_VALUE_BYTES_MIN);
    ESK_TRY(esk_kv_get(kv, key, key_bytes, value, room, &stored->size,
                       &stored->tag));
    stored->bytes = stored->size < room ? (uint16_t)stored->size : room;
    stored->number = esk_query_kv_number(stored->tag, value);
    return ESK_OK;
}
