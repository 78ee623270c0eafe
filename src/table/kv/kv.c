// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Get, put, delete and sync.
#include "table/kv/kv.h"
#include "volume/volume.h"

static int key_check(const struct esk_kv *kv, const void *key,
                     uint8_t key_bytes) {
    ESK_TRY(esk_table_live(kv));
    return key != NULL && key_bytes > 0 && key_bytes <= ESK_KV_KEY_BYTES_MAX
               ? ESK_OK
               : ESK_E_INVALID;
}

static bool type_suits(uint8_t type, const uint8_t *value, uint32_t bytes) {
    switch (type) {
    case ESK_KV_UNSIGNED:
    case ESK_KV_SIGNED:
        return bytes <= 8 && (bytes == 0 || value[bytes - 1] != 0);
    case ESK_KV_FLOAT:
        return bytes == 4 || bytes == 8;
    case ESK_KV_BOOL:
        return bytes == 1 && value[0] <= 1;
    default:
        return type <= ESK_KV_TEXT;
    }
}

int esk_kv_get(struct esk_kv *kv, const void *key, uint8_t key_bytes,
               void *value, uint32_t room, uint32_t *bytes, uint8_t *type) {
    struct esk_kv_record record;
    ESK_ASSERT(value != NULL || room == 0);
    ESK_TRY(key_check(kv, key, key_bytes));
    ESK_TRY(esk_kv_find(kv, key, key_bytes, &record));
    uint32_t count = record.value_bytes < room ? record.value_bytes : room;
    int status = esk_kv_take(kv, &record.value, value, count);
    if (status != ESK_OK) {
        return status == ESK_END ? ESK_E_CORRUPT : status;
    }
    if (bytes != NULL) {
        *bytes = record.value_bytes;
    }
    if (type != NULL) {
        *type = record.type;
    }
    return ESK_OK;
}

/// Whether there is room for `record` in place of `before` bytes.
static int record_admit(const struct esk_kv *kv,
                        const struct esk_kv_record *record, bool is_there,
                        uint32_t before) {
    uint32_t block = esk_kv_block_room(kv);
    if (record->value_bytes > block || record->bytes > block) {
        return ESK_E_LIMIT;
    }
    if (record->type == ESK_KV_DELETED ||
        (is_there && record->bytes <= before)) {
        return ESK_OK;
    }
    uint32_t longest =
        record->bytes > kv->longest ? record->bytes : kv->longest;
    uint32_t live = kv->live - before + record->bytes;
    bool has_room = live <= esk_kv_live_most(kv, longest);
    return has_room && (is_there || kv->keys < esk_kv_keys_max(kv)) ? ESK_OK
                                                                    : ESK_FULL;
}

/// Writes a record's bytes.
static int record_write(struct esk_kv *kv, const struct esk_kv_record *record,
                        const void *key, const void *value) {
    uint8_t head[ESK_KV_RECORD_HEAD + 1];
    uint8_t length[4];
    bool is_long = record->value_bytes >= ESK_KV_WORD_LONG;
    uint32_t word = (uint32_t)record->type << ESK_KV_WORD_TYPE;
    word |= is_long ? (uint32_t)ESK_KV_WORD_LONG : record->value_bytes;
    word |= record->salt != 0 ? (uint32_t)ESK_KV_WORD_SALTED : 0;
    head[ESK_KV_RECORD_KEY_BYTES] = record->key_bytes;
    esk_store_u16(head + ESK_KV_RECORD_WORD, (uint16_t)word);
    head[ESK_KV_RECORD_HEAD] = record->salt;
    ESK_TRY(esk_kv_write(kv, head,
                         ESK_KV_RECORD_HEAD + (record->salt != 0 ? 1u : 0u)));
    ESK_TRY(esk_kv_write(kv, key, record->key_bytes));
    if (is_long) {
        esk_store_u32(length, record->value_bytes);
        ESK_TRY(esk_kv_write(kv, length, sizeof length));
    }
    return esk_kv_write(kv, value, record->value_bytes);
}

static int record_append(struct esk_kv *kv, const struct esk_kv_record *record,
                         const void *key, const void *value) {
    uint32_t moved = kv->pages_moved;
    ESK_TRY(esk_kv_room(kv, record->bytes));
    if (kv->index != NULL) {
        ESK_TRY(esk_kv_part(kv)->room(
            kv, moved == kv->pages_moved ? ESK_KV_DUE_PUT : ESK_KV_DUE_BUSY));
    }
    ESK_TRY(esk_kv_record_begin(kv, record->bytes));
    uint16_t mark = kv->used;
    int status = record_write(kv, record, key, value);
    if (status != ESK_OK) {
        esk_kv_record_abort(kv, mark);
    }
    return status;
}

/// Makes the record that was appended the newest of its key.
static void record_take(struct esk_kv *kv, const struct esk_kv_record *record) {
    uint32_t slot = 0;
    bool is_there = esk_kv_slot_find(kv, record->hash, &slot);
    if (record->type != ESK_KV_DELETED || kv->index != NULL) {
        esk_kv_slot_set(kv, slot, record->hash, kv->record_at);
    } else if (is_there) {
        esk_kv_slot_free(kv, slot);
    }
}

