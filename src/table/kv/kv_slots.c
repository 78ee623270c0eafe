// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The pending table: open addressing in the order of hashes. A key's slots
/// begin at its hash's *home*, and homes rise with hashes. No two keys have the
/// same hash: it is the key here.
///
///     slot:   hash, 2 to 4 bytes | address, 2 to 4 bytes; all ones: free
///
/// In a table with an index the address's top bit says whether the record is a
/// delete: a step writes the others without reading them.
///
/// Invariants
///  1. No slot between a key's home and its own is free.
///  2. From each home on, hashes rise up to the next free slot. Keys that went
///     on behind the last slot, in the first ones, are before those whose home
///     is there.
///
/// So a search is binary: an index is written in turn, and the hashes whose
/// turn comes next have more keys than slots, which stand far from home.
/// Without an index a key stands a few slots from its home.
///
/// In a program with the shape of a small table the pending table is a *list*:
/// a key stands in any slot. That takes less code; a search compares the hashes
/// of all slots.
#include "table/kv/kv.h"

#define LIST_LOG_BYTES_MAX 16384u

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

/// Whether the table is a list: without an index, and with a short log. An open
/// searches for each of its records.
static inline bool is_list(const struct esk_kv *kv) {
    (void)kv;
    return ESK_SHAPED_KV(!esk_kv_has_index(kv) &&
                             ESK_KV_SHAPE_LOG_BYTES <= LIST_LOG_BYTES_MAX,
                         false);
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

/// The bit of a delete; 0: addresses have no such bit.
static uint32_t delete_bit(const struct esk_kv *kv) {
    return esk_kv_has_index(kv)
               ? UINT32_C(1) << (8u * esk_kv_address_bytes(kv) - 1u)
               : 0;
}

/// The address in a slot, with the bit.
static uint32_t slot_number(const struct esk_kv *kv, uint32_t slot) {
    const uint8_t *at = slot_at(kv, slot) + esk_kv_hash_bytes(kv);
    return esk_kv_number(at, esk_kv_address_bytes(kv));
}

uint32_t esk_kv_slot_address(const struct esk_kv *kv, uint32_t slot) {
    const uint8_t *at = slot_at(kv, slot) + esk_kv_hash_bytes(kv);
    return esk_bytes_are(at, esk_kv_address_bytes(kv), 0xFF)
               ? ESK_KV_NOWHERE
               : slot_number(kv, slot) & ~delete_bit(kv);
}

bool esk_kv_slot_deletes(const struct esk_kv *kv, uint32_t slot) {
    return (slot_number(kv, slot) & delete_bit(kv)) != 0;
}

/// Whether the slot at a distance from `home` has a key that stands before
/// `hash`, whose home that is.
static bool slot_is_before(const struct esk_kv *kv, uint32_t home,
                           uint32_t distance, uint32_t hash) {
    uint32_t at = home + distance;
    bool went_on = at >= kv->slot_count;
    at -= went_on ? kv->slot_count : 0;
    if (distance >= kv->slot_count ||
        esk_kv_slot_address(kv, at) == ESK_KV_NOWHERE) {
        return false;
    }
    uint32_t other = esk_kv_slot_hash(kv, at);
    bool other_went_on = slot_home(kv, other) > at;
    return other_went_on == went_on ? other < hash : other_went_on;
}

/// Whether a search is binary: not in a program with a shape without an index.
static inline bool searches(void) {
    return ESK_SHAPED_KV(esk_shape_kv.keys != 0, true);
}

/// How many slots from `home` on are before `hash`.
static uint32_t slots_before(const struct esk_kv *kv, uint32_t home,
                             uint32_t hash) {
    uint32_t before = 0;
    uint32_t step = 1;
    while (slot_is_before(kv, home, before + step - 1u, hash)) {
        before += step;
        step *= searches() ? 2u : 1u;
    }
    while (searches() && step > 1) {
        step /= 2u;
        if (slot_is_before(kv, home, before + step - 1u, hash)) {
            before += step;
        }
    }
    return before;
}

static bool order_find(const struct esk_kv *kv, uint32_t hash, uint32_t *slot) {
    uint32_t home = slot_home(kv, hash);
    uint32_t at = home + slots_before(kv, home, hash);
    at -= at >= kv->slot_count ? kv->slot_count : 0;
    *slot = at;
    return esk_kv_slot_address(kv, at) != ESK_KV_NOWHERE &&
           esk_kv_slot_hash(kv, at) == hash;
}

bool esk_kv_list_find(const struct esk_kv *kv, uint32_t hash, uint32_t *slot) {
    uint32_t none = UINT32_MAX >> (32u - 8u * esk_kv_hash_bytes(kv));
    uint32_t at = kv->slot_count;
    while (at > 0) {
        at--;
        uint32_t is = esk_kv_slot_hash(kv, at);
        if (is != hash && is != none) {
            continue; /* most slots */
        }
        bool is_free = esk_kv_slot_address(kv, at) == ESK_KV_NOWHERE;
        if (is_free || is == hash) {
            *slot = at;
        }
        if (!is_free && is == hash) {
            return true;
        }
    }
    return false;
}

bool esk_kv_slot_find(const struct esk_kv *kv, uint32_t hash, uint32_t *slot) {
    return is_list(kv) ? esk_kv_list_find(kv, hash, slot)
                       : order_find(kv, hash, slot);
}

/// Stores an address, with the bit.
static void slot_store(struct esk_kv *kv, uint32_t slot, uint32_t number) {
    esk_kv_number_store(slot_at(kv, slot) + esk_kv_hash_bytes(kv),
                        esk_kv_address_bytes(kv), number);
}

static void slot_copy(struct esk_kv *kv, uint32_t to, uint32_t from) {
    memcpy(slot_at(kv, to), slot_at(kv, from), esk_kv_slot_bytes(kv));
}

void esk_kv_slot_set(struct esk_kv *kv, uint32_t slot, uint32_t hash,
                     uint32_t address, bool deletes) {
    uint32_t end = slot;
    if (esk_kv_slot_address(kv, slot) == ESK_KV_NOWHERE ||
        esk_kv_slot_hash(kv, slot) != hash) {
        kv->pending++;
        while (!is_list(kv) && esk_kv_slot_address(kv, end) != ESK_KV_NOWHERE) {
            end = slot_next(kv, end);
        }
    }
    /* Keys from here to the free slot move on. */
    while (end != slot) {
        uint32_t from = (end > 0 ? end : kv->slot_count) - 1u;
        slot_copy(kv, end, from);
        end = from;
    }
    esk_kv_number_store(slot_at(kv, slot), esk_kv_hash_bytes(kv), hash);
    slot_store(kv, slot, address | (deletes ? delete_bit(kv) : 0));
}

void esk_kv_slot_free(struct esk_kv *kv, uint32_t slot) {
    uint32_t next = slot_next(kv, slot);
    /* Keys that are not at home move back. */
    while (!is_list(kv) && esk_kv_slot_address(kv, next) != ESK_KV_NOWHERE &&
           slot_home(kv, esk_kv_slot_hash(kv, next)) != next) {
        slot_copy(kv, slot, next);
        slot = next;
        next = slot_next(kv, slot);
    }
    memset(slot_at(kv, slot), 0xFF, esk_kv_slot_bytes(kv));
    kv->pending--;
}

void esk_kv_slot_take(struct esk_kv *kv, uint32_t hash, uint32_t address,
                      bool deletes) {
    uint32_t slot = 0;
    bool is_there = esk_kv_slot_find(kv, hash, &slot);
    if (!deletes || esk_kv_has_index(kv)) {
        esk_kv_slot_set(kv, slot, hash, address, deletes);
    } else if (is_there) {
        esk_kv_slot_free(kv, slot);
    }
}

static bool order_next(const struct esk_kv *kv, uint32_t hash, uint32_t *slot) {
    uint32_t home = slot_home(kv, hash);
    uint32_t at = home + slots_before(kv, home, hash);
    while (at < kv->slot_count &&
           esk_kv_slot_address(kv, at) == ESK_KV_NOWHERE) {
        at++;
    }
    *slot = at < kv->slot_count ? at : at - kv->slot_count;
    /* Behind the last slot are keys only that went on there. */
    return at < kv->slot_count ||
           (esk_kv_slot_address(kv, *slot) != ESK_KV_NOWHERE &&
            slot_home(kv, esk_kv_slot_hash(kv, *slot)) > *slot);
}

bool esk_kv_list_next(const struct esk_kv *kv, uint32_t hash, uint32_t *slot) {
    uint32_t best = UINT32_MAX;
    bool is_there = false;
    for (uint32_t at = 0; at < kv->slot_count; at++) {
        uint32_t is = esk_kv_slot_hash(kv, at);
        if (is >= hash && is <= best &&
            esk_kv_slot_address(kv, at) != ESK_KV_NOWHERE) {
            best = is;
            *slot = at;
            is_there = true;
        }
    }
    return is_there;
}

bool esk_kv_slot_next(const struct esk_kv *kv, uint32_t hash, uint32_t *slot) {
    return is_list(kv) ? esk_kv_list_next(kv, hash, slot)
                       : order_next(kv, hash, slot);
}

uint32_t esk_kv_slot_position(const struct esk_kv *kv, uint32_t slot) {
    uint32_t address = esk_kv_slot_address(kv, slot);
    return address == ESK_KV_NOWHERE ? address : esk_kv_position(kv, address);
}

uint32_t esk_kv_slots_drop(struct esk_kv *kv, uint32_t from, uint32_t to) {
    uint32_t dropped = 0;
    uint32_t slot = 0;
    while (slot < kv->slot_count) {
        uint32_t position = esk_kv_slot_position(kv, slot);
        if (position >= from && position < to) {
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
    *position = ESK_KV_NOWHERE;
    for (uint32_t slot = 0; slot < kv->slot_count; slot++) {
        uint32_t at = esk_kv_slot_position(kv, slot);
        if (at < *position) {
            oldest = slot;
            *position = at;
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
            slot_store(kv, slot,
                       slot_number(kv, slot) - first + to * page_bytes);
        }
    }
}
