// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Instructions of programs one by one: values at the ends of their ranges,
/// NULL, text and floats.
#include <math.h>

#include "base/real.h"
#include "base/slot.h"
#include "test/harness/query_fixture.h"

#define LEAST INT64_MIN
#define MOST INT64_MAX

/// Whether the machine has slots of 64 bits. Tests of values beyond 32 bits,
/// and of floats that an f32 rounds, are of these.
enum { WIDE = ESK_QUERY_BITS == 64 };

static bool fits(int64_t value) {
    return (esk_slot)value == value;
}

/// The slot of a float.
static esk_slot real(double value) {
    esk_real rounded = (esk_real)value;
    esk_slot slot = 0;
    memcpy(&slot, &rounded, sizeof slot);
    return slot < 0 ? slot ^ ESK_SLOT_MAX : slot;
}

/// Runs `code` on parameters r0 and r1; `known` of them are not NULL.
static const char *run(const char *out, const char *code, int64_t a, int64_t b,
                       uint8_t known) {
    static char text[1024];
    snprintf(text, sizeof text,
             ".table 0\n.regs 16\n.params 2\n.flags %u\n.out %s\n%s\nEMIT\n"
             "HALT",
             WIDE ? 31u : 30u, out, code);
    query_parameters[0] = (esk_slot)a;
    query_parameters[1] = (esk_slot)b;
    query_parameter_count = known;
    return query_rows(text, 0);
}

struct binary {
    int64_t a;
    int64_t b;
    const char *results[5]; ///< ADD, SUB, MUL, DIV, REM
};

/// Checks the cases whose operands a slot has.
static void binary_check(const struct binary *cases, size_t count) {
    static const char *const names[] = {"ADD", "SUB", "MUL", "DIV", "REM"};
    for (size_t i = 0; i < 5 * count; i++) {
        const struct binary *one = &cases[i / 5];
        const char *name = names[i % 5];
        const char *result = one->results[i % 5];
        char code[64];
        if (!fits(one->a) || !fits(one->b)) {
            continue;
        }
        ESK_CONTEXT("%jd %s %jd", (intmax_t)one->a, name, (intmax_t)one->b);
        snprintf(code, sizeof code, "%s r2 r0 r1", name);
        ESK_CHECK_TEXT(run("int r2", code, one->a, one->b, 2), result);
        /* Also where the result replaces an operand. */
        snprintf(code, sizeof code, "%s r0 r0 r1", name);
        ESK_CHECK_TEXT(run("int r0", code, one->a, one->b, 2), result);
        snprintf(code, sizeof code, "%s r1 r0 r1", name);
        ESK_CHECK_TEXT(run("int r1", code, one->a, one->b, 2), result);
        snprintf(code, sizeof code, "%s r2 r0 r3", name);
        ESK_CHECK_TEXT(run("int r2", code, one->a, 0, 2), "-;");
        snprintf(code, sizeof code, "%s r2 r3 r0", name);
        ESK_CHECK_TEXT(run("int r2", code, one->a, 0, 2), "-;");
    }
}

