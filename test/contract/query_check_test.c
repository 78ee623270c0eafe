// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What the verifier of programs refuses; and mutated programs, which it
/// refuses or which run within their memory to an end.
#include "test/harness/query_fixture.h"
#include "test/harness/query_mutants.h"

static const struct esk_query_parts no_parts = {.joins = NULL};

/// The status of checking `text`.
static int checked(const char *text) {
    struct esk_program_report report;
    bool assembled = esk_assemble(&query_assembly, text, query_sources);
    ESK_CHECK_TEXT(assembled ? "" : query_assembly.why, "");
    return esk_program_check(query_assembly.bytes, query_assembly.count,
                             &esk_query_parts_all, query_sources, QUERY_SOURCES,
                             &report);
}

/// The same with byte `at` set to `value`, the CRC made right.
static int changed(const char *text, uint16_t at, uint8_t value) {
    struct esk_program_report report;
    ESK_CHECK(esk_assemble(&query_assembly, text, query_sources));
    uint16_t count = query_assembly.count;
    query_assembly.bytes[at] = value;
    uint16_t bytes = esk_load_u16(query_assembly.bytes + ESK_PROGRAM_BYTES);
    esk_assembly_seal(query_assembly.bytes, count);
    if (at == ESK_PROGRAM_BYTES) {
        esk_store_u16(query_assembly.bytes + at, bytes);
    }
    return esk_program_check(query_assembly.bytes, count, &esk_query_parts_all,
                             query_sources, QUERY_SOURCES, &report);
}

static const char plain[] = ".table 0\n.regs 2\n.out int r0\nLDI8 r0 1\nHALT";

ESK_TEST(program_check_refuses_a_header_that_is_none) {
    struct esk_program_report report;
    static const struct {
        uint16_t at;
        uint8_t value;
        int status;
    } cases[] = {
        {ESK_PROGRAM_MAGIC, 0, ESK_E_CORRUPT},
        {ESK_PROGRAM_MAGIC + 1, 0, ESK_E_CORRUPT},
        {ESK_PROGRAM_VERSION, 2, ESK_E_VERSION},
        {ESK_PROGRAM_FLAGS, 64, ESK_E_CORRUPT},
        {ESK_PROGRAM_BYTES, 1, ESK_E_CORRUPT},
        {ESK_PROGRAM_REGISTERS, 65, ESK_E_CORRUPT},
        {ESK_PROGRAM_REGISTERS, 0, ESK_E_CORRUPT},
        {ESK_PROGRAM_PARAMETERS, 3, ESK_E_CORRUPT},
        {ESK_PROGRAM_TABLES, 9, ESK_E_CORRUPT},
        {ESK_PROGRAM_TABLES, 2, ESK_E_CORRUPT},
        {ESK_PROGRAM_OUTPUTS, 65, ESK_E_CORRUPT},
        {ESK_PROGRAM_OUTPUTS, 40, ESK_E_CORRUPT},
        {ESK_PROGRAM_HELPERS, 9, ESK_E_CORRUPT},
        {ESK_PROGRAM_RANGES, 9, ESK_E_CORRUPT},
        {ESK_PROGRAM_HEAD, 0x55, ESK_E_SCHEMA},
        {ESK_PROGRAM_HEAD + ESK_PROGRAM_TABLE_ROW, 0x55, ESK_E_SCHEMA},
        {ESK_PROGRAM_HEAD + ESK_PROGRAM_TABLE_KIND, 2, ESK_E_SCHEMA},
        {ESK_PROGRAM_HEAD + ESK_PROGRAM_TABLE_KIND + 1, 1, ESK_E_SCHEMA},
    };
    query_start(0);
    ESK_CHECK_INT(checked(plain), ESK_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ESK_CONTEXT("case %zu", i);
        ESK_CHECK_INT(changed(plain, cases[i].at, cases[i].value),
                      cases[i].status);
    }
    ESK_CHECK_INT(checked(plain), ESK_OK);
    query_assembly.bytes[query_assembly.count - 1] ^= 1;
    ESK_CHECK_INT(esk_program_check(query_assembly.bytes, query_assembly.count,
                                    NULL, query_sources, QUERY_SOURCES,
                                    &report),
                  ESK_E_CORRUPT);
    ESK_CHECK_INT(esk_program_check(query_assembly.bytes, 15, NULL,
                                    query_sources, QUERY_SOURCES, &report),
                  ESK_E_CORRUPT);
    ESK_CHECK_INT(esk_program_check(query_assembly.bytes, 100000, NULL,
                                    query_sources, QUERY_SOURCES, &report),
                  ESK_E_CORRUPT);
}

