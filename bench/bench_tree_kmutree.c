// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// lrun-kmutree-2012: Fig. 8, 9 and 11 to 19.
///
///     Fig. 8, 9     k, height, best k: the planner's formula (1)
///     Fig. 11, 12   page accesses of LRU-P and LRU-N, 4, 8, 16 frames
///     Fig. 13, 14   the same on traces
///     Fig. 15       heights 3 to 5
///     Fig. 16 - 18  k = 0.3, 0.5, 0.7
///     Fig. 19       pages of the index
///
/// Pages of 2 KB. The paper's entries have 8 bytes, a key of 4. The paper does
/// not say how its trees were filled; 10,000 such entries have height 3 only
/// when their leaves are half full, so they are put in falling order, which
/// halves a leaf at each split. That is one *fill*. Its level 2 has three
/// nodes, but the paper's counts imply nine or ten: entries of 16 bytes put in
/// random order have nine, and are the other fill. The root is cached in
/// addition to the paper's buffer, so a buffer of 4 P is 5 frames.
#include "bench/tree_bench.h"

static const char bench[] = "tree_kmutree";

enum {
    RECORDS = 10000,
    QUERIES_MAX = 1000000,
    QUERIES = 100000,
    PAGE_BYTES = 2048,
    BLOCK_PAGES = 64,
    BLOCKS = 1024,
    FRAMES_BUILD = 16,
};

enum order { ORDER_FALLING, ORDER_RANDOM };

/// Entries of a size, put in some order.
struct fill {
    const char *name; ///< end of a figure's config
    enum order order;
    uint8_t key_bytes;
    uint8_t entry_bytes;
    uint8_t kinds;       ///< of queries: the first of enum load_kind
    uint32_t records[5]; ///< of Fig. 15's trees, heights 3 to 5; 0: no more
};

static const struct fill fills[] = {
    {"", ORDER_FALLING, 0, 8, LOAD_ZIPF_STEEP, {RECORDS, 200000, 1100000}},
    {", 16 B at random",
     ORDER_RANDOM,
     12,
     16,
     LOAD_KIND_COUNT,
     {RECORDS, 30000, 60000, 100000, 200000}},
};

static struct tree_shape shape_of(const struct fill *fill, uint8_t k_percent,
                                  uint8_t buffer, uint8_t policy) {
    return (struct tree_shape){.store = &esk_store_mu,
                               .store_id = ESK_STORE_MU,
                               .k_percent = k_percent,
                               .frames = (uint8_t)(buffer + 1u),
                               .policy = policy,
                               .row_bytes = fill->entry_bytes,
                               .key_bytes = fill->key_bytes};
}

/// A tree, built once, then queried with other buffers.
struct subject {
    struct esk_sim *sim;
    const struct fill *fill;
    uint32_t records;
    uint8_t k_percent;
    uint8_t height;
    uint32_t pages;
};

static struct subject build(const struct fill *fill, uint32_t records,
                            uint8_t k_percent) {
    static struct tree_table table;
    struct subject subject = {
        .fill = fill, .records = records, .k_percent = k_percent};
    struct tree_shape shape =
        shape_of(fill, k_percent, FRAMES_BUILD, ESK_TREE_LRU_N);
    struct esk_sim_config config = {
        .geometry = {.block_count = BLOCKS,
                     .block_pages = BLOCK_PAGES,
                     .page_bytes = PAGE_BYTES,
                     .program_bytes = PAGE_BYTES,
                     .programs_per_page_max = 1,
                     .erased_value = 0xFF},
        .seed = 1,
    };
    struct esk_tree_report report;
    uint32_t *keys = load_shuffled(records, LOAD_SEED);
    BENCH_DO(esk_sim_create(&subject.sim, &config));
    tree_create(&table, esk_sim_device(subject.sim), &shape);
    tree_open(&table, esk_sim_device(subject.sim), &shape,
              ESK_MOUNT_TRUST_LOADS);
    for (uint32_t i = 0; i < records; i++) {
        tree_put(&table,
                 fill->order == ORDER_FALLING ? records - 1 - i : keys[i]);
    }
    BENCH_DO(esk_tree_check(table.tree, &report));
    BENCH_HOLDS(report.rows == records);
    subject.pages = report.leaves;
    subject.height = tree_height(&table);
    tree_close(&table);
    free(keys);
    return subject;
}

static void subject_free(struct subject *subject) {
    tree_medium_free(subject->sim);
}

