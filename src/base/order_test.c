// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "base/order.h"

#include <math.h>

#include "base/bytes.h"
#include "test/harness/esk_test.h"

static uint64_t order_of(uint8_t type, uint64_t bits) {
    uint8_t bytes[8];
    esk_store_u64(bytes, bits);
    return esk_order_load(type, bytes);
}

static uint64_t f32_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t f64_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/// Values of `type`, rising, as row bytes; the form must rise with them.
static void check_rises(uint8_t type, const uint64_t *bits, int count) {
    for (int i = 1; i < count; i++) {
        ESK_CONTEXT("type %u, value %d", type, i);
        ESK_CHECK(order_of(type, bits[i - 1]) < order_of(type, bits[i]));
    }
}

ESK_TEST(order_rises_with_every_type) {
    const uint64_t small[] = {0, 1, 0x7F, 0x80, 0xFE, 0xFF};
    const uint64_t i8[] = {0x80, 0x81, 0xFF, 0, 1, 0x7F};
    const uint64_t i16[] = {0x8000, 0xFFFF, 0, 1, 0x7FFF};
    const uint64_t u16[] = {0, 1, 0x7FFF, 0x8000, 0xFFFF};
    const uint64_t i32[] = {0x80000000, 0xFFFFFFFF, 0, 1, 0x7FFFFFFF};
    const uint64_t u32[] = {0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF};
    const uint64_t i64[] = {(uint64_t)INT64_MIN,
                            (uint64_t)INT64_MIN + 1,
                            UINT64_MAX,
                            0,
                            1,
                            INT64_MAX};
    const uint64_t u64[] = {0, 1, INT64_MAX, (uint64_t)INT64_MIN, UINT64_MAX};
    check_rises(ESK_TYPE_U8, small, 6);
    check_rises(ESK_TYPE_I8, i8, 6);
    check_rises(ESK_TYPE_I16, i16, 5);
    check_rises(ESK_TYPE_U16, u16, 5);
    check_rises(ESK_TYPE_I32, i32, 5);
    check_rises(ESK_TYPE_U32, u32, 5);
    check_rises(ESK_TYPE_I64, i64, 6);
    check_rises(ESK_TYPE_U64, u64, 5);
}

ESK_TEST(order_rises_with_floats_and_joins_the_two_zeros) {
    const double values[] = {-INFINITY, -3.5e30, -1.0, -1e-30, 0.0,
                             1e-30,     0.5,     1.0,  3e30,   INFINITY};
    uint64_t f32[10];
    uint64_t f64[10];
    for (int i = 0; i < 10; i++) {
        f32[i] = f32_bits((float)values[i]);
        f64[i] = f64_bits(values[i]);
    }
    check_rises(ESK_TYPE_F32, f32, 10);
    check_rises(ESK_TYPE_F64, f64, 10);
    ESK_CHECK(order_of(ESK_TYPE_F32, f32_bits(-0.0f)) ==
              order_of(ESK_TYPE_F32, 0));
    ESK_CHECK(order_of(ESK_TYPE_F64, f64_bits(-0.0)) ==
              order_of(ESK_TYPE_F64, 0));
}

ESK_TEST(order_knows_nan_from_infinity) {
    uint8_t bytes[8];
    esk_store_u64(bytes, f32_bits(NAN));
    ESK_CHECK(esk_order_is_nan(ESK_TYPE_F32, bytes));
    esk_store_u64(bytes, f32_bits(-NAN));
    ESK_CHECK(esk_order_is_nan(ESK_TYPE_F32, bytes));
    ESK_CHECK(!esk_order_is_nan(ESK_TYPE_U32, bytes));
    esk_store_u64(bytes, f32_bits(-INFINITY));
    ESK_CHECK(!esk_order_is_nan(ESK_TYPE_F32, bytes));
    esk_store_u64(bytes, f64_bits((double)NAN));
    ESK_CHECK(esk_order_is_nan(ESK_TYPE_F64, bytes));
    esk_store_u64(bytes, f64_bits((double)INFINITY));
    ESK_CHECK(!esk_order_is_nan(ESK_TYPE_F64, bytes));
    esk_store_u64(bytes, UINT64_MAX);
    ESK_CHECK(!esk_order_is_nan(ESK_TYPE_I64, bytes));
}

ESK_TEST(order_of_a_type_without_numbers_is_zero) {
    ESK_CHECK_INT(esk_order_width(ESK_TYPE_BYTES), 0);
    ESK_CHECK_INT(esk_order_width(0), 0);
    ESK_CHECK_INT(order_of(ESK_TYPE_VAR, 77), 0);
    ESK_CHECK_INT(order_of(0, 77), 0);
    ESK_CHECK_INT(esk_order_max(ESK_TYPE_BYTES), 0);
    uint8_t byte = 7;
    ESK_CHECK(!esk_order_is_nan(0, &byte));
}

