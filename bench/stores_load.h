// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Loads of the benchmark of all stores: changes of a file system's index.
///
///     kernel_compile, postmark, mp3   made here, after mutree-2007, Table 4:
///                                     what the workloads do, on fewer files
///     linux61_untar_rm                the beginning of the trace of
///                                     bench_tnc_paper.c, and its removal
///
/// An operation has the trace's form: bits 60 to 63 are its kind, the others
/// the key, inode << 32 | type << 29 | block or hash. Order and locality of
/// the first three are a model. A load begins and ends with an empty store, so
/// it can be repeated.
#ifndef ESK_BENCH_STORES_LOAD_H
#define ESK_BENCH_STORES_LOAD_H

#include "bench/tnc_bench.h"

enum {
    LOAD_OPS_MAX = 1 << 19,
    LOAD_SLOTS = 1 << 17, ///< of the table of keys, a power of 2
    LOAD_FILES_MAX = 1 << 13,
    LOAD_TRACE_KEYS = 7400, ///< of the trace
};

struct load {
    const char *name;
    uint64_t *ops;
    /// For an op: the number of the op that made what a get finds, from 1;
    /// 0: nothing is there.
    uint32_t *found;
    uint32_t count;
    uint32_t changes;
    uint32_t keys_most; ///< at a time
};

/* ------------------------------------------------------------ the keys */

/// Keys and the op that changed each last; 0: the key is not there.
struct load_keys {
    uint64_t key[LOAD_SLOTS];
    uint32_t op[LOAD_SLOTS];
};

/// Where the key is, or belongs.
static inline uint32_t load_slot(const struct load_keys *keys, uint64_t key) {
    uint32_t slot = (uint32_t)(key * 0x9E3779B97F4A7C15u >> 40) % LOAD_SLOTS;
    while (keys->key[slot] != 0 && keys->key[slot] != key) {
        slot = (slot + 1) % LOAD_SLOTS;
    }
    return slot;
}

/// Fills in what the ops find. Ends the program unless inserts, updates and
/// deletes fit the keys that are there, and none is left.
static inline void load_complete(struct load *load) {
    struct load_keys *keys = calloc(1, sizeof *keys);
    uint32_t alive = 0;
    BENCH_HOLDS(keys != NULL);
    load->found = bench_memory(load->count * sizeof *load->found);
    for (uint32_t i = 0; i < load->count; i++) {
        uint32_t kind = (uint32_t)(load->ops[i] >> 60);
        uint64_t key = load->ops[i] & TRACE_KEY_MASK;
        uint32_t slot = load_slot(keys, key);
        load->found[i] = keys->op[slot];
        if (kind == TRACE_LOOKUP) {
            continue;
        }
        BENCH_HOLDS((keys->op[slot] == 0) == (kind == TRACE_INSERT));
        keys->key[slot] = key;
        keys->op[slot] = kind == TRACE_DELETE ? 0 : i + 1;
        alive += kind == TRACE_INSERT;
        alive -= kind == TRACE_DELETE;
        load->changes++;
        load->keys_most = alive > load->keys_most ? alive : load->keys_most;
    }
    BENCH_HOLDS(alive == 0);
    free(keys);
}

static inline void load_free(struct load *load) {
    free(load->ops);
    free(load->found);
}

/* ---------------------------------------------------------- the trace */

