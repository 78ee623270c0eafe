// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Tables and media of the damage campaign, and the kinds of damage.
#ifndef ESK_DAMAGE_CASES_H
#define ESK_DAMAGE_CASES_H

#include "test/damage/damage.h"

enum {
    RUN_BLOCKS_MAX = 36, ///< longest run of blocks: a mount tolerates 32
};

enum damage_kind {
    DAMAGE_RUN,    ///< blocks at .. at + count
    DAMAGE_PAGES,  ///< pages at .. at + count
    DAMAGE_BIT,    ///< bit `count` of page `at`
    DAMAGE_DRAWN,  ///< a few of the above, from the seed `at`
    DAMAGE_NEWEST, ///< blocks of the newest `count` block writes
};

struct damage {
    uint8_t kind; ///< enum damage_kind
    uint8_t fill; ///< enum fill
    uint32_t at;
    uint32_t count;
};

struct damage_list {
    struct damage *items;
    uint32_t count;
    uint32_t room;
};

/// Every case, in a fixed order; sets `count`.
const struct damage_case *damage_cases(uint32_t *count);

/// Lists the damages of a case's table.
/// one_in   of the possible damages one in so many; 1: all.
/// drawn    so many are drawn at random, from `seed`.
void damage_list_make(struct damage_list *list, const struct table *table,
                      uint32_t one_in, uint32_t drawn, uint32_t seed);

/// Writes a damage as text: "run 3 5 zero".
void damage_write(const struct damage *damage, char *text, size_t bytes);

/// Reads the text of damage_write.
bool damage_read(struct damage *damage, const char *text);

/// Name of this kind of damage in known.txt: "run-zero".
void damage_class(const struct damage *damage, char *text, size_t bytes);

/// Damages the table's medium.
void damage_do(const struct damage *damage, struct table *table);

#endif
