// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The tree's power-cut campaign: every store on media of its kind, cut at
/// every program and erase of a workload, in every way a cut can end one.
///
/// Each step of the workload is run once; then, from a snapshot of before it,
/// once for each of its operations and modes with a cut there. After a cut
/// the table must be what it was before the step, or after a first part of
/// its changes (a put_many is several); of a batch all or nothing. Then it is
/// cut again, in the recovery or a few steps later, and goes on.
///
/// ESK_CUTS   at least so many cuts in all
/// ESK_SEED   of the workloads and of what a cut leaves
///
/// A failure prints the command that repeats it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/harness/bush.h"
#include "test/harness/media.h"

enum {
    MODES = 5,
    CHANGES_MAX = 12,
    FAILURES_SHOWN = 3,
    DEEP_MAX = 3,
    STEPS_AFTER = 12,
};

struct config {
    const char *name;
    struct esk_bush_table table;
    struct esk_geometry geometry;
    uint32_t ops;      ///< programs and erases of the workload
    uint32_t prefill;  ///< steps before it
    bool whole_writes; ///< the medium never tears a page
    uint32_t bad_blocks;
};

#define TREE(store_, range_, pad_)                                             \
    .store = (store_), .key_type = ESK_TYPE_U32, .key_range = (range_),        \
    .pad_bytes = (pad_)

static const struct config configs[] = {
    {.name = "inplace",
     .table = {TREE(ESK_STORE_INPLACE, 150, 40)},
     .geometry = ESK_CARD(40, 8, 256),
     .ops = 500,
     .whole_writes = true},
    {.name = "inplace-deep",
     .table = {TREE(ESK_STORE_INPLACE, 200, 40)},
     .geometry = ESK_CARD(60, 8, 128),
     .ops = 600,
     .whole_writes = true},
    {.name = "journaled",
     .table = {TREE(ESK_STORE_JOURNALED, 150, 40)},
     .geometry = ESK_CARD(40, 8, 256),
     .ops = 600},
    {.name = "journaled-deep",
     .table = {TREE(ESK_STORE_JOURNALED, 200, 40)},
     .geometry = ESK_CARD(60, 8, 128),
     .ops = 600},
    {.name = "wandering",
     .table = {TREE(ESK_STORE_WANDERING, 100, 40), .blocks = 24},
     .geometry = ESK_NAND(52, 8, 256),
     .ops = 900,
     .prefill = 400},
    {.name = "wandering-small",
     .table = {TREE(ESK_STORE_WANDERING, 60, 60), .blocks = 14},
     .geometry = ESK_NAND(28, 8, 256),
     .ops = 900,
     .prefill = 300},
    {.name = "mu",
     .table = {TREE(ESK_STORE_MU, 100, 20), .blocks = 7},
     .geometry = ESK_NAND(32, 8, 256),
     .ops = 900,
     .prefill = 400},
    {.name = "mu-one-page-blocks",
     .table = {TREE(ESK_STORE_MU, 60, 20), .blocks = 36},
     .geometry = ESK_NAND(140, 1, 256),
     .ops = 500,
     .prefill = 300},
    {.name = "mu-k30-lru-n",
     .table = {TREE(ESK_STORE_MU, 120, 8), .blocks = 5, .k_percent = 30,
               .frames = 4, .policy = ESK_TREE_LRU_N},
     .geometry = ESK_NAND(30, 16, 256),
     .ops = 900,
     .prefill = 500},
    {.name = "mu-k70-bad-blocks",
     .table = {TREE(ESK_STORE_MU, 120, 20), .blocks = 8, .k_percent = 70,
               .frames = 3},
     .geometry = ESK_NAND(34, 8, 512),
     .ops = 900,
     .prefill = 500,
     .bad_blocks = 3},
    {.name = "mu-full",
     .table = {TREE(ESK_STORE_MU, 250, 40), .blocks = 6},
     .geometry = ESK_NAND(30, 8, 256),
     .ops = 900,
     .prefill = 500},
};

enum { CONFIGS = sizeof configs / sizeof configs[0] };

static const char *const mode_names[] = {"none",   "before", "after",
                                         "prefix", "subset", "all-but-one"};

/// What a step changes, in order; version 0: the row goes.
struct step {
    struct {
        uint32_t number;
        uint32_t version;
    } changes[CHANGES_MAX];
    uint32_t count;
    bool commits;
};

