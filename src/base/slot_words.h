// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Slots of 64 bits as words of 32, the low one first, for an 8-bit chip in a
/// build for speed: a shift of 64 bits is a loop there, a sum a call. slot.h
/// says what they do.
#ifndef ESK_BASE_SLOT_WORDS_H
#define ESK_BASE_SLOT_WORDS_H

#include <string.h>

#include "base/slot.h"

#if ESK_QUERY_BITS == 64

/// The low word, or the high one.
static inline uint32_t esk_word(const esk_slot *slot, uint8_t index) {
    uint32_t word = 0;
    memcpy(&word, (const uint8_t *)slot + index * sizeof word, sizeof word);
    return word;
}

static inline void esk_words_set(esk_slot *slot, uint32_t low, uint32_t high) {
    memcpy(slot, &low, sizeof low);
    memcpy((uint8_t *)slot + sizeof low, &high, sizeof high);
}

static inline int8_t esk_words_compare(const esk_slot *a, const esk_slot *b) {
    int32_t left = (int32_t)esk_word(a, 1);
    int32_t right = (int32_t)esk_word(b, 1);
    if (left != right) {
        return left < right ? -1 : 1;
    }
    uint32_t low = esk_word(a, 0);
    uint32_t other = esk_word(b, 0);
    return low < other ? -1 : low > other;
}

static inline bool esk_words_add(esk_slot *r, const esk_slot *a,
                                 const esk_slot *b, bool subtract) {
    uint32_t low = esk_word(a, 0);
    uint32_t high = esk_word(a, 1);
    uint32_t added = esk_word(b, 0);
    uint32_t other = esk_word(b, 1);
    uint32_t sum = low + added;
    uint32_t top = high + other;
    if (sum < added) {
        top++;
    }
    if (subtract) {
        sum = low - added;
        top = high - other;
        if (low < added) {
            top--;
        }
        other = ~other;
    }
    esk_words_set(r, sum, top);
    /* Both have one sign, and the result the other. */
    uint8_t sign = (uint8_t)(top >> 24);
    return ((uint8_t)((uint8_t)(high >> 24) ^ sign) &
            (uint8_t)((uint8_t)(other >> 24) ^ sign) & 0x80u) == 0;
}

static inline void esk_words_add_wide(esk_slot *sum, const esk_slot *a) {
    uint32_t added = esk_word(a, 0);
    uint32_t low = esk_word(sum, 0) + added;
    uint32_t high = esk_word(sum, 1);
    uint32_t other = esk_word(a, 1);
    uint32_t top = high + other;
    bool carry = top < high;
    if (low < added) {
        top++;
        carry = carry || top == 0;
    }
    esk_words_set(sum, low, top);
    /* The high slot of a number below zero is -1: with a carry it stays. */
    if (carry != ((int32_t)other < 0)) {
        sum[1] += carry ? 1 : -1;
    }
}

#endif

#endif