ESK_TEST(program_check_refuses_programs_that_need_another_build) {
    static const char *const texts[] = {
        ".regs 1\n.flags 2\nHALT",  ".regs 1\n.flags 4\nHALT",
        ".regs 1\n.flags 8\nHALT",  ".regs 1\n.flags 16\nHALT",
        ".regs 1\n.flags 32\nHALT",
    };
    struct esk_program_report report;
    query_start(0);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ESK_CONTEXT("flag %zu", i);
        ESK_CHECK_INT(checked(texts[i]), ESK_OK);
        ESK_CHECK_INT(esk_program_check(query_assembly.bytes,
                                        query_assembly.count, &no_parts,
                                        query_sources, QUERY_SOURCES, &report),
                      ESK_E_UNSUPPORTED);
        ESK_CHECK_INT(esk_program_check(query_assembly.bytes,
                                        query_assembly.count, NULL,
                                        query_sources, QUERY_SOURCES, &report),
                      ESK_E_UNSUPPORTED);
    }
    /* Quantiles and runs take a part of their own. */
    static const struct esk_query_parts plain_helpers = {
        .helpers = &esk_query_part_helpers};
    static const char *const more[] = {
        ".regs 2\n.helper 2 1 1 0 0 1\nQUANTILE h0 10000\nHALT",
        ".regs 2\n.flags 16\n.helper 4 1 1 0 0 1\nHALT",
    };
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        ESK_CHECK_INT(checked(more[i]), ESK_OK);
        ESK_CHECK_INT(esk_program_check(query_assembly.bytes,
                                        query_assembly.count, &plain_helpers,
                                        NULL, 0, &report),
                      ESK_E_UNSUPPORTED);
    }
    /* An instruction without its flag. */
    ESK_CHECK_INT(changed(".regs 1\nLDI64 r0 1\nHALT", ESK_PROGRAM_FLAGS, 0),
                  ESK_E_CORRUPT);
    ESK_CHECK_INT(changed(".regs 4\nFADD r0 r1 r2\nHALT", ESK_PROGRAM_FLAGS, 0),
                  ESK_E_CORRUPT);
    ESK_CHECK_INT(checked(".table 0\n.regs 1\nLD r0 c0.f32 0\nHALT"),
                  ESK_E_CORRUPT);
    ESK_CHECK_INT(changed(".regs 1\n.helper 1 1 1 0 0 1\nPUSH h0\nHALT",
                          ESK_PROGRAM_FLAGS, 0),
                  ESK_E_CORRUPT);
    ESK_CHECK_INT(
        changed(".table 0\n.regs 1\n.ranges 1\nHALT", ESK_PROGRAM_FLAGS, 0),
        ESK_E_CORRUPT);
    ESK_CHECK_INT(
        changed(".table 0\n.out rowtext c0 0 4\nHALT", ESK_PROGRAM_FLAGS, 0),
        ESK_E_CORRUPT);
}

ESK_TEST(program_check_refuses_what_a_source_cannot_do) {
    static const char *const texts[] = {
        /* bounds and directions of a kv table */
        ".table 3\n.regs 2\nFOR c0 1 r0 r0 x\nb: NEXT c0 b\nx: HALT",
        ".table 3\n.regs 2\nFOR c0 2 r0 r0 x\nb: NEXT c0 b\nx: HALT",
        ".table 3\n.regs 2\nFOR c0 4 r0 r0 x\nb: NEXT c0 b\nx: HALT",
        /* merging with one, or with keys of text */
        ".table 3\n.regs 2\nFOR c0 8 r0 r0 0\nADVANCE c0 r0 x\nx: HALT",
        ".table 4\n.regs 2\nFOR c0 8 r0 r0 0\nADVANCE c0 r0 x\nx: HALT",
        /* ranges of a tree */
        (".table 2\n.regs 2\n.ranges 1\nFOR c0 16 r0 r0 x 1 0x31 r0 r0\n"
         "b: NEXT c0 b\nx: HALT"),
    };
    query_start(0);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ESK_CONTEXT("case %zu", i);
        ESK_CHECK_INT(checked(texts[i]), ESK_E_CORRUPT);
    }
}

