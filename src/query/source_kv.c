// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A kv table as a source of rows, which are made here of a key and its value.
///
///     | key | type u8 | bytes u32 | number i64 | value |
///
/// A scan is an unordered walk. A key longer than the column is no row.
#include "query/source.h"

enum {
    KV_TYPE = 0, ///< behind the key
    KV_BYTES = 1,
    KV_NUMBER = 5,
    KV_VALUE = 13,
};

/// The number of the integer of a type at `bytes`, which are zeros behind it.
static int64_t number_of(uint8_t type, const uint8_t *bytes) {
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

/// Fills in the row of a key, of `key_bytes` bytes.
/// Returns  ESK_OK; as esk_kv_get.
static int row_make(const struct esk_source *source, const uint8_t *key,
                    uint8_t key_bytes, uint8_t *row) {
    uint8_t *rest = row + source->key_bytes;
    uint16_t room =
        (uint16_t)(source->row_bytes - source->key_bytes - KV_VALUE);
    uint8_t start[8] = {0};
    uint32_t bytes = 0;
    ESK_TRY(esk_kv_get(source->table, key, key_bytes, start, sizeof start,
                       &bytes, rest + KV_TYPE));
    memset(rest + KV_VALUE, 0, room);
    if (room > 0) {
        ESK_TRY(esk_kv_get(source->table, key, key_bytes, rest + KV_VALUE, room,
                           NULL, NULL));
    }
    esk_store_u32(rest + KV_BYTES, bytes);
    esk_store_u64(rest + KV_NUMBER, (uint64_t)number_of(rest[KV_TYPE], start));
    memset(row, 0, source->key_bytes);
    memcpy(row, key, key_bytes);
    return ESK_OK;
}

static int kv_open(const struct esk_source *source,
                   const struct esk_source_mark *mark, void *cursor,
                   const struct esk_source_bounds *bounds) {
    (void)source;
    (void)mark;
    (void)bounds;
    memset(cursor, 0, sizeof(uint32_t));
    return ESK_OK;
}

static int kv_next(const struct esk_source *source, void *cursor,
                   uint8_t *row) {
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint8_t key_bytes = 0;
    ESK_TRY(esk_kv_next(source->table, cursor, key, &key_bytes));
    if (key_bytes > source->key_bytes) {
        return ESK_AGAIN;
    }
    int status = row_make(source, key, key_bytes, row);
    return status == ESK_NOT_FOUND ? ESK_AGAIN : status;
}

static int kv_get(const struct esk_source *source,
                  const struct esk_source_mark *mark, const esk_slot *slot,
                  uint8_t *row) {
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint16_t bytes = source->key_bytes;
    (void)mark;
    esk_slot_to_text(slot, key, bytes);
    while (bytes > 0 && key[bytes - 1] == 0) {
        bytes--;
    }
    return bytes == 0 ? ESK_NOT_FOUND
                      : row_make(source, key, (uint8_t)bytes, row);
}

static const struct esk_source_kind kind_kv = {
    .kind = ESK_TABLE_KV,
    .open = kv_open,
    .next = kv_next,
    .get = kv_get,
};

void esk_source_kv(struct esk_source *source, struct esk_kv *kv,
                   uint8_t key_bytes, uint16_t value_bytes) {
    memset(source, 0, sizeof *source);
    source->kind = &kind_kv;
    source->table = kv;
    source->fingerprint = key_bytes | (uint32_t)value_bytes << 8;
    source->cursor_bytes = sizeof(uint32_t);
    source->row_bytes =
        (uint16_t)(key_bytes + (unsigned)KV_VALUE + value_bytes);
    source->key_bytes = key_bytes;
    source->key_type = ESK_TYPE_BYTES;
}
