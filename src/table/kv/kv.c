// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Get, put, delete and sync.
#include "table/kv/kv.h"
#include "volume/volume.h"

int esk_kv_key_check(const void *key, uint8_t key_bytes) {
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
    case ESK_KV_DELETED:
        return bytes == 0;
    default:
        return type <= ESK_KV_TEXT;
    }
}

int esk_kv_value_copy(struct esk_kv *kv, struct esk_kv_record *record,
                      void *value, uint32_t room, uint32_t *bytes,
                      uint8_t *type) {
    uint32_t count = record->value_bytes < room ? record->value_bytes : room;
    int status = esk_kv_take(kv, &record->value, value, count);
    if (status != ESK_OK) {
        return status == ESK_END ? ESK_E_CORRUPT : status;
    }
    if (bytes != NULL) {
        *bytes = record->value_bytes;
    }
    if (type != NULL) {
        *type = record->type;
    }
    return ESK_OK;
}

int esk_kv_get(struct esk_kv *kv, const void *key, uint8_t key_bytes,
               void *value, uint32_t room, uint32_t *bytes, uint8_t *type) {
    struct esk_kv_record record;
    ESK_ASSERT(value != NULL || room == 0);
    ESK_TRY(esk_table_live(kv));
    ESK_TRY(esk_kv_key_check(key, key_bytes));
    ESK_TRY(esk_kv_find(kv, key, key_bytes, &record));
    return esk_kv_value_copy(kv, &record, value, room, bytes, type);
}

int esk_kv_change_find(struct esk_kv *kv, struct esk_kv_change *change) {
    struct esk_kv_record record;
    ESK_ASSERT(change->value != NULL || change->bytes == 0);
    ESK_TRY(esk_kv_key_check(change->key, change->key_bytes));
    if (!type_suits(change->type, change->value, change->bytes)) {
        return ESK_E_INVALID;
    }
    if ((esk_volume_flags(kv->table.volume) & ESK_MOUNT_READ_ONLY) != 0) {
        return ESK_E_READ_ONLY;
    }
    int status = esk_kv_find(kv, change->key, change->key_bytes, &record);
    change->is_there = status == ESK_OK || status == ESK_E_CORRUPT;
    if (!change->is_there &&
        (status != ESK_NOT_FOUND || change->type == ESK_KV_DELETED)) {
        return status;
    }
    /* Of a damaged record, which the new one replaces, the length is unknown.
     */
    change->before = status == ESK_OK ? record.bytes : 0;
    change->hash = record.hash;
    change->salt = record.salt;
    return ESK_OK;
}

uint32_t esk_kv_change_bytes(const struct esk_kv_change *change) {
    return ESK_KV_RECORD_HEAD + (uint32_t)change->key_bytes + change->bytes +
           (change->salt != 0 ? 1u : 0u) +
           (change->bytes >= ESK_KV_WORD_LONG ? 4u : 0u);
}

/// Whether there is room for a record of `bytes` bytes.
static int change_admit(const struct esk_kv *kv,
                        const struct esk_kv_change *change, uint32_t bytes) {
    uint32_t block = esk_kv_block_room(kv);
    if (change->bytes > block || bytes > block) {
        return ESK_E_LIMIT;
    }
    if (change->type == ESK_KV_DELETED ||
        (change->is_there && bytes <= change->before)) {
        return ESK_OK;
    }
    uint32_t before = change->before < kv->live ? change->before : kv->live;
    uint32_t longest = bytes > kv->longest ? bytes : kv->longest;
    uint32_t live = kv->live + bytes - (change->is_there ? before : 0);
    bool has_room = live <= esk_kv_live_most(kv, longest);
    return has_room && (change->is_there || kv->keys < esk_kv_keys_max(kv))
               ? ESK_OK
               : ESK_FULL;
}

int esk_kv_changes_room(struct esk_kv *kv, struct esk_kv_change *changes,
                        uint16_t count, uint32_t bytes) {
    uint32_t moved = kv->pages_moved;
    uint32_t lost = kv->records_lost;
    ESK_TRY(esk_kv_room(kv, bytes));
    if (esk_kv_has_index(kv)) {
        ESK_TRY(esk_kv_part(kv)->room(
            kv, moved == kv->pages_moved ? ESK_KV_DUE_PUT : ESK_KV_DUE_BUSY,
            count));
    }
    for (uint16_t i = 0; i < count && lost != kv->records_lost; i++) {
        /* The collector may have lost this key's record. */
        uint32_t address = 0;
        changes[i].is_there =
            changes[i].is_there &&
            esk_kv_newest(kv, changes[i].hash, &address) == ESK_OK;
    }
    return ESK_OK;
}