static void check_number(uint8_t type, union esk_number number,
                         uint64_t expected, bool low, bool high) {
    bool below = !low;
    bool above = !high;
    uint64_t order = esk_order_number(type, number, &below, &above);
    ESK_CONTEXT("type %u, number %jd", type, (intmax_t)number.i);
    ESK_CHECK(order == expected);
    ESK_CHECK_INT(below, low);
    ESK_CHECK_INT(above, high);
}

ESK_TEST(order_number_clamps_and_says_so) {
    check_number(ESK_TYPE_I8, (union esk_number){.i = -129}, 0, true, false);
    check_number(ESK_TYPE_I8, (union esk_number){.i = -128}, 0, false, false);
    check_number(ESK_TYPE_I8, (union esk_number){.i = 0}, 128, false, false);
    check_number(ESK_TYPE_I8, (union esk_number){.i = 128}, 255, false, true);
    check_number(ESK_TYPE_I16, (union esk_number){.i = 32767}, 65535, false,
                 false);
    check_number(ESK_TYPE_I32, (union esk_number){.i = INT64_MIN}, 0, true,
                 false);
    check_number(ESK_TYPE_I64, (union esk_number){.i = INT64_MIN}, 0, false,
                 false);
    check_number(ESK_TYPE_I64, (union esk_number){.i = INT64_MAX}, UINT64_MAX,
                 false, false);
    check_number(ESK_TYPE_U8, (union esk_number){.u = 256}, 255, false, true);
    check_number(ESK_TYPE_U16, (union esk_number){.u = 256}, 256, false, false);
    check_number(ESK_TYPE_U32, (union esk_number){.u = UINT64_MAX}, UINT32_MAX,
                 false, true);
    check_number(ESK_TYPE_U64, (union esk_number){.u = UINT64_MAX}, UINT64_MAX,
                 false, false);
}

_Static_assert(_Generic(((union esk_number *)NULL)->f64, double: true),
               "a double assigned to f64 is not converted to its bits' type");

ESK_TEST(order_number_of_a_float_is_the_order_of_its_bytes) {
    union esk_number number = {.u = 0};
    number.f32 = -1.5f;
    check_number(ESK_TYPE_F32, number, order_of(ESK_TYPE_F32, f32_bits(-1.5f)),
                 false, false);
    number.f64 = 2.5;
    check_number(ESK_TYPE_F64, number, order_of(ESK_TYPE_F64, f64_bits(2.5)),
                 false, false);
    number.f64_bits = f64_bits(2.5);
    check_number(ESK_TYPE_F64, number, order_of(ESK_TYPE_F64, f64_bits(2.5)),
                 false, false);
}

ESK_TEST(order_number_that_is_nan_is_both_below_and_above) {
    union esk_number number = {.u = 0};
    bool below = false;
    bool above = false;
    number.f32 = NAN;
    esk_order_number(ESK_TYPE_F32, number, &below, &above);
    ESK_CHECK(below && above);
    number.f64 = (double)NAN;
    esk_order_number(ESK_TYPE_F64, number, &below, &above);
    ESK_CHECK(below && above);
}

ESK_TEST(order_key_is_sign_extended_and_turns_back) {
    const struct {
        uint8_t type;
        int64_t value;
    } cases[] = {
        {ESK_TYPE_I8, -128},        {ESK_TYPE_I8, 127},
        {ESK_TYPE_U8, 255},         {ESK_TYPE_I16, -32768},
        {ESK_TYPE_I16, 32767},      {ESK_TYPE_U16, 65535},
        {ESK_TYPE_I32, INT32_MIN},  {ESK_TYPE_I32, -1},
        {ESK_TYPE_U32, UINT32_MAX},
#if ESK_KEY_BITS == 64
        {ESK_TYPE_I64, INT64_MIN},  {ESK_TYPE_I64, -1},
        {ESK_TYPE_U64, -1},
#endif
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t bytes[8];
        esk_store_u64(bytes, (uint64_t)cases[i].value);
        esk_key key = (esk_key)cases[i].value;
        ESK_CONTEXT("case %zu", i);
        esk_key order = esk_order_from_key(cases[i].type, key);
        ESK_CHECK(order == esk_order_load(cases[i].type, bytes));
        ESK_CHECK(esk_key_from_order(cases[i].type, order) == key);
    }
}

