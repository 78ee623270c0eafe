// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// An arena: memory that a table is carved from, once.
#ifndef ESK_BASE_ARENA_H
#define ESK_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/inline.h"
#include "esker/arena.h"

struct esk_arena {
    uint8_t *start; ///< NULL: only measuring
    uint32_t used;  ///< bytes carved, paddings included
    uint32_t bytes; ///< bytes of the arena
};

/// An 8-bit processor has no alignment; others get 8 bytes.
#if defined(__AVR__)
enum { ESK_ARENA_ALIGN = 1 };
#else
enum { ESK_ARENA_ALIGN = 8 };
#endif

/// Whether an arena can begin at `memory`.
static inline bool esk_arena_is_aligned(const void *memory) {
    return ((uintptr_t)memory & (ESK_ARENA_ALIGN - 1u)) == 0;
}

/// Carves `bytes` bytes, aligned for any type. The caller may use them only if
/// the arena fits at the end.
static ESK_APART_OR_SHAPED void *esk_arena_take(struct esk_arena *arena,
                                                uint32_t bytes) {
    uintptr_t taken = (uintptr_t)arena->start + (uintptr_t)arena->used;
    arena->used +=
        (bytes + (ESK_ARENA_ALIGN - 1u)) & ~(uint32_t)(ESK_ARENA_ALIGN - 1u);
    return (void *)taken;
}

/// Whether everything carved fits.
static inline bool esk_arena_fits(const struct esk_arena *arena) {
    return arena->used <= arena->bytes;
}

#endif
