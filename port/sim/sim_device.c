// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The simulator as a device: refuse, count, then do.
///
/// Each call passes the same checks in the same order: power, the device
/// contract (a breach is a violation and not an operation), cost, the power
/// cut, failures of the medium, and only then the effect.
#include <stdio.h>
#include <string.h>

#include "port/sim/sim_internal.h"

static struct esk_sim *sim_of(const struct esk_device *device) {
    return device->context;
}

/// Records a breach of the contract. Returns ESK_E_IO.
static int sim_refuse(struct esk_sim *sim, const char *what, uint32_t where) {
    sim->state.violations++;
    snprintf(sim->state.violation, sizeof sim->state.violation,
             "%s: %lu, before operation %llu", what, (unsigned long)where,
             (unsigned long long)sim->state.ops);
    return ESK_E_IO;
}

static uint64_t sim_bytes_ns(uint32_t bytes, uint32_t byte_ps) {
    return (uint64_t)bytes * byte_ps / 1000;
}

static void sim_read_cost(struct esk_sim *sim, esk_page_id page,
                          uint16_t bytes) {
    struct sim_state *state = &sim->state;
    const struct esk_sim_timing *timing = &state->timing;
    bool sequential = page == state->page_read_next;
    uint64_t ns = sim_bytes_ns(bytes, timing->read_byte_ps) +
                  (sequential ? timing->read_sequential_ns : timing->read_ns);
    state->page_read_next = page + 1;
    state->counters.reads++;
    state->counters.reads_sequential += sequential;
    state->counters.bytes_read += bytes;
    state->counters.read_time_ns += ns;
    state->counters.time_ns += ns;
}

static void sim_program_cost(struct esk_sim *sim, esk_page_id page,
                             uint16_t offset, uint16_t bytes) {
    struct sim_state *state = &sim->state;
    const struct esk_sim_timing *timing = &state->timing;
    bool sequential = page == state->page_program_next;
    uint32_t step = timing->program_step_bytes;
    uint32_t steps = (offset + bytes + step - 1u) / step - offset / step;
    uint64_t step_ns =
        sequential ? timing->program_sequential_ns : timing->program_ns;
    uint64_t ns =
        steps * step_ns + sim_bytes_ns(bytes, timing->program_byte_ps);
    state->page_program_next = page + 1;
    state->counters.programs++;
    state->counters.programs_sequential += sequential;
    state->counters.bytes_programmed += bytes;
    state->counters.program_time_ns += ns;
    state->counters.time_ns += ns;
}

static int sim_read(const struct esk_device *device, esk_page_id page,
                    uint16_t offset, void *buffer, uint16_t bytes) {
    struct esk_sim *sim = sim_of(device);
    if (!sim->state.on) {
        return ESK_E_IO;
    }
    if (page >= sim_page_count(sim)) {
        return sim_refuse(sim, "read past the device, page", page);
    }
    if (offset + (uint32_t)bytes > device->geometry.page_bytes) {
        return sim_refuse(sim, "read past the page, page", page);
    }
    sim_read_cost(sim, page, bytes);
    const struct sim_content *content =
        sim->contents[sim_page_block(sim, page)];
    uint8_t erased = device->geometry.erased_value;
    uint8_t *out = buffer;
    if (content == NULL) {
        memset(out, erased, bytes);
        return ESK_OK;
    }
    if (content->faults != NULL) {
        return esk_sim_read_faulty(sim, page, offset, out, bytes);
    }
    const uint8_t *from = content->bytes + sim_page_offset(sim, page) + offset;
    sim_copy_xor(out, from, bytes, erased);
    return ESK_OK;
}

/// Whether any program unit of the range was programmed since the erase.
static bool sim_is_programmed(const struct esk_sim *sim,
                              const struct sim_content *content,
                              esk_page_id page, uint16_t offset,
                              uint16_t bytes) {
    size_t unit = sim->device.geometry.program_bytes;
    size_t first = (sim_page_offset(sim, page) + offset) / unit;
    size_t end = first + bytes / unit;
    for (size_t i = first; i < end;) {
        bool eight = i % 8 == 0 && end - i >= 8;
        unsigned mask = eight ? 0xFFu : 1u << i % 8;
        if ((content->units[i / 8] & mask) != 0) {
            return true;
        }
        i += eight ? 8 : 1;
    }
    return false;
}

