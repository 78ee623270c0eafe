// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Queries as programs: their rows, from tables of every kind.
#include "test/harness/query_fixture.h"

ESK_TEST(query_filters_and_aggregates) {
    query_start(40);
    ESK_CHECK_TEXT(query_rows(".table 0\n"
                              ".regs 7\n"
                              ".out int r1\n"
                              ".out avg r1\n"
                              "LDI16 r0 50\n"
                              "CLEAR r1\n"
                              "FOR c0 0 r0 r0 x\n"
                              "b: LD r6 c0.i32 4\n"
                              "UNLESS_LT r0 r6 n\n"
                              "AGG 3 r1 r6\n"
                              "n: NEXT c0 b\n"
                              "x: EMIT\n"
                              "HALT",
                              0),
                   "11,65.8181818;");
}

ESK_TEST_MAIN()
