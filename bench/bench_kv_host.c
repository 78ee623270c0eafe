// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Kv tables in a file beside LMDB and SQLite, in the same run.
///
///     load           all keys in random order
///     update         of uniform or zipf (0.99) keys
///     delete         of keys in random order
///     get, scan      random keys; all keys and values in order
///
/// Changes are made durable one by one, in batches of 100, or once behind the
/// last one. The end of a load is in batches, then one by one, so these meet a
/// base that is nearly full. Before the updates that are measured come others,
/// 4 for each 5 keys, so that a base has its garbage. Gets and scans come
/// behind the updates. Each side has a new file in each round, and the sides
/// alternate. Every value that is read is compared with the one that was put.
///
/// Changes are timed by the wall clock, with and without the time that syncs
/// take, which is the disk's; gets and scans, whose pages the system has
/// cached, by the processor's.
///
///     bench_kv_host [SIDE [SET]]    by their numbers: that side alone
// syscall() is no part of POSIX.
#define _DEFAULT_SOURCE

#include "bench/compare.h"
#include "bench/kv_io.h"
#include "bench/kv_load.h"
#include "bench/kv_own.h"
#include "bench/kv_peers.h"

static const char bench[] = "kv_host";

enum {
    ROUNDS = 3,
    EACH = 30,       ///< changes that are durable one by one
    EACH_MANY = 334, ///< of them, for p99.9 of all rounds: updates of a set
    BATCHES = 4,
    END = 2000,      ///< changes that end in one sync
    END_LONG = 1000, ///< the same, of values of 1,000 bytes
    GETS = 20000,
    SEED = 88172645,
};

enum load { LOAD_ALL, LOAD_UNIFORM, LOAD_ZIPF, LOAD_DELETE, LOAD_COUNT };

static const char *const load_names[LOAD_COUNT] = {"load", "update, uniform",
                                                   "update, zipf", "delete"};
static const char *const commit_names[KV_COMMIT_COUNT] = {"each", "each 100",
                                                          "at the end"};

/// The first ones are measured on all sets.
enum { SIDES_MAX = 10, SIDES_ALWAYS = 4 };

static struct kv_side sides[SIDES_MAX];

/* --------------------------------------------------------------- figures */

/// Of one load with one durability, on one side.
struct figures {
    double rate[ROUNDS];
    double beside[ROUNDS]; ///< rate without the time of syncs
    struct kv_io io;
    uint32_t changes;
    float *latency; ///< of all rounds
    uint32_t latencies;
};

/// Of one side on one set.
struct result {
    struct figures change[LOAD_COUNT][KV_COMMIT_COUNT];
    double get[ROUNDS];
    double scan[ROUNDS];
    uint64_t loaded_bytes;  ///< of the file
    uint64_t updated_bytes; ///< of the file
    uint64_t ram_bytes;
};

static int float_compare(const void *left, const void *right) {
    float a = *(const float *)left;
    float b = *(const float *)right;
    return (a > b) - (a < b);
}

static void latency_add(struct figures *figures, double seconds) {
    figures->latency[figures->latencies++] = (float)seconds;
}

/* ------------------------------------------------------------------ run */

/// One side's round on a set: what the base must have, and random numbers.
struct run {
    const struct kv_set *set;
    const struct kv_side *side;
    const uint32_t *order; ///< of the load; rank r of zipf is key order[r]
    const double *zipf;
    uint32_t *version; ///< of each key
    uint32_t *taken;   ///< [key]: number of the batch that has it
    uint32_t batch;
    uint32_t deleted;
    uint64_t random;
    uint32_t scanned;
};

/// The key of the next change. at: its number in the load.
static uint32_t key_next(struct run *run, enum load load, uint32_t at) {
    uint32_t keys = run->set->keys;
    uint32_t key = 0;
    switch (load) {
    case LOAD_ALL:
        return run->order[at];
    case LOAD_DELETE:
        return run->order[keys - 1 - at];
    default:
        /* A batch has different keys. */
        do {
            key = load == LOAD_UNIFORM
                      ? bench_random(&run->random, keys)
                      : run->order[kv_zipf_rank(&run->random, run->zipf, keys)];
        } while (run->taken[key] == run->batch);
        run->taken[key] = run->batch;
        return key;
    }
}