enum { CHECKPOINT_COUNT = 5 };
static const uint32_t checkpoints[CHECKPOINT_COUNT] = {10000, 100000, 200000,
                                                       500000, 1000000};

/// Page accesses after each checkpoint that the queries reach, and after the
/// last query.
struct accesses {
    double at[CHECKPOINT_COUNT];
    double all;
};

static struct accesses ask(const struct subject *subject, uint8_t buffer,
                           uint8_t policy, const struct load_queries *queries) {
    static struct tree_table table;
    struct accesses accesses = {.all = 0};
    struct tree_shape shape =
        shape_of(subject->fill, subject->k_percent, buffer, policy);
    uint32_t next = 0;
    tree_open(&table, esk_sim_device(subject->sim), &shape,
              ESK_MOUNT_READ_ONLY | ESK_MOUNT_TRUST_LOADS);
    struct esk_sim_counters before = *esk_sim_counters(subject->sim);
    for (uint32_t i = 0; i < queries->count; i++) {
        tree_get(&table, queries->keys[i]);
        if (next < CHECKPOINT_COUNT && i + 1 == checkpoints[next]) {
            accesses.at[next++] =
                (double)tree_since(subject->sim, &before).reads;
        }
    }
    accesses.all = (double)tree_since(subject->sim, &before).reads;
    esk_tree_close(table.tree);
    esk_volume_unmount(&table.volume);
    free(table.arena);
    return accesses;
}

static double gain(double lru_p, double lru_n) {
    return lru_p > 0 ? 100 * (lru_p - lru_n) / lru_p : 0;
}

/// One comparison: prints the gain over all queries, and returns it.
static double compare(const struct subject *subject, uint8_t buffer,
                      const struct load_queries *queries, const char *figure) {
    struct tree_set set = {queries->name};
    struct accesses lru_p = ask(subject, buffer, ESK_TREE_LRU_P, queries);
    struct accesses lru_n = ask(subject, buffer, ESK_TREE_LRU_N, queries);
    bench_print(bench, "fewer page accesses by LRU-N", &set,
                gain(lru_p.all, lru_n.all), "%",
                "%s, %uP, k %u, height %u, %u entries, %u queries%s", figure,
                buffer, subject->k_percent, subject->height, subject->records,
                queries->count, subject->fill->name);
    return gain(lru_p.all, lru_n.all);
}

static const uint8_t buffers[] = {4, 8, 16};
static const uint8_t ks[] = {30, 50, 70};

/// Fig. 11 and 12: every checkpoint of a million queries.
static void measure_counts(const struct subject *subject) {
    for (enum load_kind kind = 0; kind < subject->fill->kinds; kind++) {
        struct load_queries queries =
            load_queries_make(kind, QUERIES_MAX, subject->records);
        struct tree_set set = {queries.name};
        for (uint32_t b = 0; b < 3; b++) {
            struct accesses p =
                ask(subject, buffers[b], ESK_TREE_LRU_P, &queries);
            struct accesses n =
                ask(subject, buffers[b], ESK_TREE_LRU_N, &queries);
            for (uint32_t i = 0; i < CHECKPOINT_COUNT; i++) {
                if (buffers[b] == 4) {
                    bench_print(bench, "page accesses", &set, n.at[i], "",
                                "LRU-N, 4P, %u queries%s", checkpoints[i],
                                subject->fill->name);
                    bench_print(bench, "page accesses", &set, p.at[i], "",
                                "LRU-P, 4P, %u queries%s", checkpoints[i],
                                subject->fill->name);
                }
                bench_print(bench, "fewer page accesses by LRU-N", &set,
                            gain(p.at[i], n.at[i]), "%",
                            "Fig. 12, %uP, k 50, height %u, %u entries, "
                            "%u queries%s",
                            buffers[b], subject->height, subject->records,
                            checkpoints[i], subject->fill->name);
            }
        }
        load_queries_free(&queries);
    }
}

