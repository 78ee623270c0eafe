// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// An arena: memory the caller gives once, carved once, never freed.
#ifndef ESK_BASE_ARENA_H
#define ESK_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct esk_arena {
    uint8_t *next;  ///< NULL: only measuring
    uint32_t used;  ///< bytes carved, paddings included
    uint32_t bytes; ///< bytes there are
};

/// An 8-bit processor has no alignment; others get 8 bytes.
#if defined(__AVR__)
enum { ESK_ARENA_ALIGN = 1 };
#else
enum { ESK_ARENA_ALIGN = 8 };
#endif

/// Whether memory that begins here can be carved.
static inline bool esk_arena_is_aligned(const void *memory) {
    return ((uintptr_t)memory & (ESK_ARENA_ALIGN - 1u)) == 0;
}

/// Carves `bytes` bytes, aligned for any type. NULL when the arena has no
/// room, or only measures; used rises either way.
static inline void *esk_arena_take(struct esk_arena *arena, uint32_t bytes) {
    uint32_t padded =
        (bytes + (ESK_ARENA_ALIGN - 1u)) & ~(uint32_t)(ESK_ARENA_ALIGN - 1u);
    uint8_t *taken = NULL;
    if (arena->next != NULL && padded <= arena->bytes - arena->used) {
        taken = arena->next + arena->used;
    } else {
        arena->next = NULL;
    }
    arena->used += padded;
    return taken;
}

#endif
