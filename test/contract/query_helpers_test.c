// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What instructions need memory or another table for: orders, groups and
/// quantiles, tables in step, and texts of the caller.
#include "test/harness/query_fixture.h"

ESK_TEST(query_helpers_end_at_their_capacity) {
    query_start(10);
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 2\n.helper 2 1 1 0 0 9\n"
                              "FOR c0 0 r0 r0 x\n"
                              "b: LD r0 c0.i32 4\nPUSH h0\nNEXT c0 b\nx: HALT",
                              0),
                   "!-14");
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 6\n.helper 3 6 1 0 0 9\n"
                              "FOR c0 0 r0 r0 x\n"
                              "b: LD r0 c0.i32 4\nGROUP h0\nNEXT c0 b\nx: HALT",
                              0),
                   "!-14");
}

ESK_TEST(query_helpers_sort_nulls_first_and_keep_the_order_of_equal_keys) {
    query_start(8);
    /* Keys: i mod 2, NULL where i is 5; then i. */
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 5\n.helper 2 2 1 0 0 20\n"
                              ".flags 2\n.out int r0\n.out int r1\n"
                              "LDI8 r2 10\nLDI8 r3 2\n"
                              "FOR c0 0 r0 r0 x\n"
                              "b: LD r1 c0.u32 0\nDIV r1 r1 r2\nREM r0 r1 r3\n"
                              "LD r4 c0.f32 8\nUNLESS_NULL r4 r4 p\nNULL r0\n"
                              "p: PUSH h0\n"
                              "NEXT c0 b\n"
                              "x: FORH h0 y\ns: EMIT\nNEXTH h0 s\ny: HALT",
                              0),
                   "-,15;0,10;0,12;0,14;0,16;1,11;1,13;1,17;");
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 5\n.helper 1 2 1 0 1 5\n"
                              ".flags 2\n.out int r0\n.out int r1\n"
                              "LDI8 r2 10\nLDI8 r3 2\n"
                              "FOR c0 0 r0 r0 x\n"
                              "b: LD r1 c0.u32 0\nDIV r1 r1 r2\nREM r0 r1 r3\n"
                              "LD r4 c0.f32 8\nUNLESS_NULL r4 r4 p\nNULL r0\n"
                              "p: PUSH h0\n"
                              "NEXT c0 b\n"
                              "x: FORH h0 y\ns: EMIT\nNEXTH h0 s\ny: HALT",
                              1),
                   "1,11;1,13;1,17;0,10;0,12;");
}

ESK_TEST(query_groups_have_null_as_a_key_and_are_emptied_after_a_loop) {
    query_start(8);
    /* For each of two rows of the tree: groups of the log by i mod 2. */
    ESK_CHECK_TEXT(
        query_rows(".table 2\n.table 0\n.regs 14\n"
                   ".helper 3 6 1 0 0 4\n.helper 2 2 2 10 0 9\n"
                   ".flags 2\n.out int r10\n.out int r11\n"
                   "LDI8 r8 10\nLDI8 r9 2\nLDI8 r13 -3\n"
                   "FOR c0 2 r0 r13 z\n"
                   "a: FOR c1 0 r0 r0 x\n"
                   "b: LD r0 c1.u32 0\nDIV r0 r0 r8\nREM r0 r0 r9\n"
                   "LD r12 c1.f32 8\nUNLESS_NULL r12 r12 p\nNULL r0\n"
                   "p: GROUP h0\nAGG 1 r1 r8\n"
                   "NEXT c1 b\n"
                   "x: FORH h0 y\n"
                   "g: MOV r10 r0\nMOV r11 r1\nPUSH h1\n"
                   "NEXTH h0 g\n"
                   "y: FORH h1 w\n"
                   "s: EMIT\n"
                   "NEXTH h1 s\n"
                   "w: NEXT c0 a\n"
                   "z: HALT",
                   3),
        "-,1;0,4;1,3;-,1;0,4;1,3;");
    /* NEXTH of a helper that is being filled ends its loop. */
    ESK_CHECK_TEXT(query_rows(".regs 2\n.helper 1 1 1 0 0 4\n.out int r0\n"
                              "LDI8 r0 5\nPUSH h0\nPUSH h0\n"
                              "FORH h0 y\n"
                              "s: EMIT\nPUSH h0\n"
                              "NEXTH h0 s\n"
                              "y: HALT",
                              0),
                   "5;");
    ESK_CHECK_TEXT(query_rows(".regs 2\n.helper 3 1 1 0 0 4\n.out int r0\n"
                              "FORH h0 y\n"
                              "s: EMIT\n"
                              "NEXTH h0 s\n"
                              "y: HALT",
                              0),
                   "");
}

