// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The cost of one call of a tree: pages programmed and read by an insert and
/// by an update, mean, 99.9th percentile and maximum, beside the bound of the
/// copy-on-write stores; and the reads of a mount and open afterwards.
///
///     how many pages hold the rows -> a region of which that is the share
///     -> inserts -> updates until the region was programmed twice -> updates
///
/// Rows of 16 bytes, keys in random order, 4 frames, blocks of 8 pages: of 512
/// bytes, of 2 KiB for mu; trees in place on pages that overwrite. A region's
/// contents depend on the order of the updates, so a figure has both the
/// requested share and the actual one.
#include "bench/calls.h"
#include "bench/tree_bench.h"

static const char bench[] = "tree_calls";

enum {
    BLOCK_PAGES = 8,
    META_BLOCKS = 4, ///< superblocks and catalog, at least
    ROW_BYTES = 16,
    FRAMES = 4,
    UPDATES = 20000,
    ROUNDS = 2, ///< times a region is programmed before updates count
};

struct store {
    const char *name;
    const struct esk_node_store *store;
    uint16_t page_bytes;
    uint8_t id; ///< enum esk_tree_store
    bool moves;
};

static const struct store stores[] = {
    {"inplace", &esk_store_inplace, 512, ESK_STORE_INPLACE, false},
    {"journaled", &esk_store_journaled, 512, ESK_STORE_JOURNALED, false},
    {"wandering", &esk_store_wandering, 512, ESK_STORE_WANDERING, true},
    {"mu", &esk_store_mu, 2048, ESK_STORE_MU, true},
};

static struct esk_sim *medium_make(const struct store *store, uint32_t blocks) {
    struct esk_sim *sim = NULL;
    struct esk_sim_config config = {
        .geometry = {.block_count = blocks,
                     .block_pages = BLOCK_PAGES,
                     .page_bytes = store->page_bytes,
                     .program_bytes = store->page_bytes,
                     .programs_per_page_max = 1,
                     .erased_value = 0xFF,
                     .flags = store->moves ? 0 : ESK_MEDIUM_OVERWRITE},
        .seed = 1,
    };
    config.whole_writes = store->id == ESK_STORE_INPLACE;
    BENCH_DO(esk_sim_create(&sim, &config));
    return sim;
}

static struct tree_shape shape_of(const struct store *store) {
    return (struct tree_shape){.store = store->store,
                               .store_id = store->id,
                               .frames = FRAMES,
                               .row_bytes = ROW_BYTES};
}

/// Live pages: a mu page is live as long as its leaf.
static uint32_t live_pages(struct tree_table *table, uint32_t rows) {
    struct esk_tree_report report;
    BENCH_DO(esk_tree_check(table->tree, &report));
    BENCH_HOLDS(report.rows == rows);
    return table->shape->store_id == ESK_STORE_MU ? report.leaves
                                                  : report.nodes;
}

/// Prints the most programs of a call, and whether `most` is within the bound.
static void print_bound(const struct tree_table *table, const char *call,
                        uint32_t most, const char *config) {
    static const struct tree_set random_set = {"random"};
    uint32_t bound = 2u * tree_height(table) + 2u * BLOCK_PAGES;
    char metric[64];
    snprintf(metric, sizeof metric, "programs %s, max over the bound", call);
    bench_print(bench, metric, &random_set, (double)most / bound, "",
                "%s, bound %u", config, (unsigned)bound);
}

/// Puts keys 0 .. rows - 1. Returns false when the region is full first.
static bool insert(struct tree_table *table, const uint32_t *keys,
                   uint32_t rows, struct calls *calls) {
    uint8_t row[ROW_BYTES];
    for (uint32_t i = 0; i < rows; i++) {
        tree_row(row, keys[i], ROW_BYTES);
        calls_begin(calls);
        int status = esk_tree_put(table->tree, row);
        calls_end(calls);
        if (status == ESK_FULL) {
            return false;
        }
        BENCH_DO(status);
    }
    return true;
}

