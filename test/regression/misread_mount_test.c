// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A mount trusted a single read: a page that was read as erased or torn once,
/// and would have been right the next time, was the head's, or an older root's;
/// later writes overwrote acknowledged rows.
///
/// Here every read of a mount and open is wrong once, in each way: a flipped
/// bit, all of it erased, beyond ECC. Then the mount or open fails, or the
/// table is complete, also after more rows and another mount.
///
/// The media are in states after power cuts, at many places of the workloads of
/// the power-cut campaigns.
#include "test/harness/arena.h"
#include "test/harness/cut_configs.h"
#include "test/harness/cut_trees.h"
#include "test/harness/esk_test.h"
#include "test/harness/failing_device.h"
#include "test/harness/tree_fixture.h"

enum {
    STATES = 2, ///< of each medium in `make nightly`, else 1, or ESK_STATES
    STEPS_MOST = 60,    ///< of a workload until a cut comes
    CALLS_MOST = 300,   ///< the same, where most calls read
    CALLS_BETWEEN = 60, ///< two states of a tree
    CUT_WITHIN = 8,     ///< programs and erases
    CHANGES = 4,        ///< of a batch
    PUTS_MORE = 20,
};

static uint32_t states(void) {
    const char *asked = getenv("ESK_STATES");
    return asked != NULL ? (uint32_t)strtoul(asked, NULL, 10)
                         : esk_test_repeats(1, STATES);
}

static const enum read_failure ways[] = {READ_FLIPPED, READ_ERASED,
                                         READ_CORRUPT};

enum { WAYS = sizeof ways / sizeof ways[0] };

/// Results over all of a test.
struct tally {
    uint32_t mounts; ///< with a wrong read
    uint32_t refused;
    uint32_t lost; ///< of the others, those that lost rows
    char first[400];
};

static struct tally tally;

/// Counts a mount. held: nothing is lost; else `why`.
static void tally_add(const char *name, uint32_t state, uint32_t read,
                      enum read_failure how, bool held, const char *why) {
    tally.mounts++;
    tally.lost += held ? 0 : 1;
    if (!held && tally.lost == 1) {
        snprintf(tally.first, sizeof tally.first,
                 "%s, state %u, read %u wrong as %d: %s", name, (unsigned)state,
                 (unsigned)read, (int)how, why);
    }
}

static void tally_check(void) {
    ESK_CONTEXT("%u of %u mounts lose rows (%u refuse)", (unsigned)tally.lost,
                (unsigned)tally.mounts, (unsigned)tally.refused);
    ESK_CHECK(tally.mounts > 1000 / esk_test_stride(4));
    ESK_CHECK_TEXT(tally.first, "");
}

static struct esk_model_series model;
static struct esk_model_series_save model_series_save;
static struct cut_side side;
static struct cut_side side_save;

static bool model_series_whole(void) {
    return esk_model_series_recover(&model) == ESK_OK &&
           esk_model_series_verify(&model, true) &&
           cut_side_verify(&model, &side);
}

/// Appends more, and mounts again.
static bool model_series_goes_on(uint32_t rows) {
    int status = esk_model_series_append_many(&model, rows);
    status = status == ESK_FULL ? ESK_OK : status;
    if (status == ESK_OK) {
        status = esk_model_series_sync(&model);
    }
    if (status != ESK_OK) {
        return esk_model_series_fail(&model, "going on: %s",
                                     esk_status_text(status));
    }
    esk_model_series_crash(&model);
    return model_series_whole();
}

/// One mount and the calls after it; `lost` when a row is lost. False: there
/// was no read number `read`.
static bool series_try(const struct cut_config *config, uint32_t state,
                       uint32_t read, enum read_failure how) {
    bool held = true;
    esk_model_series_restore(&model, &model_series_save);
    side = side_save;
    esk_model_series_crash(&model);
    fail_from(read, 0, how);
    int status = esk_model_series_recover(&model);
    if (!fail_end()) {
        return false;
    }
    if (status == ESK_OK) {
        held = esk_model_series_verify(&model, true) &&
               cut_side_verify(&model, &side) &&
               model_series_goes_on(2 * config->page_rows);
    } else {
        tally.refused++;
        esk_model_series_crash(&model);
        held = model_series_whole();
    }
    if (held && esk_sim_violations(model.sim) > 0) {
        held =
            esk_model_series_fail(&model, "%s", esk_sim_violation(model.sim));
    }
    tally_add(config->name, state, read, how, held, model.why);
    return true;
}

