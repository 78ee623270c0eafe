// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Shared by the benchmarks of the TNC: a trace of index operations of a file
/// system, a medium of nodes in RAM, and the run of one over the other.
///
/// The trace is outside the repository: ESK_DATA, or ../shared/data. It has a
/// little-endian u64 an operation: bits 60 to 63 are the operation, the others
/// a key of UBIFS's form, inode << 32 | type << 29 | block or hash.
#ifndef ESK_BENCH_TNC_BENCH_H
#define ESK_BENCH_TNC_BENCH_H

#include "bench/bench.h"
#include "table/tree/tnc/tnc.h"

enum {
    TRACE_LOOKUP = 0,
    TRACE_INSERT = 1,
    TRACE_UPDATE = 2,
    TRACE_DELETE = 3,
    TRACE_OPS_MAX = 2000000,
    TRACE_BLOCK_BYTES = 4096, ///< of a file, that a data key stands for
    KEY_BYTES = 8,
    ROW_BYTES = 12, ///< key, and a position in the log of data
};

#define TRACE_KEY_MASK ((UINT64_C(1) << 60) - 1)

enum trace_type { TRACE_INODE, TRACE_DATA, TRACE_NAME };

struct trace {
    const char *name;
    uint64_t *ops;
    uint32_t count;
};

/// Whether an operation inserts a data key.
static inline bool op_inserts_data(uint64_t op) {
    return op >> 60 == TRACE_INSERT && (op >> 29) % 8 == TRACE_DATA;
}

/// Reads the trace. Returns false, and prints why, when the file is missing.
static inline bool trace_read(struct trace *trace) {
    char path[1024];
    char command[1100];
    uint8_t bytes[8];
    const char *folder = getenv("ESK_DATA");
    trace->name = "linux61_untar_rm";
    snprintf(path, sizeof path, "%s/fs/%s.u64.gz",
             folder != NULL ? folder : "../shared/data", trace->name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        printf("skipped %s: no file %s\n", trace->name, path);
        return false;
    }
    fclose(file);
    snprintf(command, sizeof command, "gzip -dc '%s'", path);
    file = popen(command, "r");
    BENCH_HOLDS(file != NULL);
    trace->ops = bench_memory(TRACE_OPS_MAX * sizeof *trace->ops);
    trace->count = 0;
    while (fread(bytes, 1, sizeof bytes, file) == sizeof bytes) {
        uint64_t op = esk_load_u64(bytes);
        if (op >> 60 <= TRACE_DELETE) {
            BENCH_HOLDS(trace->count < TRACE_OPS_MAX);
            trace->ops[trace->count++] = op;
        }
    }
    BENCH_HOLDS(pclose(file) == 0 && trace->count > 1000000);
    return true;
}

/// The unpacking of `bytes` bytes of the trace's files, as a trace: one file in
/// so many, evenly. A file begins with the look-up of its name.
static inline struct trace trace_sample(const struct trace *trace,
                                        uint64_t bytes) {
    struct trace sample = {.name = trace->name};
    uint64_t whole = 0;
    uint64_t files = 0;
    bool taken = false;
    sample.ops = bench_memory(TRACE_OPS_MAX * sizeof *sample.ops);
    for (uint32_t i = 0; i < trace->count; i++) {
        whole += op_inserts_data(trace->ops[i]) ? TRACE_BLOCK_BYTES : 0;
    }
    for (uint32_t i = 0; i < trace->count; i++) {
        uint64_t op = trace->ops[i];
        if (op >> 60 == TRACE_DELETE) {
            break;
        }
        if (op >> 60 == TRACE_LOOKUP) {
            taken = (files + 1) * bytes / whole > files * bytes / whole;
            files++;
        }
        if (taken) {
            sample.ops[sample.count++] = op;
        }
    }
    return sample;
}

/* -------------------------------------------------------------- the medium */