/// The trace's ops until it has LOAD_TRACE_KEYS keys, then its deletes of
/// these. Returns false, and prints why, when the file is missing.
static inline bool load_linux(struct load *load) {
    struct trace trace;
    if (!trace_read(&trace)) {
        return false;
    }
    struct load_keys *keys = calloc(1, sizeof *keys);
    uint32_t inserts = 0;
    BENCH_HOLDS(keys != NULL);
    *load = (struct load){.name = trace.name};
    load->ops = bench_memory(LOAD_OPS_MAX * sizeof *load->ops);
    for (uint32_t i = 0; i < trace.count; i++) {
        uint64_t op = trace.ops[i];
        uint64_t key = op & TRACE_KEY_MASK;
        uint32_t slot = load_slot(keys, key);
        bool is_there = keys->op[slot] != 0;
        bool removes = op >> 60 == TRACE_DELETE;
        /* It updates its root, too, which is older than it is. */
        if ((!removes && inserts == LOAD_TRACE_KEYS) ||
            (op >> 60 >= TRACE_UPDATE && !is_there)) {
            continue;
        }
        if (op >> 60 == TRACE_INSERT) {
            keys->key[slot] = key;
            keys->op[slot] = 1;
            inserts++;
        }
        load->ops[load->count++] = op;
    }
    free(keys);
    free(trace.ops);
    load_complete(load);
    return true;
}

/* ------------------------------------------------------- made by a model */

struct load_file {
    uint32_t inode;
    uint32_t folder;
    uint32_t hash; ///< of its name
    uint32_t blocks;
};

struct load_maker {
    struct load *load;
    struct load_file files[LOAD_FILES_MAX];
    uint32_t count;
    uint32_t inode; ///< the newest
    uint64_t random;
};

static inline void load_emit(struct load_maker *maker, enum trace_type type,
                             uint32_t kind, uint32_t inode, uint32_t low) {
    struct load *load = maker->load;
    BENCH_HOLDS(load->count < LOAD_OPS_MAX);
    load->ops[load->count++] = (uint64_t)kind << 60 | (uint64_t)inode << 32 |
                               (uint64_t)type << 29 | low;
}

static inline void load_block(struct load_maker *maker, uint32_t kind,
                              const struct load_file *file, uint32_t block) {
    load_emit(maker, TRACE_DATA, kind, file->inode, block);
}

static inline void load_name(struct load_maker *maker, uint32_t kind,
                             const struct load_file *file) {
    load_emit(maker, TRACE_NAME, kind, file->folder, file->hash);
}

static inline void load_inode(struct load_maker *maker, uint32_t kind,
                              const struct load_file *file) {
    load_emit(maker, TRACE_INODE, kind, file->inode, 0);
}

static inline void load_make(struct load_maker *maker, uint32_t folder,
                             uint32_t blocks) {
    enum { HASHES = (1 << 29) - 1 };
    struct load_file *file = &maker->files[maker->count++];
    BENCH_HOLDS(maker->count < LOAD_FILES_MAX);
    maker->inode++;
    /* A bijection of 29 bits: names are scattered and different. */
    *file = (struct load_file){.inode = maker->inode,
                               .folder = folder,
                               .hash = (maker->inode * 0x1E3779B1u) & HASHES,
                               .blocks = blocks};
    load_name(maker, TRACE_LOOKUP, file);
    load_name(maker, TRACE_INSERT, file);
    load_inode(maker, TRACE_INSERT, file);
    for (uint32_t block = 0; block < blocks; block++) {
        load_block(maker, TRACE_INSERT, file, block);
    }
}

static inline void load_read(struct load_maker *maker, uint32_t at,
                             uint32_t blocks) {
    const struct load_file *file = &maker->files[at];
    load_name(maker, TRACE_LOOKUP, file);
    load_inode(maker, TRACE_LOOKUP, file);
    for (uint32_t i = 0; i < blocks && i < file->blocks; i++) {
        load_block(maker, TRACE_LOOKUP, file, i);
    }
}

/// A block at the end, which is new or, half of the time, has room.
static inline void load_append(struct load_maker *maker, uint32_t at) {
    struct load_file *file = &maker->files[at];
    load_read(maker, at, 0);
    if (bench_random(&maker->random, 2) == 0) {
        load_block(maker, TRACE_UPDATE, file, file->blocks - 1);
    } else {
        load_block(maker, TRACE_INSERT, file, file->blocks++);
    }
    load_inode(maker, TRACE_UPDATE, file);
}