ESK_TEST(order_from_key_clamps_what_the_type_cannot_hold) {
    ESK_CHECK_INT(esk_order_from_key(ESK_TYPE_I8, (esk_key)-129), 0);
    ESK_CHECK_INT(esk_order_from_key(ESK_TYPE_I8, 128), 255);
    ESK_CHECK_INT(esk_order_from_key(ESK_TYPE_U8, 256), 255);
    ESK_CHECK_INT(esk_order_from_key(ESK_TYPE_U16, (esk_key)-1), 65535);
    ESK_CHECK_INT(esk_order_from_key(ESK_TYPE_I16, 40000), 65535);
}

ESK_TEST(order_is_key_finds_a_key_that_no_value_has) {
    const struct {
        uint8_t type;
        esk_key key;
        bool is_key;
    } cases[] = {
        {ESK_TYPE_U32, UINT32_MAX, true},
        {ESK_TYPE_U32, 0, true},
        {ESK_TYPE_I16, (esk_key)-1, true},
        {ESK_TYPE_I16, 32768, false},
        {ESK_TYPE_U16, (esk_key)-1, false},
        {ESK_TYPE_U8, 255, true},
#if ESK_KEY_BITS == 64
        {ESK_TYPE_U32, (esk_key)-1, false},
        {ESK_TYPE_I64, (esk_key)-1, true},
        {ESK_TYPE_U32, UINT64_C(1) << 32, false},
        {ESK_TYPE_I32, UINT64_C(1) << 31, false},
#endif
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        esk_key order = cases[i].key;
        ESK_CONTEXT("case %zu", i);
        ESK_CHECK_INT(esk_order_is_key(cases[i].type, &order), cases[i].is_key);
        ESK_CHECK(!cases[i].is_key ||
                  order == esk_order_from_key(cases[i].type, cases[i].key));
    }
}

ESK_TEST(order_of_bytes_is_the_order_of_the_number) {
    const uint8_t types[] = {ESK_TYPE_I8,  ESK_TYPE_U8,  ESK_TYPE_I16,
                             ESK_TYPE_U16, ESK_TYPE_I32, ESK_TYPE_U32,
                             ESK_TYPE_F32};
    const uint32_t values[] = {0,          1,          0x7F,       0x80,
                               0xFFFF8000, 0x7FFFFFFF, 0x80000000, 0x80000001,
                               0xFFFFFFFF, 0x3F800000, 0xBF800000, 0xFF800000,
                               0x7F800000, 0x7F800001, 0xFFC00000, 0x12345678};
    for (size_t t = 0; t < sizeof types; t++) {
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
            uint8_t bytes[4];
            uint8_t order[8] = {0};
            esk_store_u32(bytes, values[i]);
            bool is_number = esk_order_bytes(
                types[t], esk_order_width(types[t]), bytes, order);
            ESK_CONTEXT("type %u, value %x", types[t], values[i]);
            ESK_CHECK(is_number == !esk_order_is_nan(types[t], bytes));
            ESK_CHECK(!is_number ||
                      esk_load_u32(order) == esk_order_load32(types[t], bytes));
        }
    }
}

/// Words at a stride, and how many a loop counts below `order`.
ESK_TEST(order_rank_of_words_counts_those_below) {
    enum { COUNT_MAX = 280, STRIDE = 7 };
    static uint8_t words[COUNT_MAX * STRIDE + 4];
    const uint8_t types[] = {ESK_TYPE_U32, ESK_TYPE_I32};
    for (uint8_t t = 0; t < 6; t++) {
        uint8_t type = types[t % 2u];
        bool even = t < 2 || t >= 4;
        uint16_t again = t < 4 ? 1 : 3; /* equal ones */
        for (uint16_t i = 0; i < COUNT_MAX; i++) {
            uint32_t order =
                UINT32_C(0x7FFFF000) +
                (uint32_t)(i / again * again) * (even ? 16u : i + 1u);
            esk_store_u32(words + i * STRIDE,
                          type == ESK_TYPE_U32 ? order
                                               : order ^ UINT32_C(0x80000000));
        }
        for (uint16_t count = 0; count <= COUNT_MAX; count++) {
            for (uint32_t step = 0; step < COUNT_MAX * 16u; step += 4) {
                uint32_t order = UINT32_C(0x7FFFEFF8) + step;
                uint16_t below = 0;
                while (below < count &&
                       esk_order_load32(type, words + below * STRIDE) < order) {
                    below++;
                }
                ESK_CHECK_INT(
                    esk_order_rank_words(type, words, STRIDE, count, order),
                    below);
                ESK_CHECK_INT(
                    esk_order_rank_even(type, words, STRIDE, count, order),
                    below);
            }
        }
    }
}

ESK_TEST_MAIN()
