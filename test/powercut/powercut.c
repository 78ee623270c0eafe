// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The power-cut campaign: many media and tables, each cut at every program
/// and erase of a workload, in every way a cut can end one.
///
///     step 1   step 2   step 3 ...        the workload, once
///        |        |        |
///         cut      cut      cut ...       each op x each mode, from a
///         recover  recover  recover       snapshot of before the step
///         verify   verify   verify
///         go on, be cut again, verify
///
/// ESK_CUTS   at least so many cuts in all; every op in every mode has at
///            least one as soon as there are enough (about 60,000)
/// ESK_SEED   of the workloads and of what a cut leaves
///
/// A failure prints the command that repeats it: the configuration, the
/// operation, the mode and the try as arguments. test/harness/bed.h says
/// what is checked after each cut.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/series/series.h"
#include "test/harness/bed.h"
#include "test/harness/cut_configs.h"

enum {
    MODES = 5,
    FAILURES_SHOWN = 3,
    DEEP_MAX = 4,     ///< cuts one after another in one try
    STEPS_AFTER = 24, ///< workload steps in which a deeper cut may come
};

static const char *const mode_names[] = {"none",   "before", "after",
                                         "prefix", "subset", "all-but-one"};

/// The campaign over one configuration.
struct campaign {
    const struct cut_config *config;
    struct esk_bed bed;
    struct cut_side side;
    struct esk_bed_save before;
    struct esk_bed_save after;
    struct cut_side side_before;
    struct cut_side side_after;
    uint64_t seed;
    uint64_t op_start;       ///< the workload's first operation
    uint64_t per_slot_micro; ///< tries an operation and mode, in millionths
    int64_t due_micro;       ///< tries due; below 0 after deep ones
    uint64_t cuts;
    uint64_t slots;
    uint32_t failures;
    /* What one try repeats; op UINT64_MAX: all of them. */
    uint64_t only_op;
    uint32_t only_mode;
    uint32_t only_try;
};

static uint64_t try_seed(const struct campaign *run, uint64_t op, uint32_t mode,
                         uint32_t number) {
    uint64_t z = run->seed * 0x9E3779B97F4A7C15u + op * 0xBF58476D1CE4E5B9u +
                 mode * 0x94D049BB133111EBu + number * 0xD6E8FEB86659FD93u;
    z = (z ^ z >> 32) * 0xD6E8FEB86659FD93u;
    return z ^ z >> 32;
}

static void failure_print(struct campaign *run, uint64_t op, uint32_t mode,
                          uint32_t number, uint32_t depth) {
    char text[400];
    esk_sim_describe(run->bed.sim, text, sizeof text);
    run->failures++;
    if (run->failures > FAILURES_SHOWN) {
        return;
    }
    printf("FAILED %s, op %llu, %s, try %lu, after cut %lu\n"
           "    %s\n    %s\n"
           "    repeat: ESK_SEED=%llu build/release/test/powercut/powercut"
           " %s %llu %lu %lu\n",
           run->config->name, (unsigned long long)op, mode_names[mode],
           (unsigned long)number, (unsigned long)depth, run->bed.why, text,
           (unsigned long long)run->seed, run->config->name,
           (unsigned long long)op, (unsigned long)mode, (unsigned long)number);
    fflush(stdout);
}

/// Recovers from a cut and checks everything.
static bool recover_verify(struct campaign *run) {
    struct esk_bed *bed = &run->bed;
    esk_bed_crash(bed);
    if (esk_bed_random(bed, 16) == 0) {
        /* Looking at a volume read-only changes nothing. */
        uint64_t ops = esk_sim_op_count(bed->sim);
        struct esk_volume volume;
        if (esk_volume_mount(&volume, bed->device, ESK_MOUNT_READ_ONLY,
                             bed->page) != ESK_OK ||
            esk_sim_op_count(bed->sim) != ops) {
            return esk_bed_fail(bed, "read-only mount");
        }
    }
    return esk_bed_recover(bed) == ESK_OK && esk_bed_verify(bed, true) &&
           cut_side_verify(bed, &run->side);
}

/// Changes the catalog after a recovery, as its tables let it be changed.
static int catalog_change(struct campaign *run) {
    struct esk_bed *bed = &run->bed;
    if (run->config->side && esk_bed_random(bed, 2) == 0) {
        ESK_TRY(cut_side_step(bed, &run->side));
    }
    if (run->config->erases && esk_bed_random(bed, 4) == 0) {
        ESK_TRY(esk_bed_erase_before(bed, esk_bed_random(bed, 9)));
    }
    return ESK_OK;
}

