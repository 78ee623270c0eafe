// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A kv table as a source of rows, which are made here of a key and its value.
///
///     | key | type u8 | bytes u32 | number i64 | value |
///
/// A scan is an unordered walk; or, of an ordered source, a cursor over keys in
/// order, of which bounds of one key are a lookup. A key longer than the column
/// is no row. A key that ends in a zero byte would be equal to a shorter one,
/// so it ends the query: ESK_E_UNSUPPORTED.
#include "query/source.h"

#include "query/program.h"

enum {
    KV_TYPE = 0, ///< behind the key
    KV_BYTES = 1,
    KV_NUMBER = 5,
    KV_VALUE = 13,
};

/// Fills in the row of a key, of `key_bytes` bytes.
/// Returns  ESK_OK; ESK_E_UNSUPPORTED: it ends in a zero byte; as esk_kv_get.
static int row_make(const struct esk_source *source, const uint8_t *key,
                    uint8_t key_bytes, uint8_t *row) {
    uint8_t *rest = row + source->key_bytes;
    uint16_t room =
        (uint16_t)(source->row_bytes - source->key_bytes - KV_VALUE);
    uint8_t start[8] = {0};
    uint8_t *value = start;
    uint16_t value_room = sizeof start;
    uint32_t bytes = 0;
    if (key[key_bytes - 1u] == 0) {
        return ESK_E_UNSUPPORTED;
    }
    memset(rest + KV_VALUE, 0, room);
    if (room >= sizeof start) {
        value = rest + KV_VALUE;
        value_room = room;
    }
    ESK_TRY(esk_kv_get(source->table, key, key_bytes, value, value_room, &bytes,
                       rest + KV_TYPE));
    if (room < sizeof start) {
        memcpy(rest + KV_VALUE, start, room);
    }
    esk_store_u32(rest + KV_BYTES, bytes);
    esk_store_u64(rest + KV_NUMBER,
                  (uint64_t)esk_query_kv_number(rest[KV_TYPE], value));
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

/// A scan of an ordered source; the cursor's memory is behind it.
struct kv_walk {
    struct esk_kv_cursor cursor;
    const uint8_t *key; ///< of a lookup
    uint8_t key_bytes;
    bool looks_up; ///< that one key, then none
    uint8_t below[ESK_KV_KEY_BYTES_MAX];
};

/// Makes a key the one that comes next, and returns its bytes; 0: none does.
static uint8_t successor(uint8_t *key, uint8_t bytes) {
    if (bytes < ESK_KV_KEY_BYTES_MAX) {
        key[bytes] = 0;
        return (uint8_t)(bytes + 1u);
    }
    while (bytes > 0 && key[bytes - 1] == UINT8_MAX) {
        bytes--;
    }
    if (bytes > 0) {
        key[bytes - 1]++;
    }
    return bytes;
}

static int kv_open_in_order(const struct esk_source *source,
                            const struct esk_source_mark *mark, void *cursor,
                            const struct esk_source_bounds *bounds) {
    struct kv_walk *walk = cursor;
    struct esk_kv_query query = {.backward = bounds->backward, .step_keys = 1};
    const uint8_t *most = NULL;
    uint8_t most_bytes = 0;
    (void)mark;
    walk->looks_up = false;
    if (bounds->min != NULL) {
        query.from = esk_program_reference(bounds->program, bounds->min,
                                           &query.from_bytes);
        if (query.from == NULL) {
            return ESK_E_INVALID;
        }
    }
    if (bounds->max != NULL) {
        most = esk_program_reference(bounds->program, bounds->max, &most_bytes);
        if (most == NULL || most_bytes > ESK_KV_KEY_BYTES_MAX) {
            return ESK_E_INVALID;
        }
        memcpy(walk->below, most, most_bytes);
        query.below = walk->below;
        query.below_bytes = successor(walk->below, most_bytes);
    }
    if (query.from != NULL && most != NULL && query.from_bytes == most_bytes &&
        memcmp(query.from, most, most_bytes) == 0) {
        walk->looks_up = true;
        walk->key = most;
        walk->key_bytes = most_bytes;
        return ESK_OK;
    }
    return esk_kv_cursor_open(source->table, &walk->cursor, &query, walk + 1,
                              (uint32_t)(source->cursor_bytes - sizeof *walk));
}

static int kv_next_in_order(const struct esk_source *source, void *cursor,
                            uint8_t *row) {
    struct kv_walk *walk = cursor;
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint8_t key_bytes = walk->key_bytes;
    if (walk->looks_up) {
        const uint8_t *wanted = walk->key;
        walk->key_bytes = 0;
        if (key_bytes == 0 || key_bytes > source->key_bytes) {
            return ESK_END;
        }
        int found = row_make(source, wanted, key_bytes, row);
        return found == ESK_NOT_FOUND ? ESK_END : found;
    }
    ESK_TRY(esk_kv_cursor_next(source->table, &walk->cursor, key, &key_bytes));
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

static const struct esk_source_kind kind_kv_in_order = {
    .kind = ESK_TABLE_KV,
    .can = ESK_SOURCE_ORDERED | ESK_SOURCE_REFERENCES,
    .open = kv_open_in_order,
    .next = kv_next_in_order,
    .get = kv_get,
};

void esk_source_kv_ordered(struct esk_source *source, uint16_t memory_bytes) {
    /* A cursor and a row are one piece of an arena, of 16 bits. */
    uint16_t most =
        (uint16_t)(UINT16_MAX - sizeof(struct kv_walk) - source->row_bytes);
    memory_bytes = memory_bytes < most ? memory_bytes : most;
    source->kind = &kind_kv_in_order;
    source->cursor_bytes = (uint16_t)(sizeof(struct kv_walk) + memory_bytes);
}

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
