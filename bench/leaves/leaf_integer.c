// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Searches of leaves whose keys are integers; leaf.h has the formats.

#include "bench/leaves/leaf.h"

#include "base/bytes.h"

#define LEAF_WORD uint64_t
#define LEAF_NAMED(name) leaf_long_##name
#include "bench/leaves/leaf_word.inc"
#undef LEAF_WORD
#undef LEAF_NAMED

#define LEAF_WORD uint32_t
#define LEAF_NAMED(name) leaf_word_##name
#include "bench/leaves/leaf_word.inc"

/// The next Rice code; moves `bit` behind it. Codes begin with the low bits.
static uint32_t rice_next(const uint8_t *codes, uint16_t *bit, uint8_t k) {
    uint32_t quotient = 0;
    const uint8_t *at = codes + (*bit >> 3);
    uint8_t mask = (uint8_t)(1u << (*bit & 7u));
    uint16_t begin = *bit;
    while ((*at & mask) != 0) {
        quotient++;
        mask = (uint8_t)(mask << 1);
        if (mask == 0) {
            mask = 1;
            at++;
        }
    }
    begin = (uint16_t)(begin + quotient + 1u);
    at = codes + (begin >> 3);
    uint8_t shift = begin & 7u;
    uint32_t low = esk_load_u32(at) >> shift;
    if (shift > 0 && k + shift > 32) {
        low |= (uint32_t)at[4] << (32u - shift);
    }
    *bit = (uint16_t)(begin + k);
    return quotient << k | (low & ((UINT32_C(1) << k) - 1u));
}

const uint8_t *leaf_rice_search(const struct leaf_shape *shape, uint8_t *page,
                                const struct leaf_key *key) {
    uint32_t wanted = leaf_word_load(key->data, shape->key_bytes);
    uint16_t count = esk_load_u16(page + LEAF_COUNT);
    uint8_t place = (uint8_t)(shape->key_bytes + 2u);
    uint16_t low = 0;
    uint16_t high = leaf_wholes(shape, count);
    while (high - low > 1) {
        uint16_t middle = (uint16_t)((low + high) / 2u);
        const uint8_t *at = page + leaf_place(shape, middle, place);
        if (leaf_word_load(at + 2, shape->key_bytes) <= wanted) {
            low = middle;
        } else {
            high = middle;
        }
    }
    const uint8_t *at = page + leaf_place(shape, low, place);
    const uint8_t *values = page + LEAF_BODY + 1;
    const uint8_t *codes = values + (uint16_t)(count * shape->value_bytes);
    uint32_t word = leaf_word_load(at + 2, shape->key_bytes);
    uint16_t bit = esk_load_u16(at);
    uint16_t index = (uint16_t)(low << shape->spacing);
    uint16_t end = (uint16_t)(index + (1u << shape->spacing));
    end = end < count ? end : count;
    while (word < wanted && ++index < end) {
        word += rice_next(codes, &bit, page[LEAF_BODY]) + 1u;
    }
    return word == wanted ? values + (uint16_t)(index * shape->value_bytes)
                          : NULL;
}
