// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// All random choices of the simulator: SplitMix64 (Steele, Lea, Flood, OOPSLA
/// 2014) from one seed.
#include <string.h>

#include "port/sim/sim_internal.h"

void esk_sim_seed_set(struct esk_sim *sim, uint64_t seed) {
    sim->state.seed = seed;
    sim->state.random = seed;
}

uint64_t esk_sim_random(struct esk_sim *sim) {
    uint64_t z = sim->state.random += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

uint32_t esk_sim_random_below(struct esk_sim *sim, uint32_t bound) {
    return (uint32_t)((esk_sim_random(sim) >> 32) * bound >> 32);
}

void esk_sim_random_mask(struct esk_sim *sim, uint8_t *mask, size_t bytes,
                         unsigned eighths) {
    for (size_t done = 0; done < bytes; done += 8) {
        // Three fair bits a position, compared bitwise with `eighths`.
        uint64_t below = 0;
        uint64_t equal = UINT64_MAX;
        for (unsigned bit = 4; bit != 0; bit >>= 1) {
            uint64_t drawn = esk_sim_random(sim);
            uint64_t limit = (eighths & bit) != 0 ? UINT64_MAX : 0;
            below |= equal & limit & ~drawn;
            equal &= ~(limit ^ drawn);
        }
        for (size_t i = 0; i < 8 && done + i < bytes; i++) {
            mask[done + i] = (uint8_t)(below >> 8 * i);
        }
    }
}

bool esk_sim_failure_takes(struct esk_sim *sim,
                           const struct esk_sim_failure *failure,
                           uint64_t tried) {
    if (failure->every != 0 && (tried + 1) % failure->every == 0) {
        return true;
    }
    if (tried >= failure->burst_start &&
        tried - failure->burst_start < failure->burst_length) {
        return true;
    }
    return failure->per_million != 0 &&
           esk_sim_random_below(sim, 1000000) < failure->per_million;
}

enum esk_sim_cut_mode esk_sim_cut_taken(struct esk_sim *sim, uint64_t op) {
    if (sim->state.cut_mode == ESK_SIM_CUT_NONE || sim->state.cut_op != op) {
        return ESK_SIM_CUT_NONE;
    }
    if (sim->state.cut_mode != ESK_SIM_CUT_DRAWN) {
        return (enum esk_sim_cut_mode)sim->state.cut_mode;
    }
    return (enum esk_sim_cut_mode)(ESK_SIM_CUT_BEFORE +
                                   esk_sim_random_below(sim, 5));
}

/// Clears all bits of `bits` but the `ordinal`-th of its set bits.
static void sim_bit_keep(uint8_t *bits, size_t bytes, uint32_t ordinal) {
    for (size_t i = 0; i < bytes; i++) {
        uint8_t kept = 0;
        for (unsigned bit = 0; bit < 8; bit++) {
            bool set = (bits[i] & 1u << bit) != 0;
            if (set && ordinal-- == 0) {
                kept = (uint8_t)(1u << bit);
            }
        }
        bits[i] = kept;
    }
}

/// Leaves in `landed` the bits before a drawn bit.
static void sim_draw_prefix(struct esk_sim *sim, uint8_t *landed,
                            size_t bytes) {
    uint32_t end = esk_sim_random_below(sim, (uint32_t)bytes * 8 + 1);
    size_t whole = end / 8;
    if (whole < bytes) {
        landed[whole] &= (uint8_t)((1u << end % 8) - 1u);
        memset(landed + whole + 1, 0, bytes - whole - 1);
    }
}

/// Leaves in `landed` some of its bits: one alone, or few to most of them.
static void sim_draw_subset(struct esk_sim *sim, uint8_t *landed,
                            size_t bytes) {
    uint32_t count = sim_bit_count(landed, bytes);
    unsigned eighths = esk_sim_random_below(sim, 8);
    if (count == 0) {
        return;
    }
    if (eighths == 0) {
        sim_bit_keep(landed, bytes, esk_sim_random_below(sim, count));
        return;
    }
    for (size_t done = 0; done < bytes; done += 64) {
        uint8_t mask[64];
        size_t some = bytes - done < 64 ? bytes - done : 64;
        esk_sim_random_mask(sim, mask, some, eighths);
        for (size_t i = 0; i < some; i++) {
            landed[done + i] &= mask[i];
        }
    }
}

void esk_sim_cut_draw(struct esk_sim *sim, enum esk_sim_cut_mode mode,
                      const uint8_t *changed, uint8_t *landed, size_t bytes) {
    memcpy(landed, changed, bytes);
    if (mode == ESK_SIM_CUT_PREFIX) {
        sim_draw_prefix(sim, landed, bytes);
    } else if (mode == ESK_SIM_CUT_SUBSET) {
        sim_draw_subset(sim, landed, bytes);
    } else {
        uint32_t count = sim_bit_count(changed, bytes);
        if (count > 0) {
            sim_bit_keep(landed, bytes, esk_sim_random_below(sim, count));
            for (size_t i = 0; i < bytes; i++) {
                landed[i] ^= changed[i];
            }
        }
    }
}