/// Everything that a call or a cut can change.
struct save {
    struct esk_sim *sim;
    struct esk_bush bush;
    void *arena;
};

struct campaign {
    const struct config *config;
    struct esk_bush bush;
    struct step step;
    struct save before;
    struct save after;
    uint64_t seed;
    uint64_t cuts;
    uint64_t slots;
    uint64_t per_slot_micro;
    int64_t due_micro;
    uint32_t failures;
    uint64_t only_op;
    uint32_t only_mode;
    uint32_t only_try;
};

static void save_make(struct save *save, const struct esk_bush *bush) {
    save->arena = malloc(bush->arena_bytes);
    if (esk_sim_clone(&save->sim, bush->sim) != ESK_OK) {
        abort();
    }
}

static void save_free(struct save *save) {
    esk_sim_destroy(save->sim);
    free(save->arena);
}

static void save_keep(struct save *save, const struct esk_bush *bush) {
    save->bush = *bush;
    memcpy(save->arena, bush->arena, bush->arena_bytes);
    esk_sim_restore(save->sim, bush->sim);
}

static void save_restore(const struct save *save, struct esk_bush *bush) {
    *bush = save->bush;
    memcpy(bush->arena, save->arena, bush->arena_bytes);
    esk_sim_restore(bush->sim, save->sim);
}

static void change_add(struct step *step, uint32_t number, uint32_t version) {
    step->changes[step->count].number = number;
    step->changes[step->count].version = version;
    step->count++;
}

/// Makes the first `count` changes in the model.
static void changes_apply(struct esk_bush *bush, const struct step *step,
                          uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *version = &bush->model.version[step->changes[i].number];
        uint32_t now = step->changes[i].version;
        bush->model.rows += now != 0 && *version == 0 ? 1 : 0;
        bush->model.rows -= now == 0 && *version != 0 ? 1 : 0;
        *version = now;
    }
}

static int many_put(struct esk_bush *bush, struct step *step, uint32_t number,
                    uint32_t *done) {
    uint8_t rows[CHANGES_MAX * 512];
    uint32_t gap = 1 + esk_bush_random(bush, 3);
    for (; number < bush->range && step->count < CHANGES_MAX; number += gap) {
        bush->version++;
        esk_bush_row(bush, number, bush->version,
                     rows + (size_t)step->count * bush->row_bytes);
        change_add(step, number, bush->version);
    }
    return esk_tree_put_many(bush->tree, rows, step->count, done);
}

static int batch_step(struct esk_bush *bush, struct step *step) {
    int status = ESK_OK;
    if (!bush->in_batch) {
        status = esk_tree_begin(bush->tree, 0);
        if (status == ESK_OK) {
            bush->before = bush->model;
            bush->in_batch = true;
        }
        return status == ESK_E_UNSUPPORTED ? ESK_OK : status;
    }
    if (esk_bush_random(bush, 4) == 0) {
        bush->in_batch = false;
        bush->model = bush->before;
        return esk_tree_abort(bush->tree);
    }
    step->commits = true;
    status = esk_tree_commit(bush->tree);
    if (status == ESK_OK) {
        bush->in_batch = false;
    }
    return status;
}

/// One step of the workload; the model follows when it returns ESK_OK.
static int step_run(struct campaign *run) {
    struct esk_bush *bush = &run->bush;
    struct step *step = &run->step;
    uint8_t row[512];
    uint32_t number = esk_bush_random(bush, bush->range);
    uint32_t kind = esk_bush_random(bush, 100);
    uint32_t done = 0;
    int status = ESK_OK;
    memset(step, 0, sizeof *step);
    if (kind < 50) {
        bush->version++;
        change_add(step, number, bush->version);
        esk_bush_row(bush, number, bush->version, row);
        status = esk_tree_put(bush->tree, row);
        done = status == ESK_OK ? 1 : 0;
    } else if (kind < 74) {
        change_add(step, number, 0);
        esk_bush_key(bush, number, row);
        status = esk_tree_delete(bush->tree, row);
        done = status == ESK_OK ? 1 : 0;
        status = status == ESK_NOT_FOUND ? ESK_OK : status;
    } else if (kind < 82) {
        status = many_put(bush, step, number, &done);
    } else if (kind < 90) {
        status = esk_volume_step(&bush->volume, 3, NULL);
    } else if (kind < 98) {
        status = batch_step(bush, step);
    } else {
        status = esk_tree_sync(bush->tree);
    }
    if (!esk_sim_is_on(bush->sim)) {
        return ESK_E_IO;
    }
    changes_apply(bush, step, done);
    return status == ESK_FULL ? ESK_OK : status;
}

