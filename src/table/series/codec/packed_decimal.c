// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// f32 values as decimal numbers, as a part.
///
/// Most measured floats are a few decimal digits that a driver divided by ten
/// or a hundred. An f32 is m * 2^t with m below 2^24, and 10^e is 5^e * 2^e: so
/// the number is p * 2^(t + e), rounded, with p = m * 5^e, in 32 bits for three
/// decimals. The f32 is the one nearest to number / 10^e if the rounding was
/// less than half of 5^e: no division, and no floating-point arithmetic.
///
/// -0.0, NaN, infinities and values with more digits have no number.
///
/// Cost on an ATmega2560: see docs/results/packed.md.
#include "table/series/codec/packed_state.h"

enum {
    MANTISSA_BITS = 23,
    EXPONENT_BIAS = 127,
    SHIFT_MAX = 31,
};

#define MANTISSA_TOP (UINT32_C(1) << MANTISSA_BITS)

/// 5 to the power of `decimals`.
static uint8_t decimal_fives(uint8_t decimals) {
    uint8_t fives = 1;
    for (; decimals > 0; decimals--) {
        fives = (uint8_t)(fives * 5u);
    }
    return fives;
}

/// `value` shifted by `count` bits, below 32. An 8-bit processor shifts a word
/// bit by bit, but moves bytes.
static ESK_APART uint32_t word_up(uint32_t value, uint8_t count) {
    for (; !ESK_NO_SHORT_WAYS && count >= 8; count = (uint8_t)(count - 8u)) {
        value <<= 8;
    }
    return value << count;
}

static ESK_APART uint32_t word_down(uint32_t value, uint8_t count) {
    for (; !ESK_NO_SHORT_WAYS && count >= 8; count = (uint8_t)(count - 8u)) {
        value >>= 8;
    }
    return value >> count;
}

static bool decimal_encode(const uint8_t *from, uint8_t decimals, uint8_t *to) {
    uint32_t bits = esk_load_u32(from);
    uint8_t exponent =
        (uint8_t)((uint16_t)(bits >> 16) >> (MANTISSA_BITS - 16));
    uint8_t fives = decimal_fives(decimals);
    if (bits == 0) {
        esk_store_u32(to, 0);
        return true;
    }
    uint32_t mantissa = (bits & (MANTISSA_TOP - 1u)) | MANTISSA_TOP;
    uint32_t exact = mantissa * fives;
    /* value * 10^decimals = exact * 2^-shift */
    int16_t shift =
        (int16_t)(EXPONENT_BIAS + MANTISSA_BITS - decimals - exponent);
    if (shift < 0 || shift > SHIFT_MAX) {
        return false; /* 2^24 and more has shift < 0, save for whole numbers */
    }
    uint32_t rounded = exact;
    if (shift > 0) {
        rounded = word_down(exact, (uint8_t)(shift - 1)) + 1u;
        rounded >>= 1;
    }
    if (rounded >= ESK_PACKED_DECIMAL_LIMIT) {
        return false;
    }
    uint32_t back = word_up(rounded, (uint8_t)shift);
    uint32_t error = exact > back ? exact - back : back - exact;
    if (error >= fives) {
        return false;
    }
    /* Below a power of two the floats are twice as close. */
    error *= exact > back && mantissa == MANTISSA_TOP ? 4u : 2u;
    if (error >= fives) {
        return false;
    }
    esk_store_u32(to,
                  (bits & ESK_ORDER_WORD_SIGN) != 0 ? 0u - rounded : rounded);
    return true;
}

static bool decimal_decode(const uint8_t *from, uint8_t decimals, uint8_t *to) {
    uint32_t number = esk_load_u32(from);
    uint32_t sign = number & ESK_ORDER_WORD_SIGN;
    uint32_t left = sign != 0 ? 0u - number : number;
    uint8_t fives = decimal_fives(decimals);
    uint8_t exponent = (uint8_t)(EXPONENT_BIAS + MANTISSA_BITS + 1 - decimals);
    if (left > ESK_PACKED_DECIMAL_LIMIT) {
        return false;
    }
    if (left == 0) {
        esk_store_u32(to, 0);
        return true;
    }
    /* The largest multiple by a power of two whose quotient fits 25 bits: the
       mantissa, and one more to round by. 2^25 * 125 has 32 bits. */
    uint32_t least = (uint32_t)fives << (MANTISSA_BITS + 1);
    while (!ESK_NO_SHORT_WAYS && left < least >> 8) {
        left <<= 8;
        exponent = (uint8_t)(exponent - 8u);
    }
    while (left < least) {
        left <<= 1;
        exponent--;
    }
    uint32_t quotient = left / fives;
    bool exact = quotient * fives == left;
    uint32_t mantissa = quotient >> 1;
    if ((quotient & 1u) != 0 && (!exact || (mantissa & 1u) != 0)) {
        mantissa++; /* to 2^24 it carries into the exponent */
    }
    /* As bytes: an 8-bit processor shifts a word by single bits. */
    esk_store_u32(to, sign | ((((uint32_t)exponent << 24) >> 1) + mantissa -
                              MANTISSA_TOP));
    return true;
}

const struct esk_packed_decimals esk_series_part_decimals = {
    .encode = decimal_encode,
    .decode = decimal_decode,
};
