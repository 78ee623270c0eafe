// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A product over a divisor, without a division instruction.
#ifndef ESK_BASE_SCALE_H
#define ESK_BASE_SCALE_H

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

#endif
