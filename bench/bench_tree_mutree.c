// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// mutree-2007, section 6: Table 5, Fig. 7, Fig. 8 and Fig. 9.
///
/// The paper's medium: 64 MB of MLC NAND, pages of 4 KB, 128 a block, its
/// Table 1 for times; entries of 8 bytes, a key of 4 with 4 of address.
///
/// Cache sizes. The paper counts read and write cache in addition to the two
/// pages of an operation. Here frames are all page RAM, so a cache of c + c KB
/// is 2 + 2c / 4 frames, of which the pages of changes may take all but one.
/// The paper writes its cache when it is full, also in the middle of a change;
/// here a change is written as a whole.
#include "bench/tree_bench.h"
#include "bench/tree_files.h"

static const char bench[] = "tree_mutree";
static const char part[] = "mutree_mlc";

enum {
    RECORDS = 1000000,
    OPERATIONS = 10000,
    KEYS_BELOW = RECORDS + OPERATIONS,
    ROW_BYTES = 8,
    CACHE_COUNT = 4,
};

/// The two trees of the paper.
struct tree_kind {
    const char *name;
    const struct esk_node_store *store;
    uint8_t store_id;
};

static const struct tree_kind kinds[2] = {
    {"wandering", &esk_store_wandering, ESK_STORE_WANDERING},
    {"mu", &esk_store_mu, ESK_STORE_MU},
};

/// KB of the read and of the write cache, the frames for both, and the frames
/// for changes.
struct cache {
    uint8_t kb;
    uint8_t frames;
    uint8_t write_frames;
};

static const struct cache caches[CACHE_COUNT] = {
    {0, 2, 0}, {4, 4, 3}, {8, 6, 5}, {16, 10, 9}};
static const struct cache cache_build = {64, 16, 0};

static struct tree_shape shape_of(const struct tree_kind *kind,
                                  const struct cache *cache) {
    return (struct tree_shape){.store = kind->store,
                               .store_id = kind->store_id,
                               .k_percent =
                                   kind->store_id == ESK_STORE_MU ? 50 : 0,
                               .frames = cache->frames,
                               .write_frames = cache->write_frames,
                               .policy = ESK_TREE_LRU_P,
                               .row_bytes = ROW_BYTES};
}

/* --------------------------------------------------------------- Table 5 */

static const struct tree_set random_set = {"random"};

static void print_operation(const struct esk_sim *sim,
                            const struct esk_sim_counters *before,
                            const char *operation, const char *kind,
                            const struct cache *cache) {
    struct esk_sim_counters done = tree_since(sim, before);
    char metric[64];
    snprintf(metric, sizeof metric, "reads per %s", operation);
    bench_print(bench, metric, &random_set, (double)done.reads / OPERATIONS, "",
                "%s, %u+%u KB", kind, cache->kb, cache->kb);
    snprintf(metric, sizeof metric, "writes per %s", operation);
    bench_print(bench, metric, &random_set, (double)done.programs / OPERATIONS,
                "", "%s, %u+%u KB", kind, cache->kb, cache->kb);
    snprintf(metric, sizeof metric, "time per %s", operation);
    bench_print(bench, metric, &random_set,
                (double)done.time_ns / 1e6 / OPERATIONS, "ms", "%s, %u+%u KB",
                kind, cache->kb, cache->kb);
    snprintf(metric, sizeof metric, "erases per %s", operation);
    bench_print(bench, metric, &random_set, (double)done.erases / OPERATIONS,
                "", "%s, %u+%u KB", kind, cache->kb, cache->kb);
}

/// Ten thousand retrievals, deletions, insertions, in the paper's order, from
/// the state of `built`. Inserted keys are new.
static void measure_cache(const struct esk_sim *built, const uint32_t *keys,
                          const struct tree_kind *kind,
                          const struct cache *cache) {
    static struct tree_table table;
    struct esk_sim *sim = NULL;
    struct tree_shape shape = shape_of(kind, cache);
    uint64_t random = LOAD_SEED;
    BENCH_DO(esk_sim_clone(&sim, built));
    tree_open(&table, esk_sim_device(sim), &shape, 0);
    struct esk_sim_counters before = *esk_sim_counters(sim);
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        tree_get(&table, keys[bench_random(&random, RECORDS)]);
    }
    print_operation(sim, &before, "retrieval", kind->name, cache);
    before = *esk_sim_counters(sim);
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        tree_delete(&table, keys[i * (RECORDS / OPERATIONS)]);
    }
    BENCH_DO(esk_tree_sync(table.tree));
    print_operation(sim, &before, "deletion", kind->name, cache);
    before = *esk_sim_counters(sim);
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        tree_put(&table, keys[RECORDS + i]);
    }
    BENCH_DO(esk_tree_sync(table.tree));
    print_operation(sim, &before, "insertion", kind->name, cache);
    bench_print(bench, "RAM, host, arena and volume", &random_set,
                table.arena_bytes + sizeof table.volume, "B", "%s, %u+%u KB",
                kind->name, cache->kb, cache->kb);
    tree_close(&table);
    tree_medium_free(sim);
}

