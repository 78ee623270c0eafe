// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Which tables are damaged on which media, and how.
#ifndef ESK_DAMAGE_CASES_H
#define ESK_DAMAGE_CASES_H

#include "test/damage/damage.h"

enum {
    RUN_BLOCKS_MAX = 36, ///< the longest run: a mount promises 32
};

enum damage_kind {
    DAMAGE_RUN,    ///< blocks at .. at + count
    DAMAGE_PAGES,  ///< pages at .. at + count
    DAMAGE_BIT,    ///< bit `count` of page `at`
    DAMAGE_DRAWN,  ///< a few of the above, by the seed `at`
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
/// one_in   of those that can be listed, one in so many is; 1: all.
/// drawn    that many are drawn at random, from `seed`.
void damage_list_make(struct damage_list *list, const struct table *table,
                      uint32_t one_in, uint32_t drawn, uint32_t seed);

/// Writes "run 3 5 zero" and the like.
void damage_write(const struct damage *damage, char *text, size_t bytes);

/// Reads what damage_write wrote.
bool damage_read(struct damage *damage, const char *text);

/// What known.txt calls this kind of damage: "run-zero".
void damage_class(const struct damage *damage, char *text, size_t bytes);

/// Damages the table's medium.
void damage_do(const struct damage *damage, struct table *table);

#endif
