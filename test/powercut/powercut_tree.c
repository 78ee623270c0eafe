// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The tree's power-cut campaign: every store on media of its kind.
/// test/harness/cut_campaign.h describes the cuts and the arguments.
///
/// After a cut the table must be as before the step, or as after a first part
/// of its changes (a put_many is several); of a batch all or nothing.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/harness/arena.h"
#include "test/harness/cut_campaign.h"
#include "test/harness/cut_trees.h"
#include "test/harness/model_tree.h"

enum { CHANGES_MAX = 12, STEPS_AFTER = 12, UNSYNCED_MAX = 24 };

/// The changes of a step, in order; version 0: no row.
struct step {
    struct {
        uint32_t number;
        uint32_t version;
    } changes[CHANGES_MAX];
    uint32_t count;
    bool commits;
};

/// The state of the last sync, and the changes since, in order. A cut may lose
/// the latest of these if there is a cache, the medium's or the tree's.
struct unsynced {
    struct esk_model_tree_expected safe;
    struct step steps[UNSYNCED_MAX];
    uint32_t count;
};

/// All state that a call or a cut can change.
struct save {
    struct esk_sim *sim;
    struct esk_model_tree model;
    struct unsynced unsynced;
    void *arena;
};

static const struct cut_tree *config;
static struct esk_model_tree model;
static struct step step; ///< the present one, or the last
static struct unsynced unsynced;
static struct save saves[CUT_SNAPSHOTS];
static uint32_t cuts_in_row; ///< of the try

static void tree_keep(enum cut_snapshot to) {
    saves[to].model = model;
    saves[to].unsynced = unsynced;
    memcpy(saves[to].arena, model.arena, model.arena_bytes);
    esk_sim_restore(saves[to].sim, model.sim);
}

static void tree_restore(enum cut_snapshot from) {
    cuts_in_row = 0;
    model = saves[from].model;
    unsynced = saves[from].unsynced;
    memcpy(model.arena, saves[from].arena, model.arena_bytes);
    esk_sim_restore(model.sim, saves[from].sim);
}

static void change_add(uint32_t number, uint32_t version) {
    step.changes[step.count].number = number;
    step.changes[step.count].version = version;
    step.count++;
}

/// Makes the first `count` changes in the expected.
static void changes_apply(const struct step *of, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *version = &model.expected.version[of->changes[i].number];
        uint32_t now = of->changes[i].version;
        model.expected.rows += now != 0 && *version == 0 ? 1 : 0;
        model.expected.rows -= now == 0 && *version != 0 ? 1 : 0;
        *version = now;
    }
}

static int many_put(uint32_t number, uint32_t *done) {
    uint8_t rows[CHANGES_MAX * 512];
    uint32_t gap = 1 + esk_model_tree_random(&model, 3);
    for (; number < model.range && step.count < CHANGES_MAX; number += gap) {
        model.version++;
        esk_model_tree_row(&model, number, model.version,
                           rows + (size_t)step.count * model.row_bytes);
        change_add(number, model.version);
    }
    return esk_tree_put_many(model.tree, rows, step.count, done);
}

/// A copy-on-write commit is no sync: if the medium caches writes, a sync
/// follows, so that a cut leaves all of the batch or nothing.
static int batch_sync(void) {
    bool moves = !esk_model_tree_overwrites(model.table.store);
    return moves && config->cache != 0 ? esk_tree_sync(model.tree) : ESK_OK;
}

static void synced(void) {
    unsynced.safe = model.in_batch ? model.before : model.expected;
    unsynced.count = 0;
}