/// Each text is refused.
static void refuses(const char *const *texts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        ESK_CONTEXT("case %zu: %s", i, texts[i]);
        ESK_CHECK_INT(checked(texts[i]), ESK_E_CORRUPT);
    }
}

ESK_TEST(program_check_refuses_registers_that_there_are_none_of) {
    static const char *const texts[] = {
        ".regs 1\nNULL r1\nHALT",
        ".regs 1\nMOV r0 r1\nHALT",
        ".regs 1\nLDI8 r1 0\nHALT",
        ".regs 5\nCLEAR r1\nHALT",
        ".regs 5\nCLEAR r5\nHALT",
        ".regs 5\nAGG 1 r1 r0\nHALT",
        ".regs 5\nAGG 1 r0 r5\nHALT",
        ".regs 5\nSUM r5 r0\nHALT",
        ".regs 5\nSUM r0 r1\nHALT",
        ".regs 2\nADD r0 r1 r2\nHALT",
        ".regs 2\nIF_LT r2 r0 x\nx: HALT",
        ".regs 2\nIF_LT r0 r2 x\nx: HALT",
        ".table 0\n.regs 2\nIFC_LT r2 r0 c0.i32 4 x\nx: HALT",
        ".table 0\n.regs 2\nIFC_LT r0 r2 c0.i32 4 x\nx: HALT",
        ".regs 2\nIF_NULL r2 r2 x\nx: HALT",
    };
    query_start(0);
    refuses(texts, sizeof texts / sizeof texts[0]);
}

ESK_TEST(program_check_refuses_bytes_outside_of_rows) {
    static const char *const texts[] = {
        /* tables and rows */
        ".table 0\n.regs 5\nLD r0 c1.i32 0\nHALT",
        ".table 0\n.regs 5\nLD r0 c0.i32 21\nHALT",
        ".table 0\n.regs 5\nLD r0 c0.i32 24\nHALT",
        ".table 0\n.regs 5\nLD r0 c0.i32 65535\nHALT",
        ".table 0\n.regs 5\nIFC_LT r0 r1 c0.i32 21 x\nx: HALT",
        ".table 0\n.regs 5\nIFC_LT r0 r1 c1.i32 0 x\nx: HALT",
        ".table 0\n.regs 5\nIFC_LT r0 r1 c0.f32 0 x\nx: HALT",
        ".table 0\n.regs 5\n.flags 2\nAGGC 1 r0 c0.f64 17\nHALT",
        /* columns of floats, whose bits are no number to add */
        ".table 0\n.regs 5\n.flags 2\nAGGC 1 r0 c0.f32 8\nHALT",
        ".table 0\n.regs 5\n.flags 2\nAGGC 2 r0 c0.f64 12\nHALT",
        ".table 0\n.regs 2\nGET c1 r0 x\nx: HALT",
        ".table 0\n.regs 2\nFOR c1 0 r0 r0 x\nb: NEXT c1 b\nx: HALT",
        ".table 0\n.regs 2\nFOR c0 1 r2 r0 x\nb: NEXT c0 b\nx: HALT",
        ".table 0\n.regs 2\nFOR c0 2 r0 r2 x\nb: NEXT c0 b\nx: HALT",
        ".table 4\n.regs 1\nGET c0 r0 x\nx: HALT",
        ".table 4\n.regs 1\nFOR c0 1 r0 r0 x\nb: NEXT c0 b\nx: HALT",
        /* ranges */
        (".table 0\n.regs 2\nFOR c0 16 r0 r0 x 1 0x31 r0 r0\nb: NEXT c0 b\n"
         "x: HALT"),
        (".table 0\n.regs 2\n.ranges 1\nFOR c0 16 r0 r0 x 1 0x31 r2 r0\n"
         "b: NEXT c0 b\nx: HALT"),
        (".table 0\n.regs 2\n.ranges 1\nFOR c0 16 r0 r0 x 1 0x31 r0 r2\n"
         "b: NEXT c0 b\nx: HALT"),
        (".table 0\n.regs 2\n.ranges 1\nFOR c0 16 r0 r0 x 1 0x01 r0 r0\n"
         "b: NEXT c0 b\nx: HALT"),
        (".table 0\n.regs 2\n.ranges 1\nFOR c0 16 r0 r0 x 1 0xb1 r0 r0\n"
         "b: NEXT c0 b\nx: HALT"),
        (".table 0\n.regs 2\n.ranges 1\nFOR c0 16 r0 r0 x 1 0x91 r0 r0\n"
         "b: NEXT c0 b\nx: HALT"),
    };
    query_start(0);
    refuses(texts, sizeof texts / sizeof texts[0]);
}