ESK_TEST(query_arithmetic_is_exact_or_an_error) {
    static const struct binary cases[] = {
        {7, 2, {"9;", "5;", "14;", "3;", "1;"}},
        {-7, 2, {"-5;", "-9;", "-14;", "-3;", "-1;"}},
        {7, -2, {"5;", "9;", "-14;", "-3;", "1;"}},
        {-7, -2, {"-9;", "-5;", "14;", "3;", "-1;"}},
        {5, 0, {"5;", "5;", "0;", "-;", "-;"}},
        {0, -3, {"-3;", "3;", "0;", "0;", "0;"}},
        {MOST,
         1,
         {"!-14", "9223372036854775806;", "9223372036854775807;",
          "9223372036854775807;", "0;"}},
        {LEAST, -1, {"!-14", "-9223372036854775807;", "!-14", "!-14", "0;"}},
        {LEAST,
         1,
         {"-9223372036854775807;", "!-14", "-9223372036854775808;",
          "-9223372036854775808;", "0;"}},
        {LEAST, LEAST, {"!-14", "0;", "!-14", "1;", "0;"}},
        {MOST, LEAST, {"-1;", "!-14", "!-14", "0;", "9223372036854775807;"}},
        {3037000500, 3037000500, {"6074001000;", "0;", "!-14", "1;", "0;"}},
        {-3037000499,
         3037000499,
         {"0;", "-6074000998;", "-9223372030926249001;", "-1;", "0;"}},
        {INT64_C(0x100000000),
         INT64_C(0x7fffffff),
         {"6442450943;", "2147483649;", "9223372032559808512;", "2;", "2;"}},
        {INT64_C(0x7fffffff),
         INT64_C(0x100000001),
         {"6442450944;", "-2147483650;", "9223372034707292159;", "0;",
          "2147483647;"}},
        {INT64_C(0x100000000),
         INT64_C(0x80000000),
         {"6442450944;", "2147483648;", "!-14", "2;", "0;"}},
        {INT64_C(123456789012345),
         1000,
         {"123456789013345;", "123456789011345;", "123456789012345000;",
          "123456789012;", "345;"}},
    };
    static const struct binary narrow[] = {
        {INT32_MAX,
         1,
         {"!-14", "2147483646;", "2147483647;", "2147483647;", "0;"}},
        {INT32_MIN, -1, {"!-14", "-2147483647;", "!-14", "!-14", "0;"}},
        {INT32_MIN, INT32_MIN, {"!-14", "0;", "!-14", "1;", "0;"}},
        {INT32_MAX, INT32_MIN, {"-1;", "!-14", "!-14", "0;", "2147483647;"}},
        {-65536, 32768, {"-32768;", "-98304;", "-2147483648;", "-2;", "0;"}},
        {65536, 32768, {"98304;", "32768;", "!-14", "2;", "0;"}},
    };
    query_start(1);
    binary_check(cases, sizeof cases / sizeof cases[0]);
    if (!WIDE) {
        binary_check(narrow, sizeof narrow / sizeof narrow[0]);
    }
}

ESK_TEST(query_jumps_follow_logic_of_three_values) {
    static const char *const names[] = {"LT", "LE", "EQ", "NE"};
    static const struct {
        int64_t a;
        int64_t b;
        bool holds[4];
    } cases[] = {
        {1, 2, {true, true, false, true}},
        {2, 2, {false, true, true, false}},
        {3, 2, {false, false, false, true}},
        {-1, 1, {true, true, false, true}},
        {MOST, LEAST, {false, false, false, true}},
        {LEAST, LEAST + 1, {true, true, false, true}},
        {256, 1, {false, false, false, true}},
    };
    query_start(1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t relation = 0;
             fits(cases[i].a) && fits(cases[i].b) && relation < 8; relation++) {
            bool is_if = relation >= 4;
            bool holds = cases[i].holds[relation % 4];
            char code[128];
            ESK_CONTEXT("case %zu, relation %zu", i, relation);
            snprintf(code, sizeof code,
                     "LDI8 r2 1\n%s_%s r0 r1 x\nLDI8 r2 0\nx: NULL r9",
                     is_if ? "IF" : "UNLESS", names[relation % 4]);
            ESK_CHECK_TEXT(run("int r2", code, cases[i].a, cases[i].b, 2),
                           holds == is_if ? "1;" : "0;");
            /* NULL is not true. */
            ESK_CHECK_TEXT(run("int r2", code, cases[i].a, 0, 1),
                           is_if ? "0;" : "1;");
        }
    }
}

ESK_TEST(query_jumps_by_each_set_of_relations) {
    /* a < b, a = b, a > b, and one or both are NULL: bits 0 to 3. */
    static const struct {
        esk_slot b;
        uint8_t known;
        uint8_t is;
    } cases[] = {
        {6, 2, 1}, {5, 2, 2}, {4, 2, 4}, {0, 1, 8}, {0, 0, 8},
    };
    query_start(1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (unsigned when = 0; when < 16; when++) {
            char code[128];
            ESK_CONTEXT("case %zu, when %u", i, when);
            snprintf(code, sizeof code,
                     "LDI8 r2 1\nIF r0 r1 %u x\nLDI8 r2 0\nx: NULL r9", when);
            ESK_CHECK_TEXT(run("int r2", code, 5, cases[i].b, cases[i].known),
                           (cases[i].is & when) != 0 ? "1;" : "0;");
        }
    }
}

