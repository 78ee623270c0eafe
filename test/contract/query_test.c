// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Queries as programs: their rows, from tables of every kind, in steps of
/// every size.
///
/// The log has rows i = 0, 1, ... with time 100 + 10 i, temp (37 i mod 100) -
/// 20, gas i / 4 - 2 or NaN, wide i / 10, and a name.
#include "test/harness/query_fixture.h"

/// SELECT * FROM log WHERE time BETWEEN 125 AND 150
static const char between[] = ".table 0\n.regs 2\n.out row c0\n"
                              "LDI8 r0 125\nLDI16 r1 150\n"
                              "FOR c0 3 r0 r1 x\n"
                              "b: EMIT\n"
                              "NEXT c0 b\n"
                              "x: HALT";
/// SELECT count(temp), avg(temp) FROM log WHERE temp > 50, with an index
static const char indexed[] = ".table 0\n.regs 7\n.ranges 1\n"
                              ".out int r1\n.out avg r1\n"
                              "LDI8 r0 51\nCLEAR r1\n"
                              "FOR c0 16 r0 r0 x 1 0x31 r0 r0\n"
                              "b: AGGC 3 r1 c0.i32 4\n"
                              "NEXT c0 b\n"
                              "x: EMIT\nHALT";
/// Q1: SELECT time / 100, count(temp), min(temp), max(temp), avg(temp) FROM log
/// GROUP BY time / 100, by a key that rises
static const char buckets[] =
    ".table 0\n.regs 9\n"
    ".out int r3\n.out int r4\n.out int r7\n.out int r8\n.out avg r4\n"
    "LDI8 r0 100\n"
    "FOR c0 0 r0 r0 x\n"
    "b: LD r1 c0.u32 0\n"
    "IF_LT r1 r2 same\n"
    "IF_NULL r3 r3 first\n"
    "EMIT\n"
    "first: DIV r3 r1 r0\n"
    "MUL r2 r3 r0\n"
    "ADD r2 r2 r0\n"
    "CLEAR r4\n"
    "same: AGGC 15 r4 c0.i32 4\n"
    "NEXT c0 b\n"
    "x: IF_NULL r3 r3 end\n"
    "EMIT\n"
    "end: HALT";
/// Q2: the same, HAVING max(temp) - min(temp) > 90
static const char having[] =
    ".table 0\n.regs 11\n.out int r3\n.out int r7\n.out int r8\n"
    "LDI8 r0 100\nLDI8 r9 90\n"
    "FOR c0 0 r0 r0 x\n"
    "b: LD r1 c0.u32 0\n"
    "IF_LT r1 r2 same\n"
    "IF_NULL r3 r3 first\n"
    "SUB r10 r8 r7\n"
    "UNLESS_LT r9 r10 first\n"
    "EMIT\n"
    "first: DIV r3 r1 r0\nMUL r2 r3 r0\nADD r2 r2 r0\nCLEAR r4\n"
    "same: AGGC 12 r4 c0.i32 4\n"
    "NEXT c0 b\n"
    "x: IF_NULL r3 r3 end\n"
    "SUB r10 r8 r7\n"
    "UNLESS_LT r9 r10 end\n"
    "EMIT\n"
    "end: HALT";
/// Q3: SELECT count(*) FROM log WHERE temp > 50
static const char counted[] = ".table 0\n.regs 2\n.ranges 1\n.out int r1\n"
                              "LDI8 r0 51\n"
                              "FOR c0 0x18 r0 r0 0 1 0x31 r0 r0\n"
                              "COUNT r1 c0\n"
                              "EMIT\nHALT";
