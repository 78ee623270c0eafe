// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What every open table has, at the head of its handle; and the arena, which
/// the open tables of a volume share.
///
///     | table | table | (closed) | table | free ......... | scratch page |
///     ^ arena                            ^ end of the table opened last
///                                                     arena_end ^
///
/// A table is carved from behind the last open one, so the list, which has the
/// table opened last first, has the one that ends last first. Scratch is the
/// last page of the free part: it never reaches the head of a handle that was
/// closed, behind which there is more than a page. So what is closed stays
/// refused until its memory is another table's.
#ifndef ESK_VOLUME_TABLE_H
#define ESK_VOLUME_TABLE_H

#include "base/arena.h"
#include "flash/ring.h"

/// The first member of every handle.
struct esk_table {
    struct esk_table *next;    ///< opened before this one
    struct esk_volume *volume; ///< NULL: it is closed
    struct esk_ring *rings;    ///< for step, by ring->next; a reader has none
    uint8_t *end;              ///< of its memory
    uint8_t id;
};

/// Whether `handle`, of a table of any kind, is open.
/// Returns ESK_OK; ESK_E_INVALID when it was closed, or is NULL.
int esk_table_live(const void *handle);

/// Makes the head of a handle that is zero, of the table with id `id`, which is
/// being opened. memory: what it was carved from.
static inline void esk_table_make(struct esk_table *table,
                                  struct esk_volume *volume, uint8_t id,
                                  const struct esk_arena *memory) {
    table->volume = volume;
    table->id = id;
    table->end = memory->start + (size_t)memory->used;
}

/// Ends the opening of `handle`: it is one of the volume's open tables, or
/// closed again when `status` is a failure; NULL: there was no room for one.
/// Returns the handle; NULL when it is not open.
void *esk_table_opened(void *handle, int status);

/// Gives `ring`, which is the table's, steps.
static inline void esk_table_ring_add(struct esk_table *table,
                                      struct esk_ring *ring) {
    ring->next = table->rings;
    table->rings = ring;
}

/// Closes the table; its memory is free from the last open one's end on.
void esk_table_delist(struct esk_table *table);

/// Whether table `id`, or a reader of it, is open.
bool esk_table_is_open(const struct esk_volume *volume, uint8_t id);

/// Whether a mount or a stamp succeeded, and no unmount since.
static inline bool esk_volume_is_mounted(const struct esk_volume *volume) {
    return volume->half_valid != 0;
}

/// Makes `volume` one on `device`, not mounted yet, with that arena.
/// Returns  ESK_OK; ESK_E_INVALID when the arena is NULL or not aligned;
///          ESK_E_NO_MEMORY when it has no page.
int esk_volume_begin(struct esk_volume *volume, const struct esk_device *device,
                     uint8_t flags, void *arena, uint32_t arena_bytes);

/// Finds scratch for a call: a page, until a table is opened.
/// Returns  ESK_OK; ESK_E_INVALID when the volume is not mounted;
///          ESK_E_NO_MEMORY.
int esk_volume_page(const struct esk_volume *volume, uint8_t **page);

/// Scratch of a volume whose arena has a free page.
static inline uint8_t *esk_volume_scratch(const struct esk_volume *volume) {
    return volume->arena_end - esk_volume_geometry(volume)->page_bytes;
}

/// Finds the memory that a table is carved from: behind the table that was
/// opened last, unless that one is in an arena from before. A program of a
/// shape has no other table.
/// Returns  ESK_OK; ESK_E_INVALID when the volume is not mounted.
static inline int esk_volume_memory(const struct esk_volume *volume,
                                    struct esk_arena *memory) {
    uintptr_t bytes = (uintptr_t)volume->arena_end - (uintptr_t)volume->arena;
    memory->start = volume->arena;
    memory->used = 0;
    if (ESK_SHAPED(false, volume->tables != NULL)) {
        uint8_t *end = volume->tables->end;
        uintptr_t left = (uintptr_t)volume->arena_end - (uintptr_t)end;
        if (left <= bytes) {
            memory->start = end;
            bytes = left;
        }
    }
    memory->bytes = (uint32_t)bytes;
    return esk_volume_is_mounted(volume) ? ESK_OK : ESK_E_INVALID;
}

/// The same for a table that is opened by its name. Until it is carved the
/// memory's end is scratch: a page and, aligned, `bytes` bytes behind it.
/// page     out.
/// Returns  also ESK_E_NO_MEMORY when there is no room for them.
int esk_volume_memory_read(const struct esk_volume *volume,
                           struct esk_arena *memory, uint16_t bytes,
                           uint8_t **page);

#endif
