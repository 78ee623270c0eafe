// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The write cache of a card: the programs that a cut reverts.
///
///     program A, B, A', C   |   sync: none of them can be lost any more
///        cut: A B A' C,  or A B,  or B C,  or A B C,  or nothing
///
/// Programs take effect at once, so that reads see them; the cache has the
/// bytes before each. A cut draws which of them reached the medium, restores
/// the other pages, and may tear the page of the program under way.
#include <stdlib.h>
#include <string.h>

#include "port/sim/sim_internal.h"

/// How a cut chooses the programs that survive.
enum sim_loss {
    SIM_LOSS_ALL,
    SIM_LOSS_LATEST, ///< from some program on: without reordering
    SIM_LOSS_ANY,
    SIM_LOSS_ONE,
    SIM_LOSSES
};

/// The bytes before the program at `index`; the last entry is scratch.
static uint8_t *cached_bytes(const struct esk_sim *sim, uint32_t index) {
    return sim->cache_bytes + (size_t)index * sim->device.geometry.page_bytes;
}

int esk_sim_cache_make(struct esk_sim *sim) {
    uint32_t count = sim->state.cache_programs;
    if (count == 0) {
        return ESK_OK;
    }
    sim->cache = calloc(count, sizeof *sim->cache);
    sim->cache_bytes = calloc(count + 1u, sim->device.geometry.page_bytes);
    return sim->cache != NULL && sim->cache_bytes != NULL ? ESK_OK
                                                          : ESK_E_NO_MEMORY;
}

void esk_sim_cache_copy(struct esk_sim *sim, const struct esk_sim *from) {
    uint32_t cached = from->state.cached;
    size_t page_bytes = sim->device.geometry.page_bytes;
    if (cached > 0) {
        memcpy(sim->cache, from->cache, cached * sizeof *sim->cache);
        memcpy(sim->cache_bytes, from->cache_bytes, cached * page_bytes);
    }
}

/// The card writes one of its pages: the page's oldest program is durable.
static void cache_write_out(struct esk_sim *sim) {
    uint32_t chosen = esk_sim_random_below(sim, sim->state.cached);
    uint32_t oldest = 0;
    while (sim->cache[oldest] != sim->cache[chosen]) {
        oldest++;
    }
    sim->state.cached--;
    size_t left = sim->state.cached - oldest;
    memmove(sim->cache + oldest, sim->cache + oldest + 1,
            left * sizeof *sim->cache);
    memmove(cached_bytes(sim, oldest), cached_bytes(sim, oldest + 1),
            left * sim->device.geometry.page_bytes);
}

void esk_sim_cache_note(struct esk_sim *sim, esk_page_id page) {
    struct sim_state *state = &sim->state;
    if (state->cache_programs == 0) {
        return;
    }
    if (state->cached == state->cache_programs) {
        cache_write_out(sim);
    }
    sim->cache[state->cached] = page;
    (void)esk_sim_peek(sim, page, cached_bytes(sim, state->cached));
    state->cached++;
}

/// Draws whether the program at `index` reached the medium.
static bool cache_survives(struct esk_sim *sim, enum sim_loss loss,
                           uint32_t index, uint32_t drawn) {
    switch (loss) {
    case SIM_LOSS_LATEST:
        return index < drawn;
    case SIM_LOSS_ANY:
        return esk_sim_random_below(sim, 2) == 0;
    case SIM_LOSS_ONE:
        return index != drawn;
    default:
        return false;
    }
}

/// Restores the bytes before the program at `index`; `tear` leaves some bits of
/// the present ones.
static void cache_revert(struct esk_sim *sim, uint32_t index, bool tear) {
    uint16_t page_bytes = sim->device.geometry.page_bytes;
    esk_page_id page = sim->cache[index];
    uint8_t *now = cached_bytes(sim, sim->state.cache_programs);
    (void)esk_sim_peek(sim, page, now);
    (void)esk_sim_poke(sim, page, 0, cached_bytes(sim, index), page_bytes);
    if (tear) {
        (void)esk_sim_program_bits(sim, page, 0, now, page_bytes,
                                   ESK_SIM_CUT_SUBSET);
    }
}

void esk_sim_power_cut(struct esk_sim *sim) {
    uint32_t cached = sim->state.cached;
    sim->state.on = false;
    sim->state.cached = 0;
    if (cached == 0) {
        return;
    }
    enum sim_loss loss = esk_sim_random_below(sim, SIM_LOSSES);
    uint32_t drawn = esk_sim_random_below(sim, cached);
    bool tears = !sim->state.whole_writes && esk_sim_random_below(sim, 2) == 0;
    /* Newest first: a page is as its newest surviving program left it, so older
       programs of it do not matter. */
    for (uint32_t left = cached; left > 0; left--) {
        uint32_t index = left - 1;
        esk_page_id page = sim->cache[index];
        if (page == ESK_PAGE_NONE) {
            continue; /* a newer program of the page survived */
        }
        if (!cache_survives(sim, loss, index, drawn)) {
            cache_revert(sim, index, tears && index == drawn);
            continue;
        }
        for (uint32_t i = 0; i < index; i++) {
            if (sim->cache[i] == page) {
                sim->cache[i] = ESK_PAGE_NONE;
            }
        }
    }
}
