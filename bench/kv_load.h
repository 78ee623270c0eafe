// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Keys, values and orders of the kv benchmarks in a file, and the interface of
/// a side.
///
/// Key k is 16 characters, "key/" and k in decimal, so keys have the order of
/// their numbers. A value is random bytes of its key and its version. Every
/// side gets the same changes in the same order.
#ifndef ESK_BENCH_KV_LOAD_H
#define ESK_BENCH_KV_LOAD_H

#include <math.h>

#include "bench/bench.h"

enum { KV_KEY_BYTES = 16, KV_VALUE_BYTES_MAX = 1000, KV_BATCH = 100 };

/// Keys and values of a base.
struct kv_set {
    const char *name;
    uint32_t keys;
    uint16_t value_bytes;
    uint16_t block_pages; ///< of EskerDB's file, of 4 KiB
    bool all_sides;       ///< also those that few sets are measured on
};

/// When changes are made durable.
enum kv_commit {
    KV_COMMIT_EACH,
    KV_COMMIT_BATCH, ///< each KV_BATCH, all of them or none
    KV_COMMIT_END,   ///< once, behind the last change
    KV_COMMIT_COUNT
};

/// What a scan calls with each key and value.
typedef void kv_visit(void *context, const void *key, const void *value,
                      uint32_t bytes);

/// One side of the comparison.
struct kv_side {
    const char *name;
    void *context;
    void (*create)(void *context, const struct kv_set *set);
    void (*begin)(void *context, enum kv_commit commit);
    void (*put)(void *context, const char *key, const void *value,
                uint32_t bytes);
    void (*remove)(void *context, const char *key);
    void (*commit)(void *context); ///< of all changes since begin
    void (*read_begin)(void *context);
    uint32_t (*get)(void *context, const char *key, void *value);
    void (*scan)(void *context, kv_visit *visit, void *visitor);
    void (*read_end)(void *context);
    uint64_t (*file_bytes)(void *context);
    uint64_t (*ram_bytes)(void *context); ///< 0: not known
    void (*close)(void *context);
};

static inline void kv_key(char *key, uint32_t number) {
    memcpy(key, "key/", 4);
    for (int at = KV_KEY_BYTES; at > 4; number /= 10) {
        key[--at] = (char)('0' + number % 10);
    }
}

static inline uint32_t kv_key_number(const char *key) {
    uint32_t number = 0;
    for (int at = 4; at < KV_KEY_BYTES; at++) {
        number = number * 10 + (uint32_t)(key[at] - '0');
    }
    return number;
}

/// The value of a version of a key.
static inline void kv_value(uint8_t *value, uint32_t bytes, uint32_t key,
                            uint32_t version) {
    uint64_t state = ((uint64_t)version << 32 | key) + 88172645463325252u;
    for (uint32_t at = 0; at < bytes; at += sizeof state) {
        uint32_t rest = bytes - at;
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        memcpy(value + at, &state, rest < sizeof state ? rest : sizeof state);
    }
}

/// Keys 0 .. count - 1, shuffled; the caller frees them.
static inline uint32_t *kv_shuffled(uint32_t count, uint64_t seed) {
    uint32_t *keys = bench_memory((size_t)count * sizeof *keys);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = bench_random(&seed, i + 1);
        keys[i] = keys[at];
        keys[at] = i;
    }
    return keys;
}

/// Cumulative weights 1 / rank^0.99; the caller frees them.
static inline double *kv_zipf_sums(uint32_t keys) {
    double *sums = bench_memory((size_t)keys * sizeof *sums);
    double sum = 0;
    for (uint32_t i = 0; i < keys; i++) {
        sum += 1 / pow(i + 1.0, 0.99);
        sums[i] = sum;
    }
    return sums;
}

/// The first rank whose cumulative weight is not below a drawn one.
static inline uint32_t kv_zipf_rank(uint64_t *random, const double *sums,
                                    uint32_t keys) {
    double wanted =
        sums[keys - 1] * (bench_random(random, 1u << 30) / (double)(1u << 30));
    uint32_t low = 0;
    uint32_t high = keys - 1;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (sums[middle] < wanted) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

#endif
