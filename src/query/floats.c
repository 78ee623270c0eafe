// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Floats, as a part. In a slot they order as integers do, so comparisons, min,
/// max and sorting are the machine's own.
///
/// A NaN becomes NULL and -0.0 becomes 0.0 where a slot is set: none is in a
/// register.
#include "base/real.h"
#include "query/program.h"

static const esk_slot zero = 0;

/// Bits of a real's exact integers.
#define REAL_DIGITS (sizeof(esk_real) == 4 ? 24 : 53)

static ESK_APART esk_real real_get(const esk_slot *slot) {
    esk_slot bits = *slot;
    esk_real real = 0;
    if (bits < 0) {
        bits ^= ESK_SLOT_MAX;
    }
    memcpy(&real, &bits, sizeof real);
    return real;
}

/// Sets a slot. Returns ESK_OK; ESK_NOT_FOUND of a NaN.
static int real_set(esk_slot *slot, esk_real real) {
    esk_slot bits = 0;
    if (real != real) {
        return ESK_NOT_FOUND;
    }
    real += 0;
    memcpy(&bits, &real, sizeof real);
    *slot = bits < 0 ? bits ^ ESK_SLOT_MAX : bits;
    return ESK_OK;
}

static bool float_load(esk_slot *slot, uint8_t type, const uint8_t *bytes) {
    esk_real real = 0;
    if (type == ESK_TYPE_F32 || sizeof real == 4) { /* no other is wanted */
        real = (esk_real)esk_load_f32(bytes);
    } else {
        uint64_t bits = esk_load_u64(bytes);
        memcpy(&real, &bits, sizeof real);
    }
    return real_set(slot, real) == ESK_OK;
}

/// 2 to the power of what a slot has beside its sign.
static esk_real slot_limit(void) {
    return (esk_real)(ESK_SLOT_SIGN);
}

/// The bound of an f32 column: the closest f32 on the side of the range.
static float bound_narrow(esk_real real, bool is_low) {
    float narrow = (float)real;
    int32_t bits = 0;
    if (is_low ? (esk_real)narrow < real : (esk_real)narrow > real) {
        /* One on, in the form in which floats order as integers. */
        memcpy(&bits, &narrow, sizeof bits);
        bits = bits < 0 ? bits ^ INT32_MAX : bits;
        bits += is_low ? 1 : -1;
        bits = bits < 0 ? bits ^ INT32_MAX : bits;
        memcpy(&narrow, &bits, sizeof narrow);
    }
    return narrow;
}

static void float_bound(union esk_number *number, uint8_t type,
                        const esk_slot *slot, bool is_low) {
    esk_real real = real_get(slot);
    number->u = 0;
    if (type == ESK_TYPE_F32) {
        number->f32 = bound_narrow(real, is_low);
    } else {
        memcpy(&number->f64_bits, &real, sizeof real);
    }
}

/// Adds to a sum, and what rounding took from it to the compensation (Knuth's
/// TwoSum: exact in any order of magnitudes).
static void sum_add(esk_slot *sum, const esk_slot *value) {
    esk_real real = real_get(value);
    esk_real before = real_get(sum);
    esk_real lost = real_get(sum + 1);
    esk_real after = before + real;
    esk_real taken = after - before;
    if (after - after == 0) { /* else it is infinite, or no number */
        lost += (before - (after - taken)) + (real - taken);
    }
    if (real_set(sum, after) != ESK_OK) {
        /* Infinities of both signs: NaN, which FSUM makes of these two. */
        (void)real_set(sum, -real);
        lost = real;
    }
    (void)real_set(sum + 1, lost);
}

/// The mean of an exact sum: a quotient of as many bits as a slot has, the last
/// one set if anything is left, which the conversion to a real rounds once.
static esk_real mean_of(const esk_slot *sum, const esk_slot *count) {
    esk_slot_bits low = (esk_slot_bits)sum[0];
    esk_slot_bits high = (esk_slot_bits)sum[1];
    esk_slot_bits by = (esk_slot_bits)*count;
    esk_slot_bits left = 0;
    esk_slot_bits whole = 0;
    esk_real unit = slot_limit() * slot_limit() * 4; /* of whole's last bit */
    bool negative = sum[1] < 0;
    if (negative) {
        low = ~low + 1u;
        high = ~high + (low == 0 ? 1u : 0u);
    }
    if ((high | low) == 0) {
        return 0;
    }
    while ((whole & ESK_SLOT_SIGN) == 0) {
        left = left << 1 | (high & ESK_SLOT_SIGN ? 1u : 0u);
        high = high << 1 | (low & ESK_SLOT_SIGN ? 1u : 0u);
        low <<= 1;
        whole <<= 1;
        if (left >= by) {
            left -= by;
            whole |= 1u;
        }
        unit /= 2;
    }
    whole |= (left | high | low) != 0 ? 1u : 0u;
    esk_real mean = (esk_real)whole * unit;
    return negative ? -mean : mean;
}