/// Q4: SELECT log.time, temp, rain FROM log JOIN rain ON rain.time = log.time +
/// 5, both in key order
static const char merged[] = ".table 0\n.table 1\n.regs 8\n"
                             ".out int r4\n.out int r5\n.out int r6\n"
                             "LDI8 r0 5\n"
                             "FOR c1 8 r0 r0 0\n"
                             "FOR c0 0 r0 r0 x\n"
                             "b: LD r4 c0.u32 0\n"
                             "ADD r3 r4 r0\n"
                             "ADVANCE c1 r3 n\n"
                             "LD r5 c0.i32 4\n"
                             "LD r6 c1.i32 4\n"
                             "EMIT\n"
                             "n: NEXT c0 b\n"
                             "x: HALT";
/// The same by lookups, and as a left join
static const char looked_up[] = ".table 0\n.table 1\n.regs 8\n"
                                ".out int r4\n.out int r6\n"
                                "LDI8 r0 5\n"
                                "FOR c0 0 r0 r0 x\n"
                                "b: LD r4 c0.u32 0\n"
                                "ADD r3 r4 r0\n"
                                "GET c1 r3 none\n"
                                "none: LD r6 c1.i32 4\n"
                                "EMIT\n"
                                "NEXT c0 b\n"
                                "x: HALT";
/// Q5: SELECT wide / 1 as an integer, count(*) FROM log WHERE temp > 60
/// GROUP BY it, groups in any order, here sorted after
static const char grouped[] = ".table 0\n.regs 12\n.ranges 1\n"
                              ".helper 3 6 1 1 0 20\n.helper 2 2 2 7 2 20\n"
                              ".out int r7\n.out int r8\n"
                              "LDI8 r0 61\nLDI8 r9 100\n"
                              "FOR c0 16 r0 r0 x 1 0x31 r0 r0\n"
                              "b: LD r1 c0.u32 0\n"
                              "DIV r1 r1 r9\n"
                              "GROUP h0\n"
                              "AGGC 1 r2 c0.i32 4\n"
                              "NEXT c0 b\n"
                              "x: FORH h0 y\n"
                              "g: MOV r7 r1\n"
                              "MOV r8 r2\n"
                              "PUSH h1\n"
                              "NEXTH h0 g\n"
                              "y: FORH h1 z\n"
                              "s: EMIT\n"
                              "NEXTH h1 s\n"
                              "z: HALT";
/// SELECT temp, time FROM log ORDER BY temp DESC LIMIT 4
static const char top[] = ".table 0\n.regs 3\n.helper 1 2 1 1 1 4\n"
                          ".out int r1\n.out int r2\n"
                          "FOR c0 0 r0 r0 x\n"
                          "b: LD r1 c0.i32 4\n"
                          "LD r2 c0.u32 0\n"
                          "PUSH h0\n"
                          "NEXT c0 b\n"
                          "x: FORH h0 y\n"
                          "s: EMIT\n"
                          "NEXTH h0 s\n"
                          "y: HALT";

static const char *const all[] = {between, indexed,   buckets, having, counted,
                                  merged,  looked_up, grouped, top};

ESK_TEST(query_selects_rows_by_key) {
    query_start(40);
    ESK_CHECK_TEXT(query_rows(between, 0), "#130;#140;#150;");
}

ESK_TEST(query_filters_and_aggregates) {
    query_start(40);
    ESK_CHECK_TEXT(query_rows(indexed, 0), "11,65.8181818;");
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 7\n.out int r1\n.out avg r1\n"
                              "LDI16 r0 50\nCLEAR r1\n"
                              "FOR c0 0 r0 r0 x\n"
                              "b: LD r6 c0.i32 4\n"
                              "UNLESS_LT r0 r6 n\n"
                              "AGG 3 r1 r6\n"
                              "n: NEXT c0 b\n"
                              "x: EMIT\nHALT",
                              0),
                   "11,65.8181818;");
}

ESK_TEST(query_groups_by_a_rising_key) {
    query_start(24);
    ESK_CHECK_TEXT(query_rows(buckets, 0),
                   "1,10,-20,76,26.5;2,10,-17,72,26.5;3,4,-6,57,25.5;");
    ESK_CHECK_TEXT(query_rows(having, 0), "1,-20,76;");
    query_start(0);
    ESK_CHECK_TEXT(query_rows(buckets, 0), "");
}

