// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Runs a fuzz target once on every file of its committed corpus, so that `make
/// test` and the coverage include what the fuzzer found.
///
///     replay FOLDER        each file is a test; a crash is the failure
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/// Runs the target on one file; returns whether the file could be read.
static int replay_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return 0;
    }
    uint8_t *data = NULL;
    size_t bytes = 0;
    size_t got = 0;
    do {
        data = realloc(data, bytes + 65536);
        if (data == NULL) {
            abort();
        }
        got = fread(data + bytes, 1, 65536, file);
        bytes += got;
    } while (got != 0);
    fclose(file);
    printf("%s\n", path); // the last one printed is the one that crashed
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, bytes);
    free(data);
    return 1;
}

int main(int argc, char **argv) {
    unsigned passed = 0;
    unsigned failed = 0;
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (folder == NULL) {
        fprintf(stderr, "usage: replay FOLDER\n");
        return 2;
    }
    const struct dirent *entry = readdir(folder);
    for (; entry != NULL; entry = readdir(folder)) {
        char path[1024];
        if (entry->d_name[0] == '.') {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        if (replay_file(path)) {
            passed++;
        } else {
            failed++;
        }
    }
    closedir(folder);
    printf("%u passed, %u failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
