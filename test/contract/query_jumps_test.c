// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// IFC: a column is loaded and compared, and the program jumps by it.
#include "test/harness/query_fixture.h"

ESK_TEST(query_compares_the_column_that_it_loads) {
    static const struct {
        const char *op;
        esk_slot b;
        uint8_t known;
        const char *rows; ///< where it did not jump: r0
    } cases[] = {
        {"IFC_LT", 17, 1, "17;54;"},
        {"IFC_LE", 17, 1, "54;"},
        {"IFC_EQ", 17, 1, "-20;54;"},
        {"IFC_NE", 17, 1, "17;"},
        {"IFC_GT", 17, 1, "-20;17;"},
        {"IFC_GE", 17, 1, "-20;"},
        {"UNLESSC_LT", 17, 1, "-20;"},
        {"UNLESSC_GE", 17, 1, "17;54;"},
        {"IFC_NULL", 17, 1, "-20;17;54;"},
        {"UNLESSC_NULL", 17, 1, ""},
        {"IFC_NULL", 0, 0, ""},
        {"UNLESSC_LT", 0, 0, ""},
        {"IFC_LT", 0, 0, "-20;17;54;"},
    };
    query_start(3);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        ESK_CONTEXT("case %zu, %s", i, cases[i].op);
        query_parameters[0] = cases[i].b;
        query_parameter_count = cases[i].known;
        snprintf(text, sizeof text,
                 ".table 0\n.regs 2\n.params 1\n.out int r1\n"
                 "FOR c0 0 r0 r0 x\n"
                 "b: %s r1 r0 c0.i32 4 n\nEMIT\nn: NEXT c0 b\n"
                 "x: HALT",
                 cases[i].op);
        ESK_CHECK_TEXT(query_rows(text, 0), cases[i].rows);
    }
    /* Where it jumps its register has the column, too. */
    query_parameter_count = 0;
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 2\n.out int r1\n"
                              "FOR c0 0 r0 r0 x\n"
                              "b: IFC_NULL r1 r0 c0.i32 4 n\nJMP e\n"
                              "n: EMIT\ne: NEXT c0 b\nx: HALT",
                              0),
                   "-20;17;54;");
    /* A cursor without a row, a value beyond a slot, a float. */
    ESK_CHECK_TEXT(
        query_rows(".table 0\n.regs 2\n.out int r1\n"
                   "LDI8 r1 1\nIFC_NULL r1 r0 c0.i32 4 n\nLDI8 r1 7\n"
                   "n: EMIT\nHALT",
                   0),
        "-;");
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 2\n.out int r1\n"
                              "FOR c0 0 r0 r0 x\n"
                              "b: IFC_NULL r1 r0 c0.u64 0 n\nn: EMIT\n"
                              "NEXT c0 b\nx: HALT",
                              0),
                   "!-14");
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 2\n.flags 2\n.out float r1\n"
                              "FOR c0 0 r0 r0 x\n"
                              "b: UNLESSC_LT r1 r0 c0.f32 8 n\nLDI8 r1 7\n"
                              "n: EMIT\nJMP x\nNEXT c0 b\nx: HALT",
                              0),
                   "-2;");
}

ESK_TEST_MAIN()
