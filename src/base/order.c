// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Order-preserving unsigned form of a value.
///
/// Everything follows from the type's width and its kind, one of three. The
/// code works on bytes, which is short for every width. Only esk_order_load32,
/// for hot loops, works on whole numbers.

#include "base/order.h"

#include "base/bytes.h"
#include "base/inline.h"
#include "base/shape.h"

_Static_assert(ESK_TYPE_I8 == 1 && ESK_TYPE_I64 == 4 && ESK_TYPE_U8 == 5 &&
                   ESK_TYPE_U64 == 8 && ESK_TYPE_F32 == 9,
               "widths double from I8 to I64 and again from U8 to U64");

uint8_t esk_order_width(uint8_t type) {
    if (type >= ESK_TYPE_F32) {
        return type == ESK_TYPE_F32 ? 4 : type == ESK_TYPE_F64 ? 8 : 0;
    }
    if (type == 0) {
        return 0;
    }
    return (uint8_t)(1u << ((type - 1u) & 3u));
}

static bool order_is_signed(uint8_t type) {
    return type >= ESK_TYPE_I8 && type <= ESK_TYPE_I64;
}

/// Sign bit set: a negative, whose magnitude counts down. -0.0 joins +0.0.
static uint32_t order_float32(uint32_t bits) {
    if ((bits & ESK_ORDER_WORD_SIGN) == 0) {
        return bits | ESK_ORDER_WORD_SIGN;
    }
    return bits == ESK_ORDER_WORD_SIGN ? bits : ~bits;
}

uint32_t esk_order_load32(uint8_t type, const uint8_t *bytes) {
    if (type == ESK_TYPE_U32) { /* the usual key */
        return esk_load_u32(bytes);
    }
    bool is_signed = order_is_signed(type);
#if defined(__OPTIMIZE_SIZE__) && SIZE_MAX <= UINT32_MAX
    uint8_t flip = is_signed ? 0x80 : 0;
    uint32_t order = 0;
    for (uint8_t i = esk_order_width(type); i > 0; i--) {
        order = order << 8 | (uint8_t)(bytes[i - 1u] ^ flip);
        flip = 0;
    }
    return type == ESK_TYPE_F32 ? order_float32(order) : order;
#else
    switch (esk_order_width(type)) {
    case 4:
        return is_signed ? esk_load_u32(bytes) ^ ESK_ORDER_WORD_SIGN
                         : order_float32(esk_load_u32(bytes));
    case 2:
        return (uint16_t)(esk_load_u16(bytes) ^ (is_signed ? 0x8000u : 0u));
    case 1:
        return (uint8_t)(bytes[0] ^ (is_signed ? 0x80u : 0u));
    default:
        return 0;
    }
#endif
}

#if SIZE_MAX <= UINT32_MAX

/// esk_order_rank_words; `flip` changes the sign bit.
static ESK_OUT_OF_LINE uint16_t rank_long(const uint8_t *bytes, uint16_t stride,
                                          uint16_t count, uint32_t order,
                                          uint8_t flip) {
    uint32_t sign = (uint32_t)flip << 24;
    uint_fast16_t rank = 0;
    uint_fast16_t left = count;
    while (left > 0) {
        uint_fast16_t half = left >> 1;
        uint_fast16_t middle = rank + half;
        if ((esk_load_u32(bytes + (size_t)middle * stride) ^ sign) < order) {
            rank = middle + 1u;
            half = left - half - 1u;
        }
        left = half;
    }
    return (uint16_t)rank;
}

ESK_OUT_OF_LINE uint16_t esk_order_rank_words(uint8_t type,
                                              const uint8_t *bytes,
                                              uint16_t stride, uint16_t count,
                                              uint32_t order) {
    uint8_t flip = type == ESK_TYPE_I32 ? 0x80 : 0;
#if defined(__AVR__)
    /* Words of 4 bytes and more, all in a page. */
    if ((ESK_SHAPED_MEDIUM(esk_shape_geometry.page_bytes <= 1024, false) ||
         count <= UINT8_MAX) &&
        stride <= ESK_RANK_STRIDE_MAX) {
        return esk_order_rank_short(bytes, stride, (uint8_t)count, order, flip);
    }
#endif
    return rank_long(bytes, stride, count, order, flip);
}

#endif

/// Changes the float's bytes in `order` to order form. Returns false for a NaN.
static bool order_float_bytes(uint8_t width, uint8_t *order) {
    uint8_t *top = &order[width - 1u];
    uint8_t exponent = width == 4 ? 0x80 : 0xF0;
    uint8_t rest = (uint8_t)(order[width - 2u] & (uint8_t)~exponent);
    bool is_negative = (*top & 0x80u) != 0;
    bool is_huge =
        (*top & 0x7Fu) == 0x7Fu && (order[width - 2u] & exponent) == exponent;
    for (uint8_t i = 0; i < width - 2u; i++) {
        rest |= order[i];
    }
    if (is_huge && rest != 0) {
        return false;
    }
    *top ^= 0x80u;
    if (is_negative) {
        /* -0.0 has become all zero bits, which is +0.0 without its set sign
           bit; every other negative is complemented. */
        bool is_zero = (uint8_t)(*top | order[width - 2u] | rest) == 0;
        for (uint8_t i = 0; i < width && !is_zero; i++) {
            order[i] = (uint8_t)~order[i];
        }
        *top ^= 0x80u;
    }
    return true;
}

