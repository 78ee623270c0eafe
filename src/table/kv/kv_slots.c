// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The pending table: open addressing, a key in the first free slot from its
/// hash on. No two keys have the same hash, so a hash is the key here.
///
///     slot:   hash, 2 or 4 bytes | address, 2 to 4 bytes; all ones: free
#include "table/kv/kv.h"

static uint8_t *slot_at(const struct esk_kv *kv, uint32_t slot) {
    return kv->slots + (size_t)slot * esk_kv_slot_bytes(kv);
}

/// The number in `count` little-endian bytes.
static uint32_t number(const uint8_t *bytes, uint8_t count) {
    uint32_t value = 0;
    while (count > 0) {
        count--;
        value = value << 8 | bytes[count];
    }
    return value;
}

static uint32_t slot_hash(const struct esk_kv *kv, uint32_t slot) {
    return number(slot_at(kv, slot), kv->hash_bytes);
}

static uint32_t slot_next(const struct esk_kv *kv, uint32_t slot) {
    return slot + 1 < kv->slot_count ? slot + 1 : 0;
}

void esk_kv_slots_clear(struct esk_kv *kv) {
    memset(kv->slots, 0xFF, (size_t)kv->slot_count * esk_kv_slot_bytes(kv));
    kv->keys = 0;
}

uint32_t esk_kv_slot_address(const struct esk_kv *kv, uint32_t slot) {
    const uint8_t *at = slot_at(kv, slot) + kv->hash_bytes;
    return esk_bytes_are(at, kv->address_bytes, 0xFF)
               ? ESK_KV_NOWHERE
               : number(at, kv->address_bytes);
}

bool esk_kv_slot_find(const struct esk_kv *kv, uint32_t hash, uint32_t *slot) {
    uint32_t at = hash % kv->slot_count;
    while (esk_kv_slot_address(kv, at) != ESK_KV_NOWHERE) {
        if (slot_hash(kv, at) == hash) {
            *slot = at;
            return true;
        }
        at = slot_next(kv, at);
    }
    *slot = at;
    return false;
}

void esk_kv_slot_set(struct esk_kv *kv, uint32_t slot, uint32_t hash,
                     uint32_t address) {
    uint8_t *at = slot_at(kv, slot);
    for (uint8_t i = 0; i < kv->hash_bytes; i++) {
        *at++ = esk_byte_from(hash, (uint8_t)(8 * i));
    }
    for (uint8_t i = 0; i < kv->address_bytes; i++) {
        *at++ = esk_byte_from(address, (uint8_t)(8 * i));
    }
}

void esk_kv_slot_free(struct esk_kv *kv, uint32_t slot) {
    uint32_t at = slot_next(kv, slot);
    while (esk_kv_slot_address(kv, at) != ESK_KV_NOWHERE) {
        /* A key may move back unless its own slots begin behind the gap. */
        uint32_t hash = slot_hash(kv, at);
        uint32_t start = hash % kv->slot_count;
        uint32_t from_gap = at >= slot ? at - slot : at + kv->slot_count - slot;
        uint32_t from_start =
            at >= start ? at - start : at + kv->slot_count - start;
        if (from_start >= from_gap) {
            esk_kv_slot_set(kv, slot, hash, esk_kv_slot_address(kv, at));
            slot = at;
        }
        at = slot_next(kv, at);
    }
    memset(slot_at(kv, slot), 0xFF, esk_kv_slot_bytes(kv));
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
            kv->keys--;
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
            esk_kv_slot_set(kv, slot, slot_hash(kv, slot),
                            address - first + to * page_bytes);
        }
    }
}