static int batch_step(void) {
    int status = ESK_OK;
    if (!model.in_batch) {
        status = esk_tree_begin(model.tree, 0);
        if (status == ESK_OK) {
            model.before = model.expected;
            model.in_batch = true;
            status = batch_sync();
        }
        return status == ESK_E_UNSUPPORTED || status == ESK_FULL ? ESK_OK
                                                                 : status;
    }
    if (esk_model_tree_random(&model, 4) == 0) {
        model.in_batch = false;
        model.expected = model.before;
        return esk_tree_abort(model.tree);
    }
    step.commits = true;
    status = esk_tree_commit(model.tree);
    status = status == ESK_OK ? batch_sync() : status;
    if (status == ESK_OK) {
        model.in_batch = false;
        synced();
    }
    return status;
}

/// Whether a change may be lost until the next sync.
static bool is_cached(void) {
    return config->cache != 0 || model.table.write_frames != 0;
}

/// Records the step's changes for as long as a cut may lose them.
static int step_note(uint32_t done) {
    if (!is_cached() || model.in_batch || done == 0) {
        return ESK_OK;
    }
    unsynced.steps[unsynced.count] = step;
    unsynced.steps[unsynced.count].count = done;
    unsynced.count++;
    if (unsynced.count < UNSYNCED_MAX) {
        return ESK_OK;
    }
    ESK_TRY(esk_tree_sync(model.tree));
    synced();
    return ESK_OK;
}

/// Whether the step may be refused for lack of room: a batch used its own, a
/// row is new, or successive cuts each left a part of a sweep.
static bool step_may_be_full(void) {
    bool moves = !esk_model_tree_overwrites(model.table.store);
    bool may = model.in_batch || (moves && cuts_in_row > 1);
    for (uint32_t i = 0; i < step.count; i++) {
        may = may || (step.changes[i].version != 0 &&
                      model.expected.version[step.changes[i].number] == 0);
    }
    return may;
}

/// One step of the workload; the model follows when it returns ESK_OK.
static int tree_step(struct cut_campaign *run) {
    (void)run;
    uint8_t row[512];
    uint32_t number = esk_model_tree_random(&model, model.range);
    uint32_t kind = esk_model_tree_random(&model, 100);
    uint32_t done = 0;
    bool is_sync = false;
    int status = ESK_OK;
    /* A tree that merges is filled and emptied in turn. */
    uint32_t puts = model.table.merges && model.version % 256 >= 160 ? 18 : 50;
    memset(&step, 0, sizeof step);
    if (kind < puts) {
        model.version++;
        change_add(number, model.version);
        esk_model_tree_row(&model, number, model.version, row);
        status = esk_tree_put(model.tree, row);
        done = status == ESK_OK ? 1 : 0;
    } else if (kind < 74) {
        change_add(number, 0);
        esk_model_tree_key(&model, number, row);
        status = esk_tree_delete(model.tree, row);
        done = status == ESK_OK ? 1 : 0;
        status = status == ESK_NOT_FOUND ? ESK_OK : status;
    } else if (kind < 82) {
        status = many_put(number, &done);
    } else if (kind < 90) {
        status = esk_volume_step(&model.volume, 3, NULL);
    } else if (kind < 98) {
        bool was_in_batch = model.in_batch;
        status = batch_step();
        /* The medium may still cache writes from before the batch. */
        is_sync = model.in_batch != was_in_batch && config->cache == 0;
    } else {
        status = esk_tree_sync(model.tree);
        is_sync = status == ESK_OK && !model.in_batch;
    }
    if (!esk_sim_is_on(model.sim)) {
        return ESK_E_IO;
    }
    status = status == ESK_FULL && step_may_be_full() ? ESK_OK : status;
    changes_apply(&step, done);
    if (is_sync) {
        synced();
    }
    ESK_TRY(step_note(done));
    return status;
}

