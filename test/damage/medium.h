// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A medium in memory that can be damaged and restored, for `damage`.
///
/// It records when each page was last programmed, so that tests find the newest
/// pages without knowing the table's layout. It counts calls, so that a hang
/// ends, and records calls that break the device contract. It shares no code
/// with port/sim.
#ifndef ESK_DAMAGE_MEDIUM_H
#define ESK_DAMAGE_MEDIUM_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "esker/esker.h"

/// Properties of a class of media.
struct medium_class {
    const char *name;
    struct esk_geometry geometry; ///< block_count is the case's own
    bool has_marks;               ///< bad blocks are marked
    bool has_ecc;                 ///< a damaged page may be unreadable
    bool erase_keeps;             ///< erase does nothing
    bool keeps_back;              ///< programs may be lost until a sync
};

enum { MEDIUM_CLASSES = 8 };

extern const struct medium_class medium_classes[MEDIUM_CLASSES];

/// The class called `name`; the process ends when there is none.
const struct medium_class *medium_class_find(const char *name);

enum fill {
    FILL_BLANK,
    FILL_ZERO,
    FILL_RANDOM,
    FILL_UNREADABLE, ///< reads fail with ESK_E_CORRUPT; needs has_ecc
    FILL_COUNT,
};

enum page_state {
    PAGE_ERASED,
    PAGE_PROGRAMMED,
    PAGE_DAMAGED, ///< its bytes are not the programmed ones
    PAGE_LOST,    ///< it cannot be read
};

struct medium {
    struct esk_device device;
    const struct medium_class *kind;
    uint8_t *bytes;
    uint8_t *durable; ///< keeps_back: state of the last sync; else NULL
    uint32_t *when;   ///< of a page: number of its last program; 0: none
    uint8_t *state;   ///< of a page: enum page_state
    uint8_t *bad;     ///< of a block
    uint32_t pages;
    uint32_t programs; ///< so far
    uint64_t calls;    ///< of the device, since the budget was set
    uint64_t budget;   ///< number of calls that counts as a hang
    jmp_buf *hang;
    uint32_t violations;
    char violation[96]; ///< the first of them
};

/// Makes an erased medium of `blocks` blocks. With marks, two are bad.
struct medium *medium_make(const struct medium_class *kind, uint32_t blocks);
void medium_free(struct medium *medium);

/// Copies `from` to `to`, of the same shape; clears violations.
void medium_copy(struct medium *to, const struct medium *from);

/// Fills `count` pages from `first` on.
void medium_fill(struct medium *medium, uint32_t first, uint32_t count,
                 enum fill fill, uint64_t seed);

/// Flips bit `bit` of `page`.
void medium_flip(struct medium *medium, uint32_t page, uint32_t bit);

/// Cuts the power: any part of the unsynced programs is lost.
void medium_cut(struct medium *medium, uint64_t seed);

/// The page programmed last, or `back` programs of other pages before it.
uint32_t medium_newest(const struct medium *medium, uint32_t back);

/// Whether `page` may never have been programmed: it is blank, or its whole
/// block is damaged.
bool medium_page_is_gone(const struct medium *medium, uint32_t page);

/// 64 bits that depend on `x` alone.
uint64_t mix64(uint64_t x);

#endif
