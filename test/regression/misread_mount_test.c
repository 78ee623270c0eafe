// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A mount believed what one read said: a page that was read as erased, or as
/// torn, once, and would have been right the next time, was the head's, or an
/// older root's; what was written next took the place of acknowledged rows.
///
/// Here every read of a mount and open is wrong once, in each way: a flipped
/// bit, all of it erased, beyond ECC. Then the mount or open refuses, or the
/// table is whole; and it is whole after rows more and another mount.
///
/// The media are as power cuts leave them, at many places of the workloads of
/// the power-cut campaigns.
#include "test/harness/bush_rig.h"
#include "test/harness/cut_configs.h"
#include "test/harness/cut_trees.h"
#include "test/harness/esk_test.h"
#include "test/harness/failing_device.h"

enum {
    STATES = 2,         ///< of each medium; ESK_STATES asks for more
    STEPS_MOST = 60,    ///< of a workload until a cut comes
    CALLS_MOST = 300,   ///< the same, where most calls read
    CALLS_BETWEEN = 60, ///< two states of a tree
    CUT_WITHIN = 8,     ///< programs and erases
    CHANGES = 4,        ///< of a batch
    PUTS_MORE = 20,
};

static uint32_t states(void) {
    const char *asked = getenv("ESK_STATES");
    return asked != NULL ? (uint32_t)strtoul(asked, NULL, 10) : STATES;
}

static const enum read_failure ways[] = {READ_FLIPPED, READ_ERASED,
                                         READ_CORRUPT};

enum { WAYS = sizeof ways / sizeof ways[0] };

/// What came of it, over all of a test.
struct tally {
    uint32_t mounts; ///< that had a read that was wrong
    uint32_t refused;
    uint32_t lost; ///< of the others, those after which rows are missing
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
    ESK_CHECK(tally.mounts > 1000);
    ESK_CHECK_TEXT(tally.first, "");
}

static struct esk_bed bed;
static struct esk_bed_save bed_save;
static struct cut_side side;
static struct cut_side side_save;

static bool bed_whole(void) {
    return esk_bed_recover(&bed) == ESK_OK && esk_bed_verify(&bed, true) &&
           cut_side_verify(&bed, &side);
}

/// Goes on, and mounts again.
static bool bed_goes_on(uint32_t rows) {
    int status = esk_bed_append_many(&bed, rows);
    status = status == ESK_FULL ? ESK_OK : status;
    if (status == ESK_OK) {
        status = esk_bed_sync(&bed);
    }
    if (status != ESK_OK) {
        return esk_bed_fail(&bed, "going on: %s", esk_status_text(status));
    }
    esk_bed_crash(&bed);
    return bed_whole();
}

/// One mount and what comes after; `lost` when a row is. False: it had no
/// read number `read`.
static bool series_try(const struct cut_config *config, uint32_t state,
                       uint32_t read, enum read_failure how) {
    bool held = true;
    esk_bed_restore(&bed, &bed_save);
    side = side_save;
    esk_bed_crash(&bed);
    fail_from(read, 0, how);
    int status = esk_bed_recover(&bed);
    if (!fail_end()) {
        return false;
    }
    if (status == ESK_OK) {
        held = esk_bed_verify(&bed, true) && cut_side_verify(&bed, &side) &&
               bed_goes_on(2 * config->page_rows);
    } else {
        tally.refused++;
        esk_bed_crash(&bed);
        held = bed_whole();
    }
    if (held && esk_sim_violations(bed.sim) > 0) {
        held = esk_bed_fail(&bed, "%s", esk_sim_violation(bed.sim));
    }
    tally_add(config->name, state, read, how, held, bed.why);
    return true;
}

/// Runs the workload to its next state, where a cut ends it: before a program
/// or an erase, or, every other time, in the middle of one.
static void series_proceed(const struct cut_config *config, uint32_t state) {
    uint64_t end = esk_sim_op_count(bed.sim) + config->ops / states();
    while (esk_sim_op_count(bed.sim) < end) {
        ESK_CHECK_INT(cut_step(config, &bed, &side), ESK_OK);
    }
    esk_sim_cut_at(bed.sim, esk_sim_op_count(bed.sim) + 1,
                   state % 2 == 0 ? ESK_SIM_CUT_BEFORE : ESK_SIM_CUT_DRAWN);
    for (uint32_t i = 0; i < STEPS_MOST && esk_sim_is_on(bed.sim); i++) {
        (void)cut_step(config, &bed, &side);
    }
}

static void series_run(const struct cut_config *config) {
    struct esk_device front;
    ESK_CONTEXT("%s", config->name);
    ESK_CHECK_HELD(cut_bed_make(config, &bed, &side, 1), bed.why);
    failing_device_make(&front, bed.device);
    bed.device = &front;
    esk_bed_crash(&bed);
    ESK_CHECK_HELD(bed_whole(), bed.why);
    esk_bed_save_make(&bed_save, &bed);
    for (uint32_t state = 0; state < states(); state++) {
        series_proceed(config, state);
        esk_bed_keep(&bed_save, &bed);
        side_save = side;
        for (uint32_t way = 0; way < WAYS; way++) {
            uint32_t read = 1;
            while (series_try(config, state, read, ways[way])) {
                read++;
            }
        }
        esk_bed_restore(&bed, &bed_save);
        side = side_save;
        esk_bed_crash(&bed);
        ESK_CHECK_HELD(bed_whole(), bed.why);
    }
    esk_bed_save_free(&bed_save);
    cut_side_free(&side);
    esk_bed_free(&bed);
}

