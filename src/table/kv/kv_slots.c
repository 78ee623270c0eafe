// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The pending table: open addressing, a key in the first free slot from its
/// hash's *home* on. Homes rise with hashes, so the table is nearly in the
/// order of hashes. No two keys have the same hash: it is the key here.
///
///     slot:   hash, 2 to 4 bytes | address, 2 to 4 bytes; all ones: free
#include "table/kv/kv.h"

static uint8_t *slot_at(const struct esk_kv *kv, uint32_t slot) {
    return kv->slots + (size_t)slot * esk_kv_slot_bytes(kv);
}

uint32_t esk_kv_number(const uint8_t *bytes, uint8_t count) {
    uint32_t value = 0;
    while (count > 0) {
        count--;
        value = value << 8 | bytes[count];
    }
    return value;
}

void esk_kv_number_store(uint8_t *bytes, uint8_t count, uint32_t value) {
    for (uint8_t i = 0; i < count; i++) {
        bytes[i] = esk_byte_from(value, (uint8_t)(8 * i));
    }
}

uint32_t esk_kv_slot_hash(const struct esk_kv *kv, uint32_t slot) {
    return esk_kv_number(slot_at(kv, slot), esk_kv_hash_bytes(kv));
}

/// Where a key's slots begin: its hash's share of the table, by 16 bits of it.
static uint32_t slot_home(const struct esk_kv *kv, uint32_t hash) {
    uint32_t top = hash >> (8u * esk_kv_hash_bytes(kv) - 16u);
    return top * (kv->slot_count >> 16) +
           (top * (kv->slot_count & 0xFFFFu) >> 16);
}

static uint32_t slot_next(const struct esk_kv *kv, uint32_t slot) {
    return slot + 1 < kv->slot_count ? slot + 1 : 0;
}

void esk_kv_slots_clear(struct esk_kv *kv) {
    memset(kv->slots, 0xFF, (size_t)kv->slot_count * esk_kv_slot_bytes(kv));
    kv->pending = 0;
}

uint32_t esk_kv_slot_address(const struct esk_kv *kv, uint32_t slot) {
    const uint8_t *at = slot_at(kv, slot) + esk_kv_hash_bytes(kv);
    return esk_bytes_are(at, esk_kv_address_bytes(kv), 0xFF)
               ? ESK_KV_NOWHERE
               : esk_kv_number(at, esk_kv_address_bytes(kv));
}

bool esk_kv_slot_find(const struct esk_kv *kv, uint32_t hash, uint32_t *slot) {
    uint32_t at = slot_home(kv, hash);
    while (esk_kv_slot_address(kv, at) != ESK_KV_NOWHERE) {
        if (esk_kv_slot_hash(kv, at) == hash) {
            *slot = at;
            return true;
        }
        at = slot_next(kv, at);
    }
    *slot = at;
    return false;
}

static void slot_store(struct esk_kv *kv, uint32_t slot, uint32_t hash,
                       uint32_t address) {
    uint8_t *at = slot_at(kv, slot);
    esk_kv_number_store(at, esk_kv_hash_bytes(kv), hash);
    esk_kv_number_store(at + esk_kv_hash_bytes(kv), esk_kv_address_bytes(kv),
                        address);
}

void esk_kv_slot_set(struct esk_kv *kv, uint32_t slot, uint32_t hash,
                     uint32_t address) {
    kv->pending += esk_kv_slot_address(kv, slot) == ESK_KV_NOWHERE ? 1 : 0;
    slot_store(kv, slot, hash, address);
}

void esk_kv_slot_free(struct esk_kv *kv, uint32_t slot) {
    uint32_t at = slot_next(kv, slot);
    while (esk_kv_slot_address(kv, at) != ESK_KV_NOWHERE) {
        /* A key may move back unless its own slots begin behind the gap. */
        uint32_t hash = esk_kv_slot_hash(kv, at);
        uint32_t start = slot_home(kv, hash);
        uint32_t from_gap = at >= slot ? at - slot : at + kv->slot_count - slot;
        uint32_t from_start =
            at >= start ? at - start : at + kv->slot_count - start;
        if (from_start >= from_gap) {
            slot_store(kv, slot, hash, esk_kv_slot_address(kv, at));
            slot = at;
        }
        at = slot_next(kv, at);
    }
    memset(slot_at(kv, slot), 0xFF, esk_kv_slot_bytes(kv));
    kv->pending--;
}

/// Looks at slot `at` for esk_kv_slot_next. went_on: keys that went on behind
/// the last slot are looked for. Returns whether the slot is taken.
static bool slot_look(const struct esk_kv *kv, uint32_t at, bool went_on,
                      uint32_t from, uint32_t *best, uint32_t *slot) {
    if (esk_kv_slot_address(kv, at) == ESK_KV_NOWHERE) {
        return false;
    }
    uint32_t hash = esk_kv_slot_hash(kv, at);
    if (hash >= from && hash < *best && (slot_home(kv, hash) > at) == went_on) {
        *best = hash;
        *slot = at;
    }
    return true;
}

bool esk_kv_slot_next(const struct esk_kv *kv, uint32_t hash, uint32_t *slot) {
    uint32_t best = UINT32_MAX;
    uint32_t at = slot_home(kv, hash);
    while (
        at < kv->slot_count &&
        (slot_look(kv, at, false, hash, &best, slot) || best == UINT32_MAX)) {
        at++;
    }
    if (at == kv->slot_count) {
        at = 0;
        while (slot_look(kv, at, true, hash, &best, slot)) {
            at++;
        }
    }
    return best != UINT32_MAX;
}

uint32_t esk_kv_slots_drop(struct esk_kv *kv, uint32_t from, uint32_t to) {
    uint32_t dropped = 0;
    uint32_t slot = 0;
    while (slot < kv->slot_count) {
        uint32_t address = esk_kv_slot_address(kv, slot);
        uint32_t position = from;
        if (address != ESK_KV_NOWHERE) {
            position = esk_kv_position(kv, address);
        }
        if (address != ESK_KV_NOWHERE && position >= from && position < to) {
            esk_kv_slot_free(kv, slot); /* another key may move here */
            dropped++;
        } else {
            slot++;
        }
    }
    return dropped;
}

uint32_t esk_kv_slots_oldest(const struct esk_kv *kv, uint32_t *position) {
    uint32_t oldest = 0;
    *position = UINT32_MAX;
    for (uint32_t slot = 0; slot < kv->slot_count; slot++) {
        uint32_t address = esk_kv_slot_address(kv, slot);
        if (address != ESK_KV_NOWHERE &&
            esk_kv_position(kv, address) < *position) {
            oldest = slot;
            *position = esk_kv_position(kv, address);
        }
    }
    return oldest;
}

void esk_kv_slots_move(struct esk_kv *kv, uint32_t from, uint32_t to) {
    uint16_t page_bytes = esk_envelope_page_bytes(&kv->log.region.envelope);
    uint32_t first = from * page_bytes;
    for (uint32_t slot = 0; slot < kv->slot_count; slot++) {
        uint32_t address = esk_kv_slot_address(kv, slot);
        if (address != ESK_KV_NOWHERE && address >= first &&
            address - first < page_bytes) {
            slot_store(kv, slot, esk_kv_slot_hash(kv, slot),
                       address - first + to * page_bytes);
        }
    }
}
