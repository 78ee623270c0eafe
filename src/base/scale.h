// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Division without a division instruction, and without the code of one.
#ifndef ESK_BASE_SCALE_H
#define ESK_BASE_SCALE_H

#include <stdbool.h>
#include <stdint.h>

/// times * part / whole, rounded down.
///
/// part     below `whole`.
/// whole    1 .. 2^30.
/// rest     out: the remainder.
#if SIZE_MAX > UINT32_MAX
static inline uint32_t esk_scale(uint32_t times, uint32_t part, uint32_t whole,
                                 uint32_t *rest) {
    uint64_t product = (uint64_t)times * part;
    *rest = (uint32_t)(product % whole);
    return (uint32_t)(product / whole);
}
#else
uint32_t esk_scale(uint32_t times, uint32_t part, uint32_t whole,
                   uint32_t *rest);
#endif

/// value / whole, rounded down, in a loop: scale.c.
///
/// whole    not 0.
/// rest     out: the remainder.
uint32_t esk_quotient_by_shifts(uint32_t value, uint32_t whole, uint32_t *rest);

/// value / whole, rounded down. An ARM without a divide instruction has 278
/// bytes for it in its library, made for speed: this is a loop there.
///
/// whole    not 0.
/// rest     out: the remainder.
#if defined(__arm__) && !defined(__ARM_FEATURE_IDIV)
static inline uint32_t esk_quotient(uint32_t value, uint32_t whole,
                                    uint32_t *rest) {
    return esk_quotient_by_shifts(value, whole, rest);
}
#else
static inline uint32_t esk_quotient(uint32_t value, uint32_t whole,
                                    uint32_t *rest) {
    *rest = value % whole;
    return value / whole;
}
#endif

/// The same of numbers of 16 bits, for which an 8-bit processor has a shorter
/// division.
#if SIZE_MAX > UINT16_MAX
static inline uint16_t esk_quotient_short(uint16_t value, uint16_t whole) {
    uint32_t rest = 0;
    return (uint16_t)esk_quotient(value, whole, &rest);
}
#else
static inline uint16_t esk_quotient_short(uint16_t value, uint16_t whole) {
    return value / whole;
}
#endif

/// Whether a * b > c * d, for `a` and `c` of 16 bits. An 8-bit processor makes
/// the four products of 16 bits sooner than two of 64 bits.
bool esk_products_fall(uint16_t a, uint32_t b, uint16_t c, uint32_t d);

#endif