ESK_TEST(query_counts_rows_with_and_without_the_index) {
    query_start(200);
    ESK_CHECK_TEXT(query_rows(counted, 0), "58;");
    uint32_t visited = query_pauses;
    esk_source_series_counts(&query_sources[0]);
    ESK_CHECK_TEXT(query_rows(counted, 0), "58;");
    ESK_CHECK_TEXT(query_rows(counted, 1), "58;");
    ESK_CHECK(visited == 0 && query_pauses > 0);
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 2\n"
                              "LDI64 r0 9223372036854775807\n"
                              "FOR c0 8 r0 r0 0\nCOUNT r0 c0\nHALT",
                              0),
                   "!-14");
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 2\n"
                              "FOR c0 12 r0 r0 0\nCOUNT r0 c0\nHALT",
                              0),
                   "!-6"); /* backward */
    query_start(0);
    ESK_CHECK_TEXT(query_rows(counted, 0), "0;");
}

ESK_TEST(query_joins_by_merging_and_by_lookup) {
    query_start(10);
    ESK_CHECK_TEXT(query_rows(merged, 0),
                   "100,-20,0;130,-9,3;160,2,6;190,13,9;");
    ESK_CHECK_TEXT(query_rows(looked_up, 0),
                   "100,0;110,-;120,-;130,3;140,-;150,-;160,6;170,-;180,-;"
                   "190,9;");
}

ESK_TEST(query_groups_and_sorts) {
    query_start(24);
    ESK_CHECK_TEXT(query_rows(grouped, 0), "1,2;2,2;");
    ESK_CHECK_TEXT(query_rows(top, 0), "76,180;72,260;65,150;61,230;");
}

ESK_TEST(query_gives_the_same_rows_in_steps_of_any_size) {
    static char whole[sizeof query_text];
    query_start(200);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        snprintf(whole, sizeof whole, "%s", query_rows(all[i], 0));
        ESK_CHECK(strlen(whole) > 0);
        ESK_CHECK_INT(query_status, ESK_END);
        for (uint16_t budget = 1; budget < 8; budget++) {
            ESK_CONTEXT("query %zu, budget %u", i, budget);
            ESK_CHECK_TEXT(query_rows(all[i], budget), whole);
            ESK_CHECK_INT(query_status, ESK_END);
        }
    }
}

ESK_TEST(query_fails_for_good_when_a_read_fails) {
    static char whole[sizeof query_text];
    query_start(200);
    for (size_t i = 1; i < sizeof all / sizeof all[0]; i++) {
        ESK_CONTEXT("query %zu", i);
        query_io_every = 0;
        snprintf(whole, sizeof whole, "%s", query_rows(all[i], 0));
        for (int every = 1; every < 4; every++) {
            query_io_every = every;
            (void)query_rows(all[i], 1);
            ESK_CONTEXT("query %zu, every %d: %d", i, every, query_status);
            /* Later reads may be none. */
            ESK_CHECK(query_status == ESK_E_IO ||
                      (every > 1 && query_status == ESK_END));
            ESK_CHECK_INT(esk_program_step(&query_program, 1),
                          query_status == ESK_END ? ESK_END : ESK_E_INVALID);
        }
        query_io_every = 0;
        ESK_CHECK_TEXT(query_rows(all[i], 2), whole);
    }
}