static void change(struct run *run, enum load load, uint32_t at) {
    const struct kv_side *side = run->side;
    char key[KV_KEY_BYTES];
    uint8_t value[KV_VALUE_BYTES_MAX];
    uint32_t number = key_next(run, load, at);
    kv_key(key, number);
    if (load == LOAD_DELETE) {
        side->remove(side->context, key);
        return;
    }
    run->version[number]++;
    kv_value(value, run->set->value_bytes, number, run->version[number]);
    side->put(side->context, key, value, run->set->value_bytes);
}

/// Makes changes from number `from` on, durable as `commit` says.
static void changes(struct run *run, struct figures *figures, uint32_t round,
                    enum load load, enum kv_commit commit, uint32_t from,
                    uint32_t count) {
    const struct kv_side *side = run->side;
    uint32_t group = commit == KV_COMMIT_EACH    ? 1
                     : commit == KV_COMMIT_BATCH ? KV_BATCH
                                                 : count;
    struct kv_io before = kv_io;
    uint64_t system = 0;
    uint64_t system_after = 0;
    BENCH_HOLDS(kv_io_system(&system));
    double start = kv_io_now_s();
    double last = start;
    for (uint32_t i = 0; i < count; i++) {
        if (i % group == 0) {
            /* Only a batch of 100 must have different keys. */
            run->batch++;
            side->begin(side->context, commit);
        }
        if (commit == KV_COMMIT_END) {
            run->batch++;
        }
        change(run, load, from + i);
        if ((i + 1) % group == 0) {
            side->commit(side->context);
        }
        if (commit == KV_COMMIT_END || (i + 1) % group == 0) {
            double now = kv_io_now_s();
            latency_add(figures, now - last);
            last = now;
        }
    }
    double took = kv_io_now_s() - start;
    figures->rate[round] = count / took;
    figures->beside[round] = count / (took - (kv_io.sync_s - before.sync_s));
    BENCH_HOLDS(kv_io_system(&system_after));
    BENCH_HOLDS(system_after - system == kv_io.bytes - before.bytes);
    BENCH_HOLDS(kv_io.syncs - before.syncs >= count / group);
    figures->changes += count;
    figures->io.bytes += kv_io.bytes - before.bytes;
    figures->io.blocks += kv_io.blocks - before.blocks;
    figures->io.syncs += kv_io.syncs - before.syncs;
}

/// Changes of a load with a durability.
static uint32_t change_count(const struct kv_set *set,
                             const struct kv_side *side, enum load load,
                             enum kv_commit commit) {
    switch (commit) {
    case KV_COMMIT_EACH:
        return set->all_sides && side < sides + SIDES_ALWAYS &&
                       load == LOAD_UNIFORM
                   ? EACH_MANY
                   : EACH;
    case KV_COMMIT_BATCH:
        return BATCHES * KV_BATCH;
    default:
        return set->value_bytes == KV_VALUE_BYTES_MAX ? END_LONG : END;
    }
}

/// Makes changes that are not measured. Their syncs are left out, and made up
/// for at the end.
static void unmeasured(struct run *run, enum load load, uint32_t count) {
    const struct kv_side *side = run->side;
    kv_syncs_are_off = true;
    side->begin(side->context, KV_COMMIT_END);
    for (uint32_t i = 0; i < count; i++) {
        run->batch++;
        change(run, load, i);
    }
    side->commit(side->context);
    kv_syncs_are_off = false;
    kv_io_flush(kv_own_path);
    kv_io_flush(kv_lmdb_path);
    kv_io_flush(kv_sqlite_path);
    kv_io_flush(kv_sqlite_log_path);
}

/// Keys that are put before the measured part of the load.
static uint32_t filled_count(const struct kv_set *set) {
    uint32_t count = set->keys;
    for (enum kv_commit commit = 0; commit < KV_COMMIT_COUNT; commit++) {
        count -= change_count(set, sides, LOAD_ALL, commit);
    }
    return count;
}