ESK_TEST(program_check_refuses_helpers_of_no_kind) {
    static const char *const texts[] = {
        ".regs 2\nPUSH h0\nHALT",
        ".regs 2\n.helper 1 1 1 0 0 1\nGROUP h1\nHALT",
        ".regs 2\n.helper 3 1 1 0 0 1\nPUSH h0\nHALT",
        ".regs 2\n.flags 16\n.helper 0 1 1 0 0 1\nHALT",
        ".regs 2\n.flags 16\n.helper 5 1 1 0 0 1\nHALT",
        ".regs 2\n.flags 16\n.helper 4 1 2 0 0 1\nHALT",
        ".regs 2\n.helper 4 1 1 0 0 1\nGROUP h0\nHALT",
        ".regs 2\n.helper 2 1 1 0 0 1\nGROUP h0\nHALT",
        ".regs 2\n.helper 2 1 1 0 0 1\nQUANTILE h1 0\nHALT",
        ".regs 2\n.helper 2 1 1 0 0 1\nQUANTILE h0 10001\nHALT",
        ".regs 2\n.helper 2 1 1 0 0 1\nQUANTILE h0 32766\nHALT",
        ".regs 2\n.helper 3 1 1 0 0 1\nQUANTILE h0 0\nHALT",
        ".regs 2\n.helper 4 1 1 0 0 1\nQUANTILE h0 0\nHALT",
        ".regs 2\n.flags 16\n.helper 1 0 0 0 0 1\nHALT",
        ".regs 2\n.flags 16\n.helper 1 1 2 0 0 1\nHALT",
        ".regs 2\n.flags 16\n.helper 1 2 1 1 0 1\nHALT",
        ".regs 2\n.flags 16\n.helper 1 1 1 0 0 0\nHALT",
        ".regs 40\n.flags 16\n.helper 1 20 17 0 0 1\nHALT",
    };
    query_start(0);
    refuses(texts, sizeof texts / sizeof texts[0]);
}

