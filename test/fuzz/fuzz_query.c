// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Fuzzes programs of queries: the input is one, of which length and CRC are
/// made right. It is refused, or it runs within its memory to an end.
///
/// ESK_FUZZ_SEEDS=folder writes the first inputs of the corpus.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/fuzz/seeds.h"
#include "test/harness/query_mutants.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    const char *folder = getenv("ESK_FUZZ_SEEDS");
    (void)argc;
    (void)argv;
    if (folder == NULL) {
        return 0;
    }
    mutants_start();
    for (unsigned i = 0; i < MUTANT_SEEDS; i++) {
        char name[32];
        snprintf(name, sizeof name, "program_%u", i);
        seed_write(folder, name, mutant_programs[i].bytes,
                   mutant_programs[i].count);
    }
    exit(0);
}

void esk_assert_failed(const char *file, int line, const char *condition) {
    fprintf(stderr, "%s:%d: %s\n", file, line, condition);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static uint8_t code[ESK_PROGRAM_BYTES_MAX];
    static bool started;
    if (!started) {
        mutants_start();
        started = true;
    }
    if (bytes < ESK_PROGRAM_HEAD + ESK_PROGRAM_CRC_BYTES ||
        bytes > sizeof code) {
        return 0;
    }
    memcpy(code, data, bytes);
    esk_assembly_seal(code, (uint16_t)bytes);
    (void)program_try(code, (uint16_t)bytes);
    return 0;
}