static void measure_table_5(const struct tree_kind *kind) {
    static struct tree_table table;
    struct tree_shape shape = shape_of(kind, &cache_build);
    struct esk_sim *sim = tree_medium(part, 0);
    uint32_t *keys = load_shuffled(KEYS_BELOW, LOAD_SEED);
    struct esk_tree_stats stats;
    tree_create(&table, esk_sim_device(sim), &shape);
    tree_open(&table, esk_sim_device(sim), &shape, ESK_MOUNT_TRUST_LOADS);
    for (uint32_t i = 0; i < RECORDS; i++) {
        tree_put(&table, keys[i]);
    }
    esk_tree_stats(table.tree, &stats);
    bench_print(bench, "height", &random_set, stats.height, "", "%s, %u rows",
                kind->name, (unsigned)RECORDS);
    bench_print(bench, "nodes", &random_set, stats.nodes, "", "%s, %u rows",
                kind->name, (unsigned)RECORDS);
    tree_verify(&table, RECORDS);
    tree_close(&table);
    for (uint32_t i = 0; i < CACHE_COUNT; i++) {
        measure_cache(sim, keys, kind, &caches[i]);
    }
    tree_medium_free(sim);
    free(keys);
}

/* ---------------------------------------------------------------- Fig. 7 */

/// Heights of full trees by the planner, f = 512.
static void print_heights(void) {
    static const struct tree_set model = {"model"};
    uint32_t rows = 100;
    for (uint32_t step = 0; step < 7; step++) {
        rows *= 10;
        for (uint32_t i = 0; i < 2; i++) {
            struct esk_tree_need need = {
                .rows = rows,
                .block_pages = 128,
                .page_bytes = 4096,
                .leaf_entry_bytes = 8,
                .index_entry_bytes = 8,
                .store = kinds[i].store_id,
                .k_percent = 50,
            };
            struct esk_tree_plan plan;
            (void)esk_tree_plan(&need, &plan);
            bench_print(bench, "planned height", &model, plan.height_least, "",
                        "%s, %u rows", kinds[i].name, rows);
        }
    }
}

/* ------------------------------------------------------------ Fig. 8, 9 */

static void files_run(struct tree_table *table,
                      const struct files_trace *trace) {
    for (uint32_t i = 0; i < trace->count; i++) {
        uint32_t key = (uint32_t)trace->ops[i];
        switch (trace->ops[i] >> 32) {
        case FILES_GET:
            tree_get(table, key);
            break;
        case FILES_PUT:
            tree_put(table, key);
            break;
        default:
            tree_delete(table, key);
            break;
        }
    }
}

/// One replay. Returns its counters.
static struct esk_sim_counters measure_trace(const struct files_trace *trace,
                                             const struct tree_kind *kind,
                                             const struct cache *cache,
                                             uint32_t scale) {
    static struct tree_table table;
    struct tree_shape shape = shape_of(kind, cache);
    struct esk_sim *sim = tree_medium(part, 0);
    struct tree_set set = {trace->name};
    tree_create(&table, esk_sim_device(sim), &shape);
    tree_open(&table, esk_sim_device(sim), &shape, ESK_MOUNT_TRUST_LOADS);
    struct esk_sim_counters before = *esk_sim_counters(sim);
    files_run(&table, trace);
    struct esk_sim_counters done = tree_since(sim, &before);
    const struct {
        const char *metric;
        double value;
        const char *unit;
    } rows[] = {
        {"trace, simulated time", (double)done.time_ns / 1e9, "s"},
        {"trace, simulated time of reads", (double)done.read_time_ns / 1e9,
         "s"},
        {"trace, simulated time of writes", (double)done.program_time_ns / 1e9,
         "s"},
        {"trace, simulated time of erases", (double)done.erase_time_ns / 1e9,
         "s"},
        {"trace, blocks regained", (double)done.erases, ""},
        {"trace, height at the end", tree_height(&table), ""},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bench_print(bench, rows[i].metric, &set, rows[i].value, rows[i].unit,
                    "%s, %u+%u KB, counts of Table 4 over %u", kind->name,
                    cache->kb, cache->kb, scale);
    }
    tree_close(&table);
    tree_medium_free(sim);
    return done;
}

static void measure_traces(uint32_t index, uint32_t scale) {
    struct files_trace trace = files_trace_make(index, scale);
    struct tree_set set = {trace.name};
    for (uint32_t i = 0; i < 2; i++) {
        struct esk_sim_counters wandering =
            measure_trace(&trace, &kinds[0], &caches[i], scale);
        struct esk_sim_counters mu =
            measure_trace(&trace, &kinds[1], &caches[i], scale);
        bench_print(bench, "trace, mu's writes over wandering's", &set,
                    (double)mu.programs / (double)wandering.programs, "",
                    "%u+%u KB", caches[i].kb, caches[i].kb);
        bench_print(bench, "trace, wandering's time over mu's", &set,
                    (double)wandering.time_ns / (double)mu.time_ns, "",
                    "%u+%u KB", caches[i].kb, caches[i].kb);
        bench_print(bench, "trace, mu's blocks regained over wandering's", &set,
                    (double)mu.erases / (double)wandering.erases, "",
                    "%u+%u KB", caches[i].kb, caches[i].kb);
    }
    bench_print(bench, "trace, keys alive at once", &set, trace.live_most, "",
                "counts of Table 4 over %u", scale);
    free(trace.ops);
}

int main(void) {
    print_heights();
    for (uint32_t i = 0; i < 2; i++) {
        measure_table_5(&kinds[i]);
    }
    for (uint32_t i = 0; i < FILES_TRACE_COUNT; i++) {
        measure_traces(i, 1);
    }
    return 0;
}