/// Nodes by address. An address is free when its node is dropped: no power is
/// cut here.
struct medium {
    uint8_t *nodes;
    uint32_t *free;
    uint32_t node_bytes;
    uint32_t count;
    uint32_t most;
    uint32_t free_count;
};

static inline uint8_t *medium_at(struct medium *medium, uint32_t address) {
    return medium->nodes + (size_t)address * medium->node_bytes;
}

static inline int medium_read(void *context, uint32_t address, uint8_t level,
                              uint8_t *node, uint16_t bytes) {
    (void)level;
    memcpy(node, medium_at(context, address), bytes);
    return ESK_OK;
}

static inline int medium_write(void *context, const uint8_t *node,
                               uint16_t bytes, uint8_t level,
                               uint32_t *address) {
    struct medium *medium = context;
    (void)level;
    if (medium->free_count > 0) {
        *address = medium->free[--medium->free_count];
    } else {
        if (medium->count == medium->most) {
            medium->most = medium->most == 0 ? 4096 : 2 * medium->most;
            medium->nodes = realloc(medium->nodes,
                                    (size_t)medium->most * medium->node_bytes);
            medium->free =
                realloc(medium->free, medium->most * sizeof *medium->free);
            BENCH_HOLDS(medium->nodes != NULL && medium->free != NULL);
        }
        *address = medium->count++;
    }
    memcpy(medium_at(medium, *address), node, bytes);
    return ESK_OK;
}

static inline int medium_commit(void *context,
                                const struct esk_tnc_root *root) {
    const struct medium *medium = context;
    /* No node is lost, and none is garbage. */
    BENCH_HOLDS(medium->count - medium->free_count == root->nodes);
    return ESK_OK;
}

static inline void medium_drop(void *context, uint32_t address) {
    struct medium *medium = context;
    medium->free[medium->free_count++] = address;
}

static const struct esk_tnc_io medium_io = {
    .read = medium_read,
    .write = medium_write,
    .commit = medium_commit,
    .drop = medium_drop,
};

/* ------------------------------------------------------------ UBIFS's rule */

static inline uint64_t key_number(const uint8_t *key) {
    uint64_t number = 0;
    for (unsigned i = 0; i < KEY_BYTES; i++) {
        number = number << 8 | key[i];
    }
    return number;
}

/// Stores a key so that its bytes sort as the number.
static inline void key_store(uint8_t *key, uint64_t number) {
    for (unsigned i = 0; i < KEY_BYTES; i++) {
        key[KEY_BYTES - 1 - i] = (uint8_t)(number >> (8 * i));
    }
}

/// Whether both keys are of data of one file.
static inline bool keys_of_one_file(const uint8_t *a, const uint8_t *b) {
    uint64_t one = key_number(a) >> 29;
    return one == key_number(b) >> 29 && one % 8 == TRACE_DATA;
}

/// How Linux's UBIFS splits: in halves, but it keeps the data keys of a file
/// together where they are appended, and where the next key is another file's.
static inline uint16_t split_ubifs(const struct esk_tnc_full *full) {
    const struct esk_btree_node *node = full->node;
    uint16_t count = esk_btree_count(node);
    uint16_t half = esk_tnc_split_half(full);
    bool is_data = keys_of_one_file(full->key, full->key);
    bool is_last = full->index == count;
    if (full->level == 1 && is_data && is_last) {
        const uint8_t *before = esk_btree_key(node, (uint16_t)(count - 1u));
        return keys_of_one_file(before, full->key) ? count : half;
    }
    if (full->level > 1 && full->appended && is_last) {
        return count;
    }
    bool looks = full->level == 1 ? is_data : full->appended;
    if (looks && full->index >= half &&
        keys_of_one_file(esk_btree_key(node, 0), full->key) &&
        !keys_of_one_file(esk_btree_key(node, full->index), full->key)) {
        return (uint16_t)(full->index + 1u);
    }
    return half;
}