ESK_TEST(series_is_whole_or_not_opened_when_a_read_of_its_mount_is_wrong) {
    memset(&tally, 0, sizeof tally);
    for (size_t i = 0; i < cut_config_count; i++) {
        series_run(&cut_configs[i]);
    }
    tally_check();
}

static struct esk_bush bush;
static struct esk_bush bush_kept;
static struct esk_sim *bush_medium; ///< as the cut left it

static int bush_mount(void) {
    ESK_TRY(esk_volume_mount(&bush.volume, bush.device, 0, bush.page));
    return esk_bush_open(&bush);
}

/// Mounts and holds the tree against the model.
static bool bush_whole(void) {
    int status = bush_mount();
    if (status != ESK_OK) {
        return esk_bush_fail(&bush, "mount: %s", esk_status_text(status));
    }
    return esk_bush_verify(&bush);
}

static bool bush_goes_on(void) {
    int status = ESK_OK;
    for (uint32_t i = 0; i < PUTS_MORE && status == ESK_OK; i++) {
        status = esk_bush_put(&bush, esk_bush_random(&bush, bush.range));
    }
    status = status == ESK_FULL ? ESK_OK : status;
    if (status == ESK_OK) {
        status = esk_tree_sync(bush.tree);
    }
    if (status != ESK_OK) {
        return esk_bush_fail(&bush, "going on: %s", esk_status_text(status));
    }
    return bush_whole();
}

/// As series_try.
static bool tree_try(const char *name, uint32_t state, uint32_t read,
                     enum read_failure how) {
    bool held = true;
    esk_sim_restore(bush.sim, bush_medium);
    bush = bush_kept;
    fail_from(read, 0, how);
    int status = bush_mount();
    if (!fail_end()) {
        return false;
    }
    if (status == ESK_OK) {
        held = esk_bush_verify(&bush) && bush_goes_on();
    } else {
        tally.refused++;
        held = bush_whole();
    }
    if (held && esk_sim_violations(bush.sim) > 0) {
        held = esk_bush_fail(&bush, "%s", esk_sim_violation(bush.sim));
    }
    tally_add(name, state, read, how, held, bush.why);
    return true;
}

/// Runs the workload to where a cut ends it: at any of its programs, or, where
/// there are batches, in every third state at one of a commit.
static void tree_proceed(uint32_t calls, uint32_t state) {
    bool commits = bush.table.batch_pages > 0 && state % 3 == 2;
    for (uint32_t i = 0; i < calls; i++) {
        ESK_CHECK_HELD(esk_bush_call(&bush), bush.why);
    }
    ESK_CHECK(esk_bush_remount(&bush));
    commits = commits && esk_tree_begin(bush.tree, 0) == ESK_OK;
    for (uint32_t i = 0; i < CHANGES && commits; i++) {
        (void)esk_bush_put(&bush, esk_bush_random(&bush, bush.range));
    }
    esk_sim_cut_at(bush.sim,
                   esk_sim_op_count(bush.sim) + 1 +
                       esk_bush_random(&bush, CUT_WITHIN),
                   bush.table.store == ESK_STORE_INPLACE ? ESK_SIM_CUT_AFTER
                                                         : ESK_SIM_CUT_DRAWN);
    if (commits) {
        (void)esk_tree_commit(bush.tree);
    }
    for (uint32_t i = 0; i < CALLS_MOST && esk_sim_is_on(bush.sim); i++) {
        (void)esk_bush_call(&bush);
    }
    esk_sim_power_on(bush.sim);
    esk_sim_cut_at(bush.sim, 0, ESK_SIM_CUT_NONE);
    bush.in_batch = false;
}

/// Makes what a mount finds the model.
static void model_read(void) {
    static uint32_t versions[ESK_BUSH_KEYS_MAX];
    ESK_CHECK_INT(bush_mount(), ESK_OK);
    ESK_CHECK_HELD(esk_bush_read_all(&bush, versions), bush.why);
    esk_bush_model_set(&bush, versions);
}

static void tree_run(const struct cut_tree *on) {
    ESK_CONTEXT("%s", on->name);
    ESK_CHECK_INT(cut_tree_make(on, &bush, 1), ESK_OK);
    bush_front(&bush);
    ESK_CHECK_INT(esk_sim_clone(&bush_medium, bush.sim), ESK_OK);
    for (uint32_t state = 0; state < states(); state++) {
        tree_proceed(state == 0 ? on->prefill : CALLS_BETWEEN, state);
        esk_sim_restore(bush_medium, bush.sim);
        model_read();
        bush_kept = bush;
        for (uint32_t way = 0; way < WAYS; way++) {
            uint32_t read = 1;
            while (tree_try(on->name, state, read, ways[way])) {
                read++;
            }
        }
        esk_sim_restore(bush.sim, bush_medium);
        bush = bush_kept;
        ESK_CHECK_HELD(bush_whole(), bush.why);
    }
    esk_sim_destroy(bush_medium);
    esk_bush_free(&bush);
}

ESK_TEST(tree_is_whole_or_not_opened_when_a_read_of_its_mount_is_wrong) {
    memset(&tally, 0, sizeof tally);
    for (size_t i = 0; i < cut_tree_count; i++) {
        tree_run(&cut_trees[i]);
    }
    tally_check();
}

ESK_TEST_MAIN()
