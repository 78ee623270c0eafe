// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What the collector of a copy-on-write tree keeps free: for the stores, and
/// for the plan.
#ifndef ESK_TABLE_TREE_PLAN_COLLECTOR_H
#define ESK_TABLE_TREE_PLAN_COLLECTOR_H

#include <stdint.h>

enum esk_collector_shares {
    ESK_COLLECTOR_SLACK = 64, ///< one page in so many is kept free as well
    ESK_COLLECTOR_SPARE = 64, ///< one block in so many, at least one, may go
                              ///< bad
    ESK_COLLECTOR_STEP_LEAST = 8,
    ESK_COLLECTOR_BLOCK_LEAST = 16,
};

/// Pages of the smallest region of a tree.
enum esk_tree_pages_min {
    ESK_TREE_PAGES_MIN = 8,
    ESK_TREE_MU_PAGES_MIN = 10, ///< and blocks, and 1 in ESK_TREE_MU_SHARE
    ESK_TREE_MU_SHARE = 31,
    ESK_TREE_WANDERING_PAGES_MIN = 38, ///< and two blocks
};

/// Of `pages` pages, those for nodes and the collector: all but the pages
/// reserved for blocks that go bad or are torn by power loss.
static inline uint32_t esk_collector_sure(uint32_t pages,
                                          uint32_t block_pages) {
    uint32_t spare = pages / ESK_COLLECTOR_SPARE + block_pages;
    spare -= spare % block_pages;
    return pages > spare ? pages - spare : 0;
}

/// Most pages that the collector programs in a call: two blocks. A block of few
/// pages counts as ESK_COLLECTOR_BLOCK_LEAST.
static inline uint32_t esk_collector_call(uint32_t block_pages) {
    uint32_t least = ESK_COLLECTOR_BLOCK_LEAST;
    return 2u * (block_pages < least ? least : block_pages);
}

/// Most pages that a step of a wandering tree's sweep programs. Room for a step
/// is kept free, and each step writes a path, as does the change after it. The
/// cost is least near the square root of the product of `pages` and the paths,
/// over 2; a power of two near that costs little more. A step of a block and a
/// few pages can end with a block.
static inline uint32_t esk_collector_step(uint32_t pages, uint32_t block_pages,
                                          uint32_t height) {
    uint32_t step = 1;
    uint32_t most = esk_collector_call(block_pages);
    uint32_t whole = block_pages + ESK_COLLECTOR_STEP_LEAST + height;
    uint32_t small = pages / 4u + height;
    while (step < most && 2u * step * step < height * pages) {
        step *= 2u;
    }
    whole = whole < small ? whole : small;
    step = step < whole ? whole : step;
    return step < most ? step : most;
}

/// Pages that the changes and the sweep of a lap of a wandering tree share: of
/// `pages`, all but a step, a change, and the block at the tail.
static inline uint32_t esk_collector_lap(uint32_t pages, uint32_t block_pages,
                                         uint32_t height) {
    uint32_t kept = esk_collector_step(pages, block_pages, height) +
                    6u * height + 2u + block_pages;
    return pages > kept ? pages - kept : 1u;
}

/// Most nodes that a lap moves: a step and the change after it write a path
/// each, and end with a block. If there are many nodes of level 3, more steps
/// end at one of these.
static inline uint32_t esk_collector_swept(uint32_t pages, uint32_t block_pages,
                                           uint32_t height) {
    uint32_t lap = esk_collector_lap(pages, block_pages, height);
    uint32_t both = esk_collector_step(pages, block_pages, height) + height;
    both -= both > block_pages ? both % block_pages : 0;
    uint32_t path = height > 3 ? 4u * height - 5u : 2u * height + 1u;
    uint32_t paths =
        path + lap / both * path + lap % both * path / both; /* rises evenly */
    return lap > paths ? lap - paths : 0;
}

#endif