/// Forgets all RAM and takes the table up again; the power may go once more
/// while it does.
static int recover(struct campaign *run) {
    struct esk_bush *bush = &run->bush;
    for (uint32_t i = 0; i < 4; i++) {
        esk_sim_power_on(bush->sim);
        if (i < 3 && esk_bush_random(bush, 3) == 0) {
            esk_sim_cut_at(bush->sim,
                           esk_sim_op_count(bush->sim) +
                               esk_bush_random(bush, 3),
                           run->config->whole_writes ? ESK_SIM_CUT_BEFORE
                                                     : ESK_SIM_CUT_DRAWN);
        }
        int status =
            esk_volume_mount(&bush->volume, bush->device, 0, bush->page);
        if (status == ESK_OK) {
            status = esk_bush_open(bush);
        }
        if (status == ESK_OK || esk_sim_is_on(bush->sim)) {
            esk_sim_cut_at(bush->sim, 0, ESK_SIM_CUT_NONE);
            return status;
        }
        run->cuts++;
    }
    return ESK_E_IO;
}

/// Reads the table: the version of every key; false for a row that no put
/// can have made.
static bool table_read(struct esk_bush *bush, uint32_t *versions) {
    uint8_t row[512];
    uint8_t expected[512];
    struct esk_tree_cursor cursor;
    uint32_t number = 0;
    memset(versions, 0, bush->range * sizeof *versions);
    esk_tree_cursor_open(bush->tree, &cursor, NULL);
    int status = esk_tree_cursor_next(bush->tree, &cursor, row);
    while (status == ESK_OK) {
        uint32_t version =
            (uint32_t)row[0] | (uint32_t)row[1] << 8 | (uint32_t)row[2] << 16;
        bool found = false;
        for (; number < bush->range && !found; number++) {
            esk_bush_row(bush, number, version, expected);
            found = memcmp(row, expected, bush->row_bytes) == 0;
            if (found) {
                versions[number] = version;
            }
        }
        if (!found) {
            return esk_bush_fail(bush, "a row that was never put, or order");
        }
        status = esk_tree_cursor_next(bush->tree, &cursor, row);
    }
    return status == ESK_END ||
           esk_bush_fail(bush, "scan: %s", esk_status_text(status));
}

static bool model_is(const struct esk_bush *bush, const uint32_t *versions) {
    return memcmp(bush->model.version, versions,
                  bush->range * sizeof *versions) == 0;
}

/// Finds which of the allowed states the table is in, and makes it the
/// model's.
static bool state_settle(struct campaign *run) {
    struct esk_bush *bush = &run->bush;
    static uint32_t versions[ESK_BUSH_KEYS_MAX];
    if (!table_read(bush, versions)) {
        return false;
    }
    if (bush->in_batch) {
        bush->in_batch = false;
        if (run->step.commits && model_is(bush, versions)) {
            return true;
        }
        bush->model = bush->before;
        run->step.count = 0;
    }
    for (uint32_t i = 0; i <= run->step.count; i++) {
        if (model_is(bush, versions)) {
            return true;
        }
        if (i < run->step.count) {
            struct step one = {.count = 1};
            one.changes[0] = run->step.changes[i];
            changes_apply(bush, &one, 1);
        }
    }
    return esk_bush_fail(bush, "neither as before the cut nor as after it");
}

static bool recover_verify(struct campaign *run) {
    struct esk_bush *bush = &run->bush;
    struct esk_tree_report report;
    int status = recover(run);
    if (status != ESK_OK) {
        return esk_bush_fail(bush, "recovery: %s", esk_status_text(status));
    }
    if (!state_settle(run)) {
        return false;
    }
    if (esk_bush_random(bush, 6) == 0) {
        return esk_bush_verify(bush);
    }
    status = esk_tree_check(bush->tree, &report);
    return (status == ESK_OK && report.rows == bush->model.rows) ||
           esk_bush_fail(bush, "check: %s, %lu rows of %lu",
                         esk_status_text(status), (unsigned long)report.rows,
                         (unsigned long)bush->model.rows);
}

