// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The rules of integer arithmetic, once for all that queries run on.
///
/// A product and a quotient are made of magnitudes; then the sign is set. The
/// product of two numbers of 64 bits is made of products of 32 bits. A quotient
/// beyond 32 bits is made bit by bit, from the dividend's highest byte on: the
/// compilers' libraries are larger, and on AVR slower.
#include "base/inline.h"
#include "base/slot.h"
#include "esker/compute.h"

int esk_add(esk_slot *r, const esk_slot *a, const esk_slot *b) {
    return esk_slot_add(r, a, b, false) ? ESK_OK : ESK_E_LIMIT;
}

int esk_subtract(esk_slot *r, const esk_slot *a, const esk_slot *b) {
    return esk_slot_add(r, a, b, true) ? ESK_OK : ESK_E_LIMIT;
}

static ESK_OUT_OF_LINE void slot_negate(esk_slot *r) {
    esk_slot zero = 0;
    (void)esk_slot_add(r, &zero, r, true);
}

/// The magnitude of `slot`; that of the least slot is its own bits.
static esk_slot_bits magnitude(const esk_slot *slot) {
    esk_slot value = *slot;
    if (esk_slot_is_negative(slot)) {
        slot_negate(&value);
    }
    return (esk_slot_bits)value;
}

/// r = the number of that magnitude and sign. Returns ESK_OK; ESK_E_LIMIT.
static int signed_set(esk_slot *r, esk_slot_bits bits, bool negative) {
    *r = (esk_slot)bits;
    if (negative) {
        slot_negate(r);
    }
    /* Zero has no sign; the least slot is its own negative. */
    return bits == 0 || esk_slot_is_negative(r) == negative ? ESK_OK
                                                            : ESK_E_LIMIT;
}

int esk_multiply(esk_slot *r, const esk_slot *a, const esk_slot *b) {
    bool negative = esk_slot_is_negative(a) != esk_slot_is_negative(b);
    uint64_t x = magnitude(a);
    uint64_t y = magnitude(b);
    uint32_t x_high = (uint32_t)(x >> 32);
    uint32_t y_high = (uint32_t)(y >> 32);
    uint64_t product = (uint64_t)(uint32_t)x * (uint32_t)y;
    if (sizeof(esk_slot) == sizeof(uint32_t)) {
        return (product >> 32) != 0
                   ? ESK_E_LIMIT
                   : signed_set(r, (esk_slot_bits)product, negative);
    }
    if (x_high != 0 && y_high != 0) {
        return ESK_E_LIMIT;
    }
    /* One of the two is 0. */
    uint64_t cross =
        (uint64_t)(x_high | y_high) * (uint32_t)(x_high != 0 ? y : x);
    cross += product >> 32;
    if ((cross >> 32) != 0) {
        return ESK_E_LIMIT;
    }
    return signed_set(r, (esk_slot_bits)((cross << 32) | (uint32_t)product),
                      negative);
}

/// Divides `*rest` by `y`, not 0: bit by bit. rest: out, the remainder.
static ESK_OUT_OF_LINE esk_slot_bits bits_divide(esk_slot_bits *rest,
                                                 esk_slot_bits y) {
    esk_slot_bits x = *rest;
    esk_slot_bits left = 0;
    uint8_t bits = ESK_QUERY_BITS;
    while (bits > 8 && (x >> (ESK_QUERY_BITS - 8)) == 0) {
        x <<= 8;
        bits = (uint8_t)(bits - 8u);
    }
    for (; bits > 0; bits--) {
        bool carry = (left & ESK_SLOT_SIGN) != 0;
        left <<= 1;
        left |= (x & ESK_SLOT_SIGN) != 0 ? 1u : 0u;
        x <<= 1;
        if (carry || left >= y) {
            left -= y;
            x |= 1u;
        }
    }
    *rest = left;
    return x;
}

/// The quotient of `*rest` and `y`, not 0. rest: out, the remainder.
static esk_slot_bits quotient(esk_slot_bits *rest, esk_slot_bits y) {
    esk_slot_bits x = *rest;
    if (SIZE_MAX > UINT32_MAX || (x <= UINT32_MAX && y <= UINT32_MAX)) {
        /* In 32 bits where the machine has no more. */
        if (SIZE_MAX > UINT32_MAX) {
            *rest = x % y;
            return x / y;
        }
        *rest = (uint32_t)x % (uint32_t)y;
        return (uint32_t)x / (uint32_t)y;
    }
    return bits_divide(rest, y);
}

static ESK_OUT_OF_LINE int divide(esk_slot *r, const esk_slot *a,
                                  const esk_slot *b, bool remainder) {
    bool negative = esk_slot_is_negative(a);
    esk_slot_bits x = magnitude(a);
    esk_slot_bits y = magnitude(b);
    if (y == 0) {
        return ESK_NOT_FOUND;
    }
    esk_slot_bits whole = quotient(&x, y);
    if (!remainder) {
        negative = negative != esk_slot_is_negative(b);
        x = whole;
    }
    return signed_set(r, x, negative);
}

int esk_divide(esk_slot *r, const esk_slot *a, const esk_slot *b) {
    return divide(r, a, b, false);
}

int esk_remainder(esk_slot *r, const esk_slot *a, const esk_slot *b) {
    return divide(r, a, b, true);
}

void esk_sum_add(struct esk_sum *sum, const esk_slot *a) {
    esk_slot_add_wide(sum->slots, a);
}

int esk_sum_get(const struct esk_sum *sum, esk_slot *r) {
    *r = sum->slots[0];
    return sum->slots[1] == (esk_slot_is_negative(r) ? -1 : 0) ? ESK_OK
                                                               : ESK_E_LIMIT;
}