ESK_TEST(program_check_refuses_text_and_outputs_of_no_kind) {
    static const char *const texts[] = {
        /* text */
        ".table 0\n.regs 2\nLDT r0 c0 0 0\nHALT",
        ".table 0\n.regs 2\nLDT r0 c0 9 0\nHALT",
        ".table 0\n.regs 2\nLDT r0 c0 8 17\nHALT",
        ".table 0\n.regs 2\nLDT r0 c1 8 0\nHALT",
        ".table 0\nTEXT 32 c0 0 4 0 1 x\nx: HALT",
        ".table 0\n.regs 2\nTEXT 16 c0 0 4 2 0 x\nx: HALT",
        ".table 0\n.regs 2\nTEXT 16 c0 0 4 256 0 x\nx: HALT",
        ".table 0\n.regs 2\nTEXT 16 c0 0 4 1 1 x\nx: HALT",
        ".regs 2\nLDR r0 17 r1\nHALT",
        ".regs 2\nLDR r0 8 r2\nHALT",
        ".table 0\nTEXT 2 c1 0 4 0 1 x\nx: HALT",
        ".table 0\nTEXT 2 c0 21 4 0 1 x\nx: HALT",
        ".table 0\nTEXT 2 c0 0 4 0 200 x\nx: HALT",
        ".table 0\nTEXT 2 c0 0 4 9999 0 x\nx: HALT",
        ".table 0\nTEXT 2 c0 0 4 0 1 9\nx: HALT",
        /* outputs */
        ".regs 2\n.out int r2\nHALT",
        ".regs 5\n.out avg r1\nHALT",
        ".regs 5\n.out row c0\nHALT",
        ".table 0\n.out rowtext c0 21 4\nHALT",
        ".table 0\n.out rowtext c1 0 4\nHALT",
        ".regs 2\n.out text r1 9\nHALT",
        ".regs 2\n.out text r2 0\nHALT",
        ".regs 2\n.out text r0 65535\nHALT",
        ".regs 3\nLENGTH r3 r0 1\nHALT",
        ".regs 3\nLENGTH r0 r1 17\nHALT",
        ".regs 3\nSUBSTR r0 1 r1 17 0 1\nHALT",
        ".regs 3\nSUBSTR r1 17 r0 1 0 1\nHALT",
        ".regs 3\nLENGTH r0 r3 0\nHALT",
        ".regs 3\nSUBSTR r0 1 r3 0 0 1\nHALT",
        ".table 0\n.regs 2\nCOUNT r0 c1\nHALT",
        ".table 0\n.regs 2\nCOUNT r2 c0\nHALT",
        ".table 0\n.regs 2\nADVANCE c0 r2 x\nx: HALT",
        ".table 0\n.regs 2\nADVANCE c1 r1 x\nx: HALT",
    };
    query_start(0);
    refuses(texts, sizeof texts / sizeof texts[0]);
    /* Entries of outputs that end early, or of no type. */
    ESK_CHECK_INT(changed(".table 0\n.regs 2\n.out rowtext c0 0 4\nHALT",
                          ESK_PROGRAM_OUTPUTS, 2),
                  ESK_E_CORRUPT);
    ESK_CHECK_INT(
        changed(".regs 2\n.out text r0 4\nHALT", ESK_PROGRAM_OUTPUTS, 1),
        ESK_E_CORRUPT);
    ESK_CHECK_INT(changed(".regs 2\n.out int r0\nHALT", ESK_PROGRAM_HEAD, 7),
                  ESK_E_CORRUPT);
    ESK_CHECK_INT(changed(".regs 2\n.out int r0\nHALT", ESK_PROGRAM_HEAD, 0),
                  ESK_E_CORRUPT);
}

ESK_TEST(program_check_refuses_jumps_and_loops_that_could_not_end) {
    static const char *const texts[] = {
        /* into an instruction, past the end, behind HALT */
        "JMP 1\nJMP16 0\nHALT",
        "JMP 200\nHALT",
        ".regs 2\nIF_LT r0 r1 1\nLDI8 r0 0\nHALT",
        ".table 0\n.regs 2\nIFC_LT r0 r1 c0.i32 4 1\nLDI8 r0 0\nHALT",
        "JMP 1\nHALT\nHALT",
        "JMP16 60000\nHALT",
        "JMP 2\nJMP 1\nHALT",
        /* no HALT, or one in an operand */
        "EMIT",
        ".regs 1\nLDI8 r0 0",
        /* brackets */
        ".table 0\n.regs 1\nNEXT c0 12\nHALT",
        ".table 0\n.regs 1\nFOR c0 0 r0 r0 x\nx: HALT",
        ".table 0\n.regs 1\nFOR c0 0 r0 r0 x\nb: EMIT\nNEXT c0 0\nx: HALT",
        ".table 0\n.regs 1\na: FOR c0 0 r0 r0 x\nEMIT\nNEXT c0 a\nx: HALT",
        (".table 0\n.regs 1\nFOR c0 0 r0 r0 y\nb: EMIT\nNEXT c0 b\nx: EMIT\n"
         "y: HALT"),
        (".table 0\n.table 1\n.regs 1\nFOR c0 0 r0 r0 x\nb: EMIT\nNEXT c1 b\n"
         "x: HALT"),
        (".table 0\n.table 1\n.regs 1\nFOR c0 0 r0 r0 x\na: FOR c1 0 r0 r0 y\n"
         "b: EMIT\nNEXT c0 a\nx: NEXT c1 b\ny: HALT"),
        (".table 0\n.regs 1\nFOR c0 0 r0 r0 x\nb: NEXT c0 b\n"
         "x: FOR c0 0 r0 r0 y\nc: NEXT c0 c\ny: HALT"),
        (".table 0\n.regs 1\n.helper 1 1 1 0 0 1\nFOR c0 0 r0 r0 x\n"
         "b: NEXTH h0 b\nx: HALT"),
        (".regs 1\n.helper 1 1 1 0 0 1\nFORH h0 x\nb: NEXTH h0 b\n"
         "x: FORH h0 y\nc: NEXTH h0 c\ny: HALT"),
        ".regs 1\n.helper 1 1 1 0 0 1\nFORH h0 x\nb: NEXTH h0 12\nx: HALT",
        /* a quantile would set back where the loop is */
        (".regs 1\n.helper 2 1 1 0 0 3\nPUSH h0\nPUSH h0\nFORH h0 x\n"
         "b: QUANTILE h0 0\nNEXTH h0 b\nx: HALT"),
    };
    query_start(0);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ESK_CONTEXT("case %zu: %s", i, texts[i]);
        ESK_CHECK_INT(checked(texts[i]), ESK_E_CORRUPT);
        /* Ends the process if the program does not end. */
        ESK_CHECK(!program_try(query_assembly.bytes, query_assembly.count));
    }
    char deep[1024] = ".regs 1\n.flags 16\n";
    for (int i = 0; i < 8; i++) {
        strcat(deep, ".table 0\n");
    }
    strcat(deep, ".helper 1 1 1 0 0 1\n");
    for (int i = 0; i < 8; i++) {
        snprintf(deep + strlen(deep), 64, "FOR c%d 0 r0 r0 x%d\nb%d: ", i, i,
                 i);
    }
    size_t inner = strlen(deep);
    strcat(deep, "EMIT\n");
    for (int i = 7; i >= 0; i--) {
        snprintf(deep + strlen(deep), 64, "NEXT c%d b%d\nx%d: ", i, i, i);
    }
    strcat(deep, "HALT");
    ESK_CHECK_INT(checked(deep), ESK_OK);
    snprintf(deep + inner, sizeof deep - inner,
             "FORH h0 0\n"
             "x0: x1: x2: x3: x4: x5: x6: x7: HALT");
    ESK_CHECK_INT(checked(deep), ESK_E_CORRUPT);
    ESK_CHECK_INT(changed("EMIT\nHALT", ESK_PROGRAM_HEAD, ESK_OP_COUNT_OF_ALL),
                  ESK_E_CORRUPT);
}