static void update(struct tree_table *table, const uint32_t *keys,
                   uint32_t rows, uint32_t pages, struct calls *calls) {
    uint64_t random = LOAD_SEED;
    uint64_t end = esk_sim_counters(calls->sim)->programs +
                   (table->shape->store_id < ESK_STORE_WANDERING
                        ? 0
                        : (uint64_t)ROUNDS * pages);
    while (esk_sim_counters(calls->sim)->programs < end) {
        tree_put(table, keys[bench_random(&random, rows)]);
    }
    for (uint32_t i = 0; i < UPDATES; i++) {
        uint32_t key = keys[bench_random(&random, rows)];
        calls_begin(calls);
        tree_put(table, key);
        calls_end(calls);
    }
}

/// Mounts and opens the table again, and prints the reads that it takes, short
/// ones included.
static void print_open(struct tree_table *table, const struct tree_shape *shape,
                       struct esk_sim *sim, const char *config) {
    static const struct tree_set random_set = {"random"};
    tree_close(table);
    uint64_t before = esk_sim_counters(sim)->reads;
    tree_open(table, esk_sim_device(sim), shape, ESK_MOUNT_TRUST_LOADS);
    uint64_t reads = esk_sim_counters(sim)->reads - before;
    bench_print(bench, "reads of a mount and open", &random_set, (double)reads,
                "", "%s", config);
}

/// Measures a region of `blocks` blocks; 0: only counts the live pages.
static uint32_t measure(const struct store *store, const uint32_t *keys,
                        uint32_t rows, uint32_t blocks, uint32_t percent) {
    static struct tree_table table;
    struct tree_shape shape = shape_of(store);
    struct esk_sim *sim = medium_make(store, blocks);
    struct calls calls = {.sim = sim};
    char config[96];
    tree_create(&table, esk_sim_device(sim), &shape);
    tree_open(&table, esk_sim_device(sim), &shape, ESK_MOUNT_TRUST_LOADS);
    uint32_t pages = table.info.blocks[0] * BLOCK_PAGES;
    bool fits = insert(&table, keys, rows, &calls);
    uint32_t live = 0;
    if (fits) {
        live = live_pages(&table, rows);
    }
    snprintf(config, sizeof config, "%s, %u rows", store->name, (unsigned)rows);
    if (percent > 0) {
        snprintf(config, sizeof config, "%s, %u rows, for %u %% live",
                 store->name, (unsigned)rows, (unsigned)percent);
    }
    if (fits && (percent > 0 || !store->moves)) {
        static const struct tree_set random_set = {"random"};
        bench_print(bench, "pages live", &random_set, 100.0 * live / pages, "%",
                    "%s", config);
        uint32_t most =
            calls_print(bench, "random", "an insert", &calls, config);
        if (store->moves) {
            print_bound(&table, "an insert", most, config);
        }
        update(&table, keys, rows, pages, &calls);
        most = calls_print(bench, "random", "an update", &calls, config);
        if (store->moves) {
            print_bound(&table, "an update", most, config);
        }
        print_open(&table, &shape, sim, config);
    } else if (!fits) {
        printf("skipped %s: the rows do not fit\n", config);
    }
    tree_close(&table);
    tree_medium_free(sim);
    return live;
}

int main(void) {
    static const uint32_t sizes[] = {10000, 100000};
    static const uint32_t percents[] = {50, 70, 85};
    for (uint32_t s = 0; s < sizeof stores / sizeof *stores; s++) {
        for (uint32_t n = 0; n < 2; n++) {
            uint32_t rows = sizes[n];
            uint32_t *keys = load_shuffled(rows, LOAD_SEED);
            uint32_t blocks = rows / 40 + 64;
            uint32_t live = measure(&stores[s], keys, rows, blocks, 0);
            for (uint32_t p = 0; stores[s].moves && p < 3; p++) {
                uint32_t pages = live * 100 / percents[p];
                blocks = (pages + BLOCK_PAGES / 2) / BLOCK_PAGES;
                measure(&stores[s], keys, rows, blocks + META_BLOCKS,
                        percents[p]);
            }
            free(keys);
        }
    }
    return 0;
}