/// Runs some steps, with a cut somewhere in them if `cut`. False: a step
/// failed with the power on.
static bool go_on(struct campaign *run, bool cut) {
    struct esk_bush *bush = &run->bush;
    if (cut) {
        uint64_t op = esk_sim_op_count(bush->sim) + esk_bush_random(bush, 12);
        esk_sim_cut_at(bush->sim, op,
                       run->config->whole_writes ? ESK_SIM_CUT_AFTER
                                                 : ESK_SIM_CUT_DRAWN);
    }
    int status = ESK_OK;
    for (uint32_t i = 0; i < STEPS_AFTER && status == ESK_OK; i++) {
        status = step_run(run);
    }
    if (status != ESK_OK && esk_sim_is_on(bush->sim)) {
        return esk_bush_fail(bush, "going on: %s", esk_status_text(status));
    }
    if (status == ESK_OK) {
        memset(&run->step, 0, sizeof run->step);
    } else {
        run->cuts++;
    }
    return true;
}

static uint64_t try_seed(const struct campaign *run, uint64_t op, uint32_t mode,
                         uint32_t number) {
    uint64_t z = run->seed * 0x9E3779B97F4A7C15u + op * 0xBF58476D1CE4E5B9u +
                 mode * 0x94D049BB133111EBu + number * 0xD6E8FEB86659FD93u;
    z = (z ^ z >> 32) * 0xD6E8FEB86659FD93u;
    return z ^ z >> 32;
}

static void failure_print(struct campaign *run, uint64_t op, uint32_t mode,
                          uint32_t number) {
    char text[400];
    esk_sim_describe(run->bush.sim, text, sizeof text);
    run->failures++;
    if (run->failures <= FAILURES_SHOWN) {
        printf("FAILED %s, op %llu, %s, try %lu\n    %s\n    %s\n"
               "    repeat: ESK_SEED=%llu build/release/test/powercut/"
               "powercut_tree %s %llu %lu %lu\n",
               run->config->name, (unsigned long long)op, mode_names[mode],
               (unsigned long)number, run->bush.why, text,
               (unsigned long long)run->seed, run->config->name,
               (unsigned long long)op, (unsigned long)mode,
               (unsigned long)number);
    }
}

/// One try: the cut, recovery, perhaps deeper cuts, going on.
static void try_run(struct campaign *run, uint64_t op, uint32_t mode,
                    uint32_t number) {
    struct esk_bush *bush = &run->bush;
    save_restore(&run->before, bush);
    esk_sim_seed_set(bush->sim, try_seed(run, op, mode, number));
    esk_sim_cut_at(bush->sim, op, (enum esk_sim_cut_mode)mode);
    (void)step_run(run);
    run->cuts++;
    bool held = !esk_sim_is_on(bush->sim) ||
                esk_bush_fail(bush, "the cut did not come");
    bush->random ^= try_seed(run, op, mode, number + 1000);
    held = held && recover_verify(run);
    for (uint32_t i = 0; held && i < number && i < DEEP_MAX; i++) {
        held = go_on(run, true) && recover_verify(run);
    }
    held = held && go_on(run, false);
    if (held && esk_bush_random(bush, 2) == 0) {
        held = recover_verify(run);
    }
    if (held && esk_sim_violations(bush->sim) > 0) {
        held =
            esk_bush_fail(bush, "violation: %s", esk_sim_violation(bush->sim));
    }
    if (!held) {
        failure_print(run, op, mode, number);
    }
}

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

static uint32_t mode_last(const struct campaign *run) {
    return run->config->whole_writes ? ESK_SIM_CUT_AFTER
                                     : ESK_SIM_CUT_ALL_BUT_ONE;
}