/// Sets or deletes a key.
static int kv_change(struct esk_kv *kv, const void *key, uint8_t key_bytes,
                     const void *value, uint32_t bytes, uint8_t type) {
    struct esk_kv_record record;
    if ((esk_volume_flags(kv->table.volume) & ESK_MOUNT_READ_ONLY) != 0) {
        return ESK_E_READ_ONLY;
    }
    record.bytes = 0;
    int status = esk_kv_find(kv, key, key_bytes, &record);
    bool is_there = status == ESK_OK || status == ESK_E_CORRUPT;
    if (!is_there && (status != ESK_NOT_FOUND || type == ESK_KV_DELETED)) {
        return status;
    }
    /* Of a damaged record, which the new one replaces, the length is unknown.
     */
    uint32_t before = status == ESK_OK ? record.bytes : 0;
    before = before < kv->live ? before : kv->live;
    record.key_bytes = key_bytes;
    record.type = type;
    record.value_bytes = bytes;
    record.bytes = ESK_KV_RECORD_HEAD + (uint32_t)key_bytes + bytes +
                   (record.salt != 0 ? 1u : 0u) +
                   (bytes >= ESK_KV_WORD_LONG ? 4u : 0u);
    ESK_TRY(record_admit(kv, &record, is_there, before));
    uint32_t lost = kv->records_lost;
    ESK_TRY(record_append(kv, &record, key, value));
    if (lost != kv->records_lost && is_there) {
        /* The collector may have lost this key's record. */
        uint32_t address = 0;
        is_there = esk_kv_newest(kv, record.hash, &address) == ESK_OK;
    }
    record_take(kv, &record);
    kv->keys -= is_there ? 1 : 0;
    kv->live -= is_there ? before : 0;
    if (type == ESK_KV_DELETED) {
        return ESK_OK;
    }
    kv->keys++;
    kv->live += record.bytes;
    kv->longest = record.bytes > kv->longest ? record.bytes : kv->longest;
    if (record.salt > kv->salt_max) {
        kv->salt_max = record.salt;
    }
    return ESK_OK;
}

int esk_kv_put(struct esk_kv *kv, const void *key, uint8_t key_bytes,
               const void *value, uint32_t bytes, uint8_t type) {
    ESK_ASSERT(value != NULL || bytes == 0);
    ESK_TRY(key_check(kv, key, key_bytes));
    return type_suits(type, value, bytes)
               ? kv_change(kv, key, key_bytes, value, bytes, type)
               : ESK_E_INVALID;
}

int esk_kv_delete(struct esk_kv *kv, const void *key, uint8_t key_bytes) {
    ESK_TRY(key_check(kv, key, key_bytes));
    return kv_change(kv, key, key_bytes, NULL, 0, ESK_KV_DELETED);
}

int esk_kv_sync(struct esk_kv *kv) {
    ESK_TRY(esk_table_live(kv));
    if ((esk_volume_flags(kv->table.volume) & ESK_MOUNT_READ_ONLY) != 0) {
        return ESK_OK;
    }
    ESK_TRY(esk_kv_flush(kv));
    if (kv->dirty) {
        ESK_TRY(esk_region_sync(&kv->log.region));
        kv->dirty = false;
    }
    return ESK_OK;
}

/// Finds the record with the smallest hash from *hash on.
/// Returns ESK_OK; ESK_END; as esk_kv_newest.
static int newest_next(struct esk_kv *kv, uint32_t *hash, uint32_t *address) {
    uint32_t slot = 0;
    uint32_t index_hash = *hash;
    int status = ESK_END;
    if (kv->index != NULL) {
        status = esk_kv_part(kv)->next(kv, &index_hash, address);
    }
    if (esk_kv_slot_next(kv, *hash, &slot)) {
        *hash = esk_kv_slot_hash(kv, slot);
        if (status == ESK_END || *hash <= index_hash) {
            *address = esk_kv_slot_address(kv, slot);
            return ESK_OK;
        }
    }
    *hash = index_hash;
    return status;
}

int esk_kv_record_next(struct esk_kv *kv, uint32_t *hash,
                       struct esk_kv_record *record, uint8_t *key) {
    struct esk_kv_place place;
    uint32_t found = *hash;
    uint32_t address = 0;
    if (kv->hash_bytes < 4 && found >> 8u * kv->hash_bytes != 0) {
        return ESK_END;
    }
    int status = newest_next(kv, &found, &address);
    if (status == ESK_END || status == ESK_E_IO) {
        return status;
    }
    *hash = found + 1;
    if (status == ESK_OK) {
        status = esk_kv_place(kv, address, &place);
    }
    if (status == ESK_OK) {
        status = esk_kv_record_copy(kv, &place, record, false, key);
    }
    if (status != ESK_OK) {
        return status == ESK_END ? ESK_E_CORRUPT : status;
    }
    return record->type == ESK_KV_DELETED ? ESK_NOT_FOUND : ESK_OK;
}

int esk_kv_next(struct esk_kv *kv, uint32_t *cursor, void *key,
                uint8_t *key_bytes) {
    struct esk_kv_record record;
    int status = ESK_NOT_FOUND;
    ESK_ASSERT(cursor != NULL && key != NULL && key_bytes != NULL);
    ESK_TRY(esk_table_live(kv));
    while (status == ESK_NOT_FOUND) {
        status = esk_kv_record_next(kv, cursor, &record, NULL);
    }
    ESK_TRY(status);
    *key_bytes = record.key_bytes;
    status = esk_kv_take(kv, &record.key, key, record.key_bytes);
    return status == ESK_END ? ESK_E_CORRUPT : status;
}
