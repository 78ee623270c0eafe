// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Every store on the loads of a file system's index, side by side.
///
///     medium x load x store x RAM x changes between syncs
///         -> pages, bytes, erases, simulated time of a change; reads of a get
///
/// Same medium, same order of changes, same durability, same RAM. The region
/// has 12 times the bytes of the rows that it has at most, so that every store
/// has its room. The load is repeated until the store has programmed as many
/// bytes as its region has, then once more, which is measured.
///
/// A store that cannot run a load prints why, and the RAM that it needs.
#include "bench/stores_kinds.h"
#include "bench/stores_load.h"

static const char bench[] = "stores";

enum {
    REGION_SHARE = 12, ///< of the region's bytes to the rows'
    REGION_BLOCKS_LEAST = 12,
    MEDIA = 4,
    RARE = 100, ///< changes between syncs, where they are rare
};

static const struct medium_kind {
    const char *name;
    const char *part;
    uint16_t page_bytes; ///< 0: the part's
} media[MEDIA] = {
    {"NOR, pages of 256", "w25q128jv", 0},
    {"NOR, pages of 1024", "w25q128jv", 1024},
    {"NAND, pages of 2048", "mutree_slc", 0},
    {"SD card, pages of 512", "btree2022_sd_mega", 0},
};

/// What was measured.
struct run {
    const struct medium_kind *medium;
    const struct load *load;
    struct store store;
    uint32_t sync_every;
    uint32_t since; ///< changes since the last sync
    uint32_t made;  ///< changes, of all repetitions
    uint64_t programs;
    uint64_t bytes;
    uint64_t erases;
    uint64_t get_reads;
    uint32_t changes;
    uint32_t gets;
    double *ns; ///< of each change
};

static void row_make(uint8_t *row, uint64_t key, uint32_t op) {
    esk_store_u64(row, key);
    for (uint32_t at = STORE_KEY_BYTES; at < STORE_ROW_BYTES; at += 4) {
        esk_store_u32(row + at, op * 2654435761u + at);
    }
}

static int change(struct run *run, uint32_t kind, const uint8_t *row) {
    struct store *store = &run->store;
    ESK_TRY(kind == TRACE_DELETE ? store->kind->remove(store, row)
                                 : store->kind->put(store, row));
    run->made++;
    if (++run->since < run->sync_every) {
        return ESK_OK;
    }
    run->since = 0;
    return store->kind->sync(store);
}

/// Gets a key, and compares the row with the one that was put by op `from`.
static void get(struct run *run, uint64_t key, uint32_t from) {
    uint8_t row[STORE_ROW_BYTES];
    uint8_t wanted[STORE_ROW_BYTES];
    const struct esk_sim_counters *now = esk_sim_counters(run->store.sim);
    uint64_t before = now->reads;
    row_make(row, key, 0);
    row_make(wanted, key, from);
    BENCH_WANT(from > 0 ? ESK_OK : ESK_NOT_FOUND,
               run->store.kind->get(&run->store, row));
    BENCH_HOLDS(from == 0 || memcmp(row, wanted, sizeof row) == 0);
    run->get_reads += now->reads - before;
    run->gets++;
}

/// Runs the load once.
/// Returns  ESK_OK; what refused a change: run->made were made before.
static int load_run(struct run *run) {
    const struct load *load = run->load;
    const struct esk_sim_counters *now = esk_sim_counters(run->store.sim);
    uint8_t row[STORE_ROW_BYTES];
    run->programs = run->bytes = run->erases = run->get_reads = 0;
    run->changes = run->gets = 0;
    for (uint32_t i = 0; i < load->count; i++) {
        uint64_t key = load->ops[i] & TRACE_KEY_MASK;
        uint32_t kind = (uint32_t)(load->ops[i] >> 60);
        if (kind == TRACE_LOOKUP) {
            get(run, key, load->found[i]);
            continue;
        }
        struct esk_sim_counters before = *now;
        row_make(row, key, i + 1);
        ESK_TRY(change(run, kind, row));
        run->programs += now->programs - before.programs;
        run->bytes += now->bytes_programmed - before.bytes_programmed;
        run->erases += now->erases - before.erases;
        run->ns[run->changes++] = (double)(now->time_ns - before.time_ns);
    }
    return ESK_OK;
}

#define figure(metric, value, unit)                                            \
    bench_print(bench, metric, run->load, value, unit,                         \
                "%s; %s; %u KB; a sync every %u", run->medium->name,           \
                run->store.kind->name, (unsigned)run->store.budget / 1024u,    \
                (unsigned)run->sync_every)

static void run_refused(struct run *run, const char *why, double value,
                        const char *unit) {
    char metric[BENCH_TEXT_BYTES];
    snprintf(metric, sizeof metric, "cannot run: %s", why);
    figure(metric, value, unit);
}

