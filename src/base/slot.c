// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Slots by their addresses: by bytes on an 8-bit chip, else as whole numbers.
#include "base/slot.h"

#include "base/bytes.h"
#include "base/order.h"

/// Whether slots are words: on an 8-bit chip in a build for speed.
#if defined(__AVR__) && !defined(__OPTIMIZE_SIZE__) && ESK_QUERY_BITS == 64
#define SLOT_WORDS 1
#include "base/slot_words.h"
#else
#define SLOT_WORDS 0
#endif

#if defined(__AVR__)

void esk_slot_copy(esk_slot *to, const esk_slot *from) {
    memcpy(to, from, sizeof *to);
}

bool esk_slot_is_negative(const esk_slot *slot) {
    return (((const uint8_t *)slot)[ESK_SLOT_BYTES - 1] & 0x80u) != 0;
}

void esk_slot_increment(esk_slot *r) {
    uint8_t *byte = (uint8_t *)r;
    while (++*byte == 0) { /* it fits: not all bytes are the largest */
        byte++;
    }
}

/// r = a + b, where b's bytes are changed by `flip`, with a carry in.
/// carry    0 or 1
/// Returns  the carry out.
static ESK_OUT_OF_LINE uint8_t bytes_add(uint8_t *r, const uint8_t *a,
                                         const uint8_t *b, uint8_t flip,
                                         uint8_t carry) {
    for (uint8_t i = 0; i < ESK_SLOT_BYTES; i++) {
        uint16_t sum =
            (uint16_t)((uint16_t)*a++ + (uint8_t)(*b++ ^ flip) + carry);
        *r++ = (uint8_t)sum;
        carry = (uint8_t)(sum >> 8);
    }
    return carry;
}

#if SLOT_WORDS

int8_t esk_slot_compare(const esk_slot *a, const esk_slot *b) {
    return esk_words_compare(a, b);
}

bool esk_slot_add(esk_slot *r, const esk_slot *a, const esk_slot *b,
                  bool subtract) {
    return esk_words_add(r, a, b, subtract);
}

void esk_slot_add_wide(esk_slot *sum, const esk_slot *a) {
    esk_words_add_wide(sum, a);
}

#else

int8_t esk_slot_compare(const esk_slot *a, const esk_slot *b) {
    const uint8_t *x = (const uint8_t *)a + ESK_SLOT_BYTES;
    const uint8_t *y = (const uint8_t *)b + ESK_SLOT_BYTES;
    uint8_t flip = 0x80;
    for (uint8_t i = 0; i < ESK_SLOT_BYTES; i++) {
        uint8_t left = *--x ^ flip;
        uint8_t right = *--y ^ flip;
        if (left != right) {
            return left < right ? -1 : 1;
        }
        flip = 0;
    }
    return 0;
}

bool esk_slot_add(esk_slot *r, const esk_slot *a, const esk_slot *b,
                  bool subtract) {
    uint8_t flip = subtract ? 0xFF : 0;
    uint8_t left = ((const uint8_t *)a)[ESK_SLOT_BYTES - 1];
    uint8_t right = ((const uint8_t *)b)[ESK_SLOT_BYTES - 1] ^ flip;
    uint8_t *to = (uint8_t *)r;
    bytes_add(to, (const uint8_t *)a, (const uint8_t *)b, flip,
              (uint8_t)(flip & 1u));
    /* Both have one sign, and the result the other. */
    return ((left ^ to[ESK_SLOT_BYTES - 1]) & (right ^ to[ESK_SLOT_BYTES - 1]) &
            0x80u) == 0;
}

void esk_slot_add_wide(esk_slot *sum, const esk_slot *a) {
    uint8_t *low = (uint8_t *)sum;
    uint8_t *high = low + ESK_SLOT_BYTES;
    uint8_t sign = esk_slot_is_negative(a) ? 0xFF : 0;
    uint8_t carry = bytes_add(low, low, (const uint8_t *)a, 0, 0);
    for (uint8_t i = 0; i < ESK_SLOT_BYTES; i++) {
        uint16_t next = (uint16_t)((uint16_t)*high + sign + carry);
        *high++ = (uint8_t)next;
        carry = (uint8_t)(next >> 8);
    }
}

#endif

bool esk_slot_load(esk_slot *r, const uint8_t *bytes, uint8_t type) {
    uint8_t *to = (uint8_t *)r;
#if SLOT_WORDS
    if (type == ESK_TYPE_I32 || type == ESK_TYPE_U32) { /* the usual ones */
        bool below = type == ESK_TYPE_I32 && (bytes[3] & 0x80u) != 0;
        memcpy(to, bytes, 4);
        memset(to + 4, below ? 0xFF : 0, 4);
        return true;
    }
#endif
    uint8_t width = esk_order_width(type);
    bool is_signed = type <= ESK_TYPE_I64;
    uint8_t sign = 0;
    bool fits = true;
    for (uint8_t i = 0; i < 8; i++) {
        uint8_t byte = i < width ? bytes[i] : sign;
        if (i < ESK_SLOT_BYTES) {
            to[i] = byte;
            sign = is_signed && (byte & 0x80u) != 0 ? 0xFF : 0;
        } else if (byte != sign) {
            fits = false;
        }
    }
    return fits && (is_signed || !esk_slot_is_negative(r));
}

