// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "test/harness/cut_campaign.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FAILURES_SHOWN = 3,
    DEEP_MAX = 3,     ///< cuts after the first one in one try
    STEPS_AN_OP = 40, ///< more: the workload makes no progress
};

static const char *const mode_names[] = {"none",   "before", "after",
                                         "prefix", "subset", "all-but-one"};

static const struct cut_kind *kind;

bool cut_fail(const struct cut_campaign *run, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(run->why, run->why_bytes, format, arguments);
    va_end(arguments);
    return false;
}

static uint64_t try_seed(const struct cut_campaign *run, uint64_t op,
                         uint32_t mode, uint32_t number) {
    uint64_t z = run->seed * 0x9E3779B97F4A7C15u + op * 0xBF58476D1CE4E5B9u +
                 mode * 0x94D049BB133111EBu + number * 0xD6E8FEB86659FD93u;
    z = (z ^ z >> 32) * 0xD6E8FEB86659FD93u;
    return z ^ z >> 32;
}

static void failure_print(struct cut_campaign *run, uint64_t op, uint32_t mode,
                          uint32_t number, uint32_t depth) {
    char text[400];
    esk_sim_describe(run->sim, text, sizeof text);
    run->failures++;
    if (run->failures > FAILURES_SHOWN) {
        return;
    }
    printf("FAILED %s, op %llu, %s, try %lu, after cut %lu\n"
           "    %s\n    %s\n"
           "    repeat: ESK_SEED=%llu build/test/test/powercut/%s"
           " %s %llu %lu %lu\n",
           run->name, (unsigned long long)op, mode_names[mode],
           (unsigned long)number, (unsigned long)depth, run->why, text,
           (unsigned long long)run->seed, kind->program, run->name,
           (unsigned long long)op, (unsigned long)mode, (unsigned long)number);
    fflush(stdout);
}

/// Saves the medium after the cut, if ESK_CUT_IMAGES names a folder.
static void image_save(const struct cut_campaign *run) {
    const char *folder = getenv("ESK_CUT_IMAGES");
    char path[400];
    if (folder != NULL && !esk_sim_is_on(run->sim)) {
        snprintf(path, sizeof path, "%s/%s-%llu.img", folder, run->name,
                 (unsigned long long)run->cuts);
        if (esk_sim_save(run->sim, path) != ESK_OK) {
            printf("cannot write %s\n", path);
        }
    }
}

/// One try: the cut, recovery, perhaps further cuts, and the rest of the run.
static void try_run(struct cut_campaign *run, uint64_t op, uint32_t mode,
                    uint32_t number) {
    kind->restore(CUT_BEFORE_STEP);
    esk_sim_seed_set(run->sim, try_seed(run, op, mode, number));
    esk_sim_cut_at(run->sim, op, (enum esk_sim_cut_mode)mode);
    int status = kind->step(run);
    run->cuts++;
    image_save(run);
    bool held =
        !esk_sim_is_on(run->sim) ||
        cut_fail(run, "the cut did not come: %s", esk_status_text(status));
    kind->stir(try_seed(run, op, mode, number + 1000));
    held = held && kind->recover(run);
    uint32_t depth = 1;
    for (; held && number > 0 && depth <= DEEP_MAX; depth++) {
        held = kind->deeper(run);
        run->cuts += esk_sim_is_on(run->sim) ? 0 : 1;
        image_save(run);
        held = held && kind->recover(run);
    }
    held = held && kind->go_on(run);
    if (held && esk_sim_violations(run->sim) > 0) {
        held = cut_fail(run, "violation: %s", esk_sim_violation(run->sim));
    }
    if (!held) {
        failure_print(run, op, mode, number, depth);
    }
}

