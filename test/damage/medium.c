// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "test/damage/medium.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Geometries of the drivers in port/, and small ones.
const struct medium_class medium_classes[MEDIUM_CLASSES] = {
    {.name = "nor",
     .geometry = {.block_pages = 16,
                  .page_bytes = 256,
                  .program_bytes = 1,
                  .erased_value = 0xFF}},
    {.name = "nor128",
     .geometry = {.block_pages = 8,
                  .page_bytes = 128,
                  .program_bytes = 1,
                  .erased_value = 0xFF}},
    {.name = "nand",
     .geometry = {.block_pages = 8,
                  .page_bytes = 512,
                  .spare_bytes = 16,
                  .program_bytes = 512,
                  .programs_per_page_max = 1,
                  .erased_value = 0xFF},
     .has_marks = true,
     .has_ecc = true},
    {.name = "dataflash",
     .geometry = {.block_pages = 8,
                  .page_bytes = 264,
                  .program_bytes = 264,
                  .programs_per_page_max = 1,
                  .erased_value = 0xFF}},
    {.name = "mcu",
     .geometry = {.block_pages = 8,
                  .page_bytes = 256,
                  .program_bytes = 8,
                  .programs_per_page_max = 0,
                  .erased_value = 0xFF}},
    {.name = "card",
     .geometry = {.block_pages = 8,
                  .page_bytes = 512,
                  .program_bytes = 512,
                  .erased_value = 0xFF,
                  .flags = ESK_MEDIUM_OVERWRITE},
     .erase_keeps = true},
    {.name = "file",
     .geometry = {.block_pages = 4,
                  .page_bytes = 256,
                  .program_bytes = 1,
                  .erased_value = 0,
                  .flags = ESK_MEDIUM_OVERWRITE}},
    {.name = "cache",
     .geometry = {.block_pages = 4,
                  .page_bytes = 512,
                  .program_bytes = 512,
                  .erased_value = 0xFF,
                  .flags = ESK_MEDIUM_OVERWRITE},
     .erase_keeps = true,
     .keeps_back = true},
};

const struct medium_class *medium_class_find(const char *name) {
    for (size_t i = 0; i < MEDIUM_CLASSES; i++) {
        if (strcmp(medium_classes[i].name, name) == 0) {
            return &medium_classes[i];
        }
    }
    fprintf(stderr, "no medium %s\n", name);
    exit(2);
}

