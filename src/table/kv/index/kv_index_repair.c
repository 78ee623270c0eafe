// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Leaves that cannot be read: their entries, found in the log.
#include "table/kv/index/kv_index.h"
#include "table/kv/kv_replay.h"

/// A walk over the log for the records of a leaf.
struct repair {
    struct esk_kv_walk walk;
    uint32_t leaf;
    uint32_t from;  ///< hashes from here on ...
    uint32_t bound; ///< ... up to here; UINT32_MAX: all
    uint32_t address;
    uint16_t count; ///< entries in `node`
};

/// Whether a record is wanted: in a replay and in a step, of those before the
/// limit.
static bool repair_wants(const struct esk_kv *kv, const struct repair *repair,
                         const struct esk_kv_record *record, uint32_t address) {
    const struct esk_kv_index *head = kv->index;
    return esk_kv_leaf_of(esk_kv_index(kv), record->hash) == repair->leaf &&
           record->hash >= repair->from && record->hash < repair->bound &&
           (!head->is_limited ||
            esk_kv_mark_before(esk_kv_mark(kv, address), head->limit));
}

/// Takes the smallest hash, and its newest record.
static int first_take(struct esk_kv *kv, struct esk_kv_walk *walk,
                      const struct esk_kv_record *record, uint32_t address) {
    struct repair *repair = (struct repair *)walk;
    if (repair_wants(kv, repair, record, address)) {
        repair->bound = record->hash + 1;
        repair->address = address;
    }
    return ESK_OK;
}

int esk_kv_leaf_first(struct esk_kv *kv, uint32_t leaf, uint32_t *hash,
                      uint32_t from, uint32_t *address) {
    struct repair repair;
    memset(&repair, 0, sizeof repair);
    repair.walk.record = first_take;
    repair.leaf = leaf;
    repair.from = from;
    repair.bound = UINT32_MAX;
    ESK_TRY(esk_kv_walk(kv, &repair.walk));
    *hash = repair.bound == UINT32_MAX ? UINT32_MAX : repair.bound - 1;
    *address = repair.address;
    return ESK_OK;
}

/// The leaf that is made in `node`.
static void made_leaf(const struct esk_kv *kv, const struct repair *repair,
                      struct esk_kv_leaf *leaf) {
    const struct esk_kv_index_open *index = esk_kv_index(kv);
    memset(leaf, 0, sizeof *leaf);
    leaf->entries = esk_kv_node(kv) + ESK_ENVELOPE_BYTES + ESK_KV_LEAF_HEAD;
    leaf->base = esk_kv_leaf_hash(index, repair->leaf);
    leaf->count = repair->count;
}

/// The entry in `node` that has a hash; the entry behind the last: none has.
/// largest  out: the entry with the largest hash.
static uint16_t entry_find(const struct esk_kv *kv, const struct repair *repair,
                           uint32_t hash, uint16_t *largest) {
    struct esk_kv_leaf leaf;
    uint16_t found = repair->count;
    uint32_t most = 0;
    made_leaf(kv, repair, &leaf);
    for (uint16_t i = 0; i < repair->count; i++) {
        uint32_t address = 0;
        uint32_t is = esk_kv_leaf_entry(kv, &leaf, i, &address);
        found = is == hash ? i : found;
        *largest = is >= most ? i : *largest;
        most = is >= most ? is : most;
    }
    return found;
}

/// Makes a record the newest of its hash in `node`. When that is full, the
/// largest hash is for the next page.
static int record_enter(struct esk_kv *kv, struct esk_kv_walk *walk,
                        const struct esk_kv_record *record, uint32_t address) {
    struct repair *repair = (struct repair *)walk;
    struct esk_kv_leaf leaf;
    uint32_t at = 0;
    uint16_t largest = 0;
    if (!repair_wants(kv, repair, record, address)) {
        return ESK_OK;
    }
    uint16_t entry = entry_find(kv, repair, record->hash, &largest);
    made_leaf(kv, repair, &leaf);
    if (record->type == ESK_KV_DELETED) {
        if (entry < repair->count) {
            repair->count--;
            uint32_t last = esk_kv_leaf_entry(kv, &leaf, repair->count, &at);
            esk_kv_leaf_store(kv, entry, last, at);
        }
        return ESK_OK;
    }
    if (entry == esk_kv_index(kv)->layout.leaf_entries) {
        uint32_t most = esk_kv_leaf_entry(kv, &leaf, largest, &at);
        repair->bound = most > record->hash ? most : record->hash;
        if (repair->bound == record->hash) {
            return ESK_OK;
        }
        entry = largest;
    } else if (entry == repair->count) {
        repair->count++;
    }
    esk_kv_leaf_store(kv, entry, record->hash, address);
    return ESK_OK;
}

int esk_kv_leaf_remake(struct esk_kv *kv, uint32_t leaf, uint32_t *from,
                       uint16_t *count) {
    struct repair repair;
    memset(&repair, 0, sizeof repair);
    repair.walk.record = record_enter;
    repair.leaf = leaf;
    repair.from = *from;
    repair.bound = UINT32_MAX;
    esk_kv_index(kv)->node_inner = ESK_KV_NO_INNER;
    ESK_TRY(esk_kv_walk(kv, &repair.walk));
    *from = repair.bound;
    *count = repair.count;
    return ESK_OK;
}