/// The tries of one operation and mode.
static void slot_run(struct cut_campaign *run, uint64_t op, uint32_t mode) {
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

/// Cuts each operation of the step that led from one snapshot to the other.
static void step_cut(struct cut_campaign *run, uint64_t first, uint64_t end) {
    kind->keep(CUT_AFTER_STEP);
    for (uint64_t op = first; op < end; op++) {
        for (uint32_t mode = ESK_SIM_CUT_BEFORE; mode <= run->mode_last;
             mode++) {
            slot_run(run, op, mode);
        }
    }
    kind->restore(CUT_AFTER_STEP);
}

static bool campaign_make(struct cut_campaign *run, size_t config,
                          uint64_t seed) {
    static char why[200];
    memset(run, 0, sizeof *run);
    run->name = kind->name(config);
    run->seed = seed;
    run->only_op = UINT64_MAX;
    run->why = why;
    run->why_bytes = sizeof why;
    if (!kind->make(run, config)) {
        run->failures++;
        printf("FAILED %s: %s\n", run->name, run->why);
        return false;
    }
    return true;
}

/// Runs the workload; with `cut` each step is cut at each of its operations.
static void campaign_run(struct cut_campaign *run, bool cut) {
    uint64_t end = esk_sim_op_count(run->sim) + run->ops;
    uint64_t steps = 0;
    bool held = true;
    while (held && esk_sim_op_count(run->sim) < end) {
        uint64_t first = esk_sim_op_count(run->sim);
        if (cut) {
            kind->keep(CUT_BEFORE_STEP);
        }
        int status = kind->step(run);
        uint64_t last = esk_sim_op_count(run->sim);
        held = status == ESK_OK && ++steps <= (uint64_t)STEPS_AN_OP * run->ops;
        if (!held) {
            cut_fail(run, "workload step %llu: %s", (unsigned long long)steps,
                     esk_status_text(status));
        }
        run->slots += (last - first) * run->mode_last;
        if (held && cut && last > first) {
            step_cut(run, first, last);
        }
    }
    if (held && esk_sim_violations(run->sim) > 0) {
        held = cut_fail(run, "violation: %s", esk_sim_violation(run->sim));
    }
    if (!held) {
        failure_print(run, esk_sim_op_count(run->sim), 0, 0, 0);
    }
}

static bool is_wanted(size_t config, const char *only) {
    return only == NULL || strcmp(only, kind->name(config)) == 0;
}

/// Operations times modes of every configuration, without a cut.
static uint64_t slots_count(uint64_t seed, const char *only) {
    struct cut_campaign run;
    uint64_t slots = 0;
    for (size_t i = 0; i < kind->configs; i++) {
        if (is_wanted(i, only) && campaign_make(&run, i, seed)) {
            campaign_run(&run, false);
            slots += run.slots;
            kind->free();
        }
    }
    return slots;
}

static uint64_t environment(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text == NULL || *text == '\0' ? otherwise : strtoull(text, NULL, 10);
}

/// Runs one configuration, or the one try of it that `argv` names.
static void config_run(struct cut_campaign *run, size_t config, int argc,
                       char **argv, uint64_t seed, uint64_t per_slot_micro) {
    bool made = campaign_make(run, config, seed);
    run->per_slot_micro = per_slot_micro;
    if (argc > 4) {
        run->only_op = strtoull(argv[2], NULL, 10);
        run->only_mode = (uint32_t)strtoul(argv[3], NULL, 10);
        run->only_try = (uint32_t)strtoul(argv[4], NULL, 10);
    }
    if (made) {
        campaign_run(run, true);
        kind->print(run);
        printf("; %lu failed\n", (unsigned long)run->failures);
        kind->free();
    }
}

int cut_campaign_main(const struct cut_kind *of, int argc, char **argv) {
    uint64_t wanted = environment("ESK_CUTS", 5000);
    uint64_t seed = environment("ESK_SEED", 1);
    const char *only = argc > 1 ? argv[1] : NULL;
    kind = of;
    uint64_t slots = slots_count(seed, only);
    uint64_t per_slot_micro = slots == 0 ? 0 : wanted * 1000000 / slots + 1;
    uint64_t cuts = 0;
    unsigned passed = 0;
    unsigned failed = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < kind->configs; i++) {
        struct cut_campaign run;
        if (!is_wanted(i, only)) {
            continue;
        }
        config_run(&run, i, argc, argv, seed, per_slot_micro);
        cuts += run.cuts;
        passed += run.failures == 0 ? 1 : 0;
        failed += run.failures == 0 ? 0 : 1;
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
