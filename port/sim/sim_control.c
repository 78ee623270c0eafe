// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The simulator's queries and settings for tests.
#include "port/sim/sim_internal.h"

const struct esk_device *esk_sim_device(const struct esk_sim *sim) {
    return &sim->device;
}

const struct esk_sim_counters *esk_sim_counters(const struct esk_sim *sim) {
    return &sim->state.counters;
}

void esk_sim_counters_reset(struct esk_sim *sim) {
    sim->state.counters = (struct esk_sim_counters){0};
}

uint64_t esk_sim_op_count(const struct esk_sim *sim) {
    return sim->state.ops;
}

uint32_t esk_sim_block_wear(const struct esk_sim *sim, uint32_t block) {
    return sim->blocks[block].wear;
}

void esk_sim_wear(const struct esk_sim *sim, uint32_t first, uint32_t count,
                  struct esk_sim_wear *wear) {
    *wear = (struct esk_sim_wear){.min = UINT32_MAX};
    for (uint32_t block = first; block < first + count; block++) {
        uint32_t worn = sim->blocks[block].wear;
        if ((sim->blocks[block].flags & SIM_BAD) != 0) {
            continue;
        }
        wear->blocks++;
        wear->total += worn;
        wear->min = worn < wear->min ? worn : wear->min;
        wear->max = worn > wear->max ? worn : wear->max;
    }
    if (wear->blocks == 0) {
        wear->min = 0;
    } else {
        wear->mean_milli = (uint32_t)(wear->total * 1000 / wear->blocks);
    }
}

uint64_t esk_sim_violations(const struct esk_sim *sim) {
    return sim->state.violations;
}

const char *esk_sim_violation(const struct esk_sim *sim) {
    return sim->state.violation;
}

void esk_sim_cut_at(struct esk_sim *sim, uint64_t op,
                    enum esk_sim_cut_mode mode) {
    sim->state.cut_op = op;
    sim->state.cut_mode = (uint8_t)mode;
}

void esk_sim_power_off(struct esk_sim *sim) {
    if (sim->state.on) {
        esk_sim_power_cut(sim);
    }
}

void esk_sim_power_on(struct esk_sim *sim) {
    sim->state.on = true;
    sim->state.page_read_next = ESK_PAGE_NONE;
    sim->state.page_program_next = ESK_PAGE_NONE;
    if (sim->state.ops > sim->state.cut_op) {
        sim->state.cut_mode = ESK_SIM_CUT_NONE;
    }
}

bool esk_sim_is_on(const struct esk_sim *sim) {
    return sim->state.on;
}

void esk_sim_failures_set(struct esk_sim *sim,
                          const struct esk_sim_failures *failures) {
    sim->state.failures =
        failures == NULL ? (struct esk_sim_failures){0} : *failures;
    sim->state.programs_tried = 0;
    sim->state.erases_tried = 0;
    sim->state.transfers_tried = 0;
}

void esk_sim_block_fail(struct esk_sim *sim, uint32_t block) {
    sim->blocks[block].flags |= SIM_FAILING;
}
