// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Tables whose keys are changed again and again. The changes of a key are
/// numbered: version v of key k is a row, or no row, as a function of the two.
/// So a row contains the number of its change, and a row older than the last
/// synced change is a loss, like a missing one.
#ifndef ESK_DAMAGE_VERSIONS_H
#define ESK_DAMAGE_VERSIONS_H

#include "test/damage/damage.h"

enum {
    KEYS_MAX = 600,
    NOT_SEEN = 0xFFFF,
};

/// What a stage reads of the table.
struct versions {
    struct table *table;
    struct trial *trial;
    int stage;
    uint32_t keys; ///< numbers of keys
    uint32_t seen_count;
    uint16_t seen[KEYS_MAX]; ///< version; NOT_SEEN: no row
};

extern struct versions versions;

/// Begins the reading of a stage: nothing was seen or reported yet.
void versions_begin(struct table *table, int stage, struct trial *trial);

/// Whether version `v` of key `k` is no row. Version 0 is none.
bool version_deletes(uint32_t k, uint32_t v);

/// Whether the version of key `k` that was read is at least the synced one.
bool version_is_due(uint32_t k, uint16_t seen);

/// Records that all that was accepted is synced.
void versions_sync(struct table *table, uint8_t stage);

/// Finds the losses that nothing reported.
void versions_judge(void);

#endif