ESK_TEST(query_reads_at_most_a_page_without_a_row_in_a_step) {
    struct esk_series_stats before;
    struct esk_series_stats after;
    query_start(400);
    /* gas = 1e9, which no row has, and which no index knows. */
    bool assembled =
        esk_assemble(&query_assembly,
                     ".table 0\n.regs 1\n.ranges 1\n.flags 2\n"
                     "LDI64 r0 0x41cdcd6500000000\n"
                     "FOR c0 16 r0 r0 x 2 0x91 r0 r0\nb: NEXT c0 b\nx: HALT",
                     query_sources);
    ESK_CHECK(assembled);
    ESK_CHECK_INT(query_begin(query_assembly.bytes, query_assembly.count),
                  ESK_OK);
    int status = ESK_AGAIN;
    uint32_t steps = 0;
    while (status == ESK_AGAIN) {
        esk_series_stats(query_log, &before);
        status = esk_program_step(&query_program, 1);
        esk_series_stats(query_log, &after);
        ESK_CHECK(after.page_reads - before.page_reads <= 1);
        steps++;
    }
    ESK_CHECK_INT(status, ESK_END);
    ESK_CHECK(steps > 30);
}

ESK_TEST(query_does_not_see_rows_that_are_appended_while_it_runs) {
    query_start(20);
    ESK_CHECK(esk_assemble(&query_assembly,
                           ".table 0\n.out row c0\n.regs 1\n"
                           "FOR c0 0 r0 r0 x\nb: EMIT\nNEXT c0 b\nx: HALT",
                           query_sources));
    ESK_CHECK_INT(query_begin(query_assembly.bytes, query_assembly.count),
                  ESK_OK);
    uint32_t rows = 0;
    uint32_t appended = 20;
    int status = ESK_OK;
    while (status != ESK_END) {
        status = esk_program_step(&query_program, 1);
        rows += status == ESK_OK ? 1 : 0;
        if (status != ESK_END) {
            query_append(++appended);
        }
    }
    ESK_CHECK(appended >= 20 + 20);
    ESK_CHECK_INT(rows, 20);
    /* Neither does a lookup, or a bound above the newest key. */
    static const char lookup[] = ".table 0\n.flags 8\n.regs 2\n.params 1\n"
                                 ".out row c0\n"
                                 "GET c0 r0 x\nEMIT\nx: HALT";
    query_parameter_count = 1;
    query_parameters[0] = 100;
    ESK_CHECK_TEXT(query_rows(lookup, 0), "#100;");
    query_parameters[0] = 101;
    ESK_CHECK_TEXT(query_rows(lookup, 0), "");
    query_parameters[0] = -1;
    ESK_CHECK_TEXT(query_rows(lookup, 0), "");
    query_parameters[0] = 100000;
    ESK_CHECK(esk_assemble(&query_assembly, lookup, query_sources));
    ESK_CHECK_INT(query_begin(query_assembly.bytes, query_assembly.count),
                  ESK_OK);
    query_append(9990);
    query_run(0);
    ESK_CHECK_TEXT(query_text, "");
}

ESK_TEST(query_fails_when_rows_that_it_had_to_read_are_dropped) {
    query_start(100);
    ESK_CHECK(esk_assemble(&query_assembly, buckets, query_sources));
    ESK_CHECK_INT(query_begin(query_assembly.bytes, query_assembly.count),
                  ESK_OK);
    ESK_CHECK_INT(esk_program_step(&query_program, 3), ESK_AGAIN);
    ESK_CHECK_INT(esk_series_erase_before(query_log, 500), ESK_OK);
    ESK_CHECK_INT(esk_program_step(&query_program, 3), ESK_E_STALE);
    ESK_CHECK_INT(esk_program_step(&query_program, 3), ESK_E_INVALID);
    struct esk_output value;
    ESK_CHECK_INT(esk_program_row(&query_program, 0, &value), ESK_E_INVALID);
}

