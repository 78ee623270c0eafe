// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Keys in order, by selection.
///
/// Nothing in a table is in the order of keys. A pass reads all keys and stores
/// those that come first behind the last one that was returned, whole: so no
/// key is read again to compare it, or to return it.
///
///     | offsets in order, 2 bytes each | free | keys, length first | last |
///     0                          2 * count  keys_at            last_at  bytes
///
/// Invariants
///  1. What the pass met behind `last` and did not store comes behind every key
///     in the memory. So nothing is stored behind the largest one any more when
///     something was left out.
///  2. A key takes at most half of the memory: `last` and another one always
///     have room, and each pass goes on.
///  3. A stored key was there when the pass read it. If the log has grown since
///     the pass began, it is looked up before it is returned. A pass over the
///     log of a table with an index also stores keys that were deleted: it is
///     cheaper to look up those that are returned than all that it meets.
///
/// A pass by keys goes by their hashes, which stay while keys stay, so it can
/// be made in steps between which the table is changed. A pass over the log
/// reads each page once, but cannot say which keys a damaged page had: where it
/// met fewer keys than there are, a damaged page, or a record without its end,
/// the pass begins again by keys. With an index it counts no keys: so of keys
/// that were lost with a page that is gone it reports none.
#include "esker/arena.h"
#include "table/kv/kv_replay.h"

enum { OFFSET_BYTES = 2 };

static const uint8_t *entry_at(const struct esk_kv_cursor *cursor,
                               uint16_t entry) {
    const uint8_t *offset = cursor->memory + (size_t)entry * OFFSET_BYTES;
    return cursor->memory + esk_load_u16(offset);
}

/// Which of two keys comes first, in ascending order: < 0, 0 or > 0.
static int keys_compare(const uint8_t *a, uint8_t a_bytes, const uint8_t *b,
                        uint8_t b_bytes) {
    uint8_t least = a_bytes < b_bytes ? a_bytes : b_bytes;
    uint8_t i = 0;
    while (i < least && a[i] == b[i]) {
        i++;
    }
    return i < least ? (int)a[i] - (int)b[i] : (int)a_bytes - (int)b_bytes;
}

/// The same in the order of the cursor, of a key and an entry.
static int entry_compare(const struct esk_kv_cursor *cursor, const uint8_t *key,
                         uint8_t key_bytes, const uint8_t *entry) {
    int order = keys_compare(key, key_bytes, entry + 1, entry[0]);
    return cursor->query.backward ? -order : order;
}

/// Whether the query has that key, and it is behind the last one.
static bool key_is_wanted(const struct esk_kv_cursor *cursor,
                          const uint8_t *key, uint8_t bytes) {
    const struct esk_kv_query *query = &cursor->query;
    if (query->prefix_bytes > 0 &&
        (bytes < query->prefix_bytes ||
         !esk_bytes_equal(key, query->prefix, query->prefix_bytes))) {
        return false;
    }
    if (query->from_bytes > 0 &&
        keys_compare(key, bytes, query->from, query->from_bytes) < 0) {
        return false;
    }
    if (query->below_bytes > 0 &&
        keys_compare(key, bytes, query->below, query->below_bytes) >= 0) {
        return false;
    }
    return cursor->last_at == cursor->bytes ||
           entry_compare(cursor, key, bytes, cursor->memory + cursor->last_at) >
               0;
}

/// Whether a key is to be stored; entry: out, before which entry.
static bool key_place(const struct esk_kv_cursor *cursor, const uint8_t *key,
                      uint8_t bytes, uint16_t *entry) {
    uint16_t low = 0;
    uint16_t high = cursor->count;
    if (!key_is_wanted(cursor, key, bytes)) {
        return false;
    }
    while (low < high) {
        uint16_t middle = (uint16_t)((low + high) / 2u);
        int order = entry_compare(cursor, key, bytes, entry_at(cursor, middle));
        if (order == 0) {
            return false;
        }
        if (order < 0) {
            high = middle;
        } else {
            low = (uint16_t)(middle + 1u);
        }
    }
    *entry = low;
    return low < cursor->count || !cursor->left_out;
}

