// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "base/scale.h"

#include "base/bytes.h"

#if SIZE_MAX <= UINT32_MAX

/// Long multiplication and division at once: after each bit of `times`,
/// quotient * whole + rest = (bits so far) * part. No product is wider than 32
/// bits, and there is no division. Leading zeros are skipped a byte at a time.
uint32_t esk_scale(uint32_t times, uint32_t part, uint32_t whole,
                   uint32_t *rest) {
    uint32_t quotient = 0;
    uint32_t left = 0;
    uint8_t digits[4];
    esk_store_u32(digits, times);
    for (uint8_t i = sizeof digits; i > 0; i--) {
        uint8_t digit = digits[i - 1];
        uint16_t low = 0; /* below 512: the rest gives 1, the digit 1 */
        if (digit == 0 && quotient == 0 && left == 0) {
            continue;
        }
        for (uint8_t bit = 0x80; bit != 0; bit >>= 1) {
            low = (uint16_t)(low << 1);
            left <<= 1;
            if ((digit & bit) != 0) {
                left += part;
            }
            while (left >= whole) { /* twice: left is below 3 * whole */
                left -= whole;
                low++;
            }
        }
        quotient = (quotient << 8) + low;
    }
    *rest = left;
    return quotient;
}

#endif

uint32_t esk_quotient_by_shifts(uint32_t value, uint32_t whole,
                                uint32_t *rest) {
    uint32_t quotient = 0;
    uint32_t part = whole;
    while (part <= value >> 1) {
        part <<= 1;
    }
    for (; part >= whole; part >>= 1) {
        quotient <<= 1;
        if (value >= part) {
            value -= part;
            quotient++;
        }
    }
    *rest = value;
    return quotient;
}

/// a * b. On AVR a call that multiplies 16 bits by 16, whatever else the
/// compiler knows of the factors.
static inline uint32_t product(uint16_t a, uint16_t b) {
#if defined(__AVR__)
    __asm__("" : "+r"(a), "+r"(b));
#endif
    return (uint32_t)a * b;
}

bool esk_products_fall(uint16_t a, uint32_t b, uint16_t c, uint32_t d) {
    uint32_t left = product(a, (uint16_t)(b & UINT16_MAX));
    uint32_t right = product(c, (uint16_t)(d & UINT16_MAX));
    uint16_t left_low = (uint16_t)(left & UINT16_MAX);
    uint16_t right_low = (uint16_t)(right & UINT16_MAX);
    left = (left >> 16) + product(a, (uint16_t)(b >> 16));
    right = (right >> 16) + product(c, (uint16_t)(d >> 16));
    return left > right || (left == right && left_low > right_low);
}
