// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// mutree-2007, Table 4, as synthetic operations on the keys of a file
/// system: the paper's counts exactly, in an order that is a model.
///
///     kernel_compile   unpack a source tree; compile, each unit reading its
///                      source and headers that a few units favour, writing
///                      an object and a temporary that is deleted; remove all
///     postmark         make a pool of small files in one folder; then
///                      transactions: make or delete one, read one
///     mp3              fill with songs of some thousand blocks; then delete
///                      and copy songs in between playing them in order
///
/// A file is a name (a key drawn at random), an inode and its blocks (keys
/// one after another, above those of older files).
#ifndef ESK_BENCH_TREE_FILES_H
#define ESK_BENCH_TREE_FILES_H

#include "bench/tree_load.h"

enum files_op { FILES_GET, FILES_PUT, FILES_DELETE };

/// The operations of a trace: bits 32-33 the op, 0-31 the key.
struct files_trace {
    const char *name;
    uint64_t *ops;
    uint32_t count;
    uint32_t live_most; ///< most keys at a time
};

/// Counts of mutree-2007, Table 4.
struct files_quota {
    const char *name;
    uint32_t gets;
    uint32_t puts;
    uint32_t deletes;
};

enum { FILES_TRACE_COUNT = 3 };

static const struct files_quota files_quotas[FILES_TRACE_COUNT] = {
    {"kernel_compile", 2274867, 260974, 236027},
    {"postmark", 4617494, 574148, 391847},
    {"mp3", 512986, 223188, 23950},
};

struct files_file {
    uint32_t name_key;
    uint32_t first_key; ///< the inode's; blocks follow
    uint32_t blocks;
};

/// A trace that is being made. The quotas limit the last operations.
struct files_maker {
    struct files_trace *trace;
    struct files_quota left;
    struct files_file *files;
    uint32_t file_count;
    uint32_t files_ever;
    uint32_t next_key;
    uint32_t live;
    uint64_t random;
};

enum {
    FILES_KEYS_MAX = 1 << 20, ///< block keys below, name keys above
    FILES_MAX = 1 << 18,
};

static inline bool files_emit(struct files_maker *maker, enum files_op op,
                              uint32_t key) {
    uint32_t *left = op == FILES_GET   ? &maker->left.gets
                     : op == FILES_PUT ? &maker->left.puts
                                       : &maker->left.deletes;
    if (*left == 0) {
        return false;
    }
    (*left)--;
    maker->live += op == FILES_PUT;
    maker->live -= op == FILES_DELETE;
    if (maker->live > maker->trace->live_most) {
        maker->trace->live_most = maker->live;
    }
    maker->trace->ops[maker->trace->count++] = (uint64_t)op << 32 | key;
    return true;
}

/// Makes a file of at most `blocks` blocks; false when no insertion is left
/// for a whole name and inode.
static inline bool files_make(struct files_maker *maker, uint32_t blocks) {
    if (maker->left.puts < 2) {
        return false;
    }
    struct files_file *file = &maker->files[maker->file_count++];
    /* Names are scattered over the upper half: a bijection of the file's number
       makes them different. */
    file->name_key = 0x80000000u | ((maker->files_ever++ * 0x9E3779B1u) >> 1);
    file->first_key = maker->next_key;
    file->blocks = 0;
    BENCH_HOLDS(maker->file_count < FILES_MAX);
    (void)files_emit(maker, FILES_PUT, file->name_key);
    (void)files_emit(maker, FILES_PUT, file->first_key);
    while (file->blocks < blocks &&
           files_emit(maker, FILES_PUT, file->first_key + file->blocks + 1)) {
        file->blocks++;
    }
    maker->next_key += file->blocks + 1;
    BENCH_HOLDS(maker->next_key < 0x80000000u);
    return true;
}

/// Reads `count` of the file's keys, name and inode first.
static inline void files_read(struct files_maker *maker, uint32_t at,
                              uint32_t count) {
    const struct files_file *file = &maker->files[at];
    (void)files_emit(maker, FILES_GET, file->name_key);
    for (uint32_t i = 0; i <= file->blocks && i < count; i++) {
        (void)files_emit(maker, FILES_GET, file->first_key + i);
    }
}

/// Deletes a file. Keys that the quota leaves are not read again.
static inline void files_delete(struct files_maker *maker, uint32_t at) {
    struct files_file file = maker->files[at];
    maker->files[at] = maker->files[--maker->file_count];
    (void)files_emit(maker, FILES_DELETE, file.name_key);
    for (uint32_t i = 0; i <= file.blocks; i++) {
        (void)files_emit(maker, FILES_DELETE, file.first_key + file.blocks - i);
    }
}