/// Leaves out the last of the keys that are stored.
static void last_drop(struct esk_kv_cursor *cursor) {
    uint8_t *keys = cursor->memory + cursor->keys_at;
    const uint8_t *drop = entry_at(cursor, --cursor->count);
    uint16_t bytes = (uint16_t)(1u + drop[0]);
    esk_bytes_move(keys + bytes, keys, (uint16_t)(drop - keys));
    for (uint16_t entry = 0; entry < cursor->count; entry++) {
        uint8_t *offset = cursor->memory + (size_t)entry * OFFSET_BYTES;
        if (entry_at(cursor, entry) < drop) {
            esk_store_u16(offset, (uint16_t)(esk_load_u16(offset) + bytes));
        }
    }
    cursor->keys_at = (uint16_t)(cursor->keys_at + bytes);
    cursor->left_out = true;
}

/// Bytes that a key takes, with its offset.
static uint16_t entry_bytes(uint8_t key_bytes) {
    return (uint16_t)(OFFSET_BYTES + 1u + key_bytes);
}

/// Whether a key takes at most half of the memory.
static bool key_fits(const struct esk_kv_cursor *cursor, uint8_t key_bytes) {
    return entry_bytes(key_bytes) <= cursor->bytes / 2u;
}

static bool has_room(const struct esk_kv_cursor *cursor, uint16_t bytes) {
    return cursor->keys_at - OFFSET_BYTES * (uint32_t)cursor->count >= bytes;
}

/// Stores a key before entry `entry`, in place of the last ones if need be.
/// Returns ESK_OK, also if it is left out; ESK_E_NO_MEMORY.
static int key_store(struct esk_kv_cursor *cursor, uint16_t entry,
                     const uint8_t *key, uint8_t key_bytes) {
    uint16_t bytes = entry_bytes(key_bytes);
    if (!key_fits(cursor, key_bytes)) {
        return ESK_E_NO_MEMORY;
    }
    while (cursor->count > entry && !has_room(cursor, bytes)) {
        last_drop(cursor);
    }
    if (!has_room(cursor, bytes)) {
        cursor->left_out = true;
        return ESK_OK;
    }
    uint8_t *offset = cursor->memory + (size_t)entry * OFFSET_BYTES;
    esk_bytes_move(offset + OFFSET_BYTES, offset,
                   (uint16_t)((cursor->count - entry) * OFFSET_BYTES));
    cursor->keys_at = (uint16_t)(cursor->keys_at - 1u - key_bytes);
    cursor->count++;
    esk_store_u16(offset, cursor->keys_at);
    uint8_t *to = cursor->memory + cursor->keys_at;
    to[0] = key_bytes;
    memcpy(to + 1, key, key_bytes);
    return ESK_OK;
}

/// Forgets what a pass has selected.
static void selection_clear(struct esk_kv *kv, struct esk_kv_cursor *cursor) {
    cursor->keys_at = cursor->last_at;
    cursor->count = 0;
    cursor->taken = 0;
    cursor->hash = 0;
    cursor->lost = 0;
    cursor->left_out = false;
    cursor->in_doubt = false;
    cursor->mark = esk_kv_mark_next(kv);
}

static void pass_begin(struct esk_kv *kv, struct esk_kv_cursor *cursor) {
    if (cursor->taken > 0) {
        const uint8_t *last = entry_at(cursor, (uint16_t)(cursor->taken - 1u));
        uint16_t bytes = (uint16_t)(1u + last[0]);
        cursor->last_at = (uint16_t)(cursor->bytes - bytes);
        esk_bytes_move(cursor->memory + cursor->last_at, last, bytes);
    }
    selection_clear(kv, cursor);
    cursor->passing = true;
}

static void pass_end(struct esk_kv_cursor *cursor) {
    cursor->passing = false;
    cursor->ended = cursor->count == 0;
}

/// A pass over the log.
struct selection {
    struct esk_kv_walk walk;
    struct esk_kv_cursor *cursor;
};