ESK_TEST(query_advance_waits_ahead_and_takes_null_for_no_row) {
    query_start(10);
    /* Keys of rain: 105, 135, 165, 195. */
    ESK_CHECK_TEXT(query_rows(".table 1\n.regs 3\n.out int r1\n"
                              "FOR c0 8 r0 r0 0\n"
                              "LDI16 r0 130\nADVANCE c0 r0 a\n"
                              "a: LD r1 c0.i32 4\nEMIT\n"
                              "NULL r0\nADVANCE c0 r0 b\n"
                              "b: LD r1 c0.i32 4\nEMIT\n"
                              "LDI16 r0 135\nADVANCE c0 r0 c\n"
                              "c: LD r1 c0.i32 4\nEMIT\n"
                              "LDI16 r0 100\nADVANCE c0 r0 d\n"
                              "d: LD r1 c0.i32 4\nEMIT\n"
                              "LDI16 r0 195\nADVANCE c0 r0 e\n"
                              "e: LD r1 c0.i32 4\nEMIT\n"
                              "LDI16 r0 300\nADVANCE c0 r0 f\n"
                              "f: LD r1 c0.i32 4\nEMIT\n"
                              "COUNT r1 c0\nEMIT\nHALT",
                              1),
                   "-;-;3;-;9;-;0;");
    /* A table that was not opened has no row ahead and none left. */
    ESK_CHECK_TEXT(query_rows(".table 1\n.regs 3\n.out int r1\n"
                              "LDI16 r0 135\nADVANCE c0 r0 a\n"
                              "a: COUNT r1 c0\nEMIT\n"
                              "GET c0 r0 b\nb: COUNT r1 c0\nEMIT\nHALT",
                              1),
                   "0;0;");
    esk_source_series_counts(&query_sources[1]);
    ESK_CHECK_TEXT(query_rows(".table 1\n.regs 3\n.out int r1\n"
                              "LDI16 r0 135\nGET c0 r0 b\n"
                              "b: COUNT r1 c0\nEMIT\nHALT",
                              1),
                   "0;");
    query_sources[1].count = NULL;
    /* Nor has one that cannot have a row. */
    ESK_CHECK_TEXT(query_rows(".table 1\n.regs 3\n.out int r1\n"
                              "FOR c0 9 r0 r0 7\nCOUNT r1 c0\nEMIT\nHALT",
                              1),
                   "0;");
    /* COUNT of what a cursor has left. */
    ESK_CHECK_TEXT(query_rows(".table 1\n.regs 3\n.out int r1\n"
                              "FOR c0 8 r0 r0 0\n"
                              "LDI16 r0 130\nADVANCE c0 r0 a\n"
                              "a: COUNT r1 c0\nEMIT\nCOUNT r1 c0\nEMIT\nHALT",
                              1),
                   "2;2;");
}

ESK_TEST(query_source_counts_within_its_pages) {
    const struct esk_source *source = &query_sources[0];
    struct esk_source_bounds bounds = {.min = NULL};
    struct esk_source_mark mark;
    struct esk_series_cursor cursor;
    struct esk_series_stats before;
    struct esk_series_stats after;
    uint16_t pages = 3;
    uint32_t rows = 0;
    query_start(400);
    esk_source_series_counts(&query_sources[0]);
    source->kind->mark(source, &mark);
    ESK_CHECK_INT(source->kind->open(source, &mark, &cursor, &bounds), ESK_OK);
    esk_series_stats(query_log, &before);
    ESK_CHECK_INT(source->count(source, &cursor, &pages, &rows), ESK_AGAIN);
    esk_series_stats(query_log, &after);
    ESK_CHECK_INT(pages, 0);
    ESK_CHECK(after.page_reads - before.page_reads <= 3);
    ESK_CHECK(rows > 0 && rows < 400);
    pages = 1000;
    ESK_CHECK_INT(source->count(source, &cursor, &pages, &rows), ESK_OK);
    ESK_CHECK_INT(rows, 400);
    ESK_CHECK(pages > 900 && pages < 1000);
    /* COUNT: one step that may read them all ends with the answer. */
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 3\n.out int r1\n"
                              "FOR c0 8 r0 r0 0\nCOUNT r1 c0\nEMIT\nHALT",
                              UINT16_MAX),
                   "400;");
    ESK_CHECK_INT(query_pauses, 0);
}

