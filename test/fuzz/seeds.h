// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Writes the first inputs of a target's corpus into the folder ESK_FUZZ_SEEDS.
#ifndef ESK_TEST_SEEDS_H
#define ESK_TEST_SEEDS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/// Bytes of an input that is a program of calls.
enum { SEED_CALLS_BYTES = 12 };

static inline void seed_write(const char *folder, const char *name,
                              const uint8_t *data, size_t bytes) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, bytes, file) != bytes ||
        fclose(file) != 0) {
        abort();
    }
}

/// Writes `count` programs of calls and ends; without a folder does nothing.
static inline void seeds_write_calls(const uint8_t (*seeds)[SEED_CALLS_BYTES],
                                     size_t count) {
    const char *folder = getenv("ESK_FUZZ_SEEDS");
    if (folder == NULL) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "calls_%zu", i);
        seed_write(folder, name, seeds[i], SEED_CALLS_BYTES);
    }
    exit(0);
}

#endif