bool esk_order_bytes(uint8_t type, uint8_t width, const uint8_t *bytes,
                     uint8_t *order) {
    for (uint8_t i = 0; i < width; i++) {
        order[i] = bytes[i];
    }
    if (order_is_signed(type)) {
        order[width - 1u] ^= 0x80u;
    } else if (type == ESK_TYPE_F32 || type == ESK_TYPE_F64) {
        return order_float_bytes(width, order);
    }
    return true;
}

#if SIZE_MAX > UINT32_MAX

/// esk_order_load of 8 bytes in one register: eight single stores would delay
/// the load of all eight.
static uint64_t order_load64(uint8_t type, const uint8_t *bytes) {
    const uint64_t sign = UINT64_C(1) << 63;
    uint64_t bits = esk_load_u64(bytes);
    if (type == ESK_TYPE_U64) {
        return bits;
    }
    if (type == ESK_TYPE_I64 || (bits & sign) == 0) {
        return bits ^ sign;
    }
    return bits == sign ? bits : ~bits;
}

uint64_t esk_order_load(uint8_t type, const uint8_t *bytes) {
    if (esk_order_is_word(type)) {
        return esk_load_u32(bytes) ^
               (type == ESK_TYPE_I32 ? ESK_ORDER_WORD_SIGN : 0);
    }
    return esk_order_width(type) <= 4 ? esk_order_load32(type, bytes)
                                      : order_load64(type, bytes);
}

#else

uint64_t esk_order_load(uint8_t type, const uint8_t *bytes) {
    uint8_t width = esk_order_width(type);
    uint8_t order[8];
    if (width <= 4) {
        return esk_order_load32(type, bytes);
    }
    (void)esk_order_bytes(type, width, bytes, order);
    return esk_load_u64(order);
}

#endif

bool esk_order_is_nan(uint8_t type, const uint8_t *bytes) {
    uint8_t order[8];
    if (type != ESK_TYPE_F32 && type != ESK_TYPE_F64) {
        return false;
    }
    return !esk_order_bytes(type, esk_order_width(type), bytes, order);
}

uint64_t esk_order_max(uint8_t type) {
    uint8_t bytes[8] = {0};
    memset(bytes, 0xFF, esk_order_width(type));
    return esk_load_u64(bytes);
}

uint64_t esk_order_number(uint8_t type, union esk_number number, bool *below,
                          bool *above) {
    uint8_t width = esk_order_width(type);
    uint8_t bytes[8];
    uint8_t order[8];
    esk_store_u64(bytes, number.u);
    *below = false;
    *above = false;
    if (type == ESK_TYPE_F32) {
        uint32_t bits; /* a cast would convert the value, not its bits */
        memcpy(&bits, &number.f32, sizeof bits);
        esk_store_u32(bytes, bits);
    } else if (width < 8) {
        /* The bytes above the width repeat the sign, or the number is out of
           the type's range. */
        bool is_signed = order_is_signed(type);
        bool is_negative = is_signed && bytes[7] >= 0x80;
        uint8_t fill = is_negative ? 0xFF : 0;
        bool fits = esk_bytes_are(bytes + width, (uint16_t)(8u - width), fill);
        if (is_signed && ((bytes[width - 1u] ^ fill) & 0x80u) != 0) {
            fits = false;
        }
        if (!fits) {
            *below = is_negative;
            *above = !is_negative;
            return is_negative ? 0 : esk_order_max(type);
        }
    }
    if (!esk_order_bytes(type, width, bytes, order)) {
        *below = true;
        *above = true;
    }
    return esk_order_load(type, bytes);
}

#if SIZE_MAX > UINT32_MAX

esk_key esk_order_key_max(uint8_t type) {
    return (esk_key) ~(esk_key)0 >> (ESK_KEY_BITS - 8u * esk_order_width(type));
}

#else

esk_key esk_order_key_max(uint8_t type) {
    esk_key max = UINT8_MAX;
    for (uint8_t i = esk_order_width(type); i > 1; i--) {
        max = (esk_key)(max << 8 | UINT8_MAX);
    }
    return max;
}

#endif

bool esk_order_clamp(uint8_t type, esk_key *key) {
    const esk_key sign = (esk_key)1 << (ESK_KEY_BITS - 1);
    esk_key max = esk_order_key_max(type);
    esk_key nearest = max;
    if (order_is_signed(type)) {
        /* Adding half the range maps the type's own values to 0 .. max. */
        nearest = (*key & sign) != 0 ? 0 : max;
        *key = (esk_key)(*key + (max >> 1) + 1u);
    }
    if (*key <= max) {
        return true;
    }
    *key = nearest;
    return false;
}

esk_key esk_key_from_order(uint8_t type, esk_key order) {
    if (order_is_signed(type)) {
        return (esk_key)(order - ((esk_order_key_max(type) >> 1) + 1u));
    }
    return order;
}