ESK_TEST(query_moves_constants_and_nulls) {
    query_start(1);
    ESK_CHECK_TEXT(run("int r2", "LDI8 r2 -128", 0, 0, 0), "-128;");
    ESK_CHECK_TEXT(run("int r2", "LDI16 r2 -32768", 0, 0, 0), "-32768;");
    ESK_CHECK_TEXT(run("int r2", "LDI32 r2 -2147483648", 0, 0, 0),
                   "-2147483648;");
    ESK_CHECK_TEXT(run("int r2", "LDI64 r2 9223372036854775807", 0, 0, 0),
                   WIDE ? "9223372036854775807;" : "!-6");
    ESK_CHECK_TEXT(run("int r2", "MOV r2 r0", 5, 0, 1), "5;");
    ESK_CHECK_TEXT(run("int r2", "LDI8 r2 1\nMOV r2 r0", 0, 0, 0), "-;");
    ESK_CHECK_TEXT(run("int r0", "NULL r0", 5, 0, 1), "-;");
    ESK_CHECK_TEXT(run("int r0", "NULLIF r0 r1", 5, 5, 2), "-;");
    ESK_CHECK_TEXT(run("int r0", "NULLIF r0 r1", 5, 6, 2), "5;");
    ESK_CHECK_TEXT(run("int r0", "NULLIF r0 r1", 5, 0, 1), "5;");
    ESK_CHECK_TEXT(
        run("int r0", "IF_NULL r1 r1 x\nLDI8 r0 9\nx: NULL r9", 5, 0, 1), "5;");
    ESK_CHECK_TEXT(
        run("int r0", "UNLESS_NULL r1 r1 x\nLDI8 r0 9\nx: NULL r9", 5, 0, 1),
        "9;");
    ESK_CHECK_TEXT(
        run("int r0", "IF_NULL r1 r1 x\nLDI8 r0 9\nx: NULL r9", 5, 1, 2), "9;");
    ESK_CHECK_TEXT(
        run("int r0", "UNLESS_NULL r1 r1 x\nLDI8 r0 9\nx: NULL r9", 5, 1, 2),
        "5;");
    ESK_CHECK_TEXT(run("int r0",
                       "JMP x\nLDI8 r0 9\nx: JMP16 y\nLDI8 r0 9\n"
                       "y: NULL r9",
                       5, 0, 1),
                   "5;");
    ESK_CHECK_INT(esk_program_set(&query_program, 2, 1), ESK_E_INVALID);
}

ESK_TEST(query_aggregates_start_null_and_skip_nulls) {
    query_start(1);
    ESK_CHECK_TEXT(run("int r2\n.out int r3\n.out int r5\n.out int r6\n"
                       ".out avg r2\n.out int r8",
                       "CLEAR r2\nAGG 15 r2 r1\nSUM r8 r2", 5, 0, 1),
                   "0,-,-,-,-,-;");
    ESK_CHECK_TEXT(run("int r2", "AGG 15 r2 r1", 5, 0, 1), "0;");
    ESK_CHECK_TEXT(run("int r2\n.out int r3\n.out int r5\n.out int r6\n"
                       ".out avg r2\n.out int r8",
                       "AGG 15 r2 r0\nAGG 15 r2 r1\nAGG 15 r2 r9\nSUM r8 r2",
                       -5, 3, 2),
                   "2,-2,-5,3,-1,-2;");
    /* An exact sum, which is an error only beyond a slot when it is read. */
    ESK_CHECK_TEXT(run("int r8",
                       "AGG 2 r2 r0\nAGG 2 r2 r0\nAGG 2 r2 r1\n"
                       "AGG 2 r2 r1\nSUM r8 r2",
                       ESK_SLOT_MAX, ESK_SLOT_MIN, 2),
                   "-2;");
    ESK_CHECK_TEXT(run("int r8", "AGG 2 r2 r0\nAGG 2 r2 r0\nSUM r8 r2",
                       ESK_SLOT_MAX, 0, 2),
                   "!-14");
    ESK_CHECK_TEXT(run("int r8", "AGG 2 r2 r0\nAGG 2 r2 r0\nSUM r8 r2",
                       ESK_SLOT_MIN, 0, 2),
                   "!-14");
}