/// Drops all RAM and mounts the table; there may be one more cut meanwhile.
static int take_up(struct cut_campaign *run) {
    for (uint32_t i = 0; i < 4; i++) {
        esk_sim_power_on(model.sim);
        if (i < 3 && esk_model_tree_random(&model, 3) == 0) {
            esk_sim_cut_at(
                model.sim,
                esk_sim_op_count(model.sim) + esk_model_tree_random(&model, 3),
                config->whole_writes ? ESK_SIM_CUT_BEFORE : ESK_SIM_CUT_DRAWN);
        }
        int status =
            esk_volume_mount(&model.volume, model.device, 0, TEST_SCRATCH);
        if (status == ESK_OK) {
            status = esk_model_tree_open(&model);
        }
        if (status == ESK_OK || esk_sim_is_on(model.sim)) {
            esk_sim_cut_at(model.sim, 0, ESK_SIM_CUT_NONE);
            return status;
        }
        run->cuts++;
    }
    return ESK_E_IO;
}

static bool model_is(const uint32_t *versions) {
    return memcmp(model.expected.version, versions,
                  model.range * sizeof *versions) == 0;
}

/// Makes the changes of `of` in the model one by one until it equals the table.
static bool step_explains(const struct step *of, const uint32_t *versions) {
    bool found = model_is(versions);
    for (uint32_t i = 0; i < of->count && !found; i++) {
        struct step one = {.count = 1};
        one.changes[0] = of->changes[i];
        changes_apply(&one, 1);
        found = model_is(versions);
    }
    return found;
}

/// Whether `of` changed key `number` to `version`.
static bool step_has(const struct step *of, uint32_t number, uint32_t version) {
    bool has = false;
    for (uint32_t i = 0; i < of->count; i++) {
        has = has || (of->changes[i].number == number &&
                      of->changes[i].version == version);
    }
    return has;
}

/// Nodes in place reach a medium with a cache in any order: each key is as of
/// the last sync or of a later change. Updates the model.
static bool keys_explain(const uint32_t *versions) {
    bool found = true;
    model.expected.rows = 0;
    for (uint32_t number = 0; number < model.range; number++) {
        uint32_t version = versions[number];
        bool may = version == unsynced.safe.version[number] ||
                   step_has(&step, number, version);
        for (uint32_t i = 0; i < unsynced.count; i++) {
            may = may || step_has(&unsynced.steps[i], number, version);
        }
        found = found && may;
        model.expected.version[number] = version;
        model.expected.rows += version != 0 ? 1 : 0;
    }
    return found;
}

/// Finds which of the allowed states the table is in, and updates the model.
static bool state_resolve(void) {
    static uint32_t versions[ESK_MODEL_TREE_KEYS_MAX];
    bool found = false;
    if (!esk_model_tree_read_all(&model, versions)) {
        return false;
    }
    if (model.in_batch) {
        model.in_batch = false;
        if (step.commits && model_is(versions)) {
            synced();
            return true;
        }
        model.expected = model.before;
        step.count = 0;
    }
    if (is_cached() && model.table.store == ESK_STORE_INPLACE) {
        found = keys_explain(versions);
    } else if (is_cached()) {
        model.expected = unsynced.safe;
        for (uint32_t i = 0; i < unsynced.count && !found; i++) {
            found = step_explains(&unsynced.steps[i], versions);
        }
    }
    found = found || step_explains(&step, versions);
    synced();
    return found ||
           esk_model_tree_fail(&model, "in no state that a cut may leave");
}

static bool tree_recover(struct cut_campaign *run) {
    struct esk_tree_report report;
    cuts_in_row++;
    int status = take_up(run);
    if (status != ESK_OK) {
        return esk_model_tree_fail(&model, "recovery: %s",
                                   esk_status_text(status));
    }
    if (!state_resolve()) {
        return false;
    }
    /* Without a cut a card still caches what the mount saw. */
    status = config->cache != 0 ? esk_tree_sync(model.tree) : ESK_OK;
    if (status != ESK_OK) {
        return esk_model_tree_fail(&model, "sync after recovery: %s",
                                   esk_status_text(status));
    }
    status = esk_tree_check(model.tree, &report);
    if (esk_model_tree_random(&model, 6) == 0) {
        return esk_model_tree_verify(&model);
    }
    return (status == ESK_OK && report.rows == model.expected.rows) ||
           esk_model_tree_fail(
               &model, "check: %s, %lu rows of %lu", esk_status_text(status),
               (unsigned long)report.rows, (unsigned long)model.expected.rows);
}