/// Checks the rules of flash that media with overwrite do not have.
static int sim_program_check_flash(struct esk_sim *sim, esk_page_id page,
                                   uint16_t offset, uint16_t bytes) {
    const struct esk_geometry *geometry = &sim->device.geometry;
    uint32_t block = sim_page_block(sim, page);
    uint32_t index = page % geometry->block_pages;
    const struct sim_content *content = sim->contents[block];
    if ((sim->blocks[block].flags & SIM_UNERASED) != 0) {
        return sim_refuse(sim, "program before a completed erase, page", page);
    }
    if (index + 1u < sim->blocks[block].pages_used) {
        return sim_refuse(sim, "program out of order in its block, page", page);
    }
    if (content == NULL) {
        return ESK_OK;
    }
    if (content->torn[index] != 0) {
        return sim_refuse(sim, "program of a torn page", page);
    }
    if (geometry->programs_per_page_max != 0 &&
        content->programs[index] >= geometry->programs_per_page_max) {
        return sim_refuse(sim, "too many programs of page", page);
    }
    if (sim_is_programmed(sim, content, page, offset, bytes)) {
        return sim_refuse(sim, "program of bytes not erased, page", page);
    }
    return ESK_OK;
}

static int sim_program_check(struct esk_sim *sim, esk_page_id page,
                             uint16_t offset, uint16_t bytes) {
    const struct esk_geometry *geometry = &sim->device.geometry;
    if (page >= sim_page_count(sim)) {
        return sim_refuse(sim, "program past the device, page", page);
    }
    if (offset + (uint32_t)bytes > geometry->page_bytes) {
        return sim_refuse(sim, "program past the page, page", page);
    }
    if (bytes == 0 || offset % geometry->program_bytes != 0 ||
        bytes % geometry->program_bytes != 0) {
        return sim_refuse(sim, "program not aligned to the program unit, page",
                          page);
    }
    if ((sim->blocks[sim_page_block(sim, page)].flags & SIM_BAD) != 0) {
        return sim_refuse(sim, "program in a bad block, page", page);
    }
    if ((geometry->flags & ESK_MEDIUM_OVERWRITE) != 0) {
        return ESK_OK;
    }
    return sim_program_check_flash(sim, page, offset, bytes);
}

/// Whether the transfer of a program or erase fails, and what it leaves:
/// nothing, a part, or all. NONE: it does not fail.
static enum esk_sim_cut_mode sim_transfer_fails(struct esk_sim *sim) {
    static const enum esk_sim_cut_mode modes[] = {
        ESK_SIM_CUT_BEFORE, ESK_SIM_CUT_SUBSET, ESK_SIM_CUT_AFTER};
    struct sim_state *state = &sim->state;
    if (!esk_sim_failure_takes(sim, &state->failures.transfer,
                               state->transfers_tried++)) {
        return ESK_SIM_CUT_NONE;
    }
    state->counters.transfers_failed++;
    return modes[esk_sim_random_below(sim, 3)];
}

/// What a failed program leaves: nothing, a prefix, or some of its bits.
static enum esk_sim_cut_mode sim_failure_mode(struct esk_sim *sim) {
    static const enum esk_sim_cut_mode modes[] = {
        ESK_SIM_CUT_BEFORE, ESK_SIM_CUT_PREFIX, ESK_SIM_CUT_SUBSET};
    return modes[esk_sim_random_below(sim, 3)];
}

static int sim_program(const struct esk_device *device, esk_page_id page,
                       uint16_t offset, const void *buffer, uint16_t bytes) {
    struct esk_sim *sim = sim_of(device);
    struct sim_state *state = &sim->state;
    if (!state->on) {
        return ESK_E_IO;
    }
    ESK_TRY(sim_program_check(sim, page, offset, bytes));
    sim_program_cost(sim, page, offset, bytes);
    enum esk_sim_cut_mode mode = esk_sim_cut_taken(sim, state->ops++);
    esk_sim_cache_note(sim, page);
    if (mode != ESK_SIM_CUT_NONE) {
        (void)esk_sim_program_bits(sim, page, offset, buffer, bytes, mode);
        esk_sim_power_cut(sim);
        return ESK_E_IO;
    }
    mode = sim_transfer_fails(sim);
    if (mode != ESK_SIM_CUT_NONE) {
        (void)esk_sim_program_bits(sim, page, offset, buffer, bytes, mode);
        return ESK_E_IO;
    }
    bool failing =
        (sim->blocks[sim_page_block(sim, page)].flags & SIM_FAILING) != 0;
    if (esk_sim_failure_takes(sim, &state->failures.program,
                              state->programs_tried++) ||
        failing) {
        state->counters.programs_failed++;
        mode = sim_failure_mode(sim);
        (void)esk_sim_program_bits(sim, page, offset, buffer, bytes, mode);
        return ESK_E_MEDIUM;
    }
    return esk_sim_program_bits(sim, page, offset, buffer, bytes, mode);
}

