// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A query's values, 64 or 32 bits wide, by their addresses: on an 8-bit chip a
/// value of 64 bits in registers is a third of the code around it.
#ifndef ESK_BASE_SLOT_H
#define ESK_BASE_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/inline.h"
#include "esker/query.h"

/// A slot's bits, for arithmetic that wraps.
#if ESK_QUERY_BITS == 32
typedef uint32_t esk_slot_bits;
#define ESK_SLOT_MAX INT32_MAX
#else
typedef uint64_t esk_slot_bits;
#define ESK_SLOT_MAX INT64_MAX
/// r = the slot of text that has the `count` bytes at `bytes`, at most
/// ESK_SLOT_BYTES.
void esk_slot_from_text(esk_slot *r, const uint8_t *bytes, uint8_t count);

/// Copies `count` bytes of text out of the slots from `slot` on.
void esk_slot_to_text(const esk_slot *slot, uint8_t *bytes, uint16_t count);

#endif

enum { ESK_SLOT_BYTES = ESK_QUERY_BITS / 8 };

#define ESK_SLOT_MIN (-ESK_SLOT_MAX - 1)
#define ESK_SLOT_SIGN ((esk_slot_bits)1 << (ESK_QUERY_BITS - 1))

/// to = from.
static ESK_APART_OR_INLINE void esk_slot_copy(esk_slot *to,
                                              const esk_slot *from) {
    *to = *from;
}

/// Whether the slot is below zero.
bool esk_slot_is_negative(const esk_slot *slot);

/// < 0, 0 or > 0, as a is below, equal to or above b.
int8_t esk_slot_compare(const esk_slot *a, const esk_slot *b);

/// r = a + b, or a - b. r may be a or b.
/// Returns whether the result fits; else r has its low bits.
bool esk_slot_add(esk_slot *r, const esk_slot *a, const esk_slot *b,
                  bool subtract);

/// Adds a to a number of two slots, the low one first.
void esk_slot_add_wide(esk_slot *sum, const esk_slot *a);

/// r = such a number. Returns whether it fits.
bool esk_slot_narrow(esk_slot *r, const esk_slot *sum);

/// r = r * y, of magnitudes. Returns whether the product fits the bits.
bool esk_slot_multiply(esk_slot_bits *r, const esk_slot_bits *y);

/// Divides the magnitude pair[0] by y, not 0: pair[0] is the quotient, pair[1]
/// the remainder.
void esk_slot_divide(esk_slot_bits *pair, const esk_slot_bits *y);

/// r = the little-endian integer of `width` bytes, 1, 2, 4 or 8.
/// Returns whether it fits.
bool esk_slot_load(esk_slot *r, const uint8_t *bytes, uint8_t width,
                   bool is_signed);

/// r = the slot of text that has the `count` bytes at `bytes`, at most
/// ESK_SLOT_BYTES.
void esk_slot_from_text(esk_slot *r, const uint8_t *bytes, uint8_t count);

/// Copies `count` bytes of text out of the slots from `slot` on.
void esk_slot_to_text(const esk_slot *slot, uint8_t *bytes, uint16_t count);

#endif