static inline void load_delete(struct load_maker *maker, uint32_t at) {
    struct load_file file = maker->files[at];
    maker->files[at] = maker->files[--maker->count];
    load_name(maker, TRACE_LOOKUP, &file);
    load_name(maker, TRACE_DELETE, &file);
    for (uint32_t block = file.blocks; block > 0; block--) {
        load_block(maker, TRACE_DELETE, &file, block - 1);
    }
    load_inode(maker, TRACE_DELETE, &file);
}

static inline uint32_t load_draw(struct load_maker *maker) {
    return bench_random(&maker->random, maker->count);
}

/// Unpack sources; compile units, each reading its source and headers that a
/// few files favour, writing a temporary that is deleted and an object; clean;
/// remove.
static inline void load_kernel(struct load_maker *maker) {
    enum { SOURCES = 800, FOLDER = 16, UNITS = 400, HEADERS = 12 };
    for (uint32_t i = 0; i < SOURCES; i++) {
        load_make(maker, 1 + i / FOLDER, 1 + bench_random(&maker->random, 7));
    }
    for (uint32_t unit = 0; unit < UNITS; unit++) {
        uint32_t source = bench_random(&maker->random, SOURCES);
        load_read(maker, source, UINT32_MAX);
        for (uint32_t i = 0; i < HEADERS; i++) {
            uint32_t header = bench_random(&maker->random, SOURCES);
            header = bench_random(&maker->random, header + 1);
            load_read(maker, bench_random(&maker->random, header + 1), 4);
        }
        uint32_t folder = maker->files[source].folder;
        load_make(maker, folder, 1);
        load_read(maker, maker->count - 1, 1);
        load_delete(maker, maker->count - 1);
        load_make(maker, folder, 2);
    }
    while (maker->count > 0) {
        load_delete(maker, maker->count - 1);
    }
}

/// A pool of files of 500 to 9,766 bytes in one folder; transactions: make or
/// delete one, and read one or append to it; remove the pool.
static inline void load_postmark(struct load_maker *maker) {
    enum { POOL = 1200, TRANSACTIONS = 3000 };
    while (maker->count < POOL) {
        load_make(maker, 1, 1 + bench_random(&maker->random, 3));
    }
    for (uint32_t i = 0; i < TRANSACTIONS; i++) {
        if (bench_random(&maker->random, 2) == 0) {
            load_make(maker, 1, 1 + bench_random(&maker->random, 3));
        } else {
            load_delete(maker, load_draw(maker));
        }
        if (bench_random(&maker->random, 2) == 0) {
            load_read(maker, load_draw(maker), UINT32_MAX);
        } else {
            load_append(maker, load_draw(maker));
        }
    }
    while (maker->count > 0) {
        load_delete(maker, load_draw(maker));
    }
}

/// Fill with songs of some hundred blocks; several times delete half of them,
/// copy as many, and play one; remove all.
static inline void load_mp3(struct load_maker *maker) {
    enum { SONGS = 8, ROUNDS = 2, LEAST = 500, MORE = 300 };
    for (uint32_t round = 0; round <= ROUNDS; round++) {
        while (maker->count < SONGS) {
            load_make(maker, 1, LEAST + bench_random(&maker->random, MORE));
        }
        for (uint32_t i = 0; i < SONGS / 2; i++) {
            load_read(maker, load_draw(maker), UINT32_MAX);
        }
        for (uint32_t i = 0; i < SONGS / 2; i++) {
            load_delete(maker, load_draw(maker));
        }
    }
    while (maker->count > 0) {
        load_delete(maker, 0);
    }
}

static inline void load_model(struct load *load, const char *name,
                              void (*make)(struct load_maker *)) {
    struct load_maker *maker = calloc(1, sizeof *maker);
    BENCH_HOLDS(maker != NULL);
    *load = (struct load){.name = name};
    load->ops = bench_memory(LOAD_OPS_MAX * sizeof *load->ops);
    maker->load = load;
    maker->inode = 1000;
    maker->random = 88172645;
    make(maker);
    free(maker);
    load_complete(load);
}

#endif
