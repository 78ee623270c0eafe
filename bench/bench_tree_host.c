// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Trees in a file beside SQLite and LMDB, in the same run.
///
///     put      ROWS random rows into a new file, a commit each 1, 100,
///              10,000 rows: bytes written a row, and time
///     get      random rows, ranges of 100 rows, a full scan: time
///
/// Bytes are those that the process passes to write calls: `wchar` of
/// /proc/self/io, the same counter for all sides, without making the empty
/// file. Every side's commit is durable when it returns: EskerDB's through the
/// driver's fsync, SQLite's with synchronous FULL, LMDB's by default. SQLite
/// writes its log back into its base as it does by default. All sides get the
/// same rows in the same order: those of a commit by rising keys. EskerDB puts
/// them together and syncs, in an atomic batch like the peers' transactions.
/// Its file is the driver's own, erase and sync included.
///
/// By pread, EskerDB and SQLite have the same RAM for pages: 1 MB, and for
/// reads also SQLite's default. EskerDB's is a pool of a few frames and a page
/// cache between pool and file. Mapped, the system caches the pages of all
/// sides, and EskerDB has its few frames.
///
/// A time is the processor's, with the kernel's. A figure is the ratio of
/// medians of alternating rounds, to two digits: above 1 EskerDB is faster. All
/// sides compute the same sum over the rows that they read.
#include <sys/stat.h>
#include <unistd.h>

#include "bench/compare.h"
#include "bench/tree_bench.h"
#include "bench/tree_peers.h"
#include "flash/envelope_format.h"
#include "index/btree/btree.h"
#include "pool/pool.h"
#include "port/page_cache/page_cache.h"
#include "port/posix_file/posix_file.h"

static const char bench[] = "tree_host";

enum {
    ROWS = 100000,
    GETS = 100000,
    RANGES = 5000,
    RANGE_ROWS = 100,
    PUT_ROUNDS = 3,
    ROUNDS = 9,
    CACHE_KIB = 1024,         ///< SQLite's, and frames and page cache together
    CACHE_KIB_DEFAULT = 2000, ///< SQLite's default
    FRAMES = 16,
    BLOCK_PAGES = 16,
    BATCH_PAGES = 4096, ///< in place: 16 KB of RAM
};

static const uint32_t intervals[3] = {1, 100, 10000};

/* ------------------------------------------------------------- EskerDB */

/// A store on pages of a size, in a file.
struct own {
    const char *name;
    struct tree_shape shape;
    uint16_t page_bytes;
    uint32_t image_bytes;
    uint32_t cache_kib; ///< of RAM for pages, unless it is mapped
    bool mapped;
    const char *path;
    struct esk_posix_file file;
    struct esk_page_cache cache; ///< over the file, unless it is mapped
    void *cache_memory;
    struct tree_table table;
    uint8_t *rows; ///< those of the open commit
    uint32_t row_count;
};

static void own_create(void *context) {
    struct own *own = context;
    uint32_t block = (uint32_t)BLOCK_PAGES * own->page_bytes;
    struct esk_geometry geometry = {.block_count = own->image_bytes / block,
                                    .block_pages = BLOCK_PAGES,
                                    .page_bytes = own->page_bytes,
                                    .program_bytes = own->page_bytes,
                                    .erased_value = 0xFF,
                                    .flags = ESK_MEDIUM_OVERWRITE};
    (void)unlink(own->path);
    BENCH_DO(esk_posix_file_create(&own->file, own->path, &geometry,
                                   own->mapped ? ESK_POSIX_FILE_MMAP : 0u));
    const struct esk_device *device = &own->file.device;
    if (!own->mapped) {
        size_t bytes = (size_t)own->cache_kib * 1024 -
                       ESK_POOL_BYTES(own->page_bytes, FRAMES, 1);
        own->cache_memory = bench_memory(bytes);
        BENCH_DO(
            esk_page_cache_init(&own->cache, device, own->cache_memory, bytes));
        device = &own->cache.device;
    }
    tree_create(&own->table, device, &own->shape);
    tree_open(&own->table, device, &own->shape, 0);
    own->rows = bench_memory((size_t)intervals[2] * PEER_ROW_BYTES);
    own->row_count = 0;
}

static void own_put(void *context, const uint8_t *row) {
    struct own *own = context;
    memcpy(own->rows + (size_t)own->row_count * PEER_ROW_BYTES, row,
           PEER_ROW_BYTES);
    own->row_count++;
}

