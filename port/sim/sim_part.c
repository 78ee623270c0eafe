// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Creation: from a part of the table, a geometry, or both.
#include <stdio.h>
#include <string.h>

#include "port/sim/sim_internal.h"

const struct esk_sim_part *esk_sim_part_at(size_t index) {
    return index < esk_sim_part_count ? &esk_sim_parts[index] : NULL;
}

const struct esk_sim_part *esk_sim_part_find(const char *name) {
    for (size_t i = 0; i < esk_sim_part_count; i++) {
        if (strcmp(esk_sim_parts[i].name, name) == 0) {
            return &esk_sim_parts[i];
        }
    }
    return NULL;
}

/// Applies the nonzero fields of `wish` to a part's geometry. The sizes of
/// erase unit and chip in bytes stay, unless `wish` has others.
static void sim_geometry_apply(struct esk_geometry *geometry,
                               const struct esk_geometry *wish) {
    uint32_t page_bytes = geometry->page_bytes;
    if (wish->page_bytes != 0 && wish->page_bytes != page_bytes) {
        uint32_t erase_bytes = geometry->block_pages * page_bytes;
        uint32_t pages = erase_bytes / wish->page_bytes;
        geometry->block_pages = (uint16_t)(pages > 0 ? pages : 1);
        if (geometry->program_bytes > wish->page_bytes ||
            geometry->program_bytes == page_bytes) {
            geometry->program_bytes = wish->page_bytes;
        }
        if (wish->page_bytes < page_bytes) {
            geometry->spare_bytes = 0;
        }
        geometry->page_bytes = wish->page_bytes;
    }
    if (wish->block_pages != 0 && wish->block_pages != geometry->block_pages) {
        geometry->block_count =
            (uint32_t)((uint64_t)geometry->block_count * geometry->block_pages /
                       wish->block_pages);
        geometry->block_pages = wish->block_pages;
    }
    if (wish->block_count != 0) {
        geometry->block_count = wish->block_count;
    }
    if (wish->spare_bytes != 0) {
        geometry->spare_bytes = wish->spare_bytes;
    }
    if (wish->program_bytes != 0) {
        geometry->program_bytes = wish->program_bytes;
    }
    if (wish->programs_per_page_max != 0) {
        geometry->programs_per_page_max = wish->programs_per_page_max;
    }
    if (wish->erased_value != 0) {
        geometry->erased_value = wish->erased_value;
    }
    if (wish->flags != 0) {
        geometry->flags = wish->flags;
    }
}

/// Marks factory bad blocks; block 0 is always good (as ONFI says).
static void sim_bad_blocks_draw(struct esk_sim *sim, uint32_t bad) {
    uint32_t left = sim->device.geometry.block_count - 1;
    uint32_t need = bad < left ? bad : left;
    for (uint32_t block = 1; need > 0; block++, left--) {
        if (esk_sim_random_below(sim, left) < need) {
            sim->blocks[block].flags |= SIM_BAD;
            need--;
        }
    }
}

/// Fills every block with bytes of an earlier use.
static int sim_dirty(struct esk_sim *sim) {
    const struct esk_geometry *geometry = &sim->device.geometry;
    bool overwrite = (geometry->flags & ESK_MEDIUM_OVERWRITE) != 0;
    for (uint32_t block = 0; block < geometry->block_count; block++) {
        struct sim_content *content = esk_sim_content_own(sim, block);
        if (content == NULL) {
            return ESK_E_NO_MEMORY;
        }
        esk_sim_random_mask(sim, content->bytes, sim->block_bytes, 4);
        memset(content->units, 0xFF, sim->unit_bytes);
        memset(content->programs, 1, geometry->block_pages);
        sim->blocks[block].pages_used = geometry->block_pages;
        if (!overwrite) {
            sim->blocks[block].flags |= SIM_UNERASED;
        }
    }
    return ESK_OK;
}

