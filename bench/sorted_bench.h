// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Shared by the sorted index' benchmark and that of its model: the queries.
#ifndef ESK_BENCH_SORTED_BENCH_H
#define ESK_BENCH_SORTED_BENCH_H

#include "bench/series_bench.h"

enum {
    BENCH_SORTED_QUERIES = 50,
    BENCH_SORTED_MOMENTS = 20, ///< at which all are asked
    BENCH_SORTED_ROWS = 10,    ///< of a query, at least
    BENCH_SORTED_ROWS_MAX = 20,
};

/// A range of order forms.
struct bench_sorted_span {
    uint32_t lo;
    uint32_t hi;
};

static int bench_order_compare(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/// Ranges of 10 to 20 rows, evenly over all `count` values.
static inline void bench_sorted_spans(const uint32_t *values, uint32_t count,
                                      struct bench_sorted_span *spans) {
    uint32_t *sorted = malloc(count * sizeof *sorted);
    uint32_t *ranks = malloc(count * sizeof *ranks);
    uint32_t found = 0;
    BENCH_HOLDS(sorted != NULL && ranks != NULL);
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, bench_order_compare);
    for (uint32_t i = 0; i + BENCH_SORTED_ROWS_MAX < count; i++) {
        if ((i == 0 || sorted[i] > sorted[i - 1]) &&
            sorted[i + BENCH_SORTED_ROWS_MAX] >
                sorted[i + BENCH_SORTED_ROWS - 1]) {
            ranks[found++] = i;
        }
    }
    BENCH_HOLDS(found > 0);
    for (uint32_t i = 0; i < BENCH_SORTED_QUERIES; i++) {
        uint32_t at =
            ranks[(uint64_t)found * (2 * i + 1) / (2 * BENCH_SORTED_QUERIES)];
        spans[i] = (struct bench_sorted_span){
            sorted[at], sorted[at + BENCH_SORTED_ROWS - 1]};
    }
    free(sorted);
    free(ranks);
}

/// Whether the queries are asked when data page `head` of a ring of `pages`
/// has closed: at moments evenly over the second time.
static inline bool bench_sorted_asks(uint32_t head, uint32_t pages) {
    uint32_t since = head - pages;
    return head > pages && since * BENCH_SORTED_MOMENTS / pages !=
                               (since - 1) * BENCH_SORTED_MOMENTS / pages;
}

#endif
