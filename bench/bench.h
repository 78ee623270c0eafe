// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Shared by all benchmarks: figures, failures, random numbers.
///
/// Every figure is one line of JSON on stdout, without its target and
/// reference: scripts/bench adds those from bench/references.json. A failure
/// ends the program, because a figure of a failed run means nothing.
#ifndef ESK_BENCH_BENCH_H
#define ESK_BENCH_BENCH_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "esker/esker.h"

enum { BENCH_TEXT_BYTES = 200 };

/// Ends the program unless `call` returns `wanted`.
#define BENCH_WANT(wanted, call)                                               \
    bench_want((wanted), (call), #call, __FILE__, __LINE__)
#define BENCH_DO(call) BENCH_WANT(ESK_OK, call)
/// Ends the program unless `claim` holds.
#define BENCH_HOLDS(claim) BENCH_WANT(ESK_OK, (claim) ? ESK_OK : ESK_E_CORRUPT)

static inline void bench_want(int wanted, int status, const char *call,
                              const char *file, int line) {
    if (status != wanted) {
        fflush(stdout);
        fprintf(stderr, "%s:%d: %s\n    %d: %s\n", file, line, call, status,
                esk_status_text(status));
        exit(1);
    }
}

/// Prints one figure. `format` and what follows make its config.
#define bench_print(bench, metric, data, value, unit, ...)                     \
    do {                                                                       \
        char bench_config_[BENCH_TEXT_BYTES];                                  \
        snprintf(bench_config_, sizeof bench_config_, __VA_ARGS__);            \
        printf("{\"bench\": \"%s\", \"metric\": \"%s\", "                      \
               "\"dataset\": \"%s\", \"config\": \"%s\", "                     \
               "\"value\": %.10g, \"unit\": \"%s\"}\n",                        \
               (bench), (metric), (data)->name, bench_config_,                 \
               (double)(value), (unit));                                       \
        fflush(stdout);                                                        \
    } while (0)

/// The same random numbers in every run.
static inline uint32_t bench_random(uint64_t *state, uint32_t below) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)((*state >> 32) * below >> 32);
}

/// Of doubles, for qsort.
static inline int bench_compare(const void *left, const void *right) {
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/// Memory from a page's start on, so that offsets in the page are the same in
/// each run. A copy to a slightly larger offset in a page than its source's
/// takes 3.5 times as long, so chance would decide the figure.
static inline void *bench_memory(size_t bytes) {
    enum { PAGE = 4096 };
    void *memory = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
    BENCH_HOLDS(memory != NULL);
    return memory;
}

#endif