/// Joins log, table `outer`, with the rows of rain to key 535, the other table
/// of the two.
static const char *merged(unsigned outer, uint16_t budget, uint32_t *reads) {
    static char text[512];
    struct esk_series_stats before;
    struct esk_series_stats after;
    unsigned inner = 1 - outer;
    snprintf(text, sizeof text,
             ".table %u\n.table %u\n.regs 8\n.out int r3\n.out int r6\n"
             "LDI8 r0 5\nLDI16 r1 535\nFOR c%u 10 r0 r1 0\n"
             "FOR c%u 0 r0 r0 x\nb: LD r4 %u.u32 0\nADD r3 r4 r0\n"
             "ADVANCE c%u r3 n\nLD r6 %u.i32 4\nEMIT\nn: NEXT c%u b\n"
             "x: COUNT r6 c%u\nMOV r3 r6\nEMIT\nHALT",
             outer, inner, inner, outer, outer, inner, inner, outer, outer);
    esk_series_stats(query_log, &before);
    const char *rows = query_rows(text, budget);
    esk_series_stats(query_log, &after);
    *reads = after.page_reads - before.page_reads;
    return rows;
}

ESK_TEST(query_advance_ends_the_loop_of_the_next_table_with_its_own_cursor) {
    uint32_t reads = 0;
    uint32_t all = 0;
    static char whole[1024];
    query_start(400);
    snprintf(whole, sizeof whole, "%s", merged(0, 0, &all));
    ESK_CHECK_TEXT(whole + strlen(whole) - strlen("495,39;525,42;42,42;"),
                   "495,39;525,42;42,42;");
    for (uint16_t budget = 0; budget < 4; budget++) {
        ESK_CONTEXT("budget %u", budget);
        ESK_CHECK_TEXT(merged(1, budget, &reads), whole);
        ESK_CHECK(reads * 4 < all);
    }
    /* Opened without a row, it ends the loop at the first one. */
    ESK_CHECK_TEXT(query_rows(".table 1\n.table 0\n.regs 8\n.out int r4\n"
                              "FOR c0 9 r7 r0 0\nFOR c1 0 r0 r0 x\n"
                              "b: LD r4 c1.u32 0\nADVANCE c0 r4 n\nNULL r4\n"
                              "n: EMIT\nNEXT c1 b\nx: HALT",
                              0),
                   "100;");
    /* A left join goes on. */
    query_start(3);
    ESK_CHECK_TEXT(query_rows(".table 1\n.table 0\n.regs 8\n.out int r4\n"
                              "FOR c0 9 r7 r0 0\nFOR c1 0 r0 r0 x\n"
                              "b: LD r4 c1.u32 0\nADVANCE c0 r4 n\n"
                              "n: EMIT\nNEXT c1 b\nx: HALT",
                              0),
                   "100;110;120;");
}

