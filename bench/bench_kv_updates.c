// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Updates of a kv table, each made durable: bytes programmed, erases, program
/// calls, page reads; the reads and the time of an open, and the reads of a
/// get; RAM; wear. Then what other calls cost at most, and 999 of 1,000 of
/// them: deletes, batches, steps of a cursor, steps ahead, opens, readers.
///
///     settings: 60 keys of 10 characters in 3 or 4 sectors of 4 KB, in a
///               volume, or with nothing else on the medium (bare)
///     store:    10,000 keys in 1 MB, at shares of live bytes
///
/// bench_kv_updates NAME measures the sets of this name only, or RAM. Each set
/// draws the same numbers, whichever are measured before.
///     loads:    uniform, zipf (0.99), four hot keys beside cold ones
#include <math.h>

#include "bench/bench.h"
#include "port/sim/sim.h"

static const char bench[] = "kv_updates";

enum {
    UPDATES = 5000,
    WARM_UPDATES = 3000,
    GETS = 1000,
    CALLS = 2000,
    BATCH_CHANGES = 4,
    CURSOR_BYTES = 1024,
    STEP_KEYS = 8,
    OPENS = 1000,
    OPENS_STORE = 100,
    OPEN_UPDATES = 16, ///< at most between two opens
    OPEN_UPDATES_STORE = 256,
    READER_UPDATES = 4, ///< between a reader's open and its check
    WEAR_ROUNDS = 25,   ///< of the log before its wear is measured
    VOLUME_FIRST = 3,   ///< block of the table in a volume
    CALLS_MAX = 4 * UPDATES,
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
    bool bare;             ///< a store without a volume
};

enum { INDEX_SLOT_BYTES = 6, RECORD_BYTES = 43 };

/// Keys of which a pending table of so many bytes has the slots.
static uint32_t pending_keys(const struct kv_set *set) {
    return set->table_bytes == 0
               ? set->keys
               : (set->table_bytes / INDEX_SLOT_BYTES - 1) * 8 / 9;
}

static uint32_t arena_bytes(const struct kv_set *set, uint32_t log_bytes) {
    if (set->bare) {
        return ESK_KV_BARE_ARENA_BYTES(set->page_bytes, set->keys, log_bytes);
    }
    return set->table_bytes == 0
               ? ESK_KV_ARENA_BYTES(set->page_bytes, set->keys, log_bytes)
               : ESK_KV_INDEX_ARENA_BYTES(set->page_bytes, pending_keys(set),
                                          log_bytes, set->keys);
}

static struct esk_sim *sim;
static struct esk_volume volume;
static struct esk_kv *kv;
static uint64_t arena[ARENA_BYTES / 8];
static uint64_t state;
static const char *only; ///< NULL: all sets
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

/// Mounts the medium and opens its table, with `bytes` of `memory`.
static void open_on(const struct kv_set *set, uint8_t flags,
                    struct esk_volume *on, struct esk_kv **table,
                    uint64_t *memory, uint32_t bytes) {
    const struct esk_kv_bare bare = {.id = 1,
                                     .live_percent = set->live_percent};
    const struct esk_device *device = esk_sim_device(sim);
    /* A reader writes no index: all that it replays has to fit its RAM. */
    bool reads_only = (flags & ESK_MOUNT_READ_ONLY) != 0;
    const struct esk_kv_config config = {
        .keys = reads_only ? set->keys : pending_keys(set),
        .part = set->table_bytes != 0 ? &esk_kv_part_index : NULL,
        .replay_pages = set->replay_pages};
    if (set->bare) {
        bytes = arena_bytes(set, set->blocks * SECTOR_PAGES * PAGE_BYTES);
        BENCH_DO(esk_kv_open_bare(table, on, device, flags, &bare, &config,
                                  memory, bytes));
        return;
    }
    BENCH_DO(esk_volume_mount(on, device, flags, memory, bytes));
    BENCH_DO(esk_kv_open(table, on, set->name, &config));
}

static void table_open(const struct kv_set *set) {
    open_on(set, 0, &volume, &kv, arena, sizeof arena);
}

