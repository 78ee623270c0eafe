// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A query's values, 64 or 32 bits wide, by their addresses: on an 8-bit chip a
/// value of 64 bits in registers is a third of the code around it.
#ifndef ESK_BASE_SLOT_H
#define ESK_BASE_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/inline.h"
#include "esker/query.h"

/// A slot's bits, for arithmetic that wraps.
#if ESK_QUERY_BITS == 32
typedef uint32_t esk_slot_bits;
#define ESK_SLOT_MAX INT32_MAX
#else
typedef uint64_t esk_slot_bits;
#define ESK_SLOT_MAX INT64_MAX
#endif

/// Whether slots are calls of slot.c: in a program built for size. In one that
/// is built for speed they are inline.
#if defined(__OPTIMIZE_SIZE__) || defined(__AVR__)
#define ESK_SLOT_APART 1
#define ESK_SLOT_CALL
#else
#define ESK_SLOT_APART 0
#define ESK_SLOT_CALL static inline
#endif

#define ESK_SLOT_LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

enum { ESK_SLOT_BYTES = ESK_QUERY_BITS / 8 };

#define ESK_SLOT_MIN (-ESK_SLOT_MAX - 1)
#define ESK_SLOT_SIGN ((esk_slot_bits)1 << (ESK_QUERY_BITS - 1))

/// to = from.
ESK_SLOT_CALL void esk_slot_copy(esk_slot *to, const esk_slot *from);

/// Whether the slot is below zero.
ESK_SLOT_CALL bool esk_slot_is_negative(const esk_slot *slot);

/// < 0, 0 or > 0, as a is below, equal to or above b.
ESK_SLOT_CALL int8_t esk_slot_compare(const esk_slot *a, const esk_slot *b);

/// r = a + b, or a - b. r may be a or b.
/// Returns whether the result fits; else r has its low bits.
ESK_SLOT_CALL bool esk_slot_add(esk_slot *r, const esk_slot *a,
                                const esk_slot *b, bool subtract);

/// Adds 1 to a slot, where it fits.
#if defined(__AVR__)
void esk_slot_increment(esk_slot *r);
#else
static inline void esk_slot_increment(esk_slot *r) {
    ++*r;
}
#endif

/// Adds a to a number of two slots, the low one first.
ESK_SLOT_CALL void esk_slot_add_wide(esk_slot *sum, const esk_slot *a);

/// r = the little-endian integer of `type`, from ESK_TYPE_I8 to ESK_TYPE_U64.
/// Returns whether it fits.
ESK_SLOT_CALL bool esk_slot_load(esk_slot *r, const uint8_t *bytes,
                                 uint8_t type);

/// r = such a number. Returns whether it fits.
bool esk_slot_narrow(esk_slot *r, const esk_slot *sum);

/// What esk_slot_scale makes of two slots.
enum esk_slot_scaling {
    ESK_SLOT_PRODUCT,
    ESK_SLOT_QUOTIENT,
    ESK_SLOT_REMAINDER,
};

/// r = a * b, a / b or a % b. r may be a or b.
/// Returns  as esk_multiply and esk_divide.
int esk_slot_scale(esk_slot *r, const esk_slot *a, const esk_slot *b,
                   uint8_t scaling);

/// r = the slot of text that has the `count` bytes at `bytes`, at most
/// ESK_SLOT_BYTES.
void esk_slot_from_text(esk_slot *r, const uint8_t *bytes, uint8_t count);

/// Byte `index` of the text in the slots from `slot` on.
uint8_t esk_slot_text_byte(const esk_slot *slot, uint16_t index);

/// Copies `count` bytes of text out of the slots from `slot` on.
void esk_slot_to_text(const esk_slot *slot, uint8_t *bytes, uint16_t count);

/* Slots as whole numbers; slot.c has them by bytes, for an 8-bit chip. */

static inline void esk_whole_copy(esk_slot *to, const esk_slot *from) {
    *to = *from;
}

static inline bool esk_whole_is_negative(const esk_slot *slot) {
    return *slot < 0;
}

static inline int8_t esk_whole_compare(const esk_slot *a, const esk_slot *b) {
    return *a < *b ? -1 : *a > *b;
}

static inline bool esk_whole_add(esk_slot *r, const esk_slot *a,
                                 const esk_slot *b, bool subtract) {
    esk_slot_bits left = (esk_slot_bits)*a;
    esk_slot_bits right = (esk_slot_bits)*b;
    esk_slot_bits sum = subtract ? left - right : left + right;
    esk_slot_bits turned = subtract ? ~right : right;
    *r = (esk_slot)sum;
    /* Both have one sign, and the result the other. */
    return ((left ^ sum) & (turned ^ sum) & ESK_SLOT_SIGN) == 0;
}

static inline void esk_whole_add_wide(esk_slot *sum, const esk_slot *a) {
    esk_slot_bits added = (esk_slot_bits)*a;
    esk_slot_bits low = (esk_slot_bits)sum[0] + added;
    esk_slot_bits high = (esk_slot_bits)sum[1];
    high -= *a < 0 ? 1u : 0u;
    high += low < added ? 1u : 0u;
    sum[0] = (esk_slot)low;
    sum[1] = (esk_slot)high;
}

#if !ESK_SLOT_APART || !ESK_SLOT_LITTLE

static inline bool esk_whole_load(esk_slot *r, const uint8_t *bytes,
                                  uint8_t type) {
    /* The usual ones first. */
    if (type == ESK_TYPE_I32) {
        *r = esk_load_i32(bytes);
        return true;
    }
    if (type == ESK_TYPE_U32) {
        *r = (esk_slot)esk_load_u32(bytes);
        return ESK_QUERY_BITS == 64 || *r >= 0;
    }
    switch (type) {
    case ESK_TYPE_I8:
        *r = (int8_t)bytes[0];
        return true;
    case ESK_TYPE_U8:
        *r = bytes[0];
        return true;
    case ESK_TYPE_I16:
        *r = esk_load_i16(bytes);
        return true;
    case ESK_TYPE_U16:
        *r = esk_load_u16(bytes);
        return true;
    default:
        *r = (esk_slot)esk_load_u64(bytes);
        return type == ESK_TYPE_I64
                   ? *r == esk_load_i64(bytes)
                   : *r >= 0 && (uint64_t)*r == esk_load_u64(bytes);
    }
}

#endif

#if !ESK_SLOT_APART

static inline void esk_slot_copy(esk_slot *to, const esk_slot *from) {
    esk_whole_copy(to, from);
}

static inline bool esk_slot_is_negative(const esk_slot *slot) {
    return esk_whole_is_negative(slot);
}

static inline int8_t esk_slot_compare(const esk_slot *a, const esk_slot *b) {
    return esk_whole_compare(a, b);
}

static inline bool esk_slot_add(esk_slot *r, const esk_slot *a,
                                const esk_slot *b, bool subtract) {
    return esk_whole_add(r, a, b, subtract);
}

static inline void esk_slot_add_wide(esk_slot *sum, const esk_slot *a) {
    esk_whole_add_wide(sum, a);
}

static inline bool esk_slot_load(esk_slot *r, const uint8_t *bytes,
                                 uint8_t type) {
    return esk_whole_load(r, bytes, type);
}

#endif

#endif