ESK_TEST(program_check_says_where_and_how_much) {
    struct esk_program_report report;
    struct esk_program program;
    query_start(0);
    ESK_CHECK_INT(checked(".regs 1\nEMIT\nLDI8 r1 0\nHALT"), ESK_E_CORRUPT);
    ESK_CHECK_INT(esk_program_check(query_assembly.bytes, query_assembly.count,
                                    NULL, query_sources, 0, &report),
                  ESK_E_CORRUPT);
    ESK_CHECK_INT(report.at, 13);
    ESK_CHECK_INT(report.arena_bytes, 0);
    ESK_CHECK_INT(esk_program_begin(&program, query_assembly.bytes,
                                    query_assembly.count, NULL, query_sources,
                                    0, query_arena, sizeof query_arena),
                  ESK_E_CORRUPT);
    ESK_CHECK_INT(esk_program_step(&program, 1), ESK_E_INVALID);
    ESK_CHECK_INT(esk_program_set(&program, 0, 1), ESK_E_INVALID);
    ESK_CHECK_INT(checked(plain), ESK_OK);
    ESK_CHECK_INT(esk_program_begin(&program, query_assembly.bytes,
                                    query_assembly.count, NULL, query_sources,
                                    QUERY_SOURCES, NULL, sizeof query_arena),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_program_begin(&program, query_assembly.bytes,
                                    query_assembly.count, NULL, query_sources,
                                    QUERY_SOURCES, (uint8_t *)query_arena + 1,
                                    sizeof query_arena - 8),
                  ESK_E_INVALID);
}

ESK_TEST(program_runs_within_its_memory_and_ends_whatever_its_bytes_are) {
    uint32_t mutants = esk_test_is_deep() ? 1000000 : 20000;
    uint32_t accepted = 0;
    mutants_start();
    for (uint32_t i = 0; i < mutants; i++) {
        ESK_CONTEXT("mutant %u", i);
        accepted += mutant_run(i) ? 1 : 0;
    }
    ESK_CONTEXT("%u accepted", accepted);
    ESK_CHECK(accepted > mutants / 50);
}

ESK_TEST_MAIN()
