// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// btree-2022, Fig. 5 to 10: inserts and gets of 1,000 to 10,000 random
/// records of 16 bytes on pages of 512, with M = 2 to 8 page buffers.
///
/// The medium is the paper's card: 345 page reads and 175 page writes a second,
/// in the simulator. The CPU's time is not included; the paper's figures
/// include it. Each figure is the mean of twenty data sets, because the writes
/// of two sets differ by ten. For the writes of 10,000 inserts also the mean of
/// the first three sets, the paper's number.
#include "bench/tree_bench.h"

static const char bench[] = "tree_sd";
static const char part[] = "btree2022_sd_mega";

enum {
    RECORDS = 10000,
    STEP = 1000,
    STEPS = RECORDS / STEP,
    SETS = 20,
    SETS_PAPER = 3,
    M_MIN = 2,
    M_MAX = 8,
};

/// Sums over the data sets after each STEP operations.
struct course {
    double reads[STEPS];
    double writes[STEPS];
    double seconds[STEPS];
};

/// One M.
struct result {
    struct course inserts;
    struct course gets;
    double writes_paper; ///< of all inserts, the mean of SETS_PAPER sets
    double ram_bytes;
    double height;
    double insert_levels; ///< levels of all inserts: most reads
};

static const struct tree_set random_set = {"random"};

static void note(struct course *course, uint32_t step,
                 const struct esk_sim *sim,
                 const struct esk_sim_counters *before) {
    struct esk_sim_counters done = tree_since(sim, before);
    course->reads[step] += (double)done.reads / SETS;
    course->writes[step] += (double)done.programs / SETS;
    course->seconds[step] += (double)done.time_ns / 1e9 / SETS;
}

static void run_set(struct result *result, const struct tree_shape *shape,
                    uint32_t set) {
    static struct tree_table table;
    struct esk_sim *sim = tree_medium(part, 0);
    uint32_t *keys = load_shuffled(RECORDS, LOAD_SEED + set);
    uint32_t *asked = load_shuffled(RECORDS, LOAD_SEED + 100 + set);
    tree_create(&table, esk_sim_device(sim), shape);
    tree_open(&table, esk_sim_device(sim), shape, 0);
    struct esk_sim_counters before = *esk_sim_counters(sim);
    for (uint32_t i = 0; i < RECORDS; i++) {
        result->insert_levels += (double)tree_height(&table) / SETS;
        tree_put(&table, keys[i]);
        if ((i + 1) % STEP == 0) {
            note(&result->inserts, i / STEP, sim, &before);
        }
    }
    if (set < SETS_PAPER) {
        result->writes_paper +=
            (double)tree_since(sim, &before).programs / SETS_PAPER;
    }
    before = *esk_sim_counters(sim);
    for (uint32_t i = 0; i < RECORDS; i++) {
        tree_get(&table, asked[i]);
        if ((i + 1) % STEP == 0) {
            note(&result->gets, i / STEP, sim, &before);
        }
    }
    result->ram_bytes = (double)table.arena_bytes + sizeof table.volume;
    result->height = tree_height(&table);
    tree_verify(&table, RECORDS);
    tree_close(&table);
    tree_medium_free(sim);
    free(keys);
    free(asked);
}

static struct result run(uint8_t frames) {
    struct result result = {.height = 0};
    struct tree_shape shape = {.store = &esk_store_inplace,
                               .store_id = ESK_STORE_INPLACE,
                               .frames = frames,
                               .row_bytes = 16};
    for (uint32_t set = 0; set < SETS; set++) {
        run_set(&result, &shape, set);
    }
    return result;
}

/// Fig. 5 to 8: the course at M = 2.
static void print_courses(const struct result *result) {
    for (uint32_t i = 0; i < STEPS; i++) {
        uint32_t count = (i + 1) * STEP;
        const struct course *inserts = &result->inserts;
        const struct course *gets = &result->gets;
        bench_print(bench, "inserts, simulated time", &random_set,
                    inserts->seconds[i], "s", "M = 2, %u records", count);
        bench_print(bench, "inserts, page writes", &random_set,
                    inserts->writes[i], "", "M = 2, %u records", count);
        bench_print(bench, "inserts, page reads", &random_set,
                    inserts->reads[i], "", "M = 2, %u records", count);
        bench_print(bench, "gets, simulated time", &random_set,
                    gets->seconds[i], "s", "M = 2, %u gets", count);
        bench_print(bench, "gets, page reads", &random_set, gets->reads[i], "",
                    "M = 2, %u gets", count);
    }
    bench_print(bench, "inserts, page writes", &random_set,
                result->writes_paper, "",
                "M = 2, 10000 records, the first three data sets");
    double late = (result->inserts.reads[STEPS - 1] -
                   result->inserts.reads[STEPS / 2 - 1]) /
                  (RECORDS / 2);
    bench_print(bench, "reads an insert above the height", &random_set,
                late - result->height, "",
                "M = 2, the last 5,000 records, height %g", result->height);
}

/// Fig. 9 and 10, section 4.3: each M.
static void print_buffers(const struct result *result, uint32_t m) {
    uint32_t last = STEPS - 1;
    const struct course *inserts = &result->inserts;
    const struct course *gets = &result->gets;
    bench_print(bench, "reads an insert", &random_set,
                inserts->reads[last] / RECORDS, "", "M = %u", m);
    bench_print(bench, "writes an insert", &random_set,
                inserts->writes[last] / RECORDS, "", "M = %u", m);
    bench_print(bench, "reads a get", &random_set, gets->reads[last] / RECORDS,
                "", "M = %u", m);
    bench_print(bench, "simulated time an insert", &random_set,
                inserts->seconds[last] / RECORDS * 1e3, "ms", "M = %u", m);
    bench_print(bench, "simulated time a get", &random_set,
                gets->seconds[last] / RECORDS * 1e3, "ms", "M = %u", m);
    bench_print(bench, "RAM, host, arena and volume", &random_set,
                result->ram_bytes, "B", "M = %u", m);
    bench_print(bench, "hit rate, inserts", &random_set,
                100 * (1 - inserts->reads[last] / result->insert_levels), "%",
                "M = %u, of the levels passed", m);
    bench_print(bench, "hit rate, gets", &random_set,
                100 * (1 - gets->reads[last] / (RECORDS * result->height)), "%",
                "M = %u, of the levels passed", m);
    /* A read takes 1 / 345 s; without buffers every level is read. */
    double insert_s = inserts->seconds[last] +
                      (result->insert_levels - inserts->reads[last]) / 345;
    double get_s = gets->seconds[last] +
                   (RECORDS * result->height - gets->reads[last]) / 345;
    bench_print(bench, "insert time saved", &random_set,
                100 * (1 - inserts->seconds[last] / insert_s), "%",
                "M = %u, of the time with every level read", m);
    bench_print(bench, "get time saved", &random_set,
                100 * (1 - gets->seconds[last] / get_s), "%",
                "M = %u, of the time with every level read", m);
}

int main(void) {
    struct result least = run(M_MIN);
    print_courses(&least);
    for (uint8_t m = M_MIN; m <= M_MAX; m++) {
        struct result result = run(m);
        print_buffers(&result, m);
    }
    return 0;
}
