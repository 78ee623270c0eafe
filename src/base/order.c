// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Order-preserving unsigned form of a value.
///
/// Everything follows from the type's width and from which of three kinds it
/// is. Types of at most 4 bytes never touch 64-bit arithmetic: on an 8-bit
/// chip that halves the cost of a comparison.

#include "base/order.h"

#include "base/bytes.h"

uint8_t esk_order_width(uint8_t type) {
    switch (type) {
    case ESK_TYPE_I8:
    case ESK_TYPE_U8:
        return 1;
    case ESK_TYPE_I16:
    case ESK_TYPE_U16:
        return 2;
    case ESK_TYPE_I32:
    case ESK_TYPE_U32:
    case ESK_TYPE_F32:
        return 4;
    case ESK_TYPE_I64:
    case ESK_TYPE_U64:
    case ESK_TYPE_F64:
        return 8;
    default:
        return 0;
    }
}

static bool order_is_signed(uint8_t type) {
    return type >= ESK_TYPE_I8 && type <= ESK_TYPE_I64;
}

/// Sign bit set: a negative, whose magnitude counts down. -0.0 joins +0.0.
static uint32_t order_float32(uint32_t bits) {
    if ((bits & UINT32_C(0x80000000)) == 0) {
        return bits | UINT32_C(0x80000000);
    }
    return bits == UINT32_C(0x80000000) ? bits : ~bits;
}

static uint64_t order_float64(uint64_t bits) {
    const uint64_t sign = UINT64_C(1) << 63;
    if ((bits & sign) == 0) {
        return bits | sign;
    }
    return bits == sign ? bits : ~bits;
}

static bool order_bits32_are_nan(uint32_t bits) {
    return (bits & UINT32_C(0x7FFFFFFF)) > UINT32_C(0x7F800000);
}

static bool order_bits64_are_nan(uint64_t bits) {
    return (bits & (UINT64_MAX >> 1)) > UINT64_C(0x7FF0000000000000);
}

uint32_t esk_order_load32(uint8_t type, const uint8_t *bytes) {
    switch (type) {
    case ESK_TYPE_I32:
        return esk_load_u32(bytes) ^ UINT32_C(0x80000000);
    case ESK_TYPE_U32:
        return esk_load_u32(bytes);
    case ESK_TYPE_F32:
        return order_float32(esk_load_u32(bytes));
    case ESK_TYPE_I16:
        return (uint16_t)(esk_load_u16(bytes) ^ 0x8000u);
    case ESK_TYPE_U16:
        return esk_load_u16(bytes);
    case ESK_TYPE_I8:
        return (uint8_t)(bytes[0] ^ 0x80u);
    case ESK_TYPE_U8:
        return bytes[0];
    default:
        return 0;
    }
}

uint64_t esk_order_load(uint8_t type, const uint8_t *bytes) {
    switch (type) {
    case ESK_TYPE_I64:
        return esk_load_u64(bytes) ^ (UINT64_C(1) << 63);
    case ESK_TYPE_U64:
        return esk_load_u64(bytes);
    case ESK_TYPE_F64:
        return order_float64(esk_load_u64(bytes));
    default:
        return esk_order_load32(type, bytes);
    }
}

/// The float's bytes in `order` made to rise. Returns false for a NaN.
static bool order_float_bytes(uint8_t width, uint8_t *order) {
    uint8_t *top = &order[width - 1u];
    uint8_t exponent = width == 4 ? 0x80 : 0xF0;
    uint8_t rest = (uint8_t)(order[width - 2u] & (uint8_t)~exponent);
    bool is_negative = (*top & 0x80u) != 0;
    bool is_huge = (*top & 0x7Fu) == 0x7Fu &&
                   (order[width - 2u] & exponent) == exponent;
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

bool esk_order_is_nan(uint8_t type, const uint8_t *bytes) {
    if (type == ESK_TYPE_F32) {
        return order_bits32_are_nan(esk_load_u32(bytes));
    }
    return type == ESK_TYPE_F64 && order_bits64_are_nan(esk_load_u64(bytes));
}

uint64_t esk_order_max(uint8_t type) {
    uint8_t width = esk_order_width(type);
    return width == 0 ? 0 : UINT64_MAX >> (64u - 8u * width);
}

/// The bits of a float, without asking what a cast would do to them.
static uint32_t order_float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

uint64_t esk_order_number(uint8_t type, union esk_number number, bool *below,
                          bool *above) {
    uint64_t max = esk_order_max(type);
    *below = false;
    *above = false;
    if (type == ESK_TYPE_F32) {
        uint32_t bits = order_float_bits(number.f32);
        *below = *above = order_bits32_are_nan(bits);
        return order_float32(bits);
    }
    if (type == ESK_TYPE_F64) {
        *below = *above = order_bits64_are_nan(number.f64);
        return order_float64(number.f64);
    }
    if (order_is_signed(type)) {
        int64_t most = (int64_t)(max >> 1);
        *below = number.i < -most - 1;
        *above = number.i > most;
        number.u = (uint64_t)number.i + (uint64_t)most + 1u;
    } else {
        *above = number.u > max;
    }
    if (*below) {
        return 0;
    }
    return *above ? max : number.u;
}

esk_key esk_order_key(uint8_t type, const uint8_t *bytes) {
    switch (type) {
    case ESK_TYPE_I8:
        return (esk_key)(int8_t)bytes[0];
    case ESK_TYPE_I16:
        return (esk_key)(int16_t)esk_load_u16(bytes);
    case ESK_TYPE_I32:
        return (esk_key)(int32_t)esk_load_u32(bytes);
#if ESK_KEY_BITS == 64
    case ESK_TYPE_I64:
    case ESK_TYPE_U64:
        return esk_load_u64(bytes);
#endif
    default:
        return esk_order_load32(type, bytes);
    }
}

/// Largest order form of a key of `type`, in the width of esk_key.
static esk_key order_key_max(uint8_t type) {
    uint8_t width = esk_order_width(type);
    if (width >= sizeof(esk_key)) {
        return (esk_key)~(esk_key)0;
    }
    return (esk_key)(((esk_key)1 << (8u * width)) - 1u);
}

esk_key esk_order_from_key(uint8_t type, esk_key key) {
    const esk_key sign = (esk_key)1 << (ESK_KEY_BITS - 1);
    esk_key max = order_key_max(type);
    if (order_is_signed(type)) {
        /* Adding half the range maps the type's own values to 0 .. max. */
        esk_key half = (esk_key)((max >> 1) + 1u);
        esk_key order = (esk_key)(key + half);
        if (order <= max) {
            return order;
        }
        return (key & sign) != 0 ? 0 : max;
    }
    return key <= max ? key : max;
}

esk_key esk_key_from_order(uint8_t type, esk_key order) {
    if (order_is_signed(type)) {
        return (esk_key)(order - ((order_key_max(type) >> 1) + 1u));
    }
    return order;
}