int esk_kv_change_write(struct esk_kv *kv, const struct esk_kv_change *change,
                        uint16_t more) {
    uint8_t head[ESK_KV_RECORD_HEAD + 1];
    uint8_t length[4];
    bool is_long = change->bytes >= ESK_KV_WORD_LONG;
    uint32_t word = (uint32_t)change->type << ESK_KV_WORD_TYPE | more;
    word |= is_long ? (uint32_t)ESK_KV_WORD_LONG : change->bytes;
    word |= change->salt != 0 ? (uint32_t)ESK_KV_WORD_SALTED : 0;
    head[ESK_KV_RECORD_KEY_BYTES] = change->key_bytes;
    esk_store_u16(head + ESK_KV_RECORD_WORD, (uint16_t)word);
    head[ESK_KV_RECORD_HEAD] = change->salt;
    ESK_TRY(esk_kv_write(kv, head,
                         ESK_KV_RECORD_HEAD + (change->salt != 0 ? 1u : 0u)));
    ESK_TRY(esk_kv_write(kv, change->key, change->key_bytes));
    if (is_long) {
        esk_store_u32(length, change->bytes);
        ESK_TRY(esk_kv_write(kv, length, sizeof length));
    }
    return esk_kv_write(kv, change->value, change->bytes);
}

void esk_kv_change_take(struct esk_kv *kv, const struct esk_kv_change *change,
                        uint32_t address) {
    esk_kv_snapshots_keep(kv, &change->hash);
    esk_kv_slot_take(kv, change->hash, address, change->type == ESK_KV_DELETED);
}

void esk_kv_change_count(struct esk_kv *kv,
                         const struct esk_kv_change *change) {
    if (change->is_there) {
        kv->keys--;
        kv->live -= change->before < kv->live ? change->before : kv->live;
    }
    if (change->type == ESK_KV_DELETED) {
        return;
    }
    uint32_t bytes = esk_kv_change_bytes(change);
    kv->keys++;
    kv->live += bytes;
    kv->longest = bytes > kv->longest ? bytes : kv->longest;
    if (change->salt > kv->salt_max) {
        kv->salt_max = change->salt;
    }
}

/// Sets or deletes a key.
static int kv_change(struct esk_kv *kv, struct esk_kv_change *change) {
    ESK_TRY(esk_kv_change_find(kv, change));
    uint32_t bytes = esk_kv_change_bytes(change);
    ESK_TRY(change_admit(kv, change, bytes));
    ESK_TRY(esk_kv_changes_room(kv, change, 1, bytes));
    ESK_TRY(esk_kv_record_begin(kv, bytes));
    uint16_t mark = kv->used;
    int status = esk_kv_change_write(kv, change, 0);
    if (status != ESK_OK) {
        esk_kv_record_abort(kv, mark);
        return status;
    }
    esk_kv_change_take(kv, change, kv->record_at);
    esk_kv_change_count(kv, change);
    return ESK_OK;
}

int esk_kv_put(struct esk_kv *kv, const void *key, uint8_t key_bytes,
               const void *value, uint32_t bytes, uint8_t type) {
    struct esk_kv_change change = {.key = key,
                                   .value = value,
                                   .bytes = bytes,
                                   .key_bytes = key_bytes,
                                   .type = type};
    ESK_TRY(esk_table_live(kv));
    return type != ESK_KV_DELETED ? kv_change(kv, &change) : ESK_E_INVALID;
}

int esk_kv_delete(struct esk_kv *kv, const void *key, uint8_t key_bytes) {
    struct esk_kv_change change = {
        .key = key, .key_bytes = key_bytes, .type = ESK_KV_DELETED};
    ESK_TRY(esk_table_live(kv));
    return kv_change(kv, &change);
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

int esk_kv_newest_next(struct esk_kv *kv, uint32_t *hash, uint32_t *address) {
    uint32_t slot = 0;
    uint32_t index_hash = *hash;
    int status = ESK_END;
    if (esk_kv_has_index(kv)) {
        status = esk_kv_part(kv)->next(kv, &index_hash, address);
    }
    if (esk_kv_slot_next(kv, *hash, &slot)) {
        *hash = esk_kv_slot_hash(kv, slot);
        if (status == ESK_END || *hash <= index_hash) {
            *address = esk_kv_slot_address(kv, slot);
            return esk_kv_slot_deletes(kv, slot) ? ESK_NOT_FOUND : ESK_OK;
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
    if (!esk_kv_is_hash(kv, found)) {
        return ESK_END;
    }
    int status = esk_kv_newest_next(kv, &found, &address);
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
