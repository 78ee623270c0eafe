// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Time beside a peer's, in the same run: alternating rounds, ratios of
/// medians.
#ifndef ESK_BENCH_COMPARE_H
#define ESK_BENCH_COMPARE_H

#include <time.h>
#include <unistd.h>

#include "bench/bench.h"

enum { CONTEST_ROUNDS_MAX = 9 };

/// The processor's time of this process, with the kernel's: other processes do
/// not count.
static inline double compare_now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static inline double compare_median(const double *values, uint32_t count) {
    double sorted[CONTEST_ROUNDS_MAX];
    BENCH_HOLDS(count <= CONTEST_ROUNDS_MAX);
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, bench_compare);
    return sorted[count / 2];
}

/// To two digits: ratios of times are no more exact than that.
static inline double compare_digits(double value) {
    char digits[32];
    snprintf(digits, sizeof digits, "%.1e", value);
    return atof(digits);
}

/// The peer's median time over one's own.
static inline double compare_ratio(const double *peer, const double *own,
                                   uint32_t rounds) {
    return compare_digits(compare_median(peer, rounds) /
                          compare_median(own, rounds));
}

/// Prints the load of other processes: ratios of a busy host must not be
/// quoted.
static inline void compare_load_print(const char *bench, const char *metric) {
    static const struct {
        const char *name;
    } none = {"-"};
    double load = 0;
    FILE *file = fopen("/proc/loadavg", "r");
    if (file != NULL && fscanf(file, "%lf", &load) == 1) {
        bench_print(bench, metric, &none, load, "", "%ld processors",
                    sysconf(_SC_NPROCESSORS_ONLN));
    }
    if (file != NULL) {
        fclose(file);
    }
}

#endif
