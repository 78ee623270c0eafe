// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Batches: changes of which power loss leaves all or none.
///
/// The records of a batch follow one another in one block, and all but the last
/// say that another one follows. A reader takes them when the last one is
/// there.
///
/// Invariants
///  1. Everything that can refuse a change does so before the first record is
///     written; then neither the collector nor a step of the index comes
///     between two records.
///  2. Deletes are written first. So the pending table has room for the other
///     changes, here and in a replay.
///  3. A batch counts as one record of all its bytes where room is reckoned:
///     what it leaves of a block may be as long.
#include "table/kv/kv.h"

/// What the changes of a batch add up to.
struct batch {
    struct esk_kv_change *changes;
    uint16_t count;
    uint32_t bytes;  ///< of all records
    uint32_t live;   ///< of those of values
    uint32_t before; ///< of what is replaced
    uint32_t keys;   ///< that are new
    uint32_t gone;   ///< keys that are removed
};

/// Gives a new key the next salt with which no key of the table has its hash.
static int salt_next(struct esk_kv *kv, struct esk_kv_change *change) {
    int status = ESK_OK;
    while (status == ESK_OK || status == ESK_E_CORRUPT) {
        uint32_t address = 0;
        if (change->salt == UINT8_MAX) {
            return ESK_E_LIMIT;
        }
        change->salt++;
        uint32_t hash = esk_kv_hash_begin(change->salt);
        hash = esk_kv_hash_add(hash, change->key, change->key_bytes);
        change->hash = esk_kv_hash_end(kv, hash);
        status = esk_kv_newest(kv, change->hash, &address);
    }
    return status == ESK_NOT_FOUND ? ESK_OK : status;
}

/// Makes the hash of change `at` differ from those before it.
/// Returns  ESK_OK; ESK_E_INVALID: one of these has its key; as esk_kv_put.
static int hash_make_unique(struct esk_kv *kv, struct esk_kv_change *changes,
                            uint16_t at) {
    struct esk_kv_change *change = &changes[at];
    uint16_t i = 0;
    while (i < at) {
        const struct esk_kv_change *other = &changes[i];
        i++;
        if (other->hash != change->hash) {
            continue;
        }
        if (other->key_bytes == change->key_bytes &&
            esk_bytes_equal(other->key, change->key, change->key_bytes)) {
            return ESK_E_INVALID;
        }
        if (change->is_there) {
            return ESK_E_CORRUPT; /* the record may be of either key */
        }
        ESK_TRY(salt_next(kv, change));
        i = 0;
    }
    return ESK_OK;
}

/// Checks change `at`, and adds it to the batch.
static int change_add(struct esk_kv *kv, struct batch *batch, uint16_t at) {
    struct esk_kv_change *change = &batch->changes[at];
    uint32_t block = esk_kv_block_room(kv);
    if (esk_kv_has_index(kv) && at >= kv->pending_max) {
        return ESK_E_LIMIT;
    }
    ESK_TRY(esk_kv_change_find(kv, change));
    ESK_TRY(hash_make_unique(kv, batch->changes, at));
    uint32_t bytes = esk_kv_change_bytes(change);
    if (change->bytes > block || bytes > block - batch->bytes) {
        return ESK_E_LIMIT;
    }
    batch->bytes += bytes;
    batch->before += change->is_there ? change->before : 0;
    if (change->type == ESK_KV_DELETED) {
        batch->gone++;
        return ESK_OK;
    }
    batch->live += bytes;
    batch->keys += change->is_there ? 0 : 1;
    return ESK_OK;
}

/// Whether the table has room for the batch.
static int batch_admit(const struct esk_kv *kv, const struct batch *batch) {
    uint32_t longest = kv->longest;
    uint32_t before = batch->before < kv->live ? batch->before : kv->live;
    uint32_t live = kv->live - before + batch->live;
    uint32_t keys = kv->keys + batch->keys - batch->gone;
    if (batch->keys > 0 && keys > esk_kv_keys_max(kv)) {
        return ESK_FULL;
    }
    if (batch->bytes <= longest && live <= kv->live) {
        return ESK_OK; /* it goes as a value that is not longer does */
    }
    longest = batch->bytes > longest ? batch->bytes : longest;
    return live <= esk_kv_live_most(kv, longest) ? ESK_OK : ESK_FULL;
}

