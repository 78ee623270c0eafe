// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The cost of the calls of one kind: mean, 99.9th percentile and maximum of
/// pages programmed, pages read and blocks erased.
///
///     struct calls calls = {.sim = sim};
///     calls_begin(&calls); esk_tree_put(...); calls_end(&calls); ...
///     calls_print(bench, &set, "insert", &calls, "wandering, ...");
#ifndef ESK_BENCH_CALLS_H
#define ESK_BENCH_CALLS_H

#include "bench/bench.h"
#include "port/sim/sim.h"

enum { CALLS_KINDS = 3, CALLS_MAX = 1 << 20 };

struct calls {
    const struct esk_sim *sim;
    uint32_t *counts[CALLS_KINDS]; ///< programs, reads, erases of each call
    uint32_t count;
    struct esk_sim_counters before;
};

static inline void calls_begin(struct calls *calls) {
    for (uint8_t kind = 0; kind < CALLS_KINDS && calls->count == 0; kind++) {
        calls->counts[kind] = bench_memory(CALLS_MAX * sizeof(uint32_t));
    }
    BENCH_HOLDS(calls->count < CALLS_MAX);
    calls->before = *esk_sim_counters(calls->sim);
}

static inline void calls_end(struct calls *calls) {
    const struct esk_sim_counters *now = esk_sim_counters(calls->sim);
    const struct esk_sim_counters *before = &calls->before;
    uint32_t at = calls->count++;
    calls->counts[0][at] = (uint32_t)(now->programs - before->programs);
    calls->counts[1][at] = (uint32_t)(now->reads - before->reads);
    calls->counts[2][at] = (uint32_t)(now->erases - before->erases);
}

static inline int calls_compare(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/// Prints and empties them. Returns the most programs of a call.
static inline uint32_t calls_print(const char *bench, const char *dataset,
                                   const char *call, struct calls *calls,
                                   const char *config) {
    static const char *const kinds[CALLS_KINDS] = {"programs", "reads",
                                                   "erases"};
    const struct {
        const char *name;
    } data = {dataset};
    uint32_t count = calls->count;
    uint32_t programs_max = 0;
    BENCH_HOLDS(count > 0);
    for (uint8_t kind = 0; kind < CALLS_KINDS; kind++) {
        uint32_t *counts = calls->counts[kind];
        double sum = 0;
        char metric[64];
        for (uint32_t i = 0; i < count; i++) {
            sum += counts[i];
        }
        qsort(counts, count, sizeof *counts, calls_compare);
        uint32_t rare = counts[(uint32_t)((uint64_t)count * 999u / 1000u)];
        uint32_t most = counts[count - 1];
        snprintf(metric, sizeof metric, "%s %s, mean", kinds[kind], call);
        bench_print(bench, metric, &data, sum / count, "", "%s", config);
        snprintf(metric, sizeof metric, "%s %s, p99.9", kinds[kind], call);
        bench_print(bench, metric, &data, rare, "", "%s", config);
        snprintf(metric, sizeof metric, "%s %s, max", kinds[kind], call);
        bench_print(bench, metric, &data, most, "", "%s", config);
        programs_max = kind == 0 ? most : programs_max;
        free(counts);
    }
    calls->count = 0;
    return programs_max;
}

#endif
