// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Counters: esk_count is for those that only esk_series_stats and
/// esk_tree_stats read.
#ifndef ESK_BASE_COUNTER_H
#define ESK_BASE_COUNTER_H

#include "base/inline.h"

/// 0 leaves them out: they stay 0, and a program is 300 bytes smaller on a
/// small chip. Changes no byte on flash.
#ifndef ESK_COUNTERS
#define ESK_COUNTERS 1
#endif

static ESK_APART_OR_INLINE void esk_increment(uint32_t *counter) {
    ++*counter;
}

static inline void esk_count(uint32_t *counter) {
    if (ESK_COUNTERS) {
        esk_increment(counter);
    }
}

#endif