/// Notes which records the batch replaces.
static void slots_note(const struct esk_kv *kv, const struct batch *batch) {
    for (uint16_t i = 0; i < batch->count; i++) {
        struct esk_kv_change *change = &batch->changes[i];
        uint32_t slot = 0;
        change->was = esk_kv_slot_find(kv, change->hash, &slot)
                          ? esk_kv_slot_address(kv, slot)
                          : ESK_KV_NOWHERE;
    }
}

/// Makes these records the newest of their keys again, of deletes or of the
/// other changes. first: address that the first record had.
static void slots_restore(struct esk_kv *kv, const struct batch *batch,
                          bool deletes, uint32_t first) {
    uint32_t page_bytes = esk_envelope_page_bytes(&kv->log.region.envelope);
    uint32_t from = first / page_bytes;
    for (uint16_t i = 0; i < batch->count; i++) {
        const struct esk_kv_change *change = &batch->changes[i];
        uint32_t was = change->was;
        uint32_t slot = 0;
        if ((change->type == ESK_KV_DELETED) != deletes) {
            continue;
        }
        bool is_there = esk_kv_slot_find(kv, change->hash, &slot);
        if (was != ESK_KV_NOWHERE) {
            /* The page of the first record went to another place? */
            if (was / page_bytes == from) {
                was =
                    kv->record_at / page_bytes * page_bytes + was % page_bytes;
            }
            esk_kv_slot_set(kv, slot, change->hash, was, !change->is_there);
        } else if (is_there) {
            esk_kv_slot_free(kv, slot);
        }
    }
}

/// Writes the records of deletes or of the other changes, and makes each the
/// newest of its key. left: in and out, records to come.
static int changes_write(struct esk_kv *kv, const struct batch *batch,
                         bool deletes, uint16_t *left) {
    for (uint16_t i = 0; i < batch->count; i++) {
        const struct esk_kv_change *change = &batch->changes[i];
        uint32_t address = 0;
        if ((change->type == ESK_KV_DELETED) != deletes) {
            continue;
        }
        (*left)--;
        ESK_TRY(esk_kv_record_append(kv, &address));
        /* Before it is written: its page may go to another place. */
        esk_kv_change_take(kv, change, address);
        ESK_TRY(esk_kv_change_write(
            kv, change, *left > 0 ? (uint16_t)ESK_KV_WORD_MORE : 0));
    }
    return ESK_OK;
}

/// Writes the batch, or leaves the table as it was.
static int batch_write(struct esk_kv *kv, const struct batch *batch) {
    ESK_TRY(esk_kv_record_begin(kv, batch->bytes));
    uint16_t mark = kv->used;
    uint16_t left = batch->count;
    uint32_t first = kv->record_at;
    slots_note(kv, batch);
    esk_kv_snapshots_batch(kv, false);
    int status = changes_write(kv, batch, true, &left);
    if (status == ESK_OK) {
        status = changes_write(kv, batch, false, &left);
    }
    if (status != ESK_OK) {
        slots_restore(kv, batch, false, first);
        slots_restore(kv, batch, true, first);
        esk_kv_snapshots_batch(kv, true);
        esk_kv_record_abort(kv, mark);
    }
    return status;
}

int esk_kv_change_many(struct esk_kv *kv, struct esk_kv_change *changes,
                       uint16_t count, uint16_t *refused) {
    struct batch batch = {.changes = changes, .count = count};
    uint16_t at = 0;
    ESK_ASSERT(changes != NULL || count == 0);
    int status = esk_table_live(kv);
    while (status == ESK_OK && at < count) {
        status = change_add(kv, &batch, at);
        at = (uint16_t)(at + (status == ESK_OK ? 1 : 0));
    }
    if (status == ESK_OK && count > 0) {
        status = batch_admit(kv, &batch);
        if (status == ESK_OK) {
            status = esk_kv_changes_room(kv, changes, count, batch.bytes);
        }
        if (status == ESK_OK) {
            status = batch_write(kv, &batch);
        }
    }
    if (status != ESK_OK) {
        if (refused != NULL) {
            *refused = at;
        }
        return status;
    }
    kv->longest = batch.bytes > kv->longest ? batch.bytes : kv->longest;
    for (uint16_t i = 0; i < count; i++) {
        esk_kv_change_count(kv, &changes[i]);
    }
    return ESK_OK;
}