static void table_make(const struct kv_set *set) {
    const struct esk_sim_config config = {
        .part = "w25q128jv",
        .geometry = {.block_count = set->blocks + (set->bare ? 0 : 60),
                     .page_bytes = set->page_bytes},
        .seed = 1};
    const struct esk_volume_config format = {.uuid = {3}, .tables_max = 1};
    const struct esk_kv_spec spec = {.name = set->name,
                                     .blocks = set->blocks,
                                     .live_percent = set->live_percent,
                                     .index_keys =
                                         set->table_bytes != 0 ? set->keys : 0};
    BENCH_DO(esk_sim_create(&sim, &config));
    if (!set->bare) {
        const struct esk_device *device = esk_sim_device(sim);
        BENCH_DO(esk_volume_format(device, &format, arena, sizeof arena));
        BENCH_DO(esk_volume_mount(&volume, device, 0, arena, sizeof arena));
        BENCH_DO(esk_kv_create(&volume, &spec, NULL));
    }
    table_open(set);
    for (uint32_t key = 0; key < set->keys; key++) {
        put(set, key);
    }
}

#define figure(metric, value, unit)                                            \
    bench_print(bench, metric, set, value, unit,                               \
                "%u B values, %u blocks, pages of %u, %s", set->value_bytes,   \
                (unsigned)set->blocks, set->page_bytes, load_names[load])

/// Program calls and reads of the medium by calls of one kind.
struct costs {
    uint32_t count;
    double programs[CALLS_MAX];
    double reads[CALLS_MAX];
    double time_ms[CALLS_MAX]; ///< simulated
};

static struct costs costs;
static struct esk_sim_counters call_before;

static void call_begin(void) {
    call_before = *esk_sim_counters(sim);
}

static void call_end(void) {
    const struct esk_sim_counters *after = esk_sim_counters(sim);
    costs.programs[costs.count] =
        (double)(after->programs - call_before.programs);
    costs.reads[costs.count] = (double)(after->reads - call_before.reads);
    costs.time_ms[costs.count] =
        (double)(after->time_ns - call_before.time_ns) / 1e6;
    costs.count++;
}

static void cost_print(const struct kv_set *set, enum load load,
                       const char *what, double *values, const char *unit) {
    static const char *const names[] = {"p99.9", "max"};
    char metric[BENCH_TEXT_BYTES];
    qsort(values, costs.count, sizeof values[0], bench_compare);
    for (unsigned i = costs.count < 1000 ? 1 : 0; i < 2; i++) {
        uint32_t at = i == 0 ? costs.count * 999 / 1000 : costs.count - 1;
        snprintf(metric, sizeof metric, "%s, %s", what, names[i]);
        figure(metric, values[at], unit);
    }
}

/// Prints what the calls cost, and forgets them. call: of what kind they are;
/// programs: whether such a call programs.
static void costs_print(const struct kv_set *set, enum load load,
                        const char *call, bool programs) {
    char what[BENCH_TEXT_BYTES];
    if (programs) {
        snprintf(what, sizeof what, "programs %s", call);
        cost_print(set, load, what, costs.programs, "");
    }
    snprintf(what, sizeof what, "reads %s", call);
    cost_print(set, load, what, costs.reads, "");
    costs.count = 0;
}

/// Makes updates and prints what they cost.
static void updates_measure(const struct kv_set *set, enum load load) {
    const struct esk_sim_counters *counters = esk_sim_counters(sim);
    uint32_t updates = set->keys > 1000 ? 4 * UPDATES : UPDATES;
    uint32_t warm = set->keys > 1000 ? 4 * set->keys : WARM_UPDATES;
    double total = 0;
    for (uint32_t i = 0; i < warm; i++) {
        put(set, key_draw(set, load));
    }
    struct esk_sim_counters before = *counters;
    for (uint32_t i = 0; i < updates; i++) {
        call_begin();
        put(set, key_draw(set, load));
        call_end();
        total += costs.programs[i];
    }
    double count = updates;
    figure("bytes programmed an update",
           (double)(counters->bytes_programmed - before.bytes_programmed) /
               count,
           "B");
    figure("erases a thousand updates",
           1000 * (double)(counters->erases - before.erases) / count, "");
    figure("programs an update, mean", total / count, "");
    costs_print(set, load, "an update", true);
}

/// Deletes keys and puts them again, each synced.
static void deletes_measure(const struct kv_set *set, enum load load) {
    for (unsigned i = 0; i < CALLS; i++) {
        char text[32];
        uint32_t key = key_draw(set, load);
        key_make(set, key, text);
        call_begin();
        BENCH_DO(esk_kv_delete(kv, text, (uint8_t)set->key_bytes));
        BENCH_DO(esk_kv_sync(kv));
        call_end();
        put(set, key);
    }
    costs_print(set, load, "a delete", true);
}

