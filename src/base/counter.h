// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Counters of events.
#ifndef ESK_BASE_COUNTER_H
#define ESK_BASE_COUNTER_H

#include "base/inline.h"
#include "base/shape.h"

/// 0 leaves out those of esk_count: they stay 0, and a program is 300 bytes
/// smaller on a small chip. Changes no byte on flash.
#ifndef ESK_COUNTERS
#define ESK_COUNTERS 1
#endif

/// Counts an event that calls of the core look at.
static ESK_APART_OR_INLINE void esk_increment(uint32_t *counter) {
    ++*counter;
}

/// Counts an event that only the collectors of trees look at, besides the stats
/// calls.
static inline void esk_count_change(uint32_t *counter) {
    if (ESK_COUNTERS || ESK_SHAPED_SERIES(false, true)) {
        esk_increment(counter);
    }
}

/// Counts an event for esk_series_stats and esk_tree_stats alone.
static inline void esk_count(uint32_t *counter) {
    if (ESK_COUNTERS) {
        esk_increment(counter);
    }
}

#endif
