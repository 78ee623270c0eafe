// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The head of every open table's handle; and the arena, which the open tables
/// of a volume share.
///
///     | table | table | (closed) | table | free ......... | scratch page |
///     ^ arena                            ^ end of the table opened last
///                                                     arena_end ^
///
/// A table is carved after the last open one. So the list, whose first table
/// was opened last, is also in the order of their ends. Scratch is the last
/// page of the free part. After the head of a closed handle there is more than
/// a page, so scratch never overwrites that head: a closed handle is refused
/// until its memory is another table's.
#ifndef ESK_VOLUME_TABLE_H
#define ESK_VOLUME_TABLE_H

#include "base/arena.h"
#include "flash/ring.h"

/// The first member of every handle.
struct esk_table {
    struct esk_table *next;    ///< the table opened before this one
    struct esk_volume *volume; ///< NULL: closed
    struct esk_ring *rings;    ///< for step, by ring->next; a reader has none
    uint8_t *end;              ///< of its memory
    uint8_t id;
};

/// Whether `handle`, of a table of any kind, is open.
/// Returns ESK_OK; ESK_E_INVALID when it was closed, or is NULL.
static inline int esk_table_live(const void *handle) {
    const struct esk_table *table = handle;
    return table != NULL && table->volume != NULL ? ESK_OK : ESK_E_INVALID;
}

/// Fills in the head of a zeroed handle for the table with id `id`, which is
/// being opened. memory: the arena that it was carved from.
static inline void esk_table_make(struct esk_table *table,
                                  struct esk_volume *volume, uint8_t id,
                                  const struct esk_arena *memory) {
    table->volume = volume;
    table->id = id;
    table->end = memory->start + (size_t)memory->used;
}

/// Ends the opening of `handle`: adds it to the volume's open tables, or closes
/// it when `status` is a failure. NULL: there was no room for a handle. Returns
/// the handle; NULL when it is not open.
void *esk_table_opened(void *handle, int status);

/// Adds the table's ring `ring` to those that get steps.
static inline void esk_table_ring_add(struct esk_table *table,
                                      struct esk_ring *ring) {
    ring->next = table->rings;
    table->rings = ring;
}

/// Closes the table; the memory after the last open table is free.
void esk_table_delist(struct esk_table *table);

/// Whether table `id`, or a reader of it, is open.
bool esk_table_is_open(const struct esk_volume *volume, uint8_t id);

/// Whether a mount or a stamp succeeded, and no unmount followed.
static inline bool esk_volume_is_mounted(const struct esk_volume *volume) {
    return volume->half_valid != 0;
}

/// Fills in `volume` for `device`, not mounted yet, with that arena.
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

/// Finds the memory for a table: behind the table that was opened last, unless
/// that one is in an earlier arena. A program of a shape has no other table.
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

/// The same for a table that is opened by name. Until it is carved, the end of
/// the memory is scratch: a page and, aligned, `bytes` bytes after it.
/// page     out.
/// Returns  also ESK_E_NO_MEMORY when there is no room for them.
int esk_volume_memory_read(const struct esk_volume *volume,
                           struct esk_arena *memory, uint16_t bytes,
                           uint8_t **page);

#endif