/// Changes keys that follow one another in synced batches.
static void batches_measure(const struct kv_set *set, enum load load) {
    struct esk_kv_change changes[BATCH_CHANGES];
    char texts[BATCH_CHANGES][32];
    uint8_t value[256];
    for (unsigned i = 0; i < CALLS; i++) {
        uint32_t key = key_draw(set, load);
        memset(value, (int)i, sizeof value);
        for (unsigned at = 0; at < BATCH_CHANGES; at++) {
            key_make(set, (key + at) % set->keys, texts[at]);
            changes[at] =
                (struct esk_kv_change){.key = texts[at],
                                       .value = value,
                                       .bytes = set->value_bytes,
                                       .key_bytes = (uint8_t)set->key_bytes};
        }
        call_begin();
        BENCH_DO(esk_kv_change_many(kv, changes, BATCH_CHANGES, NULL));
        BENCH_DO(esk_kv_sync(kv));
        call_end();
    }
    costs_print(set, load, "a batch of 4", true);
}

/// Reads keys in order, STEP_KEYS records a call at most.
static void cursor_measure(const struct kv_set *set, enum load load) {
    static uint8_t memory[CURSOR_BYTES];
    const struct esk_kv_query query = {.step_keys = STEP_KEYS};
    struct esk_kv_cursor cursor;
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint8_t bytes = 0;
    int status = ESK_END;
    for (unsigned i = 0; i < CALLS; i++) {
        if (status == ESK_END) {
            BENCH_DO(
                esk_kv_cursor_open(kv, &cursor, &query, memory, sizeof memory));
        }
        call_begin();
        status = esk_kv_cursor_next(kv, &cursor, key, &bytes);
        call_end();
        BENCH_DO(status > 0 ? ESK_OK : status);
    }
    costs_print(set, load, "a cursor step", false);
}

/// Steps ahead between updates, and the updates.
static void steps_measure(const struct kv_set *set, enum load load) {
    static struct costs puts;
    for (unsigned i = 0; i < CALLS; i++) {
        uint16_t done = 1;
        while (done > 0 && costs.count < CALLS_MAX - 1) {
            call_begin();
            BENCH_DO(esk_volume_step(&volume, 1, &done));
            call_end();
        }
        call_begin();
        put(set, key_draw(set, load));
        call_end();
        costs.count--;
        puts.programs[i] = costs.programs[costs.count];
        puts.reads[i] = costs.reads[costs.count];
    }
    costs_print(set, load, "a step ahead", true);
    memcpy(&costs, &puts, sizeof costs);
    costs.count = CALLS;
    costs_print(set, load, "an update between steps", true);
}

static uint32_t opens_count(const struct kv_set *set) {
    return set->keys > 1000 ? OPENS_STORE : OPENS;
}

/// Opens the table again, between updates.
static void opens_measure(const struct kv_set *set, enum load load) {
    uint32_t most = set->keys > 1000 ? OPEN_UPDATES_STORE : OPEN_UPDATES;
    uint32_t opens = opens_count(set);
    double pages = 0;
    for (uint32_t i = 0; i < opens; i++) {
        struct esk_kv_stats stats;
        for (uint32_t n = bench_random(&state, most); n > 0; n--) {
            put(set, key_draw(set, load));
        }
        esk_kv_close(kv);
        call_begin();
        table_open(set);
        call_end();
        esk_kv_stats(kv, &stats);
        pages += stats.page_reads;
    }
    figure("page reads to open, mean", pages / opens, "");
    cost_print(set, load, "time a mount and open", costs.time_ms, "ms");
    costs_print(set, load, "a mount and open", false);
}

/// Opens readers between updates, and lets each check once whether the writer
/// has passed it.
static void readers_measure(const struct kv_set *set, enum load load) {
    static struct costs opens;
    static uint64_t memory[ARENA_BYTES / 8];
    for (uint32_t i = 0; i < opens_count(set); i++) {
        struct esk_volume mount;
        struct esk_kv *reader = NULL;
        put(set, key_draw(set, load));
        call_begin();
        open_on(set, ESK_MOUNT_READ_ONLY, &mount, &reader, memory,
                sizeof memory);
        call_end();
        opens.reads[i] = costs.reads[--costs.count];
        opens.time_ms[i] = costs.time_ms[costs.count];
        for (uint32_t n = 0; n < READER_UPDATES; n++) {
            put(set, key_draw(set, load));
        }
        costs.count = i;
        call_begin();
        int status = esk_kv_reader_check(reader);
        call_end();
        BENCH_HOLDS(status == ESK_OK || status == ESK_AGAIN ||
                    status == ESK_E_STALE);
        esk_kv_close(reader);
        esk_volume_unmount(&mount);
    }
    costs_print(set, load, "a reader's check", false);
    opens.count = opens_count(set);
    memcpy(&costs, &opens, sizeof costs);
    cost_print(set, load, "time a reader's mount and open", costs.time_ms,
               "ms");
    costs_print(set, load, "a reader's mount and open", false);
}