ESK_TEST(query_means_of_exact_sums_are_rounded_once) {
    static const struct {
        int64_t a;
        int64_t b;
        double mean;
    } cases[] = {
        {1, 2, 1.5},
        {-1, -2, -1.5},
        {0, 0, 0},
        {MOST, MOST, 9223372036854775807.0},
        {LEAST, LEAST, -9223372036854775808.0},
        {LEAST, MOST, -0.5},
        {9007199254740993, 9007199254740993, 9007199254740992.0},
        {9007199254740993, 9007199254740994, 9007199254740994.0},
        {1, 0, 0.5},
    };
    query_start(1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (!fits(cases[i].a) || !fits(cases[i].b)) {
            continue;
        }
        char expected[64];
        ESK_CONTEXT("case %zu", i);
        snprintf(expected, sizeof expected, "%jd;",
                 (intmax_t)real(cases[i].mean));
        ESK_CHECK_TEXT(run("int r8", "AGG 3 r2 r0\nAGG 3 r2 r1\nFAVG r8 r2",
                           cases[i].a, cases[i].b, 2),
                       expected);
    }
    ESK_CHECK_TEXT(run("int r8",
                       "AGG 3 r2 r0\nAGG 3 r2 r0\nAGG 3 r2 r1\n"
                       "FAVG r8 r2\nLDI64 r9 0x4015555555555555\n"
                       "SUB r8 r8 r9",
                       8, 0, 2),
                   WIDE ? "0;" : "!-6");
    ESK_CHECK_TEXT(run("float r8", "FAVG r8 r2", 0, 0, 0), "-;");
    ESK_CHECK_TEXT(run("float r8", "AGG 2 r2 r0\nFAVG r8 r2", 1, 0, 1), "-;");
}

ESK_TEST(query_loads_columns_of_every_width) {
    query_start(2);
    if (!WIDE) {
        ESK_CHECK_TEXT(query_rows(".table 0\n.regs 4\n.flags 2\n.out int r0\n"
                                  ".out int r1\n.out int r2\n.out float r3\n"
                                  "FOR c0 0 r0 r0 x\n"
                                  "b: LD r0 c0.u8 4\nLD r1 c0.i16 4\n"
                                  "LD r2 c0.i32 4\nLD r3 c0.f32 8\nEMIT\n"
                                  "JMP x\nNEXT c0 b\nx: HALT",
                                  0),
                       "236,-20,-20,-2;");
        ESK_CHECK_TEXT(query_rows(".table 0\n.regs 1\n.out int r0\n"
                                  "FOR c0 0 r0 r0 x\n"
                                  "b: LD r0 c0.u32 4\nEMIT\nNEXT c0 b\n"
                                  "x: HALT",
                                  0),
                       "!-14");
        return;
    }
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 9\n.flags 2\n"
                              ".out int r0\n.out int r1\n.out int r2\n"
                              ".out int r3\n.out int r4\n.out int r5\n"
                              ".out int r6\n.out float r7\n.out float r8\n"
                              "FOR c0 0 r0 r0 x\n"
                              "b: LD r0 c0.u8 4\nLD r1 c0.i8 4\n"
                              "LD r2 c0.u16 4\nLD r3 c0.i16 4\n"
                              "LD r4 c0.u32 4\nLD r5 c0.i32 4\n"
                              "LD r6 c0.i64 0\n"
                              "LD r7 c0.f32 8\nLD r8 c0.f64 12\n"
                              "EMIT\nJMP x\n"
                              "NEXT c0 b\n"
                              "x: HALT",
                              0),
                   "236,-20,65516,-20,4294967276,-20,-85899345820,-2,0;");
    /* Above the largest slot. */
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 1\n.out int r0\n"
                              "FOR c0 0 r0 r0 x\n"
                              "b: LD r0 c0.u64 0\nEMIT\nNEXT c0 b\nx: HALT",
                              0),
                   "!-14");
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 5\n"
                              "FOR c0 0 r0 r0 x\n"
                              "b: AGGC 1 r0 c0.u64 0\nNEXT c0 b\nx: HALT",
                              0),
                   "!-14");
}

ESK_TEST(query_has_no_values_of_a_cursor_without_a_row) {
    if (!WIDE) {
        return;
    }
    query_start(2);
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 9\n.flags 6\n.out int r0\n"
                              ".out row c0\n.out rowtext c0 20 4\n.out int r1\n"
                              "LDI8 r0 1\nLD r0 c0.i32 4\nEMIT\n"
                              "FOR c0 0 r0 r0 x\n"
                              "b: NEXT c0 b\n"
                              "x: LDI8 r0 1\nLDI8 r1 1\nLD r0 c0.f64 12\n"
                              "LDT r1 c0 4 20\nEMIT\n"
                              "AGGC 15 r2 c0.i32 4\nMOV r1 r2\nEMIT\n"
                              "HALT",
                              0),
                   "-,-,-,-;-,-,-,-;-,-,-,0;");
    /* A jump into a loop whose table was not opened. */
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 1\n.out int r0\n"
                              "JMP n\n"
                              "FOR c0 0 r0 r0 x\n"
                              "b: EMIT\n"
                              "n: NEXT c0 b\n"
                              "x: LDI8 r0 1\nEMIT\nHALT",
                              0),
                   "1;");
}