ESK_TEST(query_bounds_mean_what_they_say_beyond_the_type_of_the_key) {
    static const struct {
        int64_t min;
        int64_t max;
        const char *rows;
    } cases[] = {
        {-5, 110, "#100;#110;"},
        {-5, -1, ""},
        {380, INT64_C(0x100000005), "#380;#390;"},
        {INT64_C(0x100000000), INT64_MAX, ""},
        {INT64_MIN, INT64_MIN + 1, ""},
        {130, 120, ""},
        {390, 390, "#390;"},
    };
    query_start(30);
    query_parameter_count = 2;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ESK_CONTEXT("case %zu", i);
        query_parameters[0] = (esk_slot)cases[i].min;
        if (query_parameters[0] != cases[i].min ||
            (esk_slot)cases[i].max != cases[i].max) {
            continue; /* no slot has it */
        }
        query_parameters[1] = (esk_slot)cases[i].max;
        ESK_CHECK_TEXT(query_rows(".table 0\n.regs 2\n.params 2\n.out row c0\n"
                                  "FOR c0 3 r0 r1 x\nb: EMIT\nNEXT c0 b\n"
                                  "x: HALT",
                                  0),
                       cases[i].rows);
    }
    query_parameter_count = 1; /* the other bound is NULL */
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 2\n.params 1\n.out row c0\n"
                              "FOR c0 3 r0 r1 x\nb: EMIT\nNEXT c0 b\nx: HALT",
                              0),
                   "");
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 2\n.params 1\n.out row c0\n"
                              "FOR c0 3 r1 r0 x\nb: EMIT\nNEXT c0 b\nx: HALT",
                              0),
                   "");
}

ESK_TEST(query_scans_backward) {
    query_start(30);
    ESK_CHECK_TEXT(query_rows(".table 0\n.regs 2\n.out row c0\n"
                              "LDI16 r0 370\n"
                              "FOR c0 5 r0 r0 x\nb: EMIT\nNEXT c0 b\nx: HALT",
                              1),
                   "#390;#380;#370;");
}

ESK_TEST(query_reads_trees_and_readers_of_them) {
    static const char scan[] = ".table 2\n.regs 4\n.flags 4\n"
                               ".out int r2\n.out int r3\n.out rowtext c0 4 6\n"
                               "LDI8 r0 -2\nLDI8 r1 1\n"
                               "FOR c0 3 r0 r1 x\n"
                               "b: LD r2 c0.i16 0\n"
                               "LD r3 c0.u16 2\n"
                               "EMIT\n"
                               "NEXT c0 b\n"
                               "x: HALT";
    query_start(30);
    ESK_CHECK_TEXT(query_rows(scan, 0),
                   "-2,19,note t;-1,2,note c;0,15,note p;1,28,note c;");
    ESK_CHECK_TEXT(query_rows(scan, 1),
                   "-2,19,note t;-1,2,note c;0,15,note p;1,28,note c;");
    ESK_CHECK_TEXT(query_rows(".table 2\n.regs 3\n.out int r2\n"
                              "LDI8 r0 -14\nLDI32 r1 100000\n"
                              "FOR c0 7 r1 r0 x\nb: EMIT\nNEXT c0 b\n"
                              "x: EMIT\nHALT",
                              0),
                   "-;");
    ESK_CHECK_TEXT(query_rows(".table 2\n.regs 3\n.out int r2\n"
                              "LDI32 r0 -100000\nLDI8 r1 -14\n"
                              "FOR c0 7 r0 r1 x\n"
                              "b: LD r2 c0.i16 0\nEMIT\nNEXT c0 b\nx: HALT",
                              0),
                   "-14;-15;");
    ESK_CHECK_TEXT(query_rows(".table 2\n.regs 3\n.out int r2\n"
                              "LDI32 r0 -100000\nLDI32 r1 100000\nLDI8 r2 0\n"
                              "FOR c0 2 r0 r0 y\n"
                              "a: NEXT c0 a\n"
                              "y: GET c0 r1 x\n"
                              "x: EMIT\nHALT",
                              0),
                   "0;");
    struct esk_tree *reader = NULL;
    ESK_CHECK_INT(esk_tree_reader_open(&reader, query_map, NULL), ESK_OK);
    esk_source_tree(&query_sources[2], reader, query_sources[2].fingerprint);
    ESK_CHECK_TEXT(query_rows(scan, 0),
                   "-2,19,note t;-1,2,note c;0,15,note p;1,28,note c;");
    ESK_CHECK_TEXT(query_rows(".table 2\n.regs 2\n.out int r1\n"
                              "LDI8 r0 -1\nGET c0 r0 x\nLD r1 c0.u16 2\n"
                              "x: EMIT\nHALT",
                              0),
                   "2;");
}