/// Runs the workload to its next state at a cut: before a program or an erase,
/// or, every other time, in the middle of one.
static void series_proceed(const struct cut_config *config, uint32_t state) {
    uint64_t end = esk_sim_op_count(model.sim) + config->ops / states();
    while (esk_sim_op_count(model.sim) < end) {
        ESK_CHECK_INT(cut_step(config, &model, &side), ESK_OK);
    }
    esk_sim_cut_at(model.sim, esk_sim_op_count(model.sim) + 1,
                   state % 2 == 0 ? ESK_SIM_CUT_BEFORE : ESK_SIM_CUT_DRAWN);
    for (uint32_t i = 0; i < STEPS_MOST && esk_sim_is_on(model.sim); i++) {
        (void)cut_step(config, &model, &side);
    }
}

static void series_run(const struct cut_config *config) {
    uint32_t step = esk_test_rounds(7, 1) * esk_test_stride(4);
    struct esk_device front;
    ESK_CONTEXT("%s", config->name);
    ESK_CHECK_HELD(cut_model_series_make(config, &model, &side, 1), model.why);
    failing_device_make(&front, model.device);
    model.device = &front;
    esk_model_series_crash(&model);
    ESK_CHECK_HELD(model_series_whole(), model.why);
    esk_model_series_save_make(&model_series_save, &model);
    for (uint32_t state = 0; state < states(); state++) {
        series_proceed(config, state);
        esk_model_series_keep(&model_series_save, &model);
        side_save = side;
        for (uint32_t way = 0; way < WAYS; way++) {
            uint32_t read = 1 + way % step;
            while (series_try(config, state, read, ways[way])) {
                read += step;
            }
        }
        esk_model_series_restore(&model, &model_series_save);
        side = side_save;
        esk_model_series_crash(&model);
        ESK_CHECK_HELD(model_series_whole(), model.why);
    }
    esk_model_series_save_free(&model_series_save);
    cut_side_free(&side);
    esk_model_series_free(&model);
}

ESK_TEST(series_is_whole_or_not_opened_when_a_read_of_its_mount_is_wrong) {
    memset(&tally, 0, sizeof tally);
    size_t count = 0;
    const struct cut_config *configs = cut_configs(&count);
    for (size_t i = 0; i < count; i++) {
        series_run(&configs[i]);
    }
    tally_check();
}

static struct esk_model_tree tree_model;
static struct esk_model_tree model_tree_kept;
static struct esk_sim *model_tree_medium; ///< after the cut

static int model_tree_mount(void) {
    ESK_TRY(esk_volume_mount(&tree_model.volume, tree_model.device, 0,
                             TEST_SCRATCH));
    return esk_model_tree_open(&tree_model);
}

/// Mounts and compares the tree with the expected rows.
static bool model_tree_whole(void) {
    int status = model_tree_mount();
    if (status != ESK_OK) {
        return esk_model_tree_fail(&tree_model, "mount: %s",
                                   esk_status_text(status));
    }
    return esk_model_tree_verify(&tree_model);
}

static bool model_tree_goes_on(void) {
    int status = ESK_OK;
    for (uint32_t i = 0; i < PUTS_MORE && status == ESK_OK; i++) {
        status = esk_model_tree_put(
            &tree_model, esk_model_tree_random(&tree_model, tree_model.range));
    }
    status = status == ESK_FULL ? ESK_OK : status;
    if (status == ESK_OK) {
        status = esk_tree_sync(tree_model.tree);
    }
    if (status != ESK_OK) {
        return esk_model_tree_fail(&tree_model, "going on: %s",
                                   esk_status_text(status));
    }
    return model_tree_whole();
}

