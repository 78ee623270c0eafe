// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// An answer of a side of the benchmark: the number of its rows and a sum over
/// all its values.
#ifndef ESK_BENCH_QUERY_ANSWER_H
#define ESK_BENCH_QUERY_ANSWER_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "esker/esker.h"
#include "esker/generated.h"

/// Its instructions are counted.
#define COUNTED static __attribute__((noinline))

struct answer {
    uint32_t rows;
    uint64_t row; ///< of the row that is being added
    uint64_t sum; ///< of all rows, in any order
};

static inline void must(int status, const char *what) {
    if (status != ESK_OK) {
        fprintf(stderr, "%s: %d\n", what, status);
        exit(1);
    }
}

static inline void put(struct answer *answer, int64_t value) {
    answer->row = answer->row * 31u + (uint64_t)value;
}

static inline void put_row(struct answer *answer) {
    answer->sum += answer->row * answer->row;
    answer->row = 0;
    answer->rows++;
}

static inline void put_mean(struct answer *answer, double mean) {
    put(answer, (int64_t)(mean * 1000.0));
}

static inline void put_avg(struct answer *answer, struct esk_avg avg) {
    put_mean(answer, (double)avg.sum / (double)avg.count);
}

/// A query of the operators in composed.c, over sources in the order of
/// sides.c.
typedef void composed_query(const struct esk_source *sources,
                            struct answer *answer);
composed_query composed_q1, composed_q2, composed_q3, composed_q4, composed_q5;

#endif
