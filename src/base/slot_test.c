// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Slots as words are slots as whole numbers.
#include "base/slot_words.h"
#include "test/harness/esk_test.h"

static const esk_slot numbers[] = {
    0,
    1,
    -1,
    500,
    -32768,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    -0x80000000LL,
    -0x100000000LL,
    0x100000000LL,
    0x123456789ABCDEF,
    INT64_MAX,
    INT64_MAX - 1,
    INT64_MIN,
    INT64_MIN + 1,
};

enum { NUMBERS = sizeof numbers / sizeof numbers[0] };

ESK_TEST(words_compare_add_and_subtract_as_whole_numbers_do) {
    for (size_t i = 0; i < NUMBERS; i++) {
        for (size_t j = 0; j < NUMBERS; j++) {
            const esk_slot *a = &numbers[i];
            const esk_slot *b = &numbers[j];
            ESK_CONTEXT("numbers %zu and %zu", i, j);
            ESK_CHECK_INT(esk_words_compare(a, b), esk_whole_compare(a, b));
            for (int subtract = 0; subtract < 2; subtract++) {
                esk_slot made = *a;
                esk_slot wanted = 0;
                bool fits = esk_whole_add(&wanted, a, b, subtract != 0);
                ESK_CHECK(esk_words_add(&made, &made, b, subtract != 0) ==
                          fits);
                ESK_CHECK_INT(made, wanted);
            }
        }
    }
}

ESK_TEST(words_sum_two_slots_as_whole_numbers_do) {
    esk_slot made[2] = {0, 0};
    esk_slot wanted[2] = {0, 0};
    uint32_t mixed = 1;
    for (uint32_t i = 0; i < 5000; i++) {
        mixed = mixed * UINT32_C(1103515245) + 12345;
        const esk_slot *a = &numbers[(mixed >> 16) % NUMBERS];
        esk_words_add_wide(made, a);
        esk_whole_add_wide(wanted, a);
        ESK_CONTEXT("after %u", (unsigned)i);
        ESK_CHECK_INT(made[0], wanted[0]);
        ESK_CHECK_INT(made[1], wanted[1]);
    }
}

ESK_TEST_MAIN()
