// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The simulator's memory: blocks whose content clones share.
///
///     sim ──► contents[block] ──► bytes + bookkeeping  ◄── clone
///
/// Invariants: a content with more than one reference is never written; an
/// erased block has no content. So a clone costs a pointer a block, a restore
/// changes only blocks that differ, and an erase frees memory. This makes
/// 100,000 power cuts from one snapshot cheap.
#include <stdlib.h>
#include <string.h>

#include "port/sim/sim_internal.h"

static size_t sim_content_bytes(const struct esk_sim *sim) {
    return sim->block_bytes + sim->unit_bytes +
           2u * (size_t)sim->device.geometry.block_pages;
}

static void sim_content_release(struct sim_content *content) {
    if (content == NULL || --content->references > 0) {
        return;
    }
    free(content->faults);
    free(content);
}

static struct sim_content *sim_content_new(const struct esk_sim *sim) {
    size_t bytes = sim_content_bytes(sim);
    struct sim_content *content = calloc(1, sizeof *content + bytes);
    if (content == NULL) {
        return NULL;
    }
    content->references = 1;
    content->units = content->bytes + sim->block_bytes;
    content->programs = content->units + sim->unit_bytes;
    content->torn = content->programs + sim->device.geometry.block_pages;
    return content;
}

static struct sim_content *sim_content_copy(const struct esk_sim *sim,
                                            const struct sim_content *from) {
    struct sim_content *content = sim_content_new(sim);
    if (content == NULL) {
        return NULL;
    }
    memcpy(content->bytes, from->bytes, sim_content_bytes(sim));
    if (from->faults != NULL) {
        content->faults = malloc(2 * sim->block_bytes);
        if (content->faults == NULL) {
            free(content);
            return NULL;
        }
        memcpy(content->faults, from->faults, 2 * sim->block_bytes);
    }
    return content;
}

struct sim_content *esk_sim_content_own(struct esk_sim *sim, uint32_t block) {
    struct sim_content *content = sim->contents[block];
    if (content != NULL && content->references == 1) {
        return content;
    }
    struct sim_content *owned =
        content == NULL ? sim_content_new(sim) : sim_content_copy(sim, content);
    if (owned != NULL) {
        sim_content_release(content);
        sim->contents[block] = owned;
    }
    return owned;
}

struct sim_content *esk_sim_content_own_faults(struct esk_sim *sim,
                                               uint32_t block) {
    struct sim_content *content = esk_sim_content_own(sim, block);
    if (content != NULL && content->faults == NULL) {
        content->faults = calloc(2, sim->block_bytes);
        if (content->faults == NULL) {
            return NULL;
        }
    }
    return content;
}

void esk_sim_content_drop(struct esk_sim *sim, uint32_t block) {
    sim_content_release(sim->contents[block]);
    sim->contents[block] = NULL;
}

int esk_sim_allocate(struct esk_sim **sim,
                     const struct esk_geometry *geometry) {
    struct esk_sim *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return ESK_E_NO_MEMORY;
    }
    size_t units = (size_t)geometry->block_pages * geometry->page_bytes /
                   geometry->program_bytes;
    made->device.ops = &esk_sim_ops;
    made->device.context = made;
    made->device.geometry = *geometry;
    made->block_bytes = (size_t)geometry->block_pages * geometry->page_bytes;
    made->unit_bytes = (units + 7) / 8;
    made->blocks = calloc(geometry->block_count, sizeof *made->blocks);
    made->contents = calloc(geometry->block_count, sizeof *made->contents);
    made->scratch = calloc(3, geometry->page_bytes);
    made->state.on = true;
    made->state.page_read_next = ESK_PAGE_NONE;
    made->state.page_program_next = ESK_PAGE_NONE;
    if (made->blocks == NULL || made->contents == NULL ||
        made->scratch == NULL) {
        esk_sim_destroy(made);
        return ESK_E_NO_MEMORY;
    }
    *sim = made;
    return ESK_OK;
}

int esk_sim_clone(struct esk_sim **copy, const struct esk_sim *sim) {
    ESK_TRY(esk_sim_allocate(copy, &sim->device.geometry));
    (*copy)->state.cache_programs = sim->state.cache_programs;
    int status = esk_sim_cache_make(*copy);
    if (status != ESK_OK) {
        esk_sim_destroy(*copy);
        return status;
    }
    esk_sim_restore(*copy, sim);
    return ESK_OK;
}

void esk_sim_restore(struct esk_sim *sim, const struct esk_sim *snapshot) {
    uint32_t block_count = sim->device.geometry.block_count;
    sim->state = snapshot->state;
    esk_sim_cache_copy(sim, snapshot);
    memcpy(sim->blocks, snapshot->blocks, block_count * sizeof *sim->blocks);
    for (uint32_t block = 0; block < block_count; block++) {
        struct sim_content *content = snapshot->contents[block];
        if (sim->contents[block] != content) {
            sim_content_release(sim->contents[block]);
            sim->contents[block] = content;
            if (content != NULL) {
                content->references++;
            }
        }
    }
}

void esk_sim_destroy(struct esk_sim *sim) {
    if (sim == NULL) {
        return;
    }
    uint32_t block_count = sim->device.geometry.block_count;
    for (uint32_t block = 0; sim->contents != NULL && block < block_count;
         block++) {
        sim_content_release(sim->contents[block]);
    }
    free(sim->contents);
    free(sim->blocks);
    free(sim->scratch);
    free(sim->cache);
    free(sim->cache_bytes);
    free(sim);
}