/// Whether the record at `address`, which is no delete, is to be considered:
/// is it the newest of its key? Of an index this would cost reads.
static int record_counts(struct esk_kv *kv, const struct esk_kv_cursor *cursor,
                         const struct esk_kv_record *record, uint32_t address) {
    return esk_kv_has_index(kv) && key_fits(cursor, record->key_bytes)
               ? ESK_OK
               : esk_kv_is_newest(kv, record->hash, address);
}

/// Stores the key of a record, if it is to be stored.
static int record_select(struct esk_kv *kv, struct esk_kv_walk *walk,
                         const struct esk_kv_record *record, uint32_t address) {
    struct esk_kv_cursor *cursor = ((struct selection *)walk)->cursor;
    uint16_t entry = 0;
    if (record->type == ESK_KV_DELETED) {
        return ESK_OK;
    }
    int status = record_counts(kv, cursor, record, address);
    if (status != ESK_OK) {
        return status == ESK_E_IO ? status : ESK_OK;
    }
    walk->keys_seen++;
    return key_place(cursor, walk->key, record->key_bytes, &entry)
               ? key_store(cursor, entry, walk->key, record->key_bytes)
               : ESK_OK;
}

/// Makes a pass over the log.
/// Returns  ESK_OK; ESK_E_CORRUPT: keys may be lost, and it has to be made by
///          keys; ESK_E_NO_MEMORY; ESK_E_IO.
static int pass_log(struct esk_kv *kv, struct esk_kv_cursor *cursor) {
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    struct selection selection;
    memset(&selection, 0, sizeof selection);
    selection.walk.record = record_select;
    selection.walk.key = key;
    selection.walk.skips = true;
    selection.cursor = cursor;
    selection_clear(kv, cursor);
    cursor->in_doubt = esk_kv_has_index(kv);
    ESK_TRY(esk_kv_walk(kv, &selection.walk));
    bool is_whole = !esk_kv_has_index(kv)
                        ? selection.walk.keys_seen == kv->pending
                        : selection.walk.pages_lost == 0 &&
                              selection.walk.newest_unread == 0 &&
                              selection.walk.records_torn == 0;
    return is_whole ? ESK_OK : ESK_E_CORRUPT;
}

/// Whether a pass over the log reads fewer pages than one by keys.
static bool log_is_short(const struct esk_kv *kv) {
    uint32_t pages = kv->log.head - kv->log.tail;
    return !esk_kv_has_index(kv) ? pages < kv->pending : pages / 2 < kv->keys;
}

/// Goes on with a pass by the next key.
/// Returns  ESK_OK; ESK_END; ESK_E_CORRUPT: it cannot be read;
///          ESK_E_NO_MEMORY; ESK_E_IO.
static int pass_key(struct esk_kv *kv, struct esk_kv_cursor *cursor) {
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    struct esk_kv_record record;
    uint32_t hash = cursor->hash;
    uint16_t entry = 0;
    int status = esk_kv_record_next(kv, &hash, &record, key);
    if (status == ESK_OK && key_place(cursor, key, record.key_bytes, &entry)) {
        status = key_store(cursor, entry, key, record.key_bytes);
    }
    if (status == ESK_E_CORRUPT) {
        /* The passes before may have reported it. */
        cursor->lost++;
        status = cursor->lost > cursor->told ? ESK_E_CORRUPT : ESK_OK;
        cursor->told += status == ESK_OK ? 0 : 1;
    } else if (status != ESK_OK && status != ESK_NOT_FOUND) {
        return status;
    }
    cursor->hash = hash;
    return status == ESK_NOT_FOUND ? ESK_OK : status;
}