uint64_t mix64(uint64_t x) {
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static struct medium *medium_of(const struct esk_device *device) {
    struct medium *medium = device->context;
    if (++medium->calls > medium->budget && medium->hang != NULL) {
        longjmp(*medium->hang, 1);
    }
    return medium;
}

static void violate(struct medium *medium, const char *what, uint32_t page) {
    if (medium->violations++ == 0) {
        snprintf(medium->violation, sizeof medium->violation, "%s page %u",
                 what, (unsigned)page);
    }
}

static int medium_read(const struct esk_device *device, esk_page_id page,
                       uint16_t offset, void *buffer, uint16_t bytes) {
    struct medium *medium = medium_of(device);
    size_t page_bytes = device->geometry.page_bytes;
    if (page >= medium->pages || (size_t)offset + bytes > page_bytes) {
        violate(medium, "read past the end,", page);
        return ESK_E_IO;
    }
    if (medium->state[page] == PAGE_LOST) {
        return ESK_E_CORRUPT;
    }
    memcpy(buffer, medium->bytes + page * page_bytes + offset, bytes);
    return ESK_OK;
}

// Whether the contract allows the program; a damaged page accepts any.
static bool program_allowed(struct medium *medium, esk_page_id page,
                            uint16_t offset, uint16_t bytes) {
    const struct esk_geometry *geometry = &medium->device.geometry;
    if (page >= medium->pages ||
        (uint32_t)offset + bytes > geometry->page_bytes ||
        offset % geometry->program_bytes != 0 ||
        bytes % geometry->program_bytes != 0) {
        violate(medium, "program out of shape,", page);
        return false;
    }
    if (medium->bad[page / geometry->block_pages]) {
        violate(medium, "program of a bad block,", page);
        return false;
    }
    if ((geometry->flags & ESK_MEDIUM_OVERWRITE) != 0 ||
        medium->state[page] >= PAGE_DAMAGED) {
        return true;
    }
    if (geometry->programs_per_page_max == 1 &&
        medium->state[page] == PAGE_PROGRAMMED) {
        violate(medium, "second program of", page);
        return false;
    }
    const uint8_t *at =
        medium->bytes + (size_t)page * geometry->page_bytes + offset;
    for (uint16_t i = 0; i < bytes; i++) {
        if (at[i] != geometry->erased_value) {
            violate(medium, "program over bytes of", page);
            break;
        }
    }
    return true;
}

static int medium_program(const struct esk_device *device, esk_page_id page,
                          uint16_t offset, const void *buffer, uint16_t bytes) {
    struct medium *medium = medium_of(device);
    const struct esk_geometry *geometry = &device->geometry;
    if (!program_allowed(medium, page, offset, bytes)) {
        return ESK_E_IO;
    }
    const uint8_t *from = buffer;
    uint8_t *to = medium->bytes + (size_t)page * geometry->page_bytes + offset;
    for (uint16_t i = 0; i < bytes; i++) {
        if ((geometry->flags & ESK_MEDIUM_OVERWRITE) != 0) {
            to[i] = from[i];
        } else {
            to[i] = (uint8_t)(to[i] & from[i]); // flash clears bits only
        }
    }
    if ((geometry->flags & ESK_MEDIUM_OVERWRITE) != 0 ||
        medium->state[page] == PAGE_ERASED) {
        medium->state[page] = PAGE_PROGRAMMED;
    }
    medium->when[page] = ++medium->programs;
    return ESK_OK;
}

static int medium_erase(const struct esk_device *device, uint32_t block) {
    struct medium *medium = medium_of(device);
    const struct esk_geometry *geometry = &device->geometry;
    if (block >= geometry->block_count || medium->bad[block]) {
        violate(medium, "erase of a block that is bad or not there,", block);
        return ESK_E_IO;
    }
    if (medium->kind->erase_keeps) {
        return ESK_OK;
    }
    uint32_t first = block * geometry->block_pages;
    memset(medium->bytes + (size_t)first * geometry->page_bytes,
           geometry->erased_value,
           (size_t)geometry->block_pages * geometry->page_bytes);
    memset(medium->state + first, PAGE_ERASED, geometry->block_pages);
    memset(medium->when + first, 0,
           geometry->block_pages * sizeof medium->when[0]);
    return ESK_OK;
}

static size_t medium_bytes(const struct medium *medium) {
    return (size_t)medium->pages * medium->device.geometry.page_bytes;
}

static int medium_sync(const struct esk_device *device) {
    struct medium *medium = medium_of(device);
    if (medium->durable != NULL) {
        memcpy(medium->durable, medium->bytes, medium_bytes(medium));
    }
    return ESK_OK;
}

static int medium_is_bad(const struct esk_device *device, uint32_t block,
                         bool *bad) {
    *bad = medium_of(device)->bad[block] != 0;
    return ESK_OK;
}

static int medium_mark_bad(const struct esk_device *device, uint32_t block) {
    medium_of(device)->bad[block] = 1;
    return ESK_OK;
}

static const struct esk_device_ops ops_plain = {
    .read = medium_read,
    .program = medium_program,
    .erase = medium_erase,
    .sync = medium_sync,
};

static const struct esk_device_ops ops_marks = {
    .read = medium_read,
    .program = medium_program,
    .erase = medium_erase,
    .sync = medium_sync,
    .block_is_bad = medium_is_bad,
    .block_mark_bad = medium_mark_bad,
};

static void *allocate(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (memory == NULL) {
        fprintf(stderr, "no memory\n");
        exit(2);
    }
    return memory;
}

struct medium *medium_make(const struct medium_class *kind, uint32_t blocks) {
    struct medium *medium = allocate(sizeof *medium);
    medium->kind = kind;
    medium->device.ops = kind->has_marks ? &ops_marks : &ops_plain;
    medium->device.context = medium;
    medium->device.geometry = kind->geometry;
    medium->device.geometry.block_count = blocks;
    medium->pages = blocks * kind->geometry.block_pages;
    medium->bytes = allocate(medium_bytes(medium));
    memset(medium->bytes, kind->geometry.erased_value, medium_bytes(medium));
    if (kind->keeps_back) {
        medium->durable = allocate(medium_bytes(medium));
        memcpy(medium->durable, medium->bytes, medium_bytes(medium));
    }
    medium->when = allocate(medium->pages * sizeof medium->when[0]);
    medium->state = allocate(medium->pages);
    medium->bad = allocate(blocks);
    if (kind->has_marks) {
        medium->bad[blocks / 3] = 1;
        medium->bad[blocks - 3] = 1;
    }
    medium->budget = UINT64_MAX;
    return medium;
}

void medium_free(struct medium *medium) {
    free(medium->bytes);
    free(medium->durable);
    free(medium->when);
    free(medium->state);
    free(medium->bad);
    free(medium);
}

void medium_copy(struct medium *to, const struct medium *from) {
    memcpy(to->bytes, from->bytes, medium_bytes(from));
    if (from->durable != NULL) {
        memcpy(to->durable, from->durable, medium_bytes(from));
    }
    memcpy(to->when, from->when, from->pages * sizeof from->when[0]);
    memcpy(to->state, from->state, from->pages);
    memcpy(to->bad, from->bad, from->device.geometry.block_count);
    to->programs = from->programs;
    to->violations = 0;
}

// Damage is on the medium below a cache, too.
static void damage_done(struct medium *medium, uint32_t page, uint8_t state) {
    size_t bytes = medium->device.geometry.page_bytes;
    if (medium->durable != NULL) {
        memcpy(medium->durable + page * bytes, medium->bytes + page * bytes,
               bytes);
    }
    medium->state[page] = state;
}

void medium_fill(struct medium *medium, uint32_t first, uint32_t count,
                 enum fill fill, uint64_t seed) {
    size_t bytes = medium->device.geometry.page_bytes;
    for (uint32_t page = first; page < first + count; page++) {
        uint8_t *at = medium->bytes + page * bytes;
        uint8_t state = PAGE_DAMAGED;
        switch (fill) {
        case FILL_BLANK:
            memset(at, medium->device.geometry.erased_value, bytes);
            break;
        case FILL_ZERO:
            memset(at, 0, bytes);
            break;
        case FILL_RANDOM:
            for (size_t i = 0; i < bytes; i++) {
                at[i] = (uint8_t)mix64(seed + page * bytes + i);
            }
            break;
        default:
            state = PAGE_LOST;
            break;
        }
        damage_done(medium, page, state);
    }
}

void medium_flip(struct medium *medium, uint32_t page, uint32_t bit) {
    size_t at = (size_t)page * medium->device.geometry.page_bytes + bit / 8;
    medium->bytes[at] = (uint8_t)(medium->bytes[at] ^ 1u << bit % 8);
    damage_done(medium, page, PAGE_DAMAGED);
}

void medium_cut(struct medium *medium, uint64_t seed) {
    if (medium->durable == NULL) {
        return;
    }
    size_t bytes = medium->device.geometry.page_bytes;
    for (uint32_t page = 0; page < medium->pages; page++) {
        bool written = mix64(seed * 1000003u + page) % 2 == 0;
        uint8_t *now = medium->bytes + page * bytes;
        uint8_t *then = medium->durable + page * bytes;
        memcpy(written ? then : now, written ? now : then, bytes);
    }
}

uint32_t medium_newest(const struct medium *medium, uint32_t back) {
    uint32_t limit = UINT32_MAX;
    uint32_t newest = 0;
    for (uint32_t i = 0; i <= back; i++) {
        uint32_t best = 0;
        for (uint32_t page = 0; page < medium->pages; page++) {
            if (medium->when[page] < limit && medium->when[page] > best) {
                best = medium->when[page];
                newest = page;
            }
        }
        limit = best;
    }
    return newest;
}

bool medium_page_is_gone(const struct medium *medium, uint32_t page) {
    const struct esk_geometry *geometry = &medium->device.geometry;
    const uint8_t *at = medium->bytes + (size_t)page * geometry->page_bytes;
    uint32_t first = page - page % geometry->block_pages;
    bool blank = medium->state[page] != PAGE_LOST;
    bool block = true;
    for (uint32_t i = 0; i < geometry->page_bytes; i++) {
        blank = blank && at[i] == geometry->erased_value;
    }
    for (uint32_t i = 0; i < geometry->block_pages; i++) {
        block = block && medium->state[first + i] >= PAGE_DAMAGED;
    }
    return blank || block;
}