static void own_commit(void *context) {
    struct own *own = context;
    uint32_t done = 0;
    bool batched = own->row_count > 1;
    if (batched) {
        /* A page for each leaf, and pages for splits and the levels above. */
        struct esk_tree_stats stats;
        esk_tree_stats(own->table.tree, &stats);
        uint32_t leaves =
            own->row_count < stats.nodes ? own->row_count : stats.nodes;
        BENCH_DO(esk_tree_begin(own->table.tree,
                                leaves + own->row_count / 8u + BLOCK_PAGES));
    }
    BENCH_DO(
        esk_tree_put_many(own->table.tree, own->rows, own->row_count, &done));
    BENCH_HOLDS(done == own->row_count);
    if (batched) {
        BENCH_DO(esk_tree_commit(own->table.tree));
    }
    BENCH_DO(esk_tree_sync(own->table.tree));
    own->row_count = 0;
}

static uint64_t own_get(void *context, uint32_t key) {
    struct own *own = context;
    uint8_t row[PEER_ROW_BYTES];
    BENCH_DO(esk_tree_get(own->table.tree, &key, row));
    return peer_sum(row);
}

static uint64_t own_range(void *context, uint32_t from, uint32_t count) {
    struct own *own = context;
    struct esk_tree_cursor cursor;
    struct esk_tree_query query = {.key_min = &from};
    uint8_t row[PEER_ROW_BYTES];
    uint64_t sum = 0;
    BENCH_DO(esk_tree_cursor_open(own->table.tree, &cursor, &query));
    while (count-- > 0 &&
           esk_tree_cursor_next(own->table.tree, &cursor, row) == ESK_OK) {
        sum += peer_sum(row);
    }
    return sum;
}

static uint64_t own_bytes(void *context) {
    struct own *own = context;
    struct esk_tree_stats stats;
    esk_tree_stats(own->table.tree, &stats);
    return (uint64_t)stats.nodes * own->page_bytes;
}

/// Bytes of entries and heads in the page that a put of one row writes, on
/// average over the leaves: a path for mu, else a leaf. A driver that programs
/// nothing else would write these.
static double own_live_bytes(struct own *own) {
    struct esk_tree_walk walk;
    struct esk_tree_node node;
    bool shares = own->shape.store_id == ESK_STORE_MU;
    uint32_t used[ESK_TREE_HEIGHT_MAX + 2] = {0}; /* by level, and above */
    uint32_t leaves = 0;
    double sum = 0;
    BENCH_DO(esk_tree_walk_open(own->table.tree, &walk));
    while (esk_tree_walk_next(own->table.tree, &walk, &node) == ESK_OK) {
        used[node.level] = shares ? used[node.level + 1] : 0;
        used[node.level] += shares ? ESK_TREE_NODE_HEAD : 0;
        used[node.level] +=
            node.count * (node.level == 1 ? PEER_ROW_BYTES : 8u);
        if (node.level == 1) {
            sum += (shares ? ESK_TREE_PAGE_BODY : ESK_ENVELOPE_BYTES) + used[1];
            leaves++;
        }
    }
    return sum / leaves;
}

static void own_close(void *context) {
    struct own *own = context;
    tree_close(&own->table);
    BENCH_DO(esk_posix_file_close(&own->file));
    (void)unlink(own->path);
    free(own->rows);
    free(own->cache_memory);
    own->cache_memory = NULL;
}

/* ------------------------------------------------------------- cmp */