ESK_TEST(query_compares_text) {
    static const struct {
        const char *how;
        const char *constant;
        const char *rows;
    } cases[] = {
        {"2", "b", "b;"},       {"3", "b", "cx;a;dx;"},
        {"0", "b", "a;"},       {"1", "b", "a;b;"},
        {"6", "b", "cx;a;dx;"}, {"4", "b", "cx;dx;b;"},
        {"10", "d%", "dx;"},    {"10", "dx", "dx;"},
        {"10", "_x", "cx;dx;"}, {"10", "%x", "cx;dx;"},
        {"11", "_x", "a;b;"},   {"10", "%", "cx;a;dx;b;"},
        {"2", "cxyzabc", ""},   {"0", "cxyz", "cx;a;b;"},
    };
    query_start(4);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        ESK_CONTEXT("case %zu", i);
        snprintf(text, sizeof text,
                 ".table 0\n.regs 1\n.out rowtext c0 20 4\n"
                 "FOR c0 0 r0 r0 x\n"
                 "b: TEXT %s c0 20 4 t %zu n\n"
                 "EMIT\n"
                 "n: NEXT c0 b\n"
                 "x: HALT\n"
                 "t: .text %s",
                 cases[i].how, strlen(cases[i].constant), cases[i].constant);
        ESK_CHECK_TEXT(query_rows(text, 0), cases[i].rows);
    }
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 1\n.out int r0\n"
                              "LDI8 r0 1\nTEXT 2 c0 20 4 t 1 x\nLDI8 r0 2\n"
                              "x: EMIT\nHALT\nt: .text b",
                              0),
                   "1;");
}

ESK_TEST(query_text_in_slots_orders_as_bytes_do) {
    query_start(4);
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 2\n.helper 2 1 1 0 0 9\n"
                              ".out text r0 4\n"
                              "FOR c0 0 r0 r0 x\n"
                              "b: LDT r0 c0 4 20\nPUSH h0\nNEXT c0 b\n"
                              "x: FORH h0 y\ns: EMIT\nNEXTH h0 s\ny: HALT",
                              0),
                   "a;b;cx;dx;");
    struct esk_output value;
    uint16_t bytes = 0;
    uint8_t text[8];
    ESK_CHECK_TEXT(run("int r0", "NULL r1", 5, 0, 1), "5;");
    ESK_CHECK_INT(query_begin(query_assembly.bytes, query_assembly.count),
                  ESK_OK);
    ESK_CHECK_INT(esk_program_row(&query_program, 0, &value), ESK_E_INVALID);
    ESK_CHECK_INT(esk_program_text(&query_program, 0, text, &bytes),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_program_step(&query_program, 0), ESK_OK);
    ESK_CHECK_INT(esk_program_text(&query_program, 0, text, &bytes),
                  ESK_E_UNSUPPORTED);
    ESK_CHECK_INT(esk_program_row(&query_program, 1, &value), ESK_NOT_FOUND);
    ESK_CHECK_INT(esk_program_step(&query_program, 0), ESK_END);
    ESK_CHECK_INT(esk_program_step(&query_program, 0), ESK_END);
}