static bool campaign_make(struct campaign *run, const struct config *config,
                          uint64_t seed) {
    struct esk_sim_config medium = {
        .geometry = config->geometry,
        .seed = seed,
        .bad_blocks = config->bad_blocks,
        .erase_keeps = (config->geometry.flags & ESK_MEDIUM_OVERWRITE) != 0,
    };
    memset(run, 0, sizeof *run);
    run->config = config;
    run->seed = seed;
    run->only_op = UINT64_MAX;
    int status = esk_bush_make_on(&run->bush, &config->table, &medium, seed);
    for (uint32_t i = 0; i < config->prefill && status == ESK_OK; i++) {
        status = step_run(run);
    }
    if (status != ESK_OK) {
        printf("FAILED %s: %s\n", config->name, esk_status_text(status));
        return false;
    }
    save_make(&run->before, &run->bush);
    save_make(&run->after, &run->bush);
    return true;
}

static void campaign_free(struct campaign *run) {
    save_free(&run->before);
    save_free(&run->after);
    esk_bush_free(&run->bush);
}

/// Runs the workload; with `cut` each step is cut at each of its operations.
static void campaign_run(struct campaign *run, bool cut) {
    struct esk_bush *bush = &run->bush;
    uint64_t end = esk_sim_op_count(bush->sim) + run->config->ops;
    while (esk_sim_op_count(bush->sim) < end) {
        uint64_t first = esk_sim_op_count(bush->sim);
        if (cut) {
            save_keep(&run->before, bush);
        }
        int status = step_run(run);
        uint64_t last = esk_sim_op_count(bush->sim);
        if (status != ESK_OK) {
            esk_bush_fail(bush, "workload: %s", esk_status_text(status));
            failure_print(run, first, 0, 0);
            return;
        }
        run->slots += (last - first) * mode_last(run);
        if (!cut || last == first) {
            continue;
        }
        save_keep(&run->after, bush);
        for (uint64_t op = first; op < last; op++) {
            for (uint32_t mode = 1; mode <= mode_last(run); mode++) {
                slot_run(run, op, mode);
            }
        }
        save_restore(&run->after, bush);
    }
}

static uint64_t environment(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text == NULL || *text == '\0' ? otherwise : strtoull(text, NULL, 10);
}

static uint64_t slots_count(uint64_t seed, const char *only) {
    static struct campaign run;
    uint64_t slots = 0;
    for (size_t i = 0; i < CONFIGS; i++) {
        if ((only == NULL || strcmp(only, configs[i].name) == 0) &&
            campaign_make(&run, &configs[i], seed)) {
            campaign_run(&run, false);
            slots += run.slots;
            campaign_free(&run);
        }
    }
    return slots;
}

int main(int argc, char **argv) {
    static struct campaign run;
    uint64_t wanted = environment("ESK_CUTS", 5000);
    uint64_t seed = environment("ESK_SEED", 1);
    const char *only = argc > 1 ? argv[1] : NULL;
    uint64_t slots = slots_count(seed, only);
    uint64_t cuts = 0;
    unsigned passed = 0;
    unsigned failed = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < CONFIGS; i++) {
        if (only != NULL && strcmp(only, configs[i].name) != 0) {
            continue;
        }
        bool made = campaign_make(&run, &configs[i], seed);
        run.per_slot_micro = slots == 0 ? 0 : wanted * 1000000 / slots + 1;
        if (argc > 4) {
            run.only_op = strtoull(argv[2], NULL, 10);
            run.only_mode = (uint32_t)strtoul(argv[3], NULL, 10);
            run.only_try = (uint32_t)strtoul(argv[4], NULL, 10);
        }
        if (made) {
            struct esk_tree_stats stats;
            campaign_run(&run, true);
            esk_tree_stats(run.bush.tree, &stats);
            printf("%-20s %6llu cuts over %4lu ops; height %u, %lu splits, "
                   "%lu pages moved; %lu failed\n",
                   configs[i].name, (unsigned long long)run.cuts,
                   (unsigned long)configs[i].ops, stats.height,
                   (unsigned long)stats.splits,
                   (unsigned long)stats.pages_moved,
                   (unsigned long)run.failures);
            campaign_free(&run);
        }
        cuts += run.cuts;
        bool held = made && run.failures == 0;
        passed += held ? 1 : 0;
        failed += held ? 0 : 1;
    }
    if (only == NULL && cuts < wanted && failed == 0) {
        printf("FAILED: %llu cuts are fewer than %llu\n",
               (unsigned long long)cuts, (unsigned long long)wanted);
        failed++;
    }
    printf("%llu cuts, seed %llu\n%u passed, %u failed\n",
           (unsigned long long)cuts, (unsigned long long)seed, passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}
