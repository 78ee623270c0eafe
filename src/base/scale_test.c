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

ESK_TEST_MAIN()