ESK_TEST(query_computes_with_floats) {
    if (!WIDE) {
        return;
    }
    static const struct {
        const char *code;
        double a;
        double b;
        const char *result;
    } cases[] = {
        {"FADD r2 r0 r1", 0.5, -0.75, "-0.25;"},
        {"FSUB r2 r0 r1", 0.5, -0.75, "1.25;"},
        {"FMUL r2 r0 r1", 0.5, -0.75, "-0.375;"},
        {"FDIV r2 r0 r1", 1, 3, "0.333333333;"},
        {"FDIV r2 r0 r1", 1, 0, "-;"},
        {"FDIV r2 r0 r1", 0, 0, "-;"},
        {"FSUB r2 r0 r1", INFINITY, INFINITY, "-;"},
        {"FADD r2 r0 r1", 1e308, 1e308, "inf;"},
        {"FADD r2 r0 r9", 1, 1, "-;"},
        {"FADD r2 r9 r0", 1, 1, "-;"},
        {"ROUND r2 r0 0", 2.5, 0, "3;"},
        {"ROUND r2 r0 0", -2.5, 0, "-3;"},
        {"ROUND r2 r0 0", 2.4, 0, "2;"},
        {"ROUND r2 r0 1", 2.449, 0, "2.4;"},
        {"ROUND r2 r0 2", -2.449, 0, "-2.45;"},
        {"ROUND r2 r0 15", 1e20, 0, "1e+20;"},
        {"FAGG 15 r2 r0\nFAGG 15 r2 r1\nFSUM r2 r2", 0.25, 0.5, "0.75;"},
        {"FSUM r2 r3", 0, 0, "-;"},
        {"FAGG 2 r3 r9\nFSUM r2 r3", 0, 0, "-;"},
        {"FAGG 2 r3 r0\nFAGG 2 r3 r1\nFAGG 2 r3 r1\nFSUM r2 r3", 1e16, 1,
         "1e+16;"},
        {"FAGG 2 r3 r1\nFAGG 2 r3 r0\nFAGG 2 r3 r1\nNULL r5\n"
         "LDI8 r6 0\nFSUB r6 r6 r0\nFAGG 2 r3 r6\nFSUM r2 r3",
         1e16, 1, "2;"},
        {"FAGG 2 r3 r0\nFAGG 2 r3 r1\nFSUM r2 r3", INFINITY, -INFINITY, "-;"},
        {"FAGG 2 r3 r0\nFAGG 2 r3 r0\nFSUM r2 r3", 1e308, 0, "inf;"},
        {"FAGG 4 r3 r0\nFAGG 4 r3 r1\nMOV r2 r6", -1.5, -2.5, "-2.5;"},
        {"FAGG 8 r3 r0\nFAGG 8 r3 r1\nMOV r2 r7", -1.5, -2.5, "-1.5;"},
    };
    query_start(1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ESK_CONTEXT("case %zu: %s", i, cases[i].code);
        ESK_CHECK_TEXT(run("float r2", cases[i].code, real(cases[i].a),
                           real(cases[i].b), 2),
                       cases[i].result);
    }
}

ESK_TEST(query_converts_between_integers_and_floats) {
    static const struct {
        double b;
        int64_t a;
        const char *order;
        const char *whole;
    } cases[] = {
        {2.5, 2, "-1;", "2;"},
        {2.5, 3, "1;", "2;"},
        {-2.5, -2, "1;", "-2;"},
        {-2.5, -3, "-1;", "-2;"},
        {3, 3, "0;", "3;"},
        {9007199254740992.0, 9007199254740993, "1;", "9007199254740992;"},
        {9223372036854775808.0, MOST, "-1;", "!-14"},
        {-9223372036854775808.0, LEAST, "0;", "-9223372036854775808;"},
        {-1e30, LEAST, "1;", "!-14"},
        {INFINITY, MOST, "-1;", "!-14"},
    };
    query_start(1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (!fits(cases[i].a)) {
            continue;
        }
        ESK_CONTEXT("case %zu", i);
        ESK_CHECK_TEXT(
            run("int r2", "FCMP r2 r0 r1", cases[i].a, real(cases[i].b), 2),
            cases[i].order);
        ESK_CHECK_TEXT(run("int r2", "TRUNC r2 r1", 0, real(cases[i].b), 2),
                       cases[i].whole);
    }
    ESK_CHECK_TEXT(run("float r2", "FLOAT r2 r0", -7, 0, 2), "-7;");
    ESK_CHECK_TEXT(run("float r2", "FLOAT r2 r9", -7, 0, 2), "-;");
    ESK_CHECK_TEXT(run("int r2", "FCMP r2 r0 r9", 1, 0, 2), "-;");
}

