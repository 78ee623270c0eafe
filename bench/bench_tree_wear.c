// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Garbage collection: how full a region can be, how even the wear is, the cost
/// of the worst update, and the reads of a mount after power loss.
///
///     insert up to shares of live pages -> cost of an update at each
///     fill until a put is refused -> delete down to a share of live pages
///     -> updates until 100 times the region was programmed -> wear
///     -> power cuts at random operations -> reads of mount and open
#include "bench/calls.h"
#include "bench/tree_bench.h"

static const char bench[] = "tree_wear";
static const char part[] = "k9f4g08u0a"; // pages of 2 KiB, 64 a block

enum {
    BLOCKS = 64,
    FILL_BLOCKS = 256,
    ROW_BYTES = 16,
    FRAMES = 4,
    ROUNDS = 100,            ///< times the region is programmed
    SHARE_ROUNDS_BEFORE = 2, ///< before updates at a share count
    SHARE_ROUNDS = 2,        ///< and while they do
    SHARE_TRIES = 1000,
    SHARE_ROWS_A_PAGE = 40, ///< fewer than random inserts put in a page
    MODEL_ROUNDS = 1000,
    CUTS = 100,
    CUT_OPERATIONS_MAX = 500,
    KEYS = 1 << 21, ///< more than any region holds
};

struct subject {
    struct tree_shape shape;
    const char *name;
    struct esk_sim *sim;
    struct tree_table table;
    uint32_t rows; ///< keys 0 .. rows - 1 in shuffled order are in the tree
    uint32_t *keys;
    uint32_t pages; ///< of the region
};

static const struct tree_set random_set = {"random"};

/// Live pages: a mu page is live as long as its leaf.
static uint32_t live_pages(struct subject *subject) {
    struct esk_tree_report report;
    BENCH_DO(esk_tree_check(subject->table.tree, &report));
    BENCH_HOLDS(report.rows == subject->rows);
    return subject->shape.store_id == ESK_STORE_MU ? report.leaves
                                                   : report.nodes;
}

static double share(struct subject *subject) {
    return 100.0 * live_pages(subject) / subject->pages;
}

/// Puts new rows until one is refused.
static void fill(struct subject *subject) {
    uint8_t row[ROW_BYTES];
    int status = ESK_OK;
    while (status == ESK_OK) {
        BENCH_HOLDS(subject->rows < KEYS);
        tree_row(row, subject->keys[subject->rows], ROW_BYTES);
        status = esk_tree_put(subject->table.tree, row);
        subject->rows += status == ESK_OK;
    }
    BENCH_WANT(ESK_FULL, status);
    bench_print(bench, "live pages when a put is refused", &random_set,
                share(subject), "%", "%s, %u blocks of 64 pages", subject->name,
                (unsigned)subject->pages / 64);
}

/// Costs of the updates of one stretch.
struct costs {
    double programs;
    double reads;
    uint32_t programs_max;
    uint32_t reads_max;
    uint32_t erases_max;
};

static struct costs update(struct subject *subject, uint64_t programs) {
    struct costs costs = {.programs = 0};
    struct esk_sim *sim = subject->sim;
    struct esk_sim_counters first = *esk_sim_counters(sim);
    uint64_t random = LOAD_SEED;
    uint32_t updates = 0;
    while (tree_since(sim, &first).programs < programs) {
        struct esk_sim_counters before = *esk_sim_counters(sim);
        tree_put(&subject->table,
                 subject->keys[bench_random(&random, subject->rows)]);
        struct esk_sim_counters done = tree_since(sim, &before);
        costs.programs_max = done.programs > costs.programs_max
                                 ? (uint32_t)done.programs
                                 : costs.programs_max;
        costs.reads_max = done.reads > costs.reads_max ? (uint32_t)done.reads
                                                       : costs.reads_max;
        costs.erases_max = done.erases > costs.erases_max
                               ? (uint32_t)done.erases
                               : costs.erases_max;
        updates++;
    }
    struct esk_sim_counters done = tree_since(sim, &first);
    costs.programs = (double)done.programs / updates;
    costs.reads = (double)done.reads / updates;
    return costs;
}