/// Updates until the log has gone round often enough, and the next round has
/// begun: then the first blocks are one erase ahead.
static void wear_measure(const struct kv_set *set, enum load load) {
    uint32_t first = set->bare ? 0 : VOLUME_FIRST;
    struct esk_sim_wear wear;
    esk_sim_wear(sim, first, set->blocks, &wear);
    while (wear.mean_milli <= WEAR_ROUNDS * 1000) {
        put(set, key_draw(set, load));
        esk_sim_wear(sim, first, set->blocks, &wear);
    }
    figure("wear, max over mean", wear.max * 1000.0 / wear.mean_milli, "");
}

/// Prints what calls cost that the other figures do not have.
static void calls_measure(const struct kv_set *set, enum load load) {
    table_open(set);
    deletes_measure(set, load);
    batches_measure(set, load);
    cursor_measure(set, load);
    steps_measure(set, load);
    wear_measure(set, load);
    opens_measure(set, load);
    readers_measure(set, load);
    esk_kv_close(kv);
}

static void open_measure(const struct kv_set *set, enum load load) {
    const struct esk_sim_counters *counters = esk_sim_counters(sim);
    struct esk_kv_stats stats;
    esk_kv_close(kv);
    struct esk_sim_counters before = *counters;
    table_open(set);
    esk_kv_stats(kv, &stats);
    figure("page reads to open", stats.page_reads, "");
    figure("reads to mount and open", (double)(counters->reads - before.reads),
           "");
    figure("time to mount and open",
           (double)(counters->time_ns - before.time_ns) / 1e6, "ms");
    figure("bytes read to mount and open",
           (double)(counters->bytes_read - before.bytes_read), "B");
    figure("live bytes of what they may take",
           100.0 * stats.live_bytes / stats.live_max, "%");
    uint32_t reads = stats.page_reads;
    for (uint32_t i = 0; i < GETS; i++) {
        char text[32];
        uint8_t value[256];
        key_make(set, bench_random(&state, set->keys), text);
        call_begin();
        BENCH_DO(esk_kv_get(kv, text, (uint8_t)set->key_bytes, value,
                            sizeof value, NULL, NULL));
        call_end();
    }
    esk_kv_stats(kv, &stats);
    figure("page reads a get", (stats.page_reads - reads) / (double)GETS, "");
    costs_print(set, load, "a get", false);
    figure("RAM, arena",
           arena_bytes(set, set->blocks * SECTOR_PAGES * PAGE_BYTES), "B");
    esk_kv_close(kv);
}

static void set_measure(const struct kv_set *set, enum load load) {
    if (only != NULL && strcmp(only, set->name) != 0) {
        return;
    }
    state = 88172645463325252u;
    table_make(set);
    updates_measure(set, load);
    open_measure(set, load);
    calls_measure(set, load);
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

int main(int argc, char **argv) {
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
    only = argc > 1 ? argv[1] : NULL;
    for (unsigned i = 0; i < 12; i++) {
        bool bare = i / 6 == 1;
        const struct kv_set set = {bare ? "settings, bare" : "settings",
                                   60,
                                   10,
                                   values[i % 3],
                                   4 - i / 3 % 2,
                                   256,
                                   95,
                                   0,
                                   0,
                                   bare};
        zipf_make(set.keys);
        for (enum load load = UNIFORM; load < LOADS; load++) {
            set_measure(&set, load);
        }
    }
    const struct kv_set small = {"settings", 60, 10, 32, 4,
                                 128,        95, 0,  0,  false};
    set_measure(&small, UNIFORM);
    for (unsigned i = 0; i < 3 * sizeof tables / sizeof tables[0]; i++) {
        const struct table *table = &tables[i / 3];
        const struct kv_set set = {table->name,         10000, 8,  32,
                                   shares[i % 3],       256,   95, table->bytes,
                                   table->replay_pages, false};
        zipf_make(set.keys);
        for (enum load load = UNIFORM; load < table->loads; load++) {
            set_measure(&set, load);
        }
    }
    if (only == NULL || strcmp(only, "RAM") == 0) {
        rams_print();
    }
    return 0;
}
