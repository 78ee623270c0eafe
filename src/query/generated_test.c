// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What generated C calls; the queries themselves are tested from Python.
#include "esker/generated.h"

#include <string.h>

#include "test/harness/esk_test.h"

ESK_TEST(generated_stop_goes_on_only_after_again_and_io) {
    static const struct {
        int status;
        uint8_t at;
    } cases[] = {{ESK_AGAIN, 3},
                 {ESK_E_IO, 3},
                 {ESK_END, ESK_QUERY_ENDED},
                 {ESK_E_STALE, ESK_QUERY_FAILED},
                 {ESK_E_LIMIT, ESK_QUERY_FAILED}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t at = 9;
        ESK_EQUAL(esk_query_stop(&at, 3, cases[i].status), cases[i].status);
        ESK_EQUAL(at, cases[i].at);
    }
    ESK_EQUAL(esk_query_over(ESK_QUERY_ENDED), ESK_END);
    ESK_EQUAL(esk_query_over(ESK_QUERY_FAILED), ESK_E_INVALID);
}