static void load_run(struct run *run, struct result *result, uint32_t round,
                     enum load load, uint32_t at) {
    static const enum kv_commit order[] = {KV_COMMIT_END, KV_COMMIT_BATCH,
                                           KV_COMMIT_EACH};
    for (uint32_t i = 0; i < KV_COMMIT_COUNT; i++) {
        uint32_t count = change_count(run->set, run->side, load, order[i]);
        changes(run, &result->change[load][order[i]], round, load, order[i], at,
                count);
        at += count;
    }
}

/// Ends the program unless the value is the newest of its key.
static void value_check(const struct run *run, uint32_t key, const void *value,
                        uint32_t bytes) {
    uint8_t wanted[KV_VALUE_BYTES_MAX];
    kv_value(wanted, run->set->value_bytes, key, run->version[key]);
    BENCH_HOLDS(bytes == run->set->value_bytes &&
                memcmp(value, wanted, bytes) == 0);
}

static void gets_run(struct run *run, double *rate) {
    const struct kv_side *side = run->side;
    char key[KV_KEY_BYTES];
    uint8_t value[KV_VALUE_BYTES_MAX];
    double start = compare_now_s();
    side->read_begin(side->context);
    for (uint32_t i = 0; i < GETS; i++) {
        uint32_t number = bench_random(&run->random, run->set->keys);
        kv_key(key, number);
        value_check(run, number, value, side->get(side->context, key, value));
    }
    side->read_end(side->context);
    *rate = GETS / (compare_now_s() - start);
}

static void scan_visit(void *context, const void *key, const void *value,
                       uint32_t bytes) {
    struct run *run = context;
    BENCH_HOLDS(kv_key_number(key) == run->scanned);
    value_check(run, run->scanned, value, bytes);
    run->scanned++;
}

static void scan_run(struct run *run, double *rate) {
    const struct kv_side *side = run->side;
    double start = compare_now_s();
    run->scanned = 0;
    side->read_begin(side->context);
    side->scan(side->context, scan_visit, run);
    side->read_end(side->context);
    *rate = run->set->keys / (compare_now_s() - start);
    BENCH_HOLDS(run->scanned == run->set->keys);
}

static void side_run(struct run *run, struct result *result, uint32_t round) {
    const struct kv_side *side = run->side;
    size_t bytes = run->set->keys * sizeof *run->version;
    memset(run->version, 0, bytes);
    memset(run->taken, 0, bytes);
    run->batch = 0;
    run->random = SEED;
    side->create(side->context, run->set);
    unmeasured(run, LOAD_ALL, filled_count(run->set));
    load_run(run, result, round, LOAD_ALL, filled_count(run->set));
    result->loaded_bytes = side->file_bytes(side->context);
    /* EskerDB's log goes round, the peers' pages are used again. */
    unmeasured(run, LOAD_UNIFORM, run->set->keys * 4 / 5);
    load_run(run, result, round, LOAD_UNIFORM, 0);
    load_run(run, result, round, LOAD_ZIPF, 0);
    result->updated_bytes = side->file_bytes(side->context);
    gets_run(run, &result->get[round]);
    scan_run(run, &result->scan[round]);
    load_run(run, result, round, LOAD_DELETE, 0);
    result->ram_bytes = side->ram_bytes(side->context);
    side->close(side->context);
}

/* -------------------------------------------------------------- printing */

#define figure(metric, value, unit, ...)                                       \
    bench_print(bench, metric, set, value, unit, __VA_ARGS__)

/// Largest minus smallest, in percent of the median.
static double spread(double *rates) {
    qsort(rates, ROUNDS, sizeof *rates, bench_compare);
    return 100 * (rates[ROUNDS - 1] - rates[0]) / rates[ROUNDS / 2];
}