/// The number of factory bad blocks in the configuration.
static uint32_t sim_bad_blocks_wished(struct esk_sim *sim,
                                      const struct esk_sim_config *config,
                                      const struct esk_sim_part *part) {
    if (config->bad_blocks != ESK_SIM_BAD_BLOCKS_DRAWN) {
        return config->bad_blocks;
    }
    if (part == NULL) {
        return 0;
    }
    // A smaller chip of a part has proportionally fewer, but may have one.
    uint64_t most =
        (uint64_t)part->bad_blocks_max * sim->device.geometry.block_count;
    uint32_t blocks = part->geometry.block_count;
    return esk_sim_random_below(sim,
                                (uint32_t)((most + blocks - 1) / blocks) + 1);
}

int esk_sim_create(struct esk_sim **sim, const struct esk_sim_config *config) {
    const struct esk_sim_part *part = NULL;
    struct esk_geometry geometry = config->geometry;
    if (config->part != NULL) {
        part = esk_sim_part_find(config->part);
        if (part == NULL) {
            return ESK_NOT_FOUND;
        }
        geometry = part->geometry;
        sim_geometry_apply(&geometry, &config->geometry);
    }
    ESK_TRY(esk_geometry_check(&geometry));
    if (config->ecc_bytes != 0 &&
        geometry.program_bytes % config->ecc_bytes != 0) {
        return ESK_E_GEOMETRY;
    }
    struct esk_sim *made;
    ESK_TRY(esk_sim_allocate(&made, &geometry));
    if (config->timing != NULL) {
        made->state.timing = *config->timing;
    } else if (part != NULL) {
        made->state.timing = config->worst_case ? part->worst : part->typical;
    }
    if (made->state.timing.program_step_bytes == 0) {
        made->state.timing.program_step_bytes = geometry.page_bytes;
    }
    made->state.ecc_bits = config->ecc_bits;
    made->state.ecc_bytes =
        config->ecc_bytes != 0 ? config->ecc_bytes : geometry.page_bytes;
    made->state.erase_keeps = config->erase_keeps;
    bool overwrite = (geometry.flags & ESK_MEDIUM_OVERWRITE) != 0;
    made->state.whole_writes = overwrite && config->whole_writes;
    made->state.cache_programs = overwrite ? config->cache_programs : 0;
    snprintf(made->state.part, sizeof made->state.part, "%s",
             part == NULL ? "none" : part->name);
    esk_sim_seed_set(made, config->seed);
    sim_bad_blocks_draw(made, sim_bad_blocks_wished(made, config, part));
    int status = esk_sim_cache_make(made);
    if (status == ESK_OK && config->dirty) {
        status = sim_dirty(made);
    }
    if (status != ESK_OK) {
        esk_sim_destroy(made);
        return status;
    }
    *sim = made;
    return ESK_OK;
}

void esk_sim_describe(const struct esk_sim *sim, char *text, size_t bytes) {
    const struct esk_geometry *g = &sim->device.geometry;
    const struct sim_state *state = &sim->state;
    const struct esk_sim_failure *program = &state->failures.program;
    const struct esk_sim_failure *erase = &state->failures.erase;
    const struct esk_sim_failure *transfer = &state->failures.transfer;
    snprintf(
        text, bytes,
        "sim part=%s blocks=%u pages=%u page_bytes=%u unit=%u nop=%u "
        "erased=%02x flags=%u ecc=%u/%u whole=%u cache=%u seed=%llu ops=%llu "
        "cut=%u@%llu program_fail=%u,%uppm,%llu+%u "
        "erase_fail=%u,%uppm,%llu+%u transfer_fail=%u,%uppm,%llu+%u "
        "endurance=%u",
        state->part, (unsigned)g->block_count, g->block_pages, g->page_bytes,
        g->program_bytes, g->programs_per_page_max, g->erased_value, g->flags,
        state->ecc_bits, state->ecc_bytes, state->whole_writes,
        state->cache_programs, (unsigned long long)state->seed,
        (unsigned long long)state->ops, state->cut_mode,
        (unsigned long long)state->cut_op, (unsigned)program->every,
        (unsigned)program->per_million,
        (unsigned long long)program->burst_start,
        (unsigned)program->burst_length, (unsigned)erase->every,
        (unsigned)erase->per_million, (unsigned long long)erase->burst_start,
        (unsigned)erase->burst_length, (unsigned)transfer->every,
        (unsigned)transfer->per_million,
        (unsigned long long)transfer->burst_start,
        (unsigned)transfer->burst_length, (unsigned)state->failures.endurance);
}