/// Updates at the present share of live pages.
static void measure_share(struct subject *subject, uint32_t rounds) {
    double live = share(subject);
    struct costs costs = update(subject, (uint64_t)rounds * subject->pages);
    const struct {
        const char *metric;
        double value;
    } rows[] = {
        {"programs an update", costs.programs},
        {"programs an update, max", costs.programs_max},
        {"reads an update", costs.reads},
        {"reads an update, max", costs.reads_max},
        {"erases an update, max", costs.erases_max},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bench_print(bench, rows[i].metric, &random_set, rows[i].value, "",
                    "%s, %.0f %% of the pages live, region programmed %u times",
                    subject->name, live, rounds);
    }
}

/// Puts new rows until `percent` of the pages are live. Returns false when one
/// is refused first.
static bool fill_to(struct subject *subject, uint32_t percent) {
    uint8_t row[ROW_BYTES];
    for (uint32_t tries = 0; tries < SHARE_TRIES; tries++) {
        double lacks = percent - share(subject);
        if (lacks <= 0) {
            return true;
        }
        uint32_t more =
            (uint32_t)(lacks / 100 * subject->pages * SHARE_ROWS_A_PAGE);
        for (uint32_t i = 0; i <= more; i++) {
            tree_row(row, subject->keys[subject->rows], ROW_BYTES);
            int status = esk_tree_put(subject->table.tree, row);
            if (status == ESK_FULL) {
                return false;
            }
            BENCH_DO(status);
            subject->rows++;
        }
    }
    return false;
}

/// Programs of an update: `path` pages, and a page for each live leaf that the
/// ring's tail meets. A leaf is live then with probability q, because updates
/// hit the leaves at random:
///
///     W = path + q / (1 - q),    q = exp(-1 / (share * W))
static double model(double path, double live) {
    double programs = path;
    for (uint32_t i = 0; i < MODEL_ROUNDS; i++) {
        double q = exp(-1 / (live * programs));
        programs = path + q / (1 - q);
    }
    return programs;
}

/// Updates at rising shares of live pages, beside the model.
static void measure_shares(struct subject *subject) {
    static const uint32_t percents[] = {50, 60, 70, 80, 85};
    struct calls calls = {.sim = subject->sim};
    char config[64];
    for (uint32_t i = 0; i < sizeof percents / sizeof *percents; i++) {
        snprintf(config, sizeof config, "%s, %u %% live", subject->name,
                 (unsigned)percents[i]);
        if (!fill_to(subject, percents[i])) {
            printf("skipped %s: a put is refused before\n", config);
            return;
        }
        double live = share(subject) / 100;
        double path = subject->shape.store_id == ESK_STORE_MU
                          ? 1
                          : tree_height(&subject->table);
        uint64_t random = LOAD_SEED;
        (void)update(subject, (uint64_t)SHARE_ROUNDS_BEFORE * subject->pages);
        struct esk_sim_counters before = *esk_sim_counters(subject->sim);
        while (tree_since(subject->sim, &before).programs <
               (uint64_t)SHARE_ROUNDS * subject->pages) {
            uint32_t key = subject->keys[bench_random(&random, subject->rows)];
            calls_begin(&calls);
            tree_put(&subject->table, key);
            calls_end(&calls);
        }
        calls_print(bench, "random", "an update at a share", &calls, config);
        bench_print(bench, "programs an update at a share, model", &random_set,
                    model(path, live), "", "%s", config);
    }
}

