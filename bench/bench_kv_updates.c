// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Updates of a kv table, each made durable: bytes programmed, erases, program
/// calls, page reads; the reads of an open and of a get; RAM; wear.
///
///     settings: 60 keys of 10 characters in 3 or 4 sectors of 4 KB
///     store:    10,000 keys in 1 MB, at shares of live bytes
///     loads:    uniform, zipf (0.99), four hot keys beside cold ones
#include <math.h>

#include "bench/bench.h"
#include "port/sim/sim.h"

static const char bench[] = "kv_updates";

enum {
    UPDATES = 5000,
    WARM_UPDATES = 3000,
    GETS = 1000,
    KEYS_MAX = 10000,
    ARENA_BYTES = 1 << 20,
    HOT_KEYS = 4,
    SECTOR_PAGES = 16,
    PAGE_BYTES = 256,
};

enum load { UNIFORM, ZIPF, HOT, LOADS };

static const char *const load_names[LOADS] = {"uniform", "zipf", "4 hot keys"};

struct kv_set {
    const char *name;
    uint32_t keys;
    uint16_t key_bytes;
    uint16_t value_bytes;
    uint32_t blocks;
    uint16_t page_bytes;
    uint8_t live_percent;
    uint32_t table_bytes;  ///< of the pending table; 0: no index
    uint32_t replay_pages; ///< as in struct esk_kv_config
};

enum { INDEX_SLOT_BYTES = 6, RECORD_BYTES = 43 };

/// Keys of which a pending table of so many bytes has the slots.
static uint32_t pending_keys(const struct kv_set *set) {
    return set->table_bytes == 0
               ? set->keys
               : (set->table_bytes / INDEX_SLOT_BYTES - 1) * 8 / 9;
}

static uint32_t arena_bytes(const struct kv_set *set, uint32_t log_bytes) {
    return set->table_bytes == 0
               ? ESK_KV_ARENA_BYTES(set->page_bytes, set->keys, log_bytes)
               : ESK_KV_INDEX_ARENA_BYTES(set->page_bytes, pending_keys(set),
                                          log_bytes, set->keys);
}

static struct esk_sim *sim;
static struct esk_volume volume;
static struct esk_kv *kv;
static uint64_t arena[ARENA_BYTES / 8];
static uint64_t state = 88172645463325252u;
static double zipf_sum[KEYS_MAX];

static void key_make(const struct kv_set *set, uint32_t key, char *text) {
    memset(text, '0', set->key_bytes);
    for (uint16_t at = set->key_bytes; key > 0; key /= 10) {
        text[--at] = (char)('0' + key % 10);
    }
}

static void zipf_make(uint32_t keys) {
    double sum = 0;
    for (uint32_t i = 0; i < keys; i++) {
        sum += 1 / pow(i + 1.0, 0.99);
        zipf_sum[i] = sum;
    }
}