/// Bytes this process handed to write calls; false without /proc.
static bool written_bytes(uint64_t *bytes) {
    char line[64];
    bool found = false;
    FILE *file = fopen("/proc/self/io", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        found |= sscanf(line, "wchar: %" SCNu64, bytes) == 1;
    }
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

enum side {
    SIDE_MU,
    SIDE_MU_SMALL,
    SIDE_INPLACE,
    SIDE_SQLITE,
    SIDE_LMDB,
    SIDE_COUNT
};
enum { OWN_COUNT = SIDE_SQLITE };

enum reading { READ_GET, READ_RANGE, READ_SCAN, READ_COUNT };
static const char *const reading_names[READ_COUNT] = {
    "file, random get", "file, range of 100", "file, full scan"};

static const struct tree_set random_set = {"random"};

static int key_compare(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/// The keys with those of each commit in order. The caller frees them.
static uint32_t *keys_of_commits(const uint32_t *keys, uint32_t interval) {
    uint32_t *ordered = bench_memory(ROWS * sizeof *ordered);
    memcpy(ordered, keys, ROWS * sizeof *ordered);
    for (uint32_t i = 0; i < ROWS; i += interval) {
        uint32_t count = ROWS - i < interval ? ROWS - i : interval;
        qsort(ordered + i, count, sizeof *ordered, key_compare);
    }
    return ordered;
}

static void fill(const struct peer *side, const uint32_t *keys,
                 uint32_t interval) {
    uint8_t row[PEER_ROW_BYTES];
    side->begin(side->context);
    for (uint32_t i = 0; i < ROWS; i++) {
        tree_row(row, keys[i], PEER_ROW_BYTES);
        side->put(side->context, row);
        if ((i + 1) % interval == 0) {
            side->commit(side->context);
            if (i + 1 < ROWS) {
                side->begin(side->context);
            }
        }
    }
}

static void measure_puts(struct peer *sides, const uint32_t *keys,
                         const char *label) {
    for (uint32_t i = 0; i < 3; i++) {
        double seconds[SIDE_COUNT][PUT_ROUNDS];
        double bytes[SIDE_COUNT];
        uint32_t *ordered = keys_of_commits(keys, intervals[i]);
        /* 100,000 syncs of each side take a minute or two: once. */
        uint32_t rounds = intervals[i] == 1 ? 1 : PUT_ROUNDS;
        for (uint32_t round = 0; round < rounds; round++) {
            for (uint32_t s = 0; s < SIDE_COUNT; s++) {
                uint64_t before = 0;
                uint64_t after = 0;
                sides[s].create(sides[s].context);
                BENCH_HOLDS(written_bytes(&before));
                double start = compare_now_s();
                fill(&sides[s], ordered, intervals[i]);
                seconds[s][round] = compare_now_s() - start;
                BENCH_HOLDS(written_bytes(&after));
                bytes[s] = (double)(after - before) / ROWS;
                if (i == 2 && round == 0) {
                    bench_print(bench, "file, bytes of the base", &random_set,
                                sides[s].bytes(sides[s].context), "B", "%s; %s",
                                sides[s].name, label);
                }
                if (i == 0 && round == 0 && s < OWN_COUNT) {
                    bench_print(bench, "file, live bytes of a put's page",
                                &random_set, own_live_bytes(sides[s].context),
                                "B", "%s; %s", sides[s].name, label);
                }
                sides[s].close(sides[s].context);
            }
        }
        free(ordered);
        for (uint32_t s = 0; s < SIDE_COUNT; s++) {
            bench_print(bench, "file, bytes written a put", &random_set,
                        bytes[s], "B", "%s; a commit every %u; %s",
                        sides[s].name, intervals[i], label);
        }
        for (uint32_t s = 0; s < OWN_COUNT; s++) {
            for (uint32_t o = SIDE_SQLITE; o < SIDE_COUNT; o++) {
                bench_print(bench, "file, fewer bytes a put", &random_set,
                            compare_digits(bytes[o] / bytes[s]), "times",
                            "%s over %s; a commit every %u; %s", sides[o].name,
                            sides[s].name, intervals[i], label);
                bench_print(bench, "file, put", &random_set,
                            compare_ratio(seconds[o], seconds[s], rounds),
                            "times", "%s over %s; a commit every %u; %s",
                            sides[o].name, sides[s].name, intervals[i], label);
            }
        }
    }
}

static uint64_t read_once(const struct peer *side, enum reading reading) {
    uint64_t random = LOAD_SEED;
    uint64_t sum = 0;
    side->read_begin(side->context);
    switch (reading) {
    case READ_GET:
        for (uint32_t i = 0; i < GETS; i++) {
            sum += side->get(side->context, bench_random(&random, ROWS));
        }
        break;
    case READ_RANGE:
        for (uint32_t i = 0; i < RANGES; i++) {
            sum += side->range(side->context,
                               bench_random(&random, ROWS - RANGE_ROWS),
                               RANGE_ROWS);
        }
        break;
    default:
        sum = side->range(side->context, 0, ROWS);
        break;
    }
    side->read_end(side->context);
    return sum;
}

static void measure_reads(struct peer *sides, const uint32_t *keys,
                          const char *label) {
    static double seconds[READ_COUNT][SIDE_COUNT][ROUNDS];
    uint32_t *ordered = keys_of_commits(keys, intervals[2]);
    for (uint32_t s = 0; s < SIDE_COUNT; s++) {
        sides[s].create(sides[s].context);
        fill(&sides[s], ordered, intervals[2]);
    }
    free(ordered);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (enum reading reading = 0; reading < READ_COUNT; reading++) {
            uint64_t sums[SIDE_COUNT];
            for (uint32_t s = 0; s < SIDE_COUNT; s++) {
                double start = compare_now_s();
                sums[s] = read_once(&sides[s], reading);
                seconds[reading][s][round] = compare_now_s() - start;
                BENCH_HOLDS(sums[s] == sums[0]);
            }
        }
    }
    for (enum reading reading = 0; reading < READ_COUNT; reading++) {
        for (uint32_t s = 0; s < OWN_COUNT; s++) {
            for (uint32_t o = SIDE_SQLITE; o < SIDE_COUNT; o++) {
                bench_print(bench, reading_names[reading], &random_set,
                            compare_ratio(seconds[reading][o],
                                          seconds[reading][s], ROUNDS),
                            "times", "%s over %s; %s", sides[o].name,
                            sides[s].name, label);
            }
        }
    }
    for (uint32_t s = 0; s < SIDE_COUNT; s++) {
        sides[s].close(sides[s].context);
    }
}

/// The planner's k for the rows; 0 if there is none.
static uint8_t best_k(const struct own *own) {
    struct esk_tree_need need = {.rows = ROWS,
                                 .block_pages = BLOCK_PAGES,
                                 .page_bytes = own->page_bytes,
                                 .leaf_entry_bytes = PEER_ROW_BYTES,
                                 .index_entry_bytes = 8,
                                 .store = own->shape.store_id};
    uint8_t k = 0;
    if (own->shape.store_id == ESK_STORE_MU) {
        esk_tree_plan_headers(&need);
        BENCH_DO(esk_tree_plan_best_k(&need, &k));
    }
    return k;
}

/// How the sides cache their pages: all mapped, or a cache of so many KiB.
enum having { HAVING_CACHE, HAVING_DEFAULT_CACHE, HAVING_MAPS, HAVING_COUNT };

static const char *const having_names[HAVING_COUNT] = {
    "1 MB of RAM, by pread; LMDB maps",
    "2,000 KiB of RAM, SQLite's default, by pread; LMDB maps", "all map"};

static void cmp(enum having having) {
    bool mapped = having == HAVING_MAPS;
    bool by_default = having == HAVING_DEFAULT_CACHE;
    static struct own owns[OWN_COUNT];
    struct peer sides[SIDE_COUNT];
    uint32_t *keys = load_shuffled(ROWS, LOAD_SEED);
    const char *label = having_names[having];
    owns[SIDE_MU] = (struct own){.name = "mu, pages of 4 KiB",
                                 .shape = {.store = &esk_store_mu,
                                           .store_id = ESK_STORE_MU,
                                           .frames = FRAMES},
                                 .page_bytes = 4096,
                                 .path = "build/bench/tree_mu.img"};
    owns[SIDE_MU_SMALL] = owns[SIDE_MU];
    owns[SIDE_MU_SMALL].name = "mu, pages of 1 KiB";
    owns[SIDE_MU_SMALL].page_bytes = 1024;
    owns[SIDE_MU_SMALL].path = "build/bench/tree_mu_small.img";
    owns[SIDE_INPLACE] = (struct own){.name = "inplace, pages of 4 KiB",
                                      .shape = {.store = &esk_store_inplace,
                                                .store_id = ESK_STORE_INPLACE,
                                                .frames = FRAMES,
                                                .batch_pages = BATCH_PAGES},
                                      .page_bytes = 4096,
                                      .path = "build/bench/tree_inplace.img"};
    for (uint32_t s = 0; s < OWN_COUNT; s++) {
        owns[s].shape.row_bytes = PEER_ROW_BYTES;
        owns[s].shape.k_percent = best_k(&owns[s]);
        owns[s].image_bytes = 32u << 20;
        owns[s].cache_kib = by_default ? CACHE_KIB_DEFAULT : CACHE_KIB;
        owns[s].mapped = mapped;
        sides[s] = (struct peer){
            .name = owns[s].name,
            .context = &owns[s],
            .create = own_create,
            .begin = peer_nothing,
            .put = own_put,
            .commit = own_commit,
            .read_begin = peer_nothing,
            .get = own_get,
            .range = own_range,
            .read_end = peer_nothing,
            .bytes = own_bytes,
            .close = own_close,
        };
    }
    sides[SIDE_SQLITE] = peer_sqlite(mapped, by_default ? 0 : CACHE_KIB);
    sides[SIDE_LMDB] = peer_lmdb();
    if (having == HAVING_CACHE) {
        measure_puts(sides, keys, label);
    }
    measure_reads(sides, keys, label);
    free(keys);
}

int main(void) {
    uint64_t bytes = 0;
    if (!written_bytes(&bytes)) {
        printf("skipped tree_host: no /proc/self/io to count bytes by\n");
        return 0;
    }
    compare_load_print(bench, "file, load average at the start");
    (void)mkdir("build", 0777);
    (void)mkdir("build/bench", 0777);
    for (enum having having = 0; having < HAVING_COUNT; having++) {
        cmp(having);
    }
    return 0;
}
