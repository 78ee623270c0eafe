// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What the collector of a moving tree keeps free: for the stores, which do,
/// and for the plan, which says so before there is a tree.
#ifndef ESK_TABLE_TREE_PLAN_COLLECTOR_H
#define ESK_TABLE_TREE_PLAN_COLLECTOR_H

#include <stdint.h>

enum esk_collector_shares {
    ESK_COLLECTOR_SLACK = 64, ///< one of so many pages is kept free beside
    ESK_COLLECTOR_SPARE = 64, ///< and one of so many blocks, or one, to go bad
    ESK_COLLECTOR_GAIN = 16,  ///< wandering: and one of so many gained a lap
    ESK_COLLECTOR_PATHS = 8,  ///< wandering: paths that fit the window
    /// Wandering: lowest inner nodes that a step of a sweep looks at.
    ESK_COLLECTOR_PARENTS = 8,
    ESK_COLLECTOR_BLOCK_LEAST = 16,
    ESK_COLLECTOR_WINDOWS_LEAST = 3,
    ESK_COLLECTOR_WINDOWS_MAX = 16,
};

/// Pages that the collector of a mu tree programs in a call at most: two
/// blocks, less one. Blocks of a few pages count for ESK_COLLECTOR_BLOCK_LEAST.
static inline uint32_t esk_collector_call(uint32_t block_pages) {
    uint32_t least = ESK_COLLECTOR_BLOCK_LEAST;
    return 2u * (block_pages < least ? least : block_pages) - 1u;
}

/// Windows that a lap of a wandering tree is divided into: about the root of
/// the `entries` that its lowest inner nodes hold.
static inline uint8_t esk_collector_windows(uint16_t entries) {
    uint8_t count = ESK_COLLECTOR_WINDOWS_LEAST;
    while (count < ESK_COLLECTOR_WINDOWS_MAX &&
           (count + 1u) * (count + 1u) <= entries) {
        count++;
    }
    return count;
}

#endif