#elif ESK_SLOT_APART

void esk_slot_copy(esk_slot *to, const esk_slot *from) {
    esk_whole_copy(to, from);
}

bool esk_slot_is_negative(const esk_slot *slot) {
    return esk_whole_is_negative(slot);
}

int8_t esk_slot_compare(const esk_slot *a, const esk_slot *b) {
    return esk_whole_compare(a, b);
}

bool esk_slot_add(esk_slot *r, const esk_slot *a, const esk_slot *b,
                  bool subtract) {
    return esk_whole_add(r, a, b, subtract);
}

void esk_slot_add_wide(esk_slot *sum, const esk_slot *a) {
    esk_whole_add_wide(sum, a);
}

#if ESK_SLOT_LITTLE

bool esk_slot_load(esk_slot *r, const uint8_t *bytes, uint8_t type) {
    uint8_t width = esk_order_width(type);
    uint8_t count = width < ESK_SLOT_BYTES ? width : ESK_SLOT_BYTES;
    bool is_signed = type <= ESK_TYPE_I64;
    uint8_t sign = is_signed && (bytes[count - 1] & 0x80u) != 0 ? 0xFF : 0;
    memset(r, sign, sizeof *r);
    memcpy(r, bytes, count);
    return (is_signed || !esk_slot_is_negative(r)) &&
           esk_bytes_are(bytes + count, (uint16_t)(width - count), sign);
}

#else

bool esk_slot_load(esk_slot *r, const uint8_t *bytes, uint8_t type) {
    return esk_whole_load(r, bytes, type);
}

#endif

#endif

#if SIZE_MAX > UINT32_MAX || ESK_QUERY_BITS == 32

int esk_slot_scale(esk_slot *r, const esk_slot *a, const esk_slot *b,
                   uint8_t scaling) {
    esk_slot x = *a;
    esk_slot y = *b;
    if (scaling == ESK_SLOT_PRODUCT) {
        return __builtin_mul_overflow(x, y, r) ? ESK_E_LIMIT : ESK_OK;
    }
    if (y == 0) {
        return ESK_NOT_FOUND;
    }
    if (y == -1 && x == ESK_SLOT_MIN) { /* the quotient is no slot */
        *r = 0;
        return scaling == ESK_SLOT_REMAINDER ? ESK_OK : ESK_E_LIMIT;
    }
    *r = scaling == ESK_SLOT_REMAINDER ? x % y : x / y;
    return ESK_OK;
}

#else

/* Of magnitudes, on a chip where the compiler's 64-bit division is larger. */

static const esk_slot zero = 0;

#if defined(__AVR__)

static bool magnitude_multiply(esk_slot_bits *r, const esk_slot_bits *y) {
    uint8_t product[2 * ESK_SLOT_BYTES];
    const uint8_t *x = (const uint8_t *)r;
    memset(product, 0, sizeof product);
    for (uint8_t i = 0; i < ESK_SLOT_BYTES; i++) {
        uint8_t *to = product + i;
        const uint8_t *by = (const uint8_t *)y;
        uint8_t carry = 0;
        for (uint8_t j = 0; j < ESK_SLOT_BYTES; j++) {
            uint16_t sum = (uint16_t)((uint16_t)(x[i] * *by++) + *to + carry);
            *to++ = (uint8_t)sum;
            carry = (uint8_t)(sum >> 8);
        }
        *to = carry;
    }
    memcpy(r, product, ESK_SLOT_BYTES);
    return esk_bytes_are(product + ESK_SLOT_BYTES, ESK_SLOT_BYTES, 0);
}

static void magnitude_divide(esk_slot_bits *pair, const esk_slot_bits *y) {
    uint8_t *low = (uint8_t *)pair;
    uint8_t *high = low + ESK_SLOT_BYTES;
    uint8_t bits = ESK_QUERY_BITS;
    memset(high, 0, ESK_SLOT_BYTES);
    while (bits > 8 && low[ESK_SLOT_BYTES - 1] == 0) {
        memmove(low + 1, low, ESK_SLOT_BYTES - 1);
        low[0] = 0;
        bits = (uint8_t)(bits - 8u);
    }
    for (; bits > 0; bits--) {
        uint8_t rest[ESK_SLOT_BYTES];
        uint8_t carry = 0;
        for (uint8_t i = 0; i < 2 * ESK_SLOT_BYTES; i++) {
            uint8_t byte = low[i];
            low[i] = (uint8_t)((uint8_t)(byte << 1) | carry);
            carry = byte >> 7;
        }
        if ((bytes_add(rest, high, (const uint8_t *)y, 0xFF, 1) | carry) != 0) {
            memcpy(high, rest, sizeof rest);
            low[0] |= 1u;
        }
    }
}