ESK_TEST(query_quantiles_are_values_at_a_place_of_the_order) {
    /* Of n temperatures each part, as QUANTILE gives it. */
    static const struct {
        uint32_t rows;
        const char *rows_text;
    } cases[] = {
        {0, "-;-;-;-;-;"},
        {1, "-20;-20;-20;-20;-20;"},
        /* -20 17 54 -9 */
        {4, "-20;-20;-9;17;54;"},
        /* and 28 65 2 39 */
        {8, "-20;-9;17;39;65;"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        query_start(cases[i].rows);
        for (uint16_t budget = 0; budget < 2; budget++) {
            ESK_CONTEXT("%u rows", (unsigned)cases[i].rows);
            ESK_CHECK_TEXT(
                query_rows(
                    ".table 0\n.regs 8\n.helper 2 1 1 0 0 8\n.out int r0\n"
                    "FOR c0 0 r1 r1 x\nb: LD r0 c0.i32 4\nPUSH h0\n"
                    "NEXT c0 b\nx: QUANTILE h0 0\nEMIT\n"
                    "QUANTILE h0 2500\nEMIT\nQUANTILE h0 5000\nEMIT\n"
                    "QUANTILE h0 7500\nEMIT\nQUANTILE h0 10000\nEMIT\n"
                    "HALT",
                    budget),
                cases[i].rows_text);
        }
    }
    /* 32767 empties it, and so does a record that follows. */
    ESK_CHECK_TEXT(query_rows(".regs 1\n.helper 2 1 1 0 0 8\n.out int r0\n"
                              "LDI8 r0 5\nPUSH h0\nQUANTILE h0 0\n"
                              "LDI8 r0 7\nPUSH h0\nQUANTILE h0 0\n"
                              "EMIT\nQUANTILE h0 32767\n"
                              "QUANTILE h0 0\nEMIT\nHALT",
                              0),
                   "7;-;");
    /* Its bound is that of the sort. */
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 2\n.helper 2 1 1 0 0 7\n"
                              "FOR c0 0 r1 r1 x\nb: LD r0 c0.i32 4\n"
                              "PUSH h0\nNEXT c0 b\nx: HALT",
                              0),
                   "!-14");
}

/// Rows of log by temp, down, then by time.
static const char *sorted(const char *helper, uint16_t budget) {
    static char text[512];
    snprintf(text, sizeof text,
             ".table 0\n.regs 4\n.helper %s\n.out int r0\n.out int r1\n"
             "FOR c0 0 r3 r3 x\nb: LD r0 c0.i32 4\nLD r1 c0.u32 0\n"
             "MOV r2 r1\nPUSH h0\nNEXT c0 b\n"
             "x: FORH h0 y\nc: EMIT\nNEXTH h0 c\ny: HALT",
             helper);
    return query_rows(text, budget);
}

ESK_TEST(query_sorts_more_rows_than_memory_holds_through_a_scratch) {
    static char whole[sizeof query_text];
    query_start(500);
    snprintf(whole, sizeof whole, "%s", sorted("2 3 1 0 1 500", 0));
    ESK_CHECK(strlen(whole) > 3000);
    /* 60 records have the bytes of the sort, and of runs of 31 and less. */
    ESK_CHECK_TEXT(sorted("2 3 1 0 1 60", 0), "!-14");
    ESK_CHECK_TEXT(sorted("4 3 1 0 1 60", 0), "!-14");
    struct esk_program_bound bound = {0};
    ESK_CHECK_INT(esk_program_bound(&query_program, &bound), ESK_OK);
    ESK_CHECK_INT(bound.kind, ESK_BOUND_RUNS);
    ESK_CHECK(bound.most > 31 && bound.most < 60);
    ESK_CHECK_INT(bound.reached, bound.most);
    ESK_CHECK_TEXT(sorted("4 3 1 0 1 600", 1), whole);
    query_scratch = &query_blocks;
    for (uint16_t budget = 0; budget < 5; budget++) {
        ESK_CONTEXT("budget %u", budget);
        ESK_CHECK_TEXT(sorted("4 3 1 0 1 60", budget), whole);
        ESK_CHECK_INT(query_status, ESK_END);
    }
    ESK_CHECK_TEXT(sorted("4 3 1 0 1 5", 0), "!-4");
    /* Its scratch is full. */
    struct esk_scratch few = query_blocks;
    few.block_count = 1;
    query_scratch = &few;
    ESK_CHECK_TEXT(sorted("4 3 1 0 1 60", 0), "!-14");
    ESK_CHECK_INT(esk_program_bound(&query_program, &bound), ESK_OK);
    ESK_CHECK_INT(bound.kind, ESK_BOUND_RUNS);
    ESK_CHECK_INT(bound.most, 0);
    query_scratch = &query_blocks;
    /* It begins again with a record behind the last one. */
    query_start(4);
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 1\n.helper 4 1 1 0 0 99\n"
                              ".out int r0\nFOR c0 0 r0 r0 x\n"
                              "b: LD r0 c0.i32 4\nPUSH h0\n"
                              "FORH h0 y\na: EMIT\nNEXTH h0 a\n"
                              "y: NEXT c0 b\nx: HALT",
                              1),
                   "-20;17;54;-9;");
}

