// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Snapshots: a table as it was, beside the puts that go on.
///
/// Before the newest record of a hash changes, each open snapshot *keeps* where
/// that record was, once. A read takes what was kept, else what the table has:
/// a record that the collector moved is the same. So an open copies nothing,
/// and only records that were replaced can be gone.
///
/// A position is only used again when copies are erased that power loss left
/// (kv_collect.c). Then all snapshots are stale.
#include "table/kv/kv.h"

/// What was kept with the smallest hash from `hash` on; NULL: nothing.
static const struct esk_kv_kept *
kept_from(const struct esk_kv_snapshot *snapshot, uint32_t hash) {
    const struct esk_kv_kept *found = NULL;
    for (uint16_t i = 0; i < snapshot->count; i++) {
        const struct esk_kv_kept *kept = &snapshot->kept[i];
        if (kept->hash >= hash && (found == NULL || kept->hash < found->hash)) {
            found = kept;
        }
    }
    return found;
}

/// The same of `hash` itself.
static const struct esk_kv_kept *
kept_find(const struct esk_kv_snapshot *snapshot, uint32_t hash) {
    const struct esk_kv_kept *kept = kept_from(snapshot, hash);
    return kept != NULL && kept->hash == hash ? kept : NULL;
}

/// Keeps the newest record of `hash`, or that there is none.
static void hash_keep(struct esk_kv_snapshot *snapshot, uint32_t hash) {
    struct esk_kv *kv = snapshot->kv;
    uint32_t address = 0;
    if (kept_find(snapshot, hash) != NULL) {
        return;
    }
    int status = esk_kv_newest(kv, hash, &address);
    if (snapshot->count == snapshot->room ||
        (status != ESK_OK && status != ESK_NOT_FOUND)) {
        snapshot->is_stale = true;
        return;
    }
    struct esk_kv_kept *kept = &snapshot->kept[snapshot->count];
    uint16_t page_bytes = esk_envelope_page_bytes(&kv->log.region.envelope);
    kept->hash = hash;
    kept->position =
        status == ESK_OK ? esk_kv_position(kv, address) : ESK_KV_NOWHERE;
    kept->offset = (uint16_t)(address % page_bytes - ESK_ENVELOPE_BYTES);
    snapshot->count++;
}

static void snapshots_keep(struct esk_kv *kv, const uint32_t *hash) {
    for (struct esk_kv_snapshot *snapshot = kv->snapshots; snapshot != NULL;
         snapshot = snapshot->next) {
        if (hash == NULL) {
            snapshot->is_stale = true;
        } else if (!snapshot->is_stale) {
            hash_keep(snapshot, *hash);
        }
    }
}

/// What was kept of the page in RAM goes with it.
static void snapshots_move(struct esk_kv *kv, uint32_t from, uint32_t to) {
    for (struct esk_kv_snapshot *snapshot = kv->snapshots; snapshot != NULL;
         snapshot = snapshot->next) {
        for (uint16_t i = 0; i < snapshot->count; i++) {
            if (snapshot->kept[i].position == from) {
                snapshot->kept[i].position = to;
            }
        }
    }
}

/// Where a snapshot is in the table's list; NULL: the table was closed, or the
/// snapshot.
static struct esk_kv_snapshot **
snapshot_link(struct esk_kv *kv, const struct esk_kv_snapshot *snapshot) {
    if (esk_table_live(kv) != ESK_OK) {
        return NULL;
    }
    struct esk_kv_snapshot **link = &kv->snapshots;
    while (*link != NULL && *link != snapshot) {
        link = &(*link)->next;
    }
    return *link != NULL ? link : NULL;
}

int esk_kv_snapshot_open(struct esk_kv *kv, struct esk_kv_snapshot *snapshot,
                         struct esk_kv_kept *kept, uint16_t room) {
    ESK_ASSERT(snapshot != NULL && (kept != NULL || room == 0));
    ESK_ASSERT(snapshot_link(kv, snapshot) == NULL);
    memset(snapshot, 0, sizeof *snapshot);
    ESK_TRY(ESK_SHAPED_KV(ESK_SHAPE_SNAPSHOTS, true) ? esk_table_live(kv)
                                                     : ESK_E_UNSUPPORTED);
    snapshot->kv = kv;
    snapshot->keep = snapshots_keep;
    snapshot->move = snapshots_move;
    snapshot->kept = kept;
    snapshot->room = room;
    snapshot->records_lost = kv->records_lost;
    snapshot->next = kv->snapshots;
    kv->snapshots = snapshot;
    return ESK_OK;
}

void esk_kv_snapshot_close(struct esk_kv_snapshot *snapshot) {
    ESK_ASSERT(snapshot != NULL);
    struct esk_kv_snapshot **link = snapshot_link(snapshot->kv, snapshot);
    if (link != NULL) {
        *link = snapshot->next;
    }
    snapshot->kv = NULL;
}

static int snapshot_live(const struct esk_kv_snapshot *snapshot) {
    ESK_ASSERT(snapshot != NULL);
    if (snapshot_link(snapshot->kv, snapshot) == NULL) {
        return ESK_E_INVALID;
    }
    /* Of a record that the table lost nobody knows the key. */
    return snapshot->is_stale ||
                   snapshot->records_lost != snapshot->kv->records_lost
               ? ESK_E_STALE
               : ESK_OK;
}

