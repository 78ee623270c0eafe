// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The power-cut campaign of kv tables and bare stores.
/// test/harness/cut_campaign.h describes the cuts and the arguments.
///
/// After a cut the table must have what was synced, and a prefix in order of
/// the later changes, of which a batch is a part or not. Nothing is damaged: a
/// check finds no page and no record that is lost.
///
/// After half of the cuts the open is cut too, up to 3 times, or up to 40: one
/// whose replay makes steps of an index has programs of its own.
#include <stdio.h>
#include <stdlib.h>

#include "test/harness/cut_campaign.h"
#include "test/harness/cut_kvs.h"

enum {
    STEPS_AFTER = 12,
    OPENS_CUT = 3, ///< at most, in a row
    OPENS_CUT_MANY = 40,
    MANY_ONE_IN = 16,
};

/// All state that a call or a cut can change.
struct save {
    struct esk_sim *sim;
    struct esk_model_kv model;
};

static const struct cut_kv *config;
static struct esk_model_kv model;
static struct save saves[CUT_SNAPSHOTS];
static uint32_t opens_cut; ///< beside the cuts that the campaign counts

static void kv_keep(enum cut_snapshot to) {
    saves[to].model = model;
    esk_sim_restore(saves[to].sim, model.sim);
}

static void kv_restore(enum cut_snapshot from) {
    model = saves[from].model;
    esk_sim_restore(model.sim, saves[from].sim);
}

/// One step of the workload; the model follows when it returns ESK_OK.
static int kv_step(struct cut_campaign *run) {
    (void)run;
    if (esk_model_kv_random(&model, 16) == 0) {
        return esk_volume_step(&model.volume, 2, NULL);
    }
    return esk_model_kv_step(&model);
}

/// Cuts opens in a row, until one has too few programs and erases.
static void opens_make(void) {
    bool is_many = esk_model_kv_random(&model, MANY_ONE_IN) == 0;
    uint32_t most = is_many ? OPENS_CUT_MANY : OPENS_CUT;
    for (uint32_t i = 0; i < most; i++) {
        uint32_t bound = 1u << esk_model_kv_random(&model, 6);
        uint64_t op =
            esk_sim_op_count(model.sim) + esk_model_kv_random(&model, bound);
        esk_sim_power_on(model.sim);
        esk_sim_cut_at(model.sim, op, ESK_SIM_CUT_DRAWN);
        (void)esk_model_kv_open(&model);
        if (esk_sim_is_on(model.sim)) {
            break;
        }
        opens_cut++;
    }
    esk_sim_cut_at(model.sim, 0, ESK_SIM_CUT_NONE);
}

static bool kv_recover(struct cut_campaign *run) {
    (void)run;
    /* The steps before may have had too few operations for their cut. */
    esk_sim_cut_at(model.sim, 0, ESK_SIM_CUT_NONE);
    if (esk_model_kv_random(&model, 2) == 0) {
        opens_make();
    }
    return esk_model_kv_recover(&model) && esk_model_kv_verify(&model);
}

/// Runs some steps. False: one failed with the power on.
static bool steps_run(struct cut_campaign *run) {
    int status = ESK_OK;
    for (uint32_t i = 0; i < STEPS_AFTER && status == ESK_OK; i++) {
        status = kv_step(run);
    }
    return status == ESK_OK || !esk_sim_is_on(model.sim) ||
           cut_fail(run, "going on: %s", esk_status_text(status));
}

static bool kv_deeper(struct cut_campaign *run) {
    uint64_t op = esk_sim_op_count(model.sim) + esk_model_kv_random(&model, 12);
    esk_sim_cut_at(model.sim, op, ESK_SIM_CUT_DRAWN);
    return steps_run(run);
}

static bool kv_go_on(struct cut_campaign *run) {
    esk_sim_cut_at(model.sim, 0, ESK_SIM_CUT_NONE);
    return steps_run(run) && esk_model_kv_verify(&model) &&
           (esk_model_kv_random(&model, 2) == 0 || kv_recover(run));
}

static void kv_stir(uint64_t bits) {
    model.random ^= bits;
}

static const char *config_name(size_t at) {
    return cut_kvs[at].run.name;
}

static bool kv_make(struct cut_campaign *run, size_t at) {
    config = &cut_kvs[at];
    run->why = model.why;
    run->why_bytes = sizeof model.why;
    run->ops = config->ops;
    opens_cut = 0;
    run->mode_last = ESK_SIM_CUT_ALL_BUT_ONE;
    int status = esk_model_kv_make(&model, &config->run, run->seed);
    for (uint32_t i = 0; i < config->prefill && status == ESK_OK; i++) {
        status = kv_step(run);
    }
    if (status != ESK_OK) {
        return cut_fail(run, "prefill: %s", esk_status_text(status));
    }
    run->sim = model.sim;
    for (int i = 0; i < CUT_SNAPSHOTS; i++) {
        if (esk_sim_clone(&saves[i].sim, model.sim) != ESK_OK) {
            abort();
        }
    }
    return true;
}

static void kv_free(void) {
    for (int i = 0; i < CUT_SNAPSHOTS; i++) {
        esk_sim_destroy(saves[i].sim);
    }
    esk_model_kv_free(&model);
}

static void kv_print(const struct cut_campaign *run) {
    struct esk_kv_stats stats;
    esk_kv_stats(model.kv, &stats);
    printf("%-28s %6llu cuts, %lu of opens over %4lu ops; %lu keys, "
           "%lu batches, %lu of %lu bytes, %lu pages moved",
           run->name, (unsigned long long)run->cuts, (unsigned long)opens_cut,
           (unsigned long)config->ops, (unsigned long)stats.keys,
           (unsigned long)model.batches, (unsigned long)stats.live_bytes,
           (unsigned long)stats.live_max, (unsigned long)stats.pages_moved);
}

int main(int argc, char **argv) {
    const struct cut_kind kv = {.program = "powercut_kv",
                                .configs = cut_kv_count,
                                .name = config_name,
                                .make = kv_make,
                                .free = kv_free,
                                .keep = kv_keep,
                                .restore = kv_restore,
                                .step = kv_step,
                                .stir = kv_stir,
                                .recover = kv_recover,
                                .deeper = kv_deeper,
                                .go_on = kv_go_on,
                                .print = kv_print};
    return cut_campaign_main(&kv, argc, argv);
}