/// Runs a program over `names` whose parameter is a text of "alphabet".
static const char *with_text(const char *code, uint16_t offset, uint8_t bytes) {
    static const char texts[] = "alphabetaa%_eta%_";
    char text[256];
    snprintf(text, sizeof text,
             ".table 4\n.regs 8\n.params 1\n.out rowtext c0 0 12\n"
             "FOR c0 0 r0 r0 x\nb: %s\nEMIT\nn: NEXT c0 b\nx: HALT",
             code);
    ESK_CHECK(esk_assemble(&query_assembly, text, query_sources));
    ESK_CHECK_INT(query_begin(query_assembly.bytes, query_assembly.count),
                  ESK_OK);
    ESK_CHECK_INT(esk_program_set_text(&query_program, 0, texts, offset, bytes),
                  ESK_OK);
    ESK_CHECK_INT(esk_program_set_text(&query_program, 0, "", 0, 0),
                  ESK_E_INVALID);
    query_run(0);
    return query_text;
}

ESK_TEST(query_parameters_are_texts_of_the_caller) {
    static const char same[] = "LDT r2 c0 4 0\nLDR r4 8 r0\nLDR r6 4 r0\n"
                               "UNLESS_EQ r2 r6 n";
    query_start(4);
    ESK_CHECK_TEXT(with_text("TEXT 18 c0 0 12 0 0 n", 0, 5), "alpha;");
    ESK_CHECK_TEXT(with_text("TEXT 18 c0 0 12 0 0 n", 5, 4), "beta;");
    ESK_CHECK_TEXT(with_text("TEXT 18 c0 0 12 0 0 n", 0, 9), "");
    ESK_CHECK_TEXT(with_text("TEXT 18 c0 0 12 0 0 n", 0, 0), "");
    /* LIKE 'a', 'a%', '_eta', '%_eta%', and not. */
    ESK_CHECK_TEXT(with_text("TEXT 26 c0 0 12 0 0 n", 0, 1), "");
    ESK_CHECK_TEXT(with_text("TEXT 26 c0 0 12 0 0 n", 9, 2),
                   "abcdefghijkl;alpha;");
    ESK_CHECK_TEXT(with_text("TEXT 26 c0 0 12 0 0 n", 11, 4), "beta;");
    ESK_CHECK_TEXT(with_text("TEXT 26 c0 0 12 0 0 n", 10, 6), "beta;");
    ESK_CHECK_TEXT(with_text("TEXT 30 c0 0 12 0 0 n", 11, 4),
                   "abcdefghijkl;alpha;gamma;");
    ESK_CHECK_TEXT(with_text("TEXT 27 c0 0 12 0 0 n", 9, 2), "beta;gamma;");
    ESK_CHECK_TEXT(with_text("TEXT 26 c0 0 12 7 0 n", 9, 2), "");
    ESK_CHECK_TEXT(with_text("TEXT 22 c0 0 12 0 0 n", 0, 5),
                   "abcdefghijkl;beta;gamma;");
    /* A register that is NULL refers to nothing. */
    ESK_CHECK_TEXT(with_text("TEXT 18 c0 0 12 7 0 n", 0, 5), "");
    ESK_CHECK_TEXT(with_text("LDR r2 9 r7\nUNLESS_NULL r2 r2 n", 0, 5),
                   "abcdefghijkl;alpha;beta;gamma;");
    ESK_CHECK_TEXT(with_text(same, 5, 4), "beta;");
    /* The constant 0x7f0000 refers to what is behind the program. */
    ESK_CHECK_TEXT(with_text("LDI32 r7 8323073\nLDR r2 8 r7", 0, 5), "");
    ESK_CHECK_INT(query_status, ESK_E_INVALID);
    ESK_CHECK_TEXT(with_text("LDI32 r7 8323073\nTEXT 18 c0 0 12 7 0 n", 0, 5),
                   "");
    ESK_CHECK_INT(query_status, ESK_E_INVALID);
    ESK_CHECK_TEXT(with_text("LDR r2 4 r0", 0, 5), "");
    ESK_CHECK_INT(query_status, ESK_E_LIMIT);
    /* A reference of a program to its own bytes: "Eq". */
    ESK_CHECK_TEXT(with_text("LDI8 r7 2\nTEXT 16 c0 0 12 7 0 n", 0, 5), "");
    ESK_CHECK_TEXT(with_text("LDI8 r7 2\nTEXT 20 c0 0 12 7 0 n", 0, 5),
                   "abcdefghijkl;alpha;beta;gamma;");
}