/// The effect of a completed erase.
static void sim_erase_complete(struct esk_sim *sim, uint32_t block) {
    struct sim_block *state = &sim->blocks[block];
    state->wear++;
    if (!sim->state.erase_keeps) {
        esk_sim_content_drop(sim, block);
        state->pages_used = 0;
        state->flags &= (uint16_t)~(unsigned)SIM_UNERASED;
    }
}

/// Whether the medium fails this erase.
static bool sim_erase_fails(struct esk_sim *sim, uint32_t block) {
    struct sim_state *state = &sim->state;
    uint32_t endurance = state->failures.endurance;
    bool taken = esk_sim_failure_takes(sim, &state->failures.erase,
                                       state->erases_tried++);
    return taken || (sim->blocks[block].flags & SIM_FAILING) != 0 ||
           (endurance != 0 && sim->blocks[block].wear >= endurance);
}

static int sim_erase(const struct esk_device *device, uint32_t block) {
    struct esk_sim *sim = sim_of(device);
    struct sim_state *state = &sim->state;
    if (!state->on) {
        return ESK_E_IO;
    }
    if (block >= device->geometry.block_count) {
        return sim_refuse(sim, "erase past the device, block", block);
    }
    if ((sim->blocks[block].flags & SIM_BAD) != 0) {
        return sim_refuse(sim, "erase of a bad block", block);
    }
    state->counters.erases++;
    state->counters.erase_time_ns += state->timing.erase_ns;
    state->counters.time_ns += state->timing.erase_ns;
    enum esk_sim_cut_mode mode = esk_sim_cut_taken(sim, state->ops++);
    bool cut = mode != ESK_SIM_CUT_NONE;
    if (!cut) {
        mode = sim_transfer_fails(sim);
    }
    if (mode != ESK_SIM_CUT_NONE) {
        if (mode == ESK_SIM_CUT_AFTER) {
            sim_erase_complete(sim, block);
        } else if (mode != ESK_SIM_CUT_BEFORE) {
            (void)esk_sim_erase_bits(sim, block, mode, true);
        }
        if (cut) {
            esk_sim_power_cut(sim);
        }
        return ESK_E_IO;
    }
    if (sim_erase_fails(sim, block)) {
        state->counters.erases_failed++;
        sim->blocks[block].flags |= SIM_FAILING;
        mode = sim_failure_mode(sim);
        if (mode != ESK_SIM_CUT_BEFORE) {
            (void)esk_sim_erase_bits(sim, block, mode, false);
        }
        return ESK_E_MEDIUM;
    }
    sim_erase_complete(sim, block);
    return ESK_OK;
}

static int sim_sync(const struct esk_device *device) {
    struct esk_sim *sim = sim_of(device);
    if (!sim->state.on) {
        return ESK_E_IO;
    }
    sim->state.counters.syncs++;
    sim->state.cached = 0;
    return ESK_OK;
}

static int sim_block_is_bad(const struct esk_device *device, uint32_t block,
                            bool *bad) {
    struct esk_sim *sim = sim_of(device);
    if (!sim->state.on) {
        return ESK_E_IO;
    }
    if (block >= device->geometry.block_count) {
        return sim_refuse(sim, "bad mark past the device, block", block);
    }
    *bad = (sim->blocks[block].flags & SIM_BAD) != 0;
    return ESK_OK;
}

static int sim_block_mark_bad(const struct esk_device *device, uint32_t block) {
    struct esk_sim *sim = sim_of(device);
    if (!sim->state.on) {
        return ESK_E_IO;
    }
    if (block >= device->geometry.block_count) {
        return sim_refuse(sim, "bad mark past the device, block", block);
    }
    sim->blocks[block].flags |= SIM_BAD;
    return ESK_OK;
}

const struct esk_device_ops esk_sim_ops = {
    .read = sim_read,
    .program = sim_program,
    .erase = sim_erase,
    .sync = sim_sync,
    .block_is_bad = sim_block_is_bad,
    .block_mark_bad = sim_block_mark_bad,
};