/// As series_try.
static bool tree_try(const char *name, uint32_t state, uint32_t read,
                     enum read_failure how) {
    bool held = true;
    esk_sim_restore(tree_model.sim, model_tree_medium);
    tree_model = model_tree_kept;
    fail_from(read, 0, how);
    int status = model_tree_mount();
    if (!fail_end()) {
        return false;
    }
    if (status == ESK_OK) {
        held = esk_model_tree_verify(&tree_model) && model_tree_goes_on();
    } else {
        tally.refused++;
        held = model_tree_whole();
    }
    if (held && esk_sim_violations(tree_model.sim) > 0) {
        held = esk_model_tree_fail(&tree_model, "%s",
                                   esk_sim_violation(tree_model.sim));
    }
    tally_add(name, state, read, how, held, tree_model.why);
    return true;
}

/// Runs the workload to a cut: at any of its programs, or, with batches, in
/// every third state at one of a commit.
static void tree_proceed(uint32_t calls, uint32_t state) {
    bool commits = tree_model.table.batch_pages > 0 && state % 3 == 2;
    for (uint32_t i = 0; i < calls; i++) {
        ESK_CHECK_HELD(esk_model_tree_call(&tree_model), tree_model.why);
    }
    ESK_CHECK(esk_model_tree_remount(&tree_model));
    commits = commits && esk_tree_begin(tree_model.tree, 0) == ESK_OK;
    for (uint32_t i = 0; i < CHANGES && commits; i++) {
        (void)esk_model_tree_put(
            &tree_model, esk_model_tree_random(&tree_model, tree_model.range));
    }
    esk_sim_cut_at(tree_model.sim,
                   esk_sim_op_count(tree_model.sim) + 1 +
                       esk_model_tree_random(&tree_model, CUT_WITHIN),
                   tree_model.table.store == ESK_STORE_INPLACE
                       ? ESK_SIM_CUT_AFTER
                       : ESK_SIM_CUT_DRAWN);
    if (commits) {
        (void)esk_tree_commit(tree_model.tree);
    }
    for (uint32_t i = 0; i < CALLS_MOST && esk_sim_is_on(tree_model.sim); i++) {
        (void)esk_model_tree_call(&tree_model);
    }
    esk_sim_power_on(tree_model.sim);
    esk_sim_cut_at(tree_model.sim, 0, ESK_SIM_CUT_NONE);
    tree_model.in_batch = false;
}

/// Sets the expected rows to those that a mount finds.
static void model_read(void) {
    static uint32_t versions[ESK_MODEL_TREE_KEYS_MAX];
    ESK_CHECK_INT(model_tree_mount(), ESK_OK);
    ESK_CHECK_HELD(esk_model_tree_read_all(&tree_model, versions),
                   tree_model.why);
    esk_model_tree_model_set(&tree_model, versions);
}

static void tree_run(const struct cut_tree *on) {
    uint32_t step = esk_test_rounds(7, 1) * esk_test_stride(4);
    ESK_CONTEXT("%s", on->name);
    ESK_CHECK_INT(cut_tree_make(on, &tree_model, 1), ESK_OK);
    model_tree_front(&tree_model);
    ESK_CHECK_INT(esk_sim_clone(&model_tree_medium, tree_model.sim), ESK_OK);
    for (uint32_t state = 0; state < states(); state++) {
        tree_proceed(state == 0 ? on->prefill : CALLS_BETWEEN, state);
        esk_sim_restore(model_tree_medium, tree_model.sim);
        model_read();
        model_tree_kept = tree_model;
        for (uint32_t way = 0; way < WAYS; way++) {
            uint32_t read = 1 + way % step;
            while (tree_try(on->name, state, read, ways[way])) {
                read += step;
            }
        }
        esk_sim_restore(tree_model.sim, model_tree_medium);
        tree_model = model_tree_kept;
        ESK_CHECK_HELD(model_tree_whole(), tree_model.why);
    }
    esk_sim_destroy(model_tree_medium);
    esk_model_tree_free(&tree_model);
}

ESK_TEST(tree_is_whole_or_not_opened_when_a_read_of_its_mount_is_wrong) {
    memset(&tally, 0, sizeof tally);
    for (size_t i = 0; i < cut_tree_count; i++) {
        tree_run(&cut_trees[i]);
    }
    tally_check();
}

ESK_TEST_MAIN()
