// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "base/scale.h"
#include "test/harness/esk_test.h"

ESK_TEST(scale_divides_by_shifts_as_a_processor_does) {
    static const uint32_t values[] = {
        0,     1,     2,          7,           3895,        3896,      3897,
        65535, 65536, 0x7FFFFFFF, 0x80000000u, 0xFFFFFFFEu, UINT32_MAX};
    enum { COUNT = sizeof values / sizeof *values };
    for (uint32_t i = 0; i < COUNT; i++) {
        for (uint32_t j = 1; j < COUNT; j++) {
            uint32_t rest = 0;
            uint32_t quotient =
                esk_quotient_by_shifts(values[i], values[j], &rest);
            ESK_CHECK_INT(quotient, values[i] / values[j]);
            ESK_CHECK_INT(rest, values[i] % values[j]);
            ESK_CHECK_INT(esk_quotient(values[i], values[j], &rest), quotient);
            ESK_CHECK_INT(rest, values[i] % values[j]);
        }
    }
}

ESK_TEST(scale_divides_short_numbers) {
    static const uint16_t values[] = {0, 1, 15, 16, 496, 32768, 65535};
    enum { COUNT = sizeof values / sizeof *values };
    for (uint32_t i = 0; i < COUNT; i++) {
        for (uint32_t j = 1; j < COUNT; j++) {
            ESK_CHECK_INT(esk_quotient_short(values[i], values[j]),
                          values[i] / values[j]);
        }
    }
}

ESK_TEST(scale_compares_products_of_48_bits) {
    static const uint16_t shorts[] = {0, 1, 255, 256, 40000, 65535};
    static const uint32_t longs[] = {
        0, 1, 65535, 65536, 65537, 0x7FFFFFFF, 0x80000000u, UINT32_MAX};
    enum { SHORTS = sizeof shorts / sizeof *shorts };
    enum { LONGS = sizeof longs / sizeof *longs };
    for (uint32_t i = 0; i < SHORTS * SHORTS * LONGS * LONGS; i++) {
        uint16_t a = shorts[i % SHORTS];
        uint16_t c = shorts[i / SHORTS % SHORTS];
        uint32_t b = longs[i / SHORTS / SHORTS % LONGS];
        uint32_t d = longs[i / SHORTS / SHORTS / LONGS];
        ESK_CONTEXT("%u * %u > %u * %u", a, b, c, d);
        ESK_CHECK_INT(esk_products_fall(a, b, c, d),
                      (uint64_t)a * b > (uint64_t)c * d);
    }
    /* The low halves decide, and a carry of one does. */
    ESK_CHECK(esk_products_fall(3, 0x10001, 3, 0x10000));
    ESK_CHECK(!esk_products_fall(3, 0x10000, 3, 0x10001));
    ESK_CHECK(!esk_products_fall(7, 0x20000, 7, 0x20000));
    ESK_CHECK(esk_products_fall(0xFFFF, 0x1FFFF, 1, 0xFFFFFFFF));
}

ESK_TEST_MAIN()