ESK_TEST(query_reads_float_columns_without_nan) {
    if (!WIDE) {
        return;
    }
    query_start(8);
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 9\n.flags 2\n.out float r8\n"
                              ".out int r0\n.out float r3\n"
                              "FOR c0 0 r0 r0 x\n"
                              "b: LD r5 c0.f32 8\nFAGG 15 r0 r5\n"
                              "NEXT c0 b\n"
                              "x: FSUM r8 r0\nEMIT\nHALT",
                              0),
                   "-8.25,7,-2;");
    /* Ranges: exactly the rows, though the bound is no f32. */
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 3\n.params 2\n.ranges 2\n"
                              ".flags 3\n.out row c0\n"
                              "LDI64 r0 0x3ff0000000000001\n"
                              "LDI64 r1 0x3fe6666666666667\n"
                              "FOR c0 0x20 r0 r0 x 2 0x92 r0 r0 3 0xa1 r1 r0\n"
                              "b: EMIT\nNEXT c0 b\nx: HALT",
                              0),
                   "#170;");
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 3\n.ranges 1\n.flags 3\n"
                              ".out row c0\n"
                              "LDI64 r0 -0x4010000000000001\n"
                              "LDI64 r1 -0x400fffffffffffff\n"
                              "FOR c0 0x10 r0 r0 x 2 0x93 r0 r1\n"
                              "b: EMIT\nNEXT c0 b\nx: HALT",
                              0),
                   "");
}

ESK_TEST(query_ranges_mean_what_they_say_beyond_the_type_of_the_column) {
    static const struct {
        const char *range;
        int64_t lo;
        int64_t hi;
        const char *rows;
    } cases[] = {
        {"1 0x33", -5000000000, -20, "#100;"},
        {"1 0x33", 5000000000, 6000000000, ""},
        {"0 0x73", -1, 100, "#100;"},
        {"0 0x72", 0, -1, ""},
        {"0 0x71", -1, 0, "#100;#110;"},
    };
    query_start(2);
    query_parameter_count = 2;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        if (!fits(cases[i].lo) || !fits(cases[i].hi)) {
            continue;
        }
        ESK_CONTEXT("case %zu", i);
        query_parameters[0] = (esk_slot)cases[i].lo;
        query_parameters[1] = (esk_slot)cases[i].hi;
        snprintf(text, sizeof text,
                 ".table 0\n.regs 2\n.params 2\n.ranges 1\n.out row c0\n"
                 "FOR c0 16 r0 r0 x %s r0 r1\nb: EMIT\nNEXT c0 b\nx: HALT",
                 cases[i].range);
        ESK_CHECK_TEXT(query_rows(text, 0), cases[i].rows);
    }
    query_parameter_count = 1; /* hi is NULL */
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 2\n.params 2\n.ranges 1\n"
                              ".out row c0\n"
                              "FOR c0 16 r0 r0 x 1 0x33 r0 r1\nb: EMIT\n"
                              "NEXT c0 b\nx: HALT",
                              0),
                   "");
}

ESK_TEST(query_length_and_substr_count_characters) {
    static const char text[] = "a\xC3\xA4z\xE2\x82\xAC";
    static const struct {
        const char *op; ///< r0 and, with 32 bits, r1: the text; r2 is NULL
        const char *rows;
    } cases[] = {
        {".out text r4 8\nSUBSTR r4 8 r0 8 0 65535", text},
        {".out text r4 8\nSUBSTR r4 8 r0 8 1 1", "\xC3\xA4"},
        {".out text r4 8\nSUBSTR r4 8 r0 8 1 2", "\xC3\xA4z"},
        {".out text r0 8\nSUBSTR r0 8 r0 8 3 9", "\xE2\x82\xAC"},
        {".out text r4 8\nSUBSTR r4 8 r0 8 4 1", ""},
        {".out text r4 8\nSUBSTR r4 8 r0 8 0 0", ""},
        {".out text r4 8\nSUBSTR r4 8 r0 3 0 9", "a\xC3\xA4"},
        {".out text r4 8\nSUBSTR r4 8 r2 8 0 9", "-"},
        {".out int r4\nLENGTH r4 r0 8", "4"},
        {".out int r4\nLENGTH r4 r0 1", "1"},
        {".out int r0\nLENGTH r0 r0 8", "4"},
        {".out int r4\nLENGTH r4 r2 8", "-"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char source[128];
        char rows[32];
        query_start(4);
        query_parameter_count = 8 / ESK_SLOT_BYTES;
        for (uint8_t k = 0; k < query_parameter_count; k++) {
            esk_slot_from_text(&query_parameters[k],
                               (const uint8_t *)text + k * ESK_SLOT_BYTES,
                               ESK_SLOT_BYTES);
        }
        snprintf(source, sizeof source, ".regs 8\n.params 2\n%s\nEMIT\nHALT",
                 cases[i].op);
        snprintf(rows, sizeof rows, "%s;", cases[i].rows);
        ESK_CHECK_TEXT(query_rows(source, 0), rows);
    }
}

ESK_TEST_MAIN()
