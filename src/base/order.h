// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Order-preserving unsigned form of a value.
///
/// a < b in the column's type exactly when order(a) < order(b) as unsigned
/// integers. So zone maps, bitmaps and the spline compare only unsigned numbers
/// and need no types. The form has the type's own width:
///
///     u8..u64   the value
///     i8..i64   the value with its sign bit flipped
///     f32, f64  IEEE bits: negatives complemented, others sign bit set;
///               -0.0 is +0.0; a NaN has a form that must not be used
///
/// No floating-point arithmetic, only the bits.
#ifndef ESK_BASE_ORDER_H
#define ESK_BASE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/inline.h"
#include "esker/schema.h"

/// The sign bit of a word.
#define ESK_ORDER_WORD_SIGN UINT32_C(0x80000000)

/// Bytes a value of numeric `type` takes; 0 for any other type.
uint8_t esk_order_width(uint8_t type);

/// Order form of the little-endian value at `bytes`; 0 for a type that is
/// not numeric. A NaN has no order: call esk_order_is_nan first.
uint64_t esk_order_load(uint8_t type, const uint8_t *bytes);

/// The same for types of at most 4 bytes, without 64-bit arithmetic.
uint32_t esk_order_load32(uint8_t type, const uint8_t *bytes);

/// Whether `type` is u32 or i32, whose values esk_order_rank_words compares.
static inline bool esk_order_is_word(uint8_t type) {
    return type == ESK_TYPE_U32 || type == ESK_TYPE_I32;
}

/// How many of `count` values of `type`, a word, have order forms below
/// `order`. The first is at `bytes`, the others `stride` bytes apart; none
/// is below the one before it.
/// Costs log2(count) comparisons: 30 cycles each on AVR.
#if SIZE_MAX > UINT32_MAX
static inline uint16_t esk_order_rank_words(uint8_t type, const uint8_t *bytes,
                                            uint16_t stride, uint16_t count,
                                            uint32_t order) {
    uint32_t sign = type == ESK_TYPE_I32 ? ESK_ORDER_WORD_SIGN : 0;
    size_t rank = 0;
    size_t left = count;
    while (left > 0) {
        size_t half = left >> 1;
        size_t middle = rank + half;
        if ((esk_load_u32(bytes + middle * stride) ^ sign) < order) {
            rank = middle + 1u;
            half = left - half - 1u;
        }
        left = half;
    }
    return (uint16_t)rank;
}

/// The same for values that mostly rise evenly: first tries the place on the
/// line from the first to the last value.
static inline uint16_t esk_order_rank_even(uint8_t type, const uint8_t *bytes,
                                           uint16_t stride, uint16_t count,
                                           uint32_t order) {
    uint32_t sign = type == ESK_TYPE_I32 ? ESK_ORDER_WORD_SIGN : 0;
    uint32_t first = count > 0 ? esk_load_u32(bytes) ^ sign : order;
    if (order <= first) {
        return 0;
    }
    size_t at = count - 1u;
    uint32_t value = esk_load_u32(bytes + at * stride) ^ sign;
    if (order > value) {
        return count;
    }
    at = (size_t)(order - first) * at / (value - first);
    value = esk_load_u32(bytes + at * stride) ^ sign;
    if (order == value &&
        (esk_load_u32(bytes + (at - 1u) * stride) ^ sign) < order) {
        return (uint16_t)at;
    }
    if (order <= value) {
        count = (uint16_t)at;
        at = 0;
    } else {
        at++;
    }
    return (uint16_t)(at + esk_order_rank_words(type, bytes + at * stride,
                                                stride, (uint16_t)(count - at),
                                                order));
}
#else
uint16_t esk_order_rank_words(uint8_t type, const uint8_t *bytes,
                              uint16_t stride, uint16_t count, uint32_t order);

/// The same. A processor without a divide instruction knows no shorter way.
static inline uint16_t esk_order_rank_even(uint8_t type, const uint8_t *bytes,
                                           uint16_t stride, uint16_t count,
                                           uint32_t order) {
    return esk_order_rank_words(type, bytes, stride, count, order);
}
#endif

#if defined(__AVR__)

/* The high byte of a word's distance: in a build for speed there is none. */
#if defined(__OPTIMIZE_SIZE__)
#define ESK_RANK_HIGH                                                          \
    "mul %[half], %B[stride]\n\t"                                              \
    "add r31, r0\n\t"
#define ESK_RANK_STRIDE_MAX UINT16_MAX
#else
#define ESK_RANK_HIGH ""
#define ESK_RANK_STRIDE_MAX UINT8_MAX
#endif