ESK_TEST(query_reads_kv_tables) {
    query_start(1);
    ESK_CHECK_TEXT(query_rows(".table 3\n.regs 6\n.helper 2 5 3 1 0 8\n"
                              ".out text r1 12\n.out int r3\n.out int r4\n"
                              ".out int r5\n"
                              "LDI64 r0 -0x8000000000000000\n"
                              "FOR c0 0 r0 r0 x\n"
                              "b: LDT r1 c0 8 0\n"
                              "LDT r2 c0 4 8\n"
                              "LD r3 c0.u8 12\n"
                              "LD r4 c0.u32 13\n"
                              "LD r5 c0.i64 17\n"
                              "NULLIF r5 r0\n"
                              "PUSH h0\n"
                              "NEXT c0 b\n"
                              "x: FORH h0 y\n"
                              "s: EMIT\n"
                              "NEXTH h0 s\n"
                              "y: HALT",
                              1),
                   "boots,2,1,7;low,3,1,-5;name,1,5,-;");
    ESK_CHECK_TEXT(query_rows(".table 3\n.table 3\n.regs 4\n.flags 8\n"
                              ".out rowtext c1 25 8\n"
                              "FOR c0 0 r0 r0 x\n"
                              "b: LDT r1 c0 8 0\n"
                              "LDT r2 c0 4 8\n"
                              "LD r3 c0.u8 12\n"
                              "LDI8 r0 1\n"
                              "UNLESS_EQ r3 r0 n\n"
                              "GET c1 r1 n\n"
                              "EMIT\n"
                              "n: NEXT c0 b\n"
                              "x: HALT",
                              0),
                   "esker;");
    /* Keys that no key of the table is: none, and an unknown one. */
    ESK_CHECK_TEXT(query_rows(".table 3\n.regs 2\n.out rowtext c0 0 12\n"
                              "LDI64 r0 -0x8000000000000000\nMOV r1 r0\n"
                              "GET c0 r0 y\ny: EMIT\n"
                              "LDI8 r0 5\nGET c0 r0 x\nx: EMIT\nHALT",
                              0),
                   "-;-;");
}

ESK_TEST(query_reads_trees_by_text) {
    query_start(1);
    static const char scan[] = ".table 4\n.regs 6\n.params 4\n"
                               ".out rowtext c0 0 12\n.out int r4\n"
                               "FOR c0 3 r0 r2 x\n"
                               "b: LD r4 c0.u32 12\n"
                               "EMIT\n"
                               "NEXT c0 b\n"
                               "x: HALT";
    uint8_t low[16] = "abd";
    uint8_t high[16] = "beta";
    query_parameter_count = 4;
    for (int i = 0; i < 2; i++) {
        uint64_t bits = 0;
        for (int at = 0; at < 8; at++) {
            bits = bits << 8 | low[8 * i + at];
        }
        query_parameters[i] = (esk_slot)(bits ^ UINT64_C(1) << 63);
        bits = 0;
        for (int at = 0; at < 8; at++) {
            bits = bits << 8 | high[8 * i + at];
        }
        query_parameters[2 + i] = (esk_slot)(bits ^ UINT64_C(1) << 63);
    }
    ESK_CHECK_TEXT(query_rows(scan, 0), "alpha,1;beta,2;");
    ESK_CHECK_TEXT(query_rows(".table 4\n.regs 6\n.params 4\n.out int r4\n"
                              "GET c0 r2 x\nLD r4 c0.u32 12\nx: EMIT\n"
                              "GET c0 r0 y\ny: LD r4 c0.u32 12\nEMIT\nHALT",
                              0),
                   "2;-;");
}

ESK_TEST_MAIN()
