// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The hash of a key: FNV-1a, 32 bits, of the salt and the key's bytes, mixed,
/// so that its high bits depend on all of these. It is on flash in one sense:
/// which keys have equal hashes, and so a salt.
#include "table/kv/kv.h"

#define HASH_START UINT32_C(2166136261)
#define HASH_PRIME UINT32_C(16777619)
#define HASH_MIX UINT32_C(0x7FEB352D)

uint32_t esk_kv_hash_add(uint32_t hash, const uint8_t *bytes, uint16_t count) {
    for (uint16_t i = 0; i < count; i++) {
        hash = (hash ^ bytes[i]) * HASH_PRIME;
    }
    return hash;
}

uint32_t esk_kv_hash_begin(uint8_t salt) {
    return esk_kv_hash_add(HASH_START, &salt, 1);
}

uint32_t esk_kv_hash_end(const struct esk_kv *kv, uint32_t hash) {
    hash = (hash ^ hash >> 16) * HASH_MIX;
    hash ^= hash >> 15;
    /* A walk asks for the hash after one. */
    hash -= hash == UINT32_MAX ? 1 : 0;
    return hash >> (32u - 8u * esk_kv_hash_bytes(kv));
}