/// Makes a pass, or goes on with it.
/// steps    in and out: keys that may be read by this call.
/// Returns  ESK_OK: it is at its end; ESK_AGAIN: it is not; ESK_E_CORRUPT;
///          ESK_E_NO_MEMORY; ESK_E_IO.
static int pass_make(struct esk_kv *kv, struct esk_kv_cursor *cursor,
                     uint32_t *steps) {
    if (!cursor->passing) {
        pass_begin(kv, cursor);
    }
    if (cursor->query.step_keys == 0 && cursor->hash == 0 && !cursor->by_keys &&
        log_is_short(kv)) {
        int status = pass_log(kv, cursor);
        if (status != ESK_E_CORRUPT) {
            ESK_TRY(status);
            pass_end(cursor);
            return ESK_OK;
        }
        cursor->by_keys = true;
        selection_clear(kv, cursor);
    }
    while (*steps > 0) {
        int status = pass_key(kv, cursor);
        if (status == ESK_END) {
            pass_end(cursor);
            return ESK_OK;
        }
        ESK_TRY(status);
        *steps -= 1;
    }
    return ESK_AGAIN;
}

/// Takes the next key that is stored: is it still there?
/// Returns  ESK_OK; ESK_NOT_FOUND; ESK_E_CORRUPT; ESK_E_IO.
static int key_take(struct esk_kv *kv, struct esk_kv_cursor *cursor) {
    const uint8_t *entry = entry_at(cursor, cursor->taken);
    struct esk_kv_record record;
    int status = ESK_OK;
    if (cursor->in_doubt || cursor->mark != esk_kv_mark_next(kv)) {
        status = esk_kv_find(kv, entry + 1, entry[0], &record);
    }
    if (status == ESK_E_IO) {
        return status;
    }
    cursor->taken++;
    cursor->told += status == ESK_E_CORRUPT ? 1 : 0;
    /* ESK_E_LIMIT: all of its hashes are other keys'. */
    return status == ESK_E_LIMIT ? ESK_NOT_FOUND : status;
}

static bool bound_is_valid(const void *key, uint8_t bytes) {
    return bytes == 0 || (key != NULL && bytes <= ESK_KV_KEY_BYTES_MAX);
}

int esk_kv_cursor_open(struct esk_kv *kv, struct esk_kv_cursor *cursor,
                       const struct esk_kv_query *query, void *memory,
                       uint32_t bytes) {
    static const struct esk_kv_query all = {.step_keys = 0};
    ESK_ASSERT(cursor != NULL);
    memset(cursor, 0, sizeof *cursor);
    ESK_TRY(esk_table_live(kv));
    query = query != NULL ? query : &all;
    if (memory == NULL || !bound_is_valid(query->from, query->from_bytes) ||
        !bound_is_valid(query->below, query->below_bytes) ||
        !bound_is_valid(query->prefix, query->prefix_bytes)) {
        return ESK_E_INVALID;
    }
    if (bytes < ESK_KV_CURSOR_BYTES(1, 1)) {
        return ESK_E_NO_MEMORY;
    }
    cursor->kv = kv;
    cursor->query = *query;
    cursor->memory = memory;
    cursor->bytes = bytes < UINT16_MAX ? (uint16_t)bytes : UINT16_MAX;
    cursor->last_at = cursor->bytes;
    cursor->left_out = true;
    return ESK_OK;
}

int esk_kv_cursor_next(struct esk_kv *kv, struct esk_kv_cursor *cursor,
                       void *key, uint8_t *key_bytes) {
    ESK_ASSERT(cursor != NULL && key != NULL && key_bytes != NULL);
    ESK_TRY(esk_table_live(kv));
    if (cursor->kv != kv) {
        return ESK_E_INVALID;
    }
    uint32_t steps = cursor->query.step_keys;
    steps = steps != 0 ? steps : UINT32_MAX;
    for (;;) {
        if (cursor->passing || cursor->taken == cursor->count) {
            if (cursor->ended || (!cursor->passing && !cursor->left_out)) {
                return ESK_END;
            }
            ESK_TRY(pass_make(kv, cursor, &steps));
            continue;
        }
        if (steps-- == 0) {
            return ESK_AGAIN;
        }
        int status = key_take(kv, cursor);
        if (status == ESK_OK) {
            const uint8_t *entry =
                entry_at(cursor, (uint16_t)(cursor->taken - 1u));
            *key_bytes = entry[0];
            memcpy(key, entry + 1, entry[0]);
        }
        if (status != ESK_NOT_FOUND) {
            return status;
        }
    }
}
