// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The series' power-cut campaign: the media and tables of cut_configs.c.
/// test/harness/cut_campaign.h describes the cuts and the arguments,
/// test/harness/model_series.h the checks after each cut.
#include <stdio.h>

#include "table/series/series.h"
#include "test/harness/arena.h"
#include "test/harness/cut_campaign.h"
#include "test/harness/cut_configs.h"

enum {
    STEPS_AFTER = 24, ///< workload steps in which a further cut may come
};

static const struct cut_config *configs;
static const struct cut_config *config;
static struct esk_model_series model;
static struct cut_side side;
static struct esk_model_series_save saves[CUT_SNAPSHOTS];
static struct cut_side sides[CUT_SNAPSHOTS];

static const char *config_name(size_t at) {
    return configs[at].name;
}

static bool series_make(struct cut_campaign *run, size_t at) {
    config = &configs[at];
    run->why = model.why;
    run->why_bytes = sizeof model.why;
    run->ops = config->ops;
    run->mode_last = ESK_SIM_CUT_ALL_BUT_ONE;
    if (!cut_model_series_make(config, &model, &side, run->seed)) {
        return false;
    }
    run->sim = model.sim;
    for (int i = 0; i < CUT_SNAPSHOTS; i++) {
        esk_model_series_save_make(&saves[i], &model);
    }
    return true;
}

static void series_free(void) {
    cut_side_free(&side);
    for (int i = 0; i < CUT_SNAPSHOTS; i++) {
        esk_model_series_save_free(&saves[i]);
    }
    esk_model_series_free(&model);
}

static void series_keep(enum cut_snapshot to) {
    esk_model_series_keep(&saves[to], &model);
    sides[to] = side;
}

static void series_restore(enum cut_snapshot from) {
    esk_model_series_restore(&model, &saves[from]);
    side = sides[from];
}

static int series_step(struct cut_campaign *run) {
    (void)run;
    return cut_step(config, &model, &side);
}

static void series_stir(uint64_t bits) {
    model.expected->random ^= bits;
}

/// Checks everything. A cut damages no value: where the erase of a block of
/// values was cut, they were dropped.
static bool series_verify(bool full) {
    return esk_model_series_verify(&model, full) &&
           (model.values_damaged == 0 ||
            esk_model_series_fail(&model, "a value is damaged, not dropped")) &&
           cut_side_verify(&model, &side);
}

/// Recovers from a cut and checks everything.
static bool series_recover(struct cut_campaign *run) {
    (void)run;
    esk_model_series_crash(&model);
    if (esk_model_series_random(&model, 16) == 0) {
        /* A read-only mount changes nothing. */
        uint64_t ops = esk_sim_op_count(model.sim);
        struct esk_volume volume;
        if (esk_volume_mount(&volume, model.device, ESK_MOUNT_READ_ONLY,
                             TEST_SCRATCH) != ESK_OK ||
            esk_sim_op_count(model.sim) != ops) {
            return esk_model_series_fail(&model, "read-only mount");
        }
    }
    return esk_model_series_recover(&model) == ESK_OK && series_verify(true);
}

/// Changes the catalog after a recovery, as far as its tables allow.
static int catalog_change(void) {
    if (config->side && esk_model_series_random(&model, 2) == 0) {
        ESK_TRY(cut_side_step(&model, &side));
    }
    if (config->erases && esk_model_series_random(&model, 4) == 0) {
        ESK_TRY(esk_model_series_erase_before(
            &model, esk_model_series_random(&model, 9)));
    }
    return ESK_OK;
}

/// Continues after a recovery: rows, a sync, a clean mount, and all again.
static bool series_go_on(struct cut_campaign *run) {
    (void)run;
    uint32_t rows = 1 + esk_model_series_random(&model, 2 * config->page_rows);
    int status = catalog_change();
    if (status == ESK_OK) {
        status = esk_model_series_append_many(&model, rows);
    }
    if (status == ESK_OK || status == ESK_FULL) {
        if (esk_model_series_random(&model, 4) == 0 &&
            !esk_model_series_verify(&model, true)) {
            return false;
        }
        int synced = esk_model_series_sync(&model);
        status = synced != ESK_OK ? synced : status;
    }
    if (status != ESK_OK && status != ESK_FULL) {
        return esk_model_series_fail(&model, "going on: %s",
                                     esk_status_text(status));
    }
    esk_model_series_crash(&model);
    return esk_model_series_recover(&model) == ESK_OK &&
           series_verify(esk_model_series_random(&model, 2) == 0);
}

/// Runs workload steps until the cut, if there is one. False: model.why.
static bool series_deeper(struct cut_campaign *run) {
    (void)run;
    uint64_t op =
        esk_sim_op_count(model.sim) + esk_model_series_random(&model, 6);
    bool catalog = config->side && esk_model_series_random(&model, 2) == 0;
    op += catalog ? esk_model_series_random(&model, 40) : 0;
    esk_sim_cut_at(model.sim, op, ESK_SIM_CUT_DRAWN);
    int status = ESK_OK;
    for (uint32_t i = 0; status == ESK_OK && i < STEPS_AFTER; i++) {
        status = catalog && i < 3 ? cut_side_step(&model, &side)
                                  : cut_step(config, &model, &side);
    }
    return status == ESK_OK || !esk_sim_is_on(model.sim) ||
           esk_model_series_fail(&model, "workload after a recovery: %s",
                                 esk_status_text(status));
}

/// Laps of a ring, in tenths.
static unsigned tenths(uint32_t head, uint32_t blocks) {
    uint32_t pages = blocks * model.device->geometry.block_pages;
    return pages == 0 ? 0 : (unsigned)(head * 10 / pages);
}

static void series_print(const struct cut_campaign *run) {
    unsigned data = tenths(model.series->data.head, model.table.data_blocks);
    unsigned index = tenths(model.series->log.ring.head, model.index_blocks);
    printf("%-28s %6llu cuts over %4llu ops; laps %u.%u data, %u.%u index",
           run->name, (unsigned long long)run->cuts,
           (unsigned long long)(run->slots / run->mode_last), data / 10,
           data % 10, index / 10, index % 10);
    if (model.table.has_var) {
        unsigned var = tenths(model.series->var->head, model.var_blocks);
        printf(", %u.%u var", var / 10, var % 10);
    }
}

int main(int argc, char **argv) {
    size_t count = 0;
    configs = cut_configs(&count);
    const struct cut_kind series = {.program = "powercut",
                                    .configs = count,
                                    .name = config_name,
                                    .make = series_make,
                                    .free = series_free,
                                    .keep = series_keep,
                                    .restore = series_restore,
                                    .step = series_step,
                                    .stir = series_stir,
                                    .recover = series_recover,
                                    .deeper = series_deeper,
                                    .go_on = series_go_on,
                                    .print = series_print};
    return cut_campaign_main(&series, argc, argv);
}