/// Goes on after a recovery: rows, a sync, a clean mount, and all again.
static bool go_on_verify(struct campaign *run) {
    struct esk_bed *bed = &run->bed;
    uint32_t rows = 1 + esk_bed_random(bed, 2 * run->config->page_rows);
    int status = catalog_change(run);
    if (status == ESK_OK) {
        status = esk_bed_append_many(bed, rows);
    }
    if (status == ESK_OK || status == ESK_FULL) {
        if (esk_bed_random(bed, 4) == 0 && !esk_bed_verify(bed, true)) {
            return false;
        }
        int synced = esk_bed_sync(bed);
        status = synced != ESK_OK ? synced : status;
    }
    if (status != ESK_OK && status != ESK_FULL) {
        return esk_bed_fail(bed, "going on: %s", esk_status_text(status));
    }
    esk_bed_crash(bed);
    return esk_bed_recover(bed) == ESK_OK &&
           esk_bed_verify(bed, esk_bed_random(bed, 2) == 0) &&
           cut_side_verify(bed, &run->side);
}

/// Runs workload steps until the cut comes, if it does. False: bed->why.
static bool deeper_run(struct campaign *run) {
    struct esk_bed *bed = &run->bed;
    uint64_t op = esk_sim_op_count(bed->sim) + esk_bed_random(bed, 6);
    bool catalog = run->config->side && esk_bed_random(bed, 2) == 0;
    op += catalog ? esk_bed_random(bed, 40) : 0;
    esk_sim_cut_at(bed->sim, op, ESK_SIM_CUT_DRAWN);
    int status = ESK_OK;
    for (uint32_t i = 0; status == ESK_OK && i < STEPS_AFTER; i++) {
        status = catalog && i < 3 ? cut_side_step(bed, &run->side)
                                  : cut_step(run->config, bed, &run->side);
    }
    return status == ESK_OK || !esk_sim_is_on(bed->sim) ||
           esk_bed_fail(bed, "workload after a recovery: %s",
                        esk_status_text(status));
}

/// One try: the cut, recovery, perhaps deeper cuts, going on.
static void try_run(struct campaign *run, uint64_t op, uint32_t mode,
                    uint32_t number) {
    struct esk_bed *bed = &run->bed;
    esk_bed_restore(bed, &run->before);
    run->side = run->side_before;
    esk_sim_seed_set(bed->sim, try_seed(run, op, mode, number));
    esk_sim_cut_at(bed->sim, op, (enum esk_sim_cut_mode)mode);
    int status = cut_step(run->config, bed, &run->side);
    run->cuts++;
    if (esk_sim_is_on(bed->sim)) {
        esk_bed_fail(bed, "the cut did not come: %s", esk_status_text(status));
        failure_print(run, op, mode, number, 0);
        return;
    }
    bed->model->random ^= try_seed(run, op, mode, number + 1000);
    bool held = recover_verify(run);
    uint32_t depth = 1;
    for (; held && number > 0 && depth < DEEP_MAX; depth++) {
        held = deeper_run(run);
        run->cuts += esk_sim_is_on(bed->sim) ? 0 : 1;
        held = held && recover_verify(run);
    }
    held = held && go_on_verify(run);
    if (held && esk_sim_violations(bed->sim) > 0) {
        held = esk_bed_fail(bed, "violation: %s", esk_sim_violation(bed->sim));
    }
    if (!held) {
        failure_print(run, op, mode, number, depth);
    }
}

/// The tries of one operation and mode.
static void slot_run(struct campaign *run, uint64_t op, uint32_t mode) {
    if (run->only_op != UINT64_MAX) {
        if (op == run->only_op && mode == run->only_mode) {
            try_run(run, op, mode, run->only_try);
        }
        return;
    }
    run->due_micro += (int64_t)run->per_slot_micro;
    for (uint32_t number = 0; run->due_micro > 0; number++) {
        uint64_t cuts = run->cuts;
        try_run(run, op, mode, number);
        run->due_micro -= (int64_t)(run->cuts - cuts) * 1000000;
    }
}

/// Cuts each operation of the step that led from `before` to `after`.
static void step_cut(struct campaign *run, uint64_t first, uint64_t end) {
    for (uint64_t op = first; op < end; op++) {
        for (uint32_t mode = ESK_SIM_CUT_BEFORE;
             mode <= ESK_SIM_CUT_ALL_BUT_ONE; mode++) {
            slot_run(run, op, mode);
        }
    }
}

static bool campaign_make(struct campaign *run, const struct cut_config *config,
                          uint64_t seed) {
    memset(run, 0, sizeof *run);
    run->config = config;
    run->seed = seed;
    run->only_op = UINT64_MAX;
    if (!cut_bed_make(config, &run->bed, &run->side, seed)) {
        run->failures++;
        printf("FAILED %s: %s\n", config->name, run->bed.why);
        return false;
    }
    esk_bed_save_make(&run->before, &run->bed);
    esk_bed_save_make(&run->after, &run->bed);
    run->op_start = esk_sim_op_count(run->bed.sim);
    return true;
}