/// Rounds half away from 0, to `digits` after the point.
static esk_real rounded(esk_real real, uint8_t digits) {
    esk_real scale = 1;
    esk_real exact = (esk_real)((esk_slot)1 << (REAL_DIGITS - 1));
    for (; digits > 0; digits--) {
        scale *= 10;
    }
    esk_real scaled = real * scale;
    if (!((esk_real)__builtin_fabs(scaled) < exact)) {
        return real; /* it has no digits behind */
    }
    esk_slot whole = (esk_slot)scaled;
    esk_real rest = scaled - (esk_real)whole;
    whole += (esk_slot)(rest + rest); /* 1 or -1 from a half on */
    return (esk_real)whole / scale;
}

/// r = the integer of `real`, toward 0. Returns ESK_OK; ESK_E_LIMIT.
static ESK_APART int truncated(esk_slot *r, esk_real real) {
    /* The bits of an integer may be those of a NaN, which is not less. */
    if (!(real < slot_limit() && real >= -slot_limit())) {
        return ESK_E_LIMIT;
    }
    *r = (esk_slot)real;
    return ESK_OK;
}

/// Compares an integer with a float.
static int8_t mixed_compare(const esk_slot *integer, esk_real real) {
    esk_slot whole = 0;
    if (truncated(&whole, real) != ESK_OK) {
        return real < 0 ? 1 : -1;
    }
    int8_t order = esk_slot_compare(integer, &whole);
    if (order == 0) { /* 0 with what is behind the point */
        (void)real_set(&whole, real - (esk_real)whole);
        order = esk_slot_compare(&zero, &whole);
    }
    return order;
}

/// Instructions of one or two floats.
static int real_run(struct esk_program *program, const uint8_t *op) {
    esk_slot *r = program->values + op[1];
    const esk_slot *a = program->values + op[2];
    esk_real x = real_get(a);
    esk_real y = op[0] <= ESK_OP_FDIV || op[0] == ESK_OP_FCMP
                     ? real_get(program->values + op[3])
                     : 0;
    switch (op[0]) {
    case ESK_OP_FADD:
        x += y;
        break;
    case ESK_OP_FSUB:
        x -= y;
        break;
    case ESK_OP_FMUL:
        x *= y;
        break;
    case ESK_OP_FDIV:
        if (y == 0) {
            return ESK_NOT_FOUND;
        }
        x /= y;
        break;
    case ESK_OP_FLOAT:
        x = (esk_real)*a;
        break;
    case ESK_OP_TRUNC:
        return truncated(r, x);
    case ESK_OP_FCMP:
        *r = mixed_compare(a, y);
        return ESK_OK;
    default: /* ROUND */
        x = rounded(x, op[3] & 15u);
        break;
    }
    return real_set(r, x);
}

/// Instructions of a window.
static int window_run(struct esk_program *program, const uint8_t *op) {
    esk_slot *r = program->values + op[1];
    uint8_t sum = (uint8_t)(op[2] + ESK_WINDOW_SUM);
    const esk_slot *parts = program->values + sum;
    const esk_slot *count = program->values + op[2];
    if (program->nulls[sum] != 0 || (op[0] == ESK_OP_FAVG && *count <= 0)) {
        return ESK_NOT_FOUND;
    }
    if (op[0] == ESK_OP_FAVG) {
        return real_set(r, mean_of(parts, count));
    }
    return real_set(r, real_get(parts) + real_get(parts + 1));
}

static int floats_run(struct esk_program *program, const uint8_t *op) {
    const uint8_t *nulls = program->nulls;
    int status = ESK_NOT_FOUND;
    if (op[0] == ESK_OP_FAGG) {
        esk_program_aggregate(program, op[1] | ESK_WINDOW_FLOATS, op[2],
                              esk_program_operand(program, op[3]));
        return ESK_PROGRAM_GOES_ON;
    }
    if (op[0] == ESK_OP_FSUM || op[0] == ESK_OP_FAVG) {
        status = window_run(program, op);
    } else if (nulls[op[2]] == 0 &&
               ((op[0] > ESK_OP_FDIV && op[0] != ESK_OP_FCMP) ||
                nulls[op[3]] == 0)) {
        status = real_run(program, op);
    }
    return esk_program_result(program, op[1], status);
}

const struct esk_query_part esk_query_part_floats = {
    .run = floats_run,
    .load = float_load,
    .bound = float_bound,
    .add = sum_add,
};