/// The address of a record that was kept. Returns ESK_OK; ESK_NOT_FOUND: there
/// was none; ESK_E_STALE.
static int kept_address(const struct esk_kv *kv, const struct esk_kv_kept *kept,
                        uint32_t *address) {
    if (kept->position == ESK_KV_NOWHERE) {
        return ESK_NOT_FOUND;
    }
    if (kept->position < kv->log.tail) {
        return ESK_E_STALE;
    }
    *address = esk_kv_address(kv, kept->position, kept->offset);
    return ESK_OK;
}

/// The status of a read: an old record that cannot be read is gone.
static int read_status(const struct esk_kv_kept *kept, int status) {
    status = status == ESK_END ? ESK_E_CORRUPT : status;
    return status == ESK_E_CORRUPT && kept != NULL ? ESK_E_STALE : status;
}

/// Finds the record that a hash had, and compares its key.
/// kept     out: what was kept of it.
/// Returns  as esk_kv_record_match; ESK_E_STALE.
static int then_compare(struct esk_kv_snapshot *snapshot, uint32_t hash,
                        const void *key, uint8_t key_bytes,
                        struct esk_kv_record *record,
                        const struct esk_kv_kept **kept) {
    struct esk_kv *kv = snapshot->kv;
    uint32_t address = 0;
    *kept = kept_find(snapshot, hash);
    ESK_TRY(*kept != NULL ? kept_address(kv, *kept, &address)
                          : esk_kv_newest(kv, hash, &address));
    return read_status(
        *kept, esk_kv_record_match(kv, address, key, key_bytes, record));
}

int esk_kv_snapshot_get(struct esk_kv_snapshot *snapshot, const void *key,
                        uint8_t key_bytes, void *value, uint32_t room,
                        uint32_t *bytes, uint8_t *type) {
    const struct esk_kv_kept *kept = NULL;
    struct esk_kv_record record;
    int status = ESK_NOT_FOUND;
    int first = ESK_NOT_FOUND; /* what is stale or damaged may be the key's */
    ESK_ASSERT(value != NULL || room == 0);
    ESK_TRY(snapshot_live(snapshot));
    ESK_TRY(esk_kv_key_check(key, key_bytes));
    struct esk_kv *kv = snapshot->kv;
    for (uint16_t salt = 0; salt <= kv->salt_max && status != ESK_OK; salt++) {
        uint32_t hash = esk_kv_hash_begin((uint8_t)salt);
        hash = esk_kv_hash_end(kv, esk_kv_hash_add(hash, key, key_bytes));
        status = then_compare(snapshot, hash, key, key_bytes, &record, &kept);
        if (status == ESK_E_IO) {
            return status;
        }
        first = first == ESK_NOT_FOUND ? status : first;
    }
    if (status != ESK_OK) {
        return first;
    }
    if (record.type == ESK_KV_DELETED) {
        return ESK_NOT_FOUND;
    }
    return read_status(
        kept, esk_kv_value_copy(kv, &record, value, room, bytes, type));
}

/// Finds the record with the smallest hash from *hash on.
/// Returns as esk_kv_newest_next; ESK_NOT_FOUND: there was none of that hash;
/// ESK_E_STALE.
static int then_next(struct esk_kv_snapshot *snapshot, uint32_t *hash,
                     uint32_t *address, const struct esk_kv_kept **kept) {
    struct esk_kv *kv = snapshot->kv;
    uint32_t now = *hash;
    *kept = kept_from(snapshot, *hash);
    int status = esk_kv_newest_next(kv, &now, address);
    if (*kept != NULL && (status == ESK_END || (*kept)->hash <= now)) {
        *hash = (*kept)->hash;
        return kept_address(kv, *kept, address);
    }
    *kept = NULL;
    *hash = now;
    return status;
}

int esk_kv_snapshot_next(struct esk_kv_snapshot *snapshot, uint32_t *cursor,
                         void *key, uint8_t *key_bytes) {
    ESK_ASSERT(cursor != NULL && key != NULL && key_bytes != NULL);
    int status = snapshot_live(snapshot);
    if (status == ESK_E_STALE && *cursor != UINT32_MAX) {
        *cursor = UINT32_MAX; /* no key has this hash */
        return status;
    }
    if (status != ESK_OK) {
        return status == ESK_E_STALE ? ESK_END : status;
    }
    struct esk_kv *kv = snapshot->kv;
    status = ESK_NOT_FOUND;
    for (uint8_t passed = 0; status == ESK_NOT_FOUND; passed++) {
        if (passed == ESK_KV_PASSED_MAX) {
            return ESK_AGAIN;
        }
        const struct esk_kv_kept *kept = NULL;
        struct esk_kv_record record;
        struct esk_kv_place place;
        uint32_t hash = *cursor;
        uint32_t address = 0;
        status = esk_kv_is_hash(kv, hash)
                     ? then_next(snapshot, &hash, &address, &kept)
                     : ESK_END;
        if (status == ESK_END || status == ESK_E_IO) {
            return status;
        }
        if (status == ESK_OK) {
            status = esk_kv_place(kv, address, &place);
        }
        if (status == ESK_OK) {
            status = esk_kv_record_copy(kv, &place, &record, false, key);
        }
        status = read_status(kept, status);
        if (status == ESK_E_IO) {
            return status;
        }
        *cursor = hash + 1;
        if (status == ESK_OK) {
            *key_bytes = record.key_bytes;
            status = record.type == ESK_KV_DELETED ? ESK_NOT_FOUND : ESK_OK;
        }
    }
    return status;
}