static void campaign_free(struct campaign *run) {
    cut_side_free(&run->side);
    esk_bed_save_free(&run->before);
    esk_bed_save_free(&run->after);
    esk_bed_free(&run->bed);
}

/// Runs the workload; with `cut` each step is cut at each of its operations.
static void campaign_run(struct campaign *run, bool cut) {
    struct esk_bed *bed = &run->bed;
    uint64_t end = run->op_start + run->config->ops;
    uint32_t steps = 0;
    while (esk_sim_op_count(bed->sim) < end && steps < 40 * run->config->ops) {
        uint64_t first = esk_sim_op_count(bed->sim);
        if (cut) {
            esk_bed_keep(&run->before, bed);
            run->side_before = run->side;
        }
        int status = cut_step(run->config, bed, &run->side);
        uint64_t last = esk_sim_op_count(bed->sim);
        steps++;
        if (status != ESK_OK) {
            esk_bed_fail(bed, "workload step %lu: %s", (unsigned long)steps,
                         esk_status_text(status));
            failure_print(run, first, 0, 0, 0);
            return;
        }
        run->slots += (last - first) * MODES;
        if (cut && last > first) {
            esk_bed_keep(&run->after, bed);
            run->side_after = run->side;
            step_cut(run, first, last);
            esk_bed_restore(bed, &run->after);
            run->side = run->side_after;
        }
    }
    if (esk_sim_violations(bed->sim) > 0) {
        esk_bed_fail(bed, "violation: %s", esk_sim_violation(bed->sim));
        failure_print(run, end, 0, 0, 0);
    }
}

/// Laps of a ring, in tenths.
static unsigned tenths(const struct esk_bed *bed, uint32_t head,
                       uint32_t blocks) {
    uint32_t pages = blocks * bed->device->geometry.block_pages;
    return pages == 0 ? 0 : (unsigned)(head * 10 / pages);
}

static void campaign_print(const struct campaign *run) {
    const struct esk_bed *bed = &run->bed;
    unsigned data = tenths(bed, bed->series->data.head, bed->table.data_blocks);
    unsigned index = tenths(bed, bed->series->index.head, bed->index_blocks);
    unsigned var = bed->table.has_var
                       ? tenths(bed, bed->series->var->head, bed->var_blocks)
                       : 0;
    printf("%-24s %6llu cuts over %4llu ops; laps %u.%u data, %u.%u index",
           run->config->name, (unsigned long long)run->cuts,
           (unsigned long long)(run->slots / MODES), data / 10, data % 10,
           index / 10, index % 10);
    if (bed->table.has_var) {
        printf(", %u.%u var", var / 10, var % 10);
    }
    printf("; %lu failed\n", (unsigned long)run->failures);
}

static uint64_t environment(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text == NULL || *text == '\0' ? otherwise : strtoull(text, NULL, 10);
}

/// Operations times modes of every configuration, without a cut.
static uint64_t slots_count(uint64_t seed, const char *only) {
    static struct campaign run;
    uint64_t slots = 0;
    for (size_t i = 0; i < cut_config_count; i++) {
        if ((only == NULL || strcmp(only, cut_configs[i].name) == 0) &&
            campaign_make(&run, &cut_configs[i], seed)) {
            campaign_run(&run, false);
            slots += run.slots;
            campaign_free(&run);
        }
    }
    return slots;
}

int main(int argc, char **argv) {
    static struct campaign run;
    uint64_t cuts_wanted = environment("ESK_CUTS", 5000);
    uint64_t seed = environment("ESK_SEED", 1);
    const char *only = argc > 1 ? argv[1] : NULL;
    uint64_t slots = slots_count(seed, only);
    uint64_t cuts = 0;
    unsigned passed = 0;
    unsigned failed = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < cut_config_count; i++) {
        if (only != NULL && strcmp(only, cut_configs[i].name) != 0) {
            continue;
        }
        bool made = campaign_make(&run, &cut_configs[i], seed);
        run.per_slot_micro = slots == 0 ? 0 : cuts_wanted * 1000000 / slots + 1;
        if (argc > 4) {
            run.only_op = strtoull(argv[2], NULL, 10);
            run.only_mode = (uint32_t)strtoul(argv[3], NULL, 10);
            run.only_try = (uint32_t)strtoul(argv[4], NULL, 10);
        }
        if (made) {
            campaign_run(&run, true);
            campaign_print(&run);
            campaign_free(&run);
        }
        cuts += run.cuts;
        passed += run.failures == 0 ? 1 : 0;
        failed += run.failures == 0 ? 0 : 1;
    }
    if (only == NULL && cuts < cuts_wanted && failed == 0) {
        printf("FAILED: %llu cuts are fewer than %llu\n",
               (unsigned long long)cuts, (unsigned long long)cuts_wanted);
        failed++;
    }
    printf("%llu cuts, seed %llu\n%u passed, %u failed\n",
           (unsigned long long)cuts, (unsigned long long)seed, passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}