static void run_print(struct run *run) {
    double changes = run->changes;
    double ns = 0;
    for (uint32_t i = 0; i < run->changes; i++) {
        ns += run->ns[i];
    }
    qsort(run->ns, run->changes, sizeof *run->ns, bench_compare);
    uint32_t rare = (uint32_t)((uint64_t)run->changes * 999u / 1000u);
    figure("programs a change", (double)run->programs / changes, "");
    figure("program bytes a change", (double)run->bytes / changes, "B");
    figure("erases a thousand changes", 1000 * (double)run->erases / changes,
           "");
    figure("time a change, mean", ns / changes / 1e6, "ms");
    figure("time a change, p99.9", run->ns[rare] / 1e6, "ms");
    figure("time a change, max", run->ns[run->changes - 1] / 1e6, "ms");
    figure("page reads a get", (double)run->get_reads / run->gets, "");
    figure("RAM, arena", run->store.arena_bytes, "B");
}

/// Returns the pages programmed; 0 when the store cannot run the load.
static double run_measure(struct run *run) {
    struct store *store = &run->store;
    const struct esk_sim_counters *now = esk_sim_counters(store->sim);
    const struct esk_geometry *geometry = store_geometry(store);
    uint64_t region =
        (uint64_t)store->blocks * geometry->block_pages * geometry->page_bytes;
    store->kind->open(store);
    if (store->why != NULL) {
        run_refused(run, store->why, store->lacks, store->lacks > 0 ? "B" : "");
        return 0;
    }
    run->ns = bench_memory(run->load->changes * sizeof *run->ns);
    int status = ESK_OK;
    do {
        status = load_run(run);
    } while (status == ESK_OK && now->bytes_programmed < region);
    if (status == ESK_OK) {
        status = load_run(run);
    }
    if (status != ESK_OK) {
        run_refused(run, esk_status_text(status), run->made, "changes");
    } else {
        BENCH_HOLDS(run->changes == run->load->changes);
        run_print(run);
    }
    free(run->ns);
    return status == ESK_OK ? (double)run->programs : 0;
}

static double store_measure(const struct medium_kind *medium,
                            const struct load *load,
                            const struct store_kind *kind, uint32_t budget,
                            uint32_t sync_every) {
    static struct run run;
    struct esk_sim_config config = {.part = medium->part, .seed = 1};
    const struct esk_geometry *part =
        &esk_sim_part_find(medium->part)->geometry;
    uint32_t block_bytes = (uint32_t)part->block_pages * part->page_bytes;
    uint32_t blocks =
        load->keys_most * STORE_ROW_BYTES * REGION_SHARE / block_bytes + 1u;
    blocks = blocks > REGION_BLOCKS_LEAST ? blocks : REGION_BLOCKS_LEAST;
    config.geometry.page_bytes = medium->page_bytes;
    config.geometry.block_count = 2 * STORE_META_BLOCKS + blocks;
    run = (struct run){.medium = medium,
                       .load = load,
                       .sync_every = sync_every,
                       .store = {.kind = kind,
                                 .blocks = blocks,
                                 .keys_most = load->keys_most,
                                 .budget = budget,
                                 .rare_syncs = sync_every > 1}};
    BENCH_DO(esk_sim_create(&run.store.sim, &config));
    double programs = run_measure(&run);
    BENCH_HOLDS(esk_sim_violations(run.store.sim) == 0);
    esk_sim_destroy(run.store.sim);
    free(run.store.memory);
    return programs;
}

/// Prints how many pages mu programs for one that wandering does, as
/// mutree-2007, section 6.3.
static void mu_print(const struct load *load, const char *medium,
                     uint32_t budget, const double programs[STORE_KINDS]) {
    double wandering = 0;
    double mu = 0;
    for (uint32_t kind = 0; kind < STORE_KINDS; kind++) {
        uint8_t id = store_kinds[kind].store_id;
        wandering = id == ESK_STORE_WANDERING ? programs[kind] : wandering;
        mu = id == ESK_STORE_MU ? programs[kind] : mu;
    }
    if (wandering > 0 && mu > 0) {
        bench_print(bench, "programs, mu over wandering", load, mu / wandering,
                    "", "%s; %u KB", medium, (unsigned)budget / 1024u);
    }
}

static void load_measure(const struct load *load) {
    static const uint32_t budgets[] = {4096, 16384, 65536};
    bench_print(bench, "changes", load, load->changes, "", "load");
    bench_print(bench, "lookups", load, load->count - load->changes, "",
                "load");
    bench_print(bench, "keys at a time, at most", load, load->keys_most, "",
                "load");
    for (uint32_t medium = 0; medium < MEDIA; medium++) {
        for (uint32_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
            double programs[STORE_KINDS];
            for (uint32_t kind = 0; kind < STORE_KINDS; kind++) {
                programs[kind] = store_measure(
                    &media[medium], load, &store_kinds[kind], budgets[i], 1);
                (void)store_measure(&media[medium], load, &store_kinds[kind],
                                    budgets[i], RARE);
            }
            mu_print(load, media[medium].name, budgets[i], programs);
        }
    }
}

int main(void) {
    static const struct {
        const char *name;
        void (*make)(struct load_maker *);
    } models[] = {{"kernel_compile", load_kernel},
                  {"postmark", load_postmark},
                  {"mp3", load_mp3}};
    struct load load;
    for (uint32_t i = 0; i < sizeof models / sizeof *models; i++) {
        load_model(&load, models[i].name, models[i].make);
        load_measure(&load);
        load_free(&load);
    }
    if (load_linux(&load)) {
        load_measure(&load);
        load_free(&load);
    }
    return 0;
}
