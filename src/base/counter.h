// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Counters for esk_series_stats and esk_tree_stats that nothing else reads.
#ifndef ESK_BASE_COUNTER_H
#define ESK_BASE_COUNTER_H

#include <stdint.h>

/// 0 leaves them out: they stay 0, and a program for a small chip is 300 bytes
/// smaller. Changes no byte on flash.
#ifndef ESK_COUNTERS
#define ESK_COUNTERS 1
#endif

static inline void esk_count(uint32_t *counter) {
    if (ESK_COUNTERS) {
        ++*counter;
    }
}

#endif