static uint32_t key_draw(const struct kv_set *set, enum load load) {
    if (load == HOT) {
        return bench_random(&state, HOT_KEYS);
    }
    if (load == UNIFORM) {
        return bench_random(&state, set->keys);
    }
    double wanted = zipf_sum[set->keys - 1] *
                    (bench_random(&state, 1u << 30) / (double)(1u << 30));
    uint32_t low = 0;
    uint32_t high = set->keys - 1;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (zipf_sum[middle] < wanted) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void put(const struct kv_set *set, uint32_t key) {
    char text[32];
    uint8_t value[256];
    key_make(set, key, text);
    for (uint16_t i = 0; i < set->value_bytes; i++) {
        value[i] = (uint8_t)bench_random(&state, 256);
    }
    BENCH_DO(esk_kv_put(kv, text, (uint8_t)set->key_bytes, value,
                        set->value_bytes, ESK_KV_BYTES));
    BENCH_DO(esk_kv_sync(kv));
}

static void table_open(const struct kv_set *set) {
    const struct esk_kv_config config = {
        .keys = pending_keys(set),
        .part = set->table_bytes != 0 ? &esk_kv_part_index : NULL,
        .replay_pages = set->replay_pages};
    BENCH_DO(
        esk_volume_mount(&volume, esk_sim_device(sim), 0, arena, sizeof arena));
    BENCH_DO(esk_kv_open(&kv, &volume, set->name, &config));
}

static void table_make(const struct kv_set *set) {
    const struct esk_sim_config config = {
        .geometry = {.block_count = set->blocks + 60,
                     .block_pages = (uint16_t)(SECTOR_PAGES * PAGE_BYTES /
                                               set->page_bytes),
                     .page_bytes = set->page_bytes,
                     .program_bytes = 1,
                     .erased_value = 0xFF},
        .seed = 1};
    const struct esk_volume_config format = {.uuid = {3}, .tables_max = 1};
    const struct esk_kv_spec spec = {.name = set->name,
                                     .blocks = set->blocks,
                                     .live_percent = set->live_percent,
                                     .index_keys =
                                         set->table_bytes != 0 ? set->keys : 0};
    BENCH_DO(esk_sim_create(&sim, &config));
    BENCH_DO(
        esk_volume_format(esk_sim_device(sim), &format, arena, sizeof arena));
    BENCH_DO(
        esk_volume_mount(&volume, esk_sim_device(sim), 0, arena, sizeof arena));
    BENCH_DO(esk_kv_create(&volume, &spec, NULL));
    table_open(set);
    for (uint32_t key = 0; key < set->keys; key++) {
        put(set, key);
    }
}

#define figure(metric, value, unit)                                            \
    bench_print(bench, metric, set, value, unit,                               \
                "%u B values, %u blocks, pages of %u, %s", set->value_bytes,   \
                (unsigned)set->blocks, set->page_bytes, load_names[load])

/// Makes updates and prints what they cost.
static void updates_measure(const struct kv_set *set, enum load load) {
    static double programs[UPDATES];
    const struct esk_sim_counters *counters = esk_sim_counters(sim);
    uint32_t updates = set->keys > 1000 ? 4 * UPDATES : UPDATES;
    uint32_t warm = set->keys > 1000 ? 4 * set->keys : WARM_UPDATES;
    double total = 0;
    double most_reads = 0;
    for (uint32_t i = 0; i < warm; i++) {
        put(set, key_draw(set, load));
    }
    struct esk_sim_counters before = *counters;
    for (uint32_t i = 0; i < updates; i++) {
        uint64_t programs_before = counters->programs;
        uint64_t reads_before = counters->reads;
        put(set, key_draw(set, load));
        double cost = (double)(counters->programs - programs_before);
        double reads = (double)(counters->reads - reads_before);
        total += cost;
        most_reads = reads > most_reads ? reads : most_reads;
        if (i >= updates - UPDATES) {
            programs[i - (updates - UPDATES)] = cost;
        }
    }
    double count = updates;
    qsort(programs, UPDATES, sizeof programs[0], bench_compare);
    figure("bytes programmed an update",
           (double)(counters->bytes_programmed - before.bytes_programmed) /
               count,
           "B");
    figure("erases a thousand updates",
           1000 * (double)(counters->erases - before.erases) / count, "");
    figure("programs an update, mean", total / count, "");
    figure("programs an update, p99.9", programs[UPDATES * 999 / 1000], "");
    figure("programs an update, max", programs[UPDATES - 1], "");
    figure("reads an update, max", most_reads, "");
}

static void open_measure(const struct kv_set *set, enum load load) {
    const struct esk_sim_counters *counters = esk_sim_counters(sim);
    struct esk_kv_stats stats;
    struct esk_sim_wear wear;
    esk_kv_close(kv);
    struct esk_sim_counters before = *counters;
    table_open(set);
    esk_kv_stats(kv, &stats);
    figure("page reads to open", stats.page_reads, "");
    figure("bytes read to mount and open",
           (double)(counters->bytes_read - before.bytes_read), "B");
    figure("live bytes of what they may take",
           100.0 * stats.live_bytes / stats.live_max, "%");
    uint32_t reads = stats.page_reads;
    for (uint32_t i = 0; i < GETS; i++) {
        char text[32];
        uint8_t value[256];
        key_make(set, bench_random(&state, set->keys), text);
        BENCH_DO(esk_kv_get(kv, text, (uint8_t)set->key_bytes, value,
                            sizeof value, NULL, NULL));
    }
    esk_kv_stats(kv, &stats);
    figure("page reads a get", (stats.page_reads - reads) / (double)GETS, "");
    esk_sim_wear(sim, 3, set->blocks, &wear);
    figure("wear, max over mean", wear.max * 1000.0 / wear.mean_milli, "");
    figure("RAM, arena",
           arena_bytes(set, set->blocks * SECTOR_PAGES * PAGE_BYTES), "B");
    esk_kv_close(kv);
}

static void set_measure(const struct kv_set *set, enum load load) {
    table_make(set);
    updates_measure(set, load);
    open_measure(set, load);
    esk_sim_destroy(sim);
    sim = NULL;
}

/// Prints the arena of tables of more and more keys, in logs twice their bytes.
static void rams_print(void) {
    static const uint32_t counts[] = {60,    250,   1000,  4000,
                                      10000, 40000, 100000};
    static const struct {
        const char *name;
        uint32_t table_bytes;
    } tables[] = {{"all keys", 0}, {"16 KB", 16384}, {"4 KB", 4096}};
    struct kv_set set = {.name = "RAM", .page_bytes = 256};
    for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (unsigned t = 0; t < sizeof tables / sizeof tables[0]; t++) {
            set.keys = counts[i];
            set.table_bytes = tables[t].table_bytes;
            bench_print(bench, "RAM, arena", &set,
                        arena_bytes(&set, 2 * RECORD_BYTES * set.keys), "B",
                        "%lu keys, %s", (unsigned long)set.keys,
                        tables[t].name);
        }
    }
}

int main(void) {
    static const uint16_t values[] = {8, 32, 64};
    static const uint32_t shares[] = {214, 154, 128};
    static const struct table {
        const char *name;
        uint32_t bytes; ///< of the pending table; 0: all keys
        uint32_t replay_pages;
        enum load loads;
    } tables[] = {{"store", 0, 0, LOADS},
                  {"store, 16 KB", 16384, 0, LOADS},
                  {"store, 16 KB, short opens", 16384, 384, ZIPF},
                  {"store, 4 KB", 4096, 0, LOADS}};
    for (uint32_t blocks = 4; blocks >= 3; blocks--) {
        for (unsigned i = 0; i < 3; i++) {
            const struct kv_set set = {"settings", 60, 10, values[i], blocks,
                                       256,        95, 0,  0};
            zipf_make(set.keys);
            for (enum load load = UNIFORM; load < LOADS; load++) {
                set_measure(&set, load);
            }
        }
    }
    const struct kv_set small = {"settings", 60, 10, 32, 4, 128, 95, 0, 0};
    set_measure(&small, UNIFORM);
    for (unsigned i = 0; i < 3 * sizeof tables / sizeof tables[0]; i++) {
        const struct table *table = &tables[i / 3];
        const struct kv_set set = {table->name,        10000, 8,  32,
                                   shares[i % 3],      256,   95, table->bytes,
                                   table->replay_pages};
        zipf_make(set.keys);
        for (enum load load = UNIFORM; load < table->loads; load++) {
            set_measure(&set, load);
        }
    }
    rams_print();
    return 0;
}