/// Runs some steps. False: one failed with the power on.
static bool steps_run(struct cut_campaign *run) {
    int status = ESK_OK;
    for (uint32_t i = 0; i < STEPS_AFTER && status == ESK_OK; i++) {
        status = tree_step(run);
    }
    if (status != ESK_OK && esk_sim_is_on(model.sim)) {
        return esk_model_tree_fail(&model, "going on: %s",
                                   esk_status_text(status));
    }
    if (status == ESK_OK) {
        memset(&step, 0, sizeof step);
    }
    return true;
}

static bool tree_deeper(struct cut_campaign *run) {
    uint64_t op =
        esk_sim_op_count(model.sim) + esk_model_tree_random(&model, 12);
    esk_sim_cut_at(model.sim, op,
                   config->whole_writes ? ESK_SIM_CUT_AFTER
                                        : ESK_SIM_CUT_DRAWN);
    return steps_run(run);
}

static bool tree_go_on(struct cut_campaign *run) {
    return steps_run(run) &&
           (esk_model_tree_random(&model, 2) == 0 || tree_recover(run));
}

static void tree_stir(uint64_t bits) {
    model.random ^= bits;
}

static const char *config_name(size_t at) {
    return cut_trees[at].name;
}

static bool tree_make(struct cut_campaign *run, size_t at) {
    config = &cut_trees[at];
    run->why = model.why;
    run->why_bytes = sizeof model.why;
    run->ops = config->ops;
    run->mode_last =
        config->whole_writes ? ESK_SIM_CUT_AFTER : ESK_SIM_CUT_ALL_BUT_ONE;
    int status = cut_tree_make(config, &model, run->seed);
    for (uint32_t i = 0; i < config->prefill && status == ESK_OK; i++) {
        status = tree_step(run);
    }
    if (status == ESK_OK) {
        status = esk_tree_sync(model.tree);
        synced();
    }
    if (status != ESK_OK) {
        return esk_model_tree_fail(&model, "prefill: %s",
                                   esk_status_text(status));
    }
    run->sim = model.sim;
    for (int i = 0; i < CUT_SNAPSHOTS; i++) {
        saves[i].arena = malloc(model.arena_bytes);
        if (esk_sim_clone(&saves[i].sim, model.sim) != ESK_OK) {
            abort();
        }
    }
    return true;
}

static void tree_free(void) {
    for (int i = 0; i < CUT_SNAPSHOTS; i++) {
        esk_sim_destroy(saves[i].sim);
        free(saves[i].arena);
    }
    esk_model_tree_free(&model);
}

static void tree_print(const struct cut_campaign *run) {
    struct esk_tree_stats stats;
    esk_tree_stats(model.tree, &stats);
    printf("%-20s %6llu cuts over %4lu ops; height %u, %lu splits, "
           "%lu pages moved",
           run->name, (unsigned long long)run->cuts, (unsigned long)config->ops,
           stats.height, (unsigned long)stats.splits,
           (unsigned long)stats.pages_moved);
}

int main(int argc, char **argv) {
    const struct cut_kind tree = {.program = "powercut_tree",
                                  .configs = cut_tree_count,
                                  .name = config_name,
                                  .make = tree_make,
                                  .free = tree_free,
                                  .keep = tree_keep,
                                  .restore = tree_restore,
                                  .step = tree_step,
                                  .stir = tree_stir,
                                  .recover = tree_recover,
                                  .deeper = tree_deeper,
                                  .go_on = tree_go_on,
                                  .print = tree_print};
    return cut_campaign_main(&tree, argc, argv);
}
