// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Floats of generated C, by the rules of the machine's floats (floats.c): a
/// program without floats links nothing of this.
#include "esker/generated.h"

#include <string.h>

int esk_compare_int_f64(int64_t a, double b) {
    const double limit = 9223372036854775808.0;
    if (b >= limit || b < -limit) {
        return b < 0 ? 1 : -1;
    }
    int64_t whole = (int64_t)b;
    double rest = b - (double)whole;
    if (a != whole) {
        return a < whole ? -1 : 1;
    }
    return (rest < 0) - (rest > 0);
}

#define SLOT_MAX ((esk_slot)(((uint64_t)1 << (ESK_QUERY_BITS - 1)) - 1u))

esk_slot esk_f64_slot(double value) {
    esk_slot bits = 0;
    if (value == 0) {
        return 0; /* -0.0, too: it is equal */
    }
    memcpy(&bits, &value,
           sizeof bits < sizeof value ? sizeof bits : sizeof value);
    return bits < 0 ? bits ^ SLOT_MAX : bits;
}

double esk_f64_of_slot(esk_slot slot) {
    double value = 0;
    if (slot < 0) {
        slot ^= SLOT_MAX;
    }
    memcpy(&value, &slot,
           sizeof slot < sizeof value ? sizeof slot : sizeof value);
    return value;
}

static double magnitude(double value) {
    return value < 0 ? -value : value;
}

double esk_round_f64(double value, uint8_t digits) {
    const double exact = 4503599627370496.0; /* 2^52: no digits behind */
    double scale = 1;
    for (; digits > 0; digits--) {
        scale *= 10;
    }
    double scaled = value * scale;
    if (!(magnitude(scaled) < exact)) {
        return value;
    }
    int64_t whole = (int64_t)scaled;
    double rest = scaled - (double)whole;
    whole += rest >= 0.5 ? 1 : rest <= -0.5 ? -1 : 0;
    return (double)whole / scale;
}

void esk_f64_sum_add(struct esk_f64_sum *sum, double value) {
    double before = sum->sum;
    double after = before + value;
    sum->sum = after;
    if (after - after != 0) {
        return; /* infinite, or no number: so stays the sum */
    }
    if (magnitude(before) >= magnitude(value)) {
        sum->lost += (before - after) + value;
    } else {
        sum->lost += (value - after) + before;
    }
}

double esk_f64_sum_value(const struct esk_f64_sum *sum) {
    return sum->sum + sum->lost;
}

double esk_f64_sum_mean(const struct esk_f64_sum *sum, uint32_t count) {
    return esk_f64_sum_value(sum) / (double)count;
}

/// A quotient of 64 bits, the last one set if anything is left: the conversion
/// to a float rounds it once.
double esk_wide_sum_mean(const struct esk_wide_sum *sum, uint32_t count) {
    const uint64_t top = (uint64_t)1 << 63;
    bool negative = sum->high < 0;
    uint64_t low = negative ? ~sum->low + 1u : sum->low;
    uint64_t high = (uint64_t)sum->high;
    uint64_t left = 0;
    uint64_t whole = 0;
    int exponent = 128;
    if (negative) {
        high = ~high + (low == 0 ? 1u : 0u);
    }
    if ((high | low) == 0) {
        return 0;
    }
    while ((whole & top) == 0) {
        left = left << 1 | high >> 63;
        high = high << 1 | low >> 63;
        low <<= 1;
        whole <<= 1;
        if (left >= count) {
            left -= count;
            whole |= 1u;
        }
        exponent--;
    }
    whole |= (left | high | low) != 0 ? 1u : 0u;
    double mean = (double)whole;
    for (; exponent > 0; exponent--) {
        mean *= 2;
    }
    for (; exponent < 0; exponent++) {
        mean /= 2;
    }
    return negative ? -mean : mean;
}

double esk_i64_mean(int64_t sum, uint32_t count) {
    struct esk_wide_sum wide = {(uint64_t)sum, sum < 0 ? -1 : 0};
    return esk_wide_sum_mean(&wide, count);
}

double esk_u64_mean(uint64_t sum, uint32_t count) {
    struct esk_wide_sum wide = {sum, 0};
    return esk_wide_sum_mean(&wide, count);
}