static inline uint32_t files_draw(struct files_maker *maker) {
    return bench_random(&maker->random, maker->file_count);
}

static inline void files_kernel(struct files_maker *maker) {
    enum { SOURCE_PERCENT = 85, HEADERS = 12 };
    uint32_t compiled = maker->left.puts / 100 * (100 - SOURCE_PERCENT);
    while (maker->left.puts > compiled) {
        (void)files_make(maker, 1 + bench_random(&maker->random, 7));
    }
    uint32_t sources = maker->file_count;
    uint32_t units = 0;
    while (maker->left.puts >= 8) {
        files_read(maker, bench_random(&maker->random, sources), UINT32_MAX);
        for (uint32_t i = 0; i < HEADERS; i++) {
            uint32_t header = bench_random(&maker->random, sources);
            header = bench_random(&maker->random, header + 1);
            files_read(maker, bench_random(&maker->random, header + 1), 4);
        }
        (void)files_make(maker, 2);
        if (files_make(maker, 1)) {
            files_delete(maker, maker->file_count - 1);
        }
        units++;
    }
    (void)files_make(maker, maker->left.puts);
    BENCH_HOLDS(units > 1000);
    /* More units are compiled than written: read earlier ones again. */
    while (maker->left.gets > 0) {
        files_read(maker, files_draw(maker), UINT32_MAX);
    }
    while (maker->left.deletes > 0) {
        files_delete(maker, maker->file_count - 1);
    }
}

static inline void files_postmark(struct files_maker *maker) {
    enum { POOL = 20000, READS = 16 };
    while (maker->file_count < POOL) {
        (void)files_make(maker, 1 + bench_random(&maker->random, 3));
    }
    while (maker->left.puts >= 2 || maker->left.deletes > 0) {
        /* As many makes and deletes as the quotas leave. */
        uint32_t both = maker->left.puts + maker->left.deletes;
        if (bench_random(&maker->random, both) < maker->left.puts) {
            if (!files_make(maker, 1 + bench_random(&maker->random, 3))) {
                break;
            }
        } else {
            files_delete(maker, files_draw(maker));
        }
        for (uint32_t i = 0; i < READS / 4; i++) {
            files_read(maker, files_draw(maker), UINT32_MAX);
        }
    }
    while (maker->left.deletes > 0) {
        files_delete(maker, files_draw(maker));
    }
    while (maker->left.gets > 0) {
        files_read(maker, files_draw(maker), UINT32_MAX);
    }
}

static inline void files_mp3(struct files_maker *maker) {
    uint32_t rewrite = maker->left.deletes;
    while (maker->left.puts > rewrite) {
        (void)files_make(maker, 700 + bench_random(&maker->random, 600));
    }
    while (maker->left.deletes > 0) {
        files_delete(maker, files_draw(maker));
        files_read(maker, files_draw(maker), UINT32_MAX);
        (void)files_make(maker, 700 + bench_random(&maker->random, 600));
    }
    while (maker->left.puts >= 2) {
        (void)files_make(maker, 700 + bench_random(&maker->random, 600));
    }
    while (maker->left.gets > 0) {
        files_read(maker, files_draw(maker), UINT32_MAX);
    }
}

/// Makes trace `index` with each count divided by `scale`; the caller frees
/// its ops.
static inline struct files_trace files_trace_make(uint32_t index,
                                                  uint32_t scale) {
    struct files_quota quota = files_quotas[index];
    quota.gets /= scale;
    quota.puts /= scale;
    quota.deletes /= scale;
    struct files_trace trace = {.name = quota.name};
    struct files_maker maker = {
        .trace = &trace, .left = quota, .next_key = 1, .random = LOAD_SEED};
    uint32_t total = quota.gets + quota.puts + quota.deletes;
    trace.ops = bench_memory((size_t)total * sizeof *trace.ops);
    maker.files = bench_memory(FILES_MAX * sizeof *maker.files);
    void (*const make[FILES_TRACE_COUNT])(struct files_maker *) = {
        files_kernel, files_postmark, files_mp3};
    make[index](&maker);
    free(maker.files);
    if (maker.left.puts == 1) { /* only a name */
        (void)files_emit(&maker, FILES_PUT, UINT32_MAX);
    }
    BENCH_HOLDS(trace.count == total);
    return trace;
}

#endif