static void figures_print(const struct kv_set *set, const char *side,
                          enum load load, enum kv_commit commit,
                          struct figures *figures) {
    char config[BENCH_TEXT_BYTES];
    double count = figures->changes;
    uint32_t latencies = figures->latencies;
    double part = spread(figures->rate);
    double beside = spread(figures->beside);
    snprintf(config, sizeof config, "%s; %s; %s", side, load_names[load],
             commit_names[commit]);
    qsort(figures->latency, latencies, sizeof *figures->latency, float_compare);
    figure("changes a second", figures->rate[ROUNDS / 2], "", "%s", config);
    figure("changes a second, spread", part, "%", "%s", config);
    figure("changes a second beside syncs", figures->beside[ROUNDS / 2], "",
           "%s", config);
    figure("changes a second beside syncs, spread", beside, "%", "%s", config);
    figure("bytes written a change", (double)figures->io.bytes / count, "B",
           "%s", config);
    figure("bytes of blocks written a change",
           KV_IO_BLOCK_BYTES * (double)figures->io.blocks / count, "B", "%s",
           config);
    figure("syncs a change", (double)figures->io.syncs / count, "", "%s",
           config);
    figure("latency, p99.9", 1e3 * figures->latency[latencies * 999ull / 1000],
           "ms", "%s", config);
    figure("latency, max", 1e3 * figures->latency[latencies - 1], "ms", "%s",
           config);
}

static void result_print(const struct kv_set *set, const char *side,
                         struct result *result) {
    double net = (double)set->keys * (KV_KEY_BYTES + set->value_bytes);
    for (enum load load = 0; load < LOAD_COUNT; load++) {
        for (enum kv_commit commit = 0; commit < KV_COMMIT_COUNT; commit++) {
            figures_print(set, side, load, commit,
                          &result->change[load][commit]);
        }
    }
    double part = spread(result->get);
    figure("gets a second", result->get[ROUNDS / 2], "", "%s", side);
    figure("gets a second, spread", part, "%", "%s", side);
    part = spread(result->scan);
    figure("keys a second of a scan", result->scan[ROUNDS / 2], "", "%s", side);
    figure("keys a second of a scan, spread", part, "%", "%s", side);
    figure("file, loaded", (double)result->loaded_bytes, "B", "%s", side);
    figure("file, updated", (double)result->updated_bytes, "B", "%s", side);
    figure("file over keys and values", (double)result->updated_bytes / net,
           "times", "%s", side);
    if (result->ram_bytes != 0) {
        figure("RAM", (double)result->ram_bytes, "B", "%s", side);
    }
}

/* ------------------------------------------------------------------ main */

static void sides_make(void) {
    static struct kv_own owns[] = {
        {.page_bytes = 4096, .indexed = true},
        {.page_bytes = 16384, .indexed = true},
        {.page_bytes = 4096, .indexed = true, .cache_kib = 2000},
        {.page_bytes = 4096, .indexed = false},
    };
    static struct kv_lmdb lmdb;
    static struct kv_sqlite sqlite[] = {
        {.wal = true},
        {.wal = true, .rowid = true},
        {.wal = false},
        {.wal = false, .rowid = true},
        {.wal = true, .cache_kib = 84},
    };
    sides[0] = kv_own_side("EskerDB", &owns[0]);
    sides[1] = kv_lmdb_side("LMDB", &lmdb);
    sides[2] = kv_sqlite_side("SQLite WAL", &sqlite[0]);
    sides[3] = kv_sqlite_side("SQLite WAL, rowid", &sqlite[1]);
    sides[4] = kv_sqlite_side("SQLite DELETE", &sqlite[2]);
    sides[5] = kv_sqlite_side("SQLite DELETE, rowid", &sqlite[3]);
    sides[6] = kv_own_side("EskerDB, pages of 16 KiB", &owns[1]);
    sides[7] = kv_own_side("EskerDB, 2,000 KiB", &owns[2]);
    sides[8] = kv_own_side("EskerDB, keys in RAM", &owns[3]);
    sides[9] = kv_sqlite_side("SQLite WAL, 84 KiB", &sqlite[4]);
}

