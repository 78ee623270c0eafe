// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Workloads of the tree benchmarks: keys, queries, operations.
///
///     random, normal, Zipf     lrun-kmutree-2012, section V-A
///     traces of page requests  ESK_DATA/traces, by their own names
///     three file-system mixes  mutree-2007, Table 4: the paper's counts of
///                              retrievals, insertions and deletions; order
///                              and locality are this file's model
///
/// The numbers are the same on every machine: integers, and sqrt, which
/// IEEE 754 rounds in one way.
#ifndef ESK_BENCH_TREE_LOAD_H
#define ESK_BENCH_TREE_LOAD_H

#include <math.h>

#include "bench/bench.h"

enum { LOAD_SEED = 88172645 };

/// `count` different keys 0 .. count - 1, shuffled; the caller frees them.
static inline uint32_t *load_shuffled(uint32_t count, uint64_t seed) {
    uint32_t *keys = bench_memory((size_t)count * sizeof *keys);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = bench_random(&seed, i + 1);
        keys[i] = keys[at];
        keys[at] = i;
    }
    return keys;
}

/* --------------------------------------------------------------- queries */

/// A list of keys to get.
struct load_queries {
    const char *name;
    uint32_t *keys;
    uint32_t count;
};

enum load_kind {
    LOAD_RANDOM,
    LOAD_NORMAL,
    LOAD_ZIPF,       ///< weights 1 / sqrt(rank): skew 0.5
    LOAD_ZIPF_STEEP, ///< weights 1 / rank
    LOAD_KIND_COUNT
};

static const char *const load_names[LOAD_KIND_COUNT] = {
    "random", "normal", "zipf", "zipf of 1 / rank"};

/// Normal: mean below / 2, deviation 500; the sum of twelve numbers that are
/// uniform over a width has that width for its deviation.
static inline uint32_t load_normal(uint64_t *random, uint32_t below) {
    enum { DEVIATION = 500, TERMS = 12 };
    int64_t key = (int64_t)below / 2 - (int64_t)TERMS * DEVIATION / 2;
    for (uint32_t i = 0; i < TERMS; i++) {
        key += bench_random(random, DEVIATION);
    }
    if (key < 0) {
        return 0;
    }
    return key < below ? (uint32_t)key : below - 1;
}

/// Cumulative weights of Zipf's law: 1 / rank, or its root.
static inline double *load_zipf_sums(uint32_t below, bool steep) {
    double *sums = bench_memory((size_t)below * sizeof *sums);
    double sum = 0;
    for (uint32_t i = 0; i < below; i++) {
        sum += 1 / (steep ? (double)i + 1 : sqrt((double)i + 1));
        sums[i] = sum;
    }
    return sums;
}

/// The first rank whose cumulative weight is above a drawn one. Rank is key.
static inline uint32_t load_zipf(uint64_t *random, const double *sums,
                                 uint32_t below) {
    double drawn = sums[below - 1] / 4294967296.0 *
                   (double)bench_random(random, UINT32_MAX);
    uint32_t low = 0;
    uint32_t high = below - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sums[middle] > drawn) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/// `count` queries for keys 0 .. below - 1.
static inline struct load_queries
load_queries_make(enum load_kind kind, uint32_t count, uint32_t below) {
    struct load_queries made = {.name = load_names[kind], .count = count};
    uint64_t random = LOAD_SEED;
    double *sums = kind >= LOAD_ZIPF
                       ? load_zipf_sums(below, kind == LOAD_ZIPF_STEEP)
                       : NULL;
    made.keys = bench_memory((size_t)count * sizeof *made.keys);
    for (uint32_t i = 0; i < count; i++) {
        switch (kind) {
        case LOAD_NORMAL:
            made.keys[i] = load_normal(&random, below);
            break;
        case LOAD_ZIPF:
        case LOAD_ZIPF_STEEP:
            made.keys[i] = load_zipf(&random, sums, below);
            break;
        default:
            made.keys[i] = bench_random(&random, below);
            break;
        }
    }
    free(sums);
    return made;
}

static inline void load_queries_free(struct load_queries *queries) {
    free(queries->keys);
    queries->keys = NULL;
}

/* ---------------------------------------------------------------- traces */

/// A trace of page requests: u32 each, bit 31 a write, little-endian.
struct load_trace {
    const char *name;
    const char *file;
    bool packed; ///< by gzip
};

enum { LOAD_TRACE_COUNT = 3, LOAD_TRACE_REQUESTS_MAX = 1000000 };

static const struct load_trace load_traces[LOAD_TRACE_COUNT] = {
    {"arc_OLTP", "traces/arc_OLTP.u32.gz", true},
    {"cloudphysics_vscsi_sector", "traces/cloudphysics_vscsi_sector.u32",
     false},
    {"mqsim_wsrch", "traces/mqsim_wsrch_4k.u32", false},
};

static inline FILE *load_trace_open(const struct load_trace *trace) {
    char path[1024];
    char command[1100];
    const char *folder = getenv("ESK_DATA");
    snprintf(path, sizeof path, "%s/%s",
             folder != NULL ? folder : "../shared/data", trace->file);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        printf("skipped %s: no file %s\n", trace->name, path);
        fflush(stdout);
        return NULL;
    }
    if (!trace->packed) {
        return file;
    }
    fclose(file);
    snprintf(command, sizeof command, "gzip -dc '%s'", path);
    return popen(command, "r");
}

/// Reads trace `index` as queries for keys page mod `below`; writes count as
/// requests. Returns false when the file is missing.
static inline bool load_trace_queries(struct load_queries *queries,
                                      uint32_t index, uint32_t below) {
    const struct load_trace *trace = &load_traces[index];
    uint8_t bytes[4];
    FILE *file = load_trace_open(trace);
    if (file == NULL) {
        return false;
    }
    *queries = (struct load_queries){.name = trace->name};
    queries->keys =
        bench_memory(LOAD_TRACE_REQUESTS_MAX * sizeof *queries->keys);
    while (queries->count < LOAD_TRACE_REQUESTS_MAX &&
           fread(bytes, 1, sizeof bytes, file) == sizeof bytes) {
        uint32_t page = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 |
                        (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
        queries->keys[queries->count++] = (page & 0x7FFFFFFFu) % below;
    }
    BENCH_HOLDS((trace->packed ? pclose(file) : fclose(file)) == 0);
    BENCH_HOLDS(queries->count >= 10000);
    return true;
}

#endif
