// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Open tables and the arena that they share.
#include "volume/table.h"

#include "base/arena.h"

void *esk_table_opened(void *handle, int status) {
    struct esk_table *table = handle;
    if (status == ESK_OK) {
        table->next = table->volume->tables;
        table->volume->tables = table;
        return table;
    }
    if (table != NULL) {
        table->volume = NULL;
    }
    return NULL;
}

void esk_table_delist(struct esk_table *table) {
    struct esk_table **link = &table->volume->tables;
    while (*link != table) {
        link = &(*link)->next;
    }
    *link = table->next;
    table->volume = NULL;
}

bool esk_table_is_open(const struct esk_volume *volume, uint8_t id) {
    const struct esk_table *table = volume->tables;
    while (table != NULL && table->id != id) {
        table = table->next;
    }
    return table != NULL;
}

/// Sets the `arena_bytes` bytes at `arena` as the volume's arena.
static int arena_take(struct esk_volume *volume, void *arena,
                      uint32_t arena_bytes) {
    uint32_t bytes = arena_bytes & ~(uint32_t)(ESK_ARENA_ALIGN - 1u);
    if (arena == NULL || !esk_arena_is_aligned(arena)) {
        return ESK_E_INVALID;
    }
    if (bytes < esk_volume_geometry(volume)->page_bytes) {
        return ESK_E_NO_MEMORY;
    }
    volume->arena = arena;
    volume->arena_end = volume->arena + (size_t)bytes;
    return ESK_OK;
}

int esk_volume_begin(struct esk_volume *volume, const struct esk_device *device,
                     uint8_t flags, void *arena, uint32_t arena_bytes) {
    ESK_ASSERT(device->ops != NULL && device->ops->read != NULL &&
               device->ops->program != NULL && device->ops->erase != NULL &&
               device->ops->sync != NULL);
    memset(volume, 0, sizeof *volume);
    volume->device = device;
    ESK_ASSERT(device == esk_volume_device(volume));
    volume->flags = flags;
    return ESK_SHAPE_PAGES_FIT ? arena_take(volume, arena, arena_bytes)
                               : ESK_E_UNSUPPORTED;
}

int esk_volume_arena_set(struct esk_volume *volume, void *arena,
                         uint32_t arena_bytes) {
    ESK_ASSERT(volume != NULL);
    ESK_TRY(esk_volume_is_mounted(volume) ? ESK_OK : ESK_E_INVALID);
    for (const struct esk_table *table = volume->tables; table != NULL;
         table = table->next) {
        uintptr_t start = (uintptr_t)table;
        if (start - (uintptr_t)arena < arena_bytes ||
            (uintptr_t)arena - start < (uintptr_t)table->end - start) {
            return ESK_E_BUSY;
        }
    }
    return arena_take(volume, arena, arena_bytes);
}

int esk_volume_memory_read(const struct esk_volume *volume,
                           struct esk_arena *memory, uint16_t bytes,
                           uint8_t **page) {
    ESK_ASSERT(volume != NULL);
    ESK_TRY(esk_volume_memory(volume, memory));
    uint16_t padded =
        (uint16_t)((bytes + (ESK_ARENA_ALIGN - 1u)) & ~(ESK_ARENA_ALIGN - 1u));
    uint32_t least = (uint32_t)esk_volume_geometry(volume)->page_bytes + padded;
    if (memory->bytes < least) {
        return ESK_E_NO_MEMORY;
    }
    *page = volume->arena_end - least;
    return ESK_OK;
}

int esk_volume_page(const struct esk_volume *volume, uint8_t **page) {
    struct esk_arena memory;
    return esk_volume_memory_read(volume, &memory, 0, page);
}