/// esk_order_rank_words for fewer than 256 words, in registers. flip: changes
/// the sign bit. stride: at most ESK_RANK_STRIDE_MAX.
static ESK_APART_OR_INLINE uint8_t esk_order_rank_short(const uint8_t *bytes,
                                                        uint16_t stride,
                                                        uint8_t count,
                                                        uint32_t order,
                                                        uint8_t flip) {
    uint8_t rank = 0;
    uint8_t half;
    uint16_t rest = (uint16_t)(stride - 4u);
    __asm__("rjmp 3f\n"
            "1:\n\t"
            "mov %[half], %[count]\n\t"
            "lsr %[half]\n\t"
            "mul %[half], %A[stride]\n\t"
            "movw r30, r0\n\t" ESK_RANK_HIGH "add r30, %A[bytes]\n\t"
            "adc r31, %B[bytes]\n\t"
            "ld r0, Z+\n\t"
            "cp r0, %A[order]\n\t"
            "ld r0, Z+\n\t"
            "cpc r0, %B[order]\n\t"
            "ld r0, Z+\n\t"
            "cpc r0, %C[order]\n\t"
            "ld r0, Z+\n\t"
            "eor r0, %[flip]\n\t" /* the borrow is in the carry */
            "cpc r0, %D[order]\n\t"
            "brcc 2f\n\t"
            "movw %A[bytes], r30\n\t"
            "add %A[bytes], %A[rest]\n\t"
            "adc %B[bytes], %B[rest]\n\t"
            "inc %[half]\n\t"
            "add %[rank], %[half]\n\t"
            "sub %[count], %[half]\n\t"
            "brne 1b\n\t"
            "rjmp 4f\n"
            "2:\n\t"
            "mov %[count], %[half]\n"
            "3:\n\t"
            "tst %[count]\n\t"
            "brne 1b\n"
            "4:\n\t"
            "clr r1\n\t"
            : [bytes] "+&r"(bytes), [count] "+&r"(count), [rank] "+&r"(rank),
              [half] "=&r"(half)
            : [stride] "r"(stride), [rest] "r"(rest), [order] "r"(order),
              [flip] "r"(flip)
            : "r30", "r31", "memory");
    return rank;
}

#endif

/// esk_order_rank_words for the way down a tree: in line in a fast build for
/// AVR.
static inline uint16_t esk_order_rank_often(uint8_t type, const uint8_t *bytes,
                                            uint16_t stride, uint16_t count,
                                            uint32_t order) {
#if defined(__AVR__)
    if (!ESK_SMALL && count <= UINT8_MAX && stride <= ESK_RANK_STRIDE_MAX) {
        return esk_order_rank_short(bytes, stride, (uint8_t)count, order,
                                    type == ESK_TYPE_I32 ? 0x80 : 0);
    }
#endif
    return esk_order_rank_words(type, bytes, stride, count, order);
}

/// Stores the order form of the `width`-byte value at `bytes` into `order`,
/// `width` bytes, little-endian: the same as esk_order_load for any width in
/// a few instructions of an 8-bit chip.
/// Returns false for a NaN; then `order` is undefined.
bool esk_order_bytes(uint8_t type, uint8_t width, const uint8_t *bytes,
                     uint8_t *order);

/// Whether the value at `bytes` is a NaN. False for integers.
bool esk_order_is_nan(uint8_t type, const uint8_t *bytes);

/// Order form of `number`, clamped to the type's range. Signed types read
/// number.i, unsigned ones number.u, floats their bits.
///
/// below    out: the number is below the type's range (returns 0).
/// above    out: the number is above it (returns the width's maximum). A NaN
///          sets both.
uint64_t esk_order_number(uint8_t type, union esk_number number, bool *below,
                          bool *above);

/// Largest order form of `type`: all its bits set. Small types only set the
/// bits of their width.
uint64_t esk_order_max(uint8_t type);

/// The same for a key's type, in the width of esk_key.
esk_key esk_order_key_max(uint8_t type);

/// Brings `key`, two's complement when signed, into order form, in the type's
/// own width, clamped into the type's range. Returns whether a value of the
/// type has that key.
bool esk_order_clamp(uint8_t type, esk_key *key);

/// The key whose order form is `order`: the inverse of esk_order_clamp.
esk_key esk_key_from_order(uint8_t type, esk_key order);

/// esk_order_clamp, in line for the usual key.
static inline bool esk_order_is_key(uint8_t type, esk_key *key) {
    return (type == ESK_TYPE_U32 && *key <= UINT32_MAX) ||
           esk_order_clamp(type, key);
}

/// The order form alone.
static inline esk_key esk_order_from_key(uint8_t type, esk_key key) {
    (void)esk_order_is_key(type, &key);
    return key;
}

#endif
