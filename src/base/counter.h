// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Counters that only esk_series_stats and esk_tree_stats read.
#ifndef ESK_BASE_COUNTER_H
#define ESK_BASE_COUNTER_H

#include <stdint.h>

/// 0 leaves them out: they stay 0, and a program is 300 bytes smaller on a
/// small chip. Changes no byte on flash.
#ifndef ESK_COUNTERS
#define ESK_COUNTERS 1
#endif

static inline void esk_count(uint32_t *counter) {
    if (ESK_COUNTERS) {
        ++*counter;
    }
}

#endif