ESK_TEST(query_refuses_texts_that_are_not_in_the_caller_s) {
    query_start(1);
    ESK_CHECK(esk_assemble(&query_assembly, ".regs 2\n.params 1\nHALT",
                           query_sources));
    ESK_CHECK_INT(query_begin(query_assembly.bytes, query_assembly.count),
                  ESK_OK);
    ESK_CHECK_INT(esk_program_set_text(&query_program, 0, NULL, 0, 1),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_program_set_text(&query_program, 0, "a", 65535, 1),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_program_set_text(&query_program, 1, "a", 0, 1),
                  ESK_E_INVALID);
}

/// Runs a program to its end, of 7 records where its helper has room for 5.
static void run_beyond(const char *head, const char *what) {
    char text[256];
    snprintf(text, sizeof text,
             "%s\nFOR c0 0 r0 r0 x\nb: LD r1 c0.u32 0\n%s\nNEXT c0 b\nx: HALT",
             head, what);
    query_start(7);
    (void)query_rows(text, 0);
}

ESK_TEST(query_names_the_bound_that_ended_it) {
    static const struct {
        const char *head;
        const char *what;
        int found;
        unsigned kind, most, reached;
    } cases[] = {
        {".table 0\n.regs 2\n.helper 3 1 1 1 0 5", "GROUP h0", ESK_OK,
         ESK_BOUND_GROUPS, 5, 5},
        {".table 0\n.regs 2\n.helper 2 1 1 1 0 5", "PUSH h0", ESK_OK,
         ESK_BOUND_ROWS, 5, 5},
        /* The second one of two. */
        {".table 0\n.regs 2\n.helper 1 1 1 1 0 2\n.helper 2 1 1 1 0 6",
         "PUSH h0\nPUSH h1", ESK_OK, ESK_BOUND_ROWS, 6, 6},
        /* An overflow beside a helper that is full. */
        {".table 0\n.regs 2\n.helper 1 1 1 1 0 1",
         "PUSH h0\nLDI32 r0 2147483647\nMUL r0 r0 r0\nMUL r0 r0 r0",
         ESK_NOT_FOUND, ESK_BOUND_NONE, 0, 0},
    };
    struct esk_program_bound bound;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ESK_CONTEXT("case %zu", i);
        memset(&bound, 0, sizeof bound);
        run_beyond(cases[i].head, cases[i].what);
        ESK_CHECK_INT(query_status, ESK_E_LIMIT);
        for (unsigned again = 0; again < 2; again++) {
            ESK_CHECK_INT(esk_program_bound(&query_program, &bound),
                          cases[i].found);
            ESK_CHECK_INT(bound.kind, cases[i].kind);
            ESK_CHECK_INT(bound.most, cases[i].most);
            ESK_CHECK_INT(bound.reached, cases[i].reached);
            (void)esk_program_step(&query_program, 0);
        }
    }
    run_beyond(".table 0\n.regs 2\n.helper 3 1 1 1 0 7", "GROUP h0");
    ESK_CHECK_INT(query_status, ESK_END);
    ESK_CHECK_INT(esk_program_bound(&query_program, &bound), ESK_NOT_FOUND);
}

ESK_TEST(query_ends_a_loop_that_fills_its_own_helper) {
    for (unsigned kind = 1; kind <= 4; kind += kind == 2 ? 2 : 1) {
        char text[128];
        ESK_CONTEXT("kind %u", kind);
        snprintf(text, sizeof text,
                 ".regs 1\n.helper %u 1 1 0 0 200\n.out int r0\nLDI8 r0 1\n"
                 "PUSH h0\nFORH h0 x\nb: EMIT\nPUSH h0\nNEXTH h0 b\nx: HALT",
                 kind);
        query_start(1);
        ESK_CHECK(esk_assemble(&query_assembly, text, query_sources));
        ESK_CHECK_INT(query_begin(query_assembly.bytes, query_assembly.count),
                      ESK_OK);
        ESK_CHECK_INT(esk_program_step(&query_program, 0), ESK_OK);
        ESK_CHECK_INT(esk_program_step(&query_program, 0), ESK_END);
    }
}

ESK_TEST_MAIN()