/* ----------------------------------------------------------------- the run */

struct tnc_run {
    esk_tnc_split *split;
    uint32_t nodes;        ///< of the buffer; 0: `memory` bytes
    uint32_t memory;       ///< of the buffer
    uint32_t commit_every; ///< changes; 0: when the buffer is full
    uint16_t fanout;
    uint8_t shrink_percent;
    bool commits_first;
};

struct tnc_result {
    uint64_t without; ///< node writes of a wandering tree
    uint64_t changes;
    uint32_t nodes_most; ///< of the tree
    bool fits;           ///< the buffer has room for a path
    struct esk_tnc_stats stats;
};

/// Runs one operation. The position of data is the number of the change.
/// Returns ESK_OK; ESK_E_NO_MEMORY.
static inline int operation_run(struct esk_tnc *tnc, uint64_t op,
                                struct tnc_result *result) {
    uint8_t row[ROW_BYTES];
    uint8_t found[ROW_BYTES];
    uint64_t key = op & TRACE_KEY_MASK;
    uint32_t kind = (uint32_t)(op >> 60);
    key_store(row, key);
    if (kind == TRACE_LOOKUP) {
        int status = esk_tnc_get(tnc, row, found);
        return status == ESK_NOT_FOUND ? ESK_OK : status;
    }
    esk_store_u32(row + KEY_BYTES, (uint32_t)result->changes);
    uint32_t made = tnc->stats.made;
    uint32_t gone = tnc->stats.gone;
    uint8_t height = tnc->root.height;
    ESK_TRY(kind == TRACE_DELETE ? esk_tnc_delete(tnc, row)
                                 : esk_tnc_put(tnc, row));
    /* A wandering tree writes the path, with what was split off, without what
       became empty. */
    made = tnc->stats.made - made;
    gone = tnc->stats.gone - gone;
    result->without += height + made > gone ? height + made - gone : 0;
    result->changes++;
    if (tnc->root.nodes > result->nodes_most) {
        result->nodes_most = tnc->root.nodes;
    }
    return ESK_OK;
}

/// Runs the trace with a buffer. Ends with a commit, as an unmount does.
static inline struct tnc_result tnc_run(const struct trace *trace,
                                        const struct tnc_run *run) {
    struct tnc_result result = {0};
    struct medium medium = {0};
    struct esk_tnc tnc;
    const struct esk_tnc_config config = {.io = &medium_io,
                                          .context = &medium,
                                          .split = run->split,
                                          .row_bytes = ROW_BYTES,
                                          .key_bytes = KEY_BYTES,
                                          .fanout = run->fanout,
                                          .key_type = ESK_TYPE_BYTES,
                                          .shrink_percent = run->shrink_percent,
                                          .commits_first = run->commits_first};
    uint32_t bytes = run->nodes > 0 ? esk_tnc_memory_bytes(&config, run->nodes)
                                    : run->memory;
    void *memory = bench_memory(bytes);
    medium.node_bytes = ESK_TREE_NODE_HEAD + run->fanout * (uint32_t)ROW_BYTES;
    BENCH_DO(esk_tnc_init(&tnc, &config, NULL, memory, bytes));
    int status = ESK_OK;
    for (uint32_t i = 0; i < trace->count && status == ESK_OK; i++) {
        uint64_t op = trace->ops[i];
        status = operation_run(&tnc, op, &result);
        if (run->commit_every > 0 && result.changes % run->commit_every == 0) {
            BENCH_DO(esk_tnc_commit(&tnc));
        }
    }
    BENCH_HOLDS(status == ESK_OK || status == ESK_E_NO_MEMORY);
    result.fits = status == ESK_OK;
    BENCH_DO(esk_tnc_commit(&tnc));
    result.stats = tnc.stats;
    free(medium.nodes);
    free(medium.free);
    free(memory);
    return result;
}

#endif