#else

/* Of words: the compilers' division of 64 bits is larger. */

static bool magnitude_multiply(esk_slot_bits *r, const esk_slot_bits *y) {
    uint32_t x_high = (uint32_t)(*r >> 32);
    uint32_t y_high = (uint32_t)(*y >> 32);
    uint64_t product = (uint64_t)(uint32_t)*r * (uint32_t)*y;
    /* One of the two factors is below 2^32, or it does not fit. */
    uint64_t cross =
        (uint64_t)(x_high | y_high) * (uint32_t)(x_high != 0 ? *y : *r) +
        (product >> 32);
    *r = cross << 32 | (uint32_t)product;
    return (x_high == 0 || y_high == 0) && cross >> 32 == 0;
}

static void magnitude_divide(esk_slot_bits *pair, const esk_slot_bits *y) {
    uint64_t x = pair[0];
    uint64_t by = *y;
    uint64_t rest = 0;
    uint8_t bits = ESK_QUERY_BITS;
    if (x >> 32 == 0) {
        x <<= 32;
        bits = 32;
    }
    for (; bits > 0; bits--) {
        bool carry = (int64_t)rest < 0;
        rest = rest + rest + ((int64_t)x < 0 ? 1u : 0u);
        x += x;
        if (carry || rest >= by) {
            rest -= by;
            x++;
        }
    }
    pair[0] = x;
    pair[1] = rest;
}

#endif

static void slot_negate(esk_slot *r) {
    (void)esk_slot_add(r, &zero, r, true);
}

/// bits = the magnitude of `slot`; that of the least slot is its own bits.
static ESK_OUT_OF_LINE bool magnitude(esk_slot_bits *bits,
                                      const esk_slot *slot) {
    bool negative = esk_slot_is_negative(slot);
    esk_slot_copy((esk_slot *)bits, slot);
    if (negative) {
        slot_negate((esk_slot *)bits);
    }
    return negative;
}

int esk_slot_scale(esk_slot *r, const esk_slot *a, const esk_slot *b,
                   uint8_t scaling) {
    esk_slot_bits pair[2];
    esk_slot_bits y;
    bool negative = magnitude(pair, a);
    bool other = magnitude(&y, b);
    const esk_slot *result = (const esk_slot *)pair;
    if (scaling != ESK_SLOT_REMAINDER) {
        negative = negative != other;
    }
    if (scaling == ESK_SLOT_PRODUCT) {
        if (!magnitude_multiply(pair, &y)) {
            return ESK_E_LIMIT;
        }
    } else {
        if (esk_slot_compare(b, &zero) == 0) {
            return ESK_NOT_FOUND;
        }
        magnitude_divide(pair, &y);
        result += scaling == ESK_SLOT_REMAINDER;
    }
    esk_slot_copy(r, result);
    if (negative) {
        slot_negate(r);
    }
    /* Zero has no sign; the least slot is its own negative. */
    return esk_slot_compare(r, &zero) == 0 ||
                   esk_slot_is_negative(r) == negative
               ? ESK_OK
               : ESK_E_LIMIT;
}

#endif

bool esk_slot_narrow(esk_slot *r, const esk_slot *sum) {
    esk_slot_copy(r, sum);
    return esk_bytes_are((const uint8_t *)(sum + 1), sizeof *sum,
                         esk_slot_is_negative(r) ? 0xFF : 0);
}

/// Byte `index` of a slot, the highest one first.
static inline uint8_t *byte_of(esk_slot *slot, uint8_t index) {
    uint8_t last = ESK_SLOT_BYTES - 1;
    return (uint8_t *)slot + (ESK_SLOT_LITTLE ? last - index : index);
}

void esk_slot_from_text(esk_slot *r, const uint8_t *bytes, uint8_t count) {
    *r = 0;
    for (uint8_t i = 0; i < count; i++) {
        *byte_of(r, i) = bytes[i];
    }
    *byte_of(r, 0) ^= 0x80u;
}

uint8_t esk_slot_text_byte(const esk_slot *slot, uint16_t index) {
    esk_slot copy = slot[index / ESK_SLOT_BYTES];
    uint8_t place = (uint8_t)(index % ESK_SLOT_BYTES);
    return (uint8_t)(*byte_of(&copy, place) ^ (place == 0 ? 0x80u : 0u));
}

void esk_slot_to_text(const esk_slot *slot, uint8_t *bytes, uint16_t count) {
    for (uint16_t i = 0; i < count; i++) {
        bytes[i] = esk_slot_text_byte(slot, i);
    }
}