/// Fig. 13, 14, 16 to 18: k against buffers, by distribution and trace.
static void measure_ks(const struct fill *fill) {
    static const struct tree_set any = {"any"};
    double most = 0; /* of 16 P, the distributions */
    for (uint32_t k = 0; k < 3; k++) {
        struct subject subject = build(fill, RECORDS, ks[k]);
        for (uint32_t b = 0; b < 3; b++) {
            for (enum load_kind kind = 0; kind < fill->kinds; kind++) {
                struct load_queries queries =
                    load_queries_make(kind, QUERIES, RECORDS);
                double saved =
                    compare(&subject, buffers[b], &queries, "Fig. 16");
                most = buffers[b] == 16 && saved > most ? saved : most;
                load_queries_free(&queries);
            }
            for (uint32_t t = 0; t < LOAD_TRACE_COUNT; t++) {
                struct load_queries queries;
                if (load_trace_queries(&queries, t, RECORDS)) {
                    queries.count =
                        queries.count < QUERIES ? queries.count : QUERIES;
                    (void)compare(&subject, buffers[b], &queries, "Fig. 13-18");
                    load_queries_free(&queries);
                }
            }
        }
        subject_free(&subject);
    }
    bench_print(bench, "fewer page accesses by LRU-N, at most", &any, most, "%",
                "Fig. 16, 16P%s", fill->name);
}

/// Fig. 15: trees of height 3, 4 and 5.
static void measure_heights(const struct fill *fill) {
    for (uint32_t i = 0; i < 5 && fill->records[i] > 0; i++) {
        struct subject subject = build(fill, fill->records[i], 50);
        BENCH_HOLDS(subject.height >= 3 && subject.height <= 5);
        for (uint32_t b = 0; b < 3; b++) {
            for (enum load_kind kind = 0; kind < fill->kinds; kind++) {
                struct load_queries queries =
                    load_queries_make(kind, QUERIES, subject.records);
                (void)compare(&subject, buffers[b], &queries, "Fig. 15");
                load_queries_free(&queries);
            }
        }
        subject_free(&subject);
    }
}

/// Fig. 19: pages of trees put in random order, and the planner's.
static void measure_sizes(void) {
    static const uint32_t records[] = {5000, 10000, 20000, 30000};
    static const struct tree_set set = {"random"};
    static const struct fill fill = {"", ORDER_RANDOM, 0, 8, 0, {0}};
    for (uint32_t i = 0; i < 4; i++) {
        double pages[3];
        for (uint32_t k = 0; k < 3; k++) {
            struct subject subject = build(&fill, records[i], ks[k]);
            pages[k] = subject.pages;
            bench_print(bench, "pages of the index", &set, pages[k], "",
                        "%u entries, k %u, height %u", records[i], ks[k],
                        subject.height);
            subject_free(&subject);
        }
        bench_print(bench, "index smaller than at k 50", &set,
                    gain(pages[1], pages[2]), "%", "%u entries, k 70",
                    records[i]);
    }
}

/// Fig. 8 and 9 by the planner: entries of a node are all of a page.
static void print_plans(void) {
    static const struct tree_set set = {"model"};
    struct esk_tree_need need = {
        .block_pages = BLOCK_PAGES,
        .page_bytes = 4096,
        .leaf_entry_bytes = 8,
        .index_entry_bytes = 8,
        .store = ESK_STORE_MU,
    };
    struct esk_tree_plan plan;
    uint8_t k = 0;
    for (uint32_t i = 0; i < 4; i++) {
        need.rows = (const uint32_t[]){10000, 100000, 1000000, 10000000}[i];
        for (k = 20; k <= 80; k += 10) {
            need.k_percent = k;
            int status = esk_tree_plan(&need, &plan);
            bench_print(bench, "planned height, at most", &set,
                        status == ESK_OK ? plan.height_most : 0, "",
                        "F 512, %u entries, k %u", need.rows, k);
        }
        need.k_percent = 0;
        BENCH_DO(esk_tree_plan_best_k(&need, &k));
        bench_print(bench, "best k", &set, k, "%", "F 512, %u entries",
                    need.rows);
    }
    need.rows = 10000;
    for (uint16_t bytes = 8; bytes <= 32; bytes += 8) {
        need.leaf_entry_bytes = bytes;
        need.index_entry_bytes = bytes;
        BENCH_DO(esk_tree_plan_best_k(&need, &k));
        bench_print(bench, "best k", &set, k, "%",
                    "entries of %u B in 4,096, 10000 of them", bytes);
    }
}

int main(void) {
    print_plans();
    for (uint32_t i = 0; i < sizeof fills / sizeof *fills; i++) {
        struct subject subject = build(&fills[i], RECORDS, 50);
        BENCH_HOLDS(subject.height == 3);
        measure_counts(&subject);
        subject_free(&subject);
        measure_ks(&fills[i]);
        measure_heights(&fills[i]);
    }
    measure_sizes();
    return 0;
}