static void measure_wear(const struct subject *subject) {
    struct esk_sim_wear wear;
    const struct esk_table_info *info = &subject->table.info;
    esk_sim_wear(subject->sim, info->block[0], info->blocks[0], &wear);
    bench_print(bench, "erases of a block, max over mean", &random_set,
                wear.max * 1000.0 / wear.mean_milli, "",
                "%s, mean %.1f, least %u, most %u", subject->name,
                wear.mean_milli / 1000.0, wear.min, wear.max);
}

/// Cuts the power within some hundred operations, CUTS times.
static void measure_cuts(struct subject *subject) {
    double sum = 0;
    double most = 0;
    uint64_t random = LOAD_SEED + 1;
    struct tree_table *table = &subject->table;
    uint8_t row[ROW_BYTES];
    for (uint32_t i = 0; i < CUTS; i++) {
        uint64_t at = esk_sim_op_count(subject->sim) +
                      bench_random(&random, CUT_OPERATIONS_MAX);
        int status = ESK_OK;
        esk_sim_cut_at(subject->sim, at, ESK_SIM_CUT_DRAWN);
        while (status == ESK_OK) {
            uint32_t key = subject->keys[bench_random(&random, subject->rows)];
            tree_row(row, key, ROW_BYTES);
            status = esk_tree_put(table->tree, row);
        }
        esk_tree_close(table->tree);
        esk_volume_unmount(&table->volume);
        free(table->arena);
        esk_sim_power_on(subject->sim);
        struct esk_sim_counters before = *esk_sim_counters(subject->sim);
        tree_open(table, esk_sim_device(subject->sim), &subject->shape, 0);
        double reads = (double)tree_since(subject->sim, &before).reads;
        sum += reads;
        most = reads > most ? reads : most;
    }
    bench_print(bench, "reads to mount and open after a cut, mean", &random_set,
                sum / CUTS, "", "%s, %u blocks", subject->name,
                (unsigned)BLOCKS);
    bench_print(bench, "reads to mount and open after a cut, max", &random_set,
                most, "", "%s, %u blocks", subject->name, (unsigned)BLOCKS);
    (void)live_pages(subject);
}

static void subject_make(struct subject *subject, const char *name,
                         const struct esk_node_store *store, uint8_t store_id,
                         uint32_t blocks) {
    *subject = (struct subject){.name = name,
                                .shape = {.store = store,
                                          .store_id = store_id,
                                          .frames = FRAMES,
                                          .row_bytes = ROW_BYTES},
                                .keys = load_shuffled(KEYS, LOAD_SEED),
                                .sim = tree_medium(part, blocks)};
    const struct esk_device *device = esk_sim_device(subject->sim);
    tree_create(&subject->table, device, &subject->shape);
    tree_open(&subject->table, device, &subject->shape, ESK_MOUNT_TRUST_LOADS);
    subject->pages =
        subject->table.info.blocks[0] * device->geometry.block_pages;
}

static void subject_free(struct subject *subject) {
    tree_close(&subject->table);
    tree_medium_free(subject->sim);
    free(subject->keys);
}

static void measure(const char *name, const struct esk_node_store *store,
                    uint8_t store_id) {
    static struct subject subject;
    subject_make(&subject, name, store, store_id, BLOCKS);
    measure_shares(&subject);
    subject_free(&subject);
    subject_make(&subject, name, store, store_id, FILL_BLOCKS);
    fill(&subject);
    subject_free(&subject);
    subject_make(&subject, name, store, store_id, BLOCKS);
    fill(&subject);
    measure_share(&subject, 2);
    while (share(&subject) > 80) {
        for (uint32_t i = 0; i < 100; i++) {
            tree_delete(&subject.table, subject.keys[--subject.rows]);
        }
    }
    measure_share(&subject, ROUNDS);
    measure_wear(&subject);
    measure_cuts(&subject);
    subject_free(&subject);
}

int main(void) {
    measure("wandering", &esk_store_wandering, ESK_STORE_WANDERING);
    measure("mu", &esk_store_mu, ESK_STORE_MU);
    return 0;
}
