// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Mutated programs over tables of a few rows. Their memory is of exactly the
/// bytes that the check reports, so the sanitizers see each access outside.
#ifndef ESK_TEST_QUERY_MUTANTS_H
#define ESK_TEST_QUERY_MUTANTS_H

#include "test/harness/query_fixture.h"

enum { MUTANT_ROWS = 6, MUTANT_STEPS_MAX = 200000 };

/// Programs that have every instruction.
static const char *const mutant_seeds[] = {
    ".table 0\n.regs 8\n.params 1\n.ranges 1\n.out row c0\n.out int r1\n"
    "LDI8 r0 1\nCLEAR r1\n"
    "FOR c0 0x13 r0 r7 x 1 0x33 r0 r7\n"
    "b: UNLESSC_LT r6 r0 c0.i32 4 n\nAGG 15 r1 r6\nSUM r6 r1\nEMIT\n"
    "n: NEXT c0 b\nx: EMIT\nHALT",
    ".table 1\n.table 0\n.regs 8\n.out int r4\n.out rowtext c0 0 4\n"
    "LDI8 r0 5\nFOR c0 8 r0 r0 0\nFOR c1 0 r0 r0 x\n"
    "b: LD r4 c1.u32 0\nADD r3 r4 r0\nADVANCE c0 r3 n\nNULLIF r4 r3\nEMIT\n"
    "n: NEXT c1 b\nx: COUNT r2 c0\nEMIT\nHALT",
    ".table 0\n.table 2\n.table 1\n.regs 12\n.helper 3 6 1 0 0 4\n"
    ".helper 1 3 2 6 1 4\n.helper 2 1 1 9 1 30\n.out int r6\n.out avg r1\n"
    "FOR c0 0 r0 r0 x\n"
    "b: LD r0 c0.u32 0\nGROUP h0\nAGGC 15 r1 c0.i32 4\nMOV r6 r0\nMOV r7 r1\n"
    "PUSH h1\nFOR c1 6 r6 r6 y\nc: LD r9 c1.i16 0\nUNLESS_NULL r9 r9 k\nPUSH "
    "h2\n"
    "k: NEXT c1 c\ny: GET c2 r0 m\nm: NEXT c0 b\n"
    "x: FORH h0 z\nd: EMIT\nNEXTH h0 d\n"
    "z: FORH h1 w\ne: EMIT\nNEXTH h1 e\n"
    "w: FORH h2 v\nf: EMIT\nNEXTH h2 f\nv: HALT",
    ".table 0\n.table 1\n.regs 9\n.helper 4 5 1 0 0 30\n"
    ".helper 2 1 1 5 0 9\n.out int r0\n.out int r5\n"
    "FOR c0 0 r0 r0 x\nb: LD r0 c0.i32 4\nLD r5 c0.u32 0\nPUSH h1\n"
    "FOR c1 0 r0 r0 y\nc: PUSH h0\nNEXT c1 c\ny: NEXT c0 b\n"
    "x: FORH h0 z\nd: EMIT\nNEXTH h0 d\n"
    "z: QUANTILE h1 5000\nEMIT\nQUANTILE h1 32767\nHALT",
    ".regs 2\n.helper 2 1 1 0 0 9\n.helper 1 1 1 1 0 9\n.out int r1\n"
    "PUSH h0\nPUSH h0\nPUSH h1\nPUSH h1\n"
    "FORH h0 y\nd: QUANTILE h1 5000\nEMIT\nNEXTH h0 d\ny: HALT",
    ".table 4\n.table 3\n.regs 24\n.params 2\n.out text r0 16\n"
    "FOR c0 1 r0 r0 x\n"
    "b: LDT r2 c0 8 0\nLDT r3 c0 4 8\nLENGTH r7 r2 16\n"
    "SUBSTR r4 16 r2 12 1 3\nTEXT 9 c0 0 12 t 3 n\n"
    "LDR r8 64 r1\nTEXT 16 c0 0 12 1 0 n\nGET c1 r2 n\nEMIT\n"
    "n: NEXT c0 b\n"
    "x: FOR c1 0 r0 r0 y\nc: LD r4 c1.i64 17\nEMIT\nNEXT c1 c\ny: HALT\n"
    "t: .text abc",
    ".table 0\n.regs 16\n.params 2\n.ranges 1\n.out float r8\n.out int r9\n"
    "LDI64 r0 0x3ff0000000000000\nLDI32 r1 77777\nLDI16 r2 300\n"
    "FOR c0 0x10 r0 r0 x 2 0x93 r0 r1\n"
    "b: LD r8 c0.f32 8\nFAGG 15 r3 r8\nLD r8 c0.f64 12\nFADD r8 r8 r0\nFSUB r9 "
    "r8 r0\n"
    "FMUL r8 r9 r8\nFDIV r9 r8 r0\nFLOAT r10 r1\nTRUNC r11 r8\n"
    "FCMP r11 r1 r8\nROUND r8 r8 2\nFSUM r12 r3\nFAGG 15 r3 r8\nFAVG r12 r3\n"
    "EMIT\nNEXT c0 b\nx: HALT",
    ".table 5\n.regs 8\n.params 2\n.out rowtext c0 0 16\n.out row c0\n"
    "LDI32 r3 -1\nFOR c0 7 r1 r2 y\nc: EMIT\nNEXT c0 c\ny: HALT",
    ".regs 8\n.out int r2\n"
    "LDI8 r0 -7\nLDI8 r1 2\nADD r2 r0 r1\nSUB r2 r2 r1\nMUL r2 r2 r0\n"
    "DIV r3 r2 r1\nREM r4 r2 r1\nIF_LE r3 r4 a\nIF_NULL r2 r2 a\nEMIT\n"
    "a: UNLESS_EQ r0 r1 c\nJMP c\nIF_NE r0 r1 c\nJMP16 c\nNULL r2\n"
    "c: UNLESS_NE r0 r1 d\nUNLESS_LE r0 r1 d\nIF_EQ r0 r1 d\nIF_LT r0 r1 d\n"
    "d: EMIT\nHALT",
};
enum { MUTANT_SEEDS = sizeof mutant_seeds / sizeof mutant_seeds[0] };