static void latencies_make(const struct kv_set *set, const struct kv_side *side,
                           struct result *result) {
    for (enum load load = 0; load < LOAD_COUNT; load++) {
        for (enum kv_commit commit = 0; commit < KV_COMMIT_COUNT; commit++) {
            uint32_t count = change_count(set, side, load, commit);
            result->change[load][commit].latency =
                bench_memory(ROUNDS * count * sizeof(float));
        }
    }
}

static void latencies_free(struct result *result) {
    for (enum load load = 0; load < LOAD_COUNT; load++) {
        for (enum kv_commit commit = 0; commit < KV_COMMIT_COUNT; commit++) {
            free(result->change[load][commit].latency);
        }
    }
}

/// How long the disk takes to sync a block now: what all sides wait for.
static void disk_print(const struct kv_set *set) {
    static const char path[] = "build/bench/kv.block";
    enum { SYNCS = 51 };
    static const uint8_t block[KV_IO_BLOCK_BYTES];
    double seconds[SYNCS];
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    for (uint32_t i = 0; i < SYNCS; i++) {
        double start = kv_io_now_s();
        BENCH_HOLDS(pwrite(descriptor, block, sizeof block, 0) ==
                    (ssize_t)sizeof block);
        BENCH_HOLDS(fsync(descriptor) == 0);
        seconds[i] = kv_io_now_s() - start;
    }
    BENCH_HOLDS(close(descriptor) == 0);
    (void)unlink(path);
    qsort(seconds, SYNCS, sizeof *seconds, bench_compare);
    figure("write and fsync of a block", 1e3 * seconds[SYNCS / 2], "ms",
           "before the rounds");
}

/// Measures sides first .. last - 1 on a set.
static void set_run(const struct kv_set *set, uint32_t first, uint32_t last) {
    static struct result results[SIDES_MAX];
    uint32_t *order = kv_shuffled(set->keys, SEED);
    double *zipf = kv_zipf_sums(set->keys);
    struct run run = {.set = set, .order = order, .zipf = zipf};
    run.version = bench_memory(set->keys * sizeof *run.version);
    run.taken = bench_memory(set->keys * sizeof *run.taken);
    memset(results, 0, sizeof results);
    for (uint32_t i = first; i < last; i++) {
        latencies_make(set, &sides[i], &results[i]);
    }
    disk_print(set);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = first; i < last; i++) {
            run.side = &sides[i];
            side_run(&run, &results[i], round);
        }
    }
    for (uint32_t i = first; i < last; i++) {
        result_print(set, sides[i].name, &results[i]);
        latencies_free(&results[i]);
    }
    free(order);
    free(zipf);
    free(run.version);
    free(run.taken);
}

int main(int count, char **arguments) {
    static const struct kv_set sets[] = {
        {"100 B, 100,000 keys", 100000, 100, 16, true},
        {"100 B, 10,000 keys", 10000, 100, 16, false},
        {"16 B, 100,000 keys", 100000, 16, 8, false},
        {"16 B, 10,000 keys", 10000, 16, 8, false},
        {"1,000 B, 100,000 keys", 100000, 1000, 128, false},
        {"1,000 B, 10,000 keys", 10000, 1000, 128, false},
    };
    uint64_t bytes = 0;
    if (!kv_io_system(&bytes)) {
        printf("skipped kv_host: no /proc/self/io to count bytes by\n");
        return 0;
    }
    (void)mkdir("build", 0777);
    (void)mkdir("build/bench", 0777);
    sides_make();
    if (count > 1) {
        uint32_t side = (uint32_t)atoi(arguments[1]);
        BENCH_HOLDS(side < SIDES_MAX);
        const struct kv_set *set = &sets[count > 2 ? atoi(arguments[2]) : 0];
        set_run(set, side, side + 1);
        bench_print(bench, "syncs in all", set, (double)kv_io.syncs, "", "%s",
                    sides[side].name);
        return 0;
    }
    compare_load_print(bench, "load average at the start");
    for (uint32_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        set_run(&sets[i], 0, sets[i].all_sides ? SIDES_MAX : SIDES_ALWAYS);
    }
    return 0;
}