static struct esk_assembly mutant_programs[MUTANT_SEEDS];
static unsigned mutant_seed_count;

static inline void mutants_start(void) {
    query_start(MUTANT_ROWS);
    esk_source_series_counts(&query_sources[1]);
    mutant_seed_count = 0;
    for (unsigned i = 0; i < MUTANT_SEEDS; i++) {
        struct esk_assembly *seed = &mutant_programs[mutant_seed_count];
        bool assembled = esk_assemble(seed, mutant_seeds[i], query_sources);
        ESK_CHECK_TEXT(assembled ? "" : seed->why, "");
        query_status = query_begin(seed->bytes, seed->count);
        if (ESK_QUERY_BITS == 32 && query_status != ESK_OK) {
            continue; /* it has values of 64 bits */
        }
        ESK_CHECK_INT(query_status, ESK_OK);
        mutant_seed_count++;
    }
    ESK_CHECK(mutant_seed_count > MUTANT_SEEDS / 2);
}

/// Reads every output of the row that is ready.
static inline void mutant_read(const struct esk_program *program) {
    struct esk_output value;
    uint8_t text[65536 / 64];
    volatile uint8_t sum = 0;
    for (uint8_t i = 0; esk_program_row(program, i, &value) == ESK_OK; i++) {
        uint16_t bytes = 0;
        for (uint16_t at = 0; value.data != NULL && at < value.bytes; at++) {
            sum = (uint8_t)(sum + value.data[at]);
        }
        if (value.bytes <= sizeof text) {
            (void)esk_program_text(program, i, text, &bytes);
        }
    }
}

/// Checks the program of these bytes; runs it if it is one. Returns whether it
/// is; ends the process if it does not end.
static inline bool program_try(const uint8_t *code, uint16_t bytes) {
    struct esk_program_report report;
    struct esk_program program;
    int status = esk_program_check(code, bytes, &esk_query_parts_all,
                                   query_sources, QUERY_SOURCES, &report);
    if (status != ESK_OK || report.arena_bytes > 4 * 1024 * 1024) {
        return false;
    }
    /* Of exactly these bytes: code, too. */
    uint8_t *copy = malloc(bytes);
    void *arena = malloc(report.arena_bytes + 1);
    memcpy(copy, code, bytes);
    status = esk_program_begin(&program, copy, bytes, &esk_query_parts_all,
                               query_sources, QUERY_SOURCES, arena,
                               report.arena_bytes);
    if (status != ESK_OK) {
        abort();
    }
    esk_program_set_scratch(&program, &query_blocks);
    for (uint8_t i = 0; i < code[ESK_PROGRAM_PARAMETERS]; i++) {
        (void)esk_program_set(&program, i, (esk_slot)i * 50);
    }
    uint32_t steps = 0;
    status = ESK_AGAIN;
    while (status == ESK_AGAIN || status == ESK_OK) {
        status = esk_program_step(&program, 64);
        if (status == ESK_OK) {
            mutant_read(&program);
        }
        if (++steps > MUTANT_STEPS_MAX) {
            abort();
        }
    }
    free(arena);
    free(copy);
    return true;
}

/// A number from a seed: splitmix64.
static inline uint64_t mutant_random(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/// Changes a few bytes of a program, and makes its CRC right.
static inline bool mutant_run(uint32_t number) {
    uint64_t state = number;
    uint8_t code[ESK_ASSEMBLY_BYTES + 1];
    const struct esk_assembly *seed =
        &mutant_programs[mutant_random(&state) % mutant_seed_count];
    uint16_t count = seed->count;
    memcpy(code, seed->bytes, count);
    for (uint64_t left = mutant_random(&state) % 4 + 1; left > 0; left--) {
        uint16_t at = (uint16_t)(mutant_random(&state) % count);
        uint64_t how = mutant_random(&state);
        if (how % 4 == 0) {
            code[at] ^= (uint8_t)(1u << (how >> 8) % 8);
        } else if (how % 4 == 1) {
            code[at] = (uint8_t)(how >> 8);
        } else if (how % 4 == 2) {
            code[at] = (uint8_t)((how >> 8) % ESK_OP_COUNT_OF_ALL);
        } else {
            code[at] = (uint8_t)(code[at] + (how >> 8 & 1 ? 1 : -1));
        }
    }
    esk_assembly_seal(code, count);
    return program_try(code, count);
}

#endif
